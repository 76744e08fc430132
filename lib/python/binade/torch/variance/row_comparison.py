# SPDX-License-Identifier: Apache-2.0
"""Runs a function with one row by itself and in batches, and compares the row in every op."""
import difflib

import torch

from ..observe.tensor_bits import difference, has_bits, row_hashes, same_bits
from ..observe.names import tensors_in
from ..observe.opaque import opaque_in
from ..observe.recorder import RESULT, Recorder, again, copied, known_storages, unmade_texts
from .row_batches import axis_of, found, part

BY_NATURE = frozenset(("mixes rows", "after mixed rows", "of the batch"))
PLACES = frozenset(("nonzero", "nonzero_static"))  # ops whose results are numbers of rows
OTHERWISE = "what gives other bits while its ops are recorded"
SEEDED = 2  # places of a batch beside its first, middle and last


def places_of(size, seed):
    drawn = torch.randint(size, (SEEDED,), generator=torch.Generator().manual_seed(seed + size)).tolist()
    return sorted({0, size // 2, size - 1, *drawn})


class Runs:
    """Runs of the function with the row by itself, and with any batch. called: what it gives of the row by itself when it is called,
    not recorded. opaque: texts of what does not run op by op then."""

    def __init__(self, fn, rows, seed):
        self._fn, self._seed, self.rows = fn, seed, rows
        self.values = []  # results of each op of the row by itself
        recorder = Recorder(after=lambda op, results: self.values.append([x.detach().clone() for x in results]))
        inputs = rows.batch(1, 0)
        again(fn, inputs, seed, recorder.run)
        if recorder.draws is not None:
            name, site, module = recorder.draws
            op = ", ".join(filter(None, (name, module and f"of {module}", site)))
            raise ValueError(f"{op} draws random numbers, which are not the same for a row in every batch: call model.eval(), or "
                             "leave them out")
        self.ops = recorder.ops
        self.called = self.call(1, 0)
        self.opaque = list(dict.fromkeys([*opaque_in(fn), *recorder.opaque, *unmade_texts(
            recorder, known_storages(fn, inputs), lambda run: again(fn, inputs, seed, run))]))
        for calls, words in ((self.values[-1], OTHERWISE),
                             (self.call(1, 0), "what does not give the same in two equal calls")):
            if len(calls) != len(self.called) or not all(map(same_bits, calls, self.called)):
                self.opaque.append(words)

    def call(self, size, place):
        """Returns the tensors that the function gives of a batch when it is called."""
        out = again(self._fn, self.rows.batch(size, place), self._seed)
        return [x.detach().clone() for _, x in tensors_in(out) if has_bits(x)]

    def run(self, size, place, *, before=None, after=None, **batch):
        recorder = Recorder(before, after)
        inputs = self.rows.batch(size, place, **batch)
        again(self._fn, inputs, self._seed, recorder.run)
        return recorder

    def operands(self, index):
        """Returns (args, kwargs) of an op of the row by itself, cloned."""
        kept = []

        def keep(at, args, kwargs):
            if at == index:
                kept.append(copied((args, kwargs)))

        self.run(1, 0, before=keep)
        return kept[0]


def partners(alone, batched):
    """Returns {index of an op of a batch: (index of the op of the row by itself, names of the ops that do its work)}."""
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
    """Batches of one size.

    look() fills state, {index of an op of the row by itself: one of STATES}; differs, {the same index: a dict}; and result, how the
    function's own result differs, or None.
    """

    def __init__(self, runs, size, seed):
        self._runs, self.size, self.places = runs, size, places_of(size, seed)
        self.state, self.differs, self.instead, self.after_lost, self.notes = {}, {}, {}, {}, []
        self._kept = {}  # {index of an op that differs: (place, result, the row's part) where it did first}
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
        self._compare_called()
        for place in self.places:
            self._compare(place)
        for place in sorted({place for place, _, _ in self._kept.values()}):
            self._compare(place, first=1)
        self._name_states()
        return self

    def _hashed(self, **batch):
        out = []

        def after(op, results):
            out.append((op.name, [row_hashes(x, self._axes.get((op.index, n))).cpu() for n, x in enumerate(results)]))

        self._runs.run(self.size, self._place, after=after, **batch)
        return out

    def kept(self, own):
        """Returns the row's part of an op's result if it differs, else None."""
        return self._kept[own][2] if self.state.get(own) == "variant" else None

    def _judge(self, first, second, others, row):
        """Finds where the row is in each result."""
        self._found, self._unsteady, self._of_batch = {}, set(), set()
        for at, (op, *runs) in enumerate(zip(self._ops, first, second, others, row)):
            if any((name, len(hashes)) != (op.name, len(op.outputs)) for name, hashes in runs):
                break
            for n, (x, y, z, w) in enumerate(zip(*(hashes for _, hashes in runs))):
                if x.shape != y.shape or not torch.equal(x, y):
                    self._unsteady.add(at)
                self._found[at, n] = found(x, z, w, self.size, self._place)
                own = self._partners.get(at, (None,))[0]
                if self._found[at, n][0] == "mixes" and own is not None and self._axes.get((at, n)) is None:
                    if n >= len(self._runs.ops[own].outputs) or self._runs.ops[own].outputs[n] != op.outputs[n]:
                        self._found[at, n] = "lost", ()
        else:
            at = len(self._ops)
        if any(len(hashes) != at for hashes in (first, second, others, row)) or at < len(self._ops):
            place = self._ops[min(at, len(self._ops) - 1)].place
            self.notes.append(f"in batches of {self.size} which ops run depends on the rows' values from {place} on: nothing is "
                              "compared from there")

    def _compare_called(self):
        """Compares what the function gives when it is called with that of the row by itself: at one place, of an opaque one at all."""
        at, self.result = len(self._ops) - 1, None
        if self._partners.get(at, (None,))[0] != len(self._runs.ops) - 1 or at in self._unsteady:
            return
        for place in self.places if self._runs.opaque else [self._place]:
            for n, (x, alone) in enumerate(zip(self._runs.call(self.size, place), self._runs.called)):
                kind, outers = self._found.get((at, n), ("lost", ()))
                axis = self._axes.get((at, n))
                if kind != "row" or axis is None or len(outers) != 1:
                    continue
                x = part(x, axis, outers[0], self.size, place)
                if not same_bits(x, alone.reshape(x.shape)):
                    self.result = worse(self.result, difference(x, alone.reshape(x.shape)))

    def _compare(self, place, first=0):
        """Compares the row's part with the run of the row by itself, which is then written over it. first: the first of the
        other rows."""

        def after(op, results):
            own = self._partners.get(op.index, (None,))[0]
            if own is None or op.index >= len(self._ops) or op.name != self._ops[op.index].name or op.index in self._unsteady:
                return
            for n, (x, alone) in enumerate(zip(results, self._runs.values[own])):
                kind, outers = self._found.get((op.index, n), ("lost", ()))
                axis = self._axes.get((op.index, n))
                if kind == "without" and not self._is_as_alone(x, axis, place, alone):
                    self._of_batch.add(op.index)
                if kind != "row" or axis is None:
                    continue
                parts = [part(x, axis, outer, self.size, place) for outer in outers]
                if first and self._kept.get(own, ())[:2] == (place, n) and not same_bits(parts[0], self._kept[own][2]):
                    self._found[op.index, n] = "mixes", ()
                if any(same_bits(y, alone.reshape(y.shape)) for y in parts):
                    continue
                if len(parts) > 1:
                    self._found[op.index, n] = "lost", ()
                else:
                    if not first:
                        self._differs(own, n, place, parts[0], alone.reshape(parts[0].shape))
                    with torch.no_grad():
                        parts[0].copy_(alone.reshape(parts[0].shape))

        self._runs.run(self.size, place, after=after, first=first)

    def _is_as_alone(self, x, axis, place, alone):
        x = x if axis is None else part(x, axis, 1, self.size, place)
        return x.numel() == alone.numel() and same_bits(x, alone.reshape(x.shape))

    def _differs(self, own, n, place, x, alone):
        if own not in self._kept:
            self._kept[own] = place, n, x.detach().clone()
        row = self.differs.setdefault(own, {"places": []})
        if place not in row["places"]:
            row["places"].append(place)
        self.differs[own] = {**row, **worse(row if "different" in row else None, difference(x, alone))}

    def _name_states(self):
        by_op = {}  # {index of an op of the batch: its status}
        for at, op in enumerate(self._ops):
            own = self._partners.get(at, (None,))[0]
            kinds = {self._found[at, n][0] for n in range(len(op.outputs)) if (at, n) in self._found}
            before = {by_op[source] for source in op.sources if source is not None}
            if own is not None and repr(op.numbers) != repr(self._runs.ops[own].numbers):
                before.add("of the batch")
            if at in self._unsteady:
                state = "unsteady"
            elif own in self.differs and before & BY_NATURE:
                state = "after mixed rows"
            elif own in self.differs and (op.name in PLACES or "mixes" in kinds):
                state = "mixes rows"
            elif own in self.differs:
                state = "variant"
                self.after_lost[own] = bool(before & {"row not followed", "unsteady"})
            elif "mixes" in kinds:
                state = "after mixed rows" if before & BY_NATURE else "mixes rows"
            elif "lost" in kinds or not kinds or any(
                    self._found[at, n][0] == "row" and self._axes.get((at, n)) is None for n in range(len(op.outputs))):
                state = "row not followed"
            elif op.name == RESULT and before & BY_NATURE:
                state = "after mixed rows"
            else:
                state = "same" if "row" in kinds else "of the batch" if at in self._of_batch else "without the row"
            if own is None:
                state = "after mixed rows" if before & BY_NATURE else "other ops"
            else:
                self.state[own] = state
            by_op[at] = state


def worse(x, y):
    """Returns the larger of each figure of two differences."""
    if x is None:
        return y
    return {key: max((z for z in (x.get(key), y[key]) if z is not None), default=None) for key in y}
