# SPDX-License-Identifier: Apache-2.0
"""Finds which recipe (narrow.py) a product has, and which of its operands are gradients.

Below autograd nothing says which operand is a gradient, except in the backward op of convolutions. For other ops, the first operand
of a forward product counts as its activation and the second as its weight; in a backward pass, an operand that no forward product
had is a gradient. The other operand tells the module whose settings apply. If several modules had it (one input of three layers, a
tied weight), it is the module for whose result autograd has computed a gradient last. With create_graph=True a backward pass is
also a forward pass: its products have no gradients among their operands, but those of its own backward pass have.
"""
import contextlib
import dataclasses
import fnmatch
from collections.abc import Mapping

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from ..observe.attaching import graph_task
from .narrow import Recipe

# Ops with a weight, and which of their arguments are operands; convolutions say which is which, and are asked for it here.
OPERANDS = {"mm": (0, 1), "addmm": (1, 2), "convolution": (0, 1), "convolution_backward": (0, 1, 2)}
ROLES = {"convolution": "xw", "convolution_backward": "dxw"}
SAYS_WHOSE = ("w", "x")  # the operands that say whose product it is, the surest first
FIRST_PRUNED_AT = 1024


def recipe_of(base, changes):
    """Returns the recipe `base` with the settings of a module in the place of its own; None if operands stay as they are."""
    if changes is None:
        return Recipe()
    if not isinstance(changes, Mapping):
        raise TypeError(f"modules: {changes!r} are no settings: a dict of them is wanted, or None")
    unknown = [x for x in changes if x not in {f.name for f in dataclasses.fields(Recipe)}]
    if unknown:
        raise TypeError(f"modules: {unknown[0]!r} is no setting of a product; operands, backward, scale, promote_every are")
    return dataclasses.replace(base, **changes)


def storage_of(x):
    return x.untyped_storage() if hasattr(x, "untyped_storage") else x.storage().untyped()


def is_in_backward():
    """Whether a backward pass is running, and not a forward pass that a checkpoint repeats within it."""
    if torch.is_grad_enabled():
        return False
    if graph_task is not None:
        return graph_task() != -1
    with contextlib.suppress(RuntimeError):  # raised by torch up to 2.0 outside of a backward pass
        torch.autograd.Variable._execution_engine.queue_callback(lambda: None)
        return True
    return False


class Recipes:
    """The recipes of all products, each that of its module."""

    def __init__(self, base, model=None, modules=None):
        self._base, self._model = base, model
        self._modules = {}  # id of a module: its recipe
        self._now = []  # recipes of the modules that are running
        self._seen = {}  # storages of forward products' operands: (a weak reference, role, the recipes they had, the latest last)
        self._latest = None  # the recipe of the result whose gradient autograd had last
        self._pruned_at = FIRST_PRUNED_AT
        if (model is None) != (not modules):
            raise TypeError("modules: settings by the name of a module go with the model=, and a model with them")
        if not isinstance(model, torch.nn.Module | None):
            raise TypeError(f"model: a torch.nn.Module is wanted, not {type(model).__name__}")
        if not (isinstance(modules, Mapping | None) and all(isinstance(pattern, str) for pattern in modules or ())):
            raise TypeError("modules: a dict is wanted, of patterns of modules' names and their settings")
        for name, module in model.named_modules() if model is not None else ():
            pattern = next((p for p in modules if fnmatch.fnmatchcase(name, p)), None)
            if pattern is not None:
                self._modules[id(module)] = recipe_of(base, modules[pattern])
        for pattern in modules or ():
            if not any(fnmatch.fnmatchcase(name, pattern) for name, _ in model.named_modules()):
                raise ValueError(f"modules: {pattern!r} is the name of none of the model's modules")
        self.any = base.operands is not None or any(r.operands is not None for r in self._modules.values())

    @contextlib.contextmanager
    def attached(self):
        """Follows, while it is entered, which modules with recipes of their own are running. The hooks are those of all
        modules, since a model with hooks of its own could be neither copied nor saved."""
        handles = []
        if self._model is not None:
            handles = [register_module_forward_pre_hook(self._begin), register_module_forward_hook(self._end)]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
            self._now.clear()

    def _begin(self, module, _):
        if module is self._model:  # whatever forward pass was left by an exception
            self._now.clear()
        if id(module) in self._modules:
            self._now.append(self._modules[id(module)])

    def _end(self, module, *_):
        if id(module) in self._modules and self._now:
            self._now.pop()

    @property
    def now(self):
        """Returns the recipe of the forward products that run now."""
        return self._now[-1] if self._now else self._base

    def gradient_came(self, recipe):
        """Notes that autograd computed the gradient of the result of a product with this recipe."""
        self._latest = recipe

    def _whose(self, had):
        """Returns the recipe of a product in a backward pass. had: the recipes that its operands had, by role."""
        recipes = next((had[role] for role in SAYS_WHOSE if had.get(role)), (self._base,))
        return self._latest if self._latest in recipes else recipes[-1]

    def of(self, op, args):
        """Returns (recipe, roles, operands by role) of a product; None if its operands stay as they are."""
        if not self.any or op not in OPERANDS:
            return None
        operands = [args[i] for i in OPERANDS[op]]
        if op == "convolution_backward":
            recipe, roles = self._whose({"w": self._known(operands[2])[1]}), ROLES[op]
        elif is_in_backward():
            known = [self._known(x) for x in operands]
            recipe, roles = self._whose(dict(known)), "".join(role or "d" for role, _ in known)
        else:
            recipe, roles = self.now, "xw"
            for x, role in zip(operands, roles):
                self._remember(x, role, recipe)
        if recipe.operands is None:
            return None
        return recipe, roles, dict(zip(roles, operands)) if op in ROLES else {}

    def _known(self, x):
        """Returns the role that an operand had in forward products, and the recipes of these."""
        reference, role, recipes = self._seen.get(storage_of(x)._cdata, (None, None, ()))
        return (role, recipes) if reference is not None and not reference.expired() else (None, ())

    def _remember(self, x, role, recipe):
        if len(self._seen) >= self._pruned_at:
            self._seen = {key: entry for key, entry in self._seen.items() if not entry[0].expired()}
            self._pruned_at = max(FIRST_PRUNED_AT, 2 * len(self._seen))
        storage, before = storage_of(x), self._known(x)[1]
        self._seen[storage._cdata] = StorageWeakRef(storage), role, (*(r for r in before if r != recipe), recipe)
