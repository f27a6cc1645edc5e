"""Command, credentials and Airflow connection of the stack's sandbox service."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from bms_provider.provider_info import stored_extras
from stack.paths import Secrets

HOST = "127.0.0.1"
ENTITIES = (1, 2)


@dataclass(frozen=True)
class Sandbox:
    """The sandbox service on a loopback port, with the credentials that it accepts."""

    port: int
    client_id: str
    application_id: str
    secret: str

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], secrets: Secrets, port: int) -> "Sandbox":
        """Return the sandbox with the user's preset credentials, by default this checkout's."""
        return cls(
            port,
            environ.get("BMS_SANDBOX_CLIENT_ID", secrets.sandbox_client),
            environ.get("BMS_SANDBOX_APPLICATION_ID", "local-application"),
            environ.get("BMS_SANDBOX_SECRET", secrets.sandbox_secret),
        )

    def __repr__(self) -> str:
        return f"Sandbox({self.url})"

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://{HOST}:{self.port}"

    @property
    def command(self) -> tuple[str, ...]:
        """The command that starts the sandbox."""
        return (sys.executable, "-P", "-m", "bms_sandbox", "--host", HOST, "--port", str(self.port))

    @property
    def environment(self) -> dict[str, str]:
        """The credentials as variables: any local user can read a command line."""
        return {
            "BMS_SANDBOX_CLIENT_ID": self.client_id,
            "BMS_SANDBOX_APPLICATION_ID": self.application_id,
            "BMS_SANDBOX_SECRET": self.secret,
        }

    def healthy(self) -> bool:
        """Return whether the sandbox responds."""
        try:
            return httpx.get(f"{self.url}/_sandbox/health", timeout=2, trust_env=False).is_success
        except httpx.TransportError:
            return False

    def connection(self) -> dict[str, Any]:
        """Return the connection `bms_default` in the form of Airflow's REST API.

        The port is given twice, in the address and as a field, because Airflow 3.3.2 rejects the
        test of a connection without a port field. Every extra is included so that the edit form
        shows it.
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
