# SPDX-License-Identifier: Apache-2.0
"""The common case of tests of torch's products within binade.torch.tensor_cores: results must have all bits of those of
tensor_cores_oracle.py, and other bits than torch's own. Needs torch."""
import contextlib
import functools
import itertools

import numpy as np
import tensor_cores_oracle as oracle
import torch
from cli_case import CliCase

import binade.torch

ARCHITECTURES = ("sm_70", "sm_80", "sm_90", "sm_100")
TYPES = ((torch.float16, False), (torch.bfloat16, False), (torch.float32, False), (torch.float32, True))


def values(tensor):
    return np.array(tensor.detach().float().numpy())


def same_bits(mine, wanted):
    """Of float32 arrays of one shape; a NaN is a NaN."""
    return (mine.view(np.uint32) == wanted.view(np.uint32)) | (np.isnan(mine) & np.isnan(wanted))


def numbers(seed, *shape, dtype=torch.float32):
    """Such that the order of a sum and every alignment and rounding on its way show in the result: a large number of
    either sign, which often cancels, among small ones."""
    generator = np.random.default_rng(seed)
    small = 2.0**-11 * generator.standard_normal(shape)
    large = 2.0**13 / 3 * generator.choice((-1, 1), shape)
    return torch.tensor(np.where(generator.random(shape) < 0.35, large, small)).to(dtype)


@contextlib.contextmanager
def tf32(products, convolutions):
    """Whether torch allows it, within."""
    flags = torch.backends.cuda.matmul, torch.backends.cudnn
    before = [flag.allow_tf32 for flag in flags]
    try:
        for flag, allowed in zip(flags, (products, convolutions)):
            flag.allow_tf32 = allowed
        yield
    finally:
        for flag, allowed in zip(flags, before):
            flag.allow_tf32 = allowed


def leaves(*tensors):
    return [tensor.detach().clone().requires_grad_() for tensor in tensors]


def natively(call):
    """None where torch has no kernel, or none that works."""
    try:
        return call()
    except RuntimeError:
        return None


def each(architectures=ARCHITECTURES, types=TYPES):
    """A test that is given every case's dtype and the words that the oracle takes, with torch's flags set accordingly."""
    def decorated(test):
        @functools.wraps(test)
        def run(self):
            for arch, (dtype, allowed) in itertools.product(architectures, types):
                rule = {"arch": arch, "dtype": str(dtype).split(".")[1], "tf32": allowed}
                with self.subTest(**rule), tf32(allowed, allowed):
                    test(self, dtype, rule)
        return run
    return decorated


def chained(rule):
    """Whether torch may well have the same bits: chains of fma.rn are how it multiplies small matrices itself."""
    return oracle.model(**rule).instruction in oracle.CHAINS.values()


class TensorCoresCase(CliCase):
    def equal(self, got, wanted, what=""):
        self.assertEqual(tuple(got.shape), wanted.shape, what)
        same = same_bits(values(got), wanted)
        self.assertTrue(same.all(), f"{what}: {(~same).sum()} of {same.size} elements differ, first at "
                                    f"{np.argwhere(~same)[:1].tolist()}: {values(got)[~same][:1]} for {wanted[~same][:1]}")

    def held(self, rule, call, wanted, own=True):
        """call() → a tensor or several, of the rule's dtype; wanted: the oracle's. own: each is to differ from torch's,
        except of chains."""
        with binade.torch.tensor_cores(rule["arch"]) as mode:
            got = call()
        self.assertTrue(mode.covered(), "nothing was covered")
        got, wanted = (x if isinstance(x, (tuple, list)) else (x,) for x in (got, wanted))
        self.assertEqual(len(got), len(wanted))
        native = natively(call) if own and not chained(rule) else None
        native = native if native is None or isinstance(native, (tuple, list)) else (native,)
        for i, (mine, theirs) in enumerate(zip(got, wanted)):
            self.assertEqual(str(mine.dtype), "torch." + rule["dtype"])
            self.equal(mine, theirs, f"result {i}")
            if native is not None:
                self.assertFalse(same_bits(values(native[i]), theirs).all(), f"result {i}: torch's own has these bits as well")
        return got
