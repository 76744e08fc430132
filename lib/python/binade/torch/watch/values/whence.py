# SPDX-License-Identifier: Apache-2.0
"""Whence zeros come that an op of a loss is singular at, by the nodes of autograd's graph before it: an eps that is 0 in their dtype, or
rounding."""
import torch

from .exact import NARROW
from .nodes import op_of

FURTHEST = 12  # nodes that are gone back
VIEWS = frozenset("view reshape_alias unsafe_view unsqueeze squeeze expand select slice index gather diagonal t transpose permute alias clone "
                  "to_copy sqrt abs neg sum mean norm linalg_vector_norm".split())  # which give zero where they got zero
VANISHING = frozenset(("exp", "sigmoid", "softmax"))  # which are zero nowhere
FILLS = frozenset("masked_fill where index_put scatter".split())
ROUND_TO_ONE = frozenset(("sigmoid", "softmax", "tanh"))  # which are 1 nowhere, but for a softmax of one element
TOGETHER = "take an op that computes both in one (log_softmax, logsumexp, logsigmoid, binary_cross_entropy_with_logits)"
APART = "subtract the logarithms of both (log_softmax, logsumexp)"
IN_FP32 = "compute the loss in FP32 (of outputs.float())"
ALL_IN_FP32 = "compute the loss in FP32 (of outputs.float() and targets.float())"  # where a target of FP16 takes part
LEAST = 2.0**-25  # what FP16 rounds to 0, and all below it
EPS_CURE = "take an eps that FP16 holds, with the slope there, such as 1e-3"


def name_of(x):
    return NARROW.get(x.dtype, str(x.dtype).removeprefix("torch."))


def with_fp32(cure, dtype, values):
    """Returns a cure, or that of a loss in FP32 beside it where its dtype is narrow. values: the Values of the loss."""
    return ", or ".join(filter(None, (cure, ALL_IN_FP32 if values.has_narrow_targets() else IN_FP32))) if dtype in NARROW else cure


def lost_bound(saved, x, name):
    """Returns a bound of a clamp that is another number in a tensor's dtype: 0, or 1; None if it is none."""
    bound = saved.get(name)
    if not isinstance(bound, float) or x is None:
        return None
    rounded = torch.tensor(bound, dtype=torch.float64).to(x.dtype).item()
    return bound if rounded != bound and rounded == round(bound) else None


def bound_words(bound, x):
    return f"{bound:.12g}, its bound, is {round(bound)} in {name_of(x)}", f"take a bound that {name_of(x)} holds"


def of_pair(op, first, second=None, *_):
    """Returns (why, cure) of the zeros of a product or quotient that are of numbers that are not zero; None if there are none."""
    if first is None or second is None:
        return None
    x = first / second if op == "div" else first * second
    gone = (x == 0) & (first != 0) & (second != 0)
    many = int(gone.sum())
    if not many:
        return None
    if op == "div" and bool((gone & second.isinf()).any()):
        return "it is a quotient whose divisor overflowed to Inf", APART
    what = "quotients" if op == "div" else "products"
    return f"{many:,} of them come of {what} of numbers that are not zero, which underflow in {name_of(x)}", APART if op == "div" else ""


def of_one(values, node, x):
    """Returns (why, cure) of the zeros of 1 − y where rounding made y 1; None of others. node: that of y."""
    if node is None or not values.is_own(node):
        return None
    op = op_of(node)
    if op in ("clamp", "clamp_max"):
        bound = lost_bound(values.saved[id(node)], x, "max")
        if bound is not None:
            return bound_words(bound, x)
        return of_one(values, node.next_functions[0][0], x)
    return (f"it is 0 where {op} rounds to 1 in {name_of(x)}", TOGETHER) if op in ROUND_TO_ONE else None


def adds_zero(values, node, x):
    """Whether what a sum got that no node gave, as an eps, is 0 wherever that is known, and the sum is zero somewhere."""
    own = [at for at, (before, _) in enumerate(node.next_functions) if before is not None]
    if len(own) != 1 or x.dtype != torch.float16:
        return False
    known = values.got(node)[own[0]]
    return known is None or known.shape != x.shape or not bool((known[x == 0] != 0).any())


def whence(values, node, x, left=FURTHEST):
    """Returns (why, cure), as texts, of the zeros of a tensor that rounding, or an eps that is 0, made; None if that is not known.

    values: the Values of a loss. node: that which gave the tensor, x. The cure is what helps beside a loss in FP32, "" if nothing does."""
    if node is None or not left or x is None:
        return None
    op, saved = op_of(node), values.saved.get(id(node), {})
    if op in VANISHING and bool((x == 0).any()) and not may_be_masked(values, node):
        return f"its zeros are what {op} rounded to in {name_of(x)}", TOGETHER
    if not values.is_own(node):
        return None
    got = values.got(node)
    before = node.next_functions[0][0]
    if op == "add" and adds_zero(values, node, x):
        return f"what is added there, as an eps, is 0 in {name_of(x)}, as all numbers below {LEAST:.0e} are", EPS_CURE
    if op in ("clamp", "clamp_min"):
        bound = lost_bound(saved, x, "min")
        return bound_words(bound, x) if bound else whence(values, before, got[0], left - 1)
    if op in ("rsub", "sub", "add") and sum(one is not None for one, _ in node.next_functions) == 1:
        return of_one(values, next(one for one, _ in node.next_functions if one is not None), x)
    if op in ("mul", "div"):
        return of_pair(op, *got) or next(filter(None, (
            whence(values, one, y, left - 1) for (one, _), y in zip(node.next_functions, got))), None)
    if op == "pow" and got[0] is not None and bool(((x == 0) & (got[0] != 0)).any()):
        return f"its zeros are powers of numbers that are not zero, and underflow in {name_of(x)}", ""
    return whence(values, before, x if got[0] is None else got[0], left - 1) if op in VIEWS | {"pow"} else None


def may_be_masked(values, node):
    """Whether -Inf, as of a mask, may have come to an op that is zero nowhere else."""
    before, (got, *_) = node.next_functions[0][0], values.got(node)
    while before is not None and op_of(before) in VIEWS | {"mul", "div"}:
        before = before.next_functions[0][0]
    added = before is not None and op_of(before) == "add" and any(one is None for one, _ in before.next_functions)
    return got is not None and bool(got.isinf().any()) or added or before is not None and op_of(before) in FILLS
