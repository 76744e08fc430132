# SPDX-License-Identifier: Apache-2.0
"""The class Account: which of a model's products a check explained bit for bit, and by what."""
import collections
import dataclasses
import json
import os

from ... import __version__, _binade
from ..._documents import Document
from .explained import explained_text, model_of_words
from .page import page_of

SCHEMA = "binade.torch_check/1"
VERDICTS = {  # and what each says, for people
    "equal": "as the usual instruction alone gives them",
    "explained": "by another order or instruction",
    "different": "not explained",
    "unseen": "not looked at",
}


@dataclasses.dataclass
class Row:
    """An op's products at one place, of one dtype and of operands of one size; `words` say what else it is given, `part` which of
    what it gives is meant. `compared` of `calls` calls were held against `usual`, so many elements, of which so many differ;
    `explained` of the `differing_calls` calls are given bit for bit by `by`. first: some elements that differ."""

    op: str
    dtype: str
    shapes: tuple
    words: str
    part: str
    place: str
    calls: int = 0
    tried: int = 0
    compared: int = 0
    elements: int = 0
    differing: int = 0
    differing_calls: int = 0
    explained: int = 0
    usual: str = ""
    by: str = ""
    order: str = ""
    k_runs_over: str = ""
    conclusion: str = ""
    why: str = ""
    sampled: list = dataclasses.field(default_factory=list)
    first: list = dataclasses.field(default_factory=list)
    recording: str = ""

    @property
    def verdict(self):
        if not self.elements:  # a product without any, too
            return "unseen"
        if not self.differing_calls:
            return "equal"
        return "explained" if self.explained == self.differing_calls else "different"

    @property
    def title(self):
        shapes = " × ".join("(" + ", ".join(map(str, shape)) + ")" for shape in self.shapes)
        return " ".join(filter(None, (self.op, self.part, self.dtype, shapes, f"[{self.words}]" if self.words else "")))

    def add(self, different, given, emulated, usual, told):
        """Adds the outcome of a call: a mask of elements, PyTorch's values and the emulated ones. Returns whether they differ."""
        count = int(different.sum())
        self.compared += 1
        self.elements += different.numel()
        self.differing += count
        self.differing_calls += count > 0
        self.usual = usual
        for at in different.nonzero()[:max(0, told - len(self.first))].tolist():
            values = {name: float(x[tuple(at)].item()).hex() for name, x in (("given", given), ("emulated", emulated))}
            self.first.append({"call": self.compared - 1, "element": at, **values})
        return count > 0

    def explain(self, explaining):
        """Enters what explains the call that was added last, an Explaining."""
        self.explained += explaining.model is not None
        vars(self).update(explaining.to_dict())

    def to_dict(self):
        left = ("tried",)
        return {"verdict": self.verdict, **{key: x for key, x in dataclasses.asdict(self).items() if key not in left}}


class Order(collections.namedtuple("Order", "key words")):
    """Of products with a product_key, the GemmModel of their sums, in words."""


