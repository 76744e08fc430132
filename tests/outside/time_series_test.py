# SPDX-License-Identifier: Apache-2.0
"""The report's time axis against NumPy, on dumps of a small run written here with safetensors.

    time_series_test.py PATH_TO_BINADE [FOLDER_TO_KEEP_THE_DUMP_IN]

Counts come from NumPy's own conversions and comparisons of exact doubles, losses from Fractions; no
figure is read from another figure of the report. Exit 77 where numpy, safetensors or ml_dtypes are missing.
"""

import json
import math
import subprocess
import sys
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path

try:
    import ml_dtypes
    import numpy as np
    from safetensors.numpy import save_file
except ImportError as missing:
    print(f"SKIP: {missing}")
    sys.exit(77)

BINADE = None
ROLES = ("act", "dAct", "weight", "dW", "update")
LAYERS = {"fc1": (64, 32), "blocks.0/attn.qkv": (32, 24), "head": (24, 10)}
STEPS = (0, 40, 80, 120, 160, 200, 240, 280, 320, 360, 400, 440, 480)
HALF = {"precision": 11, "emin": -14}
BRAIN = {"precision": 8, "emin": -126}


def dump_of_step(step, random):
    """Gradients that shrink over the run, updates too; weights hardly move. Some values are special on purpose."""
    tensors = {}
    shrink = np.float32(2.0) ** np.float32(-step / 32)
    for depth, (layer, (rows, columns)) in enumerate(LAYERS.items()):
        def values(scale, *shape):
            return (random.standard_normal(shape) * random.exponential(1, shape) * scale).astype(np.float32)
        made = {"act": np.maximum(values(1, 16, columns), 0),
                "dAct": values(1e-4 * shrink / (1 + 2 * depth), 16, columns),
                "weight": values(0.2, rows, columns),
                "dW": values(1e-3 * shrink, rows, columns),
                "update": values(2e-4 * shrink ** 0.5, rows, columns)}
        weight, update = made["weight"].reshape(-1), made["update"].reshape(-1)
        # Ties of binary16 on both sides of an even, an odd and a power-of-two weight; a weight that is zero; one
        # that binary16 cannot hold; its largest; an update that is zero, infinite, NaN.
        weight[:12] = [1, 1, 1 + 2**-10, 1 + 2**-10, 0, 0, 1e6, 65504, 1, 1, 1, np.inf]
        update[:12] = [2**-12, -(2**-11), 2**-11, -(2**-11), 2**-25, 2**-24, 1, -16, 0, np.inf, np.nan, 1]
        odd = {80: np.nan, 240: -np.inf}.get(step, 0) if layer == "head" else 0
        made["dAct"].reshape(-1)[:5] = [2**-25, -(2**-27), 1.5 * 2**-25, odd, 70000 if step == 40 else 0]
        for role, value in made.items():
            tensors[f"step{step:06d}/{layer}/{role}"] = value
    tensors[f"step{step:06d}/loss"] = np.array(1.0, np.float32)  # no role: not on the time axis
    return tensors


def nearest_root(x):
    """The double that is nearest to the square root of a Fraction from 2^-150 on, or 0: 200 bits below the point, and whether
    anything lies below these."""
    scaled = x * 4**200
    root = math.isqrt(int(scaled))
    return (2 * root + (root * root != scaled)) / 2**201


def shares_of(x):
    """Counts of a tensor by NumPy's conversions."""
    finite = x[np.isfinite(x) & (x != 0)].astype(np.float64)
    with np.errstate(over="ignore"):
        half = finite.astype(np.float16)
        e5m2 = finite.astype(np.float32).astype(ml_dtypes.float8_e5m2).astype(np.float64)
    size = np.abs(finite)
    squares = [Fraction(float(v)) ** 2 for v in finite]
    lost = sum((s for s, h in zip(squares, half) if h == 0), Fraction(0))
    binades = np.frexp(size)[1] - 1
    return {"values": x.size, "zeros": int((x == 0).sum()), "nan": int(np.isnan(x).sum()),
            "inf": int(np.isinf(x).sum()), "nonzero": finite.size,
            "rne_zero": int((half == 0).sum()), "band_27_24": int(((size >= 2.0**-27) & (size < 2.0**-24)).sum()),
            "subnormal": int(((half != 0) & (np.abs(half) < np.float16(2.0**-14))).sum()),
            "overflow": int(np.isinf(half).sum()), "e5m2_to_zero": int((e5m2 == 0).sum()),
            "lost_l2": nearest_root(lost / sum(squares)) if squares else None,
            "min_binade": int(binades.min()) if finite.size else None,
            "max_binade": int(binades.max()) if finite.size else None}


