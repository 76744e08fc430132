# SPDX-License-Identifier: Apache-2.0
#
# `binade advise` as a user meets it: figures worked out by hand in text and JSON, model files, errors of one line.
# Run as advise_cli_test.py PATH_TO_BINADE; needs Python only.

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main


class Advise(CliCase):
    command = ("advise",)

    def model(self, text):
        self.write("model.json", (text if isinstance(text, str) else json.dumps(text)).encode())
        return "model.json"

    def test_a_model_of_7e9_parameters_in_every_mode(self):
        out = self.json("--params", "7e9", "--activations-per-sample", "1e9", "--batch", "8", "--memory", "80GB")
        self.assertEqual((out["schema"], out["parameters"], out["memory"]),
                         ("binade.advise/1", 7_000_000_000, 80_000_000_000))
        modes = {row["mode"]: row for row in out["modes"]}
        self.assertEqual({name: row["bytes_per_parameter"]["all"] for name, row in modes.items()},
                         {"fp32": 16, "amp": 18, "o2": 16, "o3": 8, "bf16_master": 16, "bf16": 8, "fp8": 18,
                          "fp8_bf16": 10})
        self.assertEqual(modes["fp32"]["state"], 112_000_000_000)
        self.assertEqual(modes["fp32"]["activations"], 32_000_000_000)
        self.assertEqual(modes["amp"]["together"], 126_000_000_000 + 16_000_000_000)
        self.assertEqual(modes["amp"]["most_parameters"], (80_000_000_000 - 16_000_000_000) // 18)
        self.assertEqual(modes["bf16"]["largest_batch"], (80 - 56) // 2)
        self.assertEqual(modes["fp32"]["largest_batch"], 0)

    def test_the_text_has_a_line_per_mode(self):
        text = self.good("--params", "1000000", "--optimizer", "sgd")
        self.assertRegex(text, r"\n  fp32 +4 +0 +0 +4 +0 +8 +8 MB +- +-\n")
        self.assertRegex(text, r"\n  o2 +2 +4 +0 +2 +0 +8 +8 MB +- +-\n")
        self.assertTrue(all(len(line) <= 110 for line in text.splitlines()))

    def test_activations_that_are_not_known_are_no_zero(self):
        words = ("--params", "1e6", "--memory", "80GB")
        said = "Activations are not known without --activations-per-sample"
        text = self.good(*words)
        self.assertIn(said + ". ", text)
        self.assertNotIn(" 0 B", text)
        self.assertIn("fits 80 GB alone", text)
        out = self.json(*words)
        self.assertIsNone(out["activations_per_sample"])
        for row in out["modes"]:
            self.assertEqual((row["activations"], row["together"]), (None, None))
        known = self.good(*words, "--activations-per-sample", "1e3", "--batch", "8")
        self.assertNotIn("not known", known)
        self.assertRegex(known, r"\n  fp32 .* 16 MB +32 kB +16\.03 MB ")

    def test_memory_is_taken_as_the_tables_print_it(self):
        for text, size in (("500kB", 500_000), ("500 kB", 500_000), ("80 GB", 80_000_000_000), ("1KiB", 1024),
                           ("1.5 PB", 1_500_000_000_000_000), ("7 B", 7), ("80GiB", 80 << 30), ("12", 12)):
            self.assertEqual(self.json("--memory", text)["memory"], size, text)

    def test_columns_stay_apart_for_the_largest_numbers(self):
        text = self.good("--params", "9e15", "--activations-per-sample", "1", "--memory", "1.1EB")
        rows = [line.split() for line in text.splitlines()[2:10]]
        self.assertEqual([len(row) for row in rows], [15] * 8, text)
        self.assertEqual(rows[0][:9], ["fp32", "4", "0", "0", "4", "8", "16", "144", "PB"])

    def test_moments_of_four_bytes_on_demand(self):
        for words, moments in (((), 4), (("--fp32-moments",), 8)):
            row = next(row for row in self.json(*words)["modes"] if row["mode"] == "bf16")
            self.assertEqual(row["bytes_per_parameter"]["moments"], moments)

    def test_layers_by_words_and_by_file_are_the_same(self):
        by_file = self.json(self.model({"layers": [
            {"name": "head", "kind": "linear", "tokens": 4096, "in": 768, "out": 50257},
            {"name": "stem", "kind": "conv2d", "batch": 32, "channels": 3, "height": 224, "width": 224, "filters": 64,
             "rows": 7, "columns": 7, "stride": 2, "padding": 3}]}), "--arch", "sm_80")
        by_words = self.json("--linear", "4096x768x50257", "--conv", "32x3x224x224:64x7x7:stride=2:pad=3",
                             "--arch", "sm_80")
        self.assertEqual([layer["products"] for layer in by_file["layers"]],
                         [layer["products"] for layer in by_words["layers"]])
        self.assertEqual(by_file["parameters"], 768 * 50257 + 64 * 147)
        self.assertEqual(by_file["instruction"], {"family": "mma", "m": 16, "n": 8, "k": 16})
        head, stem = by_file["layers"]
        self.assertEqual(head["products"]["dgrad"]["k"], {"size": 50257, "aligned": 50264, "padded": 50272})
        self.assertEqual(head["products"]["dgrad"]["padding"], 1 - 50257 / 50272)
        self.assertEqual(stem["products"]["wgrad"]["m"], {"size": 147, "aligned": 152, "padded": 160})

    def test_fp8_wants_multiples_of_sixteen(self):
        out = self.json("--linear", "32x24x64", "--format", "e4m3")
        self.assertEqual(out["alignment"], 16)
        self.assertEqual(out["layers"][0]["products"]["fprop"]["k"], {"size": 24, "aligned": 32, "padded": 32})
        self.assertIn("24 → 32", self.good("--linear", "32x24x64", "--format", "e4m3"))
        self.assertNotIn("→ 32", self.good("--linear", "32x24x64"))

    def test_what_cannot_be_used_is_one_line(self):
        for words, part in (
                (("--params", "7.5"), "--params 7.5: not a whole number"),
                (("--params", "1e300"), "--params 1e300"), (("--params", "nan"), "--params nan"),
                (("--params", "-1"), "--params"), (("--params", "0"), "--params 0"),
                (("--params", "7e9x"), "--params 7e9x"),
                (("--memory", "80 GB GB"), "not an amount"), (("--memory", " "), "--memory"), (("--memory", "80gigs"), "--memory 80gigs: not an amount"), (("--memory", "inf"), "--memory inf"),
                (("--optimizer", "adamx"), "did you mean adam"),
                (("--linear", "1x2"), "--linear 1x2: not three sizes"), (("--linear", "0x1x1"), "--linear 0x1x1"),
                (("--linear", "1x2x99999999999"), "--linear"), (("--conv", "1x2x3x4"), "--conv 1x2x3x4: not a layer"),
                (("--conv", "1x1x2x2:1x3x3"), "kernel larger than its padded input"),
                (("--conv", "1x1x8x8:1x3x3:stride=0"), "a stride of 0"),
                (("--conv", "1x1x8x8:1x3x3:step=1"), "not a layer"),
                (("--conv", "1x1x8x8:1x3x3:stride=2:stride=3"), "stride is there twice"),
                (("--conv", "2000000000x2000000000x9x9:9x3x3"), "passes 2^60"),
                (("--linear", "8x2000000000x2000000000"), "more than 2^53 weights"),
                (("--linear", "8x8x8", "--arch", "sm_91"), "sm_91"),
                (("--linear", "8x8x8", "--arch", "sm_80", "--format", "e4m3"), "no dense Tensor Core instruction"),
                (("--linear", "8x8x8", "--format", "halve"), "halve"),
                (("--params", "1", "--activations-per-sample", "9e15", "--batch", "9e15"), "more than 2^63 bytes"),
                (("--params", "7e9", "--arch", "sm_70"), "--arch has no effect without layers"),
                (("--params", "7e9", "--format", "e4m3"), "--format has no effect without layers"),
                (("--params", "7e9", "--optimizer", "sgd", "--fp32-moments"), "--fp32-moments has no effect with --optimizer sgd"),
                (("--params", "7e9", "--batch", "8"), "--batch has no effect without --activations-per-sample"),
                (("--activations-per-sample", "8"), "--activations-per-sample has no effect without --params"),
                (("absent.json",), "absent.json")):
            self.assertIn(part, self.complaint(*words), words)

    def test_a_model_file_that_is_not_one_is_refused_with_the_layer(self):
        for text, part in (
                ("", "model.json: no JSON"), ("{", "model.json: no JSON"),
                ('{"layers": ' + "[" * 100000, "nested too deeply"),
                ('{"layers": [], "layers": []}', "key 'layers' is there twice"),
                ('{"layers": [{"kind": "linear", "tokens": 1, "in": 1, "out": 1}], "optimizer": "adam"}',
                 'the file has the unknown key "optimizer"'),
                ('{"layers": [{"kind": "linear", "tokens": 1, "tokens": 2, "in": 1, "out": 1}]}',
                 "key 'tokens' is there twice"),
                ('{"layers": [{"kind": "linear", "tokens": 1, "in": 1, "out": 1, "bias": 1}]}',
                 'layer 1 has the unknown key "bias"'),
                ('{"layers": [{"name": "stem", "kind": "conv2d", "strides": 2}]}',
                 'layer stem has the unknown key "strides"'), ('{"layers": [{"kind": "conv2d", "strides": 2}]}',
                                                               "did you mean stride"), ("[]", 'a list of "layers"'),
                ('{"layers": []}', 'a list of "layers"'), ('{"layers": [1]}', "layer 1 is not an object"),
                ('{"layers": [{"kind": "linear"}]}', 'layer 1 needs "tokens"'),
                ('{"layers": [{"name": "a\\nb", "kind": "linear", "tokens": -1}]}', 'layer a\\x0ab needs "tokens"'),
                ('{"layers": [{"kind": "linear", "tokens": 1, "in": 1.5, "out": 1}]}', 'needs "in"'),
                ('{"layers": [{"kind": "linear", "tokens": 1, "in": 0, "out": 1}]}', 'needs "in"'),
                ('{"layers": [{"kind": "lstm"}]}', "neither linear nor conv2d"),
                ('{"layers": [{"name": 7, "kind": 7}]}', "neither linear nor conv2d"),
                ('{"layers": [{"kind": "conv2d", "batch": 1, "channels": 1, "height": 2, "width": 2, "filters": 1, '
                 '"rows": 3, "columns": 3}]}', "a kernel larger than its padded input")):
            self.assertIn(part, self.complaint(self.model(text)), text)


if __name__ == "__main__":
    main()
