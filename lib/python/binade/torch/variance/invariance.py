# SPDX-License-Identifier: Apache-2.0
"""Finds whether the result of a row depends on the batch in which it is computed, op by op."""
import json

from ..._documents import Document
from ..check.explain import explanations
from ..observe.tensor_bits import same_bits
from ..observe.recorder import RESULT
from .row_comparison import OTHERWISE, Batch, Runs
from .row_batches import Rows
from .text import FOLLOWED, text_of

# If an op's status differs between sizes of batches, the first of these is reported.
STATES = ("variant", "mixes rows", "after mixed rows", "row not followed", "unsteady", "other ops", "same", "of the batch",
          "without the row")


class Invariance(Document):
    """What invariance() found. str() is text for people, to_dict() is for programs.

    The keys of the dict are:

    variant    whether the row's bits depend on the batch: of an opaque function by what it gives, else by its ops
    opaque     texts of what the function calls that does not run op by op unless it is recorded
    batches    a dict for each size: batch, places, and result: how the function's own result differs, or None
    ops        all ops of the run of the row by itself, in order. Each has op, module, site, inputs, outputs, dtypes and status, and,
               if it is variant, differs: a dict for each size with batch, places, of_places, elements, different, ulps, largest
    first      the first variant op, or None. It also has orders: text that says why there are none, or a dict for each different
               result: batches ([] for the row by itself), by (what explains every element, as options of `binade gemm`, or ""),
               order (the same in words), k_runs_over, conclusion, and sampled (the elements that were looked at first)
    made_rows  how many rows were made
    notes      texts
    """

    @property
    def variant(self):
        """Whether some op gives the row other bits in some batch; of an opaque function, whether what it gives has other bits."""
        return self.to_dict()["variant"]

    @property
    def first(self):
        """The first variant op, as a dict; None if there is none."""
        return self.to_dict()["first"]

    @property
    def ops(self):
        """All ops, as a list of dicts in the order in which they ran."""
        return self.to_dict()["ops"]


def invariance(fn, inputs, batches=(1, 2, 17, 128), *, row=0, seed=0, arch=None):
    """Finds whether the bits of a row depend on the batch in which it is computed, and which op makes them differ.

    fn: a model or a function.
    inputs: its arguments: a tensor, a tuple of tensors, or a dict of tensors by name, whose first axis is the batch. The row is
        computed together with other rows of these; if a batch needs more rows than there are, rows are made whose elements
        are drawn from the elements of their tensor.
    batches: sizes of the batches. The row in each is compared with the row by itself.
    row: which row of the inputs, from 0.
    seed: seed of the made rows, of the places of the row in a batch (first, middle, last, and two that are drawn), and of torch
        before every run.
    arch: architecture of the GPU that was emulated, such as "sm_90", so that its orders are looked for, too; for tensors on a GPU
        it is known.

    Every op's result is seen below autograd; views and copies, which compute nothing, are passed over. Where the row lies in a
    result is found from the result: the axis is the one that is as many times longer as the batch has rows. What changes when
    only the row is exchanged must lie within one row of that axis ((batch), (batch, time), (time, batch), …), and must not
    change when all other rows are exchanged. The bits of that part are compared with those of the row by itself, which are then
    written over them, so that a difference of one op does not reach the next. If the first op that differs is a product, what
    explains its results is looked for (check/explain.py).

    The status of an op is one of these:

        same               the row has the bits of the run by itself
        variant            it has other bits; only this is a finding
        mixes rows         an element changes with the row and with others: batch norm in training, a mean, a weight's gradient
        of the batch       it does not change with the row, but differs from the run by itself: a loss divided by the batch's size
        after mixed rows   it differs, and was computed from the result of an op with one of these two
        without the row    it does not change with the row
        row not followed   none of these fits
        unsteady           it was not the same in two equal runs
        other ops          the batch computes it by other ops, of which the last is compared

    What the function gives is that of plain calls. So long as ops are recorded, torch.compile does not compile, and of TorchScript,
    CUDA graphs and other libraries only what torch dispatches is seen: such a function is opaque, which is said, and judged by what
    it gives, at every place, if the row can be followed in that.

    The function runs some ten times for each size. The buffers of a model are restored after each run, but nothing else that it
    keeps (its parameters' .grad, a cache). Modes and contexts around the call, such as torch.no_grad(), autocast and
    tensor_cores(), hold for every run.

    Returns an Invariance. Raises ValueError, in one line, for inputs that do not fit, and for a function that draws random
    numbers.

    >>> import torch
    >>> import binade.torch
    >>> found = binade.torch.invariance(torch.nn.ReLU(), torch.randn(3, 8), batches=(2, 3))
    >>> found.variant, [op["status"] for op in found.ops]
    (False, ['same', 'same'])
    """
    sizes = sizes_of(batches)
    rows = Rows(inputs, row, max(sizes), seed)
    runs = Runs(fn, rows, seed)
    found_by_size = [Batch(runs, size, seed).look() for size in sizes]
    return told(runs, found_by_size, arch)


