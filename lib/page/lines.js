// SPDX-License-Identifier: Apache-2.0
//
// Lines through points {x, y} in pixels. Null stands for a gap.

function path_through(points) {
  return points.map((point, i) => (point === null ? '' :
    `${i > 0 && points[i - 1] !== null ? 'L' : 'M'}${point.x.toFixed(2)} ${point.y.toFixed(2)}`)).join('');
}

// The corners of a line in steps: each point holds until the next.
function stairs(points) {
  return points.flatMap((point, i) => (point && points[i + 1] ?
    [point, {x: points[i + 1].x, y: point.y}] : [point]));
}

// Whether a point has a gap on both sides, so that no line goes through it.
function is_lone(points, i) {
  return Boolean(points[i]) && !points[i - 1] && !points[i + 1];
}
