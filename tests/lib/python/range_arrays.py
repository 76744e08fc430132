# SPDX-License-Identifier: Apache-2.0
#
# Arrays for the tests of range summaries and of reports, and a file that holds the same values.

import numpy as np

from cli_case import CliCase
from made_files import safetensors

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

DTYPES = {"float16": "F16", "float32": "F32", "float64": "F64", "bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3",
          "float8_e5m2": "F8_E5M2", "int32": "I32", "bool": "BOOL"}


def saved(arrays):
    """The bytes of a .safetensors of these, in their order."""
    return safetensors(*((name, DTYPES[x.dtype.name], list(x.shape), np.ascontiguousarray(x).tobytes())
                         for name, x in arrays.items()))


def made(seed=1):
    """Arrays with zeros, subnormals, infinities and NaNs, in several dtypes and shapes; gradients, a weight, a state."""
    random = np.random.default_rng(seed)

    def spread(shape, low, high):
        return np.ldexp(random.standard_normal(shape), random.integers(low, high, shape))

    out = {"fc1.weight.grad": spread((7, 31), -40, -5).astype("f"),
           "fc2.weight.grad": spread(500, -30, 3).astype("e"),
           "fc1.weight": spread((3, 5, 8), -9, 2),
           "exp_avg": np.zeros((4, 4), "f"),
           "wide.grad": spread(300, -1000, -900),
           "ids": np.arange(6, dtype="i4").reshape(2, 3),
           "empty.grad": np.zeros((0, 3), "f"),
           "scalar.grad": np.array(0.375, "f")}
    out["fc1.weight.grad"][0, :6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 65520.0]
    out["fc2.weight.grad"][:4] = [0, 2**-24, -65504, np.inf]
    if ml_dtypes:
        out["b.grad"] = spread(400, -130, 4).astype(ml_dtypes.bfloat16)
        out["q.grad"] = spread(64, -9, 5).astype(ml_dtypes.float8_e4m3fn)
    return out


class Ranges(CliCase):
    def setUp(self):
        super().setUp()
        self.arrays = made()

    def file(self, arrays, name="arrays.safetensors"):
        return self.write(name, saved(arrays))
