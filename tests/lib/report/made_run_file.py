# SPDX-License-Identifier: Apache-2.0
"""Writes run.binade byte by byte from the values of its tensors, in the layouts that lib/report/run_file.h and
lib/range/summary_bytes.h describe, with exact rational numbers."""

import json
import math
import struct
from fractions import Fraction
from typing import NamedTuple

from made_files import fnv1a

# Where a binade's segments begin after the power of two itself: (of the significand, whether a value there belongs to the next).
ENDS = ((Fraction(7, 4), False), (Fraction(29, 16), True), (Fraction(15, 8), False), (2 - Fraction(1, 2**7), False),
        (2 - Fraction(1, 2**8), False), (2 - Fraction(1, 2**10), False), (2 - Fraction(1, 2**11), False))
WEIGHTS = ((11, -14, 15), (8, -126, 127))  # precision, emin, emax: binary16, bfloat16


def with_checksum(data):
    return data + struct.pack("<Q", fnv1a(data))


def numbers(*values):
    return b"".join((value % 2**64).to_bytes(8, "little") for value in values)


def text(x):
    data = x if isinstance(x, bytes) else x.encode()
    return numbers(len(data)) + data


def segment(m):
    if m == 1:
        return 0
    return 1 + sum(m > end if beyond else m >= end for end, beyond in ENDS)


def summary(values):
    """Of values that binary64 holds; no squared errors."""
    finite = [abs(Fraction(x)) for x in values if math.isfinite(x) and x != 0]
    rows = {}
    for x in finite:
        exponent = math.frexp(x)[1] - 1
        rows.setdefault(exponent, []).append(x / Fraction(2)**exponent)

    def placed(x):
        exponent = math.frexp(x)[1] - 1
        return numbers(exponent, int(x / Fraction(2)**exponent * 2**52))

    nan = sum(math.isnan(x) for x in values)
    negative = sum(math.copysign(1, x) < 0 for x in values if not math.isnan(x))
    out = b"binade.range/1\n\0" + numbers(len(values), values.count(0), nan, sum(map(math.isinf, values)), negative)
    out += placed(min(finite)) + placed(max(finite)) if finite else bytes(32)
    out += numbers(0, len(rows))
    for exponent, all_m in sorted(rows.items()):
        parts = [[m for m in all_m if segment(m) == s] for s in range(9)]
        out += numbers(exponent, *map(len, parts))
        for part in parts:
            out += int(sum(part) * 2**52).to_bytes(16, "little")
        out += int(sum(m * m for m in all_m) * 2**104).to_bytes(24, "little")
    return with_checksum(out)


def exact_sum(x):
    whole = int(x * 2**2304)
    limbs = [whole >> 64 * i & (2**64 - 1) for i in range(72)]
    first = next((i for i in range(72) if limbs[i]), 72)
    end = 72 - next((i for i in range(72) if limbs[71 - i]), 72)
    return numbers(first, max(0, end - first), *limbs[first:end])


def rounded(x, precision, emin, emax):
    """To nearest, ties to even; None beyond the largest finite number."""
    exponent = emin if x == 0 else max(emin, math.frexp(abs(x))[1] - 1)
    unit = Fraction(2)**(exponent - precision + 1)
    out = round(x / unit) * unit
    return out if abs(out) < Fraction(2)**(emax + 1) else None


def update_counts(weights, updates):
    """Of finite ones, none of them 0."""
    pairs = [(Fraction(w), Fraction(u)) for w, u in zip(weights, updates)]
    out = numbers(len(pairs), len(pairs), sum(abs(u) * 2**11 < abs(w) for w, u in pairs))
    out += exact_sum(sum(u * u for _, u in pairs))
    for format_of_weights in WEIGHTS:
        held = [(rounded(w, *format_of_weights), u) for w, u in pairs]
        lost = [u for h, u in held if h is not None and rounded(h - u, *format_of_weights) == h]
        out += numbers(len(lost), sum(h is None for h, _ in held)) + exact_sum(sum(u * u for u in lost))
    return out


class Tensor(NamedTuple):
    step: int
    layer: str
    role: str
    values: list
    dtype: str = "F32"
    shape: tuple | None = None


def run_file(windows, tensors, updates=(), every=50, notes=(), first_nonfinite=None):
    """windows: (first, last, steps, loss scale or None). updates: (step, layer, weights, updates), and perhaps what the weights
    lost as they are: numbers, 6 counts and 32 sizes."""
    out = b"binade.run/1\n\0\0\0" + numbers(every, len(notes)) + b"".join(map(text, notes))
    out += text(json.dumps(first_nonfinite) if first_nonfinite else "") + numbers(len(windows))
    for first, last, steps, scale in windows:
        out += numbers(first, last, steps) + struct.pack("<d", scale or 0)
    out += numbers(0, len(tensors))
    for tensor in tensors:
        shape = tensor.shape or ()
        out += numbers(tensor.step) + text(tensor.layer) + text(tensor.role) + text(tensor.dtype)
        out += numbers(tensor.shape is not None, len(shape), *shape, len(tensor.values))
    out += numbers(len(updates))
    for step, layer, weights, of_weights, *held in updates:
        out += numbers(step) + text(layer) + text(update_counts(weights, of_weights) + numbers(*held[0] if held else ()))
    return with_checksum(out + b"".join(text(summary(tensor.values)) for tensor in tensors))
