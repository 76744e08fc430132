// SPDX-License-Identifier: Apache-2.0
//
// A plot: its axes, its series, and marks at what the pointer is over. It is drawn anew from its JSON whenever its width
// changes or a series is hidden or shown. `hidden` is the set of the indices of hidden series.

// SVG text of parts as raised_parts() returns them: every second part is an exponent and stands higher.
function words_in_drawing(parts, attributes) {
  return drawing('text', attributes, ...parts.map((part, i) =>
    (i === 0 ? part : drawing('tspan', i % 2 === 1 ? {dy: -5, 'font-size': '0.8em'} : {dy: 5}, part))));
}

function of_series(plot, hidden, name) {
  return plot.series.filter((_, i) => !hidden.has(i)).flatMap((series) => series[name]);
}

// The smallest distance between neighbours on the x axis, as a share of the axis: bars have that much room.
function nearest_share(scale, values) {
  const places = [...new Set(values.map(scale.at))].sort((a, b) => a - b);
  return places.length < 2 ? 0.2 :
    smallest(places.slice(1).map((place, i) => place - places[i]));
}

// Room for half a bar at both ends of the x axis, in the axis' own units, which are exponents if it is logarithmic.
function bar_room(plot, values) {
  const kind = plot.x_axis;
  const unit = kind === 'linear' ? (v) => v : (v) => Math.log2(v) / Math.log2(base_of[kind]);
  const places = [...new Set(values.filter((v) => shows(kind, v)).map(unit))].sort((a, b) => a - b);
  return places.length < 2 ? 1 :
    0.55 * smallest(places.slice(1).map((place, i) => place - places[i]));
}

function scales_of(plot, hidden, frame) {
  const bars = plot.series.some((series) => series.mark === 'bars');
  const xs = of_series(plot, hidden, 'x');
  const span = frame.right - frame.left;
  const x = scale_of(plot.x_axis, xs, {wanted: Math.max(2, span / 85), whole_steps: false,
    pad: bars ? bar_room(plot, xs) : 0});
  const y = scale_of(plot.y_axis, of_series(plot, hidden, 'y'), {wanted: 5, from_zero: bars});
  return {x, y, x_at: (v) => frame.left + span * x.at(v),
    y_at: (v) => frame.bottom - (frame.bottom - frame.top) * y.at(v)};
}

function draw_axes(plot, frame, scales) {
  const group = drawing('g', {class: 'axes'});
  for (const {value, words} of scales.y.ticks) {
    const y = scales.y_at(value);
    group.append(drawing('line', {class: 'grid', x1: frame.left, x2: frame.right, y1: y, y2: y}),
      words_in_drawing(words, {class: 'tick', x: frame.left - 8, y: y + 4, 'text-anchor': 'end'}));
  }
  for (const {value, words} of scales.x.ticks) {
    const x = scales.x_at(value);
    group.append(drawing('line', {class: 'x-mark', x1: x, x2: x, y1: frame.bottom, y2: frame.bottom + 4}),
      words_in_drawing(words, {class: 'tick', x, y: frame.bottom + 18, 'text-anchor': 'middle'}));
  }
  group.append(
    drawing('line', {class: 'x-line', x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom}),
    words_in_drawing(raised_parts(plot.y_label), {class: 'axis-name', x: 4, y: 12}),
    words_in_drawing(raised_parts(plot.x_label),
      {class: 'axis-name', x: frame.right, y: frame.bottom + 37, 'text-anchor': 'end'}));
  return group;
}

function places_of(plot, series, scales) {
  return series.x.map((x, i) => (shows(plot.x_axis, x) && shows(plot.y_axis, series.y[i]) ?
    {x: scales.x_at(x), y: scales.y_at(series.y[i])} : null));
}

function draw_series(plot, hidden, frame, scales) {
  const group = drawing('g', {class: 'marks'});
  const barred = plot.series.map((_, i) => i).filter((i) => plot.series[i].mark === 'bars' && !hidden.has(i));
  const width = (frame.right - frame.left) * 0.8 *
    nearest_share(scales.x, of_series(plot, hidden, 'x').filter((v) => shows(plot.x_axis, v)));
  const foot = plot.y_axis === 'linear' ? scales.y_at(0) : frame.bottom;
  plot.series.forEach((series, i) => {
    if (hidden.has(i)) return;
    const look = look_of(i);
    const places = places_of(plot, series, scales);
    const drawn = series.mark === 'bars' ? draw_bars(places, foot, width, barred.indexOf(i), barred.length) :
      series.mark === 'points' ? drawing('g', {}, drawing('path', {class: 'dots',
        d: path_of_points(places, places.length > 300 ? 1.6 : 3)})) :
      draw_line(places, look, series.mark === 'steps');
    drawn.setAttribute('class', `series ${look.class}`);
    drawn.setAttribute('data-series', i);
    group.append(drawn);
  });
  return group;
}

// A sentence about the values that the axes cannot show; empty if there are none.
function missing_words(plot) {
  const count = plot.series.reduce((sum, series) => sum + series.x.filter((x, i) =>
    !shows(plot.x_axis, x) || !shows(plot.y_axis, series.y[i])).length, 0);
  if (count === 0) return '';
  const why = plot.x_axis === 'linear' && plot.y_axis === 'linear' ? 'not finite' :
    'not finite, or not above 0 on a logarithmic axis';
  return `${plural(count, 'value')} ${count === 1 ? 'is' : 'are'} not shown: ${why}.`;
}

// All x of the series that are shown, in order.
function stops_of(plot, hidden) {
  return [...new Set(of_series(plot, hidden, 'x').filter((x) => shows(plot.x_axis, x)))].sort((a, b) => a - b);
}

// The values at x of the series that are shown: [{index, name, y}].
function values_at(plot, hidden, x) {
  return plot.series.flatMap((series, index) => {
    const i = hidden.has(index) ? -1 : series.x.indexOf(x);
    return i < 0 ? [] : [{index, name: series.name, y: series.y[i]}];
  });
}

// Draws the plot into the host. Returns {svg, point, x_at}: point(x or null) marks an x and its values, x_at(x) is its
// place in pixels.
function draw_plot(host, plot, hidden) {
  const frame = plot_area(host, {left: 64, right: 16, top: 24, height: 240, below: 44});
  const scales = scales_of(plot, hidden, frame);
  const pointed = drawing('g', {class: 'pointed'});
  const svg = new_drawing(frame,
    `${plot.title}: ${plot.y_label} over ${plot.x_label}, ${plural(plot.series.length, 'curve')}`);
  svg.tabIndex = 0;
  svg.append(draw_axes(plot, frame, scales), draw_series(plot, hidden, frame, scales), pointed);
  host.replaceChildren(svg);
  const point = (x) => {
    pointed.replaceChildren();
    if (x === null) return;
    const at = scales.x_at(x);
    pointed.append(drawing('line', {x1: at, x2: at, y1: frame.top, y2: frame.bottom}));
    for (const {index, y} of values_at(plot, hidden, x)) {
      if (!shows(plot.y_axis, y) || plot.series[index].mark === 'bars') continue;
      pointed.append(drawing('circle', {class: look_of(index).class, cx: at, cy: scales.y_at(y), r: 4}));
    }
  };
  return {svg, point, x_at: scales.x_at};
}
