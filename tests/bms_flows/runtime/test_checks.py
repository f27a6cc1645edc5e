"""Plausibility of shares and amounts of a load, against those of earlier loads."""

from datetime import date
from math import log10

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bms_flows.runtime.checks import Finding, judge
from bms_flows.runtime.profile import Level, Part, Profile, Share, StoredProfile

MONDAY, TUESDAY = date(2026, 3, 16), date(2026, 3, 17)
EMPTY, OLD = "email.empty_today", "email.empty_old"
Rows = tuple[int, int]
"""Rows with a property, of rows."""


def load(*accepted: str, **shares: Rows) -> StoredProfile:
    """Return an earlier load; `__` stands for a dot."""
    found = {name.replace("__", "."): Share(*rows) for name, rows in shares.items()}
    return StoredProfile(found, accepted=dict.fromkeys(accepted))


def findings(name: str, found: Rows, *earlier: StoredProfile) -> list[str]:
    today = Profile()
    today.add(name, *found, days=[MONDAY])
    given = judge(today, earlier)
    assert {(each.days, each.measure) for each in given} <= {(frozenset([MONDAY]), name)}
    return [f"{each.code}: {each.where}" for each in given]


@pytest.mark.parametrize(
    ("name", "most", "of", "text"),
    [
        ("duplicates", 0, 1000, "duplicate_ids: {} rows"),
        ("missing", 7, 100, "drop: {} of 100"),
        ("missing", 44, 1000, "drop: {} of 1000"),
        ("email.lost", 44, 1000, "field_emptied: email: lost in {} of 1000 rows that had a value"),
        ("removed", 10, 20, "many_deleted: {} of 20 rows"),
        ("email.changed", 83, 1000, "many_changed: email: changed in {} of 1000 rows"),
        ("foreign", 15, 50, "other_entity: {} of 50 rows"),
        ("invalid", 44, 1000, "many_quarantined: {} of 1000 rows"),
    ],
)
def test_a_share_is_implausible_above_what_is_usual(
    name: str, most: int, of: int, text: str
) -> None:
    assert findings(name, (most, of)) == []
    assert findings(name, (most + 1, of)) == [text.format(most + 1)]


def test_changes_of_earlier_loads_are_usual_unless_they_were_accepted() -> None:
    earlier = [load(missing=(4, 500))] * 40
    assert findings("missing", (37, 500), *earlier) == []
    assert findings("missing", (38, 500), *earlier) == ["drop: 38 of 500"]
    accepted = [load("missing", missing=(400, 500))] * 9
    assert findings("missing", (24, 500), *accepted) == []
    assert findings("missing", (25, 500), *accepted) == ["drop: 25 of 500"]
    assert findings("missing", (37, 500), *accepted, *earlier) == []


@pytest.mark.parametrize(("nightly", "least", "loads"), [(4, 3, 7), (2, 10, 30), (1, 19, 30)])
def test_losses_of_several_loads_add_up_until_they_are_accepted(
    nightly: int, least: int, loads: int
) -> None:
    losses, none = load(missing=(nightly, 500)), [load(missing=(0, 500))] * 60
    assert findings("missing", (nightly, 500), *[losses] * (least - 1), *none) == []
    [where] = findings("missing", (nightly, 500), *[losses] * least, *none)
    assert where == f"drop: {nightly * (least + 1)} of 500 in {loads} loads"
    accepted = load("missing", missing=(nightly, 500))
    recent = [losses] * (least // 2)
    assert findings("missing", (nightly, 500), *recent, accepted, *[losses] * least, *none) == []
    [where] = findings("missing", (nightly, 500), *[losses] * least, accepted, *none)
    assert where.endswith(f" in {least + 1} loads")
    assert findings("missing", (0, 500), *[losses] * (least + 2), *none) == []
    assert findings("outside", (20, 100), *[load(outside=(20, 100))] * 9) == [], "not over loads"
    assert findings("foreign", (14, 50), *[load(foreign=(0, 50))] * 9) != []
    assert findings("foreign", (9, 50), *[load(foreign=(9, 50))] * 9) == [], "a state"


def test_several_loads_together_have_the_rows_of_the_largest() -> None:
    losses = [
        load(missing=(4, 400)),
        load(),
        *[load(missing=(4, 500))] * 3,
        load(missing=(4, 300)),
    ]
    [where] = findings("missing", (4, 100), *losses, *[load(missing=(0, 500))] * 60)
    assert where == "drop: 24 of 500 in 7 loads"


@given(
    st.sampled_from(["email.changed", "email.lost", "missing", "deleted", "foreign", EMPTY]),
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300), st.booleans()), max_size=40),
)
@example("canceled", [(35, 1000, False)] * 40)
def test_a_load_is_judged_after_any_history(name: str, loads: list[tuple[int, int, bool]]) -> None:
    """Over a month, a usual share may add up to more rows than a load has."""
    shares = [(Share(min(found, of), of), accepted) for found, of, accepted in loads if of]
    earlier = [StoredProfile({name: s}, accepted={name: None} if a else {}) for s, a in shares]
    assert all(each.endswith("loads") for each in findings(name, (3, 300), *earlier))


