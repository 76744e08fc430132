# SPDX-License-Identifier: Apache-2.0
#
# binade.torch.watch on the forward and backward passes that people write: each kind by itself, on models of two or three
# layers, against tensors that the loop hands over itself (watch_oracle.py). It runs in the interpreter that has torch (Debian's
# python3-torch). SKIP without it.
# watch_loops_test.py BINADE
import contextlib
import dataclasses
import math
import sys
import warnings

try:
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from cli_case import CliCase, main
from watch_oracle import Mlp, batches, every_parameter, judge, passes, plain, sgd, through
from watch_runs import Calls


class Passes(CliCase):
    """What a step's forward and backward passes may be."""

    def test_micro_batches_are_summed_in_gradients_and_together_in_activations(self):
        dump, _ = judge(self, plain(lambda _: Mlp(), batches(3, 4, 5, 4), passes=lambda loop, model, step: passes(loop, model, *step)))
        self.assertEqual((dump.arrays[2, "fc1", "act"].size, dump.arrays[2, "fc1", "dW"].size), (4 * 5 * 6, 24))

    def test_tied_weights_are_counted_once_under_the_first_name(self):
        def tied(_):
            model = Calls(lambda self, x, see: see("head", self.head(see("emb", self.emb(x)))), emb=nn.Embedding(7, 4), head=nn.Linear(4, 7, bias=False))
            model.head.weight = model.emb.weight
            return model

        dump, _ = judge(self, plain(tied, torch.arange(24).reshape(4, 6) % 7))
        self.assertEqual({layer for _, layer, role in dump.arrays if role == "dW"}, {"emb"})

    def test_a_shared_module_and_one_called_twice_are_counted_in_all_calls(self):
        def forward(self, x, see):
            for layer in (self.fc, self.fc, self.again):
                x = see("fc", layer(x)).relu()
            return see("out", self.out(x))

        dump, _ = judge(self, plain(lambda _: Calls(forward, fc=(fc := nn.Linear(4, 4)), again=fc, out=nn.Linear(4, 2)), batches(3, 5, 4)))
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

    def test_what_hooks_keep_of_a_loss_is_left_alone(self):
        """As a checkpoint around the loss, whose forward pass would run again, and a store that gives each tensor once."""
        def trained(watches, loss_of, every=1):
            torch.manual_seed(0)
            model = torch.nn.Linear(4, 3)
            optimizer, calls = torch.optim.SGD(model.parameters(), lr=0.1), []
            with binade.torch.watch(model, optimizer, every=every) if watches else contextlib.nullcontext():
                for step in range(3):
                    x, mask = torch.randn(8, 4), (torch.rand(8) > 0.3).float() * (math.nan if step == 2 else 1.0)

                    def loss(y):
                        calls.append(step)
                        return (torch.nn.functional.cross_entropy(y, torch.arange(8) % 3, reduction="none") * mask).sum() / mask.sum()

                    optimizer.zero_grad()
                    loss_of(loss, model(x)).backward()
                    optimizer.step()
            return calls

        def checkpointed(loss, y):
            return checkpoint(loss, y, use_reentrant=False)

        def stored(loss, y):
            store = []
            with torch.autograd.graph.saved_tensors_hooks(lambda x: store.append(x) or len(store) - 1, lambda at: (store[at], store.__setitem__(at, None))[0]):
                return loss(y)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for every in (1, 50):
                self.assertEqual(trained(True, checkpointed, every), trained(False, checkpointed))
                self.assertEqual(trained(True, stored, every), [0, 1, 2])

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
        def forward(self, x, see):
            h = self.same(see("fc1", self.fc1(x)))
            h = h * 3 if self.by_hand else h.mul_(3)
            return see("fc2", self.fc2(see("other", self.other(h))))

        dump, _ = judge(self, plain(lambda loop: Calls(forward, fc1=nn.Linear(4, 6), same=nn.Identity(), other=nn.Identity(), fc2=nn.Linear(6, 3),
                                                       by_hand=loop.by_hand), batches(3, 5, 4)))
        self.assertEqual({layer for _, layer, role in dump.arrays if role == "dAct"}, {"fc1", "other", "fc2"})

    def test_a_module_that_gives_its_parameter(self):
        def model(loop):
            prompt = Calls(lambda self: self.weight.clone() if loop.by_hand else self.weight, weight=nn.Parameter(torch.randn(4)))
            return Calls(lambda self, x, see: see("fc", self.fc(x + see("prompt", self.prompt()))), prompt=prompt, fc=nn.Linear(4, 3))

        dump, _ = judge(self, plain(model, batches(4, 5, 4)))
        self.assertEqual(dump.arrays[3, "prompt", "dAct"].size, 4)

    def test_names_have_no_prefix_of_a_wrapper(self):
        dump, _ = judge(self, plain(lambda _: Mlp(), batches(2, 5, 4), wrap=nn.DataParallel))
        self.assertIn((0, "fc1", "dAct"), dump.arrays)

    def test_a_model_that_is_one_layer_has_its_name(self):
        def seen(loop, model, x):
            return passes(loop, lambda x, see: see("Linear", model(x)), x)

        judge(self, plain(lambda _: nn.Linear(4, 3), batches(2, 5, 4), passes=seen, parts={"weight": [("Linear", lambda x: x)]}))


