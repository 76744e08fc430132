# SPDX-License-Identifier: Apache-2.0
"""Files of tensors, byte by byte, for tests in which Python is there alone."""

import io
import json
import struct
import zipfile


def safetensors(*tensors, metadata=None):
    """A file of (name, dtype, shape, bytes)."""
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, dtype, shape, values in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def npy(descr, shape, data, fortran=False):
    text = str({"descr": descr, "fortran_order": fortran, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def npz(compression, **members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name + ".npy", data)
    return out.getvalue()


def f32(*values):
    return struct.pack(f"<{len(values)}f", *values)


def values_of_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<H", data[8:10])[0]
    head = eval(data[10:10 + length], {}, {})  # a dict literal that this test had written
    return head, data[10 + length:]
