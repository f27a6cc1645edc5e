from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from bms_sandbox.demo_invoices import DemoInvoices
from bms_sandbox.invoices import Invoice

FIRST = date(2026, 1, 5)
DAYS = [FIRST + timedelta(days=n) for n in range(56)]
DEMO = DemoInvoices(per_day=40)
ROWS: list[Invoice] = [row for day in DAYS for row in DEMO.invoices_of(1, day)]
LATE = datetime(2027, 1, 1, tzinfo=UTC)


def test_same_seed_makes_the_same_rows_in_any_order() -> None:
    again = DemoInvoices(per_day=40)
    backwards = [row for day in reversed(DAYS) for row in reversed(again.invoices_of(1, day))]
    assert backwards[::-1] == ROWS
    assert DemoInvoices(seed=2, per_day=40).invoices_of(1, FIRST) != DEMO.invoices_of(1, FIRST)


def test_ids_are_unique_in_an_entity_and_shared_between_entities() -> None:
    ids = [row.id_invoice for row in ROWS]
    assert len(set(ids)) == len(ids)
    other = {row.id_invoice for day in DAYS for row in DEMO.invoices_of(2, day)}
    assert other & set(ids)
    assert max(ids) < 2**31
    assert all(DEMO.day_of(row.id_invoice) == row.invoice_date for row in ROWS)


def test_totals_agree_to_the_cent_at_every_rate() -> None:
    rates = set()
    for row in ROWS:
        fields = row.as_of(LATE, "EN")
        assert fields["total_excl_vat"] + fields["total_vat"] == fields["total_incl_vat"]
        assert all(
            fields[name].as_tuple().exponent == -2
            for name in ("total_excl_vat", "total_vat", "total_incl_vat", "total_due")
        )
        rates.add((row.total_vat / row.total_excl_vat).quantize(Decimal("0.001")))
    assert rates == {Decimal(rate) for rate in ("0.200", "0.100", "0.055", "0.000")}


def test_every_invoice_life_cycle_occurs() -> None:
    states = {row.as_of(LATE, "EN")["status"] for row in ROWS}
    assert states == {"SENT", "PAID", "CANCELED"}
    partly = datetime(2026, 4, 1, tzinfo=UTC)
    assert "PARTIAL" in {row.as_of(partly, "EN")["status"] for row in ROWS}
    assert {row.currency for row in ROWS} == {"EUR", "USD", "CHF"}


def test_each_canceled_invoice_has_its_credit_note() -> None:
    by_id = {row.id_invoice: row for row in ROWS}
    last = DAYS[-1] - timedelta(days=24)
    canceled = [r for r in ROWS if r.canceled_on and r.invoice_date <= last]
    assert canceled
    for row in canceled:
        assert row.id_credit is not None
        note = by_id[row.id_credit]
        assert note.invoice_type == "CRN"
        assert (note.total_excl_vat, note.total_vat) == (-row.total_excl_vat, -row.total_vat)
        assert row.canceled_on is not None
        assert note.invoice_date == row.canceled_on.date()


def test_working_days_are_heavier_than_weekends() -> None:
    count = dict.fromkeys(range(7), 0)
    for day in DAYS:
        count[day.weekday()] += len(DEMO.invoices_of(1, day))
    assert min(count[n] for n in range(5)) > 4 * max(count[5], count[6])


def test_flat_volume_is_exact_on_every_day() -> None:
    flat = DemoInvoices(per_day=50, flat=True)
    assert {len(flat.invoices_of(1, day)) for day in DAYS} == {50}


def test_a_shape_fills_every_field_or_two_thirds() -> None:
    filled, sparse = (
        [row.as_of(LATE, "FR") for row in replace(DEMO, shape=shape).invoices_of(1, FIRST)]
        for shape in ("filled", "sparse")
    )
    assert {None} & {value for row in filled for value in row.values()} == set()
    assert {sum(value is not None for value in row.values()) for row in sparse} == {21}
    assert [row["id_invoice"] for row in filled] == [row["id_invoice"] for row in sparse]
