# SPDX-License-Identifier: Apache-2.0
#
# binade.torch.quantize and Quantized: they give the bits of binade.quantize on NumPy's arrays; straight-through gradients, scales,
# modules and parametrizations. SKIP without torch. torch_quantize_test.py BINADE
import math
import sys
import unittest

try:
    import torch

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

import binade
import numpy as np
from cli_case import CliCase, main

FORMATS = "binary16", "bfloat16", "tf32", "e4m3", "e5m2", "e2m3", "e2m1", "e5m7"


def numbers(*shape, spread=8, seed=0):
    generator = np.random.default_rng(seed)
    x = generator.standard_normal(shape) * 2.0 ** generator.uniform(-spread, spread, shape)
    return torch.from_numpy(x.astype(np.float32))


class Quantizing(CliCase):
    def equal(self, got, wanted):
        np.testing.assert_array_equal(got.detach().float().numpy().view(np.uint32),
                                      np.asarray(wanted, np.float32).view(np.uint32))

    def test_bits_are_those_of_arrays(self):
        x = numbers(40, 30)
        for name in FORMATS:
            for options in ({}, {"rounding": "toward_zero"}, {"saturation": "finite"}, {"rounding": "stochastic", "seed": 3}):
                with self.subTest(format=name, **options):
                    out = binade.torch.quantize(x, name, **options)
                    self.equal(out, binade.quantize(x.numpy(), name, **options))
                    self.assertFalse(torch.equal(out, x))

    def test_shape_dtype_and_strides_may_be_any(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            x = numbers(6, 8, spread=2).to(dtype)
            for view in (x, x.t(), x[::2, 1:], x[0, 0], x[:0]):
                out = binade.torch.quantize(view, "e4m3")
                self.assertEqual((out.dtype, out.shape), (dtype, view.shape))
                self.equal(out, binade.quantize(view.double().contiguous().numpy(), "e4m3"))

    def test_gradients_pass_or_are_rounded(self):
        x, g = numbers(50).requires_grad_(), numbers(50, seed=1)
        binade.torch.quantize(x, "e2m1").backward(g)
        self.equal(x.grad, g)
        x.grad = None
        binade.torch.quantize(x, "e4m3", gradient="e5m2").backward(g)
        self.equal(x.grad, binade.quantize(g.numpy(), "e5m2"))
        self.assertFalse(torch.equal(x.grad, g))

    def test_scales_are_powers_of_two_under_the_largest_number(self):
        for name in ("e4m3", "e2m1", "e5m2"):
            for size in (1e-20, 3e-3, 1.0, 447.9, 448.0, 7e20):
                x = numbers(64, spread=3)
                x = x / x.abs().max() * size
                top = binade.Format(name).max
                scale = next(2.0**n for n in range(126, -127, -1) if float(x.abs().max()) * 2.0**n <= top)
                self.equal(binade.torch.quantize(x, name, scale="amax"),
                           binade.quantize(x.numpy() * np.float32(scale), name) / scale)
        x = numbers(64)
        self.equal(binade.torch.quantize(x, "e4m3", scale=0.3),
                   binade.quantize(x.numpy() * np.float32(0.3), "e4m3") / np.float32(0.3))
        x = torch.tensor([math.nan, 2.0**-30, -3 * 2.0**-32])
        self.equal(binade.torch.quantize(x, "e5m2", scale="amax")[1:], x[1:])
        for nothing in (torch.zeros(3), torch.zeros(0), torch.tensor([math.inf, 1.0])):
            self.equal(binade.torch.quantize(nothing, "e5m2", scale="amax"), binade.quantize(nothing.numpy(), "e5m2"))

    def test_gradients_have_a_scale_of_their_own(self):
        x, g = numbers(50).requires_grad_(), numbers(50, seed=1) * 2.0**-40
        binade.torch.quantize(x, "e4m3", gradient="e5m2", scale="amax").backward(g)
        self.equal(x.grad, binade.torch.quantize(g, "e5m2", scale="amax"))
        self.assertTrue(x.grad.any())

    def test_block_formats_round_under_scales_of_blocks(self):
        x = numbers(5, 70).requires_grad_()
        array = x.detach().numpy()
        self.equal(binade.torch.quantize(x, "mxfp4"), binade.quantize(array, "mxfp4"))
        for axis in (0, -1):
            y = binade.torch.quantize(x, "nvfp4", scale_rule="te", axis=axis)
            self.equal(y, binade.quantize(array, "nvfp4", scale_rule="te", axis=axis))
        slopes = numbers(5, 70, seed=1)
        binade.torch.quantize(x, "mxfp8_e4m3", gradient="mxfp8_e5m2", scale_rule="te").backward(slopes)
        self.equal(x.grad, binade.quantize(slopes.numpy(), "mxfp8_e5m2", scale_rule="te"))
        x.grad = None
        binade.torch.quantize(x, "mxfp4", gradient="e5m2", saturation="finite").backward(slopes * 1e6)
        self.equal(x.grad, binade.quantize(slopes.numpy() * np.float32(1e6), "e5m2", saturation="finite"))
        half = binade.torch.quantize(x.detach().bfloat16(), "nvfp4")
        self.assertEqual(half.dtype, torch.bfloat16)
        wide = binade.quantize(x.detach().bfloat16().float().numpy(), "nvfp4")
        self.assertTrue(torch.equal(half, torch.from_numpy(wide).bfloat16()))
        self.equal(binade.torch.Quantized("nvfp4", scale_rule="modelopt")(x), binade.quantize(array, "nvfp4", scale_rule="modelopt"))
        for options in ({"scale": "amax"}, {"saturation": "finite"}, {"scale_rule": "no"}, {"axis": 2}):
            with self.assertRaises(ValueError) as caught:
                binade.torch.quantize(x, "mxfp4", **options)
            self.assertNotIn("\n", str(caught.exception))

    def test_a_parametrization_rounds_weights_and_trains_the_ones_behind(self):
        torch.manual_seed(0)
        layer = torch.nn.Linear(5, 3)
        kept = layer.weight.detach().clone()
        torch.nn.utils.parametrize.register_parametrization(layer, "weight", binade.torch.Quantized("e2m1", scale="amax"))
        self.equal(layer.weight, binade.torch.quantize(kept, "e2m1", scale="amax"))
        optimizer = torch.optim.SGD(layer.parameters(), lr=2.0**-6)
        layer(torch.ones(2, 5)).sum().backward()
        optimizer.step()
        self.equal(layer.parametrizations.weight.original, kept - 2 * 2.0**-6)
        self.assertIn("'e2m1', scale='amax'", repr(layer))

    def test_a_module_draws_anew_in_each_call(self):
        x = numbers(500)
        module = binade.torch.Quantized("e2m1", gradient="e5m2", rounding="stochastic", seed=7)
        for seed in (7, 8, 9):
            x.grad = None
            out = module(x.requires_grad_())
            out.backward(x.detach())
            for got, format in ((out, "e2m1"), (x.grad, "e5m2")):
                self.equal(got, binade.quantize(x.detach().numpy(), format, rounding="stochastic", seed=seed))

    def test_functional_transforms_see_it(self):
        if not hasattr(torch, "func"):
            self.skipTest("this torch has no torch.func")
        x = numbers(7)
        gradient = torch.func.grad(lambda y: (binade.torch.quantize(y, "e4m3") * 3).sum())(x)
        self.equal(gradient, np.full(7, 3))
        rows = torch.func.vmap(lambda y: binade.torch.quantize(y, "e4m3"))(numbers(3, 7))
        self.equal(rows, binade.quantize(numbers(3, 7).numpy(), "e4m3"))
        with self.assertRaisesRegex(ValueError, "amax"):
            torch.func.vmap(lambda y: binade.torch.quantize(y, "e4m3", scale="amax"))(numbers(3, 7))

    def test_what_cannot_be_is_refused_in_one_line(self):
        x = numbers(3)
        for wanted, call in ((TypeError, lambda: binade.torch.quantize(torch.ones(3, dtype=torch.int32), "e4m3")),
                             (TypeError, lambda: binade.torch.quantize([1.0], "e4m3")),
                             (TypeError, lambda: binade.torch.quantize(x, "e4m3", counts=True)),
                             (TypeError, lambda: binade.torch.quantize(x, "e4m3", round="up")),
                             (ValueError, lambda: binade.torch.quantize(x, "e99")),
                             (ValueError, lambda: binade.torch.quantize(x, "e4m3", scale="max")),
                             (ValueError, lambda: binade.torch.quantize(x, "e4m3", scale=0)),
                             (ValueError, lambda: binade.torch.quantize(x, "e4m3", scale=True)),
                             (ValueError, lambda: binade.torch.quantize(x.half(), "bfloat16")),
                             (ValueError, lambda: binade.torch.Quantized("e4m3", gradient="e99"))):
            with self.assertRaises(wanted) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))

    @unittest.skipUnless(hasattr(torch, "float8_e4m3fn"), "this torch has no FP8")
    def test_numbers_of_eight_bits_hold_nothing_that_was_rounded_at_another_scale(self):
        x = torch.tensor([448.0]).to(torch.float8_e4m3fn)
        for scale in (0.5, 1, "amax"):
            with self.assertRaisesRegex(ValueError, "float8_e4m3fn does not hold what was rounded at another scale"):
                binade.torch.quantize(x, "e3m2:specials=ieee", scale=scale)
        self.equal(binade.torch.quantize(x.float(), "e3m2:specials=ieee", scale=0.5), [np.inf])


if __name__ == "__main__":
    main()
