# SPDX-License-Identifier: Apache-2.0
"""The class NonFinite: the first tensor of a step that holds Inf or NaN, and the inputs of the op that made it."""
import dataclasses
import math

from .exact import CONSTANT
from .words import in_words, shown

PHASES = {"act": "forward", "dAct": "backward", "dW": "backward", "weight": "step"}  # in the order of a step
PLACES = {"act": "the output of {}, forward", "dAct": "the gradient of {}'s output, backward",
          "dW": "the gradient of parameter {}, backward", "weight": "parameter {}, after the optimizer's step"}
LOSS = "the loss"  # the layer of what is seen of a loss when its backward pass begins
ROLES = tuple(PHASES)  # in the order of a step
MOST = 100  # steps that are told of
# Where Inf or NaN arose that what an op or a layer got held already.
BEFORE = {"forward": "before {}: in the data, or in what is computed in front of it", "backward": "before it in the backward pass, or in the "
          "loss", "step": "before the optimizer's step"}
ZERO_MATTERS = frozenset("div reciprocal rsqrt log log2 log10 log1p pow".split())  # ops that give Inf or NaN where they get zero
AT_FIRST = "when training began: look at the checkpoint, or at what initializes it"
SIGN_MATTERS = frozenset("rsqrt sqrt log log2 log10 log1p logit pow".split())  # and these where they get negative numbers


def scale_text(x):
    """Returns a scale as text: "2^16" for a power of two, else its digits."""
    fraction, exponent = math.frexp(x)
    return f"2^{exponent - 1}" if fraction == 0.5 else f"{x:g}"


def magnitudes(x, zeros=False, signs=False):
    """Returns the magnitudes of a row of NonFinite.inputs in words. zeros, signs: whether zeros, or negative values, may be the cause and
    are told."""
    if x["smallest"] is None and not x["values"]:
        words = "no values"
    elif x["smallest"] is None:
        words = "all zero" if not x["nan"] and not x["inf"] else "nothing finite" + (" but zero" if x.get("zeros") else "")
    else:
        words = f"{x['smallest']:.4g} … {x['largest']:.4g}"
    told = [("zeros", "zero" if x.get("zeros") == 1 else "zeros")] if zeros and x["smallest"] is not None else []
    told += [("negative", "negative")] if signs else []
    return words + "".join(f", {x[key]:,} {name}" for key, name in (*told, ("inf", "Inf"), ("nan", "NaN")) if x.get(key))


def figures(inputs):
    """Returns rows of NonFinite.inputs without their names, in an order of their own."""
    return sorted(repr({key: y for key, y in x.items() if key != "name"}) for x in inputs)


