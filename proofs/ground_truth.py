"""Differences between a warehouse and the sandbox's records: lost, duplicated, different, stuck."""

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, select, text

from bms_flows.onboarding.ledger.entry import State
from bms_flows.onboarding.resources.body import decode_body
from bms_flows.onboarding.sending.absence import UNPROVEN
from bms_sandbox.serve import Sandbox
from bms_warehouse.tables import creation, creation_body

INVOICE = ("total_incl_vat", "total_due", "status", "due_date", "currency")
CONTACT = ("first_name", "last_name", "email", "phone_number", "notes", "active", "domains")


def invoices(
    connection: Connection, sandbox: Sandbox, entity: int, first: date, last: date
) -> Iterator[str]:
    """Compare an entity's invoices of some days, and their versions."""
    true = {row["id_invoice"]: row for row in sandbox.invoices(entity, first, last)}
    given = {"entity": entity, "first": first, "last": last}
    query = (
        "select * from bms.client_invoice where id_entity = :entity and _missing_since is null"
        " and invoice_date between :first and :last"
    )
    here = {row["id_invoice"]: row for row in _rows(connection, query, **given)}
    yield from _compared("invoice", true, here, INVOICE)
    yield from _versions(connection, "client_invoice", "id_entity, id_invoice")


def contacts(connection: Connection, sandbox: Sandbox) -> Iterator[str]:
    """Compare the contacts, and their versions."""
    true = {row["id"]: row for row in sandbox.rows("contacts")}
    query = "select * from bms.contact where _removal_reason is distinct from 'missing'"
    here = {row["id"]: row for row in _rows(connection, query)}
    yield from _compared("contact", true, here, CONTACT)
    yield from _versions(connection, "contact", "id")


def unproven(connection: Connection) -> list[dict[str, Any]]:
    """Return the bodies of rows that a reviewer decides: the lists do not prove that there is no record."""
    waiting = select(creation_body.c.body).join(creation)
    reviewed = (creation.c.state == State.REVIEW) & (creation.c.reason == UNPROVEN)
    return [*map(decode_body, connection.scalars(waiting.where(reviewed)))]


def stuck(connection: Connection) -> Iterator[str]:
    """Yield what is stuck: leases, running steps, rows of the ledger but those that are `unproven`."""
    for what, query in {
        "leases": "select count(*) from bms.client_invoice_lease",
        "running steps": "select count(*) from bms.step_run where state = 'running'",
        "rows of the ledger": "select count(*) from bms.creation"  # noqa: S608 - our own code
        " where state in ('ready', 'sending', 'unknown')"
        f" or state = 'review' and reason is distinct from '{UNPROVEN}'",
    }.items():
        if count := connection.scalar(text(query)):
            yield f"stuck: {count} {what}"


def _rows(connection: Connection, query: str, **given: Any) -> list[Any]:
    return list(connection.execute(text(query), given).mappings())


def _compared(
    name: str, true: dict[Any, Any], here: dict[Any, Any], fields: tuple[str, ...]
) -> Iterator[str]:
    if lost := true.keys() - here.keys():
        yield f"lost: {len(lost)} {name}s"
    if more := [key for key in here.keys() - true.keys() if not here[key].get("_removal_reason")]:
        yield f"too many: {len(more)} {name}s"
    for key in true.keys() & here.keys():
        other = [each for each in fields if _plain(here[key][each]) != _plain(true[key][each])]
        if other:
            yield f"different: {name} {key} in {', '.join(other)}"


def _plain(value: Any) -> Any:
    """Return a value as both sides write it: amounts and days as text."""
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, str):
        try:
            return f"{Decimal(value).normalize():f}"
        except ArithmeticError:
            return value
    return value.isoformat() if isinstance(value, date | datetime) else value


def _versions(connection: Connection, table: str, key: str) -> Iterator[str]:
    """Yield rows whose versions have gaps or repeat one content."""
    gaps = f"""
        select count(*) from (select {key}, count(*) n, max(_version) last from bms.{table}_version
        group by {key}) v full join bms.{table} t using ({key})
        where v.n is distinct from v.last or v.last is distinct from t._version
    """  # noqa: S608 - our own names
    twice = f"""
        select count(*) from (select _row_hash, lag(_row_hash) over
        (partition by {key} order by _version) before from bms.{table}_version) v
        where _row_hash = before
    """  # noqa: S608 - our own names
    if count := connection.scalar(text(gaps)):
        yield f"doubled or lost: versions of {count} rows of {table}"
    if count := connection.scalar(text(twice)):
        yield f"doubled: {count} versions of {table} repeat their predecessor"
