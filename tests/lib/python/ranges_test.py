# SPDX-License-Identifier: Apache-2.0
#
# Range summaries, reports and loss scales of arrays: held to the program's bytes on files of the same arrays, and every
# figure of a tensor to brute force with exact integers. Run as ranges_test.py PATH_TO_BINADE with the package on
# PYTHONPATH; needs NumPy, and uses ml_dtypes, pandas and torch where they are.

import copy
import csv
import io
import json
import math
import os
import pathlib
import pickle
import struct
import subprocess
import sys
import threading
import unittest
import warnings
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main
from made_files import safetensors

import numpy as np

import binade

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

DTYPES = {"float16": "F16", "float32": "F32", "float64": "F64", "bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3",
          "float8_e5m2": "F8_E5M2", "int32": "I32", "bool": "BOOL"}
# precision, emin, largest finite number, of the formats of a report
FORMATS = {"binary16": (11, -14, Fraction(65504)), "bfloat16": (8, -126, Fraction(2 - Fraction(1, 128)) * 2**127),
           "tf32": (11, -126, (2 - Fraction(1, 1024)) * 2**127), "e5m2": (3, -14, Fraction(57344)),
           "e4m3": (4, -6, Fraction(448))}


def saved(arrays):
    """The bytes of a .safetensors of these, in their order."""
    return safetensors(*((name, DTYPES[x.dtype.name], list(x.shape), np.ascontiguousarray(x).tobytes())
                         for name, x in arrays.items()))


def made(seed=1):
    """Arrays with zeros, subnormals, infinities and NaNs, in several dtypes and shapes; gradients, a weight, a state."""
    random = np.random.default_rng(seed)

    def spread(shape, low, high):
        return np.ldexp(random.standard_normal(shape), random.integers(low, high, shape))

    out = {"fc1.weight.grad": spread((7, 31), -40, -5).astype("f"),
           "fc2.weight.grad": spread(500, -30, 3).astype("e"),
           "fc1.weight": spread((3, 5, 8), -9, 2),
           "exp_avg": np.zeros((4, 4), "f"),
           "wide.grad": spread(300, -1000, -900),
           "ids": np.arange(6, dtype="i4").reshape(2, 3),
           "empty.grad": np.zeros((0, 3), "f"),
           "scalar.grad": np.array(0.375, "f")}
    out["fc1.weight.grad"][0, :6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 65520.0]
    out["fc2.weight.grad"][:4] = [0, 2**-24, -65504, np.inf]
    if ml_dtypes:
        out["b.grad"] = spread(400, -130, 4).astype(ml_dtypes.bfloat16)
        out["q.grad"] = spread(64, -9, 5).astype(ml_dtypes.float8_e4m3fn)
    return out


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


class Ranges(CliCase):
    def setUp(self):
        super().setUp()
        self.arrays = made()

    def file(self, arrays, name="arrays.safetensors"):
        return self.write(name, saved(arrays))


