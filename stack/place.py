"""Where the stack of one checkout keeps its files, and who may read them."""

import base64
import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Keys:
    """Secrets of one checkout's stack, drawn at random the first time and kept."""

    password: str
    fernet: str
    jwt: str
    api: str
    sandbox_client: str
    sandbox_secret: str

    def __repr__(self) -> str:
        return "Keys(...)"


@dataclass(frozen=True)
class Place:
    """The folders and files of one stack, all below `local`."""

    root: Path
    local: Path

    @classmethod
    def of(cls, environ: Mapping[str, str], root: Path = CHECKOUT) -> "Place":
        """Return the place of the checkout `root`; `BMS_LOCAL_DIR` moves its files elsewhere."""
        local = environ.get("BMS_LOCAL_DIR")
        return cls(root, Path(local).expanduser().resolve() if local else root / ".local")

    @property
    def mark(self) -> str:
        """What every process of this stack carries in its environment, and no other's does."""
        return hashlib.sha256(os.fsencode(self.local)).hexdigest()[:12]

    @property
    def secrets(self) -> Path:
        """What must stay with its owner, 0700."""
        return self.local / "secrets"

    @property
    def logs(self) -> Path:
        """What every process writes, tasks below `tasks/`."""
        return self.local / "logs"

    @property
    def airflow_home(self) -> Path:
        """Airflow's home; its configuration file holds a key, hence 0700."""
        return self.local / "airflow"

    @property
    def postgres(self) -> Path:
        """The database cluster."""
        return self.local / "postgres"

    @property
    def data(self) -> Path:
        """The default of BMS_DATA_ROOT."""
        return self.local / "data"

    @property
    def lock(self) -> Path:
        """Held by the one launcher of this checkout."""
        return self.local / "stack.lock"

    @property
    def announcement(self) -> Path:
        """What scripts read about a running stack."""
        return self.local / "stack.json"

    @property
    def durations(self) -> Path:
        """Seconds each step took here the last time."""
        return self.local / "durations.json"

    @property
    def migrated(self) -> Path:
        """Version and revision of Airflow's schema after its last migration."""
        return self.local / "migrated.json"

    def prepare(self) -> None:
        """Make the folders; those that hold secrets, logs or rows are for their owner alone.

        `.local` itself is not: the database server of a root user runs as another user and must
        pass through it.
        """
        self.local.mkdir(parents=True, exist_ok=True)
        for folder in (self.secrets, self.logs, self.airflow_home, self.data):
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)

    def keys(self) -> Keys:
        """Return this checkout's secrets, drawing those that don't exist yet."""
        path = self.secrets / "keys.json"
        drawn = {
            "password": secrets.token_urlsafe(12),
            "fernet": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
            "jwt": secrets.token_urlsafe(48),
            "api": secrets.token_urlsafe(48),
            "sandbox_client": "local-stack",
            "sandbox_secret": secrets.token_urlsafe(24),
        }
        kept = json.loads(path.read_text()) if path.exists() else {}
        keys = drawn | {name: value for name, value in kept.items() if name in drawn}
        if keys != kept:
            write_private(path, keys)
        return Keys(**keys)


def write_private(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON readable by its owner alone (0600), whole or not at all."""
    draft = path.with_name(f"{path.name}.draft")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(content, file, indent=2)
        file.write("\n")
    draft.replace(path)


def read_kept(path: Path) -> dict[str, Any]:
    """Return what an earlier start kept in `path`; nothing when it kept nothing readable.

    For remembered measurements only: what is lost here is measured again.
    """
    try:
        kept = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}
