# SPDX-License-Identifier: Apache-2.0
"""Every instruction with scales of blocks by its name, mma and tcgen05, dense and sparse, held to an oracle that shares no
code with binade (tests/oracle/scaled_products.py): chains of two instructions with a c, random codes with NaNs and infinities, scales at
the ends of their range, sparse rows in which b has anything beside what is left out."""
import sys
import unittest
from pathlib import Path

import numpy as np

from cli_case import main

import binade

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "oracle"))
import scaled_products as oracle  # noqa: E402

WIDTHS = {"e4m3": 8, "e5m2": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4}
ONES = {"e4m3": 0x38, "e5m2": 0x3C, "e3m2": 0x0C, "e2m3": 0x08, "e2m1": 0x02}
ENDS = {"ue8m0": (0, 1, 254, 255), "ue4m3": (0, 1, 7, 0x7E, 0x7F)}
MODES = ("apart", "floor", "ends", "specials")
CHAIN = 2
KINDS = [(kind, vector, scales, k, pair) for (kind, scales, vector), k in oracle.BLOCK_SCALED.items()
         for pair in ([(a, b) for a in WIDTHS for b in WIDTHS] if kind == "mxf8f6f4" else [("e2m1", "e2m1")])]


def name_of(family, shape, kind, vector, a, b, scales):
    c = "" if family.startswith("tcgen05") else ".f32"
    return f"{family}.{shape}.kind::{kind}.block_scale.scale_vec::{vector}X.f32.{a}.{b}{c}.{scales}"


def codes(rng, shape, format, near):
    """Any codes, or codes near one, so that sums are ordinary numbers, too."""
    width = WIDTHS[format]
    out = rng.integers(0, 1 << width, shape, np.uint8)
    tame = (out & (1 << width - 1) | ONES[format] ^ rng.integers(0, 4, shape, np.uint8)).astype(np.uint8)
    return np.where(rng.random(shape) < near, tame, out).astype(np.uint8)


def scale_codes(rng, lines, count, scales, mode):
    """Scales far apart, at the ends of the range, or such that only a few terms of one block lie above the floor."""
    shape = lines, CHAIN * count
    one = 127 if scales == "ue8m0" else 0x38
    out = rng.integers(one - 20, one + 21, shape) if mode == "apart" else rng.integers(one - 6, one + 7, shape)
    if mode == "floor" and scales == "ue8m0":
        out = 127 - rng.integers(86, 89, shape)
        out[:, ::count] = 127 - (rng.integers(73, 76, (lines, CHAIN)) if count > 1 else rng.integers(70, 73, (lines, CHAIN)))
    ends = rng.random(shape) < (0.15 if mode == "ends" else 0)
    return np.where(ends, rng.choice(ENDS[scales], shape), out).astype(np.uint8)


def addends(rng, shape, mode):
    """Words of c: zeros, numbers of exponents that are far apart, or any words."""
    out = rng.integers(0, 1 << 32, shape, np.uint32)
    if mode == "floor":
        return np.zeros(shape, np.uint32)
    return out & 0x807FFFFF | rng.integers(90, 165, shape).astype(np.uint32) << 23 if mode == "apart" else out


def few(rng, rows, format, k):
    """Rows of zeros and tiny numbers, in each second a 1 at one place of an instruction."""
    low = rows & (1 << WIDTHS[format] - 1 | 3)
    out = np.where(rng.random(rows.shape) < 0.2, low, 0).astype(np.uint8)
    out[::2, 3::k] = ONES[format]
    return out


def cancelled(rows, width):
    """Rows whose groups of 16 hold the same numbers twice, the second time with the other sign."""
    out = rows.reshape(len(rows), -1, 2, 8).copy()
    out[:, :, 1] = out[:, :, 0] ^ (1 << width - 1)
    return out.reshape(rows.shape)


