# SPDX-License-Identifier: Apache-2.0
#
# What -Dgpu_archs=native stands for, on one line: the GPUs at hand, each with its own instructions (90a for compute
# capability 9.0), as far as there is code for them here and nvcc knows them; where none is left, 80 and 90a.
#   gpu_archs.py NVCC
import shutil
import subprocess
import sys

OLDEST = 80  # of which this project has code


def said_by(*command):
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


known = said_by(sys.argv[1], "--list-gpu-arch").split()
found = {line.strip().replace(".", "") for line in
         said_by("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader").splitlines()}
taken = sorted(int(x) for x in found if x.isdigit() and int(x) >= OLDEST and f"compute_{x}" in known)
print(*(f"{x}a" if x >= 90 else x for x in taken) if taken else ("80", "90a"))
