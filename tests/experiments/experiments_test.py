# SPDX-License-Identifier: Apache-2.0
#
# The experiments as a user runs them: they are listed, run and end as expected; some of their figures are worked out again here.
# Run as experiments_test.py PATH_TO_BINADE; needs Python only.

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cli_case import CliCase, main


class Experiments(CliCase):
    def measure(self, *arguments):
        """What the run prints; nothing is on stderr."""
        result = self.run_binade("experiment", "run", *arguments)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stderr, b"")
        return result.stdout.decode()

    def test_the_list_names_each_with_its_question(self):
        text = self.good("experiment", "list")
        for part in ["underflow_band", "boundary_atlas", "asks  ", "expected"]:
            self.assertIn(part, text)

    def test_they_run_and_find_what_was_expected(self):
        for name in ["underflow_band", "boundary_atlas", "scaler_race", "clip_order"]:
            with self.subTest(name):
                quick = ["--quick"] if name == "scaler_race" else []  # it trains
                text = self.measure(name, *quick, "--json", name + ".json")
                self.assertIn("measured  as expected:", text)
                self.assertLessEqual(max(map(len, text.splitlines())), 98)
                results = self.read_json(name + ".json")["results"]
                self.assertEqual([r["experiment"] for r in results], [name])
                self.assertEqual(results[0]["status"], "as_expected")
                self.assertGreater(len(results[0]["data"]), 0)

    def test_a_dump_of_the_quadratic_is_read_one_run_at_a_time(self):
        text = self.measure("clip_order", "--quick", "--dump", "dump")
        self.assertNotIn("to dump", text)
        runs = sorted(os.listdir(self.path("dump/clip_order")))
        self.assertEqual(len(runs), 10)
        reports = []
        for folder in ("dump/clip_order/right_2^0", "dump/clip_order/right_2^16"):
            files = [os.path.join(folder, name) for name in os.listdir(self.path(folder))]
            self.good("report", "-q", *files, "--json", "r.json")
            reports.append(self.read_json("r.json"))
        self.assertEqual(reports[0]["gradients"], reports[1]["gradients"])  # dumped unscaled
        self.assertGreater(reports[0]["gradients"]["values"], 0)
        time = reports[1]["time"]
        self.assertEqual((time["steps"][0], time["steps"][-1], len(time["steps"])), (0, 49, 11))
        self.assertEqual({s["role"] for s in time["series"]}, {"weight", "dW", "update"})

    def test_what_trains_dumps_and_what_does_not_says_so(self):
        text = self.measure("boundary_atlas", "--dump", "dump")
        self.assertIn("\nboundary_atlas has no tensors to dump\n", text)
        self.assertEqual(self.files(), [])

    def test_the_band_splits_at_scale_1_and_lives_at_scale_8(self):
        self.measure("underflow_band", "--json", "r.json")
        rows = self.read_json("r.json")["results"][0]["data"]
        phases = {row["phase"] for row in rows}
        self.assertEqual(len(phases), 3)
        cells = {(row["phase"], row["band"]): row for row in rows}
        for phase in phases:
            band = cells[phase, "2^-27..2^-24"]
            parts = [cells[phase, name] for name in ["2^-27..2^-26", "2^-26..2^-25", "2^-25..2^-24"]]
            self.assertEqual(band["count"], sum(part["count"] for part in parts))
            self.assertGreater(band["count"], 0)
            self.assertEqual([part["scales"]["0"]["to_zero"] for part in parts[:2]],
                             [part["count"] for part in parts[:2]])
            self.assertLess(parts[2]["scales"]["0"]["to_zero"], 1 + parts[2]["count"] / 100)
            self.assertEqual(band["scales"]["3"]["to_zero"], 0)

    def data_of(self, name, *options):
        self.measure(name, *options, "--json", "r.json")
        return self.read_json("r.json")["results"][0]["data"]

    def test_a_rare_infinity_walks_one_scale_down_and_lets_the_other_climb(self):
        traces = self.data_of("scaler_race", "--quick")["traces"]
        last = {policy: run["last_log2"] for policy, run in traces["rare"].items()}
        self.assertEqual([last[policy] for policy in ["torch", "keras3", "deepspeed", "megatron"]], [3, 2, 29, 45])
        self.assertEqual([traces["cliff"][policy]["skips"] for policy in ["deepspeed", "megatron"]], [43, 59])
        self.assertEqual(traces["straight"]["deepspeed"]["gave_up"], 18)
        self.assertEqual(set(traces["drift"]), {*traces["rare"], "log_max", "histogram"})
        for run in traces["drift"].values():
            self.assertEqual(run["steps_taken"] + run["skips"], 20000)

    def test_without_a_scale_a_loss_too_small_teaches_nothing(self):
        data = self.data_of("scaler_race", "--quick")
        runs = {(run["policy"], run["growth_interval"]): run for run in data["trainings"]}
        self.assertEqual(set(runs), {("torch", None), ("megatron", None), ("none", None),
                                     ("torch", 5), ("megatron", 5)})
        self.assertGreater(data["binary32_accuracy"], 0.9)
        self.assertLess(runs["none", None]["test_accuracy"], 0.3)
        self.assertEqual([runs[policy, None]["last_log2"] for policy in ["torch", "megatron", "none"]], [16, 32, 0])
        self.assertEqual(runs["torch", 5]["last_log2"], 16 + (110 - 1) // 5)
        self.assertGreater(runs["megatron", 5]["skipped"], 0)

    def test_clipping_before_unscaling_divides_the_threshold_and_is_named(self):
        data = self.data_of("clip_order")
        self.assertEqual([row["scale_log2"] for row in data["thresholds"]], [0, 4, 8, 12, 16])
        for row in data["thresholds"]:
            self.assertAlmostEqual(row["wrong"] * 2.0 ** row["scale_log2"], 0.25, places=5)
            self.assertAlmostEqual(row["right"], 0.25, places=5)
            self.assertTrue(row["equals_no_scaler"])
        self.assertGreater(data["thresholds"][-1]["loss_wrong"], 1e6 * data["thresholds"][-1]["loss_right"])
        named = {row["order"]: row["order_checker"] for row in data["mistakes"]}
        self.assertEqual(named["clip before unscale"], "clip_before_unscale")
        self.assertEqual(named["right order"], "")
        self.assertEqual(data["silent_mistakes"], 5)

    def test_an_unknown_experiment_or_folder_is_an_error(self):
        self.assertIn("underflow_band", self.complaint("experiment", "run", "nothing"))
        self.complaint("experiment", "run")
        self.complaint("experiment")
        result = self.run_binade("experiment", "run", "underflow_band", "--data", "absent")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr.decode(), r"\Abinade: experiment underflow_band: absent/[^\n]+\n\Z")


if __name__ == "__main__":
    main()
