// SPDX-License-Identifier: Apache-2.0
//
// The table of tensors: sorted by its heads, filtered by words, each row with its histogram in
// small. The columns under the chosen format follow the loss scale.

// value(tensor, live) is what a column sorts by, null where there is none; words() is what it
// shows. live = {counts, lost_l2, format, of, k} of the tensor in the current view.
let columns = [];  // of the table, chosen from these
const columns_of_table = [
  {id: 'name', head: 'tensor', text: true, value: (t) => t.name},
  {id: 'shape', head: 'shape', value: (t) => t.values, help: 'sorted by number of values',
    words: (v, t) => (t.dtype ? shape_words(t.shape) : '')},
  {id: 'role', head: 'role', text: true, value: (t) => t.role},
  {id: 'dtype', head: 'dtype', text: true, value: (t) => t.dtype},
  {id: 'values', head: 'values', value: (t) => t.values, words: integer},
  {id: 'zeros', head: 'zeros %', value: (t) => (t.values > 0 ? t.zeros / t.values : null),
    words: bare_percent, help: 'exact zeros, share of all values'},
  {id: 'min', head: 'min |x|', value: (t) => t.min, words: (v) => magnitude(v),
    help: 'smallest non-zero magnitude'},
  {id: 'max', head: 'max |x|', value: (t) => t.max, words: (v) => magnitude(v)},
  {id: 'histogram', head: 'log₂ |x|·S'},
  {id: 'to_zero', head: 'to zero %', live: true, words: bare_percent,
    value: (t, live) => share(live.counts.to_zero, t, live.of)},
  {id: 'subnormal', head: 'sub\u00adnormal %', live: true, words: bare_percent,
    value: (t, live) => share(live.counts.subnormal, t, live.of)},
  {id: 'overflow', head: 'over\u00adflow %', live: true, words: bare_percent,
    value: (t, live) => share(live.counts.overflow, t, live.of)},
  {id: 'lost_l2', head: 'lost L2 %', live: true, words: bare_percent,
    value: (t, live) => live.lost_l2, help: 'L2 norm of what becomes zero, relative to all of it'},
  {id: 'headroom', head: 'head\u00adroom', live: true, words: integer,
    value: (t, live) => headroom(t, live.format, live.k), help: 'binades from max to overflow'},
  {id: 'sqnr', head: 'SQNR at 1, dB', follows_format: true,
    words: (v, t, live) => sqnr_words(t, live),
    value: (t, live) => t.formats[live.format.name].sqnr_db['0'] ?? null,
    help: 'signal to rounding noise at scale 1; overflow counts as saturated'},
  {id: 'scale', head: 'loss scale', words: (v, t) => interval_words(t.loss_scale),
    value: (t) => t.loss_scale.s_max_log2, help: 'interval for binary16, sorted by its upper end'},
  {id: 'advice', head: 'advice', text: true, value: (t) => t.advice.format ?? null},
];

function headroom(tensor, format, k) {
  const at_one = tensor.formats[format.name].headroom;
  return at_one === null ? null : at_one - k;
}

function sqnr_words(tensor, live) {
  if (tensor.nonzero === 0) return none;
  const db = tensor.formats[live.format.name].sqnr_db['0'];
  return db === null || db === undefined ? 'exact' : db.toFixed(1).replace('-', '−');
}

// The outline of the histogram in axis units: one unit per binade wide, one unit high, moved by
// the loss scale. One gradient with hard edges paints all of them by fate.
function sparkline(tensor, view) {
  const counts = tensor.binades.map(row_count);
  const most = Math.max(...counts);
  const path = tensor.binades.map((row, i) =>
    `M${row.exponent + view.k},1V${(1 - counts[i] / most).toFixed(3)}h1V1Z`).join('');
  const {low, high} = view.window;
  return drawing('svg', {class: 'sparkline', preserveAspectRatio: 'none', 'aria-hidden': 'true',
    viewBox: `${low} 0 ${high - low} 1`}, drawing('path', {d: path, fill: 'url(#by-fate)'}));
}

