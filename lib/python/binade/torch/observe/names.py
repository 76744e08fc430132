# SPDX-License-Identifier: Apache-2.0
"""Names the layers of a model: modules, their outputs and their parameters."""
import collections.abc
import dataclasses
import inspect
import re

import torch

from ... import _binade
from .opaque import kind_of

# What is no layer of its own: a class around a model, and the attribute that holds the model.
WRAPPERS = {
    "DistributedDataParallel": "module",
    "DataParallel": "module",
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
    "CheckpointWrapper": "_checkpoint_wrapped_module",
    "OptimizedModule": "_orig_mod",
}
# For modules with several outputs, the place and the name of each.
OUTPUTS = {
    torch.nn.LSTM: {(0,): "", (1, 0): "h_n", (1, 1): "c_n"},
    torch.nn.GRU: {(0,): "", (1,): "h_n"},
    torch.nn.RNN: {(0,): "", (1,): "h_n"},
    torch.nn.LSTMCell: {(0,): "", (1,): "c"},
    torch.nn.MultiheadAttention: {(0,): "", (1,): "attn_weights"},
}
NAMED = 3  # how many names a text has
RNN_PARAMETER = re.compile(r"(weight|bias)_(ih|hh|hr)(?:_l(\d+))?(_reverse)?$")
RNN_WORDS = {"ih": "input", "hh": "hidden", "hr": "projection"}


@dataclasses.dataclass(frozen=True)
class Part:
    """A parameter, or some of its rows, as the weight of a layer."""

    layer: str
    rows: "slice | None" = None

    def of(self, x):
        """Returns the rows of this part of the parameter, or of a tensor of its shape."""
        return x if self.rows is None else x[self.rows]


def listed(names):
    """Returns text of the first of some names."""
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def joined(name, child):
    """Returns the name of a child, in which a character that no terminal may get is escaped."""
    child = _binade._printable(child)
    return f"{name}.{child}" if name else child


def wrapped_by(module):
    """Returns the model inside a wrapper; None if the module is no wrapper."""
    attribute = WRAPPERS.get(type(module).__name__)
    inner = None if attribute is None else getattr(module, attribute, None)
    return inner if isinstance(inner, torch.nn.Module) else None


def unwrapped(module):
    while (inner := wrapped_by(module)) is not None:
        module = inner
    return module


def is_compiled(module):
    """Whether a module runs compiled: by TorchScript, by its method compile(), or since its forward was compiled."""
    forward = vars(module).get("forward")
    return (isinstance(module, torch.jit.ScriptModule) or getattr(module, "_compiled_call_impl", None) is not None
            or kind_of(forward) == "torch.compile")


