"""The command `bms why`: timelines, stored responses, decisions, and things that are not there."""

import json
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from sqlalchemy import Engine, text

from bms_cli.app import main
from bms_flows.inquiry.stored import DIFFERS, EQUAL, GONE
from bms_flows.mirror.resource import RunOptions
from bms_flows.monitoring import alarms
from bms_flows.runtime.checks import LoadHeld
from bms_sandbox.serve import Sandbox
from tests.bms_flows.conftest import Extract
from tests.bms_flows.invoices.listed import Company, invoice
from tests.bms_flows.mirror.environment import Mirror
from tests.support.drops import add_drop, add_invalid_row, add_plan, add_row
from tests.support.sql import execute
from tests.support.steps import add_step

Why = Callable[..., tuple[int, str]]
SLOWEST_S = 2.0
PERSONAL = "Canari-Zoe"


@pytest.fixture
def why(warehouse_uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Why:
    def run(*arguments: str) -> tuple[int, str]:
        root = ("--data-root", str(tmp_path)) * (arguments[0] not in ("drop", "alarm"))
        code = main(["why", *arguments, "--url", warehouse_uri, *root])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


@pytest.fixture
def paid(sandbox: Sandbox, extract: Extract) -> dict[str, Any]:
    """An invoice that was read, paid, and read again."""
    extract("2026-03-01", "2026-03-31")
    invoices = sandbox.invoices(1, date(2026, 3, 10), date(2026, 3, 31))
    invoice: dict[str, Any] = next(
        each for each in invoices if not each["canceled"] and Decimal(each["total_due"])
    )
    sandbox.pay(1, invoice["id_invoice"])
    extract("2026-03-01", "2026-03-31")
    return invoice


def test_an_invoice_has_a_timeline_and_its_stored_responses_are_checked(
    paid: Mapping[str, Any], why: Why
) -> None:
    code, out = why("invoice", str(paid["id_invoice"]))
    assert code == 0
    assert "first seen [invoice_extraction test, step 1]" in out
    assert "changed: " in out
    assert "total_due" in out
    assert "→ 0" in out
    assert "list_client_invoices id_entity=1 start_date=2026-03-" in out
    assert out.count(EQUAL) == 2
    assert "In rotation, one of the next" in out
    assert len(out.splitlines()) < 40


def test_an_invoice_is_found_as_its_number_is_typed(
    paid: Mapping[str, Any], why: Why, warehouse: Engine
) -> None:
    number, reference = str(paid["id_invoice"]), paid["reference_number"]
    _, by_id = why("invoice", number)
    of_number = (f"#{number}", f"00{number}", f"{number[:2]} {number[2:]}")
    for given in (reference, f" {reference.lower()} ", f" {reference}\u00a0", *of_number):
        assert why("invoice", given) == (0, by_id), given
    series, _, count = reference.rpartition("-")
    for given in (
        *(reference.replace("-", " "), reference.replace("-", "\u2011")),
        *(f"{series}/{int(count)}", f"{series}-00{count}"),
    ):
        code, out = why("invoice", given)
        assert (code, out.splitlines()[0]) == (0, by_id.splitlines()[0]), given
        assert "without regard to case, signs and leading zeros" in out
    assert why("invoice", f"{series}-{count}0")[0] == 3
    for given in ("--", "%", "\u0661\u0662", "9" * 40):
        assert why("invoice", f"a{given}")[0] == 3, given
    for given in ("", " ", "\udcff", "FA\u200b1"):
        assert why("invoice", given)[0] == why("employee", given)[0] == 2, given
    execute(warehouse, "update bms.client_invoice set reference_number = 'F-7' where id_invoice in "
            "(select id_invoice from bms.client_invoice order by 1 limit 7)")  # fmt: skip
    code, out = why("invoice", "f 007")
    assert (code, out.count("reference ")) == (0, 5)
    assert "Further invoices have this number; these are 5 of them." in out


def test_personal_values_are_hidden_unless_asked_for_and_then_logged(
    sandbox: Sandbox, extract: Extract, why: Why, warehouse_uri: str
) -> None:
    extract("2026-03-01", "2026-03-31")
    invoice = sandbox.invoices(1, date(2026, 3, 10), date(2026, 3, 31))[0]["id_invoice"]
    sandbox.edit_invoice(1, invoice, client_name=PERSONAL)
    extract("2026-03-01", "2026-03-31")
    _, out = why("invoice", str(invoice))
    assert "client_name" in out
    assert PERSONAL not in out
    _, out = why("invoice", str(invoice), "--show-personal")
    assert PERSONAL in out
    assert "PostgreSQL's log records" in out
    data = unquote(urlsplit(warehouse_uri).query.partition("host=")[2].partition("&")[0])
    log = (Path(data).parent / "postgresql.log").read_text(errors="replace")
    assert f"shows personal values: bms why invoice {invoice}" in log
    assert PERSONAL not in log


def test_a_changed_file_or_row_is_noticed(
    paid: Mapping[str, Any], why: Why, warehouse: Engine
) -> None:
    execute(
        warehouse,
        "update bms.client_invoice set _row_hash = '\\x00' where id_invoice = :id",
        id=paid["id_invoice"],
    )
    _, out = why("invoice", str(paid["id_invoice"]))
    assert DIFFERS in out
    assert EQUAL in out, "the earlier version"


def test_a_missing_invoice_is_missing_from_its_response(
    sandbox: Sandbox, extract: Extract, why: Why, warehouse: Engine
) -> None:
    extract("2026-03-01", "2026-03-31")
    invoice = sandbox.invoices(1, date(2026, 3, 10), date(2026, 3, 31))[0]["id_invoice"]
    sandbox.delete_invoice(1, invoice)
    extract("2026-03-01", "2026-03-31")
    execute(warehouse, "update bms.client_invoice set _missing_since = '2026-04-01 22:30+00'")
    _, out = why("invoice", str(invoice))
    assert "missing since 2026-04-02 00:30 CEST" in out
    assert "missing: its day was read without it" in out
    assert "it lacks the invoice, as the row states" in out


@pytest.mark.parametrize("due", [(5, 0), (0, 5)])
def test_a_copy_that_was_not_loaded_is_no_change_by_hand(
    company: Company, why: Why, due: tuple[int, int]
) -> None:
    day = date(2026, 3, 2)
    company.service.rows = [invoice(1, day, total_due=each) for each in due]
    assert company.held(day)
    company.accept()
    _, out = why("invoice", "1")
    assert EQUAL in out
    held, accepted = (
        "day held for review (duplicate_ids) [invoice_extraction run 1,",
        "day accepted by marie [",
    )
    assert 0 < out.index(held) < out.index(accepted)


def test_an_expired_response_is_named(paid: Mapping[str, Any], why: Why, tmp_path: Path) -> None:
    for path in (tmp_path / "raw").rglob("*.zst"):
        path.unlink()
    _, out = why("invoice", str(paid["id_invoice"]))
    assert GONE in out


def test_an_invoice_that_is_not_there_gets_an_answer(
    paid: Mapping[str, Any], why: Why, warehouse: Engine
) -> None:
    number = paid["reference_number"]
    with warehouse.begin() as connection:
        connection.execute(
            text("delete from bms.client_invoice_superseded where reference_number = :n"),
            {"n": number},
        )
        connection.execute(
            text("delete from bms.client_invoice where reference_number = :n"), {"n": number}
        )
        connection.execute(
            text("""
                insert into bms.client_invoice_missing_number
                    (id_entity, reference_number, series, day, found_at, step_run_id)
                values (1, :n, 'FA{YYYY}-{00000}', '2026-03-11', now(), 1)
            """),
            {"n": number},
        )
        raw = f'{{"id_invoice": 71, "reference_number": "{number}"}}'
        invoices = {"resource": "client_invoice", "id_entity": 1, "field": "total_due"}
        add_invalid_row(connection, "71", "missing_money", raw, **invoices)
    code, out = why("invoice", f" {number.lower()} ")
    assert code == 3
    assert "quarantined (missing_money in total_due)" in out
    assert "has a hole at this number" in out
    code, out = why("invoice", number)
    assert "the warehouse has no such id or reference number" in out
    assert "has a hole at this number (not accepted)" in out
    assert "the nearest numbers are" in out
    assert "Entity 1: 31 days from 2026-03-01 to 2026-03-31 were read" in out
    assert "was read completely at" in out
    assert "next" in out


def test_an_invoice_of_a_held_day_is_not_said_to_be_unread(company: Company, why: Why) -> None:
    day = date(2026, 3, 2)
    company.service.rows = [invoice(1, day, total_vat=7)]
    assert company.held(day)
    text = f"Entity 1: {day}/{day} is held for review"
    assert text in why("invoice", "F1")[1], "the warehouse has published nothing yet"
    company.read(day - timedelta(days=2), day - timedelta(days=1))
    company.service.rows += [invoice(2, day + timedelta(days=2))]
    company.read(day + timedelta(days=2))
    out = why("invoice", "F1")[1]
    assert text in out
    assert f"never read: {day + timedelta(days=1)}/{day + timedelta(days=1)}, " in out


def test_an_empty_warehouse_says_so(why: Why) -> None:
    code, out = why("invoice", "4711")
    assert code == 3
    assert "No day of any entity was ever read: run invoice_extraction." in out


def test_a_contact_has_a_timeline_and_its_responses_are_checked(
    sandbox: Sandbox, mirror: Mirror, why: Why
) -> None:
    contact = sandbox.rows("contacts")[0]
    sandbox.set_dialect(datetime_format="ms")  # times without a zone, in that of the connection
    mirror.client_settings = replace(mirror.client_settings, time_zone="Asia/Tokyo")
    mirror.run()
    sandbox.edit("contacts", contact["id"], city=PERSONAL)
    mirror.run()
    code, out = why("contact", str(contact["id"]))
    assert code == 0
    assert "first seen [contact_sync run 1, step 1]" in out
    assert "city (personal)" in out
    assert PERSONAL not in out
    assert out.count(EQUAL) == 2
    assert DIFFERS not in out
    assert why("contact", contact["email"])[1] == out


def test_a_removal_that_was_held_names_the_operator_who_accepted_it(
    sandbox: Sandbox, mirror: Mirror, why: Why
) -> None:
    sandbox.fill(contacts=60)
    mirror.run()
    for number in range(1001, 1021):
        sandbox.delete("contacts", number)
    with pytest.raises(LoadHeld):
        mirror.run()
    manifest = mirror.run(asked=RunOptions(accept_gone=True, accepted_by="marie"))
    assert "accepted_by" not in manifest
    _, out = why("contact", "1005")
    held, accepted = (
        "list held for review (many_gone) [contact_sync run 2",
        "list accepted by marie [",
    )
    assert 0 < out.index(held) < out.index(accepted)


def test_a_doubled_employee_is_named(sandbox: Sandbox, mirror: Mirror, why: Why) -> None:
    one, other = (each["guid_employee"] for each in sandbox.rows("employees")[:2])
    for key in (one, other):
        sandbox.edit("employees", key, payroll_number="P-77", last_name="Zoe", first_name="Ada")
    mirror.run("employee", id_entity=1, asked=RunOptions())
    code, out = why("employee", "P-77")
    assert code == 0
    assert f"Possible duplicate, same payroll_number: {other}" in out
    assert f"Possible duplicate, same last_name and first_name: {one}" in out
    assert out.count(EQUAL) == 2


def test_a_mailbox_of_many_contacts_is_not_shown_as_one_of_few(
    sandbox: Sandbox, mirror: Mirror, why: Why
) -> None:
    for row in sandbox.rows("contacts")[:8]:
        sandbox.edit("contacts", row["id"], email="info@depot.example")
    mirror.run()
    _, out = why("contact", "info@depot.example")
    assert "More records have this id, email; the first 5 are shown." in out
    assert re.search(r"Possible duplicate, same email: (\d+, ){5}…", out)


def test_a_contact_is_found_by_its_former_address_until_it_is_gone(
    sandbox: Sandbox, mirror: Mirror, why: Why
) -> None:
    contact = sandbox.rows("contacts")[0]
    mirror.run()
    sandbox.edit("contacts", contact["id"], email="new@depot.example")
    mirror.run()
    sandbox.delete("contacts", contact["id"])
    mirror.run()
    _, out = why("contact", contact["email"])
    assert f"Contact {contact['id']}\n  Only an earlier version has this id, email." in out
    assert "Version 3: its run stored no response with this record" in out
    assert GONE not in out


def test_a_record_that_is_not_there_is_an_answer_without_its_address(
    mirror: Mirror, why: Why
) -> None:
    mirror.run()
    code, out = why("contact", "nobody@example.com")
    assert code == 3
    assert "no record with this id, email" in out
    assert re.search(r"the last complete run ended \S+ \S+ CES?T\.", out)
    assert "nobody" not in out


@pytest.fixture
def drop(warehouse: Engine) -> int:
    """A drop whose plan was approved, with a created row, one in review and one that waits."""
    at = datetime(2026, 3, 31, 8, 0, tzinfo=UTC)
    fault = {"code": "bad_date", "field": "start_date", "column": "d", "details": {}}
    rejected = {"line": 9, "action": "rejected", "faults": [fault]}
    asked = {"asked_at": at, "asked_because": [], "decided_by": "marie", "decided_at": at}
    review = {"state": "review", "reason": "attempts_used", "candidates": ["8", "9"]}
    contact: dict[str, Any] = {"resource": "contact"}
    with warehouse.begin() as connection:
        add_drop(connection, at, **contact, started_at=at)
        plan = {"state": "approved", "counts": {"create": 3}, "rows": [rejected]}
        add_plan(connection, at, **contact, **plan, **asked)
        add_row(connection, "a", at, **contact, remote_id="71")
        add_row(connection, "b", at, **contact, line=3, **review)
        add_row(connection, "c", at, **contact, line=4, state="unknown")
        events = """insert into bms.creation_event (creation_id, at, what, attempt, who, detail)
            values (1, :at, 'intended', 1, null, null), (1, :at, 'created', 1, 'paul', '71')"""
        connection.execute(text(events), {"at": at})
    return 1


def test_a_drop_shows_plan_rows_and_what_waits(drop: int, why: Why, warehouse: Engine) -> None:
    _, out = why("drop", str(drop))
    assert "Rows review: 1, attempts_used: Several attempts" in out
    assert "Rows that wait for a reviewer's decision: 1 (http://localhost:8080/bms/drops/1)" in out
    assert out.index("plan approved by marie") < out.index("sends or settles: 1")
    execute(warehouse, "update bms.creation set state = 'rejected', reason = 'refused_422'")
    execute(warehouse, "update bms.creation_plan set counts = '{}'")
    details = {"drop": drop, "file_faults": [{"code": "bad_kind", "details": {}}]}
    add_step(warehouse, step="conclude", details=details)
    _, out = why("drop", str(drop))
    assert "plan made: no rows" in out
    assert "If no run is active, trigger contact_creation" in out
    assert "bad_kind: This kind of file is not supported. Save it as .csv" in out
    assert "The service refused the creation (status 422)" in why("drop", "1", "line", "2")[1]


def test_a_code_of_another_version_stands_for_its_text(
    drop: int, why: Why, warehouse: Engine
) -> None:
    states = {"waiting": "waits_for = 'by_moonlight'", "withdrawn": "reason = 'by_moonlight'"}
    for state, reason in states.items():
        values = f"state = '{state}', {reason}, finished_at = now()"
        execute(warehouse, f"update bms.dropped_file set {values}")
        assert "by_moonlight" in why("drop", str(drop))[1]


def test_a_line_of_a_drop_shows_its_attempts_and_who_decided(drop: int, why: Why) -> None:
    _, out = why("drop", str(drop), "line", "2")
    assert "State created, attempt 1 of 5, record 71" in out
    assert "created, attempt 1 (71), decided by paul" in out
    assert "Nothing: the row has its outcome." in out
    _, out = why("drop", str(drop), "line", "3")
    assert "Candidates: 8, 9." in out
    assert "A reviewer decides: http://localhost:8080/bms/drops/1" in out
    _, out = why("drop", str(drop), "line", "9")
    assert "Plan: action rejected\n  bad_date (start_date): Not a date. Write 2026-12-31." in out
    codes = [why("drop", *each.split())[0] for each in ("1 line 77", "99", "1 row 2")]
    assert codes == [3, 3, 2]


def test_a_record_shows_the_drop_that_created_it(
    drop: int, sandbox: Sandbox, mirror: Mirror, why: Why, warehouse: Engine
) -> None:
    contact = sandbox.rows("contacts")[0]["id"]
    mirror.run()
    execute(warehouse, "update bms.creation set remote_id = :id where id = 1", id=str(contact))
    _, out = why("contact", str(contact))
    assert f"drop {drop} line 2: created, attempt 1" in out


def test_an_open_alarm_says_what_it_waits_for(warehouse: Engine, why: Why) -> None:
    since = datetime.now(UTC) - timedelta(hours=3)
    with warehouse.begin() as connection:
        alarms.raise_(
            connection,
            "failed",
            "contact_sync",
            detail="Task sync failed after attempt 3: Throttled.",
            flow="contact_sync",
            dag_run_id="r1",
            since=since,
            extent=alarms.Extent({"Throttled"}),
        )
        reason = "the service answered 429"
        add_step(connection, dag_run_id="r1", state="failed", reason=reason)
    code, out = why("alarm", "1")
    assert code == 0
    assert "Alarm 1: contact_sync (Throttled), open, can wait until morning" in out
    assert "step sync failed: the service answered 429 [contact_sync r1, step 1]" in out
    assert "A failed step of r1 was not repeated: clear its task, or load its days." in out
    assert why("alarm", "2")[0] == 3


def test_a_held_day_is_named_as_the_cause(warehouse: Engine, why: Why) -> None:
    with warehouse.begin() as connection:
        connection.execute(
            text("""
                insert into bms.client_invoice_finding
                    (id_entity, day, codes, held, attempted_at, found_at, step_run_id)
                values (1, '2026-03-10', '{drop}', true, now(), now(), 1)
            """)
        )
        alarms.raise_(
            connection, "suspect", "invoice_extraction", detail="Held.", flow="invoice_extraction"
        )
    _, out = why("alarm", "1")
    assert "Held: 1 day of entity 1 (drop). It closes once they are read again plausibly" in out


@pytest.mark.prove
def test_a_thousand_random_rows_agree_with_the_stored_bytes(
    sandbox: Sandbox, extract: Extract, mirror: Mirror, why: Why, warehouse: Engine
) -> None:
    """Every digest is equal, and every answer takes two seconds at most; the start of Python excluded."""
    extract("2025-06-01", "2026-03-31")
    for each in sandbox.invoices(1, date(2025, 6, 1), date(2026, 3, 31))[::7]:
        sandbox.pay(1, each["id_invoice"])
    extract("2025-06-01", "2026-03-31")
    for name in ("contact", "consultant"):
        mirror.run(name)
    mirror.run("employee", id_entity=1, asked=RunOptions())
    for name, key in (("contacts", "id"), ("consultants", "id"), ("employees", "guid_employee")):
        for row in sandbox.rows(name)[::3]:
            sandbox.edit(name, row[key], country="Utopia" if name != "employees" else None, first_name="Zoe")  # fmt: skip
    for name in ("contact", "consultant"):
        mirror.run(name)
    mirror.run("employee", id_entity=1, asked=RunOptions())
    rows: list[tuple[str, str]] = []
    with warehouse.connect() as connection:
        rows += [
            ("invoice", str(key))
            for key in connection.scalars(
                text("select id_invoice from bms.client_invoice order by 1")
            )
        ]
        for name, key in (("contact", "id"), ("consultant", "id"), ("employee", "guid_employee")):
            rows += [
                (name, str(k)) for k in connection.scalars(text(f"select {key} from bms.{name}"))
            ]
    chosen = random.Random(31).choices(rows, k=1000)
    slowest, checked = 0.0, 0
    for kind, key in chosen:
        started = time.perf_counter()
        code, out = why(kind, key, "--json")
        slowest = max(slowest, time.perf_counter() - started)
        [answer] = json.loads(out)["answers"]
        assert code == 0
        assert [each for each in answer["stored"] if EQUAL not in each] == [], (kind, key)
        checked += len(answer["stored"])
    assert checked > len(chosen), "versions before the current ones, too"
    assert slowest <= SLOWEST_S, f"{checked} versions"
