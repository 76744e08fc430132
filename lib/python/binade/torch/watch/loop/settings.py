# SPDX-License-Identifier: Apache-2.0
"""Settings of optimizers that train nothing, or the wrong way: a learning rate that is 0 in all steps, or below 0, and numbers that are
Inf or NaN."""
import dataclasses
import math

import torch

from ...observe.attaching import living, unwrapped_optimizer
from .skips import OVER

NUMBERS = "lr", "momentum", "dampening", "weight_decay", "betas", "eps", "alpha", "rho", "lambd"  # as torch's optimizers name them
FACTORS = "momentum", "betas"  # must be below 1
ROUNDING = 1e-6  # of the first learning rate
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


def schedulers_of(optimizer):
    """Returns the schedulers of torch that set the learning rates of an optimizer, as a list."""
    kinds = torch.optim.lr_scheduler
    return [x for x in living(getattr(kinds, "LRScheduler", kinds._LRScheduler))
            if unwrapped_optimizer(getattr(x, "optimizer", None)) is optimizer]


def schedule_of(optimizer):
    """Returns what is known of why the learning rates of an optimizer are 0, and what to do, as text of one sentence or more."""
    found = schedulers_of(optimizer)
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


def is_below_zero(rate, group):
    """Returns whether a learning rate is below 0 by more than what rounding leaves of a schedule that ends at 0."""
    return rate < -ROUNDING * float(group.get("initial_lr") or 0)


@dataclasses.dataclass
class Wrong:
    """A setting of an optimizer that is Inf, NaN, a learning rate below 0, or a factor that does not decay what it multiplies. first: the first step with it. value: what it was then.
    least: the least that it was. scheduler: the class of what sets learning rates; "" if none is known."""

    optimizer: str
    key: str
    first: int
    value: float
    least: float
    scheduler: str = ""

    @property
    def text(self):
        by = "" if self.key != "lr" else ", as " + (
            f"its scheduler, {self.scheduler}, has" if self.scheduler else "the loop, or its scheduler, has") + " set it"
        since = f"from step {self.first} on"
        if not math.isfinite(self.value):
            return (f"{self.optimizer}'s {self.key} is {self.value} {since}{by}: its steps make Inf or NaN of the weights. Look at how it is "
                    "computed, as a warm-up of 0 steps, by which it is divided. No layer is the cause, and FP32 no remedy.")
        if self.key in FACTORS:
            return (f"{self.optimizer}'s {self.key} is {self.value:g} {since}: what it multiplies in each step never decays, and steps grow "
                    "without a bound. Take one below 1, as 0.9.")
        least = f"{self.value:.3g}" + (f" at first, {self.least:.3g} at its least" if self.least < self.value else "")
        return (f"The learning rate of {self.optimizer} is below 0 {since} ({least}){by}: each step makes the loss larger. Bound it at 0, as by "
                "max(0, …) in the schedule, or end the schedule or the training before; where ascent is meant, maximize=True says so.")


def note_ill_settings(optimizer, step, parts, causes, wrong):
    """Adds what is wrong with an optimizer's settings in a step: to wrong, {(optimizer's class, setting): Wrong}, and of those that are Inf
    or NaN, or an eps of 0, to causes, {layer: text}. parts: {id of a parameter: its Parts}."""
    name = type(optimizer).__name__
    for group in optimizer.param_groups:
        numbers = list(numbers_of(group))
        for key, x in numbers:
            if not math.isfinite(x) or (key == "lr" and is_below_zero(x, group)) or (key in FACTORS and x >= 1):
                if (name, key) not in wrong:
                    by = next((type(one).__name__ for one in schedulers_of(optimizer)), "") if key == "lr" else ""
                    wrong[name, key] = Wrong(name, key, step, x, x, by)
                wrong[name, key].least = min(wrong[name, key].least, x)
        ill = [f"{name}'s {key} is {x}" for key, x in numbers if not math.isfinite(x)]
        text = " and ".join(dict.fromkeys(ill)) + ", which the loop or a scheduler has set" if ill else ""
        if not ill and ("eps", 0.0) in numbers:
            text = f"{name}'s eps is 0, so that its step divides 0 by 0 where all gradients of a weight were zero. Give it an eps above 0, as 1e-8"
        if text:
            causes.update((part.layer, text) for parameter in group["params"] for part in parts.get(id(parameter), ()))


def wrong_text(wrong):
    """Returns lines about settings that are Inf, NaN, or below 0."""
    return [one.text for one in sorted(wrong.values(), key=lambda one: one.first)]


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
