# SPDX-License-Identifier: Apache-2.0
"""Grouped products under tensor_cores(): each group against a product of its own, forward and backward, empty groups, and what torch
refuses."""
import sys

try:
    import torch

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from cli_case import main
from tensor_cores_case import TensorCoresCase

if not hasattr(torch, "_grouped_mm"):
    print("SKIP: this torch has no _grouped_mm")
    sys.exit(77)

ENDS = [5, 5, 12, 20]  # the second group is empty


def drawn(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(torch.bfloat16)


class Grouped(TensorCoresCase):
    def grouped(self, *args):
        with binade.torch.tensor_cores("sm_90", strict=True) as mode:
            out = torch._grouped_mm(*args)
        self.assertIn("mma.m16n8k16.f32.bf16.bf16.f32", str(mode.covered()))
        return out

    def one(self, a, b):
        with binade.torch.tensor_cores("sm_90", strict=True):
            return a @ b

    def test_each_group_is_a_product_of_its_own(self):
        offs = torch.tensor(ENDS, dtype=torch.int32)
        runs = [slice(begin, end) for begin, end in zip([0, *ENDS], ENDS)]
        rows, experts = drawn(20, 48), drawn(4, 48, 16)
        self.same(self.grouped(rows, experts, offs), torch.cat([self.one(rows[run], x) for run, x in zip(runs, experts)]))
        wide = drawn(20, 48).t()
        self.same(self.grouped(experts.transpose(1, 2), wide, offs),
                  torch.cat([self.one(x.t(), wide[:, run]) for run, x in zip(runs, experts)], 1))
        self.same(self.grouped(rows.t(), drawn(20, 16), offs),
                  torch.stack([self.one(rows[run].t(), drawn(20, 16)[run]) for run in runs]))
        for more in (0, 24):  # K behind the last group, of one operand alone
            long, other = drawn(20 + more, 48), drawn(44 - more, 16)
            self.same(self.grouped(long.t(), other, offs), torch.stack([self.one(long[run].t(), other[run]) for run in runs]))
        left, right = drawn(4, 8, 24), drawn(4, 24, 16)  # rows of 48 bytes
        self.same(self.grouped(left, right), self.one(left, right))

    def test_gradients_are_grouped_products(self):
        offs = torch.tensor(ENDS, dtype=torch.int32)
        rows, experts = drawn(20, 48).requires_grad_(), drawn(4, 48, 16).requires_grad_()
        with binade.torch.tensor_cores("sm_90", strict=True) as mode:
            torch._grouped_mm(rows, experts, offs).float().square().sum().backward()
        self.assertEqual(sum(x.calls for x in mode.covered() if x.op == "_grouped_mm"), 3)
        self.assertTrue(bool((experts.grad[1] == 0).all()))
        self.assertTrue(bool((experts.grad[0] != 0).any()))

    def test_what_torch_refuses_is_refused(self):
        offs = torch.tensor(ENDS, dtype=torch.int32)
        for args, words in (((drawn(20, 48), drawn(4, 40, 16), offs), "cannot be multiplied"),
                            ((drawn(20, 48), drawn(3, 48, 16), offs), "4 offs of 3 groups"),
                            ((drawn(20, 48), drawn(4, 48, 16)), "offs go with"),
                            ((drawn(12, 48), drawn(4, 48, 16), offs), "do not ascend within 12"),
                            ((drawn(24, 48).t(), drawn(16, 16), offs), "do not ascend within 16"),
                            ((drawn(16, 48).t(), drawn(24, 16), offs), "do not ascend within 16"),
                            ((drawn(20, 48), drawn(4, 48, 16), offs.long()), "of torch.int64; int32"),
                            ((drawn(20, 48), drawn(4, 48, 16), offs[:, None]), r"offs of \(4, 1\)"),
                            ((drawn(20, 48), drawn(4, 48, 16), offs.repeat_interleave(2)[::2]), "without gaps, are wanted"),
                            ((drawn(20, 96)[:, ::2], drawn(4, 48, 16), offs), "without gaps between numbers"),
                            ((drawn(20, 20), drawn(4, 20, 16), offs), r"the first operand has strides \(20, 1\); multiples of 16"),
                            ((drawn(20, 16), drawn(4, 16, 20), offs), "the second operand has strides"),
                            ((drawn(20, 16), drawn(4, 260)[:, :256].view(4, 16, 16), offs), r"strides \(260, 16, 1\)")):
            with self.subTest(words), self.assertRaisesRegex(RuntimeError, words):
                self.grouped(*args)

    def same(self, got, wanted):
        self.assertEqual(got.dtype, wanted.dtype)
        self.assertTrue(torch.equal(got.view(torch.int16), wanted.view(torch.int16)))


if __name__ == "__main__":
    main()
