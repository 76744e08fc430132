# SPDX-License-Identifier: Apache-2.0
#
# Every row of the loss scale policies against tests/oracle/loss_scalers.py, which was written from the frameworks' sources
# only and compared with ten of them by running both. On random traces of overflows, with random parameters, and on long ones
# with the defaults, the scale before every step has the same bits, and a policy that gives up does so at the same step.
#   loss_scaler_oracle_test.py AMP_TRACE

import inspect
import os
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../oracle"))
import loss_scalers as oracle

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from tables import tables_of

OURS = {"paddle_dynamic": "paddle", "deepspeed_config": "deepspeed", "fairseq_trainer": "fairseq"}
KEYS = {"floor": "min_scale", "cap": "max_scale", "decr_every": "hysteresis", "raise_at_floor": "raise_at_min_scale"}
DRAWS = {"init_scale": [1.0, 3.0, 0.7, 1024.0, 65536.0, 2.0**25], "growth_factor": [2.0, 1.5, 3.0],
         "backoff_factor": [0.5, 0.25, 0.8], "growth_interval": [1, 2, 3, 7, 20], "hysteresis": [1, 2, 3],
         "decr_every": [1, 2, 3], "floor": [0.125, 1.0, 4.0], "cap": [64.0, 2.0**20], "tolerance": [0.0, 0.1, 0.5],
         "threshold": [0.5, 8.0], "consecutive_hysteresis": [False, True], "raise_at_floor": [False, True]}
# One factor for both ways.
DIVIDES = ("fairseq_class", "deepspeed_class", "keras2", "jmp", "openseq2seq_backoff")


DRAWN = {name: set(inspect.signature(make.__init__).parameters) for name, make in oracle.POLICIES.items()}


def hex_of(x):
    return "nan" if x != x else f"{struct.unpack('<Q', struct.pack('<d', x))[0]:x}"


def drawn(draw, make):
    taken = inspect.signature(make.__init__).parameters
    return {key: draw.choice(values) for key, values in DRAWS.items() if key in taken and draw.random() < 0.6}


def ours(name, parameters):
    out = {KEYS.get(key, key): float(value) for key, value in parameters.items()}
    if name in DIVIDES and "growth_factor" in out:
        out["backoff_factor"] = out["growth_factor"]
    if name == "openseq2seq_backoff" and "max_scale" in out:  # where it begins
        out["init_scale"] = out["max_scale"]
    return out


def theirs(make, parameters, bits):
    """The scales as ours writes them. No scale is computed after a framework has given up."""
    policy = make(**parameters)
    out = [hex_of(policy.scale)]
    for bit in bits:
        try:
            policy.update(bit)
        except oracle.GaveUp:
            return out + ["up", hex_of(policy.scale)]
        out.append(hex_of(policy.scale))
    return out


def plain_traces(make):
    """Parameters and a trace: what defaults do in the long run, and where growth ends."""
    policy, cliff = make(), []
    for _ in range(20000):
        cliff.append(policy.scale > 2.0**12)
        policy.update(cliff[-1])
    return [({}, cliff), ({}, [False] * 33000), ({}, [True] * 200), ({}, [step % 1500 == 0 for step in range(1, 20001)]),
            ({}, [step == 11 for step in range(1, 5001)]), ({"growth_interval": 1}, [False] * 300)]


def main():
    oracle.self_test()
    untold = set(tables_of(sys.argv[2])["changing_scalers"]) - {OURS.get(name, name) for name in oracle.POLICIES}
    assert not untold, f"no oracle of {untold}"
    draw = random.Random(17)
    cases, lines = [], []
    for name, make in oracle.POLICIES.items():
        random_ones = [(drawn(draw, make) if draw.random() < 0.9 else {}, trace)
                       for trace in oracle.random_traces(hash_of(name), 60, 120)]
        for parameters, trace in random_ones + plain_traces(make):
            # Megatron refuses to begin beyond its floor. So do we beyond an end that was asked for, where the originals
            # go on in ways of their own; what they begin with and end at by default stays as it is.
            cap = parameters.get("cap", 2.0**24 if name == "mxnet" else oracle.INF)
            floor = parameters.get("floor", 1.0 if name == "megatron" else 0.0)
            if not parameters:
                pass
            elif "init_scale" in DRAWN[name] and name != "apex" and (floor > 0 or cap < oracle.INF):
                parameters["init_scale"] = min(max(parameters.get("init_scale", 4.0), floor), cap)
            elif name == "apex" and floor > 0:
                parameters["init_scale"] = max(parameters.get("init_scale", 4.0), floor)
            words = " ".join(f"{key}={value!r}" for key, value in ours(name, parameters).items())
            cases.append((name, parameters, theirs(make, parameters, trace)))
            lines.append(f"{OURS.get(name, name)} {words} {''.join('1' if bit else '0' for bit in trace)}")
    done = subprocess.run([sys.argv[1], "policies"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    assert len(answers) == len(cases) == 66 * len(oracle.POLICIES), len(answers)
    steps = 0
    for (name, parameters, wanted), answer, line in zip(cases, answers, lines):
        got = answer.split()[:len(wanted)]
        assert got == wanted, f"{name} {parameters}\n{line}\nours   {' '.join(got)}\ntheirs {' '.join(wanted)}"
        steps += len(wanted) - 1
    changed = sum(len(set(wanted)) > 2 for _, _, wanted in cases)
    assert changed > len(cases) / 2, changed  # a trace that moves nothing shows nothing
    print(f"{len(cases)} traces of {len(oracle.POLICIES)} policies, {steps} steps")


def hash_of(name):
    return sum(map(ord, name))


main()
