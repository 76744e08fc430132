# SPDX-License-Identifier: Apache-2.0
"""Finds what made a loss Inf or NaN after the model: autograd's graph of the loss, up to what the model gave, and what its nodes keep.

    outputs of the model are marked ─▶ backward() or scale() of a loss that is ill ─▶ the first node that got, or made, Inf or NaN
"""
import functools
import weakref

import torch

from ..observe.tensors import described, local
from .compiled import UNCOMPILED
from .exact import ARCS, LOGARITHMS, SINGULAR, SKIP, Exact, exact_of, slope_exact, slope_of, weightless
from .inside import Origin
from .nodes import op_of, values_of
from .nonfinite import LOSS
from .scaled_loss import OVERFLOW, scale_cause, scale_of, scaled_cause

MARK = "binade_output"  # a key of a node's metadata
MOST = 2000  # nodes that are looked at
RESULTS = frozenset("result output total_weight grid_sampler_mask".split())  # what nodes keep that they did not get
FROM_RESULT = frozenset(("sqrt", "rsqrt", "exp"))  # ops that keep what they give
# Of an operand of a loss's op that is ill and that the model did not give: whence it is, and what to do.
OF_DATA = "the model did not give it, but the data of this step, or what was made of them", SKIP
OF_NUMBER = "a factor of the loss, that the model did not give, as its scale or a weight", "look at what makes that number"
OF_HALF = ("the model did not give it, but the data of this step, or what was made of them in FP16, whose largest number is 65504",
           "compute the loss in FP32, and skip or mend batches that hold it already")
BESIDE = ("what the model gave was finite: targets, weights or a mask of the loss hold it, or an op makes it that keeps nothing of what it "
          "got, as a sum or a cast that overflows or 0·log(0): look at what enters the loss")


def mark(x):
    """Marks an output of a model, at which its graph begins."""
    if x.grad_fn is not None:
        x.grad_fn.metadata[MARK] = True


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


def saved_by(node):
    """Returns what a node keeps of its op, by name; nothing of one whose tensors a checkpoint computes again, in a pass just once."""
    try:
        return {name.removeprefix("_saved_"): getattr(node, name) for name in dir(node) if name.startswith("_saved_")}
    except RuntimeError:
        return {}


def arguments(op, saved, loss=None):
    """Returns (arguments, what it gave, whether this was computed of the first argument's results alone) of an op as far as its node keeps
    them, or None. loss: what came of it in the end. Where a quotient's numerator is not kept, it is 0 if that is NaN, else 1."""
    if op in FROM_RESULT and "result" in saved:
        return (saved["result"],), saved["result"], True
    x, second = saved.get("self"), saved.get("exponent", saved.get("other"))
    if op == "div" and isinstance(second, torch.Tensor):
        x = torch.full_like(second, float(loss is None or not bool(loss.isnan().any()))) if x is None else x
        return (x, second), x / second, False
    if op == "reciprocal" and "result" in saved:
        return (saved["result"].reciprocal(),), saved["result"], False
    if x is None or not isinstance(x, torch.Tensor):
        return None
    if op in ("mse_loss", "l1_loss") and "target" in saved:
        apart = x - saved["target"]
        return (x, saved["target"]), apart.square() if op == "mse_loss" else apart.abs(), False
    if op in ("pow", "mul", "xlogy") and second is not None:
        return (x, second), getattr(torch, op)(x, second), False
    return ((x,), getattr(torch, op)(x), False) if op in LOGARITHMS | ARCS and hasattr(torch, op) else None


def floor_of(node):
    """Returns the lower bound of a clamp in front of a node, where that is 0 in the dtype that it bounds; else 0."""
    before = next((before for before, _ in node.next_functions if before is not None), None)
    if before is None or op_of(before) not in ("clamp", "clamp_min"):
        return 0
    saved = saved_by(before)
    x, least = saved.get("self"), saved.get("min")
    is_lost = isinstance(x, torch.Tensor) and isinstance(least, float) and least and not torch.tensor(least).to(x.dtype).item()
    return least if is_lost else 0


def mean_of_nothing(op, saved):
    """Returns the Exact of a mean over nothing, or over targets that do not count; None if it is none."""
    if op == "mean" and saved.get("self_numel", saved.get("self_sym_numel", 1)) == 0:
        return Exact("it is taken over no element", "pass over such batches")
    if op in ("nll_loss", "nll_loss2d"):
        ignored = saved["ignore_index"]
        ignored -= 2**64 if ignored >= 2**63 else 0  # torch 1.13 gives numbers below zero so
        return weightless(saved["self"], saved["target"], saved["weight"], ignored=ignored)
    if op == "std" and saved["self"].numel() // max(1, saved["result"].numel()) < 2:
        return Exact("it is taken over too few elements", "pass over such batches")
    return None


