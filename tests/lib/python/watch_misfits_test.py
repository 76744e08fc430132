# SPDX-License-Identifier: Apache-2.0
#
# Loops and models that watch does not expect: it says what is wrong and never ends the training; what it refuses, it refuses
# with an error of one line. SKIP without torch. watch_misfits_test.py BINADE
import copy
import gc
import math
import sys
import types
import unittest.mock
import warnings
import weakref

try:
    import torch

    import binade.torch
    from binade.torch.watch.looking import UNSHAPED
    from binade.torch.watch.values.inside import SHAPES_BUFFERS
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from cli_case import CliCase, main
from watch_oracle import CpuScaler
from watch_runs import Calls, fit, new_net, train, watched


class Shell(torch.optim.Optimizer):
    """As accelerate wraps an optimizer: one by its class, with nothing of its own."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    state = property(lambda self: self.optimizer.state)
    param_groups = property(lambda self: self.optimizer.param_groups)

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self):
        self.optimizer.step()


class Shells(CliCase):
    def test_optimizers_that_only_wrap_one(self):
        wanted = {key: s.to_bytes() for key, s in watched().summaries().items()}
        for given in (True, False):
            model = new_net()
            shell = Shell(torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))
            with binade.torch.watch(model, shell if given else None, every=2, scaler=None) as w:
                train(model, 6, shell)
            self.assertEqual({key: s.to_bytes() for key, s in w.summaries().items()}, wanted)


class Loops(CliCase):
    """That do not fit: what watch says of them, and that it ends none."""

    def test_an_optimizer_that_never_steps_is_not_waited_for_where_it_was_found(self):
        for of in ("all", "some"):
            model = new_net()
            old = torch.optim.Adam(list(model.parameters())[: None if of == "all" else 1])
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            with binade.torch.watch(model, every=1, scaler=None) as w:
                train(model, 4, optimizer)
            self.assertEqual([window.first for window in w.windows], [0, 1, 2, 3])
            del old

    def test_steps_that_do_not_end_are_told(self):
        model = new_net()
        optimizer, other = (torch.optim.SGD(model.parameters(), lr=0.1) for _ in range(2))
        with self.assertWarnsRegex(RuntimeWarning, "after 4 forward passes step 0 was not over: SGD did not step; name"), \
                binade.torch.watch(model, other, every=1) as w:
            train(model, 4, optimizer)
        self.assertRaisesRegex(ValueError, "SGD did not step", w.report)

    def test_an_optimizer_of_another_model_is_refused(self):
        model = new_net()
        with self.assertRaisesRegex(ValueError, "SGD holds none of the model's parameters"):
            binade.torch.watch(model, torch.optim.SGD(new_net().parameters(), lr=0.1)).start()

    def test_an_optimizer_of_master_copies_made_by_hand_ends_steps(self):
        model = torch.nn.Linear(4, 2).bfloat16()
        masters = [p.detach().float() for p in model.parameters()]
        optimizer = torch.optim.SGD(masters, lr=0.1)
        both = {"model": model, "master": torch.nn.ParameterList(map(torch.nn.Parameter, masters))}
        for named, told, given in ((model, True, [optimizer]), (model, True, []), (both, False, [optimizer])):
            if not told:
                optimizer = torch.optim.SGD(named["master"].parameters(), lr=0.1)
                given = [optimizer]
            with binade.torch.watch(named, *given, scaler=None, every=1) as w:
                for _ in range(3):
                    model.zero_grad()
                    model(torch.ones(3, 4).bfloat16()).float().sum().backward()
                    for group in optimizer.param_groups:
                        for copy, p in zip(group["params"], model.parameters()):
                            copy.grad = p.grad.float()
                    optimizer.step()
            self.assertEqual(len(w.windows), 3)
            self.assertEqual(sum("SGD holds none of the model's parameters, but tensors of FP32" in note for note in w.notes), told)
            self.assertEqual("What follows is of a part of the model alone. Not counted: weights, their gradients, updates and states, since SGD "
                             "holds none" in " ".join(str(w.advise()).split()), bool(told))

    def test_what_cannot_be_counted_ends_no_training(self):
        def scale():
            raise KeyError("none")

        model = new_net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with self.assertWarnsRegex(RuntimeWarning, "something was not counted: KeyError: 'none'"), \
                binade.torch.watch(model, optimizer, every=1, loss_scale=scale) as w:
            train(model, 1, optimizer)

    def test_loss_scales_that_divide_nothing(self):
        for scale in (0.0, -2.0, math.inf, math.nan):
            w = watched(loss_scale=lambda: scale)
            self.assertEqual({key: s.to_bytes() for key, s in w.summaries().items()},
                             {key: s.to_bytes() for key, s in watched().summaries().items()})
            self.assertIn(f"a loss scale of {scale} divides nothing", " ".join(w.notes))
            self.assertIsNone(w.windows[0].loss_scale)

    def test_tracing_and_transforming_pass_by(self):
        model = new_net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with warnings.catch_warnings(), binade.torch.watch(model, optimizer, every=1) as w:
            warnings.simplefilter("ignore")
            torch.jit.trace(model, torch.ones(3, 4))
            torch.fx.symbolic_trace(model)
            if hasattr(torch, "func"):
                torch.vmap(model)(torch.ones(2, 3, 4))
                torch.func.grad(lambda x: model(x).sum())(torch.ones(3, 4))
            if hasattr(torch, "export"):
                torch.export.export(model, (torch.ones(3, 4),))
            train(model, 1, optimizer)
        self.assertEqual(w.summaries()[0, "0", "act"].values, 24)
        self.assertEqual(w.notes, [])

    def test_tensors_without_memory_are_passed_over(self):
        def freed(_, x):
            y = x.detach().clone()
            (y.untyped_storage() if hasattr(y, "untyped_storage") else y.storage()).resize_(0)
            return x, y

        model = torch.nn.Sequential(torch.nn.Linear(4, 8), Calls(freed))
        w = fit(model, lambda: model(torch.ones(3, 4))[0].sum(), 1, lr=0.0)
        self.assertNotIn((0, "1.1", "act"), w.summaries())
        self.assertEqual(w.notes, [])

    def test_an_output_that_a_hook_replaces(self):
        for late in (False, True):
            model = new_net()
            handle = None if late else model[0].register_forward_hook(lambda m, i, o: o * 1024)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
            with binade.torch.watch(model, optimizer, every=1) as w:
                train(model, 1, optimizer)
            largest = model[0](torch.ones(3, 4)).abs().max().item()
            self.assertEqual(w.summaries()[0, "0", "act"].largest, largest)
            self.assertEqual(len(model[0]._forward_hooks), 0 if late else 1)
            if handle:
                handle.remove()

    def test_a_step_of_a_step_counts_once(self):
        class Mine(torch.optim.SGD):
            def step(self, closure=None):
                return super().step(closure)

        torch.optim.SGD(new_net().parameters(), lr=0.1)  # torch puts hooks around a class's step with its first optimizer
        model = new_net()
        optimizer = Mine(model.parameters(), lr=0.01, momentum=0.9)
        with binade.torch.watch(model, optimizer, every=2, scaler=None) as w:
            train(model, 6, optimizer)
        self.assertEqual({key: s.to_bytes() for key, s in w.summaries().items()},
                         {key: s.to_bytes() for key, s in watched().summaries().items()})

    def test_who_keeps_the_counts_keeps_no_model(self):
        model = new_net()
        gone = weakref.ref(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with binade.torch.watch(model, optimizer, every=1) as w:
            train(model, 2, optimizer)
        del model, optimizer
        gc.collect()
        self.assertIsNone(gone())
        self.assertTrue(w.report().tensors)
        self.assertRaisesRegex(ValueError, "the model that was watched is gone", w.start)

    def test_a_copy_of_a_scaler_is_its_own(self):
        scaler, model = CpuScaler(4.0), new_net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with binade.torch.watch(model, optimizer, scaler=scaler, every=1):
            other = copy.deepcopy(scaler)
            other._scale = 64.0
            self.assertEqual(other.scale(1.0), 64.0)
        self.assertEqual(other.scale(1.0), 64.0)


class Quantized8(torch.Tensor):
    """As torchao keeps states: a class of its own, whose values only its own method gives."""

    @staticmethod
    def __new__(cls, codes, scale):
        return torch.Tensor._make_wrapper_subclass(cls, codes.shape, dtype=torch.float32)

    def __init__(self, codes, scale):
        self.codes, self.scale = codes, scale

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func._schema.name == "aten::detach":
            return args[0]
        raise NotImplementedError(func)

    def dequantize(self):
        return self.codes.float() * self.scale


class Opaque8(Quantized8):
    dequantize = torch.Tensor.dequantize


class Keeps(torch.optim.SGD):
    """An optimizer with states for each parameter, which make(parameter) gives."""

    def __init__(self, parameters, make):
        super().__init__(parameters, lr=0.0)
        self._make = make

    def step(self, closure=None):
        super().step(closure)
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p].update(self._make(p))


def compiled_by_method(module):
    module.compile(backend="eager")
    return module


NOT_INSIDE = "what runs compiled is not looked into: of Inf and NaN the layer is known, not the op inside of it"


class Gaps(CliCase):
    """Of what is not counted the notes say how much of the model it is."""

    def of(self, model, make=None, call=None, x=None, lr=0.0):
        optimizer = torch.optim.SGD(model.parameters(), lr=lr) if make is None else Keeps(model.parameters(), make)
        with binade.torch.watch(model, optimizer, every=1) as w:
            for _ in range(2):
                model.zero_grad()
                (call or model)(torch.ones(3, 4) if x is None else x).abs().sum().backward()
                optimizer.step()
        return w

    def test_layers_that_get_their_shapes_when_they_run_are_counted(self):
        model = torch.nn.Sequential(torch.nn.LazyBatchNorm1d(), torch.nn.LazyLinear(2))
        w = fit(model, lambda: model(torch.ones(3, 4)).square().mean(), 2)
        self.assertEqual((w.summary("1", "weight").values, w.notes), (16, [] if SHAPES_BUFFERS else [UNSHAPED]))

    def test_blocks_that_run_compiled(self):
        def calls(self, x):  # as a compiled block: its modules' hooks are not called
            return torch.nn.functional.linear(x, self.fc.weight, self.fc.bias)

        model = torch.nn.Sequential(torch.nn.Linear(4, 8), *(Calls(calls, fc=torch.nn.Linear(8, 8)) for _ in range(2)), torch.nn.Linear(8, 4))
        self.assertEqual(self.of(model).notes, [
            "not counted: outputs and their gradients of 1.fc, 2.fc (2 of 4 layers, 65.5 % of the parameters), since no call of these "
            "was seen: they run compiled or under torch.func, or others use their parameters"])
        scripted = torch.nn.Sequential(torch.nn.Linear(4, 8), *(torch.jit.trace(torch.nn.Linear(8, 8), (torch.ones(3, 8),))
                                                                for _ in range(2)))
        self.assertEqual(self.of(scripted).notes, [
            "1, 2 run compiled: their activations inside are not counted, their outputs and parameters (78.3 % of all) are", NOT_INSIDE])
        self.assertEqual(self.of(torch.nn.TransformerEncoderLayer(4, 2)).notes, [])

    @unittest.skipUnless(hasattr(torch.nn.Module, "compile"), "Module.compile came with torch 2.2; the suite torch-latest has it")
    def test_blocks_that_torch_compiles(self):
        for way in ("method", "forward", "wrapper"):
            model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 8))
            if way == "method":
                model[1].compile(backend="eager")
            elif way == "forward":
                model[1].forward = torch.compile(model[1].forward, backend="eager")
            else:
                model[1] = torch.compile(model[1], backend="eager")
            notes = self.of(model).notes
            self.assertEqual(notes[:1], [
                "1 runs compiled: its activations inside are not counted, its outputs and parameters (64.3 % of all) are"])
            self.assertLessEqual(set(notes[1:]), {NOT_INSIDE})
        model = new_net()
        notes = self.of(model, call=torch.compile(model, backend="eager")).notes
        self.assertEqual(notes, ["Sequential runs compiled: its activations inside are not counted, its outputs and parameters (100 % of all) are"])

    def test_of_a_compiled_part_that_overflows_it_is_the_part_that_is_named_with_what_to_do(self):
        class Squares(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = torch.nn.Linear(4, 4)

            def forward(self, x):
                y = self.fc(x).half() * 4e4
                return (y - 2 * y).float()

        ways = {"script": torch.jit.script}
        if hasattr(torch.nn.Module, "compile"):
            ways |= {"wrapper": lambda part: torch.compile(part, backend="eager"), "method": compiled_by_method}
        for way, compiled in ways.items():
            for size, ill in ((1e3, True), (1e-3, False)):
                with self.subTest(way=way, ill=ill), warnings.catch_warnings(record=True) as warned:
                    warnings.simplefilter("always")
                    model = torch.nn.Sequential(torch.nn.Linear(4, 4), compiled(Squares()), torch.nn.Tanh(), torch.nn.Linear(4, 4))
                    w = self.of(model, x=torch.full((3, 4), size))
                    self.assertIn(("1", "act"), w.layers)
                    first, text = w.first_nonfinite(), " ".join(str(w.advise()).split())
                    self.assertEqual(first is not None, ill)
                    self.assertFalse([one for one in warned if "global hooks" in str(one.message)])
                    if ill:
                        self.assertEqual((first.layer, first.arose), ("1", True))
                        self.assertIn("1 runs compiled, and nobody saw inside of it: run it uncompiled to see the op; no FP16 was seen in it", text)
                        self.assertNotIn("FP16's range", text)

    def test_zeros_that_a_compiled_part_makes_are_laid_to_what_is_inside_of_it(self):
        class Divides(torch.nn.Module):  # as a norm that squares in FP16: x / Inf is 0
            def __init__(self, *shape):
                super().__init__()
                self.g = torch.nn.Parameter(torch.ones(*shape))

            def forward(self, x):
                return (x.half() / (x.half() * x.half())) * self.g.sum().half()

        class Plain(torch.nn.Module):
            def forward(self, x):
                return x.half() / (x.half() * x.half())

        class Wide(torch.nn.Module):
            def forward(self, x):
                return x.float()

        class Whole(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = torch.nn.Sequential(Divides(1), Wide(), torch.nn.Linear(4, 2))

            def forward(self, x):
                return self.net(x) + 1

        rows = torch.full((3, 4), 300.0)
        some = torch.tensor([[2.0], [300.0], [400.0]]).expand(3, 4)
        inside, may_be = "all 3 rows of its outputs are zero, those of inputs whose squares sum to more", "'1' runs compiled, and nobody saw inside. In FP16 an"
        for shape, x, told in (((1,), rows, inside), (None, rows, inside), ((2, 2), rows, may_be), ((1,), rows / 300, ""),
                               ((1,), some, "2 of 3 rows of its outputs are zero")):
            first = torch.nn.Linear(4, 4, bias=False)
            torch.nn.init.eye_(first.weight)
            model = torch.nn.Sequential(first, torch.jit.script(Divides(*shape) if shape else Plain()), Wide(), torch.nn.Linear(4, 2))
            w = self.of(model, x=x, lr=1e-3)
            text = " ".join(str(w.advise()).split())
            self.assertEqual((w.advise().keep_fp32 == ["1"], told in text), (told.endswith(("more", "zero")), True), text)
            self.assertEqual(("Layers that do not learn" in text, "Run it uncompiled" in text), (told in (inside, may_be), told == may_be), text)
            self.assertEqual("No layer needs FP32 for its range" in text, not told)
            self.assertEqual("Zero is what comes of an overflow inside of '1', as told above" in text, told == inside, text)
        text = " ".join(str(self.of(torch.jit.script(Whole()), x=rows, lr=1e-3).advise()).split())
        self.assertIn("while gradients reached the compiled part that they are in. RecursiveScriptModule runs compiled, and nobody saw inside. ", text)

    def test_weights_of_a_compiled_part_that_are_nan_are_named_with_when_they_became_so(self):
        for number, at in ((0, "when training began: look at the checkpoint, or at what initializes it"), (2, "step 1: 1 NaN in parameter 1.0, after")):
            model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.jit.trace(torch.nn.Sequential(torch.nn.Linear(4, 4)), (torch.ones(3, 4),)))
            with binade.torch.watch(model, torch.optim.SGD(model.parameters(), lr=0.0), every=50) as w:
                for step in range(4):
                    if step == number:
                        with torch.no_grad():
                            model[1].get_submodule("0").weight[0, 0] = math.nan
                    model(torch.ones(3, 4)).sum().backward()
                    w._optimizers[0].step()
            text = " ".join(str(w.advise()).split())
            self.assertIn(at, text)
            self.assertNotIn("look for an op", text)

    def test_a_compiled_part_whose_outputs_all_die_is_named_with_the_step(self):
        for lr, died in ((5.0, True), (1e-3, False)):
            torch.manual_seed(0)
            inner = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1), torch.nn.ReLU())
            torch.nn.init.ones_(inner[2].bias)
            model = torch.jit.trace(inner, (torch.ones(3, 4),))
            w = fit(model, lambda: (model(torch.rand(16, 4)) - 0.5).square().mean(), 6, lr=lr)
            text = " ".join(str(w.advise()).split())
            self.assertEqual("A part that runs compiled died: from step 1 on all outputs of" in text, died, text)
            self.assertEqual("so were the gradients of all of its weights in the 5 counted steps since" in text, died)
            self.assertEqual("the step was too large" in text, died)

    def test_fp16s_range_is_blamed_for_what_runs_compiled_where_it_runs_in_fp16_alone(self):
        class Squares(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(4, dtype=torch.float16))

            def forward(self, x):
                return (x.half() * x.half() * self.weight).float()

        class Roots(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(4))

            def forward(self, x):
                return x.sqrt() * self.weight

        x = torch.full((60, 4), 300.0)
        for make, low, told in ((Squares, 1.0, (True, False, False)), (Roots, -1.0, (False, True, True))):
            x[0, 0] = low
            text = self.of(torch.jit.script(make()), x=x).first_nonfinite().text
            self.assertEqual(("FP16's range (65504 at most) is the likely cause" in text, "no FP16 was seen in it" in text,
                              text.endswith("of input, 1 of 240 values is negative")), told, text)

    def test_inf_that_comes_out_of_a_compiled_function_is_not_laid_to_the_data(self):
        def calls(_, x):
            return x + torch.from_numpy((x.detach().numpy() * math.inf)) * 0  # as out of compiled code: no op gives the Inf

        for opaque, told in (([], "look at the data"), (["torch.compile of f"], "may have come out of torch.compile of f, inside of which nobody")):
            with unittest.mock.patch("binade.torch.watch.values.compiled.opaque_in", lambda _, opaque=opaque: opaque):
                w = self.of(torch.nn.Sequential(torch.nn.Linear(4, 4), Calls(calls)))
            text = " ".join(str(w.advise()).split())
            self.assertIn(told, text)
            self.assertEqual("look at the data" in text, not opaque)

    @unittest.skipUnless(hasattr(torch.nn.Module, "compile"), "torch.compile came with torch 2.0; the suite torch-latest has it")
    def test_watching_leaves_compiled_modules_and_filters_of_warnings_as_they_were(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), compiled_by_method(torch.nn.Linear(8, 8)))
        call, filters = model[1]._compiled_call_impl, list(warnings.filters)
        self.of(model)
        self.assertIs(model[1]._compiled_call_impl, call)
        self.assertEqual(warnings.filters, filters)

    def test_complex_numbers(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2, dtype=torch.complex64))
        notes = self.of(model, call=lambda x: model[1](model[0](x).to(torch.complex64))).notes
        self.assertIn("not counted: weights, updates and states of 1 (1 of 2 layers, 33.3 % of the parameters), complex numbers", notes)
        self.assertIn("not counted: gradients of 1 (1 of 2 layers, 33.3 % of the parameters), complex numbers", notes)
        self.assertIn("not counted: outputs and their gradients of 1, complex numbers", notes)

    def test_advice_tells_what_was_not_counted_before_the_formats_where_that_is_much(self):
        for width, told in ((2, True), (1, False)):
            model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, width, bias=False, dtype=torch.complex64))
            model[0] = model[0] if told else torch.nn.Linear(4, 4 * 4)
            w = self.of(model, call=lambda x: model[1](model[0](x)[:, :4].to(torch.complex64)))
            text = " ".join(str(w.advise()).split())
            self.assertEqual("What follows is of a part of the model alone. Not counted: " in text.partition("act in e4m3")[0], told)
            self.assertEqual("weights, updates and states of 1 (1 of 2 layers, 28.6 % of the parameters), complex numbers" in text, told)
            self.assertIn("No layer needs FP32 for its range" + (", as far as it was counted." if told else "."), text)

    def test_states_of_torchao_are_dequantized_by_their_own_method(self):
        codes = torch.arange(-16, 16, dtype=torch.int8).reshape(8, 4)

        def make(p, kind=Quantized8):
            return {"step": 1, "exp_avg": kind(codes, 0.25)} if p.dim() == 2 and len(p) == 8 else {}

        w = self.of(new_net(), make)
        summary = w.summary("0.exp_avg", "state")
        self.assertEqual((summary.values, summary.largest, w.notes), (64, 4.0, []))
        w = self.of(new_net(), lambda p: make(p, Opaque8))
        self.assertRegex(" ".join(w.notes), r"^not counted: states exp_avg of 0 \(1 of \d layers, .* %.*\), of class Opaque8$")
        self.assertNotIn(("0.exp_avg", "state"), w.layers)

    def test_states_of_bitsandbytes_are_dequantized_by_its_function(self):
        table, scales = torch.linspace(-1, 1, 256), torch.tensor([3.0])

        def make(p):
            return {"step": 1, "state1": torch.full(p.shape, 255, dtype=torch.uint8), "qmap1": table, "absmax1": scales}

        w = self.of(new_net(), make)
        self.assertEqual([key for key in w.layers if key[1] == "state"], [])
        self.assertRegex(" ".join(w.notes), r"^not counted: states state1 of 0, .*100 % of the parameters\), of dtype uint8$")
        with unittest.mock.patch.dict(sys.modules, {"bitsandbytes.functional": types.SimpleNamespace(
                dequantize_blockwise=lambda x, absmax, code, blocksize: code[x.long()] * absmax)}):
            w = self.of(new_net(), make)
        self.assertEqual((w.notes, w.summary("0.state1", "state").largest), ([], 3.0))
        self.assertFalse([key for key in w.layers if "qmap" in key[0] or "absmax" in key[0]])


class Refusals(CliCase):
    def test_in_one_line(self):
        model = new_net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for wanted, call in (
            (TypeError, lambda: binade.torch.watch("model")),
            (TypeError, lambda: binade.torch.watch({"": model})),
            (ValueError, lambda: binade.torch.watch({})),
            (TypeError, lambda: binade.torch.watch(model, 3)),
            (ValueError, lambda: binade.torch.watch(model, [])),
            (ValueError, lambda: binade.torch.watch(model, optimizer, every=0)),
            (TypeError, lambda: binade.torch.watch(model, optimizer, every=2.5)),
            (ValueError, lambda: binade.torch.watch(model, optimizer, windows=1)),
            (ValueError, lambda: binade.torch.watch(model, optimizer, gradients="all")),
            (TypeError, lambda: binade.torch.watch(model, optimizer, scaler=3)),
            (ValueError, lambda: binade.torch.watch(model, optimizer, loss_scale=0)),
            (ValueError, lambda: binade.torch.watch(torch.nn.ReLU(), optimizer).start()),
            (ValueError, lambda: binade.torch.watch(model, optimizer, emulated="sm_1")),
            (ValueError, lambda: binade.torch.watch(model, optimizer).report()),
            (ValueError, lambda: binade.torch.watch(model, optimizer).step()),
            (ValueError, lambda: binade.torch.watch(model, optimizer).alerts(role="dX")),
            (ValueError, lambda: binade.torch.watch(model, optimizer).alerts(share=2)),
            (ValueError, lambda: binade.torch.watch(model, optimizer).alerts(format="fp99")),
            (TypeError, lambda: binade.torch.watch(model, optimizer).on_window(3)),
        ):
            with self.assertRaises(wanted) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))
        self.assertIn("0, 50, 100", str(caught_by(lambda: binade.torch.watch(model, optimizer).report())))

    def test_twice_begun(self):
        model = new_net()
        with binade.torch.watch(model, torch.optim.SGD(model.parameters(), lr=0.1)) as w, self.assertRaises(ValueError):
            w.start()


def caught_by(call):
    try:
        call()
    except ValueError as error:
        return error


if __name__ == "__main__":
    main()
