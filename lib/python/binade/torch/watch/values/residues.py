# SPDX-License-Identifier: Apache-2.0
"""Gradients that rounding alone leaves of zero, and weights too small to matter beside what they are added to.

The gradient of a bias is the sum of the gradient of its layer's output. Where that sum is zero, as of a key's bias in attention or of a
bias before a BatchNorm, its terms' roundings stay: about the rounding error of their format times their norm, while sums of other
gradients have about that norm or more. On the CPU, by torch 2.15, `python tests/bench/rounding_residues.py`: 0.65 to 110 rounding
errors in BF16, 0.71 to 110 in FP16, and at most 2^-12.4 and 2^-15.4 of the norm of all gradients; others at least 0.54 of their
terms' norm. Those of more than 64 rounding errors are taken for gradients, since a small one may be as small.
"""
import math

from .... import _binade

# log2 of a format's rounding error, half its unit roundoff, which is about the root of its mean square over that of the values; FP32's
# residues are below the share that a report takes as zero.
ERROR = {"BF16": -9, "F16": -12}
MOST_ERRORS = 6  # log2 of how many rounding errors of the terms a residue may be


def norm_log2(summaries):
    """Returns log2 of the L2 norm of all values together, about, from counts by binade: within a factor of 1.6; -inf of zeros."""
    rows = [(int(e), int(n)) for summary in summaries for e, n in zip(summary.exponents, summary.counts)]
    if not rows:
        return -math.inf
    top = max(e for e, _ in rows)
    return top + math.log2(7 / 3 * sum(n * 4.0 ** (e - top) for e, n in rows)) / 2  # 7/3: the mean square within [1, 2)


def residues(layers, summary):
    """Returns the (layer, role) of the gradients of biases that rounding in a narrow format may have left of zero.

    layers: {(layer, role): Layer}. summary(layer, role): of the whole run. A sum is compared with its terms as the sums of other biases
    are, since what changes the gradients of weights alone, as clipping does, makes all of them smaller.
    """
    # Keys of torch.nn.MultiheadAttention, whose outputs are not seen: shifting all of them by a bias changes no softmax.
    keys = {key: (key[0].removesuffix("k.bias") + "v.bias", "dW") for key in layers if key[1] == "dW" and key[0].endswith(".k.bias")
            and (key[0].removesuffix(".bias"), "dAct") not in layers and layers[key].dtype in ERROR}
    out = {key for key, of in keys.items() if of in layers
           and norm_log2([summary(*key)]) <= norm_log2([summary(*of)]) + ERROR[layers[key].dtype] + MOST_ERRORS}
    terms = {key: (key[0].removesuffix(".bias"), "dAct") for key in layers if key[1] == "dW" and key[0].endswith(".bias")}
    terms = {key: of for key, of in terms.items() if of in layers}
    if not any(layers[of].dtype in ERROR for of in terms.values()):
        return out
    norms = {key: norm_log2([summary(*key)]) for key in terms}
    ratios = {key: norms[key] - norm_log2([summary(*of)]) for key, of in terms.items() if norms[key] > -math.inf}
    if not ratios:
        return out
    usual = min(0.0, sorted(ratios.values())[3 * len(ratios) // 4])
    whole = norm_log2([summary(*key) for key in layers if key[1] == "dW"])
    errors = {key: ERROR.get(layers[terms[key]].dtype, -math.inf) for key in ratios}
    return out | {key for key, ratio in ratios.items() if ratio <= usual + errors[key] + MOST_ERRORS and norms[key] <= whole + errors[key]}


def left_by_rounding(layers, summary):
    """Returns the layers of biases whose gradients are no more than rounding leaves of zero in any format, or too small a share of the
    norm of all to matter: what becomes of these is no finding. Arguments as for residues()."""
    keys = [key for key in layers if key[1] == "dW"]
    if not keys:
        return set()
    total = summary(*keys[0])
    for key in keys[1:]:
        total = total + summary(*key)
    out = {layer for layer, _ in residues(layers, summary)}
    return out | {layer for layer, role in keys if layer.endswith(".bias") and _binade._is_negligible(summary(layer, role), total)}


def belongs(layer, role, biases):
    """Returns whether a gradient, update or state is that of one of the biases that biases() returns, as of left_by_rounding()."""
    owner = layer.rpartition(".")[0] if role == "state" else layer
    return role in ("dW", "update", "state") and owner.endswith(".bias") and owner in biases()


def drowns(bias, lost, output):
    """Returns whether what a format makes zero of a bias, a share `lost` of its norm, is below FP16's rounding error of the output that
    the bias is added to."""
    if not lost or not output.nonzero:
        return not lost
    return (norm_log2([bias]) + math.log2(lost) - math.log2(bias.values) / 2
            <= norm_log2([output]) - math.log2(output.values) / 2 + ERROR["F16"])


def residues_text(rows, listed):
    if not rows:
        return []
    return ["Gradients that are no more than rounding in their own format leaves where a sum is zero, and that ask for no loss scale: "
            f"{listed([' '.join(row.values()) for row in rows])}."]
