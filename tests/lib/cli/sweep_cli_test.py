# SPDX-License-Identifier: Apache-2.0
"""Runs the program's sweep with a job made for this test: what it prints, writes, resumes and refuses.

    python sweep_cli_test.py MADE_EXPERIMENTS
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from cli_case import environment, read_json

PROGRAM = str(Path(sys.argv[1]).resolve())
SPEC = {"name": "series", "base": {"label": "a"}, "grid": {"power": [2, 1], "terms": [1, 4, 16]}}
TABLE = """series
  power  terms      sum  large  rest
  2          1        1  false     1
  2          4  1.42361  false     4
  2         16  1.58435  false     2
  1          1        1  false     1
  1          4  2.08333   true     4
  1         16  3.38073   true     2

"""


class SweepCommand(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.spec = self.write("spec.json", json.dumps(SPEC))

    def path(self, name):
        return Path(self.folder.name) / name

    def write(self, name, text):
        self.path(name).write_text(text)
        return str(self.path(name))

    def run_sweep(self, *arguments, spec=None):
        return subprocess.run([PROGRAM, "sweep", spec or self.spec, *map(str, arguments)], capture_output=True,
                              text=True, timeout=60, env=environment())

    def test_every_combination_is_a_line_and_a_row(self):
        result = self.run_sweep()
        self.assertEqual((result.returncode, result.stderr, result.stdout), (0, "", TABLE))
        lines = [read_json(line) for line in self.path("spec.jsonl").read_text().splitlines()]
        self.assertEqual(lines[0]["spec"], SPEC)
        self.assertEqual([line["run"] for line in lines[1:]], list(range(6)))
        self.assertEqual(lines[6]["settings"], {"label": "a", "power": 1, "terms": 16})
        self.assertEqual(lines[2]["result"], {"sum": 1 + 1 / 4 + 1 / 9 + 1 / 16, "large": False, "rest": 4,
                                               "half": (1 + 1 / 4 + 1 / 9 + 1 / 16) / 2})

    def test_an_interrupted_sweep_goes_on_to_the_same_bytes(self):
        self.run_sweep("-o", self.path("a.jsonl"))
        whole = self.path("a.jsonl").read_bytes()
        cut = whole[:whole.index(b'{"run":3') + 20]
        self.path("a.jsonl").write_bytes(cut)
        result = self.run_sweep("-o", self.path("a.jsonl"))
        self.assertEqual(result.stdout, TABLE)
        self.assertEqual(result.stderr, f"3 of 6 runs were in {self.path('a.jsonl')} already\n")
        self.assertEqual(self.path("a.jsonl").read_bytes(), whole)

    def test_chosen_results_are_shown_in_their_order(self):
        result = self.run_sweep("--result", "rest,sum", "--json", self.path("t.json"))
        self.assertTrue(result.stdout.startswith("series\n  power  terms  rest      sum\n"))
        table = read_json(self.path("t.json").read_text())
        self.assertEqual(table["columns"], ["power", "terms", "rest", "sum"])
        self.assertEqual(table["rows"][0], [2, 1, 1, 1.0])

    def test_the_page_plots_results_over_the_key_of_most_numbers_or_the_one_named(self):
        for words, axis, names in (([], "terms", ["power 2", "power 1"]),
                                   (["--x", "power"], "power", ["terms 1", "terms 4", "terms 16"])):
            self.run_sweep("--html", self.path("p.html"), *words)
            page = self.path("p.html").read_text()
            data = page[page.index('id="data">') + 10:]
            plots = read_json(data[:data.index("</script>")])["results"][0]["plots"]
            self.assertEqual([plot["title"] for plot in plots], ["sum", "rest"])
            self.assertEqual(plots[0]["x_label"], axis)
            self.assertEqual([series["name"] for series in plots[0]["series"]], names)

    def test_an_unknown_result_is_refused_before_the_first_run(self):
        result = self.run_sweep("--result", "summ")
        self.assertEqual(result.returncode, 2)
        self.assertFalse(self.path("spec.jsonl").exists())
        self.assertIn("  never\n  2          1      -\n", self.run_sweep("--result", "never").stdout)

    def test_a_name_reaches_the_terminal_escaped(self):
        spec = self.write("evil.json", json.dumps({**SPEC, "name": "a\x1b[2J"}))
        self.assertTrue(self.run_sweep(spec=spec).stdout.startswith("a\\x1b[2J\n"))

    def test_help_names_the_settings_and_the_results(self):
        text = self.run_sweep("--help", spec="").stdout
        self.assertIn("binade train --help", text)
        self.assertIn("Results shown: sum, large, rest; by --result also half, never.", " ".join(text.split()))

    def test_what_cannot_be_swept_is_refused_in_one_line(self):
        wrong = self.write("wrong.json", json.dumps({**SPEC, "base": {"lable": "a"}}))
        other = self.write("other.json", json.dumps({**SPEC, "name": "other"}))
        self.run_sweep("-o", self.path("a.jsonl"))
        for spec, words, message in ((wrong, [], "no setting lable; there are terms, power, label"),
                                     (other, ["-o", self.path("a.jsonl")], "not the results of this sweep"),
                                     (None, ["--x", "term"], "did you mean terms"),
                                     (None, ["--x", "label"], "no key of the grid"),
                                     (None, ["--result", "summ"], "did you mean sum"),
                                     (None, ["--result", "sum,rest,sum"], "sum: is there twice"),
                                     (None, ["-o", self.spec], "the same file as SPEC"),
                                     (None, ["-o", wrong], "not the results of a sweep; name another file"),
                                     (None, ["--html", self.path("no/p.html")], "p.html"),
                                     (self.spec + "x", [], "No such file")):
            with self.subTest(message=message):
                result = self.run_sweep(*words, spec=spec)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertEqual(result.stderr.strip().count("\n"), 0)
                self.assertIn(message, result.stderr)
        self.assertFalse(self.path("wrong.jsonl").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
