# SPDX-License-Identifier: Apache-2.0
"""Every scale rule of the table, for every format of elements that it fits, against tests/oracle/block_rules.py, which was
written from the sources of the stacks: the scale, the codes, and the scale of the tensor, of blocks that hurt and of others.
Arrays of finite blocks are held to tests/oracle/block_rules_numpy.py: a few, and with --whole 10^8, and every amax of bfloat16
and of binary16 with three numbers below it, and, for scales of e8m0 and of binary32, each of the 2^23 significands of binary32 at one
exponent. --whole adds each seventh of these amaxes in rationals, and of these significands each 509th and those within 24 units of a
multiple of 1/128, of m of the elements and of a tie of theirs.

    python block_rules_test.py BINADE [--whole]
"""

import importlib.util
import random
import sys
import unittest

import numpy as np

import binade
from cli_case import main
from oracle import block_rules as oracle
from oracle.block_rules import ELEMENTS, INF, LARGEST, NAN, ONE, SIGN, number, of, power

WHOLE = "--whole" in sys.argv
if WHOLE:
    sys.argv.remove("--whole")

ROWS = [(row["name"], row["scale"], row["tensor_scale"], element)
        for row in binade.scale_rules() for element in row["elements"] or ELEMENTS]
# Rules that compute in the dtype of their input, by what the table says of them, and the formats of their scales.
BY_DTYPE = {row["name"]: (row["scale"], row["tensor_scale"]) for row in binade.scale_rules() if "the dtype of x" in row["scale_step"]}
FITTING = {}  # (scale, tensor scale, element) → names of the rules, which are all
for name_, *format_ in ROWS:
    FITTING.setdefault(tuple(format_), []).append(name_)


def literal(bits):
    return f"binary32:0x{bits:08x}"


def drawn(rng, count, binades=12):
    """Numbers within some binades below a drawn one."""
    top = rng.choice([rng.randrange(1, 255), rng.randrange(100, 150), 127])
    return [rng.randrange(2) << 31 | max(top - rng.randrange(binades), 0) << 23 | rng.randrange(1 << 23) for _ in range(count)]


def under(amax):
    """A block of that amax: other significands below it, and a zero."""
    return [amax, max(amax - 0x00555555, 0) | SIGN, max(amax - 0x01234567, 0), SIGN]


def middles_of(element):
    return [(a + b) / 2 for a, b in zip(element.magnitudes, element.magnitudes[1:])]


def around_middles(element):
    """Blocks of amax m, under which scales are 1: a bit below each tie of the elements, the tie, and a bit above."""
    middles = [of(x) for x in middles_of(element)]
    for at in range(0, len(middles), 5):
        block = [element.max]
        for i, x in enumerate(middles[at:at + 5]):
            block += [x + step | SIGN * (i % 2) for step in (-1, 0, 1)]
        yield block


def hostile(element):
    """Blocks that hurt."""
    yield from ([0] * 4, [SIGN] * 4, [0, SIGN])
    for x in (1, 2, 3, 4, 5, 7, 0x3FFFFF, 0x400000, 0x400001, 0x600000, 0x7FFFFF):
        yield [0, x | SIGN, 0]  # a subnormal number alone
    for field in (1, 2, 3, 7, 8, 9, 15, 100, 127, 238, 246, 253, 254):  # powers of two; scales that under- or overflow
        yield from (under((field << 23) + step) for step in (-1, 0, 1))
    for field in (1, 63, 191, 254):  # where log2 in binary32 is that of the power itself
        yield from (under((field << 23) + step) for step in (2, 11, 22, 23, 24))
    for field in (2, 3, 120, 254):  # ties of amax rounded to the elements' precision, and m with what its reciprocal loses
        for fraction in (0x600000, 0x700000, 0x780000, element.max & oracle.FRACTION):
            yield from (under((field << 23) + fraction + step) for step in (-1, 0, 1))
    for field in (20, 66):  # where log2 turns between amax / m and amax · (1/m)
        yield from (under((field << 23 | element.max & oracle.FRACTION) + step) for step in (17, 39, 42))
    for floor in ("1e-4", "1e-8", "1e-10", "1e-12"):  # least amax
        yield from (under(of(floor) + step) for step in (-1, 0, 1))
    for x in (oracle.div(element.max, LARGEST), oracle.mul(of("1e-10"), element.max)):  # m/amax that just overflows
        yield from (under(x + step) for step in (-1, 0, 1))
    yield from ([x, *[LARGEST - 1] * 2, ONE, SIGN] for x in (LARGEST, INF, SIGN | INF, NAN, SIGN | NAN))
    yield from ([NAN] * 3, [INF, NAN, ONE], [ONE, INF | SIGN, INF, SIGN | 1], [0, NAN, 1])


