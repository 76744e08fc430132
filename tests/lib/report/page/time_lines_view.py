# SPDX-License-Identifier: Apache-2.0
"""The lines, tables and answers over the steps of a run, at each loss scale and for each layer."""

from selenium.webdriver.common.by import By
from time_page import LAYERS, ROLES, STEPS, TimePage, lost_l2, rounded, share_to_zero


class TimeLines(TimePage):
    def series(self, layer, role):
        return next(s for s in self.report["time"]["series"] if s["layer"] == layer and s["role"] == role)

    def loses(self, step, layer, role, k):
        """More than the thousandth of its norm that a report is content with."""
        return lost_l2(self.tensors(step, layer, role), k) > 1e-3

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
                     for row in self.find_all("#time-begin li")}
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
                     for row in self.find_all(f"[data-end={end}] li")}
            self.assertEqual(shown, counts)
            self.assertEqual(sum(shown.values()), len(STEPS))

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
        subject = self.find("#answer-scale .subject").text
        self.assertEqual(subject, "the 22 gradients")

    def test_a_hostile_layer_is_text(self):
        self.choose("layer", LAYERS[1])
        self.assertIsNone(self.script("return window.hit ?? null"))
        self.assertIn(LAYERS[1], self.find("#time-shares figcaption").text)

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
