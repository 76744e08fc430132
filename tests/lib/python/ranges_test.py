# SPDX-License-Identifier: Apache-2.0
#
# Range summaries of arrays, their bytes and sums, and every figure that a report has of a tensor, compared with brute force in
# exact integers. Run as ranges_test.py PATH_TO_BINADE with the package on PYTHONPATH; needs NumPy, and uses ml_dtypes
# where it is installed.

import copy
import math
import os
import pickle
import struct
import sys
import warnings
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import main
from range_arrays import DTYPES, Ranges, made

import numpy as np

import binade

# precision, emin, largest finite number, of the formats of a report
FORMATS = {"binary16": (11, -14, Fraction(65504)), "bfloat16": (8, -126, Fraction(2 - Fraction(1, 128)) * 2**127),
           "tf32": (11, -126, (2 - Fraction(1, 1024)) * 2**127), "e5m2": (3, -14, Fraction(57344)),
           "e4m3": (4, -6, Fraction(448))}


def value(bits):
    """What the tests call a number: an exact fraction."""
    return Fraction(float(bits))


def power(x):
    """The e with 2^e <= |x| < 2^(e + 1)."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if Fraction(2) ** e <= x else e - 1


def quantum_of(x, precision, emin):
    return Fraction(2) ** (max(power(x), emin) - precision + 1)


def nearest(x, precision, emin):
    """|x| > 0 on the grid of a format without an upper end, ties to even."""
    quantum = quantum_of(x, precision, emin)
    return round(x / quantum) * quantum  # Python's round of a Fraction has ties to even


def overflows(x, name):
    precision, emin, largest = FORMATS[name]
    return nearest(x, precision, emin) > largest


def square_root(x):
    """Of a fraction, correct to far beyond 53 bits, as float."""
    scale = 1 << 400
    return float(Fraction(math.isqrt(x.numerator * scale * scale // x.denominator), scale))


def figures(x, name, target_loss=1e-3, headroom=1):
    """Of the finite non-zero magnitudes, in a format at scale 1, by definition."""
    precision, emin, largest = FORMATS[name]
    out = {"to_zero": 0, "subnormal": 0, "overflow": 0}
    lost1 = lost2 = clipped = error = Fraction(0)
    for m in x:
        y = nearest(m, precision, emin)
        if y == 0:
            out["to_zero"] += 1
            lost1 += m
            lost2 += m * m
        elif y < Fraction(2) ** emin:
            out["subnormal"] += 1
        elif y > largest:
            out["overflow"] += 1
            clipped += m - largest
        error += (m - min(y, largest)) ** 2
    one, two = sum(x, Fraction(0)), sum((m * m for m in x), Fraction(0))
    if x:
        out.update(lost_l1=float(lost1 / one), lost_l2=square_root(lost2 / two), clipped_l1=float(clipped / one))
        if error:
            out["sqnr_db"] = 10 * (math.log10(two.numerator) - math.log10(two.denominator)
                                   - math.log10(error.numerator) + math.log10(error.denominator))
        room = power(largest) - power(max(x)) + 1
        while overflows(max(x) * Fraction(2) ** room, name):
            room -= 1
        out["headroom"] = room
    out["squared_error"] = error
    return out


class Summaries(Ranges):
    def test_any_split_merges_to_the_same(self):
        for name, x in self.arrays.items():
            if x.dtype.kind == "i":
                continue
            whole = binade.RangeSummary().add(x)
            flat, merged = x.reshape(-1), binade.RangeSummary()
            for part in np.array_split(flat, 7):
                merged += binade.RangeSummary().add(part)
            self.assertEqual(merged, whole, name)
            self.assertEqual(merged.to_bytes(), whole.to_bytes())
            self.assertEqual(sum(binade.RangeSummary().add(part) for part in np.array_split(flat, 7)), whole)
        for stranger in (1, 0.0, "x"):
            with self.assertRaises(TypeError):
                stranger + whole
        alone = binade.RangeSummary().add(flat)
        kept = sum([alone])
        kept.add(flat)
        self.assertEqual(kept, alone + alone)  # and alone is what it was
        twice = binade.RangeSummary().add(flat)
        twice += twice
        self.assertEqual(twice, binade.RangeSummary().add(flat).add(flat))

    def test_figures(self):
        x = np.array([0, -0.0, 1, 1.5, -3, np.inf, -np.inf, np.nan, 1e-310])
        s = binade.RangeSummary().add(x)
        self.assertEqual((s.values, s.zeros, s.nan, s.inf, s.negative, s.nonzero), (9, 2, 1, 2, 3, 4))
        self.assertEqual((s.smallest, s.largest), (1e-310, 3.0))
        self.assertEqual(dict(zip(s.exponents.tolist(), s.counts.tolist())), {-1030: 1, 0: 2, 1: 1})
        self.assertEqual((s.exponents.dtype, s.counts.dtype), ("int64", "uint64"))
        none = binade.RangeSummary()
        self.assertEqual((none.values, none.smallest, none.largest, len(none.counts)), (0, None, None, 0))
        self.assertEqual(binade.RangeSummary(formats="e4m3,fp16", sqnr_scale=4).columns,
                         [("e4m3", 0), ("binary16", 0), ("e4m3", 4), ("binary16", 4)])
        with self.assertRaises(TypeError):
            hash(s)

    def test_scaled_is_the_summary_of_scaled_values(self):
        for x in (self.arrays["fc1.weight.grad"].astype("d"), np.zeros(3), self.arrays["fc2.weight.grad"].astype("d")):
            for by in (-24, -1, 0, 9, 70):
                want = binade.RangeSummary(formats="e4m3", sqnr_scale=-by).add(np.ldexp(x, by))
                got = binade.RangeSummary(formats="e4m3", sqnr_scale=by).add(x).scaled(by)
                self.assertEqual(sorted(got.columns), sorted(want.columns))
                self.assertEqual(binade.report({"x": got}, formats="e4m3", sqnr_scale=-by),
                                 binade.report({"x": want}, formats="e4m3", sqnr_scale=-by))
                self.assertEqual(got.scaled(-by), binade.RangeSummary(formats="e4m3", sqnr_scale=by).add(x))
        s = binade.RangeSummary().add(np.float32([1, 3]))
        before = s.to_bytes()
        for wrong in (127, -128, 5000, -5000, 2**31 - 1, -2**31):
            with self.assertRaisesRegex(ValueError, r"\Avalues times 2\^-?\d+: [^\n]+\Z"):
                s.scaled(wrong)
        self.assertEqual(s.to_bytes(), before)
        for stranger in (1.0, "1", None, True, 2**40):
            with self.assertRaises((TypeError, ValueError)):
                s.scaled(stranger)

    def test_files(self):
        path = self.file(self.arrays)
        self.assertEqual(binade.RangeSummary().add(path + ":fc1.weight"), binade.RangeSummary().add(self.arrays["fc1.weight"]))
        with self.assertRaisesRegex(ValueError, "ids: a tensor of I32"):
            binade.RangeSummary().add(path + ":ids")

    def test_bytes_and_pickle_are_exact(self):
        for x in self.arrays.values():
            if x.dtype.kind == "i":
                continue
            s = binade.RangeSummary(sqnr_scale=[3]).add(x)
            for back in (binade.RangeSummary.from_bytes(s.to_bytes()), binade.RangeSummary.from_bytes(bytearray(s.to_bytes())),
                         pickle.loads(pickle.dumps(s)), copy.copy(s), copy.deepcopy(s)):
                self.assertEqual(back, s)
                self.assertEqual(back.to_bytes(), s.to_bytes())
                self.assertEqual(binade.report({"x": back}, sqnr_scale=3), binade.report({"x": s}, sqnr_scale=3))

    def hash_of(self, data):
        out = 0xcbf29ce484222325
        for b in data:
            out = (out ^ b) * 0x100000001b3 % 2**64
        return struct.pack("<Q", out)

    def test_bytes_that_no_summary_gave_are_refused(self):
        data = binade.RangeSummary().add(np.float32([0, 1, 1.25, 3, 1e30, -5e-8, np.nan])).to_bytes()
        cases = [data[:n] for n in range(0, len(data), 7)] + [b"", b"binade.range/2\n\0" + data[16:], b"x" * len(data)]
        cases += [data[:i] + bytes([data[i] ^ 4]) + data[i + 1:] for i in range(0, len(data), 5)]
        cases += [data + b"\0", data[:-8] + b"\0" + self.hash_of(data[:-8] + b"\0")]
        for case in cases:
            with self.assertRaises(ValueError) as raised:
                binade.RangeSummary.from_bytes(case)
            self.assertRegex(str(raised.exception), r"\Athe bytes of a RangeSummary: [^\n]+\Z")
        with self.assertRaises(TypeError):
            binade.RangeSummary.from_bytes("text")
        with self.assertRaises(TypeError):
            binade.RangeSummary.from_bytes(5)

    def test_changed_bytes_with_a_right_checksum_do_no_harm(self):
        random = np.random.default_rng(8)
        data = binade.RangeSummary().add(np.float32([0, 1, 1.25, 3, 1e30, -5e-8, np.nan])).to_bytes()[:-8]
        refused = taken = 0
        for _ in range(4000):
            changed = bytearray(data)
            for at in random.integers(0, len(data), random.integers(1, 4)):
                changed[at] = random.choice([0, 1, 255, changed[at] ^ (1 << random.integers(8))])
            try:
                s = binade.RangeSummary.from_bytes(bytes(changed) + self.hash_of(changed))
            except ValueError as error:
                self.assertRegex(str(error), r"\Athe bytes of a RangeSummary: [^\n]+\Z")
                refused += 1
                continue
            taken += 1  # what some values may have given: all that is told of it can be told
            s._repr_html_()
            if s.values < 2**62:
                formats = [name for name, scale in s.columns if scale == 0]
                binade.loss_scale({"a": s, "b": s})
                binade.report({"a": s, "b": s}, formats=formats) if formats else None
        self.assertGreater(refused, 3000)
        self.assertGreater(taken, 0)

    def test_too_many_values_are_refused(self):
        head = struct.pack("<5Q", 2**63, 2**63, 0, 0, 0)
        none = binade.RangeSummary().to_bytes()
        changed = none[:16] + head + none[56:-8]
        s = binade.RangeSummary.from_bytes(changed + self.hash_of(changed))
        self.assertEqual(s.values, 2**63)
        for call in (lambda: s + s, lambda: s.__iadd__(s), lambda: binade.report({"a": s, "b": s})):
            with self.assertRaisesRegex(ValueError, "2.64 values"):
                call()
        self.assertEqual(binade.report({"a": s}).tensors[0]["zeros"], str(2**63))

    def test_a_summary_shows_its_binades(self):
        wide = binade.RangeSummary().add(np.ldexp(1.0, np.arange(-1074, 1024)))
        for s in (binade.RangeSummary(), binade.RangeSummary().add(self.arrays["fc1.weight.grad"]), wide):
            shown = s._repr_html_()
            self.assertLess(len(shown), 100_000)
            if s.nonzero:
                self.assertIn("2⁻²⁴", shown)
                self.assertIn("2⁻¹⁴", shown)
        one = binade.RangeSummary().add(np.float32([1, 1, 1, 2]))._repr_html_()
        self.assertIn("[2^0, 2^1): 3 values, 75.0 %", one)


class BruteForce(Ranges):
    """Every figure of a tensor, from its numbers as fractions."""

    def close(self, got, want, what):
        if want is None or got is None:
            self.assertEqual(got, want, what)
        else:
            self.assertTrue(math.isclose(got, want, rel_tol=2e-15, abs_tol=0), (what, got, want))

    def check_format(self, t, magnitudes, name):
        want, got = figures(magnitudes, name), t["formats"][name]
        for fate in ("to_zero", "subnormal", "overflow"):
            count = want[fate]
            self.assertEqual(got[fate], {"count": count, "of_values": count / t["values"] if t["values"] else 0,
                                         "of_nonzero": count / len(magnitudes) if magnitudes else 0}, (t["name"], name, fate))
        for share in ("lost_l1", "lost_l2", "clipped_l1"):
            self.close(got[share], want.get(share), (t["name"], name, share))
        error = got["squared_error"]["0"]
        self.assertEqual(int(error["integer"]) * Fraction(2) ** error["exponent"], want["squared_error"], (t["name"], name))
        sqnr = got["sqnr_db"]["0"]
        self.assertEqual(sqnr is None, want.get("sqnr_db") is None)
        if sqnr is not None:
            self.assertAlmostEqual(sqnr, want["sqnr_db"], places=9)
        self.assertEqual(got["headroom"], want.get("headroom"), (t["name"], name))
        if name == "binary16":
            band = sum(Fraction(2) ** -27 <= m < Fraction(2) ** -24 for m in magnitudes)
            self.assertEqual(got["band_27_24"]["count"], band)
            self.assertEqual(got["rne_zero"], got["to_zero"])

    def lost(self, magnitudes, scale):
        """The square of the share of the L2 norm that binary16 loses at a scale 2^scale."""
        tie = Fraction(2) ** (-25 - scale)
        return sum((m * m for m in magnitudes if m <= tie), Fraction(0)) / sum((m * m for m in magnitudes), Fraction(0))

    def check_scale(self, t, magnitudes):
        got = t["loss_scale"]
        if not magnitudes:
            self.assertEqual((got["status"], got["s_min_log2"], got["recommended_log2"]), ("no finite value", None, None))
            return
        low, high, target = got["s_min_log2"], got["s_max_log2"], Fraction(1e-3) ** 2
        largest = max(magnitudes)
        self.assertTrue(high == 127 or overflows(largest * Fraction(2) ** (high + 2), "binary16"))
        self.assertFalse(overflows(largest * Fraction(2) ** (high + 1), "binary16"))
        self.assertLessEqual(self.lost(magnitudes, low), target)
        self.assertTrue(low == -126 or self.lost(magnitudes, low - 1) > target, t["name"])
        self.assertEqual(got["status"], "ok" if low <= high else "empty interval")
        best = high if high >= -126 else None
        self.assertEqual(got["recommended_log2"], best)
        lost = None if best is None else square_root(self.lost(magnitudes, best))
        self.close(got["lost_l2_at_recommended"], lost, t["name"])

    def test_every_figure(self):
        for seed in (2, 3):
            arrays = made(seed)
            tensors = {t["name"]: t for t in binade.report(arrays).tensors}
            self.assertEqual(set(tensors), {k for k, x in arrays.items() if x.dtype.kind != "i"})
            for name, t in tensors.items():
                x = np.asarray(arrays[name]).astype("d").reshape(-1)
                finite = x[np.isfinite(x) & (x != 0)]
                self.assertEqual((t["dtype"], t["shape"]), (DTYPES[arrays[name].dtype.name], list(arrays[name].shape)))
                self.assertEqual(
                    [t[key] for key in ("values", "zeros", "nan", "inf", "negative", "nonzero", "min", "max")],
                    [x.size, int((x == 0).sum()), int(np.isnan(x).sum()), int(np.isinf(x).sum()),
                     int((np.signbit(x) & ~np.isnan(x)).sum()), finite.size,
                     abs(finite).min() if finite.size else None, abs(finite).max() if finite.size else None], name)
                self.assertEqual(t["status"], "empty" if not x.size else "ok" if finite.size else "all zero")
                magnitudes = [value(m) for m in abs(finite)]
                powers = [power(m) for m in magnitudes]
                self.assertEqual([(b["exponent"], sum(map(int, b["count"]))) for b in t["binades"]],
                                 sorted((e, powers.count(e)) for e in set(powers)), name)
                for b in t["binades"]:
                    unit = Fraction(2) ** (b["exponent"] - 52)
                    mine = [m / unit for m, e in zip(magnitudes, powers) if e == b["exponent"]]
                    self.assertEqual(sum(map(int, b["sum"])), sum(mine))
                    self.assertEqual(int(b["sum_of_squares"]), sum(m * m for m in mine))
                for f in FORMATS:
                    self.check_format(t, magnitudes, f)
                self.check_scale(t, magnitudes)

    def test_becomes_tells_what_a_report_tells(self):
        for name, x in self.arrays.items():
            if x.dtype.kind == "i":
                continue
            s = binade.RangeSummary().add(x)
            flat = np.asarray(x).astype("d").reshape(-1)
            finite = flat[np.isfinite(flat) & (flat != 0)]
            magnitudes = [value(m) for m in abs(finite)]
            report = binade.report({name: x}).tensors[0]["formats"]
            for format in FORMATS:
                at_one = s.becomes(format)
                self.assertEqual(at_one, {key: report[format][key] for key in at_one})
                for scale in (-20, -1, 3, 12, 900):
                    got, want = s.becomes(format, scale), figures([m * Fraction(2) ** scale for m in magnitudes], format)
                    self.assertEqual(list(got), ["to_zero", "subnormal", "overflow", "lost_l1", "lost_l2", "clipped_l1"])
                    for fate in ("to_zero", "subnormal", "overflow"):
                        count = want[fate]
                        self.assertEqual(got[fate], {"count": count, "of_values": count / flat.size if flat.size else 0,
                                                     "of_nonzero": count / len(magnitudes) if magnitudes else 0})
                    for share in ("lost_l1", "lost_l2", "clipped_l1"):
                        self.close(got[share], want.get(share), (name, format, scale, share))
        self.assertEqual(s.becomes(binade.Format("e4m3"), scale_log2=2), s.becomes("float8_e4m3fn", 2))
        for wrong, line in ((("e3m2",), "a summary knows"), (("e4m",), "unknown format"), (("e4m3", 1024), "give an integer"),
                            (("e4m3", -1023), "give an integer")):
            with self.assertRaisesRegex(ValueError, line):
                s.becomes(*wrong)
        with self.assertRaises(TypeError):
            s.becomes(3)


class Speed(Ranges):
    def test_arrays_are_not_copied(self):
        import resource

        x = np.ones(1 << 25, "f")
        binade.report({"x": x[:1000]})
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        binade.RangeSummary().add(x)
        binade.report({"x": x})
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 64 << 10)  # of 128 MiB, in KiB


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
