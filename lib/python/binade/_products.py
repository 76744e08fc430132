# SPDX-License-Identifier: Apache-2.0
"""The documents of the functions about matrix products: accounts, validations, explanations, identifications and proposals."""
import os

from . import _binade
from ._documents import Document, clipped, page, table, text


def share(x):
    """Returns a share as text: "0.12 %" for 0.0012."""
    return "–" if x is None else "0" if x == 0 else f"{100 * x:.3g} %"


def whole_text(x, title="as text"):
    return f"<details><summary>{text(title)}</summary><pre>{text(clipped(x))}</pre></details>"


def written(path, kinds):
    """Writes a file of the kind that the ending of its path names. kinds: {ending: function that returns the text}."""
    name = os.fsdecode(path)
    ending = os.path.splitext(name)[1].lower()
    if ending not in kinds:
        raise ValueError(f"{name!r}: cannot tell what to write; name it {' or '.join(kinds)}")
    _binade._write_whole(path, kinds[ending]())


class GemmAccount(Document):
    """The account of a product's losses: which error each rule of the Tensor Core made; account() makes it."""

    def to_html(self):
        """Returns the page that `binade gemm --account x.html` writes, which loads nothing else."""
        return _binade._account_html(self._json)

    def save(self, path):
        """Writes the account as .html, .json or .txt, by the ending of the path. Raises ValueError for other endings."""
        written(path, {".html": self.to_html, ".json": self.to_json, ".txt": self.__str__})

    def _repr_html_(self):
        x = self.to_dict()
        where = f" on {x['device']}" if x["device"] else ""
        title = f"{x['instruction']}{where}: {x['m']} × {x['n']} × {x['k']}, {x['order']}"
        rules = [row for row in x["rules"] if row["steps"] not in (0, "0")]
        rows = [[row["meaning"], f"{int(row['steps']):,}", f"{int(row['cut']):,}",
                 share(int(row["cut"]) / int(row["steps"])), f"{row['lost']['value']:.4g}", share(row["of_products"])]
                for row in rules]
        error = (f"{int(x['elements']):,} elements, {int(x['exact']):,} exact. The error is "
                 f"{share(x['error_of_exact'])} of Σ|exact d| and {share(x['error_of_products'])} of Σ|a·b|.")
        return page(table(("rule", "steps", "cut", "of steps", "Σ|lost|", "of Σ|a·b|"), rows, title),
                    f"<p>{text(error)}</p>", whole_text(str(self)))


class Validation(Document):
    """The comparison of a kernel's bits with a model's, for a whole product or rows of dot products; validate() makes it."""

    @property
    def elements(self):
        """How many elements of D, or rows, were compared."""
        x = self.to_dict()
        return x["elements"] if "elements" in x else x["rows"]

    @property
    def different(self):
        """How many of the compared elements differ."""
        x = self.to_dict()["different"]
        return x["count"] if isinstance(x, dict) else x

    @property
    def undecided(self):
        """How many elements agree without being decided: what they are depends on the steps of an activation such as gelu."""
        return self.to_dict().get("undecided", 0)

    @property
    def equal(self):
        """Whether every bit of every element is equal; behind an activation such as gelu, of those that are decided, nine of ten."""
        return self.different == 0 and 10 * self.undecided <= self.elements

    @property
    def differences(self):
        """The first elements that differ, as dicts: where they are, the bits given and emulated, and the distance in ulp."""
        x = self.to_dict()
        return x["different"]["first"] if isinstance(x["different"], dict) else x["differences"]

    def _repr_html_(self):
        x = self.to_dict()
        title = " ".join(filter(None, (x.get("architecture"), x["instruction"], x.get("options"))))
        counts = f"{self.elements:,} compared: every one equal" if self.equal else f"{self.elements:,} compared, {self.different:,} different"
        if self.undecided:
            counts = f"{self.elements:,} compared, {self.different:,} different, {self.undecided:,} not decided"
        parts = [table(("kernel", "bits"), [[title, counts]])]
        if self.differences:
            keys = list(self.differences[0])
            parts.append(table([key.replace("_", " ") for key in keys],
                               [["–" if row[key] is None else row[key] for key in keys] for row in self.differences],
                               "the first that differ", 100))
        return page(*parts, whole_text(str(self)))


