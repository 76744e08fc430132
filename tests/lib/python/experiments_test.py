# SPDX-License-Identifier: Apache-2.0
"""Sweeps and experiments in Python, held to the program's bytes.

    python experiments_test.py BINADE
"""

import json
import os

import binade
from cli_case import CliCase, main
from training_case import SPEC, check_page


class Sweep(CliCase):
    def test_a_sweep_has_the_programs_bytes(self):
        spec = self.write("spec.json", json.dumps(SPEC).encode())
        text = self.good("sweep", spec, "-o", self.path("a.jsonl"), "--json", self.path("a.json"))
        for given in (SPEC, spec):
            path = self.path(f"b{type(given).__name__}.jsonl")
            got = binade.sweep(given, path)
            self.assertEqual((str(got), got.to_json()), (text, self.read("a.json").decode()))
            self.assertEqual(self.read(os.path.basename(path)), self.read("a.jsonl"))
        check_page(self, got, "<caption>rates</caption>")
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
                check_page(self, got, "What was expected, figure by figure", name)
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

    def test_an_experiment_that_dumps_nothing_leaves_no_folder(self):
        with self.assertRaises((OSError, ValueError)):
            binade.experiment("scale_sweep", quick=True, data=self.path("none"), dump=self.path("d"))
        self.assertEqual(self.files(), [])



if __name__ == "__main__":
    main()