class Gradients(CliCase):
    """What gradients may be."""

    def test_parameters_without_gradients_have_weights_alone(self):
        dump, _ = judge(self, plain(lambda _: Calls(lambda self, x, see: see("frozen", self.frozen(see("used", self.used(x)))), used=nn.Linear(4, 4),
                                                    unused=nn.Linear(4, 3), frozen=nn.Linear(4, 3).requires_grad_(False)), batches(3, 5, 4)))
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

        def seen(loop, model, x):
            return passes(loop, lambda x, see: see("Sometimes", model(x, see)), x)

        for to_none in (True, False):
            with self.subTest(set_to_none=to_none):
                dump, _ = judge(self, plain(lambda _: Sometimes(), batches(4, 5, 4), passes=seen, clear={"set_to_none": to_none},
                                            optimize=lambda model: torch.optim.Adam(model.parameters(), lr=1e-2)))
                self.assertEqual((1, "extra", "dW") in dump.arrays, not to_none)

    def test_clipped_gradients_are_counted_as_the_optimizer_gets_them(self):
        def clipped(loop, model, x):
            loss = passes(loop, model, 30 * x)
            nn.utils.clip_grad_norm_(model.parameters(), 0.01)
            nn.utils.clip_grad_value_(model.parameters(), 0.001)
            return loss

        dump, _ = judge(self, plain(lambda _: Mlp(), batches(3, 5, 4), passes=clipped))
        self.assertEqual(np.abs(dump.arrays[0, "fc1", "dW"]).max(), np.float32(0.001))

    def test_gradients_of_any_strides(self):
        strides = set()

        def strided(loop, model, x):
            out = model(x, loop.see)
            loss = out.sum()
            out.register_hook(lambda g: strides.add(g.stride()))
            loss.backward()
            loop.gradients()
            model.fc1.weight.grad = model.fc1.weight.grad.t().contiguous().t()
            model.fc2.weight.grad = model.fc2.weight.grad[:, ::2].repeat_interleave(2, 1)[:, :5]
            model.fc2.bias.grad = torch.tensor(0.25).expand(3)
            return loss

        judge(self, plain(lambda _: Calls(lambda self, x, see: see("fc2", self.fc2(see("turned", self.turned(see("fc1", self.fc1(x)))))),
                                          fc1=nn.Linear(4, 5), turned=Calls(lambda _, x: x.t()), fc2=nn.Linear(5, 3)),
                          batches(3, 5, 4), passes=strided, clear={"set_to_none": True}))
        self.assertEqual(strides, {(0, 0)})

    def test_gradients_of_a_channels_last_model(self):
        def forward(self, x, see):
            x = see("conv", self.conv(x.to(memory_format=torch.channels_last)))
            return see("fc", self.fc(see("flatten", self.flatten(x))))

        judge(self, plain(lambda _: Calls(forward, conv=nn.Conv2d(3, 4, 3), flatten=nn.Flatten(), fc=nn.Linear(16, 2)).to(
            memory_format=torch.channels_last), batches(3, 2, 3, 4, 4)))

    def test_sparse_gradients_are_counted_by_the_values_of_their_coalesced_form(self):
        def train(loop, watching):
            model = Calls(lambda self, x, see: see("fc", self.fc(see("emb", self.emb(x)))), emb=nn.Embedding(9, 4, sparse=True), fc=nn.Linear(4, 2))
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

    def test_sparse_gradients_of_several_layers_in_one_parameter_are_told_apart(self):
        torch.manual_seed(0)
        model, x = nn.MultiheadAttention(6, 2), torch.randn(5, 1, 6)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for to_sparse in (lambda g: g.to_sparse(), lambda g: g.to_sparse(1)):
            with binade.torch.watch(model, optimizer, every=1) as w:
                optimizer.zero_grad()
                model(x, x, x)[0].square().sum().backward()
                dense = model.in_proj_weight.grad.clone()
                model.in_proj_weight.grad = to_sparse(model.in_proj_weight.grad)
                optimizer.step()
            for layer, rows in zip("qkv", dense.split(6)):
                nonzero = int(torch.count_nonzero(rows))
                summary = w.summary(layer, "dW")
                self.assertEqual((summary.nonzero, summary.largest), (nonzero, float(rows.abs().max())))
            self.assertEqual([note.partition(" of M")[0] for note in w.notes], ["not counted: zeros of the gradients"])


if __name__ == "__main__":
    main()
