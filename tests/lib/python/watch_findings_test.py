# SPDX-License-Identifier: Apache-2.0
#
# What a watched run tells: where Inf and NaN arose, alerts, windows, advice, reports and files; the docstrings' examples; what
# cannot be watched; the GPU's way on an emulated device. SKIP without torch. watch_findings_test.py BINADE
import copy
import doctest
import gc
import importlib
import json
import math
import os
import pickle
import pkgutil
import sys
import unittest
import warnings
import weakref

try:
    import torch

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from binade.torch import Run, Window
from binade.torch._run import Layer
from cli_case import CliCase, main


class Scaler:
    """As torch's GradScaler, on the CPU."""

    def __init__(self, scale=1024.0):
        self.value = scale
        self.found = False
        self.unscaled = False

    def is_enabled(self):
        return True

    def get_scale(self):
        return self.value

    def scale(self, loss):
        return loss * self.value

    def unscale_(self, optimizer):
        self.unscaled = True
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.found |= not bool(torch.isfinite(p.grad).all())
                    p.grad *= 1 / self.value

    def step(self, optimizer):
        if not self.unscaled:
            self.unscale_(optimizer)
        if not self.found:
            optimizer.step()

    def update(self):
        self.value *= 0.5 if self.found else 1.0
        self.found = self.unscaled = False


class Multiplied(torch.nn.Module):
    """x · factor, factor a number that a test changes."""

    def __init__(self):
        super().__init__()
        self.factor = 1.0

    def forward(self, x):
        return x * self.factor


def new_net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), Multiplied(), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def train(model, steps, watching, optimizer, scaler=None, before=lambda step: None, x=None):
    for step in range(steps):
        before(step)
        optimizer.zero_grad()
        loss = model(torch.ones(3, 4) if x is None else x).square().sum()
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    return watching


def watched(steps=6, before=lambda step: None, scaler=None, model=None, x=None, lr=0.01, **options):
    model = model or new_net()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    with binade.torch.watch(model, optimizer, **({"every": 2, "scaler": scaler} | options)) as w:
        train(model, steps, w, optimizer, scaler, before, x)
    return w


