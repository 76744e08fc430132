# SPDX-License-Identifier: Apache-2.0
#
# binade.torch.compare: the first ops that differ are those that were planted, whatever is fused, packed or transposed beside them.
# What is opaque is compared by what it gives when it is called. SKIP without torch. torch_compare_test.py BINADE
import dataclasses
import random
import sys
import unittest

try:
    import numpy
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


class Opaque(CliCase):
    """Functions whose ops are not all seen: both are compared by what they give."""

    x = numbers(9, 6, 12) / 8

    def test_outputs_of_what_hides_its_ops_are_compared_and_it_is_named(self):
        hidden = lambda x, by=1.0: torch.from_numpy(x.numpy() * numpy.float32(by)) + 1  # noqa: E731
        of = binade.torch.compare(lambda x: x + 1, hidden, self.x)
        self.assertTrue(of.equal)
        self.assertRegex(str(of), r"B is opaque in part: what gives add, \S*torch_compare_test.py:\d+, an operand that no op that was "
                         "seen has made.*that run gave the bits of the call")
        self.assertEqual(of.to_dict()["a"]["opaque"], [])
        of = binade.torch.compare(lambda x: x * 1, lambda x: torch.from_numpy(x.numpy() * numpy.float32(1.5)), self.x)
        self.assertEqual((of.equal, of.to_dict()["results"][0]["different"]), (False, int((self.x != 0).sum())))
        self.assertIn("what gives the result", of.to_dict()["b"]["opaque"][0])
        constant = numbers(3, 6, 12)
        self.assertEqual(binade.torch.compare(lambda x: x + constant, lambda x: constant + x, self.x).to_dict()["b"]["opaque"], [])

    def test_a_function_that_gives_something_else_when_it_is_recorded(self):
        def fn(x):
            return x if binade.torch.observe.recorder.open_here.__dict__.get("recorders") else x + 1

        of = binade.torch.compare(lambda x: x * 1, fn, self.x)
        self.assertFalse(of.equal)
        self.assertIn("72 of 72 elements differ", of.to_dict()["b"]["recorded"])
        self.assertRegex(str(of), "Where they part is not seen, since B did not give it while ops were recorded")

        def fails(x):
            if binade.torch.observe.recorder.open_here.__dict__.get("recorders"):
                raise KeyError("none")
            return x * 1

        of = binade.torch.compare(lambda x: x * 1, fails, self.x)
        self.assertTrue(of.equal)
        self.assertEqual(of.to_dict()["b"]["recorded"], "it failed: KeyError: 'none'")

    def test_torchscript_and_cuda_graphs_are_named(self):
        class CUDAGraph:  # in the place of torch.cuda.CUDAGraph
            def replay(self):
                kept.mul_(3)

        def graphed(x):
            kept.copy_(x)
            graph.replay()
            return kept

        kept, graph = torch.zeros(6, 12), CUDAGraph()
        traced = torch.jit.trace(lambda x: x * 3, (self.x,))
        for fn, words in ((traced, "TorchScript of "), (lambda x: traced(x), "TorchScript of "),
                          (torch.nn.Sequential(torch.jit.trace(torch.nn.ReLU(), (self.x,))), "TorchScript of ReLU"),
                          (graphed, "a CUDA graph")):
            of = binade.torch.compare((lambda x: x * 3) if "ReLU" not in words else torch.relu, fn, self.x)
            self.assertTrue(of.equal)
            self.assertIn(f"B is opaque in part: {words}", str(of))

    def test_what_is_no_tensor_is_told(self):
        for a, b, equal, words in (
            (3, 3, True, "Both give 3, too"), (3, 4, False, "what is no tensor differs: output [1] is of A 3, of B 4"), (None, None, True, ""),
            ("a", 1.5, False, "output [1] is of A 'a', of B 1.5"), (iter([]), iter([]), None, "is not seen: output [1], of class list_iterator"),
            (numpy.ones(2), numpy.ones(2), True, ""), (numpy.ones(2), numpy.zeros(2), False, "2 of 2 elements differ"),
            ({"x": (float("nan"),)}, {"x": (float("nan"),)}, True, "nan")):
            of = binade.torch.compare(lambda x: (x, a), lambda x: (x, b), self.x)
            self.assertIs(of.equal, equal)
            self.assertIn(words, str(of))
        self.assertFalse(binade.torch.compare(lambda x: x.sum().item(), lambda x: x.mean().item(), self.x).equal)
        self.assertFalse(binade.torch.compare(lambda x: x.to_sparse(), lambda x: (x * 2).to_sparse(), self.x).equal)

    def test_outputs_are_named_by_their_places(self):
        class Slotted:
            __slots__ = ("logits",)

        class Frame:  # as of pandas: columns and an index
            columns, index = ["a", "b"], numpy.arange(3)

            def __init__(self, last):
                self.last = last

            def items(self):  # columns that live no longer than they are looked at
                return ((name, Column(numpy.array([1.0, 2.0, last]))) for name, last in (("a", 3.0), ("b", self.last)))

        class Column:
            def __init__(self, x):
                self.x = x

            def __array__(self, dtype=None, copy=None):
                return self.x

        @dataclasses.dataclass
        class Out:
            logits: object

        def slotted(x):
            out = Slotted()
            out.logits = x
            return out

        n = numpy.arange(4.0)
        m = n + numpy.array([0, 0, 1, 0])
        shared = [n]
        for a, b, equal, words in (
                ({"logits": n, "loss": n}, {"loss": n, "logits": m}, False, 'output [1]["logits"]: 1 of 4 elements differ'),
                (Out(n), Out(m), False, "output [1].logits: 1 of 4"), (slotted(n), slotted(m), False, "output [1].logits: 1 of 4"),
                ([n, (n, m)], [n, (n, n)], False, "output [1][1][1]: 1 of 4"),
                (Out(n), (n,), True, "A gives what is no tensor: output [1].logits (numpy array); it is compared"),
                (Out(n), (m,), False, "output [1].logits of A, [1][0] of B: 1 of 4"), ([n], [n, n], False, "output [1][1]: B gives a tensor more"),
                (Frame(4.0), Frame(4.0), True, 'output [1].index (numpy array), output [1]["a"] (Column)'),
                (Frame(4.0), Frame(5.0), False, 'output [1]["b"]: 1 of 3 elements differ'),
                ([shared, shared], [[n], [n]], True, ""),
                (numpy.array(["a", "b"]), numpy.array(["a", "c"]), False, "what is no tensor differs: output [1][1] is of A 'b', of B 'c'"),
                (numpy.array([n, None, 3], object), numpy.array([m, None, 3], object), False, "output [1][0]: 1 of 4"),
                (numpy.array([1, 2], "u2"), numpy.array([1, 65535], "u2"), False, "1 of 2"),
                (n.astype(">f8"), m.astype(">f8"), False, "output [1]: 1 of 4"),
                (numpy.array([(1, 2.0)], "i4, f8"), numpy.array([(1, 3.0)], "i4, f8"), False, 'output [1]["f1"]: 1 of 1'),
                (numpy.ma.array(n, mask=n > 1), numpy.ma.array(n, mask=n > 2), False, "output [1].mask: 1 of 4"),
                (numpy.ma.array(n, mask=n > 1), numpy.ma.array(m, mask=n > 1), True, ""),
                ({"x": iter([])}, {"x": iter([])}, None, 'is not seen: output [1]["x"], of class list_iterator')):
            with self.subTest(words):
                of = binade.torch.compare(lambda x: (x, a), lambda x: (x, b), self.x)
                self.assertIs(of.equal, equal)
                self.assertIn(words, str(of))
        self.assertNotIn("output", str(binade.torch.compare(lambda x: x, lambda x: x + 1, self.x)))

    def test_seeds_inputs_and_modes_are_the_same_for_both(self):
        x = self.x.clone()
        of = binade.torch.compare(lambda x: x.mul_(2), lambda x: x.add_(x), x)
        self.assertEqual((of.equal, torch.equal(x, self.x)), (True, True))
        before = random.getstate(), numpy.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
        drawn = lambda x: x + random.random() + numpy.random.rand() + torch.rand(())  # noqa: E731
        of = binade.torch.compare(drawn, lambda x: drawn(x), self.x)
        self.assertTrue(of.equal)
        self.assertRegex(" ".join(of.to_dict()["notes"]), "A draws random numbers .*B draws random numbers")
        self.assertEqual(before, (random.getstate(), numpy.random.get_state()[1].tolist(), torch.get_rng_state().tolist()))
        for mode, wanted in ((torch.no_grad, 0), (torch.inference_mode, 0), (torch.enable_grad, 1)):
            with mode():
                self.assertTrue(binade.torch.compare(lambda x: x + torch.is_grad_enabled(), lambda x: x + wanted, self.x).equal)

    def test_two_calls_that_give_something_else_are_told(self):
        calls = []
        of = binade.torch.compare(lambda x: x * 1, lambda x: calls.append(x) or x * len(calls), self.x)
        self.assertFalse(of.equal)  # in the first call it gave the same
        self.assertIn("B does not give the same in two equal calls", of.to_dict()["notes"][0])


