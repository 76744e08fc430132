# SPDX-License-Identifier: Apache-2.0
"""Computes the depthwise convolutions for which torch has GPU kernels of its own, without cuDNN and Tensor Cores (ATen's
cuda/DepthwiseConv2d.cu and DepthwiseConv3d.cu; Convolution.cpp decides when they are used, which is_atens repeats).

Sums are chains of fused multiply-adds in binary32, whatever the dtype, and are rounded to the dtype at their end. With two axes,
or one, which torch treats as two:

    y    from the bias, or 0; over kernel rows, then columns; what lies outside of the image takes no part
    dx   from 0; over the channel's filters, kernel rows, columns; what lies outside takes no part
    dw   an image n and its places, row after row, i: warp n mod 8, lane i mod 32 have them in a chain from 0, n, then i
         ascending; lanes are added in halves (16, 8, 4, 2, 1 apart), then warps (among 32, those that are not there 0)

With three axes the same, except: y begins with 0, and the bias is added, and the sum rounded, at the end. In dx and dw zeros
take part outside of the image, so that an infinity meets them, but in dw not outside of its first axis. In dw each frame of an
image counts as n; the chains' ends are rounded to the dtype, then added in halves of all 256 (4, 2, 1 warps apart, then lanes),
each sum rounded to the dtype.
"""
import torch

from ... import _binade
from .convolution import memory_format
from .models import flag

WARPS, LANES = 8, 32


def is_atens(x, w, stride, dilation, transposed, groups):
    """Whether torch computes the convolution without cuDNN. For float16 images of two axes, not channels last, it
    estimates which is faster."""
    channels = x.shape[1]
    if transposed or channels != groups or groups < 2 or w.shape[0] % groups or x.numel() == 0:
        return False
    if not torch.backends.cudnn.enabled:
        return True
    if memory_format(x, w) != torch.contiguous_format:
        return False
    axes = x.dim() - 2
    stride = tuple(stride) * (axes if len(stride) == 1 else 1)
    if x.dtype != torch.float16 or axes == 3 or any(d != 1 for d in dilation) or channels < 32:
        return True
    height, width = (1,) * (2 - axes) + tuple(x.shape[2:])
    if height != 1 and stride[0] != stride[-1]:
        return True
    wanted = flag(torch.backends.cudnn, "depthwise_kernel", "auto")  # older versions of torch have none
    if wanted != "auto":
        return wanted == "native"
    return not cudnn_is_faster(x.shape[0], channels, height, width, (1,) * (2 - axes) + tuple(w.shape[2:]), stride[-1])


def cudnn_is_faster(images, channels, height, width, kernel, stride):
    """Returns what ATen's check_cudnn_depthwise_workload_with_filter returns."""
    if height == 1 and stride == 1:
        return True
    if kernel[0] != kernel[1] or kernel[1] not in (1, 3, 5) or width < 7 or stride > 2:
        return False
    if stride == 1:
        return True
    if images == 1:
        return kernel[1] != 1 or width <= 28
    if kernel[1] == 1:
        return images <= 16 and channels >= 128 and width <= 7
    return channels >= 512 or (channels >= 256 and width >= 28)


def fma(a, b, c):
    shape = c.shape
    return _binade.arith("fma", *(x.expand(shape).contiguous() for x in (a, b, c)), format="binary32")


def added_where(inside, a, b, c):
    """Returns c + a·b, rounded once, and c for elements that take no part."""
    return fma(a, b, c) if inside.all() else torch.where(inside, fma(a, b, c), c)


def taken(x, places):
    """Returns the values of x (batch, channels, *size) at places, and whether each place is inside of x; values outside are 0.

    places: for each axis the indices, and whether each is inside."""
    for axis, (index, _) in enumerate(places):
        x = x.index_select(axis + 2, index.clamp(0, x.shape[axis + 2] - 1))
    inside = torch.ones((), dtype=torch.bool)
    for _, good in places:
        inside = inside[..., None] & good
    return x.where(inside, torch.zeros(())), inside


def seen(tap, size, count, g):
    """Returns for each axis the places of the input that each place of the output reads."""
    for t, n, q, s, p, d in zip(tap, size, count, g.stride, g.padding, g.dilation):
        index = torch.arange(q) * s - p + t * d
        yield index, (index >= 0) & (index < n)


