# SPDX-License-Identifier: Apache-2.0
#
# binade.torch.tensor_cores as a mode: torch's flags, which ops it covers, strictness, nesting, leaving torch's settings as they
# were, a user's own orders, threads. SKIP without torch. tensor_cores_modes_test.py BINADE
import os
import subprocess
import sys

try:
    import torch

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

import tensor_cores_oracle as oracle
from cli_case import main
from tensor_cores_case import ARCHITECTURES, TensorCoresCase, leaves, numbers, same_bits, tf32, values

F = torch.nn.functional


def told(listing, *words):
    """Whether one entry of what a mode lists has all these words."""
    entries = listing.items() if isinstance(listing, dict) else listing
    return any(all(word in str(entry) for word in words) for entry in entries)


class Modes(TensorCoresCase):
    a, b = numbers(1, 6, 37), numbers(2, 37, 9)

    def wanted(self, arch, **more):
        return oracle.product(values(self.a), values(self.b), arch, "float32", tf32=True, **more)

    def test_what_may_multiply_unseen_is_listed(self):
        theta = torch.randn(2, 2, 3)
        calls = {"affine_grid_generator": lambda: torch.nn.functional.affine_grid(theta, [2, 1, 4, 4], align_corners=False)}
        if hasattr(torch.library, "custom_op"):
            @torch.library.custom_op("binade_test::hidden", mutates_args=())
            def hidden(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
                return a @ b

            calls["binade_test::hidden"] = lambda: hidden(self.a, self.b)
        if hasattr(torch, "cond"):
            calls["cond"] = lambda: torch.cond(self.a.sum() > 0, torch.square, torch.neg, (self.a,))
        for name, call in calls.items():
            with self.subTest(name):
                with binade.torch.tensor_cores("sm_90") as mode:
                    call()
                self.assertEqual([(ran.op, ran.calls) for ran in mode.uncovered()], [(name, 1)])
                with binade.torch.tensor_cores("sm_90", strict=True), self.assertRaisesRegex(NotImplementedError, name):
                    call()

    def test_attention_by_matmuls_has_no_fused_op_and_leaves_the_switches_as_they_were(self):
        if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            self.skipTest("this torch has no public attention")
        switches = [getattr(torch.backends.cuda, f"{name}_sdp_enabled") for name in ("flash", "mem_efficient", "cudnn")
                    if hasattr(torch.backends.cuda, f"{name}_sdp_enabled")]
        q = numbers(1, 1, 2, 8, 16)
        before = [is_on() for is_on in switches]
        with binade.torch.tensor_cores("sm_90", attention="math") as mode:
            torch.nn.functional.scaled_dot_product_attention(q, q, q)
            self.assertFalse(any(is_on() for is_on in switches))
        self.assertEqual([is_on() for is_on in switches], before)
        self.assertTrue(any(before))
        self.assertEqual({ran.op for ran in mode.covered()}, {"bmm"})

    def test_an_order_is_of_sums_alone(self):
        name = "mma.m16n8k16.f32.f16.f16.f32"
        for options, text in (({"alpha": 2}, "--alpha"), ({"c_first": True}, "--c-first"),
                              ({"out_format": "binary16"}, "D is binary32")):
            with self.subTest(**options), self.assertRaisesRegex(ValueError, text):
                binade.torch.tensor_cores("sm_90", order=binade.GemmModel(name, "sm_90", **options))
        with binade.torch.tensor_cores("sm_90", order=lambda kind: None), self.assertRaisesRegex(RuntimeError, "order.*takes 1"):
            self.a @ self.b

    def test_each_flag_is_of_its_own_products(self):
        x, w = numbers(81, 2, 5, 4, 4), numbers(82, 6, 5, 3, 3)
        g = oracle.Geometry((1, 1), (0, 0), (1, 1), 1)
        for products, convolutions in ((True, False), (False, True)):
            with tf32(products, convolutions), binade.torch.tensor_cores("sm_80"):
                self.equal(self.a @ self.b, oracle.product(values(self.a), values(self.b), "sm_80", "float32", tf32=products))
                self.equal(F.conv2d(x, w), oracle.forward(values(x), values(w), g, (2, 2), arch="sm_80", dtype="float32",
                                                          tf32=convolutions))

    def test_nothing_changes_outside(self):
        with tf32(True, True):
            before = self.a @ self.b
            with binade.torch.tensor_cores("sm_90") as mode:
                within = self.a @ self.b
            self.assertTrue(torch.equal(self.a @ self.b, before))
            self.assertFalse(torch.equal(within, before))
            with mode:  # once more
                self.equal(self.a @ self.b, self.wanted("sm_90"))

    def test_an_exception_leaves_no_mode_behind(self):
        before = self.a @ self.b
        for wrong in (lambda: 1 / 0, lambda: torch.mm(self.a, self.a)):
            with self.assertRaises((ZeroDivisionError, RuntimeError)), binade.torch.tensor_cores("sm_90"):
                wrong()
            self.assertTrue(torch.equal(self.a @ self.b, before))

    def test_the_inner_of_two_decides_or_is_refused(self):
        with tf32(True, True), binade.torch.tensor_cores("sm_80"):
            try:
                with binade.torch.tensor_cores("sm_90"):
                    self.equal(self.a @ self.b, self.wanted("sm_90"))
            except (RuntimeError, ValueError) as error:
                self.assertNotIn("\n", str(error))
            self.equal(self.a @ self.b, self.wanted("sm_80"))
        self.assertFalse(same_bits(self.wanted("sm_90"), self.wanted("sm_80")).all())

    def test_what_it_covers_and_what_not(self):
        double, whole = self.a.double(), self.b.int()
        with binade.torch.tensor_cores("sm_90") as mode:
            self.a @ self.b
            self.assertTrue(told(mode.covered(), "mm"))
            self.assertFalse(mode.uncovered())
            got = double @ self.b.double(), torch.mm(self.a.int(), whole), self.a.cfloat() @ self.b.cfloat()
        native = double @ self.b.double(), torch.mm(self.a.int(), whole), self.a.cfloat() @ self.b.cfloat()
        for mine, theirs in zip(got, native):
            self.assertTrue(torch.equal(mine, theirs))
        for dtype in ("float64", "int", "complex"):
            self.assertTrue(told(mode.uncovered(), "mm", dtype), f"{dtype}: {mode.uncovered()}")

    def test_inference_mode_hides_no_product(self):
        x, w, image, kernel = numbers(6, 2, 11, 37), numbers(7, 9, 37), numbers(8, 2, 5, 4, 4), numbers(9, 6, 5, 3, 3)
        g = oracle.Geometry((1, 1), (1, 1), (1, 1), 1)
        rule = {"arch": "sm_90", "dtype": "float32", "tf32": True}
        product = oracle.matmul(values(x), values(w).T, **rule)
        wanted = product, product, product, oracle.forward(values(image), values(kernel), g, (4, 4), **rule)
        for without in (torch.no_grad, torch.inference_mode):
            with tf32(True, True), without():
                self.held(rule, lambda: (F.linear(x, w), torch.matmul(x, w.t()), torch.einsum("bik,jk->bij", x, w),
                                         F.conv2d(image, kernel, padding=1)), wanted)

    def test_what_holds_products_is_covered_or_told_or_refused(self):
        x = torch.ones(3, 5, 8)
        attention = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()  # torch has ops of the whole of each
        recurrent = torch.nn.LSTM(8, 4)
        for call in (lambda: attention(x, x, x), lambda: layer(x), lambda: recurrent(x),
                     lambda: torch.linalg.matrix_exp(x[:, :, :5]), lambda: torch.cdist(torch.ones(30, 8), torch.ones(30, 8))):
            with torch.no_grad():
                with binade.torch.tensor_cores("sm_90") as mode:
                    call()
                self.assertTrue(mode.covered() or mode.uncovered())
                try:
                    with binade.torch.tensor_cores("sm_90", strict=True) as strict:
                        call()
                    self.assertTrue(strict.covered() and not strict.uncovered())
                except NotImplementedError as error:
                    self.assertNotIn("\n", str(error))

    def test_strictly_what_is_not_covered_is_refused_in_one_line(self):
        for call in (lambda: self.a.double() @ self.b.double(), lambda: torch.linalg.matrix_exp(self.a[:, :6])):
            with binade.torch.tensor_cores("sm_90", strict=True):
                self.a @ self.b + 1  # covered, and no product
                with self.assertRaises(NotImplementedError) as caught:
                    call()
            self.assertNotIn("\n", str(caught.exception))

    def test_backward_outside_is_refused_in_one_line(self):
        a, b = leaves(self.a, self.b)
        with binade.torch.tensor_cores("sm_90"):
            y = a @ b
        with self.assertRaises(RuntimeError) as caught:
            y.sum().backward()
        self.assertNotIn("\n", str(caught.exception))
        self.assertIsNone(a.grad)
        a, b = leaves(self.a, self.b)
        (a @ b).sum().backward()  # of what was made outside
        self.assertIsNotNone(a.grad)

    def test_backward_within_another_one_is_refused_but_not_within_the_same_again(self):
        mode = binade.torch.tensor_cores("sm_90")
        for around, refused in ((binade.torch.tensor_cores("sm_80"), True), (mode, False)):
            a, b = leaves(self.a, self.b)
            with mode:
                y = a @ b
            with around:
                if refused:
                    self.assertRaises(RuntimeError, y.sum().backward)
                else:
                    y.sum().backward()
            self.assertEqual(a.grad is None, refused)

    def test_backward_of_what_was_made_outside(self):
        a, b = leaves(self.a, self.b)
        y = a @ b
        with tf32(True, True), binade.torch.tensor_cores("sm_90"):
            y.sum().backward()
        self.equal(a.grad, oracle.product(values(torch.ones(6, 9)), values(b).T, "sm_90", "float32", tf32=True))

    def test_gradients_of_gradients(self):
        rule = {"arch": "sm_90", "dtype": "float32", "tf32": True}
        a, b = leaves(self.a, self.b)
        with tf32(True, True), binade.torch.tensor_cores("sm_90"):
            y = a @ b
            first, = torch.autograd.grad((y * y / 2).sum(), a, create_graph=True)
            second, = torch.autograd.grad(first.sum(), b)
        # first = y·bᵀ, so that b has part in it by itself and by y
        ones = values(torch.ones(6, 37))
        self.equal(first, oracle.product(values(y), values(b).T, **rule))
        parts = oracle.product(ones.T, values(y), **rule), oracle.product(
            values(self.a).T, oracle.product(ones, values(b), **rule), **rule)
        self.equal(second, parts[0] + parts[1])

    def test_no_gradient_no_refusal(self):
        with binade.torch.tensor_cores("sm_90"):
            y = (self.a @ self.b).requires_grad_()
        y.sum().backward()
        self.assertTrue((y.grad == 1).all())

    def test_sums_in_half_precision_where_torch_allows_them(self):
        flags = torch.backends.cuda.matmul
        try:
            before = flags.allow_fp16_accumulation
        except (AttributeError, AssertionError):
            self.skipTest("this torch has no such flag")
        a, b, c = self.a.half(), self.b.half(), numbers(3, 6, 9, dtype=torch.float16)
        try:
            flags.allow_fp16_accumulation = True
            for arch in ARCHITECTURES:
                name = "mma.m8n8k4.f16.f16.f16.f16" if arch == "sm_70" else "mma.m16n8k16.f16.f16.f16.f16"
                words = {"arch": arch, "dtype": "float16", "instruction": name, "epilogue_format": "binary32"}
                with binade.torch.tensor_cores(arch):
                    self.equal(a @ b, oracle.product(values(a), values(b), **words))
                    self.equal(torch.addmm(c, a, b, alpha=0.3, beta=0.7),
                               oracle.product(values(a), values(b), c=values(c), alpha=0.3, beta=0.7, **words))
        finally:
            flags.allow_fp16_accumulation = before

    def test_an_order_of_ones_own(self):
        a, b = self.a.half(), self.b.half()
        own = binade.GemmModel("mma.m16n8k8.f32.f16.f16.f32", "sm_80", k_order="descending")
        words = {"instruction": own.instruction, "k_order": "descending"}
        with tf32(True, True):
            for order in (own, lambda kind, dtype: own if dtype == torch.float16 else None):
                with binade.torch.tensor_cores("sm_80", order=order):
                    self.equal(a @ b, oracle.product(values(a), values(b), "sm_80", "float16", **words))
                    self.equal(self.a @ self.b, self.wanted("sm_80"))
            self.assertFalse(same_bits(oracle.product(values(a), values(b), "sm_80", "float16"),
                                       oracle.product(values(a), values(b), "sm_80", "float16", **words)).all())

    def test_what_it_cannot_be_is_refused_in_one_line(self):
        for wanted, call in ((ValueError, lambda: binade.torch.tensor_cores("sm_1")),
                             (TypeError, lambda: binade.torch.tensor_cores("sm_90", order=3)),
                             (ValueError, lambda: binade.torch.tensor_cores("sm_90", attention="none"))):
            with self.assertRaises(wanted) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))

    def test_the_bits_are_the_same_of_any_number_of_threads(self):
        script = ("import sys, torch, binade.torch\nfrom tensor_cores_case import numbers\n"
                  "x, w, y, z = numbers(1, 4, 16, 12, 12), numbers(2, 24, 16, 3, 3), numbers(3, 130, 96), numbers(4, 96, 65)\n"
                  "for order in (None, 'reference'):\n"
                  "    with binade.torch.tensor_cores('sm_90', order=order):\n"
                  "        for out in (torch.conv2d(x, w), y @ z):\n"
                  "            sys.stdout.buffer.write(out.numpy().tobytes())\n")
        path = os.pathsep.join([os.path.dirname(os.path.abspath(__file__))] + sys.path)
        runs = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE,
                                 env={**os.environ, "PYTHONPATH": path, "BINADE_THREADS": str(threads)}) for threads in (1, 3)]
        one, several = (run.communicate()[0] for run in runs)
        self.assertEqual([run.returncode for run in runs], [0, 0])
        self.assertEqual(len(one), 2 * 4 * (4 * 24 * 100 + 130 * 65))
        self.assertEqual(one, several)
        self.assertNotEqual(one[:len(one) // 2], one[len(one) // 2:])


if __name__ == "__main__":
    main()
