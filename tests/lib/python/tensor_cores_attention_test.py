# SPDX-License-Identifier: Apache-2.0
#
# Attention made of products, as binade.torch.products.attention defines it: compared bit for bit with NumPy, one value after another,
# within a derived bound with the definition in float64, and in shapes and layouts with torch's own op. SKIP without torch.
# tensor_cores_attention_test.py BINADE
import math
import sys
import unittest

try:
    import torch

    from binade.torch.products import attention as attention_products
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

import numpy as np
from cli_case import CliCase, main
from tensor_cores_attention_oracle import F, LowPrecision, Oracle, rounded

ULP = 2.0**-24  # half of one, of 1 in float32
HAS_OP = hasattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu")


def chain(a, b):
    """A caller's product: one sum over k ascending, each step rounded to float32; a tile of scores at most."""
    assert a.dtype == b.dtype and a.dim() == b.dim() == 3 and a.shape[0] == b.shape[0] and a.shape[2] == b.shape[1]
    a, b = a.float(), b.float()
    sums = torch.zeros(a.shape[0], a.shape[1], b.shape[2])
    for i in range(a.shape[2]):
        sums = sums + a[:, :, i, None] * b[:, i, None, :]
    return sums


def exact(a, b):
    return torch.bmm(a.double(), b.double()).float()


