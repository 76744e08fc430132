# SPDX-License-Identifier: Apache-2.0
"""Settings of optimizers that train nothing, or the wrong way: a learning rate that is 0 in all steps, or below 0, and numbers that are
Inf or NaN."""
import dataclasses
import math

import torch

from ...observe.attaching import living, unwrapped_optimizer
from .skips import OVER

NUMBERS = "lr", "momentum", "dampening", "weight_decay", "betas", "eps", "alpha", "rho", "lambd"  # as torch's optimizers name them
SHOWN = {"betas": ("beta1", "beta2", "beta3")}  # what the numbers of a tuple are called
MOMENTUM = "what it multiplies in each step never decays, and steps grow without a bound"
TAKES_NONE = "the average that it weighs takes in no gradient"
CORRECTED = TAKES_NONE + ", and is divided by 1 − 1 = 0 to correct its beginning: "
SQUARES = CORRECTED + "0/0 is NaN where it is zero, as at the first step of all, and elsewhere each step is 0"
RAISES = TAKES_NONE + ", and its step divides by 1 − 1 = 0, which raises ZeroDivisionError"
ADAMS = "Adam", "AdamW", "NAdam", "Adamax", "RAdam"
# Factors that must be below 1, by their name, and what comes of 1: by the class of the optimizer, or of one that it derives from, and of others,
# where that is said of them all; None where it is well.
FACTORS = {
    "momentum": ({}, MOMENTUM),
    "beta1": (dict.fromkeys(ADAMS, CORRECTED + "its steps are Inf or NaN, or raise ZeroDivisionError") | {"NAdam": TAKES_NONE}, TAKES_NONE),
    "beta2": (dict.fromkeys(ADAMS, SQUARES) | {"Adamax": None, "RAdam": RAISES}, TAKES_NONE),
    "alpha": ({"RMSprop": TAKES_NONE + ", and where it is zero, as from the first step of all, each step divides by eps alone"}, None),
}
USUAL = {"beta2": 0.999, "alpha": 0.99}
ROUNDING = 1e-6  # of the first learning rate
LEAST = 2  # steps: a warm-up may begin at 0
LEAST_LAST, SHARE_LAST = 3, 0.2  # steps, and their share, from which on those at a learning rate of 0 at the end are told: a schedule may end at 0
LOOP, BY_SCHEDULER = "the loop has", "its scheduler, "
BY_LOOP = "The loop has set it, and no scheduler: look for what sets lr in its param_groups."
ASKED = "Is its scheduler stepped, by scheduler.step() after each step of the optimizer?"


def rate_of(group):
    """Returns the learning rate of a parameter group as a float; 1 where it has none, or leaves it to the optimizer."""
    rate = group.get("lr")
    return 1.0 if rate is None else float(rate)


def numbers_of(group, keys=NUMBERS):
    """Yields (name, number) of the settings that are known without waiting for a GPU."""
    for key in keys:
        if (value := group.get(key)) is None:
            continue
        several = isinstance(value, list | tuple)
        shown = SHOWN.get(key, ()) if several else ()
        for at, x in enumerate(value if several else [value]):
            if isinstance(x, int | float) or (isinstance(x, torch.Tensor) and x.is_cpu and x.numel() == 1):
                yield shown[at] if at < len(shown) else key, float(x)


def is_idle(optimizer):
    """Returns whether each learning rate of an optimizer is known to be 0."""
    return all(("lr", 0.0) in numbers_of(group, ("lr",)) for group in optimizer.param_groups)


def schedulers_of(optimizer):
    """Returns the schedulers of torch that set the learning rates of an optimizer, as a list."""
    kinds = torch.optim.lr_scheduler
    return [x for x in living(getattr(kinds, "LRScheduler", kinds._LRScheduler))
            if unwrapped_optimizer(getattr(x, "optimizer", None)) is optimizer]


def setter_of(optimizer):
    """Returns what has set the learning rates that an optimizer has, as text: a scheduler that last gave them, the loop if no scheduler of
    it did, or either."""
    rates, found = [rate_of(group) for group in optimizer.param_groups], schedulers_of(optimizer)
    gave = {id(x): list(map(float, getattr(x, "_last_lr", ()))) for x in found}
    by = next((x for x in found if any(a == b or (a != a and b != b) for a, b in zip(gave[id(x)], rates))), None)
    if by is not None:
        return f"{BY_SCHEDULER}{type(by).__name__}, has"
    return LOOP if found and all(gave.values()) else "the loop, or its scheduler, has"


def by_loop(optimizer):
    """Returns that the loop has set the learning rates of an optimizer that began with others, as text; "" if that is not known."""
    began = any(float(group.get("initial_lr") or 0) for group in optimizer.param_groups)
    return BY_LOOP if began and setter_of(optimizer) == LOOP else ""


def schedule_of(optimizer):
    """Returns what is known of why the learning rates of an optimizer are 0, and what to do, as text of one sentence or more."""
    found = schedulers_of(optimizer)
    first = [group.get("initial_lr", group.get("lr")) for group in optimizer.param_groups]
    if not any(float(x or 0) for x in first):
        return "It was made with that, or the loop has set it: give it a learning rate above 0."
    if not found:
        return ASKED
    epochs = [(getattr(x, "last_epoch", -1), type(x).__name__) for x in found]  # ChainedScheduler has none, but those in it
    last = max(epochs)[0]
    names = " and ".join(dict.fromkeys(name for epoch, name in epochs if epoch == last))
    if last < 1:
        return f"Its scheduler, {names}, was not stepped: call scheduler.step() after each step of the optimizer."
    return (f"Its scheduler, {names}, was stepped {last:,} time{'s' * (last != 1)} and makes 0 of the learning rate of "
            f"{max(float(x or 0) for x in first):g} that it began with: its factor is 0. Look at how the factor is computed: a whole-number "
            "division, as step // warmup_steps, gives 0 during all of the warm-up.")