class NonFinite(CliCase):
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
        self.assertIn(f"step {step}: 24 Inf in the output of 1, forward; it got input ", found.text)
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
        self.assertIn("input nothing finite but zero, 12 NaN, weight ", found.text)
        self.assertTrue(found.text.endswith("it was there before"), found.text)

    def test_a_weight_that_the_optimizer_broke(self):
        for every in (1, 50):
            w = watched(lr=math.inf, every=every)
            found, then = w.nonfinite()[:2]
            self.assertEqual((found.step, found.layer, found.role, found.phase, found.arose), (0, "0", "weight", "step", True))
            self.assertIn(" in parameter 0, after the optimizer's step; it got gradient ", found.text)
            self.assertEqual((then.step, then.layer, then.role, then.arose), (1, "0", "act", False))
            weight = next(x for x in then.inputs if x["name"] == "weight")
            self.assertGreater(weight["nan"] + weight["inf"], 0)

    def test_inf_that_does_no_harm_is_passed_over(self):
        """As that of a mask; and what it hid is told."""
        class Masked(torch.nn.Module):
            def forward(self, x):
                return x.masked_fill(x > 0, -math.inf)

        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), Masked(), torch.nn.Softmax(-1), Multiplied())

        def break_it(now):
            model[3].factor = math.nan if now == 4 else 1.0

        w = watched(before=break_it, model=model, every=1)
        self.assertEqual([(event.step, event.layer) for event in w.nonfinite()][0], (4, "3"))
        self.assertIn("1 gave Inf in step 0 and nothing after it was ill: its Inf is passed over", w.notes)

    def test_a_module_that_writes_to_what_it_got(self):
        class InPlace(torch.nn.Module):
            def forward(self, x):
                return x.mul_(math.inf)

        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), InPlace(), torch.nn.Linear(8, 1))
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
                self.assertEqual((found.step, found.layer, found.role, found.phase, found.arose), (step, "0", "dAct", "backward", True))
                (x,) = found.inputs
                self.assertEqual((x["name"], x["values"], x["nan"], x["inf"]), ("gradient of 1", 24, 0, 0))

    def test_a_weight_gradient_alone(self):
        model = new_net()
        model[3].weight.register_hook(lambda g: g * math.inf)
        found = watched(model=model).first_nonfinite()
        self.assertEqual((found.step, found.layer, found.role, found.phase), (0, "3", "dW", "backward"))

    def test_the_scaler_skips(self):
        scaler = Scaler(2.0**127)
        w = watched(scaler=scaler, steps=40, every=1)
        found = w.first_nonfinite()
        self.assertTrue(found.skipped)
        self.assertEqual((found.step, found.loss_scale, found.phase), (0, 2.0**127, "backward"))
        self.assertTrue(found.text.endswith("the scaler skipped the step"), found.text)
        self.assertIn("at loss scale 2^127", found.text)
        steps = [event.step for event in w.nonfinite()]
        self.assertEqual(steps, list(range(len(steps))))
        self.assertEqual(scaler.value, 2.0 ** (127 - len(steps)))
        self.assertEqual([window.loss_scale for window in w.windows], [2.0 ** (127 - min(step, len(steps))) for step in range(40)])

    def test_events_are_bounded(self):
        w = watched(steps=130, x=torch.full((3, 4), math.nan), every=1000)
        self.assertEqual([event.step for event in w.nonfinite()], list(range(100)))

    def test_not_looked_for(self):
        self.assertIsNone(watched(x=torch.full((3, 4), math.nan), nonfinite=False).first_nonfinite())


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
        model = torch.nn.Sequential(*around[: len(around) // 2], Block(inside) if not flat else inside, *around[len(around) // 2:])
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


class Telling(CliCase):
    def test_alerts(self):
        told = []
        model = new_net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with binade.torch.watch(model, optimizer, every=2) as w:
            w.alerts(share=0.5, role="dAct", call=told.append)
            for step in range(4):
                optimizer.zero_grad()
                (model(torch.ones(3, 4)).square().sum() * 2.0**-28).backward()
                optimizer.step()
        self.assertEqual({(a.step, a.role, a.format) for a in told}, {(0, "dAct", "binary16"), (2, "dAct", "binary16")})
        for alert in told:
            summary = w.summaries()[alert.step, alert.layer, "dAct"]
            self.assertEqual(alert.share, summary.becomes("binary16")["to_zero"]["of_nonzero"])
            self.assertGreater(alert.share, 0.5)
        for (step, layer, role), summary in w.summaries().items():
            if role == "dAct":
                dead = summary.becomes("binary16")["to_zero"]["of_nonzero"]
                self.assertEqual(dead > 0.5, any((a.step, a.layer) == (step, layer) for a in told), layer)
        self.assertIn("of 3's dAct become zero in binary16", " ".join(map(str, told)))

    def test_alerts_at_the_loss_scale(self):
        told = []
        model, scaler = new_net(), Scaler(2.0**20)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with binade.torch.watch(model, optimizer, scaler=scaler, every=1) as w:
            w.alerts(share=0.0, call=told.append)
            optimizer.zero_grad()
            scaler.scale(model(torch.ones(3, 4)).square().sum() * 2.0**-28).backward()
            scaler.step(optimizer)
        self.assertEqual(told, [])
        self.assertGreater(w.summary("3", "dAct").becomes("binary16")["to_zero"]["count"], 0)

    def test_windows_are_told(self):
        told = []
        model = new_net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with binade.torch.watch(model, optimizer, every=1, windows=4) as w:
            w.on_window(lambda window: told.append((window.first, window.last, window.steps)))
            train(model, 17, w, optimizer)
        self.assertEqual(told[:4], [(0, 0, 1), (1, 1, 1), (2, 2, 1), (3, 3, 1)])
        self.assertEqual(told[4:], [(4, 5, 2), (6, 7, 2), (8, 11, 4), (12, 15, 4), (16, 16, 1)])
        self.assertEqual([(window.first, window.last, window.steps) for window in w.windows], [(0, 7, 8), (8, 15, 8), (16, 16, 1)])

    def test_tensorboard(self):
        class Writer:
            def __init__(self):
                self.scalars, self.histograms = {}, {}

            def add_scalar(self, tag, value, step):
                self.scalars[tag, step] = value

            def add_histogram_raw(self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts, global_step=None):
                self.histograms[tag, global_step] = (min, max, num, sum, sum_squares, bucket_limits, bucket_counts)

        writer, model = Writer(), new_net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with binade.torch.watch(model, optimizer, every=2) as w:
            w.add_to(writer)
            train(model, 3, w, optimizer)
        for (step, layer, role), summary in w.summaries().items():
            low, high, number, total, squares, limits, counts = writer.histograms.get((f"{role}/{layer}/log2_magnitude", step), [None] * 7)
            if summary.nonzero == 0:
                self.assertIsNone(low)
                continue
            self.assertEqual((low, high, number), (limits[0] - 1, limits[-1], summary.nonzero))
            self.assertEqual((limits, counts), ((summary.exponents + 1).tolist(), summary.counts.tolist()))
            self.assertEqual(total, sum((limit - 1) * count for limit, count in zip(limits, counts)))
            self.assertEqual(squares, sum((limit - 1) ** 2 * count for limit, count in zip(limits, counts)))
            self.assertEqual(writer.scalars[f"{role}/{layer}/to_zero_in_binary16", step],
                             summary.becomes("binary16")["to_zero"]["of_nonzero"])

    def test_a_callback_may_end_the_training(self):
        def stop(_):
            raise KeyError("enough")

        model = new_net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        w = binade.torch.watch(model, optimizer, every=1)
        w.on_window(stop)
        with self.assertRaises(KeyError), w:
            train(model, 3, w, optimizer)
        self.assertEqual(len(w.windows), 1)


class Documents(CliCase):
    def test_report_of_a_run_is_that_of_its_file(self):
        w = watched(steps=10, scaler=Scaler())
        w.save(self.path("run.binade"))
        ours = w.report()
        self.good("report", self.path("run.binade"), "--json", self.path("run.json"), "-o", self.path("run.html"))
        theirs = json.loads(self.read("run.json"))
        mine = ours.to_dict()
        self.assertEqual(theirs["files"], [self.path("run.binade")])
        for of in (mine, theirs):
            of.pop("files")
            for tensor in of["tensors"]:
                tensor.pop("file")
        self.assertEqual(mine, theirs)
        self.assertEqual(mine["watched"]["every"], 2)
        self.assertEqual(mine["watched"]["windows"][1], {"first": 2, "last": 2, "steps": 1})
        self.assertEqual([row["used"] for row in mine["time"]["loss_scale"]], [1024.0] * 5)
        self.assertIn("0", mine["time"]["layers"])
        self.assertTrue(mine["time"]["updates"])
        ours.save(self.path("mine.html"))
        self.assertGreater(os.path.getsize(self.path("mine.html")), 10_000)

    def test_gradients_counted_twice_are_reported_once(self):
        one, both = watched(scaler=Scaler()), watched(scaler=Scaler(), gradients="both")
        self.assertGreater(len(both.summaries()), len(one.summaries()))
        self.assertEqual(one.report(), both.report())
        self.assertEqual(one.advise(), both.advise())

    def test_layers_stand_in_the_models_order(self):
        layers = watched().report().to_dict()["time"]["layers"]
        self.assertEqual([layer for layer in layers if not layer.endswith("momentum_buffer")], ["0", "0.bias", "1", "2", "3", "3.bias"])

    def test_advice(self):
        model = new_net()
        with torch.no_grad():
            model[0].weight[0] = 1e6  # its output overflows binary16
        w = watched(model=model, scaler=Scaler(), lr=0.0)
        advice = w.advise()
        of = advice.to_dict()
        report = w.report().to_dict()
        for key, value in report["loss_scale"].items():
            self.assertEqual(of["loss_scale"][key], value)
        self.assertEqual(of["loss_scale"]["used_log2"], 10)
        self.assertIn("0", advice.keep_fp32)
        self.assertNotIn("3", advice.keep_fp32)
        texts = {reason["text"] for row in of["keep_fp32"] if row["layer"] == "0" for reason in row["reasons"]}
        self.assertIn("weight: 12 values overflow", texts)  # four, three steps watched
        self.assertEqual({row["role"] for row in of["formats"]}, {"act", "dAct", "weight", "dW"})
        self.assertIn("Keep in FP32", str(advice))
        self.assertIn("<table>", advice._repr_html_())
        self.assertEqual(advice.recommended_scale, 2.0 ** of["loss_scale"]["recommended_log2"])
        self.assertEqual({row["layer"] for row in of["states"]}, {layer for layer, role in w.layers if role == "state"})
        self.assertIsNone(of["already_zero"])

    def test_advice_on_what_is_all_zero_and_on_what_died_before(self):
        model = new_net().double()
        with torch.no_grad():
            model[0].weight.zero_()
            model[0].bias.zero_()
        of = watched(model=model, x=torch.ones(3, 4).double(), lr=0.0).advise().to_dict()
        self.assertIn(("0", "act", "all zero", None), [(row["layer"], row["role"], row["status"], row["format"]) for row in of["formats"]])
        half = binade.RangeSummary(formats=[]).add(torch.tensor([0.0, 0.0, 0.0, 1.0]).numpy())
        run = Run(1, [Window(0, 0, 1, None, {("fc", "dW"): half})], {("fc", "dW"): Layer("F16", (4,))})
        advice = run.advise()
        self.assertEqual(advice.to_dict()["already_zero"], 0.75)
        self.assertIn("75.0 % of their values are zero", " ".join(str(advice).split()))

    def test_all_layers_together(self):
        w = watched()
        for role in ("act", "dW"):
            self.assertEqual(w.summary(None, role), sum(s for (_, _, of), s in w.summaries().items() if of == role))
        with self.assertRaises(KeyError):
            w.summary(None, "none")

    def test_what_is_handed_out_is_not_what_is_counted_into(self):
        w = watched()
        before = {key: s.to_bytes() for key, s in w.summaries().items()}
        for one in (*w.summaries().values(), w.summary("0", "act"), *(s for window in w.windows for s in window.summaries.values())):
            one += one
        self.assertEqual({key: s.to_bytes() for key, s in w.summaries().items()}, before)
        run = Run(w.every, w.windows, w.layers)
        self.assertEqual(pickle.loads(pickle.dumps(run)).report(), run.report())

    def test_advice_on_autocast(self):
        if not hasattr(torch, "autocast"):
            self.skipTest("no autocast")
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))
        with torch.no_grad():
            model[0].weight[0] = 1e-42
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with binade.torch.watch(model, optimizer, every=1) as w:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = model(torch.ones(3, 4)).float().square().sum()
            loss.backward()
            optimizer.step()
        rows = w.advise().to_dict()["autocast"]
        self.assertEqual([(row["layer"], row["dtype"], row["weight_dtype"], row["format"]) for row in rows],
                         [("0", "BF16", "F32", "bfloat16"), ("1", "BF16", "F32", "bfloat16")])
        self.assertEqual(rows[0]["to_zero"], 4 / 32)
        self.assertEqual(w.layers["0", "act"].dtype, "BF16")
        self.assertIn("Autocast ran 2 layers in bfloat16: 0, 1", str(w.advise()))

    def test_errors_are_those_of_unscaled_gradients(self):
        """Whatever the loss scale, which changes here from step to step, and nothing underflows."""
        one = watched(sqnr=True, lr=0.0, windows=2, steps=8, every=1)
        scaler = Scaler(2.0**127)
        other = watched(sqnr=True, lr=0.0, windows=2, steps=12, every=1, scaler=scaler)
        self.assertLess(scaler.value, 2.0**127)
        self.assertEqual({k: (s.columns, s.smallest) for k, s in one.summaries().items() if k[2] == "dAct" and k[0] == 0},
                         {k: (s.columns, s.smallest) for k, s in other.summaries().items() if k[2] == "dAct" and k[0] == 0})
        self.assertTrue(other.report().to_dict()["tensors"][0]["formats"]["binary16"]["sqnr_db"])

    def test_errors_in_sqnr_only_where_asked(self):
        self.assertEqual({len(s.columns) for s in watched().summaries().values()}, {0})
        self.assertEqual({len(s.columns) for s in watched(sqnr=True).summaries().values()}, {5})

    def test_examples(self):
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        said = []
        for found in [binade.torch] + [importlib.import_module("binade.torch." + m.name) for m in pkgutil.iter_modules(binade.torch.__path__)]:
            for test in doctest.DocTestFinder(exclude_empty=False).find(found):
                runner.run(test, out=said.append)
        self.assertEqual(runner.failures, 0, "\n" + "".join(said))
        self.assertGreater(runner.tries, 5)


