# SPDX-License-Identifier: Apache-2.0
"""Opens a gradient-range report in headless Chromium and judges what it shows.

    python page_test.py REPORT.html REPORT.json

The oracle derives every number from the JSON's binade rows with Python integers and shares no
line with the page. Counts and their shares must be equal; L1 and L2, of which the page holds means in millionths,
to six digits. Some tests put another report into the same page: odd tensors, hostile names, 20 000 rows. Exit 77 where selenium, chromium or chromedriver are missing.
"""

import copy
import json
import math
import sys
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from chromium import open_browser  # exits with 77 where there is none
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

import page_data

COUNTS = ("to_zero", "subnormal", "normal", "overflow")
MASSES = ("lost_l1", "lost_l2", "clipped_l1")
HOSTILE = "</script><script>window.hit=1</script><img src=x onerror='window.hit=2'><!-- &amp; ${x}"


# The oracle ---------------------------------------------------------------------------------

def outcome(form, exponent, segment):
    """What the scaled exponent and the segment of the significand become, ties to even."""
    p, emin, emax = form["precision"], form["emin"], form["emax"]
    place = (exponent, segment)
    if place < (emin - p, 1):
        return "to_zero"
    if place < (emin - 1, form["normal_segment"]):
        return "subnormal"
    return "overflow" if place >= (emax, form["overflow_segment"]) else "normal"


def expected(tensor, form, k, of):
    """Every number the page shows for a tensor: name -> float or None."""
    count = dict.fromkeys(COUNTS, 0)
    total = clipped = dead = squares = dead_squares = Fraction(0)
    band = 0
    for row in tensor["binades"]:
        unit = Fraction(2) ** (row["exponent"] - 52)
        squares += int(row["sum_of_squares"]) * unit ** 2
        if -27 <= row["exponent"] + k < -24:
            band += sum(map(int, row["count"]))
        ends = [outcome(form, row["exponent"] + k, s) for s in range(9)]
        if ends[8] == "to_zero":
            dead_squares += int(row["sum_of_squares"]) * unit ** 2
        elif ends[0] == "to_zero":
            dead_squares += int(row["count"][0]) * (2 ** 52 * unit) ** 2
        for end, n, mass in zip(ends, map(int, row["count"]), map(int, row["sum"])):
            count[end] += n
            total += mass * unit
            if end == "to_zero":
                dead += mass * unit
            if end == "overflow":
                clipped += mass * unit * Fraction(2) ** k - n * Fraction(form["max"])
    all_of = tensor["values"] if of == "values" else tensor["nonzero"]
    shares = {end: n / all_of if all_of else None for end, n in count.items()}
    shares["band_27_24"] = band / all_of if all_of else None
    shares["lost_l1"] = float(dead / total) if total else None
    shares["lost_l2"] = math.sqrt(float(dead_squares / squares)) if squares else None
    shares["clipped_l1"] = float(clipped / (total * Fraction(2) ** k)) if total else None
    return shares, count


# The browser --------------------------------------------------------------------------------

