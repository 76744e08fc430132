# SPDX-License-Identifier: Apache-2.0
#
# swamping, double_rounding and reduction_hazards, quickly: they end as expected, with the same bytes on one thread and
# on two, and their figures are those of the standard library's own binary16 (struct's 'e') and of exact counting.

import json
import math
import os
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from made_files import through
from quick_run import quick_run

BINADE = ""


HALVES = [struct.unpack("<e", struct.pack("<H", code))[0] for code in range(1, 0x7C00)]


class ShortFormats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bytes = {name: quick_run(BINADE, name, 2) for name in ["swamping", "double_rounding", "reduction_hazards"]}
        cls.data = {name: json.loads(text)["results"][0]["data"] for name, text in cls.bytes.items()}

    def test_each_ends_as_expected(self):
        for name, text in self.bytes.items():
            with self.subTest(name):
                self.assertEqual(json.loads(text)["results"][0]["status"], "as_expected")

    def test_one_thread_gives_the_same_bytes_as_two(self):
        for name, text in self.bytes.items():
            with self.subTest(name):
                self.assertEqual(quick_run(BINADE, name, 1), text)

    def test_sums_stop_where_they_were_published_to(self):
        stalls = {(row["values"][:4], row["format"]): row["sum"] for row in self.data["swamping"]["stalls"]}
        total = 0.0
        for _ in range(65536):
            total = through("<f2", total + 1)
        self.assertEqual(stalls["ones", "binary16"], total)
        self.assertEqual(total, 2048)
        self.assertEqual([stalls["unif", name] for name in ["1-6-9", "binary16", "bfloat16"]], [4096, 8192, 1024])

    def test_chunks_of_64_cure_the_1_6_9_sum_and_not_a_bfloat16_one(self):
        errors = {(row["format"], row["chunk"]): row["relative_error"] for row in self.data["swamping"]["chunks"]}
        self.assertGreater(errors["1-6-9", 1], 0.9)
        self.assertLess(errors["1-6-9", 64], 0.01)
        self.assertGreater(errors["bfloat16", 64], 0.4)

    def test_a_half_accumulator_is_off_further_with_k(self):
        rows = [row["of_products"] for row in self.data["swamping"]["products"]
                if row["operands"] == "positive" and row["model"] == "f16 accumulator"]
        self.assertGreater(len(rows), 3)
        self.assertEqual(rows, sorted(rows))

    def test_a_binade_is_misrounded_as_often_as_counting_says(self):
        # Eight intervals of e4m3 in a binade, half an ulp of the middle in each: 2^12 floats of 2^23 in binary16's
        # case, 2^15 in bfloat16's.
        wrong = {row["chain"]: row["wrong"] for row in self.data["double_rounding"]["exhaustive"]}
        self.assertEqual(wrong, {"f32 -> f16 -> e4m3": 8 * 4096, "f32 -> bf16 -> e4m3": 8 * 32768})

    def test_to_odd_in_the_middle_misrounds_nothing(self):
        rows = [row for part in ["random", "exhaustive", "ties"] for row in self.data["double_rounding"][part]]
        self.assertEqual(len(rows), 4 + 2 + 4)
        self.assertEqual([row["to_odd_wrong"] for row in rows], [0] * 10)
        self.assertGreater(min(row["wrong"] for row in rows), 0)

    def test_thresholds_are_those_of_pythons_halves(self):
        measured = {row["boundary"]: row["measured"] for row in self.data["reduction_hazards"]["thresholds"]}
        self.assertEqual(len(measured), 9)
        self.assertEqual(measured["exp(x) is inf from x ="], min(x for x in HALVES if math.exp(min(x, 20)) >= 65520))
        self.assertEqual(measured["exp(-x) is 0 from x ="], min(x for x in HALVES if through("<f2", math.exp(-x)) == 0))
        zero = max(x for x in HALVES if through("<f2", x * x) == 0)
        self.assertEqual(measured["an error's square is 0 up to |e| ="], zero)
        self.assertEqual(measured["the variance of {x, -x} is 0 up to x ="], zero)
        self.assertEqual(measured["an error's square is inf from |e| ="],
                         min(x for x in HALVES if math.isinf(through("<f2", x * x))))
        self.assertEqual(measured["1/x is inf up to x ="], max(x for x in HALVES if math.isinf(through("<f2", 1 / x))))
        self.assertEqual(measured["x + 1e-6 is x from x ="], min(x for x in HALVES if through("<f2", x + through("<f2", 1e-6)) == x))

    def test_the_mean_of_ones_goes_where_pythons_halves_lose_it(self):
        sums = [0.0, 1.0]
        for n in range(2, 65521):
            sums.append(through("<f2", sums[n // 2] + sums[n - n // 2]))
        gone = next(n for n in range(1, len(sums)) if math.isinf(sums[n]))
        self.assertEqual(self.data["reduction_hazards"]["ones"]["in_pairs"], {"wrong": gone, "gone": gone})
        self.assertEqual(gone, 65505)


if __name__ == "__main__":
    BINADE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
