"""Virtual environments below `.local/peers`, one per lock file of pinned packages."""

import hashlib
import subprocess
import sys
from pathlib import Path

from tests.support.measurement import PROJECT

ENVIRONMENTS = PROJECT / ".local" / "peers"
UV = Path(sys.executable).with_name("uv")


def python_of(lock: Path) -> Path:
    """Return the interpreter of an environment with exactly the packages of `lock`; install at first use."""
    folder = ENVIRONMENTS / lock.stem
    python, stamp = folder / "bin" / "python", folder / ".installed"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"installing {lock.name} into {folder}", flush=True)  # noqa: T201 - takes a minute
        _uv("venv", "--quiet", "--clear", "--python", sys.executable, folder)
        _uv("pip", "sync", "--quiet", "--require-hashes", "--python", python, lock)
        stamp.write_text(wanted)
    return python


def versions_of(lock: Path) -> dict[str, str]:
    """Return the locked versions of the packages that the lock's `.in` file names."""
    requested = lock.with_suffix(".in").read_text().splitlines()
    names = {line.partition("[")[0] for line in requested if not line.startswith("#")}
    pins = (line.split()[0].split("==") for line in lock.read_text().splitlines() if "==" in line)
    return {package: version for package, version in pins if package in names}


def _uv(*arguments: object) -> None:
    subprocess.run([UV, *map(str, arguments)], check=True)  # noqa: S603 - the project's own uv
