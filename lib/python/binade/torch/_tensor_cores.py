# SPDX-License-Identifier: Apache-2.0
"""PyTorch's matrix products as a chosen GPU's Tensor Cores give them, on a machine without that GPU."""
import collections
import contextlib
import dataclasses
import functools

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .. import _binade
from ._attaching import functorch_level
from ._models import Models
from ._narrow import NarrowProducts, Recipe
from ._product_ops import LOW_PRECISION, OPS, WITH_PRODUCTS, kind_of
from ._products import FORMATS
from ._recipes import Recipes
from ._recorder import recording_above
from ._scaled_mm import ScaledProducts
from ._scaled_mm import why_not as scaled_why_not
from ._switches import without_early_stop, without_fused_attention, without_onednn


@dataclasses.dataclass(frozen=True)
class Ran:
    """Products of one op: its name, the instruction, or why it ran as before, and how often."""

    op: str
    how: str
    calls: int


# What is open meanwhile, and the ops.
ATTENTIONS = {"flash": (contextlib.nullcontext, OPS), "math": (without_fused_attention, OPS),
              "low_precision": (contextlib.nullcontext, LOW_PRECISION)}


def tensor_cores(arch, *, order=None, attention="flash", strict=False,
                 operands=None, backward=None, scale=None, promote_every=None, model=None, modules=None,
                 check=False, save=None, calls=3, kinds=32, seconds=None):
    """Every matrix product inside of the `with`, forward and backward, as an architecture's Tensor Cores give it.

    arch: as "sm_90".
    order: how sums are made. None: as below. A GemmModel with D in binary32: so, where it takes the operands. "reference": exact
        numbers. A function (kind, dtype) → one of these; kind is "matmul", "vector" (a matrix and a vector), "dot",
        "convolution", "depthwise" or "scaled" (_scaled_mm). The Account of a check: the orders that it found for products of such
        sizes.
    attention: how scaled_dot_product_attention is computed: "flash"; "low_precision", rounded at each step as PyTorch 1.13 did;
        "math", torch's own way by matmuls.
    strict: an op with products that is not emulated is refused (NotImplementedError) instead of run as before.

    Narrow formats on ordinary models:

    operands: a format, as "e4m3", that the operands of mm, addmm and convolutions, the products with a weight, are rounded to;
        all others stay in their dtype. Formats that the architecture has no instruction of are multiplied by the narrowest that
        holds them.
    backward: a format of their own for gradients. None: the same.
    scale: what operands are multiplied by before they are rounded, powers of two. None: nothing. "amax": one a tensor. "row": one
        a row of A and a column of B. "1x128": one to 128 of K in each of these, or to as many as it says. "128x128": one to
        128 × 128 of the weight, and "1x128" of all else.
    promote_every: after so many instructions a sum is added to a register of binary32, and begins again. An FP8 instruction of
        sm_90 has 32 of K: 4 of them are 128 of K.
    model, modules: settings by name, {a module's name in the model, or a pattern as "blocks.*": a dict of operands, backward,
        scale and promote_every, or None: operands stay in their dtype}. What a dict leaves out is as above; the first pattern
        that fits a module counts, and of modules in each other the innermost that has one.

    Checking a GPU:

    check: the model goes on with PyTorch's own products, of the CPU or of a GPU. Each is held against its emulation bit for bit,
        and .account has what was found, an Account.
    save: a folder, which has none yet, for recordings of some rows and columns of each kind of product. None: none.
    calls: so many calls of each product (op, dtype, sizes, place in the program) are compared; the others run alone.
    kinds: so many times a model is looked for that explains products that differ.
    seconds: after so many of comparing everything runs alone. None: no limit.

    The model: one sum along K, ascending, by the architecture's usual instruction, without parts; then alpha·sum + beta·C in
    binary32, rounded once to the dtype; a convolution's bias is added to what was rounded, and rounded again, as torch does.
    float16 and bfloat16 as they are (bfloat16 before sm_80 by fused multiply-adds); float32 as TF32 where
    torch.backends.cuda.matmul.allow_tf32, of convolutions torch.backends.cudnn.allow_tf32, says so, else by fused multiply-adds
    in binary32, as are dots of all dtypes, float32 of a matrix and a vector, and depthwise convolutions that torch computes
    without cuDNN. Convolutions and attention: _convolution.py, _depthwise.py and _attention.py say their sums. What no product
    is stays torch's own.

    "reference": alpha·A·B + beta·C, or A·B and a convolution's bias, is the exact number of all its terms, alpha and beta being
    what Python gave, rounded once to the dtype, ties to even; a sum of 0 is +0, infinities and NaNs are IEEE 754's. TF32 is not
    looked at. Inside of attention products are exact numbers rounded to binary32 (of "low_precision" to the dtype), and addbmm
    is an addmm after the other.

    >>> import torch
    >>> import binade.torch
    >>> a, b = torch.full((1, 2), 2.0**-11).half(), torch.full((2, 1), 2.0**-14).half()
    >>> with binade.torch.tensor_cores("sm_90") as mode:
    ...     c = a @ b
    >>> mode.covered()
    [Ran(op='mm', how='mma.m16n8k16.f32.f16.f16.f32 on sm_90', calls=1)]

    Returns a TensorCores: .covered() and .uncovered() say what was emulated and what was not; with check also .account.
    ValueError or TypeError, one line, for an architecture, an order or a format that cannot be.
    """
    if promote_every is not None and isinstance(order, _binade.GemmModel):
        raise ValueError("promote_every: the order says it, binade.GemmModel(…, promote_every=…)")
    recipes = Recipes(Recipe(operands, backward, scale, promote_every), model, modules)
    if check:
        from ._check import Check  # made of this module's class
        return Check(arch, recipes, order=order, attention=attention, strict=strict, save=save, calls=calls, kinds=kinds,
                     seconds=seconds)
    if (save, calls, kinds, seconds) != (None, 3, 32, None):
        raise TypeError("tensor_cores: save, calls, kinds and seconds are of check=True only")
    return TensorCores(arch, recipes, order=order, attention=attention, strict=strict)


