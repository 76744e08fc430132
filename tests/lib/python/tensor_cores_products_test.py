# SPDX-License-Identifier: Apache-2.0
#
# Matrix products of torch within binade.torch.tensor_cores: for every op, dtype and architecture, and for edge cases, they have
# all bits of the oracle's. SKIP without torch. tensor_cores_products_test.py BINADE
import fractions
import sys

try:
    import numpy as np
    import torch

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

import tensor_cores_oracle as oracle
from cli_case import main
from tensor_cores_case import TYPES, TensorCoresCase, each, leaves, numbers, same_bits, values

F = torch.nn.functional
HALF_AND_SINGLE = (TYPES[0], TYPES[3])
AUTOCAST_TYPES = TYPES[0 if hasattr(torch, "float8_e8m0fnu") else 1 : 2]  # older ones cast CPU's operands to bfloat16 alone
CHAIN = {"arch": "sm_90", "dtype": "float32"}


class Oracle(TensorCoresCase):
    def test_a_chain_is_its_roundings_one_by_one(self):
        a, b = (values(numbers(seed, *shape)) for seed, shape in ((1, (2, 19)), (2, (19, 3))))
        wanted = np.zeros((2, 3), np.float32)
        for i, j in np.ndindex(2, 3):
            for x, y in zip(a[i], b[:, j]):
                exact = fractions.Fraction(float(x)) * fractions.Fraction(float(y)) + fractions.Fraction(float(wanted[i, j]))
                wanted[i, j] = nearest_single(exact)
        self.assertTrue(same_bits(oracle.product(a, b, **CHAIN), wanted).all())

    @each()
    def test_every_rule_is_exact_of_small_integers(self, _, rule):
        generator = np.random.default_rng(3)
        a, b = (generator.integers(-4, 5, shape).astype(np.float32) for shape in ((4, 21), (21, 5)))
        self.assertTrue(same_bits(oracle.product(a, b, **rule) + 0, a @ b + 0).all())


def nearest_single(exact):
    """Of a fraction well within the range, to nearest even."""
    if exact == 0:
        return np.float32(0)
    scale = fractions.Fraction(2) ** (abs(exact.numerator).bit_length() - exact.denominator.bit_length() - 25)
    while abs(exact / scale) >= 2**24:
        scale *= 2
    return np.float32(float(round(exact / scale) * scale))


