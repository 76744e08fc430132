# SPDX-License-Identifier: Apache-2.0
"""A run as it was counted: windows of steps, each with an exact summary a layer and role."""
import copy
import dataclasses
import json
import re

from .. import _binade
from .._documents import page, table, text
from ._advice import advice_of
from ._nonfinite import scale_text

SCALED = " (scaled)"  # ends the names of layers of gradients as they are in the loop, where the unscaled ones are counted, too


@dataclasses.dataclass
class Window:
    """Watched steps counted together: how many of them, from the first to the last; the loss scale in the first, the last of
    several."""

    first: int
    last: int
    steps: int
    loss_scale: "float | None" = None
    summaries: dict = dataclasses.field(default_factory=dict, repr=False)  # (layer, role): RangeSummary
    updates: dict = dataclasses.field(default_factory=dict, repr=False)  # layer: what 16-bit weights would not see

    def copy(self):
        """One that changes no more; its summaries belong to who gets it."""
        return dataclasses.replace(self, summaries={key: copy.copy(x) for key, x in self.summaries.items()},
                                   updates=dict(self.updates))

    def add(self, other):
        """The steps that follow these."""
        self.last = other.last
        self.steps += other.steps
        add_to(self.summaries, other.summaries)
        add_to(self.updates, other.updates)


def add_to(sums, more):
    """sums[key] + more[key], new objects, for others may hold the old ones; what is new is taken as it is."""
    for key, x in more.items():
        sums[key] = sums[key] + x if key in sums else x


class Windows:
    """The windows of a run of any length, `most` of them or fewer.

    Once there are so many, neighbours become one, and each new window takes twice as many steps.
    """

    def __init__(self, most):
        self.list, self.most, self.each = [], most, 1

    def add(self, window):
        """One watched step. Returns the window that it completes, if it does."""
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
    """What a layer's tensors of a role are: safetensors' name of the dtype, of several the widest; the shape, None where it
    is not always the same; placement: "sharded" or "replicated", of DTensors."""

    dtype: str
    shape: "tuple | None"
    placement: str = ""

    def see(self, other):
        if self.shape != other.shape:
            self.shape = None
        if self.dtype != other.dtype:
            self.dtype = max(self.dtype, other.dtype, key=lambda name: (int(re.search(r"\d+", name)[0]), name))


class Run:
    """What watching has counted: reports, advice and files are made of it. Watch is one, and all_reduce() gives one."""

    def __init__(self, every, windows, layers, notes=(), nonfinite=()):
        self.every = every
        self._windows = windows
        self._layers = layers
        self.notes = list(notes)
        self._nonfinite = list(nonfinite)

    @property
    def layers(self):
        """{(layer, role): Layer}, in the model's order."""
        return dict(self._layers)

    @property
    def windows(self):
        """The Windows of the run so far, in order, copies."""
        return [window.copy() for window in self._windows]

    def summaries(self):
        """{(step, layer, role): RangeSummary}; the step is the first of its window."""
        return {(window.first, layer, role): copy.copy(summary) for window in self._windows
                for (layer, role), summary in window.summaries.items()}

    def summary(self, layer, role):
        """The RangeSummary of a layer's tensors of a role, of all windows together; layer None: of all layers. KeyError where
        there is none."""
        found = [summary for window in self._windows for (name, of), summary in window.summaries.items()
                 if of == role and (name == layer if layer is not None else not name.endswith(SCALED))]
        if not found:
            raise KeyError(f"{role} of {layer or 'any layer'}: it was not counted")
        return sum(found[1:], copy.copy(found[0]))

    def first_nonfinite(self):
        """The NonFinite that came first, or None."""
        return self._nonfinite[0] if self._nonfinite else None

    def nonfinite(self):
        """A NonFinite for each step that had Inf or NaN, the first hundred of them."""
        return list(self._nonfinite)

    def report(self, **options):
        """The range report of the run, as binade.report() makes it of files; options: headroom, target_loss, prefer, formats,
        tensors. ValueError where no step was watched."""
        return self._counted().report(**options)

    def save(self, path):
        """Writes the run, exactly, whole or not at all: a file that `binade report` reads, "run.binade"."""
        self._counted().save(path)

    def advise(self, headroom=1, target_loss=1e-3, prefer="s_max"):
        """The Advice that follows from the run: which loss scale, which format a layer, which layers to keep in FP32.

        Options as those of report(). ValueError where no step was watched."""
        return advice_of(self, headroom, target_loss, prefer)

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

    def _counted(self):
        if not self._windows:
            raise ValueError(f"no watched step is over; steps 0, {self.every}, {2 * self.every} … are watched"
                             + "".join(f"; {note}" for note in self.notes))
        out = _binade._CountedRun()
        for window in self._windows:
            out.add_window(window.first, window.last, window.steps, window.loss_scale)
        layers = self.of_one_scale()
        for window in self._windows:
            for (layer, role), of in layers.items():
                summary = window.summaries.get((layer, role))
                if summary is not None:
                    out.add(window.first, layer, role, of.dtype, of.shape, summary)
            for layer, counts in window.updates.items():
                out.add_update(window.first, layer, counts)
        first = self.first_nonfinite()
        out.set_about(self.every, self.notes, json.dumps(first.to_dict()) if first else None)
        return out
