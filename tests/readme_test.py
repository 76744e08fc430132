# SPDX-License-Identifier: Apache-2.0
#
# The READMEs show what the program prints: in every README.md of the project that has console blocks, the shell runs each
# line "$ … binade …" from the project's root, and the output must be the same in every character.   readme_test.py BINADE [--update]

import functools
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from readmes import ROOT, block_of, readmes_with

COMMAND = re.compile(r"\$ (.*[|;] )?binade ")


@functools.cache
def run(program, command):
    """Standard output of a command without trailing blanks in its lines; each command is run once."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("BINADE_")}
    environment["PATH"] = f"{Path(program).parent}:{environment['PATH']}"
    result = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True,
                            text=True, timeout=120)
    if result.returncode not in (0, 1):  # 1: compared and different
        sys.exit(f"{command}: exit status {result.returncode}\n{result.stderr}")
    return "".join(line.rstrip() + "\n" for line in result.stdout.splitlines())


def commands_of(block):
    return [line[2:] for line in block.splitlines() if COMMAND.match(line)]


def measured(program, path, block):
    """The block as the program prints it, each command with its output and a blank line between; how many they are."""
    commands = commands_of(block)
    if not commands:
        sys.exit(f"{path}: a console block shows no command of the program, so nothing holds it to the truth:\n{block}")
    return "\n".join(f"$ {c}\n{run(program, c)}" for c in commands), len(commands)


def brought_up_to_date(program, path, text):
    """The README's text with the outputs that its commands have now, and the number of its commands."""
    compared = 0

    def replace(match):
        nonlocal compared
        block, commands = measured(program, path, match.group(1))
        compared += commands
        return f"```console\n{block}```"

    return block_of("console").sub(replace, text), compared


def first_difference(path, text, real):
    for old, new in zip(text.splitlines(), real.splitlines()):
        if old != new:
            return f"{path} says   {old}\nthe program says {new}"
    return f"{path} and the program's output differ in length"


def main():
    program = str(Path(sys.argv[1]).resolve())
    readmes = readmes_with("console")
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # run keeps what they give
        blocks = [block for text in readmes.values() for block in block_of("console").findall(text)]
        list(pool.map(functools.partial(run, program), {command for block in blocks for command in commands_of(block)}))
    compared, complaints = {}, []
    for path, text in readmes.items():
        real, compared[path] = brought_up_to_date(program, path, text)
        if "--update" in sys.argv[2:]:
            (ROOT / path).write_text(real, encoding="utf-8")
        elif real != text:
            complaints.append(first_difference(path, text, real) +
                              "\n(bring it up to date: python3 tests/readme_test.py build/binade --update)")
    if not sum(compared.values()):
        complaints.append("no README shows a command of the program: nothing was compared")
    for path, commands in compared.items():
        print(f"{commands} commands in {path} compared")
    if complaints:
        sys.exit("\n".join(complaints))


main()
