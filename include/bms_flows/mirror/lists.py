"""The lists of a run, each read until it is proven whole, or its passes are spent."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from bms_flows.mirror.diff import Intake
from bms_flows.mirror.flags import FlagList
from bms_flows.mirror.resource import Source
from bms_flows.runtime.coverage import Key
from bms_flows.runtime.list_reader import ListReader


@dataclass(frozen=True)
class Lists:
    """How the lists of a run were read."""

    agreed: bool
    """Whether every list is proven to have been read whole."""
    passes: int
    """Passes over the main list."""
    calls: int
    """Requests for the main list and that of deleted rows."""


async def read_lists(source: Source, intake: Intake, passes: int, name: str) -> Lists:
    """Read the main list, the lists of flags and, where it is needed, that of deleted rows.

    A flag's list is read before the main list, and proven between the passes over the main list: then
    it is known which rows are new or changed, and the next pass takes their proven flags in.
    """
    deleted = source.given.get("deleted", False)
    take = partial(intake.take, deleted=deleted)
    reading = ListReader(source.rows, take, source.page_size, f"{name}, list")
    flags = [flag for flag in intake.flags.values() if isinstance(flag, FlagList)]
    for flag in flags:
        await flag.reading.one_pass()
    await reading.one_pass()
    proven_at = await _prove(flags, intake, passes, reading)
    await reading.until_agreed(passes)
    # A later pass may bring rows that are new or changed, or lack rows whose flag was corrected.
    while not (told := _told(flags, intake, reading, proven_at)) and len(reading.passes) <= passes:
        proven_at = await _prove(flags, intake, passes, reading)
        await reading.one_pass()
    readings = [reading]
    if source.deleted and not intake.any_deleted:
        # The service leaves deleted rows out of ALL, or there are none.
        take = partial(intake.take, deleted=True)
        label = f"{name}, list of deleted"
        others = ListReader(source.deleted, take, source.page_size, label, least=1)
        await others.until_agreed(passes)
        readings.append(others)
    await intake.end()
    return Lists(
        agreed=told and all(each.agreed for each in readings),
        passes=len(reading.passes),
        calls=sum(each.calls for each in readings),
    )


async def _prove(
    flags: Sequence[FlagList], intake: Intake, passes: int, reading: ListReader
) -> int:
    """Prove the flags' lists; return from which pass over the main list on rows have proven flags."""
    for flag in flags:
        await flag.prove(intake.changed, passes)
    return len(reading.passes)


def _told(flags: Sequence[FlagList], intake: Intake, reading: ListReader, proven_at: int) -> bool:
    """Return whether every row was taken in with the flags that the lists prove."""
    taken = set[Key]().union(*(each.keys for each in reading.passes[proven_at:]))
    return all(
        flag.proven and flag.tells(intake.changed) and not (flag.corrected & intake.seen) - taken
        for flag in flags
    )
