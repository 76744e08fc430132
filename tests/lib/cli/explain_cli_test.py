# SPDX-License-Identifier: Apache-2.0
#
# `binade explain` as a user meets it: typed products, rows of arrays and recordings, elements of whole
# products; its JSON held against Python's fractions, its picture against an XML parser; complaints of one
# line. Run as explain_cli_test.py PATH_TO_BINADE; needs Python only.

import os
import re
import struct
import sys
import xml.etree.ElementTree
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from arrays_case import HOPPER
from cli_case import CliCase, main
from made_files import npy

RECORDINGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "recordings", "public")


def value(number):
    """The fraction of a number in JSON, whose double must be its nearest."""
    exact = Fraction(number["exact"])
    assert number["double"] == float(exact), number
    return exact


def f16(bits):
    return Fraction(struct.unpack("<e", struct.pack("<H", int(bits, 16)))[0])


def f32(bits):
    return Fraction(struct.unpack("<f", struct.pack("<I", int(bits, 16)))[0])


class Explain(CliCase):
    command = ("explain",)

    def rows(self):
        self.write("a.npy", npy("<f2", (2, 2), [1, 3, 0.5, 100]))
        self.write("b.npy", npy("<f2", (2, 2), [2, 4, 0.25, 2**-10]))
        self.write("c.npy", npy("<f4", (2,), [0.5, 2**20]))
        self.write("d.npy", npy("<f4", (2,), [14.5, 2**20 + 0.125]))
        return [word for key in "abcd" for word in ("--" + key, self.path(key + ".npy"))]

    def check_json(self, out):
        """Every step of a sum of f16 into f32, and that the errors add up."""
        errors, products = Fraction(0), Fraction(0)
        for step in out["steps"]:
            if step["step"] == "operation":
                values = [value(x) for x in step["operands"]]
                exact = {"add": sum(values), "convert": values[0]}[step["operation"]]
                self.assertEqual(value(step["exact"]), exact)
                self.assertEqual(value(step["error"]), value(step["result"]) - exact)
                errors += value(step["error"])
            if step["step"] != "block":
                continue
            unit = Fraction(2) ** step["unit"]
            units = 0
            for term in step["terms"]:
                if "k" in term:
                    exact = f16(term["a"]["bits"]) * f16(term["b"]["bits"])
                    self.assertEqual(value(term["product"]), exact)
                    self.assertEqual(term["a"], out["a"][term["k"]])
                    products += exact
                else:
                    exact = value(term["value"])
                cut = value(term["cut_by_alignment"]) + value(term["cut_by_floor"])
                self.assertEqual(cut, exact - term["units"] * unit)
                self.assertLess(abs(cut), unit)
                errors -= cut
                units += term["units"]
            self.assertEqual(step["units"], units)
            self.assertEqual(value(step["sum"]), units * unit)
            self.assertEqual(f32(step["result"]["bits"]), value(step["result"]))
            self.assertEqual(value(step["rounding_error"]), value(step["result"]) - units * unit)
            errors += value(step["rounding_error"])
        self.assertEqual(value(out["sum_error"]), errors)
        self.assertEqual(sum(value(x) for x in out["errors"].values()), errors)
        self.assertEqual(value(out["sum"]) - value(out["exact_sum"]), errors)
        return products


