# SPDX-License-Identifier: Apache-2.0
#
# `binade identify` as a user meets it: D made by `binade gemm`, with its options hidden; dots, several runs, proposed
# inputs, JSON, exit statuses and errors of one line. Run as identify_cli_test.py PATH_TO_BINADE; needs Python
# only.

import os
import random
import struct
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from arrays_case import HOPPER, ArraysCase
from cli_case import main, read_json
from made_files import npy


class Identify(ArraysCase):
    def setUp(self):
        super().setUp()
        self.random = random.Random(1)
        self.normal("a", "<f2", 8, 128)
        self.normal("b", "<f2", 128, 8)

    def normal(self, name, dtype, *shape):
        count = 1
        for n in shape:
            count *= n
        return self.write(name, npy(dtype, shape, [self.random.gauss(0, 1) for _ in range(count)]))

    def smaller(self, side=8, k=64):
        self.normal("a", "<f2", side, k)
        self.normal("b", "<f2", k, side)

    def gemm(self, out, *options, a="a", b="b", c=None):
        self.good("gemm", self.path(a), self.path(b), *([self.path(c)] if c else []), "-o", self.path(out), *options)

    def files(self, **files):
        words = ["identify"]
        for name, path in files.items():
            words += ["--" + name, self.path(path)]
        return words

    def identify(self, *options, status=0, **files):
        return self.good(*self.files(**(files or {"a": "a", "b": "b", "d": "d"})), *options, status=status)

    def found(self, *options, status=0, **files):
        return read_json(self.identify("--json", *options, status=status, **files))

    def flip(self, name):
        with open(self.path(name), "r+b") as file:
            file.seek(-1, os.SEEK_END)
            byte = file.read(1)[0]
            file.seek(-1, os.SEEK_END)
            file.write(bytes([byte ^ 0x40]))


