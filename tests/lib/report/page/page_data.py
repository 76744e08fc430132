# SPDX-License-Identifier: Apache-2.0
"""The data of a report's page, computed from the report's JSON: the oracle of lib/report/page_data.cpp. Tests also use it to put
another report into a page. Formats are those of page_data.h; numbers are Python's integers and fractions."""

import base64
import json
import math
import re
import zlib
from fractions import Fraction

DATA = re.compile(r'(<script type="text/plain" id="report">)([^<]*)(</script>)')
NONE = 255


def unpacked(page):
    """The line and the bytes that a page's text holds."""
    line, _, planes = zlib.decompress(base64.b64decode(DATA.search(page)[2], validate=True)).partition(b"\n")
    return json.loads(line), planes


def put(page, line, planes=b""):
    """The same page around other data."""
    data = base64.b64encode(zlib.compress(json.dumps(line).encode() + b"\n" + planes)).decode()
    return DATA.sub(lambda found: found[1] + data + found[3], page)


def code(share):
    """A share in a byte."""
    if share is None or share in (0, 1):
        return {None: NONE, 0: 0, 1: 250}[share]
    return min(max(math.floor(250 * float(share) ** 0.25 + 0.5), 1), 249)


def share(code):
    return None if code == NONE else (code / 250) ** 4


def plane(planes, at, series, steps):
    """Rows of bytes from their differences."""
    rows = []
    for s in range(series):
        row, now = [], 0
        for difference in planes[at + s * steps: at + (s + 1) * steps]:
            now = (now + difference) % 256
            row.append(now)
        rows.append(row)
    return rows


def numbers(planes, at, series, steps):
    high, low = plane(planes, at, series, steps), plane(planes, at + series * steps, series, steps)
    return [[None if (h, b) == (0, 0) else h * 256 + b - 32768 for h, b in zip(*row)] for row in zip(high, low)]


def millionths(total, power, count):
    """The mean of significands to a power, less 1, in millionths, from the sum of their integers of 53 bits."""
    return math.floor((Fraction(int(total), count * 2 ** (52 * power)) - 1) * 10**6 + Fraction(1, 2))


def number(text):
    return int(text) if isinstance(text, str) else text


def columns(tensors, options):
    table = {name: [t[name] for t in tensors] for name in ("name", "file", "role", "dtype", "shape", "status")}
    table.update({name: [number(t[name]) for t in tensors] for name in ("values", "zeros", "nan", "inf", "min", "max")})
    table["tie"] = [tie_of(t["loss_scale"]) for t in tensors]
    table["advice_format"] = [t["advice"]["format"] for t in tensors]
    table["advice"] = [t["advice"]["text"] for t in tensors]
    rounded = lambda db: None if db is None else round(db, 3)
    table["sqnr_db"] = {f: {str(k): [rounded(t["formats"][f]["sqnr_db"][str(k)]) for t in tensors]
                            for k in options["scales_log2"]} for f in options["formats"]}
    table["rows"] = [len(t["binades"]) for t in tensors]
    table.update(exponent=[], count=[[] for _ in range(9)], mean=[], mean_square=[])
    for tensor in tensors:
        before = 0
        for row in tensor["binades"]:
            table["exponent"].append(row["exponent"] - before)
            before = row["exponent"]
            counts = [number(n) for n in row["count"]]
            for column, n in zip(table["count"], counts):
                column.append(n)
            table["mean"].append(millionths(sum(map(int, row["sum"])), 1, sum(counts)))
            table["mean_square"].append(millionths(row["sum_of_squares"], 2, sum(counts)))
    return table


def tie_of(scale):
    """The largest power of two that a tensor can lose, from the smallest scale that serves in the format of its scale."""
    lost = {"binary16": -25, "bfloat16": -134, "tf32": -137, "e5m2": -17, "e4m3": -10}[scale["format"]]
    return None if scale["s_min_log2"] is None else lost - scale["s_min_log2"]


def is_gradient(role):
    return role in ("dAct", "dW", "grad")


def scaled_count(report):
    """How many tensors the loss scale is taken from: what its basis says, where it says a number."""
    said = re.search(r"Taken from (\d+) gradient", report["loss_scale"].get("basis") or "")
    if said:
        return int(said[1])
    return sum("gradients" not in report or is_gradient(t["role"]) for t in report["tensors"])


def row_of(report, name):
    return next((i for i, t in enumerate(report["tensors"]) if t["name"] == name), None)


def line_of(report):
    """The line of a report without a time axis."""
    gradients = report.get("gradients")
    line = {name: report[name] for name in ("schema", "binade", "options", "files", "skipped", "formats", "segments")}
    groups = [report["total"], *([gradients] if gradients else []), *report["roles"]]
    line.update(
        hint=report["hint"] or "", verdict=report["verdict"], watched=None,
        passed_over=gradients["passed_over"] if gradients else None,
        tensor_count=len(report["tensors"]), role_counts=[role["tensors"] for role in report["roles"]],
        scaled_count=scaled_count(report), groups=columns(groups, report["options"]), tensors=columns(report["tensors"], report["options"]), time=None)
    line["groups"]["shape"] = [None] * len(groups)
    rows = {f"row_of_{end}": row_of(report, report["loss_scale"][f"binding_{end}"]) for end in ("max", "min")}
    line["loss_scales"] = [dict(report["loss_scale"], format=name, own_scales=name in ("e5m2", "e4m3"), **rows)
                           for name in report["options"]["formats"]]
    return line
