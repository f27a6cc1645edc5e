"""Held days: stored and not published, then published unchanged once an operator accepts them."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from upath import UPath

from bms_flows.invoices.acceptance import accept_unit
from bms_flows.invoices.planning import held_loads
from bms_flows.invoices.raw import ResponsesMissing
from bms_flows.invoices.units import Unit
from bms_flows.rebuild import rebuild
from bms_flows.runtime.checks import LoadHeld
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.step_log import Step
from bms_flows.runtime.windows import Window
from bms_sandbox.serve import Sandbox
from tests.bms_flows.conftest import Extract
from tests.support.sql import execute, fetch, scalar, scalars

MARCH = ("2026-03-01", "2026-03-31")


@pytest.fixture
def suspect(sandbox: Sandbox, extract: Extract) -> None:
    """A load of March that is held for a day with an amount that is off by a cent."""
    extract(*MARCH)
    sandbox.set_fault("wrong_amount", operation="list_client_invoices", count=1)
    with pytest.raises(LoadHeld, match="amounts_differ"):
        extract(*MARCH)


@pytest.fixture
def held(sandbox: Sandbox, extract: Extract) -> None:
    """A load of March that is held for all days with invoices: their currency is gone."""
    extract(*MARCH)
    sandbox.set_dialect(shown_forms="currency=null")
    with pytest.raises(LoadHeld, match="currency_gone"):
        extract(*MARCH)


def day_of(sandbox: Sandbox, id_invoice: int) -> date:
    rows = sandbox.invoices(1, date(2026, 3, 1), date(2026, 3, 31))
    [row] = [row for row in rows if row["id_invoice"] == id_invoice]
    return date.fromisoformat(row["invoice_date"])


def states(warehouse: Engine) -> list[str]:
    return list(scalars(warehouse, "select state from bms.step_run order by id"))


def versions(warehouse: Engine) -> int:
    return int(scalar(warehouse, "select max(_version) from bms.client_invoice") or 0)


def quarantined(warehouse: Engine) -> dict[str, int]:
    """The rows in quarantine, each with the step that last saw it."""
    rows = fetch(warehouse, "select row_key, step_run_id from bms.quarantine")
    return {row_key: step_run_id for row_key, step_run_id in rows}  # noqa: C416 - rows, which dict() doesn't take


def last(warehouse: Engine) -> int:
    """The number of the last step."""
    return int(scalar(warehouse, "select max(id) from bms.step_run") or 0)


def accepted(warehouse: Engine, data_root: Path, unit: Unit) -> dict[str, Any] | None:
    """Publish a suspect load as a later run does; return its manifest, None without one."""
    flow = FlowContext(warehouse, UPath(data_root), FlowSettings())
    step = Step("invoice_extraction", "later", "extract", 1, unit.span.start, unit.span.end)
    return accept_unit(flow, unit, step)


@pytest.mark.usefixtures("suspect")
@pytest.mark.parametrize("lacks", ["", " - 'measures' - 'volatile'"], ids=["now", "before 0.1.0"])
def test_an_accepted_load_is_published_without_reading_again(
    sandbox: Sandbox, warehouse: Engine, tmp_path: Path, lacks: str
) -> None:
    execute(warehouse, f"update bms.step_run set details = details{lacks}")
    sandbox.reset_counts()
    (unit,) = held_loads(warehouse, [1])
    assert versions(warehouse) == 1
    manifest = accepted(warehouse, tmp_path, unit)
    assert manifest is not None
    assert (manifest["changed"], versions(warehouse)) == (1, 2)
    assert states(warehouse) == ["complete", "complete", "suspect", "complete"]
    report = "select details->>'report' from bms.step_run order by id desc limit 1"
    folder = tmp_path / str(scalar(warehouse, report))
    assert {each.name for each in folder.iterdir()} == {"totals.csv", "history.csv"}
    assert sandbox.truth()["requests"] == {}
    assert held_loads(warehouse, [1]) == [], "accepted once is enough"


@pytest.mark.parametrize("later", ["complete", "suspect"])
def test_an_older_response_does_not_replace_a_newer_one(
    sandbox: Sandbox, warehouse: Engine, extract: Extract, tmp_path: Path, later: str
) -> None:
    """Accepting the held loads of two nights publishes the second; the first alone is published too."""
    extract(*MARCH)
    days = [("2026-03-02", "2026-03-16"), ("2026-03-03", "2026-03-17")]
    alone, both = (
        sandbox.invoices(1, date(2026, 3, day), date(2026, 3, day))[0]["id_invoice"]
        for day in (2, 3)
    )
    for night, asked in enumerate(days):
        for key in (alone, both):
            sandbox.edit_invoice(1, key, invoice_subject=f"night {night}")
        if night and later == "complete":
            sandbox.set_dialect(shown_forms="")
            extract(*asked)
        else:
            sandbox.set_dialect(shown_forms="currency=null")
            with pytest.raises(LoadHeld):
                extract(*asked)
    units = held_loads(warehouse, [1])
    assert len(units) == (2 if later == "suspect" else 1)
    for unit in reversed(units):  # tasks of one run keep no order
        accepted(warehouse, tmp_path, unit)
    stored = fetch(warehouse, "select * from bms.client_invoice where _version > 1")
    subjects = {row.id_invoice: row.invoice_subject for row in stored}
    read = scalar(warehouse, "select count(*) from bms.client_invoice_day")
    assert (subjects[alone], subjects[both]) == ("night 0", "night 1")
    assert read == 31
    assert held_loads(warehouse, [1]) == []
    made = rebuild(warehouse, UPath(tmp_path))
    assert made.before == made.after


@pytest.mark.usefixtures("held")
def test_what_was_read_again_since_the_accepting_run_was_planned_stays(
    sandbox: Sandbox, warehouse: Engine, extract: Extract, tmp_path: Path
) -> None:
    """That run waited for the night's, or its task was cleared days later."""
    (planned,) = held_loads(warehouse, [1])
    sandbox.reset()
    days = {date(2026, 3, 10), date(2026, 3, 20)}
    for day in days:
        (row, *_) = sandbox.invoices(1, day, day)
        sandbox.edit_invoice(1, row["id_invoice"], invoice_subject="sent since")
    extract("2026-03-10", "2026-03-31")
    made = accepted(warehouse, tmp_path, planned)
    assert made is not None
    left = [day for day in planned.days if day < date(2026, 3, 10)]
    assert made["days"] == f"{min(left)}/{max(left)}"
    assert accepted(warehouse, tmp_path, planned) is None
    assert states(warehouse).count("suspect") == 1
    assert states(warehouse)[-1] == "complete"
    since = "select _day from bms.client_invoice where invoice_subject = 'sent since'"
    assert {*scalars(warehouse, since)} == days
    assert scalar(warehouse, "select count(*) from bms.client_invoice_lease") == 0


