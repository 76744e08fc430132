# SPDX-License-Identifier: Apache-2.0
#
# The module as a part of its process: other Python threads run while it works, two calls at once are equal, Ctrl-C ends a
# long call within 100 ms and leaves nothing half done, a forked child works, and the caller's environment of floating point
# changes nothing.   process_test.py BINADE
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np

from cli_case import CliCase, main

import binade

LONG = 1 << 24  # elements; by the definition of a format that no vectors know, seconds


def slowly(x):
    return binade.quantize(x, "e8m9", rounding="stochastic", flush="operands")


class Process(CliCase):
    def test_threads_run_at_once_and_agree(self):
        arrays = [np.random.default_rng(seed).standard_normal(200_000).astype(np.float32) for seed in range(4)]
        expected = [binade.quantize(x, "e4m3", rounding="stochastic", counts=True) for x in arrays]
        results = [[] for _ in arrays]

        def work(at):
            for _ in range(20):
                results[at].append(binade.quantize(arrays[at], "e4m3", rounding="stochastic", counts=True))

        threads = [threading.Thread(target=work, args=(at,)) for at in range(len(arrays))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for at, (values, counts) in enumerate(expected):
            self.assertEqual(len(results[at]), 20)
            for got, seen in results[at]:
                np.testing.assert_array_equal(got, values)
                self.assertEqual(seen, counts)

    def test_other_threads_run_meanwhile(self):
        x, half = np.ones(LONG, np.float32), np.ones((512, 2048), np.float16)
        layers, histogram = binade.LossScaler("adaptive"), binade.LossScaler("histogram")
        codes, words = binade.encode(x[: LONG // 4], "tf32"), x[: LONG // 16]
        product = {"instruction": "mma.m16n8k16.f32.f16.f16.f32", "arch": "sm_90"}
        for name, call in (
                ("quantize", lambda: binade.quantize(x[: LONG // 2], "e8m0")),  # by the definition
                ("encode", lambda: binade.encode(x[: LONG // 2], "e8m0")),
                ("decode", lambda: binade.decode(codes, "tf32")),
                ("arith", lambda: binade.arith("div", x, x, format="e8m9")),
                ("cvt", lambda: binade.cvt("fma.rn.f32", words, words, words)),
                ("gemm", lambda: binade.gemm(half, half, transpose_b=True, **product)),
                ("account", lambda: binade.account(half[:64], half[:64], transpose_b=True, **product)),
                ("RangeSummary.add", lambda: binade.RangeSummary().add(x)),
                ("report", lambda: binade.report({"x": x})),
                ("LossScaler.update", lambda: histogram.update(x)),
                ("LossScaler.layer_scale", lambda: layers.layer_scale("a", x, x, 1))):
            with self.subTest(name):
                done, ticks = threading.Event(), 0

                def work():
                    call()
                    done.set()

                thread = threading.Thread(target=work)
                thread.start()
                while not done.is_set():
                    time.sleep(0.001)
                    ticks += 1
                thread.join()
                self.assertGreater(ticks, 5, "the interpreter stood still while C++ worked")

    def test_ctrl_c_ends_a_long_call(self):
        code = (
            "import sys, time, numpy as np, binade\n"
            "x = np.ones(1 << 28, 'f'); out = np.zeros(3, 'f'); binade.quantize(out, 'e4m3'); print('on', flush=True)\n"
            "try:\n"
            "    while True: binade.quantize(x, 'e8m9', rounding='stochastic', flush='operands', out=x)\n"
            "except KeyboardInterrupt:\n"
            "    print(time.monotonic(), flush=True)\n"
            "print(binade.quantize(np.float32([0.3]), 'e4m3')[0])\n"
        )
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
            self.assertEqual(child.stdout.readline(), "on\n")
            time.sleep(0.7)
            sent = time.monotonic()
            child.send_signal(signal.SIGINT)
            ended = float(child.stdout.readline())
            self.assertEqual(child.stdout.readline(), "0.3125\n")
            self.assertEqual(child.wait(), 0)
        print(f"Ctrl-C was heard after {1000 * (ended - sent):.0f} ms")
        self.assertLess(ended - sent, 1.0)  # 0.1 on a machine that does nothing else

    def test_a_handler_s_exception_comes_through(self):
        class Stop(Exception):
            pass

        def stop(*_):
            raise Stop

        before = signal.signal(signal.SIGALRM, stop)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with self.assertRaises(Stop):
                while True:
                    slowly(np.ones(LONG, np.float64))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def test_a_forked_child_works(self):
        # Also where another thread was at work, which the child does not have, nor those that helped it.
        x = np.random.default_rng(5).standard_normal(1_000_000).astype(np.float32)
        expected = binade.quantize(x, "e4m3")
        long = np.ones(LONG, np.float32)
        working = threading.Thread(target=lambda: binade.quantize(long, "e8m0", out=long))
        working.start()
        time.sleep(0.05)
        self.assertTrue(working.is_alive(), "the other thread had finished")
        child = os.fork()
        if child == 0:
            os._exit(0 if np.array_equal(binade.quantize(x, "e4m3"), expected, equal_nan=True) else 1)
        begun = time.monotonic()
        while time.monotonic() - begun < 30:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            time.sleep(0.01)
        else:
            os.kill(child, signal.SIGKILL)
            self.fail("the child hangs")
        working.join()
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)

    def test_the_caller_s_rounding_mode_changes_nothing(self):
        libm = ctypes.CDLL("libm.so.6")
        upward = 0x800
        x = np.random.default_rng(6).standard_normal(100_000).astype(np.float32)
        expected = binade.quantize(x, "binary16"), binade.arith("fma", x, x, x, format="bfloat16")
        self.assertEqual(libm.fesetround(upward), 0)
        try:
            got = binade.quantize(x, "binary16"), binade.arith("fma", x, x, x, format="bfloat16")
        finally:
            libm.fesetround(0)
        for a, b in zip(got, expected):
            np.testing.assert_array_equal(a.view("u4"), b.view("u4"))


if __name__ == "__main__":
    main()
