// SPDX-License-Identifier: Apache-2.0
//
// The large figure: one bar per binade of |x|·S, coloured by what becomes of it in the chosen
// format, over the ranges of all formats. The formats stand still and the loss scale moves the
// values. The figure is drawn anew from its view each time; it keeps nothing.

const narrow_width = 640;
const widest_window = 92;

// The binades of the x axis, the same for every tensor so that shapes can be compared: all of
// binary16, and at scale 1 all but the lowest thousandth of the values, where that fits.
function axis_window(report) {
  const {binades, first, end, nonzero} = report.total;
  let low = -29;
  let high = 20;
  if (has_values(report.total)) {
    let row = first;
    while (binades.before[row] + binades.all[row] <= nonzero / 1000) row += 1;
    low = Math.min(low, binades.exponent[row] - 1);
    high = Math.max(high, Math.min(binades.exponent[end - 1] + 3, 60));
  }
  return {low: Math.max(low, high - widest_window), high};
}

function layout(width, window, format_count) {
  const narrow = width < narrow_width;
  const left = narrow ? 66 : 74;
  const right = width - (narrow ? 6 : 14);
  const top = 24;
  const bottom = top + (narrow ? 190 : 270);
  const band = bottom + (narrow ? 44 : 60);
  const pitch = 20;
  const per_binade = (right - left) / (window.high - window.low);
  const x = (e) => left + (e - window.low) * per_binade;
  const inside = (e) => Math.min(Math.max(x(e), left), right);
  return {width, narrow, left, right, top, bottom, band, pitch, per_binade, x, inside, window,
    height: band + pitch * format_count + 4};
}

// Edges of the fates on the axis: where rounding to nearest crosses over. The smallest normal's
// and the largest value's own rounding, under a tenth of a binade, is in the bars, not in the line.
function fate_edges(format) {
  return [format.emin - format.precision, format.emin, Math.log2(format.max)];
}

function draw_zones(area, view) {
  const edges = [area.window.low, ...fate_edges(view.format), area.window.high];
  const end = overflow_words(view.format);
  const names = [['becomes zero', 'zero'], ['subnormal', 'sub'], ['normal'],
    [`becomes ${end}`, end]];
  const group = drawing('g', {class: 'zones'});
  fates.forEach((fate, i) => {
    const from = area.inside(edges[i]);
    const to = area.inside(edges[i + 1]);
    if (to <= from) return;
    group.append(drawing('rect', {class: `zone ${fate}`, x: from, y: area.top, width: to - from,
      height: area.bottom - area.top}));
    if (to < area.right) {
      group.append(drawing('line', {x1: to, x2: to, y1: area.top - 16, y2: area.bottom}));
    }
    const name = names[i].find((words) => to - from > 7.2 * words.length);
    if (name) {
      group.append(drawing('text', {class: `zone-name ${fate}`, x: (from + to) / 2,
        y: area.top - 7, 'text-anchor': 'middle'}, name));
    }
  });
  return group;
}

function linear_ticks(top) {
  const rough = top / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((m) => m * unit >= rough) * unit;
  const count = Math.ceil(top / step - 1e-9);
  return Array.from({length: count + 1}, (_, i) => i * step);
}

function y_scale(shares, log, area) {
  const height = area.bottom - area.top;
  const largest = Math.max(...shares);
  if (!log) {
    const ticks = linear_ticks(largest);
    const top = ticks[ticks.length - 1];
    return {ticks, y: (share) => area.bottom - height * share / top};
  }
  const high = Math.ceil(Math.log10(largest) + 1e-9);
  const low = Math.floor(Math.log10(Math.min(...shares.filter((share) => share > 0))) - 1e-9);
  const every = Math.ceil((high - low) / 7);
  const ticks = [];
  for (let decade = high; decade >= low; decade -= every) ticks.push(10 ** decade);
  return {ticks, y: (share) => area.bottom - height * (Math.log10(share) - low) / (high - low)};
}

function plain_tick(p) {
  return p === 0 || p >= 1e-4 ? String(Number(p.toPrecision(6))) : scientific(p, 1);
}

