# SPDX-License-Identifier: Apache-2.0
"""binade: what becomes of numbers in FP16, BF16, TF32 and FP8.

Formats     formats, Format, format_table, show
Ranges      RangeSummary, report, Report, loss_scale
Rounding    quantize, encode, decode, arith, cvt, Counts
Products    gemm, GemmModel, account, dot, validate, explain, identify, propose
Program     main

Arrays are NumPy's, torch's (on the CPU), jax's, or whatever has DLPack or the buffer protocol, ml_dtypes' types included;
results are of the caller's library. Contiguous arrays are read without a copy. Every function gives the bytes of the command
of the same name, raises ValueError or TypeError with one line where an argument is wrong and OSError where a file cannot be
used, lets other threads run, and ends within milliseconds of Ctrl-C. BINADE_THREADS and BINADE_ISA are those of the program.
"""
from ._binade import (
    Counts,
    Format,
    GemmModel,
    __version__,
    account,
    arith,
    cvt,
    decode,
    dot,
    encode,
    explain,
    format_table,
    formats,
    gemm,
    identify,
    main,
    propose,
    quantize,
    show,
    validate,
)

__all__ = [
    "Counts",
    "Format",
    "GemmModel",
    "account",
    "arith",
    "cvt",
    "decode",
    "dot",
    "encode",
    "explain",
    "format_table",
    "formats",
    "gemm",
    "identify",
    "main",
    "propose",
    "quantize",
    "show",
    "validate",
]
