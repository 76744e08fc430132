# SPDX-License-Identifier: Apache-2.0
"""Constants of a program that are Inf in a narrow dtype, as the -1e9 of a mask is in FP16."""
import torch

from .exact import NARROW

TAKE = frozenset("mul add sub rsub where div".split())  # ops that programs give constants
OF_MASK = ("use torch.finfo(dtype).min in its place, or a boolean mask (masked_fill), and leave out, or put a number in the place of, rows "
           "of which the mask leaves nothing")
TOO_LARGE = "take a constant that this format holds"


def too_large(name, args, x):
    """Returns the constant among the arguments of an op that is Inf in the narrow dtype of its result, x; None if there is none."""
    if name not in TAKE or x.dtype not in NARROW:
        return None
    numbers = [y for y in args if isinstance(y, int | float) and not isinstance(y, bool)]
    numbers += [float(y) for y in args if name == "where" and isinstance(y, torch.Tensor) and y.dim() == 0 and y.dtype != torch.bool]
    return next((y for y in numbers if torch.finfo(x.dtype).max < abs(y) < float("inf")), None)


def is_mask(x):
    """Whether what is not finite in the result of an op with such a constant is -Inf, or the NaN of 0·Inf, as a mask gives it."""
    return not bool((x == torch.inf).any())


def words_of(constant, x):
    """Returns (what is told of a constant that made x ill, what to do about it), as texts."""
    sign, nan = "-" if constant < 0 else "", ", and 0·Inf is NaN" if bool(x.isnan().any()) else ""
    dtype = NARROW[x.dtype]
    why = f"the constant {constant:g} is {sign}Inf in {dtype}, whose largest number is {torch.finfo(x.dtype).max:g}{nan}"
    return why, OF_MASK if is_mask(x) else TOO_LARGE


def of_rows(name, first, x):
    """Returns what is told of NaN that an op made of the Inf of such a constant in x. first: its Origin."""
    rows = int((x == -torch.inf).all(-1).sum()) if x.dim() and "softmax" in name else 0
    many = x.numel() // max(1, x.shape[-1]) if x.dim() else 0
    return f"{first.rounded}; {rows:,} of the {many:,} rows that {name} got hold nothing else" if rows else first.rounded
