# SPDX-License-Identifier: Apache-2.0
#
# Inf, NaN and zeros that arise inside of modules: the op that made them, where they vanished again, an eps of zero; what is meant is
# no finding, and no pass is run twice. SKIP without torch. watch_inside_test.py BINADE
import contextlib
import copy
import functools
import inspect
import math
import sys
import threading
import warnings

try:
    import torch
    from torch.nn import functional

    import binade.torch
    from binade.torch.watch.values.inside import Origin
    from binade.torch.watch.weights.eps import lost_eps
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from cli_case import CliCase, main
from watch_oracle import CpuScaler
from watch_runs import Calls, Multiplied, fit, fit_scaled, new_net, train, watched


class Norm(torch.nn.Module):
    """An RMSNorm written by hand."""

    def __init__(self, eps=1e-6):
        super().__init__()
        self.gain, self.eps = torch.nn.Parameter(torch.ones(8)), eps

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.eps) * self.gain


class Attention(torch.nn.Module):
    """Attention of one head, written by hand, whose scores are multiplied by `factor`."""

    def __init__(self, hidden=lambda scores: scores):
        super().__init__()
        self.qkv, self.out, self.hidden, self.factor, self.calls = torch.nn.Linear(8, 24), torch.nn.Linear(8, 8), hidden, 1.0, []

    def forward(self, x):
        self.calls.append(len(self.calls))
        q, k, v = torch.nn.functional.dropout(self.qkv(x), 0.1).chunk(3, -1)
        return self.out(self.hidden((self.factor * q.abs()) @ (self.factor * k.abs()).transpose(-1, -2)).softmax(-1) @ v)


def halved(op):
    """An op on float16 numbers between layers of float32."""
    return Calls(lambda _, x: op(x.half()).float())


def of_op(op):
    return Calls(lambda _, x: op(x))


class HalfAdam(torch.optim.Optimizer):
    """Keeps its second moment in FP16, and divides by it."""

    def step(self):
        for group in self.param_groups:
            for x in group["params"]:
                self.state[x]["exp_avg_sq"] = second = (x.grad * x.grad).half()
                x.data.sub_(x.grad / (second + group["eps"]).float(), alpha=1e-3)


def random_batch(*shape, scale=1.0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1)) * scale


def too_wide(w):
    """Returns the layers for which FP32 itself has too little range."""
    return [row["layer"] for row in w.advise().to_dict()["no_format"] if row["wide"]]


