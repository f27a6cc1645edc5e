"""Repeated invoices and invoices without a day: one copy is loaded in every order."""

import random
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from bms_flows.invoices.dedup import duplicate_rows
from bms_flows.runtime.windows import DAY
from tests.bms_flows.invoices.listed import Company, invoice
from tests.support.sql import fetch, scalar, scalars

MONDAY, TUESDAY, FRIDAY = date(2026, 3, 2), date(2026, 3, 3), date(2026, 3, 6)
DAYS = st.sampled_from([MONDAY, TUESDAY, None])
COPIES = st.lists(st.tuples(st.integers(1, 3), DAYS, st.binary(min_size=1, max_size=2)), max_size=8)


def loaded(copies: Sequence[tuple[int, date | None, bytes]], before: set[int]) -> list[Any]:
    ids, days, digests = zip(*copies, strict=True) if copies else ((), (), ())
    again = {*duplicate_rows(ids, days, digests, before)}
    return sorted(
        (copy for row, copy in enumerate(copies) if row not in again), key=lambda copy: copy[0]
    )


@given(COPIES, st.sets(st.integers(1, 3)), st.randoms(use_true_random=False))
def test_the_copy_that_is_loaded_depends_on_content_alone(
    copies: list[tuple[int, date | None, bytes]], before: set[int], order: random.Random
) -> None:
    chosen = loaded(copies, before)
    assert {key for key, *_ in chosen} == {key for key, *_ in copies} - before
    assert len(chosen) == len({key for key, *_ in chosen})
    shuffled = copies[:]
    order.shuffle(shuffled)
    assert loaded(shuffled, before) == chosen


def stored(warehouse: Engine) -> dict[int, Any]:
    rows = fetch(warehouse, "select id_invoice, invoice_subject, _version from bms.client_invoice")
    return {row.id_invoice: (row.invoice_subject, row._version) for row in rows}


@pytest.mark.parametrize("count", [2, 5])
def test_an_accepted_copy_is_not_held_again_whatever_the_order(
    company: Company, count: int
) -> None:
    others = [invoice(n, FRIDAY) for n in range(10, 20)]
    copies = [invoice(1, MONDAY, invoice_subject=f"copy {n}") for n in range(count)]
    company.service.rows = [*others, *copies]
    company.service.order = random.Random(count)
    assert "duplicate_ids" in company.held(MONDAY, FRIDAY)
    assert stored(company.warehouse).keys() == {*range(10, 20)}, "the other days are published"
    company.accept()
    chosen = stored(company.warehouse)[1]
    for _night in range(3):
        assert company.held(MONDAY, FRIDAY) == ""
        assert stored(company.warehouse)[1] == chosen
    quarantined = next(copy for copy in copies if copy["invoice_subject"] != chosen[0])
    quarantined["total_due"] = 7
    assert "duplicate_ids" in company.held(MONDAY, FRIDAY), "what was accepted has changed"


def test_copies_of_two_days_are_held_once(company: Company, warehouse: Engine) -> None:
    """The service lists an invoice under its old day and its new one."""
    company.service.rows = [invoice(1, MONDAY), invoice(1, FRIDAY), invoice(2, TUESDAY)]
    assert "duplicate_ids" in company.held(MONDAY, FRIDAY)
    company.accept()
    assert company.held(MONDAY, FRIDAY) == ""
    assert company.held(MONDAY) == ""
    missing = "select count(*) from bms.client_invoice where _missing_since is not null"
    assert scalar(warehouse, missing) == 0


def test_an_unreadable_copy_does_not_keep_a_good_one_out(company: Company) -> None:
    for first, second in (("a\0b", "good"), ("good", "a\0b")):
        company.service.rows = [
            invoice(1, MONDAY, invoice_subject=first),
            invoice(1, MONDAY, invoice_subject=second),
        ]
        assert company.held(MONDAY) == ""
        assert stored(company.warehouse) == {1: ("good", 1)}


def test_every_unreadable_row_of_an_identifier_is_covered_by_an_acceptance(
    company: Company,
) -> None:
    """Each row has another reason code."""
    bad: list[dict[str, Any]] = [
        {"invoice_subject": "a\0b"},
        {"total_vat": 0.0000000001},
        {"due_date": "soon"},
    ]
    company.service.rows = [invoice(1, MONDAY, **each) for each in bad]
    company.service.order = random.Random(1)
    assert "many_quarantined" in company.held(MONDAY)
    company.accept()
    for _night in range(3):
        assert company.held(MONDAY) == ""
    codes = scalars(company.warehouse, "select code from bms.quarantine")
    assert sorted(codes) == ["bad_amount", "bad_date", "bad_text"]


def test_texts_that_no_index_holds_are_stored(company: Company) -> None:
    """PostgreSQL indexes codes and missing numbers."""
    long = "".join(map(chr, random.Random(1).sample(range(0x4E00, 0x9F00), 3_000)))
    company.service.rows = [
        invoice(n, MONDAY, reference_number=f"{long}{n}", status=long, status_name="Paid")
        for n in range(1, 40)
        if n != 20
    ]
    assert company.held(MONDAY) == ""
    assert len(stored(company.warehouse)) == 38


def test_an_accepted_invoice_without_a_day_is_not_held_again(company: Company) -> None:
    """The service lists it whatever days are asked for."""
    company.service.rows = [invoice(1, None), invoice(2, TUESDAY)]
    weeks = (MONDAY - 28 * DAY, FRIDAY + 21 * DAY)
    assert "outside_window" in company.held(*weeks), "in each of several responses"
    assert stored(company.warehouse) == {}
    company.accept()
    assert stored(company.warehouse).keys() == {1, 2}
    for window in (weeks, weeks, (MONDAY, FRIDAY), (TUESDAY, FRIDAY)):
        assert company.held(*window) == ""
    company.service.rows[0]["total_due"] = 5
    assert "outside_window" in company.held(MONDAY, FRIDAY)


@pytest.mark.parametrize("created", [None, f"{FRIDAY}T09:00:00"])
def test_an_accepted_invoice_without_a_day_is_marked_once_it_is_deleted(
    company: Company, created: str | None
) -> None:
    """The service lists it whatever days are asked for, or on the day of its creation."""
    without = invoice(1, None, created_on=created)
    company.service.rows = [without, invoice(2, TUESDAY)]
    assert "outside_window" in company.held(MONDAY, FRIDAY)
    company.accept()
    missing = "select id_invoice from bms.client_invoice where _missing_since is not null"
    for day in (MONDAY, TUESDAY, FRIDAY):
        assert company.held(day) == ""
    assert scalars(company.warehouse, missing) == []
    company.service.rows.remove(without)
    assert company.held(TUESDAY, FRIDAY) == ""
    assert scalars(company.warehouse, missing) == [], "no request covered the first"
    assert company.held(MONDAY, FRIDAY) == ""
    assert scalars(company.warehouse, missing) == [1]
