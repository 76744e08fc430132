# SPDX-License-Identifier: Apache-2.0
#
# Products of ordinary tensors in narrow formats within binade.torch.tensor_cores: for every op, format, scale and architecture
# they have all bits of the oracle's. SKIP without torch. tensor_cores_narrow_test.py BINADE
import fractions
import itertools
import sys

try:
    import numpy as np
    import torch

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

import tensor_cores_narrow_oracle as narrow
import tensor_cores_oracle as plain
from cli_case import main
from tensor_cores_case import same_bits, values
from tensor_cores_convolutions_test import CASES, convolved, geometry, operands, size
from tensor_cores_narrow_case import HYBRID, NarrowCase, linear_by_oracle, magnitudes, mode, rule, with_gradients
from tensor_cores_narrow_oracle import Recipe

import binade

F = torch.nn.functional
ARCHITECTURES = ("sm_70", "sm_80", "sm_90", "sm_100", "sm_120")
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
FORMATS = (HYBRID, Recipe("e5m2"), Recipe("e2m1"), Recipe("e3m2", "e2m3"), Recipe("e2m1", "e4m3"), Recipe("e5m7"),
           Recipe("bfloat16"),
           Recipe("e4m3", "bfloat16"), Recipe("binary16", "bfloat16"), Recipe("tf32"), Recipe("binary32"))
SCALES = ("amax", "row", "1x128", "128x128", "1x16", "16x16")


class Oracle(NarrowCase):
    def test_the_power_is_the_largest_that_keeps_a_magnitude_within_the_format(self):
        for format, x in itertools.product(("e4m3", "e2m1", "e5m2"),
                                           (448.0, 449.0, 6.0, 1e-40, 2.0**-149, 3e38, 1.75, 1.7500001)):
            exact = fractions.Fraction(x) * fractions.Fraction(2) ** narrow.power([x, -x / 2], format)
            largest = fractions.Fraction(binade.Format(format).max)
            self.assertTrue(exact <= largest and (largest < 2 * exact or exact == fractions.Fraction(x) * 2**126))

    def test_a_sum_is_rounded_once(self):
        x, y = np.array([1 + 2.0**-23, 1.0, -3.0]), np.array([2.0**-24 + 2.0**-70, 2.0**-24, 2.0**-25 + 2.0**-80])
        wanted = [1 + 2.0**-22, 1, -3]
        self.assertEqual(narrow.once(x, y).tolist(), wanted)
        self.assertEqual(narrow.once(y, x).tolist(), wanted)
        self.assertNotEqual((x + y).astype(np.float32)[0], np.float32(1))

    def test_an_instruction_holds_both_formats(self):
        for arch, a, b, wanted in (("sm_70", "e4m3", "e5m2", "f32.f16.f16"),
                                   ("sm_90", "e4m3", "e5m2", "wgmma.m64n8k32.f32.e4m3.e5m2"),
                                   ("sm_90", "bfloat16", "e5m7", "f32.bf16.bf16"), ("sm_80", "binary16", "bfloat16", "tf32.tf32"),
                                   ("sm_70", "e4m3", "bfloat16", "fma.rn.f32"), ("sm_120", "e2m1", "e3m2", "f32.e2m1.e3m2")):
            self.assertIn(wanted, narrow.instruction(arch, a, b)[0])

    def test_small_integers_are_exact_whatever_the_recipe(self):
        generator = np.random.default_rng(3)
        a, b = (generator.integers(-4, 5, shape).astype(np.float32) for shape in ((4, 45), (45, 5)))
        for arch, recipe, scale in itertools.product(ARCHITECTURES, (HYBRID, Recipe("e5m7"), Recipe("e2m3", "e3m2")),
                                                     (None,) + SCALES):
            got = narrow.product(a, b, "xw", recipe._replace(scale=scale), arch, "float32")
            self.assertTrue(same_bits(got + 0, a @ b + 0).all())


