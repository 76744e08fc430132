# SPDX-License-Identifier: Apache-2.0
#
"""Independent oracle for dynamic loss-scaling policies (standard library only).

One small class a policy.  Written from the frameworks' behaviour as read in
their sources, by someone who had not read lib/amp.

    s = POLICIES["torch"](init_scale=8.0, growth_interval=3)
    s.scale            # float: what the NEXT step's loss is multiplied by
    s.update(found_inf)  -> True when the optimiser step is taken, False when skipped
    s.state()          # dict of the counters
GaveUp is raised where the original raises; the object then holds the state that
the original leaves behind (the failing step was not taken).

Normalised keywords (ORIGINAL maps them to the names the framework uses):
init_scale, growth_factor, backoff_factor, growth_interval, hysteresis, floor,
cap, tolerance, plus decr_every, threshold, consecutive_hysteresis, raise_at_floor...
An unknown keyword is a TypeError: the original has no such parameter.
Arithmetic: PY = Python float (binary64); F32 = every operation rounded to binary32.
"""
import math
import random
import struct
import sys

INF = math.inf


class GaveUp(Exception):
    """The original raised an error that ends training."""


def f32(x):
    """Round a Python float to binary32 (nearest even, overflow to infinity)."""
    x = float(x)
    if x != x or x in (INF, -INF):
        return x
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(INF, x)


class Policy:
    NAME = ""
    ARITH = "PY"
    ORIGINAL = {}

    @property
    def scale(self):
        return float(self._scale)

    def state(self):
        return {k: v for k, v in vars(self).items()}

    def update(self, found_inf):
        raise NotImplementedError


# --------------------------------------------------------------------- PyTorch
class Torch(Policy):
    """torch.amp.GradScaler.  Scale is binary32, factors are binary64: the product is
    formed in double and then narrowed.  No floor.  Growth kept only when finite (2.1+)."""
    NAME, ARITH = "torch", "F32 scale x F64 factor"
    ORIGINAL = dict(init_scale="init_scale", growth_factor="growth_factor",
                    backoff_factor="backoff_factor", growth_interval="growth_interval")

    def __init__(self, init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5,
                 growth_interval=2000, guard_growth=True):
        if not growth_factor > 1.0:
            raise ValueError("growth factor must exceed 1")
        if not backoff_factor < 1.0:
            raise ValueError("backoff factor must be below 1")
        self._init = init_scale
        self._scale = f32(init_scale)
        self._used = False
        self._growth, self._backoff, self._interval = float(growth_factor), float(backoff_factor), growth_interval
        self._tracker = 0
        self._guard = guard_growth          # False: versions before 2.1

    def touch(self):
        """The first GradScaler.scale(): from here get_scale() reads the float32 tensor."""
        self._used = True
        return self.scale

    def get_scale(self):
        return self._scale if self._used else self._init

    def update(self, found_inf):
        self._used = True
        if found_inf:
            self._scale = f32(self._scale * self._backoff)
            self._tracker = 0
            return False
        n = self._tracker + 1
        if n == self._interval:
            new = f32(self._scale * self._growth)
            if not self._guard or math.isfinite(new):
                self._scale = new
            n = 0
        self._tracker = n
        return True


# ------------------------------------------------------------------------ Apex
class Apex(Policy):
    """apex.amp LossScaler.  Halves and doubles by a hard-wired 2 (scale_factor is accepted
    and ignored).  floor None or 0 means no floor; it acts only at a backoff."""
    NAME = "apex"
    ORIGINAL = dict(init_scale="init_scale (LossScaler only; amp.initialize never passes it)",
                    growth_interval="scale_window", floor="min_loss_scale", cap="max_loss_scale")

    def __init__(self, init_scale=2.0 ** 16, growth_interval=2000, floor=None, cap=2.0 ** 24,
                 clamp_init=True):
        self._scale = min(cap, init_scale) if clamp_init else init_scale
        self._interval, self._floor, self._cap = growth_interval, floor, cap
        self._unskipped = 0

    def update(self, found_inf):
        if found_inf:
            half = self._scale / 2.0
            self._scale = max(self._floor, half) if self._floor else half
            self._unskipped = 0
        else:
            self._unskipped += 1
        if self._unskipped == self._interval:
            self._scale = min(self._cap, self._scale * 2.0)
            self._unskipped = 0
        return not found_inf


