# SPDX-License-Identifier: Apache-2.0
"""Divisors of a finite loss that are Inf in 16 bits, as sums of squares that overflowed: the quotient is zero, and so is its gradient."""
import torch

from ...observe.tensors import local
from .exact import NARROW
from .inside import Origin
from .loss_values import Values, saved_by
from .nodes import op_of
from .nonfinite import LOSS
from .whence import with_fp32

OPS = {"div": "the divisor of div", "rsqrt": "the operand of rsqrt", "reciprocal": "the operand of reciprocal"}


def is_all(x, test):
    """Whether a tensor of 16 bits on the CPU holds nothing but what passes a test."""
    return (isinstance(x, torch.Tensor) and local(x) is not None and x.device.type == "cpu" and x.dtype in NARROW and x.numel() > 0
            and bool(test(x).all()))


def infinite_of(node):
    """Returns the tensor by which it is seen that an op divides by nothing but Inf: the divisor, or what it gave, which is 0 at Inf alone in
    these formats; None of others."""
    op, saved = op_of(node), saved_by(node) if op_of(node) in OPS else {}
    x = saved.get("other") if op == "div" else saved.get("result")
    return x if is_all(x, torch.isinf if op == "div" else torch.logical_not) else None


def limit_of(nodes, loss):
    """Returns the Origin of a divisor that is Inf, of a finite loss; None if there is none. nodes: those of the loss."""
    node, x = next(((node, x) for node, x in ((node, infinite_of(node)) for node in nodes) if x is not None), (None, None))
    if node is None or not bool(loss.isfinite().all()):
        return None
    values, op = Values(nodes), op_of(node)
    whose = "targets, or other numbers that the model did not give," if op == "div" and values.came_from(node, "other") is None else "what the model gave,"
    return Origin("overflow", OPS[op], LOSS, "", {"nan": 0, "inf": x.numel()}, [], dtype=x.dtype, vanished=op, help=with_fp32("", x.dtype, values),
                  rounded=f"it is made of {whose} and overflowed in {NARROW[x.dtype]}, as a sum of squares does: x/Inf is 0, and so is its gradient")
