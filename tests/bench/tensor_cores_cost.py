# SPDX-License-Identifier: Apache-2.0
"""Times emulated products: training steps of the transformer of notebook 04, of 1.9 million parameters, and of a ResNet-18, as
multiples of torch's own in FP32.

    PYTHONPATH=build/lib/python PYTHON tests/bench/tensor_cores_cost.py [--rounds N] [--threads N]

PYTHON has torch. BINADE_ISA=avx2 holds the emulator to that level. A round takes a step of every kind; the median of the rounds'
ratios is told.
"""
import argparse
import contextlib
import os
import statistics
import time

import torch
import torch.nn.functional as F

import binade.torch

from watch_cost import CONFIG, model_of_the_notebook

TF32 = torch.backends.cuda.matmul, torch.backends.cudnn


class Block(torch.nn.Module):
    """Of a ResNet-18: two convolutions and a way around them."""

    def __init__(self, channels, filters, stride):
        super().__init__()
        self.first = torch.nn.Conv2d(channels, filters, 3, stride, 1, bias=False)
        self.second = torch.nn.Conv2d(filters, filters, 3, 1, 1, bias=False)
        self.norms = torch.nn.ModuleList(torch.nn.BatchNorm2d(filters) for _ in range(3))
        self.around = torch.nn.Conv2d(channels, filters, 1, stride, bias=False) if stride > 1 else None

    def forward(self, x):
        y = self.norms[1](self.second(F.relu(self.norms[0](self.first(x)))))
        return F.relu(y + (x if self.around is None else self.norms[2](self.around(x))))


class ResNet18(torch.nn.Sequential):
    """For images of 32 × 32, as trained on CIFAR-10."""

    def __init__(self):
        sizes = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1)]
        super().__init__(torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False), torch.nn.BatchNorm2d(64), torch.nn.ReLU(),
                         *(Block(*size) for size in sizes), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(512, 10))


def transformer():
    x = torch.randint(0, CONFIG["vocabulary"], (CONFIG["batch"], CONFIG["context"] + 1))
    return model_of_the_notebook()(CONFIG), x[:, :-1], x[:, 1:].flatten()


def resnet():
    return ResNet18(), torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))


KINDS = {  # (whether float32 may be TF32, autocast's dtype)
    "FP32 chains": (False, None),
    "TF32": (True, None),
    "BF16": (False, torch.bfloat16),
    "FP16": (False, torch.float16),
}


@contextlib.contextmanager
def emulated(tf32, dtype):
    before = [switch.allow_tf32 for switch in TF32]
    for switch in TF32:
        switch.allow_tf32 = tf32
    try:
        with binade.torch.tensor_cores("sm_90") as mode:
            with contextlib.nullcontext() if dtype is None else torch.autocast("cpu", dtype):
                yield
            if mode.uncovered():
                raise SystemExit(f"products that were not emulated: {mode.uncovered()}")
    finally:
        for switch, x in zip(TF32, before):
            switch.allow_tf32 = x


def seconds(model, x, y, kind):
    with kind:
        begun = time.perf_counter()
        out = model(x)
        F.cross_entropy(out.flatten(0, -2).float(), y).backward()
        return time.perf_counter() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    os.environ["BINADE_THREADS"] = str(given.threads)
    for name, make in (("transformer of notebook 04", transformer), ("ResNet-18, 8 images of 32 × 32", resnet)):
        torch.manual_seed(0)
        model, x, y = make()
        ratios = {kind: [] for kind in KINDS}
        own = []
        for _ in range(given.rounds + 1):
            own.append(seconds(model, x, y, contextlib.nullcontext()))
            for kind, options in KINDS.items():
                ratios[kind].append(seconds(model, x, y, emulated(*options)) / own[-1])
        print(f"{name}, {given.threads} threads, torch {torch.__version__}: forward and backward {statistics.median(own[1:]) * 1e3:.0f} ms")
        for kind, values in ratios.items():
            print(f"    {kind:<12} {statistics.median(values[1:]):6.1f} ×")


if __name__ == "__main__":
    main()
