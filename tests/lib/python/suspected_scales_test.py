# SPDX-License-Identifier: Apache-2.0
"""identify_scales() on scales that are ill in known ways.

    python suspected_scales_test.py BINADE
"""

import numpy as np

import binade
from cli_case import main
from made_scales import (
    F, Supposes, bits, e2m1, e4m3, e4m3_number, floor_rule, found, mx, numbers, packed, quantized, rounded_to_bfloat16,
    swizzled_128x4, te_nvfp4, up_rule,
)


class SuspectedScales(Supposes):
    def test_scales_that_are_something_else(self):
        x = numbers((32, 256), 11)
        codes, scales, _ = quantized(x, "mxfp4", "torchao_rceil")
        held = packed(codes)
        self.supposes(x, held, 254 - scales, None, "scales", "stored is 1/scale")
        self.supposes(x, held, scales - 3, None, "scales", r"scales times 2\^-3")
        self.supposes(x, held, (scales.astype(int) - 127).astype(np.int8), None, "scales", "the exponent, without the bias of 127")
        self.supposes(x, held, np.roll(scales.reshape(-1), 1).reshape(scales.shape), None, "scales", "of the previous block",
                      scales.size - 1)
        one = scales.copy()
        one[9] = np.roll(one[9], 1)
        self.supposes(x, held, one, None, "scales", "row 9 of scales: each the scale of the previous block")
        one[9] = scales[20]
        self.supposes(x, held, one, None, "scales", "row 9 of scales: those of row 20")
        squares = np.abs(x).reshape(1, 32, 8, 32).max(axis=(1, 3)).repeat(32, axis=0)
        scale = up_rule(squares, "e2m1")
        codes = e2m1(x.reshape(32, 8, 32) * np.ldexp(F(1), 127 - scale)[..., None].astype(F)).reshape(x.shape)
        self.supposes(x, packed(codes), scale.astype(np.uint8), None, "scales", "amaxes of 32 × 32 numbers")

    def test_numbers_of_binary32_in_the_place_of_scales(self):
        x = numbers((16, 512), 12)
        codes, scales, _ = quantized(x, "fp8_1x128", "vllm")
        self.supposes(x, codes, F(1) / scales, None, "scales", "stored is 1/scale")
        self.supposes(x, codes, scales * F(448), None, "scales", "times 448|amax of each block")
        cut = (scales.view(np.uint32) & 0xFFFF0000).view(F)
        self.supposes(x, codes, cut, None, "scales", "scales rounded to bfloat16, toward_zero")
        codes, scales, _ = quantized(rounded_to_bfloat16(x), "fp8_1x128", "vllm")
        self.supposes(x, codes, scales, None, "scales", "numbers rounded to bfloat16 first")
        self.supposes(x, codes, scales, None, "codes", "numbers rounded to bfloat16 first")

    def test_the_reading_is_that_for_which_codes_speak(self):
        x = numbers((96, 256), 20)
        for name, element, of, power in (("mxfp4", "e2m1", "e4m3", 6), ("mxfp8_e4m3", "e4m3", "e4m3", 4)):
            extra = 4 if of == element else 0  # so small that most codes are the largest
            codes, scales, _ = mx(lambda amax, _, of=of, extra=extra: floor_rule(amax, of) - extra)(x.reshape(96, 8, 32), element)
            codes = codes.reshape(x.shape)
            where = rf"\({name} along axis 1, row_major\)"
            self.supposes(x, codes, scales, None, "scales", rf"scales times 2\^-{power} {where}")
            self.supposes(x, codes, scales, None, "codes", f"scales as stored {where}, the step of ocp")
            told = {h["what"]: h for h in found(x, codes, scales)[0]["hypotheses"]}
            for what, kind, factor in (("scales", "factor", 2.0 ** -power), ("codes", "stored_scales", None)):
                row = told[what]
                self.assertEqual((row["kind"], row["factor"], row["reading"]["format"], row["reading"]["axis"]), (kind, factor, name, 1))

    def test_a_factor_between_few_scales_is_not_told(self):
        x = numbers((16, 128), 21)
        scale = np.abs(x).max() / F(448)
        told, text = found(x, e4m3(x / scale), np.array([scale * F(1.37)]))
        rows = [h for h in told["hypotheses"] if h["what"] == "scales"]  # of one scale an earlier step's amax is
        self.assertEqual([(h["kind"], h["equal"]) for h in rows], [("other_amax", 1)], text)
        self.assertIn("1.37 times the tensor's, where the tensor's is 11.6215: of another tensor, or of a step before", rows[0]["words"])
        told, text = found(x, e4m3(x / scale), np.array([scale * F(137)]))
        self.assertFalse([h for h in told["hypotheses"] if h["what"] == "scales"], text)

    def test_a_scale_of_the_tensor_that_is_nan(self):
        x = np.random.default_rng(3).standard_normal((4, 64)).astype(F)
        x[0, 0] = np.nan
        self.assertIn("modelopt", {name for row in binade.identify_scales(
            x, *binade.encode(x, "nvfp4", scale_rule="modelopt")).rules for name in row})

    def test_gradients_in_e5m2_need_no_format(self):
        x = np.random.default_rng(4).standard_normal((8, 256)).astype(F)
        for spec in ("e5m2:block=1x128:scale=binary32", "e4m3fnuz:block=tensor:scale=binary32"):
            codes, scales, _ = binade.encode(x, spec, scale_rule="torchao")
            self.assertNotEqual(binade.identify_scales(x, codes, scales).conclusion, "none", spec)

    def test_another_scale_of_the_tensor(self):
        x = numbers((32, 128), 13)
        blocks = x.reshape(32, -1, 16)
        codes, scales, tensor = te_nvfp4(blocks, "e2m1", amax=np.abs(x).max() * F(1.3))
        self.supposes(x, packed(codes.reshape(x.shape)), scales, tensor, "scales", "the scale of the tensor as stored")
        self.supposes(x, packed(codes.reshape(x.shape)), scales, tensor, "codes", "the scale of the tensor as stored")
        codes, scales, _ = te_nvfp4(blocks, "e2m1", amax=F(2688))
        self.supposes(x, packed(codes.reshape(x.shape)), scales, np.abs(x).max() / F(2688), "scales", "no scale of the tensor")

    def test_one_scale_for_all_blocks_and_one_code_for_all(self):
        x = np.clip(np.random.default_rng(28).standard_normal((64, 256)), -3, 3).astype(F)
        x[:, ::128] = 3
        scales = np.full((64, 8), 121, np.uint8)
        codes = e4m3(x * F(64))
        # A quarter of these scales would be torchao_ceil's of 64 × 2 blocks in tiles.
        self.supposes(x, codes, scales, None, "scales", r"^every scale is 0\.015625 \(79\), whatever its block: that of the tensor.s amax by torchao_ceil \(mxfp8_e4m3 along axis 1, row_major")
        blocks = x.reshape(64, 8, 32)
        scales = up_rule(np.abs(blocks).max(axis=-1), "e4m3").astype(np.uint8)
        told, text = found(x, np.zeros((64, 128), np.uint8), np.zeros((64, 8), np.uint8))
        zeros = f"every code is a zero, of {np.count_nonzero(x):,} numbers that are not"
        self.assertTrue([h for h in told["hypotheses"] if h["what"] == "codes" and h["words"].startswith(zeros)], text)
        for code in (0x7F, 0):
            told, text = found(x, np.full(x.shape, code, np.uint8), scales)
            self.assertEqual([h["what"] for h in told["hypotheses"]], [] if code else ["codes"], text)
            self.assertRegex(text, r"Nearest(.|\n)*?512 of 512 scales(.|\n)*?mxfp8_e4m3 along\s+axis 1")

    def test_blocks_of_zeros_may_have_any_scale(self):
        x = numbers((64, 256), 61)
        x[::3] = 0
        x[1, 7] = -0.0
        where = (x.reshape(64, 8, 32) == 0).all(axis=-1)
        codes, scales, _ = quantized(x, "mxfp8_e4m3", "te")
        other = np.where(where, 0x7F, scales).astype(np.uint8)
        self.supposes(x, codes, other, None, "scales", f"every scale but those of {where.sum()} blocks of zeros, which are all 7F")
        self.supposes(x, codes, np.where(where, scales, scales + 1).astype(np.uint8), None, "scales", r"scales times 2\^1, but in blocks of zeros")
        self.supposes(x, np.where(codes == 0x80, 0, codes), scales, None, "codes", "zeros without a sign")
        relu = np.where(x > 0, x, F(0))
        codes, scales, _ = quantized(relu, "mxfp8_e4m3", "te")
        self.supposes(x, codes, scales, None, "codes", "the step of [a-z_0-9]*, numbers below zero taken as zeros first")
        scales = np.sqrt(np.abs(x).reshape(64, 2, 128).max(axis=-1))  # of no rule
        zeros = scales == 0
        codes = e4m3(x.reshape(64, 2, 128) / np.where(zeros, F(1), scales)[..., None])
        codes[zeros] = 0xFF
        self.supposes(x, codes.reshape(x.shape), scales, None, "codes", "codes of zeros are NaN, as 0/0 gives")

    def test_the_scale_of_the_tensor_by_another_division(self):
        def divided(amax):
            return amax / F(448) / F(6), amax / F(2688), F(1) / (F(2688) / amax)

        x = next(x for seed in range(64) if divided(np.abs(x := numbers((32, 128), seed)).max())[0] not in divided(np.abs(x).max())[1:])
        codes, scales, _ = quantized(x, "nvfp4", "te")
        stored = divided(np.abs(x).max())[0]
        told, text = found(x, packed(codes), scales, stored)
        self.assertIn("an amax that is the tensor's, by another way of dividing, an ulp from the rule's", str(told["hypotheses"]), text)
        told, text = found(x, packed(np.zeros_like(codes)), scales, stored)
        self.assertIn("every code is a zero", str(told["hypotheses"]), text)

    def test_scales_applied_twice_or_stored_as_narrow_reciprocals(self):
        x = numbers((16, 256), 37)
        codes, scales, _ = quantized(x, "fp8_1x128", "vllm")
        for stored, words in ((rounded_to_bfloat16(F(1) / scales), "stored is 1/scale, rounded to bfloat16"),
                              ((F(1) / scales).astype(np.float16).astype(F), "stored is 1/scale, rounded to binary16"),
                              ((F(1) / scales).astype(np.float16), r"stored is 1/scale \(")):
            self.supposes(x, codes, stored, None, "scales", words)
        twice = e4m3(x.reshape(16, 2, 128) / scales[..., None] / scales[..., None]).reshape(x.shape)
        self.supposes(x, twice, scales, None, "codes", "scales as stored, applied twice")
        codes, scales, tensor = quantized(x, "nvfp4", "te")
        own = e4m3_number(np.abs(x.reshape(16, -1, 16)).max(axis=-1) * (F(1) / tensor * (F(1) / F(6))))
        alone = e2m1(x.reshape(16, -1, 16) * F(64) / own[..., None]).reshape(x.shape)
        self.supposes(x * F(64), packed(alone), scales, tensor * F(64), "codes", "no scale of the tensor under those of blocks")

    def test_the_scale_of_the_tensor_is_off_or_of_a_part(self):
        x = numbers((32, 128), 45)
        x[20, 70] = 20
        blocks, amax = x.reshape(32, -1, 16), np.abs(x).max()
        own = amax / F(2688)
        left, quarter = np.abs(x[:16]).max(), np.abs(x[:, :32]).max()
        self.assertLess(max(left, quarter), amax)
        for given, stored, words in ((amax * F(1.5), "1.5 times the tensor's", "an amax of 30, 1.5 times the tensor's"),
                                     (left, "perhaps .*that of part 1 of 2 of the rows", "perhaps .*that of part 1 of 2 of the rows"),
                                     (amax * F(1.3137), "1.314 times the tensor's", r"an amax of about 26.\d\d, 1\.31\d* times the tensor's")):
            codes, scales, tensor = te_nvfp4(blocks, "e2m1", amax=given)
            codes = packed(codes.reshape(x.shape))
            self.supposes(x, codes, scales, tensor, "codes", f"the scale of the tensor as stored, .*{stored}.*, where")
            self.supposes(x, codes, scales, None if given < amax else own, "scales", f"a scale of the tensor .*{words}")
        codes, scales, tensor = te_nvfp4(blocks, "e2m1")
        codes = packed(codes.reshape(x.shape))
        for stored, words in ((F(448) / F(256), "448/256 times the tensor's"), (F(1.3137), "1.314 times the tensor's")):
            told, text = found(x, codes, scales, own * stored)
            self.assertEqual([h["what"] for h in told["hypotheses"]], ["tensor_scale"], text)
            self.assertIn(f"the stored scale of the tensor is of an amax that is {words}", told["hypotheses"][0]["words"])
        for part, words in ((left, "part 1 of 2 of the rows"), (quarter, "part 1 of 4 of the columns")):
            scale = part / F(448)
            self.supposes(x, e4m3(x / scale), np.array(scale), None, "scales", f"the scale is as of an amax of .*, perhaps .*that of {words}.*, where the tensor's is 20")

    def test_what_fills_orders_up_and_zeros_are_no_reason(self):
        rng = np.random.default_rng(27)
        for shape in ((136, 32),):
            x = numbers(shape, 27)
            codes, scales, tensor = quantized(x, "nvfp4", "te")
            for ill in (rng.permutation(scales.reshape(-1)).reshape(scales.shape), rng.integers(1, 126, scales.shape, np.uint8)):
                told, text = found(x, packed(codes), swizzled_128x4(ill), tensor)
                self.assertEqual((told["conclusion"], told["hypotheses"]), ("none", []), text)
                self.assertEqual((told["nearest"][0]["reading"]["format"], told["nearest"][0]["codes"]["equal"]), ("nvfp4", x.size), text)
            told, text = found(x, packed(codes), np.zeros_like(scales), tensor)
            self.assertIn("every scale is 0 (00), whatever its block, as if none had been written", told["hypotheses"][0]["words"], text)
            full = swizzled_128x4(scales)
            self.supposes(x, packed(codes), full + (full > 0).astype(np.uint8), tensor, "scales", r"the code of each scale is 1 above \(nvfp4 .*128x4\)")
            told, text = found(x, packed(codes), np.where(full == 0, 0x38, full).astype(np.uint8), tensor)
            self.assertEqual({row["reading"]["scale_layout"] for row in told["explain"]}, {"128x4"}, text)
            self.assertEqual("that fill the order up hold other bits than 0" in text, bool((full == 0).any()), text)
        # Orders of a few scales, which may be equal by chance, look past most of what is stored.
        x = rng.standard_normal((128, 128)).astype(F)
        full = swizzled_128x4(rng.permutation(quantized(x, "mxfp8_e4m3", "te")[1].reshape(-1)).reshape(128, 4))
        full[0, 0] = floor_rule(np.abs(x).max(), "e4m3")
        told, text = found(x, rng.integers(0, 127, x.shape, np.uint8), full)
        self.assertEqual(told["nearest"][0]["reading"]["format"], "mxfp8_e4m3", text)
        x = rng.standard_normal((64, 256)).astype(F)
        codes, scales, _ = quantized(x, "mxfp8_e4m3", "te")
        self.supposes(x, codes, np.full_like(scales, scales.max()), None, "scales", "every scale is .*, whatever its block")
        self.assertEqual(found(x, codes, rng.permutation(scales.reshape(-1)).reshape(scales.shape))[0]["hypotheses"], [])
        x = np.where(rng.random(x.shape) < 0.9, F(0), np.abs(x) + F(0.01))
        x[:, ::16] += F(0.001)
        codes, scales, tensor = quantized(x, "nvfp4", "te")
        self.supposes(x, packed(codes), np.roll(scales, 1, 0), tensor, "scales", "the scale of the previous row", scales.size - 16)
        text = found(np.zeros((64, 64), F), np.zeros((64, 32), np.uint8), np.zeros((64, 4), np.uint8), F(1))[1]
        self.assertIn("several: every number is 0, which cannot tell rules", text)

    def test_a_number_that_is_not_the_amax_may_be_several(self):
        x = numbers((32, 128), 46)
        x[20, 70], x[3, 5] = -20, 19  # -min(x) of all, and max(x), which is the amax of the first half of rows, too
        most = x.max()
        scale = most / F(448)
        told, text = found(x, e4m3(x / scale), np.array(scale))
        words = told["hypotheses"][0]["words"]
        self.assertRegex(words, r"an amax of 19, perhaps max\(x\), not max\|x\|, that of part 1 of 2 of the rows or of less of it "
                                r"or that of part 1 of 2 of the columns or of less of it, where the tensor's is 20")
        self.assertEqual(told["hypotheses"][0]["kind"], "other_amax")
        codes, scales, tensor = te_nvfp4(x.reshape(32, -1, 16), "e2m1", amax=most)
        codes = packed(codes.reshape(x.shape))
        for stored in (tensor, None):
            self.supposes(x, codes, scales, stored, "scales", r"amax (of )?19, perhaps max\(x\), not max\|x\|, that of part 1 of 2 of the rows")

    def test_amaxes_that_are_rounded_or_of_numbers_above_zero(self):
        x = numbers((64, 256), 47)
        amax = np.abs(x).max(axis=1)
        for name, held in (("bfloat16", rounded_to_bfloat16), ("binary16", lambda y: y.astype(np.float16).astype(F))):
            for given, words in ((x, f"amaxes rounded to {name}"), (held(x), f"numbers rounded to {name} first")):
                scale = held(amax) / F(448)
                self.supposes(x, e4m3(given / scale[:, None]), scale[:, None].copy(), None, "scales", rf": {words} \(fp8_row")
        for given, words in ((x, r"amaxes that are max\(x\), not max\|x\|"), (np.maximum(x, 0), "numbers below zero taken as zeros first")):
            scale = x.max(axis=1) / F(448)
            self.supposes(x, e4m3(given / scale[:, None]), scale[:, None].copy(), None, "scales", rf": {words} \(fp8_row")
        # Codes of few bits are the same of both.
        few = np.exp2(np.round(numbers((64, 256), 48))).astype(F)
        few[:, 5] = F(300.123)
        scale = rounded_to_bfloat16(few.max(axis=1)) / F(448)
        told, text = found(few, e4m3(few / scale[:, None]), scale[:, None].copy())
        self.assertRegex(text, "codes\\s+do\\s+not\\s+tell|amaxes\\s+rounded")

    def test_a_scale_of_the_tensor_that_is_rounded_or_none(self):
        x = numbers((32, 128), 49)
        codes, scales, tensor = quantized(x, "nvfp4", "te")
        told, text = found(x, packed(codes), scales, rounded_to_bfloat16(tensor))
        self.assertEqual([h["kind"] for h in told["hypotheses"]], ["tensor_scale_factor"], text)
        self.assertIn("the tensor's scale is rounded to bfloat16", told["hypotheses"][0]["words"])
        told, text = found(x, packed(codes), scales, tensor * F(1.0000004))
        self.assertRegex(told["hypotheses"][0]["words"], r"of an amax that is (1\.0000\d+ times the tensor's|the tensor's but for its last bits)$")


if __name__ == "__main__":
    main()
