# SPDX-License-Identifier: Apache-2.0
"""Finds by what a loss of FP16 was multiplied before its backward pass, and says where that, or its gradient, is more than FP16 holds."""
import torch

from .nodes import op_of
from .nonfinite import scale_text

LARGEST = torch.finfo(torch.float16).max
OVERFLOW = 65520.0  # the least number that FP16 rounds to Inf
SCALING = frozenset(("mul", "div", "neg", "to_copy"))  # ops between a loss and where a backward pass begins that scale or cast it


def number_in(x):
    """Returns the number in a tensor of one, or a number; None of anything else."""
    if isinstance(x, torch.Tensor):
        return float(x) if x.dim() == 0 and not x.is_complex() and x.device.type == "cpu" else None
    return float(x) if isinstance(x, int | float) else None


def scale_of(root, saved_by):
    """Returns (the largest number that a gradient of 1 at a root becomes on its way to a loss, which was multiplied by a scale; whether
    that loss may be FP16). saved_by(node): what a node keeps, by name."""
    chain, node = [], root.grad_fn
    while node is not None and op_of(node) in SCALING:
        chain.append(node)
        node = next((before for before, _ in node.next_functions if before is not None), None)
    is_half = root.dtype == torch.float16 or any(op_of(node) == "to_copy" for node in chain)
    scale, largest = 1.0, 1.0
    for node in (node for node in chain if op_of(node) in ("mul", "div")):
        saved = saved_by(node)
        factor = next((x for x in (number_in(saved.get(name)) for name in ("other", "self")) if x), 1.0)
        scale = scale * factor if op_of(node) == "mul" else scale / factor
        largest = max(largest, abs(scale))
    return largest, is_half


def scale_cause(scale):
    """Returns why a loss of FP16, or its gradient, overflows as it is multiplied by a scale, and what to do, as text."""
    words = scale_text(scale)
    if scale >= OVERFLOW:
        return (f"the loss is FP16, and its scale, {words}, is more than FP16's largest number, {LARGEST:g}: take a scale of at most 2^15, "
                f"or compute the loss in FP32 and multiply it there (of outputs.float(); loss.float() * scale alone gives a loss of FP16 "
                f"the gradient {words})")
    return (f"the loss times its scale, {words}, is more than FP16's largest number, {LARGEST:g}: compute the loss in FP32 "
            "(of outputs.float()), or bound the scale at 2^15 and below what the loss allows")


def scaled_cause(scale):
    """Returns why a loss that is not FP16 was Inf as it was multiplied by a scale, as text."""
    return (f"it was multiplied by {scale_text(scale)} before its backward pass: the loss, or that product, is more than its dtype "
            "holds: bound that factor, and lower it where gradients are not finite")