function sparkline_paint() {
  const gradient = drawing('linearGradient', {id: 'by-fate', gradientUnits: 'userSpaceOnUse',
    x1: -1200, x2: 1200, y1: 0, y2: 0});
  return drawing('svg', {width: 0, height: 0, 'aria-hidden': 'true', class: 'paint'},
    drawing('defs', {}, gradient));
}

function paint_sparklines(section, format) {
  const edges = fate_edges(format);
  const stops = fates.flatMap((fate, i) => [edges[i - 1] ?? -1200, edges[i] ?? 1200].map((edge) =>
    drawing('stop', {class: fate, offset: (edge + 1200) / 2400})));
  section.querySelector('#by-fate').replaceChildren(...stops);
}

function name_cell(tensor, index, several_files, on_select) {
  const button = element('button', {type: 'button', title: tensor.name}, tensor.name);
  button.addEventListener('click', (event) => {
    event.stopPropagation();
    on_select(index);
  });
  const cell = element('th', {scope: 'row', 'data-column': 'name'}, button);
  if (several_files && tensor.file) cell.append(element('small', {}, tensor.file));
  const odd = [];
  if (tensor.nan > 0) odd.push(`${integer(tensor.nan)} NaN`);
  if (tensor.inf > 0) odd.push(`${integer(tensor.inf)} infinite`);
  if (odd.length > 0) cell.append(element('small', {class: 'odd'}, odd.join(', ')));
  return cell;
}

function build_row(tensor, index, report, on_select) {
  const row = element('tr', {'data-tensor': index});
  const cells = {};
  for (const column of columns) {
    let cell;
    if (column.id === 'name') {
      cell = name_cell(tensor, index, report.files.length > 1, on_select);
    } else {
      cell = element('td', {'data-column': column.id, class: column.text ? 'text' : null});
      if (column.id === 'advice') cell.title = tensor.advice.text;
    }
    cells[column.id] = cell;
    row.append(cell);
  }
  row.addEventListener('click', () => on_select(index));
  return {tensor, index, row, cells, values: {}, live: null, near: false, worked: -1, written: -1};
}

function live_of(tensor, view) {
  return {counts: tensor_fates(tensor, view.format, view.k), format: view.format, of: view.of,
    lost_l2: lost_l2(tensor, view.format, view.k), k: view.k};
}

// Values of a row in the view, and the text in its cells: apart, since a thousand rows can be
// sorted at once but only those near the screen need their text.
function work_out(entry, view, turn) {
  if (entry.worked === turn) return;
  entry.worked = turn;
  entry.live = live_of(entry.tensor, view);
  for (const column of columns) {
    if (column.value) entry.values[column.id] = column.value(entry.tensor, entry.live);
  }
}

function write_cells(entry, view, turn) {
  if (entry.written === turn) return;
  work_out(entry, view, turn);
  for (const column of columns) {
    const fixed = entry.written >= 0 && !column.live && !column.follows_format;
    if (!column.value || column.id === 'name' || fixed) continue;
    const value = entry.values[column.id];
    const cell = entry.cells[column.id];
    cell.textContent = column.words ? column.words(value, entry.tensor, entry.live) : value ?? none;
    if (value !== null) cell.dataset.value = value;
    else delete cell.dataset.value;
    if (column.live) cell.classList.toggle('nil', value === 0 || value === null);
  }
  entry.cells.histogram.replaceChildren(entry.tensor.binades.length > 0 ?
    sparkline(entry.tensor, view) : element('span', {class: 'status'}, entry.tensor.status));
  entry.written = turn;
}

function build_widths() {
  return element('colgroup', {}, ...columns.map((column) =>
    element('col', {'data-column': column.id})));
}

function build_heads(on_sort) {
  const live = columns.filter((column) => column.live).length;
  const before = columns.findIndex((column) => column.live);
  const groups = element('tr', {class: 'groups'},
    element('th', {colspan: before, scope: 'colgroup'}, 'as read'),
    element('th', {colspan: live, scope: 'colgroup', id: 'live-group'}),
    element('td', {colspan: columns.length - before - live}));
  const heads = element('tr', {});
  for (const column of columns) {
    const head = element('th', {scope: 'col', 'data-column': column.id, title: column.help,
      class: column.text ? 'text' : null});
    if (column.value) {
      const button = element('button', {type: 'button'}, column.head);
      button.addEventListener('click', () => on_sort(column.id));
      head.append(button);
    } else {
      head.append(column.head);
    }
    heads.append(head);
  }
  return element('thead', {}, groups, heads);
}

