# SPDX-License-Identifier: Apache-2.0
"""Clipping that makes zeros of all gradients: at a limit of 0, which some trainers take for no clipping, or at one so small that what is
left is none of the gradients' dtype."""
import math

from .unused import may_differ_from_zero

SMALL = 0.01  # above it no gradient becomes zero


def norm_of(out, args):
    """Returns the norm before clipping, of what a function of torch that clips gives and gets; None if it is not known."""
    return next((float(x) for x in (out, *args[1:2]) if hasattr(x, "dim") or isinstance(x, float)), None)


def zeroed(parameters, limit, norm):
    """Returns what clipping of parameters' gradients did if it made zeros of all of them, as text; else "". norm(): that before it, or
    None if it is not known."""
    if limit is None or not 0 <= limit <= SMALL:
        return ""
    before = norm()
    gradients = [p.grad for p in parameters if p.grad is not None]
    if not gradients or (limit if before is None else not 0 < before < math.inf) or any(map(may_differ_from_zero, gradients)):
        return ""
    cure = "leave the call out, or give math.inf as the limit, to clip nothing" if not limit else "give a larger limit"
    return f"clips its gradients at {limit:g}, which makes zeros of all of them, so that nothing is trained by them; {cure}"
