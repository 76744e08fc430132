// SPDX-License-Identifier: Apache-2.0
//
// Scales: from numbers to places along an axis, with ticks that people would choose. A tick is {value, words}; words are
// parts as raised_parts() returns them, so that ['2', '−14'] is 2 with -14 raised.

const base_of = {log2: 2, log10: 10};

// Whether an axis can show a number at all.
function shows(kind, value) {
  return value !== null && (kind === 'linear' || value > 0);
}

// The scale {at(value) in [0, 1], ticks} of an axis that holds all values.
function scale_of(kind, values, options) {
  const held = values.filter((value) => shows(kind, value));
  if (held.length === 0) return {at: () => 0.5, ticks: []};
  const low = smallest(held);
  const high = largest(held);
  return kind === 'linear' ? linear_scale(low, high, options) :
    log_scale(base_of[kind], low, high, options);
}

// The smallest of an array that may be too long to be spread into arguments.
function smallest(values) {
  return values.reduce((a, b) => Math.min(a, b));
}

function largest(values) {
  return values.reduce((a, b) => Math.max(a, b));
}

// With whole_steps the axis ends at ticks and holds 0 if that is near; with from_zero it always holds 0, as
// bars need it. `wanted` is a number of steps, `pad` is room at both ends of an axis without whole steps.
function linear_scale(low, high, {wanted = 5, from_zero = false, whole_steps = true, pad = 0}) {
  if (from_zero || (whole_steps && low > 0 && low < 0.35 * high)) low = Math.min(low, 0);
  if (from_zero || (whole_steps && high < 0 && high > 0.35 * low)) high = Math.max(high, 0);
  if (low === high) {
    const room = Math.abs(low) / 2 || 1;
    low -= room;
    high += room;
  }
  const step = round_step((high - low) / wanted);
  let first = Math.floor(low / step + 1e-9);
  let last = Math.ceil(high / step - 1e-9);
  if (whole_steps) {
    low = first * step;
    high = last * step;
  } else {
    low -= pad;
    high += pad;
    first = Math.ceil(low / step - 1e-9);
    last = Math.floor(high / step + 1e-9);
  }
  const ticks = Array.from({length: last - first + 1}, (_, i) => (first + i) * step)
    .map((value) => ({value, words: tick_words(value, step)}));
  return {at: (value) => (value - low) / (high - low), ticks};
}

// Ticks are powers of the base, all or every second, fifth … of them; between few powers also round multiples of them.
function log_scale(base, low, high, {wanted = 6, whole_steps = true, pad = 0}) {
  const log = (value) => Math.log2(value) / Math.log2(base);
  let from = log(low);
  let to = log(high);
  if (whole_steps || from === to) {
    from = Math.floor(from + 1e-9) - (from === to ? 1 : 0);
    to = Math.max(Math.ceil(to - 1e-9), from + 1);
  } else {
    from -= pad;
    to += pad;
  }
  const at = (value) => (log(value) - from) / (to - from);
  if (to - from < 2.5) return {at, ticks: multiples(base, from, to)};
  const rough = (to - from) / wanted;
  const every = [1, 2, 3, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128].find((n) => n >= rough - 1e-9) ?? 256;
  const ticks = [];
  for (let k = Math.ceil(from / every - 1e-9) * every; k <= to + 1e-9; k += every) {
    ticks.push({value: base ** k, words: power_words(base, k, plain_powers(base, from, to))});
  }
  return {at, ticks};
}

function multiples(base, from, to) {
  const ticks = [];
  for (let k = Math.floor(from); k <= Math.ceil(to); ++k) {
    for (const m of base === 2 ? [1, 1.5] : [1, 2, 5]) {
      const place = k + Math.log2(m) / Math.log2(base);
      if (place < from - 1e-9 || place > to + 1e-9) continue;
      const value = m * base ** k;
      ticks.push({value, words: m === 1 ? power_words(base, k, plain_powers(base, from, to)) :
        [number_words(value)]});
    }
  }
  return ticks;
}

// Whether all powers on the axis are read faster as numbers.
function plain_powers(base, from, to) {
  return base === 2 ? from >= 0 && to <= 10 : from >= -3 && to <= 4;
}

function power_words(base, k, plain) {
  return plain ? [number_words(base ** k)] : [String(base), String(k).replace('-', '−')];
}

// A tick of a linear axis, with as many decimals as the step has.
function tick_words(value, step) {
  if (value === 0) return ['0'];
  if (Math.abs(value) >= 1e6 || step < 1e-5) return [number_words(value)];
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const more = Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6 ? 1 : 0;
  return [value.toFixed(decimals + more).replace(/^-?\d+/, grouped).replace('-', '−')];
}

// A number to six digits, with a power of ten only if it is very large or very small.
function number_words(value) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  const sign = value < 0 ? '−' : '';
  if (size >= 1e-4 && size < 1e7) {
    return sign + rounded(size, 6);
  }
  return sign + scientific(Number(size.toPrecision(4)), 4).replace(/\.?0+e/, 'e');
}

// A value as it is read out: on an axis of powers of two as such a power if it is one, else as a number.
function value_words(kind, value) {
  const k = Math.log2(Math.abs(value));
  if (kind === 'log2' && value > 0 && Number.isInteger(k) && Math.abs(k) > 6) return `2^${k}`;
  return number_words(value);
}
