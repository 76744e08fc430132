# SPDX-License-Identifier: Apache-2.0
#
# `binade check` and `binade cases` as a user meets them: what one writes the other accepts, pipes and terminals, exit
# statuses, errors of one line. Run as stream_cli_test.py PATH_TO_BINADE; needs Python only.

import os
import pty
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import environment, main
from stream_case import GOOD, WRONG, StreamCase

# A function of every kind, under options that change its answers.
STREAMS = """
f16_add
bf16_mul -r toward_zero
f32_div --tininess before
f64_sqrt -r rp
f64_rem
f32_mulAdd -r min --saturation finite
e4m3_add --saturation finite
e5m7_mulAdd -r to_odd
e4m3:specials=nan_only_div --nan nvidia --nan-bits
e4m3,e5m2_mul_to_f16
e3m2,f16_add_to_bf16
e8m0_mul
e2m1_rem
tf32_sub --ftz --daz
tf32_to_e3m2 -r near_maxMag
f32_to_e4m3 --saturation finite -r rna
f32_to_bf16
bf16_to_f32 --nan propagate --nan-bits
f32_roundToInt --exact
f64_to_ui32 --exact -r minMag --nan-bits
f16_to_i8 --notexact
i64_to_f32 -r odd
ui16_to_e5m2
f16_le
f32_compareQuietLessUnordered --daz
bf16_minimumNumber --nan propagate --nan-bits
fma.rn.ftz.relu.f16x2
min.NaN.xorsign.abs.bf16x2
add.rz.f32.f16
mul.rm.ftz.f32x2 --nan-bits
cvt.rn.satfinite.e4m3x2.f32 --nan-bits
cvt.rs.satfinite.e2m1x4.f32
cvt.rna.tf32.f32
cvt.rn.f16x2.e2m3x2
""".split("\n")[1:-1]
# Those of few bits, of which every case is written.
WHOLE = {"e4m3_add", "e4m3:specials=nan_only_div", "e4m3,e5m2_mul_to_f16", "e8m0_mul", "e2m1_rem", "bf16_to_f32", "f16_to_i8",
         "ui16_to_e5m2", "cvt.rn.f16x2.e2m3x2"}


class RoundTrips(StreamCase):
    def test_what_cases_writes_check_accepts(self):
        for line in STREAMS:
            with self.subTest(line):
                function, _, options = line.partition(" ")
                count = "" if function in WHOLE else "-n 2000"
                written = self.says(f"cases {function} {count} {options.replace('--nan-bits', '')}")
                result = self.says(f"check --testfloat {line}", written)
                self.assertEqual(result, f"{written.count(chr(10))} cases, 0 mismatches\n")

    def test_other_options_find_mismatches(self):
        for function, ours, theirs in [
                ("f16_add", "-r rz", "-r rp"), ("bf16_mul", "--ftz", ""), ("f16_mul", "--daz", ""),
                ("f32_mul", "--tininess before", ""), ("f32_to_e4m3", "--saturation finite", ""),
                ("f16_roundToInt", "--exact", ""), ("f16_add", "--nan nvidia", "--nan-bits")]:
            with self.subTest(function, ours=ours):
                written = self.says(f"cases {function} {ours}")
                text = self.says(f"check --testfloat {function} {theirs}", written, 1)
                self.assertNotIn(" 0 mismatches", text)

    def test_options_that_change_nothing_of_how_results_are_compared_are_refused(self):
        for words, complaint in (("f16_eq --nan-bits", "--nan-bits has no effect on f16_eq, whose results are no NaNs"),
                                 ("e2m1_add --nan-bits", "--nan-bits has no effect on e2m1_add, whose results are no NaNs"),
                                 ("f16_add --nan nvidia", "--nan has no effect without --nan-bits")):
            self.assertIn(complaint, self.complaint("check", "--testfloat", *words.split()))

    def test_the_count_is_that_of_random_cases_after_the_hard_ones(self):
        hard = self.says("cases f16_add -n 0")
        self.assertEqual(hard.count("\n") % 4, 0)  # edges of both signs crossed, 256 of an aim
        for count in [1, 4096, 4097, 100000]:
            text = self.says(f"cases f16_add -n {count}")
            self.assertTrue(text.startswith(hard))
            self.assertEqual(text.count("\n"), hard.count("\n") + count)

    def test_functions_of_few_bits_are_written_whole(self):
        self.assertEqual(self.says("cases e4m3_add").count("\n"), 65536)
        self.assertEqual(self.says("cases e2m1_sqrt"),
                         "00 00 00\n01 01 03\n02 02 00\n03 02 01\n04 03 01\n05 03 01\n06 04 00\n"
                         "07 04 01\n08 08 00\n" + "".join(f"0{x} 07 10\n" for x in "9ABCDEF"))

    def test_lines_are_the_same_on_any_number_of_threads(self):
        for words in ["f64_mulAdd --seed 9", "fma.rn.f16x2 --seed 9", "e3m2_mulAdd"]:
            one = self.says(f"cases {words}", BINADE_THREADS="1")
            for threads in ["2", "7"]:
                other = self.says(f"cases {words}", BINADE_THREADS=threads)
                self.assertEqual(other, one)
        self.assertNotEqual(self.says("cases f16_add --seed 2"), self.says("cases f16_add"))


