# SPDX-License-Identifier: Apache-2.0
"""Ranks that are to hold the same model and do not, where nothing but a loop's own calls keeps them alike."""
from ... import _binade
from ..observe.names import listed


class Apart:
    """What the windows of all ranks say of it."""

    def __init__(self):
        self._layers = None  # those whose gradients are the same on all ranks while their weights are not, in all windows so far
        self._first = None  # the first window's: (whether all weights were the same, whether no gradient was)
        self._since = None  # the step from which on weights are not the same that were

    def see(self, step, summaries):
        """Sees a window, which begins with a step. summaries: {(layer, role): bytes} of each rank."""
        there = [key for key in summaries[0] if all(key in one for one in summaries)]
        same = {key: all(one[key] == summaries[0][key] for one in summaries) for key in there if key[1] in ("weight", "dW")}
        graded = [layer for layer, role in same if role == "dW" and (layer, "weight") in same
                  and all(_binade.RangeSummary.from_bytes(one[layer, role]).nonzero for one in summaries)]
        if not graded:
            return
        apart = [layer for layer in graded if same[layer, "dW"] and not same[layer, "weight"]]
        self._layers = apart if self._layers is None else [layer for layer in self._layers if layer in apart]
        if self._first is None:
            self._first = all(same[layer, "weight"] for layer in graded), not any(same[layer, "dW"] for layer in graded)
        if self._since is None and self._first == (True, True) and not any(same[layer, "weight"] for layer in graded):
            self._since = step

    @property
    def lines(self):
        """What is to be said of it, as a list."""
        if self._layers:
            return [f"The ranks hold different models: the gradients of {listed(self._layers)} are the same on all ranks, as averaged ones, "
                    "and the weights that they belong to are not, in any window. Begin with the same weights everywhere: broadcast the "
                    "parameters of rank 0 before the first step, or seed all ranks alike."]
        if self._since is not None:
            return [f"The ranks began with the same weights, and from step {self._since} on all of these differ: their gradients were not "
                    "averaged over the ranks. Where that is not meant (as for local SGD), all_reduce the gradients before each step."]
        return []
