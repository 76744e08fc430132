# SPDX-License-Identifier: Apache-2.0
"""What optimizers keep of updates that their weights lose in rounding, so that these are not lost: the weight itself in a wider dtype
(master weights), what rounding left over (compensated summation, after Kahan), the lower half of a split FP32 weight; or chance, which
keeps them in the mean (stochastic rounding)."""
import functools
import inspect
import math

import torch

from ...observe.tensors import local

DEPTH = 3  # of lists and dicts in which tensors are looked for
LOW_HALVES = frozenset(filter(None, (torch.int16, getattr(torch, "uint16", None))))
# States that are moments, however small they are.
MOMENTS = frozenset("acc_delta exp_avg exp_avg_sq exp_inf grad_avg m max_exp_avg_sq momentum momentum_buffer prev square_avg v".split())
STEP = 1.5  # ulps; a weight that moves by no more has moved by one
FEW = 16  # one weight that moves beside so many that do not tells nothing: its update may be more than an ulp
HALF = 0.505  # ulps, and a little for a remainder that is rounded itself: what rounding to nearest leaves is no more
SMALL = 0.05  # ulps: what is less in the mean where weights move is no remainder
BALANCED = 0.8  # a weight and what rounding left of it move together by less than this share of what the weight moves by


def tensors_in(x, path=()):
    """Yields (path, tensor) of what lies in a tensor, a list or a dict."""
    if isinstance(x, torch.Tensor):
        yield path, x
    elif len(path) < DEPTH and isinstance(x, dict | list | tuple):
        for key, y in x.items() if isinstance(x, dict) else enumerate(x):
            yield from tensors_in(y, (*path, key if isinstance(key, int | str) else id(key)))


def generators_of(optimizer):
    """Returns the generators of random numbers that an optimizer may draw from, as a list: torch's, its own, its module's."""
    own = [y for x in (vars(optimizer), *optimizer.param_groups) for y in x.values()]
    own += getattr(inspect.unwrap(getattr(type(optimizer), "step", None)), "__globals__", {}).values()
    devices = {p.device.index for group in optimizer.param_groups for p in group["params"] if p.is_cuda}
    return [torch.default_generator, *(torch.cuda.default_generators[n or 0] for n in devices),
            *(x for x in own if isinstance(x, torch.Generator))]


def ulps_of(x, dtype):
    """Returns the ulp that each element has in a dtype."""
    of = torch.finfo(dtype)
    return torch.ldexp(torch.ones_like(x), torch.frexp(x.abs().clamp(min=of.tiny)).exponent + round(math.log2(of.eps)) - 1)


def is_bounded(x, old, new):
    """Returns whether x may be what rounding left of each weight, which is no more than an ulp of it."""
    ulps = ulps_of(torch.maximum(old.abs(), new.abs()).float(), new.dtype)
    return bool((x.float().abs() <= ulps).all())


class Beside:
    """What an optimizer has beside its weights in one step. Made before the step."""

    def __init__(self, optimizer, weights, is_known):
        """weights: [(parameter, values)]. is_known: whether the optimizer is one of torch's, which keep nothing of the kind."""
        self._optimizer, self._before = optimizer, {}
        self._narrow = any(x.element_size() == 2 for _, x in weights)
        self._draws = self._states = ()
        if self._narrow:
            self._draws = generators_of(optimizer)
            self._states = [x.get_state() for x in self._draws]
        self._is_known, self._by_chance = is_known, False
        for parameter, values in () if is_known else weights:
            for path, x in self._tensors(parameter):
                if x.is_floating_point() and is_bounded(x, values, values):
                    self._before[id(parameter), path] = x.detach().clone()

    @functools.cached_property
    def _attributes(self):
        out = {}
        for key, x in vars(self._optimizer).items():
            for path, y in tensors_in(x, (key,)) if key not in ("state", "param_groups") else ():
                out.setdefault(tuple(y.shape), []).append((path, y))
        return out

    def _tensors(self, parameter):
        """Yields (path, values) of the tensors of a parameter's shape that the optimizer has."""
        of = getattr(self._optimizer, "state", {}).get(parameter, {})
        for path, x in (*tensors_in(of), *self._attributes.get(tuple(parameter.shape), ())):
            if x is not parameter and x.shape == parameter.shape:
                x = x.detach() if x.dtype in LOW_HALVES and type(x) is torch.Tensor else local(x)
                if x is not None:
                    yield path, x

    def has_stepped(self, weights, closure):
        """weights: [(before, after)]. closure: whether the step ran the model, which may draw random numbers, too."""
        self.__dict__.pop("_attributes", None)
        drawn = not closure and any(not torch.equal(x.get_state(), was) for x, was in zip(self._draws, self._states))
        self._by_chance = drawn and any(not torch.equal(*pair) for pair in weights)

    def keeps(self, parameter, part, old, new):
        """Returns whether what a Part of a parameter loses in a step is kept. old, new: its values before and after."""
        if self._by_chance and new.element_size() == 2:
            return True
        return any(self._is_kept_in(path, x, self._before.get((id(parameter), path)), part, old, new)
                   for path, x in self._tensors(parameter))

    def _is_kept_in(self, path, x, before, part, old, new):
        x = part.of(x).detach()
        if x.dtype in LOW_HALVES:
            return new.dtype == torch.bfloat16 and bool(x.any())
        if not x.is_floating_point():
            return False
        if x.element_size() > new.element_size():
            near = x.to(new.dtype)
            if torch.equal(near, new) and not torch.equal(near.to(x.dtype), x):
                return True
        if self._is_known or path[-1] in MOMENTS:
            return False
        return is_remainder(x, torch.zeros_like(x) if before is None else part.of(before), old, new)


def is_remainder(x, before, old, new):
    """Returns whether a state is what rounding left of a weight: it is below the weight's ulp, and where the weight moves it is below half of
    one, though not far, or moves back where the weight moves by one; where hardly a weight does, it has both signs, as squares and counts
    have not."""
    if not x.any() or not is_bounded(x, old, new):
        return False
    moved, ulps = new.double() - old.double(), ulps_of(torch.maximum(old.abs(), new.abs()).double(), new.dtype)
    moves = moved != 0
    one = moves & (moved.abs() <= STEP * ulps)
    if int(one.sum()) * FEW < one.numel():
        return bool((x > 0).any() and (x < 0).any())
    left = (x.double().abs() / ulps)[moves]
    if float(left.max()) <= HALF and float(left.mean()) >= SMALL:
        return True
    moved, by = moved[one], (x.double() - before.double())[one]
    return any(float((moved + sign * by).abs().sum()) < BALANCED * float(moved.abs().sum()) for sign in (1, -1))
