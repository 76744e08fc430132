# SPDX-License-Identifier: Apache-2.0
"""Gradients of weights that the order of the loop's calls made others than the run's: no loss scale follows from them."""

# By mistake in the order of calls: what the gradients are that the optimizer got.
SPOILS = {
    "clip_before_unscale": "clipped while they were multiplied by the loss scale",
    "double_unscale": "divided by the loss scale twice",
    "divided_by_hand": "divided by the loss scale twice",
    "update_after_unscale": "divided by the loss scale twice",
    "unscale_after_update": "divided by another loss scale than their loss was multiplied by",
    "backward_after_unscale": "sums of divided ones and ones that are multiplied by the loss scale",
    "backward_over_update": "sums of some at one loss scale and some at another",
    "backward_without_scale": "divided by a loss scale that their loss was not multiplied by",
    "plain_beside_scaled": "sums over losses of which one was not multiplied by the loss scale",
    "step_with_scaled_gradients": "still multiplied by the loss scale",
    "backward_after_clip": "sums of some that were clipped and some that were not",
}
EMPTIES = {"step_without_backward": "taken away before the step", "unscale_without_backward": "taken away before they were unscaled"}
ENLARGE = frozenset(("step_with_scaled_gradients", "backward_after_unscale", "backward_over_update"))  # and may make a run diverge
# The same of warnings, which may be meant.
MAY_SPOIL = {"backward_without_zero_grad": "sums over several steps",
             "left_by_another_pass": "sums with what the loss of another optimizer left in them",
             "zero_grad_without_step": "those of the last backward passes before a step alone"}


def spoiled(mistakes, has_gradients):
    """Returns what the counted gradients of weights are instead of the run's, as a list of texts. mistakes: Mistakes. has_gradients:
    whether some of these gradients is not zero."""
    of = SPOILS if has_gradients else SPOILS | EMPTIES
    return list(dict.fromkeys(of[one.mistake] for one in mistakes if one.mistake in of))


def may_diverge_by(run):
    """Returns whether a mistake that enlarges gradients came before the first Inf or NaN that no scaler skipped."""
    broke = [event.step for event in run.nonfinite() if not event.is_left_out]
    return bool(broke) and any(one.mistake in ENLARGE and one.step < min(broke) for one in run.mistakes)


def withheld(scale, why, hidden=""):
    """Returns a loss scale, a dict, without what gradients in `why`, as spoiled() gives it, would tell of it. hidden: why those of outputs
    tell nothing of it, as text."""
    if not why and not hidden:
        return scale
    told = "s_min_log2", "s_max_log2", "recommended_log2", "lost_l2_at_recommended", "free_binades", "binding_max", "binding_min", "over_run"
    return {**scale, **dict.fromkeys(told), "status": "not known", "reason": hidden if not why else
            f"The gradients of weights, as the optimizer got them, are {' and '.join(why)}: these are not the gradients of a run in the "
            "right order of calls. Mend the calls, and watch again."}


def caveats(mistakes):
    """Returns lines about what may make another loss scale necessary. mistakes: dicts."""
    may = dict.fromkeys(MAY_SPOIL[row["mistake"]] for row in mistakes if row["mistake"] in MAY_SPOIL)
    return [f"Gradients of weights were counted as the optimizer got them, {' and '.join(may)} (see the order of calls): unless that is "
            "meant, their formats and the loss scale are others."] if may else []
