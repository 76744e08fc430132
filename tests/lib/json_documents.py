# SPDX-License-Identifier: Apache-2.0
"""The commands that write every kind of JSON that the program has, in the cases that change its shape."""

import json
import os
import random
import re
import struct
import sys
from typing import NamedTuple

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(FOLDER, ".."), os.path.join(FOLDER, "cli"), os.path.join(FOLDER, "report")]
from arrays_case import HOPPER
from cli_case import CliCase, read_json
from interrupted import kill_experiments, kill_training
from made_files import f32, npy, packed, safetensors
from made_recordings import product_recording, recording, scalar_recording
from made_run_file import Tensor, run_file

NAN = float("nan")
INF = float("inf")


class Run(NamedTuple):
    """A document, the command that wrote it, and the part of the schema that it is, if it is no whole document."""
    words: tuple
    document: dict
    part: str | None = None


class Documents(CliCase):
    """Runs commands in a folder of their own and keeps what they write."""

    def __init__(self, program):
        super().__init__()
        self.program = program
        self.runs = []
        self.random = random.Random(1)

    def call(self, *words, status=0, **variables):
        result = self.run_binade(*words, **variables)
        self.assertEqual(result.returncode, status, (words, result.stderr))
        return result.stdout.decode()

    def take(self, words, text, part=None):
        self.runs.append(Run(words, read_json(text), part))
        return self.runs[-1].document

    def says(self, *words, status=0, **variables):
        return self.take(words, self.call(*words, status=status, **variables))

    def writes(self, file, *words, status=0):
        """Of a page the data in it, of lines each."""
        self.call(*words, file, status=status)
        text = self.read(file).decode()
        if file.endswith(".html"):
            text = re.search(r'<script type="application/json" id="\w+">(.*?)</script>', text, re.DOTALL).group(1)
        for line in text.splitlines() if file.endswith(".jsonl") else [text]:
            self.take(words, line)

    def reads(self, part, name, document):
        """An input file, which the schema describes too."""
        self.take((part,), json.dumps(document), part)
        return self.write(name, json.dumps(document).encode())

    def values(self, count):
        return [self.random.gauss(0, 1) for _ in range(count)]

    def array(self, name, dtype, shape, values=None):
        count = 1
        for n in shape:
            count *= n
        values = self.values(count) if values is None else values
        return self.write(name, npy(dtype, shape, values))

    def single(self, name, shape, encodings):
        """Binary32 by its encodings."""
        return self.write(name, npy("<f4", shape, packed("<u4", *encodings)))


