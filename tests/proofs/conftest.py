"""Fixtures of the proofs: a PostgreSQL server that proofs may stop, and a sandbox to compare with."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_flows.onboarding.settings import OnboardingSettings
from bms_sandbox.serve import Sandbox, running
from bms_warehouse import database
from proofs import flows
from proofs.kill_invoices import Killing
from tests.bms_flows.onboarding.conftest import csv
from tests.bms_flows.onboarding.onboarding import QUICK, Run
from tests.support.warehouse_server import WarehouseServer, warehouse_server

KEYS = Counter(["900001", "900002"])
FILE = csv("900001;Lefèvre;Aurélie;2026-05-15;", "900002;Martin;Paul;2026-05-15;900001")


@pytest.fixture(scope="module")
def here() -> Iterator[WarehouseServer]:
    """A PostgreSQL that a proof may stop and start."""
    with warehouse_server() as made:
        yield made


@pytest.fixture(scope="module")
def service() -> Iterator[Sandbox]:
    """A sandbox with few rows: proofs repeat much, and small."""
    options = ("--today", "2026-03-31", "--frozen", "--invoices-per-day", "5", "--contacts", "12")
    with running(options=options) as sandbox:
        yield sandbox


@pytest.fixture
def killing(sandbox: Sandbox, here: WarehouseServer, tmp_path: Path) -> Killing:
    """An extraction with an older load beneath it, and what an undisturbed one comes to."""
    return Killing(sandbox, here.warehouse, tmp_path)


Drop = Callable[..., Run]


@pytest.fixture
def drop(sandbox: Sandbox, here: WarehouseServer) -> Drop:
    """Enter `FILE` as a drop in a separate warehouse; the service's clock runs, so that lags end."""

    def entered(settings: OnboardingSettings = QUICK) -> Run:
        sandbox.reset()
        sandbox.set_clock(datetime.now(UTC), frozen=False)
        sandbox.set_latency(0.05)  # a create takes longer than a service check
        sandbox.reset_counts()
        uri = here.warehouse()
        engine = database.connect(uri)
        number = claim.claim_file(engine, "employee", FoundFile("a.csv", len(FILE), "1")).id
        engine.dispose()
        service = replace(flows.service(sandbox.url), backoff_cap=0.02)
        return Run(uri, service, number, FILE, settings=settings)

    return entered
