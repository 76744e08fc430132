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

OP = "the divisor of div"


def is_all_infinite(x):
    """Whether a tensor of 16 bits on the CPU holds nothing but Inf."""
    return (isinstance(x, torch.Tensor) and local(x) is not None and x.device.type == "cpu" and x.dtype in NARROW and x.numel() > 0
            and bool(x.isinf().all()))


def limit_of(nodes, loss):
    """Returns the Origin of a divisor that is Inf, of a finite loss; None if there is none. nodes: those of the loss."""
    divisors = ((node, saved_by(node).get("other")) for node in nodes if op_of(node) == "div")
    node, x = next(((node, x) for node, x in divisors if is_all_infinite(x)), (None, None))
    if node is None or not bool(loss.isfinite().all()):
        return None
    values = Values(nodes)
    whose = "targets, or other numbers that the model did not give," if values.came_from(node, "other") is None else "what the model gave,"
    return Origin("overflow", OP, LOSS, "", {"nan": 0, "inf": x.numel()}, [], dtype=x.dtype, vanished="div", help=with_fp32("", x.dtype, values),
                  rounded=f"it is made of {whose} and overflowed in {NARROW[x.dtype]}, as a sum of squares does: x/Inf is 0, and so is its gradient")
