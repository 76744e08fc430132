# SPDX-License-Identifier: Apache-2.0
#
# claims, quickly: every correction holds, with the same bytes on one thread and on two, and figures that can be had
# without the project are those that Python's own floats and a few lines of arithmetic give.

import json
import math
import os
import re
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from made_files import through
from quick_run import quick_run

BINADE = ""
IDS = ["underflow_at_6e_5", "band_is_zeroed", "precision_falls", "int32_has_a_sign_bit", "eps_vanishes",
       "fp16_not_in_backward", "backward_under_autocast", "weights_in_fp16", "mean_in_fp32", "activations_in_fp16",
       "bf16_only_on_cpu", "below_2_27_irrelevant", "loss_in_fp16", "scaler_limits_gradients", "scale_grows",
       "diverges_without_scaling", "memory_halves", "speed_ratios"]


def first_unmoved(dtype):
    """The exponent from which on x + 1e-6 is x, x a power of two."""
    return next(e for e in range(-14, 64) if through(dtype, 2.0**e + 1e-6) == 2.0**e)


def scale_after(steps, is_inf):
    """GradScaler's scale, and the steps at which it grew."""
    scale, good, grew = 65536.0, 0, []
    for step in range(1, steps + 1):
        good = 0 if is_inf(step) else good + 1
        if is_inf(step):
            scale = through("<f4", scale * 0.5)
        elif good == 2000:
            scale, good = scale * 2, 0
            grew.append(step)
    return scale, grew


def numbers_in(figures):
    """All numbers of the JSON."""
    if isinstance(figures, bool):
        return []
    if isinstance(figures, (int, float)):
        return [float(figures)]
    inner = figures.values() if isinstance(figures, dict) else figures if isinstance(figures, list) else []
    return [x for part in inner for x in numbers_in(part)]


