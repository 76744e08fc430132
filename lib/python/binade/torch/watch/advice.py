# SPDX-License-Identifier: Apache-2.0
"""What a watched run suggests: a loss scale, a format for each layer, layers to keep in FP32, and what autocast's casts lose."""
import copy
import dataclasses
import html
import json
import re
import textwrap

from ... import _binade
from ..._documents import Document, page, table
from .alerts import GRADIENTS, log2_of
from .conclusions import but_for, concluded, excluded
from .early import early_text, seen_before
from .gaps import uncounted_text
from .ill import eps_text, ill_of, none_kept, of_training
from .loop.disproved import bounded, overflowed_log2
from .loop.diverging import diverging, diverging_text
from .loop.order import order_text
from .loop.own_ills import hidden_text
from .loop.settings import idle, idle_text, wrong_text
from .loop.skips import bare_text
from .loop.spoiled import caveats, may_diverge_by, spoiled, withheld
from .underflow import HALVES, NAMES, died, died_text, formats_in, with_died, with_underflow
from .values import positions
from .values.compiled import compiled_in
from .values.residues import belongs, drowns, residues_text
from .values.silent import silent_in_fp16
from .values.sums import drowns_in_sums
from .values.told import ill_ranges, no_format, no_format_text, together, with_inside
from .values.words import in_words, shown
from .weights.bound import unbound_text
from .weights.dead import untrained, untrained_text, zeroed_text
from .weights.dies import dies, dies_text, parts_die, parts_die_text
from .weights.factors import zero_weights, zero_weights_text
from .weights.frozen import moved_text
from .weights.lost_updates import lost_rows, lost_text, wide_decay_text
from .weights.refreshed import refreshed_text
from .weights.state_decay import stuck_text

SHOWN = 12  # layers of a list in the text
OF_THE_RUN = frozenset(("inside", "underflow"))  # reasons to keep a layer in FP32 that are no matter of another format