# Of a tensor: no more than the block's; far larger, under which scales are subnormal or 0; the extremes; no number.
TENSOR_AMAXES = [0, 0x45280000, 0x4F000000, 0x38800000, LARGEST, 0, 1, 0x00800000, 0x7E800000, INF, NAN]


def near_scale_ties(rng):
    """Blocks and an amax of the tensor under which the scale is at a tie of E4M3, and a bit beside: exactly, under 2688, and
    as the orders of multiplications and divisions round, under others."""
    pairs = list(zip(oracle.E4M3.magnitudes, oracle.E4M3.magnitudes[1:]))
    for a, b in pairs[:20] + pairs[-3:]:
        for tensor_amax, m_c in ((of(2688), 2688), (0x40000000 | rng.randrange(1 << 23), rng.choice([2688, 2688, 1536]))):
            amax = of(3 * (a + b) * number(tensor_amax) / m_c)
            yield from ((under(amax + step), tensor_amax) for step in (-1, 0, 1))


def beside_ties(name, key, rng):
    """A block and an amax of the tensor under which elements are at ties for the rule's own scale, as its operations round."""
    scale, tensor, element = key
    amax, tensor_amax = (rng.randrange(100, 130) << 23 | rng.randrange(1 << 23) for _ in range(2))
    tensor_amax = max(amax, tensor_amax)
    stored = oracle.RULES[name, *key]([amax], element, tensor_amax).scale
    unit = number(stored) if scale == "binary32" else oracle.E4M3.magnitudes[stored]
    if tensor:
        unit *= number(tensor_amax) / (1536 if "4over6" in name and "448" not in name else 2688)
    chosen = (of(rng.choice(middles_of(ELEMENTS[element])) * unit) + rng.choice([-1, 0, 1]) for _ in range(15))
    return [amax, *(x for x in chosen if 0 < x < amax)], tensor_amax


def where_decision_turns(name, rng, count):
    """Two blocks, of a tensor of amax 64, that differ in a bit, at which the rule's choice among two scales turns, as sums
    round: on the way from a block with one choice to a block with the other, number by number."""
    first = 0x40800000 | rng.randrange(1 << 22)

    def drawn_block(divisor):  # near the numbers that a scale has under which the first becomes 6 or 4
        return [first] + [SIGN * (i % 2) | of(number(first) / divisor * rng.choice([1, 2, 3])) + rng.randrange(1 << 18)
                          for i in range(count - 1)]

    def decided(block):
        return oracle.RULES[name, "ue4m3", True, "e2m1"](block, "e2m1", of(64)).scale

    def turn(low, high, block):
        at_low = decided(block(low))
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if decided(block(middle)) == at_low else (low, middle)
        return low, high

    drawn_ends = ((drawn_block(6), drawn_block(4)) for _ in range(100))
    start, end = next(ends for ends in drawn_ends if decided(ends[0]) != decided(ends[1]))
    n, _ = turn(0, count, lambda n: end[:n] + start[n:])
    low, high = turn(*sorted((start[n], end[n])), lambda bits: end[:n] + [bits] + start[n + 1:])
    return [end[:n] + [bits] + start[n + 1:] for bits in (low, high)]


# Of the scale of the tensor, S: 1/S is subnormal, and so are codes of scales times a normal 1/S.
SUBNORMAL_RECIPROCALS = [(under(oracle.mul(of(2688), power(-127))), 0), (under(power(-123)), oracle.mul(of(2688), power(-118)))]


def by_dtype(key):
    """The rules for a format that depend on the dtype of their input."""
    return [name for name in FITTING[key] if BY_DTYPE.get(name) == key[:2]]


def as_dtype(dtype, block):
    return [oracle.held(oracle.DTYPES[dtype], x & oracle.MAGNITUDE) | x & SIGN for x in block]


