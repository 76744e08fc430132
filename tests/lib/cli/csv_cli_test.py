# SPDX-License-Identifier: Apache-2.0
#
# binade report --csv as a spreadsheet reads it: RFC 4180, a row for each tensor, the same figures as the JSON. Run as
# csv_cli_test.py PATH_TO_BINADE; needs Python only.

import contextlib
import csv
import io
import os
import pty
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main, read_json
from made_files import f32, safetensors


class Csv(CliCase):
    def setUp(self):
        super().setUp()
        self.write("grads.safetensors", safetensors(
            ("step3/fc1/dW", "F32", [2, 2], f32(1.0, 2.0 ** -26, 0.0, -2.0)), ('a, "b"\n', "F32", [1], f32(65520.0)),
            ("nothing.grad", "F32", [0], b""), ("scalar", "F32", [], f32(2.0 ** -30)),
            ("ids", "I32", [1], struct.pack("<i", 5))))

    def rows(self, *arguments):
        text = self.run_binade("report", "grads.safetensors", "--csv", "-", *arguments).stdout
        return text, list(csv.reader(io.StringIO(text.decode(), newline=""), strict=True))

    def test_every_row_is_a_tensor_of_the_json(self):
        text, (head, *rows) = self.rows("--sqnr-scale", "8", "--formats", "binary16,e4m3")
        report = read_json(self.good("report", "grads.safetensors", "--json", "-", "--sqnr-scale", "8",
                                      "--formats", "binary16,e4m3"), parse_float=str)
        self.assertEqual(text.count(b"\r\n"), 1 + len(report["tensors"]))
        self.assertIn(b'"a, ""b""\n",', text)
        paths = {"name": ["name"], "step": ["time", "step"], "layer": ["time", "layer"], "role": ["role"],
                 "values_count": ["values"], "zeros_count": ["zeros"], "min_magnitude": ["min"],
                 "loss_scale_recommended_log2": ["loss_scale", "recommended_log2"],
                 "loss_scale_lost_l2_share": ["loss_scale", "lost_l2_at_recommended"]}
        units = {"headroom": "_binades"}  # of other figures by their values
        for name in ("binary16", "e4m3"):
            for key, value in report["tensors"][0]["formats"][name].items():
                at = ["formats", name, key]
                if key in ("squared_error", "rne_zero"):  # exact sums, and what to_zero has
                    continue
                if key.endswith("_db"):
                    paths[f"{name}_{key}"] = [*at, "0"]
                    paths[f"{name}_{key.removesuffix('_db')}_at_scale_log2_8_db"] = [*at, "8"]
                elif isinstance(value, dict):
                    paths |= {f"{name}_{key}_{column}": [*at, part] for column, part in (
                        ("count", "count"), ("share_of_values", "of_values"), ("share_of_nonzero", "of_nonzero"))}
                else:
                    paths[f"{name}_{key}{units.get(key, '_share')}"] = at
        self.assertEqual([name for name in head if name.startswith(("binary16_", "e4m3_")) and name not in paths], [])
        self.assertEqual(len(head), len(set(head)))
        for row, tensor in zip(rows, report["tensors"], strict=True):
            self.assertEqual(len(row), len(head))
            fields = dict(zip(head, row, strict=True))
            for column, keys in paths.items():
                value = tensor
                for key in keys:
                    value = (value or {}).get(key)
                self.assertEqual(fields[column], "" if value is None else str(value), (column, tensor["name"]))
        self.assertEqual([row[head.index("shape")] for row in rows], ["2x2", "1", "0", ""])
        self.assertFalse([name for name in head if name.startswith("e5m2")])

    def test_a_name_is_never_a_formula(self):
        formulas = ["=1+1", "+a", "-a", "@a", "\ta", "\ra", "\n=a", "\0=a", " =a", "\u00a0@a", "\uff1da", "\uff0ba", "\uff0da", "\uff20a"]
        names = [*formulas, "a=b", "'=a", "x;=a"]
        self.write("grads.safetensors", safetensors(*((name, "F32", [1], f32(-1.0)) for name in names)))
        text, (head, *rows) = self.rows()
        self.assertEqual([row[head.index("name")] for row in rows], ["'" + name for name in formulas] + names[len(formulas):])
        self.assertIn(b'"x;=a",', text)  # so that no semicolon begins a cell

    def test_a_terminal_gets_no_control_characters_and_a_file_the_exact_names(self):
        name = "x\x1b[31m\u202e\ny.grad"
        self.write("grads.safetensors", safetensors((name, "F32", [1], f32(1.0))))
        text, (_, row) = self.rows()
        self.assertEqual(row[0], name)
        for out, quiet in (("-", ()), ("/dev/stdout", ("-q",)), ("/dev/tty", ("-q",))):
            process, terminal = pty.fork()
            if process == 0:
                os.execv(self.program, [self.program, "report", self.path("grads.safetensors"), "--csv", out, *quiet])
            shown = b""
            with contextlib.suppress(OSError):  # the end of a terminal
                while piece := os.read(terminal, 65536):
                    shown += piece
            os.close(terminal)
            self.assertEqual(os.waitpid(process, 0)[1], 0)
            self.assertIn(rb"x\x1b[31m\xe2\x80\xae\x0ay.grad,", shown)
            self.assertNotIn(b"\x1b", shown)

    def test_files_and_standard_output(self):
        text, _ = self.rows()
        shown = self.good("report", "grads.safetensors", "--csv", "r.csv")
        self.assertIn("at scale 1", shown)
        self.assertEqual(self.read("r.csv"), text)
        self.complaints({
            ("--csv", "-", "--json", "-"): "standard output takes one",
            ("--csv", "grads.safetensors"): "--csv",
            ("--csv", "x", "--html", "x"): "--csv",
        }, "report", "grads.safetensors")
        self.complaint("report", "--diff", "a.json", "b.json", "--csv", "x.csv")


if __name__ == "__main__":
    main()
