# SPDX-License-Identifier: Apache-2.0
"""Zeros that a compiled part gives, inside of which nobody sees: those of what is too large to be squared in FP16, and what may be why of
others."""
import torch

from ...observe.names import tensors_in
from ...observe.tensors import local
from .told import Told
from .words import shown

MOST = 65504.0  # FP16's largest number
CAUSE = "it runs compiled, and gives zero for inputs whose squares overflow FP16"
CURE = "keep this part in FP32 or scale its inputs"
UNCOMPILED = "Run it uncompiled to see the op"
WHY = {True: f"In FP16 an overflow inside is the likely cause, as of x·x in a norm, where x / Inf is 0: {CURE}. ", False:
       "A dead ReLU, weights of zeros, or an overflow of which x / Inf makes 0 may be why. "}


def squared_away(args, out):
    """Returns (what it is, Told) where those rows of an output are zero, and those alone, whose inputs have squares that sum to more than FP16
    holds, as a norm makes them; else None. args: those of a module without matrices of weights."""
    x = next((x for x in (local(x) for _, x in tensors_in(args)) if x is not None and x.is_floating_point()), None)
    if x is None or x.device.type != "cpu" or torch.float16 not in (x.dtype, out.dtype) or x.shape != out.shape or x.dim() < 2:
        return None
    for first in (x.dim() - 1, 1):  # a norm over the last axis, or over all of a sample
        squares = x.detach().float().flatten(first).flatten(0, first - 1).square()
        zero = ~(out.detach().flatten(first).flatten(0, first - 1) != 0).any(1)
        many, rows = int(zero.sum()), len(zero)
        for sizes, what in ((squares.sum(1), "squares sum to"), (squares.amax(1), "largest square is")) if many else ():
            if float(sizes[zero].min()) > MOST and (many == rows or float(sizes[~zero].max()) < float(sizes[zero].min())):
                return CAUSE, Told(
                    f"{f'all {many:,}' if many == rows else f'{many:,} of {rows:,}'} rows of its outputs are zero, those of inputs whose {what} "
                    f"more than FP16 holds ({float(sizes.max()):.3g} at most, beside {MOST:g}), as in a norm that squares in FP16: x / Inf is "
                    f"0. It runs compiled, and nobody saw the op: {UNCOMPILED[0].lower()}{UNCOMPILED[1:]}", many)
    return None


def silent_in_fp16(of):
    """Returns the compiled parts in which FP16 may have made zeros, as a list. of: what untrained() found."""
    return [*of["silent"], *of["inside_of"]] if of["of_fp16"] else []


def silent_text(parts, is_in_fp16):
    """Returns sentences about compiled parts all of whose outputs were zero, or in which some weights had no gradient. parts: names."""
    runs = f"{', '.join(map(shown, parts))} {'runs' if len(parts) == 1 else 'run'} compiled, and nobody saw inside"
    return f" {runs}. {WHY[is_in_fp16]}{UNCOMPILED}."