class Names(CliCase):
    def test_an_output_that_would_have_a_childs_name(self):
        class Pair(torch.nn.Sequential):
            def forward(self, x):
                return super().forward(x), x * 2

        torch.manual_seed(0)
        pair = Pair(torch.nn.Linear(4, 4), torch.nn.Linear(4, 8))
        model = torch.nn.ModuleDict({"pair": pair})
        model.forward = lambda x: sum(y.sum() for y in pair(x)).reshape(1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with binade.torch.watch(model, optimizer, every=1) as w:
            model(torch.ones(3, 4)).sum().backward()
            optimizer.step()
        self.assertEqual({layer: s.values for (_, layer, role), s in w.summaries().items() if role == "act"},
                         {"pair.0": 12, "pair.1": 24, "pair[1]": 12, "ModuleDict": 1})

    @unittest.skipUnless(hasattr(torch.amp, "GradScaler"), "torch before 2.3 has no GradScaler for the CPU")
    def test_of_two_scalers_the_one_that_was_called(self):
        models = {"a": torch.nn.Linear(2, 2), "b": torch.nn.Linear(2, 2)}
        optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models.values()]
        scalers = [torch.amp.GradScaler("cpu", init_scale=scale) for scale in (4.0, 32.0)]
        with binade.torch.watch(models, optimizers, every=1, gradients="both") as w:
            for model, optimizer, scaler in zip(models.values(), optimizers, scalers):
                scaler.scale(model(torch.ones(1, 2)).sum()).backward()
                scaler.step(optimizer)
                scaler.update()
        got = {(layer, role): s.largest for (_, layer, role), s in w.summaries().items() if role in ("dAct", "dW")}
        for name, scale in (("a", 4.0), ("b", 32.0)):
            for role in ("dAct", "dW"):
                self.assertEqual((got[name, role], got[name + " (scaled)", role]), (1.0, scale))
        self.assertEqual(w.windows[0].loss_scale, 32.0)  # the last of the step


