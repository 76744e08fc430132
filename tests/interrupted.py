# SPDX-License-Identifier: Apache-2.0
"""Programs that are killed at their work, and what they leave."""

import contextlib
import os
import signal
import subprocess
import time

from cli_case import environment


def wait_for(names, folder, process):
    """Returns when all of these files are there, which the process makes before it ends."""
    end = time.monotonic() + 60
    while not all(os.path.exists(os.path.join(folder, name)) for name in names):
        if process.poll() is not None or time.monotonic() > end:
            raise AssertionError(f"{process.args} ended, or waits without its files")
        time.sleep(0.002)


@contextlib.contextmanager
def killed(folder, *command):
    """A command that is killed (SIGKILL) at the end of the block."""
    with subprocess.Popen(list(map(str, command)), cwd=folder, env=environment(), stdout=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def kill_training(program, folder, *settings):
    """Kills a long training when its file, killed.json, is there, which is written after a second; it sleeps meanwhile."""
    with killed(folder, program, "train", *settings, "steps=1000000", "--dump", "killed", "--json", "killed.json") as process:
        wait_for(["killed/step000000.safetensors"], folder, process)
        process.send_signal(signal.SIGSTOP)
        time.sleep(1)
        process.send_signal(signal.SIGCONT)
        wait_for(["killed.json"], folder, process)


def kill_experiments(program, folder, *names):
    """Kills a run of made experiments whose last one is "right", which waits for a reader of what it dumps, when killed.json
    and killed.html are there."""
    os.makedirs(os.path.join(folder, "killed/right"))
    os.mkfifo(os.path.join(folder, "killed/right/dumped"))
    with killed(folder, program, "experiment", "run", *names, "right", "--dump", "killed", "--json", "killed.json", "-o",
                "killed.html") as process:
        wait_for(["killed.json", "killed.html"], folder, process)
