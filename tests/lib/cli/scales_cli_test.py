# SPDX-License-Identifier: Apache-2.0
#
# `binade scales` on files: codes and scales by every stack's names, tensors by their own, and what is refused.
# Run as scales_cli_test.py PATH_TO_BINADE; needs Python only.

import fcntl
import math
import os
import pty
import random
import struct
import subprocess
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main
from made_files import f32, npy, packed, parts_of_safetensors, safetensors


class Files(CliCase):
    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        self.numbers = {name: [draw.gauss(0, 1) for _ in range(4 * 256)] for name in ("fc.weight", "head.weight")}
        self.write("a.safetensors", safetensors(*((name, "F32", [4, 256], f32(*x)) for name, x in self.numbers.items())))

    def quantize(self, *options, out="b.safetensors"):
        self.good("quantize", "a.safetensors", out, "--encode", *options)

    def rules(self, tensor):
        return {rule for row in tensor["explain"] for rule in row["rules"]}

    def test_every_stack_s_names_are_found(self):
        for layout, form, rule in (("plain", "mxfp4", "ocp"), ("torchao", "nvfp4", "torchao"), ("te", "nvfp4", "te"),
                                   ("te", "mxfp8_e5m2", "te"), ("modelopt", "nvfp4", "modelopt"), ("modelopt", "mxfp4", "modelopt"),
                                   ("compressed-tensors", "nvfp4", "compressed_tensors"), ("deepseek", "fp8_1x128", "deepgemm"),
                                   ("te", "fp8_128x128", "te_pow2"), ("te", "fp8_1x128", "te_pow2"),
                                   ("gpt-oss", "mxfp4", "triton_kernels")):
            with self.subTest(layout=layout, format=form):
                self.quantize("--format", form, "--layout", layout)
                told = self.json("scales", "a.safetensors", "b.safetensors")["tensors"]
                self.assertEqual([one["name"] for one in told], list(self.numbers))
                for one in told:
                    self.assertIn(layout, one["layouts"])
                    self.assertIn(rule, self.rules(one))
                    self.assertIn(one["explain"][0]["tensor_scale"]["fit"], ("equal", "none"))
                    self.assertEqual(f" --layout {layout}" in one["explain"][0]["quantize"], one["layouts"][0] != "plain")
                    self.assertNotIn("--scale-layout", one["explain"][0]["quantize"])

    def test_copies_along_columns_are_held_against_nothing(self):
        values = b"\1" * 4 * 256
        self.write("one.safetensors", safetensors(("w", "F32", [4, 256], f32(*self.numbers["fc.weight"]))))
        self.good("quantize", "one.safetensors", "codes.safetensors", "--encode", "--format", "mxfp8_e4m3", "--layout", "te")
        header, data = parts_of_safetensors(self.read("codes.safetensors"))
        header.pop("__metadata__", None)
        parts = [(name, one["dtype"], one["shape"], data[slice(*one["data_offsets"])]) for name, one in header.items()]
        self.write("more.safetensors", safetensors(*parts, ("w._columnwise_data", "U8", [4, 256], values)))
        self.good("scales", "one.safetensors", "codes.safetensors")
        # A tensor that is named is not held against another one's codes.
        self.complaints({("a.safetensors:fc.weight", "codes.safetensors"): "no codes and scales of fc.weight; it has those of w"}, "scales")
        told = self.good("scales", "one.safetensors", "more.safetensors", status=1)
        self.assertIn("w._columnwise_data: U8 (4, 256), by te a copy along columns, which is not read", " ".join(told.split()))

    def test_the_call_that_is_told_gives_the_same_bits(self):
        self.quantize("--format", "nvfp4", "--layout", "te", "--rounding", "toward_zero", "--axis", "-1")
        call = self.json("scales", "a.safetensors:fc.weight", "b.safetensors")["tensors"][0]["explain"][0]["quantize"].split()
        self.assertEqual(call[:4], ["binade", "quantize", "IN", "OUT"])
        self.good("quantize", "a.safetensors", "again.safetensors", *call[4:])
        (one, first), (two, second) = (parts_of_safetensors(self.read(name)) for name in ("b.safetensors", "again.safetensors"))
        for header in (one, two):
            header.pop("__metadata__", None)  # the rule's name
        self.assertEqual((one, first), (two, second))

    def test_the_rules_of_all_tensors(self):
        self.quantize("--format", "nvfp4", "--scale-rule", "torchao")
        told = self.json("scales", "a.safetensors", "b.safetensors")
        each = [self.rules(one) for one in told["tensors"]]
        self.assertEqual(set(told["rules"]), each[0] & each[1])
        self.assertIn("torchao", told["rules"])
        self.assertRegex(self.good("scales", "a.safetensors", "b.safetensors"), r"\n\nAll 2 tensors: (?s:.)*torchao(?s:.)*\n\Z")
        self.quantize("--format", "mxfp4", "--exclude", "fc*", "--scale-rule", "ocp", out="one.safetensors")
        self.quantize("--format", "mxfp4", "--exclude", "head*", "--scale-rule", "deepgemm", out="two.safetensors")
        parts = []
        for name, keep in (("one.safetensors", "head"), ("two.safetensors", "fc")):
            header, data = parts_of_safetensors(self.read(name))
            parts += [(key, row["dtype"], row["shape"], data[slice(*row["data_offsets"])]) for key, row in header.items()
                      if key.startswith(keep)]
        self.write("mixed.safetensors", safetensors(*parts))
        self.assertTrue(self.good("scales", "a.safetensors", "mixed.safetensors").endswith("\n\nNo rule explains all 2 tensors\n"))
        self.assertEqual(self.json("scales", "a.safetensors", "mixed.safetensors")["rules"], [])

    def test_one_tensor_and_an_array_without_a_name(self):
        self.quantize("--format", "mxfp8_e4m3")
        text = self.good("scales", "a.safetensors:head.weight", "b.safetensors")
        self.assertIn("head.weight: F32 (4, 256)", text)
        self.assertNotIn("fc.weight", text)
        self.write("x.npy", npy("<f4", (4, 256), self.numbers["fc.weight"]))
        self.assertIn("several:", self.good("scales", "x.npy", "b.safetensors:fc.weight"))
        self.assertRegex(self.complaint("scales", "x.npy", "b.safetensors"), "those of fc.weight, head.weight")
        self.assertIn("none:", self.good("scales", "a.safetensors:head.weight", "b.safetensors:fc.weight", status=1))

    def test_a_part_that_stands_for_another_number_than_its_name_says(self):
        self.quantize("--format", "nvfp4", "--layout", "compressed-tensors")
        header, data = parts_of_safetensors(self.read("b.safetensors"))
        parts = []
        for name, row in header.items():
            if name == "__metadata__":
                continue
            begin, end = row["data_offsets"]
            parts.append((name.replace("_packed", "").replace("_global_scale", "_scale_2"), row["dtype"], row["shape"], data[begin:end]))
        self.write("c.safetensors", safetensors(*parts))  # modelopt's names, with the factor of numbers in them
        text = self.good("scales", "a.safetensors:fc.weight", "c.safetensors", status=1)
        self.assertRegex(text, r"the scale of the tensor is what numbers are multiplied by, where\s+by the names of plain")

    def test_parts_without_others_and_tensors_that_a_lacks_are_told(self):
        for layout, codes in (("plain", "fc.weight"), ("compressed-tensors", "fc.weight_packed")):
            self.quantize("--format", "nvfp4", "--layout", layout)
            header, data = parts_of_safetensors(self.read("b.safetensors"))
            header.pop("__metadata__")
            parts = {name: (name, row["dtype"], row["shape"], data[slice(*row["data_offsets"])]) for name, row in header.items()}
            scale = parts.pop("fc.weight_scale")
            self.write("lone.safetensors", safetensors(*parts.values()))
            told = self.json("scales", "a.safetensors", "lone.safetensors", status=1)
            self.assertEqual([one["name"] for one in told["tensors"]], ["head.weight"])
            self.assertEqual(told["skipped"][0], f"{codes}: U8 (4, 128), codes without scales")
            self.assertIn(f"{codes}: U8 (4, 128), codes without scales", self.good("scales", "a.safetensors", "lone.safetensors", status=1))
            self.assertIn("codes without scales", self.complaint("quantize", "lone.safetensors", "back.safetensors", "--decode",
                                                                 "--format", "nvfp4"))
            other = [(part[0].replace("fc", "x"), *part[1:]) for part in (*parts.values(), scale) if part[0].startswith("fc")]
            self.write("more.safetensors", safetensors(*parts.values(), scale, *other))
            told = self.json("scales", "a.safetensors", "more.safetensors", status=1)
            self.assertEqual(told["skipped"], ["x.weight: codes and scales of a tensor whose numbers A lacks"])

    def test_arrays_with_the_scale_of_the_tensor_as_a_number_or_a_file(self):
        self.write("x.npy", npy("<f4", (2, 16), [6.0] * 16 + [3.0] * 16))
        self.write("codes.npy", npy("|u1", (2, 8), [0x77] * 16))
        self.write("scales.npy", npy("|u1", (2, 1), [0x7E, 0x76]))  # 448 and 224
        self.write("tensor.npy", npy("<f4", (1,), packed("<u4", 0x3B124925)))  # 1/448
        arrays = ("scales", "x.npy", "--codes", "codes.npy", "--scales", "scales.npy")
        for given in ("tensor.npy", "0.002232142857", "6"):
            told = self.json(*arrays, "--tensor-scale", given)["tensors"][0]
            self.assertIn("te", self.rules(told), given)
        self.good(*arrays, "--tensor-scale", "5", status=1)
        self.complaints({("--tensor-scale=" + given,): f"the scale of the tensor: {given} is no scale of these numbers"
                         for given in ("nan", "0", "-1", "inf")}, *arrays)
        self.write("bytes.npy", npy("|u1", (2, 16), [64] * 32))
        self.complaints({("--tensor-scale", "1"): "fit mxfp8_e4m3, which has no scale of the tensor, and one is given; leave it out"},
                        "scales", "x.npy", "--codes", "bytes.npy", "--scales", "scales.npy")

        self.write("nan.npy", npy("<f4", (1,), [math.nan]))
        self.write("wide.npy", npy("|u1", (2, 16), [15] * 20 + [0x23] + [1] * 11))
        self.complaints({
            (*arrays[2:], "--tensor-scale", "nan.npy"): "nan in nan.npy is no scale of these numbers; give a finite one above 0",
            (*arrays[2:], "--tensor-scale", "abc"): "'abc' is no number of binary32, and no file has this name",
            (*arrays[2:], "--dtype", "bfloat16"): "its numbers are F32, whatever dtype is given; leave the dtype out",
            ("--codes", "wide.npy", *arrays[4:], "--tensor-scale", "1"): r"the code 23 at \(1, 4\) is above 0F, the last of 4 bits, as nvfp4",
        }, "scales", "x.npy")
        self.good(*arrays, "--dtype", "float32")

    def test_a_stack_is_what_the_file_says(self):
        draw = random.Random(2)
        self.write("w.npy", npy("<f4", (3, 4, 64), [draw.gauss(0, 1) * 4 ** (i // 256) for i in range(3 * 256)]))
        for form in ("nvfp4", "fp8_tensor"):
            self.good("quantize", "w.npy", "w.safetensors", "--format", form, "--encode", "--stack")
            told = self.json("scales", "w.npy", "w.safetensors")["tensors"]
            self.assertEqual([one["name"] for one in told], ["w[0]", "w[1]", "w[2]"])

    def test_the_scale_of_the_tensor_in_a_file_is_none(self):
        self.quantize("--format", "nvfp4", "--layout", "plain")
        header, data = parts_of_safetensors(self.read("b.safetensors"))
        header.pop("__metadata__", None)
        for number, words in ((math.nan, "is NaN, under which there are no values"), (-1.0, "is -1, where one is finite and above 0")):
            self.write("c.safetensors", safetensors(*(
                (name, row["dtype"], row["shape"], f32(number) if name == "fc.weight_scale_2" else data[slice(*row["data_offsets"])])
                for name, row in header.items())))
            told = self.json("scales", "a.safetensors", "c.safetensors", status=1)["tensors"]
            self.assertEqual([one["conclusion"] for one in told], ["none", "several"])
            self.assertRegex(told[0]["hypotheses"][0]["words"], words)

    def test_lines_are_as_wide_as_the_terminal(self):
        self.quantize("--format", "mxfp4")
        for columns, least in ((60, 50), (200, 90)):
            outer, inner = pty.openpty()
            fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("4H", 40, columns, 0, 0))
            call = (self.program, "scales", "a.safetensors:fc.weight", "b.safetensors")
            with subprocess.Popen(call, stdout=inner, cwd=self.folder.name) as run:
                os.close(inner)
                text = b""
                try:
                    while part := os.read(outer, 65536):
                        text += part
                except OSError:  # its other end is closed
                    pass
            os.close(outer)
            lines = [line for line in text.decode().split("\r\n") if "binade quantize" not in line]
            self.assertEqual(run.returncode, 0)
            self.assertTrue(least < max(map(len, lines)) <= min(columns, 98), max(lines, key=len))

    def test_what_is_wrong_is_said_in_a_line(self):
        self.quantize("--format", "mxfp4")
        self.write("x.npy", npy("<f4", (2, 2), [1.0] * 4))
        self.write("none.npy", npy("<f4", (0, 2), []))
        self.complaints({
            ("a.safetensors",): "nothing to explain; give B",
            ("a.safetensors", "--codes", "x.npy"): "nothing to explain; give B",
            ("a.safetensors", "b.safetensors", "--codes", "x.npy"): "give one or the other",
            ("a.safetensors", "b.safetensors", "--tensor-scale", "1"): "--tensor-scale has no effect with B",
            ("a.safetensors", "a.safetensors"): "no tensor with its codes and scales by the names of any --layout",
            ("a.safetensors:fc.weight", "b.safetensors", "--format", "nvfp4"): "fit no blocks of nvfp4",
            ("x.npy", "--codes", "x.npy", "--scales", "x.npy", "--tensor-scale", "x.npy"): r"F32 \(2, 2\), where the scale of a tensor",
            ("none.npy", "--codes", "x.npy", "--scales", "x.npy"): "no elements",
            ("a.safetensors", "b.safetensors", "--format", "mxpf4"): "mxpf4",
            ("a.safetensors", "b.safetensors", "--stack"): "no tensor of 3 axes or more, as --stack takes apart",
            ("a.safetensors:fc.weight", "b.safetensors", "--stack"): r"--stack: fc.weight \(4, 256\) has less than 3 axes",
            ("x.npy", "--codes", "x.npy", "--scales", "x.npy", "--stack"): r"--stack: x \(2, 2\) has less than 3 axes",
        }, "scales")


if __name__ == "__main__":
    main()
