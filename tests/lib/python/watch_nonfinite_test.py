# SPDX-License-Identifier: Apache-2.0
#
# Where a watched run says that Inf and NaN arose. SKIP without torch. watch_nonfinite_test.py BINADE
import json
import math
import sys
import unittest
import warnings

try:
    import torch

    import binade.torch
    from binade.torch import watch
    from binade.torch.watch.values.nonfinite import NonFinite as Finding
    from binade.torch.watch.values.waiting_tensors import MOST, Held
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from cli_case import CliCase, main
from watch_oracle import CpuScaler
from watch_runs import Calls, Multiplied, fit, new_net, watched


class NonFinite(CliCase):
    def test_buffers_that_a_skipped_step_has_made_ill_are_told_with_what_to_do(self):
        def of(ill=2, reset=False, before=False, narrow=False, train=True):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))
            model.register_buffer("mean", torch.zeros(()))
            model[1].train(train)
            if before:
                model[1].running_var[0] = math.nan
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            with binade.torch.watch(model, optimizer, every=50) as w:
                for step in range(6):
                    x = torch.randn(8, 4)
                    x[0, 0] = math.nan if step == ill else 0.0
                    loss = model(x).square().sum()
                    if loss.isfinite() or not train:
                        model.zero_grad()
                        loss.backward()
                        optimizer.step()
                    elif reset:
                        model[1].reset_running_stats()
                    else:
                        model.mean += loss.detach()
                if narrow:
                    model[1].running_var[0] = math.inf
            return w, w.advise().to_dict()["buffers"], " ".join(str(w.advise()).split())

        for given, told, words in (({}, 2, "The running statistics of a norm hold NaN, from step 2 on: '1'."), ({"ill": None}, 0, ""), ({"reset": True}, 0, ""),
                                   ({"ill": None, "before": True}, 1, "hold NaN already when watching began: '1'. "),
                                   ({"ill": None, "narrow": True}, 1, "hold Inf: '1'. With them evaluation (model.eval()) gives no more than their shift")):
            with self.subTest(**given):
                _, lines, text = of(**given)
                self.assertEqual(len(lines), told, lines)
                self.assertIn(words, text)
                self.assertEqual("reset_running_stats()" in text, bool(told))
                self.assertEqual("Buffers hold NaN, from step 2 on: Sequential.mean." in text, told == 2)
        w, lines, text = of(ill=None, before=True, train=False)
        self.assertIn("running_var held Inf or NaN when training began: look at the checkpoint, or at what initializes it", text)

    def test_none_in_a_good_run(self):
        w = watched()
        self.assertIsNone(w.first_nonfinite())
        self.assertEqual(w.nonfinite(), [])

    def check_forward(self, step, every, **options):
        model = new_net()

        def break_it(now):
            model[1].factor = math.inf if now == step else 1.0

        w = watched(before=break_it, model=model, every=every, **options)
        found = w.first_nonfinite()
        self.assertEqual((found.step, found.layer, found.role, found.phase, found.arose), (step, "1", "act", "forward", True))
        self.assertEqual(found.found, {"nan": 0, "inf": 24})
        (x,) = found.inputs
        self.assertEqual((x["name"], x["dtype"], x["values"], x["nan"], x["inf"]), ("input", "F32", 24, 0, 0))
        self.assertGreater(x["largest"], x["smallest"])
        self.assertIn(f"step {step}: 24 Inf in the output of '1', forward; it got input ", found.text)
        self.assertEqual(json.loads(json.dumps(found.to_dict()))["text"], str(found))
        report = w.report()
        self.assertEqual(report.to_dict()["watched"]["first_nonfinite"], found.to_dict())
        self.assertIn(found.text.partition(";")[0], " ".join(str(report).split()))

    def test_forward_in_a_watched_step(self):
        self.check_forward(2, 2)

    def test_forward_in_any_other_step(self):
        self.check_forward(3, 50)

    def test_what_came_in_did_not_arise_there(self):
        found = watched(x=torch.full((3, 4), math.nan)).first_nonfinite()
        self.assertEqual((found.step, found.layer, found.arose), (0, "0", False))
        self.assertIn("input nothing finite, 12 NaN, weight ", found.text)
        self.assertIn("step 0: 12 NaN in input, which the model was called with", found.text)

    def test_a_weight_that_the_optimizer_broke(self):
        for every in (1, 50):
            w = watched(lr=math.inf, every=every)
            found, then = w.nonfinite()[:2]
            self.assertEqual((found.step, found.layer, found.role, found.phase, found.arose), (0, "0", "weight", "step", True))
            self.assertIn(" in parameter '0', after the optimizer's step; it got gradient ", found.text)
            self.assertEqual((then.step, then.layer, then.role, then.arose), (1, "0", "act", False))
            weight = next(x for x in then.inputs if x["name"] == "weight")
            self.assertGreater(weight["nan"] + weight["inf"], 0)

    def test_a_weight_that_was_broken_in_a_step_that_was_not_counted(self):
        model = new_net()

        def break_it(now):
            if now == 4:
                with torch.no_grad():
                    model[3].bias[0] = math.nan  # as the optimizer's third step would leave it

        told = watched(before=break_it, model=model, every=50).nonfinite()
        self.assertEqual([(one.step, one.layer, one.role) for one in told[:2]], [(3, "3.bias", "weight"), (4, "3", "act")])
        self.assertEqual((told[0].found, told[1].arose), ({"nan": 1, "inf": 0}, False))
        self.assertEqual([one.layer for one in told if one.role == "weight"].count("3.bias"), 1)

    @unittest.skipIf(torch.__version__ < "2", "whose products on the CPU take no FP16")
    def test_what_a_frozen_part_in_fp16_gives_beyond_its_range_is_told_with_what_to_do(self):
        """Under no_grad, as of an encoder, where no step is looked into."""
        for dtype, told in ((torch.float16, True), (torch.float32, False)):
            encoder, model = torch.nn.Linear(4, 4).requires_grad_(False).to(dtype), torch.nn.Linear(4, 2)
            encoder.weight.fill_(6e4)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with binade.torch.watch({"encoder": encoder, "model": model}, optimizer) as w:
                    with torch.no_grad():
                        x = encoder(torch.full((2, 4), 5e3, dtype=dtype))
                    model(x.float() if told else x.float() * math.inf).sum().backward()
                    optimizer.step()
            self.assertEqual("run this part in FP32 or BF16" in " ".join(str(w.advise()).split()), told)

    def test_inf_that_does_no_harm_is_passed_over(self):
        """As that of a mask; and what it hid is told."""
        torch.manual_seed(0)
        masked = Calls(lambda _, x: x.masked_fill(x > 0, -math.inf))
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), masked, torch.nn.Softmax(-1), Multiplied())

        def break_it(now):
            model[3].factor = math.nan if now == 4 else 1.0

        w = watched(before=break_it, model=model, every=1)
        self.assertEqual([(event.step, event.layer) for event in w.nonfinite()][0], (4, "3"))
        self.assertIn("1 gave Inf in step 0 and nothing after it was ill: its Inf is passed over", w.notes)

    def test_a_module_that_writes_to_what_it_got(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), Calls(lambda _, x: x.mul_(math.inf)), torch.nn.Linear(8, 1))
        found = watched(model=model).first_nonfinite()
        self.assertEqual((found.layer, found.inputs, found.arose), ("1", [], None))

    def test_backward(self):
        for step, every in ((0, 1), (3, 50)):
            with self.subTest(step=step):
                model = new_net()

                class Broken(torch.autograd.Function):
                    @staticmethod
                    def forward(ctx, x):
                        return x.clone()

                    @staticmethod
                    def backward(ctx, g):
                        return g * math.inf

                model[1].forward = lambda x: Broken.apply(x) if now[0] == step else x * 1.0
                now = [0]
                w = watched(before=lambda at: now.__setitem__(0, at), model=model, every=every)
                found = w.first_nonfinite()
                layer, op, name = ("1", "broken", "gradient") if step == 0 else ("0", None, "gradient of 1")
                self.assertEqual((found.step, found.layer, found.op, found.role, found.phase, found.arose),
                                 (step, layer, op, "dAct", "backward", True))
                (x,) = found.inputs
                self.assertEqual((x["name"], x["values"], x["nan"], x["inf"]), (name, 24, 0, 0))

    def test_a_weight_gradient_alone(self):
        model = new_net()
        model[3].weight.register_hook(lambda g: g * math.inf)
        found = watched(model=model).first_nonfinite()
        self.assertEqual((found.step, found.layer, found.role, found.phase), (0, "3", "dW", "backward"))

    def test_the_scaler_skips(self):
        scaler = CpuScaler(2.0**127)
        w = watched(scaler=scaler, steps=40, every=1)
        found = w.first_nonfinite()
        self.assertTrue(found.skipped)
        self.assertEqual((found.step, found.loss_scale, found.phase), (0, 2.0**127, "backward"))
        self.assertTrue(found.text.endswith("the scaler skipped the step"), found.text)
        self.assertIn("at loss scale 2^127", found.text)
        steps = [event.step for event in w.nonfinite()]
        self.assertEqual(steps, list(range(len(steps))))
        self.assertEqual(scaler.get_scale(), 2.0 ** (127 - len(steps)))
        self.assertEqual([window.loss_scale for window in w.windows],
                         [2.0 ** (127 - min(step, len(steps))) for step in range(40)])

    def test_the_micro_batch_is_named(self):
        def text_of(every, ill, apart=True):
            model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
            with watch(model, optimizer, scaler=None, every=every) as w:
                for step in range(3):
                    optimizer.zero_grad()
                    losses = []
                    for turn in range(4):
                        factor = math.nan if (step, turn) == (1, 2) else 1.0
                        x = torch.full((2, 4), factor if ill == "input" else 1.0)
                        losses.append(model(x).sum() * (factor if ill == "loss" else 1.0))
                        if apart:
                            losses.pop().backward()
                    if losses:
                        sum(losses).backward()
                    optimizer.step()
            return str(w.first_nonfinite())

        for every in (1, 3):
            for ill in ("input", "loss"):
                self.assertIn("forward, in micro-batch 3 of 4 of the step", text_of(every, ill))
            self.assertIn("forward, in forward pass 3 of 4 of the step", text_of(every, "input", False))
            self.assertNotIn("of the step", text_of(every, "loss", False))

    def test_of_several_ranks_what_arose_is_told_before_what_was_received(self):
        found = [Finding(2, "a", role, {"nan": 1, "inf": 0}, [], rank=rank, received=received) for role, rank, received in (
            ("weight", 0, False), ("dW", 0, True), ("dW", 1, False), ("act", 1, False))]
        found.append(Finding(1, "a", "weight", {"nan": 1, "inf": 0}, [], rank=1))
        self.assertEqual([(one.step, one.role, one.received) for one in sorted(found, key=lambda one: one.place_in_run)],
                         [(1, "weight", False), (2, "act", False), (2, "dW", False), (2, "dW", True), (2, "weight", False)])

    def test_events_are_bounded(self):
        w = watched(steps=130, x=torch.full((3, 4), math.nan), every=1000)
        self.assertEqual([event.step for event in w.nonfinite()], list(range(100)))

    def test_not_looked_for(self):
        self.assertIsNone(watched(x=torch.full((3, 4), math.nan), nonfinite=False).first_nonfinite())


