# SPDX-License-Identifier: Apache-2.0
#
# Every op of the engine against PyTorch on the CPU, results and gradients. Ops that round once are equal in every bit.
# Where PyTorch adds in another order, or takes another exp, the difference is held under the sum of both error bounds:
# n terms in any order are off by at most gamma(n) = n·u/(1 - n·u) of the sum of their magnitudes (Higham 2002, section
# 3.1), an elementary function by one unit in the last place, 2·u (Sleef's u10, glibc). Sums of magnitudes are PyTorch's
# own op on the magnitudes. In float16 and bfloat16 the bounds are those of float32, and both results are rounded once: most
# are equal. exp, log and tanh in float32 are also the nearest floats to what PyTorch gives in float64.
#
# Not every kernel of PyTorch's rounds once, and the CPU decides which one runs: oneDNN has bfloat16 with AVX-512 only, and
# without it PyTorch 1.13 rounds gelu after each step (-0 for -0.0003128) and adds conv2d's products in bfloat16. So all
# cases run with oneDNN and without, and PyTorch's own bfloat16 is first held against its float32, rounded once: an op that
# is off by more is named with its error, and ours is judged by the latter.
# Run as torch_ops_test.py TORCH_OPS; exits with 77 where PyTorch is not installed.

import copy
import os
import subprocess
import sys
import tempfile

# oneDNN as the CPU has it: held to a smaller one it refuses bfloat16 that PyTorch has promised.
for limit in ("DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA"):
    os.environ.pop(limit, None)

try:
    import numpy
    import torch
    import torch.nn.functional as F
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from torch_ops_bounds import (EPS, ROUNDOFF, Case, attention, attention_function, bce, cross_entropy, elementwise,
                              exact, log_softmax, magnitudes, mse, norm, products, softmax)


def drawer(dtype, random):
    def draw(shape, low=-2.0, high=2.0):
        return torch.from_numpy(random.uniform(low, high, tuple(shape))).to(getattr(torch, dtype))
    return draw