class Page(unittest.TestCase):
    html = report = browser = folder = None

    @classmethod
    def setUpClass(cls):
        cls.browser = open_browser()
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.folder.cleanup()

    def setUp(self):
        self.resize(1280, 900)
        self.media("light")
        self.browser.get_log("browser")
        self.browser.get_log("performance")

    def tearDown(self):
        complaints = self.browser.get_log("browser")
        self.assertEqual(complaints, [], "the console is silent")

    def resize(self, width, height):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def media(self, scheme):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"}]})

    def open(self, report=None):
        """Opens the page under test, or the same page around another report."""
        path = self.html
        if report is not None:
            page = self.html.read_text(encoding="utf-8")
            path = Path(self.folder.name) / "other.html"
            path.write_text(page_data.put(page, page_data.line_of(report)), encoding="utf-8")
        self.browser.get(path.as_uri())
        self.wait_until_drawn()
        return path

    def wait_until_drawn(self):
        WebDriverWait(self.browser, 30, 0.02).until(
            lambda _: self.script("return performance.getEntriesByName('drawn').length") == 1)

    def script(self, code, *arguments):
        return self.browser.execute_script(code, *arguments)

    def wait_for_frame(self):
        """Until the page has learned which rows are near the screen."""
        self.browser.execute_async_script(
            "requestAnimationFrame(() => setTimeout(arguments[0], 50))")

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def slide(self, k):
        self.script("""const slider = document.getElementById('slider');
            slider.value = arguments[0];
            slider.dispatchEvent(new Event('input', {bubbles: true}));
            slider.dispatchEvent(new Event('change', {bubbles: true}));""", k)

    def choose(self, form, of):
        Select(self.find("#format")).select_by_value(form["name"])
        self.script("document.querySelector(`#of [value=${arguments[0]}]`).click()", of)

    def shown(self):
        """Metric -> (value, count) as the page states them."""
        read = self.script("""return [...document.querySelectorAll('[data-metric]')].map((span) =>
            [span.dataset.metric, span.dataset.value ?? null, span.dataset.count ?? null]);""")
        return {name: (None if value is None else float(value), count and int(count))
                for name, value, count in read}

    def rows(self):
        """All rows of the table in order, as scrolling down meets them: (index, {column: value})."""
        return self.browser.execute_async_script("""const done = arguments[0];
            const scroll = document.querySelector('#tensors .scroll');
            const seen = new Map();
            const look = () => {
              const rows = [...document.querySelectorAll('#tensors table tbody:not(.total) tr[data-tensor]')];
              for (const row of rows) {
                seen.set(Number(row.getAttribute('aria-rowindex')), [Number(row.dataset.tensor),
                  Object.fromEntries([...row.cells].map((cell) => [cell.dataset.column, cell.dataset.value ?? null]))]);
              }
              const before = scroll.scrollTop;
              scroll.scrollTop += 300;
              if (scroll.scrollTop > before) requestAnimationFrame(() => requestAnimationFrame(look));
              else done([...seen].sort(([a], [b]) => a - b).map(([, row]) => row));
            };
            scroll.scrollTop = 0;
            requestAnimationFrame(() => requestAnimationFrame(look));""")

    def choose_row(self, index):
        """Scrolls until the row is there, and presses it."""
        found = self.browser.execute_async_script("""const [index, done] = arguments;
            const scroll = document.querySelector('#tensors .scroll');
            scroll.scrollTop = 0;
            const look = () => {
              const button = document.querySelector(`#tensors [data-tensor='${index}'] button`);
              const before = scroll.scrollTop;
              if (button) { button.click(); done(true); return; }
              scroll.scrollTop += 300;
              if (scroll.scrollTop > before) requestAnimationFrame(() => requestAnimationFrame(look));
              else done(false);
            };
            requestAnimationFrame(() => requestAnimationFrame(look));""", index)
        self.assertTrue(found, f"row {index}")

    def range(self):
        slider = self.find("#slider")
        return int(slider.get_attribute("min")), int(slider.get_attribute("max"))

    def assert_shows(self, tensor, form, k, of):
        shares, count = expected(tensor, form, k, of)
        shown = self.shown()
        where = f"{tensor['name']} in {form['name']} at 2^{k} of {of}"
        names = COUNTS + MASSES + (("band_27_24",) if form["name"] == "binary16" else ())
        for name in names:
            self.assert_equal_share(name, shown[name][0], shares[name], where)
        for name in COUNTS:
            self.assertEqual(shown[name][1], count[name], f"{name} count: {where}")

    def assert_equal_share(self, name, value, share, where):
        if name not in MASSES or not share:
            self.assertEqual(value, share, f"{name}: {where}")
        elif name == "clipped_l1" and self.find("#metrics .clipped_l1 small").text.endswith("about"):
            self.assertAlmostEqual(value / share, 1, delta=0.5, msg=f"{name}: {where}")
        else:
            self.assertAlmostEqual(value / share, 1, delta=2e-6, msg=f"{name}: {where}")

    def test_it_asks_the_network_for_nothing_but_itself(self):
        path = self.open()
        self.find("#histogram svg")
        asked = [json.loads(entry["message"])["message"]
                 for entry in self.browser.get_log("performance")]
        urls = [message["params"]["request"]["url"] for message in asked
                if message["method"] == "Network.requestWillBeSent"]
        self.assertEqual(urls, [path.as_uri()])

    def test_it_holds_the_report_it_came_with(self):
        embedded, planes = page_data.unpacked(self.html.read_text(encoding="utf-8"))
        self.assertEqual(planes, b"")
        wanted = page_data.line_of(self.report)
        for table in ("groups", "tensors"):
            for name in ("mean", "mean_square"):
                held, exact = embedded[table].pop(name), wanted[table].pop(name)
                self.assertGreater(len(held), 0)
                self.assertLessEqual(max(abs(a - b) for a, b in zip(held, exact, strict=True)), 1, name)
            held, exact = embedded[table].pop("sqnr_db"), wanted[table].pop("sqnr_db")
            for form, by_scale in exact.items():
                for a, b in zip(held[form]["0"], by_scale["0"], strict=True):
                    self.assertTrue(a == b or abs(a - b) < 0.0011, (a, b))
        self.assertEqual(embedded, wanted)

    def test_the_histogram_has_the_bars_of_the_binades_and_the_bands_of_the_formats(self):
        self.open()
        bars = self.script("""return [...document.querySelectorAll('#histogram svg .bar')].map(
            (bar) => [Number(bar.dataset.exponent), Number(bar.dataset.count),
                      bar.getBBox().height, bar.classList[1]]);""")
        self.assertGreater(len(bars), 0)
        rows = {row["exponent"]: sum(map(int, row["count"]))
                for row in self.report["total"]["binades"]}
        drawn = {}
        for exponent, count, height, _ in bars:
            drawn[exponent] = drawn.get(exponent, 0) + count
            self.assertGreater(height, 0)
        self.assertEqual(drawn, {e: rows[e] for e in drawn})
        self.assertGreater(sum(drawn.values()), 0.99 * sum(rows.values()))
        bands = [band.get_attribute("data-format") for band in self.find_all("#histogram .band")]
        self.assertEqual(bands, [form["name"] for form in self.report["formats"]])

    def test_a_binade_in_which_fates_mix_is_split_by_its_exact_counts(self):
        report = one_tensor(self.report, [[5, 7, 0, 0, 0, 0, 0, 11, 0]], exponent=0)
        self.open(report)
        for k, fates in ((-25, [("to_zero", 5), ("subnormal", 18)]),
                         (-15, [("subnormal", 12), ("normal", 11)]), (15, [("normal", 23)])):
            self.slide(k)
            bars = self.script("""return [...document.querySelectorAll('#histogram .bar')].map(
                (bar) => [bar.classList[1], Number(bar.dataset.count), bar.getBBox().width]);""")
            self.assertEqual([(fate, count) for fate, count, _ in bars], fates)
            width = sum(bar[2] for bar in bars)
            for _, count, wide in bars:
                self.assertAlmostEqual(wide / width, count / 23, places=3)

    def test_at_scale_one_it_shows_the_reports_own_numbers(self):
        self.open()
        for form in self.report["formats"]:
            stated = self.report["total"]["formats"][form["name"]]
            for of in ("nonzero", "values"):
                self.choose(form, of)
                shown = self.shown()
                for name in ("to_zero", "subnormal", "overflow"):
                    self.assertEqual(shown[name], (stated[name][f"of_{of}"], stated[name]["count"]))
                for name in MASSES:
                    self.assert_equal_share(name, shown[name][0], stated[name], form["name"])
                if form["name"] == "binary16":
                    band = stated["band_27_24"]
                    self.assertEqual(shown["band_27_24"], (band[f"of_{of}"], band["count"]))

    def test_the_slider_shows_what_the_binades_give_at_every_scale(self):
        self.open()
        low, high = self.range()
        for form in self.report["formats"]:
            for of, scales in (("nonzero", range(low, high + 1, 3)), ("values", (low, 1, high))):
                self.choose(form, of)
                for k in scales:
                    self.slide(k)
                    self.assert_shows(self.report["total"], form, k, of)

    def test_the_table_follows_the_slider_exactly(self):
        self.resize(1280, 3000)
        self.open()
        self.wait_for_frame()
        form = self.report["formats"][0]
        seen = 0
        for k in (0, 5, -3):
            self.slide(k)
            for index, cells in self.rows()[:20]:
                shares, _ = expected(self.report["tensors"][index], form, k, "nonzero")
                for name in ("to_zero", "subnormal", "overflow", "lost_l2"):
                    value = None if cells[name] is None else float(cells[name])
                    self.assert_equal_share(name, value, shares[name], f"row {index} at 2^{k}")
                    seen += 1
        self.assertGreater(seen, 0)

    def test_the_slider_moves_by_keyboard_and_says_its_value(self):
        self.open()
        slider = self.find("#slider")
        slider.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        self.assertEqual(slider.get_attribute("value"), "3")
        self.assertEqual(self.find("#scale").text.split("=")[-1].strip(), "8")
        self.assertEqual(slider.get_attribute("aria-valuetext"), "2 to the 3, 8")
        self.assert_shows(self.report["total"], self.report["formats"][0], 3, "nonzero")

    def test_the_scale_moves_the_bars_and_leaves_the_bands(self):
        self.open()
        look = """const left = (one) => document.querySelector(one).getBBox().x;
            return [left('#histogram .bar:last-child'), left('#histogram .range.normal')];"""
        before = self.script(look)
        self.slide(2)
        after = self.script(look)
        self.assertGreater(after[0], before[0])
        self.assertEqual(after[1], before[1])

    def test_a_preset_goes_to_the_recommended_scale(self):
        k = self.report["loss_scale"]["recommended_log2"]
        if k is None:
            self.skipTest("this report recommends no scale")
        self.open()
        self.find(f"#presets [data-k='{k}']:last-of-type").click()
        self.assertEqual(self.find("#slider").get_attribute("value"), str(k))

    def test_a_row_selects_its_tensor(self):
        self.open()
        for index, tensor in list(enumerate(self.report["tensors"]))[:3]:
            self.choose_row(index)
            self.assertEqual(self.find("#figure-name").text, tensor["name"])
            self.assert_shows(tensor, self.report["formats"][0], 0, "nonzero")
        self.find("#to-total").click()
        self.assert_shows(self.report["total"], self.report["formats"][0], 0, "nonzero")

    def test_heads_sort_the_table_both_ways_with_missing_values_last(self):
        report = with_odd_tensors(self.report)
        self.open(report)
        numbers = {"max": lambda t: t["max"], "values": lambda t: t["values"],
                   "headroom": lambda t: t["formats"][report["formats"][0]["name"]]["headroom"]}
        texts = {"advice": lambda t: t["advice"]["format"]}
        both = ["descending", "ascending"]
        for column, key in (numbers | texts).items():
            for order in both if column in numbers else both[::-1]:
                shown = [key(report["tensors"][index]) for index in self.sort_by(column, order)]
                known = [value for value in shown if value is not None]
                self.assertEqual(known, sorted(known, reverse=order == "descending"))
                self.assertEqual(shown[len(known):], [None] * (len(shown) - len(known)))
        upwards = self.sort_by("name", "ascending")
        self.assertEqual(self.sort_by("name", "descending"), upwards[::-1])
        self.assertEqual(sorted(upwards), list(range(len(report["tensors"]))))

    def sort_by(self, column, order):
        self.script("document.querySelector(`thead [data-column=${arguments[0]}] button`).click()",
                    column)
        sorted_heads = self.find_all("#tensors th[aria-sort]")
        self.assertEqual([(head.get_attribute("data-column"), head.get_attribute("aria-sort"))
                          for head in sorted_heads], [(column, order)])
        return [index for index, _ in self.rows()]

    def test_the_filter_keeps_the_tensors_that_hold_all_its_words(self):
        self.open()
        name = self.report["tensors"][-1]["name"]
        words = [name[: len(name) // 2].upper(), name[len(name) // 2:]]
        words = [word for word in " ".join(words).split()]
        self.find("#filter").send_keys(" ".join(words))
        kept = {index for index, _ in self.rows()}
        wanted = {i for i, t in enumerate(self.report["tensors"])
                  if all(word.lower() in f"{t['name']} {t['file']} {t['dtype']}".lower()
                         for word in words)}
        self.assertEqual(kept, wanted)
        self.assertIn(len(self.report["tensors"]) - 1, kept)
        self.find("#filter").send_keys("no such tensor")
        self.assertEqual(self.rows(), [])

    def test_a_hostile_name_is_text(self):
        report = with_odd_tensors(self.report)
        self.open(report)
        index = next(i for i, t in enumerate(report["tensors"]) if t["name"] == HOSTILE)
        self.choose_row(index)
        self.assertEqual(self.script("return document.getElementById('figure-name').textContent"),
                         HOSTILE)
        self.assertIsNone(self.script("return window.hit ?? null"))
        self.assertEqual(self.find_all("img"), [])

    def test_empty_all_zero_and_nan_tensors_and_skipped_ones_are_named(self):
        report = with_odd_tensors(self.report)
        self.open(report)
        self.choose(report["formats"][0], "values")
        text = self.find("#apart").text
        for words in ("Empty: .*odd/empty", "All zero: .*odd/zero", "No finite value: .*odd/nan",
                      r"odd/steps \(I64, 3, integer\)"):
            self.assertRegex(text, words)
        for index, tensor in enumerate(report["tensors"]):
            if tensor["name"].startswith("odd/"):
                self.choose_row(index)
                self.assertEqual(self.find_all("#histogram .bar"), [])
                self.assertNotEqual(self.find("#histogram .nothing").text, "")
                self.assert_shows(tensor, report["formats"][0], 0, "values")

    def test_a_report_without_any_finite_value_still_reads(self):
        report = without_values(self.report)
        self.open(report)
        self.assertIn("nothing can die", self.find("#answer-dies").text)
        self.assertIn("None", self.find("#answer-scale").text)
        self.slide(4)
        self.assertEqual(self.shown()["lost_l2"][0], None)

    def test_a_narrow_window_scrolls_only_downwards(self):
        self.resize(420, 800)
        self.open(with_odd_tensors(self.report))
        wide, window = self.script("const root = document.documentElement;"
                                   "return [root.scrollWidth, root.clientWidth]")
        self.assertLessEqual(wide, window)
        self.assertGreater(len(self.find_all("#histogram .bar")), 0)

    def test_labels_of_the_bands_touch_nothing(self):
        for width in (1280, 700, 420):
            self.resize(width, 800)
            self.open(one_tensor(self.report, [[9] * 9] * 30, -16))  # nothing is further left than binary16 reaches
            boxes = self.script("""return [...document.querySelectorAll('#histogram .bands text')].map((text) => {
                const box = text.getBBox();
                return [text.textContent, box.x, box.y, box.width, box.height]; });""")
            self.assertIn("binary16", [box[0] for box in boxes])
            for name, x, *_ in boxes:
                self.assertGreaterEqual(x, 0, (name, width))
            for i, (name, x, y, w, h) in enumerate(boxes):
                for other, x2, y2, w2, h2 in boxes[i + 1:]:
                    apart = x + w <= x2 or x2 + w2 <= x or y + h <= y2 + 1 or y2 + h2 <= y + 1
                    self.assertTrue(apart, (name, other, width))

    def test_the_tables_head_stays_in_sight(self):
        report = copy.deepcopy(self.report)
        report["tensors"] = report["tensors"] * 9
        for width, height in ((1280, 700), (1000, 700), (420, 700)):
            self.resize(width, height)
            self.open(report)
            self.script("""const scroll = document.querySelector('#tensors .scroll');
                scroll.scrollIntoView({block: 'end', behavior: 'instant'});
                scroll.scrollTop = scroll.scrollHeight / 2;""")
            self.wait_for_frame()
            top, visible, row = self.script("""const scroll = document.querySelector('#tensors .scroll').getBoundingClientRect();
                const head = document.querySelector('#tensors thead [data-column=name]').getBoundingClientRect();
                const under = document.elementFromPoint(head.x + 5, head.y + head.height / 2);
                const row = document.elementFromPoint(scroll.x + 5, scroll.y + scroll.height / 2);
                return [head.top - scroll.top, under?.closest('thead') !== null, row?.closest('tr')?.dataset.tensor];""")
            self.assertTrue(visible, width)
            self.assertGreaterEqual(top, 0, width)
            self.assertIsNotNone(row, width)

    def test_each_answer_says_what_it_is_about(self):
        self.open()
        count = len(self.report["tensors"])
        for answer, subject in (("dies", f"all {count} tensors"), ("scale", f"all {count} gradients"),
                                ("saves", f"all {count} gradients")):
            self.assertEqual(self.find(f"#answer-{answer} .subject").text, subject)
        self.open(with_weights(self.report))
        for answer, subject in (("dies", f"all {count} tensors"), ("scale", f"the {count - 2} gradients"),
                                ("saves", f"the {count - 2} gradients")):
            self.assertEqual(self.find(f"#answer-{answer} .subject").text, subject)
        self.assertIn("Left out: 2 weight", self.find("#answer-scale .basis").text)

    def test_roles_stand_apart(self):
        report = with_weights(self.report)
        self.open(report)
        rows = self.find_all("#answer-dies .by-role tbody tr")
        self.assertEqual([row.text.split()[0] for row in rows], [role["name"] for role in report["roles"]])
        self.assertEqual(self.find("#figure-name").text, "All gradients")
        totals = [row.text.split("\n")[0] for row in self.find_all("#tensors .total th button")]
        self.assertEqual(totals, ["all tensors", "all gradients"] + [f"all {role['name']}" for role in report["roles"]])
        self.find_all("#tensors .total tr")[2].click()
        self.assertEqual(self.find("#figure-name").text, f"All {report['roles'][0]['name']}")
        self.assert_shows(report["roles"][0], report["formats"][0], 0, "nonzero")
        self.script("document.getElementById('to-total').click()")
        self.assertEqual(self.find("#figure-name").text, "All gradients")

    def test_a_hint_is_seen(self):
        self.open()
        self.assertFalse(self.find("#hint").is_displayed())
        report = copy.deepcopy(self.report)
        report["hint"] = "name them otherwise <b>"
        self.open(report)
        self.assertEqual(self.find("#hint").text, "name them otherwise <b>")

    def test_sqnr_says_how_overflow_counts(self):
        self.open()
        text = self.script("return document.getElementById('reading').textContent.replace(/\\s+/g, ' ')")
        self.assertIn("as if it were saturated", text)
        self.assertIn("saturated", self.find("#tensors th[data-column=sqnr]").get_attribute("title"))

    def test_the_dark_scheme_is_dark_and_legible(self):
        brightness = """const of = (property) => getComputedStyle(document.body)[property]
              .match(/\\d+/g).slice(0, 3).map(Number).reduce((sum, part) => sum + part) / 3;
            return [of('backgroundColor'), of('color')];"""
        self.open()
        paper, ink = self.script(brightness)
        self.assertGreater(paper - ink, 180)
        self.media("dark")
        paper, ink = self.script(brightness)
        self.assertGreater(ink - paper, 180)
        fill = self.script("return getComputedStyle(document.querySelector('.bar')).fill")
        self.assertNotIn(fill, ("", "none", "rgb(0, 0, 0)"))

    def test_of_20_000_tensors_only_rows_in_sight_are_in_the_page(self):
        report = copy.deepcopy(self.report)
        ok = [t for t in report["tensors"] if t["status"] == "ok"]
        report["tensors"] = [dict(ok[i % len(ok)], name=f"h.{i // 12}.part{i % 12}", binades=ok[i % len(ok)]["binades"][:9])
                             for i in range(20_000)]
        self.open(report)
        count = "return document.querySelectorAll('#tensors tbody:not(.total) tr[data-tensor]').length"
        self.assertTrue(0 < self.script(count) < 100)
        self.script("document.querySelector('#tensors .scroll').scrollTop = 300000")
        self.wait_for_frame()
        self.assertTrue(0 < self.script(count) < 100)
        self.assertLess(self.script("return document.querySelectorAll('*').length"), 4000)
        self.find("#filter").send_keys("h.1234.part7")
        self.assertEqual(self.find("#shown").text.replace("\u202f", ""), "1 of 20000 tensors")
        self.assertEqual([index for index, _ in self.rows()], [1234 * 12 + 7])

    def test_in_the_order_of_names_rows_of_a_layer_fold(self):
        report = copy.deepcopy(self.report)
        ok = [t for t in report["tensors"] if t["status"] == "ok"]
        report["tensors"] = [dict(ok[i], name=f"h.{i % 3}.part{i}") for i in range(9)]
        self.open(report)
        self.assertEqual(self.find_all("#tensors tr.group"), [])
        self.sort_by("name", "ascending")
        heads = self.find_all("#tensors tr.group button")
        self.assertEqual([head.text.strip() for head in heads], ["h.0", "h.1", "h.2"])
        worst = max(t["formats"]["binary16"]["lost_l2"] for t in report["tensors"][1::3])
        self.assertIn(f"up to {100 * worst:.1g}"[:9], heads[1].find_element(By.XPATH, "../..").text.replace("−", "-"))
        heads[1].click()
        self.assertEqual(self.script("return [document.activeElement.textContent, document.activeElement.ariaExpanded]"),
                         ["h.1", "false"], "the focus stays")
        self.assertEqual([index for index, _ in self.rows()], [0, 3, 6, 2, 5, 8])
        numbers = self.script("return [...document.querySelectorAll('#tensors tr:not(.space)')].map((row) => row.ariaRowIndex)")
        count = self.find("#tensors table").get_attribute("aria-rowcount")
        self.assertEqual(numbers, [str(i) for i in range(1, int(count) + 1)])
        heads = self.find_all("#tensors tr.group button")
        self.assertEqual([head.get_attribute("aria-expanded") for head in heads], ["true", "false", "true"])

    def test_a_browser_that_cannot_inflate_is_told_so_in_a_sentence(self):
        script = self.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument",
                                              {"source": "delete window.DecompressionStream"})
        try:
            self.browser.get(self.html.as_uri())
            self.assertTrue(self.find("#no-data").is_displayed())
            self.assertIn("DecompressionStream", self.find("#no-data").text)
            self.assertFalse(self.find("#damaged").is_displayed())
            self.assertEqual(len(self.browser.get_log("browser")), 1)
        finally:
            self.browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)

    def notices_of(self, page):
        """Which notices a page shows that cannot be drawn, and what it complains of."""
        path = Path(self.folder.name) / "broken.html"
        path.write_text(page, encoding="utf-8")
        self.browser.get(path.as_uri())
        WebDriverWait(self.browser, 10, 0.02).until(
            lambda _: any(notice.is_displayed() for notice in self.find_all(".notice")))
        return ([notice.get_attribute("id") for notice in self.find_all(".notice") if notice.is_displayed()],
                len(self.browser.get_log("browser")))

    def test_a_browser_that_cannot_read_the_scripts_is_told_so(self):
        page = self.html.read_text(encoding="utf-8")
        begin = '<script type="module">'
        self.assertEqual(page.count(begin), 1)
        self.assertEqual(self.notices_of(page.replace(begin, begin + "await await;")), (["no-data"], 1))
        self.assertEqual(self.notices_of(page.replace(begin, '<script type="unknown">')), (["no-data"], 0))
        self.assertNotRegex(page, r"\(\?<[=!]", "Safari 16.4 is the first to read these")

    def test_damaged_data_are_told_as_such(self):
        page = self.html.read_text(encoding="utf-8")
        data = page_data.DATA.search(page)
        middle = (data.start(2) + data.end(2)) // 2
        other = "A" if page[middle] != "A" else "B"
        for words, broken, complaints in (
                ("a letter is another", page[:middle] + other + page[middle + 1:], 1),
                ("what is no letter of base64", page[:middle] + "*" + page[middle + 1:], 1),
                ("four letters less", page[:middle] + page[middle + 4:], 1),
                ("the end of the data is missing", page[:middle] + page[data.end(2):], 1),
                ("the file ends in the data", page[:middle], 0),
                ("the file ends in the scripts", page[:-2000], 0)):
            with self.subTest(words):
                self.assertEqual(self.notices_of(broken), (["damaged"], complaints))