function draw_y_axis(area, scale) {
  const group = drawing('g', {class: 'y-axis'});
  for (const tick of scale.ticks) {
    const y = scale.y(tick);
    if (y < area.bottom - 0.5) {
      group.append(drawing('line', {x1: area.left, x2: area.right, y1: y, y2: y}));
    }
    group.append(drawing('text', {x: area.left - 8, y: y + 3.5, 'text-anchor': 'end'},
      `${plain_tick(100 * tick)}${thin}%`));
  }
  return group;
}

function draw_x_axis(area) {
  const group = drawing('g', {class: 'x-axis'});
  group.append(drawing('line', {x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom}));
  const step = [2, 4, 8, 16].find((binades) => binades * area.per_binade >= 36);
  for (let e = Math.ceil(area.window.low / step) * step; e <= area.window.high; e += step) {
    const x = area.x(e);
    group.append(drawing('line', {x1: x, x2: x, y1: area.bottom, y2: area.bottom + 4}));
    group.append(drawing('text', {x, y: area.bottom + 17, 'text-anchor': 'middle'}, power(e)));
    if (!area.narrow && e % (2 * step) === 0) {
      group.append(drawing('text', {class: 'decimal', x, y: area.bottom + 32,
        'text-anchor': 'middle'}, magnitude(2 ** e, 2)));
    }
  }
  group.append(drawing('text', {class: 'axis-name', x: area.right, 'text-anchor': 'end',
    y: area.band - 10}, 'magnitude times loss scale, |x|·S'));
  return group;
}

// A bar in which fates mix is cut across its width, in the exact proportion of its counts.
function draw_bars(area, view, scale) {
  const group = drawing('g', {class: 'bars'});
  const gap = area.per_binade > 5 ? 1 : 0.3;
  for (const row of rows_of(view.tensor)) {
    const exponent = view.tensor.binades.exponent[row];
    const e = exponent + view.k;
    if (e < area.window.low || e >= area.window.high) continue;
    const counts = row_fates(view.tensor, row, view.format, view.k);
    const all = view.tensor.binades.all[row];
    const y = scale.y(share(all, view.tensor, view.of));
    let x = area.x(e) + gap / 2;
    for (const fate of fates.filter((name) => counts[name] > 0)) {
      const width = (area.per_binade - gap) * counts[fate] / all;
      group.append(drawing('rect', {class: `bar ${fate}`, x: x.toFixed(2), y: y.toFixed(2),
        width: width.toFixed(3), height: Math.max(area.bottom - y, 0.6).toFixed(2),
        'data-exponent': exponent, 'data-count': counts[fate]}));
      x += width;
    }
  }
  return group;
}

function draw_outside(area, view) {
  const group = drawing('g', {class: 'outside'});
  const {low, high} = view.window;
  const count = {left: values_below(view.tensor, low - view.k, 0),
    right: view.tensor.nonzero - values_below(view.tensor, high - view.k, 0)};
  const y = area.top + 16;
  if (count.left > 0) {
    group.append(drawing('text', {x: area.left + 6, y},
      `◂ ${percent(share(count.left, view.tensor, view.of))} further left`));
  }
  if (count.right > 0) {
    group.append(drawing('text', {x: area.right - 6, y, 'text-anchor': 'end'},
      `${percent(share(count.right, view.tensor, view.of))} further right ▸`));
  }
  return group;
}

// One row per format: what survives rounding, the subnormal part lighter than the normal one.
function draw_bands(area, view) {
  const group = drawing('g', {class: 'bands'});
  view.report.formats.forEach((format, i) => {
    const y = area.band + i * area.pitch;
    const [dead, normal, max] = fate_edges(format);
    const row = drawing('g', {class: format === view.format ? 'band selected' : 'band',
      'data-format': format.name});
    row.append(drawing('rect', {class: 'target', x: 0, y, width: area.width, height: area.pitch}));
    row.append(drawing('text', {class: 'band-name', x: area.left - 8, y: y + 13,
      'text-anchor': 'end'}, format.name));
    const part = (name, from, to) => {
      if (area.inside(to) > area.inside(from)) {
        row.append(drawing('rect', {class: name, x: area.inside(from), y: y + 3,
          width: area.inside(to) - area.inside(from), height: 13}));
      }
    };
    part('range subnormal', dead, normal);
    part('range normal', normal, max);
    if (area.x(dead) < area.left) {
      row.append(drawing('text', {class: 'beyond', x: area.left + 5, y: y + 13},
        `◂ ${power(dead)}`));
    }
    if (area.x(max) > area.right) {
      row.append(drawing('text', {class: 'beyond', x: area.right - 5, y: y + 13,
        'text-anchor': 'end'}, `${power(Math.ceil(max))} ▸`));
    }
    if (format.name === 'binary16') draw_27_24(row, area, y);
    group.append(row);
  });
  return group;
}