def is_below_zero(rate, group):
    """Returns whether a learning rate is below 0 by more than what rounding leaves of a schedule that ends at 0."""
    return rate < -ROUNDING * float(group.get("initial_lr") or 0)


@dataclasses.dataclass
class Wrong:
    """A setting of an optimizer that is Inf, NaN, a learning rate below 0, or a factor that does not decay what it multiplies. first: the first step with it. value: what it was then.
    least: the least that it was. by: what has set a learning rate, as text. why: what comes of a factor that is 1."""

    optimizer: str
    key: str
    first: int
    value: float
    least: float
    by: str = ""
    why: str = ""

    @property
    def text(self):
        by = f", as {self.by} set it" if self.by else ""
        since = f"from step {self.first} on"
        if not math.isfinite(self.value):
            return (f"{self.optimizer}'s {self.key} is {self.value} {since}{by}: its steps make Inf or NaN of the weights. Look at how it is "
                    "computed, as a warm-up of 0 steps, by which it is divided. No layer is the cause, and FP32 no remedy.")
        if self.key in FACTORS:
            return f"{self.optimizer}'s {self.key} is {self.value:g} {since}: {self.why}. Take one below 1, as {USUAL.get(self.key, 0.9)}."
        least = f"{self.value:.3g}" + (f" at first, {self.least:.3g} at its least" if self.least < self.value else "")
        return (f"The learning rate of {self.optimizer} is below 0 {since} ({least}){by}: each step makes the loss larger. Bound it at 0, as by "
                "max(0, …) in the schedule, or end the schedule or the training before; where ascent is meant, maximize=True says so.")


def why_ill(optimizer, key, x):
    """Returns what comes of a factor of an optimizer that is 1 or more, as text; "" if it is none, or well."""
    if x < 1 or key not in FACTORS:
        return ""
    of, others = FACTORS[key]
    why = next((of[kind.__name__] for kind in type(optimizer).__mro__ if kind.__name__ in of), others)
    return (MOMENTUM if x > 1 else why) if why else ""


def stands_still(kind, group):
    """Returns whether a step of a class of torch.optim is 0 wherever it is finite, by the settings of a parameter group alone."""
    return FACTORS["beta2"][0].get(kind.__name__) == SQUARES and ("beta2", 1.0) in numbers_of(group)


def note_ill_settings(optimizer, step, parts, causes, wrong):
    """Adds what is wrong with an optimizer's settings before a step, which may raise for them: to wrong, {(optimizer's class, setting): Wrong}, and of those that are Inf
    or NaN, or an eps of 0, to causes, {layer: text}. parts: {id of a parameter: its Parts}."""
    name = type(optimizer).__name__
    for group in optimizer.param_groups:
        numbers = list(numbers_of(group))
        for key, x in numbers:
            ascends = key == "lr" and is_below_zero(x, group) and not group.get("maximize")
            why = why_ill(optimizer, key, x)
            if not math.isfinite(x) or ascends or why:
                if (name, key) not in wrong:
                    wrong[name, key] = Wrong(name, key, step, x, x, setter_of(optimizer) if key == "lr" else "", why)
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
    """Returns a dict for each optimizer whose learning rate was 0 in all of its steps, or in many that come last: optimizer, layers, steps,
    whole: whether it is all of them, schedule: what is known of why, as text, and since: the first of those that come last, or None.
    changed: whether a weight of the run changed."""
    there = [one for one in run._skips.optimizers.values() if one.steps > one.skipped]
    rows = [one for one in there if one.idle == one.steps - one.skipped and one.idle >= LEAST]
    whole = len(rows) == len(there)
    ended = [one for one in there if one.ends and one.idle_last < one.steps - one.skipped and one.idle_last >= max(LEAST_LAST, SHARE_LAST * one.steps)
             and one.idle_by.startswith(BY_SCHEDULER)]
    ended = ended if len(ended) == len(there) else []  # where another one goes on, a phase of the training may be meant
    return [row(one, one.idle, whole, one.schedule or ASKED, None) for one in rows if not (whole and changed)] + [
        row(one, one.idle_last, True, ended_text(one), one.idle_since) for one in ended]


def row(one, steps, whole, schedule, since):
    return {"optimizer": one.optimizer.partition(OVER)[0], "layers": one.layers, "steps": steps, "whole": whole, "schedule": schedule, "since": since}


def ended_text(one):
    return (f"{one.idle_by[0].upper()}{one.idle_by[1:]} set it: it ends before the training does. Give it as many steps as the training has (T_max, "
            "total_steps, num_training_steps count calls of scheduler.step()), or end the training there.")


def idle_text(rows):
    """Returns lines about what idle() found."""
    lines = []
    for one in rows:
        whose = "" if one["whole"] else f"of {one['layers']} "
        since, many = ("", "all") if one["since"] is None else (f" from step {one['since']} on", "its last")
        lines.append(f"Nothing {whose}was trained{since}: the learning rate of {one['optimizer']} was 0 in {many} {one['steps']} steps. "
                     f"{one['schedule']}")
    return lines
