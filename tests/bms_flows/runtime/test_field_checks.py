"""Fields that lose their values: which loads are held for review, and which are not."""

import pytest
from bms_flows.runtime.field_checks import FieldCounts, FieldFound, check_fields
from hypothesis import given
from hypothesis import strategies as st


def codes(**found: FieldFound) -> list[tuple[str, str]]:
    return [(each.code, each.field) for each in check_fields(found)]


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (FieldFound(filled_before=250, emptied=250), "field_emptied"),
        (FieldFound(filled_before=5, emptied=3), "field_emptied"),
        (FieldFound(filled_before=250, emptied=250, mistyped=250), "field_mistyped"),
        (FieldFound(filled_before=10, emptied=10, mistyped=6), "field_mistyped"),
        (FieldFound(filled_before=10, emptied=10, mistyped=5), "field_emptied"),
        (FieldFound(filled_before=10, emptied=10, mistyped=4), "field_emptied"),
        (FieldFound(filled_before=100, emptied=6, mistyped=6), "field_mistyped"),
        (FieldFound(filled_before=3, emptied=3, mistyped=3), "field_mistyped"),
        (FieldFound(new=10, new_mistyped=3), "field_mistyped"),
        (FieldFound(new=10, new_mistyped=10, usual_rows=20, usual=10), "field_mistyped"),
        (FieldFound(new=10, usual_rows=20, usual=18), "field_emptied"),
    ],
)
def test_a_field_that_loses_its_values_is_a_violation(found: FieldFound, code: str) -> None:
    assert codes(sent=found) == [(code, "sent")]


@pytest.mark.parametrize(
    "found",
    [
        FieldFound(),
        FieldFound(filled_before=250, emptied=125),
        FieldFound(filled_before=2, emptied=2),
        FieldFound(filled_before=2, emptied=2, mistyped=2),
        FieldFound(filled_before=100, emptied=5, mistyped=5),
        FieldFound(filled_before=0, mistyped=100),
        FieldFound(new=10, new_mistyped=2),
        FieldFound(new=100, new_mistyped=5),
        FieldFound(new=10, new_mistyped=10, usual_rows=20, usual=9),
        FieldFound(new=9, usual_rows=20, usual=20),
        FieldFound(new=10, filled=1, usual_rows=20, usual=20),
        FieldFound(new=10, usual_rows=20, usual=17),
        FieldFound(new=10, usual_rows=9, usual=9),
    ],
    ids=repr,
)
def test_what_happens_to_single_rows_and_what_was_so_before_is_no_violation(
    found: FieldFound,
) -> None:
    assert codes(sent=found) == []


def test_each_field_is_judged_alone() -> None:
    emptied = FieldFound(filled_before=9, emptied=9)
    assert codes(sent=emptied, created_on=FieldFound(filled=9), canceled=emptied) == [
        ("field_emptied", "canceled"),
        ("field_emptied", "sent"),
    ]


def test_a_violation_counts_rows_and_quotes_no_value() -> None:
    found = {
        "a": FieldFound(filled_before=12, emptied=9),
        "b": FieldFound(new=9, new_mistyped=8),
        "c": FieldFound(new=12, usual_rows=20, usual=19),
    }
    assert [each.where for each in check_fields(found)] == [
        "a: lost in 9 of 12 rows that had a value",
        "b: of another type in 8 of 9 new rows",
        "c: empty in 12 new rows, filled in 19 of 20 before",
    ]


@given(*[st.integers(0, 500)] * 4, st.integers(0, 20))
def test_more_lost_values_are_never_a_smaller_violation(
    filled_before: int, emptied: int, mistyped: int, new: int, more: int
) -> None:
    """Whatever is held for review stays so when more rows lose the field."""

    def held(add: int) -> bool:
        found = FieldFound(
            filled_before=filled_before + 20 + emptied,
            emptied=emptied + add,
            mistyped=min(mistyped + add, emptied + add),
            new=new + 20,
            new_mistyped=min(mistyped + add, new + 20),
        )
        return bool(check_fields({"sent": found}))

    assert held(more) >= held(0)


def test_counts_of_a_load_leave_out_what_never_occurred() -> None:
    counts = FieldCounts()
    assert counts.as_dict() == {}
    counts.missing["sent_on"] += 0
    counts.coerced["sent"] += 2
    assert counts.as_dict() == {"coerced": {"sent": 2}}
