# SPDX-License-Identifier: Apache-2.0
"""Writes the texts of Invariance and Comparison."""
import collections

from ..check.explained import explained_text

SHOWN = 12  # ops of a list
COLUMNS = ("same", "variant", "mixes rows", "after mixed rows", "row not followed", "unsteady", "other ops")

FOLLOWED = ("same", "variant")  # statuses of results in which the row was compared
LISTED = {"mixes rows": "Mixes rows", "row not followed": "Row not followed in", "unsteady": "Not the same in two equal runs"}
BESIDE = {"mixes rows": "mixing rows", "after mixed rows": "after mixed rows",
          "row not followed": "in which the row is not followed",
          "unsteady": "not the same in two equal runs", "other ops": "without a counterpart"}


def place_text(op):
    return ", ".join(filter(None, (op["op"], op["module"] and f"of {op['module']}", op["site"])))


def shapes_text(op):
    def text(shapes):
        return " ".join("[" + ", ".join(map(str, shape)) + "]" for shape in shapes)

    return f"{text(op['inputs'])} → {text(op['outputs'])}"


def sizes_text(sizes):
    words = [str(x) for x in sizes]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def difference_text(of):
    line = f"{of['different']:,} of {of['elements']:,} elements differ"
    if of["ulps"] is not None:
        line += f", by {of['ulps']:,} ulp at most"
    elif of["largest"] is not None:
        line += f", by {of['largest']:.3g} at most"
    return line


def output_text(of):
    """Returns text of how one output of two functions differs."""
    place = f"output {of['output']}: " if of.get("output") else ""
    return place + (of.get("why") or difference_text(of))


def order_text(of):
    """Returns text of one of the explanations."""
    return f"{explained_text(of)}; {of['conclusion']}" if of["by"] else of["conclusion"]


def table_text(ops):
    """Returns a table of how many ops of each name have which status."""
    counts = collections.defaultdict(collections.Counter)
    for op in ops:
        counts[op["op"]][op["status"]] += 1
    held = {name: of for name, of in counts.items() if set(of) & set(COLUMNS)}
    columns = [x for x in COLUMNS if any(of[x] for of in held.values())]
    width = max(map(len, held), default=0)
    out = [" " * (width + 2) + "".join(f"  {x}" for x in columns)]
    for name, of in held.items():
        out.append(f"  {name:<{width}}" + "".join(f"  {of[x] or '':>{len(x)}}" for x in columns))
    return out if held else []


def text_of(of):
    """Returns the text of an Invariance, from its dict."""
    sizes = sizes_text([x["batch"] for x in of["batches"]])
    named = collections.Counter(op["status"] for op in of["ops"][:-1])
    held = named["same"] + named["variant"]
    beside = [f"{named[x]} {words}" for x, words in BESIDE.items() if named[x]]
    ops = "1 op holds the row and gives" if held == 1 else f"{held} ops hold the row and give"
    if of["first"] is not None and not held:
        out = ["A row's bits depend on its batch in what the function gives; no op was seen that holds the row"]
    elif of["first"] is not None:
        out = [f"A row's bits depend on its batch: {ops} it the same bits alone and in batches of {sizes}, but for "
               f"{named['variant']}"]
    elif held:
        out = [f"A row's bits do not depend on its batch: {ops} it the same bits alone and in batches of {sizes}"]
    else:
        out = ["Nothing was compared: no op holds the row where it could be followed"]
    out[0] += f"; beside them {', '.join(beside)}." if beside else "."
    if of["opaque"]:
        out = opaque_head(of) + out
    if of["made_rows"]:
        out.append(f"{of['made_rows']} of the rows that it rode with were made of the elements given.")
    result = result_text(of["batches"], of["ops"][-1]["status"])
    if of["first"] is not None:
        out += ["", *first_text(of["first"]), *result]
    elif of["ops"][-1]["status"] != "same" or of["opaque"]:
        out += result
    for status, words in LISTED.items():
        listed = [place_text(op) for op in of["ops"] if op["status"] == status]
        if listed:
            out += ["", f"{words}:", *(f"  {x}" for x in listed[:SHOWN])]
            out += [f"  and {len(listed) - SHOWN} more"] if len(listed) > SHOWN else []
    table = table_text(of["ops"][:-1])
    out += ["", *table] if table else []
    out += [f"Note: {x}." for x in of["notes"]]
    return "\n".join(out) + "\n"


def opaque_head(of):
    """Returns the first lines about an Invariance of an opaque function."""
    if of["ops"][-1]["status"] in FOLLOWED:
        sizes = sizes_text([x["batch"] for x in of["batches"]])
        does = "depend" if of["variant"] else "do not depend"
        out = [f"Called as it is, what the function gives of a row has bits that {does} on the batch (alone and in batches of {sizes})."]
    else:
        out = ["What the function gives when it is called cannot be judged, since the row cannot be followed in it."]
    listed = ", ".join(of["opaque"][:SHOWN]) + (" …" if len(of["opaque"]) > SHOWN else "")
    return [*out, f"It is opaque in part: {listed}. What follows is of the ops of a recorded run, in which nothing is compiled and only "
            "what torch dispatches is seen.", ""]


