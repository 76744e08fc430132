// SPDX-License-Identifier: Apache-2.0
//
// Numbers as text, and the texts of data as they may be shown. Where a function takes null, that is a number that does
// not exist, and its text is a dash.

const thin = '\u202f';
const none = '–';

// For JSON.parse: texts with the characters that turn the order of others around, or have no width, written as \u and
// four digits (printable_character() in lib/text/error.h).
function visible(_, value) {
  return typeof value !== 'string' ? value
    : value.replace(/[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

// 2^k with raised digits, for text in which no element can stand.
function power(k) {
  return '2' + String(k).replace(/./g, (c) => (c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[c]));
}

// Decimal digits in groups of three.
function grouped(digits) {
  return digits.replace(/\B(?=(\d{3})+$)/g, thin);
}

function integer(n) {
  return n === null ? none : String(n).replace(/\d+/, grouped).replace('-', '−');
}

// A number of significant digits and a power of ten, as 3.58e−5.
function scientific(x, digits) {
  return x.toExponential(digits - 1).replace('e+', 'e').replace('e-', 'e−');
}

// At most so many significant digits, without a power of ten and without zeros at the end.
function rounded(x, digits) {
  return String(Number(x.toPrecision(digits))).replace(/^\d+/, grouped);
}

function magnitude(x, digits = 3) {
  if (x === null) return none;
  return x >= 0.01 && x < 1000 ? rounded(x, digits) : scientific(x, digits);
}

// A share of 1 in per cent. A share that is not 0 never reads 0, and one that is not 1 never reads 100.
function percent(x) {
  return x === null ? none : `${hundredths(x, 1e-5)}${thin}%`;
}

// 100·x; below `least_plain` with a power of ten.
function hundredths(x, least_plain) {
  const p = 100 * x;
  if (x === 0 || x === 1) return String(p);
  if (p > 99.9) return Math.min(p, 99.9999).toFixed(p > 99.99 ? 4 : 2);
  if (p >= 0.995) return p.toFixed(1);
  return p >= least_plain ? plain(p) : scientific(p, 2);
}

// Two significant digits of a number below 1, without a power of ten.
function plain(p) {
  return p.toFixed(1 - Math.floor(Math.log10(p))).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
}

function plural(n, noun) {
  return `${integer(n)} ${noun}${n === 1 ? '' : 's'}`;
}

// Splits a text at its exponents, as in 2^-14, x^3, 2^(p-1). Every second part is an exponent, without its ^.
function raised_parts(text) {
  const whole = text.replace(/(\d) %/g, '$1\u00a0%');
  const parts = [];
  let end = 0;
  for (const {0: {length}, 1: base, 2: exponent, index} of
    whole.matchAll(/([\dx])\^(-?(?:\d+|[a-z]\b)|\([^()]*\))/g)) {
    parts.push(whole.slice(end, index) + base, exponent.replace(/^\((.*)\)$/, '$1').replaceAll('-', '−'));
    end = index + length;
  }
  return [...parts, whole.slice(end)];
}
