# SPDX-License-Identifier: Apache-2.0
"""Matrix products, convolutions and their gradients as an architecture's Tensor Cores give them, by the definitions: every
element of a result has its row of operands, written down term by term, and binade.gemm multiplies the rows; depthwise
convolutions are summed term by term. It uses NumPy only; operands and results are float32 arrays of the values, whatever the format."""
import collections
import functools
import itertools

import numpy as np

import binade

FORMATS = {"float16": "binary16", "bfloat16": "bfloat16", "float32": "binary32"}
HALF = {"sm_70": "mma.m8n8k4.f32.f16.f16.f32", "sm_75": "mma.m16n8k8.f32.f16.f16.f32"}
CHAINS = {"float16": "fma.rn.f32.f16.f16.f32", "bfloat16": "fma.rn.f32.bf16.bf16.f32", "float32": "fma.rn.f32.f32.f32.f32"}

# Per dimension of the image, as torch names them; the channels are in so many groups.
Geometry = collections.namedtuple("Geometry", "stride padding dilation groups")


def model(arch, dtype, tf32=False, instruction=None, **more):
    """What one product of operands of this dtype is computed by; another instruction of the architecture, where it is given."""
    volta = arch in HALF
    usual = {"float16": (HALF.get(arch, "mma.m16n8k16.f32.f16.f16.f32"), arch),
             "bfloat16": (CHAINS["bfloat16"], None) if volta else ("mma.m16n8k16.f32.bf16.bf16.f32", arch),
             "float32": ("mma.m16n8k8.f32.tf32.tf32.f32", arch) if tf32 and not volta else (CHAINS["float32"], None)}[dtype]
    name, sm = (instruction, arch) if instruction else usual
    if instruction == "chain":
        name, sm = CHAINS[dtype], None
    return binade.GemmModel(name, sm, out_format=FORMATS[dtype], round="tf32" in name, **more)


def values(out, dtype):
    if dtype == "bfloat16":
        return (np.ascontiguousarray(out).view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return out.astype(np.float32)


def rounded(x, dtype):
    """Float32 arrays once more, to a dtype's nearest."""
    if dtype == "bfloat16":
        bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
        up = bits + 0x7FFF + (bits >> 16 & 1)
        return np.where(np.isnan(x), x, (up & 0xFFFF0000).astype(np.uint32).view(np.float32))
    with np.errstate(over="ignore"):
        return x.astype(dtype).astype(np.float32)


def of_vectors(rule, op):
    """The words of a case for mv and dot: cuBLAS has no TF32 for a matrix and a vector, and no Tensor Core for two vectors."""
    return {**rule, "instruction": "chain"} if "dot" in op else {**rule, "tf32": False}


def product(a, b, arch, dtype, c=None, alpha=1, beta=1, bias=None, tf32=False, **more):
    """alpha·A·B + beta·C + bias of matrices, in one call of binade.gemm; a sum of no terms is 0."""
    (m, k), n = a.shape, b.shape[1]
    if m * n == 0:
        return np.zeros((m, n), np.float32)
    if k == 0:
        a, b = np.zeros((m, 1), np.float32), np.zeros((1, n), np.float32)
    if c is not None:
        c = None if beta == 0 else np.ascontiguousarray(np.broadcast_to(c, (m, n)))
    rule = model(arch, dtype, tf32, alpha=alpha, beta=beta, **more)
    return values(binade.gemm(np.ascontiguousarray(a), np.ascontiguousarray(b), c, bias, model=rule), dtype)


def matmul(a, b, arch, dtype, c=None, **more):
    """Of arrays of any dimensions, as NumPy's matmul has them; C is broadcast to the result."""
    left, right = (a[None] if a.ndim == 1 else a), (b[:, None] if b.ndim == 1 else b)
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left, right = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (left, right))
    shape = batch + (left.shape[-2], right.shape[-1])
    c = None if c is None else np.broadcast_to(c, shape)
    out = np.zeros(shape, np.float32)
    for i in np.ndindex(batch):
        out[i] = product(left[i], right[i], arch, dtype, None if c is None else c[i], **more)
    return out.reshape(batch + left.shape[-2:-1] * (a.ndim > 1) + right.shape[-1:] * (b.ndim > 1))


