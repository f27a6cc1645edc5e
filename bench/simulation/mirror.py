"""A mirror from one seed: a list that moves while it is read, some syncs, and a last one at rest."""

from random import Random
from typing import Final

from bench.simulation.clock import play
from bench.simulation.moving_list import MovingList, read
from bench.simulation.witness import Witness, draws
from bms_flows.mirror.coverage import Key
from bms_flows.mirror.decisions import Known, absent, too_many

ORDERS: Final = ("id", "id_desc", "name", "modified_on", "modified_on_desc", "none")
CHANCES: Final = (0.0, 0.02, 0.1, 0.3)
"""Of a request finding a row inserted, deleted or edited before it."""
PAST_END: Final = ("empty", "not_found", "last_page")
HERE: Final = Known(None, detailed=False, gone=None)


def broken(seed: int, witness: Witness) -> list[str]:
    """Play the run of `seed`; return the laws it broke."""
    return play(_run(draws(seed), witness))


async def _run(random: Random, witness: Witness) -> list[str]:
    chance, order = random.choice(CHANCES), random.choice(ORDERS)
    # A few rows without an order may look ordered by chance: then pages hold ten rows and more.
    size = random.randrange(10 if order == "none" else 3, 14)
    moving = MovingList(
        random,
        rows=random.randrange(25 if order == "none" else 0, 45),
        order=order,
        inserted=chance,
        deleted=chance,
        edited=chance,
        past_end=random.choice(PAST_END),
    )
    mirror: dict[Key, Known] = dict.fromkeys(moving.states, HERE)
    wrong = []
    for turn in range(random.randint(1, 2)):
        wrong += [f"sync {turn}: {law}" for law in await _sync(moving, mirror, size, witness)]
    moving.inserted = moving.deleted = moving.edited = 0.0
    moving.order = "id"
    wrong += [f"at rest: {law}" for law in await _sync(moving, mirror, size, witness)]
    if mirror.keys() != moving.states.keys():
        wrong.append("at rest the mirror is not the list")
    return wrong


async def _sync(
    moving: MovingList, mirror: dict[Key, Known], size: int, witness: Witness
) -> list[str]:
    """Read the list as a sync does and mark who is gone; return the laws broken meanwhile."""
    moving.stayed, moving.touched = set(moving.states), set()
    reading, seen = await read(moving, size=size)
    witness.counts["syncs"] += 1
    witness.counts["requests"] += reading.calls
    mirror |= dict.fromkeys(seen, HERE)
    witness.tell(f"{len(moving.states)} rows by {moving.order}, pages of {size}: {reading.told}")
    if not reading.agreed:
        witness.counts["syncs that were unstable"] += 1
        return []
    witness.counts["syncs with rows that moved"] += not reading.calm
    lacking = absent(mirror, seen, None)
    # A detail that is still there takes a row off the list of those gone, whoever lacked it.
    gone = [key for key in lacking if key not in moving.states]
    witness.tell(f"lacking {len(lacking)}, gone {len(gone)}")
    witness.counts["rows marked as gone"] += len(gone)
    witness.counts["syncs with more gone than a person need not see"] += too_many(
        len(gone), len(mirror), rows=10, percent=5
    )
    for key in gone:
        del mirror[key]
    missed = moving.stayed - seen
    # A row edited meanwhile may have jumped over the reading; it is seen the next time.
    witness.counts["edited rows that were missed for once"] += len(missed & moving.touched)
    missed -= moving.touched
    return [f"{len(missed)} rows that stayed were missed"] if missed else []
