# SPDX-License-Identifier: Apache-2.0
#
# `binade report` as a user meets it, on files made here byte by byte: text, JSON and pages, what a device counts,
# comparisons of reports, memory. Run as report_cli_test.py PATH_TO_BINADE; needs Python only.

import array
import math
import os
import pty
import random
import re
import resource
import struct
import subprocess
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, environment, main, read_json
from made_files import f32, npy, npz, safetensors


class Reports(CliCase):
    def report(self, *arguments, **variables):
        return read_json(self.good("report", *arguments, "--json", "-", **variables))


class Report(Reports):
    def setUp(self):
        super().setUp()
        self.grads = self.write("grads.safetensors", safetensors(
            ("w", "F32", [2, 2], f32(1.0, 2.0 ** -26, 0.0, -2.0)), ("b", "F32", [1], f32(65520.0)),
            ("ids", "I32", [1], struct.pack("<i", 5))))

    def test_text_goes_to_stdout_and_nothing_to_stderr(self):
        text = self.good("report", "grads.safetensors")
        for part in ["2 tensors, 5 values", "At scale 1", "Loss scale for binary16", "skipped ids (I32, integer)"]:
            self.assertIn(part, text)

    def test_piped_output_has_neither_colours_nor_progress(self):
        text = self.good("report", "grads.safetensors", TERM="xterm-256color")
        self.assertNotIn("\x1b", text)
        self.assertNotIn("\r", text)

    def on_terminal(self, **variables):
        leader, side = pty.openpty()
        with subprocess.Popen([self.program, "report", self.grads], stdout=side, stderr=side,
                              env=environment(TERM="xterm-256color", **variables)) as process:
            os.close(side)
            text = b""
            while True:
                try:
                    part = os.read(leader, 65536)
                except OSError:  # the other side is closed
                    part = b""
                if not part:
                    break
                text += part
        os.close(leader)
        self.assertEqual(process.returncode, 0)
        return text

    def test_scales_of_float64_are_those_that_float32_holds(self):
        for values, scale in (((1e30, 1.0), "2^-85 "), ((1e60, 1.0), "none\n  No scale serves: binary32's smallest scale, 2^-126,"),
                              ((1e-60, 1e-62), "2^127 "), ((2.0**1000, 1.0), "none\n")):
            self.write("x.npy", npy("<f8", (2,), struct.pack("<2d", *values)))
            with self.subTest(values):
                self.assertIn(f"Loss scale for binary16: {scale}", self.good("report", "x.npy"))

    def test_a_long_name_keeps_its_step_and_its_end(self):
        self.write("x.safetensors", safetensors(("step000120/model.layers.12.self_attn.q_proj/dAct", "F32", [2], f32(1, 2)),
                                                ("model.decoder.layers.12.self_attn.q_proj", "F32", [2], f32(1, 2))))
        text = self.good("report", "x.safetensors")
        self.assertRegex(text, r"\n  step000120/\.\.12\.\.\S*q_proj/dAct +2 ")
        self.assertRegex(text, r"\n  \.\.\.\S*layers\.12\.self_attn\.q_proj +2 ")
        names = re.findall(r"^  (\S*q_proj\S*) +2 ", text, re.MULTILINE)
        self.assertEqual([len(name) for name in names], [29, 29])

    def test_a_long_name_keeps_the_number_of_its_layer(self):
        names = [f"step0/encoder.layers.{i}.self_attention.out_proj.weight" for i in (3, 12)]
        self.write("x.safetensors", safetensors(*((name, "F32", [1], f32(1)) for name in names)))
        text = self.good("report", "x.safetensors")
        self.assertIn("step0/..3..", text)
        self.assertIn("step0/..12..", text)

    def test_a_terminal_gets_colours_unless_NO_COLOR_is_set(self):
        self.assertIn(b"\x1b[3", self.on_terminal())
        self.assertNotIn(b"\x1b[3", self.on_terminal(NO_COLOR="1"))

    def test_json_on_stdout_is_json_alone(self):
        report = self.report("grads.safetensors")
        self.assertEqual(report["schema"], "binade.range_report/3")
        self.assertEqual([t["name"] for t in report["tensors"]], ["w", "b"])
        w = report["tensors"][0]
        self.assertEqual((w["values"], w["zeros"], w["negative"], w["nonzero"]), (4, 1, 1, 3))
        self.assertEqual(w["formats"]["binary16"]["to_zero"],
                         {"count": 1, "of_values": 0.25, "of_nonzero": 1 / 3})
        self.assertEqual(report["tensors"][1]["formats"]["binary16"]["overflow"]["count"], 1)
        self.assertEqual(report["skipped"][0]["reason"], "integer")
        self.assertEqual(report["total"]["values"], 5)

    def test_json_and_page_are_written_whole_and_alone(self):
        text = self.good("report", "grads.safetensors", "--json", "r.json", "-o", "r.html")
        self.assertIn("At scale 1", text)
        self.assertEqual(self.files(), ["grads.safetensors", "r.html", "r.json"])
        self.assertEqual(self.read_json("r.json"), self.report("grads.safetensors"))
        self.assertTrue(self.read("r.html").endswith(b"</html>\n"))

    def test_a_run_of_two_steps_has_a_time_axis_and_reports_of_runs_compare(self):
        def run(small):
            return safetensors(*((f"step{step:03d}/fc1/{role}", "F32", [2], f32(x, 1.0)) for step in (1, 20)
                                 for role, x in (("dW", small), ("weight", 0.5), ("update", 2.0 ** -20))))
        self.write("a.safetensors", run(2.0 ** -26))
        self.write("b.safetensors", run(2.0 ** -20))
        text = self.good("report", "a.safetensors")
        for part in ["Over time   2 steps; 1 layer together", "of all gradients together", "lost in    binary16"]:
            self.assertIn(part, text)
        report = self.report("a.safetensors")
        self.assertEqual((report["schema"], report["time"]["steps"]), ("binade.range_report/3", [1, 20]))
        self.assertEqual(report["time"]["updates"][0]["formats"]["binary16"]["lost"], [1, 1])
        for name in ("a", "b"):
            self.good("report", "-q", f"{name}.safetensors", "--json", f"{name}.json")
        self.assertIn("0 of them differ", self.good("report", "--diff", "a.json", "a.json"))
        different = self.run_binade("report", "--diff", "a.json", "b.json")
        self.assertEqual((different.returncode, different.stderr), (1, b""))
        self.assertIn(b"2 of them differ", different.stdout)

    def test_words_on_a_text_that_is_not_printed_are_refused(self):
        for words, because in ((["-q"], "with --quiet"), (["--json", "-"], "where standard output takes no text")):
            self.assertIn(f"--tensors has no effect {because}: leave it out", self.complaint("report", "x.npy", "--tensors", "3", *words))
        for output in ("--json", "--csv"):
            self.assertIn("--quiet has no effect where standard output", self.complaint("report", "x.npy", "-q", output, "-"))

    def test_quiet_prints_nothing(self):
        self.assertEqual(self.good("report", "-q", "grads.safetensors", "--json", "r.json"), "")
        self.assertIn("r.json", self.files())

    def test_several_files_and_globs_are_one_report_each_file_once(self):
        self.write("a1.npy", npy("<f4", (2,), f32(1, 2)))
        self.write("a2.npy", npy("<f8", (), struct.pack("<d", 1e-300)))
        self.write("notes.txt", b"no tensors here")
        report = self.report("a*.npy", "grads.safetensors", "./a1.npy")
        self.assertEqual(len(report["files"]), 3)
        self.assertEqual([t["name"] for t in report["tensors"]], ["a1", "a2", "w", "b"])
        self.assertEqual(report["total"]["values"], 8)

    def test_every_container_and_type_gives_the_same_figures(self):
        values = [1.0, -0.5, 2.0 ** -14, 0.0, 448.0, 1.75, math.inf, math.nan]
        e4m3 = bytes([0x38, 0xB0, 0x00, 0x00, 0x7E, 0x3E, 0x7F, 0x7F])  # no 2^-14, no Inf there
        e5m2 = bytes([0x3C, 0xB8, 0x04, 0x00, 0x5F, 0x3F, 0x7C, 0x7E])
        bfloat16 = b"".join(f32(value)[2:] for value in values)
        half = struct.pack("<8e", *values)
        self.write("all.safetensors", safetensors(
            ("f64", "F64", [8], struct.pack("<8d", *values)), ("f32", "F32", [8], f32(*values)),
            ("f16", "F16", [8], half), ("bf16", "BF16", [8], bfloat16)))
        self.write("narrow.safetensors", safetensors(("e4m3", "F8_E4M3", [8], e4m3), ("e5m2", "F8_E5M2", [8], e5m2)))
        self.write("big.npy", npy(">f4", (4, 2), struct.pack(">8f", *values)))
        self.write("fortran.npy", npy("<f2", (2, 4), half, fortran=True))
        self.write("stored.npz", npz(zipfile.ZIP_STORED, a=npy("<f8", (8,), struct.pack("<8d", *values))))
        self.write("packed.npz", npz(zipfile.ZIP_DEFLATED, a=npy("<f4", (8,), f32(*values))))
        self.write("raw.npy", npy("|V2", (8,), bfloat16))
        tensors = self.report("all.safetensors", "big.npy", "fortran.npy", "stored.npz", "packed.npz")["tensors"]
        tensors += self.report("raw.npy", "--dtype", "bfloat16")["tensors"]
        self.assertEqual(len(tensors), 9)
        for tensor in tensors:
            self.assertEqual((tensor["values"], tensor["nan"], tensor["inf"], tensor["zeros"]), (8, 1, 1, 1))
            self.assertEqual((tensor["min"], tensor["max"]), (2.0 ** -14, 448.0))
            for key in ["binades", "formats", "loss_scale", "advice"]:
                self.assertEqual(tensor[key], tensors[0][key], tensor["name"])
        narrow = {t["name"]: t for t in self.report("narrow.safetensors")["tensors"]}
        self.assertEqual((narrow["e4m3"]["nan"], narrow["e4m3"]["max"], narrow["e4m3"]["zeros"]), (2, 448.0, 2))
        self.assertEqual((narrow["e5m2"]["nan"], narrow["e5m2"]["inf"], narrow["e5m2"]["max"]), (1, 1, 448.0))

    def test_threads_change_no_byte(self):
        source = random.Random(1)
        floats = array.array("f", (source.gauss(0, 1) * 2.0 ** source.randrange(-40, 10) for _ in range(200000)))
        doubles = array.array("d", (source.gauss(0, 1) * 2.0 ** source.randrange(-400, 300) for _ in range(150000)))
        self.write("t.safetensors", safetensors(
            ("f", "F32", [200000], floats.tobytes()), ("d", "F64", [150000], doubles.tobytes()),
            ("h", "BF16", [400000], floats.tobytes())))
        self.write("odd.npz", npz(zipfile.ZIP_DEFLATED, f=npy("<f4", (200000,), floats.tobytes())))
        texts = {self.good("report", "t.safetensors", "odd.npz", "--json", "-", "--sqnr-scale", "8,-20",
                           BINADE_THREADS=threads)
                 for threads in ["1", "2", "7"]}
        self.assertEqual(len(texts), 1)
        self.assertEqual(read_json(texts.pop())["total"]["values"], 950000)

    def test_all_NaN_empty_and_all_zero_tensors_are_reported_as_such(self):
        self.write("odd.safetensors", safetensors(
            ("nan", "F32", [2], f32(math.nan, math.nan)), ("none", "F32", [0, 3], b""),
            ("zero", "F16", [2], b"\0\0\0\x80")))
        report = self.report("odd.safetensors")
        self.assertEqual([t["status"] for t in report["tensors"]], ["no finite value", "empty", "all zero"])
        text = self.good("report", "odd.safetensors", "-o", "odd.html")
        for part in ["no finite value", "empty", "all zero", "There is no finite non-zero value."]:
            self.assertIn(part, text)

    def test_options_reach_the_report(self):
        report = self.report("grads.safetensors", "--formats", "e4m3,binary16", "--headroom", "3", "--target-loss", "0",
                             "--sqnr-scale", "8", "--prefer", "s_min", "--target-sqnr", "25", "--target-weight-sqnr", "35.5")
        self.assertEqual(report["options"], {"headroom": 3, "target_loss": 0.0, "target_sqnr_db": 25.0,
                                             "target_weight_sqnr_db": 35.5, "prefer": "s_min",
                                             "formats": ["e4m3", "binary16"], "scales_log2": [0, 8]})
        self.assertEqual(list(report["tensors"][0]["formats"]), ["e4m3", "binary16"])
        self.assertEqual(list(report["tensors"][0]["formats"]["e4m3"]["sqnr_db"]), ["0", "8"])

    def test_the_tensor_table_is_cut_and_says_so(self):
        self.write("many.safetensors", safetensors(*((f"layer{i}", "F32", [1], f32(1)) for i in range(30))))
        self.assertIn("10 more; --tensors 0 shows all", self.good("report", "many.safetensors"))
        self.assertIn("layer29", self.good("report", "many.safetensors", "--tensors", "0"))


