"""Days that an earlier load decoded: any state of the cache gives the same tables."""

import json
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from sqlalchemy import Engine

from bms_flows.invoices import fetch as fetch_module
from bms_flows.invoices.day_cache import DayCache
from bms_flows.invoices.decode import SplitResponse
from bms_flows.invoices.known_rows import KnownRows, known_rows
from bms_flows.invoices.rows import Reading
from bms_flows.runtime.windows import DAY, Window
from tests.bms_flows.invoices.listed import Company, invoice
from tests.support.sql import execute, fetch, scalar, scalars

FIRST = date(2026, 3, 2)
LAST = FIRST + 9 * DAY
EMPTY = """
    truncate bms.client_invoice, bms.client_invoice_superseded, bms.client_invoice_day,
        bms.client_invoice_digest, bms.client_invoice_finding, bms.client_invoice_missing_number,
        bms.quarantine, bms.code_name, bms.step_run restart identity cascade
"""
CACHE = "bms.client_invoice_digest"
STATES: dict[str, str] = {
    "missing": f"truncate {CACHE}",
    "old": f"delete from {CACHE}; insert into {CACHE} select * from public.first_cache",
    "of_other_days": f"update {CACHE} c set digest = o.digest, facts = o.facts, "
    f"row_digests = o.row_digests from {CACHE} o where o.day = c.day + 1",
    "other_rows": f"update {CACHE} c set row_digests = o.row_digests from {CACHE} o "
    "where o.day = c.day + 1",
    "no_rows": f"update {CACHE} set row_digests = ''",
    "other_facts": f'update {CACHE} set facts = facts || \'{{"unpaid": 9, "rows": 1}}\'',
    "no_facts": f"update {CACHE} set facts = '[]'",
    "other_digests": f"update {CACHE} set digest = ''",
}
RESULTS = {
    "client_invoice_version": "id_invoice, _version",
    "client_invoice_day": "day",
    "client_invoice_finding": "day",
    "control_total": "step_run_id, currency",
    "load_profile": "step_run_id",
    "quarantine": "row_key",
    "code_name": "field, code",
    "step_run": "id",
}


Rows = list[dict[str, Any]]
Change = Callable[[Rows], object]


def rows() -> Rows:
    return [
        invoice(
            key,
            FIRST + key % 9 * DAY,  # the last day is empty
            currency=("EUR", "USD", None)[key % 3],
            total_due=key % 4,
            status_name="Payée",
            id_client=key if key % 5 else None,
        )
        for key in range(1, 61)
    ]


def row(listed: Rows, key: int) -> dict[str, Any]:
    return next(each for each in listed if each["id_invoice"] == key)


def edit(key: int, **changes: Any) -> Change:
    return lambda listed: row(listed, key).update(changes)


def edit_all(**changes: Any) -> Change:
    return lambda listed: [each.update(changes) for each in listed]


def add(key: int, **given: Any) -> Change:
    return lambda listed: listed.append(invoice(key, FIRST, **given))


def remove(key: int) -> Change:
    return lambda listed: listed.remove(row(listed, key))


def copy(key: int, **changes: Any) -> Change:
    return lambda listed: listed.append(row(listed, key) | changes)


NIGHTS: list[list[Change]] = [
    [],
    [],
    [lambda listed: listed.reverse()],
    [
        add(61),
        remove(8),
        edit(5, total_due=7),
        edit(6, invoice_date=LAST.isoformat()),
        edit(16, invoice_date=(FIRST + 2 * DAY).isoformat()),
    ],
    [
        add(62, reference_number="F9"),
        edit(12, total_due="1,5"),  # quarantined
        edit(13, canceled=0),  # converted
        edit(14, status_name="Acquittée"),  # two names of a code on a day
        edit(15, status=None, po_number='a "b",\nc', client_name=""),
    ],
    [edit_all(status_name="Réglée")],
    [edit_all(unknown={"a": 1})],
    [edit(14, total_vat="1.005"), edit(15, total_due=12, currency="CHF", client_name=None)],
    [copy(9, total_due=5)],
    [edit(7, invoice_date=None)],
]
"""Changes of a night, each on other days."""
HELD = {8, 9}
"""Nights of which days are held: first a day, then all days."""


def results(company: Company, prepare: str) -> dict[str, Any]:
    """Return all tables, without times, after nights in which the cache was prepared."""
    execute(company.warehouse, EMPTY)
    company.service.rows = rows()
    for number, changes in enumerate(NIGHTS):
        for change in changes:
            change(company.service.rows)
        if prepare:
            execute(company.warehouse, prepare)
        assert bool(company.held(FIRST, LAST)) == (number in HELD)
        if number == 0:
            execute(company.warehouse, "drop table if exists public.first_cache")
            execute(company.warehouse, f"create table public.first_cache as table {CACHE}")
    left_out = "latency|_at$|_since$|^raw$|^report$|^version$|^requests$|^dag_run_id$"
    query = (
        "select (select jsonb_object_agg(key, case when jsonb_typeof(value) = 'object' then "
        " (select jsonb_object_agg(k, v) from jsonb_each(value) as x(k, v) where k !~ '{left_out}') "
        " else value end) from jsonb_each(to_jsonb(t)) where key !~ '{left_out}') "
        "from bms.{table} t order by {order}"
    )
    return {
        table: scalars(company.warehouse, query.format(left_out=left_out, table=table, order=order))
        for table, order in RESULTS.items()
    }