# ----------------------------------------------------------------------- MXNet
class MXNet(Policy):
    """mxnet(.contrib).amp LossScaler.  The value computed by update t becomes the active
    scale in update t+1: step t+1 still runs at the old scale, step t+2 is the first at the
    new one; and the new value is derived from the scale that update t just activated.
    The constructor of the original takes nothing; the keywords set its attributes."""
    NAME = "mxnet"
    ORIGINAL = dict(init_scale="_loss_scale", growth_interval="_scale_seq_len", cap="_max_loss_scale")

    def __init__(self, init_scale=2.0 ** 16, growth_interval=2000, cap=2.0 ** 24):
        self._scale = init_scale
        self._next = init_scale
        self._interval, self._cap = growth_interval, cap
        self._unskipped = 0

    def update(self, found_inf):
        self._scale = self._next
        if found_inf:
            self._next = self._scale / 2.0
            self._unskipped = 0
        else:
            self._unskipped += 1
        if self._unskipped == self._interval:
            self._unskipped = 0
            self._next = min(self._cap, self._scale * 2.0)
        return not found_inf


# ---------------------------------------------------------------- PaddlePaddle
class _Paddle(Policy):
    ARITH = "F32 scale x F32 factor"
    ORIGINAL = dict(init_scale="init_loss_scaling", growth_factor="incr_ratio", backoff_factor="decr_ratio",
                    growth_interval="incr_every_n_steps", decr_every="decr_every_n_nan_or_inf")

    def __init__(self, init_scale, growth_factor, backoff_factor, growth_interval, decr_every):
        self._scale = f32(init_scale)
        self._growth, self._backoff = f32(growth_factor), f32(backoff_factor)
        self._interval, self._decr_every = growth_interval, decr_every
        self._good = self._bad = 0

    def _lower(self, new):
        return new

    def _raise(self, new):
        return new

    def update(self, found_inf):
        if found_inf:
            self._good = 0
            self._bad += 1
            if self._bad == self._decr_every:
                self._scale = self._lower(f32(self._scale * self._backoff))
                self._bad = 0
        else:
            self._bad = 0
            self._good += 1
            if self._good == self._interval:
                self._scale = self._raise(f32(self._scale * self._growth))
                self._good = 0
        return not found_inf


class PaddleStatic(_Paddle):
    """update_loss_scaling kernel: a lowered value under 1 becomes 1; a raised value that is
    not finite is dropped.  Defaults: paddle.static.amp.decorate, the COMMON overload."""
    NAME = "paddle_static"

    def __init__(self, init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5,
                 growth_interval=2000, decr_every=1):
        super().__init__(init_scale, growth_factor, backoff_factor, growth_interval, decr_every)

    @classmethod
    def fp16_only(cls, **kw):
        """Defaults of the other decorate overload (use_pure_fp16=..., use_bf16=... given)."""
        d = dict(init_scale=2.0 ** 15, growth_factor=2.0, backoff_factor=0.8,
                 growth_interval=1000, decr_every=2)
        d.update(kw)
        return cls(**d)

    def _lower(self, new):
        return 1.0 if new < 1.0 else new

    def _raise(self, new):
        return new if math.isfinite(new) else self._scale


class PaddleDynamic(_Paddle):
    """paddle.amp.GradScaler (eager mode): neither floor nor finiteness check."""
    NAME = "paddle_dynamic"

    def __init__(self, init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5,
                 growth_interval=2000, decr_every=1):
        if not growth_factor > 1.0:
            raise ValueError("incr_ratio must exceed 1")
        if not backoff_factor < 1.0:
            raise ValueError("decr_ratio must be below 1")
        super().__init__(init_scale, growth_factor, backoff_factor, growth_interval, decr_every)

    @classmethod
    def amp_scaler(cls, **kw):
        """Defaults of the base class AmpScaler."""
        d = dict(init_scale=2.0 ** 15, growth_interval=1000)
        d.update(kw)
        return cls(**d)


