"""Data of the board's pages, read as the board does; prints the longest time of a page as JSON."""

import argparse
import json
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from bms_flows.runtime.settings import FlowSettings
from bms_provider.board.access import Viewer
from bms_provider.board.flows import FLOWS
from bms_provider.board.queries import overview, pages
from bms_warehouse import database
from tests.support.measurement import peak_memory

OPENED = ("invoice_extraction", "contact_sync")
"""Flows whose pages are opened besides the overview."""
EVERYONE = cast("Viewer", SimpleNamespace(views=frozenset(FLOWS), edits=frozenset(FLOWS)))


def main() -> None:
    """Read the data of each page twice; the second time counts, since caches are warm then."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("database")
    given = options.parse_args()
    settings = FlowSettings()
    engine = database.connect(given.database)
    with engine.connect() as connection:
        shown: list[Callable[[], Any]] = [
            lambda: overview.overview(connection, EVERYONE, settings),
            *(lambda name=name: pages.flow_page(connection, name, settings) for name in OPENED),
        ]
        for page in shown:
            page()
        longest = max(timed(page) for page in shown)
    engine.dispose()
    print(json.dumps({"seconds": longest, "peak": peak_memory()}))


def timed(page: Callable[[], Any]) -> float:
    """Return the seconds that a page takes."""
    started = time.perf_counter()
    page()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
