# SPDX-License-Identifier: Apache-2.0
#
# What a watched run reports: alerts, windows, advice, reports and files, names; the examples of docstrings and of READMEs; counting on
# a GPU, which is emulated. SKIP without torch. watch_findings_test.py BINADE
import contextlib
import doctest
import importlib
import math
import os
import pickle
import pkgutil
import sys
import unittest
import warnings

try:
    import torch

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

import readmes
from binade.torch import Run, Window
from binade.torch.watch.run import Layer
from binade.torch.watch.values.words import shown
from cli_case import CliCase, main
from watch_oracle import CpuScaler
from watch_runs import fit, in_bfloat16, new_net, train, watched


class Telling(CliCase):
    def test_alerts(self):
        model, told = new_net(), []
        w = fit(model, lambda: model(torch.ones(3, 4)).square().sum() * 2.0**-28, 4, lr=0.0, every=2,
                alerts={"share": 0.5, "role": "dAct", "call": told.append})
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

    def test_advice_before_a_step_is_over_tells_what_was_seen(self):
        class Ends(torch.nn.Module):
            def forward(self, x):
                raise RuntimeError("out of memory")

        def text_of(w):
            self.assertEqual((w.advise().recommended_scale, w.advise().keep_fp32), (None, []))
            self.assertIn("No watched step is over", w.advise()._repr_html_())
            return " ".join(str(w.advise()).split())

        for factor, ends, told in ((1.0, False, "No watched step is over (steps 0, 1, 2 … are watched): nothing was seen to be wrong so far"),
                                   (math.inf, False, "The run was not finite: step 0: 24 Inf in the output of '1', forward; "),
                                   (math.inf, True, "The run was not finite: step 0: 24 Inf in the output of '1', forward; "), (1.0, True, "No watched step is over")):
            model = new_net()
            model[1].factor = factor
            model = torch.nn.Sequential(*model[:2], *([Ends()] if ends else model[2:]))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            with contextlib.suppress(RuntimeError), binade.torch.watch(model, optimizer, every=1) as w:
                self.assertIn("nothing was seen to be wrong", text_of(w))
                loss = model(torch.ones(3, 4)).square().sum()
                loss.backward()
                self.assertTrue(text_of(w).startswith(told), text_of(w))
            self.assertTrue(text_of(w).startswith(told), text_of(w))
        model = new_net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with warnings.catch_warnings(record=True), binade.torch.watch(model, optimizer, every=50) as w:
            model(torch.ones(3, 4)).sum().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            model(torch.ones(3, 4)).sum().backward()
            self.assertTrue(text_of(w).startswith("Order of calls, step 0: SGD adds the gradients of another backward pass to clipped ones"), text_of(w))

    def test_alerts_are_of_the_format_in_use_unless_another_is_given(self):
        for dtype, autocast, given, told in ((torch.bfloat16, None, None, ""), (torch.float32, torch.bfloat16, None, ""), (
                torch.float32, None, None, "binary16"), (torch.bfloat16, None, "binary16", "binary16"), (torch.float32, None, "bfloat16", "")):
            model, alerts = new_net().to(dtype), []
            x = torch.ones(3, 4, dtype=dtype)
            fit(model, lambda: in_bfloat16(model, x, autocast is not None).float().square().sum() * 2.0**-40, 1, lr=0.0,
                alerts={"call": alerts.append} | ({"format": given} if given else {}))
            self.assertEqual({alert.format for alert in alerts if alert.role != "update"}, {told} - {""}, (dtype, autocast, given))

    def test_a_branch_that_begins_with_zeros_and_moves_away_raises_no_alert(self):
        class Branch(torch.nn.Module):
            def __init__(self, begin, gate):
                super().__init__()
                self.down, self.up = torch.nn.Linear(8, 8, bias=False), torch.nn.Linear(8, 16, bias=False)
                self.gate = torch.nn.Parameter(torch.tensor(0.0 if gate else 1.0))
                torch.nn.init.constant_(self.up.weight, 0.5 if gate else begin)

            def forward(self, x):
                shift, by = self.up(self.down(x)).chunk(2, -1)
                return x + self.gate * (torch.tanh(self.down(x)) + shift) + by

        def alerts(begin=0.0, gate=False, dtype=torch.float32, lr=1e-5, steps=12, stops=99):
            torch.manual_seed(0)
            model, told = torch.nn.Sequential(torch.nn.Linear(4, 8), Branch(begin, gate), torch.nn.Linear(8, 2)).to(dtype), []
            for layer in (model[0], model[2]):
                layer.requires_grad_(False)
            model[1].gate.requires_grad_(gate)
            optimizer = torch.optim.SGD([x for x in model.parameters() if x.requires_grad], lr)
            x, rates = torch.randn(16, 4, dtype=dtype), iter([lr] * stops + [0.0] * steps)

            def loss():
                optimizer.param_groups[0]["lr"] = next(rates)
                return (model(x) - 1).square().mean()

            fit(model, loss, steps, optimizer, alerts={"call": told.append})
            return [alert for alert in told if alert.layer == "1.down"]

        for given in ({}, {"gate": True}, {"dtype": torch.bfloat16, "lr": 1e-2, "steps": 6}):
            self.assertEqual(alerts(**given), [], given)
        self.assertNotEqual(alerts(begin=1e-5, lr=1e-12), [])  # no zeros
        stays = alerts(stops=1, lr=1e-6)
        self.assertEqual({alert.step > 2 for alert in stays}, {True}, stays)
        self.assertNotEqual(alerts(dtype=torch.bfloat16, lr=1e-4, steps=16), [])  # whose updates stay lost

    def test_alerts_at_the_loss_scale(self):
        told = []
        model, scaler = new_net(), CpuScaler(2.0**20)
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
            train(model, 17, optimizer)
        self.assertEqual(told[:4], [(0, 0, 1), (1, 1, 1), (2, 2, 1), (3, 3, 1)])
        self.assertEqual(told[4:], [(4, 5, 2), (6, 7, 2), (8, 11, 4), (12, 15, 4), (16, 16, 1)])
        self.assertEqual([(window.first, window.last, window.steps) for window in w.windows],
                         [(0, 7, 8), (8, 15, 8), (16, 16, 1)])

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
            train(model, 3, optimizer)
        for (step, layer, role), summary in w.summaries().items():
            low, high, number, total, squares, limits, counts = writer.histograms.get((f"{role}/{layer}/log2_magnitude", step),
                                                                                      [None] * 7)
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
            train(model, 3, optimizer)
        self.assertEqual(len(w.windows), 1)


