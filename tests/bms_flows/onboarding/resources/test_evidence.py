from typing import Any

import msgspec
import pytest

from bms_flows.onboarding.ledger.entry import Entry, State
from bms_flows.onboarding.reporting.duplicates import DuplicateFinding, compare
from bms_flows.onboarding.resources.evidence import (
    Ambiguous,
    ExpectedRecord,
    Found,
    NothingFound,
    ServiceRecord,
    Verdict,
    agree_fully,
    hidden_key,
    resolve,
)

EXPECTED = ExpectedRecord(
    key="k",
    comparison_fields={"name": "a\0b", "start_date": "2026-05-01"},
    digests={"k", "name+company"},
)


CREATED = Entry(
    id=1, key="k", digest="", max_attempts=5, attempt=1, state=State.CREATED, remote_id="g1"
)


def shown(remote_id: str = "g1", **given: Any) -> ServiceRecord:
    made = ServiceRecord(remote_id=remote_id, key="k", comparison_fields=EXPECTED.comparison_fields)
    return msgspec.structs.replace(made, **given)


def resolved(
    *known: ServiceRecord,
    claimed: tuple[str, ...] = (),
    changed: tuple[str, ...] = (),
) -> Verdict:
    return resolve(EXPECTED, known, claimed=claimed, changed=changed)


NO_DATE = shown(comparison_fields={"name": "a\0b", "start_date": None})
ALIKE = [shown(each, key=None, other_digests=("name+company",)) for each in ("g2", "g1")]


@pytest.mark.parametrize(
    ("known", "verdict"),
    [
        ([shown()], Found(shown(), ("new", "key", "name", "start_date"))),
        ([NO_DATE], Found(NO_DATE, ("new", "key", "name"))),
        ([], NothingFound()),
        ([shown("g1"), shown("g2")], Ambiguous(("g1", "g2"), "several_records")),
        ([shown(deleted=True)], Ambiguous(("g1",), "candidate_deleted")),
        (ALIKE, Ambiguous(("g1", "g2"), "similar_without_key")),
    ],
    ids=["one", "without a date", "none", "two", "deleted before the lookup", "possible matches"],
)
def test_the_new_records_determine_the_verdict(
    known: list[ServiceRecord], verdict: Verdict
) -> None:
    assert resolved(*known) == verdict


def test_a_new_record_with_the_name_only_goes_to_review() -> None:
    """The service may store a key otherwise than it was sent."""
    named = shown(key="other", comparison_fields={"name": "a\0b", "start_date": None})
    assert resolved(named) == Ambiguous(("g1",), "similar_without_key")
    assert resolved(named, changed=("g1",)) == resolved(named, claimed=("g1",)) == NothingFound()
    assert resolved(shown(key="other", comparison_fields={"name": "c\0d"})) == NothingFound()
    assert resolved(shown(key="other", comparison_fields={})) == NothingFound()


@pytest.mark.parametrize("mark", ["name", "start_date"])
def test_a_new_record_with_the_key_and_other_data_goes_to_review(mark: str) -> None:
    other = {**EXPECTED.comparison_fields, mark: "something else"}
    assert resolved(shown(comparison_fields=other)) == Ambiguous(("g1",), "key_with_other_data")


def test_a_record_that_another_row_owns_goes_to_review() -> None:
    owned = shown("g2")
    assert resolved(owned, claimed=("g2",)) == Ambiguous(("g2",), "key_with_other_data")
    both = resolved(owned, shown("g1"), claimed=("g2",))
    assert both == Ambiguous(("g1", "g2"), "key_with_other_data")


@pytest.mark.parametrize("key", [None, "K"])
def test_a_possible_match_is_a_candidate_and_never_adopted(key: str | None) -> None:
    alike = shown(key=key, other_digests=("name+company",))
    assert resolved(alike) == Ambiguous(("g1",), "similar_without_key")
    assert resolved(alike, claimed=("g1",)) == Ambiguous(("g1",), "similar_without_key")


def test_a_record_that_gained_a_stronger_key_is_found() -> None:
    assert isinstance(resolved(shown(key="its new address", other_digests=("k",))), Found)


def test_a_record_that_existed_before_and_was_edited_is_never_adopted() -> None:
    found = resolved(shown(), changed=("g1",))
    assert found == Ambiguous(("g1",), "similar_without_key")
    assert isinstance(resolved(shown(), shown("g2"), changed=("g1",)), Found)


