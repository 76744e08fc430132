# SPDX-License-Identifier: Apache-2.0
"""binade tells what becomes of numbers in FP16, BF16, TF32 and FP8, and computes what Tensor Cores compute, bit for bit.

Formats     formats, Format, format_table, show
Blocks      show_block, scale_rules, identify_scales
Rounding    quantize, encode, decode, arith, cvt, Counts
Ranges      report, Report, RangeSummary, loss_scale
Products    gemm, GemmModel, account, dot, validate, explain, identify, propose
Converters  check
Scaling     LossScaler, loss_scalers, autocast, autocast_dtype
Training    train, sweep, experiments, experiment, advise
Live        binade.torch, which imports torch: watch
Program     main

Arrays may be those of NumPy, of torch (on the CPU), of jax, or any that have DLPack or the buffer protocol, ml_dtypes' types
included; results are arrays of the same library. Contiguous arrays are read without a copy. Every function gives the bytes of
the command of the same name. It raises ValueError or TypeError with a message of one line if an argument is wrong, and OSError
if a file cannot be used. It lets other threads run, and ends within milliseconds of Ctrl-C. The variables BINADE_THREADS and
BINADE_ISA have the meaning that `binade --help` gives them.
"""
import copyreg
import importlib
import typing

from ._binade import (
    Counts, Format, GemmModel, LossScaler, RangeSummary, __version__, account, advise, arith, autocast,
    autocast_dtype, check, cvt, decode, dot, encode, experiment, experiments, explain, format_table, formats, gemm, identify,
    identify_scales, loss_scale, loss_scalers, main, propose, quantize, report, scale_rules, show, show_block, sweep, train, validate,
)
from ._report import Report

if not typing.TYPE_CHECKING:  # which would take any name to be there
    def __getattr__(name):
        """Imports binade.torch when it is first used, so that `import binade` does not import torch."""
        if name == "torch":
            return importlib.import_module("binade.torch")
        raise AttributeError(f"module 'binade' has no attribute '{name}'")


copyreg.pickle(type(main), lambda function: function.__name__)  # as Python's own functions: by name

__all__ = [
    "Counts", "Format", "GemmModel", "LossScaler", "RangeSummary", "Report", "account", "advise", "arith",
    "autocast", "autocast_dtype", "check", "cvt", "decode", "dot", "encode", "experiment", "experiments", "explain",
    "format_table", "formats", "gemm", "identify", "identify_scales", "loss_scale", "loss_scalers", "main", "propose",
    "quantize", "report", "scale_rules", "show", "show_block", "sweep", "train", "validate",
]
