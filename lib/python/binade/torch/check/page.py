# SPDX-License-Identifier: Apache-2.0
"""Writes the account of a check as one page (HTML) in the style of the other pages, without scripts and requests."""
import collections
import os
import string

from ... import __version__
from ..._documents import text
from .explained import explained_text

FOLDER = os.path.dirname(__file__)
TITLE = "Which products are explained"
NO_SCRIPT = """<meta http-equiv="Content-Security-Policy" content="script-src 'none'">\n"""
BODY = string.Template("""\
<header>
  <p class="kicker">binade $version</p>
  <h1>$title</h1>
  <p id="source">$source</p>
</header>
<main>
<section id="answers" aria-label="The three answers">
  <article><h2>How many?</h2><div class="prose">$many</div><div class="evidence">$strip</div></article>
  <article><h2>By what?</h2><div class="evidence">$models</div></article>
  <article><h2>What is left?</h2><div class="prose">$left</div><div class="evidence">$aside</div></article>
</section>
$tables
<section id="reading">
  <h2>How to read this</h2>
  <div class="columns">
  <dl>
    <dt>Product</dt><dd>An op of PyTorch with matrix products in it, of one dtype and operands of one size, at one place of the
    program, forward or backward. What a convolution's backward pass gives counts as two.</dd>
    <dt>As the usual instruction gives them</dt><dd>Every bit is that of one sum along K, ascending, by the architecture's usual
    instruction, with the epilogue in binary32.</dd>
    <dt>By another order or instruction</dt><dd>Bits differ from that, and a model of how the kernel may have summed gives all of
    them, in every element of every call that was compared. Other models may do so as well; the simplest is named.</dd>
  </dl>
  <dl>
    <dt>Not explained</dt><dd>No model that was looked for gives every bit. The first elements that differ are told.</dd>
    <dt>Not looked at</dt><dd>PyTorch ran it alone: beyond the calls or the seconds of comparing that were allowed, or since the
    comparison failed. Nothing is known of it.</dd>
    <dt>Looked at</dt><dd>A model is looked for with some elements, those first that differ; what is found is then held against
    every element.</dd>
  </dl>
  </div>
</section>
</main>""")


