# SPDX-License-Identifier: Apache-2.0
"""A case of an op, and how far two results of an op may be apart: sums of error bounds, as torch_ops_test.py says."""

import numpy
import torch
import torch.nn.functional as F

ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
EPS = 1e-5  # of the norms


def magnitudes(case, u, counts):
    """Sums of products (any op linear in each input): of the result and each gradient, `counts` terms each."""
    x = [v.detach().abs().double().requires_grad_() for v in case.inputs]
    y = case.function(*x)
    y.backward(case.dy.abs().double())
    return [2 * n * u / (1 - n * u) * v.detach() for n, v in zip(counts, [y, *(v.grad for v in x)])]


def products(*counts):
    return lambda case, u: magnitudes(case, u, counts)


def exact(case, u):
    return [None] * (1 + len(case.inputs))


def elementwise(y_bound, x_bound):
    """Bounds in u from x, y, dy, in double."""
    def bound(case, u):
        x, y, dy = case.inputs[0].detach().double(), case.y.detach().double(), case.dy.double().abs()
        return [None if b is None else u * b(x, y, dy) for b in (y_bound, x_bound)]
    return bound


def softmax(case, u):
    # Both subtract the same maximum. exp: 2 each, in the numerator and in the sum of n; one division each.
    y, dy = case.y.detach().double(), case.dy.double().abs()
    off = (2 * y.shape[-1] + 10) * u
    spread = y * (dy + (y * dy).sum(-1, keepdim=True))
    return [off * y, (2 * off + 2 * (y.shape[-1] + 4) * u) * spread]


def log_softmax(case, u):
    # log of a sum off by (2n + 4)·u, log itself 4·u, two subtractions each.
    x, dy = case.inputs[0].detach().double(), case.dy.double().abs()
    n, rest = x.shape[-1], (x - x.max(-1, keepdim=True)[0])
    off = u * (2 * n + 6 + 6 * torch.logsumexp(rest, -1, keepdim=True).abs() + 4 * (rest.abs() + 1))
    p = torch.softmax(x, -1)
    total = dy.sum(-1, keepdim=True)
    return [off, 2 * u * dy + (off + (2 * n + 10) * u) * p * total]


def cross_entropy(case, u):
    x = case.inputs[0].detach().double()
    inner = Case("log_softmax", None, [x], log_softmax, lambda v: torch.log_softmax(v, -1))
    inner.dy = torch.full(x.shape, 1 / x.shape[0], dtype=torch.float64) * (F.one_hot(torch.tensor(case.parameters), x.shape[1]))
    off, slope = log_softmax(inner, u)
    rows = x.shape[0]
    y = off.mean(0).sum() + 2 * (rows + 2) * u * torch.log_softmax(x, -1).abs().max()
    return [y, (slope + 4 * u * inner.dy) * case.dy.abs().double()]


