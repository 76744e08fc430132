# SPDX-License-Identifier: Apache-2.0
"""Compares the products of a model, which PyTorch makes as always, with their emulation, bit for bit."""
import contextlib
import dataclasses
import threading
import time

import torch
from torch.utils._pytree import tree_map

from ..observe.tensor_bits import differing
from ..products.op_products import lowered
from ..products.models import REFERENCE, product_key
from ..products.products import ChosenProducts
from ..products.tensor_cores import Ran, TensorCores
from .account import Account, Order, Row
from .explain import Explaining, sampled, sums_model, ways, whole_model
from .place import Places
from .record import Recordings

# Names of an op's results; None: no result, or one that is no product. Ops that are not listed give one product.
PARTS = {
    "convolution_backward": lambda args: tuple(part if wanted else None for part, wanted in zip(("dx", "dw"), args[10])),
    "_scaled_dot_product_flash_attention_for_cpu": lambda args: ("out", "logsumexp"),
    "_scaled_dot_product_flash_attention_for_cpu_backward": lambda args: ("dq", "dk", "dv"),
}
OPAQUE = ("{} ran uncompiled, op by op, since it was checked: the products that were compared are PyTorch's own, not those of the "
          "compiled code")
TOLD = 3  # how many differing elements of each product are shown
# Arguments that an op usually has beside tensors; so is None.
USUAL = {"stride": 1, "padding": 0, "dilation": 1, "transposed": False, "output_padding": 0, "groups": 1, "beta": 1, "alpha": 1,
         "dropout_p": 0, "is_causal": False}
UNTOLD = "bias_sizes", "output_mask"


def words_of(func, args, kwargs):
    """Returns text of what an op was given beside tensors."""
    out = []
    for name, x in {**dict(zip((x.name for x in func._schema.arguments), args)), **kwargs}.items():
        several = x if isinstance(x, list | tuple) else [x]
        if name in UNTOLD or any(isinstance(y, torch.Tensor) for y in several):
            continue
        if any(y not in (None, USUAL.get(name)) for y in several):
            out.append(f"{name} {x}")
    return ", ".join(out)