class Advice(Document):
    """Advice that follows from a watched run; Run.advise() makes it. str() is text for people, to_dict() for programs.

    The keys of the dict are:

    verdict       as in a report's JSON: by role, the narrowest format that keeps range and precision, and what holds it back
    loss_scale    as in a report's JSON: the format, the interval, which tensors set its ends, the recommended scale, how near to
                  overflow the run comes there; used_log2: log2 of the last scale in use, or None
    formats       a dict for each layer and role: format, the narrowest of e4m3, e5m2, binary16 and bfloat16 whose range holds
                  the values; s_min_log2 and s_max_log2, between which a scale for this layer must lie; text; and status: "ok",
                  "all zero", "no finite value", "not finite" of what held Inf or NaN, "underflow" of what is in `died`, "of underflow" of
                  gradients of weights that are made of it, "order of calls" of those in `spoiled`, or
                  "ill inside" where an op inside did or made zero what is not
    spoiled       what the gradients of weights are that were counted, where the order of calls made others than the run's of them: they
                  give no loss scale then
    may_diverge_by_order  whether a mistake in the order of calls that enlarges gradients came before the first Inf or NaN
    excluded      a dict by role, of what the verdict's text says of it beside another finding: instead of its format, None if that is
                  not known, and why
    uncounted     a line about what of the model was not counted, where that is a tenth of its parameters or more, else none
    refreshed     lines about FP32 weights, as master copies, that are rounded between steps, so that most of what these change is lost
    diverges      of a training whose weights grew from step to step until something overflowed: layer, with the largest weights, least and
                  most, the largest of them at first and at last, steps, between these, others, how many more layers grew so, change,
                  the largest update's share of the weights, by norms, finite, whether nothing was Inf or NaN, scaled, whether steps
                  were made with scaled gradients, and settings, whether some of an optimizer's are wrong; else None. Nothing is then told to be kept in FP32, or to need more range than that
    not_finite    finite: whether the run was, but for Inf that is meant, what reached no weight and steps that a scaler
                  skipped; dead: whether its last
                  steps trained nothing, or nothing of an optimizer; spared: whether Inf or NaN reached no weight; skipped: steps that a scaler, or the
                  loop itself, skipped; by_scale: whether a loss scale of the loop's own is the cause; unlooked: the step in
                  which Inf or NaN arose, if none such was looked into; lines: all that in words
    untrained     layers: the weights whose gradients were all zero in all counted steps, with the number of these; reached: those
                  whose outputs had gradients; unfed: those of `reached` that got nothing but zeros; order: the step in which the
                  loop took gradients away, if that may be why; zeros: layers whose outputs were all zero; negative: those of
                  `layers` whose outputs were all negative, as before a dead ReLU; underflow: layers of which FP16 may have made
                  the zeros; silent: compiled parts among `zeros` that got others; opaque: those of `layers` inside of compiled parts that
                  gradients reached, inside_of, these parts, of_fp16: whether FP16 was seen; hidden: the overflow of which an op made them, as text, or ""; unheld, unheld_share: layers with parameters that no optimizer holds, and their share of all; orphans:
                  {optimizer: parameters that it holds, no model has and no gradient reached}; detached, unused, under_no_grad: layers that no
                  gradient reached in any step, by whether they gave outputs; gradless: lines about optimizers that no
                  gradient reached in any step; stays: lines about models beside whose narrow weights are written to and hardly change; saturated: {layer: text} of activations all of whose outputs have a slope of zero;
                  flat: the same of smooth ones, as GELU, in the last steps, where that is next to zero; empty: layers that got no rows in any step;
                  cuts: lines about ops whose backward gave nothing but zeros of gradients that were not, in all steps looked into
    dies          weights that learned, and most of whose units were dead before a ReLU from some step on: layer, since, that step, steps,
                  how many counted ones since, share, the part of the weight without a gradient, and moved_log2, log2 of the last update before it beside the weight, by their norms
    parts_die     compiled parts whose outputs and gradients all became zero in the run: layer, since, steps, moved_log2 as of dies; of_fp16
    zero_weights  those of `untrained` whose weights stay zero since both factors of a product are, and vectors that are such a factor
    died          gradients of which most may have become zero in the format that they were held in: layer, role, format, share, that of
                  the norm that lies within 16 of its smallest subnormals, and zeros, the share of the values that are zero
    keep_fp32     the layers that FP16 harms even at the recommended loss scale, those whose outputs underflow in their own dtype,
                  and those in which an op overflowed, made NaN or made zero what is not in less range than FP32's, with reasons
    no_format     what no format helps, as 0/0 or the slope of a root at zero, or FP32 does not: layer, text, cure, what to do instead,
                  cause, wide, whether it is FP32 itself that has too little range, and may, whether a narrow format may have made
                  what it is infinite or undefined at
    eps           eps of optimizers that are 0 in the dtype of their states, with the parameters
    stuck_states  states that cannot decay in their dtype: optimizer, of, the state, dtype, setting, that which it is multiplied by in
                  each step, value, serving, a value at which it decays, and layers
    by_hand       lines about models of which no optimizer holds a parameter, whose weights do not change or lose updates
    settings      lines about settings of optimizers that are Inf or NaN, learning rates below 0 and momenta of 1, and about steps without a loss
                  scale after others with one
    ranks         lines about ranks that hold different models, in the advice of a Run of several processes
    moved         lines about frozen weights that an optimizer goes on moving
    running       lines about running statistics of BatchNorms that stand still in narrow buffers
    buffers       lines about running statistics of norms, and other buffers, that hold Inf or NaN at the end of a run that trains
    positions     lines about positions of which a narrow dtype makes one number of neighbours, before cosines or sines of them
    idle          optimizers whose learning rate was 0 in all of their steps, two or more, or in many that come last: optimizer, layers, steps,
                  whole, whether these are all of them, schedule, why, as text, and since, the first of those that come last, else None
    unbound       a dict for each layer and role of gradients that stay in FP32 under autocast (or would), as those of a loss do:
                  they bind no loss scale
    residues      a dict for each layer and role of gradients that are no more than rounding in their own format leaves of zero, as
                  of a bias before a BatchNorm: they bind no loss scale either
    autocast      the layers whose output has another dtype than their weight: dtype, and what casting the weight to it loses, None where
                  the weight is frozen; by_autocast, whether autocast to it was seen on in the run
    compiled      the parts of the model that run compiled, as text, of which nothing inside was seen
    states        what binary16 would lose of each state of the optimizer, unscaled
    lost_updates  of each layer the updates that its weights lost in the dtype that they have, as in a report's JSON; later: "stays" if
                  its later steps lost as much as the earlier ones, "few" of fewer than 8, "moves" if not, None of one or two; rates: the least, the largest and
                  the last learning rate
    mistakes      what is wrong with the order of the loop's calls: step, optimizer, mistake, text, and warning: it may be meant
    overflowed_log2  log2 of the lowest known loss scale at which gradients were not finite, rounded down; None
    already_zero  the share of zeros in gradients that the run had in FP16, since what had become zero before is not seen
    """

    @property
    def loss_scale(self):
        return self.to_dict()["loss_scale"]

    @property
    def recommended_scale(self):
        """The recommended loss scale as a number; None if there is none."""
        best = self.loss_scale["recommended_log2"]
        return None if best is None else 2.0**best

    @property
    def keep_fp32(self):
        """The names of the layers to keep in FP32, as a list."""
        return [row["layer"] for row in self.to_dict()["keep_fp32"]]

    def _repr_html_(self):
        of = self.to_dict()
        rows = [[row["layer"], row["role"], row["format"] or "none", row["text"]] for row in of["formats"]]
        return page("".join(f"<p>{line}</p>" for line in map(html.escape, self._text.strip().split("\n\n"))),
                    table(["layer", "role", "format", "its scales"], rows, "Narrowest format"))


