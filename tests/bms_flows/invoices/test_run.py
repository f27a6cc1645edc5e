"""Extraction of a unit, over real HTTP into a real PostgreSQL, compared with the sandbox's ground truth."""

from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Engine, event, select, text

from bms_flows.invoices import run
from bms_sandbox.serve import Sandbox
from bms_warehouse.errors import WarehouseError
from bms_warehouse.queries.records import run_summary
from bms_warehouse.tables import step_run
from tests.bms_flows.conftest import Extract
from tests.bms_flows.invoices.listed import Company, invoice, table_hash
from tests.support.sql import execute, fetch, scalar, scalars

MARCH = ("2026-03-01", "2026-03-31")
COUNTS = ("rows_read", "inserted", "changed", "unchanged", "quarantined", "missing")


def counts(manifest: dict[str, Any]) -> dict[str, int]:
    return {name: manifest[name] for name in COUNTS if manifest[name]}


def truth(sandbox: Sandbox, id_entity: int = 1) -> list[dict[str, Any]]:
    return sandbox.invoices(id_entity, *map(date.fromisoformat, MARCH))


def test_the_table_equals_the_service(
    sandbox: Sandbox, warehouse: Engine, extract: Extract
) -> None:
    held = {row["id_invoice"]: row for row in truth(sandbox)}
    manifest = extract(*MARCH)
    assert counts(manifest) == {"rows_read": len(held), "inserted": len(held)}
    rows = fetch(warehouse, "select * from bms.client_invoice")
    stored = {row.id_invoice: row._mapping for row in rows}
    assert stored.keys() == held.keys()
    for key, row in held.items():
        for amount in ("total_excl_vat", "total_vat", "total_incl_vat", "total_due"):
            assert stored[key][amount] == Decimal(row[amount])
        assert stored[key]["invoice_date"].isoformat() == row["invoice_date"][:10]
        assert stored[key]["client_name"] == row["client_name"]
        assert stored[key]["sent"] == row["sent"]


def test_another_language_changes_nothing_and_keeps_its_names(
    warehouse: Engine, extract: Extract
) -> None:
    extract(*MARCH, language="EN")
    before = table_hash(warehouse)
    assert counts(extract(*MARCH, language="FR")).keys() == {"rows_read", "unchanged"}
    assert table_hash(warehouse) == before
    names = fetch(
        warehouse,
        "select language, name from bms.code_name where field = 'status' and code = 'PAID'",
    )
    assert sorted(names) == [("EN", "Paid"), ("FR", "Payée")]


def test_a_row_read_in_another_language_shows_the_known_name(
    warehouse: Engine, extract: Extract
) -> None:
    extract("2026-03-01", "2026-03-15", language="FR")
    extract("2026-03-16", "2026-03-31", language="EN")
    shown = scalars(
        warehouse, "select distinct status_name from bms.client_invoice where status = 'PAID'"
    )
    assert shown == ["Payée"]


def test_a_change_becomes_a_version(sandbox: Sandbox, warehouse: Engine, extract: Extract) -> None:
    extract(*MARCH)
    due = next(row for row in truth(sandbox) if Decimal(row["total_due"]) > 0)
    sandbox.pay(1, due["id_invoice"])
    assert extract(*MARCH)["changed"] == 1
    versions = "select _version, total_due from bms.client_invoice_version where id_invoice = :id order by 1"
    assert fetch(warehouse, versions, id=due["id_invoice"]) == [
        (1, Decimal(due["total_due"])),
        (2, 0),
    ]


def test_an_invoice_that_no_longer_comes_back_is_marked_and_returns(
    sandbox: Sandbox, warehouse: Engine, extract: Extract
) -> None:
    extract(*MARCH)
    gone = truth(sandbox)[3]
    sandbox.delete_invoice(1, gone["id_invoice"])
    assert extract(*MARCH)["missing"] == 1
    assert extract(*MARCH)["missing"] == 0
    marked = scalars(
        warehouse, "select id_invoice from bms.client_invoice where _missing_since is not null"
    )
    assert marked == [gone["id_invoice"]]
    sandbox.reset()
    assert counts(extract(*MARCH))["changed"] == 1
    assert scalar(warehouse, "select max(_version) from bms.client_invoice") == 3


