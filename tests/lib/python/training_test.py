# SPDX-License-Identifier: Apache-2.0
"""Trainings in Python, compared with the program's bytes, interrupted, and run by two threads at once.

    python training_test.py BINADE
"""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import binade
from cli_case import CliCase, main
from training_case import SETTINGS, SPEC, check_page, words


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
        check_page(self, got, "<svg", "digits_mlp")

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


class Documentation(unittest.TestCase):
    def test_examples_run(self):
        import doctest

        names = ("LossScaler", "loss_scalers", "autocast", "autocast_dtype", "advise", "train", "sweep",
                 "experiment", "experiments")
        parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
        for name in names:
            text = getattr(binade, name).__doc__
            self.assertIn(">>>", text, name)
            runner.run(parser.get_doctest(text, dict(vars(binade)), name, None, 0), out=sys.stderr.write)
        self.assertEqual(runner.summarize(verbose=False).failed, 0)


if __name__ == "__main__":
    main()
