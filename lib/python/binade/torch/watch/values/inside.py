# SPDX-License-Identifier: Apache-2.0
"""Looks at the ops inside of modules, forward: which made Inf or NaN, where that vanished again, and what became zero.

    open() … close() ─▶ a mode of torch below autograd and autocast sees every op ─▶ Origins of what is not finite, by storage
"""
import dataclasses

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ...observe.names import tensors_in
from ...observe.recorder import UNWRITTEN, calling, storage_of
from ...observe.tensors import PLAIN, described, local
from . import constants, saturation
from .differences import Differences
from .doubtful import Doubtful
from .exact import Exact, at_zeros, exact_of, exact_of_infinity, of_module, operand_at, slope_of, wider
from .positions import Positions
from .replaced import REPLACES, is_mask, replaced
from .selves import WHY, Selves
from .sums import Sums
from .told import Told
from .zeros import PASSES, Zeros

# Where modes cannot leave compiled functions alone, what torch.compile has made would run uncompiled inside of one.
CAN_LOOK = not hasattr(torch, "compile") or hasattr(TorchDispatchMode, "ignore_compile_internals")
SHAPES_BUFFERS = hasattr(torch, "compile")  # before torch 2.0 no buffer of a LazyModule can get its shape inside of a mode
ADDING = frozenset(("addmm", "addmv", "addbmm", "baddbmm", "addr"))  # whose first operand is not read where beta is 0
# What these give of Inf is its limit, or another value was wanted in its place.
ENDS = frozenset(
    "softmax log_softmax safe_softmax masked_softmax logsumexp exp expm1 exp2 sigmoid log_sigmoid_forward tanh erf atan "
    "softplus elu celu hardsigmoid relu threshold max min amax amin aminmax sort topk kthvalue masked_select index "
    "index_select index_fill gather take scatter embedding copy fill zero sign heaviside max_pool2d_with_indices "
    "max_pool3d_with_indices nll_loss_forward nll_loss2d_forward zeros_like ones_like full_like rand_like randn_like "
    "new_zeros new_ones new_full bernoulli normal uniform".split())
PRODUCTS = frozenset(("mul", "square", "pow"))
FLOORS = frozenset(("add", "clamp", "clamp_min", "maximum"))
SERIES = frozenset("cumsum cumprod prod".split())  # whose terms after an overflow might have led back from it
# Ops after which an Inf still stands for a number beyond the largest of its dtype, or near it.
STANDS = frozenset("to_copy copy clone neg abs relu cat stack index index_select gather add sub".split())
FLOOR_CURE = "keep this layer in FP32, or take an eps that this format holds, with the slope there, as 1e-3 in FP16"
LOST = 1e-3  # share of the L2 norm of a product that may become zero


