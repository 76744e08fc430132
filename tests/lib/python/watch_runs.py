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


def train(model, steps, watching, optimizer, scaler=None, before=lambda step: None, x=None):
    for step in range(steps):
        before(step)
        optimizer.zero_grad()
        loss = model(torch.ones(3, 4) if x is None else x).square().sum()
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    return watching


def watched(steps=6, before=lambda step: None, scaler=None, model=None, x=None, lr=0.01, **options):
    model = model or new_net()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    with binade.torch.watch(model, optimizer, **({"every": 2, "scaler": scaler} | options)) as w:
        train(model, steps, w, optimizer, scaler, before, x)
    return w


def fit(model, loss, steps=3, optimizer=None, lr=0.1, between=lambda: None, after=lambda: None, **options):
    """Trains a model, by SGD unless an optimizer is given, on what loss() computes in each step. between() is called behind
    each backward pass, after() behind each step. Returns the Watch, of every step unless options of watch say otherwise."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=lr)
    with warnings.catch_warnings(record=True), binade.torch.watch(model, optimizer, **({"every": 1} | options)) as w:
        for _ in range(steps):
            optimizer.zero_grad()
            loss().backward()
            between()
            optimizer.step()
            after()
    return w


def fit_scaled(model, scaler, loss, steps, lr, after=lambda step: None, **options):
    """As fit(), with a scaler, on loss(step), and after(step) behind its update()."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    with warnings.catch_warnings(record=True), binade.torch.watch(model, optimizer, scaler=scaler, **({"every": 1} | options)) as w:
        for step in range(steps):
            optimizer.zero_grad()
            scaler.scale(loss(step)).backward()
            scaler.step(optimizer)
            scaler.update()
            after(step)
    return w
