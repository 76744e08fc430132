# SPDX-License-Identifier: Apache-2.0
"""A step that was not over when watching ended, though many forward passes had begun it: no optimizer that was seen stepped, or the loop
passed over each batch, since its weights were not finite."""

from .own_scale import follows_ill

ALONE = (" It seems to test its loss alone, which may be finite where gradients are not, or gradients for NaN alone, where they may be Inf: "
         "test whether all of them are finite.")


def stalled_text(step, missing, skips):
    """Returns what is noted of a step that was not over. missing: the optimizers that did not step, as text; "" if none was found. Where a step
    before had made the weights ill, and this one's outputs are, that is why."""
    if skips.ill_at is not None and step.event is not None:
        skips.passed_over = step.passes
        return (f"after step {skips.ill_at}, which was made with Inf or NaN, the loop stepped no more, in {step.passes} forward passes: what came "
                "of it was not finite")
    why = f"{missing} did not step" if missing else "no optimizer was found"
    if missing and step.event is not None and step.harmless_event() is None:
        return (f"after {step.passes} forward passes step {step.number} was not over: {why}, as in a loop that leaves out what is not finite; call "
                "w.step() at the end of each step, also of those that are left out")
    return f"after {step.passes} forward passes step {step.number} was not over: {why}; name the optimizers that step, or call w.step()"


def passed_over_text(run, event, is_told):
    """Returns lines about a loop that made no step once its weights were not finite; [] of others. event: the first NonFinite. is_told: whether
    it is told that no step after it was finite."""
    skips = run._skips
    if not skips.passed_over and not follows_ill(run._own_scale):
        return []
    alone = ALONE if event.phase == "backward" else ""
    if is_told or not skips.passed_over:
        return [f"The loop stepped with what came of it, and left out all that followed.{alone}"]
    return [f"Nor was anything after step {skips.ill_at}, which made the weights Inf or NaN: the loop passed over all that followed, "
            f"{skips.passed_over:,} forward passes, and trained nothing.{alone}"]
