"""Times of an invoice report: what the warehouse held until when, and since when it is compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Engine, RowMapping, text

from bms_flows.invoices import leases
from bms_flows.runtime.windows import DAY
from bms_warehouse.database import clock
from bms_warehouse.locks import Busy

FLOW, STEP = "invoice_report", "report"


class DayNotKnown(ValueError):
    """A report can't say what was known on a day: nothing was read by then, or it has not come."""

    retriable = False


@dataclass(frozen=True)
class Moment:
    """The time of a report, and the times that its bridges start from."""

    day: date
    """Day of the ages, in the company's time zone."""
    until: datetime
    """The report says what the warehouse held before this time."""
    past: bool
    since: dict[str, datetime]
    """Time of the previous report, and start of the month, if the warehouse had invoices then."""
    reads: Sequence[RowMapping]
    """Of each entity: last read, latest day read, and number of days held since."""


def moment(connection: Connection, as_of: date | None, zone: ZoneInfo, dag_run_id: str) -> Moment:
    """Return the times of a report as of now, or of the end of a day; raise `DayNotKnown`.

    A load publishes rows with the time of its read. The report therefore ends where the oldest load that
    can still publish began, so that a later report as of the same time says the same. The previous report
    is that of another run: a run that was cleared replaces its own.
    """
    now = clock(connection)
    today = now.astimezone(zone).date()
    day = as_of or today
    ends = min(now, datetime.combine(day + DAY, time(), zone))
    given = {"ends": ends, "dag_run_id": dag_run_id}
    first, until, previous = connection.execute(_TIMES, given).one()
    if day > today:
        raise DayNotKnown(f"{day} is in the future. Choose {today} or an earlier day.")
    if first is None:
        raise DayNotKnown("The warehouse has no complete read of invoices. Run invoice_extraction.")
    if until <= first:
        ended = f"{first.astimezone(zone):%Y-%m-%d at %H:%M}"
        raise DayNotKnown(
            f"Nothing was known on {day}: the first complete read of invoices ended on {ended}."
            " Choose this day or a later one."
        )
    month = datetime.combine(day.replace(day=1), time(), zone)
    since = {"previous_report": previous, "month_end": month}
    since = {name: at for name, at in since.items() if at and first < at < until}
    reads = connection.execute(_READS, {"until": until}).mappings().all()
    return Moment(day, until, day < today, since, reads)


def nothing_new(engine: Engine, dag_run_id: str) -> bool:
    """Return whether another run's report has all loads; raise `Busy` while the latest load has units left."""
    leases.end_abandoned(engine)
    with engine.connect() as connection:
        left, known = connection.execute(_LOADS, {"dag_run_id": dag_run_id}).one()
    if left:
        raise Busy("the latest load of invoices has units left", retry_after=30)
    return bool(known)


_TIMES = text("""
select first, until, (
    select max(cast(details->>'until' as timestamptz)) from bms.step_run where flow = 'invoice_report' and state = 'complete'
        and dag_run_id <> :dag_run_id and cast(details->>'until' as timestamptz) < until
) from (
    select min(finished_at) filter (where step = 'extract' and state = 'complete') as first, least(:ends, min(started_at)
        filter (where state = 'running' and id in (select step_run_id from bms.client_invoice_lease))) as until
    from bms.step_run where flow = 'invoice_extraction'
) as load
""")

_READS = text("""
select id_entity, max(cast(details->>'read_at' as timestamptz)) as last_read, max(window_end) as latest_day, (
    select nullif(count(*), 0) from bms.client_invoice_finding f where f.id_entity = r.id_entity and held and attempted_at < :until
) as held_days
from bms.step_run r where flow = 'invoice_extraction' and step = 'extract' and state = 'complete'
    and cast(details->>'seen_at' as timestamptz) < :until group by id_entity order by id_entity
""")

# A unit that a killed task left running holds no lease. A held load that was read again is not published.
_LOADS = text("""
select (
    select jsonb_array_length(jsonb_path_query_array(details, '$.units[*] ? (!(@.accepts > 0))')) - (
        select count(distinct (id_entity, window_start)) from bms.step_run
        where flow = plan.flow and dag_run_id = plan.dag_run_id and step = 'extract'
            and id not in (select step_run_id from bms.client_invoice_lease)
    ) from bms.step_run plan
    where flow = 'invoice_extraction' and step = 'plan' and state = 'complete'
        and started_at > clock_timestamp() - interval '6 hours' order by id desc limit 1
) > 0, max(cast(details->>'until' as timestamptz)) filter (where flow = 'invoice_report' and state = 'complete'
        and dag_run_id <> :dag_run_id) > max(finished_at) filter (where step = 'extract' and state = 'complete')
from bms.step_run where flow in ('invoice_extraction', 'invoice_report')
""")
