# SPDX-License-Identifier: Apache-2.0
#
# gradcheck_formats, quickly: it ends as expected, with the same bytes on one thread and on two, and its shares for x³ are
# those of central differences in Python's own binary32, binary16 and binary64 (struct's 'f' and 'e', float) at other
# random x, but for five standard deviations of its sample.

import json
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from made_files import through
from quick_run import quick_run

BINADE = os.path.abspath(sys.argv[1])
FORMATS = {"FP64": "<f8", "FP32": "<f4", "FP16": "<f2"}


def shares(dtype, eps, n):
    """Passed, numerator 0, x + eps = x: of n random x in [-2, 2). Only results of ops are rounded, as in the engine,
    where binary16 is computed in binary32."""
    def to(x, by=dtype):
        return through(by, x)

    carrier = "<f8" if dtype == "<f8" else "<f4"

    def cube(x):
        return to(to(to(x * x, carrier) * x, carrier))

    counts = [0, 0, 0]
    for _ in range(n):
        x = to(random.uniform(-2, 2))
        above, below = to(to(x + to(eps, carrier), carrier)), to(to(x - to(eps, carrier), carrier))
        numerator = to(cube(above) - cube(below))
        numerical = numerator / (2 * eps)
        analytical = to(to(3 * to(x * x, carrier), carrier))
        counts[0] += abs(analytical - numerical) <= 1e-5 + 1e-3 * abs(numerical)
        counts[1] += numerator == 0
        counts[2] += above == x
    return [count / n for count in counts]


def main():
    once, again = (quick_run(BINADE, "gradcheck_formats", threads) for threads in (1, 2))
    assert once == again, "the figures depend on the number of threads"
    result = json.loads(once)["results"][0]
    assert result["status"] == "as_expected", result["verdict"]
    ops = {op["op"]: op for op in result["data"]["ops"]}
    assert len(ops) == 8
    for op in ops.values():
        assert op["FP64"][1]["passed"] == 1.0 and op["FP64"][1]["elements"] > 0, op["op"]
    random.seed(26)
    compared = 0
    for name, dtype in FORMATS.items():
        for cell in ops["x^3"][name]:
            n = cell["elements"]
            expected = shares(dtype, cell["eps"], 4 * n)
            for key, share in zip(("passed", "zero_numerators", "unmoved"), expected):
                spread = math.sqrt(max(share * (1 - share), 1 / n) / n * 1.25)
                assert abs(cell[key] - share) <= 5 * spread, (name, cell["eps"], key, cell[key], share)
                compared += 1
    assert compared == 3 * 3 * 7
    print(f"{compared} shares compared with Python's own")


main()
