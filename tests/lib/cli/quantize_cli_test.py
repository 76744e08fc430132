# SPDX-License-Identifier: Apache-2.0
#
# `binade quantize` as a user meets it, on files made here byte by byte: values, encodings, counts, what it refuses.
# Run as quantize_cli_test.py PATH_TO_BINADE; needs Python only.

import array
import math
import os
import random
import struct
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main, read_json
from made_files import f32, npy, npz, parts_of_npy, parts_of_safetensors, safetensors, through


class Quantize(CliCase):
    COLUMNS = ["values", "to_zero", "subnormal", "overflow", "saturated", "inexact", "nan_in", "inf_in"]

    def counts(self, text, name):
        line = next(line for line in text.splitlines() if line.startswith(name + " "))
        return dict(zip(self.COLUMNS, map(int, line.split()[1:])))

    def test_values_and_counts_are_those_of_pythons_own_half(self):
        source = random.Random(2)
        values = [struct.unpack("<f", f32(source.choice([1, -1]) * 2.0 ** source.uniform(-28, 17)))[0]
                  for _ in range(20000)] + [0.0, -0.0, math.inf, math.nan, 2.0 ** -25, 65519.0, 65520.0]
        self.write("in.npy", npy("<f4", (len(values),), f32(*values)))
        text = self.good("quantize", "in.npy", "out.npy", "--format", "binary16")
        head, data = parts_of_npy(self.read("out.npy"))
        self.assertEqual((head["descr"], head["shape"]), ("<f4", (len(values),)))
        want = dict.fromkeys(self.COLUMNS, 0)
        want["values"] = len(values)
        for value, have in zip(values, struct.unpack(f"<{len(values)}f", data)):
            half = through("<f2", value)
            want["overflow"] += math.isinf(half) and not math.isinf(value)
            self.assertEqual(struct.pack("<f", have) if half == half else have != have,
                             struct.pack("<f", half) if half == half else True, value)
            want["nan_in"] += value != value
            want["inf_in"] += math.isinf(value)
            want["to_zero"] += half == 0 and value != 0
            want["subnormal"] += 0 < abs(half) < 2.0 ** -14
            want["inexact"] += half != value and value == value
        self.assertEqual(self.counts(text, "in"), want)
        for column in ["to_zero", "subnormal", "overflow", "inexact"]:
            self.assertGreater(want[column], 5)

    def test_encodings_can_be_written_and_read_back_by_report(self):
        self.write("in.safetensors", safetensors(
            ("a", "F32", [3], f32(1, 0.3, -1e5)), ("b", "F64", [1], struct.pack("<d", 2)),
            ("i", "I8", [1], b"\1")))
        text = self.good("quantize", "in.safetensors", "out.safetensors", "--format", "e4m3", "--saturation", "finite",
                         "--encode")
        self.assertIn("skipped i (I8, integer), not written\n", text)
        self.assertEqual(self.counts(text, "a")["saturated"], 1)
        self.assertEqual(self.counts(text, "total")["values"], 4)
        tensors = read_json(self.good("report", "out.safetensors", "--json", "-"))["tensors"]
        self.assertEqual([(t["name"], t["dtype"], t["max"]) for t in tensors],
                         [("a", "F8_E4M3", 448.0), ("b", "F8_E4M3", 2.0)])
        self.assertEqual(tensors[0]["min"], 0.3125)

    def test_the_texts_of_a_file_travel_along(self):
        self.write("in.safetensors", safetensors(("a", "F32", [1], f32(1)), metadata={"format": "pt"}))
        self.good("quantize", "in.safetensors", "out.safetensors", "--format", "e4m3")
        header, _ = parts_of_safetensors(self.read("out.safetensors"))
        self.assertEqual(header["__metadata__"], {"format": "pt", "binade.format": "e4m3",
                                                  "binade.rounding": "ties_to_even"})

    def test_under_daz_operands_are_subnormal_in_the_files_own_dtype(self):
        half, single, double = ("e", "<f2"), ("f", "<f4"), ("d", "<f8")
        for (code, dtype), values, to in [
                (half, [2.0 ** -24, -2.0 ** -15, 2.0 ** -14], "binary32"), (half, [2.0 ** -24, 2.0 ** -15, 1], "binary16"),
                (single, [1e-40, -2.0 ** -140, 2.0 ** -126], "binary64"), (single, [1e-40, 1e-45, 1], "bfloat16"),
                (double, [1e-310, -5e-324, 1e-300], "binary64")]:
            self.write("in.npy", npy(dtype, (3,), struct.pack(f"<3{code}", *values)))
            for option in [], ["--encode"]:
                counts = self.counts(self.good("quantize", "in.npy", "out.npy", "--format", to, "--daz", *option), "in")
                self.assertEqual((counts["to_zero"], counts["inexact"]), (2, 2), (dtype, to, option))

    def test_stochastic_rounding_depends_on_the_seed_alone(self):
        self.write("in.npy", npy("<f4", (100000,), f32(*[0.3] * 100000)))
        outputs = []
        for seed, threads in [("1", "1"), ("1", "7"), ("2", "2")]:
            self.good("quantize", "in.npy", "out.npy", "--format", "e5m2", "--rounding", "stochastic", "--seed", seed,
                      BINADE_THREADS=threads)
            outputs.append(parts_of_npy(self.read("out.npy"))[1])
        self.assertEqual(outputs[0], outputs[1])
        self.assertNotEqual(outputs[0], outputs[2])
        self.assertEqual(set(struct.unpack("<100000f", outputs[0])), {0.25, 0.3125})

    def test_codes_whose_scales_are_apart_are_refused(self):
        self.write("in.safetensors", safetensors(
            ("fc.bias", "F32", [1], f32(1)), ("fc.weight", "F8_E4M3", [2], b"\x38\x7e"), ("fc.weight_scale_inv", "F32", [1], f32(2))))
        error = self.complaint("quantize", "in.safetensors", "out.safetensors", "--format", "e5m2")
        self.assertIn("fc.weight (F8_E4M3) is no tensor of values: codes without their scale, fc.weight_scale_inv", error)
        self.assertFalse(os.path.exists(self.path("out.safetensors")))

    def test_formats_beyond_binary64_give_encodings_only(self):
        self.write("x.npy", npy("<f4", (4,), f32(1, -1, math.inf, 0)))
        for words, codes in (
                (("e5m2:bias=2000", "--saturation", "finite"), (0x7b, 0xfb, 0x7b, 0)),
                (("e11m4:specials=nan_only",), (0x3ff0, 0xbff0, 0x7fff, 0)),
                (("e5m2:bias=-1030", "-r", "toward_positive"), (0x01, 0x80, 0x7c, 0)),
                (("e11m4:specials=none",), (0x3ff0, 0xbff0, 0x7fff, 0))):
            with self.subTest(words[0]):
                self.assertRegex(self.complaint("quantize", "x.npy", "q.npy", "--format", *words),
                                 "no dtype holds all its values.*--encode")
                self.good("quantize", "x.npy", "q.npy", "--format", *words, "--encode")
                head, data = parts_of_npy(self.read("q.npy"))
                size = len(data) // 4
                got = [int.from_bytes(data[i:i + size], "little") for i in range(0, len(data), size)]
                self.assertEqual(got, list(codes))
                for x, code in zip(("1", "-1", "inf", "0"), codes):
                    self.assertIn(f"bits    0x{code:0{2 * size}x} ",
                                  self.good("show", *words[1:], "--format", words[0], "--", x))
                os.unlink(self.path("q.npy"))

    def mixed_file(self):
        """Tensors of F32 of more than one read and of none, and others."""
        source = random.Random(4)
        values = array.array("f", (source.uniform(-1, 1) * 2.0 ** source.randint(-30, 18) for _ in range(2100003)))
        self.write("in.safetensors", safetensors(
            ("a", "F32", [len(values)], values.tobytes()), ("b", "F64", [2], struct.pack("<dd", 0.3, 1e300)),
            ("c", "F32", [0], b""), ("d", "BF16", [2], b"\x12\x34\x56\x78"), ("e", "F32", [3], f32(math.nan, math.inf, 0.3))))

    def test_on_a_device_are_the_same_bytes_and_counts(self):
        self.mixed_file()
        for words in (("binary16",), ("e4m3", "--saturation", "finite"), ("e5m2", "--rounding", "stochastic", "--seed", "5"),
                      ("e8m0",), ("tf32", "--ftz")):
            here = self.good("quantize", "in.safetensors", "here.safetensors", "--format", *words)
            for device in (("--emulated", "sm_90"), ("--device", "--emulated", "sm_70")):
                there = self.good("quantize", "in.safetensors", "there.safetensors", "--format", *words, *device)
                self.assertEqual(there, here + f"quantized on emulated {device[-1]}: 3 of 5 tensors, those of F32\n")
                self.assertEqual(self.read("there.safetensors"), self.read("here.safetensors"), words)

    def test_without_a_gpu_nothing_is_written(self):
        self.write("a.npy", npy("<f4", (1,), f32(1)))
        self.no_gpu("quantize", "a.npy", "new/o.npy", "--format", "e4m3")

    def test_what_no_device_does_is_refused(self):
        self.write("a.npy", npy("<f4", (1,), f32(1)))
        self.write("d.npy", npy("<f8", (1,), bytes(8)))
        self.write("f.npy", npy("<f4", (2, 3), f32(1, 2, 3, 4, 5, 6), fortran=True))
        self.complaints({  # told with or without a GPU
            ("a.npy", "o.npy", "--format", "e4m3", "--encode"): "--encode: a device makes no encodings; leave out --encode",
            ("a.npy", "o.npy", "--format", "binary64"): "binary32, which does not hold it; leave --device and --emulated out",
        }, "quantize", "--device")
        self.complaints({
            ("d.npy", "o.npy", "--format", "e4m3"): "no tensor is F32, .*leave --device and --emulated out",
            ("f.npy", "o.npy", "--format", "e4m3", "-r", "rs"): "no tensor is F32 in C order, which alone goes to a device",
        }, "quantize", "--emulated", "sm_90")
        self.assertIn("no architecture", self.complaint(
            "quantize", "a.npy", "o.npy", "--format", "e4m3", "--emulated", "sm_61"))

    def checkpoint(self):
        draw = random.Random(4)
        weight, head = ([draw.gauss(0, 1) for _ in range(n)] for n in (4 * 64, 3 * 31))
        self.write("in.safetensors", safetensors(
            ("l.weight", "F32", [4, 64], f32(*weight)), ("head.weight", "F32", [3, 31], f32(*head)),
            ("l.norm", "F16", [5], b"0123456789"), ("ids", "I64", [1], bytes(8))))

    def test_tensors_that_globs_leave_out_are_copied(self):
        self.checkpoint()
        text = self.good("quantize", "in.safetensors", "out.safetensors", "--format", "nvfp4", "--encode",
                         "--include", "*.weight", "--include", "l.*", "--exclude", "*norm*", "--exclude", "head.*")
        self.assertIn("copied 3 tensors, as they are", text)
        before, data = parts_of_safetensors(self.read("in.safetensors"))
        after, made = parts_of_safetensors(self.read("out.safetensors"))
        self.assertEqual(sorted(after), ["__metadata__", "head.weight", "ids", "l.norm", "l.weight", "l.weight_scale", "l.weight_scale_2"])
        for name in ("head.weight", "ids", "l.norm"):
            self.assertEqual({**after[name], "data_offsets": 0}, {**before[name], "data_offsets": 0})
            self.assertEqual(made[slice(*after[name]["data_offsets"])], data[slice(*before[name]["data_offsets"])])

    def parts(self, name):
        """The bytes of each tensor of a file."""
        header, data = parts_of_safetensors(self.read(name))
        return {key: data[slice(*value["data_offsets"])] for key, value in header.items() if key != "__metadata__"}

    def test_transformer_engine_s_files_are_decoded_by_their_rule_and_its_rows(self):
        """The scale of a tensor follows from its amax by the rule of the file; blocks of several rows lie in all axes but K as one."""
        draw = random.Random(17)
        x = f32(*(draw.gauss(0, 1) for _ in range(128 * 384)))
        for name, shape in (("x", [2, 64, 384]), ("flat", [128, 384])):
            self.write(f"{name}.safetensors", safetensors(("x", "F32", shape, x)))
        for options in (("--format", "nvfp4", "--scale-rule", "te_4over6"), ("--format", "fp8_128x128"),
                        ("--format", "e5m2:block=128x128:scale=binary32")):
            with self.subTest(options):
                for name in ("x", "flat"):
                    self.good("quantize", f"{name}.safetensors", f"{name}_codes.safetensors", *options, "--encode", "--layout", "te")
                self.assertEqual(self.parts("x_codes.safetensors"), self.parts("flat_codes.safetensors"))
                self.good("quantize", "x_codes.safetensors", "back.safetensors", "--decode")
                rule = () if "--scale-rule" in options else ("--scale-rule", "te_pow2")
                self.good("quantize", "flat.safetensors", "values.safetensors", *options, *rule)
                self.assertEqual(self.parts("back.safetensors"), self.parts("values.safetensors"))
                if "nvfp4" not in options:
                    continue
                header, data = parts_of_safetensors(self.read("x_codes.safetensors"))
                tensors = [(key, value["dtype"], value["shape"], data[slice(*value["data_offsets"])])
                           for key, value in header.items() if key != "__metadata__"]
                self.write("bare.safetensors", safetensors(*tensors))
                self.good("quantize", "bare.safetensors", "bare_back.safetensors", "--decode", "--scale-layout", "te", *options)
                self.assertEqual(self.parts("bare_back.safetensors")["x"], self.parts("back.safetensors")["x"])

    def test_codes_and_scales_are_decoded_to_the_values_of_quantize(self):
        self.checkpoint()
        for layout, form, order in (("plain", "mxfp4", "128x4"), ("te", "nvfp4", "te"), ("te", "mxfp8_e5m2", "8x4"),
                                    ("compressed-tensors", "nvfp4", "row_major"), ("torchao", "mxint8", "aiter"),
                                    ("deepseek", "fp8_1x128", "row_major"), ("plain", "nvfp4_2d", "deepgemm"),
                                    ("te", "fp8_128x128", "te_2d"), ("te", "fp8_1x128", "te_1d")):
            with self.subTest(layout=layout, format=form):
                made = ("--format", form, "--exclude", "*norm*", "--encode", "--layout", layout, "--scale-layout", order)
                self.good("quantize", "in.safetensors", "codes.safetensors", *made)
                header = parts_of_safetensors(self.read("codes.safetensors"))[0]
                metadata = header["__metadata__"]
                if order == "deepgemm":  # four scales in an int32, these along M
                    self.assertEqual([header["l.weight_scale"][key] for key in ("dtype", "shape")], ["I32", [1, 4]])
                self.assertEqual([metadata["binade." + key] for key in ("format", "layout", "scale_layout")], [form, layout, order])
                self.assertEqual(read_json(metadata["binade.shapes"]), {"l.weight": [4, 64], "head.weight": [3, 31]})
                rule = metadata["binade.scale_rule"]
                self.good("quantize", "codes.safetensors", "back.safetensors", "--decode")
                self.good("quantize", "in.safetensors", "values.safetensors", "--format", form, "--scale-rule", rule)
                (back, one), (values, two) = (parts_of_safetensors(self.read(name + ".safetensors")) for name in ("back", "values"))
                self.assertEqual(sorted(set(back) - {"__metadata__"}), ["head.weight", "ids", "l.norm", "l.weight"])
                for name in ("l.weight", "head.weight"):
                    self.assertEqual(one[slice(*back[name]["data_offsets"])], two[slice(*values[name]["data_offsets"])])
                    self.assertEqual(back[name]["shape"], values[name]["shape"])

    def test_transformer_engine_s_scales_of_blocks_of_128(self):
        draw = random.Random(7)
        self.write("in.safetensors", safetensors(("w", "F32", [130, 300], f32(*(draw.gauss(0, 1) for _ in range(130 * 300))))))
        for form, shape, place in (("fp8_128x128", [2, 4], lambda r, c: 4 * r + c), ("fp8_1x128", [3, 132], lambda r, c: 132 * c + r)):
            made = ("quantize", "in.safetensors", "codes.safetensors", "--format", form, "--encode")
            self.good(*made, "--scale-rule", "te_pow2")
            header, data = parts_of_safetensors(self.read("codes.safetensors"))
            rows, columns = header["w_scale"]["shape"]
            plain = struct.unpack(f"<{rows * columns}f", data[slice(*header["w_scale"]["data_offsets"])])
            self.good(*made, "--layout", "te")
            header, data = parts_of_safetensors(self.read("codes.safetensors"))
            scales, codes = header["w._rowwise_scale_inv"], header["w._rowwise_data"]
            self.assertEqual([scales["dtype"], scales["shape"], codes["dtype"], codes["shape"]], ["F32", shape, "U8", [130, 300]])
            laid = struct.unpack(f"<{shape[0] * shape[1]}f", data[slice(*scales["data_offsets"])])
            self.assertEqual([laid[place(i // columns, i % columns)] for i in range(len(plain))], list(plain))
            self.assertEqual(sum(laid), sum(plain))  # what fills up is 0
            header.pop("__metadata__")
            self.write("bare.safetensors", safetensors(*((name, row["dtype"], row["shape"], data[slice(*row["data_offsets"])])
                                                         for name, row in header.items())))
            for file in ("codes", "bare"):
                self.good("quantize", f"{file}.safetensors", f"{file}_back.safetensors", "--decode", "--format", form)
            self.assertEqual(*(parts_of_safetensors(self.read(f"{file}_back.safetensors"))[1] for file in ("codes", "bare")))

    def test_every_level_takes_the_lines_of_blocks_down_columns(self):
        draw = random.Random(6)
        self.write("x.safetensors", safetensors(("w", "F32", [40, 24], f32(*(draw.gauss(0, 1) for _ in range(40 * 24))))))
        for form in ("mxfp8_e4m3", "mxfp4"):
            for kept in ((), ("--encode",)):
                made = ("quantize", "x.safetensors", "y.safetensors", "--format", form, "--axis", "0", *kept)
                written = {self.good(*made, BINADE_ISA=level) and self.read("y.safetensors") for level in ("reference", "portable")}
                self.assertEqual(len(written), 1, (form, kept))

    def test_codes_of_gpt_oss_have_an_axis_of_blocks(self):
        draw = random.Random(8)
        self.write("in.safetensors", safetensors(("w", "F32", [2, 3, 64], f32(*(draw.gauss(0, 1) for _ in range(2 * 3 * 64))))))
        plain, made = ({}, {})
        for layout, parts in (("plain", plain), ("gpt-oss", made)):
            self.good("quantize", "in.safetensors", "codes.safetensors", "--format", "mxfp4", "--scale-rule", "ocp", "--encode", "--layout", layout)
            header, data = parts_of_safetensors(self.read("codes.safetensors"))
            header.pop("__metadata__")
            parts.update({name: (row["shape"], data[slice(*row["data_offsets"])]) for name, row in header.items()})
        self.assertEqual([made["w_blocks"][0], made["w_scales"][0]], [[2, 3, 2, 16], [2, 3, 2]])
        self.assertEqual([made["w_blocks"][1], made["w_scales"][1]], [plain["w"][1], plain["w_scale"][1]])
        self.write("bare.safetensors", safetensors(*((name, "U8", shape, held) for name, (shape, held) in made.items())))
        self.good("quantize", "bare.safetensors", "back.safetensors", "--decode", "--format", "mxfp4")
        self.good("quantize", "in.safetensors", "values.safetensors", "--format", "mxfp4", "--scale-rule", "ocp")
        self.assertEqual(*(parts_of_safetensors(self.read(name))[1] for name in ("back.safetensors", "values.safetensors")))
        self.write("short.npy", npy("<f4", (2, 48), [1.0] * 96))
        self.complaints({(): "blocks of 32, each along an axis of its own, do not divide it"}, "quantize", "short.npy", "o.safetensors",
                        "--format", "mxfp4", "--encode", "--layout", "gpt-oss")

    def test_a_stack_is_quantized_tensor_by_tensor(self):
        draw = random.Random(5)
        experts = [[draw.gauss(0, 1 + i) for _ in range(6 * 64)] for i in range(3)]
        self.write("all.safetensors", safetensors(("w", "F32", [3, 6, 64], f32(*sum(experts, []))), ("v", "F32", [6, 64], f32(*experts[0])),
                                                   ("empty", "F32", [0, 6, 64], b"")))
        for i, expert in enumerate(experts):
            self.write(f"{i}.safetensors", safetensors(("w", "F32", [6, 64], f32(*expert))))
        for form, order in (("nvfp4", "128x4"), ("nvfp4", "row_major"), ("fp8_tensor", "row_major")):
            with self.subTest(format=form, order=order):
                made = ("--format", form, "--encode", "--stack", "--scale-layout", order)
                self.good("quantize", "all.safetensors", "codes.safetensors", *made)
                header, data = parts_of_safetensors(self.read("codes.safetensors"))
                for i in range(3):
                    self.good("quantize", f"{i}.safetensors", "one.safetensors", *(word for word in made if word != "--stack"))
                    own, bytes_of_one = parts_of_safetensors(self.read("one.safetensors"))
                    for name in set(own) - {"__metadata__"}:
                        begin, end = header[name]["data_offsets"]
                        size = (end - begin) // 3
                        self.assertEqual(data[begin + i * size:begin + (i + 1) * size], bytes_of_one[slice(*own[name]["data_offsets"])], name)
                        self.assertEqual(header[name]["shape"][0], 3)
                told = self.json("scales", "all.safetensors:w", "codes.safetensors", "--stack")["tensors"]
                self.assertEqual([(one["name"], one["conclusion"] != "none") for one in told], [(f"w[{i}]", True) for i in range(3)])
                self.assertIn(" --stack --encode", told[0]["explain"][0]["quantize"])
                self.good("quantize", "codes.safetensors", "back.safetensors", "--decode")
                self.good("quantize", "all.safetensors", "values.safetensors", "--format", form, "--stack")
                (back, one), (values, two) = (parts_of_safetensors(self.read(name + ".safetensors")) for name in ("back", "values"))
                for name in ("w", "v"):
                    self.assertEqual(one[slice(*back[name]["data_offsets"])], two[slice(*values[name]["data_offsets"])])
        self.complaints({("--axis", "0"): "axis 0: along which the tensors of a stack lie"}, "quantize", "all.safetensors", "o.safetensors",
                        "--format", "mxfp4", "--stack")
        self.write("flat.npy", npy("<f4", (2, 2), [1.0] * 4))
        self.complaints({("--stack",): "flat.npy: no tensor of 3 axes or more, as --stack takes apart; leave it out"},
                        "quantize", "flat.npy", "o.safetensors", "--format", "nvfp4")

    def test_an_order_of_scales_that_neither_the_file_nor_the_caller_tells(self):
        self.checkpoint()
        made = ("--format", "mxfp4", "--exclude", "*norm*", "--encode")
        self.good("quantize", "in.safetensors", "codes.safetensors", *made, "--scale-layout", "128x4")
        self.good("quantize", "codes.safetensors", "told.safetensors", "--decode")
        header, data = parts_of_safetensors(self.read("codes.safetensors"))
        header.pop("__metadata__")
        self.write("bare.safetensors", safetensors(*((name, row["dtype"], row["shape"], data[slice(*row["data_offsets"])])
                                                     for name, row in header.items())))
        call = ("quantize", "bare.safetensors", "bare_back.safetensors", "--decode", "--format", "mxfp4")
        self.assertRegex(self.complaint(*call), r"as 128x4 or te would fill them, .*; say it by --scale-layout")
        self.good("quantize", "in.safetensors", "one.safetensors", "--format", "mxfp4", "--encode", "--include", "l.weight")
        header, data = parts_of_safetensors(self.read("one.safetensors"))
        header["l.weight_scale"]["shape"].reverse()
        self.write("turned.safetensors", safetensors(*((name, row["dtype"], row["shape"], data[slice(*row["data_offsets"])])
                                                       for name, row in header.items() if name != "__metadata__")))
        for order in ((), ("--scale-layout", "row_major")):
            self.assertRegex(self.complaint("quantize", "turned.safetensors", "o.safetensors", "--decode", "--format", "mxfp4", *order),
                             r"l\.weight_scale: F8_E8M0 \(2, 4\), ")
        self.good(*call, "--scale-layout", "128x4")
        values = [parts_of_safetensors(self.read(name + ".safetensors")) for name in ("told", "bare_back")]
        one, two = (data[slice(*header["l.weight"]["data_offsets"])] for header, data in values)
        self.assertEqual(one, two)

    def test_counts_as_json_are_those_of_the_text(self):
        self.checkpoint()
        for form, encode in (("mxfp4", ["--encode"]), ("e4m3", [])):
            call = ("quantize", "in.safetensors", "out.safetensors", "--format", form, *encode)
            text, told = self.good(*call), self.json(*call)
            for row in told["tensors"]:
                elements = {key: row["elements"][key] for key in self.COLUMNS}
                self.assertEqual(elements, self.counts(text, row["name"]))
                lines = [line.split()[1:] for line in text.splitlines() if line.startswith(row["name"] + " ")]
                scales = [str(x) for x in row["scales"].values()] if row["scales"] else None
                self.assertEqual(lines[1:], [scales] if scales else [])
            self.assertEqual(told["skipped"], ["ids (I64, integer)"])

    def test_mistyped_and_idle_words_of_blocks(self):
        self.checkpoint()
        files = ("in.safetensors", "out.safetensors")
        self.complaints({
            ("--format", "mxfp8"): "did you mean mxfp8_e4m3 or mxfp8_e5m2\\? block formats are",
            ("--format", "mxpf4"): "did you mean mxfp4\\? block formats are mxfp8_e4m3, .*fp4_column; others are binary16",
            ("--format", "int8:block=1x32"): "did you mean mxint8\\? block formats are",
            ("--format", "e2m1:blok=1x32"): "of a block format also block, scale, tensor",
            ("--format", "e4m3", "--ragged", "pad"): "--ragged has no effect without a block format",
            ("--format", "e4m3", "--axis", "-1"): "--axis has no effect without a block format",
            ("--format", "e4m3", "--exclude", "*"): "--exclude has no effect without a block format",
            ("--format", "mxfp4", "--exclude", "*norm*"): "--exclude has no effect without --encode",
            ("--format", "mxfp4", "--encode", "--include", "x*"): r"--include x\*: no floating-point tensor has such a name",
            ("--format", "mxfp4", "--encode", "--exclude", "*"): "leave no tensor",
            ("--format", "fp8_row", "--encode", "--layout", "te"): "--layout te: that stack has no fp8_row; it has mxfp8_e4m3",
            ("--format", "fp8_tensor", "--encode", "--layout", "modelopt"): "--layout modelopt: no rule of that stack is known for this format",
            (): "--format: say to which format",
            ("--decode",): "no codes and scales by the names of any --layout",
            ("--decode", "--seed", "0"): "--seed has no effect with --decode",
        }, "quantize", *files)
        self.good("quantize", *files, "--format", "mxfp4", "--encode", "--layout", "torchao")
        self.complaints({
            ("--format", "nvfp4"): r"_scale: F8_E8M0 .*, no scales .* of nvfp4; say by --format",
            ("--axis", "0"): "no scales",
            ("--axis", "5"): "choose another --axis",
            ("--scale-layout", "128x4"): r"no scales \(128, 4\) of 8 bits, to which 128x4 fills \(4, 2\) up, of mxfp4",
            ("--scale-layout", "x"): "no layout 'x'",
        }, "quantize", "out.safetensors", "back.safetensors", "--decode")
        self.write("both.safetensors", safetensors(("w", "F32", [2, 32], bytes(256)), ("w_scale", "F32", [2, 32], bytes(256))))
        self.complaints({(): "two tensors would be 'w_scale', one of them by the names of --layout plain; leave a tensor as it is by --exclude"},
                        "quantize", "both.safetensors", "o.safetensors", "--format", "mxfp4", "--encode")
        self.complaints({("",): "--block: no number", (" ",): "--block: no number"}, "show", "--format", "mxfp4", "--block")

    def test_fortran_order_is_kept(self):
        self.write("f.npy", npy("<f4", (2, 3), f32(1, 2, 3, 4, 5, 6), fortran=True))
        self.good("quantize", "f.npy", "g.npy", "--format", "binary16")
        head, data = parts_of_npy(self.read("g.npy"))
        self.assertEqual((head["fortran_order"], head["shape"], data), (True, (2, 3), f32(1, 2, 3, 4, 5, 6)))

    def test_what_cannot_be_done_leaves_nothing(self):
        self.write("a.npy", npy("<f4", (1,), f32(1)))
        self.write("i.npy", npy("<i4", (1,), bytes(4)))
        self.write("cut.npy", npy("<f4", (9,), f32(1)))
        self.write("two.safetensors", safetensors(("a", "F32", [1], f32(1)), ("b", "F32", [1], f32(1))))
        crc = bytearray(npz(zipfile.ZIP_STORED, a=npy("<f4", (100,), bytes(400))))
        crc[200] ^= 1
        self.write("crc.npz", bytes(crc))
        self.complaints({
            ("a.npy", "o.npy"): "format",
            ("a.npy", "o.npy", "--format", "binary17"): "binary17",
            ("a.npy", "o.npy", "--format", "e4m3", "--rounding", "up"): "rounding",
            ("a.npy", "o.npy", "--format", "e4m3", "--saturation", "some"): "saturation",
            ("a.npy", "o.txt", "--format", "e4m3"): "o.txt",
            ("a.npy", "absent/o.npy", "--format", "e4m3"): "absent/o.npy",
            ("absent.npy", "o.npy", "--format", "e4m3"): "absent.npy",
            ("i.npy", "o.npy", "--format", "e4m3"): "no floating-point tensor",
            ("cut.npy", "o.npy", "--format", "e4m3"): "cut.npy",
            ("crc.npz", "o.npy", "--format", "e4m3"): "crc.npz",
            ("two.safetensors", "o.npy", "--format", "e4m3"): "one array",
            ("a.npy", "o.npy", "--format", "e4m3", "--seed", "1"): "--seed has no effect with --rounding ties_to_even",
            ("a.npy", "o.npy", "--format", "e4m3", "-r", "rz", "--random-bits", "8"): "--random-bits has no effect with --rounding to",
            ("a.npy", "o.npy", "--format", "e2m1", "--nan", "nvidia"): "--nan has no effect on e2m1, which has no NaN",
            **{("a.npy", "o.npy", "--format", one_nan, "--nan", rule): f"--nan has no effect on {one_nan}, which has one NaN"
               for one_nan in ("e4m3fnuz", "e8m0", "ue4m3") for rule in ("nvidia", "propagate")},
            ("a.npy", "o.npy", "--format", "e8m0", "--ftz"): "--ftz has no effect on e8m0, which has no zero",
        }, "quantize")


if __name__ == "__main__":
    main()
