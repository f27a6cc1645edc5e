"""Work of the ceiling and of each peer, and its timing, with the standard library only, since it runs in every environment.

`works.toml` has paths, tables and columns.
"""

import argparse
import json
import resource
import time
import tomllib
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

CREDENTIALS: dict[str, Any] = {
    "client_id": "demo-client",
    "application_id": "demo-application",
    "secret": "demo-secret",
}
SCHEMA = "peer"
WORKS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("works.toml").read_text())


@dataclass(frozen=True)
class Task:
    """One load: of what, from where, to where."""

    work: str
    url: str
    database: str
    folder: str
    """Where a load may store files, for a peer those that it needs from one run to the next."""
    first: date
    days: int
    in_flight: int
    window: int = 7
    page_size: int = 100
    variant: str = ""
    """Way of loading, for peers with several."""

    @property
    def table(self) -> str:
        """The name of the table to fill."""
        return str(WORKS[self.work]["table"])

    @property
    def path(self) -> str:
        """The operation's path, without its first slash."""
        return str(WORKS[self.work]["path"])

    @property
    def fields(self) -> list[str]:
        """The fields of a row; the first identifies it."""
        return [each.split()[0] for each in WORKS[self.work]["columns"].split(",")]

    def token(self) -> str:
        """Ask the service for a token."""
        asked = urllib.request.Request(  # noqa: S310 - the sandbox's own address
            f"{self.url}/v1/token",
            json.dumps(CREDENTIALS).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(asked) as answer:  # noqa: S310 - as above
            return str(json.load(answer)["access_token"])

    def windows(self) -> Iterator[dict[str, str]]:
        """Yield the query of each request for invoices."""
        last = self.first + timedelta(days=self.days - 1)
        for number in range(0, self.days, self.window):
            start = self.first + timedelta(days=number)
            end = min(start + timedelta(days=self.window - 1), last)
            days = {"start_date": f"{start}", "end_date": f"{end}"}
            yield {"id_entity": "1", "language": "FR", **days}

    def page(self, number: int) -> dict[str, str]:
        """Return the query of one request for contacts."""
        return {"filter": "ALL", "page_size": str(self.page_size), "page_number": str(number)}


def given(works: Iterable[str] = WORKS) -> Task:
    """Read the task from the command line; its work is one of `works`."""
    options = argparse.ArgumentParser()
    options.add_argument("work", choices=works)
    options.add_argument("url")
    options.add_argument("database")
    options.add_argument("folder")
    options.add_argument("--first", type=date.fromisoformat, default=date(2025, 4, 1))
    options.add_argument("--days", type=int, default=365)
    options.add_argument("--window", type=int, default=7)
    options.add_argument("--page-size", type=int, default=100)
    options.add_argument("--in-flight", type=int, default=16)
    options.add_argument("--variant", default="")
    return Task(**vars(options.parse_args()))


def timed(load: Callable[[], dict[str, Any] | None]) -> None:
    """Run the load; print its seconds, the peak memory of its biggest process, and what it returned."""
    started = time.perf_counter()
    found = load()
    seconds = time.perf_counter() - started
    peak = max(_peak(), 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    print(json.dumps({"seconds": seconds, "peak": peak, **(found or {})}))


def _peak() -> int:
    """Return the most memory this process ever held, in bytes (VmHWM)."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])
