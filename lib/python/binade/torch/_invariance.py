# SPDX-License-Identifier: Apache-2.0
"""Whether a row's result depends on the batch that it rides in, op by op."""
import difflib
import json

import torch

from .._documents import Document
from ._bits import difference, row_hashes, same_bits
from ._explained import copied, explained, product_of, searches
from ._recorder import Recorder, again
from ._rows import Rows, axis_of, found, part
from ._variance_text import text_of

SEEDED = 2  # places of a batch beside its first, middle and last
STATES = ("variant", "mixes rows", "after mixed rows", "row not followed", "unsteady", "other ops", "same", "without the row")


class Invariance(Document):
    """What invariance() found; str() is for people, to_dict() for programs.

    Keys: batches (a dict a size: size, places, result: how the function's own result differs), first (an op, or None), ops (all of
    the row run alone, in order), made_rows, notes. An op has op, module, site, inputs, outputs, dtypes, status, and where it is
    variant differs (a dict a size of a batch: places, elements, different, ulps, largest); first has orders besides.
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

    fn: a model or a function. inputs: what it takes: a tensor, or a tuple or dict of tensors (then by name), whose first axis is the
        batch; of which `row` is the row. The others are what it rides with; where there are fewer than a batch wants, rows are
        made: each element drawn from the elements of its tensor. batches: their sizes; the row alone is what all are held to.
    seed: of those rows, of the places in a batch (its first, middle and last, and two drawn), and of torch before every run.
    arch: of the GPU whose products ran, or were emulated, as "sm_90", for the orders that explain them; a GPU's tensors know theirs.

    How: below autograd every op's result is seen; views and copies, which compute nothing, are passed over. Where the row is in a
    result is asked of the result: of a batch the axis is looked at that is so many times as long as alone. What changes when the
    row alone is exchanged must lie within one row of that axis (of (batch), (batch, time), (time, batch), …), and must not change
    when all others are exchanged. Bits of that part are then held to those of the run alone, and written over with them, so that each
    op gets the row's bits of the run alone and answers for itself.
    An op "mixes rows" where an element changes with the row and with others (batch norm in training, a mean over the batch, a gradient
    of a weight), and what comes of it is "after mixed rows": both are by nature, and not compared. "row not followed" is what
    fits none of these; "unsteady" what was not the same in two equal runs; "other ops" what a batch computes by other ops, of which
    the last is compared. Ops whose result does not change with the row are "without the row".

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


def places_of(size, seed):
    drawn = torch.randint(size, (SEEDED,), generator=torch.Generator().manual_seed(seed + size)).tolist()
    return sorted({0, size // 2, size - 1, *drawn})


class Runs:
    """Of the row alone, and of whatever batch."""

    def __init__(self, fn, rows, seed):
        self._fn, self._seed, self.rows = fn, seed, rows
        self.values = []  # of each op alone, what it gave
        recorder = self.run(1, 0, after=lambda op, results: self.values.append([x.detach().clone() for x in results]))
        if recorder.draws is not None:
            name, site, module = recorder.draws
            raise ValueError(f"{', '.join(filter(None, (name, module and f'of {module}', site)))} draws random numbers, which are not the "
                             "same for a row in every batch: call model.eval(), or leave them out")
        self.ops = recorder.ops

    def run(self, size, place, *, before=None, after=None, **batch):
        recorder = Recorder(before, after)
        inputs = self.rows.batch(size, place, **batch)
        again(self._fn, inputs, self._seed, recorder)
        return recorder

    def product(self, index):
        """Of an op of the row alone, with clones of what it got; or what explained() takes in its place."""
        kept = []

        def keep(at, args, kwargs):
            if at == index:
                kept.append(product_of(self.ops[index].name, copied(args), copied(kwargs)))

        self.run(1, 0, before=keep)
        return kept[0] if kept else None


def partners(alone, batched):
    """{index of an op of a batch: (index of its op alone, names of the ops that do its work)}."""
    out, one, other = {}, [op.key for op in alone], [op.key for op in batched]
    if one == other:
        return {at: (at, [op.name]) for at, op in enumerate(batched)}
    for kind, a, a_end, b, b_end in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind == "equal":
            out.update((b + at, (a + at, [batched[b + at].name])) for at in range(a_end - a))
        elif kind == "replace":
            out[b_end - 1] = a_end - 1, [op.name for op in batched[b:b_end]]
    return out


class Batch:
    """Batches of one size. Filled by look(): state, {index of an op alone: one of STATES}; differs, {the same index: a dict}; result."""

    def __init__(self, runs, size, seed):
        self._runs, self.size, self.places = runs, size, places_of(size, seed)
        self.state, self.differs, self.instead, self.after_lost, self.notes = {}, {}, {}, {}, []
        self.kept = None  # (index of the first variant op, the row's part of its results)
        self._place = size // 2
        self._ops = runs.run(size, self._place).ops
        self._partners = partners(runs.ops, self._ops)
        self._axes = {}  # (index of an op, place of a result): axis
        for at, (own, names) in self._partners.items():
            if names != [runs.ops[own].name]:
                self.instead[own] = names
            for n, ((shape, dtype), (batched, other)) in enumerate(zip(runs.ops[own].outputs, self._ops[at].outputs)):
                self._axes[at, n] = axis_of(shape, batched, size) if dtype == other else None

    def look(self):
        hashes = self._hashed()
        self._judge(hashes, self._hashed(), self._hashed(first=1), self._hashed(another=True))
        self._compare(self._place, hold=False)
        for place in self.places:
            self._compare(place, hold=True)
        self._name_states()
        return self

    def _hashed(self, **batch):
        out = []

        def after(op, results):
            out.append((op.name, [row_hashes(x, self._axes.get((op.index, n))).cpu() for n, x in enumerate(results)]))

        self._runs.run(self.size, self._place, after=after, **batch)
        return out

    def _judge(self, first, second, others, row):
        """Where the row is in each result."""
        self._found, self._unsteady = {}, set()
        for at, (op, *runs) in enumerate(zip(self._ops, first, second, others, row)):
            if any((name, len(hashes)) != (op.name, len(op.outputs)) for name, hashes in runs):
                break
            for n, (x, y, z, w) in enumerate(zip(*(hashes for _, hashes in runs))):
                if x.shape != y.shape or not torch.equal(x, y):
                    self._unsteady.add(at)
                self._found[at, n] = found(x, z, w, self.size, self._place)
        else:
            at = len(self._ops)
        if any(len(hashes) != at for hashes in (first, second, others, row)) or at < len(self._ops):
            place = self._ops[min(at, len(self._ops) - 1)].place
            self.notes.append(f"in batches of {self.size} which ops run depends on the rows' values from {place} on: nothing is compared "
                              "from there")

    def _compare(self, place, hold):
        """Holds the row's part to the run alone. hold: and writes that over it; else only what the function gave is counted."""
        def after(op, results):
            own = self._partners.get(op.index, (None,))[0]
            if own is None or op.index >= len(self._ops) or op.name != self._ops[op.index].name or op.index in self._unsteady:
                return
            for n, (x, alone) in enumerate(zip(results, self._runs.values[own])):
                kind, outers = self._found.get((op.index, n), ("lost", ()))
                axis = self._axes.get((op.index, n))
                if kind != "row" or axis is None:
                    continue
                parts = [part(x, axis, outer, self.size, place) for outer in outers]
                if any(same_bits(y, alone.reshape(y.shape)) for y in parts):
                    continue
                if len(parts) > 1:
                    self._found[op.index, n] = "lost", ()
                elif not hold:
                    if own == len(self._runs.ops) - 1:
                        self.result = worse(self.result, difference(parts[0], alone.reshape(parts[0].shape)))
                else:
                    self._differs(own, place, parts[0], alone.reshape(parts[0].shape))
                    with torch.no_grad():
                        parts[0].copy_(alone.reshape(parts[0].shape))

        self.result = None if not hold else self.result
        self._runs.run(self.size, place, after=after)

    def _differs(self, own, place, x, alone):
        if self.kept is None or own < self.kept[0]:
            self.kept = own, x.detach().clone()
        row = self.differs.setdefault(own, {"places": []})
        if place not in row["places"]:
            row["places"].append(place)
        self.differs[own] = {**row, **worse(row if "different" in row else None, difference(x, alone))}

    def _name_states(self):
        by_op = {}  # of the batch
        for at, op in enumerate(self._ops):
            own = self._partners.get(at, (None,))[0]
            kinds = {self._found[at, n][0] for n in range(len(op.outputs)) if (at, n) in self._found}
            before = {by_op[source] for source in op.sources if source is not None}
            if at in self._unsteady:
                state = "unsteady"
            elif own in self.differs:
                state = "variant"
                self.after_lost[own] = bool(before & {"row not followed", "unsteady"})
            elif "mixes" in kinds:
                state = "after mixed rows" if before & {"mixes rows", "after mixed rows"} else "mixes rows"
            elif "lost" in kinds or not kinds or any(
                    self._found[at, n][0] == "row" and self._axes.get((at, n)) is None for n in range(len(op.outputs))):
                state = "row not followed"
            else:
                state = "same" if "row" in kinds else "without the row"
            if own is None:
                state = state if state in ("mixes rows", "after mixed rows", "unsteady") else "other ops"
            else:
                self.state[own] = state
            by_op[at] = state


