// SPDX-License-Identifier: Apache-2.0
//
// The table of tensors: sorted by its heads, filtered by words, in groups that can be folded when it is sorted by name,
// with a small histogram in each row. Only the rows in sight are in the page, so that a table of 20 000 rows costs no more
// than the screen holds; for the other rows only the value that they are sorted by is computed.

const printed_rows = 1000;  // the most rows that are printed

function compare(a, b, key, text, descending) {
  const x = key.get(a);
  const y = key.get(b);
  if (x === null || y === null) return (x === null) - (y === null) || a.index - b.index;
  const order = text ? name_order.compare(x, y) : x - y;
  return (descending ? -order : order) || a.index - b.index;
}
const name_order = new Intl.Collator('en', {numeric: true});

function build_row(tensor, columns, several_files, on_select) {
  const row = element('tr', {'data-tensor': tensor.index});
  const cells = {};
  for (const column of columns) {
    let cell;
    if (column.id === 'name') {
      cell = name_cell(tensor, several_files, on_select);
    } else {
      cell = element('td', {'data-column': column.id, class: column.text ? 'text' : null});
      if (column.id === 'advice') cell.title = tensor.advice.text;
    }
    cells[column.id] = cell;
    row.append(cell);
  }
  row.addEventListener('click', () => on_select(tensor));
  return {tensor, row, cells, written: null};
}

// Writes the cells of a row for the view. Cells that no view changes are written once.
function write_cells(entry, columns, view) {
  if (entry.written === view) return;
  const {tensor, cells} = entry;
  const live = live_of(tensor, view);
  for (const column of columns) {
    const fixed = entry.written !== null && !column.live && !column.follows_format;
    if (!column.value || column.id === 'name' || fixed) continue;
    const value = column.value(tensor, live);
    const cell = cells[column.id];
    cell.textContent = column.words ? column.words(value, tensor, live) : value ?? none;
    if (value !== null) cell.dataset.value = value;
    else delete cell.dataset.value;
    if (column.live) cell.classList.toggle('nil', value === 0 || value === null);
  }
  cells.histogram.replaceChildren(has_values(tensor) ? sparkline(tensor, view) :
    element('span', {class: 'status'}, tensor.status));
  entry.written = view;
}

function worst_words(tensors, view) {
  const worst = tensors.reduce((most, tensor) =>
    Math.max(most, lost_l2(tensor, view.format, view.k) ?? 0), 0);
  return `lost L2 ${worst > 0 ? `up to ${percent(worst)}` : percent(0)}`;
}

