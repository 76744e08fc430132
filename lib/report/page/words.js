// SPDX-License-Identifier: Apache-2.0
//
// Words for what only reports hold: loss scales, shapes, formats, shares in narrow columns.

// 2^k in decimal: exact from 2^-14 to 2^60, else three digits.
function decimal_power(k) {
  if (k >= 0 && k <= 60) return grouped(String(2n ** BigInt(k)));
  return k < 0 && k >= -14 ? String(2 ** k) : scientific(2 ** k, 3);
}

// A share of 1 in per cent, for columns of the table, whose heads carry the per cent sign.
function bare_percent(x) {
  return x === null ? none : hundredths(x, 1e-3);
}

// The shape of a tensor; empty where several tensors of different shapes are shown as one.
function shape_words(shape) {
  if (shape === null) return '';
  return shape.length === 0 ? 'scalar' : shape.join('×');
}

function interval_words(scale) {
  if (scale.status === 'ok') return `${power(scale.s_min_log2)} … ${power(scale.s_max_log2)}`;
  return scale.status === 'empty interval' ? 'empty' : none;
}

// What a value becomes that is too large for the format.
function overflow_words(format) {
  return format.overflow_to === 'nan' ? 'NaN' : '∞';
}
