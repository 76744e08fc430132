# SPDX-License-Identifier: Apache-2.0
"""Running statistics of BatchNorms that narrow buffers keep: those that stand still far from those of the batches, since what each
adds is below half an ulp, and those that hold Inf or NaN."""
import dataclasses

import torch

from ..observe.names import listed
from ..observe.tensors import FLOATING, PLAIN
from .lost_updates import FORMATS, ILL, NARROW
from .words import shown

LEAST = 4  # updates that tell
PLAIN_DTYPES = frozenset((torch.float16, torch.bfloat16, torch.float32, torch.float64))
BATCH_NORM, KEYS = torch.nn.modules.batchnorm._BatchNorm, ("running_mean", "running_var")
FAR = 0.1  # of the deviation, or of the variance: how far the statistics of batches must lie from what is kept to matter


@dataclasses.dataclass
class Running:
    """The statistics of a BatchNorm. first: those at first, {name of a buffer: values in FP32}. updates: how many there were. sums: of those of
    the batches that were looked at, by the same names; batches: how many that were."""

    module: torch.nn.Module
    name: str
    first: dict
    updates: int = 0
    sums: dict = dataclasses.field(default_factory=dict)
    batches: int = 0

    def see(self, x, counted):
        """Sees what the module got. counted: whether its statistics are looked at."""
        self.updates += 1
        if counted or not self.batches:
            axes = [axis for axis in range(x.dim()) if axis != 1]
            var, mean = torch.var_mean(x.detach().float(), dim=axes)
            for key, value in (("running_mean", mean), ("running_var", var)):
                self.sums[key] = self.sums.get(key, 0) + value
            self.batches += 1

    def stays(self):
        """Yields (name of a buffer, in which share of the channels it stands still, a value that it keeps, that of the batches beside it)."""
        if self.updates < LEAST or not self.batches:
            return
        batch = {key: value / self.batches for key, value in self.sums.items()}
        for key, first in self.first.items():
            kept, dtype = getattr(self.module, key).float(), getattr(self.module, key).dtype
            difference, momentum = batch[key] - kept, self.module.momentum
            wide = first + (batch[key] - first) * (1 - (1 - momentum) ** self.updates)  # what FP32 would have
            size = batch["running_var"].sqrt() if key == "running_mean" else torch.maximum(batch[key], kept)
            stays = ((kept + momentum * difference).to(dtype) == kept) & ((kept + (wide - kept) / 2).to(dtype) != kept)
            ill = stays & (difference.abs() > FAR * size)
            share = float(ill.float().mean())
            if share > ILL:
                at = int((ill * difference.abs()).argmax())
                yield key, share, float(kept[at]), float(batch[key][at])


def ill_buffers(module):
    """Returns {name of a buffer of running statistics that holds Inf or NaN: (whether NaN is among these, its dtype)}; None if there are no
    such buffers."""
    buffers = [(key, x) for key in KEYS if type(x := getattr(module, key, None)) in PLAIN and x.dtype in PLAIN_DTYPES and not x.is_meta]
    return {key: (bool(x.isnan().any()), x.dtype) for key, x in buffers if not bool(x.isfinite().all())} if buffers else None


def ill_text(modules):
    """Yields lines about running statistics that are Inf or NaN though the weights beside them are not. modules: [(module, its name)]."""
    ill = [(name, buffers) for module, name in modules if (buffers := ill_buffers(module)) and all(
        bool(x.isfinite().all()) for x in module.parameters(recurse=False))]
    ill = [(shown(name), buffers) for name, buffers in ill]
    large = [name for name, buffers in ill if not any(is_nan for is_nan, _ in buffers.values()) and {torch.float16} == {
        dtype for _, dtype in buffers.values()}]
    others = [name for name, _ in ill if name not in large]
    if large:
        yield (f"The running_var of {listed(large)} holds Inf: the variance of what the layer gets is beyond FP16's largest number, 65504, to which "
               "the buffer rounds it. Training computes with that of the batch, but evaluation divides by Inf. Keep the BatchNorm, or its "
               "buffers, in FP32.")
    if others:
        yield (f"The running statistics of {listed(others)} hold Inf or NaN, though the weights there are finite: a batch that gave some went into "
               "them, and stays there, also where its step was skipped, so that evaluation gives NaN. Reset them (reset_running_stats()), "
               "and pass over such batches before the forward pass.")


class RunningStatistics:
    """Those of the BatchNorms with narrow buffers. names: the Names of the models."""

    def __init__(self, names):
        self._of, self._all = {}, [(x, names.modules[id(x)]) for x in names.held if isinstance(x, BATCH_NORM) and ill_buffers(x) == {}]
        for module in (x for x in names.held if isinstance(x, BATCH_NORM)):
            buffers = {key: getattr(module, key, None) for key in KEYS}
            if all(type(x) in PLAIN and FORMATS.get(FLOATING.get(x.dtype)) in NARROW for x in buffers.values()):
                self._of[id(module)] = Running(module, names.modules[id(module)], {key: x.detach().float() for key, x in buffers.items()})

    def see(self, module, args, counted):
        """Sees that a module ran."""
        of = self._of.get(id(module))
        if of is not None and module.training and module.track_running_stats and module.momentum and args:
            of.see(args[0], counted)

    def ends(self):
        """Yields what is to be said of them, in lines."""
        yield from ill_text(self._all)
        for of in self._of.values():
            for key, share, kept, batch in of.stays():
                format = FORMATS[FLOATING[getattr(of.module, key).dtype]]
                yield (f"The {key} of {of.name} stands still in {100 * share:.3g} % of its channels after {of.updates:,} updates (at {kept:.3g}, where "
                       f"the batches have {batch:.3g}): at a momentum of {of.module.momentum:g} what each adds is below half an ulp in {format}, "
                       "and evaluation will use wrong statistics. Keep the BatchNorm, or its buffers, in FP32.")
