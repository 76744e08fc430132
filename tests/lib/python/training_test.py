# SPDX-License-Identifier: Apache-2.0
"""Trainings, sweeps, experiments, advice, autocast and loss scalers in Python, held to the program's bytes and to
definitions written here.

    python training_test.py BINADE
"""

import copy
import importlib.util
import json
import math
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import binade
import numpy as np
from cli_case import CliCase, main

SETTINGS = {"workload": "digits_mlp", "format": "binary16", "steps": 12, "batch": 16, "loss_shift": 14}
SPEC = {"name": "rates", "base": {"workload": "digits_mlp", "steps": 3, "batch": 8, "format": "binary16"},
        "grid": {"lr": [0.1, 0.2], "seed": [0, 1, 2]}}
LAYERS = [{"name": "head", "kind": "linear", "tokens": 4096, "in": 4096, "out": 50257},
          {"name": "stem", "kind": "conv2d", "batch": 32, "channels": 3, "height": 224, "width": 224, "filters": 64,
           "rows": 7, "columns": 7, "stride": 2, "padding": 3}]


def words(settings):
    return [f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in settings.items()]


class Page:
    """What every notebook table of ours is."""

    @staticmethod
    def check(case, document, *wanted):
        page = document._repr_html_()
        case.assertLess(len(page.encode()), 200_000)
        for word in ("http:", "https:", "<script"):
            case.assertNotIn(word, page)
        for word in wanted:
            case.assertIn(word, page)
        case.assertEqual(page.count("<tr>"), page.count("</tr>"))


