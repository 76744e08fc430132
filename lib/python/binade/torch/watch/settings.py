# SPDX-License-Identifier: Apache-2.0
"""Settings of optimizers that train nothing: a learning rate that is 0 in all steps, and numbers that are Inf or NaN."""
import math

import torch

from ..observe.attaching import living, unwrapped_optimizer
from .skips import OVER

NUMBERS = "lr", "momentum", "dampening", "weight_decay", "betas", "eps", "alpha", "rho", "lambd"  # as torch's optimizers name them
LEAST = 2  # steps: a warm-up may begin at 0
ASKED = "Is its scheduler stepped, by scheduler.step() after each step of the optimizer?"


def rate_of(group):
    """Returns the learning rate of a parameter group as a float; 1 where it has none, or leaves it to the optimizer."""
    rate = group.get("lr")
    return 1.0 if rate is None else float(rate)


def numbers_of(group):
    """Yields (name, number) of the settings that are known without waiting for a GPU."""
    for key in NUMBERS:
        value = group.get(key)
        for x in value if isinstance(value, list | tuple) else [value]:
            if isinstance(x, int | float) or (isinstance(x, torch.Tensor) and x.is_cpu and x.numel() == 1):
                yield key, float(x)


def is_idle(optimizer):
    """Returns whether each learning rate of an optimizer is known to be 0."""
    return all(("lr", 0.0) in numbers_of(group) for group in optimizer.param_groups)


def schedule_of(optimizer):
    """Returns what is known of why the learning rates of an optimizer are 0, and what to do, as text of one sentence or more."""
    kinds = torch.optim.lr_scheduler
    found = [x for x in living(getattr(kinds, "LRScheduler", kinds._LRScheduler))
             if unwrapped_optimizer(getattr(x, "optimizer", None)) is optimizer]
    first = [group.get("initial_lr", group.get("lr")) for group in optimizer.param_groups]
    if not any(float(x or 0) for x in first):
        return "It was made with that, or the loop has set it: give it a learning rate above 0."
    if not found:
        return ASKED
    last = max(found, key=lambda x: x.last_epoch)
    if last.last_epoch < 1:
        return f"Its scheduler, {type(last).__name__}, was not stepped: call scheduler.step() after each step of the optimizer."
    return (f"Its scheduler, {type(last).__name__}, was stepped {last.last_epoch:,} times and makes 0 of the learning rate of "
            f"{max(float(x or 0) for x in first):g} that it began with: its factor is 0. Look at how the factor is computed: a whole-number "
            "division, as step // warmup_steps, gives 0 during all of the warm-up.")


def note_ill_settings(optimizer, parts, causes):
    """Adds to causes, {layer: text}, the settings that are Inf or NaN. parts: {id of a parameter: its Parts}."""
    for group in optimizer.param_groups:
        ill = [f"{type(optimizer).__name__}'s {key} is {x}" for key, x in numbers_of(group) if not math.isfinite(x)]
        if ill:
            text = " and ".join(dict.fromkeys(ill)) + ", which the loop or a scheduler has set"
            causes.update((part.layer, text) for parameter in group["params"] for part in parts.get(id(parameter), ()))


def idle(run, changed):
    """Returns a dict for each optimizer whose learning rate was 0 in all of its steps: optimizer, layers, steps, whole: whether
    it is all of them, and schedule: what is known of why, as text. changed: whether a weight of the run changed."""
    there = [one for one in run._skips.optimizers.values() if one.steps > one.skipped]
    rows = [one for one in there if one.idle == one.steps - one.skipped and one.idle >= LEAST]
    whole = len(rows) == len(there)
    if whole and changed:
        return []
    return [{"optimizer": one.optimizer.partition(OVER)[0], "layers": one.layers, "steps": one.idle, "whole": whole,
             "schedule": one.schedule or ASKED} for one in rows]


def idle_text(rows):
    """Returns lines about what idle() found."""
    return [f"Nothing {'' if row['whole'] else 'of ' + row['layers'] + ' '}was trained: the learning rate of {row['optimizer']} was 0 "
            f"in all {row['steps']} steps. {row['schedule']}" for row in rows]