def advice_of(run, headroom=1, target_loss=1e-3, prefer="margin", format="binary16", target_sqnr=20.0, target_weight_sqnr=30.0):
    """Returns the Advice of a Run. format: that of the gradients."""
    if not run.windows:
        of = seen_before(run, format)
        return Advice(filled(early_text(run, of)), json.dumps(of, indent=1) + "\n")
    options = {"headroom": headroom, "target_loss": target_loss, "target_sqnr": target_sqnr,
               "target_weight_sqnr": target_weight_sqnr, "prefer": prefer}
    report = run.report(formats=[format], **options).to_dict()
    layers = run.of_one_scale()
    keys = [key for key in layers if key[1] not in ("update", "state")]
    merged = {key: run.summary(*key) for key in keys}
    scale = dict(report["loss_scale"])
    used = [window.loss_scale for window in run.windows if window.loss_scale is not None]
    scale["used_log2"] = log2_of(used[-1]) if used and run.windows[-1].loss_scale and not run._unusable_scale else None
    spoils = spoiled(run.mistakes, any(role == "dW" and summary.nonzero for (_, role), summary in merged.items()))
    at = (scale["used_log2"] if spoils else scale["recommended_log2"]) or 0
    scale = bounded(run, scale)
    left = run.residues()
    learning = untrained(run, layers, merged)
    is_of_inf = any(event.left_none for event in run.nonfinite())
    # What is left of gradients beside NaN tells nothing of their range, nor do those at the scales to which a scaler falls in vain.
    ill = ill_of(run, merged)
    dead = [] if spoils or is_of_inf or (ill["dead"] and ill["skipped"]) else [row for row in died(run, layers, left) if not merged[row["layer"], row["role"]].nan]
    held = of_training(run, asked_to_be_held(layers, merged, left), layers, ill, run.meant_infinities())
    held = {key: summary for key, summary in held.items() if not (
        run._own_scale.hides and key[1] == "dAct" or
        spoils and (key[1] == "dW" or key[1] in GRADIENTS and scale["used_log2"] is None) or ill["dead"] and key[1] in GRADIENTS and summary.nan)}
    keep = with_inside(with_died(with_underflow(
        kept(held, 0 if scale["own_scales"] else at, target_loss, run._sums), layers, merged), dead, scale), run)
    grows = diverging(run, any(reason["what"] == "overflow" for row in keep for reason in row["reasons"]))
    keep = [] if grows or ill["by_scale"] else keep
    of = {
        "verdict": report["verdict"],
        "loss_scale": withheld(scale, spoils, hidden_text(run) or zeroed_text(learning, layers)),
        "spoiled": spoils,
        "may_diverge_by_order": may_diverge_by(run),
        "formats": formats_of(merged, options, run, dead, spoils),
        "uncounted": uncounted_text(run),
        "refreshed": refreshed_text(run._learning.refreshed),
        "diverges": grows,
        "not_finite": ill,
        "untrained": learning,
        "dies": dies(run, layers),
        "parts_die": parts_die(run),
        "zero_weights": zero_weights(learning, merged),
        "died": dead,
        "keep_fp32": keep,
        "no_format": [row for row in no_format(run) if not (grows and row["wide"])],
        "eps": run._eps,
        "stuck_states": run._stuck,
        "by_hand": list(run._learning.by_hand),
        "ranks": list(run._learning.ranks),
        "settings": wrong_text(run._learning.wrong) + bare_text(run._skips),
        "running": list(run._learning.running),
        "buffers": [] if ill["dead"] and not ill["finite"] else list(run._learning.buffers),
        "moved": moved_text(run._learning.moved),
        "positions": list(run._learning.positions.values()),
        "idle": idle(run, any(role == "update" and run.summary(layer, role).nonzero for layer, role in layers)),
        "unbound": [{"layer": layer, "role": role} for (layer, role), one in layers.items()
                    if role in GRADIENTS and one.binds is False],
        "residues": [{"layer": layer, "role": role} for layer, role in layers if (layer, role) in left],
        "autocast": casts(layers, merged),
        "compiled": compiled_in(run.notes),
        "states": states(run, layers),
        "already_zero": None if is_of_inf else already_zero(layers, merged),
        "overflowed_log2": overflowed_log2(run),
        "lost_updates": lost_rows(run),
        "mistakes": [dataclasses.asdict(mistake) for mistake in run.mistakes],
    }
    of["excluded"] = excluded(of)
    of["verdict"] = {**of["verdict"], "text": concluded(of["verdict"], of["excluded"], ill)}
    return Advice(text_of(of), json.dumps(of, indent=1) + "\n")


