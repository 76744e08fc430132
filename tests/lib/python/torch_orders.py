# SPDX-License-Identifier: Apache-2.0
"""The ops that the tests of invariance and compare plant, whose bits depend on how many rows they get. Needs torch."""
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import binade

ASCENDING = binade.GemmModel("fma.rn.f32.f32.f32.f32")
DESCENDING = binade.GemmModel("fma.rn.f32.f32.f32.f32", k_order="descending")


class Products(TorchDispatchMode):
    """mm by one order for at most so many rows, by another for more."""

    def __init__(self, most):
        super().__init__()
        self.most = most

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func._schema.name != "aten::mm":
            return func(*args, **(kwargs or {}))
        a, b = (x.detach().numpy() for x in args)
        return torch.from_numpy(binade.gemm(a, b, model=ASCENDING if len(a) <= self.most else DESCENDING))


def summed(x, backward):
    """Over the last axis, from one end or from the other, as one op, whose result other things than its operand say."""
    out = torch.empty(x.shape[:-1])
    return torch.sum(x.flip(-1) if backward else x, -1, out=out)


def numbers(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
