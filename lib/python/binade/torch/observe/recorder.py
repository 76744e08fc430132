# SPDX-License-Identifier: Apache-2.0
"""Records the ops that a function runs, below autograd and in order: their names, where they were called, and their results."""
import contextlib
import dataclasses
import os
import random
import sys
import threading

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from .tensor_bits import has_bits, same_bits
from .names import Names, tensors_in, wrapped_by
from .opaque import described, frame_described

MOVES = frozenset(("clone", "contiguous", "lift_fresh", "lift_fresh_copy", "_unsafe_view", "_reshape_copy", "alias_copy",
                   "view_copy"))
LIFTS = frozenset(("lift_fresh", "lift_fresh_copy"))  # of what torch makes of Python's numbers
UNWRITTEN = frozenset(("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_",
                       "resize"))
OWN_FOLDERS = tuple(os.path.dirname(os.path.abspath(x)) + os.sep for x in (torch.__file__, os.path.dirname(__file__)))
GENERATED = "<frozen", "<eval_with_key>"  # files of code that Python and torch.fx make
CALLERS = frozenset(("_call_impl", "_slow_forward"))  # functions of torch.nn.Module that call forward
RESULT = "the result"  # the name of what stands for what the function gave
open_here = threading.local()  # .recorders, of this thread, the innermost last


@dataclasses.dataclass
class Op:
    """An op. index: its number among the ops that compute something. site: file and line of the call. module: name
    of the innermost."""

    index: int
    name: str
    site: str
    module: str
    inputs: list  # shapes
    outputs: list  # (shape, dtype)
    sources: tuple  # for each input the index of the op that wrote it last, or None
    numbers: tuple  # floats among what it got

    @property
    def key(self):
        return self.name, self.site, self.module

    @property
    def place(self):
        """Returns where the op was called, as text."""
        return ", ".join(filter(None, (self.name, self.module and f"of {self.module}", self.site)))

    def to_dict(self):
        return {"op": self.name, "module": self.module or None, "site": self.site or None,
                "inputs": [list(x) for x in self.inputs], "outputs": [list(x) for x, _ in self.outputs],
                "dtypes": [x for _, x in self.outputs]}


