# SPDX-License-Identifier: Apache-2.0
"""Finds the first ops whose bits differ in two implementations of the same function."""
import collections
import functools
import itertools
import json
import math

import torch

from ..._documents import Document
from ..check.explain import explanations
from ..observe.tensor_bits import difference, has_bits, value_hash
from ..observe.names import listed, tensors_in
from ..observe.opaque import opaque_in
from ..observe.recorder import Recorder, again, copied, known_storages, random_states, unmade_texts
from ..products.op_products import is_product
from .given import Given, alike, differences, values_text
from .text import comparison_text, output_text

CANDIDATES = 8  # values of each side that may be each other's
MOST_AXES = 5  # a tensor with more axes is only compared in their own order


class Comparison(Document):
    """What compare() found. str() is text for people, to_dict() is for programs.

    The keys of the dict are:

    equal    whether all results have the same bits; None if all that were seen have, and some cannot be looked into
    results  a dict for each tensor or array that the functions return: output, its place, such as '[1]["logits"]', elements,
             different, ulps, largest, and why, if they are not alike; and one with why if they return other numbers or texts
             beside them
    first    None, or a dict of the first two ops that differ: shape, elements, different, ulps, largest, and a and b, the ops. Each
             op has op, module, site, inputs, outputs and dtypes; through: the ops between common values and it; foreign_inputs:
             which of its inputs were neither computed nor found in the other run; orders, as in Invariance; and orders_of: the
             product that these explain, the op itself or one that led to it
    a, b     for each run, ops: how many ops compute something; common: of how many the other run has the result; first: the
             first op of which it does not have it; values: what it gives beside tensors; unseen: what it gives and cannot be
             looked into; opaque: what it calls that does not run op by op (torch.compile, TorchScript, a CUDA graph, an op's operand
             that no op made); recorded: "", or how what it gave while its ops were recorded differs from what it gives when called
    notes    texts
    """

    @property
    def equal(self):
        """Whether all that the functions return has the same bits; None if some of it cannot be looked into, and the rest has."""
        return self.to_dict()["equal"]

    @property
    def first(self):
        """The first two ops that differ, as a dict; None if none do."""
        return self.to_dict()["first"]


def compare(fn_a, fn_b, inputs, *, seed=0, arch=None):
    """Finds the first op whose bits differ in two implementations of the same function, such as a trainer's and an engine's.

    fn_a, fn_b: models or functions.
    inputs: the arguments of both: a tensor, a tuple of tensors, or a dict of tensors by name.
    seed: seed of torch, which is set before each run.
    arch: architecture of the GPU that was emulated, such as "sm_90", so that its orders are looked for, too; for tensors on a GPU
        it is known.

    What they return is that of two calls each, as you would call them: in the modes and contexts that are open, with the same seeds
    of torch, numpy and random, inputs and a model's buffers put back after each. Then both are run once more, and every op's operands
    and results are seen below autograd. So run, torch.compile does not compile, and of TorchScript, CUDA graphs and other libraries
    only what torch dispatches is seen: what such a function calls is named, and whether it still gave the same bits.

    Two values count as common if they have the same elements, bits of one dtype, each as often, whatever their shapes and the order of their axes; so a fused op is
    matched with the ops that it fuses, and a packed projection with three. Among values without a counterpart, two belong together
    if they come from the same common values, have as many elements, and are the nearest to each other; the first such pair, in
    the order of fn_a, is reported with its ops. Weights that are packed differently are passed over. If the ops are products,
    the orders that explain them are told. The functions may differ inside and still return the same bits, because rounding hides
    the difference: .equal is about what they return. Arrays, numbers and texts that they return are compared, too, also inside of
    lists, dicts, dataclasses, DataFrames and objects, and None is passed over; what cannot be looked into is named by its place.

    Returns a Comparison. Raises ValueError, in one line, if neither function returns a tensor or a number.

    >>> import torch
    >>> import binade.torch
    >>> a, b = (lambda x: (x * 3) * 5), (lambda x: x * 15)
    >>> found = binade.torch.compare(a, b, torch.rand(64))
    >>> found.equal, found.first["a"]["op"], found.first["b"]["op"]
    (False, 'mul', 'mul')
    """
    sides = Side(fn_a, inputs, seed), Side(fn_b, inputs, seed)
    if not any(side.given.tensors or side.given.values for side in sides):
        raise ValueError("compare: neither function gives a tensor, so there is nothing to compare")
    for one, other in (sides, sides[::-1]):
        one.hold_to(other)
    pair = first_pair(*sides)
    called = [differences(*given) for given in zip(*(side.called for side in sides))]
    results = next((rows for rows in called if not alike(rows)), called[0])
    blind = any(given.unseen for side in sides for given in side.called)
    of = {
        "equal": (None if blind else True) if alike(results) else False,
        "results": results,
        "first": None if pair is None else pair_dict(sides, pair, arch),
        **{key: side.summary() for key, side in zip("ab", sides)},
        "notes": [note for key, side in zip("AB", sides) for note in side.notes(key)],
    }
    return Comparison(comparison_text(of), json.dumps(of, indent=1) + "\n")


