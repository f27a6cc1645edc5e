"""Interrupt a starting and running stack at random moments and look at what is left.

Run on demand, it takes minutes: `python tests/stack/signals.py [ROUNDS] [SEED] [COMMAND]`. Each
round starts `python -m stack COMMAND` (demo) in a folder of its own or the last round's, sends
Ctrl-C, SIGTERM, hang-up (some twice) or SIGKILL after a random time, and then demands: the right
exit code, no process, lock, socket, draft or announcement. After a SIGKILL the next start must
clean up by itself.
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

from stack.place import CHECKOUT, Place
from stack.processes import marked

LONGEST = 45.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)


def left(place: Place) -> list[str]:
    """Return what a stopped stack must not leave."""
    files = [place.lock, place.announcement, *place.local.glob("*.draft")]
    files += place.postgres.glob(".s.PGSQL*")
    files += [place.postgres / "postmaster.pid"]
    processes = [f"{process.pid} {process.name()}" for process in marked(place.mark)]
    return processes + [str(path) for path in files if path.exists()]


def round_of(place: Place, number: signal.Signals, wait: float, twice: bool, command: str) -> str:
    """Do one round and return what was wrong with it, nothing when all was right."""
    environment = {**os.environ, "BMS_LOCAL_DIR": str(place.local)}
    launcher = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "stack", command],
        cwd=CHECKOUT,
        env=environment,
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
    # Before its first line of ours the launcher has nothing to clean and dies of the signal.
    right = {0, 128 + number, -number} if number != signal.SIGKILL else {0, -number}
    wrong = [] if code in right else [f"exit code {code}"]
    if number != signal.SIGKILL:
        wrong += left(place)
    what = f"{number.name}{' twice' if twice else ''} after {wait:.1f} s: {code} in {took:.1f} s"
    sys.stdout.write(f"{what}{', WRONG: ' if wrong else ''}{'; '.join(wrong)}\n")
    sys.stdout.flush()
    return "; ".join(wrong)


def main(rounds: int = 12, seed: int = 1, command: str = "demo") -> int:
    """Do the rounds; 0 when nothing was ever left."""
    random.seed(seed)
    for number in (signal.SIGINT, signal.SIGHUP):  # under nohup or in the background: ignored
        signal.signal(number, signal.SIG_DFL)
    folder = Path(tempfile.mkdtemp())
    wrong = 0
    place = Place(CHECKOUT, folder / "0")
    for number in range(rounds):
        if random.random() < 1 / 3:
            place = Place(CHECKOUT, folder / str(number))
        kind = SIGNALS[number % len(SIGNALS)]
        wait = random.choice((random.uniform(0, 4), random.uniform(0, LONGEST)))
        twice = kind != signal.SIGKILL and random.random() < 1 / 3
        wrong += bool(round_of(place, kind, wait, twice, command))
        if kind == signal.SIGKILL:  # the next start meets what it left
            wrong += bool(round_of(place, signal.SIGINT, random.uniform(3, 6), False, command))
    shutil.rmtree(folder)
    sys.stdout.write(f"{rounds} rounds, {wrong} wrong\n")
    return min(wrong, 1)


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(*(int(word) if word.isdigit() else word for word in given)))  # type: ignore[arg-type]  # the command comes third