class Reports(Ranges):
    def held(self, arrays, words=(), **options):
        # A file of the very name that arrays in memory have makes all bytes equal; the contents decide what it is.
        self.file(arrays, "arrays")
        got = binade.report(arrays, **options)
        self.assertEqual(got.to_json(), self.good("report", "arrays", "--json", "-", *words))
        self.assertEqual(str(got), self.good("report", "arrays", *words))
        return got

    def test_arrays_give_the_bytes_of_the_program(self):
        self.held(self.arrays)

    def test_options_are_those_of_the_program(self):
        self.held(self.arrays, ["--headroom", "3", "--target-loss", "0.01", "--prefer", "s_min", "--tensors", "2"],
                  headroom=3, target_loss=0.01, prefer="s_min", tensors=2)
        self.held(self.arrays, ["--formats", "e4m3,binary16", "--sqnr-scale", "8,16"], formats=["e4m3", binade.Format("fp16")],
                  sqnr_scale=[8, 16])
        self.held(self.arrays, ["--role", "grad=exp_avg", "--role", "other=^b[.]"], role=["grad=exp_avg", "other=^b[.]"])
        self.held(self.arrays, ["--emulated", "sm_90"], emulated="sm_90")
        codes = {"w.grad": np.arange(60, dtype="u2").view("e")}
        self.file({"w.grad": codes["w.grad"]}, "arrays")
        got = binade.report({"w.grad": codes["w.grad"].view("u2")}, dtype="float16")
        self.assertEqual(json.loads(got.to_json()), json.loads(self.good("report", "arrays", "--json", "-")))

    def test_a_run_over_steps_pairs_weights_with_updates(self):
        random = np.random.default_rng(5)
        arrays = {f"step{step}/fc/{role}": (random.standard_normal(100) * scale).astype("f")
                  for step in (1, 2) for role, scale in (("weight", 1), ("update", 1e-4), ("dW", 1e-6))}
        got = self.held(arrays)
        self.assertEqual(len(got.to_dict()["time"]["updates"]), 2)
        summaries = {name: binade.RangeSummary().add(x) for name, x in arrays.items()}
        of = binade.report(summaries).to_dict()["time"]
        self.assertEqual(of["updates"], [])
        self.assertEqual([u["reason"] for u in of["unpaired"]], ["summaries hold no elements"] * 2)
        self.assertEqual(of["loss_scale"], got.to_dict()["time"]["loss_scale"])

    def test_files_globs_and_paths(self):
        first = self.file(self.arrays, "a.safetensors")
        second = self.path("b.npy")
        np.save(second, self.arrays["fc1.weight"])
        text = self.good("report", first, second, "--json", "-")
        for source in ([first, second], (second, pathlib.Path(first)), self.path("[ab].*"), [os.fsencode(first), second][:0]
                       or [first, second, second]):
            self.assertEqual(binade.report(source).to_json(), text)
        self.assertEqual(str(binade.report(pathlib.Path(second))), self.good("report", second))

    def test_one_array_and_mappings(self):
        x = self.arrays["fc1.weight"]
        self.assertEqual(binade.report(x), binade.report({"array": x}))
        self.assertEqual(binade.report(binade.RangeSummary().add(x)), binade.report({"summary": binade.RangeSummary().add(x)}))

    def test_summaries_say_what_their_arrays_say(self):
        floating = {k: x for k, x in self.arrays.items() if x.dtype.kind != "i"}
        summaries = {k: binade.RangeSummary(sqnr_scale=[8]).add(x) for k, x in floating.items()}
        got = binade.report(summaries, sqnr_scale=8).to_dict()
        want = binade.report(floating, sqnr_scale=8).to_dict()
        for of in (got, want):
            del of["files"], of["total"]["file"]
            for t in of["tensors"]:
                del t["file"], t["dtype"], t["shape"]
        self.assertEqual(got, want)
        # fewer formats than were counted
        got = binade.report(summaries, formats="e5m2").to_dict()["tensors"]
        self.assertEqual([t["formats"] for t in got],
                         [t["formats"] for t in binade.report(floating, formats="e5m2").tensors])

    def test_loss_scale_is_that_of_the_report(self):
        for options in ({}, {"headroom": 4, "prefer": "s_min"}, {"role": "grad=exp"}):
            want = binade.report(self.arrays, **options).loss_scale
            self.assertEqual(binade.loss_scale(self.arrays, **options), want)
        summaries = {k: binade.RangeSummary(formats="e4m3").add(x) for k, x in self.arrays.items() if x.dtype.kind != "i"}
        self.assertEqual({**binade.loss_scale(summaries), "basis": ""},
                         {**binade.loss_scale(self.arrays), "basis": ""})
        self.assertEqual(binade.loss_scale(self.file(self.arrays)), binade.loss_scale(self.arrays))

    def test_errors(self):
        x = np.ones(3, "f")
        summary = binade.RangeSummary(formats=["e4m3"]).add(x)
        for kind, pattern, call in (
                (ValueError, "no array", lambda: binade.report({})),
                (TypeError, "^a: an array is wanted", lambda: binade.report({"a": "x"})),
                (ValueError, "^no array; nothing to report on", lambda: binade.report({"a": None})),
                (TypeError, "^a: an array of complex", lambda: binade.report({"a": x.astype("F")})),
                (ValueError, "^a: .*byte order", lambda: binade.report({"a": x.astype(">f4")})),
                (TypeError, "names of arrays are text", lambda: binade.report({1: x})),
                (TypeError, "not of both", lambda: binade.report({"a": x, "b": summary})),
                (TypeError, "summaries have names", lambda: binade.report([summary])),
                (ValueError, "no floating-point tensor", lambda: binade.report({"a": np.arange(3)})),
                (ValueError, "^the summary of a has no squared errors of binary16 at scale 2.0",
                 lambda: binade.report({"a": summary})),
                (ValueError, "^target_loss: not a share", lambda: binade.report({"a": x}, target_loss=1)),
                (ValueError, "^headroom 101: give", lambda: binade.report({"a": x}, headroom=101)),
                (ValueError, "^prefer s_mid: give s_max or s_min", lambda: binade.report({"a": x}, prefer="s_mid")),
                (ValueError, "^formats e3m4", lambda: binade.report({"a": x}, formats="e3m4")),
                (ValueError, "^sqnr_scale: 4 scales", lambda: binade.report({"a": x}, sqnr_scale=[1, 2, 3])),
                (ValueError, "^sqnr_scale 200: give", lambda: binade.report({"a": x}, sqnr_scale=200)),
                (TypeError, "^sqnr_scale: the log2", lambda: binade.report({"a": x}, sqnr_scale="x")),
                (ValueError, "^role", lambda: binade.report({"a": x}, role="grad")),
                (ValueError, "emulated: summaries", lambda: binade.report({"a": summary}, emulated="sm_90")),
                (OSError, "nowhere.npy: no such file", lambda: binade.report("nowhere.npy")),
                (OSError, "matches no file", lambda: binade.loss_scale(self.path("*.npz"))),
                (ValueError, "neither .safetensors", lambda: binade.report(self.write("x.bin", b"nothing"))),
                (TypeError, "RangeSummary.add: an array of int32", lambda: summary.add(np.arange(3, dtype="i4"))),
                (ValueError, "different formats or scales", lambda: summary + binade.RangeSummary())):
            with self.subTest(pattern), self.assertRaisesRegex(kind, pattern) as raised:
                call()
            self.assertNotIn("\n", str(raised.exception))

    def test_strided_and_foreign_arrays(self):
        x = np.linspace(-1, 1, 60, dtype="f").reshape(6, 10)
        for view in (x[::2, ::3], x.T, x[::-1], x[:, 3]):
            self.assertEqual(binade.report({"a": view}), binade.report({"a": np.ascontiguousarray(view)}))
        if not ml_dtypes:
            self.skipTest("no ml_dtypes")
        narrow = x.astype(ml_dtypes.bfloat16)
        self.assertEqual(binade.report({"a": narrow}).tensors[0]["dtype"], "BF16")
        self.assertEqual(binade.RangeSummary().add(narrow[:, ::2]), binade.RangeSummary().add(narrow[:, ::2].astype("f")))

    def test_tensors_of_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("no torch")
        x = torch.randn(3, 4)
        state = {"a.grad": x, "b.grad": x.to(torch.bfloat16).T}
        want = binade.report({"a.grad": x.numpy(), "b.grad": x.to(torch.bfloat16).T.contiguous().view(torch.int16).numpy()
                              .view("u2")}, dtype="bfloat16")
        self.assertEqual(binade.report(state), want)

    def test_two_threads_at_once(self):
        arrays = {"a.grad": np.random.default_rng(3).standard_normal(300_000).astype("f"), **self.arrays}
        want, got = binade.report(arrays), [None, None]
        shared = binade.RangeSummary()

        def work(i):
            for _ in range(3):
                shared.add(arrays["a.grad"])
            got[i] = binade.report(arrays)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(got, [want, want])
        self.assertEqual(shared, sum([binade.RangeSummary().add(arrays["a.grad"]) for _ in range(6)], binade.RangeSummary()))

    def test_a_report_can_be_pickled_and_compared(self):
        report = binade.report(self.arrays)
        self.assertEqual(pickle.loads(pickle.dumps(report)), report)
        self.assertNotEqual(binade.report(self.arrays, headroom=2), report)


