# SPDX-License-Identifier: Apache-2.0
"""What advice says of layers that no gradient reached in any counted step, as behind and before dead ReLUs."""
import math


def untrained(run, layers, merged):
    """Returns a dict: layers, a list of {layer, steps}, the weights whose gradients were all zero in all counted steps, at least
    two; zeros, the layers whose outputs were all zero; negative, those of `layers` whose outputs were all negative and had no
    gradient; underflow, if there are no such, those whose outputs, or the gradients of these, were all zero in FP16, in which they
    may have become so. The last three are empty where the first is.

    merged: {(layer, role): RangeSummary} of the whole run. A vector, as a bias, is left out: it may have no gradient by its
    mathematics, such as a bias before a BatchNorm. So is a weight whose module did not run forward and backward, and one of which
    other processes have shards. A branch that begins with zeros has gradients once the weights of others have changed.
    """
    since = changed(run, merged)
    found, owners = [], {}
    for (layer, role), of in layers.items():
        key, owner = (layer, role), owner_of(layer, merged)
        if role != "dW" or of.placement == "sharded" or owner is None or not of.shape or len(of.shape) < 2:
            continue
        steps = merged[key].values // math.prod(of.shape) if all_zero(merged[key]) else 0
        if steps > 1 and any(key in window.summaries for window in since):
            found.append({"layer": layer, "steps": steps})
            owners[layer] = owner
    if not found:
        return {"layers": [], "zeros": [], "negative": [], "underflow": []}
    zeros = [layer for layer, role in merged if role == "act" and layers[layer, role].shape != () and (layer, "dAct") in merged
             and all_zero(merged[layer, role])]
    negative = [layer for layer, owner in owners.items() if (owner, "act") in merged and all_negative(merged[owner, "act"])
                and all_zero(merged[owner, "dAct"])]
    narrow = [] if negative else [(owner, "dAct") for owner in owners.values()] + [
        (layer, "act") for layer in zeros if (layer, "weight") in merged]
    underflow = dict.fromkeys(key[0] for key in narrow if layers[key].dtype == "F16" and all_zero(merged[key]))
    return {"layers": found, "zeros": zeros, "negative": negative, "underflow": list(underflow)}


def changed(run, merged):
    """Returns the windows after the first in which a weight changed; all of them if no weight could, as all gradients were zero."""
    for i, window in enumerate(run._windows):
        if any(summary.nonzero for (_, role), summary in window.summaries.items() if role == "update"):
            return run._windows[i + 1:]
    return run._windows if all(all_zero(summary) for (_, role), summary in merged.items() if role == "dW") else []


def owner_of(layer, merged):
    """Returns the module of a parameter if gradients of its outputs were counted, else None. It has the parameter's name, or the
    name without its last part."""
    for name in (layer, layer.rpartition(".")[0]):
        if (name, "dAct") in merged and merged[name, "dAct"].values:
            return name
    return None


def all_zero(summary):
    return summary.zeros == summary.values > 0


def all_negative(summary):
    return summary.negative == summary.values and summary.nonzero > 0


def untrained_text(of, listed):
    """Returns the lines about what untrained() found. listed(names): some names in words."""
    if not of["layers"]:
        return []
    steps = sorted({row["steps"] for row in of["layers"]})
    many = f"all {steps[0]} counted steps" if len(steps) == 1 else f"all counted steps ({steps[0]} to {steps[-1]})"
    line = (f"Layers that do not learn: no gradient reached {listed([row['layer'] for row in of['layers']])}; it was nothing but "
            f"zeros in {many}.")
    if of["zeros"]:
        line += f" All outputs of {listed(of['zeros'])} were zero."
    if of["negative"]:
        line += (f" All outputs of {listed(of['negative'])} were negative, of which a ReLU makes zeros: it is dead, and no gradient "
                 "passes it. Look at the initial biases and the learning rate, or take an activation that has a slope below zero.")
    elif of["underflow"]:
        line += (f" The outputs of {listed(of['underflow'])}, or the gradients of these, may have become zero in FP16: a run in FP32, "
                 "or one with a larger loss scale, tells.")
    elif not of["zeros"]:
        line += " Whether that is meant is not known: a saturated activation passes no gradient, nor does a softmax of one element."
    return [line]
