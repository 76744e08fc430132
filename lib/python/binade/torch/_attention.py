# SPDX-License-Identifier: Apache-2.0
"""Attention as a Flash-Attention-2 kernel on Tensor Cores computes it, made of products that the caller gives: what torch's
_scaled_dot_product_flash_attention_for_cpu and its backward return, with every rounding stated.

multiply(a, b) is the batched product of a (N, m, k) and b (N, k, n), both of q's dtype and of any strides: the sums, float32,
(N, m, n). Everything else is float32, each operation rounded, but for what is said to be rounded to q's dtype.

Scores are S = multiply(q, k^T) * scale, scale rounded to float32 (1 / sqrt(head_dim) where it is None), plus attn_mask; -inf
where the causal mask or a boolean attn_mask hides a key. Keys are taken in tiles of TILE, and one tile's scores
are computed at a time. Under the causal mask query i sees keys 0 to i, and takes part in the tiles that begin among these.

Forward, tile after tile: m' = max(m, S's largest), c = exp(m - m'), P = exp(S - m'), l = l * c + P's sum, acc = acc * c +
multiply(P rounded to the dtype, v): the tile's product is made apart from zero and then added, where a kernel's instructions
continue in acc. m begins at -inf, l and acc at zero; l sums P before its rounding. At the end out = acc / l, rounded once to the
dtype, and logsumexp = m + log(l). A query all of whose keys are hidden gets zeros and a logsumexp of 0, as torch's op gives them.
A NaN among a query's scores makes out and logsumexp NaN.

Sums over a row of P are made as the four threads that hold it make them: thread t adds elements 8j + 2t and 8j + 2t + 1, j
ascending, to its own l, tile after tile; at the end l = (l0 + l2) + (l1 + l3).

Backward, tile after tile: P = exp(S - logsumexp), dP = multiply(dO, v^T), dS = P * (dP - delta) rounded to the dtype, where delta
is the sum over a row of dO * O, in the same order. dV = multiply(P rounded^T, dO) and dK = multiply(dS^T, q) * scale, each one
product over all queries that take part, ascending; dQ = (the sum of the tiles' multiply(dS, k), ascending from zero) * scale.
Each is rounded once to the dtype. Where heads of q share one of k or v, the shared head's gradient is the sum of theirs, heads
ascending, before scale and rounding.

exp and log are torch's of binary64, rounded to float32: those of float32 differ from one version and processor to the next.
"""
import math

import torch

TILE = 128  # keys
THREADS = 4  # that hold a row of the accumulator of an MMA, two elements side by side of every eight


def rounded_exp(x):
    return torch.exp(x.double()).float()


def product(multiply, a, b):
    """multiply, of tensors with a batch and heads before the matrices."""
    return multiply(a.flatten(0, 1), b.flatten(0, 1)).reshape(*a.shape[:3], b.shape[3])


