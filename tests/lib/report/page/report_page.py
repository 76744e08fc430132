# SPDX-License-Identifier: Apache-2.0
"""The page of a gradient-range report in the browser, and the oracle of its numbers: from the JSON's binade rows with
Python's integers, sharing no line with the page. Counts and their shares must be equal; L1 and L2, of which the page
holds means in millionths, to six digits."""

import math
from fractions import Fraction

import page_data
from chromium import PageCase
from selenium.webdriver.support.ui import Select

COUNTS = ("to_zero", "subnormal", "normal", "overflow")
MASSES = ("lost_l1", "lost_l2", "clipped_l1")


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


class ReportPage(PageCase):
    html = report = None  # the page under test and the JSON beside it

    def open(self, report=None):
        """Opens the page under test, or the same page around another report."""
        path = self.html
        if report is not None:
            page = self.html.read_text(encoding="utf-8")
            path = self.path / "other.html"
            path.write_text(page_data.put(page, page_data.line_of(report)), encoding="utf-8")
        self.browser.get(path.as_uri())
        self.wait_until_drawn()
        return path

    def wait_for_frame(self):
        """Until the page has learned which rows are near the screen."""
        self.browser.execute_async_script(
            "requestAnimationFrame(() => setTimeout(arguments[0], 50))")

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
