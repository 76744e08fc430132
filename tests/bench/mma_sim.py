# SPDX-License-Identifier: Apache-2.0
"""The rate of MMA-Sim (PyPI: mmasim) beside binade's of the same products, on one core in one run.

    pip install mmasim; BINADE_THREADS=1 PYTHONPATH=build/lib/python python tests/bench/mma_sim.py [SIZE]

Products of SIZE rows, columns and K (default: 256), in turns; a line for each instruction: 10^9 multiply-adds a second of processor
time of either, and how many times binade's is. Results are compared bit for bit, NaNs aside, before anything is timed."""
import sys
import time

import numpy as np
import torch
from mmasim import nv_ptx

import binade

ROUNDS = 3


def of_mma(k):
    sim = nv_ptx.MMA("Hopper", "m16n8k16.f32.f16.f16.f32")
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((k, k)).astype(np.float16), rng.standard_normal((k, k)).astype(np.float16)

    def theirs():
        d = torch.zeros(k, k)
        for i in range(0, k, 16):
            d = sim.arithmetic_op(torch.from_numpy(a[:, i:i + 16]), torch.from_numpy(b[i:i + 16]), d)
        return d.numpy()
    return theirs, lambda: binade.gemm(a, b, instruction="mma.m16n8k16.f32.f16.f16.f32", arch="sm_90")


def of_scaled(k, shape, name, run, step, scale_dtype, scale_codes):
    """A kind of mma.block_scale; codes of 8 bits, or of 4 that MMA-Sim takes two in a byte, the first in the high half."""
    sim = nv_ptx.MMABlockScale("RTX Blackwell", shape)
    rng = np.random.default_rng(0)
    narrow = sim.packing == 2
    a, b = rng.integers(0, 16 if narrow else 126, (2, k, k)).astype(np.uint8)  # rows of A, columns of B
    scales = rng.choice(scale_codes, (2, k, k // run)).astype(np.uint8)

    def operand(codes, dtype):
        packed = codes[:, ::2] << 4 | codes[:, 1::2] if narrow else codes
        return torch.from_numpy(np.ascontiguousarray(packed)).view(dtype)
    ta, tb = operand(a, sim.a_type), operand(b, sim.b_type)
    sa, sb = (torch.from_numpy(x).view(scale_dtype) for x in scales)

    def theirs():
        d = torch.zeros(k, k)
        each = step // sim.packing
        for i in range(k // step):
            part = slice(i * each, (i + 1) * each)
            of_scales = slice(i * step // run, (i + 1) * step // run)
            d = sim.arithmetic_op(ta[:, part], tb[:, part].T, d, sa[:, of_scales], sb[:, of_scales].T)
        return d.numpy()

    def ours():
        return binade.gemm(a, b, transpose_b=True, instruction=name, arch="sm_120", a_scale=scales[0], b_scale=scales[1])
    return theirs, ours


def timed(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def main():
    torch.set_num_threads(1)
    k = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    e8m0, ue4m3 = torch.float8_e8m0fnu, torch.float8_e4m3fn
    for name, (theirs, ours) in {
        "mma.m16n8k16.f32.f16.f16.f32": of_mma(k),
        "mma kind::mxf8f6f4 e4m3": of_scaled(
            k, "m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.f32.ue8m0",
            "mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0", 32, 32, e8m0, range(120, 134)),
        "mma kind::mxf4nvf4": of_scaled(
            k, "m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3",
            "mma.m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", 16, 64, ue4m3, range(0x20, 0x60)),
    }.items():
        x, y = theirs(), ours()
        if x.tobytes() != y.tobytes():
            sys.exit(f"{name}: {int((x.view(np.uint32) != y.view(np.uint32)).sum())} of {x.size} elements differ")
        times = [(timed(theirs), timed(ours)) for _ in range(ROUNDS)]
        slow, fast = (min(each) for each in zip(*times))
        rate = k ** 3 / 1e9
        print(f"{name}: MMA-Sim {rate / slow:.3g}, binade {rate / fast:.3g}, {slow / fast:,.0f} times")


if __name__ == "__main__":
    main()