def decoded(magnitude, form):
    """The number of a magnitude's bits; the pattern after the largest goes on as if it were finite."""
    p, field, fraction = form["precision"], magnitude >> form["precision"] - 1, magnitude % 2 ** (form["precision"] - 1)
    if field == 0:
        return Fraction(fraction) * Fraction(2) ** (form["emin"] - p + 1)
    return Fraction(2 ** (p - 1) + fraction) * Fraction(2) ** (form["emin"] + field - p)


def is_lost(held_bits, u, form):
    """u lies within half the way to the neighbour of h on its side; at exactly half only where h is even."""
    magnitude, negative = held_bits & 0x7FFF, held_bits >> 15
    here = decoded(magnitude, form)
    shrinks = (u > 0) != bool(negative) and magnitude > 0
    neighbour = decoded(magnitude - 1 if shrinks else magnitude + 1, form)
    half_way = abs(neighbour - here) / 2
    return abs(Fraction(u)) < half_way or (abs(Fraction(u)) == half_way and magnitude % 2 == 0)


def updates_of(weight, update):
    out = {"values": weight.size, "updates": 0, "below_2_11": 0, "lost": [0, 0], "overflow": [0, 0]}
    squares, lost_squares = Fraction(0), [Fraction(0), Fraction(0)]
    with np.errstate(over="ignore"):
        held = [weight.astype(np.float16), weight.astype(ml_dtypes.bfloat16)]
    for i, (w, u) in enumerate(zip(weight.tolist(), update.tolist())):
        if not math.isfinite(u) or u == 0 or not math.isfinite(w):
            continue
        out["updates"] += 1
        out["below_2_11"] += abs(u) < abs(w) * 2.0**-11
        squares += Fraction(u) ** 2
        for k, form in enumerate((HALF, BRAIN)):
            if not math.isfinite(float(held[k][i])):
                out["overflow"][k] += 1
            elif is_lost(int(held[k][i].view(np.uint16)), u, form):
                out["lost"][k] += 1
                lost_squares[k] += Fraction(u) ** 2
    out["lost_l2"] = [nearest_root(x / squares) if squares else 0 for x in lost_squares]
    return out


def write_run(folder):
    """One file per step; the whole run as a mapping of names to arrays."""
    random = np.random.default_rng(20240229)
    run = {}
    for step in STEPS:
        tensors = dump_of_step(step, random)
        save_file(tensors, folder / f"step{step:06d}.safetensors")
        run.update(tensors)
    return run


