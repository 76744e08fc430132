# SPDX-License-Identifier: Apache-2.0
#
# PyTorch's tensors as arguments and results of the module, in the interpreter that has torch (Debian's python3-torch). SKIP without it.
# torch_test.py BINADE
import sys
import unittest

try:
    import numpy as np
    import torch

    import binade
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from cli_case import CliCase, main


class Torch(CliCase):
    def setUp(self):
        super().setUp()
        torch.manual_seed(1)
        self.x = torch.randn(300) * torch.exp2(torch.randint(-30, 12, (300,)))

    def same(self, tensor, array):
        self.assertIsInstance(tensor, torch.Tensor)
        np.testing.assert_array_equal(tensor.detach().float().numpy(), np.asarray(array, np.float32))

    def test_values_keep_library_dtype_and_shape(self):
        for dtype in [torch.float16, torch.float32, torch.float64, torch.bfloat16]:
            with self.subTest(dtype):
                x = self.x.to(dtype).reshape(3, 4, 25)
                got = binade.quantize(x, "e4m3")
                self.assertEqual((got.dtype, got.shape), (dtype, x.shape))
                self.same(got, binade.quantize(x.float().numpy() if dtype != torch.float64 else x.numpy(), "e4m3"))
        self.assertEqual(binade.quantize(self.x.bfloat16(), "binary16").dtype, torch.float32)

    def test_encodings(self):
        self.assertEqual(binade.encode(self.x, "e4m3").dtype, torch.uint8)
        self.assertEqual(binade.encode(self.x, "bfloat16", as_dtype=True).dtype, torch.bfloat16)
        np.testing.assert_array_equal(binade.encode(self.x, "bfloat16", as_dtype=True).float().numpy(),
                                      self.x.bfloat16().float().numpy())
        np.testing.assert_array_equal(binade.encode(self.x, "binary16", as_dtype=True).numpy(), self.x.half().numpy())
        codes = binade.encode(self.x, "binary16")
        np.testing.assert_array_equal(binade.decode(codes, "binary16").numpy(), self.x.half().float().numpy())

    def test_views_parameters_and_out(self):
        x = self.x.reshape(20, 15)
        self.same(binade.quantize(x.T[::2], "e5m2"), binade.quantize(x.numpy(), "e5m2").T[::2])
        self.same(binade.quantize(torch.nn.Parameter(x), "e5m2"), binade.quantize(x.numpy(), "e5m2"))
        self.same(binade.quantize(torch.view_as_complex(torch.stack([x, x], -1)).conj().imag, "e5m2"),
                  binade.quantize(-x.numpy(), "e5m2"))
        out = torch.empty_like(x)
        self.assertIs(binade.quantize(x, "e5m2", out=out), out)
        self.same(out, binade.quantize(x.numpy(), "e5m2"))
        self.same(binade.arith("fma", x, x, torch.tensor(1.0), format="bfloat16"),
                  binade.arith("fma", x.numpy(), x.numpy(), np.float32(1), format="bfloat16"))

    def test_what_cannot_be_read_is_refused(self):
        for bad, kind, words in [
            (torch.zeros(3, dtype=torch.complex64), TypeError, "an array of complex64"),
            (torch.zeros(3, dtype=torch.int32), TypeError, "int32, not of a floating-point dtype"),
            (torch.zeros(3).to_sparse(), ValueError, "give x.to_dense"),
            (torch.zeros(3, device="meta"), ValueError, "a tensor on meta, which has no values"),
            (torch.nn.Linear(2, 2), TypeError, "not torch's Linear"),
        ]:
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                binade.quantize(bad, "e4m3")
        with self.assertRaisesRegex(ValueError, "out: a tensor that is not contiguous"):
            binade.quantize(self.x, "e4m3", out=torch.empty(600)[::2])
        with self.assertRaisesRegex(ValueError, "out: a tensor that requires grad; give x.detach()"):
            binade.quantize(self.x, "e4m3", out=torch.empty(300, requires_grad=True))

    def test_nothing_in_and_out(self):
        out = torch.empty(0)
        self.assertIs(binade.quantize(torch.empty(0), "e4m3", out=out), out)

    def test_what_torch_gives_no_values_of_is_a_line(self):
        model = torch.nn.Linear(2, 2)
        found = binade.report(list(model.named_parameters())).tensors
        self.assertEqual([one["name"] for one in found], ["weight", "bias"])
        with self.assertRaisesRegex(TypeError, "^list that NumPy makes no array of: Can't call numpy"):
            binade.quantize([model.weight], "e4m3")

    @unittest.skipUnless(hasattr(torch.autograd.graph, "increment_version"), "torch before 2.1 cannot be told")
    def test_a_graph_sees_what_was_written(self):
        w = torch.tensor([2.0], requires_grad=True)
        z = w * 2
        loss = (z * z).sum()
        values = z.detach()
        binade.quantize(values * 0 + 3, "e4m3", out=values)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            loss.backward()

    def test_dtypes_are_formats(self):
        self.same(binade.quantize(self.x, torch.bfloat16), self.x.bfloat16().float().numpy())


if __name__ == "__main__":
    main()
