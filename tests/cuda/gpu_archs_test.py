# SPDX-License-Identifier: Apache-2.0
#
# What -Dgpu_archs=native makes of what nvidia-smi and nvcc say, both made here. Argument: cuda/gpu_archs.py.
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = sys.argv[1]
KNOWN = [75, 80, 86, 89, 90, 100, 103, 110, 120, 121]
NONE_AT_HAND = "80 90a"


def asked(smi_says, smi_status=0, known=KNOWN):
    with tempfile.TemporaryDirectory() as folder:
        def make(name, text, status=0):
            path = Path(folder, name)
            path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {status}\n")
            path.chmod(0o755)
        make("nvcc", "\n".join(f"compute_{x}" for x in known))
        if smi_says is not None:
            make("nvidia-smi", smi_says, smi_status)
        environment = os.environ | {"PATH": f"{folder}:/usr/bin:/bin"} if smi_says is not None else \
            os.environ | {"PATH": folder}
        done = subprocess.run([sys.executable, SCRIPT, f"{folder}/nvcc"], capture_output=True, text=True, check=True,
                              env=environment)
    return done.stdout.rstrip("\n")


def main():
    for arguments, expected in (
            (("9.0",), "90a"), (("8.6",), "86"), (("8.9\n8.9",), "89"), (("10.0\n8.0\n10.0",), "80 100a"),
            (("12.0",), "120a"),
            ((None,), NONE_AT_HAND), (("No devices were found", 6), NONE_AT_HAND), (("9.0", 9), NONE_AT_HAND),
            (("[N/A]",), NONE_AT_HAND), (("",), NONE_AT_HAND),
            (("7.5",), NONE_AT_HAND), (("7.5\n8.0",), "80"),          # no code for it
            (("12.0", 0, [80, 90]), NONE_AT_HAND),                    # newer than nvcc
    ):
        said = asked(*arguments)
        assert said == expected, f"{arguments}: {said!r}, not {expected!r}"


main()
