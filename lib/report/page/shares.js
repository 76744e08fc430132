// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a tensor's values in a format at the loss scale 2^k, from its binades: value =
// m·2^exponent, m in [1, 2), nine segments of m per binade, ties to even, gradual subnormals. Counts and
// their shares are exact at every scale. Of Σ|x| and Σx² the page holds a binade's mean to
// six decimals, so L1 and L2 are right to about six digits, where three are shown.

const fates = ['to_zero', 'subnormal', 'normal', 'overflow'];

// The one rule: the fate of a value in segment s of the binade whose scaled exponent is e.
// Segment 0 is m = 1: at emin - p it is half the smallest subnormal, a tie, and becomes zero.
function fate_of(format, e, s) {
  const dead = format.emin - format.precision;
  if (e < dead || (e === dead && s === 0)) return 'to_zero';
  if (e < format.emin - 1 || (e === format.emin - 1 && s < format.normal_segment)) {
    return 'subnormal';
  }
  if (e > format.emax || (e === format.emax && s >= format.overflow_segment)) return 'overflow';
  return 'normal';
}

// How many values of one binade have each fate; `row` is the binade's place in the table of binades.
function row_fates(tensor, row, format, k) {
  const {exponent, count} = tensor.binades;
  const fate = {to_zero: 0, subnormal: 0, normal: 0, overflow: 0};
  for (let s = 0; s < segment_count; s += 1) {
    fate[fate_of(format, exponent[row] + k, s)] += count[row * segment_count + s];
  }
  return fate;
}

// The first of the tensor's rows whose exponent is e or more.
function row_from(tensor, e) {
  const {exponent} = tensor.binades;
  let low = tensor.first;
  let high = tensor.end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (exponent[middle] < e) low = middle + 1;
    else high = middle;
  }
  return low;
}

// How many values are m·2^e' with e' < e, or e' = e and m in a segment below s.
function values_below(tensor, e, s) {
  const {exponent, count, before} = tensor.binades;
  const row = row_from(tensor, e);
  if (row === tensor.end) return tensor.nonzero;
  let values = before[row];
  if (exponent[row] === e) {
    for (let i = 0; i < s; i += 1) values += count[row * segment_count + i];
  }
  return values;
}

function tensor_fates(tensor, format, k) {
  const dead = values_below(tensor, format.emin - format.precision - k, 1);
  const below_normal = values_below(tensor, format.emin - 1 - k, format.normal_segment);
  const finite = values_below(tensor, format.emax - k, format.overflow_segment);
  return {to_zero: dead, subnormal: below_normal - dead, normal: finite - below_normal,
    overflow: tensor.nonzero - finite};
}

// How many values have 2^-27 <= |x| < 2^-24 after scaling, which are three whole binades.
function band_27_24(tensor, k) {
  return values_below(tensor, -24 - k, 0) - values_below(tensor, -27 - k, 0);
}

// A share that is neither none nor all of its whole, kept apart from 0 and 1.
function inside(share) {
  return Math.min(Math.max(share, Number.MIN_VALUE), 1 - 2 ** -53);
}

// x·2^k, where 2^k may lie beyond the range of a double.
function times_power(x, k) {
  const half = k >> 1;
  return x * 2 ** half * 2 ** (k - half);
}

// The share of the norm of order `power`, (Σ|x|^power)^(1/power), that becomes zero: those are whole binades, and in the
// next one the values with m = 1, which are ties. `sums` are the table's running sums of |x|^power. The root is taken before
// the powers of two are moved, so that the share does not leave the range of a double where sums of squares do.
function lost_part(tensor, sums, power, format, k) {
  const {exponent, count} = tensor.binades;
  const top = tensor.end - 1;
  const tie = format.emin - format.precision - k;
  const row = row_from(tensor, tie);
  if (row === tensor.end) return 1;
  const at_tie = exponent[row] === tie ? count[row * segment_count] : 0;
  if (row === tensor.first && at_tie === 0) return 0;
  const e = at_tie > 0 ? tie : exponent[row - 1];
  const lost = at_tie + (row > tensor.first ? moved(sums[row - 1], 2 ** power, e - exponent[row - 1]) : 0);
  return inside(times_power((lost / sums[top]) ** (1 / power), e - exponent[top]));
}

function rows_of(tensor) {
  return Array.from({length: tensor.end - tensor.first}, (_, i) => tensor.first + i);
}

function has_values(tensor) {
  return tensor.end > tensor.first;
}

function lost_l2(tensor, format, k) {
  return has_values(tensor) ? lost_part(tensor, tensor.binades.l2, 2, format, k) : null;
}

function lost_l1(tensor, format, k) {
  return has_values(tensor) ? lost_part(tensor, tensor.binades.l1, 1, format, k) : null;
}

// The middle of each segment of m: where only a value's segment is known, the value is taken to be there.
const middles = [1, 1.375, 1.78125, 1.84375, 1.93359375, 1.994140625, 1.99755859375, 1.999267578125, 1.999755859375];

// Σ(|x·2^k| - max) over the values that overflow, as a share of Σ|x·2^k|. It has six digits where whole binades
// overflow. In the binade of 2^emax only the counts of the segments are known: `about` is true if values of it overflow.
function clipped_l1(tensor, format, k) {
  if (!has_values(tensor)) return {share: null, about: false};
  const {exponent, count, all, l1} = tensor.binades;
  const top = tensor.end - 1;
  const unit = 2 ** (exponent[top] + k);  // the unit of l1[top], scaled
  const max = format.max / unit;
  let clipped = 0;
  let about = false;
  for (let row = top; row >= tensor.first && exponent[row] + k >= format.emax; row -= 1) {
    const scale = 2 ** (exponent[row] - exponent[top]);
    if (exponent[row] + k === format.emax) {
      for (let s = format.overflow_segment; s < segment_count; s += 1) {
        const values = count[row * segment_count + s];
        clipped += values * (middles[s] * scale - max);
        about = about || values > 0;
      }
    } else {
      const below = row > tensor.first ? l1[row - 1] * 2 ** (exponent[row - 1] - exponent[row]) : 0;
      clipped += (l1[row] - below) * scale - all[row] * max;
    }
  }
  return {share: clipped > 0 ? inside(clipped / l1[top]) : 0, about};
}

function denominator(tensor, of) {
  return of === 'values' ? tensor.values : tensor.nonzero;
}

function share(count, tensor, of) {
  const all = denominator(tensor, of);
  return all > 0 ? count / all : null;
}
