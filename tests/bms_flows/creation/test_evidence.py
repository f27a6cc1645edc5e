from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from bms_flows.creation.audit import Finding, compare
from bms_flows.creation.entry import Entry, State
from bms_flows.creation.evidence import Ambiguous, Known, NoTrace, Sought, Trace, weigh
from bms_flows.creation.identity import Trust

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
SKEW = timedelta(minutes=5)
SOUGHT = Sought(
    key="k", marks={"name": "a\0b", "start_date": "2026-05-01"}, intended=(AT, AT + SKEW)
)


def shown(remote_id: str = "g1", **given: object) -> Known:
    return Known(
        **{
            "remote_id": remote_id,
            "key": "k",
            "marks": SOUGHT.marks,
            "created_on": AT,
            **given,
        }
    )


def weighed(*known: Known, claimed: tuple[str, ...] = ()) -> object:
    return weigh(SOUGHT, known, claimed=claimed, skew=SKEW)


def test_one_record_with_the_key_is_the_trace() -> None:
    found = weighed(shown())
    assert isinstance(found, Trace)
    assert found.evidence == ("key", "name", "start_date", "created_on")


def test_nothing_shown_is_no_trace() -> None:
    assert weighed() == NoTrace()


def test_another_key_is_no_trace_however_alike() -> None:
    assert weighed(shown(key="other")) == NoTrace()


@pytest.mark.parametrize("mark", ["name", "start_date"])
def test_the_key_with_other_data_is_for_a_person(mark: str) -> None:
    other = {**SOUGHT.marks, mark: "something else"}
    assert weighed(shown(marks=other)) == Ambiguous(("g1",), "key_with_other_data")


def test_a_mark_the_list_does_not_show_speaks_neither_way() -> None:
    found = weighed(shown(marks={"name": SOUGHT.marks["name"], "start_date": None}))
    assert isinstance(found, Trace)
    assert found.evidence == ("key", "name", "created_on")


def test_two_records_with_the_key_are_for_a_person() -> None:
    assert weighed(shown("g1"), shown("g2")) == Ambiguous(("g1", "g2"), "several_records")


def test_a_record_that_another_row_owns_is_for_a_person() -> None:
    assert weighed(shown(), claimed=("g1",)) == Ambiguous(("g1",), "key_with_other_data")


def test_a_keyless_record_alike_and_of_that_time_is_a_candidate_never_adopted() -> None:
    assert weighed(shown(key=None)) == Ambiguous(("g1",), "alike_without_key")


def test_two_real_persons_with_equal_evidence_are_both_candidates() -> None:
    found = weighed(shown("g2", key=None), shown("g1", key=None))
    assert found == Ambiguous(("g1", "g2"), "alike_without_key")


@pytest.mark.parametrize("minutes", [-6, 11])
def test_a_keyless_record_of_another_time_is_none(minutes: int) -> None:
    assert weighed(shown(key=None, created_on=AT + timedelta(minutes=minutes))) == NoTrace()


@pytest.mark.parametrize("minutes", [-5, 10])
def test_the_clocks_may_differ_by_the_skew(minutes: int) -> None:
    found = weighed(shown(created_on=AT + timedelta(minutes=minutes)))
    assert isinstance(found, Trace)
    assert "created_on" in found.evidence


def named(trust: Trust, *known: Known, claimed: tuple[str, ...] = ()) -> object:
    """Weigh for a row whose key isn't enough: an address (`named`), name and company (`never`)."""
    sought = msgspec.structs.replace(SOUGHT, trust=trust, others=frozenset({"k", "name+company"}))
    return weigh(sought, known, claimed=claimed, skew=SKEW)


def test_a_record_that_got_a_stronger_key_meanwhile_is_still_the_trace() -> None:
    found = named("named", shown(key="its new address", others=("k",)))
    assert isinstance(found, Trace)


def test_a_key_written_otherwise_than_it_was_sent_is_for_a_person() -> None:
    written_otherwise = shown(key="K", others=("name+company",))
    assert named("named", written_otherwise) == Ambiguous(("g1",), "alike_without_key")
    assert named("named", written_otherwise, claimed=("g1",)) == NoTrace()


def test_a_shared_key_is_a_trace_only_of_a_record_made_just_then() -> None:
    assert isinstance(named("never", shown()), Trace)
    before = shown(created_on=AT - timedelta(days=1))
    assert named("never", before) == Ambiguous(("g1",), "alike_without_key")
    assert named("never", before, claimed=("g1",)) == NoTrace()


def test_an_address_of_another_name_is_for_a_person() -> None:
    other = {**SOUGHT.marks, "name": "c\0d"}
    assert named("named", shown(marks=other)) == Ambiguous(("g1",), "key_with_other_data")


def test_the_audit_finds_the_double_of_a_name_and_leaves_a_shared_mailbox() -> None:
    entry = Entry(id=1, key="k", digest="", limit=5, attempt=1, state=State.CREATED, remote_id="g1")
    shared = shown("g2", marks={**SOUGHT.marks, "name": "c\0d"})
    assert compare({"k": entry}, [shown(), shared], named=True) == []
    assert compare({"k": entry}, [shown(), shared]) == [Finding("double", 1, "k", ("g1", "g2"))]
    again = compare(
        {"k": entry}, [shown(), shared, shown("g3", others=("k",), key="x")], named=True
    )
    assert again == [Finding("double", 1, "k", ("g1", "g3"))]


def test_reprs_show_ids_only() -> None:
    assert repr(shown(values={"last_name": "Secret"})) == "Known(g1)"
    assert repr(SOUGHT) == "Sought(...)"
