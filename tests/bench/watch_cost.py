# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of watching: processor time of training steps of the transformer of notebook 04, of 1.9 million parameters,
watched and not, in turns.

    BINADE_THREADS=1 PYTHONPATH=build/lib/python PYTHON tests/bench/watch_cost.py [--rounds N]

PYTHON has torch. One thread. A round takes a step of every kind, in random order, so that what else the machine does falls on
all of them; of each kind the median of the rounds is told, of its step over the one that nobody watches, and the standard error
of that median.
"""
import argparse
import contextlib
import json
import math
import pathlib
import random
import statistics
import time

import torch

import binade.torch

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "notebooks/04_your_own_model.ipynb"
CONFIG = {"vocabulary": 256, "context": 128, "batch": 16, "layers": 4, "width": 192, "heads": 6}  # larger than the notebook's
HOOKED = "not counted, not looked at"
LOOKED_AT = "not counted, looked at for Inf and NaN"
COUNTED = "counted"
ALONE = "alone"
KINDS = {  # options of watch()
    HOOKED: {"every": 10**9, "nonfinite": False},
    LOOKED_AT: {"every": 10**9},
    COUNTED: {"every": 1},
    "counted, not looked at": {"every": 1, "nonfinite": False},
    "counted with squared errors": {"every": 1, "sqnr": True},
}


def model_of_the_notebook():
    """The class GPT that its cell "model" defines."""
    cell = next(cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["id"] == "model")
    names = {}
    exec("".join(cell["source"]), names)
    return names["GPT"]


def step(model, optimizer):
    """The processor time of a step, on data that need not mean anything."""
    x = torch.randint(0, CONFIG["vocabulary"], (CONFIG["batch"], CONFIG["context"] + 1))
    begun = time.process_time()
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()).backward()
    optimizer.step()
    return time.process_time() - begun


def two_steps(watch, *loop):
    """The time of the second: the first finds other tensors in memory than its kind leaves there."""
    with watch:
        step(*loop)
        return step(*loop)


def median_of(values):
    """And its standard error, from the distance of the quartiles, as of a normal distribution."""
    first, median, third = statistics.quantiles(values, n=4)
    return median, 1.2533 * (third - first) / 1.349 / math.sqrt(len(values))


def told(kind, excess, error):
    print(f"{kind:<45}{excess:7.1%} ± {error:.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = model_of_the_notebook()(CONFIG)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    watches = {kind: binade.torch.watch(model, optimizer, scaler=None, **options) for kind, options in KINDS.items()}
    watches[ALONE] = contextlib.nullcontext()
    for watch in watches.values():
        two_steps(watch, model, optimizer)  # step 0 is counted whatever `every` says
    times = {kind: [] for kind in watches}
    for _ in range(rounds):
        for kind in random.sample(list(watches), len(watches)):
            times[kind].append(two_steps(watches[kind], model, optimizer))
    excess = {kind: [x / alone - 1 for x, alone in zip(times[kind], times[ALONE])] for kind in KINDS}
    print(f"torch {torch.__version__}, {sum(p.numel() for p in model.parameters()):,} parameters, {rounds} rounds, "
          f"a step {statistics.median(times[ALONE]) * 1e3:.0f} ms")
    for kind in KINDS:
        told(kind, *median_of(excess[kind]))
    told("the look for Inf and NaN alone", *median_of([x - y for x, y in zip(excess[LOOKED_AT], excess[HOOKED])]))
    told("every=50: one counted, 49 looked at", *median_of([(x + 49 * y) / 50 for x, y in zip(excess[COUNTED], excess[LOOKED_AT])]))


if __name__ == "__main__":
    main()
