# SPDX-License-Identifier: Apache-2.0
#
# Asks ptxas which floating-point conversions there are: it assembles every combination of types, rounding, .ftz, .sat,
# .satfinite and .relu for every target, and what it takes must be what emulate/'s table has, from the same target on.
# Without --whole not every target is asked, but each from which the table has something, and the one before it.
#   cvt_names_test.py PROGRAM_THAT_PRINTS_THE_TABLE [--whole]      Exits with 77 without the ptxas of the table.

import itertools
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

RELEASE = "13.0"
PTX_VERSION = "9.0"
TARGETS = ("75 80 86 87 88 89 90 90a 100 100f 100a 103 103f 103a 110 110f 110a 120 120f 120a 121 121f 121a").split()

# Type → bits of its register.
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "f16x2": 32, "bf16x2": 32, "e4m3x2": 16, "e5m2x2": 16,
        "e2m3x2": 16, "e3m2x2": 16, "e2m1x2": 8, "ue8m0x2": 16, "e4m3x4": 32, "e5m2x4": 32, "e2m3x4": 32, "e3m2x4": 32,
        "e2m1x4": 16}
ROUNDINGS = ["", ".rn", ".rna", ".rz", ".rm", ".rp", ".rs"]
MODIFIERS = [["", ".ftz"], ["", ".relu"], ["", ".sat", ".satfinite"]]


def combinations():
    """Every spelling that could be an instruction, the modifiers in one order: ptxas takes them in any."""
    for to, source in itertools.product(BITS, BITS):
        for rounding, *modifiers in itertools.product(ROUNDINGS, *MODIFIERS):
            yield f"cvt{rounding}{''.join(modifiers)}.{to}.{source}"


def key(name):
    """What a name says, whatever the order of its modifiers."""
    words = name.split(".")
    return (frozenset(words[1:-2]), *words[-2:])


def operands_of(name):
    """How many there are before rbits, by PTX's rule: packed types go in whole, else there is one for each lane."""
    to, source = name.split(".")[-2:]
    lanes = {"x2": 2, "x4": 4}
    return 1 if source[-2:] in lanes else lanes.get(to[-2:], 1)


def instruction(name):
    """A line of PTX with registers of its own."""
    def register(kind):
        return f".reg .{kind if kind in ('f32', 'f64') else f'b{BITS[kind]}'}"

    words = name.split(".")
    operands = {1: "a", 2: "a, b", 4: "{a, b, e, f}"}[operands_of(name)] + (", r" if "rs" in words else "")
    return f"{{ {register(words[-2])} d; {register(words[-1])} a, b, e, f; .reg .b32 r; {name} d, {operands}; }}"


def refused(ptxas, target, names, folder, line_of=instruction):
    """The names that ptxas refuses for a target, and why."""
    head = [f".version {PTX_VERSION}", f".target sm_{target}", ".address_size 64", ".visible .entry k() {"]
    path = pathlib.Path(folder) / "names.ptx"
    path.write_text("\n".join([*head, *map(line_of, names), "ret; }\n"]))
    run = subprocess.run([ptxas, f"-arch=sm_{target}", path, "-o", "/dev/null"], capture_output=True, text=True)
    reasons = {}
    for line in run.stderr.splitlines():
        found = re.search(r", line (\d+); error\s*: (.*)", line)
        if found:
            reasons.setdefault(names[int(found.group(1)) - len(head) - 1], found.group(2))
        elif "aborted due to errors" not in line and "error" in line:
            raise RuntimeError(f"sm_{target}: {line}")
    if (run.returncode != 0) != bool(reasons):
        raise RuntimeError(f"sm_{target}: ptxas gave {run.returncode} and {len(reasons)} errors: {run.stderr[:500]}")
    return reasons


def has(target, lowest):
    """Whether a target has what is there from `lowest` on."""
    number, suffix = int(target.rstrip("af")), target.lstrip("0123456789")
    if lowest.endswith("a"):
        return target in ("100a", "103a")
    if lowest.endswith("f"):
        return number >= int(lowest[:-1]) and suffix != ""
    return number >= int(lowest)


def check(ptxas, table, target, folder):
    """The complaints about one target."""
    complaints = []
    expected = {key(name) for name, lowest in table.items() if has(target, lowest)}
    reasons = refused(ptxas, target, [name for name in table if key(name) in expected], folder)
    complaints += [f"sm_{target}: ptxas refuses {name}: {reason}" for name, reason in reasons.items()]
    names = list(combinations())
    reasons = refused(ptxas, target, names, folder)
    for name in names:
        if (name not in reasons) != (key(name) in expected):
            complaints.append(f"sm_{target}: {name}: {reasons.get(name, 'ptxas takes it, the table has it not')}")
    return complaints, len(names), len(expected)


def beginnings(table):
    """The targets from which the table has something, and before each the last that must not have it."""
    begin = {TARGETS.index(lowest) for lowest in table.values()}
    return [target for at, target in enumerate(TARGETS) if at in begin or at + 1 in begin]


def main(names_program, whole=""):
    if whole not in ("", "--whole"):
        sys.exit(f"{whole} is not --whole")
    ptxas = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")
    if not ptxas:
        print("there is no ptxas")
        return 77
    version = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout
    if f"release {RELEASE}," not in version:
        print(f"the table is that of ptxas {RELEASE}, this is {version.splitlines()[-2]}")
        return 77
    lines = subprocess.run([names_program], capture_output=True, text=True, check=True).stdout.splitlines()
    table = {name: lowest for name, lowest, *_ in map(str.split, lines)}
    targets = TARGETS if whole else beginnings(table)
    complaints = [f"{name}: {count} operands" for name, _, count, _ in map(str.split, lines)
                  if int(count) != operands_of(name)]
    if len(table) != len(lines) or len({key(name) for name in table}) != len(lines):
        complaints.append("an instruction has two rows")
    asked = taken = 0
    with tempfile.TemporaryDirectory() as folder:
        for target in targets:
            found, names, legal = check(ptxas, table, target, folder)
            complaints += found
            asked += names
            taken += legal
    print(*complaints[:40], sep="\n")
    print(f"{len(table)} instructions; {asked} combinations asked for {' '.join(targets)}, {taken} legal, "
          f"{len(complaints)} complaints")
    return 1 if complaints or len(table) < 100 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