def reports(run):
    def tensors(file, **values):
        return run.write(file, safetensors(*((name, "F32", [len(x)], f32(*x)) for name, x in values.items())))

    tensors("mixed.safetensors", some=[1, 2.0**-26, 0, -2], empty=[], zeros=[0, 0], none=[NAN, INF],
            far=[2.0**-140, 2.0**100], large=[65520])
    run.write("skipped.safetensors", safetensors(("ids", "I32", [1], bytes(4)), ("x", "F32", [1], f32(1))))
    run.array("double.npy", "<f8", (2,), [1e-300, 1e300])
    run.says("report", "mixed.safetensors", "--json", "-")
    run.says("report", "skipped.safetensors", "--json", "-", "--prefer", "s_min")
    run.says("report", "double.npy", "--json", "-", "--formats", "bfloat16,e4m3", "--sqnr-scale", "-3,2")
    tensors("named.safetensors", **{"a.weight": [1, 2], "a.weight.grad": [2.0**-20, 1], "other": [3]})
    run.says("report", "named.safetensors", "--json", "-")
    tensors("alike.safetensors", **{"a.weight.grad": [1, 2], "b.weight.grad": [3], "b.bias.grad": [2.0**-40]})
    run.says("report", "alike.safetensors", "--json", "-")
    run.write("beyond.safetensors", safetensors(("a.weight.grad", "F64", [1], struct.pack("<d", 1e300))))
    run.says("report", "beyond.safetensors", "--json", "-")  # no loss scale serves
    half = struct.pack("<4H", 0, 0, 1, 2)  # the smallest subnormals of FP16
    run.write("floor.safetensors", safetensors(("a.act.grad", "F16", [4], half), ("b.act.grad", "F16", [4], half)))
    run.says("report", "floor.safetensors", "--json", "-")
    tensors("missed.safetensors", step_10=[1], **{"step_1/x": [1]})
    run.says("report", "missed.safetensors", "--json", "-")
    steps = {f"step{step:03d}/fc{layer}/{role}": values
             for step in (1, 20, 30) for layer in (1, 2) for role, values in
             {"act": [1, 2], "dAct": [2.0**-30, 1], "dW": [2.0**-26, 1 if step < 30 else INF], "weight": [0.5, 1e6],
              "update": [2.0**-20, 0.5]}.items()}
    steps["step001/fc3/update"] = [1]
    steps["step001/fc3/exp_avg"] = [NAN]
    steps["step001/fc3.grad"] = [0]
    tensors("run.safetensors", **steps)
    run.writes("report.json", "report", "run.safetensors", "--json")
    run.says("report", "run.safetensors", "--formats", "bfloat16", "--json", "-")
    for step, scale in ((0, {"loss_scale": "65536"}), (1, None)):
        gradient = (f"step{step}/fc/dW", "F32", [2], f32(2.0**-20, 1))
        run.write(f"used{step}.safetensors", safetensors(gradient, metadata=scale))
    run.says("report", "used0.safetensors", "used1.safetensors", "--json", "-")
    first = {"text": "step 60: Inf", "step": 60, "layer": "fc", "role": "dW", "phase": "backward", "found": {"nan": 0, "inf": 1},
             "arose": True, "loss_scale": 1024.0, "skipped": True,
             "inputs": [{"name": "x", "dtype": "F32", "values": 2, "nan": 0, "inf": 0, "smallest": None, "largest": 2.0}]}
    counted = [Tensor(step, "fc", role, values) for step in (0, 60) for role, values in
               {"dW": [2.0**-26, 1.0], "weight": [0.5, 2.0], "update": [2.0**-20, 0.5]}.items()]
    pairs = [(step, "fc", [0.5, 2.0], [2.0**-20, 0.5]) for step in (0, 60)]
    pairs[1] += ([2, 2, 1, 1, 1, 0, 0, 0, 1, *[0] * 29],)  # what the weights lost as they are
    run.write("run.binade", run_file([(0, 50, 2, 65536.0), (60, 60, 1, None)], counted, pairs, 10, ["a note"], first))
    run.says("report", "run.binade", "--json", "-")
    for told in (None, {"text": "Inf", "loss_scale": None},
                 {"text": "Inf", "inputs": [{"name": "x"}, {"name": "y", "smallest": 0.5, "largest": None}]}):
        run.write("plain.binade", run_file([(0, 0, 1, None)], counted[:1], first_nonfinite=told))
        run.says("report", "plain.binade", "--json", "-")
    run.call("report", "mixed.safetensors", "--part", "1/2", "-o", "part.bin")
    run.says("merge", "part.bin", "--partial", "--json", "-")
    run.says("report", "mixed.safetensors", "--json", "-", "--device", status=77, CUDA_VISIBLE_DEVICES="")


