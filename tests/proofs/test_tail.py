"""The tail of a drop in virtual time: nobody is created twice, and the restarted task continues at once."""

import pytest

from proofs.tail import timeline


@pytest.mark.parametrize("scenario", ["kill", "neither"])
def test_a_drop_with_faults_ends_and_creates_nobody_twice(scenario: str) -> None:
    found = timeline(scenario, 3)
    assert (found.doubles, found.review) == (0, 0)
    assert found.continued <= 90
    assert found.ended <= 15 * 60