def test_control_totals_are_exact(sandbox: Sandbox, warehouse: Engine, extract: Extract) -> None:
    extract(*MARCH)
    with warehouse.connect() as connection:
        (step,) = run_summary(connection, "test")
    expected: dict[str, Decimal] = {}
    for row in truth(sandbox):
        expected[row["currency"]] = expected.get(row["currency"], Decimal(0)) + Decimal(
            row["total_incl_vat"]
        )
    assert {c: total["total_incl_vat"] for c, total in step["totals"].items()} == expected


def test_two_entities_are_stored_independently(
    sandbox: Sandbox, warehouse: Engine, extract: Extract
) -> None:
    extract(*MARCH, id_entity=1)
    extract(*MARCH, id_entity=2)
    assert extract(*MARCH, id_entity=1)["missing"] == 0
    held = fetch(
        warehouse, "select id_entity, count(*) from bms.client_invoice group by 1 order by 1"
    )
    assert held == [(1, len(truth(sandbox, 1))), (2, len(truth(sandbox, 2)))]


def test_a_failure_publishes_nothing_and_is_recorded(
    sandbox: Sandbox, warehouse: Engine, extract: Extract
) -> None:
    sandbox.set_dialect(granted_scopes=["read:contact"])
    with pytest.raises(Exception, match="read:invoice_client"):
        extract(*MARCH)
    with warehouse.connect() as connection:
        assert connection.scalar(select(step_run.c.state)) == "failed"
        assert connection.scalar(text("select count(*) from bms.client_invoice")) == 0


def test_a_load_makes_way_for_a_session_that_waits_to_lock_its_table(
    warehouse: Engine, extract: Extract, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise its queries wait for that session, which waits for the load."""
    monkeypatch.setattr(run, "LOCKED_S", 1)
    waits = text("select count(*) from pg_locks where not granted")
    with ThreadPoolExecutor() as pool, warehouse.connect() as other:

        def lock_meanwhile(_c: object, _cursor: object, statement: str, *_: object) -> None:
            if statement.startswith("create temporary table client_invoice_staging"):
                locked.append(pool.submit(execute, warehouse, "lock table bms.client_invoice"))
                while not other.scalar(waits):
                    other.rollback()

        locked: list[Future[None]] = []
        event.listen(warehouse, "after_cursor_execute", lock_meanwhile)
        with pytest.raises(WarehouseError, match="55P03"):
            extract(*MARCH)
        event.remove(warehouse, "after_cursor_execute", lock_meanwhile)
        locked[0].result()
    assert counts(extract(*MARCH))["rows_read"]


def test_a_manifest_fits_an_xcom(extract: Extract) -> None:
    assert len(str(extract("2026-01-01", "2026-03-31"))) < 2000


def test_the_noise_of_binary_numbers_makes_no_row_invalid(company: Company) -> None:
    day = date(2026, 3, 2)
    noisy = {"total_excl_vat": 1.1 * 1.1, "total_vat": 0, "total_incl_vat": 1.21}
    company.service.rows = [invoice(1, day, **noisy, total_due=5.684341886080802e-14)]
    assert company.read(day)["quarantined"] == 0
    [stored] = fetch(company.warehouse, "select total_excl_vat, total_due from bms.client_invoice")
    assert tuple(stored) == (Decimal("1.21"), 0)
    assert company.read(day)["unchanged"] == 1


@pytest.mark.parametrize(
    ("problem", "code"),
    [({"currency": "E\0R"}, "bad_text"), ({"total_vat": "0.0000000001"}, "bad_amount")],
    ids=["text", "amount"],
)
def test_an_invalid_row_is_quarantined_until_it_is_valid(
    sandbox: Sandbox, warehouse: Engine, extract: Extract, problem: dict[str, Any], code: str
) -> None:
    """It came in an answer of many days; a later run reads another day, then its own."""
    invalid = next(row for row in truth(sandbox) if row["invoice_date"] == "2026-03-04")
    key = invalid["id_invoice"]
    sandbox.edit_invoice(1, key, **problem)
    week = extract("2026-03-01", "2026-03-07")
    assert counts(week) == {
        "rows_read": week["rows_read"],
        "inserted": week["rows_read"] - 1,
        "quarantined": 1,
    }
    quarantined = "select row_key, code, first_day from bms.quarantine"
    sandbox.reset()
    extract("2026-03-01", "2026-03-01")
    assert fetch(warehouse, quarantined) == [(str(key), code, date(2026, 3, 4))]
    assert extract("2026-03-04", "2026-03-04")["inserted"] == 1
    assert fetch(warehouse, quarantined) == []
