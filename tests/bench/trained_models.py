# SPDX-License-Identifier: Apache-2.0
"""Four small models of usual kinds, made of torch.nn only, with generated data: a GPT, a ResNet, an LSTM and a GAN; and a training
of them, which is the same for the same seeds. cuda/check_torch.py uses the GPT and the ResNet, too.

A maker gives the players of a training, which take turns: (a module, its loss of a generator of random numbers).
"""
import contextlib
import math

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    """A layer of a GPT; attention written out."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.qkv, self.proj = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.ln2, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):  # batch × length × width
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.ln1(x)).chunk(3, 2))
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        scores = (q @ k.transpose(2, 3) / q.shape[3] ** 0.5).masked_fill(future, -math.inf)
        x = x + self.proj((scores.softmax(3) @ v).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.ln2(x))))


class Gpt(nn.Module):
    def __init__(self, letters, length, width, heads, layers):
        super().__init__()
        self.token, self.place = nn.Embedding(letters, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.ln, self.head = nn.LayerNorm(width), nn.Linear(width, letters)

    def forward(self, x):  # batch × length of letters
        return self.head(self.ln(self.blocks(self.token(x) + self.place.weight[:x.shape[1]])))


def gpt(letters=32, length=24, width=48):
    """Foretells letters: most follow from the one before, every fourth is any."""
    model = Gpt(letters, length, width, heads=4, layers=2)

    def loss(random):
        x = torch.randint(letters, (8, length + 1), generator=random)
        chance = torch.rand(8, length + 1, generator=random) < 0.25
        for i in range(1, length + 1):
            x[:, i] = torch.where(chance[:, i], x[:, i], (5 * x[:, i - 1] + 3) % letters)
        return F.cross_entropy(model(x[:, :-1]).flatten(0, 1).float(), x[:, 1:].flatten())

    return [(model, loss)]


class Residual(nn.Module):
    def __init__(self, channels, filters, stride):
        super().__init__()
        self.first, self.bn1 = nn.Conv2d(channels, filters, 3, stride, 1, bias=False), nn.BatchNorm2d(filters)
        self.second, self.bn2 = nn.Conv2d(filters, filters, 3, 1, 1, bias=False), nn.BatchNorm2d(filters)
        self.around = nn.Identity() if stride == 1 else nn.Conv2d(channels, filters, 1, stride, bias=False)

    def forward(self, x):
        return F.relu(self.bn2(self.second(F.relu(self.bn1(self.first(x))))) + self.around(x))


class ResNet(nn.Sequential):
    def __init__(self, width, classes):
        super().__init__(nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(), Residual(width, width, 1),
                         Residual(width, 2 * width, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * width, classes))


def resnet(classes=8, size=10):
    """Tells noisy images apart, each a pattern of its class."""
    model = ResNet(12, classes)
    patterns = torch.randn(classes, 3, size, size, generator=torch.Generator().manual_seed(0))

    def loss(random):
        y = torch.randint(classes, (16,), generator=random)
        x = patterns[y] + 2 * torch.randn(16, 3, size, size, generator=random)
        return F.cross_entropy(model(x).float(), y)

    return [(model, loss)]


class Lstm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lstm, self.head = nn.LSTM(2, width, num_layers=2, batch_first=True), nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


def lstm(length=12):
    """Adds two numbers of a sequence, those that are marked."""
    model = Lstm(32)

    def loss(random):
        numbers = torch.rand(16, length, generator=random)
        marks = F.one_hot(torch.rand(16, length, generator=random).topk(2)[1], length).sum(1).float()
        return F.mse_loss(model(torch.stack((numbers, marks), 2)).float()[:, 0], (numbers * marks).sum(1))

    return [(model, loss)]


def gan(width=48, count=64):
    """Points around a circle, in eight heaps."""
    critic = nn.Sequential(nn.Linear(2, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2),
                           nn.Linear(width, 1))
    generator = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2))

    def made(random):
        return generator(torch.randn(count, 4, generator=random))

    def judged(x, real):
        out = critic(x).float()
        return F.binary_cross_entropy_with_logits(out, torch.full_like(out, real))

    def critic_loss(random):
        angle = torch.randint(8, (count,), generator=random) * (math.pi / 4)
        points = torch.stack((angle.cos(), angle.sin()), 1) + 0.05 * torch.randn(count, 2, generator=random)
        return judged(points, 1.0) + judged(made(random).detach(), 0.0)

    return [(critic, critic_loss), (generator, lambda random: judged(made(random), 1.0))]


MODELS = {"GPT": gpt, "ResNet": resnet, "LSTM": lstm, "GAN": gan}


def parameters(players):
    return torch.cat([p.detach().double().flatten() for module, _ in players for p in module.parameters()])


def train(name, steps, seed=1, order=1, cast=contextlib.nullcontext, loss_scale=1.0, moved_by=0.0):
    """A training → (losses of each step, those of all players added up; parameters before; parameters after).

    seed: of the parameters. order: of the data. cast: around the forward passes. moved_by: every parameter is multiplied by
    1 + moved_by before."""
    torch.manual_seed(seed)
    players = MODELS[name]()
    random = torch.Generator().manual_seed(order)
    optimizers = [torch.optim.Adam(module.parameters(), lr=3e-3) for module, _ in players]
    with torch.no_grad():
        for module, _ in players:
            for p in module.parameters():
                p.mul_(1 + moved_by)
    before, losses = parameters(players), []
    for _ in range(steps):
        losses.append(0.0)
        for (module, loss_of), optimizer in zip(players, optimizers):
            with cast():
                loss = loss_of(random)
            optimizer.zero_grad()
            (loss * loss_scale).backward()
            for p in module.parameters():
                p.grad /= loss_scale
            optimizer.step()
            losses[-1] += loss.item()
    return losses, before, parameters(players)
