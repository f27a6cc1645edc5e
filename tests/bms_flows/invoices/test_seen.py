"""Seen: what came before is found, whatever lies between."""

from bms_flows.invoices.seen import Seen


def test_those_that_came_before_are_found_among_others() -> None:
    seen = Seen()
    seen.add([10, 30, 20])
    seen.add([5, 25])
    assert seen.among([1, 5, 15, 20, 25, 99]) == {5, 20, 25}


def test_nothing_is_found_among_nothing_nor_before_anything_came() -> None:
    seen = Seen()
    assert seen.among([1]) == set()
    seen.add([])
    seen.add([1])
    assert seen.among([]) == set()
