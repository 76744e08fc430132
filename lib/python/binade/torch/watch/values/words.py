# SPDX-License-Identifier: Apache-2.0
"""The words that all texts of a watched run share: one for each format, which files, reports and torch call by others."""
import re

WORDS = {"binary16": "FP16", "float16": "FP16", "F16": "FP16", "binary32": "FP32", "float32": "FP32", "F32": "FP32", "binary64": "FP64",
         "float64": "FP64", "F64": "FP64", "bfloat16": "BF16"}
FORMAT = re.compile(r"(?<![\w./])(" + "|".join(WORDS) + r")(?![\w/]|\.\w)")


def in_words(line):
    """Returns a line with one word for each format."""
    return FORMAT.sub(lambda found: WORDS[found[1]], line)


def shown(layer):
    """Returns the name of a layer as a text has it: one that is a number would read as a count."""
    return f"'{layer}'" if layer.isdigit() else layer
