"""Daily figures, and comparisons of the latest load with the previous one."""

from datetime import date, datetime

from sqlalchemy import Connection, RowMapping

from bms_warehouse.queries.sql import fetch, statements

SQL = statements("trends")


def invoices_per_day(connection: Connection, since: date) -> list[RowMapping]:
    """Return the number of invoices listed per day: day, invoices."""
    return fetch(connection, SQL["invoices_per_day"], since=since)


def amounts_per_day(connection: Connection, since: date) -> list[RowMapping]:
    """Return the sum of total_excl_vat by day and currency, of current invoices."""
    return fetch(connection, SQL["amounts_per_day"], since=since)


def moves_per_day(
    connection: Connection, flow: str, step: str, since: datetime, zone: str
) -> list[RowMapping]:
    """Return the changes of a mirror per day: day, inserted, changed, missing."""
    return fetch(connection, SQL["moves_per_day"], flow=flow, step=step, since=since, zone=zone)


def totals_beside(connection: Connection, flow: str, step: str) -> list[RowMapping]:
    """Return the control totals of each entity's latest complete load and of the previous one.

    One row per entity and currency. The previous load covers the same number of days; its columns
    end in `_before`.
    """
    return fetch(connection, SQL["totals_beside"], flow=flow, step=step)