@dataclasses.dataclass
class Origin:
    """Where Inf or NaN arose. kind: "overflow"; "pole", exactly infinite; "NaN"; "meant", a constant; "given", by what the op got.
    found, inputs: as of a NonFinite. cause: the Origin of the Inf that became NaN here. exact: the Exact of what no format helps, or
    None. phase: of the pass in which it arose. dtype: that whose range or precision it wants. rounded: whence the zeros come that it
    is singular at, as text, if rounding made them; else ""."""

    kind: str
    op: str
    layer: str
    site: str
    found: dict
    inputs: list
    cause: "Origin | None" = None
    exact: "Exact | None" = None
    phase: str = "forward"
    of_weights: bool = False  # whether the layer's own weights held it
    is_mask: bool = False  # whether it is the least number of a mask that overflowed
    is_constant: bool = False  # whether it is a constant of the program's that its dtype does not hold
    dtype: "torch.dtype | None" = None
    rounded: str = ""
    help: str = ""  # what to do about what rounding made, as text; "" where a wider format is all
    vanished: str = ""  # the op after which all was finite
    became: str = ""  # what that op put in its place, as text; "" if it computed with it

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
    def end(self):
        """Where it vanished, as text; "" if it did not."""
        return (f"{self.vanished} then made {self.became} of it" if self.became else
                f"{self.vanished} then gave finite numbers, and it was gone" if self.vanished else "")

    @property
    def ending(self):
        """What vanished where, as part of a sentence."""
        return f"the Inf in {self.first.op} inside of {self.first.layer}, of which {self.vanished} made {self.became or 'finite numbers'}"

    @property
    def told(self):
        """(What it is, as text without counts; the Told of this step)."""
        first = self.first
        what = " and ".join(f"{n:,} {name}" for name, n in (("Inf", first.found["inf"]), ("NaN", first.found["nan"])) if n)
        kinds = " and ".join(name for name, n in (("Inf", first.found["inf"]), ("NaN", first.found["nan"])) if n)
        then = f", {'NaN' if self.found['nan'] else 'Inf'} after {self.op}" if first is not self else ""
        end = f", of which {self.vanished} made {self.became}" if self.became else f", gone after {self.vanished}" if self.vanished else ""
        place = f"the gradient of {first.place} holds" if self.phase == "backward" else f"{first.place} gives"
        why = f"; {self.why}" if self.why else ""
        cure = wider(first.kind, first.dtype, first.op) if self.exact is None else ""
        kinds = "" if self.phase == "backward" else kinds  # a gradient that it got tells which of both
        return (f"{place} {kinds}{then}, {self.vanished}, {self.exact is None}", Told(
            f"{place} {what}{then}{end}{why}", sum(first.found.values()), cure=cure and self.help or cure if self.exact is None else self.exact.cure,
            is_wide=bool(cure), may=self.exact is not None and self.exact.may))

    @property
    def why(self):
        """What is known of the cause, as text; "" if nothing is."""
        return self.rounded or self.first.rounded if self.exact is None else self.exact.why


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

    counter: a Counter. modules: {id: name}. note(line) is told what could not be looked at. shares: as of a Sums, to fill.
    """

    def __init__(self, counter, modules, note, shares):
        self._counter, self._modules, self._note = counter, modules, note
        self._ill = {}  # storage: Origin, how many of the values it had were not finite, whether they stand for as large ones
        self._zeros, self._doubtful, self._selves = Zeros(), Doubtful(), Selves()
        self._differences = Differences()
        self.sums = Sums(shares)
        self.positions = {}  # layer: what is said of positions in it
        self._positions = Positions(self.positions)
        self._kinds = {}  # op: (its name, whether it gives a view)
        self._mode = None
        self.vanished = {}  # (layer, op): Origin
        self.zeroed = {}  # (layer, op): (what it is, Told)
        self.floors = {}  # (layer, op): the same of an eps that is zero
        self._limits = {}  # storage: the Origin of an Inf of which an op made the zeros that lie there, as of x/Inf
        self.saturated = {}  # (layer, site): what is said of an activation whose outputs are all at the ends of its range
        self.slopes = {}  # (layer, op): (how many elements have an infinite slope, text of them, dtype, site, Origin.rounded)

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
        return None if x is None else self._ill.get(storage_of(x), (None,))[0]

    def told(self):
        """Yields (layer, what it is, Told) of what counts against the range of a layer."""
        for (layer, _), origin in list(self.vanished.items()):  # another thread may add to them
            yield layer, *origin.told
        for (layer, _), told in list(self.zeroed.items()):
            yield layer, *told

    def told_of_floors(self, event):
        """Yields the same of an eps that is 0 in the layer of an ill event, or of None; what came of others harmed nothing."""
        for (layer, _), told in list(self.floors.items()):
            if event is not None and event.layer == layer and not event.skipped:
                yield layer, *told

    def rounds_to_zero(self, layer):
        """Whether rounding has made zeros in a layer, of products or of an eps."""
        return any(name == layer for found in (self.zeroed, self.floors) for name, _ in list(found))

    def floor_of(self, layer):
        """Returns (what is told of an eps that is 0 in a layer, what to do about it), as texts; "" if none is."""
        told = next((told for (name, _), (_, told) in list(self.floors.items()) if name == layer), None)
        return ("", "") if told is None else (told.text, FLOOR_CURE)

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
            if not is_view:
                self._positions.see_integers(name, args, out)
            return
        got = (args[1:] if name in ADDING and kwargs.get("beta", 1) == 0 else args, kwargs)
        given = [x for _, x in tensors_in(got) if type(x) in PLAIN and local(x) is not None]
        self.sums.see(name, args, kwargs, given, results)
        sources = self._sources(given, results) if self._ill else []
        ill = [] if is_unwritten else [x for x in results if not self._counter.finite(x)]
        if ill:
            origin = self._origin(name, ill[0], got, given, sources)
        for x in results:
            if any(x is y for y in ill):
                summary = self._counter.count(x)
                self._ill[storage_of(x)] = origin, summary.nan + summary.inf, not summary.nan and self._stands(name, given, sources)
            elif storage_of(x) in self._ill and not self._is_overwritten(x, is_unwritten):
                sources = [one for one in sources if storage_of(one[0]) != storage_of(x)]
        if self._limits:
            self._carry_limits(name, given, results)
        if sources and not ill and not is_unwritten:
            if name in REPLACES:
                self._see_replaced(name, args, kwargs, sources, results[0])
            elif name not in ENDS and "attention" not in name:
                self._see_vanished(name, sources, results[0])
        self._differences.see(name, args, results[0], self._where)
        self._see_slope(name, args, results[0])
        self._positions.see(name, args, results, self._where)
        if name in saturation.LOOKED:
            saturation.see(name, args, results[0], self.saturated, self._where)
        self._zeros.see(func, name, args, kwargs, given, results, lambda: self._place(name))
        self._doubtful.see(name, args, results[0], lambda: self._place(name))
        self._selves.see(name, args, results[0])
        if results[0].dtype in (torch.float16, torch.bfloat16):
            if name in FLOORS:
                self._see_floor(name, args, kwargs, results[0])
            if name in PRODUCTS and results[0].dtype == torch.float16 and not ill:
                self._see_zeroed(name, args, given, results[0])

    def _sources(self, given, results):
        """Returns (tensor, *what is known of its storage) of what an op got of Inf and NaN, or has written over: a storage may hold them
        beside a tensor."""
        written = {storage_of(x) for x in results}
        return [(x, *self._ill[storage_of(x)]) for x in given if storage_of(x) in self._ill and (
            storage_of(x) in written or not self._counter.finite(x))]

    def _is_overwritten(self, x, is_unwritten):
        """Looks at what is left of Inf and NaN in a storage that was written to. Returns whether some of it is gone."""
        origin, many, stands = self._ill.pop(storage_of(x))
        rest = None if is_unwritten else self._counter.count(stored(x))
        if rest is not None and rest.nan + rest.inf:
            self._ill[storage_of(x)] = origin, rest.nan + rest.inf, stands
        return rest is None or rest.nan + rest.inf < many

    def _stands(self, name, given, sources):
        """Whether the Inf that an op gave stands for numbers beyond half of the largest one of the dtype that they overflowed in."""
        if not sources:
            return name not in SERIES
        first = sources[0][1].first
        if name not in STANDS or first.dtype is None or not all(stands for *_, stands in sources):
            return False
        others = [x for x in given if name in ("add", "sub") and not any(x is y for y, *_ in sources)]
        return all(float(x.abs().max()) < torch.finfo(first.dtype).max / 4 for x in others if x.numel())

    def _where(self):
        site, modules = calling()
        named = (self._modules[id(x)] for x in modules if id(x) in self._modules)
        return next(named, type(modules[0]).__name__ if modules else ""), site

    def _place(self, name):
        site = self._where()[1]
        return name + (f" at {site}" if site else "")

    def _origin(self, name, x, got, given, sources):
        summary = self._counter.count(x)
        makes_nan = summary.nan > 0
        before = next((of for _, of, *_ in sources if of.found["nan"]), sources[0][1] if sources else None)
        if before is not None and (before.found["nan"] or before.of_weights or not makes_nan):
            return before
        bad = [y for y in given if y is not x and not self._counter.finite(y)]
        layer, site = self._where()
        found = {"nan": summary.nan, "inf": summary.inf}
        others = [y for y in given if y is not x]
        rows = described(self._counter, {"input": others[0] if len(others) == 1 else others}, x.data_ptr())
        of_weights = before is None and bool(bad) and holds(calling()[1][:1], bad)
        if before is None and bad and (any(bool(y.isnan().any()) for y in bad) or not makes_nan or of_weights):
            return Origin("given", name, layer, site, found, rows, of_weights=of_weights)
        rewritten = bool(got[0]) and isinstance(got[0][0], torch.Tensor) and storage_of(got[0][0]) == storage_of(x)
        if before is not None:
            cause = before.first
            if cause.is_constant:
                return Origin("NaN", name, layer, site, found, rows, before, rounded=constants.of_rows(name, cause, sources[0][0]))
            exact = cause.exact if cause.arose and not cause.is_mask else exact_of_infinity(
                name, sources[0][0], cause.kind == "given")
            return Origin("NaN", name, layer, site, found, rows, before, exact)
        if not makes_nan and any(y != y or abs(y) == float("inf") for y in numbers_in(got)):
            return Origin("meant", name, layer, site, found, rows)
        constant = None if bad else constants.too_large(name, got[0], x)
        if constant is not None:
            why, help = constants.words_of(constant, x)
            return Origin("NaN" if makes_nan else "overflow", name, layer, site, found, rows, is_mask=constants.is_mask(x), dtype=x.dtype,
                          rounded=why, help=help, is_constant=True)
        operand = operand_at(name, got[0])
        of_zeros = self._zeros.of(operand)
        exact = exact_of_infinity(name, bad[0], True) if bad else exact_of(name, *got, x, rewritten, self._narrow(operand))
        limit = None if exact is None or bad else self._limits.get(storage_of(operand)) if isinstance(operand, torch.Tensor) else None
        if limit is not None:
            return Origin("NaN" if makes_nan else "pole", name, layer, site, found, rows, limit)
        if makes_nan:
            exact = self._differences.exact(name, got[0], exact)
        modules = calling()[1]
        exact = of_module(self._doubtful.exact(exact, None if bad else operand_at(name, got[0]), modules), modules)
        is_rounded = exact is not None and not bad and of_zeros is not None and of_zeros.all and at_zeros(name, got[0], x, rewritten)
        is_narrow = is_rounded or self.rounds_to_zero(layer)
        kind = "NaN" if makes_nan else "pole" if exact is not None and not is_rounded else "overflow"
        floor, help = self.floor_of(layer) if exact is not None and not is_rounded else ("", "")
        return Origin(kind, name, layer, site, found, rows, None, None if is_narrow else exact,
                      is_mask=kind == "overflow" and is_mask(x, given), dtype=torch.float16 if is_narrow else x.dtype,
                      rounded=of_zeros.why if is_rounded else floor, help=help)

    def _narrow(self, operand):
        """Returns the dtype in which rounding may have made the zeros of an operand before it was cast; FP32 if none did, None if that is not
        known."""
        if self._selves.are_all(operand):
            return torch.float32
        of = self._zeros.of(operand)
        return None if of is None else of.dtype

    def _see_slope(self, name, args, out):
        rewritten = bool(args) and isinstance(args[0], torch.Tensor) and storage_of(args[0]) == storage_of(out)
        slope = slope_of(name, args, out, rewritten)
        if slope is not None:
            layer, site = self._where()
            if not self.rounds_to_zero(layer) and slope[0] > self.slopes.get((layer, name), (0,))[0]:
                of = self._zeros.of(operand_at(name, args))
                is_rounded = of is not None and of.all and at_zeros(name, args, out, rewritten)
                many, text = slope
                text += f" ({WHY})" * self._selves.are_all(operand_at(name, args))
                self.slopes[layer, name] = many, text, self._narrow(operand_at(name, args)) or out.dtype, site, of.why if is_rounded else ""

    def _see_replaced(self, name, args, kwargs, sources, out):
        for x, origin, many, stands in sources:
            became = replaced(name, args, kwargs, x, many, out, origin.first, stands) if (
                origin.first.kind == "overflow" and not origin.first.is_mask) else None
            if became is not None:
                _, site = self._where()
                self.vanished.setdefault((origin.first.layer, origin.first.op), dataclasses.replace(
                    origin, vanished=name + (f" at {site}" if site else ""), became=became))

    def _carry_limits(self, name, given, results):
        """Follows zeros that an op made of an Inf through what gives zeros of zeros, as a cast."""
        limit = next((self._limits[storage_of(x)] for x in given if storage_of(x) in self._limits), None) if name in PASSES else None
        for x in results:
            self._limits.pop(storage_of(x), None)
        if limit is not None and bool((results[0] == 0).any()):
            self._limits[storage_of(results[0])] = limit

    def _see_vanished(self, name, sources, out):
        for x, origin, *_ in sources:
            if origin.is_wrong and not self._counter.finite(x):
                if bool((out == 0).any()):
                    self._limits[storage_of(out)] = origin
                self.vanished.setdefault((origin.first.layer, origin.first.op), dataclasses.replace(origin, vanished=name))

    def _see_floor(self, name, args, kwargs, out):
        floor = args[1] if len(args) > 1 else kwargs.get("min")
        if isinstance(floor, torch.Tensor) and floor.dim() == 0:
            floor = floor.item()
        if not isinstance(floor, float) or not floor or torch.tensor(floor).to(out.dtype).item() or not bool((out == 0).any()):
            return
        layer, site = self._where()
        text = (f"{floor:g} is 0 in {str(out.dtype).removeprefix('torch.')}, where {name}" + (f" at {site}" if site else "")
                + " has it as eps")
        self.floors.setdefault((layer, name), (text, Told(text, 0)))

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
            place = f"{name}{f' at {site}' if site else ''} makes"
            self.zeroed.setdefault((layer, name), (f"{place} values zero that are not", Told(
                f"{place} {many:,} of {out.numel():,} values zero that are not", many)))


def can_open(module):
    """Whether a forward pass of a module can run inside of a mode, as it runs without one."""
    return SHAPES_BUFFERS or not any(map(torch.nn.parameter.is_lazy, module.buffers()))


def stored(x):
    """Returns all that the storage of a tensor holds, as a tensor of one axis."""
    storage = x.untyped_storage() if hasattr(x, "untyped_storage") else x.storage()
    return x.as_strided((storage.nbytes() // x.element_size(),), (1,), 0)


def holds(modules, tensors):
    """Whether one of some tensors is a parameter of modules."""
    own = {storage_of(x) for module in modules for x in map(local, module.parameters(recurse=False)) if x is not None}
    return any(storage_of(x) in own for x in tensors)


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
