# SPDX-License-Identifier: Apache-2.0
#
# All public hardware rows, where a folder of them is at hand (BINADE_HW_VECTORS, else
# ../shared/hw_vectors beside the project): `binade validate --replay` reproduces every one.
#   hardware_rows_test.py BINADE      Exits with 77 where there is no folder.
import json
import os
import subprocess
import sys
from pathlib import Path

root = Path(__file__).resolve().parents[3]
folder = Path(os.environ.get("BINADE_HW_VECTORS") or root.parent / "shared" / "hw_vectors")
if not (folder / "sets.json").exists():
    print("the recorded rows are not here: nothing was compared")
    sys.exit(77)
sets = json.loads((folder / "sets.json").read_text())
rows = sum(row["rows"] for row in sets)
done = subprocess.run([sys.argv[1], "validate", "--replay", str(folder)], capture_output=True, text=True)
print(done.stdout + done.stderr)
expected = f"sets {len(sets)}, rows {rows}, equal {rows}, different 0"
sys.exit(0 if done.returncode == 0 and done.stdout.splitlines()[-1] == expected and rows > 0 else 1)