def sparse(rng, kept, width):
    """Rows in which chunks of four sub-chunks of `width` hold two of `kept`, and zeros; and the places that are kept."""
    rows, half = kept.shape
    full, meta = np.zeros((rows, 2 * half), np.uint8), []
    for row in range(rows):
        own = [sorted(rng.choice(4, 2, replace=False).tolist()) for _ in range(half // (2 * width))]
        full[row, oracle.kept_positions(own, width)] = kept[row]
        meta.append(own)
    return full, meta


class BlockScaledInstructions(unittest.TestCase):
    def drawn(self, seed, m, n, spec, is_sparse, mode):
        """Operands of products of m × n, and what the oracle makes of them."""
        kind, vector, scales, k, (a, b) = spec
        rng = np.random.default_rng(seed)
        full_k = (2 if is_sparse else 1) * k
        near = {"apart": 0.97, "floor": 1, "ends": 0.97, "specials": 0.5}[mode]
        kept, columns = codes(rng, (m, CHAIN * k), a, near), codes(rng, (n, CHAIN * full_k), b, near)
        if mode == "floor":
            kept = few(rng, kept, a, k)
            columns[:, 3::full_k] = ONES[b]
        elif not is_sparse and mode != "specials":  # the products of some groups cancel
            kept[0, k:] = cancelled(kept[:1, k:], WIDTHS[a])
            columns[0, k:] = columns[0, k:].reshape(-1, 2, 8)[:, :1].repeat(2, 1).ravel()
            columns[1, k:k + 16] = columns[0, k:k + 16]
        wide, meta = kept, None
        if is_sparse:
            kept[kept == 0] = 1 << WIDTHS[a] - 1  # a zero is not told from what is left out; a negative one is
            wide, meta = sparse(rng, kept, 1 if kind == "mxf8f6f4" else 2)
        of_a, of_b = (scale_codes(rng, lines, vector, scales, mode) for lines in (m, n))
        c = addends(rng, (m, n), mode)
        c[0, 0], c[-1, -1] = 0x80000000, 0
        want = c.copy()
        for i in range(m):
            for j in range(n):
                for step in range(CHAIN):
                    low, at = step * full_k, step * vector
                    own = None
                    if is_sparse:
                        chunks = len(meta[i]) // CHAIN
                        own = meta[i][step * chunks:(step + 1) * chunks]
                    want[i, j] = oracle.block_scaled_dot(
                        kind, a, b, scales, vector, kept[i, step * k:(step + 1) * k].tolist(),
                        columns[j, low:low + full_k].tolist(), of_a[i, at:at + vector].tolist(),
                        of_b[j, at:at + vector].tolist(), int(want[i, j]), own)
        return wide, columns, of_a, of_b, c, want

    def check(self, names, operands):
        a, b, of_a, of_b, c, want = operands
        for name, arch in names:
            with self.subTest(name, arch=arch):
                got = binade.gemm(a, b, c=c.view(np.float32), transpose_b=True, a_scale=of_a, b_scale=of_b, instruction=name,
                                  arch=arch, c_first=True)
                np.testing.assert_array_equal(got.view(np.uint32), want)

    def test_dense_instructions(self):
        specials = finite = 0
        for seed, spec in enumerate(KINDS):
            kind, vector, scales, k, (a, b) = spec
            operands = self.drawn(seed, 3, 4, spec, False, MODES[seed % 4])
            self.check([(name_of("mma", f"m16n8k{k}", kind, vector, a, b, scales), "sm_120"),
                        (name_of("tcgen05", f"m128n64k{k}", kind, vector, a, b, scales), "sm_100")], operands)
            special = (operands[-1] & 0x7F800000) == 0x7F800000
            specials, finite = specials + special.sum(), finite + (~special & (operands[-1] != 0)).sum()
        self.assertGreater(specials, 30)
        self.assertGreater(finite, 150)

    def test_sparse_instructions(self):
        for seed, spec in enumerate(KINDS):
            kind, vector, scales, k, (a, b) = spec
            self.check([(name_of("mma.sp", f"m16n8k{2 * k}", kind, vector, a, b, scales), "sm_121"),
                        (name_of("tcgen05.sp", f"m128n64k{2 * k}", kind, vector, a, b, scales), "sm_100")],
                       self.drawn(1000 + seed, 2, 4, spec, True, MODES[seed % 4]))

    def test_each_rule_of_the_sums(self):
        for seed, spec in enumerate(KINDS[-4:] + [("mxf8f6f4", 1, "ue8m0", 32, ("e5m2", "e4m3"))]):
            kind, vector, scales, k, (a, b) = spec
            for mode in ("apart", "floor", "ends"):
                self.check([(name_of("mma", f"m16n8k{k}", kind, vector, a, b, scales), "sm_120")],
                           self.drawn(2000 + seed, 5, 8, spec, False, mode))

    def test_rows_of_dots(self):
        for seed, spec in enumerate(KINDS + KINDS):
            kind, vector, scales, k, (a, b) = spec
            is_sparse = seed >= len(KINDS)
            wide, columns, of_a, of_b, c, want = self.drawn(3000 + seed, 4, 4, spec, is_sparse, MODES[seed % 4])
            full_k = (2 if is_sparse else 1) * k
            name = name_of("mma.sp" if is_sparse else "mma", f"m16n8k{full_k}", kind, vector, a, b, scales)
            d = np.diag(c).copy().view(np.float32)
            for step in range(CHAIN):  # the d of one instruction is the c of the next
                own = [x[:, step * vector:(step + 1) * vector] for x in (of_a, of_b)]
                d = binade.dot(*(x[:, step * full_k:(step + 1) * full_k] for x in (wide, columns)), d, a_scale=own[0],
                               b_scale=own[1], instruction=name, arch="sm_120")
            with self.subTest(name):
                np.testing.assert_array_equal(d.view(np.uint32), np.diag(want))

    def test_dots_by_row_by_words_and_by_the_program_are_the_same(self):
        words = {"instruction": name_of("mma", "m16n8k64", "mxf4", 2, "e2m1", "e2m1", "ue8m0"), "arch": "sm_120"}
        rng = np.random.default_rng(9)
        a, b = (rng.integers(0, 16, (5, 64), np.uint8) for _ in range(2))
        of_a, of_b = (rng.integers(120, 134, (5, 2), np.uint8) for _ in range(2))
        d = binade.dot(a, b, a_scale=of_a, b_scale=of_b, **words)
        self.assertEqual(binade.dot(a[3], b[3], a_scale=of_a[3], b_scale=of_b[3], **words).tobytes(), d[3].tobytes())
        ones = np.full((5, 2), 127, np.uint8)
        self.assertEqual(binade.dot(a, b, **words).tobytes(), binade.dot(a, b, a_scale=ones, b_scale=ones, **words).tobytes())
        self.assertNotEqual(binade.dot(a, b, a_scale=of_a, **words).tobytes(), d.tobytes())
        self.assertTrue(binade.validate(a, b, d, a_scale=of_a, b_scale=of_b, **words).equal)
        self.assertEqual(binade.validate(a, b, d, a_scale=of_b, b_scale=of_b, **words).different, 5)
        row = binade.explain(a, b, row=3, a_scale=of_a, b_scale=of_b, **words)
        self.assertEqual(row.to_dict()["result"]["bits"], f"0x{d[3].view(np.uint32):08x}")
        terms = ", ".join(f"bits:{x:#x}*bits:{y:#x}" for x, y in zip(a[3], b[3]))
        texts = [", ".join(f"2^{int(code) - 127}" for code in scales[3]) for scales in (of_a, of_b)]
        self.assertEqual(str(binade.explain(terms=terms, a_scale=texts[0], b_scale=texts[1], **words)), str(row))
        self.assertEqual(row.to_dict()["scale_run"], 32)

    def test_scales_of_dots_that_do_not_fit(self):
        name = name_of("mma", "m16n8k64", "mxf4", 2, "e2m1", "e2m1", "ue8m0")
        a, words = np.zeros((3, 64), np.uint8), {"instruction": name, "arch": "sm_120"}
        for scales, said in ((np.ones((3, 4), np.uint8), r"shape \(3, 4\); a_scale is of shape \(rows, 2\)"),
                             (np.ones(3, np.uint8), r"shape \(3,\); a_scale is of shape \(rows, 2\)"),
                             (np.ones((2, 2), np.uint8), "2 rows"), (np.ones((3, 2), np.uint16), "dtype U16")):
            with self.assertRaisesRegex(ValueError, said):
                binade.dot(a, a, a_scale=scales, **words)
        with self.assertRaisesRegex(ValueError, "b_scale: mma.m16n8k32.f32.e2m1.e2m1.f32 has no scales of blocks"):
            binade.dot(a, a, b_scale=np.ones((3, 2), np.uint8), instruction="mma.m16n8k32.f32.e2m1.e2m1.f32", arch="sm_120")
        with self.assertRaisesRegex(ValueError, "3 scales; 2 of each row, or one for all"):
            binade.explain(terms="1*1", a_scale="1, 2, 4", **words)
        with self.assertRaisesRegex(ValueError, "'3' is no .* number; the nearest is"):
            binade.explain(terms="1*1", a_scale="3", **words)


if __name__ == "__main__":
    main()