class TensorCores(TorchDispatchMode):
    """The mode; tensor_cores() makes it."""

    answers = True  # what runs within goes on with emulated products
    devices = {"cpu": "the CPU"}  # whose tensors are looked at

    def __init__(self, arch, recipes, *, order=None, attention="flash", strict=False):
        super().__init__()
        if attention not in ATTENTIONS:
            raise ValueError(f"attention {attention!r}: one of {', '.join(ATTENTIONS)} is wanted")
        self._models, self.recipes, self._strict = Models(arch, order), recipes, bool(strict)
        self._attention, self._ops = ATTENTIONS[attention]
        self._ran, self._left = collections.Counter(), collections.Counter()
        self._open = []  # of each `with` block what ends with it

    def __repr__(self):
        return f"<tensor_cores of sm_{self._models.sm}: {self.products:,} products emulated, {sum(self._left.values()):,} left>"

    @property
    def is_open(self):
        return bool(self._open)

    def covered(self):
        """What was emulated."""
        return [Ran(*key, n) for key, n in self._ran.items()]

    def uncovered(self):
        """What has products and ran as before, and why."""
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
        """How many were emulated so far."""
        return sum(self._ran.values())

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func._schema.name.removeprefix("aten::")
        emulated = self._ops.get(name.removesuffix("_"))
        if emulated is None:
            return self._run(name, func, args, kwargs)
        kind, function = emulated
        operands = [x for x in args if isinstance(x, torch.Tensor)]
        why = why_not(kind, name, func._overloadname, args, operands, self.devices)
        if why:
            return self._leave(name, why, func, args, kwargs)
        return self._product(name, func, kind_of(name.removesuffix("_"), kind, args), function, operands, args, kwargs)

    def _product(self, name, func, kind, function, operands, args, kwargs):
        """What an op with products gives."""
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
            return ScaledProducts(self._models.sm, self._models.given(kind, dtype))
        recipe = self.recipes.of(name, args)
        if recipe is None:
            return self._models.products(kind, dtype)
        return NarrowProducts(self._models.sm, self._models.given(kind, dtype), *recipe)

    def _run(self, name, func, args, kwargs):
        """What is not emulated; in inference mode ops arrive before torch has made others of them."""
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
        return func(*args, **kwargs)

    def _leave(self, name, why, func, args, kwargs):
        self._left[name, why] += 1
        if self._strict:
            raise NotImplementedError(f"{name}: {why}, and strict=True wants every product emulated")
        return func(*args, **kwargs)


class RefusesLater(TorchFunctionMode):
    """Refuses a backward pass, of a graph with emulated products, outside of the `with`: torch's own would be mixed in."""

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


def why_not(kind, name, overload, args, operands, devices):
    """Why a call with products is not emulated; None where it is. devices: whose tensors are looked at, and their names."""
    if overload not in ("default", "out"):
        return f"its overload {overload} is not emulated"
    if kind == "scaled":
        why = scaled_why_not(name, args)
    else:
        dtypes = {x.dtype for x in operands[:5]}  # after them attention's backward has logsumexp, of binary32 always
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
