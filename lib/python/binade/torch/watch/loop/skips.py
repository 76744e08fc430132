# SPDX-License-Identifier: Apache-2.0
"""The steps of a run that scalers skipped: of which optimizers, at which loss scales, and what that says of the run."""
import dataclasses
import os

from ...observe.names import listed
from ..values.nonfinite import scale_text

TURNS = 3  # scalers, used one after the other, from which on a loop makes them anew; two may belong to two models
BARE = 3  # steps without a loss scale at the end
SENSIBLE_INTERVAL = 50  # steps after which a scale may grow
FLOORED = 3  # skipped steps after which a scale is as before; those with a hysteresis of 2 or 3 fall after fewer
SHARE_FLOORED = 0.25  # skipped steps for each other one: fewer are spikes
OVER = " over "  # in the text of an optimizer


@dataclasses.dataclass
class Floor:
    """A loss scale that stands though steps at it are skipped: the scale, the first of these steps, how many were followed by another one at
    the same scale, and how many steps between them were not skipped."""

    scale: float
    first: int
    times: int = 0
    others: int = 0


@dataclasses.dataclass
class Steps:
    """The steps of an optimizer, which is named by its text. skipped: those that a scaler left out. in_a_row: how many of these come
    last. scales: the loss scales at which they were. scalers: numbers of the scalers whose step() was called with it. scale: the loss scale
    of the last such call; None if it is not known. last: the number of its scaler. floor: the Floor at which its scale stood longest; None.
    now: that at which it stands. raises: skipped steps after which it was higher; raised: the first of these, and the scales before and
    after; None. skipped_at: the last step, if that was skipped; None. idle: the steps at learning rates of 0. schedule: what is known of
    these, as text. idle_last: how many of these come last; idle_since: the number of the first of them; idle_by: what has set their
    learning rates, as text."""

    optimizer: str
    steps: int = 0
    skipped: int = 0
    in_a_row: int = 0
    idle: int = 0
    schedule: str = ""
    idle_last: int = 0
    idle_since: int = 0
    idle_by: str = ""
    scales: set = dataclasses.field(default_factory=set)
    scalers: set = dataclasses.field(default_factory=set)
    scale: "float | None" = None
    last: "int | None" = None
    floor: "Floor | None" = None
    now: "Floor | None" = None
    raises: int = 0
    raised: "tuple | None" = None
    skipped_at: "int | None" = None

    def steps_through(self, scaler, scale, is_its_own):
        """Takes the number of a scaler whose step() is called with the optimizer, its loss scale, and whether that is read off it."""
        is_known = is_its_own and scale and self.scale and scaler == self.last
        if is_known and self.skipped_at is not None and scale > self.scale:
            self.raises, self.raised = self.raises + 1, self.raised or (self.skipped_at, self.scale, scale)
        if not is_known or scale != self.scale:
            self.now = None
        elif self.skipped_at is not None:
            self.now = self.now or Floor(scale, self.skipped_at)
            self.now.times += 1
            self.floor = self.now if self.floor is None or self.now.times >= self.floor.times else self.floor
        elif self.now is not None:
            self.now.others += 1
        self.scalers.add(scaler)
        self.scale, self.last = scale, scaler

    def add(self, is_skipped, step):
        """Takes whether a step was skipped, and its number."""
        self.steps += 1
        self.skipped_at = step if is_skipped else None
        self.skipped += is_skipped
        self.in_a_row = self.in_a_row + 1 if is_skipped else 0
        if is_skipped and self.scale is not None:
            self.scales.add(self.scale)

    @property
    def ends(self):
        """Whether the learning rate was 0 in the last steps and, but perhaps in a first one, in none before, as where a schedule has ended."""
        return self.idle - self.idle_last <= 1

    @property
    def is_floored(self):
        """Whether no step was skipped below a scale that stood though many steps at it were skipped."""
        return self.floor is not None and self.floor.times >= max(FLOORED, SHARE_FLOORED * self.floor.others) and self.floor.scale > 1 and self.floor.scale <= min(self.scales)

    @property
    def layers(self):
        return self.optimizer.partition(OVER)[2]

    @property
    def share(self):
        """How many steps were skipped, as text."""
        if self.steps == 1:
            return "the only step" if self.skipped else "not the one step"
        if self.skipped == self.steps:
            return f"all {self.steps:,} steps"
        return f"{f'{self.skipped:,}' if self.skipped else 'none'} of the {self.steps:,} steps"


