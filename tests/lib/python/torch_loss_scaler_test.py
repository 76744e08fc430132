# SPDX-License-Identifier: Apache-2.0
#
# binade.torch.LossScaler: it gives the bits of torch.amp.GradScaler where torch has one for the CPU, and of its documented rules
# everywhere; the scales of every policy are those of the native engine, driven by hand; misuse, checkpoints, use together with
# watch. SKIP without torch.
#   torch_loss_scaler_test.py BINADE
import copy
import math
import pickle
import sys
import types
import warnings

try:
    import torch

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

import binade
import numpy as np
from cli_case import CliCase, main
from loss_scaler_oracle import Documented, parameter_of, train
from watch_oracle import CpuScaler
from watch_runs import watched

TORCHS = getattr(getattr(torch, "amp", None), "GradScaler", None)
torch.set_num_threads(1)  # of small tensors: threads would only wait for each other
POLICIES = [row for row in binade.loss_scalers() if row.name not in ("none", "adaptive")]
GROWING = {"init_scale": 2.0**14, "growth_factor": 1.7, "backoff_factor": 0.3, "growth_interval": 7}


class Scaling(CliCase):
    def same_run(self, got, wanted):
        self.assertEqual(got[0], wanted[0])
        for a, b in zip(got[1], wanted[1]):
            self.assertEqual(a.dtype, b.dtype)
            self.assertTrue(torch.equal(a.double(), b.double()) and not a.isnan().any())

    def torchs(self, **parameters):
        if TORCHS is None:
            self.skipTest(f"torch {torch.__version__} has no GradScaler for the CPU")
        return TORCHS("cpu", **parameters)

    def test_bits_are_those_of_the_documented_rules(self):
        for bfloat16 in (False, True):
            got = train(binade.torch.LossScaler("dynamic", **GROWING), 300, bfloat16=bfloat16)
            self.same_run(got, train(Documented(**GROWING), 300, bfloat16=bfloat16))
            scales = {scale for scale, _, _ in got[0]}
            skipped = sum(not all(stepped) for _, _, stepped in got[0])
            self.assertGreater(len(scales), 20)
            self.assertGreater(skipped, 10)
            self.assertLess(skipped, 150)

    def test_bits_are_those_of_torchs_own(self):
        for bfloat16 in (False, True):
            theirs = train(self.torchs(**GROWING), 300, bfloat16=bfloat16)
            self.same_run(train(binade.torch.LossScaler("torch", **GROWING), 300, bfloat16=bfloat16), theirs)

    def test_fused_and_foreach_optimizers_step_as_with_torchs_own(self):
        for options in ({"fused": True}, {"foreach": True}):
            def make(p, q, options=options):
                return torch.optim.AdamW(p, lr=0.01, **options), torch.optim.SGD(q, lr=0.01, momentum=0.9, **options)

            theirs = train(self.torchs(**GROWING), 120, make)
            self.same_run(train(binade.torch.LossScaler("torch", **GROWING), 120, make), theirs)
            self.assertTrue(any(not all(stepped) for _, _, stepped in theirs[0]))

    def test_policies_have_the_scales_and_skips_of_the_engine_by_hand(self):
        random = np.random.default_rng(0)
        for row in POLICIES:
            with self.subTest(policy=row.name):
                chosen = {"growth_interval": 5, "period": 3, "upper_share": 0.3, "init_scale": 2.0**9}
                given = {key: chosen[key] for key in chosen.keys() & row.parameters.keys()}
                scaler, engine = binade.torch.LossScaler(row.name, **given), binade.LossScaler(row.name, **given)
                one, two = parameter_of(40, 30), parameter_of(500, dtype=torch.bfloat16)
                scales = set()
                for step in range(150):
                    scaler.scale(torch.ones(()))
                    gradients = []
                    for (parameter, optimizer), spread in ((one, 4), (two, 2)):
                        wide = random.standard_normal(parameter.shape) * 2.0 ** random.uniform(-spread, spread, parameter.shape)
                        scaled = torch.from_numpy(wide * engine.scale).to(parameter.dtype)
                        if step % 40 == 39:
                            scaled[0] = math.nan
                        if step % 10 == 3 and spread == 2:
                            scaled.zero_()
                        parameter.grad = scaled.clone()
                        gradients.append(scaled)
                        if step % 2:
                            scaler.unscale_(optimizer)
                    before = one[1].steps, two[1].steps
                    for _, optimizer in (one, two):
                        scaler.step(optimizer)
                    stepped = [optimizer.steps > of for of, (_, optimizer) in zip(before, (one, two))]
                    finite = [bool(g.isfinite().all()) for g in gradients]
                    self.assertEqual(stepped, [True, True] if row.name in ("static", "histogram") else finite)
                    self.assertEqual(engine.update(gradients), all(stepped))
                    scaler.update()
                    self.assertEqual(scaler.get_scale(), engine.scale)
                    scales.add(engine.scale)
                    engine, scaler = (copy.deepcopy(engine), copy.deepcopy(scaler)) if step == 70 else (engine, scaler)
                self.assertEqual(len(scales) > 2, row.name != "static")

    def test_values_at_the_edge_of_a_histogram_lie_below(self):
        for dtype in (torch.float32, torch.float64):
            edge = torch.full((8,), 4094.0, dtype=dtype)
            above = torch.nextafter(edge, edge + 1)
            for values, wanted in ((edge, 2.0), (-edge, 2.0), (above, 0.5), (-above, 0.5), (edge * math.nan, 0.5),
                                   (torch.cat([above[:2], edge]), 2.0), (torch.cat([above[:3], edge[:7]]), 0.5)):
                scaler = binade.torch.LossScaler("histogram", upper_share=0.25)
                parameter, optimizer = parameter_of(len(values), dtype=dtype)
                scaler.scale(torch.ones(()))
                parameter.grad = values.clone()
                scaler.step(optimizer)
                scaler.update()
                self.assertEqual(scaler.get_scale(), wanted)

    def test_of_a_fused_optimizer_policies_see_the_scaled_gradients(self):
        self.torchs()
        for policy in ("log_max", "histogram", "static:64", "megatron"):
            scaler, engine = binade.torch.LossScaler(policy), binade.LossScaler(policy)
            parameter = torch.nn.Parameter(torch.zeros(50))
            optimizer = torch.optim.SGD([parameter], lr=1.0, fused=True)
            for step in range(20):
                scaler.scale(torch.ones(()))
                parameter.grad = torch.linspace(-9, 9, 50) * engine.scale * (math.inf if step == 9 else 1)
                seen = parameter.grad.clone()
                scaler.step(optimizer)
                scaler.update()
                stepped = engine.update([seen])
                self.assertEqual(scaler.get_scale(), engine.scale)
                self.assertEqual(bool(parameter.any()), stepped)
                parameter.data.zero_()

    def test_optimizers_that_take_the_scaler_get_it(self):
        class Own(torch.optim.SGD):
            _step_supports_amp_scaling = True

            def step(self, closure=None, *, grad_scaler=None):
                (found,) = grad_scaler._check_inf_per_device(self).values()
                if not found:
                    parameter.data -= parameter.grad / grad_scaler._get_scale_async()

        scaler, parameter = binade.torch.LossScaler(init_scale=4.0), torch.nn.Parameter(torch.zeros(2))
        optimizer = Own([parameter], lr=1.0)
        for factor, wanted, scale in ((3.0, -3.0, 4.0), (math.inf, -3.0, 2.0), (0.5, -3.5, 2.0)):
            optimizer.zero_grad()
            scaler.scale(parameter.sum() * factor).backward()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # torch gives its successors tensors in place of the scaler
                scaler.step(optimizer)
            scaler.update()
            self.assertEqual((parameter.tolist(), scaler.get_scale()), ([wanted] * 2, scale))

    def test_misuse_is_told_in_torchs_words(self):
        def scaler():
            return binade.torch.LossScaler("torch")

        def after(*calls):
            parameter, optimizer = parameter_of(3)
            one = scaler()
            one.scale(parameter.sum()).backward()
            for name, *arguments in calls:
                getattr(one, name)(*(optimizer if x is ... else x for x in arguments))

        half, bare = parameter_of(3, dtype=torch.float16), parameter_of(3)[1]
        half[0].grad = torch.ones(3, dtype=torch.float16)

        part, of_part = parameter_of(3)
        part.grad = torch.ones(3)
        part.grad.placements = (types.SimpleNamespace(is_partial=lambda: False, is_shard=lambda: True),)

        def scaled_then(call, scaler=scaler):
            one = scaler()
            one.scale(torch.ones(()))
            call(one)

        again = "has already been called"
        for wanted, text, call in (
                (RuntimeError, rf"unscale_\(\) {again} on this optimizer", lambda: after(("unscale_", ...), ("unscale_", ...))),
                (RuntimeError, r"unscale_\(\) is being called after step", lambda: after(("step", ...), ("unscale_", ...))),
                (RuntimeError, rf"step\(\) {again} since the last update", lambda: after(("step", ...), ("step", ...))),
                (AssertionError, "^No inf checks were recorded prior to update.$", lambda: after(("update",))),
                (AssertionError, "^No inf checks were recorded for this optimizer", lambda: scaled_then(lambda s: s.step(bare))),
                (AssertionError, "^Attempted step but _scale is None. ", lambda: scaler().step(bare)),
                (AssertionError, "^Attempted unscale_ but _scale is None. ", lambda: scaler().unscale_(bare)),
                (AssertionError, "^Attempted update but _scale is None. ", lambda: scaler().update()),
                (RuntimeError, "^Closure use is not", lambda: scaled_then(lambda s: s.step(bare, closure=lambda: 1.0))),
                (ValueError, "^Attempting to unscale FP16 gradients.$", lambda: scaled_then(lambda s: s.unscale_(half[1]))),
                (AssertionError, "^new_scale should be", lambda: after(("update", torch.ones(2)))),
                (AssertionError, "^new_scale should be", lambda: after(("update", torch.ones(1, requires_grad=True)))),
                (ValueError, "^new_scale nan: a finite number", lambda: after(("update", math.nan))),
                (ValueError, "looks at whole gradients", lambda: scaled_then(lambda s: s.step(of_part),
                                                                             lambda: binade.torch.LossScaler("histogram"))),
                (AssertionError, "growth factor must be > 1.0", lambda: binade.torch.LossScaler(growth_factor=1.0)),
                (AssertionError, "backoff factor must be < 1.0", lambda: binade.torch.LossScaler(backoff_factor=1.0)),
                (ValueError, "^outputs must be a Tensor or an iterable of Tensors$", lambda: scaler().scale(3.0)),
                (RuntimeError, "^The source state dict is empty", lambda: scaler().load_state_dict({})),
                (AssertionError, "only be pickled at the beginning", lambda: scaled_then(lambda s: (s._check_inf_per_device(bare),
                                                                                                    pickle.dumps(s)))),
                (ValueError, "there is none; did you mean megatron", lambda: binade.torch.LossScaler("megatorn")),
                (ValueError, "no parameter edge", lambda: binade.torch.LossScaler(edge=1.0)),
                (ValueError, "no parameter growth_interval", lambda: binade.torch.LossScaler("log_max").get_growth_interval()),
                (ValueError, "a scale for each layer", lambda: binade.torch.LossScaler("adaptive")),
                (TypeError, "^policy: a name", lambda: binade.torch.LossScaler(3)),
                (ValueError, "not of the policy apex",
                 lambda: binade.torch.LossScaler("apex").load_state_dict(scaler().state_dict())),
                (ValueError, "not of the policy keras2",
                 lambda: binade.torch.LossScaler("keras2").load_state_dict(binade.torch.LossScaler("keras3").state_dict()))):
            with self.subTest(text=text), self.assertRaisesRegex(wanted, text) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))

    def test_a_policy_that_gives_up_says_so_and_can_go_on(self):
        scaler = binade.torch.LossScaler("deepspeed", init_scale=2.0, hysteresis=1)
        parameter, optimizer = parameter_of(2)
        for scale in (1.0, None, 1.0):
            scaler.scale(torch.ones(()))
            parameter.grad = torch.full((2,), math.nan if scale is None or scaler.get_scale() == 2.0 else 0.0)
            scaler.step(optimizer)
            if scale is None:
                with self.assertRaisesRegex(ValueError, "^loss scale: deepspeed gives up at its minimum 1"):
                    scaler.update()
            else:
                scaler.update()
                self.assertEqual(scaler.get_scale(), scale)

    def test_it_is_torchs_class_and_warns_of_no_missing_gpu(self):
        scaler = binade.torch.LossScaler()
        self.assertIsInstance(scaler, TORCHS or torch.cuda.amp.GradScaler)
        self.assertTrue(scaler.is_enabled())
        asked = scaler.get_scale(), scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()
        self.assertEqual(asked, (65536.0, 2.0, 0.5, 2000))

    def test_outputs_may_be_nested(self):
        scaler = binade.torch.LossScaler(init_scale=8.0)
        a, b = torch.ones(()), torch.ones(2, dtype=torch.float16)
        listed = scaler.scale([a, (b, [a])])
        self.assertEqual((type(listed), type(listed[1]), listed[0].item(), listed[1][1][0].shape), (list, tuple, 8.0, ()))
        self.assertEqual(listed[1][0].dtype, torch.float16)
        self.assertEqual([x.item() for x in scaler.scale(x for x in (a, a))], [8.0, 8.0])

    def test_disabled_nothing_happens(self):
        for scaler in (binade.torch.LossScaler("log_max", enabled=False), binade.torch.LossScaler("none")):
            parameter, optimizer = parameter_of(3)
            self.assertIs(scaler.scale(optimizer), optimizer)
            parameter.grad = torch.full((3,), math.inf)
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            self.assertEqual(parameter.tolist(), [-math.inf] * 3)
            scaler.update()
            scaler.load_state_dict({})
            self.assertEqual((scaler.get_scale(), scaler.state_dict(), scaler.is_enabled()), (1.0, {}, False))

    def test_float16_and_sparse_gradients(self):
        scaler = binade.torch.LossScaler(init_scale=3.0, allow_fp16=True)
        parameter, optimizer = parameter_of(1000, dtype=torch.float16)
        scaler.scale(torch.ones(()))
        parameter.grad = torch.linspace(-60000, 60000, 1000).half()
        wanted = (parameter.grad.double() * float(np.float32(1 / 3.0))).float().half()
        scaler.unscale_(optimizer)
        self.assertTrue(torch.equal(parameter.grad, wanted))
        scaler = binade.torch.LossScaler(init_scale=4.0)
        for value in (2.0, math.inf):
            weight = torch.nn.Embedding(5, 2, sparse=True).weight
            before = weight.detach().clone()
            loss = torch.nn.functional.embedding(torch.tensor([1, 3, 1]), weight, sparse=True).sum() * value
            scaler.scale(loss).backward()
            self.assertTrue(weight.grad.is_sparse)
            scaler.step(torch.optim.SGD([weight], lr=0.5))
            scaler.update()
            moved = torch.tensor([[0.0], [4.0], [0.0], [2.0], [0.0]]) * 0.5 if value == 2.0 else 0.0
            self.assertTrue(torch.equal(weight.detach(), before - moved))
        self.assertEqual(scaler.get_scale(), 2.0)

    def test_states_resume_where_they_were(self):
        for row in POLICIES:
            with self.subTest(policy=row.name):
                scaler = binade.torch.LossScaler(row.name)
                parameter, optimizer = parameter_of(3)

                def iterate(one, value):
                    one.scale(torch.ones(()))
                    parameter.grad = torch.full((3,), value)
                    one.step(optimizer)
                    one.update()
                    return one.get_scale(), one._get_growth_tracker()

                if "growth_interval" in row.parameters:
                    scaler.set_growth_interval(3)
                for value in (1.0, math.inf, 3.0):
                    iterate(scaler, value)
                other, third = binade.torch.LossScaler(row.name), pickle.loads(pickle.dumps(scaler))
                other.load_state_dict(scaler.state_dict())
                self.assertEqual(other.state_dict(), scaler.state_dict())
                self.assertEqual(repr(third), repr(scaler))
                for value in (2.0, 1.0, 4.0, math.inf, math.inf, 0.5):
                    wanted = iterate(scaler, value)
                    self.assertEqual((iterate(other, value), iterate(third, value)), (wanted, wanted))

    def test_checkpoints_are_torchs(self):
        ours = binade.torch.LossScaler(**GROWING)
        train(ours, 20)
        keys = "scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"
        self.assertEqual(tuple(ours.state_dict()), keys)
        theirs = self.torchs()
        theirs.load_state_dict(ours.state_dict())
        self.assertEqual(theirs.state_dict(), ours.state_dict())
        again = binade.torch.LossScaler()
        again.load_state_dict(theirs.state_dict())
        self.same_run(train(again, 40), train(theirs, 40))

    def test_parameters_and_scales_may_be_changed(self):
        scaler = binade.torch.LossScaler("megatron", init_scale=8.0)
        parameter, optimizer = parameter_of(1)
        for new_scale, wanted in ((2.0, 2.0), (torch.tensor([5.0]), 5.0), (7, 7.0)):
            scaler.scale(parameter.sum()).backward()
            scaler.step(optimizer)
            scaler.update(new_scale)
            self.assertEqual((scaler.get_scale(), scaler.scale(torch.ones(())).item()), (wanted, wanted))
        scaler.set_growth_factor(3.0)
        scaler.set_growth_interval(1)
        scaler.set_backoff_factor(0.25)
        self.assertEqual((scaler.get_growth_factor(), scaler.get_growth_interval(), scaler.get_backoff_factor()), (3.0, 1, 0.25))
        optimizer.zero_grad()
        scaler.scale(parameter.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        self.assertEqual(scaler.get_scale(), 21.0)
        for policy in ("log_max", "histogram", "mxnet"):
            scaler = binade.torch.LossScaler(policy)
            scaler.scale(torch.ones(()))
            scaler.update(32.0)
            self.assertEqual(scaler.get_scale(), 32.0)
            if policy == "mxnet":  # what it has decided before, and not yet used, is gone
                optimizer.zero_grad()
                scaler.scale(parameter.sum()).backward()
                scaler.step(optimizer)
                scaler.update()
                self.assertEqual(scaler.get_scale(), 32.0)

    def test_watch_sees_the_scale_in_use_and_skipped_steps(self):
        ours, oracle = (watched(scaler=scaler, steps=40, every=1) for scaler in
                        (binade.torch.LossScaler(init_scale=2.0**127), CpuScaler(2.0**127)))
        self.assertEqual([w.loss_scale for w in ours.windows], [w.loss_scale for w in oracle.windows])
        self.assertGreater(len({w.loss_scale for w in ours.windows}), 1)
        self.assertEqual(ours.summaries(), oracle.summaries())
        self.assertEqual([(e.step, e.skipped, e.loss_scale) for e in ours.nonfinite()],
                         [(e.step, e.skipped, e.loss_scale) for e in oracle.nonfinite()])
        both = [watched(scaler=scaler, steps=6, every=1, gradients="both").summaries() for scaler in
                (binade.torch.LossScaler(init_scale=8.0), CpuScaler(8.0))]
        self.assertEqual(*both)
        for policy in ("histogram", "log_max", "apex"):
            scaler, scales = binade.torch.LossScaler(policy), []
            w = watched(scaler=scaler, steps=8, every=1, before=lambda step: scales.append(scaler.get_scale()))
            self.assertEqual([window.loss_scale for window in w.windows], scales)
        scaler = binade.torch.LossScaler(init_scale=16.0)
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with binade.torch.watch(model, every=1) as w:  # which finds both
            scaler.scale(model(torch.ones(1, 2)).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
        self.assertEqual([window.loss_scale for window in w.windows], [16.0])


if __name__ == "__main__":
    main()
