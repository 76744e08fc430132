# SPDX-License-Identifier: Apache-2.0
"""Opens a page of results in headless Chromium and judges what it draws against its JSON.

    python results_page_test.py MADE_EXPERIMENTS

The program with made experiments writes page and JSON; places of curves, points and bars are held to
the numbers of the JSON by way of the ticks' own words. Exit 77 where selenium, chromium or chromedriver
are missing.
"""

import json
import math
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from chromium import PageCase  # exits with 77 where there is none
from interrupted import kill_experiments
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

LOGARITHMS, BARS, MANY = 0, 1, 2  # the plots of the experiment "right"
SHAPES = """return [...document.querySelectorAll('.plot')[arguments[0]].querySelectorAll('.axes .tick')].map(
    (tick) => [tick.textContent, tick.getAttribute('text-anchor'), Number(tick.getAttribute('x')),
               Number(tick.getAttribute('y')), tick.querySelector('tspan') !== null])"""


def number(words, raised):
    """A tick's value: 2−14 with the −14 raised is 2^-14."""
    words = words.replace("−", "-").replace("\u202f", "")
    if raised:
        base = 10 if words.startswith("10") else 2
        return float(base) ** int(words[len(str(base)):])
    return float(words)


def points(d):
    return [tuple(map(float, pair)) for pair in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", d)]


class ResultsPage(PageCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page, cls.json = cls.path / "page.html", cls.path / "data.json"
        subprocess.run([cls.program, "experiment", "run", "--all", "-o", cls.page, "--json", cls.json],
                       capture_output=True, timeout=60)
        cls.results = json.loads(cls.json.read_text())["results"]

    def setUp(self):
        super().setUp()
        self.browser.get(self.page.as_uri())

    def plot(self, index):
        return self.results[0]["plots"][index]

    def ticks(self, index, axis):
        anchor, place = ("middle", 2) if axis == "x" else ("end", 3)
        return [(number(row[0], row[4]), row[place] - (0 if axis == "x" else 4))
                for row in self.script(SHAPES, index) if row[1] == anchor]

    def map_of(self, index, axis):
        """From values to pixels, by the first and the last tick; all others must lie between as they should."""
        kind = self.plot(index)[f"{axis}_axis"]
        unit = (lambda v: v) if kind == "linear" else math.log2
        ticks = self.ticks(index, axis)
        self.assertGreater(len(ticks), 2)
        (a, pa), (b, pb) = ticks[0], ticks[-1]
        at = lambda v: pa + (unit(v) - unit(a)) * (pb - pa) / (unit(b) - unit(a))  # noqa: E731
        for value, place in ticks:
            self.assertAlmostEqual(at(value), place, delta=0.1)
        return at

    def paths(self, index, series):
        return self.script("""const group = document.querySelectorAll('.plot')[arguments[0]]
            .querySelector(`[data-series="${arguments[1]}"]`);
            return Object.fromEntries([...group.querySelectorAll('path')].map((path) =>
              [path.getAttribute('class'), path.getAttribute('d')]))""", index, series)

    def test_it_asks_the_network_for_nothing_but_itself(self):
        self.assert_requests_are_local()

    def test_a_line_goes_through_its_values_and_stops_at_gaps(self):
        series = self.plot(LOGARITHMS)["series"][0]
        x, y = self.map_of(LOGARITHMS, "x"), self.map_of(LOGARITHMS, "y")
        d = self.paths(LOGARITHMS, 0)["curve"]
        drawn = points(d)
        expected = [(x(a), y(b)) for a, b in zip(series["x"], series["y"]) if b is not None]
        self.assertEqual(len(expected), 10)
        self.assertEqual(len(drawn), len(expected))
        for (px, py), (ex, ey) in zip(drawn, expected):
            self.assertAlmostEqual(px, ex, delta=0.1)
            self.assertAlmostEqual(py, ey, delta=0.1)
        self.assertEqual(d.count("M"), 2)

    def test_steps_hold_their_value_until_the_next(self):
        series = self.plot(LOGARITHMS)["series"][1]
        y = self.map_of(LOGARITHMS, "y")
        drawn = points(self.paths(LOGARITHMS, 1)["curve"])
        for (xa, ya), (xb, yb) in zip(drawn, drawn[1:]):
            self.assertTrue(xa == xb or ya == yb or xb > xa)
        heights = sorted({round(py, 1) for _, py in drawn})
        expected = sorted({round(y(b), 1) for b in series["y"] if b})
        self.assertEqual(len(heights), len(expected))
        for a, b in zip(heights, expected):
            self.assertAlmostEqual(a, b, delta=0.11)
        self.assertIn("2 values are not shown", self.script(
            "return document.querySelectorAll('.plot')[0].querySelector('.note').textContent"))

    def test_points_are_discs_at_their_places(self):
        series = self.plot(LOGARITHMS)["series"][2]
        x, y = self.map_of(LOGARITHMS, "x"), self.map_of(LOGARITHMS, "y")
        d = self.paths(LOGARITHMS, 2)["dots"]
        discs = [(float(px) + float(r), float(py)) for px, py, r in
                 re.findall(r"M(-?[\d.]+) (-?[\d.]+)a([\d.]+)", d)]
        self.assertEqual(len(discs), len(series["x"]))
        for (px, py), a, b in zip(discs, series["x"], series["y"]):
            self.assertAlmostEqual(px, x(a), delta=0.1)
            self.assertAlmostEqual(py, y(b), delta=0.1)

    def test_bars_stand_on_zero_side_by_side(self):
        x, y = self.map_of(BARS, "x"), self.map_of(BARS, "y")
        seen = 0
        edges = []
        for i, series in enumerate(self.plot(BARS)["series"]):
            bars = self.script("""return [...document.querySelectorAll('.plot')[1].querySelectorAll(
                `[data-series="${arguments[0]}"] rect`)].map((bar) => [Number(bar.dataset.index),
                ...['x', 'y', 'width', 'height'].map((name) => Number(bar.getAttribute(name)))])""", i)
            self.assertEqual([bar[0] for bar in bars], [k for k, v in enumerate(series["y"]) if v is not None])
            for index, left, top, width, height in bars:
                value = series["y"][index]
                self.assertAlmostEqual(height, abs(y(value) - y(0)), delta=0.1)
                self.assertAlmostEqual(top, min(y(value), y(0)), delta=0.1)
                self.assertLess(abs(left + width / 2 - x(series["x"][index])), width)
                edges.append((left, left + width))
                seen += 1
        self.assertEqual(seen, 7)
        edges.sort()
        for (_, right), (left, _) in zip(edges, edges[1:]):
            self.assertLessEqual(right, left)

    def test_every_curve_of_many_looks_different(self):
        looks = self.script("""return [...document.querySelectorAll('.plot')[2].querySelectorAll('.curve')].map(
            (path) => getComputedStyle(path).stroke + getComputedStyle(path).strokeDasharray)""")
        legend = self.script("""return [...document.querySelectorAll('.plot')[2].querySelectorAll('.legend button')]
            .map((button) => button.textContent)""")
        self.assertEqual(legend, [f"2−{i} m" for i in range(9)])
        self.assertEqual(len(set(looks)), 9)

    def test_pointing_reads_every_series_at_the_nearest_x(self):
        self.script("""const svg = document.querySelectorAll('.plot')[1].querySelector('.chart svg');
            const box = svg.getBoundingClientRect();
            svg.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: box.right - 5,
              clientY: box.top + 50}));""")
        readout = self.find_all(".readout")[BARS].text
        self.assertEqual(readout.split("\n"), ["n 4", "a 4", "b –"])

    def test_arrow_keys_walk_through_the_values(self):
        svg = self.find_all(".chart svg")[LOGARITHMS]
        self.script("arguments[0].focus()", svg)
        readout = self.find_all(".readout")[LOGARITHMS]
        svg.send_keys(Keys.ARROW_RIGHT)
        self.assertIn("m 2−14", readout.text)
        self.assertIn("line 1e−7", readout.text)
        svg.send_keys(Keys.ARROW_RIGHT)
        self.assertIn("points 3", readout.text)
        self.assertNotIn("line", readout.text)

    def test_the_legend_hides_a_series_and_shows_it_again(self):
        count = "return document.querySelectorAll('.plot')[1].querySelectorAll('.series.ink-1 rect').length"
        button = self.find_all(".plot")[BARS].find_elements(By.TAG_NAME, "button")[1]
        self.assertEqual(self.script(count), 4)
        self.script("arguments[0].click()", button)
        self.assertEqual(self.script(count), 1)  # the swatch
        self.script("arguments[0].click()", button)
        self.assertEqual(self.script(count), 4)

    def test_the_summary_and_the_sections_tell_every_status(self):
        rows = [row.text for row in self.find_all("#summary tr")]
        self.assertEqual(len(rows), len(self.results))
        words = ["as expected", "not as expected", "skipped", "failed", "as expected", "as expected"]
        for row, result, status in zip(rows, self.results, words):
            self.assertIn(result["experiment"], row)
            self.assertIn(status, row)
        self.assertIn("6 experiments: 3 as expected, 1 not as expected, 1 skipped, 1 failed",
                      self.browser.find_element(By.ID, "source").text)
        sections = self.find_all(".result")
        self.assertIn("data.csv: no such file; restore it", sections[3].text)

    def test_a_page_of_a_killed_run_names_what_remained(self):
        self.assertFalse(self.browser.find_element(By.ID, "remaining").is_displayed())
        kill_experiments(self.program, self.path, "wrong")
        self.browser.get((self.path / "killed.html").as_uri())
        self.assertEqual(self.browser.find_element(By.ID, "remaining").text,
                         "Not finished: when this page was written, 1 experiment had not ended: right.")
        self.assertEqual(len(self.find_all(".result")), 1)

    def test_powers_in_words_are_raised_and_tables_are_whole(self):
        section = self.find_all(".result")[0]

        def raised(selector):
            return [sup.text for sup in section.find_elements(By.CSS_SELECTOR, f"{selector} sup")]

        self.assertEqual(raised("h2"), ["−25"])
        self.assertEqual(raised(".answer p"), ["−25", "3"])
        self.assertEqual(raised(".plot h3"), ["k"])
        self.assertEqual(raised(".legend button"), [f"−{i}" for i in range(9)])
        name = self.script("return [...document.querySelectorAll('.axis-name')[1].childNodes]"
                           ".map((n) => [n.textContent, n.getAttribute?.('dy') ?? null])")
        self.assertEqual(name, [["x, 2", None], ["p−1", "-5"], [" m", "5"]])
        verdict = section.find_elements(By.CSS_SELECTOR, ".answer p")[1].get_attribute("textContent")
        self.assertEqual(verdict, "values below 2−25, 50\u00a0% of x3, die.")
        cells = [[cell.text for cell in row.find_elements(By.XPATH, "./*")]
                 for row in section.find_elements(By.CSS_SELECTOR, ".table tr")]
        self.assertEqual(cells, [["name", "2k", "words"], ["first", "12.5", "one"], ["second", "< 3", "two"]])

    def test_hostile_names_stay_text(self):
        self.assertIsNone(self.script("return window.hit ?? null"))
        section = self.find_all(".result")[4]
        self.assertGreater(section.text.count("onerror='window.hit=2'"), 5)

    def test_odd_plots_are_drawn_without_nonsense(self):
        section = self.find_all(".result")[5]
        html = section.get_attribute("innerHTML")
        self.assertEqual(len(section.find_elements(By.CSS_SELECTOR, ".chart svg")), 4)
        for nonsense in ("NaN", "undefined", "Infinity", "null"):
            self.assertNotIn(nonsense, html)
        self.assertLess(len(section.find_elements(By.CSS_SELECTOR, ".tick")), 80)

    def test_a_sweep_has_its_name_a_table_and_a_plot_per_result(self):
        spec = self.path / "spec.json"
        spec.write_text(json.dumps({"name": "series", "base": {"label": "2^-3"},
                                    "grid": {"power": [2, 1], "terms": [1, 4, 16]}}))
        page = spec.with_suffix(".html")
        subprocess.run([self.program, "sweep", spec, "--html", page], check=True, capture_output=True, timeout=60)
        self.browser.get(page.as_uri())
        self.assertEqual(self.browser.find_element(By.ID, "title").text, "Sweep series")
        self.assertIn('6 runs · all with {"label":"2^-3"}', self.browser.find_element(By.ID, "source").text)
        titles = [title.text for title in self.find_all(".plot h3")]
        self.assertEqual(titles, ["sum", "rest"])
        self.assertEqual(len(self.find_all(".plot .series path.curve")), 8)
        self.assertEqual(len(self.find_all(".table tbody tr")), 6)
        self.assertEqual(len(self.find_all(".answers, .status")), 0)

    def test_the_dark_page_is_dark(self):
        paper = "return getComputedStyle(document.body).backgroundColor"
        light = self.script(paper)
        self.media(scheme="dark")
        self.assertNotEqual(light, self.script(paper))

    def test_a_narrow_screen_scrolls_in_one_direction(self):
        self.resize(360)
        self.browser.get(self.page.as_uri())
        self.assertLessEqual(self.script("return document.documentElement.scrollWidth"), 360)

    def test_on_paper_no_readout_is_printed(self):
        self.media(media="print")
        self.assertEqual(self.script("return getComputedStyle(document.querySelector('.readout')).display"), "none")


if __name__ == "__main__":
    ResultsPage.program = str(Path(sys.argv[1]).resolve())
    unittest.main(argv=sys.argv[:1], verbosity=1)
