# SPDX-License-Identifier: Apache-2.0
"""The class LossScaler: loss scales of all frameworks, with the interface of torch.amp.GradScaler.

    scale ─▶ backward ─▶ unscale_: looks at the gradients, divides them ─▶ step, or none ─▶ update: the engine's next scale

The engine is binade.LossScaler, which sets the scale. torch's own class keeps the order of calls, and a float32 tensor of the
engine's scale.
"""
import collections.abc
import math
import sys

import torch

from ... import _binade
from .scaled_gradients import HAS_CPU_KERNEL, LOOKS, LOOKS_NOT, scaled_gradients, seen_by, unscale

# torch 1.13's is torch.cuda.amp's; both keep a state for each optimizer.
GradScaler = torch.amp.GradScaler if HAS_CPU_KERNEL else torch.cuda.amp.GradScaler
new_optimizer_state = sys.modules[GradScaler.__module__]._refresh_per_optimizer_state

ALIASES = {"dynamic": "torch"}
STEP_ANYWAY = "static", "histogram"  # whatever is in the gradients
CHANGEABLE = "growth_factor", "backoff_factor", "growth_interval"
DEFAULTS = {row.name: row.parameters for row in _binade.loss_scalers()}


def changeable(name):
    """Returns a property for a parameter that torch's GradScaler keeps under its private name."""
    return property(lambda self: self._parameter(name), lambda self, value: self._change({name: value}))


