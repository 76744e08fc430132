// SPDX-License-Identifier: Apache-2.0
//
// The page's state and its wiring: loss scale, format, denominator and tensor; each change redraws
// the figure, the numbers and the live columns of the table.

performance.mark('read');
const report = unpack_report(await unpack_data(by_id('report').textContent).catch((error) => {
  by_id('damaged').hidden = typeof DecompressionStream === 'undefined';
  throw error;
}));
const groups = groups_of(report);
const first_shown = groups[1]?.name === 'all gradients' ? groups[1] : groups[0];
const state = {k: 0, format: report.formats[0], of: 'nonzero', table: Object.keys(report.tables)[0], tensor: first_shown,
  log_y: false, goal: null};
const axis = axis_window(report);

// The loss scales that the slider reaches, as exponents: at least 2^-8 … 2^24, some binades beyond both ends of the
// report's interval in its first format, the scales that it recommends in the others, and the ends of the intervals of
// single tensors up to 2^40; none that binary32 does not hold.
function scale_range(report) {
  const ends = (scale) => [scale.s_min_log2, scale.s_max_log2].filter((k) => k !== null);
  const known = [0, ...ends(report.loss_scales[0]),
    ...report.loss_scales.map((scale) => scale.recommended_log2).filter((k) => k !== null && Math.abs(k) < 40)];
  const single = scaled_tensors(report).flatMap((tensor) => ends(scale_of(tensor, report.formats[0], report.options)));
  const highest = single.reduce((most, k) => Math.max(most, Math.min(k, 40)), 24);
  return {low: Math.max(-126, Math.min(-8, Math.min(...known) - 4)),
    high: Math.min(127, Math.max(highest, Math.max(...known) + 6))};
}
const range = scale_range(report);

function still() {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}

function current_view() {
  const {tensor} = state;
  return {...state, report, group: tensor.is_group ? tensor : null, name: tensor.name, window: axis};
}

// Where 2^k is along the track, as a CSS length: a range input's thumb stays within its ends.
function along(k) {
  const part = (k - range.low) / (range.high - range.low);
  return `calc(var(--thumb) / 2 + (100% - var(--thumb)) * ${part})`;
}

function draw_track(view) {
  const scale = scale_of(view.tensor, view.format, report.options);
  const track = element('div', {});
  const clamp = (k) => Math.min(Math.max(k, range.low), range.high);
  track.append(element('i', {class: 'rail'}));
  if (scale.status === 'ok') {
    const [from, to] = [scale.s_min_log2, scale.s_max_log2].map((k) => along(clamp(k)));
    track.append(element('i', {class: 'interval',
      style: `left: ${from}; right: calc(100% - ${to})`}));
  }
  const step = range.high - range.low > 72 ? 16 : 8;
  for (let k = Math.ceil(range.low / step) * step; k <= range.high; k += step) {
    track.append(element('span', {class: 'tick', style: `left: ${along(k)}`}, power(k)));
  }
  if (scale.recommended_log2 !== null) {
    track.append(element('b', {class: 'recommended',
      style: `left: ${along(clamp(scale.recommended_log2))}`}));
  }
  by_id('track').replaceChildren(track);
}

function draw_presets(view) {
  const scale = scale_of(view.tensor, view.format, report.options);
  const own = has_own_scales(report, view.format);
  const presets = [[0, 'as it is'], ...(own ? [] : [[16, 'PyTorch’s default']])];
  const recommended = scale.recommended_log2;
  if (recommended !== null && recommended >= range.low && recommended <= range.high) {
    presets.push([recommended, scale.status !== 'ok' ? 'largest safe' :
      own && view.group ? 'one for all' : 'recommended']);
  }
  const usual = scale.status === 'ok' ?
    element('span', {class: 'interval-words'}, `interval ${interval_words(scale)}`) : null;
  by_id('presets').replaceChildren(...presets.map(([k, words]) => {
    const button = element('button', {type: 'button', 'data-k': k}, `${power(k)} ${words}`);
    button.addEventListener('click', () => walk_to(k));
    return button;
  }), ...(usual ? [usual] : []));
}

function metric(name, value, count = null) {
  return element('span', {'data-metric': name, 'data-value': value, 'data-count': count},
    percent(value));
}

