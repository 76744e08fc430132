# SPDX-License-Identifier: Apache-2.0
#
# binade.torch.watch on the forward and backward passes that people write, and on the order of their calls: each kind by itself, on models of two or three
# layers, against tensors that the loop hands over itself (watch_oracle.py). It runs in the interpreter that has torch (Debian's
# python3-torch). SKIP without it.
# watch_loops_test.py BINADE
import dataclasses
import sys
import warnings

try:
    import numpy as np
    import torch
    from torch import nn
    from torch.nn.utils import clip_grad_norm_
    from torch.utils.checkpoint import checkpoint

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from cli_case import CliCase, main
from watch_oracle import Mlp, batches, every_parameter, judge, passes, plain, sgd, through


class Passes(CliCase):
    """What a step's forward and backward passes may be."""

    def test_micro_batches_are_summed_in_gradients_and_together_in_activations(self):
        def train(loop, watching):
            model = Mlp()
            optimizer = sgd(model)
            with watching(model, optimizer):
                for step in batches(3, 4, 5, 4):
                    loss = passes(loop, model, *step)
                    loop.step(optimizer, every_parameter(model))
                    optimizer.zero_grad()
                    loop.end(model, optimizer, loss)

        dump, _ = judge(self, train)
        self.assertEqual((dump.arrays[2, "fc1", "act"].size, dump.arrays[2, "fc1", "dW"].size), (4 * 5 * 6, 24))

    def test_tied_weights_are_counted_once_under_the_first_name(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.emb, self.head = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
                self.head.weight = self.emb.weight

            def forward(self, x, see):
                return see("head", self.head(see("emb", self.emb(x))))

        tokens = torch.arange(24).reshape(4, 6) % 7
        dump, _ = judge(self, plain(lambda _: Tied(), tokens))
        self.assertEqual({layer for _, layer, role in dump.arrays if role == "dW"}, {"emb"})

    def test_a_shared_module_and_one_called_twice_are_counted_in_all_calls(self):
        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)
                self.again = self.fc
                self.out = nn.Linear(4, 2)

            def forward(self, x, see):
                for layer in (self.fc, self.fc, self.again):
                    x = see("fc", layer(x)).relu()
                return see("out", self.out(x))

        dump, _ = judge(self, plain(lambda _: Twice(), batches(3, 5, 4)))
        self.assertEqual(dump.arrays[0, "fc", "act"].size, 3 * 20)

    def test_recomputed_activations_are_counted_once(self):
        class Checkpointed(nn.Module):
            def __init__(self, **how):
                super().__init__()
                self.fc1, self.how = nn.Linear(4, 6), how
                self.body = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Dropout(0.3), nn.Linear(6, 6))
                self.fc2 = nn.Linear(6, 3)

            def forward(self, x, see):
                x = see("fc1", self.fc1(x))
                part = checkpoint(self.body, x, **self.how) if self.how else through(self.body, "body", x, see)
                return see("fc2", self.fc2(x + part))

        for reentrant in (True, False):
            with self.subTest(use_reentrant=reentrant):
                dump, _ = judge(self, plain(
                    lambda loop: Checkpointed() if loop.by_hand else Checkpointed(use_reentrant=reentrant), batches(3, 5, 4)))
                self.assertIn((2, "body.3", "dAct"), dump.arrays)

    def test_evaluation_in_the_loop_is_not_counted(self):
        def train(loop, watching):
            model = Mlp()
            optimizer = sgd(model)
            with watching(model, optimizer):
                for x in batches(3, 5, 4):
                    optimizer.zero_grad()
                    with torch.no_grad():
                        model(x)
                    loss = passes(loop, model, x)
                    with torch.inference_mode():
                        model(x)
                    loop.step(optimizer, every_parameter(model))
                    with torch.no_grad():
                        model(x)
                    loop.end(model, optimizer, loss)

        judge(self, train)

    def test_several_outputs_have_names_of_their_own(self):
        @dataclasses.dataclass
        class Pair:
            left: torch.Tensor
            right: torch.Tensor

        class Splits(nn.Module):
            """By one operation; by hand by two, as retain_grad() of torch 1.13 wants a gradient of each output."""

            def __init__(self, how, by_hand):
                super().__init__()
                self.how, self.by_hand = how, by_hand

            def forward(self, x):
                return self.how(x[:, :3], x[:, 3:]) if self.by_hand else self.how(*x.chunk(2, 1))

        class Model(nn.Module):
            def __init__(self, how, by_hand, names, get):
                super().__init__()
                self.fc1, self.splits, self.fc2 = nn.Linear(4, 6), Splits(how, by_hand), nn.Linear(3, 2)
                self.names, self.get = names, get

            def forward(self, x, see):
                parts = self.get(self.splits(see("fc1", self.fc1(x))))
                left, _ = (see(name, part) for name, part in zip(self.names, parts))
                return see("fc2", self.fc2(left))

        # The right half takes no part in the loss: it has no gradient, though its node in the graph has one.
        for how, names, get in [(lambda a, b: (a, b), ("splits", "splits.1"), tuple),
                                (lambda a, b: [a, b], ("splits", "splits.1"), tuple),
                                (lambda a, b: {"left": a, "right": b}, ("splits.left", "splits.right"), lambda x: x.values()),
                                (Pair, ("splits.left", "splits.right"), lambda x: (x.left, x.right))]:
            with self.subTest(names, how=how):
                dump, _ = judge(self, plain(lambda loop: Model(how, loop.by_hand, names, get), batches(2, 5, 4)))
                self.assertIn((0, names[1], "act"), dump.arrays)
                self.assertNotIn((0, names[1], "dAct"), dump.arrays)

    def test_an_output_counts_again_once_it_was_written_to(self):
        class Written(nn.Module):
            def __init__(self, by_hand):
                super().__init__()
                self.fc1, self.same, self.other, self.fc2 = nn.Linear(4, 6), nn.Identity(), nn.Identity(), nn.Linear(6, 3)
                self.by_hand = by_hand

            def forward(self, x, see):
                h = self.same(see("fc1", self.fc1(x)))
                h = h * 3 if self.by_hand else h.mul_(3)
                return see("fc2", self.fc2(see("other", self.other(h))))

        dump, _ = judge(self, plain(lambda loop: Written(loop.by_hand), batches(3, 5, 4)))
        self.assertEqual({layer for _, layer, role in dump.arrays if role == "dAct"}, {"fc1", "other", "fc2"})

    def test_a_module_that_gives_its_parameter(self):
        class Prompt(nn.Module):
            def __init__(self, by_hand):
                super().__init__()
                self.weight, self.by_hand = nn.Parameter(torch.randn(4)), by_hand

            def forward(self):
                return self.weight.clone() if self.by_hand else self.weight

        class Model(nn.Module):
            def __init__(self, by_hand):
                super().__init__()
                self.prompt, self.fc = Prompt(by_hand), nn.Linear(4, 3)

            def forward(self, x, see):
                return see("fc", self.fc(x + see("prompt", self.prompt())))

        dump, _ = judge(self, plain(lambda loop: Model(loop.by_hand), batches(4, 5, 4)))
        self.assertEqual(dump.arrays[3, "prompt", "dAct"].size, 4)

    def test_names_have_no_prefix_of_a_wrapper(self):
        dump, _ = judge(self, plain(lambda _: Mlp(), batches(2, 5, 4), wrap=nn.DataParallel))
        self.assertIn((0, "fc1", "dAct"), dump.arrays)

    def test_a_model_that_is_one_layer_has_its_name(self):
        def train(loop, watching):
            model = nn.Linear(4, 3)
            optimizer = sgd(model)
            parameters = [("Linear", model.weight, lambda x: x), ("bias", model.bias, lambda x: x)]
            with watching(model, optimizer):
                for x in batches(2, 5, 4):
                    optimizer.zero_grad()
                    loss = loop.see("Linear", model(x)).square().mean()
                    loss.backward()
                    loop.gradients()
                    loop.step(optimizer, parameters)
                    loop.end(model, optimizer, loss)

        judge(self, train)