def worse(x, y):
    """Of two differences each figure's larger one."""
    if x is None:
        return y
    return {key: max((z for z in (x.get(key), y[key]) if z is not None), default=None) for key in y}


def told(runs, batches, arch):
    """The Invariance."""
    ops, notes = [], [note for batch in batches for note in batch.notes]
    for op in runs.ops:
        states = {batch.state.get(op.index, "other ops") for batch in batches}
        row = {**op.to_dict(), "status": next(state for state in STATES if state in states)}
        instead = {str(batch.size): batch.instead[op.index] for batch in batches if op.index in batch.instead}
        differs = [{"batch": batch.size, "of_places": len(batch.places), **batch.differs[op.index]}
                   for batch in batches if op.index in batch.differs]
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
    product = runs.product(index)
    alone = runs.values[index][0]
    results = [([], alone)]
    for batch in batches:
        if batch.kept is None or batch.kept[0] != index:
            continue
        x = batch.kept[1].reshape(alone.shape)
        same = next((sizes for sizes, y in results[1:] if same_bits(x, y)), None)
        if same is None:
            results.append(([batch.size], x))
        else:
            same.append(batch.size)
    of = explained(product, [x for _, x in results], searches(arch, [alone]))
    return of if isinstance(of, str) else [{"batches": sizes, **row} for (sizes, _), row in zip(results, of)]
