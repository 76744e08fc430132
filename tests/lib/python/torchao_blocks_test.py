# SPDX-License-Identifier: Apache-2.0
"""encode() of block formats against torchao's own casts on the CPU, bit for bit: to_mx in its four modes for its five element
types, nvfp4_quantize of one level and of two, and FP8 with scales of binary32, of inference in each dtype and of training. Numbers
are drawn over all exponents, and hostile blocks stand among them. Skipped where torchao is not installed; the suite torch-latest
has it.

    python torchao_blocks_test.py BINADE
"""

import unittest

import numpy as np
import torch

import binade
from cli_case import main

try:
    import torchao
    from torchao.float8.float8_utils import amax_to_scale
    from torchao.prototype.mx_formats import mx_tensor, nvfp4_tensor
    from torchao.quantization.quant_primitives import _choose_scale_float8, _quantize_affine_float8
except ImportError:
    torchao = None

MODES = ("FLOOR", "CEIL", "EVEN", "RCEIL")
RULES = "torchao018_" if torchao and tuple(map(int, torchao.__version__.split(".")[:2])) < (0, 19) else "torchao_"
# Format → torchao's element type.
ELEMENTS = {
    "mxfp8_e4m3": torch.float8_e4m3fn,
    "mxfp8_e5m2": torch.float8_e5m2,
    "mxfp6_e3m2": "fp6_e3m2",
    "mxfp6_e2m3": "fp6_e2m3",
    "mxfp4": torch.float4_e2m1fn_x2,
}
ROWS, COLUMNS = 4096, 512  # some 65 000 blocks of 32


def numbers(seed, block):
    """Rows of numbers of any exponent; blocks of zeros, of one number beside a power of two, and with an infinity."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((ROWS, COLUMNS)) * np.exp2(rng.integers(-145, 118, (ROWS, 1)) + rng.integers(-6, 3, (ROWS, COLUMNS)))
    blocks = x.astype(np.float32).reshape(-1, block)
    bits = blocks.view(np.uint32)
    for at, place in enumerate(rng.choice(len(blocks), 2048, replace=False)):
        if at < 256:
            blocks[place] *= rng.random(block) < 0.3
        elif at < 1792:  # each power of two, and the numbers beside it, as the largest or alone
            power = np.uint32(min((at - 256) // 6, 254) << 23)
            bits[place] = rng.integers(0, max(int(power), 1), block) if at % 2 else 0
            bits[place, rng.integers(block)] = max(int(power) + at // 2 % 3 - 1, 0)
        elif at < 1920:
            blocks[place, rng.integers(block)] = rng.choice([np.inf, -np.inf])
        else:
            bits[place] = rng.integers(0, 2**23, block)  # subnormal
    return blocks.reshape(ROWS, COLUMNS)


def codes(x):
    return x.contiguous().view(torch.int32 if x.dtype == torch.float32 else torch.uint8).numpy()


@unittest.skipUnless(torchao, "torchao is not installed; the suite torch-latest has it")
class TorchaoBlocks(unittest.TestCase):
    def hold(self, x, theirs, format_name, rule, **options):
        scales, elements = (codes(y) for y in theirs)
        own_codes, own_scales, _ = binade.encode(x, format_name, scale_rule=rule, packed=elements.shape != x.shape, **options)
        for what, own, other in (("scales", own_scales, scales), ("codes", own_codes, elements)):
            wrong = np.argwhere(codes(own).reshape(other.shape) != other)
            self.assertEqual(len(wrong), 0, f"{format_name} {rule}: {what} differ first at {wrong[:1]}")

    def test_mx(self):
        for seed, (name, element) in enumerate(ELEMENTS.items()):
            x = numbers(seed, 32)
            for dtype in (torch.float32, torch.bfloat16):
                given = torch.from_numpy(x).to(dtype)
                for mode in MODES:
                    with self.subTest(format=name, mode=mode, dtype=dtype):
                        theirs = mx_tensor.to_mx(given, element, 32, getattr(mx_tensor.ScaleCalculationMode, mode))
                        self.hold(given, theirs, name, RULES + mode.lower())

    def test_nvfp4(self):
        x = torch.from_numpy(numbers(7, 16))
        finite = torch.where(torch.isfinite(x), x, torch.zeros_like(x))
        with self.subTest("one level"):
            self.hold(x, nvfp4_tensor.nvfp4_quantize(x), "e2m1:block=1x16:scale=ue4m3", "torchao")
        for amax in (None, 0.75, 3e-5, 2e30):  # None: the tensor's own
            with self.subTest("two levels", amax=amax):
                largest = finite.abs().max() if amax is None else torch.tensor(amax)
                theirs = nvfp4_tensor.nvfp4_quantize(finite, 16, nvfp4_tensor.per_tensor_amax_to_scale(largest))
                self.hold(finite, theirs, "nvfp4", "torchao", tensor_amax=largest.item())

    def test_fp8(self):
        x = torch.from_numpy(numbers(8, 128))
        for name, element in (("e4m3", torch.float8_e4m3fn), ("e5m2", torch.float8_e5m2), ("e4m3fnuz", torch.float8_e4m3fnuz),
                              ("e5m2fnuz", torch.float8_e5m2fnuz)):
            spec, most = f"{name}:block=1x128:scale=binary32", torch.finfo(element).max
            for dtype in (torch.float32, torch.bfloat16, torch.float16):
                with self.subTest("inference", element=name, dtype=dtype):
                    given = (x if dtype != torch.float16 else x.sign() * torch.pow(x.abs(), 0.125)).to(dtype)
                    given = torch.where(torch.isfinite(given), given, torch.ones_like(given))
                    given[:, 0] += given[:, 0] == 0  # no block of zeros, under whose scale 0 / 0 has a sign of the machine's
                    given = given[(given.reshape(ROWS, -1, 128).abs().amax(dim=2) / most > 0).all(dim=1)]
                    scale = _choose_scale_float8(given, [1, 128], element)
                    self.hold(given, (scale, _quantize_affine_float8(given, scale, element)), spec, "torchao_inference")
            finite = torch.where(torch.isfinite(x), x, torch.ones_like(x))
            for power, rule in ((False, "torchao"), (True, "torchao_pow2")):
                with self.subTest("training", element=name, rule=rule):
                    blocks = finite.reshape(ROWS, -1, 128)
                    factor = amax_to_scale(blocks.abs().amax(dim=2, keepdim=True), element, power)
                    theirs = torch.clamp(blocks * factor, -most, most).to(element).reshape(x.shape)
                    self.hold(finite, (factor.reciprocal().reshape(ROWS, -1), theirs), spec, rule)


if __name__ == "__main__":
    main()