def seeing(tap, size, count, g):
    """Returns for each axis the places of the output that read each place of the input, and whether one would in a
    larger output."""
    for t, n, q, s, p, d in zip(tap, size, count, g.stride, g.padding, g.dilation):
        far = torch.arange(n) + p - t * d
        index, steps = far.div(s, rounding_mode="floor"), far % s == 0
        yield (index, steps & (index >= 0) & (index < q)), steps


def taps(g):
    return torch.cartesian_prod(*map(torch.arange, g.kernel)).reshape(-1, len(g.kernel)).tolist()


def for_filters(x, w):
    """Returns x in binary32, with a channel for each filter that reads it."""
    return x.float().repeat_interleave(w.shape[0] // x.shape[1], 1)


def of_channel(x, g):
    """Returns one number for each filter or channel, shaped so that it broadcasts over places."""
    return x.float().reshape(-1, *(1,) * len(g.kernel))


def forward(x, w, bias, g):
    count = g.out_size(x.shape[2:])
    if min(count) < 1:
        raise RuntimeError(f"convolution: the kernel {g.kernel} is larger than the padded input {tuple(x.shape[2:])}")
    images = for_filters(x, w)
    out, at_end = torch.zeros(*images.shape[:2], *count), len(count) == 3
    if bias is not None and not at_end:
        out += of_channel(bias, g)
    for tap in taps(g):
        values, inside = taken(images, list(seen(tap, x.shape[2:], count, g)))
        out = added_where(inside, of_channel(w[(slice(None), 0, *tap)], g), values, out)
    if bias is not None and at_end:
        out = out + of_channel(bias, g)
    return out.to(x.dtype)


def input_gradient(dy, x, w, g):
    split = x.shape[1], w.shape[0] // x.shape[1]  # channels, filters of each
    of_filter, weights = dy.float().unflatten(1, split).unbind(2), w.unflatten(0, split).unbind(1)
    out = torch.zeros(x.shape)
    for gradient, weight in zip(of_filter, weights):
        for tap in taps(g):
            places, steps = zip(*seeing(tap, x.shape[2:], dy.shape[2:], g))
            values, inside = taken(gradient, places)
            if len(steps) == 3:
                inside = steps[0][:, None, None] & steps[1][:, None] & steps[2]
            out = added_where(inside, of_channel(weight[(slice(None), 0, *tap)], g), values, out)
    return out.to(x.dtype)


def in_halves(x, axis, dtype):
    """Returns the sum of x along an axis whose length is a power of two, by adding elements half of it apart, each
    sum rounded to the dtype."""
    while x.shape[axis] > 1:
        first, second = x.chunk(2, axis)
        x = (first + second).to(dtype).float()
    return x.squeeze(axis)


def in_threads(x, rest):
    """Yields the steps (filters, WARPS, LANES) of x (n, filters, i), to which `rest` is appended so that n and i
    become multiples."""
    x = torch.nn.functional.pad(x, (0, -x.shape[2] % LANES, 0, 0, 0, -x.shape[0] % WARPS), value=rest)
    x = x.reshape(-1, WARPS, x.shape[1], x.shape[2] // LANES, LANES)
    return x.permute(0, 3, 2, 1, 4).reshape(-1, x.shape[2], WARPS, LANES)


def weight_gradient(dy, x, w, g):
    count, solid, dtype = tuple(dy.shape[2:]), len(dy.shape) == 5, w.dtype

    def as_items(x):
        """Returns x (batch, filters, *places) as (n, filters, i)."""
        return (x.transpose(1, 2).flatten(0, 1) if solid else x).flatten(2)

    images = for_filters(x, w)
    gradients = in_threads(as_items(dy.float()), 0)
    out = torch.empty(w.shape, dtype=dtype)
    for tap in taps(g):
        places = list(seen(tap, x.shape[2:], count, g))
        values, inside = taken(images, places)
        if solid:
            inside = places[0][1][:, None, None].expand(inside.shape)
        inside = in_threads(as_items(inside.expand(dy.shape[0], 1, *count).float()), 0).bool()
        sums = torch.zeros(w.shape[0], WARPS, LANES)
        for a, b, good in zip(in_threads(as_items(values), 0), gradients, inside):
            sums = added_where(good, a, b, sums)
        if solid:
            sums = in_halves(in_halves(sums.to(dtype).float(), 1, dtype), 1, dtype)
        else:
            lanes = in_halves(sums, 2, torch.float32)
            sums = in_halves(torch.nn.functional.pad(lanes, (0, LANES - WARPS)), 1, torch.float32)
        out[(slice(None), 0, *tap)] = sums.to(dtype)
    return out
