# SPDX-License-Identifier: Apache-2.0
"""Attaches hooks to the optimizers and scalers of a training loop, and removes them again."""
import gc
import sys

import torch

is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)  # torch 2.1; known to its compiler
functorch_level = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", None)  # torch 2.0
graph_task = getattr(torch._C, "_current_graph_task_id", None)  # -1 outside of a backward pass; since torch 2.1


def derived(kinds):
    """Returns some classes and those derived from them, as a list without repetitions."""
    found = list(kinds)
    for kind in found:  # grows as it goes
        found += type.__subclasses__(kind)
    return list(dict.fromkeys(found))


def living(*kinds):
    """Returns the objects in the process that are of some classes, or of classes derived from them."""
    found = set(derived(kinds))
    return [x for x in gc.get_objects() if type(x) in found]


def scaler_kinds():
    """Returns torch's GradScaler and the classes derived from it, as a list."""
    found = [kind for kind in (getattr(getattr(torch, "amp", None), "GradScaler", None), torch.cuda.amp.GradScaler) if kind]
    return derived(found)


def living_scalers():
    """Returns the enabled GradScalers in the process."""
    return [x for x in living(*scaler_kinds()) if x.is_enabled()]


def optimizers_in(x):
    """Returns the optimizers that an object holds as attributes."""
    return [y for y in getattr(x, "__dict__", {}).values() if isinstance(y, torch.optim.Optimizer)]


def unwrapped_optimizer(optimizer):
    """Returns the optimizer inside of a wrapper that has no state of its own, such as accelerate's."""
    while isinstance(optimizer, torch.optim.Optimizer) and "state" not in vars(optimizer) and (inner := optimizers_in(optimizer)):
        optimizer = inner[0]
    return optimizer


def living_optimizers(parameters):
    """Returns the optimizers that hold some of the parameters (a set of ids); an optimizer inside of another one is left out."""
    found = [x for x in living(torch.optim.Optimizer) if unwrapped_optimizer(x) is x
             and any(id(p) in parameters for group in x.param_groups for p in group["params"])]
    inner = {id(y) for x in found for y in optimizers_in(x)}
    return [x for x in found if id(x) not in inner]


def optimizers_of_copies(parameters):
    """Returns the optimizers in the process that hold FP32 tensors of just the shapes that the parameters of fewer bytes have, as of
    master copies made by hand."""
    narrow = sorted(tuple(p.shape) for p in parameters if isinstance(p, torch.nn.Parameter) and p.element_size() < 4)
    found = []
    for x in living(torch.optim.Optimizer) if narrow else ():
        held = [p for group in x.param_groups for p in group["params"]]
        if all(p.dtype == torch.float32 for p in held) and sorted(tuple(p.shape) for p in held) == narrow:
            found.append(x)
    return found


def copies_note(optimizer):
    """Returns the note on an optimizer of master copies."""
    return (f"not counted: weights, their gradients, updates and states, since {type(optimizer).__name__} holds none of the model's "
            "parameters, but tensors of FP32 of their shapes, as of master copies made by hand. To have them counted, give the optimizer "
            "copies that are Parameters, copies = [torch.nn.Parameter(p.detach().float()) for p in model.parameters()], and "
            'watch({"model": model, "master": torch.nn.ParameterList(copies)}, optimizer)')


def rank_of_process():
    """Returns the rank of this process among several of torch.distributed; None of one alone."""
    dist = torch.distributed
    return dist.get_rank() if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1 else None


def passes_by():
    """Whether modules are being traced, compiled or transformed, so that there are no values to count."""
    return (is_compiling() or torch._C._get_tracing_state() is not None
            or (functorch_level is not None and functorch_level() is not None))


def repeats():
    """Whether this forward pass only repeats an earlier one, for a backward pass that needs its saved tensors.

    Activation checkpointing without reentry does so. With reentry the first pass runs under no_grad, and the second one counts.
    """
    if graph_task is not None and graph_task() == -1:
        return False
    frame = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_name.startswith("unpack") and code.co_filename.endswith("utils/checkpoint.py"):
            return True
        frame = frame.f_back
    return False


def takes_closure(args, kwargs):
    """Whether an optimizer's step computes its gradients itself."""
    return any(callable(x) and not hasattr(x, "param_groups") for x in (*args, *kwargs.values()))


def outer_of(optimizers):
    """Returns the optimizer of the given ones within whose step() this optimizer's step() calls its hooks now; None if there is none.

    It is the optimizer itself, whose class calls its parent's step(), or one that works with it."""
    frame = sys._getframe(2)  # frame of the function that torch wraps around each step
    code, frame = frame.f_code, frame.f_back
    while frame is not None:
        if frame.f_code is code:
            arguments = frame.f_locals.get("args") or (None,)
            for one in optimizers:
                if one is arguments[0]:
                    return one
        frame = frame.f_back
    return None
