# SPDX-License-Identifier: Apache-2.0
"""Weights that stay zero because the layers before or after them do, too: two factors of a product that both begin with zero."""
from .dead import all_zero


def zero_weights(untrained, merged):
    """Returns those layers that untrained() names whose weights were zero in all counted steps, if none of them has a gradient since
    others of them are zero: some give what others get, or what they give is multiplied with what others give, or with a vector, as a
    scale of each channel, that is zero. merged: {(layer, role): RangeSummary} of the whole run."""
    zero = [row["layer"] for row in untrained["layers"] if is_zero(row["layer"], "weight", merged)]
    cut = set(zero) - set(untrained["reached"])
    if set(zero) & set(untrained["unfed"]) and cut:
        return zero
    factors = [layer for layer in zero if layer in cut and layer in untrained["zeros"]]
    vectors = zero_vectors(untrained, merged) if factors else []
    return factors + vectors if len(factors) + len(vectors) > 1 else []


def is_zero(layer, role, merged):
    return (layer, role) in merged and all_zero(merged[layer, role])


def zero_vectors(untrained, merged):
    """Returns the parameters besides those in untrained() that were zero, as their gradients were, in all counted steps; but for biases,
    which mostly begin so."""
    known = {row["layer"] for row in untrained["layers"]}
    return [layer for layer, role in merged if role == "weight" and layer not in known and not layer.split(".")[-1].startswith("bias")
            and is_zero(layer, "weight", merged) and is_zero(layer, "dW", merged)]


def zero_weights_text(layers, listed):
    """Returns a line about them. listed(names): some names in words."""
    return [f"The weights of {listed(layers)} are zero and stay so: where both factors of a product begin with zero, as the A and B of a "
            "LoRA, or a gate and what it multiplies, neither has a gradient. Begin one of each pair with numbers that are not zero."
            ] if layers else []
