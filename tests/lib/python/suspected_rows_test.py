# SPDX-License-Identifier: Apache-2.0
"""identify_scales() on rows, columns and blocks that are in other places than their numbers.

    python suspected_rows_test.py BINADE
"""

import numpy as np

import binade
from cli_case import main
from made_scales import F, Supposes, e4m3, found, numbers, packed, quantized


class SuspectedRows(Supposes):
    def test_scales_of_the_previous_block_where_samples_might_be_starts_of_rows(self):
        x = numbers((128, 256), 19)
        codes, scales, tensor = quantized(x, "nvfp4", "te")
        moved = scales.copy()
        moved[:, 1:] = scales[:, :-1]
        equal = int((np.append(scales.reshape(-1)[0], scales.reshape(-1)[:-1]) == moved.reshape(-1))[1:].sum())
        self.supposes(x, packed(codes), moved, tensor, "scales", r"of the previous block \(nvfp4 along axis 1, row_major\)", equal)
        wrong = scales.copy()
        wrong[:, 0] += 2
        told, text = found(x, packed(codes), wrong, tensor)
        self.assertEqual((told["nearest"][0]["rules"][0], told["nearest"][0]["codes"]["equal"]), ("te", x.size), text)

    def test_rows_that_are_moved(self):
        x = numbers((24, 256), 25)
        for name, rule in (("nvfp4", "te"), ("mxfp8_e4m3", "te"), ("fp8_1x128", "vllm")):
            codes, scales, tensor = quantized(x, name, rule)
            held = packed(codes) if name == "nvfp4" else codes
            for by, words in ((1, "1 row before"), (-3, "3 rows behind")):
                moved = np.roll(held, by, 0), np.roll(scales, by, 0), tensor
                for what in ("scales", "codes"):
                    self.supposes(x, *moved, what, f"each row is that of the numbers {words}")
            self.supposes(x, np.roll(held, 1, 0), scales, tensor, "codes", "whatever is stored, each row is that of the numbers 1 row before")
            self.supposes(x, held, np.roll(scales, 1, 0), tensor, "scales", "each block has the scale of the previous row", scales.size - scales.shape[1])

    def test_rows_in_another_order(self):
        x = numbers((24, 128), 31)
        rng = np.random.default_rng(32)
        for name, rule in (("nvfp4", "te"), ("mxfp8_e4m3", "te"), ("fp8_1x128", "vllm")):
            codes, scales, tensor = quantized(x, name, rule)
            held = packed(codes) if name == "nvfp4" else codes
            for order, words in ((np.arange(24).reshape(2, 12).T.reshape(-1), "rows interleaved, one of each of 2 parts in turn"),
                                 (np.arange(24)[::-1], "rows in reverse order"),
                                 (mixed := rng.permutation(24), f"row 0 is that of the numbers' row {mixed[0]}, row 1 is that of the numbers' row {mixed[1]}")):
                for what in ("scales", "codes"):
                    self.supposes(x, held[order].copy(), scales[order].copy(), tensor, what, words)
            self.supposes(x, held[mixed].copy(), scales, tensor, "codes", f"whatever is stored, rows in another order: row 0 is that of the numbers' row {mixed[0]}")
            self.supposes(x, held, scales[mixed].copy(), tensor, "scales", f"row 0 is that of the numbers' row {mixed[0]}.* …, of scales alone")
            cut = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(F)
            codes, scales, tensor = quantized(cut, name, rule)
            for what in ("scales", "codes") if name == "fp8_1x128" else ("codes",):
                self.supposes(x, packed(codes) if name == "nvfp4" else codes, scales, tensor, what, "numbers cut off to bfloat16 first")

    def test_rows_and_columns_that_nobody_wrote(self):
        for name, rule in (("mxfp8_e4m3", "te"), ("mxfp4", "torchao_even"), ("nvfp4", "te")):
            codes, scales, tensor = quantized(x := numbers((48, 256), 36), name, rule)
            stored = packed if name != "mxfp8_e4m3" else np.asarray
            tail, columns, unscaled = codes.copy(), codes.copy(), scales.copy()
            tail[40:], columns[:, 250:], unscaled[40:] = 0, 5, 0
            self.supposes(x, stored(tail), scales, tensor, "codes", "and rows 40..47 of codes are all 0+, as if nobody had written them")
            self.supposes(x, stored(columns), scales, tensor, "codes", "and columns 250..255 of codes are all 0*5, whatever their numbers")
            self.supposes(x, stored(codes), unscaled, tensor, "scales", "rows 40..47 of scales are all 0+, as if nobody had written them")
        x = numbers((48, 256), 36)
        x[40:] = 0  # whose codes are zeros, as they should be
        codes, scales, tensor = quantized(x, "mxfp4", "torchao_even")
        self.assertNotEqual(found(x, packed(codes), scales, tensor)[0]["conclusion"], "none")

    def test_scales_of_another_axis_than_the_codes(self):
        for shape, name in (((64, 64), "nvfp4"), ((64, 128), "mxfp4")):
            x = numbers(shape, 33)
            rule = "te" if name == "nvfp4" else "torchao_rceil"
            codes, scales, tensor = quantized(x, name, rule)
            _, down, _ = quantized(x, name, rule, axis=0)
            for stored, order in ((down.reshape(scales.shape), "row_major"), (down.T.copy(), "row_major of the transpose")):
                self.supposes(x, packed(codes), stored, tensor, "scales",
                              f"the scales are of {name} along axis 0, {order}, the codes of {name} along axis 1")
                told = found(x, packed(codes), stored, tensor)[0]
                equal = [h["equal"] for h in told["hypotheses"] if h["what"] == "codes"]
                self.assertEqual(max([told["nearest"][0]["codes"]["equal"], *equal]), x.size)
        codes, scales, tensor = quantized(x := numbers((64, 64), 34), "nvfp4", "te")
        for stored in ((packed(codes.T.copy()), scales), (packed(codes), scales.T.copy())):
            self.assertEqual(found(x, *stored, tensor)[0]["conclusion"], "several")
        # Under the scales that are stored, each of another block down columns.
        tiny = quantized(numbers((32, 64), 35), "mxfp8_e4m3", "te", axis=0)[1].reshape(32, 2)
        x = numbers((32, 64), 35)
        under = e4m3(x.reshape(32, 2, 32) * np.ldexp(F(1), 127 - tiny.astype(int))[..., None].astype(F)).reshape(x.shape)
        self.supposes(x, under, tiny, None, "scales", "the scales are of mxfp8_e4m3 along axis 0, row_major, the codes of mxfp8_e4m3 along axis 1")

    def test_one_wrong_scale_is_no_other_row(self):
        x = numbers((96, 256), 41)
        codes, scales, _ = binade.encode(x, "mxfp8_e4m3", scale_rule="torchao_floor")
        scales = np.asarray(scales).view(np.uint8).copy()
        row = scales[7].copy()
        scales[7, 3] += 1
        scales[50] = scales[7]  # another row that is alike
        codes = np.asarray(codes).view(np.uint8)
        self.assertNotRegex(found(x, codes, scales)[1], r"those\s+of\s+row")
        scales[7], scales[50] = row, row
        self.assertRegex(found(x, codes, scales)[1], r"row 50 of\s+scales: those of row 7")

    def test_few_scales_of_few_values_are_no_neighbours(self):
        x = np.random.default_rng(60).standard_normal((16, 64)).astype(F)
        x[:, :32] *= np.exp2(np.arange(16) % 2)[:, None].astype(F)
        codes, scales, _ = quantized(x, "mxfp8_e4m3", "te")
        turned = scales.copy()
        turned[13:15] = turned[13:15, ::-1]
        self.assertGreater((turned != scales).sum(), 1)
        self.assertNotRegex(found(x, codes, turned)[1], r"(next|previous)\s+block")

    def test_rows_from_one_on(self):
        x = numbers((48, 256), 54)
        codes, scales, _ = quantized(x, "mxfp8_e4m3", "te")
        for by, first in ((1, 17), (-1, 17), (1, 3), (-2, 40)):
            order = np.arange(48)
            order[first:] = np.clip(order[first:] - by, 0, 47) if by > 0 else np.roll(order[first:], by)
            words = rf"from row {first} on each row is that of the numbers {abs(by)} rows? {'before' if by > 0 else 'behind'}"
            for what in ("scales", "codes"):
                self.supposes(x, codes[order].copy(), scales[order].copy(), None, what, words)
            self.supposes(x, codes[order].copy(), scales, None, "codes", f"whatever is stored, {words}")
            told, text = found(x, codes, scales[order].copy())
            self.assertRegex(told["hypotheses"][0]["words"], "from row .* of scales alone", text)

    def test_columns_and_tensors_of_a_stack_in_another_order(self):
        x = numbers((96, 128), 55)
        rng = np.random.default_rng(56)
        for order, words in ((mixed := rng.permutation(128), f"columns in another order: column 0 is that of the numbers' column {mixed[0]}, "),
                             (np.roll(np.arange(128), 2), "each column is that of the numbers 2 columns before")):
            for name in ("nvfp4", "mxfp8_e4m3") if order is mixed else ("mxfp8_e4m3",):
                codes, scales, tensor = quantized(np.ascontiguousarray(x[:, order]), name, "te")
                told, text = found(x, packed(codes) if name == "nvfp4" else codes, scales, tensor)
                for what in ("scales", "codes"):
                    first = next(h for h in told["hypotheses"] if h["what"] == what)
                    self.assertIn(words, first["words"])
                    self.assertEqual(first["equal"], first["of"], text)
        codes, scales, _ = quantized(x, "mxfp8_e4m3", "te")
        each, order = (4, 24), [2, 0, 1, 3]
        for what in ("scales", "codes"):
            self.supposes(x.reshape(*each, 128), codes.reshape(*each, 128)[order].copy(), scales.reshape(*each, 4)[order].copy(), None, what,
                          "tensors along axis 0 in another order: 0 is that of the numbers' 2, 1 is that of the numbers' 0, 2 is that of the numbers' 1")

    def test_scales_of_a_rule_need_no_change(self):
        # torchao_ceil's, halved, are these, too.
        x = np.random.default_rng(101).standard_t(2, (96, 256)).astype(F)
        down = quantized(x, "mxfp8_e4m3", "torchao_floor", axis=0)[1].reshape(96, 8)
        codes = e4m3(x.reshape(96, 8, 32) * np.ldexp(F(1), 127 - down.astype(int))[..., None].astype(F)).reshape(x.shape)
        self.supposes(x, codes, down, None, "scales", "the scales are of mxfp8_e4m3 along axis 0, row_major, the codes of mxfp8_e4m3 along axis 1")
        for seed in (57, 58):
            x = np.random.default_rng(seed).standard_normal((64, 128)).astype(F)
            codes = packed(quantized(x, "mxfp4", "torchao_floor")[0])
            _, down, _ = quantized(x, "mxfp4", "torchao_floor", axis=0)
            for stored in (down, down.reshape(64, 4), down.T.copy()):
                for h in found(x, codes, stored)[0]["hypotheses"]:
                    self.assertNotRegex(h["words"], "times 2|for codes of")
                self.supposes(x, codes, stored, None, "scales", "the scales are of mxfp4 along axis 0, .*, the codes of mxfp4 along axis 1")


if __name__ == "__main__":
    main()
