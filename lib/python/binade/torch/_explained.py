# SPDX-License-Identifier: Apache-2.0
"""Which orders of summation explain what a product gave."""
import dataclasses
import itertools

import torch

from .. import _binade
from ._multiply import FORMATS, Products
from ._product_ops import OPS

LONGEST = 1024  # products of a sum, whose order is searched
ROWS, COLUMNS, BATCHES = 4, 16, 4  # of a result, that are looked at
WITH_C = frozenset(("addmm", "baddbmm", "addmv"))
SHOWN = 3  # models of a result
PRODUCTS = frozenset(("mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot", "convolution"))


@dataclasses.dataclass
class Product:
    """a (batch, m, k), b (batch, k, n); c (batch, m, n) and bias (n,) or None. fold: an op's result → (batch, m, n). taps: of a
    convolution, whose K is kernel times channels."""

    a: object
    b: object
    c: object
    bias: object
    alpha: float
    beta: float
    fold: object
    taps: int = 0


class Kept(Products):
    """Keeps what an op multiplies, and multiplies nothing."""

    def __init__(self):
        super().__init__()
        self.operands = []

    def __call__(self, a, b, roles=None):
        self.operands.append((a, b))
        return torch.zeros(a.shape[0], a.shape[1], b.shape[2])


def product_of(name, args, kwargs):
    """The Product that an op is, or why it is none that can be explained, text; None: it multiplies nothing."""
    name = name.removesuffix("_")
    if name not in OPS:
        return "it is not taken apart" if "rnn" in name or "attention" in name or "transformer" in name else None
    if name not in PRODUCTS:
        return "it is no single product"
    if name == "convolution" and args[6]:
        return "transposed convolutions are not searched"
    kept = Kept()
    kwargs = {key: x for key, x in kwargs.items() if key != "out"}
    if any(isinstance(x, torch.Tensor) and x.dtype not in FORMATS for x in args):
        return "its dtype is not searched"
    args = [x.cpu() if isinstance(x, torch.Tensor) else x for x in args]
    blank = OPS[name][1](kept, *args, **kwargs)
    (a, b), = kept.operands
    shape = len(a), a.shape[1], b.shape[2]
    c = bias = None
    if name == "convolution":
        bias, groups = args[2], args[8]
        if groups > 1:
            bias = None if bias is None else bias.reshape(groups, -1)

        def fold(x):
            x = x.movedim(1, -1).reshape(shape[1], groups, shape[2])
            return x.transpose(0, 1)

        return Product(a, b, None, bias, 1, 1, fold, args[1].shape[2:].numel())
    if name in WITH_C:
        if name == "addmm" and args[0].dim() == 1 and kwargs.get("beta", 1) == 1:
            bias = args[0].expand(shape[2])
        else:
            c = args[0].expand(blank.shape).reshape(shape)
    return Product(a, b, c, bias, kwargs.get("alpha", 1), kwargs.get("beta", 1), lambda x: x.reshape(shape))


def is_product(name):
    return name.removesuffix("_") in PRODUCTS


def copied(x):
    if isinstance(x, torch.Tensor):
        return x.detach().clone()
    if isinstance(x, tuple | list):
        return type(x)(map(copied, x))
    return {key: copied(y) for key, y in x.items()} if isinstance(x, dict) else x


def chosen(differ, most):
    """So many indices of a vector of flags, of those that are set first, each kind spread over its own."""
    picked = []
    for flags in (differ, ~differ):
        of = torch.nonzero(flags)[:, 0]
        count = min(most - len(picked), len(of))
        picked += of[torch.linspace(0, len(of) - 1, count).long()].tolist() if count else []
    return torch.tensor(sorted(picked))


def searches(arch, tensors):
    """Options of binade.identify, one after the other: a CPU's orders and an architecture's where one is named; of tensors of a GPU
    that GPU's."""
    on_gpu = next((x for x in tensors if x.is_cuda), None)
    if arch is None and on_gpu is not None:
        arch = "sm_{}{}".format(*torch.cuda.get_device_capability(on_gpu.device))
    return ([] if on_gpu is not None else [{"cpu": True}]) + ([{"arch": arch}] if arch else [])


def explained(product, results, hows):
    """Of each of an op's results, given the same operands, what explains it: a dict with conclusion, models (text), orders (words),
    tried and elements; or text where there is no search. hows: of searches()."""
    if isinstance(product, str) or product is None:
        return product or "it multiplies nothing"
    k = product.a.shape[2]
    if k > LONGEST:
        return f"sums of {k:,} products are too long to be searched here"
    folded = [product.fold(x.cpu()) for x in results]
    differ = (folded[0] != folded[-1])
    batches = chosen(differ.flatten(1).any(1), BATCHES)
    rows, columns = chosen(differ.any(2).any(0), ROWS), chosen(differ.any(1).any(0), COLUMNS)
    try:
        return [identified(product, x, batches, rows, columns, hows) for x in folded]
    except (ValueError, TypeError) as error:
        return str(error)


def identified(product, d, batches, rows, columns, hows):
    def cut(x, at):
        return x[at][rows][:, columns].contiguous()

    best = None
    for how, (order, arrange) in itertools.product(hows, arrangements(product)):
        runs = {"a": [], "b": [], "d": [], "c": [], "bias": []}
        for at in batches.tolist():
            runs["a"].append(arrange(product.a[at][rows], 1).contiguous())
            runs["b"].append(arrange(product.b[at][:, columns], 0).contiguous())
            runs["d"].append(cut(d, at))
            if product.c is not None:
                runs["c"].append(cut(product.c, at))
            if product.bias is not None:
                runs["bias"].append((product.bias if product.bias.dim() == 1 else product.bias[at])[columns].contiguous())
        found = _binade.identify(runs["a"], runs["b"], runs["d"], runs["c"] or None, runs["bias"] or None,
                                 alpha=product.alpha, beta=product.beta, show=SHOWN, **how)
        told = found.to_dict()
        best = {"conclusion": told["conclusion"], "models": [str(x) for x in found.models[:SHOWN]],
                "orders": [x.order for x in found.models[:SHOWN]], "explaining": told["explaining"], "tried": told["models"],
                "elements": told["elements"], "k_runs_over": order}
        if found.conclusion != "none":
            return best
    return best


def arrangements(product):
    """(in words, function that puts K's axis of an operand in that order) of the orders that K may have."""
    yield ("kernel, channels" if product.taps else None), lambda x, axis: x
    if product.taps > 1:
        def channels_outside(x, axis):
            return x.unflatten(axis, (product.taps, -1)).transpose(axis, axis + 1).flatten(axis, axis + 1)

        yield "channels, kernel", channels_outside


def order_text(of):
    """One of explained's, in a line."""
    if of["conclusion"] == "none":
        return f"no order of {of['tried']:,} explains it ({of['elements']} elements looked at)"
    over = f", K over {of['k_runs_over']}" if of["k_runs_over"] else ""
    model = of["models"][0].removeprefix("--instruction ")
    more = f"; so do {of['explaining'] - 1:,} more" if of["explaining"] > 1 else ""
    return f"{of['orders'][0]}{over} ({model}){more}"
