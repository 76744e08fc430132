# SPDX-License-Identifier: Apache-2.0
#
# Pipes streams of cases, operands from `binade cases` and results and flags computed with MPFR, into
# `binade check --testfloat`, for every function and every rounding, tininess, exactness and
# saturation that can change its result, and requires equality throughout; and that a corrupted
# result and a corrupted flag are found.
#   mpfr_streams_test.py BINADE MPFR_CASES [--count N] [--slice N]
# With --slice N, of each function its first stream and every N-th stream of all.
import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import time

ROUNDINGS = ["near_even", "minMag", "min", "max", "near_maxMag", "odd"]
COMPARISONS = ["eq", "le", "lt", "eq_signaling", "le_quiet", "lt_quiet"]
INTEGERS = ["ui32", "ui64", "i32", "i64"]
OPERANDS = {"mulAdd": 3, "sqrt": 1, "roundToInt": 1}  # 2 of the others, 1 of conversions
# name: precision, least and greatest exponent of normal numbers, and the largest finite number in
# units of its last place
FORMATS = {
    "f16": (11, -14, 15, 2**11 - 1),
    "f32": (24, -126, 127, 2**24 - 1),
    "f64": (53, -1022, 1023, 2**53 - 1),
    "bf16": (8, -126, 127, 2**8 - 1),
    "tf32": (11, -126, 127, 2**11 - 1),
    "e5m2": (3, -14, 15, 2**3 - 1),
    "e4m3": (4, -6, 8, 2**4 - 2),
    "e3m2": (3, -2, 4, 2**3 - 1),
    "e2m3": (4, 0, 2, 2**4 - 1),
    "e2m1": (2, 0, 2, 2**2 - 1),
}
LEAST_FUNCTIONS = 310
LEAST_STREAMS = 3600
LEAST_CASES = 40_000_000
SHOWN_FAILURES = 10
SHOWN_LINES = 12
STREAM_SECONDS = 300

Attributes = collections.namedtuple("Attributes", "rounding tininess exact saturation")
ONCE = Attributes("near_even", "after", "notexact", "none")
Result = collections.namedtuple("Result", "function attributes status cases mismatches output")


def largest(name):
    precision, _, greatest, units = FORMATS[name]
    return units * 2.0 ** (greatest - precision + 1)


def is_widening(source, target):
    """Whether every number of `source` is one of `target`."""
    precision, least, _, _ = FORMATS[source]
    wide_precision, wide_least, _, _ = FORMATS[target]
    finer = least - precision >= wide_least - wide_precision
    return precision <= wide_precision and finer and largest(source) <= largest(target)


def rounds_to_float(exacts):
    for rounding in ROUNDINGS:
        for exact in exacts:
            yield Attributes(rounding, "after", exact, "none")
            yield Attributes(rounding, "before", exact, "none")
            yield Attributes(rounding, "after", exact, "finite")


def attributes_of(function):
    """The attributes under which `function` is worth a stream of its own."""
    first, _, rest = function.partition("_")
    if rest in COMPARISONS or rest == "rem":
        return [ONCE]
    if rest == "roundToInt":
        return list(rounds_to_float(["exact", "notexact"]))
    if not rest.startswith("to_"):
        return list(rounds_to_float(["notexact"]))
    target = rest.removeprefix("to_")
    if target in INTEGERS:
        return [ONCE._replace(rounding=rounding, exact=exact)
                for rounding in ROUNDINGS for exact in ("exact", "notexact")]
    if first in FORMATS and is_widening(first, target):
        return [ONCE, ONCE._replace(saturation="finite")]
    return list(rounds_to_float(["notexact"]))


def options(attributes):
    return ["--rounding", attributes.rounding, "--tininess", attributes.tininess,
            f"--{attributes.exact}", "--saturation", attributes.saturation]


def is_whole(function):
    """Whether `binade cases` writes all cases there are, as it does of 18 bits of operands."""
    source, _, name = function.partition("_")
    operands = 1 if name.startswith("to_") else OPERANDS.get(name, 2)
    bits = 19 if source == "tf32" else sum(map(int, re.findall(r"\d+", source)))
    return operands * (bits + (source[0] == "e")) <= 18  # e4m3 has a sign


def tally(output):
    """The cases and mismatches that the last line of `output` states; None where it states none."""
    lines = output.splitlines()
    found = re.match(r"(\d+) cases, (\d+) mismatches\b", lines[-1]) if lines else None
    return (int(found[1]), int(found[2])) if found else None


