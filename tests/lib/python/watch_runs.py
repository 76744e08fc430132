# SPDX-License-Identifier: Apache-2.0
"""Small watched trainings, for tests of what watch reports about them."""
import warnings

import torch

import binade.torch


class Multiplied(torch.nn.Module):
    """x · factor, factor a number that a test changes."""

    def __init__(self):
        super().__init__()
        self.factor = 1.0

    def forward(self, x):
        return x * self.factor


class Calls(torch.nn.Module):
    """A function of modules and parameters, which it has under their names."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs):
        return self.function(self, *inputs)


def new_net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), Multiplied(), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def run(optimizer, loss, steps, scaler=None, before=lambda step: None, between=lambda: None, after=lambda step: None, clear={}):
    """Trains on what loss(step) computes. before(step) and after(step) are called around each step, between() behind each backward
    pass. clear: what zero_grad() gets, which is called before each loss; None: it is not."""
    for step in range(steps):
        before(step)
        if clear is not None:
            optimizer.zero_grad(**clear)
        value = loss(step)
        (value if scaler is None else scaler.scale(value)).backward()
        between()
        if scaler is None:
            optimizer.step()
        else:
            scaler.step(optimizer)
            scaler.update()
        after(step)


def train(model, steps, optimizer, scaler=None, before=lambda step: None, x=None):
    run(optimizer, lambda _: model(torch.ones(3, 4) if x is None else x).square().sum(), steps, scaler, before)


def watched(steps=6, before=lambda step: None, scaler=None, model=None, x=None, lr=0.01, **options):
    model = model or new_net()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    with binade.torch.watch(model, optimizer, **({"every": 2, "scaler": scaler} | options)) as w:
        train(model, steps, optimizer, scaler, before, x)
    return w


def fit(model, loss, steps=3, optimizer=None, lr=0.1, between=lambda: None, after=lambda: None, clear={}, alerts=None, said=None,
        **options):
    """Trains a model, by SGD unless an optimizer is given, on what loss() computes in each step, with run()'s between() and clear;
    after() is called behind each step. Returns the Watch, of every step unless options of watch say otherwise. alerts: what its
    alerts() gets. said: a list to which the texts of all warnings are added."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=lr)
    with warnings.catch_warnings(record=True) as warned, binade.torch.watch(model, optimizer, **({"every": 1} | options)) as w:
        warnings.simplefilter("always")
        if alerts is not None:
            w.alerts(**alerts)
        run(optimizer, lambda _: loss(), steps, between=between, after=lambda _: after(), clear=clear)
    if said is not None:
        said.extend(str(one.message) for one in warned)
    return w


def fit_scaled(model, scaler, loss, steps, lr, after=lambda step: None, **options):
    """As fit(), with a scaler, on loss(step), and after(step) behind its update()."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    with warnings.catch_warnings(record=True), binade.torch.watch(model, optimizer, scaler=scaler, **({"every": 1} | options)) as w:
        run(optimizer, loss, steps, scaler, after=after)
    return w


def in_bfloat16(call, x, enabled=True):
    """What a model gives under autocast."""
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
        return call(x)
