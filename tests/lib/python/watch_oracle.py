# SPDX-License-Identifier: Apache-2.0
"""The figures that binade.torch.watch must report about a loop, found by other means. A loop is written once, with calls of a Loop
at the places where a user would print tensors. Loop itself does nothing there, so that the loop runs as a user's; a
Dump copies what it is given into NumPy arrays: activations as the model's code hands them over, their gradients by
retain_grad(), parameters, gradients and states around the optimizer's step. judge() runs both and holds every figure of
every summary to NumPy's brute force over the copies."""

import math
import sys
import warnings
from contextlib import contextmanager, nullcontext

import numpy as np
import torch

import binade.torch


def array_of(tensor):
    """A copy as float64, which holds every value of the narrower types; of a sparse tensor, of its coalesced values."""
    tensor = tensor.detach()
    if tensor.is_sparse:
        tensor = tensor.coalesce().values()
    return tensor.to(torch.float64).reshape(-1).numpy().copy()


def unscaled(x, scale):
    """A gradient divided by a loss scale: exact for a power of two, else as GradScaler's kernel multiplies."""
    if math.frexp(scale)[0] == 0.5:
        return x / scale
    return (x.astype(np.float32) * np.float32(1 / scale)).astype(np.float64)


def figures(x):
    """What a RangeSummary tells of values, by definition."""
    magnitudes = np.abs(x[np.isfinite(x) & (x != 0)])
    exponents, counts = np.unique(np.frexp(magnitudes)[1] - 1, return_counts=True)
    return {"values": x.size, "zeros": int((x == 0).sum()), "nan": int(np.isnan(x).sum()), "inf": int(np.isinf(x).sum()),
            "negative": int((np.signbit(x) & ~np.isnan(x)).sum()), "nonzero": magnitudes.size,
            "smallest": magnitudes.min() if magnitudes.size else None,
            "largest": magnitudes.max() if magnitudes.size else None,
            "binades": dict(zip(exponents.tolist(), counts.tolist())), "columns": []}


def told(summary):
    """The same figures of a summary."""
    out = {name: getattr(summary, name) for name in figures(np.zeros(0)) if name != "binades"}
    out["binades"] = dict(zip(summary.exponents.tolist(), summary.counts.tolist()))
    return out


def sums(x):
    """Per binade, the sums of the magnitudes and of their squares in units of 2^(exponent - 52) and of its square."""
    out = {}
    fractions, exponents = np.frexp(np.abs(x[np.isfinite(x) & (x != 0)]))
    for m, e in zip(np.ldexp(fractions, 53).astype(np.int64).tolist(), (exponents - 1).tolist()):
        one, two = out.get(e, (0, 0))
        out[e] = one + m, two + m * m
    return out


def every_parameter(model, prefix="", parts=()):
    """(layer, parameter, the part of it that the layer is) of a model. parts: of torch's names that become others, the (layer,
    part) pairs of each."""
    out = []
    for name, parameter in model.named_parameters():
        layer = name[:-len(".weight")] if name.endswith(".weight") else name
        for layer, part in dict(parts).get(name, [(layer, lambda x: x)]):
            out.append((prefix + layer, parameter, part))
    return out


def nothing(layer, x):
    """What a model's forward does with a tensor that is not recorded."""
    return x


def through(parts, name, x, see):
    """A Sequential's forward; where somebody looks, part by part."""
    if see is nothing:
        return parts(x)
    for at, part in enumerate(parts):
        x = see(f"{name}.{at}", part(x))
    return x


class Loop:
    """A loop that only watch observes; its bits are kept."""

    by_hand = False
    see = staticmethod(nothing)

    def __init__(self):
        self.bits = []

    def gradients(self, scale=1.0):
        pass

    def unscale(self, scaler, optimizer, parameters):
        scaler.unscale_(optimizer)

    def step(self, optimizer, parameters, scaler=None):
        scaler.step(optimizer) if scaler else optimizer.step()

    def end(self, *holders):
        """Keeps the bits of losses, models and optimizers, and of the random numbers to come."""
        bits = [torch.get_rng_state().numpy().tobytes()]
        for one in holders:
            if isinstance(one, torch.nn.Module):
                tensors = [*one.parameters(), *one.buffers()]
            elif isinstance(one, torch.optim.Optimizer):
                tensors = [x for state in one.state.values() for x in state.values() if isinstance(x, torch.Tensor)]
            else:
                tensors = [one]
            bits += [array_of(x).tobytes() for x in tensors]
        self.bits.append(bits)


