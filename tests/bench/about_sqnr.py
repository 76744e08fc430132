# SPDX-License-Identifier: Apache-2.0
"""How far the SQNR that a report's verdict calls "about" a number is off in e4m3, for values that lie in different ways between the
format's numbers: the table of lib/report/README.md. The exact one is computed here from values that binade.quantize rounds, at the
verdict's scale: the largest power of two that keeps every value a binade below overflow.

    PYTHONPATH=build/lib/python PYTHON tests/bench/about_sqnr.py       of a Python with NumPy
"""
import math

import binade
import numpy


def integers(bits, *, normal=False, n=20000):
    """Returns values as of a dequantized tensor of so many bits: integers within ±(2^(bits - 1) - 1), times 2^-7."""
    draw, most = numpy.random.default_rng(0), 2 ** (bits - 1) - 1
    whole = numpy.clip(numpy.rint(draw.standard_normal(n) * most / 2.5), -most, most) if normal else draw.integers(-most, most + 1, n)
    return whole * 2.0**-7


def two(n=300):
    """Returns values of two magnitudes, each beside a number of the format."""
    draw = numpy.random.default_rng(0)
    return draw.choice([1.127, 1.373], n) * draw.choice([-1, 1], n) * 2.0**-9  # at scale 1 below the normal numbers


ROWS = [("65 536, normally distributed", numpy.random.default_rng(0).standard_normal(65536)),
        ("64, normally distributed", numpy.random.default_rng(0).standard_normal(64)),
        ("20 000, dequantized from evenly distributed integers of 8 bits", integers(8)),
        ("of 6 bits", integers(6)),
        ("of 6 bits, normally distributed with the largest as 31", integers(6, normal=True)),
        ("of 5 bits, which e4m3 holds exactly", integers(5)),
        ("300 of two magnitudes", two())]


def main():
    print("| values | about | exactly |\n| --- | --- | --- |")
    for name, x in ROWS:
        x = x.astype(numpy.float32)
        worst = binade.report({"a.weight": x}).to_dict()["verdict"]["roles"][0]["formats"][0]["worst"]
        assert worst["sqnr_estimated"], name
        scaled = x.astype(float) * 2.0 ** binade.loss_scale({"a.grad": x}, format="e4m3", headroom=1)["s_max_log2"]
        noise = numpy.square(binade.quantize(scaled, "e4m3") - scaled).sum()
        exact = f"{10 * math.log10(numpy.square(scaled).sum() / noise):.1f} dB" if noise else "no error"
        print(f"| {name} | {worst['sqnr_db']:.1f} dB | {exact} |")


if __name__ == "__main__":
    main()