def addbmm(c, a, b, arch, dtype, alpha=1, beta=1, **more):
    """As torch.addbmm is defined on a GPU: one addmm after another, each rounded to the dtype."""
    if len(a) == 0:
        a, b = np.zeros((1,) + a.shape[1:], np.float32), np.zeros((1,) + b.shape[1:], np.float32)
    for x, y in zip(a, b):
        c, beta = product(x, y, arch, dtype, c, alpha, beta, **more), 1
    return c


def taps(kernel):
    return list(itertools.product(*map(range, kernel)))


def seen(p, tap, g):
    """The place of the input that the output's place p sees through a tap."""
    return tuple(x * s - o + t * d for x, s, o, t, d in zip(p, g.stride, g.padding, tap, g.dilation))


def seeing(h, tap, g):
    """The place of the output that sees the input's place h through a tap; None between two."""
    far = [x + o - t * d for x, o, t, d in zip(h, g.padding, tap, g.dilation)]
    return None if any(x % s for x, s in zip(far, g.stride)) else tuple(x // s for x, s in zip(far, g.stride))


@functools.lru_cache(maxsize=None)
def terms(images, channels, places, kernel, g, place_of):
    """Of every image and place of a result, n outermost, the row of indices into images of this shape: (taps, channels),
    channels innermost; -1 for a zero outside or between."""
    rows = []
    for n, p in itertools.product(range(images[0]), taps(places)):
        rows.append([])
        for tap in taps(kernel):
            place = place_of(p, tap, g)
            inside = place is not None and all(0 <= x < size for x, size in zip(place, images[2:]))
            for c in range(*channels):
                rows[-1].append(np.ravel_multi_index((n, c) + place, images) if inside else -1)
    return np.array(rows, np.int64).reshape(len(rows), len(taps(kernel)) * len(range(*channels)))


def gathered(images, channels, places, kernel, g, place_of):
    index = terms(images.shape, channels, tuple(places), tuple(kernel), g, place_of)
    return np.append(images.ravel(), np.float32(0))[index]


def group(i, count, groups):
    """(first, last + 1) of the channels of a group."""
    return i * count // groups, (i + 1) * count // groups


def channels_second(rows, n, places, channels):
    """(n, channels, places) of what runs over n, places and channels."""
    return np.moveaxis(rows.reshape(n, *places, channels), -1, 1)


def biased(y, bias, dtype):
    """What cuDNN gives is rounded before torch adds the bias."""
    return y if bias is None else rounded(y + bias.reshape(-1, *(1,) * (y.ndim - 2)), dtype)


def forward(x, w, g, size, bias=None, multiply=product, **rule):
    """Y (n, f, places of this size) of X (n, c, places) and W (f, c of a group, taps): K runs (taps, c)."""
    out = []
    for i in range(g.groups):
        f = slice(*group(i, len(w), g.groups))
        rows = gathered(x, group(i, x.shape[1], g.groups), size, w.shape[2:], g, seen)
        columns = np.concatenate([w[(f, slice(None)) + tap].T for tap in taps(w.shape[2:])])
        out.append(multiply(rows, columns, **rule))
    return biased(channels_second(np.concatenate(out, axis=1), len(x), size, len(w)), bias, rule["dtype"])


def input_gradient(gy, w, g, size, bias=None, multiply=product, **rule):
    """dX (n, c, places of this size) of dY and W: K runs (taps, f). The forward pass of a transposed convolution, too."""
    out = []
    for i in range(g.groups):
        f = slice(*group(i, len(w), g.groups))
        rows = gathered(gy, (f.start, f.stop), size, w.shape[2:], g, seeing)
        columns = np.concatenate([w[(f, slice(None)) + tap] for tap in taps(w.shape[2:])])
        out.append(multiply(rows, columns, **rule))
    return biased(channels_second(np.concatenate(out, axis=1), len(gy), size, w.shape[1] * g.groups), bias, rule["dtype"])


def weight_gradient(gy, x, g, kernel, multiply=product, **rule):
    """dW (f, c of a group, taps) of dY and X: K runs (n, places of dY)."""
    out = []
    for i in range(g.groups):
        f = slice(*group(i, gy.shape[1], g.groups))
        rows = np.stack([gy[:, channel].ravel() for channel in range(f.start, f.stop)])
        columns = gathered(x, group(i, x.shape[1], g.groups), gy.shape[2:], kernel, g, seen)
        out.append(multiply(rows, columns, **rule))
    return channels_second(np.concatenate(out), gy.shape[1], kernel, x.shape[1] // g.groups)


def fma(a, b, c):
    """a·b + c of float32, c an array, rounded once: the sum of two doubles, of which the product is exact, to odd first."""
    p = np.asarray(a, np.float64) * np.asarray(b, np.float64)
    s = p + c
    t = s - p
    rest = (p - (s - t)) + (c - t)
    changes = np.isfinite(rest) & (rest != 0) & (s.view(np.int64) & 1 == 0)
    return np.where(changes, np.nextafter(s, np.copysign(np.inf, rest)), s).astype(np.float32)


def inside(place, size):
    return all(0 <= x < n for x, n in zip(place, size))


@np.errstate(all="ignore")
def depthwise_forward(x, w, g, size, bias, dtype):
    """Of ATen's kernels: filter f reads channel f // (filters of each)."""
    x, solid = np.repeat(x, len(w) // x.shape[1], 1), len(size) == 3
    y = np.zeros((len(x), len(w)) + tuple(size), np.float32)
    for p in taps(size):
        at = (slice(None), slice(None)) + p
        if bias is not None and not solid:
            y[at] = bias
        for tap in taps(w.shape[2:]):
            place = seen(p, tap, g)
            if inside(place, x.shape[2:]):
                y[at] = fma(w[(slice(None), 0) + tap], x[(slice(None), slice(None)) + place], y[at])
        if bias is not None and solid:
            y[at] += bias
    return rounded(y, dtype)


@np.errstate(all="ignore")
def depthwise_input_gradient(gy, w, g, size, channels, dtype):
    gx, each = np.zeros((len(gy), channels) + tuple(size), np.float32), len(w) // channels
    for h in taps(size):
        at = (slice(None), slice(None)) + h
        for m, tap in itertools.product(range(each), taps(w.shape[2:])):
            place = seeing(h, tap, g)
            filters = slice(m, None, each)
            if place is not None and inside(place, gy.shape[2:]):
                gx[at] = fma(w[(filters, 0) + tap], gy[(slice(None), filters) + place], gx[at])
            elif place is not None and len(size) == 3:
                gx[at] = fma(w[(filters, 0) + tap], 0, gx[at])
    return rounded(gx, dtype)


@np.errstate(all="ignore")
def depthwise_weight_gradient(gy, x, g, kernel, dtype):
    x, places, solid = np.repeat(x, gy.shape[1] // x.shape[1], 1), taps(gy.shape[2:]), gy.ndim == 5
    gw = np.zeros((gy.shape[1], 1) + tuple(kernel), np.float32)
    for tap in taps(kernel):
        threads = np.zeros((8, 32, gy.shape[1]), np.float32)
        for n, (i, p) in itertools.product(range(len(x)), enumerate(places)):
            item, i = (n * gy.shape[2] + p[0], i % (gy.shape[3] * gy.shape[4])) if solid else (n, i)
            place = seen(p, tap, g)
            if inside(place, x.shape[2:]):
                read = x[(n, slice(None)) + place]
            elif solid and 0 <= place[0] < x.shape[2]:
                read = 0
            else:
                continue
            thread = threads[item % 8, i % 32]
            thread[:] = fma(read, gy[(n, slice(None)) + p], thread)
        if solid:
            total = halves(rounded(threads.reshape(256, -1), dtype), dtype)
        else:
            warps = np.zeros((32, gy.shape[1]), np.float32)
            for warp in range(8):
                warps[warp] = halves(threads[warp], np.float32)
            total = halves(warps, np.float32)
        gw[(slice(None), 0) + tap] = rounded(total, dtype)
    return gw


def halves(lanes, dtype):
    while len(lanes) > 1:
        lanes = rounded(lanes[:len(lanes) // 2] + lanes[len(lanes) // 2:], dtype)
    return lanes[0]
