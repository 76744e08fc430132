# SPDX-License-Identifier: Apache-2.0
"""Documents: objects of what commands print, shown as text in a terminal and as a table in a notebook, and read as a dict."""
import html
import json

STYLE = (
    "<style>.binade{font:13px/1.45 system-ui,sans-serif;color:inherit;overflow-x:auto}"
    ".binade table{border-collapse:collapse;margin:.4em 0;color:inherit}"
    ".binade th,.binade td{padding:.15em .7em;text-align:right;border-bottom:1px solid rgba(128,128,128,.25);"
    "white-space:nowrap;background:none;color:inherit}"
    ".binade th{font-weight:600}.binade td:first-child,.binade th:first-child{text-align:left}"
    ".binade caption{text-align:left;font-weight:600;padding:.3em 0}.binade p{margin:.4em 0;max-width:60em}"
    ".binade .dim{opacity:.65}.binade pre{font-size:12px;line-height:1.35;background:none;color:inherit}</style>"
)


def text(x):
    return html.escape("" if x is None else str(x))


def table(columns, rows, caption="", most=400):
    """Returns an HTML table. rows: a list of lists of cells; at most `most` of them are shown."""
    head = "".join(f"<th>{text(x)}</th>" for x in columns)
    rows, more = rows[:most], len(rows) - most
    body = "".join("<tr>" + "".join(f"<td>{text(x)}</td>" for x in row) + "</tr>" for row in rows)
    if more > 0:
        body += f'<tr><td class="dim" colspan="{len(columns)}">{more:,} more: print() tells all of them</td></tr>'
    title = f"<caption>{text(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


MOST_CHARACTERS = 60_000  # of a text in a view


def clipped(x):
    """Returns the text, cut to the length that a notebook shows."""
    if len(x) <= MOST_CHARACTERS:
        return x
    return x[:x.rfind("\n", 0, MOST_CHARACTERS)] + "\n… print() tells all of it"


def page(*parts):
    return f'<div class="binade">{STYLE}{"".join(parts)}</div>'


class Document:
    """What a command of the program prints: str() is its text, to_json() its JSON, byte for byte, to_dict() a dict."""

    def __init__(self, text, json):
        self._text, self._json = text, json

    def __str__(self):
        return self._text

    def __repr__(self):
        return self._text.rstrip("\n")

    def to_json(self):
        """Returns the JSON that the program writes, as text."""
        return self._json

    def to_dict(self):
        """Returns the JSON as a new dict."""
        return json.loads(self._json)

    def __eq__(self, other):
        return isinstance(other, type(self)) and self._json == other._json and self._text == other._text

    def __hash__(self):
        return hash(self._json)

    def _repr_html_(self):
        return page(f"<pre>{text(clipped(self._text))}</pre>")


class FormatTable(Document):
    """The table of `binade formats`; format_table() makes it."""

    COLUMNS = {"name": "format", "bits": "bits", "exponent_bits": "exponent bits", "precision": "precision", "emin": "emin",
               "emax": "emax", "max": "largest", "min_normal": "least normal", "min_subnormal": "least subnormal",
               "epsilon": "epsilon"}

    def _repr_html_(self):
        rows = [[cell(row[key]) for key in self.COLUMNS] for row in self.to_dict()["formats"]]
        return page(table(self.COLUMNS.values(), rows))


class Shown(Document):
    """Numbers in formats, bit by bit; show() makes it."""


class ShownBlock(Document):
    """One block of a block format under scale rules; show_block() makes it."""


def cell(x):
    if x is None:
        return "–"
    return f"{x:.6g}" if isinstance(x, float) else str(x)
