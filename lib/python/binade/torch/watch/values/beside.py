# SPDX-License-Identifier: Apache-2.0
"""Inf and NaN that an op of a loss got of an operand that no node gave, as a target, and of which its node keeps nothing: all else that it got
is finite."""
import torch

from .exact import Exact
from .nodes import op_of
from .outside import OF_DATA, OF_TERM, cure_of_data
from .partly import MOVES, NEAR, SUMS, before_views

# Ops that give no NaN of finite numbers, nor larger ones than these.
TAME = MOVES | frozenset(
    "relu leaky_relu elu gelu silu softplus sigmoid tanh softmax log_softmax log_sigmoid hardtanh clamp clamp_min clamp_max neg abs mean "
    "max_pool2d_with_indices avg_pool2d adaptive_avg_pool2d upsample_bilinear2d upsample_nearest2d upsample_bicubic2d native_dropout".split())
KEEPS = frozenset("view reshape_alias unsafe_view unsqueeze squeeze t transpose permute alias clone to_copy neg abs".split())
KEEPS_NAN = KEEPS | frozenset("relu leaky_relu elu softplus sigmoid tanh log_sigmoid hardtanh clamp clamp_min clamp_max exp".split())
KEEPERS = SUMS | frozenset("mul where minimum maximum lerp addcmul cat stack".split())
PLACES = ("first", "second", "third")


def other_factor(values, node):
    """Returns (the node that gave one operand of a product or quotient, the other one); (None, None) where both came of nodes, or not both are
    there."""
    given = [one for one, _ in node.next_functions]
    if op_of(node) not in ("mul", "div") or len(given) != 2 or sum(one is None for one in given) != 1 or (op_of(node) == "div" and given[0] is None):
        return None, None
    return next(one for one in given if one is not None), values.got(node)[given.index(None)]


def is_scaled(factor):
    """Whether a factor makes NaN of nothing but NaN. Of one that is not kept that is not known."""
    return isinstance(factor, torch.Tensor) and bool((factor.isfinite() & (factor != 0)).all())


def before_tame(values, node):
    """Returns the node whose values a node makes its own of, through ops that give no NaN but of NaN and whose values are not known."""
    while node is not None and values.is_own(node) and values.of(node) is None:
        one, factor = other_factor(values, node)
        if op_of(node) not in TAME and not is_scaled(factor):
            return node
        node = node.next_functions[0][0] if one is None else one
    return node


def is_known_finite(values, node, x):
    """Whether what an op got of a node, x if that is known, is finite, or is made by ops that give no NaN of what is, as what the model gave."""
    if x is None:
        node = before_tame(values, node)
        x = values.of(node)
    x = getattr(node, "variable", None) if x is None else x  # of a parameter
    return node is not None and not values.is_own(node) if x is None else bool(x.isfinite().all())


def is_small(values, node, x):
    """Whether what an op got of a node, x if that is known, lies so far below the largest number of its dtype that a sum of it and of its like
    does not overflow."""
    x = values.of(before_views(values, node)) if x is None else x
    return x is not None and x.dtype != torch.float16 and bool((x.abs() < torch.finfo(x.dtype).max / NEAR).all())


def later(values):
    """Returns {id of a node: what an op made of it of which NaN, or Inf of FP32 through views and casts, are the node's own, in the same places}."""
    out = {}
    for node in reversed(values.nodes):
        x = values.of(node)
        x = out.get(id(node)) if x is None else x
        one, factor = other_factor(values, node)
        one = one if is_scaled(factor) else node.next_functions[0][0] if op_of(node) in KEEPS_NAN else None
        if x is not None and one is not None and values.of(one) is None and x.is_floating_point() and (
                bool(x.isnan().any()) or x.dtype == torch.float32 and op_of(node) in KEEPS):
            out.setdefault(id(one), x)
    return out


def masked(values):
    """Returns the ids of the nodes that give a softmax what it gets, to which a mask may be added."""
    before = (before_views(values, node.next_functions[0][0]) for node in values.nodes if "softmax" in op_of(node) or op_of(node) == "logsumexp")
    return {id(node) for node in before if node is not None}


def beside_of(values, node, seen):
    """Returns (the Exact of Inf or NaN that a node of a loss got of an operand that no node gave, what the node gave); None of others. seen:
    what later() gives."""
    op, out = op_of(node), values.of(node)
    out = seen.get(id(node)) if out is None else out
    if op not in KEEPERS or out is None or not out.is_floating_point() or bool(out.isfinite().all()) or id(node) in masked(values):
        return None
    got, given = values.got(node), [one for one, _ in node.next_functions]
    free = [at for at, (one, x) in enumerate(zip(given, got)) if one is None and (x is None or not bool(x.isfinite().all()))]
    own = [(one, x) for one, x in zip(given, got) if one is not None]
    if not free or not own or not all(is_known_finite(values, one, x) for one, x in own):
        return None
    what = "NaN" if bool(out.isnan().any()) else "Inf"
    if what == "Inf" and (op not in SUMS or out.dtype == torch.float16 or not all(
            is_small(values, one, x) for one, x in own)):
        return None  # it may have overflowed
    if what == "Inf" and values.of(node) is not None and not bool((out == -torch.inf).any()):
        return None  # +Inf is no mask's: partly.of_rest() tells of it
    return exact_of_operand(op, free, out, what), out


def exact_of_operand(op, free, out, what):
    """Returns the Exact of such an operand, by the places among those of an op at which it may be and what the op gave, out."""
    which = f"the {PLACES[free[0]]} operand" if len(free) == 1 and free[0] < len(PLACES) else "an operand"
    where, cure = OF_TERM if out.dim() == 0 else OF_DATA
    if what == "Inf":
        where += ", or of the model's outputs without a gradient (by detach() or under no_grad), which may have overflowed"
    cure = cure_of_data(cure, what, out)
    return Exact(f"{which} of {op} in the loss, as a target, holds {what}, and the rest is finite: "
                 f"{where}: {cure}", cure)
