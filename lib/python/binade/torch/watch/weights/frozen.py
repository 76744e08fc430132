# SPDX-License-Identifier: Apache-2.0
"""Frozen weights that an optimizer goes on moving: requires_grad is False, but .grad stayed, as zeros, and momentum or weight decay act on
it. An optimizer passes over a weight only where .grad is None."""
import torch

from ...observe.names import listed


def note_moved(moved, optimizer, parameter, layer, old, new):
    """Adds to moved, {class of an optimizer: {layer: steps}}, a frozen weight that a step without a gradient has changed."""
    gradient = parameter.grad
    if parameter.requires_grad or gradient is None or gradient.layout is not torch.strided or torch.equal(old, new):
        return
    if not torch.count_nonzero(gradient):
        layers = moved.setdefault(type(optimizer).__name__, {})
        layers[layer] = layers.get(layer, 0) + 1


def moved_text(moved):
    """Returns lines about frozen weights that move."""
    return [f"Frozen weights move: those of {listed(list(layers))} want no gradient (requires_grad is False), but their .grad is zero, not None, "
            f"and {name} changes them by its momentum or weight decay, in {max(layers.values())} of the counted steps. Set .grad to None "
            "where they are frozen, by zero_grad(set_to_none=True), or leave them out of the optimizer." for name, layers in moved.items()]
