# SPDX-License-Identifier: Apache-2.0
"""Tests the answers at the top, the roles, the hint, and the layout of the whole page."""

import copy

from other_reports import with_odd_tensors, with_weights, without_values
from report_page import ReportPage


class Answers(ReportPage):
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

    def test_each_answer_says_what_it_is_about(self):
        self.open()
        count = len(self.report["tensors"])
        for answer, subject in (("dies", f"all {count} tensors"), ("scale", f"all {count} gradients"),
                                ("saves", f"all {count} gradients")):
            self.assertEqual(self.find(f"#answer-{answer} .subject").text, subject)
        self.open(with_weights(self.report))
        for answer, subject in (("dies", f"the {count - 2} gradients"), ("scale", f"the {count - 2} gradients"),
                                ("saves", f"the {count - 2} gradients")):
            self.assertEqual(self.find(f"#answer-{answer} .subject").text, subject)
        self.assertIn("Left out: 2 weight", self.find("#answer-scale .basis").text)

    def test_the_verdict_has_a_card_for_each_role(self):
        self.open()
        verdict = self.report["verdict"]
        cards = self.find_all("#verdict-roles li")
        self.assertEqual([card.text.split("\n")[:2] for card in cards],
                         [[role["role"], role["format"] or "binary32"] for role in verdict["roles"]])
        self.assertIn("--target-sqnr", self.find("#verdict-limits").text)
        report = copy.deepcopy(self.report)
        report["verdict"] = {"text": [], "roles": []}
        self.open(report)
        self.assertFalse(self.find("#verdict").is_displayed())

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