class BlockCase(unittest.TestCase):
    def check(self, key, block, tensor_amax=0, shape="1x16", dtype="binary32"):
        """Holds all rules for a format to the oracle, and returns the oracle's results by name."""
        scale, tensor, element = key
        spec = "mxint8" if ELEMENTS[element].integer else f"{element}:scale={scale}" + (":tensor=yes" if tensor else "")
        spec += f":block={shape}"
        numbers = [literal(x) for x in block]
        tensor_amax = max(tensor_amax, oracle.amax_skipped(block))
        given = {"tensor_amax": literal(tensor_amax) if tensor else None, "dtype": dtype}
        shown = binade.show_block(numbers, spec, scale_rule="all", **given)
        wanted = {}
        for outcome in shown.to_dict()["outcomes"]:
            codes, stored = [int(x, 16) for x in outcome["codes"]], int(outcome["scale"], 16)
            for name in (one["name"] for one in outcome["rules"]):
                want = wanted[name] = oracle.RULES[name, *key](block, element, tensor_amax, dtype)
                wrong = []
                both_nan = scale == "binary32" and oracle.is_nan(stored) and oracle.is_nan(want.scale)
                if want.scale not in (None, stored) and not both_nan:
                    wrong.append(f"scale {stored:X}, not {want.scale:X}")
                if want.tensor is not None:  # an outcome has that of its first rule
                    alone = binade.show_block(numbers, spec, scale_rule=name, **given).to_dict()
                    over = int(alone["outcomes"][0]["tensor_scale"], 16)
                    if over != want.tensor:
                        wrong.append(f"scale of the tensor {over:08X}, not {want.tensor:08X}")
                for x, got, right in zip(block, codes, want.codes, strict=True):
                    if right != got and right is not None and not (isinstance(right, tuple) and got in right):
                        wrong.append(f"code of {x:08x} {got:X}, not {right if isinstance(right, tuple) else f'{right:X}'}")
                if wrong:
                    over = f" --tensor-amax {literal(tensor_amax)}" if tensor else ""
                    self.fail(f"{name}: {'; '.join(wrong[:4])}; amax {shown.to_dict()['amax']}; see\n"
                              f"  binade show --block '{' '.join(numbers)}' --format {spec} --scale-rule {name}{over} --dtype {dtype}")
        self.assertEqual(sorted(wanted), sorted(FITTING[key]))
        return wanted


class BlockRules(BlockCase):
    def test_numbers_in_an_array_and_what_is_no_text(self):
        x = np.float32([[0.1, -3], [7, 1]])
        self.assertEqual(str(binade.show_block(x, "mxfp4")), str(binade.show_block(x.reshape(-1).tolist(), "mxfp4")))
        for words, call in (("scale_rule: text is wanted, not list", lambda: binade.encode(x, "mxfp4", scale_rule=["ocp"])),
                            ("scale_rule: text is wanted, not int", lambda: binade.show_block(x, "mxfp4", scale_rule=["ocp", 3])),
                            ("format: text is wanted, not list", lambda: binade.show_block(x, ["mxfp4"])),
                            ("a number is wanted, not dict", lambda: binade.show_block([{}], "mxfp4"))):
            with self.assertRaisesRegex(TypeError, words):
                call()

    def test_every_rule_of_the_table_has_an_oracle(self):
        for row in ROWS:
            self.assertTrue(row in oracle.RULES, f"rule {row[0]} of the table has no oracle for {' '.join(map(str, row[1:]))}")
        for row in oracle.RULES:
            self.assertTrue(row in ROWS, f"rule {row[0]} of the oracle is not in the table")

    def test_blocks_are_as_the_sources_say(self):
        rng = random.Random(1)
        for key in FITTING:
            scale, tensor, name = key
            element, stored, seen, ties, nans = ELEMENTS[name], set(), set(), 0, 0
            with self.subTest(key):
                blocks = [(x, TENSOR_AMAXES[i % len(TENSOR_AMAXES)]) for i, x in enumerate(hostile(element))]
                blocks += [(drawn(rng, 16), rng.choice(TENSOR_AMAXES)) for _ in range(4)]
                if scale == "ue4m3":
                    blocks += [*near_scale_ties(rng), *SUBNORMAL_RECIPROCALS]
                if scale != "e8m0":
                    blocks += [beside_ties(rule, key, rng) for rule in FITTING[key] for _ in range(3)]
                for block, tensor_amax in blocks:
                    for want in self.check(key, block, tensor_amax).values():
                        stored.add(want.scale)
                        seen.update(code for code in want.codes if isinstance(code, int))
                        nans += any(map(oracle.is_nan, block)) or any(isinstance(code, tuple) for code in want.codes)
                for block in around_middles(element):
                    for want in self.check(key, block).values():
                        seen.update(want.codes)
                        ties += sum(want.codes[i] != want.codes[i + 2] for i in range(1, len(block), 3))
                # That the blocks held what they are for: ties, each magnitude, NaN, and scales at both ends.
                self.assertGreaterEqual(ties, element.last)
                magnitudes = {-code & 0xFF if element.integer and code & 0x80 else code & element.sign - 1 for code in seen}
                self.assertEqual(magnitudes, set(range(element.last + 1)) | magnitudes & set(element.nans))
                self.assertGreaterEqual(nans, 5)
                if scale == "e8m0":
                    self.assertTrue({0, 1} & stored and {253, 254, 255} & stored, stored)
                elif scale == "ue4m3":
                    self.assertTrue({0, 8} & stored and {0x7E, 0x7F} <= stored, stored)
                else:
                    self.assertGreater(len(stored), 40)

    def test_steps_in_the_dtype_of_the_input_are_as_the_sources_say(self):
        rng, turned = random.Random(3), {}
        for key in FITTING:
            names, element = by_dtype(key), ELEMENTS[key[2]]
            for dtype in ("bfloat16", "binary16") if names else ():
                with self.subTest((key, dtype)):
                    blocks = [(x, TENSOR_AMAXES[i % len(TENSOR_AMAXES)]) for i, x in enumerate(hostile(element))]
                    blocks += [(drawn(rng, 16), rng.choice(TENSOR_AMAXES)) for _ in range(4)]
                    blocks += near_scale_ties(rng) if key[1] else []
                    for block, tensor_amax in blocks:
                        block, (tensor_amax,) = as_dtype(dtype, block), as_dtype(dtype, [tensor_amax])
                        found = self.check(key, block, tensor_amax, dtype=dtype)
                        for name in names:
                            one = oracle.RULES[name, *key](block, key[2], max(tensor_amax, oracle.amax_skipped(block)))
                            turned[name] = turned.get(name, 0) + (found[name] != one)
        # That the dtype mattered; of te, only where m / amax is infinite.
        self.assertEqual(turned.keys(), BY_DTYPE.keys())
        self.assertTrue(all(turned.values()), turned)

    def test_choices_among_two_scales_are_those_of_sums_in_binary32(self):
        rng, key = random.Random(2), ("ue4m3", True, "e2m1")
        for name in FITTING[key]:
            if name.startswith("te_4over6"):
                for low, high in [where_decision_turns(name, rng, 16) for _ in range(2)]:
                    self.assertNotEqual(self.check(key, low, of(64))[name].scale, self.check(key, high, of(64))[name].scale)
        for block in where_decision_turns("te_4over6", rng, 256):  # the sums of 16 rows, as a tree
            self.check(key, block, of(64), "16x16")


