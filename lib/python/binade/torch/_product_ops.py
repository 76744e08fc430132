# SPDX-License-Identifier: Apache-2.0
"""ATen's ops with products, each made of `multiply`: a (N, m, k) and b (N, k, n) of a dtype → their sums in binary32, (N, m, n); or
of several axes each, of which so many are K's.

An op's function takes multiply and what the op takes, and gives what the op gives.
"""
import torch

from ._attention import flash_backward, flash_forward
from ._convolution import dgrad, fprop, geometry, wgrad
from ._multiply import finished


def check_matrices(name, a, b, axes=2):
    """That they are; whether their sizes fit each other is seen where they are multiplied."""
    if a.dim() != axes or b.dim() != axes:
        raise RuntimeError(f"{name}: tensors of {axes} axes are wanted, not of {a.dim()} and {b.dim()}")


def mm(multiply, a, b):
    check_matrices("mm", a, b)
    return finished(multiply(a[None], b[None])[0], a.dtype)


def addmm(multiply, c, a, b, *, beta=1, alpha=1):
    check_matrices("addmm", a, b)
    return finished(multiply(a[None], b[None])[0], a.dtype, c, alpha, beta)


def bmm(multiply, a, b):
    check_matrices("bmm", a, b, 3)
    return finished(multiply(a, b), a.dtype)


def baddbmm(multiply, c, a, b, *, beta=1, alpha=1):
    check_matrices("baddbmm", a, b, 3)
    return finished(multiply(a, b), a.dtype, c, alpha, beta)


def addbmm(multiply, c, a, b, *, beta=1, alpha=1):
    """An addmm after the other, each rounded, as ATen has it on a GPU, too."""
    check_matrices("addbmm", a, b, 3)
    if len(a) != len(b):
        raise RuntimeError(f"addbmm: batches of {len(a)} and {len(b)} matrices")
    out = finished(torch.zeros(a.shape[1], b.shape[2]), a.dtype, c, beta=beta) if len(a) == 0 else c
    for one, other in zip(a, b):
        out, beta = addmm(multiply, out, one, other, beta=beta, alpha=alpha), 1
    return out


def mv(multiply, a, x):
    return mm(multiply, a, x[:, None])[:, 0]


def addmv(multiply, c, a, x, *, beta=1, alpha=1):
    return addmm(multiply, c[..., None], a, x[:, None], beta=beta, alpha=alpha)[:, 0]


def dot(multiply, x, y):
    return mm(multiply, x[None], y[:, None])[0, 0]


def convolution(multiply, x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
    g = geometry(x, w, stride, padding, dilation, groups, transposed)
    if transposed:
        out = dgrad(multiply, x, w, g, g.in_size(x.shape[2:], output_padding))
    else:
        out = fprop(multiply, x, w, g, g.out_size(x.shape[2:]))
    if bias is not None and bias.shape != (out.shape[1],):
        raise RuntimeError(f"convolution: a bias of {tuple(bias.shape)} does not fit {out.shape[1]} filters")
    return finished(out, x.dtype, None if bias is None else bias.reshape(-1, *(1,) * len(g.kernel)))


def convolution_backward(multiply, dy, x, w, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
                         output_mask):
    g = geometry(x, w, stride, padding, dilation, groups, transposed)
    dx = dw = db = None
    if output_mask[0]:
        dx = finished((fprop if transposed else dgrad)(multiply, dy, w, g, tuple(x.shape[2:])), x.dtype)
    if output_mask[1]:
        dw = finished(wgrad(multiply, x, dy, g) if transposed else wgrad(multiply, dy, x, g), w.dtype)
    if output_mask[2]:
        db = dy.float().sum([0, *range(2, dy.dim())]).to(dy.dtype)
    return dx, dw, db


def attention(multiply, q, k, v, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    return flash_forward(multiply, q, k, v, dropout_p=dropout_p, is_causal=is_causal, attn_mask=attn_mask, scale=scale)


def attention_backward(multiply, dy, q, k, v, out, logsumexp, dropout_p, is_causal, *, attn_mask=None, scale=None):
    return flash_backward(multiply, dy, q, k, v, out, logsumexp, dropout_p=dropout_p, is_causal=is_causal, attn_mask=attn_mask,
                          scale=scale)


# Name of an op: its kind, which Models.of knows, and its function.
OPS = {name: (kind, function) for kind, ops in {
    "matmul": {"mm": mm, "addmm": addmm, "bmm": bmm, "baddbmm": baddbmm, "addbmm": addbmm,
               "_scaled_dot_product_flash_attention_for_cpu": attention,
               "_scaled_dot_product_flash_attention_for_cpu_backward": attention_backward},
    "vector": {"mv": mv, "addmv": addmv},
    "dot": {"dot": dot, "vdot": dot},
    "convolution": {"convolution": convolution, "convolution_backward": convolution_backward},
}.items() for name, function in ops.items()}
