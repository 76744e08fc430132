// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a tensor's values in a format at the loss scale 2^k, derived exactly from its
// binade rows: value = m·2^exponent, m in [1, 2), nine segments of m per row, ties to even,
// gradual subnormals. Counts are Numbers (no file holds 2^53 values), masses are BigInts, and each
// share is an exact fraction rounded once, so it has the bits any other exact derivation has.

const fates = ['to_zero', 'subnormal', 'normal', 'overflow'];

// The one rule: the fate of a value in segment s of the binade whose scaled exponent is e.
// Segment 0 is m = 1 alone: at emin - p it is half the smallest subnormal, a tie, and goes to zero.
function fate_of(format, e, s) {
  const dead = format.emin - format.precision;
  if (e < dead || (e === dead && s === 0)) return 'to_zero';
  if (e < format.emin - 1 || (e === format.emin - 1 && s < format.normal_segment)) {
    return 'subnormal';
  }
  if (e > format.emax || (e === format.emax && s >= format.overflow_segment)) return 'overflow';
  return 'normal';
}

function zero_fates() {
  return {to_zero: 0, subnormal: 0, normal: 0, overflow: 0};
}

function row_count(row) {
  row.all ??= row.count.reduce((sum, n) => sum + Number(n), 0);
  return row.all;
}

function row_fates(row, format, k) {
  const count = zero_fates();
  add_fates(count, row, format, k);
  return count;
}

function add_fates(count, row, format, k) {
  const e = row.exponent + k;
  const fate = fate_of(format, e, 0);
  if (fate === fate_of(format, e, 8)) {
    count[fate] += row_count(row);
  } else {
    row.count.forEach((n, s) => { count[fate_of(format, e, s)] += Number(n); });
  }
}

function tensor_fates(tensor, format, k) {
  const count = zero_fates();
  for (const row of tensor.binades) add_fates(count, row, format, k);
  return count;
}

// 2^-27 <= |x| < 2^-24 after scaling: three whole binades.
function band_27_24(tensor, k) {
  let count = 0;
  for (const row of tensor.binades) {
    const e = row.exponent + k;
    if (e >= -27 && e < -24) count += row_count(row);
  }
  return count;
}

// n/d of two non-negative BigInts as the nearest double: at least 65 bits of quotient, the rest
// gathered in a sticky bit, and Number() rounds that once.
function quotient(n, d) {
  if (d === 0n) return null;
  if (n === 0n) return 0;
  const digits = d.toString(16).length - n.toString(16).length;
  const shift = Math.max(0, 4 * digits + 72);
  const wide = n << BigInt(shift);
  let q = wide / d;
  if (q * d !== wide) q |= 1n;
  return Number(q) * 2 ** -shift;
}

// Σ of squares(row)·4^(exponent - lowest exponent) over the rows, from the top down.
function sum_of_squares(rows, squares) {
  let sum = 0n;
  for (let i = rows.length - 1; i >= 0; i -= 1) {
    sum += squares(rows[i]);
    if (i > 0) sum <<= BigInt(2 * (rows[i].exponent - rows[i - 1].exponent));
  }
  return sum;
}

// Σx² over the values that become zero, relative to Σx² over all finite ones, in units that
// cancel. In the binade of the tie only m = 1 is lost, so its squares are count·2^104.
function lost_l2(tensor, format, k) {
  const rows = tensor.binades;
  if (rows.length === 0) return null;
  tensor.squares ??= sum_of_squares(rows, (row) => BigInt(row.sum_of_squares));
  const dead = rows.filter((row) => fate_of(format, row.exponent + k, 0) === 'to_zero');
  const lost = sum_of_squares(dead, (row) =>
    (fate_of(format, row.exponent + k, 8) === 'to_zero' ? BigInt(row.sum_of_squares) :
      BigInt(row.count[0]) << 104n));
  return Math.sqrt(quotient(lost, tensor.squares));
}

// Σ|x| by fate in units of 2^(base - 52), base the lowest exponent.
function sums_by_fate(tensor, format, k) {
  const sum = {to_zero: 0n, subnormal: 0n, normal: 0n, overflow: 0n};
  const base = tensor.binades[0].exponent;
  for (const row of tensor.binades) {
    const unit = BigInt(row.exponent - base);
    row.sum.forEach((m, s) => {
      sum[fate_of(format, row.exponent + k, s)] += BigInt(m) << unit;
    });
  }
  return sum;
}

// An exact double as integer·2^exponent.
function dyadic(x) {
  let exponent = 0;
  while (!Number.isInteger(x)) {
    x *= 2;
    exponent -= 1;
  }
  return {integer: BigInt(x), exponent};
}

// lost_l1 = Σ|x| over to_zero / Σ|x|; clipped_l1 = Σ(|x·2^k| - max) over overflow / Σ|x·2^k|.
function lost_and_clipped_l1(tensor, format, k) {
  if (tensor.binades.length === 0) return {lost_l1: null, clipped_l1: null};
  const sum = sums_by_fate(tensor, format, k);
  const total = sum.to_zero + sum.subnormal + sum.normal + sum.overflow;
  const max = dyadic(format.max);
  const sum_unit = tensor.binades[0].exponent - 52 + k;
  const unit = Math.min(sum_unit, max.exponent);
  const kept = BigInt(tensor_fates(tensor, format, k).overflow) * max.integer;
  const raise = BigInt(sum_unit - unit);
  const clipped = (sum.overflow << raise) - (kept << BigInt(max.exponent - unit));
  return {lost_l1: quotient(sum.to_zero, total), clipped_l1: quotient(clipped, total << raise)};
}

function denominator(tensor, of) {
  return of === 'values' ? tensor.values : tensor.nonzero;
}

function share(count, tensor, of) {
  const all = denominator(tensor, of);
  return all > 0 ? count / all : null;
}