def elementwise_cases(dtype, draw):
    one = lambda x, y, dy: y.abs() * 0 + 1  # noqa: E731
    x = lambda: draw((4, 33), -4, 4)  # noqa: E731
    for a, b in (((5, 40), (5, 40)), ((3, 5, 40), (40,)), ((7,), (6, 7))):
        same = exact if a == b else None
        grown = [2 if s != max(a, b, key=elements) else None for s in (a, b)]
        for op, f in (("add", torch.add), ("sub", torch.sub), ("mul", torch.mul)):
            def bound(case, u, op=op, grown=tuple(grown)):
                plus = Case(op, None, case.inputs, None, torch.mul if op == "mul" else torch.add)
                plus.dy = case.dy
                off = magnitudes(plus, u, [1, *(case.y.numel() // x.numel() for x in case.inputs)])
                return [None] + [None if g is None else o for g, o in zip(grown, off[1:])]
            yield Case(op, dtype, [draw(a), draw(b)], same or bound, f)
    yield Case("div", dtype, [draw((5, 40)), draw((5, 40), 0.5, 2)], exact, torch.div)
    yield Case("scale", dtype, [x()], exact, lambda v: v * 0.3125)
    yield Case("pow", dtype, [x()], exact, lambda v: v**2, [2])
    yield Case("pow", dtype, [x()], exact, lambda v: v**3, [3])
    yield Case("relu", dtype, [x()], exact, torch.relu)
    yield Case("exp", dtype, [x()], elementwise(lambda x, y, dy: 4 * y, lambda x, y, dy: 6 * y * dy), torch.exp)
    yield Case("log", dtype, [draw((4, 33), 0.01, 9)], elementwise(lambda x, y, dy: 4 * y.abs(), None), torch.log)
    yield Case("tanh", dtype, [x()], elementwise(lambda x, y, dy: 4 * y.abs(), lambda x, y, dy: 12 * dy * one(x, y, dy)),
               torch.tanh)
    yield Case("sigmoid", dtype, [x()], elementwise(lambda x, y, dy: 8 * y, lambda x, y, dy: 24 * y * dy), torch.sigmoid)
    yield Case("gelu", dtype, [x()], elementwise(lambda x, y, dy: 6 * x.abs(), lambda x, y, dy: 14 * dy), F.gelu)


def elements(shape):
    return int(numpy.prod(shape))


def product_cases(dtype, draw):
    yield Case("linear", dtype, [draw((2, 9, 31)), draw((17, 31)), draw((17,))], products(32, 17, 18, 18), F.linear)
    yield Case("linear", dtype, [draw((5, 8)), draw((3, 8))], products(8, 3, 5), F.linear)
    yield Case("matmul", dtype, [draw((2, 3, 5, 7)), draw((2, 3, 7, 4))], products(7, 4, 5), torch.matmul)
    for shape, out, window in (((2, 3, 9, 8), 5, (3, 1, 1)), ((2, 4, 8, 8), 6, (3, 2, 1)), ((3, 2, 6, 6), 4, (2, 2, 0)),
                               ((1, 5, 4, 4), 3, (1, 1, 0))):
        size, stride, padding = window
        f = lambda x, w, b=None, s=stride, p=padding: F.conv2d(x, w, b, stride=s, padding=p)  # noqa: E731
        pixels = shape[0] * ((shape[2] + 2 * padding - size) // stride + 1) * ((shape[3] + 2 * padding - size) // stride + 1)
        counts = (shape[1] * size**2 + 1, out * size**2, pixels, pixels)
        yield Case("conv2d", dtype, [draw(shape), draw((out, shape[1], size, size)), draw((out,))], products(*counts), f, window)
    for causal in (0, 1):
        yield Case("attention", dtype, [draw((2, 3, 6, 8)) for _ in range(3)], attention, attention_function(causal), [causal])


def other_cases(dtype, draw):
    for shape in ((4, 10), (2, 3, 65)):
        yield Case("softmax", dtype, [draw(shape, -6, 6)], softmax, lambda v: torch.softmax(v, -1))
        yield Case("log_softmax", dtype, [draw(shape, -6, 6)], log_softmax, lambda v: torch.log_softmax(v, -1))
    yield Case("layer_norm", dtype, [draw((3, 5, 32), -1, 3), draw((32,)), draw((32,))], norm(-1, (0, 1), (32,)),
               lambda x, w, b: F.layer_norm(x, (32,), w, b, EPS))
    yield Case("group_norm", dtype, [draw((2, 6, 3, 4), -1, 3), draw((6,)), draw((6,))],
               norm((2, 3, 4), (0, 2, 3), (6, 1, 1)), lambda x, w, b: F.group_norm(x, 3, w, b, EPS), [3])
    for training in (1, 0):
        def batch(x, w, b, training=training):
            return F.batch_norm(x, torch.full((5,), 0.5, dtype=x.dtype), torch.full((5,), 2.0, dtype=x.dtype), w, b,
                                bool(training), 0.1, EPS)
        yield Case("batch_norm", dtype, [draw((3, 5, 4, 3), -1, 3), draw((5,)), draw((5,))],
                   norm((0, 2, 3), (0, 2, 3), (5, 1, 1)), batch, [training])
        yield Case("batch_norm", dtype, [draw((7, 5), -1, 3), draw((5,)), draw((5,))], norm((0,), (0,), (5,)), batch, [training])
    for size, stride, padding in ((2, 2, 0), (3, 2, 1), (3, 1, 1)):
        window = (size, stride, padding)
        yield Case("max_pool2d", dtype, [draw((2, 3, 9, 8))], exact, lambda v, w=window: F.max_pool2d(v, *w), window)
        yield Case("avg_pool2d", dtype, [draw((2, 3, 9, 8))], exact, lambda v, w=window: F.avg_pool2d(v, *w), window)
    yield Case("permute", dtype, [draw((2, 3, 4))], exact, lambda v: v.permute(2, 0, 1), [2, 0, 1])
    yield Case("reshape", dtype, [draw((2, 3, 4))], exact, lambda v: v.reshape(6, 4), [6, 4])
    rows = [3, 1, 3, 3, 0, 6]
    yield Case("embedding", dtype, [draw((7, 5))], exact, lambda v: F.embedding(torch.tensor(rows), v), rows)
    target = [0, 9, 3, 3, 5]
    yield Case("sum", dtype, [draw((7, 50))], lambda case, u: [magnitudes(case, u, (350, 1))[0], None], torch.sum)
    yield Case("mean", dtype, [draw((7, 50))], lambda case, u: [magnitudes(case, u, (351, 1))[0], None], torch.mean)
    yield Case("nll_loss", dtype, [draw((5, 10), -5, 0)],
               lambda case, u: [2 * 6 * u * case.y.detach().double().abs(), None],
               lambda v: F.nll_loss(v, torch.tensor(target)), target)
    yield Case("cross_entropy", dtype, [draw((5, 10), -5, 5)], cross_entropy,
               lambda v: F.cross_entropy(v, torch.tensor(target)), target)
    yield Case("mse_loss", dtype, [draw((6, 9)), draw((6, 9))], mse, F.mse_loss)
    yield Case("bce", dtype, [draw((6, 9), -4, 4), draw((6, 9), 0, 1)], bce, F.binary_cross_entropy_with_logits)


def rounded_once(bound):
    """Both computed in float32, within `bound` of the other, and rounded once: equal where both ends round alike."""
    def low(case, u):
        wide = copy.copy(case)
        wide.y = case.in_float32().detach()
        inner = bound(wide, ROUNDOFF["float32"])[0]
        if inner is None:
            return [None]
        return [tuple((wide.y.double() + off).to(case.y.dtype).double() for off in (-inner, inner))]
    return low


# Ops that PyTorch's CPU computes in float32 and rounds once in these dtypes: the exact ones by every kernel, the others by
# one at least, which not every CPU has (each is tried). PyTorch 1.13 has little else for float16, and in bfloat16 rounds the sum
# before mean's division and inside log_softmax and layer_norm, and without oneDNN adds matmul's products in bfloat16.
EXACT_IN_HALF = ("add", "sub", "mul", "div", "scale", "embedding")
EXACT_IN_BFLOAT16 = (*EXACT_IN_HALF, "relu", "max_pool2d", "permute", "reshape")
ROUNDED_IN_BFLOAT16 = ("exp", "log", "tanh", "sigmoid", "gelu", "softmax", "linear", "conv2d", "avg_pool2d", "sum")
PARTS = ("attention", "cross_entropy")  # rounded after each part


def low_cases(dtype, draw):
    """PyTorch's own ops in the dtype, then every op by PyTorch in float32 and rounded."""
    for make in (elementwise_cases, product_cases, other_cases):
        for case in make(dtype, draw):
            case.gradients = False
            if case.op in (EXACT_IN_HALF if dtype == "float16" else EXACT_IN_BFLOAT16):
                case.bound = exact
                # Where gradients are sums, or of several ops, PyTorch rounds in between.
                case.gradients = (case.op in ("add", "sub", "mul", "scale", "relu", "permute", "reshape") and
                                  len({x.shape for x in case.inputs}) == 1)
                yield case
            elif dtype == "bfloat16" and case.op in ROUNDED_IN_BFLOAT16:
                case.bound, case.on_trial = rounded_once(case.bound), True
                yield case
        for case in make(dtype, draw):
            if case.op not in PARTS:
                case.gradients, case.wide = False, True
                case.bound = case.bound if case.bound is exact else rounded_once(case.bound)
                yield case


def all_cases(random):
    for dtype in ("float16", "bfloat16"):
        draw = drawer(dtype, random)
        yield from ((case, draw) for case in low_cases(dtype, draw))
    for dtype in ("float64", "float32"):
        draw = drawer(dtype, random)
        for make in (elementwise_cases, product_cases, other_cases):
            yield from ((case, draw) for case in make(dtype, draw))


def write(folder, cases):
    lines = []
    for index, case in enumerate(cases):
        wide = torch.float64 if case.dtype == "float64" else torch.float32
        for name, x in [(f"in{i}", x) for i, x in enumerate(case.inputs)] + [("dy", case.dy.reshape(case.dy.shape or (1,)))]:
            numpy.save(f"{folder}/{index}.{name}.npy", numpy.ascontiguousarray(x.detach().to(wide).numpy()))
        lines.append(" ".join(map(str, [index, case.op, case.dtype, len(case.inputs), *case.parameters])))
    with open(f"{folder}/cases.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def compare(case, ours, worst):
    """Number of elements compared; `worst` keeps the largest share of its bound per op, dtype and result."""
    compared = 0
    if case.dtype == "float32" and case.op in ("exp", "log", "tanh"):
        nearest = case.function(case.inputs[0].detach().double()).float()
        assert torch.equal(ours[0], nearest), (case.op, int((ours[0] != nearest).sum()))
    bounds = case.bound(case, ROUNDOFF[case.dtype])
    for at, (mine, torchs, bound) in enumerate(zip(ours, case.theirs(), bounds)):
        what = (case.op, case.dtype, "y" if at == 0 else f"d{at - 1}")
        assert mine.shape == torchs.shape and mine.numel() > 0, (what, mine.shape, torchs.shape)
        mine, torchs = mine.double(), torchs.double()
        compared += mine.numel()
        if bound is None:
            wrong = (mine != torchs) | (torch.signbit(mine) != torch.signbit(torchs))
            assert not wrong.any(), (what, case.parameters, int(wrong.sum()), mine[wrong][:4], torchs[wrong][:4])
            worst.setdefault(what, None)
            continue
        low, high = bound if isinstance(bound, tuple) else (torchs - bound, torchs + bound)
        assert (low.isfinite() & high.isfinite() & (low <= torchs) & (torchs <= high)).all(), what
        wrong = ~((low <= mine) & (mine <= high))
        room = torch.where(mine < torchs, torchs - low, high - torchs)
        share = (mine - torchs).abs() / room.clamp_min(1e-300)
        assert not wrong.any(), (what, case.parameters, int(wrong.sum()), mine[wrong][:4], torchs[wrong][:4])
        worst[what] = max(worst.get(what) or 0.0, float(share.max()))
    return compared


def main():
    cases, compared, worst, faults = [], 0, {}, {}
    for onednn in (True, False):
        with torch.backends.mkldnn.flags(enabled=onednn):
            for case, draw in all_cases(numpy.random.default_rng(7)):
                case.run_torch(draw)
                fault = case.try_peer() if case.on_trial else None
                if fault:
                    what = (case.op, case.dtype, "oneDNN on" if onednn else "oneDNN off")
                    faults[what] = max(fault, faults.get(what, fault))
                cases.append(case)
    with tempfile.TemporaryDirectory() as folder:
        write(folder, cases)
        subprocess.run([os.path.abspath(sys.argv[1]), folder], check=True, timeout=280)
        for index, case in enumerate(cases):
            compared += compare(case, case.ours(folder, index), worst)
    for what, share in worst.items():
        print(*what, "equal" if share is None else f"{share:.3f} of the bound")
    for what, (off, theirs, truth) in faults.items():
        print(*what, f"PyTorch is off by up to {off:.1%}: {theirs:.4g} for {truth:.4g}; judged by its float32, rounded once")
    print(f"PyTorch {torch.__version__}: {len(cases)} cases, {compared} elements compared")


main()
