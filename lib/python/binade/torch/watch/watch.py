# SPDX-License-Identifier: Apache-2.0
"""watch(): counts the values of a model while it trains, and looks for Inf and NaN."""
import atexit
import dataclasses
import functools
import math
import weakref

import torch

from ... import _binade
from ..observe.attaching import copies_note, living_scalers, unwrapped_optimizer
from ..observe.names import Names, listed
from ..observe.tensors import Counter
from .alerts import GRADIENTS, ROLES, AlertRule, write_window
from .hooks import Hooks
from .loop.own_scale import Turns
from .loop.skips import Skips
from .optimizer_hooks import held_by
from .ranks import reduced
from .run import SCALED, Run, Windows
from .values.beginnings import Beginnings
from .values.nonfinite import MOST
from .weights.dead import Learning
from .weights.lost_updates import ILL

GRADIENT_CHOICES = ("unscaled", "scaled", "both")


@dataclasses.dataclass(frozen=True)
class Plan:
    """The options of watch() that say how steps are counted."""

    every: int
    counter: Counter
    gradients: str
    loss_scale: object  # a number, a function that gives one, or None
    nonfinite: bool  # looks for Inf and NaN in every step
    ruined: set = dataclasses.field(default_factory=set)  # parameters of which was told that a step made them ill
    harmless: set = dataclasses.field(default_factory=set)  # layers whose Inf is meant, as that of a mask
    inside: dict = dataclasses.field(default_factory=dict)  # layer: what was seen inside of it, {cause: Told}
    unusable_scale: list = dataclasses.field(default_factory=list)  # that of the last step, if it is no number above 0, and since when
    causes: dict = dataclasses.field(default_factory=dict)  # parameter: why the optimizer's step may make it ill
    skips: Skips = dataclasses.field(default_factory=Skips)
    own_scale: Turns = dataclasses.field(default_factory=Turns)
    uncounted: dict = dataclasses.field(default_factory=dict)  # notes on what is not counted: the share of the parameters
    learning: Learning = dataclasses.field(default_factory=Learning)
    stuck: list = dataclasses.field(default_factory=list)  # states that cannot decay in their dtype
    sums: dict = dataclasses.field(default_factory=dict)  # layer: its share of the sums that its output enters (sums.py)
    eps: list = dataclasses.field(default_factory=list)  # eps of optimizers that are 0 in their states' dtype


def watch(model, optimizer=None, *, scaler="find", every=50, gradients="unscaled", loss_scale=None, windows=64, sqnr=False,
          nonfinite=True, emulated=""):
    """Watches a model while it trains: a context manager around a training loop, which need not be changed.

    model: a torch.nn.Module, or a dict {name: Module} of several that train together.
    optimizer: one or a list; None: those in the process that hold the model's parameters, which are looked for when watching
        begins and again at the first backward pass.
    scaler: the GradScaler, or any object with get_scale(); "find": those in the process, also those made while watching, each
        from the first call of its scale() on; None: there is none. Where one is given, others count from their first step() of a
        watched optimizer on.
    every: steps 0, every, 2·every … are counted. A step is over when every optimizer has stepped, or its step was skipped by the
        scaler. A loop in which one of them seldom steps must call w.step() at the end of each step.
    gradients: "unscaled": gradients are divided by the loss scale in use; "scaled": they are counted as they are in the loop;
        "both": scaled ones stand in summaries() under the layer's name with " (scaled)", and unscaled ones in reports.
    loss_scale: a number, or a function that returns it, for loops that multiply their loss without a scaler; gradients of
        activations are divided by it.
    windows: the steps of the run are merged into at most so many windows.
    sqnr: whether squared rounding errors are summed as well, which doubles the time of a counted step.
    nonfinite: whether the first Inf or NaN is looked for in every step, and inside of modules in steps that are counted.
    emulated: an architecture, such as "sm_90": counts as on a GPU, on the emulated device.

    These are counted exactly, by layer and role: act and dAct, outputs of modules and their gradients; weight, before the step;
    dW, .grad as the optimizer gets it; update, the weight after the step minus the weight before; and state of the optimizer.
    What runs under no_grad is not counted, but Inf and NaN are looked for. No tensor is changed, and no random number is drawn.

    Returns a Watch. Raises ValueError or TypeError, in one line, for a model or an option that cannot be used.
    """
    return Watch(model, optimizer, scaler=scaler, every=every, gradients=gradients, loss_scale=loss_scale, windows=windows,
                 sqnr=sqnr, nonfinite=nonfinite, emulated=emulated)