@pytest.mark.usefixtures("suspect")
def test_a_load_with_missing_responses_is_not_published(warehouse: Engine, tmp_path: Path) -> None:
    (unit,) = held_loads(warehouse, [1])
    raw = next(
        path for path in (tmp_path / "raw").rglob("step-2-*/*") if holds(path.name, unit.span.start)
    )
    raw.unlink()
    with pytest.raises(ResponsesMissing, match="run these days again"):
        accepted(warehouse, tmp_path, unit)
    assert states(warehouse) == ["complete", "complete", "suspect", "failed"]
    assert versions(warehouse) == 1


def holds(name: str, day: date) -> bool:
    """Whether a stored answer is about a day, by its name."""
    start, end = name.removesuffix(".json.zst").split("_")[-2:]
    return day in Window.parse(f"{start}/{end}")


@pytest.mark.usefixtures("held")
def test_of_a_held_load_just_the_days_asked_for_are_published(
    warehouse: Engine, tmp_path: Path
) -> None:
    """An operator has looked at one day; the others of the same load stay held."""
    (whole,) = held_loads(warehouse, [1])
    looked_at = date(2026, 3, 30)
    (unit,) = held_loads(warehouse, [1], [looked_at])
    accepted(warehouse, tmp_path, unit)
    assert scalars(
        warehouse, "select distinct _day from bms.client_invoice where currency is null"
    ) == [looked_at]
    (rest,) = held_loads(warehouse, [1])
    assert rest.days == whole.days - {looked_at}
    made = rebuild(warehouse, UPath(tmp_path))
    assert made.before == made.after