def products(run):
    a, b = run.array("a.npy", "<f2", (8, 128)), run.array("b.npy", "<f2", (128, 8))
    c = run.array("c.npy", "<f4", (8, 8))
    bias = run.array("bias.npy", "<f4", (8,))
    gemm = ("gemm", a, b)
    run.writes("account.json", *gemm, c, *HOPPER, "--alpha", "0.7", "--beta", "0.3", "--bias", bias, "--promote-every", "2",
               "-o", "d.npy", "--account")
    run.writes("account.html", *gemm, *HOPPER, "--account")
    run.writes("chain.json", *gemm, "--instruction", "fma.rn.f32.f16.f16.f32", "--account")
    zeros = run.array("zeros.npy", "<f2", (128, 8), [0] * 1024)
    run.writes("nothing.json", "gemm", a, zeros, *HOPPER, "--account")
    chain = ("--instruction", "fma.rn.f64.f64.f64.f64", "--account")
    large = run.array("large.npy", "<f8", (2, 1), [1e300, 1e300])
    run.writes("beyond.json", "gemm", large, run.array("factor.npy", "<f8", (1, 1), [1.5e8]), *chain)
    lost = run.array("lost.npy", "<f8", (1, 5), [2.0**1000, 2.0**946, -2.0**1000, -2.0**946, 2.0**-1074])
    run.writes("all_lost.json", "gemm", lost, run.array("ones.npy", "<f8", (5, 1), [1] * 5), *chain)
    run.writes("steps.json", *gemm, *HOPPER, "--split", "4", "--account")

    run.call(*gemm, *HOPPER, "-o", "d.npy")
    run.says("validate", "gemm", *gemm[1:], *HOPPER, "--d", "d.npy", "--json")
    given = struct.unpack("<64I", run.read("d.npy")[-256:])
    run.single("other.npy", (8, 8), [x ^ {3: 1, 9: 0x40000000, 11: 0x7FFFFFFF ^ x}.get(i, 0) for i, x in enumerate(given)])
    run.says("validate", "gemm", *gemm[1:], *HOPPER, "--d", "other.npy", "--json", status=1)
    run.call(*gemm, *HOPPER, "--alpha", "0.125", "-o", "eighth.npy")
    run.says("validate", "gemm", *gemm[1:], *HOPPER, "--d", "eighth.npy", "--json", status=1)
    tiny = [run.array(f"tiny_{name}.npy", "<u2", shape, [bits] + 7 * [0])
            for name, shape, bits in (("a", (1, 8), 0x8001), ("b", (8, 1), 0x3580))]
    run.array("tiny_d.npy", "<u4", (1, 1), [0])
    run.says("validate", "gemm", *tiny, "--d", "tiny_d.npy", "--arch", "sm_80", "--instruction",
             "mma.m16n8k8.f32.bf16.bf16.f32", "--json")

    identify = ("identify", "--a", a, "--b", b, "--json", "--d")
    run.says(*identify, "d.npy")
    run.says(*identify, "other.npy", status=1)
    run.says(*identify, "d.npy", "--seconds", "1e-9", status=1)
    run.array("blank.npy", "<f4", (8, 8), [0] * 64)
    run.says(*identify, "blank.npy", "--cpu", status=1)
    single = [run.array(f"single_{name}.npy", "<f4", shape) for name, shape in (("a", (4, 8)), ("b", (8, 4)))]
    fma = ("--instruction", "fma.rn.f32.tf32.tf32.f32")
    run.call("gemm", *single, *fma, "--round", "rna", "-o", "rounded.npy")
    run.says("validate", "gemm", *single, *fma, "--d", "rounded.npy", "--json", status=1)
    run.says("identify", "--a", single[0], "--b", single[1], "--d", "rounded.npy", "--json", "--show", "1")
    run.call(*gemm, *HOPPER, "--out-format", "f16", "-o", "short.npy")
    run.says(*identify, "short.npy", "--arch", "sm_90,sm_80", "--propose", "proposed.npz")
    run.call(*gemm, c, *HOPPER, "-o", "added.npy", "--bias", bias)
    run.says(*identify, "added.npy", "--c", c, "--bias", bias, "--show", "1")
    rows = [run.array(f"row_{name}.npy", "<f2", (4, 4)) for name in "ab"]
    run.array("row_d.npy", "<f4", (4,), [NAN, 1, 2, 3])
    run.says("identify", "--a", rows[0], "--b", rows[1], "--d", "row_d.npy", "--cpu", "--json", status=1)
    stack, ends = run.array("stack.npy", "<f2", (2, 128, 8)), run.array("ends.npy", "<i4", (2,), [4, 8])
    grouped = (a, stack, *HOPPER, "--groups", ends)
    for name, alpha in (("once", "1"), ("twice", "2")):
        run.call("gemm", *grouped, "--alpha", alpha, "-o", f"{name}.npy")
    once, twice = (struct.unpack("<64I", run.read(f"{name}.npy")[-256:]) for name in ("once", "twice"))
    run.single("half.npy", (8, 8), [*once[:32], *twice[32:]])
    run.says("identify", "--a", a, "--b", stack, "--groups", ends, "--d", "half.npy", "--arch", "sm_90", "--json", status=1)
    edges(run)
    conversions(run)
    block_quantizers(run)
    explanations(run, gemm, c, bias)