def whole(name, x, least):
    if isinstance(x, bool) or not hasattr(x, "__index__"):
        raise TypeError(f"{name}: a whole number is wanted, not {type(x).__name__}")
    if x.__index__() < least:
        raise ValueError(f"{name} {x}: {least} or more is wanted")
    return x.__index__()


def models_of(model):
    if isinstance(model, torch.nn.Module):
        return {"": model}
    if not isinstance(model, dict):
        raise TypeError(f"model: a torch.nn.Module or a dict of them is wanted, not {type(model).__name__}")
    for name, one in model.items():
        if not isinstance(name, str) or not name or not isinstance(one, torch.nn.Module):
            raise TypeError(f"model: a dict of names and torch.nn.Modules is wanted; {name!r} is {type(one).__name__}")
    if not model:
        raise ValueError("model: an empty dict; there is nothing to watch")
    return dict(model)


def optimizers_of(optimizer):
    given = optimizer if isinstance(optimizer, list | tuple) else [optimizer]
    for one in given:
        if not hasattr(one, "param_groups") or not callable(getattr(one, "step", None)):
            raise TypeError(f"optimizer: a torch.optim.Optimizer or a list of them is wanted, not {type(one).__name__}")
    if not given:
        raise ValueError("optimizer: an empty list; give None to have them found")
    return [unwrapped_optimizer(one) for one in given]


def loss_scale_of(x):
    if x is None or callable(x):
        return x
    if isinstance(x, bool) or not isinstance(x, int | float):
        raise TypeError(f"loss_scale: a number or a function that gives one is wanted, not {type(x).__name__}")
    if not (math.isfinite(x) and x > 0):
        raise ValueError(f"loss_scale {x!r}: a finite number above 0 is wanted")
    return float(x)


