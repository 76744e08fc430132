# SPDX-License-Identifier: Apache-2.0
"""Tests of `binade check` and `binade cases`: a command is one string of words, and lines come from standard input."""

from cli_case import CliCase

GOOD = "3C00 4000 4200 00\n"  # binary16: 1 + 2 = 3
WRONG = "3C00 4000 4201 00\n"


class StreamCase(CliCase):
    def says(self, command, text="", status=0, **variables):
        """The text of a run that must exit with the status and be silent on stderr."""
        return self.good(*command.split(), stdin=text.encode(), status=status, **variables)

    def complains(self, command, text=""):
        """The one line of a run that must fail with status 2."""
        return self.complaint(*command.split(), stdin=text.encode())