class Saved(Ranges):
    def test_files_are_the_programs(self):
        self.file(self.arrays, "arrays")
        self.good("report", "arrays", "-q", "--json", "p.json", "--html", "p.html", "--csv", "p.csv")
        report = binade.report(self.arrays)
        for ending in ("json", "html", "csv"):
            report.save(self.path("m." + ending))
            self.assertEqual(self.read("m." + ending), self.read("p." + ending), ending)
        report.save(pathlib.Path(self.path("x.HTML")))
        self.assertEqual(self.read("x.HTML"), self.read("p.html"))

    def test_errors_of_save(self):
        report = binade.report(self.arrays)
        with self.assertRaisesRegex(ValueError, r"r\.pdf: a report is saved as \.html, \.json or \.csv"):
            report.save(self.path("r.pdf"))
        self.write("file", b"")
        with self.assertRaises(OSError):
            report.save(self.path("file/r.csv"))
        with self.assertRaises(TypeError):
            report.save(3)
        self.assertEqual(self.files(), ["file"])

    def test_data_frame_has_the_columns_of_the_csv(self):
        report = binade.report(self.arrays, sqnr_scale=8)
        columns, rows = binade._binade._table_of_report(report.to_json())
        report.save(self.path("r.csv"))
        lines = list(csv.reader(io.StringIO(self.read("r.csv").decode(), newline="")))
        self.assertEqual(lines[0], [name for name, _ in columns])
        for line, row in zip(lines[1:], rows, strict=True):
            for field, cell, (_, kind) in zip(line, row, columns, strict=True):
                if kind == "number" and cell is not None:
                    self.assertEqual(float(field), cell)
                    self.assertIn(":" + field, report.to_json())  # the very digits
                else:
                    self.assertEqual(field, "" if cell is None else str(cell))
        try:
            import pandas
        except ImportError:
            with self.assertRaisesRegex(ImportError, r'to_pandas needs pandas: pip install "binade\[pandas\]"'):
                report.to_pandas()
            self.skipTest("no pandas")
        frame = report.to_pandas()
        self.assertEqual(list(frame.columns), lines[0])
        self.assertEqual(len(frame), len(report.tensors))
        for t, (_, row) in zip(report.tensors, frame.iterrows(), strict=True):
            self.assertEqual((row["name"], row["values_count"], row["binary16_subnormal_count"]),
                             (t["name"], t["values"], t["formats"]["binary16"]["subnormal"]["count"]))
            sqnr = t["formats"]["e4m3"]["sqnr_db"]["8"]
            self.assertTrue(pandas.isna(row["e4m3_sqnr_at_scale_log2_8_db"]) if sqnr is None
                            else row["e4m3_sqnr_at_scale_log2_8_db"] == sqnr)

    def test_nothing_heavy_is_imported(self):
        code = ("import sys, binade; binade.report; print([m for m in ('numpy', 'torch', 'pandas') if m in sys.modules])")
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(out.stdout, "[]\n")


