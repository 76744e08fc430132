# SPDX-License-Identifier: Apache-2.0
"""The values of an optimizer's states, those of torchao and bitsandbytes dequantized by their own functions."""
import sys

import torch

from ...observe.tensors import local, placement_of

BLOCKS = 256, 2048, 4096  # values that have a scale together, by bitsandbytes' versions


def values_of(states):
    """Yields (key, tensor, its values or None) for each state of a parameter that is a tensor, but its number of steps, and the
    tables and scales of quantized ones. states: {key: state}, as optimizers keep them."""
    for key, state in states.items():
        if not isinstance(state, torch.Tensor) or key == "step" or is_of_bitsandbytes(key, states):
            continue
        table, scales = (states.get(name + key.removeprefix("state")) for name in ("qmap", "absmax"))
        if key.startswith("state") and isinstance(table, torch.Tensor) and isinstance(scales, torch.Tensor):
            yield key, state, dequantized_by_bitsandbytes(state, table, scales)
        else:
            yield key, state, local(dequantized(state))


def is_of_bitsandbytes(key, states):
    """Whether a state is a table of bitsandbytes, or the scales of another state."""
    return any(key.startswith(name) and f"state{key.removeprefix(name)}" in states for name in ("qmap", "absmax", "max", "new_max"))


def dequantized(x):
    """Returns what a quantized tensor of torch or a subclass stands for, by its own method; the tensor itself if it has none."""
    if placement_of(x) is None:
        return x
    if placement_of(x):
        x = x.detach().to_local()
    own = getattr(type(x), "dequantize", None)
    if not x.is_quantized and own is torch.Tensor.dequantize:
        return x
    with torch.no_grad():
        out = x.dequantize()
    return out if isinstance(out, torch.Tensor) else x


def dequantized_by_bitsandbytes(x, table, scales):
    """Returns the values of bitsandbytes' state of 8 bits, whose scales belong to blocks; None if it cannot be asked."""
    function = getattr(sys.modules.get("bitsandbytes.functional"), "dequantize_blockwise", None)
    block = next((n for n in BLOCKS if -(-x.numel() // n) == scales.numel()), None)
    if function is None or block is None:
        return None
    with torch.no_grad():
        return local(function(x, absmax=scales, code=table, blocksize=block))
