# SPDX-License-Identifier: Apache-2.0
#
# Runs `binade identify` on all public hardware rows, in a folder (BINADE_HW_VECTORS, else ../shared/hw_vectors beside the
# project), with the instruction hidden: its model must be among those that explain every row, and the only one where the rows
# can distinguish it from all others.
#   hardware_rows_test.py BINADE [ROWS]      ROWS of each set, or all. Exits with 77 where there is no folder.
import ast
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

SM = {"V100": 70, "A100": 80, "A2": 86, "Ada": 89, "L40S": 89, "H100": 90, "H200": 90, "B200": 100}
TYPES = {"fp16": "f16", "bf16": "bf16", "tf32": "tf32", "E4M3": "e4m3", "E5M2": "e5m2"}
RESULTS = {"fp32": "f32", "fp16": "f16"}

root = Path(__file__).resolve().parents[3]
folder = Path(os.environ.get("BINADE_HW_VECTORS") or root.parent / "shared" / "hw_vectors")
if not (folder / "sets.json").exists():
    print("the recorded rows are not here: nothing was compared")
    sys.exit(77)

rows = int(sys.argv[2]) if len(sys.argv) > 2 else None
made = tempfile.TemporaryDirectory()


def first_rows(path):
    """The array's file, or one with its first rows."""
    if rows is None:
        return str(path)
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00", path
    (length,) = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10:10 + length].decode())
    assert not header["fortran_order"] and header["shape"][0] >= rows, (path, header)
    header["shape"] = (rows, *header["shape"][1:])
    text = (repr(header) + "\n").encode()
    size = math.prod(header["shape"]) * int(header["descr"][2:])
    cut = Path(made.name) / path.name
    cut.write_bytes(data[:8] + struct.pack("<H", len(text)) + text + data[10 + length:10 + length + size])
    return str(cut)


sets = json.loads((folder / "sets.json").read_text())
wrong = compared = 0
for row in sets:
    gpu, kind, result = row["gpu"], row["input"], row["output"]
    c = row["c_used"]
    operand, d = TYPES[kind], RESULTS[result]
    words = [sys.argv[1], "identify", "--json", "--show", "1000", "--types", f"{d}.{operand}.{operand}.{d}"]
    for key, field in (("a", "a"), ("b", "b"), ("d", f"d_{result}")):
        words += [f"--{key}", first_rows(folder / f"{gpu}_{kind}_{field}.npy")]
    if c in ("c_fp32", "c_fp16"):
        words += ["--c", first_rows(folder / f"{gpu}_{kind}_{c}.npy")]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode == 2:
        print(done.stderr)
        wrong += 1
        continue
    out = json.loads(done.stdout)
    sms = {sm for model in out["explain"] for x in model["instructions"] for sm in x["architectures"]}
    true_one = f"sm_{SM[gpu]}" in sms
    # What rows tell: with a binary32 result and more than 4 products, a generation's F and L; of these all of Hopper's
    # and Blackwell's and native FP8 leave one model alone (k8 and k16 of the older ones do the same on 8 products).
    native_fp8 = kind in ("E4M3", "E5M2") and (SM[gpu] == 89 or (result == "fp32" and SM[gpu] == 90))
    tells = native_fp8 or (result == "fp32" and kind in ("fp16", "bf16"))
    older = {"sm_70", "sm_75", "sm_80", "sm_86", "sm_89"}
    alone = not tells or (sms & older == set()) == (SM[gpu] >= 90)
    if native_fp8 or (tells and SM[gpu] >= 90):
        alone = alone and out["conclusion"] == "unique"
    compared += 1
    wrong += 0 if true_one and alone else 1
    print(f"{gpu:<5} {kind:<5} {result:<5} {out['explaining']:>5} of {out['models']:>5} models {'' if true_one and alone else 'WRONG'}",
          *sorted(sms, key=lambda x: int(x[3:])))
print(f"sets {compared}, wrong {wrong}")
sys.exit(0 if compared == len(sets) > 0 and wrong == 0 else 1)
