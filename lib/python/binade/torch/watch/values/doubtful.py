# SPDX-License-Identifier: Apache-2.0
"""Zeros in FP16 and BF16 of which nobody saw whether rounding made them: those of 1 − x where x is 1 in the format, as in a noise schedule,
and of buffers, which were cast before the run.

    sub, rsub with a number gives zeros ─▶ sums, products and roots of them ─▶ an op that is singular there
"""
import torch

from ...observe.recorder import storage_of
from .exact import NARROW, Exact
from .positions import tensors
from .zeros import PASSES

DIFFERENCES = frozenset(("sub", "rsub"))


def format_of(x):
    return NARROW[x.dtype]


def buffer_of(x, modules):
    """Returns the name of a buffer of modules in which a tensor lies; None if there is none."""
    return next((name for module in modules for name, own in module.named_buffers(recurse=False) if storage_of(own) == storage_of(x)), None)


class Doubtful:
    """The tensors of one step that hold such zeros of differences, by storage."""

    def __init__(self):
        self._of = {}

    def see(self, name, args, out, place):
        """Sees what an op gave. place(): the op and its line, as text."""
        text = ""
        if name in DIFFERENCES and out.dtype in NARROW and not (isinstance(args[1], torch.Tensor) and args[1].dim()):
            is_mask = bool(((args[0] == 0) | (args[0] == 1)).all()) if storage_of(args[0]) != storage_of(out) else False
            text = place() if bool((out == 0).any()) and not is_mask else ""
        if self._of:
            came = next((self._of[storage_of(x)] for x in tensors(args) if storage_of(x) in self._of), "") if name in PASSES else ""
            self._of.pop(storage_of(out), None)
            text = text or came
        if text:
            self._of[storage_of(out)] = text

    def exact(self, exact, x, modules):
        """Returns an Exact with what may have made the zeros of x, an op's operand. modules: those that run, the innermost first."""
        if exact is None or not isinstance(x, torch.Tensor) or x.dtype not in NARROW:
            return exact
        place, format = self._of.get(storage_of(x)), format_of(x)
        if place:
            return Exact(f"{exact.why}; its zeros come of {place}, a difference of numbers that are equal in {format}",
                         f"compute that difference in FP32, of numbers that were never {format} (a noise schedule of {format} ends so), "
                         f"or {exact.cure}")
        name = buffer_of(x, modules)
        if name is None:
            return exact
        return Exact(f"{exact.why}; that is the buffer {name}, in {format}, where a number below "
                     f"{torch.finfo(x.dtype).smallest_normal * torch.finfo(x.dtype).eps / 2:.1g} is 0", f"keep {name} in FP32, or {exact.cure}")