def logarithm():
    """log(x) where x > 0, whose gradient is NaN where x is 0."""
    return Calls(lambda _, x: torch.where(x > 0, x.log(), torch.zeros_like(x)))


def trained(model, loss_of, steps=3, lr=1e-3, scale=1.0, every=1, before=lambda: None):
    """Returns (the Run of a watched training, the advice's text on one line)."""
    def divide():
        before()
        for parameter in model.parameters():
            parameter.grad.div_(scale)

    w = fit(model, loss_of, steps, lr=lr, between=divide, every=every, scaler=None)
    return w, " ".join(str(w.advise()).split())


class OfNoWeight(CliCase):
    def test_nan_that_ends_in_a_relu_is_not_told_as_a_run_that_broke(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), logarithm(), torch.nn.Linear(8, 1))
        x = torch.randn(16, 4)
        w, text = trained(model, lambda: model(x).square().mean())
        self.assertTrue(text.startswith("Inf or NaN reached no weight: step 0: "), text)
        self.assertIn("it ended in the backward of relu in 1; it reached no weight", text)
        self.assertIn("So it was in 2 more steps, up to step 2.", text)
        for wrong in ("The run was not finite", "no scale can be told", "tells of no training", "is not known of a run"):
            self.assertNotIn(wrong, text)
        advice = w.advise().to_dict()
        self.assertTrue(advice["not_finite"]["finite"])
        self.assertIsNotNone(advice["loss_scale"]["recommended_log2"])
        report = w.report().to_dict()["watched"]
        self.assertIsNone(report["first_nonfinite"])
        self.assertIn("Inf or NaN reached no weight", " ".join(report["notes"]))

    def test_what_reached_no_weight_in_few_steps_asks_for_no_format(self):
        def cast(self, x):
            return torch.where(x == 0, x.half().float() * self.factor, x)

        x = torch.randn(16, 4)
        for ill, told in (((1,), False), ((1, 3), False), ((1, 3, 4), True)):
            torch.manual_seed(0)
            model, steps = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), Calls(cast, factor=1.0), torch.nn.Linear(8, 1)), iter(range(6))

            def loss_of(model=model, steps=steps, ill=ill):
                model[2].factor = 1e9 if next(steps) in ill else 1.0
                return model(x).square().mean()

            w, text = trained(model, loss_of, steps=6)
            self.assertTrue(text.startswith("Inf or NaN reached no weight: step 1: "), text)
            self.assertEqual(w.advise().keep_fp32, ["2"] if told else [])
            self.assertEqual("but is fragile" in text, told)
            self.assertEqual("nothing to do unless it comes again in many steps" in text, not told)

    def test_the_same_nan_that_reaches_a_weight_is(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), logarithm(), torch.nn.Linear(8, 1))
        torch.nn.init.zeros_(model[0].weight)
        torch.nn.init.zeros_(model[0].bias)
        _, text = trained(model, lambda: model(torch.ones(3, 4)).square().mean())
        self.assertTrue(text.startswith("The run was not finite"), text)
        self.assertNotIn("reached no weight", text)

    def test_a_loss_that_alone_overflows_is_told_as_that(self):
        for dtype in (torch.float32, torch.float16)[:1 + hasattr(torch, "compile")]:  # torch 1.13 has no such products on the CPU
            model, criterion = torch.nn.Linear(8, 64).to(dtype), torch.nn.MSELoss(reduction="sum")
            x, y = torch.ones(64, 8, dtype=dtype), torch.full((64, 64), 8 if dtype == torch.float16 else 1e18, dtype=dtype)
            w, text = trained(model, lambda: criterion(model(x), y), lr=1e-20)
            self.assertTrue(text.startswith("The loss alone was not finite, and its value is no number to watch"), text)
            self.assertEqual("in FP32 (of outputs.float())" in text, dtype == torch.float16)
            self.assertIn("the run trains", text)
            for wrong in ("The run was not finite", "no scale can be told"):
                self.assertNotIn(wrong, text)
            self.assertEqual(w.advise().keep_fp32, ["MSELoss"] if dtype == torch.float16 else [])

    def test_a_term_of_a_loss_whose_inf_has_no_slope_is_told_not_to_train(self):
        x, infinite = torch.linspace(-1, 2, 64).reshape(16, 4), torch.full((), math.inf)
        for term, op in ((lambda y: (y * 1e20).square().sum().log1p(), "log1p"), (lambda y: (y * 1e20).square().sum(1).sqrt().mean(), "sqrt"),
                         (lambda y: (y * 1e20).square().sum() / infinite, "div"), (lambda y: ((y * 1e20).square().sum() / 4).log(), "log"),
                         (lambda y: (y + 3e38).sum() * 1e-3, ""), (lambda y: (y + 3e38).sum() / 4, "")):
            for every in (1, 2):
                torch.manual_seed(0)
                model = Calls(lambda self, x: (self.first(x), self.second(x)), first=torch.nn.Linear(4, 3), second=torch.nn.Linear(4, 3))

                def loss_of(model=model, term=term):
                    first, second = model(x)
                    return term(first) + second.square().mean()

                _, text = trained(model, loss_of, every=every)
                self.assertIn("The loss alone was not finite", text)
                self.assertEqual(f"its gradient is 0, by {op}, whose slope is 0 there: what comes before it in this term of the loss learns nothing "
                                 "from it; it reached no weight" in text, bool(op), text)
                self.assertEqual("what comes before that Inf learns nothing from it in such steps; nothing but zeros came then to first, first.bias." in text, bool(op), text)
                self.assertEqual("the run trains" in text, not op, text)

    def test_a_step_that_is_ill_anyway_is_not_told_to_lack_a_gradient(self):
        x = torch.randn(16, 4)

        def loss_of(y):
            y = y.abs() * 1e38 + 1e38
            return y.sum() / (y.sum() + 1)

        model = torch.nn.Linear(4, 8)
        w, text = trained(model, lambda: loss_of(model(x)))
        self.assertIn("The run was not finite", text)
        self.assertNotIn("its gradient is 0", text)

    def test_an_inf_of_the_model_that_comes_to_the_loss_and_to_no_weight(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), Calls(lambda _, x: torch.relu(x).log()))
        text = trained(model, lambda: model(torch.ones(3, 4)).sum().neg())[1]
        self.assertTrue(text.startswith("The loss was not finite, and its value is no number to watch: step 0: "), text)
        for words in ("Inf in log inside of '1'", "it ended in the backward of relu in 1", "What helps: add an eps inside of the logarithm"):
            self.assertIn(words, text)
        self.assertNotIn("passed it over", text)

    def test_a_step_without_targets_trains_nothing(self):
        model = Calls(lambda self, x, y: torch.nn.functional.cross_entropy(self.a(x), y), a=torch.nn.Linear(4, 3))
        text = trained(model, lambda: model(torch.ones(3, 4), torch.full((3,), -100)))[1]
        self.assertIn("all of its targets are ignored, so that it is 0/0; all gradients of weights were zero: nothing was trained in this step. "
                      "What helps: pass over such batches.", text)
        text = trained(model.a, lambda: model.a(torch.ones(3, 4))[:0].mean() + model.a(torch.ones(3, 4)).mean())[1]
        self.assertNotIn("slope of what follows", text)