def sizes_of(batches):
    sizes = sorted(set(batches))
    if not sizes or not all(isinstance(x, int) and x >= 1 for x in sizes) or sizes[-1] < 2:
        raise ValueError(f"batches {batches!r}: whole numbers from 1 on are wanted, one of them above 1")
    return [x for x in sizes if x > 1]


def told(runs, batches, arch):
    """Returns the Invariance of finished runs."""
    ops, notes = [], [note for batch in batches for note in batch.notes]
    for op in runs.ops:
        states = {batch.state.get(op.index, "other ops") for batch in batches}
        row = {**op.to_dict(), "status": next(state for state in STATES if state in states)}
        instead = {str(batch.size): batch.instead[op.index] for batch in batches if op.index in batch.instead}
        differs = [{"batch": batch.size, "of_places": len(batch.places), **batch.differs[op.index]}
                   for batch in batches if batch.kept(op.index) is not None]
        row |= {key: x for key, x in (("instead", instead), ("differs", differs)) if x}
        if any(batch.after_lost.get(op.index) for batch in batches):
            row["after_lost"] = True
        ops.append(row)
    first = next((at for at, row in enumerate(ops) if row["status"] == "variant"), None)
    differs = ops[-1]["status"] in FOLLOWED and any(batch.result for batch in batches)
    opaque = runs.opaque or ([OTHERWISE] if differs and first is None else [])
    of = {
        "variant": differs if opaque and ops[-1]["status"] in FOLLOWED else first is not None,
        "opaque": opaque,
        "batches": [{"batch": batch.size, "places": batch.places, "result": batch.result} for batch in batches],
        "first": None if first is None else {**ops[first], "orders": orders(runs, batches, first, arch)},
        "ops": ops,
        "made_rows": runs.rows.made,
        "notes": notes,
    }
    return Invariance(text_of(of), json.dumps(of, indent=1) + "\n")


def orders(runs, batches, index, arch):
    """Returns what explains each result of the first variant op: dicts with batches ([] for the row by itself), or text that
    says why nothing does."""
    if runs.ops[index].name == RESULT:
        return "no op that was seen has made it"
    alone = runs.values[index][0]
    results = [([], alone)]
    for batch in batches:
        x = batch.kept(index)
        if x is None:
            continue
        x = x.reshape(alone.shape)
        same = next((sizes for sizes, y in results[1:] if same_bits(x, y)), None)
        if same is None:
            results.append(([batch.size], x))
        else:
            same.append(batch.size)
    of = explanations(runs.ops[index].name, *runs.operands(index), [x for _, x in results], arch)
    return of if isinstance(of, str) else [{"batches": sizes, **row} for (sizes, _), row in zip(results, of)]