class Notebook(Ranges):
    def test_a_report_shows_itself(self):
        shown = binade.report({"<b>&.grad": self.arrays["fc1.weight.grad"], **self.arrays})._repr_html_()
        self.assertIn("&lt;b&gt;&amp;.grad", shown)
        self.assertNotIn("<b>&", shown)
        self.assertIn("Loss scale for binary16", shown)
        self.assertNotRegex(shown, "https?://(?!www.w3.org/2000/svg)")
        self.assertNotIn("of 11 tensors", shown)

    def test_of_many_tensors_the_worst_come_first(self):
        one = np.float32([1.0, 1e-3])
        arrays = {f"layers.{i}.a_long_name_of_a_module.with_parts.{'x' * 80}.weight.grad": one for i in range(3000)}
        arrays["bad.grad"] = np.float32([1e-9, 1e-8])
        shown = binade.report(arrays)._repr_html_()
        self.assertLess(len(shown.encode()), 200_000)
        self.assertIn("The worst 40 of 3001 tensors by binary16; 2961 more", shown)
        self.assertLess(shown.index(">bad.grad<"), shown.index(">layers.0") if ">layers.0" in shown else len(shown))

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

    def check_scale(self, t, magnitudes, bounds):
        got = t["loss_scale"]
        if not magnitudes:
            self.assertEqual((got["status"], got["s_min_log2"], got["recommended_log2"]), ("no finite value", None, None))
            return
        low, high, target = got["s_min_log2"], got["s_max_log2"], Fraction(1e-3) ** 2
        largest = max(magnitudes)
        self.assertTrue(high == bounds[1] or overflows(largest * Fraction(2) ** (high + 2), "binary16"))
        self.assertFalse(overflows(largest * Fraction(2) ** (high + 1), "binary16"))
        self.assertLessEqual(self.lost(magnitudes, low), target)
        self.assertTrue(low == bounds[0] or self.lost(magnitudes, low - 1) > target, t["name"])
        self.assertEqual(got["status"], "ok" if low <= high else "empty interval")
        best = min(max(high, bounds[0]), bounds[1])
        self.assertEqual(got["recommended_log2"], best)
        self.close(got["lost_l2_at_recommended"], square_root(self.lost(magnitudes, best)), t["name"])

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
                wide = finite.size and (abs(finite).max() >= 2.0**128 or abs(finite).min() < 2.0**-149)
                self.check_scale(t, magnitudes, (-1022, 1023) if wide else (-126, 127))


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
