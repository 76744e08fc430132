# SPDX-License-Identifier: Apache-2.0
#
# Updates and weight decay that weights lose: held against what each optimizer wants, element by element; alerts, reports, advice. SKIP
# without torch. watch_updates_test.py BINADE
import contextlib
import itertools
import math
import sys
import unittest.mock as mock
import warnings

try:
    import torch

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from binade.torch.watch.weights.eps import note_lost_eps
from binade.torch.watch.ill import eps_text
from binade.torch.watch.weights.lost_updates import Picked, decoupled_decay, known_as, lost_text, sizes_in_ulps, wanted
from binade.torch.watch.weights.remainders import is_remainder
from binade.torch.watch.loop.settings import is_idle, note_ill_settings, schedule_of, setter_of
from binade.torch.watch.weights.state_decay import stuck
from binade.torch.observe.names import Part
from cli_case import CliCase, main
from watch_runs import Calls, fit, train


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


# States as torch's optimizers make them, in their order.
STATES = {torch.optim.Adam: ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"), torch.optim.RMSprop: ("square_avg", "momentum_buffer", "grad_avg"),
          torch.optim.Adagrad: ("sum",), torch.optim.Adadelta: ("square_avg", "acc_delta"), torch.optim.Adamax: ("exp_avg", "exp_inf")}


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


GENERATOR = torch.Generator()


class Keeping(torch.optim.Optimizer):
    """Subtracts lr times the gradient, or its first moment, from BF16 weights, and keeps in one of several ways what they lose."""

    def __init__(self, parameters, way, lr=2e-4):
        super().__init__(parameters, {"lr": lr})
        self.way, self.kept = way, {}

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for n, p in enumerate(group["params"]):
                state, before, wide = self.state[p], p.clone(), p.float()
                moment = state.setdefault("exp_avg", torch.zeros_like(p)).lerp_(p.grad, 0.5)
                by = -group["lr"] * moment.float()
                getattr(self, self.way)(n, p, state, before, wide, by)

    def compensated(self, n, p, state, before, wide, by):
        rest = state.setdefault("kahan_comp", torch.zeros_like(p)).add_(by)
        p.add_(rest)
        rest.add_(before.sub_(p))

    def compensated_beside(self, n, p, state, before, wide, by):
        rest = self.kept.setdefault(n, torch.zeros_like(wide))  # of the other sign
        p.add_(by - rest)
        rest.add_(p.float() - wide - by)

    def mastered(self, n, p, state, before, wide, by):
        p.copy_(self.kept.setdefault("masters", {}).setdefault(n, wide).add_(by))

    def split(self, n, p, state, before, wide, by):
        low = state.setdefault("low", torch.zeros_like(p, dtype=torch.int16))
        whole = (p.view(torch.int16).int() << 16 | low.int() & 65535).view(torch.float32).add_(by).view(torch.int32)
        low.copy_(whole << 16 >> 16)
        p.copy_((whole & -65536).view(torch.float32))

    def by_chance(self, n, p, state, before, wide, by, generator=None):
        noise = torch.randint(0, 65536, p.shape, dtype=torch.int32, generator=generator)
        p.copy_(((wide + by).view(torch.int32) + noise & -65536).view(torch.float32))

    def by_its_own_chance(self, *of):
        self.by_chance(*of, generator=GENERATOR)

    def nearest(self, n, p, state, before, wide, by):
        p.copy_(wide + by)

    def beside_what_it_began_with(self, n, p, state, before, wide, by):
        state.setdefault("p0", wide.clone())
        self.nearest(n, p, state, before, wide, by)

    def beside_a_small_moment(self, n, p, state, before, wide, by):
        state.setdefault("momentum", torch.zeros_like(wide)).lerp_(p.grad.float() * 2**-60, 0.5)
        self.nearest(n, p, state, before, wide, by)

    def beside_squares(self, n, p, state, before, wide, by):
        state.setdefault("exp_avg_sq", torch.zeros_like(wide)).lerp_(p.grad.float().square() * 2**-20, 0.5)
        self.nearest(n, p, state, before, wide, by)