class Train(CliCase):
    def by_program(self, settings, *options):
        text = self.good("train", *words(settings), "--json", self.path("t.json"), *options)
        return text, self.read("t.json").decode()

    def test_a_training_has_the_programs_bytes(self):
        for more in ({}, {"format": "e4m3", "loss_shift": 0, "steps": 3}, {"scaler": "log_max"},
                     {"scaler": "torch", "growth_interval": 2, "init_scale": 4096.0}, {"lr": 1000.0, "optimizer": "adamw"}):
            settings = {**SETTINGS, **more}
            if not settings["loss_shift"]:
                del settings["loss_shift"]
            with self.subTest(settings):
                text, json_text = self.by_program(settings)
                got = binade.train(settings)
                self.assertEqual((str(got), got.to_json()), (text, json_text))
        Page.check(self, got, "<svg", "digits_mlp")

    def test_settings_may_be_a_file(self):
        path = self.write("s.json", json.dumps(SETTINGS).encode())
        self.assertEqual(binade.train(path), binade.train(SETTINGS))

    def test_flow_and_dump_as_the_program_has_them(self):
        text, json_text = self.by_program(SETTINGS, "--flow")
        got = binade.train(SETTINGS, flow=True)
        self.assertEqual((str(got), got.to_json()), (text, json_text))
        self.good("train", *words(SETTINGS), "--dump", self.path("a"), "--dump-every", "6")
        binade.train(SETTINGS, dump=self.path("b"), dump_every=6)
        names = sorted(os.listdir(self.path("a")))
        self.assertEqual(names, sorted(os.listdir(self.path("b"))))
        self.assertGreater(len(names), 1)
        for name in names:
            self.assertEqual(self.read(f"a/{name}"), self.read(f"b/{name}"))

    def test_each_step_is_told(self):
        seen = []
        result = binade.train(SETTINGS, on_step=seen.append).to_dict()
        self.assertEqual([(one.step, one.of) for one in seen], [(i + 1, 12) for i in range(12)])
        keys = ("loss", "scale", "skipped", "updates_lost", "updates_not_shown")
        self.assertEqual([{key: getattr(one, key) for key in keys} for one in seen], result["steps"])
        scales = {"scaler": "torch", "init_scale": 2.0**40, "loss_shift": 0}
        seen.clear()
        binade.train({**SETTINGS, **scales}, on_step=seen.append)
        self.assertTrue(seen[0].skipped)
        self.assertEqual((seen[0].scale, seen[1].scale), (2.0**40, 2.0**39))

    def test_what_a_callback_raises_arrives_as_it_is(self):
        class Enough(Exception):
            pass

        thrown, seen = Enough("of it"), []

        def stop(step):
            seen.append(step.step)
            if step.step == 3:
                raise thrown

        with self.assertRaises(Enough) as caught:
            binade.train(SETTINGS, on_step=stop)
        self.assertIs(caught.exception, thrown)
        self.assertEqual(seen, [1, 2, 3])

    def test_errors_are_the_programs_lines(self):
        for settings in ({"workload": "digits"}, {**SETTINGS, "lrr": 1}, {**SETTINGS, "scaler": "torhc"},
                         {**SETTINGS, "batch": 10**9}):
            with self.subTest(settings), self.assertRaises(ValueError) as caught:
                binade.train(settings)
            self.assertEqual(f"binade: {caught.exception}\n", self.complaint("train", *words(settings)))
        with self.assertRaisesRegex(ValueError, r"\Adump_every has no effect without dump: "):
            binade.train(SETTINGS, dump_every=2)
        with self.assertRaises(TypeError):
            binade.train([1])
        with self.assertRaises(TypeError):
            binade.train({**SETTINGS, "lr": {1: 2}})
        with self.assertRaises(OSError):
            binade.train(self.path("none.json"))

    def test_the_data_folder_is_the_callers(self):
        data = os.path.join(os.path.dirname(__file__), "../../../experiments/data")
        self.assertEqual(binade.train(SETTINGS, data=data), binade.train(SETTINGS))
        spec = {"name": "s", "base": SETTINGS, "grid": {"seed": [1, 2]}}
        self.assertEqual(binade.sweep(spec, self.path("given.jsonl"), data=data), binade.sweep(spec, self.path("own.jsonl")))
        with self.assertRaises((OSError, ValueError)) as caught:
            binade.train(SETTINGS, data=self.folder.name)
        self.assertIn(self.folder.name, str(caught.exception))

    def test_two_threads_at_once(self):
        results, settings = {}, [SETTINGS, {**SETTINGS, "seed": 5, "format": "bfloat16", "loss_shift": 0}]
        settings[1].pop("loss_shift")

        def run(i):
            results[i] = binade.train(settings[i])

        threads = [threading.Thread(target=run, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([results[i] for i in range(2)], [binade.train(one) for one in settings])


class Interrupted(CliCase):
    def interrupt(self, code, after):
        """Seconds from SIGINT, sent `after` seconds after the line "begin", to the line "interrupted"."""
        script = textwrap.dedent("""
            import sys, time, binade
            print("begin", flush=True)
            try:
                {}
            except KeyboardInterrupt:
                print("interrupted", time.monotonic(), flush=True)
        """).format(code)
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "begin\n")
            time.sleep(after)
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
            line = process.stdout.readline()
            process.wait(timeout=60)
        self.assertTrue(line.startswith("interrupted "), line)
        return float(line.split()[1]) - sent

    def least(self, code):
        return min(self.interrupt(code, after) for after in (0.5, 0.7, 0.9))

    def test_ctrl_c_ends_a_training(self):
        settings = {**SETTINGS, "steps": 1_000_000}
        self.assertLess(self.least(f"binade.train({settings!r})"), 0.1)

    def test_ctrl_c_ends_an_experiment(self):
        self.assertLess(self.least("binade.experiment('scale_sweep')"), 0.1)

    def test_ctrl_c_ends_a_sweep_whose_runs_stay(self):
        spec = {**SPEC, "base": {**SPEC["base"], "steps": 10}, "grid": {"seed": list(range(500))}}
        path = self.path("s.jsonl")
        self.assertLess(self.interrupt(f"binade.sweep({spec!r}, {path!r})", 2), 0.5)
        lines = self.read("s.jsonl").splitlines()
        self.assertGreater(len(lines), 2)
        for i, line in enumerate(lines[1:]):
            self.assertEqual(json.loads(line)["run"], i)


class Sweep(CliCase):
    def test_a_sweep_has_the_programs_bytes(self):
        spec = self.write("spec.json", json.dumps(SPEC).encode())
        text = self.good("sweep", spec, "-o", self.path("a.jsonl"), "--json", self.path("a.json"))
        for given in (SPEC, spec):
            path = self.path(f"b{type(given).__name__}.jsonl")
            got = binade.sweep(given, path)
            self.assertEqual((str(got), got.to_json()), (text, self.read("a.json").decode()))
            self.assertEqual(self.read(os.path.basename(path)), self.read("a.jsonl"))
        Page.check(self, got, "<caption>rates</caption>")
        text = self.good("sweep", spec, "-o", self.path("c.jsonl"), "--result", "final_loss,test_rows")
        self.assertEqual(str(binade.sweep(spec, self.path("a.jsonl"), result=["final_loss", "test_rows"])), text)

    def test_runs_are_told_and_what_is_there_is_not_run_again(self):
        told, shares, path = [], [], self.path("a.jsonl")

        def stop(run, of, settings, result):
            told.append((run, of, settings, result))
            if run == 2:
                raise LookupError("two are enough")

        with self.assertRaisesRegex(LookupError, "two are enough"):
            binade.sweep(SPEC, path, on_run=stop)
        lines = [json.loads(line) for line in self.read("a.jsonl").splitlines()]
        self.assertEqual([line["run"] for line in lines[1:]], [0, 1])
        self.assertEqual([(run, of) for run, of, *_ in told], [(1, 6), (2, 6)])
        self.assertEqual([one[2:] for one in told], [(line["settings"], line["result"]) for line in lines[1:]])
        told.clear()
        whole = binade.sweep(SPEC, path, on_run=lambda *run: told.append(run), progress=lambda *x: shares.append(x))
        self.assertEqual([run[0] for run in told], [3, 4, 5, 6])
        self.assertEqual((shares[0], shares[-1]), ((2 / 6, "run 3 of 6"), (1.0, "run 6 of 6")))
        self.assertEqual(whole, binade.sweep(SPEC, self.path("b.jsonl")))
        self.assertEqual(self.read("a.jsonl"), self.read("b.jsonl"))

    def test_errors(self):
        for spec, pattern in (({}, r"spec: "), ({**SPEC, "grid": {"lr": []}}, r"spec: .*lr"),
                              ({**SPEC, "grid": {"nonsense": [1]}}, r"sweep rates, run 1 of 1 .*unknown key nonsense")):
            with self.subTest(spec), self.assertRaisesRegex(ValueError, pattern):
                binade.sweep(spec, self.path("e.jsonl"))
        with self.assertRaisesRegex(ValueError, "result nope: no run has it"):
            binade.sweep(SPEC, self.path("e.jsonl"), result="nope")
        with self.assertRaises((OSError, ValueError)):
            binade.sweep(SPEC, self.folder.name)
        self.write("other.jsonl", b"something else\n")
        with self.assertRaises((OSError, ValueError)) as caught:
            binade.sweep(SPEC, self.path("other.jsonl"))
        self.assertIn("not the results of a sweep", str(caught.exception))


class Experiments(CliCase):
    def test_all_are_listed(self):
        listed = self.good("experiment", "list")
        plain = " ".join(listed.split())
        rows = binade.experiments()
        self.assertEqual([row.name for row in rows], [line for line in listed.splitlines() if line[0] != " "])
        for row in rows:
            self.assertIn(f"{row.name} asks {' '.join(row.question.split())} expected "
                          f"{' '.join(row.hypothesis.split())}", plain)

    def test_an_experiment_has_the_programs_bytes(self):
        for name in ("boundary_atlas", "underflow_band", "gradcheck_formats"):
            with self.subTest(name):
                result = self.run_binade("experiment", "run", name, "--quick", "--json", self.path("e.json"))
                self.assertIn(result.returncode, (0, 1))
                shares = []
                got = binade.experiment(name, quick=True, progress=lambda *x: shares.append(x))
                self.assertEqual((str(got), got.to_json()), (result.stdout.decode(), self.read("e.json").decode()))
                Page.check(self, got, "What was expected, figure by figure", name)
        self.assertTrue(all(0 <= share <= 1 for share, _ in shares))

    def test_errors_and_exceptions(self):
        with self.assertRaisesRegex(ValueError, "experiment nope: there is none; choose of boundary_atlas, "):
            binade.experiment("nope")
        thrown = ZeroDivisionError("mine")

        def stop(*_):
            raise thrown

        for name in ("gradcheck_formats", "scale_sweep"):
            with self.subTest(name), self.assertRaises(ZeroDivisionError) as caught:
                binade.experiment(name, quick=True, progress=stop)
            self.assertIs(caught.exception, thrown)
        with self.assertRaisesRegex(ValueError, "dump: boundary_atlas has no tensors to dump"):
            binade.experiment("boundary_atlas", dump=self.path("d"))


class Autocast(CliCase):
    def test_answers_have_the_programs_bytes(self):
        for arguments, keywords in (
                ((), {}), (("--device", "mps"), {"device": "mps"}), (("--list", "apex"), {"list": "apex"}),
                (("linear", "softmax", "norm", "binary_cross_entropy", "cat"), {}),
                (("cat", "--device", "cpu", "--inputs", "bfloat16,binary32"),
                 {"device": "cpu", "inputs": ["bfloat16", binade.Format("binary32")]}),
                (("linear", "--dtype", "e4m3"), {"dtype": "e4m3"}), (("torch.nn.functional.linear",), {}),
                (("var", "--list", "apex"), {"list": "apex"})):
            with self.subTest(arguments):
                ops = [word for i, word in enumerate(arguments)
                       if not word.startswith("--") and (i == 0 or not arguments[i - 1].startswith("--"))]
                got = binade.autocast(ops or None, **keywords)
                self.assertEqual(str(got), self.good("autocast", *arguments))
                self.assertEqual(got.to_json(), self.good("autocast", *arguments, "--json"))
                Page.check(self, got, "<table>")

    def test_dtypes_are_those_of_the_answer(self):
        for device in ("cuda", "cpu"):
            inputs = "binary32,bfloat16"
            whole = json.loads(self.good("autocast", "--device", device, "--inputs", inputs, "--json"))
            self.assertGreater(len(whole["ops"]), 50)
            for op in whole["ops"]:
                (case,) = op["cases"]
                if case["refused"]:
                    with self.assertRaises(ValueError) as caught:
                        binade.autocast_dtype(op["op"], inputs, device)
                    self.assertNotIn("\n", str(caught.exception))
                else:
                    self.assertEqual(binade.autocast_dtype(op["op"], inputs.split(","), device), case["cast_to"], op)
        self.assertEqual(binade.autocast_dtype("linear", ["binary32"], dtype="bfloat16"), "bfloat16")
        self.assertEqual(binade.autocast_dtype("exp", ["binary16"], list="apex"), "binary32")

    def test_errors(self):
        for arguments, pattern in ((("linear", ["binary32"], "tpu"), "device tpu: unknown.*there are cuda, cpu"),
                                   (("linear", []), "inputs: none"), (("linear", ["nope"]), "nope"),
                                   (("linear", ["binary32"], "cpu", None, "apex"), "device has no effect with list apex"),
                                   (("binary_cross_entropy", ["binary16"]), "binary_cross_entropy")):
            with self.subTest(arguments), self.assertRaisesRegex(ValueError, pattern):
                binade.autocast_dtype(*arguments)


class Advise(CliCase):
    def test_advice_has_the_programs_bytes(self):
        layers = self.write("layers.json", json.dumps({"layers": LAYERS}).encode())
        for arguments, given, keywords in (
                (("--params", "7e9"), (), {"params": 7e9}),
                (("--params", "7000000000", "--optimizer", "sgd", "--fp32-moments"), (),
                 {"params": 7 * 10**9, "optimizer": "sgd", "fp32_moments": True}),
                (("--params", "1e8", "--memory", "80GB", "--activations-per-sample", "1e6", "--batch", "32"), (),
                 {"params": 1e8, "memory": "80GB", "activations_per_sample": 10**6, "batch": 32}),
                ((layers, "--arch", "sm_80", "--format", "bfloat16"), (LAYERS,), {"arch": "sm_80", "format": "bfloat16"}),
                ((layers,), (layers,), {}),
                (("--linear", "4096x4096x50257", "--conv", "32x64x56x56:128x3x3:pad=1"), (),
                 {"linear": "4096x4096x50257", "conv": ["32x64x56x56:128x3x3:pad=1"]})):
            with self.subTest(arguments):
                got = binade.advise(*given, **keywords)
                self.assertEqual(str(got), self.good("advise", *arguments))
                self.assertEqual(got.to_json(), self.good("advise", *arguments, "--json"))
                Page.check(self, got, "bytes per parameter")

    def test_errors(self):
        for call, pattern in ((lambda: binade.advise(params=0.5), r"\Aparams 0.5: not a whole number"),
                              (lambda: binade.advise(optimizer="adamv"), r"\Aoptimizer adamv: unknown"),
                              (lambda: binade.advise([{"kind": "linear", "tokens": 1}]), 'layer 1 needs "in"'),
                              (lambda: binade.advise([]), "layers"),
                              (lambda: binade.advise([{"kind": "linear", "tokens": -1, "in": 1, "out": 1}]), "tokens"),
                              (lambda: binade.advise(linear="1x2"), r"\Alinear 1x2: not three sizes")):
            with self.assertRaisesRegex(ValueError, pattern):
                call()
        with self.assertRaises(OSError):
            binade.advise(self.path("none.json"))


class LossScalers(unittest.TestCase):
    def test_all_are_listed_with_what_they_take(self):
        rows = {row.name: row for row in binade.loss_scalers()}
        for name in ("torch", "apex", "deepspeed", "megatron", "fairseq", "paddle", "mxnet", "static", "none", "log_max",
                     "histogram", "adaptive"):
            self.assertIn(name, rows)
        self.assertEqual(rows["torch"].parameters["growth_interval"], 2000)
        self.assertIsNone(rows["torch"].parameters["min_scale"])
        self.assertIs(rows["deepspeed"].parameters["raise_at_min_scale"], True)
        self.assertEqual(rows["static"].parameters, {"init_scale": 1.0})
        for name, row in rows.items():
            plain = binade.LossScaler(name)
            given = {key: value for key, value in row.parameters.items() if value is not None}
            self.assertTrue(row.source, name)
            self.assertEqual(row.looks_at_gradients, name in ("log_max", "histogram", "adaptive"))
            told = binade.LossScaler(name, **given)  # its own defaults change nothing
            steps = [np.array([x], np.float32) for x in (1, np.inf, 2, 3, np.inf, np.inf, 1)]
            self.assertEqual([(told.update(x), told.scale) for x in steps], [(plain.update(x), plain.scale) for x in steps])

    def test_torchs_rule(self):
        rng = np.random.default_rng(1)
        scaler = binade.LossScaler("torch", init_scale=2.0**10, growth_interval=3)
        scale, good = 2.0**10, 0
        for found in rng.random(200) < 0.2:
            self.assertEqual(scaler.scale, scale)
            self.assertIs(scaler.update(found), not found)
            if found:
                scale, good = scale * 0.5, 0
            else:
                good += 1
                if good == 3:
                    scale, good = scale * 2, 0
        self.assertEqual(scaler.state_dict()["step"], 200)

    def test_gradients_stand_for_the_truth_value(self):
        a, b = binade.LossScaler("apex"), binade.LossScaler("apex")
        wide = np.zeros((4, 6), np.float32)
        wide[1, 2] = np.nan
        for seen, found in (([np.ones(3, np.float32), None], False), ([np.ones(2, np.float16), wide], True),
                            (wide[:, ::2], True), (wide[::2], False), (wide.T, True)):
            self.assertEqual(a.update(seen), b.update(found))
            self.assertEqual(a, b)

    def test_log_max_by_hand(self):
        f, scaler = np.float32, binade.LossScaler("log_max")
        mean = slow = square = f(0)
        power1 = power2 = f(1)
        scale = f(1)
        for amax in (0.5, 0.25, 3.0, 0.01, 0.125):
            self.assertEqual(scaler.scale, scale)
            gradient = np.array([[-amax, amax / 3]], f) * scale
            self.assertTrue(scaler.update([gradient]))
            x = f(np.log(np.abs(gradient).max() * f(1 / np.float64(scale)))) / np.log(f(2))
            mean, power1 = f(0.99) * mean + f(1 - 0.99) * x, power1 * f(0.99)
            slow, power2 = f(0.999) * slow + f(1 - 0.999) * x, power2 * f(0.999)
            square = f(0.999) * square + f(1 - 0.999) * (x * x)
            sigma = np.sqrt(max(square / (1 - power2) - (slow / (1 - power2)) ** 2, f(0)))
            scale = np.clip(np.exp2(f(16) - (sigma * f(3.09) + mean / (1 - power1))), f(1), f(2**24))
            self.assertAlmostEqual(float(scaler.scale / scale), 1, places=4)
            scale = f(scaler.scale)
        self.assertFalse(scaler.update(np.array([np.inf], f)))

    def test_histogram_by_hand(self):
        scaler = binade.LossScaler("histogram", init_scale=8, upper_share=0.25, period=2)
        low, high = np.float32(4094), np.float32(4095)  # 65504 / 16 = 4094
        for arrays, scale in (([np.full(3, low)], 8), ([np.full(1, high)], 16), ([np.full(2, low)], 16),
                              ([np.full(2, high, np.float32)], 8)):
            self.assertTrue(scaler.update(arrays))
            self.assertEqual(scaler.scale, scale)

    def test_adaptive_has_scales_of_layers(self):
        rng = np.random.default_rng(3)
        scaler = binade.LossScaler("adaptive")
        gradient, weights = rng.normal(0, 1e-6, (8, 16)).astype(np.float32), rng.normal(0, 0.1, (16, 32)).astype(np.float32)
        scale = scaler.layer_scale("fc2", gradient, weights, 16)
        self.assertEqual(scale, 2 ** round(math.log2(scale)))
        self.assertGreater(scale, 1)
        self.assertEqual(scaler.layer_scales, [("fc2", scale, scale)])
        self.assertEqual(scaler.layer_scale("fc1", gradient, weights.astype(np.float32)[:, ::2], 16, product=scale),
                         scaler.layer_scales[1][1])
        self.assertTrue(scaler.update([gradient]))
        self.assertFalse(scaler.update([gradient * np.float32(np.inf)]))
        again = pickle.loads(pickle.dumps(scaler))
        self.assertEqual(again.layer_scales, scaler.layer_scales)
        with self.assertRaisesRegex(ValueError, "torch: has one scale"):
            binade.LossScaler("torch").layer_scale("a", gradient, weights, 16)

    def test_a_copy_goes_on_as_the_original_does(self):
        rng = np.random.default_rng(2)
        for row in binade.loss_scalers():
            given = {key: 3 for key in ("growth_interval", "period") if key in row.parameters}
            with self.subTest(row.name):
                scaler = binade.LossScaler(row.name, **given)
                steps = [rng.normal(0, 10, 4).astype(np.float32) * (np.inf if i % 7 == 4 else 1) for i in range(20)]
                for step in steps[:10]:
                    scaler.update(step)
                loaded = binade.LossScaler(row.name, **given)
                loaded.load_state_dict(json.loads(json.dumps(scaler.state_dict())))
                copies = [pickle.loads(pickle.dumps(scaler)), copy.deepcopy(scaler), loaded]
                self.assertEqual(copies, [scaler] * 3)
                self.assertEqual(copies[0].parameters, given)
                for step in steps[10:]:
                    wanted = scaler.update(step), scaler.scale
                    self.assertEqual([(one.update(step), one.scale) for one in copies], [wanted] * 3)

    def test_repr_and_equality(self):
        scaler = binade.LossScaler("torch", init_scale=8.0)
        self.assertEqual(repr(scaler), "LossScaler('torch', init_scale=8.0), scale 8.0")
        self.assertNotEqual(scaler, binade.LossScaler("torch", init_scale=4.0))
        self.assertEqual(binade.LossScaler("static:1024").scale, 1024)
        scaler.parameters["init_scale"] = 1  # a copy
        self.assertEqual(scaler.parameters, {"init_scale": 8.0})

    def test_errors(self):
        make = binade.LossScaler
        for call, error, pattern in (
                (lambda: make("torhc"), ValueError, "loss scaler torhc: there is none; did you mean torch"),
                (lambda: make("torch", grow=1), ValueError, "loss scaler torch has no parameter grow.*growth_factor"),
                (lambda: make("static:4", init_scale=2), ValueError, "static:4 has no parameter init_scale; it has none"),
                (lambda: make("torch", init_scale=0), ValueError, "init_scale 0: give a number from"),
                (lambda: make("histogram", edge=2), ValueError, "edge 2: give a number from"),
                (lambda: make("torch", growth_interval=1.5), ValueError, "growth_interval: a whole number"),
                (lambda: make("torch", init_scale="8"), TypeError, "init_scale: a number"),
                (lambda: make("deepspeed", raise_at_min_scale=1), TypeError, "raise_at_min_scale: True or False"),
                (lambda: make("histogram").update(True), TypeError, "histogram looks at gradients"),
                (lambda: make("torch").update([np.zeros(2)]), ValueError, "gradients: an array of F64, which binary32"),
                (lambda: make("torch").update([np.zeros(2, np.int32)]), TypeError, "gradients: an array of int32"),
                (lambda: make("torch").load_state_dict({}), ValueError, "not of the policy torch"),
                (lambda: make("log_max").load_state_dict({"policy": "log_max"}), ValueError, "scale is missing"),
                (lambda: [make("deepspeed", init_scale=1.0, min_scale=1.0, hysteresis=1).update(True)], ValueError,
                 "deepspeed gives up at its minimum 1")):
            with self.subTest(pattern), self.assertRaisesRegex(error, pattern):
                call()


class GradScalers(unittest.TestCase):
    def test_an_iteration_as_pytorch_has_it(self):
        scaler = binade.GradScaler(init_scale=8.0, growth_interval=2)
        steps = []
        for gradient, scale, steps_wanted in (([1, 2], 8, 1), ([1, np.inf], 8, 1), ([1, 1], 4, 2), ([1, 1], 4, 3),
                                              ([1, 1], 8, 4)):
            self.assertEqual(scaler.get_scale(), scale)
            self.assertEqual(scaler.scale(1.5), 1.5 * scale)
            array = np.array(gradient, np.float32)
            scaler.unscale_([array, None])
            np.testing.assert_array_equal(array, np.array(gradient, np.float32) * np.float32(1 / scale))
            self.assertIs(scaler.found_inf(), not np.isfinite(gradient).all())
            stepped = scaler.step(lambda: steps.append(1))
            self.assertEqual((stepped, len(steps)), (not scaler.found_inf(), steps_wanted))
            if not stepped:
                self.assertEqual(scaler.first_found_inf, (0, 1, math.inf))
            scaler.update()
        self.assertEqual(scaler.get_growth_tracker(), 1)

    def test_step_unscales_first_where_it_was_not_done(self):
        scaler, gradient, seen = binade.GradScaler(init_scale=4.0), np.array([8, 4], np.float32), []
        scaler.scale(1.0)
        self.assertTrue(scaler.step(lambda: seen.append(gradient.tolist()), [gradient]))
        self.assertEqual(seen, [[2.0, 1.0]])
        scaler.update()

    def test_gradients_that_share_memory_are_refused_whole(self):
        x, wide = np.arange(8, dtype=np.float32), np.arange(8, dtype=np.float32).reshape(2, 4)
        turned = wide.T
        for same in ([x, x], [x[:5], x[4:]], [x[2:4], x], [turned, turned]):
            scaler = binade.GradScaler(init_scale=4.0)
            scaler.scale(1.0)
            with self.assertRaisesRegex(ValueError, "^gradients: two of the arrays share memory; give each of them once$"):
                scaler.unscale_(same)
            self.assertEqual((x.tolist(), wide.ravel().tolist()), ([*range(8)], [*range(8)]))
        scaler.unscale_([x[:4], x[4:], turned])
        self.assertEqual((x.tolist(), wide.ravel().tolist()), ([i / 4 for i in range(8)],) * 2)

    def test_outputs_are_the_callers_arrays(self):
        scaler = binade.GradScaler(init_scale=4.0)
        outputs = np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::2]
        a, b = scaler.scale([outputs, 2.0])
        np.testing.assert_array_equal(a, outputs * 4)
        self.assertEqual((a.dtype, b), (np.float32, 8.0))

    def test_bfloat16_gradients(self):
        if importlib.util.find_spec("ml_dtypes") is None:
            self.skipTest("no ml_dtypes")
        import ml_dtypes

        scaler, gradient = binade.GradScaler(init_scale=4.0), np.array([8, 4.03125], ml_dtypes.bfloat16)
        scaler.scale(1.0)
        scaler.unscale_(gradient)
        self.assertEqual(gradient.astype(np.float32).tolist(), [2.0, 1.0078125])

    def test_several_optimizers_have_one_scale(self):
        scaler = binade.GradScaler(init_scale=4.0)
        scaler.scale(1.0)
        good, bad = np.ones(1, np.float32), np.full(1, np.nan, np.float32)
        self.assertTrue(scaler.step(None, [good], optimizer="g"))
        self.assertFalse(scaler.step(None, [bad], optimizer="d"))
        self.assertEqual([scaler.found_inf(optimizer=x) for x in "gdx"], [False, True, None])
        scaler.update()
        self.assertEqual(scaler.get_scale(), 2.0)

    def test_pytorchs_complaints(self):
        def scaled():
            scaler = binade.GradScaler()
            scaler.scale(1.0)
            return scaler

        one = np.ones(1, np.float32)

        def twice():
            scaler = scaled()
            scaler.unscale_(one)
            scaler.unscale_(one)

        def half_way():
            scaler = scaled()
            scaler.unscale_(one)
            pickle.dumps(scaler)

        frozen = np.ones(2, np.float32)
        frozen.flags.writeable = False
        for call, pattern in (
                (lambda: binade.GradScaler().unscale_(one), "Attempted unscale_ but _scale is None"),
                (twice, r"unscale_\(\) has already been called on this optimizer since the last update"),
                (lambda: scaled().unscale_(np.ones(2, np.float16)), "Attempting to unscale FP16 gradients."),
                (lambda: scaled().step(None), "No inf checks were recorded for this optimizer."),
                (lambda: scaled().update(), "No inf checks were recorded prior to update."),
                (lambda: binade.GradScaler(growth_factor=1.0), "The growth factor must be > 1.0."),
                (lambda: binade.GradScaler(backoff_factor=1.5), "The backoff factor must be < 1.0."),
                (half_way, "may only be pickled at the beginning of an iteration"),
                (lambda: scaled().unscale_(np.ones(4)), "an array of F64; give float32 or bfloat16"),
                (lambda: scaled().unscale_(frozen), "it is changed in place")):
            with self.subTest(pattern), self.assertRaisesRegex(ValueError, pattern):
                call()
        self.assertEqual(binade.GradScaler(enabled=False).scale(3.0), 3.0)

    def test_state(self):
        scaler = binade.GradScaler(init_scale=4.0, growth_interval=7)
        scaler.scale(1.0)
        scaler.step(None, np.ones(1, np.float32))
        scaler.update()
        state = scaler.state_dict()
        self.assertEqual(state, {"scale": 4.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 7,
                                 "_growth_tracker": 1})
        other = binade.GradScaler()
        other.load_state_dict(state)
        for one in (other, pickle.loads(pickle.dumps(scaler))):
            self.assertEqual(one.state_dict(), state)
        self.assertEqual(binade.GradScaler(enabled=False).state_dict(), {})
        self.assertEqual(pickle.loads(pickle.dumps(binade.GradScaler(enabled=False))).is_enabled(), False)
        megatron = binade.GradScaler(policy="megatron", init_scale=16.0)
        self.assertEqual(pickle.loads(pickle.dumps(megatron)).state_dict(), megatron.state_dict())
        with self.assertRaisesRegex(ValueError, "growth_factor is missing"):
            other.load_state_dict({"scale": 1.0})

    def test_torchs_own_class_agrees(self):
        if importlib.util.find_spec("torch") is None:
            self.skipTest("no torch")
        import torch

        with torch.no_grad():
            tensor = torch.tensor([8.0, 4.0])
            scaler = binade.GradScaler(init_scale=4.0)
            self.assertIsInstance(scaler.scale(tensor), torch.Tensor)
            scaler.unscale_([tensor])
            self.assertEqual(tensor.tolist(), [2.0, 1.0])
            with self.assertRaisesRegex(ValueError, "it is changed in place"):
                scaler.unscale_([torch.ones(4)[::2]], optimizer=2)


class Documentation(unittest.TestCase):
    def test_examples_run(self):
        import doctest

        names = ("LossScaler", "GradScaler", "loss_scalers", "autocast", "autocast_dtype", "advise", "train", "sweep",
                 "experiment", "experiments")
        parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
        for name in names:
            text = getattr(binade, name).__doc__
            self.assertIn(">>>", text, name)
            runner.run(parser.get_doctest(text, dict(vars(binade)), name, None, 0), out=sys.stderr.write)
        self.assertEqual(runner.summarize(verbose=False).failed, 0)


if __name__ == "__main__":
    main()