class Node:
    """A value of one run that the other run does not have.

    op: index of the op that made it. at: ("result", op, which of its results), or, for a part of a value, ("operand", op that got it,
    which of its operands). support: the common values from which it was computed.
    """

    def __init__(self, op, at, key, support):
        self.op, self.at, self.key, self.support = op, at, key, support

    @property
    def group(self):
        return self.support, self.key[1]


class Side:
    """The calls of one function, and a run in which its ops are recorded. hold_to() fills is_common (for each op), nodes and foreign."""

    def __init__(self, fn, inputs, seed):
        form = inputs if isinstance(inputs, dict) else tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
        self._again = functools.partial(again, fn, form, seed)
        self._opaque, self._random = opaque_in(fn), False
        self._known = known_storages(fn, form)
        self.called = [self._call() for _ in range(2)]
        self.given = self.called[0]
        self.recorded = ""  # how what it gave while its ops were recorded differs
        self.operands, self.results = [], []  # keys of each op's
        self._recorder = self._record()
        self.ops, self.draws = self._recorder.ops, self._recorder.draws
        self.operands = self.operands[:len(self.ops) - 1] + [self.results[-1]]
        self.keys = {key for row in self.operands + self.results for key in row}

    def _call(self):
        """Returns what the function gives, as it is called."""
        def run(call):
            before = random_states()
            out = Given(call())
            self._random = self._random or any(not torch.equal(x, y) for x, y in zip(before, random_states()))
            return out

        return self._again(run)

    def _record(self):
        recorder = Recorder(self._before, lambda op, results: self.results.append([value_hash(x) for x in results]))
        try:
            given = self._again(lambda call: Given(recorder.run(call)))
        except Exception as error:  # of what cannot be seen op by op, only the results are known
            self.recorded = f"it failed: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
            self.operands, self.results = [], []
            recorder = Recorder(self._before, lambda op, results: self.results.append([value_hash(x) for x in results]))
            recorder.run(lambda: self.called[-1].tensors)
            recorder.unmade.clear()
            return recorder
        rows = [row for row in differences(self.called[-1], given, ("the call", "the recorded run")) if not alike([row])]
        self.recorded = "; ".join(map(output_text, rows))
        return recorder

    def _before(self, index, args, kwargs):
        del self.operands[index:]  # an op that only allocates has no operands
        self.operands.append([value_hash(x) for _, x in tensors_in((args, kwargs)) if has_bits(x)])

    def hold_to(self, other):
        unmade = unmade_texts(self._recorder, self._known, self._again)
        self._opaque = list(dict.fromkeys([*self._opaque, *self._recorder.opaque, *unmade]))
        parts = collections.defaultdict(list)  # parts of an op's results that other ops get: (op that gets it, which operand, key)
        for op, keys in zip(self.ops, self.operands):
            for n, (key, source) in enumerate(zip(keys, op.sources)):
                if source is not None and key not in self.results[source]:
                    parts[source].append((op.index, n, key))
        self.is_common, self.nodes, support = [], [], []
        for op, operands, results in zip(self.ops[:-1], self.operands, self.results):
            got = set()
            for key, source in zip(operands, op.sources):
                got |= {key} if key in other.keys else support[source] if source is not None else set()
            support.append(frozenset(got))
            in_parts = bool(parts[op.index]) and all(key in other.keys for _, _, key in parts[op.index])
            self.is_common.append(in_parts or all(key in other.keys for key in results))
            if not self.is_common[-1]:
                found = [(("result", op.index, n), key) for n, key in enumerate(results)]
                found += [(("operand", at, n), key) for at, n, key in parts[op.index]]
                self.nodes += [Node(op.index, at, key, support[-1]) for at, key in found if key not in other.keys]

    def summary(self):
        first = next((op.to_dict() for op, common in zip(self.ops, self.is_common) if not common), None)
        return {"ops": len(self.is_common), "common": sum(self.is_common), "first": first, "values": values_text(self.given),
                "unseen": self.given.unseen, "opaque": self._opaque, "recorded": self.recorded}

    def notes(self, key):
        """Returns what is to be known of the calls; key: the function's letter."""
        out = []
        if self.draws or self._random:
            by = f" ({', '.join(filter(None, self.draws))})" if self.draws else ""
            out.append(f"{key} draws random numbers{by}")
        if self.given.foreign:
            out.append(f"{key} gives what is no tensor: {listed(self.given.foreign)}; it is compared, but the ops of other libraries that made "
                       "it are not seen")
        steady = differences(*self.called, ("the first call", "the second"))
        if not alike(steady):
            told = "; ".join(output_text(row) for row in steady if not alike([row]))
            out.append(f"{key} does not give the same in two equal calls ({told})")
        return out

    def through(self, index):
        """Returns the names of the ops without counterparts between common values and an op."""
        seen, wanted = [], [index]
        while wanted:
            new = {source for at in wanted for source in self.ops[at].sources
                   if source is not None and not self.is_common[source]}
            wanted = sorted(new - set(seen))
            seen += wanted
        return [self.ops[at].name for at in sorted(seen)]

    def values(self, nodes):
        """Returns the values of these nodes, from a second run."""
        wanted, out = {node.at for node in nodes}, {}

        def keep(kind, index, tensors):
            for n, x in enumerate(tensors):
                if (kind, index, n) in wanted:
                    out[kind, index, n] = x.detach().clone()

        self._again(Recorder(
            lambda index, args, kwargs: keep("operand", index, [x for _, x in tensors_in((args, kwargs)) if has_bits(x)]),
            lambda op, results: keep("result", op.index, results)).run)
        return [out[node.at] for node in nodes]

    def orders(self, index, arch):
        """Returns what explains the nearest product from which an op's result was computed, which may be the op itself:
        (which op, as explanations() has it)."""
        while not is_product(self.ops[index].name):
            before = [x for x in self.ops[index].sources if x is not None and not self.is_common[x]]
            if not before:
                break
            index = before[0]
        got, gave = [], []

        def before(at, args, kwargs):
            if at == index:
                got[:] = copied([args, kwargs])

        def after(op, results):
            if op.index == index:
                gave.append(results[0].detach().clone())

        self._again(Recorder(before, after).run)
        of = explanations(self.ops[index].name, *got, gave, arch)
        return index, of if isinstance(of, str) else of[0]


