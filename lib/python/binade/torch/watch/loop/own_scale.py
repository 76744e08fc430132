# SPDX-License-Identifier: Apache-2.0
"""Sees the loss scale that a loop keeps by itself: by what it multiplies its loss, by what it divides the gradients, and which of its steps
it leaves out for gradients that are not finite.

    backward() of a loss ─▶ the factors at its root ─▶ .grad, looked at where nothing else looks ─▶ a step: by what was .grad divided?
                                                                                       └─▶ .grad is gone, and no step came: left out
"""
import collections
import dataclasses
import itertools
import math
import operator

import torch

from ...observe.tensors import PLAIN, local
from ..values.loss_graph import saved_by
from ..values.nodes import op_of
from ..values.nonfinite import LOSS
from ..values.scaled_loss import SCALING, number_in
from ..values.waiting_tensors import states_of
from .unused import are_cleared, held_by

WAITING = 64  # windows, of one step each, that a run begins with
MOST = 1000  # Stretches that are kept, the last ones
SAMPLE = 64  # values of a gradient that are compared
EXACT = 1e-3  # by so much a divisor may differ from a power of two, or from the last one
ALIKE = 0.02  # by so much a quotient of gradients may differ, as FP16 rounds
LARGE = 128.0  # a divisor that no mean over micro-batches or ranks is
STUCK = 3  # turns left out at the end; at a scale that is not lowered no others come
LEAST, VARIES = 16.0, 4.0  # a factor of a loss that is no weight of it; and times that it changes, by powers of two
STEPPED, STEPPED_ILL, LEFT_OUT, UNUSED = "stepped", "stepped with Inf or NaN", "left out", "unused"


def factor_of(root, gradient=None):
    """Returns by what a loss was multiplied before its backward pass; None if a factor of it is not known. gradient: what backward()
    was given."""
    factor, node = 1.0 if gradient is None else number_in(gradient), root.grad_fn
    while node is not None and op_of(node) in SCALING and factor is not None:
        saved, op = saved_by(node), op_of(node)
        if op in ("mul", "div"):
            by = next((x for x in map(saved.get, ("other", "self")) if x is not None), None)
            number = number_in(by)
            factor = None if number is None or (op == "div" and not number) else factor * number if op == "mul" else factor / number
        node = next((before for before, _ in node.next_functions if before is not None), None)
    return None if factor is None or math.isnan(factor) else abs(factor)


@dataclasses.dataclass
class Turn:
    """What a loop did for one step of its own. step: the number of the watched one. scale: what its loss was multiplied by; None if
    that is not known. reached: {id of a parameter: (its layer, itself)} of those that gradients came to. ill: whether a
    gradient was not finite; None if nobody looked. event: the NonFinite of that step. passes: backward."""

    step: int
    scale: "float | None" = None
    ill: "bool | None" = None
    event: "object | None" = None
    passes: int = 0
    reached: dict = dataclasses.field(default_factory=dict)

    @property
    def gradients(self):
        return [p.grad for _, p in self.reached.values() if p.grad is not None]


@dataclasses.dataclass
class Stretch:
    """Turns one after the other that ended alike. first, last: steps. began, ended, low, high: scales; None where one is not known. stays:
    how many of the last turns had the scale of the one before."""

    kind: str
    first: int
    last: int
    began: "float | None"
    ended: "float | None"
    turns: int = 1
    stays: int = 0

    def __post_init__(self):
        self.low = self.high = self.began

    def add(self, turn):
        self.stays = self.stays + 1 if turn.scale == self.ended else 0
        self.last, self.ended, self.turns = turn.step, turn.scale, self.turns + 1
        known = [x for x in (self.low, self.high, turn.scale) if x is not None]
        self.low, self.high = min(known, default=None), max(known, default=None)


