# SPDX-License-Identifier: Apache-2.0
#
# binade report on runs that were counted while they ran, against the report on files of the same tensors; and what every
# other command says of such a file. Run as run_cli_test.py PATH_TO_BINADE.

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "report"))
from cli_case import CliCase, main, read_json
from made_files import f32, safetensors, through
from made_run_file import Tensor, run_file

STEPS = (0, 50, 100)
LAYERS = ("fc1", "head")
FIRST = {"text": "step 51: Inf in act of fc1", "step": 51, "layer": "fc1", "role": "act", "phase": "forward",
         "found": {"nan": 0, "inf": 1}, "skipped": False,
         "inputs": [{"name": "x", "dtype": "F32", "values": 4, "nan": 0, "inf": 0, "smallest": None, "largest": 2.5}]}


class Runs(CliCase):
    def setUp(self):
        super().setUp()
        draw = random.Random(3)
        self.values = {}
        for step in STEPS:
            for layer in LAYERS:
                for role, low in (("act", -4), ("dW", -26), ("weight", -3), ("update", -16)):
                    self.values[step, layer, role] = [
                        through("<f4", draw.choice((-1, 1)) * draw.uniform(1, 2) * 2.0**draw.randint(low - 6, low + 6)) for _ in range(40)]

    def run_of(self, windows=tuple((step, step, 1, 2.0**16) for step in STEPS), steps=STEPS, **options):
        tensors = [Tensor(step, layer, role, values, shape=(40,)) for (step, layer, role), values in self.values.items()
                   if step in steps]
        updates = [(step, layer, self.values[step, layer, "weight"], self.values[step, layer, "update"])
                   for step in steps for layer in LAYERS]
        return run_file(windows, tensors, updates, **options)

    def json_of(self, *inputs):
        return read_json(self.good("report", *inputs, "--json", "-"))

    def test_a_run_has_the_report_of_the_tensors_that_were_counted(self):
        self.write("run.binade", self.run_of(notes=["a note"], first_nonfinite=FIRST))
        self.write("run.safetensors", safetensors(
            *((f"step{step:06}/{layer}/{role}", "F32", [40], f32(*x)) for (step, layer, role), x in self.values.items()),
            metadata={"loss_scale": "65536"}))
        run, whole = self.json_of("run.binade"), self.json_of("run.safetensors")
        self.assertEqual(run.pop("watched"), {"every": 50, "notes": ["a note"], "first_nonfinite": FIRST,
                                              "windows": [{"first": step, "last": step, "steps": 1} for step in STEPS]})
        self.assertEqual(run["options"].pop("scales_log2"), [])
        whole["options"].pop("scales_log2")

        def without_errors(x):
            if isinstance(x, dict):
                return {key: {} if key in ("sqnr_db", "squared_error", "sqnr_estimated") else without_errors(value)
                        for key, value in x.items() if key not in ("file", "files")}
            return [without_errors(one) for one in x] if isinstance(x, list) else x

        tensors = [sorted(report.pop("tensors"), key=lambda t: t["name"]) for report in (run, whole)]
        self.assertEqual(*map(without_errors, tensors))
        self.assertEqual({t["formats"]["e4m3"]["sqnr_db"] == {} for t in tensors[0]}, {True})
        self.assertEqual(len(run["time"]["updates"]), 3)
        self.assertGreater(sum(run["time"]["updates"][0]["formats"]["bfloat16"]["lost"]), 0)
        for report in (run, whole):  # layers and roles in the files' order, of which safetensors has its own
            report["roles"].sort(key=lambda role: role["name"])
        for report, more in ((run, True), (whole, False)):
            self.assertIs("Steps that were not watched are not in it" in " ".join(report["verdict"].pop("text")), more)
        self.assertEqual(without_errors(run), without_errors(whole))

    def test_text_tells_how_it_was_watched(self):
        self.write("run.binade", self.run_of([(0, 50, 2, None), (100, 150, 2, None)], (0, 100), notes=["a note"],
                                             first_nonfinite=FIRST))
        text = self.good("report", "run.binade")
        self.assertIn("  watched: every 50th step from 0 to 150; each point merges 2 watched steps\n"
                      "  first value that is not finite: step 51: Inf in act of fc1\n  a note\n", text)
        sqnr = next(line for line in text.splitlines() if line.startswith("  SQNR"))
        self.assertEqual(sqnr.split()[3:], ["-"] * 5)

    def test_it_is_known_by_its_contents_beside_other_files_and_on_standard_input(self):
        self.write("any name", self.run_of())
        whole = self.json_of("any name")
        self.assertEqual(self.json_of("any*")["total"], whole["total"])
        piped = read_json(self.good("report", "-", "--json", "-", stdin=self.run_of()))
        self.assertEqual(piped["total"], whole["total"])
        self.assertEqual(piped["files"], ["stdin"])
        self.write("half1", self.run_of([(0, 0, 1, None), (50, 50, 1, None)], (0, 50), notes=["one"]))
        self.write("half2", self.run_of([(100, 100, 1, None)], (100,), notes=["two"]))
        halves = self.json_of("half1", "half2")
        self.assertEqual(halves["total"], whole["total"])
        self.assertEqual(halves["watched"]["notes"], ["one", "two"])
        self.assertEqual(len(halves["watched"]["windows"]), 3)
        self.write("x.safetensors", safetensors(("x", "F32", [1], f32(1))))
        line = self.complaint("report", "any name", "x.safetensors")
        self.assertIn("any name has no squared errors, and x.safetensors has some", line)

    def test_outputs_leave_sqnr_out(self):
        self.write("run.binade", self.run_of())
        self.good("report", "run.binade", "-o", "out.html", "--csv", "out.csv", "-q")
        head, row = self.read("out.csv").decode().splitlines()[:2]
        self.assertNotIn("sqnr", head)
        self.assertEqual(head.count(","), row.count(","))

    def test_two_runs_and_a_run_and_its_json_are_compared(self):
        self.write("a.binade", self.run_of())
        self.good("report", "a.binade", "--json", "a.json", "-q")
        self.assertIn("24 tensors in both, 0 of them differ", self.good("report", "--diff", "a.binade", "a.json"))
        self.values[50, "fc1", "dW"][0] = 2.0**-40
        self.write("b.binade", self.run_of())
        result = self.run_binade("report", "--diff", "a.binade", "b.binade")
        self.assertEqual(result.returncode, 1)
        self.assertIn("24 tensors in both, 1 of them differ\n  step000050/fc1/dW", result.stdout.decode())

    def test_what_a_run_cannot_give_is_refused_in_a_line(self):
        self.write("run.binade", self.run_of())
        self.assertIn("--sqnr-scale: no squared errors in run.binade; watch with sqnr=True",
                      self.complaint("report", "run.binade", "--sqnr-scale", "8"))
        self.assertIn("run.binade: a counted run has nothing left to count in parts; report on it without --part",
                      self.complaint("report", "run.binade", "--part", "1/2", "-o", "part.bin"))
        self.assertIn("run.binade: no part of a report", self.complaint("merge", "run.binade"))
        self.assertIn("summaries are counted already", self.complaint("report", "run.binade", "--emulated", "sm_90"))
        self.write("again.binade", self.run_of())
        self.assertIn("both hold step000000/fc1/act; they are of two runs",
                      self.complaint("report", "run.binade", "again.binade"))
        self.write("other.binade", run_file([(7, 7, 1, None)], [Tensor(7, "fc", "dW", [1.0])], every=20))
        self.assertIn("watched every 20 and every 50 steps; report one run at a time",
                      self.complaint("report", "other.binade", "run.binade"))

    def test_other_commands_name_the_one_that_reads_it(self):
        self.write("run.binade", self.run_of())
        for words in (("quantize", "run.binade", "out.npy", "--format", "e4m3"),
                      ("gemm", "--arch", "sm_90", "--instruction", "mma.m16n8k16.f32.f16.f16.f32", "run.binade", "run.binade",
                       "-o", "d.npy")):
            self.assertIn("run.binade: a run that was counted while it ran holds no elements; binade report tells of it",
                          self.complaint(*words))


if __name__ == "__main__":
    main()