class Dump(Loop):
    """A loop of whose steps 0, every, 2 every … all is copied: arrays[step, layer, role], in all calls' order."""

    by_hand = True

    def __init__(self, every=1, gradients="unscaled"):
        super().__init__()
        self.every, self.kinds = every, {"both": ("unscaled", "scaled")}.get(gradients, (gradients,))
        self.index, self.arrays, self.begun, self.awaited, self.unscaled_ = 0, {}, {}, [], set()

    def note(self, layer, role, x):
        if self.index % self.every == 0:
            self.begun.setdefault((self.index, layer, role), []).append(x)

    def note_gradient(self, layer, role, x, kind):
        """One that is scaled or unscaled, under the name that it has among the kinds wanted."""
        if kind in self.kinds:
            self.note(layer + (" (scaled)" if kind == "scaled" and len(self.kinds) == 2 else ""), role, x)

    def see(self, layer, x):
        if torch.is_grad_enabled():
            self.note(layer, "act", array_of(x))
            if x.requires_grad:
                x.retain_grad()
                self.awaited.append((layer, x))
        return x

    def gradients(self, scale=1.0):
        """After a backward pass of a loss times scale."""
        for layer, x in self.awaited:
            if x.grad is not None:
                self.note_gradient(layer, "dAct", unscaled(array_of(x.grad), scale), "unscaled")
                self.note_gradient(layer, "dAct", array_of(x.grad), "scaled")
                x.grad = None

    def dw(self, optimizer, parameters, kind):
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for layer, p, part in parameters:
            if id(p) in held and p.grad is not None:
                self.note_gradient(layer, "dW", array_of(p.grad if p.grad.is_sparse else part(p.grad)), kind)

    def unscale(self, scaler, optimizer, parameters):
        self.dw(optimizer, parameters, "scaled")
        scaler.unscale_(optimizer)
        self.unscaled_.add(id(optimizer))

    def step(self, optimizer, parameters, scaler=None):
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        mine = [(layer, p, part) for layer, p, part in parameters if id(p) in held]
        if scaler and id(optimizer) not in self.unscaled_:
            self.unscale(scaler, optimizer, parameters)
        elif not scaler:
            self.dw(optimizer, parameters, "scaled")
        self.dw(optimizer, parameters, "unscaled")
        self.unscaled_.discard(id(optimizer))
        before = {id(p): p.detach().clone() for _, p, _ in mine}
        skipped = scaler and any(p.grad is not None and not torch.isfinite(p.grad).all() for _, p, _ in mine)
        scaler.step(optimizer) if scaler else optimizer.step()
        for layer, p, part in mine:
            self.note(layer, "weight", array_of(part(before[id(p)])))
            if skipped:  # nothing was updated
                continue
            self.note(layer, "update", array_of(part(p.detach() - before[id(p)])))
            for name, x in optimizer.state.get(p, {}).items():
                if isinstance(x, torch.Tensor) and x.is_floating_point() and (x.numel() > 1 or x.shape == p.shape):
                    self.note(f"{layer}.{name}", "state", array_of(part(x)))

    def end(self, *holders):
        super().end(*holders)
        self.arrays.update({key: np.concatenate(arrays) for key, arrays in self.begun.items()})
        self.begun, self.awaited, self.index = {}, [], self.index + 1


def hooks(*objects):
    """All that could be hooked of modules, optimizers and scalers, of their classes and of torch: what must be as it was."""
    out = {}
    modules = [m for one in objects if isinstance(one, torch.nn.Module) for m in one.modules()]
    parameters = [p for module in modules for p in module._parameters.values() if p is not None]
    for at, one in enumerate([*modules, *objects]):
        for name, value in vars(one).items():
            if "hook" in name and isinstance(value, dict):
                out[at, name] = tuple(value.values())
            elif callable(value) and not isinstance(value, torch.Tensor):
                out[at, name] = value
        out[at, "step"] = getattr(one, "step", None)
    for at, p in enumerate(parameters):
        for name in ("_backward_hooks", "_post_accumulate_grad_hooks"):
            out["parameter", at, name] = tuple((getattr(p, name, None) or {}).values())
    classes = {base for one in [*modules, *objects] for base in type(one).__mro__[:-1]}
    modules = [torch.autograd, torch.nn.modules.module, sys.modules[torch.optim.Optimizer.__module__]]
    for owner in [*classes, torch.Tensor, *modules]:
        for name, value in vars(owner).items():
            if "hook" in name and isinstance(value, dict):
                out[owner, name] = tuple(value.values())
            elif callable(value):
                out[owner, name] = value
    return out


def listed(model):
    """The models and optimizers of an argument that may be one, several, or named ones."""
    return list(model.values()) if isinstance(model, dict) else list(model) if isinstance(model, (list, tuple)) else [model]


@contextmanager
def watching(case, model, optimizer=None, *, scaler=None, also=(), **options):
    """watch(), after which no hook may be left, whatever ended it. also: optimizers and scalers that it has to find."""
    objects = [one for one in [*listed(model), *listed(optimizer), *also, scaler] if one not in (None, "find")]
    before = hooks(*objects)
    try:
        with binade.torch.watch(model, optimizer, scaler=scaler, **options) as w:
            yield w
    finally:
        after = hooks(*objects)
        case.assertEqual({key for key in {*before, *after} if before.get(key) != after.get(key)}, set(), "not as it was")


