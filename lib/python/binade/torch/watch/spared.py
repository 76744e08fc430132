# SPDX-License-Identifier: Apache-2.0
"""Inf and NaN that reached no weight: what optimizers got was finite, and so were the weights that they made of it."""
from .values.told import FEW
from .values.words import shown

SHOWN = 12  # layers of a list

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


def trains_text(losses):
    """Returns what is said of a run whose losses were not finite and reached no weight: whether all of it trains."""
    starved = [event for event in losses if event.starves]
    if not starved:
        return "the run trains"
    known = [event.untaught for event in starved if event.untaught is not None]
    layers = sorted(frozenset.intersection(*known)) if known else []
    named = f"; nothing but zeros came then to {', '.join(map(shown, layers[:SHOWN]))}" + (
        f" and {len(layers) - SHOWN} more" if len(layers) > SHOWN else "") if layers else ""
    return f"the run goes on, but what comes before that Inf learns nothing from it in such steps{named}"


def spared_text(events, trains=True):
    """Returns lines about NonFinites that reached no weight: of losses, and of others. trains: whether the run does at its end."""
    out = []
    losses, others = ([event for event in events if (event.is_loss or event.reaches_loss) is is_loss] for is_loss in (True, False))
    if losses:
        first = next((event for event in losses if event.starves), losses[0])
        narrow = any(x.get("dtype") in ("F16", "float16") for x in first.inputs) and first.found.get("inf") and not (first.cure or first.came)
        cure = "; in FP32 (of outputs.float()), or as a mean in place of a sum, it does not overflow" if narrow else ""
        out.append(f"The loss{' alone' * first.is_loss} was not finite, and its value is no number to watch{cure}: {first.text}. The gradients that the "
                   f"optimizer got and the weights {f'are finite: {trains_text(losses)}' if trains else 'were finite then'}.{cure_text(first)}{more_text(losses)}")
    if others:
        how = ("the run trains, since the loss or the loop passed it over" if others[0].phase != "backward" else
               "the run trains, and there is nothing to do unless it comes again in many steps" if len(others) < FEW else
               "the run trains, but is fragile: another op in place of what ended it may let it through")
        out.append(f"Inf or NaN reached no weight: {others[0].text}. The gradients that the optimizer got and the weights "
                   f"{f'are finite: {how}' if trains else 'were finite then'}.{more_text(others)}")
    return out
