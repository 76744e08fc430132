# SPDX-License-Identifier: Apache-2.0
"""What is said of a run of which no watched step is over, as while its first step runs, or where training died in it: what was seen so far."""
import dataclasses

from .loop.order import order_text
from .loop.own_ills import own_ill
from .spared import cure_text
from .values.told import no_format

OVER = "A step is over when an optimizer steps, or w.step() is called"
NOT_YET = "not known before a watched step is over"
LISTS = ("spoiled formats uncounted refreshed dies parts_die zero_weights died keep_fp32 eps stuck_states by_hand ranks settings running buffers moved "
         "positions idle unbound residues autocast states lost_updates").split()  # the keys of an Advice that are lists


def ill_so_far(run):
    """Returns what Advice.not_finite is so far: the first Inf or NaN of the run, if there is one."""
    events = sorted(run.nonfinite(), key=lambda event: event.step)
    first = next((event for event in events if not event.is_left_out), None) or next(iter(events), None)
    lines = [] if first is None else [f"{'A step was left out' if first.is_left_out else 'The run was not finite'}: {first.text}.{cure_text(first)}"]
    return {"finite": first is None or first.is_left_out, "dead": False, "spared": False, "skipped": sum(event.is_left_out for event in events),
            "by_scale": False, "scale": None, "unlooked": None, "lines": lines}


def seen_before(run, format):
    """Returns the dict of the Advice of a run without windows, with its keys, of which the ones that tell of counted steps are empty."""
    return {
        **{key: [] for key in LISTS},
        "verdict": {"roles": {}, "text": []}, "excluded": {}, "diverges": None, "may_diverge_by_order": False, "already_zero": None, "overflowed_log2": None, "compiled": "",
        "loss_scale": {"format": format, "status": NOT_YET, "recommended_log2": None, "s_min_log2": None, "s_max_log2": None, "used_log2": None,
                       "reason": f"{NOT_YET}."},
        "untrained": {"layers": [], "underflow": [], "flat": {}},
        "not_finite": ill_so_far(run), "no_format": no_format(run),
        "mistakes": [dataclasses.asdict(mistake) for mistake in run.mistakes]}


def early_text(run, of):
    """Returns the lines of such an Advice. of: its dict."""
    own = own_ill(run)
    out = [*order_text(of["mistakes"]), *(own.lines if own.is_cause else of["not_finite"]["lines"])]
    out += [f"{note[0].upper()}{note[1:]}." for note in run.notes if not note.startswith("order of calls")]
    end = "what was seen so far is told above; formats" if out else "nothing was seen to be wrong so far; formats"
    return [*out, f"No watched step is over (steps 0, {run.every:,}, {2 * run.every:,} … are watched): {end} and a loss scale do not follow from it. {OVER}."]
