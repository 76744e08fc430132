# SPDX-License-Identifier: Apache-2.0
"""identify_scales() on quantizers that are written here in NumPy's own float32, from the formulas of stacks: healthy ones in
several formats, axes and orders of scales, and ill ones in known ways. A rule of the table whose formula stands here is among
those that explain all if, and only if, this test's formula gives the same bits.

    python identify_scales_test.py BINADE
"""

import unittest

import numpy as np

import binade
from cli_case import main
from made_scales import F, RULES, bits, e2m1, e4m3, found, mx, numbers, packed, quantized, swizzled_128x4, up_rule, words_along_m


class Explained(unittest.TestCase):
    def explains(self, x, name, rule, codes, scales, tensor, layout="row_major", of_transpose=False, axis=1, transposed=False,
                 rounding="ties_to_even", how="low_first"):
        """The rules that are told in this reading are those whose formulas give these bits."""
        told, text = found(x, codes, scales, tensor, show=50)
        self.assertNotEqual(told["conclusion"], "none", text)
        here = [row for row in told["explain"] if row["reading"]["format"] == name and row["reading"]["axis"] == axis
                and row["reading"]["transposed"] == transposed and layout in row["reading"]["same_scale_layouts"]
                and row["reading"]["scale_layout_of_transpose"] == of_transpose and rounding in row["roundings"]
                and row["codes"] == how]
        rules = {one for row in here for one in row["rules"]}
        self.assertIn(rule, rules, text)
        for row in told["nearest"]:
            self.assertNotEqual((row["scales"]["equal"], row["codes"]["equal"], row["tensor_scale"]["fit"] == "different"),
                                (row["scales"]["of"], row["codes"]["of"], False), text)
        return rules

    def test_a_rule_is_told_if_and_only_if_its_formula_gives_these_bits(self):
        separated = 0
        for name, (element, _, rules) in RULES.items():
            x = numbers((32, 256), 7)
            made = {rule: quantized(x, name, rule) for rule in rules}
            for rule, (codes, scales, tensor) in made.items():
                with self.subTest(format=name, rule=rule):
                    stored = packed(codes) if element == "e2m1" else codes
                    told = self.explains(x, name, rule, stored, scales, tensor)
                    for other, (a, b, t) in made.items():
                        same = (a == codes).all() and (b == scales).all() and t == tensor
                        self.assertEqual(other in told, bool(same), (other, told))
                        separated += not same
        self.assertGreater(separated, 15)

    def test_axes_transposes_orders_halves_and_roundings(self):
        x = numbers((160, 128), 3)
        codes, scales, tensor = quantized(x, "nvfp4", "te")
        self.explains(x, "nvfp4", "te", packed(codes), swizzled_128x4(scales), tensor, "128x4")
        self.explains(x, "nvfp4", "te", packed(codes), scales.T.copy(), tensor, of_transpose=True)
        self.explains(x, "nvfp4", "te", packed(codes, 1), scales, tensor, how="high_first")
        self.explains(x, "nvfp4", "te", codes, scales, tensor)
        codes, scales, _ = quantized(x, "mxfp8_e4m3", "te", axis=0)
        self.explains(x, "mxfp8_e4m3", "te", codes, scales, None, axis=0)
        turned = np.ascontiguousarray(x.T)
        codes, scales, _ = quantized(turned, "mxfp4", "torchao_rceil")
        self.explains(x, "mxfp4", "torchao_rceil", packed(codes), scales, None, transposed=True)
        codes, scales, _ = quantized(x, "mxfp4", "torchao_even", coded=lambda y: e2m1(y, to_nearest=False))
        self.explains(x, "mxfp4", "torchao_even", packed(codes), scales, None, rounding="toward_zero")
        long = numbers((8, 1024), 5)
        codes, scales, _ = mx(up_rule)(long.reshape(8, -1, 128), "e4m3")
        self.explains(long, "e4m3:block=1x128:scale=e8m0", "deepgemm", codes.reshape(8, 1024), words_along_m(scales), None, "deepgemm")

    def test_blocks_of_another_size(self):
        x = numbers((128, 512), 28)
        scales = np.abs(x.reshape(128, 8, 64)).max(axis=-1) / F(448)
        self.explains(x, "e4m3:block=1x64:scale=binary32", "vllm", e4m3(x / scales.repeat(64, axis=1)), scales, None)
        scales = np.abs(x.reshape(2, 64, 8, 64)).max(axis=(1, 3)) / F(448)
        self.explains(x, "e4m3:block=64x64:scale=binary32", "vllm", e4m3(x / np.kron(scales, np.ones((64, 64), F))), scales, None)

    def test_transformer_engine_s_scales_of_blocks_of_128(self):
        for shape in ((256, 1200), (70, 700), (256, 512)):
            x = numbers((shape[0], 1200), 30)[:, :shape[1]]
            rows, columns = -(-shape[0] // 128), -(-shape[1] // 128)
            full = np.pad(x, ((0, rows * 128 - shape[0]), (0, columns * 128 - shape[1])))
            blocks = full.reshape(rows, 128, columns, 128)
            for name, axes in (("fp8_128x128", (1, 3)), ("fp8_1x128", 3)):
                amax = np.abs(blocks).max(axis=axes, keepdims=True)
                encode = (bits(F(448) / np.maximum(amax, F(1e-30))) >> 23 << 23).astype(np.uint32).view(F)
                codes = e4m3(blocks * encode).reshape(full.shape)[:shape[0], :shape[1]].copy()
                scales = (F(1) / encode).reshape(-1, columns)
                if name == "fp8_1x128":
                    scales = np.pad(scales[:shape[0]], ((0, -shape[0] % 4), (0, 0))).T.copy()
                else:
                    scales = np.pad(scales, ((0, 0), (0, -columns % 4)))
                self.explains(x, name, "te_pow2", codes, scales, None, "te_1d" if name == "fp8_1x128" else "te_2d" if columns % 4 else "row_major")
                if shape[0] == 70:
                    continue
                told, text = found(x, codes, np.random.default_rng(1).permutation(scales.reshape(-1)).reshape(scales.shape))
                self.assertEqual((told["conclusion"], told["nearest"][0]["reading"]["format"]), ("none", name), text)
                self.assertNotRegex(text, "block=(?!1x128|128x128)")

    def test_a_stack_of_tensors_each_with_its_scale(self):
        x = np.stack([numbers((32, 128), 29 + i) * F(i + 1) for i in range(3)])
        codes, scales, tensors = (np.stack(all) for all in zip(*(quantized(one, "nvfp4", "te") for one in x), strict=True))
        codes = np.stack([packed(one) for one in codes])
        for options in ({"tensor_scale": tensors}, {"stack": True}):
            told = binade.identify_scales(x, codes, scales, **options)
            self.assertEqual([one["name"] for one in told.to_dict()["tensors"]], ["[0]", "[1]", "[2]"])
            self.assertIn("te", told.rules[0])
            self.assertEqual(told.conclusion, "several")
        self.assertEqual(binade.identify_scales(x, codes, scales, tensors[[0, 2, 1]]).conclusion, "none")
        told, text = found(x, codes, scales, tensors[0])
        self.assertRegex(told["hypotheses"][0]["words"], "te.*: each of 3 tensors along axis 0 has a scale of its own", text)
        self.assertEqual(told["hypotheses"][0]["equal"], scales.size)
        with self.assertRaisesRegex(ValueError, r"F32 \(2,\), where the scale of a tensor is one number.*or of each of 3"):
            binade.identify_scales(x, codes, scales, tensors[:2])

    def test_every_form_of_the_scale_of_a_tensor(self):
        x = numbers((16, 128), 4)
        codes, scales, tensor = quantized(x, "nvfp4", "te")
        for given, part in ((tensor, "decode"), (F(2688) / np.abs(x).max(), "encode"), (np.abs(x).max(), "amax")):
            told, text = found(x, packed(codes), scales, given)
            fit = next(row["tensor_scale"] for row in told["explain"] if "te" in row["rules"])
            self.assertEqual(fit, {"fit": "equal", "part": part}, text)
        told, text = found(x, packed(codes), scales)
        self.assertEqual({row["tensor_scale"]["fit"] for row in told["explain"]}, {"absent"}, text)
        self.assertIn("the scale of the tensor is not given", text)


class DtypeOfNumbers(unittest.TestCase):
    def test_rules_compute_in_the_dtype_of_the_numbers(self):
        wide = numbers((16, 512), 9)
        x = wide.astype(np.float16)
        blocks = x.astype(F).reshape(16, 4, 128)
        amax = np.abs(blocks).max(axis=-1)

        def made(scale):
            return e4m3(blocks / scale[..., None]).reshape(x.shape), scale

        in_half, in_single = made((amax / F(448)).astype(np.float16).astype(F)), made(amax / F(448))
        self.assertGreater((in_half[1] != in_single[1]).mean(), 0.5)
        for given, made_of_it, is_told in ((x, in_half, True), (x.astype(F), in_single, True), (x, in_single, False)):
            told, text = found(given, *made_of_it)
            self.assertEqual("torchao_inference" in {one for row in told["explain"] for one in row["rules"]}, is_told, text)
        # Numbers of binary16 that stand in binary32.
        told, text = found(x.astype(F), *in_half)
        self.assertEqual(told["conclusion"], "none", text)
        first = told["hypotheses"][0]
        self.assertEqual((first["what"], first["equal"]), ("scales", first["of"]), text)
        self.assertIn("binary16", first["words"])


class Refused(unittest.TestCase):
    def test_arrays_that_fit_no_format(self):
        x = np.ones((4, 64), F)
        codes, scales = np.zeros((4, 64), np.uint8), np.zeros((4, 2), np.uint8)
        for arguments, options, words in (((x, codes, np.zeros((4, 3), np.uint8)), {}, "fit no block format that is known"),
                                          ((x, codes[:3], scales), {}, "fit no block format"),
                                          ((x, codes, scales), {"format": "nvfp4"},
                                           r"fit no blocks of nvfp4; .* codes U8 \(4, 32\), scales F8_E4M3 or U8 \(4, 4\), as 128x4 \(128, 4\)"),
                                          ((x, codes.astype(int), scales), {}, "store codes in U8, a byte each, not in I64"),
                                          ((x, codes, scales), {"format": "mxfp8"}, "did you mean mxfp8_e4m3 or mxfp8_e5m2?"),
                                          ((x, codes, scales), {"format": "mxpf4"}, "mxpf4"),
                                          ((codes, codes, scales), {}, "no floating-point numbers"),
                                          ((x, codes, scales, 0.1), {}, "binary32 does not have")):
            with self.assertRaisesRegex(ValueError, words):
                binade.identify_scales(*arguments, **options)


if __name__ == "__main__":
    main()
