"""What was done: one row for each step of a run, its control totals, and the rows set aside."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Date,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Numeric,
    Table,
)
from sqlalchemy.dialects.postgresql import JSONB

from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP

STEP_RUN_STATES = ("running", "complete", "partial", "suspect", "unstable", "failed")
"""Only `complete` refreshes a flow; the others say why it doesn't."""

COUNTS = ("rows_read", "inserted", "changed", "unchanged", "quarantined")


def _count(name: str, meaning: str) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default="0", comment=meaning)


step_run = Table(
    "step_run",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True, comment="The step's number."),
    Column("flow", TEXT, nullable=False, comment="The DAG, by its id."),
    Column("dag_run_id", TEXT, nullable=False, comment="Airflow's run, by its id."),
    Column("step", TEXT, nullable=False, comment="What was done, by the task's name."),
    Column("id_entity", BIGINT, comment="The entity worked on, where there is one."),
    Column("window_start", Date, comment="First day read."),
    Column("window_end", Date, comment="Last day read, inclusive."),
    Column("state", TEXT, nullable=False, comment="running, or how it ended."),
    Column("reason", TEXT, comment="Why it isn't complete, and what a person can do."),
    _count("rows_read", "Rows the service returned."),
    _count("inserted", "Rows seen for the first time."),
    _count("changed", "Rows that differed from what stood here."),
    _count("unchanged", "Rows that stood here as they are."),
    _count("quarantined", "Rows set aside in bms.quarantine."),
    _count("missing", "Rows that stood here and no longer came back."),
    _count("requests", "Requests sent, repeats and tokens included."),
    _count("retries", "Requests repeated."),
    _count("throttles", "Answers that asked to slow down."),
    _count("token_fetches", "Tokens fetched."),
    Column("latency_p50_ms", Float, comment="Median time of an answer, milliseconds."),
    Column("latency_p95_ms", Float, comment="95th percentile of the same, milliseconds."),
    Column(
        "held_by",
        BIGINT,
        comment="The step that read these days and held them for review; empty for a step of its own.",
    ),
    Column("details", JSONB, comment="What belongs to this kind of step only."),
    Column("started_at", TIMESTAMP, nullable=False, comment="When it began."),
    Column("finished_at", TIMESTAMP, comment="When it ended; empty while running."),
    CheckConstraint(
        "state in ({})".format(", ".join(f"'{state}'" for state in STEP_RUN_STATES)), name="state"
    ),
    CheckConstraint(
        "state <> 'complete' or rows_read = inserted + changed + unchanged + quarantined",
        name="conservation",
    ),
    Index("ix_step_run_flow_started_at", "flow", "started_at"),
    Index("ix_step_run_dag_run_id", "dag_run_id"),
    comment="One row for each step of each run: what, which window, counts, requests, outcome.",
)

control_total = Table(
    "control_total",
    METADATA,
    Column(
        "step_run_id",
        BigInteger,
        ForeignKey(step_run.c.id, ondelete="CASCADE"),
        primary_key=True,
        comment="The step in bms.step_run that read the rows.",
    ),
    Column("id_entity", BIGINT, primary_key=True, autoincrement=False, comment="The entity."),
    Column("currency", TEXT, primary_key=True, comment="The currency; sums never cross it."),
    Column("invoices", Integer, nullable=False, comment="Rows summed."),
    *[
        Column(name, Numeric, nullable=False, comment=f"Sum of {name} over the rows read.")
        for name in ("total_excl_vat", "total_vat", "total_incl_vat", "total_due")
    ],
    comment="Sums of what a step read, for each entity and currency.",
)

quarantine = Table(
    "quarantine",
    METADATA,
    Column("resource", TEXT, primary_key=True, comment="Table the row was meant for."),
    Column(
        "id_entity",
        BIGINT,
        primary_key=True,
        autoincrement=False,
        comment="The entity; 0 where the resource has none.",
    ),
    Column(
        "row_key",
        TEXT,
        primary_key=True,
        comment="The row's identifier, or a digest of the row where that is unreadable.",
    ),
    Column("code", TEXT, nullable=False, comment="What is wrong, as docs/runbook.md names it."),
    Column("field", TEXT, comment="The field that is wrong."),
    Column("raw", TEXT, nullable=False, comment="The row as it came."),
    Column(
        "first_day",
        Date,
        comment="The day it is listed under; where that can't be read, the first of the window that returned it.",
    ),
    Column(
        "last_day",
        Date,
        comment="The same day, or the last of that window: once all are read again, the row leaves.",
    ),
    Column("step_run_id", BigInteger, nullable=False, comment="The step that last saw it."),
    Column("first_seen_at", TIMESTAMP, nullable=False, comment="When it was set aside."),
    Column("last_seen_at", TIMESTAMP, nullable=False, comment="When it last came back bad."),
    comment="Rows that could not be loaded; they leave when a later read is good.",
)
