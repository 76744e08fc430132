# SPDX-License-Identifier: Apache-2.0
"""A DistributedDataParallel that training passes by: its module is called and it itself never is, so that it averages no gradients."""
import torch

from ...observe.attaching import rank_of_process
from ...observe.names import unwrapped
from .unused import Left, Unused

CALL = "call the DistributedDataParallel itself, net(x), not net.module(x) or the model that it was made of"
NOT_AVERAGED = "the forward pass does not go through DistributedDataParallel, which then averages no gradients (" + CALL + ")"
WHY = (f"either {NOT_AVERAGED}, or backward passes ran under no_sync(), or weights were loaded or changed on one rank only, or a rank's "
       "optimizer or scaler made other steps")
# The same, by the role of what differs first.
WHY_OF = {
    "dW": f"the gradients of this step were not averaged: either {NOT_AVERAGED}, or the backward passes of the step ran under no_sync(), the "
          "last one, too, or a hook for communication (register_comm_hook) gives back what its own rank has",
    "weight": "either weights were loaded or changed on one rank only (load them before DistributedDataParallel is made, or broadcast those of "
              f"rank 0), or earlier gradients were not averaged: {NOT_AVERAGED}, or backward passes ran under no_sync(); or a rank's optimizer or "
              "scaler made other steps",
}
LEAST = 2  # calls under no_sync() that tell, and steps, before the second of which buckets are not arranged


class Bypassed:
    """The models of DistributedDataParallel among wrappers, whether each was called since, and how often in all, while none of its calls with
    gradients was outside of no_sync()."""

    def __init__(self, wrappers):
        self._uncalled = {id(one): one for one in wrappers if isinstance(one, torch.nn.parallel.DistributedDataParallel)}
        self._unsynced = dict.fromkeys(self._uncalled, 0)
        self._wrappers, self._written = list(self._uncalled.values()), Written()

    @property
    def _suspects(self):
        return rank_of_process() is not None and bool(self._uncalled or self._unsynced)

    def leave(self, optimizers):
        """A backward pass, or what clips or unscales gradients, has ended."""
        if self._suspects:
            self._written.leave(optimizers)

    def are_used(self, optimizers):
        """Gradients are clipped, unscaled or stepped with next."""
        self._written.look(optimizers)

    def has_stepped(self, optimizer):
        if self._suspects:
            self._written.has_stepped(optimizer)

    def called(self, module):
        self._uncalled.pop(id(module), None)
        if id(module) in self._unsynced and torch.is_grad_enabled():
            if getattr(module, "require_backward_grad_sync", True):
                del self._unsynced[id(module)]
            else:
                self._unsynced[id(module)] += 1

    def ends(self, was_trained):
        """Yields a line for each that was not called, or under no_sync() alone. was_trained(module): whether it gave outputs with gradients."""
        if not self._suspects or self._written.is_so:  # averaged by hand, perhaps
            return
        if any(n >= LEAST for n in self._unsynced.values()) and not any(map(has_hooks, self._wrappers)):
            yield (f"All {max(self._unsynced.values())} forward passes of DistributedDataParallel ran under no_sync(), the last one before each step, "
                   "too: no gradient is averaged, and each rank trains a model of its own. Leave no_sync() in the last micro-batch of each "
                   "step, forward and backward. Where that is meant, as for local SGD, average the weights now and then.")
        for one in self._uncalled.values() if self._written.steps >= LEAST else ():
            # Calls of its method forward() pass no hook, and make it arrange its buckets, unless it looks for unused parameters.
            may_arrange = getattr(one, "static_graph", False) or not getattr(one, "find_unused_parameters", True)
            is_left = may_arrange and not getattr(one, "_has_rebuilt_buckets", True) and not has_hooks(one)
            if is_left and was_trained(unwrapped(one)):
                yield ("The forward passes did not go through DistributedDataParallel, which was never called while its module was: it "
                       f"averages no gradients, and each rank trains a model of its own. {CALL[0].upper()}{CALL[1:]}.")


class Written:
    """Whether somebody wrote to gradients between a backward pass and the step, or to weights between two steps, as loops do that average
    them by hand. steps: how many were seen."""

    def __init__(self):
        self._gradients, self._weights = {}, {}  # id of an optimizer: its Left, and its Unused after its last step
        self.is_so, self.steps = False, 0

    def leave(self, optimizers):
        self._gradients = {} if self.is_so else {id(one): Left(one) for one in optimizers}

    def look(self, optimizers):
        for one in optimizers:
            left, weights = self._gradients.pop(id(one), None), self._weights.pop(id(one), None)
            if left is not None:
                left.is_used_by(one)
            self.is_so = self.is_so or (left is not None and left.differed()) or (weights is not None and weights.moved(one))

    def has_stepped(self, optimizer):
        self.steps += 1
        if not self.is_so:
            self._weights[id(optimizer)] = Unused()
            self._weights[id(optimizer)].leave(optimizer)


def has_hooks(module):
    """Returns whether a parameter has hooks for its gradient, which may average it."""
    return any(p._backward_hooks or getattr(p, "_post_accumulate_grad_hooks", None) for p in module.parameters())
