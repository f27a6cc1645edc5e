"""Order of rows: managers before their reports, in chunks without dependencies. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet


def cyclic(manager_of: Mapping[str, str]) -> AbstractSet[str]:
    """Return the keys of rows on a cycle of managers, without rows that only report into a cycle."""
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


def reports(keys: Iterable[str], manager_of: Mapping[str, str]) -> AbstractSet[str]:
    """Return the keys of rows that report, directly or not, to one of `keys`."""
    direct: dict[str, list[str]] = defaultdict(list)
    for key, manager in manager_of.items():
        direct[manager].append(key)
    found: set[str] = set()
    left = list(keys)
    while left:
        new = [key for key in direct[left.pop()] if key not in found]
        found.update(new)
        left += new
    return found


def chunks(
    keys: Iterable[str], manager_of: Mapping[str, str], size: int, most: int
) -> Sequence[Sequence[str]]:
    """Split `keys` into at most `most` independent chunks of about `size` rows.

    Rows connected by managers share a chunk, however large, with each manager before the reports;
    otherwise the given order stays. The ledger has no cycle; the rows of a cycle would still be in
    one chunk each, in any order.
    """
    ordered = list(dict.fromkeys(keys))
    present = set(ordered)
    root: dict[str, str] = {}
    depth: dict[str, int] = {}
    for key in ordered:
        path: dict[str, None] = {}
        at: str | None = key
        while at is not None and at in present and at not in path:
            path[at] = None
            at = manager_of.get(at)
        top = next(reversed(path))
        for level, each in enumerate(reversed(path)):
            root[each], depth[each] = top, level
    families: dict[str, list[str]] = defaultdict(list)
    for key in ordered:
        families[root[key]].append(key)
    # Two adjacent chunks have more than `size` rows together, so this size gives at most `most` chunks.
    size = max(size, len(ordered) // ((most + 1) // 2))
    cut: list[list[str]] = []
    for family in families.values():
        family.sort(key=depth.__getitem__)
        if cut and len(cut[-1]) + len(family) <= size:
            cut[-1] += family
        else:
            cut.append(family)
    return cut
