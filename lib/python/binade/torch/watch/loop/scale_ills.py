# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a run's loss scale itself: that it is Inf or 0, that a loop's own one grows or falls without a bound, that a scaler
begins far too high, grows too soon, or falls for what no loss scale cures."""
import math

from ..values.nonfinite import scale_text
from .diverging import square

SENSIBLE = 2.0**24  # as a loss scale; PyTorch's begins at 2^16
LONG = 10  # steps that a scaler skips before its first one, more than it needs to come down from any sensible scale
APART = 4  # runs of skipped steps with others between them: more than a scaler needs to find its scale
LATE = 20  # steps that take a scaler down from any sensible scale to one that fits; those after it are late
OFTEN = 10  # one step in so many is more than a search for a scale skips
DRIFT, STEADY = 256.0, 16.0  # times that gradients inside of a model grow, while those that the optimizer gets do not
AT_LEAST = 3  # counted steps of a drift


def unusable_text(run, first):
    """Returns lines about a loss scale that is no number above 0. first: the first step that was not finite, or that a scaler skipped;
    None. Where that came before, the scale is a consequence and nothing is said here."""
    if not run._unusable_scale or (first is not None and first < run._unusable_scale[1]):
        return []
    scale, step = run._unusable_scale
    if scale == 0:
        why = ("no gradient is left, and divided by it they are NaN. It was lowered without a floor: keep it at 1 or above, and look for "
               "what made it fall")
    elif math.isinf(scale):
        why = "the scaled loss and its gradients are Inf or NaN, whatever the model gives. " + (
            f"It was raised without a bound: bound it, at {scale_text(SENSIBLE)} for instance; BF16 and FP32 need none" if step else
            "It began so: give the scaler an init_scale of 2^16, and look for what its state was loaded from")
    else:
        why = "a loss scale is a finite number above 0"
    return [f"The loss scale is {scale:g} from step {step} on: {why}. No layer is the cause, and FP32 no remedy."]


def own_scale_text(run, first):
    """Returns lines about a scale by which a loop multiplies its loss unseen, and divides the gradients: those inside of the model grow
    or fall from step to step, those that the optimizer gets do not. first: the first step that was not finite."""
    rows = []
    for window in run.windows:
        if window.last >= first or window.loss_scale is not None:
            break
        sums = {role: math.sqrt(sum(square(x) for (_, of), x in window.summaries.items() if of == role)) for role in ("dAct", "dW")}
        if not all(0 < x < math.inf for x in sums.values()):
            break
        rows.append((window.first, sums["dAct"], sums["dW"]))
    if len(rows) < AT_LEAST:
        return []
    ratios = [act / weight for _, act, weight in rows]
    steady = max(weight for *_, weight in rows) <= STEADY * min(weight for *_, weight in rows)
    grows, falls = (all(y >= x for x, y in zip(of, of[1:])) and of[-1] >= DRIFT * of[0] for of in (ratios, ratios[::-1]))
    if not steady or not (grows or falls):
        return []
    how, cure = (("grew", "Halve it wherever gradients are not finite, as GradScaler does; BF16 and FP32 need none") if grows else
                 ("fell", "Give it a floor, as 1, and look for what made it fall"))
    return [f"The loop's own loss scale seems to be the cause: from step {rows[0][0]} to {rows[-1][0]} the gradients inside of the model "
            f"{how} from {rows[0][1]:.3g} to {rows[-1][1]:.3g} (norm), while those that the optimizer got did not, until the scaled loss "
            f"{'overflowed' if grows else 'was lost'}. {cure}. watch(…, loss_scale=) takes it."]


def runs_of(steps):
    """Returns the runs of steps that follow one another, as a list of (first, last)."""
    out = []
    for step in steps:
        if out and step == out[-1][1] + 1:
            out[-1] = out[-1][0], step
        else:
            out.append((step, step))
    return out


def is_too_soon(skipped, total):
    """Returns whether a scaler skips again and again, or long after it began, in a run of so many steps."""
    if len(runs_of(skipped)) == 1:
        return False  # it looks for a scale that is far from where it was
    late = [step for step in skipped if step - skipped[0] >= LATE]
    return len(late) * OFTEN > total or (len(runs_of(skipped)) >= APART and len(skipped) * OFTEN > total)


def search_text(run, skipped):
    """Returns the words about skipped steps that are no illness. skipped: their NonFinites; one at the scale at which the first steps
    were taken is told itself, since no search for a scale is why."""
    first = run.windows[0].loss_scale if run.windows and all(event.step for event in skipped) else None
    spike = next((event for event in skipped if first is not None and event.loss_scale == first), None)
    if spike is None:
        return f"as it does while it looks for its scale.{search_end_text(run, skipped)}"
    if any(not mistake.warning and mistake.step <= spike.step for mistake in run.mistakes):
        return f"as may come of the steps before, whose order of calls was wrong: mend that first: {spike.text}."
    return f"though steps before were taken at the same scale: the gradients of that step alone are so large: {spike.text}."


def too_high(run, skipped):
    """Returns (which steps, why), as words, of a scaler that skipped many for its own scale, which it began with or was set to; None of
    others. skipped: the NonFinites of these."""
    for first, last in runs_of(sorted({event.step for event in skipped})):
        scale = next((event.loss_scale for event in skipped if event.step == first and event.loss_scale), 0.0)
        if last - first + 1 < LONG or scale <= SENSIBLE or any(event.cure for event in skipped):
            continue
        if not first:
            return f"up to {last}", f"it began at {scale_text(scale)}, far too high: give it an init_scale of {scale_text(2.0**16)}, or look at the state that it was loaded from"
        return f"from {first} to {last}", (f"it was {scale_text(scale)} in step {first}, far too high: look for what set it so, as update(new_scale), a state "
                                           "that was loaded, or a growth without a bound")
    return None


def floor_text(run, skipped):
    """Returns words about a scale that a loop set back, or raised, after skipped steps, so that gradients overflowed at it again; "" of others.
    skipped: the NonFinites of these steps."""
    floor, up = run._skips.floor, run._skips.raised
    if not (floor or up) or any(mistake.mistake == "missing_update" for mistake in run.mistakes):
        return ""
    there = [event for event in skipped if event.step >= (up.raised[0] if up else floor.first)]
    if there and not overflows(lasting(there)):
        return ""
    if up:
        step, before, after = up.raised
        return (f"after {up.raises:,} skipped steps the loop raised the loss scale, the first time after step {step} from {scale_text(before)} to "
                f"{scale_text(after)}, as by update(new_scale) or a state that it loads, though gradients overflow. GradScaler halves it by itself: leave "
                "that out, so that it can fall")
    scale = scale_text(floor.scale)
    return (f"from step {floor.first} on the loop set the loss scale back to {scale} after {floor.times:,} skipped steps, though gradients overflow "
            f"at it; no smaller one was tried. GradScaler halves it by itself: lower that floor, or remove it, so that the scale can fall below {scale}; or "
            "make the loss smaller, as by a mean in place of a sum")


def overflows(event):
    """Returns whether it is an overflow of the backward pass, which a smaller scale may cure."""
    return event.phase == "backward" and not event.cure and (not event.found or bool(event.found.get("inf")))


def search_end_text(run, skipped):
    """Returns a sentence about a scaler that had to go below 1 in its first steps; "" of others, and where the order of calls gave it other
    gradients than the run's. skipped: the NonFinites of its skipped steps."""
    first, last = runs_of(sorted({event.step for event in skipped}))[0]
    least = min((event.loss_scale for event in skipped if event.loss_scale and event.step <= last), default=1.0)
    if first or least >= 1 or any(not mistake.warning for mistake in run.mistakes):
        return ""
    return (f" Even at {scale_text(least)} they overflow: the loss itself is too large. Divide it, as by taking a mean for a sum, or compute in "
            "FP32 what makes it so large.")