class Models(Identify):
    def test_a_plain_product_is_unique(self):
        self.gemm("d", *HOPPER)
        out = self.found()
        self.assertEqual((out["schema"], out["conclusion"], out["elements"]), ("binade.identify/1", "unique", 64))
        self.assertEqual(out["types"], {"a": "f16", "b": "f16", "c": "f32", "d": "f32"})
        model = out["explain"][0]
        self.assertEqual((model["options"], model["compared"], model["any_nan"]), ("", 64, False))
        names = [(row["instruction"], row["evidence"], row["architectures"]) for row in model["instructions"]]
        for evidence, architecture in (("hardware", "sm_90"), ("hardware", "sm_100"), ("open", "sm_103"), ("paper", "sm_120")):
            rows = [row for row in names if row[0] == "mma.m16n8k16.f32.f16.f16.f32" and architecture in row[2]]
            self.assertEqual([row[1] for row in rows], [evidence], architecture)
        self.assertIn("wgmma.m64n256k16.f32.f16.f16", [name[0] for name in names])
        self.assertGreater(out["models"], 1000)

    def test_orders_and_epilogues_are_found(self):
        self.smaller(8, 96)
        self.normal("c", "<f4", 8, 8)
        for options, with_c in ((("--promote-every", "4"), False), (("--split", "4"), False),
                                (("--split", "2:16:descending"), False), (("--k-order", "descending"), False),
                                (("--split", "2", "--split", "2:16"), False), (("--c-first",), True),
                                (("--alpha", "0.7", "--beta", "-1.3"), True),
                                (("--alpha", "0.7", "--beta", "-1.3", "--fused", "beta"), True)):
            self.gemm("d", *HOPPER, *options, c="c" if with_c else None)
            scalars = options[:4] if "--alpha" in options else ()
            files = {"a": "a", "b": "b", "d": "d", **({"c": "c"} if with_c else {})}
            out = self.found("--arch", "sm_90", "--show", "100", *scalars, **files)
            commands = [row["command"] for row in out["explain"]] + [x for row in out["explain"] for x in row["same"]]
            wanted = " ".join(("binade gemm", *HOPPER, *options))
            self.assertIn(wanted, commands)

    def test_how_integers_were_dequantized_is_found(self):
        # Sums above 2^24, which binary32 rounds; Python's doubles hold products of two floats, and round once as fma does not.
        single = lambda x: struct.unpack("<f", struct.pack("<f", x))[0]
        a, b = ([[self.random.randrange(64, 128) for _ in range(2048)] for _ in range(6)] for _ in range(2))
        sa, sb, bias = ([single(self.random.uniform(0.5, 2) * unit) for _ in range(6)] for unit in (1, 1, 2 ** 20))
        self.write("a", npy("|i1", (6, 2048), sum(a, [])))
        self.write("b", npy("|i1", (6, 2048), sum(b, [])))
        for name, x in (("sa", sa), ("sb", sb), ("bias", bias)):
            self.write(name, npy("<f4", (6,), x))
        sums = [[sum(x * y for x, y in zip(row, column)) for column in b] for row in a]
        endings = (
            ("", lambda s, i, j: single(single(single(s) * sa[i]) * sb[j]) + bias[j]),
            (" --scale-order b-first", lambda s, i, j: single(single(single(s) * sb[j]) * sa[i]) + bias[j]),
            (" --scale-order together", lambda s, i, j: single(single(s) * single(sa[i] * sb[j])) + bias[j]),
            (" --bias-first", lambda s, i, j: single(single(single(s) + bias[j]) * sa[i]) * sb[j]),
            (" --epilogue-format f64", lambda s, i, j: s * sa[i] * sb[j] + bias[j]))
        files = "--types", "f32.s8.s8", "--a-scale", self.path("sa"), "--b-scale", self.path("sb"), "--transpose-b"
        for options, ending in endings:
            d = [single(ending(s, i, j)) for i, row in enumerate(sums) for j, s in enumerate(row)]
            self.write("d", npy("<f4", (6, 6), d))
            out = self.found(*files, "--arch", "sm_80", "--show", "100", a="a", b="b", d="d", bias="bias")
            told = [row["options"] for row in out["explain"]]
            self.assertEqual(told[:1], [(options + " --out-format f32").strip()], options)
            # Sums that saturate and sums that wrap are the same here; in binary64, orders differ in less than binary32 keeps.
            self.assertTrue(len(set(told)) == 1 or all("f64" in x for x in told), told)
        self.flip("d")
        self.assertEqual(self.found(*files, a="a", b="b", d="d", bias="bias", status=1)["conclusion"], "none")

    def test_the_command_that_is_told_makes_the_same_bytes(self):
        self.gemm("d", *HOPPER, "--split", "4:16:pairs")
        told = self.found()["explain"][0]["command"].split()[2:]
        self.gemm("again", *told)
        self.assertEqual(self.read("d"), self.read("again"))

    def test_binary32_that_went_through_tf32(self):
        self.normal("a", "<f4", 8, 64)
        self.normal("b", "<f4", 64, 8)
        self.gemm("d", "--arch", "sm_80", "--instruction", "mma.m16n8k8.f32.tf32.tf32.f32")
        out = self.found()
        self.assertEqual(out["conclusion"], "unique")
        self.assertIn("--instruction mma.m16n8k4.f32.tf32.tf32.f32", out["explain"][0]["command"])

    def test_a_flipped_bit_leaves_none_and_is_told(self):
        self.smaller()
        self.gemm("d", *HOPPER)
        self.flip("d")
        text = self.identify("--arch", "sm_90", status=1)
        self.assertIn("63 of 64 equal: --arch sm_90 --instruction mma.m16n8k16.f32.f16.f16.f32\n     (7, 7): expected ", text)
        self.assertIn("\nnone: no model of the table explains every bit", text)
        out = self.found("--arch", "sm_90", status=1)
        self.assertEqual((out["conclusion"], out["explaining"], out["explain"]), ("none", 0, []))
        first = out["rejected"][0]["first"]
        self.assertEqual((first["row"], first["column"]), (7, 7))
        self.assertEqual(int(first["expected"], 16) ^ int(first["found"], 16), 0x40000000)

    def test_what_may_have_happened_where_no_model_fits(self):
        # Integers, so that every order gives the exact sum; b is square in the file, but was read as its transpose.
        a, b = ([self.random.randrange(-8, 9) for _ in range(n)] for n in (96, 256))
        self.write("a", npy("<f4", (6, 16), a))
        self.write("b", npy("<f4", (16, 16), b))
        d = [sum(a[16 * i + k] * b[16 * j + k] for k in range(16)) for i in range(6) for j in range(16)]
        self.write("d", npy("<f4", (6, 16), d))
        text = self.identify("--cpu", "--show", "1", status=1)
        lines = text.splitlines()
        self.assertEqual(lines[3:5], ["What may have happened", "  96 of 96 equal: B transposed"])
        self.assertIn("--transpose-b", lines[5])
        self.assertLess(text.index("What may have"), text.index("Nearest of the others"))
        self.assertTrue(lines[-1].startswith("none: no model of the table explains every bit; the first of what"))
        out = self.found("--cpu", status=1)
        self.assertEqual([(row["words"], row["equal"], row["elements"]) for row in out["hypotheses"]],
                         [("B transposed", 96, 96)])
        self.assertEqual((out["not_tried"], out["open"]), ([], []))
        self.write("d", npy("<f4", (6, 16), [self.random.gauss(0, 1) for _ in d]))
        text = self.identify("--cpu", status=1)
        self.assertNotIn("What may have", text)
        self.assertRegex(text, r"none: no model .*, nor do \d+ mistakes of kernels that were tried; .* not its inputs\n$")

    def test_a_search_ends_after_some_seconds(self):
        self.gemm("d", *HOPPER)
        out = self.found("--arch", "sm_90", "--seconds", "1e-9", status=1)
        self.assertEqual((out["conclusion"], out["explaining"], out["hypotheses"]), ("open", 0, []))
        self.assertIn("binade gemm " + " ".join(HOPPER), out["open"][0]["command"])
        self.assertLess(out["open"][0]["compared"], 64)
        text = self.identify("--arch", "sm_90", "--seconds", "1e-9", status=1)
        self.assertIn("Agree so far, simplest first\n", text)
        self.assertRegex(text, r"open: the time ended after 2 of 64 elements, with which \d+ models? agrees?; --seconds allows more\n"
                               "not tried, for want of time: several models, each for a part of D\n$")
        self.assertEqual(self.found("--arch", "sm_90", "--seconds", "1000")["conclusion"], "unique")
        self.assertIn("--seconds", self.complaint(*self.files(a="a", b="b", d="d"), "--seconds", "0"))

    def test_text_says_how_many_fit_and_warns(self):
        self.write("a", npy("<f2", (2, 16), [1.0] * 32))
        self.write("b", npy("<f2", (16, 2), [1.0] * 32))
        self.write("d", npy("<f4", (2, 2), [16.0] * 4))
        text = self.identify()
        self.assertRegex(text, r"several: \d+ of \d+ models explain every bit; these inputs do not tell them apart")
        self.assertIn("warning: these inputs discriminate poorly", text)

    def test_dots(self):
        self.normal("a", "<f2", 50, 16)
        self.normal("b", "<f2", 50, 16)
        a, b, rows = self.values("a", "<f2"), self.values("b", "<f2"), []
        for i in range(50):
            self.write("row", npy("<f2", (1, 16), a[16 * i:16 * (i + 1)]))
            self.write("column", npy("<f2", (16, 1), b[16 * i:16 * (i + 1)]))
            self.gemm("one", *HOPPER, a="row", b="column")
            rows += self.values("one")
        self.write("d", npy("<f4", (50,), rows))
        out = self.found("--types", "f32.f16.f16")
        self.assertTrue(out["runs"][0]["dots"])
        self.assertTrue(any(x["command"].endswith(" ".join(HOPPER)) for x in out["explain"]))

    def test_orders_that_come_to_the_same_chain_are_one_model(self):
        # Products of binary16 are binary32's: parts of one product each are the chain.
        self.normal("a", "<f2", 6, 40)
        self.normal("b", "<f2", 40, 6)
        self.gemm("d", "--instruction", "fma.rn.f32.f16.f16.f32")
        out = self.found()
        self.assertEqual((out["conclusion"], out["explain"][0]["command"]),
                         ("unique", "binade gemm --instruction fma.rn.f32.f16.f16.f32"))

    def test_rounded_products_that_are_added_in_binary32(self):
        # Of a binary16 accumulator: no chain of binary32, whose products are exact.
        self.normal("a", "<f2", 8, 12)
        self.normal("b", "<f2", 12, 8)
        order = ("--instruction", "mul_add.rn.f16.f16.f16.f16", "--split", "12:1", "--partial", "f32")
        self.gemm("d", *order, "--out-format", "f32")
        out = self.found("--cpu", "--show", "40")
        told = [y for x in out["explain"] for y in [x["command"], *x["same"]]]
        self.assertTrue(any(x.startswith("binade gemm --instruction mul_add.rn.f16.f16.f16.f16 --split 12")
                            and "descending" not in x and "pairs" not in x and "halves" not in x for x in told), told)

    def test_operands_that_were_rounded_to_tf32(self):
        self.normal("a", "<f4", 6, 40)
        self.normal("b", "<f4", 40, 6)
        tf32 = ("--arch", "sm_90", "--instruction", "mma.m16n8k8.f32.tf32.tf32.f32")
        self.gemm("d", *tf32, "--round")
        out = self.found("--arch", "sm_90")
        self.assertTrue(out["searched"]["rounded"])
        self.assertEqual(out["explain"][0]["command"], " ".join(("binade gemm", *tf32, "--round")))
        self.gemm("d", *tf32)
        out = self.found("--arch", "sm_90")
        self.assertFalse(out["searched"]["rounded"])
        self.assertEqual(out["explain"][0]["command"], " ".join(("binade gemm", *tf32)))

    def tied(self, name, *shape):
        """Writes numbers halfway between two of tf32, and returns them rounded away from zero, by their bits."""
        self.normal(name, "<f4", *shape)
        words = [x & ~0x1FFF | 0x1000 for x in struct.unpack(f"<{shape[0] * shape[1]}I", self.read(name)[-4 * shape[0] * shape[1]:])]
        self.write(name, npy("<f4", shape, struct.unpack(f"<{len(words)}f", struct.pack(f"<{len(words)}I", *words))))
        return struct.unpack(f"<{len(words)}f", struct.pack(f"<{len(words)}I", *(x + 0x1000 & ~0x1FFF for x in words)))

    def test_operands_that_were_rounded_to_tf32_with_ties_away(self):
        # A kernel of our own: its products are exact, and each sum of binary64 is rounded once.
        a, b, rows = self.tied("a", 6, 40), self.tied("b", 40, 6), []
        for i in range(6):
            for j in range(6):
                total = 0.0
                for k in range(40):
                    total = struct.unpack("<f", struct.pack("<f", total + a[40 * i + k] * b[6 * k + j]))[0]
                rows.append(total)
        self.write("d", npy("<f4", (6, 6), rows))
        fma = ("--instruction", "fma.rn.f32.tf32.tf32.f32")
        out = self.found("--arch", "sm_80")
        self.assertEqual((out["searched"]["rounded"], out["searched"]["rounding"]), (True, "ties_to_away"))
        self.assertEqual(out["explain"][0]["command"], " ".join(("binade gemm", *fma, "--round=ties_to_away")))
        for words in (("--round=ties_to_away",), ("--round", "rna")):
            self.gemm("again", *fma, *words)
            self.assertEqual(self.values("d"), self.values("again"))
        words = ("validate", "gemm", self.path("a"), self.path("b"), "--d", self.path("d"), *fma, "--round")
        text = self.good(*words, status=1)
        self.assertIn("\noperands rounded ties_to_away (--round=ties_to_away): 36 of 36 equal, every element\n", text)
        self.assertNotIn("wrong, not rounded otherwise", text)
        told = read_json(self.good(*words, "--json", status=1))["as_rounded"]
        self.assertEqual(told[0], {"rounding": "ties_to_away", "equal": 36})
        self.assertNotIn("operands rounded", self.good(*words[:-1], "--round=rna"))
        # Where nothing explains D, models with rounded operands stand among the nearest.
        self.flip("d")
        out = self.found("--arch", "sm_80", status=1)
        self.assertEqual((out["conclusion"], out["rejected"][0]["equal"]), ("none", 35))
        self.assertIn("--round=ties_to_away", out["rejected"][0]["command"])
        for word in ("stochastic", "up"):
            line = self.complaint("gemm", self.path("a"), self.path("b"), "-o", self.path("no"), *fma, "--round=" + word)
            self.assertIn("no rounding of operands; there are ties_to_even, ties_to_away", line)

    def test_split_k_in_whole_tiles(self):
        self.smaller(6, 640)
        self.gemm("d", *HOPPER, "--split", "3:tile64")
        out = self.found("--arch", "sm_90")
        told = [x["command"] for x in out["explain"]]
        self.assertIn(" ".join(("binade gemm", *HOPPER, "--split", "3:tile64")), told)

    def test_show_and_all(self):
        self.smaller()
        self.gemm("d", *HOPPER)
        self.assertEqual(len(self.found("--show", "2")["rejected"]), 2)
        out = self.found("--all")
        self.assertEqual(len(out["rejected"]), out["models"] - 1)
        for row in out["rejected"]:
            self.assertLess(row["equal"], 64)

    def test_threads_change_nothing(self):
        self.smaller()
        self.gemm("d", *HOPPER, "--promote-every", "2")
        words = (*self.files(a="a", b="b", d="d"), "--json")
        told = {self.good(*words, BINADE_THREADS=threads) for threads in ("1", "2", "5")}
        self.assertEqual(len(told), 1)


