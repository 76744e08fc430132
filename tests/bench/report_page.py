# SPDX-License-Identifier: Apache-2.0
"""Times the page of a long run in headless Chromium: from opening to the first complete drawing, a move of the slider, the
filter; and prints the page's size.

    python report_page.py build/binade [--layers 1000] [--steps 200] [--runs 5]

Prints medians. A move and a filter are timed with the layout that follows them. Needs chromium, chromedriver and the
packages of tests/requirements.txt; about 500 MB of room for 1000 × 200.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "lib/report")]
from chromium import open_browser
from made_run import write_run
from selenium.webdriver.support.ui import WebDriverWait

MOVE = """const slider = document.getElementById('slider');
const start = performance.now();
slider.value = arguments[0];
slider.dispatchEvent(new Event('input', {bubbles: true}));
document.body.getBoundingClientRect();
return performance.now() - start;"""
SETTLE = """const start = performance.now();
document.getElementById('slider').dispatchEvent(new Event('change', {bubbles: true}));
document.body.getBoundingClientRect();
return performance.now() - start;"""
FILTER = """const filter = document.getElementById('filter');
const start = performance.now();
filter.value = arguments[0];
filter.dispatchEvent(new Event('input', {bubbles: true}));
document.body.getBoundingClientRect();
return performance.now() - start;"""
SHOW = """const what = document.getElementById('time-what');
what.value = arguments[0];
what.dispatchEvent(new Event('change', {bubbles: true}));"""


def measure(browser, page):
    """Milliseconds by name."""
    browser.get("about:blank")
    begin = time.perf_counter()
    browser.get(page.as_uri())
    WebDriverWait(browser, 60, 0.01).until(
        lambda _: browser.execute_script("return performance.getEntriesByName('drawn').length") == 1)
    took = {"open, as the driver sees it": 1000 * (time.perf_counter() - begin)}
    took["open, as the page sees it"] = browser.execute_script("return performance.getEntriesByName('drawn')[0].startTime")
    took["slider, a move"] = statistics.median(browser.execute_script(MOVE, k) for k in range(1, 16))
    took["slider, at rest"] = browser.execute_script(SETTLE)
    browser.execute_script(SHOW, "serves")
    took["slider, a move under the map of what S serves"] = statistics.median(
        browser.execute_script(MOVE, k) for k in range(1, 16))
    took["filter"] = max(browser.execute_script(FILTER, words) for words in ("9", "99", "99 dw", ""))
    return took


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binade")
    parser.add_argument("--layers", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--values", type=int, nargs=2, default=(64, 512))
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="binade-bench-") as folder:
        files = write_run(Path(folder, "run"), arguments.layers, arguments.steps, values=arguments.values)
        page = Path(folder, "run.html")
        begin = time.perf_counter()
        subprocess.run([arguments.binade, "report", "-q", *map(str, files), "-o", page], check=True)
        print(f"{arguments.layers} layers × {arguments.steps} steps: report {time.perf_counter() - begin:.1f} s, "
              f"page {page.stat().st_size / 1e6:.2f} MB")
        browser = open_browser()
        try:
            runs = [measure(browser, page) for _ in range(arguments.runs)]
        finally:
            browser.quit()
    for name in runs[0]:
        print(f"{name:48}{statistics.median(run[name] for run in runs):8.0f} ms")
