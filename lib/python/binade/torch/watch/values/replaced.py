# SPDX-License-Identifier: Apache-2.0
"""Ops that put a finite number in the place of Inf: where that hides an overflow, and where another value was wanted anyway."""
import torch

CLAMPS = frozenset("clamp clamp_min clamp_max hardtanh minimum maximum fmin fmax nan_to_num".split())
PICKS = frozenset("where masked_fill index_put".split())
REPLACES = CLAMPS | PICKS
BOUNDS = CLAMPS - {"nan_to_num"}  # which give for every larger number what they give for Inf
LIMITS = frozenset("exp exp2 expm1 sinh cosh div reciprocal rsqrt".split())  # whose Inf is a limit, to what bounds it


def picked(name, args, kwargs, x):
    """Returns a mask of the elements of x in whose place the op puts others; None if that is not known."""
    if name == "where":
        return args[0] if len(args) > 2 and args[2] is x else ~args[0]
    if name == "masked_fill":
        return args[1]
    mask = args[1][0] if len(args[1]) == 1 else None
    return mask if mask is not None and mask.dtype == torch.bool else None


def new_value(name, args, kwargs, out):
    """Returns the number that an op which has written over its first argument put in the place of Inf."""
    if name == "nan_to_num":
        given = args[2] if len(args) > 2 else kwargs.get("posinf")
        return torch.finfo(out.dtype).max if given is None else given
    if name in PICKS:
        value = args[2] if len(args) > 2 else kwargs.get("value", 0)
        return float(value.abs().max()) if isinstance(value, torch.Tensor) else value
    return float(out.abs().max())


def replaced(name, args, kwargs, x, many, out, first, stands):
    """Returns what an op put in the place of an overflow in x, as text; None if it takes another value wherever a condition says so, or
    bounds it so low that more range would change nothing, or bounds what has Inf as its limit.

    many: how many values of x were not finite when it was made. first: the Origin of the overflow. stands: whether Inf in x stands for
    numbers as large as what overflowed.
    """
    rewritten = x.data_ptr() == out.data_ptr()
    gone = None if rewritten else ~x.isfinite()
    if gone is not None and not bool(gone.any()):
        return None
    if name in PICKS:
        places = picked(name, args, kwargs, x)
        if places is None:
            return None
        if rewritten and int(places.expand(x.shape[:places.dim()] if name == "index_put" else x.shape).sum()) > many:
            return None
        if not rewritten:
            places, gone = torch.broadcast_tensors(places, gone)
            if bool((places & ~gone).any()):
                return None
    if rewritten:
        value = float(new_value(name, args, kwargs, out))
    else:
        value = float(out[gone.expand(out.shape)].abs().max())
    is_low = value < torch.finfo(out.dtype if first.dtype is None else first.dtype).max / 2
    if is_low and stands and name in BOUNDS or first.op in LIMITS and (is_low or name in PICKS):
        return None
    return f"{value:.6g}"


def is_mask(x, given):
    """Whether the Inf in the result of an op comes of the least number of its dtype, as masks have it."""
    least = torch.finfo(x.dtype).min
    return not bool((x == torch.inf).any()) and any(
        y is not x and y.is_floating_point() and y.numel() > 0 and float(y.min()) == least for y in given)
