# SPDX-License-Identifier: Apache-2.0
"""The class Report, and how notebooks show reports and range summaries."""
from . import _binade
from ._documents import Document, page, table, text

# Widths in a picture of binades, in units of its view box.
BAR, GAP, HEIGHT, FOOT = 10, 2, 90, 26
# Where FP16 changes what becomes of a magnitude.
MARKS = ((-24, "2⁻²⁴ least subnormal"), (-14, "2⁻¹⁴ least normal"), (16, "2¹⁶ overflow"))
SHOWN = 40  # rows of a table in a notebook


def histogram(exponents, counts):
    """Returns an SVG of how the finite values that are not zero spread over binades, in which FP16's limits are marked."""
    if not exponents:
        return '<p class="dim">No finite value but zero.</p>'
    first, last = min(min(exponents), -26), max(max(exponents), -12)
    if last > 8:
        last = max(last, 18)
    shared = max(1, -(-(last - first + 1) // 400))  # binades a bar, for the whole of binary64
    total, bars = sum(counts), {}
    for e, n in zip(exponents, counts):
        bars[(e - first) // shared] = bars.get((e - first) // shared, 0) + n
    top = max(bars.values())
    step = BAR / shared
    width = (last - first + 1) * step
    out = [f'<svg viewBox="0 0 {width:g} {HEIGHT + FOOT}" width="{min(width, 900):g}" role="img" '
           f'style="max-width:100%;height:auto;font-size:9px" xmlns="http://www.w3.org/2000/svg">']
    for place, n in sorted(bars.items()):
        low = first + place * shared
        high = max(1.0, (HEIGHT - 14) * n / top)
        name = f"[2^{low}, 2^{low + shared}): {n:,} values, {_binade._percent(n / total)}"
        out.append(f'<rect x="{place * BAR + GAP / 2:g}" y="{HEIGHT - high:.2f}" width="{BAR - GAP}" height="{high:.2f}" '
                   f'fill="#4a90d9"><title>{name}</title></rect>')
    out.append(f'<path d="M0 {HEIGHT}H{width:g}" stroke="currentColor" stroke-opacity=".5" fill="none"/>')
    for exponent, name in MARKS:
        if first < exponent <= last:
            x = (exponent - first) * step
            out.append(f'<path d="M{x:g} 0V{HEIGHT + 3}" stroke="#d9534f" stroke-dasharray="3 2" fill="none"/>'
                       f'<text x="{x + 3:g}" y="8" fill="currentColor">{name}</text>')
    every = max(1, round(40 / step / 4)) * 4
    for exponent in range(-(-first // every) * every, last + 1, every):
        x = (exponent - first) * step
        out.append(f'<path d="M{x:g} {HEIGHT}v3" stroke="currentColor" stroke-opacity=".5"/>'
                   f'<text x="{x:g}" y="{HEIGHT + 14}" text-anchor="middle" fill="currentColor">2^{exponent}</text>')
    return "".join(out) + "</svg>"


def magnitude(x):
    return "–" if x is None else f"{x:.4g}"


def summary_html(s):
    counts = table(["values", "zeros", "NaN", "Inf", "negative", "smallest", "largest"],
                   [[f"{s.values:,}", f"{s.zeros:,}", f"{s.nan:,}", f"{s.inf:,}", f"{s.negative:,}", magnitude(s.smallest),
                     magnitude(s.largest)]], "RangeSummary")
    return page(counts, histogram(s.exponents.tolist(), s.counts.tolist()))


def share_cell(x, shade=True):
    """Returns a cell of a share, which is the redder the larger the share is."""
    if x is None:
        return "<td>–</td>"
    tint = f' style="background:rgba(217,83,79,{min(0.6, 0.12 + 0.5 * x):.2f})"' if shade and x > 1e-3 else ""
    return f"<td{tint}>{text(_binade._percent(x))}</td>"


def scale_words(scale):
    low, high, best = scale["s_min_log2"], scale["s_max_log2"], scale["recommended_log2"]
    if best is None:
        return scale["status"]
    return f"2^{best} ({scale['status']})" if low > high else f"2^{best} (2^{low} … 2^{high})"


def scale_head(scale):
    """Names the format and its scale."""
    if scale["own_scales"]:
        return f"Scales for {scale['format']}: each tensor its own; one for all: {scale_words(scale)}"
    return f"Loss scale for {scale['format']}: {scale_words(scale)}"


def short(name, longest=70):
    return name if len(name) <= longest else "…" + name[1 - longest:]


def worst_first(tensors, name):
    def harm(t):
        f = t["formats"][name]
        return max(f["lost_l2"] or 0, f["overflow"]["of_nonzero"])

    return sorted(tensors, key=harm, reverse=True)


class Report(Document):
    """A report on what becomes of the values of tensors in narrow formats, and which loss scale saves them; report() makes it.

    str() is the text of `binade report`, to_json() its JSON, and to_dict() the JSON as a dict.
    """

    def __init__(self, text, json, page):
        super().__init__(text, json)
        self._page = page

    @property
    def tensors(self):
        """A list with a dict for each tensor, as in the JSON."""
        return self.to_dict()["tensors"]

    @property
    def loss_scale(self):
        """The loss scale for all gradients, and why, as a dict, as in the JSON."""
        return self.to_dict()["loss_scale"]

    def save(self, path):
        """Writes the report to a file: the program's page (.html), its JSON (.json), or a row for each tensor (.csv).

        The file is written whole or not at all. Raises ValueError for other endings, OSError if the file cannot be written.
        """
        if path is None:
            raise TypeError("path: text or os.PathLike")
        _binade._save_report(self._json, self._page, path)

    def to_pandas(self):
        """Returns a pandas.DataFrame with a row for each tensor and the columns of `binade report --csv`.

        The names of columns end with the unit; shares are from 0 to 1. Columns of integers are of pandas' Int64, in which a value
        can be missing. Raises ImportError if pandas is not installed.
        """
        try:
            import pandas  # type: ignore
        except ImportError as missing:
            raise ImportError('to_pandas needs pandas: pip install "binade[pandas]"') from missing
        columns, rows = _binade._table_of_report(self._json)
        data = {}
        for (name, kind), values in zip(columns, zip(*rows)):
            if kind == "integer":
                whole = [None if x is None else int(x) for x in values]
                wide = any(x is not None and x >= 2**63 for x in whole)
                data[name] = pandas.Series(whole, dtype="object" if wide else "Int64")
            else:
                data[name] = pandas.Series(values, dtype="float64" if kind == "number" else "object")
        return pandas.DataFrame(data)

    def _repr_html_(self):
        report = self.to_dict()
        tensors, formats, scale = report["tensors"], report["options"]["formats"], report["loss_scale"]
        shown = tensors if len(tensors) <= SHOWN else worst_first(tensors, formats[0])[:SHOWN]
        head = "".join(f'<th colspan="3" style="text-align:center">{text(f)}</th>' for f in formats)
        under = "<th>lost L2</th><th>subnormal</th><th>overflow</th>" * len(formats)
        rows = []
        for t in shown:
            cells = [f'<td title="{text(t["dtype"])} {text(t["shape"])}">{text(short(t["name"]))}</td>'
                     f"<td>{int(t['values']):,}</td>"]
            for f in formats:
                of = t["formats"][f]
                cells.append(share_cell(of["lost_l2"]) + share_cell(of["subnormal"]["of_nonzero"], shade=False)
                             + share_cell(of["overflow"]["of_nonzero"]))
            cells.append(f"<td>{text(scale_words(t['loss_scale']))}</td>")
            rows.append(f"<tr>{''.join(cells)}</tr>")
        more = len(tensors) - len(shown)
        left = (f'<p class="dim">The worst {len(shown)} of {len(tensors)} tensors by {text(formats[0])}; {more} more: '
                f"str(report), to_pandas(), save('report.html').</p>" if more else "")
        binades = report["total"]["binades"]
        bound = [f"{end} by {text(short(scale['binding_' + key]))}" for end, key in (("below", "min"), ("above", "max"))
                 if scale["binding_" + key]]
        return page(
            f"<p><b>{text(scale_head(scale))}</b>"
            f"{', bound ' + ', '.join(bound) if bound else ''}. {text(scale['reason'])}"
            f"<br><span class=\"dim\">{text(scale['basis'])}</span></p>",
            histogram([b["exponent"] for b in binades], [sum(map(int, b["count"])) for b in binades]),
            f'<table><thead><tr><th rowspan="2">tensor</th><th rowspan="2">values</th>{head}'
            f'<th rowspan="2">loss scale</th></tr><tr>{under}</tr></thead><tbody>{"".join(rows)}</tbody></table>',
            left, '<p class="dim">Shares at scale 1: of the L2 norm that becomes zero, and of the finite non-zero values.</p>')
