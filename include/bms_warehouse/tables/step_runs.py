"""Tables of step runs, control totals and quarantined rows."""

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
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from bms.records import ClientInvoice
from bms_warehouse.tables.schema import (
    BIGINT,
    METADATA,
    TEXT,
    TIMESTAMP,
    column,
    optional,
)

STEP_RUN_STATES = ("running", "complete", "partial", "suspect", "unstable", "failed")
"""Only `complete` counts for the freshness of a flow."""

COUNTS = ("rows_read", "inserted", "changed", "unchanged", "quarantined")


def _count(name: str, meaning: str) -> Column[int]:
    return column(name, Integer, meaning, server_default="0")


step_run = Table(
    "step_run",
    METADATA,
    column("id", BigInteger, "Number of the step run.", Identity(always=True), primary_key=True),
    column("flow", TEXT, "DAG id."),
    column("dag_run_id", TEXT, "Airflow DAG run id."),
    column("step", TEXT, "Name of the step."),
    optional("id_entity", BIGINT, "Entity of the step; null if none."),
    optional("window_start", Date, "First day read."),
    optional("window_end", Date, "Last day read, inclusive."),
    column("state", TEXT, "running, or the outcome."),
    optional("reason", TEXT, "Reason why the step is not complete, and the remedy."),
    _count("rows_read", "Rows that the service returned."),
    _count("inserted", "New rows."),
    _count("changed", "Rows that differed from the warehouse."),
    _count("unchanged", "Rows equal to the warehouse."),
    _count("quarantined", "Rows stored in bms.quarantine."),
    _count("missing", "Rows of the warehouse that the service no longer returned."),
    _count("requests", "Requests sent, including retries and token requests."),
    _count("retries", "Requests retried."),
    _count("throttles", "Responses that asked to slow down."),
    _count("token_fetches", "Tokens fetched."),
    optional("latency_p50_ms", Float, "Median response time, milliseconds."),
    optional("latency_p95_ms", Float, "95th percentile of the response time, milliseconds."),
    optional(
        "held_by",
        BIGINT,
        "Step run that read these days and held them for review; null for any other step.",
    ),
    optional("details", JSONB, "Details of this kind of step."),
    column("started_at", TIMESTAMP, "Start."),
    optional("finished_at", TIMESTAMP, "End; null while running."),
    optional(
        "reported_at",
        TIMESTAMP,
        "Time at which an asset's event had reported the changed rows; null before.",
    ),
    CheckConstraint(
        "state in ({})".format(", ".join(f"'{state}'" for state in STEP_RUN_STATES)), name="state"
    ),
    CheckConstraint(
        "state <> 'complete' or rows_read = inserted + changed + unchanged + quarantined",
        name="conservation",
    ),
    Index("ix_step_run_flow_started_at", "flow", "started_at"),
    Index("ix_step_run_dag_run_id", "dag_run_id"),
    comment="Steps of DAG runs: window, counts, requests and outcome.",
)

CHANGED = text("step_run.inserted + step_run.changed + step_run.missing > 0")
"""Condition of step runs that changed rows."""
Index(
    "ix_step_run_unreported",
    step_run.c.flow,
    postgresql_where=text("reported_at is null and inserted + changed + missing > 0"),
)

control_total = Table(
    "control_total",
    METADATA,
    column(
        "step_run_id",
        BigInteger,
        "Step run that read the rows.",
        ForeignKey(step_run.c.id, ondelete="CASCADE"),
        primary_key=True,
    ),
    column("id_entity", BIGINT, "Entity.", primary_key=True, autoincrement=False),
    column("currency", TEXT, "Currency of the sums.", primary_key=True),
    column("invoices", Integer, "Number of invoices summed."),
    *[
        column(name, Numeric, f"Sum of {name} over the rows read.")
        for name in ClientInvoice.amounts()
    ],
    comment="Control totals of a step run, by entity and currency.",
)

load_profile = Table(
    "load_profile",
    METADATA,
    column(
        "step_run_id",
        BigInteger,
        "Step run that published the rows.",
        ForeignKey(step_run.c.id, ondelete="CASCADE"),
        primary_key=True,
    ),
    column("resource", TEXT, "Target table of the rows."),
    column("id_entity", BIGINT, "Entity; 0 if the resource has none."),
    column("read_at", TIMESTAMP, "Time at which reading began."),
    column(
        "profile",
        JSONB,
        "Shares of rows by measure, amounts by currency, and rows of the newest days.",
    ),
    column(
        "accepted",
        JSONB,
        "Measures that an operator accepted with the load, with the first day covered.",
    ),
    Index("ix_load_profile_resource", "resource", "id_entity", "step_run_id"),
    comment="Profiles of published loads: the plausibility checks compare the next load with them.",
)

quarantine = Table(
    "quarantine",
    METADATA,
    column("resource", TEXT, "Target table of the row.", primary_key=True),
    column(
        "id_entity",
        BIGINT,
        "Entity; 0 if the resource has none.",
        primary_key=True,
        autoincrement=False,
    ),
    column(
        "row_key",
        TEXT,
        "Identifier of the row, or a digest of the row if the identifier is unreadable.",
        primary_key=True,
    ),
    column("code", TEXT, "Code of the error, explained in docs/runbook.md."),
    optional("field", TEXT, "Invalid field."),
    column("raw", TEXT, "Row, verbatim."),
    optional(
        "first_day",
        Date,
        "Day of the row; if unreadable, first day of the window that returned the row.",
    ),
    optional(
        "last_day",
        Date,
        "The same day, or the last day of that window; a later read of all these days removes the row.",
    ),
    column("step_run_id", BigInteger, "Latest step run that returned the row."),
    column("first_seen_at", TIMESTAMP, "Time of quarantine."),
    column("last_seen_at", TIMESTAMP, "Latest time at which the row was invalid."),
    column(
        "loads", Integer, "Consecutive loads that returned the row as invalid.", server_default="1"
    ),
    optional("accepted_by", TEXT, "Who accepted that the row stays invalid; null: no one."),
    comment="Invalid rows; a later valid read removes a row.",
)
