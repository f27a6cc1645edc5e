"""Content and response time of the overview, with generated history."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

from bms_flows.monitoring import alarms
from bms_provider.board import warehouse as board_warehouse
from bms_provider.board.flows import FLOWS
from tests.bms_provider.board import history
from tests.bms_provider.board.conftest import Visit
from tests.support.sql import execute
from tests.support.steps import add_step


@pytest.fixture
def month(warehouse: Engine) -> Engine:
    """A warehouse with the history of 40 days."""
    history.fill(warehouse, days=40)
    return warehouse


def plain(page: str) -> str:
    """Return the text of a page without markup."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page))).replace("\u202f", " ")


@pytest.mark.usefixtures("month")
def test_the_overview_shows_states_trends_and_pending_items_with_the_page_on_which_to_act(
    visit: Visit,
) -> None:
    page = visit("viewer").get("/bms/").text
    shown = plain(page)
    for expected in (
        "Consultants: late",
        "The last complete load is 3 d 2 h old",
        "Drop 104 waits for approval: 24 to create",
        "Drop 103: 1 row with an unknown outcome",
        "Drop 102: 2 rows need a decision",
        "Drop 105 cannot be processed yet",
        "4 differences between dropped contacts and the CRM",
        "Quarantined rows by reason",
        "missing_money",
        "warehouse_differs",
        "3 findings , 0 undetermined",
        "Amount per day without VAT, EUR",
        "New employees: rows by outcome",
        "Contacts: new, changed, missing",
    ):
        assert expected in shown, expected
    answer = '<a href="/airflow/dags/employee_onboarding/runs/manual__104/required_actions" target="_top">'
    assert answer in page
    assert '<a href="/airflow/dags/consultant_sync/runs/scheduled__x" target="_top">' in page
    assert '<a href="/airflow/bms/drops/103">' in page
    probe = plain(visit("viewer").get("/bms/flows/service_contract").text)
    assert "page_size_limit At most 100 rows come in one page, whatever is asked." in probe


def test_an_alarm_shows_its_remedy_and_who_acknowledged_it(visit: Visit, warehouse: Engine) -> None:
    with warehouse.begin() as connection:
        alarms.raise_(
            connection, "failed", "contact_sync", detail="Task sync failed.", flow="contact_sync"
        )
        [found] = alarms.open_alarms(connection)
        until = datetime.now(UTC) + timedelta(hours=8)
        alarms.acknowledge(connection, found.id, until, name="Ada Martin", note="known outage")
    shown = plain(visit("viewer").get("/bms/").text)
    assert "Contacts: failed, can wait until morning" in shown
    assert "Acknowledged by Ada Martin until" in shown
    assert ": known outage" in shown
    assert "The end of the task's log names the error" in shown


def test_the_overview_shows_the_audit_cycle_and_the_differing_part(
    visit: Visit, warehouse: Engine
) -> None:
    cycle = {"cycle": {"contact": {"days": 56, "total": 334, "unit": "parts"}}}
    add_step(warehouse, flow="reconciliation", step="audit", details=cycle)
    with warehouse.begin() as connection:
        connection.execute(
            text(
                """
                insert into bms.reconciliation (resource, id_entity, day, part, parts, state, reasons,
                    found, pending, rows, rows_compared, changed_meanwhile, checked_at, step_run_id)
                values ('contact', 0, current_date, 3, 334, 'not_reconciled', '{detail_differs}', '{}',
                    '{}', '{}', 300, 0, now(), 1)
                """
            )
        )
    shown = plain(visit("viewer").get("/bms/").text)
    assert "Duration of a full audit cycle: contact 56 days (334 parts)" in shown
    assert "part 3 of 334" in shown


@pytest.mark.usefixtures("month")
def test_control_totals_are_compared_with_the_previous_load(visit: Visit) -> None:
    page = visit("viewer").get("/bms/").text
    section = page[page.index('id="totals"') : page.index('id="charts"')]
    lines = [plain(each) for each in section.split("<tr>")[2:]]
    assert len(lines) == history.ENTITIES * 3
    for line in lines:
        assert re.search(r"\d 000 \d{3}\.00 [+\u2212]\d", line), line


def test_the_last_complete_load_is_the_load_that_freshness_counts(
    visit: Visit, warehouse: Engine
) -> None:
    """A later run of a part of the list is complete but does not count for freshness."""
    for run, hours, rows, whole in (
        ("scheduled__1", 3, 4000, True),
        ("scheduled__2", 2, 5000, True),
        ("manual__part", 1, 7, False),
    ):
        at = datetime.now(UTC) - timedelta(hours=hours)
        counts: dict[str, Any] = {"rows_read": rows, "unchanged": rows, "details": {"whole": whole}}
        add_step(warehouse, at, dag_run_id=run, **counts)
    page = visit("viewer").get("/bms/").text
    row = page[page.index('id="flows"') :]
    row = row[row.index('/bms/flows/contact_sync"') :]
    row = row[: row.index("</tr>")]
    assert re.findall(r"/contact_sync/runs/([^\"]+)", row) == ["scheduled__2"]
    assert "2 h of" in plain(row)
    assert re.search(r'data-name="Read" class="n">5\u202f000<', row)