def test_a_cache_in_any_state_gives_the_same_tables(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = results(company, "")
    assert all(cached.values())
    with monkeypatch.context() as each_alone:
        each_alone.setattr(fetch_module, "BATCH_BYTES", 1)
        assert results(company, "") == cached
    for state, prepare in STATES.items():
        with_state = results(company, prepare)
        for table, stored in cached.items():
            assert with_state[table] == stored, (state, table)


def entries(warehouse: Engine) -> dict[date, str]:
    """Return the transaction that wrote each entry: a day that is decoded is written again."""
    found = fetch(warehouse, f"select day, xmin::text as written from {CACHE}")
    return {each.day: each.written for each in found}


def test_an_unchanged_day_is_not_decoded(company: Company, warehouse: Engine) -> None:
    company.service.rows = rows()
    company.read(FIRST, LAST)
    first = entries(warehouse)
    assert len(first) == 10
    company.service.rows.reverse()
    again = company.read(FIRST, LAST)
    assert (again["rows_read"], again["unchanged"]) == (60, 60)
    assert entries(warehouse) == first
    edit(60, total_due=77)(company.service.rows)  # in the first response
    assert company.read(FIRST, LAST)["changed"] == 1
    assert {day for day, by in entries(warehouse).items() if by != first[day]} == {FIRST + 6 * DAY}
    # Other requests find the same days.
    for start in (0, 1, 3):
        before = entries(warehouse)
        company.read(FIRST + start * DAY, LAST)
        assert entries(warehouse) == before


def test_only_rows_that_differ_are_decoded(company: Company, warehouse: Engine) -> None:
    company.service.rows = rows()
    company.read(FIRST, LAST)
    window = Window(FIRST, LAST)
    zone = scalar(warehouse, "select details->>'zone' from bms.step_run where step = 'extract'")

    def read() -> tuple[SplitResponse, KnownRows]:
        cache = DayCache(Reading(1, zone, "invoice_date"))
        body = json.dumps(company.service.listed(window)).encode()
        with warehouse.connect() as connection:
            cache.load(connection, [*window])
            response = cache.read(window, body)
            assert isinstance(response, SplitResponse)
            known = known_rows(connection, 1, window, response.days)
        assert known is not None
        return response, known

    response, known = read()
    assert not response.others
    assert len(known.ids_of(window)) == 60
    company.service.rows.append(invoice(61, FIRST, status_name="Payée"))
    # First with the entries of decoded days, then with those of partly decoded days.
    for gone, others, equal in ((11, [1, 11], 58), (12, [1, 12, 61], 57)):
        for change in (edit(1, total_due=gone), edit(61, total_due=gone), remove(gone)):
            change(company.service.rows)
        response, known = read()
        assert response.others
        assert [json.loads(bytes(row))["id_invoice"] for row in response.others] == [1, 61]
        assert (sorted(known.others_of(window)), len(known.ids_of(window))) == (others, equal)
        company.read(FIRST, LAST)
        assert not read()[0].others


DAMAGE = {
    "another_hash": "update bms.client_invoice set _row_hash = '' where id_invoice = 4",
    "missing": "update bms.client_invoice set _missing_since = now() where id_invoice = 4",
    "deleted": "delete from bms.client_invoice where id_invoice = 4",
    "never_listed": "insert into bms.client_invoice select (r).* from (select jsonb_populate_record("
    "i, '{\"id_invoice\": 99}') as r from bms.client_invoice i where id_invoice = 4) as x",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_warehouse_with_other_rows_is_corrected(
    company: Company, warehouse: Engine, damage: str
) -> None:
    company.service.rows = rows()
    company.read(FIRST, LAST)
    query = (
        "select id_invoice, _day, _row_hash from bms.client_invoice where _missing_since is null"
        " order by 1"
    )
    before = fetch(warehouse, query)
    execute(warehouse, DAMAGE[damage])
    again = company.read(FIRST, LAST)
    assert again["inserted"] + again["changed"] + again["missing"] == 1
    assert fetch(warehouse, query) == before


def test_held_days_are_not_cached(company: Company, warehouse: Engine) -> None:
    company.service.rows = rows()
    company.read(FIRST, LAST)
    before = entries(warehouse)
    company.service.lost = {*range(1, 40)}
    assert company.held(FIRST, LAST)
    assert entries(warehouse) == before


def test_an_entry_holds_for_its_settings_only(company: Company, warehouse: Engine) -> None:
    listed, window = rows(), Window(FIRST, LAST)
    company.service.rows = listed
    company.read(FIRST, LAST)
    zone = scalar(warehouse, "select details->>'zone' from bms.step_run where step = 'extract'")
    body = json.dumps(company.service.listed(window)).encode()

    def known(*settings: Any) -> bool:
        cache = DayCache(Reading(*settings))
        with warehouse.connect() as connection:
            cache.load(connection, [*window])
        read = cache.read(window, body)
        return isinstance(read, SplitResponse) and not read.others

    assert known(1, zone, "invoice_date")
    for other in (
        (2, zone, "invoice_date"),
        (1, "Pacific/Auckland", "invoice_date"),
        (1, zone, "created_on"),
        (1, zone, "invoice_date", frozenset({"unknown"})),
    ):
        assert not known(*other)
    body = body.replace(b'"F7"', b'"F8"')
    assert not known(1, zone, "invoice_date")