def first_pair(one, other):
    """Returns the first node of one side, and the node of the other, that are nearest to each other: (node, node,
    difference); None if there are none."""
    groups = collections.defaultdict(list)
    for node in other.nodes:
        groups[node.group].append(node)
    tried = set()
    for node in one.nodes:
        if node.group in tried or node.group not in groups:
            continue
        tried.add(node.group)
        mine = [x for x in one.nodes if x.group == node.group][:CANDIDATES]
        theirs = groups[node.group][:CANDIDATES]
        xs, ys = one.values(mine), other.values(theirs)
        table = [[nearest_form(x, y) for y in ys] for x in xs]
        for at, row in enumerate(table):
            best = min(range(len(row)), key=lambda n: row[n][0])
            if min(range(len(table)), key=lambda n: table[n][best][0]) == at:
                return mine[at], theirs[best], {"shape": list(ys[best].shape), **difference(row[best][1], ys[best])}
    return None


def nearest_form(x, y):
    """Returns (distance, x in the shape of y), with the axes of x, or all of its elements, in the order in which it is nearest."""
    x = x.to(y.device)
    forms = [x.reshape(y.shape)]
    if 2 <= x.dim() <= MOST_AXES:
        wanted = [n for n in y.shape if n != 1]
        forms += [z.reshape(y.shape) for z in (x.permute(order) for order in itertools.permutations(range(x.dim())))
                  if [n for n in z.shape if n != 1] == wanted]
    return min(((distance(z, y), z) for z in forms), key=lambda pair: pair[0])


def distance(x, y):
    if x.is_complex() or y.is_complex():
        x, y = (torch.view_as_real(z.to(torch.complex128)) for z in (x, y))
    norm = float((x.double() - y.double()).norm() / y.double().norm().clamp_min(1e-300))
    return norm if math.isfinite(norm) else math.inf


def pair_dict(sides, pair, arch):
    out = {}
    for key, side, node in zip("ab", sides, pair):
        at, orders = side.orders(node.op, arch)
        foreign = [n for n, (k, source) in enumerate(zip(side.operands[node.op], side.ops[node.op].sources))
                   if source is None and k not in sides[side is sides[0]].keys]
        out[key] = {**side.ops[node.op].to_dict(), "through": side.through(node.op), "orders_of": side.ops[at].to_dict(),
                    "orders": orders, "foreign_inputs": foreign}
    return {**out, **pair[2]}