class OfTheLoss(CliCase):
    def check(self, loss_of, *words, model=None, lr=1e-3, scale=1.0):
        torch.manual_seed(0)
        model = model or torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        w, text = trained(model, lambda: loss_of(model), lr=lr, scale=scale)
        self.assertEqual(w.notes, [])
        for one in words:
            self.assertIn(one, text)
        return text

    def test_a_sum_or_product_of_the_loop_that_overflows_before_a_matrix_product_is_named(self):
        x, big, w = torch.ones(16, 4), 2e38, torch.randn(4, 3)
        nn = torch.nn.functional
        ends = {"addmm": lambda h: torch.addmm(torch.zeros(3), h, w.clone().requires_grad_()), "mm": lambda h: h @ w,
                "cdist": lambda h: torch.cdist(h, w.t().clone().requires_grad_()),
                "addcmul": lambda h: torch.addcmul(torch.zeros(16, 4), h, h.detach())}
        makes = {"add": lambda y: y + y, "add of a detached one": lambda y: y + y.detach(), "mul": lambda y: y * 4, "sub": lambda y: y - (-y),
                 "div": lambda y: y / 0.1}
        for (make, f), (end, g) in [((make, makes[make]), (end, ends[end])) for make, end in (
                ("add", "mm"), ("add", "addmm"), ("add of a detached one", "addmm"), ("add of a detached one", "cdist"), ("mul", "mm"), ("sub", "cdist"),
                ("div", "mm"), ("add", "addcmul"))]:
            with self.subTest(make, end=end):
                model = torch.nn.Linear(4, 4)
                torch.nn.init.constant_(model.bias, big)

                def loss_of(model, f=f, g=g):
                    y = model(x)
                    return nn.cross_entropy(g(f(y)), torch.zeros(16, dtype=torch.long))

                text = self.check(loss_of, f"step 0: 64 Inf in {make.split()[0]} inside of the loss, forward; it got ", model=model)
                for wrong in ("constant", "did not give it", "mask"):
                    self.assertNotIn(wrong, text)

    def test_inf_of_a_loss_whose_op_is_not_known_is_no_constant(self):
        x, w, nn = torch.ones(16, 4), torch.randn(4, 3), torch.nn.functional
        infinite = torch.full((16, 4), torch.inf)
        for h_of, told in ((lambda model: model(x) + infinite, "what it got beside that holds Inf, or numbers near the largest of FP32"),
                           (lambda model: model(x) + infinite.neg(), "what was added before it holds Inf, or numbers near the largest of FP32")):
            def loss_of(model, h_of=h_of):
                return nn.cross_entropy(torch.mm(h_of(model), w.clone().requires_grad_()), torch.zeros(16, dtype=torch.long))

            text = self.check(loss_of, told, model=torch.nn.Linear(4, 4))
            self.assertNotIn("Inf of a constant", text)

    def test_an_op_of_a_loss_outside_of_the_model_is_named_by_what_the_graph_keeps(self):
        x, mask = torch.randn(16, 4), torch.zeros(16, 1)
        self.check(lambda model: torch.log(1 - torch.sigmoid(model(x).abs() * 1e4 + 100)).mean(),
                   "The run was not finite: step 0: 16 Inf in log inside of the loss, forward; it got input all zero; its operand holds "
                   "16 zeros; it is 0 where sigmoid rounds to 1 in FP32. What helps: add an eps inside of the logarithm or bound its "
                   "operand, or take an op that computes both")
        self.check(lambda model: (model(x) * mask).sum() / mask.sum(), "1 NaN in div inside of the loss, forward", "its divisor holds 1 zero")
        self.check(lambda model: (1 / (model(x) * 0)).sum(), "16 Inf in reciprocal inside of the loss, forward")
        self.check(lambda model: torch.exp(model(x).abs() * 1e4 + 100).mean(), "16 Inf in exp inside of the loss, forward")
        self.check(lambda model: torch.nn.functional.mse_loss(model(x), mask * torch.nan),
                   "the target of mse_loss in the loss holds NaN: the model did not give it, but the data")

    def test_an_exponential_of_a_loss_that_overflows_is_cured_by_what_it_is_part_of(self):
        x, old, gains = torch.randn(16, 4), torch.ones(16, 8), torch.arange(-4.0, 4.0) + 0.5
        softmax, bound, ratio = "subtract the maximum before", "bound what it is the exponential of (clamp)", "bound the difference that"
        softplus, sigmoid, tanh = "take F.softplus", "take torch.sigmoid", "take torch.tanh"
        half = ", or compute the loss in FP32 (of outputs.float())"
        for loss_of, told in (
                (lambda y: -0.5 * (1 + y - y.square() - y.exp()).sum(-1).mean(), bound),  # KL
                (lambda y: (y + (1 - y).square() * torch.exp(-y)).mean(), bound),  # a likelihood
                (lambda y: (y + (1 - y).square() / (y.exp() + 1e-3)).mean(), bound), (lambda y: (y.exp() + 1e-3).log().mean(), bound),
                (lambda y: torch.nn.functional.poisson_nll_loss(y, old), bound), (lambda y: (old * torch.expm1(y)).mean(), bound),
                (lambda y: -(torch.exp(y - old) * old).mean(), ratio), (lambda y: torch.exp((y.abs() - old).sum(-1) / 9).mean(), ratio),
                (lambda y: (1 + y.exp()).log().mean(), softplus), (lambda y: torch.log1p(y.exp()).mean(), softplus),
                (lambda y: torch.where(y > 20, y, torch.log1p(y.exp())).mean(), softplus),
                (lambda y: (1 / (1 + torch.exp(-y))).square().mean(), sigmoid), (lambda y: (y / (1 + torch.exp(-y))).mean(), sigmoid),
                (lambda y: (y.exp() / (1 + y.exp())).mean(), sigmoid), (lambda y: ((y.exp() - (-y).exp()) / (y.exp() + (-y).exp())).mean(), tanh),
                (lambda y: torch.cosh(y).log().mean(), "take x + F.softplus(-2·x) − log 2"),
                (lambda y: (y.exp() / y.exp().sum(-1, keepdim=True)).square().mean(), softmax), (lambda y: (y.exp().sum(-1) + 1e-6).log().mean(), softmax),
                (lambda y: (y.exp() / old).mean().exp(), bound), (lambda y: y[0, 0].abs().exp(), "train with what it is the exponential of")):
            for gain in (1, 100):
                torch.manual_seed(0)
                model = torch.nn.Linear(4, 8)
                _, text = trained(model, lambda model=model, f=loss_of, g=gain: f((model(x) + gains) * g), steps=1)
                self.assertEqual(told in text, gain == 100, (told, text))
                self.assertNotIn("FP64", text)
        self.assertNotIn("maximum", self.check(lambda model: ((model(x).bfloat16() + 200).exp().mean()).float(), bound + ", as"))
        if not hasattr(torch, "compile"):  # torch 1.13 has no exp of FP16 on the CPU
            return
        self.check(lambda model: ((model(x).half() + 200).exp().mean()).float(), bound, half)
        self.check(lambda model: (model(x).half() * 0 + 10).exp().sum().log().float(), "in sum inside of the loss", softmax, half)
        self.check(lambda model: (model(x).half() * 0 + 10).exp().sum().float(), "take a mean in place of a sum")

    def test_data_that_hold_nan_are_named_where_no_node_keeps_them(self):
        x, target = torch.randn(16, 4), torch.zeros(16, 1)
        target[3] = math.nan
        mask = target.isfinite().float()
        for op, loss_of in (
                ("second operand of sub", lambda y: ((y - target) ** 2 * mask).sum() / mask.sum()),
                ("second operand of sub", lambda y: ((y - target).abs() * mask).mean()),
                ("second operand of sub", lambda y: ((torch.nn.functional.softplus(y).flatten() * 2 - target.flatten()) ** 2).mean()),
                ("first operand of sub", lambda y: torch.maximum(0.9 * (target - y), -0.1 * (target - y)).mean()),
                ("first operand of sub", lambda y: -torch.distributions.Normal(y, 1.0, validate_args=False).log_prob(target).mean()),
                ("first operand of sub", lambda y: torch.relu(target - y).mean()),
                ("second operand of cat", lambda y: torch.cat([y, target], 1).square().mean()),
                ("first operand of addcmul", lambda y: torch.addcmul(target, y, x[:, :1]).square().mean()),
                ("second operand of where", lambda y: torch.where(y > 1e9, y, target).square().mean()),
                ("second operand of sub", lambda y: ((y - target * math.inf).square() * mask).mean())):
            text = self.check(lambda model, f=loss_of: f(model(x)), f"the {op} in the loss, as a target, holds NaN, and the rest is finite: the model "
                              "did not give it, but the data", "skip or mend such batches", "(index by the mask, as in pred[mask] - target[mask], ")
            for wrong in ("FP64", "Not finite in FP32's own range", "bound its operands"):
                self.assertNotIn(wrong, text)
        text = self.check(lambda model: ((model(x) - target)[1:].square() * mask[1:]).mean(), "holds NaN, or Inf that came to", "look for NaN and Inf in the targets")
        self.assertNotIn("FP64", text)
        self.check(lambda model: torch.nn.functional.smooth_l1_loss(model(x), target), "the target of smooth_l1_loss in the loss holds NaN")
        infinite = target.nan_to_num(math.inf)
        self.check(lambda model: ((model(x) - infinite) ** 2 * mask).mean(), "second operand of sub in the loss, as a target, holds Inf, and the rest is finite",
                   "skip or mend such batches; it became 1 Inf in sub")
        for target_of in (lambda: infinite, lambda: torch.cat((infinite, -infinite), 1)):
            self.check(lambda model, f=target_of: ((model(x) - f()).float().double().float() ** 2).mean(), "holds Inf, and the rest is finite", "the data of this step")
            self.check(lambda model, f=target_of: ((model(x) - f()) ** 2).mean(), "of sub in the loss, as a target, holds Inf")
            self.check(lambda model, f=target_of: ((model(x).bfloat16() - f().bfloat16()).float() ** 2).mean(), "holds Inf, and the rest is finite")
        # What the model made NaN, or Inf that is a mask's, is not laid to data.
        shift = torch.full((1,), math.nan, requires_grad=True)
        for loss_of in (lambda y: (shift - target.nan_to_num()).square().mean() + y.mean(), lambda y: ((y * 1e30 + 1e38).exp() - target.nan_to_num()).square().mean(),
                        lambda y: -(y.expand(16, 4) + torch.full((16, 4), -math.inf)).softmax(-1).mean()):
            self.assertNotIn("as a target", self.check(lambda model, f=loss_of: f(model(x))))

    def test_a_factor_of_a_loss_that_is_computed_as_0_by_0_is_no_ill_data(self):
        x, noise = torch.randn(16, 4), torch.arange(16.0)
        for loss_of, told in (
                (lambda y: (y.square().mean(1) * (noise / noise)).mean(), "is NaN in 1 of 16 rows: look for 0/0 in what computes it (a weight of"),
                (lambda y: ((noise / noise)[:, None] * y).mean(), "is NaN in 1 of 16 rows: look for 0/0"),
                (lambda y: (y.square() / (noise / noise)[:, None]).mean(), "is NaN in 1 of 16 rows: look for 0/0"),
                (lambda y: (y.square().mean(1) * (1 / noise)).mean(), "is Inf in 1 of 16 rows: look for a division by zero in what computes it"),
                (lambda y: torch.nn.functional.binary_cross_entropy(y.sigmoid().nan_to_num(), x[:, :1] * 0, (noise / noise)[:, None].expand_as(y)),
                 "the weight of binary_cross_entropy in the loss holds NaN: it is NaN in 1 of 16 rows")):
            text = self.check(lambda model, f=loss_of: f(model(x)), told, "or skip such batches if it is data")
            self.assertNotIn("the data of this step", text)

    def test_labels_that_are_too_long_are_named_and_no_overflow_where_they_are_left_out(self):
        for left_out in (False, True):
            model = Calls(lambda self, x, out=left_out: torch.nn.functional.ctc_loss(
                self.outputs(x).log_softmax(-1), torch.ones(2, 3, dtype=torch.long), (4, 4), (3, 1), zero_infinity=out), outputs=torch.nn.Linear(4, 5))
            _, text = trained(model, lambda model=model: model(torch.ones(4, 2, 4)))
            self.assertEqual("zero_infinity=True" in text, not left_out, text)
            self.assertEqual("not finite" in text or "FP64" in text, not left_out, text)

    def test_an_overflow_of_the_backward_pass_is_told_before_a_loss_that_alone_was_inf(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 1, bias=False), Calls(lambda _, x: x * 1e25 * 1e25))
        torch.nn.init.constant_(model[0].weight, 1e-25)
        text = self.check(lambda model: torch.nn.functional.mse_loss(model(torch.ones(2, 4)), torch.zeros(2, 1)),
                          "in the gradient of mul inside of '1'", model=model)
        self.assertIn("; the loss was Inf already, by mse_loss, forward.", text)

    def test_an_eps_that_is_0_in_fp16_is_named_where_a_loss_divides_by_zero(self):
        x, eps = torch.randn(16, 4), "what is added there, as an eps, is 0 in FP16, as all numbers below 3e-08 are"
        cases = ((lambda y, e: (y / ((y * 0).sum() + e)).mean(), 1e-8), (lambda y, e: (y / ((y * 0).sum() + e)).mean(), 1e-3),
                 (lambda y, e: (y * 0).square().sum(-1).add(e).rsqrt().mean(), 1e-12))
        for loss_of, least in cases[:2 + hasattr(torch, "compile")]:  # torch 1.13 has no rsqrt of FP16 on the CPU
            text = self.check(lambda model, f=loss_of, e=least: f(model(x).half(), e).float())
            self.assertEqual(f"; {eps}" in text, least < 1e-7, text)
            self.assertEqual("take an eps that FP16 holds, with the slope there, such as 1e-3, or compute the loss in FP32" in text, least < 1e-7)
            self.assertNotIn("No format helps", text)
        # Of a divisor that the model did not give nobody saw whence its zero is.
        text = self.check(lambda model: (model(x).half() / ((x.half() * 0).sum() + 1e-8)).float().mean(),
                          "an eps below 3e-08, such as 1e-8, is 0 in FP16: take an eps that FP16 holds", "which rounding to FP16 or BF16 may have")
        self.assertNotIn("No format helps", text)
        text = self.check(lambda model: (model(x) / ((x * 0).sum() + 1e-50)).mean(), "No format helps")
        self.assertNotIn("FP16 holds", text)

    def test_zeros_that_rounding_made_before_a_division_of_a_loss_are_named(self):
        x = torch.randn(16, 4)
        for loss_of, told in (
                (lambda y: 1 / ((y * 0 + 1e-4) / (y * 0 + 6e4)), "of them come of quotients of numbers that are not zero, which underflow in FP16. What "
                 "helps: subtract the logarithms of both (log_softmax, logsumexp), or compute the loss in FP32"),
                (lambda y: 1 / ((y.abs() * 0 + 1e-4) * (y * 0 + 1e-5)), "of them come of products of numbers that are not zero, which underflow"),
                (lambda y: 1 / (1e-4 + y * 0) ** 2, "its zeros are powers of numbers that are not zero, and underflow in FP16")):
            text = self.check(lambda model, f=loss_of: f(model(x).half()).float().mean(), told)
            self.assertNotIn("No format helps", text)

    def test_zeros_of_a_softmax_are_rounding_unless_a_mask_may_have_made_them(self):
        x, mask = torch.randn(16, 4), torch.arange(8) == 5
        spread = torch.arange(8.0) * 1e4
        for loss_of, told in ((lambda y: (y * spread).softmax(-1), True), (lambda y: y.masked_fill(mask, -torch.inf).softmax(-1), False),
                              (lambda y: (y + torch.where(mask, -torch.inf, 0.0)).softmax(-1), False)):
            text = self.check(lambda model, f=loss_of: f(model(x).expand(16, 8)).log().mean(), "in log inside of the loss, forward")
            self.assertEqual("its zeros are what softmax rounded to in FP32" in text, told)

    def test_sums_that_overflow_and_products_with_zeros_are_named_though_their_nodes_keep_nothing(self):
        x, hot = torch.randn(16, 4), torch.eye(16)[:, :8]
        wide = "(the loss was Inf already, by|step 0: 1 Inf in) sum(, forward| inside of the loss)"
        self.assertRegex(self.check(lambda model: (model(x) * 0 + 9e3).half().abs().sum().float()), wide)
        self.assertIn("take a mean in place of a sum, or compute the loss in FP32 (of outputs.float())",
                      self.check(lambda model: (model(x) * 0 + 9e3).half().abs().sum().float()))
        text = self.check(lambda model: (hot * (hot.log() - model(x).expand(16, 8).mul(torch.arange(8.0)).log_softmax(-1))).sum(),
                          "holds 120 zeros, and 0·Inf is NaN: look whether the other factor holds Inf there, as the logarithm of these",
                          "What helps: take xlogy or F.kl_div")
        self.assertIn("The loss alone was not finite", text)
        for loss_of in (lambda y: torch.nn.functional.kl_div(y.expand(16, 8).log_softmax(-1), hot, reduction="sum"), lambda y: (y * hot).sum()):
            self.assertNotIn("0·Inf", self.check(lambda model, f=loss_of: f(model(x))))

    def test_targets_of_fp16_are_to_be_cast_as_well_and_a_mean_is_told_to_take_no_mean(self):
        x, target, mse = torch.randn(16, 4), torch.full((16, 8), 400.0).half(), torch.nn.functional.mse_loss
        both = "compute the loss in FP32 (of outputs.float() and targets.float())"
        cases = ((lambda y: mse(y, target), f"What helps: normalize the targets, or {both}"),
                 (lambda y: mse(y, target / 10, reduction="sum"), f"What helps: take a mean in place of a sum, or {both}"),
                 (lambda y: (target / 10 - y).square().sum(), f"What helps: take a mean in place of a sum, or {both}"),
                 (lambda y: (y.float() * 0 + 200).half().square().sum(), "FP32 (of outputs.float())"))
        for loss_of, told in cases[0 if hasattr(torch, "compile") else 2:]:  # torch 1.13 has no backward of an mse_loss of FP16 on the CPU
            self.check(lambda model, f=loss_of: f(model(x).expand(16, 8).half()).float(), told)

    def test_a_divisor_of_a_loss_that_is_inf_is_named_though_the_loss_is_finite(self):
        x, target = torch.randn(16, 4), torch.full((16, 8), 30.0).half()
        text = self.check(lambda model: (target - model(x)).square().sum() / target.float().square().sum().half(),
                          "1 Inf in the divisor of div inside of the loss, forward", "overflowed in FP16, as a sum of squares does: x/Inf is 0",
                          "nothing was trained in this step", "(of outputs.float() and targets.float())")
        for wrong in ("a larger loss scale", "one with a loss scale", "may have become zero"):
            self.assertNotIn(wrong, text)
        text = self.check(lambda model: model(x).square().mean() / target.float().square().sum().half() + model(x).square().mean(), "divisor of div")
        self.assertNotIn("nothing was trained", text)
        for op in ("rsqrt", "reciprocal"):
            self.check(lambda model, op=op: getattr(((model(x) + 1) * 1e20).bfloat16().square().sum(), op)().float() + model(x).square().float().mean(),
                       f"Inf in the operand of {op} inside of the loss, forward; {op} then gave finite numbers", "x/Inf is 0, and so is its gradient")
        for loss_of in (lambda y: (y / torch.inf).sum() + y.sum(), lambda y: y.square().sum() / target.float().square().mean().half(),
                        lambda y: (y / torch.where(x > 0, 1.0, torch.inf).half()).sum()):
            self.assertNotIn("divisor of div", self.check(lambda model, f=loss_of: f(model(x))))

    def test_whole_rows_of_a_softmax_of_a_loss_are_told_to_be_masked(self):
        x, mask = torch.randn(16, 4), torch.arange(16)[:, None].expand(16, 8) == 3
        for masked, told in ((lambda y: y.masked_fill(mask, -torch.inf), "a mask of -Inf leaves nothing of them"),
                             (lambda y: y + torch.where(mask, -torch.inf, 0.0), "what is added to them, as a mask, holds NaN or +Inf, or nothing")):
            text = self.check(lambda model, f=masked: f(model(x).expand(16, 8)).softmax(-1).square().mean(),
                              "8 NaN in softmax inside of the loss, forward; 1 of its 16 rows are NaN as a whole, as where " + told,
                              "leave a place open in every row")
            self.assertNotIn("the data of this step", text)

    def test_what_a_loss_makes_of_infinities_that_are_meant_and_of_too_few_elements_is_named(self):
        x, nn = torch.randn(16, 4), torch.nn.functional
        mask = torch.arange(8) == 5
        uniform = torch.full((16, 8), 1 / 7).masked_fill(mask, 0)
        for loss_of, told in (
                (lambda y: -(uniform * (y.masked_fill(mask, -torch.inf).log_softmax(-1))).sum(), "16 NaN in mul inside of the loss"),
                (lambda y: (y * torch.tensor(torch.inf)).softmax(-1).square().mean(), "the other of mul in the loss holds Inf: a factor"),
                (lambda y: y[:1].var(0).mean(), "in var inside of the loss, forward; it got input"),
                (lambda y: nn.ctc_loss(y.reshape(4, 4, 8).log_softmax(-1), torch.ones(4, 4, dtype=torch.long), (4,) * 4, (4,) * 4),
                 "4 Inf in ctc_loss inside of the loss")):
            text = self.check(lambda model, f=loss_of: f(model(x).expand(16, 8) * torch.arange(8.0)), told)
            self.assertNotIn("FP64", text)
            self.assertEqual("the model did not give" in text, "factor" in told)

    def test_a_bound_that_a_narrow_dtype_makes_zero_is_named(self):
        x = torch.zeros(16, 4)
        for least, told in ((1e-45, True), (0.0, False)):
            text = self.check(lambda model, least=least: torch.log((model(x) * 0).bfloat16().clamp(least, 1.0)).float().mean(),
                              "16 Inf in log inside of the loss")
            self.assertEqual("1e-45, its bound, is 0 in BF16" in text, told)

    def test_an_inf_after_which_all_gradients_are_zero_is_no_run_that_trains(self):
        x = torch.ones(16, 4)
        text = self.check(lambda model: (1e6 + model(x).square()).half().float().mean().sqrt(), "all gradients of weights were zero",
                          "The run was not finite", "as a sum or a cast that overflows")
        for wrong in ("the run trains", "add an eps", "a larger loss scale", "one with a loss scale"):
            self.assertNotIn(wrong, text)

    def test_a_function_of_the_loops_own_is_to_be_looked_at_in_its_backward(self):
        class Root(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x.sqrt())
                return x.sqrt()

            @staticmethod
            def backward(ctx, gradient):
                return gradient / (2 * ctx.saved_tensors[0])

        self.check(lambda model: model(torch.ones(4)).sum(), "its backward is code of the loop's own. What helps: look in it for a division",
                   model=Calls(lambda self, x: Root.apply(self.weight * x), weight=torch.nn.Parameter(torch.zeros(4))))

    def test_a_slope_of_a_loss_that_is_infinite_is_named(self):
        self.check(lambda model: ((model(torch.ones(16, 4)) * 0).sqrt()).mean(),
                   "16 Inf in the gradient of sqrt inside of the loss, backward", "its operand holds 16 zeros, where the slope of sqrt is infinite")

    def test_a_healthy_loss_with_the_same_ops_is_not_told(self):
        x = torch.randn(16, 4)
        text = self.check(lambda model: (model(x).square() + 1e-6).sqrt().mean() - torch.log(torch.sigmoid(model(x)) + 1e-6).mean())
        for wrong in ("The run was not finite", "reached no weight", "the loss"):
            self.assertNotIn(wrong, text)

    def test_a_loss_scale_that_fp16_cannot_hold_is_named(self):
        def scaled():
            return Calls(lambda self, x: self.weight * x, weight=torch.nn.Parameter(torch.full((), 4.0).half()))

        x = torch.tensor(0.5).half()
        too_large = "the loss is FP16, and its scale, 2^16, is more than FP16's largest number, 65504: take a scale of at most 2^15, or"
        self.check(lambda model: model(x) * 65536.0, "1 Inf in mul inside of the loss, forward; " + too_large, model=scaled(), scale=2.0**16)
        self.check(lambda model: model(x).float() * 65536.0, "in the gradient of to_copy inside of the loss, backward; " + too_large,
                   model=scaled(), scale=2.0**16)
        self.check(lambda model: model(x) * 40000.0, "The loss alone was not finite", "the run trains", "compute the loss in FP32 (of outputs.float()), or bound the scale",
                   model=scaled(), scale=4e4)
        self.assertNotIn("not finite", self.check(lambda model: model(x) * 1024.0, model=scaled(), scale=1024.0))

    def test_gradients_that_are_ill_after_a_finite_backward_pass_are_told_as_that(self):
        model, x = torch.nn.Linear(4, 1), torch.ones(2, 4)

        def communicate():
            model.weight.grad.copy_((model.weight.grad * 1e6).half())

        w, text = trained(model, lambda: model(x).sum(), before=communicate)
        self.assertTrue(w.first_nonfinite().received)
        self.assertIn("4 Inf in the gradient of parameter Linear, backward; the gradients of outputs and all that the backward pass made of "
                      "them were finite in this process: it arose where they are added up or communicated", text)
        w, text = trained(model, lambda: (model(x) * 3e38).sum(), every=1)
        self.assertFalse(w.first_nonfinite().received)
        self.assertNotIn("added up or communicated", text)


