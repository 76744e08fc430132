# SPDX-License-Identifier: Apache-2.0
"""Autocast's answers and advice in Python, compared with the program's bytes.

    python advice_test.py BINADE
"""

import json

import binade
from cli_case import CliCase, main
from training_case import check_page

LAYERS = [{"name": "head", "kind": "linear", "tokens": 4096, "in": 4096, "out": 50257},
          {"name": "stem", "kind": "conv2d", "batch": 32, "channels": 3, "height": 224, "width": 224, "filters": 64,
           "rows": 7, "columns": 7, "stride": 2, "padding": 3}]


class Autocast(CliCase):
    def test_answers_have_the_programs_bytes(self):
        for arguments, keywords in (
                ((), {}), (("--device", "mps"), {"device": "mps"}), (("--list", "apex"), {"list": "apex"}),
                (("linear", "softmax", "norm", "binary_cross_entropy", "cat"), {}),
                (("cat", "--device", "cpu", "--inputs", "bfloat16,binary32"),
                 {"device": "cpu", "inputs": ["bfloat16", binade.Format("binary32")]}),
                (("linear", "--dtype", "e4m3"), {"dtype": "e4m3"}), (("torch.nn.functional.linear",), {}),
                (("var", "--list", "apex"), {"list": "apex"})):
            with self.subTest(arguments):
                ops = [word for i, word in enumerate(arguments)
                       if not word.startswith("--") and (i == 0 or not arguments[i - 1].startswith("--"))]
                got = binade.autocast(ops or None, **keywords)
                self.assertEqual(str(got), self.good("autocast", *arguments))
                self.assertEqual(got.to_json(), self.good("autocast", *arguments, "--json"))
                check_page(self, got, "<table>")

    def test_dtypes_are_those_of_the_answer(self):
        for device in ("cuda", "cpu"):
            inputs = "binary32,bfloat16"
            whole = self.json("autocast", "--device", device, "--inputs", inputs)
            self.assertGreater(len(whole["ops"]), 50)
            for op in whole["ops"]:
                (case,) = op["cases"]
                if case["refused"]:
                    with self.assertRaises(ValueError) as caught:
                        binade.autocast_dtype(op["op"], inputs, device)
                    self.assertNotIn("\n", str(caught.exception))
                else:
                    self.assertEqual(binade.autocast_dtype(op["op"], inputs.split(","), device), case["cast_to"], op)
        self.assertEqual(binade.autocast_dtype("linear", ["binary32"], dtype="bfloat16"), "bfloat16")
        self.assertEqual(binade.autocast_dtype("exp", ["binary16"], list="apex"), "binary32")

    def test_errors(self):
        for arguments, pattern in ((("linear", ["binary32"], "tpu"), "device tpu: unknown.*there are cuda, cpu"),
                                   (("linear", []), "inputs: none"), (("linear", ["nope"]), "nope"),
                                   (("linear", ["binary32"], "cpu", None, "apex"), "device has no effect with list apex"),
                                   (("binary_cross_entropy", ["binary16"]), "binary_cross_entropy")):
            with self.subTest(arguments), self.assertRaisesRegex(ValueError, pattern):
                binade.autocast_dtype(*arguments)


class Advise(CliCase):
    def test_advice_has_the_programs_bytes(self):
        layers = self.write("layers.json", json.dumps({"layers": LAYERS}).encode())
        for arguments, given, keywords in (
                (("--params", "7e9"), (), {"params": 7e9}),
                (("--params", "7000000000", "--optimizer", "adam", "--fp32-moments"), (),
                 {"params": 7 * 10**9, "optimizer": "adam", "fp32_moments": True}),
                (("--params", "1e8", "--memory", "80GB", "--activations-per-sample", "1e6", "--batch", "32"), (),
                 {"params": 1e8, "memory": "80GB", "activations_per_sample": 10**6, "batch": 32}),
                ((layers, "--arch", "sm_80", "--format", "bfloat16"), (LAYERS,), {"arch": "sm_80", "format": "bfloat16"}),
                ((layers,), (layers,), {}),
                (("--linear", "4096x4096x50257", "--conv", "32x64x56x56:128x3x3:pad=1"), (),
                 {"linear": "4096x4096x50257", "conv": ["32x64x56x56:128x3x3:pad=1"]})):
            with self.subTest(arguments):
                got = binade.advise(*given, **keywords)
                self.assertEqual(str(got), self.good("advise", *arguments))
                self.assertEqual(got.to_json(), self.good("advise", *arguments, "--json"))
                check_page(self, got, "bytes per parameter")

    def test_errors(self):
        for call, pattern in ((lambda: binade.advise(params=0.5), r"\Aparams 0.5: not a whole number"),
                              (lambda: binade.advise(optimizer="sgd", fp32_moments=True), r"\Afp32_moments has no effect with"),
                              (lambda: binade.advise(params=1, arch="sm_70"), r"\Aarch has no effect without layers"),
                              (lambda: binade.advise(optimizer="adamv"), r"\Aoptimizer adamv: unknown"),
                              (lambda: binade.advise([{"kind": "linear", "tokens": 1}]), 'layer 1 needs "in"'),
                              (lambda: binade.advise([]), "layers"),
                              (lambda: binade.advise([{"kind": "linear", "tokens": -1, "in": 1, "out": 1}]), "tokens"),
                              (lambda: binade.advise(linear="1x2"), r"\Alinear 1x2: not three sizes")):
            with self.assertRaisesRegex(ValueError, pattern):
                call()
        with self.assertRaises(OSError):
            binade.advise(self.path("none.json"))


if __name__ == "__main__":
    main()
