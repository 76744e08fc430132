# SPDX-License-Identifier: Apache-2.0
#
# What a watched run reports: alerts, updates that weights lose, layers that do not learn, outputs that underflow, windows, advice,
# reports and files, names; the examples of docstrings and of READMEs; counting on a GPU, which is emulated. SKIP without torch.
# watch_findings_test.py BINADE
import collections
import doctest
import importlib
import math
import os
import pickle
import pkgutil
import sys
import unittest

try:
    import torch

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

import readmes
from binade.torch import Run, Window
from binade.torch._advice import asked_to_be_held
from binade.torch._bound import Bound as StepBound
from binade.torch._bound import origin_of
from binade.torch._lost_updates import Picked, decoupled_decay, known_as, sizes_in_ulps, wanted
from binade.torch._residues import residues
from binade.torch._run import Layer
from cli_case import CliCase, main
from watch_oracle import CpuScaler
from watch_runs import new_net, train, watched


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
            train(model, 17, w, optimizer)
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
            train(model, 3, w, optimizer)
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
            train(model, 3, w, optimizer)
        self.assertEqual(len(w.windows), 1)


def lossy(dtype, make, steps=12, every=1, model=None, before=lambda step, model, optimizer: None):
    """Trains a layer of 64 x 8 in a dtype; returns the Watch, and (asked, lost) by brute force of all steps."""
    torch.manual_seed(0)
    model = (torch.nn.Linear(64, 8) if model is None else model).to(dtype)
    optimizer, x, seen = make(model.parameters()), torch.randn(32, 64).to(dtype), [0, 0]
    with binade.torch.watch(model, optimizer, every=every) as w:
        for step in range(steps):
            before(step, model, optimizer)
            optimizer.zero_grad()
            model(x).float().square().mean().backward()
            old = [p.detach().clone() for p in model.parameters()]
            optimizer.step()
            for p, was in zip(model.parameters(), old):
                if p.grad is not None:
                    seen[0] += int((p.grad != 0).sum())
                    seen[1] += int(((p.grad != 0) & (p == was)).sum())
    return w, tuple(seen)


def sums(w, *keys):
    rows = w.advise().to_dict()["lost_updates"]
    return tuple(sum(row[key] for row in rows) for key in keys)


