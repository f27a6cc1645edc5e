import uuid
from typing import Any

from tests.bms_sandbox.caller import Caller

PATH = "/v1/HR/employees"
GIVEN = {
    "id_entity": 1,
    "first_name": "Hélène",
    "last_name": "D'Hérouville",
    "payroll_number": "004711",
    "start_date": "2026-04-01",
    "birth_date": "1990-02-03",
    "salary_base": 3210.55,
    "salary_other": "voiture",
    "salary_variable": [
        {"type": "PRIME", "value": 100.5, "criteria": "objectifs", "payment_date_code": 2}
    ],
    "missions": {"mission1": "Étude", "mission6": "Recette"},
    "vehicle_price_per_km": 0.529,
    "is_consultant": True,
}


def ids(caller: Caller, **query: Any) -> list[int]:
    answer = caller.get(PATH, **({"id_entity": 1} | query))
    assert answer.status == 200
    return [row["id_employee"] for row in answer.json()]


def test_a_created_employee_is_returned_flat_and_without_salary(caller: Caller) -> None:
    created = caller.post(PATH, GIVEN)
    assert created.status == 201
    assert set(created.json()) == {"guid_employee", "id_employee", "is_standby"}
    guid = created.json()["guid_employee"]
    assert str(uuid.UUID(guid)) == guid
    detail = caller.get(f"{PATH}/{guid}").json()
    assert (detail["mission1"], detail["mission2"], detail["mission6"]) == (
        "Étude",
        None,
        "Recette",
    )
    assert "missions" not in detail
    assert not [name for name in detail if name.startswith("salary")]
    same = ("payroll_number", "start_date", "birth_date", "vehicle_price_per_km", "is_consultant")
    assert {name: detail[name] for name in same} == {name: GIVEN[name] for name in same}
    stored = {row["guid_employee"]: row for row in caller.sandbox.rows("employees")}[guid]
    assert (stored["salary_base"], stored["salary_other"]) == (3210.55, "voiture")


def test_new_employee_on_standby_is_hidden_without_filter_all(caller: Caller) -> None:
    created = caller.post(PATH, GIVEN).json()
    number = created["id_employee"]
    assert created["is_standby"] is True
    assert number not in ids(caller)
    assert number in ids(caller, filter="ALL")
    assert number in ids(caller, filter="STANDBY")


def test_standby_and_default_filter_are_dialects(caller: Caller) -> None:
    caller.sandbox.set_dialect(employee_starts_standby=False)
    created = caller.post(PATH, GIVEN).json()
    assert created["is_standby"] is False
    assert created["id_employee"] in ids(caller)
    for state in ("ALL", "STANDBY", "FORMER", "ACTIVE"):
        caller.sandbox.set_dialect(default_filter=state)
        assert ids(caller) == ids(caller, filter=state)


def test_states_follow_departure_and_the_clock(caller: Caller) -> None:
    active, former, standby = (ids(caller, filter=s) for s in ("ACTIVE", "FORMER", "STANDBY"))
    assert active
    assert former
    assert standby
    assert set(active) | set(former) | set(standby) == set(ids(caller, filter="ALL"))
    guid = {row["id_employee"]: row["guid_employee"] for row in caller.sandbox.rows("employees")}
    caller.sandbox.edit("employees", guid[active[0]], departure_date="2026-04-15")
    assert active[0] in ids(caller, filter="ACTIVE")
    caller.sandbox.advance(days=30)
    assert active[0] in ids(caller, filter="FORMER")
    assert active[0] not in ids(caller, filter="ACTIVE")


def test_list_is_of_one_entity(caller: Caller) -> None:
    assert not set(ids(caller, filter="ALL")) & set(ids(caller, id_entity=2, filter="ALL"))
    assert ids(caller, id_entity=9) == []
    caller.sandbox.set_dialect(unknown_entity="not_found")
    assert caller.get(PATH, id_entity=9).status == 404
