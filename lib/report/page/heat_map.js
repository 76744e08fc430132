// SPDX-License-Identifier: Apache-2.0
//
// A map of layers over steps on a canvas: a column is a step, a row a layer, and a cell is the darker the more is lost.
// Where rows or columns do not fit, several share a line of pixels, which shows the largest of them. Labels name each
// layer if there is room, else groups of layers, else some layers.

const label_pitch = 14;
const map_font = '11.5px ';

// Of places along an axis, the first and then each that is at least `room` from the one kept before it.
function thinned(places, room) {
  let last = -Infinity;
  return places.filter(({at}) => {
    if (at - last < room) return false;
    last = at;
    return true;
  });
}

// The smallest round number n such that every n-th of places `pitch` apart leaves `room` between them.
function round_every(pitch, room) {
  return round_step(Math.max(1, Math.ceil(room / pitch)), [1, 2, 5, 10]);
}

// The text if it fits into the width, else as much of its end as fits, after an ellipsis.
function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let [low, high] = [1, text.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (context.measureText(`…${text.slice(middle)}`).width <= width) high = middle;
    else low = middle + 1;
  }
  return `…${text.slice(low)}`;
}

// Labels of the rows of one map, [{text, at}], with the height of their middle from the top of the map.
function row_labels(names, pitch) {
  if (pitch >= label_pitch) return names.map((text, row) => ({text, at: (row + 0.5) * pitch}));
  const groups = grouped_names(names);
  const wanted = groups.length > 0 ?
    groups.map(({name, first}) => ({text: name || names[first], at: first * pitch + label_pitch / 2})) :
    names.map((text, row) => ({text, at: row * pitch + label_pitch / 2}))
      .filter((_, row) => row % round_every(pitch, label_pitch) === 0);
  const height = names.length * pitch;
  return thinned(wanted, label_pitch).filter(({at}) => at <= height - label_pitch / 2 + 1);
}

// The largest code of the cells that share a point; -1 if none of them has a value.
function largest_code(codes, cell, rows, columns) {
  let most = -1;
  for (let row = rows[0]; row < rows[1]; row += 1) {
    for (let column = columns[0]; column < columns[1]; column += 1) {
      const code = codes[cell(row, column)] ?? none_code;
      if (code !== none_code && code > most) most = code;
    }
  }
  return most;
}

// [first, end) of the n rows or columns that line i of `lines` shows.
function shared(i, n, lines) {
  if (lines >= n) return [i, i + 1];
  return [Math.floor(i * n / lines), Math.floor((i + 1) * n / lines)];
}

// Red, green and blue, from 0 to 255, of a colour that the style sheet has as #rrggbb.
function css_color(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16));
}

// The colours of codes 0 to 250, from one colour to the other by the square root of the share.
function ramp(from, to) {
  return Array.from({length: all_code + 1}, (_, code) => {
    const part = (code / all_code) ** 2;
    return from.map((c, i) => Math.round(c + (to[i] - c) * part));
  });
}

// A colour as a pixel in memory: bytes of red, green, blue and opacity, in this order.
function pixel_word(color) {
  return new Uint32Array(Uint8Array.of(...color, 255).buffer)[0];
}

// The picture of each part as it was painted last, with what it was painted from: most drawings do not change it.
const painted_parts = [];

// A canvas of lines × columns points with the cells of one part.
function paint_cells(map, place, lines, columns, colors) {
  const {rows, steps} = map;
  const part = map.parts[place];
  const of = [part.codes, part.marks, rows, part.title, lines, columns, colors.mark];
  const before = painted_parts[place];
  if (before && of.every((one, i) => one === before.of[i])) return before.canvas;
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [columns, lines];
  const context = canvas.getContext('2d');
  const image = context.createImageData(columns, lines);
  const pixels = new Uint32Array(image.data.buffer);
  const cell = (row, column) => part.series[row] * steps.length + column;
  for (let y = 0, at = 0; y < lines; y += 1) {
    const of_rows = shared(y, rows.length, lines);
    for (let x = 0; x < columns; x += 1, at += 1) {
      const of_columns = shared(x, steps.length, columns);
      const code = largest_code(part.codes, cell, of_rows, of_columns);
      if (part.marks !== null && largest_code(part.marks, cell, of_rows, of_columns) > 0) pixels[at] = colors.mark;
      else if (code >= 0) pixels[at] = colors.words[Math.min(code, all_code)];
    }
  }
  context.putImageData(image, 0, 0);
  painted_parts[place] = {of, canvas};
  return canvas;
}