def conversions(run):
    """What converters gave: by one rule, by none, with infinities and NaNs that follow a rule and such that do not."""
    numbers = [1.0625, 1.1875, -1.24, 500, 0.001, 3, -0.0, INF, -INF, -INF, NAN]
    run.array("numbers.npy", "<f4", (11,), numbers)
    check = ("check", "--in", "numbers.npy", "--format", "e4m3", "--json", "--codes")
    run.array("cut.npy", "|u1", (11,), [0x38, 0x39, 0xB9, 0x7E, 0, 0x44, 0x80, 0x7E, 0xFE, 0xFE, 0x7F])
    run.says(*check, "cut.npy")
    run.array("odd.npy", "|u1", (11,), [0x60, 0x39, 0xB9, 0x7E, 0x33, 0x44, 0x80, 0x7E, 0xFE, 0x12, 0x7F])
    run.says(*check, "odd.npy", status=1)
    run.array("many.npy", "<f4", (40,), [x / 32 for x in range(1, 41)])
    run.array("doubled.npy", "<f4", (40,), [2 * x / 32 for x in range(1, 41)])
    run.says("check", "--in", "many.npy", "--codes", "doubled.npy", "--format", "f16", "--json", status=1)


def block_quantizers(run):
    """Codes and scales that rules explain, such that none does, and such that something may have happened to."""
    run.array("blocks.npy", "<f4", (4, 64))
    run.says("quantize", "blocks.npy", "blocks.safetensors", "--format", "nvfp4", "--encode", "--json")
    run.says("quantize", "blocks.safetensors", "values.safetensors", "--decode", "--json")
    run.write("beside.safetensors", safetensors(("z", "C64", [1], bytes(8)), ("w", "F8_E4M3", [1, 32], bytes(32)),
                                                ("w_scale", "F8_E8M0", [1, 1], b"x")))
    run.says("quantize", "beside.safetensors", "values.safetensors", "--decode", "--format", "mxfp8_e4m3", "--json")
    numbers = f32(*[1.0] * 32)
    run.write("pair.safetensors", safetensors(("w", "F32", [1, 32], numbers), ("v", "F32", [1, 32], numbers)))
    run.write("lone.safetensors", safetensors(("w", "F8_E4M3", [1, 32], bytes(32)), ("w_scale", "F8_E8M0", [1, 1], b"x"),
                                              ("v", "F8_E4M3", [1, 32], bytes(32))))
    run.says("scales", "pair.safetensors", "lone.safetensors", "--json", status=1)
    run.write("mixed.safetensors", safetensors(("x", "F32", [2], f32(1, 2)), ("ids", "U8", [2], b"ab")))
    run.says("quantize", "mixed.safetensors", "out.safetensors", "--format", "e4m3", "--emulated", "sm_90", "--json")
    run.says("scales", "blocks.npy", "blocks.safetensors", "--json")
    run.call("quantize", "blocks.npy", "drawn.safetensors", "--format", "mxfp4", "--encode", "--rounding", "stochastic")
    run.says("scales", "blocks.npy", "drawn.safetensors", "--json", status=1)
    run.array("block_codes.npy", "|u1", (4, 64), [7 * x % 256 for x in range(256)])
    run.array("block_scales.npy", "|u1", (4, 2), [130, 1, 0, 255, 9, 80, 7, 127])
    arrays = ("--codes", "block_codes.npy", "--scales", "block_scales.npy", "--json")
    run.says("scales", "blocks.npy", *arrays, status=1)
    run.array("ones.npy", "<f4", (4, 64), [1.0] * 256)
    run.array("fours.npy", "|u1", (4, 64), [6] * 256)
    run.array("shifted.npy", "|u1", (4, 2), [130] * 8)
    run.says("scales", "ones.npy", "--codes", "fours.npy", "--scales", "shifted.npy", "--json", status=1)  # 32 times the rule's
    run.array("zeros.npy", "<f4", (4, 64), [0.0] * 256)
    run.call("quantize", "zeros.npy", "zeros.safetensors", "--format", "mxfp4", "--encode")
    run.says("scales", "zeros.npy", "zeros.safetensors", "--json")
    run.array("zero_codes.npy", "|u1", (4, 64), [0] * 256)
    run.says("scales", "zeros.npy", "--codes", "zero_codes.npy", *arrays[2:], status=1)


