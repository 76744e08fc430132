// SPDX-License-Identifier: Apache-2.0
//
// Figures over the steps of a run: shares as lines, the band of loss scales, ranges of magnitudes. Each calls
// on_step(index of the step that is nearest to the pointer, or -1). Lines of more than `most_points` steps have no dots.

const most_points = 60;

function time_area(host, right = 74) {
  return plot_area(host, {left: 58, right, top: 14, height: 210, below: 40});
}

// The axis of steps: x(step) in pixels, in proportion to the step's number, and ticks at round numbers.
function step_axis(area, steps) {
  const first = steps[0];
  const last = steps[steps.length - 1];
  const x = (step) => area.left + (area.right - area.left) * (step - first) / (last - first);
  const pitch = round_step(Math.max((last - first) / Math.max(2, (area.right - area.left) / 90), 1), [1, 2, 5, 10]);
  const ticks = [];
  for (let step = Math.ceil(first / pitch) * pitch; step <= last; step += pitch) ticks.push(step);
  return {x, ticks};
}

function draw_step_axis(area, axis) {
  return draw_x_axis(area, axis.ticks.map((step) => ({x: axis.x(step), words: integer(step)})), 'step',
    {name_below: 33});
}

function follow_steps(svg, area, axis, steps, on_step) {
  const places = steps.map(axis.x);
  follow_pointer(svg, (at) => (at < area.left - 12 || at > area.right + 12 ? -1 : nearest(places, at)), on_step);
}

// Sets `label`, the height of each name: that of its line's end, moved where names would overlap.
function place_names(lines, area) {
  const pitch = 14;
  const placed = [...lines].sort((a, b) => a.y - b.y);
  placed.forEach((line, i) => {
    line.label = i === 0 ? Math.max(line.y, area.top) :
      Math.max(line.y, placed[i - 1].label + pitch);
  });
  const over = placed.length > 0 ? placed[placed.length - 1].label - area.bottom : 0;
  for (let i = placed.length - 1, limit = area.bottom; over > 0 && i >= 0; i -= 1) {
    placed[i].label = Math.min(placed[i].label, limit);
    limit = placed[i].label - pitch;
  }
}

// Upright lines at the steps that hold NaN or Inf, which are `odd`.
function draw_odd_steps(area, axis, odd) {
  const group = drawing('g', {class: 'odd-steps'});
  for (const step of odd) {
    const x = axis.x(step).toFixed(2);
    group.append(drawing('line', {x1: x, x2: x, y1: area.top, y2: area.bottom, 'data-odd': step}));
  }
  return group;
}

// The names of lines or zones, [{name, class, y}], beside the plot.
function draw_names(area, names) {
  place_names(names, area);
  return drawing('g', {}, ...names.map((at) => drawing('text', {class: `line-name ${at.class}`, x: area.right + 8,
    y: at.label + 4}, at.name)));
}

// Draws shares over the steps. lines: [{name, class, values: a share or null per step}]; null is a gap in the line.
function draw_time_lines(host, steps, lines, odd, summary, on_step) {
  const area = time_area(host);
  const axis = step_axis(area, steps);
  const svg = new_drawing(area, summary);
  const all = lines.flatMap((line) => line.values.filter((value) => value !== null));
  const largest = Math.max(...all, 0);
  const scale = share_scale([largest > 0 ? largest : 1], false, area);
  svg.append(draw_y_axis(area, scale), draw_odd_steps(area, axis, odd));
  for (const line of lines) {
    const group = drawing('g', {class: `line ${line.class}`, 'data-line': line.name});
    const points = line.values.map((value, i) =>
      (value === null ? null : {x: axis.x(steps[i]), y: scale.y(value)}));
    group.append(drawing('path', {d: path_through(points)}));
    points.forEach((point, i) => {
      if (point === null) return;
      line.y = point.y;
      if (steps.length > most_points && !is_lone(points, i)) return;
      group.append(drawing('circle', {cx: point.x.toFixed(2), cy: point.y.toFixed(2),
        r: 2.2, 'data-step': steps[i], 'data-value': line.values[i]}));
    });
    svg.append(group);
  }
  svg.append(draw_names(area, lines.filter((line) => line.y !== undefined)), draw_step_axis(area, axis));
  follow_steps(svg, area, axis, steps, on_step);
  host.replaceChildren(svg);
}