// Sizes in pixels. Parts lie below each other, each under its title.
function map_area(host, map, context) {
  const narrow = host.clientWidth < narrow_width;
  const width = Math.max(host.clientWidth, 280);
  const n = map.rows.length;
  const most = map.parts.length === 1 ? 440 : 340;
  const pitch = Math.min(20, most / n);
  const height = Math.round(n * pitch);
  const labels = row_labels(map.names, pitch);
  const widest = labels.reduce((wide, {text}) => Math.max(wide, context.measureText(text).width), 30);
  const left = Math.min(narrow ? 104 : 250, Math.ceil(widest) + 12);
  const right = width - 10;
  const title = 24;
  const tops = map.parts.map((_, i) => title + i * (height + title + 8));
  const per_step = (right - left) / map.steps.length;
  return {width, left, right, pitch, labels, tops, part_height: height, per_step, title,
    height: tops[tops.length - 1] + height + 26};
}

function draw_map_labels(context, area, map, ink) {
  context.textBaseline = 'middle';
  for (const [i, part] of map.parts.entries()) {
    context.textAlign = 'left';
    context.fillStyle = ink.strong;
    context.font = `600 ${map_font}${ink.family}`;
    context.fillText(part.title, area.left, area.tops[i] - 11);
    context.font = map_font + ink.family;
    context.textAlign = 'right';
    context.fillStyle = ink.soft;
    for (const {text, at} of area.labels) {
      context.fillText(fitted(context, text, area.left - 12), area.left - 8, area.tops[i] + at);
    }
  }
  const bottom = area.tops[area.tops.length - 1] + area.part_height;
  context.textAlign = 'center';
  const last = map.steps.length - 1;
  const wide = context.measureText(integer(map.steps[last])).width;
  const middle = (t) => Math.min(area.left + (t + 0.5) * area.per_step, area.right - wide / 2 + 6);
  const places = map.steps.map((step, t) => ({text: integer(step), at: middle(t)}));
  const room = Math.max(wide + 16, 48);
  const every = round_every(area.per_step, room);
  for (const {text, at} of thinned(places.filter((_, t) => t % every === 0), room)) {
    context.fillText(text, at, bottom + 14);
  }
}

// Draws gaps between cells that are large enough for them.
function draw_map_grid(context, area, map, top, paper) {
  context.fillStyle = paper;
  if (area.per_step > 12) {
    for (let t = 1; t < map.steps.length; t += 1) {
      context.fillRect(Math.round(area.left + t * area.per_step) - 1, top, 1, area.part_height);
    }
  }
  if (area.pitch > 8) {
    for (let row = 1; row < map.rows.length; row += 1) {
      context.fillRect(area.left, Math.round(top + row * area.pitch) - 1, area.right - area.left, 1);
    }
  }
}

// Draws an upright mark at the step at which a row begins to lose. Rows that share a line have one mark, at the first step.
function draw_beginnings(context, area, map, part, top, lines, ink) {
  context.fillStyle = ink;
  const high = area.part_height / lines;
  for (let y = 0; y < lines; y += 1) {
    const [from, to] = shared(y, map.rows.length, lines);
    const firsts = [];
    for (let row = from; row < to; row += 1) if (part.firsts[row] >= 0) firsts.push(part.firsts[row]);
    if (firsts.length === 0) continue;
    const x = area.left + Math.min(...firsts) * area.per_step;
    context.fillRect(Math.round(x) - 1, Math.round(top + y * high), 2,
      Math.max(1, Math.ceil(high) - (high > 5 ? 1 : 0)));
  }
}

