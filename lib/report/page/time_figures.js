// SPDX-License-Identifier: Apache-2.0
//
// Figures over the steps of a run: lines, the band of loss scales, the map of layers. Each is drawn
// anew from what it is given and the width it has; on_point says what lies under the pointer.

function time_area(host, {left = 58, right = 74, top = 14, height = 210, below = 40}) {
  const width = Math.max(host.clientWidth, 280);
  return {width, left, right: width - right, top, bottom: top + height,
    height: top + height + below};
}

function time_drawing(area, summary) {
  return drawing('svg', {viewBox: `0 0 ${area.width} ${area.height}`, width: area.width,
    height: area.height, role: 'img', 'aria-label': summary});
}

// Steps stand where they are, not one beside the other.
function step_axis(area, steps) {
  const first = steps[0];
  const last = steps[steps.length - 1];
  const x = (step) => area.left + (area.right - area.left) * (step - first) / (last - first);
  const rough = Math.max((last - first) / Math.max(2, (area.right - area.left) / 90), 1);
  const unit = 10 ** Math.floor(Math.log10(rough));
  const pitch = [1, 2, 5, 10].find((m) => m * unit >= rough - 1e-9) * unit;
  const ticks = [];
  for (let step = Math.ceil(first / pitch) * pitch; step <= last; step += pitch) ticks.push(step);
  return {x, ticks};
}

function draw_step_axis(area, axis) {
  const group = drawing('g', {class: 'x-axis'});
  group.append(drawing('line', {x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom}));
  for (const step of axis.ticks) {
    const x = axis.x(step);
    group.append(drawing('line', {x1: x, x2: x, y1: area.bottom, y2: area.bottom + 4}));
    group.append(drawing('text', {x, y: area.bottom + 17, 'text-anchor': 'middle'}, integer(step)));
  }
  group.append(drawing('text', {class: 'axis-name', x: area.right, y: area.bottom + 33,
    'text-anchor': 'end'}, 'step'));
  return group;
}

// Calls on_step(index of the nearest step, or -1).
function follow_steps(svg, area, axis, steps, on_step) {
  svg.addEventListener('pointermove', (event) => {
    const at = event.clientX - svg.getBoundingClientRect().left;
    const distance = steps.map((step) => Math.abs(axis.x(step) - at));
    on_step(at < area.left - 12 || at > area.right + 12 ? -1 :
      distance.indexOf(Math.min(...distance)));
  });
  svg.addEventListener('pointerleave', () => on_step(-1));
}

// Names at the right end of their lines, moved apart where they would overlap.
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

// Upright lines at the steps that hold NaN or Inf.
function draw_odd_steps(area, axis, odd) {
  const group = drawing('g', {class: 'odd-steps'});
  for (const step of odd) {
    const x = axis.x(step).toFixed(2);
    group.append(drawing('line', {x1: x, x2: x, y1: area.top, y2: area.bottom, 'data-odd': step}));
  }
  return group;
}

// A path through points [x, y]; null is a gap.
function path_through(points) {
  return points.map((point, i) => (point === null ? '' :
    `${i > 0 && points[i - 1] !== null ? 'L' : 'M'}${point[0].toFixed(2)},${point[1].toFixed(2)}`))
    .join('');
}

