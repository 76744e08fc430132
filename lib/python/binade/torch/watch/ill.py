# SPDX-License-Identifier: Apache-2.0
"""What advice says first of a run that was not finite, and of what was seen inside of its layers."""
import copy

from .alerts import GRADIENTS
from .gaps import UNLOOKED
from .loop.own_ills import OwnIll, own_ill
from .loop.scale_ills import cause_text, floor_text, own_scale_text, unusable_text
from .loop.skip_causes import is_stuck, skipped_for_scale, skips_text
from .loop.stalled import passed_over_text
from .spared import cure_text, spared, spared_text
from .values.compiled import UNCOMPILED
from .values.words import shown


def runs_in_a_row(steps):
    """Returns the first of the steps at the end of an ascending list that follow one another."""
    first = steps[-1]
    for step in reversed(steps[:-1]):
        if step != first - 1:
            break
        first = step
    return first


def is_unlooked(run, event):
    """Whether Inf or NaN arose, or may have, inside of a layer in a step that a smaller `every` would have looked into."""
    return (event.role != "weight" and UNCOMPILED not in event.cause and event.arose is not False and event.step % run.every != 0
            and not any(note.startswith(UNLOOKED) for note in run.notes))


def ill_of(run, merged):
    """Returns a dict: finite, whether the run was; dead, whether nothing was trained at its end, or nothing of an optimizer; spared,
    whether Inf or NaN arose that reached no weight; skipped, how many steps a scaler, or the loop itself, skipped for its gradients; by_scale,
    whether a loss scale of the loop's own is the cause; scale, the last step's loss scale if it is no number above 0, as text; unlooked,
    the step in which Inf or NaN arose if no step with some was looked into, or None; lines, all that as text.

    merged: {(layer, role): RangeSummary} of the whole run. Inf that is meant, as a mask's, is none, nor is what reached no weight.
    """
    events = sorted(run.nonfinite(), key=lambda event: event.step)
    of_no_weight = spared(run)
    for_scale = {id(event) for event in skipped_for_scale(run)}
    left_out = [event for event in events if event.is_left_out or id(event) in for_scale]
    ill = [event for event in events if not (event.is_left_out or event.is_spared or id(event) in for_scale)]
    skipped = sorted({event.step for event in left_out})
    scale = str(run._unusable_scale[0]) if run._unusable_scale else None
    unusable = unusable_text(run, min((event.step for event in events), default=None))
    own = OwnIll() if unusable else own_ill(run)
    lines, dead = [], False
    of_some = " of " + " and ".join(one.layers for one in run._skips.stuck) if run._skips.stuck else ""
    unlooked = None
    if ill:
        lines += own.lines if own.is_cause else [] if run._unusable_scale or (ill[0].cure and ill[0].phase == "backward") else own_scale_text(run, ill[0].step)
        lines.append(f"The run was not finite: {ill[0].text}.{cure_text(ill[0])}")
        if is_unlooked(run, ill[0]) and not any(event.op for event in ill):
            unlooked = ill[0].step
            lines.append("Which op gave it, and what to do, is not known of a step that was not looked into: every=1 names both.")
        hidden = [event for event in ill if event.hidden]
        plain = [event for event in ill if not (event.hidden or event.was_there)]
        if ill[0].hidden and len(hidden) > 1:
            lines.append(f"So it was in {len(hidden) - 1:,} more of the steps that were looked into, up to step {hidden[-1].step}.")
        if ill[0].hidden and plain:
            lines.append(f"First of what was not hidden: {plain[0].text}.")
        if ill[0].was_there and plain:
            lines.append(f"First of what came of it: {plain[0].text}.")
        steps = sorted({event.step for event in events if plain and not (event.hidden or event.is_spared) and event.step >= plain[0].step})
        dead = len(steps) > 2 and runs_in_a_row(steps) == steps[0]
        if dead:
            lines.append(f"Nor was any step after it, up to step {steps[-1]}: what was counted{of_some} from then on tells of no training.")
        lines += passed_over_text(run, ill[0], dead)
        dead = dead or bool(run._skips.passed_over)
    elif not of_no_weight:
        scaled = any(window.loss_scale is not None for window in run.windows)
        rows = [(layer, role, summary) for (layer, role), summary in merged.items() if summary.nan or (
            summary.inf and (layer, role) not in run.meant_infinities())]
        rows = [] if unusable else [row for row in rows if not ((scaled or own.lines) and row[1] in GRADIENTS)]
        if rows:
            layer, role, summary = rows[0]
            what = " and ".join(f"{n:,} {name}" for name, n in (("Inf", summary.inf), ("NaN", summary.nan)) if n)
            lines.append(f"The run was not finite: {what} in {role} of {layer}"
                         + (f", and in {len(rows) - 1:,} others" if len(rows) > 1 else "") + ".")
    finite = not lines and not unusable
    at = len(lines)
    total = max(run._skips.steps, run.windows[-1].last + 1 if run.windows else 0)
    dead = dead or is_stuck(skipped, total)
    if own.lines:
        lines, dead = lines + ([] if ill else own.lines), dead or own.dead
    elif run._skips.text:
        lines.append(f"{run._skips.text[0].upper()}{run._skips.text[1:]}.")
        dead = dead or run._skips.all or bool(run._skips.starved)
        floored = left_out and left_out[-1].step == total - 1 and floor_text(run, left_out)
        asks = left_out and (run._skips.all or run._skips.starved) and not unusable
        lines += cause_text(run, left_out) if asks and (floored or not ill) else []
    elif skipped and not unusable:
        lines += skips_text(run, left_out, [event for event in ill if event.skipped and not event.by_loop], total)
    elif run._skips.split:
        lines.append(f"The scaler skipped {run._skips.split}.")
    if scale is not None and not unusable:
        lines.append(f"The loss scale in use at the end is {scale}: nothing that it multiplies can be divided again.")
    lines = [*unusable, *lines[:at], *spared_text([event for event in of_no_weight if not (own.is_cause and event.by_scale)], not dead), *lines[at:]]
    return {"finite": finite, "dead": dead, "spared": bool(of_no_weight), "skipped": len(skipped), "by_scale": own.is_cause, "scale": scale, "unlooked": unlooked,
            "lines": lines}