def formats_of(merged, options, run, dead, spoils):
    """Returns a row for each layer and role; what held Inf that is not meant, or NaN, what was ill inside, gradients of which most
    died, the rows `dead`, and those of weights if the order of calls spoils them, have no format."""
    ill = {key: "order of calls" for key in merged if spoils and key[1] == "dW"}
    ill |= {(row["layer"], row["role"]): "underflow" for row in dead}
    ill |= {(layer, role): "of underflow" for layer, role in merged
            if role == "dW" and (layer, role) not in ill and (layer.removesuffix(".bias"), "dAct") in ill}
    ill |= {key: "ill inside" for key in merged if key[1] == "act" and key[0] in ill_ranges(run)}
    ill |= {key: "not finite" for key, x in merged.items() if x.nan or x.inf and key not in run.meant_infinities()}
    named = {f"{layer}/{role}": summary for (layer, role), summary in merged.items()}
    rows = _binade.report(named, **options).to_dict()["tensors"] if named else []
    return [{"layer": layer, "role": role, "status": row["status"], **row["advice"],
             **({"status": ill[layer, role], "format": None} if (layer, role) in ill else {})} for (layer, role), row in zip(merged, rows)]


def asked_to_be_held(layers, merged, left):
    """Returns the summaries without those of gradients that are FP32 in any case, and without gradients of weights that rounding
    may have left of zero: those in `left`, and those whose share of the norm of all is as small, as the report judges it; nor those
    of the outputs of layers all of whose weights have such."""
    held = {key: summary for key, summary in merged.items() if layers[key].binds is not False and key not in left}
    weights = [summary for (_, role), summary in held.items() if role == "dW"]
    total = sum(weights[1:], copy.copy(weights[0])) if weights else None
    small = {layer for layer, role in left if role == "dW"} | {
        layer for (layer, role), summary in held.items() if role == "dW" and _binade._is_negligible(summary, total)}
    unasked = {(layer, "dW") for layer in small} | {
        (layer, "dAct") for layer in small if layer + ".bias" in small or (layer + ".bias", "dW") not in layers}
    return {key: summary for key, summary in held.items() if key not in unasked}


