import pytest

from bms_sandbox.serve import ControlError, Sandbox
from tests.bms_sandbox.caller import Caller


def test_reset_returns_to_the_start(caller: Caller) -> None:
    sandbox = caller.sandbox
    before = (sandbox.rows("contacts"), sandbox.rows("employees"))
    sandbox.set_dialect(nulls="absent", granted_scopes=[])
    sandbox.set_fault("503")
    sandbox.advance(days=3)
    sandbox.delete("contacts", 1001)
    sandbox.insert("employees", id_entity=2)
    sandbox.reset()
    assert (sandbox.rows("contacts"), sandbox.rows("employees")) == before
    assert caller.get("/v1/CRM/contacts/1001").status == 401, "tokens die with a reset"
    caller.login()
    assert caller.get("/v1/CRM/contacts/1001").json()["fax_number"] is None
    truth = sandbox.truth()
    assert truth["faults"] == {}
    assert truth["requests"] == {"token": {"200": 1}, "read_contact": {"401": 1, "200": 1}}
    assert truth["now"].startswith("2026-03-31T18:00:00")


def test_control_requests_are_not_counted_and_get_no_fault(sandbox: Sandbox) -> None:
    sandbox.set_fault("503")
    sandbox.set_fault("reset_before_read")
    sandbox.rows("contacts")
    assert sandbox.truth()["requests"] == {}
    assert sandbox.truth()["faults"] == {}


def test_forget_resets_only_the_counters(caller: Caller) -> None:
    caller.sandbox.set_fault("503", count=1)
    assert [caller.get("/v1/CRM/contacts/1001").status for _ in range(2)] == [503, 200]
    caller.sandbox.reset_counts()
    truth = caller.sandbox.truth()
    assert (truth["requests"], truth["faults"], truth["tokens"]) == (
        {},
        {},
        {"issued": 0, "live": 1},
    )


def test_fill_replaces_all_rows(caller: Caller) -> None:
    counts = caller.sandbox.fill(
        contacts=3000, consultants=5, employees=2, entities=[7], invoices_per_day=30, flat=True
    )
    assert counts.items() >= {"employees": 2, "contacts": 3000, "consultants": 5}.items()
    page = caller.get("/v1/CRM/contacts", filter="ALL", page_size=1000).json()
    assert page["total_pages"] == 3
    day = {"id_entity": 7, "start_date": "2026-03-29", "end_date": "2026-03-29"}
    assert len(caller.get("/v1/ERP/invoices/clients", **day).json()) == 30


@pytest.mark.parametrize(
    "refused",
    [
        lambda s: s.set_dialect(no_such_field=1),
        lambda s: s.set_dialect(nulls="blank"),
        lambda s: s.set_fault("504"),
        lambda s: s.set_fault("503", often=True),
        lambda s: s.fill(contacs=1),
        lambda s: s.fill(contacts=-1),
        lambda s: s.rows("contacs"),
        lambda s: s.edit("contacts", 1001, no_such_field=1),
        lambda s: s.edit("contacts", 1, last_name="x"),
        lambda s: s.delete("employees", "no-guid"),
        lambda s: s.edit_invoice(1, 0, invoice_subject="x"),
        lambda s: s.insert_invoice(status="PAID"),
    ],
    ids=[
        "dialect field",
        "dialect reading",
        "fault kind",
        "fault parameter",
        "resource to fill",
        "number of rows",
        "resource of rows",
        "row field",
        "row to edit",
        "row to delete",
        "invoice to edit",
        "invoice field",
    ],
)
def test_wrong_orders_are_refused_with_a_reason(sandbox: Sandbox, refused: object) -> None:
    assert callable(refused)
    with pytest.raises(ControlError, match=r"(404|422) .+"):
        refused(sandbox)
