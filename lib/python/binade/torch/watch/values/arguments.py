# SPDX-License-Identifier: Apache-2.0
"""Whether Inf and NaN came into a model with what it was called with, as with data that is ill."""
import inspect
import sys

import torch

from ...observe.names import tensors_in
from ...observe.recorder import CALLERS
from ...observe.tensors import local
from .exact import GIVEN, SKIP
from .scaled_loss import LARGEST

RAW = 100  # from which size on data that is not normalized may be what makes a product or a sum of it overflow
SCALE_IT = "normalize or scale this input"


def call_of(modules):
    """Returns the outermost call under way of one of some modules, given as ids: (module, args, kwargs); None if there is none."""
    frame, found = sys._getframe(1), None
    while frame is not None:
        own = frame.f_locals if frame.f_code.co_name in CALLERS or frame.f_code.co_name == "_compiled_call" else {}
        module = own.get("module", own.get("self"))
        if id(module) in modules and isinstance(module, torch.nn.Module):
            found = module, own.get("args", own.get("input", ())), own.get("kwargs", {})  # torch 1.13 calls them input
        frame = frame.f_back
    return found


def by_name(module, args, kwargs):
    """Returns the arguments of a module's forward by name."""
    try:
        return dict(inspect.signature(module.forward).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        return {**{str(at): x for at, x in enumerate(args)}, **kwargs}


def floats_in(given):
    """Yields (name, tensor) of what an argument holds of floating tensors on the CPU."""
    for name, x in given.items():
        for path, tensor in tensors_in(x):
            values = local(tensor)
            if values is not None and values.device.type == "cpu" and not isinstance(tensor, torch.nn.Parameter):
                yield ".".join([name, *map(str, path)]), values


def is_mask(x):
    """Whether what is not finite in a tensor is the -Inf of a mask, beside nothing else but one number."""
    rest = x[~torch.isinf(x)]
    return bool((x != torch.inf).all()) and not bool(x.isnan().any()) and (not rest.numel() or bool((rest == rest[0]).all()))


def come_with_data(event, counter, roots, names, hidden):
    """Enters into an event of a forward pass that what the model was called with held the Inf or NaN, or numbers that autocast's cast to
    FP16 made Inf. Returns whether it did. roots: ids of the models. names: the names of these. hidden: what ill_among() gave of
    the pass that is over."""
    if event.phase == "backward" and event.found.get("nan"):  # what the forward pass hid, as by a tanh of Inf
        event.came = hidden
    call = call_of(roots) if event.role == "act" else None
    if call is None:
        return bool(event.came)
    made = None if event.origin is None else event.origin.first
    if made is not None and made.op == "to_copy" and made.kind == "overflow":
        large = next((name for name, x in floats_in(by_name(*call)) if x.numel() and float(x.abs().max()) > LARGEST and x.element_size() > 2), None)
        if large is not None:
            event.came = f"{large}, which the model was called with, goes beyond FP16's {LARGEST:g}, to which it is cast: {SCALE_IT}"
        return large is not None
    if made is not None and made.kind == "overflow" and not event.cause:
        event.cause = raw_data(call, made)
    may_be = made.exact == GIVEN if made is not None else (
        not event.arose or event.layer in names or not any(x["name"].startswith("input") for x in event.inputs))
    event.came = ill_among(call, counter) if may_be else ""
    return bool(event.came)


def raw_data(call, made):
    """Returns what is told of an argument of large numbers that an op got which overflowed; "" if none is. made: the Origin."""
    sizes = [x["largest"] for x in made.inputs if x["name"].startswith("input") and x["largest"]]
    for name, x in floats_in(by_name(*call)):
        largest = float(x.abs().max()) if x.numel() else 0
        if largest >= RAW and any(abs(size - largest) <= largest * 2.0**-9 for size in sizes):
            return f"it got {name}, with which the model was called and which goes up to {largest:.4g}: {SCALE_IT}, or compute this op in FP32"
    return ""


def ill_among(call, counter):
    """Returns what is told of the first argument of a call, as call_of() gives it, that holds NaN, or Inf that is no mask's; "" if none
    does."""
    if call is None or all(counter.finite(x) for _, x in floats_in({"": call[1:]})):
        return ""
    for name, x in floats_in(by_name(*call)):
        if not counter.finite(x) and not is_mask(x):
            summary = counter.count(x)
            what = " and ".join(f"{n:,} {word}" for n, word in ((summary.inf, "Inf"), (summary.nan, "NaN")) if n)
            return f"{what} in {name}, which the model was called with, as the data of this step have it: {SKIP}"
    return ""