class Complaints(StreamCase):
    def test_a_malformed_line_is_named(self):
        for line, words in {
                "3C00 4000 42g0 00": "'42g0' is not hex", "3C00 4000": "too few",
                "3C00 4000 4200 00 00": "too many", "13C00 4000 4200 00": "more than 4 digits",
                "3C00 4000 4200 20": "'20'", "": "too few"}.items():
            with self.subTest(line):
                said = self.complains("check --testfloat f16_add",
                                      WRONG + GOOD * 9998 + line + "\n" + GOOD)
                self.assertTrue(said.startswith("binade: line 10000: "), said)
                self.assertIn(words, said)

    def test_nothing_in_is_no_success(self):
        self.assertIn("no cases", self.complains("check --testfloat f16_add"))

    def test_a_line_without_end_is_no_success(self):
        for line in ["0" * 5000000, GOOD[:-1] + " " * 300 + "x"]:
            said = self.complains("check --testfloat f16_add", GOOD + line + "\n" + WRONG)
            self.assertIn("line 2: ", said)

    def test_what_is_no_function_or_option_is_said_in_a_line(self):
        for rest, words in {
                "f16_ad": "did you mean", "f16_mull": "mul?", "f16": "'f16'", "xyz_add": "'xyz'",
                "fma.f16": "PTX's order", "f16_le_to_f32": "comparison", "i32_to_i64": "floating",
                "e4m3,e5m2_mul": "_to_FORMAT", "f16,f16,f16_add": "2 operands",
                "f16_add -r up": "--rounding up", "f16_add -r stochastic": "stochastic",
                "f16_add --nan quite": "quiet?", "f16_add --saturation finit": "finite?",
                "f16_add --tininess befor": "before?", "fma.rn.f16 -r rz": "--rounding: fma.rn.f16",
                "fma.rn.f16 --ftz": "--ftz: fma.rn.f16", "fma.rn.f16 --daz": "--daz",
                "fma.rn.f16 --exact": "--exact", "add.f32 --nan quiet": "--nan",
                "add.f32 --saturation none": "--saturation", "add.f32 --tininess after": "--tin",
                "f16_add --exact": "--exact has no effect on f16_add", "f16_le -r rz": "--rounding has no effect",
                "f16_le --ftz": "--ftz has no effect", "f16_to_i8 --nan nvidia": "whose result is an integer",
                "f16_eq --saturation finite": "--saturation has no effect", "f16_to_i8 --tininess before": "--tininess has no",
                "f16_to_e2m1 --nan nvidia": "--nan has no effect on f16_to_e2m1, which has no NaN",
                "f16_minimum -r rz": "whose results are exact", "e4m3_to_bf16 --saturation finite": "finite and in range",
                "e5m2_roundToInt --daz": "which no subnormal operand changes", "i8_to_f16 --nan nvidia": "whose NaNs stay the same",
                "f16_add --tininess before": "whose subnormal results are exact", "f16_to_e8m0 --ftz": "has no zero",
                "i8_to_f16 --ftz": "whose results are never subnormal",
        }.items():
            with self.subTest(rest):
                self.assertIn(words, self.complains("check --testfloat " + rest, GOOD))
                self.assertIn(words, self.complains("cases " + rest))

    def test_choices_of_cases_that_are_all_written_are_refused(self):
        for option in ("--count", "--seed"):
            self.assertIn(f"{option} has no effect on e4m3_add, of which every case is written",
                          self.complains(f"cases e4m3_add {option} 5"))

    def test_missing_and_superfluous_words(self):
        for command in ["cases", "check", "check --testfloat", "cases f16_add f16_sub",
                        "cases f16_add --bogus", "cases f16_add -n abc", "cases f16_add -n 1e3"]:
            with self.subTest(command):
                self.complains(command, GOOD)

    def test_counts_below_zero_are_refused(self):
        for command in ["cases f16_add -n -1", "cases f16_add --seed -1",
                        "check --testfloat f16_add --show -1"]:
            with self.subTest(command):
                self.complains(command, WRONG * 20000)

    def test_a_full_disk_is_said(self):
        for command in ["cases f16_add", "check --testfloat f16_add"]:
            with self.subTest(command), open("/dev/full", "wb") as full:
                result = subprocess.run([self.program, *command.split()], input=GOOD.encode(), timeout=60,
                                        stdout=full, stderr=subprocess.PIPE, check=False)
                self.assertEqual(result.returncode, 2)
                self.assertRegex(result.stderr.decode(), r"\Abinade: [^\n]*No space left[^\n]*\n\Z")