class Check(TensorCores):
    """The mode that tensor_cores(check=True) makes; it takes the same options."""

    answers = False
    devices = {"cpu": "the CPU", "cuda": "a GPU"}

    def __init__(self, arch, recipes, *, order, attention, strict, save, calls, kinds, seconds):
        super().__init__(arch, recipes, order=order, attention=attention, strict=strict)
        if recipes.any:
            raise TypeError("check: PyTorch rounds no operands for a product: leave operands= and modules= out")
        if isinstance(order, str) and order == REFERENCE:
            raise TypeError('check: order="reference" is no order that PyTorch could have: leave it out')
        for name, x in (("calls", calls), ("kinds", kinds)):
            if not isinstance(x, int) or x < 0:
                raise ValueError(f"{name} {x!r}: a whole number is wanted")
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0):
            raise ValueError(f"seconds {seconds!r}: a number of 0 or more is wanted, or None")
        self._calls, self._looks_left, self._seconds_left = calls, kinds, float("inf") if seconds is None else seconds
        self._seconds_of_k = 0  # the most seconds that a search took so far, divided by the products of a sum
        self._rows, self._kinds, self._orders = {}, {}, {}
        self._places, self._recordings = Places(), None if save is None else Recordings(save)
        self._devices, self._lock = {}, threading.Lock()  # a device's backward passes run in threads of their own

    def __repr__(self):
        compared = sum(x.compared for x in self._rows.values())
        return f"<check of sm_{self._models.sm}: {compared:,} products compared, {sum(self._left.values()):,} left>"

    @property
    def account(self):
        """The Account of what was found so far."""
        with self._lock:
            products = [dataclasses.replace(x) for x in self._rows.values()]
            return Account(f"sm_{self._models.sm}", products, self.uncovered(), self._orders.values(), self._devices,
                           [OPAQUE.format(text) for text in self._places.opaque])

    def covered(self):
        """Returns which ops were compared."""
        return [Ran(row.op, row.usual, row.compared) for row in self._rows.values() if row.compared]

    def _product(self, name, func, kind, function, operands, args, kwargs):
        """Returns PyTorch's own result of an op, which it compares with the emulation."""
        if operands[0].is_cuda and torch.cuda.is_current_stream_capturing():
            return self._leave(name, "it is captured into a CUDA graph", func, args, kwargs)
        place = self._places.now()
        op, dtype, device = name.removesuffix("_"), operands[0].dtype, operands[0].device
        parts = PARTS.get(op, lambda args: ("",))(args)
        what = (op, str(dtype).removeprefix("torch."), tuple(tuple(x.shape) for x in operands), words_of(func, args, kwargs))
        with self._lock:
            rows = {number: self._rows.setdefault((*what, part, place), Row(*what, part, str(place)))
                    for number, part in enumerate(parts) if part is not None}
            for row in rows.values():
                row.calls += 1
            looks = any(row.tried < self._calls for row in rows.values()) and self._seconds_left > 0
        if not looks:
            return func(*args, **kwargs)
        with self._comparing(rows):
            overwrites = name != op or "out" in kwargs
            mine = tree_map(lambda x: on_cpu(x, overwrites) if isinstance(x, torch.Tensor) else x,
                            (args, {key: x for key, x in kwargs.items() if key != "out"}))
        given = func(*args, **kwargs)
        with self._comparing(rows):
            for row in rows.values():
                row.tried += 1
            self._device_seen(device)
            self._compare(rows, what, kind, function, *mine, given, device)
        return given

    @contextlib.contextmanager
    def _comparing(self, rows):
        """Runs a comparison in one thread at a time and counts its seconds. If it fails, that is noted and the model goes on."""
        with self._lock:
            begun = time.monotonic()
            try:
                yield
            except Exception as error:
                for row in rows.values():
                    row.why = row.why or f"the comparison failed: {type(error).__name__}: {error}"
            self._seconds_left -= time.monotonic() - begun

    def _compare(self, rows, what, kind, function, args, kwargs, given, device):
        name, dtype = what[0], args[0].dtype  # every op's first argument is a tensor
        if self._models.given(kind, dtype) == REFERENCE:
            raise ValueError(f'order gave "reference" for {kind} of {dtype}, which is no order that PyTorch could have')
        products, made = self._products_of(kind, name, args, dtype), []  # made: of each product its key, the GemmModel of its sums

        def keeping(a, b):
            made.append((product_key(kind, dtype, a, b), self._models.of_product(kind, dtype, a, b).model))
            return products

        alone = products.direct or kind == "scaled"
        emulated = function(products if alone else ChosenProducts(keeping), *args, **kwargs)
        usual = str(products if alone else self._models.of(kind, dtype))
        differ = False
        for number, row in rows.items():
            theirs, ours = (x[number] if isinstance(x, tuple | list) else x for x in (given, emulated))
            theirs = on_cpu(theirs, False)
            if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
                raise RuntimeError(f"PyTorch gave {tuple(theirs.shape)} of {theirs.dtype}, the emulation {tuple(ours.shape)} of "
                                   f"{ours.dtype}")
            different = differing(theirs, ours)
            differs = row.add(different, theirs, ours, usual, TOLD)
            if theirs.numel() and (differs or self._recordings is not None):
                try:
                    if products.direct:
                        raise ValueError("it is not computed by products of matrices")
                    self._explain(row, (*what, row.part), kind, differs, device, lowered(name, args, kwargs, number).of(theirs))
                except ValueError as error:
                    row.why = str(error)
            differ = differ or differs
        for key, sums in () if differ else made:
            self._follow(key, sums, True)

    def _explain(self, row, what, kind, differs, device, low):
        """Looks for what explains products that differ, and records them."""
        key = product_key(kind, low.a.dtype, low.a, low.b)
        usual = self._models.of_product(kind, low.a.dtype, low.a, low.b).model
        model = whole_model(usual, low)
        if differs:
            explaining = self._kinds.setdefault(what, Explaining(ways(device, f"sm_{self._models.sm}"), usual.instruction))
            if not explaining.holds(low):
                if self._looks_left <= 0:
                    row.why = "more products differ than are looked into: kinds=N looks into more"
                    return
                k = low.a.shape[2]
                if self._seconds_of_k * k > self._seconds_left:
                    row.why = f"no time was left to look into sums of {k:,} products: seconds=N gives more"
                    return
                self._looks_left -= 1
                begun = time.monotonic()
                explaining.look(low, sampled(differing(low.d, low.as_given_by(model))))
                self._seconds_of_k = max(self._seconds_of_k, (time.monotonic() - begun) / k)
            model = explaining.model
            row.explain(explaining)
            if model is not None:
                row.why = self._follow(key, sums_model(model), low.k_order(explaining.k_runs_over) is low)
            low = low.k_order(explaining.k_runs_over)
        if self._recordings is not None:
            row.recording = self._recordings.keep(what, low, model, row, self._devices[str(device)]) or row.recording

    def _follow(self, key, sums, k_as_emulated):
        """Keeps the GemmModel of the sums for order=account, and returns "", or why it cannot. sums: None if they begin with C."""
        if sums is None:
            return "order=account does not take this order, since its sums begin with C"
        if not k_as_emulated:
            return "order=account does not take this order, since K of an emulated convolution runs over the kernel first"
        kept = self._orders.setdefault(key, Order(key, str(sums)))
        if kept.words != str(sums):
            return "order=account takes another order, which was found before for products of these sizes"
        return ""

    def _device_seen(self, device):
        if str(device) not in self._devices:
            on_gpu = device.type == "cuda"
            self._devices[str(device)] = {
                "gpu": torch.cuda.get_device_name(device) if on_gpu else "", "torch": torch.__version__,
                "cuda": (torch.version.cuda or "") if on_gpu else "",
                "capability": "sm_{}{}".format(*torch.cuda.get_device_capability(device)) if on_gpu else ""}


def on_cpu(x, copy):
    """Returns the tensor on the CPU with its own strides. copy: whether it is copied even if it is there."""
    x = x.detach()
    return x.clone() if copy and x.is_cpu else x.cpu()
