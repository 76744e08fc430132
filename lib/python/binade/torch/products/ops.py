# SPDX-License-Identifier: Apache-2.0
"""Computes ATen's ops with products, each by Products (products.py).

The function of an op takes Products and the arguments of the op, and returns what the op returns. If the op has several products,
its function says by roles= what their operands are, a letter for each (narrow.py): "d" a gradient, "x" an activation, "w" a
weight. multiply(a, b) in convolution.py and attention.py is one of the three calls that Products have.
"""
import functools

import torch

from . import depthwise
from .attention import flash_backward, flash_forward, low_precision_backward, low_precision_forward
from .convolution import dgrad, fprop, geometry, memory_format, wgrad
from .grouped import grouped_mm
from .products import finished
from .scaled_grouped import scaled_grouped_mm, scaled_grouped_mm_v2
from .scaled_mm import scaled_mm, scaled_mm_v2


def check_matrices(name, a, b, axes=2):
    """Raises an error if tensors are no matrices. Whether their sizes fit is checked when they are multiplied."""
    if a.dim() != axes or b.dim() != axes:
        raise RuntimeError(f"{name}: tensors of {axes} axes are wanted, not of {a.dim()} and {b.dim()}")


def mm(products, a, b):
    check_matrices("mm", a, b)
    return products.product(a[None], b[None])[0]


def addmm(products, c, a, b, *, beta=1, alpha=1):
    check_matrices("addmm", a, b)
    return products.product(a[None], b[None], c.expand(a.shape[0], b.shape[1]), alpha, beta)[0]


def bmm(products, a, b):
    check_matrices("bmm", a, b, 3)
    return products.product(a, b)


def baddbmm(products, c, a, b, *, beta=1, alpha=1):
    check_matrices("baddbmm", a, b, 3)
    return products.product(a, b, c.expand(a.shape[0], a.shape[1], b.shape[2]), alpha, beta)


def addbmm(products, c, a, b, *, beta=1, alpha=1):
    """Computes one addmm after the other, each rounded, as ATen does on a GPU as well."""
    check_matrices("addbmm", a, b, 3)
    if len(a) != len(b):
        raise RuntimeError(f"addbmm: batches of {len(a)} and {len(b)} matrices")
    out = finished(torch.zeros(a.shape[1], b.shape[2]), a.dtype, c, beta=beta) if len(a) == 0 else c
    for one, other in zip(a, b):
        out, beta = addmm(products, out, one, other, beta=beta, alpha=alpha), 1
    return out


def mv(products, a, x):
    return mm(products, a, x[:, None])[:, 0]


def addmv(products, c, a, x, *, beta=1, alpha=1):
    return addmm(products, c[..., None], a, x[:, None], beta=beta, alpha=alpha)[:, 0]


def dot(products, x, y):
    return mm(products, x[None], y[:, None])[0, 0]