def first_text(op):
    out = [f"First: {place_text(op)}, {shapes_text(op)} alone"]
    for row in op["differs"]:
        at = "every place tried" if len(row["places"]) == row["of_places"] else f"place {sizes_text(row['places'])}"
        names = op.get("instead", {}).get(str(row["batch"]))
        out.append(f"  in a batch of {row['batch']}{f' ({chr(44).join(names)})' if names else ''}, at {at}: "
                   f"{difference_text(row)}")
    if op.get("after_lost"):
        out.append("  what it got came through an op in which the row was not followed, so that it need not be the first")
    if isinstance(op["orders"], str):
        return [*out, f"  not explained: {op['orders']}"]
    for row in op["orders"]:
        out.append(f"  {'in batches of ' + sizes_text(row['batches']) if row['batches'] else 'alone'}: {order_text(row)}")
    return out


def result_text(batches, status):
    differing = [x for x in batches if x["result"]]
    if not differing:
        compared = status in FOLLOWED
        return ["What the function gives has the same bits in all of them." if compared else
                f"What the function gives is not compared ({status})."]
    return [f"What the function gives, in a batch of {x['batch']}: {difference_text(x['result'])}." for x in differing]


def opaque_lines(of):
    """Returns lines about what a Comparison could not see op by op."""
    out = []
    for key in "ab":
        x, name = of[key], key.upper()
        if x["opaque"]:
            listed = ", ".join(x["opaque"][:SHOWN]) + (" …" if len(x["opaque"]) > SHOWN else "")
            gave = f"other bits than the call: {x['recorded']}" if x["recorded"] else "the bits of the call"
            out.append(f"{name} is opaque in part: {listed}. Its ops are those of a recorded run, in which nothing is compiled and "
                       f"only what torch dispatches is seen; that run gave {gave}.")
        elif x["recorded"]:
            out.append(f"While the ops of {name} were recorded, it did not give what it gives when it is called: {x['recorded']}.")
    return out


def comparison_text(of):
    """Returns the text of a Comparison, from its dict."""
    differing = [x for x in of["results"] if "why" in x or x["different"]]
    if of["equal"]:
        out = ["What both give has the same bits."]
    elif differing:
        out = ["What both give differs: " + "; ".join(map(output_text, differing)) + "."]
    else:
        out = ["Not known whether both give the same: all that was seen has the same bits."]
    out += [f"Of what {key.upper()} gives is not seen: {'; '.join(of[key]['unseen'])}." for key in "ab" if of[key]["unseen"]]
    if of["a"]["values"] == of["b"]["values"] != "nothing":
        out.append(f"Both give {of['a']['values']}, too, which is no tensor.")
    out += opaque_lines(of)
    out.append(f"A ran {of['a']['ops']} ops that compute, of {of['a']['common']} of which B has the result, too; "
               f"B {of['b']['ops']}, of {of['b']['common']} of which A has.")
    first = of["first"]
    if first is None:
        alone = " and ".join(f"of {key.upper()} {place_text(of[key]['first'])}" for key in "ab" if of[key]["first"])
        unseen = [key.upper() for key in "ab" if of[key]["recorded"]]
        seen = " that was seen" if not of["equal"] or any(of[key]["recorded"] or of[key]["opaque"] for key in "ab") else ""
        out.append(f"Where they part is not seen, since {' and '.join(unseen)} did not give it while ops were recorded."
                   if unseen and not alone and not of["equal"] else
                   f"No op{seen} gave other bits from the same values." if of["equal"] or not alone else
                   f"No two ops were found that gave other bits from the same values; without a counterpart is first {alone}.")
    else:
        parted = "they part, and meet again" if of["equal"] else "they part"
        parted += " while they are recorded" if of["a"]["recorded"] or of["b"]["recorded"] else ""
        out += ["", f"Where {parted}:"]
        for key in "ab":
            x = first[key]
            out.append(f"  {key.upper()}: {place_text(x)}, {shapes_text(x)} {x['dtypes'][0]}")
            if x["through"]:
                more = " …" if len(x["through"]) > SHOWN else ""
                out.append(f"     after {', '.join(x['through'][:SHOWN])}{more}, which the other has not")
            out += [f"     its operand {n + 1}, {x['inputs'][n]}, is not found in the other" for n in x["foreign_inputs"]]
        out.append(f"  from the same values: {difference_text(first)}")
        for key in "ab":
            x = first[key]
            if isinstance(x["orders"], str):
                continue
            made_by = "" if x["orders_of"] == {k: x[k] for k in x["orders_of"]} else f" ({x['orders_of']['op']} before it)"
            out.append(f"  {key.upper()}{made_by}: {order_text(x['orders'])}")
    out += [f"Note: {x}." for x in of["notes"]]
    return "\n".join(out) + "\n"
