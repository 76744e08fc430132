# SPDX-License-Identifier: Apache-2.0
"""Turns arrays of other libraries into NumPy arrays of the same memory, and NumPy arrays into arrays of those libraries.

An array of a dtype that NumPy lacks becomes unsigned integers that hold its bits, with the name that safetensors gives the dtype.
"""
import sys

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
READ = "binade reads float16 to float64, bfloat16, float8 types, and integers of 8 to 64 bits"
SIGNED_BITS = {"uint8": "uint8", "uint16": "int16", "uint32": "int32", "uint64": "int64"}


def to_numpy(x):
    """Returns (array, name, wrap): an array of a dtype of NumPy in C order, the name of the dtype that it stands for ("" for its
    own), and a function of (array, dtype name) that makes an array of the caller's library of a result, or None for NumPy."""
    library = type(x).__module__.partition(".")[0]
    if library == "torch" or is_tensor(x):
        return as_told("that torch gives no values of", of_torch, x)
    if library.startswith("jax"):
        array, name, _ = of_numpy(as_told("that has no values (under jit, grad and vmap: jax.pure_callback)", np.asarray, x))
        return array, name, to_jax
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise TypeError("a masked array; give x.compressed() or x.filled(value)")
    if isinstance(x, np.ndarray | np.generic):
        return of_numpy(np.asarray(x))
    if hasattr(x, "__dlpack__"):
        return of_numpy(as_told("that NumPy does not take by DLPack", np.from_dlpack, x))
    if isinstance(x, str | bytes | dict | set) or x is None:
        raise TypeError(f"an array is wanted, not {type(x).__name__}")
    return of_numpy(as_told("that NumPy makes no array of", np.asarray, x))


def as_told(why, make, x):
    """Returns make(x). What it raises becomes a TypeError of one line, unless it is an error of one line already."""
    try:
        return make(x)
    except MemoryError:
        raise
    except Exception as error:
        line = str(error).partition("\n")[0]
        if isinstance(error, ValueError | TypeError | OSError) and line == str(error):
            raise
        raise TypeError(f"{type(x).__name__} {why}: {line}") from error


def bits_of_raw(x, has_dtype):
    """Returns an array of raw bytes, as NumPy reads a dtype that it does not know, as integers if the caller names their dtype."""
    if has_dtype and isinstance(x, np.ndarray) and x.dtype.kind == "V" and x.dtype.names is None and x.itemsize in (1, 2):
        return np.require(x, requirements=["C", "A"]).view(BITS[x.itemsize])
    return x


# Dtypes of less than 8 bits, codes of which stand in the low bits of a byte; torch has two of FP4 in one.
NARROW = ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn")


def bits_of_codes(x):
    """Returns codes in a dtype of less than 8 bits as bytes, and all else as it is."""
    if is_tensor(x) and str(x.dtype) == "torch.float4_e2m1fn_x2":
        return x.view(sys.modules["torch"].uint8)
    if isinstance(x, np.ndarray) and x.dtype.name in NARROW:
        return np.require(x, requirements=["C", "A"]).view(np.uint8).reshape(x.shape)
    return x


def name_of_dtype(x):
    """Returns the name of a dtype of NumPy, ml_dtypes or torch: "float8_e4m3fn"."""
    if "torch" in sys.modules and isinstance(x, sys.modules["torch"].dtype):
        return str(x).removeprefix("torch.")
    if isinstance(x, np.dtype | type):
        return np.dtype(x).name
    raise TypeError(f'a format is wanted, a name such as "e4m3", a binade.Format or a dtype, not {type(x).__name__}')


def refuse_dtype(name):
    if name in NARROW:
        raise TypeError(f"an array of {name}, which decode() and identify_scales() take as codes; give x.astype('f') for its numbers")
    raise TypeError(f"an array of {name}; {READ}")


def of_numpy(x):
    kind = x.dtype.kind
    if not x.dtype.isnative:
        x = x.byteswap().view(x.dtype.newbyteorder("="))
    if x.dtype.name in NAMES:
        bits = np.require(x, requirements=["C", "A"]).view(BITS[x.dtype.itemsize])
        return bits.reshape(x.shape), NAMES[x.dtype.name], to_ml_dtypes
    if x.dtype.name not in ("complex64", "complex128") and (kind not in "fiub" or x.dtype.itemsize > 8):
        refuse_dtype(x.dtype.name)
    if not (x.flags.c_contiguous and x.flags.aligned):
        x = np.require(x, requirements=["C", "A"]).reshape(x.shape)
    return x, "", None


# torch's dtypes as the name of what NumPy lacks and the integers of its bits; whole from the first tensor on.
TORCH = {}


def is_tensor(x):
    return "torch" in sys.modules and isinstance(x, getattr(sys.modules["torch"], "Tensor", ()))


def torch_table(torch):
    out = {}
    for name in ("float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
                 "bool", "complex64", "complex128"):
        if hasattr(torch, name):
            out[getattr(torch, name)] = ("", None)
    for name, short in NAMES.items():
        if hasattr(torch, name):
            theirs = getattr(torch, name)
            out[theirs] = (short, torch.uint8 if torch.tensor([], dtype=theirs).element_size() == 1 else torch.int16)
    return out


def of_torch(x):
    import torch

    if not TORCH:
        TORCH.update(torch_table(torch))
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"an array is wanted, not torch's {type(x).__name__}")
    row = TORCH.get(x.dtype)
    if row is None:
        raise TypeError(f"a tensor of {x.dtype}; {READ}")
    if x.device.type == "meta":
        raise ValueError("a tensor on meta, which has no values")
    if x.device.type != "cpu":
        raise ValueError(f"a tensor on {x.device}; give x.cpu()")
    if x.layout is not torch.strided:
        raise ValueError(f"a tensor of layout {x.layout}; give x.to_dense()")
    if x.requires_grad:
        x = x.detach()
    if x.is_neg() or x.is_conj():
        x = x.resolve_neg().resolve_conj()
    if not x.is_contiguous():
        x = x.contiguous()
    name, integers = row
    if not name:
        return x.numpy(), "", to_torch
    bits = x.view(integers).numpy()
    return bits.view(BITS[bits.itemsize]), name, to_torch


def why_not_in_place(array, x):
    """Returns None if what is written into `array`, which to_numpy made of x, is seen in x; else why it is not, as text."""
    if is_tensor(x):
        if x.requires_grad:
            return "a tensor that requires grad; give x.detach()"
        return None if array.ctypes.data == x.data_ptr() or x.numel() == 0 else "a tensor that is not contiguous"
    if not isinstance(x, np.ndarray):
        return f"{type(x).__name__}, which cannot be written to"
    if not x.flags.writeable:
        return "an array that is read-only"
    return None if array.ctypes.data == x.ctypes.data else "an array that is not in C order, not aligned, or of another byte order"


def tell_written(x):
    """Raises the version of a tensor x whose memory was written to, so that torch notices if a graph still needs the
    old values."""
    if is_tensor(x):
        graph = sys.modules["torch"].autograd.graph
        if hasattr(graph, "increment_version"):  # torch 2.1
            graph.increment_version(x)


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
    import jax
    import jax.numpy

    array = to_ml_dtypes(array, name)
    if array.dtype.itemsize == 8 and not jax.config.jax_enable_x64:
        raise ValueError(f"jax has no {array.dtype.name} unless jax_enable_x64 is set; give np.asarray(x)")
    return jax.numpy.asarray(array)


def to_ml_dtypes(array, name):
    if name not in LIBRARY_NAMES:
        return array
    import ml_dtypes

    return array.view(getattr(ml_dtypes, LIBRARY_NAMES[name]))
