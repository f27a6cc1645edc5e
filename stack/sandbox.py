"""Command, credentials and Airflow connection of the stack's sandbox service."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx

from bms_provider.provider_info import stored_extras
from bms_sandbox.tokens import VARIABLES, Credentials
from stack.paths import Secrets

HOST = "127.0.0.1"
ENTITIES = (1, 2)


@dataclass(frozen=True)
class Sandbox:
    """The sandbox service on a loopback port, with the credentials that it accepts."""

    port: int
    credentials: Credentials

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], secrets: Secrets, port: int) -> "Sandbox":
        """Return the sandbox with the user's preset credentials, by default this checkout's."""
        own = Credentials(secrets.sandbox_client, "local-application", secrets.sandbox_secret)
        preset = {n: environ[v] for n, v in VARIABLES.items() if v in environ}
        return cls(port, replace(own, **preset))

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://{HOST}:{self.port}"

    @property
    def command(self) -> tuple[str, ...]:
        """The command that starts the sandbox."""
        return (sys.executable, "-P", "-m", "bms_sandbox", "--host", HOST, "--port", str(self.port))

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
        given = self.credentials
        extras = stored_extras(application_id=given.application_id, entities=list(ENTITIES))
        return {
            "connection_id": "bms_default",
            "conn_type": "bms",
            "description": "The sandbox of this checkout's local stack",
            "host": self.url,
            "port": self.port,
            "login": given.client_id,
            "password": given.secret,
            "extra": json.dumps(extras),
        }