def of_training(run, held, layers, ill, meant):
    """Returns the summaries without those that tell nothing of what FP16 would do to a training: of what is not in FP16, those that hold
    NaN, or Inf that is not meant, gradients beside others that do, and all of a run that trained nothing at its end.

    held: {(layer, role): RangeSummary}. ill: what ill_of() gives. meant: the (layer, role) whose Inf is meant."""
    well = [window for window in run._windows if not any(
        role in GRADIENTS and (x.nan or x.inf) for (_, role), x in window.summaries.items())]
    out = {}
    for key, x in held.items():
        if layers[key].dtype == "F16" or not (ill["dead"] and not ill["finite"] or x.nan or x.inf and key not in meant):
            beside = key[1] in GRADIENTS and layers[key].dtype != "F16" and len(well) < len(run._windows)
            found = [window.summaries[key] for window in well if key in window.summaries] if beside else [x]
            if found:
                out[key] = sum(found[1:], copy.copy(found[0]))
    return out


def none_kept(of, diverges, uncounted, underflow, but_for=""):
    """Returns the sentence that says that no layer is to be kept in FP32, as far as a run tells it. diverges: whether the
    training does. uncounted: what uncounted_text() gives. underflow: layers of which FP16 may have made zeros. but_for: what is left
    out."""
    if diverges:
        return "Which layers need FP32 is not known of a training that diverges."
    if underflow:
        more = len(underflow) - 12
        return (f"Which layers need FP32 is not known where FP16 may have made zeros: {', '.join(map(shown, underflow[:12]))}"
                + (f" and {more} more" if more > 0 else "") + ".")
    if of["finite"] and not of["dead"]:
        more = (", as far as it was counted" if uncounted else "") + (f", but for {but_for}" if but_for else "")
        return f"No layer needs FP32 for its range{more}."
    return f"Which layers need FP32 is not known of a run that {'trained nothing at its end' if of['finite'] else 'was not finite'}" + (
        "." if of["unlooked"] is None else f", since step {of['unlooked']} was not looked into (every=1 does).")


def eps_text(rows):
    """Returns lines about what an optimizer adds to a divisor and is zero."""
    return [f"{row['optimizer']}'s eps {row['eps']:g} is 0 in {row['dtype']}, the dtype of {row['of']}: where that is zero, the step "
            f"divides by zero. Keep the weights and their states in FP32, or give an eps that stands {row['beside']}, such as "
            f"{row['serving']:.0e} (it is not 0 from {row['least']:.0e} on). It is so for "
            f"{len(row['layers'])} parameter{'s' * (len(row['layers']) > 1)}: {', '.join(map(shown, row['layers'][:12]))}"
            + (f" and {len(row['layers']) - 12} more" if len(row["layers"]) > 12 else "") + "." for row in rows]
