# SPDX-License-Identifier: Apache-2.0
"""The map of layers and roles over the steps of a run: its colours, its cells, its search."""

from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from time_page import LAYERS, STEPS, TimePage, rounded, share_to_zero


class TimeMap(TimePage):
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
