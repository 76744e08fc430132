# SPDX-License-Identifier: Apache-2.0
#
# Which settings a product in narrow formats has, and which of its operands are gradients, within binade.torch.tensor_cores:
# models whose layers have settings of their own are compared with copies whose linear layers compute with the oracle. SKIP
# without torch.
# tensor_cores_recipes_test.py BINADE
import copy
import gc
import itertools
import pickle
import sys

try:
    import torch
    import torch.utils.checkpoint

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

import tensor_cores_narrow_oracle as narrow
from cli_case import main
from tensor_cores_case import leaves, values
from tensor_cores_convolutions_test import CASES, geometry, operands, size
from tensor_cores_narrow_case import HYBRID, NarrowCase, linear_by_oracle, magnitudes, mode, rule, with_gradients
from tensor_cores_narrow_oracle import Recipe

F = torch.nn.functional


class ByOracle(torch.autograd.Function):
    """A linear layer and its gradients, wherever autograd has it."""
    @staticmethod
    def forward(ctx, x, w, bias, recipe):
        ctx.save_for_backward(x, w)
        ctx.recipe, ctx.biased = recipe, bias is not None
        rows = values(x).reshape(-1, x.shape[-1])
        y = narrow.product(rows, values(w).T, "xw", recipe, bias=None if bias is None else values(bias), **rule("sm_90", x.dtype))
        return torch.tensor(y).to(x.dtype).reshape(*x.shape[:-1], len(w))

    @staticmethod
    def backward(ctx, gy):
        x, w = ctx.saved_tensors
        rows, gradient = values(x).reshape(-1, x.shape[-1]), values(gy).reshape(-1, gy.shape[-1])
        gx = narrow.product(gradient, values(w), "dw", ctx.recipe, **rule("sm_90", x.dtype))
        gw = narrow.product(gradient.T, rows, "dx", ctx.recipe, **rule("sm_90", x.dtype))
        bias = gy.reshape(-1, gy.shape[-1]).sum(0) if ctx.biased else None
        return torch.tensor(gx).to(x.dtype).reshape(x.shape), torch.tensor(gw).to(x.dtype), bias, None


def twin(model, recipes):
    """A copy whose linear layers are the oracle's, each of the first recipe whose name is the layer's."""
    other = copy.deepcopy(model)
    for name, layer in other.named_modules():
        if isinstance(layer, torch.nn.Linear):
            layer.forward = lambda x, layer=layer, recipe=recipes[name]: ByOracle.apply(x, layer.weight, layer.bias, recipe)
    return other


class Block(torch.nn.Module):
    """q, k and v have one input."""
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (torch.nn.Linear(12, 12, bias=i == 3) for i in range(4))

    def forward(self, x):
        return self.out(self.q(x) * self.k(x).tanh() + self.v(x))


def numbered(model, seed=7):
    for i, parameter in enumerate(model.parameters()):
        parameter.data.copy_(magnitudes(seed + i, *parameter.shape, low=-5, high=1))
    return model


def step(model, x, *, gradient_of_x=True):
    """The output, and all gradients."""
    model.zero_grad()
    x = x.clone().requires_grad_(gradient_of_x)
    y = model(x)
    y.backward(magnitudes(40, *y.shape, low=-6, high=2))
    return [y] + [x.grad] * gradient_of_x + [parameter.grad for parameter in model.parameters()]


AMAX, BLOCKS, SHORT = HYBRID._replace(scale="amax"), HYBRID._replace(scale="8x8"), Recipe("e5m2", "e5m2")
INPUT = magnitudes(30, 5, 12, low=-6, high=3)