def differing(got, wanted):
    """Of two tables, the rows in which they differ, as (got, wanted)."""
    return {key: (got.get(key, "missing"), wanted.get(key, "not expected"))
            for key in sorted({*got, *wanted}) if got.get(key) != wanted.get(key)}


def compare(case, got, wanted):
    """Tables of figures by step, layer and role: all keys, then all figures of those that both have."""
    case.assertTrue(wanted, "nothing to compare")
    missing, more = sorted(set(wanted) - set(got)), sorted(set(got) - set(wanted))
    wrong = {key: differing(got[key], wanted[key]) for key in wanted if key in got and got[key] != wanted[key]}
    if missing or more or wrong:
        case.fail(f"{len(missing)} missing: {missing[:8]}\n{len(more)} not expected: {more[:8]}\n"
                  f"{len(wrong)} wrong, of {len(wanted)}: {dict(list(wrong.items())[:4])}")


def check(case, summaries, arrays):
    """Every figure of every summary is that of the arrays, and there are no others."""
    compare(case, {key: told(s) for key, s in summaries.items()}, {key: figures(x) for key, x in arrays.items()})


def check_sums(case, report, arrays):
    """The report has these tensors, and the sums in each binade are exact."""
    got = {}
    for t in report.tensors:
        got[t["time"]["step"], t["time"]["layer"], t["time"]["role"]] = {
            b["exponent"]: (sum(map(int, b["sum"])), int(b["sum_of_squares"])) for b in t["binades"]}
    compare(case, got, {key: sums(x) for key, x in arrays.items()})


def judge(case, train, *, every=1, gradients="unscaled", **options):
    """Runs train(loop, watching) by hand and watched, from the same seed, and compares; the dump and the watch."""
    dump, loop, watches = Dump(every, gradients), Loop(), []

    def warned(*arguments):
        torch.manual_seed(1)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            train(*arguments)
        return {str(one.message) for one in said}

    @contextmanager
    def watched(model, optimizer=None, **more):
        with watching(case, model, optimizer, every=every, gradients=gradients, **options, **more) as w:
            watches.append(w)
            yield w

    before = warned(dump, lambda *_, **__: nullcontext())
    case.assertEqual(warned(loop, watched) - before, set(), "the watch made torch warn")
    case.assertTrue(dump.bits, "no step was made")
    case.assertTrue(dump.bits == loop.bits, "the watch changed the loop")
    (w,) = watches
    check(case, w.summaries(), dump.arrays)
    return dump, w


class Mlp(torch.nn.Module):
    def __init__(self, see_as="", dtype=torch.float32):
        super().__init__()
        self.see_as = see_as
        self.fc1, self.act, self.fc2 = torch.nn.Linear(4, 6, dtype=dtype), torch.nn.Tanh(), torch.nn.Linear(6, 3, dtype=dtype)

    def forward(self, x, see=nothing):
        h = see(self.see_as + "act", self.act(see(self.see_as + "fc1", self.fc1(x))))
        return see(self.see_as + "fc2", self.fc2(h))


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def passes(loop, model, *inputs):
    """Forward and backward of each, one after the other; the last loss."""
    for x in inputs:
        loss = model(x, loop.see).square().mean()
        loss.backward()
        loop.gradients()
    return loss


def plain(make, inputs, optimize=sgd, wrap=lambda model: model, passes=passes, parts=(), clear={}, **options):
    """The training of a model on a batch a step. passes(loop, model, batch) gives a loss, and gradients as the optimizer is to get
    them; parts: as those of every_parameter(); clear: what zero_grad() gets."""
    def train(loop, watching):
        model = make(loop)
        optimizer, wrapped = optimize(model), wrap(model)
        with watching(wrapped, optimizer, **options):
            for x in inputs:
                optimizer.zero_grad(**clear)
                loss = passes(loop, wrapped, x)
                loop.step(optimizer, every_parameter(model, parts=parts))
                loop.end(model, optimizer, loss)
    return train


def batches(*shape):
    """The same at every call."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(7))


class CpuScaler:
    """GradScaler's interface and arithmetic, for the CPU of a torch whose own GradScaler is for CUDA only."""

    def __init__(self, init_scale=1024.0, growth_interval=2000):
        self._scale, self._growth_interval, self._good, self._found = float(init_scale), growth_interval, 0, {}

    def is_enabled(self):
        return True

    def get_scale(self):
        return self._scale

    def scale(self, loss):
        return loss * self._scale

    def unscale_(self, optimizer):
        if id(optimizer) in self._found:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        for gradient in gradients:
            gradient.mul_(float(np.float32(1 / self._scale)))
        self._found[id(optimizer)] = not all(gradient.isfinite().all() for gradient in gradients)

    def step(self, optimizer, *arguments, **keywords):
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        return None if self._found[id(optimizer)] else optimizer.step(*arguments, **keywords)

    def update(self, new_scale=None):
        self._good = 0 if any(self._found.values()) else self._good + 1
        if self._good == 0:
            self._scale /= 2
        elif self._good % self._growth_interval == 0:
            self._scale *= 2
        self._found = {}
