# SPDX-License-Identifier: Apache-2.0
"""Finds what made a loss Inf or NaN after the model: autograd's graph of the loss, up to what the model gave, and what its nodes keep.

    outputs of the model are marked ─▶ backward() or scale() of a loss that is ill ─▶ the first node that got, or made, Inf or NaN
"""
import dataclasses
import functools
import math
import weakref

import torch

from ...observe.tensors import described, local
from . import cuts, limits, partly
from .beside import beside_of, later
from .compiled import UNCOMPILED
from .exact import (ARCS, CTC, EXPONENTIALS, LOGARITHMS, MASKED, NARROW, SECOND, SINGULAR, Exact, exact_of, exact_of_infinity,
                    labels_too_long, operand_at, slope_exact, slope_of, weightless, wider)
from .exponentials import TIMES_ZERO, exponential_cure, part_of
from .inside import Origin
from .loss_values import LOSSES, REDUCTIONS, Values, axes_of, saved_by
from .nodes import op_of, values_of
from .nonfinite import LOSS
from .outside import OF_DATA, OF_NUMBER, outside_exact
from .scaled_loss import OVERFLOW, scale_cause, scale_of, scaled_cause
from .starved import Starved
from .waiting_tensors import version_of
from .whence import EPS_CURE, LEAST, whence, with_fp32

MARK = "binade_output"  # a key of a node's metadata
MOST_KEPT = 2**20  # values of an output of a model that is kept till the step is over; of a larger one what the loop itself keeps is known
MOST_OUTPUTS = 8  # that are kept so of a step, the last ones
MOST = 2000  # nodes that are looked at
RESULTS = frozenset("result result0 result1 result2 output total_weight grid_sampler_mask".split())  # what nodes keep that they did not get
FROM_RESULT = frozenset(("sqrt", "exp", "exp2", "expm1"))  # ops that keep what they give
# Ops whose Inf is an overflow where it is not known what they got, since they fill in or add nothing.
OVERFLOWING = LOSSES.keys() | EXPONENTIALS | frozenset("pow sum mean prod cumsum cumprod mm bmm to_copy norm linalg_vector_norm".split())
NAMES = ("self", "other")
EPS_WORDS = f"an eps below {LEAST:.0e}, such as 1e-8, is 0 in FP16: {EPS_CURE}"
ENTROPY = "take xlogy or F.kl_div, which give 0 there, or bound the operand of the logarithm below"
BESIDE = ("what the model gave was finite: targets, weights or a mask of the loss hold it, or an op makes it that keeps nothing of what it "
          "got, as a sum or a cast that overflows: look at what enters the loss")


@dataclasses.dataclass
class Marked:
    """An output of a model. kept: itself, if it is small and one of the last; None else."""

    kept: "torch.Tensor | None"
    loops: weakref.ref
    version: int
    number: int


def mark(x, last):
    """Marks an output of a model, at which its graph begins. last: a list of the Marked of a step that keep theirs."""
    if x.grad_fn is not None:
        is_small = (x if x._base is None else x._base).numel() <= MOST_KEPT
        marked = Marked(x.detach() if is_small else None, weakref.ref(x), version_of(x), x.output_nr)
        x.grad_fn.metadata[MARK] = marked
        last.append(marked)
        if len(last) > MOST_OUTPUTS:
            last.pop(0).kept = None


def output_of(node):
    """Returns the output of a model that a node gave, as it was given, if it is small or the loop has it still; None else."""
    marked = node.metadata.get(MARK)
    x = None if marked is None else marked.loops() if marked.kept is None else marked.kept
    return None if x is None or marked.number or version_of(x) != marked.version else x.detach()


def nodes_after_model(loss):
    """Returns the nodes of a loss whose op ran after the model, those that ran first before the others."""
    out, seen, waiting = [], set(), [(loss.grad_fn, False)]
    while waiting and len(seen) < MOST:
        node, is_done = waiting.pop()
        if is_done:
            out.append(node)
        elif node is not None and id(node) not in seen and node.next_functions and not node.metadata.get(MARK):
            seen.add(id(node))
            waiting.append((node, True))
            waiting += [(before, False) for before, _ in reversed(node.next_functions)]
    return out


