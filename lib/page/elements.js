// SPDX-License-Identifier: Apache-2.0
//
// Elements from text. Names in a page's data come from files that anyone may have written: they enter the
// page as text nodes and attribute values only.

const by_id = (id) => document.getElementById(id);

// An HTML element. Attributes and children that are null or undefined are left out.
function element(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

// An SVG element, as element() makes one of HTML.
function drawing(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function furnish(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// Nodes of a text whose exponents, as in 2^-14, are raised.
function raised(text) {
  return raised_parts(text).map((part, i) => (i % 2 === 1 ? element('sup', {}, part) : part));
}

function strong(text) {
  return element('strong', {}, ...raised(text));
}

function paragraph(...children) {
  return element('p', {}, ...children);
}

function name_of(name) {
  return element('span', {class: 'tensor-name'}, name);
}

function head_of(heads) {
  return element('thead', {}, element('tr', {}, ...heads.map((words) => element('th', {scope: 'col'}, words))));
}

// A table of a few lines. A row is the children of its head and of each of its cells: one, or an array of them.
function small_table(heads, rows, {also = '', caption = null} = {}) {
  const cell = (children, i) => (i === 0 ? element('th', {scope: 'row'}, ...[children].flat()) :
    element('td', {}, ...[children].flat()));
  return element('table', {class: also ? `small ${also}` : 'small'}, caption && element('caption', {}, caption), head_of(heads),
    element('tbody', {}, ...rows.map((row) => element('tr', {}, ...row.map(cell)))));
}

// The version of binade that made the page's data, above the title and in the footer.
function write_version(version) {
  for (const id of ['version', 'made-by']) by_id(id).textContent = version;
}
