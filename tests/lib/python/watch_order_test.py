# SPDX-License-Identifier: Apache-2.0
#
# The order of a loop's calls: healthy loops yield nothing, ill ones are named, and no bit of a run changes; and the scalers that
# a loop makes while it is watched. SKIP without torch. watch_order_test.py BINADE
import functools
import inspect
import itertools
import math
import pickle
import sys
import threading
import types
import unittest.mock
import warnings

try:
    import torch
    from torch import nn
    from torch.nn.utils import clip_grad_norm_

    import binade.torch
    from binade.torch import Run, Window
    from binade.torch.observe.attaching import scaler_kinds
    from binade.torch.watch.run import Layer
    from binade.torch.watch.values.nonfinite import NonFinite
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from cli_case import CliCase, main
from watch_oracle import CpuScaler
from watch_runs import Calls, fit, fit_scaled


class Loop:
    """A loop whose calls a test gives by name, with two optimizers, 0 and 1, of a layer each."""

    def __init__(self, scaled, every=2):
        torch.manual_seed(0)
        self.model, self.x = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1)), torch.randn(3, 4)
        self.optimizers = [torch.optim.SGD(layer.parameters(), lr=0.01) for layer in self.model]
        self.scaler = binade.torch.LossScaler(init_scale=2.0**12) if scaled else None
        self.options = {"scaler": self.scaler, "every": every}

    def loss(self):
        return self.model(self.x).square().mean()

    def scale(self):
        self.scaled = self.scaler.scale(self.loss())

    def backward(self):
        self.scale()
        self.scaled.backward()

    def plain_backward(self):
        self.loss().backward()

    def by_autograd_grad(self):
        for p, g in zip(self.model.parameters(), torch.autograd.grad(self.loss(), list(self.model.parameters()))):
            p.grad = g

    def none(self):
        for p in self.model.parameters():
            p.grad = None

    def zero_by_hand(self):
        for p in self.model.parameters():
            if p.grad is not None:
                p.grad.zero_()

    def divide(self, by=0):
        for p in self.model.parameters():
            p.grad.div_(by or self.scaler.get_scale())

    def divide_data(self):
        for p in self.model.parameters():
            p.grad.data /= self.scaler.get_scale()

    def model_zero_grad(self):
        self.model.zero_grad()

    def other_data(self):
        self.x = torch.randn(3, 4)

    def other_begins(self):
        """Another thread begins a backward pass of a training of its own, which lasts till other_ends()."""
        begun, self.goes_on = threading.Event(), threading.Event()

        def waits(_):
            begun.set()
            self.goes_on.wait(5)

        def train():
            out = nn.Linear(4, 1)(torch.ones(3, 4))
            out.register_hook(waits)
            out.sum().backward()

        self.other = threading.Thread(target=train)
        self.other.start()
        begun.wait(5)

    def other_ends(self):
        self.goes_on.set()
        self.other.join()

    def clip_by_hand(self, limit=1):
        for p in self.optimizers:
            gradients = [q.grad for q in p.param_groups[0]["params"]]
            norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(x) for x in gradients]))
            for x in gradients:
                x.mul_((limit / (norm + 1e-6)).clamp(max=1.0))

    def clip(self, limit=1.0):
        clip_grad_norm_(self.model.parameters(), limit)

    def clip_value(self):
        nn.utils.clip_grad_value_(list(self.model.parameters()), clip_value=1.0)

    def clip_at_the_scale(self):
        self.clip(self.scaler.get_scale())

    def clip_first(self):
        clip_grad_norm_(self.model[0].parameters(), 1.0)

    def norm(self):
        self.clip(float("inf"))

    def adversarial_backward(self):
        x = self.x.clone().requires_grad_()
        self.model(x).square().mean().backward()

    def move(self):
        with torch.no_grad():
            for p in self.model.parameters():
                p.add_(0.01)

    def move_data(self):
        for p in self.model.parameters():
            p.data.add_(0.01)

    def gradients_by_hand(self):
        for p in self.model.parameters():
            p.grad = torch.ones_like(p)

    def only(self, n):
        for k, layer in enumerate(self.model):
            layer.requires_grad_(k == n)

    def both(self):
        self.model.requires_grad_(True)

    def update(self):
        self.scaler.update()

    def closure(self, n):
        def closure():
            self.optimizers[n].zero_grad()
            loss = self.loss()
            loss.backward()
            return loss

        self.optimizers[n].step(closure)

    def call(self, word):
        name, _, n = word.partition(":")
        if hasattr(self, name):
            return getattr(self, name)(*([int(n)] if n else []))
        for optimizer in [self.optimizers[int(n)]] if n else self.optimizers:
            if name in ("step", "unscale_"):
                getattr(self.scaler, name)(optimizer)
            else:
                getattr(optimizer, name.removeprefix("plain_"))()

    def run(self, words, steps=3, catches=False):
        with warnings.catch_warnings(record=True) as self.warned:
            warnings.simplefilter("always")
            with binade.torch.watch(self.model, self.optimizers, **self.options) as w:
                for word in words.split() * steps:
                    try:
                        self.call(word)
                    except (RuntimeError, AssertionError):  # GradScaler's own
                        if not catches:
                            break
        return w


# Mistakes after which the optimizer gets other gradients than the run's, from which no loss scale follows.
SPOILING = {"clip_before_unscale", "step_without_backward", "unscale_without_backward", "double_unscale", "backward_after_unscale",
            "unscale_after_update", "update_after_unscale", "backward_over_update", "backward_without_scale", "plain_beside_scaled",
            "step_with_scaled_gradients"}