class LossScaler(GradScaler):
    """A loss scaler with any framework's policy. It is a torch.amp.GradScaler, with its methods and errors.

    policy: a name of binade.loss_scalers(), which has the parameters of each and their defaults. "torch" (or "dynamic") has bit
        for bit the scales, skipped steps and parameters of torch.amp.GradScaler. Others are those of other frameworks;
        log_max, which looks at the largest gradient; histogram, which looks at the share of large ones; "static:1024", a fixed scale; and
        none. adaptive, a scale for each layer, is refused: README.md says why.
    enabled: if False, losses and gradients are not changed.
    allow_fp16: whether gradients may be float16, which GradScaler refuses.
    parameters: those of the policy, by keyword: init_scale, growth_factor, min_scale, hysteresis, … The others have the
        framework's defaults.

    It works on the device of the losses, on the CPU with torch 1.13 as well. Raises ValueError, in one line, for a policy or a
    parameter that there is not, and in update() if a policy gives up, as DeepSpeed's and fairseq's do at their least scale.

    >>> import torch
    >>> import binade.torch
    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    >>> scaler = binade.torch.LossScaler("megatron", init_scale=2.0**10, growth_interval=2)
    >>> for _ in range(4):
    ...     optimizer.zero_grad()
    ...     scaler.scale(model(torch.ones(3, 2)).square().mean()).backward()
    ...     scaler.step(optimizer)
    ...     scaler.update()
    >>> scaler.get_scale()
    4096.0
    """

    _growth_factor, _backoff_factor, _growth_interval = map(changeable, CHANGEABLE)

    # Torch's own would disable itself where there is no CUDA, and knows one policy.
    def __init__(self, policy="torch", *, enabled=True, allow_fp16=False, **parameters):
        if not isinstance(policy, str):
            raise TypeError(f"policy: a name of binade.loss_scalers() is wanted, not {type(policy).__name__}")
        self.policy = ALIASES.get(policy, policy)
        if self.policy == "adaptive":
            raise ValueError("loss scaler adaptive: a scale for each layer, and a GradScaler has one for all gradients; "
                             "binade.train has it, and binade.LossScaler.layer_scale")
        self._given, self._allow_fp16 = dict(parameters), bool(allow_fp16)
        self._engine = self._made(self._given)
        self._enabled = bool(enabled) and self.policy != "none"
        self._skips = self.policy.partition(":")[0] not in STEP_ANYWAY
        self._scale = self._growth_tracker = None  # tensors, since the first scale()
        self._next_iteration()
        self._show()

    @property
    def _look(self):
        return LOOKS.get(self.policy, LOOKS_NOT)

    def _made(self, parameters):
        """Returns an engine. For torch's own policy, parameters are checked by torch's assertions."""
        if self.policy == "torch" and parameters.get("growth_factor", 2) <= 1:
            raise AssertionError("The growth factor must be > 1.0.")
        if self.policy == "torch" and parameters.get("backoff_factor", 0.5) >= 1:
            raise AssertionError("The backoff factor must be < 1.0.")
        return _binade.LossScaler(self.policy, **parameters)

    def _parameters(self):
        return DEFAULTS.get(self.policy, {}) | self._given

    def _parameter(self, name):
        parameters = self._parameters()
        if name not in parameters:
            raise ValueError(f"loss scaler {self.policy} has no parameter {name}")
        return parameters[name]

    def _change(self, parameters, state=None):
        """Replaces the engine by one with other parameters, and with the given state, or else the present one."""
        given = self._given | parameters
        engine = self._made(given)
        engine.load_state_dict(self._engine.state_dict() if state is None else state)
        self._given, self._engine = given, engine

    def _next_iteration(self):
        self._per_optimizer_states = collections.defaultdict(new_optimizer_state)
        self._seen = self._look.nothing

    def _show(self):
        """Copies the engine's scale to where torch's class keeps its own."""
        self._init_scale = self._engine.scale
        self._init_growth_tracker = self._engine.state_dict().get("growth_tracker", 0)
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def _lazy_init_scale_growth_tracker(self, device):
        self._scale = torch.full((), self._init_scale, dtype=torch.float32, device=device)
        self._growth_tracker = torch.full((), self._init_growth_tracker, dtype=torch.int32, device=device)

    def scale(self, outputs):
        """Returns a loss times the scale, in its graph; for an iterable of losses, however nested, each of them so."""
        return self._scaled(outputs) if self._enabled else outputs

    def _scaled(self, outputs):
        if isinstance(outputs, torch.Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale.to(device=outputs.device, non_blocking=True)
        if isinstance(outputs, collections.abc.Iterable):
            scaled = map(self._scaled, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
        gradients = scaled_gradients(optimizer, allow_fp16 or self._allow_fp16)
        with torch.no_grad():
            for x in gradients if self.policy in LOOKS else ():
                self._seen = seen_by(self.policy, self._seen, x, self._parameters())
            found = unscale(gradients, found_inf, inv_scale)
        return found if self._skips else {device: torch.zeros_like(x) for device, x in found.items()}

    def update(self, new_scale=None):
        """Ends the iteration, and sets the policy's next scale.

        new_scale: a number, or a tensor of one element without a graph, to set as the scale instead; nothing else that the policy
        remembers changes then.
        """
        if not self._enabled:
            return
        self._check_scale_growth_tracker("update")
        found = [x for state in self._per_optimizer_states.values() for x in state["found_inf_per_device"].values()]
        if new_scale is None and not found:
            raise AssertionError("No inf checks were recorded prior to update.")
        if new_scale is not None:
            self._set_scale(new_scale)
        seen = self._seen
        self._next_iteration()
        try:
            if new_scale is None:
                self._look.end(self._engine, seen, any(float(x) for x in found))
        finally:  # a policy that gives up has changed, too
            self._show()

    def _set_scale(self, new_scale):
        if isinstance(new_scale, torch.Tensor) and (new_scale.numel() != 1 or new_scale.requires_grad):
            raise AssertionError("new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                                 "requires_grad=False.")
        scale, state = float(new_scale), self._engine.state_dict()
        if not (math.isfinite(scale) and scale > 0):
            raise ValueError(f"new_scale {scale!r}: a finite number above 0 is wanted")
        self._engine.load_state_dict(state | {key: scale for key in ("scale", "next_scale") if key in state})

    def state_dict(self):
        """Returns GradScaler's state, and for other policies, or parameters that GradScaler lacks, also "state", the engine's."""
        if not self._enabled:
            return {}
        parameters = self._parameters()
        out = {"scale": self.get_scale()} | {key: parameters[key] for key in CHANGEABLE if key in parameters}
        out["_growth_tracker"] = self._get_growth_tracker()
        own = self.policy != "torch" or self._given.keys() - {"init_scale", *CHANGEABLE}
        return out | {"state": self._engine.state_dict()} if own else out

    def load_state_dict(self, state_dict):
        """Sets the state that state_dict() of a scaler of the same policy returned; "torch" takes GradScaler's, too."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of "
                               "GradScaler.")
        state = state_dict.get("state")
        if state is None:
            if self.policy != "torch":
                raise ValueError(f"loss scaler state: it is not of the policy {self.policy}; load it into a scaler of its own")
            state = self._engine.state_dict() | {"scale": state_dict["scale"], "growth_tracker": state_dict["_growth_tracker"]}
        parameters = self._parameters()
        self._change({key: state_dict[key] for key in CHANGEABLE if key in parameters}, state)
        self._show()

    def __repr__(self):
        given = "".join(f", {key}={value!r}" for key, value in self._given.items())
        return f"LossScaler({self.policy!r}{given}{'' if self._enabled else ', enabled=False'}), scale {self.get_scale()!r}"
