# SPDX-License-Identifier: Apache-2.0
#
# Runs a Python script with an interpreter that has PyTorch: the one that BINADE_TEST_PYTHON names, this one, or the
# system's (Debian's python3-torch is seen by that one only). Without any: 77, SKIP.
#   with_torch.py SCRIPT [ARGUMENT...]
import os
import subprocess
import sys

for python in (os.environ.get("BINADE_TEST_PYTHON"), sys.executable, "/usr/bin/python3"):
    if python and os.path.exists(python) and subprocess.run(
            [python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode == 0:
        os.execv(python, [python, *sys.argv[1:]])
print("no Python here has torch (Debian: python3-torch)")
sys.exit(77)