def arguments(op, saved, loss=None, got=()):
    """Returns (arguments, what it gave, whether this was computed of the first argument's results alone) of an op as far as its node keeps
    them, or None. loss: what came of it in the end. got: what the op got, as Values tell it. Where a quotient's numerator is not known, it
    is 0 if the loss is NaN, else 1."""
    if op in FROM_RESULT and "result" in saved:
        return (saved["result"],), saved["result"], True
    if op == "rsqrt" and "result" in saved:  # which is Inf at 0 alone
        out = saved["result"]
        return (torch.where(out.isnan(), -1, torch.where(out.isinf(), 0, 1)).to(out.dtype),), out, False
    x, second = saved.get("self"), saved.get("exponent", saved.get("other"))
    x = got[0] if x is None and got else x
    second = got[1] if second is None and len(got) > 1 else second
    if op == "div" and isinstance(second, torch.Tensor):
        x = torch.full_like(second, float(loss is None or not bool(loss.isnan().any()))) if x is None else x
        return (x, second), x / second, False
    if op == "reciprocal" and "result" in saved:
        return (saved["result"].reciprocal(),), saved["result"], False
    if x is None or not isinstance(x, torch.Tensor):
        return None
    if op in ("mse_loss", "l1_loss") and "target" in saved:
        apart = x - saved["target"]
        apart = apart.square() if op == "mse_loss" else apart.abs()
        return (x, saved["target"]), apart, False
    if op in ("pow", "mul", "xlogy") and second is not None:
        return (x, second), getattr(torch, op)(x, second), False
    return ((x,), getattr(torch, op)(x), False) if op in LOGARITHMS | ARCS and hasattr(torch, op) else None


def mean_of_nothing(op, saved):
    """Returns the Exact of a mean or deviation over nothing, or over targets that do not count, or of labels that are too long; None if it
    is none of these."""
    if op == "mean" and saved.get("self_numel", saved.get("self_sym_numel", 1)) == 0:
        return Exact("it is taken over no element", "pass over such batches")
    if op in ("nll_loss", "nll_loss2d"):
        ignored = saved["ignore_index"]
        ignored -= 2**64 if ignored >= 2**63 else 0  # torch 1.13 gives numbers below zero so
        return weightless(saved["self"], saved["target"], saved["weight"], ignored=ignored)
    if op in ("std", "var"):
        shape, axes = saved["self"].shape, axes_of(saved)
        many = math.prod(shape) if axes is None else math.prod(shape[axis] for axis in axes)
        correction = saved.get("correction", 1)
        return Exact("it is taken over too few elements", "pass over such batches") if many <= (1 if correction is None else correction) else None
    if op in CTC and bool((saved["result0"] == torch.inf).any()):
        return labels_too_long()
    return None