class Explanation(Document):
    """One sum, step by step; explain() makes it."""

    def __init__(self, text, json, svg, no_svg):
        super().__init__(text, json)
        self._svg, self._no_svg = svg, no_svg

    def to_svg(self):
        """Returns a drawing (SVG) of the requested block, or of the one that loses most. Raises ValueError if the sum has none."""
        if not self._svg:
            raise ValueError(self._no_svg)
        return self._svg

    def save(self, path):
        """Writes the explanation as .svg, .json or .txt, by the ending of the path. Raises ValueError for other endings."""
        written(path, {".svg": self.to_svg, ".json": self.to_json, ".txt": self.__str__})

    def _repr_svg_(self):
        return self._svg or None

    def _repr_html_(self):
        x = self.to_dict()

        def row(name, key):
            value = x[key]
            if value is None:
                return None
            return [name, value.get("bits", ""), shortened(value["exact"]), approximate(value)]

        kinds = (("the model", "result"), ("the hardware", "hardware"), ("exactly", "exact"),
                 ("the model's error", "error"), ("the same in ulp", "error_ulp"))
        rows = [line for line in (row(*kind) for kind in kinds) if line]
        causes = [[f"lost by {cause}", "", shortened(value["exact"]), approximate(value)]
                  for cause, value in (x["errors"] or {}).items() if value["double"] != 0]
        where = f" on {x['architecture']}" if x["architecture"] else ""
        drawn = self._svg[self._svg.find("<svg"):] if len(self._svg) <= 120_000 else ""
        told = whole_text(str(self), "step by step")
        title = f"{x['instruction']}{where}: {len(x['a'])} products"
        return page(table(("", "bits", "value", ""), rows + causes, title), drawn, told)


def shortened(exact):
    return exact if len(exact) <= 40 else ""


def approximate(value):
    return value["exact"] if value["double"] is None else f"{value['double']:.6g}"


class Identification(Document):
    """The models that explain every bit of what a kernel gave; identify() makes it."""

    def __init__(self, text, json, models, found):
        super().__init__(text, json)
        self._models, self._found = tuple(models), found

    @property
    def models(self):
        """The models as a list of GemmModels, the simplest first."""
        return list(self._models)

    @property
    def conclusion(self):
        """How many models explain every bit: "none", "unique", "several"; "open" if the time ended while some agreed."""
        return self.to_dict()["conclusion"]

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __getstate__(self):  # what propose needs stays in the process
        return {**self.__dict__, "_found": None}

    def _repr_html_(self):
        x = self.to_dict()
        title = {"none": "No model explains every bit", "unique": "One model explains every bit",
                 "several": f"{x['explaining']:,} models explain every bit; propose() tells them apart",
                 "open": f"The time ended; {len(x['open']):,} models or more agree so far"}
        parts = []
        if x["explain"]:
            rows = [model_row(row) for row in x["explain"]]
            parts.append(table(("model", "order", "architectures", "evidence"), rows, most=100))
        happened = [[row["words"], f"{row['equal']:,} of {row['elements']:,}" if row["elements"] else ""]
                    for row in x["hypotheses"]]
        if happened:
            parts.append(table(("what may have happened", "equal"), happened, most=100))
        rejected = [[row["command"].removeprefix("binade gemm "), f"{row['equal']:,} of {row['compared']:,}"]
                    for row in x["rejected"]]
        if rejected:
            parts.append(table(("nearest of the others", "equal"), rejected, most=100))
        looked_at = f"of {x['models']:,}; {x['elements']:,} elements"
        head = f"<p><b>{text(title[x['conclusion']])}</b> <span class=dim>{looked_at}</span></p>"
        return page(head, *parts, whole_text(str(self)))


