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

F = np.float32
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], F)
MOST = {"e2m1": F(6), "e4m3": F(448)}


def e2m1(y, to_nearest=True):
    """Codes; ties to the even code, or cut off."""
    middles = (E2M1[1:] + E2M1[:-1]) / 2
    size = np.abs(y)
    if to_nearest:
        code = np.searchsorted(middles, size, side="left")  # a tie stays below …
        tie = np.isin(size, middles)
        code = np.where(tie & (code % 2 == 1), code + 1, code)  # … unless that is odd
    else:
        code = np.searchsorted(E2M1, size, side="right") - 1
    return (code | np.signbit(y).astype(int) << 3).astype(np.uint8)


def e4m3_number(y):
    """The nearest number of e4m3, ties to even, cut off at 448."""
    size = np.minimum(np.abs(y), F(448)).astype(F)
    _, exponent = np.frexp(size)
    step = np.ldexp(F(1), np.maximum(exponent - 1, -6) - 3)
    return np.copysign(np.minimum(np.round(size / step) * step, F(448)), y).astype(F)


def e4m3(y):
    number = e4m3_number(y)
    size = np.abs(number)
    _, exponent = np.frexp(size)
    normal = size >= F(2) ** -6
    code = np.where(normal, (exponent + 6 << 3) + (np.ldexp(size, 4 - exponent) - 8).astype(int),
                    (size * 512).astype(int))
    return (code | np.signbit(number).astype(int) << 7).astype(np.uint8)


def e5m2(y):
    """Ties to even, cut off at 57344: the high halves of numbers of binary16."""
    size = np.minimum(np.abs(y), F(57344)).astype(F)
    _, exponent = np.frexp(size)
    step = np.ldexp(F(1), np.maximum(exponent - 1, -14) - 2)
    number = np.copysign(np.minimum(np.round(size / step) * step, F(57344)), y)
    return (number.astype(np.float16).view(np.uint16) >> 8).astype(np.uint8)