class LossGraph:
    """The graph of the losses of one step. counter: a Counter."""

    def __init__(self, counter):
        self._counter, self._nodes = counter, []  # kept until the step is over
        self._scale_in_use = lambda: 1.0  # by which the loss, or its gradient, is multiplied
        self.cuts = {}  # as cuts.seer() fills it
        self.starved = Starved()
        self.limit = None  # the Origin of an Inf of which a quotient of a finite loss made zeros
        self.is_all = False  # whether the loss is zero for it
        self.origin = None  # of the first Inf or NaN of a backward pass of these

    def origin_of(self, loss):
        """Returns (the Origin of what a loss holds, whether its op got it); (None, False) if no node tells."""
        masked, nodes = None, nodes_after_model(loss)
        with torch.no_grad():
            values = Values(nodes, output_of)
            seen = later(values)
            for node in nodes:
                found = self._origin(values, node, loss, seen)
                if masked is not None and found is not None and found[0].exact is not None and found[0].exact.cure == partly.LOOK:
                    return masked  # what that got, and of which it is not known whence it is
                if found is not None and (not found[1] or found[0].found["nan"] or found[0].exact.cure == OF_NUMBER[1]):
                    self.starved.expect(nodes, node, values.of(node))
                    return found
                masked = masked or found  # Inf that an op got may be a mask's
            return masked or (None, False)

    def explain(self, event, loss):
        """Enters into an event of a loss which op of it gave Inf or NaN, or got it."""
        origin, was_given = self.origin_of(loss)
        scale, _ = scale_of(loss, saved_by)
        is_scaled = scale >= 2 and not bool(loss.isnan())
        if is_scaled and origin is not None and origin.op == "mul" and not was_given:
            origin = None  # of the product with the scale there is more to say
        if origin is None and is_scaled and loss.dtype == torch.float16:
            origin = self._scaled("mul", scale)
        event.by_scale = is_scaled and not was_given and (origin is None or origin.phase == "forward" and bool(origin.rounded))
        if origin is None:
            compiled = any("CompiledFunction" in node.name() for node in nodes_after_model(loss))
            zeros = "" if is_scaled or compiled or not bool(loss.isnan().any()) else zero_factor(loss)
            event.cure = ENTROPY if zeros else ""
            event.cause = scaled_cause(scale) if is_scaled else zeros or (
                f"what computes it runs compiled, and nobody saw inside of it: {UNCOMPILED}" if compiled else BESIDE)
            return
        event.come_from(origin)
        if was_given:
            event.came, event.cause, event.arose, event.origin = origin.exact.why, "", None, None

    def follow(self, loss):
        """Sees where a backward pass begins of a loss that was explained."""
        self.starved.follow(nodes_after_model, loss)

    def _origin(self, values, node, loss, seen):
        op, saved = op_of(node), values.saved[id(node)]
        tensors = {name: x for name, x in saved.items() if isinstance(x, torch.Tensor) and local(x) is not None}
        got = {name: x for name, x in tensors.items() if name not in RESULTS}
        ill = next((name for name, x in got.items() if not self._counter.finite(local(x))), None)
        if ill is not None and values.came_from(node, ill) is None:
            found = self._found(got[ill])
            return Origin("given", op, LOSS, "", found, self._rows(got), exact=outside_exact(op, ill, got[ill], found)), True
        beside = beside_of(values, node, seen) if ill is None else None
        if beside is not None:
            exact, out = beside
            return Origin("given", op, LOSS, "", self._found(out), self._rows(with_inputs(got, values.got(node))), exact=exact), True
        nothing = mean_of_nothing(op, saved)
        if nothing is not None:
            found = self._found(saved["result0"]) if op in CTC else {"nan": 1, "inf": 0}
            return Origin("NaN", op, LOSS, "", found, self._rows(got), exact=nothing), False
        inputs = values.got(node)
        is_ill = any(x is not None and local(x) is not None and not self._counter.finite(local(x)) for x in inputs)
        known = None if ill is not None or is_ill else arguments(op, saved, loss, inputs)
        if known is None or local(known[1]) is None or self._counter.finite(local(known[1])):
            return self._made(values, node, op, inputs, got)
        args, out, rewritten = known
        if op == "sqrt" and not bool(out.isnan().any()):
            return self._made(values, node, op, inputs, got)  # the root of an Inf that it got
        exact = exact_of(op, args, {}, out, rewritten)
        return self._told(values, node, op, args, out, self._rows(with_inputs(got, inputs)), exact), False

    def _told(self, values, node, op, args, out, rows, exact):
        """Returns the Origin of what an op of the loss made of finite arguments."""
        kind = "NaN" if bool(out.isnan().any()) else "pole" if exact is not None else "overflow"
        exact, rounded, cure = rounding_of(values, node, op, args, exact, out.dtype)
        cure = cure or ("" if exact is not None else overflow_cure(kind, node, out, values))
        return Origin(kind if not rounded or kind == "NaN" else "overflow", op, LOSS, "", self._found(out), rows, exact=exact,
                      dtype=torch.float16 if rounded else out.dtype, rounded=rounded, help=cure)

    def _made(self, values, node, op, inputs, got):
        """Returns (the Origin, False) of Inf or NaN that a node gave, as far as its value is known, of what is finite as far as that is, or
        of NaN that it made of Inf that is meant, as a mask's."""
        out = values.of(node)
        if out is None or local(out) is None or self._counter.finite(local(out)):
            return None
        known = [x for x in inputs if x is not None and local(x) is not None]
        infinite = next((x for x in known if not self._counter.finite(local(x))), None)
        is_nan = bool(out.isnan().any())
        if infinite is not None and (not is_nan or any(bool(x.isnan().any()) for x in known)):
            return None
        exact = masked_rows(op, out, values, node) if is_nan and "softmax" in op else None
        if infinite is not None and exact is None:
            exact = infinity_exact(values, node, op, inputs, infinite)
        if not is_nan and len(known) < len(inputs) and not partly.overflows(op, out, known) and (
                op not in OVERFLOWING or op == "to_copy" and out.dtype not in NARROW or bool((out == -torch.inf).any())):
            exact = partly.of_rest(op, out, known)
            if exact is None:
                return None  # what was added, or filled in, may be a mask's
        if is_nan and exact is None:
            exact = partly.of_nan(op, out, inputs)
        kind = "NaN" if is_nan else "overflow" if exact is None else "pole"
        return Origin(kind, op, LOSS, "", self._found(out), self._rows(with_inputs(got, inputs)), exact=exact, dtype=out.dtype,
                      help="" if exact is not None else overflow_cure(kind, node, out, values)), False

    def _rows(self, got):
        return described(self._counter, {"input" if name == "self" else name: x for name, x in got.items()}, 0)

    def _found(self, x):
        summary = self._counter.count(local(x))
        return {"nan": summary.nan, "inf": summary.inf}

    def _scaled(self, op, scale, phase="forward"):
        return Origin("overflow", op, LOSS, "", {"nan": 0, "inf": 1}, [], phase=phase, dtype=torch.float16, rounded=scale_cause(scale))

    def watch_backward(self, loss, scale):
        """Hangs hooks on the nodes of a loss, to see which makes Inf or NaN of finite gradients. scale(): the loss scale in use, or None."""
        own, is_half = scale_of(loss, saved_by)
        self._scale_in_use = lambda: max(own if is_half else 1.0, scale() or 1.0)
        nodes = nodes_after_model(loss)
        if self.limit is None:
            self.limit = limits.limit_of(nodes, loss)
            self.is_all = self.limit is not None and not bool(torch.count_nonzero(loss))
        for node in nodes:
            at = len(self._nodes)
            self._nodes.append(node)
            node.register_hook(functools.partial(on_gradients, weakref.ref(self), at, cuts.seer(self.cuts, LOSS, node, op_of(node))))

    def see(self, at, after, before):
        if self.origin is not None:
            return
        ill = next((x for x in map(values_of, after) if x is not None and not self._counter.finite(x)), None)
        given = [x for x in map(values_of, before) if x is not None]
        narrow = [x for x in map(values_of, [*after, *before]) if x is not None and x.dtype == torch.float16 and x.numel() == 1]
        if any(bool(x.isinf()) for x in narrow) and self._scale_in_use() >= OVERFLOW:
            self.origin = self._scaled(op_of(self._nodes[at]), self._scale_in_use(), "backward")
            return
        if ill is None or not all(map(self._counter.finite, given)):
            return
        node = self._nodes[at]
        op = op_of(node)
        if op in EXPONENTIALS:
            self.origin = self._of_exponential(node, ill, given)
            return
        exact, rounded, cure = None, "", ""
        with torch.no_grad():
            values = Values(self._nodes, output_of) if op in SINGULAR else None
            known = arguments(op, values.saved[id(node)]) if op in SINGULAR else None
            slope = None if known is None else slope_of(op, *known)
            if op == "sqrt" and known is not None:
                zeros = int((known[1] == 0).sum())
                slope = (zeros, f"its operand holds {zeros:,} zero{'s' * (zeros != 1)}") if zeros else None
            if slope is not None:
                exact, rounded, cure = rounding_of(values, node, op, known[0], slope_exact(op, slope[1], ill.dtype), ill.dtype)
        self.origin = Origin("NaN" if bool(ill.isnan().any()) else "overflow", op, LOSS, "", self._found(ill), self._got(given), None, exact,
                             "backward", dtype=torch.float16 if rounded else ill.dtype, rounded=rounded, help=cure)

    def _of_exponential(self, node, ill, given):
        """Returns the Origin of Inf or NaN in the gradient of an exponential."""
        with torch.no_grad():
            values = Values(self._nodes)
            out = values.of(node)
            out = ill if out is None else out
            why = TIMES_ZERO if bool(ill.isnan().any()) and bool(out.isinf().any()) else ""
            return Origin("overflow", op_of(node), LOSS, "", self._found(ill), self._got(given), None, None, "backward", dtype=ill.dtype,
                          rounded=why, help=overflow_cure("overflow", node, out, values))

    def _got(self, given):
        """Returns what is told of the gradients that a node got."""
        return described(self._counter, {"gradient": given[0] if len(given) == 1 else given}, 0)


