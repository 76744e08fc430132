// SPDX-License-Identifier: Apache-2.0
//
// The columns of the table of tensors: their heads, what they sort by, what they show. Columns that are `live` follow the
// loss scale, the format and the denominator.

// A column sorts by value(tensor, live), null if there is none, and shows words(value, tensor, live), or the value
// itself. `live` is what live_of() returns for the tensor in the current view.
const columns_of_table = [
  {id: 'name', head: 'tensor', text: true, value: (t) => t.name},
  {id: 'shape', as_wide_as_its_text: true, head: 'shape', value: (t) => t.values, help: 'sorted by number of values',
    words: (v, t) => (t.dtype ? shape_words(t.shape) : '')},
  {id: 'role', as_wide_as_its_text: true, head: 'role', text: true, value: (t) => t.role},
  {id: 'dtype', as_wide_as_its_text: true, head: 'dtype', text: true, value: (t) => t.dtype},
  {id: 'values', as_wide_as_its_text: true, head: 'values', value: (t) => t.values, words: integer},
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
    value: (t, live) => t.sqnr_db(live.format.name, 0),
    help: 'signal to rounding noise at scale 1; overflow counts as saturated'},
  {id: 'scale', as_wide_as_its_text: true, head: 'loss scale', follows_format: true,
    words: (v, t, live) => (live ? interval_words(live.scale) : '2^-16 … 2^-16'),
    value: (t, live) => live?.scale.s_max_log2 ?? null, help: 'interval for the format, sorted by its upper end'},
  {id: 'advice', head: 'advice', text: true, value: (t) => t.advice.format ?? null},
];

function headroom(tensor, format, k) {
  if (!has_values(tensor)) return null;
  const {exponent, count} = tensor.binades;
  const row = tensor.end - 1;
  let s = segment_count - 1;
  while (count[row * segment_count + s] === 0) s -= 1;
  return format.emax - exponent[row] - (s >= format.overflow_segment ? 1 : 0) - k;
}

function sqnr_words(tensor, live) {
  if (tensor.nonzero === 0) return none;
  const db = tensor.sqnr_db(live.format.name, 0);
  return db === null ? 'exact' : db.toFixed(1).replace('-', '−');
}

function live_of(tensor, view) {
  return {counts: tensor_fates(tensor, view.format, view.k), format: view.format, of: view.of,
    lost_l2: lost_l2(tensor, view.format, view.k), k: view.k,
    scale: scale_of(tensor, view.format, view.report.options)};
}

// The outline of a tensor's histogram, moved by the loss scale: a binade is one unit wide, the highest bar one unit high.
// One gradient with hard edges paints the outlines of all tensors by fate.
function sparkline(tensor, view) {
  const {exponent, all} = tensor.binades;
  const rows = rows_of(tensor);
  const most = rows.reduce((largest, row) => Math.max(largest, all[row]), 0);
  const path = rows.map((row) =>
    `M${exponent[row] + view.k},1V${(1 - all[row] / most).toFixed(3)}h1V1Z`).join('');
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

// The notes under a name: the tensor's file if there are several, and how many NaN and infinities it has.
function notes_of(tensor, several_files) {
  const notes = [];
  if (several_files && tensor.file) notes.push(tensor.file);
  const odd = [];
  if (tensor.nan > 0) odd.push(`${integer(tensor.nan)} NaN`);
  if (tensor.inf > 0) odd.push(`${integer(tensor.inf)} infinite`);
  return {file: notes.join(''), odd: odd.join(', ')};
}

function name_cell(tensor, several_files, on_select) {
  const button = element('button', {type: 'button', title: tensor.name}, tensor.name);
  button.addEventListener('click', (event) => {
    event.stopPropagation();
    on_select(tensor);
  });
  const notes = notes_of(tensor, several_files);
  const words = [notes.odd && element('span', {class: 'odd'}, notes.odd), notes.file].filter(Boolean);
  const small = words.length > 0 ? element('small', {title: notes.file || null},
    ...words.flatMap((word, i) => (i > 0 ? [' · ', word] : [word]))) : null;
  return element('th', {scope: 'row', 'data-column': 'name'}, button, small);
}

function build_widths(columns, tensors) {
  // A column with as_wide_as_its_text does not follow the slider, so that its widest text is known. The others have the
  // widths of the style sheet.
  const widest = (column) => tensors.reduce((most, tensor) => {
    const value = column.value(tensor, null);
    return Math.max(most, (column.words ? column.words(value, tensor, null) : String(value ?? none)).length);
  }, 4);
  return element('colgroup', {}, ...columns.map((column) => {
    const wide = column.as_wide_as_its_text ? Math.min(widest(column), 24) : null;
    return element('col', {'data-column': column.id,
      style: wide === null ? null : `width: calc(${wide} * 0.5rem + 14px)`});
  }));
}

function build_heads(columns, on_sort) {
  const live = columns.filter((column) => column.live).length;
  const before = columns.findIndex((column) => column.live);
  const groups = element('tr', {class: 'groups', 'aria-rowindex': 1},
    element('th', {colspan: before, scope: 'colgroup'}, 'as read'),
    element('th', {colspan: live, scope: 'colgroup', id: 'live-group'}),
    element('td', {colspan: columns.length - before - live}));
  const heads = element('tr', {'aria-rowindex': 2});
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