function metric_item(name, label, value, count, small) {
  return element('div', {class: `metric ${name}`}, element('dt', {}, label),
    element('dd', {}, metric(name, value, count), element('small', {}, small)));
}

function draw_metrics(view) {
  const {tensor, format, k, of} = view;
  const counts = tensor_fates(tensor, format, k);
  const clipped = clipped_l1(tensor, format, k);
  const labels = {to_zero: 'become zero', subnormal: 'subnormal', normal: 'normal',
    overflow: `become ${overflow_words(format)}`};
  const by_count = fates.map((fate) => metric_item(fate, labels[fate],
    share(counts[fate], tensor, of), counts[fate], integer(counts[fate])));
  const band = band_27_24(tensor, k);
  const by_size = [
    metric_item('lost_l2', 'lost L2', lost_l2(tensor, format, k), null, 'of the L2 norm'),
    metric_item('lost_l1', 'lost L1', lost_l1(tensor, format, k), null, 'of Σ|x|'),
    metric_item('clipped_l1', 'clipped L1', clipped.share, null, clipped.about ? 'of Σ|x·S|, about' : 'of Σ|x·S|'),
  ];
  if (format.name === 'binary16') {
    by_size.push(metric_item('band_27_24', `in ${power(-27)} … ${power(-24)}`,
      share(band, tensor, of), band, integer(band)));
  }
  by_id('metrics').replaceChildren(fate_strip(tensor, counts, of),
    element('dl', {class: 'by-count'}, ...by_count), element('dl', {class: 'by-size'}, ...by_size));
}

function sqnr_notes(tensor, format) {
  if (tensor.nonzero === 0) return [];
  return report.options.scales_log2.map((k) => [k, tensor.sqnr_db(format.name, k)]).map(([k, db]) =>
    `SQNR at ${power(k)} ${db === null ? 'infinite, nothing is rounded' : `${db.toFixed(1)} dB`}`);
}

function draw_figure_head(view) {
  const tensor = view.tensor;
  by_id('figure-name').textContent = view.group ? view.name.replace('all', 'All') : view.name;
  by_id('to-total').hidden = tensor === first_shown;
  by_id('to-total').textContent = `back to ${first_shown.name}`;
  const notes = view.group || !tensor.dtype ? [] : [`${tensor.dtype} ${shape_words(tensor.shape)}`.trim()];
  if (tensor.series !== undefined) notes.unshift(table_words[view.table]);
  notes.push(`${plural(tensor.values, 'value')}: ${integer(tensor.zeros)} exact zeros` +
    (tensor.values > 0 ? ` (${percent(tensor.zeros / tensor.values)})` : '') +
    `, ${integer(tensor.nan)} NaN, ${integer(tensor.inf)} infinite`);
  if (tensor.max !== null) {
    notes.push(`|x| from ${magnitude(tensor.min)} to ${magnitude(tensor.max)}`);
  }
  notes.push(...sqnr_notes(tensor, view.format));
  if (!view.group && tensor.advice.text) notes.push(`advice: ${tensor.advice.text}`);
  by_id('figure-notes').replaceChildren(...raised(notes.join(' · ')));
}

function point_at(row) {
  const view = current_view();
  by_id('readout').textContent = row >= 0 ? bar_words(row, view) :
    'Each bar is one binade. The formats below stand still, the loss scale moves the values. ' +
    `Shares are of ${integer(denominator(view.tensor, view.of))} ` +
    (view.of === 'values' ? 'values; in the strip, exact zeros are hollow.' : 'non-zero values.');
}

function choose_tensor(tensor) {
  state.tensor = tensor;
  redraw();
  const box = by_id('histogram').getBoundingClientRect();
  if (box.bottom < 160 || box.top > innerHeight) {
    by_id('figure').scrollIntoView({behavior: still() ? 'auto' : 'smooth', block: 'start'});
  }
}

const table = build_table(by_id('tensors'), report, choose_tensor);
const table_words = {run: 'all steps together', last: 'the last step'};

