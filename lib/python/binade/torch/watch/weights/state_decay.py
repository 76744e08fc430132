# SPDX-License-Identifier: Apache-2.0
"""States of optimizers that cannot decay in the dtype that they are held in: what a step takes away is below half an ulp."""
import torch

from ...observe.tensors import FLOATING

# Of states that are multiplied by a setting in each step: the setting, its place in it, and what it is called.
DECAYS = {"exp_avg": (("betas", 0, "beta1"),), "exp_avg_sq": (("betas", 1, "beta2"),), "exp_inf": (("betas", 1, "beta2"),),
          "square_avg": (("alpha", None, "alpha"), ("rho", None, "rho")), "acc_delta": (("rho", None, "rho"),),
          "grad_avg": (("alpha", None, "alpha"),), "momentum_buffer": (("momentum", None, "momentum"),)}
SERVING = {torch.bfloat16: 0.995, torch.float16: 0.999}  # takes away more than half an ulp of any normal number
DIVIDES = frozenset(("exp_avg_sq", "exp_inf", "square_avg"))


def stuck(key, dtype, group):
    """Returns (what a setting is called, its value) if no number of a dtype, times it, is rounded to another than itself; else None.
    key: the state's name."""
    for setting, place, name in DECAYS.get(key, ()) if dtype in SERVING else ():
        value = group.get(setting)
        value = value[place] if place is not None and isinstance(value, list | tuple) else value
        # A number just below a power of two has the smallest half ulp beside itself.
        if isinstance(value, float) and 0 < 1 - value < torch.finfo(dtype).eps / 4:
            return name, value
    return None


def note_stuck_states(optimizer, parts, rows):
    """Adds to rows, a list of dicts, the states of an optimizer that cannot decay. parts: {id of a parameter: its Parts}."""
    name, states = type(optimizer).__name__, getattr(optimizer, "state", {})
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            there = states.get(parameter, {}) if id(parameter) in parts else {}
            for key, x in there.items():
                found = stuck(key, x.dtype, group) if isinstance(x, torch.Tensor) else None
                if found is not None:
                    _add(rows, {"optimizer": name, "of": key, "dtype": FLOATING[x.dtype], "setting": found[0], "value": found[1],
                                "serving": SERVING[x.dtype]}, [part.layer for part in parts[id(parameter)]])


def _add(rows, of, layers):
    row = next((row for row in rows if {key: row[key] for key in of} == of), None)
    if row is None:
        row = {**of, "layers": []}
        rows.append(row)
    row["layers"] += [layer for layer in layers if layer not in row["layers"]]


def stuck_text(rows, listed):
    """Returns lines about what note_stuck_states() found."""
    return [f"States do not decay: of {row['optimizer']}'s {row['of']} in {row['dtype']} ({listed(row['layers'])}) {row['setting']} = "
            f"{row['value']:g} takes away less than half an ulp in a step, so that it stays at the largest that it ever was"
            + (" and steps stay small once gradients have fallen" if row["of"] in DIVIDES else "")
            + f". Keep these states in FP32, take a {row['setting']} of at most {row['serving']:g}, or round stochastically."
            for row in rows]
