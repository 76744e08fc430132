# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries as NumPy arrays of the same memory, and NumPy arrays as theirs.

A dtype that NumPy lacks travels as unsigned integers of its bits, with the name that safetensors gives it.
"""
import numpy as np

# ml_dtypes' and torch's names of what NumPy lacks, and safetensors' of the same.
NAMES = {
    "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e8m0fnu": "F8_E8M0",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
}
LIBRARY_NAMES = {short: name for name, short in NAMES.items()}
BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
SIGNED_BITS = {"uint8": "uint8", "uint16": "int16", "uint32": "int32", "uint64": "int64"}


def to_numpy(x):
    """(array, name, wrap): an array of NumPy's own dtypes in C order, the dtype that it stands for ("" for its own), and
    a function of (array, dtype name) that makes of a result what the caller's library has, or None."""
    library = type(x).__module__.partition(".")[0]
    if library == "torch":
        return of_torch(x)
    if library.startswith("jax"):
        array, name, _ = of_numpy(np.asarray(x))
        return array, name, to_jax
    if isinstance(x, np.ndarray | np.generic):
        return of_numpy(np.asarray(x))
    if hasattr(x, "__dlpack__"):
        return of_numpy(np.from_dlpack(x))
    if isinstance(x, str | bytes | dict | set) or x is None:
        raise TypeError(f"an array is wanted, not {type(x).__name__}")
    return of_numpy(np.asarray(x))


def of_numpy(x):
    kind = x.dtype.kind
    if x.dtype.name in NAMES:
        bits = np.ascontiguousarray(x).view(BITS[x.dtype.itemsize])
        return bits.reshape(x.shape), NAMES[x.dtype.name], to_ml_dtypes
    if kind not in "fiub" or x.dtype.itemsize > 8:
        raise TypeError(f"an array of {x.dtype.name}; binade reads numbers of 8 to 64 bits")
    if not x.dtype.isnative:
        raise ValueError(f"an array in the other byte order ({x.dtype.str}); give x.astype(x.dtype.newbyteorder('='))")
    if not (x.flags.c_contiguous and x.flags.aligned):
        x = np.require(x, requirements=["C", "A"]).reshape(x.shape)
    return x, "", None


# torch's dtypes as the name of what NumPy lacks and the integers of its bits; filled with the first tensor.
TORCH = {}


def torch_table(torch):
    for name in ("float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
                 "bool"):
        if hasattr(torch, name):
            TORCH[getattr(torch, name)] = ("", None)
    for name, short in NAMES.items():
        if hasattr(torch, name):
            theirs = getattr(torch, name)
            TORCH[theirs] = (short, torch.uint8 if torch.tensor([], dtype=theirs).element_size() == 1 else torch.int16)


def of_torch(x):
    import torch

    if not TORCH:
        torch_table(torch)
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"an array is wanted, not torch's {type(x).__name__}")
    row = TORCH.get(x.dtype)
    if row is None:
        raise TypeError(f"a tensor of {x.dtype}; binade reads numbers of 8 to 64 bits")
    if x.device.type != "cpu":
        raise ValueError(f"a tensor on {x.device}; give x.cpu()")
    if x.layout is not torch.strided:
        raise ValueError(f"a tensor of layout {x.layout}; give x.to_dense()")
    if x.requires_grad:
        x = x.detach()
    if x.is_neg():
        x = x.resolve_neg()
    if not x.is_contiguous():
        x = x.contiguous()
    name, integers = row
    if not name:
        return x.numpy(), "", to_torch
    bits = x.view(integers).numpy()
    return bits.view(BITS[bits.itemsize]), name, to_torch


def is_memory_of(array, x):
    """Whether what is written into `array`, which to_numpy made of x, is seen in x."""
    if type(x).__module__.partition(".")[0] == "torch":
        return array.ctypes.data == x.data_ptr()
    return isinstance(x, np.ndarray) and array.ctypes.data == x.ctypes.data


def to_torch(array, name):
    import torch

    theirs = getattr(torch, LIBRARY_NAMES[name], None) if name in LIBRARY_NAMES else None
    if theirs is not None:
        signed = array.view(np.int16 if array.itemsize == 2 else np.uint8)
        return torch.from_numpy(signed).view(theirs)
    if array.dtype.kind == "u" and not hasattr(torch, array.dtype.name):  # before torch 2.3
        array = array.view(SIGNED_BITS[array.dtype.name])
    return torch.from_numpy(array)


def to_jax(array, name):
    import jax.numpy

    return jax.numpy.asarray(to_ml_dtypes(array, name))


def to_ml_dtypes(array, name):
    if name not in LIBRARY_NAMES:
        return array
    import ml_dtypes

    return array.view(getattr(ml_dtypes, LIBRARY_NAMES[name]))
