from typing import Any

import pytest

from tests.bms_sandbox.caller import Caller

PATH = "/v1/CRM/contacts"
GIVEN = {
    "first_name": "Anaïs",
    "last_name": "Lemaître",
    "email": "anais@lemaitre.example",
    "phone_other_number": "+33 9 00 00 00 00",
    "contact_domains": [3, 5],
    "is_lead": True,
    "id_client": 104,
}


def page(caller: Caller, **query: Any) -> dict[str, Any]:
    answer = caller.get(PATH, **({"filter": "ALL"} | query))
    assert answer.status == 200
    content: dict[str, Any] = answer.json()
    assert set(content) == {"total_pages", "data"}
    return content


def test_a_created_contact_is_returned_as_specified(caller: Caller) -> None:
    number = caller.post(PATH, GIVEN).json()["id"]
    detail = caller.get(f"{PATH}/{number}").json()
    assert detail["domains"] == [3, 5]
    assert "phone_other_number" not in detail
    assert "contact_domains" not in detail
    same = set(GIVEN) - {"phone_other_number", "contact_domains"}
    assert {name: detail[name] for name in same} == {name: GIVEN[name] for name in same}
    assert (detail["active"], detail["deleted"], detail["deleted_on"]) == (True, False, None)
    assert "actif" not in detail
    (item,) = (r for r in page(caller, page_size=1000)["data"] if r["id"] == number)
    assert item["actif"] is True
    assert "active" not in item
    (stored,) = (row for row in caller.sandbox.rows("contacts") if row["id"] == number)
    assert stored["phone_other_number"] == GIVEN["phone_other_number"]


@pytest.mark.parametrize(
    ("shape", "read"),
    [
        ("number", lambda content: content),
        ("string", int),
        ("object", lambda content: content["id"]),
        ("named_object", lambda content: content["id_contact"]),
    ],
)
@pytest.mark.parametrize("status", [200, 201])
def test_a_creation_returns_the_id_in_the_shape_of_the_dialect(
    caller: Caller, shape: str, read: Any, status: int
) -> None:
    caller.sandbox.set_dialect(created_id=shape, create_status=status)
    answer = caller.post(PATH, GIVEN)
    assert answer.status == status
    assert caller.get(f"{PATH}/{read(answer.json())}").json()["email"] == GIVEN["email"]


def test_required_fields_are_a_dialect(caller: Caller) -> None:
    caller.sandbox.set_dialect(required_fields="none")
    assert caller.post(PATH, {}).status == 201


def test_filters_select_as_specified(caller: Caller) -> None:
    rows = {
        state: page(caller, filter=state, page_size=1000)["data"]
        for state in ("ALL", "ACTIVE", "ASSIGNED", "DELETED")
    }
    assert len(rows["ALL"]) == 250
    assert all(r["actif"] and not r["deleted"] for r in rows["ACTIVE"])
    assert all(r["id_account_manager"] and not r["deleted"] for r in rows["ASSIGNED"])
    assert all(r["deleted"] and r["deleted_on"] and r["deleted_by"] for r in rows["DELETED"])
    assert all(len(rows[state]) > 10 for state in rows)
    caller.sandbox.set_dialect(all_includes_deleted=False)
    without = page(caller, page_size=1000)["data"]
    assert len(without) == 250 - len(rows["DELETED"])


def test_other_filters(caller: Caller) -> None:
    leads = page(caller, is_lead="true", page_size=1000)["data"]
    others = page(caller, is_lead="false", page_size=1000)["data"]
    assert {r["is_lead"] for r in leads} == {True}
    assert len(leads) + len(others) == 250
    client = leads[0]["id_client"]
    assert {r["id_client"] for r in page(caller, id_client=client)["data"]} == {client}


def test_paging_defaults_and_completeness(caller: Caller) -> None:
    first = page(caller)
    assert (first["total_pages"], len(first["data"])) == (3, 100)
    ids = [r["id"] for n in (1, 2, 3) for r in page(caller, page_number=n)["data"]]
    assert ids == sorted(ids)
    assert len(set(ids)) == 250


def test_page_size_over_the_maximum(caller: Caller) -> None:
    caller.sandbox.set_dialect(page_size_max=50)
    clamped = page(caller, page_size=200)
    assert (clamped["total_pages"], len(clamped["data"])) == (5, 50)
    caller.sandbox.set_dialect(page_size_over="refuse")
    assert caller.get(PATH, filter="ALL", page_size=51).status == 422
    assert len(page(caller, page_size=50)["data"]) == 50


def test_page_past_the_end(caller: Caller) -> None:
    assert page(caller, page_number=4)["data"] == []
    caller.sandbox.set_dialect(past_end="last_page")
    assert page(caller, page_number=4) == page(caller, page_number=3)
    caller.sandbox.set_dialect(past_end="not_found")
    assert caller.get(PATH, filter="ALL", page_number=4).status == 404


@pytest.mark.parametrize("pages", [0, 1])
def test_empty_list(caller: Caller, pages: int) -> None:
    caller.sandbox.set_dialect(total_pages_when_empty=pages)
    assert page(caller, id_client=1) == {"total_pages": pages, "data": []}


@pytest.mark.parametrize("order", ["id", "id_desc", "name", "modified_on"])
def test_list_order(caller: Caller, order: str) -> None:
    caller.sandbox.set_dialect(list_order=order)
    rows = page(caller, page_size=1000)["data"]
    ranks: dict[str, Any] = {
        "id": lambda r: r["id"],
        "id_desc": lambda r: -r["id"],
        "name": lambda r: (r["last_name"].casefold(), r["first_name"].casefold()),
        "modified_on": lambda r: r["modified_on"][:10],
    }
    assert rows == sorted(rows, key=ranks[order])


def test_extra_fields_are_added_to_every_object(caller: Caller) -> None:
    caller.sandbox.set_dialect(extra_fields=True)
    content = caller.get(PATH, filter="ALL").json()
    assert {"x_revision", "x_labels"} <= set(content) & set(content["data"][0])


def test_a_time_that_another_user_gives_is_shown_in_the_zone_of_the_service(caller: Caller) -> None:
    caller.sandbox.edit("contacts", 1001, deleted_on="2026-03-31T10:00:00Z")
    assert caller.get(f"{PATH}/1001").json()["deleted_on"] == "2026-03-31T12:00:00+02:00"