class Surroundings(StreamCase):
    def closed_early(self, **how):
        """The errors and the exit status of an endless `cases` whose reader has gone."""
        command = [self.program, "cases", "f64_mulAdd", "-n", "100000000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment(), **how) as process:
            self.assertTrue(process.stdout.readline().endswith(b" 00\n"))
            process.stdout.close()
            return process.stderr.read().decode(), process.wait(timeout=60)

    def test_a_closed_pipe_ends_it_quietly(self):
        self.assertEqual(self.closed_early(), ("", -signal.SIGPIPE))

    def test_a_closed_pipe_whose_signal_is_ignored_is_one_line(self):
        said, status = self.closed_early(restore_signals=False)
        self.assertRegex(said, r"\Abinade: [^\n]+\n\Z")
        self.assertEqual(status, 2)

    def test_at_a_terminal_it_says_that_it_waits(self):
        terminal, end = pty.openpty()
        command = [self.program, "check", "--testfloat", "f16_add"]
        with subprocess.Popen(command, stdin=end, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment()) as process:
            os.write(terminal, GOOD.encode() + b"\x04")
            out, error = process.communicate(timeout=60)
        os.close(terminal)
        os.close(end)
        self.assertEqual((out, process.returncode), (b"1 cases, 0 mismatches\n", 0))
        self.assertRegex(error, rb"\Abinade: reading cases of f16_add [^\n]+\n\Z")

    def test_help_names_functions_form_and_statuses(self):
        for command in ["check --help", "cases --help"]:
            text = self.says(command)
            for part in ["f16_mulAdd", "e5m7_add", "fma.rn.ftz.relu.f16x2", "Examples:"]:
                self.assertIn(part, text)
        self.assertRegex(self.says("check --help"), r"(?s)3C00 1000 3C00 01.*Exit status")


if __name__ == "__main__":
    main()
