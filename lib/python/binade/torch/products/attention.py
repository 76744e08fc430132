# SPDX-License-Identifier: Apache-2.0
"""Computes attention as a FlashAttention-2 kernel on Tensor Cores does, from products that the caller makes. The results are
those of torch's _scaled_dot_product_flash_attention_for_cpu and its backward; this text states every rounding.

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

The low-precision functions are lib/train's "low_precision" instead, what PyTorch 1.13 did: no tiles, and everything that leaves
an operation is rounded to the dtype. Their multiply gives products in the dtype. With q' = q * scale, S = multiply(q', k^T), then
S + attn_mask (-inf added where a key is hidden), P = exp(S - max) / l, out = multiply(P, v); in between float32, l summed as
above, P rounded once. Backward, P made again: dV = multiply(P^T, dO), dP = multiply(dO, v^T), D = dP * P, dS = D - P * (D's sum),
dQ = multiply(dS, k) * scale, dK = multiply(dS^T, q'); of shared heads the sum of theirs, rounded once more. Lib/train's sums over
a row are in halves instead, and a query all of whose keys are hidden gets NaNs there. PyTorch 2.0 to 2.4, and later ones with
allow_fp16_bf16_reduction_math_sdp, are not quite this: they multiply q and k each by the root of the scale and round both; that
is attention="math" with this switch on. Later ones without it widen q, k and v to float32 first.
"""
import math

import torch

TILE = 128  # keys in a tile
THREADS = 4  # threads that hold a row of an MMA's accumulator: each has two neighbours of every eight elements


def rounded_exp(x):
    return torch.exp(x.double()).float()


def product(multiply, a, b):
    """Returns multiply(a, b) for tensors that have axes of batch and heads before those of the matrices."""
    return multiply(a.flatten(0, 1), b.flatten(0, 1)).reshape(*a.shape[:3], b.shape[3])


def for_heads(x, heads):
    """Returns keys or values with as many heads as the queries have; runs of query heads share one head."""
    return x.repeat_interleave(heads // x.shape[1], 1)


def of_shared_heads(x, heads):
    """Returns the gradient of for_heads' argument: the sum of the gradients of the heads that shared it."""
    first, *rest = x.reshape(x.shape[0], heads, -1, *x.shape[2:]).unbind(2)
    return sum(rest, first)


def with_rows(sums, x):
    """Returns the sums of the threads (…, THREADS) after each has added its elements of the rows of x (…, n)."""
    of_eight = torch.nn.functional.pad(x, (0, -x.shape[-1] % 8)).reshape(*x.shape[:-1], -1, THREADS, 2)
    for pair in of_eight.unbind(-3):
        sums = sums + pair[..., 0] + pair[..., 1]
    return sums


def over_threads(sums):
    """Adds the four sums of a row and returns (…, 1)."""
    halves = sums[..., :2] + sums[..., 2:]
    return halves[..., :1] + halves[..., 1:]


def laid_out(x, dtype):
    """Returns x in the dtype, in memory as torch's op lays out its results: batch, length, heads, whatever the order of axes."""
    return torch.empty(x.transpose(1, 2).shape, dtype=dtype).transpose(1, 2).copy_(x)


def tiles(multiply, q, k, is_causal, attn_mask, scale):
    """Yields for each tile the queries that take part and the keys, as slices, and their scores."""
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
    """Returns the factor of the scores. Raises an error if dropout is requested."""
    if dropout_p:
        raise NotImplementedError(f"attention with dropout_p={dropout_p}: torch's op for the CPU takes 0 only; set dropout to 0")
    return 1 / math.sqrt(q.shape[3]) if scale is None else scale


def flash_forward(multiply, q, k, v, *, dropout_p, is_causal, attn_mask, scale):
    """Returns (out, logsumexp) as this module describes; out in q's layout, logsumexp laid out (batch, length, heads)."""
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
    """Returns (dQ, dK, dV) as this module describes, each laid out (batch, length, heads, head_dim)."""
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


def probabilities(multiply, q, k, *, dropout_p, is_causal, attn_mask, scale):
    """Returns q', scale, P and logsumexp of the low-precision function."""
    scale = scale_of(q, dropout_p, scale)
    scaled = (q.float() * scale).to(q.dtype)
    scores = product(multiply, scaled, k.transpose(2, 3)).float()
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros(attn_mask.shape).masked_fill(~attn_mask, -math.inf)
        scores = (scores + attn_mask).to(q.dtype).float()
    if is_causal:
        scores = scores + torch.full(scores.shape[2:], -math.inf).triu(1)
    largest = scores.amax(3, keepdim=True)
    unseen = largest == -math.inf
    largest = largest.masked_fill(unseen, 0)
    p = rounded_exp(scores - largest)
    total = over_threads(with_rows(p.new_zeros(*p.shape[:3], THREADS), p)).masked_fill(unseen, 1)
    return scaled, scale, (p / total).to(q.dtype), (largest + torch.log(total.double()).float()).squeeze(3)


def low_precision_forward(multiply, q, k, v, **how):
    """Returns (out, logsumexp) as flash_forward does, by the low-precision function."""
    k, v = for_heads(k, q.shape[1]), for_heads(v, q.shape[1])
    _, _, p, logsumexp = probabilities(multiply, q, k, **how)
    return torch.empty_like(q).copy_(product(multiply, p, v)), laid_out(logsumexp, torch.float32)


def low_precision_backward(multiply, grad_out, q, k, v, **how):
    """Returns (dQ, dK, dV) as flash_backward does, by the low-precision function."""
    dtype, shared = q.dtype, k.shape[1]
    k, v = for_heads(k, q.shape[1]), for_heads(v, q.shape[1])
    scaled, scale, p, _ = probabilities(multiply, q, k, **how)
    of_p = (product(multiply, grad_out, v.transpose(2, 3)).float() * p.float()).to(dtype).float()
    total = over_threads(with_rows(of_p.new_zeros(*of_p.shape[:3], THREADS), of_p))
    ds = (of_p - p.float() * total).to(dtype)
    dq = product(multiply, ds, k).float() * scale
    dk, dv = (of_shared_heads(x.float(), shared) for x in (product(multiply, ds.transpose(2, 3), scaled),
                                                           product(multiply, p.transpose(2, 3), grad_out)))
    return tuple(laid_out(x, dtype) for x in (dq, dk, dv))
