# SPDX-License-Identifier: Apache-2.0
#
# Misuse of the module: arguments of every wrong kind, results that overwrite operands, objects that were never initialised.
#   abuse_test.py BINADE

import copy
import functools
import gc
import pickle
import sys
import threading
import time
import unittest
import weakref
from decimal import Decimal
from fractions import Fraction

import numpy as np
from child import child

import binade

X = np.float32([1, 2, 3])
PRODUCT = {"instruction": "mma.m16n8k16.f32.f16.f16.f32", "arch": "sm_90"}


class Arguments(unittest.TestCase):
    def test_what_is_no_text_or_no_path_is_a_value_error_of_our_words(self):
        text = r"'(\\ud800|\\udcff)': a text with a surrogate, which UTF-8 does not have; correct it$"
        path = r"^'(a\\x00b|\\ud800)': no path has a NUL or a surrogate in it; correct the name$"
        for pattern, call in (
                (text, lambda: binade.report({"\udcff": X})), (text, lambda: binade.report([("\ud800", X)])),
                (text, lambda: binade.report(X, formats="\udcff")), (text, lambda: binade.quantize(X, "\udcff")),
                (text, lambda: binade.quantize(X, "e4m3", rounding="\udcff")), (text, lambda: binade.Format("\udcff")),
                (text, lambda: binade.arith("\udcff", X, X, format="e4m3")), (text, lambda: binade.show("\ud800", "e4m3")),
                (text, lambda: binade.train({"\udcff": 1})), (text, lambda: binade.autocast("\udcff")),
                (path, lambda: binade.report("a\0b")), (path, lambda: binade.report(["a\0b"])),
                (path, lambda: binade.report("\ud800")), (path, lambda: binade.main(["report", "a\0b"])),
                (path, lambda: binade.report({"a": X}).save("a\0b")), (path, lambda: binade.sweep("a\0b", "x")),
                (path, lambda: binade.RangeSummary().add("a\0b"))):
            with self.subTest(pattern), self.assertRaisesRegex(ValueError, pattern) as raised:
                call()
            self.assertIs(type(raised.exception), ValueError)

    def test_refusals_are_one_line_of_the_right_kind(self):
        nested = {}
        nested["a"] = nested
        for kind, pattern, call in (
                (TypeError, r"^quantize\(\) has no argument 'a\\x1b\\u202e'; it has",
                 lambda: binade.quantize(X, "e4m3", **{"a\x1b\u202e": 1})),
                (TypeError, r"^quantize\(\) has no argument 'rouding'; did you mean 'rounding'\?$",
                 lambda: binade.quantize(X, "e4m3", rouding="rn")),
                (TypeError, r"^quantize\(\) takes 2 by place, x and format, not 3; give the others by name",
                 lambda: binade.quantize(X, "e4m3", "rn")),
                (TypeError, r"^quantize\(\): format is missing$", lambda: binade.quantize(X)),
                (TypeError, r"^quantize\(\): x is given twice$", lambda: binade.quantize(X, "e4m3", x=X)),
                (ValueError, "^seed -1: out of its range$", lambda: binade.quantize(X, "e4m3", seed=-1)),
                (ValueError, "^seed 18446744073709551616: out of its range$",
                 lambda: binade.quantize(X, "e4m3", seed=2**64)),
                (TypeError, "seed: a whole number is wanted, not str", lambda: binade.quantize(X, "e4m3", seed="7")),
                (TypeError, "random_bits: a whole number is wanted, not float32",
                 lambda: binade.quantize(X, "e4m3", random_bits=np.float32(8.9))),
                (TypeError, "headroom: a whole number is wanted, not Fraction",
                 lambda: binade.report({"a": X}, headroom=Fraction(7, 2))),
                (TypeError, "saturation: text is wanted, not bool", lambda: binade.quantize(X, "e4m3", saturation=True)),
                (TypeError, "counts: True or False is wanted, not int", lambda: binade.quantize(X, "e4m3", counts=1)),
                (TypeError, "source is None", lambda: binade.report(None)),
                (TypeError, r"^Format\(\): format is missing$", lambda: binade.Format()),
                (TypeError, "a format is wanted, a name such as", lambda: binade.quantize(X, 5)),
                (TypeError, "arguments: a list of text is wanted", lambda: binade.main("formats")),
                (TypeError, "settings: a dict is wanted", lambda: binade.train([1])),
                (TypeError, "^layers: a list of dicts", lambda: binade.advise(layers=[3])),
                (TypeError, "linear: text is wanted, not int", lambda: binade.advise(linear=5)),
                (TypeError, "ops: text is wanted, not int", lambda: binade.autocast(5)),
                (TypeError, "saturate: True or False", lambda: binade.GemmModel(**PRODUCT, saturate="no")),
                (TypeError, "recording: a file's name is wanted", lambda: binade.explain(recording=X)),
                (ValueError, "of dots; give them, or an element",
                 lambda: binade.explain(X, X, terms="1*1", element=(0, 0), **PRODUCT)),
                (ValueError, "alpha: an integer beyond", lambda: binade.GemmModel(**PRODUCT, alpha=10**400)),
                (RecursionError, "", lambda: binade.train(nested)),
                (ValueError, "growth_interval: a whole number below", lambda: binade.LossScaler("torch", growth_interval=1e300)),
                (ValueError, "did you mean torch.*adaptive", lambda: binade.LossScaler("torhc")),
                (TypeError, "a value of numpy.ndarray, which JSON", lambda: binade.train({"steps": np.array([1, 2])})),
                (TypeError, "masked array", lambda: binade.quantize(np.ma.masked_less(X, 2), "e4m3")),
                (ValueError, "words of the program", lambda: binade.GemmModel.__new__(binade.GemmModel).__setstate__("x")),
                (ValueError, "see binade architectures --arch sm_90|binade",
                 lambda: binade.gemm(X, X, instruction="mma.m1n1k1.f32.f16.f16.f32", arch="sm_90"))):
            with self.subTest(pattern):
                with self.assertRaisesRegex(kind, pattern) as raised:
                    call()
                self.assertNotIn("\n", str(raised.exception))

    def test_numbers_of_numpy_are_numbers(self):
        self.assertEqual(binade.LossScaler("torch", init_scale=np.float32(8)).scale, 8)
        self.assertEqual(binade.LossScaler("torch", init_scale=np.array(8.0)).scale, 8)
        self.assertEqual(binade.quantize(X, "e4m3", rounding="stochastic", seed=np.int64(3), counts=np.bool_(True))[1].values, 3)
        self.assertEqual(binade.show(np.int64(2**60 + 1), "binary64").to_dict(), binade.show(2**60 + 1, "binary64").to_dict())
        self.assertEqual(binade.show(10**30, "binary32").to_dict(), binade.show(str(10**30), "binary32").to_dict())

    def test_dtypes_are_formats(self):
        np.testing.assert_array_equal(binade.quantize(X / 3, np.float16), binade.quantize(X / 3, "binary16"))
        np.testing.assert_array_equal(binade.quantize(X / 3, np.dtype("f2")), binade.quantize(X / 3, "binary16"))

    def test_what_says_whether_a_gradient_overflowed(self):
        def stepped(seen):
            return binade.LossScaler("torch").update(seen)

        for no in (False, np.bool_(False), 0, np.array(False), np.int64(0), X, [X, None], (X,)):
            self.assertTrue(stepped(no), no)
        for yes in (True, np.bool_(True), 1, np.array(True), np.float32([np.inf]), [X, np.float32([np.nan])]):
            self.assertFalse(stepped(yes), yes)
        for neither in ("False", {"w": X}, 0.5, np.array(0.5, "f"), (x for x in [X]), None, 7):
            with self.assertRaises(TypeError):
                stepped(neither)

    def test_objects_that_were_never_made(self):
        class Forgets(binade.Format):
            def __init__(self, name):
                pass

        empty = binade.RangeSummary.__new__(binade.RangeSummary)
        for call in (lambda: binade.quantize(X, Forgets("x")), lambda: empty.add(X), lambda: binade.RangeSummary() == empty,
                     lambda: binade.report({"a": empty}), lambda: binade.RangeSummary.add(5, X),
                     lambda: binade.RangeSummary.__iadd__(5, binade.RangeSummary()),
                     lambda: binade.gemm(X, X, model=binade.GemmModel.__new__(binade.GemmModel))):
            with self.assertRaises(TypeError):
                call()

    def test_functions_are_pickled_by_name(self):
        again = pickle.loads(pickle.dumps(functools.partial(binade.quantize, format="e4m3")))
        np.testing.assert_array_equal(again(X / 3), binade.quantize(X / 3, "e4m3"))
        self.assertIs(copy.deepcopy(binade.report), binade.report)

    def test_counts(self):
        counts = binade.quantize(X, "e4m3", counts=True)[1]
        self.assertEqual(counts + counts, binade.quantize(np.tile(X, 2), "e4m3", counts=True)[1])
        with self.assertRaises(TypeError):
            hash(counts)
        with self.assertRaises(AttributeError):
            counts.values = 7

    def test_views_stay_small(self):
        many = binade.show([str(i) for i in range(400)], ["binary16", "e4m3", "e5m2"])
        a, b = np.random.default_rng(1).standard_normal((2, 64, 64)).astype("e")
        wrong = binade.validate(a, b, np.zeros((64, 64), "f"), show=4096, **PRODUCT)
        found = binade.identify(a[:2, :8], b[:8, :2], binade.gemm(a[:2, :8], b[:8, :2], **PRODUCT), all=True)
        for document in (many, wrong, found):
            self.assertLess(len(document._repr_html_()), 200_000)
            self.assertIn("print() tells all", document._repr_html_())

    def test_a_full_disk_leaves_the_old_file(self):
        status, told = child("""
            import resource, sys, pathlib, tempfile, numpy as np, binade
            account = binade.account(np.ones((2, 32), "e"), np.ones((32, 2), "e"),
                                     instruction="mma.m16n8k16.f32.f16.f16.f32", arch="sm_90")
            path = pathlib.Path(tempfile.mkdtemp()) / "x.json"
            path.write_text("old")
            import signal
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
            try:
                account.save(path)
            except OSError as error:
                print(path.read_text())
            """)
        self.assertEqual((status, told), (0, "old\n"))


