# SPDX-License-Identifier: Apache-2.0
#
# A kernel that does twice the work is not twice as slow on a busy machine, but it executes twice the instructions: each
# call of `kernels_program --once LEVEL`, counted by callgrind, against instruction_counts.tsv, within a tenth either way,
# so that what became faster is held there too. Levels that Valgrind can run; bits are not its matter (it knows no rounding
# modes). SKIP without Valgrind, and for a compiler that has no column.   instruction_counts_test.py KERNELS_PROGRAM [--update]
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TABLE = Path(__file__).with_name("instruction_counts.tsv")
LEVELS = ("portable", "avx2")
KEYS = ("entry", "level", "work")
SLACK = 0.1
SKIP = 77


def count(program, level):
    """The compiler, and instructions an element by (entry, level, work); None where the machine lacks the level."""
    with tempfile.TemporaryDirectory() as folder:
        # A dump when a call was told, of what was executed within `counted_run` since the last one.
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", "--toggle-collect=*counted_run*",
             "--dump-after=*tell_counted*", f"--callgrind-out-file={folder}/out", program,
             "--once", level], capture_output=True, text=True)
        if run.returncode == SKIP:
            return None
        if run.returncode != 0:
            sys.exit(f"{program} --once {level}: exit status {run.returncode}\n{run.stderr}")
        compiler, *lines = run.stdout.splitlines()
        out = {}
        for i, line in enumerate(lines, 1):
            entry, work, elements = line.split("\t")
            dump = Path(folder, f"out.{i}").read_text()
            total = re.search(r"^summary: (\d+)$", dump, re.MULTILINE)
            out[entry, level, work] = int(total[1]) / int(elements)
        if not out or not all(out.values()) or Path(folder, f"out.{len(lines) + 1}").exists():
            sys.exit(f"{level}: {len(lines)} calls told, and not as many counted")
    return compiler, out


def read_table():
    """Counts by compiler, then by (entry, level, work)."""
    head, *rows = [line.split("\t") for line in TABLE.read_text().splitlines()
                   if not line.startswith("#")]
    table = {compiler: {} for compiler in head[len(KEYS):]}
    for row in rows:
        for compiler, cell in zip(table, row[len(KEYS):]):
            if cell != "-":
                table[compiler][tuple(row[:len(KEYS)])] = float(cell)
    return table


def write_table(table):
    compilers = sorted(table, key=lambda name: (name.split()[0], int(name.split()[1])))
    rows = list(dict.fromkeys(key for compiler in compilers for key in table[compiler]))
    rows.sort(key=lambda key: (key[0], LEVELS.index(key[1])))
    lines = [line for line in TABLE.read_text().splitlines() if line.startswith("#")]
    lines.append("\t".join([*KEYS, *compilers]))
    for key in rows:
        cells = (table[compiler].get(key) for compiler in compilers)
        lines.append("\t".join([*key, *("-" if x is None else f"{x:.4g}" for x in cells)]))
    TABLE.write_text("\n".join(lines) + "\n")


def differences(counted, known):
    """What is not as the table says, in words."""
    for key in [*counted, *(key for key in known if key not in counted)]:
        name = ", ".join(key)
        if key not in known:
            yield f"{name}: not in the table"
        elif key not in counted:
            yield f"{name}: in the table, and not among the program's calls"
        elif abs(counted[key] / known[key] - 1) > SLACK:
            yield (f"{name}: {counted[key]:.4g} instructions an element, the table says "
                   f"{known[key]:.4g} ({counted[key] / known[key] - 1:+.0%})")


def main():
    program, update = sys.argv[1], "--update" in sys.argv[2:]
    if shutil.which("valgrind") is None:
        print("no valgrind")
        return SKIP
    table = read_table()
    counted = {}
    for level in LEVELS:
        found = count(program, level)
        if found is None:
            print(f"{level}: this machine has not what it asks for")
            continue
        compiler, of_level = found
        if compiler not in table and not update:
            print(f"{TABLE.name} has no column for {compiler}")
            return SKIP
        counted |= of_level
    levels = {key[1] for key in counted}
    known = {key: x for key, x in table.get(compiler, {}).items() if key[1] in levels}
    if update:
        others = {key: x for key, x in table.get(compiler, {}).items() if key[1] not in levels}
        write_table(table | {compiler: counted | others})
        print(f"{len(counted)} counts of {compiler} written")
        return 0
    wrong = list(differences(counted, known))
    print(*wrong, sep="\n")
    print(f"{len(counted)} calls counted, compiled by {compiler}: {len(wrong)} differ by more than "
          f"{SLACK:.0%}" + (" (if that is meant: ./dev count)" if wrong else ""))
    return 1 if wrong else 0


sys.exit(main())
