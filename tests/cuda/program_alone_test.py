# SPDX-License-Identifier: Apache-2.0
#
# The program waits for no nvcc: no command that ninja runs for it is nvcc's or reads what nvcc made. Arguments: ninja,
# the build folder.
import subprocess
import sys

ninja, folder = sys.argv[1:]


def commands_for(target):
    done = subprocess.run([ninja, "-C", folder, "-t", "commands", target], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


commands = commands_for("binade")
wrong = [line for line in commands if "nvcc" in line or ".cu" in line or "cudart" in line or "cuda_device" in line]
print(*wrong, sep="\n")
print(f"{len(commands)} commands for the program, {len(wrong)} of them for CUDA")
sys.exit(0 if commands and not wrong else 1)