class Products(NarrowCase):
    def test_a_layer_and_both_gradients_in_every_format(self):
        for (arch, recipe), dtype in zip(itertools.product(("sm_80", "sm_90", "sm_120"), FORMATS), itertools.cycle(DTYPES)):
            with self.subTest(arch=arch, dtype=dtype, recipe=recipe):
                x, w, bias, gy = (magnitudes(i, *s, dtype=dtype) for i, s in enumerate(((5, 45), (7, 45), (7,), (5, 7))))
                self.linear(recipe, arch, dtype, x, w, bias, gy)

    def test_a_layer_and_both_gradients_with_every_scale(self):
        for (arch, scale), dtype in zip(itertools.product(("sm_90", "sm_120"), SCALES), itertools.cycle(DTYPES)):
            for recipe in (HYBRID, Recipe("e2m1"), Recipe("e5m7", "e4m3")):
                with self.subTest(arch=arch, dtype=dtype, scale=scale, recipe=recipe):
                    x, w, gy = (magnitudes(i, *s, dtype=dtype) for i, s in enumerate(((18, 37), (19, 37), (18, 19))))
                    self.linear(recipe._replace(scale=scale), arch, dtype, x, w, None, gy)

    def test_blocks_of_128_that_do_not_divide_the_sizes(self):
        for scale in ("1x128", "128x128"):
            x, w, gy = magnitudes(1, 5, 150), magnitudes(2, 131, 150), magnitudes(3, 5, 131)
            self.linear(HYBRID._replace(scale=scale), "sm_90", torch.float32, x, w, None, gy)

    def test_mm_and_addmm_with_alpha_and_beta(self):
        cases = itertools.product(("sm_70", "sm_90"), (None, "amax", "row", "16x16"))
        for (arch, scale), dtype in zip(cases, itertools.cycle(DTYPES)):
            a, b, c = (magnitudes(3 + i, *s, dtype=dtype, high=6) for i, s in enumerate(((6, 37), (37, 9), (6, 9))))
            recipe, words = HYBRID._replace(scale=scale), rule(arch, dtype)
            self.held_in(recipe, arch, dtype, lambda: (torch.mm(a, b),),
                         (narrow.product(values(a), values(b), "xw", recipe, **words),))
            for alpha, beta in ((1, 1), (-0.75, 1.625), (2, 0)):
                self.held_in(recipe, arch, dtype, lambda: (torch.addmm(c, a, b, alpha=alpha, beta=beta),), (
                    narrow.product(values(a), values(b), "xw", recipe, c=values(c), alpha=alpha, beta=beta, **words),))

    def test_a_matrix_product_has_gradients_of_both_operands(self):
        for scale in (None, "16x16"):
            a, b, gy = magnitudes(1, 6, 37), magnitudes(2, 37, 19), magnitudes(3, 6, 19)
            recipe, words = HYBRID._replace(scale=scale), rule("sm_90")
            x, w, d = values(a), values(b), values(gy)
            self.held_in(recipe, "sm_90", torch.float32, lambda: with_gradients(torch.mm, gy, a, b), (
                narrow.product(x, w, "xw", recipe, **words), narrow.product(d, w.T, "dw", recipe, **words),
                narrow.product(x.T, d, "xd", recipe, **words)))

    def test_rows_of_three_dimensions_are_one_matrix(self):
        x, w, bias, gy = magnitudes(1, 2, 3, 37), magnitudes(2, 5, 37), magnitudes(3, 5), magnitudes(4, 2, 3, 5)
        recipe = HYBRID._replace(scale="amax")
        y, gx, gw = linear_by_oracle(x.reshape(6, 37), w, bias, gy.reshape(6, 5), recipe, **rule("sm_90"))
        self.held_in(recipe, "sm_90", torch.float32, lambda: with_gradients(lambda a, b: F.linear(a, b, bias), gy, x, w),
                     (y.reshape(2, 3, 5), gx.reshape(2, 3, 37), gw))

    def test_numbers_that_are_not_ordinary(self):
        others = 0.0, -float("inf"), 2.0**-149, -3e38
        formats = HYBRID, Recipe("e2m1"), Recipe("binary16")
        for scale, format in itertools.product((None, "amax", "row", "1x16", "16x16"), formats):
            for special in (float("inf"), float("nan"), *(others if format == HYBRID else ())):
                with self.subTest(scale=scale, format=format, special=special):
                    x, w, gy = magnitudes(1, 5, 37), magnitudes(2, 6, 37), magnitudes(3, 5, 6)
                    x[1], x[2, 3], w[4, 20], gy[3, 3] = 0, special, special, special
                    self.linear(format._replace(scale=scale), "sm_90", torch.float32, x, w, None, gy)

    def test_tensors_of_nothing_but_zeros_nans_or_subnormals(self):
        for scale, of in itertools.product(("amax", "row", "16x16"), (0.0, float("nan"), float("inf"), 3 * 2.0**-147, 2.0**-149)):
            with self.subTest(scale=scale, of=of):
                x, w, gy = torch.full((5, 37), of), magnitudes(2, 6, 37), torch.full((5, 6), -of)
                self.linear(HYBRID._replace(scale=scale), "sm_90", torch.float32, x, w, None, gy)

    def test_operands_and_results_at_the_ends_of_the_range(self):
        for scale, (low, high) in itertools.product((None, "amax", "row", "1x16"),
                                                    ((-149, -120), (-80, -60), (55, 66), (100, 127))):
            with self.subTest(scale=scale, low=low):
                x, w, gy = (magnitudes(i, *s, low=low, high=high) for i, s in enumerate(((5, 37), (6, 37), (5, 6))))
                self.linear(HYBRID._replace(scale=scale), "sm_90", torch.float32, x, w, None, gy)
        for scale, small in itertools.product(("amax", "row", "1x16"), (False, True)):
            ranges = itertools.cycle(((-149, -130), (110, 127)) if small else ((110, 127), (-149, -130)))
            x, w, gy = (magnitudes(i, *s, low=low, high=high)
                        for i, (s, (low, high)) in enumerate(zip(((5, 37), (6, 37), (5, 6)), ranges)))
            self.linear(HYBRID._replace(scale=scale), "sm_90", torch.float32, x, w, None, gy)
        for scale in ("amax", "row", "16x16"):
            x, w, gy = (magnitudes(i, *s, dtype=torch.float16, low=-24, high=-15)
                        for i, s in enumerate(((5, 37), (6, 37), (5, 6))))
            self.linear(HYBRID._replace(scale=scale), "sm_90", torch.float16, x, w, None, gy)

    def test_no_rows_and_sums_of_no_terms(self):
        for scale, (m, n, k) in itertools.product((None, "amax", "row", "1x16"), ((0, 3, 5), (4, 3, 0), (4, 0, 5))):
            x, w, gy = magnitudes(1, m, k), magnitudes(2, n, k), magnitudes(3, m, n)
            with mode("sm_90", HYBRID._replace(scale=scale)):
                got = with_gradients(F.linear, gy, x, w)
            self.assertEqual([tuple(one.shape) for one in got], [(m, n), (m, k), (n, k)])
            self.assertTrue(all((one == 0).all() for one in got))

    def test_operands_of_any_strides(self):
        whole = magnitudes(5, 37, 2, 18)
        a, b = whole[:, 1, ::3].t(), whole[:, 0, :9]
        recipe = Recipe("e4m3", scale="row")
        self.held_in(recipe, "sm_90", torch.float32, lambda: (torch.mm(a, b),),
                     (narrow.product(values(a), values(b), "xw", recipe, **rule("sm_90")),))

    def test_every_few_instructions_are_promoted(self):
        x, w, gy = magnitudes(1, 5, 300), magnitudes(2, 6, 300), magnitudes(3, 5, 6)
        results = []
        for arch, every, scale in itertools.product(("sm_90", "sm_120"), (1, 4, "2:binary16"), (None, "row")):
            with self.subTest(arch=arch, every=every):
                self.linear(HYBRID._replace(promote_every=every, scale=scale), arch, torch.float32, x, w, None, gy)
            with mode(arch, HYBRID._replace(promote_every=every, scale=scale)):
                results.append(values(F.linear(x, w)))
        self.assertFalse(any(same_bits(a, b).all() for a, b in itertools.combinations(results[:6], 2)))

    def test_an_order_of_ones_own(self):
        x, w, gy = magnitudes(1, 5, 300), magnitudes(2, 6, 300), magnitudes(3, 5, 6)
        order = binade.GemmModel("wgmma.m64n8k32.f32.e4m3.e4m3", "sm_90", promote_every=2, k_order="descending")
        for scale in (None, "amax", "1x128"):
            recipe, words = Recipe("e4m3", scale=scale), {**rule("sm_90"), "order": (order, ("e4m3", "e4m3"))}
            self.held_in(recipe, "sm_90", torch.float32, lambda: with_gradients(F.linear, gy, x, w),
                         linear_by_oracle(x, w, None, gy, recipe, **words), order=order)
            recipe = HYBRID._replace(scale=scale)  # the order takes no e5m2: the gradients have the usual one
            y = linear_by_oracle(x, w, None, gy, recipe, **words)[0]
            self.held_in(recipe, "sm_90", torch.float32, lambda: with_gradients(F.linear, gy, x, w),
                         (y, *linear_by_oracle(x, w, None, gy, recipe, **rule("sm_90"))[1:]), order=order)

    def test_an_order_that_is_a_function(self):
        x, w, gy = magnitudes(1, 5, 300), magnitudes(2, 6, 300), magnitudes(3, 5, 6)
        order = binade.GemmModel("mma.m16n8k16.f32.f16.f16.f32", "sm_80", k_order="descending")
        words = {**rule("sm_90"), "order": (order, ("binary16", "binary16"))}
        self.held_in(HYBRID, "sm_90", torch.float32, lambda: with_gradients(F.linear, gy, x, w),
                     linear_by_oracle(x, w, None, gy, HYBRID, **words), order=lambda kind, dtype: order)
        self.held_in(HYBRID, "sm_90", torch.float32, lambda: with_gradients(F.linear, gy, x, w),
                     linear_by_oracle(x, w, None, gy, HYBRID, **rule("sm_90")), order=lambda kind, dtype: None)

    def test_what_covered_says_is_the_instruction(self):
        for arch, recipe in itertools.product(ARCHITECTURES, FORMATS):
            with mode(arch, recipe) as ran:
                with_gradients(F.linear, torch.ones(2, 3), torch.ones(2, 4), torch.ones(3, 4))
            d = recipe.backward or recipe.operands
            wanted = {narrow.instruction(arch, a, b)[0] for a, b in ((recipe.operands,) * 2, (d, recipe.operands))}
            self.assertEqual({one.how.split(" on ")[0] for one in ran.covered()}, wanted)

    def test_what_is_no_product_of_two_matrices_stays_in_its_dtype(self):
        a, b, v = magnitudes(1, 3, 6, 37), magnitudes(2, 3, 37, 9), magnitudes(3, 37)
        words, rows = rule("sm_90", torch.float16), values(a.half())
        for call, wanted in ((lambda: torch.bmm(a.half(), b.half()), plain.matmul(rows, values(b.half()), **words)),
                             (lambda: torch.mv(a[0], v),
                              plain.matmul(values(a[0]), values(v), **plain.of_vectors(rule("sm_90"), "mv"))),
                             (lambda: torch.einsum("bik,bkj->bij", a.half(), b.half()),
                              plain.matmul(rows, values(b.half()), **words))):
            with mode("sm_90", HYBRID) as ran:
                got = call()
            self.assertNotIn("e4m3", ran.covered()[0].how)
            self.equal(got, wanted)
        if hasattr(F, "scaled_dot_product_attention"):
            q = magnitudes(4, 1, 2, 8, 16, high=0).half()
            for attention in ("flash", "math"):
                results = []
                for recipe in (HYBRID, Recipe(None)):
                    with mode("sm_90", recipe, attention=attention) as ran:
                        results.append(with_gradients(F.scaled_dot_product_attention, torch.ones_like(q), q, q, q))
                    self.assertFalse(any("e4m3" in one.how for one in ran.covered()))
                for mine, theirs in zip(*results):
                    self.equal(mine, values(theirs))


