"""Queries for pending items: plans, ambiguous rows, quarantined rows, audit differences."""

from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping

from bms_warehouse.queries.sql import fetch, statements

SQL = statements("waiting")


def plans(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return the undecided plans of open drops."""
    return fetch(connection, SQL["plans"], resources=[*resources])


def rows(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return the number of unknown and review rows per drop, and their earliest time."""
    return fetch(connection, SQL["rows"], resources=[*resources])


def files(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return the inbox files that cannot be claimed yet, as drops."""
    return fetch(connection, SQL["files"], resources=[*resources])


def contact_differences(connection: Connection) -> list[RowMapping]:
    """Return the number of fields and contacts that differ between drops and CRM; no row if none."""
    return fetch(connection, SQL["contact_differences"])


def rows_of_drop(connection: Connection, drop: int) -> list[RowMapping]:
    """Return the unfinished rows of a drop, and its rows that an earlier drop left in review: lines, codes and remote ids."""
    return fetch(connection, SQL["rows_of_drop"], drop=drop)


def quarantine(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return the number of quarantined rows, by resource and code."""
    return fetch(connection, SQL["quarantine"], resources=[*resources])


def missing_numbers(connection: Connection, limit: int) -> list[RowMapping]:
    """Return the missing invoice numbers, those that no operator has accepted first."""
    return fetch(connection, SQL["missing_numbers"], limit=limit)


def quarantined(connection: Connection, resource: str, limit: int) -> list[RowMapping]:
    """Return the latest quarantined rows: keys, codes and fields, without their content."""
    return fetch(connection, SQL["quarantined"], resource=resource, limit=limit)


def differences(connection: Connection, resources: Sequence[str], limit: int) -> list[RowMapping]:
    """Return the days with audit differences: confirmed first, then pending."""
    return fetch(connection, SQL["differences"], resources=[*resources], limit=limit)


def cycle(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return the length of the audit's cycle per resource, in days."""
    return fetch(connection, SQL["cycle"], resources=[*resources])


def audited(connection: Connection, resources: Sequence[str]) -> list[RowMapping]:
    """Return the number of audited days (of the last 35) and list parts, by resource and state."""
    return fetch(connection, SQL["audited"], resources=[*resources])


def contract(connection: Connection) -> list[RowMapping]:
    """Return the current row of each contract finding."""
    return fetch(connection, SQL["contract"])
