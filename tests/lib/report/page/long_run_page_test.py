# SPDX-License-Identifier: Apache-2.0
"""What the page of a long run costs, in counts and never in seconds: bytes of each series, nodes, rows, and what the map
writes where. tests/bench/report_page.py has the seconds, of a longer one.

    python long_run_page_test.py PATH_TO_BINADE

Exit 77 where numpy, selenium, chromium or chromedriver are missing.
"""

import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2]), str(HERE.parent)]
from chromium import PageCase  # exits with 77 where there is none

import page_data

try:
    from made_run import write_run
except ImportError:
    print("SKIP: the Python package numpy is missing")
    sys.exit(77)

BINADE = None
LAYERS, STEPS = 120, 30
# Notes what the page writes on a canvas, and where.
SPY = """window.written = [];
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const width = this.measureText(text).width;
  const left = {right: x - width, center: x - width / 2}[this.textAlign] ?? x;
  window.written.push([text, left, left + width, y - 6, y + 6]);
  write.call(this, text, x, y);
};"""


class LongRun(PageCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": SPY})
        cls.page = cls.page_of("long", LAYERS, STEPS)

    @classmethod
    def page_of(cls, name, layers, steps):
        files = write_run(cls.path / name, layers, steps, values=(16, 64))
        subprocess.run([BINADE, "report", "-q", *map(str, files), "-o", cls.path / f"{name}.html"], check=True, timeout=120)
        return (cls.path / f"{name}.html").read_text(encoding="utf-8")

    def open(self, name="long", width=1400):
        self.resize(width)
        self.browser.get((self.path / f"{name}.html").as_uri())
        self.wait_until_drawn()

    def count(self, selector):
        return self.script("return document.querySelectorAll(arguments[0]).length", selector)

    def test_a_step_of_a_series_costs_a_byte_a_figure(self):
        line, planes = page_data.unpacked(self.page)
        series, formats = len(line["time"]["layer"]), len(line["formats"])
        self.assertEqual((series, len(line["time"]["steps"])), (2 * LAYERS + 2, STEPS))
        shares, whole_numbers = 2 + 4 * formats, 4
        self.assertEqual(len(planes), series * STEPS * (shares + 2 * whole_numbers))
        held = len(page_data.DATA.search(self.page)[2])
        self.assertLess(held / series, 1500 + 14 * STEPS, "letters a series")

    def test_counts_of_the_last_step_and_of_the_run_are_whole(self):
        line, _ = page_data.unpacked(self.page)
        time = line["time"]
        self.assertEqual(sum(time["run"]["values"][:2]), line["groups"]["values"][0])
        self.assertEqual(sum(time["run"]["values"][2:]), line["groups"]["values"][0])
        for run, last in zip(time["run"]["values"], time["last"]["values"]):
            self.assertEqual(run, STEPS * last)

    def test_the_page_has_nodes_for_what_is_on_screen(self):
        self.open()
        self.assertTrue(0 < self.count("#tensors tbody:not(.total) tr[data-tensor]") < 60)
        self.assertLess(self.count("*:not(option)"), 1900)
        self.assertEqual(self.count("#time-map svg"), 0)
        self.script("document.querySelector('#which [value=last]').click()")
        self.assertTrue(0 < self.count("#tensors tbody:not(.total) tr[data-tensor]") < 60)

    def test_a_press_on_narrow_rows_goes_into_them_and_escape_back(self):
        self.open()
        map_of = "return document.querySelector('#time-map canvas').getAttribute('aria-label').split(',')[0]"
        self.assertEqual(self.script(map_of), f"Map of {LAYERS} layers over {STEPS} steps")
        key = """const canvas = document.querySelector('#time-map canvas');
            for (const key of arguments) canvas.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));"""
        self.script(key, "ArrowDown", "PageDown", "PageDown", "PageDown", "Enter")
        self.assertEqual(self.script(map_of), f"Map of 24 layers over {STEPS} steps")
        self.assertIn("blocks.18 to blocks.41", self.script("return document.querySelector('#time-map nav').textContent"))
        self.script(key, "Escape")
        self.assertEqual(self.script(map_of), f"Map of {LAYERS} layers over {STEPS} steps")

    def test_no_two_labels_of_the_map_touch(self):
        self.page_of("short", 4, 3)
        self.page_of("middle", 30, 3)
        for name in ("long", "middle", "short"):
            for width in (1400, 420):
                self.open(name, width)
                written = self.script("""window.written.length = 0;
                    document.getElementById('time-what').value = 'lost_l2';
                    document.getElementById('time-what').dispatchEvent(new Event('change'));
                    return [window.written, document.querySelector('#time-map canvas').clientWidth];""")
                labels, canvas = written
                self.assertGreater(len(labels), 10)
                for text, left, right, _, _ in labels:
                    self.assertTrue(-0.5 <= left and right <= canvas + 0.5, (text, left, right, width))
                for i, (text, left, right, top, bottom) in enumerate(labels):
                    for other, left2, right2, top2, bottom2 in labels[i + 1:]:
                        apart = right <= left2 or right2 <= left or bottom <= top2 or bottom2 <= top
                        self.assertTrue(apart, (text, other, name, width))


if __name__ == "__main__":
    BINADE = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=1)