function draw_27_24(row, area, y) {
  const from = area.inside(-27);
  const to = area.inside(-24);
  row.append(drawing('rect', {class: 'band-27-24', x: from, y: y + 1.5, width: to - from,
    height: 16}));
  row.append(drawing('text', {class: 'band-27-24-name', x: to + 5, y: y + 13},
    `${power(-27)} … ${power(-24)}`));
}

// What one bar holds, in words, for the line above the figure.
function bar_words(row, view) {
  const counts = row_fates(view.tensor, row, view.format, view.k);
  const all = view.tensor.binades.all[row];
  const exponent = view.tensor.binades.exponent[row];
  const parts = fates.filter((fate) => counts[fate] > 0).map((fate) =>
    `${counts[fate] === all ? 'all' : integer(counts[fate])} ${fate.replace('_', ' ')}`);
  const from = power(exponent);
  const to = power(exponent + 1);
  const moved = view.k === 0 ? '' :
    `, times ${power(view.k)} from ${power(exponent + view.k)}`;
  return `|x| from ${from} to ${to}${moved}: ${plural(all, 'value')}, ` +
    `${percent(share(all, view.tensor, view.of))}; in ${view.format.name} ${parts.join(', ')}.`;
}

function histogram_summary(view) {
  const counts = tensor_fates(view.tensor, view.format, view.k);
  const parts = fates.map((fate) =>
    `${fate.replace('_', ' ')} ${percent(share(counts[fate], view.tensor, view.of))}`);
  return `Histogram of log2 magnitude, ${view.name}, times ${power(view.k)} in ` +
    `${view.format.name}: ${parts.join(', ')}`;
}

// view: {report, tensor, name, format, k, of, log_y, window}; on_point(its row or null) as the
// pointer moves over the bars, on_format(name) when a format's band is pressed.
function draw_histogram(host, view, on_point, on_format) {
  const area = layout(Math.max(host.clientWidth, 300), view.window, view.report.formats.length);
  const svg = drawing('svg', {viewBox: `0 0 ${area.width} ${area.height}`, width: area.width,
    height: area.height, role: 'img', 'aria-label': histogram_summary(view)});
  svg.append(draw_zones(area, view));
  if (has_values(view.tensor)) {
    const shares = rows_of(view.tensor).map((row) =>
      share(view.tensor.binades.all[row], view.tensor, view.of));
    const scale = y_scale(shares, view.log_y, area);
    svg.append(draw_y_axis(area, scale), draw_bars(area, view, scale), draw_outside(area, view));
  } else {
    svg.append(drawing('text', {class: 'nothing', x: (area.left + area.right) / 2,
      y: (area.top + area.bottom) / 2, 'text-anchor': 'middle'}, nothing_words(view.tensor)));
  }
  svg.append(draw_x_axis(area), draw_bands(area, view));
  const exponent_at = (event) => Math.floor(area.window.low - view.k +
    (event.clientX - svg.getBoundingClientRect().left - area.left) / area.per_binade);
  svg.addEventListener('pointermove', (event) => {
    const exponent = exponent_at(event);
    const row = row_from(view.tensor, exponent);
    on_point(row < view.tensor.end && view.tensor.binades.exponent[row] === exponent ? row : null);
  });
  svg.addEventListener('pointerleave', () => on_point(null));
  svg.addEventListener('click', (event) => {
    const band = event.target.closest('[data-format]');
    if (band) on_format(band.dataset.format);
  });
  host.replaceChildren(svg);
}

function nothing_words(tensor) {
  if (tensor.status === 'empty') return 'This tensor has no values.';
  if (tensor.status === 'all zero') {
    return `All finite values are exactly zero: ${plural(tensor.values, 'value')}, ` +
      `${integer(tensor.nan)} NaN, ${integer(tensor.inf)} infinite.`;
  }
  return `No finite non-zero value among ${plural(tensor.values, 'value')}: ` +
    `${integer(tensor.nan)} NaN, ${integer(tensor.inf)} infinite.`;
}
