# SPDX-License-Identifier: Apache-2.0
"""Tests of commands that read and write arrays: a name without an ending is that of a .npy file."""

import os

from cli_case import CliCase
from made_files import values_of_npy

HOPPER = ("--arch", "sm_90", "--instruction", "mma.m16n8k16.f32.f16.f16.f32")


class ArraysCase(CliCase):
    def path(self, name):
        return os.path.join(self.folder.name, name if "." in name else name + ".npy")

    def values(self, name, dtype="<f4"):
        return list(values_of_npy(self.read(name), dtype))
