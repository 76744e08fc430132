# SPDX-License-Identifier: Apache-2.0
#
# Where there is no GPU, what needs one says so in one line and exits with 77, which Meson counts as skipped: the program
# as it was built with all GPUs hidden from it, and the program built with the stub. Arguments: the binade of this build,
# the one built with the stub.

import json
import os
import subprocess
import sys

NO_HARDWARE = 77


def run(program, *arguments):
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, env=environment)


def check(program, expected):
    for arguments in (["device"], ["device", "--check"], ["device", "--check", "--instruction", "cvt.rn", "--cases", "9"]):
        done = run(program, *arguments)
        what = f"{program} {' '.join(arguments)}"
        assert done.returncode == NO_HARDWARE, f"{what}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        lines = done.stdout.splitlines()
        assert len(lines) == 1 and lines[0].startswith(expected), f"{what}: says {done.stdout!r}"
        assert done.stderr == "", f"{what}: complains {done.stderr!r}"
        done = run(program, *arguments, "--json")
        said = json.loads(done.stdout)
        assert done.returncode == NO_HARDWARE and done.stderr == "", f"{what} --json: {done}"
        assert said["device"] is None and said["reason"] == lines[0] and said["instructions"] == [], said
    for arguments in (["--chek"], ["--instruction", "cvt"], ["--check", "--cases", "0"], ["--check", "--record", "/none"],
                      ["--check", "--instruction", "cvt.rn.f16.f23"]):
        done = run(program, "device", *arguments)
        assert done.returncode == 2, f"{program} device {arguments}: exit status {done.returncode}"
        assert len(done.stderr.splitlines()) == 1, f"{program} device {arguments}: {done.stderr!r}"


built, stub = sys.argv[1:]
check(built, "no GPU: ")
check(stub, "no GPU: built without CUDA")
print("both exit with 77 and say why")