class OrderOfCalls(CliCase):
    def test_healthy_orders_are_no_mistakes(self):
        for words in ("zero_grad backward unscale_ clip step update", "backward backward unscale_ clip step update zero_grad",
                      "none backward step update", "backward step update none", "backward step update zero_by_hand",
                      "model_zero_grad backward step update", "zero_grad backward norm step update",
                      "zero_grad backward clip_at_the_scale step update", "zero_grad backward unscale_:0 step:0 step:1 update",
                      "zero_grad backward unscale_ clip plain_step update", "zero_grad backward unscale_ update",
                      # two losses in turn, each of one optimizer
                      "zero_grad only:0 backward step:0 update only:1 backward step:1 update both",
                      "none only:0 backward step:0 update only:1 backward step:1 update both",
                      "zero_grad only:0 backward both only:1 plain_backward both step:0 update plain_step:1",
                      "zero_grad only:0 backward unscale_:0 both only:1 backward both clip_first step update",
                      # a penalty, of gradients that are divided already
                      "zero_grad backward unscale_ plain_backward clip step update"):
            with self.subTest(words):
                self.assertEqual(Loop(True).run(words).mistakes, [])
        for words in ("zero_grad plain_backward none backward step update", "zero_grad plain_backward zero_by_hand backward step update"):
            with self.subTest(words):  # not divided by the scale, since they were taken away
                self.assertEqual({one.mistake for one in Loop(True).run(words).mistakes}, {"zero_grad_without_step"})
        for words in ("zero_grad plain_backward clip plain_step", "plain_backward plain_backward clip plain_step zero_grad",
                      "none plain_backward plain_step", "plain_backward plain_step zero_by_hand", "by_autograd_grad plain_step",
                      "zero_grad by_autograd_grad clip plain_step", "closure:0 closure:1", "plain_backward plain_step:0 zero_grad:0",
                      "model_zero_grad plain_backward plain_step"):
            with self.subTest(words):
                w = Loop(False).run(words)
                self.assertEqual((w.mistakes, [note for note in w.notes if "order" in note]), ([], []))

    def test_each_mistake_is_named_once_and_warned_of_once(self):
        both = "SGD (optimizer 1)", "SGD (optimizer 2)"
        for words, mistake, step, optimizers in (
                ("zero_grad backward clip step update", "clip_before_unscale", 0, both),
                ("zero_grad backward clip_value unscale_ step update", "clip_before_unscale", 0, both),
                ("zero_grad backward unscale_:0 clip step update", "clip_before_unscale", 0, both[1:]),
                ("zero_grad backward step clip update", "clip_after_step", 0, both),
                ("zero_grad backward step", "missing_update", 1, both[:1]),
                ("zero_grad backward unscale_ unscale_ step update", "refused_call", 0, both[:1]),
                ("zero_grad backward step unscale_ update", "refused_call", 0, both[:1]),
                ("zero_grad backward step step update", "refused_call", 0, both[:1]),
                ("backward zero_grad step update", "step_without_backward", 0, both[:1]),
                ("backward step zero_grad unscale_ update", "refused_call", 0, both[:1]),
                ("scale zero_grad unscale_ step update", "unscale_without_backward", 0, both),
                ("zero_grad backward update", "update_without_step", 0, ("the loop",)),
                ("zero_grad backward unscale_ backward step update", "backward_after_unscale", 0, both),
                ("zero_grad backward step:0 update step:1", "unscale_after_update", 0, both[1:]),
                ("zero_grad backward unscale_ clip update step update", "update_after_unscale", 0, both),
                ("zero_grad backward step:0 update backward step:1 update", "backward_over_update", 0, both[1:]),
                ("backward step update", "backward_without_zero_grad", 1, both),
                ("zero_grad scale plain_backward step update", "backward_without_scale", 0, both),
                ("zero_grad backward plain_backward step update", "plain_beside_scaled", 0, both),
                ("zero_grad plain_backward backward unscale_ clip step update", "plain_beside_scaled", 0, both),
                ("zero_grad backward unscale_ clip plain_step:1 step update", "double_step", 0, both[1:]),
                ("zero_grad backward step update unscale_ update", "unscale_after_step", 0, both),
                ("zero_grad backward plain_step", "step_with_scaled_gradients", 0, both)):
            with self.subTest(words):
                loop = Loop(True)
                w = loop.run(words)
                found = [one for one in w.mistakes if one.mistake == mistake]
                self.assertEqual([(one.step, one.optimizer) for one in found][:len(optimizers)],
                                 [(step, name) for name in optimizers], w.mistakes)
                self.assertLessEqual({one.mistake for one in w.mistakes} - {mistake},
                                     {"unscale_without_backward": {"step_without_backward"},
                                      "step_with_scaled_gradients": {"missing_update"}}.get(mistake, set()))
                for one in w.mistakes:
                    self.assertEqual(w.notes.count(str(one)), 1)
                    self.assertEqual(sum(str(one) in str(warning.message) for warning in loop.warned), 1)
                if w.windows:
                    advice = w.advise()
                    self.assertEqual([row["mistake"] for row in advice.to_dict()["mistakes"]], [one.mistake for one in w.mistakes])
                    self.assertIn(found[0].text, " ".join(str(advice).split()))
                    self.assertEqual((advice.recommended_scale is None, "dW in" in str(advice)), (mistake in SPOILING, mistake not in SPOILING))
                    self.assertEqual("unless that is meant" in " ".join(str(advice).split()), mistake == "backward_without_zero_grad")
                    self.assertTrue(found[0].warning or str(advice).startswith("Order of calls"), advice)
                    self.assertIn(str(found[0]), " ".join(str(w.report()).split()))

    def test_a_call_that_the_scaler_refused_did_nothing_twice(self):
        for words, done in (("zero_grad backward unscale_:0 unscale_:0 step update", "divided"), ("zero_grad backward step:0 unscale_:0 step:1 update", "divided"),
                            ("zero_grad backward step:0 step:0 step:1 update", "stepped with")):
            with self.subTest(words):
                w = Loop(True).run(words, catches=True)
                (one,) = w.mistakes
                self.assertEqual((one.step, one.mistake, one.warning), (0, "refused_call", True))
                self.assertRegex(one.text, rf"^is given to .* RuntimeError \(.*\(\).*\): nothing was {done} twice")
                self.assertIsNotNone(w.advise().recommended_scale)

    def test_gradients_that_are_zeroed_in_place_are_read_once_between_counted_steps(self):
        for call, clears in (("model_zeros", True), ("zero_by_hand", True), ("zero_data", True), ("norm", False)):
            with self.subTest(call):
                loop, read = Loop(False, every=100), []
                loop.model_zeros = lambda: loop.model.zero_grad(set_to_none=False)
                loop.zero_data = lambda: [p.grad.data.zero_() for p in loop.model.parameters() if p.grad is not None]
                count, most = torch.count_nonzero, max(p.numel() for p in loop.model.parameters())
                with unittest.mock.patch("torch.count_nonzero", lambda x: read.append(x.numel()) or count(x)):
                    w = loop.run(f"{call} plain_backward plain_step", 12)
                self.assertEqual({one.mistake for one in w.mistakes}, set() if clears else {"backward_without_zero_grad"})
                self.assertLessEqual(read.count(most), 2 * len(loop.optimizers))

    def test_clipping_between_backward_passes_is_named(self):
        for words, ill in (("zero_grad plain_backward clip plain_backward clip plain_step", True),
                           ("zero_grad plain_backward clip_value plain_backward plain_step", True),
                           ("zero_grad plain_backward plain_backward clip plain_step", False),
                           ("zero_grad plain_backward norm plain_backward norm clip plain_step", False),
                           ("zero_grad only:0 plain_backward clip_first plain_step:0 both only:1 plain_backward both plain_step:1", False)):
            found = Loop(False).run(words).mistakes
            self.assertEqual({(one.mistake, one.warning) for one in found}, {("backward_after_clip", True)} if ill else set(), words)

    def test_gradients_that_were_clipped_before_others_were_added_give_no_format_and_no_loss_scale(self):
        text = " ".join(str(Loop(False).run("zero_grad plain_backward clip plain_backward clip plain_step").advise()).split())
        self.assertIn("Loss scale for FP16: not known. The gradients of weights, as the optimizer got them, are sums of some that were clipped", text)
        self.assertIn("dW: not known, since the order of calls gave the optimizer other gradients than the run's.", text)
        self.assertNotIn("dW in", text)

    def test_gradients_that_are_divided_by_hand_and_by_the_scaler_are_named(self):
        for words, ill in (("zero_grad backward divide step update", True), ("zero_grad backward divide_data unscale_ clip step update", True),
                           ("zero_grad backward divide clip step update", True), ("zero_grad backward unscale_ clip divide step update", True),
                           ("zero_grad backward unscale_ divide_data clip step update", True),
                           ("zero_grad backward divide clip plain_step update", False), ("zero_grad backward divide:4 step update", False),
                           ("zero_grad backward backward unscale_ divide:2 clip step update", False),
                           ("zero_grad backward divide zero_grad backward step update", False)):
            w = Loop(True).run(words)
            found = [one for one in w.mistakes if one.mistake == "divided_by_hand"]
            self.assertEqual([one.step for one in found], [0, 0] if ill else [], words)
            if ill:
                self.assertTrue(str(w.advise()).startswith("Order of calls, step 0: SGD (optimizer 1) gets gradients that are divided"), words)
                self.assertIn("divided by the loss scale twice: these", " ".join(str(w.advise()).split()))

    def test_what_another_thread_trains_is_no_part_of_the_loop(self):
        w = Loop(True).run("scale zero_grad other_begins backward unscale_ clip step update other_ends")
        self.assertEqual((w.mistakes, w.notes), ([], []))

    def test_scaled_gradients_that_are_clipped_by_hand_are_named(self):
        for words, ill in (("backward clip_by_hand step", True), ("backward clip_by_hand unscale_ step", True), ("backward unscale_ clip_by_hand step", False),
                           ("backward clip_by_hand:100 step", False), ("backward clip_by_hand:8 step", False), ("backward divide:4 step", False), ("plain_backward clip_by_hand plain_step", False)):
            w = Loop(True, every=50).run(f"other_data zero_grad {words} update", steps=4)
            found = [one.step for one in w.mistakes if one.mistake == "clip_before_unscale"]
            self.assertEqual(found, [2, 2] if ill else [], words)
            self.assertEqual("brings the norm of all to 1 each time" in " ".join(str(w.advise()).split()), ill, words)

    def test_gradients_that_are_cleared_between_backward_and_step_are_named_unless_they_were_ill(self):
        def guard(loop, clear):
            if not all(p.grad.isfinite().all() for p in loop.model.parameters()):
                loop.call(clear)

        for clear in ("model_zero_grad", "zero_by_hand", "none"):
            for scaled, step in ((False, f"plain_backward {clear} plain_step"), (False, f"plain_backward {clear} clip plain_step"),
                                 (True, f"backward {clear} step update")):
                found = {one.mistake: one.step for one in Loop(scaled).run(f"zero_grad {step}").mistakes}
                if clear == "zero_by_hand" or not scaled:  # of no gradients at all a scaler says so itself
                    self.assertEqual(found.get("step_without_backward"), 1, (clear, step))
        for words in ("zero_grad plain_backward clip plain_step", "zero_grad plain_backward divide:4 plain_step"):  # of dead layers
            loop = Loop(False)
            loop.loss = lambda loop=loop: loop.model(loop.x).relu().mul(0).sum()
            self.assertEqual(loop.run(words, 4).mistakes, [], words)
        for clear in ("zero_grad", "model_zero_grad", "zero_by_hand"):
            loop, ill = Loop(False), []
            loop.scale_by = lambda: ill.append(0) or (float("nan") if len(ill) == 2 else 1.0)
            loop.loss = lambda: loop.model(loop.x).square().mean() * loop.scale_by()
            loop.guard = lambda: guard(loop, clear)
            self.assertEqual(loop.run("zero_grad plain_backward guard plain_step", 4).mistakes, [], clear)

    def test_a_step_past_a_scaler_that_found_inf_is_named(self):
        for factor, ill in ((1e38, True), (1.0, False)):
            loop = Loop(True)
            loop.x = loop.x * factor
            found = {one.mistake for one in loop.run("zero_grad backward unscale_ plain_step update", 2).mistakes}
            self.assertEqual("step_past_scaler" in found, ill, found)

    def test_gradients_that_are_taken_away_before_each_step_are_named_unless_they_are_used(self):
        for scaled, step, backward in ((False, "plain_step", "plain_backward"), (True, "unscale_ clip step update", "backward")):
            for take in ("zero_grad", "none", "model_zero_grad", "zero_by_hand"):
                ill = f"{take} {backward} {take} {backward} {step}"
                found = Loop(scaled).run(ill, 5).mistakes
                self.assertEqual({one.mistake for one in found if one.warning}, {"zero_grad_without_step"}, ill)
                self.assertEqual([one.mistake for one in found if not one.warning], [], ill)
        healthy = ("zero_grad plain_backward move zero_grad plain_backward plain_step",
                   "zero_grad plain_backward move_data none plain_backward plain_step",
                   "zero_grad adversarial_backward zero_grad plain_backward plain_step",
                   "zero_grad plain_backward zero_grad plain_backward gradients_by_hand clip plain_step",
                   "zero_grad:0 plain_backward plain_step:0 zero_grad:1 plain_backward plain_step:1",
                   "zero_grad only:0 plain_backward both zero_grad:1 only:1 plain_backward both plain_step:0 plain_step:1",
                   # steps that a guard leaves out now and then
                   "zero_grad plain_backward zero_grad plain_backward plain_step zero_grad plain_backward plain_step")
        for words in healthy:
            self.assertEqual(Loop(False).run(words, 5).mistakes, [], words)

    def gan_calls(self, words, steps=3, own="D"):
        """Runs a loop whose passes are: D, a loss of D alone; G, one of both; G!, the same while D is frozen; D-, G- and GG, squares of both
        with another sign; T, one of neither, as of a temperature. own: of whom D is behind."""
        torch.manual_seed(0)
        g, d = nn.Linear(3, 4), nn.Linear(4, 1)
        optimizers = {"G": torch.optim.SGD((g if own == "D" else d).parameters(), lr=0.01),
                      "D": torch.optim.SGD((d if own == "D" else g).parameters(), lr=0.01)}
        kept, made = next(iter(optimizers["D"].param_groups))["params"], []

        def backward(word):
            x = torch.ones(2, 3)
            sign = -1 if word.endswith("-") else 1
            if word == "T":
                torch.ones(1, requires_grad=True).exp().backward()
                return
            if word[0] == "D":
                made.append(g(x))
                (sign * (d(made[-1].detach()) if own == "D" else made[-1]).square().sum()).backward()
                return
            for p in kept:
                p.requires_grad_(word != "G!")
            made.append(g(x))
            (sign * (d(made[-1]).square() if sign < 0 or word == "GG" else d(made[-1])).sum()).backward()
            for p in kept:
                p.requires_grad_(True)

        def call(word):
            name, _, of = word.partition(":")
            if not of:
                backward(word)
            elif name == "none":
                for p in kept:
                    p.grad = None
            elif name == "data":
                for p in kept:
                    p.grad.data.zero_()
            else:
                getattr(optimizers[of], name)()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with binade.torch.watch({"g": g, "d": d}, list(optimizers.values())) as w:
                for word in words.split() * steps:
                    call(word)
        return w

    def test_gradients_that_the_pass_of_another_optimizer_left_are_named(self):
        for words, step in (("D step:D zero_grad:D zero_grad:G G step:G", 1), ("zero_grad:G zero_grad:D G step:G D step:D", 0),
                            ("D D step:D zero_grad:D zero_grad:G G step:G", 1)):
            w = self.gan_calls(words)
            self.assertEqual([(one.mistake, one.optimizer, one.warning, one.step) for one in w.mistakes],
                             [("left_by_another_pass", "SGD (optimizer 2)", True, step)], words)
            text = " ".join(str(w.advise()).split())
            self.assertTrue(text.startswith(f"Order of calls, step {step}: SGD (optimizer 2) steps with gradients that the backward pass before "
                                            "the step of SGD (optimizer 1) left in its parameters"), text)
            self.assertIn("sums with what the loss of another optimizer left in them", text)
        healthy = ("zero_grad:D D step:D zero_grad:G G step:G", "D step:D zero_grad:D zero_grad:G G! step:G", "D step:D none:D zero_grad:G G step:G none:D",
                   "D step:D zero_grad:D zero_grad:G G step:G data:D", "zero_grad:D zero_grad:G D GG step:G step:D",
                   "zero_grad:D zero_grad:G G step:G zero_grad:G G step:G step:D", "zero_grad:D D D step:D zero_grad:G G! step:G zero_grad:G G! step:G",
                   "zero_grad:D zero_grad:G G step:G step:D", "zero_grad:D D step:D zero_grad:G G step:G T")
        for words in healthy:
            self.assertEqual(self.gan_calls(words, steps=5).mistakes, [], words)
        # the generator's pass comes after that of D and before its step
        for words, step in (("zero_grad:D D zero_grad:G G step:D step:G", 0), ("zero_grad:D D zero_grad:G G step:G step:D", 0),
                            ("zero_grad:D zero_grad:G D G step:G step:D", 2)):
            w = self.gan_calls(words)
            self.assertEqual([(one.mistake, one.optimizer, one.warning, one.step) for one in w.mistakes],
                             [("left_by_another_pass", "SGD (optimizer 2)", True, step)], words)
            self.assertIn("left in its parameters, after its own and before its step", w.mistakes[0].text)
        for words in ("zero_grad:D D zero_grad:G G! step:D step:G", "zero_grad:D D step:D zero_grad:G G- step:G",
                      "zero_grad:D D zero_grad:G G data:D step:D step:G",
                      "zero_grad:D zero_grad:G D GG step:D step:G"):
            self.assertEqual(self.gan_calls(words, steps=5).mistakes, [], words)
        # an encoder that steps with a penalty of its own and a loss that is its head's, too
        self.assertEqual(self.gan_calls("zero_grad:G zero_grad:D G step:G D step:D", own="G").mistakes, [])

    def test_a_mistake_is_a_sentence_about_who_makes_it(self):
        for words in ("zero_grad backward step", "zero_grad backward step:0 update step:1", "zero_grad backward unscale_ update step update",
                      "zero_grad backward step update scale step"):
            for one in Loop(True).run(words).mistakes:
                self.assertRegex(one.text, r"^(begins|divides|clips|steps|adds|unscales|updates|runs) ")

    def test_what_overflows_after_steps_with_scaled_gradients_may_come_of_these(self):
        words = "Its steps were made with gradients that were still multiplied by the loss scale: unscale them first."
        for calls, told in (("zero_grad backward plain_step", True), ("zero_grad backward clip step update", False)):
            loop = Loop(True, every=1)
            loop.scaler = loop.options["scaler"] = binade.torch.LossScaler(init_scale=2.0**100)
            loop.x = loop.x if told else loop.x * 2.0**80
            advice = " ".join(str(loop.run(calls).advise()).split())
            self.assertTrue("The run was not finite" in advice and advice.startswith("Order of calls"), advice)
            self.assertEqual(words in advice, told)

    def test_clipping_under_another_name_is_seen(self):
        own = sys.modules[__name__]
        own.clip = clip_grad_norm_
        held = functools.partial(clip_grad_norm_, max_norm=1.0)
        for call in (lambda parameters: clip(parameters, 1.0), held):
            loop = Loop(True)
            loop.clip = lambda call=call: call(loop.model.parameters())
            self.assertEqual({one.mistake for one in loop.run("zero_grad backward clip step update").mistakes}, {"clip_before_unscale"})
        del own.clip

    def test_torchs_functions_stay_what_they_are_while_they_are_watched(self):
        functions = clip_grad_norm_, nn.utils.clip_grad_value_, torch.autograd.backward
        before = [(inspect.signature(one), one.__code__, dict(vars(one))) for one in functions]
        loop = Loop(False)
        with binade.torch.watch(loop.model, loop.optimizers):
            for (signature, *_), function in zip(before, functions):
                self.assertEqual(inspect.signature(function), signature)
                self.assertIs(pickle.loads(pickle.dumps(functools.partial(function))).func, function)
            inside = functools.partial(nn.utils.clip_grad_norm_, max_norm=1.0)
        self.assertIs(pickle.loads(pickle.dumps(inside)).func, clip_grad_norm_)
        self.assertEqual([(inspect.signature(one), one.__code__, dict(vars(one))) for one in functions], before)

    def test_watches_that_overlap_leave_what_they_found(self):
        before = torch.autograd.backward, nn.utils.clip_grad_norm_, clip_grad_norm_
        kind = binade.torch.LossScaler
        for order in itertools.permutations("ABC"):
            loop = Loop(True)
            classes = {(one, name): vars(one)[name] for one in scaler_kinds() for name in ("scale", "step") if name in vars(one)}
            watches = {name: binade.torch.watch(loop.model, loop.optimizers) for name in "ABC"}
            for w in watches.values():
                w.start()
            module = types.ModuleType("late")  # imported while watching
            module.late = nn.utils.clip_grad_norm_
            sys.modules["late"] = module
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for name in order:
                    loop.scaler = kind(init_scale=2.0**12)  # each watch that is left finds it
                    for word in "zero_grad backward clip step update".split():
                        loop.call(word)
                    watches[name].stop()
            with self.subTest(order):
                self.assertEqual([len(watches[name].mistakes) for name in order], [2, 2, 2])
                self.assertEqual([watches[name].windows[-1].last for name in order], [0, 0, 0])
                self.assertEqual((torch.autograd.backward, nn.utils.clip_grad_norm_, clip_grad_norm_, module.late), (*before, before[1]))
                self.assertEqual({key: vars(key[0])[key[1]] for key in classes}, classes)
                self.assertFalse({"zero_grad", "step"} & vars(loop.optimizers[0]).keys())
                self.assertFalse({"scale", "step", "unscale_", "update"} & vars(loop.scaler).keys())
            del sys.modules["late"]

    def test_mistakes_without_a_scaler_are_named(self):
        for words, mistake in (("plain_backward plain_step", "backward_without_zero_grad"),
                               ("zero_grad plain_backward plain_step clip", "clip_after_step"),
                               ("plain_backward zero_grad plain_step", "step_without_backward"),
                               ("zero_grad plain_backward plain_step plain_step", "double_step")):
            with self.subTest(words):
                self.assertEqual({one.mistake for one in Loop(False).run(words).mistakes}, {mistake})

    def test_what_was_put_in_torchs_place_is_taken_away_and_changes_nothing(self):
        before = torch.autograd.backward, nn.utils.clip_grad_norm_, clip_grad_norm_
        bits = []
        for watching in (False, True):
            loop = Loop(True)
            state = torch.get_rng_state()
            words = "zero_grad backward clip unscale_ clip step update".split() * 3
            if watching:
                loop.run(" ".join(words), 1)
            else:
                for word in words:
                    loop.call(word)
            self.assertTrue(torch.equal(state, torch.get_rng_state()))
            bits.append([p.detach().numpy().tobytes() for p in loop.model.parameters()])
        self.assertEqual(*bits)
        self.assertEqual((torch.autograd.backward, nn.utils.clip_grad_norm_, clip_grad_norm_), before)
        with warnings.catch_warnings(), binade.torch.watch(loop.model, loop.optimizers) as outer, \
                binade.torch.watch(loop.model, loop.optimizers) as inner:
            warnings.simplefilter("ignore")
            for word in ("zero_grad", "plain_backward", "plain_step", "clip"):
                loop.call(word)
        self.assertEqual([len(w.mistakes) for w in (outer, inner)], [2, 2])
        self.assertEqual((torch.autograd.backward, nn.utils.clip_grad_norm_, clip_grad_norm_), before)
        self.assertFalse({"zero_grad", "step"} & vars(loop.optimizers[0]).keys())


