# SPDX-License-Identifier: Apache-2.0
"""Inf and NaN that reached no weight: what optimizers got was finite, and so were the weights that they made of it."""


def spared(run):
    """Returns the NonFinites of a run that reached no weight, as a list in the order of steps."""
    return sorted((event for event in run.nonfinite() if event.is_spared), key=lambda event: event.step)


def spared_at(run, window, role, summary):
    """Whether Inf or NaN among the gradients of outputs of a window reached no weight in any of its steps."""
    if role != "dAct" or not (summary.nan or summary.inf):
        return False
    events = [event for event in run.nonfinite() if window.first <= event.step <= window.last]
    return bool(events) and all(event.is_spared for event in events)


def cure_text(event):
    """Returns what to do about what no format helps, as a sentence; "" of what one may help."""
    return f" What helps: {event.cure}." if event.cure and not event.came else ""


def more_text(events):
    return f" So it was in {len(events) - 1:,} more steps, up to step {events[-1].step}." if len(events) > 1 else ""


def spared_text(events, trains=True):
    """Returns lines about NonFinites that reached no weight: of losses, and of others. trains: whether the run does at its end."""
    out = []
    losses, others = ([event for event in events if (event.is_loss or event.reaches_loss) is is_loss] for is_loss in (True, False))
    if losses:
        first = losses[0]
        narrow = any(x.get("dtype") in ("F16", "float16") for x in first.inputs) and first.found.get("inf") and not (first.cure or first.came)
        cure = "; in FP32 (of outputs.float()), or as a mean in place of a sum, it does not overflow" if narrow else ""
        out.append(f"The loss{' alone' * first.is_loss} was not finite, and its value is no number to watch{cure}: {first.text}. The gradients that the "
                   f"optimizer got and the weights {'are finite: the run trains' if trains else 'were finite then'}.{cure_text(first)}{more_text(losses)}")
    if others:
        how = ("the run trains, but is fragile: another op in place of what ended it may let it through" if
                  others[0].phase == "backward" else "the run trains, since the loss or the loop passed it over")
        out.append(f"Inf or NaN reached no weight: {others[0].text}. The gradients that the optimizer got and the weights "
                   f"{f'are finite: {how}' if trains else 'were finite then'}.{more_text(others)}")
    return out
