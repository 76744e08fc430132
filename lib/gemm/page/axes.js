// SPDX-License-Identifier: Apache-2.0
//
// Axes that the figures share: round ticks, grid lines, names.

function plot_area(host, {left = 66, right = 26, top = 22, height = 250, below = 40}) {
  const width = Math.max(host.clientWidth, 300);
  return {width, left, right: width - right, top, bottom: top + height, height: top + height + below};
}

function round_ticks(top, wanted = 4) {
  const rough = top / wanted;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((m) => m * unit >= rough - unit * 1e-9) * unit;
  const count = Math.ceil(top / step - 1e-9);
  return Array.from({length: count + 1}, (_, i) => i * step);
}

function linear_scale(largest, area) {
  const ticks = round_ticks(largest);
  const top = ticks[ticks.length - 1];
  return {ticks, y: (value) => area.bottom - (area.bottom - area.top) * value / top};
}

function log_scale(values, area) {
  const high = Math.ceil(Math.log10(Math.max(...values)) + 1e-9);
  const low = Math.floor(Math.log10(Math.min(...values)) - 1e-9);
  const every = Math.ceil((high - low) / 7);
  const ticks = [];
  for (let decade = high; decade >= low; decade -= every) ticks.push(10 ** decade);
  const y = (value) => (value <= 0 ? area.bottom :
    area.bottom - (area.bottom - area.top) * (Math.log10(value) - low) / (high - low));
  return {ticks, y};
}

function draw_y_axis(area, scale, name) {
  const group = drawing('g', {class: 'y-axis'});
  for (const tick of scale.ticks) {
    const y = scale.y(tick);
    if (y < area.bottom - 0.5) {
      group.append(drawing('line', {x1: area.left, x2: area.right, y1: y, y2: y}));
    }
    group.append(drawing('text', {x: area.left - 8, y: y + 3.5, 'text-anchor': 'end'},
      share_words(tick)));
  }
  group.append(drawing('text', {class: 'axis-name', x: area.left, y: area.top - 10}, name));
  return group;
}

// A tick in per cent with the digits it needs.
function share_words(tick) {
  const p = Number((100 * tick).toPrecision(6));
  const words = p === 0 || p >= 1e-4 ? String(p) :
    p.toExponential().replace('e-', 'e−');
  return `${words}${thin}%`;
}

function draw_x_line(area) {
  return drawing('line', {class: 'x-line', x1: area.left, x2: area.right, y1: area.bottom,
    y2: area.bottom});
}

function x_tick(area, x, words, mark = true) {
  const group = drawing('g', {class: 'x-tick'});
  if (mark) group.append(drawing('line', {x1: x, x2: x, y1: area.bottom, y2: area.bottom + 4}));
  group.append(drawing('text', {x, y: area.bottom + 17, 'text-anchor': 'middle'}, words));
  return group;
}

function new_drawing(area, summary) {
  return drawing('svg', {viewBox: `0 0 ${area.width} ${area.height}`, width: area.width,
    height: area.height, role: 'img', 'aria-label': summary});
}

// Calls on_point(index of the bar under the pointer, or -1).
function follow_pointer(svg, index_at, on_point) {
  svg.addEventListener('pointermove', (event) =>
    on_point(index_at(event.clientX - svg.getBoundingClientRect().left)));
  svg.addEventListener('pointerleave', () => on_point(-1));
}
