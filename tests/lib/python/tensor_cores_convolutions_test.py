# SPDX-License-Identifier: Apache-2.0
#
# Convolutions of torch within binade.torch.tensor_cores: those of every dimension and geometry, forward and both gradients, have
# all bits of the oracle's. SKIP without torch. tensor_cores_convolutions_test.py BINADE
import collections
import functools
import sys

try:
    import numpy as np
    import torch

    import binade.torch
    from binade.torch.products import depthwise
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

import tensor_cores_oracle as oracle
from cli_case import main
from tensor_cores_case import TYPES, TensorCoresCase, chained, each, leaves, numbers, same_bits, values

F = torch.nn.functional
ORDINARY = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}

# The image and the weight as torch has them; more is what the output of a transposed one is enlarged by; None: an ordinary one.
# atens: by ATen's kernels, without cuDNN.
Case = collections.namedtuple("Case", "image weight stride padding dilation groups more atens", defaults=(1, None, False))
CASES = {
    "of one dimension": Case((3, 6, 17), (10, 6, 5), (2,), (3,), (1,)),
    "of two dimensions": Case((3, 6, 5, 7), (9, 6, 3, 2), (1, 1), (0, 0), (1, 1)),
    "strided, padded, dilated": Case((3, 5, 9, 8), (8, 5, 3, 2), (2, 3), (2, 1), (2, 3)),
    "of three dimensions": Case((2, 5, 4, 5, 3), (8, 5, 2, 3, 2), (1, 2, 1), (1, 0, 1), (2, 1, 1)),
    "with a kernel of one pixel": Case((3, 19, 4, 3), (7, 19, 1, 1), (1, 1), (0, 0), (1, 1)),
    "with strides beyond its kernel": Case((3, 9, 7, 6), (8, 9, 1, 2), (3, 3), (0, 1), (1, 1)),
    "grouped": Case((4, 12, 5, 4), (9, 4, 3, 3), (1, 1), (1, 1), (1, 1), 3),
    "depthwise": Case((9, 2, 5, 7), (4, 1, 3, 3), (1, 1), (1, 1), (1, 1), 2, atens=True),
    "depthwise, strided, padded, dilated": Case((2, 3, 9, 8), (3, 1, 3, 2), (2, 3), (3, 1), (2, 3), 3, atens=True),
    "depthwise, of one dimension": Case((3, 4, 39), (4, 1, 4), (1,), (2,), (1,), 4, atens=True),
    "depthwise, of three dimensions": Case((2, 3, 5, 12, 7), (6, 1, 2, 3, 2), (1, 2, 1), (1, 1, 1), (1, 1, 2), 3, atens=True),
    "transposed, of one dimension": Case((3, 9, 5), (9, 7, 4), (2,), (1,), (1,), 1, (0,)),
    "transposed, with more output": Case((3, 9, 4, 3), (9, 6, 3, 2), (3, 2), (1, 0), (1, 2), 1, (2, 1)),
    "transposed, with more output than its stride has": Case((3, 9, 4, 3), (9, 6, 2, 2), (1, 1), (0, 1), (2, 3), 1, (1, 2)),
    "transposed, grouped": Case((4, 9, 4, 3), (9, 4, 3, 2), (2, 1), (1, 1), (1, 1), 3, (0, 0)),
    "transposed, depthwise": Case((4, 20, 3, 4), (20, 1, 2, 3), (1, 2), (0, 1), (1, 1), 20, (0, 0)),
    "transposed, of three dimensions": Case((2, 8, 2, 3, 2), (8, 5, 2, 2, 3), (2, 1, 2), (0, 1, 1), (1, 2, 1), 1, (1, 0, 1)),
}


def geometry(case):
    return oracle.Geometry(case.stride, case.padding, case.dilation, case.groups)


