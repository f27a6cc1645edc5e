"""The record of what was done: each step of a run enters itself in `bms.step_run` and says how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Context, Decimal, Inexact
from typing import Any

from sqlalchemy import Engine, delete, insert, literal, select, update
from sqlalchemy.engine import Connection

from bms.counters import Counters
from bms_warehouse.database import clock
from bms_warehouse.tables import control_total, step_run

EXACT = Context(prec=100, traps=[Inexact])
"""Raises rather than rounds: an amount has 30 digits, and a sum of all invoices a few more."""
AMOUNTS = ("total_excl_vat", "total_vat", "total_incl_vat", "total_due")


@dataclass(frozen=True)
class Step:
    """A step of a flow's run: who it is, before anything is known of its outcome."""

    flow: str
    dag_run_id: str
    name: str
    id_entity: int | None = None
    window_start: date | None = None
    window_end: date | None = None

    @property
    def task(self) -> str:
        """Who works, whichever try it is."""
        return f"{self.flow} {self.dag_run_id} {self.name} {self.id_entity} {self.window_start}"


@dataclass
class CurrencyTotal:
    """Exact sums over rows of one currency."""

    invoices: int = 0
    amounts: dict[str, Decimal] = field(default_factory=lambda: dict.fromkeys(AMOUNTS, Decimal(0)))

    def add(self, invoices: int, amounts: Mapping[str, Decimal]) -> None:
        """Add sums over more rows, exactly: Python's own addition rounds to 28 digits."""
        self.invoices += invoices
        for name in AMOUNTS:
            self.amounts[name] = EXACT.add(self.amounts[name], amounts[name])

    def as_dict(self) -> dict[str, int | str]:
        """Return it as JSON can hold it; amounts as text, so that they stay exact."""
        return {"invoices": self.invoices, **{k: f"{v:f}" for k, v in self.exact().items()}}

    def exact(self) -> dict[str, Decimal]:
        """Return the amounts without the zeros that a column's fixed scale left behind."""
        return {name: Decimal(f"{sum_.normalize(EXACT):f}") for name, sum_ in self.amounts.items()}


def subtract_totals(
    totals: Mapping[str, CurrencyTotal], others: Mapping[str, CurrencyTotal]
) -> dict[str, CurrencyTotal]:
    """Return what `totals` hold beyond `others`, a part of them; by currency."""
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
    """Rows of a step; a complete one satisfies read = inserted + changed + unchanged + quarantined."""

    rows_read: int = 0
    inserted: int = 0
    changed: int = 0
    unchanged: int = 0
    quarantined: int = 0
    missing: int = 0

    def less(self, others: "RowCounts") -> "RowCounts":
        """Return the counts of the rows that `others`, a part of these, leave."""
        return RowCounts(
            **{name: max(0, n - getattr(others, name)) for name, n in vars(self).items()}
        )

    @property
    def balanced(self) -> bool:
        """Whether every row that was read is accounted for."""
        return self.rows_read == self.inserted + self.changed + self.unchanged + self.quarantined


def begin(engine: Engine, step: Step) -> int:
    """Enter `step` as running and return its number; an earlier try that never ended is closed as failed."""
    same = (
        (step_run.c.flow == step.flow)
        & (step_run.c.dag_run_id == step.dag_run_id)
        & (step_run.c.step == step.name)
        & (step_run.c.state == "running")
        & step_run.c.id_entity.is_not_distinct_from(step.id_entity)
        & step_run.c.window_start.is_not_distinct_from(step.window_start)
    )
    with engine.begin() as connection:
        now = clock(connection)
        connection.execute(
            update(step_run)
            .where(same)
            .values(
                state="failed", finished_at=now, reason="Ended without a word; run again since."
            )
        )
        entered = connection.execute(
            insert(step_run)
            .values(
                flow=step.flow,
                dag_run_id=step.dag_run_id,
                step=step.name,
                id_entity=step.id_entity,
                window_start=step.window_start,
                window_end=step.window_end,
                state="running",
                started_at=now,
            )
            .returning(step_run.c.id)
        )
        return int(entered.scalar_one())


def begin_held(connection: Connection, step_run_id: int, last_day: date) -> int:
    """Enter a step for the days that step `step_run_id` read and holds for review; return its number.

    Step `step_run_id` then reaches to `last_day`, the last one that it publishes. Both belong to the same
    try: a later try of the task takes the place of both.
    """
    copied = [
        step_run.c[name]
        for name in (
            *("flow", "dag_run_id", "step", "id_entity"),
            *("window_start", "window_end", "started_at"),
        )
    ]
    read = select(literal("running"), step_run.c.id, *copied).where(step_run.c.id == step_run_id)
    columns = ["state", "held_by", *(column.name for column in copied)]
    held = insert(step_run).from_select(columns, read).returning(step_run.c.id)
    number = int(connection.execute(held).scalar_one())
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
    """Say how step `step_run_id` ended, within the caller's transaction; `service` is its client's count.

    `at` is the moment that its rows carry, now by default; both by the database's clock, which orders
    the steps of all workers.
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
    """Say that step `step_run_id` failed, within the caller's transaction, unless it has said how it ended.

    What goes wrong after that, as giving back a lease, takes nothing back that was published.
    """
    running = select(step_run.c.id).where(
        step_run.c.id == step_run_id, step_run.c.state == "running"
    )
    if connection.scalar(running.with_for_update()) is not None:
        finish(connection, step_run_id, state="failed", service=service, reason=reason)


def remove(engine: Engine, step_run_id: int) -> None:
    """Take step `step_run_id` out of the record: once it could begin, nothing was left for it to do."""
    with engine.begin() as connection:
        connection.execute(delete(step_run).where(step_run.c.id == step_run_id))


def details(engine: Engine, step: Step) -> dict[str, Any]:
    """Return what the latest complete `step` of this run kept under `details`."""
    with engine.connect() as connection:
        kept = connection.execute(
            select(step_run.c.details)
            .where(
                step_run.c.flow == step.flow,
                step_run.c.dag_run_id == step.dag_run_id,
                step_run.c.step == step.name,
                step_run.c.state == "complete",
            )
            .order_by(step_run.c.id.desc())
            .limit(1)
        ).scalar_one()
    return dict(kept)


def save_totals(
    connection: Connection, step_run_id: int, id_entity: int, totals: Mapping[str, CurrencyTotal]
) -> None:
    """Keep the control totals of step `step_run_id`, by currency."""
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
    """Return a client's count by the names of the table's columns."""
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
