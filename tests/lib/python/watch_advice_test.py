# SPDX-License-Identifier: Apache-2.0
#
# What the advice on a watched run concludes: what binds the loss scale and what does not, layers that do not learn, outputs that
# underflow; each beside healthy runs. SKIP without torch. watch_advice_test.py BINADE
import collections
import sys

try:
    import torch

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from binade.torch import Run, Window
from binade.torch.watch.advice import asked_to_be_held
from binade.torch.watch.bound import Bound as StepBound
from binade.torch.watch.bound import origin_of
from binade.torch.watch.residues import residues
from binade.torch.watch.run import Layer
from cli_case import CliCase, main
from watch_runs import watched


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
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with binade.torch.watch(model, optimizer, every=1) as w:
            for _ in range(3):
                x, labels = torch.randint(0, 16, (6,)), torch.randint(0, 5, (6,))
                optimizer.zero_grad()
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=narrow):
                    loss = model(x, labels)["loss"] if inside else loss_of(model(x)["logits"], labels)
                loss.backward()
                optimizer.step()
        return w.advise()

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
            self.assertIn("bind no loss scale, since they stay in FP32 under autocast: Head.loss dAct, words dW", str(inside))
            self.assertEqual(inside.keep_fp32, outside.keep_fp32)

    def test_a_run_in_bfloat16_is_judged_as_one_in_float32(self):
        wide, narrow = self.advice(True, False), self.advice(True, False, torch.bfloat16)
        self.assertEqual(wide.to_dict()["unbound"], narrow.to_dict()["unbound"])
        self.assertEqual(wide.loss_scale["binding_max"], narrow.loss_scale["binding_max"])

    def test_what_ends_a_model_binds_a_scale_where_it_is_cast(self):
        class Model(torch.nn.Module):
            def __init__(self, end):
                super().__init__()
                self.head, self.end = torch.nn.Linear(4, 3), end

            def forward(self, x):
                return self.end(self.head(x))

        for end, narrow, binds in ((lambda x: x.log_softmax(-1), False, False), (lambda x: x.float().log_softmax(-1), True, False),
                                   (lambda x: x.float(), True, True), (lambda x: x.float().sin(), True, False),
                                   (lambda x: x.sin(), False, True), (lambda x: x.bfloat16().log_softmax(-1), False, False)):
            model = Model(end)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            with binade.torch.watch(model, optimizer, every=1) as w:
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=narrow):
                    out = model(torch.ones(2, 4))
                (out * torch.tensor([0.3, 0.5, 0.7])).float().sum().backward()
                optimizer.step()
            self.assertEqual(w.layers["Model", "dAct"].binds if ("Model", "dAct") in w.layers else True, binds)
            self.assertTrue(w.layers["head", "dAct"].binds)
            self.assertTrue(w.layers["head", "dW"].binds)

    def test_a_scalar_binds_a_scale_in_float16_alone(self):
        scalar = torch.ones((), requires_grad=True)
        for dtype, binds in ((torch.float32, False), (torch.bfloat16, False), (torch.float16, True)):
            loss = scalar.to(dtype)
            self.assertEqual(StepBound().output_binds(origin_of(loss), torch.ones((), dtype=dtype)), binds)

    def test_a_gradient_that_is_zero_but_for_rounding_is_no_reason_for_fp32(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.BatchNorm1d(128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with binade.torch.watch(model, optimizer, every=1) as w:
            torch.nn.functional.cross_entropy(model(torch.randn(64, 64)), torch.randint(0, 10, (64,))).backward()
            optimizer.step()
        advice = w.advise()
        bias = w.summary("0.bias", "dW")
        self.assertLess(bias.largest, 2.0**-25)  # what is to be saved would need a scale beyond that of the others
        self.assertEqual(advice.loss_scale["first_negligible"], "step000000/0.bias/dW")
        self.assertEqual((advice.loss_scale["status"], advice.keep_fp32), ("ok", []))
        self.assertIn("Not asked to be saved: 1 gradient of weights", str(advice))

    def test_rounding_is_told_from_small_gradients_in_bfloat16(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.early, self.before, self.norm, self.head = (
                    torch.nn.Linear(8, 16), torch.nn.Linear(16, 16), torch.nn.BatchNorm1d(16), torch.nn.Linear(16, 5))

            def forward(self, x):
                return self.head(self.norm(self.before(torch.cat((x, x), 1))).relu() + 1e-3 * self.early(x))

        for clip in (None, 1e-3):
            torch.manual_seed(0)
            model = Model().to(torch.bfloat16)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
            with binade.torch.watch(model, optimizer, every=1) as w:
                logits = model(torch.randn(64, 8).to(torch.bfloat16))
                torch.nn.functional.cross_entropy(logits.float(), torch.randint(0, 5, (64,))).backward()
                if clip:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
                optimizer.step()
            advice = w.advise()
            self.assertLess(w.summary("early.bias", "dW").largest, 2**-9 * w.summary("head", "dW").largest)
            self.assertEqual(advice.to_dict()["residues"], [{"layer": "before.bias", "role": "dW"}])
            self.assertIn("leaves where a sum is zero, and that ask for no loss scale: before.bias dW.", " ".join(str(advice).split()))
            self.assertIn(" 3 gradients of what a narrow format never holds", advice.loss_scale["basis"])  # the norm's, too
            held = asked_to_be_held(w.layers, {key: w.summary(*key) for key in w.layers}, w.residues())
            self.assertEqual([layer in held for layer in (("early.bias", "dW"), ("before.bias", "dW"))], [True, False])

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
            optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
            with binade.torch.watch(model, optimizer, every=1) as w:
                model(torch.full((2, 4), size)).sum().backward()
                optimizer.step()
            self.assertEqual([name for name in w.advise().keep_fp32 if name == "layer.bias"], kept)

    def test_advice_in_a_format_with_scales_of_each_tensors_own(self):
        advice = watched().advise(format="e4m3")
        self.assertEqual(advice.loss_scale["format"], "e4m3")
        self.assertIn("\ne4m3 is used with a scale of each tensor's own, not with one loss scale: ", str(advice))


class Calls(torch.nn.Module):
    """A function of modules, which it has under their names."""

    def __init__(self, function, **modules):
        super().__init__()
        self.function = function
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, x):
        return self.function(self, x)


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


def linear(inputs=4, outputs=8, weight=None, bias=None):
    out = torch.nn.Linear(inputs, outputs)
    with torch.no_grad():
        out.weight if weight is None else out.weight.fill_(weight)
        out.bias if bias is None else out.bias.fill_(bias)
    return out


class Untrained(CliCase):
    def setUp(self):
        torch.manual_seed(0)

    def untrained(self, *args, **options):
        of, text = advised(*args, **options)
        rows = of["untrained"]
        self.assertEqual(bool(rows["layers"]), "Layers that do not learn" in text)
        return {row["layer"]: row["steps"] for row in rows["layers"]}, rows["zeros"], rows["negative"], rows["underflow"], text

    def test_layers_around_a_dead_relu_do_not_learn(self):
        layers, zeros, negative, underflow, text = self.untrained(
            torch.nn.Sequential(linear(bias=-9), torch.nn.ReLU(), linear(8, 2)))
        self.assertEqual((layers, zeros, negative, underflow), ({"0": 4, "2": 4}, ["1"], ["0"], []))
        self.assertIn("no gradient reached 0, 2; it was nothing but zeros in all 4 counted steps. All outputs of 1 were zero. "
                      "All outputs of 0 were negative, of which a ReLU makes zeros: it is dead", text)
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
        self.assertIn("Whether that is meant is not known", text)

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


if __name__ == "__main__":
    main()