def rounded_to_bfloat16(x):
    bits = np.asarray(x, F).view(np.uint32).astype(np.int64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(F)


CODES = {"e2m1": e2m1, "e4m3": e4m3}
POWER = {"e2m1": 2, "e4m3": 8}  # of the largest number
BITS = {"e2m1": 1, "e4m3": 3}  # of the fraction


def bits(x):
    return np.asarray(x, F).view(np.uint32).astype(np.int64)


def field(x, shift, element):
    return np.clip((bits(x) >> 23) + shift - POWER[element], 0, 254)


def floor_rule(amax, element):
    return field(amax, 0, element)


def even_rule(amax, element):
    return np.clip((bits(amax) + (1 << 22 - BITS[element]) >> 23) - POWER[element], 0, 254)


def up_rule(amax, element):
    d = bits(amax * (F(1) / MOST[element]))
    return (d >> 23) + (d & 0x7FFFFF != 0)


def mx(rule):
    """Codes and scales of blocks, which are rows of x."""
    def made(x, element, coded=None):
        scale = rule(np.abs(x).max(axis=-1), element)
        factor = np.ldexp(F(1), 127 - scale).astype(F)
        return (coded or CODES[element])(x * factor[..., None]), scale.astype(np.uint8), None
    return made


def scaled(scale_of, divides=False, powers=False):
    """Scales that are numbers of binary32."""
    def made(x, element, coded=None):
        scale = scale_of(np.abs(x).max(axis=-1), MOST[element])
        if powers:
            encode = ((bits(MOST[element] / np.abs(x).max(axis=-1))) >> 23 << 23).astype(np.uint32).view(F)
            return (coded or CODES[element])(x * encode[..., None]), F(1) / encode, None
        y = x / scale[..., None] if divides else x * (F(1) / scale)[..., None]
        return (coded or CODES[element])(y), scale, None
    return made


def te_nvfp4(x, element, coded=e2m1, amax=None):
    amax = np.abs(x).max() if amax is None else amax
    encode = F(2688) / F(amax)
    scale = e4m3_number(np.abs(x).max(axis=-1) * (encode * (F(1) / F(6))))
    factor = F(1) / (scale * (F(1) / encode))
    return (coded or e2m1)(x * factor[..., None]), e4m3(scale), F(1) / encode


def torchao_nvfp4(x, element, coded=e2m1):
    tensor = np.abs(x).max() / F(2688)
    scale = e4m3_number(np.clip((np.abs(x).max(axis=-1) / F(6)) / tensor, F(2) ** -6, F(448)))
    return (coded or e2m1)(x * ((F(1) / tensor) / scale)[..., None]), e4m3(scale), tensor


def modelopt_nvfp4(x, element, coded=e2m1):
    tensor = np.abs(x).max() / F(2688)
    scale = e4m3_number(np.clip(np.abs(x).max(axis=-1) / (F(6) * tensor), F(2) ** -9, F(448)))
    return (coded or e2m1)(x / (scale * tensor)[..., None]), e4m3(scale), tensor


# Format → element, block, and the rules whose formulas stand here.
RULES = {
    "mxfp4": ("e2m1", 32, {"torchao_floor": mx(floor_rule), "torchao_even": mx(even_rule), "torchao_rceil": mx(up_rule)}),
    "mxfp8_e4m3": ("e4m3", 32, {"torchao_floor": mx(floor_rule), "torchao_even": mx(even_rule), "te": mx(up_rule)}),
    "nvfp4": ("e2m1", 16, {"te": te_nvfp4, "torchao": torchao_nvfp4, "modelopt": modelopt_nvfp4}),
    "fp8_1x128": ("e4m3", 128, {
        "deepgemm": scaled(lambda amax, m: np.maximum(amax, F(1e-4)) / m),
        "vllm": scaled(lambda amax, m: np.maximum(amax, F(1e-10)) / m, divides=True),
        "te_pow2": scaled(lambda amax, m: amax / m, powers=True),
    }),
}


def numbers(shape, seed):
    rng = np.random.default_rng(seed)
    sizes = np.exp2(rng.integers(-3, 3, (shape[0], shape[1] // 16))).repeat(16, axis=1)
    return (rng.standard_normal(shape) * sizes).astype(F)


def quantized(x, name, rule, axis=1, coded=None):
    """Codes one to a byte in the shape of x, and scales, of blocks along an axis."""
    element, width, rules = RULES[name]
    rows = x if axis == 1 else np.ascontiguousarray(x.T)
    codes, scales, tensor = rules[rule](rows.reshape(rows.shape[0], -1, width), element, coded)
    codes = codes.reshape(rows.shape)
    return (codes, scales, tensor) if axis == 1 else (codes.T.copy(), scales.T.copy(), tensor)


def packed(codes, first=0):
    return (codes[:, first::2] | codes[:, 1 - first::2] << 4).astype(np.uint8)


def swizzled_128x4(scales):
    rows, columns = scales.shape
    full = np.zeros((-(-rows // 128) * 128, -(-columns // 4) * 4), scales.dtype)
    full[:rows, :columns] = scales
    return full.reshape(full.shape[0] // 128, 4, 32, -1, 4).transpose(0, 3, 2, 1, 4).reshape(full.shape)


def words_along_m(scales):
    """DeepGEMM's: four scales of a row to an int32, these along M."""
    rows, columns = scales.shape
    return np.ascontiguousarray(scales.reshape(rows, columns // 4, 4).transpose(1, 0, 2)).view(np.int32).reshape(columns // 4, rows)


def found(x, codes, scales, tensor=None, **options):
    out = binade.identify_scales(x, codes, scales, None if tensor is None else float(tensor), **options)
    return out.to_dict()["tensors"][0], str(out)


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


class Unexplained(unittest.TestCase):
    def supposes(self, x, codes, scales, tensor, what, words, equal=None):
        """Nothing explains all, and the first that may have happened to scales or codes is this."""
        told, text = found(x, codes, scales, tensor)
        self.assertEqual((told["conclusion"], told["explain"]), ("none", []), text)
        first = next((h for h in told["hypotheses"] if h["what"] == what), None)
        self.assertIsNotNone(first, text)
        self.assertRegex(first["words"], words)
        self.assertEqual(first["equal"], first["of"] if equal is None else equal, text)

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
        codes, scales, _ = quantized(x, "fp8_1x128", "deepgemm")
        self.supposes(x, codes, F(1) / scales, None, "scales", "stored is 1/scale")
        self.supposes(x, codes, scales * F(448), None, "scales", "times 448|amax of each block")
        cut = (scales.view(np.uint32) & 0xFFFF0000).view(F)
        self.supposes(x, codes, cut, None, "scales", "scales rounded to bfloat16, toward_zero")
        codes, scales, _ = quantized(rounded_to_bfloat16(x), "fp8_1x128", "vllm")
        self.supposes(x, codes, scales, None, "scales", "numbers rounded to bfloat16 first")
        self.supposes(x, codes, scales, None, "codes", "numbers rounded to bfloat16 first")

    def test_scales_of_the_previous_block_where_samples_might_be_starts_of_rows(self):
        x = numbers((128, 1024), 19)
        codes, scales, tensor = quantized(x, "nvfp4", "te")
        moved = scales.copy()
        moved[:, 1:] = scales[:, :-1]
        equal = int((np.append(scales.reshape(-1)[0], scales.reshape(-1)[:-1]) == moved.reshape(-1))[1:].sum())
        self.supposes(x, packed(codes), moved, tensor, "scales", r"of the previous block \(nvfp4 along axis 1, row_major\)", equal)
        wrong = scales.copy()
        wrong[:, 0] += 2
        told, text = found(x, packed(codes), wrong, tensor)
        self.assertEqual((told["nearest"][0]["rules"][0], told["nearest"][0]["codes"]["equal"]), ("te", x.size), text)

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
        for code, of, down, words in ((e5m2, "mxfp8_e5m2", 0, "e4m3, "), (e4m3, "mxfp8_e4m3", 7, "e5m2, ")):
            scales = up_rule(np.abs(small).max(axis=-1), "e4m3") - down
            codes = code(small * np.ldexp(F(1), 127 - scales)[..., None].astype(F)).reshape(x.shape)
            self.supposes(x, codes, scales.astype(np.uint8), None, "scales", rf"scales for codes of {words}.*\({of}")

        scales = amax / F(464)
        self.supposes(x, e4m3(blocks / scales[..., None]).reshape(x.shape), scales, None, "scales", "stored is amax / 464")

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
        self.assertEqual([h for h in told["hypotheses"] if h["what"] == "codes"], [], text)
        for code in (0x7F, 0):
            told, text = found(x, np.full(x.shape, code, np.uint8), scales)
            self.assertEqual([h["what"] for h in told["hypotheses"]], [], text)
            self.assertRegex(text, r"Nearest(.|\n)*?512 of 512 scales(.|\n)*?mxfp8_e4m3 along\s+axis 1")

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

    def test_rows_that_are_moved(self):
        x = numbers((24, 256), 25)
        for name, rule in (("nvfp4", "te"), ("mxfp8_e4m3", "te"), ("fp8_1x128", "vllm")):
            codes, scales, tensor = quantized(x, name, rule)
            held = packed(codes) if name == "nvfp4" else codes
            for by, words in ((1, "1 row before"), (-3, "3 rows behind")):
                moved = np.roll(held, by, 0), np.roll(scales, by, 0), tensor
                for what in ("scales", "codes"):
                    self.supposes(x, *moved, what, f"each row is that of the numbers {words}")
            self.supposes(x, np.roll(held, 1, 0), scales, tensor, "codes", "whatever is stored, each row is that of the numbers 1 row before")
            self.supposes(x, held, np.roll(scales, 1, 0), tensor, "scales", "each block has the scale of the previous row", scales.size - scales.shape[1])

    def test_rows_in_another_order(self):
        x = numbers((24, 128), 31)
        rng = np.random.default_rng(32)
        for name, rule in (("nvfp4", "te"), ("mxfp8_e4m3", "te"), ("fp8_1x128", "vllm")):
            codes, scales, tensor = quantized(x, name, rule)
            held = packed(codes) if name == "nvfp4" else codes
            for order, words in ((np.arange(24).reshape(2, 12).T.reshape(-1), "rows interleaved, one of each of 2 parts in turn"),
                                 (np.arange(24)[::-1], "rows in reverse order"),
                                 (mixed := rng.permutation(24), f"row 0 is that of the numbers' row {mixed[0]}, row 1 is that of the numbers' row {mixed[1]}")):
                for what in ("scales", "codes"):
                    self.supposes(x, held[order].copy(), scales[order].copy(), tensor, what, words)
            self.supposes(x, held[mixed].copy(), scales, tensor, "codes", f"whatever is stored, rows in another order: row 0 is that of the numbers' row {mixed[0]}")
            self.supposes(x, held, scales[mixed].copy(), tensor, "scales", f"row 0 is that of the numbers' row {mixed[0]}.* …, of scales alone")
            cut = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(F)
            codes, scales, tensor = quantized(cut, name, rule)
            for what in ("scales", "codes") if name == "fp8_1x128" else ("codes",):
                self.supposes(x, packed(codes) if name == "nvfp4" else codes, scales, tensor, what, "numbers cut off to bfloat16 first")

    def test_scales_of_another_axis_than_the_codes(self):
        for shape, name in (((64, 64), "nvfp4"), ((64, 128), "mxfp4")):
            x = numbers(shape, 33)
            rule = "te" if name == "nvfp4" else "torchao_rceil"
            codes, scales, tensor = quantized(x, name, rule)
            _, down, _ = quantized(x, name, rule, axis=0)
            for stored, order in ((down.reshape(scales.shape), "row_major"), (down.T.copy(), "row_major of the transpose")):
                self.supposes(x, packed(codes), stored, tensor, "scales",
                              f"the scales are of {name} along axis 0, {order}, the codes of {name} along axis 1")
                self.supposes(x, packed(codes), stored, tensor, "codes", "whatever is stored")
        codes, scales, tensor = quantized(x := numbers((64, 64), 34), "nvfp4", "te")
        for stored in ((packed(codes.T.copy()), scales), (packed(codes), scales.T.copy())):
            self.assertEqual(found(x, *stored, tensor)[0]["conclusion"], "several")
        # Under the scales that are stored, each of another block down columns.
        tiny = quantized(numbers((32, 64), 35), "mxfp8_e4m3", "te", axis=0)[1].reshape(32, 2)
        x = numbers((32, 64), 35)
        under = e4m3(x.reshape(32, 2, 32) * np.ldexp(F(1), 127 - tiny.astype(int))[..., None].astype(F)).reshape(x.shape)
        self.supposes(x, under, tiny, None, "scales", "the scales are of mxfp8_e4m3 along axis 0, row_major, the codes of mxfp8_e4m3 along axis 1")

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
        for given, stored, words in ((amax * F(1.5), "1.5 times the tensor's", "1.5 times its amax's"),
                                     (left, "that of part 1 of 2 of the rows", "of the amax of part 1 of 2 of the rows"),
                                     (amax * F(1.3137), "1.314 times the tensor's", r"an amax of about 26.\d\d, 1\.31\d* times the tensor's")):
            codes, scales, tensor = te_nvfp4(blocks, "e2m1", amax=given)
            codes = packed(codes.reshape(x.shape))
            self.supposes(x, codes, scales, tensor, "codes", f"the scale of the tensor as stored, .*{stored}, where")
            self.supposes(x, codes, scales, None if given < amax else own, "scales", f"a scale of the tensor .*{words}")
        codes, scales, tensor = te_nvfp4(blocks, "e2m1")
        codes = packed(codes.reshape(x.shape))
        for stored, words in ((F(448) / F(256), "448/256 times the tensor's"), (F(1.3137), "1.314 times the tensor's")):
            told, text = found(x, codes, scales, own * stored)
            self.assertEqual([h["what"] for h in told["hypotheses"]], ["tensor_scale"], text)
            self.assertIn(f"the stored scale of the tensor is of an amax that is {words}", told["hypotheses"][0]["words"])
        for part, words in ((left, "part 1 of 2 of the rows"), (quarter, "part 1 of 4 of the columns")):
            scale = part / F(448)
            self.supposes(x, e4m3(x / scale), np.array(scale), None, "scales", f"the scale is that of the amax of {words}")

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

    def test_one_wrong_scale_is_no_other_row(self):
        x = numbers((96, 256), 41)
        codes, scales, _ = binade.encode(x, "mxfp8_e4m3", scale_rule="torchao_floor")
        scales = np.asarray(scales).view(np.uint8).copy()
        row = scales[7].copy()
        scales[7, 3] += 1
        scales[50] = scales[7]  # another row that is alike
        codes = np.asarray(codes).view(np.uint8)
        self.assertNotRegex(found(x, codes, scales)[1], r"those\s+of\s+row")
        scales[7], scales[50] = row, row
        self.assertRegex(found(x, codes, scales)[1], r"row 50 of\s+scales: those of row 7")

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
