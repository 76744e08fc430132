# SPDX-License-Identifier: Apache-2.0
#
# The completions of a real shell against what --help and the tables of the program say.
# Run as completion_cli_test.py SHELL PATH_TO_BINADE MADE_COMPLETIONS; exits with 77 where the shell is absent.

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main
from shells import ask

ODD_WORDS = {"plain", "a:b", "c$HOME", "d'e", "[f]", "g*", "`touch canary`", "$(touch canary)", "h i", "j\\k", 'l"m'}


class Completion(CliCase):
    shell = made = ""
    helps = []

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="binade-test-")
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = scratch.name
        cls.script = cls.saved("binade.script", [cls.program, "completion", cls.shell])
        cls.made_script = cls.saved("made.script", [cls.made, cls.shell])

    @classmethod
    def saved(cls, name, command):
        path = os.path.join(cls.scratch, name)
        with open(path, "wb") as file:
            file.write(subprocess.run(command, capture_output=True, check=True).stdout)
        return path

    def ask(self, *lines, script=None):
        return ask(self.shell, script or self.script, lines, self.folder.name, self.scratch)

    def offered(self, *lines, script=None):
        """Line → the words that may stand in place of its last one, as the shell that was asked would show them in full."""
        found = {}
        for line, rows in self.ask(*lines, script=script).items():
            words = {word.removesuffix("=") if word.startswith("--") else word for word, _ in rows}
            if self.shell == "bash":  # which offers what stands behind the last of these
                words = {re.match(r"(?:.*[=:@])?", line.split(" ")[-1])[0] + word for word in words}
            if self.shell == "zsh" and not line.split(" ")[-1].startswith("-"):
                words = {word for word in words if not word.startswith("-")}  # offered where there is nothing else
            found[line] = words
        return found

    def exactly(self, table):
        """Each line of the table is offered the words of its value and no others."""
        answers = self.offered(*table)
        for line, words in table.items():
            with self.subTest(line):
                self.assertEqual(answers[line], set(words))

    def commands(self, *words):
        """Those of the class above, which are asked for once."""
        if not words and not self.helps:
            self.helps.extend(super().commands())
        return self.helps if not words else super().commands(*words)

    def options(self):
        """(words of a command, names of an option, the rest of its line) for every option of every --help."""
        for words, text in self.commands():
            for names, rest in re.findall(r"^  (-\S+)(.*)$", text, re.MULTILINE):
                yield words, re.sub(r"\{.*", "", names).split(","), rest

    def listed(self, *arguments):
        """What the program says there is, where it complains of an argument."""
        return re.search(r"there are (.*)", self.complaint(*arguments))[1].split(", ")

    def test_every_long_option_of_every_command_is_offered(self):
        table = {}
        for words, names, _ in self.options():
            line = " ".join(("binade", *words, "--"))
            table.setdefault(line, set()).update(name for name in names if name.startswith("--"))
        self.assertGreater(len(table), 25)
        self.assertGreater(sum(map(len, table.values())), 250)
        self.exactly(table)

    def test_every_command_is_offered(self):
        table = {}
        for words, _ in self.commands():
            if words:
                table.setdefault(" ".join(("binade", *words[:-1], "")), set()).add(words[-1])
        self.assertEqual(len(table), 4)
        self.exactly(table)

    def test_a_word_of_one_of_is_offered(self):
        table = {}
        for words, names, rest in self.options():
            choice = re.match(r" TEXT:\{(.*?)\}", rest)
            if choice:
                table[" ".join(("binade", *words, names[-1], ""))] = choice[1].split(",")
        self.assertGreater(len(table), 2)
        self.exactly(table)

    def test_names_come_from_the_tables(self):
        document = self.json("formats")
        formats = [row["name"] for row in document["formats"]]
        with_blocks = formats + [row["name"] for row in document["block_formats"]]
        reported = ["binary16", "bfloat16", "tf32", "e5m2", "e4m3"]
        architectures = [row["architecture"] for row in self.json("architectures")["architectures"]]
        instructions = {line for line in self.good("architectures", "--names").splitlines() if " " not in line}
        experiments = re.findall(r"^(\w+)$", self.good("experiment", "list"), re.MULTILINE)
        roundings = self.listed("show", "1", "--format", "e4m3", "--rounding", "no")
        self.exactly({
            "binade quantize --format ": with_blocks, "binade show -f ": with_blocks, "binade formats ": with_blocks,
            "binade formats e4m3 ": with_blocks, "binade advise --format e": [name for name in formats if name[0] == "e"],
            "binade report --formats ": reported, "binade report --formats e": ["e5m2", "e4m3"],
            "binade report --formats=e": ["--formats=e5m2", "--formats=e4m3"],
            "binade report --formats binary16,bf": ["binary16,bfloat16"],
            "binade report --formats=binary16,e": ["--formats=binary16,e5m2", "--formats=binary16,e4m3"],
            "binade report --formats e5m2,e": ["e5m2,e4m3"],
            "binade autocast --inputs bfloat16,e4": [f"bfloat16,{name}" for name in formats if name.startswith("e4")],
            "binade gemm --arch ": architectures, "binade identify --arch sm_90,sm_7":
                [f"sm_90,{name}" for name in architectures if name.startswith("sm_7")],
            "binade report a.npy --emulated ": architectures,
            "binade validate gemm --instruction ": instructions,
            "binade explain dots --instruction mma.m16n8k8.":
                [name for name in instructions if name.startswith("mma.m16n8k8.")],
            "binade experiment run ": experiments, "binade experiment run --quick ": experiments,
            "binade arith -r ": roundings, "binade cases --rounding to": [name for name in roundings if name[:2] == "to"],
            "binade check --nan ": self.listed("show", "1", "--format", "e4m3", "--nan", "no"),
            "binade train workload=d": ["workload=digits_mlp", "workload=digits_tanh8"],
            "binade train workload=digits_mlp loss": ["loss_shift="],
            "binade completion ": self.listed("completion", "no"),
            "binade record --dots ": ["all", "open"], "binade record --dots=o": ["--dots=open"],
        })

    def test_files_are_offered_where_files_are_read_or_written(self):
        for name in ("one.npy", "two words.npy"):
            self.write(name, b"")
        os.mkdir(self.path("onefold"))
        files = ("report ", "report -q ", "gemm a.npy ", "gemm a.npy b.npy c.npy --bias ", "identify --a ", "sweep ",
                 "validate gemm --d ", "validate --replay ", "validate --replay x ", "quantize in.npy ", "report x -o ",
                 "report --html ", "train --dump ", "train --data ", "arith add ", "arith --format e4m3 add a.npy b.npy ",
                 "report -- ")
        nowhere = ("gemm a.npy b.npy c.npy ", "quantize a b ", "completion bash ", "arith ", "check ", "report --prefer ",
                   "report --target-loss ", "show ", "explain gemm --element 1 ", "report --formats=", "validate ")
        answers = self.offered(*(f"binade {line}on" for line in files + nowhere), "binade report --html=on", "binade report tw")
        for line, words in answers.items():
            with self.subTest(line):
                words = {word.removeprefix("--html=").rstrip("/") for word in words}
                expected = {"two words.npy"} if line.endswith("tw") else {"one.npy", "onefold"}
                self.assertEqual(words, set() if line[7:-2] in nowhere else expected)

    def test_the_place_on_the_line_decides(self):
        self.exactly({
            "binade validate --seed 1 d": ["dots"], "binade validate --json d": ["dots"],
            "binade validate --replay x d": [],  # one more recording, not a command
            "binade explain gemm --element 1 2 --fused ": ["alpha", "beta"],
            "binade formats --json binary16,bf": ["binary16,bfloat16"],
            "binade no_such_command ": [], "binade record -o x --dots all ": [], "binade arith add --format e4m3 a.npy x": [],
        })

    def test_summaries_and_helps_stand_beside_the_words(self):
        if self.shell == "bash":  # which shows words alone
            return
        asked = self.ask("binade ", "binade validate ", "binade completion --")
        for words, text in self.commands():
            for word, summary in re.findall(r"^  (\w+) {2,}(\S.*)$", text.partition("Subcommands:\n")[2], re.MULTILINE):
                line = " ".join(("binade", *words, ""))
                if line in asked and (word.islower() and not word.isdigit()):
                    shown = dict(asked[line])[word]
                    self.assertIn(summary, shown)
        self.assertIn("Print this help message and exit", dict(asked["binade completion --"])["--help"])

    def test_no_shell_reads_a_help_or_a_word_as_code(self):
        for script in (self.script, self.made_script):
            subprocess.run([self.shell, "-n", script], check=True)
        answers = self.ask("binade ", "binade odd --", "binade odd -x ", "binade odd --odd-value=p", script=self.made_script)
        if self.shell != "bash":
            for line, word in (("binade ", "odd"), ("binade odd --", "--odd-flag")):
                shown = dict(answers[line])[word]
                self.assertIn("""of $HOME $(touch canary) `touch canary` "q" 'a' [b] c:d \\e %f !g""", shown)
        self.assertEqual({word for word, _ in answers["binade odd --"]}, {"--help", "--odd-value", "--odd-flag"})
        self.assertEqual({word for word, _ in answers["binade odd -x "]}, ODD_WORDS)
        self.assertEqual(len(answers["binade odd --odd-value=p"]), 1)
        self.assertEqual(self.files(), [])

    def test_what_is_no_shell_is_refused_with_a_list(self):
        self.command = ("completion",)
        self.complaints({("bahs",): "no completion for 'bahs'; did you mean bash\\?; there are bash, zsh, fish, man",
                         (): "SHELL is required", ("bash", "zsh"): "zsh"})


if __name__ == "__main__":
    Completion.shell = sys.argv.pop(1)
    Completion.made = os.path.abspath(sys.argv.pop(2))
    if shutil.which(Completion.shell) is None:
        print(f"SKIP: {Completion.shell} is not installed")
        sys.exit(77)
    main()