class LostUpdates(CliCase):
    def test_what_an_optimizer_keeps_of_updates_is_not_lost(self):
        for way, is_lost in [("compensated", False), ("compensated_beside", False), ("mastered", False), ("split", False),
                             ("by_chance", False), ("by_its_own_chance", False), ("nearest", True),
                             ("beside_what_it_began_with", True), ("beside_a_small_moment", True), ("beside_squares", True)]:
            w, (asked, lost) = lossy(torch.bfloat16, lambda p: Keeping(p, way), 8)
            self.assertGreater(lost, asked * 0.8, way)
            self.assertEqual(sums(w, "lost"), (lost if is_lost else 0,), way)
            self.assertEqual("Updates are lost" in str(w.advise()), is_lost, way)

    def test_what_rounding_leaves_of_a_first_update_is_no_loss(self):
        torch.manual_seed(0)
        for size in (1e-5, 1e-4, 2e-4, 4e-4, 1e-3):
            for many in (6, 512):
                old, by = (torch.rand(many) / 8 + 0.01).bfloat16(), size * torch.randn(many).sign()
                new = (old.float() + by).bfloat16()
                rest, zero = old.float() + by - new.float(), torch.zeros(many)
                self.assertTrue(is_remainder(rest, zero, old, new) and is_remainder(-rest.bfloat16(), zero, old, new), (size, many))
                if many > 6 and (new != old).float().mean() > 0.1:
                    self.assertFalse(is_remainder(by, zero, old, new) or is_remainder(2**-60 * by, zero, old, new), (size, many))

    def test_rprop_wants_nothing_where_a_gradient_changes_its_sign(self):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 4)
        optimizer, x = torch.optim.Rprop(model.parameters(), lr=0.1), torch.randn(8, 4)
        w = fit(model, lambda: model(x).square().sum(), 12, optimizer, scaler=None)
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
            self.assertRegex(text, r"weight in \w+ with a copy in FP32, ")
            self.assertNotIn("No layer needs FP32 for its range.", text)
            self.assertIn("in BF16: Linear, bias.", text)
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
            train(model, 3, optimizer, x=torch.ones(3, 8).bfloat16())
        lost = [a for a in told if a.role == "update"]
        self.assertEqual({(a.step, a.layer, a.what, a.share, a.format) for a in lost},
                         {(s, layer, what, 1.0, "bfloat16") for s in (0, 2) for layer in ("Linear", "bias")
                          for what in ("gradient", "weight decay")})
        self.assertEqual(len(lost), 8)
        self.assertIn("step 0: 100.0% of Linear's updates by gradient change no weight in bfloat16", map(str, lost))
        with self.assertRaisesRegex(ValueError, "lost 2"):
            w.alerts(lost=2)

    def test_updates_that_vanish_before_a_wide_weight_are_no_matter_of_the_learning_rate(self):
        row = {"layer": "a", "dtype": "F32", "asked": 100, "lost": 99, "unknown": 0, "decay_asked": 0, "decay_lost": 0, "idle": 0, "later": "stays"}
        for size, rate, vanished in ((-24, 1e-3, True), (-5, 1e-3, False), (-24, 1e-12, False)):
            text = " ".join(lost_text([row | {"median_log2_of_ulp": size, "rates": (rate,) * 3}], ", ".join))
            self.assertEqual(("the gradients vanish" in text, "Raise the learning rate" in text), (vanished, not vanished))

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
        self.assertNotIn("unmoved", str(w.report()))
        # In every step of the run, also in those that are not counted.
        words = "Nothing was trained: the learning rate of AdamW was 0 in all 12 steps."
        self.assertTrue(" ".join(str(w.advise()).split()).startswith(words))
        self.assertIn("It was made with that, or the loop has set it", " ".join(str(w.advise()).split()))
        neutral = "At a learning rate of 0 nothing was wanted of Linear, bias, and nothing is lost."
        for steps, later, told in ((1, 0.0, neutral), (12, 0.1, neutral),
                                    (12, None, "At a learning rate of 0 nothing was wanted of Linear,")):
            def rates(step, model, optimizer):
                if later is None and step == 0:
                    optimizer.param_groups[0]["params"].pop()
                    optimizer.add_param_group({"params": [model.bias], "lr": 0.1})
                elif step % 8 and later is not None:
                    optimizer.param_groups[0]["lr"] = later
                elif later is not None:
                    optimizer.param_groups[0]["lr"] = 0.0

            w, _ = lossy(torch.float32, lambda p: torch.optim.SGD(p, lr=0.0), steps, every=8, before=rates)
            text = " ".join(str(w.advise()).split())
            self.assertIn(told, text)
            self.assertNotIn("Nothing was trained", text)
        groups = [{"params": [torch.nn.Parameter(torch.ones(1))], "lr": lr} for lr in (0.0, 0.1)]
        self.assertEqual([is_idle(torch.optim.SGD(of, lr=1.0)) for of in (groups, groups[:1], groups[1:])], [False, True, False])

        def warm_up(step, model, optimizer):
            optimizer.param_groups[0]["lr"] = 0.0 if step == 0 else 1e-2

        w, (asked, lost) = lossy(torch.bfloat16, lambda p: torch.optim.Adam(p, lr=1e-2), before=warm_up)
        idle, = sums(w, "idle")
        self.assertEqual(sums(w, "asked", "lost"), (asked - idle, lost - idle))
        self.assertNotIn("lost:", str(w.advise()))

    def test_a_schedule_that_is_stepped_and_gives_zero_is_told_from_one_that_is_not_stepped(self):
        for each, told in ((True, "Its scheduler, LambdaLR, was stepped 3 times and makes 0 of the learning rate of 0.5 that it began with"),
                           (False, "Its scheduler, LambdaLR, was not stepped: call scheduler.step()")):
            model = torch.nn.Linear(4, 2)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
            schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step // 1000)
            w = fit(model, lambda: model(torch.ones(3, 4)).sum(), 3, optimizer, after=schedule.step if each else lambda: None)
            self.assertIn(f"the learning rate of SGD was 0 in all 3 steps. {told}", " ".join(str(w.advise()).split()))

    def test_a_schedule_that_ends_before_the_training_does_is_named(self):
        for ends, ill in ((3, True), (9, False), (10, False), (None, False)):
            model = torch.nn.Linear(4, 2)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            rates = (lambda step: float(step % 5 < 2)) if ends is None else (lambda step, ends=ends: max(0.0, 1 - step / ends))
            scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rates)
            w = fit(model, lambda: model(torch.ones(3, 4)).square().mean(), 10, optimizer, every=50, after=scheduler.step)
            self.assertEqual("Nothing was trained from step 3 on: the learning rate of SGD was 0 in its last 7 steps. Its scheduler, LambdaLR, has set it: "
                             "it ends before the training does." in " ".join(str(w.advise()).split()), ill, ends)

    def by_hand(self, dtype, move, steps=6, micro=1):
        torch.manual_seed(0)
        model = torch.nn.Linear(16, 8).to(dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with binade.torch.watch(model, every=4) as w:
                for _ in range(steps):
                    model.zero_grad()
                    for _ in range(micro):
                        model(torch.randn(4, 16).to(dtype)).float().square().sum().backward()
                    with torch.no_grad():
                        for p in model.parameters():
                            move(p)
                    w.step()
        return w, " ".join(str(w.advise()).split())

    def test_frozen_weights_that_an_optimizer_goes_on_moving_are_named(self):
        def text_of(freeze, every=1, **options):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2))
            optimizer, count = torch.optim.SGD(model.parameters(), lr=0.1, **options), itertools.count()

            def loss():
                if next(count) == 2:
                    freeze(model[0])
                return model(torch.ones(3, 4)).square().mean()

            def clear():
                for p in model.parameters():
                    p.grad = None if p.grad is None else p.grad.zero_()

            w = fit(model, loss, 5, optimizer, after=clear, clear=None, every=every)
            return " ".join(str(w.advise()).split())

        def rightly(module):
            module.requires_grad_(False)
            module.weight.grad = module.bias.grad = None

        ill = text_of(lambda module: module.requires_grad_(False), momentum=0.9)
        self.assertTrue(ill.startswith("Frozen weights move: those of 0, 0.bias want no gradient (requires_grad is False), but their .grad is zero, "
                                       "not None, and SGD changes them by its momentum or weight decay, in 3 of the counted steps."), ill)
        for freeze, options in ((rightly, {"momentum": 0.9}), (lambda module: module.requires_grad_(False), {}),
                                (lambda module: None, {"momentum": 0.9})):
            self.assertNotIn("Frozen", text_of(freeze, **options))

    def test_an_eps_of_zero_is_the_cause_where_it_divides_zeros(self):
        for eps, told in ((0.0, True), (1e-8, False)):
            model = torch.nn.Embedding(8, 2)
            w = fit(model, lambda: model(torch.arange(3)).square().sum(),
                    3, torch.optim.Adam(model.parameters(), lr=0.1, eps=eps))
            self.assertEqual("Adam's eps is 0, so that its step divides 0 by 0 where all gradients of a weight were zero. Give it an eps above 0" in
                             " ".join(str(w.advise()).split()), told)

    def test_a_learning_rate_below_zero_or_not_a_number_is_named_first(self):
        def text_of(factor, steps=6, **options):
            torch.manual_seed(0)
            model = torch.nn.Linear(4, 2)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.5, **options)
            schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
            w = fit(model, lambda: model(torch.ones(3, 4)).square().mean(), steps, optimizer, every=50, after=schedule.step)
            return " ".join(str(w.advise()).split()), " ".join(w.notes)

        below, notes = text_of(lambda step: 1 - step / 2)
        words = ("The learning rate of SGD is below 0 from step 3 on (-0.25 at first, -0.75 at its least), as its scheduler, LambdaLR, has set "
                 "it: each step makes the loss larger. Bound it at 0")
        self.assertTrue(below.startswith(words), below)
        self.assertIn(words, notes)
        nan, _ = text_of(lambda step: math.nan if step else 1.0)
        self.assertTrue(nan.startswith("SGD's lr is nan from step 1 on, as its scheduler, LambdaLR, has set it"), nan)
        self.assertIn("No layer is the cause, and FP32 no remedy.", nan)
        self.assertTrue(text_of(lambda step: 1.0, momentum=1.0)[0].startswith("SGD's momentum is 1 from step 0 on: what it multiplies in each step"))
        self.assertNotIn("momentum", text_of(lambda step: 1.0, momentum=0.99)[1])
        for factor in (lambda step: max(0.0, 1 - step / 2), lambda step: 1 - step * 0.1 - 0.5 - 1e-12 * step, lambda step: -1e-9):
            self.assertNotIn("is below 0", text_of(factor, 5)[0])

    def test_updates_that_a_loop_without_an_optimizer_loses_are_told(self):
        for dtype, move, micro, told in (
                (torch.bfloat16, lambda p: p.sub_(1e-6 * p.grad), 2, "Updates are lost: "),
                (torch.bfloat16, lambda p: p.sub_(0.1 * p.grad), 3, ""), (torch.float32, lambda p: p.data.sub_(1e-2 * p.grad), 1, ""),
                (torch.bfloat16, lambda p: p.data.add_(-1e-9 * p.grad), 1, "below half an ulp in BF16 (keep a copy"),
                (torch.float32, lambda p: None, 1, "No optimizer was seen, and no weight of Linear, bias changed in any of 6 steps")):
            w, text = self.by_hand(dtype, move, micro=micro)
            self.assertTrue(w.notes[0].startswith("no optimizer was seen"), w.notes)
            self.assertEqual(bool(w.advise().to_dict()["by_hand"]), bool(told), text)
            self.assertIn(told, text)
        masters, rests = {}, {}

        def by_master(p):
            masters.setdefault(p, p.float()).sub_(1e-6 * p.grad)
            p.copy_(masters[p])

        def compensated(p):
            rest = rests.setdefault(p, torch.zeros_like(p))
            wanted = -1e-6 * p.grad - rest
            after = p + wanted
            rest.copy_((after - p) - wanted)
            p.copy_(after)

        for move in (by_master, compensated):
            self.assertEqual(self.by_hand(torch.bfloat16, move)[0].advise().to_dict()["by_hand"], [])
            masters.clear(), rests.clear()
        self.assertEqual(self.by_hand(torch.bfloat16, lambda p: p.sub_(1e-6 * p.grad), steps=3)[0].advise().to_dict()["by_hand"], [])

    def test_running_statistics_that_stand_still_in_narrow_buffers_are_told(self):
        for momentum, dtype, train, told in ((0.001, torch.bfloat16, True, ["The running_var of '1' stands still in 75 % of its channels after 12"]),
                                             (0.1, torch.bfloat16, True, []), (0.0, torch.bfloat16, True, []), (None, torch.bfloat16, True, []),
                                             (0.001, torch.float32, True, []), (0.001, torch.bfloat16, False, [])):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.BatchNorm1d(4, momentum=momentum)).to(dtype)
            model[1].train(train)
            w = fit(model, lambda: model(3 * torch.randn(32, 8).to(dtype)).float().square().sum(), 12, lr=0.01, every=6)
            self.assertEqual([line.partition(" updates")[0] for line in w.advise().to_dict()["running"]], told)

    def test_of_many_running_statistics_that_stand_still_it_is_told_how_many_of_all_do(self):
        torch.manual_seed(0)
        parts = [part for n in range(16) for part in (torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8, momentum=0.001 if n else 0.1))]
        model = torch.nn.Sequential(*parts).bfloat16()
        model[29].running_var.fill_(1e-3)  # which moves
        said = []
        w = fit(model, lambda: model(3 * torch.randn(32, 8).bfloat16()).float().square().sum(), 6, lr=0.0, said=said, every=6)
        lines = w.advise().to_dict()["running"]
        self.assertEqual([line for line in lines if "running_var" not in line], [])
        self.assertRegex(lines[0], r"^The running_var of \d+ of 15 BatchNorms stands still in [\d.]+ to 100 % of their channels after 6 updates \(of \d+ at 1, ")
        self.assertIn(" Of the others no more than half of the channels do.", lines[0])
        self.assertEqual(len([one for one in said if "stands still" in one]), 1)

    def test_a_factor_of_1_is_told_by_what_the_optimizer_makes_of_it_and_ascent_that_is_meant_is_none(self):
        def told(kind, **options):
            wrong = {}
            note_ill_settings(kind([torch.nn.Parameter(torch.ones(2))], **({"lr": 0.1} | options)), 3, {}, {}, wrong)
            return {key: one.text for (_, key), one in wrong.items()}

        optim = torch.optim
        self.assertIn("without a bound", told(optim.SGD, momentum=1.0)["momentum"])
        self.assertIn("RMSprop's alpha is 1 from step 3 on", told(optim.RMSprop, alpha=1.0)["alpha"])
        for kind, options in ((optim.SGD, {"momentum": 0.9}), (optim.Adam, {}), (optim.RMSprop, {})):
            self.assertEqual(told(kind, **options), {})
        for kind, is_ill in ((optim.Adam, True), (optim.Adamax, False)):
            optimizer, wrong = kind([torch.nn.Parameter(torch.ones(2))], lr=0.1), {}
            optimizer.param_groups[0]["betas"] = 0.9, 1.0
            note_ill_settings(optimizer, 0, {}, {}, wrong)
            self.assertEqual(bool(wrong), is_ill)
            self.assertNotIn("without a bound", str(wrong))
        for maximize in (False, True):
            optimizer, wrong = optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1, maximize=maximize), {}
            optimizer.param_groups[0]["lr"] = -0.1
            note_ill_settings(optimizer, 0, {}, {}, wrong)
            self.assertEqual(bool(wrong), not maximize)

    def test_a_factor_that_becomes_1_is_told_where_the_step_raises_and_is_no_vanishing_gradient(self):
        for kind, betas in ((torch.optim.Adam, (0.9, 1.0)), (torch.optim.NAdam, (0.9, 1.0)), (torch.optim.Adamax, (1.0, 0.999))):
            torch.manual_seed(0)
            model = torch.nn.Linear(4, 1)
            optimizer = kind(model.parameters(), lr=0.1)
            with binade.torch.watch(model, optimizer, every=1) as w, contextlib.suppress(ZeroDivisionError):
                for step in range(12):
                    if step == 2:
                        optimizer.param_groups[0]["betas"] = betas
                    optimizer.zero_grad()
                    model(torch.randn(8, 4)).square().mean().backward()
                    optimizer.step()
            text = " ".join(str(w.advise()).split())
            self.assertTrue(text.startswith(f"{kind.__name__}'s beta{1 + (betas[1] == 1)} is 1 from step 2 on"), text)
            self.assertNotIn("vanish", text)
            self.assertNotIn("Updates are lost", text)

    def test_who_has_set_a_learning_rate_is_told_by_what_its_schedulers_gave(self):
        schedulers = torch.optim.lr_scheduler
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1)
        kept = schedulers.StepLR(optimizer, 100)  # which only itself holds
        self.assertEqual(setter_of(optimizer), "its scheduler, StepLR, has")
        optimizer.param_groups[0]["lr"] = math.nan
        self.assertEqual(setter_of(optimizer), "the loop has")
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1)
        chained = schedulers.ChainedScheduler([schedulers.LambdaLR(optimizer, lambda _: 0.0)])
        optimizer.step()
        chained.step()
        self.assertIn("LambdaLR, was stepped 1 time and makes 0 of the learning rate of 0.1", schedule_of(optimizer))
        del kept

    def test_a_process_is_searched_for_optimizers_a_few_times(self):
        from binade.torch.watch import optimizer_hooks
        with mock.patch.object(optimizer_hooks, "living_optimizers", return_value=[]) as search:
            self.by_hand(torch.float32, lambda p: p.sub_(1e-2 * p.grad), steps=9)
        self.assertLessEqual(search.call_count, 5)

    def test_updates_of_wide_weights_are_lost_where_they_stay_so(self):
        def branch():  # begins with zeros, as the last norm of a residual block
            model = Calls(lambda self, x: 1 + self.b(torch.tanh(self.a(x))), a=torch.nn.Linear(64, 8), b=torch.nn.Linear(8, 8))
            torch.nn.init.zeros_(model.b.weight)
            return model

        def warm_up(step, model, optimizer):
            optimizer.param_groups[0]["lr"] = 1e-7 * step / 12

        def ends(step, model, optimizer):
            optimizer.param_groups[0]["lr"] = 1e-2 if step < 4 else 1e-10

        tiny, sgd = (lambda p: torch.optim.SGD(p, lr=1e-9)), (lambda p: torch.optim.SGD(p, lr=1e-6, momentum=0.9))
        still, few = "Updates are lost: ", "In too few counted steps to judge it, "
        for name, make, steps, options, told in (
                ("stays", tiny, 10, {}, still), ("short", tiny, 5, {}, few), ("one step", tiny, 1, {}, None), ("ends", lambda p: torch.optim.Adam(p, lr=1.0), 14,
                                                                             {"before": ends}, still),
                ("branch", sgd, 6, {"model": branch()}, None), ("longer", sgd, 12, {"model": branch()}, None),
                ("warm-up", lambda p: torch.optim.SGD(p, lr=0.0), 12, {"before": warm_up}, None)):
            with self.subTest(name):
                w, _ = lossy(torch.float32, make, steps, **options)
                text = str(w.advise())
                self.assertEqual([words for words in (still, few) if words in text], [told] if told else [])
                if told == still:
                    self.assertIn("in FP32", text)
                if name in ("branch", "longer", "warm-up"):
                    self.assertTrue(any(row["lost"] > 0.5 * row["asked"] > 0 for row in w.advise().to_dict()["lost_updates"]))

    def test_decay_that_is_too_small_for_wide_weights_is_no_illness(self):
        told = []
        w, _ = lossy(torch.float32, lambda p: torch.optim.AdamW(p, lr=2e-7), 3)
        w.alerts(call=told.append)
        text = " ".join(str(w.advise()).split())
        self.assertIn("At a learning rate of 2e-07 the decay of the weights of Linear, bias is below half an ulp in FP32, and changes "
                      "nothing by itself.", text)
        self.assertNotIn("master", text)
        self.assertNotIn("lost:", text)
        model = torch.nn.Linear(8, 2)
        with binade.torch.watch(model, every=1) as w:
            w.alerts(call=told.append)
            train(model, 2, torch.optim.AdamW(model.parameters(), lr=2e-7), x=torch.ones(3, 8))
        self.assertEqual([a for a in told if a.role == "update"], [])

    def test_weights_that_are_or_become_infinite_lose_nothing(self):
        def ruin(step, model, optimizer):
            with torch.no_grad():
                model.weight[3:] = float("inf")

        model = torch.nn.Embedding(32, 4)
        model.forward = lambda x: torch.nn.functional.embedding(torch.arange(3), model.weight)
        w, _ = lossy(torch.bfloat16, lambda p: torch.optim.AdamW(p, lr=1e-7, weight_decay=0.01), 2, model=model, before=ruin)
        self.assertEqual(sums(w, "asked", "decay_asked", "decay_lost"), (2 * 12,) * 3)
        self.assertTrue(torch.isinf(model.weight[3:]).all())

    def test_states_that_cannot_decay_in_their_dtype_are_told(self):
        for dtype, make, state, found in (
                (torch.bfloat16, lambda p: torch.optim.Adam(p, lr=1e-2), "exp_avg_sq", "beta2 = 0.999"),
                (torch.bfloat16, lambda p: torch.optim.Adam(p, lr=1e-2, betas=(0.9, 0.995)), "exp_avg_sq", None),
                (torch.float32, lambda p: torch.optim.Adam(p, lr=1e-2, betas=(0.9, 0.9999)), "exp_avg_sq", None),
                (torch.bfloat16, lambda p: torch.optim.RMSprop(p, lr=1e-2, alpha=0.999), "square_avg", "alpha = 0.999"),
                (torch.bfloat16, lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.999), "momentum_buffer", "momentum = 0.999")):
            with self.subTest(dtype=dtype, state=state, found=found):
                optimizers = []
                w, _ = lossy(dtype, lambda p: optimizers.append(make(p)) or optimizers[0], 2)
                rows, text = w.advise().to_dict()["stuck_states"], " ".join(str(w.advise()).split())
                self.assertEqual([(row["of"], row["layers"]) for row in rows], [(state, ["Linear", "bias"])] if found else [])
                self.assertEqual(f"{state} in " in text and f"{found} takes away less" in text, bool(found))
                group = optimizers[0].param_groups[0]
                factor = group.get("alpha", group.get("momentum", group.get("betas", (0, 0))[1]))
                x = optimizers[0].state[group["params"][0]][state].detach()
                x = x[x.abs() >= torch.finfo(dtype).tiny]  # of those that are normal
                self.assertEqual(bool((x * factor == x).all()), bool(found))  # by brute force

        x = torch.arange(2**10, 2**11).short().view(torch.float16)  # a binade, and what times a setting gives it again
        for beta, found in ((0.999, None), (0.9999, ("beta2", 0.9999)), (0.9997, None)):
            self.assertEqual(stuck("exp_avg_sq", torch.float16, {"betas": (0.9, beta)}), found)
            self.assertEqual(torch.equal((x.double() * beta).half(), x), found is not None)

    def test_settings_that_are_not_finite_are_told_with_what_they_ruin(self):
        for every in (1, 2):
            def ruin(step, model, optimizer):
                optimizer.param_groups[0]["lr"] = math.inf if step == 1 else 0.1

            w, _ = lossy(torch.float32, lambda p: torch.optim.SGD(p, lr=0.1), 3, every, before=ruin)
            self.assertIn("SGD's lr is inf, which the loop or a scheduler has set", str(w.first_nonfinite()))

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
            self.assertRegex(" ".join(str(w.advise()).split()), r"of these weights\. Keep .* in FP32 .*, round stochastically .* less often")
            self.assertNotIn("Updates are lost", str(w.advise()))
        # What is added to the gradient is by itself where that is zero.
        model = torch.nn.Embedding(32, 4)
        model.forward = lambda x: torch.nn.functional.embedding(torch.arange(3), model.weight)
        w, _ = lossy(torch.bfloat16, lambda p: torch.optim.SGD(p, lr=1e-3, weight_decay=0.1), model=model)
        self.assertEqual(sums(w, "decay_asked", "decay_lost"), (12 * 29 * 4, 12 * 29 * 4))

    def test_gradients_are_those_before_a_step_that_writes_to_them(self):
        model = torch.nn.Embedding(32, 4)
        model.forward = lambda x: torch.nn.functional.embedding(torch.arange(3), model.weight)
        for foreach in (False, True):
            w, _ = lossy(torch.float32, lambda p: torch.optim.Adam(p, lr=1e-3, weight_decay=0.1, foreach=foreach), model=model)
            self.assertEqual(sums(w, "asked", "decay_asked"), (12 * 3 * 4, 12 * 29 * 4))

        class Centralized(Foreign):
            def step(self):
                for p in self.param_groups[0]["params"]:
                    p.grad.zero_()

        w, _ = lossy(torch.float32, lambda p: Centralized(p, 1e-3), model=model)
        self.assertEqual(sums(w, "asked", "lost"), (12 * 3 * 4, 12 * 3 * 4))

    def test_a_centered_second_moment_that_rounding_makes_negative_has_a_size(self):
        of = {"centered": True, "momentum": 0, "eps": 1e-8, "weight_decay": 0}
        state = {"square_avg": torch.tensor([0.25], dtype=torch.bfloat16), "grad_avg": torch.tensor([0.502], dtype=torch.bfloat16)}
        u = wanted(torch.optim.RMSprop, 1.0, of, torch.ones(1), torch.tensor([1.0]).double(), Picked(state, torch.Tensor.double))
        self.assertEqual(u.tolist(), [1 / 1e-8])

    def test_the_advice_on_eps_fits_the_optimizer(self):
        for kind, options, of, eps, beside in (
                (torch.optim.Adam, {}, "exp_avg_sq", "1e-04", "the gradients whose squares are lost"),
                (torch.optim.Adam, {"amsgrad": True}, "exp_avg_sq", "1e-04", "the gradients whose squares are lost"),
                (torch.optim.RMSprop, {}, "square_avg", "1e-04", "the gradients whose squares are lost"),
                (torch.optim.RMSprop, {"centered": True}, "square_avg", "1e-04", "the gradients whose squares are lost"),
                (torch.optim.Adagrad, {}, "sum", "1e-04", "the gradients whose squares are lost"),
                (torch.optim.Adadelta, {}, "square_avg", "1e-06", "the squares of gradients"),
                (torch.optim.Adamax, {}, "exp_inf", "1e-06", "gradients that are zero")):
            with self.subTest(kind.__name__, **options):
                p = torch.nn.Parameter(torch.ones(4).half())
                optimizer = kind([p], eps=1e-10, **options)
                optimizer.state[p] = {"step": torch.tensor(1.0)} | {key: torch.zeros(4).half() for key in STATES[kind]}
                rows = []
                note_lost_eps(optimizer, {id(p): [Part("fc")]}, rows, {})
                self.assertEqual(rows[0]["of"], of)
                (line,) = eps_text(rows)
                self.assertIn(f"in FP32, or give an eps that stands beside {beside}, such as {eps} (it is not 0 from 6e-08 on)", line)

    def test_what_known_optimizers_want_is_what_they_subtract(self):
        cases = [(torch.optim.SGD, {}), (torch.optim.SGD, {"momentum": 0.9}), (torch.optim.SGD, {"momentum": 0.9, "dampening": 0.5}),
                 (torch.optim.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}), (torch.optim.Adam, {}),
                 (torch.optim.Adam, {"amsgrad": True, "weight_decay": 0.1}), (torch.optim.AdamW, {"weight_decay": 0.1}),
                 (torch.optim.NAdam, {"weight_decay": 0.1}), (torch.optim.NAdam, {"foreach": True, "momentum_decay": 0.1}), (torch.optim.RAdam, {"weight_decay": 0.1}),
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
                    torch.testing.assert_close(got, before - p.detach(), rtol=1e-6, atol=1e-12)
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


if __name__ == "__main__":
    main()
