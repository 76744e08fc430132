# SPDX-License-Identifier: Apache-2.0
"""Small watched trainings, for tests of what watch reports about them."""
import torch

import binade.torch


class Multiplied(torch.nn.Module):
    """x · factor, factor a number that a test changes."""

    def __init__(self):
        super().__init__()
        self.factor = 1.0

    def forward(self, x):
        return x * self.factor


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
