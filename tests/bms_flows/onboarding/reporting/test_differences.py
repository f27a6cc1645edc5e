"""Differences between drops and CRM: each is reported once, until it changes or is resolved."""

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_flows.onboarding.reporting.differences import (
    ComparedContact,
    ContactDifference,
    detect_changes,
    save_differences,
)
from bms_flows.onboarding.reporting.report import RowOutcome
from tests.support.sql import fetch, scalar

OUTCOMES = [RowOutcome(line=2, state="needs_review", guid="42")]

Tell = Callable[..., list[dict[str, str]]]


def same(**values: Any) -> ComparedContact:
    return ComparedContact(42, values, {})


def other(ours: Any, theirs: Any) -> ComparedContact:
    return ComparedContact(42, {}, {"city": (ours, theirs)})


@pytest.fixture
def told(warehouse: Engine) -> Tell:
    """Have a drop compared, and return the rows of its differences.csv."""

    def tell_of(compared: ComparedContact, name: str) -> list[dict[str, str]]:
        drop = claim.claim_file(warehouse, "contact", FoundFile(name, 1, "1")).id
        with warehouse.begin() as connection:
            content = save_differences(connection, drop, OUTCOMES, [compared], "FR")
        return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig")), delimiter=";"))

    return tell_of


def test_a_difference_is_reported_once_per_change_and_when_it_ends(
    told: Tell, warehouse: Engine
) -> None:
    assert told(same(city="Lyon"), "a") == []
    [row] = told(other("Paris", "Lyon"), "b")
    assert (row["_line"], row["id"], row["field"], row["state"]) == ("2", "42", "city", "actuelle")
    assert (row["base"], row["ours"], row["theirs"]) == ("Lyon", "Paris", "Lyon")
    assert row["changed_by"] == "fichier"
    assert told(other("Paris", "Lyon"), "b") == [row], "a repeat reports the same"
    assert told(other("Paris", "Lyon"), "c") == [], "another drop doesn't report it again"
    [row] = told(other("Paris", "Nice"), "d")
    assert (row["theirs"], row["changed_by"]) == ("Nice", "les deux")
    [row] = told(same(city="Paris"), "e")
    assert (row["state"], row["base"], row["changed_by"]) == ("résolue", "Lyon", "")
    assert told(same(city="Paris"), "f") == []
    [row] = told(other("Paris", "Lille"), "g")
    assert (row["base"], row["changed_by"]) == ("Paris", "service")
    open_ones = "select count(*) from bms.contact_difference where resolved_at is null"
    assert scalar(warehouse, open_ones) == 1


def test_without_a_previous_value_no_author_is_named(told: Tell) -> None:
    [row] = told(other("Paris", None), "a")
    assert (row["base"], row["theirs"], row["changed_by"]) == ("", "", "")


def test_a_field_missing_from_the_drop_makes_no_difference(told: Tell) -> None:
    told(other("Paris", "Lyon"), "a")
    assert told(same(country="FR"), "b") == []
    assert told(other("Paris", "Lyon"), "c") == []


def test_an_earlier_drop_that_ends_again_changes_no_difference_of_a_newer_drop(
    told: Tell, warehouse: Engine
) -> None:
    told(other("Paris", "Lyon"), "a")
    told(same(country="FR"), "a")
    told(other("Nice", "Lyon"), "b")
    told(same(country="BE"), "b")
    stale = ComparedContact(42, {"city": "Lyon"}, {"country": ("FR", "BE")})
    assert told(stale, "a") == []
    [stands] = fetch(warehouse, "select field, ours, resolved_at from bms.contact_difference")
    agreed = fetch(warehouse, "select field, value from bms.contact_agreement")
    assert stands == ("city", "Nice", None)
    assert agreed == [("country", "BE")]
    [row] = told(other("Nice", "Lille"), "b")
    assert row["theirs"] == "Lille"


def test_every_kind_of_value_is_shown_in_the_format_of_a_drop(told: Tell) -> None:
    differing = {"contact_domains": ([3, 7], [3]), "is_lead": (True, False), "id_client": (1, 2)}
    rows = {row["field"]: row for row in told(ComparedContact(42, {}, differing), "a")}
    assert [(row["ours"], row["theirs"]) for row in rows.values()] == [
        ("3|7", "3"),
        ("1", "2"),
        ("oui", "non"),
    ]


def test_an_existing_difference_is_not_reported_again() -> None:
    standing = {(42, "city"): ContactDifference(None, "Paris", "Lyon")}
    assert detect_changes({}, standing, [other("Paris", "Lyon")]) == ({}, {})
    assert detect_changes({(42, "city"): "Lyon"}, {}, [same(city="Lyon")]) == ({}, {})


def test_values_are_not_in_a_repr() -> None:
    assert "Paris" not in repr(other("Paris", "Lyon"))
    assert "Paris" not in repr(ContactDifference("Paris", "Paris", "Paris"))
