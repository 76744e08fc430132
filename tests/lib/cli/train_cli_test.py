# SPDX-License-Identifier: Apache-2.0
#
# `binade train` as a user meets it: the same bytes for any number of threads, figures in text and JSON, dumps that
# `binade report` reads along its time axis, errors of one line.
# Run as train_cli_test.py PATH_TO_BINADE; needs Python only.

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main
from interrupted import kill_training
from made_files import parts_of_safetensors


class Train(CliCase):
    def train(self, *words):
        self.good("train", *words, "--json", "out.json")
        return self.read_json("out.json")

    def test_any_number_of_threads_gives_the_same_bytes(self):
        for run, words in enumerate((
                ["workload=digits_mlp", "format=binary16"],
                ["workload=digits_mlp", "format=e4m3", "optimizer=adamw", "lr=0.001"],
                ["workload=digits_tanh8", "format=bfloat16", "level=O3", "update=stochastic"])):
            written = []
            for threads in (1, 2):
                dump = f"dump{run}.{threads}"
                self.good("train", *words, "steps=2", "batch=32", "--json", "out.json", "--dump", dump,
                          "--dump-every", "5", BINADE_THREADS=str(threads))
                files = sorted(os.listdir(self.path(dump)))
                self.assertEqual(files, ["step000000.safetensors", "step000001.safetensors"])
                written.append([self.read("out.json")] + [self.read(f"{dump}/{f}") for f in files])
            self.assertEqual(written[0], written[1], words)

    def test_json_has_settings_figures_and_every_step(self):
        out = self.train("workload=digits_mlp", "format=binary16", "steps=6", "init_scale=1e9", "seed=3")
        self.assertEqual(out["schema"], "binade.training/1")
        self.assertEqual(out["settings"], {"workload": "digits_mlp", "format": "binary16", "steps": 6,
                                           "init_scale": 1e9, "seed": 3})
        self.assertEqual(len(out["steps"]), 6)
        self.assertTrue(out["steps"][0]["skipped"])
        self.assertEqual(out["steps"][0]["scale"], 1e9)
        self.assertEqual(out["steps"][1]["scale"], 5e8)
        result = out["result"]
        self.assertEqual(result["skipped"], sum(step["skipped"] for step in out["steps"]))
        self.assertEqual(result["parameters"], 64 * 128 + 128 + 128 * 128 + 128 + 128 * 10 + 10)
        forward = 64 * 128 + 128 * 128 + 128 * 10
        self.assertEqual(result["multiply_adds"], {"fprop": (6 * 128 + result["test_rows"]) * forward,
                                                   "dgrad": 6 * 128 * (forward - 64 * 128),
                                                   "wgrad": 6 * 128 * forward})
        self.assertEqual(result["final_loss"], out["steps"][-1]["loss"])

    def test_a_killed_training_leaves_the_steps_that_were_done(self):
        settings = ("workload=digits_mlp", "format=binary16", "batch=8")
        kill_training(self.program, self.folder.name, *settings)
        left = self.read_json("killed.json")
        done = left["unfinished"]["done"]
        whole = self.train(*settings, f"steps={done}")
        self.assertEqual(left["schema"], "binade.training_unfinished/1")
        self.assertEqual(left["unfinished"], {"done": done, "of": 1000000})
        self.assertEqual(left["steps"], whole["steps"])
        self.assertEqual(left["effective"], whole["effective"] | {"steps": 1000000})
        self.assertNotIn("result", left)
        self.assertNotIn("unfinished", whole)

    def test_text_tells_the_figures(self):
        text = self.good("train", "workload=digits_mlp", "steps=3", "level=O0", "format=binary32")
        self.assertIn("parameters      26122\n", text)
        self.assertIn("steps           3, 0 skipped\n", text)
        self.assertIn("loss scale      1 in the first step, 1 in the last\n", text)

    def test_the_flow_tells_which_op_ran_in_which_dtype(self):
        self.good("train", "workload=digits_mlp", "steps=1", "--flow", "--json", "out.json")
        flow = json.dumps(self.read_json("out.json")["dtype_flow"])
        for word in ("fc1", "linear", "binary16", "binary32"):
            self.assertIn(word, flow)

    def test_a_dump_holds_the_training_and_report_reads_it_along_its_time(self):
        text = self.good("train", "workload=digits_mlp", "format=binary16", "level=O3", "steps=5", "momentum=0",
                         "accumulator=reference", "--dump", "dump", "--dump-every", "2")
        self.assertIn("binade report dump/*.safetensors -o run.html", text)
        files = [f"dump/step{i:06}.safetensors" for i in (0, 2, 4)]
        self.assertEqual(sorted(os.listdir(self.path("dump"))), [os.path.basename(f) for f in files])
        head, _ = parts_of_safetensors(self.read(files[1]))
        head.pop("__metadata__", None)
        self.assertEqual({n for n in head if n.startswith("step000002/fc1/")},
                         {f"step000002/fc1/{r}" for r in ("act", "dAct", "weight", "dW", "update")})
        self.assertEqual(head["step000002/fc1/weight"]["shape"], [128, 64])
        self.assertEqual(head["step000002/fc1/act"]["shape"], [128, 128])
        self.assertEqual({t["dtype"] for t in head.values()}, {"F32"})
        self.good("report", "-q", *files, "-o", "run.html", "--json", "run.json")
        report = self.read_json("run.json")
        self.assertEqual(report["time"]["steps"], [0, 2, 4])
        self.assertEqual(set(report["time"]["layers"]), {f"fc{i}{rest}" for i in (1, 2, 3) for rest in ("", ".bias")})
        self.assertEqual({s["role"] for s in report["time"]["series"]}, {"act", "dAct", "weight", "dW", "update"})

    def test_the_loss_scale_of_a_training_changes_neither_its_dumped_gradients_nor_the_advice(self):
        gradients, advice = [], []
        for scale in (1, 65536):
            folder = f"scaled{scale}"
            self.good("train", "workload=digits_mlp", "level=O0", "format=binary32", "steps=3", f"scaler=static:{scale}",
                      "--dump", folder)
            kept, files = {}, [f"{folder}/step{i:06}.safetensors" for i in range(3)]
            for head, data in (parts_of_safetensors(self.read(file)) for file in files):
                self.assertEqual(head.pop("__metadata__")["loss_scale"], str(scale))
                for name, (begin, end) in ((n, t["data_offsets"]) for n, t in head.items()):
                    if name.endswith(("/dAct", "/dW")):
                        kept[name] = data[begin:end]
            gradients.append(kept)
            text = self.good("report", *files)
            advice.append(text[text.index("\nLoss scale"):text.index("\nOver time")])
        self.assertEqual(len(gradients[0]), 3 * 9)
        self.assertTrue(all(any(raw) for raw in gradients[0].values()))
        self.assertEqual(gradients[0], gradients[1])
        self.assertEqual(advice[0], advice[1])

    def test_the_printed_command_is_fit_for_a_shell(self):
        os.makedirs(self.path("a b"))
        for folder in ("a b/it's", "plain"):
            text = self.good("train", "workload=digits_mlp", "steps=1", "--dump", folder)
            words = text.splitlines()[-1].removeprefix("binade report ")
            found = subprocess.run(["sh", "-c", "printf %s " + words], cwd=self.folder.name, capture_output=True,
                                   check=True)
            self.assertEqual(found.stdout.decode(), f"{folder}/step000000.safetensors-orun.html")

    def test_a_training_that_diverges_says_nan_and_is_a_result(self):
        text = self.good("train", "workload=digits_mlp", "level=O0", "format=binary32", "lr=1e6", "steps=30", "--json",
                         "out.json")
        self.assertIn("diverged ", text)
        self.assertIn("NaN", text)
        self.assertNotIn("nan", text)
        result = self.read_json("out.json")["result"]
        self.assertEqual((result["not_finite"], result["test_loss"], result["steps_done"]), (True, None, 30))

    def test_help_names_every_scaler_workload_and_default(self):
        text = self.good("train", "--help")
        for words in ("torch, ", "deepspeed_class, ", "openseq2seq_backoff, ", "mxnet", "static:SCALE", "none", "log_max", "histogram", "[binary16]", "[native]", "[sm_90]",
                      "[440]", "[0.9]", "[adamw, 0.003, 16]", "instructions between two promotions",
                      "exit status 0"):
            self.assertIn(words, " ".join(text.split()))
        self.assertLessEqual(max(map(len, text[text.index("Settings,"):].splitlines())), 110)

    def test_plain_spellings_of_numbers_are_taken(self):
        out = self.train("workload=digits_mlp", "seed=007", "lr=.1", "steps=1e0", "arch=90")
        self.assertEqual(out["settings"], {"workload": "digits_mlp", "seed": 7, "lr": 0.1, "steps": 1, "arch": "90"})

    def test_complaints_are_of_one_line(self):
        self.assertEqual(self.complaint("train", "=5"),
                         "binade: setting '=5' is not key=value; settings are such as workload=digits_mlp\n")
        self.assertIn("setting 'lr=' has no value", self.complaint("train", "workload=digits_mlp", "lr="))
        self.assertIn("setting '' is not key=value", self.complaint("train", ""))
        self.assertIn("lr is there twice", self.complaint("train", "workload=digits_mlp", "lr=1", "lr=1"))
        self.assertIn("init_scale has no effect with scaler none",
                      self.complaint("train", "workload=digits_mlp", "scaler=none", "init_scale=4"))
        self.assertIn("--dump-every has no effect", self.complaint("train", "workload=digits_mlp", "--dump-every", "3"))
        self.assertEqual(self.complaint("train", "workload=digits_mlp", "--dump", "d", "--dump-every", "0"),
                         "binade: --dump-every 0: give a number of steps from 1\n")
        self.assertIn("there are sm_70", self.complaint("train", "workload=digits_mlp", "arch=91"))
        self.assertIn("choose of torch, apex", self.complaint("train", "workload=digits_mlp", "scaler=nobody"))
        self.assertIn("no workload", self.complaint("train", "steps=1"))
        self.assertIn("unknown key", self.complaint("train", "workload=digits_mlp", "stepz=1"))
        self.assertIn("not key=value", self.complaint("train", "digits_mlp"))
        self.assertIn("choose of", self.complaint("train", "workload=mnist"))
        self.assertIn("whole number", self.complaint("train", "workload=digits_mlp", "steps=1.5"))
        self.assertIn("level O0", self.complaint("train", "workload=digits_mlp", "level=O0", "format=binary16"))
        self.assertIn("loss_shift", self.complaint("train", "workload=digits_mlp", "level=O3", "loss_shift=2"))
        self.assertIn("batch", self.complaint("train", "workload=digits_mlp", "batch=5000"))
        self.good("train", "workload=digits_mlp", "steps=1", "--dump", "twice")
        before = self.read("twice/step000000.safetensors")
        self.assertIn("twice/step000000.safetensors: an earlier dump", self.complaint(
            "train", "workload=digits_mlp", "steps=2", "seed=1", "--dump", "twice"))
        self.assertEqual((os.listdir(self.path("twice")), self.read("twice/step000000.safetensors")),
                         (["step000000.safetensors"], before))
        self.assertIn("cannot", self.complaint("train", "workload=digits_mlp", "steps=1", "--dump", "/dev/null/x"))


if __name__ == "__main__":
    main()
