# SPDX-License-Identifier: Apache-2.0
"""Tests the histogram, the slider of the loss scale and the metrics, of all tensors and of one."""

import page_data
from other_reports import one_tensor
from report_page import MASSES, ReportPage
from selenium.webdriver.common.keys import Keys


class Figure(ReportPage):
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

    def test_what_values_far_below_the_largest_lose_is_not_nothing(self):
        for high, low, lost in ((332, -233, 2.0 ** -565), (1023, -1074, 2.0 ** -1074)):
            report = one_tensor(self.report, [[1] + [0] * 8], exponent=high)
            small = one_tensor(self.report, [[1] + [0] * 8], exponent=low)
            for one, other in ((report["total"], small["total"]), (report["tensors"][0], small["tensors"][0])):
                one.update(values=2, nonzero=2, binades=other["binades"] + one["binades"])
            self.open(report)
            self.slide(0)
            shown = {metric: value for metric, (value, _) in self.shown().items()}
            self.assertEqual((shown["lost_l1"], shown["lost_l2"]), (lost, lost))
            self.assertEqual(shown["clipped_l1"], 1 - 2.0 ** -53)

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

    def test_the_scales_are_those_of_the_chosen_format(self):
        held = page_data.unpacked(self.html.read_text(encoding="utf-8"))[0]
        self.open()
        for form, scale in zip(self.report["formats"], held["loss_scales"], strict=True):
            self.assertEqual(scale["format"], form["name"])
            self.choose(form, "nonzero")
            best = scale["recommended_log2"]
            self.assertTrue(self.find_all(f"#presets [data-k='{best}']"), form)
            words = self.find("#answer-scale").text
            self.assertIn("Each tensor its own" if scale["own_scales"] else f", for {form['name']}", words)
            self.assertIn(form["name"], self.find("#answer-dies .prose").text)
            shown = self.find(".total [data-column='scale']").get_attribute("data-value")
            self.assertEqual(int(shown), scale["s_max_log2"], form)
            if not scale["own_scales"]:
                self.slide(best)
                overflow = self.shown()["overflow"]
                self.assertEqual(overflow[0], 0, form)

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
