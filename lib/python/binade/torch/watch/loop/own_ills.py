# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a loss scale that a loop keeps by itself, and with what it does where gradients are not finite: a scale that is never
lowered, that falls without a floor or is too large from the start, and steps that are made with Inf."""
import dataclasses
import math

from ..values.nonfinite import LOSS, scale_text
from .diverging import diverging
from .own_scale import LARGE, LEAST, LEFT_OUT, MOST, STEPPED, STEPPED_ILL, STUCK, follows_ill
from .scale_ills import SENSIBLE, began_text, is_too_soon, lasting

LONG = 20  # turns that take a scale down from any sensible one to one that fits
DEEP = 2.0**-10  # a scale that nobody wants
HALVE = "Halve it wherever gradients are not finite, as GradScaler does, and raise it only after many steps in which they are"


@dataclasses.dataclass
class OwnIll:
    """lines: what is said of it. is_cause: whether the scale is why gradients were not finite. dead: whether the last steps trained
    nothing."""

    lines: list = dataclasses.field(default_factory=list)
    is_cause: bool = False
    dead: bool = False


def event_of(run, stretch):
    return next((event for event in sorted(run.nonfinite(), key=lambda one: one.step) if event.step >= stretch.first), None)


def is_of_scale(event, scale):
    """Returns whether it is for a scale, and not for what the model gave, that something overflowed."""
    return scale is not None and scale >= LEAST and (
        event is None or event.by_scale or (event.layer == LOSS and scale == math.inf) or (event.phase == "backward" and not event.cure))


def formats_of(event):
    return " FP16" if event is not None and event.dtype in ("", "F16") and event.found.get("inf") else ""


def stuck(run, turns, last):
    """Returns the OwnIll of a loop that left out all of its last turns."""
    event, total = event_of(run, last), sum(turns.counts.values())
    whole = last.turns == total
    many = f"all of its {total:,} steps" if whole else f"all {last.turns:,} steps from then on"
    end = ": nothing was trained" if whole else ", which trained nothing"
    began = f" It began with {event.text}." if event is not None else ""
    multiplied = last.began is not None and (turns.is_own and not turns.divided or last.began >= LARGE)
    if multiplied and last.began == math.inf:
        return OwnIll([infinite_text(turns, last, many, end)], True, True)
    if multiplied and is_of_scale(event, last.began) and last.ended is not None and last.ended >= last.began:
        how = f"while it raised the scale to {scale_text(last.ended)}" if last.ended > last.began else "without lowering it"
        fits = fitting(turns, last.began)
        fits = f"; up to {scale_text(fits)} they were finite" if fits else ""
        return OwnIll([f"The loop's own loss scale is the cause: from step {last.first} on, at {scale_text(last.began)}, the scaled gradients "
                       f"overflowed{formats_of(event)}, and the loop left out {many} {how}{end}{fits}. {HALVE}, or use GradScaler."
                       f" No layer is the cause, and FP32 no remedy.{began}"], True, True)
    if turns.divided and is_of_scale(event, turns.divided[1]):
        first, then = map(scale_text, turns.divided)
        later = f", and later by {then}" if first != then else ""
        return OwnIll([f"The loop's own loss scale seems to be the cause: gradients were divided by {first}{later}, and from step {last.first} on "
                       f"the scaled ones overflowed{formats_of(event)}, and the loop left out {many}{end}. {HALVE}, or use GradScaler. watch(…, loss_scale=) takes it.{began}"], True, True)
    fell = last.began is not None and last.ended is not None and last.ended < last.began
    fall = f"its loss scale fell from {words(last.began)} to {words(last.ended)}" if fell else ""
    left = sorted((one for one in run.nonfinite() if one.step >= last.first), key=lambda one: one.step)
    if fell and last.stays >= STUCK and left and overflows(lasting(left)):
        floor = words(last.ended)
        return OwnIll([f"The loop left out {many}, whose gradients were not finite, while {fall}, its floor{end}: they overflow there, too, in the "
                       f"last {last.stays + 1:,} steps. The loss itself is too large: take a mean for a sum, scale inputs and targets to the order of "
                       f"1, or let the scale fall below {floor}. {began_text(left)}"], True, True)
    if fell and is_of_scale(event, last.began) and last.ended >= DEEP and (last.turns < LONG or last.ended > SENSIBLE):
        return OwnIll([f"The loop left out {many}, whose gradients were not finite, while {fall}{end}: " + (
            "it began far too high: begin with 2^16." if last.began > SENSIBLE else f"it may still come down to one that fits.{began}")],
            dead=whole)
    why = f", though {fall}: a smaller scale does not cure that" if fell else (
        "" if last.began is not None else ". If the loss is multiplied by a scale, watch(…, loss_scale=) takes it")
    floor = " Give the scale a floor of 1." if fell and last.ended < 1 else ""
    event, began = (lasting(left), f" {began_text(left)}") if left and fell else (event, began)
    cure = f" What to do: {event.cure}." if event is not None and event.cure else ""
    return OwnIll([f"From step {last.first} on the loop left out {many}, since gradients were not finite{end}{why}.{floor}{began}{cure}"],
                  dead=True)


def infinite_text(turns, last, many, end):
    """Returns a line about a scale that became Inf, which halving leaves as it is. many, end: which steps were left out, and what that means."""
    rose = turns.first is not None and turns.first < math.inf
    how = f"it grew from {scale_text(turns.first)} without a bound" if rose else "it began so"
    fits = fitting(turns, last.began)
    return (f"The loop's own loss scale is the cause: it is Inf from step {last.first} on, since {how}; the scaled loss and its gradients are Inf or NaN "
            f"then, whatever the model gives, and the loop left out {many}{end}{f'; up to {scale_text(fits)} they were finite' if fits else ''}. To halve it does "
            f"not bring it back, since half of Inf is Inf: bound it, at {scale_text(SENSIBLE)} for instance, as GradScaler stays in the range of FP32, or set "
            "it anew. BF16 and FP32 need none. No layer is the cause, and FP32 no remedy.")


def overflows(event):
    """Returns whether it is an overflow of the backward pass alone."""
    return event.phase == "backward" and bool(event.found.get("inf")) and not (event.found.get("nan") or event.cure)


def fitting(turns, below):
    """Returns the scale of the last turn before which was stepped with finite gradients, if that is below one; else None."""
    fine = next((one.ended for one in reversed(turns.stretches) if one.kind == STEPPED and one.ended is not None), None)
    return fine if fine is not None and fine < below else None


def stepped(run, turns):
    """Returns the OwnIll of a loop that stepped with gradients that a scale of its own made Inf; None if it did not."""
    one = next((one for one in turns.stretches if one.kind == STEPPED_ILL), None)
    event = None if one is None else event_of(run, one)
    if event is None or not (turns.is_own or one.began is not None and one.began >= LARGE and event.dtype == "F16") or not is_of_scale(event, one.began) or diverging(run, False) is not None:
        return None
    if event.origin is not None and event.origin.rounded and not turns.first < one.began:
        return None  # of a loss of FP16 its own text tells, and what to do
    grew = f", to which it had grown from {scale_text(turns.first)}" if turns.first is not None and turns.first < one.began else ""
    what = "the scaled loss was more than its dtype holds" if event.layer == LOSS and event.phase == "forward" else (
        f"the scaled gradients overflowed{formats_of(event)}")
    bound = f"; bound it, at {scale_text(min(SENSIBLE, one.began / 2))} for instance" if grew else ""
    bound += ", since half of Inf is Inf" if bound and one.began == math.inf else ""
    return OwnIll([f"The loop's own loss scale is the cause: in step {one.first}, at {scale_text(one.began)}{grew}, {what}, and the loop "
                   "stepped with what came of that. Look, before each step, whether all gradients are finite; where they are not, leave the step out and halve the "
                   f"scale, as GradScaler does{bound}. "
                   "No layer is the cause, and FP32 no remedy."], True)


def fallen(turns):
    """Returns the OwnIll of a scale that fell without a floor while steps were made; None if it did not, or for gradients that were not
    finite."""
    ill = next((one for one in turns.stretches if one.kind in (LEFT_OUT, STEPPED_ILL)), None)
    divides = turns.is_sure or turns.is_given or turns.divided is not None or not turns.low  # else it may be a weight of the loss
    if not turns.is_own or not divides or not turns.first or turns.first < LEAST or turns.low >= DEEP or (
            ill is not None and (ill.began is None or ill.began >= DEEP)):
        return None
    what = "no gradient is left under it, and divided by it they are NaN" if turns.low == 0 else "what of gradients is in FP16 becomes zero under it"
    return OwnIll([f"The loop's own loss scale is the cause: it fell from {words(turns.first)} to {words(turns.low)}: {what}. "
                   "Give it a floor, as 1, lower it only where gradients are not finite, and raise it after many steps in which they are."],
                  True, turns.low == 0)


def own_ill(run):
    """Returns the OwnIll of a run."""
    turns = run._own_scale
    last = turns.stretches[-1] if turns.stretches else None
    if last is None or turns.is_apart or run._skips.scalers:
        return OwnIll()
    fell = fallen(turns)
    if fell is not None:
        return fell
    if follows_ill(turns):
        return stepped(run, turns) or OwnIll(dead=True)
    if last.kind == LEFT_OUT and (last.turns >= STUCK or last.turns == sum(turns.counts.values())):
        return stuck(run, turns, last)
    found = stepped(run, turns)
    if found is not None or not turns.counts[LEFT_OUT]:
        return found or OwnIll()
    out = [step for one in turns.stretches if one.kind == LEFT_OUT for step in range(one.first, one.last + 1)]
    total = sum(turns.counts.values())
    fixed = turns.low == turns.high
    one = next(one for one in turns.stretches if one.kind == LEFT_OUT)
    event = event_of(run, one)
    of_scale = event is None or is_of_scale(event, LEAST)
    told = f" The first was {event.text}." if event is not None and not event.is_spared else ""  # what is spared is told itself
    first = told if not of_scale else search_end_text(turns, one) if turns.is_own and not fixed else ""
    fixed = fixed or not of_scale and turns.counts[LEFT_OUT] == 1  # a scale that falls once for ill data looks for nothing
    return OwnIll([f"The loop left out {turns.counts[LEFT_OUT]:,} of {total:,} steps by itself, whose gradients were not finite" + (
        ": it raises its scale too soon, or the largest gradients of some steps lie far above those of others." if is_too_soon(out, total)
        and not fixed else ", as it does while it looks for its scale." if turns.is_own and not fixed else ".") + first])


def search_end_text(turns, first):
    """Returns a sentence about how a search for a scale went, of which the first left-out Stretch is one: where it began, and at which scale
    the last step was made; "" where a scale is not known."""
    last = next((one for one in reversed(turns.stretches) if one.kind == STEPPED), None)
    if first.began is None or last is None or not last.ended or len(turns.stretches) == MOST:  # the first may be forgotten
        return ""
    return f" The first was step {first.first}, at {words(first.began)}; the last step was made at {words(last.ended)}."


def hidden_text(run):
    """Returns why no loss scale follows from gradients under a scale of the loop's own; "" if one does."""
    turns = run._own_scale
    if turns.hides:
        low, high = turns.divided or (turns.low, turns.high)
        known = f"from {words(low)} to {words(high)}" if low != high else words(low)
        if turns.divided:
            return (f"The loop divides gradients before its steps ({known}), as by a loss scale of its own, by which the gradients of outputs were "
                    "not divided as they were counted: no scale follows from them. Give watch(…, loss_scale=) it, or a function that returns it.")
        return (f"The loop multiplies its loss by a scale of its own ({known}), by which the gradients of outputs were not divided as they were "
                "counted: no scale follows from them. Give watch(…, loss_scale=) that scale, or a function that returns it.")
    return ""


def words(scale):
    return scale_text(scale) if scale else "0"