def edges(run):
    """A product whose last columns were summed in another order: models that explain it together."""
    a, b = run.array("wide_a.npy", "<f2", (32, 128)), run.array("wide_b.npy", "<f2", (128, 32))
    run.call("gemm", a, b, *HOPPER, "-o", "one.npy")
    run.call("gemm", a, b, *HOPPER, "--split", "4", "-o", "two.npy")
    one, two = (struct.unpack("<1024I", run.read(name)[-4096:]) for name in ("one.npy", "two.npy"))
    run.single("edge.npy", (32, 32), [two[i] if i % 32 > 20 else one[i] for i in range(1024)])
    run.says("identify", "--a", a, "--b", b, "--d", "edge.npy", "--json", status=1)


def explanations(run, gemm, c, bias):
    dots = ("explain", "dots", "--json", "--arch")
    for sm, name, terms in (("sm_90", HOPPER[3], "128*128, 3: 0.1015625*2^-20, nan*1"), ("sm_90", HOPPER[3], "0*1, -0*1"),
                            ("sm_90", HOPPER[3], "inf*1, 1*-inf"), ("sm_90", HOPPER[3], "1*-inf"),
                            ("sm_90", HOPPER[3], "128*128, 2047*2^-14, 8: 128*-128"),
                            ("sm_70", "wmma.m16n16k16.f32.f16.f16.f32", "1*1, 9: 2*2"),
                            ("sm_90", "mma.m8n8k4.f32.f16.f16.f32", "nan*1"),
                            ("sm_80", "mma.m16n8k32.s32.s8.s8.s32", "-128*127, 5*7"),
                            ("sm_90", "mma.m8n8k4.f32.f16.f16.f32", "3*5"), ("sm_90", "mma.m8n8k4.f16.f16.f16.f16", "3*5"),
                            ("sm_90", "mma.sp.m16n8k16.f32.f16.f16.f32", "1*3, 0*5, 2*2"),
                            ("sm_80", "mma.m8n8k4.f64.f64.f64.f64", "2^1000*2^1000")):
        run.says(*dots, sm, "--instruction", name, "--terms", terms)
    block = "block_scale.scale_vec"
    for name, terms, scales in ((f"mma.m16n8k64.kind::mxf4.{block}::2X.f32.e2m1.e2m1.f32.ue8m0", "6*6, 1: -6*6, 40: 1*2", "2^9, 2^-9"),
                                (f"mma.m16n8k32.kind::mxf8f6f4.{block}::1X.f32.e4m3.e4m3.f32.ue8m0", "6*6, 9: 1*2", "nan"),
                                (f"mma.sp.m16n8k128.kind::mxf4nvf4.{block}::4X.f32.e2m1.e2m1.f32.ue4m3", "6*6, 9: 1*2", "448")):
        run.says(*dots, "sm_120", "--instruction", name, "--terms", terms, "--a-scale", scales, "--b-scale", scales)
    for name, dtype, shape, values in (("a", "<f2", (1, 2), [1, 3]), ("b", "<f2", (1, 2), [2, 4]), ("d", "<f4", (1,), [2])):
        run.array(f"half_{name}.npy", dtype, shape, values)
    run.says("explain", "dots", *HOPPER, "--a", "half_a.npy", "--b", "half_b.npy", "--d", "half_d.npy", "--row", "0",
             "--json")
    element = ("explain", *gemm, "--element", "1", "2", "--json")
    run.says(*element, *HOPPER, "--d", "other.npy")
    run.says(*element, *HOPPER, "--out-format", "bf16", "--out-rounding", "stochastic")
    run.says(*element, "--instruction", "mul_add.rn.f16.f16.f16.f16", "--split", "2", "--relu", "--out-format", "f32",
             "--a-scale", bias, "--b-scale", bias)
    run.says("explain", *gemm, c, "--element", "1", "3", "--json", *HOPPER, "--alpha", "0.7", "--beta", "0.3",
             "--bias", bias, "--promote-every", "2", "--d", "d.npy")