def for_heads(x, heads):
    """Keys or values of as many heads as the queries have, which share them in runs."""
    return x.repeat_interleave(heads // x.shape[1], 1)


def of_shared_heads(x, heads):
    """A gradient of for_heads' tensor summed for the heads that were shared."""
    first, *rest = x.reshape(x.shape[0], heads, -1, *x.shape[2:]).unbind(2)
    return sum(rest, first)


def with_rows(sums, x):
    """The threads' sums (…, THREADS) after they have added the rows of x (…, n)."""
    of_eight = torch.nn.functional.pad(x, (0, -x.shape[-1] % 8)).reshape(*x.shape[:-1], -1, THREADS, 2)
    for pair in of_eight.unbind(-3):
        sums = sums + pair[..., 0] + pair[..., 1]
    return sums


def over_threads(sums):
    """Of a row's four sums, one: (…, 1)."""
    halves = sums[..., :2] + sums[..., 2:]
    return halves[..., :1] + halves[..., 1:]


def laid_out(x, dtype):
    """x in the dtype, laid out as torch's op lays out what it makes: batch, length, heads, whatever the axes' order is."""
    return torch.empty(x.transpose(1, 2).shape, dtype=dtype).transpose(1, 2).copy_(x)


def tiles(multiply, q, k, is_causal, attn_mask, scale):
    """Of each tile: the queries that take part and the keys, as slices, and their scores."""
    queries, keys = q.shape[2], k.shape[2]
    if attn_mask is not None:
        attn_mask = attn_mask.expand(*q.shape[:3], keys)
    for begin in range(0, min(queries, keys) if is_causal else keys, TILE):
        rows, columns = slice(begin if is_causal else 0, None), slice(begin, begin + TILE)
        scores = product(multiply, q[:, :, rows], k[:, :, columns].transpose(2, 3)) * scale
        if attn_mask is not None:
            mask = attn_mask[:, :, rows, columns]
            scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
        if is_causal:
            scores = scores.masked_fill(torch.ones(scores.shape[2:], dtype=torch.bool).triu(1), -math.inf)
        yield rows, columns, scores


def scale_of(q, dropout_p, scale):
    """What scores are multiplied with, once it is known that nothing is to be dropped."""
    if dropout_p:
        raise NotImplementedError(f"attention with dropout_p={dropout_p}: torch's op for the CPU takes 0 only; set dropout to 0")
    return 1 / math.sqrt(q.shape[3]) if scale is None else scale


def flash_forward(multiply, q, k, v, *, dropout_p, is_causal, attn_mask, scale):
    """(out, logsumexp), as the module's description says; out in q's layout, logsumexp laid out (batch, length, heads)."""
    scale = scale_of(q, dropout_p, scale)
    k, v = for_heads(k, q.shape[1]), for_heads(v, q.shape[1])
    acc = q.new_zeros(q.shape, dtype=torch.float32)
    largest = acc.new_full((*q.shape[:3], 1), -math.inf)
    sums = acc.new_zeros(*q.shape[:3], THREADS)
    for rows, columns, scores in tiles(multiply, q, k, is_causal, attn_mask, scale):
        so_far = torch.maximum(largest[:, :, rows], scores.amax(3, keepdim=True))
        from_what = so_far.masked_fill(so_far == -math.inf, 0)  # -inf - 0 where nothing has been seen, not -inf - -inf
        shrinks = rounded_exp(largest[:, :, rows] - from_what)
        p = rounded_exp(scores - from_what)
        sums[:, :, rows] = with_rows(sums[:, :, rows] * shrinks, p)
        acc[:, :, rows] = acc[:, :, rows] * shrinks + product(multiply, p.to(q.dtype), v[:, :, columns])
        largest[:, :, rows] = so_far
    total = over_threads(sums)
    unseen = largest == -math.inf
    largest, total = largest.masked_fill(unseen, 0), total.masked_fill(unseen, 1)
    logsumexp = (largest + torch.log(total.double()).float()).squeeze(3)
    return torch.empty_like(q).copy_(acc / total), laid_out(logsumexp, torch.float32)


def flash_backward(multiply, grad_out, q, k, v, out, logsumexp, *, dropout_p, is_causal, attn_mask, scale):
    """(dQ, dK, dV), as the module's description says; each laid out (batch, length, heads, head_dim)."""
    scale = scale_of(q, dropout_p, scale)
    dq, dk, dv = (x.new_zeros(x.shape, dtype=torch.float32) for x in (q, k, v))
    k, v = for_heads(k, q.shape[1]), for_heads(v, q.shape[1])
    delta = over_threads(with_rows(dq.new_zeros(*q.shape[:3], THREADS), grad_out.float() * out.float()))
    for rows, columns, scores in tiles(multiply, q, k, is_causal, attn_mask, scale):
        do = grad_out[:, :, rows]
        p = rounded_exp(scores - logsumexp[:, :, rows, None])
        ds = (p * (product(multiply, do, v[:, :, columns].transpose(2, 3)) - delta[:, :, rows])).to(q.dtype)
        dq[:, :, rows] += product(multiply, ds, k[:, :, columns])
        dk[:, :, columns] = of_shared_heads(product(multiply, ds.transpose(2, 3), q[:, :, rows]), dk.shape[1])
        dv[:, :, columns] = of_shared_heads(product(multiply, p.to(q.dtype).transpose(2, 3), do), dv.shape[1])
    return tuple(laid_out(x, q.dtype) for x in (dq * scale, dk * scale, dv))