class Claims(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bytes = quick_run(BINADE, "claims", 2)
        cls.result = json.loads(cls.bytes)["results"][0]
        cls.figures = {row["claim"]: row.get("figures", {}) for row in cls.result["data"]["claims"]}

    def test_every_claim_is_there_and_fails_and_its_correction_holds(self):
        self.assertEqual([row["claim"] for row in self.result["data"]["claims"]], IDS)
        for row in self.result["data"]["claims"]:
            with self.subTest(row["claim"]):
                self.assertTrue(row["said"] and row["verdict"] and row["correct"])
                if "not_measured" in row:
                    self.assertNotIn("claim_fails", row)
                    continue
                self.assertIs(row["claim_fails"], True)
                self.assertIs(row["correction_holds"], True)
        self.assertEqual(self.result["status"], "as_expected")

    def test_only_speeds_are_told_not_to_be_measured(self):
        rows = [row["claim"] for row in self.result["data"]["claims"] if "not_measured" in row]
        self.assertEqual(rows, ["speed_ratios"])

    def test_every_figure_of_a_correction_was_measured(self):
        """Its figures are among the check's, as numbers; names of formats are no figures."""
        name = re.compile(r"FP(?:8|16|32|64)|BF16|TF32|bfloat16|binary(?:16|32|64)|fp32|INT32")
        number = re.compile(r"2\^-?\d+|\d[\d ]*\.?\d*(?:e-?\d+)?")
        for row in self.result["data"]["claims"]:
            measured = [abs(x) for x in numbers_in(row.get("figures", {}))]
            for word in number.findall(name.sub("", row["correct"])):
                value = 2.0 ** int(word[2:]) if word.startswith("2^") else float(word.replace(" ", ""))
                digits = len(re.sub(r"e.*|\D", "", word).lstrip("0")) if "." in word else 15
                near = 0.5 * 10.0 ** (1 - digits)  # of its first digit
                with self.subTest(row["claim"], figure=word):
                    self.assertTrue(any(abs(x - value) <= near * value for x in measured), measured)

    def test_one_thread_gives_the_same_bytes_as_two(self):
        self.assertEqual(quick_run(BINADE, "claims", 1), self.bytes)

    def test_small_numbers_are_pythons_halves(self):
        found = self.figures["underflow_at_6e_5"]
        self.assertEqual(found["of_6e_5"], through("<f2", 6e-5))
        zero = found["largest_to_zero"]
        self.assertEqual(through("<f2", zero), 0)
        self.assertGreater(through("<f2", math.nextafter(zero, 1)), 0)
        self.assertEqual(found["numbers_below_2_14"], sum(
            struct.unpack("<e", struct.pack("<H", code))[0] < 2**-14 for code in range(1, 2**15)
            if code < 0x7C00))

    def test_the_band_lives_in_its_highest_binade_alone(self):
        for row in self.figures["band_is_zeroed"]["binades"]:
            first, = struct.unpack("<I", struct.pack("<f", 2.0**row["exponent"]))
            floats = [struct.unpack("<f", struct.pack("<I", first + 128 * i))[0] for i in range(1 << 16)]
            self.assertEqual(row["floats"], len(floats))
            self.assertEqual(row["survive"], sum(through("<f2", x) != 0 for x in floats))

    def test_errors_by_binade_are_pythons(self):
        rows = self.figures["precision_falls"]["worst_relative_error"]
        self.assertEqual([row["exponent"] for row in rows], list(range(15, -25, -1)))
        for row in rows:
            drawn = (math.ldexp(1 + i / 4096, row["exponent"]) for i in range(4096))
            errors = [abs(through("<f2", x) - x) / x for x in drawn if through("<f2", x) != math.inf]
            self.assertEqual(row["error"], max(errors))

    def test_1e_6_is_lost_where_pythons_floats_lose_it(self):
        found = self.figures["eps_vanishes"]
        self.assertEqual(found["fp32_unmoved_from_exponent"], first_unmoved("<f4"))
        self.assertEqual(found["fp16_unmoved_from_exponent"], first_unmoved("<f2"))
        self.assertLess(found["fp32_passed"], 0.1)

    def test_scales_are_those_of_a_scaler_in_ten_lines(self):
        grows, limits = self.figures["scale_grows"], self.figures["scaler_limits_gradients"]
        self.assertEqual(grows["first_growth"], scale_after(10000, lambda step: False)[1][0])
        self.assertEqual(grows["first_growth_after_inf_at_1990"],
                         scale_after(10000, lambda step: step == 1990)[1][0])
        scale, grew = scale_after(20000, lambda step: step % 1500 == 0)
        self.assertEqual([grows["scale_after_20000"], grows["growths_with_inf_every_1500"]], [scale, len(grew)])
        self.assertEqual(limits["scale_after_60_nan"], scale_after(60, lambda step: True)[0])
        self.assertEqual(limits["scale_after_200_nan"], scale_after(200, lambda step: True)[0])
        self.assertEqual(limits["of_1e30"], through("<f4", 1e30))

    def test_bytes_are_added_up(self):
        found = self.figures["memory_halves"]
        parameters = 64 * 128 + 128 + 128 * 128 + 128 + 128 * 10 + 10
        activations = 64 + 128 + 128 + 10
        self.assertEqual([found["parameters"], found["activations_per_sample"]], [parameters, activations])
        for batch, name in [(1, "ratio_batch_1"), (128, "ratio_batch_128"), (2**20, "ratio_batch_2_20")]:
            # Autocast: FP32 weights, .grad and two moments, FP16 casts and activations.
            mixed = (4 + 4 + 4 + 4 + 2) * parameters + 2 * activations * batch
            self.assertEqual(found[name], mixed / ((4 + 4 + 4 + 4) * parameters + 4 * activations * batch))

    def test_five_of_the_products_of_three_layers_are_of_the_backward_pass(self):
        passes = self.figures["fp16_not_in_backward"]["passes"]
        self.assertEqual([passes[name]["products"] for name in ["fprop", "dgrad", "wgrad"]], [3, 2, 3])
        layers = [(64, 128), (128, 128), (128, 10)]
        rows = 32
        self.assertEqual(passes["wgrad"]["binary16_operands"], sum(rows * (a + b) for a, b in layers))
        self.assertEqual(passes["dgrad"]["binary16_operands"], sum(rows * b + a * b for a, b in layers[1:]))

    def test_training_figures_hang_together(self):
        whole, cut, small, small_cut = self.figures["below_2_27_irrelevant"]["trainings"]
        self.assertEqual([whole["of_nonzero"], small["of_nonzero"]], [0, 0])
        self.assertEqual(small["test_accuracy"], whole["test_accuracy"])  # 2^-24 changes no bit in binary32
        self.assertLess(cut["of_nonzero"], small_cut["of_nonzero"])
        self.assertLess(small_cut["test_accuracy"], 0.2)  # one of ten digits
        plain = self.figures["diverges_without_scaling"]
        self.assertLess(plain["fp16_final_loss"], plain["fp16_first_loss"] / 10)


if __name__ == "__main__":
    BINADE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
