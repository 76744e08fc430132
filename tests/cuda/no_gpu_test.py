# SPDX-License-Identifier: Apache-2.0
#
# Where there is no GPU, the programs that need one say so in one line and exit with 77, which Meson counts as skipped:
# the program as it was built with all GPUs hidden from it, and the program built with the stub. Arguments: the
# check_conversions of this build, the one built with the stub.

import json
import os
import subprocess
import sys
import tempfile

NO_HARDWARE = 77


def run(program, *arguments):
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, env=environment)


def check(program, expected):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        done = run(program, "--json", report)
        assert done.returncode == NO_HARDWARE, f"{program}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        lines = done.stdout.splitlines()
        assert len(lines) == 1 and lines[0].startswith(expected), f"{program}: says {done.stdout!r}"
        assert done.stderr == "", f"{program}: complains {done.stderr!r}"
        with open(report, encoding="utf-8") as file:
            said = json.load(file)
        assert said["device"] is None and said["reason"] == lines[0] and said["conversions"] == [], said
        assert run(program, "--json", folder).returncode == 2, f"{program}: wrote its report onto a folder"
    assert run(program, "--jsn", "x").returncode == 2, f"{program}: took an option that it does not have"


built, stub = sys.argv[1:]
check(built, "no GPU: ")
check(stub, "no GPU: built without CUDA")
print("both exit with 77 and say why")
