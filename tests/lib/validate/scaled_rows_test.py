# SPDX-License-Identifier: Apache-2.0
#
# Single dots with scales of blocks: words that a B200 gave, where the public rows are at hand (BINADE_HW_VECTORS, else
# ../shared/hw_vectors beside the project). `binade validate dots` reproduces each; of operands on which published models
# differ, each answer is that of our rule or that of the rival whose question it is.
#   scaled_rows_test.py BINADE      Exits with 77 where there are no rows.
import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from cli_case import CliCase, main
from made_files import npy

root = Path(__file__).resolve().parents[3]
ROWS = Path(os.environ.get("BINADE_HW_VECTORS") or root.parent / "shared" / "hw_vectors") / "B200_block_scaled.json"
VECTOR = {"ue4m3": {16: "4X"}, "ue8m0": {16: "4X", 32: "2X"}}
# The rival whose question each of the undecided operands is, in their order.
QUESTIONS = ("largest product's exponent", "groups of 4", "c = -0 alone is -0")


def word(text):
    return int(text, 16)


def codes(x, k):
    """Codes in the order of k: all of them, or those that are not 0 by their places."""
    if isinstance(x, list):
        return [word(code) for code in x]
    return [word(x.get(str(i), "0")) for i in range(k)]


def instruction_of(row):
    kind = row.get("instruction_kind", "mxf4nvf4").split()[0]
    k = 32 if kind == "mxf8f6f4" else 64
    vector = "1X" if k == 32 else VECTOR[row["scale_format"]][row["block"]]
    return f"tcgen05.m128n64k{k}.kind::{kind}.block_scale.scale_vec::{vector}.f32.e2m1.e2m1.{row['scale_format']}", k


class ScaledRows(CliCase):
    command = ("validate", "dots", "--arch", "sm_100", "--json", "--evidence")

    @classmethod
    def setUpClass(cls):
        cls.public = json.loads(ROWS.read_text())

    def compared(self, row, d):
        name, k = instruction_of(row)
        words = ["--instruction", name]
        for key, dtype, values in (("a", "|u1", codes(row["a"], k)), ("b", "|u1", codes(row["b"], k)), ("c", "<u4", [word(row["c"])]),
                                   ("a-scale", "|u1", codes(row["scale_a"], 0)), ("b-scale", "|u1", codes(row["scale_b"], 0)),
                                   ("d", "<u4", [word(d)])):
            shape = (1,) if dtype == "<u4" else (1, len(values))
            words += ["--" + key, self.write(key + ".npy", npy(dtype, shape, values))]
        done = self.run_binade(*words)
        self.assertEqual(done.stderr, b"")
        return json.loads(done.stdout)

    def rivals(self, found):
        return {x["rival"]: x for aspect in found["aspects"] for x in aspect["rivals"]}

    def test_words_of_a_b200(self):
        told = 0
        for row in self.public["rows"]:
            with self.subTest(row["name"], kind=row["instruction_kind"]):
                found = self.compared(row, row["d"])
                self.assertEqual((found["rows"], found["equal"]), (1, 1), found["differences"])
                for name, rival in self.rivals(found).items():
                    told += rival["tell"]
                    if name in QUESTIONS:  # these words leave them open
                        self.assertEqual(rival["tell"], 0, name)
        self.assertGreaterEqual(len(self.public["rows"]), 7)
        self.assertGreater(told, 10)

    def test_both_answers_of_what_is_undecided(self):
        self.assertEqual(len(self.public["undecided"]), len(QUESTIONS))
        for row, question in zip(self.public["undecided"], QUESTIONS):
            with self.subTest(row["why"]):
                ours = 0
                for answer in row["undecided"]:
                    found = self.compared(row, answer)
                    rival = self.rivals(found)[question]
                    self.assertEqual(rival["tell"], 1)
                    self.assertEqual((rival["ours"], rival["theirs"]), (found["equal"], 1 - found["equal"]))
                    ours += found["equal"]
                self.assertEqual((len(row["undecided"]), ours), (2, 1))


if __name__ == "__main__":
    if not ROWS.exists():
        print("the words of a B200 are not here: nothing was compared")
        sys.exit(77)
    main()
