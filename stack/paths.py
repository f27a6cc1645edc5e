"""Files, folders and generated secrets of the local stack."""

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
class Secrets:
    """Secrets of one checkout's stack, generated at its first start."""

    password: str
    fernet: str
    jwt: str
    api: str
    sandbox_client: str
    sandbox_secret: str

    def __repr__(self) -> str:
        return "Secrets(...)"


class StackPaths:
    """The files and folders of one stack, all below `local`."""

    def __init__(self, root: Path, local: Path) -> None:
        self.root = root
        self.local = local
        self.secrets = local / "secrets"
        self.passwords = self.secrets / "passwords.json"  # of Airflow's users
        self.logs = local / "logs"  # of processes
        self.task_logs = self.logs / "tasks"
        self.airflow_home = local / "airflow"
        self.postgres = local / "postgres"
        self.data = local / "data"  # default of BMS_DATA_ROOT
        self.lock = local / "stack.lock"
        self.stack_file = local / "stack.json"  # how scripts connect to the running stack
        self.durations = local / "durations.json"  # seconds that each step took last time
        self.migrated = local / "migrated.json"  # Airflow's version and schema revision

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], root: Path = CHECKOUT) -> "StackPaths":
        """Return the paths of the checkout `root`, or those below `BMS_LOCAL_DIR` if it is set."""
        local = environ.get("BMS_LOCAL_DIR")
        return cls(root, Path(local).expanduser().resolve() if local else root / ".local")

    @property
    def process_tag(self) -> str:
        """The value that identifies this stack's processes by their environment."""
        return hashlib.sha256(os.fsencode(self.local)).hexdigest()[:12]

    def prepare(self) -> None:
        """Create the folders; those that hold secrets, logs or rows are for their owner alone.

        Others can enter `.local` itself but not list it: the database server of a root user runs
        as another user and must pass through it. Another folder that existed before keeps its mode.
        """
        own = self.local == self.root / ".local" or not self.local.exists() or self.secrets.exists()
        self.local.mkdir(parents=True, exist_ok=True)
        if own:
            self.local.chmod(0o711)
        for folder in (self.secrets, self.logs, self.airflow_home, self.data):
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)

    def load_secrets(self) -> Secrets:
        """Return this checkout's secrets; generate and save the missing ones."""
        path = self.secrets / "keys.json"
        generated = {
            "password": secrets.token_urlsafe(12),
            "fernet": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
            "jwt": secrets.token_urlsafe(48),
            "api": secrets.token_urlsafe(48),
            "sandbox_client": "local-stack",
            "sandbox_secret": secrets.token_urlsafe(24),
        }
        saved = json.loads(path.read_text()) if path.exists() else {}
        merged = generated | {name: value for name, value in saved.items() if name in generated}
        if merged != saved:
            write_private_json(path, merged)
        return Secrets(**merged)


def write_private_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON atomically to a file that only its owner can read (0600)."""
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(content, file, indent=2)
        file.write("\n")
    temporary.replace(path)


def read_json_cache(path: Path) -> dict[str, Any]:
    """Return a JSON object that an earlier start saved; {} if it is missing or unreadable."""
    try:
        saved = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return saved if isinstance(saved, dict) else {}
