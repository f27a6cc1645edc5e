"""The environments of the peers, and of what attacks the sandbox: one each, made at first use below `.local/peers`, thrown away with it."""

import hashlib
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ENVIRONMENTS = HERE.parent.parent / ".local" / "peers"
UV = Path(sys.executable).with_name("uv")


def python_of(name: str) -> Path:
    """Return the interpreter that has exactly what `requirements/<name>.lock` lists."""
    lock, folder = HERE / "requirements" / f"{name}.lock", ENVIRONMENTS / name
    python, stamp = folder / "bin" / "python", folder / ".installed"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"installing {lock.name} into {folder}", flush=True)
        _uv("venv", "--quiet", "--clear", "--python", sys.executable, folder)
        _uv("pip", "sync", "--quiet", "--require-hashes", "--python", python, lock)
        stamp.write_text(wanted)
    return python


def versions_of(name: str) -> dict[str, str]:
    """Return the versions of the packages that are asked for by name."""
    asked = (HERE / "requirements" / f"{name}.in").read_text().splitlines()
    names = {line.partition("[")[0] for line in asked if not line.startswith("#")}
    lines = (HERE / "requirements" / f"{name}.lock").read_text().splitlines()
    pins = (line.split()[0].split("==") for line in lines if "==" in line)
    return {package: version for package, version in pins if package in names}


def _uv(*arguments: object) -> None:
    subprocess.run([UV, *map(str, arguments)], check=True)  # noqa: S603 - the project's own uv
