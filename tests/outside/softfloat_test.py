# SPDX-License-Identifier: Apache-2.0
#
# Berkeley SoftFloat 3e (the package softfloatpy, with RISC-V's rules for NaN) against the emulator:
# operands from `binade cases`, results and flags from SoftFloat, the judgement from `binade check
# --testfloat`. The functions are TestFloat's and the two between bfloat16 and binary32. Float
# results are compared with their NaN bits: SoftFloat returns the default quiet NaN, as we do. Left
# out: rounding to odd, which softfloatpy was built without, and the integer that an invalid
# conversion returns. The package missing is exit 77.

import argparse
import concurrent.futures
import functools
import os
import re
import subprocess
import sys

from testfloat_test import (BINADE_SPELLING, FUNCTIONS, check_command, outcome_of, run_all,
                            streams_of)

try:
    import softfloatpy
except ImportError as error:
    print(f"softfloatpy is missing: {error}")
    sys.exit(77)

TYPES = {
    "ui32": softfloatpy.UInt32, "ui64": softfloatpy.UInt64,
    "i32": softfloatpy.Int32, "i64": softfloatpy.Int64,
    "bf16": softfloatpy.BFloat16, "f16": softfloatpy.Float16,
    "f32": softfloatpy.Float32, "f64": softfloatpy.Float64,
}
OPERANDS = {"mulAdd": 3, "sqrt": 1, "roundToInt": 1}  # 2 of the others, 1 of conversions
RENAMED = {"mulAdd": "mul_add", "roundToInt": "round_to_int"}
ROUNDING_MODES = {
    "near_even": softfloatpy.RoundingMode.NEAR_EVEN, "minMag": softfloatpy.RoundingMode.MIN_MAG,
    "min": softfloatpy.RoundingMode.MIN, "max": softfloatpy.RoundingMode.MAX,
    "near_maxMag": softfloatpy.RoundingMode.NEAR_MAX_MAG,
}
TININESS_MODES = {
    "before": softfloatpy.TininessMode.BEFORE_ROUNDING,
    "after": softfloatpy.TininessMode.AFTER_ROUNDING,
}
ALL_FUNCTIONS = {**FUNCTIONS, "f32_to_bf16": "tiny", "bf16_to_f32": "exact"}


def operands_of(function):
    """The type of a function's operands by name, their number, and the function's name behind it."""
    source, name = function.split("_", 1)
    return source, 1 if name.startswith("to_") else OPERANDS.get(name, 2), name


def choice_of_cases(function, count, seed):
    """The options of `binade cases`, which writes every case if the operands have at most 18 bits."""
    source, operands, _ = operands_of(function)
    is_whole = operands * int(re.sub(r"\D", "", source)) <= 18
    return [] if is_whole else ["--count", str(count), "--seed", str(seed)]


def operation_of(stream):
    """The type of the operands, their number, and SoftFloat's function in the stream's modes."""
    source, operands, name = operands_of(stream.function)
    function = getattr(softfloatpy, f"{source}_{RENAMED.get(name, name)}")
    variant = stream.variant
    softfloatpy.set_rounding_mode(ROUNDING_MODES[variant.get("rounding", "near_even")])
    softfloatpy.set_tininess_mode(TININESS_MODES[variant.get("tininess", "after")])
    if "exactness" in variant:
        function = functools.partial(function, exact=variant["exactness"] == "exact")
    return TYPES[source], operands, function


def with_softfloat_results(stream, lines):
    """The same operands with SoftFloat's result and flags behind them."""
    source, operands, function = operation_of(stream)
    for line in lines:
        words = line.split()[:operands]
        softfloatpy.set_exception_flags(0)
        result = function(*(source.from_bytes(bytes.fromhex(word)) for word in words))
        text = str(int(result)) if isinstance(result, bool) else result.to_bytes().hex().upper()
        yield f"{' '.join(words)} {text} {softfloatpy.get_exception_flags():02X}\n"


def gives_float(function):
    return not re.search(r"_(eq|le|lt)(_|$)|_to_u?i\d", function)


def run_stream(stream, binade, count, seed):
    ask = [binade, "cases", stream.function, *stream.options(BINADE_SPELLING),
           *choice_of_cases(stream.function, count, seed + stream.number)]
    cases = subprocess.run(ask, capture_output=True, text=True, check=False)
    if cases.returncode:
        return outcome_of(stream, 0, cases.returncode, cases.stderr)
    lines = list(with_softfloat_results(stream, cases.stdout.splitlines()))
    nan_bits = ["--nan-bits"] if gives_float(stream.function) else []
    check = subprocess.run([*check_command(binade, stream), *nan_bits], input="".join(lines),
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return outcome_of(stream, len(lines), check.returncode, check.stdout)


def main(arguments):
    parser = argparse.ArgumentParser(prog="softfloat_test.py")
    parser.add_argument("binade")
    parser.add_argument("--count", type=int, default=20_000, help="cases in a stream")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--functions", default="", metavar="REGEX", help="only those it finds")
    options = parser.parse_args(arguments)

    functions = {name: kind for name, kind in ALL_FUNCTIONS.items()
                 if re.search(options.functions, name)}
    streams = [stream for stream in streams_of(functions)
               if stream.variant.get("rounding") != "odd"]
    run = functools.partial(run_stream, binade=options.binade, count=options.count,
                            seed=options.seed)
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        return run_all(functions, streams, run, pool)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
