"""Events of the assets after loads, with an Airflow context."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.execution_time.context import OutletEventAccessors, set_current_context
from sqlalchemy import make_url

from bms.arguments import BadArgument
from bms_provider import assets, policy
from bms_provider.operators.flows.loads import BmsSyncOperator, event
from tests.bms_provider.operators.flows.execution import done

CONTACTS = {
    "filter": "ALL",
    "id_client": None,
    "is_lead": None,
    "details": False,
    "full": False,
    "accept_gone": False,
}

pytestmark = pytest.mark.usefixtures("connected", "warehouse_connection", "data_root")


@contextmanager
def run(run_id: str, dag_id: str = "contact_sync", **params: Any) -> Iterator[Any]:
    """Run the block in a task context; yield the context."""
    context: Any = {
        "dag_run": SimpleNamespace(dag_id=dag_id, run_id=run_id, triggering_user_name="marie"),
        "params": CONTACTS | params,
        "task": SimpleNamespace(
            pool="default_pool",
            pool_slots=1,
            outlets=[assets.CONTACT],
            warehouse_conn_id="bms_warehouse",
        ),
        "outlet_events": OutletEventAccessors(),
    }
    with set_current_context(context):
        yield context


def test_a_complete_whole_load_is_an_event_with_counts_also_if_nothing_changed() -> None:
    """A DAG that waits for two assets would otherwise never run."""
    events = []
    for run_id in ("first", "second"):
        with run(run_id) as context:
            manifest = done(BmsSyncOperator, resource="contact")
            policy.event_recorded(context)
        assert context["task"].outlets == [assets.CONTACT]
        events.append(context["outlet_events"][assets.CONTACT].extra)
    first, second = events
    assert first["changed"]
    assert first["counts"]["inserted"] == first["counts"]["rows_read"] > 0
    assert not second["changed"]
    assert second["counts"]["unchanged"] == first["counts"]["inserted"]
    assert second["step_run_id"] == manifest["step_run_id"]


def test_a_dag_may_mirror_several_resources() -> None:
    """The rotation of one resource's details would continue where that of the other stopped."""
    with run("first", "my_mirrors", details=True) as context:
        for resource in ("consultant", "contact"):
            assert done(BmsSyncOperator, resource=resource)["turn"] == 0
        changed = context["outlet_events"][assets.CONTACT].extra["changed_by"]
        assert len(changed) == 1
    with run("second", "my_mirrors", details=True):
        assert done(BmsSyncOperator, resource="consultant")["turn"] == 1


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"query": {"filtre": "ACTIVE"}}, "query takes filter, id_client, is_lead, not filtre"),
        ({"details": "all"}, "details takes off or directory or full or nothing"),
        ({"id_entity": 1}, "contact has one list: leave out id_entity"),
        ({"resource": "employee"}, "employee has a list per entity: give id_entity"),
        ({"resource": "contacts"}, "resource takes contact or consultant or employee"),
    ],
)
def test_a_wrong_argument_is_refused(given: dict[str, Any], text: str) -> None:
    with run("wrong"), pytest.raises(BadArgument, match=text):
        done(BmsSyncOperator, **{"resource": "contact"} | given)


def test_a_subclass_may_annotate_attributes_of_airflow() -> None:
    class Mine(BmsSyncOperator):
        ui_color: str = "#123456"
        template_fields: Sequence[str] = ("query",)
        note: str = "x"

    mine = Mine(task_id="sync", resource="contact", note="n")
    assert (Mine.template_fields, mine.note, mine.ui_color) == (("query", "note"), "n", "#123456")


def test_a_subclass_may_give_a_required_argument_a_default() -> None:
    class Contacts(BmsSyncOperator):
        resource: str = "contact"

    given = Contacts(task_id="sync"), Contacts(task_id="other", resource="consultant")
    assert [each.resource for each in given] == ["contact", "consultant"]


def test_a_load_of_a_part_is_no_event() -> None:
    with run("part", filter="ACTIVE") as context:
        assert done(BmsSyncOperator, resource="contact")["inserted"] > 0
    assert context["task"].outlets == []


def test_rows_that_no_event_reported_make_the_next_event_a_change() -> None:
    """A part was loaded without an event; then Airflow lost the task that would have reported it."""
    part = load("part", filter="ACTIVE", succeeds=True)
    lost = load("lost", succeeds=False)
    repeated = load("lost", succeeds=True)
    again = load("again", succeeds=True)
    assert part == {}
    assert lost["changed"]
    assert repeated["counts"]["inserted"] == repeated["counts"]["changed"] == 0
    assert repeated["changed"]
    assert repeated["changed_by"] == lost["changed_by"]
    assert len(repeated["changed_by"]) == 2
    assert not again["changed"]
    assert again["changed_by"] == []


def test_the_events_of_a_team_s_dag_report_changes_of_its_warehouse_once(
    connect: Any, warehouse_uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = make_url(warehouse_uri)
    login = {"host": url.query["host"], "login": url.username, "schema": url.database}
    connect("team_warehouse", conn_type="postgres", **login)
    monkeypatch.delenv("AIRFLOW_CONN_BMS_WAREHOUSE")
    events = []
    for run_id in ("first", "second"):
        with run(run_id, "my_contacts") as context:
            context["task"] = sync = BmsSyncOperator(
                task_id="sync",
                resource="contact",
                warehouse_conn_id="team_warehouse",
                outlets=[assets.CONTACT],
            )
            sync.execute(context)
            for callback in sync.on_success_callback:
                callback(context)
        events.append(context["outlet_events"][assets.CONTACT].extra)
    assert [each["changed"] for each in events] == [True, False]


def load(run_id: str, *, succeeds: bool, **params: Any) -> dict[str, Any]:
    """Load the contacts; return the event, empty if there is none. Airflow may record the success."""
    with run(run_id, **params) as context:
        done(BmsSyncOperator, resource="contact")
        if succeeds:
            policy.event_recorded(context)
    return context["outlet_events"][assets.CONTACT].extra


def test_an_event_of_invoices_has_entity_days_and_exact_totals() -> None:
    totals = {"EUR": {"invoices": 3, "total_incl_vat": "30.10"}}
    counts = dict.fromkeys(("rows_read", "inserted", "changed", "unchanged", "quarantined"), 0)
    manifest = {"step_run_id": 7, "id_entity": 2, "days": "2026-03-01/2026-03-02"}
    found = event({**manifest, **counts, "totals": totals, "missing": 0, "raw": "raw/x"}, [6])
    assert found.keys() == {
        *("step_run_id", "id_entity", "days", "changed", "changed_by", "counts", "totals")
    }
    assert (found["id_entity"], found["days"]) == (2, "2026-03-01/2026-03-02")
    assert found["totals"] == totals
    assert (found["changed"], found["changed_by"]) == (True, [6])