class Proposals(Identify):
    def test_where_it_ran_narrows_the_search(self):
        self.normal("few", "<f2", 1, 24)
        self.normal("w", "<f2", 24, 1)
        self.good("gemm", self.path("few"), self.path("w"), *HOPPER, "-o", self.path("d"))
        call = ("identify", "--a", self.path("few"), "--b", self.path("w"), "--d", self.path("d"))
        found = self.json(*call)
        self.assertEqual(found["searched"], {"architectures": None, "tensor_cores": True, "tf32": True, "gpu": False,
                                             "rounded": False, "rounding": None})
        first = [row["instructions"][0] for row in found["explain"]]
        chains = [row["architectures"] == [] for row in first]
        self.assertEqual(chains, sorted(chains, reverse=True), "chains first")
        self.assertIn("where it ran narrows them: --arch sm_90 for a GPU of these, --cpu for a CPU", self.good(*call))
        for words, said in ((("--cpu",), "of chains alone, as CPUs have them"), (("--chains",), "of chains alone")):
            found = self.json(*call, *words, "--all")
            for row in found["explain"]:
                self.assertEqual(row["instructions"][0]["architectures"], [])
            text = self.good(*call, *words)
            self.assertIn(said, text)
            self.assertNotIn("where it ran", text)
        found = self.json(*call, "--arch", "sm_90,sm_75", "--all")
        self.assertEqual(found["searched"]["architectures"], ["sm_90", "sm_75"])
        told = {sm for row in found["explain"] + found["rejected"] for name in row["instructions"]
                for sm in name["architectures"]}
        self.assertEqual(told, {"sm_75", "sm_90"})
        self.assertNotEqual(found["explain"][0]["instructions"][0]["architectures"], [])
        self.assertIn("of sm_90, sm_75, and chains", self.good(*call, "--arch", "sm_90", "--arch", "sm_75"))
        for words in (("--cpu", "--arch", "sm_90"), ("--chains", "--arch", "sm_90"), ("--cpu", "--chains")):
            self.assertIn("excludes", self.complaint(*call, *words))
        self.assertIn("no architecture 'sm_91'", self.complaint(*call, "--arch", "sm_91"))
        for words, because in ((("--beta", "2"), "without --c"), (("--seed", "2"), "without --propose"),
                               (("--a-scale", "none.npy", "--alpha", "2"), "with scales"), (("--all", "--show", "2"), "with --all")):
            self.assertIn(f"{words[-2]} has no effect {because}", self.complaint(*call, *words))

    def test_no_option_is_advised_that_is_not_there(self):
        self.normal("wide", "<f4", 8, 128)
        line = self.complaint("identify", "--a", self.path("wide"), "--b", self.path("b"), "--d", self.path("a"),
                              "--types", "f32.f16.f16.f32")
        self.assertIn("no number of binary16", line)
        self.assertNotIn("--round", line)

    def test_a_second_run_on_proposed_inputs_decides(self):
        truth = (*HOPPER, "--out-format", "f16")
        self.gemm("d", *truth)
        text = self.identify("--propose", self.path("p.npz"))
        self.assertRegex(text, r"tells apart \d+ of \d+ pairs of the \d+ simplest models that are left\n")
        with zipfile.ZipFile(self.path("p.npz")) as archive:
            self.assertIsNone(archive.testzip())
            self.assertEqual(archive.namelist(), ["a.npy", "b.npy"])
        before = self.found()["explaining"]
        self.assertGreater(before, 10)
        self.gemm("d2", *truth, a="p.npz:a", b="p.npz:b")
        second = ["--a", self.path("p.npz:a"), "--b", self.path("p.npz:b"), "--d", self.path("d2")]
        after = self.found(*second)
        self.assertEqual(len(after["runs"]), 2)
        self.assertLess(after["explaining"], before)
        self.assertIn(" ".join(("binade gemm", *truth)), [row["command"] for row in after["explain"]])

    def test_the_inputs_lie_as_the_first_ones_did(self):
        self.normal("bt", "<f2", 8, 128)
        self.gemm("d", *HOPPER, "--out-format", "f16", "--transpose-b", b="bt")
        self.identify("--transpose-b", "--propose", self.path("p.npz"), a="a", b="bt", d="d")
        with zipfile.ZipFile(self.path("p.npz")) as archive:
            self.assertIn(b"'shape': (8, 128)", archive.read("b.npy")[:128])

    def test_one_model_needs_none(self):
        self.gemm("d", *HOPPER)
        text = self.identify("--propose", self.path("p.npz"))
        self.assertIn("nothing to propose", text)
        self.assertFalse(os.path.exists(self.path("p.npz")))

    def test_a_folder_that_is_not_there(self):
        self.gemm("d", *HOPPER, "--out-format", "f16")
        self.complaint(*self.files(a="a", b="b", d="d"), "--propose", self.path("no/p.npz"))