@dataclasses.dataclass
class Turns:
    """The Turns of a run. stretches: the last ones. counts: {how they ended: how many}. first, low, high, last: of the known scales. by_twos:
    whether all of these are powers of two. is_given: whether the loop told its scale. is_sure: whether gradients were divided by just what
    their loss was multiplied by, or times so much, where the loss was divided by the number of its micro-batches. divided: the first and
    the last divisor of gradients that is no mean's and whose loss was not seen multiplied; None. candidate: one that may be
    such. is_mixed: whether a counted step had gradients that cannot be divided later. is_apart: whether a scaler took part, whose own hooks
    tell of it, or an optimizer that computes its gradients itself."""

    stretches: collections.deque = dataclasses.field(default_factory=lambda: collections.deque(maxlen=MOST))
    counts: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    first: "float | None" = None
    low: float = math.inf
    high: float = 0.0
    last: "float | None" = None
    by_twos: bool = True
    is_given: bool = False
    is_sure: bool = False
    times: float = 1.0
    divided: "tuple | None" = None
    candidate: "float | None" = None
    is_mixed: bool = False
    is_apart: bool = False

    def end(self, turn, kind):
        self.counts[kind] += 1
        if self.stretches and self.stretches[-1].kind == kind:
            self.stretches[-1].add(turn)
        else:
            self.stretches.append(Stretch(kind, turn.step, turn.step, turn.scale, turn.scale))

    def see(self, scale):
        if scale is not None:
            self.first, self.last = scale if self.first is None else self.first, scale
            self.low, self.high = min(self.low, scale), max(self.high, scale)
            self.by_twos = self.by_twos and (not scale or math.isinf(scale) or math.frexp(scale)[0] == 0.5)

    def see_divisor(self, divisor, turn):
        """Takes by what the gradients of a turn were divided."""
        times = next((n for n in (1, turn.passes) if turn.scale and abs(divisor / (turn.scale * n) - 1) < ALIKE), None)
        if times is not None and not 1 / LEAST < turn.scale * times < LEAST:
            self.is_sure, self.times = True, times
        elif divisor >= LARGE and turn.scale in (None, 1.0) and abs(divisor / turn.passes - 1) >= ALIKE:
            fraction, _ = math.frexp(divisor)
            if min(fraction - 0.5, 1 - fraction) < EXACT or self.candidate and abs(divisor / self.candidate - 1) < EXACT:
                self.divided = (self.divided or (divisor,))[0], divisor
            self.candidate = divisor  # of several steps, since to clip by hand divides each time by another

    @property
    def text(self):
        """That no step was made at the end, as text; "" if one was, or if a scaler tells of it."""
        last = self.stretches[-1] if self.stretches and not self.is_apart else None
        if last is None or last.kind != LEFT_OUT or last.turns < STUCK:
            return ""
        since = f"after it had stepped with Inf or NaN in step {self.stretches[-2].last}" if follows_ill(self) else "since gradients were not finite"
        return f"the loop left out its last {last.turns:,} steps, {since}: nothing was trained from step {last.first} on"

    @property
    def is_own(self):
        """Whether the loop multiplies its loss by a scale of its own, as far as it is seen."""
        varies = self.by_twos and self.high >= 256 and self.high >= VARIES * self.low
        return not self.is_apart and (self.is_given or self.is_sure or self.divided is not None or varies)

    @property
    def is_known(self):
        """Whether the counted gradients of outputs can be divided by the scale of their step once that is over."""
        return self.is_own and not self.is_given and self.is_sure and self.by_twos

    @property
    def hides(self):
        """Whether gradients of outputs were counted under a scale of the loop's own by which nothing has divided them."""
        return self.is_own and not self.is_given and (self.is_mixed or not self.is_known)


def follows_ill(turns):
    """Returns whether the last turns were left out once one before them had stepped with Inf or NaN, whatever their scale."""
    return [one.kind for one in turns.stretches][-2:] == [STEPPED_ILL, LEFT_OUT]


