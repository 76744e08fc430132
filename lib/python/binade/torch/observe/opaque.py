# SPDX-License-Identifier: Apache-2.0
"""Names what runs otherwise than op by op, so that what is seen of it need not be what it does: torch.compile, TorchScript, CUDA
graphs and the like."""
import functools
import inspect
import os
import types

import torch

# By the name of its class, or of one that this is derived from.
KINDS = {
    "OptimizedModule": "torch.compile",
    "ScriptModule": "TorchScript",
    "ScriptFunction": "TorchScript",
    "CUDAGraph": "a CUDA graph",
    "AOTICompiledModel": "AOTInductor",
    "AOTIModelContainerRunner": "AOTInductor",
    "TRTModule": "TensorRT",
    "InferenceSession": "ONNX Runtime",
}
DYNAMO = os.path.join("torch", "_dynamo", "eval_frame.py")
DEPTH = 5  # how far is looked into what a function refers to


def kind_of(x):
    """Returns what an object is that does not run op by op, or ""."""
    if isinstance(x, types.FunctionType) and x.__code__.co_filename.endswith(DYNAMO):
        return "torch.compile" if is_compiling_context(inspect.getclosurevars(x).nonlocals.get("self")) else ""
    return kind_of_type(type(x))


@functools.lru_cache(1024)
def kind_of_type(of):
    return next((KINDS[one.__name__] for one in of.__mro__ if one.__name__ in KINDS), "")


def is_compiling_context(x):
    return type(x).__name__ == "OptimizeContext"  # of the same file's others one disables compiling


def name_of(x):
    """Returns a name for a function or a module."""
    x = inspect.unwrap(getattr(x, "_torchdynamo_orig_callable", getattr(x, "_orig_mod", x)))
    owner = getattr(x, "__self__", None)
    if isinstance(owner, torch.nn.Module):
        x = owner
    if isinstance(x, torch.nn.Module):
        return getattr(x, "original_name", "") or type(x).__name__
    if isinstance(x, types.FunctionType):
        return f"{x.__name__} ({site_of(x.__code__.co_filename, x.__code__.co_firstlineno)})"
    return getattr(x, "__qualname__", "") or getattr(x, "name", "") or type(x).__name__


def described(x):
    """Returns text of an object that does not run op by op, or ""."""
    kind = kind_of(x)
    name = name_of(x) if kind else ""
    return f"{kind} of {name}" if name and not kind.startswith("a ") else kind


def frame_described(frame):
    """Returns text of what is compiled, if it is called in this frame of Python, or ""."""
    if not frame.f_code.co_filename.endswith(DYNAMO):
        return ""
    own = frame.f_locals
    return f"torch.compile of {name_of(own['fn'])}" if "fn" in own and is_compiling_context(own.get("self")) else ""


def site_of(file, line):
    inside = os.path.relpath(file)
    return f"{file if inside.startswith(os.pardir) else inside}:{line}"


def opaque_in(fn):
    """Returns texts of what a function refers to, or a model holds, that does not run op by op."""
    found, seen = {}, set()

    def look(x, depth):
        if id(x) in seen or depth > DEPTH or isinstance(x, torch.Tensor | type | types.ModuleType | str | int | float):
            return
        seen.add(id(x))
        text = described(x)
        if text:
            found[text] = None
            return
        for y in referred(x):
            look(y, depth + 1)

    look(fn, 0)
    return list(found)


def referred(x):
    """Returns what an object may call."""
    if isinstance(x, functools.partial):
        return [x.func, *x.args, *x.keywords.values()]
    if isinstance(x, types.MethodType):
        return [x.__func__, x.__self__]
    if isinstance(x, types.FunctionType):
        names = names_in(x.__code__)
        cells = [cell.cell_contents for cell in x.__closure__ or () if cell != types.CellType()]
        return [*cells, *(value for name, value in x.__globals__.items() if name in names), getattr(x, "__wrapped__", None)]
    if isinstance(x, torch.nn.Module):
        return [*x.children(), *(y for name, y in vars(x).items() if not name.endswith("hooks"))]
    if isinstance(x, list | tuple | set):
        return x
    if isinstance(x, dict):
        return list(x.values())
    return list(vars(x).values()) if callable(x) and hasattr(x, "__dict__") else []


def names_in(code):
    """Returns the names that code uses, that of functions inside of it, too."""
    inner = (names_in(x) for x in code.co_consts if isinstance(x, types.CodeType))
    return frozenset(code.co_names).union(*inner)
