# SPDX-License-Identifier: Apache-2.0
"""Runs the program with experiments made for this test: what it prints, writes and returns.

    python experiment_cli_test.py MADE_EXPERIMENTS
"""

import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from cli_case import environment, read_json
from interrupted import kill_experiments

PROGRAM = str(Path(sys.argv[1]).resolve())
NAMES = ["right", "wrong", "skipped", "failed", "hostile", "odd"]


def run(*arguments):
    return subprocess.run([PROGRAM, "experiment", *arguments], capture_output=True, text=True, timeout=60,
                          env=environment())


class ExperimentCommand(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = lambda name: str(Path(self.folder.name) / name)

    def test_the_list_has_every_question(self):
        text = run("list").stdout
        for name in NAMES:
            self.assertIn(f"{name}\n  asks ", text)

    def test_statuses_become_exit_statuses(self):
        for names, status in ((["right"], 0), (["right", "wrong"], 1), (["wrong", "failed"], 2), (["failed"], 2),
                              (["skipped"], 77), (["right", "skipped"], 0), (["skipped", "wrong"], 1)):
            with self.subTest(names=names):
                self.assertEqual(run("run", *names).returncode, status)

    def test_one_failure_does_not_end_the_others(self):
        result = run("run", "--all")
        self.assertEqual(result.returncode, 2)
        self.assertIn("binade: experiment failed: data.csv: no such file; restore it\n", result.stderr)
        table = result.stdout[result.stdout.index("\n  experiment  measured"):]
        for line in ("right       as expected      values below 2^-25, 50 % of x^3, die.",
                     "wrong       NOT as expected  it does not.",
                     "skipped     skipped          Fashion-MNIST is not installed.",
                     "failed      failed           data.csv: no such file; restore it",
                     "odd         as expected      odd."):
            self.assertIn(f"\n  {line}\n", table)

    def test_tables_are_printed_after_the_text(self):
        self.assertEqual(run("run", "right").stdout, """right: Does 2^-25 die?

quick false

scales
  name     2^k  words
  first   12.5    one
  second   < 3    two

expected  It does.
measured  as expected: values below 2^-25, 50 % of x^3, die.
""")

    def test_quick_reaches_the_experiment(self):
        self.assertIn("quick true\n", run("run", "right", "--quick").stdout)

    def test_a_single_run_has_no_summary(self):
        self.assertNotIn("verdict", run("run", "right").stdout)

    def test_json_holds_every_run(self):
        run("run", "--all", "--json", self.path("a.json"))
        out = read_json(Path(self.path("a.json")).read_text())
        self.assertEqual(out["schema"], "binade.experiments/2")
        self.assertFalse(out["quick"])
        self.assertEqual([r["experiment"] for r in out["results"]], NAMES)
        self.assertEqual([r["status"] for r in out["results"]],
                         ["as_expected", "not_as_expected", "skipped", "failed", "as_expected", "as_expected"])
        right = out["results"][0]
        self.assertEqual(right["data"], {"answer": 42})
        self.assertEqual(right["text"], "quick false\n")
        self.assertEqual(right["tables"][0]["rows"], [["first", "12.5", "one"], ["second", "< 3", "two"]])
        line, steps, points = right["plots"][0]["series"]
        self.assertEqual([s["mark"] for s in (line, steps, points)], ["line", "steps", "points"])
        self.assertEqual(right["plots"][0]["x_axis"], "log2")
        self.assertEqual(line["x"], [2.0 ** k for k in range(-14, 7, 2)])
        self.assertEqual(line["y"].index(None), 7)
        self.assertNotIn("seconds", right)
        self.assertEqual(out["results"][3]["verdict"], "data.csv: no such file; restore it")

    def test_a_pipe_gets_the_whole_document_alone(self):
        self.assertEqual(run("run", "right", "odd", "--json", "/dev/stdout").stdout.count('"schema"'), 1)

    def test_a_killed_run_leaves_the_experiments_that_had_ended(self):
        run("run", "wrong", "odd", "right", "--json", self.path("whole.json"))
        kill_experiments(PROGRAM, self.folder.name, "wrong", "odd")
        left, whole = (read_json(Path(self.path(name)).read_text()) for name in ("killed.json", "whole.json"))
        page = Path(self.path("killed.html")).read_text()
        self.assertEqual(left["schema"], "binade.experiments_unfinished/1")
        self.assertEqual(whole["schema"], "binade.experiments/2")
        self.assertNotIn("remaining", whole)
        self.assertEqual((left["binade"], left["quick"]), (whole["binade"], whole["quick"]))
        self.assertIn(left["remaining"], (["right"], ["odd", "right"]))
        self.assertEqual(left["results"], whole["results"][:3 - len(left["remaining"])])
        self.assertRegex(page, r'"remaining":\[("odd",)?"right"\]')

    def test_who_reads_only_the_beginning_ends_the_program_after_its_files(self):
        def begin(*words, tries=50):
            reader, writer = os.pipe()
            with subprocess.Popen([PROGRAM, "experiment", "run", *words, "--json", self.path("cut.json"), "-o",
                                   self.path("cut.html")], stdout=writer, env=environment(),
                                  preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL)) as process:
                os.close(writer)
                os.read(reader, 1)  # of the heading
                os.close(reader)
            if process.returncode == 2 and tries:  # it wrote all before the pipe was closed
                return begin(*words, tries=tries - 1)
            self.assertEqual(process.returncode, -signal.SIGPIPE)
            self.assertIn("data.csv", Path(self.path("cut.html")).read_text())
            return Path(self.path("cut.json")).read_bytes()
        self.assertEqual(read_json(begin("failed", "right"))["remaining"], ["right"])
        run("run", "failed", "--json", self.path("whole.json"))
        self.assertEqual(begin("failed"), Path(self.path("whole.json")).read_bytes())

    def test_the_text_is_printed_although_the_files_fail(self):
        result = run("run", "right", "--json", "/dev/full")
        self.assertEqual((result.returncode, result.stdout), (2, run("run", "right").stdout))

    def test_two_runs_write_the_same_bytes(self):
        for i in "ab":
            run("run", "--all", "--json", self.path(i + ".json"), "-o", self.path(i + ".html"))
        for kind in (".json", ".html"):
            first, second = (Path(self.path(i + kind)).read_bytes() for i in "ab")
            self.assertGreater(len(first), 1000)
            self.assertEqual(first, second)
        self.assertEqual(run("run", "--all").stdout, run("run", "--all").stdout)

    def test_times_are_told_where_they_are_asked_for(self):
        result = run("run", "right", "wrong", "--times", "--json", self.path("a.json"))
        self.assertRegex(result.stdout, r"\n  right       as expected          0\.\d  values")
        self.assertLess(read_json(Path(self.path("a.json")).read_text())["results"][0]["seconds"], 60)
        self.assertEqual(run("run", "right").stderr, "")

    def test_dumps_lie_in_a_folder_for_each_experiment(self):
        result = run("run", "right", "odd", "--dump", self.path("dump/here"))
        self.assertEqual(result.returncode, 0)
        self.assertEqual(Path(self.path("dump/here/right/dumped")).read_text(), "yes")
        self.assertIn("odd: What of odd plots?\nodd has no tensors to dump\n", result.stdout)
        self.assertNotIn("right has no", result.stdout)
        self.assertFalse(Path(self.path("dump/here/odd")).exists())
        self.assertEqual(run("run", "odd", "--dump", self.path("none")).returncode, 0)
        self.assertFalse(Path(self.path("none")).exists())
        self.assertNotIn("to dump", run("run", "odd").stdout)

    def test_a_skipped_experiment_leaves_no_empty_folder(self):
        for names, left in ((["skipped"], []), (["skipped", "right"], ["right"]), (["wrong"], [])):
            with self.subTest(names=names):
                run("run", *names, "--dump", self.path("new/dump"))
                found = sorted(path.name for path in Path(self.path("new/dump")).glob("*"))
                self.assertEqual((found, Path(self.path("new")).exists()), (left, bool(left)))
                shutil.rmtree(self.path("new"), ignore_errors=True)
        Path(self.path("mine/skipped")).mkdir(parents=True)
        self.assertEqual(run("run", "skipped", "--dump", self.path("mine")).returncode, 77)
        self.assertTrue(Path(self.path("mine/skipped")).exists(), "the caller's own folder stays")

    def test_a_place_of_a_later_dump_is_tried_before_the_first_run(self):
        Path(self.path("file")).write_text("")
        Path(self.path("dump")).mkdir()
        Path(self.path("dump/wrong")).write_text("")
        for place in ("file", "dump"):
            result = run("run", "right", "wrong", "--dump", self.path(place), "--json", self.path("a.json"))
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn("give another folder to --dump", result.stderr)
            self.assertFalse(Path(self.path("a.json")).exists())
        self.assertEqual([path.name for path in Path(self.path("dump")).iterdir()], ["wrong"])

    def test_what_cannot_be_asked_is_refused_in_one_line(self):
        for words, message in ((["nothing"], "choose of right, wrong, skipped, failed, hostile, odd"),
                               (["right", "right"], "named twice"), (["--all", "right"], "do not go together"),
                               ([], "or --all"), (["right", "-o", self.path("no/where.html")], "where.html"),
                               (["right", "--json", self.path("no/where.json")], "where.json")):
            with self.subTest(words=words):
                result = run("run", *words)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertEqual(result.stderr.count("\n"), 1)
                self.assertIn(message, result.stderr)

    def test_a_terminal_is_left_clean(self):
        leader, follower = pty.openpty()
        subprocess.run([PROGRAM, "experiment", "run", "right"], stdout=subprocess.PIPE, stderr=follower, timeout=60,
                       env=environment())
        os.close(follower)
        self.assertRegex(os.read(leader, 4096).decode().replace("\r", ""), r"^took \d+\.\d s\n$")
        os.close(leader)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