class Documents(CliCase):
    def test_report_of_a_run_is_that_of_its_file(self):
        w = watched(steps=10, scaler=CpuScaler())
        w.save(self.path("run.binade"))
        ours = w.report()
        self.good("report", self.path("run.binade"), "--json", self.path("run.json"), "-o", self.path("run.html"))
        theirs = self.read_json("run.json")
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
        one, both = watched(scaler=CpuScaler()), watched(scaler=CpuScaler(), gradients="both")
        self.assertGreater(len(both.summaries()), len(one.summaries()))
        self.assertEqual(one.report(), both.report())
        self.assertEqual(one.advise(), both.advise())

    def test_layers_stand_in_the_models_order(self):
        layers = watched().report().to_dict()["time"]["layers"]
        self.assertEqual([layer for layer in layers if not layer.endswith("momentum_buffer")],
                         ["0", "0.bias", "1", "2", "3", "3.bias"])

    def test_advice(self):
        model = new_net()
        with torch.no_grad():
            model[0].weight[0] = 1e6  # its output overflows binary16
        w = watched(model=model, scaler=CpuScaler(), lr=0.0)
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
        self.assertIn(("0", "act", "all zero", None),
                      [(row["layer"], row["role"], row["status"], row["format"]) for row in of["formats"]])
        half = binade.RangeSummary(formats=[]).add(torch.tensor([0.0, 0.0, 0.0, 2.0**-22]).numpy())
        run = Run(1, [Window(0, 0, 1, None, {("fc", "dW"): half})], {("fc", "dW"): Layer("F16", (4,))})
        advice = run.advise()
        self.assertEqual(advice.to_dict()["already_zero"], 0.75)
        self.assertIn("75.0 % of their values are zero", " ".join(str(advice).split()))

    def test_gradients_are_judged_at_the_scale_that_is_advised(self):
        gradient = binade.RangeSummary(formats=[]).add(torch.tensor([2.0**-30, 2.0**-20]).numpy())
        run = Run(1, [Window(0, 0, 1, None, {("fc", "dW"): gradient})], {("fc", "dW"): Layer("F32", (2,))})
        advice = run.advise()
        self.assertGreater(gradient.becomes("binary16")["lost_l2"], 1e-4)
        self.assertEqual(run.advise(target_loss=1e-4).keep_fp32, [])
        self.assertEqual(advice.recommended_scale, 2.0**34)
        weight = Run(1, [Window(0, 0, 1, None, {("fc", "weight"): gradient})], {("fc", "weight"): Layer("F32", (2,))})
        self.assertEqual(weight.advise(target_loss=1e-4).keep_fp32, ["fc"])

    def test_the_advice_begins_with_the_format_that_each_role_needs(self):
        fine = binade.RangeSummary(formats=[]).add(torch.linspace(0.5, 3, 999).numpy())
        wide = binade.RangeSummary(formats=[]).add(torch.tensor([1.03, 1.03 * 2.0**-40]).numpy())
        keys = [("fc", "weight"), ("fc", "act"), ("head", "act")]
        run = Run(1, [Window(0, 0, 1, None, dict(zip(keys, (fine, wide, fine))))], {key: Layer("F32", (2,)) for key in keys})
        advice = run.advise(target_loss=0)
        self.assertTrue(str(advice).startswith("act in BF16, weight in e4m3: the narrowest"), str(advice)[:200])
        self.assertIn("would fail 1 of 2: fc", " ".join(str(advice).split()))
        self.assertIn("Steps that were not watched", " ".join(str(advice).split()))
        roles = {row["role"]: row["format"] for row in run.advise(target_weight_sqnr=40).to_dict()["verdict"]["roles"]}
        self.assertEqual(roles, {"act": "e4m3", "weight": "binary16"})

    def test_all_layers_together(self):
        w = watched()
        for role in ("act", "dW"):
            self.assertEqual(w.summary(None, role), sum(s for (_, _, of), s in w.summaries().items() if of == role))
        with self.assertRaises(KeyError):
            w.summary(None, "none")

    def test_what_is_handed_out_is_not_what_is_counted_into(self):
        w = watched()
        before = {key: s.to_bytes() for key, s in w.summaries().items()}
        for one in (*w.summaries().values(), w.summary("0", "act"),
                    *(s for window in w.windows for s in window.summaries.values())):
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
        w = fit(model, lambda: in_bfloat16(model, torch.ones(3, 4)).float().square().sum(), 1, lr=0.0)
        rows = w.advise().to_dict()["autocast"]
        self.assertEqual([(row["layer"], row["dtype"], row["weight_dtype"], row["format"]) for row in rows],
                         [("0", "BF16", "F32", "bfloat16"), ("1", "BF16", "F32", "bfloat16")])
        self.assertEqual(rows[0]["to_zero"], 4 / 32)
        self.assertEqual(w.layers["0", "act"].dtype, "BF16")
        self.assertIn("Autocast ran 2 layers in BF16: '0', '1'", str(w.advise()))

    def test_casts_of_a_models_own_are_not_laid_to_autocast(self):
        class Cast(torch.nn.Linear):
            def forward(self, x):
                return torch.nn.functional.linear(x.bfloat16(), self.weight.bfloat16(), self.bias.bfloat16())

        model = torch.nn.Sequential(torch.nn.Linear(4, 8), Cast(8, 2))
        for autocast in (False, True):
            w = fit(model, lambda: in_bfloat16(model, torch.ones(3, 4), autocast).float().square().sum(), 1, lr=0.0)
            text = " ".join(str(w.advise()).split())
            self.assertEqual("1 layer ran in BF16 by casts of the model's own: '1'." in text, not autocast)
            self.assertEqual("Autocast ran 2 layers in BF16: '0', '1'." in text, autocast)
            self.assertEqual({row["by_autocast"] for row in w.advise().to_dict()["autocast"]}, {autocast})

    def test_autocast_is_told_of_frozen_layers(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 8).requires_grad_(False), torch.nn.Linear(8, 2))
        optimizer = torch.optim.SGD(model[1].parameters(), lr=0.0)
        w = fit(model, lambda: in_bfloat16(model, torch.ones(3, 4)).float().square().sum(), 1, optimizer)
        advice = w.advise()
        self.assertEqual([(row["layer"], row["weight_dtype"], row["to_zero"]) for row in advice.to_dict()["autocast"]],
                         [("0", "F32", None), ("1", "F32", 0)])
        self.assertIn("Not counted, since no optimizer holds them: the weights of '0'.", " ".join(str(advice).split()))

    def test_autocast_is_told_of_modules_whose_weights_have_other_names(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.words, self.attend, self.norm, self.head = (torch.nn.Embedding(9, 4), torch.nn.MultiheadAttention(4, 2),
                                                                 torch.nn.LayerNorm(4), torch.nn.Linear(4, 9, bias=False))
                self.head.weight = self.words.weight
                with torch.no_grad():
                    self.words.weight[0] = 1e-42

            def forward(self, x):
                x = self.words(x)
                return self.head(self.norm(self.attend(x, x, x)[0].float()))

        for model, names in ((Model(), ["attend", "head"]), (torch.nn.Sequential(torch.nn.Linear(4, 2)), ["0"])):
            x = torch.ones(3, 2, dtype=torch.long) if len(names) > 1 else torch.ones(3, 4)
            w = fit(model, lambda: in_bfloat16(model, x).float().square().sum(), 1, lr=0.0)
            rows = w.advise().to_dict()["autocast"]
            self.assertEqual([row["layer"] for row in rows], names)
            self.assertIn(f"Autocast ran {len(names)} layer{'s' * (len(names) > 1)} in BF16: {', '.join(map(shown, names))}.",
                          " ".join(str(w.advise()).split()))
            self.assertEqual(rows[-1]["to_zero"], 1 / 9 if len(names) > 1 else 0)

    def test_errors_are_those_of_unscaled_gradients(self):
        """Whatever the loss scale, which changes here from step to step, and nothing underflows."""
        one = watched(sqnr=True, lr=0.0, windows=2, steps=8, every=1)
        scaler = CpuScaler(2.0**127)
        other = watched(sqnr=True, lr=0.0, windows=2, steps=12, every=1, scaler=scaler)
        self.assertLess(scaler.get_scale(), 2.0**127)
        self.assertEqual({k: (s.columns, s.smallest) for k, s in one.summaries().items() if k[2] == "dAct" and k[0] == 0},
                         {k: (s.columns, s.smallest) for k, s in other.summaries().items() if k[2] == "dAct" and k[0] == 0})
        self.assertTrue(other.report().to_dict()["tensors"][0]["formats"]["binary16"]["sqnr_db"])

    def test_errors_in_sqnr_only_where_asked(self):
        self.assertEqual({len(s.columns) for s in watched().summaries().values()}, {0})
        self.assertEqual({len(s.columns) for s in watched(sqnr=True).summaries().values()}, {5})

    def test_examples(self):
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        said = []
        for found in [binade.torch] + [importlib.import_module(m.name)
                                       for m in pkgutil.walk_packages(binade.torch.__path__, "binade.torch.")]:
            for test in doctest.DocTestFinder(exclude_empty=False).find(found):
                runner.run(test, out=said.append)
        self.assertGreater(runner.tries, 5)
        blocks = [(path, block) for path, text in readmes.readmes_with("python").items()
                  for block in readmes.block_of("python").findall(text) if block.startswith(">>> import torch")]
        self.assertTrue(blocks)
        for path, block in blocks:
            runner.run(doctest.DocTestParser().get_doctest(block, {}, path, None, 0), out=said.append)
        self.assertEqual(runner.failures, 0, "\n" + "".join(said))


class Names(CliCase):
    def test_no_name_of_a_module_reaches_a_terminal_with_its_control_characters(self):
        model = torch.nn.Sequential()
        model.add_module("a\x1b[31m\u202e\n", torch.nn.Linear(4, 4))
        optimizer, alerts = torch.optim.SGD(model.parameters(), lr=0.1), []
        with binade.torch.watch(model, optimizer, scaler=None, every=1) as w:
            w.alerts(share=0.0, role="dW", call=alerts.append)
            for factor in (1e-9, math.inf):
                optimizer.zero_grad()
                model(torch.ones(3, 4)).backward(torch.full((3, 4), factor))
                optimizer.step()
        shown = [str(w.advise()), str(w.first_nonfinite()), *map(str, alerts)]
        for text in shown:
            self.assertNotRegex(text, "[\x1b\u202e]")
        self.assertIn("a\\x1b[31m\\xe2\\x80\\xae\\x0a", shown[1])

    def test_an_output_that_would_have_a_childs_name(self):
        class Pair(torch.nn.Sequential):
            def forward(self, x):
                return super().forward(x), x * 2

        torch.manual_seed(0)
        pair = Pair(torch.nn.Linear(4, 4), torch.nn.Linear(4, 8))
        model = torch.nn.ModuleDict({"pair": pair})
        model.forward = lambda x: sum(y.sum() for y in pair(x)).reshape(1)
        w = fit(model, lambda: model(torch.ones(3, 4)).sum(), 1)
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


class OnADevice(CliCase):
    def test_as_on_a_gpu(self):
        """The kernels' way, with the emulator in the GPU's place."""
        one, other = watched(), watched(emulated="sm_90")
        self.assertEqual({k: s.to_bytes() for k, s in one.summaries().items()},
                         {k: s.to_bytes() for k, s in other.summaries().items()})

    def test_halves_and_doubles_as_on_a_gpu(self):
        for dtype in (torch.bfloat16, torch.float64):
            x = torch.randn(3, 4).to(dtype)
            one, other = (watched(model=new_net().to(dtype), x=x, emulated=name) for name in ("", "sm_90"))
            self.assertEqual({k: s.to_bytes() for k, s in one.summaries().items()},
                             {k: s.to_bytes() for k, s in other.summaries().items()})


if __name__ == "__main__":
    main()
