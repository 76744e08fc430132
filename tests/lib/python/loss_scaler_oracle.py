# SPDX-License-Identifier: Apache-2.0
"""GradScaler's documented rules, and trainings whose gradients overflow, for tests of loss scalers."""
import numpy as np
import torch


class Documented:
    """GradScaler's rules as torch documents them, for the CPU of any torch."""

    def __init__(self, init_scale, growth_factor, backoff_factor, growth_interval):
        self.value, self.tracker, self.found = np.float32(init_scale), 0, {}
        self.grows, self.shrinks, self.interval = growth_factor, backoff_factor, growth_interval

    def scale(self, losses):
        return [loss * torch.tensor(self.value) for loss in losses]

    def unscale_(self, optimizer):
        inverse = torch.tensor(np.float32(1 / np.float64(self.value)))
        self.found[optimizer] = False
        for parameter in (p for group in optimizer.param_groups for p in group["params"]):
            self.found[optimizer] |= not bool(parameter.grad.isfinite().all())
            parameter.grad = (parameter.grad.double() * inverse.double()).to(parameter.dtype)  # exact, then rounded once

    def step(self, optimizer):
        if optimizer not in self.found:
            self.unscale_(optimizer)
        if not self.found[optimizer]:
            optimizer.step()

    def update(self):
        if any(self.found.values()):
            self.value, self.tracker = np.float32(np.float64(self.value) * self.shrinks), 0
        else:
            self.tracker += 1
            if self.tracker == self.interval:
                grown = np.float32(np.float64(self.value) * self.grows)
                self.value, self.tracker = grown if np.isfinite(grown) else self.value, 0
        self.found = {}

    def get_scale(self):
        return float(self.value)

    def _get_growth_tracker(self):
        return self.tracker


class Half(torch.nn.Module):
    """What passes, passes in float16: gradients overflow on their way back."""

    def forward(self, x):
        return x.half().float()


def half_net(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(6, 9), Half(), torch.nn.Tanh(), torch.nn.Linear(9, 3), Half())


def values(optimizers):
    return [[p.detach().clone() for group in optimizer.param_groups for p in group["params"]] for optimizer in optimizers]


def adam_and_momentum(p, q):
    return torch.optim.Adam(p, lr=0.01), torch.optim.SGD(q, lr=0.01, momentum=0.9)


def train(scaler, steps, make=adam_and_momentum, bfloat16=False):
    """(scale, growth tracker, which optimizers stepped) by step, and the parameters: two models and optimizers, one scaler,
    losses that overflow at times. bfloat16: the second model's numbers."""
    models = half_net(), half_net(1).to(torch.bfloat16 if bfloat16 else torch.float32)
    optimizers = make(models[0].parameters(), models[1][3 if bfloat16 else 0:].parameters())
    seen = []
    for step in range(steps):
        x = torch.randn(5, 6, generator=torch.Generator().manual_seed(step))
        before = values(optimizers)
        for optimizer in optimizers:
            optimizer.zero_grad()
        second = models[1][3](x.repeat(1, 2)[:, :9].bfloat16()) if bfloat16 else models[1](x)
        losses = models[0](x).square().mean(), second.float().sum()
        factors = 2.0**16 if step % 13 == 11 else 1.0, 2.0**20 if step % 17 == 5 else 1.0
        for loss in scaler.scale([loss * factor for loss, factor in zip(losses, factors)]):
            loss.backward()
        if step % 3:
            scaler.unscale_(optimizers[0])
            torch.nn.utils.clip_grad_norm_(models[0].parameters(), 0.5)
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
        after = values(optimizers)
        stepped = [not all(map(torch.equal, *pair)) for pair in zip(before, after)]
        seen.append((scaler.get_scale(), scaler._get_growth_tracker(), stepped))
    return seen, [p for of in after for p in of]


class Counting(torch.optim.SGD):
    """How often it has stepped."""

    steps = 0

    def step(self, closure=None):
        self.steps += 1
        return super().step(closure)


def parameter_of(*shape, dtype=torch.float32):
    parameter = torch.nn.Parameter(torch.zeros(shape, dtype=dtype))
    return parameter, Counting([parameter], lr=1.0)
