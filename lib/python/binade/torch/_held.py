# SPDX-License-Identifier: Apache-2.0
"""Tensors that wait: those inside of a block are looked at only if what the block makes of them holds Inf or NaN."""
import collections

from ._tensors import local

MOST = 8  # tensors that wait; of more the oldest are looked at

Entry = collections.namedtuple("Entry", "layer x version inputs")


def version_of(x):
    return 0 if x.is_inference() else x._version


class Held:
    """look(layer, x, inputs) → whether x is finite; tells where it is not."""

    def __init__(self, look):
        self._look, self._entries = look, collections.deque()

    def add(self, layer, x, inputs):
        """inputs(): what its op got, by name."""
        self._entries.append(Entry(layer, x, version_of(x), inputs))
        if len(self._entries) > MOST:
            self._look_at(self._entries.popleft())

    def drop(self, block=None):
        """Those inside of a block, whose output is finite; None: all."""
        if block is None:
            self._entries.clear()
        else:
            self._entries = collections.deque(one for one in self._entries if not one.layer.startswith(block + "."))

    def search(self):
        """Looks at all of them, in order, up to the first that is not finite."""
        while self._entries and self._look_at(self._entries.popleft()):
            pass
        self.drop()

    def about_to_hide(self, x, is_finite):
        """Of one that goes where its Inf would not be seen any more."""
        if any(entry.x is x for entry in self._entries) and not is_finite(x):
            self.search()

    def _look_at(self, entry):
        if entry.version != version_of(entry.x):
            return True  # what it was is gone
        x = local(entry.x)
        return x is None or self._look(entry.layer, x, entry.inputs)
