# SPDX-License-Identifier: Apache-2.0
#
# Instructions of AVX may be only in functions of their level, whose names contain the level's vector unit
# (emulate/fast/avx2.h, avx512.h). The linker keeps one copy of a weak inline function for all callers; a copy with such
# instructions would end the program on a machine without them. The programs that are given are disassembled: each
# has functions of every level, or of none.
#
# usage: levels_test.py PROGRAM…

import re
import shutil
import subprocess
import sys

from sources import ROOT, levels_of_vectors

LEVELS = levels_of_vectors()
UNITS = {level: level.capitalize() for level in LEVELS}
INCLUDE = re.compile(r'^#include [<"]([^>"]+)[>"]', re.MULTILINE)
FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
# VEX and EVEX: mnemonics that begin with v, on vector registers; zmm, xmm16 and mask registers are EVEX's.
VECTOR = re.compile(r"\t(v[a-z0-9]+)\s.*%([xyz])mm(\d+)")
MASK = re.compile(r"\tk[a-z]+[bwdq]\s.*%k[0-7]")


def level_of(line):
    """The level whose instruction a line of disassembly is, or None."""
    if MASK.search(line) or "%zmm" in line or re.search(r"%[xy]mm(1[6-9]|[23]\d)", line):
        return "avx512"
    return "avx2" if VECTOR.search(line) else None


def leaks(lines):
    """Of disassembled functions: how many of each level there are, and which have another one's instructions."""
    found, seen = [], dict.fromkeys(UNITS, 0)
    name, told = None, set()
    for line in lines:
        start = FUNCTION.match(line)
        if start:
            name, told = start.group(1), set()
            continue
        level = level_of(line)
        if name is None or level is None or level in told:
            continue
        told.add(level)
        if UNITS[level] in name:
            seen[level] += 1
        elif not any(UNITS[above] in name for above in LEVELS[LEVELS.index(level):]):
            found.append(f"{name}: {line.strip()}")
    return seen, found


def unseen(seen):
    """The levels of which no function was found, in a program that has some of others: level_of does not know them."""
    return [level for level, count in seen.items() if count == 0] if any(seen.values()) else []


def read_within(level):
    """Headers that the level's source would read first between its BEGIN and END, where their functions would take the
    level's instructions under names of everybody: all but vector_*.h."""
    def closure(text):
        seen, todo = set(), INCLUDE.findall(text)
        while todo:
            name = todo.pop()
            if name not in seen and (ROOT / name).is_file():
                todo += INCLUDE.findall((ROOT / name).read_text())
            seen.add(name)
        return seen

    before, within = (ROOT / f"emulate/fast/{level}.cpp").read_text().split(f"BINADE_{level.upper()}_BEGIN", 1)
    missing = closure(within) - closure(before)
    return sorted(name for name in missing if not name.startswith("emulate/fast/vector_"))


def main():
    for level in UNITS:
        if read_within(level):
            print(f"emulate/fast/{level}.cpp includes after BEGIN first: {', '.join(read_within(level))}")
            return 1
    if not shutil.which("objdump"):
        print("SKIP: no objdump here")
        return 77
    bad = 0
    for program in sys.argv[1:]:
        process = subprocess.Popen(["objdump", "--disassemble", "--no-show-raw-insn", "--demangle", program],
                                   stdout=subprocess.PIPE, text=True, errors="replace")
        seen, found = leaks(process.stdout)
        if process.wait() != 0:
            print(f"{program}: objdump cannot read it")
            return 1
        if not any(seen.values()):
            print(f"{program}: SKIP: no function of a level is in it: another processor, or stripped")
            return 77
        print(f"{program}: " + ", ".join(f"{count} functions of {level}" for level, count in seen.items()))
        for text in found:
            print(f"  leaked: {text}")
        for level in unseen(seen):
            print(f"  no instruction of {level} was found: does level_of tell them from those of other levels?")
        bad += len(found) + len(unseen(seen))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
