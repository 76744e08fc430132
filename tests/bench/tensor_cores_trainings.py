# SPDX-License-Identifier: Apache-2.0
"""Measures how far trainings on emulated Tensor Cores depart from torch's own in FP32, for the models of trained_models.py.

    PYTHONPATH=build/lib/python PYTHON tests/bench/tensor_cores_trainings.py [--steps N] [--models A …] [--settings A …] [--json]

PYTHON has torch. A distance is that of the parameters after the steps, over the way that FP32 went from its beginning. Beside the
settings: FP32 with each parameter moved by 2^-23 of itself at the beginning, and with other data. Settings that the torch at hand
has no autocast for are left out. --json: of each training the losses, the distance, a digest of all parameters' bits, and the
products that were not emulated. BINADE_THREADS sets the emulator's threads, --torch-threads torch's own, on which its sums (of
LayerNorm's gradients) may hang.
"""
import argparse
import contextlib
import functools
import hashlib
import json
import math
import sys
import warnings

import torch
from trained_models import MODELS, train

import binade.torch

TF32 = torch.backends.cuda.matmul, torch.backends.cudnn
FP16, BF16 = torch.float16, torch.bfloat16
FP8 = {"operands": "e4m3", "backward": "e5m2", "scale": "amax"}
SETTINGS = {  # (architecture, autocast's dtype or TF32, operands of products)
    "FP32 chains": ("sm_90", None, {}),
    "TF32 A100": ("sm_80", "tf32", {}),
    "TF32 H100": ("sm_90", "tf32", {}),
    "FP16 V100": ("sm_70", FP16, {}),
    "FP16 A100": ("sm_80", FP16, {}),
    "FP16 H100": ("sm_90", FP16, {}),
    "BF16 A100": ("sm_80", BF16, {}),
    "BF16 H100": ("sm_90", BF16, {}),
    "FP8 H100": ("sm_90", None, FP8),
    "FP8 H100, promoted": ("sm_90", None, FP8 | {"promote_every": 4}),  # 128 of K
    "FP8 1x128, 128x128": ("sm_90", None, FP8 | {"scale": "128x128"}),
    "E3M2 1x32": ("sm_100", None, {"operands": "e3m2", "scale": "1x32"}),
    "E2M3 1x32": ("sm_100", None, {"operands": "e2m3", "scale": "1x32"}),
    "E2M1 1x32": ("sm_100", None, {"operands": "e2m1", "scale": "1x32"}),
}
LOSS_SCALE = {FP16: 2.0**10}
AT_LAST = 10  # steps whose losses are a mean


@contextlib.contextmanager
def tf32(allowed):
    before = [switch.allow_tf32 for switch in TF32]
    try:
        for switch in TF32:
            switch.allow_tf32 = allowed
        yield
    finally:
        for switch, x in zip(TF32, before):
            switch.allow_tf32 = x


def has_autocast(dtype):
    with warnings.catch_warnings(), contextlib.suppress(RuntimeError):  # of torch before 2.0
        warnings.simplefilter("ignore")
        with torch.autocast("cpu", dtype):
            return (torch.ones(1, 1) @ torch.ones(1, 1)).dtype == dtype
    return False


def digest(x):
    return hashlib.sha256(x.float().numpy().tobytes()).hexdigest()[:16]


def emulated(model, steps, arch, dtype, operands):
    """A training's losses, parameters before and after, and what was not emulated."""
    cast = functools.partial(torch.autocast, "cpu", dtype) if isinstance(dtype, torch.dtype) else contextlib.nullcontext
    with tf32(dtype == "tf32"), binade.torch.tensor_cores(arch, **operands) as mode:
        run = train(model, steps, cast=cast, loss_scale=LOSS_SCALE.get(dtype, 1.0))
    return *run, [str(x) for x in mode.uncovered()]


def trainings(model, steps, settings):
    """What is told of each setting, and of FP32, FP32 moved a little, and FP32 with other data."""
    _, before, own = train(model, steps)
    way = (own - before).norm().item()

    def told(losses, after, uncovered=()):
        distance = (after - own).norm().item() / way
        return {"losses": losses, "distance": distance, "digest": digest(after), "uncovered": list(uncovered)}

    beside = {"FP32": {}, "FP32, moved by 2^-23": {"moved_by": 2.0**-23}, "FP32, other data": {"order": 2}}
    out = {}
    for name, words in beside.items():
        losses, _, after = train(model, steps, **words)
        out[name] = told(losses, after)
    for name in settings:
        arch, dtype, operands = SETTINGS[name]
        if isinstance(dtype, torch.dtype) and not has_autocast(dtype):
            continue
        losses, _, after, uncovered = emulated(model, steps, arch, dtype, operands)
        out[name] = told(losses, after, uncovered)
    return out


def percent(share):
    return f"{100 * share:.2g} %" if math.isfinite(share) else "not finite"


def table(found):
    """The trainings as a table of Markdown."""
    yield "| distance from FP32, loss at last | " + " | ".join(found) + " |"
    yield "|---|" + "---:|" * len(found)
    for name in dict.fromkeys(name for runs in found.values() for name in runs):
        cells = [f"{percent(run['distance'])}, {sum(run['losses'][-AT_LAST:]) / len(run['losses'][-AT_LAST:]):.3f}"
                 for run in (runs[name] for runs in found.values())]
        yield f"| {name} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=SETTINGS)
    parser.add_argument("--torch-threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(given.torch_threads)
    found = {model: trainings(model, given.steps, given.settings) for model in given.models}
    if given.json:
        json.dump(found, sys.stdout)
        return
    print(f"{given.steps} steps, torch {torch.__version__}")
    print("\n".join(table(found)))
    left = {what for runs in found.values() for run in runs.values() for what in run["uncovered"]}
    print("not emulated: " + ("; ".join(sorted(left)) or "nothing"))


if __name__ == "__main__":
    main()
