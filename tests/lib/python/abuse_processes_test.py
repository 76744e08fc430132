# SPDX-License-Identifier: Apache-2.0
#
# Misuse of the module by whole processes: threads, forks and Ctrl-C at once, interpreters that end, loading it twice.
#   abuse_processes_test.py BINADE

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from child import child

X = np.float32([1, 2, 3])


class Processes(unittest.TestCase):
    def test_a_scaler_beside_threads_that_work(self):
        status, told = child("""
            import threading, numpy as np, binade
            x, stop = np.ones(1 << 22, "f"), threading.Event()
            half = np.ones(1 << 20, "e")
            def work():
                while not stop.is_set():
                    binade.quantize(x, "e4m3")
            threads = [threading.Thread(target=work) for _ in range(3)]
            [t.start() for t in threads]
            scaler = binade.LossScaler("torch")
            for _ in range(60):
                scaler.update([half, np.ones(1 << 20, "f")])
            stop.set()
            [t.join() for t in threads]
            print("done")
            """)
        self.assertEqual((status, told), (0, "done\n"))

    def test_ctrl_c_beside_threads_that_work(self):
        status, told = child("""
            import os, signal, threading, time, numpy as np, binade
            x, stop, hit = np.ones(1 << 23, "f"), threading.Event(), []
            def work():
                try:
                    while not stop.is_set():
                        binade.quantize(x, "e4m3")
                except BaseException as error:
                    hit.append(error)
            threads = [threading.Thread(target=work) for _ in range(3)]
            [t.start() for t in threads]
            threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            try:
                while True:
                    binade.quantize(x, "e5m2")
            except KeyboardInterrupt:
                print("main")
            stop.set()
            [t.join() for t in threads]
            print(hit)
            """)
        self.assertEqual((status, told), (0, "main\n[]\n"))

    def test_an_interpreter_that_ends(self):
        settings = {"workload": "digits_mlp", "format": "binary16", "steps": 10 ** 6, "batch": 8}
        for call in ("binade.quantize(x, 'e4m3')", "binade.report({'x': x})", "binade.show(0.1, 'e4m3')",
                     "binade.loss_scalers(); refused()", "binade.quantize([1.0, 2.0], 'e4m3'); binade.advise(params=1e9)",
                     f"binade.train({settings}, on_step=lambda step: time.sleep(1e-3))"):
            status, told = child(f"""
                import threading, time, numpy as np, binade
                x = np.ones(1 << 22, "f")
                def refused():
                    try:
                        binade.quantize(x, "e4m3", rouding=1)
                    except TypeError:
                        pass
                def work():
                    while True:
                        {call}
                for _ in range(4):
                    threading.Thread(target=work, daemon=True).start()
                time.sleep(0.3)
                """)
            self.assertEqual(status, 0, told[-2000:])

    def test_a_fork_beside_a_report(self):
        status, told = child("""
            import os, threading, numpy as np, binade
            x, stop = np.ones(1000, "f"), threading.Event()
            binade.RangeSummary().add(x)  # a fork while a thread is inside an import is Python's own trouble
            def work():
                while not stop.is_set():
                    binade.RangeSummary().add(x)
            threading.Thread(target=work).start()
            for _ in range(40):
                child = os.fork()
                if child == 0:
                    binade.RangeSummary().add(x)
                    os._exit(0)
                assert os.waitpid(child, 0)[1] == 0
            stop.set()
            print("done")
            """)
        self.assertEqual((status, told), (0, "done\n"))

    def test_ctrl_c_in_the_program(self):
        status, told = child("""
            import os, signal, threading, time, binade
            threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            begin = time.monotonic()
            try:
                binade.main(["train", "workload=digits_mlp", "format=binary16", "steps=100000", "batch=8"])
            except KeyboardInterrupt:
                print("interrupted", time.monotonic() - begin < 2)
            """)
        self.assertEqual((status, told), (0, "interrupted True\n"))

    def test_a_second_load(self):
        status, told = child("""
            import sys, binade
            for name in [name for name in sys.modules if name.startswith("binade")]:
                del sys.modules[name]
            try:
                import binade
            except ImportError as error:
                print(error)
            """)
        self.assertEqual((status, told), (0, "binade cannot be loaded twice in a process; keep it in sys.modules\n"))

    def test_names_of_files_that_are_no_text(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.fsencode(folder) + b"/\xff.npy"
            with open(path, "wb") as file:
                np.save(file, X)
            done = subprocess.run([sys.executable, "-m", "binade", "report", path], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stderr), (0, b""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
