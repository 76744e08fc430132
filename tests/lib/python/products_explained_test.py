# SPDX-License-Identifier: Apache-2.0
#
# Products compared with their model in Python, against the program: validate, dot, explain, identify and propose, whose
# text, JSON and pictures are the program's, byte for byte. Run as products_explained_test.py PATH_TO_BINADE with the package on
# PYTHONPATH; needs NumPy.

import pickle

import numpy as np
from cli_case import main
from products_case import HOPPER, INT8, Products, halves, words

import binade
from binade import GemmModel


class Validations(Products):
    def test_product(self):
        model = GemmModel(*HOPPER, promote_every=1)
        d = binade.gemm(self.a, self.b, self.c, model=model)
        wrong = d.copy()
        wrong[2, 3] = np.nextafter(wrong[2, 3], np.float32(np.inf))
        wrong[4, 0] += 1
        for given, status in ((d, 0), (wrong, 1)):
            self.saved(a=self.a, b=self.b, c=self.c, d=given)
            call = ("validate", "gemm", "a", "b", "c", "--d", "d", *words(model))
            x = binade.validate(self.a, self.b, given, self.c, model=model)
            self.assertEqual(str(x), self.good(*call, status=status))
            self.assertEqual(x.to_json(), self.good(*call, "--json", status=status))
            self.assertEqual((x.equal, x.elements, x.different), (status == 0, 35, 2 * status))
            self.assertLess(len(x._repr_html_()), 200_000)
        self.assertEqual([(row["row"], row["column"]) for row in x.differences], [(2, 3), (4, 0)])
        narrow = binade.validate(self.a, self.b, d.astype(np.float16), self.c, model=model)
        self.assertTrue(narrow.equal)
        self.assertIn("rounded to binary16 in the end", str(narrow))
        self.assertEqual(len(binade.validate(self.a, self.b, wrong, self.c, model=model, show=1).differences), 1)

    def test_the_dtype_of_d_is_the_output(self):
        model = GemmModel(*HOPPER)
        d = binade.gemm(self.a, self.b, model=GemmModel(*HOPPER, out_format="f16"))
        self.assertTrue(binade.validate(self.a, self.b, d, model=model).equal)

    def test_dots(self):
        a, b, c = halves(21, 50, 16), halves(22, 50, 16), halves(23, 50, dtype=np.float32)
        d = binade.dot(a, b, c, model=self.model)
        wrong = d.copy()
        wrong[7] += 1
        for given, status in ((d, 0), (wrong, 1)):
            self.saved(a=a, b=b, c=c, d=given)
            call = ("validate", "dots", "--a", "a", "--b", "b", "--c", "c", "--d", "d", *words(self.model))
            x = binade.validate(a, b, given, c, model=self.model)
            self.assertEqual(str(x), self.good(*call, status=status))
            self.assertEqual(x.to_json(), self.good(*call, "--json", status=status))
            self.assertEqual((x.equal, x.elements, x.different), (status == 0, 50, status))
            more = binade.validate(a, b, given, c, model=self.model, evidence=True)
            self.assertEqual(str(more), self.good(*call, "--evidence", status=status))
        self.assertEqual([row["row"] for row in x.differences], [7])
        ruled = binade.validate(a, b, d, c, instruction=HOPPER[0], arch=HOPPER[1], floor=-126)
        self.saved(d=d)
        self.assertEqual(ruled.to_json(), self.good(*call, "--floor", "-126", "--json"))

    def test_errors(self):
        d = np.zeros(5, np.float32)
        with self.assertRaisesRegex(TypeError, "of dots has no argument 'alpha'"):
            binade.validate(self.a, self.a, d, instruction=HOPPER[0], arch=HOPPER[1], alpha=2)
        with self.assertRaisesRegex(ValueError, "model: dots are single instructions"):
            binade.validate(self.a, self.a, d, model=GemmModel(*HOPPER, promote_every=2))
        with self.assertRaisesRegex(ValueError, r"\Ad: shape \(5, 6\); D is of shape \(5, 7\)"):
            binade.validate(self.a, self.b, np.zeros((5, 6), np.float32), model=self.model)
        with self.assertRaisesRegex(ValueError, "transpose_a.*of a whole product"):
            binade.validate(self.a, self.a, d, model=self.model, transpose_a=True)


