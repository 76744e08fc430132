# SPDX-License-Identifier: Apache-2.0
"""Calls that a scaler refuses by raising, as torch's does a second unscale_ or step before its update(): a loop that catches what they raise
goes on, and nothing was divided or stepped with twice."""
import dataclasses

DONE = {"double_unscale": ("unscale_", "divided"), "unscale_after_step": ("unscale_", "divided"), "double_step": ("step", "stepped with")}


class Refusals:
    """Holds what is told of a scaler's call until it has ended. enter(mistake) is called with each Mistake."""

    def __init__(self, enter):
        self._enter, self._depth, self._held = enter, 0, []

    def tell(self, mistake):
        if self._depth:
            self._held.append(mistake)
        else:
            self._enter(mistake)

    def __enter__(self):
        self._depth += 1

    def __exit__(self, kind, error, traceback):
        self._depth -= 1
        if not self._depth:
            held, self._held = self._held, []
            for mistake in held:
                self._enter(refused(mistake, error) if isinstance(error, Exception) else mistake)


def refused(mistake, error):
    """Returns the Mistake of a call that has raised an error, in place of that which the call would have been; others as they are."""
    if mistake.mistake not in DONE:
        return mistake
    call, done = DONE[mistake.mistake]
    words = str(error).partition("\n")[0].rstrip(".")
    text = (f"is given to {call} of its scaler once more than that takes, which raised {type(error).__name__} ({words}): nothing was {done} twice "
            "in that call; leave it out, or call update() before it")
    return dataclasses.replace(mistake, mistake="refused_call", text=text, warning=True)
