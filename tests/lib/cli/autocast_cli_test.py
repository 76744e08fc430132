# SPDX-License-Identifier: Apache-2.0
#
# `binade autocast` as a user meets it: the dtype of every rule on every device by hand, names that are not listed,
# whole lists, Apex, complaints of one line.
# Run as autocast_cli_test.py PATH_TO_BINADE; needs Python alone.

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main

USUAL = {"cuda": "binary16", "cpu": "bfloat16", "xpu": "binary16", "mps": "binary16"}


class Autocast(CliCase):
    command = ("autocast",)

    def op(self, op, *words):
        (answer,) = self.json(op, *words)["ops"]
        return answer

    def runs(self, op, *words):
        """The rule, and what each case runs in."""
        answer = self.op(op, *words)
        return answer["rule"], *(case["runs_in"] for case in answer["cases"])

    def rows(self, *words):
        """Rows of the text's table without its titles, cells split at two blanks."""
        lines = self.good(*words).splitlines()
        return [re.split(r"  +", line.strip()) for line in lines[2:] if re.match(r"  \S+  +\S", line)]

    def test_every_rule_on_every_device(self):
        wide = "binary32"
        for device, low in USUAL.items():
            for op, *expected in (
                    ("linear", "lower_precision_fp", low, low, low), ("mse_loss", "fp32", wide, wide, wide),
                    ("relu", "unlisted", low, wide, wide)):
                self.assertEqual(self.runs(op, "--device", device), tuple(expected), (device, op))
        for device, op, *expected in (
                ("cuda", "softmax", "fp32_set_opt_dtype", wide, wide, wide),
                ("mps", "softmax", "fp32", wide, wide, wide),
                ("cpu", "softmax", "unlisted", "bfloat16", wide, wide),
                ("xpu", "norm", "fp32_append_dtype", wide, wide, wide),
                ("cuda", "dot", "promote", "binary16", wide, wide),
                ("mps", "scatter_add", "promote", "binary16", wide, wide),
                ("cpu", "cat", "promote", "bfloat16", wide, wide),
                ("cuda", "binary_cross_entropy", "banned", None, None, None),
                ("cpu", "binary_cross_entropy", "fp32", wide, wide, wide),
                ("mps", "binary_cross_entropy", "unlisted", "binary16", wide, wide),
                ("mps", "conv_transpose3d", "fp32", wide, wide, wide)):
            self.assertEqual(self.runs(op, "--device", device), tuple(expected), (device, op))

    def test_the_text_has_a_row_an_op_and_says_what_its_rule_means(self):
        text = self.good("linear", "softmax", "mul")
        self.assertEqual(self.rows("linear", "softmax", "mul"), [
            ["linear", "lower_precision_fp", "binary16", "binary16", "binary16", "autocast_mode.h"],
            ["softmax", "fp32_set_opt_dtype", "binary32", "binary32", "binary32", "autocast_mode.h"],
            ["mul", "unlisted", "binary16", "binary32", "binary32*", "-"]])
        head, titles = text.splitlines()[:2]
        self.assertEqual(head, "Autocast on cuda to binary16, by the list of PyTorch 2.11, aten/src/ATen/")
        self.assertRegex(titles, r"^  op +rule +of binary16  of binary32  of both +source$")
        self.assertIn("\n  lower_precision_fp: every input is cast to binary16; binary64 stays\n", text)
        self.assertNotIn("\n  fp32: ", text)
        self.assertIn("\n  *: inputs of two dtypes reach the op", text)
        self.assertNotIn("\n  *: ", self.good("linear"))
        self.assertTrue(all(len(line) <= 100 for line in text.splitlines()))

    def test_a_list_tells_its_file(self):
        for words, source in ((("linear",), "aten/src/ATen/autocast_mode.h"),
                              (("linear", "--device", "cpu"), "aten/src/ATen/autocast_mode.cpp"),
                              (("linear", "--list", "apex"), "apex/amp/lists/functional_overrides.py"),
                              (("mm", "--list", "apex"), "apex/amp/lists/torch_overrides.py"),
                              (("relu",), None)):
            self.assertEqual(self.op(*words)["source"], source, words)

    def test_names_as_people_write_them(self):
        for word, name in (("aten::addmm", "addmm"), ("torch.nn.functional.linear", "linear"), ("F.linear", "linear"),
                           ("torch.linalg.vecdot", "linalg_vecdot"), ("torch.ops.aten.mm", "mm"),
                           ("torch.exp", "exp"), ("Tensor.mv", "mv")):
            answer = self.op(word)
            self.assertEqual(answer["op"], name)
            self.assertNotEqual(answer["rule"], "unlisted", word)

    def test_an_unlisted_name_is_an_answer_with_what_may_be_meant(self):
        for word, meant in (("Linear", "linear"), ("softmaxx", "softmax"), ("Conv2d", "conv2d"), ("MM", "mm"),
                            ("LayerNorm", "layer_norm")):
            self.assertEqual(self.op(word)["notes"], [f"{word} is not on cuda's list; did you mean {meant}?"])
        for word in ("relu", "mean", "max", "tanh", "nothing_like_it"):
            self.assertEqual(self.op(word)["notes"], [], word)
        self.assertIn("\n  Linear is not on cuda's list; did you mean linear?\n", self.good("Linear"))
        self.assertEqual(self.op("cat")["notes"],
                         ["cat is not on cuda's list; it is on cpu's (promote), Apex's (promote)"])
        self.assertEqual(self.op("addmm_")["notes"], ["addmm_: a call in place is not cast"])
        self.assertIn("  ev\\x0ail  ", self.good("ev\nil"))

    def test_what_other_versions_have_is_said(self):
        for device, op, note in (("cuda", "rms_norm", "rms_norm is fp32 from PyTorch 2.12 on"),
                                 ("mps", "conv3d", "conv3d is unlisted before PyTorch 2.9"),
                                 ("cpu", "qr", "qr is unlisted from PyTorch 2.14 on")):
            self.assertEqual(self.op(op, "--device", device)["notes"], [note])
        self.assertEqual(self.op("rms_norm", "--device", "cpu")["notes"], [])
        self.assertIn("Other versions: rms_norm is fp32 from PyTorch 2.12 on; ", self.good())

    def test_inputs_of_the_users_own(self):
        for inputs, op, runs in (("binary16,binary32", "dot", "binary32"), ("fp32,bf16", "dot", "binary32"),
                                 ("binary64,binary16", "softmax", "binary64"), ("binary64", "exp", "binary64"),
                                 ("e4m3,e4m3", "linear", "binary16"), ("e5m2", "relu", "e5m2"),
                                 ("e5m7,bf16", "mul", "bfloat16"), ("fp16,bf16", "mul", "binary32")):
            (case,) = self.op(op, "--inputs", inputs)["cases"]
            self.assertEqual(case["runs_in"], runs, (op, inputs))
        (case,) = self.op("mm", "--inputs", "binary64,binary32")["cases"]
        self.assertEqual(case, {"inputs": ["binary64", "binary32"], "cast_to": "binary16", "runs_in": "binary64",
                                "inputs_differ": True, "refused": False})
        self.assertEqual(self.rows("dot", "--inputs", "fp16,fp32"),
                         [["dot", "promote", "binary32", "autocast_mode.h"]])
        self.assertIn("  of binary16, binary32  ", self.good("dot", "--inputs", "fp16,fp32"))

    def test_a_refusal_is_said_in_the_words_of_its_rule(self):
        for words, note in ((("dot", "--inputs", "bf16"), r"dot: Unexpected floating ScalarType .* bfloat16 under"),
                            (("mul", "--inputs", "e4m3,fp32"), "mul: Promotion for Float8 Types is not supported"),
                            (("dot", "--dtype", "fp64"), "dot: promote type is double"),
                            (("binary_cross_entropy",), "binary_cross_entropy: .*unsafe to autocast.*_with_logits")):
            answer = self.op(*words)
            self.assertRegex(answer["notes"][-1], note)
            self.assertTrue(all(case["refused"] and case["runs_in"] is None for case in answer["cases"]))
        self.assertEqual(self.rows("binary_cross_entropy"),
                         [["binary_cross_entropy", "banned", "refused", "refused", "refused", "autocast_mode.cpp"]])

    def test_the_scopes_dtype(self):
        self.assertEqual(self.runs("linear", "--dtype", "bf16"),
                         ("lower_precision_fp", "bfloat16", "bfloat16", "bfloat16"))
        self.assertEqual(self.runs("linear", "--device", "cpu", "--dtype", "e4m3")[1:], ("e4m3",) * 3)
        self.assertEqual(self.runs("linear", "--dtype", "fp32"), ("lower_precision_fp", "binary32"))
        self.assertIn("to e5m7, by", self.good("linear", "--dtype", "e5m7"))

    def test_without_an_op_the_whole_list_by_rule(self):
        for device, groups in {"cuda": [35, 55, 8, 1, 11, 1], "cpu": [21, 91, 3], "xpu": [32, 55, 8, 1, 11, 1],
                               "mps": [25, 53, 10]}.items():
            text = self.good("--device", device)
            said = re.findall(r"^(\w+), (\d+) names?: ", text, re.MULTILINE)
            self.assertEqual([int(count) for _, count in said], groups, device)
            listed = re.findall(r"^  (\w[\w, \n]*?)\n\n", text, re.MULTILINE)
            self.assertEqual([len(names.split(",")) for names in listed[-len(groups):]], groups, device)
            self.assertTrue(all(len(line) <= 100 for line in text.splitlines()))
            self.assertEqual(len(self.json("--device", device)["ops"]), sum(groups))
        self.assertIn("\n  _mps_convolution, prelu, ", self.good("--device", "mps"))

    def test_apex_promotes_what_pytorch_leaves_and_casts_binary64(self):
        apex = ("--list", "apex")
        for op, *expected in (("linear", "lower_precision_fp", "binary16", "binary16", "binary16"),
                              ("var", "fp32", "binary32", "binary32", "binary32"),
                              ("add", "promote", "binary16", "binary32", "binary32"),
                              ("cat", "promote", "binary16", "binary32", "binary32"),
                              ("mean", "unlisted", "binary16", "binary32", "binary32"),
                              ("binary_cross_entropy", "banned", None, "binary32", None)):
            self.assertEqual(self.runs(op, *apex), tuple(expected), op)
        out = self.json("mm", *apex, "--inputs", "binary64,bf16")
        self.assertEqual((out["list"], out["device"], out["version"]), ("apex", None, None))
        self.assertEqual(out["ops"][0]["cases"][0]["runs_in"], "binary16")
        self.assertFalse(self.op("add", *apex)["cases"][2]["inputs_differ"])
        self.assertTrue(self.op("mean", *apex)["cases"][2]["inputs_differ"])
        self.assertRegex(self.op("add", *apex, "--inputs", "fp16,bf16")["notes"][0], "add: Apex promotes .* bfloat16")
        self.assertEqual(self.op("exp2", *apex)["notes"], [])
        self.assertRegex(self.good(*apex), r"\nfp32, 54 names: every floating input is cast to binary32, binary64 too\n")
        self.assertTrue(self.good("mm", *apex).startswith("Apex's O1 to binary16, by the list of Apex, apex/amp/lists/"))

    def test_what_cannot_be_used_is_one_line(self):
        self.complaints({
            ("linear", "--device", "cudda"): "--device cudda: unknown; did you mean cuda.*cuda, cpu, xpu, mps",
            ("linear", "--device", "tpu"): "--device tpu: unknown",
            ("linear", "--list", "apx"): "--list apx: unknown; did you mean apex",
            ("linear", "--list", "apex", "--device", "cuda"): "--device has no effect with --list apex",
            ("linear", "--list", "apex", "--dtype", "bf16"): "--dtype bfloat16: Apex casts to binary16 alone",
            ("linear", "--inputs", "binary61"): "unknown format 'binary61'; did you mean binary",
            ("linear", "--inputs", "fp16,"): "unknown format ''",
            ("linear", "--dtype", "half16"): "unknown format 'half16'",
            ("--inputs", "fp16"): "--inputs has no effect without an OP",
            ("F.",): "OP 'F.' has no name"})


if __name__ == "__main__":
    main()
