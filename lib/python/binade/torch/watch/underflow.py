# SPDX-License-Identifier: Apache-2.0
"""Which layers gave outputs that have lost their precision below the normal range of the dtype that they have."""
from ... import _binade

HALVES = {"F16": "binary16", "BF16": "bfloat16"}
FEW = 4  # log2 of the multiples of the smallest subnormal up to which a value has fewer significant bits than E4M3's four
SHARE = 0.5  # of the L2 norm


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
