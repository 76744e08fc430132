# SPDX-License-Identifier: Apache-2.0
"""Puts functions around those of others, and takes them away in whatever order: several watches share what stands in a place, and
the last of them leaves there what the first one found."""
import functools
import inspect
import types

from .attaching import is_compiling

ATTRIBUTE = "_binade_arounds"


class Arounds:
    """Functions that are called around another one, the last that was added first, each with the next one as its first argument.

    owner: whose attribute the other one is; None of functions that were taken over. inner: the other one. restore(): puts it back into its place."""

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


def around_function(function, around):
    """Makes a function call around(the function, …), whoever calls it and under whatever name. It stays the object that it is, with other
    code, so that who compares or pickles it finds no other. Returns a function that undoes this; None if it is not written in Python."""
    if not isinstance(function, types.FunctionType):
        return None
    return (arounds_of(function) or taking_over(function)).add(around)


def taking_over(function):
    """Returns the Arounds of a function, whose code calls them."""
    inner = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    inner.__kwdefaults__ = function.__kwdefaults__
    place = f"{ATTRIBUTE}_of_{function.__name__}"
    new = {ATTRIBUTE, "__signature__"} - vars(function).keys()

    def instead(*args, **kwargs):
        return inner(*args, **kwargs) if is_compiling() else arounds(*args, **kwargs)

    # The code of a function has the names of its module, and as many free variables as its closure.
    code = passes_on.__code__.replace(co_names=(place,), co_name=function.__name__, co_freevars=function.__code__.co_freevars)

    def restore():
        if function.__code__ is code:
            function.__code__ = inner.__code__
        for name in new:
            delattr(function, name)
        del function.__globals__[place]

    arounds = Arounds(None, inner, restore)
    function.__signature__ = inspect.signature(function)
    arounds.stand_in(function)
    function.__globals__[place] = instead
    function.__code__ = code
    return arounds


def passes_on(*args, **kwargs):
    """The code of functions that were taken over, with another name in the place of the one that is called."""
    return taking_over(*args, **kwargs)
