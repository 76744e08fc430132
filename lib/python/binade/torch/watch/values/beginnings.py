# SPDX-License-Identifier: Apache-2.0
"""Numbers that are small since a weight began with zeros and moves away: those of a branch behind it (the B of a LoRA, a zero convolution, the
gate of a ReZero or of an adaLN-Zero, the scale of a residual branch's last norm) were zero at first, and grow.

    zero in the first counted step ─▶ tiny, and larger from step to step ─▶ as large as those of any other layer
"""
import dataclasses

FIRST = 8  # counted steps with updates in which a weight behind a branch may lose them
RISE = 0.1  # binades by which the mean magnitude of numbers that grow rises at least once while their step's number doubles
MORE = 1.1  # times as many numbers that are not zero as before: others than before have begun to grow
SLACK = 1 / 16  # by which the share of zeros, as a ReLU's, differs from batch to batch


@dataclasses.dataclass
class Beginning:
    """What is known of a layer and role. zeros: how many zeros it had in the first counted step. steps: how many counted steps with
    numbers that are not zero came after it. most: the largest number of these in a step. best: the largest mean of their exponents since
    then. at: in which of the steps."""

    zeros: int
    steps: int = 0
    most: int = 0
    best: float = -float("inf")
    at: int = 0

    def add(self, summary):
        if summary.nonzero:
            self.steps += 1
            mean = float(summary.exponents @ summary.counts) / summary.nonzero
            if mean >= self.best + RISE or summary.nonzero > MORE * self.most:
                self.best, self.at = mean, self.steps
            self.most = max(self.most, summary.nonzero)

    @property
    def grows(self):
        return self.steps <= 2 * self.at


class Beginnings:
    """What began with zeros, in the steps that are counted."""

    def __init__(self):
        self._of = {}  # (layer, role): Beginning; None while no step was seen
        self._has_branch = None  # whether a weight, no bias, was all zero in the first counted step

    def see(self, summaries):
        """Takes the summaries of a counted step, {(layer, role): RangeSummary}."""
        if self._has_branch is None:
            self._has_branch = any(role == "weight" and not x.nonzero and not layer.endswith("bias") for (layer, role), x in summaries.items())
            self._of = {key: Beginning(x.zeros) for key, x in summaries.items() if x.zeros} if self._has_branch else {}
        else:
            for key, of in self._of.items():
                if key in summaries:
                    of.add(summaries[key])

    def grow(self, key, summary, small):
        """Whether of the numbers of a layer and role so many that are small may be those that were zero at first, and grow."""
        of = self._of.get(key)
        return of is not None and of.grows and small <= of.zeros - summary.zeros + SLACK * summary.values

    def is_young(self, layer):
        """Whether the gradient of a weight was zero at first, grows, and has not done so for long."""
        of = self._of.get((layer, "dW"))
        return of is not None and of.grows and of.steps <= FIRST
