# SPDX-License-Identifier: Apache-2.0
"""identify_scales() on codes that are ill in known ways under a rule's scales, and on noise, which is no reason.

    python suspected_codes_test.py BINADE
"""

import unittest

import numpy as np

import binade
from cli_case import main
from made_scales import (
    E2M1, F, Supposes, bits, e2m1, e4m3, e5m2, field, found, numbers, packed, quantized, rounded_to_bfloat16, up_rule,
)

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


class SuspectedCodes(Supposes):
    def test_numbers_that_were_slightly_other_are_no_rounding(self):
        for seed in (70, 71, 72):
            x = numbers((64, 256), seed)
            for name, rule in (("mxfp8_e4m3", "te"), ("mxfp4", "ocp")):
                codes, scales, _ = binade.encode(x, name, scale_rule=rule)
                for other in (x * F(1 - 2**-11), x * F(1 + 2**-9), x.astype(np.float16).astype(F)):
                    told = binade.identify_scales(other, codes, scales, format=name).to_dict()["tensors"][0]["hypotheses"]
                    self.assertFalse([one for one in told if "rounded" in one["words"] and one["equal"] < one["of"]], told)

    def test_codes_that_are_something_else(self):
        x = numbers((32, 256), 14)
        codes, scales, _ = quantized(x, "mxfp4", "torchao_rceil")
        self.supposes(x, packed(codes << 1 & 15 | codes >> 3), scales, None, "codes", "sign in the lowest bit")
        self.supposes(x, packed(codes & 7), scales, None, "codes", "without their signs")
        self.supposes(x, packed(np.where(codes & 8, 16 - (codes & 7) & 15, codes)), scales, None, "codes", "two's complement")
        for some in (np.arange(x.size) == 1000, np.arange(x.size) % 3 == 0):  # no draw of random numbers gives these
            told, text = found(x, packed(codes ^ some.reshape(x.shape)), scales)
            self.assertEqual(told["hypotheses"], [], text)
        rng = np.random.default_rng(15)
        down = e2m1(x.reshape(32, 8, 32) * np.ldexp(F(1), 127 - scales.astype(int))[..., None].astype(F), False).reshape(x.shape)
        y = np.abs(x.reshape(32, 8, 32) * np.ldexp(F(1), 127 - scales.astype(int))[..., None].astype(F)).reshape(x.shape)
        low = E2M1[down & 7]
        step = np.where(low < 2, F(0.5), np.where(low < 4, F(1), F(2)))
        drawn = np.where((rng.random(x.shape) < (y - low) / step) & (down & 7 < 7), down + 1, down).astype(np.uint8)
        self.supposes(x, packed(drawn), scales, None, "codes", "one of the two neighbours of its number")
        wrong = drawn.copy()
        wrong[3, 5] = wrong[3, 5] & 8 | (wrong[3, 5] & 7) ^ 4
        told, text = found(x, packed(wrong), scales)
        self.assertFalse([h for h in told["hypotheses"] if h["equal"] == h["of"]], text)

    def test_scales_and_codes_of_two_element_formats(self):
        x = numbers((16, 512), 22)
        blocks, small = x.reshape(16, 4, 128), x.reshape(16, 16, 32)
        amax = np.abs(blocks).max(axis=-1)
        for code, of, most, words in ((e5m2, "e5m2:block=1x128", 448, "for codes of e4m3, "), (e4m3, "fp8_1x128", 57344, "for codes of e5m2, "),
                                      (e4m3, "fp8_1x128", 240, "for codes of e4m3fnuz, whose largest number is 240"),
                                      (e4m3, "fp8_1x128", 224, r"scales times 2\^1, as of amax / 224")):
            scales = amax / F(most)
            codes = code(blocks / scales[..., None]).reshape(x.shape)
            self.supposes(x, codes, scales, None, "scales", rf"{words}.*\({of}")
            self.supposes(x, codes, scales, None, "codes", rf"scales as stored \({of}")
        for code, of, down, words in ((e5m2, "mxfp8_e5m2", 0, r"2\^7, as for codes of e4m3, "), (e4m3, "mxfp8_e4m3", 7, r"2\^-7, as for codes of e5m2, ")):
            scales = up_rule(np.abs(small).max(axis=-1), "e4m3") - down
            codes = code(small * np.ldexp(F(1), 127 - scales)[..., None].astype(F)).reshape(x.shape)
            self.supposes(x, codes, scales.astype(np.uint8), None, "scales", rf"scales times {words}.*\({of}")

        # The codes of U8 tell their format, whatever power of two, or reciprocal, makes scales of another one.
        for given in (numbers((64, 256), 23), np.abs(numbers((64, 256), 24))):
            for name, changes in (("mxfp8_e4m3", (8,)), ("mxfp4", (-7, -1, 3))):
                codes, scales, _ = quantized(given, name, "torchao_floor")
                for by in changes:
                    self.supposes(given, codes, (scales.view(np.uint8) + F(by)).astype(np.uint8), None, "scales", rf"scales times 2\^{by} \({name}")
            self.supposes(given, codes, 254 - scales.view(np.uint8), None, "scales", r"stored is 1/scale \(mxfp4")

        scales = amax / F(464)
        self.supposes(x, e4m3(blocks / scales[..., None]).reshape(x.shape), scales, None, "scales", "stored is amax / 464")

    def test_quotients_that_are_rounded_before_the_cast(self):
        x = numbers((16, 512), 23)
        blocks, small = x.reshape(16, 4, 128), x.reshape(16, 16, 32)
        scales, up = np.abs(blocks).max(axis=-1) / F(448), up_rule(np.abs(small).max(axis=-1), "e4m3")
        for name, held in (("bfloat16", rounded_to_bfloat16), ("binary16", lambda y: y.astype(np.float16).astype(F))):
            codes = e4m3(held(blocks / scales[..., None])).reshape(x.shape)
            self.supposes(x, codes, scales, None, "codes", f"the step of torchao_inference, quotients rounded to {name} before the cast")
            codes = e4m3(held(small * np.ldexp(F(1), 127 - up)[..., None].astype(F))).reshape(x.shape)
            self.supposes(x, codes, up.astype(np.uint8), None, "codes", f"numbers, or their quotients, rounded to {name}")

    def test_codes_under_scales_before_they_are_rounded(self):
        x = numbers((32, 256), 24)
        blocks, (_, scales, tensor) = x.reshape(32, -1, 16), quantized(x, "nvfp4", "te")
        amax = np.abs(blocks).max(axis=-1)[..., None]
        for y in (blocks / (amax / F(6)), blocks * (F(6) / amax), blocks / (amax * (F(1) / tensor * (F(1) / F(6))) * tensor)):
            self.supposes(x, packed(e2m1(y).reshape(x.shape)), scales, tensor, "codes", "scales of te before they are rounded to ue4m3")

    def test_codes_that_overflow_are_flushed_or_rounded_away_from_zero(self):
        x = numbers((32, 256), 36)
        small = x * np.where(np.arange(256) % 2, F(1), F(2) ** -13)

        def e4m3_with_nan(y):
            return np.where(np.abs(y) > 464, e4m3(y) | 0x7F, e4m3(y)).astype(np.uint8)

        def e5m2_with_inf(y):
            return np.where(np.abs(y) > 61439, e5m2(y) & 0x80 | 0x7C, e5m2(y)).astype(np.uint8)

        def away(y):
            return (np.searchsorted(E2M1, np.minimum(np.abs(y), 6), side="left") | np.signbit(y).astype(int) << 3).astype(np.uint8)

        for name, given, rule, coded, words in (
                ("mxfp8_e4m3", x, "torchao_floor", e4m3_with_nan, "what overflows as NaN, not as the largest number"),
                ("mxfp8_e4m3", small, "te", lambda y: np.where(e4m3(y) & 0x78, e4m3(y), e4m3(y) & 0x80).astype(np.uint8), "subnormal codes as zeros$"),
                ("mxfp8_e4m3", small, "te", lambda y: np.where(e4m3(y) & 0x78, e4m3(y), 0).astype(np.uint8), "subnormal codes as zeros without a sign"),
                ("mxfp8_e4m3", small, "te", lambda y: np.where(np.abs(y) < F(2) ** -6, e4m3(y) & 0x80, e4m3(y)).astype(np.uint8),
                 "subnormal numbers flushed to zero before they are rounded"),
                ("nvfp4", x, "te", lambda y: np.where(e2m1(y) & 6, e2m1(y), e2m1(y) & 8).astype(np.uint8), "subnormal codes as zeros$"),
                ("mxfp4", x, "torchao_rceil", away, "codes rounded away from zero"), ("nvfp4", x, "te", away, "codes rounded away from zero")):
            codes, scales, tensor = quantized(given, name, rule, coded=coded)
            self.supposes(given, codes if name == "mxfp8_e4m3" else packed(codes), scales, tensor, "codes", words)
        scales = up_rule(np.abs(x.reshape(32, 8, 32)).max(axis=-1), "e4m3") - 8  # as for a largest number of 2^16
        codes = e5m2_with_inf(x.reshape(32, 8, 32) * np.ldexp(F(1), 127 - scales)[..., None].astype(F)).reshape(x.shape)
        self.supposes(x, codes, scales.astype(np.uint8), None, "codes", "what overflows as Inf, not as the largest number")

    def test_noise_makes_no_reason(self):
        for name, rule, size, seeds in (("mxfp8_e4m3", "torchao_floor", 1e-3, (9,)), ("nvfp4", "mslk", 1e-3, (6,)),
                                        ("nvfp4", "mslk", 1e-4, (21,))):
            for seed in seeds:
                rng = np.random.default_rng(seed)
                x = rng.standard_normal((32, 256)).astype(F)
                y = (x * (1 + F(size) * rng.standard_normal(x.shape))).astype(F)
                codes, scales, tensor = binade.encode(y, name, scale_rule=rule)
                codes = np.asarray(codes).view(np.uint8)
                told, text = found(x, packed(codes) if name == "nvfp4" else codes, scales, tensor if name == "nvfp4" else None)
                self.assertNotRegex(text, "rounded to b|cut off", (name, seed))

    def test_nans_with_other_bits(self):
        x = numbers((16, 256), 26)
        x[3, 5], x[9, 200] = np.nan, -np.nan
        codes, scales, _ = binade.encode(x, "fp8_1x128", scale_rule="deepgemm")
        for bits in (0xFFC00000, 0x7FFFFFFF):
            other = scales.copy()
            other.view(np.uint32)[np.isnan(scales)] = bits
            self.supposes(x, codes, other, None, "scales", f"deepgemm.*: equal but for the bits of NaNs: of 2 scales, the first {bits:08X}")
            other[0, 0] *= 2
            self.assertNotIn("bits of NaNs", found(x, codes, other)[1])
        codes, scales, _ = binade.encode(x, "mxfp8_e5m2", scale_rule="te")
        self.supposes(x, codes | np.uint8(128) * np.isnan(x), scales, None, "codes", "^te.*: equal but for the bits of NaNs: of 2 codes, the first FF")

    def test_what_differs_is_counted_and_the_first_of_it_told(self):
        x = numbers((32, 256), 16)
        codes, scales, _ = quantized(x, "mxfp8_e4m3", "te")
        rng = np.random.default_rng(17)
        wrong_scales, wrong_codes = scales.copy(), codes.copy()
        at = np.append(rng.choice(scales.size - 1, 8, replace=False), scales.size - 1)  # the last, too
        wrong_scales.reshape(-1)[at] += 1
        of = np.append(1024 + rng.choice(codes.size - 1025, 38, replace=False), [codes.size - 1, 992])
        wrong_codes.reshape(-1)[of] ^= 1
        told, text = found(x, wrong_codes, wrong_scales)
        self.assertEqual(told["conclusion"], "none", text)
        nearest = told["nearest"][0]
        self.assertIn("te", nearest["rules"], text)
        self.assertEqual(nearest["scales"], {"equal": scales.size - 9, "of": scales.size})
        self.assertEqual(nearest["codes"], {"equal": codes.size - 40, "of": codes.size})
        self.assertEqual(nearest["blocks"], scales.size - len(set(at) | set(of // 32)))
        first = nearest["first_scale"]
        self.assertEqual((first["block"], first["words"]), (min(at), "1 binade above"))
        block = np.abs(x.reshape(-1, 32)[min(at)]).max()
        self.assertEqual(first["amax"], f"{block.view(np.uint32):08X}")
        self.assertEqual(first["expected"], f"{scales.reshape(-1)[min(at)]:02X}")
        element = nearest["first_code"]
        self.assertEqual((element["element"], element["block"]), (min(of), min(of) // 32))
        self.assertEqual((element["expected"], element["stored"]),
                         (f"{codes.reshape(-1)[min(of)]:02X}", f"{wrong_codes.reshape(-1)[min(of)]:02X}"))

    def test_noise_is_explained_by_nothing(self):
        rng = np.random.default_rng(18)
        x = numbers((16, 128), 18)
        told, text = found(x, rng.integers(0, 256, (16, 64), np.uint8), rng.integers(1, 0x7E, (16, 8), np.uint8), F(0.01))
        self.assertEqual((told["conclusion"], told["hypotheses"]), ("none", []), text)
        self.assertNotIn("every", text.split("none:")[1].replace("no rule explains every scale and every code", ""))

    def test_integers_that_are_not_in_twos_complement(self):
        x = numbers((32, 256), 50)
        blocks = x.reshape(32, 8, 32)
        scales = field(np.abs(blocks).max(axis=-1), 2, "e2m1")
        number = np.clip(np.round(blocks * np.ldexp(F(1), 127 - scales)[..., None].astype(F) * 64), -127, 127).astype(int).reshape(x.shape)
        scales = scales.astype(np.uint8)
        self.assertNotEqual(found(x, number.astype(np.int8), scales)[0]["conclusion"], "none")
        self.supposes(x, (np.abs(number) | (number < 0) * 128).astype(np.uint8), scales, None, "codes", "codes as sign and magnitude, not in two's complement")
        self.supposes(x, (number + 128).astype(np.uint8), scales, None, "codes", "codes in offset binary")

    def test_halves_of_bytes_that_are_exchanged_in_places(self):
        x = numbers((48, 256), 51)
        codes, scales, _ = quantized(x, "mxfp4", "torchao_rceil")
        low, high = packed(codes), packed(codes, 1)
        for where, words in ((np.arange(48)[:, None] >= 32, "in the high half of its byte in rows 32 to 47"),
                             (np.arange(128) < 16, "in the high half of its byte in columns 0 to 31"),
                             (np.arange(48)[:, None] % 3 == 1, "in the high half of its byte in 16 of 48 rows, the first 1"),
                             (np.arange(48)[:, None] >= 8, "in the high half of its byte, but in the low half, not the high one, in rows 0 to 7")):
            self.supposes(x, np.where(where, high, low), scales, None, "codes", words)

    def test_what_numbers_are_multiplied_by_is_rounded(self):
        x = numbers((32, 256), 52)
        scales = np.abs(x).max(axis=1, keepdims=True) / F(448)
        codes = e4m3(x * rounded_to_bfloat16(F(1) / scales))
        self.supposes(x, codes, scales, None, "codes", "what numbers are multiplied by rounded to bfloat16")

    @unittest.skipUnless(ml_dtypes, "no ml_dtypes")
    def test_codes_whose_dtype_is_another_format_s(self):
        x = numbers((32, 256), 53)
        codes, scales, _ = binade.encode(x, "mxfp8_e5m2", scale_rule="te")
        e4m3_of = ml_dtypes.float8_e4m3fn
        self.supposes(x, np.asarray(codes).view(np.uint8).view(e4m3_of), scales, None, "codes", r"codes of e5m2, though their dtype is F8_E4M3 \(mxfp8_e5m2")


if __name__ == "__main__":
    main()
