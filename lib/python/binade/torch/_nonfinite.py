# SPDX-License-Identifier: Apache-2.0
"""The class NonFinite: the first tensor of a step that holds Inf or NaN, and the inputs of the op that made it."""
import dataclasses
import math

PHASES = {"act": "forward", "dAct": "backward", "dW": "backward", "weight": "step"}
PLACES = {"act": "the output of {}, forward", "dAct": "the gradient of {}'s output, backward",
          "dW": "the gradient of parameter {}, backward", "weight": "parameter {}, after the optimizer's step"}
MOST = 100  # steps that are told of
MOST_INPUTS = 16  # tensors that went into an op


def scale_text(x):
    """Returns a scale as text: "2^16" for a power of two, else its digits."""
    fraction, exponent = math.frexp(x)
    return f"2^{exponent - 1}" if fraction == 0.5 else f"{x:g}"


def magnitudes(x):
    """Returns the magnitudes of a row of NonFinite.inputs in words."""
    if x["smallest"] is None:
        words = "all zero" if not x["nan"] and not x["inf"] else "nothing finite but zero"
    else:
        words = f"{x['smallest']:.4g} … {x['largest']:.4g}"
    return words + "".join(f", {x[key]:,} {name}" for key, name in (("inf", "Inf"), ("nan", "NaN")) if x[key])


@dataclasses.dataclass
class NonFinite:
    """The first tensor of a step that held Inf or NaN.

    step: number of the step. layer: name of the layer. role: "act", "dAct", "dW" or "weight". phase: "forward", "backward" or
    "step". found: {"nan": n, "inf": n}, how many there were; empty if the tensor lay on a GPU, whose findings are read when the
    step is over. inputs: a dict for each tensor that the op got, with name, dtype, values, nan, inf, smallest and largest
    (magnitudes). arose: whether all inputs were finite, so that Inf or NaN arose in this op; None if that is not known.
    loss_scale: loss scale of the step. skipped: whether a GradScaler skipped the step, as is usual while it looks for its scale.
    """

    step: int
    layer: str
    role: str
    found: dict
    inputs: list
    arose: "bool | None" = None
    loss_scale: "float | None" = None
    skipped: bool = False

    @property
    def phase(self):
        return PHASES[self.role]

    @property
    def text(self):
        """What was found, as text of one line."""
        what = " and ".join(f"{n:,} {name}" for name, n in (("Inf", self.found.get("inf")), ("NaN", self.found.get("nan"))) if n)
        line = f"step {self.step}: {what or 'Inf or NaN'} in {PLACES[self.role].format(self.layer)}"
        if self.loss_scale is not None and self.phase == "backward":
            line += f", at loss scale {scale_text(self.loss_scale)}"
        if self.inputs:
            line += "; it got " + ", ".join(f"{x['name']} {magnitudes(x)}" for x in self.inputs)
        if self.arose is False:
            line += "; it was there before"
        if self.skipped:
            line += "; the scaler skipped the step"
        return line

    def to_dict(self):
        """Returns what was found as a dict, as in the report's JSON."""
        told = {"found": self.found or None, "arose": self.arose}
        return {"text": self.text, "step": self.step, "layer": self.layer, "role": self.role, "phase": self.phase,
                **{key: x for key, x in told.items() if x is not None},
                "loss_scale": self.loss_scale, "skipped": self.skipped, "inputs": self.inputs}

    def __str__(self):
        return self.text