def kept(merged, scale_log2, target, sums):
    """Returns the layers that lose too much in binary16, with their gradients at the loss scale and everything else unscaled.
    What a bias or an output loses below the rounding of what it is added to harms nothing. sums: {layer: its share of sums} of
    outputs."""
    reasons = {}
    for (layer, role), summary in merged.items():
        if not summary.nonzero:
            continue
        fate = summary.becomes("binary16", scale_log2 if role in GRADIENTS else 0)
        output = merged.get((layer.removesuffix(".bias"), "act")) if role == "weight" and layer.endswith(".bias") else None
        loses = fate["lost_l2"] > target and (output is None or not drowns(summary, fate["lost_l2"], output))
        loses = loses and not (role == "act" and drowns_in_sums(sums.get(layer), fate["lost_l2"]))
        for key, bad, words in (("overflow", fate["overflow"]["count"] > 0, f"{fate['overflow']['count']:,} values overflow"),
                                ("lost_l2", loses,
                                 f"{_binade._percent(fate['lost_l2'])} of the L2 norm becomes zero")):
            if bad:
                reasons.setdefault(layer, []).append({"role": role, "what": key, "text": f"{role}: {words}"})
    return [{"layer": layer, "reasons": rows} for layer, rows in reasons.items()]


def casts(layers, merged):
    """Returns what the weights of each layer lose when they are cast, for layers whose output has 16 bits and whose weights have
    more; None of those that were not counted, as frozen ones."""
    out, by_autocast = [], {of.dtype for of in layers.values() if of.autocast}
    for (layer, role), of in layers.items():
        if role != "act" or of.dtype not in HALVES:
            continue
        weights = [key for key in ((name, "weight") for name in of.weights or (layer,)) if key in layers and layers[key].dtype != of.dtype]
        wide = layers[weights[0]].dtype if weights else of.weight_dtype
        if not wide or wide == of.dtype:
            continue
        format, fate = HALVES[of.dtype], None
        if weights:
            first, *others = (merged[key] for key in weights)
            fate = sum(others, copy.copy(first)).becomes(format)
        share = {key: fate[key]["of_nonzero"] if fate else None for key in ("to_zero", "subnormal", "overflow")}
        out.append({"layer": layer, "dtype": of.dtype, "weight_dtype": wide, "format": format, **share, "by_autocast": of.dtype in by_autocast})
    return out


def states(run, layers):
    out, left = [], run.left_by_rounding()
    for layer, role in layers:
        if role == "state" and not belongs(layer, role, lambda: left):
            fate = run.summary(layer, role).becomes("binary16")
            out.append({"layer": layer, "lost_l2": fate["lost_l2"], "overflow": fate["overflow"]["count"]})
    return out