class Dots(Explain):
    def test_typed_products(self):
        text = self.good("dots", *HOPPER, "--terms", "128*128, 8: 128*-128, 0.109375*(7*2^-12)", "--addend", "2^-20")
        self.assertIn("on sm_90: 16 products\n", text)
        self.assertIn("  c      0x35800000 ", text)
        self.assertIn("  k 8    0x5800 128 ", text)
        self.assertIn("  k 9    0x2f00 0.109375 ", text)

    def test_json_is_exact(self):
        terms = "128*128, 3: 0.109375*0.015625, 2047*2^-14, bits:0x3bff*-3.5, 8: 128*-128, (5*2^-24)*(3*2^-20)"
        for sm in ("sm_70", "sm_80", "sm_90"):
            out = self.json("dots", "--arch", sm, "--instruction", "wmma.m16n16k16.f32.f16.f16.f32", "--terms", terms,
                            "--addend", "-0.1e1")
            self.assertEqual((out["schema"], out["architecture"]), ("binade.explain/1", sm))
            products = self.check_json(out)
            self.assertEqual(value(out["exact"]), products - 1)
            self.assertEqual(value(out["error"]), value(out["result"]) - products + 1)
            self.assertIsNone(out["hardware"])
            self.assertEqual(out["steps"][0]["terms"][0]["term"], "c")

    def test_what_the_floor_cuts_is_told_from_what_alignment_cuts(self):
        words = ["dots", "--arch", "sm_90", "--instruction", "mma.m16n8k16.f16.f16.f16.f16", "--terms",
                 "2^-11*2^-14, 2^-23*2^-24"]
        below = Fraction(1, 2**47)
        for addend, name, floor, alignment, top in (("0", "floor", below, 0, -21), ("1", "c", 0, below, 0)):
            out = self.json(*words, "--addend", addend)
            block = out["steps"][0]
            term = block["terms"][2]
            self.assertEqual((term["k"], block["set_by"], block["top"]), (1, name, top))
            self.assertEqual((value(term["cut_by_floor"]), value(term["cut_by_alignment"])), (floor, alignment))
            self.assertEqual((value(out["errors"]["floor"]), value(out["errors"]["alignment"])), (-floor, -alignment))

    def test_one_dot_on_three_architectures(self):
        terms = "128*128, 0.109375*0.015625, 0.109375*0.015625, 0.109375*0.015625, 8: 128*-128"
        results = {}
        for sm in ("sm_70", "sm_80", "sm_90"):
            text = self.good("dots", "--arch", sm, "--instruction", "wmma.m16n16k16.f32.f16.f16.f32",
                             "--terms", terms)
            results[sm] = re.search(r"^result +0x[0-9a-f]{8} +(.*)$", text, re.MULTILINE).group(1)
            self.assertIn("exact     0.005126953125\n", text)
        self.assertEqual(results, {"sm_70": "0", "sm_80": "0.001953125", "sm_90": "0.00439453125"})

    def test_rows_of_arrays(self):
        rows = self.rows()
        text = self.good("dots", *HOPPER, *rows, "--row", "0")
        self.assertIn("result    0x41680000  14.5\n", text)
        self.assertIn("error     0: the result is exact\nhardware  0x41680000  14.5  equal\n", text)
        second = self.good("dots", *HOPPER, *rows, "--row", "1")
        self.assertIn("hardware  0x49800001  1048576.125  equal\n", second)
        without_d = self.good("dots", *HOPPER, *rows[:-2], "--row", "1")
        self.assertEqual(second.replace("hardware  0x49800001  1048576.125  equal\n", ""), without_d)

    def test_scales_of_blocks(self):
        """16 - 16 = 0 counts with 2^20, the exponent of its scales: what lies below 2^-15 is cut."""
        name = "kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
        for family, places in (("mma.m16n8k64", (0, 1, 32)), ("mma.sp.m16n8k128", (4, 5, 66))):
            terms = ", ".join(f"{k}: {x}" for k, x in zip(places, ("4*4", "-4*4", "0.5*1")))
            words = ["dots", "--arch", "sm_120", "--instruction", f"{family}.{name}", "--terms", terms]
            scaled = [*words, "--a-scale", "2^10, 2^-8", "--b-scale", "2^10,bits:0x77"]
            text = self.good(*scaled)
            self.assertRegex(text, r"\n  sum of k .*: 0; scales 0x89 1024 \* 0x89 1024 = 0\n")
            self.assertRegex(text, r"\n  sum of k .*: 0\.5; scales 0x77 0\.00390625 \* 0x77 0\.00390625 = ")
            self.assertIn("  aligned to 2^20, of k ", text)
            self.assertRegex(text, r"\nresult    0x00000000  0\nexact     2\^-17\n|\nexact     0\.00000762939453125\n")
            out = self.json(*scaled)
            self.assertEqual((value(out["exact"]), value(out["errors"]["alignment"])), (Fraction(1, 2**17), -Fraction(1, 2**17)))
            self.assertEqual([value(x) for x in out["a_scales"]], [2**10, Fraction(1, 2**8)])
            self.assertEqual(out["scale_run"], 64 if "sp" in family else 32)
            groups = out["steps"][0]["terms"][1:]
            self.assertEqual([len(x["group"]) for x in groups], [16] * 4)
            kept = {x["k"] for term in groups for x in term["group"]}
            self.assertEqual(kept | set(out["left_out"]), set(range(len(out["a"]))))
            self.assertTrue(kept.issuperset(places))
            self.assertEqual(value(self.json(*words)["result"]), Fraction(1, 2))  # without scales, they are 1
            self.assertIn("the scale of a of k ", self.good(*words, "--a-scale", "nan"))
            self.good(*scaled, "--svg", self.path("x.svg"))
            self.assertIn(">sum 0.5 × 2<tspan", self.read("x.svg").decode())
        for more, said in ((["--a-scale", "1, 2, 4"], "--a-scale '1, 2, 4': 3 scales; 2 of each row, or one for all, are wanted"),
                           (["--b-scale", "3"], "'3' is no ue8m0 number; the nearest is "),
                           (["--row", "0"], "--row has no effect with --terms")):
            self.assertIn(said, self.complaint(*words, *more))
        self.assertIn(f"--b-scale: {HOPPER[3]} has no scales of blocks; those with .block_scale in their name have",
                      self.complaint("dots", *HOPPER, "--terms", "1*1", "--b-scale", "1"))

    def test_recorded_rows(self):
        for name in ("h200_fp16_fp32", "v100_fp16_fp32", "ada_e4m3_fp16", "b200_e5m2_fp32", "a100_tf32_fp32"):
            path = os.path.join(RECORDINGS, name + ".safetensors")
            text = self.good("dots", "--recording", path, "--row", "17")
            self.assertRegex(text, r"\nhardware  0x[0-9a-f]+  \S+  equal\n\Z", name)
        path = os.path.join(RECORDINGS, "v100_fp16_fp32.safetensors")
        text = self.good("dots", "--recording", path, "--row", "17", "--arch", "sm_90")
        self.assertIn("wmma.m16n16k16.f32.f16.f16.f32 on sm_90", text)

    def test_the_command_that_validate_gives(self):
        rows = self.rows()
        self.write("d.npy", npy("<f4", (2,), [14.5, 2**20 + 0.5]))
        told = self.good("validate", "dots", *HOPPER, *rows, command=(), status=1)
        words = re.search(r"^  explain   binade explain (.*)$", told, re.MULTILINE).group(1).split()
        text = self.good(*words)
        self.assertIn("hardware  0x49800004  1048576.5  different, -3 ulp from it\n", text)

    def test_other_recipes(self):
        text = self.good("dots", "--arch", "sm_80", "--instruction", "mma.m16n8k32.s32.s8.s8.s32",
                         "--terms", "-128*127, 5*7", "--addend", "-3")
        self.assertIn("\nresult    0xffffc0a0  -16224\n", text)
        text = self.good("dots", "--arch", "sm_90", "--instruction", "mma.m8n8k4.f32.f16.f16.f32", "--terms", "3*5")
        self.assertIn("k 0      3 * 5 + 0 ", text)
        text = self.good("dots", "--arch", "sm_90", "--instruction", "mma.sp.m16n8k16.f32.f16.f16.f32",
                         "--terms", "1*3, 0*5, 2*2, 0*7")
        self.assertIn("8 products, 8 left out by sparsity", text)
        self.assertIn("\nresult    0x40e00000  7\n", text)

    def test_blocks(self):
        words = ["dots", "--arch", "sm_80", *HOPPER[2:], "--terms", "1*1, 9: 1*1"]
        self.assertIn("block 2: the sum so far and k 8…15\n", self.good(*words))
        self.assertRegex(self.good(*words, "--block", "2"), r"\nblock 1 +k 0…7 +top 2\^0 +nothing cut")
        self.assertIn("no block 3; there are 2", self.complaint(*words, "--block", "3"))
        self.assertIn("no block 0", self.complaint(*words, "--block", "0"))
        self.assertIn("no block 3", self.complaint(*words, "--block", "3", "--json", "--svg", self.path("x.svg")))
        self.assertIn("--block has no effect with --json", self.complaint(*words, "--block", "2", "--json"))
        self.assertIn("--block has no effect with --all", self.complaint(*words, "--block", "2", "--all"))
        self.assertIn("--all has no effect with --json", self.complaint(*words, "--all", "--json"))
        self.good(*words, "--block", "2", "--all", "--svg", self.path("x.svg"))

    def test_complaints(self):
        for terms, words in [("0.1*3", "'0.1' is no f16 number; the nearest is 0.0999755859375, bits:0x2e66"),
                             ("70000*1", "'70000' is no f16 number; the nearest is 65504, bits:0x7bff"),
                             ("1*2*3", "more than one *; put an operand that is a product in parentheses"),
                             ("7", "product '7': write it as A*B"), ("", "give one of --terms"),
                             ("1*(2", "a ( without its )"), ("1*2)", "a ) without its ("),
                             ("16: 1*1", "k 16 is beyond the 16 products"), ("1*1, 0: 2*2", "k 0 is taken"),
                             ("99999999999999999999: 1*1", "an encoding is written"),
                             (",".join(["1*1"] * 17), "k 16 is beyond the 16 products"),
                             ("bits:0x10000*1", "more than the 16 bits of f16"),
                             ("x*1", "value 'x': not a number"), ("\x1b[31m*1", r"\x1b[31m")]:
            self.assertIn(words, self.complaint("dots", *HOPPER, "--terms", terms))
        fp8 = ["dots", "--arch", "sm_89", "--instruction", "mma.m16n8k32.f32.e4m3.e4m3.f32", "--terms"]
        self.assertIn("'inf': e4m3 has none", self.complaint(*fp8, "inf*1"))
        integers = ["dots", "--arch", "sm_80", "--instruction", "mma.m16n8k32.s32.s8.u8.s32", "--terms"]
        for terms in ("128*1", "-129*1", "1*-1", "1*256", "0.5*1", "2^-200*1", "nan*1", "2^200*1"):
            self.assertIn("it holds whole numbers from", self.complaint(*integers, terms))
        self.assertIn("result    0x", self.good(*integers, "-128*255"))
        self.assertIn("0.3", self.complaint("dots", *HOPPER, "--terms", "1*1", "--addend", "0.3"))
        self.assertIn("--terms", self.complaint("dots", *HOPPER, "--addend", "1"))
        for option in (("--row", "0"), ("--c", "c.npy"), ("--d", "d.npy")):
            self.assertIn(f"{option[0]} has no effect with --terms", self.complaint("dots", *HOPPER, "--terms", "1*1", *option))
        self.assertIn("--d has no effect with --recording", self.complaint("dots", "--recording", "r", "--row", "0", "--d", "d.npy"))
        self.assertIn("--arch and --instruction", self.complaint("dots", "--terms", "1*1"))
        rows = self.rows()
        self.assertIn("--row is missing", self.complaint("dots", *HOPPER, *rows))
        self.assertIn("a.npy: no row 2; it has rows 0 to 1", self.complaint("dots", *HOPPER, *rows, "--row", "2"))
        self.assertIn("--a and --b go together", self.complaint("dots", *HOPPER, *rows[:2], "--row", "0"))
        self.assertIn("give one of --terms", self.complaint("dots", *HOPPER, *rows, "--terms", "1*1"))
        path = os.path.join(RECORDINGS, "v100_fp16_fp32.safetensors")
        self.assertIn("no row 200; it has rows 0 to 199", self.complaint("dots", "--recording", path, "--row", "200"))
        self.assertIn("takes other types or another K", self.complaint(
            "dots", "--recording", path, "--row", "0", "--arch", "sm_90", *HOPPER[2:3], "mma.m16n8k8.f32.f16.f16.f32"))
        self.assertIn("A subcommand is required", self.complaint())


