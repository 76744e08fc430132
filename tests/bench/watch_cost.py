# SPDX-License-Identifier: Apache-2.0
"""What watching costs: processor time of a training step of the transformer of notebook 04, watched and not, in turns.

    BINADE_THREADS=1 PYTHONPATH=build/lib/python PYTHON tests/bench/watch_cost.py [--rounds N]

PYTHON has torch. One thread. A row a way of watching: its steps' time over that of as many steps that nobody watches, the
median over the rounds, each of which measures all rows.
"""
import argparse
import json
import pathlib
import statistics
import time

import torch

import binade.torch

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "notebooks/04_your_own_model.ipynb"
ROWS = {  # steps before those that are timed, steps a round, options of watch()
    "every=1": (0, 6, {"every": 1}),
    "every=1, without the look for Inf and NaN": (0, 6, {"every": 1, "nonfinite": False}),
    "every=1, with squared errors": (0, 6, {"every": 1, "sqnr": True}),
    "every=50": (0, 50, {"every": 50}),
    "the look for Inf and NaN alone": (1, 49, {"every": 50}),
}


def model_of_the_notebook():
    """What its cell "model" defines."""
    cell = next(cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["id"] == "model")
    names = {}
    exec("".join(cell["source"]), names)
    return names


def loop(model, optimizer, config, steps):
    """Processor time of the steps, on data that need not mean anything."""
    x = torch.randint(0, config["vocabulary"], (config["batch"], config["context"] + 1))
    begun = time.process_time()
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()).backward()
        optimizer.step()
    return time.process_time() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    torch.manual_seed(0)
    names = model_of_the_notebook()
    config = names["CONFIG"]
    model = names["GPT"](config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    loop(model, optimizer, config, 2)
    ratios, plain = {name: [] for name in ROWS}, []
    for _ in range(rounds):
        for name, (before, steps, options) in ROWS.items():
            alone = loop(model, optimizer, config, steps)
            with binade.torch.watch(model, optimizer, scaler=None, **options):
                loop(model, optimizer, config, before)
                ratios[name].append(loop(model, optimizer, config, steps) / alone - 1)
            plain.append(alone / steps)
    print(f"torch {torch.__version__}, {sum(p.numel() for p in model.parameters()):,} parameters, a step {statistics.median(plain) * 1e3:.0f} ms")
    for name, values in ratios.items():
        print(f"{name:<45}{statistics.median(values):7.1%}   ({min(values):.1%} … {max(values):.1%})")


if __name__ == "__main__":
    main()
