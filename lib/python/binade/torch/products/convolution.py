# SPDX-License-Identifier: Apache-2.0
"""Computes convolutions by the matrix products that implicit GEMM makes of them, with channels last.

    fprop   y[n, p, f]    = Σ (r, c)     x[n, p·stride − padding + r·dilation, c] · w[f, r, c]
    dgrad   dx[n, h, c]   = Σ (r, f)     dy[n, p, f] · w[f, r, c]     where h = p·stride − padding + r·dilation
    wgrad   dw[f, (r, c)] = Σ (n, p)     dy[n, p, f] · x[n, p·stride − padding + r·dilation, c]

Places p, h and r are of 1 to 3 axes, the last innermost; K runs as the sum is written, its last index innermost. What lies
outside, or in dgrad between the steps of a stride, is zero and takes its place in K. Groups are products of their own. A
transposed convolution is a dgrad, and its gradients are fprop and wgrad. Each sum is rounded to the dtype; a bias is added to
that and the result rounded again, as torch does after cuDNN (`output.add_` in ATen's Convolution.cpp). No image is unfolded: what
lies under the kernel is a view, whose elements a product reads where they are.

Depthwise convolutions that ATen computes itself, without cuDNN, are in depthwise.py.
"""
import dataclasses

import torch
import torch.nn.functional as F


@dataclasses.dataclass(frozen=True)
class Geometry:
    """The parameters of an ordinary convolution: a tuple with an entry for each axis, except the number of groups."""

    kernel: tuple
    stride: tuple
    padding: tuple
    dilation: tuple
    groups: int

    def out_size(self, size):
        """Returns the size of y from that of x."""
        return tuple((h + 2 * p - d * (r - 1) - 1) // s + 1
                     for h, r, s, p, d in zip(size, self.kernel, self.stride, self.padding, self.dilation))

    def in_size(self, size, extra):
        """Returns the size of x from that of y and the output padding."""
        extra = tuple(extra) * (len(size) if len(extra) == 1 else 1)
        if any(not 0 <= e < max(s, d) for e, s, d in zip(extra, self.stride, self.dilation)):
            raise RuntimeError(f"convolution: output padding {extra} is to be less than stride {self.stride} or "
                               f"dilation {self.dilation}")
        out = tuple((q - 1) * s - 2 * p + d * (r - 1) + e + 1 for q, r, s, p, d, e in
                    zip(size, self.kernel, self.stride, self.padding, self.dilation, extra))
        if min(out) < 1:
            raise RuntimeError(f"convolution: an input of {tuple(size)} leaves an output of {out}")
        return out


def geometry(x, weight, stride, padding, dilation, groups, transposed):
    """Returns the Geometry of a convolution, also a transposed one. Raises RuntimeError if x and the weight do not fit."""
    kernel = tuple(weight.shape[2:])
    channels = weight.shape[0] if transposed else weight.shape[1] * groups
    if x.dim() != weight.dim() or x.shape[1] != channels or weight.shape[0] % groups:
        raise RuntimeError(f"convolution: a weight of {tuple(weight.shape)} in {groups} groups does not fit an input of "
                           f"{tuple(x.shape)}")

    def each(x):
        return tuple(x) * (len(kernel) if len(x) == 1 else 1)

    if min(*stride, *dilation) < 1 or min(padding) < 0:
        raise RuntimeError(f"convolution: stride {stride} and dilation {dilation} begin at 1, padding {padding} at 0")
    return Geometry(kernel, each(stride), each(padding), each(dilation), groups)


def runs_channels_last(x):
    """Whether torch treats a tensor as channels last (is_channels_last_strides_2d and _3d in c10's MemoryFormat.h)."""
    least = 0
    for axis in (1, *range(x.dim() - 1, 1, -1), 0):
        if x.shape[axis] == 0 or x.stride(axis) < max(least, axis == 1) or (axis == 0 and least == x.stride(1)):
            return False
        least = x.stride(axis) * x.shape[axis]
    return True


