# SPDX-License-Identifier: Apache-2.0
#
# binade.torch.tensor_cores refuses what torch refuses: wrong shapes above all, since products are read by their addresses; wrong
# arguments; and torch's settings while several threads change them. SKIP without torch. tensor_cores_refusals_test.py BINADE
import sys
import threading

try:
    import torch

    import binade.torch
    from binade.torch.products import attention as attention_products
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

import binade
from cli_case import main
from tensor_cores_case import TensorCoresCase

F = torch.nn.functional
ones = torch.ones
WRONG = {  # torch refuses each
    "one row short": lambda: ones(1, 8) @ ones(2, 1),
    "a long way short": lambda: ones(4, 1 << 22) @ ones(2, 1),
    "vectors of two lengths": lambda: torch.dot(ones(1000), ones(3)),
    "a vector too short": lambda: torch.mv(ones(3, 4), ones(2)),
    "addmv": lambda: torch.addmv(ones(3), ones(3, 4), ones(5)),
    "a layer's input": lambda: torch.nn.Linear(6, 3)(ones(2, 4)),
    "of three axes": lambda: torch.nn.Linear(4, 3)(ones(2, 5, 6)),
    "mm of a vector": lambda: torch.mm(ones(3), ones(3, 4)),
    "addmm of a batch": lambda: torch.addmm(ones(2), ones(1, 2, 3), ones(1, 3, 2)),
    "bmm of matrices": lambda: torch.bmm(ones(3, 4), ones(4, 3)),
    "bmm of two batches": lambda: torch.bmm(ones(2, 3, 4), ones(3, 4, 5)),
    "bmm of one and four": lambda: torch.bmm(ones(1, 3, 4), ones(4, 4, 5)),
    "bmm's K": lambda: torch.bmm(ones(2, 3, 4), ones(2, 5, 4)),
    "baddbmm": lambda: torch.baddbmm(ones(1), ones(2, 3, 4), ones(3, 4, 5)),
    "addbmm": lambda: torch.addbmm(ones(3, 5), ones(2, 3, 4), ones(3, 4, 5)),
    "C of another shape": lambda: torch.addmm(ones(2), ones(3, 4), ones(4, 5)),
    "in place of another shape": lambda: ones(5).addmm_(ones(3, 4), ones(4, 5)),
    "out of another dtype": lambda: torch.mm(ones(3, 4), ones(4, 5), out=ones(3, 5).double()),
    "two dtypes": lambda: ones(3, 4) @ ones(4, 5).bfloat16(),
}
WRONG_CONVOLUTIONS = {
    "channels": lambda: F.conv2d(ones(1, 4, 3, 3), ones(2, 3, 3, 3)),
    "transposed channels": lambda: F.conv_transpose2d(ones(1, 4, 3, 3), ones(3, 2, 3, 3)),
    "groups": lambda: F.conv2d(ones(1, 4, 5, 5), ones(3, 2, 3, 3), groups=2),
    "a kernel larger than the input": lambda: F.conv2d(ones(1, 1, 3, 3), ones(1, 1, 5, 5)),
    "negative padding": lambda: F.conv2d(ones(1, 1, 5, 5), ones(1, 1, 3, 3), padding=-1),
    "no stride": lambda: F.conv2d(ones(1, 1, 5, 5), ones(1, 1, 3, 3), stride=0),
    "a bias of one": lambda: F.conv2d(ones(1, 1, 5, 5), ones(2, 1, 3, 3), ones(1)),
    "a bias": lambda: F.conv2d(ones(1, 1, 5, 5), ones(2, 1, 3, 3), ones(3)),
    "output padding": lambda: F.conv_transpose2d(ones(1, 1, 5, 5), ones(1, 1, 3, 3), output_padding=2),
    "nothing left": lambda: F.conv_transpose2d(ones(1, 1, 1, 1), ones(1, 1, 3, 3), padding=3),
}


