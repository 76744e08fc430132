# SPDX-License-Identifier: Apache-2.0
"""binade: what becomes of numbers in FP16, BF16, TF32 and FP8.

Formats     formats, Format, format_table, show
Rounding    quantize, encode, decode, arith, cvt, Counts
Scaling     LossScaler, loss_scalers, GradScaler, autocast, autocast_dtype
Training    train, sweep, experiments, experiment, advise
Program     main

Arrays are NumPy's, torch's (on the CPU), jax's, or whatever has DLPack or the buffer protocol, ml_dtypes' types included;
results are of the caller's library. Contiguous arrays are read without a copy. Every function gives the bytes of the command
of the same name, raises ValueError or TypeError with one line where an argument is wrong and OSError where a file cannot be
used, lets other threads run, and ends within milliseconds of Ctrl-C. BINADE_THREADS and BINADE_ISA are those of the program.
"""
from ._binade import Counts, Format, __version__, arith, cvt, decode, encode, format_table, formats, main, quantize, show
from ._binade import (GradScaler, LossScaler, advise, autocast, autocast_dtype, experiment, experiments, loss_scalers, sweep,
                      train)

__all__ = ["Counts", "Format", "arith", "cvt", "decode", "encode", "format_table", "formats", "main", "quantize", "show",
           "GradScaler", "LossScaler", "advise", "autocast", "autocast_dtype", "experiment", "experiments", "loss_scalers",
           "sweep", "train"]
