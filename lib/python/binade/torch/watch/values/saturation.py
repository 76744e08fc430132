# SPDX-License-Identifier: Apache-2.0
"""Activations all of whose outputs lie where their slope is zero, or next to it: nothing that comes before them gets a gradient through them."""
import torch

from ...observe.tensors import FLOATING
from .words import shown

# Of each op, where its slope is exactly zero, as it is computed from the output: the ends of its range.
ENDS = {"tanh": (-1, 1), "sigmoid": (0, 1), "softmax": (0, 1), "hardsigmoid": (0, 1), "hardtanh": (-1, 1)}
# Of each op that is smooth, from where on down its slope is less than 2^-10.
FLAT = {"gelu": -4.0, "silu": -10.0, "mish": -10.0, "elu": -10.0, "hardswish": -3.0}
LOOKED = ENDS.keys() | FLAT.keys()
FEWEST = 16  # values that tell of a smooth one
LEAST = 3  # steps in a row, up to the last, in which a smooth one is flat
FLAT_CURE = ("its slope is next to zero. Look at the biases before it and at the learning rate, normalise what it gets, and begin anew or from a "
             "state before: what lies so far below zero hardly comes back")
NARROW_CURE = ("which is so in that dtype alone: in FP32 its slope there is not zero. Compute it in FP32, or a loss from what it gets "
               "(binary_cross_entropy_with_logits, cross_entropy)")
WIDE = {"sigmoid": torch.sigmoid, "tanh": torch.tanh}
CURE = ("its slope there is zero, in each format. Bring what it gets nearer to zero: normalise the inputs, begin with smaller weights, or "
        "scale what it gets down")
ONE = "it is taken over one element, whose softmax is always 1. Take the axis of the classes"


def ends_of(name, args):
    """Returns the ends of an op's range."""
    return tuple(args[1:3]) if name == "hardtanh" and len(args) > 2 else ENDS[name]


def saturated(name, args, out):
    """Returns what is to be said of the outputs of an op that are all at the ends of its range, or where its slope is next to zero; "" if
    some are not."""
    if name in FLAT:
        is_flat = out.numel() >= FEWEST and float(args[0].max()) < FLAT[name]
        return f"{name}: all that it got lies below {FLAT[name]:g}, where {FLAT_CURE}" if is_flat else ""
    if name == "softmax" and len(args) > 1 and out.dim() and out.shape[args[1]] == 1:
        return f"{name}: {ONE}"
    low, high = ends_of(name, args)
    if not out.numel() or not is_at(out, low, high):
        return ""
    at = f"±{high:g}" if low == -high else f"{low:g} or {high:g}"
    is_narrow = out.element_size() == 2 and name in WIDE and args[0].data_ptr() != out.data_ptr() and not is_at(
        WIDE[name](args[0].float()), low, high)
    name = "relu6" if (name, low, high) == ("hardtanh", 0, 6) else name
    return f"{name}: all of its outputs are exactly {at} in {FLOATING[out.dtype]}, {NARROW_CURE if is_narrow else CURE}"


def is_at(x, low, high):
    return bool(((x == low) | (x == high)).all())


class Saturation:
    """What of it was seen in a run. steps: how many were looked into. of: {(layer, site): (what is said of it, in how many steps, in how many
    in a row up to the last)}."""

    def __init__(self, steps=0, of=()):
        self.steps, self.of = steps, dict(of)

    def add_step(self, seen):
        """Adds a step. seen: {(layer, site): what saturated() gives; "" if it is not so of every call}."""
        self.steps += 1
        self.of |= {key: (text, n, 0) for key, (text, n, _) in self.of.items() if not seen.get(key)}
        for key, text in seen.items():
            if text:
                _, n, row = self.of.get(key, ("", 0, 0))
                self.of[key] = text, n + 1, row + 1

    def __add__(self, other):
        """Returns what two processes saw together."""
        return Saturation(self.steps + other.steps, {
            key: (text, n + other.of[key][1], min(row, other.of[key][2])) for key, (text, n, row) in self.of.items() if key in other.of})

    @property
    def texts(self):
        """What is said of those of which it was so in every step, as {layer: text}."""
        return {layer: text for (layer, _), (text, n, _) in self.of.items() if n == self.steps}

    @property
    def flat(self):
        """What is said of smooth ones of which it was so in the last steps, as {layer: text}."""
        return {layer: text for (layer, _), (text, _, row) in self.of.items() if row >= LEAST and text.partition(":")[0] in FLAT}


def see(name, args, out, seen, where):
    """Sees an op of LOOKED. seen: a dict {(layer, site): text} of the step to fill. where(): the layer that it is in, and its file and line."""
    text = saturated(name, args, out)
    if not text and not seen:
        return  # without a walk over the frames of the stack
    layer, site = where()
    key = layer, site
    seen[key] = text and seen.get(key, text)


def text_of(texts):
    """Returns a sentence about saturated activations. texts: as of a Saturation."""
    return "".join(f" Saturated is {shown(layer) or 'the model'}, {text}." for layer, text in texts.items())