// lines: [{name, class, values: a share or null per step}]. A gap in the values is a gap in the line;
// odd: the steps that hold NaN or Inf.
function draw_time_lines(host, steps, lines, odd, summary, on_step) {
  const area = time_area(host, {});
  const axis = step_axis(area, steps);
  const svg = time_drawing(area, summary);
  const all = lines.flatMap((line) => line.values.filter((value) => value !== null));
  const largest = Math.max(...all, 0);
  const scale = y_scale([largest > 0 ? largest : 1], false, area);
  svg.append(draw_y_axis(area, scale), draw_odd_steps(area, axis, odd));
  for (const line of lines) {
    const group = drawing('g', {class: `line ${line.class}`, 'data-line': line.name});
    const points = line.values.map((value, i) =>
      (value === null ? null : [axis.x(steps[i]), scale.y(value)]));
    group.append(drawing('path', {d: path_through(points)}));
    points.forEach((point, i) => {
      if (point === null) return;
      group.append(drawing('circle', {cx: point[0].toFixed(2), cy: point[1].toFixed(2),
        r: steps.length > 60 ? 1.2 : 2.2, 'data-step': steps[i], 'data-value': line.values[i]}));
      line.y = point[1];
    });
    svg.append(group);
  }
  const named = lines.filter((line) => line.y !== undefined);
  place_names(named, area);
  for (const line of named) {
    svg.append(drawing('text', {class: `line-name ${line.class}`, x: area.right + 8,
      y: line.label + 4}, line.name));
  }
  svg.append(draw_step_axis(area, axis));
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

// Lines and words at whole powers of two between two logarithms, at heights y(log2).
function power_grid(area, low, high, y) {
  const grid = drawing('g', {class: 'y-axis'});
  for (const tick of scale_ticks(low, high, area)) {
    grid.append(drawing('line', {x1: area.left, x2: area.right, y1: y(tick), y2: y(tick)}),
      drawing('text', {x: area.left - 8, y: y(tick) + 3.5, 'text-anchor': 'end'}, power(tick)));
  }
  return grid;
}

// The scales in pieces, without those that have no interval.
function unbroken(scales) {
  const pieces = [[]];
  for (const at of scales) {
    if (at.s_min_log2 === null) pieces.push([]);
    else pieces[pieces.length - 1].push(at);
  }
  return pieces.filter((piece) => piece.length > 0);
}

// The interval of each step from S_min to S_max; where S_min lies above S_max it is empty and the gap is
// hatched. The line is the loss scale of the slider.
function draw_scale_band(host, steps, scales, odd, k, on_step) {
  const area = time_area(host, {right: 84});
  const axis = step_axis(area, steps);
  const known = scales.filter((at) => at.s_min_log2 !== null);
  const ends = known.flatMap((at) => [at.s_min_log2, at.s_max_log2]);
  const low = Math.min(...ends, k) - 2;
  const high = Math.max(...ends, k) + 2;
  const y = (log2) => area.bottom - (area.bottom - area.top) * (log2 - low) / (high - low);
  const svg = time_drawing(area, 'Loss scales that serve the gradients of each step');
  svg.append(power_grid(area, low, high, y), draw_odd_steps(area, axis, odd));
  const ends_at = (name, of) => of.map((at) => [axis.x(at.step), y(at[name])]);
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
    if (at.recommended_log2 !== null && at.recommended_log2 <= high) {
      group.append(drawing('circle', {class: 'recommended', cx: x, cy: y(at.recommended_log2),
        r: steps.length > 60 ? 1.4 : 2.6}));
    }
    svg.append(group);
  }
  svg.append(drawing('line', {class: 'current-scale', x1: area.left, x2: area.right, y1: y(k),
    y2: y(k)}));
  const names = [{name: `S = ${power(k)}`, class: 'current', y: y(k)}];
  if (known.length > 0) {
    const last = known[known.length - 1];
    names.push({name: 'S max', class: 'end', y: y(last.s_max_log2)},
      {name: 'S min', class: 'end', y: y(last.s_min_log2)});
  }
  place_names(names, area);
  for (const at of names) {
    svg.append(drawing('text', {class: `line-name ${at.class}`, x: area.right + 8, y: at.label + 4},
      at.name));
  }
  svg.append(draw_step_axis(area, axis));
  follow_steps(svg, area, axis, steps, on_step);
  host.replaceChildren(svg);
}