class Recorder:
    """Records ops, except views, copies and tensors that are only allocated.

    before(index, args, kwargs), without out=, is called before each op that is no view, and after(op, outputs) after each op that
    computes something. draws: (op name, site, module) of the first op that drew random numbers from torch's generator. opaque:
    texts of what was called and does not run op by op when it is not recorded. unmade: {(index of an op, which operand): tensor} of
    operands, or (None) what was copied for the op, that no op that was seen has written.
    """

    def __init__(self, before=None, after=None):
        self._before, self._after = before, after
        self._made = {}  # address of a storage: index of the op that wrote to it last
        self._names = {}  # id of an outermost module: its Names
        self._fresh = {}  # address of a storage that was made of constants, or (True) only allocated
        self._inside = False
        self.ops, self.draws, self.opaque, self.unmade = [], None, {}, {}

    def run(self, call):
        """Records every op of call() and returns its result."""
        recorders = open_here.__dict__.setdefault("recorders", [])
        recorders.append(self)
        try:
            with Recording(self):
                out = call()
        finally:
            recorders.pop()
        found = [x for _, x in tensors_in(out) if has_bits(x)]
        with torch.no_grad():
            self._add(RESULT, "", "", self._with_sources(found), found)
        return out

    def dispatch(self, mode, func, args, kwargs):
        if self._inside or not hasattr(func, "_schema"):  # torch.cond and similar ops are not recorded
            return func(*args, **kwargs)
        if torch.is_inference_mode_enabled():  # ops arrive before torch has made others of them
            with mode:
                out = func.decompose(*args, **kwargs)
            if out is not NotImplemented:
                return out
        self._inside = True
        try:
            return self._see(func, args, kwargs)
        finally:
            self._inside = False

    def _see(self, func, args, kwargs):
        schema = func._schema
        name = schema.name.removeprefix("aten::")
        aliased = [x.alias_info is not None and not x.alias_info.is_write for x in schema.returns]
        is_move = name in MOVES or any(aliased)
        outs = {x.name for x in schema.arguments if x.kwarg_only and x.alias_info is not None and x.alias_info.is_write}
        got = args, {key: x for key, x in kwargs.items() if key not in outs}
        given = self._with_sources(x for _, x in tensors_in(got) if has_bits(x))
        if self._before is not None and not is_move:
            self._before(len(self.ops), *got)
        states = None if self.draws else random_states()
        out = func(*args, **kwargs)
        results = [x for _, x in tensors_in(out) if has_bits(x)]
        if states is not None and any(not torch.equal(x, y) for x, y in zip(states, random_states())):
            self.draws = (name, *where(self._names, self.opaque))
        written = [x for argument, x in zip(schema.arguments, args)
                   if argument.alias_info is not None and argument.alias_info.is_write]
        written += [kwargs[key] for key in outs & kwargs.keys()]
        results += [x for _, x in tensors_in(written) if has_bits(x) and all(x is not y for y in results)]
        same_dtype = name == "_to_copy" and bool(given) and bool(results) and results[0].dtype == given[0][0].dtype
        if is_move or same_dtype or name in UNWRITTEN or not results:
            self._pass_on(name, given, results, aliased)
        else:
            self._add(name, *where(self._names, self.opaque), given, results,
                      tuple(x for x in (*args, *kwargs.values()) if isinstance(x, float)), [x for _, x in tensors_in(written)])
        return out

    def _with_sources(self, tensors):
        return [(x, self._made.get(storage_of(x))) for x in tensors]

    def _add(self, name, site, module, given, results, numbers=(), written=()):
        op = Op(len(self.ops), name, site, module, [tuple(x.shape) for x, _ in given],
                [(tuple(x.shape), str(x.dtype).removeprefix("torch.")) for x in results], tuple(source for _, source in given),
                numbers)
        self.ops.append(op)
        self.unmade.update(((op.index, n), x) for n, (x, source) in enumerate(given)
                           if source is None and x.numel() and self._fresh.get(storage_of(x)) is not False
                           and not any(x is y for y in written))
        self._made.update((storage_of(x), op.index) for x in results)
        if self._after is not None:
            self._after(op, results)

    def is_blank(self, x):
        """Whether a tensor was allocated, and no op that was seen wrote to it."""
        return self._fresh.get(storage_of(x), False)

    def _pass_on(self, name, given, results, aliased):
        """Gives copies and new tensors the origin of the tensors from which they were made."""
        source = given[0][1] if given else None
        if any(aliased) and given and any(storage_of(x) == storage_of(given[0][0]) for x in results):
            return
        for x in results:
            if source is None:
                self._made.pop(storage_of(x), None)
                if given and storage_of(given[0][0]) not in self._fresh and name not in LIFTS:
                    self.unmade.setdefault((len(self.ops), None), given[0][0])
                self._fresh[storage_of(x)] = name in UNWRITTEN
            else:
                self._made[storage_of(x)] = source


class Recording(TorchDispatchMode):
    """The torch mode of a Recorder. A mode that is entered within another one sees an op first."""

    supports_higher_order_operators = True

    def __init__(self, recorder):
        super().__init__()
        self._recorder = recorder

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self._recorder.dispatch(self, func, args, kwargs or {})


def recording_above():
    """Returns what a mode that replaces ops by others must enter after itself, so that an open Recorder sees the original ops."""
    recorders = getattr(open_here, "recorders", None)
    return Recording(recorders[-1]) if recorders else contextlib.nullcontext()


def copied(x):
    """Returns the arguments of an op with their tensors cloned."""
    return tree_map(lambda y: y.detach().clone() if isinstance(y, torch.Tensor) else y, x)


def random_states():
    """Returns the states of torch's generators in use: that of the CPU, and that of the current GPU."""
    return [torch.get_rng_state()] + ([torch.cuda.get_rng_state()] if torch.cuda.is_initialized() else [])


