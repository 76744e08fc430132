# SPDX-License-Identifier: Apache-2.0
"""Computes torch._grouped_mm, the products of a mixture of experts: groups of rows, of columns or of K, each by a matrix of its own.

    a (M, K)       b (G, K, N)    rows of a up to offs[g], by b[g]             (M, N)
    a (G, M, K)    b (K, N)       a[g] by the columns of b up to offs[g]       (M, N)
    a (M, K)       b (K, N)       a product of each group of K                 (G, M, N)
    a (G, M, K)    b (G, K, N)    a batch                                      (G, M, N)

offs: (G,) integers, where each group ends. What lies behind the last group, of which torch says nothing, is zero. A group has its own
sum, one chain of the architecture's instruction, as a product of its size has.
"""
import torch


def runs(offs, length):
    """Returns the slice of each group. Raises RuntimeError if offs are no ends of groups within `length`."""
    ends = [int(end) for end in offs]
    begins = [0, *ends[:-1]]
    if any(not 0 <= begin <= end <= length for begin, end in zip(begins, ends)):
        raise RuntimeError(f"_grouped_mm: offs {ends} do not ascend within {length}")
    return [slice(begin, end) for begin, end in zip(begins, ends)]


def grouped_mm(products, a, b, offs=None, bias=None, out_dtype=None):
    if bias is not None:
        raise RuntimeError("_grouped_mm: torch takes no bias here")
    if out_dtype not in (None, a.dtype):
        raise RuntimeError(f"_grouped_mm: a result of {out_dtype}; torch gives that of its operands, {a.dtype}")
    if a.dim() not in (2, 3) or b.dim() not in (2, 3) or a.shape[-1] != b.shape[-2]:
        raise RuntimeError(f"_grouped_mm: shapes cannot be multiplied: {tuple(a.shape)} and {tuple(b.shape)}")
    if (offs is None) != (a.dim() == b.dim() == 3):
        raise RuntimeError("_grouped_mm: offs go with every shape but two batches")
    if offs is None:
        return products.product(a, b)
    groups = next((len(x) for x in (a, b) if x.dim() == 3), len(offs))
    if len(offs) != groups:
        raise RuntimeError(f"_grouped_mm: {len(offs)} offs of {groups} groups")
    if a.dim() == b.dim() == 2:
        return torch.stack([products.product(a[None, :, run], b[None, run])[0] for run in runs(offs, a.shape[1])])
    out = torch.zeros(a.shape[-2], b.shape[-1], dtype=a.dtype)
    for group, run in enumerate(runs(offs, a.shape[0] if a.dim() == 2 else b.shape[1])):
        if a.dim() == 2:
            out[run] = products.product(a[None, run], b[group][None])[0]
        else:
            out[:, run] = products.product(a[group][None], b[None, :, run])[0]
    return out
