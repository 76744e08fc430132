# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium for the tests of pages. Importing it exits with 77 where selenium, chromium or
chromedriver are missing."""

import atexit
import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait
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


class PageCase(unittest.TestCase):
    """Tests of pages in one browser for the whole process, whose console must stay silent. `path` is a folder that the
    tests of a class share."""
    browser = None

    @classmethod
    def setUpClass(cls):
        if PageCase.browser is None:
            PageCase.browser = open_browser()
            atexit.register(PageCase.browser.quit)
        folder = tempfile.TemporaryDirectory(prefix="binade-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.path = Path(folder.name)

    def setUp(self):
        self.resize(1280)
        self.media()
        self.browser.get_log("browser")
        self.browser.get_log("performance")

    def tearDown(self):
        self.assertEqual(self.browser.get_log("browser"), [], "the console is silent")

    def resize(self, width, height=900):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def media(self, scheme="light", media="screen"):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"}]})

    def script(self, code, *arguments):
        return self.browser.execute_script(code, *arguments)

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def wait_until_drawn(self):
        """Waits for the first whole drawing of the page of a report."""
        WebDriverWait(self.browser, 30, 0.02).until(
            lambda _: self.script("return performance.getEntriesByName('drawn').length") == 1)

    def requested(self):
        """The addresses that pages have requested since the test began."""
        messages = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        return [message["params"]["request"]["url"] for message in messages
                if message["method"] == "Network.requestWillBeSent"]

    def assert_requests_are_local(self):
        urls = self.requested()
        self.assertGreater(len(urls), 0)
        for url in urls:
            self.assertTrue(url.startswith(("file:", "data:")), url)
