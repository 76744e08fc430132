# SPDX-License-Identifier: Apache-2.0
"""Recordings of hardware written byte by byte, one of each kind: rows of dot products, a scalar instruction, a product."""

import struct

from made_files import f32, fnv1a, packed, safetensors

NAME = "mma.m16n8k16.f32.f16.f16.f32"


def recording(d=0x3F800000, **changes):
    """A recording of one row, 1 * 1 + 0 and zeros, in binary16 to binary32."""
    row = packed("<u2", 0x3C00, *[0] * 15)
    metadata = {"gpu": "g", "driver": "1", "cuda": "13.0", "ptx": "p", "sass": "s", "generator": "unknown",
                "seed": "unknown", "rows": "1", "input_hash": f"{fnv1a(row + row + bytes(4)):016x}",
                "date": "2026-01-01", "instruction": NAME, "architecture": "sm_90", **changes}
    return safetensors(("a", "U16", [1, 16], row), ("b", "U16", [1, 16], row), ("c", "U32", [1], bytes(4)),
                       ("d", "U32", [1], packed("<u4", d)), metadata=metadata)


def mixed(x):
    """The finalizer of SplitMix64."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def scalar_recording(wrong=(), **changes):
    """All 256 cases of FP4 to binary16, the number of a case being the byte; `wrong` ones get another last bit."""
    magnitudes = [0.0, 0.5, 1, 1.5, 2, 3, 4, 6]
    half = struct.unpack("<16H", packed("<f2", *magnitudes, *[-x for x in magnitudes]))
    d = [(half[n >> 4] << 16 | half[n & 15]) ^ (n in wrong) for n in range(256)]
    total = sum(mixed(mixed((n + 0x9E3779B97F4A7C15) % 2**64) ^ x) for n, x in enumerate(d)) % 2**64
    name = "cvt.rn.f16x2.e2m1x2"
    metadata = {"gpu": "g", "driver": "1", "cuda": "13.0", "ptx": name, "sass": "unknown", "date": "2026-01-01",
                "kind": "scalar", "instruction": name, "architecture": "sm_100", "cases": "exhaustive", "seed": "1",
                "samples": "256", "hashed_cases": "256", "hash": f"{total:016x}", **changes}
    return safetensors(("d", "U32", [256], packed("<u4", *d)), metadata=metadata)


def product_recording(d=(18, 34.5, 0, -2), command=f"--arch sm_90 --instruction {NAME}"):
    """A recording of a whole product: ones, twos and zeros times ones, and c."""
    return safetensors(("a", "F16", [2, 16], packed("<f2", *[1] * 16, *[2] * 16)),
                       ("b", "F16", [16, 2], packed("<f2", *[1, 0] * 16)),
                       ("c", "F32", [2, 2], f32(2, 0, 2.5, -2)), ("d", "F32", [2, 2], f32(d[0], d[2], d[1], d[3])),
                       metadata={"command": command})