class Account(Document):
    """What tensor_cores(check=True) found, product by product. str() is its text, to_json() its JSON, save_html(path) a page.

    The verdict of a product is "equal" (it has the bits of the usual instruction), "explained" (it has those of another order or
    instruction), "different" (no model explains it) or "unseen" (it was not compared). tensor_cores(order=account) emulates by the
    orders that were found, in this process or in another one that reads them by Account.load("account.json"). to_dict()["notes"]
    names what is compiled when it is not checked, so that its own products were not compared.

    >>> import torch
    >>> import binade.torch
    >>> with binade.torch.tensor_cores("sm_90"), binade.torch.tensor_cores("sm_90", check=True) as mode:
    ...     c = torch.ones(2, 16).half() @ torch.ones(16, 3).half()
    >>> [(row["op"], row["elements"], row["differing"]) for row in mode.account.of("equal")], mode.account.all_explained
    ([('mm', 6, 0)], True)
    """

    def __init__(self, arch, products, uncovered, orders, devices, notes=()):
        x = {"schema": SCHEMA, "binade": __version__, "arch": arch, "devices": devices,
             "products": [row.to_dict() for row in products], "not_compared": [dataclasses.asdict(row) for row in uncovered],
             "orders": [{"product": list(order.key), "command": order.words} for order in orders],
             "notes": list(notes)}
        self._take(x, text_of(x))

    def _take(self, x, told):
        super().__init__(told, json.dumps(x, indent=1) + "\n")
        self._orders = {tuple(order["product"]): model_of_words(order["command"]) for order in x["orders"]}

    @classmethod
    def load(cls, path):
        """Returns the account that save_json() wrote to the file. Raises ValueError if the file holds none."""
        out = cls.__new__(cls)
        with open(path, encoding="utf-8") as file:
            try:
                x = json.load(file)
                if x["schema"] != SCHEMA:
                    raise ValueError(f"its schema is not {SCHEMA}")
                out._take(x, text_of(x))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(f"{os.fspath(path)!r}: no account that save_json wrote: {error}") from None
        return out

    def order_of(self, key):
        """Returns the GemmModel that explains the sums of a product; None if the usual one does, or nothing is known of it."""
        return self._orders.get(tuple(key))

    @property
    def all_explained(self):
        """Whether something was compared, and a model gives every bit of every product that was compared.

        Products that were not compared do not count; of("unseen") and to_dict()["not_compared"] name them."""
        count = counts(self.to_dict())
        return count["different"] == 0 and count["equal"] + count["explained"] > 0

    def of(self, verdict):
        """Returns the products with this verdict, as a list of dicts."""
        return [row for row in self.to_dict()["products"] if row["verdict"] == verdict]

    def save_json(self, path):
        _binade._write_whole(path, self.to_json())

    def save_html(self, path):
        """Writes the account as a page (HTML), which loads nothing else."""
        _binade._write_whole(path, page_of(self.to_dict(), counts(self.to_dict()), VERDICTS))


def counts(x):
    found = collections.Counter(row["verdict"] for row in x["products"])
    return {verdict: found[verdict] for verdict in VERDICTS}


def title_of(row):
    return Row(**{key: row[key] for key in ("op", "dtype", "shapes", "words", "part", "place")}).title


def text_of(x):
    count = counts(x)
    compared = len(x["products"]) - count["unseen"]
    where = ", ".join(f"{d['gpu'] or name} with torch {d['torch']}" for name, d in x["devices"].items()) or "nothing"
    left = [f"{n:,} {words}" for n, words in ((count["unseen"], "not looked at"), (len(x["not_compared"]), "ops not taken apart"))
            if n]
    lines = ["; ".join([f"{x['arch']} against {where}: {count['equal'] + count['explained']} of {compared} products explained "
                        "bit for bit", *left])]
    for verdict, meaning in VERDICTS.items():
        rows = [row for row in x["products"] if row["verdict"] == verdict]
        if rows:
            lines += ["", f"{len(rows)} {meaning}"]
            for row in rows:
                lines += told(row)
    if x["not_compared"]:
        lines += ["", "with products inside, and not taken apart"]
        lines += [f"  {row['op']}: {row['how']}; {row['calls']} calls" for row in x["not_compared"]]
    lines += [f"Note: {note}." for note in x.get("notes", ())]
    return "\n".join(lines) + "\n"


def told(row):
    out = [f"  {title_of(row)}"]
    if row["place"]:
        out.append(f"      {row['place']}")
    of_calls = f"{row['compared']} of {row['calls']} calls compared"
    if row["compared"]:
        of_calls += f", {row['elements']:,} elements, {row['differing']:,} differing from {row['usual']}"
    out.append(f"      {of_calls}")
    if row["by"]:
        out.append(f"      explained by {explained_text(row)}")
    for key in ("conclusion", "why"):
        if row[key]:
            out.append(f"      {row[key]}")
    if row["verdict"] == "different":
        values = [[float.fromhex(x[key]) for key in ("given", "emulated")] for x in row["first"]]
        out += [f"      element {x['element']}: {given:.9g} given, {emulated:.9g} emulated"
                for x, (given, emulated) in zip(row["first"], values)]
    return out
