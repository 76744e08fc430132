# SPDX-License-Identifier: Apache-2.0
"""Looks at the nodes of autograd's graph in a backward pass: the first that makes Inf or NaN of finite gradients."""
import dataclasses
import functools
import re
import weakref

import torch

from ...observe.names import tensors_in
from ...observe.tensors import described, local
from . import cuts
from .exact import SINGULAR, Exact, slope_exact
from .inside import Origin

WIDE = frozenset((torch.float32, torch.float64))
ALIKE = ("it divides by differences of eigenvalues or singular values, and some of these are equal, or one is 0",
         "part them by a small random shift of the matrix, take no gradient through its vectors, or use a Cholesky factor in their place")
DECOMPOSITIONS = frozenset("linalg_eigh linalg_eig linalg_svd symeig svd".split())
OWN = Exact("its backward is code of the loop's own", "look in it for a division by zero, or a root or logarithm of zero, and give that an eps "
            "or a mask")


def op_of(node):
    """Returns the name of the op of a node of autograd's graph."""
    op = re.sub(r"Backward\d*$", "", node.name().rpartition("::")[2])
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", op).lower().replace("log1_p", "log1p").replace("l1loss", "l1_loss")


@dataclasses.dataclass
class Region:
    """The nodes that were claimed of one call of a layer. begins: the nodes of what it got."""

    layer: str
    begins: list


class Nodes:
    """The nodes of the graph of one step. origin: the Origin of the first Inf or NaN that arose in one of them, or None. end: the op,
    and its layer, that gave nothing but finite gradients for such, as text; "" if none did. inside: the Inside of the step. roots: the
    names of the models."""

    def __init__(self, counter, inside, roots):
        self._counter, self._inside, self._roots = counter, inside, roots
        self._nodes = {}  # id of a node: itself, and its Region
        self._own = set()  # (layer, op) of the loop's own functions, as of torch.autograd.Function
        self.cuts = {}  # as cuts.seer() fills it
        self.origin, self.end = None, ""

    def claim(self, layer, args, x):
        """Hangs a hook on the nodes between what a layer got and an output of it, before and after those of the layers inside of it, which
        were claimed before."""
        region = Region(layer, [y.grad_fn for _, y in tensors_in(args) if y.grad_fn is not None])
        seen, waiting = set(map(id, region.begins)), [x.grad_fn]
        while waiting:
            node = waiting.pop()
            if node is None or id(node) in seen or not node.next_functions:
                continue
            seen.add(id(node))
            if id(node) in self._nodes:
                _, other = self._nodes[id(node)]
                waiting += other.begins if self._is_inside(other.layer, layer) else []
                continue
            self._nodes[id(node)] = node, region
            if isinstance(node, torch.autograd.function.BackwardCFunction):
                self._own.add((layer, op_of(node)))
            node.register_hook(functools.partial(on_gradients, weakref.ref(self), layer, op_of(node),
                                                 cuts.seer(self.cuts, layer, node, op_of(node))))
            waiting += [before for before, _ in node.next_functions]

    def _is_inside(self, layer, other):
        return layer.startswith(f"{other}.") or self._roots == [other] != [layer]

    def forget(self):
        """Lets go of the graph."""
        self._nodes = {}

    def see(self, layer, op, after, before):
        if self.origin is not None:
            if not self.end and not all(map(self.finite, before)) and all(map(self.finite, after)):
                self.end = f"{op} in {layer}"
            return
        ill = next((values_of(x) for x in after if not self.finite(x)), None)
        given = [x for x in map(values_of, before) if x is not None]
        if ill is None or not all(map(self.finite, given)):
            return
        summary = self._counter.count(ill)
        many, text, dtype, site, rounded = self._inside.slopes.get((layer, op), (0, "", None, "", ""))
        is_slope = many > 0 and (summary.nan + summary.inf <= many or op == "div")
        exact = slope_exact(op, text, dtype) if is_slope and not rounded else None
        rounded = rounded if is_slope else ""
        if exact is None and (layer, op) in self._own and ill.dtype in WIDE:
            exact = OWN
        if exact is None and op in DECOMPOSITIONS and summary.nan:
            exact = Exact(*ALIKE)
        floor, help = self._inside.floor_of(layer) if op in SINGULAR and exact is None and not rounded else ("", "")
        rounded = rounded or floor
        dtype = torch.float16 if rounded or self._inside.rounds_to_zero(layer) else ill.dtype
        self.origin = Origin("NaN" if summary.nan else "overflow", op, layer, site, {"nan": summary.nan, "inf": summary.inf},
                             described(self._counter, {"gradient": given[0] if len(given) == 1 else given}, 0), None, exact, "backward",
                             dtype=dtype, rounded=rounded, help=help)

    def finite(self, x):
        x = values_of(x)
        return x is None or self._counter.finite(x)


def values_of(x):
    return local(x) if isinstance(x, torch.Tensor) else None


def on_gradients(nodes, layer, op, see_cut, after, before):
    """Sees what a node made of the gradients that it got; the graph may outlive the object that looks."""
    mine = nodes()
    if mine is not None:
        mine.see(layer, op, after, before)
        if mine.origin is None:
            see_cut(after, before)
