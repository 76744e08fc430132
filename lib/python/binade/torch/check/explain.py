# SPDX-License-Identifier: Apache-2.0
"""Looks for the instruction, order and epilogue that explain every bit of products which differ from the usual ones."""
import ast
import itertools

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode

from ... import _binade
from ..observe.tensor_bits import differing
from ..products.op_products import lowered
from ..products.products import FORMATS
from ..products.tensor_cores import TensorCores
from .explained import evenly, validated

SAMPLED = 48  # elements that an identification looks at
FEWEST = 16  # at least so many of them, filled up with elements that do not differ
LONGEST = 1 << 14  # products of longer sums are not looked into: an identification's time grows with the length of K
TRIED = 8  # models that are held against all elements
# Arguments of a GemmModel that are not about its sums.
NO_SUM = ("alpha", "beta", "fused", "epilogue_format", "out_format", "saturate", "c_first", "sum_format", "relu", "out_through",
          "out_rounding", "seed")


def arguments(model):
    """Returns the arguments of a GemmModel beside its instruction and architecture."""
    return {given.arg: ast.literal_eval(given.value) for given in ast.parse(repr(model), mode="eval").body.keywords}


def sums_model(model):
    """Returns the GemmModel of only the sums of a product, in binary32; None if sums begin with C, which they then lack."""
    given = arguments(model)
    if given.get("c_first"):
        return None
    kept = {key: x for key, x in given.items() if key not in NO_SUM}
    return _binade.GemmModel(model.instruction, model.arch, **kept, epilogue_format="binary32", out_format="binary32")


def whole_model(sums, low):
    """Returns the GemmModel of whole products, as ModelProducts makes them of sums: with the epilogue in binary32, rounded once to
    the dtype, or, for the bias of a convolution, in the dtype."""
    out = FORMATS[low.d.dtype]
    kept = {**arguments(sums), "alpha": low.alpha, "beta": low.beta, "epilogue_format": out if low.biased else "binary32",
            "out_format": out}
    return _binade.GemmModel(sums.instruction, sums.arch, **kept)


def ways(device, arch):
    """Returns arguments of identify() to try one after the other.

    For products of a GPU they are those of its own architecture, unless one is named; for products of the CPU those of a CPU, and
    those of the architecture if one is named, which come first within an emulation."""
    if device.type == "cuda":
        return [{"arch": arch or "sm_{}{}".format(*torch.cuda.get_device_capability(device))}]
    found = [{"cpu": True}] + ([{"arch": arch}] if arch else [])
    return found[::-1] if isinstance(_get_current_dispatch_mode(), TensorCores) else found


def contradiction(model, low):
    """Returns the first (product, row, column) whose bits a model does not give; None if it gives all."""
    for batch in range(len(low.a)):
        found = validated(model, *low.whole(batch))
        if not found.equal:
            return batch, found.differences[0]["row"], found.differences[0]["column"]
    return None


def sampled(different):
    """Returns elements (product, row, column) to look at: first those in the mask of elements that differ, since
    they rule out most."""
    out = evenly(different.nonzero(), SAMPLED)
    return out if len(out) >= FEWEST else torch.cat([out, evenly((~different).nonzero(), FEWEST - len(out))])


class Explaining:
    """The search for what explains the products of one kind (op, shapes, dtype), and its result.

    model: a GemmModel, or None. k_runs_over: one of the k_orders. conclusion: text. sampled: the elements that were looked at last.
    ways: what ways() returned. usual: the instruction that is tried first, or None.
    """

    def __init__(self, ways, usual=None):
        self.model, self.k_runs_over, self.conclusion, self.sampled = None, "", "", []
        self._ways, self._usual, self._runs = ways, usual, {}

    def to_dict(self):
        by, order = ("", "") if self.model is None else (str(self.model), self.model.order)
        return {"by": by, "order": order, "k_runs_over": self.k_runs_over, "conclusion": self.conclusion, "sampled": self.sampled}

    def holds(self, low):
        """Whether the model that was found also explains these products."""
        return self.model is not None and contradiction(self.model, low.k_order(self.k_runs_over)) is None

    def look(self, low, elements):
        """Looks for a model that explains these products and all products before them; if there is none, only these, since
        libraries may choose another order each time. elements: the elements of d to begin with."""
        self.model, self.k_runs_over, self.sampled = None, "", []
        if low.a.shape[2] > LONGEST:
            self.conclusion = f"K of {low.a.shape[2]:,} is longer than the {LONGEST:,} that are looked into"
            return
        self.sampled = elements.tolist()
        pooled = {words: [*self._runs.get(words, []), low.k_order(words).dots(elements)] for words in low.k_orders}
        left, whole, tried = self._search(low, pooled)
        if self.model is None and self._runs:
            pooled = {words: runs[-1:] for words, runs in pooled.items()}
            left, whole, tried = self._search(low, pooled)
        self._runs = pooled
        leave = f"the {len(elements)} elements looked at leave {left:,} of {tried:,} models"
        if self.model is not None:
            self.conclusion = f"{leave}; this one gives all elements"
        elif left:
            self.conclusion = f"{leave}; {whole:,} of these were held against all elements, and none gives them"
        else:
            self.conclusion = f"none of {tried:,} models gives the {len(elements)} elements looked at"

    def _search(self, low, runs):
        """Sets model and k_runs_over if a model that explains the runs, for some order of K, gives all of `low`.

        Returns how many models the runs left, how many were compared with all elements, and how many were tried."""
        left = whole = tried = 0
        for way, words in itertools.product(self._ways, low.k_orders):
            *operands, c = (None if x[0] is None else list(x) for x in zip(*runs[words]))
            factors = {"alpha": low.alpha} if c is None else {"alpha": low.alpha, "beta": low.beta}
            found = _binade.identify(*operands, c, **factors, **way)
            self.model, count = self._first(found.models, low.k_order(words))
            left, whole, tried = left + len(found.models), whole + count, tried + found.to_dict()["models"]
            if self.model is not None:
                self.k_runs_over = words
                break
        return left, whole, tried

    def _first(self, models, low):
        """The first that gives every bit of whole products, those whose sums do not begin with C and then those of the usual
        instruction before others; and how many were held against all elements, at most TRIED. An element that contradicted
        one is asked of the others first, since that is quickly done."""
        known, whole = [], 0
        for model in sorted(models, key=lambda x: ("--c-first" in x.options, x.instruction != self._usual)):
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


def explanations(name, args, kwargs, results, arch):
    """Returns what explains each of the results of an op on the same operands, as dicts; or text that says why
    nothing is looked for."""
    try:
        low = lowered(name, args, kwargs)
        several = [low.of(x.cpu()) for x in results]
        masks = [differing(several[0].d, x.d) for x in several[1:]] or [torch.ones(low.places.shape, dtype=torch.bool)]
        elements = sampled(torch.stack(masks).any(0))
        out = []
        for one in several:
            explaining = Explaining(ways(results[0].device, arch))
            explaining.look(one, elements)
            out.append(explaining.to_dict())
        return out
    except (ValueError, TypeError) as error:
        return str(error)
