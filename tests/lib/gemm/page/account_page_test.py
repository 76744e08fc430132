# SPDX-License-Identifier: Apache-2.0
"""Opens a loss account in headless Chromium and judges what it shows against its JSON.

    python account_page_test.py ACCOUNT.html ACCOUNT.json

Heights and widths of bars are held to the exact integers of the JSON. Some tests put another account
into the same page: a chain without blocks, no loss at all, nothing but NaN, hostile names. Exit 77 where
selenium, chromium or chromedriver are missing.
"""

import copy
import json
import re
import sys
import unittest
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from chromium import PageCase  # exits with 77 where there is none
from selenium.webdriver.common.by import By

DATA = re.compile(r'(<script type="application/json" id="account">)(.*?)(</script>)', re.S)
HOSTILE = "</script><script>window.hit=1</script><img src=x onerror='window.hit=2'><!-- &amp; ${x}"
NOTHING = {"value": 0.0, "integer": "0", "exponent": 0}


def exact(magnitude):
    return int(magnitude["integer"]) * Fraction(2) ** magnitude["exponent"]


def lossless(account):
    out = copy.deepcopy(account)
    for row in out["rules"]:
        row.update(cut=0, vanished=0, of_products=0.0, lost=NOTHING, raised=NOTHING, lowered=NOTHING)
    for position in out["positions"]:
        for row in position["rules"].values():
            row.update(cut=0, vanished=0, of_products=0.0, lost=NOTHING, raised=NOTHING, lowered=NOTHING)
    for row in out["distances"]:
        row.update(cut=0, vanished=0, lost=NOTHING)
    for name in ("error", "raised", "lowered", "outward", "inward"):
        out[name] = NOTHING
    out.update(exact=out["elements"] - out["special"], error_of_exact=0.0, error_of_products=0.0,
               worst_relative=None, worst_to_products=None, worst_to_bound=None, error_to_bound=[])
    return out


def chain(account):
    out = copy.deepcopy(account)
    out["distances"] = []
    for name in ("block", "fraction_bits", "exponent_floor", "grid"):
        out["model"][name] = None
    return out


def all_special(account):
    out = lossless(account)
    for row in out["rules"]:
        row.update(steps=0)
    for position in out["positions"]:
        position.update(products=NOTHING, rules={})
    out.update(special=out["elements"], exact=0, products=0, blocks=0, blocks_at_addend=0,
               blocks_at_floor=0, distances=[], error_of_exact=None, error_of_products=None,
               product_magnitude=NOTHING, exact_magnitude=NOTHING)
    return out


