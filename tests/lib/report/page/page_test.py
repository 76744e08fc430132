# SPDX-License-Identifier: Apache-2.0
"""Opens a gradient-range report in headless Chromium and judges what each part of it shows, in one browser.

    python page_test.py REPORT.html REPORT.json [NAME…]

Some tests put another report into the same page: odd tensors, hostile names, 20 000 rows. Exit 77 where selenium,
chromium or chromedriver are missing.
"""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from report_page import ReportPage

VIEWS = ("data_view", "figure_view", "tensors_view", "answers_view")

if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: page_test.py REPORT.html REPORT.json [NAME…]")
    ReportPage.html = Path(sys.argv[1]).resolve()
    ReportPage.report = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    unittest.main(module=None, argv=[sys.argv[0], *(sys.argv[3:] or VIEWS)], verbosity=2)
