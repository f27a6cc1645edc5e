"""Step log: each step of a run records its start and its outcome in `bms.step_run`."""

import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Context, Decimal, Inexact
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Engine, Select, and_, delete, insert, select, text, update
from sqlalchemy.engine import Connection

from bms.counters import Counters
from bms.records import ClientInvoice
from bms_warehouse.database import clock
from bms_warehouse.tables import control_total, step_run
from bms_warehouse.tables.step_runs import CHANGED

EXACT = Context(prec=100, traps=[Inexact])
"""Raises instead of rounding; enough digits for a sum of all invoices (an amount has 30)."""
AMOUNTS = ClientInvoice.amounts()


class StepMissing(LookupError):
    """A step that an earlier task recorded is not recorded; the text says what to do."""

    retriable = False


@dataclass(frozen=True)
class Step:
    """The identity of a step in a flow's run."""

    flow: str
    dag_run_id: str
    name: str
    id_entity: int | None = None
    window_start: date | None = None
    window_end: date | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """The step's columns in `bms.step_run`."""
        return {"step" if name == "name" else name: value for name, value in vars(self).items()}

    @property
    def task(self) -> str:
        """The name of the task, equal for all of its attempts."""
        return f"{self.flow} {self.dag_run_id} {self.name} {self.id_entity} {self.window_start}"


@dataclass
class CurrencyTotal:
    """Exact sums over rows of one currency."""

    invoices: int = 0
    amounts: dict[str, Decimal] = field(default_factory=lambda: dict.fromkeys(AMOUNTS, Decimal(0)))

    def add(self, invoices: int, amounts: Mapping[str, Decimal]) -> None:
        """Add sums over more rows, exactly: `Decimal` addition rounds to 28 digits by default."""
        self.invoices += invoices
        for name in AMOUNTS:
            self.amounts[name] = EXACT.add(self.amounts[name], amounts[name])

    def as_dict(self) -> dict[str, int | str]:
        """Return the total as JSON values, with amounts as exact texts."""
        return {"invoices": self.invoices, **{k: f"{v:f}" for k, v in self.exact().items()}}

    def exact(self) -> dict[str, Decimal]:
        """Return the amounts without trailing zeros."""
        return {name: Decimal(f"{sum_.normalize(EXACT):f}") for name, sum_ in self.amounts.items()}


def subtract_totals(
    totals: Mapping[str, CurrencyTotal], others: Mapping[str, CurrencyTotal]
) -> dict[str, CurrencyTotal]:
    """Return `totals` minus `others`, which are a part of them, by currency."""
    left = {}
    for currency, total in totals.items():
        other = others.get(currency, CurrencyTotal())
        amounts = {
            name: EXACT.subtract(total.amounts[name], other.amounts[name]) for name in AMOUNTS
        }
        if total.invoices > other.invoices:
            left[currency] = CurrencyTotal(total.invoices - other.invoices, amounts)
    return left


@dataclass
class RowCounts:
    """Rows of a step run; complete means read = inserted + changed + unchanged + quarantined."""

    rows_read: int = 0
    inserted: int = 0
    changed: int = 0
    unchanged: int = 0
    quarantined: int = 0
    missing: int = 0

    def less(self, others: "RowCounts") -> "RowCounts":
        """Return these counts minus `others`, which are a part of them."""
        return RowCounts(
            **{name: max(0, n - getattr(others, name)) for name, n in vars(self).items()}
        )

    @property
    def balanced(self) -> bool:
        """Whether every row that was read is accounted for."""
        return self.rows_read == self.inserted + self.changed + self.unchanged + self.quarantined


@cache
def own_version() -> str | None:
    """Return the version of the project that this process runs; None if it is not installed."""
    try:
        return importlib.metadata.version("bms-airflow")
    except importlib.metadata.PackageNotFoundError:
        return None


def begin(engine: Engine, step: Step) -> int:
    """Record `step` as running and return its id; mark an unfinished earlier attempt as failed."""
    with engine.begin() as connection:
        given = {**step.columns, "version": own_version(), "now": clock(connection)}
        connection.execute(_SUPERSEDE, given)
        return int(connection.execute(_BEGIN, given).scalar_one())


_SUPERSEDE = text("""
update bms.step_run set state = 'failed', finished_at = :now,
    reason = 'Attempt died without recording an outcome; superseded by a retry.'
where state = 'running' and (flow, dag_run_id, step, id_entity, window_start)
    is not distinct from (:flow, :dag_run_id, :step, :id_entity, :window_start)
""")
_BEGIN = text("""
insert into bms.step_run (flow, dag_run_id, step, id_entity, window_start, window_end, version, state, started_at)
values (:flow, :dag_run_id, :step, :id_entity, :window_start, :window_end, :version, 'running', :now) returning id
""")


