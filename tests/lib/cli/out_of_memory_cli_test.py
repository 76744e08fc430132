# SPDX-License-Identifier: Apache-2.0
#
# The program without memory: wherever the first allocation fails, also before main() and in destructors, it ends with its
# one line. Without threads it does its work on those that it gets.
# Run as out_of_memory_cli_test.py PATH_TO_BINADE PATH_TO_FAILING_MALLOC PATH_TO_LIMITED_THREADS; needs Python only.

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main

LIMITED_THREADS = os.path.abspath(sys.argv.pop())
FAILING_MALLOC = os.path.abspath(sys.argv.pop())
LINE = b"binade: out of memory; give the machine more, or read fewer tensors at once\n"


def array(values):
    """A .npy file of that many numbers."""
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({values},), }}".encode().ljust(118)
    return b"\x93NUMPY\x01\0\x76\0" + head + bytes(range(256)) * (values // 64)


class OutOfThreads(CliCase):
    def test_fewer_threads_than_wanted_give_the_same_bits(self):
        self.write("x.npy", array(1 << 19))
        figures = self.good("report", "x.npy", "--json", "-")
        for most in (0, 1, 2, 3, 5, 20):
            limit = {"LD_PRELOAD": LIMITED_THREADS, "THREADS_AT_MOST": str(most), "BINADE_THREADS": "12"}
            self.assertEqual(self.good("report", "x.npy", "--json", "-", **limit), figures, most)

    def test_two_tensors_side_by_side_need_two_threads(self):
        names = [f"step{step}/fc1/{role}" for step in (1, 2) for role in ("weight", "update")]
        head = json.dumps({name: {"dtype": "F32", "shape": [16], "data_offsets": [64 * i, 64 * i + 64]}
                           for i, name in enumerate(names)}).encode()
        self.write("x.safetensors", len(head).to_bytes(8, "little") + head + bytes(256))
        for most in ("0", "1"):
            self.assertRegex(self.complaint("report", "x.safetensors", LD_PRELOAD=LIMITED_THREADS, THREADS_AT_MOST=most),
                             r"\Abinade: x\.safetensors: no thread to read it: .*; end other processes, or allow more threads")
        self.good("report", "x.safetensors", LD_PRELOAD=LIMITED_THREADS, THREADS_AT_MOST="3", BINADE_THREADS="8")


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
