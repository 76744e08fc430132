# SPDX-License-Identifier: Apache-2.0
"""Activations all of whose outputs lie where their slope is zero: nothing that comes before them gets a gradient through them."""
from ..observe.tensors import FLOATING

# Of each op, where its slope is exactly zero, as it is computed from the output: the ends of its range.
ENDS = {"tanh": (-1, 1), "sigmoid": (0, 1), "softmax": (0, 1), "hardsigmoid": (0, 1), "hardtanh": (-1, 1)}
CURE = ("its slope there is zero, in each format. Bring what it gets nearer to zero: normalise the inputs, begin with smaller weights, or "
        "scale what it gets down")
ONE = "it is taken over one element, whose softmax is always 1. Take the axis of the classes"


def ends_of(name, args):
    """Returns the ends of an op's range."""
    return tuple(args[1:3]) if name == "hardtanh" and len(args) > 2 else ENDS[name]


def saturated(name, args, out):
    """Returns what is to be said of the outputs of an op that are all at the ends of its range; "" if some are not."""
    if name == "softmax" and len(args) > 1 and out.dim() and out.shape[args[1]] == 1:
        return f"{name}: {ONE}"
    low, high = ends_of(name, args)
    if not out.numel() or not bool(((out == low) | (out == high)).all()):
        return ""
    at = f"±{high:g}" if low == -high else f"{low:g} or {high:g}"
    return f"{name}: all of its outputs are exactly {at} in {FLOATING[out.dtype]}, {CURE}"


class Saturation:
    """What of it was seen in a run. steps: how many were looked into. of: {(layer, site): (what is said of it, in how many steps)}."""

    def __init__(self, steps=0, of=()):
        self.steps, self.of = steps, dict(of)

    def add_step(self, seen):
        """Adds a step. seen: {(layer, site): what saturated() gives; "" if it is not so of every call}."""
        self.steps += 1
        for key, text in seen.items():
            if text:
                self.of[key] = text, self.of.get(key, ("", 0))[1] + 1

    def __add__(self, other):
        """Returns what two processes saw together."""
        return Saturation(self.steps + other.steps, {
            key: (text, n + other.of[key][1]) for key, (text, n) in self.of.items() if key in other.of})

    @property
    def texts(self):
        """What is said of those of which it was so in every step, as {layer: text}."""
        return {layer: text for (layer, _), (text, n) in self.of.items() if n == self.steps}


def see(name, args, out, seen, where):
    """Sees an op of ENDS. seen: a dict {(layer, site): text} of the step to fill. where(): the layer that it is in, and its file and line."""
    text = saturated(name, args, out)
    if not text and not seen:
        return  # without a walk over the frames of the stack
    layer, site = where()
    key = layer, site
    seen[key] = text and seen.get(key, text)


def text_of(texts):
    """Returns a sentence about saturated activations. texts: as of a Saturation."""
    return "".join(f" Saturated is {layer or 'the model'}, {text}." for layer, text in texts.items())
