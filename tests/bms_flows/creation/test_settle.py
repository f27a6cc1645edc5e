"""A look at the service: what either of its two readings shows counts."""

from datetime import UTC, datetime
from typing import Any

from bms_flows.creation.employees import EMPLOYEE_IDENTITY
from bms_flows.creation.evidence import Known
from bms_flows.creation.settle import look

NOW = datetime(2026, 3, 31, tzinfo=UTC)


class Clock:
    """The part of a ledger that a look asks."""

    async def now(self) -> datetime:
        return NOW


class Flickering:
    """A service whose answers lack a record now and then."""

    identity = EMPLOYEE_IDENTITY

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)

    async def shown(self, scopes: Any) -> list[Known]:
        assert set(scopes) == {1}
        return [Known(remote_id=each) for each in self.answers.pop(0)]


async def test_a_record_that_one_of_two_answers_lacks_is_seen() -> None:
    """A look that missed it would have it created a second time."""
    for answers in ((["1"], ["1", "2"]), (["1", "2"], ["1"])):
        seen = await look(Clock(), Flickering(*answers), [{"id_entity": 1}])  # type: ignore[arg-type]  # as much of them as a look needs
        assert {known.remote_id for known in seen.shown} == {"1", "2"}
        assert seen.at == NOW
