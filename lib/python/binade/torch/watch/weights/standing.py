# SPDX-License-Identifier: Apache-2.0
"""Whether weights in FP32 or FP64, which lose most of their updates, stay where they are. A branch that begins with zeros, and a warm-up,
lose most at first and less in each step; that is no illness."""
from .... import _binade

LEAST, FEW = 8, 3  # counted steps that tell, and those from which on it is said that they are too few
GROWS = 0.02, 1.5  # the share of updates that move a weight is larger in the later half by so much, and so many times as large


def halves(run):
    """Returns {layer: (steps in which its weights were to change, sums of the earlier and later half of these, the last window's)}."""
    of = {}
    for window in run.windows:
        for layer, counts in window.updates.items():
            if counts.asked:
                of.setdefault(layer, []).append((window.steps, counts))
    out = {}
    for layer, rows in of.items():
        middle = len(rows) // 2
        sums = [_binade._UpdateCounts(), _binade._UpdateCounts()]
        for at, (_, counts) in enumerate(rows):
            sums[at >= middle] = sums[at >= middle] + counts
        out[layer] = sum(steps for steps, _ in rows), *sums, rows[-1][1]
    return out


def grows(early, late):
    """Returns whether updates move more weights, or become larger beside the weights' ulps."""
    if not early.asked:
        return False
    before, after = (1 - x.lost / x.asked for x in (early, late))
    by, times = GROWS
    sizes = early.median_log2_of_ulp, late.median_log2_of_ulp
    return after >= max(before + by, times * before) or (None not in sizes and sizes[1] > sizes[0])


def standing(of, ill):
    """Returns what halves() of a layer tell: "stays" if its later updates are lost as the earlier ones, "few" of too few steps to know,
    "moves" if not, and None of one or two steps. ill(lost, asked): whether so many are too many."""
    steps, early, late, last = of
    if not ill(late.lost, late.asked) or not ill(last.lost, last.asked) or grows(early, late):
        return "moves"
    return "stays" if steps >= LEAST else "few" if steps >= FEW else None
