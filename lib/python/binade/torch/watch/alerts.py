# SPDX-License-Identifier: Apache-2.0
"""What is reported while a run goes on: alerts, and windows for TensorBoard."""
import dataclasses
import functools
import math

from .values.nonfinite import scale_text
from .values.residues import belongs, left_by_rounding
from .weights.lost_updates import FORMATS, NARROW, is_lost

GRADIENTS = ("dAct", "dW")
ROLES = ("act", "dAct", "weight", "dW", "update", "state")


def log2_of(scale):
    """Returns log2 of a loss scale as a whole number, rounded if the scale is no power of two."""
    return 0 if scale is None else round(math.log2(scale))


def scale_of(role, loss_scale):
    """Returns log2 of the factor that the values of a role have in the loop: that of the loss scale for gradients, else 0."""
    return log2_of(loss_scale) if role in GRADIENTS else 0


@dataclasses.dataclass(frozen=True)
class Alert:
    """A warning that more of the non-zero values of a layer and role than wanted become zero in a format.

    share: the share that becomes zero, from 0 to 1, of gradients at the loss scale in use. Watch.alerts() says how to get them.
    """

    step: int
    layer: str
    role: str
    share: float
    format: str
    loss_scale: "float | None"

    def __str__(self):
        at = f" at loss scale {scale_text(self.loss_scale)}" if self.loss_scale is not None and self.role in GRADIENTS else ""
        return f"step {self.step}: {self.share:.1%} of {self.layer}'s {self.role} become zero in {self.format}{at}"


@dataclasses.dataclass(frozen=True)
class LostUpdates(Alert):
    """An Alert that more of the updates of a layer than wanted leave its weights as they were.

    share: of the updates that were asked for, by a gradient or by weight decay, as what says. format: that of the weights.
    """

    what: str = "gradient"

    def __str__(self):
        return f"step {self.step}: {self.share:.1%} of {self.layer}'s updates by {self.what} change no weight in {self.format}"


def format_in_use(layers, key):
    """Returns the format that the values of a layer and role are judged by: that of their own dtype, or of the narrow dtype that the run has
    beside, as under autocast; binary16 where it has none. layers: {(layer, role): Layer}."""
    there = {of.dtype for of in layers.values()}
    own = layers[key].dtype
    return FORMATS[own if FORMATS.get(own) in NARROW else "BF16" if "BF16" in there and "F16" not in there else "F16"]


@dataclasses.dataclass(frozen=True)
class AlertRule:
    """format: None for the one in use."""

    share: float
    roles: tuple
    format: "str | None"
    call: object
    lost: "float | None" = None

    def look_at_updates(self, window, layers, left, beginnings):
        for layer, x in window.updates.items() if self.lost is not None else ():
            for what, lost, asked in (("gradient", x.lost, x.asked), ("weight decay", x.decay_lost, x.decay_asked)):
                format = FORMATS[layers[layer, "update"].dtype]
                of_note = what == "gradient" or format in NARROW  # decay is lost to wide weights at the rates of any warm-up
                is_young = what == "gradient" and beginnings.is_young(layer)
                if of_note and not is_young and is_lost(lost, asked, self.lost) and layer not in left():
                    self.call(LostUpdates(window.first, layer, "update", lost / asked, format, window.loss_scale, what))

    def look(self, window, layers, beginnings):
        """Calls the caller's function with each Alert of a watched step. layers: {(layer, role): Layer}. beginnings: the Beginnings of the
        run, which has seen the step."""
        @functools.cache
        def left():
            there = {key: layers[key] for key in window.summaries if key in layers}
            return left_by_rounding(there, lambda *key: window.summaries[key])

        self.look_at_updates(window, layers, left, beginnings)
        for (layer, role), summary in window.summaries.items():
            if role not in self.roles or not summary.nonzero:
                continue
            format = self.format or format_in_use(layers, (layer, role))
            dead = summary.becomes(format, scale_of(role, window.loss_scale))["to_zero"]
            if dead["of_nonzero"] > self.share and not beginnings.grow((layer, role), summary, dead["count"]) and not belongs(layer, role, left):
                self.call(Alert(window.first, layer, role, dead["of_nonzero"], format, window.loss_scale))


def write_window(writer, window, format):
    """Writes the shares and histograms of a window to a SummaryWriter of TensorBoard."""
    for (layer, role), summary in window.summaries.items():
        tag = f"{role}/{layer}"
        fate = summary.becomes(format, scale_of(role, window.loss_scale))
        if summary.nonzero:
            for key in ("to_zero", "subnormal", "overflow"):
                writer.add_scalar(f"{tag}/{key}_in_{format}", fate[key]["of_nonzero"], window.last)
        exponents, counts = summary.exponents, summary.counts
        if len(exponents):
            # A bucket a binade, over log2 |x|; its values are taken to lie at its lower edge.
            writer.add_histogram_raw(
                f"{tag}/log2_magnitude", min=float(exponents[0]), max=float(exponents[-1] + 1), num=int(counts.sum()),
                sum=float(exponents @ counts), sum_squares=float((exponents * exponents) @ counts),
                bucket_limits=(exponents + 1).tolist(), bucket_counts=counts.tolist(), global_step=window.last)
