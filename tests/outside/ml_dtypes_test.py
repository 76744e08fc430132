# SPDX-License-Identifier: Apache-2.0
#
# ml_dtypes (what JAX and TensorFlow call float8 and bfloat16) against the emulator, bit for bit: the value of every
# encoding, and some 460 000 float32 conversions into each of its formats. Argument: the program ml_dtypes_cases.
#
# Left out of the comparison: NaN payloads; NaN into FP6 and FP4 (ml_dtypes gives -0, we the largest number, as NVIDIA
# does); zero and negative inputs of e8m0 (ml_dtypes gives NaN, we ignore the sign and give 2^-127, as NVIDIA does);
# float32 subnormals into e8m0 (ml_dtypes 0.5.1 and 0.6.0 round 1.00001 * 2^-127 up to 2^-126).

import pathlib
import subprocess
import sys
import tempfile

try:
    import ml_dtypes
    import numpy as np
except ImportError as error:
    print(f"ml_dtypes or numpy is missing: {error}")
    sys.exit(77)

FORMATS = """bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu float6_e3m2fn
             float6_e2m3fn float4_e2m1fn float8_e4m3 float8_e3m4 float8_e4m3b11fnuz""".split()
WITHOUT_NAN = {"float6_e3m2fn", "float6_e2m3fn", "float4_e2m1fn"}


def compare_values(folder, name, dtype, unsigned):
    ours = np.fromfile(folder / f"{name}.values", dtype="<f8")
    with np.errstate(invalid="ignore"):
        theirs = np.arange(len(ours), dtype=unsigned).view(dtype).astype(np.float64)
    nan = np.isnan(theirs)
    same = np.where(nan, np.isnan(ours), ours.view(np.uint64) == theirs.view(np.uint64))
    for code in np.flatnonzero(~same)[:5]:
        print(f"{name} encoding {code:#x}: ours {ours[code]!r}, theirs {theirs[code]!r}")
    return len(ours), int(np.count_nonzero(~same))


def compare_conversions(folder, name, dtype, unsigned, x):
    ours = np.fromfile(folder / f"{name}.codes", dtype="<u2")
    with np.errstate(all="ignore"):
        theirs = x.astype(dtype).view(unsigned)
    both_nan = np.isnan(ours.astype(unsigned).view(dtype).astype(np.float64)) & np.isnan(
        theirs.view(dtype).astype(np.float64))
    same = (ours == theirs) | (np.isnan(x) & both_nan)
    if name in WITHOUT_NAN:
        compared = ~np.isnan(x)
    elif name == "float8_e8m0fnu":
        compared = x >= np.float32(2.0**-126)
    else:
        compared = np.ones(len(x), dtype=bool)
    wrong = np.flatnonzero(compared & ~same)
    for i in wrong[:5]:
        print(f"{name} of {float(x[i]).hex()}: ours {ours[i]:#x}, theirs {theirs[i]:#x}")
    return int(np.count_nonzero(compared)), len(wrong)


def main(program):
    total = different = 0
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        subprocess.run([program, path], check=True)
        x = np.fromfile(folder / "cases.f32", dtype="<f4")
        for name in FORMATS:
            dtype = np.dtype(getattr(ml_dtypes, name))
            unsigned = np.uint16 if dtype.itemsize == 2 else np.uint8
            values, wrong_values = compare_values(folder, name, dtype, unsigned)
            cases, wrong_cases = compare_conversions(folder, name, dtype, unsigned, x)
            print(f"{name:20} {values:6} encodings, {wrong_values} different; "
                  f"{cases:7} conversions, {wrong_cases} different")
            if cases < 200_000 or values < 16:
                print(f"{name}: too few were compared")
                different += 1
            total += values + cases
            different += wrong_values + wrong_cases
    print(f"ml_dtypes {ml_dtypes.__version__}: {total} compared, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