def already_zero(layers, merged):
    """Returns the share of zeros in all gradients of FP16 together; None without any."""
    halves = [merged[key] for key in merged if key[1] in GRADIENTS and layers[key].dtype == "F16"]
    values = sum(summary.values for summary in halves)
    return sum(summary.zeros for summary in halves) / values if values else None


def listed(words):
    more = len(words) - SHOWN
    return ", ".join(map(shown, words[:SHOWN])) + (f" and {more} more" if more > 0 else "")


def text_of(of):
    out = [*ails(of), *of["uncounted"], *formats_text(of)]
    if any(re.search(r" and \d+ (layers )?more", line) for line in out):
        out.append("to_dict() names all of them.")
    return filled(out)


def filled(lines):
    return "\n".join(textwrap.fill(line, 110, subsequent_indent="    " if line.startswith("  ") else "", break_long_words=False)
                     for line in map(in_words, lines)) + "\n"


def ails(of):
    """Returns the lines about what ails the run, each with its remedy, what the others may come from first."""
    ill = of["not_finite"]
    mistakes = {warning: order_text([row for row in of["mistakes"] if row["warning"] == warning]) for warning in (False, True)}
    is_ill = not ill["finite"] or ill["dead"] or ill["spared"] or ill["by_scale"]
    out = [*of["settings"], *mistakes[False], *of["refreshed"], *diverging_text(of["diverges"]), *(ill["lines"] if is_ill else []), *of["buffers"]]
    overflowed = kept_text(kept_rows(of, True)) + no_format_text(of["no_format"])
    if overflowed and of["may_diverge_by_order"]:
        out.append("What follows may come of steps with gradients that are too large: mend the order of calls before anything else.")
    out += overflowed + eps_text(of["eps"])
    out += mistakes[True] + of["by_hand"] + of["ranks"] + of["moved"] + of["running"] + of["positions"]
    out += untrained_text(of["untrained"], listed, formats_in(of["died"])) + dies_text(of["dies"], listed) + parts_die_text(of["parts_die"], listed)
    out += zero_weights_text(of["zero_weights"], listed)
    out += died_text(of["died"], of["already_zero"], of["loss_scale"], listed, of["overflowed_log2"]) + idle_text(of["idle"])
    lost = [] if of["spoiled"] else [row for row in of["lost_updates"] if row["dtype"] in HALVES or not of["untrained"]["flat"]]
    out += lost_text(lost, listed, bool(of["idle"])) + stuck_text(of["stuck_states"], listed)
    return out + ([] if is_ill else ill["lines"])


def kept_rows(of, of_the_run):
    """Returns the layers to keep in FP32 for what the run itself did, or those that FP16 would harm."""
    return [row for row in of["keep_fp32"] if any(reason["what"] in OF_THE_RUN for reason in row["reasons"]) == of_the_run]


def formats_text(of):
    """Returns the lines about formats and loss scales."""
    scale, ill = of["loss_scale"], of["not_finite"]
    # Details of what a run held that trained nothing would be taken for an answer.
    out = of["verdict"]["text"][:1] if ill["dead"] and of["verdict"]["roles"] else list(of["verdict"]["text"])
    out += [f"{scale_head(scale)} {scale['reason']}", *caveats(of["mistakes"])]
    out += unbound_text(of["unbound"], listed)
    out += residues_text(of["residues"], listed)
    if scale["used_log2"] is not None:
        out.append(f"The last loss scale in use: 2^{scale['used_log2']}.")
    by_format, by_role = {}, {}
    for row in of["formats"]:
        what = row["status"] if row["status"] != "ok" else row["format"] or "none of these"
        if what == "not finite" and row["role"] in GRADIENTS and ill["finite"] and ill["skipped"]:
            what = "not finite in skipped steps"
        by_format.setdefault((row["role"], what), []).append(row["layer"])
        by_role[row["role"]] = by_role.get(row["role"], 0) + 1
    out.append("Narrowest of e4m3, e5m2, binary16, bfloat16 whose range serves, with a scale of its own:")
    for (role, what), names in sorted(by_format.items()):
        out.append(f"  {role:<7}{what}: " + (f"all {len(names)} layers" if len(names) == by_role[role] > 1 else listed(names)))
    out += kept_text(kept_rows(of, False))
    if not of["keep_fp32"]:
        underflow = dict.fromkeys([*of["untrained"]["underflow"], *silent_in_fp16(of["untrained"]), *(row["layer"] for row in of["died"])])
        out.append(none_kept(ill, of["diverges"], of["uncounted"], list(underflow), but_for(of)))
    return out + wide_decay_text(of["lost_updates"], listed) + autocast_text(of["autocast"], ill["finite"] or not ill["dead"], of["compiled"],
        any(row["role"] == "weight" for row in of["formats"]))