class Scalers(CliCase):
    """Scalers that a loop makes while it is watched, and scales that stand still."""

    def run_with(self, make, steps=6, each=2, kind=binade.torch.LossScaler, given=None, **options):
        """Watches a loop that makes a new scaler for each few steps, whose loss overflows while make(step) is large."""
        loop, made = Loop(False), []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with binade.torch.watch(loop.model, loop.optimizers, scaler=given or "find", every=2, **options) as w:
                for step in range(steps):
                    if step % each == 0:
                        loop.scaler = kind(init_scale=2.0**16)
                        made.append(loop.scaler)
                    loop.optimizers[0].zero_grad()
                    loop.optimizers[1].zero_grad()
                    loop.scaler.scale(loop.loss() * make(step)).backward()
                    for optimizer in loop.optimizers:
                        loop.scaler.step(optimizer)
                    loop.scaler.update()
                self.wrapped = sum("step" in vars(one) for one in made)
            self.assertFalse(any("step" in vars(one) for one in made))
        return w

    def test_scalers_made_while_watching_are_found_and_end_steps(self):
        class Derived(binade.torch.LossScaler):
            def scale(self, outputs):
                return super().scale(outputs)

        def late(init_scale):
            class Late(Derived):  # made after the functions of the watch were put in place
                def scale(self, outputs):
                    calls.append(self)
                    return super().scale(outputs)

            return Late(init_scale=init_scale)

        calls = []

        for kind, given, each, steps in ((binade.torch.LossScaler, None, 1, 18), (Derived, None, 3, 6), (late, None, 3, 6),
                                         (binade.torch.LossScaler, binade.torch.LossScaler(), 2, 6)):
            with self.subTest(kind=kind.__name__, given=given is not None):
                methods = [getattr(one, name) for one in (binade.torch.LossScaler, Derived) for name in ("scale", "step")]
                w = self.run_with(lambda _: 1e38, steps, each, kind, given)
                self.assertEqual([getattr(one, name) for one in (binade.torch.LossScaler, Derived) for name in ("scale", "step")],
                                 methods)
                self.assertLessEqual(self.wrapped, 16)
                self.assertEqual(len(calls), steps if kind is late else 0)
                calls.clear()
                scales = {1: " 2^16", 2: "s from 2^15 to 2^16", 3: "s from 2^14 to 2^16"}[each]
                words = (f"skipped every one of {steps} steps, at loss scale{scales}: nothing was trained; {steps // each} "
                         "GradScalers took turns, and a new GradScaler begins at its init_scale again")
                text = " ".join(str(w.advise()).split())
                self.assertNotIn("as it does while it looks", text)
                self.assertRegex(text, "^The (scaler skipped|run was not finite: step 0: 1 Inf in the loss, forward; it was multiplied by 6.5536e.42).* of the finite values alone.*: this is no answer")
                for one in (text, " ".join(w.notes), " ".join(str(w.report()).split())):
                    self.assertIn(words, one)
                self.assertEqual(([one.mistake for one in w.mistakes], w.windows[0].loss_scale), ([], 2.0**16))

    def gan(self, skips, steps, each=1, plain="", scalers="one"):
        """Watches a generator and a discriminator, which steps so often in a step, with one scaler. skips(step, name): whose gradients
        overflow. plain: which of the two steps without the scaler. scalers: "one", or "own" of each. Returns the Watch."""
        torch.manual_seed(0)
        nets = {"D": nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1)), "G": nn.Linear(3, 3)}
        optimizers = {name: torch.optim.SGD(net.parameters(), lr=0.01) for name, net in nets.items()}
        scaler_of = {name: binade.torch.LossScaler(init_scale=2.0**8) for name in nets}
        if scalers == "one":
            scaler_of["G"] = scaler_of["D"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with binade.torch.watch({f"net{name}": net for name, net in nets.items()}, list(optimizers.values()),
                                    scaler=scaler_of["D"] if scalers == "one" else "find") as w:
                for step in range(steps):
                    for name in "D" * each + "G":
                        optimizers[name].zero_grad()
                        loss = nets["D"](nets["G"](torch.randn(2, 3))).mean()
                        if name == plain:
                            loss.backward()
                            optimizers[name].step()
                            continue
                        scaler = scaler_of[name]
                        scaler.scale(loss).backward()
                        if skips(step, name):
                            next(nets[name].parameters()).grad.fill_(math.inf)
                        scaler.step(optimizers[name])
                        scaler.update()
                    w.step()
        return w

    def test_of_several_optimizers_it_is_told_whose_steps_are_skipped(self):
        w = self.gan(lambda step, name: name == "D", 10)
        told = ("the scaler skipped all 10 steps of SGD over netD.*, none of the 10 steps of SGD over netG, at loss scales from 2^-1 to "
                "2^8: nothing of netD.* was trained, and each skipped step lowered the scale of the others, too")
        self.assertIn(told, w.notes)
        self.assertEqual(w.advise().to_dict()["not_finite"], {
            "finite": True, "dead": True, "spared": False, "skipped": 10, "by_scale": False, "scale": None, "unlooked": None, "lines": [
                f"T{told[1:]}.", f"It began with {w.first_nonfinite()}."]})
        self.assertTrue(w.first_nonfinite().text.endswith("; the scaler skipped the step of SGD over netD.*"), w.first_nonfinite())
        self.assertTrue(any(note.endswith(": nothing of netD.* was trained") for note in self.gan(
            lambda step, name: name == "D", 3, plain="G").notes))
        own = self.gan(lambda step, name: name == "D", 10, scalers="own")
        self.assertIn(told.partition(", and each")[0], own.notes)
        self.assertIn("The scaler skipped the only step of SGD over netD.*, not the one step of SGD over netG", " ".join(
            self.gan(lambda step, name: name == "D", 1).advise().to_dict()["not_finite"]["lines"]))
        w = self.gan(lambda step, name: name == "D" and step < 2, 10)
        self.assertEqual(w.advise().to_dict()["not_finite"]["lines"], [
            "The scaler skipped 2 of 10 steps, whose gradients were not finite (2 of the 10 steps of SGD over netD.*, none of the 10 steps of "
            "SGD over netG), as it does while it looks for its scale."])
        w = self.gan(lambda step, name: name == "D" and step > 2, 30)
        self.assertIn("those from 3 to 29 in a row, which trained nothing of netD.*:", w.advise().to_dict()["not_finite"]["lines"][0])
        w = self.gan(lambda step, name: step < 2, 5)
        self.assertEqual(w.advise().to_dict()["not_finite"]["lines"], [
            "The scaler skipped 2 of 5 steps, whose gradients were not finite, as it does while it looks for its scale."])
        self.assertTrue(w.first_nonfinite().text.endswith("; the scaler skipped the step"), w.first_nonfinite())
        for words in ("dW not finite in skipped steps: ", " NaN or Inf, in steps that were skipped, about which this says nothing."):
            self.assertIn(words, " ".join(str(w.advise()).split()))
        self.assertEqual(self.gan(lambda step, name: False, 3).advise().to_dict()["not_finite"]["lines"], [])

    def test_each_of_an_optimizers_steps_within_a_step_is_counted(self):
        self.assertIn("The scaler skipped all 6 steps of SGD over netD.*, none of the 3 steps of SGD over netG", " ".join(
            self.gan(lambda step, name: name == "D", 3, each=2).advise().to_dict()["not_finite"]["lines"]))

    def test_new_scalers_that_skip_some_steps_are_told_and_others_are_not(self):
        text = " ".join(str(self.run_with(lambda step: 1e38 if step % 2 == 0 else 1.0).advise()).split())
        self.assertIn("The scaler skipped 3 of 6 steps, at loss scale 2^16; 3 GradScalers took turns", text)
        for make, each in ((lambda _: 1.0, 2), (lambda step: 1e38 if step < 2 else 1.0, 6),
                           (lambda step: 1e38 if step < 1 else 1.0, 3)):
            w = self.run_with(make, each=each)
            self.assertNotIn("took turns", f"{w.advise()} {w.notes}")
        three = [binade.torch.LossScaler(init_scale=2.0**16) for _ in range(3)]
        turns = iter(three * 2)
        w = self.run_with(lambda step: 1e38 if step < 3 else 1.0, each=1, kind=lambda init_scale: next(turns))
        self.assertNotIn("took turns", str(w.advise()))
        w = self.run_with(lambda _: 1e38, steps=3, each=9)
        self.assertIn("skipped every one of 3 steps, at loss scales from 2^14 to 2^16: nothing was trained.",
                      " ".join(str(w.advise()).split()))

    def by_hand(self, policy="torch", update="", steps=5, divide="divide"):
        loop = Loop(True)
        loop.scaler = loop.options["scaler"] = binade.torch.LossScaler(policy)
        loop.update_to_the_same = lambda: loop.scaler.update(loop.scaler.get_scale())
        each = f"model_zero_grad zero_grad backward {divide} clip "
        return loop.run(" ".join(each + ("plain_step " if step % 2 == 0 else "") + update for step in range(steps)), 1)

    def test_a_scale_that_is_divided_by_hand_and_never_updated_is_named(self):
        for divide in ("divide", "divide_data"):
            w = self.by_hand(divide=divide)
            self.assertEqual([(one.mistake, one.warning) for one in w.mistakes], [("missing_update", False)])
            words = "never called update(), though scale() of the scaler was used for 5 losses: the scale stays at 2^16"
            for text in (str(w.mistakes[0]), " ".join(w.notes), str(w.advise()), str(w.report())):
                self.assertIn(words, " ".join(text.split()))

    def test_a_loss_scale_that_is_itself_the_cause_is_named_before_all_else(self):
        def text_of(factor, known, start=1.0, steps=12, inside=False):
            torch.manual_seed(0)
            model, scale = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)), [start]

            def loss():
                losses = model(torch.ones(3, 4)).square()
                return (losses * torch.tensor(scale[0])).mean() if inside else losses.mean() * torch.tensor(scale[0])

            w = fit(model, loss, steps, lr=1e-3, between=lambda: [p.grad.div_(torch.tensor(scale[0])) for p in model.parameters()],
                    after=lambda: scale.append(float(torch.tensor(scale.pop() * factor))), loss_scale=(lambda: scale[0]) if known else None)
            return " ".join(str(w.advise()).split())

        grows = text_of(2.0**16, True)
        self.assertTrue(grows.startswith("The loss scale is inf from step 8 on"), grows)
        self.assertIn("bound it, at 2^24", grows)
        self.assertIn("It began so", text_of(1.0, True, start=math.inf, steps=2))
        self.assertNotIn("It began so", grows)
        falls = text_of(2.0**-16, True)
        self.assertTrue(falls.startswith("The loss scale is 0 from step 10 on: no gradient is left"), falls)
        unseen = text_of(2.0**16, False, inside=True)
        self.assertTrue(unseen.startswith("The loop's own loss scale seems to be the cause: from step 0 to 7 the gradients"), unseen)
        read = text_of(2.0**16, False)
        self.assertTrue(read.startswith("The loop's own loss scale is the cause: in step 8, at inf, to which it had grown from 2^0, the scaled loss "
                                        "was more than its dtype holds, and the loop stepped with what came of that."), read)
        self.assertIn("bound it, at 2^24 for instance, since half of Inf is Inf", read)
        fell = text_of(2.0**-16, False, start=2.0**16)
        self.assertTrue(fell.startswith("The loop's own loss scale is the cause: it fell from 2^16 to 0: no gradient is left under it"), fell)
        for text in (grows, falls, unseen, read, fell):
            self.assertNotIn("Keep in FP32", text)
        for factor in (1.0, 2.0, 0.5):
            for known in (True, False):
                self.assertNotIn("loss scale is", text_of(factor, known))
                self.assertNotIn("own loss scale", text_of(factor, known))

    def run_by_hand(self, model, held, backward, change, scale, steps, models=None, by_hand=True, **options):
        """Runs a loop that keeps its loss scale by itself, over what an optimizer holds, a model's parameters or copies of them.
        backward(step, scale) makes gradients and says whether to step; change(scale, whether a step was made)."""
        optimizer = torch.optim.SGD(held, lr=1e-3)
        self.scale = scale
        with warnings.catch_warnings(record=True), binade.torch.watch(models or model, optimizer, **({"every": 1} | options)) as w:
            for step in range(steps):
                model.zero_grad()
                steps_on = backward(step, self.scale)
                if steps_on:
                    for p, q in zip(model.parameters(), held):
                        q.grad = p.grad.float() / self.scale
                    optimizer.step()
                    for p, q in zip(model.parameters(), held):
                        p.data.copy_(q.detach())
                self.scale = change(self.scale, steps_on)
                if by_hand:
                    w.step()
        return w

    def own_scale(self, change, start=2.0**12, steps=14, guards=True, inside=False, ill=lambda step: False, copies=False, micro=1,
                  **options):
        """Runs such a loop around gradients that pass FP16."""
        torch.manual_seed(0)
        model, x = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)), torch.ones(3, 4)
        held = [nn.Parameter(p.detach().clone()) for p in model.parameters()] if copies else list(model.parameters())

        def backward(step, scale):
            for _ in range(micro):
                losses = ((model(x) + 4).half().float() * (math.nan if ill(step) else 1.0)).square()
                ((losses * scale).mean() if inside else losses.mean() / micro * scale).backward()
            looked = [losses] if guards == "loss" else [p.grad for p in model.parameters()]
            return all(bool(x.isfinite().all()) for x in looked) or not guards

        models = {"model": model, "master": nn.ParameterList(held)} if copies else model
        return self.run_by_hand(model, held, backward, change, start, steps, models, **options)

    def own_scale_text(self, *args, **options):
        return " ".join(str(self.own_scale(*args, **options).advise()).split())

    def test_a_loss_scale_of_the_loops_own_that_is_never_lowered_is_the_cause_of_steps_that_it_leaves_out(self):
        def grow(scale, _):
            return scale * 2

        for options in ({}, {"by_hand": False}, {"loss_scale": lambda: self.scale}, {"every": 50}, {"micro": 2}, {"copies": True}):
            text = self.own_scale_text(grow, **options)
            self.assertRegex(text, r"^The loop's own loss scale is the cause: from step \d+ on, at 2\^1\d, the scaled gradients overflowed", options)
            self.assertRegex(text, r"left out all \d+ steps from then on while it raised the scale to 2\^2\d, which trained nothing", options)
            self.assertIn("Halve it wherever gradients are not finite, as GradScaler does", text)
            self.assertNotIn("Keep in FP32", text)
            self.assertNotIn("The run was not finite", text)
        fixed = self.own_scale_text(lambda scale, _: scale, start=2.0**30)
        self.assertTrue(fixed.startswith("The loop's own loss scale is the cause: from step 0 on, at 2^30, the scaled gradients overflowed"), fixed)
        self.assertIn("left out all of its 14 steps without lowering it: nothing was trained.", fixed)
        early = self.own_scale_text(grow, start=2.0**30, by_hand=False)
        self.assertRegex(early, r"^The loop's own loss scale is the cause: from step 0 on, at 2\^30, .*while it raised the scale to 2\^\d\d: nothing was trained")
        inside = self.own_scale_text(grow, inside=True)
        self.assertTrue(inside.startswith("The loop's own loss scale seems to be the cause: gradients were divided by 2^12, and later by 2^1"), inside)
        self.assertIn("Loss scale for FP16: not known. The loop divides gradients before its steps (from 2^12 to 2^1", inside)

    def test_a_loss_scale_of_the_loops_own_is_the_cause_of_steps_that_are_made_with_inf(self):
        text = self.own_scale_text(lambda scale, _: scale * 2, guards=False)
        self.assertRegex(text, r"^The loop's own loss scale is the cause: in step \d+, at 2\^1\d, to which it had grown from 2\^12, the scaled "
                         "gradients overflowed, and the loop stepped with what came of that. Look, before each step, whether all gradients")
        self.assertNotIn("Keep in FP32", text)

    def test_a_loop_that_tests_its_loss_and_not_its_gradients_is_told_so(self):
        for by_hand in (False, True):
            text = self.own_scale_text(lambda scale, stepped: scale * 2 if stepped else scale / 2, steps=16, guards="loss", by_hand=by_hand)
            self.assertRegex(text, r"^The loop's own loss scale is the cause: in step \d, at 2\^1\d, to which it had grown from 2\^12, the scaled gradients "
                             r"overflowed, and the loop stepped with what came of that\. .*; bound it, at 2\^1\d for instance\.", by_hand)
            self.assertIn("It seems to test its loss alone, which may be finite where gradients are not, or gradients for NaN alone", text)
            for words in ("since gradients were not finite", "Keep in FP32", "2^24", "name the optimizers"):
                self.assertNotIn(words, text)
        for backward in (False, True):  # before or after the loss is tested
            model, x = nn.Linear(4, 2), torch.ones(3, 4)
            optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
            with warnings.catch_warnings(record=True) as warned, binade.torch.watch(model, optimizer, every=1) as w:
                for step in range(9):
                    optimizer.zero_grad()
                    loss = model(x * (step != 3)).sub(model.bias.detach() * (step == 3)).abs().sqrt().sum()
                    if backward:
                        loss.backward()
                    if loss.isfinite():
                        (None if backward else loss.backward(), optimizer.step())
            text = " ".join(str(w.advise()).split())
            self.assertTrue(text.startswith("The run was not finite: step 3: 6 Inf in the gradient of sqrt inside of the loss, backward"), text)
            self.assertIn("Nor was anything after step 3, which made the weights Inf or NaN: the loop passed over all that followed, 5 forward passes, and "
                          "trained nothing. It seems to test its loss alone", text)
            self.assertIn("after step 3, which was made with Inf or NaN, the loop stepped no more, in 5 forward passes", str(warned[0].message))
            for words in ("name the optimizers", "loss scale seems", "since gradients were not finite"):
                self.assertNotIn(words, text + str(w.notes))

    def test_what_no_loss_scale_of_the_loops_own_cures_is_not_laid_to_it(self):
        text = self.own_scale_text(lambda scale, stepped: scale if stepped else scale / 4, steps=40, ill=lambda step: step > 9)
        self.assertTrue(text.startswith("From step 10 on the loop left out all 30 steps from then on, since gradients were not finite, which trained "
                                        "nothing, though its loss scale fell from 2^12 to 2^-46: a smaller scale does not cure that. Give the "
                                        "scale a floor of 1. It began with step 10: "), text)
        once = self.own_scale_text(lambda scale, _: scale, ill=lambda step: step == 9, start=2.0**10)
        self.assertTrue(once.startswith("The loop left out 1 of 14 steps by itself, whose gradients were not finite. The first was step 9: "), once)
        self.assertNotIn("The run was not finite", once)

    def test_a_weight_of_a_loss_that_is_annealed_by_halves_is_no_loss_scale(self):
        torch.manual_seed(0)
        model = nn.Linear(4, 2)
        weights = iter(256 * 0.5**step for step in range(30))
        w = fit(model, lambda: model(torch.ones(3, 4)).square().mean() * next(weights), 30, torch.optim.Adam(model.parameters(), lr=1e-3), every=5)
        self.assertNotIn("own loss scale", str(w.advise()))

    def test_a_loss_scale_that_stands_at_its_floor_while_gradients_overflow_is_named(self):
        text = self.own_scale_text(lambda scale, stepped: scale if stepped else max(2.0**18, scale / 2), start=2.0**20, steps=12)
        self.assertTrue(text.startswith("The loop left out all of its 12 steps, whose gradients were not finite, while its loss scale fell from 2^20 "
                                        "to 2^18, its floor: nothing was trained: they overflow there, too, in the last 10 steps. The loss itself is "
                                        "too large: take a mean for a sum"), text)

    def test_a_loss_scale_of_the_loops_own_that_is_still_far_too_high_is_not_said_to_be_no_cure(self):
        text = self.own_scale_text(lambda scale, stepped: scale if stepped else scale / 2, start=2.0**80, steps=30)
        self.assertTrue(text.startswith("The loop left out all of its 30 steps, whose gradients were not finite, while its loss scale fell from 2^80 to 2^51: "
                                        "nothing was trained: it began far too high: begin with 2^16."), text)
        nan = self.own_scale_text(lambda scale, stepped: scale if stepped else scale / 2, start=2.0**10, steps=12, ill=lambda step: step > 3)
        self.assertIn("though its loss scale fell from 2^10 to 2^3: a smaller scale does not cure that", nan)

    def test_a_loop_that_lowers_its_own_loss_scale_is_healthy(self):
        def dynamic(scale, stepped):
            return scale if stepped else scale / 2

        for options in ({}, {"copies": True}, {"every": 7}, {"by_hand": False}):
            w = self.own_scale(dynamic, start=2.0**20, steps=20, **options)
            text = " ".join(str(w.advise()).split())
            self.assertRegex(text, r"^(act|The loop left out \d of 20 steps by itself, whose gradients were not finite, as it does while it looks for "
                             r"its scale\.)", options)
            if text.startswith("The loop"):
                self.assertRegex(text, r"its scale\. The first was step 0, at 2\^20; the last step was made at 2\^1\d\. ")
                self.assertEqual(w.first_nonfinite().step, 0)
            self.assertNotIn("The run was not finite", text)
            self.assertEqual(any("call w.step() at the end of each" in note for note in w.notes), not options.get("by_hand", True), w.notes)
        for options in ({"start": 1.0}, {"start": 2.0**10}, {"start": 1000.0}, {"start": 2.0**10, "micro": 4}, {"start": 2.0**10, "copies": True}):
            w = self.own_scale(lambda scale, _: scale, **options)
            self.assertNotIn("own loss scale", str(w.advise()))
            self.assertEqual([note for note in w.notes if "w.step()" in note], [])

    def masters(self, scale, change=lambda scale: scale / 2, loss=lambda out: out.float().square().mean(), guard=None, by_hand=True,
                ill=None):
        """Runs a loop with weights in FP16 and FP32 copies of them, which an optimizer holds; it leaves out steps that are not finite. ill: the
        step whose data hold NaN."""
        model = nn.Sequential(*(Calls(lambda self, x: x * self.weight, weight=nn.Parameter(torch.full((4,), 0.5))) for _ in range(2))).half()
        held, x = [p.detach().float().requires_grad_() for p in model.parameters()], torch.ones(512, 4).half()

        def backward(step, scale):
            value = loss(model(x * (math.nan if step == ill else 1.0)))
            (value * scale).backward()
            return (guard or (lambda _: all(p.grad.isfinite().all() for p in model.parameters())))(value)

        w = self.run_by_hand(model, held, backward, lambda scale, stepped: scale if stepped else change(scale), scale, 16,
                             scaler=None, by_hand=by_hand)
        return w, " ".join(str(w.advise()).split()) if w.windows else ""

    def test_data_for_which_a_loop_with_master_weights_leaves_out_a_step_are_no_ill_run(self):
        for by_hand in (True, False):
            w, text = self.masters(2.0**10, ill=3, by_hand=by_hand)
            self.assertTrue(text.startswith("The loss was not finite, and its value is no number to watch: step 3: "), text)
            self.assertIn("the run trains. The loop left out 1 of 16 steps by itself, whose gradients were not finite. ", text)
            for words in ("The run was not finite", "all gradients of weights were zero", "looks for its scale"):
                self.assertNotIn(words, text)

    def test_no_loss_scale_is_recommended_that_the_run_has_disproved(self):
        w, text = self.masters(2.0**24)
        last = min(one.low for one in w._own_scale.stretches if one.kind == "left out")
        self.assertEqual(w.advise().recommended_scale, last / 2)
        self.assertIn(f"At 2^{int(math.log2(last))} gradients of the run were not finite (steps 0 to ", text)
        self.assertIn(f"not counted; up to 2^{int(math.log2(last)) - 1} they were finite.", text)
        for scale in (last, last * 4):  # at which no step was made
            self.assertEqual(self.masters(scale, lambda scale: scale)[0].advise().recommended_scale, None)
        self.assertEqual(self.masters(2.0**10)[0].advise().recommended_scale, 2.0**10)
        one = binade.RangeSummary(formats=[]).add(torch.tensor([2.0**-8], dtype=torch.double).numpy())
        for event, best in (({}, 15), ({"loss_scale": 2.0**30}, 22), ({"cure": "an eps"}, 22), ({"loss_scale": 2.0**2}, None)):
            event = NonFinite(**({"step": 3, "layer": "fc", "role": "dW", "found": {"nan": 0, "inf": 1}, "inputs": [], "loss_scale": 2.0**16, "skipped": True} | event))
            run = Run(1, [Window(0, 0, 1, 2.0**10, {("fc", "dW"): one})], {("fc", "dW"): Layer("F16", (1,))}, nonfinite=[event])
            self.assertEqual(run.advise().loss_scale["recommended_log2"], best, event)

    def test_masters_made_by_hand_are_masters_though_every_step_is_left_out(self):
        def overflows(out):
            return (out * 60000 * out * 60000).float().mean()

        for by_hand in (True, False):
            w, text = self.masters(1.0, loss=overflows, guard=lambda value: bool(value.isfinite()), by_hand=by_hand)
            self.assertIn("as of master copies made by hand", text + " ".join(w.notes))
            self.assertNotIn("was it converted", text + " ".join(w.notes))
            self.assertNotIn("that no optimizer trains", text + " ".join(w.notes))
            self.assertEqual(w.advise().recommended_scale if by_hand else None, None)
        self.assertNotIn("name the optimizers", " ".join(w.notes))
        self.assertRegex(" ".join(str(w.advise()).split()), r"^A step was left out: step 0: 2,048 Inf in mul inside of the loss, "
                         r"forward; .*After 16 forward passes step 0 was not over: SGD did not step, as in a loop that leaves out what is not finite; "
                         r"call w\.step\(\) at the end of each step")

    def test_gradients_of_outputs_are_divided_by_a_loss_scale_that_is_read_off_the_loss(self):
        def scale_of(*args, **options):
            w = self.own_scale(*args, **options)
            return w.advise().loss_scale["recommended_log2"], w.windows[0].loss_scale

        known, one = scale_of(lambda scale, _: scale, start=1.0)
        self.assertEqual(one, None)
        self.assertEqual(scale_of(lambda scale, _: scale, start=2.0**10), (known, 2.0**10))
        turns = iter([2.0**8, 2.0**10] * 24)
        self.assertEqual(scale_of(lambda scale, _: next(turns), start=2.0**9), (known, 2.0**9))

    def test_steps_without_the_scaler_of_those_before_are_told_of_fp16(self):
        class Half(nn.Linear):
            def forward(self, x):
                return super().forward(x).to(self.dtype)

        def text_of(last, dtypes=(torch.float16, torch.float16), given=True, every=2):
            torch.manual_seed(0)
            model = Half(4, 2)
            optimizer, scaler = torch.optim.SGD(model.parameters(), lr=1e-3), binade.torch.LossScaler(init_scale=2.0**10)
            with warnings.catch_warnings(record=True), binade.torch.watch(model, optimizer, scaler=scaler if given else "find", every=every) as w:
                for step in range(8):
                    optimizer.zero_grad()
                    one, model.dtype = (scaler, dtypes[0]) if step < 4 else (last, dtypes[1])
                    one.scale(model(torch.ones(3, 4)).float().square().mean()).backward()
                    one.step(optimizer)
                    one.update()
            return " ".join(str(w.advise()).split())

        plain = types.SimpleNamespace(scale=lambda x: x, step=lambda optimizer: optimizer.step(), update=lambda: None)
        disabled = scaler_kinds()[0](enabled=False)
        words = "From step 4 on, in 4 steps, no loss was multiplied by a loss scale, though a scaler was used in 4 before"
        for given in (True, False):
            self.assertTrue(text_of(plain, given=given).startswith(words))
            self.assertIn("Call backward on what the scaler's scale(loss) returns", text_of(plain, given=given))
            for every in (2, 50):
                self.assertIn("The scaler of these steps is disabled (enabled=False): enable it", text_of(disabled, given=given, every=every))
        for text in (text_of(disabled, [torch.float32] * 2), text_of(disabled, (torch.float16, torch.bfloat16)), text_of(plain, every=50),
                     text_of(plain, (torch.float16, torch.float32)), text_of(binade.torch.LossScaler(init_scale=2.0**10))):
            self.assertNotIn("no loss was multiplied", text)

    def test_why_a_scaler_skips_is_told(self):
        def text_of(scaler, f=lambda y: y.square().sum(), steps=14, lr=1e-3):
            torch.manual_seed(0)
            model = torch.nn.Linear(4, 2)
            w = fit_scaled(model, scaler, lambda _: f(model(torch.ones(3, 4)).half().float() * 2.0**-10), steps, lr)
            return " ".join(str(w.advise()).split())

        high = text_of(CpuScaler(2.0**127))
        self.assertIn("The loss scale is the cause: it began at 2^127, far too high: give it an init_scale of 2^16, or look at the state that it was loaded from.", high)
        self.assertIn("those up to ", text_of(CpuScaler(2.0**60), steps=60))
        self.assertIn("far too high", text_of(CpuScaler(2.0**60), steps=60))
        below = text_of(CpuScaler(2.0**10), lambda y: y.square().sum() * 2.0**44, 40, 1e-15)
        self.assertRegex(below, r"skipped \d+ of 40 steps, whose gradients were not finite, as it does while it looks for its scale\. Even at "
                                r"2\^-\d+ they overflow: the loss itself is too large\.")
        raised, seen = CpuScaler(2.0**10), []
        text = text_of(raised, lambda y: y.square().sum() * (seen.append(0) or setattr(raised, "_scale", 2.0**60) or 1.0 if len(seen) == 4 else
                                                             seen.append(0) or 1.0), 40)
        self.assertIn("in a row: it was 2^60 in step 4, far too high: look for what set it so, as update(new_scale)", text)
        self.assertNotIn("does not cure", text)
        for steps in (13, 30):  # what overflowed first is gone at smaller scales
            both = text_of(CpuScaler(2.0**16), lambda y: ((y * 0).sqrt() + y).half().float().sum() * 8, steps)
            self.assertRegex(both, r"cured is step \d+: [^:]* in the gradient of sqrt inside of the loss, backward")
            self.assertIn("the scaler skipped the step. What to do: add an eps", both)
            self.assertNotIn("It began with", both)
        root = text_of(CpuScaler(2.0**10), lambda y: (y * 0).sqrt().sum(), 21)
        self.assertIn("It began with step 0: 6 Inf in the gradient of sqrt inside of the loss, backward", root)
        self.assertIn("the scaler skipped the step. A smaller loss scale does not cure that.", root)
        seen = []
        spike = text_of(CpuScaler(2.0**10), lambda y: y.square().sum() * (1e38 if seen.append(0) or len(seen) == 6 else 1.0))
        self.assertIn("skipped 1 of 14 steps, whose gradients were not finite, though steps before were taken at the same scale", spike)
        self.assertIn("of that step alone are so large: step 5: ", spike)
        for steps in (14, 40):
            self.assertNotIn("far too high", text_of(CpuScaler(2.0**24), steps=steps))
            self.assertNotIn("too soon", text_of(CpuScaler(2.0**24), steps=steps))

    def scaled(self, scaler, loss, steps, after=lambda step: None, every=1):
        """Runs a loop with a scaler, around outputs that pass FP16. loss(outputs, step); after(step) is called behind update()."""
        torch.manual_seed(0)
        model = nn.Linear(4, 2)
        w = fit_scaled(model, scaler, lambda step: loss(model(torch.ones(3, 4)).half(), step), steps, 1e-6, after, every=every)
        return w, " ".join(str(w.advise()).split())

    def test_a_floor_that_keeps_a_scaler_where_gradients_overflow_is_named(self):
        def text_of(loss=lambda y, step: y.float().square().sum() * 2e3, steps=14, floor=2.0**10, every=1):
            scaler = CpuScaler(2.0**13)
            return self.scaled(scaler, loss, steps, lambda step: setattr(scaler, "_scale", max(scaler._scale, floor)), every)[1]

        def turns(y, step):
            return y.float().square().sum() * (2e3 if step % 3 else 1e-3)

        def spikes(y, step):
            return y.float().square().sum() * (2e3 if step in (5, 17, 29, 41) else 1e-3)

        for many, options in ((10, {}), (41, {"steps": 45}), (41, {"steps": 45, "every": 7}), (16, {"loss": turns, "steps": 30}),
                              (40, {"loss": lambda y, step: y.float().square().sum() * (2e3 if step > 2 else 1e-3), "steps": 47})):
            text = text_of(**options)
            self.assertRegex(text, r"rom step \d on the loop set the loss scale back to 2\^10 after %d skipped steps, though gradients overflow at it; no "
                             r"smaller one was tried\. GradScaler halves it by itself: lower that floor, or remove it" % many, options)
            self.assertNotIn("does not cure", text)
            self.assertNotIn("while it looks", text)
        for text in (text_of(floor=1.0), text_of(lambda y, step: y.float().square().sum() * 1e-3), text_of(lambda y, step: (y.float() * 0).sqrt().sum(), 30),
                     text_of(floor=2.0**4), text_of(spikes, 60, 2.0**13), text_of(lambda y, step: y.float().square().sum() * 1e12, 30, 1.0)):
            self.assertNotIn("floor", text)
        self.assertIn("A smaller loss scale does not cure that.", text)
        self.assertIn("The run was not finite: step 5: ", mixed := text_of(lambda y, step: y.float().square().sum() * (math.nan if step == 5 else 2e3)))
        self.assertIn("From step 3 on the loop set the loss scale back to 2^10", mixed)

    def test_a_loop_that_raises_the_scale_of_a_scaler_after_skipped_steps_is_named(self):
        for start, change, words in ((20, lambda scale, step: scale * 4, "11 skipped steps the loop raised the loss scale, the first time after step 0 from 2^20 to 2^21"),
                                     (40, lambda scale, step: 2.0**40 if step % 3 == 2 else scale,
                                      "3 skipped steps the loop raised the loss scale, the first time after step 2 from 2^38 to 2^40")):
            scaler = CpuScaler(2.0**start)
            text = self.scaled(scaler, lambda y, step: y.float().square().sum(), 12, lambda step: setattr(scaler, "_scale", change(scaler._scale, step)))[1]
            self.assertIn(f"After {words}, as by update(new_scale) or a state that it loads, though gradients overflow. GradScaler halves it by itself", text)
            for words in ("no smaller scale", "does not cure", "it began at"):
                self.assertNotIn(words, text)

    def test_skipped_steps_are_counted_by_what_they_were_skipped_for(self):
        def loss(y, step):
            return (y * (math.nan if step in (2, 3, 6) else 1.0)).square().float().sum() * (2e3 if step == 0 else 1e-3)

        text = self.scaled(CpuScaler(2.0**13), loss, 8)[1]
        self.assertIn("The run was not finite: step 2: ", text)
        self.assertIn("The scaler skipped 4 of 8 steps, whose gradients were not finite: steps 2 to 3 and 6 for what is told above, and step 0 as it "
                      "does while it looks for its scale.", text)

    def test_a_loss_that_is_inf_in_every_step_is_not_why_those_at_the_largest_scales_were_skipped(self):
        def relative(y, step):
            return ((y * 600).square().sum() / (y.detach() * 600).square().sum()).float() + y.float().square().sum() * 1e-3

        w, text = self.scaled(CpuScaler(2.0**16), relative, 8)
        self.assertTrue(text.startswith("The loss alone was not finite"), text)
        self.assertIn("The scaler skipped 1 of 8 steps, whose gradients were not finite, as it does while it looks for its scale.", text)
        self.assertNotIn("The run was not finite", text)
        self.assertEqual(w.advise().loss_scale["recommended_log2"], 15)
        self.assertIn("At 2^16 gradients of the run were not finite (step 0): none above half of that is recommended.", text)

    def test_a_loss_scale_of_the_loops_own_that_became_inf_is_not_to_be_halved(self):
        torch.manual_seed(0)
        model, scale = nn.Linear(4, 2), torch.tensor(2.0**120)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        with warnings.catch_warnings(record=True), binade.torch.watch(model, optimizer, every=1) as w:
            for _ in range(14):
                optimizer.zero_grad()
                ((model(torch.ones(3, 4)).square().mean() + 2) * scale).backward()
                finite = all(bool(p.grad.isfinite().all()) for p in model.parameters())
                if finite:
                    for p in model.parameters():
                        p.grad.div_(scale)
                    optimizer.step()
                scale = scale * (2 if finite else 0.5)
        text = " ".join(str(w.advise()).split())
        self.assertTrue(text.startswith("The loop's own loss scale is the cause: it is Inf from step 8 on, since it grew from 2^120 without a bound"), text)
        self.assertIn("the loop left out all 6 steps from then on, which trained nothing; up to 2^127 they were finite. To halve it does not bring it "
                      "back, since half of Inf is Inf: bound it, at 2^24 for instance", text)
        for words in ("Halve it", "without lowering", "the run trains"):
            self.assertNotIn(words, text + str(w.report()))

    def test_scales_that_stand_still_on_purpose_are_no_mistakes(self):
        plain = Loop(False)
        plain.options["loss_scale"] = 1024.0
        plain.loss = lambda: plain.model(plain.x).square().mean() * 1024
        w = plain.run("model_zero_grad plain_backward divide:1024 plain_step", 5)
        fixed = Loop(True)
        fixed.scaler = fixed.options["scaler"] = binade.torch.LossScaler(growth_interval=10**9)
        for watched in (w, self.by_hand(update="update_to_the_same"), self.by_hand(steps=2), self.by_hand("static:4096"),
                        fixed.run("zero_grad backward step update", 5)):
            self.assertEqual((watched.mistakes, [note for note in watched.notes if "update()" in note]), ([], []))

    def test_clipping_that_makes_zeros_of_all_gradients_is_named(self):
        for clip, found in ((lambda p: clip_grad_norm_(p, 0.0), True), (lambda p: clip_grad_norm_(list(p), max_norm=0), True),
                            (lambda p: nn.utils.clip_grad_value_(p, 0), True), (lambda p: clip_grad_norm_(p, 1e-60), True),
                            (lambda p: clip_grad_norm_(p, 1e-9), False), (lambda p: clip_grad_norm_(p, 1.0), False)):
            model = nn.Linear(4, 2)
            w = fit(model, lambda: sum(p.float().sum() for p in model.parameters()), between=lambda: clip(model.parameters()))
            self.assertEqual([(one.mistake, one.step, one.optimizer) for one in w.mistakes], [("clip_to_zero", 0, "SGD")] * found)

    def test_what_is_so_in_many_steps_is_noted_once(self):
        loop = Loop(False)
        loop.options["loss_scale"] = lambda: float("inf")
        w = loop.run("zero_grad plain_backward plain_step", 6)
        self.assertEqual([note for note in w.notes if "divides" in note],
                         ["step 0: a loss scale of inf divides nothing; so in 2 more, up to step 4"])


if __name__ == "__main__":
    main()
