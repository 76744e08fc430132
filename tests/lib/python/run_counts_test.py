# SPDX-License-Identifier: Apache-2.0
#
# Runs that are counted while they run: the report in memory is that of the saved file, and its figures those of the arrays.
# Run as run_counts_test.py PATH_TO_BINADE with the package on PYTHONPATH; needs NumPy.

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main

import numpy as np

import binade
from binade import _binade

STEPS, LAYERS = (0, 100), ("fc1", "blocks.0.exp_avg", "h.0 (scaled)")


def address(x):
    return x.__array_interface__["data"][0]


def updates_of(weights, updates, dtype="F32"):
    out = _binade._UpdateCounts()
    out.add_at(address(weights), address(updates), weights.size, dtype)
    return out


class RunCounts(CliCase):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(1)
        self.arrays = {}
        for step in STEPS:
            for layer in LAYERS:
                for role, size in (("weight", 1), ("dW", 1e-6), ("update", 1e-4), ("act", 1)):
                    self.arrays[step, layer, role] = (random.standard_normal((20, 30)) * size).astype("f")

    def counted(self, backwards=False, **formats):
        """The run of the arrays; `backwards`: added in another order of steps."""
        run = _binade._CountedRun()
        for step in reversed(STEPS) if backwards else STEPS:
            for layer in LAYERS:
                for role in ("weight", "dW", "update", "act"):
                    summary = binade.RangeSummary(**formats).add(self.arrays[step, layer, role])
                    run.add(step, layer, role, "F32", None if role == "act" else (20, 30), summary)
                run.add_update(step, layer, updates_of(self.arrays[step, layer, "weight"], self.arrays[step, layer, "update"]))
        run.add_window(0, 50, 2, 65536.0)
        run.add_window(100, 100, 1, None)
        run.set_about(50, ["a note", "another"], json.dumps({"text": "step 7: NaN", "step": 7}))
        return run

    def named(self):
        return {f"step{step:06}/{layer}/{role}": x for (step, layer, role), x in self.arrays.items()}

    def test_the_report_in_memory_is_that_of_the_saved_file(self):
        run = self.counted(formats=[])
        run.save(self.path("run.binade"))
        ours, saved = run.report(), binade.report(self.path("run.binade"))
        self.assertEqual(ours.to_json().replace('"run"', json.dumps(self.path("run.binade"))), saved.to_json())
        self.assertEqual(saved.to_json(), self.good("report", self.path("run.binade"), "--json", "-"))
        self.assertEqual(str(saved), self.good("report", self.path("run.binade")))
        self.assertIsInstance(ours, binade.Report)
        ours.save(self.path("run.html"))
        self.assertEqual(ours.to_dict()["watched"],
                         {"every": 50, "windows": [{"first": 0, "last": 50, "steps": 2}, {"first": 100, "last": 100, "steps": 1}],
                          "notes": ["a note", "another"], "first_nonfinite": {"text": "step 7: NaN", "step": 7}})

    def test_its_figures_are_those_of_the_arrays(self):
        run = self.counted().report(headroom=2, formats="e4m3,binary16").to_dict()
        whole = binade.report({f"step{step}/layer{LAYERS.index(layer)}/{role}": x
                               for (step, layer, role), x in self.arrays.items()},
                              headroom=2, formats="e4m3,binary16").to_dict()
        self.assertEqual(run["options"], whole["options"])
        for ours, theirs in zip(run["tensors"], whole["tensors"], strict=True):
            self.assertEqual({**theirs, "name": 0, "file": 0, "shape": 0, "time": 0},
                             {**ours, "name": 0, "file": 0, "shape": 0, "time": 0})
        for ours, theirs in zip(run["time"]["updates"], whole["time"]["updates"], strict=True):
            self.assertEqual({**ours, "layer": 0}, {**theirs, "layer": 0})
        self.assertGreater(run["time"]["updates"][0]["formats"]["bfloat16"]["lost"][0], 0)
        self.assertEqual([at.get("used") for at in run["time"]["loss_scale"]], [65536.0, None])

    def test_the_order_of_adding_steps_changes_nothing(self):
        for name, backwards in (("a", False), ("b", True)):
            self.counted(backwards, formats=[]).save(self.path(name))
        self.assertEqual(self.read("a"), self.read("b"))

    def test_updates_add_up_and_go_through_bytes(self):
        weights = self.arrays[0, "fc1", "weight"].ravel()
        updates = self.arrays[0, "fc1", "update"].ravel()
        whole, parts = updates_of(weights, updates), _binade._UpdateCounts()
        self.assertNotEqual(whole, parts)
        for some in (slice(0, 7), slice(7, 401), slice(401, None)):
            parts += updates_of(weights[some], updates[some])
        self.assertEqual(whole, parts)
        data = whole.to_bytes()
        self.assertEqual(_binade._UpdateCounts.from_bytes(data), whole)
        self.assertEqual((whole.values, whole.updates), (600, 600))
        for at in range(len(data)):
            bad = bytearray(data)
            bad[at] ^= 0x10
            with self.assertRaisesRegex(ValueError, r"\Athe bytes of update counts: [^\n]+\Z"):
                _binade._UpdateCounts.from_bytes(bytes(bad))
        for size in range(len(data)):
            with self.assertRaises(ValueError):
                _binade._UpdateCounts.from_bytes(data[:size])

    def test_what_weights_lost_adds_up_and_goes_through_bytes(self):
        counts = _binade._UpdateCounts()
        counts.add_held()
        self.assertEqual(counts, _binade._UpdateCounts())
        counts.add_held(asked=5, lost=3, unknown=1, decay_asked=4, decay_lost=2, idle=1, by_size=[0, 0, 2])
        data = counts.to_bytes()
        again = _binade._UpdateCounts.from_bytes(data)
        self.assertEqual(again, counts)
        self.assertNotEqual(again, _binade._UpdateCounts())
        again += counts
        self.assertEqual([getattr(again, name) for name in ("asked", "lost", "unknown", "decay_asked", "decay_lost", "idle")],
                         [10, 6, 2, 8, 4, 2])
        self.assertEqual((counts.median_log2_of_ulp, _binade._UpdateCounts().median_log2_of_ulp), (-1, None))
        for wrong in ({"asked": 1, "lost": 2}, {"asked": 2, "lost": 2}, {"decay_lost": 1, "idle": 1},
                      {"asked": 1, "lost": 1, "by_size": [1, 1]}, {"asked": 1, "lost": 1, "unknown": 2}):
            bad = _binade._UpdateCounts()
            bad.add_held(**wrong)
            with self.assertRaisesRegex(ValueError, "it has counts that no updates have"):
                _binade._UpdateCounts.from_bytes(bad.to_bytes())
        with self.assertRaisesRegex(ValueError, "by_size"):
            counts.add_held(by_size=[0] * 33)

    def test_updates_are_read_in_every_floating_dtype(self):
        weights, updates = np.array([1, 1, 2], "e"), np.array([2**-11, 2**-12, 2**-5], "e")
        self.assertEqual(updates_of(weights, updates, "F16"), updates_of(weights.astype("f"), updates.astype("f")))
        self.assertEqual(updates_of(weights.astype("d"), updates.astype("d"), "F64"),
                         updates_of(weights.astype("f"), updates.astype("f")))
        brain = [(x.astype("f").view("u4") >> 16).astype("u2") for x in (weights, updates)]
        self.assertEqual(updates_of(*brain, "BF16"), updates_of(weights.astype("f"), updates.astype("f")))
        for dtype in ("I32", "float32", ""):
            with self.assertRaises(ValueError):
                updates_of(weights, updates, dtype)

    def test_what_no_run_is_made_of_is_refused(self):
        summary = binade.RangeSummary(formats=[]).add(np.ones(3, "f"))
        run = _binade._CountedRun()
        for arguments, words in (((0, "fc", "other", "F32", None, summary), "role other: give act, dAct"),
                                 ((0, "fc", "dW", "I8", None, summary), "dtype I8: no floating one")):
            with self.assertRaisesRegex(ValueError, words):
                run.add(*arguments)
        for shape in ((1.5,), ("a",), (-1,)):
            with self.assertRaises(TypeError):
                run.add(0, "fc", "dW", "F32", shape, summary)
        with self.assertRaisesRegex(ValueError, "no floating-point tensor among 0 tensors"):
            run.report()
        run.add(0, "fc", "dW", "F32", (3,), summary)
        with self.assertRaisesRegex(ValueError, "step000000/fc/dW is of no window"):
            run.report()
        run.add_window(0, 0, 1, None)
        with self.assertRaisesRegex(ValueError, "sqnr_scale: no squared errors in run; watch with sqnr=True"):
            run.report(sqnr_scale=8)
        with self.assertRaisesRegex(ValueError, "step000000/fc/act: its summary has other squared errors"):
            run.add(0, "fc", "act", "F32", None, binade.RangeSummary())
        with self.assertRaisesRegex(ValueError, "the first non-finite value: not a JSON object"):
            run.set_about(50, [], "{}")
        run.add(0, "fc", "dW", "F32", (3,), summary)
        for refused in (run.report, lambda: run.save(self.path("run.binade"))):
            with self.assertRaisesRegex(ValueError, "step000000/fc/dW is there twice"):
                refused()
        self.assertEqual(self.files(), [])

    def test_summaries_without_errors_have_a_report_without_sqnr(self):
        summaries = {name: binade.RangeSummary(formats=[]).add(x) for name, x in self.named().items()}
        self.assertEqual({tuple(s.columns) for s in summaries.values()}, {()})
        report = binade.report(summaries)
        self.assertEqual(report.to_dict()["options"]["scales_log2"], [])
        self.assertEqual(report.to_dict()["total"]["formats"]["binary16"]["sqnr_db"], {})
        self.assertEqual(binade.report(summaries).loss_scale, binade.report(self.named()).loss_scale)
        self.assertEqual(binade.loss_scale(summaries)["recommended_log2"], report.loss_scale["recommended_log2"])
        report.save(self.path("report.csv"))
        self.assertNotIn(b"sqnr", self.read("report.csv"))
        self.assertIn("RangeSummary", report._repr_html_() + repr(next(iter(summaries.values()))))
        with self.assertRaisesRegex(ValueError, "sqnr_scale: no squared errors in summaries; .* count with RangeSummary"):
            binade.report(summaries, sqnr_scale=8)
        with self.assertRaisesRegex(ValueError, "report on them apart"):
            binade.report({**summaries, "x": binade.RangeSummary()})


if __name__ == "__main__":
    main()