class Names:
    """The names of the modules and parameters of models, {prefix: model}; a shared module has the first of its names."""

    def __init__(self, models):
        self.modules = {}  # id of a module: its name as a layer
        self.parts = {}  # id of a parameter: its Parts
        self.held = []  # keeps the objects of the ids alive
        self.compiled = []  # names of models whose modules run compiled: no hook of theirs is called
        self.replicated = []  # names of models whose copies run in their place, for each GPU
        self.blocks = set()  # ids of modules that are made of others
        self.wrappers = []  # modules that wrap a model, as DistributedDataParallel
        self.hooked = []  # modules with forward hooks of their own, which may replace what they give
        self.order = {}  # names of layers as the model has them, and their places
        self.owners = {}  # id of a parameter: its module, and the module's name
        self.sizes = {}  # id of a parameter: how many elements it has
        self.compiled_by_method = []  # modules that run compiled by their method compile(): no hook of theirs is called, but inside
        self.within_compiled = set()  # ids of modules inside of what runs compiled
        self.never_called = set()  # ids of modules that only hold parameters, which others use
        self._layers = set()
        self._weights = {}  # id of a module: what weights_of() gives
        self.roots = {id(unwrapped(model)) for model in models.values()}
        for prefix, model in models.items():
            self._walk(model, prefix, prefix or type(unwrapped(model)).__name__)

    @property
    def of_roots(self):
        """The names of the models."""
        return [self.modules[key] for key in self.roots if key in self.modules]

    @property
    def layers(self):
        """The names of the modules with parameters of their own."""
        return {name for _, name in self.owners.values()}

    def _walk(self, module, name, shown, within_script=False):
        if id(module) in self.modules:
            return
        inner = wrapped_by(module)
        if inner is None:
            self._place(shown)
        self._add_parameters(module, name, shown)
        if inner is not None:
            self.wrappers.append(module)
            if type(module).__name__ == "OptimizedModule":
                self.add_compiled(module, shown)
            if isinstance(module, torch.nn.DataParallel):
                self.replicated.append(shown)
            self._walk(inner, name, shown)
            return
        if is_compiled(module) and not (within_script and isinstance(module, torch.jit.ScriptModule)):
            self.add_compiled(module, shown)
        if isinstance(module, torch.nn.MultiheadAttention):
            self.never_called.update(id(x) for x in module.children())
        if inspect.getattr_static(type(module), "forward", None) is torch.nn.Module.forward:
            self.never_called.add(id(module))
        self.modules[id(module)] = shown
        self.held.append(module)
        if module._forward_hooks:
            self.hooked.append(module)
        for child_name, child in module.named_children():
            self.blocks.add(id(module))
            child_name = joined(name, child_name)
            self._walk(child, child_name, child_name, isinstance(module, torch.jit.ScriptModule))

    def add_compiled(self, module, shown):
        """Enters that a module, with all inside of it, runs compiled."""
        if id(module) not in self.within_compiled:
            self.compiled.append(shown)
            if getattr(module, "_compiled_call_impl", None) is not None:
                self.compiled_by_method.append(module)
            self.within_compiled.update(map(id, module.modules()))

    def all_modules(self):
        """Returns the modules that have names."""
        return [x for x in self.held if id(x) in self.modules]

    def weights_of(self, module):
        """Returns the names of the layers whose weights of more than one axis a module takes itself: its own, and those of children
        of which no call is seen. Empty for a module that calls others."""
        if id(module) not in self._weights:
            calls = any(name != "parametrizations" and id(child) not in self.never_called for name, child in module.named_children())
            taken = [] if calls else [x for x in module.parameters() if x.dim() > 1]
            self._weights[id(module)] = tuple(dict.fromkeys(part.layer for x in taken for part in self.parts.get(id(x), ())))
        return self._weights[id(module)]

    def of(self, modules):
        """Yields (name of its module, parameter) for the parameters of the modules of some names."""
        for parameter in (x for x in self.held if id(x) in self.owners):
            if self.owners[id(parameter)][1] in modules:
                yield self.owners[id(parameter)][1], parameter

    @property
    def compiled_share(self):
        """The share of the parameters' elements that modules inside of what runs compiled hold."""
        own = sum(self.sizes[key] for key, (module, _) in self.owners.items() if id(module) in self.within_compiled)
        return own / max(1, sum(self.sizes.values()))

    def _place(self, layer):
        self.order.setdefault(layer, len(self.order))

    def _add_parameters(self, module, name, shown):
        for own, parameter in module.named_parameters(recurse=False):
            if id(parameter) in self.parts:
                continue
            parts = parts_of(module, own, parameter, name, shown)
            if any(part.layer in self._layers for part in parts):
                parts = [Part(joined(name, own))]
            self._layers.update(part.layer for part in parts)
            for part in parts:
                self._place(part.layer)
            self.parts[id(parameter)] = parts
            self.owners[id(parameter)] = module, shown
            self.sizes[id(parameter)] = 0 if torch.nn.parameter.is_lazy(parameter) else parameter.numel()
            self.held.append(parameter)


def parts_of(module, own, parameter, name, shown):
    """Returns the Parts of a module's own parameter."""
    if isinstance(module, torch.nn.MultiheadAttention) and own in ("in_proj_weight", "in_proj_bias"):
        third = module.embed_dim
        if not hasattr(parameter, "to_local") and parameter.dim() > 0 and parameter.shape[0] == 3 * third:
            bias = ".bias" if own == "in_proj_bias" else ""
            return [Part(joined(name, letter) + bias, slice(at * third, (at + 1) * third)) for at, letter in enumerate("qkv")]
    rnn = RNN_PARAMETER.match(own) if isinstance(module, torch.nn.RNNBase | torch.nn.RNNCellBase) else None
    if rnn:
        kind, what, layer, reverse = rnn.groups()
        words = [layer, "reverse" if reverse else None, RNN_WORDS[what], "bias" if kind == "bias" else None]
        return [Part(joined(name, ".".join(word for word in words if word)))]
    return [Part(shown if own == "weight" else joined(name, own))]


def tensors_in(x, path=()):
    """Yields (its place, tensor) for every tensor in the arguments or the output of a module."""
    if isinstance(x, torch.Tensor):
        yield path, x
    elif isinstance(x, torch.nn.utils.rnn.PackedSequence):
        yield path, x.data
    elif isinstance(x, tuple | list):
        for at, item in enumerate(x):
            yield from tensors_in(item, (*path, at))
    elif isinstance(x, collections.abc.Mapping):
        for key, item in x.items():
            yield from tensors_in(item, (*path, key))
    elif dataclasses.is_dataclass(x) and not isinstance(x, type):
        for field in dataclasses.fields(x):
            yield from tensors_in(getattr(x, field.name, None), (*path, field.name))


def outputs_of(module, name, out, layers):
    """Yields (layer, tensor) for every output of a module. layers: names that other layers have already."""
    if isinstance(out, torch.Tensor):
        return [(name, out)]
    known = next((labels for kind, labels in OUTPUTS.items() if isinstance(module, kind)), {})
    found = []
    for path, tensor in tensors_in(out):
        label = known.get(path)
        if label is None:
            label = "" if path == (0,) else ".".join(map(str, path))
        layer = joined(name, label) if label else name
        found.append((f"{name}[{label}]" if label and layer in layers else layer, tensor))
    return found
