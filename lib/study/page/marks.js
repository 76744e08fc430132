// SPDX-License-Identifier: Apache-2.0
//
// One series as a drawing: paths of places that are already in pixels. A place is {x, y}, or null where
// there is a gap.

const dash_patterns = ['', '7 3', '2 3', '9 3 2 3'];
const colours = 7;

// Colours first, then the same colours dashed: curves stay apart on paper too.
function look_of(index) {
  return {class: `ink-${index % colours}`, dash: dash_patterns[Math.floor(index / colours) % 4]};
}

// Discs as one path: thousands cost as little as one.
function path_of_points(places, radius) {
  const r = radius;
  return places.filter((p) => p).map((p) => `M${(p.x - r).toFixed(2)} ${p.y.toFixed(2)}` +
    `a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`).join('');
}

// Few values get dots on their line; values alone between gaps always do.
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

// Bars of one series stand beside those of the others: `slot` of `slots`, together `width` wide.
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