# Other reports ------------------------------------------------------------------------------

def silent_tensor(like, name, status, values, zeros=0, nan=0):
    tensor = copy.deepcopy(like)
    tensor.update(name=name, status=status, values=values, zeros=zeros, nan=nan, inf=0, negative=0,
                  nonzero=0, min=None, max=None, shape=[values], binades=[])
    for numbers in tensor["formats"].values():
        numbers.update(headroom=None, sqnr_db={"0": None}, **dict.fromkeys(MASSES))
        for name in ("to_zero", "subnormal", "overflow"):
            numbers[name] = {"count": 0, "of_values": 0.0 if values else None, "of_nonzero": None}
    tensor["loss_scale"] = {"status": "no finite value", "s_min_log2": None, "s_max_log2": None,
                            "recommended_log2": None, "lost_l2_at_recommended": None, "reason": ""}
    return tensor


def with_odd_tensors(report):
    report = copy.deepcopy(report)
    like = report["tensors"][0]
    report["tensors"] += [
        silent_tensor(like, "odd/empty", "empty", 0),
        silent_tensor(like, "odd/zero", "all zero", 8, zeros=8),
        silent_tensor(like, "odd/nan", "no finite value", 8, nan=8),
        dict(copy.deepcopy(like), name=HOSTILE),
    ]
    report["skipped"] = [{"file": "odd.npz", "name": "odd/steps", "dtype": "I64", "shape": [3],
                          "reason": "integer"}]
    return report


