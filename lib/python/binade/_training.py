# SPDX-License-Identifier: Apache-2.0
"""The documents of the functions about training: trainings, sweeps, experiments, autocast and advice."""
import math
from typing import NamedTuple

from ._documents import Document, cell, page, table, text

MOST_ROWS = 400  # of all tables of a page


class Step(NamedTuple):
    """What a step of a training gave, as on_step of train() gets it.

    step: its number from 1. of: the number of all steps. loss, scale: loss and loss scale of the step. skipped: whether the
    optimizer did not step. updates_lost: how many weights' updates changed nothing that is kept of the weight. updates_not_shown:
    how many are only in a master weight or Kahan's sum, while the model's weight did not change.
    """

    step: int
    of: int
    loss: float
    scale: float
    skipped: bool
    updates_lost: int
    updates_not_shown: int


class ExperimentRow(NamedTuple):
    """An experiment: its name, the question that it asks, and what is expected as the answer."""

    name: str
    question: str
    hypothesis: str


class LossScalerRow(NamedTuple):
    """A policy of LossScaler. parameters: what can be set, with the defaults; None for a limit that the framework
    does not have."""

    name: str
    source: str
    parameters: dict
    looks_at_gradients: bool


def curve(title, values, logarithmic=False):
    """Returns an SVG of numbers over the steps, with gaps where a number is not finite."""
    shown = [math.log2(y) if logarithmic and y else y for y in (x if x is None or x > 0 or not logarithmic else None
                                                                for x in values)]
    finite = [y for y in shown if y is not None]
    if len(finite) < 2:
        return ""
    low, high = min(finite), max(finite)
    every = max(1, len(shown) // 600)
    parts, begins = [], True
    for i in range(0, len(shown), every):
        if shown[i] is None:
            begins = True
            continue
        x = 4 + 472 * i / max(1, len(shown) - 1)
        y = 74 - 68 * ((shown[i] - low) / (high - low) if high > low else 0.5)
        parts.append(f"{'M' if begins else 'L'}{x:.1f} {y:.1f}")
        begins = False
    ends = [f"{2.0**y if logarithmic else y:.6g}" for y in (low, high)]
    words = " to ".join(ends) if high > low else f"{ends[0]} throughout"
    return (f'<p class="dim">{text(title)}: {words}</p>'
            '<svg viewBox="0 0 480 80" width="480" height="80" role="img">'
            f'<title>{text(title)}</title><path d="{" ".join(parts)}" fill="none" stroke="currentColor"/></svg>')


def shown_cell(x):
    return ("yes" if x else "no") if isinstance(x, bool) else cell(x)


class Training(Document):
    """A training: its settings, its results, and every step; train() makes it."""

    def _repr_html_(self):
        data = self.to_dict()
        rows = [[key, shown_cell(value)] for key, value in data["result"].items() if not isinstance(value, dict | list)]
        caption = ", ".join(f"{key} {value}" for key, value in data["settings"].items())
        steps = data.get("steps", [])
        return page(table(["result", ""], rows, caption), curve("loss by step", [step["loss"] for step in steps]),
                    curve("loss scale by step", [step["scale"] for step in steps], logarithmic=True))


class Sweep(Document):
    """The table of a sweep: a row for each run, with the settings that vary and then the results; sweep() makes it."""

    def _repr_html_(self):
        data = self.to_dict()
        rows = [[shown_cell(x) for x in row] for row in data["rows"]]
        return page(table(data["columns"], rows, data["name"]))


class ExperimentAnswer(Document):
    """An experiment: what it asked, what was expected, and what it measured; experiment() makes it."""

    def _repr_html_(self):
        run = self.to_dict()["results"][0]
        parts = [f"<p><b>{text(run['experiment'])}</b>: {text(run['question'])}</p>",
                 f"<p class=\"dim\">expected: {text(run['hypothesis'])}</p>",
                 f"<p>{text(run['status'].replace('_', ' '))}: {text(run['verdict'])}</p>"]
        left = MOST_ROWS
        for one in reversed(run["tables"]):  # the last is that of the figures
            parts.append(table(one["columns"], one["rows"], one["title"], left))
            left = max(0, left - len(one["rows"]))
        return page(*parts)


class AutocastTable(Document):
    """In which dtype ops run under autocast; autocast() makes it."""

    def _repr_html_(self):
        data = self.to_dict()
        cases = [", ".join(case["inputs"]) for case in data["ops"][0]["cases"]]
        rows = []
        for op in data["ops"]:
            runs = ["refused" if case["refused"] else case["runs_in"] + ("*" if case["inputs_differ"] else "")
                    for case in op["cases"]]
            rows.append([op["op"], op["rule"], *runs, op["source"] or "–"])
        where = data["device"] or "Apex's O1"
        notes = [f'<p class="dim">{text(note)}</p>' for op in data["ops"] for note in op["notes"]]
        differ = any("*" in x for row in rows for x in row[2:-1])
        star = '<p class="dim">*: inputs of two dtypes reach the op</p>' if differ else ""
        return page(table(["op", "rule", *cases, "source"], rows, f"autocast on {where} to {data['dtype']}"), star, *notes)


class Advice(Document):
    """Memory of training modes, and sizes of layers on Tensor Cores; advise() makes it."""

    def _repr_html_(self):
        data = self.to_dict()
        modes = data["modes"]
        bytes_of = list(modes[0]["bytes_per_parameter"])
        others = [key for key in ("state", "activations", "together", "most_parameters", "largest_batch") if key in modes[0]]
        rows = [[mode["mode"], *(cell(mode["bytes_per_parameter"][key]) for key in bytes_of),
                 *(amount(mode[key], key) for key in others)] for mode in modes]
        parts = [table(["mode", *bytes_of, *(key.replace("_", " ") for key in others)], rows,
                       f"bytes per parameter, training with {data['optimizer']}")]
        if "layers" in data:
            rows = [[layer["name"], name, *(size(product[key]) for key in "mnk"), f"{100 * product['padding']:.2f} %"]
                    for layer in data["layers"] for name, product in layer["products"].items()]
            parts.append(table(["layer", "product", "m", "n", "k", "padding"], rows,
                               f"{data['format']} on {data['architecture']}, multiples of {data['alignment']}"))
        return page(*parts)


def amount(x, key):
    if x is None or key in ("most_parameters", "largest_batch"):
        return cell(x) if x is None or x < 10**6 else f"{x:.3g}"
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if x >= unit:
            return f"{x / unit:.4g} {name}"
    return f"{x} B"


def size(x):
    return str(x["size"]) if x["size"] == x["aligned"] else f"{x['size']} → {x['aligned']}"