class Products(TensorCoresCase):
    @each()
    def test_mm(self, dtype, rule):
        a, b = numbers(1, 6, 37, dtype=dtype), numbers(2, 37, 9, dtype=dtype)
        self.held(rule, lambda: torch.mm(a, b), oracle.matmul(values(a), values(b), **rule))

    @each()
    def test_addmm_with_alpha_and_beta(self, dtype, rule):
        a, b, c = (numbers(3 + i, *shape, dtype=dtype) for i, shape in enumerate(((6, 37), (37, 9), (6, 9))))
        for alpha, beta, added in ((1, 1, c), (-0.75, 1.625, c), (2, -1, c[0]), (0.3, 0.7, c[:, :1]), (1, 3, c[0, 0])):
            self.held(rule, lambda: torch.addmm(added, a, b, alpha=alpha, beta=beta),
                      oracle.matmul(values(a), values(b), c=values(added), alpha=alpha, beta=beta, **rule))

    @each()
    def test_a_beta_of_0_ignores_what_c_holds(self, dtype, rule):
        a, b = numbers(1, 2, 6, 37, dtype=dtype), numbers(2, 2, 37, 9, dtype=dtype)
        c = torch.full((2, 6, 9), float("nan")).to(dtype)
        wanted = oracle.matmul(values(a), values(b), **rule)
        self.held(rule, lambda: torch.addmm(c[0], a[0], b[0], beta=0), wanted[0])
        self.held(rule, lambda: torch.baddbmm(c, a, b, beta=0), wanted)
        of_vector = oracle.matmul(values(a[0]), values(b[0, :, 0]), **oracle.of_vectors(rule, "addmv"))
        self.held(rule, lambda: torch.addmv(c[0, :, 0], a[0], b[0, :, 0], beta=0), of_vector, own=False)

    @each()
    def test_batches(self, dtype, rule):
        a, b, c = (numbers(7 + i, *shape, dtype=dtype) for i, shape in enumerate(((3, 4, 37), (3, 37, 5), (3, 4, 5))))
        left, right = values(a), values(b)
        self.held(rule, lambda: torch.bmm(a, b), oracle.matmul(left, right, **rule))
        for alpha, beta, added in ((1, 1, c), (-1.5, 0.3, c), (1, 2, c[:1]), (0.7, 1, c[0, 0])):
            self.held(rule, lambda: torch.baddbmm(added, a, b, alpha=alpha, beta=beta),
                      oracle.matmul(left, right, c=values(added), alpha=alpha, beta=beta, **rule))

    @each()
    def test_a_sum_of_a_batch_is_one_product_after_another(self, dtype, rule):
        a, b, c = (numbers(7 + i, *shape, dtype=dtype) for i, shape in enumerate(((3, 12, 37), (3, 37, 25), (12, 25))))
        for alpha, beta in ((1, 1), (0.7, -0.3)):
            self.held(rule, lambda: torch.addbmm(c, a, b, alpha=alpha, beta=beta),
                      oracle.addbmm(values(c), values(a), values(b), alpha=alpha, beta=beta, **rule))

    @each()
    def test_vectors(self, dtype, rule):
        a, x, c = numbers(11, 24, 37, dtype=dtype), numbers(12, 37, dtype=dtype), numbers(13, 24, dtype=dtype)
        rule, of_dots = oracle.of_vectors(rule, "mv"), oracle.of_vectors(rule, "dot")
        self.held(rule, lambda: torch.mv(a, x), oracle.matmul(values(a), values(x), **rule))
        alpha, beta = (float(torch.tensor(factor).to(dtype)) for factor in (-0.7, 1.3))  # as cuBLAS's gemv is given them
        self.held(rule, lambda: torch.addmv(c, a, x, alpha=-0.7, beta=1.3),
                  oracle.product(values(a), values(x)[:, None], c=values(c)[:, None], alpha=alpha, beta=beta, **rule)[:, 0])
        for dot in (torch.dot, torch.vdot):
            self.held(rule, lambda: torch.stack([dot(row, x) for row in a]), oracle.matmul(values(a), values(x), **of_dots),
                      own=False)

    @each()
    def test_matmul_of_all_dimensions(self, dtype, rule):
        shapes = (((37,), (37,)), ((37,), (37, 33)), ((33, 37), (37,)), ((6, 37), (37, 9)), ((3, 6, 37), (37, 9)),
                  ((3, 11, 37), (37,)), ((37,), (3, 37, 11)), ((6, 37), (3, 37, 9)), ((2, 1, 4, 37), (3, 37, 5)),
                  ((2, 3, 4, 37), (2, 3, 37, 5)), ((1, 3, 4, 37), (2, 1, 37, 5)))
        for i, (left, right) in enumerate(shapes):
            a, b = numbers(20 + i, *left, dtype=dtype), numbers(60 + i, *right, dtype=dtype)
            with binade.torch.tensor_cores(rule["arch"]) as mode:
                torch.matmul(a, b)
            op = mode.covered()[0].op  # which one torch makes of it depends on its version
            how = oracle.of_vectors(rule, op) if op in ("mv", "dot") else rule
            self.held(how, lambda: torch.matmul(a, b), oracle.matmul(values(a), values(b), **how), own=op != "dot")

    @each()
    def test_operands_of_any_strides(self, dtype, rule):
        whole, other = numbers(40, 37, 2, 18, dtype=dtype), numbers(41, 9, 74, dtype=dtype)
        for a, b in ((whole[:, 1, ::3].t(), other[:, ::2].t()), (whole[:, 0, :6].t(), other[:, 1::2].t()),
                     (whole[:, 1, :1].t().expand(6, 37), other[:, :37].t()), (whole[:6, 0, :], whole[:, 1].t()[:, :9]),
                     (whole[:, 0].t(), other[:1, :37].t().expand(37, 9))):
            self.held(rule, lambda: torch.mm(a, b), oracle.matmul(values(a), values(b), **rule))
        a, b = whole.transpose(0, 2), other[:5, :37].expand(18, 5, 37).transpose(1, 2)
        self.held(rule, lambda: torch.matmul(a, b), oracle.matmul(values(a), values(b), **rule))

    @each(types=TYPES[2:3])
    def test_one_chain_where_torch_has_sums_of_several(self, _, rule):
        a, b = numbers(45, 7, 1500), numbers(46, 1500)
        wanted = oracle.matmul(values(a), values(b), **rule)

        def call():
            return torch.stack([torch.dot(row, b) for row in a])
        self.held(rule, call, wanted)
        self.assertFalse(same_bits(values(call()), wanted).all())

    @each()
    def test_einsum(self, dtype, rule):
        a, b = numbers(43, 3, 6, 37, dtype=dtype), numbers(44, 3, 9, 37, dtype=dtype)
        self.held(rule, lambda: torch.einsum("bik,bjk->bij", a, b),
                  oracle.matmul(values(a), values(b).transpose(0, 2, 1), **rule))
        self.held(rule, lambda: torch.einsum("ik,jk->ji", a[0], b[0]), oracle.matmul(values(b[0]), values(a[0]).T, **rule))

    @each(types=HALF_AND_SINGLE)
    def test_results_over_their_operands(self, dtype, rule):
        a, b, c = (numbers(47 + i, 11, 11, dtype=dtype) for i in range(3))
        wanted, added = (oracle.product(values(a), values(b), c=start, **rule) for start in (None, values(c.t())))
        for left in (True, False):
            x, y = a.clone(), b.clone()
            self.held(rule, lambda: torch.mm(x, y, out=x if left else y), wanted, own=False)
        turned = c.clone().t()
        self.held(rule, lambda: turned.addmm_(a, b), added, own=False)

    @each(types=HALF_AND_SINGLE)
    def test_results_that_are_given(self, dtype, rule):
        a, b, c = (numbers(7 + i, *shape, dtype=dtype) for i, shape in enumerate(((3, 4, 37), (3, 37, 5), (3, 4, 5))))
        wanted = oracle.matmul(values(a), values(b), **rule)
        added = oracle.matmul(values(a), values(b), c=values(c), **rule)
        of_vector, of_dot = (oracle.matmul(values(a[0]), values(b[0, :, 0]), **oracle.of_vectors(rule, op))
                             for op in ("mv", "dot"))
        added_vector = oracle.product(values(a[0]), values(b[0, :, :1]), c=values(c[0, :, :1]), **oracle.of_vectors(rule, "mv"))
        for op, out, into in ((torch.mm, wanted[0], (a[0], b[0])), (torch.bmm, wanted, (a, b)),
                              (torch.mv, of_vector, (a[0], b[0, :, 0])), (torch.matmul, wanted, (a, b)),
                              (torch.dot, of_dot[0], (a[0, 0], b[0, :, 0])),
                              (torch.addmm, added[0], (c[0], a[0], b[0])), (torch.baddbmm, added, (c, a, b)),
                              (torch.addmv, added_vector[:, 0], (c[0, :, 0], a[0], b[0, :, 0])),
                              (torch.addbmm, oracle.addbmm(values(c[0]), values(a), values(b), **rule), (c[0], a, b))):
            out = np.array(out)
            given = torch.full(out.shape, 7.0, dtype=dtype), torch.full(out.shape[:-1] + (14,), 7.0, dtype=dtype)
            for place in (given[0], given[1][..., : out.shape[-1]] if out.ndim else given[0]):
                got, = self.held(rule, lambda: op(*into, out=place), out, own=False)
                self.assertIs(got, place)
            self.assertTrue(out.ndim == 0 or (given[1][..., out.shape[-1]:] == 7).all())
        for op, start, into, out in ((torch.Tensor.addmm_, c[0], (a[0], b[0]), added[0]),
                                     (torch.Tensor.baddbmm_, c, (a, b), added),
                                     (torch.Tensor.addmv_, c[0, :, 0], (a[0], b[0, :, 0]), added_vector[:, 0])):
            own = start.clone()
            got, = self.held(rule, lambda: op(own, *into), out, own=False)
            self.assertIs(got, own)
            self.equal(own, out)


