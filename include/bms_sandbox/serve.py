"""Sandbox in a separate process for tests and benchmarks, and the client of its control API.

with running(dialect={"end_date": "exclusive"}) as sandbox:
    sandbox.set_fault("503", operation="list_*", count=2)
    read_everything(sandbox.url, sandbox.credentials)
    assert sandbox.truth()["faults"] == {"503": 2}
"""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

from bms_sandbox.tokens import Credentials

DEMO = Credentials("demo-client", "demo-application", "demo-secret")


class ControlError(RuntimeError):
    """The sandbox refused a control request; the text is the reason."""


@dataclass(frozen=True)
class Sandbox:
    """A running sandbox: URL, credentials and control API."""

    url: str
    credentials: Credentials
    process: "subprocess.Popen[str] | None" = None

    def truth(self) -> dict[str, Any]:
        """Return the ground truth: requests, created rows, duplicates, fired faults."""
        return self._control("GET", "truth")  # type: ignore[no-any-return]  # JSON of the route

    def reset_counts(self) -> None:
        """Reset the counts; everything else stays."""
        self._control("POST", "truth/reset")

    def reset(self) -> None:
        """Restore the state of the start and revoke all tokens."""
        self._control("POST", "reset")

    def set_dialect(self, **options: Any) -> None:
        """Change some options of the dialect."""
        self._control("PATCH", "dialect", options)

    def set_fault(self, kind: str, operation: str = "*", **parameters: Any) -> None:
        """Add a fault (see `bms_sandbox.faults.Fault` for the parameters)."""
        self._control("POST", "faults", {"kind": kind, "operation": operation} | parameters)

    def clear_faults(self) -> None:
        """Remove all faults; the counts of their firings stay."""
        self._control("PUT", "faults", [])

    def set_latency(self, seconds: float) -> None:
        """Delay every request."""
        self._control("PUT", "latency", {"seconds": seconds})

    def delay_connections(self, seconds: float) -> None:
        """Delay new TCP connections by at least `seconds`.

        The client's kernel retries after 1, 3 and 7 seconds, so 0.5 results in 1 and 2 in 3.
        """
        self._control("PUT", "connections", {"seconds": seconds})

    def set_clock(self, now: date | datetime, *, frozen: bool | None = None) -> None:
        """Set the clock of the service (naive `now`: UTC)."""
        self._control("POST", "clock", {"now": now.isoformat(), "frozen": frozen})

    def advance(self, seconds: float = 0.0, *, days: float = 0.0) -> None:
        """Advance the clock of the service."""
        self._control("POST", "clock", {"advance": seconds + days * 86_400})

    def revoke_tokens(self) -> int:
        """Revoke all tokens; return their number."""
        return int(self._control("POST", "tokens/revoke")["revoked"])

    def fill(self, **volumes: Any) -> dict[str, int]:
        """Replace all rows by demo rows: invoices_per_day, flat, contacts, seed, entities, ..."""
        return dict(self._control("POST", "fill", volumes))

    def rows(self, resource: str) -> list[dict[str, Any]]:
        """Return all stored employees, contacts or consultants."""
        return list(self._control("GET", f"rows/{resource}"))

    def insert(self, resource: str, **given: Any) -> dict[str, Any]:
        """Insert a demo row with the given fields."""
        return dict(self._control("POST", f"rows/{resource}", given))

    def edit(self, resource: str, key: int | str, **changes: Any) -> dict[str, Any]:
        """Change fields of a row."""
        return dict(self._control("PATCH", f"rows/{resource}/{key}", changes))

    def delete(self, resource: str, key: int | str) -> None:
        """Remove a row."""
        self._control("DELETE", f"rows/{resource}/{key}")

    def invoices(self, id_entity: int, first: date, last: date) -> list[dict[str, Any]]:
        """Return the current invoices dated `first` to `last` (inclusive), money as text."""
        query = {"id_entity": id_entity, "start_date": first, "end_date": last}
        return list(self._control("GET", f"invoices?{urlencode(query)}"))

    def insert_invoice(self, **given: Any) -> dict[str, Any]:
        """Insert an invoice of today, or of the given invoice_date."""
        return dict(self._control("POST", "invoices", given))

    def edit_invoice(self, id_entity: int, id_invoice: int, **changes: Any) -> dict[str, Any]:
        """Change stored fields of an invoice."""
        return dict(self._control("PATCH", f"invoices/{id_entity}/{id_invoice}", changes))

    def delete_invoice(self, id_entity: int, id_invoice: int) -> None:
        """Remove an invoice."""
        self._control("DELETE", f"invoices/{id_entity}/{id_invoice}")

    def pay(self, id_entity: int, id_invoice: int, amount: str | None = None) -> dict[str, Any]:
        """Pay `amount` of an invoice now, or the amount due."""
        query = f"?{urlencode({'amount': amount})}" if amount else ""
        return dict(self._control("POST", f"invoices/{id_entity}/{id_invoice}/pay{query}"))

    def send(self, id_entity: int, id_invoice: int) -> dict[str, Any]:
        """Send an invoice now."""
        return dict(self._control("POST", f"invoices/{id_entity}/{id_invoice}/send"))

    def cancel(
        self, id_entity: int, id_invoice: int, id_credit: int | None = None
    ) -> dict[str, Any]:
        """Cancel an invoice now."""
        query = f"?{urlencode({'id_credit': id_credit})}" if id_credit else ""
        return dict(self._control("POST", f"invoices/{id_entity}/{id_invoice}/cancel{query}"))

    def _control(self, method: str, path: str, content: Any = None) -> Any:
        request = urllib.request.Request(  # noqa: S310 -> our own http address
            f"{self.url}/_sandbox/{path}",
            method=method,
            data=None if content is None else json.dumps(content).encode(),
            headers={"content-type": "application/json"},
        )
        # Without the environment's proxies: the sandbox is on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                return json.load(answer)
        except HTTPError as error:
            with error:
                reason = error.read().decode()
            raise ControlError(f"{method} {path}: {error.code} {reason}") from None


@contextmanager
def running(
    *,
    dialect: Mapping[str, Any] | None = None,
    faults: Sequence[str] = (),
    options: Sequence[str] = (),
    credentials: Credentials = DEMO,
) -> Iterator[Sandbox]:
    """Run a sandbox in a separate process on a free loopback port.

    dialect: options by name; faults: in the form of the command line; options: other command-line
    options, such as ("--today", "2026-03-31", "--frozen"). The process ends with its parent in any
    case. Raises `RuntimeError` if the sandbox does not start.
    """
    readings = (dialect or {}).items()
    command = [
        *(sys.executable, "-m", "bms_sandbox", "--port", "0", "--until-stdin-closes"),
        *(part for name, value in readings for part in ("--dialect", f"{name}={_text(value)}")),
        *(part for fault in faults for part in ("--fault", fault)),
        *options,
    ]
    # The parent folder of this package, so that a checkout works without installation.
    path = os.pathsep.join(
        filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")])
    )
    environment = os.environ | credentials.environment | {"PYTHONPATH": path}
    with subprocess.Popen(  # noqa: S603 -> our own module and options
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None  # noqa: S101 -> PIPE was asked for
        assert process.stdout is not None  # noqa: S101 -> PIPE was asked for
        try:
            url = process.stdout.readline().strip()
            if not url:
                raise RuntimeError(f"the sandbox didn't start: exit status {process.wait()}")
            yield Sandbox(url, credentials, process)
        finally:
            process.stdin.close()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
