# SPDX-License-Identifier: Apache-2.0
#
# Prints on one line the architectures that -Dgpu_archs=native stands for: those of this machine's GPUs, from compute
# capability 9.0 on with their own instructions (90a), as far as this project has code for them and nvcc knows them.
# If none is left, prints 80 and 90a. Usage: gpu_archs.py NVCC
import shutil
import subprocess
import sys

OLDEST = 80  # the lowest architecture that this project has code for


def said_by(*command):
    """The output of a command, or an empty string if there is no such program or it fails."""
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


known = said_by(sys.argv[1], "--list-gpu-arch").split()
found = {line.strip().replace(".", "") for line in
         said_by("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader").splitlines()}
taken = sorted(int(x) for x in found if x.isdigit() and int(x) >= OLDEST and f"compute_{x}" in known)
print(*(f"{x}a" if x >= 90 else x for x in taken) if taken else ("80", "90a"))