def test_the_overview_of_an_empty_warehouse_states_that_no_flow_ran(visit: Visit) -> None:
    shown = plain(visit("viewer").get("/bms/").text)
    assert "No flow ran yet" in shown
    assert "Never ran" in shown


HEADLINES = [
    ("", "All flows healthy"),
    (
        "delete from bms.step_run where flow not in ('retention', 'reconciliation')",
        "2 healthy, 9 never ran",
    ),
    (
        """update bms.step_run set state = 'failed', reason = 'x' where flow = 'retention'""",
        "1 unhealthy, 10 healthy",
    ),
    (
        """delete from bms.step_run where flow = 'service_contract';
        update bms.step_run set state = 'failed', reason = 'x' where flow in ('retention', 'contact_sync')""",
        "2 unhealthy, 8 healthy, 1 never ran",
    ),
]


@pytest.mark.parametrize(("change", "headline"), HEADLINES)
def test_the_headline_counts_flows_that_never_ran(
    visit: Visit, warehouse: Engine, change: str, headline: str
) -> None:
    with warehouse.begin() as connection:
        for flow in FLOWS.values():
            details = {"ending": "refused"} if flow.creates else {}
            add_step(connection, flow=flow.dag_id, step=flow.last_step, details=details)
        connection.execute(text("update bms.step_run set window_end = current_date"))
        for statement in filter(None, change.split(";")):
            connection.execute(text(statement))
    page = visit("viewer").get("/bms/").text
    assert re.findall("<h1>(.*)</h1>", page) == [headline]


def test_rejected_rows_of_a_drop_are_not_quarantined_and_a_refused_file_is_not_complete(
    visit: Visit, warehouse: Engine
) -> None:
    none = dict.fromkeys(("created", "adopted", "already_there", "needs_review", "waiting"), 0)
    counts: dict[str, Any] = {"dag_run_id": "manual__1", "rows_read": 4, "quarantined": 4}
    details = {"drop": 1, "ending": "refused", **none, "rejected": 4}
    add_step(warehouse, flow="contact_creation", step="conclude", **counts, details=details)
    client = visit("viewer")
    row = plain(client.get("/bms/").text.partition('id="creations"')[2].partition("</section>")[0])
    assert "Quarantined" not in row
    (shown,) = re.findall("New contacts (.*?) New consultants", row)
    assert re.fullmatch(r"Refused \d+ \w+ 2\d+, \d\d:\d\d 0 0 0 4 0 0", shown.strip()), shown
    for page in ("flows/contact_creation", "flows/contact_creation/runs/manual__1"):
        found = plain(client.get(f"/bms/{page}").text)
        assert "Complete" not in found, page
        assert "Quarantined" not in found, page
    assert re.search("Refuse.* Rejected 4 ", found)


def test_the_number_of_queries_does_not_grow_with_the_warehouse(
    visit: Visit, month: Engine
) -> None:
    """The page sends as many queries for 40 days of loads as for a tenth of the loads."""
    queries: list[str] = []
    client = visit("viewer")
    client.get("/bms/")
    (engine,) = board_warehouse._engines.values()
    event.listen(engine, "before_cursor_execute", lambda *given: queries.append(given[2]))
    client.get("/bms/")
    before = len(queries)
    execute(
        month,
        """delete from bms.step_run where id % 10 > 0 and id not in
                (select max(id) from bms.step_run where state = 'complete' group by flow)""",
    )
    queries.clear()
    client.get("/bms/")
    assert len(queries) == before < 40


@pytest.mark.prove
def test_a_year_of_history_is_shown_within_200_ms(
    visit: Visit, warehouse: Engine, figure: Callable[[str], None]
) -> None:
    history.fill(warehouse)
    client = visit("viewer")
    for page in ("/", "/flows/invoice_extraction", "/flows/contact_sync", "/drops/103", "/health"):
        took = []
        for _ in range(9):
            began = time.perf_counter()
            assert client.get(f"/bms{page}").status_code == 200
            took.append(1000 * (time.perf_counter() - began))
        took.sort()
        figure(f"board, a year of history, {page}: {took[0]:.0f} ms, median {took[4]:.0f} ms")
        assert took[0] < 200, page


@pytest.mark.usefixtures("month")
def test_the_page_of_a_flow_shows_its_deadline_by_month(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BMS_FRESH_BY", '{"employee_directory": "07:30"}')
    client = visit("viewer")
    shown = plain(client.get("/bms/flows/employee_directory").text)
    assert re.search(r"Newest day: \w+day \d+ \w+ 20\d\d\s*; deadline 07:30 on working days", shown)
    assert re.search(r"Deadline by month Month Kept Missed Causes 20\d\d-\d\d \d+ \d+", shown)
    assert re.search(r"has \w{3} \d+ \w+ 20\d\d", plain(client.get("/bms/").text))