class Memory(unittest.TestCase):
    def test_out_over_an_operand(self):
        rng = np.random.default_rng(1)

        def fresh(n=1 << 18):
            return rng.standard_normal(n).astype("f")

        def held(make, run):
            """run on memory of its own, and on memory that `out` lies across."""
            x = make()
            expected, given = run(x.copy(), None), x
            got = run(given, given)
            np.testing.assert_array_equal(got.view(f"u{got.itemsize}"), expected.view(f"u{expected.itemsize}"))

        held(fresh, lambda x, out: binade.quantize(x, "e5m7", out=out))
        held(fresh, lambda x, out: binade.quantize(x[:-1], "e5m7", out=None if out is None else out[1:]))
        held(fresh, lambda x, out: binade.quantize(x[1:], "e5m7", out=None if out is None else out[:-1]))
        held(fresh, lambda x, out: binade.arith("add", x, x[:1], format="e5m7", out=out))
        held(fresh, lambda x, out: binade.arith("sub", x[1:], x[:-1], format="e5m7", out=None if out is None else out[:-1]))
        held(fresh, lambda x, out: binade.encode(x, "e4m3", out=None if out is None else out.view("u1")[:x.size]))
        held(fresh, lambda x, out: binade.encode(x, "binary32", out=None if out is None else out.view("u4")))
        held(lambda: fresh().view("u1"), lambda x, out: binade.decode(
            x[:x.size // 4], "e4m3", out=None if out is None else out.view("f")))

class Objects(unittest.TestCase):
    def test_nothing_equals_none(self):
        for x in (binade.Format("e4m3"), binade.GemmModel(**PRODUCT), binade.Counts(), binade.LossScaler(),
                  binade.RangeSummary()):
            self.assertFalse(x == None)  # noqa: E711
            self.assertIn(x, [None, x])

    def test_a_dict_that_changes_while_it_is_read(self):
        status, told = child("""
            import binade
            class Number:
                def __index__(self):
                    settings.clear()
                    raise TypeError("no")
            for call in (binade.train, lambda s: binade.sweep(s, "/dev/null")):
                settings = {"workload": "digits_mlp", "steps": Number(), **{f"key{i}": "x" * i for i in range(40)}}
                try:
                    call(settings)
                except TypeError as error:
                    print(error)
            """, PYTHONMALLOC="debug")
        self.assertEqual((status, told), (0, "steps: a value of Number, which JSON does not have\n" * 2))

    def test_what_an_argument_raises_comes_through(self):
        class Raises:
            def __init__(self, error):
                self.error = error

            def __float__(self):
                raise self.error

        for error in (KeyboardInterrupt(), RuntimeError("of a device")):
            for call in (lambda x: binade.GemmModel(**PRODUCT, alpha=x), lambda x: binade.train({"lr": x}),
                         lambda x: binade.show(x, "e4m3")):
                with self.assertRaises(type(error)):
                    call(Raises(error))
        with self.assertRaisesRegex(TypeError, "^alpha: a number is wanted, not bool$"):
            binade.GemmModel(**PRODUCT, alpha=True)

    def test_a_refusal_inside_a_callback_is_its_own(self):
        def step(_):
            binade.Format("e4m3", "e5m2")

        with self.assertRaisesRegex(TypeError, r"^Format\(\) takes 1 by place"):
            binade.train({"workload": "digits_mlp", "steps": 1, "batch": 8}, on_step=step)

        def other(*_):
            raise TypeError("other(): incompatible function arguments. The following argument types are supported:")

        with self.assertRaisesRegex(TypeError, r"^other\(\): incompatible"):
            binade.train({"workload": "digits_mlp", "steps": 1, "batch": 8}, on_step=other)

    def test_numbers_are_shown_exactly(self):
        def bits(x, form="e4m3"):
            return binade.show(x, form).to_dict()["values"][0]["bits"]

        self.assertEqual([bits(464), bits(Fraction(464) + Fraction(1, 2**70)), bits(Decimal("464.00000000000000000001"))],
                         ["0x7e", "0x7f", "0x7f"])
        self.assertEqual(bits(Fraction(10)**400), "0x7f")
        self.assertEqual([bits(Decimal("-Infinity"), "binary16"), bits(Decimal("-0"), "binary16")], ["0xfc00", "0x8000"])
        tie = np.longdouble(1) + np.longdouble(2)**-11
        self.assertEqual([bits(tie, "binary16"), bits(tie + np.longdouble(2)**-60, "binary16")], ["0x3c00", "0x3c01"])
        self.assertEqual([bits(np.float32(0.1)), bits(np.longdouble("inf"), "binary16")], [bits(0.1), "0x7c00"])
        with self.assertRaisesRegex(ValueError, "^1/3: no finite decimal"):
            bits(Fraction(1, 3))

    def test_states_that_no_scaler_has(self):
        for policy, key, values in (("torch", "scale", (-1.0, True)), ("torch", "growth_tracker", (-1, True, 1.5)),
                                    ("log_max", "mean", ("1", True)), ("histogram", "steps", (-1, True))):
            scaler = binade.LossScaler(policy)
            state = scaler.state_dict()
            for value in values:
                with self.subTest(policy=policy, key=key, value=value), self.assertRaisesRegex(ValueError, key):
                    scaler.load_state_dict(state | {key: value})
            self.assertEqual(scaler.state_dict(), state)

    def test_counts_add_up_by_sum(self):
        counts = [binade.quantize(X, "e4m3", counts=True)[1] for _ in range(3)]
        self.assertEqual(sum(counts).values, 9)
        with self.assertRaises(TypeError):
            sum(counts, 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
