# SPDX-License-Identifier: Apache-2.0
#
# `binade gemm` and `binade validate gemm` as a user meets them: matrices from files written here by hand, small
# integers whose products are exact in every order, errors of one line. Run as gemm_cli_test.py PATH_TO_BINADE;
# needs Python only.

import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from arrays_case import HOPPER, ArraysCase
from cli_case import main, read_json
from made_files import npy, packed, safetensors


def matrix(dtype, rows):
    """A .npy file of a list of rows."""
    return npy(dtype, (len(rows), len(rows[0])), [x for row in rows for x in row])


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


class Case(ArraysCase):
    def setUp(self):
        super().setUp()
        # 5 x 19 and 19 x 3: neither is a multiple of an instruction's shape.
        self.a = [[(7 * i + 3 * k) % 11 - 5 for k in range(19)] for i in range(5)]
        self.b = [[(5 * k + 2 * j) % 9 - 4 for j in range(3)] for k in range(19)]
        self.write("a", matrix("<f2", self.a))
        self.write("b", matrix("<f2", self.b))
        self.d = product(self.a, self.b)

    def gemm(self, *words, status=0, **settings):
        return self.good("gemm", *words, status=status, **settings)


class Gemm(Case):
    def flat(self, change=lambda x, i, j: x):
        return [change(x, i, j) for i, row in enumerate(self.d) for j, x in enumerate(row)]

    def test_whole_numbers_come_out_exactly_in_every_order(self):
        orders = ([], ["--split", "2"], ["--split", "4:2:halves:tail"], ["--promote-every", "1"],
                  ["--promote-every", "1:halves1:f32"], ["--k-order", "descending:2x4"],
                  ["--split", "2", "--split", "3:1:pairs"], ["--split", "2:tile16:at1"], ["--split", "2:4:back2"])
        for order in orders:
            said = self.gemm("a.npy", "b.npy", "-o", "d.npy", *HOPPER, *order)
            self.assertTrue(said.startswith("sm_90 mma.m16n8k16.f32.f16.f16.f32: 5 × 3 × 19, "), said)
            self.assertEqual(self.values("d"), self.flat(), order)

    def test_architectures_and_chains_that_take_other_types(self):
        for words in (("--arch", "sm_80", "--instruction", "mma.m16n8k8.f32.tf32.tf32.f32"),
                      ("--arch", "sm_90", "--instruction", "wgmma.m64n8k16.f32.bf16.bf16"),
                      ("--instruction", "fma.rn.f32.f16.f16.f32"),
                      ("--instruction", "mul_add.rn.f32.f32.f32.f32")):
            self.gemm("a.npy", "b.npy", "-o", "d.npy", *words)
            self.assertEqual(self.values("d"), self.flat(), words)

    def test_integers(self):
        self.write("ai", matrix("|i1", self.a))
        self.write("bi", matrix("|i1", self.b))
        self.write("ci", matrix("<i4", [[1, 2, 3]] * 5))
        self.gemm("ai.npy", "bi.npy", "ci.npy", "-o", "d.npy", "--arch", "sm_80", "--instruction",
                  "mma.m16n8k32.s32.s8.s8.s32")
        self.assertEqual(self.values("d", "<i4"), self.flat(lambda x, i, j: x + j + 1))

    def test_the_epilogue(self):
        self.write("c", matrix("<f4", [[0.5, 1, 2]] * 5))
        self.write("bias", npy("<f2", (3,), [10, 20, 30]))
        self.gemm("a.npy", "b.npy", "c.npy", "-o", "d.npy", *HOPPER, "--alpha", "2", "--beta", "-4", "--bias", "bias.npy")
        self.assertEqual(self.values("d"), self.flat(lambda x, i, j: 2 * x - 4 * (0.5, 1, 2)[j] + 10 * (j + 1)))
        self.gemm("a.npy", "b.npy", "c.npy", "-o", "d.npy", *HOPPER, "--out-format", "f16", "--c-first")
        self.assertEqual(self.values("d", "<f2"), self.flat(lambda x, i, j: x + (0.5, 1, 2)[j]))

    def test_integers_are_dequantized(self):
        # Zero points in the definition's own form, and products of two floats, which Python's doubles hold exactly.
        a, b = ([[(17 * i + 29 * j * j) % 256 - 128 for j in range(w)] for i in range(h)] for h, w in ((5, 19), (19, 3)))
        za, zb, sa, sb, bias = [3, -7, 0, 127, -128], [11], [0.3, 0.7, 1e-3, 5.0, 0.1], [0.9, 1 / 3, 7e4], [0.5, -1.0, 2.0]
        for name, rows, dtype in (("a", a, "|i1"), ("b", b, "|i1")):
            self.write(name, matrix(dtype, rows))
        for name, dtype, x in (("za", "<i4", za), ("zb", "|i1", zb), ("sa", "<f4", sa), ("sb", "<f4", sb), ("bias", "<f4", bias)):
            self.write(name, npy(dtype, (len(x),), x))
        def single(x):
            return struct.unpack("<f", struct.pack("<f", x))[0]
        sums = [[sum((x - za[i]) * (b[k][j] - zb[0]) for k, x in enumerate(row)) for j in range(3)] for i, row in enumerate(a)]
        int8 = "a.npy", "b.npy", "-o", "d.npy", "--arch", "sm_80", "--instruction", "mma.m16n8k32.s32.s8.s8.s32"
        zeros = "--a-zero-point", "za.npy", "--b-zero-point", "zb.npy"
        self.gemm(*int8, *zeros)
        self.assertEqual(self.values("d", "<i4"), [x for row in sums for x in row])
        scales = *zeros, "--a-scale", "sa.npy", "--b-scale", "sb.npy"
        sa, sb = [[single(x) for x in all] for all in (sa, sb)]
        self.gemm(*int8, *scales, "--bias", "bias.npy")
        self.assertEqual(self.values("d"), [single(single(single(x * sa[i]) * sb[j]) + bias[j])
                                            for i, row in enumerate(sums) for j, x in enumerate(row)])
        self.gemm(*int8, *scales, "--scale-order", "together")
        self.assertEqual(self.values("d"), [single(x * single(sa[i] * sb[j])) for i, row in enumerate(sums) for j, x in enumerate(row)])
        said = self.good("validate", "gemm", "a.npy", "b.npy", "--d", "d.npy", *int8[4:], *scales, status=1)
        self.assertIn(" within the model's own error bound", said)
        self.assertIn(" --a-scale sa.npy --b-scale sb.npy --a-zero-point za.npy --b-zero-point zb.npy ", said)
        self.assertIn("equal 15, ", self.good("validate", "gemm", "a.npy", "b.npy", "--d", "d.npy", *int8[4:], *scales,
                                              "--scale-order", "together"))
        for words, complaint in ((("--a-scale", "sb.npy"), "sb.npy: shape (3,); --a-scale is a single number or of shape (5,) here"),
                                 (("--b-scale", "sb.npy", "--alpha", "2"), "--alpha has no effect with scales"),
                                 (("--b-scale", "sb.npy", "--scale-order", "together"), "no effect without --a-scale"),
                                 (("--a-zero-point", "sa.npy"), "sa.npy: dtype F32; --a-zero-point takes integers"),
                                 (("--b-scale", "sb.npy", "--out-format", "s32"), "end in floating point"),
                                 (("--alpha", "2"), "has no epilogue unless it ends in floating point")):
            self.assertIn(complaint, self.complaint("gemm", *int8, *words), words)
        self.assertIn("--a-zero-point has no effect except on integers",
                      self.complaint("gemm", "a.npy", "b.npy", "-o", "d.npy", *HOPPER, "--a-zero-point", "za.npy"))

    def test_what_rounds_on_the_way_to_d(self):
        self.write("a", matrix("<f2", [[1.0], [-1.0]]))
        self.write("b", matrix("<f2", [[1 + 2 ** -4 + 2 ** -10, 1 + 3 * 2 ** -9]]))
        self.write("bias", npy("<f4", (2,), [2 ** -9, 2 ** -9]))
        for words, wanted in ((("--out-format", "e4m3"), [0x39, 0x38, 0xB9, 0xB8]),
                              (("--out-format", "e4m3", "--out-through", "bf16"), [0x38, 0x38, 0xB8, 0xB8]),
                              (("--out-format", "e4m3", "--out-rounding", "rz"), [0x38, 0x38, 0xB8, 0xB8]),
                              (("--out-format", "e4m3", "--out-rounding", "toward_positive"), [0x39, 0x39, 0xB8, 0xB8]),
                              (("--out-format", "e4m3", "--relu"), [0x39, 0x38, 0, 0]),
                              (("--sum-format", "bf16", "--bias", "bias.npy"),
                               [1 + 2 ** -4 + 2 ** -9, 1 + 2 ** -7 + 2 ** -9, -1 - 2 ** -4 + 2 ** -9, -1 - 2 ** -7 + 2 ** -9])):
            self.gemm("a.npy", "b.npy", "-o", "d.npy", *HOPPER, *words)
            found = list(self.read("d")[-4:]) if "e4m3" in words else self.values("d")
            self.assertEqual(found, wanted, words)

    def test_transposed_and_named_matrices(self):
        turned = [list(column) for column in zip(*self.b)]
        self.write("two.safetensors", safetensors(*(
            (name, "F16", [len(rows), len(rows[0])], packed("<f2", *[x for row in rows for x in row]))
            for name, rows in (("w", turned), ("x", self.a)))))
        self.gemm("two.safetensors:x", "two.safetensors:w", "-o", "d.npy", "--transpose-b", *HOPPER)
        self.assertEqual(self.values("d"), self.flat())

    def test_on_a_device_are_the_same_bytes(self):
        self.write("c", matrix("<f4", [[0.5, -1, 2e-9]] * 5))
        self.write("ai", matrix("|i1", self.a))
        self.write("bi", matrix("|i1", self.b))
        halves, whole = ("a.npy", "b.npy"), ("ai.npy", "bi.npy")
        products = (
            (*halves, *HOPPER), (*halves, "c.npy", *HOPPER, "--alpha", "0.3", "--beta", "-2", "--out-format", "f16"),
            (*halves, "c.npy", *HOPPER, "--c-first", "--floor", "-3"),
            (*halves, *HOPPER, "--out-format", "e2m1", "--out-rounding", "rs", "--seed", "3"),
            (*halves, "--arch", "sm_80", "--instruction", "wmma.m16n16k16.f16.f16.f16.f32"),
            (*halves, "--instruction", "fma.rn.f16.f16.f16.f16"),
            (*whole, "--arch", "sm_80", "--instruction", "mma.m16n8k32.s32.s8.s8.s32"))
        for words in products:
            here = self.gemm(*words, "-o", "here.safetensors")
            for device in (("--emulated", "sm_90"), ("--device", "--emulated", "sm_75")):
                there = self.gemm(*words, "-o", "there.safetensors", *device)
                self.assertEqual(there, here + f"sums on emulated {device[-1]}: by the emulator's arithmetic\n")
                self.assertEqual(self.read("here.safetensors"), self.read("there.safetensors"), words)

    def test_an_account_is_made_beside_a_device(self):
        said = self.gemm("a.npy", "b.npy", *HOPPER, "-o", "d.npy", "--account", "d.json", "--emulated", "sm_90")
        self.assertIn("sums on emulated sm_90: ", said)
        self.assertIn("--emulated out", self.complaint("gemm", "a.npy", "b.npy", *HOPPER, "--account", "e.json",
                                                       "--emulated", "sm_90"))

    def test_what_no_device_sums_is_refused(self):
        for option, value in (("--promote-every", "2"), ("--split", "2"), ("--k-order", "descending")):
            for device in (("--device",), ("--emulated", "sm_90")):  # told with or without a GPU
                self.assertIn(f"leave {option} out", self.complaint(
                    "gemm", "a.npy", "b.npy", *HOPPER, "-o", "d.npy", *device, option, value))
        self.assertFalse(os.path.exists(self.path("d.npy")))

    def test_without_a_gpu_nothing_is_written(self):
        self.no_gpu("gemm", "a.npy", "b.npy", *HOPPER, "-o", "new/d.npy")

    def test_bytes_do_not_depend_on_threads(self):
        results = []
        for threads in ("1", "2", "7"):
            self.gemm("a.npy", "b.npy", "-o", "d.safetensors", *HOPPER, "--split", "2", BINADE_THREADS=threads)
            results.append(self.read("d.safetensors"))
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])
        self.assertIn(b'"binade.options":"--split 2"', results[0])

    def test_the_account_is_text_a_page_and_data_that_agree(self):
        said = self.gemm("a.npy", "b.npy", "--account", "account.json", *HOPPER)
        self.assertEqual(self.read_json("account.json")["schema"], "binade.gemm_account/1")
        self.assertIn("15 elements: 15 exact", said)
        self.assertEqual(self.gemm("a.npy", "b.npy", "-o", "d.npy", "--account", "account.html", *HOPPER).split("\n", 1)[1],
                         said)
        self.assertIn('"schema":"binade.gemm_account/1"', self.read("account.html").decode())
        self.assertEqual(self.values("d"), self.flat())

    def test_options_without_effect_on_the_product_are_refused(self):
        plain = ("gemm", "a.npy", "b.npy", "-o", "no.npy")
        chain = ("--instruction", "fma.rn.f32.f16.f16.f32")
        nothing_added = "where the epilogue adds neither C nor a bias"
        for words, option, because in (
                ((*plain, *HOPPER, "--partial", "f16"), "--partial", "without --split"),
                ((*plain, *HOPPER, "--reduce-in", "f16"), "--reduce-in", "without --split"),
                ((*plain, *HOPPER, "--beta", "2"), "--beta", "without C"),
                ((*plain, "c.npy", *HOPPER, "--beta", "2", "--c-first"), "--beta", "with --c-first"),
                ((*plain, *HOPPER, "--c-first"), "--c-first", "without C"),
                ((*plain, *HOPPER, "--alpha", "2", "--fused", "beta"), "--fused", nothing_added),
                ((*plain, "c.npy", *HOPPER, "--beta", "0", "--fused", "beta"), "--fused", nothing_added),
                ((*plain, *HOPPER, "--epilogue-format", "f16"), "--epilogue-format", nothing_added + " and alpha is 1"),
                ((*plain, *HOPPER, "--sum-format", "f32"), "--sum-format", "which holds every sum"),
                ((*plain, *HOPPER, "--out-format", "bf16", "--out-through", "bf16"), "--out-through", "through which nothing"),
                ((*plain, *HOPPER, "--out-rounding", "rz"), "--out-rounding", "where D holds every number"),
                ((*plain, *HOPPER, "--out-format", "bf16", "--seed", "1"), "--seed", "without --out-rounding stochastic"),
                ((*plain, "--arch", "sm_90", *chain), "--arch", "on a chain of rounded operations"),
                ((*plain, "--arch", "sm_80", "--instruction", "mma.m16n8k32.s32.s8.s8.s32", "--k-order", "descending"),
                 "--k-order", "on a product of integers"),
                ((*plain, "--instruction", "fma.rn.f64.f64.f64.f64", "--round"), "--round", "on operands of binary64"),
                *(((*plain, *c, "--arch", "sm_80", "--instruction", "mma.m16n8k32.s32.s8.s8.s32", option), option,
                   "on a product of integers") for c in ((), ("c.npy",)) for option in ("--c-first", "--round"))):
            with self.subTest(words):
                self.assertIn(f"binade: {option} has no effect {because}", self.complaint(*words))
        for words in (("--partial", "f16", "--split", "2"), ("--partial", "f32"), ("--beta", "1"),
                      ("--alpha", "2", "--epilogue-format", "f16")):
            self.gemm("a.npy", "b.npy", "-o", "d.npy", *HOPPER, *words)
        self.assertIn("--partial has no effect", self.complaint(
            "validate", "gemm", "a.npy", "b.npy", "--d", "d.npy", *HOPPER, "--partial", "f16"))
        self.assertIn("--beta has no effect", self.complaint(
            "explain", "gemm", "a.npy", "b.npy", "--element", "0", "0", *HOPPER, "--beta", "2"))

    def test_what_cannot_be_done_is_said_in_one_line_and_nothing_is_written(self):
        plain = ("gemm", "a.npy", "b.npy", "-o", "no.npy")
        for words, why in (
                ((*plain, "--instruction", HOPPER[3]), "--arch is missing"),
                ((*plain, *HOPPER[:3], "mma.m16n8k16.f32.f16.f16.f31"), "did you mean"),
                ((*plain, *HOPPER, "--split", "1"), "is not PARTS"),
                ((*plain, *HOPPER, *["--split", "2"] * 4), "4 splits; at most 3"),
                ((*plain, *HOPPER, "--split", "2", "--split", "3:stream2x2"), "give it as the first one"),
                ((*plain, *HOPPER, "--promote-every", "0"), "is not N[:halvesM][:FORMAT]"),
                ((*plain, *HOPPER, "--promote-every", "4:halves"), "is not N[:halvesM][:FORMAT]"),
                ((*plain, *HOPPER, "--split", "2:1:tail:mul_add.f64"), "is for instructions of one product"),
                ((*plain, *HOPPER, "--promote-every", "4:f33"), "f33"),
                ((*plain, *HOPPER, "--k-order", "ascending:2x3"), "must divide the instruction's k, 16"),
                ((*plain, *HOPPER, "--alpha", "inf"), "must be finite"),
                ((*plain, *HOPPER, "--fused", "gamma"), "--fused"),
                ((*plain, *HOPPER, "--out-rounding", "toward_zer"), "did you mean toward_zero"),
                (("gemm", "a.npy", "b.npy", "--account", "no.json", *HOPPER, "--relu"), "an activation makes of it: leave --relu out"),
                (("gemm", "a.npy", "a.npy", "-o", "no.npy", *HOPPER), "K is 5; A's is 19"),
                (("gemm", "a.npy", "none.npy", "-o", "no.npy", *HOPPER), "none.npy"),
                (("gemm", "a.npy", "b.npy", "-o", "no.txt", *HOPPER), "name it .npy or .safetensors"),
                (("gemm", "a.npy", "b.npy", *HOPPER), "nothing to write; give -o"),
                ((*plain, *HOPPER, "--account", "no.txt"), "name it .html or .json"),
                ((*plain, "--arch", "sm_80", "--instruction", "mma.m16n8k32.s32.s8.s8.s32"), "takes bits of s8"),
                ((*plain, "--arch", "sm_90", "--instruction", "wgmma.m64n8k16.f32.f16.f16.scale_d_0"), "leave out scale_d_0")):
            self.assertIn(why, self.complaint(*words))
            self.assertFalse(os.path.exists(self.path("no.npy")))
        self.write("odd", matrix("<f4", [[1 / 3] * 19]))
        self.assertIn("element 0 is", self.complaint("gemm", "odd.npy", "b.npy", "-o", "no.npy", *HOPPER))
        self.gemm("odd.npy", "b.npy", "-o", "d.npy", "--round", *HOPPER)