function compare(a, b, column, descending) {
  const x = a.values[column.id];
  const y = b.values[column.id];
  if (x === null || y === null) return (x === null) - (y === null) || a.index - b.index;
  const order = column.text ? x.localeCompare(y, 'en', {numeric: true}) : x - y;
  return (descending ? -order : order) || a.index - b.index;
}

// Returns {update(view), settle(), write_all(), filter(words), select(index)}. update() follows the
// slider without moving rows, settle() sorts again once it rests. Index -1 is the first group, -2 the second.
function build_table(section, report, groups, on_select) {
  columns = columns_of_table.filter(({id}) => id !== 'role' || report.roles.length > 0);
  const sort = {id: 'lost_l2', descending: true};
  const on_sort = (id) => {
    const column = columns.find((one) => one.id === id);
    sort.descending = sort.id === id ? !sort.descending : !column.text;
    sort.id = id;
    settle();
  };
  const head = build_heads(on_sort);
  const totals = groups.map((group, i) => build_row(group, -1 - i, report, on_select));
  const entries = report.tensors.map((tensor, i) => build_row(tensor, i, report, on_select));
  const all = [...totals, ...entries];
  const body = element('tbody', {});
  section.querySelector('.scroll').append(
    element('table', {}, build_widths(), head, element('tbody', {class: 'total'}, ...totals.map((total) => total.row)), body),
    sparkline_paint());
  let turn = 0;
  let current = null;
  let order = [];
  let painted = null;

  function settle() {
    const column = columns.find((one) => one.id === sort.id);
    for (const th of head.querySelectorAll('th[data-column]')) {
      if (th.dataset.column !== sort.id) th.removeAttribute('aria-sort');
      else th.setAttribute('aria-sort', sort.descending ? 'descending' : 'ascending');
    }
    for (const entry of entries) work_out(entry, current, turn);
    const sorted = [...entries].sort((a, b) => compare(a, b, column, sort.descending));
    if (sorted.some((entry, i) => entry !== order[i])) {
      body.append(...sorted.map((entry) => entry.row));
    }
    order = sorted;
  }

  const by_row = new Map(all.map((entry) => [entry.row, entry]));
  const observer = new IntersectionObserver((changes) => {
    for (const change of changes) {
      const entry = by_row.get(change.target);
      entry.near = change.isIntersecting;
      if (entry.near) {
        write_cells(entry, current, turn);
      } else {
        entry.cells.histogram.replaceChildren();
        entry.written = 0;
      }
    }
  }, {rootMargin: '400px'});
  for (const entry of all) observer.observe(entry.row);

  function update(view) {
    turn += 1;
    current = view;
    for (const entry of all) {
      if (entry.near || entry.written < 0) write_cells(entry, view, turn);
    }
    if (painted !== view.format) paint_sparklines(section, view.format);
    painted = view.format;
    head.querySelector('#live-group').textContent =
      `in ${view.format.name} at ${power(view.k)}, of ` +
      (view.of === 'values' ? 'all values' : 'non-zero values');
  }

  function write_all() {
    for (const entry of all) write_cells(entry, current, turn += 1);
  }

  function filter(words) {
    const wanted = words.toLowerCase().split(/\s+/).filter((word) => word !== '');
    let shown = 0;
    for (const entry of entries) {
      const {name, file, dtype, role} = entry.tensor;
      const text = `${name} ${file} ${dtype} ${role ?? ''}`.toLowerCase();
      entry.row.hidden = !wanted.every((word) => text.includes(word));
      shown += entry.row.hidden ? 0 : 1;
    }
    return shown;
  }

  function select(index) {
    for (const entry of all) {
      const selected = entry.index === index;
      if (entry.row.classList.contains('selected') === selected) continue;
      entry.row.classList.toggle('selected', selected);
      entry.row.querySelector('button').setAttribute('aria-pressed', selected);
    }
  }

  return {update, settle, write_all, filter, select};
}
