# SPDX-License-Identifier: Apache-2.0
"""Which finding excludes which conclusion, so that no sentence of an advice contradicts another one."""
import dataclasses
import typing

from .alerts import GRADIENTS
from .weights.lost_updates import FORMATS, NARROW, decays_lost, is_lost

COPY = "{} with a copy in FP32"  # {}: the format of the verdict
NO_ANSWER = ": this is no answer for a run that trains, which may need wider ones"


def loses_narrow(of):
    rows = [row for row in of["lost_updates"] if FORMATS[row["dtype"]] in NARROW]
    return any(is_lost(row["lost"], row["asked"]) for row in rows) or bool(decays_lost(rows))


@dataclasses.dataclass(frozen=True)
class Excludes:
    """when(of): whether the dict of an advice holds the finding. roles: {role: what the verdict says instead of a format, None if that is
    not known}. why: the reason. but: what "no layer needs FP32" leaves out, "" if nothing."""

    when: typing.Callable
    roles: dict
    why: str
    but: str = ""


FINDINGS = (
    Excludes(lambda of: of["spoiled"], dict.fromkeys(("dW", "update", "state")),
             "the order of calls gave the optimizer other gradients than the run's"),
    Excludes(lambda of: of["died"], dict.fromkeys(("dAct", "dW")), "most of what they were may have become zero"),
    Excludes(lambda of: of["eps"], {"state": "FP32", "weight": COPY}, "the optimizer's eps is 0 in the dtype that they have",
             "the states of the optimizer whose eps is 0"),
    Excludes(lambda of: of["stuck_states"], {"state": "FP32"}, "some do not decay in the dtype that they have", "states that do not decay"),
    Excludes(loses_narrow, {"weight": COPY}, "updates or decay are lost", "a copy of the weights that lose updates or decay"),
    Excludes(lambda of: any(" hold Inf" in line for line in of["buffers"]), {}, "", "running statistics that hold Inf"),
    Excludes(lambda of: of["loss_scale"]["status"] == "empty interval", {}, "", "gradients that no loss scale serves beside the others"),
)


def excluded(of):
    """Returns {role: {"instead", "why"}} of the roles of which the verdict's format is none beside another finding."""
    out = {}
    for finding in FINDINGS:
        if finding.when(of):
            for role, instead in finding.roles.items():
                out.setdefault(role, {"instead": instead, "why": finding.why})
    return out


def but_for(of):
    """Returns what "no layer needs FP32 for its range" leaves out, as text; "" if nothing."""
    return "; ".join(finding.but for finding in FINDINGS if finding.but and finding.when(of))


def concluded(verdict, excluded, ill):
    """Returns the lines of a verdict, a dict, beside what is excluded and beside a run that was not finite, as ill_of() gives it."""
    if not verdict["roles"]:
        return verdict["text"]
    formats = {row["role"]: row["format"] or "binary32" for row in verdict["roles"]}
    said = {role: format if role not in excluded else (excluded[role]["instead"] or "").format(format) for role, format in formats.items()}
    words = ", ".join(f"{role} in {format}" for role, format in said.items() if format)
    head, *rest = verdict["text"]
    out = [limited(f"{words}:{head.partition(':')[2]}", ill)] if words else []
    for line in rest:
        role = line.partition(":")[0]
        if role in formats and role in excluded and excluded[role]["instead"] != COPY:
            line = f"{role}: {excluded[role]['instead'] or 'not known'}, since {excluded[role]['why']}."
        if ill["finite"] and role in GRADIENTS:
            line = line.replace(" NaN or Inf, about", " NaN or Inf, in steps that were skipped, about")
        out.append(line)
    return out


def limited(head, ill):
    """Returns the verdict's first line with what it is true of."""
    if ill["finite"] and not ill["dead"]:
        return head
    if "of the finite values alone" not in head:
        return f"{head[:-1]} of the finite values alone{NO_ANSWER if ill['dead'] else ''}."
    return head.replace(", and went on with finite weights", NO_ANSWER) if ill["dead"] else head
