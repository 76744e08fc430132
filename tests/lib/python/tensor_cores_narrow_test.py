# SPDX-License-Identifier: Apache-2.0
#
# Products of ordinary tensors in narrow formats within binade.torch.tensor_cores: every op, format, scale and architecture in
# all bits what the oracle gives. SKIP without torch. tensor_cores_narrow_test.py BINADE
import copy
import fractions
import gc
import itertools
import pickle
import sys

try:
    import numpy as np
    import torch
    import torch.utils.checkpoint

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

import tensor_cores_narrow_oracle as narrow
import tensor_cores_oracle as plain
from cli_case import main
from tensor_cores_case import TensorCoresCase, leaves, same_bits, values
from tensor_cores_convolutions_test import CASES, convolved, geometry, operands, size
from tensor_cores_narrow_oracle import Recipe

import binade

F = torch.nn.functional
ARCHITECTURES = ("sm_70", "sm_80", "sm_90", "sm_100", "sm_120")
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
HYBRID = Recipe("e4m3", "e5m2")
FORMATS = (HYBRID, Recipe("e5m2"), Recipe("e2m1"), Recipe("e3m2", "e2m3"), Recipe("e2m1", "e4m3"), Recipe("e5m7"),
           Recipe("bfloat16"),
           Recipe("e4m3", "bfloat16"), Recipe("binary16", "bfloat16"), Recipe("tf32"), Recipe("binary32"))
SCALES = ("amax", "row", "1x128", "128x128", "1x16", "16x16")


def magnitudes(seed, *shape, dtype=torch.float32, low=-11, high=11):
    """Of either sign, every binade from 2^low to 2^high about as often: something is cut, rounded, lost and too large."""
    generator = np.random.default_rng(seed)
    return torch.tensor(generator.choice((-1, 1), shape) * 2 ** generator.uniform(low, high, shape)).to(dtype)


def rule(arch, dtype=torch.float32):
    return {"arch": arch, "dtype": str(dtype).split(".")[1]}


def mode(arch, recipe, **more):
    return binade.torch.tensor_cores(arch, **recipe._asdict(), **more)


def linear_by_oracle(x, w, bias, gy, recipe, **words):
    x, w, gy = values(x), values(w), values(gy)
    return (narrow.product(x, w.T, "xw", recipe, bias=None if bias is None else values(bias), **words),
            narrow.product(gy, w, "dw", recipe, **words), narrow.product(gy.T, x, "dx", recipe, **words))


def with_gradients(layer, gy, *tensors):
    given = leaves(*tensors)
    y = layer(*given)
    return y, *torch.autograd.grad(y, given, gy)


class NarrowCase(TensorCoresCase):
    def held_in(self, recipe, arch, dtype, call, wanted, **more):
        with mode(arch, recipe, **more) as ran:
            got = call()
        self.assertTrue(ran.covered(), "nothing was covered")
        self.assertEqual(len(got), len(wanted))
        for i, (mine, theirs) in enumerate(zip(got, wanted)):
            self.assertEqual(mine.dtype, dtype)
            self.equal(mine, theirs, f"result {i}")
        return ran

    def linear(self, recipe, arch, dtype, x, w, bias, gy, **more):
        def call():
            return with_gradients(lambda xs, ws: F.linear(xs, ws, bias), gy, x, w)
        return self.held_in(recipe, arch, dtype, call, linear_by_oracle(x, w, bias, gy, recipe, **rule(arch, dtype)), **more)


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


class ByOracle(torch.autograd.Function):
    """A linear layer and its gradients, wherever autograd has it."""
    @staticmethod
    def forward(ctx, x, w, bias, recipe):
        ctx.save_for_backward(x, w)
        ctx.recipe, ctx.biased = recipe, bias is not None
        rows = values(x).reshape(-1, x.shape[-1])
        y = narrow.product(rows, values(w).T, "xw", recipe, bias=None if bias is None else values(bias), **rule("sm_90", x.dtype))
        return torch.tensor(y).to(x.dtype).reshape(*x.shape[:-1], len(w))

    @staticmethod
    def backward(ctx, gy):
        x, w = ctx.saved_tensors
        rows, gradient = values(x).reshape(-1, x.shape[-1]), values(gy).reshape(-1, gy.shape[-1])
        gx = narrow.product(gradient, values(w), "dw", ctx.recipe, **rule("sm_90", x.dtype))
        gw = narrow.product(gradient.T, rows, "dx", ctx.recipe, **rule("sm_90", x.dtype))
        bias = gy.reshape(-1, gy.shape[-1]).sum(0) if ctx.biased else None
        return torch.tensor(gx).to(x.dtype).reshape(x.shape), torch.tensor(gw).to(x.dtype), bias, None


