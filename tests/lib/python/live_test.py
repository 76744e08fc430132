# SPDX-License-Identifier: Apache-2.0
#
# The functions that hooks in a training call for memory at an address: they give the summary that RangeSummary makes of the same
# values, on the CPU and on a device, and say whether a value is a NaN or an infinity, for every encoding.
#   live_test.py PATH_TO_BINADE
import os
import subprocess
import sys
import threading
import unittest

import numpy as np

import binade
from binade import _binade as live

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

# safetensors' names, as NumPy or ml_dtypes has them
DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16"}
if ml_dtypes:
    DTYPES |= {"BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E4M3FNUZ": "float8_e4m3fnuz",
               "F8_E5M2FNUZ": "float8_e5m2fnuz", "F8_E8M0": "float8_e8m0fnu"}
BITS = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, DTYPES[name], None) or DTYPES[name]) if ml_dtypes else np.dtype(DTYPES[name])


def moved(x, offset):
    """A copy that begins so many bytes after an aligned place, between bytes of ones; and its address."""
    room = np.full(x.nbytes + 128, 0xFF, "u1")
    begin = -room.ctypes.data % 64 + offset
    room[begin:begin + x.nbytes] = np.frombuffer(x.tobytes(), "u1")
    return room, room.ctypes.data + begin


def numbers(dtype, n, seed=1):
    random = np.random.default_rng(seed)
    return np.abs(np.ldexp(random.standard_normal(n), random.integers(-8, 4, n))).astype(dtype)


class Counting(unittest.TestCase):
    def test_a_summary_is_that_of_the_array(self):
        for name in DTYPES:
            for n in (0, 1, 3, 300, 20_000):
                x = numbers(dtype_of(name), n)
                if n > 2:
                    x.view(BITS[x.itemsize])[:3] = [0, 1, 2 ** (8 * x.itemsize - 1)]
                for offset in (0, 1, 7):
                    room, address = moved(x, offset)
                    with_errors = live._count_at(address, n, name, True)
                    self.assertEqual(with_errors, binade.RangeSummary().add(x), (name, n, offset))
                    without = live._count_at(address, n, name, False)
                    self.assertEqual((without.columns, without.values), ([], n))
                    self.assertEqual(without.counts.tolist(), with_errors.counts.tolist())
                    self.assertEqual(without.becomes("e4m3"), with_errors.becomes("e4m3"))

    def test_tensors_of_every_kind_take_turns(self):
        arrays = [(name, numbers(dtype_of(name), n, n)) for n in (5, 5000, 40, 70_000, 1, 300) for name in DTYPES]
        want = [binade.RangeSummary().add(x) for _, x in arrays]
        for _ in range(3):
            got = [live._count_at(x.ctypes.data, x.size, name, True) for name, x in arrays]
            self.assertEqual(got, want)

    def test_threads_count_at_once(self):
        x = numbers("f4", 50_000)
        want, results = binade.RangeSummary().add(x), []

        def work():
            results.extend(live._count_at(x.ctypes.data, x.size, "F32", True) == want for _ in range(20))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [True] * 80)

    def test_what_is_no_array_is_refused_in_one_line(self):
        for function in (live._count_at, live._any_nonfinite_at):
            more = (False,) if function is live._count_at else ()
            for arguments, line in (((0, 1, "I32"), "dtype 'I32'"), ((0, 1, "float32"), "dtype 'float32'"),
                                    ((0, 2**63, "F32"), "more than memory holds"), ((0, -1, "F32"), "elements -1"),
                                    ((-1, 1, "F32"), "address -1"), ((0, 1, "F32"), "address: memory is wanted")):
                with self.assertRaisesRegex(ValueError, line):
                    function(*arguments, *more)
            with self.assertRaises(TypeError):
                function(0, 1.0, "F32", *more)


class NonFinite(unittest.TestCase):
    def test_every_short_encoding_and_the_ends_of_long_ones(self):
        for name in DTYPES:
            dtype = dtype_of(name)
            bits = BITS[dtype.itemsize]
            if dtype.itemsize <= 2:
                codes = np.arange(2 ** (8 * dtype.itemsize), dtype=bits)
            else:
                top = int(np.array([np.inf], dtype).view(bits)[0])
                sign = 1 << (8 * dtype.itemsize - 1)
                codes = np.array([c ^ s for c in (0, 1, top - 1, top, top + 1, top | top >> 1) for s in (0, sign)], bits)
            with np.errstate(invalid="ignore"):  # signaling NaNs
                finite = np.isfinite(codes.view(dtype).astype("f8"))
            self.assertTrue(finite.any() and not finite.all(), name)
            for code, is_finite in zip(codes, finite):
                alone = np.array([code])
                self.assertEqual(live._any_nonfinite_at(alone.ctypes.data, 1, name), not is_finite, (name, code))
            kept = codes[finite]
            self.assertFalse(live._any_nonfinite_at(kept.ctypes.data, kept.size, name), name)

    def test_one_among_many_is_found_wherever_it_is(self):
        for name in DTYPES:
            dtype = dtype_of(name)
            n = (3 << 20) // dtype.itemsize + 5  # several parts on threads
            x = numbers(dtype, n)
            room, address = moved(x, 3)
            inside = room[address - room.ctypes.data:][:x.nbytes]
            self.assertFalse(live._any_nonfinite_at(address, n, name), name)
            for at in (0, 77, n // 2, n - 1):
                before = inside[at * dtype.itemsize:(at + 1) * dtype.itemsize].copy()
                inside[at * dtype.itemsize:(at + 1) * dtype.itemsize] = np.frombuffer(np.array([np.nan], dtype).tobytes(), "u1")
                self.assertTrue(live._any_nonfinite_at(address, n, name), (name, at))
                self.assertFalse(live._any_nonfinite_at(address, at, name), (name, at))
                inside[at * dtype.itemsize:(at + 1) * dtype.itemsize] = before
            self.assertFalse(live._any_nonfinite_at(address, 0, name))


class Devices(unittest.TestCase):
    def test_an_emulated_device_counts_the_same(self):
        self.assertEqual(live._has_device("sm_90"), "")
        for n in (0, 1, 5000):
            x = numbers("f4", n)
            x[:2] = [np.nan, -0.0][:n]
            for sqnr in (False, True, True):
                self.assertEqual(live._count_on_device(x.ctypes.data, n, 0, sqnr, "sm_90"),
                                 live._count_at(x.ctypes.data, n, "F32", sqnr))

    def test_why_there_is_none_is_told_each_time(self):
        run = subprocess.run([sys.executable, "-c", "from binade import _binade as live\n"
                              "a, b = live._has_device(''), live._has_device('')\n"
                              "assert a == b, (a, b)\nprint(a)\n"
                              "try: live._count_on_device(0, 1, 0, False, '')\n"
                              "except ValueError as error: assert str(error) == a, error\n"
                              "else: raise AssertionError"],
                             env=os.environ | {"CUDA_VISIBLE_DEVICES": ""}, capture_output=True, text=True, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertRegex(run.stdout, r"\Ano GPU: [^\n]+\n\Z")

    def test_what_cannot_be_counted_is_refused(self):
        for arguments, line in (((2, 1, 0, True, "sm_90"), "address"), ((0, 2**41, 0, True, "sm_90"), "elements"),
                                ((0, 1, 0, True, "sm_9"), "no architecture"), ((0, 1, -1, True, "sm_90"), "stream -1")):
            with self.assertRaisesRegex(ValueError, line):
                live._count_on_device(*arguments)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
