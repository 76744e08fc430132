# SPDX-License-Identifier: Apache-2.0
"""Block quantizers that are written here in NumPy's own float32, from the formulas of stacks, and what identify_scales() says of their
codes and scales: for the tests beside."""

import unittest

import numpy as np

import binade

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


LAST = {}


def found(x, codes, scales, tensor=None, **options):
    """What is told, which is kept for the next question of the same arrays."""
    key = [(one.dtype.name, one.shape, one.tobytes()) for one in map(np.asarray, (x, codes, scales))], tensor, options
    if LAST.get("key") != key:
        LAST["out"] = binade.identify_scales(x, codes, scales, None if tensor is None else float(tensor), **options)
        LAST["key"] = key
    return LAST["out"].to_dict()["tensors"][0], str(LAST["out"])


class Supposes(unittest.TestCase):
    def supposes(self, x, codes, scales, tensor, what, words, equal=None):
        """Nothing explains all, and the first that may have happened to scales or codes is this."""
        told, text = found(x, codes, scales, tensor)
        self.assertEqual((told["conclusion"], told["explain"]), ("none", []), text)
        first = next((h for h in told["hypotheses"] if h["what"] == what), None)
        self.assertIsNotNone(first, text)
        self.assertRegex(first["words"], words)
        self.assertEqual(first["equal"], first["of"] if equal is None else equal, text)
