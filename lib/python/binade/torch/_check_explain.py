# SPDX-License-Identifier: Apache-2.0
"""Which instruction, order and epilogue explain every bit of products that are not as the usual ones give them."""
import ast

import torch

from .. import _binade
from ._multiply import FORMATS

SAMPLED = 48  # elements that an identification looks at
FEWEST = 16  # of them, elements that do not differ included
LONGEST = 1 << 14  # products of longer sums are not looked into: an identification's time grows with the length of K
TRIED = 8  # models that are held against all elements
NO_SUM = ("alpha", "beta", "fused", "epilogue_format", "out_format", "saturate", "c_first")  # of a GemmModel


def arguments(model):
    """What made a GemmModel, beside its instruction and architecture."""
    return {given.arg: ast.literal_eval(given.value) for given in ast.parse(repr(model), mode="eval").body.keywords}


def model_of_words(words):
    model = _binade.GemmModel.__new__(_binade.GemmModel)
    model.__setstate__(words)
    return model


def sums_model(model):
    """The GemmModel of a product's sums alone, in binary32; None where C comes first, which sums alone do not have."""
    given = arguments(model)
    if given.get("c_first"):
        return None
    kept = {key: x for key, x in given.items() if key not in NO_SUM}
    return _binade.GemmModel(model.instruction, model.arch, **kept, epilogue_format="binary32", out_format="binary32")


def whole_model(sums, low):
    """The GemmModel of products as _multiply.py makes them of sums: the epilogue in binary32, rounded once to the dtype, or, of a
    convolution's bias, in the dtype."""
    out = FORMATS[low.d.dtype]
    kept = {**arguments(sums), "alpha": low.alpha, "beta": low.beta, "epilogue_format": out if low.biased else "binary32",
            "out_format": out}
    return _binade.GemmModel(sums.instruction, sums.arch, **kept)


def validated(model, a, b, d, c):
    return _binade.validate(a, b, d, c, model=model, show=4)


def contradiction(model, low):
    """The first (product, row, column) whose bits a model does not give; None where it gives all."""
    for batch in range(len(low.a)):
        found = validated(model, *low.whole(batch))
        if not found.equal:
            return batch, found.differences[0]["row"], found.differences[0]["column"]
    return None


def evenly(x, most):
    """At most so many rows of x, from the first to the last."""
    return x if len(x) <= most else x[torch.linspace(0, len(x) - 1, most).long()]


def sampled(different):
    """Elements to look at, (product, row, column) each, of a mask of those that differ: they first, for they tell most."""
    out = evenly(different.nonzero(), SAMPLED)
    return out if len(out) >= FEWEST else torch.cat([out, evenly((~different).nonzero(), FEWEST - len(out))])


class Explaining:
    """What explains the products of one kind (op, shapes, dtype). ways: arguments of identify, tried one after the other."""

    def __init__(self, usual, ways):
        self.model, self.conclusion, self.sampled = None, "", []
        self._usual, self._ways, self._runs = usual, ways, []

    def holds(self, low):
        """Whether the model that was found explains these products, too."""
        return self.model is not None and contradiction(self.model, low) is None

    def look(self, low, different):
        """Looks for a model of these and of all products before them. different: mask of d's elements to begin with."""
        if low.a.shape[2] > LONGEST:
            self.model, self.conclusion = None, f"K of {low.a.shape[2]:,} is longer than the {LONGEST:,} that are looked into"
            return
        elements = sampled(different)
        self.sampled = elements.tolist()
        self._runs.append(low.dots(elements))
        self.model, left, whole = None, 0, 0
        for way in self._ways:
            runs = (None if x[0] is None else list(x) for x in zip(*self._runs))
            found = _binade.identify(*runs, alpha=low.alpha, beta=low.beta, **way).models
            self.model, count = self._first(found, low)
            left, whole = left + len(found), whole + count
            if self.model is not None:
                break
        looked_at = f"the {len(elements)} elements looked at"
        if self.model is not None:
            self.conclusion = f"{looked_at} leave {left:,} of all models; this one gives all elements"
        elif left:
            self.conclusion = (f"{looked_at} leave {left:,} of all models; {whole:,} of these were held against all elements, "
                               "and none gives them")
        else:
            self.conclusion = f"no model gives {looked_at}"

    def _first(self, models, low):
        """The first that gives every bit of whole products, those whose sums do not begin with C and then those of the usual
        instruction before others; and how many were held against all elements, at most TRIED. An element that contradicted
        one is asked of the others first, since that is quickly done."""
        known, whole = [], 0
        for model in sorted(models, key=lambda x: ("--c-first" in x.options, x.instruction != self._usual.instruction)):
            if any(not validated(model, *low.part(i, [row], [column])).equal for i, row, column in known):
                continue
            whole += 1
            element = contradiction(model, low)
            if element is None:
                return model, whole
            known.append(element)
            if whole == TRIED:
                break
        return None, whole
