"""Mirror of consultants, whose list has no filter and no flag."""

from decimal import Decimal

from tests.bms_flows.mirror.environment import Mirror


def test_rates_skills_and_languages_equal_those_of_the_service(mirror: Mirror) -> None:
    mirror.sandbox.edit("consultants", 501, rate=412.35)
    truth = mirror.sandbox.rows("consultants")
    manifest = mirror.run("consultant", page_size=50)
    assert (manifest["state"], manifest["inserted"]) == ("complete", len(truth))
    stored = mirror.rows("bms.consultant")
    for row, true in zip(stored, truth, strict=True):
        for name in ("id", "currency", "skills", "languages", "professional_profile", "active"):
            assert row[name] == true[name]
    assert stored[0]["rate"] == Decimal("412.35")
    assert stored[0]["currency"] == "EUR"
    again = mirror.run("consultant", page_size=50)
    assert (again["unchanged"], again["changed"]) == (len(truth), 0)


def test_a_run_restricted_to_a_type_removes_no_other_consultant(mirror: Mirror) -> None:
    mirror.sandbox.fill(consultants=30)
    mirror.run("consultant")
    mirror.sandbox.delete("consultants", 504)
    assert mirror.run("consultant", type="FREELANCE")["missing"] == 0
    assert mirror.run("consultant", id_client=101)["missing"] == 0
    assert mirror.run("consultant")["missing"] == 1
