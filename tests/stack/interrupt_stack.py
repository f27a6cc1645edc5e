"""Interruption test of the stack: signals at random times, then a check that nothing is left.

Run on demand; it takes minutes: `python -m tests.stack.interrupt_stack [ROUNDS [SEED [COMMAND]]]`.
Each round starts `python -m stack COMMAND` (demo) in a new folder or that of the last round, sends
SIGINT, SIGTERM, SIGHUP (some twice) or SIGKILL after a random time, and checks the exit code and
that no process, lock, socket, temporary file or stack.json remains. After a SIGKILL the next start
must clean up.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stack.paths import CHECKOUT, StackPaths
from stack.processes import find_tagged

MAX_WAIT = 45.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)


def leftovers(paths: StackPaths) -> list[str]:
    """Return the processes and files that a stopped stack must have removed."""
    files = [paths.lock, paths.stack_file, *paths.local.glob("*.tmp")]
    files += paths.postgres.glob(".s.PGSQL*")
    files += [paths.postgres / "postmaster.pid"]
    processes = [f"{process.pid} {process.name()}" for process in find_tagged(paths.process_tag)]
    return processes + [str(path) for path in files if path.exists()]


def run_round(
    paths: StackPaths, number: signal.Signals, wait: float, twice: bool, command: str
) -> bool:
    """Run one round, print its result and return whether it passed."""
    launcher = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "stack", command],
        cwd=CHECKOUT,
        env={**os.environ, "BMS_LOCAL_DIR": str(paths.local)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        launcher.wait(wait)
    except subprocess.TimeoutExpired:
        launcher.send_signal(number)
    began = time.monotonic()
    if twice:
        time.sleep(random.uniform(0, 1))
        launcher.send_signal(number)
    try:
        code = launcher.wait(60)
    except subprocess.TimeoutExpired:
        launcher.kill()
        code = launcher.wait()
    took = time.monotonic() - began
    # Until the handler is installed, the signal kills the launcher, which has nothing to clean up.
    expected = {0, 128 + number, -number} if number != signal.SIGKILL else {0, -number}
    errors = [] if code in expected else [f"exit code {code}"]
    if number != signal.SIGKILL:
        errors += leftovers(paths)
    what = f"{number.name}{' twice' if twice else ''} after {wait:.1f} s: {code} in {took:.1f} s"
    sys.stdout.write(f"{what}{', FAILED: ' if errors else ''}{'; '.join(errors)}\n")
    sys.stdout.flush()
    return not errors


def main(rounds: int = 12, seed: int = 1, command: str = "demo") -> int:
    """Run the rounds and return 0 if all passed."""
    random.seed(seed)
    for each in (signal.SIGINT, signal.SIGHUP):  # ignored under nohup or in the background
        signal.signal(each, signal.SIG_DFL)
    folder = Path(tempfile.mkdtemp())
    failed = 0
    paths = StackPaths(CHECKOUT, folder / "0")
    for number in range(rounds):
        if random.random() < 1 / 3:
            paths = StackPaths(CHECKOUT, folder / str(number))
        kind = SIGNALS[number % len(SIGNALS)]
        wait = random.choice((random.uniform(0, 4), random.uniform(0, MAX_WAIT)))
        twice = kind != signal.SIGKILL and random.random() < 1 / 3
        failed += not run_round(paths, kind, wait, twice, command)
        if kind == signal.SIGKILL:  # the next start must remove its leftovers
            failed += not run_round(paths, signal.SIGINT, random.uniform(3, 6), False, command)
    shutil.rmtree(folder)
    sys.stdout.write(f"{rounds} rounds, {failed} failed\n")
    return min(failed, 1)


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(*(int(word) if word.isdigit() else word for word in given)))  # type: ignore[arg-type]  # COMMAND is the third argument
