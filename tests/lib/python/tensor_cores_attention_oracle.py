# SPDX-License-Identifier: Apache-2.0
"""Attention of one head, computed one value after another in NumPy, as binade.torch.products.attention defines it."""

import math

import numpy as np
import torch

F = np.float32


def in_binary64(function, x):
    with np.errstate(divide="ignore", under="ignore"):
        return F(function(np.float64(x)))


def dot(xs, ys):
    """The sum of the products over ascending k, each step rounded to float32."""
    total = F(0)
    for x, y in zip(xs, ys):
        total = F(total + F(x * y))
    return total


def rounded(x, dtype):
    return F(torch.tensor(float(x), dtype=torch.float32).to(dtype).item())


def quad_sum(values, lanes=None, shrink=F(1)):
    """The four partial sums of a row after these values."""
    lanes = [F(lane * shrink) for lane in lanes or [F(0)] * 4]
    for i, value in enumerate(values):
        lanes[i % 8 // 2] = F(lanes[i % 8 // 2] + value)
    return lanes


def whole(lanes):
    return F(F(lanes[0] + lanes[2]) + F(lanes[1] + lanes[3]))


class Oracle:
    """Computes one head, query after query, by the definition; tensors are lists of rows of float32."""

    def __init__(self, q, k, v, dtype, causal, mask, scale):
        self.q, self.k, self.v, self.dtype, self.causal, self.mask = q, k, v, dtype, causal, mask
        self.scale = F(1 / math.sqrt(len(q[0])) if scale is None else scale)

    def tiles(self, i):
        """The keys of each tile in which query i takes part."""
        last = i + 1 if self.causal else len(self.k)
        starts = [j for j in range(0, len(self.k), 128) if j < last]
        return [range(j, min(j + 128, len(self.k))) for j in starts]

    def score(self, i, j):
        if self.causal and j > i:
            return F(-math.inf)
        score = F(dot(self.q[i], self.k[j]) * self.scale)
        if self.mask is None:
            return score
        if self.mask.dtype == bool:
            return score if self.mask[i][j] else F(-math.inf)
        return F(score + self.mask[i][j])

    def forward(self, i):
        dims = range(len(self.v[0]))
        top, lanes, acc = F(-math.inf), quad_sum([]), [F(0) for _ in dims]
        for tile in self.tiles(i):
            scores = [self.score(i, j) for j in tile]
            if max([top, *scores]) == -math.inf:
                continue
            new = max([top, *scores])
            shrink = F(0) if top == -math.inf else in_binary64(np.exp, F(top - new))
            p = [in_binary64(np.exp, F(s - new)) for s in scores]
            lanes, top = quad_sum(p, lanes, shrink), new
            low = [rounded(x, self.dtype) for x in p]
            acc = [F(F(acc[d] * shrink) + dot(low, [self.v[j][d] for j in tile])) for d in dims]
        if top == -math.inf:
            return [F(0) for _ in dims], F(0)
        return [rounded(F(x / whole(lanes)), self.dtype) for x in acc], F(top + in_binary64(np.log, whole(lanes)))

    def backward(self, do, out, lse):
        """dQ rounded; dK and dV before scale and rounding, as heads that share them are summed."""
        dims, keys, queries = range(len(self.q[0])), range(len(self.k)), range(len(self.q))
        p, ds = {}, {}
        for i in queries:
            delta = whole(quad_sum([F(x * y) for x, y in zip(do[i], out[i])]))
            for j in (j for tile in self.tiles(i) for j in tile):
                p_ij = in_binary64(np.exp, F(self.score(i, j) - lse[i]))
                p[i, j] = rounded(p_ij, self.dtype)
                ds[i, j] = rounded(F(p_ij * F(dot(do[i], self.v[j]) - delta)), self.dtype)
        dq = []
        for i in queries:
            row = [F(0) for _ in dims]
            for tile in self.tiles(i):
                row = [F(row[d] + dot([ds[i, j] for j in tile], [self.k[j][d] for j in tile])) for d in dims]
            dq.append([rounded(F(x * self.scale), self.dtype) for x in row])
        seen = {j: [i for i in queries if (i, j) in p] for j in keys}
        dk = [[dot([ds[i, j] for i in seen[j]], [self.q[i][d] for i in seen[j]]) for d in dims] for j in keys]
        dv = [[dot([p[i, j] for i in seen[j]], [do[i][d] for i in seen[j]]) for d in dims] for j in keys]
        return dq, dk, dv


class LowPrecision:
    """One head by the low-precision functions: everything that leaves an operation is rounded. dK and dV are those of this
    head, also where heads share keys and values."""

    def __init__(self, q, k, v, dtype, causal, mask, scale):
        self.k, self.v, self.dtype, self.causal, self.mask = k, v, dtype, causal, mask
        self.scale = F(1 / math.sqrt(len(q[0])) if scale is None else scale)
        self.q = [[rounded(F(x * self.scale), dtype) for x in row] for row in q]

    def low(self, x):
        return rounded(x, self.dtype)

    def probabilities(self, i):
        """P's row and logsumexp."""
        scores = [self.low(dot(self.q[i], key)) for key in self.k]
        for j in range(len(scores)):
            if self.mask is not None:
                hides = self.mask.dtype == bool
                added = (F(0) if self.mask[i][j] else F(-math.inf)) if hides else self.mask[i][j]
                scores[j] = self.low(F(scores[j] + added))
            if self.causal and j > i:
                scores[j] = F(-math.inf)
        top = max(scores)
        if top == -math.inf:
            return [F(0) for _ in scores], F(0)
        e = [in_binary64(np.exp, F(s - top)) for s in scores]
        total = whole(quad_sum(e))
        return [self.low(F(x / total)) for x in e], F(top + in_binary64(np.log, total))

    def forward(self, i):
        p, logsumexp = self.probabilities(i)
        return [self.low(dot(p, column)) for column in zip(*self.v)], logsumexp

    def backward(self, do, *_):
        queries, keys = range(len(self.q)), range(len(self.k))
        p, ds = [self.probabilities(i)[0] for i in queries], []
        for i in queries:
            of_p = [self.low(F(self.low(dot(do[i], self.v[j])) * p[i][j])) for j in keys]
            total = whole(quad_sum(of_p))
            ds.append([self.low(F(of_p[j] - F(p[i][j] * total))) for j in keys])
        dq = [[self.low(F(self.low(dot(row, column)) * self.scale)) for column in zip(*self.k)] for row in ds]
        dk, dv = ([[self.low(dot([left[i][j] for i in queries], column)) for column in zip(*right)] for j in keys]
                  for left, right in ((ds, self.q), (p, do)))
        return dq, dk, dv
