# SPDX-License-Identifier: Apache-2.0
#
# binade.torch.watch on the steps of a loop: where they end, which are watched, how they are merged, what is kept of a step that
# was interrupted; against tensors that the loop hands over itself (watch_oracle.py). It runs in the interpreter that has torch
# (Debian's python3-torch). SKIP without it.
# watch_steps_test.py BINADE
import copy
import gc
import io
import pickle
import sys
import warnings
from contextlib import contextmanager, nullcontext

try:
    import numpy as np
    import torch

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from cli_case import CliCase, main
from watch_oracle import (
    Dump, Loop, Mlp, batches, check, check_sums, every_parameter, hooks, judge, passes, plain, sgd, watching)


def unwatched(*_, **__):
    return nullcontext()


class Steps(CliCase):
    def test_every_nth_step_is_watched_from_the_first(self):
        for every in (1, 2, 3, 7):
            with self.subTest(every):
                dump, w = judge(self, plain(lambda _: Mlp(), batches(7, 5, 4)), every=every)
                self.assertEqual(sorted({step for step, _, _ in dump.arrays}), list(range(0, 7, every)))
                self.assertEqual([one.first for one in w.windows], list(range(0, 7, every)))

    def cadence(self, is_due):
        """Two optimizers, the second of which steps where it is due; the loop says where a step ends."""
        def train(loop, watching):
            model = Mlp()
            first, second = sgd(model.fc1), torch.optim.Adam(model.fc2.parameters())
            with watching(model, [first, second]) as w:
                for index, x in enumerate(batches(6, 5, 4)):
                    loss = passes(loop, model, x)
                    for optimizer in [first, second] if is_due(index) else [first]:
                        loop.step(optimizer, every_parameter(model))
                        optimizer.zero_grad()
                    loop.end(model, first, second, loss)
                    if w:
                        w.step()
        return train

    def test_optimizers_of_different_cadence(self):
        dump, w = judge(self, self.cadence(lambda index: index % 2 == 1))
        self.assertEqual({step for step, layer, role in dump.arrays if (layer, role) == ("fc2", "dW")}, {1, 3, 5})
        self.assertEqual(len(w.windows), 6)

    def test_optimizers_of_different_cadence_that_all_step_at_first(self):
        dump, w = judge(self, self.cadence(lambda index: index % 2 == 0))
        self.assertEqual({step for step, layer, role in dump.arrays if (layer, role) == ("fc2", "dW")}, {0, 2, 4})
        self.assertEqual(len(w.windows), 6)

    def test_a_step_ends_when_all_optimizers_have_stepped(self):
        def train(loop, watching):
            model = Mlp()
            optimizers = [sgd(model.fc1), sgd(model.fc2)]
            with watching(model, also=optimizers):
                for index, x in enumerate(batches(4, 5, 4)):
                    loss = passes(loop, model, x)
                    for optimizer in optimizers[::1 if index % 2 else -1]:
                        loop.step(optimizer, every_parameter(model))
                        optimizer.zero_grad()
                    loop.end(model, *optimizers, loss)

        judge(self, train)

    def test_an_optimizer_that_is_made_in_the_loop_is_found(self):
        def train(loop, watching):
            model, optimizer = Mlp(), None
            with watching(model):
                for x in batches(3, 5, 4):
                    optimizer = optimizer or sgd(model)
                    optimizer.zero_grad()
                    loss = passes(loop, model, x)
                    loop.step(optimizer, every_parameter(model))
                    loop.end(model, optimizer, loss)
            self.assertNotIn("step", vars(optimizer))

        judge(self, train)

    def test_an_exception_passes_and_leaves_what_was_finished(self):
        class Stop(Exception):
            pass

        def between(loop, model, optimizer, x):
            passes(loop, model, x)
            raise Stop

        def in_forward(loop, model, optimizer, x):
            model.fc2(model.fc1(x)[:, 1:])  # of another width than fc2 takes

        def in_step(loop, model, optimizer, x):
            passes(loop, model, x)
            optimizer.param_groups[0]["lr"] = "none"
            optimizer.step()

        for broken, kind in ((between, Stop), (in_forward, RuntimeError), (in_step, Exception)):
            def train(loop, watching):
                model = Mlp()
                optimizer = sgd(model)
                passed = False
                try:
                    with watching(model, optimizer):
                        for x in batches(3, 5, 4):
                            optimizer.zero_grad()
                            loss = passes(loop, model, x)
                            loop.step(optimizer, every_parameter(model))
                            loop.end(model, optimizer, loss)
                        broken(loop, model, optimizer, x)
                except kind:
                    passed = True
                self.assertTrue(passed)
                optimizer.param_groups[0]["lr"] = 0.1
                loss = passes(Loop(), model, x)
                optimizer.step()
                Loop.end(loop, model, optimizer, loss)  # goes on unwatched

            with self.subTest(broken.__name__):
                dump, w = judge(self, train)
                self.assertEqual([(one.first, one.last) for one in w.windows], [(0, 0), (1, 1), (2, 2)])
                check_sums(self, w.report(), dump.arrays)

    def test_few_of_the_outputs_of_a_model_that_is_called_often_are_kept(self):
        model = torch.nn.Linear(3, 5)
        with binade.torch.watch(model, torch.optim.SGD(model.parameters(), lr=0.1), every=50) as w:
            for _ in range(4):
                model.zero_grad()
                loss = sum(model(torch.ones(7, 3)).sum() for _ in range(60))  # whose graph keeps none of them
                kept = sum(type(x) is torch.Tensor and x.shape == (7, 5) for x in gc.get_objects())
                loss.backward()
                w._optimizers[0].step()
        self.assertLess(kept, 20)

    def test_schedules_raise_no_warning(self):
        for inside in (False, True):
            model = Mlp()
            optimizer = sgd(model)

            def schedules():
                return [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5),
                        torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (step + 1))]

            with self.subTest(inside=inside), warnings.catch_warnings():
                warnings.simplefilter("error")
                before = None if inside else schedules()
                with binade.torch.watch(model, optimizer, every=1) as w:
                    mine = schedules() if inside else before
                    for x in batches(5, 5, 4):
                        optimizer.zero_grad()
                        passes(Loop(), model, x)
                        optimizer.step()
                        for one in mine:
                            one.step()
                seen = w.summaries()
                self.assertEqual({step for step, _, _ in seen}, set(range(5)))
                passes(Loop(), model, x)
                optimizer.step()
                for one in mine:
                    one.step()
                self.assertEqual({key: s.to_bytes() for key, s in w.summaries().items()},
                                 {key: s.to_bytes() for key, s in seen.items()})


