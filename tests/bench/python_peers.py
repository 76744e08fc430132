# SPDX-License-Identifier: Apache-2.0
#
# Rounds 4 million gradients with four packages, and prints how many become zero or overflow in a format with a rounding, and
# how long that takes. A rounding that a package does not have is named as such.   python_peers.py needs the module, numpy,
# ml_dtypes and gfloat; SKIP where one is missing.
import dataclasses
import sys
import time

try:
    import gfloat
    import gfloat.formats
    import ml_dtypes
    import numpy as np

    import binade
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

COUNT = 1 << 22


def gradients():
    draw = np.random.default_rng(1)
    return (draw.standard_normal(COUNT) * np.exp2(draw.integers(-30, 6, COUNT))).astype(np.float32)


def lost(x, y):
    """Values that became zero, and values that overflowed."""
    return int(((y == 0) & (x != 0)).sum()), int((~np.isfinite(y) & np.isfinite(x)).sum())


def with_binade(x, format, rounding):
    _, counts = binade.quantize(x, format, rounding=rounding, counts=True)
    return counts.to_zero, counts.overflow


def with_gfloat(x, format, rounding):
    modes = {"ties_to_even": gfloat.RoundMode.TiesToEven, "toward_zero": gfloat.RoundMode.TowardZero,
             "stochastic": gfloat.RoundMode.Stochastic}
    of = {"binary16": gfloat.formats.format_info_binary16, "e4m3": gfloat.formats.format_info_ocp_e4m3,
          "e5m7": dataclasses.replace(gfloat.formats.format_info_binary16, name="e5m7", k=13, precision=8,
                                      num_high_nans=127)}
    drawn = {}
    if rounding == "stochastic":
        drawn = {"srbits": np.random.default_rng(2).integers(0, 1 << 8, COUNT), "srnumbits": 8}
    return lost(x, gfloat.round_ndarray(of[format], x, modes[rounding], sat=False, **drawn))


def with_ml_dtypes(x, format, rounding):
    of = {"e4m3": ml_dtypes.float8_e4m3fn}
    return lost(x, x.astype(of[format]).astype(np.float32)) if format in of and rounding == "ties_to_even" else None


def with_numpy(x, format, rounding):
    known = format == "binary16" and rounding == "ties_to_even"
    return lost(x, x.astype(np.float16).astype(np.float32)) if known else None


PACKAGES = {"binade": with_binade, "gfloat": with_gfloat, "ml_dtypes": with_ml_dtypes, "numpy": with_numpy}
QUESTIONS = [("binary16", "ties_to_even"), ("e4m3", "ties_to_even"), ("e4m3", "toward_zero"), ("e4m3", "stochastic"),
             ("e5m7", "ties_to_even")]


def main():
    x = gradients()
    np.seterr(over="ignore", invalid="ignore")
    print("| format, rounding | " + " | ".join(PACKAGES) + " |")
    print("|---" * (len(PACKAGES) + 1) + "|")
    for format, rounding in QUESTIONS:
        answers, cells = set(), []
        for ask in PACKAGES.values():
            times = []
            for _ in range(5):
                begun = time.process_time()
                answer = ask(x, format, rounding)
                times.append(time.process_time() - begun)
            if answer is not None:
                answers.add(answer)
            cells.append("no answer" if answer is None else f"{1e9 * min(times) / COUNT:.2f} ns")
        assert rounding == "stochastic" or len(answers) == 1, (format, rounding, answers)
        print(f"| {format}, {rounding.replace('_', ' ')} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