def model_row(row):
    first = row["instructions"][0]
    others = len(row["instructions"]) - 1
    name = first["instruction"] + (f" and {others} more of the same" if others else "")
    known = {sm for one in row["instructions"] for sm in one["architectures"]}
    architectures = sorted(known, key=lambda sm: int(sm[3:]))
    return [name, row["order"], ", ".join(architectures) or "any: a chain", first["evidence"]]


class ConverterCheck(Document):
    """The rules that explain every code that a converter gave; check() makes it."""

    @property
    def conclusion(self):
        """How many rules explain every code: "none", "unique" or "several"."""
        return self.to_dict()["conclusion"]

    @property
    def rules(self):
        """The rules that explain every finite number, in words, the simplest first."""
        return [row["words"] for row in self.to_dict()["explain"]]

    @property
    def differences(self):
        """The first elements that the nearest rule does not explain, as dicts; empty if a rule explains all."""
        nearest = self.to_dict()["nearest"]
        return nearest["first"] if nearest else []

    def _repr_html_(self):
        x = self.to_dict()
        title = {"none": "No rule explains every code", "unique": "One rule explains every code",
                 "several": "These inputs do not tell the rules apart"}[x["conclusion"]]
        head = f"<p><b>{text(title)}</b> <span class=dim>{x['elements']:,} elements, {text(x['from'])} to {text(x['to'])}</span></p>"
        rows = [[row["name"], row["value"] or f"not decided: {row['open']}"] for row in x["attributes"]]
        told = [[f"{h['equal']:,} of {h['elements']:,}" if h["elements"] else "", h["words"]] for h in x["hypotheses"]]
        parts = [table(("attribute", "value"), rows, "; ".join(self.rules[:1]))] if rows else []
        parts += [table(("elements", "hypothesis"), told)] if told else []
        return page(head, *parts, whole_text(str(self)))


class ScaleIdentification(Document):
    """The scale rules that explain every bit of a block quantizer; identify_scales() makes it."""

    @property
    def conclusion(self):
        """How many rules explain every scale and every code: "none", "unique" or "several"; of a stack, that of the worst tensor."""
        each = {one["conclusion"] for one in self.to_dict()["tensors"]}
        return next(word for word in ("none", "several", "unique") if word in each)

    @property
    def rules(self):
        """The names of the rules that do, in groups that no block tells apart; of a stack, of those that do of every tensor."""
        x = self.to_dict()
        if len(x["tensors"]) > 1:
            return [x["rules"]] if x["rules"] else []
        return [row["rules"] for row in x["tensors"][0]["explain"]]

    @property
    def hypotheses(self):
        """What may have happened if none does, as dicts with words and shares."""
        return [one for tensor in self.to_dict()["tensors"] for one in tensor["hypotheses"]]

    def _repr_html_(self):
        tensors = self.to_dict()["tensors"]
        x = next((one for one in tensors if one["conclusion"] == "none"), tensors[0])
        title = {"none": "No rule explains every scale and every code", "unique": "One rule explains every scale and every code",
                 "several": "These numbers do not tell the rules apart"}[x["conclusion"]]
        rows = [[", ".join(row["rules"]), row["reading"]["format"], row["reading"]["axis"], row["reading"]["scale_layout"],
                 ", ".join(row["roundings"])] for row in x["explain"]]
        told = [[f"{h['equal']:,} of {h['of']:,} {h['what']}", h["words"]] for h in x["hypotheses"]]
        parts = [table(("rules", "format", "axis", "scales", "rounding"), rows)] if rows else []
        parts += [table(("equal", "hypothesis"), told)] if told else []
        return page(f"<p><b>{text(title)}</b></p>", *parts, whole_text(str(self)))


class Proposal(dict):
    """The arrays of the next run of a kernel, by name; propose() makes it.

    models: how many models were held against each other. pairs: how many pairs of models these are. inseparable: the pairs that
    these arrays do not distinguish, as places in .models of the identification.
    """

    def __init__(self, arrays, models, pairs, inseparable):
        super().__init__(arrays)
        self.models, self.pairs, self.inseparable = models, pairs, inseparable

    def __reduce__(self):
        return Proposal, (dict(self), self.models, self.pairs, self.inseparable)
