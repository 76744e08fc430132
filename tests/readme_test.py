# SPDX-License-Identifier: Apache-2.0
#
# What the README shows is what the program prints: every console block with lines "$ … binade …" is run
# by the shell from the project's root and compared to the letter.   readme_test.py BINADE [--update]
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(program, command):
    """Standard output of one line, without trailing blanks."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("BINADE_")}
    environment["PATH"] = f"{Path(program).parent}:{environment['PATH']}"
    result = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True,
                            text=True, timeout=120)
    if result.returncode not in (0, 1):  # 1: compared and different
        sys.exit(f"{command}: exit status {result.returncode}\n{result.stderr}")
    return "".join(line.rstrip() + "\n" for line in result.stdout.splitlines())


def measured(program, block):
    """The block as the program prints it: each command, its output, a blank line between."""
    commands = [line[2:] for line in block.splitlines() if re.match(r"\$ (.*[|;] )?binade ", line)]
    if not commands:
        return block, 0
    return "\n".join(f"$ {c}\n{run(program, c)}" for c in commands), len(commands)


def main():
    program = str(Path(sys.argv[1]).resolve())
    text = README.read_text(encoding="utf-8")
    compared = 0

    def replace(match):
        nonlocal compared
        block, commands = measured(program, match.group(1))
        compared += commands
        return f"```console\n{block}```"

    real = BLOCK.sub(replace, text)
    if compared == 0:
        sys.exit("README.md shows no command of the program: nothing was compared")
    if "--update" in sys.argv[2:]:
        README.write_text(real, encoding="utf-8")
    elif real != text:
        for old, new in zip(text.splitlines(), real.splitlines()):
            if old != new:
                sys.exit(f"README.md says   {old}\nthe program says {new}\n"
                         f"(bring it up to date: python3 tests/readme_test.py build/binade --update)")
        sys.exit("README.md and the program's output differ in length; run with --update")
    print(f"{compared} commands in README.md compared")


main()
