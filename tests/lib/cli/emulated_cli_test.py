# SPDX-License-Identifier: Apache-2.0
#
# The commands that want a GPU, on the emulator in its place (--emulated): what they print and write, that a
# recording replays, and what they say without a GPU. Run as emulated_cli_test.py PATH_TO_BINADE.

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import environment, read_json
from made_files import parts_of_safetensors

BINADE = "binade"


def binade(*arguments):
    return subprocess.run([BINADE, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          env=environment())


class Emulated(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def good(self, *arguments):
        done = binade(*arguments, "--emulated", "sm_90")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def complaint(self, *arguments, status=2):
        done = binade(*arguments)
        self.assertEqual(done.returncode, status)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("binade: "), done.stderr)
        return done.stderr


class UndecidedRows(Emulated):
    """record --dots open, rehearsed on an emulator that follows either rule."""

    NAME = "mma.m16n8k16.f32.bf16.bf16.f32"

    def record(self, *rules):
        done = binade("record", "--dots", "open", "--emulated", "sm_80", "--only", self.NAME, "--out", self.folder, *rules)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, rf"{self.NAME} +\d+ rows\n")
        rows = int(re.search(r"(\d+) rows", done.stdout)[1])
        self.assertLessEqual(rows, 64)
        return rows

    def replay(self, *words, status=0):
        done = binade("validate", "--replay", self.folder, "--show", "0", *words)
        self.assertEqual((done.returncode, done.stderr), (status, ""))
        return done.stdout

    def test_as_binade(self):
        rows = self.record()
        out = self.replay()
        self.assertRegex(out, rf"  of these {rows} rows \d+ touch .*, \d+ signs of zero \(open\)")
        self.assertEqual(out.splitlines()[-1], f"sets 1, rows {rows}, equal {rows}, different 0")
        in_full = self.replay("--evidence")
        self.assertNotIn("as the rival", in_full)
        self.assertRegex(in_full, r"cut_to_zero negative +[1-9]\d* +[1-9]\d* +0  as binade\n")

    def test_as_the_rival(self):
        for rules, name in ((("--cut-to-zero", "negative"), "cut_to_zero negative"),
                            (("--zero-raises", "single"), "zero_raises single"),
                            (("--floor", "-126"), "floor -126"), (("--floor", "none"), "no floor")):
            with self.subTest(rules):
                rows = self.record(*rules)
                self.assertRegex(self.replay(status=1).splitlines()[-1], rf"^sets 1, rows {rows}, equal \d+, different [1-9]")
                self.assertEqual(self.replay(*rules).splitlines()[-1],
                                 f"sets 1, rows {rows}, equal {rows}, different 0 with {' '.join(rules)}")
                in_full = self.replay("--evidence", status=1)
                self.assertRegex(in_full, rf"{name} +([1-9]\d*) +0 +\1  as the rival\n")
                self.assertRegex(in_full, rf"\n  every row is as under (.*, or )?{name}(, or .*)?\n")
                path = next((self.folder / "dots").iterdir())
                found = read_json(self.replay("--evidence", "--json", status=1))["compared"][0]["aspects"]
                rival, = [x for aspect in found for x in aspect["rivals"] if x["rival"] == name]
                self.assertEqual((rival["ours"], rival["theirs"]), (0, rival["tell"]))
                done = binade("explain", "dots", "--recording", path, "--row", "0", *rules)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("hardware", done.stdout)

    def test_resuming_compares_the_rows(self):
        self.record()
        path, = (self.folder / "dots").iterdir()
        whole = path.read_bytes()
        words = ("record", "--dots", "open", "--emulated", "sm_80", "--only", self.NAME, "--out", self.folder, "--resume")
        self.assertRegex(self.complaint(*words, "--seed", "2"), r"a recording whose input_hash is [0-9a-f]{16}, not [0-9a-f]{16};")
        self.assertIn("; 1 there already", binade(*words).stdout)
        self.assertEqual(path.read_bytes(), whole)

    def test_what_rows_saw_is_not_written_where_it_would_lie_or_destroy(self):
        self.record("--cut-to-zero", "negative")
        out = self.folder / "seen.tsv"
        words = ("validate", "--replay", self.folder / "dots", "--seen")
        self.assertIn("rows are not what the emulator gives", self.complaint(*words, out))
        self.assertFalse(out.exists())
        path = next((self.folder / "dots").iterdir())
        before = path.read_bytes()
        self.assertIn("which is read; choose another --seen", self.complaint(*words, path))
        self.assertEqual(path.read_bytes(), before)
        self.assertIn("leave --zero-raises", self.complaint(*words, out, "--floor", "none"))

    def test_a_device_that_follows_a_rival_differs(self):
        words = ("validate", "--device", "--emulated", "sm_80", "--rows", "64", "--generator", "tiny", "--show", "0")
        done = binade(*words, "--cut-to-zero", "negative")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertRegex(done.stdout.splitlines()[-1], r"different [1-9]\d* with --cut-to-zero negative$")
        self.assertEqual(binade(*words).returncode, 0)

    def test_where_nothing_is_open(self):
        self.assertIn("has 'no_such' in its name", self.complaint(
            "record", "--dots", "open", "--emulated", "sm_90", "--only", "no_such", "--out", self.folder))
        done = binade("record", "--dots", "open", "--emulated", "sm_90", "--only", "mma.m16n8k64.s32.s4.s4",
                      "--out", self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("emulated sm_90: nothing is open", done.stdout)

    def test_what_cannot_be_chosen(self):
        emulated = ("record", "--emulated", "sm_80", "--out", self.folder)
        self.assertIn("--dots some is neither all", self.complaint(*emulated, "--dots", "some"))
        self.assertIn("--zero-raises x is not one of never, single, emin", self.complaint(*emulated, "--zero-raises", "x"))
        self.assertIn("--floor 1e9 is neither", self.complaint(*emulated, "--floor", "1e9"))
        self.assertIn("a GPU follows its own rules", self.complaint("record", "--out", self.folder, "--floor", "none"))
        self.assertIn("a GPU follows its own rules", self.complaint("validate", "--device", "--floor", "none"))
        self.assertIn("is no fused sum", self.complaint(
            "explain", "dots", "--arch", "sm_80", "--instruction", "mma.m8n8k4.f64.f64.f64.f64", "--terms", "1*1",
            "--floor", "none"))


class Device(Emulated):
    def test_scalar_instructions_are_equal_and_what_is_recorded_replays(self):
        words = ("--instruction", "fma.rn", "--instruction", "cvt.rn.f16", "--cases", "2000")
        out = self.good("device", "--check", *words)
        self.assertRegex(out, r"cvt.rn.f16.f32 +2000 seeded +0 +0 +-\n")
        self.assertRegex(out, r"fma.rn.f32x2 +skipped: needs sm_100\n")
        self.assertGreater(int(self.last_counts(out)[1]), 0)

    def test_scalar_recordings_replay(self):
        arguments = ("record", "--scalar", "--out", self.folder, "--only", "fma.rn", "--cases", "2000", "--samples", "64")
        out = self.good(*arguments)
        self.assertRegex(out, r"fma.rn.f32 +2000 cases, 0 mismatches, 0 NaNs in other bits\n")
        self.assertRegex(out, r"fma.rn.f32x2 +skipped: needs sm_100\n")
        equal = len(list((self.folder / "scalar").iterdir()))
        self.assertGreater(equal, 10)
        self.assertFalse((self.folder / "dots").exists())
        header, _ = parts_of_safetensors((self.folder / "scalar/fma.rn.f32.safetensors").read_bytes())
        self.assertRegex(header["__metadata__"]["date"], r"^\d{4}-\d\d-\d\d$")
        again = self.good(*arguments, "--resume")
        self.assertRegex(again, rf": 0 instructions, 0 results, 0.0 MB in .*; {equal} there already; \d+ skipped\n")
        replayed = binade("validate", "--replay", self.folder)
        self.assertEqual(replayed.returncode, 0, replayed.stderr)
        self.assertTrue(replayed.stdout.endswith(f"sets {equal}, rows {64 * equal}, equal {64 * equal}, different 0\n"))

    def last_counts(self, out):
        found = [line for line in out.splitlines() if line.startswith("instructions ")]
        self.assertEqual(len(found), 1, out)
        self.assertRegex(found[0], r"^instructions \d+: equal \d+, different 0, recorded only 0, skipped \d+$")
        words = found[0].replace(",", "").split()
        return words[3], words[-1]

    def test_json(self):
        out = read_json(self.good("device", "--check", "--instruction", "cvt.f32.f16", "--json"))
        self.assertEqual(out["device"]["name"], "emulated sm_90")
        row = out["instructions"][0]
        self.assertEqual((row["instruction"], row["status"], row["cases"], row["exhaustive"]),
                         ("cvt.f32.f16", "equal", 65536, True))

    def test_comparing_nothing_is_no_success(self):
        self.assertIn("nothing was compared: fma.rn.f32x2 needs sm_100", self.complaint(
            "device", "--check", "--instruction", "fma.rn.f32x2", "--emulated", "sm_90", status=77))


class Record(Emulated):
    def test_what_is_recorded_replays(self):
        out = self.good("record", "--out", self.folder / "new" / "sm_90", "--only", "m16n8k8.f32")
        names = sorted(path.name for path in (self.folder / "new/sm_90/dots").iterdir())
        self.assertEqual(names, [f"{name}.safetensors" for name in
                                 ("mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k8.f32.f16.f16.f32",
                                  "mma.m16n8k8.f32.tf32.tf32.f32", "mma.sp.m16n8k8.f32.tf32.tf32.f32")])
        self.assertRegex(out, r"mma.m16n8k8.f32.f16.f16.f32 +\d+ rows\n")
        self.assertRegex(out, r"emulated sm_90: 4 instructions, \d+ results, \d+\.\d MB in .*sm_90\n$")
        replayed = binade("validate", "--replay", self.folder / "new")
        self.assertEqual(replayed.returncode, 0, replayed.stderr)
        self.assertRegex(replayed.stdout, r"\nsets 4, rows (\d+), equal \1, different 0\n$")

    def record(self, *words, status=0):
        done = binade("record", "--out", self.folder, "--emulated", "sm_90", *words)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def check_resuming(self, file, words, others):
        """What `file` is after the command was run with `words`, and then with --resume over damaged and other files."""
        self.record(*words)
        whole = file.read_bytes()
        for damaged in (whole[:len(whole) // 2], whole[:-1], b""):
            file.write_bytes(damaged)
            done = self.record(*words, "--resume")
            self.assertRegex(done.stderr, rf"^binade: not whole, so it is recorded anew: {re.escape(str(file))}: .*\n$")
            self.assertEqual(file.read_bytes(), whole)
        kept = file.stat().st_mtime_ns
        self.assertRegex(self.record(*words, "--resume").stdout, r": 0 instructions, .*; \d+ there already")
        for other, message in others:
            done = self.record(*words, *other, "--resume", status=2)
            self.assertEqual(done.stderr, f"binade: {file}: a recording whose {message}; "
                             "choose another --out, or leave out --resume to record everything anew\n")
        self.assertEqual((file.read_bytes(), file.stat().st_mtime_ns), (whole, kept))

    def test_resuming_keeps_whole_recordings_of_this_run_alone(self):
        name = "mma.sp.m16n8k8.f32.tf32.tf32.f32"
        self.check_resuming(self.folder / f"dots/{name}.safetensors", ("--only", name), (
            (("--seed", "2"), "seed is 1, not 2"),
            (("--floor", "none"), "gpu is emulated sm_90, not emulated sm_90 with --floor none")))
        self.record("--only", "m16n8k8.f32.tf32.tf32", "--seed", "2", "--resume", status=2)  # it is the last of them
        self.assertEqual([path.name for path in (self.folder / "dots").iterdir()], [f"{name}.safetensors"])

    def test_resuming_keeps_whole_scalar_recordings_of_this_run_alone(self):
        name = "cvt.rn.f16x2.e4m3x2"
        words = ("--scalar", "--only", name, "--cases", "2000")
        self.check_resuming(self.folder / f"scalar/{name}.safetensors", words, (
            (("--seed", "2"), "seed is 1, not 2"), (("--samples", "65"), "samples is 1536, not 65")))

    def test_the_same_seed_gives_the_same_bytes(self):
        for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
            self.good("record", "--out", self.folder / folder, "--only", "mma.m16n8k4.f32.tf32", "--seed", seed)
        a, b, c = (next((self.folder / x / "dots").iterdir()).read_bytes() for x in "abc")
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)

    def test_words_that_no_instruction_has(self):
        self.assertIn("no instruction of emulated sm_90 has 'hmma' in its name",
                      self.complaint("record", "--out", self.folder, "--only", "hmma", "--emulated", "sm_90"))

    def test_a_folder_that_cannot_be(self):
        (self.folder / "file").write_text("")
        self.assertIn("file: cannot be made: ", self.complaint("record", "--out", self.folder / "file", "--emulated", "sm_90"))
        self.assertIn("--out", self.complaint("record"))

    def test_an_architecture_that_is_not_known(self):
        self.assertIn("no architecture 'sm_91'", self.complaint("record", "--out", self.folder, "--emulated", "sm_91"))


class Crossed(Emulated):
    def test_text_and_json_agree(self):
        arguments = ("validate", "crossed", "--only", "wgmma.m64n256k16", "--dots", 5000)
        text = self.good(*arguments)
        self.assertRegex(text, r"wgmma.m64n256k16.f32.bf16.bf16 +dots +\d+, different 0\n")
        out = read_json(self.good(*arguments, "--json"))
        self.assertEqual(out["schema"], "binade.validate_crossed/1")
        self.assertEqual(out["different"], 0)
        self.assertEqual(out["dots"], sum(x["dots"] for x in out["instructions"]))
        self.assertGreaterEqual(out["dots"], 5000)
        self.assertTrue(text.endswith(f"emulated sm_90: dots {out['dots']}, different 0\n"))

    def test_no_dots(self):
        self.complaint("validate", "crossed", "--dots", "0")


class Validate(Emulated):
    def test_every_instruction_on_every_generator(self):
        out = read_json(self.good("validate", "--device", "--rows", "3", "--json"))
        self.assertEqual(out["device"], "emulated sm_90")
        self.assertEqual((out["different"], out["equal"]), (0, out["rows"]))
        self.assertGreater(len({x["instruction"] for x in out["compared"]}), 90)


class WithoutGpu(Emulated):
    def test_all_say_why_and_give_77(self):
        if binade("device").returncode != 77:
            self.skipTest("there is a GPU")
        for arguments in (("record", "--out", self.folder / "x"), ("validate", "crossed"), ("validate", "--device")):
            done = binade(*arguments)
            self.assertEqual((done.returncode, done.stderr), (77, ""))
            self.assertTrue(done.stdout.startswith("no GPU: "), done.stdout)
        self.assertFalse((self.folder / "x").exists())


if __name__ == "__main__":
    BINADE = os.path.abspath(sys.argv.pop(1))
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
