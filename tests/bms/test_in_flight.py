"""Places in flight: as many as the pace allows, in turn, none lost."""

import asyncio

import pytest

from bms.in_flight import InFlight
from bms.pace import RISE_AFTER


async def most_at_once(in_flight: InFlight, tasks: int = 40) -> int:
    at_work = most = 0

    async def request() -> None:
        nonlocal at_work, most
        async with in_flight:
            at_work += 1
            most = max(most, at_work)
            await asyncio.sleep(0)
            at_work -= 1

    await asyncio.gather(*(request() for _ in range(tasks)))
    return most


async def test_as_many_are_in_flight_as_there_are_places() -> None:
    assert await most_at_once(InFlight(8)) == 8


async def test_after_a_cut_places_that_come_back_are_withheld() -> None:
    in_flight = InFlight(8)
    async with in_flight:
        in_flight.pace.failed(0.0)
    await most_at_once(in_flight)  # those given before the cut come back
    assert await most_at_once(in_flight) == 4


async def test_they_are_given_again_when_the_pace_rises() -> None:
    in_flight = InFlight(4)
    in_flight.pace.failed(0.0)
    await most_at_once(in_flight)
    for moment in range(1, 10):
        async with in_flight:
            in_flight.pace.answered("list_contacts", 200, 0.05, moment * RISE_AFTER)
    assert await most_at_once(in_flight) == 4


async def test_one_place_is_always_left() -> None:
    in_flight = InFlight(1)
    in_flight.pace.failed(0.0)
    assert await most_at_once(in_flight) == 1


async def test_a_request_that_fails_or_is_cancelled_gives_its_place_back() -> None:
    in_flight = InFlight(2)
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            async with in_flight:
                raise ZeroDivisionError
    async with in_flight, in_flight:
        waiting = asyncio.ensure_future(most_at_once(in_flight, 1))
        await asyncio.sleep(0)
        waiting.cancel()
    assert await most_at_once(in_flight) == 2