class Watch(Run):
    """A run that is being watched; watch() makes it. It is a Run, whose methods can be called at any time."""

    def __init__(self, model, optimizer, *, scaler, every, gradients, loss_scale, windows, sqnr, nonfinite, emulated):
        self._models = models_of(model)
        self._optimizers = None if optimizer is None else optimizers_of(optimizer)
        super().__init__(whole("every", every, 1), (), {})
        if gradients not in GRADIENT_CHOICES:
            raise ValueError(f"gradients {gradients!r}: one of {', '.join(GRADIENT_CHOICES)} is wanted")
        if not (scaler is None or (isinstance(scaler, str) and scaler == "find") or callable(getattr(scaler, "get_scale", None))):
            raise TypeError(f'scaler: "find", None or what has get_scale() is wanted, not {type(scaler).__name__}')
        self._plan = Plan(self.every, Counter(bool(sqnr), emulated), gradients, loss_scale_of(loss_scale), bool(nonfinite),
                          harmless=self._meant, inside=self._inside, eps=self._eps, stuck=self._stuck, skips=self._skips,
                          learning=self._learning, unusable_scale=self._unusable_scale, uncounted=self._uncounted, sums=self._sums,
                          own_scale=self._own_scale)
        self._scaler = scaler
        self._all = Windows(whole("windows", windows, 2))
        self._windows = self._all.list
        self._rules, self._on_window, self._beginnings = [], [], Beginnings()
        self._hooks = None  # while watching
        self._step = 0  # the next one, while not watching
        self._order = {}  # {layer: its place in the model}
        self._told = None  # the window that on_window was last told of
        self._at_exit = functools.partial(stop_at_exit, weakref.ref(self))

    def __enter__(self):
        return self.start()

    def __exit__(self, raised, *_):
        self._stop(raised is None)

    def start(self):
        """Begins to watch, as `with` does, and returns self."""
        if self._hooks is not None:
            raise ValueError("this watch has begun already")
        self._models = {name: there("model", one) for name, one in self._models.items()}
        names = Names(self._models)
        self._check(names)
        self._order = names.order
        self._alike = all(type(model).__name__ == "DistributedDataParallel" for model in self._models.values())
        self._hooks = hooks = Hooks(names, self._plan, self._step, self._layers, self.notes, self.mistakes, self._ended, self._tell,
                                    self._drop)
        for name in names.replicated:
            hooks.note(f"{name} runs as copies of its modules, one for each GPU, whose activations are not counted")
        try:
            for scaler in self._scalers():
                hooks.attach_scaler(scaler)
            if self._scaler is not None:
                hooks.find_scalers(by_scale=isinstance(self._scaler, str))
            if self._optimizers is None:
                hooks.find_optimizers()
            else:
                hooks.attach_optimizers(self._optimizers)
            hooks.attach_compiled()
            hooks.attach_modules()
            hooks.attach_order()
        except BaseException:
            self._stop(False)
            raise
        atexit.register(self._at_exit)
        return self

    def _check(self, names):
        if not names.parts:
            raise ValueError("the model has no parameter; there is nothing to watch")
        if self._optimizers is not None:
            self._optimizers = [there("optimizer", one) for one in self._optimizers]
            for one in self._optimizers:
                if held_by(one) & names.parts.keys():
                    continue
                narrow = {tuple(x.shape) for module in self._models.values() for x in module.parameters() if x.element_size() < 4}
                if not all(tuple(x.shape) in narrow and x.dtype == torch.float32 for group in one.param_groups for x in group["params"]):
                    raise ValueError(f"optimizer: {type(one).__name__} holds none of the model's parameters")
                self.notes.append(copies_note(one))
                self._uncounted[copies_note(one)] = 1.0

    def stop(self):
        """Removes all hooks and keeps what was counted. A step that is not over does not count."""
        self._stop(True)

    def _stop(self, well):
        """well: no exception ends the loop."""
        hooks, self._hooks = self._hooks, None
        if hooks is None:
            return
        atexit.unregister(self._at_exit)
        self._step = hooks.number
        hooks.detach(well)
        # Who keeps what was counted keeps no model alive with it.
        self._models = {name: weakly(one) for name, one in self._models.items()}
        self._optimizers = None if self._optimizers is None else [weakly(one) for one in self._optimizers]
        if well and self._windows and self._told is not self._windows[-1]:
            self._tell_window(self._windows[-1])

    def step(self):
        """Ends the step, for loops in which not every optimizer steps in every step. After the first call only calls end steps."""
        if self._hooks is None:
            raise ValueError("step() outside of the with block: nothing is watched")
        self._hooks.end_by_hand()

    def alerts(self, share=0.01, role=GRADIENTS, call=print, format=None, lost=ILL):
        """Calls call(Alert) for each layer of a watched step in which more than this share of its non-zero values become zero.

        The values are those of a role (act, dAct, weight, dW, update or state, or a list of them), rounded to a format; None: the one
        in use, that of the values' own dtype or the narrow one that the run has beside, as under autocast to bfloat16, and binary16
        where it has none. Gradients are taken at the loss scale in use. Also for each layer of which more than the share lost, whatever the roles, of the
        updates that a gradient or weight decay asks for leave the weights as they were; None: such updates are not told."""
        roles = (role,) if isinstance(role, str) else role
        if not isinstance(roles, tuple | list | set) or not roles:
            raise TypeError(f"role: one of {', '.join(ROLES)} is wanted, or several in a tuple")
        for one in roles:
            if one not in ROLES:
                raise ValueError(f"role {one!r}: one of {', '.join(ROLES)} is wanted")
        if not isinstance(share, int | float) or not 0 <= share <= 1:
            raise ValueError(f"share {share!r}: a number from 0 to 1 is wanted")
        if lost is not None and not (isinstance(lost, int | float) and 0 <= lost <= 1):
            raise ValueError(f"lost {lost!r}: None or a number from 0 to 1 is wanted")
        if not callable(call):
            raise TypeError(f"call: a function is wanted, not {type(call).__name__}")
        if format is not None:
            _binade.RangeSummary().becomes(format)
        self._rules.append(AlertRule(share, tuple(roles), format, call, lost))

    def on_window(self, call):
        """Calls call(Window) after each window of steps that is complete, at first after every watched step; when watching ends,
        also with the last one, which may be incomplete."""
        if not callable(call):
            raise TypeError(f"on_window: a function is wanted, not {type(call).__name__}")
        self._on_window.append(call)

    def add_to(self, writer, format="binary16"):
        """Writes each window to a SummaryWriter of TensorBoard: what becomes of each layer's values in a format, with gradients at
        the loss scale in use, and a histogram of them by binade."""
        if not hasattr(writer, "add_scalar") or not hasattr(writer, "add_histogram_raw"):
            raise TypeError(f"writer: a SummaryWriter of TensorBoard is wanted, not {type(writer).__name__}")
        _binade.RangeSummary().becomes(format)
        self.on_window(lambda window: write_window(writer, window, format))

    def all_reduce(self, group=None):
        """Returns the Run of all processes of a torch.distributed group: what one process with all their tensors would count.

        Every process must call it, and each gets the same. Activations, their gradients and shards add up. Of tensors that
        DistributedDataParallel and DTensor keep alike on all processes (weights, reduced gradients, updates, states) one copy
        counts. Without these, weights, gradients, updates and states count once if all processes have the same, and add up
        otherwise. Raises ValueError if processes watched different steps, or replicas differ.
        """
        def replicated(key):
            placement = self._layers[key].placement if key in self._layers else ""
            if placement:
                return placement == "replicated"
            if key[1] in ("act", "dAct"):
                return False
            return True if self._alike else None

        return reduced(self, group, replicated)

    @property
    def layers(self):
        """A dict {(layer, role): Layer}, in the model's order."""
        place = self._order

        def key(item):
            (layer, role), _ = item
            name = layer
            while name not in place and "." in name:
                name = name.rpartition(".")[0]
            return place.get(layer.removesuffix(SCALED), place.get(name, -1)), layer, ROLES.index(role)

        return dict(sorted(self._layers.items(), key=key))

    def _words(self):
        return [*super()._words(), f"step {self._hooks.number}, watching"] if self._hooks is not None else super()._words()

    def _scalers(self):
        if not isinstance(self._scaler, str):
            enabled = self._scaler is not None and getattr(self._scaler, "is_enabled", lambda: True)()
            return [self._scaler] if enabled else []
        found = living_scalers()
        if found:
            self._hooks.note("a GradScaler was found; its loss scale counts where its scale() is called" if len(found) == 1 else
                             f"{len(found)} GradScalers were found; the loss scale is that of the one whose scale() was called "
                             "last")
        return found

    def _tell(self, event):
        if len(self._nonfinite) < MOST:
            self._nonfinite.append(event)

    def _drop(self, event):
        self._nonfinite[:] = [one for one in self._nonfinite if one is not event]

    def _ended(self, step):
        if not step.counted:
            return
        if not any(role == "act" for _, role in step.window.summaries):
            self._hooks.note("steps without activations: no module of the model ran with gradients and gave what is counted, or "
                             "they ran compiled")
        complete = self._all.add(step.window)
        if self._rules:
            self._beginnings.see(step.window.summaries)
        for rule in self._rules:
            rule.look(step.window, self._layers, self._beginnings)
        if complete is not None:
            self._tell_window(complete)

    def _tell_window(self, window):
        self._told = window
        for call in self._on_window:
            call(window.copy())


def weakly(one):
    """Returns a weak reference to the thing, or the thing itself if it does not allow one."""
    try:
        return weakref.ref(one)
    except TypeError:
        return one


def there(what, one):
    """Returns what a weak reference refers to, or the thing itself if it is none."""
    out = one() if isinstance(one, weakref.ref) else one
    if out is None:
        raise ValueError(f"the {what} that was watched is gone")
    return out


def stop_at_exit(watch):
    """Stops watching when the interpreter ends, if nobody did: hooks must not outlive the interpreter's modules."""
    if watch() is not None:
        watch()._stop(False)