# --------------------------------------------------------------------- fairseq
class FairseqClass(Policy):
    """fairseq DynamicLossScaler, driven as its optimiser drives it: check_overflow, then
    (no overflow) step and update.  threshold bounds the scale from below at a decrease;
    floor (min_loss_scale) is the point at which it gives up, tested with <=."""
    NAME = "fairseq_class"
    ORIGINAL = dict(init_scale="init_scale", growth_factor="scale_factor", growth_interval="scale_window",
                    tolerance="tolerance", threshold="threshold", floor="min_loss_scale")

    def __init__(self, init_scale=2.0 ** 15, growth_factor=2.0, growth_interval=2000,
                 tolerance=0.0, threshold=None, floor=1e-4, zero_guard=True):
        self._scale = init_scale
        self._factor, self._interval = growth_factor, growth_interval
        self._tolerance, self._threshold, self._floor = tolerance, threshold, floor
        self._iter, self._last_inf, self._last_change, self._infs = 0, -1, -1, 0
        self._zero_guard = zero_guard    # False: versions that divide by zero on a retry

    def update(self, found_inf):
        if not found_inf:
            if (self._iter - self._last_inf) % self._interval == 0:
                self._scale = self._scale * self._factor
                self._last_change = self._iter
            self._iter += 1
            return True
        before = self._scale
        span = self._iter - self._last_change
        if span == 0 and self._zero_guard:
            span = 1000
        self._last_inf = self._iter
        self._infs += 1
        if self._infs / float(span) >= self._tolerance:
            self._scale = self._scale / self._factor
            if self._threshold is not None:
                self._scale = max(self._scale, self._threshold)
            self._last_change = self._iter
            self._infs = 0
        if self._scale <= self._floor:
            self._scale = before         # restored; the iteration is not counted
            raise GaveUp("minimum loss scale reached")
        self._iter += 1
        return False


class FairseqTrainer(FairseqClass):
    """What FP16Optimizer passes from the default config, 1 device, update_freq [1]:
    init 2**7, window int(2**14 / data_parallel / update_freq) = 16384, tolerance 0,
    threshold None, min_loss_scale 1e-4."""
    NAME = "fairseq_trainer"
    ORIGINAL = dict(init_scale="fp16_init_scale", growth_interval="fp16_scale_window",
                    tolerance="fp16_scale_tolerance", threshold="threshold_loss_scale",
                    floor="min_loss_scale", data_parallel="world size / model parallel size",
                    update_freq="update_freq[0]")

    def __init__(self, init_scale=2 ** 7, growth_interval=None, tolerance=0.0, threshold=None,
                 floor=1e-4, data_parallel=1, update_freq=1):
        if growth_interval is None:
            growth_interval = int(2 ** 14 / data_parallel / update_freq)
        super().__init__(init_scale, 2.0, growth_interval, tolerance, threshold, floor)


# ------------------------------------------------------------------- DeepSpeed
class DeepSpeedClass(Policy):
    """DynamicLossScaler with the class defaults of the files that had any (before 2025).
    rule "pre2025" grows on clean step W, 2W..; rule "2025" on W+1, 2W+1.. after an
    overflow or the start.  With hysteresis > 1 the credit is refilled by a growth only
    (or by any clean step when consecutive_hysteresis)."""
    NAME = "deepspeed_class"
    ORIGINAL = dict(init_scale="init_scale", growth_factor="scale_factor", growth_interval="scale_window",
                    floor="min_scale", hysteresis="delayed_shift",
                    consecutive_hysteresis="consecutive_hysteresis",
                    raise_at_floor="raise_error_at_min_scale")

    def __init__(self, init_scale=2.0 ** 32, growth_factor=2.0, growth_interval=1000, floor=1.0,
                 hysteresis=1, consecutive_hysteresis=False, raise_at_floor=True, rule="pre2025"):
        if rule not in ("pre2025", "2025"):
            raise ValueError(rule)
        self._scale = init_scale
        self._factor, self._interval, self._floor = growth_factor, growth_interval, floor
        self._shift = self._credit = hysteresis
        self._consecutive, self._raise_at_floor, self._rule = consecutive_hysteresis, raise_at_floor, rule
        self._iter, self._last_inf = 0, -1

    def update(self, found_inf):
        if found_inf:
            if self._shift == 1 or self._credit == 1:
                if self._scale == self._floor and self._raise_at_floor:
                    raise GaveUp("loss scale already at its minimum")    # nothing was changed
                self._scale = max(self._scale / self._factor, self._floor)
            else:
                self._credit -= 1
            self._last_inf = self._iter
        else:
            if self._consecutive:
                self._credit = self._shift
            if self._rule == "2025":
                clean = self._iter - self._last_inf - 1
                grow = clean > 0 and clean % self._interval == 0
            else:
                grow = (self._iter - self._last_inf) % self._interval == 0
            if grow:
                if not self._consecutive:
                    self._credit = self._shift
                self._scale = self._scale * self._factor
        self._iter += 1
        return not found_inf


