# SPDX-License-Identifier: Apache-2.0
"""Writes recordings of products: a few rows of A, columns of B and the elements of D where they meet, which `binade validate
--replay FOLDER` compares with the emulator on any machine. Products that no model explains are kept beside them in files named
.tensors, which that command does not read."""
import datetime
import json
import os
import re
import struct

import torch

from ... import _binade
from .explained import evenly, validated

SIDE = 6  # rows and columns
LARGEST = 1 << 20  # bytes of a recording's operands, about
DTYPES = {torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32"}


def tensors_file(tensors, metadata):
    """Returns the bytes of a .safetensors file."""
    header, parts, at = {"__metadata__": metadata}, [], 0
    for name, x in tensors.items():
        parts.append(x.contiguous().view(torch.uint8).numpy().tobytes())
        header[name] = {"dtype": DTYPES[x.dtype], "shape": list(x.shape), "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(parts)


class Recordings:
    """The files in a folder of recordings, one for each kind of product and each model that explains it."""

    def __init__(self, folder):
        self._folder, self._kept = os.fspath(folder), {}
        os.makedirs(self._folder, exist_ok=True)
        if any(name.endswith((".safetensors", ".tensors")) for name in os.listdir(self._folder)):
            raise ValueError(f"save {self._folder!r}: recordings lie there already; name another folder")

    def keep(self, what, low, model, row, device):
        """Writes a recording and returns the name of its file."""
        key = what, str(model)
        if key not in self._kept:
            self._kept[key] = self._write(what, low, model, row, device)
        return self._kept[key]

    def _write(self, what, low, model, row, device):
        k = low.a.shape[2]
        side = max(1, min(SIDE, LARGEST // (2 * k * low.a.element_size())))
        batch, rows, columns = 0, range(low.d.shape[1]), range(low.d.shape[2])
        if row.sampled:  # elements that differ from the usual tell most
            batch = row.sampled[0][0]
            rows, columns = (sorted({x[axis] for x in row.sampled if x[0] == batch}) for axis in (1, 2))
        rows, columns = (evenly(torch.tensor(list(x)), side) for x in (rows, columns))
        a, b, d, c = low.part(batch, rows, columns)
        if model is not None and not validated(model, a, b, d, c).equal:
            raise RuntimeError("a recording's part of a product is not as its model gives it")
        tensors = {"a": a, "b": b, "d": d, **({} if c is None else {"c": c})}
        op, dtype, _, _, part = what
        size = "x".join(map(str, (*low.d.shape[1:], k)))
        name = re.sub(r"[^\w.]+", "_", "_".join(filter(None, (f"{len(self._kept):04}", op, part, dtype, size))))
        name += ".tensors" if model is None else ".safetensors"
        over = f", K over {row.k_runs_over}" if row.k_runs_over else ""
        where = f"{len(rows)} rows and {len(columns)} columns of product {batch} of {len(low.a)}"
        metadata = {"how": f"{row.title}, {where}{over}",
                    "gpu": device["gpu"] or "none", "torch": device["torch"], "cuda": device["cuda"] or "none",
                    "date": datetime.date.today().isoformat(), "usual": row.usual}
        if model is not None:
            metadata["command"] = str(model)
        _binade._write_whole(os.path.join(self._folder, name), tensors_file(tensors, metadata))
        return name
