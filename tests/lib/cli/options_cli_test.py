# SPDX-License-Identifier: Apache-2.0
#
# What every command's numbers are held to, found in its own --help.
# Run as options_cli_test.py PATH_TO_BINADE; needs Python alone.

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main


class Options(CliCase):
    def options_of(self, kind):
        """(words of the command, option) of every option whose help names the kind."""
        for words, text in self.commands():
            for option in re.findall(rf"^  (?:-\w,)?(--\S+) {kind}\b", text, re.MULTILINE):
                yield words, option

    def test_a_count_is_never_negative(self):
        tried = 0
        for words, option in self.options_of("UINT"):
            with self.subTest(words=words, option=option):
                self.assertIn(f"{option}: Value -1 is negative", self.complaint(*words, option, "-1"))
            tried += 1
        self.assertGreater(tried, 20)

    def test_a_count_is_read_as_written(self):
        tried = 0
        for words, option in self.options_of("UINT"):
            with self.subTest(words=words, option=option):
                self.assertIn(f"{option}: Value 010 begins with 0", self.complaint(*words, option, "010"))
                self.assertIn(f"{option}: Value 18446744073709551616 is above",
                              self.complaint(*words, option, "18446744073709551616"))
            tried += 1
        self.assertGreater(tried, 20)

    def test_a_result_has_a_name(self):
        tried = 0
        for words, option in self.options_of("OUT"):
            with self.subTest(words=words, option=option):
                self.assertIn(f"{option}: the file has no name", self.complaint(*words, option, ""))
            tried += 1
        self.assertGreater(tried, 8)

    def test_what_must_be_positive_is_not_zero(self):
        tried = 0
        for words, option in self.options_of(r"\S*:POSITIVE"):
            with self.subTest(words=words, option=option):
                self.assertIn(f"{option}: Value 0 is not positive", self.complaint(*words, option, "0"))
            tried += 1
        self.assertGreater(tried, 2)


if __name__ == "__main__":
    main()