def convolution(products, x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
    g = geometry(x, w, stride, padding, dilation, groups, transposed)
    if bias is not None and bias.shape != (w.shape[1] * groups if transposed else w.shape[0],):
        raise RuntimeError(f"convolution: a bias of {tuple(bias.shape)} does not fit a weight of {tuple(w.shape)}")
    if products.direct:
        return depthwise.forward(x, w, bias, g)
    bias = None if bias is None else bias.reshape(groups, *(1,) * (x.dim() - 1), -1)
    if transposed:
        out = dgrad(functools.partial(products.biased, bias=bias), x, w, g, g.in_size(x.shape[2:], output_padding))
    else:
        out = fprop(functools.partial(products.biased, bias=bias), x, w, g, g.out_size(x.shape[2:]))
    return out.contiguous(memory_format=memory_format(x, w))


def convolution_backward(products, dy, x, w, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
                         output_mask):
    g = geometry(x, w, stride, padding, dilation, groups, transposed)
    dx = dw = db = None
    if output_mask[0]:
        dx = (depthwise.input_gradient(dy, x, w, g) if products.direct else
              (fprop if transposed else dgrad)(functools.partial(products.product, roles="dw"), dy, w, g, tuple(x.shape[2:])))
    if output_mask[1]:
        left, right, roles = (x, dy, "xd") if transposed else (dy, x, "dx")
        dw = (depthwise.weight_gradient(dy, x, w, g) if products.direct else
              wgrad(functools.partial(products.product, roles=roles), left, right, g))
    if output_mask[2]:
        db = dy.float().sum([0, *range(2, dy.dim())]).to(dy.dtype)
    return dx, dw, db


def attention(products, q, k, v, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    return flash_forward(products, q, k, v, dropout_p=dropout_p, is_causal=is_causal, attn_mask=attn_mask, scale=scale)


def attention_backward(products, dy, q, k, v, out, logsumexp, dropout_p, is_causal, *, attn_mask=None, scale=None):
    return flash_backward(products, dy, q, k, v, out, logsumexp, dropout_p=dropout_p, is_causal=is_causal, attn_mask=attn_mask,
                          scale=scale)


def rounded_attention(products, q, k, v, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    return low_precision_forward(products.product, q, k, v, dropout_p=dropout_p, is_causal=is_causal, attn_mask=attn_mask,
                                 scale=scale)


def rounded_attention_backward(products, dy, q, k, v, out, logsumexp, dropout_p, is_causal, *, attn_mask=None, scale=None):
    return low_precision_backward(products.product, dy, q, k, v, dropout_p=dropout_p, is_causal=is_causal, attn_mask=attn_mask,
                                  scale=scale)


def kind_of(name, kind, args):
    """Returns the kind that OPS says, except for a convolution that ATen computes itself."""
    if kind != "convolution":
        return kind
    x, w, _, stride, _, dilation, transposed, _, groups = args[:9] if name == "convolution" else args[1:10]
    return "depthwise" if depthwise.is_atens(x, w, stride, dilation, transposed, groups) else kind


# {name of an op: (its kind, as for Models.of, and its function)}
OPS = {name: (kind, function) for kind, ops in {
    "matmul": {"mm": mm, "addmm": addmm, "bmm": bmm, "baddbmm": baddbmm, "addbmm": addbmm, "_grouped_mm": grouped_mm,
               "_scaled_dot_product_flash_attention_for_cpu": attention,
               "_scaled_dot_product_flash_attention_for_cpu_backward": attention_backward},
    "vector": {"mv": mv, "addmv": addmv},
    "dot": {"dot": dot, "vdot": dot},
    "convolution": {"convolution": convolution, "convolution_backward": convolution_backward},
    "scaled": {"_scaled_mm": scaled_mm, "_scaled_mm_v2": scaled_mm_v2, "_scaled_grouped_mm": scaled_grouped_mm,
               "_scaled_grouped_mm_v2": scaled_grouped_mm_v2},
}.items() for name, function in ops.items()}
# Functions that replace some of these with attention="low_precision".
LOW_PRECISION = {**OPS, "_scaled_dot_product_flash_attention_for_cpu": ("matmul", rounded_attention),
                 "_scaled_dot_product_flash_attention_for_cpu_backward": ("matmul", rounded_attention_backward)}
# Ops with products inside that are not emulated.
WITH_PRODUCTS = frozenset((
    "mkldnn_rnn_layer", "mkldnn_linear", "mkldnn_convolution", "_native_multi_head_attention", "_transformer_encoder_layer_fwd",
    "_addmm_activation", "_int_mm", "_weight_int8pack_mm", "_scaled_addmm", "_scaled_addmm_",
    "_weight_int4pack_mm", "_cdist_forward", "_trilinear", "_sparse_mm", "_sparse_addmm", "sspaddmm", "linalg_vecdot",
    "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
    "_thnn_fused_lstm_cell", "_thnn_fused_gru_cell", "quantized_lstm", "quantized_gru", "conv_tbc", "_convolution",
    "linalg_matrix_exp", "_euclidean_dist", "hspmm", "sparse_sampled_addmm", "_scaled_dot_product_flash_attention_backward",
    "_scaled_dot_product_efficient_attention_backward", "_scaled_dot_product_cudnn_attention_backward", "_cudnn_rnn",
    "_cudnn_rnn_backward", "cudnn_convolution", "cudnn_convolution_transpose", "cudnn_convolution_relu",
    "cudnn_convolution_add_relu", "affine_grid_generator", "_slow_conv2d_forward", "_slow_conv2d_backward", "slow_conv3d_forward",
    "slow_conv_transpose2d", "slow_conv_transpose3d", "slow_conv_dilated2d", "slow_conv_dilated3d", "thnn_conv2d",
    "miopen_convolution", "miopen_rnn", "linear", "matmul", "scaled_dot_product_attention",
))
# Namespaces whose only ops with products are listed above; ops of others may contain any products.
KNOWN_NAMESPACES = frozenset(("aten", "prim", "prims", "c10d", "_c10d_functional", "c10d_functional", "profiler", "rngprims",
                              "debugprims"))
