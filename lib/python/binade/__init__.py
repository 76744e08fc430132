# SPDX-License-Identifier: Apache-2.0
"""binade: what becomes of numbers in FP16, BF16, TF32 and FP8.

Formats     formats, Format, format_table, show
Rounding    quantize, encode, decode, arith, cvt, Counts
Ranges      report, Report, RangeSummary, loss_scale
Products    gemm, GemmModel, account, dot, validate, explain, identify, propose
Scaling     LossScaler, loss_scalers, GradScaler, autocast, autocast_dtype
Training    train, sweep, experiments, experiment, advise
Live        binade.torch, which imports torch: watch
Program     main

Arrays are NumPy's, torch's (on the CPU), jax's, or whatever has DLPack or the buffer protocol, ml_dtypes' types included;
results are of the caller's library. Contiguous arrays are read without a copy. Every function gives the bytes of the command
of the same name, raises ValueError or TypeError with one line where an argument is wrong and OSError where a file cannot be
used, lets other threads run, and ends within milliseconds of Ctrl-C. BINADE_THREADS and BINADE_ISA are those of the program.
"""
import copyreg
import importlib
import typing

from ._binade import (
    Counts, Format, GemmModel, GradScaler, LossScaler, RangeSummary, __version__, account, advise, arith, autocast,
    autocast_dtype, cvt, decode, dot, encode, experiment, experiments, explain, format_table, formats, gemm, identify,
    loss_scale, loss_scalers, main, propose, quantize, report, show, sweep, train, validate,
)
from ._report import Report

if not typing.TYPE_CHECKING:  # which would take any name to be there
    def __getattr__(name):
        """binade.torch, imported when it is asked for."""
        if name == "torch":
            return importlib.import_module("binade.torch")
        raise AttributeError(f"module 'binade' has no attribute '{name}'")


copyreg.pickle(type(main), lambda function: function.__name__)  # as Python's own functions: by name

__all__ = [
    "Counts", "Format", "GemmModel", "GradScaler", "LossScaler", "RangeSummary", "Report", "account", "advise", "arith",
    "autocast", "autocast_dtype", "cvt", "decode", "dot", "encode", "experiment", "experiments", "explain",
    "format_table", "formats", "gemm", "identify", "loss_scale", "loss_scalers", "main", "propose", "quantize",
    "report", "show", "sweep", "train", "validate",
]