class Shell(torch.optim.Optimizer):
    """As accelerate wraps an optimizer: one by its class, with nothing of its own."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    state = property(lambda self: self.optimizer.state)
    param_groups = property(lambda self: self.optimizer.param_groups)

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self):
        self.optimizer.step()


class Shells(CliCase):
    def test_optimizers_that_only_wrap_one(self):
        wanted = {key: s.to_bytes() for key, s in watched().summaries().items()}
        for given in (True, False):
            model = new_net()
            shell = Shell(torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))
            with binade.torch.watch(model, shell if given else None, every=2, scaler=None) as w:
                train(model, 6, w, shell)
            self.assertEqual({key: s.to_bytes() for key, s in w.summaries().items()}, wanted)


class Loops(CliCase):
    """That do not fit: what watch says of them, and that it ends none."""

    def test_an_optimizer_that_never_steps_is_not_waited_for_where_it_was_found(self):
        for of in ("all", "some"):
            model = new_net()
            old = torch.optim.Adam(list(model.parameters())[: None if of == "all" else 1])
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            with binade.torch.watch(model, every=1, scaler=None) as w:
                train(model, 4, w, optimizer)
            self.assertEqual([window.first for window in w.windows], [0, 1, 2, 3])
            del old

    def test_steps_that_do_not_end_are_told(self):
        model = new_net()
        optimizer, other = (torch.optim.SGD(model.parameters(), lr=0.1) for _ in range(2))
        with self.assertWarnsRegex(RuntimeWarning, "after 4 forward passes step 0 was not over: SGD did not step; name"), \
                binade.torch.watch(model, other, every=1) as w:
            train(model, 4, w, optimizer)
        self.assertRaisesRegex(ValueError, "SGD did not step", w.report)

    def test_an_optimizer_of_another_model_is_refused(self):
        model = new_net()
        with self.assertRaisesRegex(ValueError, "SGD holds none of the model's parameters"):
            binade.torch.watch(model, torch.optim.SGD(new_net().parameters(), lr=0.1)).start()

    def test_what_cannot_be_counted_ends_no_training(self):
        def scale():
            raise KeyError("none")

        model = new_net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with self.assertWarnsRegex(RuntimeWarning, "something was not counted: KeyError: 'none'"), \
                binade.torch.watch(model, optimizer, every=1, loss_scale=scale) as w:
            train(model, 1, w, optimizer)

    def test_loss_scales_that_divide_nothing(self):
        for scale in (0.0, -2.0, math.inf, math.nan):
            w = watched(loss_scale=lambda: scale)
            self.assertEqual({key: s.to_bytes() for key, s in w.summaries().items()},
                             {key: s.to_bytes() for key, s in watched().summaries().items()})
            self.assertIn(f"a loss scale of {scale} divides nothing", " ".join(w.notes))
            self.assertIsNone(w.windows[0].loss_scale)

    def test_tracing_and_transforming_pass_by(self):
        model = new_net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with warnings.catch_warnings(), binade.torch.watch(model, optimizer, every=1) as w:
            warnings.simplefilter("ignore")
            torch.jit.trace(model, torch.ones(3, 4))
            torch.fx.symbolic_trace(model)
            if hasattr(torch, "func"):
                torch.vmap(model)(torch.ones(2, 3, 4))
                torch.func.grad(lambda x: model(x).sum())(torch.ones(3, 4))
            if hasattr(torch, "export"):
                torch.export.export(model, (torch.ones(3, 4),))
            train(model, 1, w, optimizer)
        self.assertEqual(w.summaries()[0, "0", "act"].values, 24)
        self.assertEqual(w.notes, [])

    def test_tensors_without_memory_are_passed_over(self):
        class Freed(torch.nn.Module):
            def forward(self, x):
                y = x.detach().clone()
                (y.untyped_storage() if hasattr(y, "untyped_storage") else y.storage()).resize_(0)
                return x, y

        model = torch.nn.Sequential(torch.nn.Linear(4, 8), Freed())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with binade.torch.watch(model, optimizer, every=1) as w:
            model(torch.ones(3, 4))[0].sum().backward()
            optimizer.step()
        self.assertNotIn((0, "1.1", "act"), w.summaries())
        self.assertEqual(w.notes, [])

    def test_an_output_that_a_hook_replaces(self):
        for late in (False, True):
            model = new_net()
            handle = None if late else model[0].register_forward_hook(lambda m, i, o: o * 1024)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
            with binade.torch.watch(model, optimizer, every=1) as w:
                train(model, 1, w, optimizer)
            largest = model[0](torch.ones(3, 4)).abs().max().item()
            self.assertEqual(w.summaries()[0, "0", "act"].largest, largest)
            self.assertEqual(len(model[0]._forward_hooks), 0 if late else 1)
            if handle:
                handle.remove()

    def test_a_step_of_a_step_counts_once(self):
        class Mine(torch.optim.SGD):
            def step(self, closure=None):
                return super().step(closure)

        torch.optim.SGD(new_net().parameters(), lr=0.1)  # torch puts hooks around a class's step with its first optimizer
        model = new_net()
        optimizer = Mine(model.parameters(), lr=0.01, momentum=0.9)
        with binade.torch.watch(model, optimizer, every=2, scaler=None) as w:
            train(model, 6, w, optimizer)
        self.assertEqual({key: s.to_bytes() for key, s in w.summaries().items()},
                         {key: s.to_bytes() for key, s in watched().summaries().items()})

    def test_who_keeps_the_counts_keeps_no_model(self):
        model = new_net()
        gone = weakref.ref(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with binade.torch.watch(model, optimizer, every=1) as w:
            train(model, 2, w, optimizer)
        del model, optimizer
        gc.collect()
        self.assertIsNone(gone())
        self.assertTrue(w.report().tensors)
        self.assertRaisesRegex(ValueError, "the model that was watched is gone", w.start)

    def test_a_copy_of_a_scaler_is_its_own(self):
        scaler, model = Scaler(4.0), new_net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with binade.torch.watch(model, optimizer, scaler=scaler, every=1):
            other = copy.deepcopy(scaler)
            other.value = 64.0
            self.assertEqual(other.scale(1.0), 64.0)
        self.assertEqual(other.scale(1.0), 64.0)


class Refusals(CliCase):
    def test_in_one_line(self):
        model = new_net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for wanted, call in (
            (TypeError, lambda: binade.torch.watch("model")),
            (TypeError, lambda: binade.torch.watch({"": model})),
            (ValueError, lambda: binade.torch.watch({})),
            (TypeError, lambda: binade.torch.watch(model, 3)),
            (ValueError, lambda: binade.torch.watch(model, [])),
            (ValueError, lambda: binade.torch.watch(model, optimizer, every=0)),
            (TypeError, lambda: binade.torch.watch(model, optimizer, every=2.5)),
            (ValueError, lambda: binade.torch.watch(model, optimizer, windows=1)),
            (ValueError, lambda: binade.torch.watch(model, optimizer, gradients="all")),
            (TypeError, lambda: binade.torch.watch(model, optimizer, scaler=3)),
            (ValueError, lambda: binade.torch.watch(model, optimizer, loss_scale=0)),
            (ValueError, lambda: binade.torch.watch(torch.nn.ReLU(), optimizer).start()),
            (ValueError, lambda: binade.torch.watch(model, optimizer, emulated="sm_1")),
            (ValueError, lambda: binade.torch.watch(model, optimizer).report()),
            (ValueError, lambda: binade.torch.watch(model, optimizer).step()),
            (ValueError, lambda: binade.torch.watch(model, optimizer).alerts(role="dX")),
            (ValueError, lambda: binade.torch.watch(model, optimizer).alerts(share=2)),
            (ValueError, lambda: binade.torch.watch(model, optimizer).alerts(format="fp99")),
            (TypeError, lambda: binade.torch.watch(model, optimizer).on_window(3)),
        ):
            with self.assertRaises(wanted) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))
        self.assertIn("0, 50, 100", str(caught_by(lambda: binade.torch.watch(model, optimizer).report())))

    def test_twice_begun(self):
        model = new_net()
        with binade.torch.watch(model, torch.optim.SGD(model.parameters(), lr=0.1)) as w, self.assertRaises(ValueError):
            w.start()


def caught_by(call):
    try:
        call()
    except ValueError as error:
        return error


class OnADevice(CliCase):
    def test_as_on_a_gpu(self):
        """The kernels' way, with the emulator in the GPU's place."""
        one, other = watched(), watched(emulated="sm_90")
        self.assertEqual({k: s.to_bytes() for k, s in one.summaries().items()}, {k: s.to_bytes() for k, s in other.summaries().items()})

    def test_halves_and_doubles_as_on_a_gpu(self):
        for dtype in (torch.bfloat16, torch.float64):
            x = torch.randn(3, 4).to(dtype)
            one, other = (watched(model=new_net().to(dtype), x=x, emulated=name) for name in ("", "sm_90"))
            self.assertEqual({k: s.to_bytes() for k, s in one.summaries().items()},
                             {k: s.to_bytes() for k, s in other.summaries().items()})


if __name__ == "__main__":
    main()