def validations(run):
    for name, dtype, values in (("a", "<u2", [0x8001, 0x8000, 0, 0x3F80]), ("b", "<u2", [0x3580, 0, 0x7F00, 0x3F80]),
                                ("c", "<u4", [0, 0x80000000, 0x2A000000, 0]), ("d", "<u4", [0, 0, 0x7FC00000, 0x3F800001])):
        run.array(f"row_{name}.npy", dtype, (4, 1) if name in "ab" else (4,), values)
    dots = ("validate", "dots", "--arch", "sm_80", "--instruction", "mma.m16n8k8.f32.bf16.bf16.f32", "--json",
            *(word for name in "abcd" for word in (f"--{name}", f"row_{name}.npy")))
    run.says(*dots, "--evidence", status=1)
    run.says(*dots, "--floor", "-132", status=1)
    replay = ("validate", "--json", "--replay")
    equal, wrong = run.write("equal.safetensors", recording()), run.write("wrong.safetensors", recording(d=0x3F800001))
    run.says(*replay, equal)
    run.says(*replay, wrong, "--zero-raises", "single", status=1)
    run.says(*replay, equal, "--evidence")
    scalar = run.write("scalar.safetensors", scalar_recording(wrong=(0x21,)))
    only = run.write("only.safetensors", scalar_recording(instruction="ex2.approx.f32", cases="seeded", hashed_cases="257"))
    run.says(*replay, scalar, only, status=1)
    run.says(*replay, run.write("product.safetensors", product_recording()))
    device = ("validate", "--device", "--json", "--rows", "2", "--generator", "tiny")
    run.says(*device, "--emulated", "sm_75")
    run.says(*device, "--emulated", "sm_75", "--floor", "none")
    run.says(*device, status=77, CUDA_VISIBLE_DEVICES="")
    crossed = ("validate", "crossed", "--json", "--only", "mma.m16n8k8.f32.tf32", "--dots", "200")
    run.says(*crossed, "--emulated", "sm_90")
    run.says(*crossed, status=77, CUDA_VISIBLE_DEVICES="")
    check = ("device", "--json", "--check", "--cases", "20", "--emulated", "sm_90", "--instruction")
    run.says(*check, "cvt.f32.f16", "--instruction", "cvt.rn.f16x2.e4m3x2", "--instruction", "add.f32x2")
    run.says(*check, "add.f16")
    run.says("device", "--json", status=77, CUDA_VISIBLE_DEVICES="")


def tables(run):
    run.says("architectures", "--json", "--arch", "sm_90")
    run.says("architectures", "--json", "--arch", "sm_100")
    run.says("formats", "--json")
    run.says("formats", "--json", "e11m52:bias=1100", "ue8m0", "e2m1:zero=no", "e5m2:specials=fnuz")
    run.says("formats", "--json", "--scale-rules")
    run.says("show", "--json", "--block", "7 nan 0.1", "--format", "nvfp4", "--scale-rule", "all")
    run.says("show", "--json", "--block", "7 0.1", "--format", "mxfp4")
    show = ("show", "--json")
    run.says(*show, "0.1", "0", "-0", "inf", "nan", "bits:0x7b", "1e-9", "65520", "--format", "binary16,e4m3,e8m0")
    run.says(*show, "bits:0x7c01", "binary16:0x7e00", "--format", "binary16")
    run.says(*show, "0.1", "--format", "e5m2", "--rounding", "stochastic", "--random-bits", "4", "--random", "3",
             "--saturation", "finite", "--ftz")
    run.says(*show, "0.1", "2^-1070", "--format", "e11m52:bias=1100")
    run.says("autocast", "--json", "linear", "softmax", "cat", "binary_cross_entropy", "mul", "--inputs",
             "binary16,binary32")
    run.says("autocast", "--json", "--list", "apex")
    run.says("autocast", "--json", "--device", "cpu", "--dtype", "binary32", "nothing_of_this_name", "prod")
    layers = run.reads("layers_file", "model.json", {"layers": [
        {"kind": "linear", "tokens": 100, "in": 64, "out": 10},
        {"name": "head", "kind": "linear", "tokens": 100, "in": 64, "out": 10},
        {"kind": "conv2d", "batch": 2, "channels": 3, "height": 8, "width": 8, "filters": 4, "rows": 3, "columns": 3},
        {"name": "last", "kind": "conv2d", "batch": 2, "channels": 3, "height": 8, "width": 8, "filters": 4, "rows": 3,
         "columns": 3, "stride": 2, "padding": 0}]})
    run.says("advise", "--json")
    run.says("advise", "--json", layers, "--memory", "80GB", "--activations-per-sample", "1e6", "--batch", "8")
    run.says("advise", "--json", "--memory", "80GB", "--fp32-moments", "--optimizer", "adam")
    run.says("advise", "--json", "--params", "1e9")