@pytest.mark.parametrize("fault", ["wrong_amount", "duplicate_row"])
def test_an_accepted_load_is_not_held_again(
    sandbox: Sandbox, warehouse: Engine, extract: Extract, tmp_path: Path, fault: str
) -> None:
    """For example, the service rounds differently and will not change."""
    month = FlowSettings(window_days=31)
    extract(*MARCH, settings=month)
    sandbox.set_fault(fault, operation="list_client_invoices", count=5)
    for _night in range(2):
        with pytest.raises(LoadHeld):
            extract(*MARCH, settings=month)
    *_, unit = held_loads(warehouse, [1])
    accepted(warehouse, tmp_path, unit)
    again = extract(*MARCH, settings=month)
    assert (again["inserted"], again["changed"]) == (0, 0)
    assert sandbox.truth()["faults"] == {fault: 3}


def test_invalid_rows_are_quarantined_and_hold_the_load_until_accepted(
    sandbox: Sandbox, warehouse: Engine, extract: Extract, tmp_path: Path
) -> None:
    extract(*MARCH)
    rows = sandbox.invoices(1, date(2026, 3, 2), date(2026, 3, 20))
    many, more = [row["id_invoice"] for row in rows[12:]], [row["id_invoice"] for row in rows[:12]]
    for key in many:
        sandbox.edit_invoice(1, key, invoice_subject="a\0b")
    for _night in range(2):
        with pytest.raises(LoadHeld, match="many_quarantined"):
            extract(*MARCH)
        assert quarantined(warehouse) == dict.fromkeys(map(str, many), last(warehouse))
    (unit,) = held_loads(warehouse, [1])
    accepted(warehouse, tmp_path, unit)
    extract(*MARCH)
    seen = last(warehouse)
    for key in more:
        sandbox.edit_invoice(1, key, invoice_subject="a\0b")
    with pytest.raises(LoadHeld, match="many_quarantined"):
        extract(*MARCH)
    held, published = last(warehouse), last(warehouse) - 1
    held_days = {day_of(sandbox, key) for key in more}
    assert quarantined(warehouse) == {
        **{str(key): seen if day_of(sandbox, key) in held_days else published for key in many},
        **dict.fromkeys(map(str, more), held),
    }
    for key in more:
        sandbox.edit_invoice(1, key, invoice_subject="read")
    extract(*MARCH)
    assert quarantined(warehouse) == dict.fromkeys(map(str, many), last(warehouse))


@pytest.mark.parametrize(
    ("end_date", "code"), [("exclusive", "end_date_excluded"), ("inclusive", "outside_window")]
)
def test_a_wrong_setting_of_the_end_date_holds_the_load(
    sandbox: Sandbox, extract: Extract, end_date: str, code: str
) -> None:
    """It would silently lose the last day of each request."""
    sandbox.set_dialect(end_date=end_date)
    with pytest.raises(LoadHeld, match=code):
        extract("2026-03-09", "2026-03-13", end_date_inclusive=end_date == "exclusive")


@pytest.mark.parametrize("loss", ["empty_list", "short_list", "missing_day"])
def test_what_one_response_lacks_is_asked_for_again_and_held_if_others_lack_it_too(
    sandbox: Sandbox, warehouse: Engine, extract: Extract, loss: str
) -> None:
    stored = "select day, invoices, open_invoices from bms.client_invoice_day order by 1"
    first = extract(*MARCH)
    days = fetch(warehouse, stored)
    sandbox.set_fault(loss, operation="list_client_invoices", count=1)
    again = extract(*MARCH)
    assert sandbox.truth()["faults"] == {loss: 1}
    assert (again["unchanged"], again["missing"]) == (first["inserted"], 0)
    assert again["totals"] == first["totals"]
    assert fetch(warehouse, stored) == days
    sandbox.set_fault(loss, operation="list_client_invoices", count=99)
    with pytest.raises(LoadHeld, match="drop"):
        extract(*MARCH)
    assert versions(warehouse) == 1
