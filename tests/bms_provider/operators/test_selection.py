"""Values for XCom: selected fields without personal data, below a limit of bytes."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from bms_provider.operators.contacts import BmsListContactsOperator, BmsReadContactOperator
from bms_provider.operators.invoices import BmsListClientInvoicesOperator
from bms_provider.operators.selection import XComTooLarge
from bms_sandbox.serve import Sandbox

pytestmark = pytest.mark.usefixtures("connected", "data_root")


def contacts(**given: Any) -> BmsListContactsOperator:
    return BmsListContactsOperator(task_id="list", filter="ALL", page_size=10, **given)


def test_a_list_of_fields_returns_dictionaries(sandbox: Sandbox) -> None:
    value = contacts(output="xcom", fields=["id", "is_lead"]).execute({})
    rows = sandbox.rows("contacts")
    assert value == [{"id": row["id"], "is_lead": row["is_lead"]} for row in rows]


def test_a_single_field_returns_bare_values(sandbox: Sandbox) -> None:
    operator = contacts(output="xcom", fields="id")
    for _ in range(2):  # a retry in the same process starts from scratch
        assert operator.execute({}) == [row["id"] for row in sandbox.rows("contacts")]


def test_fields_of_a_generator_are_returned() -> None:
    operator = contacts(output="xcom", fields=(name for name in ("id", "is_lead")))
    assert [*operator.execute({})[0]] == ["id", "is_lead"]


def test_one_record_returns_one_value(sandbox: Sandbox) -> None:
    row = sandbox.rows("contacts")[0]
    one = {"task_id": "read", "id_contact": row["id"], "output": "xcom"}
    assert BmsReadContactOperator(**one, fields="id_client").execute({}) == row["id_client"]
    assert BmsReadContactOperator(**one, fields=["id"]).execute({}) == {"id": row["id"]}


def test_amounts_are_text_with_exact_digits(sandbox: Sandbox) -> None:
    rows = BmsListClientInvoicesOperator(
        task_id="list",
        id_entity=1,
        first_day="2026-03-02",
        last_day="2026-03-31",
        output="xcom",
        fields=["id_invoice", "total_due"],
    ).execute({})
    stored = sandbox.invoices(1, date(2026, 3, 2), date(2026, 3, 31))
    amounts = {row["id_invoice"]: Decimal(row["total_due"]) for row in stored}
    assert {row["id_invoice"]: Decimal(row["total_due"]) for row in rows} == amounts
    assert {type(row["total_due"]) for row in rows} == {str}


def test_the_limit_of_bytes_is_named_with_the_alternative() -> None:
    with pytest.raises(XComTooLarge) as raised:
        contacts(output="xcom", fields=["id", "created_on"], max_xcom_bytes=500).execute({})
    assert "limit of 500 bytes for XCom (max_xcom_bytes)" in str(raised.value)
    assert "use output='file' and read the file with bms_provider.files" in str(raised.value)
    assert raised.value.retriable is False


def test_reading_stops_at_the_limit(sandbox: Sandbox) -> None:
    operator = BmsListContactsOperator(
        task_id="list", filter="ALL", page_size=1, output="xcom", fields=["id"], max_xcom_bytes=20
    )
    with pytest.raises(XComTooLarge):
        operator.execute({})
    assert sum(sandbox.truth()["requests"]["list_contacts"].values()) < 25


@pytest.mark.parametrize("fields", ["email", ["id", "last_name"], ["id", "not_in_the_interface"]])
def test_a_personal_or_unknown_field_is_refused_when_the_dag_is_parsed(fields: Any) -> None:
    refused = fields if isinstance(fields, str) else fields[1]
    with pytest.raises(ValueError, match=f"personal data in XCom .* fields names {refused}"):
        contacts(output="xcom", fields=fields)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"output": "xcom"}, "output='xcom' needs fields: actif, created_by"),
        ({"output": "xcom", "fields": []}, "output='xcom' needs fields"),
        ({"fields": ["id"]}, "fields applies to output='xcom' only"),
        ({"output": "table"}, "output takes 'file' or 'xcom', not 'table'"),
    ],
)
def test_arguments_that_contradict_each_other_are_refused(given: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        contacts(**given)
