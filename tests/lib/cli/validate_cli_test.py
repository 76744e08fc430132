# SPDX-License-Identifier: Apache-2.0
#
# `binade validate dots`, `validate gemm` and `validate --device` as a user meets them: dot products from .npy files
# written here by hand, a machine without a GPU; exit statuses and errors of one line. The expected bits are
# arithmetic done by hand. Run as validate_cli_test.py PATH_TO_BINADE; needs Python only.

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from arrays_case import ArraysCase
from cli_case import main, read_json
from made_files import npy

NAME = "mma.m16n8k16.f32.f16.f16.f32"


class Validate(ArraysCase):
    command = ("validate",)


class Dots(Validate):
    def setUp(self):
        super().setUp()
        # 1 * 2 + 3 * 4 + 0.5, and 1 * 1 - 1, and 0 - 0
        self.write("a", npy("<u2", (3, 2), [0x3C00, 0x4200, 0x3C00, 0, 0, 0]))
        self.write("b", npy("<u2", (3, 2), [0x4000, 0x4400, 0x3C00, 0, 0, 0]))
        self.write("c", npy("<u4", (3,), [0x3F000000, 0xBF800000, 0x80000000]))
        self.write("d", npy("<u4", (3,), [0x41680000, 0, 0]))

    def dots(self, arch="sm_90", name=NAME, without="", **files):
        words = ["dots", "--arch", arch, "--instruction", name]
        for key in "abcd":
            if key != without:
                words += ["--" + key, self.path(files.get(key, key))]
        return words

    def test_equal_rows(self):
        text = self.good(*self.dots())
        self.assertEqual(text.splitlines()[-1], "rows 3, equal 3, different 0")
        self.assertIn("sm_90 " + NAME + ": hardware (H100, H200 by wmma)", text)

    def test_dtypes_themselves_and_columns(self):
        self.write("a", npy("<f2", (3, 2), [1, 3, 1, 0, 0, 0]))
        self.write("c", npy("<f4", (3, 1), [0.5, -1, -0.0]))
        self.write("d", npy("<f4", (3, 1), [14.5, 0, 0]))
        self.good(*self.dots())

    def test_without_c_it_is_zero(self):
        text = self.good(*self.dots(without="c"), status=1)
        self.assertEqual(text.splitlines()[-1], "rows 3, equal 1, different 2")

    def test_a_difference_is_told(self):
        self.write("d", npy("<u4", (3,), [0x41680001, 0, 0]))
        text = self.good(*self.dots(), status=1)
        for words in ("row 0: 1 ulp apart", "a·b k1    4200 3 · ", "and 14 products of zeros", "c         3F000000  0.5",
                      "recorded  41680001  14.50000095367431640625", "emulated  41680000  14.5", "rows 3, equal 2, different 1"):
            self.assertIn(words, text)

    def test_scales_of_blocks(self):
        """2·6·2^3 + 0.5·1·2^-1 of MXFP4, and of rows of 64 whose first elements alone are given."""
        name = "mma.m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
        for key, values in (("a", [4, 1]), ("b", [7, 2])):
            self.write(key, npy("|u1", (1, 64), [values[0]] + [0] * 31 + [values[1]] + [0] * 31))
        self.write("sa", npy("|u1", (1, 2), [129, 127]))
        self.write("sb", npy("|u1", (1, 2), [128, 126]))
        self.write("d", npy("<f4", (1,), [96.25]))
        words = ["dots", "--arch", "sm_120", "--instruction", name]
        words += [word for key in "abd" for word in ("--" + key, self.path(key))]
        scales = ["--a-scale", self.path("sa"), "--b-scale", self.path("sb")]
        self.assertEqual(self.good(*words, *scales).splitlines()[-1], "rows 1, equal 1, different 0")
        self.write("sa", npy("|u1", (1, 2), [129, 255]))
        text = self.good(*words, *scales, status=1)
        self.assertIn("\n  scales 0  81 4 · 80 2\n  scales 1  FF NaN · 7E 0.5\n", text)
        self.assertIn(f"--a-scale {self.path('sa')} --b-scale {self.path('sb')} --d {self.path('d')} --row 0\n", text)
        self.assertIn("rows 1, equal 0, different 1", self.good(*words, status=1))  # without scales, they are 1
        self.write("sb", npy("|u1", (2, 1), [128, 126]))
        self.assertIn("shape (2, 1); --b-scale is of shape (rows, 2) for this instruction", self.complaint(*words, *scales))
        self.assertIn("has no scales of blocks", self.complaint(*self.dots(), *scales))

    def test_show_limits_what_is_told_not_what_is_counted(self):
        self.write("d", npy("<u4", (3,), [1, 1, 0x7FC00000]))
        for show, told in (("0", 0), ("2", 2), ("5", 3)):
            text = self.good(*self.dots(), "--show", show, status=1)
            self.assertEqual(text.count("\n  emulated "), told)
            self.assertIn("rows 3, equal 0, different 3\n", text)
        self.assertIn("row 2: one is NaN\n", text)

    def test_json(self):
        self.write("d", npy("<u4", (3,), [0x41680000, 0, 0x7FC00000]))
        out = self.json(*self.dots(), status=1)
        self.assertEqual(out, {
            "schema": "binade.validate_dots/1", "architecture": "sm_90", "instruction": NAME,
            "evidence": "hardware", "rows": 3, "equal": 2, "different": 1,
            "differences": [{"row": 2, "c": "80000000", "recorded": "7FC00000", "emulated": "00000000",
                             "ulp_distance": None}],
            "touched": []})

    def test_rows_that_hang_on_what_nobody_has_seen(self):
        """-2^-133 · 2^-20 is cut to zero; -0 beside one -0 · 0 and seven of +0; 0 · 2^127 beside c = 2^-43; 1 · 1."""
        dots = ("--arch", "sm_80", "--instruction", "mma.m16n8k8.f32.bf16.bf16.f32")
        for name, dtype, values in (("a", "<u2", [0x8001, 0x8000, 0, 0x3F80]), ("b", "<u2", [0x3580, 0, 0x7F00, 0x3F80]),
                                    ("c", "<u4", [0, 0x80000000, 0x2A000000, 0]),
                                    ("d", "<u4", [0, 0, 0x2A000000, 0x3F800000])):
            self.write(name + ".npy", npy(dtype, (4, 1) if name in "ab" else (4,), values))
            dots += ("--" + name, os.path.join(self.folder.name, name + ".npy"))
        out = self.good("dots", *dots)
        self.assertIn("sm_80 mma.m16n8k8.f32.bf16.bf16.f32: paper (MMA-Sim 2.1, MATLAB-tensor-core)\n  open: signs of zero\n", out)
        self.assertEqual(out.splitlines()[-2],
                         "of these 4 rows 1 touch zero operands (paper), 1 signs of zero (open)")
        self.assertEqual(self.json("dots", *dots)["touched"], [
            {"aspect": "zero operands", "evidence": "paper", "count": 1, "looked_at": 4},
            {"aspect": "signs of zero", "evidence": "open", "count": 1, "looked_at": 4}])
        for rule, row, d in (("--cut-to-zero=negative", 0, "80000000"), ("--zero-raises=single", 2, "00000000"),
                             ("--zero-raises=emin", 2, "00000000")):
            found = self.json("dots", *dots, rule, status=1)
            self.assertEqual([(x["row"], x["emulated"]) for x in found["differences"]], [(row, d)])
            self.assertNotIn("touched", found)
            self.assertEqual(found["rules"], rule.split("="))
            self.assertIn(" with " + rule.replace("=", " "), self.good("dots", *dots, rule, status=1))
        in_full = self.good("dots", *dots, "--evidence")
        self.assertRegex(in_full, r"signs of zero +open +cut_to_zero negative +1 +1 +0  as binade\n")
        self.assertEqual(self.good("dots", *dots, "--floor", "-132").splitlines()[-1], "rows 4, equal 4, different 0")

    def test_a_product_that_hangs_on_what_nobody_has_seen(self):
        a = self.write("a.npy", npy("<u2", (1, 8), [0x8001] + 7 * [0]))
        b = self.write("b.npy", npy("<u2", (8, 1), [0x3580] + 7 * [0]))
        d = self.write("d.npy", npy("<u4", (1, 1), [0]))
        words = ("gemm", a, b, "--d", d, "--arch", "sm_80", "--instruction", "mma.m16n8k8.f32.bf16.bf16.f32")
        self.assertEqual(self.good(*words).splitlines()[-2], "of these 1 elements 1 touch signs of zero (open)")
        self.assertEqual(self.json(*words)["touched"][0]["aspect"], "signs of zero")
        ruled = self.good(*words, "--cut-to-zero", "negative", status=1)
        self.write("d.npy", npy("<u4", (1, 1), [0x80000000]))
        self.assertIn("the first 1 different are as under cut_to_zero negative, a rule that no hardware has excluded\n",
                      self.good(*words, status=1))
        self.assertIn("mma.m16n8k8.f32.bf16.bf16.f32 with --cut-to-zero negative: 1 × 1", ruled)
        self.assertRegex(ruled, r"step by step: binade explain gemm .* --cut-to-zero negative --d ")
        self.assertIn("is no fused sum", self.complaint("gemm", a, b, "--d", d, "--instruction",
                                                        "fma.rn.f32.bf16.bf16.f32", "--floor", "none"))

    def test_files_that_do_not_fit(self):
        self.write("wide", npy("<u2", (3, 17), [0] * 51))
        self.assertIn("shape (3, 17); --a is of shape (rows, K), K at most 16", self.complaint(*self.dots(a="wide")))
        self.write("flat", npy("<u2", (6,), [0] * 6))
        self.assertIn("shape (6,); --b is of shape (rows, K)", self.complaint(*self.dots(b="flat")))
        self.write("short", npy("<u2", (2, 2), [0] * 4))
        self.assertIn("short.npy: 2 rows; ", self.complaint(*self.dots(a="short")))
        self.write("type", npy("<u4", (3, 2), [0] * 6))
        self.assertIn("type.npy: dtype U32; --a takes F16, bits of binary16 (uint16)",
                      self.complaint(*self.dots(a="type")))
        self.write("table", npy("<u4", (1, 3), [0] * 3))
        self.assertIn("--d is of shape (rows,)", self.complaint(*self.dots(d="table")))
        self.assertIn("missing.npy: ", self.complaint(*self.dots(c="missing")))
        self.write("cut", npy("<u4", (3,), [0] * 3)[:-1])
        self.assertIn("cut.npy: ", self.complaint(*self.dots(d="cut")))
        for name in "ab":
            self.write(name, npy("<u2", (0, 2), []))
        for name in "cd":
            self.write(name, npy("<u4", (0,), []))
        self.assertIn("no rows; there is nothing to compare", self.complaint(*self.dots()))

    def test_options_without_effect(self):
        self.assertIn("--json has no effect before dots: leave it out, or give it behind", self.complaint("--json", *self.dots()))
        self.assertIn("--emulated has no effect without --device", self.complaint("--replay", ".", "--emulated", "sm_90"))

    def test_names_that_there_are_not(self):
        self.assertIn("did you mean mma.m16n8k16.f32.f16.f16.f32?",
                      self.complaint(*self.dots(name="mma.m16n8k16.f32.f16.f16.f31")))
        self.assertIn("sm_75 has no mma.m16n8k32.f32.e4m3.e4m3.f32; it is on sm_89",
                      self.complaint(*self.dots(arch="sm_75", name="mma.m16n8k32.f32.e4m3.e4m3.f32")))
        self.assertIn("no architecture 'sm_91'; there are sm_70", self.complaint(*self.dots(arch="sm_91")))
        self.assertIn("--d is required", self.complaint(*self.dots(without="d")))