class Elements(Explain):
    def setUp(self):
        super().setUp()
        self.a = [((7 * i * i + 3 * i) % 41 - 20) / 8 for i in range(2 * 40)]
        self.b = [((5 * i * i + i) % 37 - 18) / 64 for i in range(40 * 3)]
        self.words = ["gemm", self.write("a.npy", npy("<f2", (2, 40), self.a)),
                      self.write("b.npy", npy("<f2", (40, 3), self.b))]

    def exact(self, i, j):
        return sum(Fraction(self.a[40 * i + k]) * Fraction(self.b[3 * k + j]) for k in range(40))

    def test_json_is_exact(self):
        for order in ([], ["--split", "2"], ["--promote-every", "1"], ["--split", "3:16:pairs"],
                      ["--k-order", "descending"]):
            out = self.json(*self.words, *HOPPER, *order, "--element", "1", "2")
            self.assertEqual(self.check_json(out), self.exact(1, 2))
            self.assertEqual(value(out["exact"]), self.exact(1, 2))
            self.assertEqual([float(value(x)) for x in out["a"]], self.a[40:])
            self.assertEqual([float(value(x)) for x in out["b"]], self.b[2::3])

    def test_it_is_the_element_that_gemm_gives(self):
        c = self.write("c.npy", npy("<f4", (2, 3), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]))
        bias = self.write("bias.npy", npy("<f2", (3,), [1, 2, 3]))
        words = [*self.words[1:], c, *HOPPER, "--alpha", "0.3", "--beta", "-1.5", "--bias", bias, "--split", "2",
                 "--out-format", "f16"]
        d = self.path("d.npy")
        self.good("gemm", *words, "-o", d, command=())
        for i in range(2):
            for j in range(3):
                text = self.good("gemm", *words, "--element", str(i), str(j), "--d", d)
                self.assertRegex(text, r"\nhardware  0x[0-9a-f]{4}  \S+  equal\n\Z")
                for role in ("reduce", "alpha", "beta", "bias", "output"):
                    self.assertIn("\n" + role + " ", text)

    def test_complaints(self):
        self.assertIn("--element 2 0: D is of 2 rows and 3 columns",
                      self.complaint(*self.words, *HOPPER, "--element", "2", "0"))
        self.assertIn("--element", self.complaint(*self.words, *HOPPER, "--element", "1"))
        self.assertIn("--element", self.complaint(*self.words, *HOPPER, "--element", "-1", "0"))
        self.assertIn("--element is required", self.complaint(*self.words, *HOPPER))
        self.assertIn("none.npy", self.complaint("gemm", self.path("none.npy"), *self.words[2:], *HOPPER,
                                                 "--element", "0", "0"))


