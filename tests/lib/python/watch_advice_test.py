# SPDX-License-Identifier: Apache-2.0
#
# What the advice on a watched run concludes: what binds the loss scale and what does not, layers that do not learn, outputs that
# underflow; each beside healthy runs. SKIP without torch. watch_advice_test.py BINADE
import collections
import itertools
import sys
import warnings

try:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from binade.torch import Run, Window
from binade.torch.watch.values import saturation
from binade.torch.watch.advice import asked_to_be_held
from binade.torch.watch.weights.bound import Bound as StepBound
from binade.torch.watch.weights.bound import origin_of, parameters_as_is
from binade.torch.watch.underflow import died_text
from binade.torch.watch.conclusions import but_for, concluded, excluded
from binade.torch.watch.values.nonfinite import NonFinite
from binade.torch.watch.values.residues import residues
from binade.torch.watch.run import Layer
from cli_case import CliCase, main
from watch_runs import Calls, fit, in_bfloat16, watched


class Head(torch.nn.Module):
    """A model of words whose loss, like those of Hugging Face, comes out of its forward where it is given labels."""

    def __init__(self):
        super().__init__()
        self.words, self.inner, self.norm, self.head = (
            torch.nn.Embedding(16, 8), torch.nn.Linear(8, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 5))

    def forward(self, x, labels=None):
        logits = self.head(self.inner(self.norm(self.words(x))).relu())
        return {"logits": logits} if labels is None else {"loss": loss_of(logits, labels), "logits": logits}


def loss_of(logits, labels):
    return torch.nn.functional.cross_entropy(logits.float(), labels)