function scale_ticks(low, high, area) {
  const pitch = [1, 2, 4, 8, 16, 32].find((p) =>
    (area.bottom - area.top) * p / (high - low) >= 24) ?? 64;
  const ticks = [];
  for (let k = Math.ceil(low / pitch) * pitch; k <= high; k += pitch) ticks.push(k);
  return ticks;
}

// Lines across the plot at powers of two from 2^low to 2^high, with their words; y(log2) is a height.
function power_grid(area, low, high, y) {
  const grid = drawing('g', {class: 'y-axis'});
  for (const tick of scale_ticks(low, high, area)) {
    grid.append(drawing('line', {x1: area.left, x2: area.right, y1: y(tick), y2: y(tick)}),
      drawing('text', {x: area.left - 8, y: y(tick) + 3.5, 'text-anchor': 'end'}, power(tick)));
  }
  return grid;
}

// The steps' scales in runs of neighbours that have an interval.
function unbroken(scales) {
  const pieces = [[]];
  for (const at of scales) {
    if (at.s_min_log2 === null) pieces.push([]);
    else pieces[pieces.length - 1].push(at);
  }
  return pieces.filter((piece) => piece.length > 0);
}

function is_used(at) {
  return at !== null && at !== undefined && at.used_log2 !== null;
}

function used_words(log2) {
  return Number.isInteger(log2) ? power(log2) : magnitude(2 ** log2);
}

// The scales that the run used, as stairs: each holds until the next.
function draw_used(axis, used, y) {
  const points = used.map((at) => ({x: axis.x(at.step), y: y(at.used_log2)}));
  return drawing('path', {class: 'used-scale', d: path_through(stairs(points))});
}

// The recommended scale of each step, where it lies in the plot: dots, or a line where steps are many.
function draw_recommended(axis, steps, known, y, high) {
  const group = drawing('g', {class: 'recommended-scales'});
  const inside = known.filter((at) => at.recommended_log2 !== null && at.recommended_log2 <= high);
  if (steps.length > most_points) {
    group.append(drawing('path', {class: 'recommended',
      d: path_through(inside.map((at) => ({x: axis.x(at.step), y: y(at.recommended_log2)})))}));
  } else {
    group.append(...inside.map((at) => drawing('circle', {class: 'recommended', cx: axis.x(at.step),
      cy: y(at.recommended_log2), r: 2.6})));
  }
  return group;
}

