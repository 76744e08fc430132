# SPDX-License-Identifier: Apache-2.0
"""Opens the page of a run's report in headless Chromium and judges its section over the steps.

    python time_page_test.py PATH_TO_BINADE

The run is written here byte by byte; what the page shows is held against the report's JSON, whose shares a byte rounds in
the page, and at other scales against the values themselves, scaled in Python. Exit 77 where selenium,
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
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

import page_data

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from made_run_file import Tensor, run_file

BINADE = None
STEPS = (0, 50, 60, 1000)
LAYERS = ("fc1", "</script><script>window.hit=1</script>/&amp;", "head")
ROLES = ("act", "dAct", "weight", "dW", "update")


def safetensors(tensors, metadata=None):
    header, data = {"__metadata__": metadata} if metadata else {}, b""
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


def rounded(share):
    """As the page has a share."""
    return page_data.share(page_data.code(share))


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
        return cls.report_on(name, [f"{name}.safetensors"])

    @classmethod
    def report_on(cls, name, files):
        subprocess.run([BINADE, "report", "-q", *files, "-o", f"{name}.html", "--json", f"{name}.json"],
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
        WebDriverWait(self.browser, 30, 0.02).until(
            lambda _: self.script("return performance.getEntriesByName('drawn').length") == 1)

    def script(self, code, *arguments):
        return self.browser.execute_script(code, *arguments)

    def slide(self, k):
        self.script("""const slider = document.getElementById('slider');
            slider.value = arguments[0];
            slider.dispatchEvent(new Event('input', {bubbles: true}));""", k)

    def choose(self, which, text):
        Select(self.find(f"#time-{which}")).select_by_visible_text(text)

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def cells(self, count):
        """What the map reads out, cell by cell, as the arrow keys go through its rows."""
        canvas = self.find("#time-map canvas")
        canvas.send_keys(Keys.ARROW_RIGHT)
        words = []
        for row in range(count):
            for step in range(len(STEPS)):
                words.append(self.find("#time-readout").text)
                canvas.send_keys(Keys.ARROW_RIGHT)
            canvas.send_keys(Keys.ARROW_DOWN, Keys.HOME)
        return words

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
                self.assertEqual(points[step], rounded(zero / nonzero), (role, step))
                compared += zero > 0
        self.assertGreater(compared, 3)

    def test_lines_follow_the_layer_and_the_question(self):
        seen = set()
        for layer in (None, *LAYERS):
            self.choose("layer", layer or "all layers")
            self.choose("what", "become zero")
            zero = self.lines()
            self.choose("what", "lost L2")
            lost = self.lines()
            for role in ("dAct", "dW"):
                for step in zero[role]:
                    tensors = self.tensors(step, layer, role)
                    self.assertEqual(zero[role][step], rounded(share_to_zero(tensors, 0)), (layer, role, step))
                    self.assertAlmostEqual(lost[role][step], lost_l2(tensors, 0), delta=0.02 * lost_l2(tensors, 0) + 1e-4)
                    seen.add(zero[role][step])
        self.assertGreater(len(seen), 10)

    def loses(self, step, layer, role, k):
        """More than the thousandth of its norm that a report is content with."""
        return lost_l2(self.tensors(step, layer, role), k) > 1e-3

    def test_what_S_serves_follows_the_slider_exactly(self):
        self.choose("what", "served by S")
        shares = set()
        for k in (0, 3, 7, 9, 12, 20):
            self.slide(k)
            drawn = self.lines()
            for role in ("dAct", "dW"):
                for step in STEPS:
                    there = [layer for layer in LAYERS if self.tensors(step, layer, role)]
                    dying = sum(self.loses(step, layer, role, k) for layer in there)
                    self.assertEqual(drawn[role][step], dying / len(there), (role, step, k))
                    shares.add(dying / len(there))
        self.assertGreater(len(shares), 3)

    def test_what_begins_to_die_is_told_by_step_and_follows_the_slider(self):
        told = set()
        for k in (0, 8, 10):
            self.slide(k)
            begins = {}
            for layer in LAYERS:
                for role in ("dAct", "dW"):
                    dying = [step for step in STEPS if self.tensors(step, layer, role) and self.loses(step, layer, role, k)]
                    if dying:
                        begins.setdefault(dying[0], set()).add(f"{layer} {role}")
            shown = {int(row.get_attribute("data-step")):
                     {button.text for button in row.find_elements(By.TAG_NAME, "button")}
                     for row in self.browser.find_elements(By.CSS_SELECTOR, "#time-begin li")}
            self.assertEqual(sorted(shown), sorted(begins), k)
            for step, names in shown.items():
                self.assertLessEqual(names, begins[step])
                self.assertEqual(len(names), min(3, len(begins[step])))
            of = sum(map(len, begins.values()))
            self.assertIn(f"Of 6 tensors (layer and role) {of or 'none'} lose", self.find("#time-begin .prose").text)
            told.add(of)
        self.assertGreater(len(told), 1)

    def test_who_sets_the_ends_is_counted_over_the_steps(self):
        for end in ("binding_min", "binding_max"):
            counts = {}
            for at in self.report["time"]["loss_scale"]:
                _, _, rest = at[end].partition("/")
                name = " ".join(rest.rsplit("/", 1))
                counts[name] = counts.get(name, 0) + 1
            shown = {row.find_element(By.TAG_NAME, "button").text:
                     int(row.find_element(By.TAG_NAME, "small").get_attribute("data-steps"))
                     for row in self.browser.find_elements(By.CSS_SELECTOR, f"[data-end={end}] li")}
            self.assertEqual(shown, counts)
            self.assertEqual(sum(shown.values()), len(STEPS))

    def test_who_sets_the_ends_is_known_of_gradients_by_the_files_name(self):
        run = {f"step{s}/{layer}.weight": [2.0**level, 2.0 ** (level - 9)] for s in (1, 2)
               for layer, level in (("low", -20), ("high", 3))}
        self.page_of("gradients", run)
        self.open("gradients")
        for end, layer in (("binding_min", "low"), ("binding_max", "high")):
            rows = self.browser.find_elements(By.CSS_SELECTOR, f"[data-end={end}] li")
            self.assertEqual([row.text.split()[0] for row in rows], [f"{layer}.weight"])

    def test_the_ends_of_the_scale_choose_their_rows_in_both_tables(self):
        self.page_of("ends", {f"step{s}/{layer}.weight.grad": [2.0**level, 2.0 ** (level - 9)] for s in (3, 4)
                              for layer, level in (("a", -7), ("low", -20), ("high", 3))})
        self.open("ends")
        for which in ("run", "last"):
            self.script("document.querySelector(`#which [value=${arguments[0]}]`).click()", which)
            for end, layer in enumerate(("high", "low")):
                self.browser.find_elements(By.CSS_SELECTOR, "#answer-scale li button")[end].click()
                self.assertEqual(self.find("#figure-name").text, f"{layer}.weight dW")
        self.page_of("apart", {"step1/fc1/dW": [1.0], "x": [1.0], "step2/fc1/dW": [1.0],
                               "step2/x.grad.y": [2.0], "y.grad": [2.0**10], "z.grad": [2.0**-20]})
        self.open("apart")
        for end, name in enumerate(("y.grad", "z.grad")):
            self.browser.find_elements(By.CSS_SELECTOR, "#answer-scale li button")[end].click()
            self.assertEqual(self.find("#figure-name").text, name)

    def test_points_of_several_tensors_count_each_and_have_no_shape_where_theirs_differ(self):
        run = {f"step{s}/a.grad_{side}.0": [2.0**-8] * n for s in (1, 2) for side, n in (("input", 2), ("output", 3))}
        run.update({f"step{s}/a/{role}": [2.0**-8] * 2 for s in (1, 2) for role in ("dW", "act")})
        self.page_of("several", run)
        self.open("several")
        self.assertEqual(self.find("#answer-scale .subject").text, "the 6 gradients")
        self.assertIn("Taken from 6 gradients.", self.find("#answer-scale .basis").text)
        shapes = self.script("""return Object.fromEntries([...document.querySelectorAll('#tensors tr[data-tensor]')].map((row) =>
            [row.querySelector('th button').textContent, row.querySelector('[data-column=shape]').textContent]))""")
        self.assertEqual({name: shape for name, shape in shapes.items() if name.startswith("a ")},
                         {"a dAct": "", "a dW": "2", "a act": "2"})
        self.script("document.querySelector('#tensors tbody:not(.total) [data-tensor=\"1\"] button').click()")
        self.assertTrue(self.find("#figure-notes").text.startswith("all steps together · F32 · 10 values"),
                        self.find("#figure-notes").text)

    def test_the_table_has_a_row_a_layer_and_role_of_the_run_or_of_its_last_step(self):
        rows = """return [...document.querySelectorAll('#tensors tbody:not(.total) tr[data-tensor]')].map((row) =>
            [row.querySelector('th button').textContent, Number(row.querySelector('[data-column=values]').dataset.value),
             Number(row.querySelector('[data-column=to_zero]').dataset.value)])"""
        for which, steps in (("run", STEPS), ("last", STEPS[-1:])):
            self.script("document.querySelector(`#which [value=${arguments[0]}]`).click()", which)
            shown = {name: (values, to_zero) for name, values, to_zero in self.script(rows)}
            wanted = {}
            for layer in LAYERS:
                for role in ROLES:
                    tensors = [t for step in steps for t in self.tensors(step, layer, role)]
                    if tensors:
                        wanted[f"{layer} {role}"] = (sum(map(len, tensors)), share_to_zero(tensors, 0))
            self.assertEqual(shown, wanted, which)
            self.assertEqual(len(shown), 14)

    def test_a_missing_tensor_is_a_gap_and_never_zero(self):
        self.choose("layer", "head")
        lines = self.lines()
        self.assertEqual(sorted(lines["dAct"]), [0, 50, 1000])
        self.assertEqual(lines["act"], {})
        words = self.cells(6)
        missing = [text for text in words if "no such tensor" in text]
        self.assertEqual([text.split(":")[0] for text in missing], ["head dAct, step 60", "head dW, step 60"])

    def test_the_map_reads_out_every_cell_by_arrow_keys(self):
        words = iter(self.cells(6))
        for role in ("dAct", "dW"):
            for layer in LAYERS:
                for step in STEPS:
                    text = next(words)
                    tensors = self.tensors(step, layer, role)
                    if not tensors:
                        continue
                    share = rounded(share_to_zero(tensors, 0))
                    self.assertTrue(text.startswith(f"{layer} {role}, step {step}: ".replace("1000", "1\u202f000")), text)
                    stated = text.rsplit(": ", 1)[1].split("\u202f%")[0]
                    self.assertAlmostEqual(float(stated.removeprefix("about ")) / 100, share, delta=0.006, msg=text)
                    self.assertEqual(stated.startswith("about"), share not in (0, 1))

    def cell_color(self, column, line=0):
        """Red, green and blue in the middle of a cell of the map, found by its keys; lines run through all roles."""
        return self.script("""const canvas = document.querySelector('#time-map canvas');
            const key = (name) => canvas.dispatchEvent(new KeyboardEvent('keydown', {key: name, bubbles: true}));
            key('PageUp');
            for (let i = 0; i < 9; i += 1) key('PageUp');
            key('Home');
            for (let i = 0; i < arguments[1]; i += 1) key('ArrowDown');
            for (let i = 0; i < arguments[0]; i += 1) key('ArrowRight');
            const [frame, box] = [document.querySelector('#time-map .cursor'), canvas].map((one) => one.getBoundingClientRect());
            const probe = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
            probe.drawImage(canvas, frame.x - box.x + frame.width / 2, frame.y - box.y + frame.height / 2, 1, 1, 0, 0, 1, 1);
            return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3);""", column, line)

    def test_the_map_is_darker_where_more_dies(self):
        shades = {}
        for part, role in enumerate(("dAct", "dW")):
            for row, layer in enumerate(LAYERS):
                for column, step in enumerate(STEPS):
                    tensors = self.tensors(step, layer, role)
                    if tensors:
                        shades[share_to_zero(tensors, 0)] = self.cell_color(column, part * len(LAYERS) + row)
        self.assertGreater(len(shades), 8)
        green = [shades[share][1] for share in sorted(shades)]
        self.assertEqual(green, sorted(green, reverse=True), "#efece3 to #b8331b")
        for share, color in shades.items():
            root = rounded(share) ** 0.5
            for c, (light, dark) in zip(color, ((0xEF, 0xB8), (0xEC, 0x33), (0xE3, 0x1B))):
                self.assertAlmostEqual(c, light + (dark - light) * root, delta=1.01)

    def test_a_cell_selects_its_layer_and_role(self):
        canvas = self.find("#time-map canvas")
        canvas.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
        self.assertEqual(self.find("#figure-name").text, "fc1 dW")
        self.assertEqual(Select(self.find("#time-layer")).first_selected_option.text, "fc1")

    def test_a_search_keeps_the_rows_that_hold_its_words(self):
        self.find("#time-rows").send_keys("FC")
        self.assertIn("fc1", self.find("#time-map nav").text)
        self.assertIn("Map of 1 layers over 4 steps", self.find("#time-map canvas").get_attribute("aria-label"))
        self.find("#time-rows").send_keys("nothing")
        self.assertIn("no layer has such a name", self.find("#time-map nav").text)
        self.script("document.querySelector('#time-map nav button').click()")
        self.assertIn("Map of 3 layers", self.find("#time-map canvas").get_attribute("aria-label"))

    def test_the_scale_that_the_run_used_is_drawn_where_its_files_say_it(self):
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "#time-scale .used-scale"), [])
        folder = self.path / "used"
        folder.mkdir(exist_ok=True)
        for step, scale in enumerate(("65536", "32768", "no number", "49152")):
            (folder / f"{step}.safetensors").write_bytes(safetensors({f"step{step}/fc1/dW": [1.0, 2.0**-20]},
                                                                     {"loss_scale": scale}))
        report = self.report_on("used", sorted(str(path) for path in folder.iterdir()))
        self.assertEqual([at.get("used") for at in report["time"]["loss_scale"]], [65536, 32768, None, 49152])
        self.open("used")
        self.assertEqual(len(self.browser.find_elements(By.CSS_SELECTOR, "#time-scale .used-scale")), 1)
        self.assertIn("used by the run", self.find("#time-scale figcaption").text)
        held, _ = page_data.unpacked((self.path / "used.html").read_text(encoding="utf-8"))
        self.assertEqual([at["used_log2"] for at in held["time"]["loss_scale"]], [16, 15, None, math.log2(49152)])

    def test_steps_without_an_update_are_told_as_skipped(self):
        good = [2.0 ** -8, 2.0 ** -3]
        run = {f"step{s}/fc1/{role}": good for s in range(3) for role in ("weight", "dW", "update")}
        del run["step1/fc1/update"]
        self.page_of("skipped", run)
        self.open("skipped")
        self.assertEqual(self.find("#time-skipped .prose").text, "Without an update, as steps are that a scaler skips: 1.")

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
            self.assertEqual(shown[name], {s: rounded(n / u)
                                           for s, n, u in zip(updates["step"], lost, updates["updates"])})

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
        self.assertFalse(self.find("#time-skipped").is_displayed())
        self.assertNotIn("NaN or Inf", self.find("#time").text)
        self.assertEqual(self.script("return document.querySelectorAll('#time .odd-steps line').length"), 0)

    def test_nan_and_inf_are_told_marked_and_passed_over(self):
        nan, inf = math.nan, math.inf
        good = [2.0 ** -8, 2.0 ** -3, 0.0, 1.0]
        report = self.page_of("odd", {
            "step0/fc1/dW": good, "step0/fc1/act": good, "step10/fc1/dW": [nan, inf, -inf, 2.0 ** 10],
            "step10/fc1/act": good, "step20/fc1/dW": good, "step20/fc1/act": [nan, *good],
            "step30/fc1/dW": [nan] * 4, "step30/fc1/act": good, "step40/fc1/dW": good})
        self.assertEqual(report["gradients"]["passed_over"], [10, 30])
        self.open("odd")
        self.assertEqual(self.find("#time-skipped .prose").text,
                         "NaN or Inf in act, dW: 3 of 5 steps, first in step 10; dotted lines in the figures.\n"
                         "The gradients of steps 10, 30 hold NaN or Inf: no loss scale is told of them.")
        for figure in ("shares", "scale", "range"):
            marked = self.script("return [...document.querySelectorAll(`#time-${arguments[0]} .odd-steps line`)]"
                                 ".map((line) => Number(line.dataset.odd))", figure)
            self.assertEqual(marked, [10, 20, 30], figure)
        ink = [self.cell_color(column) for column in range(5)]
        self.assertEqual([color == [0x22, 0x20, 0x1C] for color in ink], [False, True, False, True, False])
        self.choose("what", "NaN or Inf")
        self.assertEqual(self.lines(), {"act": {0: 0, 10: 0, 20: rounded(0.2), 30: 0},
                                        "dW": {0: 0, 10: rounded(0.75), 20: 0, 30: 1, 40: 0}})
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

    def test_a_watched_run_tells_how_it_was_watched_and_has_no_sqnr(self):
        self.assertTrue(self.find("#watched").get_attribute("hidden"))
        tensors = [Tensor(step, "fc1", role, [2.0**-20, 1.0, 0.5]) for step in (0, 100, 200)
                   for role in ("dW", "weight")]
        (self.path / "watched.binade").write_bytes(run_file(
            [(step, step + 50, 2, 65536.0) for step in (0, 100, 200)], tensors, notes=["<b>a note</b>"],
            first_nonfinite={"text": "step 150: Inf in <i>act</i> of fc1, 2^16 and more", "step": 150}))
        self.report_on("watched", ["watched.binade"])
        self.open("watched")
        section = self.find("#watched")
        self.assertEqual([line.text for line in section.find_elements(By.TAG_NAME, "p")],
                         ["Watched: every 50th step from 0 to 250; each point merges 2 watched steps.",
                          "First value that is not finite: step 150: Inf in <i>act</i> of fc1, 216 and more",
                          "<b>a note</b>"])
        heads = self.find("#tensors thead").text
        self.assertIn("loss scale", heads)
        self.assertNotIn("SQNR", heads)
        self.assertNotIn("SQNR", self.find("#figure-notes").text)
        self.open("run")
        self.assertIn("SQNR", self.find("#tensors thead").text)


if __name__ == "__main__":
    BINADE = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=1)
