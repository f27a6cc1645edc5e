"""Series of invoice numbers: their layout, their holes, and which holes are unusual."""

import random
from datetime import date, timedelta
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from bms_flows.invoices.series import SeriesReport, judge_series, learn_series
from tests.bms_flows.invoices.listed import Row, days
from tests.bms_flows.invoices.number_dialects import (
    DIALECTS,
    NUMBER_LOSSES,
    NUMBERS_TO,
    lost_rows,
    numbered,
)

TODAY = NUMBERS_TO + timedelta(days=1)
GAPLESS = sorted({*DIALECTS} - {"canceled drafts", "random"})


class NumberedInvoice(NamedTuple):
    reference: str
    dated: date
    listed: date


def judged(invoices: list[NumberedInvoice], **given: Any) -> list[SeriesReport]:
    facts: dict[str, Any] = {"known": (), "unexplained": (), "unread": (), "today": TODAY}
    columns = pa.Table.from_pylist([each._asdict() for each in invoices])
    found = (judge_series(each, **(facts | given)) for each in learn_series(columns))
    return [each for each in found if each]


def daily(references: list[str]) -> list[NumberedInvoice]:
    """Return an invoice a day, the last of the last day."""
    first = TODAY - timedelta(days=len(references))
    dated = days(first, len(references))
    return [NumberedInvoice(r, day, day) for r, day in zip(references, dated, strict=True)]


def of_rows(rows: list[Row]) -> list[NumberedInvoice]:
    dates = [date.fromisoformat(row["invoice_date"]) for row in rows]
    return [
        NumberedInvoice(row["reference_number"], day, day)
        for row, day in zip(rows, dates, strict=True)
    ]


def missing(reports: list[SeriesReport]) -> set[str]:
    return {each for report in reports for hole in report.unusual for each in hole.references}


@pytest.mark.parametrize("loss", NUMBER_LOSSES)
@pytest.mark.parametrize("name", GAPLESS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_lost_numbers_are_found_in_every_dialect(name: str, loss: str, seed: int) -> None:
    rows = numbered(name, seed)
    lost = lost_rows(rows, loss)
    left = [row for row in rows if row not in lost]
    assert missing(judged(of_rows(left))) == {row["reference_number"] for row in lost}


@pytest.mark.parametrize("seed", range(20))
def test_canceled_drafts_are_usual(seed: int) -> None:
    (report,) = judged(of_rows(numbered("canceled drafts", seed)))
    assert report.unusual == []
    assert 0.02 < report.usual_share < 0.06


def test_many_holes_of_one_day_are_unusual_among_canceled_drafts() -> None:
    rows = numbered("canceled drafts")
    day = [row for row in rows if row["invoice_date"] == rows[-40]["invoice_date"]]
    left = [row for row in rows if row not in day[1:-1]]
    found = missing(judged(of_rows(left)))
    assert found >= {row["reference_number"] for row in day[1:-1]}


def test_random_references_form_no_series() -> None:
    assert judged(of_rows(numbered("random"))) == []
    draws = [f"{n * 7919 % 100_000:05}" for n in range(300)]
    assert judged(daily(draws)) == []


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("FA{day:%Y}-{n:05}", "FA{YYYY}-{00000}"),
        ("{day:%Y/%m}/{n:04}", "{YYYY}/{MM}/{0000}"),
        ("{day:%y%m}{n:04}", "{YYMM}{0000}"),
        ("{n}/{day:%y}", "{0}/{YY}"),
        ("E7-{n}", "E7-{0}"),
    ],
)
def test_the_layout_is_learned(reference: str, name: str) -> None:
    dated = days(TODAY - timedelta(days=90), 90)
    invoices = [
        NumberedInvoice(reference.format(n=n, day=day), day, day) for n, day in enumerate(dated, 1)
    ]
    assert [each.name for each in judged(invoices)] == [name]


def test_the_first_numbers_of_a_year_are_missing() -> None:
    dated = days(date(2025, 11, 1), 120)
    count: dict[int, int] = {}
    invoices = []
    for day in dated:
        count[day.year] = count.get(day.year, 0) + 1
        invoices.append(NumberedInvoice(f"F{day:%y}-{count[day.year]:03}", day, day))
    left = [each for each in invoices if each.reference not in {"F26-001", "F26-002"}]
    assert missing(judged(left)) == {"F26-001", "F26-002"}


