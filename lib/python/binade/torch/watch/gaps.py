# SPDX-License-Identifier: Apache-2.0
"""Notes what of a model is not counted, why, and how much of the model it is."""
import torch

from ..observe.names import listed
from ..observe.tensors import OWN_DISPATCH, PLAIN, placement_of

UNLOOKED = "what runs compiled is not looked into"
UNCALLED = "since no call of these was seen: they run compiled or under torch.func, or others use their parameters"


def why_uncounted(x):
    """Returns why the values of a tensor of which local() has none are not counted; "" of integers, and where there are none."""
    if x.is_complex():
        return "complex numbers"
    if placement_of(x) is None:
        return "partial sums of DTensors"
    if type(x) not in PLAIN and type(x).__torch_dispatch__ is not OWN_DISPATCH and not hasattr(x, "to_local"):
        return f"of class {type(x).__name__}"
    if x.is_nested:
        return "nested tensors"
    if x.is_quantized:
        return f"of dtype {str(x.dtype).removeprefix('torch.')}"
    return "" if x.layout in (torch.strided, torch.sparse_coo) else f"of layout {str(x.layout).removeprefix('torch.')}"


class Gaps:
    """What is not counted so far. names: the Names of the models. notes: a list of texts, in which there is one for each kind.
    shares: a dict {note: share of the parameters' elements} to fill."""

    def __init__(self, names, notes, shares):
        self._names, self._notes, self._shares = names, notes, shares
        self._found, self._lines = {}, {}  # (kind, why): {id: (name, elements)}, and the note that tells of it
        self._called, self._ran = set(), set()  # ids of modules that gave something with gradients, and without

    def called(self, module):
        self._called.add(id(module))

    def was_called(self, module):
        return id(module) in self._called

    def ran(self, module):
        """A module gave something without gradients, as under no_grad."""
        self._ran.add(id(module))

    def how_called(self, module):
        """Returns whether a module was called with gradients; None of one that was called, and never so."""
        return self.was_called(module) or (None if id(module) in self._ran else False)

    def parameter(self, parameter, kind, why):
        """Enters that what belongs to a parameter is not counted: its values, gradients or states."""
        if why:
            self._enter((kind, why), id(parameter), self._names.owners[id(parameter)][1], parameter.numel())

    def output(self, layer, why):
        if why:
            self._enter(("outputs and their gradients", why), layer, layer, 0)

    def step_is_over(self, summaries):
        """Looks for modules whose parameters had gradients while no output of theirs was seen. summaries: {(layer, role): anything}
        of the step."""
        for key, (module, name) in self._names.owners.items():
            gradients = any((part.layer, "dW") in summaries for part in self._names.parts[key])
            told = id(module) in self._called or id(module) in self._names.never_called or id(module) in self._names.within_compiled
            if gradients and not told:
                self._enter(("outputs and their gradients", UNCALLED), key, name, self._names.sizes[key])

    def _enter(self, key, item, name, elements):
        found = self._found.setdefault(key, {})
        if item not in found:
            found[item] = name, elements
            self._tell(key)

    def _tell(self, key):
        kind, why = key
        found = self._found[key]
        names = list(dict.fromkeys(name for name, _ in found.values()))
        elements, whole = sum(n for _, n in found.values()), sum(self._names.sizes.values())
        share = (f" ({len(names)} of {len(self._names.layers)} layers, {100 * elements / max(1, whole):.3g} % of the parameters)"
                 if elements else "")
        line = f"not counted: {kind} of {listed(names)}{share}, {why}"
        before = self._lines.get(key)
        if before in self._notes:
            self._notes[self._notes.index(before)] = line
        else:
            self._notes.append(line)
        self._shares.pop(before, None)
        self._shares[line] = elements / max(1, whole)
        self._lines[key] = line


MOST_UNCOUNTED = 0.1  # a share of the parameters from which on conclusions are doubtful


def uncounted_text(run):
    """Returns a line about what of the model is not counted, if it is enough to doubt what is said of the rest."""
    lines = [note.removeprefix("not counted: ") for note in run.notes if run._uncounted.get(note, 0) >= MOST_UNCOUNTED]
    return [f"What follows is of a part of the model alone. Not counted: {'; '.join(lines)}."] if lines else []