def without_values(report):
    report = copy.deepcopy(report)
    like = report["total"]
    report["tensors"] = [silent_tensor(like, "odd/nan", "no finite value", 8, nan=8)]
    report["total"] = silent_tensor(like, "total", "no finite value", 8, nan=8)
    report["loss_scale"] = dict(report["total"]["loss_scale"], binding_max=None, binding_min=None)
    report["roles"] = []
    del report["gradients"]
    return report


def with_weights(report):
    """The same, two of whose tensors are weights."""
    report = copy.deepcopy(report)
    for tensor in report["tensors"][:2]:
        tensor["role"] = "weight"
    report["roles"].append(dict(copy.deepcopy(report["tensors"][0]), name="weight", tensors=2))
    report["loss_scale"]["basis"] = "Left out: 2 weight; no loss scale multiplies them."
    return report


def one_tensor(report, counts, exponent):
    """A report of one tensor whose binades from `exponent` on hold the given counts."""
    report = copy.deepcopy(report)
    least = [Fraction(1), Fraction(5, 4), Fraction(7, 4), Fraction(15, 8) - Fraction(1, 32),
             Fraction(15, 8)] + [2 - Fraction(1, 2 ** k) for k in (7, 8, 10, 11)]
    binades, nonzero = [], 0
    for i, count in enumerate(counts):
        whole = [int(m * 2 ** 52) for m in least]
        binades.append({"exponent": exponent + i, "count": count,
                        "sum": [str(n * m) for n, m in zip(count, whole)],
                        "sum_of_squares": str(sum(n * m * m for n, m in zip(count, whole)))})
        nonzero += sum(count)
    for tensor in (report["total"], report["tensors"][0]):
        tensor.update(values=nonzero, nonzero=nonzero, zeros=0, nan=0, inf=0, binades=binades)
    report["tensors"] = report["tensors"][:1]
    report["loss_scale"].update(s_min_log2=-30, s_max_log2=20)
    return report


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: page_test.py REPORT.html REPORT.json")
    Page.html = Path(sys.argv[1]).resolve()
    Page.report = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
