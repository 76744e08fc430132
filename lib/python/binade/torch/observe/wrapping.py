# SPDX-License-Identifier: Apache-2.0
"""Puts functions around those of others, and takes them away in whatever order: several watches share what stands in a place, and
the last of them leaves there what the first one found."""
import functools
import sys
import types

from .attaching import is_compiling

ATTRIBUTE = "_binade_arounds"


class Arounds:
    """Functions that are called around another one, the last that was added first, each with the next one as its first argument.

    owner: whose attribute the other one is; None of functions of modules. inner: the other one. restore(): puts it back into its place."""

    def __init__(self, owner, inner, restore=None):
        self.owner, self.inner, self.restore = owner, inner, restore
        self.functions = []

    def __call__(self, *args, **kwargs):
        inner = self.inner
        for around in self.functions:
            inner = functools.partial(around, inner)
        return inner(*args, **kwargs)

    def stand_in(self, function):
        """Says which function stands in the other's place. functools.wraps copies the attribute, so that both are compared."""
        self.function = function
        setattr(function, ATTRIBUTE, self)

    def add(self, around):
        """Adds a function. Returns one that takes it away, and the last of them restores."""
        self.functions.append(around)

        def undo():
            self.remove(around)
            if not self.functions:
                self.restore()

        return undo

    def remove(self, around):
        self.functions = [one for one in self.functions if one is not around]


def arounds_of(function, owner=None):
    """Returns the Arounds for which a function stands in an owner's place; None if it does not."""
    of = getattr(function, ATTRIBUTE, None)
    return of if isinstance(of, Arounds) and of.function is function and of.owner is owner else None


def wrap(owner, name, around):
    """Makes owner.name(…) call around(the function that was there, …). Returns a function that undoes this, or None if it
    cannot be done.

    A copy of the owner has the wrapper, too, but calls the function directly.
    """
    inner = getattr(owner, name, None)
    if not callable(inner) or not hasattr(owner, "__dict__"):
        return None
    before = owner.__dict__.get(name)
    function = getattr(inner, "__func__", None)
    shared = arounds_of(function, owner) if before is inner else None
    if shared is not None:
        return shared.add(around)

    @functools.wraps(function or inner)
    def method(self, *args, **kwargs):
        if self is not owner and function is not None:
            return function(self, *args, **kwargs)
        return inner(*args, **kwargs) if self is not owner else arounds(*args, **kwargs)

    bound = types.MethodType(method, owner)  # torch.optim.lr_scheduler takes __self__ and __func__ of what it wraps

    def restore():
        if owner.__dict__.get(name) is not bound:
            return  # somebody wrapped it again: it only passes on from now on
        if before is None:
            del owner.__dict__[name]
        else:
            owner.__dict__[name] = before

    arounds = Arounds(owner, inner, restore)
    arounds.stand_in(method)
    try:
        setattr(owner, name, bound)
    except AttributeError:
        return None
    return arounds.add(around)


def put(instead):
    """Puts other functions in the place of some, in all modules that have them, under whatever names. instead: {function: another}."""
    by_id = {id(function): other for function, other in instead.items()}
    for module in list(sys.modules.values()) if by_id else ():
        try:
            of = vars(module) if isinstance(module, types.ModuleType) else {}
            names = [name for name, x in list(of.items()) if id(x) in by_id]
        except Exception:  # what stands among modules may be anything
            continue
        for name in names:
            of[name] = by_id[id(of[name])]


def replace(arounds):
    """Makes all modules that have a function call around(the function, …). arounds: {function: around}. Returns a function that undoes
    this."""
    added, new = [], {}
    for function, around in arounds.items():
        of = arounds_of(function)
        if of is None:
            of = standing_in(function)
            new[function] = of.function
        of.functions.append(around)
        added.append((of, around))
    put(new)

    def undo():
        for of, around in added:
            of.remove(around)
        put({of.function: of.inner for of, _ in added if not of.functions})

    return undo


def standing_in(function):
    """Returns the Arounds of a function of a module, with one that stands in its place."""
    arounds = Arounds(None, function)

    @functools.wraps(function)
    def instead(*args, **kwargs):
        return function(*args, **kwargs) if is_compiling() else arounds(*args, **kwargs)

    arounds.stand_in(instead)
    return arounds
