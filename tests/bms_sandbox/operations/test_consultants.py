from tests.bms_sandbox.caller import Caller

PATH = "/v1/CRM/Consultants"
GIVEN = {
    "first_name": "Loïc",
    "last_name": "Jégou",
    "type": "FREELANCE",
    "affinity": 4,
    "rate": 512.5,
    "availability_date": "2026-05-01",
    "skills": [{"id": 3, "level": 4, "favorite": True}],
    "languages": [{"code": "BR", "level": 2}],
    "professional_profile": "Développeur",
    "custom5": "x",
}


def test_a_created_consultant_has_the_currency_of_the_service(caller: Caller) -> None:
    number = caller.post(PATH, GIVEN | {"currency": "USD"}).json()["id"]
    detail = caller.get(f"{PATH}/{number}").json()
    assert {name: detail[name] for name in GIVEN} == GIVEN
    assert (detail["currency"], detail["active"]) == ("EUR", True)


def test_list_item_is_the_detail_without_the_long_fields(caller: Caller) -> None:
    (item,) = caller.get(PATH, page_size=1).json()["data"]
    detail = caller.get(f"{PATH}/{item['id']}").json()
    assert item.items() <= detail.items()
    assert set(detail) - set(item) == {
        "professional_profile",
        "address",
        "notes",
        *(f"custom{n}" for n in range(1, 6)),
    }


def test_filters_and_defaults(caller: Caller) -> None:
    content = caller.get(PATH).json()
    assert (content["total_pages"], len(content["data"])) == (2, 100)
    kinds = {row["type"] for row in content["data"]}
    counts = [len(caller.get(PATH, type=kind, page_size=500).json()["data"]) for kind in kinds]
    assert len(kinds) == 3
    assert sum(counts) == 120
    client = next(row["id_client"] for row in content["data"] if row["id_client"])
    found = caller.get(PATH, id_client=client).json()["data"]
    assert {row["id_client"] for row in found} == {client}


def test_named_id(caller: Caller) -> None:
    caller.sandbox.set_dialect(created_id="named_object")
    assert caller.post(PATH, GIVEN).json() == {"id_consultant": 621}