// Shows the rows of the run or those of its last step, and chooses the row that stands where the chosen one stood.
function show_table(name) {
  const {tensor} = state;
  state.table = name;
  const {tensors, together} = report.tables[name];
  const totals = name === 'last' ? together.map((one, i) =>
    Object.assign(one, {name: `all ${one.role}`, index: -1 - i})) : groups;
  table.show(tensors, totals);
  if (tensor.is_group && !totals.includes(tensor)) state.tensor = tensor;
  else if (tensor.index < 0) state.tensor = totals.find((one) => one.name === tensor.name) ?? first_shown;
  else state.tensor = tensors[tensor.index];
}

function draw_scale(view) {
  const slider = by_id('slider');
  slider.value = view.k;
  slider.setAttribute('aria-valuetext', `2 to the ${view.k}, ${2 ** view.k}`);
  by_id('scale').replaceChildren(element('b', {}, ...raised(`2^${view.k}`)),
    ` = ${decimal_power(view.k)}`);
  by_id('format').value = view.format.name;
}

function draw_histogram_only() {
  draw_histogram(by_id('histogram'), current_view(), point_at, choose_format);
}

function redraw() {
  const view = current_view();
  draw_scale(view);
  draw_track(view);
  draw_presets(view);
  draw_figure_head(view);
  draw_metrics(view);
  draw_histogram_only();
  point_at(-1);
  table.update(view);
  table.select(state.tensor);
  over_time.update(view);
}

function choose_format(name) {
  state.format = report.formats.find((format) => format.name === name);
  answer();
  redraw();
  table.settle();
}

function answer() {
  write_answers(report, state.format, (row) => choose_tensor(report.tables[state.table].tensors[row]));
}

// Moves the loss scale to 2^k binade by binade, so that the eye can follow; at once where the reader's system asks for
// less motion.
function walk_to(k) {
  state.goal = k;
  const step = () => {
    if (state.goal !== k) return;
    state.k = still() ? k : state.k + Math.sign(k - state.k);
    redraw();
    if (state.k !== k) requestAnimationFrame(step);
    else table.settle();
  };
  step();
}

const over_time = build_time(by_id('time'), report, (s) => {
  const found = report.tables[state.table].tensors.find((tensor) => tensor.series === s);
  if (found) choose_tensor(found);
});

function listen() {
  by_id('slider').addEventListener('input', (event) => {
    state.k = Number(event.target.value);
    state.goal = null;
    redraw();
  });
  by_id('slider').addEventListener('change', table.settle);
  by_id('format').addEventListener('change', (event) => choose_format(event.target.value));
  by_id('of').addEventListener('change', (event) => {
    state.of = event.target.value;
    redraw();
    table.settle();
  });
  by_id('log-y').addEventListener('change', (event) => {
    state.log_y = event.target.checked;
    draw_histogram_only();
  });
  by_id('to-total').addEventListener('click', () => {
    choose_tensor(first_shown);
  });
  by_id('which').addEventListener('change', (event) => {
    show_table(event.target.value);
    redraw();
    table.settle();
    show_filtered();
  });
  by_id('filter').addEventListener('input', show_filtered);
  addEventListener('beforeprint', () => table.print(true));
  addEventListener('afterprint', () => table.print(false));
  on_width(by_id('histogram'), draw_histogram_only);
  // The table's head sticks below the controls, which stick to the top.
  const controls = by_id('controls');
  new ResizeObserver(() => document.documentElement.style.setProperty('--controls',
    `${controls.offsetHeight}px`)).observe(controls);
}

function show_filtered() {
  const shown = table.filter(by_id('filter').value);
  const all = report.tables[state.table].tensors.length;
  const noun = report.time ? 'row' : 'tensor';
  by_id('shown').textContent = shown === all ? plural(shown, noun) : `${integer(shown)} of ${plural(all, noun)}`;
}

by_id('slider').min = range.low;
by_id('slider').max = range.high;
by_id('format').append(...report.formats.map((format) =>
  element('option', {value: format.name}, format.name)));
write_source(report);
write_verdict(report);
write_limits(report);
write_apart(report);
answer();
by_id('which').hidden = !report.time;
write_watched(by_id('watched'), report.watched);
show_table(state.table);
listen();
redraw();
table.settle();
show_filtered();
requestAnimationFrame(() => performance.mark('drawn'));