def test_a_missing_number_is_padded_like_the_numbers_around_it() -> None:
    """Another software pads to six digits; only the right number is removed when it arrives."""
    references = [
        *(f"FA-{n:04}" for n in range(9990, 10_020)),
        *(f"FB-{n:04}" for n in range(1, 30)),
    ]
    references += [f"FB-{n:06}" for n in range(30, 60)]
    lost = {"FA-9995", "FA-9999", "FA-10005", "FB-0020", "FB-000040"}
    assert missing(judged(daily([each for each in references if each not in lost]))) == lost


@pytest.mark.parametrize(
    ("references", "after", "not_after"),
    [
        (["FA-0998", "FA-1000"], ["FA-1001", "FA-012000"], ["FA-0999", "FA-1", "other", "FB-2000"]),
        (["F24-7", "F25-12", "F26-3"], ["F24-8", "F26-4", "F27-1"], ["F25-11", "F26-2"]),
    ],
)
def test_only_numbers_after_the_last_of_their_period_are_no_holes(
    references: list[str], after: list[str], not_after: list[str]
) -> None:
    usual = [f"{'FA-0' if 'FA' in references[0] else 'F25-'}{n}" for n in range(100, 130)]
    dated = {"F24": date(2024, 5, 5), "F26": date(2026, 5, 5)}
    invoices = [
        NumberedInvoice(each, day, day)
        for each in [*usual, *references]
        for day in [dated.get(each[:3], date(2025, 5, 5))]
    ]
    (series,) = learn_series(pa.Table.from_pylist([each._asdict() for each in invoices]))
    assert series.after_last([*after, *not_after]) == {*after}


def test_what_is_known_elsewhere_or_not_read_is_no_hole() -> None:
    invoices = daily([f"{n}" for n in range(100, 200) if n not in (150, 160)])
    assert missing(judged(invoices)) == {"150", "160"}
    assert missing(judged(invoices, known={"150"})) == {"160"}
    assert missing(judged(invoices, unread=[invoices[50].dated])) == {"160"}


def test_repeated_losses_do_not_become_usual() -> None:
    lost = {str(n) for n in range(110, 180, 5)}
    invoices = daily([f"{n}" for n in range(100, 200) if str(n) not in lost])
    assert missing(judged(invoices)) == set(), "a tenth of the numbers was never used"
    assert missing(judged(invoices, unexplained=lost)) == lost


def test_a_jump_is_no_hole_and_is_counted() -> None:
    invoices = daily([*(f"{n}" for n in range(100, 150)), *(f"{n}" for n in range(9000, 9050))])
    (report,) = judged(invoices)
    assert (report.unusual, report.disorder) == ([], 1)


def test_duplicates_and_disorder_are_counted() -> None:
    invoices = daily([f"{n}" for n in range(100, 200)])
    invoices[60] = invoices[60]._replace(reference="120")
    (report,) = judged(invoices, known={"160"})
    assert (report.duplicates, report.disorder) == (1, 0)
    invoices = daily([f"{n}" for n in range(100, 200)])
    invoices[60] = invoices[60]._replace(dated=invoices[20].dated)
    (report,) = judged(invoices)
    assert (report.unusual, report.disorder) == ([], 1)


def test_a_series_of_a_few_days_is_not_judged() -> None:
    assert judged(daily([f"{n}" for n in range(100, 130) if n != 120])) == []


def test_the_millions_of_numbers_between_random_numbers_are_not_listed() -> None:
    draws = random.Random(1)
    invoices = daily([f"A{number}" for number in sorted(draws.sample(range(3_000_000), 2_000))])
    (series,) = learn_series(pa.Table.from_pylist([each._asdict() for each in invoices]))
    assert series.gaps[0] == []
    assert judged(invoices) == []


def test_counters_of_more_digits_than_a_number_holds_are_left_out() -> None:
    invoices = daily([f"{n}" for n in range(100, 200) if n != 150] + [f"{10**30}"])
    assert missing(judged(invoices)) == {"150"}


def test_special_characters_between_digits_are_texts() -> None:
    invoices = daily([f".*(\n)[]\\^$|?+-é&#~ {n}😀" for n in range(100, 200) if n != 150])
    assert missing(judged(invoices)) == {".*(\n)[]\\^$|?+-é&#~ 150😀"}