class Convolutions(NarrowCase):
    def held_of(self, case, recipe, arch, dtype, x, w, bias, gy):
        def call():
            return with_gradients(lambda xs, ws: convolved(case, xs, ws, bias), gy, x, w)
        by_oracle = narrow.convolution if case.more is None else narrow.transposed_convolution
        given = (None if one is None else values(one) for one in (x, w, gy))
        self.held_in(recipe, arch, dtype, call,
                     by_oracle(*given, geometry(case), size(case), None if bias is None else values(bias), recipe,
                               **rule(arch, dtype)))

    def test_of_every_kind_and_both_gradients(self):
        recipes = (HYBRID, Recipe("e2m1", "e3m2", "amax"), Recipe("e4m3", "e5m2", "row"), Recipe("e4m3", "e5m7", "1x16"),
                   Recipe("e5m2", "e4m3", "16x16"))
        for name, dtype in (("strided, padded, dilated", torch.bfloat16), ("grouped", torch.float32),
                            ("transposed, of one dimension", torch.float16), ("transposed, grouped", torch.float32)):
            for arch, recipe in zip(itertools.cycle(("sm_90", "sm_80", "sm_120")), recipes):
                with self.subTest(name, arch=arch, recipe=recipe):
                    x, w, bias, gy = operands(CASES[name], dtype, magnitudes)
                    self.held_of(CASES[name], recipe, arch, dtype, x, w, bias, gy)

    def test_on_every_architecture(self):
        for arch, recipe in itertools.product(ARCHITECTURES, (HYBRID._replace(scale="amax"), Recipe("e2m1", scale="16x16"))):
            case = CASES["of one dimension"]
            self.held_of(case, recipe, arch, torch.float32, *operands(case, of=magnitudes))

    def test_what_the_kernel_steps_over_counts_for_the_scale_of_the_whole(self):
        case = CASES["with a kernel of one pixel"]._replace(image=(2, 9, 5, 4), weight=(7, 9, 1, 1), stride=(2, 2))
        x, w, bias, gy = operands(case, of=magnitudes)
        x[0, 3, 1, 1], seen = 3e9, x.clone()
        seen[0, 3, 1, 1] = 0
        recipe = HYBRID._replace(scale="amax")
        self.held_of(case, recipe, "sm_90", torch.float32, x, w, bias, gy)
        with mode("sm_90", recipe):
            self.assertFalse(same_bits(*(values(convolved(case, one, w, bias)) for one in (x, seen))).all())
        for scale in (None, "row", "1x16"):
            self.held_of(case, recipe._replace(scale=scale), "sm_90", torch.float32, x, w, bias, gy)


