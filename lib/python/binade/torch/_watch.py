# SPDX-License-Identifier: Apache-2.0
"""A model that is watched while it trains."""
import dataclasses

import torch

from .. import _binade
from ._attaching import living_optimizers, living_scalers, unwrapped_optimizer
from ._hooks import Hooks
from ._names import Names
from ._nonfinite import MOST
from ._ranks import reduced
from ._run import SCALED, Run, Windows
from ._telling import ROLES, AlertRule, write_window
from ._tensors import Counter

GRADIENTS = ("unscaled", "scaled", "both")


@dataclasses.dataclass(frozen=True)
class Plan:
    """How steps are counted."""

    every: int
    counter: Counter
    gradients: str
    loss_scale: object  # a number, a function that gives one, or None
    nonfinite: bool  # looks for Inf and NaN in every step


def watch(model, optimizer=None, *, scaler="find", every=50, gradients="unscaled", loss_scale=None, windows=64, sqnr=False,
          nonfinite=True, emulated=""):
    """Watches a model while it trains: a context manager around the training loop, which stays as it is.

    model: a torch.nn.Module, or {name: Module} for several that train together. optimizer: one or a list; None: those in
        the process that hold the model's parameters, sought when watching begins and again at the first backward pass.
    scaler: the GradScaler, or whatever has get_scale(); "find": those in the process, each from a call of its scale() on; None: none.
    every: steps 0, every, 2·every … are counted. A step is over once every optimizer has stepped, or was left out by the scaler;
        loops in which one of them seldom steps call w.step() where their step ends.
    gradients: "unscaled", divided by the loss scale in use; "scaled", as they are in the loop; "both", the scaled ones under
        the layer's name with " (scaled)" in summaries(), the unscaled ones in reports.
    loss_scale: a number, or a function that gives it, for loops that multiply their loss without a scaler: gradients of
        activations are divided by it. windows: the run's steps are merged into so many at most. sqnr: sums squared rounding
        errors, too, for 2.5 times the time. nonfinite: looks for the first Inf or NaN in every step. emulated: counts as on a
        GPU, on the emulated device of that name ("sm_90").

    Counted, by layer and role, exactly: act and dAct, outputs of modules and their gradients; weight (before the step), dW
    (.grad as the optimizer gets it), update (weight after − before) and state of the optimizer. What runs under no_grad is
    not counted. No tensor is changed, no random number drawn.

    Returns a Watch. ValueError or TypeError, one line, for what cannot be watched.
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


class Watch(Run):
    """A run that is being watched; watch() makes it. Everything of a Run can be asked at any time."""

    def __init__(self, model, optimizer, *, scaler, every, gradients, loss_scale, windows, sqnr, nonfinite, emulated):
        self._models = models_of(model)
        self._optimizers = None if optimizer is None else optimizers_of(optimizer)
        super().__init__(whole("every", every, 1), (), {})
        if gradients not in GRADIENTS:
            raise ValueError(f"gradients {gradients!r}: one of {', '.join(GRADIENTS)} is wanted")
        if not (scaler is None or scaler == "find" or callable(getattr(scaler, "get_scale", None))):
            raise TypeError(f'scaler: "find", None or what has get_scale() is wanted, not {type(scaler).__name__}')
        if isinstance(loss_scale, bool) or not (loss_scale is None or callable(loss_scale) or loss_scale > 0):
            raise ValueError(f"loss_scale {loss_scale!r}: a number above 0 or a function that gives one is wanted")
        self._plan = Plan(self.every, Counter(bool(sqnr), emulated), gradients, loss_scale, bool(nonfinite))
        self._scaler = scaler
        self._all = Windows(whole("windows", windows, 2))
        self._windows = self._all.list
        self._layers = {}
        self._rules, self._on_window = [], []
        self._hooks = None  # while watching
        self._step = 0  # the next one, while not watching

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Begins to watch; `with` does it. Returns self."""
        if self._hooks is not None:
            raise ValueError("this watch has begun already")
        self._names = Names(self._models)
        if not self._names.parts:
            raise ValueError("the model has no parameter; there is nothing to watch")
        for name in self._names.compiled:
            self._note(f"{name} is compiled: its parameters are counted, its activations are not; watch the model before it is compiled")
        self._hooks = Hooks(self._names, self._plan, self._step, self._layers, self._ended, self._tell)
        try:
            for scaler in self._scalers():
                if not self._hooks.attach_scaler(scaler):
                    self._note("steps that the scaler skips are not seen: call w.step()")
            given = self._optimizers
            self._hooks.attach_optimizers(living_optimizers(self._names.parts) if given is None else given)
            self._hooks.attach_modules()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self):
        """Takes all hooks away; what was counted stays. A step that is not over is left out."""
        if self._hooks is not None:
            self._hooks.detach()
            self._step, self._hooks = self._hooks.number, None

    def step(self):
        """Ends the step, for loops in which not every optimizer steps in every step; from the first call on it alone does."""
        if self._hooks is None:
            raise ValueError("step() outside of the with block: nothing is watched")
        self._hooks.end_by_hand()

    def alerts(self, share=0.01, role=("dAct", "dW"), call=print, format="binary16"):
        """Calls call(Alert) for each layer of a watched step in which more than this share of the non-zero values of a role
        become zero in a format, gradients at the loss scale in use. role: one of act, dAct, weight, dW, update, state, or several."""
        roles = (role,) if isinstance(role, str) else tuple(role)
        for one in roles:
            if one not in ROLES:
                raise ValueError(f"role {one!r}: one of {', '.join(ROLES)} is wanted")
        if not 0 <= share <= 1:
            raise ValueError(f"share {share!r}: from 0 to 1 is wanted")
        if not callable(call):
            raise TypeError(f"call: a function is wanted, not {type(call).__name__}")
        _binade.RangeSummary().becomes(format)
        self._rules.append(AlertRule(share, roles, format, call))

    def on_window(self, call):
        """Calls call(Window) after each window of steps that is complete: at first after every watched step."""
        if not callable(call):
            raise TypeError(f"on_window: a function is wanted, not {type(call).__name__}")
        self._on_window.append(call)

    def add_to(self, writer, format="binary16"):
        """Writes each window to a SummaryWriter of TensorBoard: what becomes of each layer's values in a format, gradients at the
        loss scale in use, and their histogram by binade."""
        _binade.RangeSummary().becomes(format)
        self.on_window(lambda window: write_window(writer, window, format))

    def all_reduce(self, group=None):
        """The Run of all processes of a torch.distributed group, the same on each: what one process would have counted that had all their tensors.

        Every process calls it. Activations, their gradients and shards add up. Of what DistributedDataParallel keeps alike on
        all processes (weights, reduced gradients, updates, states) one copy counts. Without it, weights, gradients, updates and
        states count once where all processes have the same, and add up where they have not.
        ValueError where processes watched other steps, or replicas are not alike.
        """
        alike = all(type(model).__name__ == "DistributedDataParallel" for model in self._models.values())

        def replicated(key):
            if key[1] in ("act", "dAct"):
                return False
            return True if alike else None

        return reduced(self, group, replicated)

    @property
    def layers(self):
        """{(layer, role): Layer}, in the model's order."""
        if not hasattr(self, "_names"):
            return dict(self._layers)
        place = self._names.order

        def key(item):
            (layer, role), _ = item
            name = layer
            while name not in place and "." in name:
                name = name.rpartition(".")[0]
            return place.get(layer.removesuffix(SCALED), place.get(name, -1)), layer, ROLES.index(role)

        return dict(sorted(self._layers.items(), key=key))

    @layers.setter
    def layers(self, of):
        self._layers = dict(of)

    def __repr__(self):
        step = self._step if self._hooks is None else self._hooks.number
        words = [f"every {self.every}", f"step {step}", f"{len(self._windows)} window{'s' * (len(self._windows) != 1)}"]
        if self._nonfinite:
            words.append(f"first Inf or NaN in step {self._nonfinite[0].step}")
        return f"<binade.torch.Watch: {', '.join(words)}{'' if self._hooks is None else ', watching'}>"

    def _note(self, line):
        if line not in self.notes:
            self.notes.append(line)

    def _scalers(self):
        if not isinstance(self._scaler, str):
            return [] if self._scaler is None else [self._scaler]
        found = living_scalers()
        if found:
            self._note("a GradScaler was found; its loss scale counts where its scale() is called" if len(found) == 1 else
                       f"{len(found)} GradScalers were found; the loss scale is that of the one whose scale() was called last")
        return found

    def _tell(self, event):
        if len(self._nonfinite) < MOST:
            self._nonfinite.append(event)

    def _ended(self, step):
        if not step.counted:
            return
        for rule in self._rules:
            rule.look(step.window)
        complete = self._all.add(step.window)
        if complete is not None:
            for call in self._on_window:
                call(complete)