def file_text(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def framed(body):
    """The page around its body. Its own policy forbids scripts, besides what the frame's forbids."""
    page = file_text("frame.html").replace("<title>", NO_SCRIPT + "<title>")
    for placeholder, part in (('<span id="made-by"></span>', text(__version__)), ("/*BINADE_TITLE*/", TITLE),
                              ("/*BINADE_CSS*/", file_text("base.css") + file_text("page.css")),
                              ("/*BINADE_FOOTER*/", "The page asks the network for nothing."), ("/*BINADE_BODY*/", body)):
        page = page.replace(placeholder, part)
    return page


def source_of(x):
    devices = [", ".join(filter(None, (device["gpu"] or f"PyTorch on {name}", "torch " + device["torch"],
                                       device["cuda"] and "CUDA " + device["cuda"]))) for name, device in x["devices"].items()]
    return f"{text(x['arch'])} held against {text('; '.join(devices) or 'nothing')}"


def strip(count, meanings):
    parts = "".join(f'<i class="{verdict}" style="flex-grow:{n}"></i>' for verdict, n in count.items() if n)
    rows = "".join(f'<tr><th><span class="swatch {verdict}"></span>{text(meaning)}</th><td>{count[verdict]:,}</td></tr>'
                   for verdict, meaning in meanings.items())
    return f'<div class="strip" aria-hidden="true">{parts}</div><table class="small">{rows}</table>'


def models_of(x):
    usual, found = collections.Counter(), collections.Counter()
    for row in x["products"]:
        if row["verdict"] == "equal":
            usual[row["usual"]] += 1
        elif row["verdict"] == "explained":
            found[explained_text(row)] += 1
    rows = [f"<tr><th><span class=\"swatch {kind}\"></span><code>{text(name)}</code></th><td>{n:,}</td></tr>"
            for kind, models in (("equal", usual), ("explained", found)) for name, n in models.most_common()]
    return f'<table class="small models">{"".join(rows)}</table>' if rows else "<p>No product is explained.</p>"


def left_of(x, count):
    if not count["different"]:
        words = "Of what was compared, <b>nothing</b>."
    else:
        row = next(row for row in x["products"] if row["verdict"] == "different")
        words = (f"<strong class=\"lost\">{count['different']:,}</strong> products. The first is <code>{text(row['op'])}</code> "
                 f"{text(row['place'])}: {row['differing']:,} of {row['elements']:,} elements differ.")
    aside = "".join(f"<tr><th><code>{text(row['op'])}</code><small>{text(row['how'])}</small></th><td>{row['calls']:,}</td></tr>"
                    for row in x["not_compared"])
    title = '<caption>Ops with products inside that are not taken apart, and their calls</caption>'
    words += "".join(f"<br>{text(note)}." for note in x.get("notes", ()))
    return words, f'<table class="small">{title}{aside}</table>' if aside else ""


def shapes_of(row):
    return " × ".join("(" + ", ".join(map(str, shape)) + ")" for shape in row["shapes"])


def elements_of(row):
    cells = "".join(f"<tr><th>{text(x['element'])}</th><td>{float.fromhex(x['given']):.9g}</td>"
                    f"<td>{float.fromhex(x['emulated']):.9g}</td></tr>" for x in row["first"])
    return ('<table class="small elements"><thead><tr><th>element</th><th>given</th><th>emulated</th></tr></thead>'
            f"<tbody>{cells}</tbody></table>")


def row_of(row):
    by = explained_text(row) if row["by"] else row["usual"] if row["verdict"] == "equal" else ""
    notes = "".join(f"<small>{text(row[key])}</small>" for key in ("conclusion", "why") if row[key])
    shown = elements_of(row) if row["verdict"] == "different" and row["first"] else ""
    share = f"{row['differing']:,}" if row["compared"] else "–"
    return (f'<tr><th><span class="op">{text(" ".join(filter(None, (row["op"], row["part"]))))}</span> {text(row["dtype"])} '
            f'<span class="shapes">{text(shapes_of(row))}</span><small>{text(row["words"])}</small></th>'
            f'<td class="words">{text(row["place"])}</td><td>{row["compared"]:,} of {row["calls"]:,}</td>'
            f'<td>{row["elements"]:,}</td><td>{share}</td><td class="words"><code>{text(by)}</code>{notes}{shown}</td></tr>')


def tables_of(x, meanings):
    out = ""
    for verdict in ("different", "explained", "equal", "unseen"):
        rows = [row for row in x["products"] if row["verdict"] == verdict]
        if rows:
            head = "".join(f"<th>{name}</th>" for name in ("product", "place", "calls compared", "elements",
                                                           "not as usual", "explained by"))
            body = f'<thead><tr>{head}</tr></thead><tbody>{"".join(map(row_of, rows))}</tbody>'
            out += (f'<section class="figure"><div class="figure-head"><h2><span class="swatch {verdict}"></span>'
                    f"{text(meanings[verdict].capitalize())}</h2></div>"
                    f'<div class="scroll" tabindex="0" role="region" aria-label="{text(meanings[verdict])}">'
                    f'<table class="products">{body}</table></div></section>')
    return out


def page_of(x, count, meanings):
    """Returns the page. x: the dict of an account. count, meanings: how many products each verdict has, and what it means."""
    compared = sum(count.values()) - count["unseen"]
    explained = count["equal"] + count["explained"]
    many = (f"<strong>{explained:,} of {compared:,}</strong> products that were compared are given bit for bit by a model."
            if compared else "Nothing was compared.")
    left, aside = left_of(x, count)
    return framed(BODY.substitute(title=TITLE, version=text(__version__), source=source_of(x), many=many, strip=strip(count, meanings),
                           models=models_of(x), left=left, aside=aside, tables=tables_of(x, meanings)))