class DeepSpeedConfig(DeepSpeedClass):
    """What a ZeRO optimiser gets from {"fp16": {"enabled": true}} in a 2025+ DeepSpeed.
    (Before: an fp16 block naming no dynamic key gave a ZeRO run the class defaults.)"""
    NAME = "deepspeed_config"
    ORIGINAL = dict(init_scale="2 ** initial_scale_power", growth_interval="loss_scale_window",
                    hysteresis="hysteresis", consecutive_hysteresis="consecutive_hysteresis",
                    floor="min_loss_scale")

    def __init__(self, init_scale=2.0 ** 16, growth_interval=1000, floor=1.0, hysteresis=2,
                 consecutive_hysteresis=False, raise_at_floor=True, rule="2025"):
        super().__init__(init_scale, 2.0, growth_interval, floor, hysteresis,
                         consecutive_hysteresis, raise_at_floor, rule)


# -------------------------------------------------------------------- Megatron
class Megatron(Policy):
    """megatron.core DynamicGradScaler: all binary32.  The hysteresis credit is spent by any
    overflow and refilled by a growth only; once spent, every overflow backs off."""
    NAME, ARITH = "megatron", "F32 scale x F32 factor"
    ORIGINAL = dict(init_scale="initial_scale", growth_factor="growth_factor", backoff_factor="backoff_factor",
                    growth_interval="growth_interval", hysteresis="hysteresis", floor="min_scale")

    def __init__(self, init_scale=2.0 ** 32, growth_factor=2.0, backoff_factor=0.5,
                 growth_interval=1000, hysteresis=2, floor=1.0):
        ok = (init_scale > 0.0 and 0.0 < floor <= init_scale and growth_factor > 1.0
              and 0.0 < backoff_factor < 1.0 and growth_interval > 0 and hysteresis > 0)
        if not ok:
            raise ValueError("refused by the asserts of the original")
        self._scale, self._floor = f32(init_scale), f32(floor)
        self._growth, self._backoff = f32(growth_factor), f32(backoff_factor)
        self._interval, self._hysteresis = growth_interval, hysteresis
        self._tracker, self._credit = 0, hysteresis

    def update(self, found_inf):
        if found_inf:
            self._tracker = 0
            self._credit -= 1
            if self._credit <= 0:
                self._scale = max(f32(self._scale * self._backoff), self._floor)
            return False
        self._tracker += 1
        if self._tracker == self._interval:
            self._tracker = 0
            self._credit = self._hysteresis
            self._scale = f32(self._scale * self._growth)
        return True


# ----------------------------------------------------------------------- Keras
class Keras2(Policy):
    """tf.keras 2 LossScaleOptimizer (OptimizerV2 and V3 forms share the state object).
    multiplier is fixed to 2 by the public class; floor is fixed at 1."""
    NAME, ARITH = "keras2", "F32"
    ORIGINAL = dict(init_scale="initial_scale", growth_interval="dynamic_growth_steps",
                    growth_factor="multiplier (internal)")

    def __init__(self, init_scale=2.0 ** 15, growth_interval=2000, growth_factor=2.0):
        self._scale = f32(init_scale)
        self._interval, self._factor = int(growth_interval), f32(growth_factor)
        self._counter = 0

    def update(self, found_inf):
        if found_inf:
            self._counter = 0
            self._scale = max(f32(self._scale / self._factor), 1.0)
            return False
        if self._counter + 1 >= self._interval:
            new = f32(self._scale * self._factor)
            if math.isfinite(new):
                self._scale = new
            self._counter = 0
        else:
            self._counter += 1
        return True


class Keras3(Policy):
    """keras.optimizers.LossScaleOptimizer (Keras 3): hard-wired 2, no floor, no cap, no
    finiteness check, equality test."""
    NAME, ARITH = "keras3", "F32"
    ORIGINAL = dict(init_scale="initial_scale", growth_interval="dynamic_growth_steps")

    def __init__(self, init_scale=2.0 ** 15, growth_interval=2000):
        self._scale = f32(init_scale)
        self._interval, self._counter = growth_interval, 0

    def update(self, found_inf):
        if found_inf:
            self._counter = 0
            self._scale = f32(self._scale / 2.0)
            return False
        if self._counter == self._interval - 1:
            self._counter = 0
            self._scale = f32(self._scale * 2.0)
        else:
            self._counter += 1
        return True


