# SPDX-License-Identifier: Apache-2.0
"""What is computed after the model, up to where a backward pass begins: its part of autograd's graph tells which op made Inf or NaN."""
import functools
import weakref

import torch

from ..observe.attaching import passes_by
from ..observe.names import tensors_in
from ..observe.tensors import described, local
from .exact import SINGULAR, exact_of, slope_of
from .inside import Origin
from .nodes import CLAIMED, op_of
from .nonfinite import LOSS, scale_text
from .optimizer_hooks import watching

LARGEST = torch.finfo(torch.float16).max
OVERFLOW = 65520.0  # the least number that FP16 rounds to Inf
SAVED = ("self", "other", "exponent")  # operands that nodes of elementwise ops keep, in the order of the op's arguments
RESULTS = frozenset(("sqrt", "rsqrt", "reciprocal", "exp"))  # which keep their result instead
SCALING = frozenset(("mul", "div", "neg", "to_copy"))  # ops between a loss and where a backward pass begins that scale or cast it
ACTS_ALONE = frozenset("log log2 log10 log1p acos asin acosh atanh div pow xlogy mul sinh cosh tan".split())


def roots_of(args, kwargs):
    """Returns the tensors that torch.autograd.backward() is given, as a list."""
    given = args[0] if args else kwargs.get("tensors", ())
    given = [given] if isinstance(given, torch.Tensor) else given
    return [x for x in given if isinstance(x, torch.Tensor) and x.grad_fn is not None]


def nodes_after(root, parameters):
    """Returns (the nodes between what a model gave and a root, those next to the root first; whether the root came from the model).

    parameters: the ids of the model's."""
    found, waiting, is_related = {}, [root.grad_fn], False
    while waiting:
        node = waiting.pop(0)
        if node is None or node in found:
            continue
        if CLAIMED in node.metadata or "CompiledFunction" in node.name():
            is_related = True
        elif not node.next_functions:
            is_related = is_related or id(getattr(node, "variable", None)) in parameters
        else:
            found[node] = op_of(node)
            waiting += [before for before, _ in node.next_functions]
    return found, is_related


def number_in(x):
    """Returns the number in a tensor of one, or a number; None of anything else."""
    if isinstance(x, torch.Tensor):
        return float(x) if x.dim() == 0 and x.is_floating_point() and x.device.type == "cpu" else None
    return float(x) if isinstance(x, int | float) else None


def kept(node, name):
    """Returns what a node keeps of a tensor, or None: what a checkpoint keeps is computed again, in a pass just once."""
    try:
        return getattr(node, f"_saved_{name}", None)
    except RuntimeError:
        return None


def scale_of(root, nodes):
    """Returns the largest number that a gradient of 1 at a root becomes on its way to a loss of FP16, which was multiplied by a scale;
    1.0 where nothing is FP16."""
    chain, node = [], root.grad_fn
    while nodes.get(node) in SCALING:
        chain.append(node)
        node = next((before for before, _ in node.next_functions if before is not None), None)
    if root.dtype != torch.float16 and not any(nodes[node] == "to_copy" for node in chain):
        return 1.0
    scale, largest = 1.0, 1.0
    for node in (node for node in chain if nodes[node] in ("mul", "div")):
        factor = next((x for x in (number_in(kept(node, name)) for name in ("other", "self")) if x), 1.0)
        scale = scale * factor if nodes[node] == "mul" else scale / factor
        largest = max(largest, abs(scale))
    return largest


def scale_cause(scale):
    """Returns why a loss of FP16, or its gradient, overflows as it is multiplied by a scale, and what to do, as text."""
    words = scale_text(scale)
    if scale >= OVERFLOW:
        return (f"the loss is FP16, and its scale, {words}, is more than FP16's largest number, {LARGEST:g}: take a scale of at most 2^15, "
                f"or compute the loss in FP32 and multiply it there (of outputs.float(); loss.float() * scale alone gives a loss of FP16 "
                f"the gradient {words})")
    return (f"the loss times its scale, {words}, is more than FP16's largest number, {LARGEST:g}: multiply in FP32 (loss.float() * scale), "
            "or take a smaller scale")


def saved_in(node, op):
    """Returns (the operands that a node keeps, as the op's arguments; its result), each None if it keeps none."""
    if op in RESULTS:
        x = kept(node, "result")
        return None, None if x is None else local(x)
    if op not in ACTS_ALONE:
        return None, None
    args = tuple(kept(node, name) for name in SAVED if f"_saved_{name}" in dir(node))
    return (None, None) if any(x is None for x in args) else (args, None)


def origin_of_division(node, root, counter):
    """Returns the Origin of a division by zero of which the node keeps its divisor alone, or None."""
    divisor = kept(node, "other")
    if kept(node, "self") is not None or divisor is None or not bool((divisor == 0).any()):
        return None
    summary = counter.count(root.detach())
    return Origin("pole", "div", LOSS, "", {"nan": summary.nan, "inf": summary.inf}, described(counter, {"divisor": divisor}, 0), None,
                  exact_of("div", (torch.ones_like(divisor), divisor), {}, 1 / divisor, False), dtype=root.dtype)


def slope_in(node, op):
    """Returns (how many elements of the operand of a loss's node have an infinite slope, a text of them, dtype, "", ""), as of an Inside."""
    args, result = saved_in(node, op)
    if args is None and result is None:
        return 0, "", None, "", ""
    of = args or (result,)
    x = next(x for x in of if isinstance(x, torch.Tensor))
    return *(slope_of(op, of, x if result is None else result, result is not None) or (0, "")), x.dtype, "", ""


