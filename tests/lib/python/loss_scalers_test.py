# SPDX-License-Identifier: Apache-2.0
"""Loss scalers in Python, compared with definitions written here.

    python loss_scalers_test.py BINADE
"""

import copy
import importlib.util
import json
import math
import pickle
import unittest

import binade
import numpy as np
from cli_case import main


class LossScalers(unittest.TestCase):
    def test_all_are_listed_with_what_they_take(self):
        rows = {row.name: row for row in binade.loss_scalers()}
        for name in ("torch", "apex", "deepspeed", "megatron", "fairseq", "paddle", "mxnet", "static", "none", "log_max",
                     "histogram", "adaptive"):
            self.assertIn(name, rows)
        self.assertEqual(rows["torch"].parameters["growth_interval"], 2000)
        self.assertIsNone(rows["torch"].parameters["min_scale"])
        self.assertIs(rows["deepspeed"].parameters["raise_at_min_scale"], True)
        self.assertEqual(rows["static"].parameters, {"init_scale": 1.0})
        for name, row in rows.items():
            plain = binade.LossScaler(name)
            given = {key: value for key, value in row.parameters.items() if value is not None}
            self.assertTrue(row.source, name)
            self.assertEqual(row.looks_at_gradients, name in ("log_max", "histogram", "adaptive"))
            told = binade.LossScaler(name, **given)  # its own defaults change nothing
            steps = [np.array([x], np.float32) for x in (1, np.inf, 2, 3, np.inf, np.inf, 1)]
            self.assertEqual([(told.update(x), told.scale) for x in steps], [(plain.update(x), plain.scale) for x in steps])

    def test_torchs_rule(self):
        rng = np.random.default_rng(1)
        scaler = binade.LossScaler("torch", init_scale=2.0**10, growth_interval=3)
        scale, good = 2.0**10, 0
        for found in rng.random(200) < 0.2:
            self.assertEqual(scaler.scale, scale)
            self.assertIs(scaler.update(found), not found)
            if found:
                scale, good = scale * 0.5, 0
            else:
                good += 1
                if good == 3:
                    scale, good = scale * 2, 0
        self.assertEqual(scaler.state_dict()["step"], 200)

    def test_gradients_stand_for_the_truth_value(self):
        a, b = binade.LossScaler("apex"), binade.LossScaler("apex")
        wide = np.zeros((4, 6), np.float32)
        wide[1, 2] = np.nan
        for seen, found in (([np.ones(3, np.float32), None], False), ([np.ones(2, np.float16), wide], True),
                            (wide[:, ::2], True), (wide[::2], False), (wide.T, True)):
            self.assertEqual(a.update(seen), b.update(found))
            self.assertEqual(a, b)

    def test_log_max_by_hand(self):
        f, scaler = np.float32, binade.LossScaler("log_max")
        mean = slow = square = f(0)
        power1 = power2 = f(1)
        scale = f(1)
        for amax in (0.5, 0.25, 3.0, 0.01, 0.125):
            self.assertEqual(scaler.scale, scale)
            gradient = np.array([[-amax, amax / 3]], f) * scale
            self.assertTrue(scaler.update([gradient]))
            x = f(np.log(np.abs(gradient).max() * f(1 / np.float64(scale)))) / np.log(f(2))
            mean, power1 = f(0.99) * mean + f(1 - 0.99) * x, power1 * f(0.99)
            slow, power2 = f(0.999) * slow + f(1 - 0.999) * x, power2 * f(0.999)
            square = f(0.999) * square + f(1 - 0.999) * (x * x)
            sigma = np.sqrt(max(square / (1 - power2) - (slow / (1 - power2)) ** 2, f(0)))
            scale = np.clip(np.exp2(f(16) - (sigma * f(3.09) + mean / (1 - power1))), f(1), f(2**24))
            self.assertAlmostEqual(float(scaler.scale / scale), 1, places=4)
            scale = f(scaler.scale)
        self.assertFalse(scaler.update(np.array([np.inf], f)))

    def test_histogram_by_hand(self):
        scaler = binade.LossScaler("histogram", init_scale=8, upper_share=0.25, period=2)
        low, high = np.float32(4094), np.float32(4095)  # 65504 / 16 = 4094
        for arrays, scale in (([np.full(3, low)], 8), ([np.full(1, high)], 16), ([np.full(2, low)], 16),
                              ([np.full(2, high, np.float32)], 8)):
            self.assertTrue(scaler.update(arrays))
            self.assertEqual(scaler.scale, scale)

    def test_adaptive_has_scales_of_layers(self):
        rng = np.random.default_rng(3)
        scaler = binade.LossScaler("adaptive")
        gradient, weights = rng.normal(0, 1e-6, (8, 16)).astype(np.float32), rng.normal(0, 0.1, (16, 32)).astype(np.float32)
        scale = scaler.layer_scale("fc2", gradient, weights, 16)
        self.assertEqual(scale, 2 ** round(math.log2(scale)))
        self.assertGreater(scale, 1)
        self.assertEqual(scaler.layer_scales, [("fc2", scale, scale)])
        self.assertEqual(scaler.layer_scale("fc1", gradient, weights.astype(np.float32)[:, ::2], 16, product=scale),
                         scaler.layer_scales[1][1])
        self.assertTrue(scaler.update([gradient]))
        self.assertFalse(scaler.update([gradient * np.float32(np.inf)]))
        again = pickle.loads(pickle.dumps(scaler))
        self.assertEqual(again.layer_scales, scaler.layer_scales)
        with self.assertRaisesRegex(ValueError, "torch: has one scale"):
            binade.LossScaler("torch").layer_scale("a", gradient, weights, 16)

    def test_a_copy_goes_on_as_the_original_does(self):
        rng = np.random.default_rng(2)
        for row in binade.loss_scalers():
            given = {key: 3 for key in ("growth_interval", "period") if key in row.parameters}
            with self.subTest(row.name):
                scaler = binade.LossScaler(row.name, **given)
                steps = [rng.normal(0, 10, 4).astype(np.float32) * (np.inf if i % 7 == 4 else 1) for i in range(20)]
                for step in steps[:10]:
                    scaler.update(step)
                loaded = binade.LossScaler(row.name, **given)
                loaded.load_state_dict(json.loads(json.dumps(scaler.state_dict())))
                copies = [pickle.loads(pickle.dumps(scaler)), copy.deepcopy(scaler), loaded]
                self.assertEqual(copies, [scaler] * 3)
                self.assertEqual(copies[0].parameters, given)
                for step in steps[10:]:
                    wanted = scaler.update(step), scaler.scale
                    self.assertEqual([(one.update(step), one.scale) for one in copies], [wanted] * 3)

    def test_repr_and_equality(self):
        scaler = binade.LossScaler("torch", init_scale=8.0)
        self.assertEqual(repr(scaler), "LossScaler('torch', init_scale=8.0), scale 8.0")
        self.assertNotEqual(scaler, binade.LossScaler("torch", init_scale=4.0))
        self.assertEqual(binade.LossScaler("static:1024").scale, 1024)
        scaler.parameters["init_scale"] = 1  # a copy
        self.assertEqual(scaler.parameters, {"init_scale": 8.0})

    def test_errors(self):
        make = binade.LossScaler
        for call, error, pattern in (
                (lambda: make("torhc"), ValueError, "loss scaler torhc: there is none; did you mean torch"),
                (lambda: make("torch", grow=1), ValueError, "loss scaler torch has no parameter grow.*growth_factor"),
                (lambda: make("static:4", init_scale=2), ValueError, "static:4 has no parameter init_scale; it has none"),
                (lambda: make("torch", init_scale=0), ValueError, "init_scale 0: give a number from"),
                (lambda: make("histogram", edge=2), ValueError, "edge 2: give a number from"),
                (lambda: make("torch", growth_interval=1.5), ValueError, "growth_interval: a whole number"),
                (lambda: make("torch", init_scale="8"), TypeError, "init_scale: a number"),
                (lambda: make("deepspeed", raise_at_min_scale=1), TypeError, "raise_at_min_scale: True or False"),
                (lambda: make("histogram").update(True), TypeError, "histogram looks at gradients"),
                (lambda: make("torch").update([np.zeros(2)]), ValueError, "gradients: an array of F64, which binary32"),
                (lambda: make("torch").update([np.zeros(2, np.int32)]), TypeError, "gradients: an array of int32"),
                (lambda: make("torch").load_state_dict({}), ValueError, "not of the policy torch"),
                (lambda: make("log_max").load_state_dict({"policy": "log_max"}), ValueError, "scale is missing"),
                (lambda: [make("deepspeed", init_scale=1.0, min_scale=1.0, hysteresis=1).update(True)], ValueError,
                 "deepspeed gives up at its minimum 1")):
            with self.subTest(pattern), self.assertRaisesRegex(error, pattern):
                call()


if __name__ == "__main__":
    main()