class Watches(CliCase):
    def test_nested_watches_of_different_models(self):
        def train(loops, watched):
            torch.manual_seed(1)
            models = [Mlp(), Mlp()]
            optimizers = [sgd(model) for model in models]
            with watched(models[0], optimizers[0], every=1) as one, watched(models[1], optimizers[1], every=2) as two:
                for index, x in enumerate(batches(7, 5, 4)):
                    for loop, model, optimizer in list(zip(loops, models, optimizers))[:1 if index % 3 == 2 else 2]:
                        optimizer.zero_grad()
                        loss = passes(loop, model, x)
                        loop.step(optimizer, every_parameter(model))
                        loop.end(model, optimizer, loss)
            return one, two

        dumps, loops = [Dump(1), Dump(2)], [Loop(), Loop()]
        train(dumps, unwatched)
        watches = train(loops, lambda *arguments, **options: watching(self, *arguments, **options))
        for dump, loop, w in zip(dumps, loops, watches):
            self.assertTrue(dump.bits == loop.bits)
            check(self, w.summaries(), dump.arrays)

    def test_twice_is_the_same(self):
        train = plain(lambda _: Mlp(), batches(4, 5, 4))
        (_, one), (_, two) = judge(self, train), judge(self, train)
        self.assertEqual(one.summaries(), two.summaries())
        self.assertEqual(one.report().to_dict(), two.report().to_dict())

    def test_one_after_the_other_on_the_same_model(self):
        def train(loops, watched):
            torch.manual_seed(1)
            model = Mlp()
            optimizer = sgd(model)
            out = []
            for loop in loops:
                with watched(model, optimizer, every=1) as w:
                    for x in batches(3, 5, 4):
                        optimizer.zero_grad()
                        loss = passes(loop, model, x)
                        loop.step(optimizer, every_parameter(model))
                        loop.end(model, optimizer, loss)
                out.append(w)
            return out

        dumps = [Dump(), Dump()]
        train(dumps, unwatched)
        for dump, w in zip(dumps, train([Loop(), Loop()], lambda *arguments, **options: watching(self, *arguments, **options))):
            check(self, w.summaries(), dump.arrays)


