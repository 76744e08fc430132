# SPDX-License-Identifier: Apache-2.0
"""Whether what made Inf of a loss got a gradient, or a later op whose slope is 0 at Inf left it none: what comes before learns nothing then.

    explain() finds the node that gave Inf ─▶ the backward pass begins: a hook on that node ─▶ its gradient is 0 wherever it gave Inf
"""
import torch

from ...observe.tensors import local
from .loss_values import saved_by
from .nodes import op_of

# Ops whose slope at Inf is 0; that of a quotient by its divisor, and by its numerator where the divisor is Inf, too.
FLAT = frozenset("log1p log log2 log10 sqrt rsqrt reciprocal tanh sigmoid log_sigmoid erf atan softmax log_softmax asinh acosh".split())
UNKNOWN = "what follows"


def is_flat(node, ill):
    """Whether the slope of a node's op is 0 at the Inf that it got. ill: ids of the nodes that it may come from."""
    if op_of(node) != "div":
        return op_of(node) in FLAT
    other = saved_by(node).get("other")
    return any(id(before) in ill for before, _ in node.next_functions[1:]) or isinstance(other, torch.Tensor) and other.device.type == "cpu" and bool(other.isinf().any())


def flat_after(nodes, node):
    """Returns in words the op after a node of a loss, among nodes in the order of their ops, whose slope at Inf is 0; UNKNOWN if none is found."""
    ill = {id(node)}
    for one in nodes:
        if any(id(before) in ill for before, _ in one.next_functions):
            if is_flat(one, ill):
                return f"{op_of(one)}, whose slope is 0 there"
            ill.add(id(one))
    return UNKNOWN


class Starved:
    """Of the loss of one step: op, in words that with the slope of 0, "" where the Inf got a gradient or nobody knows."""

    def __init__(self):
        self.op = ""
        self._place = None  # (number, op) of the node that gave Inf among those of its loss
        self._is_ill = None  # where it gave Inf or NaN; None of all

    def expect(self, nodes, node, out):
        """Sees which node of a loss gave Inf, and what it gave: out, or None."""
        self._place = nodes.index(node), op_of(node)
        self._is_ill = None if out is None else ~local(out).isfinite()

    def follow(self, nodes_of, loss):
        """Hangs a hook on that node where a backward pass of its loss, which may have been scaled since, begins. nodes_of(loss): its nodes."""
        if self._place is None:
            return
        nodes, (at, op) = nodes_of(loss), self._place
        if at < len(nodes) and op_of(nodes[at]) == op:
            self._place = None
            flat = flat_after(nodes, nodes[at])
            nodes[at].register_hook(lambda after, before: self._see(before[0], flat))

    def _see(self, gradient, flat):
        x = None if gradient is None else local(gradient)
        if x is None or x.device.type != "cpu":
            return
        x = x[self._is_ill] if self._is_ill is not None and self._is_ill.shape == x.shape else x
        if x.numel() and not bool(x.count_nonzero()):
            self.op = flat