def norm(dims, channel_dims, channels_shape):
    """Means and variances over `dims`; gradients of weight and bias over channel_dims. The variance's error, Welford's
    or of two passes, is at most (2n + 10)·u·(variance + mean²); relative to it the deviation's grows by `k`."""
    def bound(case, u):
        x, w, b = (v.detach().double() for v in case.inputs)
        w, b = w.reshape(channels_shape), b.reshape(channels_shape)
        dy = case.dy.double().abs()
        if case.op == "group_norm":
            groups = case.parameters[0]
            split = (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
            w, b = (v.expand_as(x).reshape(split) for v in (w, b))
            x, dy = x.reshape(split), dy.reshape(split)
        if case.op == "batch_norm" and not case.parameters[0]:
            n, mean, variance = 1, torch.tensor(0.5), torch.tensor(2.0)
        else:
            n = x.numel() // x.mean(dims).numel()
            mean, variance = x.mean(dims, keepdim=True), x.var(dims, unbiased=False, keepdim=True)
        rstd = 1 / torch.sqrt(variance + EPS)
        k = 1 + (variance + mean**2) / (variance + EPS)
        size = x.abs().mean(dims, keepdim=True) if n > 1 else mean.abs()
        high = rstd * (x.abs() + size)  # of the normalised value, before cancellation
        y = 2 * u * ((2 * n + 10) * k * w.abs() * high + 2 * b.abs())
        d = dy * w.abs()
        inner = rstd * d
        if n > 1:
            inner = rstd * (d + d.mean(dims, keepdim=True) + high * (d * high).mean(dims, keepdim=True))
        dx = 2 * u * (4 * n + 32) * k * inner
        shape = case.inputs[0].shape
        y, dx, dw, db = (v.expand_as(x).reshape(shape) for v in (y, dx, k * dy * high, dy))
        terms = dw.numel() // dw.sum(channel_dims).numel()
        return [y, dx, 2 * u * (terms + 2 * n + 10) * dw.sum(channel_dims), 2 * u * terms * db.sum(channel_dims)]
    return bound


def attention_function(causal):
    def function(q, k, v):
        scores = q @ k.transpose(-1, -2) * (1 / q.shape[-1]**0.5)
        if causal:
            scores = scores + torch.triu(torch.full(scores.shape[-2:], -torch.inf, dtype=q.dtype), 1)
        return torch.softmax(scores, -1) @ v
    return function


def attention(case, u):
    q, k, v = (x.detach().double() for x in case.inputs)
    dy = case.dy.double()
    d, n, rows = q.shape[-1], k.shape[-2], q.shape[-2]
    scale = 1 / d**0.5
    scores = q @ k.transpose(-1, -2) * scale
    if case.parameters[0]:
        scores = scores + torch.triu(torch.full((rows, n), -torch.inf, dtype=torch.float64), 1)
    p = torch.softmax(scores, -1)
    off_scores = 2 * (d + 4) * u * (q.abs() @ k.abs().transpose(-1, -2)) * scale
    off_p = p * (2 * off_scores.max(-1, keepdim=True)[0] + (2 * n + 10) * u)
    y = off_p @ v.abs() + 2 * n * u * (p @ v.abs())
    dv = off_p.transpose(-1, -2) @ dy.abs() + 2 * rows * u * (p.transpose(-1, -2) @ dy.abs())
    dp = dy.abs() @ v.abs().transpose(-1, -2)
    spread = p * (dp + (p * dp).sum(-1, keepdim=True))
    share = off_p / p.clamp_min(1e-300)
    off_s = spread * (2 * share.max(-1, keepdim=True)[0] + 2 * (n + 4) * u + 2 * d * u)
    off = scale * (off_s + 2 * (n + rows + 3) * u * spread)
    return [y, off @ k.abs(), off.transpose(-1, -2) @ q.abs(), dv]


def mse(case, u):
    n = case.inputs[0].numel()
    return [2 * (n + 4) * u * case.y.detach().double(), None, None]


def bce(case, u):
    x, t = (v.detach().double() for v in case.inputs)
    n = x.numel()
    s = torch.sigmoid(x)
    y = 2 * (n + 10) * u * (x.abs() + (x * t).abs() + 2).mean()
    # PyTorch has log(1 - s) - log(s) for the target: 1 - s is off by 4·u·e^|x| of itself.
    return [y, 16 * u * (s + t.abs()) / n * case.dy.abs().double(),
            24 * u * (torch.exp(x.abs()) + x.abs() + 1) / n * case.dy.abs().double()]


class Case:
    """One op on one set of inputs; `bound` gives, for the result and each gradient, how far ours may be from PyTorch's: a
    tensor, the least and the greatest value as a pair of tensors, or None for equal bits."""

    def __init__(self, op, dtype, inputs, bound, function, parameters=(), gradients=True):
        self.op, self.dtype, self.bound, self.function, self.parameters = op, dtype, bound, function, list(parameters)
        self.inputs, self.gradients, self.wide, self.on_trial = inputs, gradients, False, False
        self.y = self.dy = None

    def in_float32(self):
        return self.function(*(x.float() for x in self.inputs))

    def run_torch(self, draw):
        for x in self.inputs:
            x.requires_grad_()
        self.y = self.in_float32().to(self.inputs[0].dtype) if self.wide else self.function(*self.inputs)
        self.dy = draw(self.y.shape)
        if self.gradients:
            self.y.backward(self.dy)

    def try_peer(self):
        """Relative error of PyTorch's result where it is worst, the result, and what takes its place: its float32,
        rounded once. None where PyTorch is right."""
        peer, self.y = self.y, self.in_float32().to(self.y.dtype)
        theirs, truth = (y.detach().double() for y in (peer, self.y))
        low, high = self.bound(self, ROUNDOFF[self.dtype])[0] or (truth, truth)
        if ((low <= theirs) & (theirs <= high)).all():
            self.y = peer
            return None
        relative = (theirs - truth).abs() / truth.abs().clamp_min(1e-300)
        at = int(relative.argmax())
        return tuple(float(v.flatten()[at]) for v in (relative, theirs, truth))

    def ours(self, folder, index):
        names = ["y"] + ([f"d{i}" for i in range(len(self.inputs))] if self.gradients else [])
        return [torch.from_numpy(numpy.load(f"{folder}/{index}.{name}.npy")) for name in names]

    def theirs(self):
        return [self.y.detach().reshape(self.y.shape or (1,)), *(x.grad for x in self.inputs if self.gradients)]
