// SPDX-License-Identifier: Apache-2.0
//
// The large figure: one bar per binade of |x|·S, coloured by what becomes of it in the chosen
// format, over the ranges of all formats. The formats stand still and the loss scale moves the
// values. Each drawing is made anew from the view.

const narrow_width = 640;
const widest_window = 92;

// The binades of the x axis, [low, high): the same for every tensor, so that shapes can be compared. They hold
// all of binary16 and, as far as they fit, all values at scale 1 but the smallest thousandth.
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

// The plot, and under it a band per format. x(e) is the place of 2^e, and inside(e) the nearest place in the plot.
function layout(host, window, format_count) {
  const narrow = host.clientWidth < narrow_width;
  const pitch = 20;
  const above_bands = narrow ? 44 : 60;
  const area = plot_area(host, {left: narrow ? 66 : 74, right: narrow ? 6 : 14, top: 24, height: narrow ? 190 : 270,
    below: above_bands + pitch * format_count + 4});
  const {left, right, bottom} = area;
  const per_binade = (right - left) / (window.high - window.low);
  const x = (e) => left + (e - window.low) * per_binade;
  const inside = (e) => Math.min(Math.max(x(e), left), right);
  return {...area, narrow, band: bottom + above_bands, pitch, per_binade, x, inside, window};
}

// The log2 of the magnitudes at which one fate ends and the next begins, for the lines in the figure. They leave out
// that values just below the smallest normal and just above the largest number round to it, which is less than a tenth
// of a binade; the bars count that.
function fate_edges(format) {
  return [format.emin - format.precision, format.emin, Math.log2(format.max)];
}

// What becomes of the values, as zones of the figure.
function zones_of(area, view) {
  const edges = [area.window.low, ...fate_edges(view.format), area.window.high];
  const end = overflow_words(view.format);
  const words = [['becomes zero', 'zero'], ['subnormal', 'sub'], ['normal'], [`becomes ${end}`, end]];
  return fates.map((fate, i) =>
    ({name: fate, from: area.inside(edges[i]), to: area.inside(edges[i + 1]), words: words[i]}));
}

// The axis of magnitudes: powers of two, and under every second of them its decimal number.
function draw_magnitudes(area) {
  const step = [2, 4, 8, 16].find((binades) => binades * area.per_binade >= 36);
  const shown = [];
  for (let e = Math.ceil(area.window.low / step) * step; e <= area.window.high; e += step) shown.push(e);
  const group = draw_x_axis(area, shown.map((e) => ({x: area.x(e), words: power(e)})),
    'magnitude times loss scale, |x|·S', {name_below: area.band - 10 - area.bottom});
  for (const e of shown) {
    if (area.narrow || e % (2 * step) !== 0) continue;
    group.append(drawing('text', {class: 'decimal', x: area.x(e), y: area.bottom + 32, 'text-anchor': 'middle'},
      magnitude(2 ** e, 2)));
  }
  return group;
}

// One bar per binade, cut where its values have several fates.
function draw_bars(area, view, scale) {
  const group = drawing('g', {class: 'bars'});
  const gap = area.per_binade > 5 ? 1 : 0.3;
  for (const row of rows_of(view.tensor)) {
    const exponent = view.tensor.binades.exponent[row];
    const e = exponent + view.k;
    if (e < area.window.low || e >= area.window.high) continue;
    const counts = row_fates(view.tensor, row, view.format, view.k);
    const place = {left: area.x(e) + gap / 2, width: area.per_binade - gap,
      y: scale.y(share(view.tensor.binades.all[row], view.tensor, view.of))};
    group.append(...draw_cut_bar(area, place, fates.map((fate) => [`bar ${fate}`, counts[fate]]),
      {'data-exponent': exponent}));
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

// One band per format, from the smallest magnitude that does not become zero to the largest that does not overflow;
// the subnormal part is lighter than the normal one.
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

// What the bar of a row of the tensor's binades holds, as a sentence.
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

// Draws the figure of view {report, tensor, name, format, k, of, log_y, window} into the host. Calls on_point(the row of
// the tensor's binades under the pointer, or -1), and on_format(name) when a format's band is pressed.
function draw_histogram(host, view, on_point, on_format) {
  const area = layout(host, view.window, view.report.formats.length);
  const svg = new_drawing(area, histogram_summary(view));
  svg.append(draw_zones(area, zones_of(area, view)));
  if (has_values(view.tensor)) {
    const shares = rows_of(view.tensor).map((row) =>
      share(view.tensor.binades.all[row], view.tensor, view.of));
    const scale = share_scale(shares, view.log_y, area);
    svg.append(draw_y_axis(area, scale), draw_bars(area, view, scale), draw_outside(area, view));
  } else {
    svg.append(draw_nothing(area, nothing_words(view.tensor)));
  }
  svg.append(draw_magnitudes(area), draw_bands(area, view));
  follow_pointer(svg, (at) => {
    const exponent = Math.floor(area.window.low - view.k + (at - area.left) / area.per_binade);
    const row = row_from(view.tensor, exponent);
    return row < view.tensor.end && view.tensor.binades.exponent[row] === exponent ? row : -1;
  }, on_point);
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