class OwnScale:
    """names: the Names of the models. counter: a Counter. turns: the Turns to fill."""

    def __init__(self, names, counter, turns):
        self._counter, self._turns, self._turn, self._sample = counter, turns, None, None
        self._passed = []  # NonFinites of forward passes whose gradients the loop took away, till it steps again
        self._at = {}  # id of a NonFinite: itself, and the factor of its loss, till it is known that these are scales
        self._scales = set()  # of the step that runs
        self._before = []  # the state of each parameter's gradient before the pass that runs
        self._undivided = collections.deque(maxlen=WAITING)  # (window of a step, factor) till it is known that these are scales
        self._is_restless = False  # whether the last gradients were taken away before any step
        self._parameters = {id(p): (names.parts[id(p)][0].layer, p) for p in names.held
                            if isinstance(p, torch.nn.Parameter) and id(p) in names.parts}

    def _states(self):
        return states_of([p.grad for _, p in self._parameters.values()])

    def backward_begins(self, step, loss, gradient, given):
        """A pass begins that is not inside of another. given(): the scale that the loop has told; None if it told
        none. It is asked for where somebody looks. Returns the scale by which its
        gradients are to be divided as they are counted; None if none is known."""
        if step.scaler is not None:
            self.stays_apart()
        if self._turns.is_apart:
            return None
        if self._turn is not None and are_cleared(self._turn.gradients):
            self._end(LEFT_OUT if self._turn.ill else UNUSED)
        if self._turn is None:
            self._turn = Turn(step.number)
        self._before = self._states()
        self._turns.is_given = self._turns.is_given or given is not None
        one = loss[0] if isinstance(loss, list | tuple) and len(loss) == 1 else loss
        gradient = gradient[0] if isinstance(gradient, list | tuple) and len(gradient) == 1 else gradient
        asks = given is not None and (step.counted or self._is_restless)
        self._turn.scale = given() if asks else factor_of(one, gradient) if isinstance(one, torch.Tensor) else None
        self._turns.see(self._turn.scale)
        if self._turns.is_known and self._turn.scale and math.isfinite(self._turn.scale):
            return self._turn.scale * self._turns.times
        self._scales.add(self._turn.scale)
        return None

    def stays_apart(self):
        self._turns.is_apart, self._turn = True, None

    def backward_ends(self, step, looks, optimizers):
        """looks: whether Inf and NaN are looked for. What an optimizer that steps has is looked at then."""
        turn = self._turn
        if turn is None:
            return
        turn.passes += 1
        turn.reached.update(itertools.compress(self._parameters.items(), map(operator.ne, self._before, self._states())))
        self._sample = None
        looks = looks and not turn.ill and (step.counted or step.event is not None or self._is_restless or self._nobody_looks(turn, optimizers))
        if not (step.counted or looks):
            return
        plain = [(name, p) for name, p in turn.reached.values() if type(p.grad) in PLAIN and p.grad.layout is torch.strided]
        if step.counted and plain:
            parameter = max((p for _, p in plain[:SAMPLE]), key=torch.Tensor.numel)
            self._sample = parameter, sample_of(parameter.grad)
        if looks:
            self._look(step, turn, plain)

    def _nobody_looks(self, turn, optimizers):
        """Whether no optimizer holds what the pass reached; not of what lies on a GPU, which would be waited for."""
        return not any(self._holds(one, turn.reached) for one in optimizers) and all(p.is_cpu for _, p in turn.reached.values())

    @staticmethod
    def _holds(optimizer, ids):
        return any(id(p) in ids for group in optimizer.param_groups for p in group["params"])

    def _look(self, step, turn, plain):
        found = [(name, x) for name, x in ((name, local(p.grad)) for name, p in plain) if x is not None]
        ill = next(((name, x) for name, x in found if not bool(self._counter.finite(x))), None)
        turn.ill = ill is not None
        if turn.ill:
            step.look_at(ill[0], "dW", ill[1])
            turn.event = step.event

    def are_used(self, parameters):
        """Gradients of parameters are clipped or stepped with next: sees by what they were divided, if they were."""
        if self._sample is not None and self._turn is not None:
            (parameter, before), parameters = self._sample, list(parameters)
            alike = parameters if any(p is parameter for p in parameters) else [p for p in parameters if p.shape == parameter.shape]
            divisors = [quotient(before, p.grad) for p in alike if p.grad is not None and (p is parameter or alike is not parameters)]
            for divisor in filter(None, divisors):
                self._turns.see_divisor(divisor, self._turn)
            self._sample = None

    def steps(self, step, optimizer):
        """An optimizer steps next."""
        turn = self._turn
        if turn is None:
            return
        held = held_by(optimizer)
        self.are_used(held)
        if (turn.ill or step.event is not None) and not self._holds(optimizer, self._parameters):
            found = [x for x in (local(p.grad) for p in held if p.grad is not None) if x is not None]
            step.reaches(all(bool(self._counter.finite(x)) for x in found))
            for x in found if step.event is not None else ():
                step.sees_gradient(x, None)
        self._end(STEPPED_ILL if step.reached else STEPPED)

    def _end(self, kind):
        turn, self._turn = self._turn, None
        self._turns.end(turn, kind)
        self._is_restless = kind in (LEFT_OUT, UNUSED)
        if kind == STEPPED:
            for event in self._passed:
                event.reached = False
            self._passed = []
        if turn.event is not None and turn.event.phase == "forward" and turn.event.layer != LOSS:
            self._passed += [turn.event] if kind == LEFT_OUT else []  # of no scale, and spared if the run goes on
        elif turn.event is not None:
            turn.event.skipped = turn.event.by_loop = kind == LEFT_OUT
            if turn.event.loss_scale is None and turn.event.layer != LOSS and turn.scale not in (None, 0, 1, math.inf) and (
                    len(self._at) < WAITING):
                self._at.setdefault(id(turn.event), (turn.event, turn.scale))
            self._tell_scales()

    def _tell_scales(self):
        """Enters into events the factors of their losses, once it is known that these are scales."""
        if self._turns.is_own:
            for event, scale in self._at.values():
                event.loss_scale = scale
            self._at = {}

    def step_ends(self, step, divides):
        """A step is over. divides: whether the counted gradients of outputs may be divided by the loop's scale."""
        turn, scales, self._scales = self._turn, self._scales, set()
        if turn is not None and turn.ill and not step.ended and step.event is not None and (
                step.event.phase != "forward" or step.event.layer == LOSS):
            step.event.skipped = step.event.by_loop = True  # unless the gradients are stepped with later
        scale = next(iter(scales)) if len(scales) == 1 else None
        if divides and scale and math.isfinite(scale) and step.loss_scale is None:
            self._undivided.append((step.window, scale))
        self._turns.is_mixed = self._turns.is_mixed or (step.counted and bool(scales) and not (divides and scale))
        if self._turns.is_known:
            for window, scale in self._undivided:
                self._divide(window, scale * self._turns.times)
            self._undivided.clear()

    @staticmethod
    def _divide(window, scale):
        if window.steps > 1:  # others have been added to it
            return
        fraction, exponent = math.frexp(scale)
        if fraction == 0.5:
            window.summaries.update({key: x.scaled(1 - exponent) for key, x in window.summaries.items() if key[1] == "dAct"})
            window.loss_scale = scale

    def ends(self):
        """The loop is over."""
        if self._turn is not None and self._turn.ill:
            self._end(LEFT_OUT)
        self._tell_scales()


def sample_of(gradient):
    return gradient.detach().reshape(-1)[:SAMPLE].double()


def quotient(before, gradient):
    """Returns by what values were divided, as a number that is not 1; None if they were not all divided by one."""
    if type(gradient) not in PLAIN or gradient.layout is not torch.strided:
        return None
    after = sample_of(gradient).to(before.device)
    at = before.abs().nan_to_num(0.0, 0.0).argmax()
    before_at, after_at = float(before[at]), float(after[at])
    if not before_at or not after_at or not math.isfinite(before_at) or not math.isfinite(after_at):
        return None
    divisor = before_at / after_at
    off = (after * divisor - before).abs().max()
    return divisor if divisor > 0 and abs(divisor - 1) >= ALIKE and float(off) <= ALIKE * abs(before_at) else None
