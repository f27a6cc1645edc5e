"""The sandbox service as the stack runs it, and the connection that leads to it."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from bms_provider.provider_info import stored_extras
from stack.place import Keys

HOST = "127.0.0.1"
ENTITIES = (1, 2)


@dataclass(frozen=True)
class Sandbox:
    """Where the sandbox listens, and whom it lets in."""

    port: int
    client_id: str
    application_id: str
    secret: str

    @classmethod
    def of(cls, given: Mapping[str, str], keys: Keys, port: int) -> "Sandbox":
        """Return the sandbox with this checkout's credentials, or those the user preset."""
        return cls(
            port,
            given.get("BMS_SANDBOX_CLIENT_ID", keys.sandbox_client),
            given.get("BMS_SANDBOX_APPLICATION_ID", "local-application"),
            given.get("BMS_SANDBOX_SECRET", keys.sandbox_secret),
        )

    def __repr__(self) -> str:
        return f"Sandbox({self.url})"

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://{HOST}:{self.port}"

    @property
    def command(self) -> tuple[str, ...]:
        """How to start it."""
        return (sys.executable, "-P", "-m", "bms_sandbox", "--host", HOST, "--port", str(self.port))

    @property
    def environment(self) -> dict[str, str]:
        """Its credentials: not on the command line, where every user of the machine reads them."""
        return {
            "BMS_SANDBOX_CLIENT_ID": self.client_id,
            "BMS_SANDBOX_APPLICATION_ID": self.application_id,
            "BMS_SANDBOX_SECRET": self.secret,
        }

    def healthy(self) -> bool:
        """Return whether it answers."""
        try:
            return httpx.get(f"{self.url}/_sandbox/health", timeout=2, trust_env=False).is_success
        except httpx.TransportError:
            return False

    def connection(self) -> dict[str, Any]:
        """Return `bms_default` as Airflow's API takes it.

        With a port of its own beside the one in the address: Airflow 3.3.2 answers 400 to the Test
        button of a connection without one. With every extra, so that the Edit form shows it.
        """
        extras = stored_extras(application_id=self.application_id, entities=list(ENTITIES))
        return {
            "connection_id": "bms_default",
            "conn_type": "bms",
            "description": "The sandbox of this checkout's local stack",
            "host": self.url,
            "port": self.port,
            "login": self.client_id,
            "password": self.secret,
            "extra": json.dumps(extras),
        }
