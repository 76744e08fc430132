# SPDX-License-Identifier: Apache-2.0
"""What no format helps: Inf and NaN that ops give by their mathematics, of zeros, numbers outside of their domain and empty tensors."""
import dataclasses

import torch

from .fused import divided_by_zero

LOGARITHMS = frozenset("log log2 log10 log1p logit".split())
DIVISIONS = frozenset("div reciprocal rsqrt remainder fmod floor_divide".split())
ARCS = frozenset("acos asin atanh erfinv".split())
PAIRS = frozenset("atan2 hypot".split())  # whose slope at two zeros is 0/0
FEW = {"mean": 1, "std": 2, "var": 2, "std_mean": 2, "var_mean": 2}  # the least number of elements that they take
SINGULAR = LOGARITHMS | DIVISIONS | ARCS | PAIRS | {"sqrt", "pow"}
NARROW = {torch.float16: "float16", torch.bfloat16: "bfloat16"}
CURES = {
    **dict.fromkeys(LOGARITHMS, "add an eps inside of the logarithm or bound its operand, or take an op that computes both in one "
                    "(log_softmax, logsigmoid, binary_cross_entropy_with_logits)"),
    **dict.fromkeys(DIVISIONS, "add an eps to the divisor or bound it below"),
    **dict.fromkeys(ARCS, "bound its operand within -1 and 1, and off these where it has a gradient"),
    **dict.fromkeys(PAIRS, "add an eps to one of its operands"),
    "rsqrt": "add an eps inside of the root", "sqrt": "add an eps inside of the root or bound its operand below",
    "pow": "add an eps to the base or bound it below",
}
MASKED = "leave a place open in every row, or put a number in the place of what such rows give"
CONSTANT = "take a large finite number in its place, or put a number in the place of the result (torch.where)"
BEFORE = "; a mask or where after it does not help, since 0·Inf is NaN: replace these values before it"


@dataclasses.dataclass(frozen=True)
class Exact:
    """why: which operand it is, and of how many elements. cure: what to do instead of taking another format."""

    why: str
    cure: str


def operand_of(name, args):
    """Returns what an op is singular in: a divisor, or its first argument, of two the larger; None if it has none."""
    if name == "pow" and isinstance(args[1], torch.Tensor):
        return torch.where((args[1] < 1) | (args[0] < 0), args[0], 1.0) if isinstance(args[0], torch.Tensor) else None
    if name in PAIRS:
        return torch.maximum(args[0].abs(), args[1].abs())
    at = 1 if name in ("div", "remainder", "fmod", "floor_divide") else 0
    x = args[at] if len(args) > at else None
    return torch.tensor(float(x)) if isinstance(x, int | float) else x if isinstance(x, torch.Tensor) and not x.is_complex() else None


def poles(name, x):
    """Returns where an operand has a value at which the op, or its slope, is infinite."""
    if name in ARCS:
        return x.abs() == 1
    return (x == 0) | (x == 1) if name == "logit" else x == (-1 if name == "log1p" else 0)


def outside(name, x):
    """Returns where an operand has a value for which the op has no result."""
    if name in ARCS:
        return x.abs() > 1
    if name == "logit":
        return (x < 0) | (x > 1)
    return x < (-1 if name == "log1p" else 0) if name not in DIVISIONS or name == "rsqrt" else torch.zeros_like(x, dtype=torch.bool)


def many(n, what):
    return f"{n:,} {what}{'s' * (n != 1)}"


def held_text(name, x):
    """Returns what an operand holds that the op is singular at, as text; "" if nothing."""
    at, out = int(poles(name, x).sum()), int(outside(name, x).sum())
    pole = "-1" if name == "log1p" else "0 or 1" if name == "logit" else "±1" if name in ARCS else None
    words = [many(at, "zero") if pole is None else f"{many(at, 'value')} of {pole}"] if at else []
    words += [f"{many(out, 'value')} outside of its domain"] if out else []
    what = "pair of operands" if name in PAIRS else "divisor" if name in DIVISIONS and name != "rsqrt" else "base" if name == "pow" else "operand"
    return f"its {what} holds {' and '.join(words)}" if words else ""


def cure_of(name, dtype):
    """Returns what to do about an op that is singular. dtype: that in which its operand was rounded."""
    return CURES[name] + of_rounding(dtype)


def of_rounding(dtype):
    """Returns when another format helps what is singular anyway, to end a cure; "" of a wide dtype."""
    return f"; FP32 helps only where {NARROW[dtype]} has made the value" if dtype in NARROW else ""


def exact_of(name, args, out, rewritten):
    """Returns the Exact of the Inf and NaN that an op made of finite numbers; None if some of it may be for want of range.

    rewritten: whether out lies where the op's first argument lay.
    """
    if name in FEW:
        few = args[0].numel() // max(1, out.numel()) < FEW[name]
        return Exact("it is taken over too few elements" if args[0].numel() else "it is taken over no element",
                     "pass over such batches") if few else None
    by_zero = divided_by_zero(name, args, out)
    if by_zero is not None:
        why, cure = by_zero
        return Exact(why, cure + of_rounding(out.dtype))
    x = operand_of(name, args) if name in SINGULAR else None
    if x is None or name in PAIRS:
        return None
    if rewritten and operand_of(name, args) is args[0]:
        if name not in LOGARITHMS | ARCS | {"sqrt"}:  # of the others Inf may be an overflow
            return None
        at, nan = int(out.isinf().sum()), int(out.isnan().sum())
        words = [f"{many(n, 'value')} {where}" for n, where in ((at, "at which it is infinite"), (nan, "outside of its domain")) if n]
        return Exact(f"its operand held {' and '.join(words)}", cure_of(name, out.dtype))
    singular = outside(name, x)
    if name != "pow" or isinstance(args[1], torch.Tensor) or args[1] < 0:
        singular = singular | poles(name, x)
    if bool((~out.isfinite() & ~singular).any()):
        return None
    return Exact(held_text(name, x), cure_of(name, x.dtype))


def slope_of(name, args, out, rewritten):
    """Returns (how many elements of an op's operand its slope is infinite at, a text of that), or None if there are none."""
    if name not in SINGULAR or name in ("remainder", "fmod", "floor_divide"):
        return None
    if name == "pow" and not isinstance(args[1], torch.Tensor) and args[1] >= 1:
        return None
    x = operand_of(name, args)
    if x is None or not x.dim() and name == "div" and not isinstance(args[1], torch.Tensor):
        return None
    if rewritten and x is args[0]:
        if name != "sqrt":
            return None
        x = out  # which is zero where its operand was
    at = int(poles(name, x).sum())
    return (at, held_text(name, x)) if at else None


def slope_exact(name, text, dtype):
    """Returns the Exact of a gradient of an op that slope_of() has told of."""
    return Exact(f"{text}, where the slope of {name} is {'undefined' if name in PAIRS else 'infinite'}", cure_of(name, dtype) + BEFORE)


def exact_of_infinity(name, x, is_given):
    """Returns the Exact of NaN that an op made of Inf in x that did not arise in the model, or was meant, as a mask's. is_given: whether
    the layer got it."""
    if "softmax" in name and not bool((x == torch.inf).any()):
        return Exact("whole rows of it are masked with -Inf", MASKED)
    if is_given:
        return Exact("Inf was in what the layer got", "look at the data")
    return Exact("Inf of a constant came to 0·Inf or Inf − Inf", CONSTANT)