def twin(model, recipes):
    """A copy whose linear layers are the oracle's, each of the first recipe whose name is the layer's."""
    other = copy.deepcopy(model)
    for name, layer in other.named_modules():
        if isinstance(layer, torch.nn.Linear):
            layer.forward = lambda x, layer=layer, recipe=recipes[name]: ByOracle.apply(x, layer.weight, layer.bias, recipe)
    return other


class Block(torch.nn.Module):
    """q, k and v have one input."""
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (torch.nn.Linear(12, 12, bias=i == 3) for i in range(4))

    def forward(self, x):
        return self.out(self.q(x) * self.k(x).tanh() + self.v(x))


def numbered(model, seed=7):
    for i, parameter in enumerate(model.parameters()):
        parameter.data.copy_(magnitudes(seed + i, *parameter.shape, low=-5, high=1))
    return model


def step(model, x, *, gradient_of_x=True):
    """The output, and all gradients."""
    model.zero_grad()
    x = x.clone().requires_grad_(gradient_of_x)
    y = model(x)
    y.backward(magnitudes(40, *y.shape, low=-6, high=2))
    return [y] + [x.grad] * gradient_of_x + [parameter.grad for parameter in model.parameters()]


AMAX, BLOCKS, SHORT = HYBRID._replace(scale="amax"), HYBRID._replace(scale="8x8"), Recipe("e5m2", "e5m2")
INPUT = magnitudes(30, 5, 12, low=-6, high=3)


