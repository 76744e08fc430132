# SPDX-License-Identifier: Apache-2.0
#
# Compares lib/evidence/seen.tsv with the rows from which it was computed, ../shared/hw_vectors (without that folder the test is
# skipped, 77): by the program and, for its ranges, by arithmetic that is written here. With --whole also the recordings of
# this repository.
#   seen_rows_test.py PATH_TO_BINADE [--whole]
import ast
import json
import math
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ROWS = ROOT.parent / "shared" / "hw_vectors"
WIDTHS = {"|u1": "B", "<u2": "H", "<u4": "I"}
# exponent bits, fraction bits, bias, bits below the format's own
FORMATS = {"fp16": (5, 10, 15, 0), "bf16": (8, 7, 127, 0), "tf32": (8, 10, 127, 13), "fp32": (8, 23, 127, 0),
           "E4M3": (4, 3, 7, 0), "E5M2": (5, 2, 15, 0)}


def read_npy(path):
    data = path.read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    code = WIDTHS[header["descr"]]
    rest = data[10 + length:]
    return struct.unpack(f"<{len(rest) // struct.calcsize(code)}{code}", rest)


def magnitude(bits, name):
    """The exact magnitude; None of what is no number. E4M3 has one NaN and no Inf."""
    exponent_bits, fraction_bits, bias, padding = FORMATS[name]
    bits >>= padding
    field = bits >> fraction_bits & (1 << exponent_bits) - 1
    fraction = bits & (1 << fraction_bits) - 1
    top = field == (1 << exponent_bits) - 1
    if top and (name != "E4M3" or fraction == 7):
        return None
    significand = fraction | (1 << fraction_bits if field else 0)
    return Fraction(significand) * Fraction(2) ** (max(field, 1) - bias - fraction_bits)


def is_subnormal(bits, name):
    exponent_bits, fraction_bits, _, padding = FORMATS[name]
    bits >>= padding
    return bits >> fraction_bits & (1 << exponent_bits) - 1 == 0 and bits & (1 << fraction_bits) - 1 != 0


def range_of(values, name):
    """least, most, zeros, minus zeros, subnormals; values that are no numbers fail, there are none in these rows."""
    _, _, _, padding = FORMATS[name]
    sign = 1 << sum(FORMATS[name][:2]) + padding
    sizes = [magnitude(bits, name) for bits in values]
    assert None not in sizes
    numbers = [float(x) for x in sizes if x]
    zeros = [bits for bits, x in zip(values, sizes) if not x]
    return (min(numbers, default=math.nan), max(numbers, default=math.nan), len(zeros),
            sum(bits & sign != 0 for bits in zeros), sum(is_subnormal(bits, name) for bits in values))


def told_range(words):
    least, most, *counts = words.split()
    assert counts[3:] == ["0", "0"], words  # Inf, NaN
    ends = (math.nan, math.nan) if least == "-" else (float(least), float(most))
    return (*ends, *(int(n) for n in counts[:3]))


def expected(row):
    start = f"{row['gpu']}_{row['input']}"
    a, b = (read_npy(ROWS / f"{start}_{x}.npy") for x in "ab")
    pairs = [pair for pair in zip(a, b) if pair != (0, 0)]
    d = read_npy(ROWS / f"{start}_d_{row['output']}.npy")
    used = row["c_used"] == f"c_{row['output']}"
    c = read_npy(ROWS / f"{start}_c_{row['output']}.npy") if used else [0] * len(d)
    return (range_of([x for pair in pairs for x in pair], row["input"]), range_of(c, row["output"]),
            range_of(d, row["output"]))


def same(x, y):
    return len(x) == len(y) and all(p == q or (p != p and q != q) for p, q in zip(x, y))


def seen(binade, *paths):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "seen.tsv"
        done = subprocess.run([binade, "validate", "--show", "0", "--replay", *paths, "--seen", out], capture_output=True,
                              text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return out.read_text().splitlines()


def main():
    committed = (ROOT / "lib/evidence/seen.tsv").read_text().splitlines()
    binade, whole = sys.argv[1], "--whole" in sys.argv
    if not ROWS.is_dir():
        print("skipped: the rows of ../shared/hw_vectors are not here")
        sys.exit(77)
    recordings = ROOT / "tests/recordings/sm_90/dots"
    found = seen(binade, ROWS, *([recordings] if whole else []))
    missing = set(found) - set(committed)
    assert not missing, f"seen.tsv has not: {sorted(missing)[:2]}"
    assert not whole or found == committed, "seen.tsv has lines that no rows give"
    lines = [line.split("\t") for line in found]
    compared = 0
    for row in json.loads((ROWS / "sets.json").read_text()):
        if not row["independent"]:
            continue
        kind = {"fp16": "f16", "bf16": "bf16", "tf32": "tf32", "E4M3": "e4m3", "E5M2": "e5m2"}[row["input"]]
        result = {"fp32": "f32", "fp16": "f16"}[row["output"]]
        line, = [x for x in lines if x[0] == row["gpu"] and f".{result}.{kind}.{kind}" in x[2] and x[3] == str(row["rows"])]
        for what, words, numbers in zip(("a and b", "c", "d"), line[4:7], expected(row)):
            assert same(told_range(words), numbers), (row["gpu"], row["input"], what, words, numbers)
        compared += 1
    print(f"{len(found)} lines as committed, ranges of {compared} sets as counted here")
    assert compared == 42


main()
