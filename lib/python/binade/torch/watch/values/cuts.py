# SPDX-License-Identifier: Apache-2.0
"""Nodes of autograd's graph that give nothing but zeros of gradients that are not, as of a rounding, or of a function of the loop's own:
what comes before them does not learn."""
import os

import torch

from ...observe.tensors import local

STEPS = dict.fromkeys(("round", "sign", "sgn", "floor", "ceil", "trunc", "frac", "heaviside", "zeros_like", "fmod", "remainder"), (
    "its slope is zero everywhere: pass the gradient straight through, as x + (f(x) − x).detach() does"))
BOUNDS = dict.fromkeys(("clamp", "clamp_min", "clamp_max", "hardtanh", "hardsigmoid", "relu6", "threshold"), (
    "all that it got lay where its slope is zero: bring that within its bounds"))
CURES = {**STEPS, **BOUNDS}
COUNTED = frozenset((torch.float16, torch.bfloat16, torch.float32, torch.float64))
OWN = "its backward is code of the loop's own: let it return the gradient, or what its slope makes of that"


def is_zero(x):
    """Whether a gradient is all zero, or none; of one on a device, or of 8 bits, nobody asks."""
    if not isinstance(x, torch.Tensor):
        return True
    x = local(x)
    if x is None or x.device.type != "cpu" or x.dtype not in COUNTED:
        return False
    if x.numel() and bool(torch.count_nonzero(x[(0,) * max(0, x.dim() - 1)])):
        return False  # without a walk over all of it
    return not bool(torch.count_nonzero(x))


def is_cut(hands_on, after, before):
    """Whether a node made nothing but zeros of gradients that are not; None if it got none. hands_on: of which inputs it has gradients."""
    if not all(is_zero(x) for x, is_wanted in zip(after, hands_on) if is_wanted):
        return False
    return None if all(map(is_zero, before)) else True


def place_of(node, op):
    """Returns an op as it is told: a function of the loop's own by its class and line."""
    own = getattr(node, "_forward_cls", None)
    code = getattr(getattr(own, "backward", None), "__code__", None)
    return op if own is None else f"{own.__name__}.backward" + (
        f" ({os.path.basename(code.co_filename)}:{code.co_firstlineno})" if code is not None else "")


def seer(cuts, layer, node, op):
    """Returns what sees a node in a backward pass. cuts: {(layer, op, cure): whether it cut all gradients of the step}, to fill."""
    key = layer, place_of(node, op), OWN if hasattr(node, "_forward_cls") else CURES.get(op, "")
    hands_on = [before is not None for before, _ in node.next_functions]

    def see(after, before):
        found = is_cut(hands_on, after, before) if any(hands_on) else None
        if found is not None:
            cuts[key] = found and cuts.get(key, True)
    return see


class Cuts:
    """Those of a run. steps: how many were looked into. of: {(layer, op, cure): in how many it cut all gradients}."""

    def __init__(self, steps=0, of=()):
        self.steps, self.of = steps, dict(of)

    def add_step(self, *seen):
        """Adds what see() saw in a step."""
        self.steps += any(seen)
        for cuts in seen:
            for key, found in cuts.items():
                self.of[key] = self.of.get(key, 0) + found

    def __add__(self, other):
        """Returns what two processes saw together."""
        return Cuts(self.steps + other.steps, {key: n + other.of[key] for key, n in self.of.items() if key in other.of})

    @property
    def texts(self):
        """What is said of those that cut all gradients in each step."""
        return [f"{op} in {layer}" + (f": {cure}" if cure else "") for (layer, op, cure), n in self.of.items() if n == self.steps > 0]


def text_of(texts):
    """Returns sentences about them."""
    return f" Gradients that were not zero came to, and nothing but zeros came out of: {'; '.join(texts[:3])}." if texts else ""