@unittest.skipUnless(hasattr(torch, "compile"), "torch.compile came with torch 2.0; the suite torch-latest has it")
class Compiled(CliCase):
    def test_a_compiled_function_is_compared_as_it_runs(self):
        torch.manual_seed(119)
        w, b, x = torch.randn(32, 17), torch.randn(17), torch.randn(30, 32)

        def fn(x):
            return (x @ w).to(torch.bfloat16) + b

        with torch.no_grad():
            compiled = torch.compile(fn)
            of = binade.torch.compare(fn, compiled, x)
            wanted = int((fn(x) != compiled(x)).sum())
        self.assertGreater(wanted, 0)
        self.assertEqual((of.equal, of.to_dict()["results"][0]["different"]), (False, wanted))
        self.assertRegex(str(of), r"B is opaque in part: torch.compile of fn \(\S*torch_compare_test.py:\d+\)")
        self.assertIn(f"{wanted} of 510", of.to_dict()["b"]["recorded"])

        class Hiding:  # so that only its frame tells what it calls
            __slots__ = ("fn",)

            def __call__(self, x):
                return self.fn(x)

        hiding = Hiding()
        hiding.fn = compiled
        with torch.no_grad():
            self.assertIn("torch.compile of fn", str(binade.torch.compare(fn, hiding, x)))


if __name__ == "__main__":
    main()
