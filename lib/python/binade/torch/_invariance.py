# SPDX-License-Identifier: Apache-2.0
"""Whether a row's result depends on the batch that it rides in, op by op."""
import json

from .._documents import Document
from ._bits import same_bits
from ._explain import explanations
from ._riding import Batch, Runs
from ._rows import Rows
from ._variance_text import text_of

# Of an op whose state is not the same in all sizes of batches the first of these.
STATES = ("variant", "mixes rows", "after mixed rows", "row not followed", "unsteady", "other ops", "same", "of the batch",
          "without the row")


class Invariance(Document):
    """What invariance() found; str() is for people, to_dict() for programs.

    Keys: batches (a dict a size: batch, places, result: how the function's own result differs, or None), first (an op, or None),
    ops (all of the row run alone, in order), made_rows (how many), notes. An op has op, module, site, inputs, outputs, dtypes,
    status, and where it is variant differs (a dict a size: batch, places, of_places, elements, different, ulps, largest). first
    has orders besides: why there are none, text, or a dict for each different result: batches ([] alone), by (what explains every
    element, as options of `binade gemm`, or ""), order (the same in words), k_runs_over, conclusion, sampled (elements that were
    looked at first).
    """

    @property
    def variant(self):
        """Whether some op gives the row other bits in some batch."""
        return self.first is not None

    @property
    def first(self):
        """The first such op, a dict; None where there is none."""
        return self.to_dict()["first"]

    @property
    def ops(self):
        """Dicts, in the order in which they ran."""
        return self.to_dict()["ops"]


def invariance(fn, inputs, batches=(1, 2, 17, 128), *, row=0, seed=0, arch=None):
    """Whether a row's bits depend on the batch that it rides in, and which op makes them.

    fn: a model or a function.
    inputs: what it takes, a tensor, or a tuple or dict of tensors (then by name), whose first axis is the batch. What the row
        rides with are the other rows; where there are fewer than a batch wants, rows are made, each element drawn from the
        elements of its tensor.
    batches: their sizes. All are held to the row alone.
    row: which of the inputs' rows.
    seed: of the rows that are made, of the places in a batch (its first, middle and last, and two drawn), and of torch before
        every run.
    arch: of the GPU whose products were emulated, as "sm_90", so that its orders are looked for, too; a GPU's tensors know
        theirs.

    How: below autograd every op's result is seen; views and copies, which compute nothing, are passed over. Where the row is in a
    result is asked of the result: of a batch the axis is looked at that is so many times as long as alone. What changes when the
    row alone is exchanged must lie within one row of that axis (of (batch), (batch, time), (time, batch), …), and must not change
    when all others are exchanged. Bits of that part are then held to those of the run alone, and written over with them, so that
    each op gets the row's bits of the run alone and answers for itself. What explains the results of the first op that differs
    is looked for where it is a product (_explain.py).

    What an op's status may be:

        same               the row has the bits of the run alone
        variant            it has others: this alone is a finding
        mixes rows         an element changes with the row and with others: batch norm in training, a mean, a weight's gradient
        of the batch       it does not change with the row, and yet is not what it is alone: a loss divided by the batch's size
        after mixed rows   it differs, and comes of one of these two
        without the row    it does not change with the row
        row not followed   none of these fits
        unsteady           it was not the same in two equal runs
        other ops          a batch computes it by other ops, of which the last is compared

    The function runs some ten times for each size; a model's buffers are put back after each, what else it keeps from run to run
    (its parameters' .grad, a cache) is not. Modes and contexts around the call, as torch.no_grad(), autocast and tensor_cores(),
    hold for every run.

    Returns an Invariance. ValueError, one line, for inputs that cannot be, and for a function that draws random numbers.

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
    """The Invariance."""
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
    of = {
        "batches": [{"batch": batch.size, "places": batch.places, "result": batch.result} for batch in batches],
        "first": None if first is None else {**ops[first], "orders": orders(runs, batches, first, arch)},
        "ops": ops,
        "made_rows": runs.rows.made,
        "notes": notes,
    }
    return Invariance(text_of(of), json.dumps(of, indent=1) + "\n")


def orders(runs, batches, index, arch):
    """What explains each result of the first variant op: dicts with batches, [] of the row alone; or text why there is none."""
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
