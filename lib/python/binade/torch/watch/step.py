# SPDX-License-Identifier: Apache-2.0
"""The class Step: what the hooks have seen of one step so far."""
import enum
import weakref

import torch

from ..observe.names import joined
from ..observe.tensors import FLOATING, described, local, unscaled
from .alerts import GRADIENTS
from .run import SCALED, Layer, Window, add_to
from .values.loss_graph import LossGraph
from .values.nonfinite import LOSS, NonFinite
from .values.waiting_tensors import Held, version_of
from .weights.bound import Bound
from .weights.running import NORMS, STATISTICS


class Seen(enum.Enum):
    never, same, rewritten = range(3)


# Of a gradient before which the backward pass met no other one.
FROM_OUTSIDE = "the model got it so, from the loss or what else is computed after the model"


class Step:
    """One step. number: its number. layers: a dict to fill. tell(NonFinite): is called at most once."""

    def __init__(self, number, plan, layers, tell):
        self.number = number
        self.counted = number % plan.every == 0  # otherwise the step is only searched for Inf and NaN
        self.window = Window(number, number, 1)
        self.loss_scale, self.scale_is_known = None, False
        self.scaler = None  # the last one whose scale() was called
        self.is_empty = True  # no module and no optimizer has run
        self.passes = 0  # forward passes of a model with gradients
        self.turn = 0  # the number of the last of them that has begun
        self.backward_passes = 0
        self.handles = []  # handles of hooks on tensors that outlive the step
        self.ended = set()  # ids of optimizers that stepped, or were left out
        self.unscaled = set()  # ids of optimizers whose gradients were counted before they were unscaled
        self.left_out = set()  # ids of optimizers that leave the step out by themselves
        self.skipped = set()  # ids of optimizers whose step a scaler skipped
        self.copies = {}  # id of a parameter: its values before the step
        self.beside = {}  # id of an optimizer: what it has beside its weights, before its step
        self.gradient_copies = {}  # id of a parameter: its gradient before a step that may write to it
        self.finite_gradient = None  # the last layer whose gradient was finite, and that gradient
        self.event = None
        self.reached = None  # whether a gradient that an optimizer got, or a weight, was not finite
        self.saw_half = False  # whether a gradient of an output of FP16 was counted
        self.saw_gradients = False  # whether a gradient of an output was seen
        self.has_gradient = False  # whether a gradient that an optimizer got in an ill step holds more than zeros
        self.inside = self.nodes = None  # the Inside and the Nodes of this step, if it is looked into
        self.marked = []  # the last outputs of models with gradients
        self.ill_data = ""  # what is told of arguments of the model that held Inf or NaN
        self.loss_graph = LossGraph(plan.counter)
        self._causes = plan.causes
        self._counter, self._gradients, self._layers, self._tell = plan.counter, plan.gradients, layers, tell
        self._seen = {}  # id of an output: itself, and how often it was written to
        self.bound = Bound()
        self._flags = {}  # (layer, role): whether all was finite, on a device
        self._harmless, self._ruined, self._harm = plan.harmless, plan.ruined, False
        self.waits = plan.nonfinite and not self.counted  # whether tensors inside of a block are held
        self.outputs = Held(lambda layer, x, source: self.look_at(layer, "act", x, None, lambda: inputs_of(*source, self._counter)),
                            lambda: self.turn)
        self.gradients = Held(lambda layer, x, source: self.look_at(layer, "dAct", x, None, lambda: gradient_by_name(source)),
                              lambda: self.turn)

    def seen(self, x):
        """Returns whether an output of a module was seen before in this step."""
        version = version_of(x)
        before, of = self._seen.get(id(x), (None, None))
        if before is None or before() is not x:
            out = Seen.never
        else:
            out = Seen.same if of == version else Seen.rewritten
        self._seen[id(x)] = weakref.ref(x), version
        return out

    def remove_hooks(self):
        """Removes the hooks of the step, and lets go of the outputs of models."""
        for handle in self.handles:
            handle.remove()
        for marked in self.marked:
            marked.kept = None
        self.handles, self.marked = [], []

    def count(self, layer, role, x, placement=""):
        """Counts a tensor and returns its summary."""
        return self._add(layer, role, x, self._counter.count(x), placement)

    def _add(self, layer, role, x, summary, placement):
        self.saw_half = self.saw_half or (role == "dAct" and x.dtype == torch.float16)
        of = Layer(FLOATING[x.dtype], tuple(x.shape), placement)
        self._layers.setdefault((layer, role), of).see(of)
        add_to(self.window.summaries, {(layer, role): summary})
        return summary

    def count_gradient(self, layer, role, x, scale, placement=""):
        """Counts a gradient, scaled, unscaled or both as the user chose; returns one of its summaries. scale: its
        scale, or None."""
        if scale is None or self._gradients == "scaled":
            return self.count(layer, role, x, placement)
        summary = self._add(layer, role, x, unscaled(self._counter, x, scale), placement)
        return self.count(layer + SCALED, role, x, placement) if self._gradients == "both" else summary

    def look_at(self, layer, role, x, summary=None, inputs=dict):
        """Looks for Inf and NaN in a tensor and reports them. summary: that of the tensor if it was counted. inputs(): the
        tensors that its op got, by name.

        Returns False if it holds some. Returns True for a tensor that is not on the CPU, too, which is read at the end of the step.
        """
        if summary is None:
            finite = self._counter.finite(x)
            if isinstance(finite, torch.Tensor):
                before = self._flags.get((layer, role))
                self._flags[layer, role] = finite if before is None else before & finite
                return True
            if finite:
                return True
            if role == "dW":
                self.gradients.search()  # earlier gradients are searched first
            summary = None if self._harm and self.event is not None else self._counter.count(x)
        elif not summary.nan and not summary.inf:
            return True
        if summary is not None:
            origin = None
            if self.inside is not None:
                origin = self.inside.origin_of(x) if role == "act" else (
                    self.loss_graph.origin or self.nodes.origin) if role in GRADIENTS else None
            is_loss = role == "act" and x.numel() == 1
            self._harm = self._harm or x.numel() == 1  # a loss, and no mask
            is_first = self.event is None
            self._found(layer, role, {"nan": summary.nan, "inf": summary.inf},
                        [] if self.event is not None else described(self._counter, inputs(), x.data_ptr()), origin)
            if is_first and self.event is not None:
                self.event.is_loss, self.event.dtype = is_loss, FLOATING[x.dtype]
        return False

    def reaches(self, is_finite):
        """Sees whether a gradient that an optimizer gets, or a weight, is finite."""
        self.reached = bool(self.reached) or not is_finite

    def _take_backward_for_loss(self):
        """Tells of an op of the model that made Inf or NaN of finite gradients, where a loss after it that was ill gave finite ones."""
        origin = None if self.nodes is None else self.nodes.origin
        if self.event.layer == LOSS and self.event.is_loss and self.reached and origin is not None and self.loss_graph.origin is None:
            before = f"the loss was Inf already, by {self.event.op}, forward" if self.event.op else ""
            self.event.role, self.event.is_loss, self.event.came, self.event.cause, self.event.cure = "dAct", False, "", "", ""
            self.event.come_from(origin)
            self.event.cause = "; ".join(filter(None, (self.event.cause, before)))

    def sees_gradient(self, x, summary):
        """Sees, in an ill step, whether a gradient that an optimizer gets holds more than zeros. What lies on devices is not read."""
        if not self.has_gradient:
            self.has_gradient = summary.nonzero > 0 if summary is not None else x.device.type != "cpu" or bool((x != 0).any())

    def end_event(self):
        """Says of the event, once the step is over, whether it reached a weight, and whether it left any gradient."""
        if self.event is not None:
            self._take_backward_for_loss()
            self.event.left_none = self.reached is False and not self.has_gradient
            self.event.reached = None if self.event.left_none else self.reached
            self.event.starves = self.loss_graph.starved.op if self.event.is_loss and self.reached is False else ""
            if self.event.starves and self.counted:
                self.event.untaught = frozenset(layer for (layer, role), x in self.window.summaries.items()
                                                if role == "dW" and not (x.nonzero or x.nan or x.inf))
            if (self.event.phase == "backward" or self.event.reaches_loss) and self.nodes is not None:
                self.event.ended = self.nodes.end

    def look_at_loss(self, name, x, inputs):
        """Looks for Inf and NaN in the loss, after what is held inside of the model."""
        if not self._counter.finite(x):
            self.outputs.search()
            self._harm = self._harm or self.event is None
            self.look_at(name, "act", x, None, inputs)
            if self.event is not None:
                self.event.reaches_loss = True

    def look_at_block(self, held, role, layer, x, inputs, inside):
        """Looks at the output of a block, or its gradient; if that holds Inf or NaN, first at the tensors that were
        held inside of it."""
        if self._counter.finite(x):
            held.drop(inside)
            return True
        held.search()
        return self.look_at(layer, role, x, None, inputs)

    def _ruined_before(self, layer, inputs):
        """Returns the parameter, as an event of the step before, that is the only input of an output with Inf or NaN; or None."""
        ill = [x for x in inputs if x["nan"] or x["inf"]]
        if not ill or self.number == 0 or any(x["name"].split()[0] == "input" for x in ill):
            return None
        if ill[0]["name"].endswith(STATISTICS):
            return None
        name = f"{layer}.{ill[0]['name']}".removesuffix(".weight")
        inner = name.partition(".")[2]  # parameters do not have the name of a whole model
        name = inner if (name, "weight") not in self._layers and (inner, "weight") in self._layers else name
        if name in self._ruined:
            return None
        self._ruined.add(name)
        return NonFinite(self.number - 1, name, "weight", {key: ill[0][key] for key in ("nan", "inf")}, [],
                         cause=self._causes.get(name, ""))

    def is_ruined(self, layer):
        """Whether the weight of a layer was told of."""
        return layer in self._ruined

    def _found(self, layer, role, found, inputs, origin=None):
        may_be_meant = role == "act" and not found.get("nan", 1)  # masks of attention are
        if may_be_meant and layer in self._harmless:
            return
        self._harm = self._harm or not may_be_meant
        if self.event is None:
            arose = not any(x["nan"] or x["inf"] for x in inputs) if inputs else None
            ruined = self._ruined_before(layer, inputs) if role == "act" else None
            if role == "weight":
                self._ruined.add(layer)
            if ruined is not None:
                self._harm = True
                self._tell(ruined)
            cause = self._causes.get(layer, "") if role == "weight" else FROM_OUTSIDE if role == "dAct" and found and not inputs else ""
            self.event = NonFinite(self.number, layer, role, found, inputs, arose, cause=cause)
            if found and role in ("act", "dAct"):  # findings on a GPU are read when the step is over
                self.event.turn = self.outputs.turn or self.gradients.turn or self.turn
            if origin is not None and origin.arose:
                self.event.come_from(origin)
            elif origin is not None and origin.kind == "meant" and self._harm:
                self.event.come_from_constant(origin)
            self._tell(self.event)

    def harmless_event(self):
        """Returns the output that held Inf, but no NaN, in a step in which nothing else did; None if there is none."""
        return self.event if self.event is not None and not self._harm and not self.event.skipped else None

    def read_flags(self):
        """Reads the findings of tensors on other devices, for which it waits."""
        if self._flags and self.event is not None and not self.reached:
            self.reached = None  # what lies on devices is not read
        if self._flags and self.event is None:
            device = next(iter(self._flags.values())).device
            finite = torch.stack([flag.to(device) for flag in self._flags.values()]).tolist()
            ill = [key for is_finite, key in zip(finite, self._flags) if not is_finite]
            if any(role == "dW" for _, role in ill):
                self.reaches(False)
            for key in ill:
                self._found(*key, {}, [])
                break
        self._flags = {}


def inputs_of(module, args, counter=None):
    """Returns the tensors from which a module's forward computes, by name; of modules inside of it, and of the statistics
    that norms evaluate with, those that are not finite."""
    own = dict(module.named_parameters(recurse=False))
    nested = {name: x for name, x in module.named_parameters() if name not in own and is_ill(local(x), counter)} if counter else {}
    used = {joined(name, key): x for name, norm in module.named_modules() if isinstance(norm, NORMS) and not norm.training
            for key, x in norm.named_buffers(recurse=False) if is_ill(local(x), counter)} if counter else {}
    return {"input": args[0] if len(args) == 1 else args} | own | nested | used


def is_ill(x, counter):
    """Returns whether a tensor on the CPU holds Inf or NaN."""
    return x is not None and x.device.type == "cpu" and not counter.finite(x)


def gradient_by_name(of):
    """Returns the last finite gradient of a Step, by name."""
    return {} if of is None else {f"gradient of {of[0]}": of[1]}
