// SPDX-License-Identifier: Apache-2.0
//
// The three figures: losses along K, products by depth, errors within their bounds. Each is drawn from the account into
// its host. The first two call on_point(index of the account's position or distance under the pointer, or -1).

function draw_along_k(host, account, on_point) {
  const rules = placed_rules(account);
  const positions = account.positions;
  const area = plot_area(host, {left: 66, right: 26, top: 22, height: 240, below: 40});
  const total = (row) => rules.reduce((sum, r) => sum + (row.rules[r.rule]?.of_products ?? 0), 0);
  const largest = Math.max(...positions.map(total));
  const svg = new_drawing(area, `Losses along K, ${positions.length} positions`);
  const pitch = (area.right - area.left) / positions.length;
  if (!(largest > 0)) {
    svg.append(draw_x_axis(area, [], ''), draw_nothing(area, 'No rule lost anything along K.'));
    host.replaceChildren(svg);
    return;
  }
  const scale = share_scale([largest], false, area);
  svg.append(draw_y_axis(area, scale, 'lost, of Σ|a·b|'));
  const bars = drawing('g', {class: 'bars'});
  const gap = pitch > 6 ? Math.min(2, pitch / 8) : 0.4;
  positions.forEach((row, i) => {
    let low = 0;
    for (const {rule} of rules) {
      const value = row.rules[rule]?.of_products ?? 0;
      if (value === 0) continue;
      bars.append(drawing('rect', {class: `part ${rule}`, 'data-position': i,
        x: (area.left + i * pitch + gap / 2).toFixed(2), y: scale.y(low + value).toFixed(3),
        width: (pitch - gap).toFixed(2), height: (scale.y(low) - scale.y(low + value)).toFixed(3)}));
      low += value;
    }
  });
  const x = (k) => area.left + (area.right - area.left) * k / (account.position_width * positions.length);
  svg.append(bars, draw_x_axis(area, k_ticks(account, area).map((k) => ({x: x(k), words: integer(k)})),
    'k of the products'));
  follow_pointer(svg, (at) => {
    const i = Math.floor((at - area.left) / pitch);
    return i >= 0 && i < positions.length ? i : -1;
  }, on_point);
  host.replaceChildren(svg);
}

// Ticks along K: multiples of the instruction's k times the smallest power of two for which they have room.
function k_ticks(account, area) {
  const all = account.position_width * account.positions.length;
  let step = account.model.instruction_k;
  while (all / step > (area.right - area.left) / 70) step *= 2;
  return Array.from({length: Math.floor(all / step + 1e-9) + 1}, (_, i) => i * step);
}

// Numbers of bits: `kept`, how many a block keeps below its top; `product`, how many of a product lie below its exponent.
// The highest bit of a product lies at its exponent or one above.
function window_of(account) {
  const {fraction_bits: kept, a, b} = account.model;
  return {kept, product: a.precision - 1 + b.precision - 1};
}

function draw_distances(host, account, log, on_point) {
  const rows = account.distances;
  const bits = window_of(account);
  const narrow = host.clientWidth < 640;
  const pitch_of_band = 20;
  const area = plot_area(host, {left: narrow ? 66 : 150, right: 26, top: 22, height: 250,
    below: 54 + 3 * pitch_of_band});
  const last = Math.max(...rows.map((row) => row.distance));
  const count = Math.max(last, bits.kept + 3, bits.product + 2) + 1;
  const pitch = (area.right - area.left) / count;
  const x = (distance) => area.left + distance * pitch;
  const of_all = (n) => ratio(n, account.products);
  const svg = new_drawing(area, 'Products by binades below the exponent of their block');
  svg.append(draw_zones(area, window_zones(x, bits, count)));
  const shares = rows.map((row) => of_all(row.products));
  const scale = share_scale(shares, log, area);
  svg.append(draw_y_axis(area, scale));
  const bars = drawing('g', {class: 'bars'});
  const gap = pitch > 6 ? Math.min(3, pitch / 6) : 0.4;
  rows.forEach((row, i) => {
    const place = {left: x(row.distance) + gap / 2, width: pitch - gap, y: scale.y(of_all(row.products))};
    bars.append(...draw_cut_bar(area, place, depth_parts(row), {'data-row': i}));
  });
  const every = [1, 2, 4, 8, 16].find((n) => n * pitch >= 26);
  const ticks = [];
  for (let d = 0; d < count; d += every) {
    const further = d === last && rows.some((row) => row.and_beyond);
    ticks.push({x: x(d) + pitch / 2, words: `${d}${further ? '+' : ''}`});
  }
  svg.append(bars, draw_x_axis(area, ticks, 'binades below the exponent that the block is aligned to', {marks: false}));
  draw_bits(svg, area, x, bits, count, narrow, area.bottom + 46, pitch_of_band);
  follow_pointer(svg, (at) => {
    const distance = Math.floor((at - area.left) / pitch);
    return rows.findIndex((row) => row.distance === distance);
  }, on_point);
  host.replaceChildren(svg);
}