# ------------------------------------------------------------------------- jmp
class Jmp(Policy):
    """jmp.DynamicLossScale, a float32 loss_scale.  init_scale has no default in the original
    (its documentation uses 2**15).  through_jit: the object crosses a pytree boundary before
    each adjust, which resets min_loss_scale to its default 1."""
    NAME, ARITH = "jmp", "F32"
    ORIGINAL = dict(init_scale="loss_scale", growth_factor="factor", growth_interval="period",
                    floor="min_loss_scale")

    def __init__(self, init_scale=2.0 ** 15, growth_factor=2, growth_interval=2000, floor=1.0,
                 through_jit=False):
        self._scale = f32(init_scale)
        self._factor, self._period = f32(growth_factor), growth_interval
        self._floor = 1.0 if through_jit else f32(floor)
        self._counter = 0

    def update(self, found_inf):
        if found_inf:
            self._scale = max(self._floor, f32(self._scale / self._factor))
            self._counter = 0
            return False
        if self._counter == self._period - 1:
            new = f32(self._scale * self._factor)
            if math.isfinite(new):
                self._scale = new
        self._counter = (self._counter + 1) % self._period
        return True


# ----------------------------------------------------------------- OpenSeq2Seq
class OpenSeq2SeqBackoff(Policy):
    """OpenSeq2Seq BackoffScaler: starts at scale_max; both directions clip to [min, max].
    The graph does not order the increment of the step counter against its read; the written
    intent (increment last) is modelled.  counter_first=True models the other order."""
    NAME, ARITH = "openseq2seq_backoff", "F32"
    ORIGINAL = dict(floor="scale_min", cap="scale_max", growth_factor="step_factor",
                    growth_interval="step_window")

    def __init__(self, floor=1.0, cap=2.0 ** 24, growth_factor=2.0, growth_interval=2000,
                 counter_first=False):
        self._floor, self._cap = f32(floor), f32(cap)
        self._factor, self._interval = f32(growth_factor), growth_interval
        self._scale = self._cap
        self._iter, self._last_inf, self._counter_first = 0, -1, counter_first

    def _clip(self, x):
        return max(min(x, self._cap), self._floor)

    def update(self, found_inf):
        if self._counter_first:
            self._iter += 1
        if found_inf:
            self._scale = self._clip(f32(self._scale / self._factor))
            self._last_inf = self._iter
        elif (self._iter - self._last_inf) % self._interval == 0:
            self._scale = self._clip(f32(self._scale * self._factor))
        if not self._counter_first:
            self._iter += 1
        return not found_inf


ROWS = [Torch, Apex, MXNet, PaddleStatic, PaddleDynamic, FairseqClass, FairseqTrainer,
        DeepSpeedClass, DeepSpeedConfig, Megatron, Keras2, Keras3, Jmp, OpenSeq2SeqBackoff]
POLICIES = {c.NAME: c for c in ROWS}


# ---------------------------------------------------------------------- traces
KINDS = ("none", "all", "rare", "one", "few", "half", "most", "bursts", "periodic", "front", "tail", "alternate")


