from typing import Any

from bms_sandbox.ground_truth import GroundTruth


def test_equal_natural_fields_are_shown_as_duplicates() -> None:
    truth = GroundTruth()
    person: dict[str, Any] = {"first_name": "Zoé", "last_name": "Noël", "created_on": None}
    for key, email in ((1, "a@x.example"), (2, "b@x.example"), (3, "a@x.example")):
        truth.add_created("contacts", key, person | {"email": email, "id_client": 4, "notes": "x"})
    content = truth.as_json()
    assert [made["key"] for made in content["created"]["contacts"]] == [1, 2, 3]
    assert content["duplicates"]["contacts"] == [
        {
            "first_name": "Zoé",
            "last_name": "Noël",
            "email": "a@x.example",
            "id_client": 4,
            "keys": [1, 3],
        }
    ]


def test_the_maximum_in_flight_is_recorded() -> None:
    truth = GroundTruth()
    with truth.request("token") as one, truth.request("token"):
        one.outcome = "200"
    with truth.request("token"):
        pass
    content = truth.as_json()
    assert (content["in_flight"], content["in_flight_max"]) == (0, 2)
    assert content["requests"]["token"] == {"200": 1, "unfinished": 2}
