# SPDX-License-Identifier: Apache-2.0
"""Writes a made-up training run: a file of gradients for every step, in .safetensors byte by byte, with magnitudes like those of
real gradients. Each layer's scale drifts over the steps, falls with depth and differs by role; some values are zero.

    python made_run.py --layers 1000 --steps 200 --roles dAct,dW --values 64-512 --seed 1 FOLDER

makes FOLDER/step000000.safetensors, … of tensors step000000/blocks.0/dAct, … in float32. Equal arguments give equal bytes.
"""
import argparse
import json
import struct
from pathlib import Path

import numpy as np

# log2 of a role's usual magnitude, and how many of its values are zero.
ROLES = {"act": (0, 0.3), "dAct": (-18, 0.3), "weight": (-5, 0), "dW": (-13, 0.02), "update": (-15, 0.02), "state": (-26, 0)}


def safetensors(tensors):
    header, end = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [end, end + values.nbytes]}
        end += values.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(values.tobytes() for values in tensors.values())


def sizes(layers, roles, values, random):
    """Values of each layer and role, the same in every step; a weight and its update have as many."""
    least, most = values
    drawn = {(layer, role): int(random.integers(least, most + 1)) for layer in range(layers) for role in roles}
    return {key: drawn.get((key[0], "weight"), n) if key[1] == "update" else n for key, n in drawn.items()}


def write_run(folder, layers, steps, roles=("dAct", "dW"), values=(64, 512), seed=1):
    """The files' paths."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    size = sizes(layers, roles, values, random)
    total = sum(size.values())
    ends = np.cumsum(list(size.values()))
    level = np.array([ROLES[role][0] - 6 * layer / layers + random.normal() for layer, role in size])
    zero = np.repeat([ROLES[role][1] for _, role in size], list(size.values()))
    paths = []
    for step in range(steps):
        level += 0.1 * random.normal(size=len(level)) - 4 / steps
        scale = np.repeat(np.exp2(level).astype(np.float32), list(size.values()))
        spread = np.exp2(2 * random.standard_normal(total, dtype=np.float32))
        flat = random.standard_normal(total, dtype=np.float32) * spread * scale
        flat[random.random(total, dtype=np.float32) < zero] = 0
        parts = np.split(flat, ends[:-1])
        named = {f"step{step:06}/blocks.{layer}/{role}": part for (layer, role), part in zip(size, parts)}
        paths.append(folder / f"step{step:06}.safetensors")
        paths[-1].write_bytes(safetensors(named))
    return paths


def interval(text):
    least, _, most = text.partition("-")
    return int(least), int(most or least)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--roles", type=lambda text: text.split(","), default=["dAct", "dW"], help=", ".join(ROLES))
    parser.add_argument("--values", type=interval, default=(64, 512), help="of a tensor, from-to")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    write_run(arguments.folder, arguments.layers, arguments.steps, arguments.roles, arguments.values, arguments.seed)