def origin_in(nodes, root, counter):
    """Returns the Origin of Inf and NaN in a root, as far as what its nodes keep tells it, or None. nodes: {node: op}."""
    for node, op in reversed(list(nodes.items())):
        args, result = saved_in(node, op)
        by_zero = origin_of_division(node, root, counter) if op == "div" else None
        if by_zero is not None:
            return by_zero
        operands = [x for _, x in tensors_in(args)] if args else []
        if not all(counter.finite(x.detach()) for x in operands):
            continue
        out = getattr(torch, op)(*args) if operands else result
        if out is None or counter.finite(out.detach()):
            continue
        summary = counter.count(out.detach())
        exact = exact_of(op, args or (out,), {}, out, not operands)
        kind = "NaN" if summary.nan else "overflow" if exact is None else "pole"
        rows = described(counter, {"input": operands[0] if len(operands) == 1 else operands}, 0)
        return Origin(kind, op, LOSS, "", {"nan": summary.nan, "inf": summary.inf}, rows, None, exact, dtype=out.dtype)
    scale = scale_of(root, nodes)
    if root.dtype == torch.float16 and scale > 1 and not bool(root.isnan()):
        return Origin("overflow", "mul", LOSS, "", {"nan": 0, "inf": 1}, [], dtype=torch.float16, rounded=scale_cause(scale))
    return None


def operands_in(nodes):
    """Returns the operands of more than one element of the node next to a root that keeps some, by name; {} if several lead to it."""
    for node in nodes:
        found = {name: kept(node, key) for name, key in (("input", "self"), ("target", "target"))}
        found = {name: x for name, x in found.items() if isinstance(x, torch.Tensor) and x.numel() > 1}
        if found:
            return found
        if sum(before is not None for before, _ in node.next_functions) > 1:
            break
    return {}


class LossGraph:
    """The nodes between what models gave and the root of a backward pass, while that runs.

    nodes, inside: the Nodes and the Inside of the step. of: {node: op}, as of nodes_after(). scale(): the loss scale in use,
    or None. note(line) is told what could not be looked at."""

    def __init__(self, nodes, inside, root, of, scale, note):
        self._nodes, self._inside, self._note = nodes, inside, note
        self._of, self._scale = list(of.items()), scale_of(root, of)
        self._scale_in_use = scale
        for at, node in enumerate(of):
            node.register_hook(functools.partial(on_gradients, weakref.ref(self), at))

    def see(self, at, after, before):
        try:
            self._see(*self._of[at], after, before)
        except Exception as error:  # what fails in looking ends no training
            self._note(f"{self._of[at][1]} of the loss: not looked into: {type(error).__name__}: {str(error).partition(chr(10))[0]}")

    def _see(self, node, op, after, before):
        if self._nodes.origin is None:
            self._see_scale(op, [*after, *before])
        if self._nodes.origin is None and op in SINGULAR and not all(map(self._nodes.finite, after)):
            self._inside.slopes[LOSS, op] = slope_in(node, op)
        self._nodes.see(LOSS, op, after, before)

    def _see_scale(self, op, gradients):
        """Looks whether the gradient of a loss in FP16 is Inf since its scale is more than FP16 can hold."""
        if any(isinstance(x, torch.Tensor) and x.dtype == torch.float16 and x.numel() == 1 and bool(x.isinf()) for x in gradients):
            scale = max(self._scale, self._scale_in_use() or 1.0)
            if scale >= OVERFLOW:
                self._nodes.origin = Origin("overflow", op, LOSS, "", {"nan": 0, "inf": 1}, [], phase="backward", dtype=torch.float16,
                                            rounded=scale_cause(scale))


def on_gradients(graph, at, after, before):
    """Sees what a node made of the gradients that it got; the graph may outlive the object that looks."""
    mine = graph()
    if mine is not None:
        mine.see(at, after, before)


class LossHooks:
    """The part of Hooks that sees where backward passes begin."""

    def begin_backward(self, args, kwargs):
        self._backwards += 1
        if self._backwards > 1 or not self._plan.nonfinite or passes_by():  # what is checkpointed begins passes of its own
            return
        for root in roots_of(args, kwargs):
            self._see_root(root)

    def end_backward(self):
        self._backwards -= 1
        if not self._backwards:
            self._loss_graphs = []

    @watching
    def _see_root(self, root):
        step, counter, x = self._step, self._plan.counter, local(root)
        is_ill = x is not None and x.numel() == 1 and x.device.type == "cpu" and not counter.finite(x)
        is_ill = is_ill and (step.scaler is None or step.event is not None and step.event.layer == LOSS)  # a scale that is too large
        if not is_ill and step.nodes is None:
            return
        of, is_related = nodes_after(root, self._names.parts)
        if not is_related:
            return
        if is_ill:
            step.look_at_loss(LOSS, x, lambda: operands_in(of))
            event = step.event
            origin = origin_in(of, root, counter) if event.layer == LOSS and event.op is None else None
            if origin is not None:
                event.come_from(origin)
        if step.nodes is not None:
            self._loss_graphs.append(LossGraph(step.nodes, step.inside, root, of, self._loss_scale, self.note))