@unittest.skipUnless(importlib.util.find_spec("ml_dtypes"), "needs NumPy and ml_dtypes")
class Arrays(unittest.TestCase):
    def cases(self):
        """Rows with the dtypes on which they depend."""
        return [(row, dtype) for row in ROWS for dtype in oracle.DTYPES if dtype == "binary32" or row[0] in by_dtype(row[1:])]

    def compare(self, row, dtype, blocks, tensor_amax):
        """Holds all scales and codes of finite blocks, float32 that the dtype has, to NumPy's."""
        import numpy as np
        from oracle import block_rules_numpy as reference
        name, scale, tensor, element = row
        size = blocks.shape[1]
        spec = "mxint8" if ELEMENTS[element].integer else f"{element}:scale={scale}" + (":tensor=yes" if tensor else "")
        spec += f":block=1x{size}"
        want_scales, want = reference.quantized(name, scale, tensor, element, blocks, tensor_amax, dtype)
        given = {"tensor_amax": float(tensor_amax)} if tensor else {}
        codes, scales, _ = binade.encode(blocks.astype(reference.DTYPES[dtype]), spec, scale_rule=name, **given)
        stored = scales.reshape(-1).view(np.uint32 if scale == "binary32" else np.uint8)
        wrong = np.flatnonzero((stored != want_scales) | ((codes != want) & (want >= 0)).any(axis=1))
        if len(wrong):
            at = wrong[0]
            numbers = " ".join(literal(int(x)) for x in blocks[at].view(np.uint32))
            self.fail(f"{name}: {len(wrong)} of {len(blocks)} blocks; scale {stored[at]:X}, not {int(want_scales[at]):X}; codes {codes[at]}, "
                      f"not {want[at]}; see\n  binade show --block '{numbers}' --format {spec} --scale-rule {name} --dtype {dtype}"
                      + (f" --tensor-amax {float(tensor_amax)}" if tensor else ""))
        return len(blocks)

    def test_blocks_of_many_binades_are_as_numpy_computes_them(self):
        """10^8 with --whole, else a few of each rule."""
        import numpy as np
        from oracle.block_rules_numpy import held
        count, size, rng, checked = (16384 if WHOLE else 1024), 8, np.random.default_rng(4), 0
        rounds = -(-102 * 10 ** 6 // (len(self.cases()) * count)) if WHOLE else 1
        for row, dtype in self.cases():
            with self.subTest((row, dtype)):
                for i in range(rounds):
                    lowest, highest = (-14, 14) if dtype == "binary16" else (-140, 120) if i % 4 == 3 else (-30, 30)
                    binades = rng.integers(lowest, highest, (count, 1)) + rng.integers(-8, 1, (count, size))
                    x = np.ldexp(rng.uniform(1, 2, (count, size)) * rng.choice([-1, 1], (count, size)), binades).astype(np.float32)
                    x = held(dtype, x)
                    x = x[np.isfinite(x).all(axis=1)]
                    most = np.abs(x).max() * np.float32(1 if dtype != "binary32" else rng.choice([1, 1, 1.25]))
                    checked += self.compare(row, dtype, x, min(most, np.finfo(np.float32).max))
        if WHOLE:
            self.assertGreaterEqual(checked, 10 ** 8)
            print(f"{checked:,} blocks of {size}", file=sys.stderr)

    @unittest.skipUnless(WHOLE, "takes a minute; --whole")
    def test_every_amax_of_16_bits_is_as_numpy_computes_it(self):
        import numpy as np
        from oracle.block_rules_numpy import held
        for row, dtype in self.cases():
            every = {"bfloat16": [(np.arange(1, 0x7F80, dtype=np.uint32) << 16).view(np.float32)],
                     "binary16": [np.arange(1, 0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)]}
            with self.subTest((row, dtype)):
                for (amaxes,) in every.values() if dtype == "binary32" else [every[dtype]]:
                    # Under scales of the tensor that fit them, and other ones.
                    for part in np.array_split(amaxes, 64 if row[2] else 1):
                        bits = part.view(np.uint32)
                        below = [np.maximum(bits, step) - np.uint32(step) for step in (0x00555555, 0x01234567)]
                        block = np.stack([part, -below[0].view(np.float32), below[1].view(np.float32), -0 * part], axis=1)
                        for more in (1, 1.75, 64) if row[2] else (1,):
                            most = held(dtype, np.minimum(part.max() * np.float32(more), np.finfo(np.float32).max))
                            if np.isfinite(most):
                                self.compare(row, dtype, held(dtype, block), most)

    @unittest.skipUnless(WHOLE, "takes minutes; --whole")
    def test_every_significand_under_powers_of_two_is_as_numpy_computes_it(self):
        import numpy as np
        for row, dtype in self.cases():
            if row[1] == "ue4m3" or dtype != "binary32":
                continue
            with self.subTest(row):
                for first in range(0, 1 << 23, 1 << 20):
                    numbers = np.arange(0x45000000 + first, 0x45000000 + first + (1 << 20), dtype=np.uint32)
                    self.compare(row, dtype, numbers.view(np.float32)[:, None], np.float32(8192))


@unittest.skipUnless(WHOLE, "takes minutes; --whole")
class Whole(BlockCase):
    def test_amaxes_of_16_bits(self):
        """Each seventh; Arrays has them all."""
        bfloat16 = [x << 16 for x in range(1, 0x7F81)][::7]
        binary16 = [of(((x & 0x3FF) + (0x400 if x >= 0x400 else 0)) * 2.0 ** (max(x >> 10, 1) - 25)) for x in range(1, 0x7C00, 7)]
        for key in FITTING:
            with self.subTest(key):
                for dtype, amaxes in (("binary32", sorted({*bfloat16, *binary16})), ("bfloat16", bfloat16), ("binary16", binary16)):
                    for i, amax in enumerate(amaxes if dtype == "binary32" or by_dtype(key) else ()):
                        tensor_amax, = as_dtype(dtype, [TENSOR_AMAXES[i % len(TENSOR_AMAXES)]])
                        self.check(key, as_dtype(dtype, under(amax)), tensor_amax, dtype=dtype)

    def test_significands_of_binary32_under_powers_of_two(self):
        for key in FITTING:
            if key[0] == "ue4m3":
                continue
            element = ELEMENTS[key[2]]
            middles = [of(x) for x in middles_of(element)]
            special = [*range(0, 1 << 23, 1 << 16), element.max, element.reciprocal, *middles]
            near = {x + step & oracle.FRACTION for x in special for step in range(-24, 25)}
            with self.subTest(key):
                for fraction in sorted(near | set(range(0, 1 << 23, 509))):
                    self.check(key, [0x45000000 | fraction])


if __name__ == "__main__":
    main()