def kept_text(rows):
    if not rows:
        return []
    rows = together(rows)
    more = len(rows) - SHOWN
    return (["Keep in FP32, or scale apart:"]
            + [f"  {row['layer']}: " + "; ".join(reason["text"] for reason in row["reasons"]) for row in rows[:SHOWN]]
            + ([f"  and {more} layers more"] if more > 0 else []))


def autocast_text(rows, tells_losses, compiled, has_weights):
    """Returns lines about what autocast, or casts of layers' own, ran in 16 bits. tells_losses: whether the weights were finite enough to tell what they lose.
    compiled: the parts of the model that run compiled, as text; "" if none does. has_weights: whether some weight was counted."""
    out, by_format = [], {}
    for row in rows:
        by_format.setdefault((row["format"], row["by_autocast"]), []).append(row)
    for (format, by_autocast), of in sorted(by_format.items(), key=lambda item: item[0][1]):
        counted = [row for row in of if row["to_zero"] is not None]
        worst = max(counted, key=lambda row: (row["to_zero"], row["subnormal"]), default=None)
        lost = "" if worst is None else " None of the weights becomes zero or subnormal in it." if not (
            worst["to_zero"] or worst["subnormal"]) else (
            f" Of the weights, those of {worst['layer']} lose most: {_binade._percent(worst['to_zero'])} of the non-zero ones "
            f"become zero, {_binade._percent(worst['subnormal'])} subnormal.")
        lost = lost if tells_losses else ""
        others = [row["layer"] for row in of if row["to_zero"] is None]
        if others:
            why = "no optimizer holds them" if has_weights else "no optimizer stepped"
            lost += f" Not counted, since {why}: the weights of {listed(others)}."
        many = f"{len(of)} layer{'s' * (len(of) > 1)}"
        out.append((f"Autocast ran {many} in {NAMES[format]}: " if by_autocast else f"{many} ran in {NAMES[format]} by casts of the model's own: ")
                   + f"{listed([row['layer'] for row in of])}.{lost}")
    if any(row["by_autocast"] for row in rows) and compiled:
        out[-1] += f" What it ran inside of {compiled}, compiled, was not seen."
    return out


def scale_head(scale):
    """Names the format and its scale."""
    name = {"binary16": "FP16"}.get(scale["format"], scale["format"])
    if scale["own_scales"]:
        return (f"{name} is used with a scale of each tensor's own, not with one loss scale: {scale['tensors_served']} of "
                f"{scale['tensors']} gradients have one that serves. One for all: {scale_words(scale)}.")
    return f"Loss scale for {name}: {scale_words(scale)}."


def scale_words(scale):
    best = scale["recommended_log2"]
    if best is None:
        return scale["status"]
    low, high = scale["s_min_log2"], scale["s_max_log2"]
    if low > high:
        return f"2^{best} ({scale['status']})"
    return f"2^{best}, at most 2^{high}" if scale["at_floor"] else f"2^{best}, from 2^{low} to 2^{high}"
