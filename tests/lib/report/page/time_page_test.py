# SPDX-License-Identifier: Apache-2.0
"""Opens the page of a run's report in headless Chromium and judges each part of its section over the steps, in one browser.

    python time_page_test.py PATH_TO_BINADE [NAME…]

The run is written here byte by byte; what the page shows is held against the report's JSON, whose shares a byte rounds in
the page, and at other scales against the values themselves, scaled in Python. Exit 77 where selenium,
chromium or chromedriver are missing.
"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[3]), str(Path(__file__).resolve().parents[1])]
from time_page import TimePage

VIEWS = ("time_lines_view", "time_map_view", "time_runs_view")

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: time_page_test.py PATH_TO_BINADE [NAME…]")
    TimePage.program = str(Path(sys.argv[1]).resolve())
    unittest.main(module=None, argv=[sys.argv[0], *(sys.argv[2:] or VIEWS)], verbosity=1)
