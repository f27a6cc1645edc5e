"""A real sandbox and a real warehouse for the flows."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine
from upath import UPath

from bms.client import Client
from bms.settings import ClientSettings
from bms_flows.invoices.run import extract_unit
from bms_flows.invoices.units import Unit
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.step_log import Step
from bms_flows.runtime.windows import Window
from bms_sandbox.serve import Sandbox, running
from tests.bms_flows.invoices.listed import Company, ListedInvoices, serving
from tests.bms_flows.mirror.environment import Mirror

TODAY = date(2026, 3, 31)


@pytest.fixture(scope="session")
def service() -> Iterator[Sandbox]:
    """The sandbox of the session, with a frozen clock."""
    options = ("--today", TODAY.isoformat(), "--frozen", "--invoices-per-day", "5")
    with running(options=options) as sandbox:
        yield sandbox


@pytest.fixture
def client_settings(sandbox: Sandbox) -> ClientSettings:
    """Settings that are right for the sandbox's default dialect; waits are short."""
    return ClientSettings(base_url=sandbox.url, backoff_cap=0.02, **asdict(sandbox.credentials))


@pytest.fixture
def mirror(
    sandbox: Sandbox, warehouse: Engine, tmp_path: Path, client_settings: ClientSettings
) -> Mirror:
    """An empty mirror."""
    return Mirror(sandbox, warehouse, tmp_path, client_settings)


Extract = Callable[..., dict[str, Any]]


@pytest.fixture
def extract(warehouse: Engine, client_settings: ClientSettings, tmp_path: Path) -> Extract:
    """Extract days of an entity, `extract("2026-03-01", "2026-03-31")`; returns the manifest."""

    def run(
        start: str,
        end: str,
        *,
        id_entity: int = 1,
        language: Any = "FR",
        settings: FlowSettings | None = None,
        base_path: str = "",
        **client: Any,
    ) -> dict[str, Any]:
        window = Window(date.fromisoformat(start), date.fromisoformat(end))
        base_url = client_settings.base_url + base_path
        flow = FlowContext(warehouse, UPath(tmp_path), settings or FlowSettings())
        step = Step("invoice_extraction", "test", "extract", id_entity, window.start, window.end)
        return asyncio.run(
            extract_unit(
                Client(replace(client_settings, base_url=base_url, **client)),
                flow,
                Unit(id_entity, (window,)),
                step,
                language=language,
            )
        )

    return run


@pytest.fixture(scope="session")
def listing_service() -> Iterator[ListedInvoices]:
    """The service of the whole session that lists what a test gives it."""
    with serving() as service:
        yield service


@pytest.fixture
def company(listing_service: ListedInvoices, warehouse: Engine, tmp_path: Path) -> Company:
    """A company whose service lists nothing yet, and an empty warehouse."""
    listing_service.rows, listing_service.order = [], None
    listing_service.lost, listing_service.asked = set(), []
    listing_service.refused_from = None
    return Company(warehouse, tmp_path, listing_service)


@pytest.fixture
def bucket(s3_server: str) -> UPath:
    """An empty bucket of the test's own."""
    root = UPath(
        f"s3://drops-{uuid4().hex}",
        key="test",
        secret="test",
        endpoint_url=s3_server,
        skip_instance_cache=True,
    )
    root.fs.mkdir(root.path.strip("/"))
    return root


@pytest.fixture(params=["disk", "s3"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> UPath:
    """An empty data root, once on a disk and once on an object store."""
    if request.param == "disk":
        return UPath(tmp_path)
    found: UPath = request.getfixturevalue("bucket")
    return found