def random_trace(rng, length, kind):
    if kind == "none":
        return [False] * length
    if kind == "all":
        return [True] * length
    if kind == "alternate":
        first = rng.random() < 0.5
        return [(i % 2 == 0) == first for i in range(length)]
    if kind == "one":
        at = rng.randrange(length) if length else 0
        return [i == at for i in range(length)]
    if kind == "periodic":
        period = rng.randrange(2, max(3, length // 4))
        phase = rng.randrange(period)
        return [i % period == phase for i in range(length)]
    if kind in ("front", "tail"):
        n = rng.randrange(length + 1)
        bits = [rng.random() < 0.9 for _ in range(n)] + [False] * (length - n)
        return bits if kind == "front" else bits[::-1]
    if kind == "bursts":
        bits, state = [], False
        enter, leave = rng.choice((0.002, 0.01, 0.05, 0.2)), rng.choice((0.05, 0.2, 0.5))
        for _ in range(length):
            state = (rng.random() >= leave) if state else (rng.random() < enter)
            bits.append(state)
        return bits
    p = {"rare": rng.choice((0.0005, 0.001, 0.003, 0.01)), "few": 0.05, "half": 0.5, "most": 0.9}[kind]
    return [rng.random() < p for _ in range(length)]


def random_traces(seed, count, length):
    """`count` lists of `length` booleans (True = overflow).  The kinds are taken in turn, so
    12 or more traces hold every density; deterministic in the seed."""
    rng = random.Random(seed)
    return [random_trace(rng, length, KINDS[i % len(KINDS)]) for i in range(count)]


def replay(policy, bits):
    """-> ([scale used at each step], [stepped], index at which it gave up or None)."""
    scales, steps = [], []
    for i, b in enumerate(bits):
        scales.append(policy.scale)
        try:
            steps.append(policy.update(bool(b)))
        except GaveUp:
            return scales, steps, i
    scales.append(policy.scale)
    return scales, steps, None


def closed_loop(policy, limit, steps):
    """Overflow exactly when the scale in use exceeds `limit`. -> (skips, skips before the first step)."""
    skips = head = 0
    seen = False
    for _ in range(steps):
        ok = policy.update(policy.scale > limit)
        skips += not ok
        head += (not ok) and not seen
        seen = seen or ok
    return skips, head


# ------------------------------------------------------------------- self-test
def _bits(s):
    return [c == "x" for c in s]


def _expect(name, kw, trace, want, gave_up=None):
    """want: the scale seen by each step, and the one after the last (unless it gave up)."""
    got, _, at = replay(POLICIES[name](**kw), _bits(trace))
    assert got == want and at == gave_up, (name, kw, trace, got, want, at)


def self_test():
    assert f32(0.1) == 0.10000000149011612 and f32(1e39) == INF and f32(2.0 ** -150) == 0.0
    assert f32(3e-45) == 2.802596928649634e-45
    T = 2.0 ** 127
    # hand-worked sequences ("." clean, "x" overflow)
    three = dict(init_scale=8.0, growth_interval=3)
    _expect("torch", three, "......", [8, 8, 8, 16, 16, 16, 32])
    _expect("torch", three, "..x..x...", [8, 8, 8, 4, 4, 4, 2, 2, 2, 4])
    _expect("torch", dict(init_scale=T, growth_interval=1), "..x", [T, T, T, T / 2])
    _expect("torch", dict(init_scale=T, growth_interval=1, guard_growth=False), ".x", [T, INF, INF])
    assert replay(Torch(init_scale=1.0), [True] * 151)[0][149:] == [2.0 ** -149, 0.0, 0.0]
    t = Torch(init_scale=0.1)
    assert t.get_scale() == 0.1 and t.touch() == f32(0.1) == t.get_scale()
    # float32 scale x double 0.8 differs from float32 scale x float32 0.8
    a, b = Torch(init_scale=3.0, backoff_factor=0.8), PaddleDynamic(init_scale=3.0, backoff_factor=0.8)
    differ = 0
    for _ in range(60):
        a.update(True), b.update(True)
        differ += a.scale != b.scale
    assert differ > 0
    _expect("apex", dict(init_scale=2.0 ** 30, growth_interval=2), "..x..", [2.0 ** 24] * 3 + [2.0 ** 23] * 2 + [2.0 ** 24])
    _expect("apex", dict(init_scale=4.0, floor=3.0), "xx", [4, 3, 3])
    _expect("apex", dict(init_scale=4.0, floor=64.0), "x", [4, 64])          # a floor above init raises the scale
    _expect("mxnet", dict(init_scale=16.0, growth_interval=3), "...x..x....",
            [16, 16, 16, 16, 32, 16, 16, 16, 8, 8, 8, 16])
    _expect("mxnet", dict(init_scale=16.0), "xxx..", [16, 16, 8, 4, 2, 2])
    _expect("mxnet", dict(init_scale=16.0, growth_interval=2), ".....", [16, 16, 16, 32, 32, 64])
    _expect("paddle_static", dict(init_scale=2.0, growth_interval=2, decr_every=2), "x.xxxx..", [2, 2, 2, 2, 1, 1, 1, 1, 2])
    _expect("paddle_dynamic", dict(init_scale=2.0, growth_interval=2, decr_every=2), "x.xxxx..", [2, 2, 2, 2, 1, 1, .5, .5, 1])
    _expect("paddle_static", dict(init_scale=T, growth_interval=1), ".", [T, T])
    _expect("paddle_dynamic", dict(init_scale=T, growth_interval=1), ".x", [T, INF, INF])
    assert PaddleStatic.fp16_only()._backoff == f32(0.8) and PaddleDynamic.amp_scaler().scale == 32768.0
    _expect("fairseq_class", dict(init_scale=8.0, growth_interval=3), "......x...", [8, 8, 8, 16, 16, 16, 32, 16, 16, 16, 32])
    _expect("fairseq_class", dict(init_scale=8.0, floor=1.0), "xxx", [8, 4, 2], gave_up=2)
    s = FairseqClass(init_scale=2.0, floor=1.0)
    for _ in range(3):                                    # it raises again and again, scale restored
        try:
            s.update(True)
            raise AssertionError
        except GaveUp:
            assert s.scale == 2.0 and s._iter == 0 and s._last_inf == 0 and s._last_change == 0
    _expect("fairseq_class", dict(init_scale=8.0, threshold=4.0), "xxx", [8, 4, 4, 4])
    # tolerance 1/2: 1 overflow of 3 since the last change passes, 2 of 4 do not
    _expect("fairseq_class", dict(init_scale=8.0, tolerance=0.5, growth_interval=99), "..xx", [8, 8, 8, 8, 4])
    # a growth moves the start of the span but does not clear the overflow count
    _expect("fairseq_class", dict(init_scale=8.0, tolerance=0.9, growth_interval=2), ".x..x", [8, 8, 8, 8, 16, 8])
    _expect("fairseq_class", dict(init_scale=8.0, tolerance=0.25, growth_interval=99), "...x....x", [8, 8, 8, 8, 4, 4, 4, 4, 4, 4])
    assert FairseqTrainer().scale == 128.0 and FairseqTrainer()._interval == 16384
    _expect("deepspeed_class", dict(init_scale=8.0, growth_interval=3), "......x...", [8, 8, 8, 16, 16, 16, 32, 16, 16, 16, 32])
    _expect("deepspeed_class", dict(init_scale=8.0, growth_interval=3, rule="2025"), ".......x....",
            [8, 8, 8, 8, 16, 16, 16, 32, 16, 16, 16, 16, 32])
    _expect("deepspeed_class", dict(init_scale=2.0), "xx", [2, 1], gave_up=1)
    _expect("deepspeed_class", dict(init_scale=2.0, raise_at_floor=False), "xxx", [2, 1, 1, 1])
    _expect("deepspeed_config", dict(init_scale=8.0, growth_interval=2), "x.x...xx", [8, 8, 8, 4, 4, 4, 8, 8, 4])
    _expect("deepspeed_config", dict(init_scale=8.0, growth_interval=9, consecutive_hysteresis=True), "x.x.xx", [8, 8, 8, 8, 8, 8, 4])
    _expect("deepspeed_config", dict(init_scale=1.0), "xx", [1, 1], gave_up=1)
    _expect("megatron", dict(init_scale=8.0, growth_interval=2), "x.x..xxx", [8, 8, 8, 4, 4, 8, 8, 4, 2])
    _expect("megatron", dict(init_scale=2.0), "xxxxx", [2, 2, 1, 1, 1, 1])
    _expect("megatron", dict(init_scale=T, growth_interval=1), ".xx", [T, INF, INF, INF])
    _expect("keras2", dict(init_scale=2.0, growth_interval=2), "xx....", [2, 1, 1, 1, 2, 2, 4])
    _expect("keras2", dict(init_scale=T, growth_interval=1), "..", [T, T, T])
    _expect("keras2", dict(init_scale=2.0, growth_interval=0), ".", [2, 4])   # >= test
    _expect("keras3", dict(init_scale=2.0, growth_interval=0), "..", [2, 2, 2])  # == test
    _expect("keras3", dict(init_scale=2.0, growth_interval=2), "xx....", [2, 1, .5, .5, 1, 1, 2])
    _expect("keras3", dict(init_scale=T, growth_interval=1), ".", [T, INF])
    _expect("jmp", dict(init_scale=2.0, growth_interval=2, floor=.5), "xxx..", [2, 1, .5, .5, .5, 1])
    _expect("jmp", dict(init_scale=2.0, floor=.5, through_jit=True), "xxx", [2, 1, 1, 1])
    _expect("openseq2seq_backoff", dict(cap=8.0, growth_interval=2), "xxxx....", [8, 4, 2, 1, 1, 1, 2, 2, 4])
    _expect("openseq2seq_backoff", dict(cap=8.0, growth_interval=2), "..", [8, 8, 8])

    # defaults: first growths, next growth after an overflow at step 11, 60 overflows in a row
    table = {}
    for name, cls in POLICIES.items():
        p, grown = cls(), []
        if name == "openseq2seq_backoff":
            p._scale = 2.0 ** 15
        for i in range(1, 33000 if name == "fairseq_trainer" else 6100):
            before = p.scale
            p.update(False)
            if p.scale > before:
                grown.append(i)
        q, after = cls(), None
        for i in range(1, 20000):
            before = q.scale
            q.update(i == 11)
            if i > 13 and q.scale > before:
                after = i
                break
        r, dead = cls(), None
        for i in range(1, 61):
            try:
                r.update(True)
            except GaveUp:
                dead = i
                break
        log = math.log2(r.scale)
        c = cls()
        skips = closed_loop(c, 2.0 ** 12, 20000)
        d = cls()
        for i in range(1, 20001):
            d.update(i % 1500 == 0)
        table[name] = (grown[:3], after, log, dead, skips, math.log2(d.scale))
    g = lambda n, k: table[n][k]
    for n in ("torch", "apex", "paddle_static", "paddle_dynamic", "fairseq_class", "keras2", "keras3", "jmp",
              "openseq2seq_backoff"):
        assert g(n, 0)[:2] == [2000, 4000] and g(n, 1) == 2011, (n, table[n])
    assert g("mxnet", 0)[:2] == [2001, 4001] and g("mxnet", 1) == 2012
    assert g("fairseq_trainer", 0) == [16384, 32768]
    assert g("deepspeed_class", 0) == [1000, 2000, 3000] and g("deepspeed_class", 1) == 1011
    assert g("deepspeed_config", 0) == [1001, 2001, 3001] and g("deepspeed_config", 1) == 1012
    assert g("megatron", 0) == [1000, 2000, 3000] and g("megatron", 1) == 1011
    # the golden table
    for n in ("torch", "apex"):
        assert g(n, 4) == (13, 4) and g(n, 5) == 3.0 and g(n, 2) == -44
    assert g("keras3", 4) == (12, 3) and g("keras3", 5) == 2.0 and g("keras3", 2) == -45
    for n in ("keras2", "jmp"):
        assert g(n, 4) == (12, 3) and g(n, 5) == 2.0 and g(n, 2) == 0
    assert g("deepspeed_config", 4) == (43, 5) and g("deepspeed_config", 5) == 29.0
    assert g("deepspeed_config", 2) == 0 and g("deepspeed_config", 3) == 18
    assert g("megatron", 4) == (59, 21) and g("megatron", 5) == 45.0 and g("megatron", 2) == 0

    # invariants over random traces
    traces = random_traces(7, 36, 400)
    assert traces == random_traces(7, 36, 400) and traces != random_traces(8, 36, 400)
    assert any(all(t) for t in traces) and any(not any(t) for t in traces)
    for name, cls in POLICIES.items():
        for bits in traces:
            kw = dict(growth_interval=5)
            if name != "openseq2seq_backoff":
                kw["init_scale"] = 1024.0
            scales, steps, at = replay(cls(**kw), bits)
            assert steps == [not b for b in bits[:len(steps)]]
            assert all(s >= 0 for s in scales)
            assert at is None or (bits[at] and name.split("_")[0] in ("fairseq", "deepspeed"))
    # policies that agree by construction while nothing clips
    for bits in traces:
        base = replay(Keras3(init_scale=2.0 ** 20, growth_interval=50), bits[:18])[0]
        for cls in (Torch, Apex, PaddleStatic, PaddleDynamic, FairseqClass, Keras2, Jmp):
            assert replay(cls(init_scale=2.0 ** 20, growth_interval=50), bits[:18])[0] == base
        assert replay(Megatron(init_scale=2.0 ** 20, growth_interval=50, hysteresis=1), bits[:18])[0] == base
    return table


if __name__ == "__main__":
    rows = self_test()
    print("%-20s %-22s %7s %8s %6s %-12s %s" % ("policy", "growth after clean", "inf@11", "60 infs", "raised",
                                            "S>2^12", "1/1500 log2"))
    for name, (grown, after, log, dead, skips, end) in rows.items():
        print("%-20s %-22s %7s %8g %6s %-12s %g" % (name, grown, after, log, dead, "%d (%d)" % skips, end))
    print("ok")
    sys.exit(0)