class Validate(Case):
    def setUp(self):
        super().setUp()
        self.gemm("a.npy", "b.npy", "-o", "d.npy", *HOPPER)

    def validate(self, *words, status=0):
        return self.good("validate", "gemm", "a.npy", "b.npy", *HOPPER, "--d", "d.npy", *words, status=status)

    def report(self, *words, status=0):
        return read_json(self.validate(*words, "--json", status=status))

    def change(self, i, j, by):
        """Moves an element of D by so many units in the last place."""
        data = bytearray(self.read("d"))
        start = len(data) - 4 * 15 + 4 * (3 * i + j)
        bits = struct.unpack("<I", data[start:start + 4])[0]
        data[start:start + 4] = struct.pack("<I", bits + by)
        self.write("d", data)

    def test_equal(self):
        self.assertTrue(self.validate().endswith("elements 15, equal 15, different 0\n"))
        self.assertEqual(self.report()["different"]["count"], 0)

    def test_differences_are_counted_placed_and_judged(self):
        self.change(1, 2, 1)
        self.change(4, 0, 1 << 22)
        said = self.validate(status=1)
        self.assertIn("1 █·····················█ 2^22   1 ulp: 1\n", said)
        self.assertIn("the wrong ones: 1 of 5 rows (4), 1 of 3 columns (0)\n", said)
        self.assertIn("  ···\n       4  █··\n", said)
        self.assertIn("beyond both bounds", said)
        self.assertIn("the first, (4, 0), emulated\nexact     70\nerror     0: the result is exact\nbound     ", said)
        self.assertIn(" by its rules; D is off by 32\n", said)
        self.assertIn("--d d.npy --element 4 0", said)
        self.assertTrue(said.endswith("elements 15, equal 13, different 2\n"), said)
        report = self.report(status=1)
        self.assertEqual(report["schema"], "binade.validate_gemm/1")
        self.assertEqual([(x["row"], x["column"], x["ulp_distance"]) for x in report["different"]["first"]],
                         [(1, 2, 1), (4, 0, 1 << 22)])
        self.assertEqual(report["farthest"]["row"], 4)
        self.assertEqual(report["wrong"]["first"][0]["agreement"], "beyond bound")
        self.assertEqual(report["different"]["map"]["counts"], [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0])
        self.assertEqual(report["wrong"]["by_row"], [0, 0, 0, 0, 1])
        shown = self.report("--show", "1", status=1)["different"]["first"]
        self.assertEqual(len(shown), 1)

    def test_a_kernel_that_stops_early_is_recognised(self):
        self.write("short", matrix("<f2", [row[:16] + [0] * 3 for row in self.a]))
        self.gemm("short.npy", "b.npy", "-o", "d.npy", *HOPPER)
        said = self.validate(status=1)
        self.assertIn("D is as if it were the sum after block 1, k 0…15: did it stop there?\n", said)

    def test_a_mistake_in_the_whole_of_d_is_told_of_any_arithmetic(self):
        for how in (HOPPER, ("--instruction", "fma.rn.f32.f16.f16.f32")):
            self.gemm("a.npy", "b.npy", "-o", "d.npy", *how, "--alpha", "0.125")
            call = ("validate", "gemm", "a.npy", "b.npy", *how, "--d", "d.npy")
            said = self.good(*call, status=1)
            self.assertIn("D is as if this had happened: the sum scaled by 2^-3 (15 of 15 elements that were tried are "
                          "equal so)\n", said)
            told = read_json(self.good(*call, "--json", status=1))["as_if"]
            self.assertEqual((told[0]["words"], told[0]["equal"], told[0]["tried"]), ("the sum scaled by 2^-3", 15, 15))

    def test_the_dtype_of_d_is_the_output_format(self):
        self.gemm("a.npy", "b.npy", "-o", "d.npy", *HOPPER, "--out-format", "f16")
        self.assertEqual(self.report()["options"], "--out-format f16")
        self.assertEqual(self.report("--out-format", "tf32")["options"], "--out-format tf32")
        said = self.run_binade("explain", "gemm", "a.npy", "b.npy", *HOPPER, "--d", "d.npy", "--element", "1", "2")
        self.assertTrue(said.stdout.decode().endswith("equal\n"), said)

    def test_a_d_that_does_not_fit(self):
        self.write("d", matrix("<f4", [[0.0] * 2] * 5))
        self.assertIn("shape (5, 2); D is of shape (5, 3) here",
                      self.complaint("validate", "gemm", "a.npy", "b.npy", *HOPPER, "--d", "d.npy"))


if __name__ == "__main__":
    main()
