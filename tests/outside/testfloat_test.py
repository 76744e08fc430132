# SPDX-License-Identifier: Apache-2.0
#
# Berkeley TestFloat against the emulator: every line that testfloat_gen writes (operands, result,
# flags) goes through `binade check --testfloat`, for each function below and each rounding,
# tininess and exactness that can change it. testfloat_gen is looked for on PATH and in
# BINADE_TESTFLOAT_GEN; absent is exit 77. Of mulAdd, at 6.1 million lines a stream, each stream
# takes one block of lines in 12, together all of them; --all gives every stream every line. mulAdd
# stays at level 1 whatever --level says: its level 2 has 10^9 lines and more.

import argparse
import concurrent.futures
import functools
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

PRECISION = {"f16": 11, "f32": 24, "f64": 53}
WIDTH = {"ui32": 32, "ui64": 64, "i32": 32, "i64": 64}
ROUNDINGS = ("near_even", "minMag", "min", "max", "near_maxMag", "odd")

# What can change the result or the flags of a function that rounds to a float, whose subnormal
# results are rounded, too, or exact; that rounds to an integer, or that never rounds.
VARIANTS = {
    "tiny": [{"rounding": rounding, "tininess": tininess}
             for rounding in ROUNDINGS for tininess in ("before", "after")],
    "float": [{"rounding": rounding} for rounding in ROUNDINGS],
    "integer": [{"rounding": rounding, "exactness": exactness}
                for rounding in ROUNDINGS for exactness in ("exact", "notexact")],
    "exact": [{}],
}
OPERATIONS = {
    "mulAdd": "tiny", "add": "float", "sub": "float", "mul": "tiny", "div": "tiny",
    "sqrt": "float", "roundToInt": "integer", "rem": "exact", "eq": "exact", "le": "exact",
    "lt": "exact", "eq_signaling": "exact", "le_quiet": "exact", "lt_quiet": "exact",
}
FUNCTIONS = {
    **{f"{f}_{name}": kind for name, kind in OPERATIONS.items() for f in PRECISION},
    **{f"{i}_to_{f}": "float" if WIDTH[i] > PRECISION[f] else "exact"
       for i in WIDTH for f in PRECISION},
    **{f"{f}_to_{i}": "integer" for f in PRECISION for i in WIDTH},
    **{f"{f}_to_{g}": "tiny" if PRECISION[f] > PRECISION[g] else "exact"
       for f, g in itertools.permutations(PRECISION, 2)},
}
BINADE_SPELLING = {
    "rounding": ("--rounding", "{}"), "tininess": ("--tininess", "{}"), "exactness": ("--{}",),
}
TESTFLOAT_SPELLING = {"rounding": ("-r{}",), "tininess": ("-tininess{}",), "exactness": ("-{}",)}

SUMMARY = re.compile(r"^(\d+) cases, (\d+) mismatches\b", re.MULTILINE)
BLOCK_BYTES = 1 << 16


class Stream(NamedTuple):
    function: str
    variant: dict
    number: int  # among the variants of its function

    def options(self, spelling):
        return [word.format(value)
                for name, value in self.variant.items() for word in spelling[name]]

    def __str__(self):
        return " ".join([self.function, *self.options(BINADE_SPELLING)])


class Outcome(NamedTuple):
    stream: Stream
    cases: int
    mismatches: int
    complaint: str


def streams_of(functions):
    return [Stream(function, variant, number) for function, kind in functions.items()
            for number, variant in enumerate(VARIANTS[kind])]


def check_command(binade, stream):
    return [binade, "check", "--testfloat", stream.function, *stream.options(BINADE_SPELLING)]


def outcome_of(stream, piped, status, output):
    """Judges what `binade check` said about a stream of so many lines."""
    found = SUMMARY.findall(output)
    cases, mismatches = map(int, found[-1]) if found else (0, 0)
    if status == 0 and mismatches == 0 and cases == piped and cases > 0:
        return Outcome(stream, cases, 0, "")
    return Outcome(stream, cases, mismatches,
                   f"exit {status}, {piped} lines piped\n{output[:2000].rstrip()}")


def run_all(functions, streams, run, pool):
    """Runs the streams, prints what went wrong and the totals; returns the exit status."""
    start = time.monotonic()
    outcomes = []
    for outcome in pool.map(run, streams):
        outcomes.append(outcome)
        if outcome.complaint:
            print(f"{outcome.stream}: {outcome.complaint}", flush=True)
    ran = {outcome.stream.function for outcome in outcomes if outcome.cases}
    missing = sorted(set(functions) - ran)
    if missing or not ran:
        print(f"{len(ran)} functions ran, {len(missing)} did not:", *missing)
    cases = sum(outcome.cases for outcome in outcomes)
    mismatches = sum(outcome.mismatches for outcome in outcomes)
    print(f"{len(outcomes)} streams, {cases} cases, {mismatches} mismatches, "
          f"{time.monotonic() - start:.1f} seconds")
    failed = missing or not ran or any(outcome.complaint for outcome in outcomes)
    return 1 if failed else 0


def pump(source, sink, share, phase):
    """Copies one block of whole lines in `share`; returns how many lines went."""
    lines = 0
    for block in itertools.count():
        text = source.read(BLOCK_BYTES)
        if not text:
            return lines
        text += source.readline()
        if block % share == phase % share:
            sink.write(text)
            lines += text.count(b"\n")


def run_stream(stream, binade, generator, level, mul_add_share):
    is_mul_add = stream.function.endswith("_mulAdd")
    level, share = ("1", mul_add_share) if is_mul_add else (level, 1)
    options = stream.options(TESTFLOAT_SPELLING)
    generate = [generator, "-level", level, *options, stream.function]
    with tempfile.TemporaryFile() as output:
        with (subprocess.Popen(generate, stdout=subprocess.PIPE) as source,
              subprocess.Popen(check_command(binade, stream), stdin=subprocess.PIPE,
                               stdout=output, stderr=subprocess.STDOUT) as check):
            try:
                with check.stdin as sink:
                    piped = pump(source.stdout, sink, share, stream.number)
            except BrokenPipeError:
                piped = 0
        output.seek(0)
        said = output.read().decode(errors="replace")
    outcome = outcome_of(stream, piped, check.returncode, said)
    if source.returncode and not outcome.complaint:
        return outcome._replace(complaint=f"testfloat_gen: exit {source.returncode}")
    return outcome


def main(arguments):
    parser = argparse.ArgumentParser(prog="testfloat_test.py")
    parser.add_argument("binade")
    parser.add_argument("--level", choices=("1", "2"), default="1", help="TestFloat's level")
    parser.add_argument("--functions", default="", metavar="REGEX", help="only those it finds")
    parser.add_argument("--all", action="store_true", help="all lines of mulAdd in every stream")
    options = parser.parse_args(arguments)

    generator = shutil.which(os.environ.get("BINADE_TESTFLOAT_GEN", "testfloat_gen"))
    if not generator:
        print("testfloat_gen is neither on PATH nor named by BINADE_TESTFLOAT_GEN")
        return 77
    functions = {name: kind for name, kind in FUNCTIONS.items()
                 if re.search(options.functions, name)}
    run = functools.partial(run_stream, binade=options.binade, generator=generator,
                            level=options.level,
                            mul_add_share=1 if options.all else len(VARIANTS["tiny"]))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return run_all(functions, streams_of(functions), run, pool)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
