# SPDX-License-Identifier: Apache-2.0
#
# Trainings on emulated Tensor Cores: a GPT, a ResNet, an LSTM and a GAN (tests/bench/tensor_cores_trainings.py) in processes of
# their own, one for each number of the emulator's threads; torch keeps to one thread, since its own sums may depend on theirs. With
# --whole every setting and more steps. SKIP without torch.   tensor_cores_training_test.py BINADE [--whole]
import importlib.util
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import unittest

WHOLE = "--whole" in sys.argv
STEPS = 25 if WHOLE else 2
PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "bench/tensor_cores_trainings.py"
# By the number of the emulator's threads, words of the program: the second are held to the first.
RUNS = {1: [], 3: []} if WHOLE else {1: ["--settings", "FP32 chains", "TF32 H100", "BF16 H100", "FP8 H100"],
                                     3: ["--settings", "FP32 chains", "FP8 H100", "--models", "GPT", "ResNet"]}
# Each goes farther from FP32 than the one before.
LADDER = ("FP32 chains", "TF32 H100", "FP8 H100", "E2M1 1x32")

if importlib.util.find_spec("torch") is None:
    print("SKIP: No module named 'torch'")
    sys.exit(77)


def setUpModule():
    words = [sys.executable, str(PROGRAM), "--json", "--steps", str(STEPS)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    runs = [subprocess.Popen([*words, *more], stdout=subprocess.PIPE, text=True,
                             env=environment | {"BINADE_THREADS": str(threads)})
            for threads, more in RUNS.items()]
    told = [run.communicate()[0] for run in runs]
    if any(run.returncode for run in runs):
        raise RuntimeError(f"{PROGRAM.name} failed")
    Trainings.found = [json.loads(text) for text in told]


class Trainings(unittest.TestCase):
    def each(self, *names):
        """Each model's run in FP32 and its runs, of the first process: all, or those of the names that were run."""
        models = self.found[0]
        self.assertEqual(list(models), ["GPT", "ResNet", "LSTM", "GAN"])
        for model, runs in models.items():
            chosen = {f"{model}, {name}": runs[name] for name in names or runs if name in runs}
            self.assertGreaterEqual(len(chosen), 3 if names else 7)
            yield runs["FP32"], chosen

    def test_every_loss_is_finite(self):
        for _, runs in self.each():
            for name, run in runs.items():
                self.assertEqual(len(run["losses"]), STEPS, name)
                self.assertTrue(all(map(math.isfinite, run["losses"] + [run["distance"]])), name)

    def test_every_product_is_emulated(self):
        for fp32, runs in self.each():
            for name, run in runs.items():
                self.assertEqual(run["uncovered"], [], name)
                self.assertEqual(run["digest"] == fp32["digest"], run is fp32, name)

    def test_no_bit_hangs_on_the_number_of_threads(self):
        one, several = self.found
        compared = {f"{model}, {name}": run == one[model][name] for model, runs in several.items() for name, run in runs.items()}
        self.assertGreaterEqual(len(compared), 10)
        self.assertEqual([name for name, same in compared.items() if not same], [])

    def test_what_is_less_precise_goes_farther(self):
        for _, runs in self.each(*LADDER):
            for (name, run), (coarser, farther) in itertools.pairwise(runs.items()):
                self.assertLess(run["distance"], farther["distance"], f"{name}, {coarser}")

    @unittest.skipUnless(WHOLE, "of many steps: --whole")
    def test_every_format_learns_what_fp32_learns(self):
        for fp32, runs in itertools.islice(self.each(), 3):  # a GAN's losses are a game's: they fall for neither
            begun, ended = fp32["losses"][0], min(fp32["losses"])
            for name, run in runs.items():
                self.assertLess(min(run["losses"]), begun - (begun - ended) / 2, name)

    @unittest.skipUnless(WHOLE, "of all architectures: --whole")
    def test_no_two_settings_end_in_the_same_bits(self):
        for _, runs in self.each():
            digests = {name: run["digest"] for name, run in runs.items() if "promoted" not in name}  # of long sums alone
            self.assertEqual(len(set(digests.values())), len(digests), digests)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