def lasting(skipped):
    """Returns the first of NonFinites of what the last of them are of, as smaller scales did not cure it. skipped: in the order of steps, at
    falling scales."""
    ends = skipped[0].loss_scale, skipped[-1].loss_scale
    if all(ends) and ends[0] < ends[1]:
        return skipped[0]
    low = math.sqrt(ends[0]) * math.sqrt(ends[1]) if all(ends) else math.inf
    last = next((event for event in reversed(skipped) if event.op is not None and (event.loss_scale or 0) <= low), skipped[-1])
    return next(event for event in skipped if (event.phase, event.layer, event.op, event.site) == (last.phase, last.layer, last.op, last.site))


def began_text(skipped):
    """Returns a sentence about what made gradients of skipped steps ill, NonFinites, at the smaller of their scales, too."""
    event = lasting(skipped)
    return f"It began with {event.text}." if event is skipped[0] else f"What no smaller scale cured is {event.text}."


def cause_text(run, skipped):
    """Returns lines about why a scaler skipped every step, or all that came last. skipped: the NonFinites of these, backward."""
    high, floor = too_high(run, skipped), floor_text(run, skipped)
    if high is not None and not floor:
        return [f"The loss scale is the cause: {high[1]}."]
    if floor:
        return [f"{floor[0].upper()}{floor[1:]}. {began_text(skipped)}"]
    first = lasting(skipped)
    is_vain = first.cure or len(skipped) >= LATE and not (run._skips.floor or run._skips.raised)
    cure = " A smaller loss scale does not cure that." if first is skipped[0] and is_vain else ""
    return [f"{began_text(skipped)}{cure}" + (f" What to do: {first.cure}." if first.cure else "")]
