# SPDX-License-Identifier: Apache-2.0
"""Fused ops that divide by a norm, a deviation or a number of elements: where that is exactly zero, what they give is 0/0 in any format."""

LOSSES = frozenset("mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy soft_margin_loss".split())
EPS = "give an eps above zero"
PASS_OVER = "pass over such batches"
VECTOR = "begin with v that is not zero: of a weight that is to begin with zero, g alone is zero"


def rows_of(name, args, x):
    """Returns a tensor such as the first argument of a fused norm with what is divided by one number in its last axis."""
    if name == "native_group_norm":
        return x.reshape(args[3], args[6], -1)
    return x.flatten(x.dim() - len(args[1]))


def divided_by_zero(name, args, out):
    """Returns (why, cure), as texts, of what is not finite in a fused op's result if all of that comes of a divisor that is exactly
    zero, else None. args: finite."""
    if name in LOSSES:
        return None if args[0].numel() else ("it is the mean of no element", PASS_OVER)
    if name == "weight_norm_interface":
        axis = args[2] if len(args) > 2 else 0
        values, result = (x.transpose(0, axis).flatten(1) for x in (args[0], out))
        zero, what, cure = (values == 0).all(-1), "norm", VECTOR
    elif name in ("native_layer_norm", "native_group_norm", "fused_rms_norm"):
        if args[-1] != 0:
            return None
        values, result = (rows_of(name, args, x) for x in (args[0], out))
        middle = 0 if name == "fused_rms_norm" else values[..., :1]
        zero, what, cure = (values == middle).all(-1), "root of a mean square" if name == "fused_rms_norm" else "deviation", EPS
    else:
        return None
    if not bool(zero.any()) or bool((~result.isfinite().all(-1) & ~zero).any()):
        return None
    many = int(zero.sum())
    return f"it divides by a {what} that is zero, of {many:,} row{'s' * (many != 1)}", cure
