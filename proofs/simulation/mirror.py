"""Simulated mirror: a list that changes during its reads, some syncs, and a last one at rest."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from bms_flows.mirror.decisions import MirrorRow, exceeds_limit, missing_rows, rows_with_flag
from bms_flows.mirror.diff import ListDiff, RecalledRow
from bms_flows.mirror.flags import FlagList
from bms_flows.mirror.lists import read_lists
from bms_flows.mirror.resource import MirrorSource
from bms_flows.mirror.resources import CONTACTS
from bms_flows.mirror.responses import ResponseFiles
from bms_flows.mirror.rows import ListItem
from bms_flows.runtime.coverage import Key
from proofs.simulation.clock import EPOCH, play
from proofs.simulation.moving_list import MovingList
from proofs.simulation.recorder import Recorder, draws

ORDERS: Final = ("id", "id_desc", "name", "modified_on", "modified_on_desc", "none")
CHANCES: Final = (0.0, 0.02, 0.1, 0.3)
"""Of a request finding a row inserted, deleted or edited before it."""
PAST_END: Final = ("empty", "not_found", "last_page")


def broken(seed: int, recorder: Recorder) -> list[str]:
    """Play the run of `seed`; return the laws it broke."""
    return play(_run(draws(seed), recorder))


async def _run(random: Random, recorder: Recorder) -> list[str]:
    chance, order = random.choice(CHANCES), random.choice(ORDERS)
    # A few rows without an order may look ordered by chance: then pages hold ten rows and more.
    size = random.randrange(10 if order == "none" else 3, 14)
    moving = MovingList(
        random,
        rows=random.randrange(25 if order == "none" else 0, 45),
        order=order,
        past_end=random.choice(PAST_END),
    )
    moving.members = {key for key in moving.states if random.random() < 0.6}  # noqa: PLR2004 - a share
    moving.flagged = {key for key in moving.states if random.random() < 0.3}  # noqa: PLR2004 - likewise
    first = random.random() < 0.5  # noqa: PLR2004 - a share of the runs begins with an empty mirror
    mirror: dict[Key, MirrorRow] = (
        {} if first else {key: _known(moving, key, b"") for key in moving.states}
    )
    recalled: dict[bytes, RecalledRow] = {}
    wrong = []
    for turn in range(random.randint(1, 2)):
        moving.inserted = moving.deleted = moving.edited = moving.assigned = chance
        moving.removed = chance / 4
        wrong += [
            f"sync {turn}: {law}" for law in await _sync(moving, mirror, recalled, size, recorder)
        ]
    moving.inserted = moving.deleted = moving.edited = moving.assigned = moving.removed = 0.0
    moving.order = "id"
    wrong += [f"at rest: {law}" for law in await _sync(moving, mirror, recalled, size, recorder)]
    if {
        k for k, row in mirror.items() if row.removal is None
    } != moving.states.keys() - moving.flagged:
        wrong.append("at rest the mirror is not the list")
    return wrong


def _known(moving: MovingList, key: Key, digest: bytes) -> MirrorRow:
    gone = "flagged" if key in moving.flagged else None
    return MirrorRow(digest, detailed=True, removal=gone, flags=(key in moving.members,))


async def _sync(
    moving: MovingList,
    mirror: dict[Key, MirrorRow],
    recalled: dict[bytes, RecalledRow],
    size: int,
    recorder: Recorder,
) -> list[str]:
    """Read the lists like a sync and mark missing rows; return the laws broken.

    `recalled` are the rows of all earlier syncs, old states included.
    """
    moving.stayed, moving.touched = set(moving.states), set()
    had = rows_with_flag(mirror, 0)
    flag = FlagList.of(moving.fetch_assigned, size, "assigned", had)
    source = MirrorSource(
        rows=moving.fetch,
        members={"_assigned": moving.fetch_assigned},
        deleted=moving.fetch_deleted,
        detail=_unread,
        page_size=size,
    )

    async def stage(items: Sequence[ListItem]) -> None:
        for item in items:
            gone = "flagged" if item.listed.deleted else None
            key: Key = item.record.key
            mirror[key] = MirrorRow(
                item.listed.digest, detailed=True, removal=gone, flags=item.listed.flags
            )

    diff = ListDiff(
        CONTACTS,
        source,
        known=dict(mirror),
        flags={"_assigned": flag},
        details=False,
        rotation=(),
        day=EPOCH.date(),
        responses=Unstored(),
        stage=stage,
        recalled=[*recalled.items()],
    )
    agreed, readings = await read_lists(source, diff, 3, "contact")
    recalled.update(diff.latest())
    recorder.counts["syncs"] += 1
    recorder.counts["requests"] += sum(each.calls for each in (*readings, flag.reading))
    recorder.note(f"{len(moving.states)} rows by {moving.order}, pages of {size}: {agreed}")
    if not agreed:
        recorder.counts["syncs that were unstable"] += 1
        return []
    seen = diff.seen
    lacking = missing_rows(mirror, seen, None)
    # A row whose detail exists is not missing.
    gone = [key for key in lacking if key not in moving.states]
    recorder.note(f"lacking {len(lacking)}, missing {len(gone)}")
    recorder.counts["rows marked as removed"] += len(gone)
    recorder.counts["syncs with more missing rows than allowed without an operator"] += (
        exceeds_limit(len(gone), len(mirror), rows=10, percent=5)
    )
    for key in gone:
        mirror[key] = replace(mirror[key], removal="missing")
    return _wrong(moving, mirror, seen, recorder)


def _wrong(
    moving: MovingList, mirror: dict[Key, MirrorRow], seen: AbstractSet[Key], recorder: Recorder
) -> list[str]:
    missed = moving.stayed - seen
    # A row edited during the read may have moved past it; the next read sees it.
    recorder.counts["edited rows that were missed once"] += len(missed & moving.touched)
    missed -= moving.touched
    laws = [f"{len(missed)} rows that stayed were missed"] if missed else []
    quiet = (moving.stayed & seen) - moving.touched
    stored = {key: (mirror[key].flags, mirror[key].removal) for key in quiet}
    true = {key: ((known := _known(moving, key, b"")).flags, known.removal) for key in quiet}
    live = quiet - moving.flagged  # what ASSIGNED means of deleted rows is not shown
    if flags := sum(stored[key][0] != true[key][0] for key in live):
        laws.append(f"{flags} rows that stayed have a wrong flag")
    if deleted := sum(stored[key][1] != true[key][1] for key in quiet):
        laws.append(f"{deleted} rows are deleted here and not there, or there and not here")
    return laws


async def _unread(_: Any) -> Any:
    raise AssertionError("no detail is read")


class Unstored(ResponseFiles):
    """Answers that are stored nowhere."""

    def __init__(self) -> None:
        """Open nothing."""

    async def append(self, name: str, body: bytes) -> None:
        """Store nothing."""
