// SPDX-License-Identifier: Apache-2.0
//
// What every chart is made of: its place in the page, its SVG element, what the pointer is over, and the step
// from tick to tick.

// Calls draw whenever the width of the node has changed since this call: call it before the first drawing, which
// may bring a scroll bar.
function on_width(node, draw) {
  let width = node.clientWidth;
  new ResizeObserver(() => {
    if (node.clientWidth === width) return;
    width = node.clientWidth;
    draw();
  }).observe(node);
}

// Edges of a plot in pixels. Left and right of it and on top are margins; `below` pixels under it are for words.
function plot_area(host, {left, right, top, height, below}) {
  const width = Math.max(host.clientWidth, 280);
  return {width, left, right: width - right, top, bottom: top + height, height: top + height + below};
}

function new_drawing({width, height}, summary) {
  return drawing('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': summary});
}

// Calls on_point(index_at(x)) as the pointer moves, x in the units of the drawing, and on_point(-1) as it leaves.
function follow_pointer(svg, index_at, on_point) {
  svg.addEventListener('pointermove', (event) => {
    const box = svg.getBoundingClientRect();
    on_point(index_at((event.clientX - box.left) * svg.viewBox.baseVal.width / box.width));
  });
  svg.addEventListener('pointerleave', () => on_point(-1));
}

// The index of the number that is nearest to x; -1 if there is none.
function nearest(numbers, x) {
  return numbers.reduce((best, number, i) =>
    (best >= 0 && Math.abs(numbers[best] - x) <= Math.abs(number - x) ? best : i), -1);
}

// The smallest m·10^n that is at least `rough`, for m among the multiples.
function round_step(rough, multiples = [1, 2, 2.5, 5, 10]) {
  const unit = 10 ** Math.floor(Math.log10(rough));
  return multiples.find((m) => m * unit >= rough * (1 - 1e-9)) * unit;
}