class Gradients(CliCase):
    """What gradients may be."""

    def test_parameters_without_gradients_have_weights_alone(self):
        class Partly(nn.Module):
            def __init__(self):
                super().__init__()
                self.used, self.unused, self.frozen = nn.Linear(4, 4), nn.Linear(4, 3), nn.Linear(4, 3)
                self.frozen.requires_grad_(False)

            def forward(self, x, see):
                return see("frozen", self.frozen(see("used", self.used(x))))

        dump, _ = judge(self, plain(lambda _: Partly(), batches(3, 5, 4)))
        self.assertEqual({layer for _, layer, role in dump.arrays if role == "dW"}, {"used", "used.bias"})

    def test_parameters_that_no_optimizer_holds_are_not_counted(self):
        dump, _ = judge(self, plain(lambda _: Mlp(), batches(3, 5, 4), optimize=lambda model: sgd(model.fc2)))
        self.assertEqual({layer for _, layer, role in dump.arrays if role == "weight"}, {"fc2", "fc2.bias"})

    def test_gradients_that_were_reset_to_zero_or_to_none(self):
        class Sometimes(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.extra, self.calls = nn.Linear(4, 3), nn.Linear(4, 3), 0

            def forward(self, x, see):
                self.calls += 1
                y = see("fc", self.fc(x))
                return y + see("extra", self.extra(x)) if self.calls % 2 else 2 * y

        for to_none in (True, False):
            def train(loop, watching):
                model = Sometimes()
                optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
                with watching(model, optimizer):
                    for x in batches(4, 5, 4):
                        loss = model(x, loop.see)
                        loss = loop.see("Sometimes", loss).square().mean()
                        loss.backward()
                        loop.gradients()
                        loop.step(optimizer, every_parameter(model))
                        optimizer.zero_grad(set_to_none=to_none)
                        loop.end(model, optimizer, loss)

            with self.subTest(set_to_none=to_none):
                dump, _ = judge(self, train)
                self.assertEqual((1, "extra", "dW") in dump.arrays, not to_none)

    def test_clipped_gradients_are_counted_as_the_optimizer_gets_them(self):
        def train(loop, watching):
            model = Mlp()
            optimizer = sgd(model)
            with watching(model, optimizer):
                for x in batches(3, 5, 4):
                    optimizer.zero_grad()
                    loss = passes(loop, model, 30 * x)
                    nn.utils.clip_grad_norm_(model.parameters(), 0.01)
                    nn.utils.clip_grad_value_(model.parameters(), 0.001)
                    loop.step(optimizer, every_parameter(model))
                    loop.end(model, optimizer, loss)

        dump, _ = judge(self, train)
        self.assertEqual(np.abs(dump.arrays[0, "fc1", "dW"]).max(), np.float32(0.001))

    def test_gradients_of_any_strides(self):
        class Turned(nn.Module):
            def forward(self, x):
                return x.t()

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc1, self.turned, self.fc2 = nn.Linear(4, 5), Turned(), nn.Linear(5, 3)

            def forward(self, x, see):
                return see("fc2", self.fc2(see("turned", self.turned(see("fc1", self.fc1(x))))))

        strides = set()

        def train(loop, watching):
            model = Model()
            optimizer = sgd(model)
            with watching(model, optimizer):
                for x in batches(3, 5, 4):
                    optimizer.zero_grad(set_to_none=True)
                    out = model(x, loop.see)
                    loss = out.sum()
                    out.register_hook(lambda g: strides.add(g.stride()))
                    loss.backward()
                    loop.gradients()
                    model.fc1.weight.grad = model.fc1.weight.grad.t().contiguous().t()
                    model.fc2.weight.grad = model.fc2.weight.grad[:, ::2].repeat_interleave(2, 1)[:, :5]
                    model.fc2.bias.grad = torch.tensor(0.25).expand(3)
                    loop.step(optimizer, every_parameter(model))
                    loop.end(model, optimizer, loss)

        judge(self, train)
        self.assertEqual(strides, {(0, 0)})

    def test_gradients_of_a_channels_last_model(self):
        class Convolution(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.flatten, self.fc = nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(16, 2)
                self.to(memory_format=torch.channels_last)

            def forward(self, x, see):
                x = see("conv", self.conv(x.to(memory_format=torch.channels_last)))
                return see("fc", self.fc(see("flatten", self.flatten(x))))

        judge(self, plain(lambda _: Convolution(), batches(3, 2, 3, 4, 4)))

    def test_sparse_gradients_are_counted_by_the_values_of_their_coalesced_form(self):
        class Sparse(nn.Module):
            def __init__(self):
                super().__init__()
                self.emb, self.fc = nn.Embedding(9, 4, sparse=True), nn.Linear(4, 2)

            def forward(self, x, see):
                return see("fc", self.fc(see("emb", self.emb(x))))

        def train(loop, watching):
            model = Sparse()
            optimizers = [torch.optim.SparseAdam(list(model.emb.parameters()), lr=0.1), sgd(model.fc)]
            with watching(model, optimizers):
                for tokens in torch.tensor([[[1, 1, 2], [2, 1, 5]], [[8, 3, 3], [3, 3, 0]]]):
                    loss = passes(loop, model, *tokens)  # as two micro-batches
                    for optimizer in optimizers:
                        loop.step(optimizer, every_parameter(model))
                        optimizer.zero_grad()
                    loop.end(model, *optimizers, loss)

        dump, _ = judge(self, train)
        self.assertEqual((dump.arrays[0, "emb", "dW"].size, dump.arrays[1, "emb", "dW"].size), (3 * 4, 3 * 4))


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

    def model_zero_grad(self):
        self.model.zero_grad()

    def clip(self, limit=1.0):
        clip_grad_norm_(self.model.parameters(), limit)

    def clip_value(self):
        nn.utils.clip_grad_value_(list(self.model.parameters()), clip_value=1.0)

    def clip_at_the_scale(self):
        self.clip(self.scaler.get_scale())

    def norm(self):
        self.clip(float("inf"))

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
            return getattr(self, name)(*map(int, n))
        for optimizer in [self.optimizers[int(n)]] if n else self.optimizers:
            if name in ("step", "unscale_"):
                getattr(self.scaler, name)(optimizer)
            else:
                getattr(optimizer, name.removeprefix("plain_"))()

    def run(self, words, steps=3):
        with warnings.catch_warnings(record=True) as self.warned:
            warnings.simplefilter("always")
            with binade.torch.watch(self.model, self.optimizers, **self.options) as w:
                for word in words.split() * steps:
                    try:
                        self.call(word)
                    except (RuntimeError, AssertionError):  # GradScaler's own
                        break
        return w


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
                      "zero_grad only:0 backward both only:1 plain_backward both step:0 update plain_step:1"):
            with self.subTest(words):
                self.assertEqual(Loop(True).run(words).mistakes, [])
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
                ("zero_grad backward step clip update", "clip_after_step", 1, both),
                ("zero_grad backward step", "missing_update", 1, both[:1]),
                ("zero_grad backward unscale_ unscale_ step update", "double_unscale", 0, both[:1]),
                ("zero_grad backward step unscale_ update", "unscale_after_step", 1, both[:1]),
                ("zero_grad backward step step update", "double_step", 1, both[:1]),
                ("backward zero_grad step update", "step_without_backward", 0, both[:1]),
                ("backward step zero_grad unscale_ update", "unscale_after_step", 1, both[:1]),
                ("scale zero_grad unscale_ step update", "unscale_without_backward", 0, both),
                ("zero_grad backward update", "update_without_step", 0, ("the loop",)),
                ("zero_grad backward unscale_ backward step update", "backward_after_unscale", 0, both),
                ("zero_grad backward step:0 update step:1", "unscale_after_update", 0, both[1:]),
                ("zero_grad backward step:0 update backward step:1 update", "backward_over_update", 0, both[1:]),
                ("backward step update", "backward_without_zero_grad", 1, both),
                ("zero_grad scale plain_backward step update", "backward_without_scale", 0, both),
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
                    self.assertIn(str(found[0]), " ".join(str(w.report()).split()))

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
                for one in (text, " ".join(w.notes), " ".join(str(w.report()).split())):
                    self.assertIn(words, one)
                self.assertEqual(([one.mistake for one in w.mistakes], w.windows[0].loss_scale), ([], 2.0**16))

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

    def by_hand(self, policy="torch", update=False, steps=5, divide=lambda x, scale: x.div_(scale)):
        loop = Loop(True)
        loop.scaler = loop.options["scaler"] = binade.torch.LossScaler(policy)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with binade.torch.watch(loop.model, loop.optimizers, **loop.options) as w:
                for step in range(steps):
                    loop.model.zero_grad()
                    for optimizer in loop.optimizers:
                        optimizer.zero_grad()
                    loop.backward()
                    for p in loop.model.parameters():
                        divide(p.grad, loop.scaler.get_scale())
                    loop.clip()
                    if step % 2 == 0:
                        for optimizer in loop.optimizers:
                            optimizer.step()
                    if update:
                        loop.scaler.update(loop.scaler.get_scale())
        return w

    def test_a_scale_that_is_divided_by_hand_and_never_updated_is_named(self):
        for divide in (lambda x, scale: x.div_(scale), lambda x, scale: x.data.div_(scale)):
            w = self.by_hand(divide=divide)
            self.assertEqual([(one.mistake, one.warning) for one in w.mistakes], [("missing_update", False)])
            words = "never called update(), though scale() of the scaler was used for 5 losses: the scale stays at 2^16"
            for text in (str(w.mistakes[0]), " ".join(w.notes), str(w.advise()), str(w.report())):
                self.assertIn(words, " ".join(text.split()))

    def test_scales_that_stand_still_on_purpose_are_no_mistakes(self):
        plain = Loop(False)
        plain.options["loss_scale"] = 1024.0
        with binade.torch.watch(plain.model, plain.optimizers, **plain.options) as w:
            for _ in range(5):
                plain.model.zero_grad()
                (plain.loss() * 1024).backward()
                for p in plain.model.parameters():
                    p.grad /= 1024
                for optimizer in plain.optimizers:
                    optimizer.step()
        fixed = Loop(True)
        fixed.scaler = fixed.options["scaler"] = binade.torch.LossScaler(growth_interval=10**9)
        for watched in (w, self.by_hand(update=True), self.by_hand(steps=2), self.by_hand("static:4096"),
                        fixed.run("zero_grad backward step update", 5)):
            self.assertEqual((watched.mistakes, [note for note in watched.notes if "update()" in note]), ([], []))

    def test_what_is_so_in_many_steps_is_noted_once(self):
        loop = Loop(False)
        loop.options["loss_scale"] = lambda: float("inf")
        w = loop.run("zero_grad plain_backward plain_step", 6)
        self.assertEqual([note for note in w.notes if "divides" in note],
                         ["step 0: a loss scale of inf divides nothing; so in 2 more, up to step 4"])


if __name__ == "__main__":
    main()