class Streams:
    def __init__(self, binade, cases, count):
        self.binade, self.cases, self.count = binade, cases, count

    def cases_command(self, function, seed):
        chosen = [] if is_whole(function) else ["--count", str(self.count), "--seed", str(seed)]
        return [self.binade, "cases", function, *chosen]

    def write_command(self, function, attributes):
        return [self.cases, function, *options(attributes)]

    def check_command(self, function, attributes):
        return [self.binade, "check", "--testfloat", function, *options(attributes)]

    def written(self, function, attributes, seed):
        """The stream as text."""
        cases = subprocess.run(self.cases_command(function, seed), capture_output=True, check=True).stdout
        return subprocess.run(self.write_command(function, attributes), input=cases, capture_output=True, check=True).stdout

    def run(self, function, attributes, seed):
        cases = subprocess.Popen(self.cases_command(function, seed), stdout=subprocess.PIPE)
        writer = subprocess.Popen(self.write_command(function, attributes), stdin=cases.stdout,
                                  stdout=subprocess.PIPE)
        reader = subprocess.Popen(self.check_command(function, attributes), stdin=writer.stdout,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        cases.stdout.close()
        writer.stdout.close()
        try:
            output = reader.communicate(timeout=STREAM_SECONDS)[0]
        except subprocess.TimeoutExpired:
            reader.kill()
            output = reader.communicate()[0] + f"\nstopped after {STREAM_SECONDS} s"
        ended = cases.wait(), writer.wait()
        status = reader.returncode
        idle = re.fullmatch(r"binade: --(\w+) has no effect on .*\n", output)
        if status == 2 and idle:
            return self.run_idle(function, attributes, seed, idle[1])
        checked, mismatches = tally(output) or (0, 0)
        if status == 0 and (ended != (0, 0) or checked == 0 or mismatches != 0):
            status = f"0, {checked} cases, {mismatches} mismatches, exits of the writers {ended}"
        return Result(function, attributes, status, checked, mismatches, output)

    def run_idle(self, function, attributes, seed, option):
        """What becomes of a stream whose option is refused: its cases are to be those without the option."""
        without = attributes._replace(**{option: getattr(ONCE, option)})
        cases = [self.written(function, one, seed) for one in (attributes, without)]
        same = cases[0] == cases[1]
        return Result(function, attributes, 0 if same else f"2, and --{option} has an effect", cases[0].count(b"\n"), 0, "")

    def status_of(self, function, lines):
        checked = subprocess.run(self.check_command(function, ONCE), input="\n".join(lines) + "\n",
                                 capture_output=True, text=True, timeout=STREAM_SECONDS)
        return checked.returncode, tally(checked.stdout)


def corrupted(line, field):
    """`line` with the lowest bit of one field turned over."""
    fields = line.split(" ")
    fields[field] = f"{int(fields[field], 16) ^ 1:0{len(fields[field])}X}"
    return " ".join(fields)


def undetected_corruptions(streams):
    """What was corrupted and not found."""
    function = "f16_mulAdd"
    lines = streams.written(function, ONCE, 1).decode().splitlines()
    inexact = [i for i, line in enumerate(lines) if line.endswith(" 01")]
    place = inexact[len(inexact) // 2]
    missed = []
    for what, field in (("result", -2), ("flag", -1)):
        spoilt = [*lines[:place], corrupted(lines[place], field), *lines[place + 1:]]
        if streams.status_of(function, spoilt) != (1, (len(lines), 1)):
            missed.append(f"a corrupted {what} in '{spoilt[place]}' of {function}")
    if streams.status_of(function, [*lines[:place], "3C00 3C00"])[0] != 2:
        missed.append("a line cut short")
    return missed


def describe(result):
    lines = result.output.splitlines()
    cut = ["..."] if len(lines) > SHOWN_LINES else []
    text = "\n".join("    " + line for line in lines[:SHOWN_LINES] + cut + lines[SHOWN_LINES:][-1:])
    return f"{result.function} {' '.join(options(result.attributes))}: exit {result.status}\n{text}"


def run_all(streams, functions, slice_):
    plan = [(function, attributes, number == 0)
            for function in functions for number, attributes in enumerate(attributes_of(function))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(streams.run, function, attributes, seed)
                for seed, (function, attributes, is_first) in enumerate(plan, start=1)
                if is_first or seed % slice_ == 0]
        return [job.result() for job in jobs]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binade")
    parser.add_argument("mpfr_cases")
    parser.add_argument("--count", type=int, default=1000, help="random cases per stream")
    parser.add_argument("--slice", type=int, default=1, help="run one stream of so many")
    arguments = parser.parse_args()
    start = time.monotonic()
    functions = subprocess.run([arguments.mpfr_cases, "--list"], capture_output=True, text=True,
                               check=True).stdout.split()
    streams = Streams(arguments.binade, arguments.mpfr_cases, arguments.count)
    results = run_all(streams, functions, arguments.slice)

    failed = [result for result in results if result.status != 0]
    for result in failed[:SHOWN_FAILURES]:
        print(describe(result))
    if len(failed) > SHOWN_FAILURES:
        print(f"... and {len(failed) - SHOWN_FAILURES} more streams failed")
    missed = undetected_corruptions(streams)
    for what in missed:
        print(f"not found: {what}")
    cases = sum(result.cases for result in results)
    least_streams = LEAST_FUNCTIONS + (LEAST_STREAMS - LEAST_FUNCTIONS) // arguments.slice
    if arguments.slice > 1:
        least_streams -= LEAST_FUNCTIONS // arguments.slice  # first streams that are also every N-th
    too_few = (len(functions) < LEAST_FUNCTIONS or len(results) < least_streams
               or cases < LEAST_CASES / arguments.slice)
    if too_few:
        print(f"too few: at least {LEAST_FUNCTIONS} functions, {least_streams} streams and "
              f"{LEAST_CASES / arguments.slice:.0f} cases are expected")
    mismatches = sum(result.mismatches for result in results)
    print(f"{len(functions)} functions, {len(results)} streams, {cases} cases, "
          f"{mismatches} mismatches, {len(failed)} streams failed, "
          f"{time.monotonic() - start:.0f} s")
    return 1 if failed or missed or too_few else 0


if __name__ == "__main__":
    sys.exit(main())
