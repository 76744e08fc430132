# SPDX-License-Identifier: Apache-2.0
"""The mode in which PyTorch's matrix products are those of a chosen GPU's Tensor Cores, bit for bit, without that GPU."""
import collections
import contextlib
import dataclasses
import functools

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from ..observe.attaching import functorch_level
from ..observe.recorder import recording_above
from . import scaled_grouped, scaled_mm
from .models import Models
from .narrow import NarrowProducts
from .ops import KNOWN_NAMESPACES, LOW_PRECISION, OPS, WITH_PRODUCTS, kind_of
from .products import FORMATS
from .switches import without_early_stop, without_fused_attention, without_onednn


@dataclasses.dataclass(frozen=True)
class Ran:
    """Products of one op.

    op: its name. how: the instruction that was emulated, or why the op ran as before. calls: how often it ran.
    """

    op: str
    how: str
    calls: int


# The `with` blocks that are open, and the ops.
ATTENTIONS = {"flash": (contextlib.nullcontext, OPS), "math": (without_fused_attention, OPS),
              "low_precision": (contextlib.nullcontext, LOW_PRECISION)}


class TensorCores(TorchDispatchMode):
    """The mode in which products are emulated, for `with`; tensor_cores() makes it."""

    answers = True  # the model goes on with the emulated products
    devices = {"cpu": "the CPU"}  # device types whose tensors are emulated

    def __init__(self, arch, recipes, *, order=None, attention="flash", strict=False):
        super().__init__()
        if attention not in ATTENTIONS:
            raise ValueError(f"attention {attention!r}: one of {', '.join(ATTENTIONS)} is wanted")
        self._models, self.recipes, self._strict = Models(arch, order), recipes, bool(strict)
        self._attention, self._ops = ATTENTIONS[attention]
        self._ran, self._left = collections.Counter(), collections.Counter()
        self._open = []  # for each `with` block what ends with it

    def __repr__(self):
        return f"<tensor_cores of sm_{self._models.sm}: {self.products:,} products emulated, {sum(self._left.values()):,} left>"

    @property
    def is_open(self):
        return bool(self._open)

    def covered(self):
        """Returns which ops were emulated, as a list of Ran."""
        return [Ran(*key, n) for key, n in self._ran.items()]

    def uncovered(self):
        """Returns which ops have products but ran as before, and why, as a list of Ran."""
        return [Ran(*key, n) for key, n in self._left.items()]

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            stack.enter_context(without_onednn())
            stack.enter_context(self._attention())
            stack.enter_context(self.recipes.attached())
            stack.enter_context(without_early_stop() if self.recipes.any else contextlib.nullcontext())
            if self.answers:
                stack.enter_context(RefusesLater(self))
            super().__enter__()
            self._open.append((stack.pop_all(), recording_above()))
            self._open[-1][1].__enter__()
        return self

    def __exit__(self, *raised):
        stack, recording = self._open.pop()
        recording.__exit__(*raised)
        super().__exit__(*raised)
        stack.close()

    @property
    def products(self):
        """The number of calls that were emulated so far."""
        return sum(self._ran.values())

    supports_higher_order_operators = True  # torch.cond and the like: their branches run as before, and are listed

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not hasattr(func, "_schema"):
            return self._leave(func.name(), "what is inside of it is not seen", func, args, kwargs)
        name = func._schema.name.removeprefix("aten::")
        emulated = self._ops.get(name.removesuffix("_"))
        if emulated is None:
            return self._run(name, func, args, kwargs)
        kind, function = emulated
        operands = [x for x in args if isinstance(x, torch.Tensor)]
        why = why_not(kind, name, func._overloadname, args, operands, self.devices, self._models.sm)
        if why:
            return self._leave(name, why, func, args, kwargs)
        return self._product(name, func, kind_of(name.removesuffix("_"), kind, args), function, operands, args, kwargs)

    def _product(self, name, func, kind, function, operands, args, kwargs):
        """Returns the result of an op with products."""
        given = kwargs.pop("out", None)
        products = self._products_of(kind, name.removesuffix("_"), args, operands[0].dtype)
        out = function(products, *args, **kwargs)
        self._ran[name, str(products)] += 1
        if given is None and name.endswith("_"):
            if args[0].shape != out.shape:
                raise RuntimeError(f"{name}: a result of {tuple(out.shape)} does not fit into a tensor of {tuple(args[0].shape)}")
            given = args[0]
        return out if given is None else written(out, given)

    def _products_of(self, kind, name, args, dtype):
        if kind == "scaled":
            return scaled_mm.ScaledProducts(self._models.sm, self._models.given(kind, dtype))
        recipe = self.recipes.of(name, args)
        if recipe is None:
            return self._models.products(kind, dtype)
        return NarrowProducts(self._models.sm, self._models.given(kind, dtype), *recipe)

    def _run(self, name, func, args, kwargs):
        """Runs an op that is not emulated; in inference mode such an op arrives before torch has replaced it by others."""
        if torch.is_inference_mode_enabled():
            TorchDispatchMode.__enter__(self)
            try:
                out = func.decompose(*args, **kwargs)
            finally:
                TorchDispatchMode.__exit__(self, None, None, None)
            if out is not NotImplemented:
                return out
        if name in WITH_PRODUCTS:
            return self._leave(name, "it is not taken apart", func, args, kwargs)
        if func.namespace not in KNOWN_NAMESPACES:
            return self._leave(name, "nobody knows whether it multiplies", func, args, kwargs)
        return func(*args, **kwargs)

    def _leave(self, name, why, func, args, kwargs):
        self._left[name, why] += 1
        if self._strict:
            raise NotImplementedError(f"{name}: {why}, and strict=True wants every product emulated")
        return func(*args, **kwargs)