function depth_parts(row) {
  const [all, cut, gone] = [row.products, row.cut, row.vanished].map(Number);
  return [['part whole', all - cut], ['part shortened', cut - gone], ['part vanished', gone]];
}

// Zones by the distance of a product from the top: it is kept whole, it loses low bits, nothing of it is left.
function window_zones(x, bits, count) {
  const first_cut = Math.max(bits.kept - bits.product + 1, 0);
  const zone = (name, from, to, words) => ({name, from: x(Math.min(from, count)), to: x(Math.min(to, count)), words});
  return [zone('whole', 0, first_cut, ['every bit is kept', 'kept']),
    zone('shortened', first_cut, bits.kept + 2, ['low bits are cut', 'cut']),
    zone('vanished', bits.kept + 2, count, ['nothing is left', 'gone'])];
}

// Bands of bits under the axis: what a block keeps, and two products. The bit of weight 2^(top - d) stands at d.
function draw_bits(svg, area, x, bits, count, narrow, y, pitch) {
  const group = drawing('g', {class: 'bands'});
  const deepest = Math.max(0, bits.kept - bits.product);
  const rows = [
    ['bits a block keeps', 0, bits.kept, bits.kept, `F = ${bits.kept}`],
    ['a product at the top', 0, bits.product, bits.kept, ''],
    [`a product ${deepest + 4} below`, deepest + 4, deepest + 4 + bits.product, bits.kept, ''],
  ];
  rows.forEach(([name, first, end, kept, words], i) => {
    const top = y + i * pitch;
    if (!narrow) {
      group.append(drawing('text', {class: 'band-name', x: area.left - 8, y: top + 11,
        'text-anchor': 'end'}, name));
    }
    for (let bit = first; bit <= Math.min(end, count - 1); ++bit) {
      const fate = i === 0 ? 'window' : bit > kept ? 'lost' : 'held';
      group.append(drawing('rect', {class: `bit ${fate}`, x: (x(bit) + 1).toFixed(2), y: top + 2,
        width: (x(1) - x(0) - 2).toFixed(2), height: 11, rx: 1.5}));
    }
    if (words && x(end + 1) + 50 < area.right) {
      group.append(drawing('text', {x: x(end + 1) + 6, y: top + 11}, words));
    }
  });
  svg.append(group);
}

// Elements by the octave of error / bound. The last octave ends at the bound itself and holds what lies beyond it, too;
// exact elements have a bar of their own at the left end.
function draw_bound(host, account) {
  const octaves = new Map();
  for (const row of account.error_to_bound) {
    const octave = Math.min(row.log2, -1);
    octaves.set(octave, (octaves.get(octave) ?? 0) + Number(row.elements));
  }
  const area = plot_area(host, {left: 8, right: 8, top: 16, height: 96, below: 36});
  const lowest = Math.min(-6, ...octaves.keys());
  const exact = Number(account.exact);
  const first = exact > 0 ? 2 : 0;
  const pitch = (area.right - area.left) / (first - lowest + 0.5);
  const x = (log2) => area.left + (log2 - lowest + first) * pitch;
  const largest = Math.max(exact, ...octaves.values(), 1);
  const y = (n) => area.bottom - (area.bottom - area.top) * n / largest;
  const svg = new_drawing(area, 'Elements by the ratio of their error to the bound');
  const bar = (name, left, n) => svg.append(drawing('rect', {class: `part ${name}`,
    x: (left + 0.75).toFixed(2), y: y(n).toFixed(2), width: (pitch - 1.5).toFixed(2),
    height: Math.max(area.bottom - y(n), 0.8).toFixed(2), 'data-elements': n}));
  const label = (at, words) => svg.append(drawing('text', {class: 'label', x: at,
    y: area.bottom + 15, 'text-anchor': 'middle'}, words));
  if (exact > 0) {
    bar('whole', area.left, exact);
    label(area.left + pitch / 2, 'exact');
  }
  for (const [log2, n] of octaves) bar('kept-bar', x(log2), n);
  svg.append(draw_x_axis(area, [], ''), drawing('line', {class: 'bound-line', x1: x(0), x2: x(0),
    y1: area.top - 8, y2: area.bottom + 4}));
  svg.append(drawing('text', {class: 'bound-name', x: x(0) - 5, y: area.top - 2, 'text-anchor': 'end'},
    'bound'));
  const every = [1, 2, 4, 8].find((n) => n * pitch >= 34) ?? 16;
  for (let log2 = 0; log2 >= lowest; log2 -= every) {
    if (x(log2) >= area.left + 10 + first * pitch) label(x(log2), log2 === 0 ? '1' : power(log2));
  }
  svg.append(drawing('text', {class: 'label', x: area.left, y: area.bottom + 31}, 'error ∕ bound'));
  host.replaceChildren(svg);
}
