# SPDX-License-Identifier: Apache-2.0
"""Whether a training diverges: its weights grew from step to step, and its activations with them, until something overflowed. Of one
snapshot nothing is said, and nothing of weights that grow while updates are small beside them, as in a warm-up."""
import dataclasses
import math

GREW = 4.0  # times, of the norm of all weights, or of the largest activation
AT_ONCE = 2.0  # an update so many times as large as the weights needs no growth before it
RATHER = 0.1  # the share by which the weights still change in the last step before
LARGE = 256.0  # an activation on its way to overflow; in a step in which data alone overflow, those before are smaller
WHOLE = 32.0  # times that the weights grew in a run that stayed finite
NEAR = 2  # steps between the last one that is counted and the overflow, of growth at once


@dataclasses.dataclass
class Row:
    """The norms of one window, of all weights and of all updates; and the largest activation."""

    first: int
    last: int
    weight: float
    update: float
    act: float


def square(summary):
    """Returns the sum of the squares of the finite values, about, from how many lie in each binade."""
    total = 0.0
    for exponent, many in zip(summary.exponents.tolist(), summary.counts.tolist()):
        total += math.inf if exponent > 500 else many * 7 / 3 * 4.0**max(exponent, -500)
    return total


def rows_of(run, until):
    """Returns the Rows of the windows up to a step; of the one that holds it, if that is one step, without what came after the weights."""
    out = []
    for window in run.windows:
        if window.last > until or (window.last == until and window.steps > 1):
            break
        sums, act = {"weight": 0.0, "update": 0.0}, 0.0
        for (layer, role), x in window.summaries.items():
            if role in sums:
                sums[role] += square(x) if not x.nan and not x.inf else 0.0
            elif role == "act" and x.nonzero:
                act = max(act, x.largest)
        out.append(Row(window.first, window.last, *(math.sqrt(x) for x in sums.values()), act))
    return out


def is_diverging(rows, until, is_finite):
    """Returns whether the Rows before a step in which something was not finite tell of a training that diverges."""
    before = [row for row in rows if row.last < until]
    if len(rows) < 2 or not before or not all(row.weight for row in rows):
        return False
    first, last, end = rows[0], before[-1], rows[-1]
    weights = end.weight / first.weight
    if is_finite:
        return weights >= WHOLE and any(row.update >= AT_ONCE * row.weight for row in rows)
    if last.update >= AT_ONCE * last.weight and until - last.last <= NEAR:
        return end.act >= GREW * first.act
    change = max(last.update / last.weight, end.weight / rows[-2].weight - 1)
    return weights >= GREW and change >= RATHER and last.act >= max(GREW * first.act, LARGE)


def diverging(run, keeps):
    """Returns a dict about a run that diverges: layer, whose weights became largest, least and most, their largest values at first and at
    last, steps, between these, others, how many layers more have weights that grew as much, change, the largest update beside the weights,
    by norms, finite, scaled, whether steps were made with scaled gradients, and settings, whether some of an optimizer's are wrong; or None. keeps: whether the run holds what overflows FP16, which is looked at if it was finite."""
    ill = [event for event in run.nonfinite() if not event.is_left_out or event.phase == "forward"]
    if not ill and not keeps or not run.windows:
        return None
    until = min(event.step for event in ill) if ill else run.windows[-1].last + 1
    rows = rows_of(run, until)
    if not is_diverging(rows, until, not ill):
        return None
    first, last = (next(window for window in run.windows if window.first == row.first) for row in (rows[0], rows[-1]))
    grown = {}
    for (layer, role), x in last.summaries.items():
        was = first.summaries.get((layer, role))
        if role == "weight" and was is not None and was.nonzero and x.nonzero and x.largest >= GREW * was.largest:
            grown[layer] = was.largest, x.largest
    updates = [row for row in rows if row.last < until and row.weight]
    if not grown:
        return None
    layer = max(grown, key=lambda name: grown[name][1])
    return {"layer": layer, "least": grown[layer][0], "most": grown[layer][1], "steps": last.first - first.first,
            "others": len(grown) - 1, "change": max(row.update / row.weight for row in updates), "finite": not ill,
            "scaled": any(mistake.mistake == "step_with_scaled_gradients" for mistake in run.mistakes),
            "settings": bool(run._learning.wrong)}


def diverging_text(of):
    """Returns lines about what diverging() gives."""
    if of is None:
        return []
    others = f", and those of {of['others']} other{'s' * (of['others'] > 1)} at least {GREW:g} times as well" if of["others"] else ""
    if of["scaled"]:
        cure = "Its steps were made with gradients that were still multiplied by the loss scale: unscale them first"
    elif of["settings"]:
        cure = "Mend what is said of its optimizer's settings first"
    elif of["change"] < RATHER:
        cure = "The optimizer's steps are not what makes them grow: look for what else writes to the weights"
    else:
        cure = ("Lower the learning rate, warm it up, or clip the gradients; bring inputs and targets of large numbers to about 1; if the loss is multiplied by a scale, divide the gradients "
                "by it before the step")
    return [f"The training diverges: the weights of {of['layer']} grew from {of['least']:.3g} to {of['most']:.3g} (the largest of them) "
            f"in {of['steps']} step{'s' * (of['steps'] > 1)}{'' if of['finite'] else ', before what follows'}{others}; the largest "
            f"update was {of['change']:.3g} times as large as the weights, by their norms. {cure}. FP32 is no "
            "remedy: its range only puts the overflow off."]
