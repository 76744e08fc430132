# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium for the tests of pages. Importing it exits with 77 where selenium, chromium or
chromedriver are missing."""

import shutil
import sys

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError:
    print("SKIP: the Python package selenium is missing")
    sys.exit(77)

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
CHROMEDRIVER = shutil.which("chromedriver")
if not CHROMIUM or not CHROMEDRIVER:
    print("SKIP: chromium and chromedriver are missing (Debian: chromium chromium-driver)")
    sys.exit(77)


def open_browser():
    """A browser that keeps what pages log and fetch, for `get_log`."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.add_argument("--no-sandbox")  # root and containers cannot have one; the page is our own
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(CHROMEDRIVER))
