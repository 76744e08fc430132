# SPDX-License-Identifier: Apache-2.0
"""Compares tensors by their bits, counts differences in ulps, and hashes tensors to 64 bits, to see whether two runs
gave the same."""
import torch

from .tensors import PLAIN, is_dense

INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
PIECE = 1 << 14  # elements that are hashed at a time: they fit a cache, and are fewer than torch starts threads for
FACTORS = 0x9E3779B97F4A7C15 - 2**64, 0xBF58476D1CE4E5B9 - 2**64  # factors of splitmix64, as int64


def has_bits(x):
    """Whether the tensor has elements in memory that can be read one by one."""
    return (type(x) in PLAIN and x.layout is torch.strided and not x.is_nested and not x.is_meta and not x.is_quantized
            and (x.element_size() in INTEGERS or x.is_complex()))


def bits_of(x):
    """Returns the bits as integers of the elements' width; for complex numbers with one more axis."""
    unseen = torch._C._DisableTorchDispatch()  # while it lives, no mode that is open sees what runs here
    x = x.detach().resolve_conj().resolve_neg()
    x = torch.view_as_real(x) if x.is_complex() else x
    x = x.view(INTEGERS[x.element_size()])
    del unseen
    return x


def same_bits(x, y):
    return x.dtype == y.dtype and x.shape == y.shape and torch.equal(bits_of(x), bits_of(y))


def differing(x, y):
    """Returns a mask of where the bits of two floating tensors of one dtype and shape differ; all NaNs count as equal."""
    return (bits_of(x) != bits_of(y)) & ~(x.isnan() & y.isnan())


def mixed(z):
    """Mixes the bits of an int64 tensor, which is overwritten, by a bijection (that of splitmix64)."""
    for factor, shift in zip(FACTORS, (29, 32)):
        z *= factor
        z ^= z >> shift
    return z


def row_hashes(x, axis):
    """Returns an int64 hash for each index of an axis, of all elements with that index in order; with axis None one
    hash of all."""
    x = bits_of(x)
    rows = x.reshape(1, -1) if axis is None else x.movedim(axis, 0).unsqueeze(-1).flatten(1)
    out = torch.zeros(len(rows), dtype=torch.int64, device=x.device)
    width = min(PIECE, max(1, rows.shape[1]))
    height = PIECE // width
    for left in range(0, rows.shape[1], width):
        columns = rows[:, left:left + width]
        weights = mixed(torch.arange(left + 1, left + columns.shape[1] + 1, device=x.device)) * 2 + 1  # odd: no bit is lost
        for top in range(0, len(rows), height):
            out[top:top + height] += (mixed(columns[top:top + height].to(torch.int64, copy=True)) * weights).sum(1)
    return out


def value_hash(x):
    """Returns a hash that is equal for tensors of one dtype that have the same elements, each as often, in any order."""
    flat = bits_of(x)
    flat = flat.as_strided((flat.numel(),), (1,)) if is_dense(flat) else flat.reshape(-1)
    total = sum(int(mixed(flat[at:at + PIECE].to(torch.int64, copy=True) + 1).sum()) for at in range(0, len(flat), PIECE))
    return str(x.dtype).removeprefix("torch."), x.numel(), total % 2**64


def difference(x, y):
    """Returns how two tensors of one shape differ, as a dict: elements, different, ulps and largest; the last two are None if they
    are not known."""
    out = {"elements": x.numel(), "different": 0, "ulps": None, "largest": None}
    if x.dtype == y.dtype:
        differ = bits_of(x) != bits_of(y)
        differ = differ.any(-1) if x.is_complex() else differ
    else:
        differ = x.double() != y.double()
    out["different"] = int(differ.sum())
    if not out["different"] or x.is_complex() or y.is_complex():
        return out
    x, y = x[differ], y[differ]
    finite = torch.isfinite(x) & torch.isfinite(y)
    if bool(finite.any()):
        x, y = x[finite], y[finite]
        out["largest"] = float((x.double() - y.double()).abs().max())
        if x.dtype == y.dtype and x.is_floating_point():
            places = [[place_of(n, x.element_size() * 8) for n in bits_of(z).tolist()] for z in (x, y)]
            out["ulps"] = max(abs(a - b) for a, b in zip(*places))
    return out


def place_of(bits, width):
    """Returns the place of each floating-point number, given by its bits, in the order of all numbers."""
    bits %= 2**width
    magnitude = bits % 2**(width - 1)
    return magnitude if bits == magnitude else -magnitude