class Linear(TensorCoresCase):
    @each()
    def test_forward_and_both_gradients(self, dtype, rule):
        x, w, b, gy = (numbers(50 + i, *shape, dtype=dtype) for i, shape in enumerate(((23, 37), (29, 37), (29,), (23, 29))))
        for bias in (None, b):
            def call():
                xs, ws = leaves(x, w)
                y = F.linear(xs, ws, bias)
                return y, *torch.autograd.grad(y, (xs, ws), gy)
            self.held(rule, call, (
                oracle.product(values(x), values(w).T, bias=None if bias is None else values(bias), **rule),
                oracle.product(values(gy), values(w), **rule), oracle.product(values(gy).T, values(x), **rule)))

    @each(types=TYPES[1:])
    def test_a_bias_has_the_sum_of_the_gradients_as_torch_makes_it(self, dtype, rule):
        x, w, b, gy = (numbers(50 + i, *shape, dtype=dtype) for i, shape in enumerate(((5, 7), (3, 7), (3,), (5, 3))))
        bias, = leaves(b)
        with binade.torch.tensor_cores(rule["arch"]):
            got, = torch.autograd.grad(F.linear(x, w, bias), bias, gy)
        self.equal(got, values(gy.sum(0)))

    @each()
    def test_batches_of_three_dimensions(self, dtype, rule):
        x, w, b, gy = (numbers(54 + i, *shape, dtype=dtype)
                       for i, shape in enumerate(((3, 7, 37), (19, 37), (19,), (3, 7, 19))))

        def call():
            xs, ws = leaves(x, w)
            y = F.linear(xs, ws, b)
            return y, *torch.autograd.grad(y, (xs, ws), gy)
        flat, flat_gy = values(x).reshape(21, 37), values(gy).reshape(21, 19)
        self.held(rule, call, (oracle.product(flat, values(w).T, bias=values(b), **rule).reshape(3, 7, 19),
                               oracle.product(flat_gy, values(w), **rule).reshape(3, 7, 37),
                               oracle.product(flat_gy.T, flat, **rule)))

    @each(types=TYPES[1:])
    def test_a_training_step_of_a_net(self, dtype, rule):
        def step(net, x, gy):
            optimizer = torch.optim.SGD(net.parameters(), lr=0.125, momentum=0.5)
            for _ in range(2):
                optimizer.zero_grad()
                net(x).backward(gy)
                optimizer.step()
            return [parameter.detach() for parameter in net.parameters()]

        w1, b1, w2, b2 = (numbers(70 + i, *s, dtype=dtype) for i, s in enumerate(((13, 37), (13,), (5, 13), (5,))))
        x, gy = numbers(74, 11, 37, dtype=dtype), numbers(75, 11, 5, dtype=dtype)

        def new_net():
            net = torch.nn.Sequential(torch.nn.Linear(37, 13), torch.nn.ReLU(), torch.nn.Linear(13, 5)).to(dtype)
            for parameter, value in zip(net.parameters(), (w1, b1, w2, b2)):
                parameter.data.copy_(value)
            return net

        by_hand = leaves(w1, b1, w2, b2)
        optimizer = torch.optim.SGD(by_hand, lr=0.125, momentum=0.5)
        for _ in range(2):
            v1, c1, v2, c2 = map(values, by_hand)
            hidden = oracle.product(values(x), v1.T, bias=c1, **rule)
            back = np.where(hidden > 0, oracle.product(values(gy), v2, **rule), np.float32(0))
            hidden = np.where(hidden > 0, hidden, np.float32(0))
            for parameter, grad in zip(by_hand, (oracle.product(back.T, values(x), **rule), torch.tensor(back).to(dtype).sum(0),
                                                 oracle.product(values(gy).T, hidden, **rule), gy.sum(0))):
                parameter.grad = torch.as_tensor(grad).to(dtype)
            optimizer.step()
        self.held(rule, lambda: step(new_net(), x, gy)[::2], [values(by_hand[0]), values(by_hand[2])])
        with binade.torch.tensor_cores(rule["arch"]):
            for got, wanted in zip(step(new_net(), x, gy), by_hand):
                self.equal(got, values(wanted))

    @each(types=AUTOCAST_TYPES)
    def test_autocast(self, dtype, rule):
        x, w, b, gy = (numbers(50 + i, *s) for i, s in enumerate(((23, 37), (29, 37), (29,), (23, 29))))
        near = {name: values(tensor.to(dtype)) for name, tensor in (("x", x), ("w", w), ("b", b), ("gy", gy))}
        xs, ws = leaves(x, w)
        with binade.torch.tensor_cores(rule["arch"]), torch.autocast("cpu", dtype=dtype):
            y = F.linear(xs, ws, b)
            gx, gw = torch.autograd.grad(y, (xs, ws), gy.to(dtype))
        self.assertEqual((y.dtype, gx.dtype, gw.dtype), (dtype, torch.float32, torch.float32))
        self.equal(y, oracle.product(near["x"], near["w"].T, bias=near["b"], **rule))
        self.equal(gx, oracle.product(near["gy"], near["w"], **rule))
        self.equal(gw, oracle.product(near["gy"].T, near["x"], **rule))