class Refusals(TensorCoresCase):
    def test_what_torch_refuses_is_refused(self):
        for what, call in (WRONG | WRONG_CONVOLUTIONS).items():
            with self.subTest(what):
                with self.assertRaises(RuntimeError):
                    call()
                with binade.torch.tensor_cores("sm_80"), self.assertRaises(RuntimeError) as caught:
                    call()
                self.assertNotIn("\n", str(caught.exception))
                if what in WRONG_CONVOLUTIONS:
                    self.assertRegex(str(caught.exception), "^convolution: ")

    def test_attention_of_shapes_that_do_not_fit_is_refused(self):
        if not hasattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu"):
            self.skipTest("this torch has no fused attention for the CPU")
        for q, k, v in (((1, 2, 8, 16), (1, 2, 8, 8), (1, 2, 8, 16)), ((1, 2, 8, 16), (1, 2, 9, 16), (1, 2, 5, 16))):
            with binade.torch.tensor_cores("sm_80"), self.assertRaises(RuntimeError):
                F.scaled_dot_product_attention(ones(q), ones(k), ones(v))

    def test_attention_may_be_made_of_matmuls(self):
        with self.assertRaisesRegex(ValueError, "^attention 'fast': one of flash, math, low_precision is wanted$"):
            binade.torch.tensor_cores("sm_80", attention="fast")
        if not hasattr(F, "scaled_dot_product_attention"):
            self.skipTest("this torch has no scaled_dot_product_attention")
        q = torch.randn(1, 2, 8, 16, generator=torch.Generator().manual_seed(0)).half()
        fused = {"_scaled_dot_product_flash_attention_for_cpu"}
        for attention, ops in (("math", {"bmm"}), ("flash", fused), ("low_precision", fused)):
            with binade.torch.tensor_cores("sm_80", attention=attention) as mode:
                out = F.scaled_dot_product_attention(q, q, q)
            self.assertEqual({one.op for one in mode.covered()}, ops)
        how = {"dropout_p": 0.0, "is_causal": False, "attn_mask": None, "scale": None}
        with binade.torch.tensor_cores("sm_80"):
            self.assertTrue(torch.equal(out, attention_products.low_precision_forward(torch.bmm, q, q, q, **how)[0]))
            self.assertFalse(torch.equal(out, F.scaled_dot_product_attention(q, q, q)))
        self.assertLess((out - F.scaled_dot_product_attention(q, q, q)).abs().max(), 2**-8)

    def test_gradients_that_nobody_wants_are_not_computed(self):
        x, w = ones(1, 2, 5, 5), ones(3, 2, 3, 3)
        for wanted in ([True, False, False], [False, True, False], [False, False, True]):
            with binade.torch.tensor_cores("sm_80"):
                got = torch.ops.aten.convolution_backward(ones(1, 3, 3, 3), x, w, [3], [1, 1], [0, 0], [1, 1], False, [0, 0], 1,
                                                          wanted)
            self.assertEqual([one is not None for one in got], wanted)

    def test_orders_that_are_none_are_refused_in_one_line(self):
        def result(order):
            with binade.torch.tensor_cores("sm_80", order=order):
                return torch.mm(ones(2, 3), ones(3, 2))

        with self.assertRaisesRegex(RuntimeError, "^order gave str for matmul of torch.float32"):
            result(lambda kind, dtype: "descending")
        with self.assertRaisesRegex(ValueError, "^model: one whose D is binary32 is wanted"):
            result(binade.GemmModel("fma.rn.f32.f32.f32.f32", out_format="binary16"))
        self.assertEqual(result(lambda kind, dtype: None).tolist(), [[3, 3], [3, 3]])

    def test_architectures_have_their_letters(self):
        for name in ("sm_90", "sm_90a", "sm_100f"):
            self.assertIn(name.rstrip("af"), repr(binade.torch.tensor_cores(name)))
        for name in ("sm_9", "90", "sm_90x", 90, "sm_91"):
            with self.assertRaises(ValueError) as caught:
                binade.torch.tensor_cores(name)
            self.assertNotIn("\n", str(caught.exception))

    def test_the_newer_switches_of_tf32_are_obeyed(self):
        matmul, convolution = torch.backends.cuda.matmul, getattr(torch.backends.cudnn, "conv", None)
        if convolution is None:
            self.skipTest("this torch has allow_tf32 alone")
        before = matmul.fp32_precision, convolution.fp32_precision
        x, w = ones(1, 2, 4, 4), ones(3, 2, 3, 3)
        try:
            for products, convolutions in (("tf32", "ieee"), ("ieee", "tf32")):
                matmul.fp32_precision, convolution.fp32_precision = products, convolutions
                with binade.torch.tensor_cores("sm_80") as mode:
                    ones(2, 3) @ ones(3, 2)
                    F.conv2d(x, w)
                self.assertEqual([(one.op, "tf32" in one.how) for one in mode.covered()],
                                 [("mm", products == "tf32"), ("convolution", convolutions == "tf32")])
        finally:
            matmul.fp32_precision, convolution.fp32_precision = before

    def test_a_switch_that_threads_turn_in_any_order_is_as_it_was(self):
        is_on = torch._C._get_mkldnn_enabled()
        begun, over, inside = threading.Event(), threading.Event(), []

        def other():
            with binade.torch.tensor_cores("sm_80"):
                begun.set()
                over.wait()

        thread = threading.Thread(target=other)
        thread.start()
        begun.wait()
        with binade.torch.tensor_cores("sm_90"):
            over.set()
            thread.join()
            inside.append(torch._C._get_mkldnn_enabled())
        self.assertEqual(inside, [False])
        self.assertEqual(torch._C._get_mkldnn_enabled(), is_on)

    def test_tensors_that_are_no_plain_ones_are_told(self):
        sparse = torch.eye(3).to_sparse()
        with binade.torch.tensor_cores("sm_80") as mode:
            self.assertEqual(torch.mm(sparse, ones(3, 2)).tolist(), ones(3, 2).tolist())
            self.assertEqual(torch.sparse.mm(sparse, ones(3, 2)).tolist(), ones(3, 2).tolist())
        self.assertEqual(sum(one.calls for one in mode.uncovered()), 2)
        self.assertFalse(mode.covered())


if __name__ == "__main__":
    main()
