"""Every network fault: the same table, or a failure beyond the retry budget; each fault is triggered."""

from typing import Any

import pytest
from sqlalchemy import Engine

from bms.errors import BmsError
from bms_sandbox.faults import KINDS
from bms_sandbox.serve import Sandbox
from bms_sandbox.wrong_responses import BUGS, CORRUPTIONS
from tests.bms_flows.conftest import Extract
from tests.bms_flows.invoices.listed import empty_invoices, table_hash
from tests.support.sql import scalar, scalars

DAYS = ("2026-03-10", "2026-03-20")

READING: dict[str, dict[str, Any]] = {
    "latency": {"seconds": 0.05},
    "429": {"retry_after": 0},
    "503": {"retry_after": None},
    "reset_before_read": {},
    "reset_after_read": {},
    "token_revoked": {},
    "truncated_body": {},
    "slow_body": {"seconds": 0.1},
    "malformed_json": {},
    "gateway": {"seconds": 0.01, "origin_seconds": 0.05},
}
HARMLESS = {"latency", "slow_body"}
OF_CREATION_OR_PAGES = {
    "commit_then_lose_reply",
    "commit_then_500",
    "commit_lag",
    "list_lag",
    "page_insert",
    "page_delete",
    "unstable_order",
    "detail_lag",
    "read_only",
    "rate_limit",  # 429 to a reader, as tested by that name
}
SILENT = {*CORRUPTIONS, "stale_response"}
"""Held by the checks of loads."""
CONTRADICTIONS = set(BUGS)
"""Seen only by who asks twice in different ways: the reconciliation."""


def test_every_fault_is_covered() -> None:
    assert READING.keys() | OF_CREATION_OR_PAGES | SILENT | CONTRADICTIONS == KINDS.keys()


@pytest.mark.parametrize("kind", READING)
def test_a_passing_fault_leaves_the_same_table(
    sandbox: Sandbox, warehouse: Engine, extract: Extract, kind: str
) -> None:
    extract(*DAYS)
    before = table_hash(warehouse)
    empty_invoices(warehouse)
    sandbox.reset_counts()
    sandbox.set_fault(kind, operation="list_client_invoices", count=2, **READING[kind])
    extract(*DAYS)
    assert table_hash(warehouse) == before
    assert sandbox.truth()["faults"][kind] == 2


@pytest.mark.parametrize("kind", sorted(READING.keys() - HARMLESS))
def test_a_lasting_fault_is_red_and_publishes_nothing(
    sandbox: Sandbox, warehouse: Engine, extract: Extract, kind: str
) -> None:
    sandbox.set_fault(kind, operation="list_client_invoices", **READING[kind])
    with pytest.raises(BmsError):
        extract(*DAYS)
    assert sandbox.truth()["faults"][kind] > 0
    assert scalar(warehouse, "select count(*) from bms.client_invoice") == 0
    assert scalars(warehouse, "select state from bms.step_run") == ["failed"]