def storage_of(x):
    return x.data_ptr() - x.storage_offset() * x.element_size()


def calling(opaque=None):
    """Returns (file and line outside of torch and of this package, the modules whose forward runs, the innermost first) of the op
    that runs. opaque: a dict into which texts of compiled functions that call the op are entered."""
    frame, site, modules = sys._getframe(1), "", []
    while frame is not None:
        code = frame.f_code
        text = "" if opaque is None else frame_described(frame)
        if code.co_name in CALLERS and isinstance(frame.f_locals.get("self"), torch.nn.Module):
            modules.append(frame.f_locals["self"])
            text = "" if opaque is None or wrapped_by(modules[-1]) is not None else described(modules[-1])
        if text:
            opaque[text] = None
        elif not site and not code.co_filename.startswith(OWN_FOLDERS) and not code.co_filename.startswith(GENERATED):
            site = f"{shortened(code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return site, modules


def where(names, opaque):
    """Returns (file and line outside of torch and of this package, name of the innermost module) of the op that runs. names, opaque:
    dicts that are kept from call to call; texts of compiled functions that call the op are entered into the second."""
    site, modules = calling(opaque)
    if not modules:
        return site, ""
    root = modules[-1]
    if id(root) not in names:
        names[id(root)] = Names({"": root})
    return site, names[id(root)].modules.get(id(modules[0]), type(modules[0]).__name__)


def shortened(path):
    """Returns a path relative to the working directory if it lies in it."""
    here = os.getcwd() + os.sep
    return path.removeprefix(here)


@contextlib.contextmanager
def seeded(seed):
    """Seeds all generators of random numbers, and puts them back at the end."""
    numpy = sys.modules.get("numpy")
    kept = random.getstate(), numpy and numpy.random.get_state()
    try:
        with torch.random.fork_rng(devices=[torch.cuda.current_device()] if torch.cuda.is_initialized() else []):
            torch.manual_seed(seed)
            random.seed(seed)
            if numpy:
                numpy.random.seed(seed % 2**32)
            yield
    finally:
        random.setstate(kept[0])
        if numpy:
            numpy.random.set_state(kept[1])


def again(fn, inputs, seed, run=lambda call: call()):
    """Returns run(a call of fn(inputs)), as if it had never run: with the same random seeds, without weights that autocast has cached,
    and with the inputs, and the buffers of a model, as they were."""
    owned = [*(fn.buffers() if isinstance(fn, torch.nn.Module) else ()), *(x for _, x in tensors_in(inputs) if has_bits(x))]
    kept = [(x, x.detach().clone()) for x in owned]
    try:
        with seeded(seed):
            torch.clear_autocast_cache()
            return run(lambda: fn(**inputs) if isinstance(inputs, dict) else fn(*inputs))
    finally:
        with torch.no_grad():
            for x, before in kept:
                if not has_bits(x) or not same_bits(x, before):
                    x.copy_(before)


def known_storages(fn, inputs):
    """Returns the addresses of what is there before a function runs: its arguments, and what a model holds."""
    held = [*fn.parameters(), *fn.buffers()] if isinstance(fn, torch.nn.Module) else []
    return {storage_of(x) for _, x in tensors_in((inputs, held)) if has_bits(x)}


def unmade_texts(recorder, known, run_again):
    """Returns texts of ops that got what was made while a function ran, by no op that was seen. known: known_storages().
    run_again(run): runs the function again."""
    found = {at: x for at, x in recorder.unmade.items() if storage_of(x) not in known}
    if any(not recorder.is_blank(x) for x in found.values()):
        once_more = Recorder()  # while the tensors of the first run are held: a constant lies where it lay
        run_again(once_more.run)
        found = {at: x for at, x in found.items() if recorder.is_blank(x)
                 or (at in once_more.unmade and storage_of(once_more.unmade[at]) != storage_of(x))}
    ops = dict.fromkeys(recorder.ops[index].place for index, _ in found if index < len(recorder.ops))
    return [f"what gives {place}, {'which' if place == RESULT else 'an operand that'} no op that was seen has made" for place in ops]