// lines: [{name, class, low, high: binades per step or null}], moved by the loss scale 2^k, over the edges
// of the format's fates.
function draw_ranges(host, steps, lines, odd, format, k, on_step) {
  const area = time_area(host, {});
  const axis = step_axis(area, steps);
  const ends = lines.flatMap((line) => [...line.low, ...line.high]).filter((e) => e !== null);
  const low = Math.min(...ends.map((e) => e + k), format.emin - format.precision) - 2;
  const high = Math.max(...ends.map((e) => e + k), format.emax) + 2;
  const y = (e) => area.bottom - (area.bottom - area.top) * (e - low) / (high - low);
  const svg = time_drawing(area, 'Smallest and largest magnitudes over the steps');
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
      (ends[i] === null ? null : [axis.x(step), y(ends[i] + k)])));
    const group = drawing('g', {class: `line ${line.class}`, 'data-line': line.name});
    group.append(drawing('path', {d: path(line.high)}),
      drawing('path', {d: path(line.low), class: 'low'}));
    steps.forEach((step, i) => {
      if (line.low[i] === null) return;
      group.append(drawing('circle', {cx: axis.x(step).toFixed(2),
        cy: y(line.high[i] + k).toFixed(2), r: 2, 'data-step': step, 'data-low': line.low[i],
        'data-high': line.high[i]}));
    });
    svg.append(group);
  }
  place_names(names, area);
  for (const at of names) {
    svg.append(drawing('text', {class: `line-name ${at.class}`, x: area.right + 8, y: at.label + 4},
      at.name));
  }
  svg.append(draw_step_axis(area, axis));
  follow_steps(svg, area, axis, steps, on_step);
  host.replaceChildren(svg);
}

function cross_over(cell) {
  const [x, y, width, height] = ['x', 'y', 'width', 'height'].map((name) =>
    Number(cell.getAttribute(name)));
  return drawing('path', {class: 'cross', d: `M${x},${y}l${width},${height}m0,${-height}` +
    `l${-width},${height}`});
}

// A column per step, a row per layer; groups: [{role, values: per layer, per step: share or null; odd:
// whether NaN or Inf are there}].
// Darker by the square root of the share, so that a hundredth is seen.
function draw_time_map(host, run, groups, on_cell, on_choose) {
  const pitch = Math.max(9, Math.min(20, 420 / (run.layers.length * groups.length)));
  const narrow = host.clientWidth < narrow_width;
  const longest = Math.max(...run.layers.map((name) => name.length), 6);
  const left = Math.min(narrow ? 96 : 240, 12 + 6.6 * longest);
  const rows = groups.length * (run.layers.length * pitch + 24);
  const area = time_area(host, {left, right: 8, top: 4, height: rows, below: 30});
  const svg = time_drawing(area, 'Layers over steps, darker where more is lost');
  const width = (area.right - area.left) / run.steps.length;
  const room = Math.floor((left - 12) / 6.6);
  let y = area.top;
  for (const {role, values, odd} of groups) {
    svg.append(drawing('text', {class: 'map-role', x: area.left, y: y + 14}, role));
    y += 20;
    run.layers.forEach((layer, row) => {
      const shown = layer.length > room ? `…${layer.slice(1 - room)}` : layer;
      svg.append(drawing('text', {class: 'map-layer', x: area.left - 8, y: y + pitch / 2 + 4,
        'text-anchor': 'end'}, shown));
      run.steps.forEach((step, column) => {
        const value = values[row][column];
        const cell = drawing('rect', {class: value === null ? 'cell none' : 'cell',
          x: (area.left + column * width).toFixed(2), y: y.toFixed(2),
          width: Math.max(width - (width > 5 ? 1 : 0), 0.5).toFixed(2), height: (pitch - 1).toFixed(2),
          'data-role': role, 'data-layer': layer, 'data-step': step, 'data-value': value,
          'data-odd': odd[row][column] ? 1 : null});
        if (value !== null) cell.style.fillOpacity = Math.sqrt(Math.min(value, 1)).toFixed(4);
        svg.append(cell);
        if (odd[row][column]) svg.append(cross_over(cell));
      });
      y += pitch;
    });
    y += 4;
  }
  const every = Math.ceil(run.steps.length / Math.max(2, (area.right - area.left) / 64));
  run.steps.forEach((step, column) => {
    if (column % every !== 0) return;
    svg.append(drawing('text', {class: 'map-step', x: area.left + (column + 0.5) * width,
      y: area.bottom + 14, 'text-anchor': 'middle'}, integer(step)));
  });
  const place = (event) => {
    const data = event.target.dataset;
    return data && data.layer !== undefined ? data : null;
  };
  svg.addEventListener('pointermove', (event) => on_cell(place(event)));
  svg.addEventListener('pointerleave', () => on_cell(null));
  svg.addEventListener('click', (event) => {
    const data = place(event);
    if (data) on_choose(data.layer, data.role, Number(data.step));
  });
  host.replaceChildren(svg);
}
