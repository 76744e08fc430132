# SPDX-License-Identifier: Apache-2.0
#
# The output of `binade check` for planted mistakes, against blocks that were written by hand from arithmetic; and for arrays of
# converters that are made here.
# Run as check_cli_test.py PATH_TO_BINADE; needs Python only.

import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from arrays_case import ArraysCase
from cli_case import main
from made_files import npy, safetensors
from stream_case import GOOD, WRONG, StreamCase


class Mismatches(StreamCase):
    def explains(self, command, lines, *blocks, flags=0, told=""):
        """The mismatches of a few lines, the last `flags` of which concern flags alone, are told in exactly these words."""
        count = len(lines.splitlines())
        if flags:
            told = f": {len(blocks) - flags} in their values, {flags} in their flags alone" + told
        end = f"{count} cases, {len(blocks)} mismatches{told}\n"
        want = "".join(block.strip("\n") + "\n\n" for block in blocks) + end
        self.assertEqual(self.says("check --testfloat " + command, lines, 1), want)

    def test_a_wrong_result_far_below_the_tie(self):
        # -2208 - 2047/2^24; near 2208 the numbers of binary16 are 2 apart.
        self.explains("f16_add", "87FF E850 E850 01\n87FF E850 E851 01\n", """
line 2: f16_add 87FF E850
  a       87FF     -0.000122010707855224609375
  b       E850     -2208
  exact            about -2208.0001220107078552: rounded away about 0.0001220 (about 6.101e-05 ulp), short of the tie -2209
  binade  E850 01  -2208  inexact
  stream  E851 01  -2210  inexact
""")

    def test_a_wrong_flag(self):
        self.explains("f16_add", "3C00 4000 4200 01\n" + GOOD, """
line 1: f16_add 3C00 4000
  a       3C00     1
  b       4000     2
  exact            3
  binade  4200 00  3  no flags
  stream  4200 01  3  inexact
""", flags=1)

    # Berkeley's testfloat_ver knows f32_to_bf16 and bf16_to_f32 by name, checks nothing of their
    # streams and exits with 0: planted mistakes pass. Here they must not.
    def test_bfloat16_conversions_are_really_checked(self):
        # 1.01171875 = 1 + 3·2^-8 lies halfway between 1 + 2^-7 and 1 + 2^-6.
        self.explains("f32_to_bf16", "3F818000 3F82 01\n3F818000 3F81 01\n3F810000 3F81 01\n", """
line 2: f32_to_bf16 3F818000
  a       3F818000  1.01171875
  exact             1.01171875: a tie between 1.0078125 and 1.015625, to even
  binade  3F82 01   1.015625   inexact
  stream  3F81 01   1.0078125  inexact
""", """
line 3: f32_to_bf16 3F810000
  a       3F810000  1.0078125
  exact             1.0078125
  binade  3F81 00   1.0078125  no flags
  stream  3F81 01   1.0078125  inexact
""", flags=1)
        self.explains("bf16_to_f32", "3F81 3F810000 00\n3F81 3F820000 00\n", """
line 2: bf16_to_f32 3F81
  a       3F81         1.0078125
  exact                1.0078125
  binade  3F810000 00  1.0078125  no flags
  stream  3F820000 00  1.015625   no flags
""")

    def test_division_by_zero(self):
        self.explains("f16_div", "BC00 0000 FC00 00\n", """
line 1: f16_div BC00 0000
  a       BC00     -1
  b       0000     0
  exact            -inf, divided by zero
  binade  FC00 08  -inf  divide by zero
  stream  FC00 00  -inf  no flags
""", flags=1)

    def test_comparisons_name_the_relation(self):
        self.explains("f16_eq", "3C00 3C01 1 00\n7D00 3C00 0 00\n8000 0000 0 00\n", """
line 1: f16_eq 3C00 3C01
  a       3C00  1
  b       3C01  1.0009765625
                a < b
  binade  0 00  false  no flags
  stream  1 00  true   no flags
""", """
line 3: f16_eq 8000 0000
  a       8000  -0
  b       0000  0
                a = b
  binade  1 00  true   no flags
  stream  0 00  false  no flags
""", """
line 2: f16_eq 7D00 3C00
  a       7D00  signaling NaN
  b       3C00  1
                unordered
  binade  0 10  false  invalid
  stream  0 00  false  no flags
""", flags=1)

    def test_a_comparison_under_daz_is_explained_as_it_was_made(self):
        self.explains("f16_eq --daz", "0001 0000 0 00\n", """
line 1: f16_eq 0001 0000
  a       0001  2^-24 ≈ 5.96046e-08
  b       0000  0
                a = b
  binade  1 00  true   no flags
  stream  0 00  false  no flags
""")

    def test_integers_out_of_range_may_have_any_value_but_must_be_invalid(self):
        lines = "C1200000 00000005 10\nC1200000 FFFFFFF6 00\n"  # -10
        second = """
line 2: f32_to_ui32 C1200000
  a       C1200000     -10
  binade  00000000 10  0           invalid
  stream  FFFFFFF6 00  4294967286  no flags
"""
        self.explains("f32_to_ui32", lines, second, flags=1)
        self.explains("f32_to_ui32 --nan-bits", lines, """
line 1: f32_to_ui32 C1200000
  a       C1200000     -10
  binade  00000000 10  0  invalid
  stream  00000005 10  5  invalid
""", second)

    def test_an_integer_between_two_numbers(self):
        self.explains("i32_to_f32", "01000001 4B800001 01\nFFFFFFFF BF800001 00\n", """
line 1: i32_to_f32 01000001
  a       01000001     16777217
  exact                16777217: a tie between 16777216 and 16777218, to even
  binade  4B800000 01  16777216  inexact
  stream  4B800001 01  16777218  inexact
""", """
line 2: i32_to_f32 FFFFFFFF
  a       FFFFFFFF     -1
  exact                -1
  binade  BF800000 00  -1                          no flags
  stream  BF800001 00  -1.00000011920928955078125  no flags
""")

    def test_packed_numbers_are_explained_in_the_lane_that_differs(self):
        self.explains("mul.rn.f16x2", "40003C00 42003C00 47003C00\n", """
line 1: mul.rn.f16x2 40003C00 42003C00, lane 1
  a       4000  2
  b       4200  3
  exact         6
  binade  4600  6
  stream  4700  7
""")
        # Lane 0 differs too, but a NaN is as good as another.
        self.explains("add.f16x2", "3C007C00 3C00FC00 41007E00\n", """
line 1: add.f16x2 3C007C00 3C00FC00, lane 1
  a       3C00  1
  b       3C00  1
  exact         2
  binade  4000  2
  stream  4100  2.5
""")

    def test_lines_without_flags_compare_values_alone(self):
        # 1.1875 = 1 + 3/16 lies halfway between 1 + 1/8 and 1 + 2/8, whose significand is even.
        wrong = """
line 3: f32_to_e4m3 3F980000
  a       3F980000  1.1875
  exact             1.1875: a tie between 1.125 and 1.25, to even
  binade  3A        1.25
  stream  39        1.125
"""
        none = "; {} lines have no flags: their values alone were compared"
        lines = "3F880000 38\n3F980000 3A\n3F980000 39\n"  # 1.0625: a tie, to 1
        self.explains("f32_to_e4m3", lines, wrong, told=none.format(3))
        # A wrong value is told before flags that are wrong alone.
        self.explains("f32_to_e4m3", lines.replace("3A", "3A 00"), wrong, """
line 2: f32_to_e4m3 3F980000
  a       3F980000  1.1875
  exact             1.1875: a tie between 1.125 and 1.25, to even
  binade  3A 01     1.25  inexact
  stream  3A 00     1.25  no flags
""", flags=1, told=none.format(2))

    def test_a_conversion_of_ptx_is_explained_in_the_operand_of_its_lane(self):
        self.explains("cvt.rn.satfinite.e4m3x2.f32", "3FC00000 C0000000 3CC1\n", """
line 1: cvt.rn.satfinite.e4m3x2.f32 3FC00000 C0000000, lane 0
  b       C0000000  -2
  exact             -2
  binade  C0        -2
  stream  C1        -2.25
""")
        # The discarded half of an ulp and r = 0 from rbits do not carry.
        self.explains("cvt.rs.satfinite.e2m1x4.f32", "0 0 0 3FA00000 80000000 0003\n", """
line 1: cvt.rs.satfinite.e2m1x4.f32 00000000 00000000 00000000 3FA00000 80000000, lane 0
  f       3FA00000  1.25
  rbits   80000000  2147483648
  exact             1.25: rounded away 0.25 (0.5 ulp), stochastic: f = 0.5, floor(f*2^16) + r = 32768 + 0 < 65536
  binade  02        1
  stream  03        1.5
""")

    def test_nan_bits_compares_nans(self):
        lines = "7E00 3C00 FE00 00\n"
        self.assertEqual(self.says("check --testfloat f16_add", lines), "1 cases, 0 mismatches\n")
        text = self.says("check --testfloat f16_add --nan-bits", lines, 1)
        self.assertIn("  binade  7E00 00  NaN  no flags\n  stream  FE00 00  NaN  no flags\n", text)

    def test_show_says_how_many_are_explained(self):
        lines = WRONG * 7
        none = self.says("check --testfloat f16_add --show 0", lines, 1)
        self.assertEqual(none, "7 cases, 7 mismatches\n")
        two = self.says("check --testfloat f16_add --show 2", lines, 1)
        self.assertEqual(two.count("stream "), 2)
        self.assertIn("… 5 more", two)
        self.assertTrue(two.endswith("\n7 cases, 7 mismatches\n"))
        self.assertEqual(self.says("check --testfloat f16_add", lines, 1).count("stream "), 5)
        self.assertNotIn("more", self.says("check --testfloat f16_add --show 7", lines, 1))

    def test_a_million_lines_give_the_same_on_any_number_of_threads(self):
        lines = [GOOD] * 1000000
        for i in range(123, 1000000, 9973):
            lines[i] = WRONG
        text = "".join(lines)
        command = "check --testfloat f16_add --show 100"
        one = self.says(command, text, 1, BINADE_THREADS="1")
        self.assertTrue(one.startswith("line 124: "))
        self.assertTrue(one.endswith("\n1000000 cases, 101 mismatches\n"))
        for threads in ["2", "7"]:
            self.assertEqual(self.says(command, text, 1, BINADE_THREADS=threads), one)


