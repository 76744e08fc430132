# SPDX-License-Identifier: Apache-2.0
"""Files of tensors, byte by byte, for tests in which Python is there alone."""

import ast
import io
import json
import math
import struct
import zipfile


def safetensors(*tensors, metadata=None):
    """The bytes of a .safetensors file of tensors, each (name, dtype, shape, bytes)."""
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, dtype, shape, values in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def parts_of_safetensors(data):
    """The header and the bytes after it."""
    length, = struct.unpack("<Q", data[:8])
    return json.loads(data[8:8 + length]), data[8 + length:]


LETTERS = {"f2": "e", "f4": "f", "f8": "d", "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i1": "b", "i4": "i"}


def layout(dtype, count):
    """The struct layout of so many values of a NumPy dtype, which begins with its byte order: <f2, >f4, |u1."""
    return ("<" if dtype[0] == "|" else dtype[0]) + str(count) + LETTERS[dtype[1:]]


def packed(dtype, *values):
    return struct.pack(layout(dtype, len(values)), *values)


def through(dtype, x):
    """x rounded to the floating-point dtype, ties to even, by Python; infinite where it is too large."""
    try:
        return struct.unpack(layout(dtype, 1), packed(dtype, x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def npy(dtype, shape, data, fortran=False):
    """The bytes of a .npy file; data are bytes, or the values in a row."""
    data = data if isinstance(data, bytes) else packed(dtype, *data)
    text = str({"descr": dtype, "fortran_order": fortran, "shape": tuple(shape)}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def parts_of_npy(data):
    """The header and the bytes after it."""
    length, = struct.unpack("<H", data[8:10])
    return ast.literal_eval(data[10:10 + length].decode()), data[10 + length:]


def values_of_npy(data, *dtypes):
    """The values in a row of a .npy file, which must be of one of the dtypes."""
    head, values = parts_of_npy(data)
    assert head["descr"] in dtypes, head
    return struct.unpack(layout(head["descr"], len(values) // int(head["descr"][2:])), values)


def npz(compression, **members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name + ".npy", data)
    return out.getvalue()


def fnv1a(data):
    """The FNV-1a hash in 64 bits, the checksum of the files that binade writes."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def f32(*values):
    return packed("<f4", *values)