// Returns {show(tensors, totals), update(view), settle(), filter(words), select(tensor), print(begins)}.
// update() follows the slider without moving rows, settle() sorts again once it rests.
function build_table(section, report, on_select) {
  const is_told = {role: report.roles.length > 0, sqnr: report.options.scales_log2.length > 0};
  const columns = columns_of_table.filter(({id}) => is_told[id] ?? true);
  const several_files = report.files.length > 1 && !report.time;
  const scroll = section.querySelector('.scroll');
  const sort = {id: 'lost_l2', descending: true};
  const head = build_heads(columns, (id) => {
    const column = columns.find((one) => one.id === id);
    sort.descending = sort.id === id ? !sort.descending : !column.text;
    sort.id = id;
    settle();
  });
  const total_body = element('tbody', {class: 'total'});
  const [above, below] = [element('tr', {class: 'space'}), element('tr', {class: 'space'})];
  const body = element('tbody', {}, above, below);
  const whole = element('table', {}, head, total_body, body);
  const note = element('p', {class: 'of-print'});
  scroll.append(whole, sparkline_paint());
  scroll.after(note);
  let [tensors, totals, order, items] = [[], [], [], []];
  let [texts, wanted, view, selected, painted] = [new Map(), [], null, null, null];
  let shown = new Map();  // from the items that are in the page to their rows
  const folded = new Set();
  // Folding makes a new row for the group: the focus moves on to it.
  const on_open = ({group, inside: [head_of]}) => {
    if (!folded.delete(group)) folded.add(group);
    arrange();
    const item = items.find((one) => one.inside?.[0] === head_of);
    shown.get(item)?.row.querySelector('button').focus({preventScroll: true});
  };

  // Lists the tensors that the filter lets through, in order, with a head before each group. Returns their number.
  function arrange() {
    const kept = wanted.length === 0 ? order : order.filter((tensor) =>
      wanted.every((word) => text_of(tensor).includes(word)));
    const groups = sort.id === 'name' ? grouped_names(kept.map((tensor) => tensor.name)) : [];
    items = groups.length === 0 ? kept.map((tensor) => ({tensor})) : groups.flatMap((group) => {
      const inside = kept.slice(group.first, group.end);
      const open = !folded.has(group.name);
      return [{group: group.name, inside, open}, ...(open ? inside.map((tensor) => ({tensor})) : [])];
    });
    for (const {row} of shown.values()) row.remove();
    shown = new Map();
    whole.setAttribute('aria-rowcount', items.length + totals.length + 2);
    draw();
    return kept.length;
  }

  function text_of(tensor) {
    if (!texts.has(tensor)) {
      const {name, file, dtype, role} = tensor;
      texts.set(tensor, `${name} ${file} ${dtype} ${role ?? ''}`.toLowerCase());
    }
    return texts.get(tensor);
  }

  function group_row(item) {
    const button = element('button', {type: 'button', 'aria-expanded': item.open}, item.group || 'others');
    button.addEventListener('click', () => on_open(item));
    const worst = element('small', {});
    const row = element('tr', {class: 'group', 'data-group': item.group}, element('th',
      {scope: 'rowgroup', colspan: columns.length}, element('span', {}, button, ' ',
        element('small', {}, plural(item.inside.length, 'tensor')), ' · ', worst)));
    return {row, worst, inside: item.inside, written: null};
  }

  function write(entry) {
    if (entry.cells) {
      write_cells(entry, columns, view);
      mark(entry);
    } else if (entry.written !== view) {
      entry.worst.textContent = worst_words(entry.inside, view);
      entry.written = view;
    }
  }

  function mark({tensor, row}) {
    if (row.classList.contains('selected') === (tensor === selected)) return;
    row.classList.toggle('selected', tensor === selected);
    row.querySelector('button').setAttribute('aria-pressed', tensor === selected);
  }

  function height_of_row() {
    return Number.parseFloat(getComputedStyle(body).getPropertyValue('--row'));
  }

  // Puts the rows in sight and some beyond into the page, between two empty rows that are as high as all the others.
  function draw(from = null, to = null) {
    if (view === null) return;
    const height = height_of_row();
    const top = scroll.scrollTop - total_body.offsetHeight;
    const first = Math.max(0, Math.min(from ?? Math.floor(top / height) - 8, items.length));
    const end = Math.max(first, Math.min(items.length,
      to ?? Math.ceil((top + Math.min(scroll.clientHeight, innerHeight)) / height) + 8));
    const next = new Map();
    for (const item of items.slice(first, end)) {
      next.set(item, shown.get(item) ?? (item.tensor ?
        build_row(item.tensor, columns, several_files, on_select) : group_row(item)));
    }
    for (const [item, {row}] of shown) if (!next.has(item)) row.remove();
    let place = above;
    items.slice(first, end).forEach((item, i) => {
      const entry = next.get(item);
      entry.row.setAttribute('aria-rowindex', first + i + totals.length + 3);
      write(entry);
      if (place.nextSibling !== entry.row) place.after(entry.row);
      place = entry.row;
    });
    shown = next;
    above.style.height = `${first * height}px`;
    below.style.height = `${(items.length - end) * height}px`;
  }

  function settle() {
    const column = columns.find((one) => one.id === sort.id);
    for (const th of head.querySelectorAll('th[data-column]')) {
      if (th.dataset.column !== sort.id) th.removeAttribute('aria-sort');
      else th.setAttribute('aria-sort', sort.descending ? 'descending' : 'ascending');
    }
    const needs_view = column.live || column.follows_format;
    const key = new Map(tensors.map((tensor) =>
      [tensor, column.value(tensor, needs_view ? live_of(tensor, view) : null)]));
    order = [...tensors].sort((a, b) => compare(a, b, key, column.text, sort.descending));
    arrange();
  }

  function show(next_tensors, next_totals) {
    [tensors, texts] = [next_tensors, new Map()];
    totals = next_totals.map((tensor) => build_row(tensor, columns, several_files, on_select));
    totals.forEach(({row}, i) => row.setAttribute('aria-rowindex', i + 3));
    total_body.replaceChildren(...totals.map((entry) => entry.row));
    whole.querySelector('colgroup')?.remove();
    whole.prepend(build_widths(columns, [...next_tensors, ...next_totals]));
    const two_lines = several_files || tensors.some((tensor) => tensor.nan > 0 || tensor.inf > 0);
    whole.classList.toggle('two-lines', two_lines);
  }

  function update(next) {
    view = next;
    for (const entry of [...totals, ...shown.values()]) write(entry);
    if (painted !== view.format) paint_sparklines(section, view.format);
    painted = view.format;
    head.querySelector('#live-group').textContent = `in ${view.format.name} at ${power(view.k)}, of ` +
      (view.of === 'values' ? 'all values' : 'non-zero values');
  }

  function filter(words) {
    wanted = words.toLowerCase().split(/\s+/).filter((word) => word !== '');
    return arrange();
  }

  function select(tensor) {
    selected = tensor;
    for (const entry of [...totals, ...shown.values()]) if (entry.cells) mark(entry);
  }

  function print(begins) {
    note.textContent = items.length > printed_rows ?
      `Printed are the first ${integer(printed_rows)} of ${integer(items.length)} rows.` : '';
    if (!begins) return draw();
    draw(0, printed_rows);
    below.style.height = '0';
    return undefined;
  }
  let waiting = false;
  const soon = () => {
    if (!waiting) requestAnimationFrame(() => { waiting = false; draw(); });
    waiting = true;
  };
  scroll.addEventListener('scroll', soon, {passive: true});
  new ResizeObserver(soon).observe(scroll);
  return {show, update, settle, filter, select, print};
}
