# SPDX-License-Identifier: Apache-2.0
"""Weights that stay zero because the layers before or after them do, too: two factors of a product that both begin with zero."""
from .dead import all_zero


def zero_weights(untrained, merged):
    """Returns those layers that untrained() names whose weights were zero in all counted steps, if some of them give what others get:
    none of them has a gradient. merged: {(layer, role): RangeSummary} of the whole run."""
    zero = [row["layer"] for row in untrained["layers"] if (row["layer"], "weight") in merged and all_zero(merged[row["layer"], "weight"])]
    return zero if set(zero) & set(untrained["unfed"]) and set(zero) - set(untrained["reached"]) else []


def zero_weights_text(layers, listed):
    """Returns a line about them. listed(names): some names in words."""
    return [f"The weights of {listed(layers)} are zero and stay so: where both factors of a product begin with zero, as the A and B of a "
            "LoRA, neither has a gradient. Begin one of each pair with numbers that are not zero."] if layers else []
