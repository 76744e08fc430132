# SPDX-License-Identifier: Apache-2.0
"""A DistributedDataParallel that training passes by: its module is called and it itself never is, so that it averages no gradients."""
import torch

from ..observe.attaching import rank_of_process
from ..observe.names import unwrapped

CALL = "call the DistributedDataParallel itself, net(x), not net.module(x) or the model that it was made of"
WHY = ("either the forward pass does not go through DistributedDataParallel, which then averages no gradients (" + CALL + "), or backward "
       "passes ran under no_sync(), or weights were loaded or changed on one rank only, or a rank's optimizer or scaler made other steps")


class Bypassed:
    """The models of DistributedDataParallel among wrappers, and whether each was called since."""

    def __init__(self, wrappers):
        self._uncalled = {id(one): one for one in wrappers if isinstance(one, torch.nn.parallel.DistributedDataParallel)}

    def called(self, module):
        self._uncalled.pop(id(module), None)

    def ends(self, was_trained):
        """Yields a line for each that was not called. was_trained(module): whether it gave outputs with gradients."""
        for one in self._uncalled.values() if rank_of_process() is not None else ():
            # Calls of its method forward() pass no hook, and make it arrange its buckets.
            if not getattr(one, "_has_rebuilt_buckets", True) and was_trained(unwrapped(one)):
                yield ("The forward passes did not go through DistributedDataParallel, which was never called while its module was: it "
                       f"averages no gradients, and each rank trains a model of its own. {CALL[0].upper()}{CALL[1:]}.")