class Dots(Products):
    def test_rows(self):
        a, b, c = halves(31, 40, 16), halves(32, 40, 16), halves(33, 40, dtype=np.float32)
        d = binade.dot(a, b, c, instruction=HOPPER[0], arch=HOPPER[1])
        self.assertEqual((d.dtype, d.shape), (np.float32, (40,)))
        for i in range(40):  # an instruction is a product of one chain that begins with C
            one = binade.gemm(a[i:i + 1], b[i:i + 1].T, c[i:i + 1, None], model=GemmModel(*HOPPER, c_first=True))
            self.assertEqual(d[i].tobytes(), one.tobytes())
        self.assertEqual(binade.dot(a[3], b[3], c[3], model=self.model).tobytes(), d[3].tobytes())
        self.assertEqual(binade.dot(a[3], b[3], model=self.model).shape, ())
        short = binade.dot(a[:, :5], b[:, :5], c, model=self.model)
        padded = [np.concatenate([x[:, :5], np.zeros((40, 11), np.float16)], 1) for x in (a, b)]
        self.same_bits(short, binade.dot(*padded, c, model=self.model))
        out = np.empty(40, np.float32)
        self.assertIs(binade.dot(a, b, c, model=self.model, out=out), out)
        self.same_bits(out, d)
        self.assertNotEqual(d.tobytes(), binade.dot(a, b, model=self.model).tobytes())

    def test_integers(self):
        a = np.random.default_rng(34).integers(-128, 128, (9, 32), dtype=np.int8)
        d = binade.dot(a, a[::-1], instruction=INT8[0], arch=INT8[1])
        self.same_bits(d, np.sum(a.astype(np.int32) * a[::-1].astype(np.int32), 1, dtype=np.int32))

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, r"K at most 16"):
            binade.dot(self.a, self.a, model=self.model)
        with self.assertRaisesRegex(ValueError, "arch is missing"):
            binade.dot(self.a[:, :16], self.a[:, :16], instruction=HOPPER[0])
        with self.assertRaisesRegex(TypeError, "has no argument 'k_order'"):
            binade.dot(self.a, self.a, instruction=HOPPER[0], arch="sm_90", k_order="descending")


class Explanations(Products):
    def test_element(self):
        model = GemmModel(*HOPPER, promote_every=1)
        d = binade.gemm(self.a, self.b, model=model)
        self.saved(a=self.a, b=self.b, d=d)
        call = ("explain", "gemm", "a", "b", *words(model), "--element", "3", "5", "--d", "d")
        x = binade.explain(self.a, self.b, d=d, model=model, element=(3, 5))
        self.assertEqual(str(x), self.good(*call))
        self.assertEqual(x.to_json(), self.good(*call, "--json"))
        self.good(*call, "--svg", "x.svg")
        self.assertEqual(x.to_svg().encode(), self.read("x.svg"))
        self.assertEqual(x._repr_svg_(), x.to_svg())
        x.save(self.path("mine.svg"))
        self.assertEqual(self.read("mine.svg"), self.read("x.svg"))
        self.assertEqual(binade.explain(self.a, self.b, d=d, model=model, row=3, column=5), x)
        other = binade.explain(self.a, self.b, d=d, model=model, element=(3, 5), block=1, all=True)
        self.assertEqual(str(other), self.good(*call, "--all", "--block", "1", "--svg", "x.svg"))
        self.assertEqual(other.to_svg().encode(), self.read("x.svg"))
        html = x._repr_html_()
        self.assertLess(len(html), 200_000)
        self.assertIn("<svg", html)
        self.assertEqual(pickle.loads(pickle.dumps(x)), x)

    def test_dots_and_terms(self):
        a, b = halves(41, 6, 16), halves(42, 6, 16)
        d = binade.dot(a, b, model=self.model)
        self.saved(a=a, b=b, d=d)
        call = ("explain", "dots", "--a", "a", "--b", "b", "--d", "d", "--row", "4", *words(self.model))
        x = binade.explain(a, b, d=d, row=4, model=self.model)
        self.assertEqual(str(x), self.good(*call))
        self.assertEqual(x.to_json(), self.good(*call, "--json"))
        self.assertEqual(binade.explain(a[4], b[4], d=d[4], model=self.model), x)
        terms = "2^-11*2^-14, 2^-23*2^-23"
        x = binade.explain(terms=terms, addend=1.5, model=self.model)
        call = ("explain", "dots", "--terms", terms, "--addend", "1.5", *words(self.model))
        self.assertEqual(str(x), self.good(*call))
        for more in ({"row": 5}, {"c": [100.0]}, {"d": [100.0]}):
            with self.assertRaisesRegex(ValueError, "^terms: one dot, whose c is addend; row, c and d are of arrays$"):
                binade.explain(terms=terms, model=self.model, **more)

    def test_no_picture(self):
        small = np.ones((1, 4), np.int8)
        x = binade.explain(small, small, row=0, instruction=INT8[0], arch=INT8[1])
        with self.assertRaises(ValueError):
            x.to_svg()
        self.assertIsNone(x._repr_svg_())
        self.assertIn("<pre>", x._repr_html_())

    def test_errors(self):
        a, b = self.a, self.b
        for kind, line, options in [
            (ValueError, r"\Aelement 9 0: D is of 5 rows", {"element": (9, 0)}),
            (TypeError, "element: two whole numbers", {"element": 3}),
            (ValueError, "give it, or row and column", {"element": (0, 0), "row": 1}),
            (ValueError, "row is missing", {"column": 1}),
            (ValueError, "element or row is missing", {}),
            (ValueError, "no block|block", {"element": (0, 0), "block": 99}),
        ]:
            with self.subTest(options), self.assertRaisesRegex(kind, line):
                binade.explain(a, b, model=self.model, **options)


