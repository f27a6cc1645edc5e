"""The demo's comparisons with a real sandbox and a real warehouse: each must detect a difference."""

from collections.abc import Iterator
from datetime import date
from http.client import RemoteDisconnected
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bms_sandbox.serve import Sandbox
from bms_sandbox.serve import running as running_sandbox
from stack import proofs
from stack.api import AirflowApi
from stack.launcher import Running
from stack.paths import StackPaths
from stack.processes import StackError
from tests.bms_sandbox.caller import Caller

DAYS = date(2026, 3, 23), date(2026, 3, 24)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with running_sandbox(options=("--today", "2026-03-31", "--frozen")) as found:
        yield found


@pytest.fixture
def demo(sandbox: Sandbox, warehouse_uri: str, tmp_path: Path) -> Iterator[Running]:
    """A stack of which only the sandbox and the warehouse run."""
    sandbox.reset()
    sandbox.reset_counts()
    paths = StackPaths.from_environ({"BMS_LOCAL_DIR": str(tmp_path)})
    api = AirflowApi("http://127.0.0.1:1", "user", "password")
    uri = warehouse_uri.replace("postgresql+psycopg:", "postgresql:")
    yield Running("", "", "", uri, "", paths, {}, api, sandbox.url)
    api.close()


@pytest.fixture
def caller(sandbox: Sandbox, demo: Running) -> Caller:
    """A caller with a token of the reset sandbox."""
    assert demo.sandbox == sandbox.url
    found = Caller(sandbox)
    found.login()
    return found


def create(caller: Caller, number: str) -> None:
    body = {
        "id_entity": 1,
        "payroll_number": number,
        "first_name": "Ada",
        "last_name": "Martin",
        "start_date": "2026-05-01",
    }
    assert caller.post("/v1/HR/employees", body).status < 300


def test_a_lost_response_without_a_duplicate_is_proven(
    demo: Running, sandbox: Sandbox, caller: Caller
) -> None:
    sandbox.set_fault(proofs.LOST, "create_employee", count=1)
    with pytest.raises((RemoteDisconnected, OSError)):
        create(caller, "900001")
    create(caller, "900002")
    subject, finding = proofs.lost_response(demo, expected=2)
    assert (subject, finding[:26]) == ("Lost response", "1 injected: 2 employees ex")
    create(caller, "900001")  # as a client that sends again
    with pytest.raises(StackError, match="created 3 employees for 2 rows"):
        proofs.lost_response(demo, expected=2)


def test_a_response_that_was_not_lost_proves_nothing(demo: Running, caller: Caller) -> None:
    create(caller, "900001")
    with pytest.raises(StackError, match="lost no response"):
        proofs.lost_response(demo, expected=1)


def test_a_contact_that_is_missing_in_the_warehouse_is_detected(
    demo: Running, sandbox: Sandbox, caller: Caller
) -> None:
    with pytest.raises(StackError, match="no contact moved"):
        proofs.moved_contacts(demo)
    sandbox.set_fault(proofs.MOVED, "list_contacts", count=1)
    assert caller.get("/v1/CRM/contacts", filter="ALL", page_number=2).status == 200
    ids = [row["id"] for row in sandbox.rows("contacts") if not row["deleted"]]
    insert(demo, "contact", [{"id": each, "deleted": False} for each in ids[1:]])
    with pytest.raises(StackError, match=f"1 of {len(ids)} contacts"):
        proofs.moved_contacts(demo)
    insert(demo, "contact", [{"id": ids[0], "deleted": False}])
    assert proofs.moved_contacts(demo)[1] == (
        f"1 injected: all {len(ids)} undeleted contacts are in the warehouse"
    )


def test_an_amount_that_differs_by_a_cent_is_detected(demo: Running, sandbox: Sandbox) -> None:
    steps = [{"id_entity": 1, "window_start": DAYS[0], "window_end": DAYS[1]}]
    names = ("id_entity", "id_invoice", "invoice_date", "currency", "total_incl_vat")
    rows = [{name: row[name] for name in names} for row in sandbox.invoices(1, *DAYS)]
    insert(demo, "client_invoice", rows)
    found = proofs.amounts(demo, steps)
    assert found == ("Amounts", f"all {len(rows)} invoices have the service's total, to the cent")
    with psycopg.connect(demo.warehouse) as connection:
        connection.execute(
            "update bms.client_invoice set total_incl_vat = total_incl_vat + 0.01"
            " where id_invoice = %s",
            [rows[0]["id_invoice"]],
        )
    with pytest.raises(StackError, match="1 of"):
        proofs.amounts(demo, steps)


def insert(demo: Running, table: str, rows: list[dict[str, Any]]) -> None:
    """Insert rows with the columns that the test needs."""
    columns = list(rows[0])
    more = {"_row_hash": "'\\x00'", "_version": "1", "_step_run_id": "1"}
    more |= {"_first_seen_at": "now()", "_changed_at": "now()"}
    more |= {"_detailed": "true"} if table == "contact" else {}
    values = ", ".join([*(["%s"] * len(columns)), *more.values()])
    statement = f"insert into bms.{table} ({', '.join([*columns, *more])}) values ({values})"
    with psycopg.connect(demo.warehouse) as connection:
        connection.cursor().executemany(statement, [list(row.values()) for row in rows])