class Modules(NarrowCase):
    def same(self, mine, theirs):
        self.assertEqual(len(mine), len(theirs))
        for i, (one, other) in enumerate(zip(mine, theirs)):
            self.equal(one, values(other), f"result {i}")

    def held_of(self, model, recipes, modules, base=HYBRID, run=step, x=INPUT, **words):
        """recipes: by a layer's name, the oracle's; modules: what tensor_cores is given."""
        with mode("sm_90", base, **({"model": model, "modules": modules} if modules is not None else {})):
            mine = run(model, x, **words)
        other = twin(model, recipes)
        self.same(mine, run(other, x, **words))

    def test_a_model_without_settings_of_its_own(self):
        model = numbered(torch.nn.Sequential(torch.nn.Linear(12, 9), torch.nn.ReLU(), torch.nn.Linear(9, 12)))
        self.held_of(model, {"0": AMAX, "2": AMAX}, None, AMAX)

    def test_settings_by_name(self):
        model = numbered(torch.nn.Sequential(*(torch.nn.Linear(12, 12) for _ in range(4))))
        recipes = {"0": HYBRID, "1": None, "2": BLOCKS, "3": SHORT}
        modules = {"1": None, "2": {"scale": "8x8"}, "[3-9]": {"operands": "e5m2"}}
        self.held_of(model, recipes, modules)
        self.held_of(model, {**recipes, "0": AMAX}, {**modules, "?": {"scale": "amax"}})  # the first pattern wins
        self.held_of(model, dict.fromkeys("0123", AMAX), {"?": {"scale": "amax"}, **modules})
        self.held_of(model, {"0": None, "1": HYBRID, "2": None, "3": None},
                     {"1": {"operands": "e4m3", "backward": "e5m2"}}, base=Recipe(None))

    def test_the_innermost_module_says(self):
        model = numbered(torch.nn.Sequential(torch.nn.Sequential(Block(), torch.nn.Linear(12, 12)), torch.nn.Linear(12, 12)))
        inner = {f"0.0.{name}": AMAX for name in ("q", "k", "v", "out")}
        self.held_of(model, {**inner, "0.0.out": SHORT, "0.1": None, "1": HYBRID},
                     {"0.0.out": {"operands": "e5m2"}, "0.0": {"scale": "amax"}, "0": None})
        self.held_of(model, {**dict.fromkeys(inner, None), "0.0.out": SHORT, "0.1": HYBRID, "1": HYBRID},
                     {"0.0": None, "0.0.out": {"operands": "e5m2"}})

    def test_one_input_of_three_layers_with_recipes_of_their_own(self):
        model = numbered(Block())
        different = {AMAX: {"scale": "amax"}, SHORT: {"operands": "e5m2"}, None: None}
        for recipes, needed in itertools.product(itertools.permutations(different), (True, False)):
            with self.subTest(recipes=recipes, needed=needed):
                own = dict(zip(("q", "k", "v"), recipes))
                self.held_of(model, {**own, "out": HYBRID}, {name: different[own[name]] for name in own}, gradient_of_x=needed)

    def test_one_weight_of_two_layers_with_recipes_of_their_own(self):
        for tied, recipe in (({"operands": "e5m2"}, SHORT), (None, None)):
            model = numbered(torch.nn.Sequential(*(torch.nn.Linear(12, 12, bias=False) for _ in range(3))))
            model[2].weight = model[0].weight
            with self.subTest(tied=tied):
                self.held_of(model, {"0": AMAX, "1": HYBRID, "2": recipe}, {"0": {"scale": "amax"}, "2": tied})

    def test_one_layer_twice(self):
        layer = torch.nn.Linear(12, 12)
        model = numbered(torch.nn.Sequential(layer, torch.nn.Tanh(), layer))
        other = twin(model, {"0": AMAX})
        with mode("sm_90", HYBRID, model=model, modules={"0": {"scale": "amax"}}):
            mine = step(model, INPUT)
        self.same(mine, step(other, INPUT))

    def test_checkpoints_run_forward_again(self):
        checkpoint = torch.utils.checkpoint.checkpoint
        for reentrant in (True, False):
            def run(model, x):
                model.zero_grad()
                x = x.clone().requires_grad_()
                y = model[1](checkpoint(model[0], x, use_reentrant=reentrant))
                y.backward(magnitudes(40, *y.shape))
                return [y, x.grad] + [parameter.grad for parameter in model.parameters()]
            model = numbered(torch.nn.Sequential(Block(), torch.nn.Linear(12, 12)))
            recipes = {**dict.fromkeys(("0.q", "0.k", "0.v"), BLOCKS), "0.out": SHORT, "1": AMAX}
            with self.subTest(reentrant=reentrant):
                self.held_of(model, recipes, {"0.out": {"operands": "e5m2"}, "0": {"scale": "8x8"}, "1": {"scale": "amax"}},
                             run=run)

    def test_a_checkpoint_that_stops_early_says_nothing_of_the_next(self):
        checkpoint = torch.utils.checkpoint.checkpoint

        def run(model, x):
            model.zero_grad()
            y = checkpoint(model[1], checkpoint(model[0], x.clone().requires_grad_(), use_reentrant=False), use_reentrant=False)
            y.backward(magnitudes(40, *y.shape))
            return [y] + [parameter.grad for parameter in model.parameters()] + [torch.mm(INPUT, INPUT.t())]
        model = numbered(torch.nn.Sequential(Block(), Block()))
        recipes = {f"{i}.{name}": HYBRID for i in range(2) for name in ("q", "k", "v", "out")}
        with mode("sm_90", HYBRID, model=model, modules={"1.out": {"operands": "e5m2"}}):
            mine = run(model, INPUT)
        x = values(INPUT)
        wanted = run(twin(model, {**recipes, "1.out": SHORT}), INPUT)[:-1]
        self.same(mine, wanted + [torch.from_numpy(narrow.product(x, x.T, "xw", HYBRID, **rule("sm_90")))])

    def test_a_module_that_failed_says_nothing_of_what_comes_after(self):
        model = numbered(torch.nn.Sequential(torch.nn.Linear(12, 12)))
        with mode("sm_90", HYBRID, model=model, modules={"0": None}):
            with self.assertRaises(RuntimeError):
                model(INPUT[:, :5])
            y = model(INPUT), torch.mm(INPUT, INPUT.t())
        x, (w, bias) = values(INPUT), map(values, model.parameters())
        self.same(y, [torch.from_numpy(narrow.product(x, w.T, "xw", None, bias=bias, **rule("sm_90"))),
                      torch.from_numpy(narrow.product(x, x.T, "xw", HYBRID, **rule("sm_90")))])

    def test_a_model_may_be_copied_and_saved_meanwhile(self):
        model = numbered(Block())

        def run(model, x):
            copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))] if "forward" not in model.q.__dict__ else [model]
            self.assertEqual(len(list(copies[0].parameters())), 5)
            del copies
            gc.collect()
            return step(model, x)
        modules = {"q": {"scale": "amax"}, "out": None}
        self.held_of(model, {"q": AMAX, "k": HYBRID, "v": HYBRID, "out": None}, modules, run=run)
        self.assertFalse(any(module._forward_hooks or module._forward_pre_hooks for module in model.modules()))

    def test_results_that_are_given(self):
        a, b, c = magnitudes(1, 6, 6, high=5), magnitudes(2, 6, 6, high=5), magnitudes(3, 6, 6, high=5)
        words = rule("sm_90")
        x, y, added = values(a), values(b), narrow.product(values(a), values(b), "xw", HYBRID, c=values(c), **words)
        with mode("sm_90", HYBRID):
            self.equal(c.addmm_(a, b), added)
            self.equal(torch.mm(a, b, out=a), narrow.product(x, y, "xw", HYBRID, **words))

    def test_a_gradient_that_is_one_number_expanded(self):
        x, w = magnitudes(1, 2, 3, 12, low=-3, high=3), magnitudes(2, 7, 12, low=-3, high=3)

        def run(model, x):
            model.zero_grad()
            model(x).sum().backward()
            return [parameter.grad for parameter in model.parameters()]
        self.held_of(numbered(Block()), {"q": AMAX, "k": SHORT, "v": None, "out": HYBRID},
                     {"q": {"scale": "amax"}, "k": {"operands": "e5m2"}, "v": None}, run=run, x=x)
        self.held_in(HYBRID, "sm_90", torch.float32, lambda: with_gradients(F.linear, torch.ones(()).expand(2, 3, 7), x, w)[1:], [
            one.reshape(shape) for one, shape in zip(linear_by_oracle(x.reshape(6, 12), w, None, torch.ones(6, 7), HYBRID,
                                                                      **rule("sm_90"))[1:], ((2, 3, 12), (7, 12)))])

    def test_convolutions_by_name_and_with_one_weight(self):
        case = CASES["with a kernel of one pixel"]._replace(image=(2, 6, 5, 4), weight=(6, 6, 1, 1))
        x, w, _, gy = operands(case, of=magnitudes)
        model = torch.nn.Sequential(*(torch.nn.Conv2d(6, 6, 1, bias=False) for _ in range(2)))
        model[0].weight.data.copy_(w)
        model[1].weight = model[0].weight
        g, (x, w, gy) = geometry(case), map(values, (x, w, gy))
        hidden = narrow.convolution(x, w, gy, g, size(case), None, AMAX, **rule("sm_90"))[0]
        y, back, gw = narrow.convolution(hidden, w, gy, g, size(case), None, SHORT, **rule("sm_90"))
        _, gx, gw0 = narrow.convolution(x, w, back, g, size(case), None, AMAX, **rule("sm_90"))

        def call():
            given = torch.from_numpy(x).requires_grad_()
            out = model(given)
            return out, *torch.autograd.grad(out, (given, model[0].weight), torch.from_numpy(gy))
        self.held_in(HYBRID, "sm_90", torch.float32, call, (y, gx, gw + gw0), model=model,
                     modules={"0": {"scale": "amax"}, "1": {"operands": "e5m2"}})

    def test_a_backward_pass_whose_gradients_are_wanted_is_a_forward_one(self):
        sizes = (5, 12), (7, 12), (5, 7), (5, 12)
        x, w, gy, u = (magnitudes(seed, *size, high=3) for seed, size in enumerate(sizes, 1))
        words = rule("sm_90")
        a, b, d, v = map(values, (x, w, gy, u))

        def call():
            xs, ws, ds = leaves(x, w, gy)
            gx, = torch.autograd.grad(F.linear(xs, ws), xs, ds, create_graph=True)
            return gx, *torch.autograd.grad(gx, (ws, ds), u)
        self.held_in(HYBRID, "sm_90", torch.float32, call, (
            narrow.product(d, b, "xw", HYBRID, **words), narrow.product(d.T, v, "xd", HYBRID, **words),
            narrow.product(v, b.T, "dw", HYBRID, **words)))

    def test_without_gradients(self):
        model = numbered(Block()).eval()

        def run(model, x):
            with torch.no_grad():
                return [model(x), model(x[:2])]
        self.held_of(model, {"q": AMAX, "k": HYBRID, "v": HYBRID, "out": None}, {"q": {"scale": "amax"}, "out": None}, run=run)
        with mode("sm_90", HYBRID):
            self.same([torch.inference_mode()(lambda: model(INPUT))()],
                      [twin(model, dict.fromkeys(("q", "k", "v", "out"), HYBRID))(INPUT)])

    def test_several_backward_passes_and_models_in_between(self):
        between = numbered(Block(), 50)

        def run(model, x):
            model.zero_grad()
            x = x.clone().requires_grad_()
            other = twin(between, dict.fromkeys(("q", "k", "v", "out"), AMAX)) if "forward" in model.q.__dict__ else between
            y = model(x)
            gradients = step(other, x.detach())
            for i in range(2):
                y.backward(magnitudes(40 + i, *y.shape), retain_graph=True)
            later = model(x.detach() * 2)  # gradients are accumulated
            gradients += step(other, x.detach())
            later.backward(magnitudes(44, *later.shape))
            y.backward(magnitudes(45, *y.shape))
            return gradients + [y, later, x.grad] + [parameter.grad for parameter in model.parameters()]
        self.held_of(numbered(Block()), {"q": AMAX, "k": AMAX, "v": AMAX, "out": None}, {"out": None}, AMAX, run)

    def test_a_gradient_that_is_an_operand_of_the_next_forward_pass(self):
        a, b, gy = magnitudes(1, 6, 6), magnitudes(2, 6, 6), magnitudes(3, 6, 6)
        words = rule("sm_90")

        def call():
            x, w = leaves(a, b)
            y = torch.mm(x, w)
            gx, = torch.autograd.grad(y, x, gy)
            z = torch.mm(gx, w)
            return z, *torch.autograd.grad(z, w, gy)
        gx = narrow.product(values(gy), values(b).T, "dw", HYBRID, **words)
        self.held_in(HYBRID, "sm_90", torch.float32, call, (
            narrow.product(gx, values(b), "xw", HYBRID, **words), narrow.product(gx.T, values(gy), "xd", HYBRID, **words)))

    def test_operands_are_known_however_many_products_come_between(self):
        x, w, gy = magnitudes(1, 5, 12), magnitudes(2, 6, 12), magnitudes(3, 5, 6)

        def call():
            xs, ws = leaves(x, w)
            y = F.linear(xs, ws)
            for _ in range(600):
                torch.mm(torch.ones(1, 1), torch.ones(1, 1))
            return y, *torch.autograd.grad(y, (xs, ws), gy)
        self.held_in(HYBRID, "sm_90", torch.float32, call, linear_by_oracle(x, w, None, gy, HYBRID, **rule("sm_90")))

    def test_an_operand_that_is_its_own_partner(self):
        a, gy = magnitudes(1, 6, 6), magnitudes(3, 6, 6)
        x, d, words = values(a), values(gy), rule("sm_90")

        def call():
            given, = leaves(a)
            y = torch.mm(given, given)
            return y, *torch.autograd.grad(y, given, gy)
        wanted = narrow.product(d, x.T, "dw", AMAX, **words) + narrow.product(x.T, d, "xd", AMAX, **words)
        self.held_in(AMAX, "sm_90", torch.float32, call, (narrow.product(x, x, "xw", AMAX, **words), wanted))