class Complaints(Identify):
    def test_files_that_do_not_fit(self):
        self.gemm("d", *HOPPER)
        self.normal("short", "<f2", 127, 8)
        self.assertIn("short.npy: K is 127; A's is 128", self.complaint(*self.files(a="a", b="short", d="d")))
        self.normal("wide", "<f4", 8, 9)
        self.assertIn("wide.npy: shape (8, 9); A and B make a D of (8, 8)",
                      self.complaint(*self.files(a="a", b="b", d="wide")))
        self.normal("turned", "<f4", 4, 16)
        self.assertIn("shape (4, 16)", self.complaint(*self.files(a="a", b="b", d="turned")))
        self.normal("cube", "<f2", 2, 4, 128)
        self.assertIn("shape (2, 4, 128)", self.complaint(*self.files(a="cube", b="b", d="d")))
        self.assertIn("--c is of D's shape", self.complaint(*self.files(a="a", b="b", d="d", c="wide")))
        self.assertIn("the bias of a product is of shape (8,)",
                      self.complaint(*self.files(a="a", b="b", d="d", bias="wide")))
        self.write("none", npy("<f4", (0, 8), []))
        self.assertIn("no elements; there is nothing to compare", self.complaint(*self.files(a="a", b="b", d="none")))
        self.assertIn("missing.npy", self.complaint(*self.files(a="missing", b="b", d="d")))

    def test_bits_without_types(self):
        self.write("bits", npy("<u2", (8, 128), [0] * 1024))
        self.gemm("d", *HOPPER)
        self.assertIn("bare bits of U16, which may be f16, bf16; say what --a holds: --types D.A.B",
                      self.complaint(*self.files(a="bits", b="b", d="d")))
        for types, words in (("f32.f17.f16", "has 'f17'"), ("f32.f16", "has 2 types"), ("f32..f16", "has ''"),
                             ("f32.f16.f16.f32.f32", "has 5 types"), ("s32.e4m3.e4m3", "dtype")):
            self.assertIn(words, self.complaint(*self.files(a="a", b="b", d="d"), "--types", types))

    def test_types_that_nothing_multiplies(self):
        self.write("ai", npy("|u1", (2, 32), [1] * 64))
        self.write("bi", npy("|u1", (32, 2), [1] * 64))
        self.write("di", npy("<u4", (2, 2), [32] * 4))
        self.write("dh", npy("<u2", (2, 2), [32] * 4))
        self.assertIn("no instruction or chain multiplies",
                      self.complaint(*self.files(a="ai", b="bi", d="dh"), "--types", "f16.s8.e4m3"))
        told = self.found("--types", "f32.s8.s8", status=1, a="ai", b="bi", d="di")
        self.assertEqual((told["models"], told["hypotheses"][0]["words"]), (2, "D holds bits of s32, read as f32"))
        # Wrapping and satfinite: these sums do not overflow.
        self.assertEqual(self.found("--types", "s32.s8.u8", a="ai", b="bi", d="di")["explaining"], 2)

    def test_integers_need_no_types(self):
        self.write("ai", npy("|i1", (2, 32), [-1] * 64))
        self.write("bi", npy("|u1", (32, 2), [200] * 64))
        self.write("di", npy("<i4", (2, 2), [-6400] * 4))
        told = self.found(a="ai", b="bi", d="di")
        self.assertEqual((told["types"]["a"], told["types"]["b"], told["types"]["d"]), ("s8", "u8", "s32"))
        self.assertEqual(told["explaining"], 2)
        self.write("di", npy("<i4", (2, 2), [-6400, -6400, -6400, 1]))
        self.assertEqual(self.found(status=1, a="ai", b="bi", d="di")["conclusion"], "none")
        self.write("bi", npy("<u2", (32, 2), [1] * 64))
        self.assertIn("bare bits", self.complaint(*self.files(a="ai", b="bi", d="di")))

    def test_what_is_left_out_has_its_name(self):
        a, b = [[(7 * i + 3 * k) % 11 for k in range(8)] for i in range(5)], [[(5 * k + j) % 7 for j in range(4)] for k in range(8)]
        self.write("ai", npy("|u1", (5, 8), sum(a, [])))
        self.write("bi", npy("|i1", (8, 4), sum(b, [])))
        self.write("zero", npy("<i4", (1,), [3]))
        self.write("bias", npy("<i4", (4,), [100, 20, 3000, 7]))
        self.write("di", npy("<i4", (5, 4), [sum(a[i][k] * b[k][j] for k in range(8)) for i in range(5) for j in range(4)]))
        for more, words in (((), "zero points left out"), (("--bias", self.path("bias")), "zero points and the bias left out")):
            told = self.found("--a-zero-point", self.path("zero"), *more, status=1, a="ai", b="bi", d="di")
            self.assertEqual(told["hypotheses"][0]["words"], words)

    def test_bytes_beside_a_d_of_numbers(self):
        self.write("ai", npy("|i1", (2, 32), [-1] * 64))
        self.write("bi", npy("|i1", (32, 2), [100] * 64))
        self.write("df", npy("<f4", (2, 2), [-3200] * 4))
        told = self.found(a="ai", b="bi", d="df")
        self.assertEqual((told["types"]["a"], told["types"]["b"], told["types"]["d"]), ("s8", "s8", "f32"))
        self.write("au", npy("|u1", (2, 32), [1] * 64))
        self.write("bu", npy("|u1", (32, 2), [100] * 64))
        self.write("df", npy("<f4", (2, 2), [3200] * 4))
        told = self.found(a="au", b="bi", d="df")
        self.assertEqual((told["types"]["a"], told["types"]["b"]), ("u8", "s8"))
        complaint = self.complaint(*self.files(a="au", b="bu", d="df"))
        for words in ("au.npy: bare bits of U8", "u8", "e4m3", "e5m2", "say what --a holds", "s32.u8.s8"):
            self.assertIn(words, complaint)
        self.write("dh", npy("<u2", (2, 2), [3200] * 4))
        self.assertIn("dh.npy: bare bits of U16, which may be f16, bf16; say what --d holds",
                      self.complaint(*self.files(a="ai", b="bi", d="dh")))

    def test_runs_that_are_not_whole(self):
        self.gemm("d", *HOPPER)
        self.assertIn("1 of --a and 2 of --d", self.complaint(*self.files(a="a", b="b", d="d"), "--d", self.path("d")))
        self.assertIn("--d is required", self.complaint("identify", "--a", self.path("a"), "--b", self.path("b")))
        self.assertIn("finite", self.complaint(*self.files(a="a", b="b", d="d"), "--alpha", "inf"))


if __name__ == "__main__":
    main()