class LossGraph:
    """The graph of the losses of one step. counter: a Counter."""

    def __init__(self, counter):
        self._counter, self._nodes = counter, []  # kept until the step is over
        self._scale_in_use = lambda: 1.0  # by which the loss, or its gradient, is multiplied
        self.origin = None  # of the first Inf or NaN of a backward pass of these

    def origin_of(self, loss):
        """Returns (the Origin of what a loss holds, whether its op got it); (None, False) if no node tells."""
        masked = None
        for node in nodes_after_model(loss):
            with torch.no_grad():
                found = self._origin(op_of(node), saved_by(node), loss, floor_of(node))
            if found is not None and (not found[1] or found[0].found["nan"]):
                return found
            masked = masked or found  # Inf that an op got may be a mask's
        return masked or (None, False)

    def explain(self, event, loss):
        """Enters into an event of a loss which op of it gave Inf or NaN, or got it."""
        origin, was_given = self.origin_of(loss)
        scale, _ = scale_of(loss, saved_by)
        is_scaled = scale >= 2 and not bool(loss.isnan())
        if origin is None and is_scaled and loss.dtype == torch.float16:
            origin = self._scaled("mul", scale)
        event.by_scale = is_scaled and not was_given and (origin is None or origin.phase == "forward" and bool(origin.rounded))
        if origin is None:
            compiled = any("CompiledFunction" in node.name() for node in nodes_after_model(loss))
            event.cause = scaled_cause(scale) if is_scaled else (
                f"what computes it runs compiled, and nobody saw inside of it: {UNCOMPILED}" if compiled else BESIDE)
            return
        event.come_from(origin)
        if was_given:
            event.came, event.cause, event.arose, event.origin = origin.exact.why, "", None, None

    def _origin(self, op, saved, loss, floor):
        tensors = {name: x for name, x in saved.items() if isinstance(x, torch.Tensor) and local(x) is not None}
        got = {name: x for name, x in tensors.items() if name not in RESULTS}
        ill = next((name for name, x in got.items() if not self._counter.finite(local(x))), None)
        if ill is not None:
            found = self._found(got[ill])
            is_half = got[ill].dtype == torch.float16 and not found["nan"]
            where, cure = OF_NUMBER if got[ill].numel() == 1 and op == "mul" else OF_HALF if is_half else OF_DATA
            return Origin("given", op, LOSS, "", found, self._rows(got), exact=Exact(
                f"the {'input' if ill == 'self' else ill} of {op} in the loss holds {'NaN' if found['nan'] else 'Inf'}: {where}: {cure}",
                cure)), True
        nothing = mean_of_nothing(op, saved)
        if nothing is not None:
            return Origin("NaN", op, LOSS, "", {"nan": 1, "inf": 0}, self._rows(got), exact=nothing), False
        known = arguments(op, saved, loss)
        if known is None or local(known[1]) is None or self._counter.finite(local(known[1])):
            return None
        args, out, rewritten = known
        if op == "sqrt" and not bool(out.isnan().any()):
            return None  # the root of an Inf that it got
        exact = exact_of(op, args, {}, out, rewritten)
        if exact is not None and floor:
            exact = Exact(f"{exact.why}; {floor:g}, its bound, is 0 in {str(out.dtype).removeprefix('torch.')}",
                          "take a bound that this format holds, or compute the loss in FP32")
        kind = "NaN" if bool(out.isnan().any()) else "pole" if exact is not None else "overflow"
        return Origin(kind, op, LOSS, "", self._found(out), self._rows(got), exact=exact, dtype=out.dtype), False

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
        for node in nodes_after_model(loss):
            at = len(self._nodes)
            self._nodes.append(node)
            node.register_hook(functools.partial(on_gradients, weakref.ref(self), at))

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
        with torch.no_grad():
            known = arguments(op, saved_by(node)) if op in SINGULAR else None
        slope = None if known is None else slope_of(op, *known)
        if op == "sqrt" and known is not None:
            zeros = int((known[1] == 0).sum())
            slope = (zeros, f"its operand holds {zeros:,} zero{'s' * (zeros != 1)}") if zeros else None
        summary = self._counter.count(ill)
        self.origin = Origin("NaN" if summary.nan else "overflow", op, LOSS, "", {"nan": summary.nan, "inf": summary.inf},
                             described(self._counter, {"gradient": given[0] if len(given) == 1 else given}, 0), None,
                             None if slope is None else slope_exact(op, slope[1], ill.dtype), "backward", dtype=ill.dtype)


def came_with_target(event):
    """Enters into an event of a module that is a loss that what it got beside its first input held Inf or NaN."""
    ill = next((x for x in event.inputs if x["nan"] or x["inf"]), None)
    if ill is not None and ill["name"] != "input 0":
        event.came = f"{ill['name']} of {event.layer} holds {'NaN' if ill['nan'] else 'Inf'}: {': '.join(OF_DATA)}"


def on_gradients(graph, at, after, before):
    """Sees what a node made of the gradients that it got; the graph may outlive the object that looks."""
    mine = graph()
    if mine is not None:
        mine.see(at, after, before)
