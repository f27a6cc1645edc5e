"""Managers before their reports; who can't be put in order is named. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet


def cyclic(manager_of: Mapping[str, str]) -> AbstractSet[str]:
    """Return the rows on a cycle of managers, by key; those that merely report into one are not."""
    found: set[str] = set()
    seen: set[str] = set()
    for start in manager_of:
        path: dict[str, None] = {}
        at: str | None = start
        while at is not None and at not in seen and at not in path:
            path[at] = None
            at = manager_of.get(at)
        if at is not None and at in path:
            keys = list(path)
            found.update(keys[keys.index(at) :])
        seen.update(path)
    return found


def chunks(
    keys: Iterable[str], manager_of: Mapping[str, str], size: int, most: int
) -> Sequence[Sequence[str]]:
    """Cut `keys` into chunks of about `size`, at most `most`, that can be worked on side by side.

    Whoever is connected by managers among `keys` stands in one chunk, however large, each
    manager before those who report to them; otherwise the order given is kept. There is no cycle.
    """
    ordered = list(dict.fromkeys(keys))
    present = set(ordered)
    root: dict[str, str] = {}
    depth: dict[str, int] = {}
    for key in ordered:
        path = [key]
        while (above := manager_of.get(path[-1])) is not None and above in present:
            path.append(above)
        for level, each in enumerate(reversed(path)):
            root[each], depth[each] = path[-1], level
    families: dict[str, list[str]] = defaultdict(list)
    for key in ordered:
        families[root[key]].append(key)
    # Two neighbours hold more than `size` together: of more chunks than `most`, the pairs alone
    # would hold more rows than there are.
    size = max(size, len(ordered) // ((most + 1) // 2))
    cut: list[list[str]] = []
    for family in families.values():
        family.sort(key=depth.__getitem__)
        if cut and len(cut[-1]) + len(family) <= size:
            cut[-1] += family
        else:
            cut.append(family)
    return cut
