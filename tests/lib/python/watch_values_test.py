# SPDX-License-Identifier: Apache-2.0
#
# binade.torch.watch on the values that tensors have: of every dtype, non-finite, and times a loss scale; against tensors that
# the loop hands over itself (watch_oracle.py). It runs in the interpreter that has torch (Debian's python3-torch). SKIP without it.
# watch_values_test.py BINADE
import math
import sys
import unittest

try:
    import numpy as np
    import torch
    from torch import nn
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from cli_case import CliCase, main
from watch_oracle import CpuScaler, Mlp, batches, every_parameter, judge, plain, sgd
from watch_runs import Calls


class Dtypes(CliCase):
    def test_parameters_of_every_dtype(self):
        def affine(dtype):
            """Of operations that torch 1.13 has for binary16 on the CPU."""
            return Calls(lambda self, x: x * self.weight + self.bias, weight=nn.Parameter(torch.randn(7).to(dtype)),
                         bias=nn.Parameter(torch.zeros(7, dtype=dtype)))

        def model(dtype):
            return Calls(lambda self, x, see: see("two", self.two(see("one", self.one(x)))), one=affine(dtype), two=affine(dtype))

        x = batches(3, 5, 7) * torch.exp2(torch.arange(7) * 2 - 9)
        for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
            with self.subTest(dtype):
                dump, _ = judge(self, plain(lambda _: model(dtype), x.to(dtype)))
                self.assertIn((2, "one.bias.momentum_buffer", "state"), dump.arrays)

    @unittest.skipUnless(hasattr(torch, "float8_e4m3fn"), "torch before 2.1 has no float8")
    def test_activations_of_8_bits(self):
        def model(dtype):
            return Calls(lambda self, x, see: see("fc2", self.fc2(see("cast", self.cast(see("fc1", self.fc1(x)))).float())),
                         fc1=nn.Linear(4, 6), cast=Calls(lambda _, x: x.to(dtype)), fc2=nn.Linear(6, 3))

        for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
            with self.subTest(dtype):
                dump, _ = judge(self, plain(lambda _: model(dtype), batches(3, 5, 4)))
                self.assertIn((0, "cast", "dAct"), dump.arrays)

    def test_zeros_infinities_and_nans_are_counted_as_such(self):
        bad = Calls(lambda _, x: x * torch.tensor([1.0, 0.0, -torch.inf, 1e-40, -1e30, torch.nan]))
        dump, w = judge(self, plain(lambda _: Calls(lambda self, x, see: see("bad", self.bad(see("fc1", self.fc1(x)))), fc1=nn.Linear(4, 6), bad=bad),
                                    batches(2, 5, 4)))
        bad = w.summaries()[0, "bad", "act"]
        self.assertEqual((bad.values, bad.zeros, bad.inf, bad.nan), (30, 5, 5, 5))


def scaled(make_scaler, *, bad=(), clipped=False, given=True):
    """A training with a scaler, whose loss is infinite in some steps. clipped: by its own unscale_(). given: to watch."""
    def train(loop, watching):
        model, scaler = Mlp(), make_scaler()
        optimizer, parameters = sgd(model), every_parameter(model)
        with watching(model, optimizer, scaler=scaler if given else "find", also=[scaler]):
            for step, x in enumerate(batches(5, 6, 4)):
                optimizer.zero_grad()
                loss = model(x, loop.see).square().mean() * (math.inf if step in bad else 1.0)
                scaler.scale(loss).backward()
                loop.gradients(scaler.get_scale())
                if clipped:
                    loop.unscale(scaler, optimizer, parameters)
                    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
                loop.step(optimizer, parameters, scaler)
                scaler.update()
                loop.end(model, optimizer, loss, torch.tensor(scaler.get_scale()))
    return train


class Scales(CliCase):
    def test_gradients_are_divided_by_the_scale_of_their_step(self):
        for init_scale in (2.0**16, 1000.0):
            with self.subTest(init_scale):
                judge(self, scaled(lambda: CpuScaler(init_scale, growth_interval=2)))

    def test_a_skipped_step_is_a_step(self):
        for init_scale in (2.0**16, 1000.0):
            for bad in ((0,), (2, 3)):
                with self.subTest(init_scale, bad=bad):
                    dump, _ = judge(self, scaled(lambda: CpuScaler(init_scale), bad=bad))
                    self.assertEqual({step for step, _, _ in dump.arrays}, set(range(5)))
                    self.assertFalse(np.isfinite(dump.arrays[bad[0], "fc1", "dW"]).any())
                    self.assertNotIn((bad[0], "fc1", "update"), dump.arrays)

    def test_gradients_as_they_are_in_the_loop(self):
        dump, _ = judge(self, scaled(lambda: CpuScaler(1000.0)), gradients="scaled")
        other, _ = judge(self, scaled(lambda: CpuScaler(1000.0)))
        self.assertEqual(set(dump.arrays), set(other.arrays))
        self.assertGreater(np.abs(dump.arrays[0, "fc1", "dW"]).max(), 900 * np.abs(other.arrays[0, "fc1", "dW"]).max())

    def test_both_beside_each_other(self):
        for init_scale in (2.0**16, 1000.0):
            with self.subTest(init_scale):
                dump, _ = judge(self, scaled(lambda: CpuScaler(init_scale), bad=(1,)), gradients="both", every=2)
                self.assertEqual({role for _, layer, role in dump.arrays if layer.endswith(" (scaled)")}, {"dAct", "dW"})

    def test_unscaled_and_clipped_by_the_loop(self):
        for kinds in ("unscaled", "scaled", "both"):
            with self.subTest(kinds):
                judge(self, scaled(lambda: CpuScaler(1000.0), bad=(3,), clipped=True), gradients=kinds)

    @unittest.skipUnless(hasattr(torch.amp, "GradScaler"), "torch before 2.3 has no GradScaler for the CPU")
    def test_torchs_own_scaler_given_and_found(self):
        for given in (True, False):
            for init_scale in (2.0**16, 1000.0):
                with self.subTest(init_scale, given=given):
                    judge(self, scaled(lambda: torch.amp.GradScaler("cpu", init_scale=init_scale, growth_interval=2), bad=(2,),
                                       given=given))

    def test_a_disabled_scaler_is_none(self):
        judge(self, scaled(lambda: torch.cuda.amp.GradScaler(enabled=False)))

    @unittest.skipUnless(hasattr(torch.amp, "GradScaler"), "torch before 2.3 has no GradScaler for the CPU")
    def test_a_scaler_that_scales_nothing_here_divides_nothing(self):
        elsewhere = torch.amp.GradScaler("cpu")
        judge(self, plain(lambda _: Mlp(), batches(3, 5, 4), scaler="find"))
        self.assertTrue(elsewhere.is_enabled())

    def test_a_scale_that_the_loop_keeps_itself(self):
        def scaled_by_hand(loop, model, x):
            loss = model(x, loop.see).square().mean()
            (512.0 * loss).backward()
            loop.gradients(512.0)
            for p in model.parameters():
                p.grad /= 512.0
            return loss

        judge(self, plain(lambda _: Mlp(), batches(3, 5, 4), passes=scaled_by_hand, loss_scale=512.0))


if __name__ == "__main__":
    main()
