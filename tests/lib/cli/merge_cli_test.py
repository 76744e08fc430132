# SPDX-License-Identifier: Apache-2.0
#
# binade report --part and binade merge: the bytes of one process, whatever the number of parts; what does not belong
# together is refused in one line. Run as merge_cli_test.py PATH_TO_BINADE GRADIENTS; needs Python with numpy.

import os
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "report"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "report", "page"))
from cli_case import CliCase, main
from made_files import f32, fnv1a, safetensors
from made_run import write_run
from page_data import unpacked

OUTPUTS = ("--json", "out.json", "--csv", "out.csv", "-o", "out.html")


def with_checksum(data):
    """A part whose last eight bytes are what the bytes before ask for."""
    return data[:-8] + struct.pack("<Q", fnv1a(data[:-8]))


class Merge(CliCase):
    gradients = ""

    def small(self):
        """A weight and its update in each of three steps, gradients, and what a report skips; 21 tensors."""
        for step in range(3):
            self.write(f"s{step}.safetensors", safetensors(
                *((f"step{step}/fc{i}/{role}", "F32", [2], f32(2.0 ** (-20 - i), 1.0 + step))
                  for i in range(2) for role in ("weight", "dW", "update")),
                ("x", "BF16", [1], b"\x80\x3f"), ("ids", "I32", [1], b"\0" * 4)))
        return "s0.safetensors", "s1.safetensors", "s2.safetensors"

    def parts(self, inputs, n, *options):
        for i in range(1, n + 1):
            self.assertEqual(self.good("report", *inputs, "--part", f"{i}/{n}", "-o", f"part{i}.bin", *options), "")
        return [f"part{i}.bin" for i in range(1, n + 1)]

    def all_outputs(self, *words):
        text = self.good(*words, *OUTPUTS)
        return text, *(self.read(name) for name in ("out.json", "out.csv", "out.html"))

    def assert_merges(self, inputs, options=(), counts=(1, 2, 3, 7)):
        whole = self.all_outputs("report", *inputs, *options)
        for n in counts:
            parts = self.parts(inputs, n, *options)
            self.assertEqual(self.all_outputs("merge", *reversed(parts)), whole, f"{n} parts of {inputs}")

    def refused(self, words, *arguments):
        complaint = self.complaint("merge", *arguments)
        self.assertIn(words, complaint)
        return complaint

    def test_parts_of_gradients_without_steps_make_the_bytes_of_one_process(self):
        self.assert_merges([self.gradients])

    def test_parts_of_a_run_make_the_bytes_of_one_process(self):
        run = write_run(self.path("run"), layers=5, steps=4, roles=("dAct", "dW", "weight", "update"), values=(3, 90))
        self.assert_merges([str(path) for path in run])

    def test_options_belong_to_the_parts(self):
        self.assert_merges(self.small(), ["--formats", "e5m2,bfloat16", "--sqnr-scale=-3", "--role", "other=^x",
                                          "--headroom", "2", "--target-loss", "0.01", "--prefer", "s_min"], [3])

    def test_more_parts_than_tensors_are_parts_too(self):
        self.write("one.safetensors", safetensors(("a.grad", "F32", [2], f32(1, 2))))
        self.assert_merges(["one.safetensors"], counts=[5])

    def test_the_text_can_be_asked_for_alone(self):
        parts = self.parts(self.small(), 2)
        whole = self.good("report", *self.small(), "--tensors", "3")
        self.assertEqual(self.good("merge", *parts, "--tensors", "3"), whole)
        self.assertEqual(self.good("merge", "part*.bin", "-q"), "")

    def test_a_part_reads_its_share_alone(self):
        inputs = self.small()
        first = self.parts(inputs, 3)[0]
        kept = self.read(first)
        for step in (1, 2):  # the same directory over other elements, which the first part has nothing of
            data, at = self.read(f"s{step}.safetensors"), os.stat(self.path(f"s{step}.safetensors")).st_mtime_ns
            self.write(f"s{step}.safetensors", data[:-60] + bytes(60))
            os.utime(self.path(f"s{step}.safetensors"), ns=(at, at))
        self.good("report", *inputs, "--part", "1/3", "-o", "again.bin")
        self.assertEqual(self.read("again.bin"), kept)

    def test_a_missing_part_is_told_and_may_be_done_without(self):
        parts = self.parts(self.small(), 8)
        self.refused("3 of 8 parts are missing: 1, 2, 5; name them too", *(parts[i] for i in (2, 3, 5, 6, 7)))
        text, json, _, page = self.all_outputs("merge", "--partial", *(parts[i] for i in (2, 3, 5, 6, 7)))
        line, _ = unpacked(page.decode())
        for told in (json.decode(), line["hint"]):
            self.assertIn("3 of 8 parts are missing: 1, 2, 5.", told)
        self.assertIn("3 of 8 parts are missing: 1, 2, 5: this is not the whole of it", text.partition("Magnitudes")[0])
        self.assertEqual(self.all_outputs("merge", "--partial", *parts), self.all_outputs("merge", *parts))

    def test_parts_of_a_file_that_was_written_to_between_them_are_refused(self):
        files = self.small()
        parts = self.parts(files, 2)
        at = os.stat(self.path(files[1])).st_mtime_ns
        os.utime(self.path(files[1]), ns=(at, at + 1000))
        self.good("report", *files, "--part", "2/2", "-o", parts[1])
        self.refused("other inputs, or of inputs that were written to meanwhile, than", *parts)

    def test_a_part_that_is_there_twice_names_both_files(self):
        parts = self.parts(self.small(), 2)
        shutil.copy(self.path("part1.bin"), self.path("copy.bin"))
        complaint = self.refused("part 1 of 2", *parts, "copy.bin")
        self.assertIn("copy.bin", complaint)
        self.assertIn("part1.bin", complaint)

    def test_parts_of_different_reports_say_what_differs(self):
        inputs = self.small()
        parts = self.parts(inputs, 2)
        for words, arguments in (("of other options than part1.bin", [*inputs, "--headroom", "3", "--part", "2/2"]),
                                 ("of other inputs, or of inputs that were written to meanwhile, than part1.bin", [*inputs[:2], "--part", "2/2"]),
                                 ("of another number of parts than part1.bin", [*inputs, "--part", "2/3"])):
            self.good("report", *arguments, "-o", "t.bin")
            self.refused(words, parts[0], "t.bin")
        data = self.read("part2.bin")
        length = struct.unpack("<Q", data[16:24])[0]
        self.write("t.bin", with_checksum(data[:24] + b"9" * length + data[24 + length:]))
        self.refused("made by binade 9", "t.bin")
        self.write("t.bin", data.replace(b"binade.part/1", b"binade.part/2"))
        self.refused("another version of binade", "t.bin")

    def test_what_is_no_part_is_refused(self):
        self.parts(self.small(), 1)
        self.refused("no part of a report", "part1.bin", "s0.safetensors")
        self.refused("no part of a report", self.write("empty.bin", b""))
        self.refused("damaged or cut off", self.write("head.bin", b"binade.part/1\n\0\0"))

    def test_a_part_that_is_cut_off_or_changed_anywhere_is_refused(self):
        self.write("one.safetensors", safetensors(*((f"step{i}/a/{role}", "F32", [1], f32(2.0 ** -i))
                                                    for i in range(2) for role in ("weight", "update"))))
        self.parts(["one.safetensors"], 1)
        good = self.read("part1.bin")
        refused = 0
        for at in range(0, len(good), 131):
            for bad in (good[:at], good[:at] + bytes([good[at] ^ 64]) + good[at + 1:]):
                result = self.run_binade("merge", self.write("t.bin", bad), "-q")
                self.assertEqual(result.returncode, 2, at)
                self.assertRegex(result.stderr.decode(), r"\Abinade: [^\n]+\n\Z")
                refused += 1
        self.assertGreater(refused, 20)
        self.refused("damaged", self.write("t.bin", good + b"\0"))

    def test_hostile_numbers_behind_a_right_checksum_are_refused(self):
        self.write("one.safetensors", safetensors(*((f"step{i}/a/{role}", "F32", [1], f32(2.0 ** -i))
                                                    for i in range(2) for role in ("weight", "update"))))
        self.parts(["one.safetensors"], 1)
        good = self.read("part1.bin")
        refused = accepted = 0
        for at in range(16, len(good) - 8, 89):
            for bits in (b"\xff" * 8, struct.pack("<Q", 2 ** 63), bytes(8)):
                bad = with_checksum(good[:at] + bits + good[at + 8:])
                result = self.run_binade("merge", self.write("t.bin", bad[:len(good)]), "-q")
                self.assertIn(result.returncode, (0, 2), (at, bits))  # zeros may be what stood there
                if result.returncode == 2:
                    self.assertRegex(result.stderr.decode(), r"\Abinade: [^\n]+\n\Z")
                refused += result.returncode == 2
                accepted += result.returncode == 0 and bad != good
        self.assertGreater(refused, 40)
        self.assertLess(accepted, refused)

    def test_announcing_more_tensors_than_the_inputs_have_is_refused(self):
        self.write("one.safetensors", safetensors(("a.grad", "F32", [1], f32(1))))
        self.parts(["one.safetensors"], 1)
        good = self.read("part1.bin")
        head = good.rindex(struct.pack("<QQQQ", 1, 1, 1, 0))  # part 1 of 1, one tensor, number 0
        for tensors in (0, 2, 2 ** 64 - 1):
            bad = good[:head + 16] + struct.pack("<Q", tensors) + good[head + 24:]
            self.refused("announces more or fewer than its share", self.write("t.bin", with_checksum(bad)))

    def test_words_of_part_are_held_to_what_they_can_be(self):
        self.small()
        for part in ("0/2", "3/2", "1", "1/", "/2", "a/b", "1/0", "1/65537", "-1/2", "1/2/3"):
            self.assertIn("give which part of how many",
                          self.complaint("report", "s0.safetensors", "--part=" + part, "-o", "p.bin"))
        self.assertIn("name the part's file with -o", self.complaint("report", "s0.safetensors", "--part", "1/2"))
        for other in ("--json", "--csv", "--tensors"):
            self.assertIn("excludes", self.complaint("report", "s0.safetensors", "--part", "1/2", "-o", "p.bin", other, "1"))
        self.complaint("report", "s0.safetensors", "--part", "1/2", "-o", "s0.safetensors")


if __name__ == "__main__":
    Merge.gradients = os.path.abspath(sys.argv.pop(2))
    main()