class TimeAxis(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="binade-test-")
        cls.path = Path(cls.folder.name)
        cls.run_tensors = write_run(cls.path)
        cls.report = cls.report_on("step*.safetensors")
        cls.time = cls.report["time"]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def report_on(cls, *words, **variables):
        done = subprocess.run([BINADE, "report", *words, "--json", "-"], cwd=cls.path, env=variables or None,
                              capture_output=True, check=True, timeout=300)
        return json.loads(done.stdout)

    def tensor(self, step, layer, role):
        return self.run_tensors[f"step{step:06d}/{layer}/{role}"].reshape(-1)

    def layers(self, layer):
        return LAYERS if layer is None else [layer]

    def test_axis_names_steps_layers_and_every_series(self):
        self.assertEqual(self.time["steps"], list(STEPS))
        self.assertEqual(sorted(self.time["layers"]), sorted(LAYERS))
        found = [(s["layer"], s["role"]) for s in self.time["series"]]
        self.assertEqual(sorted(found, key=str),
                         sorted(((x, r) for x in [None, *LAYERS] for r in ROLES), key=str))
        self.assertTrue(all(s["step"] == list(STEPS) for s in self.time["series"]))

    def test_counts_and_losses_of_every_series_are_NumPys(self):
        compared = lost = 0
        for series in self.time["series"]:
            for i, step in enumerate(STEPS):
                x = np.concatenate([self.tensor(step, layer, series["role"]) for layer in self.layers(series["layer"])])
                want = shares_of(x)
                half = series["formats"]["binary16"]
                got = {name: series[name][i] for name in ("values", "zeros", "nan", "inf", "nonzero", "rne_zero",
                                                          "band_27_24", "min_binade", "max_binade")}
                got.update({name: half[name][i] for name in ("subnormal", "overflow", "lost_l2")})
                got["e5m2_to_zero"] = series["formats"]["e5m2"]["to_zero"][i]
                where = (series["layer"], series["role"], step)
                self.assertEqual(half["to_zero"][i], series["rne_zero"][i], where)
                self.assertEqual(got.pop("lost_l2"), want.pop("lost_l2"), where)
                self.assertEqual(got, want, where)
                compared += 1
                lost += want["rne_zero"]
        self.assertEqual(compared, 4 * 5 * len(STEPS))
        self.assertGreater(lost, 10000)

    def test_updates_that_16_bit_weights_do_not_see_are_those_within_half_a_gap(self):
        compared = ties = 0
        for series in self.time["updates"]:
            for i, step in enumerate(STEPS):
                layers = self.layers(series["layer"])
                want = updates_of(np.concatenate([self.tensor(step, x, "weight") for x in layers]),
                                  np.concatenate([self.tensor(step, x, "update") for x in layers]))
                where = (series["layer"], step)
                for name in ("values", "updates", "below_2_11"):
                    self.assertEqual(series[name][i], want[name], (where, name))
                for k, name in enumerate(("binary16", "bfloat16")):
                    row = series["formats"][name]
                    for column in ("lost", "overflow", "lost_l2"):
                        self.assertEqual(row[column][i], want[column][k], (where, name, column))
                compared += 1
                ties += want["overflow"][0]
        self.assertEqual(compared, 4 * len(STEPS))
        self.assertGreater(ties, 0, "a weight that binary16 cannot hold took part")

    def test_loss_scale_of_a_step_is_where_its_gradients_neither_overflow_nor_vanish(self):
        odd = []
        for at, step in zip(self.time["loss_scale"], STEPS, strict=True):
            gradients = [self.tensor(step, x, r) for x in LAYERS for r in ("dAct", "dW")]
            if not all(np.isfinite(x).all() for x in gradients):
                odd.append(step)
                self.assertEqual((at["status"], at["s_min_log2"], at["s_max_log2"]), ("not finite", None, None))
                continue
            tops, bottoms = [], []
            for x in gradients:
                x = x[x != 0].astype(np.float64)
                top = next(k for k in range(100, -100, -1) if np.abs(x).max() * 2.0**k * 2 < 65520)
                squares = np.array([float(v) ** 2 for v in x])
                bottom = next(k for k in range(-100, 200)
                              if squares[(x * 2.0**k).astype(np.float16) == 0].sum() <= 1e-6 * squares.sum())
                tops.append(top)
                bottoms.append(bottom)
            self.assertEqual((at["step"], at["s_min_log2"], at["s_max_log2"]), (step, max(bottoms), min(tops)))
        self.assertEqual(odd, [80, 240])
        self.assertEqual(self.report["gradients"]["passed_over"], odd)

    def test_one_file_and_one_per_step_give_the_same_axis_on_any_number_of_threads(self):
        save_file(self.run_tensors, self.path / "whole.safetensors")
        whole = self.report_on("whole.safetensors", BINADE_THREADS="3")["time"]
        for mine in (whole, self.time):
            for key in ("series", "updates"):
                mine[key].sort(key=lambda s: (str(s["layer"]), s.get("role", "")))
        self.assertEqual(whole["series"], self.time["series"])
        self.assertEqual(whole["updates"], self.time["updates"])


if __name__ == "__main__":
    BINADE = str(Path(sys.argv.pop(1)).resolve())
    if len(sys.argv) > 1:
        write_run(Path(sys.argv[1]))
    else:
        unittest.main(verbosity=1)
