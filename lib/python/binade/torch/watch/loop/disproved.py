# SPDX-License-Identifier: Apache-2.0
"""A loss scale for FP16 beside what the run itself showed: none is recommended at which its gradients were not finite, nor one that the
gradients of weights do not bind, since they were not counted."""
import math

from ..values.nonfinite import scale_text
from .own_ills import event_of, is_of_scale
from .own_scale import LARGE, LEAST, LEFT_OUT, STEPPED, STEPPED_ILL
from .skip_causes import skipped_for_scale

FIGURES = ("binding_max", "free_binades", "over_run", "lost_l2_at_recommended")  # of a scale that is not recommended


def not_finite_at(run):
    """Returns (scale, its steps as text) of the lowest scale for which gradients were not finite; None if there is none. What a smaller scale
    does not cure is no matter of it."""
    turns, found = run._own_scale, []
    for one in turns.stretches if not turns.is_apart else ():
        scale = {LEFT_OUT: one.low, STEPPED_ILL: one.began}.get(one.kind)
        if scale and math.isfinite(scale) and (turns.is_own or one.began >= LARGE) and is_of_scale(event_of(run, one), one.began):
            found.append((scale, f"step {one.first}" if one.turns == 1 or one.kind == STEPPED_ILL else f"steps {one.first} to {one.last}"))
    found += [(event.loss_scale, f"step {event.step}") for event in run.nonfinite()
              if event.is_left_out and not event.by_loop and event.phase == "backward" and not event.cure and event.loss_scale]
    found += [(event.loss_scale, f"step {event.step}") for event in skipped_for_scale(run)]
    return min(found, default=None, key=lambda row: row[0])


def overflowed_log2(run):
    """Returns log2, rounded down, of the lowest known scale at which gradients were not finite; None."""
    over = not_finite_at(run)
    return None if over is None else math.floor(math.log2(over[0]))


def finite_at(run):
    """Returns the largest known scale at which gradients of weights were finite; None."""
    turns, out = run._own_scale, {event.step for event in run.nonfinite()}
    scales = [window.loss_scale for window in run.windows if window.loss_scale and out.isdisjoint(range(window.first, window.last + 1))]
    if turns.is_own and not turns.is_apart:
        scales += [one.high for one in turns.stretches if one.kind == STEPPED and one.high]
    return max(filter(math.isfinite, scales), default=None)


def hides_gradients(run):
    """Whether gradients of weights that FP16 holds were not counted, since no optimizer that was seen holds these."""
    return (any("their gradients" in note for note in run._uncounted) and
            any(of.dtype == "F16" == (of.weight_dtype or of.dtype) for (_, role), of in run.layers.items() if role == "dAct")
            and not any(role == "dW" for _, role in run.layers))


def bounded(run, scale):
    """Returns the loss scale of a report, a dict, as far as the run does not disprove it."""
    if scale["format"] != "binary16" or scale["recommended_log2"] is None:
        return scale
    over, why, most = not_finite_at(run), [], scale["recommended_log2"]
    if over is not None:
        most = min(most, math.ceil(math.log2(over[0])) - 1)
        why.append(f"At {scale_text(over[0])} gradients of the run were not finite ({over[1]}): none above half of that is recommended.")
    if hides_gradients(run):
        fine = finite_at(run)
        most = -math.inf if fine is None else min(most, math.floor(math.log2(fine)))
        why.append("Gradients of weights, which FP16 holds, were not counted" + (
            ", and may overflow where those of outputs do not: no scale follows from these alone." if fine is None else
            f"; up to {scale_text(fine)} they were finite."))
    if most == scale["recommended_log2"]:
        return scale
    fits = most >= scale["s_min_log2"] and (over is None or over[0] >= LEAST)
    out = {**scale, **dict.fromkeys(FIGURES), "reason": " ".join(why)}
    if fits:
        return {**out, "recommended_log2": most, "s_max_log2": most}
    return {**out, "status": "not known", "recommended_log2": None, "s_min_log2": None, "s_max_log2": None, "binding_min": None}
