// SPDX-License-Identifier: Apache-2.0
//
// The drawing of one series, from the places of its values in pixels. A place is {x, y}, or null where there is a gap.

const dash_patterns = ['', '7 3', '2 3', '9 3 2 3'];
const colours = 7;

// The first series differ by colour; further ones have the same colours, dashed, so that they differ on paper, too.
function look_of(index) {
  return {class: `ink-${index % colours}`, dash: dash_patterns[Math.floor(index / colours) % 4]};
}

// Discs as one path, so that thousands of them are one element.
function path_of_points(places, radius) {
  const r = radius;
  return places.filter((p) => p).map((p) => `M${(p.x - r).toFixed(2)} ${p.y.toFixed(2)}` +
    `a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`).join('');
}

// The places that get a dot on the line: all where they are few, else those between two gaps, which no line shows.
function dots_on_line(places) {
  const held = places.filter((p) => p).length;
  return held <= 40 ? places : places.filter((_, i) => is_lone(places, i));
}

function draw_line(places, look, steps) {
  const group = drawing('g', {});
  const d = path_through(steps ? stairs(places) : places);
  group.append(drawing('path', {class: 'curve', d, 'stroke-dasharray': look.dash || null}));
  const dots = steps ? [] : dots_on_line(places);
  if (dots.length > 0) group.append(drawing('path', {class: 'dots', d: path_of_points(dots, 2.4)}));
  return group;
}

// Bars from the height `foot`. At each place the series that have bars share `width`: this one is the `slot`-th of
// `slots`.
function draw_bars(places, foot, width, slot, slots) {
  const group = drawing('g', {});
  const each = width / slots;
  for (const [index, p] of places.entries()) {
    if (!p) continue;
    group.append(drawing('rect', {class: 'bar', 'data-index': index,
      x: (p.x - width / 2 + slot * each).toFixed(2), width: Math.max(each - 0.6, 0.6).toFixed(2),
      y: Math.min(p.y, foot).toFixed(2), height: Math.abs(foot - p.y).toFixed(2)}));
  }
  return group;
}
