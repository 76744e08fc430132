// SPDX-License-Identifier: Apache-2.0
//
// Charts of shares: their axes, the zones behind their bars, and bars that are cut into parts.

// {ticks, y(share)}: an axis from 0, or a logarithmic one that ends at powers of ten and leaves 0 out.
function share_scale(shares, log, area) {
  const height = area.bottom - area.top;
  const largest = Math.max(...shares);
  if (!log) {
    const step = round_step(largest / 4);
    const count = Math.ceil(largest / step - 1e-9);
    const top = count * step;
    return {ticks: Array.from({length: count + 1}, (_, i) => i * step),
      y: (share) => area.bottom - height * share / top};
  }
  const high = Math.ceil(Math.log10(largest) + 1e-9);
  const low = Math.floor(Math.log10(Math.min(...shares.filter((share) => share > 0))) - 1e-9);
  const every = Math.ceil((high - low) / 7);
  const ticks = [];
  for (let decade = high; decade >= low; decade -= every) ticks.push(10 ** decade);
  return {ticks, y: (share) => (share <= 0 ? area.bottom :
    area.bottom - height * (Math.log10(share) - low) / (high - low))};
}

// A tick in per cent with the digits that it needs.
function tick_percent(share) {
  const p = Number((100 * share).toPrecision(6));
  const words = p === 0 || p >= 1e-4 ? String(p) : p.toExponential().replace('e-', 'e−');
  return `${words}${thin}%`;
}

// Lines across the plot at the ticks of a scale of shares, with the name of the axis above them.
function draw_y_axis(area, {ticks, y}, name = '') {
  const group = drawing('g', {class: 'y-axis'});
  for (const tick of ticks) {
    const at = y(tick);
    if (at < area.bottom - 0.5) group.append(drawing('line', {x1: area.left, x2: area.right, y1: at, y2: at}));
    group.append(drawing('text', {x: area.left - 8, y: at + 3.5, 'text-anchor': 'end'}, tick_percent(tick)));
  }
  if (name) group.append(drawing('text', {class: 'axis-name', x: area.left, y: area.top - 10}, name));
  return group;
}

// The line under a plot, words at [{x, words}], and the name of the axis `name_below` pixels under the line.
function draw_x_axis(area, ticks, name, {marks = true, name_below = 34} = {}) {
  const group = drawing('g', {class: 'x-axis'},
    drawing('line', {x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom}));
  for (const {x, words} of ticks) {
    if (marks) group.append(drawing('line', {x1: x, x2: x, y1: area.bottom, y2: area.bottom + 4}));
    group.append(drawing('text', {x, y: area.bottom + 17, 'text-anchor': 'middle'}, words));
  }
  if (name) {
    group.append(drawing('text', {class: 'axis-name', x: area.right, y: area.bottom + name_below, 'text-anchor': 'end'},
      name));
  }
  return group;
}

// Words in the middle of a plot that has nothing to show.
function draw_nothing(area, words) {
  return drawing('text', {class: 'nothing', x: (area.left + area.right) / 2, y: (area.top + area.bottom) / 2,
    'text-anchor': 'middle'}, words);
}

// zones: [{name: a class, from, to: pixels, words: the longest first}] from left to right. Above a zone stand the
// first words that fit, and before each but the first there is a line.
function draw_zones(area, zones) {
  const group = drawing('g', {class: 'zones'});
  for (const {name, from, to, words} of zones.filter((zone) => zone.to > zone.from)) {
    group.append(drawing('rect', {class: `zone ${name}`, x: from, y: area.top, width: to - from,
      height: area.bottom - area.top}));
    if (from > area.left) group.append(drawing('line', {x1: from, x2: from, y1: area.top - 16, y2: area.bottom}));
    const fitting = words.find((text) => 7.2 * text.length < to - from);
    if (fitting) {
      group.append(drawing('text', {class: `zone-name ${name}`, x: (from + to) / 2, y: area.top - 7,
        'text-anchor': 'middle'}, fitting));
    }
  }
  return group;
}

// A bar from the bottom up to y, cut across its width in the exact proportion of the counts of its parts,
// [[class, count]]; what counts 0 is left out.
function draw_cut_bar(area, {left, width, y}, parts, attributes) {
  const all = parts.reduce((sum, [, count]) => sum + count, 0);
  let x = left;
  return parts.filter(([, count]) => count > 0).map(([name, count]) => {
    const part = drawing('rect', {class: name, ...attributes, 'data-count': count, x: x.toFixed(2), y: y.toFixed(3),
      width: (width * count / all).toFixed(3), height: Math.max(area.bottom - y, 0.6).toFixed(3)});
    x += width * count / all;
    return part;
  });
}
