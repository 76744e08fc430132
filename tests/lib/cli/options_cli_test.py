# SPDX-License-Identifier: Apache-2.0
#
# The bounds of every command's numeric options, which are found in its own --help.
# Run as options_cli_test.py PATH_TO_BINADE; needs Python only.

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import UNSHOWN, CliCase, main


class Options(CliCase):
    def options_of(self, kind):
        """(words of the command, option) of every option whose help names the kind."""
        for words, text in self.commands():
            for option in re.findall(rf"^  (?:-\w,)?(--\S+) {kind}\b", text, re.MULTILINE):
                yield words, option

    def refused(self, kind, value, said, least):
        """Every option of the kind refuses the value; there are more than `least` of them."""
        tried = 0
        for words, option in self.options_of(kind):
            with self.subTest(words=words, option=option, value=value):
                self.assertIn(f"{option}: {said}", self.complaint(*words, option, value))
            tried += 1
        self.assertGreater(tried, least)

    def test_what_is_typed_is_repeated_in_one_line_that_a_terminal_may_show(self):
        typed = "1\x1b[31mX\nY\r\x7f\u009b\u202e\u2066\u061c\u2028Z"
        for words in (("validate",), ("report", "x", "--headroom"), ("report", "x", "--prefer"), ("report", "x", "--tensors"),
                      ("record", "--seed"), ("check", "--testfloat"), ("report",), ("report", "--")):
            self.assertIn(r"1\x1b[31mX\x0aY\x0d\x7f\xc2\x9b\xe2\x80\xae", self.complaint(*words, typed), words)
        self.assertIn(r"'f16_ad\x1b'; did you mean f16_add", self.complaint("check", "--testfloat", "f16_ad\x1b"))
        self.assertLess(len(self.complaint("report", "x", "--tensors", "1" * 5000)), 2000)
        self.assertNotRegex(self.good("autocast", typed, "--json"), f"[{UNSHOWN}]")

    def test_brackets_and_braces_stand_in_names_as_typed(self):
        array = b"\x93NUMPY\x01\0\x46\0{'descr': '<f4', 'fortran_order': False, 'shape': (), }".ljust(80) + bytes(4)
        for name in ("x.npy", "a", "b", "[x].npy", "\x7f{x}.npy"):
            self.write(name, array)
        for words in (("report", "[x.npy]"), ("report", "[c,d]"), ("report", "[]"), ("report", "{}"), ("report", "x.npy", "{}"),
                      ("report", "++"), ("merge", "[x.npy]"), ("merge", "{}"), ("validate", "--replay", "[x.npy]"),
                      ("report", "\x7fx.npy")):
            self.assertIn(words[-1].replace("\x7f", r"\x7f") + ": ", self.complaint(*words), words)
        self.assertIn("show [1 ", self.complaint("show", "[1"))
        self.assertIn("--tensors = [1,2]", self.complaint("report", "x.npy", "--tensors", "[1,2]"))
        self.assertIn("2 files: ", self.good("report", "[ab]"))
        for names in (("[x].npy", "[x].npy", "[o].npy"), ("\x7f{x}.npy", "[x].npy", "{o}.npy")):
            self.good("arith", "add", *names, "--format", "binary32")
            self.assertIn(names[-1], self.files())
        self.good("report", "x.npy", "-q", "--csv=[c],{d}.csv")
        self.assertIn("[c],{d}.csv", self.files())

    def test_a_count_is_never_negative(self):
        self.refused("UINT", "-1", "Value -1 is negative", 20)

    def test_a_count_is_read_as_written(self):
        self.refused("UINT", "010", "Value 010 begins with 0", 20)
        for value in (str(2 ** 64), "+" + str(2 ** 64), hex(2 ** 64)):
            self.refused("UINT", value, f"Value {value} is above", 20)

    def test_what_must_be_positive_is_not_zero(self):
        self.refused(r"\S*:POSITIVE", "0", "Value 0 is not positive", 2)

    def test_lists_that_json_has_anyway_are_refused_beside_it(self):
        for option in ("--evidence", "--names"):
            self.assertIn(f"{option} has no effect with --json", self.complaint("architectures", "--json", option))

    def test_a_result_has_a_name(self):
        self.refused("OUT", "", "the file has no name", 8)


if __name__ == "__main__":
    main()
