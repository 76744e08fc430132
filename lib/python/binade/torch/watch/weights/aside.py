# SPDX-License-Identifier: Apache-2.0
"""Models that are watched beside others and that are not trained, as a teacher or a moving average of weights: that they are not counted,
and whether what is added to narrow weights by hand changes them."""
import dataclasses

import torch

from ...observe.tensors import FLOATING, PLAIN
from ..values.waiting_tensors import version_of
from .lost_updates import FORMATS, ILL, NARROW

MOST = 4096  # values of each parameter that are compared
LEAST_WRITES = 2


@dataclasses.dataclass
class Kept:
    """The first values of a parameter as they were, and how often it had been written to."""

    parameter: torch.Tensor
    version: int
    values: torch.Tensor

    @property
    def dtype(self):
        return self.parameter.dtype


def first_values(x, most=MOST):
    """Returns the first values of a tensor, as a copy."""
    return x.detach().reshape(-1)[:most].clone()


def kept(parameter):
    return Kept(parameter, version_of(parameter), first_values(parameter))


class Aside:
    """The models that are not trained. names: the Names of all. Made when the first step is over."""

    def __init__(self, names, trained):
        """trained(model): whether an output of it had gradients, or an optimizer holds a parameter of it."""
        models = [one for one in names.held if isinstance(one, torch.nn.Module) and id(one) in names.roots]
        models = [one for one in models if not trained(one)] if len(models) > 1 else []
        self._trained = trained
        self._models = [(names.modules[id(one)], one, [kept(p) for p in one.parameters() if type(p) in PLAIN]) for one in models]

    def ends(self):
        """Yields (name, what is said of it, whether it is ill) for each model that was not trained until the end."""
        for name, model, before in self._models:
            if not self._trained(model):
                stays = self._stays([one for one in before if FORMATS.get(FLOATING.get(one.dtype)) in NARROW])
                yield name, f"{name} is not counted: it gave nothing with gradients, and no optimizer holds its weights{stays}", bool(stays)

    @staticmethod
    def _stays(before):
        """Returns words about narrow weights that were written to and that stay, for the most part, as they were; else ""."""
        written = [one for one in before if version_of(one.parameter) - one.version >= LEAST_WRITES]
        values = sum(one.values.numel() for one in written)
        same = sum(int(torch.count_nonzero(first_values(one.parameter) == one.values)) for one in written)
        if same <= ILL * values:
            return ""
        format = FORMATS[FLOATING[written[0].dtype]]
        return (f". They were written to in each step, but {100 * same / values:.3g} % of them are what they were after the first one: in "
                f"{format} a change of less than half an ulp is lost. Keep them in FP32, as a moving average of weights wants it.")