NAN, INF = float("nan"), float("inf")
# binary32 numbers and what a converter to bfloat16 that cuts bits off gives: a tie, its neighbours, a subnormal result …
NUMBERS = [1.01171875, 1.0117188692092896, -1.0117186307907104, 3.0, 1e-40, -0.0, 3.4e38]


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


class Converters(ArraysCase):
    def saved(self, inputs=NUMBERS, codes=None, dtype="<u2"):
        codes = [bits(x) >> 16 for x in inputs] if codes is None else codes
        self.write("x", npy("<f4", (len(inputs),), inputs))
        self.write("codes", npy(dtype, (len(codes),), codes))

    def check(self, *words, status=0):
        return self.good("check", "--in", "x.npy", "--codes", "codes.npy", *words, status=status)

    def test_the_rounding_of_a_converter_is_told_with_what_decided_it(self):
        self.saved()
        text = self.check("--format", "bfloat16")
        self.assertTrue(text.startswith("7 elements, binary32 to bfloat16: 7 finite, 0 infinite, 0 NaN\n\n"
                                        "Finite numbers: bfloat16 toward_zero\n"), text)
        self.assertIn("excluded: toward_negative by 1 element (element 2: about -1.011719 (BF817FFF) would be BF82, is BF81), "
                      "ties_toward_zero by 2 elements, "
                      "ties_to_even by 3 elements, ties_to_away by 3 elements", " ".join(text.split()))
        self.assertIn("subnormal operands: taken as they are; excluded: taken for zeros by 1 element", text)
        self.assertIn("binade quantize IN OUT --format bfloat16 --rounding toward_zero\n", text)
        self.assertIn("NaNs: not decided: no input is one", text)

    def test_what_no_rule_explains_is_status_1_and_shows_exact_neighbours(self):
        codes = [bits(x) >> 16 for x in NUMBERS]
        codes[3] ^= 3
        self.saved(codes=codes)
        text = self.check("--format", "bf16", status=1)
        self.assertIn("nearest, 6 of 7 (85.7 %): bfloat16 toward_zero\n"
                      "  element 3: 3 (40400000), exactly 3 (4040): expected 4040, found 3.046875 (4043)\n", text)
        self.assertTrue(text.endswith("\nnone: no rule of the table explains every code\n"))

    def test_codes_values_and_packed_codes_say_the_same(self):
        inputs = [0.75, 1.25, -2.5, 5, 0.25, 0.3]
        codes = [2, 2, 12, 6, 0, 1]  # to e2m1, ties to even
        values = [1, 1, -2, 4, 0, 0.5]
        self.saved(inputs, codes, "|u1")
        text = self.check("--format", "e2m1")
        self.assertIn("Finite numbers: e2m1 ties_to_even\n", text)
        self.saved(inputs, values, "<f4")
        self.assertEqual(self.check("--format", "e2m1"), text)
        self.saved(inputs, [low | high << 4 for low, high in zip(codes[::2], codes[1::2])], "|u1")
        self.assertEqual(self.check("--format", "e2m1"), text)

    def test_tensors_of_safetensors_name_their_format(self):
        x = struct.pack("<4f", 1.0625, 1.1875, INF, NAN)
        self.write("both.safetensors", safetensors(("x", "F32", [2, 2], x), ("y", "F8_E4M3", [2, 2], bytes([0x38, 0x3A, 0x7E, 0x7F]))))
        text = self.good("check", "--in", "both.safetensors:x", "--codes", "both.safetensors:y")
        self.assertIn("Finite numbers: e4m3 ties_to_even\n", text)
        self.assertIn("ties_to_away by 1 element (element (0, 0): 1.0625 (3F880000) would be 39, is 38)", " ".join(text.split()))
        self.assertIn("Infinities: the largest number\n", text)
        self.assertIn("NaNs: quiet", text)

    def test_arrays_that_decide_nothing_are_no_mistake(self):
        self.saved([0.0, 0.0], [0, 0])
        text = self.check("--format", "bfloat16")
        self.assertIn("rounding: not decided: every input is a number of bfloat16", text)
        self.assertIn("\nseveral: ", text)
        self.saved([NAN, NAN], [0x7FC0, 0x7FC0])
        text = self.check("--format", "bfloat16")
        self.assertIn("Finite numbers: not decided: no input is one\n", text)
        self.assertIn("\nseveral: ", text)

    def test_bad_input_is_a_line(self):
        self.saved()
        self.write("short", npy("<u2", (2,), [1, 2]))
        self.write("empty", npy("<f4", (0,), []))
        self.write("bytes", npy("|u1", (7,), [0] * 7))
        self.write("halves", npy("<f4", (7,), [0.3] * 7))
        x = ("check", "--in", "x.npy", "--codes")
        for words, part in [
                ((*x, "short.npy", "--format", "bf16"), "x.npy is of shape (7,), short.npy of (2,)"),
                (("check", "--in", "empty.npy", "--codes", "empty.npy"), "no elements"),
                ((*x, "codes.npy"), "dtype U16 names no format; say which by --format"),
                ((*x, "bytes.npy", "--format", "bf16"), "U8 elements of 8 bits, where codes of bfloat16 take 16"),
                ((*x, "halves.npy", "--format", "e4m3"), "element 0 is"),
                ((*x, "bytes.npy", "--format", "nothing"), "nothing"),
                (("check", "--in", "codes.npy", "--codes", "x.npy"), "no floating-point numbers"),
                ((*x, "missing.npy"), "missing.npy"),
                (("check", "--in", "x.npy"), "--in and --codes"),
                ((*x, "codes.npy", "--testfloat", "f16_add"), "one or the other"),
                ((*x, "codes.npy", "--format", "bf16", "--rounding", "rz"), "it is what is found out"),
                (("check", "--testfloat", "f16_add", "--json"), "--json has no effect with --testfloat")]:
            with self.subTest(words):
                self.assertIn(part, self.complaint(*words))


if __name__ == "__main__":
    main()
