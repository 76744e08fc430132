# SPDX-License-Identifier: Apache-2.0
"""What was seen inside of layers in all steps: each cause once, with the step that had the most of it."""
import dataclasses

from .exact import ONLY_WHERE

SHOWN = 12  # layers of a list
FEW = 3  # steps from which on what reached no weight is a reason to take another format
HEADS = {"": "No format helps these, which are infinite or undefined at what they got:",
         "may": "Infinite or undefined at what they got, which rounding to FP16 or BF16 may have made (only then FP32 helps):",
         "wide": "Not finite in FP32's own range, so that keeping them in FP32 does not help:"}


@dataclasses.dataclass
class Told:
    """text: what was seen in the step that had the most of it. most: how many values that were. steps: in how many steps it was
    seen. cure: what to do about what no format helps, or FP32 does not; "" of what FP32 does."""

    text: str
    most: int
    steps: int = 1
    cure: str = ""
    is_wide: bool = False  # whether it is for want of range or bits, of which FP32 has no more
    passing: bool = False  # whether what it gave in a backward pass reached no weight
    may: bool = False  # whether a narrow format may have made what it is singular at

    @property
    def is_rare(self):
        """Whether it is no reason for another format: what reached no weight, and came in few steps."""
        return self.passing and self.steps < FEW

    @property
    def words(self):
        return self.text + (f" (the most of {self.steps:,} steps)" if self.steps > 1 and self.most else "")

    def add(self, other):
        self.steps += other.steps
        self.passing &= other.passing
        if other.most > self.most:
            self.text, self.most, self.cure, self.is_wide, self.may = other.text, other.most, other.cure, other.is_wide, other.may


def tell(inside, layer, cause, told):
    """Enters a Told into {layer: {cause: Told}}. cause: what it is, as text without counts and names of layers."""
    of = inside.setdefault(layer, {})
    if cause in of:
        of[cause].add(told)
    else:
        of[cause] = dataclasses.replace(told)


def ill_ranges(run):
    """Returns the layers inside of which was seen what a format with more range or bits would help."""
    return {layer for layer, causes in run._inside.items() if not all(
        told.is_rare or told.cure and not told.is_wide for told in causes.values())}


def with_inside(kept, run):
    """Returns the layers to keep in FP32 with those in which an op overflowed, made NaN or made zero what is not."""
    rows = {row["layer"]: {**row, "reasons": list(row["reasons"])} for row in kept}
    for layer, causes in run._inside.items():
        own = [{"role": "act", "what": "inside", "text": f"inside: {told.words}", "values": told.most, "cause": cause}
               for cause, told in causes.items() if not told.cure and not told.is_rare and not any(
                   told.text in other.text for other in causes.values() if other is not told)]
        if own:
            rows.setdefault(layer, {"layer": layer, "reasons": []})["reasons"] += own
    return list(rows.values())


def no_format(run):
    """Returns a row for each layer and cause that no format helps, or FP32 does not: layer, text, cure, cause, wide, whether FP32
    itself has too little range, and may, whether a narrow format may have made what the op is singular at."""
    return [{"layer": layer, "text": told.words, "cure": told.cure, "cause": cause, "wide": told.is_wide, "may": told.may}
            for layer, causes in run._inside.items() for cause, told in causes.items() if told.cure]


def named(layers):
    more = len(layers) - SHOWN
    return f"in {len(layers)} layers ({', '.join(layers[:SHOWN])}{f' and {more} more' if more > 0 else ''})"


def together(rows):
    """Returns the layers to keep in FP32, for a text: what several have of one cause inside is a row of theirs together."""
    by_cause = {}
    for row in rows:
        for reason in row["reasons"]:
            if "cause" in reason:
                by_cause.setdefault(reason["cause"], []).append((row["layer"], reason))
    shared = {cause: of for cause, of in by_cause.items() if len(of) > 1}
    out = []
    for of in shared.values():
        layer, worst = max(of, key=lambda pair: pair[1]["values"])
        more = f"; most in {layer}" if worst["values"] else ""
        out.append({"layer": named([layer for layer, _ in of]), "reasons": [{**worst, "text": worst["text"] + more}]})
    own = [{**row, "reasons": [reason for reason in row["reasons"] if reason.get("cause") not in shared]} for row in rows]
    return out + [row for row in own if row["reasons"]]


def no_format_text(rows):
    """Returns the lines about what no format helps, and about what FP32 does not."""
    by_cause = {}
    for row in rows:
        kind = "wide" if row["wide"] else "may" if row["may"] or ONLY_WHERE in row["cure"] else ""
        by_cause.setdefault((kind, row["cause"], row["cure"]), []).append(row)
    out = []
    for kind, head in HEADS.items():
        lines = [f"  {of[0]['layer'] if len(of) == 1 else named([row['layer'] for row in of])}: {of[0]['text']}: {cure}."
                 for (of_kind, _, cure), of in by_cause.items() if of_kind == kind]
        out += [head, *lines] if lines else []
    return out
