# SPDX-License-Identifier: Apache-2.0
"""Runs a forward pass again, to look inside of it, and leaves everything as it was: what modules hold and torch's random numbers.

What could be seen from outside, or cannot be put back, is not run again: hooks of others, several processes, arguments that are
more than tensors and plain values, and an op that would write to a tensor that was there before.
"""
import collections
import copy
import random
import sys

import torch

from ._inside import WritesElsewhere
from ._names import tensors_in
from ._recorder import copied, storage_of

PLAIN_VALUES = (torch.Tensor, int, float, bool, str, type(None), torch.dtype, torch.device)
HELD = (list, dict, set, collections.deque)  # what a module may fill while it runs


class Call:
    """A call of a model's forward. What it got is told apart from what it was changed to by the versions of its tensors."""

    def __init__(self, inner, args, kwargs):
        self.inner, self.args, self.kwargs = inner, args, kwargs
        self._versions = self._seen()
        self._random = torch.get_rng_state()

    def _seen(self):
        return [x._version for _, x in tensors_in((self.args, self.kwargs)) if not x.is_inference()]

    def can_run_again(self, model):
        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        hooks = any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
        return not distributed and not hooks and is_plain((self.args, self.kwargs)) and self._seen() == self._versions

    def run_again(self, model, inside, made):
        """Runs the model again within an Inside, whose ops may write to the storages `made` alone."""
        kept = [(module, dict(vars(module)), dict(module._buffers), held_in(module)) for module in model.modules()]
        states = random.getstate(), sys.modules["numpy"].random.get_state() if "numpy" in sys.modules else None
        try:
            with torch.random.fork_rng(devices=[]):
                torch.set_rng_state(self._random)
                args, kwargs = copied((self.args, self.kwargs))
                for module in model.modules():
                    for name, x in module._buffers.items():
                        module._buffers[name] = None if x is None else x.detach().clone()
                made.update(storage_of(x) for x in model.buffers() if x.layout is torch.strided)
                inside.open()
                self.inner(*args, **kwargs)
        except WritesElsewhere:
            pass  # what was seen until then counts
        finally:
            inside.close()
            random.setstate(states[0])
            if states[1] is not None:
                sys.modules["numpy"].random.set_state(states[1])
            for module, attributes, buffers, held in kept:
                vars(module).clear()
                vars(module).update(attributes)
                module._buffers.clear()
                module._buffers.update(buffers)
                for one, before in held:
                    one.clear()
                    (one.update if hasattr(one, "update") else one.extend)(before)


def is_plain(x):
    """Whether there is nothing but tensors and plain values in lists, tuples and dicts."""
    if type(x) in (list, tuple):
        return all(map(is_plain, x))
    if type(x) is dict:
        return all(map(is_plain, x.values()))
    return isinstance(x, PLAIN_VALUES)


def held_in(module):
    """Returns [(container, a copy of it)] of what a module holds besides its parameters, buffers and modules."""
    return [(x, copy.copy(x)) for name, x in vars(module).items() if isinstance(x, HELD) and name not in ("_buffers", "_parameters",
            "_modules")]
