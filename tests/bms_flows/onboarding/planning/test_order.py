from hypothesis import given
from hypothesis import strategies as st

from bms_flows.onboarding.planning.managers import chunks, cyclic, reports

KEYS = [f"k{n}" for n in range(12)]
MANAGERS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(KEYS))


def test_a_cycle_contains_only_its_members() -> None:
    assert cyclic({"a": "b", "b": "a", "c": "a", "d": "d", "e": "x"}) == {"a", "b", "d"}


@given(MANAGERS)
def test_without_cycles_every_row_reaches_a_top_manager(managers: dict[str, str]) -> None:
    rest = {key: boss for key, boss in managers.items() if key not in cyclic(managers)}
    for key in rest:
        at, steps = key, 0
        while at in rest:
            at, steps = rest[at], steps + 1
            assert steps <= len(rest)


@given(MANAGERS, st.integers(1, 5))
def test_chunks_hold_every_row_once_managers_first_with_their_reports(
    managers: dict[str, str], size: int
) -> None:
    tree = {key: boss for key, boss in managers.items() if key not in cyclic(managers)}
    cut = chunks(KEYS, tree, size, 2 * len(KEYS))
    place = {key: (n, at) for n, chunk in enumerate(cut) for at, key in enumerate(chunk)}
    assert sorted(place) == sorted(KEYS)
    assert sum(map(len, cut)) == len(KEYS)
    for key, boss in tree.items():
        assert place[boss][0] == place[key][0]
        assert place[boss][1] < place[key][1]


def test_chunks_are_filled() -> None:
    assert chunks("abcde", {}, 1, 4) == [["a", "b", "c"], ["d", "e"]]


@given(MANAGERS, st.integers(1, 5))
def test_chunks_of_a_cycle_end_and_hold_every_row_once(managers: dict[str, str], size: int) -> None:
    cut = chunks(KEYS, managers, size, 2 * len(KEYS))
    assert sorted(key for chunk in cut for key in chunk) == sorted(KEYS)


@given(MANAGERS, st.sets(st.sampled_from(KEYS)))
def test_reports_are_all_rows_with_one_of_the_keys_above(
    managers: dict[str, str], keys: set[str]
) -> None:
    def above(key: str) -> set[str]:
        found: set[str] = set()
        while (key := managers.get(key, "")) and key not in found:
            found.add(key)
        return found

    assert reports(keys, managers) == {key for key in KEYS if above(key) & keys}


@given(st.lists(st.integers(1, 9), max_size=40), st.integers(1, 12), st.integers(1, 12))
def test_the_number_of_chunks_is_limited(families: list[int], size: int, most: int) -> None:
    heads = {f"{n}": [f"{n}.{m}" for m in range(1, many)] for n, many in enumerate(families)}
    keys = [key for head, others in heads.items() for key in (head, *others)]
    boss = {key: head for head, others in heads.items() for key in others}
    cut = chunks(keys, boss, size, most)
    assert len(cut) <= most
    assert [key for chunk in cut for key in chunk] == keys
    if len(keys) < size * most // 2:
        assert cut == chunks(keys, boss, size, len(keys) + 1)