@pytest.mark.parametrize(
    ("ours", "theirs", "agree"),
    [
        ({"name": "a", "start": "b"}, {"name": "a", "start": "b"}, True),
        ({"name": "a"}, {"name": "a", "start": "b"}, True),
        ({"name": "a", "start": "b"}, {"name": "a", "start": "c"}, False),
        ({"name": "a", "start": "b"}, {"name": "a", "start": None}, False),
        ({"name": "a", "start": "b"}, {"name": "a"}, False),
        ({"name": "a", "start": None}, {"name": "a", "start": "b"}, False),
        ({"name": None}, {"name": None}, False),
        ({}, {"name": "a"}, False),
    ],
)
def test_records_agree_fully_only_if_each_field_is_present_on_both_sides(
    ours: dict[str, str | None], theirs: dict[str, str | None], agree: bool
) -> None:
    assert agree_fully(ours, theirs) is agree


def test_the_audit_finds_a_duplicate_name_and_ignores_a_shared_mailbox() -> None:
    shared = shown("g2", comparison_fields={**EXPECTED.comparison_fields, "name": "c\0d"})
    assert compare({"k": CREATED}, [shown(), shared], named=True) == []
    assert compare({"k": CREATED}, [shown(), shared]) == [
        DuplicateFinding("double", 1, "k", ("g1", "g2"))
    ]
    again = compare(
        {"k": CREATED}, [shown(), shared, shown("g3", other_digests=("k",), key="x")], named=True
    )
    assert again == [DuplicateFinding("double", 1, "k", ("g1", "g3"))]


def test_the_audit_finds_a_record_of_a_refused_row_in_any_order_of_the_list() -> None:
    """Two persons share a mailbox."""
    refused = {"k": msgspec.structs.replace(CREATED, state=State.REJECTED, remote_id=None)}
    other = {**EXPECTED.comparison_fields, "name": "c\0d"}
    deleted = [shown("g2", comparison_fields=other, deleted=True), shown()]
    both = [shown("g2", comparison_fields=other), shown()]
    found = [
        compare(refused, records, named=True)
        for records in (deleted, deleted[::-1], both, both[::-1])
    ]
    one, two = (DuplicateFinding("surfaced", 1, "k", (each,)) for each in ("g1", "g2"))
    assert found == [[one], [one], [two], [two]]


@pytest.mark.parametrize("state", [State.CREATED, State.REJECTED])
def test_a_record_of_which_a_reviewer_decided_that_it_is_another_person_is_no_duplicate(
    state: State,
) -> None:
    made = "g2" if state is State.CREATED else None
    entry = msgspec.structs.replace(CREATED, state=state, dismissed=("g1",), remote_id=made)
    assert compare({"k": entry}, [shown(), shown("g2")][: 1 + (state is State.CREATED)]) == []


def test_the_audit_finds_a_duplicate_under_a_loose_form_of_the_key() -> None:
    """The service stores the number otherwise than it was sent: no record shows the row's key."""
    own = shown("g1", key="K", other_digests=("loose",), loose_digests=("loose",))
    double = shown("g2", key="K", other_digests=("loose",), loose_digests=("loose",))
    found = [DuplicateFinding("double", 1, "k", ("g1", "g2"))]
    assert compare({"k": CREATED}, [own, double]) == found
    namesake = msgspec.structs.replace(
        double, comparison_fields={**EXPECTED.comparison_fields, "name": "c\0d"}
    )
    unnamed = msgspec.structs.replace(double, comparison_fields={"name": None, "start_date": None})
    assert compare({"k": CREATED}, [own, namesake, unnamed]) == []
    other = msgspec.structs.replace(CREATED, id=2, key="x", remote_id="g2")
    assert compare({"k": CREATED, "x": other}, [own, double]) == []
    decided = msgspec.structs.replace(CREATED, dismissed=("g2",))
    assert compare({"k": decided}, [own, double]) == []


def test_a_key_that_no_record_of_the_list_shows_is_hidden() -> None:
    email: tuple[str, ...] = ("email",)
    phone: tuple[str, ...] = ("mobile",)
    details = [
        ({email: {"e1"}, phone: {"k"}}, shown("g1")),
        ({email: {"e2"}, phone: {"p2", "loose"}}, shown("g2", other_digests=("loose",))),
        ({phone: {"p3"}}, shown("g3")),
    ]
    assert hidden_key(details) == email
    assert hidden_key([({phone: {"k"}}, shown("g1")), *details[1:]]) == email
    assert hidden_key([({phone: {"p1"}}, shown("g1")), details[2]]) == phone
    assert hidden_key([({email: {"k"}, phone: {"p1"}}, shown("g1")), details[1]]) == ()
    assert hidden_key([]) == ()


def test_reprs_show_ids_only() -> None:
    record = shown(values={"last_name": "Secret"})
    assert repr(record) == "ServiceRecord(g1)"
    assert record.__rich_repr__() == [("remote_id", "g1")]
    assert repr(EXPECTED) == "ExpectedRecord(...)"
