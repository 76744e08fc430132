# SPDX-License-Identifier: Apache-2.0
"""Opens the page of a run's report in headless Chromium and judges its section over the steps.

    python time_page_test.py PATH_TO_BINADE

The run is written here byte by byte; what the page shows is held against the report's JSON at scale 1
and against shares of the values themselves, scaled in Python, elsewhere. Exit 77 where selenium,
chromium or chromedriver are missing.
"""

import json
import math
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from chromium import open_browser  # exits with 77 where there is none
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

BINADE = None
STEPS = (0, 50, 60, 1000)
LAYERS = ("fc1", "</script><script>window.hit=1</script>/&amp;", "head")
ROLES = ("act", "dAct", "weight", "dW", "update")


def safetensors(tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        raw = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": [len(values)], "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def make_run():
    """Gradients of two binades per step around what binary16 loses; `head` has no act and misses a step."""
    draw = random.Random(7)
    run = {}
    for step in STEPS:
        for depth, layer in enumerate(LAYERS):
            for role in ROLES:
                if layer == "head" and (role == "act" or step == 60):
                    continue
                low = -20 - 4 * depth - step // 100 if role.startswith("d") else -8
                values = [draw.uniform(1, 2) * 2.0 ** draw.randint(low - 4, low + 4) for _ in range(60)]
                run[step, layer, role] = [struct.unpack("<f", struct.pack("<f", v))[0] for v in values] + [0.0] * 4
    return run


def share_to_zero(tensors, k):
    """Of the non-zero values; in binary16 2^-25 and less become zero."""
    values = [v for tensor in tensors for v in tensor if v != 0]
    return sum(math.ldexp(v, k) <= 2.0**-25 for v in values) / len(values)


def lost_l2(tensors, k):
    values = [v for tensor in tensors for v in tensor]
    lost = math.fsum(v * v for v in values if math.ldexp(v, k) <= 2.0**-25)
    return math.sqrt(lost / math.fsum(v * v for v in values))


class TimePage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = open_browser()
        cls.folder = tempfile.TemporaryDirectory(prefix="binade-test-")
        cls.path = Path(cls.folder.name)
        cls.run_tensors = make_run()
        named = {f"step{s:05d}/{layer}/{role}": v for (s, layer, role), v in cls.run_tensors.items()}
        cls.report = cls.page_of("run", named)

    @classmethod
    def page_of(cls, name, tensors):
        (cls.path / f"{name}.safetensors").write_bytes(safetensors(tensors))
        subprocess.run([BINADE, "report", "-q", f"{name}.safetensors", "-o", f"{name}.html", "--json", f"{name}.json"],
                       cwd=cls.path, check=True, timeout=120)
        return json.loads((cls.path / f"{name}.json").read_text(encoding="utf-8"))

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.folder.cleanup()

    def setUp(self):
        self.resize(1280)
        self.open("run")

    def tearDown(self):
        self.assertEqual(self.browser.get_log("browser"), [], "the console is silent")

    def resize(self, width):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})

    def open(self, name):
        self.browser.get((self.path / f"{name}.html").as_uri())

    def script(self, code, *arguments):
        return self.browser.execute_script(code, *arguments)

    def slide(self, k):
        self.script("""const slider = document.getElementById('slider');
            slider.value = arguments[0];
            slider.dispatchEvent(new Event('input', {bubbles: true}));""", k)

    def choose(self, which, text):
        Select(self.browser.find_element(By.ID, f"time-{which}")).select_by_visible_text(text)

    def lines(self, figure="shares"):
        """Line -> {step: value} of the points drawn."""
        points = self.script("""return [...document.querySelectorAll(`#time-${arguments[0]} .line`)].map((line) =>
            [line.dataset.line, [...line.querySelectorAll('circle')].map((point) =>
              [Number(point.dataset.step), Number(point.dataset.value)])]);""", figure)
        return {name: dict(values) for name, values in points}

    def tensors(self, step, layer, role):
        return [v for (s, x, r), v in self.run_tensors.items()
                if s == step and r == role and layer in (None, x)]

    def series(self, layer, role):
        return next(s for s in self.report["time"]["series"] if s["layer"] == layer and s["role"] == role)

    def test_lines_at_scale_one_are_the_reports_series(self):
        drawn = self.lines()
        self.assertEqual(set(drawn), set(ROLES))
        compared = 0
        for role, points in drawn.items():
            series = self.series(None, role)
            self.assertEqual(sorted(points), series["step"])
            for step, zero, nonzero in zip(series["step"], series["rne_zero"], series["nonzero"], strict=True):
                self.assertEqual(points[step], zero / nonzero, (role, step))
                compared += zero > 0
        self.assertGreater(compared, 3)

    def test_lines_follow_the_loss_scale_the_layer_and_the_question(self):
        moved = set()
        for layer in (None, *LAYERS):
            self.choose("layer", layer or "all layers")
            for k in (0, 7):
                self.slide(k)
                self.choose("what", "become zero")
                zero = self.lines()
                self.choose("what", "lost L2")
                lost = self.lines()
                for role in ("dAct", "dW"):
                    for step in zero[role]:
                        tensors = self.tensors(step, layer, role)
                        self.assertEqual(zero[role][step], share_to_zero(tensors, k), (layer, role, step, k))
                        self.assertAlmostEqual(lost[role][step], lost_l2(tensors, k), 12)
                        moved.add((k, zero[role][step]))
        self.assertGreater(len(moved), 20)

    def test_a_missing_tensor_is_a_gap_and_never_zero(self):
        self.choose("layer", "head")
        lines = self.lines()
        self.assertEqual(sorted(lines["dAct"]), [0, 50, 1000])
        self.assertEqual(lines["act"], {})
        missing = self.script("return [...document.querySelectorAll('#time-map .cell.none')].map((c) => "
                              "[c.dataset.layer, Number(c.dataset.step)])")
        self.assertEqual(missing, [["head", 60]] * 2)

    def test_the_map_has_a_cell_per_layer_and_step_darker_where_more_dies(self):
        cells = self.script("""return [...document.querySelectorAll('#time-map .cell:not(.none)')].map((c) =>
            [c.dataset.layer, c.dataset.role, Number(c.dataset.step), Number(c.dataset.value),
             Number(c.style.fillOpacity)]);""")
        self.assertEqual(len(cells), 2 * (len(LAYERS) * len(STEPS) - 1))
        for layer, role, step, value, opacity in cells:
            self.assertEqual(value, share_to_zero(self.tensors(step, layer, role), 0))
            self.assertAlmostEqual(opacity, math.sqrt(value), 3)

    def test_a_cell_selects_its_tensor(self):
        self.script("document.querySelector(`#time-map .cell[data-role='dW'][data-layer='fc1'][data-step='50']`)"
                    ".dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        self.assertEqual(self.browser.find_element(By.ID, "figure-name").text, "step00050/fc1/dW")

    def test_the_band_of_loss_scales_and_the_lost_updates_are_the_reports_own(self):
        drawn = self.script("""return [...document.querySelectorAll('#time-scale [data-step]')].map((g) =>
            [Number(g.dataset.step), Number(g.dataset.min), Number(g.dataset.max)]);""")
        self.assertEqual(drawn, [[at["step"], at["s_min_log2"], at["s_max_log2"]]
                                 for at in self.report["time"]["loss_scale"]])
        self.choose("layer", "fc1")
        updates = next(u for u in self.report["time"]["updates"] if u["layer"] == "fc1")
        shown = self.lines("updates")
        for name in ("binary16", "bfloat16"):
            lost = updates["formats"][name]["lost"]
            self.assertEqual(shown[name], {s: n / u for s, n, u in zip(updates["step"], lost, updates["updates"])})

    def test_the_answer_is_about_gradients(self):
        subject = self.browser.find_element(By.CSS_SELECTOR, "#answer-scale .subject").text
        self.assertEqual(subject, "the 22 gradients")

    def test_a_hostile_layer_is_text(self):
        self.choose("layer", LAYERS[1])
        self.assertIsNone(self.script("return window.hit ?? null"))
        self.assertIn(LAYERS[1], self.browser.find_element(By.CSS_SELECTOR, "#time-shares figcaption").text)

    def test_a_narrow_window_scrolls_only_downwards(self):
        self.resize(420)
        self.open("run")
        wide, window = self.script("const root = document.documentElement; return [root.scrollWidth, root.clientWidth]")
        self.assertLessEqual(wide, window)
        self.assertGreater(len(self.lines()["dAct"]), 0)

    def test_a_run_without_nan_or_inf_does_not_speak_of_them(self):
        self.assertFalse(self.browser.find_element(By.ID, "time-odd").is_displayed())
        self.assertNotIn("NaN or Inf", self.browser.find_element(By.ID, "time").text)
        self.assertEqual(self.script("return document.querySelectorAll('#time .odd-steps line, #time .cross').length"),
                         0)

    def test_nan_and_inf_are_told_marked_and_passed_over(self):
        nan, inf = math.nan, math.inf
        good = [2.0 ** -8, 2.0 ** -3, 0.0, 1.0]
        report = self.page_of("odd", {
            "step0/fc1/dW": good, "step0/fc1/act": good, "step10/fc1/dW": [nan, inf, -inf, 2.0 ** 10],
            "step10/fc1/act": good, "step20/fc1/dW": good, "step20/fc1/act": [nan, *good],
            "step30/fc1/dW": [nan] * 4, "step30/fc1/act": good, "step40/fc1/dW": good})
        self.assertEqual(report["gradients"]["passed_over"], [10, 30])
        self.open("odd")
        self.assertEqual(self.browser.find_element(By.ID, "time-odd").text,
                         "NaN or Inf in act, dW: 3 of 5 steps, first in step 10; dotted lines in the figures.")
        for figure in ("shares", "scale", "range"):
            marked = self.script("return [...document.querySelectorAll(`#time-${arguments[0]} .odd-steps line`)]"
                                 ".map((line) => Number(line.dataset.odd))", figure)
            self.assertEqual(marked, [10, 20, 30], figure)
        self.assertEqual(self.script("return document.querySelectorAll('#time-map .cross').length"), 2)
        self.choose("what", "NaN or Inf")
        self.assertEqual(self.lines(), {"act": {0: 0, 10: 0, 20: 0.2, 30: 0},
                                        "dW": {0: 0, 10: 0.75, 20: 0, 30: 1, 40: 0}})
        self.assertIn("of all values", self.browser.find_element(By.CSS_SELECTOR, "#time-shares figcaption").text)
        self.assertIn("2 steps passed over", self.browser.find_element(By.CSS_SELECTOR, "#time-scale figcaption").text)
        bands = self.script("return [...document.querySelectorAll('#time-scale .interval-band')].length")
        self.assertEqual(bands, 3)
        answer = self.browser.find_element(By.ID, "answer-scale").text
        self.assertIn("because their gradients hold NaN or Inf: steps 10, 30.", answer)
        saved = self.script("return [...document.querySelectorAll('#answer-saves tbody tr:last-child td')]"
                            ".map((cell) => cell.textContent)")
        self.assertEqual(saved[3][0], "0", "2^10 of a step that is passed over would overflow at 2^14")

    def test_a_run_whose_every_gradient_is_nan_gets_no_scale(self):
        self.page_of("all_nan", {"step0/fc1/dW": [math.nan, 1.0], "step1/fc1/dW": [math.nan], "x": [1.0]})
        self.open("all_nan")
        answer = self.browser.find_element(By.ID, "answer-scale").text
        self.assertIn("None.", answer)
        self.assertIn("no scale can be told", answer)

    def test_without_two_steps_there_is_no_such_section(self):
        self.page_of("once", {"step1/fc1/dW": [1.0], "step1/fc1/dAct": [2.0]})
        self.open("once")
        self.assertFalse(self.browser.find_element(By.ID, "time").is_displayed())
        subject = self.browser.find_element(By.CSS_SELECTOR, "#answer-scale .subject").text
        self.assertEqual(subject, "all 2 gradients")


if __name__ == "__main__":
    BINADE = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=1)
