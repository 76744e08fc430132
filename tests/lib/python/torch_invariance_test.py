# SPDX-License-Identifier: Apache-2.0
#
# binade.torch.invariance: planted ops, whose bits depend on the batch, are named and no others; rows are followed through ops
# that move their axis; an op that mixes rows is not reported. SKIP without torch. torch_invariance_test.py BINADE
import json
import sys

try:
    import torch

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from cli_case import CliCase, main
from torch_orders import Products, numbers, summed

F = torch.nn.functional
SIZES = (1, 2, 5)


def found(fn, x, **more):
    return binade.torch.invariance(fn, x, SIZES, **more)


def statuses(of):
    return {op["op"]: op["status"] for op in of.ops}


class Experts(torch.nn.Module):
    """A mixture of experts, two for each row."""

    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Linear(16, 4)
        self.experts = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 16))
                                           for _ in range(4))
        self.head = torch.nn.Linear(16, 3)

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
        y = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows, which = (chosen == i).nonzero(as_tuple=True)
            if len(rows):
                y = y.index_add(0, rows, expert(x[rows]) * weights[rows, which, None])
        return self.head(x + y)


class Invariance(CliCase):
    x = numbers(1, 7, 4, 6)

    def test_an_op_that_sums_in_another_order_in_larger_batches_is_named(self):
        def fn(x):
            y = summed(x.exp(), len(x) > 2)  # planted
            return y.tanh()

        of = found(fn, self.x)
        self.assertTrue(of.variant)
        self.assertEqual(statuses(of), {"exp": "same", "sum": "variant", "tanh": "same", "the result": "same"})
        self.assertEqual([row["batch"] for row in of.first["differs"]], [5])
        self.assertEqual((of.first["op"], of.first["outputs"]), ("sum", [[1, 4]]))
        self.assertIn("torch_orders.py:", of.first["site"])
        y = self.x[:1].exp()
        differing = int((summed(y, True) != summed(y, False)).sum())
        self.assertGreater(differing, 0)
        self.assertEqual(of.first["differs"][0]["different"], differing)

    def test_the_row_is_followed_wherever_its_axis_goes(self):
        ways = {
            "batch first": (lambda x: x.exp(), lambda y: y),
            "batch last": (lambda x: x.permute(1, 2, 0).exp(), lambda y: y),
            "time first, both in one axis": (lambda x: x.transpose(0, 1).reshape(-1, 6).exp(), lambda y: y),
            "all in one axis, the batch between": (lambda x: x.permute(1, 0, 2).flatten().exp(), lambda y: y.view(4, -1, 6)),
            "heads repeated": (lambda x: x.flatten(0, 1).repeat_interleave(3, 0).exp(), lambda y: y),
            "the batch squeezed away alone": (lambda x: x[:, 0].squeeze().exp(), lambda y: y),
        }
        for name, (way, back) in ways.items():
            for planted in (False, True):
                def fn(x):
                    y = back(way(x))
                    return summed(y.unsqueeze(-1) * torch.tensor([1.0, 2.0**-25, 2.0**-25]), planted and len(x) > 2).neg()

                with self.subTest(name, planted=planted):
                    of = found(fn, self.x)
                    self.assertEqual(statuses(of)["sum"], "variant" if planted else "same")
                    self.assertEqual(statuses(of)["exp"], "same")
                    self.assertEqual(of.variant, planted)
                    self.assertEqual(statuses(of)["neg"], "same")  # it was given the row's bits

    def test_any_row_can_be_asked_for(self):
        def fn(x):
            return (x + (x == self.x[3]).all(-1, keepdim=True).all(-2, keepdim=True) * (len(x) > 2)).exp()

        self.assertEqual([found(fn, self.x, row=row).variant for row in (2, 3)], [False, True])

    def test_it_agrees_with_running_the_model(self):
        torch.manual_seed(0)
        for width in (16, 40):
            model = torch.nn.Sequential(torch.nn.Linear(width, 24), torch.nn.GELU(), torch.nn.Linear(24, 8, bias=False)).eval()
            x = numbers(width, 5, width)
            with torch.no_grad():
                of = found(model, x)
                alone = model(x[:1])
                for row in of.to_dict()["batches"]:
                    place = row["batch"] // 2
                    others = x[1:row["batch"]]
                    y = model(torch.cat([others[:place], x[:1], others[place:]]))[place:place + 1]
                    self.assertEqual(row["result"] is None, bool(torch.equal(y, alone)))
            self.assertEqual(of.variant, any(row["result"] for row in of.to_dict()["batches"]))

    def test_orders_explain_a_product_that_varies(self):
        w = numbers(3, 24, 8)
        with Products(most=2):
            of = found(lambda x: x @ w, numbers(2, 6, 24))
        self.assertEqual(of.first["op"], "mm")
        self.assertEqual([(row["batches"], row["order"]) for row in of.first["orders"]],
                         [([], "k ascending"), ([5], "k descending")])
        self.assertIn("in batches of 5: k descending", str(of))

    def test_products_of_tensor_cores_do_not_depend_on_the_batch(self):
        model = torch.nn.Linear(24, 8).eval()
        x = numbers(4, 6, 24)

        def inside(x):
            with binade.torch.tensor_cores("sm_90"):
                return model(x)

        with binade.torch.tensor_cores("sm_90"):
            outside = found(model, x)
        for of in (outside, found(inside, x)):
            self.assertEqual(statuses(of), {"addmm": "same", "the result": "same"})
            self.assertEqual(of.ops[0]["module"], "Linear")
        with Products(most=2):  # what the modes' own products are not: seen, and told
            self.assertTrue(found(lambda x: x @ numbers(3, 24, 8), x).variant)

    def test_batch_norm_in_training_mixes_rows_and_is_no_finding(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.BatchNorm1d(4), torch.nn.Tanh())
        before = {name: x.clone() for name, x in model.state_dict().items()}
        of = found(model, self.x)
        self.assertEqual({op["module"]: op["status"] for op in of.ops},
                         {"0": "same", "1": "mixes rows", "2": "after mixed rows", None: "after mixed rows"})
        self.assertFalse(of.variant)
        self.assertIn("Mixes rows:\n  native_batch_norm, of 1, ", str(of))
        for name, x in model.state_dict().items():
            self.assertTrue(torch.equal(x, before[name]), name)
        self.assertEqual({op["status"] for op in found(model.eval(), self.x).ops}, {"same"})

    def test_losses_and_gradients_are_no_findings(self):
        w = numbers(5, 6, 3).requires_grad_()

        def fn(x):
            loss = (torch.cumsum(x, 0) * 0.5 + (x @ w).tanh().sum(-1, keepdim=True)).square().mean()
            return torch.autograd.grad(loss, w)

        with binade.torch.tensor_cores("sm_80"):  # whose own products are the same in every batch
            of = found(fn, self.x)
        self.assertFalse(of.variant, str(of))
        self.assertLess(set(("cumsum", "mm")), set(statuses(of)))
        self.assertEqual(statuses(of)["cumsum"], "mixes rows")

    def test_what_depends_on_the_batchs_size_alone_is_no_finding(self):
        w = numbers(5, 6, 3).requires_grad_()
        with binade.torch.tensor_cores("sm_80"):
            of = found(lambda x: torch.autograd.grad((x @ w).tanh().mean(), w), self.x)
            self.assertEqual([op["status"] for op in of.ops if op["op"] == "div"], ["of the batch"])
            self.assertEqual([op["status"] for op in of.ops if op["op"] == "tanh_backward"], ["after mixed rows"])
        for fn in (lambda x: x * float(x.abs().max()), lambda x: x * x.abs().max()):  # a number, a tensor
            scaled = found(fn, self.x * torch.arange(1, 8)[:, None, None])
            self.assertEqual((statuses(scaled)["mul"], scaled.variant), ("after mixed rows", False))
        self.assertFalse(of.variant, str(of))

    def test_experts_that_get_no_row_and_numbers_of_rows_are_no_findings(self):
        for seed in (8, 24):  # an expert without rows in a batch; a row that is another one in the batch
            torch.manual_seed(seed)
            model = Experts()
            with self.subTest(seed=seed), torch.no_grad(), binade.torch.tensor_cores("sm_90"):
                found = binade.torch.invariance(model, torch.randn(17, 16), batches=(1, 2, 5))
                self.assertFalse(found.variant, str(found))

    def test_a_result_that_is_not_compared_is_said(self):
        for seed in range(12):  # in some the row has its place in two batches that have other rows, and not in a third
            found = binade.torch.invariance(lambda x: x[(x * 2).sum(1).argsort()], numbers(seed, 5, 3), batches=(1, 2))
            with self.subTest(seed=seed):
                self.assertIn("What the function gives is not compared", str(found))
                self.assertFalse(found.variant, str(found))

    def test_what_cannot_be_followed_is_said(self):
        of = found(lambda x: torch.cat([torch.ones(1, 4, 6), x]).exp(), self.x)
        self.assertEqual((statuses(of)["cat"], of.variant), ("row not followed", False))
        self.assertIn("Row not followed in:\n  cat, ", str(of))
        self.assertIn("Nothing was compared", str(of))
        of = found(lambda x: x.exp() if float(x[-1, -1, -1]) > float(x[0, 0, 0]) else x.sin().cos(), self.x)
        self.assertIn("depends on the rows' values", str(of))

    def test_random_numbers_and_inputs_that_cannot_be_are_refused_in_one_line(self):
        for words, call in (("model.eval()", lambda: found(torch.nn.Dropout(), self.x)),
                            ("rows that differ", lambda: found(torch.exp, torch.ones(3, 4))),
                            ("first axis", lambda: found(torch.add, (self.x, self.x[:2]))),
                            ("first axis", lambda: found(torch.exp, 3.0)),
                            ("row 7", lambda: found(torch.exp, self.x, row=7)),
                            ("batches", lambda: binade.torch.invariance(torch.exp, self.x, (1,)))):
            with self.assertRaises(ValueError) as caught:
                call()
            self.assertIn(words, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))

    def test_rows_are_made_where_there_are_too_few_and_dicts_and_whole_numbers_serve(self):
        table = numbers(6, 9, 4)
        of = found(lambda ids, scale, nothing: F.embedding(ids, table) * scale[:, None, None],
                   {"ids": torch.tensor([[1, 8, 3], [0, 2, 2]]), "scale": torch.tensor([2.0, 3.0]), "nothing": None})
        self.assertEqual((of.to_dict()["made_rows"], of.variant, statuses(of)["embedding"]), (3, False, "same"))
        self.assertEqual(json.loads(of.to_json()), of.to_dict())

    def test_an_opaque_function_is_judged_by_what_it_gives_when_it_is_called(self):
        recorded = lambda: bool(binade.torch.observe.recorder.open_here.__dict__.get("recorders"))  # noqa: E731
        for called, seen in ((True, False), (False, True), (False, False)):  # planted where it is called, or where ops are seen
            of = found(lambda x: summed(x, (seen if recorded() else called) and len(x) > 2), self.x)
            self.assertEqual((of.variant, of.first is not None), (called or seen, seen))
            self.assertEqual([bool(row["result"]) for row in of.to_dict()["batches"]], [False, called])
            self.assertEqual(bool(of.to_dict()["opaque"]), called)
            if called:
                self.assertIn("What the function gives, in a batch of 5", str(of))
        of = found(lambda x: x + (0 if recorded() else len(x) > 2), self.x)
        self.assertTrue(of.variant)
        of = found(lambda x: x + (0 if recorded() else 1), self.x)
        self.assertEqual((of.variant, of.to_dict()["opaque"]), (False, ["what gives other bits while its ops are recorded"]))
        of = found(torch.jit.trace(torch.nn.Tanh(), (self.x,)), self.x)
        self.assertRegex(str(of), "^Called as it is, .* do not depend on the batch .*\nIt is opaque in part: TorchScript of Tanh")
        of = found(lambda x: torch.from_numpy((x if len(x) < 3 else x * 2).numpy() * 3), self.x)
        self.assertTrue(of.variant)
        self.assertIn("what gives the result, which no op that was seen has made", str(of))


if __name__ == "__main__":
    main()