def begin_held(connection: Connection, step_run_id: int, last_day: date) -> int:
    """Record a step run for the held days of step run `step_run_id`; return its id.

    Step run `step_run_id` then ends at `last_day`, the last day that it publishes. Both step runs
    belong to the same attempt: a retry of the task supersedes both.
    """
    copied = "flow, dag_run_id, step, id_entity, version, window_start, window_end, started_at"
    insertion = f"""
        insert into {step_run} (state, held_by, {copied})
        select 'running', id, {copied} from {step_run} where id = :id returning id
    """  # noqa: S608 - our own names
    number = int(connection.execute(text(insertion), {"id": step_run_id}).scalar_one())
    connection.execute(
        update(step_run).where(step_run.c.id == step_run_id).values(window_end=last_day)
    )
    return number


def finish(
    connection: Connection,
    step_run_id: int,
    *,
    state: str,
    counts: RowCounts | None = None,
    service: Counters | None = None,
    reason: str | None = None,
    details: Mapping[str, Any] | None = None,
    at: datetime | None = None,
) -> None:
    """Record a step run's outcome in the caller's transaction; `service` counts its requests.

    `at` is the observation time of its rows, by default now. Both use the database's clock, which
    orders the steps of all workers.
    """
    connection.execute(
        update(step_run)
        .where(step_run.c.id == step_run_id)
        .values(
            state=state,
            reason=reason,
            details=details,
            finished_at=at or clock(connection),
            **(vars(counts) if counts else {}),
            **(_service(service) if service else {}),
        )
    )


def fail(
    connection: Connection, step_run_id: int, *, service: Counters | None, reason: str
) -> None:
    """Mark a step run as failed in the caller's transaction, unless it has recorded an outcome.

    A later error, such as a failed release of a lease, doesn't undo a publication.
    """
    running = select(step_run.c.id).where(
        step_run.c.id == step_run_id, step_run.c.state == "running"
    )
    if connection.scalar(running.with_for_update()) is not None:
        finish(connection, step_run_id, state="failed", service=service, reason=reason)


def remove(engine: Engine, step_run_id: int) -> None:
    """Delete a step run that had nothing to do."""
    with engine.begin() as connection:
        connection.execute(delete(step_run).where(step_run.c.id == step_run_id))


def details(engine: Engine, step: Step, *conditions: ColumnElement[bool]) -> dict[str, Any]:
    """Return the details of the latest complete run of `step` that fulfils `conditions`; raise `StepMissing`."""
    with engine.connect() as connection:
        stored = connection.execute(
            select(step_run.c.details)
            .where(
                step_run.c.flow == step.flow,
                step_run.c.dag_run_id == step.dag_run_id,
                step_run.c.step == step.name,
                step_run.c.state == "complete",
                *conditions,
            )
            .order_by(step_run.c.id.desc())
            .limit(1)
        ).scalar_one_or_none()
    if stored is None:
        raise StepMissing(
            f"step {step.name} of run {step.dag_run_id} is not recorded in bms.step_run, perhaps"
            " because the warehouse was restored: clear the whole run, so that the step runs again"
        )
    return dict(stored)


def same_step(step_run_id: int) -> Select[Any]:
    """Return a query of the runs of the same step and entity as a step run."""
    own, same = step_run.alias("own"), ("flow", "step", "id_entity")
    of_step = [own.c[name].is_not_distinct_from(step_run.c[name]) for name in same]
    return select(step_run).join(own, and_(own.c.id == step_run_id, *of_step))


def unreported(connection: Connection, step_run_id: int) -> list[int]:
    """Return the step runs whose changed rows no event has reported: those of the same step and entity."""
    changed = same_step(step_run_id).where(CHANGED, step_run.c.reported_at.is_(None))
    return [*connection.scalars(changed.with_only_columns(step_run.c.id).order_by(step_run.c.id))]


def mark_reported(connection: Connection, step_run_ids: Sequence[int]) -> None:
    """Record, in the caller's transaction, that an event has reported the changes of step runs."""
    connection.execute(
        update(step_run)
        .where(step_run.c.id.in_(step_run_ids))
        .values(reported_at=clock(connection))
    )


def save_totals(
    connection: Connection, step_run_id: int, id_entity: int, totals: Mapping[str, CurrencyTotal]
) -> None:
    """Store the control totals of a step run, by currency."""
    if totals:
        connection.execute(
            insert(control_total),
            [
                {
                    "step_run_id": step_run_id,
                    "id_entity": id_entity,
                    "currency": currency,
                    "invoices": total.invoices,
                    **total.exact(),
                }
                for currency, total in sorted(totals.items())
            ],
        )


def _service(counters: Counters) -> dict[str, float | None]:
    """Return a client's request counters by column name."""
    seconds = sorted(second for seen in counters.latencies.values() for second in seen)

    def within(share: float) -> float | None:
        return 1000 * seconds[int(share * (len(seconds) - 1))] if seconds else None

    return {
        "requests": counters.requests,
        "retries": counters.retries,
        "throttles": counters.throttles,
        "token_fetches": counters.token_fetches,
        "latency_p50_ms": within(0.50),
        "latency_p95_ms": within(0.95),
    }
