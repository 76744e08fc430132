# SPDX-License-Identifier: Apache-2.0
"""Times products of float16 matrices on the CPU, by torch itself and by the emulator, and those of float32 by torch, in 10⁹
multiply-adds for each second of elapsed time.

    PYTHONPATH=build/lib/python PYTHON tests/bench/half_products.py [--size N] [--threads N]

PYTHON has torch. The ways take turns; of each the fastest of five counts.
"""
import argparse
import contextlib
import os
import time

import torch

import binade.torch

WAYS = {  # (dtype, the architecture that is emulated)
    "float16, emulated: sm_90": (torch.float16, "sm_90"),
    "float16, torch's own": (torch.float16, None),
    "float32, torch's own": (torch.float32, None),
}


def seconds(dtype, arch, size):
    a, b = (torch.randn(size, size, generator=torch.Generator().manual_seed(seed)).to(dtype) for seed in (1, 2))
    with binade.torch.tensor_cores(arch) if arch else contextlib.nullcontext():
        begun = time.perf_counter()
        a @ b
        return time.perf_counter() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    os.environ["BINADE_THREADS"] = str(given.threads)
    rounds = [[seconds(*way, given.size) for way in WAYS.values()] for _ in range(5)]
    print(f"torch {torch.__version__}, {given.threads} threads, {given.size} × {given.size} × {given.size}")
    for name, times in zip(WAYS, zip(*rounds)):
        print(f"    {name:<26}{given.size**3 / min(times) / 1e9:7.1f}")


if __name__ == "__main__":
    main()
