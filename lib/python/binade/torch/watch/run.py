# SPDX-License-Identifier: Apache-2.0
"""The class Run: a run as it was counted, in windows of steps, each with an exact summary for each layer and role."""
import copy
import dataclasses
import json
import re

from ... import _binade
from ..._documents import page, table, text
from .advice import advice_of
from .loop.own_scale import Turns
from .loop.skip_causes import skipped_for_scale
from .loop.skips import Skips
from .spared import spared, spared_at, spared_text
from .values.nonfinite import scale_text
from .values.residues import left_by_rounding, residues
from .weights.dead import Learning

SCALED = " (scaled)"  # ends the names of layers of gradients as they are in the loop, where the unscaled ones are counted, too


@dataclasses.dataclass
class Window:
    """Watched steps that were counted together.

    first, last: the numbers of the first and the last of them. steps: how many they are. loss_scale: the loss scale of the first
    step, the last one if it had several, or None. summaries: {(layer, role): RangeSummary}.
    """

    first: int
    last: int
    steps: int
    loss_scale: "float | None" = None
    summaries: dict = dataclasses.field(default_factory=dict, repr=False)  # (layer, role): RangeSummary
    updates: dict = dataclasses.field(default_factory=dict, repr=False)  # layer: what 16-bit weights would not see

    def copy(self):
        """Returns a copy that the run no longer changes; its summaries belong to the caller."""
        return dataclasses.replace(self, summaries={key: copy.copy(x) for key, x in self.summaries.items()},
                                   updates=dict(self.updates))

    def add(self, other):
        """Adds the window of the steps that follow these."""
        self.last = other.last
        self.steps += other.steps
        add_to(self.summaries, other.summaries)
        add_to(self.updates, other.updates)


def add_to(sums, more):
    """Adds more[key] to sums[key]. Sums become new objects, since others may hold the old ones."""
    for key, x in more.items():
        sums[key] = sums[key] + x if key in sums else x


class Windows:
    """The windows of a run of any length, at most `most`.

    When there are so many, each two neighbours are merged, and each new window takes twice as many steps.
    """

    def __init__(self, most):
        self.list, self.most, self.each = [], most, 1

    def add(self, window):
        """Adds one watched step. Returns the window that it completes, or None."""
        if self.list and self.list[-1].steps < self.each:
            self.list[-1].add(window)
        else:
            if len(self.list) == self.most:
                self._halve()
            if self.list and self.list[-1].steps < self.each:
                self.list[-1].add(window)
            else:
                self.list.append(window)
        last = self.list[-1]
        return last if last.steps == self.each else None

    def _halve(self):
        self.each *= 2
        for left, right in zip(self.list[::2], self.list[1::2]):
            left.add(right)
        self.list[:] = self.list[::2]


@dataclasses.dataclass
class Layer:
    """What the tensors of a layer and role are.

    dtype: safetensors' name, of several dtypes that of the widest. shape: None if it is not always the same. placement: "sharded" or
    "replicated" for DTensors. binds: of gradients, whether they bind a loss scale, as what stays in FP32 under autocast does not;
    None if that is not known. weights: of outputs, the names of the layers whose weights the module takes. weight_dtype: that of these,
    which are not counted where no optimizer holds them. autocast: of outputs of 16 bits, whether autocast to these was on.
    """

    dtype: str
    shape: "tuple | None"
    placement: str = ""
    binds: "bool | None" = None
    weights: tuple = ()
    weight_dtype: str = ""
    autocast: bool = False

    def bind(self, binds):
        """Says of some of the tensors whether they bind a loss scale; one that does is enough."""
        if binds is not None:
            self.binds = binds or bool(self.binds)

    def see(self, other):
        self.bind(other.binds)
        if self.shape != other.shape:
            self.shape = None
        if self.dtype != other.dtype:
            self.dtype = max(self.dtype, other.dtype, key=lambda name: (int(re.search(r"\d+", name)[0]), name))


