# SPDX-License-Identifier: Apache-2.0
#
# Asks ptxas which scalar arithmetic there is: it assembles every combination of opcode, rounding, .ftz, .NaN,
# .xorsign.abs, .sat, .relu and type, and sums in memory and approximations with theirs, for every target. What it takes
# must be what the project's list has, from the same target on, but for the names that are left out on purpose.
# Argument: the program that prints the list. Exit status 77 without the ptxas that the list was made with.

import itertools
import re
import shutil
import subprocess
import sys
import tempfile

from cvt_names_test import RELEASE, TARGETS, has, refused

# Type → bits of a 16-bit or whole operand, and of the result.
BITS = {"f32": (32, 32), "f32x2": (64, 64), "f16": (16, 16), "f16x2": (32, 32), "bf16": (16, 16), "bf16x2": (32, 32),
        "f32.f16": (16, 32), "f32.bf16": (16, 32)}
PLAIN = [name for name in BITS if "." not in name and name != "f32x2"]
APPROXIMATIONS = ["ex2", "tanh", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos"]

# What ptxas takes and the list has not: PTX gives fma.bf16 no rounding but .rn; of approximations one of a pair says all;
# atom is red that also gives back what was there.
LEFT_OUT = re.compile(r"fma\.r[zmp](\.relu)?\.bf16(x2)?|(ex2|tanh)\.approx(\.ftz)?\.b?f16x2")


def combinations():
    """Every spelling that could be an instruction, qualifiers in PTX's order."""
    for opcode, kind in itertools.product(["add", "sub", "mul", "fma", "min", "max"], BITS):
        for words in itertools.product(["", ".rn", ".rz", ".rm", ".rp"], ["", ".ftz"], ["", ".NaN"], ["", ".xorsign.abs"],
                                       ["", ".sat", ".relu"]):
            yield f"{opcode}{''.join(words)}.{kind}"
    for opcode, ftz, kind in itertools.product(APPROXIMATIONS, ["", ".ftz"], PLAIN):
        yield f"{opcode}.approx{ftz}.{kind}"
    for space, noftz, kind in itertools.product(["global", "shared"], ["", ".noftz"], PLAIN):
        yield f"red.{space}.add{noftz}.{kind}"


def operand_bits(name):
    """Of each operand; of red what lies in memory and what is added."""
    opcode = name.split(".")[0]
    kind = ".".join(name.split(".")[-2:])
    narrow, wide = BITS[kind if kind in BITS else name.split(".")[-1]]
    if opcode in APPROXIMATIONS:
        return [wide]
    return {"fma": [narrow, narrow, wide], "min": [wide, wide], "max": [wide, wide]}.get(opcode, [narrow, wide])


def instruction(name):
    """A line of PTX with registers of its own; b32 and b64 registers may hold floats."""
    bits = operand_bits(name)
    registers = " ".join(f".reg .b{width} {letter};" for width, letter in zip(bits, "abc"))
    if name.startswith("red"):
        return f"{{ {registers} .reg .b64 p; {name} [p], b; }}"
    return f"{{ {registers} .reg .b{bits[-1]} d; {name} d, {', '.join('abc'[:len(bits)])}; }}"


def check(ptxas, table, target, folder):
    """The complaints about one target."""
    names = list(combinations())
    reasons = refused(ptxas, target, names, folder, instruction)
    expected = {name for name, lowest in table.items() if has(target, lowest)}
    complaints = [f"sm_{target}: {name}: {reasons.get(name, 'ptxas takes it, the list has it not')}" for name in names
                  if (name not in reasons) != (name in expected) and not LEFT_OUT.fullmatch(name)]
    complaints += [f"{name}: no combination of this test" for name in expected - set(names)]
    return complaints, len(names), len(expected)


def main(names_program):
    ptxas = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")
    if not ptxas:
        print("there is no ptxas")
        return 77
    version = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout
    if f"release {RELEASE}," not in version:
        print(f"the list is that of ptxas {RELEASE}, this is {version.splitlines()[-2]}")
        return 77
    lines = subprocess.run([names_program], capture_output=True, text=True, check=True).stdout.splitlines()
    table = {name: lowest for name, lowest, *_ in map(str.split, lines)}
    complaints = [f"{name}: operands of {bits} bits" for name, _, *bits in map(str.split, lines)
                  if list(map(int, bits)) != operand_bits(name)]
    if len(table) != len(lines):
        complaints.append("an instruction has two rows")
    asked = taken = 0
    with tempfile.TemporaryDirectory() as folder:
        for target in TARGETS:
            found, names, legal = check(ptxas, table, target, folder)
            complaints += found
            asked += names
            taken += legal
    print(*complaints[:40], sep="\n")
    print(f"{len(table)} instructions; {asked} combinations asked for {len(TARGETS)} targets, {taken} legal, "
          f"{len(complaints)} complaints")
    return 1 if complaints or len(table) < 300 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
