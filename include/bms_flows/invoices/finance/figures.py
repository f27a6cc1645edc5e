"""Figures of the invoice report as pandas frames, with exact amounts, from functions of the warehouse."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from decimal import Decimal, localcontext
from typing import Any, Final

import pandas as pd
import pyarrow as pa
from sqlalchemy import Connection, text

from bms_flows.invoices.finance.moments import Moment
from bms_flows.invoices.series import judge_series, learn_series
from bms_flows.runtime.step_log import EXACT

AGES: Final = ("not_due", "days_1_to_30", "days_31_to_60", "days_61_to_90", "over_90_days")
CHANGES: Final = ("new", "changed", "paid", "canceled", "missing")
LINES: Final = ("opening", *CHANGES, "closing")
NUMBERS: Final = (
    *("id_entity", "series", "reference_number", "day", "accepted_by", "accepted_reason"),
)
SERIES_DAYS: Final = timedelta(days=400)
"""Days before the report whose invoices show what numbers a series lacks."""


def read(connection: Connection, moment: Moment) -> dict[str, pd.DataFrame]:
    """Return the tables of the report by name, in the order of its sheets."""

    def frame(source: str, *order: str, **given: Any) -> pd.DataFrame:
        given |= {"until": moment.until, "day": moment.day}
        query = text(f"select * from {source} order by {', '.join(order)}")  # noqa: S608 - our own names
        found = connection.execute(query, given)
        return pd.DataFrame(found.all(), columns=[*found.keys()], dtype=object)

    items = frame(
        "bms.client_invoice_open_items(:until, :day)",
        *("id_entity", "client_name", "due_date", "id_invoice"),
    )
    bridges = [
        frame(
            "bms.client_invoice_bridge(:since, :until)", "currency", "line", "id_invoice", since=at
        ).assign(since=name)
        for name, at in moment.since.items()
    ]
    moved = pd.concat(bridges or [pd.DataFrame(columns=["since", "currency", "line", "amount"])])
    with localcontext(EXACT):  # raises instead of rounding
        return {
            "ageing": ageing(items),
            "open_items": items,
            "turnover": frame(
                "bms.client_invoice_turnover_at(:until)", "month", "id_entity", "currency"
            ),
            "credits": frame(
                "bms.client_invoice_credits(:until)",
                *("kind", "id_entity", "invoice_date", "id_invoice"),
            ),
            "missing_numbers": pd.DataFrame(_lacking(connection, moment), columns=NUMBERS)
            if moment.past
            else frame("bms.client_invoice_missing_number", *NUMBERS[:3]).reindex(columns=NUMBERS),
            "bridge": _spread(moved, ["since", "currency"], "line", LINES, "amount"),
            "bridge_invoices": moved[moved["line"].isin(CHANGES)][
                ["since", *moved.columns.drop("since")]
            ],
        }


def ageing(items: pd.DataFrame) -> pd.DataFrame:
    """Return the amounts due by entity, client and currency, with a column for each age.

    Invoices without a client number belong to the client that they name.
    """
    items = items.sort_values(["invoice_date", "id_invoice"], na_position="first")
    items["named"] = items["client_name"].where(items["id_client"].isna(), None)
    client = ["id_entity", "id_client", "currency", "named"]
    latest = dict(zip(_rows(items[client]), items["client_name"], strict=True))
    found = _spread(items, client, "age", AGES, "total_due")
    found["client_name"] = [latest[each] for each in _rows(found[client])]
    found["total_due"] = pd.Series([sum(each) for each in _rows(found[[*AGES]])], dtype=object)
    order = ["id_entity", "client_name", "id_client", "currency"]
    shown = [*("id_entity", "id_client", "client_name", "currency"), *AGES, "total_due"]
    return found.sort_values(order, na_position="last")[shown]


def _spread(
    frame: pd.DataFrame, keys: list[str], column: str, values: Sequence[str], amount: str
) -> pd.DataFrame:
    """Return exact sums of an amount by keys, with a column for each value of another column.

    Without pandas' groups, which change the type of a key that is always missing.
    """
    sums: dict[tuple[Any, ...], dict[str, Decimal]] = {}
    for *key, value, added in _rows(frame[[*keys, column, amount]]):
        sums.setdefault(tuple(key), dict.fromkeys(values, Decimal(0)))[value] += added
    rows = [(*key, *line.values()) for key, line in sums.items()]
    return pd.DataFrame(rows, columns=[*keys, *values], dtype=object)


def _rows(frame: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    return frame.itertuples(index=False, name=None)


def _lacking(connection: Connection, moment: Moment) -> list[tuple[Any, ...]]:
    """Return the numbers that the series known on a past day lacked: stored ones, and those that arrived since."""
    first = moment.day - SERIES_DAYS
    given: dict[str, Any] = {"until": moment.until, "first": first, "last": moment.day}
    stored = connection.execute(_STORED, given).all()
    found = {(row[0], row[2]): (*row[:4], None, None) for row in stored}
    for entity, references, dates, days, unread in connection.execute(_NUMBERED, given):
        columns = [pa.array(references), pa.array(dates, pa.date32()), pa.array(days, pa.date32())]
        invoices = pa.table(columns, ["reference", "dated", "listed"])
        learned = learn_series(invoices)
        lacking = [each for one in learned for hole in one.gaps[0] for each in hole.references]
        given |= {"entity": entity, "lacking": lacking}
        known = {*connection.scalars(_KNOWN, given)}  # also invoices of other days
        unexplained = {row[2] for row in stored if row[0] == entity and not row[4]}
        for series in learned:
            judged = judge_series(
                series, known=known, unexplained=unexplained, unread=unread, today=moment.day
            )
            for hole in judged.unusual if judged else ():
                for each in hole.references:
                    found.setdefault(
                        (entity, each), (entity, series.name, each, hole.last, None, None)
                    )
    return sorted(found.values())


_STORED = text("""
select id_entity, series, reference_number, day, accepted_by from bms.client_invoice_missing_number where found_at < :until
""")
_NUMBERED = text("""
select id_entity, array_agg(reference_number), array_agg(coalesce(invoice_date, _day)), array_agg(_day), array(
    select cast(each as date) from generate_series(min(_day), max(_day), interval '1 day') as each
    except select cast(generate_series(cast(split_part(days, '/', 1) as date), cast(split_part(days, '/', 2) as date), interval '1 day') as date)
    from bms.step_run r, jsonb_array_elements_text(details->'windows') as days
    where flow = 'invoice_extraction' and step = 'extract' and state = 'complete' and r.id_entity = i.id_entity
        and cast(details->>'seen_at' as timestamptz) < :until
    order by 1
)
from bms.client_invoice_version i
where _observed_at < :until and coalesce(_superseded_at >= :until, true)
    and reference_number is not null and _day between :first and :last
group by id_entity order by id_entity
""")
_KNOWN = text("""
select reference_number from bms.client_invoice_version
where id_entity = :entity and reference_number = any(:lacking) and _observed_at < :until and coalesce(_superseded_at >= :until, true)
""")
