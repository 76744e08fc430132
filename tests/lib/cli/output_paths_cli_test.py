# SPDX-License-Identifier: Apache-2.0
#
# No command writes over what it reads or over its own other result, whichever way the file is named, and none works
# before it knows that its results can be written. Tables of every command that writes files, held against the commands
# that the program has.
# Run as output_paths_cli_test.py PATH_TO_BINADE; needs Python only.

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main

GEMM = ("--arch", "sm_80", "--instruction", "mma.m16n8k16.f32.f16.f16.f32")
SPEC = b'{"name": "n", "base": {"workload": "digits_mlp", "steps": 1}, "grid": {"seed": [1]}}'

# words of the command → its inputs, then pairs of options of which the second names the first one's file: an input by
# its place in the list of inputs, or an option that is given a name that is not there.
QUANTIZE = (("quantize", "in0.npy", "--format", "binary16"), ["in0.npy"])
ARITH = (("arith", "--format", "binary16", "fma", "in0.npy", "in1.npy:d", "in2.npy"), [f"in{i}.npy" for i in range(3)])
REPORT = (("report", "in0"), ["in0"])
MERGE = (("merge", "in0"), ["in0"])
GEMM_CALL = (("gemm", "in0.npy", "in1.npy:d", "in2.npy", "--bias", "in3.npy", *GEMM), [f"in{i}.npy" for i in range(4)])
EXPLAIN_DOTS = (("explain", "dots", "--a", "in0", "--b", "in1", "--c", "in2", "--d", "in3", "--row", "0", *GEMM),
                [f"in{i}" for i in range(4)])
EXPLAIN_RECORDING = (("explain", "dots", "--recording", "in0", "--row", "0"), ["in0"])
EXPLAIN_GEMM = (("explain", "gemm", "in0", "in1", "in2", "--d", "in3:x", "--element", "0", "0", *GEMM),
                [f"in{i}" for i in range(4)])
IDENTIFY = (("identify", "--a", "in0", "--b", "in1:b", "--c", "in2", "--d", "in3", "--bias", "in4"),
            [f"in{i}" for i in range(5)])
SWEEP = (("sweep", "in.json"), ["in.json"])
VALIDATE = (("validate", "--replay", "in0"), ["in0"])
TRAIN = (("train", "workload=digits_mlp", "steps=1"), [])
EXPERIMENT = (("experiment", "run", "clip_order", "--quick"), [])

RECORD = (("record", "--emulated", "sm_90", "--only", "none"), [])

OVER_INPUTS = [(QUANTIZE, "OUT"), (ARITH, "OUT")] + [
    (call, option) for call in (REPORT, MERGE) for option in ("-o", "--html", "--json", "--csv")]
OVER_INPUTS += [
    (GEMM_CALL, "-o"), (EXPLAIN_DOTS, "--svg"), (EXPLAIN_RECORDING, "--svg"), (EXPLAIN_GEMM, "--svg"),
    (IDENTIFY, "--propose"), (SWEEP, "-o"), (SWEEP, "--json"), (SWEEP, "--html"), (VALIDATE, "--seen")]
EACH_OTHER = [(REPORT, "-o", "--json"), (REPORT, "--csv", "--json"), (MERGE, "-o", "--csv"), (SWEEP, "-o", "--json"),
              (SWEEP, "-o", "--html"), (SWEEP, "--json", "--html"), (TRAIN, "--json", "--dump"),
              (EXPERIMENT, "--json", "-o"), (EXPERIMENT, "--json", "--dump"),
              (EXPERIMENT, "-o", "--dump")]
# Options whose results are files of a folder, which reads nothing.
FOLDERS = [(RECORD, "-o")]
NOT_WRITABLE = [(QUANTIZE, "OUT"), (ARITH, "OUT"), (REPORT, "-o"), (REPORT, "--json"), (MERGE, "-o"), (GEMM_CALL, "-o"),
                (EXPLAIN_RECORDING, "--svg"), (IDENTIFY, "--propose"), (SWEEP, "--json"), (SWEEP, "--html"),
                (TRAIN, "--json"), (VALIDATE, "--seen"), (EXPERIMENT, "--json"), (EXPERIMENT, "-o")]


def option_words(option, name):
    return (name,) if option == "OUT" else (option, name)