class Block(torch.nn.Module):
    """A residual block of three layers, as transformers have them."""

    def __init__(self, inside):
        super().__init__()
        self.first, self.inside, self.last = torch.nn.Linear(4, 8), inside, torch.nn.Linear(8, 4)

    def forward(self, x):
        return x + self.last(self.inside(self.first(x)))


class IllBackward(torch.nn.Module):
    """Gives what it gets; its gradient is NaN while `ill`."""

    ill = False

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, ill):
            ctx.ill = ill
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g * math.nan if ctx.ill else g, None

    def forward(self, x):
        return self.Function.apply(x, self.ill)


class InsideOfBlocks(CliCase):
    """In steps that are not counted, the leaf is named where something inside of a block is ill, whatever lies around it."""

    def run_blocks(self, inside, change, flat=False):
        torch.manual_seed(0)
        around = [torch.nn.Linear(4, 4) for _ in range(10)] if flat else [Block(torch.nn.ReLU()), Block(torch.nn.ReLU())]
        model = torch.nn.Sequential(*around[: len(around) // 2], Block(inside) if not flat else inside,
                                    *around[len(around) // 2:])
        return watched(before=lambda step: change(inside, step == 3), model=model, every=50).first_nonfinite()

    def test_forward(self):
        def change(inside, ill):
            inside.factor = math.nan if ill else 1.0

        for flat, layer in ((False, "1.inside"), (True, "5")):
            found = self.run_blocks(Multiplied(), change, flat)
            self.assertEqual((found.step, found.layer, found.role, found.arose), (3, layer, "act", True))
            self.assertEqual([x["name"] for x in found.inputs], ["input"])

    def test_backward(self):
        def change(inside, ill):
            inside.ill = ill

        for flat, layer, before in ((False, "1.first", "1.inside"), (True, "4", "5")):
            found = self.run_blocks(IllBackward(), change, flat)
            self.assertEqual((found.step, found.layer, found.role, found.arose), (3, layer, "dAct", True))
            self.assertEqual([x["name"] for x in found.inputs], [f"gradient of {before}"])


class Marked(torch.nn.Module):
    """Adds a mask, and computes its loss where it gets a target."""

    def __init__(self):
        super().__init__()
        self.fc, self.out = torch.nn.Linear(4, 4), torch.nn.Linear(4, 3)

    def forward(self, x, mask=None, target=None):
        h = self.fc(x)
        y = self.out((h if mask is None else h + mask).tanh())
        return y if target is None else (y - target).square().mean()


class FromOutside(CliCase):
    """Inf and NaN that came in with the data, or arose in a loss that is computed after the model, are told as such."""

    def first(self, loss, every=1):
        torch.manual_seed(0)
        model, ill = Marked(), iter((False, True, False))
        return fit(model, lambda: loss(model, next(ill)), lr=0.01, every=every, scaler=None)

    def test_what_the_model_is_called_with_is_named_with_its_argument(self):
        x, zeros = torch.linspace(-1, 1, 12).reshape(3, 4), torch.zeros(3, 4)

        def holed(x, ill, value=math.nan):
            x = x.clone()
            x[0, 1] = value if ill else x[0, 1]
            return x

        for name, what, loss in (
                ("x", "1 NaN", lambda model, ill: model(holed(x, ill)).sum()), ("x", "1 Inf", lambda model, ill: model(holed(x, ill, math.inf)).sum()),
                ("x", "1 NaN", lambda model, ill: model(x=holed(x, ill)).sum()),
                ("mask", "1 NaN", lambda model, ill: model(x, holed(zeros, ill)).sum()),
                ("target", "1 NaN", lambda model, ill: model(x, target=holed(zeros, ill)[:, :3]))):
            for every in (1, 50):
                with self.subTest(name=name, what=what, every=every):
                    w = self.first(loss, every)
                    line = f"step 1: {what} in {name}, which the model was called with, as the data of this step have it: skip or mend such batches; "
                    self.assertIn(line, w.first_nonfinite().text)
                    self.assertIn("The run was not finite: " + line, " ".join(str(w.advise()).split()))
                    self.assertNotIn("Keep in FP32", str(w.advise()))
                    self.assertIsNone(self.first(lambda model, _, loss=loss: loss(model, False), every).first_nonfinite())
        # Numbers that are no more than large are told where an op overflows on them.
        for size, told in ((1e38, True), (1.0, False)):
            model = torch.nn.Sequential(torch.nn.Linear(4, 8))
            torch.nn.init.constant_(model[0].weight, 10.0 if told else 3e38)
            text = watched(model=model, x=torch.full((3, 4), size), steps=1).first_nonfinite().text
            self.assertEqual("it got input, with which the model was called and which goes up to 1e+38: normalize or scale" in text, told, text)
        # The -Inf of a mask is meant, and no data: what is ill is the row of which it leaves nothing open.
        w = self.first(lambda model, ill: (model(x) + model(x, holed(zeros, True, -math.inf) if ill else None)).sum())
        self.assertNotIn("called with", str(w.first_nonfinite()))

    def test_of_a_loss_outside_of_the_model_the_op_is_named_that_made_it_ill(self):
        functional, x = torch.nn.functional, torch.linspace(-1, 1, 12).reshape(3, 4)
        classes = torch.tensor([0, 1, 2])

        def ill_target(ill):
            return torch.full((3, 3), math.nan if ill else 0.0)

        for told, loss in (
                ("the target of mse_loss in the loss holds NaN: the model did not give it", lambda y, ill: functional.mse_loss(y, ill_target(ill))),
                ("input 1 of MSELoss holds NaN: the model did not give it", lambda y, ill: torch.nn.MSELoss()(y, ill_target(ill))),
                ("the weight of nll_loss in the loss holds Inf", lambda y, ill: functional.cross_entropy(
                    y, classes, torch.tensor([1.0, math.inf if ill else 1.0, 1.0]))),
                ("3 Inf in log inside of the loss", lambda y, ill: -(y.sigmoid()[:, 0] * (not ill)).log().mean()),
                ("in div inside of the loss", lambda y, ill: (y.sum() * (not ill)) / torch.full((), 0.0 if ill else 2.0)),
                ("1 NaN in sqrt inside of the loss", lambda y, ill: (y.sum() * 0 - 1 if ill else y.sum() * 0 + 1).sqrt()),
                ("all of its targets are ignored", lambda y, ill: functional.cross_entropy(y, torch.full((3,), -100) if ill else classes)),
                ("9 NaN in acos inside of the loss", lambda y, ill: (y * 0 + (1.5 if ill else 0.5)).acos().mean()),
                ("9 Inf in exp inside of the loss", lambda y, ill: (y + (100 if ill else 0)).exp().mean()),
                ("what the model gave was finite", lambda y, ill: (y + ill_target(ill)).sum())):
            with self.subTest(told=told):
                w = self.first(lambda model, ill, loss=loss: loss(model(x), ill))
                self.assertEqual((w.first_nonfinite().step, w.first_nonfinite().phase), (1, "forward"))
                self.assertIn(told, w.first_nonfinite().text)
                self.assertIsNone(self.first(lambda model, _, loss=loss: loss(model(x), False)).first_nonfinite())
        w = self.first(lambda model, ill: ((model(x) * (not ill)) ** 2).sum(1).sqrt().sum())
        self.assertIn("3 Inf in the gradient of sqrt inside of the loss, backward", w.first_nonfinite().text)
        self.assertIn("its operand holds 3 zeros, where the slope of sqrt is infinite", w.first_nonfinite().text)


class TensorsThatWait(CliCase):
    def setUp(self):
        super().setUp()
        self.seen = []
        self.held = Held(lambda layer, x, inputs: self.seen.append(layer) or bool(x.isfinite().all()))

    def add(self, *layers):
        for layer in layers:
            self.held.add(layer, torch.full((1,), math.nan if layer == "ill" else 1.0), dict)

    def test_a_block_drops_its_own_alone(self):
        self.add("b", "b.0", "bb", "b.c.1")
        self.held.drop("b")
        self.held.search()
        self.assertEqual(self.seen, ["b", "bb"])

    def test_the_search_ends_with_the_first_that_is_ill(self):
        self.add("0", "ill", "2")
        self.held.search()
        self.assertEqual(self.seen, ["0", "ill"])
        self.held.search()
        self.assertEqual(self.seen, ["0", "ill"])

    def test_of_too_many_the_oldest_are_looked_at(self):
        self.add(*map(str, range(MOST + 2)))
        self.assertEqual(self.seen, ["0", "1"])

    def test_what_was_written_to_is_gone(self):
        x = torch.ones(1)
        self.held.add("0", x, dict)
        x.fill_(math.nan)
        self.held.search()
        self.assertEqual(self.seen, [])


if __name__ == "__main__":
    main()
