# SPDX-License-Identifier: Apache-2.0
"""Holds the tensors inside of a block, which are searched for Inf and NaN only if the output of the block holds some."""
import collections

from ...observe.tensors import local

MOST = 8  # tensors that wait; of more the oldest are looked at


def version_of(x):
    try:
        return x._version
    except RuntimeError:  # made under inference_mode
        return 0


def states_of(tensors):
    """Returns what differs once one of some tensors, each of which may be None, is written to or another is set."""
    try:
        return [x if x is None else (id(x), x._version) for x in tensors]
    except RuntimeError:
        return [x if x is None else (id(x), version_of(x)) for x in tensors]


class Held:
    """Tensors that are held. look(layer, x, source) returns whether x is finite, and reports it if not; source: the
    op that made x. turn(): the forward pass in which x comes; that of the tensor that is looked at is `turn`."""

    def __init__(self, look, turn=lambda: None):
        self._look, self._entries, self._turn, self.turn = look, collections.deque(), turn, None

    def add(self, layer, x, source):
        self._entries.append((layer, x, version_of(x), source, self._turn()))
        if len(self._entries) > MOST:
            self._look_at(*self._entries.popleft())

    def drop(self, block=None):
        """Drops the tensors inside of a block whose output is finite; with None all."""
        if block is None:
            self._entries.clear()
        else:
            self._entries = collections.deque(one for one in self._entries if not one[0].startswith(block + "."))

    def search(self):
        """Searches the held tensors, in order, up to the first that is not finite."""
        while self._entries and self._look_at(*self._entries.popleft()):
            pass
        self.drop()

    def about_to_hide(self, x, is_finite):
        """Looks at a tensor before an op after which its Inf would not be seen."""
        if any(held is x for _, held, *_ in self._entries) and not is_finite(x):
            self.search()

    def _look_at(self, layer, x, version, source, turn):
        if version != version_of(x):
            return True  # its values are gone
        x, self.turn = local(x), turn
        finite = x is None or self._look(layer, x, source)
        self.turn = None
        return finite
