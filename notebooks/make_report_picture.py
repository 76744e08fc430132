# SPDX-License-Identifier: Apache-2.0
"""Makes report.png, the README's picture: the upper part of a real HTML report.

    .venv/bin/python notebooks/make_report_picture.py build/binade

The report of experiments/data/digits_gradients.safetensors, light, 1280 wide, from its head down
to the histogram, as headless Chromium shows it. Needs chromium, chromedriver and the packages of
tests/requirements.txt.
"""

import base64
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

HERE = Path(__file__).resolve().parent
GRADIENTS = HERE.parent / "experiments" / "data" / "digits_gradients.safetensors"
WIDTH = 1280
DENSITY = 2  # pixels of the picture per pixel of the page
MARGIN = 24


def start_browser():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome")
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.add_argument("--no-sandbox")  # root and containers cannot have one; the page is our own
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def photograph(page):
    """PNG bytes of the page from its top to the end of the histogram."""
    browser = start_browser()
    try:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                {"features": [{"name": "prefers-color-scheme", "value": "light"}]})
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": WIDTH, "height": 900, "deviceScaleFactor": DENSITY, "mobile": False})
        browser.get(page.as_uri())
        WebDriverWait(browser, 30).until(
            lambda _: browser.execute_script("return performance.getEntriesByName('drawn').length") == 1)
        if not browser.find_elements("css selector", "#histogram .bar"):
            raise SystemExit("the page shows no histogram")
        end = "return document.getElementById('figure').getBoundingClientRect().bottom"
        height = browser.execute_script(end) + MARGIN
        shot = browser.execute_cdp_cmd("Page.captureScreenshot", {
            "clip": {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1},
            "captureBeyondViewport": True})
        return base64.b64decode(shot["data"])
    finally:
        browser.quit()


def main(binade):
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        command = [Path(binade).resolve(), "report", "--quiet", GRADIENTS.name, "-o", page]
        subprocess.run(command, cwd=GRADIENTS.parent, check=True)  # so that no machine's path is seen
        picture = Image.open(io.BytesIO(photograph(page))).convert("RGB")
    file = HERE / "report.png"
    picture.quantize(128, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file}: {picture.width} x {picture.height}, {file.stat().st_size // 1000} KB")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_report_picture.py BINADE")
    main(sys.argv[1])