def memory_format(x, w):
    """Returns the memory format in which cuDNN convolves x with a weight and returns the result."""
    if x.dim() < 4 or not (runs_channels_last(x) or runs_channels_last(w)):
        return torch.contiguous_format
    return torch.channels_last if x.dim() == 4 else torch.channels_last_3d


def windows(x, kernel, count, stride, dilation):
    """Returns a view of x (batch, channels, *size) as (batch, *count, *kernel, channels): what lies under each place
    of the kernel."""
    x = x.movedim(1, -1)
    steps = x.stride()[1:-1]
    places, taps = (a * s for a, s in zip(steps, stride)), (a * d for a, d in zip(steps, dilation))
    return x.as_strided((x.shape[0], *count, *kernel, x.shape[-1]), (x.stride(0), *places, *taps, x.stride(-1)),
                        x.storage_offset())


def padded(x, before, after):
    """Returns x with so many zeros added at each side of an axis, or, for a negative number, so many elements removed."""
    return F.pad(x, [n for pair in reversed(list(zip(before, after))) for n in pair])


def by_group(x, groups):
    """Returns x (…, channels) as (groups, …, channels of a group)."""
    return x.unflatten(-1, (groups, x.shape[-1] // groups)).movedim(-2, 0)


def under_kernel(x, g, count):
    """Returns x as fprop and wgrad read it: (groups, batch, *places, *kernel, channels)."""
    if min(count) < 1:
        raise RuntimeError(f"convolution: the kernel {g.kernel} is larger than the padded input {tuple(x.shape[2:])}")
    need = [(q - 1) * s + d * (r - 1) + 1 for q, s, d, r in zip(count, g.stride, g.dilation, g.kernel)]
    x = padded(x, g.padding, [n - h - p for n, h, p in zip(need, x.shape[2:], g.padding)])
    return by_group(windows(x, g.kernel, count, g.stride, g.dilation), g.groups)


def filters(w, groups):
    """Returns a weight (filters, channels, *kernel) as (groups, filters of a group, *kernel, channels)."""
    return w.unflatten(0, (groups, w.shape[0] // groups)).movedim(2, -1)


def channels_first(x):
    """Returns (groups, batch, *places, channels of a group) as (batch, channels, *places)."""
    return x.movedim(0, -2).flatten(-2).movedim(-1, 1).contiguous()


def fprop(multiply, x, w, g, count):
    """Returns the sums of the forward pass by multiply, channels first.

    x: (batch, channels, *size). w: (filters, channels of a group, *kernel). count: how many places y has along each axis."""
    return channels_first(multiply(under_kernel(x, g, count), filters(w, g.groups).movedim(1, -1), axes=1 + len(count)))


def dgrad(multiply, dy, w, g, size):
    """Returns the sums of the gradient of x by multiply, channels first. size: the size of x along each axis."""
    spread = dy.new_zeros(*dy.shape[:2], *((q - 1) * s + 1 if q else 0 for q, s in zip(dy.shape[2:], g.stride)))
    spread[(..., *(slice(None, None, s) for s in g.stride))] = dy
    reach = [d * (r - 1) for d, r in zip(g.dilation, g.kernel)]
    before = [n - p for n, p in zip(reach, g.padding)]
    spread = padded(spread, before, [h + n - q - b for h, n, q, b in zip(size, reach, spread.shape[2:], before)])
    # Taps run towards lower places: over the image turned round, from its end to its beginning, they run forward.
    axes = tuple(range(2, spread.dim()))
    rows = by_group(windows(spread.flip(axes), g.kernel, size, (1,) * len(size), g.dilation), g.groups)
    columns = filters(w, g.groups).movedim(1, -2)
    return channels_first(multiply(rows, columns, axes=1 + len(size))).flip(axes)


def wgrad(multiply, dy, x, g):
    count = tuple(dy.shape[2:])
    left = by_group(dy.movedim(1, -1), g.groups).movedim(-1, 1)
    out = multiply(left, under_kernel(x, g, count), axes=1 + len(count))  # groups, filters, *kernel, channels
    return out.flatten(0, 1).movedim(-1, 1).contiguous()