@dataclasses.dataclass
class Skips:
    """The steps of a run that scalers skipped.

    steps: how many are over. skipped: those in which no optimizer stepped, since a scaler left them all out. scales: the loss
    scales of these, as a dict {scale: steps}. scalers: how many were used. last: the id of the last one. alternate: whether one was
    used again after another, as those of several models are. optimizers: the Steps of each, by its text. scaled: steps of which a scaler
    multiplied a loss. bare: the first of the steps since the last of these; None if that is the last step. disabled: whether a disabled
    scaler was called in one of them; half: whether one had gradients in FP16, None if none was counted. growth_interval: that of the scaler that was used last; None if it is not known.
    ill_at: the last step in which Inf or NaN reached an optimizer or a weight; None. passed_over: the forward passes after it, if no step was made in them
    and what they gave was not finite.
    """

    steps: int = 0
    skipped: int = 0
    scales: dict = dataclasses.field(default_factory=dict)
    scalers: int = 0
    last: "int | None" = None
    alternate: bool = False
    optimizers: dict = dataclasses.field(default_factory=dict)
    scaled: int = 0
    bare: "int | None" = None
    disabled: bool = False
    half: "bool | None" = None
    growth_interval: "int | None" = None
    ill_at: "int | None" = None
    passed_over: int = 0

    def sees_scale(self, step, is_scaled, is_half):
        """Takes the number of a step that is over, whether a scaler multiplied its loss, and whether it had gradients in FP16; None if it
        was not counted."""
        if is_scaled:
            self.scaled, self.bare, self.disabled, self.half = self.scaled + 1, None, False, None
            return
        self.bare = step if self.bare is None else self.bare
        self.half = self.half if is_half is None else is_half

    def of(self, optimizer):
        """Returns the Steps of an optimizer, which is given as text."""
        return self.optimizers.setdefault(optimizer, Steps(optimizer))

    def uses(self, scaler, is_new):
        """Takes the id of the scaler of a step. is_new: whether it was not used before."""
        self.scalers += is_new
        self.alternate = self.alternate or not (is_new or scaler == self.last)
        self.last = scaler

    @property
    def all(self):
        """Whether every step was skipped."""
        return self.steps > 0 and self.skipped == self.steps

    @property
    def starved(self):
        """The Steps of the optimizers that a scaler never let step, while it let others; a list."""
        out = [one for one in self.optimizers.values() if one.skipped and one.skipped == one.steps]
        return out if len(out) < len(self.optimizers) else []

    @property
    def stuck(self):
        """The Steps of the optimizers whose last step was skipped, where that of another one was not; a list."""
        out = [one for one in self.optimizers.values() if one.in_a_row]
        return out if len(out) < len(self.optimizers) else []

    @property
    def raised(self):
        """The Steps of the optimizer of which most were skipped before a scale that was higher; None where these are few."""
        one = max(self.optimizers.values(), key=lambda steps: steps.raises, default=None)
        return one if one is not None and one.raises >= FLOORED else None

    @property
    def floor(self):
        """The Floor of the optimizer of which the most steps were skipped at one; None."""
        found = [one.floor for one in self.optimizers.values() if one.is_floored]
        return max(found, key=lambda floor: floor.times, default=None)

    @property
    def split(self):
        """Whose steps were skipped, as text; empty of one optimizer, and where each had as large a share of them."""
        if len({one.skipped * other.steps - one.steps * other.skipped for one in self.optimizers.values()
                for other in self.optimizers.values()}) < 2:
            return ""
        rows = sorted(self.optimizers.values(), key=lambda one: -one.skipped / max(1, one.steps))
        return ", ".join(f"{one.share} of {one.optimizer}" for one in rows)

    @property
    def text(self):
        """What was skipped, as text; empty unless every step was, or every one of an optimizer, or new scalers skip steps again and
        again."""
        renewed = not self.alternate and (self.scalers >= TURNS or (self.all and self.scalers > 1))
        starved = self.starved
        if not starved and (not self.skipped or not (self.all or renewed)):
            return ""
        if starved:
            line = f"the scaler skipped {self.split}"
        else:
            line = f"the scaler skipped {'every one' if self.all else f'{self.skipped:,}'} of {self.steps:,} steps"
        scales = {scale for one in starved for scale in one.scales} or self.scales
        if scales:
            low, high = map(scale_text, (min(scales), max(scales)))
            line += f", at loss scale {low}" if low == high else f", at loss scales from {low} to {high}"
        if self.all:
            line += ": nothing was trained"
        elif starved:
            line += f": nothing of {' and '.join(one.layers for one in starved)} was trained"
            lowered = {scaler for one in starved for scaler in one.scalers if len(one.scales) > 1}
            shared = any(one.scalers & lowered for one in self.optimizers.values() if one not in starved)
            line += ", and each skipped step lowered the scale of the others, too" if shared else ""
        if renewed:
            line += (f"; {self.scalers:,} GradScalers took turns, and a new GradScaler begins at its init_scale again: make one "
                     "before the loop and keep it, and load its state (load_state_dict) where a run is resumed")
        return line


def bare_text(skips):
    """Returns lines about the steps at the end of a run without a loss scale, after others with one, if they need one: where their
    gradients are in FP16, or, if none of them was counted, where a scaler was disabled."""
    many = 0 if skips.bare is None else skips.steps - skips.bare
    is_half = skips.disabled if skips.half is None else skips.half
    if not is_half or many < BARE or not skips.scaled:
        return []
    cure = ("The scaler of these steps is disabled (enabled=False): enable it" if skips.disabled else
            "Call backward on what the scaler's scale(loss) returns, and the scaler's step, in each step")
    return [f"From step {skips.bare} on, in {many:,} steps, no loss was multiplied by a loss scale, though a scaler was used in {skips.scaled:,} "
            f"before: small gradients become zero in FP16. {cure}, and load its state (load_state_dict) where a run is resumed."]


def too_soon_text(skips):
    """Returns words about why a scaler skips again and again."""
    if skips.growth_interval is not None and skips.growth_interval < SENSIBLE_INTERVAL:
        return (f"it grows its scale too soon: after {skips.growth_interval:,} step{'s' * (skips.growth_interval > 1)} without an overflow "
                "(growth_interval). Take 2,000, as PyTorch does.")
    return "it grows its scale too soon (growth_interval), or the largest gradients of some steps lie far above those of others."


def optimizer_text(optimizer, parts):
    """Returns the class of an optimizer and what it holds, as "SGD over netD.*". parts: {id of a parameter: its Parts}."""
    held = (part.layer for group in optimizer.param_groups for parameter in group["params"] for part in parts.get(id(parameter), ()))
    layers = dict.fromkeys(held)
    common = os.path.commonprefix([layer.split(".") for layer in layers])
    stems = [".".join(common)] if common else list(dict.fromkeys(layer.partition(".")[0] for layer in layers))
    return f"{type(optimizer).__name__}{OVER}{listed([stem if stem in layers else f'{stem}.*' for stem in stems])}"
