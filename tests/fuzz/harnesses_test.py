# SPDX-License-Identifier: Apache-2.0
#
# Each fuzzer's harness, compiled without libFuzzer, takes the inputs from which its fuzzer starts, and each of them cut off in the
# middle, with a byte changed and empty, and ends well; and with no input it does not pass.
#    harnesses_test.py FOLDER_OF_PROGRAMS
import subprocess
import sys
import tempfile
from pathlib import Path

from write_seeds import seeds

PROGRAMS = Path(sys.argv[1])


def variants(data):
    middle = len(data) // 2
    return data, data[:middle], data[:middle] + bytes([data[middle] ^ 0x41]) + data[middle + 1:], b""


def main():
    for harness, inputs in seeds().items():
        program = PROGRAMS / f"{harness}_feed"
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for name, whole in inputs.items():
                for number, data in enumerate(variants(whole)):
                    files.append(Path(folder, f"{name}.{number}"))
                    files[-1].write_bytes(data)
            run = subprocess.run([program, *files], capture_output=True, text=True)
            if run.returncode != 0 or run.stdout != f"{len(files)} inputs\n":
                sys.exit(f"{harness}: exit status {run.returncode} over {len(files)} inputs: {run.stdout}{run.stderr}")
            print(f"{harness}: {run.stdout}", end="")
        if subprocess.run([program], capture_output=True).returncode == 0:
            sys.exit(f"{harness} passed without an input")


main()
