# SPDX-License-Identifier: Apache-2.0
"""Looks at the ops inside of modules, forward: which made Inf or NaN, where that vanished again, and what became zero.

    open() … close() ─▶ a mode of torch below autograd and autocast sees every op ─▶ Origins of what is not finite, by storage
"""
import dataclasses

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ..observe.names import tensors_in
from ..observe.recorder import UNWRITTEN, calling, storage_of
from ..observe.tensors import PLAIN, described, local

# Where modes cannot leave compiled functions alone, what torch.compile has made would run uncompiled inside of one.
CAN_LOOK = not hasattr(torch, "compile") or hasattr(TorchDispatchMode, "ignore_compile_internals")
# What these give of Inf is its limit, or another value was wanted in its place.
ENDS = frozenset(
    "softmax log_softmax safe_softmax masked_softmax logsumexp exp expm1 exp2 sigmoid log_sigmoid_forward tanh erf atan "
    "softplus elu celu hardtanh hardsigmoid relu threshold clamp clamp_min clamp_max maximum minimum max min amax amin "
    "aminmax sort topk kthvalue where masked_fill masked_select nan_to_num index index_select index_put index_fill gather "
    "take scatter embedding copy fill zero sign heaviside max_pool2d_with_indices max_pool3d_with_indices "
    "nll_loss_forward nll_loss2d_forward zeros_like ones_like full_like rand_like randn_like new_zeros new_ones new_full "
    "bernoulli normal uniform".split())
POLES = {"log": 0, "log2": 0, "log10": 0, "log1p": 0, "logit": 0, "reciprocal": 0, "rsqrt": 0, "pow": 0, "div": 1}  # of which input
PRODUCTS = frozenset(("mul", "square", "pow"))
FLOORS = frozenset(("add", "clamp", "clamp_min", "maximum"))
LOST = 1e-3  # share of the L2 norm of a product that may become zero


@dataclasses.dataclass
class Origin:
    """Where Inf or NaN arose. kind: "overflow"; "pole", exactly infinite; "NaN"; "meant", a constant; "given", by what the op got.
    found, inputs: as of a NonFinite. cause: the Origin of the Inf that became NaN here."""

    kind: str
    op: str
    layer: str
    site: str
    found: dict
    inputs: list
    cause: "Origin | None" = None
    vanished: str = ""  # the op after which all was finite

    @property
    def is_wrong(self):
        """Whether it is not what exact arithmetic would give."""
        return self.kind in ("overflow", "NaN")

    @property
    def arose(self):
        return self.is_wrong or self.kind == "pole"

    @property
    def first(self):
        """The Inf from which it came, or itself."""
        return self.cause.first if self.cause is not None and self.cause.arose else self

    @property
    def place(self):
        return self.op + (f" at {self.site}" if self.site else "")

    @property
    def text(self):
        """What happened inside of the layer, as text."""
        first = self.first
        what = " and ".join(f"{n:,} {name}" for name, n in (("Inf", first.found["inf"]), ("NaN", first.found["nan"])) if n)
        then = f", NaN after {self.op}" if first is not self else ""
        return f"{first.place} gives {what}{then}" + (f", gone after {self.vanished}" if self.vanished else "")


class Looking(TorchDispatchMode):
    """The mode of an Inside."""

    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls):
        return True

    def __init__(self, inside):
        super().__init__()
        self._inside = inside

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        self._inside.after(func, args, kwargs, out)
        return out


