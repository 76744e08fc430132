# SPDX-License-Identifier: Apache-2.0
"""Compares the matrix products that PyTorch computes on this machine's GPU with binade's emulation, and reports which of them a
model explains bit for bit. The products are those of plain matrices, of a GPT and of a ResNet, forward and backward, with TF32,
BF16 and FP16.

    PYTHONPATH=…/lib/python PYTHON cuda/check_torch.py OUT RECORDINGS [--seconds N] [--emulated sm_90]

Writes an account of each of the three programs to OUT, as matrices.html, matrices.json, gpt.html and so on, and recordings of
products to RECORDINGS. Exit status: 0 if all compared products are explained, 1 if one is not, 77 if there is no torch or no GPU.
"""
import argparse
import contextlib
import os
import signal
import sys

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    print(f"no check of PyTorch: {error}")
    sys.exit(77)

import binade.torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "bench"))
from trained_models import Gpt, ResNet  # noqa: E402

KINDS = {"TF32": None, "BF16": torch.bfloat16, "FP16": torch.float16}  # autocast's dtype
SHAPES = [(16, 16, 64), (128, 128, 1024), (512, 512, 512), (64, 64, 4096), (2048, 1024, 768), (1, 256, 1024), (1000, 304, 776)]
SMALL_SHAPES = [(16, 16, 64), (24, 8, 256), (1, 32, 128)]


def train(model, x, y, device):
    """Runs forward and backward once with each number format; there is no optimizer."""
    model, x, y = model.to(device), x.to(device), y.to(device)
    for name, dtype in KINDS.items():
        with contextlib.ExitStack() as casts:
            try:
                if dtype is not None:
                    casts.enter_context(torch.autocast(device, dtype))
            except RuntimeError as error:  # torch 1.13 on the CPU
                print(f"without {name}: {error}")
                continue
            out = model(x)
        F.cross_entropy(out.flatten(0, -2).float(), y.flatten()).backward()


def gpt(device, small):
    vocabulary, context, width, batch = (32, 16, 32, 2) if small else (512, 128, 256, 8)
    x = torch.randint(0, vocabulary, (batch, context + 1))
    train(Gpt(vocabulary, context, width, 4, 1 if small else 2), x[:, :-1], x[:, 1:], device)


def images(device, small):
    batch, size, width = (2, 8, 4) if small else (8, 16, 32)  # sums of 2,048 products are explained quickly
    train(ResNet(width, 10), torch.randn(batch, 3, size, size), torch.randint(0, 10, (batch,)), device)


def matrices(device, small):
    for m, n, k in SMALL_SHAPES if small else SHAPES:
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            a, b = torch.randn(m, k).to(dtype).to(device), torch.randn(k, n).to(dtype).to(device)
            torch.mm(a, b)
            torch.mm(a, b.t().contiguous().t())  # the layout of a linear layer's weight


def halves(arch):
    """The order of summation that --emulated gives the products: K in two parts, which are added."""
    types = {torch.float32: "mma.m16n8k8.f32.tf32.tf32.f32", torch.bfloat16: "mma.m16n8k16.f32.bf16.bf16.f32",
             torch.float16: "mma.m16n8k16.f32.f16.f16.f32"}
    models = {dtype: binade.GemmModel(name, arch, split=2, round=dtype == torch.float32) for dtype, name in types.items()}
    return lambda kind, dtype: models[dtype] if kind == "matmul" else None


def tell(mode, name, folder):
    """Writes the account of a program to files and prints its summary."""
    account = mode.account
    account.save_html(os.path.join(folder, name + ".html"))
    account.save_json(os.path.join(folder, name + ".json"))
    print(f"{name}: {account}", flush=True)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", help="folder for the accounts")
    parser.add_argument("recordings", help="folder for the recordings")
    parser.add_argument("--seconds", type=float, default=100,
                        help="time for comparing products, for each of the three programs (default: %(default)s)")
    parser.add_argument("--emulated", metavar="ARCH",
                        help="tries the script without a GPU, on small sizes: the emulator of this architecture, with K in two "
                             "parts, in the place of the GPU")
    given = parser.parse_args()
    if given.emulated is None and not torch.cuda.is_available():
        print(f"no check of PyTorch: torch {torch.__version__} has no GPU here")
        return 77
    arch = given.emulated or "sm_{}{}".format(*torch.cuda.get_device_capability())
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    explained = True
    os.makedirs(given.out, exist_ok=True)
    for name, program in {"matrices": matrices, "gpt": gpt, "resnet": images}.items():
        torch.manual_seed(0)
        rehearsed = given.emulated and binade.torch.tensor_cores(given.emulated, order=halves(given.emulated))
        with rehearsed or contextlib.nullcontext():
            with binade.torch.tensor_cores(arch, check=True, save=os.path.join(given.recordings, name), calls=1,
                                           seconds=given.seconds) as mode, contextlib.ExitStack() as told:
                told.callback(tell, mode, name, given.out)
                program("cpu" if given.emulated else "cuda", bool(given.emulated))
        explained = explained and mode.account.all_explained
    return 0 if explained else 1


if __name__ == "__main__":
    sys.exit(main())
