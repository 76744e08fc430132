# SPDX-License-Identifier: Apache-2.0
#
# Reports and loss scales of arrays, of files and of range summaries: the program's bytes on files of the same arrays, what
# is saved, what a notebook shows. Run as reports_test.py PATH_TO_BINADE with the package on PYTHONPATH; needs NumPy, and
# uses ml_dtypes, pandas and torch where they are.

import csv
import io
import math
import os
import pathlib
import pickle
import sys
import threading
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import main, read_json
from range_arrays import Ranges, ml_dtypes

import numpy as np

import binade


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
        self.held(self.arrays, ["--headroom", "3", "--target-loss", "0.01", "--prefer", "s_min"], headroom=3, target_loss=0.01,
                  prefer="s_min")
        self.assertEqual(str(binade.report(self.arrays, tensors=2)), self.good("report", "arrays", "--tensors", "2"))
        self.held(self.arrays, ["--formats", "e4m3,binary16", "--sqnr-scale", "8,16"], formats=["e4m3", binade.Format("fp16")],
                  sqnr_scale=[8, 16])
        self.held(self.arrays, ["--role", "grad=exp_avg", "--role", "other=^b[.]"], role=["grad=exp_avg", "other=^b[.]"])
        self.held(self.arrays, ["--emulated", "sm_90"], emulated="sm_90")
        codes = {"w.grad": np.arange(60, dtype="u2").view("e")}
        self.file({"w.grad": codes["w.grad"]}, "arrays")
        got = binade.report({"w.grad": codes["w.grad"].view("u2")}, dtype="float16")
        self.assertEqual(read_json(got.to_json()), read_json(self.good("report", "arrays", "--json", "-")))

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

    def test_loss_scale_of_each_format(self):
        for name in ("binary16", "bfloat16", "tf32", "e5m2", "e4m3"):
            found = binade.loss_scale(self.arrays, format=name)
            self.assertEqual(found, binade.report(self.arrays, formats=[name]).loss_scale)
            self.assertEqual((found["format"], found["own_scales"]), (name, name.startswith("e")))

    def test_a_file_of_weights_has_no_loss_scale_and_arrays_under_the_names_of_weights_are_gradients(self):
        weights = {"fc1.weight": np.float32([1, 0.25]), "fc1.bias": np.float32([0.5])}
        file = self.file(weights)
        for found in (binade.loss_scale(file), binade.report(file).loss_scale, binade.report(weights).loss_scale):
            self.assertEqual((found["status"], found["recommended_log2"]), ("no gradients", None))
        self.assertEqual(binade.loss_scale(weights)["recommended_log2"], 14)
        self.assertEqual(binade.loss_scale(file, role="grad=.")["recommended_log2"], 14)

    def test_loss_scale_is_that_of_the_report(self):
        for options in ({}, {"headroom": 4, "prefer": "s_min"}, {"role": "grad=exp"}):
            want = binade.report(self.arrays, **options).loss_scale
            self.assertEqual(binade.loss_scale(self.arrays, **options), want)
        summaries = {k: binade.RangeSummary(formats="e4m3").add(x) for k, x in self.arrays.items() if x.dtype.kind != "i"}
        self.assertEqual({**binade.loss_scale(summaries), "basis": ""},
                         {**binade.loss_scale(self.arrays), "basis": ""})
        self.assertEqual(binade.loss_scale(self.file(self.arrays)), binade.loss_scale(self.arrays))

    def test_complex_arrays_are_named_and_skipped_as_in_files(self):
        arrays = {"a": np.ones(3, "f"), "b": np.ones((2, 2), np.complex64), "c": np.ones(1, np.complex128)}
        path = self.path("arrays.npz")
        np.savez(path, **arrays)
        of_dict, of_file = binade.report(arrays).to_dict()["skipped"], binade.report(path).to_dict()["skipped"]
        keys = ("name", "dtype", "shape", "reason")
        self.assertEqual([[one[key] for key in keys] for one in of_dict], [[one[key] for key in keys] for one in of_file])
        self.assertEqual([one["name"] for one in of_dict], ["b", "c"])
        for x in (arrays["b"], arrays["c"]):
            with self.assertRaisesRegex(TypeError, f"an array of {x.dtype.name}; binade reads"):
                binade.RangeSummary().add(x)

    def test_raw_arrays_hold_what_the_caller_says(self):
        raw = np.array([1, 2.5, 2**-30], np.float32).view(np.uint32)[:] >> 16
        raw = raw.astype(np.uint16).view("V2")
        path = self.path("raw.npy")
        np.save(path, raw)
        of_array, of_file = (binade.report(x, dtype="bfloat16").to_dict()["total"] for x in ({"a": raw}, path))
        self.assertEqual(of_array["formats"], of_file["formats"])
        self.assertEqual(of_array["nonzero"], 3)
        with self.assertRaisesRegex(TypeError, "^a: an array of void16"):
            binade.report({"a": raw})

    def test_a_list_of_names_and_arrays_is_a_dict(self):
        self.assertEqual(binade.report(list(self.arrays.items())).to_json(), binade.report(self.arrays).to_json())

    def test_scales_of_float64_values_are_those_that_float32_holds(self):
        def scale(*x, **options):
            found = binade.loss_scale({"a.grad": np.float64(x)}, **options)
            return [found[key] for key in ("status", "s_min_log2", "s_max_log2", "recommended_log2", "reason")]

        *small, words = scale(1e-70)
        self.assertEqual(small, ["empty interval", 208, 127, 127])
        self.assertIn("2^127 is binary32's largest scale and keeps every value at least 1 binade below overflow, but a.grad needs "
                      "2^208", words)
        *large, words = scale(1e100, prefer="s_min")
        self.assertEqual(large, ["empty interval", -126, -318, None])
        self.assertEqual(words, "No scale serves: binary32's smallest scale, 2^-126, does not keep a.grad at least 1 binade below "
                         "overflow: 2^-318 would be needed.")
        self.assertIn("2^127, binary32's largest scale, keeps every value", scale(1e-40)[-1])
        found = binade.report({"a.grad": np.float64([1e100])})
        self.assertIn("\nLoss scale for binary16: none\n  No scale serves", str(found))
        self.assertIn("does not keep the largest value at least", found.tensors[0]["loss_scale"]["reason"])
        self.assertEqual(binade.report({"a": np.float64([1e-70])}).tensors[0]["advice"]["text"],
                         "e4m3: no scale serves; e5m2: no scale serves; binary16: no scale serves; bfloat16: times 2^99 to 2^127")

    def test_a_loss_far_below_the_norm_is_shown_as_such(self):
        path = self.path("far.json")
        found = binade.report({"a.grad": np.float64([1e100, 1e-70])}, target_loss=0)
        found.save(path)
        of = found.tensors[0]
        self.assertTrue(math.isclose(of["formats"]["binary16"]["lost_l2"], 1e-170))
        self.assertEqual(of["loss_scale"]["s_min_log2"], 208)
        self.assertIn("  lost l2    of sqrt(sum x²)          1e-168 %", str(found))
        found.save(self.path("far.csv"))
        self.assertIn(",1e-170,", pathlib.Path(self.path("far.csv")).read_text())
        self.assertIn("lost l2 in binary16                       1e-168 %        1e-168 %\n", self.good("report", "--diff", path, path))

    def test_errors(self):
        x = np.ones(3, "f")
        summary = binade.RangeSummary(formats=["e4m3"]).add(x)
        for kind, pattern, call in (
                (ValueError, "no array", lambda: binade.report({})),
                (ValueError, "^no array; nothing to report on", lambda: binade.report([])),
                (TypeError, "^path: text or os.PathLike$", lambda: binade.report({"a": x}).save(None)),
                (TypeError, "^a: an array is wanted", lambda: binade.report({"a": "x"})),
                (ValueError, "^no array; nothing to report on", lambda: binade.report({"a": None})),
                (TypeError, "^a: an array of clongdouble|^a: an array of complex256",
                 lambda: binade.report({"a": x.astype("G")})),
                (TypeError, "names of arrays are text", lambda: binade.report({1: x})),
                (TypeError, "not of both", lambda: binade.report({"a": x, "b": summary})),
                (TypeError, "summaries have names", lambda: binade.report([summary])),
                (ValueError, "no floating-point tensor", lambda: binade.report({"a": np.arange(3)})),
                (ValueError, "^the summary of a has no squared errors of binary16 at scale 2.0",
                 lambda: binade.report({"a": summary})),
                (ValueError, "^target_loss: not a share", lambda: binade.report({"a": x}, target_loss=1)),
                (ValueError, "^headroom 101: give", lambda: binade.report({"a": x}, headroom=101)),
                (ValueError, "^prefer s_mid: give margin, s_max or s_min", lambda: binade.report({"a": x}, prefer="s_mid")),
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

    def test_files_of_torch_give_the_bytes_of_the_same_tensors(self):
        folder = pathlib.Path(__file__).resolve().parents[1] / "io/torch_files"
        for kind in ("protocol2", "sharded_bin", "dcp"):
            with self.subTest(kind):
                want = binade.report(str(folder / kind / "expected/tensors")).to_json()
                self.assertEqual(binade.report(str(folder / kind / "tensors")).to_json(),
                                 want.replace("/expected/", "/"))

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
        self.assertEqual(shared, sum(binade.RangeSummary().add(arrays["a.grad"]) for _ in range(6)))

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


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
