# SPDX-License-Identifier: Apache-2.0
"""Products in Python and by the program on the same arrays."""

import numpy as np
from cli_case import CliCase

from binade import GemmModel

HOPPER = ("mma.m16n8k16.f32.f16.f16.f32", "sm_90")
HOPPER_WORDS = dict(zip(("instruction", "arch"), HOPPER))
FP8 = ("wgmma.m64n8k32.f32.e4m3.e4m3", "sm_90")
INT8 = ("mma.m16n8k32.s32.s8.s8.s32", "sm_90")
FMA = ("fma.rn.f32.f32.f32.f32",)


def words(model):
    """A model's options for the program."""
    return str(model).split()


def halves(seed, *shape, dtype=np.float16):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


class Products(CliCase):
    def setUp(self):
        super().setUp()
        # 5 × 37 × 7: no multiple of an instruction's shape.
        self.a, self.b = halves(1, 5, 37), halves(2, 37, 7)
        self.c, self.bias = halves(3, 5, 7, dtype=np.float32), halves(4, 7, dtype=np.float32)
        self.model = GemmModel(*HOPPER)

    def saved(self, **arrays):
        """Files of the names that the module gives arrays, so that texts which name them are the same."""
        for name, array in arrays.items():
            with open(self.path(name), "wb") as file:
                np.save(file, array)

    def product(self, model, *more):
        """What the program makes of the saved a and b."""
        self.good("gemm", "a", "b", *more, *words(model), "-o", "out.npy")
        out = np.load(self.path("out.npy"))
        return out.view(f"u{out.itemsize}") if out.dtype.kind == "V" else out  # a format that NumPy has no name for

    def same_bits(self, mine, theirs):
        self.assertEqual((mine.dtype, mine.shape), (theirs.dtype, theirs.shape))
        self.assertEqual(mine.tobytes(), theirs.tobytes())