class Picture(Explain):
    def svg(self, *words):
        path = self.path("x.svg")
        self.good(*words, "--svg", path)
        return self.read("x.svg").decode()

    def test_it_is_xml_that_fetches_nothing(self):
        for words in [["dots", *HOPPER, "--terms", "128*128, 2^-10*2^-10, 8: 128*-128", "--addend", "-0.5"],
                      ["dots", "--recording", os.path.join(RECORDINGS, "h200_e4m3_fp32.safetensors"), "--row", "3"]]:
            text = self.svg(*words)
            root = xml.etree.ElementTree.fromstring(text)
            self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
            width, height = int(root.get("width")), int(root.get("height"))
            self.assertEqual(root.get("viewBox"), f"0 0 {width} {height}")
            for part in root.iter():
                self.assertIn(part.tag.rpartition("}")[2], ("svg", "title", "style", "rect", "line", "circle", "text",
                                                           "tspan"))
                for name in part.keys():
                    self.assertNotIn("href", name)
                if part.tag.endswith("rect"):
                    self.assertLessEqual(int(part.get("x", 0)) + int(part.get("width")), width)
                    self.assertLessEqual(int(part.get("y", 0)) + int(part.get("height")), height)
            self.assertEqual(re.findall(r"https?://[^\"]*", text), ["http://www.w3.org/2000/svg"])
            self.assertNotRegex(text, r"url\(|@import|<script|<image|font-face")
            self.assertEqual(text, self.svg(*words))

    def test_the_picture_of_the_readme_is_this_one(self):
        path = os.path.join(RECORDINGS, "..", "..", "..", "notebooks", "explain.svg")
        with open(path, encoding="utf-8") as file:
            kept = file.read()
        text = self.svg("dots", "--recording", os.path.join(RECORDINGS, "h200_fp16_fp32.safetensors"), "--row", "19")
        self.assertTrue(kept == text, "notebooks/explain.svg is another picture; notebooks/README.md says how it is made")

    def test_a_chosen_block(self):
        words = ["dots", "--arch", "sm_80", *HOPPER[2:], "--terms", "1*1, 2^-14*2^-14, 9: 1*1"]
        self.assertIn("Block 1 of 2", self.svg(*words))
        self.assertIn("Block 2 of 2", self.svg(*words, "--block", "2"))

    def test_nothing_is_written_where_nothing_can_be_drawn(self):
        path = self.path("none.svg")
        for words, line in [(["--terms", "nan*1"], "no block of this sum has bits to draw"),
                            (["--terms", "nan*1", "--block", "1"], "block 1 has no bits to draw: NaN: a of k 0 is NaN")]:
            self.assertIn(line, self.complaint("dots", *HOPPER, *words, "--svg", path))
            self.assertFalse(os.path.exists(path))
        self.assertIn("x.svg", self.complaint("dots", *HOPPER, "--terms", "1*1", "--svg", self.path("no/x.svg")))


if __name__ == "__main__":
    main()
