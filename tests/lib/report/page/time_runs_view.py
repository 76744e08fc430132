# SPDX-License-Identifier: Apache-2.0
"""Tests the section over the steps in the pages of other runs: odd names, NaN and Inf, one step, a watched run."""

import math

from made_run_file import Tensor, run_file
import page_data
from selenium.webdriver.common.by import By
from time_page import TimePage, rounded, safetensors_of


class TimeRuns(TimePage):
    def test_who_sets_the_ends_is_known_of_gradients_by_the_files_name(self):
        run = {f"step{s}/{layer}.weight": [2.0**level, 2.0 ** (level - 9)] for s in (1, 2)
               for layer, level in (("low", -12), ("high", 3))}
        self.page_of("gradients", run)
        self.open("gradients")
        for end, layer in (("binding_min", "low"), ("binding_max", "high")):
            rows = self.find_all(f"[data-end={end}] li")
            self.assertEqual([row.text.split()[0] for row in rows], [f"{layer}.weight"])

    def test_the_ends_of_the_scale_choose_their_rows_in_both_tables(self):
        self.page_of("ends", {f"step{s}/{layer}.weight.grad": [2.0**level, 2.0 ** (level - 9)] for s in (3, 4)
                              for layer, level in (("a", -7), ("low", -12), ("high", 3))})
        self.open("ends")
        for which in ("run", "last"):
            self.script("document.querySelector(`#which [value=${arguments[0]}]`).click()", which)
            for end, layer in enumerate(("high", "low")):
                self.find_all("#answer-scale li button")[end].click()
                self.assertEqual(self.find("#figure-name").text, f"{layer}.weight dW")
        self.page_of("apart", {"step1/fc1/dW": [1.0], "x": [1.0], "step2/fc1/dW": [1.0],
                               "step2/x.grad.y": [2.0], "y.grad": [2.0**10], "z.grad": [2.0**-20]})
        self.open("apart")
        for end, name in enumerate(("y.grad", "z.grad")):
            self.find_all("#answer-scale li button")[end].click()
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

    def test_the_scale_that_the_run_used_is_drawn_where_its_files_say_it(self):
        self.assertEqual(self.find_all("#time-scale .used-scale"), [])
        folder = self.path / "used"
        folder.mkdir(exist_ok=True)
        for step, scale in enumerate(("65536", "32768", "no number", "49152")):
            (folder / f"{step}.safetensors").write_bytes(safetensors_of({f"step{step}/fc1/dW": [1.0, 2.0**-20]},
                                                                     {"loss_scale": scale}))
        report = self.report_on("used", sorted(str(path) for path in folder.iterdir()))
        self.assertEqual([at.get("used") for at in report["time"]["loss_scale"]], [65536, 32768, None, 49152])
        self.open("used")
        self.assertEqual(len(self.find_all("#time-scale .used-scale")), 1)
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
        self.assertIn("of all values", self.find("#time-shares figcaption").text)
        self.assertIn("2 steps passed over", self.find("#time-scale figcaption").text)
        bands = self.script("return [...document.querySelectorAll('#time-scale .interval-band')].length")
        self.assertEqual(bands, 3)
        answer = self.find("#answer-scale").text
        self.assertIn("because their gradients hold NaN or Inf: steps 10, 30.", answer)
        saved = self.script("return [...document.querySelectorAll('#answer-saves tbody tr:last-child td')]"
                            ".map((cell) => cell.textContent)")
        self.assertEqual(saved[3][0], "0", "2^10 of a step that is passed over would overflow at 2^14")

    def test_a_run_whose_every_gradient_is_nan_gets_no_scale(self):
        self.page_of("all_nan", {"step0/fc1/dW": [math.nan, 1.0], "step1/fc1/dW": [math.nan], "x": [1.0]})
        self.open("all_nan")
        answer = self.find("#answer-scale").text
        self.assertIn("None.", answer)
        self.assertIn("no scale can be told", answer)

    def test_without_two_steps_there_is_no_such_section(self):
        self.page_of("once", {"step1/fc1/dW": [1.0], "step1/fc1/dAct": [2.0]})
        self.open("once")
        self.assertFalse(self.find("#time").is_displayed())
        subject = self.find("#answer-scale .subject").text
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
