"""Which rows are sent now, and which later as witnesses."""

import pytest

from bms_flows.onboarding.sending.absence import next_rows

READY = {1: "a", 2: "b", 3: "a", 4: "a", 5: "b", 6: "a"}
LAST = {4: "a", 6: "a"}


CASES: dict[str, tuple[dict[int, str], str, str, list[int]]] = {
    "the last two of a list come later": (READY, "", "", [1, 2, 3, 5]),
    "also while attempts are in flight": (READY, "", "ab", [1, 3]),
    "the last two go together if nothing is ambiguous": (LAST, "", "", [4, 6]),
    "another list does not matter": (LAST, "", "b", [4, 6]),
    "they wait for attempts in flight": (LAST, "", "a", []),
    "then one goes first": (LAST, "a", "", [4]),
    "until all attempts are over": (LAST, "a", "a", []),
    "the last one goes alone": ({6: "a"}, "a", "", [6]),
    "nothing is ready": ({}, "a", "b", []),
}
"""Rows that are ready, lists whose attempts ended or are in flight, rows to send."""


@pytest.mark.parametrize("name", CASES)
def test_the_last_rows_of_a_list_wait_for_its_ambiguous_attempts(name: str) -> None:
    ready, ended, in_flight, sent = CASES[name]
    assert next_rows(ready, ended, in_flight) == sent
