#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small network on real digits with PyTorch and keeps some of its real gradients.

The network is 64-128-128-10 with ReLU; the loss is the mean cross-entropy of a batch of 128. It is
trained in float32 on the CPU for 400 epochs of 11 full batches, 4400 steps. At one step early, one
in the middle and the last, every gradient of the backward pass goes into the file. Gradients shrink
as the loss does, so the three steps are an easy, a hard and a harder case for binary16.

    make_digits_gradients.py                  train, write digits_gradients.safetensors
    make_digits_gradients.py --output FILE    train, write FILE
    make_digits_gradients.py --describe       print the README's table; needs no PyTorch
"""

import argparse
import gzip
import json
import os
import pathlib
import struct

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
COMMITTED = HERE / "digits_gradients.safetensors"
SEED = 0
BATCH = 128
EPOCHS = 400
TRAIN = 1437  # of 1797 images; the other 360 measure the accuracy. 1437 // 128 = 11 full batches
PHASES = {44: "early", 2200: "middle", 4399: "last"}  # steps count from 0


def read_digits():
    """1797 rows of 64 pixels in 0..16 and the digit they show."""
    with gzip.open(HERE / "digits.csv.gz", "rt") as file:
        rows = np.loadtxt(file, delimiter=",", dtype=np.float32)
    return rows[:, :64] / 16, rows[:, 64].astype(np.int64)  # (1797, 64) in 0..1, (1797,)


def train():
    """Returns the gradients as {name: float32 array} and what is to be known about them."""
    # PyTorch picks its loops by CPU; the plain ones make the bits depend less on the machine.
    os.environ.setdefault("ATEN_CPU_CAPABILITY", "default")
    import torch
    from torch.nn.functional import cross_entropy, relu

    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)

    images, labels = (torch.from_numpy(array) for array in read_digits())
    order = torch.randperm(len(images))
    train_set, test_set = order[:TRAIN], order[TRAIN:]

    fc1, fc2, fc3 = torch.nn.Linear(64, 128), torch.nn.Linear(128, 128), torch.nn.Linear(128, 10)
    layers = {"fc1": fc1, "fc2": fc2, "fc3": fc3}
    parameters = [p for layer in layers.values() for p in layer.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)

    gradients, losses, step = {}, {}, 0
    for epoch in range(EPOCHS):
        shuffled = train_set[torch.randperm(TRAIN)]
        for first in range(0, TRAIN - BATCH + 1, BATCH):
            batch = shuffled[first : first + BATCH]

            z1 = fc1(images[batch])  # (128, 128)
            h1 = relu(z1)
            z2 = fc2(h1)  # (128, 128)
            h2 = relu(z2)
            logits = fc3(h2)  # (128, 10)
            loss = cross_entropy(logits, labels[batch])  # the mean over the batch

            # Backward reaches them in the order logits, h2, z2, h1, z1. The gradients of h2 and h1
            # come out of a matrix product; those of z2 and z1 are the same, or 0 where z <= 0.
            inner = {
                "fc1.preactivation": z1, "fc1.activation": h1,
                "fc2.preactivation": z2, "fc2.activation": h2,
                "logits": logits,
            }  # fmt: skip
            for tensor in inner.values():
                tensor.retain_grad()
            optimizer.zero_grad()
            loss.backward()

            if step in PHASES:
                phase = PHASES[step]
                losses[phase] = loss.item()
                for name, layer in layers.items():
                    gradients[f"{phase}/{name}.weight.grad"] = layer.weight.grad.numpy().copy()
                    gradients[f"{phase}/{name}.bias.grad"] = layer.bias.grad.numpy().copy()
                for name, tensor in inner.items():
                    gradients[f"{phase}/{name}.grad"] = tensor.grad.numpy().copy()

            optimizer.step()
            step += 1
        if epoch % 40 == 39:
            print(f"epoch {epoch + 1:3}  step {step:4}  loss {loss.item():.3e}", flush=True)

    with torch.no_grad():
        guess = fc3(relu(fc2(relu(fc1(images[test_set]))))).argmax(dim=1)
    right = int((guess == labels[test_set]).sum())
    accuracy = f"{right} of {len(test_set)} test images = {100 * right / len(test_set):.2f} %"
    print(f"accuracy {accuracy}")

    metadata = {
        "script": "experiments/data/make_digits_gradients.py",
        "torch": torch.__version__,
        "model": "MLP 64-128-128-10, ReLU, mean cross-entropy, float32",
        "optimizer": f"SGD, lr 0.1, momentum 0.9, batch {BATCH}",
        "seed": str(SEED),
        "steps": str(step),
        "phases": ", ".join(f"{phase} = step {at}" for at, phase in PHASES.items()),
        "loss": ", ".join(f"{phase} {value:.6g}" for phase, value in losses.items()),
        "accuracy": accuracy,
        "data": "Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak (1998), UCI, "
        "https://doi.org/10.24432/C50P49, CC BY 4.0",
        "license": "Apache-2.0; the training data are under CC BY 4.0",
    }
    return gradients, metadata


def write_safetensors(path, tensors, metadata):
    """u64 header length, JSON header padded with spaces to 8 bytes, then the raw values."""
    header, offset = {"__metadata__": metadata}, 0
    for name, array in tensors.items():
        end = offset + array.nbytes
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    data = b"".join(array.astype("<f4").tobytes() for array in tensors.values())
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_bytes(struct.pack("<Q", len(text)) + text + data)
    unfinished.replace(path)


def read_safetensors(path):
    """{name: float32 array}, in the order of the file's header."""
    blob = path.read_bytes()
    start = 8 + struct.unpack("<Q", blob[:8])[0]
    header = json.loads(blob[8:start])
    header.pop("__metadata__")
    return {
        name: np.frombuffer(blob[start:], "<f4")[slice(*(o // 4 for o in row["data_offsets"]))]
        .reshape(row["shape"])
        for name, row in header.items()
    }  # fmt: skip


def shares(array):
    """Non-zero values, zeros in percent of all values, then three shares in percent of non-zero."""
    x = np.abs(array[array != 0].astype(np.float64))
    band_27_24 = (x >= 2.0**-27) & (x < 2.0**-24)
    rne_zero = x <= 2.0**-25  # the tie 2^-25 goes to even, which is 0
    subnormal = (x > 2.0**-25) & (x < 2.0**-14 - 2.0**-25)  # from there up the result is normal
    of_nonzero = [100 * share.mean() for share in (band_27_24, rne_zero, subnormal)]
    return x.size, 100 * (1 - x.size / array.size), *of_nonzero


def describe(tensors):
    """A Markdown row per tensor and one for all of them; a cell holds early / middle / last."""
    names = [name.split("/")[1] for name in tensors if name.startswith("last/")]
    for phase in PHASES.values():
        parts = [tensors[f"{phase}/{name}"].ravel() for name in names]
        tensors[f"{phase}/all"] = np.concatenate(parts)
    titles = [f"{name}, % of non-zero" for name in ("band_27_24", "rne_zero", "subnormal")]
    print(f"| tensor | values | non-zero | zeros, % of values | {' | '.join(titles)} |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name in [*names, "all"]:
        columns = zip(*(shares(tensors[f"{phase}/{name}"]) for phase in PHASES.values()))
        nonzero, *percent = columns  # each (early, middle, last)
        cells = [" / ".join(map(str, nonzero))]
        cells += [" / ".join(f"{value:.1f}" for value in column) for column in percent]
        print(f"| {name} | {tensors['last/' + name].size} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--describe", action="store_true", help="print the README's table")
    parser.add_argument("--output", type=pathlib.Path, help="write here", default=COMMITTED)
    arguments = parser.parse_args()
    if arguments.describe:
        describe(read_safetensors(COMMITTED))
    else:
        write_safetensors(arguments.output, *train())


main()