class OutputPaths(CliCase):
    def test_every_result_of_every_command_is_in_these_tables(self):
        tried = {}
        for call, *options in OVER_INPUTS + EACH_OTHER + NOT_WRITABLE + FOLDERS:
            name = " ".join(w for w in call[0][:2] if w.isalpha())
            tried.setdefault(name, set()).update(options)
        tried["gemm"].add("--account")  # needs no -o: a test of its own
        had = {}
        for words, text in self.commands():
            outputs = r"^  (?:(-\w),)?(--\S+) OUT\b|^  (?:FILES .* )?(OUT) (?:TEXT|\.\.\.)"
            for first, second, positional in re.findall(outputs, text, re.MULTILINE):
                had.setdefault(" ".join(words), []).append({first, second, positional} - {""})
        self.assertEqual(set(had), set(tried))
        for name, options in had.items():
            for spellings in options:
                self.assertTrue(spellings & tried[name], (name, spellings))

    def test_no_writer_is_opened_by_a_command_that_tried_nothing(self):
        sources = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "lib", "cli")
        writing = []
        for source in sorted(os.listdir(sources)):
            with open(os.path.join(sources, source), encoding="utf-8") as file:
                text = file.read()
            if re.search(r"\badd_output\(\"|write_file\(|Writer>?\(", text):
                writing.append(source)
                self.assertRegex(text, r"prepare_(\w+_)?outputs\(", source)
        self.assertGreater(len(writing), 7)

    def inputs(self, call):
        words, names = call
        for name in names:
            self.write(name, SPEC if name == "in.json" else b"kept " + name.encode())
        return words, names

    def refused(self, *words):
        line = self.complaint(*words)
        self.assertIn("the same file as", line, words)
        self.assertTrue(line.endswith("name another\n"), line)
        return line

    def spellings(self, name):
        """One file under other names: as it is, in another way, by a link, by a second name of its inode."""
        ending = os.path.splitext(name)[1]
        os.symlink(self.path(name), self.path("link" + ending))
        os.link(self.path(name), self.path("twin" + ending))
        return [name, "./" + name, self.path(name), "link" + ending, "twin" + ending]

    def test_a_result_never_replaces_what_was_read(self):
        for call, option in OVER_INPUTS:
            words, names = self.inputs(call)
            for name in names:
                for spelling in self.spellings(name):
                    with self.subTest(words[0], option=option, spelling=spelling):
                        line = self.refused(*words, *option_words(option, spelling))
                        self.assertIn("which is read", line)
                        self.assertEqual(self.read(name), SPEC if name == "in.json" else b"kept " + name.encode())
                for extra in ("link", "twin"):
                    os.unlink(self.path(extra + os.path.splitext(name)[1]))

    def test_two_results_are_never_one_file(self):
        for call, first, second in EACH_OTHER:
            words, _ = self.inputs(call)
            os.makedirs(self.path("sub"), exist_ok=True)
            for one, other in (("q", "q"), ("q", "./q"), ("q", "sub/../q"), (self.path("q"), "q")):
                with self.subTest(words[0], first=first, second=second, other=other):
                    self.refused(*words, first, one, second, other)

    def test_a_dangling_link_is_where_it_leads(self):
        os.symlink("q", self.path("to_q"))
        self.inputs(REPORT)
        self.refused("report", "in0", "-o", "q", "--json", "to_q")

    def test_a_product_and_its_account_are_two_files(self):
        words, _ = self.inputs(GEMM_CALL)
        os.symlink("q.npy", self.path("q.html"))
        self.refused(*words, "-o", "q.npy", "--account", "q.html")

    def test_the_account_is_no_operand(self):
        self.write("a.json", b"kept")
        self.refused("gemm", "a.json", "a.json", *GEMM, "--account", "a.json")
        self.assertEqual(self.read("a.json"), b"kept")

    def test_the_data_of_trainings_are_read_too(self):
        data = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3, "experiments", "data", "digits.csv.gz")
        with open(data, "rb") as file:
            kept = file.read()
        self.write("digits.csv.gz", kept)
        self.write("spec.json", SPEC)
        for words, options in ((TRAIN[0], ("--json",)), (EXPERIMENT[0], ("--json", "-o")),
                               (("sweep", "spec.json"), ("--json", "--html", "-o"))):
            for option in options:
                with self.subTest(words[0], option=option):
                    line = self.refused(*words, "--data", ".", option, "digits.csv.gz")
                    self.assertIn("--data ./digits.csv.gz, which is read", line)
                    self.assertEqual(self.read("digits.csv.gz"), kept)

    def test_the_default_results_of_a_sweep_count_too(self):
        self.write("n.json", SPEC)
        self.write("n.jsonl", b"")
        for option in ("--json", "--html"):
            self.refused("sweep", "n.json", option, "n.jsonl")
        self.write("spec.jsonl", SPEC)
        self.refused("sweep", "spec.jsonl")
        self.assertEqual(self.read("spec.jsonl"), SPEC)

    def test_a_place_that_cannot_be_written_is_told_before_the_work(self):
        os.makedirs(self.path("folder"))
        for call, option in NOT_WRITABLE:
            words, _ = self.inputs(call)
            ending = ".npy" if option == "OUT" or (option == "-o" and words[0] == "gemm") else ""
            os.makedirs(self.path("folder" + ending), exist_ok=True)
            for place in ("folder" + ending, "absent/x" + ending):
                with self.subTest(words[0], option=option, place=place):
                    self.assertIn("cannot be written", self.complaint(*words, *option_words(option, place)))

    def test_a_dump_that_cannot_be_written_leaves_no_folder(self):
        for call in (TRAIN, EXPERIMENT):
            words, _ = self.inputs(call)
            self.assertIn("absent/x", self.complaint(*words, "--dump", "new/dump", "--json", "absent/x"))

    def test_standard_output_and_devices_are_no_files(self):
        self.write("spec.json", SPEC)
        for words in (("sweep", "spec.json", "--json", "/dev/null", "--html", "/dev/null"),
                      ("experiment", "run", "boundary_atlas", "--json", "/dev/null", "-o", "/dev/null")):
            self.assertEqual(self.run_binade(*words).returncode, 0)


if __name__ == "__main__":
    main()