def rounding_of(values, node, op, args, exact, dtype):
    """Returns (exact, why, what to do) of an op that is singular, by whence what it is singular at comes: of a narrow dtype None in the
    place of the Exact where that is known to be rounding, or an eps that is 0."""
    at = op in SECOND
    x = operand_at(op, args)
    if exact is None or at >= len(node.next_functions) or not isinstance(x, torch.Tensor):
        return exact, "", ""
    found = whence(values, node.next_functions[at][0], x)
    if found is None:
        if dtype == torch.float16 and exact.may:
            exact = dataclasses.replace(exact, cure=f"{exact.cure}; {EPS_WORDS}")
        return exact, "", ""
    why, cure = f"{exact.why}; {found[0]}", with_fp32(found[1], dtype, values)
    return (None, why, cure) if dtype in NARROW else (Exact(why, exact.cure), "", "")


def with_inputs(got, inputs):
    """Returns what an op got by name: what its node keeps, and what else is known of its inputs."""
    return got | {name: x for name, x in zip(NAMES, inputs) if x is not None and not any(x is y for y in got.values())}


def infinity_exact(values, node, op, inputs, infinite):
    """Returns the Exact of NaN that an op made of Inf that it got. inputs: what it got, of which that is one."""
    if "softmax" in op and not bool((infinite == torch.inf).any()):
        return exact_of_infinity(op, infinite, False)
    at = next(at for at, x in enumerate(inputs) if x is infinite)
    return partly.of_infinity(values, node.next_functions[at][0])


