# SPDX-License-Identifier: Apache-2.0
"""What the nodes of a loss gave: what they or those after them keep of it, or what is computed again of that.

    MulBackward keeps what it got ─▶ what the nodes before it gave ─▶ SumBackward, which keeps nothing: the sum of what came before
"""
import torch

from .exact import NARROW
from .nodes import op_of

# What nodes keep of what they got, by name: which of it that is; of an op of three matrices and vectors the sum comes first.
KEPT = {"self": 0, "input": 0, "x1": 0, "query": 0, "other": 1, "mat2": 1, "target": 1, "x2": 1, "tensor1": 1, "vec": 1, "end": 1, "key": 1,
        "tensor2": 2, "value": 2}
OF_SUM = {"mat1": 1, "mat2": 2, "vec": 2, "batch1": 1, "batch2": 2}
SUMS = frozenset("addmm addmv addbmm baddbmm".split())
TELLS_HOOKS = hasattr(torch._C._autograd.SavedTensor, "unpack_hook")
LOSSES = {"mse_loss": {}, "l1_loss": {}, "smooth_l1_loss": {"beta": "beta"}, "huber_loss": {"delta": "delta"},
          "binary_cross_entropy": {"weight": "weight"}, "soft_margin_loss": {}}
REDUCTIONS = ("none", "mean", "sum")
PAIRS = {"mul": torch.mul, "div": torch.div, "mm": torch.mm, "bmm": torch.bmm}
LIKE = frozenset("neg abs log log2 log10 log1p sqrt rsqrt exp exp2 expm1 sinh cosh".split())


def saved_by(node):
    """Returns what a node keeps of its op, by name, but for what hooks have packed (torch.autograd.graph.saved_tensors_hooks): to read that
    would call them, as those of a checkpoint, which make its forward pass again."""
    out = {}
    for name in dir(node):
        if name.startswith("_saved_") and not is_packed(getattr(node, f"_raw{name}", None)):
            try:
                out[name.removeprefix("_saved_")] = getattr(node, name)
            except RuntimeError:  # a pass has let go of it
                continue
    return out


class Packed:
    """Whether hooks may have packed tensors, where torch does not tell it of one."""

    may_be = False

    @classmethod
    def saw_hooks(cls, inner, *args):
        cls.may_be = True
        return inner(*args)

    @classmethod
    def look(cls):
        """Sees whether hooks are in use now: those of a tensor are set once."""
        product = torch.ones(1, requires_grad=True) * torch.ones(1)
        try:
            product.grad_fn._raw_saved_other.register_hooks(lambda x: x, lambda x: x)
        except RuntimeError:
            cls.may_be = True


def is_packed(raw):
    """Whether hooks have, or may have, packed a tensor that a node keeps. raw: torch's SavedTensor, or several; None of what is no tensor."""
    several = raw if isinstance(raw, list | tuple) else [] if raw is None else [raw]
    return any(getattr(one, "unpack_hook", None) is not None if TELLS_HOOKS else Packed.may_be for one in several)


def axes_of(saved):
    """Returns the axes that a sum was taken over; None of all. torch gives those below zero as unsigned numbers."""
    axes = saved.get("dim")
    return None if not axes else [axis - 2**64 if axis >= 2**63 else axis for axis in axes]


def over_axes(function, x, saved):
    axes = axes_of(saved)
    return function(x) if axes is None else function(x, axes, keepdim=bool(saved.get("keepdim")))


def summed(op, x, saved):
    return over_axes(torch.sum if op == "sum" else torch.mean, x, saved)


def computed(op, saved, given):
    """Returns what an op gives; None where that is not known. given: what it got, None of what is not known."""
    first, second = (*given, None, None)[:2]
    if first is None:
        return None
    if op in LOSSES and second is not None:
        more = {key: saved[name] for key, name in LOSSES[op].items() if name in saved}
        return getattr(torch.nn.functional, op)(first, second, reduction=REDUCTIONS[saved["reduction"]], **more)
    if op in ("sum", "mean"):
        return summed(op, first, saved)
    if op == "pow" and isinstance(saved.get("exponent"), int | float):
        return first ** saved["exponent"]
    if op in LIKE:
        return getattr(torch, op)(first)
    if second is None:
        return None
    if op in ("add", "sub"):
        return getattr(torch, op)(first, second, alpha=saved.get("alpha", 1))
    return PAIRS[op](first, second) if op in PAIRS else None


def kept_by(node):
    return OF_SUM if op_of(node) in SUMS else KEPT


def takes_narrow(op, saved, node, out):
    """Whether an op got a tensor of 16 bits that no node gave. saved, out: what its node keeps, and gave, or None."""
    free = [at for at, (before, _) in enumerate(node.next_functions) if before is None]
    names = [name for name, at in kept_by(node).items() if at in free and isinstance(saved.get(name), torch.Tensor)]
    if names:
        return any(saved[name].dtype in NARROW for name in names)
    return op in ("add", "sub") and bool(free) and out is not None and out.dtype in NARROW


class Values:
    """Those of nodes, each of which comes after what it got. output_of(node): what a node before them gave, or None."""

    def __init__(self, nodes, output_of=lambda node: None):
        self.nodes = nodes
        self._before = [before for node in nodes for before, _ in node.next_functions if before is not None]  # whose ids are kept so
        self.saved = {id(node): saved_by(node) for node in nodes}
        self._own = {id(node) for node in nodes}
        self._of = {}
        for node in nodes:
            for name, at in kept_by(node).items():
                x = self.saved[id(node)].get(name)
                before, place = (*node.next_functions, *((None, 0),) * 2)[at]
                if isinstance(x, torch.Tensor) and before is not None and place == 0:
                    self._of.setdefault(id(before), x)
        for before in self._before:
            x = None if id(before) in self._own else output_of(before)
            if x is not None:
                self._of[id(before)] = x
        for node in nodes:
            result = self.saved[id(node)].get("result")
            if isinstance(result, torch.Tensor):
                self._of[id(node)] = result
            elif id(node) not in self._of:
                self._of[id(node)] = self._computed(node)

    def is_own(self, node):
        """Whether a node is one of these, and not of what came before."""
        return id(node) in self._own

    def came_from(self, node, name):
        """Returns the node that gave a node what it keeps by a name; None if none did, as of data."""
        at = kept_by(node).get(name)
        return node.next_functions[at][0] if at is not None and at < len(node.next_functions) and (
            node.next_functions[at][0] is None or node.next_functions[at][0].next_functions) else None

    def has_narrow_targets(self):
        """Whether an op got a tensor of 16 bits beside what the model gave, as of targets, as far as that can be told: of a sum, by what
        it gave."""
        return any(takes_narrow(op_of(node), self.saved[id(node)], node, self.of(node)) for node in self.nodes)

    def of(self, node):
        """Returns what a node gave; None if that is not known."""
        return None if node is None else self._of.get(id(node))

    def got(self, node):
        """Returns what a node got, a list as long as what it comes from; None of what is not known."""
        saved = self.saved.get(id(node), {})
        out = [self.of(before) if place == 0 else None for before, place in node.next_functions]
        for name, at in kept_by(node).items():
            if isinstance(saved.get(name), torch.Tensor) and at < len(out):
                out[at] = saved[name]
        return out

    def _computed(self, node):
        op = op_of(node)
        try:
            return computed(op, self.saved[id(node)], self.got(node))
        except (RuntimeError, TypeError, ValueError):  # shapes that an op between has changed, or an op that torch lacks of a dtype
            return None
