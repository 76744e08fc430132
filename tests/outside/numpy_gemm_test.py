# SPDX-License-Identifier: Apache-2.0
#
# `binade gemm` and `binade validate gemm` on products made by NumPy. NumPy multiplies binary16 matrices without BLAS:
# a chain of k in binary32, rounded to binary16 at the end; cumulative sums are a chain whatever the machine. Products
# of small integers are exact in every order. What `explain` and `--account` say of NumPy's matrices is held against
# Python's fractions. Run as numpy_gemm_test.py PATH_TO_BINADE; exits with 77 without NumPy.

import json
import os
import subprocess
import sys
import tempfile
from fractions import Fraction

try:
    import ml_dtypes
    import numpy
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

BINADE = os.path.abspath(sys.argv[1])


def run(folder, *words, status=0):
    result = subprocess.run([BINADE, *map(str, words)], capture_output=True, text=True, cwd=folder, timeout=300, check=False)
    assert result.returncode == status, (words, result.stdout, result.stderr)
    return result.stdout


def check(folder, a, b, d, *words, c=None):
    """NumPy's D in every bit."""
    for name, array in (("a", a), ("b", b), ("d", d), ("c", c)):
        if array is not None:
            numpy.save(os.path.join(folder, name + ".npy"), array)
    files = ["a.npy", "b.npy"] + ([] if c is None else ["c.npy"])
    said = run(folder, "validate", "gemm", *files, "--d", "d.npy", *words)
    assert said.endswith(f"elements {d.size}, equal {d.size}, different 0\n"), said
    run(folder, "gemm", *files, "-o", "e.npy", *words)
    return d.size


def exact_dot(row, column):
    return sum((Fraction(float(x)) * Fraction(float(y)) for x, y in zip(row, column)), Fraction(0))


def check_explanations(folder, a, b, d, *words):
    """Of NumPy's elements: the exact sum, the steps' errors, the bits; of the whole: the error in all."""
    total = Fraction(0)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            said = json.loads(run(folder, "explain", "gemm", "a.npy", "b.npy", "--d", "d.npy", "--element", i, j, "--json",
                                  *words))
            exact = exact_dot(a[i], b[:, j])
            error = Fraction(float(d[i, j])) - exact
            assert said["hardware"]["bits"] == said["result"]["bits"], (i, j, said["result"])
            assert Fraction(said["exact"]["exact"]) == exact and Fraction(said["error"]["exact"]) == error, (i, j)
            steps = sum(Fraction(x["exact"]) for x in said["errors"].values())
            assert Fraction(said["sum"]["exact"]) - exact == steps, (i, j, said["errors"])
            total += abs(error)
    run(folder, "gemm", "a.npy", "b.npy", "--account", "account.json", *words)
    with open(os.path.join(folder, "account.json"), encoding="utf-8") as file:
        account = json.load(file)
    told = account["error"]
    assert int(told["integer"]) * Fraction(2) ** told["exponent"] == total, (told, total)
    assert account["exact"] == sum(1 for i in range(d.shape[0]) for j in range(d.shape[1])
                                   if exact_dot(a[i], b[:, j]) == Fraction(float(d[i, j])))


def main():
    random = numpy.random.default_rng(6)
    compared = 0
    with tempfile.TemporaryDirectory() as folder:
        for m, n, k in ((1, 1, 1), (7, 5, 3), (33, 17, 129), (64, 48, 1000)):
            scale = numpy.exp2(random.integers(-9, 3, (m, k)))
            a = (random.standard_normal((m, k)) * scale).astype(numpy.float16)
            b = random.standard_normal((k, n)).astype(numpy.float16)
            chain = ("--instruction", "fma.rn.f32.f16.f16.f32")
            compared += check(folder, a, b, a @ b, *chain, "--out-format", "f16")
            # Row by row, one rounded product after the other.
            x, y = a.astype(numpy.float32), b.astype(numpy.float32)
            steps = numpy.cumsum(x[:, :, None] * y[None, :, :], axis=1, dtype=numpy.float32)[:, -1, :]
            compared += check(folder, x, y, steps, "--instruction", "mul_add.rn.f32.f32.f32.f32")
            if m == 7:
                check_explanations(folder, x, y, steps, "--instruction", "mul_add.rn.f32.f32.f32.f32")
                grown = (numpy.abs(a).astype(numpy.float64) @ numpy.abs(b).astype(numpy.float64)).astype(numpy.float32)
                check(folder, numpy.abs(a), numpy.abs(b), grown, "--instruction", "fma.rn.f64.f16.f16.f64", "--out-format", "f32")
                check_explanations(folder, numpy.abs(a), numpy.abs(b), grown, "--instruction", "fma.rn.f64.f16.f16.f64",
                                   "--out-format", "f32")
            c = random.standard_normal((m, n)).astype(numpy.float32)
            added = steps * numpy.float32(0.75) + c
            compared += check(folder, x, y, added, "--instruction", "mul_add.rn.f32.f32.f32.f32", "--alpha", "0.75",
                              "--fused", "beta", c=c)
            whole = random.integers(-8, 9, (m, k)), random.integers(-8, 9, (k, n))
            exact = (whole[0] @ whole[1]).astype(numpy.float32)
            for dtype, words in ((numpy.float16, ("--arch", "sm_70", "--instruction", "wmma.m16n16k16.f32.f16.f16.f32")),
                                 (ml_dtypes.bfloat16, ("--arch", "sm_80", "--instruction", "mma.m16n8k16.f32.bf16.bf16.f32")),
                                 (numpy.float64, ("--arch", "sm_90", "--instruction", "mma.m16n8k8.f64.f64.f64.f64",
                                                  "--out-format", "f32"))):
                compared += check(folder, whole[0].astype(dtype), whole[1].astype(dtype), exact, *words)
    print(f"{compared} elements of NumPy's compared, all equal")


main()