def overflow_cure(kind, node, out, values):
    """Returns what to do about an overflow in a loss, as text; "" of what is none."""
    if kind != "overflow":
        return ""
    op, before = op_of(node), node.next_functions[0][0]
    cure = exponential_cure(values, node, out) if op in EXPONENTIALS else part_of(values, node) if (
        op == "sum" and before is not None and op_of(before) == "exp") else None
    if out.dtype != torch.float16:
        return cure or wider(kind, out.dtype, op)
    return with_fp32(cure or smaller(op, node, out), out.dtype, values)


def smaller(op, node, out):
    """Returns what makes smaller what overflowed in a sum, or in a loss of torch's, as text; "" if that is not known. out: what the op gave, or
    the elements before it summed them up."""
    if op not in LOSSES:
        return "take a mean in place of a sum" if op == "sum" else ""
    is_sum = REDUCTIONS[node._saved_reduction] == "sum" if out.numel() == 1 else False
    return "take a mean in place of a sum" if is_sum else "normalize the targets"


def zero_factor(loss):
    """Returns what there is to say of products with a factor that holds zeros and that the model did not give, where its other factor is
    not known, as text; "" if there is none."""
    nodes = nodes_after_model(loss)
    own = set(map(id, nodes))
    for node in (node for node in reversed(nodes) if op_of(node) == "mul"):
        saved = saved_by(node)
        for at, (name, other) in enumerate((NAMES, NAMES[::-1])):
            x, (before, _) = saved.get(name), node.next_functions[1 - at]
            if isinstance(x, torch.Tensor) and x.dim() and id(before) in own and saved.get(other) is None:
                zeros = int((x == 0).sum())
                if zeros:
                    return (f"a factor of a product in it, that the model did not give, holds {zeros:,} zero{'s' * (zeros != 1)}, and 0·Inf "
                            "is NaN: look whether the other factor holds Inf there, as the logarithm of these zeros does")
    return ""


def masked_rows(op, out, values, node):
    """Returns the Exact of a softmax whose NaN are whole rows, else None."""
    (axis,) = axes_of({"dim": [values.saved[id(node)].get("dim", 2**64 - 1)]})
    nan, before = out.isnan(), partly.before_views(values, node.next_functions[0][0])
    rows = nan.all(axis)
    if not bool((rows == nan.any(axis)).all()):
        return None
    masked = "" if before is None else op_of(before)
    why = f"{int(rows.sum()):,} of its {rows.numel():,} rows are NaN as a whole, as where "
    if masked in ("masked_fill", "where", "index_put"):
        return Exact(why + "a mask of -Inf leaves nothing of them", MASKED)
    if not partly.adds_mask(values, before):
        return Exact(why + "they hold NaN or +Inf, or nothing but -Inf; it is not known which op gave that", f"{partly.LOOK}; of a mask, {MASKED}")
    return Exact(why + "what is added to them, as a mask, holds NaN or +Inf, or nothing but -Inf",
                 MASKED + "; in FP16 a mask of 0·(-1e9) is NaN, since 1e9 is Inf there: take masked_fill" * (out.dtype == torch.float16))


def came_with_target(event):
    """Enters into an event of a module that is a loss that what it got beside its first input held Inf or NaN."""
    ill = next((x for x in event.inputs if x["nan"] or x["inf"]), None)
    if ill is not None and ill["name"] != "input 0":
        event.came = f"{ill['name']} of {event.layer} holds {'NaN' if ill['nan'] else 'Inf'}: {': '.join(OF_DATA)}"


def on_gradients(graph, at, see_cut, after, before):
    """Sees what a node made of the gradients that it got; the graph may outlive the object that looks."""
    mine = graph()
    if mine is not None:
        mine.see(at, after, before)
        if mine.origin is None:
            see_cut(after, before)
