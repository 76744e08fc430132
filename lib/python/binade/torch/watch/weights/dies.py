# SPDX-License-Identifier: Apache-2.0
"""Layers before a ReLU that died in the run: from some step on all outputs of most units are negative, and no gradient reaches these. And
compiled parts that died, of which nothing but the outputs and the gradients of the weights are seen."""
from ..values.residues import norm_log2
from .dead import all_zero, owner_of

LEAST = 3  # counted steps at the end in which a layer is dead
DEAD, NEGATIVE, ALIVE = 0.75, 0.875, 0.5  # shares: of weights without a gradient, of outputs below zero; and of the first, before
ROWS = 16  # of a batch: of fewer a unit that is negative in all of them may live
LARGE = -2  # log2 of what an update may be of its weight before it is named as the cause


def dies(run, layers):
    """Returns a row for each weight most of whose units were dead in all counted steps from some on, three or more, after they had learned,
    while other gradients were not zero, or all of its outputs were negative: layer, since, the first of these steps, steps, how many,
    share, the least part of the weight that had no gradient there, alone, whether no other gradient was left either, and log2 of the norm
    of the last update before beside that of its weight, None if that is not known. Where windows hold several steps, since is that of a
    window."""
    windows, rows = run._windows, []
    for layer, role in layers:
        shape = layers[layer, role].shape or ()
        if role != "dW" or len(shape) < 2 or layers[layer, role].placement == "sharded":
            continue
        shares = [dead_share(window, layer, shape[0]) for window in windows]
        first = len(windows)
        while first > 0 and shares[first - 1] >= DEAD:
            first -= 1
        lived = any(share <= ALIVE and (layer, "dW") in window.summaries for share, window in zip(shares[:first], windows))
        alone = not others_learn(windows[first:], layer)
        while alone and first < len(windows) and not all_negative(windows[first], layer):
            first += 1  # a loss that is met asks for no gradient either, but has seldom outputs that are all negative
        dead = windows[first:]
        if lived and sum(window.steps for window in dead) >= LEAST and (not alone or all(all_negative(window, layer) for window in dead)):
            rows.append({"layer": layer, "since": dead[0].first, "steps": sum(window.steps for window in dead), "share": min(shares[first:]),
                         "alone": alone, "moved_log2": moved_log2(windows[first - 1].summaries, layer)})
    began = min((row["since"] for row in rows if row["alone"]), default=None)  # what dies later where nothing learns dies of that
    return [row for row in rows if not row["alone"] or row["since"] == began]


def parts_die(run):
    """Returns a row for each compiled part all of whose outputs, and the gradients of all of whose weights, were zero in all counted steps
    from some on, three or more, while gradients reached the outputs, after both had not been: layer, since, steps and moved_log2 as of
    dies(), and of_fp16, whether it ran under FP16 autocast."""
    windows, rows = run._windows, []
    for part in (x for x in run._learning.compiled_parts if x not in run._inside):
        layers = [layer for layer, of in run._learning.compiled.items() if of == part]
        dead = [is_dead(window.summaries, part, layers) for window in windows]
        first = len(windows) - next((n for n, x in enumerate(reversed(dead)) if not x), len(windows))
        steps = sum(window.steps for window in windows[first:])
        if first and steps >= LEAST:
            moved = [moved_log2(windows[first - 1].summaries, layer) for layer in layers]
            rows.append({"layer": part, "since": windows[first].first, "steps": steps, "of_fp16": run._learning.in_fp16,
                         "moved_log2": max((x for x in moved if x is not None), default=None)})
    return rows


def is_dead(of, part, layers):
    gradients = [of[layer, "dW"] for layer in layers if (layer, "dW") in of]
    return bool(gradients) and all(map(all_zero, gradients)) and (part, "act") in of and (part, "dAct") in of and (
        all_zero(of[part, "act"]) and of[part, "dAct"].nonzero > 0)


def dead_share(window, layer, units):
    """Returns the share of a weight that had no gradient in a window, if negative outputs, of which a ReLU makes zeros, are why; else 0."""
    of = window.summaries
    owner = owner_of(layer, of)
    if owner is None or (layer, "dW") not in of or (owner, "act") not in of:
        return 0.0
    weight, out, back = of[layer, "dW"], of[owner, "act"], of[owner, "dAct"]
    told = out.values >= ROWS * units * window.steps and out.negative >= NEGATIVE * out.values and back.zeros >= out.negative
    return weight.zeros / weight.values if told and weight.values else 0.0


def others_learn(windows, layer):
    """Whether gradients of other layers were not zero meanwhile."""
    return all(any(x.nonzero for (name, role), x in window.summaries.items() if role == "dW" and name not in (layer, f"{layer}.bias"))
               for window in windows)


def all_negative(window, layer):
    """Whether all outputs of the layer of a weight were negative in a window."""
    x = window.summaries[owner_of(layer, window.summaries), "act"]
    return x.negative == x.values


def moved_log2(summaries, layer):
    update, weight = (summaries.get((layer, role)) for role in ("update", "weight"))
    return norm_log2([update]) - norm_log2([weight]) if update is not None and weight is not None and update.nonzero and weight.nonzero else None


def share_text(share):
    return "all of" if share == 1 else f"{100 * share:.3g} % or more of"


def dies_text(rows, listed):
    """Returns a line about what dies() found. listed(names): some names in words."""
    lines = []
    for since in sorted({row["since"] for row in rows}):
        of = [row for row in rows if row["since"] == since]
        lines.append(
            f"Layers that died: from step {since} on outputs of {listed([row['layer'] for row in of])} were negative almost everywhere, of which a "
            f"ReLU makes zeros (and a GELU or SiLU next to it), and {share_text(min(row['share'] for row in of))} the weights there got no "
            f"gradient in the {of[0]['steps']} counted steps since{', nor did any other weight' if all(row['alone'] for row in of) else ''}. "
            + remedy(of) + (" If it is the ReLU of the model's output, take none there, or a softplus. (A loss that is met, as a "
                            "hinge that is 0, asks for no gradient either.)" if all(row["alone"] for row in of) else ""))
    return lines


def parts_die_text(rows, listed):
    """Returns lines about what parts_die() found."""
    return [f"A part that runs compiled died: from step {row['since']} on all outputs of {listed([row['layer']])} were zero, and so were the gradients "
            f"of all of its weights in the {row['steps']} counted steps since, though gradients reached its outputs: a ReLU at its end, or after each "
            f"way to it, gets nothing but negative numbers{', or FP16 makes zeros of small ones' * row['of_fp16']}. {remedy([row])} Nobody saw inside of it: run it uncompiled to see the layer."
            for row in rows]


def remedy(rows):
    moved = max((row["moved_log2"] for row in rows if row["moved_log2"] is not None), default=None)
    large = moved is not None and moved >= LARGE
    return ((f"The last update before was {2.0**moved:.2g} times the norm of its weight: the step was too large. Use a smaller learning rate, a "
             "warm-up, or clip gradients more, " if large else "Use a smaller learning rate, look at what moved the biases, ")
            + "and begin anew or from a state before: what is dead does not come back, unless its activation has a slope below zero.")
