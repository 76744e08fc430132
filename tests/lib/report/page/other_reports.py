# SPDX-License-Identifier: Apache-2.0
"""Other reports made from one: odd tensors, hostile names, weights among gradients, a single tensor."""

import copy
from fractions import Fraction

from report_page import MASSES

HOSTILE = "</script><script>window.hit=1</script><img src=x onerror='window.hit=2'><!-- &amp; ${x}"


def silent_tensor(like, name, status, values, zeros=0, nan=0):
    tensor = copy.deepcopy(like)
    tensor.update(name=name, status=status, values=values, zeros=zeros, nan=nan, inf=0, negative=0,
                  nonzero=0, min=None, max=None, shape=[values], binades=[])
    for numbers in tensor["formats"].values():
        numbers.update(headroom=None, sqnr_db={"0": None}, **dict.fromkeys(MASSES))
        for name in ("to_zero", "subnormal", "overflow"):
            numbers[name] = {"count": 0, "of_values": 0.0 if values else None, "of_nonzero": None}
    tensor["loss_scale"] = {"format": "binary16", "status": "no finite value", "s_min_log2": None, "s_max_log2": None,
                            "recommended_log2": None, "lost_l2_at_recommended": None, "reason": ""}
    return tensor


def with_odd_tensors(report):
    report = copy.deepcopy(report)
    like = report["tensors"][0]
    report["tensors"] += [
        silent_tensor(like, "odd/empty", "empty", 0),
        silent_tensor(like, "odd/zero", "all zero", 8, zeros=8),
        silent_tensor(like, "odd/nan", "no finite value", 8, nan=8),
        dict(copy.deepcopy(like), name=HOSTILE),
    ]
    report["skipped"] = [{"file": "odd.npz", "name": "odd/steps", "dtype": "I64", "shape": [3],
                          "reason": "integer"}]
    return report


def without_values(report):
    report = copy.deepcopy(report)
    like = report["total"]
    report["tensors"] = [silent_tensor(like, "odd/nan", "no finite value", 8, nan=8)]
    report["total"] = silent_tensor(like, "total", "no finite value", 8, nan=8)
    report["loss_scale"] = dict(report["total"]["loss_scale"], binding_max=None, binding_min=None)
    report["roles"] = []
    del report["gradients"]
    return report


def with_weights(report):
    """The same, two of whose tensors are weights."""
    report = copy.deepcopy(report)
    for tensor in report["tensors"][:2]:
        tensor["role"] = "weight"
    report["roles"].append(dict(copy.deepcopy(report["tensors"][0]), name="weight", tensors=2))
    report["loss_scale"]["basis"] = "Left out: 2 weight; no loss scale multiplies them."
    return report


def one_tensor(report, counts, exponent):
    """A report of one tensor whose binades from `exponent` on hold the given counts."""
    report = copy.deepcopy(report)
    least = [Fraction(1), Fraction(5, 4), Fraction(7, 4), Fraction(15, 8) - Fraction(1, 32),
             Fraction(15, 8)] + [2 - Fraction(1, 2 ** k) for k in (7, 8, 10, 11)]
    binades, nonzero = [], 0
    for i, count in enumerate(counts):
        whole = [int(m * 2 ** 52) for m in least]
        binades.append({"exponent": exponent + i, "count": count,
                        "sum": [str(n * m) for n, m in zip(count, whole)],
                        "sum_of_squares": str(sum(n * m * m for n, m in zip(count, whole)))})
        nonzero += sum(count)
    for tensor in (report["total"], report["tensors"][0]):
        tensor.update(values=nonzero, nonzero=nonzero, zeros=0, nan=0, inf=0, binades=binades)
    report["tensors"] = report["tensors"][:1]
    report["loss_scale"].update(s_min_log2=-30, s_max_log2=20)
    return report
