# SPDX-License-Identifier: Apache-2.0
#
# Products by other people's code: operands are drawn here, results come from NumPy, PyTorch or Eigen. The test that runs what
# is installed and the script that records some products share this module.

import random
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from made_files import safetensors  # noqa: E402

LETTERS = {"F16": "e", "F32": "f", "F64": "d", "BF16": "H"}


class Product:
    """What a library made of a and b: bytes of C-ordered arrays, little-endian."""

    def __init__(self, name, how, dtype, a_shape, b_shape, d_shape):
        self.name, self.how, self.dtype = name, how, dtype
        self.dtypes = {key: dtype for key in "abd"}
        self.shapes = {"a": a_shape, "b": b_shape, "d": d_shape}
        numbers = random.Random(name)
        self.data = {key: normal(numbers, dtype, self.shapes[key]) for key in "ab"}

    @property
    def is_dots(self):
        return len(self.shapes["d"]) == 1

    def finish(self, d):
        self.data["d"] = d
        return self


def normal(numbers, dtype, shape):
    count = shape[0] * shape[1]
    values = [numbers.gauss(0, 1) for _ in range(count)]
    if dtype == "BF16":  # the upper halves of binary32
        return b"".join(struct.pack("<f", x)[2:] for x in values)
    return struct.pack(f"<{count}{LETTERS[dtype]}", *values)


def matrices(library, dtype, m, n, k, how):
    return Product(f"{library}_matmul_{dtype.lower()}_{m}x{n}x{k}", how, dtype, (m, k), (k, n), (m, n))


def dots(library, word, dtype, rows, k, how):
    return Product(f"{library}_{word}_{dtype.lower()}_{k}", how, dtype, (rows, k), (rows, k), (rows,))


def numpy_products():
    import numpy

    kinds = {"F16": numpy.float16, "F32": numpy.float32, "F64": numpy.float64}
    for dtype, m, n, k in (("F32", 16, 16, 64), ("F32", 4, 4, 512), ("F64", 16, 8, 64), ("F64", 3, 3, 512),
                           ("F16", 12, 12, 64)):
        x = matrices("numpy", dtype, m, n, k, f"numpy {numpy.__version__} a @ b")
        a, b = (numpy.frombuffer(x.data[key], kinds[dtype]).reshape(x.shapes[key]) for key in "ab")
        yield x.finish((a @ b).tobytes())
    for word, dtype, k, function in (("dot", "F32", 64, numpy.dot), ("dot", "F32", 256, numpy.dot),
                                     ("dot", "F32", 100, numpy.dot), ("dot", "F64", 128, numpy.dot),
                                     ("sum", "F32", 64, lambda a, b: numpy.sum(a * b)),
                                     ("sum", "F32", 256, lambda a, b: numpy.sum(a * b)),
                                     ("sum", "F32", 100, lambda a, b: numpy.sum(a * b)),
                                     ("einsum", "F32", 64, lambda a, b: numpy.einsum("i,i->", a, b))):
        how = {"dot": "numpy.dot(a, b)", "sum": "numpy.sum(a * b)", "einsum": "numpy.einsum('i,i->', a, b)"}[word]
        x = dots("numpy", word, dtype, max(6, 1200 // k), k, f"{how} of each row, numpy {numpy.__version__}")
        a, b = (numpy.frombuffer(x.data[key], kinds[dtype]).reshape(x.shapes[key]) for key in "ab")
        yield x.finish(b"".join(kinds[dtype](function(p, q)).tobytes() for p, q in zip(a, b)))


def torch_products():
    import torch

    torch.set_num_threads(1)
    kinds = {"F32": torch.float32, "F64": torch.float64, "BF16": torch.bfloat16}

    def tensor(x, key):
        raw = bytearray(x.data[key])
        return torch.frombuffer(raw, dtype=kinds[x.dtype]).reshape(x.shapes[key])

    def raw(d):
        return d.contiguous().view(torch.int16).numpy().tobytes() if d.dtype == torch.bfloat16 else d.numpy().tobytes()

    for dtype, m, n, k in (("F32", 12, 12, 96), ("F64", 8, 8, 64), ("BF16", 16, 16, 64)):
        x = matrices("torch", dtype, m, n, k, f"torch {torch.__version__} a @ b")
        yield x.finish(raw(tensor(x, "a") @ tensor(x, "b")))
    for word, k, function in (("dot", 100, torch.dot), ("sum", 64, lambda a, b: (a * b).sum()),
                              ("sum", 100, lambda a, b: (a * b).sum()),
                              ("sum", 256, lambda a, b: (a * b).sum())):
        how = {"dot": "torch.dot(a, b)", "sum": "(a * b).sum()"}[word]
        x = dots("torch", word, "F32", max(6, 1200 // k), k, f"{how} of each row, torch {torch.__version__}")
        pairs = zip(tensor(x, "a"), tensor(x, "b"))
        yield x.finish(b"".join(raw(function(p, q).reshape(1)) for p, q in pairs))


def eigen_products(program):
    version = subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    for dtype, m, n, k in (("F32", 12, 12, 96), ("F32", 4, 4, 8), ("F64", 8, 8, 64), ("F32", 20, 1, 200),
                           ("F32", 4, 4, 1100)):
        x = matrices("eigen", dtype, m, n, k, f"{version} a * b")
        done = subprocess.run([program, dtype, str(m), str(n), str(k)], input=x.data["a"] + x.data["b"],
                              stdout=subprocess.PIPE, check=True)
        yield x.finish(done.stdout)


def products(library, eigen_program=None):
    """Those of one library; ImportError where it is not installed."""
    if library == "eigen":
        return list(eigen_products(eigen_program))
    return list({"numpy": numpy_products, "torch": torch_products}[library]())


def tensors_file(arrays, metadata):
    """The bytes of a .safetensors file of arrays by name, each its dtype, shape and data."""
    return safetensors(*((name, dtype, list(shape), part) for name, (dtype, shape, part) in arrays.items()),
                       metadata=metadata)


def file_of(x, metadata=None):
    arrays = {key: (x.dtypes[key], x.shapes[key], x.data[key]) for key in "abd"}
    return tensors_file(arrays, metadata or {})
