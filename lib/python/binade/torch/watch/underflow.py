# SPDX-License-Identifier: Apache-2.0
"""Which layers gave outputs that have lost their precision below the normal range of the dtype that they have, and which gradients
lie so near its smallest subnormal that most of what they were may be zero already."""
import math

from ... import _binade
from .alerts import GRADIENTS, log2_of
from .values.residues import norm_log2

HALVES = {"F16": "binary16", "BF16": "bfloat16"}
NAMES = {"binary16": "FP16", "bfloat16": "BF16"}
FEW = 4  # log2 of the multiples of the smallest subnormal up to which a value has fewer significant bits than E4M3's four
SHARE = 0.5  # of the L2 norm
GAIN = 4  # binades by which a loss scale must grow to lift gradients off the floor


def with_underflow(kept, layers, merged):
    """Returns the layers to keep in FP32 with those of which more than half of the L2 norm of all outputs lies in values of so few
    bits. Zeros beside larger values are no sign of it, as a ReLU and a dropout make them."""
    rows = {row["layer"]: row for row in kept}
    for (layer, role), summary in merged.items():
        format = HALVES.get(layers[layer, role].dtype)
        if role != "act" or format is None or not summary.nonzero:
            continue
        # Divided by 2^FEW, a value of at most 2^(FEW - 1) smallest subnormals is at most half of one, and rounds to zero.
        if summary.becomes(format, -FEW)["lost_l2"] > SHARE:
            subnormal = summary.becomes(format)["subnormal"]["of_values"]
            text = (f"act: its outputs underflow: {_binade._percent(summary.zeros / summary.values)} are zero and "
                    f"{_binade._percent(subnormal)} subnormal in {format}, the largest is {summary.largest:.2g}")
            rows.setdefault(layer, {"layer": layer, "reasons": []})["reasons"].append(
                {"role": role, "what": "underflow", "text": text})
    return list(rows.values())


def by_scale(run, layers):
    """Returns {(layer, role): {log2 of the loss scale in use: RangeSummary}} of the gradients that bind a loss scale."""
    out = {}
    for window in run._windows:
        for key, summary in window.summaries.items():
            if key in layers and key[1] in GRADIENTS and layers[key].binds is not False:
                of, scale = out.setdefault(key, {}), log2_of(window.loss_scale)
                of[scale] = of[scale] + summary if scale in of else summary
    return out


def held_in(dtype, sums, any_half):
    """Returns the narrow format that a gradient was held in, or None, as a report tells it (lib/report/held_floor.h)."""
    least = min((int(summary.exponents[0]) + scale for scale, summary in sums.items() if summary.nonzero), default=0)
    return _binade._held_in(dtype, any_half, sum(summary.nonzero for summary in sums.values()), least)


def died(run, layers, left):
    """Returns a row for each gradient of which more than half of the L2 norm lies within 16 of the smallest subnormals of the format
    that it was held in, at the loss scale in use, and of which some values are zero: layer, role, format, share, zeros. Gradients
    in `left` are rounding alone. Zeros beside larger values are no sign, as a ReLU and a dropout make them. Nor is the gradient of a
    bias, a sum of what its layer's output or weight tells of: where these live, it is small because its terms cancel."""
    any_half = any(of.dtype == "F16" for of in layers.values())
    rows = []
    for (layer, role), sums in by_scale(run, layers).items():
        format = held_in(layers[layer, role].dtype, sums, any_half)
        zeros, values = (sum(getattr(x, key) for x in sums.values()) for key in ("zeros", "values"))
        owner = layer.removesuffix(".bias")
        told = role == "dW" and owner != layer and not layers.keys().isdisjoint({(owner, "dAct"), (owner, "dW")})
        if format is None or not zeros or told or (layer, role) in left:
            continue
        norms = {scale: norm_log2([summary]) for scale, summary in sums.items() if summary.nonzero}
        if not norms:
            continue
        top = max(norms.values())
        squares = {scale: 4.0 ** (norm - top) for scale, norm in norms.items()}
        low = sum(square * _binade._share_at_floor(sums[scale], format, scale) ** 2 for scale, square in squares.items())
        share = math.sqrt(low / sum(squares.values()))
        if share > SHARE:
            rows.append({"layer": layer, "role": role, "format": format, "share": share, "zeros": zeros / values})
    return rows


def larger_scale(scale):
    """Returns log2 of a loss scale of FP16 that is larger than the one in use by so much that it helps, and fits; or None."""
    best = scale["recommended_log2"] if scale["format"] == "binary16" else None
    return best if best is not None and best >= (scale["used_log2"] or 0) + GAIN else None


def with_died(kept, rows, scale):
    """Returns the layers to keep in FP32 with those of gradients that died() names, where no larger loss scale fits."""
    if scale["format"] != "binary16" or larger_scale(scale) is not None:
        return kept
    out = {row["layer"]: {**row, "reasons": list(row["reasons"])} for row in kept}
    for row in rows:
        text = (f"{row['role']}: it underflows: {_binade._percent(row['zeros'])} of its values are zero in {row['format']}, and most "
                "of the rest is within 16 of its smallest subnormals")
        out.setdefault(row["layer"], {"layer": row["layer"], "reasons": []})["reasons"].append(
            {"role": row["role"], "what": "underflow", "text": text})
    return list(out.values())


def formats_in(rows):
    """Returns the formats of what died() names, as text; "" of none."""
    return " and ".join(dict.fromkeys(NAMES[row["format"]] for row in rows))


def died_text(rows, already_zero, scale, listed, overflowed_log2):
    """Returns lines about gradients that died: those that died() names, or the share of zeros among all in FP16 where some step's
    lie at the floor of what they were held in, or nothing is left. listed(names): some names in words. overflowed_log2: log2 of the lowest
    scale at which gradients were not finite; None."""
    used, larger = scale["used_log2"], larger_scale(scale)
    at = "without a loss scale that is known here" if used is None else f"at the loss scale 2^{used}"
    watch = ", or one with a loss scale" if used is None else f", or one with a larger loss scale than 2^{used}"
    watch += "" if larger is None else f", such as 2^{larger}"
    if larger is None and overflowed_log2 is not None and (used is None or overflowed_log2 <= used + 1):
        watch = ""
    if rows:
        names = listed([f"{row['layer']} {row['role']}" for row in rows])
        zeros = sorted(row["zeros"] for row in rows)
        many = _binade._percent(zeros[0]) + (f" to {_binade._percent(zeros[-1])}" if len(zeros) > 1 else "")
        remedy = (f"Use a larger loss scale: 2^{larger} fits without overflow." if larger is not None else
                  f"No loss scale that is larger by {GAIN} binades fits: keep these layers in FP32." if scale["format"] == "binary16" else
                  "Use a larger loss scale, or keep these layers in FP32.")
        return [f"Gradients underflow in {formats_in(rows)}, {at}: {many} of their values are zero, and more than half of the norm of what is left "
                f"lies within 16 of the smallest subnormals, of {names}. {remedy} From which scale on too little is lost is not known "
                f"of this run: watch one in FP32{watch}."]
    if already_zero is not None and (scale["at_floor"] or already_zero == 1):
        return [f"The run had gradients in FP16: {_binade._percent(already_zero)} of their values are zero. Which scale "
                f"those need that became zero cannot be told from what is left: watch a run in FP32{watch}."]
    return []