class Memory(Reports):
    LIMIT_KIB = 300 * 1024  # the largest chunk is 64 MiB

    def peak_kib(self, *arguments):
        process = subprocess.Popen([self.program, *arguments], cwd=self.folder.name, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss

    def test_a_file_of_a_gigabyte_is_read_in_bounded_memory(self):
        head = npy("<f4", (1 << 28,), b"")
        with open(self.write("large.npy", head), "r+b") as file:
            file.truncate(len(head) + (1 << 30))  # a hole: no block on the disk
        self.assertLess(self.peak_kib("report", "large.npy", "-q"), self.LIMIT_KIB)

    def test_a_deflated_array_of_half_a_gigabyte_is_read_in_bounded_memory(self):
        with zipfile.ZipFile(self.path("large.npz"), "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            with archive.open("a.npy", "w", force_zip64=True) as member:
                member.write(npy("<f2", (1 << 28,), b""))
                for _ in range(32):
                    member.write(bytes(1 << 24))
        self.assertLess(os.path.getsize(self.path("large.npz")), 1 << 23)
        self.assertLess(self.peak_kib("report", "large.npz", "-q"), self.LIMIT_KIB)

    def test_a_header_that_promises_the_world_takes_no_memory(self):
        self.write("bomb.npy", npy("<f4", (1 << 50,), b""))
        self.write("bomb.safetensors", struct.pack("<Q", 99 << 20) + b"{")

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        for name in ["bomb.npy", "bomb.safetensors"]:
            result = subprocess.run([self.program, "report", self.path(name)], capture_output=True, check=False, timeout=60,
                                    preexec_fn=limit)
            self.assertEqual(result.returncode, 2)
            self.assertIn(name.encode(), result.stderr)


class OnDevice(Reports):
    def setUp(self):
        super().setUp()
        source = random.Random(6)
        values = array.array("f", (source.uniform(-1, 1) * 2.0 ** source.randint(-40, 18) for _ in range(2100003)))
        self.write("in.safetensors", safetensors(
            ("a.grad", "F32", [len(values)], values.tobytes()), ("b.grad", "F16", [2], b"\x12\x34\x56\x38"),
            ("c.grad", "F32", [3], f32(math.nan, math.inf, -0.3)), ("d.grad", "F64", [1], struct.pack("<d", 1e-300))))

    def test_the_same_bytes(self):
        words = ("report", "in.safetensors", "--sqnr-scale", "8", "--json")
        here = self.good(*words, "here.json", "-o", "here.html")
        there = self.good(*words, "there.json", "-o", "there.html", "--emulated", "sm_90")
        self.assertEqual(there, here + "counted on emulated sm_90: 2 of 4 tensors, those of F32\n")
        for kind in ("json", "html"):
            self.assertEqual(self.read("there." + kind), self.read("here." + kind))
        self.assertEqual(self.good(*words, "-", "--device", "--emulated", "sm_80"), self.read("here.json").decode())

    def test_without_a_gpu_nothing_is_written(self):
        self.no_gpu("report", "in.safetensors", "-o", "new/report.html")
        result = self.run_binade("report", "in.safetensors", "--json", "-", "--device", CUDA_VISIBLE_DEVICES="")
        self.assertEqual((result.returncode, read_json(result.stdout)["device"]), (77, None))

    def test_a_file_of_which_nothing_goes_there_is_refused(self):
        self.write("half.npy", npy("<f2", (1,), bytes(2)))
        self.assertRegex(self.complaint("report", "half.npy", "--emulated", "sm_90", "-o", "x.html"),
                         "no tensor is F32.*leave --device and --emulated out")


class Diff(Reports):
    def setUp(self):
        super().setUp()
        for name, value in {"a": 1.0, "b": 2.0 ** -30}.items():
            self.write(name + ".safetensors", safetensors(("w", "F32", [2], f32(1.0, value))))
            self.good("report", name + ".safetensors", "-q", "--json", name + ".json")

    def test_equal_reports_give_0_different_ones_1(self):
        self.assertIn("0 of them differ", self.good("report", "--diff", "a.json", "a.json"))
        result = self.run_binade("report", "--diff", "a.json", "b.json")
        self.assertEqual((result.returncode, result.stderr), (1, b""))
        self.assertIn("1 of them differ", result.stdout.decode())
        self.assertIn("  w\n", result.stdout.decode())

    def test_the_interval_of_gradients_is_called_so(self):
        self.write("g.safetensors", safetensors(("a.grad", "F32", [1], f32(1)), ("a.weight", "F32", [1], f32(2))))
        self.good("report", "g.safetensors", "-q", "--json", "g.json")
        self.assertIn("loss scales that serve all gradients ", self.good("report", "--diff", "g.json", "g.json"))
        self.assertIn("loss scales that serve every tensor ", self.good("report", "--diff", "a.json", "a.json"))

    def test_what_a_comparison_does_not_do_is_refused(self):
        for words in (("--json", "x.json"), ("-o", "x.html"), ("-q",), ("--tensors", "3"), ("--role", "grad=x"),
                      ("--device",), ("--emulated", "sm_90")):
            line = self.complaint("report", "--diff", "a.json", "b.json", *words)
            self.assertIn("excludes", line)

    def test_what_is_no_report_gives_2(self):
        self.write("cut.json", b'{"schema": "binade.range_report/3", "total": ')
        for wrong in ["cut.json", "absent.json", "a.safetensors"]:
            self.assertIn(wrong, self.complaint("report", "--diff", "a.json", wrong))
            self.assertIn(wrong, self.complaint("report", "--diff", wrong, "a.json"))
        self.complaint("report", "--diff", "a.json", "b.json", "a.json")


if __name__ == "__main__":
    main()
