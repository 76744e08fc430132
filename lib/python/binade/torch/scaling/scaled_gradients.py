# SPDX-License-Identifier: Apache-2.0
"""Looks at the gradients of an optimizer for a loss scaler, and divides them by the scale."""
import collections
import dataclasses
import math

import torch

from ..observe.tensors import FLOATING, Counter, local, placement_of

# torch.amp has a GradScaler since torch 2.3, and kernels for the CPU with it.
HAS_CPU_KERNEL = hasattr(getattr(torch, "amp", None), "GradScaler")
COUNTER = Counter(False)
FP16_LARGEST = 65504.0


def wide(x):
    """Returns the values of a tensor in a dtype in which torch computes."""
    return x if x.dtype == torch.float64 else x.float()


def check_and_unscale(gradients, found_inf, inv_scale):
    """Does on the CPU what torch._amp_foreach_non_finite_check_and_unscale_ does."""
    for x in gradients:
        if x.dtype not in FLOATING:
            raise NotImplementedError(f"gradients of {x.dtype} are not unscaled")
        if not COUNTER.finite(x):
            found_inf.fill_(1)
        x.copy_(wide(x) * inv_scale)


def scaled_gradients(optimizer, allow_fp16):
    """Returns the gradients of an optimizer's parameters; of sparse ones the values."""
    out = []
    for gradient, parameter in [(p.grad, p) for group in optimizer.param_groups for p in group["params"] if p.grad is not None]:
        if gradient.dtype == torch.float16 and not allow_fp16:
            raise ValueError("Attempting to unscale FP16 gradients.")
        if gradient.is_sparse and gradient.dtype == torch.float16:  # sums of one place's values may overflow
            gradient = parameter.grad = gradient.coalesce()
        out.append(gradient._values() if gradient.is_sparse else gradient)
    return out


@dataclasses.dataclass(frozen=True)
class Look:
    """What a policy sees of the scaled gradients of an iteration.

    nothing: what it has seen at first. more(seen, x, parameters): the same after one more gradient x. end(engine, seen, found):
    updates the engine.
    """

    nothing: object
    more: object
    end: object


def amax(x):
    """Returns the largest magnitude of the elements, or infinity if one is not finite."""
    if x.device.type != "cpu":
        return float(wide(x).abs().nan_to_num(math.inf, math.inf).amax()) if x.numel() else 0.0
    summary = COUNTER.count(x)
    return math.inf if summary.nan or summary.inf else summary.largest or 0.0


def largest(seen, x, parameters):
    return max(seen, amax(x))


def end_largest(engine, seen, found):
    engine.update(torch.tensor([seen], dtype=torch.float32))


def bins(seen, x, parameters):
    edge = torch.tensor(FP16_LARGEST * parameters["edge"], dtype=torch.float32, device=x.device)
    below = x.numel() if amax(x) <= float(edge) else int((wide(x).abs() <= edge).sum())  # NaN is above
    return seen[0] + below, seen[1] + x.numel() - below


def end_bins(engine, seen, found):
    state = engine.state_dict()
    engine.load_state_dict(state | {"below": state["below"] + seen[0], "above": state["above"] + seen[1]})
    engine.update([])


LOOKS = {"log_max": Look(0.0, largest, end_largest), "histogram": Look((0, 0), bins, end_bins)}
LOOKS_NOT = Look(None, None, lambda engine, seen, found: engine.update(found))


def seen_by(policy, seen, x, parameters):
    """Returns what a policy has seen after one more gradient."""
    if placement_of(x) not in ("", "replicated"):
        raise ValueError(f"loss scaler {policy} looks at whole gradients, and this process has a part of them; take a policy "
                         "that does not look")
    return LOOKS[policy].more(seen, local(x), parameters)


def unscale(gradients, found_inf, inv_scale):
    """Unscales gradients in place. Returns for each device a tensor of whether one of them was not finite."""
    found, groups = {}, collections.defaultdict(list)
    for x in gradients:
        groups[x.device, x.dtype].append(x)
    for (device, _), group in groups.items():
        if device not in found:
            found[device] = found_inf.to(device=device, copy=True)
        has_kernel = HAS_CPU_KERNEL or device.type != "cpu"
        kernel = torch._amp_foreach_non_finite_check_and_unscale_ if has_kernel else check_and_unscale
        kernel(group, found[device], inv_scale.to(device=device))
    return found
