"""History of an entity's loads in the warehouse, for plans and checks."""

from collections import defaultdict
from collections.abc import Container, Iterable
from datetime import date
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, text

from bms_flows.invoices.day_counts import HISTORY, DayHistory, HeldDay
from bms_flows.invoices.units import Unit
from bms_flows.runtime import profiles
from bms_flows.runtime.windows import local_date
from bms_warehouse.queries.invoices import last_read_before_acceptance


def load_history(
    connection: Connection,
    unit: Unit,
    days: Iterable[date],
    zone: ZoneInfo,
    holidays: Container[date],
) -> DayHistory:
    """Return the history that the checks of `unit`, which read `days`, compare with."""
    entity, read = {"id_entity": unit.id_entity}, set(days)
    span = {"first": min(read) - HISTORY, "last": max(read)}
    published: dict[date, int] = dict(connection.execute(_COUNTS, entity | span).all())
    known = connection.scalars(_CURRENCIES, entity).all()
    covered = last_read_before_acceptance(connection, unit.id_entity, read) if known[1:] else {}
    # Their invoices may have got another currency, which an operator has accepted.
    compared = read.difference(covered.get("currency.changed", ()))
    by_currency: dict[str, dict[date, int]] = defaultdict(dict)
    for currency, day, invoices in connection.execute(_STORED, entity | {"days": [*compared]}):
        by_currency[currency][day] = invoices
    held: dict[date, list[HeldDay]] = defaultdict(list)
    for day, invoices, at in connection.execute(_HELD, entity):
        held[day].append(HeldDay(invoices, local_date(at, zone)))
    earlier = profiles.earlier(connection, unit.list_id, zone)
    return DayHistory(published, holidays, held, earlier, frozenset(known), by_currency)


_COUNTS = text("""
select day, invoices from bms.client_invoice_day where id_entity = :id_entity and day between :first and :last
""")
_CURRENCIES = text("""
select distinct currency from bms.control_total c join bms.step_run r on r.id = c.step_run_id
where c.id_entity = :id_entity and r.state = 'complete'
""")
_STORED = text("""
select coalesce(currency, ''), _day, count(*) from bms.client_invoice
where id_entity = :id_entity and _missing_since is null and _day = any(:days) group by currency, _day
""")
# The earlier counts of days that were held for their count.
_HELD = text("""
select cast(key as date), cast(value as integer), started_at from bms.step_run, jsonb_each(details->'few')
where step = 'extract' and id_entity = :id_entity and state = 'suspect'
""")