// map: {rows: numbers of the layers shown, names: their names, steps, parts: [{title, series: one per row, codes: a
// plane, marks: a plane that is not 0 in cells to be painted in ink, or null, firsts: one per row}], summary}. Returns the
// sizes, the colours, and how many rows and steps share a line.
function draw_heat_map(host, canvas, map) {
  const context = canvas.getContext('2d');
  const family = getComputedStyle(document.body).fontFamily;
  context.font = map_font + family;
  const area = map_area(host, map, context);
  const density = Math.min(devicePixelRatio || 1, 3);
  [canvas.width, canvas.height] = [area.width * density, area.height * density].map(Math.round);
  canvas.style.height = `${area.height}px`;
  const [paper, raised, lost, ink] = ['--paper', '--empty-cell', '--lost', '--ink'].map(css_color);
  const shades = ramp(raised, lost);
  const colors = {words: Uint32Array.from(shades, pixel_word), mark: pixel_word(ink)};
  const rgb = (color) => `rgb(${color.join(' ')})`;
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, area.width, area.height);
  context.imageSmoothingEnabled = false;
  const lines = Math.min(map.rows.length, area.part_height * Math.ceil(density));
  const columns = Math.min(map.steps.length, Math.floor((area.right - area.left) * Math.ceil(density)));
  map.parts.forEach((part, i) => {
    const top = area.tops[i];
    context.drawImage(paint_cells(map, i, lines, columns, colors), area.left, top, area.right - area.left,
      area.part_height);
    draw_map_grid(context, area, map, top, rgb(paper));
    draw_beginnings(context, area, map, part, top, lines, rgb(ink));
  });
  context.font = map_font + family;
  const soft = getComputedStyle(document.documentElement).getPropertyValue('--soft');
  draw_map_labels(context, area, map, {strong: rgb(ink), soft, family});
  canvas.setAttribute('aria-label', map.summary);
  return {...area, colors: shades, shared_rows: Math.ceil(map.rows.length / lines),
    shared_steps: Math.ceil(map.steps.length / columns)};
}

// The cell under a point of the canvas, {part, row, step}; null beside the map.
function cell_at(area, map, x, y) {
  const part = area.tops.findIndex((top) => y >= top && y < top + area.part_height);
  const step = Math.floor((x - area.left) / area.per_step);
  if (part < 0 || step < 0 || step >= map.steps.length) return null;
  const row = Math.floor((y - area.tops[part]) / area.part_height * map.rows.length);
  return {part, row: Math.min(row, map.rows.length - 1), step};
}

// Moves the frame over the canvas to the cell that is read out; without a cell the frame is hidden.
function place_cursor(cursor, area, map, cell) {
  cursor.hidden = cell === null;
  if (cell === null) return;
  const high = area.part_height / map.rows.length;
  cursor.style.left = `${area.left + cell.step * area.per_step - 1.5}px`;
  cursor.style.top = `${area.tops[cell.part] + cell.row * high - 1.5}px`;
  cursor.style.width = `${Math.max(area.per_step, 2) + 2}px`;
  cursor.style.height = `${Math.max(high, 2) + 2}px`;
}

// Follows pointer and arrow keys. Calls on_cell(cell or null), which returns the words for the cell; on_choose(cell) at a
// click or Enter; on_back() at Escape.
function follow_cells(canvas, current, {on_cell, on_choose, on_back}) {
  let cell = null;
  const tip = element('div', {class: 'map-tip', 'aria-hidden': 'true', hidden: ''});
  canvas.after(tip);
  // The words also appear beside the pointer, since the line for them may be scrolled away.
  const show_tip = (words, event) => {
    tip.hidden = !words || event === undefined;
    if (tip.hidden) return;
    tip.textContent = words;
    const right = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, right))}px`;
    tip.style.top = `${event.clientY + 18}px`;
  };
  const go = (next, event) => {
    cell = next;
    show_tip(on_cell(cell), event);
  };
  const under = (event) => {
    const box = canvas.getBoundingClientRect();
    const {area, map} = current();
    return cell_at(area, map, event.clientX - box.left, event.clientY - box.top);
  };
  canvas.addEventListener('pointermove', (event) => go(under(event), event));
  canvas.addEventListener('pointerleave', () => go(null));
  canvas.addEventListener('blur', () => go(null));
  canvas.addEventListener('click', (event) => {
    const at = under(event);
    if (at) on_choose(at);
  });
  const moves = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0],
    PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -Infinity], End: [0, Infinity]};
  canvas.addEventListener('keydown', (event) => {
    const {map} = current();
    if (event.key === 'Escape') on_back();
    else if (event.key === 'Enter' && cell) on_choose(cell);
    else if (moves[event.key]) go(moved_cell(cell, moves[event.key], map));
    else return;
    event.preventDefault();
  });
}

// The cell that is so many rows down and steps to the right, across parts; from no cell the first cell.
function moved_cell(cell, [down, right], map) {
  if (cell === null) return {part: 0, row: 0, step: 0};
  const n = map.rows.length;
  const line = Math.min(Math.max(cell.part * n + cell.row + down, 0), map.parts.length * n - 1);
  return {part: Math.floor(line / n), row: line % n,
    step: Math.min(Math.max(cell.step + right, 0), map.steps.length - 1)};
}
