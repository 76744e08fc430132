# SPDX-License-Identifier: Apache-2.0
"""Why a scaler skipped steps: for its scale, or for what no loss scale cures. Each cause is told with the steps that it took."""
import collections

from .scale_ills import began_text, cause_text, floor_text, is_too_soon, runs_of, search_text, too_high
from .skips import too_soon_text

STREAK = 20  # steps that a scaler skips one after the other, more than it needs to come down from where it begins
SURE = 2  # steps in which the same reached no weight
SHOWN = 6  # runs of steps of a list


def place_of(event):
    return event.phase, event.layer, event.op, event.site


def skipped_for_scale(run):
    """Returns the NonFinites of a forward pass whose steps a scaler skipped for its scale: at smaller ones the same reached no weight."""
    spared = collections.defaultdict(list)
    for event in run.nonfinite():
        if event.is_spared and event.loss_scale:
            spared[place_of(event)].append(event.loss_scale)
    found = [event for event in run.nonfinite() if event.skipped and not event.by_loop and event.phase == "forward" and event.loss_scale
             and len(spared[place_of(event)]) >= SURE]
    return [event for event in found if event.loss_scale > max(spared[place_of(event)])]


def steps_text(events):
    """Returns the steps of NonFinites in words, as "steps 1 to 3 and 5"."""
    rows = [f"{first}" if first == last else f"{first} to {last}" for first, last in runs_of(sorted({event.step for event in events}))]
    rows = rows[:SHOWN] + ([f"{len(rows) - SHOWN} runs more"] if len(rows) > SHOWN else [])
    words = " and ".join(filter(None, (", ".join(rows[:-1]), rows[-1])))
    return f"step{'s' * (words != str(events[0].step))} {words}"


def others_text(others, told):
    """Returns words about the skipped steps that no scale is the cause of. others: their NonFinites. told: that which is told of before."""
    same = [event for event in others if place_of(event) == place_of(told)]
    apart = [event for event in others if place_of(event) != place_of(told)]
    rows = [f"{steps_text(same)} for what is told above"] if same else []
    rows += [f"{steps_text(apart)} for other Inf or NaN, the first of it {apart[0].text}"] if apart else []
    return ", ".join(rows)


def is_stuck(skipped, total):
    """Returns whether a scaler skips on and on at the end. skipped: ascending numbers of steps. total: how many steps there were."""
    first, last = runs_of(skipped)[-1] if skipped else (0, 0)
    return last - first >= STREAK and last == total - 1


def skips_text(run, left_out, others, total):
    """Returns lines about the steps that a scaler skipped. left_out: the NonFinites of those that it skipped for
    their gradients. others: of those that it skipped for what came before these, and is told of. total: how many steps there were."""
    steps = {event.step for event in left_out + others}
    left_out = [event for event in left_out if event.step not in {one.step for one in others}]
    whose = f" ({run._skips.split})" if run._skips.split else ""
    many = max(len(steps), 0 if whose else run._skips.skipped)
    head = f"The scaler skipped {many} of {total} steps, whose gradients were not finite{whose}"
    if not left_out:
        return [f"{head}: {others_text(others, others[0])}."]
    skipped = sorted({event.step for event in left_out})
    first, last = runs_of(skipped)[-1]
    high, floor = too_high(run, left_out), floor_text(run, left_out)
    head += f": {others_text(others, others[0])}, and {steps_text(left_out)}" if others else ""
    if high and not floor:
        return [f"{head}, those {high[0]} in a row: {high[1]}."]
    if is_stuck(skipped, total):
        of_some = " of " + " and ".join(one.layers for one in run._skips.stuck) if run._skips.stuck else ""
        why = floor or ("" if run._skips.floor or run._skips.raised else "a smaller loss scale does not cure them")
        ends = [event for event in left_out if event.step >= first]
        return [f"{head}, those from {first} to {last} in a row, which trained nothing{of_some}{': ' * bool(why)}{why}.",
                *([began_text(ends)] if floor else cause_text(run, ends))]
    if floor:
        return [f"{head}: {floor}."]
    if is_too_soon(skipped, total):
        return [f"{head}, in {len(runs_of(skipped))} runs with others between them: {too_soon_text(run._skips)}"]
    return [f"{head}{' ' if others else ', '}{search_text(run, left_out)}"]