@dataclasses.dataclass
class NonFinite:
    """The first tensor of a step that held Inf or NaN.

    step: number of the step. layer: name of the layer. role: "act", "dAct", "dW" or "weight". phase: "forward", "backward" or
    "step". found: {"nan": n, "inf": n}, how many there were; empty if the tensor lay on a GPU, whose findings are read when the
    step is over. inputs: a dict for each tensor that the op got, with name, dtype, values, zeros, negative, nan, inf, smallest and largest
    (magnitudes). arose: whether all inputs were finite, so that Inf or NaN arose in this op; None if that is not known.
    loss_scale: loss scale of the step. skipped: whether a GradScaler skipped the step, as is usual while it looks for its scale.
    op: the op inside of the layer that gave Inf or NaN, and site its file and line; None where the layer was not looked into, or
    what it gives is what the op gave. after: the op that made NaN of its Inf, or that gave nothing but finite numbers for it, in
    words. cause: what else is known of the cause, as text. hidden: whether an op after it gave finite numbers, so that the run goes
    on. cure: what to do about it where no format helps, else "". skipped_of: the optimizers whose steps were skipped, as text; ""
    of all. turn, turns: in or after which forward pass of the step it was, 0 where that is not known, and how many there were;
    are_micro_batches: whether each of these had a backward pass. rank: that of the process among several of torch.distributed.
    is_loss: whether it is a loss that was ill, and no other output before it. reached: whether a gradient that an optimizer got
    in the step, or a weight after it, held Inf or NaN; None if that is not known. ended: the op whose backward gave finite numbers
    for what arose in a backward pass, with its layer; "" if none is known. received: whether a gradient was ill where all of the
    backward pass was finite. dtype: safetensors' name of that of the tensor; "" if it lay on a GPU.
    """

    step: int
    layer: str
    role: str
    found: dict
    inputs: list
    arose: "bool | None" = None
    loss_scale: "float | None" = None
    skipped: bool = False
    op: "str | None" = None
    site: str = ""
    after: str = ""
    cause: str = ""
    skipped_of: str = ""
    hidden: bool = False
    cure: str = ""
    turn: int = 0
    turns: int = 0
    are_micro_batches: bool = False
    rank: "int | None" = None
    came: str = ""  # what the model was called with that held it, as text
    is_loss: bool = False
    by_loop: bool = False  # whether it was the loop itself that left the step out
    by_scale: bool = False  # of a loss: whether it overflowed as it was multiplied by a scale
    reaches_loss: bool = False  # whether a loss of the step was ill after it
    reached: "bool | None" = None
    ended: str = ""
    received: bool = False
    was_there: bool = False  # whether it is a weight's that held them before the optimizer's step
    left_none: bool = False  # whether all gradients that optimizers got in the step were zero
    dtype: str = ""
    starves: str = ""  # the op after an Inf of a loss whose slope of 0 left that no gradient
    untaught: "frozenset | None" = None  # layers whose weights got nothing but zeros in such a step; None of one that was not counted
    origin: "object | None" = dataclasses.field(default=None, repr=False, compare=False)  # the Origin that it comes from

    def come_from(self, origin):
        """Names the op inside of a layer where it arose. origin: an Origin."""
        first = origin.first
        is_whole = first is origin and first.layer == self.layer and not origin.vanished
        named = self.inputs if is_whole and figures(self.inputs) == figures(first.inputs) else first.inputs
        self.op, self.site, self.layer = first.op, first.site, first.layer or self.layer
        self.found, self.inputs = first.found, named  # a layer that is one op names what the op got
        self.arose = not any(x["nan"] or (x["inf"] and first.kind != "NaN") for x in first.inputs)
        self.after = origin.end or (f"{origin.place} made {'NaN' if origin.found['nan'] else 'Inf'} of it" if first is not origin else "")
        self.hidden, self.origin = bool(origin.vanished), origin
        self.cause = origin.why or self.cause
        if origin.exact is not None or first.help:
            self.cure = origin.exact.cure if origin.exact is not None else first.help

    def come_from_constant(self, origin):
        """Says of Inf that is meant, as a mask's, and reaches what is to be a number, where it was put in. origin: an Origin."""
        self.cause = f"it is the Inf of a constant, as of a mask, that {origin.place} inside of {shown(origin.layer)} put in, and comes to the loss"
        self.cure = CONSTANT

    def of_turns(self, forward, backward):
        """Takes how many forward and backward passes the step had. One backward pass after several forward ones is of all of them."""
        self.turns, self.are_micro_batches = forward, forward == backward
        if (self.phase == "backward" or self.layer == LOSS) and not self.are_micro_batches:
            self.turn = 0

    def take_as_given(self):
        """Says of a weight's that it held them before the step."""
        self.was_there, self.inputs = True, []
        self.cause = (f"it held them {AT_FIRST}" if self.step == 0 else
                      "it held them before that step: they arose in an earlier one that was not counted")

    @property
    def is_left_out(self):
        """Whether the step was left out for what its gradients, or its scaled loss alone, held."""
        return self.skipped and (self.phase != "forward" or (self.by_loop and self.layer == LOSS))

    @property
    def is_spared(self):
        """Whether no weight got anything of it, and no number of the run but those that are told is another for it."""
        return self.reached is False and not self.hidden and not self.skipped

    @property
    def place_in_run(self):
        """What orders the findings of several processes: of a step what came first, and what arose before what was received."""
        return self.step, ROLES.index(self.role), self.received, self.rank

    @property
    def phase(self):
        return PHASES[self.role]

    @property
    def text(self):
        """What was found, as text of one line."""
        what = " and ".join(f"{n:,} {name}" for name, n in (("Inf", self.found.get("inf")), ("NaN", self.found.get("nan"))) if n)
        place = f"parameter {shown(self.layer)}" if self.was_there else PLACES[self.role].format(shown(self.layer)) if self.layer != LOSS else f"{LOSS}, {self.phase}"
        if self.op is not None:
            place = f"{self.op} inside of {shown(self.layer)}{f' ({self.site})' if self.site else ''}, {self.phase}"
            if self.phase == "backward":
                place = f"the gradient of {place}"
        if self.turn and self.turns > 1:
            place += f", in {'micro-batch' if self.are_micro_batches else 'forward pass'} {self.turn} of {self.turns} of the step"
        of_rank = "" if self.rank is None else f", rank {self.rank}"
        line = f"step {self.step}{of_rank}: " + (f"{self.came}; it became " if self.came else "") + f"{what or 'Inf or NaN'} in {place}"
        if self.loss_scale is not None and self.phase == "backward":
            line += f", at loss scale {scale_text(self.loss_scale)}"
        if self.inputs:
            zeros = self.phase == "step" or self.op in ZERO_MATTERS
            line += "; it got " + ", ".join(f"{x['name']} {magnitudes(x, zeros, self.op in SIGN_MATTERS)}" for x in self.inputs)
        for more in filter(None, (self.after, self.cause)):
            line += f"; {more}"
        if self.arose is False and not self.came:
            line += f"; {self._already()}"
        if self.left_none:
            why = ", as the slope of what follows an Inf may be" if self.found.get("inf") or self.after else ""
            line += f"; all gradients of weights were zero{why}: nothing was trained in this step"
        elif self.starves:
            line += f"; its gradient is 0, by {self.starves}: what comes before it in this term of the loss learns nothing from it"
        if self.is_spared:
            line += (f"; it ended in the backward of {self.ended}" if self.ended else "") + "; it reached no weight"
        if self.skipped:
            line += f"; the {'loop' if self.by_loop else 'scaler'} skipped the step" + (f" of {self.skipped_of}" if self.skipped_of else "")
        return in_words(line)

    def _already(self):
        """Returns in words what held Inf or NaN already, and where that arose."""
        names = [x["name"] for x in self.inputs if x["nan"] or x["inf"]]
        where = BEFORE[self.phase].format("this op" if self.op else "this layer")
        if self.phase == "forward" and not any(name.split()[0] == "input" for name in names):
            where = "in an earlier step, or was there when training began"
            if self.step == 0:
                return f"{' and '.join(names)} held Inf or NaN {AT_FIRST}"
        return f"{' and '.join(names) or 'what it got'} held Inf or NaN already, which arose {where}"

    def to_dict(self):
        """Returns what was found as a dict, as in the report's JSON."""
        told = {"found": self.found or None, "arose": self.arose}
        return {"text": self.text, "step": self.step, "layer": self.layer, "role": self.role, "phase": self.phase,
                **{key: x for key, x in told.items() if x is not None},
                "loss_scale": self.loss_scale, "skipped": self.skipped,
                "inputs": [{key: y for key, y in x.items() if key not in ("zeros", "negative")} for x in self.inputs]}

    def __str__(self):
        return self.text
