# SPDX-License-Identifier: Apache-2.0
#
# binade.torch.compare: the first ops that differ are those that were planted, whatever is fused, packed or transposed beside them.
# SKIP without torch. torch_compare_test.py BINADE
import sys

try:
    import torch

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from cli_case import CliCase, main
from torch_orders import Products, numbers, summed

W = [numbers(n, 12, 8) for n in range(3)]


def apart(x, planted=False):
    q, k, v = (x @ w for w in W)
    weights = (q @ k.t()).softmax(-1)
    return summed(weights[:, None] * v.t(), planted)


def packed(x, planted=False):
    q, k, v = (x @ torch.cat(W, 1)).chunk(3, 1)
    weights = (k @ q.t()).t().softmax(-1)
    return summed((v.t() * weights[:, None]), planted)


class Compare(CliCase):
    x = numbers(9, 6, 12) / 8

    def setUp(self):
        emulated = binade.torch.tensor_cores("sm_80")  # so that a product's columns do not depend on what is packed beside them
        emulated.__enter__()
        self.addCleanup(emulated.__exit__, None, None, None)

    def test_packed_and_transposed_is_the_same(self):
        of = binade.torch.compare(apart, packed, self.x)
        self.assertTrue(of.equal)
        self.assertIsNone(of.first)
        told = of.to_dict()
        self.assertEqual((told["a"]["common"], told["b"]["common"]),
                         (told["a"]["ops"], told["b"]["ops"] - 1))  # but the packed weight
        self.assertTrue(torch.equal(apart(self.x), packed(self.x)))

    def test_the_op_that_was_planted_is_the_first_that_parts(self):
        of = binade.torch.compare(apart, lambda x: packed(x, True), self.x)
        mine, theirs = apart(self.x), packed(self.x, True)
        self.assertFalse(torch.equal(mine, theirs))
        self.assertFalse(of.equal)
        self.assertEqual((of.first["a"]["op"], of.first["b"]["op"]), ("sum", "sum"))
        self.assertEqual(of.first["different"], int((mine != theirs).sum()))
        self.assertEqual(of.to_dict()["results"][0]["different"], of.first["different"])
        self.assertRegex(str(of), r"Where they part:\n  A: sum, \S*torch_orders\.py:\d+, .*\n  B: sum, ")

    def test_a_fused_op_is_held_to_all_that_it_is_fused_of(self):
        bias = numbers(4, 8)
        fused, unfused = (lambda x: torch.addmm(bias, x, W[0]).exp()), (lambda x: ((x @ W[0]) + bias).exp())
        self.assertTrue(binade.torch.compare(fused, unfused, self.x).equal)
        of = binade.torch.compare(fused, lambda x: (bias + (x * 2 @ W[0]) * 0.501).exp(), self.x)
        self.assertEqual((of.first["a"]["op"], of.first["b"]["op"]), ("addmm", "add"))
        self.assertEqual(of.first["b"]["through"], ["mul", "mm", "mul"])

    def test_of_what_comes_of_the_same_the_nearest_are_held_to_each_other(self):
        of = binade.torch.compare(lambda x: (x @ W[0]).exp(), lambda x: ((x * 2 @ W[0]) * 0.501).exp(), self.x)
        self.assertEqual((of.first["a"]["op"], of.first["b"]["op"]), ("mm", "mul"))

    def test_orders_explain_both(self):
        def product(most):
            def fn(x):
                mode.most = most
                return x @ W[0]

            return fn

        with Products(0) as mode:
            of = binade.torch.compare(product(len(self.x)), product(0), self.x)
            differing = int((product(len(self.x))(self.x) != product(0)(self.x)).sum())
        self.assertEqual([of.first[key]["orders"]["order"] for key in "ab"], ["k ascending", "k descending"])
        self.assertEqual(of.first["different"], differing)

    def test_they_may_part_and_meet_again(self):
        near = lambda x, planted: summed(x, planted).sign()  # noqa: E731
        of = binade.torch.compare(lambda x: near(x, False), lambda x: near(x, True), self.x)
        self.assertTrue(of.equal)
        self.assertEqual(of.first["a"]["op"], "sum")
        self.assertIn("they part, and meet again", str(of))

    def test_another_dtype_and_other_shapes_are_differences(self):
        half = binade.torch.compare(lambda x: x @ W[0], lambda x: x.bfloat16() @ W[0].bfloat16(), self.x)
        self.assertFalse(half.equal)
        self.assertEqual((half.first["ulps"], half.first["b"]["dtypes"]), (None, ["bfloat16"]))
        self.assertFalse(binade.torch.compare(torch.exp, lambda x: x.exp()[:2], self.x).equal)
        self.assertFalse(binade.torch.compare(torch.exp, lambda x: (x.exp(), x), self.x).equal)
        self.assertTrue(binade.torch.compare(torch.add, lambda a, b: b + a, (self.x, self.x * 3)).equal)

    def test_modules_and_sites_are_named(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(12, 4), torch.nn.Tanh())
        of = binade.torch.compare(model, lambda x: model(x * 1.0001), self.x)
        self.assertEqual((of.first["a"]["module"], of.first["b"]["module"]), ("0", "0"))
        self.assertRegex(of.first["a"]["site"], r"torch_compare_test\.py:\d+$")

    def test_nothing_to_compare_is_refused(self):
        with self.assertRaisesRegex(ValueError, "nothing to compare"):
            binade.torch.compare(lambda x: None, lambda x: None, torch.ones(2, 3))


if __name__ == "__main__":
    main()
