# SPDX-License-Identifier: Apache-2.0
#
# Cuts the first rows of published hardware rows (sets.json and .npy files, as MATLAB-tensor-core's
# model_validation data converted bit for bit) into recordings that travel with the project.
#   make_public.py FOLDER OUT [ROWS]
import ast
import json
import struct
import sys
from pathlib import Path

ARCHITECTURES = {"V100": 70, "A100": 80, "A2": 86, "Ada": 89, "H100": 90, "H200": 90, "B200": 100}
TYPES = {"fp16": "f16", "bf16": "bf16", "tf32": "tf32", "E4M3": "e4m3", "E5M2": "e5m2"}
RESULTS = {"fp32": "f32", "fp16": "f16"}
WIDTHS = {"|u1": 1, "<u2": 2, "<u4": 4}
NAMES = {1: "U8", 2: "U16", 4: "U32"}


def read_npy(path):
    """Shape, bytes of an element, and the bytes of a C-ordered array of unsigned integers."""
    data = path.read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    assert data[:8] == b"\x93NUMPY\x01\x00" and not header["fortran_order"], path
    return header["shape"], WIDTHS[header["descr"]], data[10 + length:]


def rows_of(path, count, k=None):
    """The first rows, padded with zero encodings to k columns."""
    shape, width, data = read_npy(path)
    columns = shape[1] if k else 1
    step = columns * width
    rows = [data[i * step:(i + 1) * step] for i in range(count)]
    return width, b"".join(row.ljust((k or 1) * width, b"\0") for row in rows)


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def instruction_of(row):
    kind, result = TYPES[row["input"]], RESULTS[row["output"]]
    if row["instruction"].startswith("wgmma"):
        return f"wgmma.m64n8k32.{result}.{kind}.{kind}", 32
    if row["instruction"].startswith("mma"):
        return f"mma.m16n8k32.{result}.{kind}.{kind}.{result}", 32
    k = 8 if kind == "tf32" else 16
    return f"wmma.m16n16k{k}.{result}.{kind}.{kind}.{result}", k


def recording(folder, row, count):
    name, k = instruction_of(row)
    start = f"{row['gpu']}_{row['input']}"
    a_width, a = rows_of(folder / f"{start}_a.npy", count, k)
    _, b = rows_of(folder / f"{start}_b.npy", count, k)
    d_width, d = rows_of(folder / f"{start}_d_{row['output']}.npy", count)
    if row["c_used"] in ("c_fp32", "c_fp16"):
        _, c = rows_of(folder / f"{start}_{row['c_used']}.npy", count)
    else:
        c = bytes(count * d_width)  # the addend was not used
    metadata = {"gpu": row["gpu"], "driver": "unknown", "cuda": "unknown", "ptx": row["instruction"],
                "sass": "unknown", "generator": "unknown", "seed": "unknown", "rows": str(count),
                "input_hash": fnv1a(a + b + c), "date": "unknown", "instruction": name,
                "architecture": f"sm_{ARCHITECTURES[row['gpu']]}"}
    header, data = {"__metadata__": metadata}, b""
    for tensor, width, shape, part in (("a", a_width, [count, k], a), ("b", a_width, [count, k], b),
                                       ("c", d_width, [count], c), ("d", d_width, [count], d)):
        header[tensor] = {"dtype": NAMES[width], "shape": shape,
                          "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def main():
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    for row in json.loads((folder / "sets.json").read_text()):
        if not row["independent"]:
            continue
        name = f"{row['gpu']}_{row['input']}_{row['output']}.safetensors".lower()
        (out / name).write_bytes(recording(folder, row, count))


main()
