# SPDX-License-Identifier: Apache-2.0
"""The common case of tests of products in narrow formats within binade.torch.tensor_cores: results must have all bits of those of
tensor_cores_narrow_oracle.py. Needs torch."""
import numpy as np
import tensor_cores_narrow_oracle as narrow
import torch
from tensor_cores_case import TensorCoresCase, leaves, values
from tensor_cores_narrow_oracle import Recipe

import binade.torch

F = torch.nn.functional
HYBRID = Recipe("e4m3", "e5m2")


def magnitudes(seed, *shape, dtype=torch.float32, low=-11, high=11):
    """Of either sign, every binade from 2^low to 2^high about as often: something is cut, rounded, lost and too large."""
    generator = np.random.default_rng(seed)
    return torch.tensor(generator.choice((-1, 1), shape) * 2 ** generator.uniform(low, high, shape)).to(dtype)


def rule(arch, dtype=torch.float32):
    return {"arch": arch, "dtype": str(dtype).split(".")[1]}


def mode(arch, recipe, **more):
    return binade.torch.tensor_cores(arch, **recipe._asdict(), **more)


def linear_by_oracle(x, w, bias, gy, recipe, **words):
    x, w, gy = values(x), values(w), values(gy)
    return (narrow.product(x, w.T, "xw", recipe, bias=None if bias is None else values(bias), **words),
            narrow.product(gy, w, "dw", recipe, **words), narrow.product(gy.T, x, "dx", recipe, **words))


def with_gradients(layer, gy, *tensors):
    given = leaves(*tensors)
    y = layer(*given)
    return y, *torch.autograd.grad(y, given, gy)


class NarrowCase(TensorCoresCase):
    def held_in(self, recipe, arch, dtype, call, wanted, **more):
        with mode(arch, recipe, **more) as ran:
            got = call()
        self.assertTrue(ran.covered(), "nothing was covered")
        self.assertEqual(len(got), len(wanted))
        for i, (mine, theirs) in enumerate(zip(got, wanted)):
            self.assertEqual(mine.dtype, dtype)
            self.equal(mine, theirs, f"result {i}")
        return ran

    def linear(self, recipe, arch, dtype, x, w, bias, gy, **more):
        def call():
            return with_gradients(lambda xs, ws: F.linear(xs, ws, bias), gy, x, w)
        return self.held_in(recipe, arch, dtype, call, linear_by_oracle(x, w, bias, gy, recipe, **rule(arch, dtype)), **more)
