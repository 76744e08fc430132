# SPDX-License-Identifier: Apache-2.0
#
# Times other people's code doing the same work on the arrays of ./dev bench (arrays.cpp): NumPy's float16, ml_dtypes, and a
# compiled loop of F16C's conversions. They do not count what happens to the values, and round to nearest even only. A time is
# the processor time of one thread, the lower quartile of the passes. SKIP where a package is missing.   peers.py [--json FILE]
import argparse
import ctypes
import json
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

try:
    import ml_dtypes
    import numpy as np
except ImportError as error:
    print(f"{error}: ./dev bench --peers installs tests/requirements.txt where that can be had")
    sys.exit(77)

IN_L2, FROM_DRAM = 1 << 14, 1 << 24
PATTERN = 1 << 20
SECONDS = 1.0  # for each row
# Not measured here: ns a float, one thread, on an AMD EPYC Zen 3 of about 3.1 GHz.
QUOTED = [("CPFloat", "quantize/binary16/ties_to_even", "5.8"),
          ("CPFloat", "quantize/bfloat16/ties_to_even", "0.60"),
          ("CPFloat", "quantize/e4m3/ties_to_even", "9.8"),
          ("CPFloat", "quantize/binary16/stochastic", "14 to 20")]

F16C_LOOP = r"""
#include <immintrin.h>
#include <stddef.h>
void round_trip(const float* in, float* out, size_t n) {
  for (size_t i = 0; i + 8 <= n; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(half));
  }
}
"""


def inputs(n):
    """Log-uniform over 2^-24..2^13 of both signs: the words of Knuth's MMIX generator, as arrays.cpp makes them."""
    words, state = np.empty(PATTERN, np.uint64), 1
    for i in range(PATTERN):
        state = (state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        words[i] = state
    magnitude = np.exp2(37 * ((words >> np.uint64(11)) * 2.0**-53) - 24)
    negative = words >> np.uint64(8) & np.uint64(1) != 0
    pattern = np.where(negative, -magnitude, magnitude).astype(np.float32)
    return np.tile(pattern, -(-n // PATTERN))[:n]


def nanoseconds(run, n):
    """Of an element, the lower quartile."""
    passes, times, end = max(1, PATTERN // n), [], time.monotonic() + SECONDS
    run()
    while len(times) < 5 or time.monotonic() < end:
        start = time.thread_time()
        for _ in range(passes):
            run()
        times.append((time.thread_time() - start) / passes)
    return 1e9 * sorted(times)[len(times) // 4] / n


def f16c_round_trip(folder):
    """The loop, or None where there is no such processor or compiler."""
    try:
        if "f16c" not in Path("/proc/cpuinfo").read_text().split():
            return None
        source, library = Path(folder, "loop.c"), Path(folder, "loop.so")
        source.write_text(F16C_LOOP)
        subprocess.run(["cc", "-O3", "-mavx", "-mf16c", "-shared", "-fPIC", "-o", library, source],
                       check=True, capture_output=True)
        loop = ctypes.CDLL(str(library)).round_trip
    except (OSError, subprocess.CalledProcessError):
        return None
    loop.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    return lambda x, out: loop(x.ctypes.data, out.ctypes.data, x.size)


def rows(n, f16c):
    """(who, what it does, our row of the same, run)."""
    x, out = inputs(n), np.empty(n, np.float32)

    def cast(to, array):
        return lambda: np.copyto(to, array, casting="unsafe")

    def round_trip(code):
        def run():
            np.copyto(code, x, casting="unsafe")
            np.copyto(out, code, casting="unsafe")
        return run

    for who, dtype, name in (("NumPy", np.float16, "binary16"),
                             ("ml_dtypes", ml_dtypes.bfloat16, "bfloat16"),
                             ("ml_dtypes", ml_dtypes.float8_e4m3fn, "e4m3"),
                             ("ml_dtypes", ml_dtypes.float8_e5m2, "e5m2")):
        code = np.empty(n, dtype)
        yield who, f"{np.dtype(dtype).name} and back", f"quantize/{name}/ties_to_even", round_trip(code)
        yield who, f"to {np.dtype(dtype).name}", f"encode/{name}/ties_to_even", cast(code, x)
        yield who, f"from {np.dtype(dtype).name}", f"decode/{name}", cast(out, code)
    a, b, sums = x.astype(np.float16), np.roll(x, 16 * 1009).astype(np.float16), np.empty(n, np.float16)
    yield ("NumPy", "float16 + float16", "elementwise/add/binary16/ties_to_even",
           lambda: np.add(a, b, out=sums))
    if f16c is not None:
        yield ("F16C", "float16 and back", "quantize/binary16/ties_to_even", lambda: f16c(x, out))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--json", type=Path)
    path = arguments.parse_args().json
    np.seterr(all="ignore")
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        f16c = f16c_round_trip(folder)
        if f16c is None:
            print("no F16C, or no C compiler: without its loop")
        print(f"{'':12}{'':26}{'elements':>10}{'ns an element':>16}")
        for n in (IN_L2, FROM_DRAM):
            for who, what, ours, run in rows(n, f16c):
                ns = nanoseconds(run, n)
                measured.append({"peer": who, "what": what, "ours": ours,
                                 "n": "in L2" if n == IN_L2 else "from DRAM", "ns_per_element": ns})
                print(f"{who:12}{what:26}{n:10}{ns:16.3f}", flush=True)
    for who, ours, ns in QUOTED:
        print(f"{who:12}{ours:36}{ns:>16}  from another machine (Zen 3)")
    if path:
        context = {"python": platform.python_version(), "NumPy": np.__version__,
                   "ml_dtypes": ml_dtypes.__version__}
        quoted = [{"peer": who, "ours": ours, "ns_per_element": ns} for who, ours, ns in QUOTED]
        path.write_text(json.dumps({"context": context, "rows": measured, "quoted": quoted},
                                   indent=1) + "\n")


main()