class Modules(NarrowCase):
    def same(self, mine, theirs):
        self.assertEqual(len(mine), len(theirs))
        for i, (one, other) in enumerate(zip(mine, theirs)):
            self.equal(one, values(other), f"result {i}")

    def held_of(self, model, recipes, modules, base=HYBRID, run=step, x=INPUT, **words):
        """recipes: by a layer's name, the oracle's; modules: what tensor_cores is given."""
        with mode("sm_90", base, **({"model": model, "modules": modules} if modules is not None else {})):
            mine = run(model, x, **words)
        other = twin(model, recipes)
        self.same(mine, run(other, x, **words))

    def test_a_model_without_settings_of_its_own(self):
        model = numbered(torch.nn.Sequential(torch.nn.Linear(12, 9), torch.nn.ReLU(), torch.nn.Linear(9, 12)))
        self.held_of(model, {"0": AMAX, "2": AMAX}, None, AMAX)

    def test_settings_by_name(self):
        model = numbered(torch.nn.Sequential(*(torch.nn.Linear(12, 12) for _ in range(4))))
        recipes = {"0": HYBRID, "1": None, "2": BLOCKS, "3": SHORT}
        modules = {"1": None, "2": {"scale": "8x8"}, "[3-9]": {"operands": "e5m2"}}
        self.held_of(model, recipes, modules)
        self.held_of(model, {**recipes, "0": AMAX}, {**modules, "?": {"scale": "amax"}})  # the first pattern wins
        self.held_of(model, dict.fromkeys("0123", AMAX), {"?": {"scale": "amax"}, **modules})
        self.held_of(model, {"0": None, "1": HYBRID, "2": None, "3": None},
                     {"1": {"operands": "e4m3", "backward": "e5m2"}}, base=Recipe(None))

    def test_the_innermost_module_says(self):
        model = numbered(torch.nn.Sequential(torch.nn.Sequential(Block(), torch.nn.Linear(12, 12)), torch.nn.Linear(12, 12)))
        inner = {f"0.0.{name}": AMAX for name in ("q", "k", "v", "out")}
        self.held_of(model, {**inner, "0.0.out": SHORT, "0.1": None, "1": HYBRID},
                     {"0.0.out": {"operands": "e5m2"}, "0.0": {"scale": "amax"}, "0": None})
        self.held_of(model, {**dict.fromkeys(inner, None), "0.0.out": SHORT, "0.1": HYBRID, "1": HYBRID},
                     {"0.0": None, "0.0.out": {"operands": "e5m2"}})

    def test_one_input_of_three_layers_with_recipes_of_their_own(self):
        model = numbered(Block())
        different = {AMAX: {"scale": "amax"}, SHORT: {"operands": "e5m2"}, None: None}
        for recipes, needed in itertools.product(itertools.permutations(different), (True, False)):
            with self.subTest(recipes=recipes, needed=needed):
                own = dict(zip(("q", "k", "v"), recipes))
                self.held_of(model, {**own, "out": HYBRID}, {name: different[own[name]] for name in own}, gradient_of_x=needed)

    def test_one_weight_of_two_layers_with_recipes_of_their_own(self):
        for tied, recipe in (({"operands": "e5m2"}, SHORT), (None, None)):
            model = numbered(torch.nn.Sequential(*(torch.nn.Linear(12, 12, bias=False) for _ in range(3))))
            model[2].weight = model[0].weight
            with self.subTest(tied=tied):
                self.held_of(model, {"0": AMAX, "1": HYBRID, "2": recipe}, {"0": {"scale": "amax"}, "2": tied})

    def test_one_layer_twice(self):
        layer = torch.nn.Linear(12, 12)
        model = numbered(torch.nn.Sequential(layer, torch.nn.Tanh(), layer))
        other = twin(model, {"0": AMAX})
        with mode("sm_90", HYBRID, model=model, modules={"0": {"scale": "amax"}}):
            mine = step(model, INPUT)
        self.same(mine, step(other, INPUT))

    def test_checkpoints_run_forward_again(self):
        checkpoint = torch.utils.checkpoint.checkpoint
        for reentrant in (True, False):
            def run(model, x):
                model.zero_grad()
                x = x.clone().requires_grad_()
                y = model[1](checkpoint(model[0], x, use_reentrant=reentrant))
                y.backward(magnitudes(40, *y.shape))
                return [y, x.grad] + [parameter.grad for parameter in model.parameters()]
            model = numbered(torch.nn.Sequential(Block(), torch.nn.Linear(12, 12)))
            recipes = {**dict.fromkeys(("0.q", "0.k", "0.v"), BLOCKS), "0.out": SHORT, "1": AMAX}
            with self.subTest(reentrant=reentrant):
                self.held_of(model, recipes, {"0.out": {"operands": "e5m2"}, "0": {"scale": "8x8"}, "1": {"scale": "amax"}},
                             run=run)

    def test_a_checkpoint_that_stops_early_says_nothing_of_the_next(self):
        checkpoint = torch.utils.checkpoint.checkpoint

        def run(model, x):
            model.zero_grad()
            y = checkpoint(model[1], checkpoint(model[0], x.clone().requires_grad_(), use_reentrant=False), use_reentrant=False)
            y.backward(magnitudes(40, *y.shape))
            return [y] + [parameter.grad for parameter in model.parameters()] + [torch.mm(INPUT, INPUT.t())]
        model = numbered(torch.nn.Sequential(Block(), Block()))
        recipes = {f"{i}.{name}": HYBRID for i in range(2) for name in ("q", "k", "v", "out")}
        with mode("sm_90", HYBRID, model=model, modules={"1.out": {"operands": "e5m2"}}):
            mine = run(model, INPUT)
        x = values(INPUT)
        wanted = run(twin(model, {**recipes, "1.out": SHORT}), INPUT)[:-1]
        self.same(mine, wanted + [torch.from_numpy(narrow.product(x, x.T, "xw", HYBRID, **rule("sm_90")))])

    def test_a_module_that_failed_says_nothing_of_what_comes_after(self):
        model = numbered(torch.nn.Sequential(torch.nn.Linear(12, 12)))
        with mode("sm_90", HYBRID, model=model, modules={"0": None}):
            with self.assertRaises(RuntimeError):
                model(INPUT[:, :5])
            y = model(INPUT), torch.mm(INPUT, INPUT.t())
        x, (w, bias) = values(INPUT), map(values, model.parameters())
        self.same(y, [torch.from_numpy(narrow.product(x, w.T, "xw", None, bias=bias, **rule("sm_90"))),
                      torch.from_numpy(narrow.product(x, x.T, "xw", HYBRID, **rule("sm_90")))])

    def test_a_model_may_be_copied_and_saved_meanwhile(self):
        model = numbered(Block())

        def run(model, x):
            copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))] if "forward" not in model.q.__dict__ else [model]
            self.assertEqual(len(list(copies[0].parameters())), 5)
            del copies
            gc.collect()
            return step(model, x)
        modules = {"q": {"scale": "amax"}, "out": None}
        self.held_of(model, {"q": AMAX, "k": HYBRID, "v": HYBRID, "out": None}, modules, run=run)
        self.assertFalse(any(module._forward_hooks or module._forward_pre_hooks for module in model.modules()))

    def test_results_that_are_given(self):
        a, b, c = magnitudes(1, 6, 6, high=5), magnitudes(2, 6, 6, high=5), magnitudes(3, 6, 6, high=5)
        words = rule("sm_90")
        x, y, added = values(a), values(b), narrow.product(values(a), values(b), "xw", HYBRID, c=values(c), **words)
        with mode("sm_90", HYBRID):
            self.equal(c.addmm_(a, b), added)
            self.equal(torch.mm(a, b, out=a), narrow.product(x, y, "xw", HYBRID, **words))

    def test_a_gradient_that_is_one_number_expanded(self):
        x, w = magnitudes(1, 2, 3, 12, low=-3, high=3), magnitudes(2, 7, 12, low=-3, high=3)

        def run(model, x):
            model.zero_grad()
            model(x).sum().backward()
            return [parameter.grad for parameter in model.parameters()]
        self.held_of(numbered(Block()), {"q": AMAX, "k": SHORT, "v": None, "out": HYBRID},
                     {"q": {"scale": "amax"}, "k": {"operands": "e5m2"}, "v": None}, run=run, x=x)
        self.held_in(HYBRID, "sm_90", torch.float32, lambda: with_gradients(F.linear, torch.ones(()).expand(2, 3, 7), x, w)[1:], [
            one.reshape(shape) for one, shape in zip(linear_by_oracle(x.reshape(6, 12), w, None, torch.ones(6, 7), HYBRID,
                                                                      **rule("sm_90"))[1:], ((2, 3, 12), (7, 12)))])

    def test_convolutions_by_name_and_with_one_weight(self):
        case = CASES["with a kernel of one pixel"]._replace(image=(2, 6, 5, 4), weight=(6, 6, 1, 1))
        x, w, _, gy = operands(case, of=magnitudes)
        model = torch.nn.Sequential(*(torch.nn.Conv2d(6, 6, 1, bias=False) for _ in range(2)))
        model[0].weight.data.copy_(w)
        model[1].weight = model[0].weight
        g, (x, w, gy) = geometry(case), map(values, (x, w, gy))
        hidden = narrow.convolution(x, w, gy, g, size(case), None, AMAX, **rule("sm_90"))[0]
        y, back, gw = narrow.convolution(hidden, w, gy, g, size(case), None, SHORT, **rule("sm_90"))
        _, gx, gw0 = narrow.convolution(x, w, back, g, size(case), None, AMAX, **rule("sm_90"))

        def call():
            given = torch.from_numpy(x).requires_grad_()
            out = model(given)
            return out, *torch.autograd.grad(out, (given, model[0].weight), torch.from_numpy(gy))
        self.held_in(HYBRID, "sm_90", torch.float32, call, (y, gx, gw + gw0), model=model,
                     modules={"0": {"scale": "amax"}, "1": {"operands": "e5m2"}})

    def test_a_backward_pass_whose_gradients_are_wanted_is_a_forward_one(self):
        sizes = (5, 12), (7, 12), (5, 7), (5, 12)
        x, w, gy, u = (magnitudes(seed, *size, high=3) for seed, size in enumerate(sizes, 1))
        words = rule("sm_90")
        a, b, d, v = map(values, (x, w, gy, u))

        def call():
            xs, ws, ds = leaves(x, w, gy)
            gx, = torch.autograd.grad(F.linear(xs, ws), xs, ds, create_graph=True)
            return gx, *torch.autograd.grad(gx, (ws, ds), u)
        self.held_in(HYBRID, "sm_90", torch.float32, call, (
            narrow.product(d, b, "xw", HYBRID, **words), narrow.product(d.T, v, "xd", HYBRID, **words),
            narrow.product(v, b.T, "dw", HYBRID, **words)))

    def test_without_gradients(self):
        model = numbered(Block()).eval()

        def run(model, x):
            with torch.no_grad():
                return [model(x), model(x[:2])]
        self.held_of(model, {"q": AMAX, "k": HYBRID, "v": HYBRID, "out": None}, {"q": {"scale": "amax"}, "out": None}, run=run)
        with mode("sm_90", HYBRID):
            self.same([torch.inference_mode()(lambda: model(INPUT))()],
                      [twin(model, dict.fromkeys(("q", "k", "v", "out"), HYBRID))(INPUT)])

    def test_several_backward_passes_and_models_in_between(self):
        between = numbered(Block(), 50)

        def run(model, x):
            model.zero_grad()
            x = x.clone().requires_grad_()
            other = twin(between, dict.fromkeys(("q", "k", "v", "out"), AMAX)) if "forward" in model.q.__dict__ else between
            y = model(x)
            gradients = step(other, x.detach())
            for i in range(2):
                y.backward(magnitudes(40 + i, *y.shape), retain_graph=True)
            later = model(x.detach() * 2)  # gradients are accumulated
            gradients += step(other, x.detach())
            later.backward(magnitudes(44, *later.shape))
            y.backward(magnitudes(45, *y.shape))
            return gradients + [y, later, x.grad] + [parameter.grad for parameter in model.parameters()]
        self.held_of(numbered(Block()), {"q": AMAX, "k": AMAX, "v": AMAX, "out": None}, {"out": None}, AMAX, run)

    def test_a_gradient_that_is_an_operand_of_the_next_forward_pass(self):
        a, b, gy = magnitudes(1, 6, 6), magnitudes(2, 6, 6), magnitudes(3, 6, 6)
        words = rule("sm_90")

        def call():
            x, w = leaves(a, b)
            y = torch.mm(x, w)
            gx, = torch.autograd.grad(y, x, gy)
            z = torch.mm(gx, w)
            return z, *torch.autograd.grad(z, w, gy)
        gx = narrow.product(values(gy), values(b).T, "dw", HYBRID, **words)
        self.held_in(HYBRID, "sm_90", torch.float32, call, (
            narrow.product(gx, values(b), "xw", HYBRID, **words), narrow.product(gx.T, values(gy), "xd", HYBRID, **words)))

    def test_operands_are_known_however_many_products_come_between(self):
        x, w, gy = magnitudes(1, 5, 12), magnitudes(2, 6, 12), magnitudes(3, 5, 6)

        def call():
            xs, ws = leaves(x, w)
            y = F.linear(xs, ws)
            for _ in range(600):
                torch.mm(torch.ones(1, 1), torch.ones(1, 1))
            return y, *torch.autograd.grad(y, (xs, ws), gy)
        self.held_in(HYBRID, "sm_90", torch.float32, call, linear_by_oracle(x, w, None, gy, HYBRID, **rule("sm_90")))

    def test_an_operand_that_is_its_own_partner(self):
        a, gy = magnitudes(1, 6, 6), magnitudes(3, 6, 6)
        x, d, words = values(a), values(gy), rule("sm_90")

        def call():
            given, = leaves(a)
            y = torch.mm(given, given)
            return y, *torch.autograd.grad(y, given, gy)
        wanted = narrow.product(d, x.T, "dw", AMAX, **words) + narrow.product(x.T, d, "xd", AMAX, **words)
        self.held_in(AMAX, "sm_90", torch.float32, call, (narrow.product(x, x, "xw", AMAX, **words), wanted))


