# SPDX-License-Identifier: Apache-2.0
"""What watching costs: processor time of training steps of the transformer of notebook 04, watched and not, in turns.

    BINADE_THREADS=1 PYTHONPATH=build/lib/python PYTHON tests/bench/watch_cost.py [--rounds N]

PYTHON has torch. One thread. Each round takes a few steps of every kind, so that what else the machine does falls on all of
them; of each kind the median step is told, over that of steps that nobody watches.
"""
import argparse
import json
import pathlib
import statistics
import time

import torch

import binade.torch

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "notebooks/04_your_own_model.ipynb"
LOOKED_AT = "not counted, looked at for Inf and NaN"
COUNTED = "counted"
KINDS = {  # options of watch()
    LOOKED_AT: {"every": 10**9},
    COUNTED: {"every": 1},
    "counted, not looked at": {"every": 1, "nonfinite": False},
    "counted with squared errors": {"every": 1, "sqnr": True},
}
STEPS = 4  # of a kind in a round


def model_of_the_notebook():
    """What its cell "model" defines."""
    cell = next(cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["id"] == "model")
    names = {}
    exec("".join(cell["source"]), names)
    return names


def loop(model, optimizer, config, steps):
    """Processor times of steps, on data that need not mean anything."""
    x = torch.randint(0, config["vocabulary"], (config["batch"], config["context"] + 1))
    times = []
    for _ in range(steps):
        begun = time.process_time()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()).backward()
        optimizer.step()
        times.append(time.process_time() - begun)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    torch.manual_seed(0)
    names = model_of_the_notebook()
    config = names["CONFIG"]
    model = names["GPT"](config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    watches = {kind: binade.torch.watch(model, optimizer, scaler=None, **options) for kind, options in KINDS.items()}
    times = {kind: [] for kind in ("alone", *KINDS)}
    for watch in watches.values():
        with watch:
            loop(model, optimizer, config, 1)  # step 0 is counted whatever `every` says
    for _ in range(rounds):
        times["alone"] += loop(model, optimizer, config, STEPS)
        for kind, watch in watches.items():
            with watch:
                times[kind] += loop(model, optimizer, config, STEPS)
    median = {kind: statistics.median(values) for kind, values in times.items()}
    alone = median.pop("alone")
    print(f"torch {torch.__version__}, {sum(p.numel() for p in model.parameters()):,} parameters, a step {alone * 1e3:.0f} ms")
    for kind, value in median.items():
        print(f"{kind:<45}{value / alone - 1:7.1%}")
    print(f"{'every=50: one counted, 49 looked at':<45}{(median[COUNTED] + 49 * median[LOOKED_AT]) / 50 / alone - 1:7.1%}")


if __name__ == "__main__":
    main()
