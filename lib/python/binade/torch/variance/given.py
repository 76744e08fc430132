# SPDX-License-Identifier: Apache-2.0
"""What a function gave, taken apart: its tensors, other values, and what cannot be looked into."""
import collections.abc
import dataclasses
import enum
import itertools
import sys
import types

import torch

from ... import _binade
from ..observe.tensor_bits import difference, has_bits
from ..observe.tensors import OWN_DISPATCH, PLAIN

PLAIN_VALUES = (bool, int, float, complex, str, bytes, enum.Enum, torch.dtype, torch.device, torch.layout, type,
                types.FunctionType, types.BuiltinFunctionType)
SHOWN = 8  # values in a text
MOST = 100_000  # objects that are looked into


class Given:
    """What a function gave. tensors: in order, copied. places: where each of them was. values: (where, text) of each value that is no
    tensor, but None. unseen: text of each object whose contents are not known. foreign: text of each array that is compared and is no
    tensor."""

    def __init__(self, out):
        self.tensors, self.places, self.values, self.unseen, self.foreign = [], [], [], [], []
        self._within, self._left = set(), MOST  # ids of the objects that hold the one that is taken; how many more are looked into
        self._take(out, "")

    def _take(self, x, place):
        if x is None:
            return
        numpy = sys.modules.get("numpy")
        if isinstance(x, torch.Tensor):
            self._take_tensor(x, place)
        elif numpy is not None and isinstance(x, numpy.ndarray):
            self._take_array(numpy, x, place)
        elif isinstance(x, PLAIN_VALUES) or (numpy is not None and isinstance(x, numpy.generic)):
            self.values.append((where(place), getattr(x, "__qualname__", None) or repr(x)))
        elif id(x) not in self._within:
            self._within.add(id(x))
            self._left -= 1
            parts = parts_of(x) if self._left >= 0 else None
            array = None if parts is not None or numpy is None else array_of(numpy, x)
            if array is not None:
                self._take_array(numpy, array, place, type(x).__name__)
            elif parts is None:
                self._not_seen(x, place)
            for step, part in parts or ():
                self._take(part, place + step)
            self._within.discard(id(x))

    def _take_tensor(self, x, place):
        if type(x) not in PLAIN and type(x).__torch_dispatch__ is OWN_DISPATCH:
            unseen = torch._C._DisableTorchDispatch()  # while it lives, no mode that is open sees what runs here
            x = x.detach().as_subclass(torch.Tensor)
            del unseen
        if x.layout is torch.sparse_coo:
            x = x.detach().coalesce()
            for name, part in (("indices", x.indices()), ("values", x.values())):
                self._take_tensor(part, f"{place}.{name}()")
        elif has_bits(x):
            self.tensors.append(x.detach().clone())
            self.places.append(place)
        else:
            self._not_seen(x, place)

    def _take_array(self, numpy, x, place, kind="numpy array"):
        """kind: what the array is of, as text."""
        if x.dtype.names:
            for name in x.dtype.names:
                self._take_array(numpy, x[name], place + key_text(name), kind)
        elif x.dtype.kind in "OUS":
            self._take(x.tolist(), place)
        else:
            try:
                if isinstance(x, numpy.ma.MaskedArray):
                    self._take_array(numpy, numpy.ma.getmaskarray(x), f"{place}.mask", kind)
                    x = x.filled(0)
                self._take_tensor(torch.from_numpy(signed(numpy, x)), place)
                self.foreign.append(f"{where(place)} ({kind})")
            except TypeError:
                self._not_seen(x, place)

    def _not_seen(self, x, place):
        self.unseen.append(f"{where(place)}, of class {type(x).__name__}")


def signed(numpy, x):
    """Returns a copy of an array of numbers in the machine's order of bytes, and of dtypes that all versions of torch have."""
    x = numpy.array(x, dtype=x.dtype.newbyteorder("="), subok=False)
    if x.dtype.kind in "mM" or (x.dtype.kind == "u" and x.itemsize == 8):
        return x.view("i8")
    return x.astype(f"i{2 * x.itemsize}") if x.dtype.kind == "u" and x.itemsize > 1 else x


def array_of(numpy, x):
    """Returns the array that an object of another library stands for; None if it stands for none."""
    try:
        out = numpy.asarray(x) if hasattr(x, "__array__") else None
    except Exception:  # that library's own
        return None
    return out if type(out) is numpy.ndarray else None