def trainings(run):
    def trains(*settings, steps=1, **variables):
        run.call("train", f"steps={steps}", "batch=8", "--json", "out.json", *settings, **variables)
        run.take(("train",), run.read("out.json").decode())

    trains("workload=digits_mlp", "--flow")
    trains("workload=digits_mlp", "format=binary32", "level=O0", "optimizer=adamw", "weight_decay=0.1", "lr=0.001", "seed=3")
    trains("workload=digits_tanh8", "scaler=adaptive", "loss_shift=2", "clip_norm=1", "period=5", "underflow_share=0.01")
    trains("workload=digits_mlp", "level=O2", "scaler=static:1024", "skip_overflow=true", "master_weights=true",
           "momentum=0.5", "arch=sm_80", "accumulator=f32", "promote_every=1",
           *(f"{gemm}=mma.m16n8k16.f32.f16.f16.f32" for gemm in ("fprop", "dgrad", "wgrad")))
    trains("workload=digits_mlp", "level=O3", "update=kahan", "lr=1e6", "scaler=none", steps=3)
    trains("workload=digits_mlp", "scaler=fairseq", "init_scale=1e30", "min_scale=1e30", "raise_at_min_scale=true", steps=3)
    trains("workload=digits_mlp", "scaler=megatron", "format=bfloat16", "hysteresis=1", "init_scale=1.6e38",
           "growth_interval=1", "loss_shift=60", steps=3)
    trains("workload=digits_mlp", "format=e4m3", "autoswitch=true", "lr=1e6", steps=3)
    with open(os.path.join(FOLDER, "..", "..", "LICENSE"), "rb") as licence:
        text = run.write("text", 4 * licence.read())
    trains("workload=char_transformer", "format=e4m3", "autoswitch=true", "autoswitch_underflow=4", "autoswitch_mse=0.001",
           "attention=math", "--flow", BINADE_TEXT=text)
    kill_training(run.program, run.folder.name, "workload=digits_mlp", "batch=8")
    run.take(("train",), run.read("killed.json").decode())
    run.reads("sweep_spec", "sweep.json", {"name": "shift", "base": {"seed": 1}, "grid": {
        "workload": ["digits_mlp"], "steps": [1], "batch": [8], "master_weights": [False], "level": ["O3"],
        "lr": [0.1, 1e6]}})
    sweep = ("sweep", "sweep.json", "--result", "test_loss,not_finite,gave_up")
    run.writes("sweep.jsonl", *sweep, "-o")
    run.writes("table.json", *sweep, "--json")
    run.writes("page.html", *sweep, "--html")


def experiments(run):
    run.writes("quick.json", "experiment", "run", "boundary_atlas", "clip_order", "--quick", "--json")


def made_experiments(run):
    names = ("right", "wrong", "skipped", "hostile", "odd")
    run.writes("all.json", "experiment", "run", *names, "--times", "--json", status=1)
    run.writes("page.html", "experiment", "run", *names, "failed", "-o", status=2)
    kill_experiments(run.program, run.folder.name, "wrong")
    run.take(("experiment", "run"), run.read("killed.json").decode())


def documents_of(program, with_made_experiments):
    """All of them. The second program has experiments of the tests, one of each status, every mark and axis."""
    out = []
    for path, parts in ((program, (reports, products, validations, tables, trainings, experiments)),
                        (with_made_experiments, (made_experiments,))):
        for part in parts:
            run = Documents(path)
            run.setUp()
            try:
                part(run)
            finally:
                run.doCleanups()
            out += run.runs
    return out
