# SPDX-License-Identifier: Apache-2.0
"""An optimizer's eps that is zero in the dtype in which it is added to a divisor."""
import math

import torch

from ...observe.tensors import FLOATING, local


def least_of(dtype):
    """Returns the smallest positive number of a dtype."""
    info = torch.finfo(dtype)
    return info.tiny * info.eps


def is_lost(eps, dtype):
    return torch.tensor(eps, dtype=torch.float64).to(dtype).item() == 0


# States that are divided by, as torch's optimizers name them: whether eps is added to the root of a state, which holds squares, or
# beside the state itself.
DIVISORS = {"exp_avg_sq": True, "square_avg": True, "sum": True, "exp_inf": False}


def second_moment(state, parameter):
    """Returns (name, dtype) of the state that is divided by: a known one, or the last one of the parameter's shape; None where its states
    have other shapes, and nobody knows."""
    alike = [(key, x.dtype) for key, x in state.items() if isinstance(x, torch.Tensor) and x.shape == parameter.shape
             and x.dtype in FLOATING and key not in ("step", "momentum_buffer", "max_exp_avg_sq")]
    return next((one for one in alike if one[0] in DIVISORS), alike[-1] if alike else None)


def serving_eps(optimizer, state, dtype):
    """Returns (an eps that serves in a dtype, beside what it stands)."""
    least = math.log10(least_of(dtype))
    if isinstance(optimizer, torch.optim.Adadelta):
        return 10.0 ** (math.ceil(least) + 1), "beside the squares of gradients"
    if not DIVISORS.get(state, True):
        return 10.0 ** (math.ceil(least) + 1), "beside gradients that are zero"
    return 10.0 ** math.floor(least / 2), "beside the gradients whose squares are lost"


def least_step_size(optimizer, group, state, parameter):
    """Returns by what torch's Adam and AdamW divide eps before they add it, at most 1. They do so where the step is differentiable or can
    be captured, but for the lists of tensors that torch makes by default of parameters on a GPU."""
    foreach = group.get("foreach")
    in_lists = parameter.is_cuda if foreach is None else foreach
    divides = group.get("differentiable") or (group.get("capturable") and not in_lists)
    if not divides or not isinstance(optimizer, (torch.optim.Adam, torch.optim.AdamW)):
        return 1.0
    return min(1.0, float(group["lr"]) / (1 - float(group["betas"][0]) ** float(state["step"])))


def lost_eps(optimizer, parameters):
    """Returns {(eps, dtype, name of the state): ids of parameters} of those with an eps above 0 that is 0 in their states' dtype.

    parameters: ids of those that are watched. torch's fused kernels, which compute in FP32, are none."""
    out = {}
    for group in optimizer.param_groups:
        eps = group.get("eps")
        if not isinstance(eps, float) or eps <= 0 or group.get("fused"):
            continue
        for parameter in group["params"]:
            state = getattr(optimizer, "state", {}).get(parameter, {}) if id(parameter) in parameters else {}
            of = second_moment(state, parameter)
            if of is None or local(parameter) is None or not is_lost(eps, of[1]):
                continue
            size = least_step_size(optimizer, group, state, parameter)
            if size > 0 and is_lost(eps / size, of[1]):
                out.setdefault((eps, of[1], of[0]), []).append(id(parameter))
    return out


def note_lost_eps(optimizer, parts, rows, causes):
    """Adds what lost_eps() finds to rows, a list of dicts, and to causes, {layer: text}. parts: {id of a parameter: its Parts}."""
    name = type(optimizer).__name__
    for (eps, dtype, state), ids in lost_eps(optimizer, parts).items():
        layers = [part.layer for one in ids for part in parts[one]]
        row = next((row for row in rows if (row["optimizer"], row["eps"], row["of"]) == (name, eps, state)), None)
        if row is None:
            serving, beside = serving_eps(optimizer, state, dtype)
            row = {"optimizer": name, "eps": eps, "dtype": FLOATING[dtype], "of": state, "least": least_of(dtype), "serving": serving,
                   "beside": beside, "layers": []}
            rows.append(row)
        row["layers"] += [layer for layer in layers if layer not in row["layers"]]
        causes.update((layer, f"{name}'s eps {eps:g} is 0 in {FLOATING[dtype]}, the dtype of {state}") for layer in layers)