class InsideOfModules(CliCase):
    """The op inside of a module is named, also where nothing of what it made comes out of it."""

    def of(self, *layers, x=None, **options):
        torch.manual_seed(0)
        return watched(model=torch.nn.Sequential(*layers), x=random_batch(4, 8) if x is None else x, **options)

    def test_an_overflow_that_vanishes_inside_of_a_norm(self):
        for steps, every, ill in ((2, 50, 0), (6, 50, 4), (6, 2, 2)):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(8, 8), Multiplied(), Norm(), torch.nn.Linear(8, 2))

            def change(step):
                model[1].factor = 1e25 if step == ill else 1.0

            w = watched(steps=steps, before=change, model=model, x=random_batch(4, 8), every=every)
            (found,) = w.nonfinite()
            self.assertEqual((found.step, found.layer, found.op, found.phase, found.arose), (ill, "2", "mul", "forward", True))
            self.assertEqual(found.found, {"nan": 0, "inf": 32})
            self.assertIn("rsqrt then gave finite numbers, and it was gone", found.text)
            self.assertIn("watch_inside_test.py:", found.site)
            advice = w.advise()
            self.assertEqual((too_wide(w), "2" in advice.keep_fp32), (["2"], False))
            self.assertIn("The run was not finite", str(advice))
            self.assertNotIn("No layer needs FP32", str(advice))
            self.assertEqual(w.report().to_dict()["watched"]["first_nonfinite"], found.to_dict())

    def test_zeros_that_come_of_an_overflow_are_told_as_such_and_ask_for_no_larger_loss_scale(self):
        for factor, ill in ((1e25, True), (1.0, False)):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(8, 8), Multiplied(), Norm(), torch.nn.Linear(8, 2))
            model[1].factor = factor
            text = " ".join(str(watched(model=model, x=random_batch(4, 8), every=1).advise()).split())
            self.assertEqual("Zero is what comes of the Inf in mul inside of 2, of which rsqrt made finite numbers" in text, ill)
            self.assertEqual("no scale follows from what is left of them" in text, ill)
            self.assertNotIn("larger loss scale, tells", text)

    def ill_attention(self, watching, every=50):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(5), Attention(), torch.nn.Linear(8, 2))

        def change(step):
            model[2].factor = 1e20 if step == 3 else 1.0

        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        w = binade.torch.watch(model, optimizer, every=every) if watching else contextlib.nullcontext()
        with w:
            train(model, 6, optimizer, before=change, x=random_batch(4, 5, 8))
        return w, model, torch.get_rng_state()

    def test_attention_in_any_step_is_named_its_op_where_it_is_looked_into_and_nothing_changes(self):
        found = self.ill_attention(True, every=1)[0].first_nonfinite()
        self.assertEqual((found.step, found.layer, found.op, found.arose), (3, "2", "bmm", True))
        self.assertIn("made NaN of it", found.after)
        w, model, random = self.ill_attention(True)
        found = w.first_nonfinite()
        self.assertEqual((found.step, found.layer, found.op, found.arose), (3, "2.out", None, False))
        advice = " ".join(str(w.advise()).split())
        self.assertTrue(advice.startswith(f"The run was not finite: {found.text}. Nor was any step after it, up to step 5"), advice)
        self.assertNotIn("No layer needs FP32", advice)
        _, alone, random_alone = self.ill_attention(False)
        self.assertTrue(torch.equal(random, random_alone))
        self.assertEqual(model[2].calls, alone[2].calls)
        for x, y in zip(model.state_dict().values(), alone.state_dict().values()):
            self.assertEqual(x.numpy().tobytes(), y.numpy().tobytes())

    def test_a_watched_model_is_copied_and_none_of_its_passes_is_run_twice(self):
        class Draws(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.generator, self.calls = torch.nn.Linear(4, 4), torch.Generator().manual_seed(1), {"all": []}

            def forward(self, x):
                self.calls["all"].append(len(self.calls["all"]))
                return self.fc(x) * (math.inf if len(self.calls["all"]) == 6 else torch.rand(1, generator=self.generator))

        weights = []
        for watching in (False, True):
            torch.manual_seed(0)
            model = Draws()
            model.fc.register_forward_hook(lambda module, args, out: out * 2)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            with binade.torch.watch(model, optimizer, scaler=None, every=50) if watching else contextlib.nullcontext():
                for _ in range(9):
                    optimizer.zero_grad()
                    model(torch.ones(2, 4)).nan_to_num(0, 0, 0).sum().backward()
                    optimizer.step()
                copied = copy.deepcopy(model.fc)
            weights.append((model.fc.weight.detach().numpy().tobytes(), len(model.calls["all"])))
            copied(torch.ones(2, 4))
        self.assertEqual(*weights)

    def test_the_op_whose_gradient_it_is(self):
        w = self.of(torch.nn.Linear(8, 8), of_op(lambda x: torch.sqrt(x * 0) + x), torch.nn.Linear(8, 2), steps=2)
        found = w.first_nonfinite()
        self.assertEqual((found.step, found.layer, found.op, found.phase, found.arose), (0, "1", "sqrt", "backward", True))
        self.assertRegex(found.text, r"32 Inf in the gradient of sqrt inside of '1' \(\S+\), backward; it got gradient .*; its operand "
                                     "holds 32 zeros, where the slope of sqrt is infinite")
        self.check_no_format(w, "1", "sqrt", "an eps inside of the root")
        for op, slope in ((lambda x: torch.hypot(x * 0, x * 0), "hypot is undefined"), (lambda x: (x * 0) ** 0.5, "pow is infinite")):
            text = self.of(torch.nn.Linear(8, 8), of_op(lambda x: op(x) + x), torch.nn.Linear(8, 2), steps=1).first_nonfinite().text
            self.assertIn(f"holds 32 zeros, where the slope of {slope}", text)
        found = self.of(torch.nn.Linear(8, 8), of_op(lambda x: torch.sqrt(x.abs() * 1e-30 * 1e-15)), steps=1).first_nonfinite()
        self.assertIn("the gradient of sqrt inside of '1'", found.text)

    def test_an_op_between_layers_of_which_the_last_one_gives_what_the_model_gives(self):
        def between(op):
            return Calls(lambda self, x: self.b(op(self.a(x))), a=torch.nn.Linear(8, 8), b=torch.nn.Linear(8, 2))

        for op, name, cure in (
                (lambda x: (x * 0).sqrt() + x, "sqrt", "replace these values before it"),
                (lambda x: x @ torch.linalg.eigh(torch.eye(8) + 0 * x.mean())[1], "linalg_eigh", "take no gradient through its vectors")):
            w = watched(model=between(op), x=random_batch(4, 8), steps=1)
            self.assertIn(f"in the gradient of {name} inside of Calls", w.first_nonfinite().text)
            self.check_no_format(w, "Calls", name, cure)
        self.assertIsNone(watched(model=between(torch.exp), x=random_batch(4, 8), steps=2).first_nonfinite())

    def test_zeros_that_a_narrow_format_may_have_made_before_the_run_are_told_with_what_they_come_of(self):
        def keeping(op, x):
            model = Calls(lambda self, x: op(x.half(), self.kept).float())
            model.register_buffer("kept", torch.tensor(x).half())
            return model

        for op, x, why, cure in (
                (lambda x, kept: x / (1 - kept), [[0.9999], [0.5], [0.5], [0.5]], r"its zeros come of rsub at \S+, a difference of numbers that are equal in FP16",
                 "compute that difference in FP32"),
                (lambda x, kept: x / kept, 2e-8, "that is the buffer kept, in FP16, where a number below 3e-08 is 0", "keep kept in FP32")):
            w = self.of(torch.nn.Linear(8, 8), keeping(op, x), torch.nn.Linear(8, 2), steps=1)
            self.assertRegex(w.first_nonfinite().text, f"its divisor holds 1 zero; {why}")
            text = str(w.advise())
            self.assertIn("Infinite or undefined at what they got, which rounding to FP16 or BF16 may have made", " ".join(text.split()))
            self.assertNotIn("No format helps", text)
            self.assertIn(cure, w.advise().to_dict()["no_format"][0]["cure"])
        self.assertIsNone(self.of(torch.nn.Linear(8, 8), keeping(lambda x, kept: x / (1.5 - kept), 0.9999), steps=1).first_nonfinite())
        w = self.of(torch.nn.Linear(8, 8), keeping(lambda x, kept: x / (1 - kept), [[1.0], [0.0], [1.0], [0.0]]), steps=1)  # a mask
        self.assertNotIn("numbers that are equal", w.first_nonfinite().text)

    def test_a_norm_of_torch_over_a_weight_that_is_zero_is_cured_by_another_weight(self):
        layer = torch.nn.Linear(8, 2)
        torch.nn.init.zeros_(layer.weight)
        w = self.of(torch.nn.utils.parametrizations.spectral_norm(layer), steps=1)
        self.assertIn("its divisor holds 1 zero, the norm of a weight that is all zero", w.first_nonfinite().text)
        self.check_no_format(w, "0.parametrizations.weight.0", "div", "begin with a weight that is not zero")

    def test_inf_of_a_constant_that_comes_to_the_loss_is_told_with_where_it_was_put_in(self):
        def masked(x):
            return functional.cross_entropy(x.masked_fill(torch.arange(8) > 3, -math.inf), torch.zeros(4).long(), label_smoothing=smoothing)

        for smoothing in (0.1, 0.0):
            w = self.of(torch.nn.Linear(8, 8), of_op(masked), steps=2, every=1)
            text = " ".join(str(w.advise()).split())
            for words in ("it is the Inf of a constant, as of a mask, that masked_fill at ", "What helps: take a large finite number in its place"):
                self.assertEqual(words in text, smoothing > 0, text)

    def check_no_format(self, w, layer, op, cure):
        advice = w.advise()
        (row,) = advice.to_dict()["no_format"]
        self.assertEqual(row["layer"], layer)
        self.assertRegex(row["text"], rf"\b{op}\b")
        self.assertIn(cure, row["cure"])
        self.assertEqual(advice.keep_fp32, [])
        self.assertIn("No format helps these", str(advice))
        self.assertNotIn("ill inside", {row["status"] for row in advice.to_dict()["formats"]})

    def test_what_is_infinite_or_undefined_by_its_mathematics_asks_for_no_format(self):
        none, mask = torch.zeros(4, 8).bool(), torch.full((4, 8), -math.inf)
        for op, name, found, cure in (
                (lambda x: x / (x * 0), "div", "its divisor holds 32 zeros", "add an eps to the divisor"),
                (lambda x: (x * 0) / (x * 0), "div", "its divisor holds 32 zeros", "add an eps to the divisor"),
                (lambda x: x / torch.zeros(()), "div", "its divisor holds 1 zero", "add an eps to the divisor"),
                (lambda x: (x * 0).rsqrt(), "rsqrt", "its operand holds 32 zeros", "an eps inside of the root"),
                (lambda x: (x * 0) ** -0.5, "pow", "its base holds 32 zeros", "an eps to the base"),
                (lambda x: (x * 0).log() * 0, "log", "its operand holds 32 zeros", "an eps inside of the logarithm"),
                (lambda x: (x * 0).log_(), "log", "its operand held 32 values at which it is infinite", "an eps inside"),
                (lambda x: (x * 0 - 1).log1p(), "log1p", "its operand holds 32 values of -1", "an eps inside of the logarithm"),
                (lambda x: (x * 0 - 2).sqrt(), "sqrt", "its operand holds 32 values outside of its domain", "make its operand positive"),
                (lambda x: (x * 0 + 1 - (x * 0 + 3)).sqrt(), "sqrt", "its operand holds 32 values outside of its domain", "make its operand positive"),
                (lambda x: ((x * 0 + 9e6) - (x * 0 + 9e6 + 1) + 1e-5).sqrt(), "sqrt", "its operand holds 32 values outside of its domain; they "
                 "are a difference of nearly equal numbers, up to 9e+06, at ", "as the mean of (x − mean)²"),
                (lambda x: ((x * 0 + 9e6).sub_(x * 0 + 9e6 + 1) / 7).rsqrt(), "rsqrt", "its operand holds 32 values outside of its domain; they "
                 "are a difference of nearly equal numbers", "as the mean of (x − mean)²"),
                (lambda x: (x * 0 + 1.5).acos(), "acos", "its operand holds 32 values outside of its domain", "within -1 and 1"),
                (lambda x: (x * 0 - 2) ** 0.5, "pow", "its base holds 32 values outside of its domain", "make its operand positive"),
                (lambda x: (x * 0 - 2).pow_(0.5), "pow", "its operand held 32 values outside of its domain", "make its operand positive"),
                (lambda x: torch.pow(x * 0, x * 0 - 1), "pow", "its base holds 32 zeros", "an eps to the base"),
                (lambda x: (x * 0 + 0.5).acosh(), "acosh", "its operand holds 32 values outside of its domain", "below by 1"),
                (lambda x: (x * 0 - 3).lgamma(), "lgamma", "its operand holds 32 values of 0 or a negative whole number", "an eps"),
                (lambda x: (x * 0).digamma(), "digamma", "its operand holds 32 values of 0 or a negative", "bound it above 0"),
                (lambda x: torch.polygamma(1, x * 0), "polygamma", "its operand holds 32 values of 0 or a negative", "bound it above 0"),
                (lambda x: torch.xlogy(x, x * 0), "xlogy", "its operand holds 32 zeros", "an eps inside of the logarithm"),
                (lambda x: torch.special.xlog1py(x, x * 0 - 1), "special_xlog1py", "its operand holds 32 values of -1", "an eps inside"),
                (lambda x: torch.special.entr(x * 0 - 1), "special_entr", "its operand holds 32 values outside of its domain", "an eps"),
                (lambda x: x + torch.linalg.slogdet(torch.zeros(2, 2) * x.mean())[1], "linalg_slogdet", "a matrix is singular", "(orthogonal)"),
                (lambda x: x[:, :2].std(1, correction=2, keepdim=True), "std", "it is taken over too few elements", "pass over"),
                (lambda x: torch.nn.functional.cross_entropy(x, torch.zeros(4).long(), torch.zeros(8)), "nll_loss_forward",
                 "the weights of all of its targets are 0", "give their classes weights"),
                (lambda x: x + x[none].mean(), "mean", "it is taken over no element", "pass over such batches"),
                (lambda x: x[:, :1].std(1, keepdim=True), "std", "it is taken over too few elements", "pass over such batches"),
                (lambda x: torch._weight_norm(x * 0, x[:, :1], 0), "weight_norm_interface", "it divides by a norm that is zero, of 4 rows",
                 "begin with v that is not zero"),
                (lambda x: functional.layer_norm(x * 0, (8,), eps=0.0), "native_layer_norm", "it divides by a deviation that is zero, of 4 rows",
                 "an eps above zero"),
                (lambda x: functional.group_norm(x * 0, 2, eps=0.0), "native_group_norm", "it divides by a deviation that is zero, of 8 rows",
                 "an eps above zero"),
                (lambda x: functional.normalize(x * 0, eps=0.0), "div", "its divisor holds 32 zeros", "add an eps to the divisor"),
                (lambda x: functional.cosine_similarity(x, x * 0, eps=0.0), "div", "its divisor holds 4 zeros", "add an eps to the"),
                (lambda x: x + functional.mse_loss(x[none], x[none]), "mse_loss", "it is the mean of no element", "pass over such"),
                (lambda x: x.masked_fill(~none, -math.inf).softmax(-1), "softmax", "whole rows of it are masked", "leave a place open"),
                (lambda x: (x + mask).softmax(-1), "softmax", "whole rows of it are masked", "leave a place open"),
                (lambda x: x + mask * 0, "mul", "Inf was in what the layer got", "look at the data"),
                (lambda x: x.masked_fill(~none, -math.inf) * 0, "mul", "Inf of a constant came to 0·Inf", "a large finite number")):
            with self.subTest(name=name):
                w = self.of(torch.nn.Linear(8, 8), of_op(op), steps=1)
                self.assertIn(f"; {found}", w.first_nonfinite().text)
                self.check_no_format(w, "1", name, cure)
        w = self.of(torch.nn.Linear(8, 8), of_op(lambda x: (x * 0 - 2).sqrt() * 0), torch.nn.Linear(8, 2), steps=1)
        self.assertIn("it got input 2 … 2, 32 negative; ", w.first_nonfinite().text)
        # Slopes that are infinite, one of them behind a condition.
        for op, name, found in (
                (lambda x: torch.where(x * 0 > 0, (x * 0).log(), x), "log", "zeros"), (lambda x: (x * 0 + 1).acosh(), "acosh", "values of 1"),
                (lambda x: torch.xlogy(x * 0, x * 0), "xlogy", "zeros"), (lambda x: torch.special.entr(x * 0), "special_entr", "zeros"),
                (lambda x: torch.pow(x * 0, torch.full((4, 8), 0.5)), "pow", "zeros")):
            with self.subTest(slope=name):
                w = self.of(torch.nn.Linear(8, 8), of_op(op), torch.nn.Linear(8, 2), steps=1)
                self.assertIn(f" holds 32 {found}, where the slope of {name} is infinite", w.first_nonfinite().text)
                self.check_no_format(w, "1", name, "replace these values before it")

    def test_a_whole_power_of_a_negative_number_that_overflows_is_for_want_of_range(self):
        two = torch.full((4, 8), 2.0).half()
        for power in (lambda x: x**2, lambda x: x**3, torch.square, lambda x: (x * 1e-8) ** -1, lambda x: torch.pow(x, two)):
            w = self.of(torch.nn.Linear(8, 8), halved(lambda x: power(x.abs() * -1e3 - 300)), torch.nn.Linear(8, 2), steps=1)
            self.assertEqual((w.first_nonfinite().op, w.advise().to_dict()["no_format"]), ("pow", []))
            self.assertIn("1", w.advise().keep_fp32)
        w = self.of(halved(lambda x: x / (x**2 + 1)), torch.nn.Linear(8, 2), x=-1e3 - random_batch(4, 8).abs())
        self.assertIn("div then gave finite numbers, and it was gone", w.first_nonfinite().text)

    def test_a_product_that_overflows_is_not_told_to_subtract_a_maximum(self):
        rnn = torch.nn.RNN(8, 8, nonlinearity="relu")
        with torch.no_grad():
            rnn.weight_hh_l0.copy_(1e9 * torch.eye(8))
        for layer, told in ((rnn, True), (of_op(lambda x: (x + 100).exp()), False)):
            first = Calls(lambda self, x: self.layer(x)[0] if told else self.layer(x), layer=layer)
            text = " ".join(str(self.of(torch.nn.Linear(8, 8), first, torch.nn.Linear(8, 2), x=random_batch(6, 2, 8), steps=1).advise()).split())
            self.assertEqual(("scale what it multiplies down" in text, "which subtract the maximum" in text), (told, not told), text)

    def test_distances_of_elements_to_themselves_are_zero_in_every_format_and_told_once(self):
        for other, exact in ((lambda x: x[None], True), (lambda x: x.clone()[None], False)):
            def distances(x, other=other):
                return x + (x[:, None] - other(x)).half().float().square().sum(-1).sqrt().sum(1, keepdim=True)

            w = self.of(torch.nn.Linear(8, 8), of_op(distances), torch.nn.Linear(8, 2), steps=1)
            text = " ".join(str(w.advise()).split())
            self.assertEqual(("holds 4 zeros (differences of elements and themselves, zero in every format)" in text, "which rounding to" in text),
                             (exact, not exact), text)
        inf, both = (Origin("NaN", "sqrt", "0", "a.py:1", {"inf": 96 - nan, "nan": nan}, [], phase="backward") for nan in (0, 24))
        self.assertEqual(inf.told[0], both.told[0])

    def test_what_is_left_of_a_run_that_broke_in_fp32_asks_for_no_format(self):
        w = self.of(torch.nn.Linear(8, 8), of_op(lambda x: (y := torch.relu(x - 0.8)) / y.sum(-1, keepdim=True) * 1e-8), steps=4, every=1)
        self.assertGreater(w.summary("0", "dAct").becomes("binary16")["lost_l2"], 1e-3)
        self.check_no_format(w, "1", "div", "add an eps to the divisor")

    def test_what_no_loss_scale_cures_is_told_of_steps_that_the_scaler_skips(self):
        with self.assertWarnsRegex(RuntimeWarning, "nothing was trained"):
            w = self.of(torch.nn.Linear(8, 8), of_op(lambda x: (x * 0).sqrt() + x), torch.nn.Linear(8, 2), scaler=CpuScaler(), steps=3)
        self.assertTrue(all(found.skipped for found in w.nonfinite()))
        self.check_no_format(w, "1", "sqrt", "an eps inside of the root")

    def test_a_weight_that_was_ill_when_training_began_is_told_as_that(self):
        model = torch.nn.Sequential(torch.nn.Embedding(9, 4), torch.nn.Linear(4, 2))
        model[0].weight.data[7] = math.nan
        x = torch.tensor([1, 2, 3])
        w = watched(model=model, x=x, steps=4, every=1, before=lambda step: x.fill_(7 if step == 2 else 1))
        self.assertEqual(w.first_nonfinite().text, "step 0: 4 NaN in parameter '0'; it held them when training began: look at the checkpoint, "
                         "or at what initializes it")
        self.assertIn("First of what came of it: step 2: 12 NaN in the output of '0'", " ".join(str(w.advise()).split()))
        self.assertEqual([found.step for found in w.nonfinite() if found.was_there], [0])
        masked = torch.nn.Sequential(torch.nn.Linear(4, 2))
        masked[0].bias.data[1] = -math.inf
        masked[0].register_forward_hook(lambda module, args, out: out[:, :1])
        self.assertIsNone(watched(model=masked, x=torch.ones(3, 4), steps=2, every=1).first_nonfinite())
        w = watched(model=torch.nn.Sequential(model[0]), x=torch.tensor([7]), steps=1)
        self.assertIn("weight held Inf or NaN when training began: look at the checkpoint", w.first_nonfinite().text)

    def test_inf_of_a_weight_is_that_of_the_step_before(self):
        def ruin(step):
            if step == 2:
                model[0].weight.data[0, :2] = math.inf

        model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 2))
        w = watched(model=model, before=ruin, x=random_batch(4, 8), steps=3, every=1, lr=0.0)
        self.assertEqual((w.nonfinite()[0].step, w.nonfinite()[0].phase, w.nonfinite()[0].layer), (1, "step", "0"))
        self.assertEqual(w.advise().to_dict()["no_format"], [])

    def test_what_became_zero_by_rounding_is_cured_by_another_format(self):
        w = self.of(torch.nn.Linear(8, 8), halved(lambda x: x / (x * 0 + 1e-12)), torch.nn.Linear(8, 2), steps=1)
        self.assertEqual((w.advise().to_dict()["no_format"], w.advise().keep_fp32), ([], ["1"]))
        first = w.advise().to_dict()["not_finite"]["lines"][0]
        self.assertRegex(first, r"; 1e-12 is 0 in FP16, where add at \S+ has it as eps. What helps: keep this layer in FP32, or take an eps that this format holds, with the slope there, as 1e-3")
        self.assertEqual(" ".join(str(w.advise()).split()).count("1e-12 is 0"), 2)
        w = self.of(torch.nn.Linear(8, 8), halved(lambda x: x / (x * 0)), torch.nn.Linear(8, 2), steps=1)
        self.assertIn("FP32 helps only where float16 has made the value", w.advise().to_dict()["no_format"][0]["cure"])
        self.assertIn("Infinite or undefined at what they got, which rounding to FP16 or BF16 may have made", str(w.advise()).replace("\n", " "))
        self.assertNotIn("No format helps", str(w.advise()))
        w = self.of(torch.nn.Linear(8, 8), of_op(lambda x: (x * 1e30) / (x * 1e-30)), torch.nn.Linear(8, 2), steps=1)
        self.assertEqual((w.first_nonfinite().op, too_wide(w), w.advise().keep_fp32), ("div", ["1"], []))

    def test_a_logarithm_of_zeros_that_an_overflow_left_is_told_as_that_overflow(self):
        for op in (lambda x: (1 / (1 + (x.abs() + 300).square().half())).float().log(), lambda x: 1 / (x / (x.abs() + 300).square().half())):
            w = self.of(of_op(op), torch.nn.Linear(8, 2), steps=1, x=1 + random_batch(4, 8).abs())
            self.assertRegex(w.first_nonfinite().text, r"step 0: 32 Inf in to_copy inside of '0' .* made Inf of it$")
            self.assertEqual((w.advise().to_dict()["no_format"], w.advise().keep_fp32), ([], ["0"]))

    def test_weights_that_are_ill_are_no_infinity_of_the_data(self):
        def ruin(step):
            if step == 1:
                model[0].weight.data[0, :2] = math.inf

        class Autocast(torch.nn.Sequential):
            def forward(self, x):
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    return super().forward(x)

        model = Autocast(torch.nn.Linear(8, 8), torch.nn.Linear(8, 2))
        w = watched(model=model, before=ruin, x=random_batch(4, 8), steps=3, every=1, lr=0.0)
        self.assertEqual(w.advise().to_dict()["no_format"], [])

    def test_zeros_that_float16_made_are_cured_by_more_range_also_after_casts_and_sums(self):
        x = 1 + random_batch(4, 8).abs()
        for made, name in (
                (lambda x: (x - 30).float().exp().half(), "to_copy"), (lambda x: x / 3e4 / 3e4, "div"), (lambda x: x * 1e-9, "mul")):
            for op in (lambda x: x.float().log(), lambda x: 1 / x, lambda x: 1 / x.float().sum(-1, keepdim=True).expand(4, 8)):
                with self.subTest(made=name):
                    w = self.of(of_op(lambda x: op(made(x.half())).float()), torch.nn.Linear(8, 2), steps=1, x=x)
                    self.assertEqual((w.advise().to_dict()["no_format"], w.advise().keep_fp32), ([], ["0"]))
                    self.assertRegex(w.first_nonfinite().text, rf"; the zeros that it got are what {name} at \S+ rounded to in FP16")
        # Zeros of which some are none of rounding, or nobody knows.
        for made in (lambda x: (x * 0).half(), lambda x: torch.cat([x.half()[:, 4:] * 0, x.half()[:, :4] / 3e4 / 3e4], 1)):
            w = self.of(of_op(lambda x: made(x).float().log()), torch.nn.Linear(8, 2), steps=1, x=x)
            self.assertIn("FP32 helps only where float16 has made the value", w.advise().to_dict()["no_format"][0]["cure"])

    def test_an_overflow_that_an_op_after_it_hides_is_told_with_what_became_of_it(self):
        def filled(x):
            x.masked_fill_(x.isinf(), 2.0)
            return x

        def put(x):
            x[~torch.isfinite(x)] = 3.0
            return x

        for hide, op, became in (
                (lambda x: x.clamp(-3e38, 3e38), "clamp", "3e+38"), (lambda x: x.clamp_(-3e38, 3e38), "clamp", "3e+38"),
                (torch.nan_to_num, "nan_to_num", "3.40282e+38"),
                (lambda x: x.nan_to_num_(posinf=7.0, neginf=7.0), "nan_to_num", "7"), (torch.nn.Hardtanh(-2e38, 2e38), "hardtanh", "2e+38"),
                (lambda x: torch.minimum(x.abs(), torch.full((), 2e38)), "minimum", "2e+38"),
                (lambda x: (x * 1e-38).clamp(-9, 9), "clamp", "9"),  # the product might be below the bound
                (lambda x: x.masked_fill(x.isinf(), 1.5), "masked_fill", "1.5"), (filled, "masked_fill", "2"),
                (lambda x: torch.where(torch.isfinite(x), x, torch.zeros_like(x)), "where", "0"),
                (put, "(index_put|masked_fill)", "3")):
            with self.subTest(op=op, became=became):
                w = self.of(torch.nn.Linear(8, 8), of_op(lambda x: hide(x * 1e30 * 1e30)), torch.nn.Tanh(), torch.nn.Linear(8, 2),
                            lr=0.0, steps=3)
                found = w.first_nonfinite()
                self.assertEqual((found.step, found.layer, found.op, found.hidden, len(w.nonfinite())), (0, "1", "mul", True, 3))
                self.assertRegex(found.text, rf"; {op} at \S+watch_inside_test.py:\d+ then made {became.replace('+', '.')} of it$")
                advice = w.advise()
                self.assertIn("So it was in 2 more of the steps that were looked into, up to step 2.", " ".join(str(advice).split()))
                self.assertNotIn("tells of no training", str(advice))
                self.assertEqual((too_wide(w), "Keep in FP32, or scale apart: 1: inside" in " ".join(str(advice).split())), (["1"], False))
                self.assertIn("Not finite in FP32's own range, so that keeping them in FP32", str(advice))
                self.assertEqual([row["status"] for row in advice.to_dict()["formats"] if row["layer"] == "1"][0], "ill inside")

    def test_an_overflow_that_comes_out_of_its_layer_and_is_clamped_by_another(self):
        for every, steps in ((1, [0, 1, 2, 3, 4, 5, 6]), (50, [6])):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Sequential(Multiplied()), of_op(lambda x: x.clamp(-3e38, 3e38).tanh()),
                                        torch.nn.Linear(8, 2))

            def change(step):
                model[1][0].factor = 1e38 if step > 4 or every == 1 else 1.0

            w = watched(steps=7, before=change, model=model, x=random_batch(4, 8, scale=1e3), every=every, lr=0.0)
            self.assertEqual([found.step for found in w.nonfinite()], steps)
            self.assertEqual({(found.layer, found.op, found.hidden) for found in w.nonfinite()}, {("1.0", "mul", True)})
            self.assertEqual(too_wide(w), ["1.0"])
            self.assertEqual(w.meant_infinities(), set())
            self.assertEqual([note for note in w.notes if "gave Inf" in note],
                             ["1.0 gave Inf in step 5: an overflow that an op after it hid"] * (every == 50))

    def test_an_overflow_beside_a_part_that_is_written_to_is_not_forgotten(self):
        def attention(x):
            x = x * torch.tensor([1.0] * 4 + [1e38] * 4) * torch.tensor([1.0] * 4 + [1e38] * 4)
            q, k = x[:, :4], x[:, 4:]
            q.mul_(0.5).clamp_(-9, 9)
            return torch.softmax(q @ k.T, -1) @ x[:, :4] + (q * 0).sum()

        def buffered(x):
            out = torch.zeros(4, 8)
            out[:2] = x[:2] * 1e30 * 1e30
            out[2:] = x[2:]
            return (out * out + 1).rsqrt() * x

        w = self.of(torch.nn.Linear(8, 8), of_op(attention), torch.nn.Linear(4, 2), steps=1)
        found = w.first_nonfinite()
        self.assertEqual((found.layer, found.op, found.found, found.arose), ("1", "mul", {"nan": 0, "inf": 16}, True))
        self.assertIn("made NaN of it", found.text)
        w = self.of(torch.nn.Linear(8, 8), of_op(buffered), torch.nn.Linear(8, 2), steps=1)
        self.assertEqual((w.first_nonfinite().op, w.first_nonfinite().found), ("mul", {"nan": 0, "inf": 16}))
        self.assertIn("rsqrt then gave finite numbers", w.first_nonfinite().text)
        w = self.of(of_op(lambda x: torch.cat([(x * 1e30 * 1e30).exp(), x], 1)[:, 8:] * 1e38 * 1e38), torch.nn.Linear(8, 2), steps=1)
        self.assertEqual((w.first_nonfinite().op, w.first_nonfinite().found["inf"]), ("mul", 32))

    def test_what_an_op_got_is_not_taken_from_its_layer(self):
        found = self.of(torch.nn.Linear(8, 8), of_op(lambda x: torch.log(torch.softmax(x * 1e4, -1))), torch.nn.Linear(8, 2), steps=1).first_nonfinite()
        self.assertEqual(found.op, "log")
        self.assertRegex(found.text, r"it got input \S+ … 1, \d+ zeros; its operand holds")

    def test_a_module_that_calls_itself_is_looked_into_after_the_inner_call(self):
        class Tree(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = torch.nn.Linear(8, 8)

            def forward(self, x, depth=2):
                x = self(x, depth - 1) if depth else self.fc(x)
                return x / (1 + (x * 1e25) ** 2) if depth == 2 else x

        torch.manual_seed(0)
        w = watched(model=Tree(), x=random_batch(4, 8), steps=1)
        self.assertEqual((w.first_nonfinite().layer, w.first_nonfinite().op), ("Tree", "pow"))
        model = Tree()
        with binade.torch.watch(model, torch.optim.SGD(model.parameters(), lr=0.1)):
            model(random_batch(4, 8)).sum().backward()
            self.assertEqual(len_of_modes(), 0)

    def test_a_cause_inside_of_several_layers_or_steps_is_one_line(self):
        def ill(*layers, **options):
            w = self.of(*layers, torch.nn.Linear(8, 2), every=1, lr=0.0, **options)
            return w, " ".join(str(w.advise()).split())

        told = ill(torch.nn.Linear(8, 8), Norm(), Norm(), Multiplied(), x=random_batch(4, 8, scale=1e25))[1]
        self.assertEqual(told.count("gone after rsqrt (the"), 1)
        self.assertRegex(told, r"1: mul at \S+ gives 32 Inf, gone after rsqrt \(the most of 6 steps\): clip or scale its operands")
        norm, x = (lambda x: x / (x * x + 1)), 300 + random_batch(4, 8, scale=1e3).abs()
        w, told = ill(halved(norm), of_op(lambda x: x * 0 + 1e3), halved(norm), x=x)
        self.assertRegex(told, r"in 2 layers \(0, 2\): inside: mul at \S+ gives 32 Inf, gone after div \(the most of 6 steps\); most in 0")
        self.assertEqual({row["layer"] for row in w.advise().to_dict()["keep_fp32"] for reason in row["reasons"]
                          if reason["what"] == "inside"}, {"0", "2"})

    def test_an_operand_that_an_addition_does_not_read_is_no_finding(self):
        def scores(x):
            out = torch.baddbmm(torch.full((2, 4, 4), math.nan), x, x.transpose(1, 2), beta=0)
            finite.append(bool(out.isfinite().all()))  # torch 1.13 reads the operand on some CPUs, now and then
            return out

        finite = []
        model = torch.nn.Sequential(torch.nn.Linear(8, 8), of_op(scores))
        w = fit(model, lambda: model(torch.ones(2, 4, 8)).mean(), 2, scaler=None)
        self.assertEqual(w.first_nonfinite() is None, all(finite))
        self.assertEqual("not finite" not in str(w.advise()), all(finite))

    def test_what_is_meant_is_no_finding(self):
        future = torch.ones(4, 4).triu(1).bool()
        masks = [lambda s: s.masked_fill(future, -math.inf), lambda s: s + torch.zeros(4, 4).masked_fill(future, -math.inf),
                 lambda s: torch.where(future, torch.full_like(s, -math.inf), s),
                 lambda s: s * 0 + torch.where(future, torch.finfo(s.dtype).min, s) * 4,  # overflows as masks of the least number do
                 lambda s: torch.maximum(s + 2 * torch.where(future, torch.finfo(s.dtype).min, 0.0), torch.full((), -1e34))]
        for mask in masks:
            self.check_healthy(self.of(Attention(mask), Norm(), torch.nn.Linear(8, 2)))
        self.check_healthy(self.of(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5), torch.nn.LayerNorm(8),
                                   halved(lambda x: torch.where(x > 0, x.float().clamp(min=0).log(), x * 0)),
                                   torch.nn.Linear(8, 2)))
        for op in (lambda x: (x * 1e3).exp().clamp(max=10).detach() + x,
                   lambda x: (x * 1e30).div(x * 1e-30).clamp(-1, 1).detach() + x,
                   lambda x: torch.where(x.abs() < 99, x, x.detach() * 1e38 * 5), lambda x: torch.where(x * 1e3 > 20, x, (x * 1e3).exp().log1p()).detach() + x,
                   lambda x: (1 / (x * 0).abs()).clamp(max=1).detach() + x, lambda x: torch.nan_to_num((x * 0) / (x * 0)).detach() + x):
            self.check_healthy(self.of(torch.nn.Linear(8, 8), of_op(op), torch.nn.Linear(8, 2), lr=0.0))

        # An eps of zero beside what is never zero, and overflows that are bounded below.
        for op in (lambda x: x / (x.abs() + 0.25 + 1e-12), lambda x: (x * 6e4).float().clamp(-1e4, 1e4).detach() + x,
                   lambda x: torch.nn.functional.relu6((x * 6e4 + 1).float()).detach() + x,
                   lambda x: (x * 6e4).float().clamp_(-1e4, 1e4).detach() + x,
                   lambda x: torch.minimum((x * 6e4).abs().float(), torch.full((), 9.0)).detach() + x):
            self.check_healthy(self.of(torch.nn.Linear(8, 8), halved(op), torch.nn.Linear(8, 2), x=4 + random_batch(4, 8), lr=0.0))

    def test_a_constant_that_the_dtype_does_not_hold_is_named_where_it_leaves_nothing_of_a_row(self):
        mask = torch.ones(4, 4).tril()
        mask[2] = 0
        of_mask = "What helps: use torch.finfo(dtype).min in its place, or a boolean mask"
        for hidden, help in ((lambda s: s + (mask.half() - 1) * 1e9, of_mask), (lambda s: s + (1 - mask.half()) * -1e9, of_mask),
                             (lambda s: s - (1 - mask).half() * 1e9, "the constant 1e+09 is Inf in FP16, whose largest number is 65504")):
            text = " ".join(str(self.of(Attention(hidden), torch.nn.Linear(8, 2), steps=1).advise()).split())
            for words in (help, "Inf in FP16, whose largest number is 65504", "Keep in FP32, or scale apart"):
                self.assertIn(words, text)
        mask[2] = 1
        if (torch.zeros(1).half() * -1e9).isfinite():  # torch 1.13 makes NaN of it
            self.check_healthy(self.of(Attention(lambda s: s + (1 - mask.half()) * -1e9), torch.nn.Linear(8, 2), steps=2))

    def test_a_bound_after_a_series_that_overflowed_is_told(self):
        w = self.of(torch.nn.Linear(8, 8), of_op(lambda x: (1 + x.abs() * 1e38).cumprod(-1).clamp(-9, 9).detach() + x), torch.nn.Linear(8, 2),
                    steps=1)
        self.assertEqual((w.first_nonfinite().op, w.first_nonfinite().hidden), ("cumprod", True))

    def check_healthy(self, w):
        self.assertEqual(w.nonfinite(), [])
        self.assertIn("No layer needs FP32 for its range.", str(w.advise()))
        self.assertTrue(w.advise().to_dict()["not_finite"]["finite"])

    def test_steps_that_the_scaler_skips_are_no_illness(self):
        w = watched(scaler=CpuScaler(2.0**127), steps=16, every=50)
        advice = w.advise()
        self.assertTrue(advice.to_dict()["not_finite"]["finite"])
        self.assertIn("as it does while it looks for its scale", " ".join(str(advice).split()))

    def test_a_scaler_that_skips_again_and_again_is_told_from_one_that_looks_for_its_scale(self):
        for interval, words in ((None, "too soon (growth_interval), or the largest gradients of some steps"), (2000, "too soon (growth_interval), or"),
                                (1, "too soon: after 1 step without an overflow (growth_interval). Take 2,000, as PyTorch does.")):
            model, scaler = torch.nn.Linear(4, 2), CpuScaler()
            if interval is not None:
                scaler.get_growth_interval = lambda interval=interval: interval
            scaler._scale = 2.0**10

            def turn(step):
                scaler._scale = 2.0**10 if step % 2 else 2.0**130

            w = fit_scaled(model, scaler, lambda _: model(torch.ones(3, 4)).sum(), 40, 1e-3, turn, every=50)
            self.assertIn("The scaler skipped 20 of 40 steps, whose gradients were not finite, in 20 runs with others between them: "
                          f"it grows its scale {words}", " ".join(str(w.advise()).split()))

    def test_a_loss_inside_of_the_model_that_is_infinite_is_never_passed_over(self):
        in_half = iter((False, True, True))
        model = Calls(lambda self, x: self.fc(x).square().sum().to(torch.half if next(in_half) else torch.float), fc=torch.nn.Linear(4, 2))
        w = fit(model, lambda: model(torch.full((3, 4), 1e3)), lr=0.0, scaler=None, every=50)
        self.assertEqual((w.first_nonfinite().step, w.first_nonfinite().role, w.first_nonfinite().found), (1, "act", {"nan": 0, "inf": 1}))
        self.assertFalse(any("passed over" in note for note in w.notes))

    def test_a_gradient_that_the_model_got_ill_came_from_outside_and_its_layers_have_no_format(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with binade.torch.watch(model, optimizer, scaler=None, every=1) as w:
            for factor in (1.0, math.inf):
                optimizer.zero_grad()
                model(torch.ones(3, 4)).backward(torch.full((3, 2), factor))
                optimizer.step()
        self.assertEqual((w.first_nonfinite().step, w.first_nonfinite().role), (1, "dAct"))
        self.assertIn("; the model got it so, from the loss or what else is computed after the model", w.first_nonfinite().text)
        status = {(row["layer"], row["role"]): (row["status"], row["format"]) for row in w.advise().to_dict()["formats"]}
        self.assertEqual((status["1", "dAct"], status["1", "act"]), (("not finite", None), ("ok", "e4m3")))

    def test_a_loss_scale_that_grew_to_infinity_is_named_in_the_advice(self):
        model, scaler = torch.nn.Linear(4, 2), CpuScaler()
        for last, told in ((2048.0, "The last loss scale in use: 2^11."), (math.inf, "The loss scale is inf from step 1 on:")):
            def loss(step):
                scaler._scale = last if step else 1024.0
                return model(torch.ones(3, 4)).sum()

            w = fit_scaled(model, scaler, loss, 2, 0.1)
            self.assertIn(told, str(w.advise()))
            self.assertEqual("oss scale in use" in str(w.advise()), last != math.inf)

    def test_where_no_ill_step_was_looked_into_the_advice_says_what_would_name_the_op(self):
        for every, told in ((50, True), (1, False)):
            with self.subTest(every=every):
                torch.manual_seed(0)
                factor = Multiplied()
                w = watched(model=torch.nn.Sequential(torch.nn.Linear(8, 8), factor, of_op(lambda x: (x * x).sqrt().log() + x), torch.nn.Linear(8, 2)),
                            x=random_batch(4, 8), steps=6, every=every, before=lambda step: setattr(factor, "factor", float(step != 5)))
                advice = w.advise()
                self.assertEqual(advice.to_dict()["not_finite"]["unlooked"], 5 if told else None)
                self.assertEqual("not known of a step that was not looked into: every=1 names both." in " ".join(str(advice).split()), told)
                self.assertEqual("since step 5 was not looked into (every=1 does)." in " ".join(str(advice).split()), told)

    def test_an_overflow_beside_an_exact_zero_is_no_pole(self):
        x = random_batch(4, 8, scale=1e25)
        x[0, 0] = 0
        (found,) = self.of(of_op(lambda x: x / (1 + x**2).sqrt()), torch.nn.Linear(8, 2), x=x, steps=1).nonfinite()
        self.assertEqual((found.layer, found.op, found.arose), ("0", "pow", True))

    def test_what_becomes_zero_inside_counts_against_the_range(self):
        w = self.of(torch.nn.Linear(8, 8), halved(lambda x: (x * 1e-3) * (x * 1e-6)), torch.nn.Linear(8, 2))
        (row,) = w.advise().to_dict()["keep_fp32"]
        self.assertEqual((row["layer"], row["reasons"][0]["what"]), ("1", "inside"))
        self.assertRegex(row["reasons"][0]["text"], r"inside: mul at .*watch_inside_test.py:\d+ makes \d+ of 32 values zero")

    def test_eps_that_is_zero_in_the_dtype_is_named_where_what_came_of_it_is_ill(self):
        w = self.of(torch.nn.Linear(8, 8), halved(lambda x: x / (x * 0 + 1e-12)), torch.nn.Linear(8, 2))
        self.assertRegex(" ".join(str(w.advise()).split()), "1: inside: div at .* 1e-12 is 0 in FP16, where add at ")
        for end in (lambda y: y.exp(), lambda y: torch.maximum(y, torch.full_like(y, -4)), lambda y: y.clamp(min=-11)):  # as of a logarithm of energies
            def op(x, end=end):
                return end((x * 0 + 1e-12).float().log()).half().detach() + x

            self.check_healthy(self.of(torch.nn.Linear(8, 8), halved(op), torch.nn.Linear(8, 2), steps=2))
            w = self.of(torch.nn.Linear(8, 8), halved(op), torch.nn.Linear(8, 2), scaler=CpuScaler(2.0**127), steps=2)
            self.assertNotIn("has it as eps", str(w.advise()))

    def test_an_optimizers_eps_that_is_zero_in_the_dtype_of_its_state(self):
        for eps, lost in ((1e-8, True), (1e-4, False)):
            model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 2))
            optimizer = HalfAdam(model.parameters(), {"eps": eps})
            x = random_batch(4, 8)
            x[:, 3] = 0
            with binade.torch.watch(model, optimizer) as w:
                train(model, 3, optimizer, x=x)
            self.assertEqual([(row["optimizer"], row["eps"], row["dtype"], row["layers"][0]) for row in w.advise().to_dict()["eps"]],
                             [("HalfAdam", 1e-8, "F16", "0")] * lost)
            if lost:
                found = w.first_nonfinite()
                self.assertEqual((found.layer, found.phase), ("0", "step"))
                self.assertTrue(found.text.endswith("HalfAdam's eps 1e-08 is 0 in FP16, the dtype of exp_avg_sq"), found.text)
                self.assertRegex(found.text, r"exp_avg_sq \S+ … \S+, \d+ zeros")
                advice = " ".join(str(w.advise()).split())
                self.assertIn("HalfAdam's eps 1e-08 is 0 in FP16", advice)
                self.assertIn("Which layers need FP32 is not known of a run that was not finite.", advice)
                self.assertNotIn("No layer needs FP32", advice)
                self.assertIn(" with a copy in FP32, ", advice)
                self.assertNotRegex(advice, "state in (?!FP32)")
                self.assertLess(advice.index("or give an eps that stands"), advice.index("act in "))

    def test_adams_eps_is_divided_by_the_step_size_where_the_step_is_differentiable(self):
        x = torch.nn.Parameter(torch.ones(4).half())
        state = {"step": torch.tensor(1.0), "exp_avg": torch.zeros(4).half(), "exp_avg_sq": torch.zeros(4).half()}
        for kind in (torch.optim.Adam, torch.optim.AdamW):
            for options, lost in (({}, True), ({"capturable": True}, False), ({"capturable": True, "foreach": True}, True),
                                  ({"capturable": True, "lr": 1.0}, True), ({"lr": 1e-6}, True)):
                optimizer = kind([x], **options)
                optimizer.state[x] = state
                with self.subTest(f"{kind.__name__} {options}"):
                    self.assertEqual(len(lost_eps(optimizer, {id(x)})), lost)
        if "differentiable" in inspect.signature(torch.optim.Adam).parameters:
            optimizer = torch.optim.Adam([x], differentiable=True)
            optimizer.state[x] = state
            self.assertEqual(lost_eps(optimizer, {id(x)}), {})

    def test_the_loss_alone(self):
        model, loss = new_net(), torch.nn.MSELoss()
        w = fit(model, lambda: loss(model(torch.ones(3, 4)), torch.full((3, 2), 1e25)), 2, lr=0.0, every=50)
        found = w.first_nonfinite()
        self.assertEqual((found.step, found.layer, found.op, found.phase), (0, "MSELoss", "mse_loss", "forward"))

    def test_a_forward_that_raises_leaves_nothing_open(self):
        def raises(x):
            raise KeyError

        model = torch.nn.Sequential(torch.nn.Linear(4, 8), of_op(raises))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with binade.torch.watch(model, optimizer):
            for _ in range(2):
                self.assertRaises(KeyError, model, torch.ones(3, 4))
        self.assertEqual(len_of_modes(), 0)

    def test_a_forward_pass_of_another_thread_ends_no_training_and_is_left_by_itself(self):
        def pauses(x):
            if threading.current_thread() is not threading.main_thread():
                inside.set()
                go.wait(60)
            return x

        for stops_first in (False, True):
            inside, go, modes = threading.Event(), threading.Event(), []
            model = torch.nn.Sequential(torch.nn.Linear(4, 8), of_op(pauses), torch.nn.Linear(8, 2))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            other = threading.Thread(target=lambda: modes.append((model(torch.ones(3, 4)), len_of_modes())[1]))
            hooks = torch.nn.modules.module
            before = [len(x) for x in (hooks._global_forward_hooks, hooks._global_forward_pre_hooks)]
            with warnings.catch_warnings(record=True) as warned, binade.torch.watch(model, optimizer, every=1) as w:
                other.start()
                inside.wait(60)
                train(model, 2, optimizer)
                if not stops_first:
                    go.set()
                    other.join()
                    train(model, 1, optimizer)
            go.set()
            other.join()
            self.assertEqual((modes, len_of_modes(), [str(x.message) for x in warned]), ([0], 0, []))
            self.assertEqual([len(x) for x in (hooks._global_forward_hooks, hooks._global_forward_pre_hooks)], before)
            self.assertEqual([note for note in w.notes if "not counted" in note or "taken away" in note], [])

    def test_what_raises_as_hooks_are_taken_away_leaves_the_others_none_behind(self):
        model = new_net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        before = len(torch.nn.modules.module._global_forward_hooks), torch.autograd.backward
        watching = binade.torch.watch(model, optimizer).start()
        with self.assertWarnsRegex(RuntimeWarning, "a hook was not taken away: KeyError: 'gone'"):
            watching._hooks._undo.append(functools.partial({}.__getitem__, "gone"))
            watching.stop()
        self.assertEqual((len(torch.nn.modules.module._global_forward_hooks), torch.autograd.backward), before)


def len_of_modes():
    """Returns how many modes of torch see ops now."""
    return torch._C._len_torch_dispatch_stack() if hasattr(torch._C, "_len_torch_dispatch_stack") else int(
        torch._C._get_torch_dispatch_mode() is not None)


if __name__ == "__main__":
    main()
