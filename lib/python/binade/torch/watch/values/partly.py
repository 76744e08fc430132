# SPDX-License-Identifier: Apache-2.0
"""Inf that an op of a loss gave of which not all that it got is known: whether it overflowed, what it got held Inf, or neither is known."""
import torch

from .exact import CONSTANT, NARROW, SINGULAR, Exact
from .nodes import op_of
from .whence import FILLS, VIEWS

SUMS = frozenset(("add", "sub", "rsub"))
MOVES = VIEWS - frozenset("sqrt sum mean norm linalg_vector_norm".split())  # which give what they got, in other places or another dtype
ARITHMETIC = SUMS | frozenset("mul div addcmul addcdiv lerp".split())
NEAR = 4  # numbers within this factor of the largest one overflow in a sum with their like
CAME = "came to 0·Inf or Inf − Inf"
LOOK = "look for an overflow before it (the loss in FP32, of outputs.float(), helps if FP16 overflowed), or for Inf in the data"

LOOK_FOR_NAN = "look for NaN and Inf in the targets, weights or masks that enter it, and for an overflow before it"


def is_large(x, at):
    """Whether what a tensor holds at some places, as a mask of a shape that it is expanded to, is near the largest number of its dtype."""
    return bool((x.expand(at.shape)[at].abs() >= torch.finfo(x.dtype).max / NEAR).all())


def overflows(op, out, known):
    """Whether Inf that a sum gave, out, arose in it, by what is known of what it got: numbers that lie near the largest one wherever it is
    Inf. A constant, as a mask's, is Inf beside any numbers."""
    return op in SUMS and any(is_large(x, out.isinf()) for x in known)


def adds_mask(values, node):
    """Whether a node of a loss is a sum to which something was added that no node gave, beside finite numbers of which none is near the
    largest one, so that Inf of it is that of what was added."""
    if node is None or op_of(node) not in SUMS or not values.is_own(node):
        return False
    got = [values.of(before_views(values, one)) if x is None else x for x, (one, _) in zip(values.got(node), node.next_functions)]
    got = [x for x in got if x is not None and x.is_floating_point()]
    return bool(got) and all(bool((x.abs() < torch.finfo(x.dtype).max / NEAR).all()) for x in got)


def before_views(values, before):
    """Returns the node whose values a node gives through views and casts: itself, if it is none of these."""
    while before is not None and op_of(before) in MOVES and values.is_own(before):
        before = before.next_functions[0][0]
    return before


def of_rest(op, out, known):
    """Returns the Exact of Inf that an op gave, out, of which it is not known whether it overflowed; None where it may be meant, as the -Inf
    of a mask."""
    if op not in ARITHMETIC or bool((out == -torch.inf).any()):
        return None
    name = NARROW.get(out.dtype, "FP32")
    what = f"what it got beside that holds Inf, or numbers near the largest of {name}" if op in SUMS and known else (
        f"not all that it got is known: it overflowed in {name}, or got Inf")
    return Exact(what, LOOK, True)


def of_nan(op, out, inputs):
    """Returns the Exact of NaN that an op gave, out, of which not all that it got is known; None where that is, where FP16 may have
    overflowed, and of an op that has no result for some numbers. inputs: what it got, None of what is not known."""
    if out.dtype == torch.float16 or all(x is not None for x in inputs) or op in SINGULAR:
        return None
    return Exact(f"what it got beside what is known holds NaN, or Inf that {CAME}", LOOK_FOR_NAN)


def of_infinity(values, before):
    """Returns the Exact of NaN that an op of a loss made of Inf that a node gave. values: the Values of the loss."""
    before = before_views(values, before)
    op, out = "" if before is None or not values.is_own(before) else op_of(before), values.of(before)
    got = [x for x, (one, _) in zip(values.got(before), before.next_functions) if one is not None] if op in FILLS | SUMS else [None]
    if out is not None and all(x is not None and x.is_floating_point() and bool(x.isfinite().all()) for x in got):
        if op in FILLS:
            return Exact(f"Inf of a constant {CAME}", CONSTANT)
        if not any(is_large(x, out.isinf()) for x in got):
            return Exact(f"what was added before it holds Inf, or numbers near the largest of {NARROW.get(out.dtype, 'FP32')}, as a mask, "
                         f"which {CAME}", CONSTANT)
    return Exact(f"Inf that it got {CAME}, and it is not known which op made that", LOOK, True)
