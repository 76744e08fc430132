# SPDX-License-Identifier: Apache-2.0
"""Python's zlib inflates what a build without zlib stores.

    python stored_stream_test.py PATH_TO_STORED_STREAM
"""

import subprocess
import sys
import unittest
import zlib

PROGRAM = None


class StoredStream(unittest.TestCase):
    def test_what_is_stored_comes_back_at_every_edge_of_a_block(self):
        for size in (0, 1, 65534, 65535, 65536, 131070, 200_000):
            data = bytes(i * i % 251 for i in range(size))
            stream = subprocess.run([PROGRAM], input=data, capture_output=True, check=True, timeout=60).stdout
            self.assertEqual(zlib.decompress(stream), data, size)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
