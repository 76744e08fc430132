# SPDX-License-Identifier: Apache-2.0
"""Tests the table of tensors: its figures at a scale, its order, its filter, its rows on screen."""

import copy

from other_reports import HOSTILE, with_odd_tensors
from report_page import ReportPage, expected
from selenium.webdriver.common.by import By


class Tensors(ReportPage):
    def sort_by(self, column, order):
        self.script("document.querySelector(`thead [data-column=${arguments[0]}] button`).click()",
                    column)
        sorted_heads = self.find_all("#tensors th[aria-sort]")
        self.assertEqual([(head.get_attribute("data-column"), head.get_attribute("aria-sort"))
                          for head in sorted_heads], [(column, order)])
        return [index for index, _ in self.rows()]

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
        numbers = {"max": lambda t: t["max"], "min": lambda t: t["min"], "values": lambda t: t["values"],
                   "zeros": lambda t: t["zeros"] / t["values"] if t["values"] else None,
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