class Edges(TensorCoresCase):
    @each(("sm_70", "sm_90"))
    def test_empty_ones(self, dtype, rule):
        def of(*shape):
            return numbers(1, *shape, dtype=dtype)
        c, zeros = of(3, 5), np.zeros
        self.held(rule, lambda: (torch.mm(of(0, 4), of(4, 5)), torch.mm(of(3, 4), of(4, 0)), torch.mm(of(3, 0), of(0, 5)),
                                 torch.bmm(of(0, 3, 4), of(0, 4, 5)), torch.bmm(of(2, 3, 0), of(2, 0, 5)),
                                 torch.mv(of(3, 0), of(0)), torch.mv(of(0, 3), of(3)), torch.dot(of(0), of(0)),
                                 torch.addmm(c, of(3, 0), of(0, 5)), torch.addmm(c, of(3, 0), of(0, 5), beta=0.5),
                                 torch.addbmm(c, of(0, 3, 4), of(0, 4, 5), beta=0.5),
                                 torch.baddbmm(of(2, 3, 5), of(2, 3, 0), of(2, 0, 5))),
                  [zeros(shape, np.float32) for shape in ((0, 5), (3, 0), (3, 5), (0, 3, 5), (2, 3, 5), (3,), (0,), ())]
                  + [values(c), values(c * 0.5), values(c * 0.5), values(of(2, 3, 5))], own=False)
        x, w = leaves(of(0, 4), of(5, 4))
        with binade.torch.tensor_cores(rule["arch"]):
            gx, gw = torch.autograd.grad(F.linear(x, w), (x, w), of(0, 5))
        self.assertEqual(gx.shape, (0, 4))
        self.equal(gw, zeros((5, 4), np.float32))

    @each()
    def test_one_term(self, dtype, rule):
        a, b, c = numbers(1, 64, 1, dtype=dtype), numbers(2, 1, 64, dtype=dtype), numbers(3, 64, 64, dtype=dtype)
        self.held(rule, lambda: (torch.mm(a, b), torch.addmm(c, a, b, alpha=0.3, beta=-1.7)),
                  (oracle.product(values(a), values(b), **rule),
                   oracle.product(values(a), values(b), c=values(c), alpha=0.3, beta=-1.7, **rule)), own=False)

    @each()
    def test_zeros_subnormals_infinities_and_nans(self, dtype, rule):
        tiny = {torch.float16: 2.0**-24, torch.bfloat16: 2.0**-133, torch.float32: 2.0**-136}  # TF32's, too
        special = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), tiny[dtype], -3 * tiny[dtype],
                   torch.finfo(dtype).max, -torch.finfo(dtype).max, torch.finfo(dtype).tiny, 1.0, -1.0]
        generator = np.random.default_rng(5)
        chosen = [generator.choice(len(special), size, p=[.16, .16, .01, .01, .01, .11, .11, .05, .05, .11, .11, .11])
                  for size in (40 * 6, 6 * 40)]
        flat = torch.tensor(special, dtype=torch.float64)
        a, b = (flat[torch.from_numpy(index)].to(dtype).reshape(shape) for index, shape in zip(chosen, ((40, 6), (6, 40))))
        wanted = oracle.product(values(a), values(b), **rule)
        self.assertTrue(np.isnan(wanted).any() and np.isinf(wanted).any() and (wanted == 0).any())
        self.assertTrue(((wanted != 0) & (np.abs(wanted) < torch.finfo(dtype).tiny)).any())
        self.held(rule, lambda: torch.mm(a, b), wanted, own=False)

    @each()
    def test_negative_zeros_stay_what_the_architecture_makes_of_them(self, dtype, rule):
        a, b = torch.zeros(2, 3, dtype=dtype), torch.tensor([[-0.0], [-1.0], [-2.0]], dtype=dtype)
        c = torch.full((2, 1), -0.0, dtype=dtype)
        self.held(rule, lambda: (torch.mm(a, b), torch.addmm(c, a, b), torch.addmm(c, a, b, alpha=-1)),
                  (oracle.product(values(a), values(b), **rule), oracle.product(values(a), values(b), c=values(c), **rule),
                   oracle.product(values(a), values(b), c=values(c), alpha=-1, **rule)), own=False)

    def test_shapes_and_types_that_do_not_fit_are_refused_as_torch_does(self):
        with binade.torch.tensor_cores("sm_90"):
            for call in (lambda: torch.mm(torch.ones(2, 3), torch.ones(2, 3)), lambda: torch.dot(torch.ones(2), torch.ones(3)),
                         lambda: torch.mm(torch.ones(2, 3), torch.ones(3, 2, dtype=torch.bfloat16)),
                         lambda: torch.addmm(torch.ones(3, 3), torch.ones(2, 3), torch.ones(3, 2)),
                     lambda: torch.mm(torch.ones(2, 3), torch.ones(3, 2), out=torch.ones(2, 2, dtype=torch.bfloat16))):
                self.assertRaises(RuntimeError, call)


if __name__ == "__main__":
    main()