class Foreign(torch.optim.Optimizer):
    """Lion's, with what makes it keep a copy in float32, or none."""

    def __init__(self, parameters, lr, master=False, weight_decay=0.0):
        super().__init__(parameters, {"lr": lr, "master": master, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                master = self.state[p].setdefault("master", p.float().clone()) if group["master"] else p
                master.sub_(group["lr"] * p.grad.to(master.dtype).sign())
                p.copy_(master)


class LostUpdates(CliCase):
    def test_rprop_wants_nothing_where_a_gradient_changes_its_sign(self):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 4)
        optimizer, x = torch.optim.Rprop(model.parameters(), lr=0.1), torch.randn(8, 4)
        with binade.torch.watch(model, optimizer, scaler=None, every=1) as w:
            for _ in range(12):
                optimizer.zero_grad()
                model(x).square().sum().backward()
                optimizer.step()
        self.assertEqual({row["lost"] for row in w.advise().to_dict()["lost_updates"]}, {0})

    def test_decay_that_subnormal_weights_lose_is_counted(self):
        old = torch.arange(1, 201).half() * 2.0**-24
        self.assertEqual(decoupled_decay(old, 1e-3), {"decay_asked": 200, "decay_lost": 200})

    def test_updates_that_narrow_weights_lose_are_those_that_brute_force_finds(self):
        for make in (lambda p: torch.optim.Adam(p, lr=1e-5), lambda p: torch.optim.SGD(p, lr=1e-4),
                     lambda p: torch.optim.SGD(p, lr=1e-4, momentum=0.9, nesterov=True)):
            w, seen = lossy(torch.bfloat16, make)
            self.assertEqual(sums(w, "asked", "lost", "unknown"), (*seen, 0))
            self.assertGreater(seen[1], 0.95 * seen[0])
            text = " ".join(str(w.advise()).split())
            share = sum(row["lost"] for row in w.advise().to_dict()["lost_updates"]) / seen[0]
            self.assertIn(f"Updates are lost: {share:.1%}".replace("%", " %"), text)
            self.assertIn("in bfloat16: Linear, bias.", text)
            self.assertIn("of the weight's ulp", text)
            report = w.report()
            held = report.to_dict()["time"]["updates"][0]["held"]
            self.assertEqual((sum(held["asked"]), sum(held["lost"])), seen)
            self.assertTrue(all(-12 < x < -2 for x in held["median_log2_of_ulp"]))
            self.assertIn("unmoved by gradient", str(report))
            lost = report.to_dict()["time"]["updates"][0]["formats"]["bfloat16"]["lost"]
            self.assertLess(abs(sum(lost) - seen[1]), 0.01 * seen[0])  # what was wanted is lost by the definition, too

    def test_lost_updates_are_alerts(self):
        told = []
        model = torch.nn.Linear(8, 2).bfloat16()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
        with binade.torch.watch(model, optimizer, every=2) as w:
            w.alerts(call=told.append)
            w.alerts(call=told.append, lost=None)
            train(model, 3, w, optimizer, x=torch.ones(3, 8).bfloat16())
        lost = [a for a in told if a.role == "update"]
        self.assertEqual({(a.step, a.layer, a.what, a.share, a.format) for a in lost},
                         {(s, layer, what, 1.0, "bfloat16") for s in (0, 2) for layer in ("Linear", "bias")
                          for what in ("gradient", "weight decay")})
        self.assertEqual(len(lost), 8)
        self.assertIn("step 0: 100.0% of Linear's updates by gradient change no weight in bfloat16", map(str, lost))
        with self.assertRaisesRegex(ValueError, "lost 2"):
            w.alerts(lost=2)

    def test_what_healthy_trainings_do_not_move_is_not_lost(self):
        def frozen():
            model = torch.nn.Sequential(torch.nn.Linear(64, 4), torch.nn.Linear(4, 2))
            model[0].requires_grad_(False)
            return model

        def dead():
            model = torch.nn.Sequential(torch.nn.Linear(64, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
            with torch.no_grad():
                model[0].bias[:3] = -100.0
            return model

        adam = lambda p: torch.optim.Adam([x for x in p if x.requires_grad], lr=1e-3)  # noqa: E731
        for name, dtype, make, model in (
                ("FP32", torch.float32, adam, None), ("frozen", torch.float32, adam, frozen()), ("dead", torch.float32, adam, dead()),
                ("small steps", torch.float32, lambda p: torch.optim.SGD(p, lr=1e-4), None),
                ("decay", torch.float32, lambda p: torch.optim.AdamW(p, lr=1e-4, weight_decay=0.01), None),
                ("bfloat16", torch.bfloat16, lambda p: torch.optim.Adam(p, lr=1e-2), None),
                ("master", torch.bfloat16, lambda p: Foreign(p, 1e-6, master=True), None)):
            with self.subTest(name):
                w, (asked, lost) = lossy(dtype, make, model=model)
                text = str(w.advise())
                self.assertNotIn("lost:", text)
                self.assertEqual(sums(w, "asked"), (asked,))
                self.assertEqual(sums(w, "lost"), (0 if name == "master" else lost,))
                self.assertEqual(w.notes, [])

    def test_a_learning_rate_of_zero_wants_nothing(self):
        w, (asked, _) = lossy(torch.bfloat16, lambda p: torch.optim.AdamW(p, lr=0.0))
        self.assertEqual(sums(w, "idle", "asked", "lost", "decay_lost"), (asked, 0, 0, 0))
        self.assertIn("At a learning rate of 0 nothing was wanted of Linear, bias, and nothing is lost.",
                      " ".join(str(w.advise()).split()))
        self.assertNotIn("unmoved", str(w.report()))

        def warm_up(step, model, optimizer):
            optimizer.param_groups[0]["lr"] = 0.0 if step == 0 else 1e-2

        w, (asked, lost) = lossy(torch.bfloat16, lambda p: torch.optim.Adam(p, lr=1e-2), before=warm_up)
        idle, = sums(w, "idle")
        self.assertEqual(sums(w, "asked", "lost"), (asked - idle, lost - idle))
        self.assertNotIn("lost:", str(w.advise()))

    def test_of_an_optimizer_that_is_not_known_it_is_said(self):
        w, seen = lossy(torch.bfloat16, lambda p: Foreign(p, 1e-6))
        self.assertEqual(sums(w, "asked", "lost", "unknown"), (*seen, seen[1]))
        self.assertEqual(len(w.notes), 1)
        self.assertIn("Foreign: what it wants is not known", w.notes[0])
        self.assertIn("it is not known what the optimizer wanted", " ".join(str(w.advise()).split()))
        self.assertIn(f"is not known for {seen[1]} of {seen[1]}", " ".join(str(w.report()).split()))

    def test_decay_that_changes_nothing_is_lost(self):
        for make in (lambda p: torch.optim.AdamW(p, lr=1e-2, weight_decay=0.1),
                     lambda p: torch.optim.AdamW(p, lr=1e-2, weight_decay=0.1, amsgrad=True)):
            w, (asked, lost) = lossy(torch.bfloat16, make)
            self.assertEqual(sums(w, "asked", "lost"), (asked, lost))
            decay_asked, decay_lost = sums(w, "decay_asked", "decay_lost")
            self.assertEqual(decay_lost, decay_asked)
            self.assertIn("Weight decay is lost: 100 %", str(w.advise()))
            self.assertNotIn("Updates are lost", str(w.advise()))
        # What is added to the gradient is by itself where that is zero.
        model = torch.nn.Embedding(32, 4)
        model.forward = lambda x: torch.nn.functional.embedding(torch.arange(3), model.weight)
        w, _ = lossy(torch.bfloat16, lambda p: torch.optim.SGD(p, lr=1e-3, weight_decay=0.1), model=model)
        self.assertEqual(sums(w, "decay_asked", "decay_lost"), (12 * 29 * 4, 12 * 29 * 4))

    def test_what_known_optimizers_want_is_what_they_subtract(self):
        cases = [(torch.optim.SGD, {}), (torch.optim.SGD, {"momentum": 0.9}), (torch.optim.SGD, {"momentum": 0.9, "dampening": 0.5}),
                 (torch.optim.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}), (torch.optim.Adam, {}),
                 (torch.optim.Adam, {"amsgrad": True, "weight_decay": 0.1}), (torch.optim.AdamW, {"weight_decay": 0.1}),
                 (torch.optim.NAdam, {"weight_decay": 0.1}), (torch.optim.RAdam, {"weight_decay": 0.1}),
                 (torch.optim.Adagrad, {"lr_decay": 0.1, "weight_decay": 0.1}), (torch.optim.RMSprop, {"weight_decay": 0.1}),
                 (torch.optim.RMSprop, {"centered": True}), (torch.optim.RMSprop, {"momentum": 0.9}), (torch.optim.Adamax, {})]
        cases += [(kind, options | {"maximize": True}) for kind, options in cases if kind in (torch.optim.SGD, torch.optim.Adam)]
        for kind, options in cases:
            with self.subTest(kind.__name__, **options):
                torch.manual_seed(0)
                p = torch.nn.Parameter(torch.randn(50).double())
                optimizer = type("Derived", (kind,), {})([p], lr=0.01, **options)
                for _ in range(8):
                    p.grad, before = torch.randn(50).double(), p.detach().clone()
                    optimizer.step()
                    group, known = optimizer.param_groups[0], known_as(optimizer)
                    self.assertIs(known, kind)
                    got = wanted(known, 0.01, group, before, p.grad, Picked(optimizer.state[p], lambda x: x))
                    # Before torch 2.0 NAdam has one factor of its product too many.
                    close = 1e-4 if kind is torch.optim.NAdam else 1e-12
                    torch.testing.assert_close(got, before - p.detach(), rtol=1e-6, atol=close)
        self.assertIsNone(known_as(Foreign([torch.nn.Parameter(torch.ones(1))], 1.0)))
        self.assertIsNone(known_as(type("Own", (torch.optim.Adam,), {"step": lambda self: None})([torch.ones(1)])))

    def test_sizes_beside_an_ulp(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            of = torch.finfo(dtype)
            w = torch.tensor([1.0, 1.5, -1.0, 4.0, 0.0, of.tiny / 2, 1.0], dtype=torch.double)
            ulp = of.eps * torch.tensor([1.0, 1.0, 1.0, 4.0, of.tiny, of.tiny, 1.0], dtype=torch.double)
            u = ulp * torch.tensor([0.25, 0.49, -0.5, 2.0**-20, 0.25, 0.25, 0.0], dtype=torch.double)
            sizes = sizes_in_ulps(w, u, dtype)
            self.assertEqual({k: n for k, n in enumerate(sizes) if n}, {1: 1, 2: 4, 20: 1, 31: 1})


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
        half = binade.RangeSummary(formats=[]).add(torch.tensor([0.0, 0.0, 0.0, 1.0]).numpy())
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
        self.assertTrue(str(advice).startswith("act in bfloat16, weight in e4m3: the narrowest"), str(advice)[:200])
        self.assertIn("would fail 1 of 2: fc", " ".join(str(advice).split()))
        self.assertIn("Steps that were not watched", str(advice))
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
        for found in [binade.torch] + [importlib.import_module("binade.torch." + m.name)
                                       for m in pkgutil.iter_modules(binade.torch.__path__)]:
            for test in doctest.DocTestFinder(exclude_empty=False).find(found):
                runner.run(test, out=said.append)
        self.assertGreater(runner.tries, 5)
        blocks = [(path, block) for path, text in readmes.readmes_with("python").items()
                  for block in readmes.block_of("python").findall(text) if block.startswith(">>> import torch")]
        self.assertTrue(blocks)
        for path, block in blocks:
            runner.run(doctest.DocTestParser().get_doctest(block, {}, path, None, 0), out=said.append)
        self.assertEqual(runner.failures, 0, "\n" + "".join(said))


class Head(torch.nn.Module):
    """A model of words whose loss, like those of Hugging Face, comes out of its forward where it is given labels."""

    def __init__(self):
        super().__init__()
        self.words, self.inner, self.norm, self.head = (
            torch.nn.Embedding(16, 8), torch.nn.Linear(8, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 5))

    def forward(self, x, labels=None):
        logits = self.head(self.inner(self.norm(self.words(x))).relu())
        return {"logits": logits} if labels is None else {"loss": loss_of(logits, labels), "logits": logits}


def loss_of(logits, labels):
    return torch.nn.functional.cross_entropy(logits.float(), labels)


class Bound(CliCase):
    def advice(self, inside, narrow, dtype=torch.float32):
        torch.manual_seed(3)
        model = Head().to(dtype)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with binade.torch.watch(model, optimizer, every=1) as w:
            for _ in range(3):
                x, labels = torch.randint(0, 16, (6,)), torch.randint(0, 5, (6,))
                optimizer.zero_grad()
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=narrow):
                    loss = model(x, labels)["loss"] if inside else loss_of(model(x)["logits"], labels)
                loss.backward()
                optimizer.step()
        return w.advise()

    def test_a_loss_that_a_model_returns_binds_no_scale(self):
        for narrow in (False, True):
            inside, outside = self.advice(True, narrow), self.advice(False, narrow)
            for key in ("s_min_log2", "s_max_log2", "recommended_log2", "binding_max", "free_binades", "over_run"):
                self.assertEqual(inside.loss_scale[key], outside.loss_scale[key], key)
            self.assertEqual(inside.loss_scale["over_run"]["steps"], 3)
            unbound = [tuple(row.values()) for row in inside.to_dict()["unbound"]]
            self.assertIn(("Head.loss", "dAct"), unbound)
            # Autocast casts the weights of Linear alone.
            self.assertEqual([row for row in unbound if row[1] == "dW"], [("words", "dW"), ("norm", "dW"), ("norm.bias", "dW")])
            self.assertIn("bind no loss scale, since they stay in FP32 under autocast: Head.loss dAct, words dW", str(inside))
            self.assertEqual(inside.keep_fp32, outside.keep_fp32)

    def test_a_run_in_bfloat16_is_judged_as_one_in_float32(self):
        wide, narrow = self.advice(True, False), self.advice(True, False, torch.bfloat16)
        self.assertEqual(wide.to_dict()["unbound"], narrow.to_dict()["unbound"])
        self.assertEqual(wide.loss_scale["binding_max"], narrow.loss_scale["binding_max"])

    def test_what_ends_a_model_binds_a_scale_where_it_is_cast(self):
        class Model(torch.nn.Module):
            def __init__(self, end):
                super().__init__()
                self.head, self.end = torch.nn.Linear(4, 3), end

            def forward(self, x):
                return self.end(self.head(x))

        for end, narrow, binds in ((lambda x: x.log_softmax(-1), False, False), (lambda x: x.float().log_softmax(-1), True, False),
                                   (lambda x: x.float(), True, True), (lambda x: x.float().sin(), True, False),
                                   (lambda x: x.sin(), False, True), (lambda x: x.bfloat16().log_softmax(-1), False, False)):
            model = Model(end)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            with binade.torch.watch(model, optimizer, every=1) as w:
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=narrow):
                    out = model(torch.ones(2, 4))
                (out * torch.tensor([0.3, 0.5, 0.7])).float().sum().backward()
                optimizer.step()
            self.assertEqual(w.layers["Model", "dAct"].binds if ("Model", "dAct") in w.layers else True, binds)
            self.assertTrue(w.layers["head", "dAct"].binds)
            self.assertTrue(w.layers["head", "dW"].binds)

    def test_a_scalar_binds_a_scale_in_float16_alone(self):
        scalar = torch.ones((), requires_grad=True)
        for dtype, binds in ((torch.float32, False), (torch.bfloat16, False), (torch.float16, True)):
            loss = scalar.to(dtype)
            self.assertEqual(StepBound().output_binds(origin_of(loss), torch.ones((), dtype=dtype)), binds)

    def test_a_gradient_that_is_zero_but_for_rounding_is_no_reason_for_fp32(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.BatchNorm1d(128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with binade.torch.watch(model, optimizer, every=1) as w:
            torch.nn.functional.cross_entropy(model(torch.randn(64, 64)), torch.randint(0, 10, (64,))).backward()
            optimizer.step()
        advice = w.advise()
        bias = w.summary("0.bias", "dW")
        self.assertLess(bias.largest, 2.0**-25)  # what is to be saved would need a scale beyond that of the others
        self.assertEqual(advice.loss_scale["first_negligible"], "step000000/0.bias/dW")
        self.assertEqual((advice.loss_scale["status"], advice.keep_fp32), ("ok", []))
        self.assertIn("Not asked to be saved: 1 gradient of weights", str(advice))

    def test_rounding_is_told_from_small_gradients_in_bfloat16(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.early, self.before, self.norm, self.head = (
                    torch.nn.Linear(8, 16), torch.nn.Linear(16, 16), torch.nn.BatchNorm1d(16), torch.nn.Linear(16, 5))

            def forward(self, x):
                return self.head(self.norm(self.before(torch.cat((x, x), 1))).relu() + 1e-3 * self.early(x))

        for clip in (None, 1e-3):
            torch.manual_seed(0)
            model = Model().to(torch.bfloat16)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
            with binade.torch.watch(model, optimizer, every=1) as w:
                logits = model(torch.randn(64, 8).to(torch.bfloat16))
                torch.nn.functional.cross_entropy(logits.float(), torch.randint(0, 5, (64,))).backward()
                if clip:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
                optimizer.step()
            advice = w.advise()
            self.assertLess(w.summary("early.bias", "dW").largest, 2**-9 * w.summary("head", "dW").largest)
            self.assertEqual(advice.to_dict()["residues"], [{"layer": "before.bias", "role": "dW"}])
            self.assertIn("leaves where a sum is zero, and that ask for no loss scale: before.bias dW.", " ".join(str(advice).split()))
            self.assertIn(" 3 gradients of what a narrow format never holds", advice.loss_scale["basis"])  # the norm's, too
            held = asked_to_be_held(w.layers, {key: w.summary(*key) for key in w.layers}, w.residues())
            self.assertEqual([layer in held for layer in (("early.bias", "dW"), ("before.bias", "dW"))], [True, False])

    def test_how_large_rounding_may_be_follows_from_the_format_of_the_terms(self):
        def counted(*values):
            return binade.RangeSummary().add(torch.tensor(values))

        of_all = {("a", "dW"): counted(128.0)}
        for layer, bias in (("a", 2.0), ("b", 2.0**-4), ("c", 2.0**-9), ("d", 2.0**-20)):
            of_all |= {(layer, "dAct"): counted(*[0.125] * 256), (layer + ".bias", "dW"): counted(bias)}  # terms of norm 2
        for dtype, left in (("BF16", {"b.bias", "c.bias", "d.bias"}), ("F16", {"c.bias", "d.bias"}), ("F32", set())):
            layers = {key: Layer(dtype, None) for key in of_all}
            self.assertEqual(residues(layers, lambda *key: of_all[key]), {(layer, "dW") for layer in left}, dtype)
        layers = {key: Layer("BF16", None) for key in of_all if key != ("a", "dW")}  # without it, b's is a large share of all
        self.assertEqual(residues(layers, lambda *key: of_all[key]), {("c.bias", "dW"), ("d.bias", "dW")})

    def test_a_bias_that_fp16_loses_is_kept_only_where_its_output_would_feel_it(self):
        for size, kept in ((1.0, []), (2.0**-20, ["layer.bias"])):
            model = torch.nn.Sequential(collections.OrderedDict(layer=torch.nn.Linear(4, 4)))
            layer = model.layer
            with torch.no_grad():
                layer.bias.fill_(2.0**-26)
                layer.weight.fill_(0.25)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
            with binade.torch.watch(model, optimizer, every=1) as w:
                model(torch.full((2, 4), size)).sum().backward()
                optimizer.step()
            self.assertEqual([name for name in w.advise().keep_fp32 if name == "layer.bias"], kept)

    def test_advice_in_a_format_with_scales_of_each_tensors_own(self):
        advice = watched().advise(format="e4m3")
        self.assertEqual(advice.loss_scale["format"], "e4m3")
        self.assertIn("\ne4m3 is used with a scale of each tensor's own, not with one loss scale: ", str(advice))


class Calls(torch.nn.Module):
    """A function of modules, which it has under their names."""

    def __init__(self, function, **modules):
        super().__init__()
        self.function = function
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, x):
        return self.function(self, x)


def advised(model, x=None, steps=4, every=1, loss=lambda y, step: y.float().square().mean(), lr=lambda step: 0.01):
    """Trains by SGD, with gradients that zero_grad() makes zeros, not None; returns the Advice and its text without line breaks."""
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.01)
    with binade.torch.watch(model, optimizer, every=every) as w:
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = lr(step)
            loss(model(torch.ones(3, 4) if x is None else x), step).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
    advice = w.advise()
    return advice.to_dict(), " ".join(str(advice).split())


def linear(inputs=4, outputs=8, weight=None, bias=None):
    out = torch.nn.Linear(inputs, outputs)
    with torch.no_grad():
        out.weight if weight is None else out.weight.fill_(weight)
        out.bias if bias is None else out.bias.fill_(bias)
    return out


class Untrained(CliCase):
    def setUp(self):
        torch.manual_seed(0)

    def untrained(self, *args, **options):
        of, text = advised(*args, **options)
        rows = of["untrained"]
        self.assertEqual(bool(rows["layers"]), "Layers that do not learn" in text)
        return {row["layer"]: row["steps"] for row in rows["layers"]}, rows["zeros"], rows["negative"], rows["underflow"], text

    def test_layers_around_a_dead_relu_do_not_learn(self):
        layers, zeros, negative, underflow, text = self.untrained(
            torch.nn.Sequential(linear(bias=-9), torch.nn.ReLU(), linear(8, 2)))
        self.assertEqual((layers, zeros, negative, underflow), ({"0": 4, "2": 4}, ["1"], ["0"], []))
        self.assertIn("no gradient reached 0, 2; it was nothing but zeros in all 4 counted steps. All outputs of 1 were zero. "
                      "All outputs of 0 were negative, of which a ReLU makes zeros: it is dead", text)
        # Of a function no output is seen; and behind the last layer nothing is left that changes.
        layers, zeros, negative, _, _ = self.untrained(
            Calls(lambda self, x: torch.relu(self.b(torch.tanh(self.a(x)))), a=linear(), b=linear(8, 2, bias=-9)), every=2)
        self.assertEqual((layers, zeros, negative), ({"a": 2, "b": 2}, ["Calls"], ["b"]))

        # Outputs that are negative for their bias, with gradients, are no cause.
        layers, _, negative, _, _ = self.untrained(torch.nn.Sequential(linear(bias=-9), torch.nn.ReLU(), linear(8, 2, bias=-1)))
        self.assertEqual((layers, negative), ({"0": 4, "2": 4}, ["0"]))

    def test_layers_before_a_saturated_activation_do_not_learn(self):
        layers, _, negative, _, text = self.untrained(torch.nn.Sequential(linear(bias=9), torch.nn.Hardtanh(), linear(8, 2)))
        self.assertEqual((layers, negative), ({"0": 4}, []))
        self.assertNotIn("ReLU", text)
        self.assertIn("Whether that is meant is not known", text)

    def test_gradients_that_become_zero_in_fp16_reach_no_layer(self):
        layers, _, _, underflow, text = self.untrained(Calls(lambda self, x: self.a(x), a=Half(4, 8)),
                                                       loss=lambda y, step: y.float().mean() * 1e-9)
        self.assertEqual((layers, underflow), ({"a": 4}, ["a"]))
        self.assertIn("may have become zero in FP16", text)
        layers, zeros, _, underflow, text = self.untrained(
            Calls(lambda self, x: self.b(self.a(x * 1e-12).float()), a=Half(4, 8, bias=False), b=linear(8, 2)))
        self.assertEqual((layers, zeros, underflow), ({"b": 4}, ["a"], ["a"]))
        self.assertIn("Which layers need FP32 is not known where FP16 may have made zeros: a.", text)

    def test_layers_of_healthy_trainings_learn(self):
        tokens = torch.tensor([[0, 1, 2], [0, 0, 3]])
        frozen = torch.nn.Sequential(linear(bias=-9), torch.nn.ReLU(), torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
        for name in (0, 2):
            frozen[name].requires_grad_(False)
        heads = {"a": linear(), "b": torch.nn.Linear(8, 2), "c": torch.nn.Linear(8, 2)}
        partly = linear()
        with torch.no_grad():
            partly.bias[:7] = -9
            partly.bias[7] = 9

        def branch():
            return Calls(lambda self, x: x + self.b(self.a(x)), a=linear(4, 8), b=linear(8, 4, 0.0, 0.0))

        for name, model, options in (
                ("frozen", frozen, {}),
                ("a branch that begins with zeros", branch(), {"steps": 2}),
                ("it and a warm-up from 0", branch(), {"steps": 2, "lr": lambda step: 0.01 * step}),
                ("it and a learning rate of 0", branch(), {"lr": lambda step: 0.0}),
                ("one step", torch.nn.Sequential(linear(bias=-9), torch.nn.ReLU()), {"steps": 1}),
                ("padding", Calls(lambda self, x: self.b(self.a(tokens)), a=torch.nn.Embedding(5, 4, padding_idx=0), b=linear()), {}),
                ("heads in turn", Calls(lambda self, x: torch.stack([self.b(self.a(x)), self.c(self.a(x))]), **heads),
                 {"loss": lambda y, step: y[step % 2].square().mean()}),
                ("a head of steps that are not counted", Calls(lambda self, x: (self.b(self.a(x)), self.c(self.a(x))), **heads),
                 {"loss": lambda y, step: y[step % 2].square().mean(), "every": 2, "steps": 6}),
                ("zeros in some steps", torch.nn.Sequential(linear(), linear(8, 2)),
                 {"loss": lambda y, step: y.square().mean() * (step % 2)}),
                ("dropout", torch.nn.Sequential(linear(), torch.nn.Dropout(0.9), torch.nn.Linear(8, 2)), {}),
                ("dead units beside one that lives", torch.nn.Sequential(partly, torch.nn.ReLU(), torch.nn.Linear(8, 2)), {}),
                ("a bias without gradient", Calls(lambda self, x: (lambda y: y - y.mean(0))(self.a(x)), a=linear()),
                 {"x": torch.randn(4, 4), "loss": lambda y, step: y.abs().sum()})):
            with self.subTest(name):
                self.assertEqual(self.untrained(model, **options)[:4], ({}, [], [], []))


class Half(torch.nn.Linear):
    """A layer whose outputs have another dtype than its weights, as under autocast."""

    dtype, then = torch.float16, staticmethod(lambda y: y)

    def forward(self, x):
        return self.then(super().forward(x)).to(self.dtype)


class Underflow(CliCase):
    def reasons(self, scale, dtype=torch.float16, then=lambda y: y):
        torch.manual_seed(0)
        layer = Half(4, 64, bias=False)
        layer.dtype, layer.then = dtype, then
        of, text = advised(Calls(lambda self, x: self.fc(x), fc=layer), x=torch.randn(64, 4) * scale)
        rows = [reason for row in of["keep_fp32"] for reason in row["reasons"] if reason["what"] == "underflow"]
        self.assertEqual("No layer needs FP32 for its range." in text,
                         not of["keep_fp32"] and not of["untrained"]["underflow"])
        self.assertEqual("its outputs underflow" in text, bool(rows))
        return rows

    def test_outputs_of_few_bits_need_fp32(self):
        for scale in (2e-8, 1e-7, 4e-7):  # outputs of about 1/3, 2 and 4 of the smallest subnormals
            (reason,) = self.reasons(scale)
            self.assertRegex(reason["text"], r"act: its outputs underflow: [\d.]+ % are zero and [\d.]+ % subnormal in binary16, the "
                                             r"largest is [\d.]+e-0[678]$")
        self.assertEqual(len(self.reasons(1e-7, then=torch.relu)), 1)
        for least, found in ((2.0**-133, ["fc"]), (2.0**-129, [])):
            tiny = binade.RangeSummary(formats=[]).add(torch.tensor([0.0, 0.0, least, 3 * least], dtype=torch.double).numpy())
            run = Run(1, [Window(0, 0, 1, None, {("fc", "act"): tiny})], {("fc", "act"): Layer("BF16", (4,))})
            self.assertEqual([row["layer"] for row in run.advise().to_dict()["keep_fp32"]
                              if "underflow" in {reason["what"] for reason in row["reasons"]}], found)

    def test_outputs_of_healthy_layers_do_not_underflow(self):
        for name, options in (
                ("subnormal with more bits than E4M3", {"scale": 4e-6}), ("ReLU", {"scale": 1.0, "then": torch.relu}),
                ("dropout", {"scale": 1.0, "then": lambda y: torch.nn.functional.dropout(y, 0.9)}),
                ("attention weights", {"scale": 20.0, "then": lambda y: y.softmax(1)}), ("zeros", {"scale": 0.0}),
                ("one normal value", {"scale": 1e-7, "then": lambda y: torch.cat([y, torch.ones_like(y[:, :1])], 1)}),
                ("bfloat16", {"scale": 1e-7, "dtype": torch.bfloat16}), ("float32", {"scale": 1e-7, "dtype": torch.float32})):
            with self.subTest(name):
                self.assertEqual(self.reasons(**options), [])


class Names(CliCase):
    def test_no_name_of_a_module_reaches_a_terminal_with_its_control_characters(self):
        model = torch.nn.Sequential()
        model.add_module("a\x1b[31m\u202e\n", torch.nn.Linear(4, 4))
        optimizer, alerts = torch.optim.SGD(model.parameters(), lr=0.1), []
        with binade.torch.watch(model, optimizer, scaler=None, every=1) as w:
            w.alerts(share=0.0, role="dW", call=alerts.append)
            for factor in (1e-9, math.inf):
                optimizer.zero_grad()
                (model(torch.ones(3, 4)) * factor).sum().backward()
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
