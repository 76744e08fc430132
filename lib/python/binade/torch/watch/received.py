# SPDX-License-Identifier: Apache-2.0
"""Gradients that are ill in .grad where all that the backward pass made was finite: they were added up or communicated to that."""
import torch

from ..observe.attaching import rank_of_process

HOOK = ("communicate in BF16 (bf16_compress_hook) or in FP32, or make the gradients smaller: a mean in place of a sum as the loss, "
        "or a smaller loss scale")
RANKS = "look at what each rank's own watch tells, or at all_reduce() of the watches, which tells on which rank it was first"
NARROW = "add up in FP32, divide each loss by the number of micro-batches before its backward pass, or take a smaller loss scale"


def hook_of(wrappers):
    """Returns the name of the communication hook of a model of DistributedDataParallel, "" without one; None if no model is one."""
    for model in wrappers:
        if isinstance(model, torch.nn.parallel.DistributedDataParallel):
            return model._get_ddp_logging_data().get("comm_hook") or ""
    return None


def name_received(step, wrappers):
    """Says of a step's event that the backward pass was finite, where that was so, and what may have made its gradients ill.

    wrappers: the modules that wrap the models."""
    event = step.event
    if event is None or event.role != "dW" or not event.found or event.origin is not None or not step.saw_gradients:
        return
    event.received = True
    hook, narrow = hook_of(wrappers), event.dtype in ("F16", "BF16") and step.passes > 1
    made = ("the gradients of outputs and all that the backward pass made of them were finite in this process" if step.nodes is not None
            else "the gradients of outputs were finite in this process, and the ops of the backward pass were not looked at (every=1 does)")
    if hook:
        where, event.cure = f"where they are communicated, by {hook}" + (
            ", in FP16, whose largest number is 65504" if "fp16" in hook else ""), HOOK
    elif hook is not None:
        where, event.cure = "in another rank, or in the sum over ranks", RANKS
    elif narrow:
        where, event.cure = f"where they are added up in {'FP16' if event.dtype == 'F16' else 'BF16'}, as over micro-batches", NARROW
    else:
        where = ("where they are added up or communicated (over micro-batches, over ranks) or written to (a hook of the parameter, "
                 "the loop itself)")
    passes = f" of {step.passes} passes" if step.passes > 1 and hook is None else ""
    if step.nodes is None and hook is None:
        where = f"in the backward pass of its layer, or {where}"
    if hook is None and rank_of_process() is not None:
        event.cure = RANKS
    event.cause = f"{made}: it arose {where}{passes}"