def numbers(seed, *shape, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def inputs(dtype, queries, keys, dims, heads=1, kv_heads=None, batch=1):
    """q, k, v and grad_out."""
    of_queries, of_keys = (batch, heads, queries, dims), (batch, kv_heads or heads, keys, dims)
    return tuple(numbers(seed, *shape, dtype=dtype) for seed, shape in enumerate((of_queries, of_keys, of_keys, of_queries)))


def computed(multiply, q, k, v, grad_out, causal=False, mask=None, scale=None, low=False):
    """(out, logsumexp, dQ, dK, dV)."""
    given = {"dropout_p": 0.0, "is_causal": causal, "attn_mask": mask, "scale": scale}
    if low:
        def product(a, b):
            return multiply(a, b).to(a.dtype)
        return (*attention_products.low_precision_forward(product, q, k, v, **given),
                *attention_products.low_precision_backward(product, grad_out, q, k, v, **given))
    out, lse = attention_products.flash_forward(multiply, q, k, v, **given)
    return out, lse, *attention_products.flash_backward(multiply, grad_out, q, k, v, out, lse, **given)


def expected(q, k, v, grad_out, causal=False, mask=None, scale=None, low=False):
    """(out, logsumexp, dQ, dK, dV) by the oracle, as arrays of float32."""
    dtype, (batch, heads, queries, _) = q.dtype, q.shape
    share = heads // k.shape[1]
    masks = None if mask is None else np.broadcast_to((mask if mask.dtype == torch.bool else mask.float()).numpy(),
                                                      (batch, heads, queries, k.shape[2]))
    q, k, v, grad_out = (x.float().numpy() for x in (q, k, v, grad_out))
    out, lse, dq = np.zeros_like(q), np.zeros(q.shape[:3], F), np.zeros_like(q)
    dk, dv = np.zeros_like(k), np.zeros_like(v)
    for b in range(batch):
        for h in range(heads):
            g = h // share
            mask = None if masks is None else masks[b, h]
            one = (LowPrecision if low else Oracle)(q[b, h], k[b, g], v[b, g], dtype, causal, mask, scale)
            for i in range(queries):
                out[b, h, i], lse[b, h, i] = one.forward(i)
            dq[b, h], head_dk, head_dv = one.backward(grad_out[b, h], out[b, h], lse[b, h])
            dk[b, g], dv[b, g] = dk[b, g] + F(head_dk), dv[b, g] + F(head_dv)
    narrow = np.vectorize(lambda x: rounded(x, dtype), otypes=[F])
    factor = F(1) if low else F(1 / math.sqrt(q.shape[3]) if scale is None else scale)
    return out, lse, dq, narrow(dk * factor), narrow(dv)


def hidden(*shape, share=0.4):
    return torch.rand(shape, generator=torch.Generator().manual_seed(5)) < share


class Bits(CliCase):
    def held(self, tensors, **options):
        got = computed(chain, *tensors, **options)
        for name, x, y in zip(("out", "logsumexp", "dQ", "dK", "dV"), got, expected(*tensors, **options)):
            self.assertTrue(np.isfinite(y).all() and (y.any() or tensors[1].shape[2] == 1), name)  # of one key dQ and dK are zero
            np.testing.assert_array_equal(x.float().contiguous().numpy().view(np.uint32), y.view(np.uint32), name)

    def test_one_tile_in_every_dtype(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            self.held(inputs(dtype, 3, 128, 8))

    def test_several_tiles_the_last_of_them_ragged(self):
        for dtype, keys in ((torch.float16, 261), (torch.bfloat16, 256), (torch.float32, 131)):
            self.held(inputs(dtype, 3, keys, 5))

    def test_head_dims_and_lengths_that_are_multiples_of_nothing(self):
        for queries, keys, dims in ((1, 1, 1), (5, 7, 3), (2, 13, 11), (7, 3, 17)):
            self.held(inputs(torch.float16, queries, keys, dims, heads=2, batch=2))

    def test_the_causal_mask(self):
        for queries, keys in ((9, 9), (9, 5), (5, 9), (133, 131), (2, 140)):
            self.held(inputs(torch.bfloat16, queries, keys, 2), causal=True)

    def test_a_tile_after_a_query_is_not_looked_at(self):
        q, k, v, do = inputs(torch.float16, 4, 140, 3)
        v[:, :, 128:] = math.inf
        without = computed(chain, q, k[:, :, :128], v[:, :, :128], do, causal=True)
        for x, y in zip(computed(chain, q, k, v, do, causal=True), without):
            self.assertTrue(torch.equal(x[:, :, :128], y))

    def test_masks_that_are_added_and_that_hide(self):
        for shape in ((4, 135), (1, 135), (4, 1), (2, 1, 4, 135), (1, 2, 1, 135), (2, 2, 4, 135)):
            self.held(inputs(torch.float16, 4, 135, 3, heads=2, batch=2), mask=numbers(6, *shape, dtype=torch.float16))
        tensors, hides = inputs(torch.float16, 4, 135, 3, heads=2), hidden(4, 135)
        self.held(tensors, mask=~hides)
        self.held(tensors, mask=torch.zeros(4, 135).masked_fill(hides, -math.inf))
        self.held(tensors, mask=numbers(6, 4, 135), causal=True)

    def test_rows_of_which_all_is_hidden_and_tiles_of_which_all_is(self):
        hides = hidden(5, 261)
        hides[1] = True
        hides[2, :200] = True
        hides[3, 100:] = True
        self.held(inputs(torch.bfloat16, 5, 261, 3), mask=~hides)
        out, lse, dq, _, _ = computed(chain, *inputs(torch.bfloat16, 5, 261, 3), mask=~hides)
        self.assertEqual([x[0, 0, 1].abs().sum().item() for x in (out, lse, dq)], [0, 0, 0])

    def test_heads_that_share_keys_and_values(self):
        self.held(inputs(torch.float16, 3, 130, 3, heads=6, kv_heads=2, batch=2))
        self.held(inputs(torch.bfloat16, 7, 7, 3, heads=3, kv_heads=1), causal=True)
        self.held(inputs(torch.float32, 3, 130, 3, heads=4, kv_heads=1))

    def test_a_scale_that_is_given(self):
        self.held(inputs(torch.float16, 3, 130, 3), scale=0.3)

    def test_scores_that_grow_from_tile_to_tile(self):
        q, k, v, do = inputs(torch.float16, 3, 300, 4)
        k *= torch.linspace(0.1, 6, 300).to(k.dtype)[:, None]
        self.held((q, k, v, do))
        self.held((q, k.flip(2), v, do))

    def test_in_low_precision_everything_is_rounded(self):
        hides = hidden(5, 11)
        hides[1] = True
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            self.held(inputs(dtype, 3, 131, 8), low=True)
            self.held(inputs(dtype, 5, 11, 3, heads=4, kv_heads=2, batch=2), low=True, scale=0.3)
            for given in ({"causal": True}, {"mask": ~hides}, {"mask": numbers(6, 5, 11, dtype=dtype)},
                          {"mask": numbers(6, 1, 11)}):
                self.held(inputs(dtype, 5, 11, 6, heads=2), low=True, **given)
        tensors = inputs(torch.float16, 5, 140, 8)
        for x, y in zip(computed(chain, *tensors, low=True), computed(chain, *tensors)):
            self.assertFalse(torch.equal(x, y))
        tensors = [x.double().float() for x in inputs(torch.float32, 5, 30, 8)]
        for x, y in zip(computed(exact, *tensors, low=True), computed(exact, *tensors)):
            torch.testing.assert_close(x, y, rtol=1e-5, atol=1e-5)

    def test_probabilities_are_rounded_before_they_are_multiplied(self):
        q, k, v, do = (x.float() for x in inputs(torch.float16, 3, 130, 4))
        for dtype in (torch.float16, torch.bfloat16):
            low = computed(chain, *(x.to(dtype) for x in (q, k, v, do)))
            high = computed(chain, *(x.to(dtype).float() for x in (q, k, v, do)))
            self.assertTrue(torch.equal(low[1], high[1]))
            for x, y in ((low[0], high[0]), (low[2], high[2]), (low[3], high[3]), (low[4], high[4])):
                self.assertFalse(torch.equal(x, y.to(dtype)))

    def test_bits_do_not_depend_on_threads(self):
        tensors, before = inputs(torch.float16, 150, 300, 16, heads=4, batch=2), torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, before)
        results = []
        for threads in (1, 4):
            torch.set_num_threads(threads)
            results.append(computed(chain, *tensors))
        self.assertTrue(all(torch.equal(x, y) for x, y in zip(*results)))


class Values(CliCase):
    def test_the_definition_in_float64_within_the_roundings_made(self):
        # First order in ULP, doubled. Scores a are off by 3 |a| ULP, s - m by another 2 |a|, s - logsumexp by 2 |a| + log(keys),
        # exp by 4; a tile rescales by what is off likewise, rounds its product and the sum; l is keys / 4 + 4 additions and as
        # many rescalings as there are tiles.
        queries, keys, dims = 40, 300, 24
        tensors = inputs(torch.float32, queries, keys, dims, heads=2)
        for causal in (False, True):
            got = [x.double() for x in computed(exact, *tensors, causal=causal)]
            q, k, v, do = (x.double() for x in tensors)
            s = q @ k.transpose(2, 3) / math.sqrt(dims)
            if causal:
                s = s.masked_fill(torch.ones(queries, keys, dtype=torch.bool).triu(1), -math.inf)
            largest = s[s > -math.inf].abs().max().item()
            lse = s.logsumexp(3)
            p = torch.exp(s - lse[..., None])
            out = p @ v
            delta = (do * out).sum(3, keepdim=True)
            dp = do @ v.transpose(2, 3)
            ds = p * (dp - delta)

            in_exp = 3 * largest + 2 * largest + 4
            tiles = 3 * (2 * largest + 4 + 2)
            in_sum = in_exp + tiles + keys / 4 + 4
            e_out = ULP * (in_exp + tiles + in_sum + 2) * (p @ v.abs())
            e_lse = ULP * (in_sum + 4 + 2 * lse.abs().max().item())
            e_p = ULP * (5 * largest + math.log(keys) + 4) + e_lse
            e_delta = (do.abs() * e_out.max() + ULP * (dims / 4 + 5) * (do * out).abs()).sum(3, keepdim=True)
            e_ds = p * ((e_p + 3 * ULP) * (dp.abs() + delta.abs()) + e_delta)
            scale, made = 1 / math.sqrt(dims), 8 * ULP
            wanted = ((out, e_out), (lse, torch.full_like(lse, e_lse)),
                      (ds @ k * scale, (e_ds + made * ds.abs()) @ k.abs() * scale),
                      (ds.transpose(2, 3) @ q * scale, (e_ds + made * ds.abs()).transpose(2, 3) @ q.abs() * scale),
                      (p.transpose(2, 3) @ do, (e_p + made) * p.transpose(2, 3) @ do.abs()))
            for name, x, (y, bound) in zip(("out", "logsumexp", "dQ", "dK", "dV"), got, wanted):
                self.assertTrue(((x - y).abs() <= 2 * bound).all(), (name, ((x - y).abs() / bound).max()))
                self.assertLess(bound.max().item(), 1e-3, name)

    def test_a_nan_stays_in_its_row(self):
        q, k, v, do = inputs(torch.float16, 3, 130, 4)
        q[0, 0, 1, 0] = math.nan
        out, lse, *_ = computed(chain, q, k, v, do)
        self.assertEqual([x.isnan().any().item() for x in (out[0, 0, 0], out[0, 0, 2], lse[0, 0, ::2])], [False] * 3)
        self.assertTrue(out[0, 0, 1].isnan().all() and lse[0, 0, 1].isnan())

    def test_dropout_is_refused_in_a_line(self):
        q, k, v, do = inputs(torch.float16, 3, 5, 4)
        given = {"dropout_p": 0.5, "is_causal": False, "attn_mask": None, "scale": None}
        for call in (lambda: attention_products.flash_forward(chain, q, k, v, **given),
                     lambda: attention_products.flash_backward(chain, do, q, k, v, q, q[..., 0].float(), **given)):
            with self.assertRaisesRegex(NotImplementedError, r"\Aattention with dropout_p=0.5: [^\n]+\Z"):
                call()


@unittest.skipUnless(HAS_OP, "this torch has no flash attention on the CPU")
class TorchsOp(CliCase):
    def both(self, tensors, causal=False, mask=None, scale=None):
        """Ours and torch's: (out, logsumexp, dQ, dK, dV) each."""
        q, k, v, do = tensors
        options = {"attn_mask": mask, "scale": scale}
        out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, **options)
        grads = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(do, q, k, v, out, lse, 0.0, causal, **options)
        return computed(exact, *tensors, causal, mask, scale), (out, lse, *grads)

    def alike(self, tensors, **options):
        # Sanity only, in the dtype's digits: torch's op has other tiles, sums and roundings.
        for x, y in zip(*self.both(tensors, **options)):
            self.assertEqual((x.shape, x.stride(), x.dtype), (y.shape, y.stride(), y.dtype))
            torch.testing.assert_close(x, y, rtol=2.0**-6, atol=2.0**-6)

    def test_shapes_layouts_and_values(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            for causal in (False, True):
                self.alike(inputs(dtype, 20, 150, 16, heads=3, batch=2), causal=causal)
                self.alike(inputs(dtype, 1, 150, 16, heads=3), causal=causal, scale=0.2)
                self.alike(inputs(dtype, 9, 7, 5, heads=4, kv_heads=2), causal=causal)
            mask = numbers(6, 20, 150, dtype=dtype)
            self.alike(inputs(dtype, 20, 150, 16, heads=3, batch=2), mask=mask)
            self.alike(inputs(dtype, 20, 150, 16, heads=3, batch=2), mask=mask, causal=True)

    def test_layouts_of_what_is_given(self):
        q, k, v, do = inputs(torch.float16, 20, 30, 8, heads=3, batch=2)
        for order in ((0, 2, 1, 3), (2, 0, 1, 3)):
            back = sorted(range(4), key=order.__getitem__)
            self.alike(tuple(x.permute(order).contiguous().permute(back) for x in (q, k, v, do)))
        self.alike((q[:1, :1].expand(q.shape), k, v, do[:1, :1, :1, :1].expand(q.shape)))  # as sum().backward() gives dO
        self.alike((q[..., :4], k[..., :4], v[..., 4:], do[..., 4:]))

    def test_rows_of_which_all_is_hidden(self):
        tensors, hides = inputs(torch.float32, 5, 140, 4), hidden(5, 140)
        hides[2] = True
        ours, torchs = self.both(tensors, mask=torch.zeros(5, 140).masked_fill(hides, -math.inf))
        for x, y in zip(ours[:3], torchs[:3]):
            self.assertTrue(torch.equal(x[0, 0, 2], y[0, 0, 2]))
        self.alike(tensors, mask=torch.zeros(5, 140).masked_fill(hides, -math.inf))


if __name__ == "__main__":
    main()