class Bound(CliCase):
    def advice(self, inside, narrow, dtype=torch.float32):
        torch.manual_seed(3)
        model = Head().to(dtype)

        def loss():
            x, labels = torch.randint(0, 16, (6,)), torch.randint(0, 5, (6,))
            return in_bfloat16(lambda x: model(x, labels)["loss"] if inside else loss_of(model(x)["logits"], labels), x, narrow)

        return fit(model, loss).advise()

    def test_a_loss_that_a_model_returns_binds_no_scale(self):
        for narrow in (False, True):
            inside, outside = self.advice(True, narrow), self.advice(False, narrow)
            for key in ("s_min_log2", "s_max_log2", "recommended_log2", "binding_max", "free_binades", "over_run"):
                self.assertEqual(inside.loss_scale[key], outside.loss_scale[key], key)
            self.assertEqual(inside.loss_scale["over_run"]["steps"], 3)
            unbound = [tuple(row.values()) for row in inside.to_dict()["unbound"]]
            self.assertIn(("Head.loss", "dAct"), unbound)
            # Autocast casts the weights of Linear alone.
            self.assertEqual([row for row in unbound if row[1] == "dW"], [("words", "dW"), ("norm", "dW"), ("norm.bias", "dW")])
            self.assertIn("bind no loss scale, since they stay in FP32 under autocast: those of losses, and of what autocast computes in FP32 "
                          "before them (Head.loss dAct), and those of parameters that autocast casts for no op (words dW, norm dW, norm.bias dW).",
                          " ".join(str(inside).split()))
            self.assertEqual(inside.keep_fp32, outside.keep_fp32)

    def test_a_bias_binds_a_scale_where_autocast_casts_it(self):
        class Casts(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.extend(id(args[0]) for _ in "_" if func._schema.name == "aten::_to_copy")
                return func(*args, **(kwargs or {}))

        torch.manual_seed(0)
        rows = torch.randn(3, 2, 2, 6)
        for x in (rows[0, 0, 0], rows[0, 0], rows[0, 0].t().contiguous().t(), rows[0], rows[0].transpose(0, 1), rows, rows.transpose(0, 2)):
            for forward, more in ((lambda self, x: self.one(x), {}), (lambda self, x: self.two(self.one(x).relu()) * self.gain + self.shift, {
                    "two": torch.nn.Linear(6, 6), "gain": parameter(6), "shift": parameter(6)}),
                    (lambda self, x: x @ self.w + self.shift, {"w": parameter(6, 6), "shift": parameter(6)})):
                model, seen = Calls(forward, one=torch.nn.Linear(6, 6), **more), []
                as_is = parameters_as_is([model(x)])
                with torch.autocast("cpu", dtype=torch.bfloat16), Casts():
                    model(x)
                self.assertEqual({name for name, p in model.named_parameters() if not as_is.get(id(p), True)},
                                 {name for name, p in model.named_parameters() if id(p) in seen}, tuple(x.shape))

    def test_a_run_in_bfloat16_is_judged_as_one_in_float32(self):
        wide, narrow = self.advice(True, False), self.advice(True, False, torch.bfloat16)
        self.assertEqual(wide.to_dict()["unbound"], narrow.to_dict()["unbound"])
        self.assertEqual(wide.loss_scale["binding_max"], narrow.loss_scale["binding_max"])

    def test_what_ends_a_model_binds_a_scale_where_it_is_cast(self):
        for end, narrow, binds in ((lambda x: x.log_softmax(-1), False, False), (lambda x: x.float().log_softmax(-1), True, False),
                                   (lambda x: x.float(), True, True), (lambda x: x.float().sin(), True, False),
                                   (lambda x: x.sin(), False, True), (lambda x: x.bfloat16().log_softmax(-1), False, False)):
            model = Calls(lambda self, x, end=end: end(self.head(x)), head=torch.nn.Linear(4, 3))
            w = fit(model, lambda: (in_bfloat16(model, torch.ones(2, 4), narrow) * torch.tensor([0.3, 0.5, 0.7])).float().sum(), 1)
            self.assertEqual(w.layers["Calls", "dAct"].binds if ("Calls", "dAct") in w.layers else True, binds)
            self.assertTrue(w.layers["head", "dAct"].binds)
            self.assertTrue(w.layers["head", "dW"].binds)

    def test_the_output_of_a_product_binds_a_scale_also_where_a_run_has_it_in_float32(self):
        torch.manual_seed(0)
        half, head = torch.nn.Linear(4, 4).to(torch.bfloat16), torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
        model = Calls(lambda self, x: self.head(self.narrow(x).float()), narrow=half, head=head)
        for shape in ((2, 4), (2, 2, 4)):
            w = fit(model, lambda: model(torch.randn(shape, dtype=torch.bfloat16)).square().mean(), 1)
            self.assertEqual([key for key, of in w.layers.items() if of.binds is False], [])

    def test_a_scalar_binds_a_scale_in_float16_alone(self):
        scalar = torch.ones((), requires_grad=True)
        for dtype, binds in ((torch.float32, False), (torch.bfloat16, False), (torch.float16, True)):
            loss = scalar.to(dtype)
            self.assertEqual(StepBound().output_binds(origin_of(loss, torch.nn.Identity()), torch.ones((), dtype=dtype)), binds)

    def test_a_gradient_that_is_zero_but_for_rounding_is_no_reason_for_fp32(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.BatchNorm1d(128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
        optimizer, alerts = torch.optim.SGD(model.parameters(), lr=0.0, momentum=0.9), []
        w = fit(model, lambda: torch.nn.functional.cross_entropy(model(torch.randn(64, 64)), torch.randint(0, 10, (64,))), 1, optimizer,
                alerts={"role": ("dW", "update", "state"), "call": alerts.append})
        self.assertEqual((alerts, w.left_by_rounding()), ([], {"0.bias"}))
        self.assertNotIn("0.bias.momentum_buffer", {row["layer"] for row in w.advise().to_dict()["states"]})
        advice = w.advise()
        bias = w.summary("0.bias", "dW")
        self.assertLess(bias.largest, 2.0**-25)  # what is to be saved would need a scale beyond that of the others
        self.assertEqual(advice.loss_scale["first_negligible"], "step000000/0.bias/dW")
        self.assertEqual((advice.loss_scale["status"], advice.keep_fp32), ("ok", []))
        self.assertIn("Not asked to be saved: 1 gradient of weights", str(advice))

    def test_rounding_is_told_from_small_gradients_in_bfloat16(self):
        def forward(self, x):
            return self.head(self.norm(self.before(torch.cat((x, x), 1))).relu() + 1e-3 * self.early(x))

        for clip in (None, 1e-3):
            torch.manual_seed(0)
            model = Calls(forward, early=torch.nn.Linear(8, 16), before=torch.nn.Linear(16, 16), norm=torch.nn.BatchNorm1d(16),
                          head=torch.nn.Linear(16, 5)).to(torch.bfloat16)
            alerts = []
            w = fit(model, lambda: loss_of(model(torch.randn(64, 8).to(torch.bfloat16)), torch.randint(0, 5, (64,))), 1, lr=1e-9,
                    between=lambda: clip and torch.nn.utils.clip_grad_norm_(model.parameters(), clip),
                    alerts={"share": 0.0, "role": "dW", "call": alerts.append, "format": "e4m3"})
            advice = w.advise()
            self.assertEqual({"before.bias", "early.bias"} & {alert.layer for alert in alerts}, {"early.bias"})
            lost = {row["layer"] for row in advice.to_dict()["lost_updates"]}
            self.assertEqual({"before.bias", "early.bias"} & lost, {"early.bias"})
            self.assertLess(w.summary("early.bias", "dW").largest, 2**-9 * w.summary("head", "dW").largest)
            self.assertEqual(advice.to_dict()["residues"], [{"layer": "before.bias", "role": "dW"}])
            self.assertIn("leaves where a sum is zero, and that ask for no loss scale: before.bias dW.", " ".join(str(advice).split()))
            self.assertIn(" 3 gradients of what a narrow format never holds", advice.loss_scale["basis"])  # the norm's, too
            held = asked_to_be_held(w.layers, {key: w.summary(*key) for key in w.layers}, w.residues())
            self.assertEqual([layer in held for layer in (("early.bias", "dW"), ("before.bias", "dW"))], [True, False])

    def test_the_bias_of_an_attentions_keys_is_rounding_whether_its_outputs_are_seen_or_not(self):
        for dtype in (torch.float32, torch.bfloat16):
            torch.manual_seed(0)
            attention = torch.nn.MultiheadAttention(16, 2, batch_first=True).to(dtype)
            model = Calls(lambda self, x: self.attn(x, x, x, need_weights=False)[0], attn=attention)
            alerts = []
            w = fit(model, lambda: model(torch.randn(8, 6, 16).to(dtype)).float().square().sum().mul(1e-3), 1, lr=1e-3,
                    alerts={"share": 0.0, "role": "dW", "call": alerts.append, "format": "e4m3"})
            self.assertEqual(w.left_by_rounding(), {"attn.k.bias"})
            self.assertNotIn("attn.k.bias", {alert.layer for alert in alerts})
            self.assertIn("attn.k", {alert.layer for alert in alerts})

    def test_how_large_rounding_may_be_follows_from_the_format_of_the_terms(self):
        def counted(*values):
            return binade.RangeSummary().add(torch.tensor(values))

        of_all = {("a", "dW"): counted(128.0)}
        for layer, bias in (("a", 2.0), ("b", 2.0**-4), ("c", 2.0**-9), ("d", 2.0**-20)):
            of_all |= {(layer, "dAct"): counted(*[0.125] * 256), (layer + ".bias", "dW"): counted(bias)}  # terms of norm 2
        for dtype, left in (("BF16", {"b.bias", "c.bias", "d.bias"}), ("F16", {"c.bias", "d.bias"}), ("F32", set())):
            layers = {key: Layer(dtype, None) for key in of_all}
            self.assertEqual(residues(layers, lambda *key: of_all[key]), {(layer, "dW") for layer in left}, dtype)
        layers = {key: Layer("BF16", None) for key in of_all if key != ("a", "dW")}  # without it, b's is a large share of all
        self.assertEqual(residues(layers, lambda *key: of_all[key]), {("c.bias", "dW"), ("d.bias", "dW")})

    def test_a_bias_that_fp16_loses_is_kept_only_where_its_output_would_feel_it(self):
        for size, kept in ((1.0, []), (2.0**-20, ["layer.bias"])):
            model = torch.nn.Sequential(collections.OrderedDict(layer=torch.nn.Linear(4, 4)))
            layer = model.layer
            with torch.no_grad():
                layer.bias.fill_(2.0**-26)
                layer.weight.fill_(0.25)
            w = fit(model, lambda: model(torch.full((2, 4), size)).sum(), 1, lr=0.0)
            self.assertEqual([name for name in w.advise().keep_fp32 if name == "layer.bias"], kept)

    def test_an_output_that_fp16_loses_is_kept_unless_it_is_lost_in_a_sum_anyway(self):
        def inner(self, x):
            return self.drop(self.scale(self.inner(x)))

        for forward, kept in ((lambda self, x: x + inner(self, x), []), (lambda self, x: inner(self, x).view(4, 8) * 2 + x, []),
                              (lambda self, x: x + self.norm(inner(self, x)), ["scale", "drop"]),
                              (lambda self, x: (y := inner(self, x)) + x + y * 1e9, ["drop", "scale"]),
                              (lambda self, x: inner(self, x) + inner(self, x), ["scale", "drop", "Calls"])):
            torch.manual_seed(0)
            model = Calls(forward, inner=torch.nn.Linear(8, 8), scale=Calls(lambda _, x: x * 1e-9), drop=torch.nn.Dropout(0.1), norm=torch.nn.LayerNorm(8, eps=0))
            w = watched(model=model, x=torch.randn(4, 8), steps=1)
            rows = [row["layer"] for row in w.advise().to_dict()["keep_fp32"] if any(one["role"] == "act" for one in row["reasons"])]
            self.assertEqual(sorted(rows), sorted(kept))

    def test_advice_in_a_format_with_scales_of_each_tensors_own(self):
        advice = watched().advise(format="e4m3")
        self.assertEqual(advice.loss_scale["format"], "e4m3")
        self.assertIn("\ne4m3 is used with a scale of each tensor's own, not with one loss scale: ", str(advice))


def parameter(*shape):
    return torch.nn.Parameter(torch.randn(shape))


def advised(model, x=None, steps=4, every=1, loss=lambda y, step: y.float().square().mean(), lr=lambda step: 0.01):
    """Trains by SGD, with gradients that zero_grad() makes zeros, not None; returns the Advice and its text without line breaks."""
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.01)
    with binade.torch.watch(model, optimizer, every=every) as w:
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = lr(step)
            loss(model(torch.ones(3, 4) if x is None else x), step).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
    advice = w.advise()
    return advice.to_dict(), " ".join(str(advice).split())


def copies_of(model):
    return torch.nn.ParameterList([torch.nn.Parameter(p.detach().float()) for p in model.parameters()])


def fit_by_masters(model, masters, loss, steps, lr=0.1, back=True, watched=True):
    """Trains copies of a narrow model's parameters. back: whether it gets what these become. watched: whether they are, too."""
    def give_gradients():
        for master, p in zip(masters, model.parameters()):
            master.grad, p.grad = p.grad.float(), None

    def copy_back():
        for master, p in zip(masters, model.parameters()) if back else ():
            p.data.copy_(master.data)

    models = {"model": model, "master": masters} if watched else model
    return fit(models, loss, steps, torch.optim.SGD(list(masters), lr=lr), between=give_gradients, after=copy_back, clear=None)


def linear(inputs=4, outputs=8, weight=None, bias=None):
    out = torch.nn.Linear(inputs, outputs)
    with torch.no_grad():
        out.weight if weight is None else out.weight.fill_(weight)
        out.bias if bias is None else out.bias.fill_(bias)
    return out


class Untrained(CliCase):
    def setUp(self):
        torch.manual_seed(0)

    def test_layers_that_die_of_too_large_a_step_are_named_with_the_step_from_which_on(self):
        for lr, last, ill in ((0.3, torch.nn.ReLU, True), (0.01, torch.nn.ReLU, False), (0.05, torch.nn.GELU, False)):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(16, 32), last(), torch.nn.Linear(32, 1))
            advice = fit(model, lambda: torch.nn.functional.mse_loss(model(x := torch.rand(64, 16)), x[:, :1] * 10), 12, lr=lr, scaler=None).advise()
            rows = advice.to_dict()["dies"]
            self.assertEqual([row["layer"] for row in rows], ["0"] if ill else [])
            self.assertEqual("Layers that died: from step " in str(advice), ill)
            self.assertEqual("norm of its weight: the step was too large" in " ".join(str(advice).split()), ill)
            self.assertTrue(all(0 < row["since"] < 9 and row["moved_log2"] > 0 for row in rows), rows)

    def test_a_parameter_that_other_data_would_use_beside_modules_that_learn_is_no_module_without_gradients(self):
        for forward, told in ((lambda self, x: self.inner(x), []), (lambda self, x: self.inner(x).detach() * self.mask[:2], ["body.inner"])):
            body = Calls(forward, mask=torch.nn.Parameter(torch.zeros(4)), inner=torch.nn.Linear(4, 2))
            model = torch.nn.ModuleDict({"body": body})
            w = fit(model, lambda: model["body"](torch.ones(3, 4)).square().sum(), scaler=None)
            of = w.advise().to_dict()["untrained"]
            self.assertEqual(of["detached"] + of["unused"], told)

    def test_gradients_beside_nan_in_a_run_that_trained_nothing_tell_nothing_of_underflow(self):
        for ill in (True, False):
            torch.manual_seed(0)
            model = Half(4, 4)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
            factor = torch.randn(64, 4) * 2.0**-25  # of whose values FP16 has few
            factor[::2] = torch.nan if ill else 0.0
            w = fit(model, lambda: (model(torch.rand(64, 4)) * factor).sum(), 4, optimizer, scaler=None)
            rows = w.advise().to_dict()
            self.assertEqual(bool(rows["died"] or any(of["role"] == "dAct" for row in rows["keep_fp32"] for of in row["reasons"])), not ill)

    def test_a_model_that_dies_as_a_whole_is_named_by_the_layer_before_its_last_relu(self):
        for lr, ill in ((2.0, True), (0.01, False)):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(16, 1), torch.nn.ReLU())
            torch.nn.init.constant_(model[0].bias, 5.0)
            w = fit(model, lambda: model(torch.rand(64, 16)).square().mean(), 5, lr=lr, scaler=None)
            self.assertEqual("step 1 on outputs of '0' were negative" in " ".join(str(w.advise()).split()), ill, w.advise())
            self.assertEqual("nor did any other weight" in " ".join(str(w.advise()).split()), ill)

    def test_a_model_that_dies_row_by_row_is_dead_from_the_step_in_which_the_last_row_is(self):
        for steps, since in ((16, 12), (10, None)):
            model = torch.nn.Sequential(torch.nn.Linear(16, 1, bias=False), torch.nn.ReLU())
            model[0].weight.data = torch.linspace(0.05, 1.15, 16)[None]
            w = fit(model, lambda: model(torch.eye(16)).sum(), steps, scaler=None)
            self.assertEqual([row["since"] for row in w.advise().to_dict()["dies"]], [since] if since else [])
            self.assertEqual("If it is the ReLU of the model's output" in " ".join(str(w.advise()).split()), since is not None)

    def untrained(self, *args, **options):
        of, text = advised(*args, **options)
        rows = of["untrained"]
        self.assertEqual(bool(rows["layers"]), "Layers that do not learn" in text)
        return {row["layer"]: row["steps"] for row in rows["layers"]}, rows["zeros"], rows["negative"], rows["underflow"], text

    def test_recurrent_layers_that_no_gradient_reached_are_named_and_none_of_one_step(self):
        for rows, factor, told in ((3, 0.0, {"0.rnn.0.input": 4, "0.rnn.0.hidden": 4}), (1, 1.0, {}), (3, 1.0, {})):
            last = Calls(lambda self, x, n=rows, by=factor: self.rnn(x[:, None].expand(-1, n, -1))[0][:, -1] * by,
                         rnn=torch.nn.GRU(4, 4, batch_first=True))
            layers, *_, text = self.untrained(torch.nn.Sequential(last, linear(4, 2)))
            self.assertEqual({layer: n for layer, n in layers.items() if "rnn" in layer}, told, text)

    def test_layers_around_a_dead_relu_do_not_learn(self):
        layers, zeros, negative, underflow, text = self.untrained(
            torch.nn.Sequential(linear(bias=-9), torch.nn.ReLU(), linear(8, 2)))
        self.assertEqual((layers, zeros, negative, underflow), ({"0": 4, "2": 4}, ["1"], ["0"], []))
        self.assertIn("no gradient reached '0'; it was nothing but zeros in all 4 counted steps. Layers that do not learn: the gradients of "
                      "the weights of '2' were nothing but zeros in all 4 counted steps, while gradients reached their outputs. All that '2' "
                      "got was zero, so that its gradient is. All outputs of '1' were zero. All outputs of '0' were negative, of which a "
                      "ReLU makes zeros: it is dead", text)
        # Of a function no output is seen; and behind the last layer nothing is left that changes.
        layers, zeros, negative, _, _ = self.untrained(
            Calls(lambda self, x: torch.relu(self.b(torch.tanh(self.a(x)))), a=linear(), b=linear(8, 2, bias=-9)), every=2)
        self.assertEqual((layers, zeros, negative), ({"a": 2, "b": 2}, ["Calls"], ["b"]))

        # Outputs that are negative for their bias, with gradients, are no cause.
        layers, _, negative, _, _ = self.untrained(torch.nn.Sequential(linear(bias=-9), torch.nn.ReLU(), linear(8, 2, bias=-1)))
        self.assertEqual((layers, negative), ({"0": 4, "2": 4}, ["0"]))

    def test_layers_before_a_saturated_activation_do_not_learn(self):
        layers, _, negative, _, text = self.untrained(torch.nn.Sequential(linear(bias=9), torch.nn.Hardtanh(), linear(8, 2)))
        self.assertEqual((layers, negative), ({"0": 4}, []))
        self.assertNotIn("ReLU", text)
        self.assertIn("Saturated is '1', hardtanh: all of its outputs are exactly ±1 in FP32", text)
        self.assertNotIn("Whether that is meant is not known", text)

    def test_saturated_activations_are_named_where_no_gradient_passes_them(self):
        for function, told in ((lambda self, x: self.b(torch.tanh(self.a(x))), "Saturated is Calls, tanh: all of its outputs are exactly ±1"),
                               (lambda self, x: self.b((self.a(x) * 99).sigmoid()), "sigmoid: all of its outputs are exactly 0 or 1 in FP32"),
                               (lambda self, x: self.b((self.a(x) * self.c).softmax(-1)), "softmax: all of its outputs are exactly 0 or 1"),
                               (lambda self, x: self.b(self.a(x)[:, :1].softmax(-1).expand(-1, 8)), "softmax: it is taken over one element")):
            model = Calls(function, a=linear(bias=99), b=linear(8, 2))
            model.c = torch.arange(8.0) * 99
            self.assertIn(told, advised(model)[1])
        # One that others pass by, or that has some outputs where its slope is not zero, is no illness.
        for function in (lambda self, x: self.b(self.a(x) + torch.tanh(x[:, :1] * 0 + 99)), lambda self, x: self.b(torch.tanh(self.a(x)))):
            of, text = advised(Calls(function, a=linear(), b=linear(8, 2)))
            self.assertEqual((of["untrained"]["layers"], "Saturated" in text), ([], False))

    def test_a_function_whose_backward_gives_zeros_is_named(self):
        class Steps(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, slope):
                ctx.slope = slope
                return (x * 4).floor()

            @staticmethod
            def backward(ctx, gradient):
                return None if ctx.slope is None else gradient * ctx.slope, None

        own = "came out of: Steps.backward (watch_advice_test.py:"
        for step, told in ((lambda y: Steps.apply(y, 0.0), own), (lambda y: Steps.apply(y, None), own),
                           (torch.round, "came out of: round in Calls: its slope is zero everywhere: pass the gradient straight through"),
                           (lambda y: y.clamp(50, 60), "clamp in Calls: all that it got lay where its slope is zero"),
                           (lambda y: Steps.apply(y, 1.0), ""), (lambda y: Steps.apply(y, -1.0), ""), (lambda y: y + (y.round() - y).detach(), ""),
                           (torch.relu, "")):
            _, text = advised(Calls(lambda self, x, f=step: self.b(f(self.a(x))), a=linear(), b=linear(8, 2)))
            self.assertIn(told or "act in", text)
            self.assertEqual("came out of" in text, bool(told), text)

    def test_smooth_activations_that_lie_where_they_are_flat_are_named_as_what_they_are(self):
        for act, bias, words in ((torch.nn.GELU, -20, "Layers that do not learn: no gradient reached '0'; it was nothing but zeros in all 4 "
                                  "counted steps. Saturated is '1', gelu: all that it got lies below -4, where its slope is next to zero."),
                                 (torch.nn.GELU, -7, "All outputs of '1' were zero. Saturated is '1', gelu: all that"),
                                 (torch.nn.GELU, -5.3, "Layers that hardly learn: Saturated is '1', gelu: all that"),
                                 (torch.nn.SiLU, -20, "Layers that hardly learn: Saturated is '1', silu: all that it got lies below -10"),
                                 (torch.nn.ELU, -20, "Layers that hardly learn: Saturated is '1', elu: all that it got"),
                                 (torch.nn.ReLU6, 50, "Saturated is '1', relu6: all of its outputs are exactly 0 or 6 in FP32"),
                                 (torch.nn.GELU, -1, ""), (torch.nn.SiLU, -5, ""), (torch.nn.LeakyReLU, -20, "")):
            with self.subTest(act=act.__name__, bias=bias):
                of, text = advised(torch.nn.Sequential(linear(bias=bias), act(), linear(8, 2)))
                self.assertEqual((words in text, "Saturated" in text, "ReLU" in text, "lost:" in text), (True, bool(words), False, False), text)
        # One that was so in some steps alone is no illness.
        seen = saturation.Saturation()
        for text in ("gelu: all", "gelu: all", "", "gelu: all", "gelu: all"):
            seen.add_step({("a", ""): text})
        self.assertEqual((seen.texts, seen.flat), ({}, {}))
        seen.add_step({("a", ""): "gelu: all"})
        self.assertEqual((seen + seen).flat, {"a": "gelu: all"})

    def test_a_sigmoid_that_fp16_alone_saturates_is_told_so(self):
        for x, dtype, told in ((torch.tensor([9.0, 12.0]), torch.float16, "that dtype alone"), (torch.tensor([99.0, -999.0]), torch.float16, "in each"),
                               (torch.tensor([99.0]), torch.float32, "in each"), (torch.tensor([9.0, 1.0]), torch.float16, "")):
            x = x.to(dtype)
            out = x.float().sigmoid().to(dtype)
            text = saturation.saturated("sigmoid", (x,), out)
            self.assertEqual((told in text, bool(text)), (True, bool(told)), text)
            self.assertNotIn("that dtype alone", saturation.saturated("sigmoid", (out,), out))  # in place: what it got is gone

    def test_experts_that_get_no_rows_are_told(self):
        def route(self, x):
            x, chosen = self.a(x), self.rows.pop()
            return self.b(x[:chosen]).sum() + self.c(x[chosen:]).sum()

        for rows, told in (([3] * 4, ["c"]), ([3, 3, 2, 3], []), ([2] * 4, [])):
            model = Calls(route, a=linear(), b=linear(8, 2), c=linear(8, 2))
            model.rows = rows
            of, text = advised(model)
            self.assertEqual((of["untrained"]["empty"], "as experts that a router never chooses" in text), (told, bool(told)))

    def test_a_layer_that_gets_zeros_is_told_from_one_that_no_gradient_reaches(self):
        for function, reached, unfed, told in (
                (lambda self, x: self.b(self.a(x * 0)), ["a"], ["a"], "All that a got was zero, so that its gradient is."),
                (lambda self, x: self.b(self.a(torch.cat([x * 0, x[:1]]))), [], [], ""),
                (lambda self, x: self.b(self.a(x)[:, :4] * 0 + x), [], [], "no gradient reached a;")):
            of, text = advised(Calls(function, a=linear(), b=torch.nn.Linear(8 if reached or not told else 4, 2)))
            self.assertEqual((of["untrained"]["reached"], of["untrained"]["unfed"]), (reached, unfed))
            self.assertIn(told, text)
            self.assertNotIn("Why is not known", text)

    def test_gradients_that_the_loop_takes_away_are_told_by_its_order_alone(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ELU(), torch.nn.Linear(8, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with self.assertWarns(RuntimeWarning), binade.torch.watch(model, optimizer, every=1) as w:
            for _ in range(3):
                model(torch.ones(3, 4)).square().sum().backward()
                optimizer.zero_grad(set_to_none=False)
                optimizer.step()
        text = " ".join(str(w.advise()).split())
        self.assertEqual(w.advise().to_dict()["untrained"]["order"], 0)
        self.assertIn("the gradients of the weights of '0', '2' were nothing but zeros in all 3 counted steps, while gradients reached their "
                      "outputs. They were taken away before the optimizer stepped: see the order of calls, step 0.", text)
        for wrong in ("no gradient reached", "is not known: a saturated", "Why is not known"):
            self.assertNotIn(wrong, text)

    def test_layers_that_are_frozen_or_held_by_no_optimizer_are_no_illness(self):
        for freeze, other, held, told in ((True, False, True, False), (False, False, False, True), (True, False, False, False),
                                          (False, True, False, False)):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
            model[0].weight.grad, model[0].bias.grad = torch.zeros(8, 4), torch.zeros(8)
            model[0].requires_grad_(not freeze)
            optimizer = torch.optim.SGD(model.parameters() if held else model[2].parameters(), lr=0.1)
            beside = torch.optim.SGD(model[0].parameters(), lr=0.1) if other else None
            w = fit(model, lambda: model(torch.ones(3, 4)).square().sum(), 3, optimizer, clear={"set_to_none": False})
            of = w.advise().to_dict()["untrained"]
            self.assertEqual((of["layers"], of["unheld"]), ([], ["0"] if told else []), beside)
            self.assertEqual("Trained by no optimizer that was seen: '0', 69 % of the parameters." in " ".join(str(w.advise()).split()), told)

    def run_with(self, model, optimizer, loss, steps=3, beside=None, after=lambda: None):
        models, said = {"m": model, "e": beside} if beside is not None else model, []
        w = fit(models, lambda: loss(model), steps, optimizer, after=after, said=said, every=2)
        return w, w.advise().to_dict()["untrained"], " ".join(str(w.advise()).split()), said

    def test_an_optimizer_that_no_backward_pass_reaches_is_told(self):
        def run(give, steps=3, one_model=False, after=lambda a, b: None, frozen=False):
            torch.manual_seed(0)
            a, b = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2)
            a.requires_grad_(not frozen)
            first, second = (torch.optim.Adam(one.parameters()) for one in (a, b))
            watched = torch.nn.ModuleDict({"a": a, "b": b}) if one_model else {"a": a, "b": b}
            with warnings.catch_warnings(record=True) as warned, binade.torch.watch(watched, [first, second], every=1) as w:
                warnings.simplefilter("always")
                for step in range(steps):
                    first.zero_grad()
                    second.zero_grad()
                    b(give(a, torch.ones(3, 4), step)).square().sum().backward()
                    after(a, b)
                    first.step()
                    second.step()
            text, words = " ".join(str(w.advise()).split()), "Adam over a stepped without any gradient in all 3 of its steps, and trained nothing"
            self.assertEqual(any(words in str(one.message) for one in warned), text.startswith(words), text)
            return words in text, w.advise().to_dict()["untrained"]

        def under_no_grad(a, x, step):
            with torch.no_grad():
                return a(x)

        def write(a, b):
            with torch.no_grad():
                a.weight.add_(0.1)

        for one_model in (False, True):
            for give in (lambda a, x, step: a(x).detach(), under_no_grad):
                found, of = run(give, one_model=one_model)
                self.assertEqual((found, of["detached"], of["unused"], of["layers"]), (True, [], [], []))
        for give, options in ((lambda a, x, step: a(x), {}), (lambda a, x, step: a(x) if step == 1 else a(x).detach(), {}),
                              (lambda a, x, step: a(x).detach(), {"steps": 2}), (lambda a, x, step: a(x).detach(), {"frozen": True}),
                              (lambda a, x, step: a(x).detach(), {"after": write}),
                              (lambda a, x, step: a(x), {"after": lambda a, b: a.zero_grad(set_to_none=True)})):
            self.assertFalse(run(give, **options)[0])

    def test_a_layer_that_was_put_in_after_the_optimizer_was_made_is_told(self):
        for width, momentum, orphan in ((3, 0.9, True), (2, 0.0, True), (3, None, False)):  # another shape, the same, none
            model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
            optimizer = torch.optim.SGD(model.parameters() if orphan else model[0].parameters(), lr=0.1, momentum=momentum or 0.0)
            model[2] = torch.nn.Linear(8, width)
            w, of, text, warned = self.run_with(model, optimizer, lambda model: model(torch.ones(3, 4)).square().sum())
            self.assertEqual((of["unheld"], of["orphans"]), (["2"], {"SGD": 2} if orphan else {}))
            words = "SGD holds 2 parameters that no watched model has and that got no gradient: was "
            self.assertEqual((words in text, sum(words in one for one in warned)), (orphan, orphan))
            self.assertEqual("were they added after the optimizer was made, or left out of it?" in text, not orphan)
            self.assertTrue(text.startswith("Trained by no optimizer that was seen: '2', "), text)
            self.assertIn(" What follows is of a part of the model alone. Not counted: weights, their gradients and updates of 2 (1 of 2 "
                          "layers,", text)

    def test_a_model_that_was_converted_after_the_optimizer_was_made_has_no_masters(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for layer in model:  # as under torch.__future__.set_overwrite_module_params_on_conversion(True)
            layer.weight, layer.bias = (torch.nn.Parameter(p.detach().bfloat16()) for p in (layer.weight, layer.bias))
        w, of, text, _ = self.run_with(model, optimizer, lambda model: model(torch.ones(3, 4).bfloat16()).float().square().sum())
        self.assertEqual((of["unheld"], of["orphans"]), (["0", "1"], {"SGD": 4}))
        self.assertIn("or the model converted (half(), to()) with new parameters, after the optimizer was made?", text)
        self.assertNotIn("master copies", text + " ".join(w.notes))

    def test_copies_that_the_optimizer_trains_in_the_place_of_a_models_parameters_are_no_orphans(self):
        for flat in (False, True):
            model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
            own = list(model[2].parameters())
            masters = [torch.cat([p.detach().reshape(-1) for p in own])] if flat else [p.detach().clone() for p in own]
            optimizer = torch.optim.SGD([*model[0].parameters(), *masters], lr=0.1)

            def loss(model, own=own, masters=masters):
                out = model(torch.ones(3, 4)).square().sum()
                for x in masters:
                    x.grad = torch.ones_like(x)
                return out

            _, of, _, warned = self.run_with(model, optimizer, loss)
            self.assertEqual((of["unheld"], of["orphans"], warned), ([], {}, []))

    def test_layers_that_no_gradient_reaches_and_an_optimizer_holds_are_told(self):
        def both(self, x):
            return self.a(x) + self.b(x).detach()

        layers = {name: torch.nn.Linear(4, 2) for name in "abc"}
        model = Calls(both, **layers)
        w, of, text, _ = self.run_with(model, torch.optim.SGD(model.parameters(), lr=0.1), lambda model: model(torch.ones(3, 4)).sum())
        self.assertEqual((of["detached"], of["unused"]), (["b"], ["c"]))
        self.assertIn("No gradient reached b in any step, though an optimizer holds their weights and their outputs were seen: these are "
                      "detached, or the loss does not use them.", text)
        self.assertIn("No gradient reached c in any step, though an optimizer holds their weights: no output of theirs was seen", text)
        with_c = Calls(lambda self, x: self.a(x) + torch.no_grad()(self.c)(x), **layers)
        _, of, text, _ = self.run_with(with_c, torch.optim.SGD(with_c.parameters(), lr=0.1), lambda model: model(torch.ones(3, 4)).sum())
        self.assertEqual((of["detached"], of["unused"], of["under_no_grad"]), ([], ["b"], ["c"]))
        self.assertIn("No gradient reached c in any step, though an optimizer holds their weights: they ran under no_grad alone.", text)
        model.b.requires_grad_(False)
        model.c.requires_grad_(False)
        _, of, _, _ = self.run_with(model, torch.optim.SGD(model.parameters(), lr=0.1), lambda model: model(torch.ones(3, 4)).sum())
        self.assertEqual((of["detached"], of["unused"]), ([], []))
        turns = iter("abcabc")
        model = Calls(lambda self, x: getattr(self, next(turns))(x), **{name: torch.nn.Linear(4, 2) for name in "abc"})
        _, of, _, _ = self.run_with(model, torch.optim.SGD(model.parameters(), lr=0.1), lambda model: model(torch.ones(3, 4)).sum())
        self.assertEqual((of["detached"], of["unused"]), ([], []))

    def test_a_moving_average_that_narrow_weights_lose_is_told(self):
        for dtype, share, ill in ((torch.bfloat16, 1e-4, True), (torch.bfloat16, 0.5, False), (torch.float32, 1e-9, False),
                                  (torch.bfloat16, None, False)):
            torch.manual_seed(0)
            model = torch.nn.Linear(4, 2)
            average = torch.nn.Linear(4, 2).to(dtype)

            def move(model=model, average=average, share=share):
                with torch.no_grad():
                    for p, q in zip(average.parameters() if share else (), model.parameters()):
                        p.lerp_(q.to(p.dtype), share)

            w, of, text, warned = self.run_with(model, torch.optim.SGD(model.parameters(), lr=0.1),
                                                lambda model: model(torch.ones(3, 4)).square().sum(), 4, average, move)
            line = "e is not counted: it gave nothing with gradients, and no optimizer holds its weights"
            self.assertEqual(sum(note.startswith(line) for note in w.notes), 1)
            self.assertEqual((len(of["stays"]), "of them are what they were after the first one" in text, len(warned)), (ill,) * 3)
    def test_a_text_has_one_word_for_a_format(self):
        w = watched()
        self.assertIn("of e4m3, e5m2, FP16, BF16 whose range", " ".join(str(w.advise()).split()))
        self.assertNotRegex(str(w.advise()), r"binary|float|\bF16|\bF32")

    def test_two_factors_that_both_begin_with_zero_are_named(self):
        for ill in (True, False):
            torch.manual_seed(0)
            model = Calls(lambda self, x: self.head(self.base(x) + self.b(self.a(x))), base=torch.nn.Linear(4, 4).requires_grad_(False),
                          a=torch.nn.Linear(4, 2, bias=False), b=torch.nn.Linear(2, 4, bias=False), head=torch.nn.Linear(4, 2))
            for one in (model.a, model.b)[not ill:]:
                torch.nn.init.zeros_(one.weight)
            advice = watched(model=model, x=torch.randn(8, 4), steps=4, every=1).advise()
            self.assertEqual(sorted(advice.to_dict()["zero_weights"]), ["a", "b"] if ill else [])
            self.assertEqual("where both factors of a product begin with zero" in " ".join(str(advice).split()), ill)

    def test_positions_that_a_narrow_dtype_does_not_tell_apart_are_told(self):
        scales, half = torch.tensor([1.0, 0.01]), torch.bfloat16
        for positions, ill in ((lambda n: torch.arange(n, dtype=half)[:, None] * scales.to(half), True),
                               (lambda n: torch.arange(n).to(half)[:, None] * scales.to(half), True),
                               (lambda n: torch.outer(torch.arange(n), scales.to(half)), True),
                               (lambda n: torch.arange(n)[:, None] * scales, False),
                               (lambda n: torch.arange(n // 2, dtype=half)[:, None] * scales.to(half), False),
                               (lambda n: 1 / torch.arange(1, n + 1, dtype=half)[:, None] * 0 + torch.ones(n, 2), False)):
            model = Calls(lambda self, x: self.b(self.a(x) * positions(512).cos().mean()), a=linear(), b=linear(8, 2))
            of, text = advised(model)
            self.assertEqual(bool(of["positions"]), ill)
            self.assertEqual("512 consecutive numbers are 385 distinct ones in BF16" in text, ill)

    def test_indices_that_were_numbers_of_a_narrow_format_are_told(self):
        half, ids = torch.bfloat16, torch.arange(512)
        for rows, ill in ((lambda: torch.arange(512, dtype=half).long(), "512 consecutive numbers are 385 distinct ones in BF16"),
                          (lambda: (torch.ones(2, 512).to(half).cumsum(1) * 1).long() - 1, "512 consecutive numbers are 38"),
                          (lambda: ids.to(half).flip(0).long(), "whole numbers up to 512 were numbers of BF16 before"),
                          (lambda: ids.half().long(), ""), (lambda: ids[:256].to(half).long(), ""), (lambda: ids, ""),
                          (lambda: (torch.rand(64, dtype=half) * 500).long(), "")):
            model = Calls(lambda self, x: self.b(self.a(x) + self.e(rows()).mean()), a=linear(), b=linear(8, 2), e=torch.nn.Embedding(513, 4))
            of, text = advised(model)
            self.assertEqual((len(of["positions"]), "Indices are lost in e: " + ill in text), (bool(ill), bool(ill)), text)

    def test_a_gate_and_what_it_multiplies_that_both_begin_with_zero_are_named(self):
        for zeros, found in (("ab", ["a", "b"]), ("ag", ["a", "g"]), ("a", []), ("b", []), ("g", [])):
            torch.manual_seed(0)
            model = Calls((lambda self, x: self.head(self.base(x) + self.g * self.a(x))) if "g" in zeros or zeros == "a" else (
                lambda self, x: self.head(self.base(x) + self.b(x) * self.a(x))), base=torch.nn.Linear(4, 4), a=torch.nn.Linear(4, 4),
                b=torch.nn.Linear(4, 4), head=torch.nn.Linear(4, 2))
            model.g = torch.nn.Parameter(torch.ones(4))
            with torch.no_grad():
                for name in zeros:
                    for p in [model.g] if name == "g" else getattr(model, name).parameters():
                        p.zero_()
            advice = watched(model=model, x=torch.randn(8, 4), steps=4, every=1).advise()
            self.assertEqual(sorted(advice.to_dict()["zero_weights"]), found)

    def test_a_frozen_layer_that_holds_gradients_of_before_is_none_that_does_not_learn(self):
        for frozen, found in ((False, ["1"]), (True, [])):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))

            def loss():
                model[1].requires_grad_(not frozen)
                return model(torch.ones(3, 4)).square().sum()

            def keep():
                model[1].weight.grad, model[1].bias.grad = torch.zeros(2, 8), torch.zeros(2)

            w = fit(model, loss, between=keep, clear={"set_to_none": False})
            self.assertEqual([row["layer"] for row in w.advise().to_dict()["untrained"]["layers"]], found)

    def test_master_copies_that_are_watched_are_how_a_model_is_trained(self):
        model = torch.nn.Linear(4, 2).bfloat16()
        w = fit_by_masters(model, copies_of(model), lambda: model(torch.ones(3, 4).bfloat16()).sum(), 2)
        self.assertEqual(w.advise().to_dict()["untrained"]["unheld"], [])

    def test_masters_that_are_copied_back_from_narrow_weights_lose_their_updates(self):
        for ill, lr, both in ((True, 1e-4, True), (True, 1e-4, False), (False, 1e-4, False), (True, 10.0, False)):
            torch.manual_seed(0)
            model, x = torch.nn.Linear(16, 4).bfloat16(), torch.randn(8, 16).bfloat16()
            masters = copies_of(model)

            def loss():
                for master, p in zip(masters, model.parameters()):
                    if ill:
                        master.data.copy_(p)
                return model(x).float().square().mean()

            w = fit_by_masters(model, masters, loss, 4, lr, watched=both)
            text = str(w.advise())
            self.assertEqual(text.startswith("Updates are thrown away: the FP32 weights that SGD holds are numbers of BF16 again"),
                             ill and lr < 1, text)
            self.assertEqual(any("never back" in note for note in w.notes), ill and lr < 1)

    def test_masters_that_nothing_copies_back_are_told(self):
        for copies, back, lr, ill in ((True, False, 0.1, True), (False, False, 0.1, True), (True, True, 0.1, False), (False, True, 1e-6, False)):
            torch.manual_seed(0)
            model = torch.nn.Linear(4, 2).bfloat16()
            masters = copies_of(model) if copies else [p.detach().float().requires_grad_() for p in model.parameters()]
            w = fit_by_masters(model, masters, lambda: model(torch.ones(3, 4).bfloat16()).sum(), 5, lr, back, watched=copies)
            told = w.advise().to_dict()["by_hand"]
            self.assertEqual([line.partition(":")[0] for line in told], ["The model is not trained"] * ill)
            self.assertEqual("nothing copies these back" in " ".join(str(w.advise()).split()), ill)

    def test_gradients_that_become_zero_in_fp16_reach_no_layer(self):
        layers, _, _, underflow, text = self.untrained(Calls(lambda self, x: self.a(x), a=Half(4, 8)),
                                                       loss=lambda y, step: y.float().mean() * 1e-9)
        self.assertEqual((layers, underflow), ({"a": 4}, ["a"]))
        self.assertIn("may have become zero in FP16", text)
        layers, zeros, _, underflow, text = self.untrained(
            Calls(lambda self, x: self.b(self.a(x * 1e-12).float()), a=Half(4, 8, bias=False), b=linear(8, 2)))
        self.assertEqual((layers, zeros, underflow), ({"b": 4}, ["a"], ["a"]))
        self.assertIn("Which layers need FP32 is not known where FP16 may have made zeros: a.", text)

    def test_layers_of_healthy_trainings_learn(self):
        tokens = torch.tensor([[0, 1, 2], [0, 0, 3]])
        frozen = torch.nn.Sequential(linear(bias=-9), torch.nn.ReLU(), torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
        for name in (0, 2):
            frozen[name].requires_grad_(False)
        heads = {"a": linear(), "b": torch.nn.Linear(8, 2), "c": torch.nn.Linear(8, 2)}
        partly = linear()
        with torch.no_grad():
            partly.bias[:7] = -9
            partly.bias[7] = 9

        def branch():
            return Calls(lambda self, x: x + self.b(self.a(x)), a=linear(4, 8), b=linear(8, 4, 0.0, 0.0))

        for name, model, options in (
                ("frozen", frozen, {}),
                ("a branch that begins with zeros", branch(), {"steps": 2}),
                ("it and a warm-up from 0", branch(), {"steps": 2, "lr": lambda step: 0.01 * step}),
                ("it and a learning rate of 0", branch(), {"lr": lambda step: 0.0}),
                ("one step", torch.nn.Sequential(linear(bias=-9), torch.nn.ReLU()), {"steps": 1}),
                ("padding", Calls(lambda self, x: self.b(self.a(tokens)), a=torch.nn.Embedding(5, 4, padding_idx=0), b=linear()), {}),
                ("heads in turn", Calls(lambda self, x: torch.stack([self.b(self.a(x)), self.c(self.a(x))]), **heads),
                 {"loss": lambda y, step: y[step % 2].square().mean()}),
                ("a head of steps that are not counted", Calls(lambda self, x: (self.b(self.a(x)), self.c(self.a(x))), **heads),
                 {"loss": lambda y, step: y[step % 2].square().mean(), "every": 2, "steps": 6}),
                ("zeros in some steps", torch.nn.Sequential(linear(), linear(8, 2)),
                 {"loss": lambda y, step: y.square().mean() * (step % 2)}),
                ("dropout", torch.nn.Sequential(linear(), torch.nn.Dropout(0.9), torch.nn.Linear(8, 2)), {}),
                ("dead units beside one that lives", torch.nn.Sequential(partly, torch.nn.ReLU(), torch.nn.Linear(8, 2)), {}),
                ("a bias without gradient", Calls(lambda self, x: (lambda y: y - y.mean(0))(self.a(x)), a=linear()),
                 {"x": torch.randn(4, 4), "loss": lambda y, step: y.abs().sum()})):
            with self.subTest(name):
                self.assertEqual(self.untrained(model, **options)[:4], ({}, [], [], []))


class Half(torch.nn.Linear):
    """A layer whose outputs have another dtype than its weights, as under autocast."""

    dtype, then = torch.float16, staticmethod(lambda y: y)

    def forward(self, x):
        return self.then(super().forward(x)).to(self.dtype)


class Diverging(CliCase):
    """Of trainings of three layers; the largest values of weights are those of the windows."""

    def text_of(self, before=lambda step, model: None, lr=1e-3, small=1.0, spike=None, kind=torch.optim.SGD, steps=14):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32), torch.nn.ReLU(),
                                    torch.nn.Linear(32, 1))
        for p in model.parameters():
            p.data.mul_(small)
        x, count = torch.randn(32, 8), itertools.count()

        def loss():
            step = next(count)
            before(step, model)
            return (model(x * (1e38 if step == spike else 1.0)) - 3 * x[:, :1]).square().mean()

        w = fit(model, loss, steps, kind(model.parameters(), lr=lr))
        return w, " ".join(str(w.advise()).split())

    def test_weights_that_grow_until_something_overflows_are_named_first(self):
        def grow(step, model):
            for p in model.parameters():
                p.data.mul_(500.0)

        for name, options, cure in (("lr", {"lr": 2.0}, "Lower the learning rate"),
                                    ("Adam", {"lr": 1e9, "kind": torch.optim.Adam}, "Lower the learning rate"),
                                    ("by hand", {"before": grow, "lr": 1e-30}, "look for what else writes to the weights")):
            with self.subTest(name):
                w, text = self.text_of(**options)
                self.assertTrue(text.startswith("The training diverges: the weights of "), text)
                self.assertIn(cure, text)
                for wrong in ("Keep in FP32", "FP32's own range"):
                    self.assertNotIn(wrong, text)
                self.assertIn("Which layers need FP32 is not known of a training that diverges.", text)
                of = w.advise().to_dict()["diverges"]
                largest = [window.summaries[of["layer"], "weight"].largest for window in w.windows]
                self.assertEqual((of["least"], of["most"]), (largest[0], largest[of["steps"]]))

    def test_healthy_growth_and_overflow_by_data_are_not_told_to_diverge(self):
        for name, options in (("data", {"spike": 9}), ("data at first", {"spike": 0}),
                              ("growth and data", {"spike": 9, "kind": torch.optim.Adam, "lr": 1e-2, "small": 0.1}),
                              ("growth", {"kind": torch.optim.Adam, "lr": 1e-1, "small": 0.05, "steps": 20})):
            with self.subTest(name):
                w, text = self.text_of(**options)
                self.assertIsNone(w.advise().to_dict()["diverges"])
                self.assertEqual("The run was not finite" in text, "spike" in options)


class Underflow(CliCase):
    def reasons(self, scale, dtype=torch.float16, then=lambda y: y):
        torch.manual_seed(0)
        layer = Half(4, 64, bias=False)
        layer.dtype, layer.then = dtype, then
        of, text = advised(Calls(lambda self, x: self.fc(x), fc=layer), x=torch.randn(64, 4) * scale)
        rows = [reason for row in of["keep_fp32"] for reason in row["reasons"] if reason["what"] == "underflow"]
        self.assertEqual("No layer needs FP32 for its range." in text,
                         not of["keep_fp32"] and not of["untrained"]["underflow"])
        self.assertEqual("its outputs underflow" in text, bool(rows))
        return rows

    def test_outputs_of_few_bits_need_fp32(self):
        for scale in (2e-8, 1e-7, 4e-7):  # outputs of about 1/3, 2 and 4 of the smallest subnormals
            (reason,) = self.reasons(scale)
            self.assertRegex(reason["text"], r"act: its outputs underflow: [\d.]+ % are zero and [\d.]+ % subnormal in binary16, the "
                                             r"largest is [\d.]+e-0[678]$")
        self.assertEqual(len(self.reasons(1e-7, then=torch.relu)), 1)
        for least, found in ((2.0**-133, ["fc"]), (2.0**-129, [])):
            tiny = binade.RangeSummary(formats=[]).add(torch.tensor([0.0, 0.0, least, 3 * least], dtype=torch.double).numpy())
            run = Run(1, [Window(0, 0, 1, None, {("fc", "act"): tiny})], {("fc", "act"): Layer("BF16", (4,))})
            self.assertEqual([row["layer"] for row in run.advise().to_dict()["keep_fp32"]
                              if "underflow" in {reason["what"] for reason in row["reasons"]}], found)

    def test_outputs_of_healthy_layers_do_not_underflow(self):
        for name, options in (
                ("subnormal with more bits than E4M3", {"scale": 4e-6}), ("ReLU", {"scale": 1.0, "then": torch.relu}),
                ("dropout", {"scale": 1.0, "then": lambda y: torch.nn.functional.dropout(y, 0.9)}),
                ("attention weights", {"scale": 20.0, "then": lambda y: y.softmax(1)}), ("zeros", {"scale": 0.0}),
                ("one normal value", {"scale": 1e-7, "then": lambda y: torch.cat([y, torch.ones_like(y[:, :1])], 1)}),
                ("bfloat16", {"scale": 1e-7, "dtype": torch.bfloat16}), ("float32", {"scale": 1e-7, "dtype": torch.float32})):
            with self.subTest(name):
                self.assertEqual(self.reasons(**options), [])

    def gradients(self, values, dtype="F16", scale=None, largest=2.0**-8, beside="F16"):
        """The advice on a run of one step, as a dict and as text: fc's gradient has the values and as many zeros, head's the largest."""
        def counted(x):
            return binade.RangeSummary(formats=[]).add(torch.tensor(x, dtype=torch.double).numpy())

        run = Run(1, [Window(0, 0, 1, scale, {("fc", "dAct"): counted([0.0] * len(values) + values), ("head", "dAct"): counted([largest])})],
                  {("fc", "dAct"): Layer(dtype, (2 * len(values),)), ("head", "dAct"): Layer(beside, (1,))})
        advice = run.advise()
        return advice.to_dict(), " ".join(str(advice).split())

    def test_no_sentence_of_an_advice_contradicts_another_one(self):
        none = {"spoiled": [], "died": [], "eps": [], "stuck_states": [], "lost_updates": [], "buffers": [], "loss_scale": {"status": "ok"}}
        verdict = {"roles": [{"role": role, "format": format} for role, format in (("act", "e4m3"), ("weight", "binary16"), ("state", None))],
                   "text": ["act in e4m3, weight in binary16, state in binary32: the narrowest that keeps range and precision.",
                            "act: e4m3; 1 of 1 hold NaN or Inf, about which this says nothing.", "weight: binary16.", "state: binary32."]}
        healthy = {"finite": True, "dead": False}
        self.assertEqual((excluded(none), but_for(none), concluded(verdict, {}, healthy)), ({}, "", verdict["text"]))
        lost = {"dtype": "BF16", "lost": 9, "asked": 10, "decay_lost": 0, "decay_asked": 0}
        for found, head, but in (
                ({"buffers": ["The running statistics of a norm hold Inf: bn."]}, "act in e4m3, weight in binary16, state in binary32",
                 "running statistics that hold Inf"),
                ({"died": [1]}, "act in e4m3, weight in binary16, state in binary32", ""),
                ({"eps": [1]}, "act in e4m3, weight in binary16 with a copy in FP32, state in FP32", "the states of the optimizer whose eps is 0"),
                ({"stuck_states": [1]}, "act in e4m3, weight in binary16, state in FP32", "states that do not decay"),
                ({"lost_updates": [lost]}, "act in e4m3, weight in binary16 with a copy in FP32, state in binary32",
                 "a copy of the weights that lose updates or decay"),
                ({"lost_updates": [{**lost, "lost": 4}]}, "act in e4m3, weight in binary16, state in binary32", ""),
                ({"spoiled": ["clipped"]}, "act in e4m3, weight in binary16", ""),
                ({"loss_scale": {"status": "empty interval"}}, "act in e4m3, weight in binary16, state in binary32",
                 "gradients that no loss scale serves beside the others")):
            text = concluded(verdict, excluded({**none, **found}), healthy)
            self.assertEqual((text[0].partition(":")[0], but_for({**none, **found})), (head, but))
        self.assertTrue(concluded(verdict, {}, {"finite": True, "dead": True})[0].endswith(
            "precision of the finite values alone: this is no answer for a run that trains, which may need wider ones."))
        self.assertTrue(concluded(verdict, {}, {"finite": False, "dead": False})[0].endswith("precision of the finite values alone."))

    def test_gradients_at_the_floor_of_their_dtype_ask_for_a_larger_scale(self):
        low = [2.0**-24, 2.0**-23, 3 * 2.0**-24]
        of, text = self.gradients(low)
        self.assertEqual([(row["layer"], row["role"], row["format"], row["zeros"]) for row in of["died"]], [("fc", "dAct", "binary16", 0.5)])
        self.assertIn("Gradients underflow in FP16, without a loss scale that is known here: 50.0 % of their values are zero", text)
        self.assertIn("of fc dAct. Use a larger loss scale: 2^22 fits without overflow.", text)
        self.assertIn("Loss scale for FP16: 2^22, at most 2^22.", text)
        self.assertIn("Which layers need FP32 is not known where FP16 may have made zeros: fc.", text)
        self.assertIn("watch one in FP32, or one with a loss scale, such as 2^22.", text)
        self.assertIn("dAct underflow: fc", text)
        self.assertNotIn("dAct in", text)
        self.assertEqual(of["keep_fp32"], [])
        of, text = self.gradients([x / 2**10 for x in low], scale=2.0**10)
        self.assertIn("Gradients underflow in FP16, at the loss scale 2^10: ", text)
        self.assertIn("or one with a larger loss scale than 2^10, such as 2^22.", text)
        # No larger one is told of where gradients overflowed at such a one.
        scale = {"format": "binary16", "recommended_log2": None, "used_log2": 10, "at_floor": True}
        for overflowed, more in ((None, True), (12.0, True), (11.0, False), (9.0, False)):
            (line,) = died_text([], 0.5, scale, ", ".join, overflowed)
            self.assertEqual(line.endswith("watch a run in FP32" + ", or one with a larger loss scale than 2^10" * more + "."), True, line)
        # Where no larger one fits, the layer is to be kept in FP32.
        for used in (19, 22):
            of, text = self.gradients([x / 2**used for x in low], scale=2.0**used)
            self.assertIn("No loss scale that is larger by 4 binades fits: keep these layers in FP32.", text)
            self.assertIn("underflow", [reason["what"] for row in of["keep_fp32"] if row["layer"] == "fc" for reason in row["reasons"]])
        self.assertEqual([row["format"] for row in self.gradients([2.0**-133], dtype="BF16")[0]["died"]], ["bfloat16"])
        # FP32 of which no value is below FP16's smallest was cast, if something beside it is FP16.
        for values, beside, found in ((low * 30, "F16", ["fc"]), (low * 30, "F32", []), (low, "F16", []),
                                      ([*low * 30, 2.0**-25], "F16", [])):
            of, _ = self.gradients(values, dtype="F32", beside=beside)
            self.assertEqual([row["layer"] for row in of["died"]], found)

    def test_weights_whose_gradients_are_zero_beside_underflow_may_be_of_it(self):
        for low, found in (([2.0**-24, 2.0**-23], True), ([2.0**-8, 2.0**-9], False)):
            counted = {key: binade.RangeSummary(formats=[]).add(torch.tensor(x, dtype=torch.double).numpy())
                       for key, x in ((("fc", "dAct"), [0.0, *low]), (("fc", "dW"), [0.0] * 8), (("head", "dAct"), [2.0**-8]))}
            layers = {("fc", "dAct"): Layer("F16", (3,)), ("fc", "dW"): Layer("F32", (2, 2)), ("head", "dAct"): Layer("F16", (1,))}
            text = " ".join(str(Run(1, [Window(0, 0, 1, None, counted)], layers).advise()).split())
            self.assertIn("while gradients reached their outputs. " + (
                "It may be what FP16 made of small numbers: see below." if found else "Why is not known."), text)
            self.assertEqual("Gradients underflow in FP16" in text, found)

    def test_the_gradient_of_a_bias_is_what_its_terms_leave_of_it(self):
        low, whole = [0.0, 2.0**-24], {("fc", "dAct"): [0.5], ("fc", "dW"): [0.5]}
        for terms, asks in ((whole, False), ({key: low for key in whole}, False), ({("fc", "dW"): low}, False), ({}, True)):
            counted = {key: binade.RangeSummary(formats=[]).add(torch.tensor(x, dtype=torch.double).numpy())
                       for key, x in (terms | {("fc.bias", "dW"): low, ("head", "dAct"): [2.0**-8]}).items()}
            run = Run(1, [Window(0, 0, 1, None, counted)], {key: Layer("F16", (x.values,)) for key, x in counted.items()})
            self.assertEqual("fc.bias" in {row["layer"] for row in run.advise().to_dict()["died"]}, asks, terms)

    def test_zeros_beside_gradients_far_above_the_floor_are_no_sign(self):
        for values, options in (([2.0**-15, 2.0**-14, 2.0**-24], {}), ([2.0**-24], {"scale": 2.0**16}), ([2.0**-24], {"dtype": "BF16"}),
                                ([2.0**-24], {"dtype": "F32"})):
            of, text = self.gradients(values, **options)
            self.assertEqual(of["died"], [])
            for words in ("underflow", "became zero cannot be told", "watch a run in FP32", "not known where", "at most"):
                self.assertNotIn(words, text.replace("at most of", "").replace("lost l2 at most", ""))
            self.assertIn("No layer needs FP32 for its range.", text)
        # Enough of it to matter, but not most: no layer is named.
        of, text = self.gradients([2.0**-18] + [2.0**-20] * 3)
        self.assertEqual((of["died"], of["loss_scale"]["at_floor"]), ([], 1))
        self.assertIn("cannot be told from what is left: watch a run in FP32, or one with a loss scale, such as 2^22.", text)

    def test_the_verdict_on_a_run_that_broke_is_of_the_finite_values_alone(self):
        one = binade.RangeSummary(formats=[]).add(torch.ones(4, dtype=torch.double).numpy())
        skipped = NonFinite(0, "fc", "dW", {"nan": 0, "inf": 1}, [], skipped=True)
        for events, told in (([skipped], False), ([skipped, NonFinite(2, "fc", "act", {"nan": 1, "inf": 0}, [])], True)):
            run = Run(1, [Window(0, 2, 3, 8.0, {("fc", "act"): one})], {("fc", "act"): Layer("F32", (4,))}, nonfinite=events)
            for text in (str(run.advise()), str(run.report())):
                self.assertEqual("of the finite values alone. The run was not finite in step 2:" in " ".join(text.split()), told)
            self.assertEqual(run.first_nonfinite(), skipped)

    def test_states_are_advised_of_by_one_rule(self):
        small = binade.RangeSummary(formats=[]).add((2.0 ** torch.linspace(-60, -26, 99, dtype=torch.double)).numpy())
        run = Run(1, [Window(0, 0, 1, None, {("fc.exp_avg_sq", "state"): small})], {("fc.exp_avg_sq", "state"): Layer("F32", (99,))})
        text = " ".join(str(run.advise()).split())
        self.assertIn("Nor is whether a state, which sums small parts over many steps, takes them in so few bits; in FP32 it does.", text)
        self.assertNotIn("Keep the optimizer's states", text)

    def test_what_is_all_zero_in_float16_is_told(self):
        zeros = binade.RangeSummary(formats=[]).add(torch.zeros(4, dtype=torch.double).numpy())
        advice = Run(1, [Window(0, 0, 1, 8.0, {("fc", "dW"): zeros})], {("fc", "dW"): Layer("F16", (4,))}).advise()
        self.assertIn("100 % of their values are zero", " ".join(str(advice).split()))
        self.assertIn("with a larger loss scale than 2^3", " ".join(str(advice).split()))


if __name__ == "__main__":
    main()