class Run:
    """What was counted of a run, from which reports, advice and files are made. A Watch is a Run; Watch.all_reduce()
    returns one."""

    def __init__(self, every, windows, layers, notes=(), nonfinite=(), mistakes=()):
        self.every = every
        self._windows = windows
        self._layers = layers
        self.notes = list(notes)
        self._nonfinite = list(nonfinite)
        self._inside = {}  # layer: what was seen inside of it, {cause: Told}
        self._meant = set()  # layers whose Inf is meant
        self._unusable_scale = []  # the last loss scale, if it is no number above 0, and the first step of these
        self._uncounted = {}  # notes on what is not counted: the share of the parameters' elements
        self._eps = []  # eps of optimizers that are 0 in their states' dtype (eps.py)
        self._stuck = []  # states of optimizers that cannot decay in their dtype (state_decay.py)
        self._skips = Skips()
        self._own_scale = Turns()  # what is seen of a loss scale that the loop keeps by itself
        self._sums = {}  # layer: the largest share that its output is of the sums that it enters (sums.py)
        self._learning = Learning()  # what was seen around the gradients
        self.mistakes = list(mistakes)  # Mistakes in the order of the loop's calls

    @property
    def layers(self):
        """A dict {(layer, role): Layer}, in the model's order."""
        return dict(self._layers)

    @property
    def windows(self):
        """The windows of the run so far, in order, as a list of copies."""
        return [window.copy() for window in self._windows]

    def summaries(self):
        """Returns a dict {(step, layer, role): RangeSummary}; step is the first of its window."""
        return {(window.first, layer, role): copy.copy(summary) for window in self._windows
                for (layer, role), summary in window.summaries.items()}

    def summary(self, layer, role):
        """Returns the RangeSummary of the tensors of a layer and role, of all windows together; with layer None of all layers.

        Raises KeyError if there is none."""
        found = [summary for window in self._windows for (name, of), summary in window.summaries.items()
                 if of == role and (name == layer if layer is not None else not name.endswith(SCALED))]
        if not found:
            raise KeyError(f"{role} of {layer or 'any layer'}: it was not counted")
        return sum(found[1:], copy.copy(found[0]))

    def meant_infinities(self):
        """Returns a set of (layer, role) whose Inf is meant, as a mask's."""
        return {(layer, "act") for layer in self._meant}

    def first_nonfinite(self):
        """The first NonFinite of the run, or None. An overflow that vanished again inside of a module is one, too."""
        return self._nonfinite[0] if self._nonfinite else None

    def nonfinite(self):
        """A list with a NonFinite for each step that had Inf or NaN, of the first hundred such steps."""
        return list(self._nonfinite)

    def report(self, **options):
        """Returns the Report of the run, as binade.report() makes it of files.

        options: headroom, target_loss, target_sqnr, target_weight_sqnr, prefer, formats and tensors of binade.report(). Raises ValueError if no step was watched."""
        return self._counted().report(**options)

    def save(self, path):
        """Writes the run, exactly, to a file that `binade report` reads, such as "run.binade"; whole or not at all."""
        self._counted().save(path)

    def advise(self, headroom=1, target_loss=1e-3, prefer="margin", format="binary16", target_sqnr=20.0, target_weight_sqnr=30.0):
        """Returns the Advice that follows from the run: the narrowest format of each role, a loss scale, a format for each layer, the
        layers to keep in FP32.

        options: as for report(); format: that of the gradients, to which the loss scale belongs. Of a run of which no watched step is over
        it tells what was seen so far."""
        return advice_of(self, headroom, target_loss, prefer, format, target_sqnr, target_weight_sqnr)

    def __repr__(self):
        return f"<binade.torch.{type(self).__name__}: {', '.join(self._words())}>"

    def _words(self):
        many = len(self._windows)
        words = [f"every {self.every}", f"{many} window{'s' * (many != 1)}"]
        if self._windows:
            words.append(f"steps {self._windows[0].first} to {self._windows[-1].last}")
        if self._nonfinite:
            words.append(f"first Inf or NaN in step {self._nonfinite[0].step}")
        return words

    def _repr_html_(self):
        rows = [[window.first, window.last, window.steps, "–" if window.loss_scale is None else scale_text(window.loss_scale)]
                for window in self._windows]
        lines = self.notes + [str(event) for event in self._nonfinite[:3]]
        return page(f"<p>{text(repr(self)[1:-1])}</p>", "".join(f"<p>{text(line)}</p>" for line in lines),
                    table(["first step", "last", "watched steps", "loss scale"], rows, "Windows"))

    def of_one_scale(self):
        """The layers without those of gradients that were counted twice, as they are in the loop besides."""
        return {key: of for key, of in self.layers.items() if not key[0].endswith(SCALED)}

    def residues(self):
        """The (layer, role) of the gradients that rounding may have left of zero, as a set."""
        return residues(self.of_one_scale(), self.summary)

    def left_by_rounding(self):
        """The layers of the biases whose gradients are no more than rounding leaves of zero, or too small to matter, as a set."""
        merged = {}
        for window in self._windows:
            add_to(merged, {key: x for key, x in window.summaries.items() if key[1] in ("dAct", "dW")})
        return left_by_rounding(self.of_one_scale(), lambda *key: merged[key])

    def _counted(self):
        if not self._windows:
            raise ValueError(f"no watched step is over; steps 0, {self.every}, {2 * self.every} … are watched"
                             + "".join(f"; the run was not finite: {event.text}" for event in self._nonfinite[:1]) + "".join(f"; {note}" for note in self.notes))
        out = _binade._CountedRun()
        for window in self._windows:
            out.add_window(window.first, window.last, window.steps, window.loss_scale)
        layers = self.of_one_scale()
        left, of_no_weight = self.residues(), spared(self)
        for window in self._windows:
            for (layer, role), of in layers.items():
                summary = window.summaries.get((layer, role))
                if summary is not None:
                    out.add(window.first, layer, role, of.dtype, of.shape, summary,
                            of.binds is not False and (layer, role) not in left and not spared_at(self, window, role, summary))
            for layer, counts in window.updates.items():
                out.add_update(window.first, layer, counts)
        events = [event for event in self._nonfinite if not event.is_spared]
        for_scale = {id(event) for event in skipped_for_scale(self)}
        told = [event for event in events if not event.is_left_out and id(event) not in for_scale] or [event for event in events if event.phase != "forward"]
        first = told[0] if told else None
        out.set_about(self.every, [*self.notes, *spared_text(of_no_weight, not (self._own_scale.text or self._skips.all))], json.dumps(first.to_dict()) if first else None)
        return out