// Draws the interval of each step, from S_min to S_max. Where S_min lies above S_max the interval is empty and the gap is
// hatched. A dashed line is the slider's loss scale 2^k; stairs are what the run used, if that is known.
function draw_scale_band(host, steps, scales, odd, k, on_step) {
  const area = time_area(host, 84);
  const axis = step_axis(area, steps);
  const known = scales.filter((at) => at.s_min_log2 !== null);
  const used = scales.filter(is_used);
  const ends = [...known.flatMap((at) => [at.s_min_log2, at.s_max_log2]), ...used.map((at) => at.used_log2)];
  const low = Math.min(...ends, k) - 2;
  const high = Math.max(...ends, k) + 2;
  const y = (log2) => area.bottom - (area.bottom - area.top) * (log2 - low) / (high - low);
  const svg = new_drawing(area, 'Loss scales that serve the gradients of each step');
  svg.append(power_grid(area, low, high, y), draw_odd_steps(area, axis, odd));
  const ends_at = (name, of) => of.map((at) => ({x: axis.x(at.step), y: y(at[name])}));
  for (const piece of unbroken(scales)) {
    const [top, bottom] = ['s_max_log2', 's_min_log2'].map((name) => ends_at(name, piece));
    svg.append(drawing('path', {class: 'interval-band',
      d: `${path_through([...top, ...[...bottom].reverse()])}Z`}),
    drawing('path', {class: 'interval-end', d: path_through(top)}),
    drawing('path', {class: 'interval-end', d: path_through(bottom)}));
  }
  for (const at of known) {
    const x = axis.x(at.step);
    const group = drawing('g', {'data-step': at.step, 'data-min': at.s_min_log2,
      'data-max': at.s_max_log2});
    if (at.status === 'empty interval') {
      group.append(drawing('line', {class: 'no-interval', x1: x, x2: x, y1: y(at.s_min_log2),
        y2: y(at.s_max_log2)}));
    }
    svg.append(group);
  }
  if (used.length > 0) svg.append(draw_used(axis, used, y));
  svg.append(draw_recommended(axis, steps, known, y, high));
  svg.append(drawing('line', {class: 'current-scale', x1: area.left, x2: area.right, y1: y(k),
    y2: y(k)}));
  const names = [{name: `S = ${power(k)}`, class: 'current', y: y(k)}];
  if (used.length > 0) names.push({name: 'used', class: 'used', y: y(used[used.length - 1].used_log2)});
  if (known.length > 0) {
    const last = known[known.length - 1];
    names.push({name: 'S max', class: 'end', y: y(last.s_max_log2)},
      {name: 'S min', class: 'end', y: y(last.s_min_log2)});
  }
  svg.append(draw_names(area, names), draw_step_axis(area, axis));
  follow_steps(svg, area, axis, steps, on_step);
  host.replaceChildren(svg);
}

// Draws the smallest and the largest binade of each step, moved by the loss scale 2^k, over the fates of the format.
// lines: [{name, class, low, high: a binade or null per step}].
function draw_ranges(host, steps, lines, odd, format, k, on_step) {
  const area = time_area(host);
  const axis = step_axis(area, steps);
  const ends = lines.flatMap((line) => [...line.low, ...line.high]).filter((e) => e !== null);
  const low = Math.min(...ends.map((e) => e + k), format.emin - format.precision) - 2;
  const high = Math.max(...ends.map((e) => e + k), format.emax) + 2;
  const y = (e) => area.bottom - (area.bottom - area.top) * (e - low) / (high - low);
  const svg = new_drawing(area, 'Smallest and largest magnitudes over the steps');
  svg.append(power_grid(area, low, high, y));
  const [dead, normal, max] = fate_edges(format).map(y);
  const zone = (fate, top, bottom) => svg.append(drawing('rect', {class: `zone ${fate}`,
    x: area.left, width: area.right - area.left, y: top, height: Math.max(bottom - top, 0)}));
  zone('overflow', area.top, max);
  zone('subnormal', normal, dead);
  zone('to_zero', dead, area.bottom);
  svg.append(draw_odd_steps(area, axis, odd));
  const names = [{name: overflow_words(format), class: 'end', y: (area.top + max) / 2},
    {name: 'subnormal', class: 'end', y: (normal + dead) / 2},
    {name: 'to zero', class: 'current', y: (dead + area.bottom) / 2}];
  for (const line of lines) {
    const path = (ends) => path_through(steps.map((step, i) =>
      (ends[i] === null ? null : {x: axis.x(step), y: y(ends[i] + k)})));
    const group = drawing('g', {class: `line ${line.class}`, 'data-line': line.name});
    group.append(drawing('path', {d: path(line.high)}),
      drawing('path', {d: path(line.low), class: 'low'}));
    steps.forEach((step, i) => {
      if (line.low[i] === null || steps.length > most_points) return;
      group.append(drawing('circle', {cx: axis.x(step).toFixed(2),
        cy: y(line.high[i] + k).toFixed(2), r: 2, 'data-step': step, 'data-low': line.low[i],
        'data-high': line.high[i]}));
    });
    svg.append(group);
  }
  svg.append(draw_names(area, names), draw_step_axis(area, axis));
  follow_steps(svg, area, axis, steps, on_step);
  host.replaceChildren(svg);
}