class Identifications(Products):
    def test_unique(self):
        a, b = halves(51, 6, 40), halves(52, 40, 5)
        model = GemmModel(*HOPPER, split="2:16")
        d = binade.gemm(a, b, model=model)
        self.saved(a=a, b=b, d=d)
        call = ("identify", "--a", "a", "--b", "b", "--d", "d", "--arch", "sm_90")
        x = binade.identify(a, b, d, arch="sm_90")
        self.assertEqual(str(x), self.good(*call))
        self.assertEqual(x.to_json(), self.good(*call, "--json"))
        self.assertIn(x.conclusion, ("unique", "several"))
        for found in x.models:
            self.same_bits(binade.gemm(a, b, model=found), d)
        self.assertIn(model, x.models)
        self.assertLess(len(x._repr_html_()), 200_000)

    def test_propose_and_two_runs(self):
        a, b, c = (halves(seed, *shape, dtype=np.float32) for seed, shape in ((53, (4, 6)), (54, (6, 3)), (55, (4, 3))))
        truth = GemmModel("fma.rn.f32.f32.f32.f32", split="2:1")
        kernel = lambda a, b, c: binade.gemm(a, b, c, model=truth)
        # Numbers so small that every order is exact.
        a0, b0, c0 = np.round(a), np.round(b), np.round(c)
        d0 = kernel(a0, b0, c0)
        first = binade.identify(a0, b0, d0, c0, cpu=True)
        self.assertEqual(first.conclusion, "several")
        proposal = binade.propose(first, seed=7)
        self.saved(a=a0, b=b0, c=c0, d=d0)
        self.good("identify", "--a", "a", "--b", "b", "--c", "c", "--d", "d", "--cpu", "--propose", "next.npz",
                        "--seed", "7")
        theirs = np.load(self.path("next.npz"))
        self.assertEqual(sorted(proposal), sorted(theirs.files))
        for name in theirs.files:
            self.same_bits(proposal[name], theirs[name])
        self.assertGreater(proposal.pairs, len(proposal.inseparable))
        d1 = kernel(**proposal)
        both = binade.identify([a0, proposal["a"]], [b0, proposal["b"]], [d0, d1], [c0, proposal["c"]], cpu=True)
        self.assertLess(len(both.models), len(first.models))
        for found in both.models:
            self.same_bits(binade.gemm(proposal["a"], proposal["b"], proposal["c"], model=found), d1)
        self.assertGreater(len(both.models), 0)
        again = pickle.loads(pickle.dumps(first))
        self.assertEqual((again, again.models), (first, first.models))
        with self.assertRaisesRegex(TypeError, "in the same process"):
            binade.propose(again)

    def test_how_parts_come_together(self):
        # Kernels by hand: products of binary16 are exact in binary32, so each sum is NumPy's of float32.
        def part(ks):
            out = np.zeros((9, 8), np.float32)
            for k in ks:
                out = out + np.outer(a[:, k].astype(np.float32), b[k].astype(np.float32))
            return out

        def bf16(x):  # to nearest, ties to even, by the bits
            bits = x.view(np.uint32)
            return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)

        def f16(x):
            return x.astype(np.float16).astype(np.float32)

        def in_turn(parts, rounded=np.float32):
            out = rounded(parts[0])
            for x in parts[1:]:
                out = rounded(out + x)
            return out

        a, b = halves(59, 9, 56), halves(60, 56, 8)
        runs = lambda *sizes: [part(range(end - size, end)) for size, end in zip(sizes, np.cumsum(sizes))]
        even = runs(14, 14, 14, 14)
        fifths = [part([k for k in range(56) if k // 2 % 5 == i]) for i in range(5)]
        lanes = [part(range(i, 45, 15)) for i in range(15)]
        for expected, d in {
            "--split 4 --partial bf16 --reduce-in f32": in_turn([bf16(x) for x in even]),
            "--split 4:2-0-3-1 --reduce-in f16 --out-format f16": in_turn([even[i] for i in (2, 0, 3, 1)], f16).astype(np.float16),
            "--split 4:2-0-3-1 --reduce-in bf16": in_turn([even[i] for i in (2, 0, 3, 1)], bf16),  # saved in a wide dtype
            "--split 4:from2": in_turn([even[i] for i in (2, 3, 0, 1)]),
            "--split 5:tile8:balanced": in_turn(runs(16, 16, 8, 8, 8)),
            "--split 5:2:pairwise": ((fifths[4] + (fifths[0] + fifths[3])) + fifths[1]) + fifths[2],
            "--split 15:1:tail-first": in_turn([part(range(45, 56)), *lanes]),
        }.items():
            with self.subTest(expected):
                x = binade.identify(a, b, d, cpu=True)
                self.assertIn(expected, [found.options for found in x.models])
                for found in x.models:
                    self.same_bits(binade.gemm(a, b, model=found), d)

    def test_none_and_errors(self):
        a, b = halves(56, 2, 3, dtype=np.float32), halves(57, 3, 2, dtype=np.float32)
        x = binade.identify(a, b, np.full((2, 2), 100, np.float32), cpu=True)
        self.assertEqual((x.conclusion, x.models), ("none", []))
        self.assertIn("No model", x._repr_html_())
        with self.assertRaisesRegex(ValueError, "nothing to propose"):
            binade.propose(x)
        with self.assertRaisesRegex(TypeError, "what identify returned"):
            binade.propose(3)
        with self.assertRaisesRegex(ValueError, "exclude each other"):
            binade.identify(a, b, a, cpu=True, chains=True)
        with self.assertRaisesRegex(ValueError, r"\A1 of a and 2 of d"):
            binade.identify([a], [b, b], [a, a])
        with self.assertRaisesRegex(ValueError, r"bare bits of U16, which may be f16, bf16; say what d holds: types"):
            binade.identify(a, b, np.zeros((2, 2), np.uint16))


class Converters(Products):
    def test_a_converter_by_hand(self):
        x = (np.random.default_rng(58).standard_normal((40, 50)) * 2.0 ** np.arange(-25, 25)).astype(np.float32)
        bits = x.view(np.uint32)
        codes = (bits >> 16).astype(np.uint16)
        self.saved(x=x, codes=codes)
        call = ("check", "--in", "x", "--codes", "codes", "--format", "bfloat16")
        found = binade.check(x, codes, "bfloat16")
        self.assertEqual(str(found), self.good(*call))
        self.assertEqual(found.to_json(), self.good(*call, "--json"))
        self.assertEqual((found.conclusion, found.rules, found.differences), ("unique", ["bfloat16 toward_zero"], []))
        self.assertIn("One rule", found._repr_html_())
        self.assertEqual(binade.check(x.T, codes.T, "bf16").rules, found.rules)
        self.assertEqual(binade.check(x, (bits & 0xFFFF0000).view(np.float32), binade.Format("bfloat16")).rules, found.rules)
        codes[3, 4] += 1
        found = binade.check(x, codes, "bfloat16")
        self.assertEqual([row["element"] for row in found.differences], [154])
        self.assertIn("No rule", found._repr_html_())
        for arguments, line in [((x, codes), "say which by format"), ((x, codes[1:], "bf16"), "x is of shape"),
                                ((x[:0], codes[:0], "bf16"), "no elements")]:
            with self.subTest(line), self.assertRaisesRegex(ValueError, line):
                binade.check(*arguments)

    def test_numpy_and_ml_dtypes_round_as_ieee_754_says(self):
        x = np.random.default_rng(59).standard_normal(4000).astype(np.float32) * np.float32(2.0**-13)
        x[:3] = [np.nan, np.inf, 1e6]
        with np.errstate(over="ignore", invalid="ignore"):
            found = binade.check(x, x.astype(np.float16))
            self.assertEqual(found.rules[0], "binary16 ties_to_even")
            self.assertEqual(found.to_dict()["infinities"]["rules"], ["infinity"])
            try:
                import ml_dtypes
            except ImportError:
                self.skipTest("no ml_dtypes")
            x *= np.float32(2.0**12)
            direct = x.astype(ml_dtypes.float8_e4m3fn)
            self.assertEqual(binade.check(x, direct).rules[0], "e4m3 ties_to_even")
            twice = x.astype(np.float16).astype(ml_dtypes.float8_e4m3fn)
            self.assertEqual(binade.check(x, twice.view(np.uint8), "e4m3").rules[0],
                             "binary16 ties_to_even, then e4m3 ties_to_even")


if __name__ == "__main__":
    main()