class Documents(CliCase):
    def test_what_is_saved_is_what_is_reported(self):
        dump, w = judge(self, plain(lambda _: Mlp(), batches(6, 5, 4)), every=2)
        w.save(self.path("run.binade"))
        saved = binade.report(self.path("run.binade"))
        check_sums(self, saved, dump.arrays)
        shapes = {(t["time"]["layer"], t["time"]["role"]): t["shape"] for t in saved.tensors}
        self.assertEqual((shapes["fc1", "dW"], shapes["fc1", "weight"]), ([6, 4], [6, 4]))
        self.assertEqual([t["binades"] for t in saved.tensors], [t["binades"] for t in w.report().tensors])
        self.good("report", self.path("run.binade"))

    def test_errors_are_summed_where_they_are_asked_for(self):
        train, watches = plain(lambda _: Mlp(), batches(3, 5, 4)), []

        @contextmanager
        def watched(*arguments):
            with watching(self, *arguments, every=1, sqnr=True) as w:
                watches.append(w)
                yield w

        dump, _ = judge(self, train)
        torch.manual_seed(1)
        train(Loop(), watched)
        self.assertEqual(watches[0].summaries(), {key: binade.RangeSummary().add(x) for key, x in dump.arrays.items()})

    def test_copies_and_checkpoints_in_the_loop_are_those_of_any_loop(self):
        def train(loop, watching):
            model = Mlp()
            optimizer = sgd(model)
            with watching(model, optimizer):
                for x in batches(3, 5, 4):
                    optimizer.zero_grad()
                    loss = passes(loop, model, x)
                    loop.step(optimizer, every_parameter(model))
                    average, stored = copy.deepcopy(model), io.BytesIO()
                    torch.save({"model": model, "state": model.state_dict(), "optimizer": optimizer.state_dict()}, stored)
                    loop.end(model, optimizer, loss, *average.state_dict().values())
                    other, kept = copy.deepcopy(optimizer), pickle.dumps(optimizer)
                    passes(Loop(), average, x)
            bare = hooks(Mlp())
            for one in (average, torch.load(io.BytesIO(stored.getvalue()), **whole)["model"]):
                self.assertEqual(hooks(one), bare)
                passes(Loop(), one, x)
            for one in (other, pickle.loads(kept)):
                self.assertNotIn("step", vars(one))
                one.step()

        whole = {} if torch.__version__ < "1.14" else {"weights_only": False}
        judge(self, train)


class Windows(CliCase):
    def test_neighbours_are_merged_once_there_are_as_many_as_wanted(self):
        for most, every, wanted in ((4, 1, [(0, 15, 16), (16, 31, 16), (32, 39, 8)]),
                                    (4, 2, [(0, 30, 16), (32, 62, 16), (64, 78, 8)]),
                                    (3, 1, [(0, 15, 16), (16, 31, 16), (32, 39, 8)])):
            train, watches = plain(lambda _: Mlp(), batches(40 * every, 5, 4)), []

            @contextmanager
            def watched(*arguments):
                with watching(self, *arguments, every=every, windows=most) as w:
                    watches.append(w)
                    yield w

            with self.subTest(every=every, windows=most):
                dump, single = judge(self, train, every=every)
                self.assertEqual(len(single.windows), 40)
                torch.manual_seed(1)
                train(Loop(), watched)
                (w,) = watches
                self.assertEqual([(one.first, one.last, one.steps) for one in w.windows], wanted)
                arrays, summaries = {}, {}
                for first, last, steps in wanted:
                    within = range(first, last + 1, every)
                    self.assertEqual(len(within), steps)
                    for layer, role in {key[1:] for key in dump.arrays}:
                        arrays[first, layer, role] = np.concatenate([dump.arrays[step, layer, role] for step in within])
                        summaries[first, layer, role] = sum(single.summaries()[step, layer, role] for step in within)
                check(self, w.summaries(), arrays)
                self.assertEqual(w.summaries(), summaries)
                check_sums(self, w.report(), arrays)


if __name__ == "__main__":
    main()