class AccountPage(PageCase):
    html = account = None

    def open(self, account=None):
        path = self.html
        if account is not None:
            data = json.dumps(account).replace("<", "\\u003c")
            page = self.html.read_text(encoding="utf-8")
            path = self.path / "other.html"
            path.write_text(DATA.sub(lambda m: m[1] + data + m[3], page), encoding="utf-8")
        self.browser.get(path.as_uri())

    def text(self, selector):
        return self.find(selector).text

    def boxes(self, selector, name):
        return self.script("""return [...document.querySelectorAll(arguments[0])].map((bar) => [
            bar.classList[1], bar.dataset[arguments[1]], ...['x', 'y', 'width', 'height'].map((name) =>
              Number(bar.getAttribute(name)))])""", selector, name)

    def test_it_asks_the_network_for_nothing_but_itself(self):
        self.open()
        self.assert_requests_are_local()

    def test_bars_along_k_are_as_high_as_the_losses(self):
        self.open()
        bars = self.boxes("#along-k .part", "position")
        total = exact(self.account["product_magnitude"])
        seen = 0
        for rule, position, *_ in bars:
            row = self.account["positions"][int(position)]["rules"][rule]
            share = exact(row["lost"]) / total
            self.assertAlmostEqual(row["of_products"], float(share), delta=1e-15 + 1e-12 * float(share))
            seen += 1
        drawn = sum(1 for p in self.account["positions"] for r in p["rules"].values()
                    if r["lost"]["integer"] != "0")
        self.assertEqual(seen, drawn)
        self.assertGreater(seen, 20)
        heights = [(h, float(exact(self.account["positions"][int(p)]["rules"][r]["lost"])))
                   for r, p, _, _, _, h in bars]
        tallest = max(heights)
        for height, lost in heights:
            self.assertAlmostEqual(height, tallest[0] * lost / tallest[1], delta=0.02)

    def test_stacks_stand_on_one_another(self):
        self.open()
        stacks = {}
        for _, position, _, y, _, height in self.boxes("#along-k .part", "position"):
            stacks.setdefault(position, []).append((y, height))
        for parts in stacks.values():
            for (y, _), (above, height) in zip(parts, parts[1:]):
                self.assertAlmostEqual(above + height, y, delta=0.02)

    def test_bars_of_depth_are_cut_as_the_products_are(self):
        self.open()
        parts = {}
        for fate, row, _, _, width, height in self.boxes("#distances .part", "row"):
            parts.setdefault(int(row), {})[fate] = (width, height)
        rows = self.account["distances"]
        self.assertEqual(sorted(parts), list(range(len(rows))))
        most = max(range(len(rows)), key=lambda i: rows[i]["products"])
        full = sum(width for width, _ in parts[most].values())
        fates = {"whole": lambda r: r["products"] - r["cut"], "shortened": lambda r: r["cut"] - r["vanished"],
                 "vanished": lambda r: r["vanished"]}
        for i, row in enumerate(rows):
            for fate, count in fates.items():
                width, height = parts[i].get(fate, (0, None))
                self.assertAlmostEqual(width, full * count(row) / row["products"], delta=0.02)
                if height and height > 1:
                    tallest = list(parts[most].values())[0][1]
                    self.assertAlmostEqual(height, tallest * row["products"] / rows[most]["products"], delta=0.05)
        self.assertGreater(sum(row["vanished"] for row in rows), 0)

    def test_logarithmic_shares_keep_the_order_of_the_bars(self):
        self.open()
        self.script("document.getElementById('log-y').click()")
        tops = {int(row): y for _, row, _, y, _, _ in self.boxes("#distances .part", "row")}
        rows = self.account["distances"]
        by_count = sorted(range(len(rows)), key=lambda i: rows[i]["products"])
        self.assertEqual([tops[i] for i in by_count], sorted((tops[i] for i in by_count), reverse=True))

    def test_every_element_is_in_the_figure_of_the_bound(self):
        self.open()
        counts = self.script("""return [...document.querySelectorAll('#answer-bound [data-elements]')]
            .map((bar) => Number(bar.dataset.elements))""")
        self.assertEqual(sum(counts), self.account["elements"] - self.account["special"])

    def test_errors_that_reach_the_bound_stand_left_of_it(self):
        account = copy.deepcopy(self.account)
        account["error_to_bound"] = [{"log2": 0, "and_below": False, "elements": 7},
                                     {"log2": -1, "and_below": False, "elements": 5}]
        account["exact"] = 0
        self.open(account)
        bars = self.script("""return [...document.querySelectorAll('#answer-bound [data-elements]')].map(
            (bar) => [Number(bar.dataset.elements), bar.getBBox().x + bar.getBBox().width])""")
        line = self.script("return document.querySelector('.bound-line').getBBox().x")
        self.assertEqual([count for count, _ in bars], [12])
        self.assertLessEqual(bars[0][1], line)

    def test_the_table_states_every_rule_that_was_applied(self):
        self.open()
        digits = lambda words: int(re.sub(r"\D", "", words))  # noqa: E731
        shown = self.script("""return [...document.querySelectorAll('#rules tbody tr')].map((row) =>
            [row.dataset.rule, ...[...row.cells].slice(1).map((cell) => cell.textContent)])""")
        rows = [row for row in self.account["rules"] if row["steps"] > 0]
        self.assertEqual([row[0] for row in shown], [row["rule"] for row in rows])
        for words, row in zip(shown, rows):
            self.assertEqual([digits(words[i]) for i in (1, 2, 4)],
                             [row["steps"], row["cut"], row["vanished"]])

    def test_pointing_at_a_bar_reads_it(self):
        self.open()
        for figure, words in (("along-k", "k from 0 to"), ("distances", "0 binades below")):
            self.script("""const svg = document.querySelector(`#${arguments[0]} svg`);
                const box = document.querySelector(`#${arguments[0]} .part`).getBoundingClientRect();
                svg.dispatchEvent(new PointerEvent('pointermove', {bubbles: true,
                  clientX: box.left + 1, clientY: box.top}));""", figure)
            self.assertIn(words, self.text(f"#{figure} .readout"))

    def test_the_dark_page_is_dark(self):
        paper = "return getComputedStyle(document.body).backgroundColor"
        self.open()
        light = self.script(paper)
        self.media("dark")
        self.open()
        self.assertNotEqual(light, self.script(paper))

    def test_a_narrow_screen_scrolls_in_one_direction(self):
        self.resize(360, 800)
        self.open()
        self.assertLessEqual(self.script("return document.documentElement.scrollWidth"), 360)

    def test_a_chain_has_no_depth_and_no_window(self):
        self.open(chain(self.account))
        self.assertFalse(self.browser.find_element(By.ID, "distances").is_displayed())
        self.assertGreater(len(self.boxes("#along-k .part", "position")), 0)

    def test_a_product_without_loss_says_so(self):
        self.open(lossless(self.account))
        self.assertIn("every element is exact", self.text("#answer-off"))
        self.assertIn("Nothing", self.text("#answer-cost"))
        self.assertIn("No rule lost anything", self.text("#along-k .chart"))

    def test_a_product_of_nothing_but_nan_says_so(self):
        self.open(all_special(self.account))
        self.assertIn("No element is a number", self.text("#answer-off"))
        self.assertNotIn("undefined", self.text("main"))
        self.assertNotIn("NaN%", self.text("main"))

    def test_hostile_names_stay_text(self):
        account = copy.deepcopy(self.account)
        account.update(operands=HOSTILE, instruction=HOSTILE, order=HOSTILE)
        self.open(account)
        self.assertIsNone(self.script("return window.hit ?? null"))
        self.assertIn("onerror='window.hit=2'", self.text("#source"))


if __name__ == "__main__":
    AccountPage.html = Path(sys.argv[1]).resolve()
    AccountPage.account = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    unittest.main(argv=sys.argv[:1], verbosity=1)
