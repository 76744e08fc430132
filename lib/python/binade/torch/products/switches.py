# SPDX-License-Identifier: Apache-2.0
"""Turns off switches of torch while products are emulated, since the ops that they turn on show no products."""
import contextlib
import functools
import threading

import torch
from torch.utils import checkpoint


class Without:
    """A switch of torch that is off as long as any thread needs it off."""

    def __init__(self, is_on, turn):
        self._is_on, self._turn = is_on, turn
        self._lock, self._wanted, self._was_on = threading.Lock(), 0, None

    @contextlib.contextmanager
    def __call__(self):
        with self._lock:
            if not self._wanted:
                self._was_on = self._is_on()
                self._turn(False)
            self._wanted += 1
        try:
            yield
        finally:
            with self._lock:
                self._wanted -= 1
                if not self._wanted:
                    self._turn(self._was_on)


# oneDNN has an LSTM and more as one op; without it torch makes products of them that can be seen.
without_onednn = Without(torch._C._get_mkldnn_enabled, torch._C._set_mkldnn_enabled)
# The fused attentions of torch since 2.0, of the CPU and of GPUs.
FUSED = [Without(getattr(torch.backends.cuda, f"{name}_sdp_enabled"), getattr(torch.backends.cuda, f"enable_{name}_sdp"))
         for name in ("flash", "mem_efficient", "cudnn") if hasattr(torch.backends.cuda, f"{name}_sdp_enabled")]


@contextlib.contextmanager
def without_fused_attention():
    with contextlib.ExitStack() as stack:
        for without in FUSED:
            stack.enter_context(without())
        yield


# Since torch 2.1 a checkpoint repeats no more than saves tensors: not its last product, of whose operands nothing would be known.
EARLY_STOP = "_enable_checkpoint_early_stop"
without_early_stop = (Without(functools.partial(getattr, checkpoint, EARLY_STOP),
                              functools.partial(setattr, checkpoint, EARLY_STOP))
                      if hasattr(checkpoint, EARLY_STOP) else contextlib.nullcontext)
