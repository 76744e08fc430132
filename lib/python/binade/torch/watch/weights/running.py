# SPDX-License-Identifier: Apache-2.0
"""Running statistics of BatchNorms: those that stand still far from those of the batches, since what each adds is below half an ulp in
narrow buffers; and those, and other buffers, that Inf or NaN reached, as in a step that was skipped."""
import dataclasses

import torch

from ...observe.names import joined
from ...observe.tensors import FLOATING, PLAIN, local
from ..values.words import shown
from .lost_updates import FORMATS, ILL, NARROW

LEAST = 4  # updates that tell
SHOWN = 12  # names
NORMS = torch.nn.modules.batchnorm._NormBase
STATISTICS = ("running_mean", "running_var")
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

    @property
    def format(self):
        return FORMATS[FLOATING[self.module.running_var.dtype]]

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


def ill_buffers(names):
    """Returns {(name, whether these are statistics of a norm): "NaN" or "Inf"} of buffers that hold NaN, or as statistics Inf. names: the
    Names of the models."""
    out = {}
    for module in names.all_modules():
        for key, buffer in module.named_buffers(recurse=False):
            x, of_norm = local(buffer), key in STATISTICS and isinstance(module, NORMS)
            if x is None or not x.numel() or x.element_size() < 2:
                continue
            what = "NaN" if bool(x.isnan().any()) else "Inf" if of_norm and bool(x.isinf().any()) else ""
            name = names.modules[id(module)]
            place = (name if of_norm else joined(name, key)), of_norm
            if what and out.get(place) != "NaN":
                out[place] = what
    return out


def named(names):
    """Returns the first of some names as text, and how many more there are."""
    return ", ".join(map(shown, names[:SHOWN])) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def ill_text(ill, since, is_before):
    """Returns a line about buffers that hold NaN or Inf. ill: some of ill_buffers(). since: the step in which they got it, or None.
    is_before: whether they held it when watching began."""
    (_, of_norm), what = next(iter(ill.items()))
    many, whose = len(ill), named([name for name, _ in ill])
    when = " already when watching began" if is_before else f", from step {since} on" if since is not None else ""
    if not of_norm:
        return (f"Buffers hold {what}{when}: {whose}. No gradient reaches them, so that no skipped step keeps them from it: set them anew, or load "
                "them from a checkpoint that is finite, and leave ill batches out before the forward pass.")
    norms = "The running statistics of a norm hold" if many == 1 else f"Running statistics of {many} norms hold"
    gives = "gives NaN" if what == "NaN" else "gives no more than their shift, as x / Inf is 0"
    cure = ("look at what loaded them" if is_before else "leave such batches out before the forward pass" if what == "NaN" else
            "scale down what these norms get, or keep them in FP32 (FP16 holds 65504 at most)")
    how = "" if is_before else "a forward pass goes into them, whether or not a scaler or the loop then skips the step, and "
    return (f"{norms} {what}{when}: {whose}. With them evaluation (model.eval()) {gives}, however well the training goes: {how}no later batch "
            "takes it out again. Call reset_running_stats() "
            f"of them and let batches run through the model in train mode before it is evaluated; {cure}.")


def still_text(rows, many):
    """Returns a line about statistics that stand still. rows: (its Running, *what its stays() yields) of one name of a buffer, momentum and
    format. many: how many norms have buffers in that."""
    of, key, _, kept, batch = max(rows, key=lambda row: row[2])
    least, most = min(row[2] for row in rows), max(row[2] for row in rows)
    format, one = of.format, len(rows) == 1
    shares = f"{100 * least:.3g}{f' to {100 * most:.3g}' if most > least else ''} %"
    whose = shown(of.name) if one else f"{len(rows)} of {many} BatchNorms"
    example = "" if one else f"of {of.name} "
    others = " Of the others no more than half of the channels do." if len(rows) < many else ""
    names = "" if one else f" They are {named([row[0].name for row in rows])}.{others}"
    return (f"The {key} of {whose} stands still in {shares} of {'its' if one else 'their'} channels after {of.updates:,} updates ({example}at "
            f"{kept:.3g}, where the batches have {batch:.3g}): at a momentum of {of.module.momentum:g} what each adds is below half an ulp in "
            f"{format}, and evaluation will use wrong statistics. Keep the BatchNorm{'' if one else 's'}, or {'its' if one else 'their'} buffers, in "
            f"FP32.{names}")


class RunningStatistics:
    """Those of the BatchNorms with narrow buffers, and buffers of all modules that are ill. names: the Names of the models."""

    def __init__(self, names):
        self._of, self._names = {}, names
        self._before, self._since = ill_buffers(names), {}
        for module in (x for x in names.held if isinstance(x, torch.nn.modules.batchnorm._BatchNorm)):
            buffers = {key: getattr(module, key, None) for key in STATISTICS}
            if all(type(x) in PLAIN and FORMATS.get(FLOATING.get(x.dtype)) in NARROW for x in buffers.values()):
                self._of[id(module)] = Running(module, names.modules[id(module)], {key: x.detach().float() for key, x in buffers.items()})

    def __contains__(self, key):
        """Returns whether a module, given by its id, is one of the BatchNorms."""
        return key in self._of

    def see(self, module, args, counted):
        """Sees that one of the BatchNorms ran."""
        of = self._of[id(module)]
        if module.training and module.track_running_stats and module.momentum and args:
            of.see(args[0], counted)

    def see_ill(self, step):
        """Sees which buffers are ill after a step, as its number, in which something was."""
        for key in ill_buffers(self._names):
            self._since.setdefault(key, step)

    def ill(self):
        """Returns what is to be said of buffers that are ill, in lines."""
        groups = {}
        for key, what in ill_buffers(self._names).items():
            is_before = key in self._before
            since = None if is_before else self._since.get(key)
            groups.setdefault((key[1], what, since, is_before), {})[key] = what
        return [ill_text(of, since, is_before) for (_, _, since, is_before), of in groups.items()]

    def ends(self):
        """Returns what is to be said of those that stand still, in lines."""
        groups = {}
        for of in self._of.values():
            for key, *found in of.stays():
                groups.setdefault((key, of.module.momentum, of.format), []).append((of, key, *found))
        many = {key: sum((of.module.momentum, of.format) == key[1:] for of in self._of.values()) for key in groups}
        return [still_text(rows, many[key]) for key, rows in groups.items()]
