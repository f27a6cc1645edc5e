"""Which rows are sent now, and which later as witnesses."""

import pytest

from bms_flows.onboarding.sending.absence import next_rows

READY = {1: "a", 2: "b", 3: "a", 4: "a", 5: "b", 6: "a"}


@pytest.mark.parametrize(
    ("ready", "ended", "in_flight", "sent"),
    [
        (READY, (), (), [1, 2, 3, 5]),
        (READY, (), ("a", "b"), [1, 3]),
        ({4: "a", 6: "a"}, (), (), [4, 6]),
        ({4: "a", 6: "a"}, (), ("b",), [4, 6]),
        ({4: "a", 6: "a"}, (), ("a",), []),
        ({4: "a", 6: "a"}, ("a",), (), [4]),
        ({4: "a", 6: "a"}, ("a",), ("a",), []),
        ({6: "a"}, ("a",), (), [6]),
        ({}, ("a",), ("b",), []),
    ],
    ids=[
        "the last two of a list come later",
        "also while attempts are in flight",
        "the last two go together if nothing is ambiguous",
        "another list does not matter",
        "they wait for attempts in flight",
        "then one goes first",
        "until all attempts are over",
        "the last one goes alone",
        "nothing is ready",
    ],
)
def test_the_last_rows_of_a_list_wait_for_its_ambiguous_attempts(
    ready: dict[int, str], ended: tuple[str, ...], in_flight: tuple[str, ...], sent: list[int]
) -> None:
    assert next_rows(ready, ended, in_flight) == sent
