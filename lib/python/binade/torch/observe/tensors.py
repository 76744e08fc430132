# SPDX-License-Identifier: Apache-2.0
"""Counts tensors where they lie: in memory by their address, on a GPU by kernels on it, or by copying them in pieces."""
import math
import warnings

import torch

from ... import _binade
from ..._foreign import torch_table
from .names import tensors_in

# safetensors' names of the floating dtypes.
FLOATING = {
    dtype: name or {"float16": "F16", "float32": "F32", "float64": "F64"}[str(dtype).removeprefix("torch.")]
    for dtype, (name, _) in torch_table(torch).items() if dtype.is_floating_point
}
PIECE = 1 << 24  # elements that are copied from a device at a time
MOST_INPUTS = 16  # tensors that went into an op


PLAIN = (torch.Tensor, torch.nn.Parameter)
OWN_DISPATCH = torch.Tensor.__torch_dispatch__  # the method of classes whose tensors have memory of their own


def placement_of(x):
    """Returns "sharded" or "replicated" for a DTensor, None if it is a partial sum, and "" for any other tensor."""
    placements = getattr(x, "placements", ())
    if any(one.is_partial() for one in placements):
        return None
    return "sharded" if any(one.is_shard() for one in placements) else "replicated" if placements else ""


def local(x):
    """Returns the values of a tensor in this process as a tensor whose memory can be read; None without memory or a floating dtype.

    For a DTensor they are its shard, or None for partial sums; for a sparse tensor the coalesced values.
    """
    if type(x) not in PLAIN:
        if torch.nn.parameter.is_lazy(x):  # of a LazyModule that has not run
            return None
        if hasattr(x, "to_local"):
            if placement_of(x) is None:
                return None
            x = x.detach().to_local()
        if type(x).__name__ == "AsyncCollectiveTensor":
            x = x.detach().wait()
        if type(x).__torch_dispatch__ is not OWN_DISPATCH:
            return None
    if x.layout is torch.sparse_coo:
        x = x.detach().coalesce().values()
    if x.dtype not in FLOATING or x.is_nested or x.layout is not torch.strided or x.is_meta:
        return None
    return x if x.data_ptr() != 0 or x.numel() == 0 else None


def is_dense(x):
    """Whether the elements of a tensor fill its memory, in any order."""
    if x.is_contiguous():
        return True
    expected = 1
    for stride, size in sorted(zip(x.stride(), x.shape)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


def in_one_piece(x):
    """Returns the tensor, or a copy if its elements do not fill its memory."""
    if x.is_neg():
        x = x.detach().resolve_neg()
    return x if is_dense(x) else x.detach().contiguous()


class Counter:
    """Counts tensors, and looks for values that are not finite.

    sqnr: whether squared errors in the report's formats are summed. emulated: an architecture, to count as on a GPU, on the emulated
    device.
    """

    def __init__(self, sqnr, emulated=""):
        self.sqnr, self._emulated = sqnr, emulated
        self._why_copied = None  # why tensors on a GPU are copied; None: not known yet
        if not isinstance(emulated, str):
            raise TypeError(f"emulated: text is wanted, not {type(emulated).__name__}")
        if emulated and (why := _binade._has_device(emulated)):
            raise ValueError(f"emulated={emulated!r}: {why}")

    def count(self, x):
        """Returns the RangeSummary of a tensor that local() returned."""
        x = in_one_piece(x)
        if x.device.type == "cpu" and not self._emulated:
            return _binade._count_at(x.data_ptr(), x.numel(), FLOATING[x.dtype], self.sqnr)
        return self._count_elsewhere(x)

    def count_times(self, x, factor):
        """Returns the RangeSummary of float32(x) · float32(factor), as GradScaler multiplies; for float64 of the
        product in float64."""
        x = x.detach() if x.dtype == torch.float64 else x.detach().float()
        return self.count(x * torch.full((), factor, dtype=torch.float32, device=x.device).to(x.dtype))

    def finite(self, x):
        """Returns whether all values are finite: True or False, or for a tensor that is not on the CPU a tensor, for
        which no one waits."""
        if not (x.is_contiguous() or is_dense(x)):
            x = x.detach().contiguous()
        if x.is_cpu:
            return not _binade._any_nonfinite_at(x.data_ptr(), x.numel(), FLOATING[x.dtype])
        with torch.no_grad():
            return torch.isfinite(x if x.element_size() > 1 else x.float()).all()

    def _count_elsewhere(self, x):
        flat = x.detach().as_strided((x.numel(),), (1,))
        on_device = x.dtype != torch.float64 and self._device_counts(x)
        out = _binade.RangeSummary() if self.sqnr else _binade.RangeSummary(formats=[])
        for begin in range(0, flat.numel(), PIECE):
            piece = flat[begin:begin + PIECE]
            if not on_device:
                piece = piece.cpu()
                out += _binade._count_at(piece.data_ptr(), piece.numel(), FLOATING[piece.dtype], self.sqnr)
            elif self._emulated:
                piece = piece.float()
                out += _binade._count_on_device(piece.data_ptr(), piece.numel(), 0, self.sqnr, self._emulated)
            else:
                with torch.cuda.device(x.device):
                    piece = piece.float()
                    stream = torch.cuda.current_stream().cuda_stream
                    out += _binade._count_on_device(piece.data_ptr(), piece.numel(), stream, self.sqnr, "")
        return out

    def _device_counts(self, x):
        if self._emulated:
            return True
        if self._why_copied is None:
            self._why_copied = _binade._has_device("") if x.is_cuda and not torch.version.hip else f"they lie on {x.device.type}"
            if self._why_copied:
                warnings.warn(f"binade.torch.watch: tensors are copied to the CPU to be counted, {self._why_copied}; a watched "
                              "step takes as long as the copies: give a larger every", RuntimeWarning, stacklevel=2)
        return not self._why_copied


def unscaled(counter, x, scale):
    """Returns the RangeSummary of x / scale, which is exact if the scale is a power of two."""
    if scale == 1:
        return counter.count(x)
    fraction, exponent = math.frexp(scale)
    if fraction != 0.5:
        return counter.count_times(x, 1 / scale)
    if counter.sqnr:  # errors are those of the unscaled values
        return counter.count(x.detach().double() / scale)
    try:
        return counter.count(x).scaled(1 - exponent)
    except ValueError:  # a float64 value would leave the range
        return counter.count(x.detach() / scale)


def described(counter, named, written):
    """Returns a list of dicts about the inputs of an op: name, dtype, and the figures of each floating tensor in {name: anything},
    except the one to which the op has written."""
    out = []
    for name, x in named.items():
        for path, tensor in tensors_in(x):
            values = local(tensor)
            if values is None or values.data_ptr() == written:
                continue
            s = counter.count(values)
            out.append({"name": " ".join([name, *map(str, path)]), "dtype": FLOATING[values.dtype], "values": s.values,
                        "zeros": s.zeros, "negative": s.negative, "nan": s.nan, "inf": s.inf, "smallest": s.smallest, "largest": s.largest})
            if len(out) == MOST_INPUTS:
                return out
    return out
