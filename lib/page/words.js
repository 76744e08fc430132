// SPDX-License-Identifier: Apache-2.0
//
// Numbers and names as text, and elements from text. Names in a report come from files that
// anyone may have written: they enter the page as text nodes and attribute values only.

const thin = '\u202f';
const none = '–';

function element(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

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

function power(k) {
  return '2' + String(k).replace(/./g, (c) => (c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[c]));
}

function grouped(digits) {
  return digits.replace(/\B(?=(\d{3})+$)/g, thin);
}

function integer(n) {
  return n === null ? none : String(n).replace(/\d+/, grouped).replace('-', '−');
}

// 2^k in decimal: exact from 2^-14 to 2^60, else three digits.
function decimal_power(k) {
  if (k >= 0 && k <= 60) return grouped(String(2n ** BigInt(k)));
  return k < 0 && k >= -14 ? String(2 ** k) : scientific(2 ** k, 3);
}

// 3.58e−5
function scientific(x, digits) {
  return x.toExponential(digits - 1).replace('e+', 'e').replace('e-', 'e−');
}

function magnitude(x, digits = 3) {
  if (x === null) return none;
  return x >= 0.01 && x < 1000 ? String(Number(x.toPrecision(digits))) : scientific(x, digits);
}

// A share in per cent. What is not zero never reads 0, what is not all never reads 100.
function percent(x) {
  return x === null ? none : `${hundredths(x, 1e-5)}${thin}%`;
}

// The same in the narrow columns of the table, where the head carries the per cent sign.
function bare_percent(x) {
  return x === null ? none : hundredths(x, 1e-3);
}

function hundredths(x, least_plain) {
  const p = 100 * x;
  if (x === 0 || x === 1) return String(p);
  if (p > 99.9) return Math.min(p, 99.9999).toFixed(p > 99.99 ? 4 : 2);
  if (p >= 0.995) return p.toFixed(1);
  return p >= least_plain ? plain(p) : scientific(p, 2);
}

// Two significant digits without a power of ten.
function plain(p) {
  return p.toFixed(1 - Math.floor(Math.log10(p))).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
}

// Text taken apart at what follows a ^: every second piece is to be raised, as in 2^-14, x^3, 2^(p-1).
function raised_parts(text) {
  const whole = text.replace(/(\d) %/g, '$1\u00a0%');
  const parts = [];
  let end = 0;
  for (const {0: {length}, 1: base, 2: exponent, index} of
    whole.matchAll(/([\dx])\^(-?(?:\d+|[a-z]\b)|\([^()]*\))/g)) {
    parts.push(whole.slice(end, index) + base, exponent.replace(/^\((.*)\)$/, '$1').replaceAll('-', '−'));
    end = index + length;
  }
  return [...parts, whole.slice(end)];
}

// The same as nodes: any font can set those.
function raised(text) {
  return raised_parts(text).map((part, i) => (i % 2 === 1 ? element('sup', {}, part) : part));
}

// Nothing of tensors whose shapes differ.
function shape_words(shape) {
  if (shape === null) return '';
  return shape.length === 0 ? 'scalar' : shape.join('×');
}

function interval_words(scale) {
  if (scale.status === 'ok') return `${power(scale.s_min_log2)} … ${power(scale.s_max_log2)}`;
  return scale.status === 'empty interval' ? 'empty' : none;
}

function plural(n, noun) {
  return `${integer(n)} ${noun}${n === 1 ? '' : 's'}`;
}

function overflow_words(format) {
  return format.overflow_to === 'nan' ? 'NaN' : '∞';
}
