# SPDX-License-Identifier: Apache-2.0
"""What is looked at, and said, when watching ends."""
from ..observe.attaching import copies_note, living_optimizers
from ..observe.names import listed
from .loop.own_scale import LEFT_OUT
from .loop.settings import LEAST, schedule_of, wrong_text
from .optimizer_hooks import held_by, watching
from .weights.aside import Aside
from .weights.dead import orphans, orphans_text, ungraded, unheld
from .weights.refreshed import refreshed_text


class EndHooks:
    """Looks of one watched run that come when it ends."""

    def see_ends(self):
        """Sees what only the whole run tells. The order matters: a later look may need what an earlier one has found."""
        self._saw(self._own_scale.ends)
        self.see_own_scale()
        self._saw(self._order.ends)
        self.see_unheld()
        self.see_gradless()
        self.see_bypassed()
        for line in refreshed_text(self._plan.learning.refreshed):
            self.note(line, warn=True)
        self.see_schedules()
        self.see_by_hand()
        self.see_running()
        self._saw(self.see_aside)

    @watching
    def see_unheld(self):
        """Looks for parameters that no optimizer holds; for optimizers that are not watched only where the watched ones leave some."""
        names, learning = self._names, self._plan.learning
        learning.unheld.clear()
        learning.ungraded = ungraded(names, self._optimizers, self._grades, self.gaps.how_called)
        if self._optimizers and unheld(names, self._optimizers, self.gaps.was_called, self._grades):
            there = [*self._optimizers, *living_optimizers(names.parts)]
            learning.unheld.update(unheld(names, there, self.gaps.was_called, self._grades))
            learning.share = sum(learning.unheld.values()) / max(1, sum(names.sizes.values()))
            learning.orphans = orphans(names, there, self._grades) if learning.unheld else {}
            for name, parameter in names.of(learning.unheld):
                self.gaps.parameter(parameter, "weights, their gradients and updates", "which no optimizer that was seen holds")
            if learning.orphans:
                for note in map(copies_note, there):  # what holds no weight of the model is no master copy
                    if self._plan.uncounted.pop(note, None) is not None:
                        self._notes.remove(note)
                self.note(f"{listed(list(learning.unheld))} has weights that want gradients and that no optimizer trains: "
                          f"{orphans_text(learning.unheld, learning.orphans)}", warn=True)

    @watching
    def see_gradless(self):
        """Says which optimizers never had a gradient."""
        for text, line in self._gradless.ends(self._optimizers, self._names.parts, self._order.may_have_reached):
            self.note(line, warn=True)
            self._plan.learning.gradless[text] = f"{line}."

    @watching
    def see_bypassed(self):
        """Says which models of DistributedDataParallel were never called while their modules were trained."""
        if self._optimizers and not self._names.compiled and not self._names.compiled_by_method:
            for line in self._bypassed.ends(self.gaps.was_called):
                self.note(line, warn=True)
                self._plan.learning.ranks.append(line)

    @watching
    def see_by_hand(self):
        """Says what of the models no optimizer holds and trains nothing, or loses updates."""
        if not self._optimizers and self._by_hand.has_gradients:
            self.note("no optimizer was seen: weights, their gradients, updates and states are not counted; where torch.optim trains, give "
                      "the optimizer to watch()")
        self._by_hand.look(self.number)
        for line in self._by_hand.ends(self._optimizers, self.gaps.was_called):
            self.note(line, warn=True)
            self._plan.learning.by_hand.append(line)

    @watching
    def see_own_scale(self):
        """Says which steps the loop has left out by itself."""
        turns = self._plan.own_scale
        if turns.text:
            self.note(turns.text, warn=True)
        if turns.counts[LEFT_OUT] and not (self.by_hand or turns.is_apart):
            self.note("steps that the loop leaves out by itself count as parts of the ones after them: call w.step() at the end of each")

    @watching
    def see_running(self):
        """Says which running statistics stand still."""
        for line in self._running.ends():
            self.note(line, warn=True)
            self._plan.learning.running.append(line)
        self._plan.learning.buffers[:] = self._running.ill()

    @watching
    def see_schedules(self):
        """Looks for why learning rates were 0, and says which settings are wrong."""
        for line in wrong_text(self._plan.learning.wrong):
            self.note(line.removesuffix("."), warn=True)
        for optimizer in self._optimizers:
            of = self._steps_of(optimizer)
            of.schedule = (of.schedule or schedule_of(optimizer)) if of.idle >= LEAST else ""

    @watching
    def see_aside(self):
        """Says what of the models is not trained."""
        for name, line, is_ill in self._aside.ends() if self._aside is not None else ():
            self.note(line, warn=is_ill)
            if is_ill:
                self._plan.learning.stays[name] = line

    @watching
    def _look_aside(self):
        """Looks, when the first step is over, which models are not trained."""
        self._aside = Aside(self._names, self._is_trained)

    def _is_trained(self, model):
        held = set().union(*map(held_by, self._optimizers))
        return any(map(self.gaps.was_called, model.modules())) or any(id(p) in held for p in model.parameters())