class Layers(NarrowCase):
    def test_a_recurrent_layer(self):
        layer = numbered(torch.nn.LSTM(12, 8))
        x = magnitudes(1, 3, 2, 12, low=-4, high=2)
        given = leaves(*layer.parameters())
        with mode("sm_90", AMAX) as ran:
            got, _ = layer(x)
            got.sum().backward()
        h = c = torch.zeros(2, 8)
        from_input, states = ByOracle.apply(x, given[0], given[2], AMAX), []
        for t in range(3):
            i, f, g, o = (ByOracle.apply(h, given[1], given[3], AMAX) + from_input[t]).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            states.append(h)
            self.equal(got[t], values(h))
        torch.stack(states).sum().backward()
        for parameter, one in zip(layer.parameters(), given):
            self.equal(parameter.grad, values(one.grad))
        self.assertEqual({one.how.split(".", 3)[3].split(" ")[0] for one in ran.covered()}, {"e4m3.e4m3", "e5m2.e4m3"})

    def test_attention_between_its_layers(self):
        layer = numbered(torch.nn.MultiheadAttention(12, 3))
        x, gy = magnitudes(1, 4, 2, 12, low=-3, high=1), magnitudes(2, 4, 2, 12)

        def run():
            layer.zero_grad()
            given, = leaves(x)
            y, _ = layer(given, given, given)
            y.backward(gy)
            return [y, given.grad] + [parameter.grad for parameter in layer.parameters()]
        with mode("sm_90", AMAX) as ran:
            mine = run()
        self.assertEqual({one.op for one in ran.covered() if "e4m3" not in one.how},
                         {"bmm"} | {"baddbmm"} & {one.op for one in ran.covered()})
        own = F.linear
        F.linear = lambda x, w, bias=None: ByOracle.apply(x, w, bias, AMAX)
        try:
            with binade.torch.tensor_cores("sm_90"):
                wanted = run()
        finally:
            F.linear = own
        for one, other in zip(mine, wanted):
            self.equal(one, values(other))


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
