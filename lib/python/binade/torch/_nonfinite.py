# SPDX-License-Identifier: Apache-2.0
"""Where Inf and NaN arise: the first tensor of a step that holds one, and what went into the op that made it."""
import dataclasses
import math

PHASES = {"act": "forward", "dAct": "backward", "dW": "backward", "weight": "step"}
PLACES = {"act": "the output of {}, forward", "dAct": "the gradient of {}'s output, backward",
          "dW": "the gradient of parameter {}, backward", "weight": "parameter {}, after the optimizer's step"}
MOST = 100  # steps that are told of
MOST_INPUTS = 16  # tensors that went into an op


def scale_text(x):
    """2^16 of a power of two, else its digits."""
    fraction, exponent = math.frexp(x)
    return f"2^{exponent - 1}" if fraction == 0.5 else f"{x:g}"


def magnitudes(x):
    """In words, of a row of NonFinite.inputs."""
    if x["smallest"] is None:
        words = "all zero" if not x["nan"] and not x["inf"] else "nothing finite but zero"
    else:
        words = f"{x['smallest']:.4g} … {x['largest']:.4g}"
    return words + "".join(f", {x[key]:,} {name}" for key, name in (("inf", "Inf"), ("nan", "NaN")) if x[key])


@dataclasses.dataclass
class NonFinite:
    """The first tensor of a step that held Inf or NaN.

    step, layer, role ("act", "dAct", "dW" or "weight"), phase ("forward", "backward" or "step"). found: {"nan": n, "inf": n};
    empty where the tensor lay on a GPU, whose findings are read when the step is over. inputs: what the op got, a dict a
    tensor with name, dtype, values, nan, inf, smallest, largest (magnitudes). arose: whether all of that was finite, so that it
    arose there; None where that is not known.
    loss_scale: that of the step. skipped: whether a GradScaler left the step out, as is usual while it looks for its scale.
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
        """In a line."""
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
        """As in the report's JSON."""
        told = {"found": self.found or None, "arose": self.arose}
        return {"text": self.text, "step": self.step, "layer": self.layer, "role": self.role, "phase": self.phase,
                **{key: x for key, x in told.items() if x is not None},
                "loss_scale": self.loss_scale, "skipped": self.skipped, "inputs": self.inputs}

    def __str__(self):
        return self.text