def size(case):
    """Of the output's places."""
    far = [d * (k - 1) - 2 * o for d, k, o in zip(case.dilation, case.weight[2:], case.padding)]
    if case.more is None:
        return tuple((x - 1 - f) // s + 1 for x, f, s in zip(case.image[2:], far, case.stride))
    return tuple((x - 1) * s + f + more + 1 for x, f, s, more in zip(case.image[2:], far, case.stride, case.more))


def channels(case):
    return case.weight[0] if case.more is None else case.weight[1] * case.groups


def operands(case, dtype=torch.float32, of=numbers):
    """x, w, bias, gradient of the output."""
    shapes = case.image, case.weight, (channels(case),), (case.image[0], channels(case)) + size(case)
    return [of(90 + i, *shape, dtype=dtype) for i, shape in enumerate(shapes)]


def convolved(case, x, w, bias=None):
    words = {"stride": case.stride, "padding": case.padding, "dilation": case.dilation, "groups": case.groups}
    if case.more is None:
        return ORDINARY[len(case.stride)](x, w, bias, **words)
    return TRANSPOSED[len(case.stride)](x, w, bias, output_padding=case.more, **words)


def with_gradients(case, x, w, bias, gy):
    given = leaves(x, w, bias)
    y = convolved(case, *given)
    return y, *torch.autograd.grad(y, given, gy)


def by_oracle(case, x, w, bias, gy, **rule):
    """y, dX, dW."""
    x, w, bias, gy = map(values, (x, w, bias, gy))
    g, places = geometry(case), case.image[2:]
    if case.atens:
        return by_aten(case, rule["dtype"], *(part for each in (x, w, bias, gy) for part in (each.tobytes(), each.shape)))
    if case.more is None:
        return (oracle.forward(x, w, g, size(case), bias, **rule), oracle.input_gradient(gy, w, g, places, **rule),
                oracle.weight_gradient(gy, x, g, case.weight[2:], **rule))
    return (oracle.input_gradient(x, w, g, size(case), bias, **rule), oracle.forward(gy, w, g, places, **rule),
            oracle.weight_gradient(x, gy, g, case.weight[2:], **rule))


@functools.lru_cache(maxsize=None)
def by_aten(case, dtype, *given):
    """The same of any architecture."""
    x, w, bias, gy = (np.frombuffer(part, np.float32).reshape(shape) for part, shape in zip(given[::2], given[1::2]))
    g = geometry(case)
    return (oracle.depthwise_forward(x, w, g, size(case), bias, dtype),
            oracle.depthwise_input_gradient(gy, w, g, case.image[2:], case.image[1], dtype),
            oracle.depthwise_weight_gradient(gy, x, g, case.weight[2:], dtype))


def summed(gy):
    """A bias's gradient."""
    return values(gy.float().sum([0, *range(2, gy.dim())]).to(gy.dtype))


def integers(seed, *shape, dtype):
    return torch.from_numpy(np.random.default_rng(seed).integers(-3, 4, shape)).to(dtype)


class Oracle(TensorCoresCase):
    def test_of_small_integers_it_is_exactly_what_torch_computes(self):
        for name, case in CASES.items():
            with self.subTest(name):
                given = operands(case, of=integers)
                native = with_gradients(case, *given)
                for rule in ({"arch": "sm_90", "dtype": "float32"}, {"arch": "sm_80", "dtype": "float32", "tf32": True}):
                    for mine, theirs in zip(by_oracle(case, *given, **rule), native):
                        self.assertTrue(same_bits(mine + 0, values(theirs) + 0).all())


class Convolutions(TensorCoresCase):
    @each()
    def test_of_every_geometry_with_all_gradients(self, dtype, rule):
        for name, case in CASES.items():
            if case.atens and rule["arch"] != "sm_90":
                continue
            with self.subTest(name):
                given = operands(case, dtype)
                self.held(rule, lambda: with_gradients(case, *given)[:3], by_oracle(case, *given, **rule), own=not case.atens)

    @each()
    def test_without_a_bias(self, dtype, rule):
        for name in ("of two dimensions", "transposed, of one dimension"):
            case = CASES[name]
            x, w, bias, gy = operands(case, dtype)
            self.held(rule, lambda: convolved(case, x, w), by_oracle(case, x, w, torch.full_like(bias, -0.0), gy, **rule)[0])

    @each(types=TYPES[1:])
    def test_a_bias_has_the_sum_in_single_precision(self, dtype, rule):
        for name in ("of two dimensions", "transposed, of one dimension"):
            case = CASES[name]
            given = operands(case, dtype)
            self.held(rule, lambda: with_gradients(case, *given)[3], summed(given[3]), own=False)

    @each(("sm_80", "sm_90"))
    def test_only_the_gradients_that_are_needed(self, dtype, rule):
        for name in ("strided, padded, dilated", "transposed, grouped"):
            case = CASES[name]
            x, w, bias, gy = operands(case, dtype)
            _, gx, gw = by_oracle(case, x, w, bias, gy, **rule)
            for index, wanted in ((0, gx), (1, gw), (2, summed(gy))):
                def call():
                    given = [x.clone(), w.clone(), bias.clone()]
                    given[index].requires_grad_()
                    return torch.autograd.grad(convolved(case, *given), given[index], gy)
                self.held(rule, call, wanted, own=index < 2)

    @each(("sm_70", "sm_90"))
    def test_layers_and_any_memory_format(self, dtype, rule):
        case = CASES["strided, padded, dilated"]
        x, w, bias, gy = operands(case, dtype)
        layer = torch.nn.Conv2d(5, 8, (3, 2), case.stride, case.padding, case.dilation).to(dtype)
        with torch.no_grad():
            layer.weight.copy_(w)
            layer.bias.copy_(bias)
        y, gx, gw = by_oracle(case, x, w, bias, gy, **rule)
        for image, way in ((x, gy), (x.to(memory_format=torch.channels_last), gy.to(memory_format=torch.channels_last)),
                           (x.transpose(2, 3).contiguous().transpose(2, 3), gy.flip(0).flip(0))):
            def call():
                given, = leaves(image)
                out = layer(given)
                return out, *torch.autograd.grad(out, (given, layer.weight), way)
            self.held(rule, call, (y, gx, gw))

    @each(("sm_70", "sm_90"))
    def test_padding_by_name(self, dtype, rule):
        x, square, even = (numbers(95 + i, *s, dtype=dtype) for i, s in enumerate(((2, 5, 6, 6), (7, 5, 3, 3), (7, 5, 2, 2))))
        for words, image, w, pad, places in (("same", x, square, 1, 6), ("valid", x, square, 0, 4),
                                             ("same", F.pad(x, (0, 1, 0, 1)), even, 0, 6)):
            g = oracle.Geometry((1, 1), (pad, pad), (1, 1), 1)
            self.held(rule, lambda: F.conv2d(x, w, padding=words),
                      oracle.forward(values(image), values(w), g, (places, places), **rule))

    @each(("sm_70", "sm_90"))
    def test_a_gradient_that_is_one_number_expanded(self, dtype, rule):
        case = CASES["of two dimensions"]
        x, w, bias, gy = operands(case, dtype)
        _, gx, gw = by_oracle(case, x, w, bias, torch.ones_like(gy), **rule)

        def call():
            given = leaves(x, w)
            return torch.autograd.grad(convolved(case, *given), given, torch.ones((), dtype=dtype).expand(gy.shape))
        self.held(rule, call, (gx, gw), own=False)

    @each(("sm_70", "sm_90"))
    def test_one_image_without_a_batch(self, dtype, rule):
        case = CASES["strided, padded, dilated"]
        x, w, bias, gy = operands(case, dtype)
        one = case._replace(image=(1,) + case.image[1:])
        self.held(rule, lambda: convolved(case, x[0], w, bias), by_oracle(one, x[:1], w, bias, gy[:1], **rule)[0][0], own=False)

    @each(("sm_70", "sm_90"))
    def test_no_images(self, dtype, rule):
        for name in ("strided, padded, dilated", "transposed, grouped"):
            case = CASES[name]._replace(image=(0,) + CASES[name].image[1:])
            given = operands(case, dtype)
            self.held(rule, lambda: with_gradients(case, *given)[:3], by_oracle(case, *given, **rule), own=False)

    @each(("sm_70", "sm_80"))
    def test_infinities_and_nans_meet_the_zeros_around_the_image(self, dtype, rule):
        case = CASES["strided, padded, dilated"]
        given = operands(case, dtype)
        given[0][0, 0, 0, 0], given[0][1, 2, 4, 4] = float("inf"), float("nan")
        given[1][0, 0, 0, 0], given[1][1, 1, 2, 1] = float("inf"), float("nan")
        given[3][0, 2, 1, 1], given[3][1, 3, 2, 0] = -float("inf"), float("nan")
        self.held(rule, lambda: with_gradients(case, *given)[:3], by_oracle(case, *given, **rule), own=False)

    @each(("sm_90",), TYPES[:2])
    def test_those_around_a_depthwise_one_they_meet_in_gradients_of_three_dimensions(self, dtype, rule):
        for name in ("depthwise", "depthwise, of three dimensions"):
            case = CASES[name]
            given = operands(case, dtype)
            given[1][0].view(-1)[0] = given[3][0, 1].view(-1)[0] = float("inf")
            y, gx, gw = by_oracle(case, *given, **rule)
            self.assertEqual([np.isnan(part).any() for part in (y, gx, gw)], [False] + [len(case.stride) == 3] * 2, name)
            self.held(rule, lambda: with_gradients(case, *given)[:3], (y, gx, gw), own=False)

    def test_cudnn_computes_some_depthwise_ones(self):
        for (image, weight, *words), cudnn in (
                (((2, 32, 9, 9), (32, 1, 3, 3)), True), (((2, 31, 9, 9), (31, 1, 3, 3)), False),
                (((2, 32, 9, 9), (64, 1, 5, 5)), True), (((2, 32, 9, 9), (32, 1, 7, 7)), False),
                (((2, 32, 9, 6), (32, 1, 3, 3)), False), (((2, 32, 9, 7), (32, 1, 3, 3)), True),
                (((2, 32, 9, 9), (32, 1, 3, 1)), False), (((2, 32, 9, 9), (32, 1, 3, 3), [1], [2]), False),
                (((2, 32, 9, 9), (32, 1, 3, 3), [2]), False), (((1, 32, 9, 9), (32, 1, 3, 3), [2]), True),
                (((2, 32, 9, 9), (32, 1, 3, 3), [1, 2]), False), (((2, 512, 9, 9), (512, 1, 3, 3), [2]), True),
                (((2, 256, 3, 28), (256, 1, 3, 3), [2]), True), (((2, 256, 3, 27), (256, 1, 3, 3), [2]), False),
                (((1, 32, 9, 28), (32, 1, 1, 1), [2]), True), (((1, 32, 9, 29), (32, 1, 1, 1), [2]), False),
                (((16, 128, 9, 7), (128, 1, 1, 1), [2]), True), (((17, 128, 9, 7), (128, 1, 1, 1), [2]), False),
                (((2, 128, 9, 8), (128, 1, 1, 1), [2]), False), (((1, 32, 9, 9), (32, 1, 3, 3), [3]), False),
                (((2, 32, 5), (32, 1, 4)), True), (((2, 32, 5), (32, 1, 4), [2]), False),
                (((2, 32, 3, 9, 9), (32, 1, 3, 3, 3)), False)):
            for dtype in (torch.float16, torch.bfloat16, torch.float32):
                stride, dilation = (list(words) + [[1]] * 2)[:2]
                x, w = torch.empty(image, dtype=dtype), torch.empty(weight, dtype=dtype)
                self.assertEqual(depthwise.is_atens(x, w, stride, dilation, False, x.shape[1]),
                                 not (cudnn and dtype == torch.float16), (image, weight, words, dtype))

    @each(("sm_80",), TYPES[:2])
    def test_cudnn_computes_those_that_are_channels_last(self, dtype, rule):
        half, last = dtype == torch.float16, torch.channels_last
        x, w = numbers(1, 2, 32, 7, 7, dtype=dtype), numbers(2, 32, 1, 3, 3, dtype=dtype)
        for image in (x, x.transpose(2, 3), numbers(1, 2, 32, 7, 14, dtype=dtype)[..., ::2], x[:, :1].expand(x.shape)):
            self.assertEqual(self.by_cudnn(rule, image, w, {}), half)
        self.assertTrue(self.by_cudnn(rule, x.to(memory_format=last), w, {}, last))
        self.assertTrue(self.by_cudnn(rule, x, w.to(memory_format=last), {}, last))
        self.assertTrue(self.by_cudnn(rule, x[:, :1], w, {}))  # one group is none
        with torch.backends.cudnn.flags(enabled=False):
            self.assertFalse(self.by_cudnn(rule, x.to(memory_format=last), w, {}))

    def by_cudnn(self, rule, x, w, words, layout=torch.contiguous_format):
        """Whether both passes are implicit GEMM; the result is laid out so."""
        x, = leaves(x)
        with binade.torch.tensor_cores(rule["arch"], order=lambda kind, dtype: kinds.append(kind)) as mode:
            kinds = []
            y = ORDINARY[x.dim() - 2](x, w, groups=x.shape[1], **words)
            y.backward(y.detach())
        self.assertEqual(kinds[:1] * 2, kinds)
        self.assertTrue(y.is_contiguous(memory_format=layout))
        self.assertEqual({one.op for one in mode.covered()}, {"convolution", "convolution_backward"})
        return kinds[0] == "convolution"

    @each(("sm_90",), TYPES[1:])
    def test_a_net_of_convolutions(self, dtype, rule):
        first, second = CASES["of two dimensions"], CASES["transposed, grouped"]
        second = second._replace(image=(3, 9) + size(first))
        (x, w1, b1, _), (_, w2, b2, gy) = operands(first, dtype), operands(second, dtype)

        def call():
            given = leaves(w1, b1, w2, b2)
            out = convolved(second, convolved(first, x, *given[:2]).relu(), *given[2:])
            return out, *torch.autograd.grad(out, (given[0], given[2]), gy)
        zero = torch.zeros((3, 9) + size(first))
        hidden = torch.from_numpy(by_oracle(first, x, w1, b1, zero, **rule)[0])
        out, back, gw2 = by_oracle(second, hidden.relu(), w2, b2, gy, **rule)
        gw1 = by_oracle(first, x, w1, b1, torch.from_numpy(back) * (hidden > 0), **rule)[2]
        self.held(rule, call, (out, gw1, gw2), own=not chained(rule))


    @each(("sm_80", "sm_90"), TYPES[1:2])
    def test_autocast(self, dtype, rule):
        case = CASES["strided, padded, dilated"]
        given = operands(case)
        near = [tensor.to(dtype) for tensor in given]
        with binade.torch.tensor_cores(rule["arch"]), torch.autocast("cpu", dtype=dtype):
            y, gx, gw, _ = with_gradients(case, *given[:3], near[3])
        self.assertEqual((y.dtype, gx.dtype, gw.dtype), (dtype, torch.float32, torch.float32))
        for mine, wanted in zip((y, gx, gw), by_oracle(case, *near, **rule)):
            self.equal(mine, wanted)
        self.assertFalse(same_bits(values(convolved(case, *near[:3])), values(y)).all())


if __name__ == "__main__":
    main()
