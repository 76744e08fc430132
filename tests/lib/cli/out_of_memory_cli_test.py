# SPDX-License-Identifier: Apache-2.0
#
# The program without memory: wherever the first allocation fails, also before main() and in destructors, it ends with its
# one line. Run as out_of_memory_cli_test.py PATH_TO_BINADE PATH_TO_FAILING_MALLOC; needs Python only.

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main

FAILING_MALLOC = os.path.abspath(sys.argv.pop())
LINE = b"binade: out of memory; give the machine more, or read fewer tensors at once\n"


class OutOfMemory(CliCase):
    def ends(self, *arguments, after):
        """What the run ends with whose memory is used up after that many calls of malloc()."""
        result = self.run_binade(*arguments, LD_PRELOAD=FAILING_MALLOC, FAIL_AFTER=str(after))
        return result.returncode, result.stdout, result.stderr

    def test_static_objects_and_every_option_that_find_no_memory_end_in_the_line(self):
        # The first call of all, 0, is the C++ library's for its reserve of exceptions, without which nothing can be thrown.
        for after in [*range(1, 25), *range(25, 4000, 397)]:
            self.assertEqual(self.ends("--version", after=after), (2, b"", LINE), after)
        self.assertEqual(self.ends("--version", after=1000000)[::2], (0, b""))

    def test_a_report_that_finds_no_memory_ends_in_the_line_and_leaves_nothing_half_written(self):
        self.write("x.npy", b"\x93NUMPY\x01\0\x46\0{'descr': '<f4', 'fortran_order': False, 'shape': (), }".ljust(80) + bytes(4))
        words = ("report", "x.npy", "-o", "x.html", "--json", "x.json", "--csv", "x.csv", "-q")
        step, after, left = 197, 8000, {}
        while (end := self.ends(*words, after=after)) != (0, b"", b""):
            self.assertEqual(end, (2, b"", LINE), after)
            left[after] = {name: self.read(name) for name in self.files()}
            after += step
        self.assertGreater(len(left), 10)
        for after, files in left.items():
            self.assertEqual(files, {name: self.read(name) for name in files}, after)


if __name__ == "__main__":
    main()