class Refusals(NarrowCase):
    def test_each_in_one_line(self):
        model = torch.nn.Sequential(torch.nn.Linear(3, 3))
        for words, error, message in (
            ({"operands": "e4m33"}, ValueError, "operands 'e4m33'"),
            ({"operands": "fp8"}, ValueError, "fp8"),
            ({"operands": "binary64"}, ValueError, "operands 'binary64'"),
            ({"operands": 3}, TypeError, "a format is wanted"),
            ({"operands": "e4m3", "backward": "e5"}, ValueError, "e5"),
            ({"operands": "e4m3", "backward": "binary64"}, ValueError, "backward 'binary64'"),
            ({"backward": "e5m2"}, ValueError, "^backward= .*operands="),
            ({"scale": "amax"}, ValueError, "^scale= .*operands="),
            ({"promote_every": 4}, ValueError, "^promote_every= .*operands="),
            ({"operands": "e4m3", "scale": "max"}, ValueError, "^scale 'max'"),
            ({"operands": "e4m3", "scale": "2x128"}, ValueError, "^scale '2x128'"),
            ({"operands": "e4m3", "scale": "1x0"}, ValueError, "^scale '1x0'"),
            ({"operands": "e4m3", "scale": "128"}, ValueError, "^scale '128'"),
            ({"operands": "e4m3", "scale": 2.0}, ValueError, "^scale 2.0"),
            ({"operands": "e4m3", "scale": "1x128", "promote_every": 4}, ValueError, "^promote_every"),
            ({"operands": "e4m3", "promote_every": 0}, ValueError, "^promote_every"),
            ({"operands": "e4m3", "promote_every": -2}, ValueError, "^promote_every"),
            ({"operands": "e4m3", "promote_every": 1.5}, TypeError, "^promote_every"),
            ({"operands": "e4m3", "modules": {"0": None}}, TypeError, "model="),
            ({"operands": "e4m3", "model": model}, TypeError, "modules"),
            ({"operands": "e4m3", "model": 3, "modules": {"0": None}}, TypeError, "model"),
            ({"operands": "e4m3", "model": model, "modules": {"1": None}}, ValueError, "'1'"),
            ({"operands": "e4m3", "model": model, "modules": ["0"]}, TypeError, "modules"),
            ({"operands": "e4m3", "model": model, "modules": {0: None}}, TypeError, "modules"),
            ({"operands": "e4m3", "model": model, "modules": {"0": "e4m3"}}, TypeError, "modules.*'e4m3'"),
            ({"operands": "e4m3", "model": model, "modules": {"0": {"operand": "e5m2"}}}, TypeError, "'operand'"),
            ({"operands": "e4m3", "model": model, "modules": {"0": {"scale": "max"}}}, ValueError, "scale 'max'"),
            ({"model": model, "modules": {"0": {"scale": "amax"}}}, ValueError, "^.*scale= .*operands="),
            ({"operands": "e4m3", "scale": "1x16", "model": model, "modules": {"0": {"promote_every": 4}}}, ValueError,
             "promote_every"),
        ):
            with self.subTest(**words):
                with self.assertRaisesRegex(error, message) as caught:
                    binade.torch.tensor_cores("sm_90", **words)
                self.assertNotIn("\n", str(caught.exception))


if __name__ == "__main__":
    main()