def test_parts_are_judged_alone_and_before_the_whole() -> None:
    today = Profile()
    today.add("missing", 40, 10_000, days=[MONDAY, TUESDAY])
    assert judge(today, []) == []
    monday, tuesday = frozenset([MONDAY]), frozenset([TUESDAY])
    today.parts["missing"] = [
        Part(Share(20, 100), monday, " (2026-03-16)"),
        Part(Share(30, 100), monday, " (again)"),
        Part(Share(1, 100), tuesday, " (few)"),
        Part(Share(20, 100), tuesday, " (2026-03-17)"),
        Part(Share(50, 100), frozenset(), " (elsewhere)"),
    ]
    held = [
        Finding("drop", f"20 of 100 ({each})", frozenset([each]), "missing")
        for each in (MONDAY, TUESDAY)
    ]
    elsewhere = Finding("drop", "50 of 100 (elsewhere)", frozenset(), "missing")
    assert judge(today, []) == [*held, elsewhere]
    assert str(held[0]).startswith("drop (20 of 100 (2026-03-16)): ")
    today.add("missing", 9_000, 10_000)
    assert judge(today, []) == [*held, elsewhere], "the whole says nothing more"
    del today.shares["missing"]
    assert judge(today, []) == [*held, elsewhere]


@pytest.mark.parametrize(
    ("earlier", "held"),
    [
        ([], False),
        ([load(email__empty_today=(0, 19))], False),
        ([load(email__empty_today=(0, 20))], True),
        ([load(email__empty_today=(0, 10))] * 2, True),
        ([load(email__empty_today=(1, 1000))], True),
        ([load(email__empty_today=(10, 20))] * 100, False),
        ([load(email__empty_today=(10, 20))], False),
        ([load(email__empty_today=(0, 5000)), load(email__empty_today=(100, 100))], False),
        ([load(EMPTY, email__empty_today=(50, 50)), load(email__empty_today=(0, 100))], False),
        ([load(email__empty_today=(0, 100)), load(EMPTY, email__empty_today=(5, 5))], False),
        ([load(OLD, email__empty_old=(5, 5)), load(email__empty_today=(0, 100))], False),
        ([load(EMPTY), load(email__empty_today=(0, 100))], True),
        ([load(EMPTY, email__empty_today=(0, 5)), load(email__empty_today=(90, 100))], True),
    ],
)  # fmt: skip
def test_a_state_is_usual_as_far_as_new_rows_had_it_since_its_acceptance(
    earlier: list[StoredProfile], held: bool
) -> None:
    """Five of ten new rows have no address."""
    expected = ["field_emptied: email: empty in 5 of 10 new rows"] if held else []
    assert findings(EMPTY, (5, 10), *earlier) == expected
    assert findings(EMPTY, (4, 10), *earlier) == []


def test_a_state_that_no_earlier_row_had_is_rare_and_not_impossible() -> None:
    assert findings("repeated", (3, 1000), load(repeated=(0, 20))) == []
    assert findings("repeated", (4, 10), load(repeated=(0, 20))) == [
        "reference_repeated: 4 of 10 rows"
    ]
    none = [load(foreign=(0, 50))] * 60
    assert findings("foreign", (30, 50), load("foreign", foreign=(30, 50)), *none) == []
    assert findings("foreign", (30, 50), load(foreign=(30, 50)), *none) != []


def test_values_are_lost_as_usual_once_new_rows_without_them_were_accepted() -> None:
    accepted = [load(EMPTY, email__empty_today=(10, 20))]
    assert findings("email.lost", (300, 1000), *accepted) == []
    assert findings("email.mistyped", (300, 1000), *accepted) == []
    assert findings("email.changed", (300, 1000), *accepted) != []
    assert findings("phone.lost", (300, 1000), *accepted) != []
    assert findings("email.lost", (900, 1000), *accepted) != []
    emptier = load(email__empty_today=(80, 100))
    assert findings("email.lost", (720, 1000), emptier, *accepted) == []
    since = [load(email__lost=(30, 1000))] * 2
    assert findings("email.lost", (30, 1000), *since, *accepted) == []
    unasked = [load(email__empty_today=(10, 20))]
    assert findings("email.lost", (300, 1000), *unasked) != []
    more = [load(email__lost=(900, 1000))] * 3
    assert findings("email.lost", (900, 1000), *more, *accepted) == []


def level(amount: float, rows: int, spread: float = 0) -> Level:
    """Return the sums of amounts around `amount`, half of them a factor of ten to `spread` off."""
    mean = log10(amount)
    return Level(rows, rows * mean, rows * (mean**2 + spread**2))


@pytest.mark.parametrize(
    ("amount", "rows", "usual", "factor"),
    [
        (100_000, 3, level(1000, 20), "1e+02"),
        (100_000, 2, level(1000, 20), ""),
        (100_000, 3, level(1000, 19), ""),
        (10, 9, level(1000, 20), "0.01"),
        (3_300, 9, level(1000, 20), "3.3"),
        (3_100, 9, level(1000, 20), ""),
        (100_000, 3, level(1000, 20, spread=1), ""),
        (100_000, 8, level(1000, 20, spread=1), "1e+02"),
        (100_000, 6, level(1000, 20, spread=1), ""),
        (4_000, 4, level(1000, 20, spread=0.2), ""),
    ],
)
def test_amounts_of_another_magnitude_are_implausible(
    amount: float, rows: int, usual: Level, factor: str
) -> None:
    today = Profile(
        levels={"USD": level(amount, rows), "EUR": level(1, 99)}, new_days=frozenset([MONDAY])
    )
    half = Level(usual.rows // 2, usual.sum / 2, usual.squares / 2)
    rest = half._replace(rows=usual.rows - half.rows)
    halves = [StoredProfile(levels={"USD": each}) for each in (half, rest)]
    where = f"USD: about {factor} times the usual amount in {rows} new rows"
    found = Finding("amounts_unusual", where, frozenset([MONDAY]), "amounts USD")
    assert judge(today, halves) == ([found] if factor else [])
    other = StoredProfile(levels={"USD": level(amount, 500)})
    accepted = StoredProfile(levels={"USD": usual}, accepted={"amounts USD": None})
    assert judge(today, [accepted, other]) == ([found] if factor else [])
    assert judge(today, [other, accepted]) == []