class RefusesLater(TorchFunctionMode):
    """Makes the backward pass of a graph with emulated products fail outside of the `with`, where torch's own would
    be mixed in."""

    def __init__(self, mode):
        super().__init__()
        self._mode = mode

    def __torch_function__(self, func, types, args=(), kwargs=None):
        before, recipe = self._mode.products, self._mode.recipes.now
        out = func(*args, **(kwargs or {}))
        if self._mode.products != before and (functorch_level is None or functorch_level() is None):
            for x in out if isinstance(out, tuple | list) else [out]:
                if isinstance(x, torch.Tensor) and x.grad_fn is not None:
                    x.register_hook(functools.partial(self._check, recipe))
        return out

    def _check(self, recipe, gradient):
        self._mode.recipes.gradient_came(recipe)
        if not self._mode.is_open:
            raise RuntimeError("backward() of emulated products outside of their own `with tensor_cores(…)`: put it into "
                               "that block")


def why_not(kind, name, overload, args, operands, devices, sm):
    """Returns why a call with products is not emulated; None if it is. devices: the device types whose tensors are emulated."""
    if overload not in ("default", "out"):
        return f"its overload {overload} is not emulated"
    if kind == "scaled":
        why = scaled_grouped.why_not(name, args) if "grouped" in name else scaled_mm.why_not(name, args, sm)
    else:
        if name == "_grouped_mm":
            operands = operands[:2]  # the third are integers
        dtypes = {x.dtype for x in operands[:5]}  # the sixth operand of attention's backward is logsumexp, always float32
        fits = len(dtypes) == 1 and dtypes <= FORMATS.keys()
        why = None if fits else "of " + " and ".join(sorted(str(dtype).removeprefix("torch.") for dtype in dtypes))
    for x in operands:
        if type(x) not in (torch.Tensor, torch.nn.Parameter) or x.layout is not torch.strided or x.is_nested \
                or x.device.type not in devices:
            why = why or f"of tensors that are no plain ones of {' or '.join(devices.values())}"
    return why


def written(x, out):
    if out.dtype != x.dtype:
        raise RuntimeError(f"out: a tensor of {x.dtype} is wanted, not of {out.dtype}")
    if out.shape != x.shape:
        out.resize_(x.shape)
    return out.copy_(x)
