# SPDX-License-Identifier: Apache-2.0
"""What a function gave, taken apart: its tensors, other values, and what cannot be looked into."""
import collections.abc
import dataclasses
import enum
import sys
import types

import torch

from ..observe.bits import difference, has_bits
from ..observe.tensors import OWN_DISPATCH, PLAIN

PLAIN_VALUES = (bool, int, float, complex, str, bytes, enum.Enum, torch.dtype, torch.device, torch.layout, type,
                types.FunctionType, types.BuiltinFunctionType)


class Given:
    """What a function gave. tensors: in order, copied. values: (where, text) of each value that is no tensor, but None. unseen: text
    of each object whose contents are not known."""

    def __init__(self, out):
        self.tensors, self.values, self.unseen = [], [], []
        self._passed = set()
        self._take(out, ())

    def _take(self, x, path):
        if x is None:
            return
        numpy = sys.modules.get("numpy")
        if isinstance(x, torch.Tensor):
            self._take_tensor(x, path)
        elif numpy is not None and isinstance(x, numpy.ndarray):
            self._take_array(x, path)
        elif isinstance(x, PLAIN_VALUES) or (numpy is not None and isinstance(x, numpy.generic)):
            self.values.append((where(path), getattr(x, "__qualname__", None) or repr(x)))
        elif id(x) not in self._passed:
            self._passed.add(id(x))
            parts = parts_of(x)
            if parts is None:
                self._not_seen(x, path)
            for key, part in parts or ():
                self._take(part, (*path, key))

    def _take_tensor(self, x, path):
        if type(x) not in PLAIN and type(x).__torch_dispatch__ is OWN_DISPATCH:
            unseen = torch._C._DisableTorchDispatch()  # while it lives, no mode that is open sees what runs here
            x = x.detach().as_subclass(torch.Tensor)
            del unseen
        if x.layout is torch.sparse_coo:
            x = x.detach().coalesce()
            self._take((x.indices(), x.values()), path)
        elif has_bits(x):
            self.tensors.append(x.detach().clone())
        else:
            self._not_seen(x, path)

    def _take_array(self, x, path):
        try:
            self._take_tensor(torch.from_numpy(x.copy()), path)
        except TypeError:  # of text, objects or records
            self._not_seen(x, path)

    def _not_seen(self, x, path):
        self.unseen.append(f"{where(path)}, of class {type(x).__name__}")


def parts_of(x):
    """Returns (key, part) of an object, or None if it cannot be taken apart."""
    if isinstance(x, tuple | list):
        return list(enumerate(x))
    if isinstance(x, collections.abc.Mapping):
        return list(x.items())
    if isinstance(x, set | frozenset):
        return list(enumerate(sorted(x, key=repr)))
    if dataclasses.is_dataclass(x):
        return [(field.name, getattr(x, field.name, None)) for field in dataclasses.fields(x)]
    if isinstance(x, collections.abc.Iterator) or callable(x):
        return None
    return list(vars(x).items()) if hasattr(x, "__dict__") else None


def where(path):
    """Returns text of a place in a result."""
    return f"output {'.'.join(map(str, path))}" if path else "the output"


def differences(one, other, names=("A", "B")):
    """Returns a dict for each tensor of two Givens, as difference() has it, with why if they are not alike; and a dict with why if
    other values differ."""
    out = []
    a, b = names
    for n in range(max(len(one.tensors), len(other.tensors))):
        if n >= min(len(one.tensors), len(other.tensors)):
            out.append({"why": f"{a if n < len(one.tensors) else b} gives a tensor more"})
            continue
        x, y = one.tensors[n], other.tensors[n]
        if x.shape != y.shape:
            out.append({"why": f"of {a} it has the shape {list(x.shape)}, of {b} {list(y.shape)}"})
            continue
        row = difference(x, y.to(x.device))
        if x.dtype != y.dtype:
            row["why"] = f"of {a} it is {str(x.dtype).removeprefix('torch.')}, of {b} {str(y.dtype).removeprefix('torch.')}"
        out.append(row)
    theirs, ours = ([text for _, text in given.values] for given in (one, other))
    if theirs != ours:
        out.append({"why": f"what is no tensor is of {a} {values_text(one)}, of {b} {values_text(other)}"})
    return out


def values_text(given):
    texts = [text if len(text) <= 40 else text[:37] + "…" for _, text in given.values]
    return ", ".join([*texts[:8], *(["…"] if len(texts) > 8 else [])]) or "nothing"


def alike(rows):
    """Whether differences() found none."""
    return all("why" not in row and not row["different"] for row in rows)