def key_text(key):
    return f'["{_binade._printable(key)}"]' if isinstance(key, str) else f"[{_binade._printable(repr(key))}]"


def parts_of(x):
    """Returns (how it is reached, part) of an object, or None if it cannot be taken apart."""
    if isinstance(x, tuple | list):
        return [(f"[{n}]", part) for n, part in enumerate(x)]
    if isinstance(x, collections.abc.Mapping):
        return [(key_text(key), part) for key, part in x.items()]
    if isinstance(x, set | frozenset):
        return [(f"[{n}]", part) for n, part in enumerate(sorted(x, key=repr))]
    if dataclasses.is_dataclass(x):
        return [(f".{field.name}", getattr(x, field.name, None)) for field in dataclasses.fields(x)]
    if hasattr(x, "columns") and hasattr(x, "index") and callable(getattr(x, "items", None)):  # a DataFrame
        return [(".index", x.index), *((key_text(name), column) for name, column in x.items())]
    if isinstance(x, collections.abc.Iterator) or callable(x) or hasattr(x, "__array__"):
        return None
    slots = [name for kind in type(x).__mro__ for name in kind_slots(kind) if hasattr(x, name)]
    if not hasattr(x, "__dict__") and not slots:
        return None
    return [(f".{_binade._printable(name)}", part) for name, part in
            [*getattr(x, "__dict__", {}).items(), *((name, getattr(x, name)) for name in slots)]]


def kind_slots(kind):
    """Returns the names of the slots of a class."""
    slots = vars(kind).get("__slots__", ())
    return [name for name in ((slots,) if isinstance(slots, str) else slots) if name not in ("__dict__", "__weakref__")]


def where(place):
    """Returns text of a place in a result."""
    return f"output {place}" if place else "the output"


def paired(one, other, a, b):
    """Yields (place, tensor of one, tensor of the other) of two Givens, by their places if both have the same, else by their order;
    None for what only the other has. a, b: their names."""
    theirs = dict(zip(other.places, other.tensors))
    if len(theirs) == len(other.places) and set(one.places) == set(theirs):
        for place, x in zip(one.places, one.tensors):
            yield place, x, theirs[place]
        return
    for mine, its, x, y in itertools.zip_longest(one.places, other.places, one.tensors, other.tensors):
        yield (its if mine is None else mine if its in (None, mine) else f"{mine} of {a}, {its} of {b}"), x, y


def differences(one, other, names=("A", "B")):
    """Returns a dict for each tensor of two Givens, as difference() has it, with output, its place, and why if they are not alike; and
    a dict with why if other values differ."""
    out = []
    a, b = names
    for place, x, y in paired(one, other, a, b):
        if x is None or y is None:
            out.append({"output": place, "why": f"{b if x is None else a} gives a tensor more"})
            continue
        if x.shape != y.shape:
            out.append({"output": place, "why": f"of {a} it has the shape {list(x.shape)}, of {b} {list(y.shape)}"})
            continue
        row = {"output": place, **difference(x, y.to(x.device))}
        if x.dtype != y.dtype:
            row["why"] = f"of {a} it is {str(x.dtype).removeprefix('torch.')}, of {b} {str(y.dtype).removeprefix('torch.')}"
        out.append(row)
    if [text for _, text in one.values] != [text for _, text in other.values]:
        if [place for place, _ in one.values] == [place for place, _ in other.values]:
            rows = [(place, x, y) for (place, x), (_, y) in zip(one.values, other.values) if x != y]
            told = "; ".join(f"{place} is of {a} {short(x)}, of {b} {short(y)}" for place, x, y in rows[:SHOWN])
            out.append({"why": f"what is no tensor differs: {told}" + (f"; and {len(rows) - SHOWN} more" if len(rows) > SHOWN else "")})
        else:
            out.append({"why": f"what is no tensor is of {a} {values_text(one)}, of {b} {values_text(other)}"})
    return out


def short(text):
    return text if len(text) <= 40 else text[:37] + "…"


def values_text(given):
    texts = [short(text) for _, text in given.values]
    return ", ".join([*texts[:SHOWN], *(["…"] if len(texts) > SHOWN else [])]) or "nothing"


def alike(rows):
    """Whether differences() found none."""
    return all("why" not in row and not row["different"] for row in rows)