class Layers(NarrowCase):
    def test_a_recurrent_layer(self):
        layer = numbered(torch.nn.LSTM(12, 8))
        x = magnitudes(1, 3, 2, 12, low=-4, high=2)
        given = leaves(*layer.parameters())
        with mode("sm_90", AMAX) as ran:
            got, _ = layer(x)
            got.sum().backward()
        h = c = torch.zeros(2, 8)
        from_input, states = ByOracle.apply(x, given[0], given[2], AMAX), []
        for t in range(3):
            i, f, g, o = (ByOracle.apply(h, given[1], given[3], AMAX) + from_input[t]).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            states.append(h)
            self.equal(got[t], values(h))
        torch.stack(states).sum().backward()
        for parameter, one in zip(layer.parameters(), given):
            self.equal(parameter.grad, values(one.grad))
        self.assertEqual({one.how.split(".", 3)[3].split(" ")[0] for one in ran.covered()}, {"e4m3.e4m3", "e5m2.e4m3"})

    def test_attention_between_its_layers(self):
        layer = numbered(torch.nn.MultiheadAttention(12, 3))
        x, gy = magnitudes(1, 4, 2, 12, low=-3, high=1), magnitudes(2, 4, 2, 12)

        def run():
            layer.zero_grad()
            given, = leaves(x)
            y, _ = layer(given, given, given)
            y.backward(gy)
            return [y, given.grad] + [parameter.grad for parameter in layer.parameters()]
        with mode("sm_90", AMAX) as ran:
            mine = run()
        self.assertEqual({one.op for one in ran.covered() if "e4m3" not in one.how},
                         {"bmm"} | {"baddbmm"} & {one.op for one in ran.covered()})
        own = F.linear
        F.linear = lambda x, w, bias=None: ByOracle.apply(x, w, bias, AMAX)
        try:
            with binade.torch.tensor_cores("sm_90"):
                wanted = run()
        finally:
            F.linear = own
        for one, other in zip(mine, wanted):
            self.equal(one, values(other))


if __name__ == "__main__":
    main()