class Inside:
    """What was seen inside of modules in one step.

    counter: a Counter. modules: {id: name}. note(line) is told what could not be looked at.
    """

    def __init__(self, counter, modules, note):
        self._counter, self._modules, self._note = counter, modules, note
        self._ill = {}  # storage: Origin
        self._kinds = {}  # op: (its name, whether it gives a view)
        self._mode = None
        self.vanished = {}  # (layer, op): Origin
        self.zeroed = {}  # (layer, op): text
        self.floors = {}  # (layer, op): text, of an eps that is zero

    def open(self):
        """Begins to look at ops."""
        self._mode = Looking(self)
        self._mode.__enter__()

    def close(self):
        """Ends it, if it has begun."""
        mode, self._mode = self._mode, None
        if mode is not None:
            mode.__exit__(None, None, None)

    def origin_of(self, x):
        """Returns the Origin of what a tensor holds; None if none was seen."""
        x = local(x)
        return None if x is None else self._ill.get(storage_of(x))

    def texts(self):
        """Yields (layer, text) of what counts against the range of a layer."""
        for (layer, _), origin in self.vanished.items():
            yield layer, origin.text
        for told in (self.zeroed, self.floors):
            for (layer, _), words in told.items():
                yield layer, words

    def after(self, func, args, kwargs, out):
        try:
            if hasattr(func, "_schema"):
                self._see(func, args, kwargs, out)
        except Exception as error:  # what fails in looking ends no training
            self._note(f"{func}: not looked into: {type(error).__name__}: {str(error).partition(chr(10))[0]}")

    def _see(self, func, args, kwargs, out):
        if func not in self._kinds:
            schema = func._schema
            self._kinds[func] = (schema.name.partition("::")[2].strip("_"),
                                 any(x.alias_info is not None and not x.alias_info.is_write for x in schema.returns),
                                 schema.name.removeprefix("aten::") in UNWRITTEN)
        name, is_view, is_unwritten = self._kinds[func]
        results = [x for _, x in tensors_in(out) if type(x) in PLAIN and local(x) is not None]
        if is_view or not results:
            return
        got = (args, kwargs)
        given = [x for _, x in tensors_in(got) if type(x) in PLAIN and local(x) is not None]
        sources = [(x, self._ill[storage_of(x)]) for x in given if storage_of(x) in self._ill] if self._ill else []
        ill = [] if is_unwritten else [x for x in results if not self._counter.finite(x)]
        if ill:
            origin = self._origin(name, ill[0], got, given, sources)
        for x in results:
            if any(x is y for y in ill):
                self._ill[storage_of(x)] = origin
            else:
                self._ill.pop(storage_of(x), None)
        if sources and not ill and not is_unwritten and name not in ENDS and "attention" not in name:
            self._see_vanished(name, sources)
        if results[0].dtype in (torch.float16, torch.bfloat16):
            if name in FLOORS:
                self._see_floor(name, args, kwargs, results[0])
            if name in PRODUCTS and results[0].dtype == torch.float16 and not ill:
                self._see_zeroed(name, args, given, results[0])

    def _where(self):
        site, modules = calling()
        named = (self._modules[id(x)] for x in modules if id(x) in self._modules)
        return next(named, type(modules[0]).__name__ if modules else ""), site

    def _origin(self, name, x, got, given, sources):
        summary = self._counter.count(x)
        makes_nan = summary.nan > 0
        before = next((of for _, of in sources if of.found["nan"]), sources[0][1] if sources else None)
        if before is not None and (before.found["nan"] or not makes_nan):
            return before
        bad = [y for y in given if y is not x and not self._counter.finite(y)]
        layer, site = self._where()
        found = {"nan": summary.nan, "inf": summary.inf}
        others = [y for y in given if y is not x]
        rows = described(self._counter, {"input": others[0] if len(others) == 1 else others}, x.data_ptr())
        if before is None and bad and (any(bool(y.isnan().any()) for y in bad) or not makes_nan):
            return Origin("given", name, layer, site, found, rows)
        if makes_nan:
            return Origin("NaN", name, layer, site, found, rows, before)
        if any(y != y or abs(y) == float("inf") for y in numbers_in(got)):
            return Origin("meant", name, layer, site, found, rows)
        return Origin("pole" if is_pole(name, got[0], x) else "overflow", name, layer, site, found, rows)

    def _see_vanished(self, name, sources):
        for x, origin in sources:
            if origin.is_wrong and not self._counter.finite(x):
                self.vanished.setdefault((origin.first.layer, origin.first.op), dataclasses.replace(origin, vanished=name))

    def _see_floor(self, name, args, kwargs, out):
        floor = args[1] if len(args) > 1 else kwargs.get("min")
        if isinstance(floor, torch.Tensor) and floor.dim() == 0:
            floor = floor.item()
        if not isinstance(floor, float) or not floor or torch.tensor(floor).to(out.dtype).item():
            return
        layer, site = self._where()
        self.floors.setdefault((layer, name), f"{floor:g} is 0 in {str(out.dtype).removeprefix('torch.')}, where {name}"
                               + (f" at {site}" if site else "") + " has it as eps")

    def _see_zeroed(self, name, args, given, out):
        if any(storage_of(x) == storage_of(out) for x in given):
            return  # its values are gone
        dead = out == 0
        if not bool(dead.any()):
            return
        exponent = args[1] if name == "pow" else 2
        if name == "mul":
            exact = args[0].float() * (args[1].float() if isinstance(args[1], torch.Tensor) else args[1])
        elif isinstance(exponent, torch.Tensor) or exponent < 1:
            return
        else:
            exact = args[0].float() ** exponent
        gone = torch.where(dead, exact, torch.zeros_like(exact))
        many = int((gone != 0).sum())
        if many and float(gone.double().norm()) > LOST * float(exact.double().norm()):
            layer, site = self._where()
            self.zeroed.setdefault((layer, name), f"{name}{f' at {site}' if site else ''} makes {many:,} of {out.numel():,} "
                                   "values zero that are not")


def numbers_in(x):
    """Yields the floats among the arguments of an op."""
    if isinstance(x, float):
        yield x
    elif isinstance(x, torch.Tensor):
        if x.dim() == 0 and x.is_floating_point() and not x.is_meta:
            yield x.item()
    elif isinstance(x, tuple | list):
        for one in x:
            yield from numbers_in(one)
    elif isinstance(x, dict):
        yield from numbers_in(list(x.values()))


def is_pole(name, args, out):
    """Whether every Inf that an op gave is exact: log(0), 1/0."""
    if name not in POLES or len(args) <= POLES[name]:
        return False
    x = args[POLES[name]]
    if name == "pow" and not (isinstance(args[1], int | float) and args[1] < 0):
        return False
    if not isinstance(x, torch.Tensor):
        return x == 0
    return not bool((out.isinf() & (x != (-1 if name == "log1p" else 0))).any())