class Device(Validate):
    def test_nothing_asked(self):
        self.assertIn("nothing to validate; give --replay PATH, --device, or dots", self.complaint())

    def test_options_that_do_not_go_together(self):
        self.assertIn("--replay", self.complaint("--device", "--replay", "x"))
        self.assertIn("--device", self.complaint("--rows", "5"))
        self.assertIn("--rows", self.complaint("--device", "--rows", "0"))
        self.assertIn("no generator 'norml'; did you mean normal?", self.complaint("--device", "--generator", "norml"))

    def test_without_a_gpu(self):
        result = self.run_binade("--device", "--rows", "10", "--generator", "normal", "--json")
        if result.returncode != 77:  # there is one: it was compared
            self.assertEqual(result.stderr, b"")
            out = read_json(result.stdout)
            self.assertIn(result.returncode, (0, 1))
            self.assertEqual(out["equal"] + out["different"], out["rows"])
            self.assertGreater(out["rows"], 0)
            return
        out = read_json(result.stdout)
        self.assertEqual(out["schema"], "binade.validate_device/1")
        if out["device"] is None:
            self.assertTrue(out["reason"])
            text = self.good("--device", "--seed", "3", status=77)
            self.assertEqual(text, out["reason"] + "\n")
        else:  # a GPU that runs none of them
            self.assertIn(b"nothing was compared", result.stderr)


if __name__ == "__main__":
    main()
