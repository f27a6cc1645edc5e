"""List reading: each list of a run is read until passes agree or the pass limit is reached."""

from collections.abc import Sequence
from functools import partial

from bms_flows.mirror.diff import ListDiff
from bms_flows.mirror.flags import FlagList
from bms_flows.mirror.resource import MirrorSource
from bms_flows.runtime.coverage import Key
from bms_flows.runtime.list_reader import ListReader


async def read_lists(
    source: MirrorSource, diff: ListDiff, passes: int, name: str
) -> tuple[bool, list[ListReader]]:
    """Read the main list, the filtered lists and, if needed, the list of deleted rows.

    Returns whether every list is proven to be complete, and the readings of the main list and of the
    deleted rows.

    Each filtered list is read before the main list and proven between two passes over the main list:
    by then new and changed rows are known, and the next pass applies their proven flags.
    """
    deleted = source.implied.get("deleted", False)
    add = partial(diff.add, deleted=deleted)
    size, largest = source.page_size, source.largest_page
    rows = partial(source.rows, find=diff.find)
    reading = ListReader(rows, add, size, f"{name}, list", largest=largest)
    flags = [flag for flag in diff.flags.values() if isinstance(flag, FlagList)]
    for flag in flags:
        await flag.reading.one_pass()
    diff.recall()
    await reading.one_pass()
    proven_at = await _prove(flags, diff, passes, reading)
    await reading.until_agreed(passes)
    # A later pass may return new or changed rows, or miss rows whose flag was corrected.
    while (
        not (proven := _all_flags_proven(flags, diff, reading, proven_at))
        and len(reading.passes) <= passes
    ):
        proven_at = await _prove(flags, diff, passes, reading)
        await reading.one_pass()
    readings = [reading]
    if source.deleted and not diff.any_deleted:
        # The main list omits deleted rows, or there are none.
        add = partial(diff.add, deleted=True)
        label = f"{name}, list of deleted"
        deletions = ListReader(source.deleted, add, size, label, least=1, largest=largest)
        await deletions.until_agreed(passes)
        readings.append(deletions)
    await diff.flush()
    return proven and all(each.agreed for each in readings), readings


async def _prove(
    flags: Sequence[FlagList], diff: ListDiff, passes: int, reading: ListReader
) -> int:
    """Prove the filtered lists; return the first pass over the main list that applies proven flags."""
    for flag in flags:
        await flag.prove(diff.changed, passes)
        diff.corrected |= flag.corrected
    return len(reading.passes)


def _all_flags_proven(
    flags: Sequence[FlagList], diff: ListDiff, reading: ListReader, proven_at: int
) -> bool:
    """Return whether the diff contains every row with proven flags."""
    updated = set[Key]().union(*(each.rows for each in reading.passes[proven_at:]))
    return all(
        flag.proven
        and flag.determines_all(diff.changed)
        and not (flag.corrected & diff.seen) - updated
        for flag in flags
    )
