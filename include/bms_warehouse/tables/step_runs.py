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
from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP

STEP_RUN_STATES = ("running", "complete", "partial", "suspect", "unstable", "failed")
"""Only `complete` counts for the freshness of a flow."""

COUNTS = ("rows_read", "inserted", "changed", "unchanged", "quarantined")


def _count(name: str, meaning: str) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default="0", comment=meaning)


step_run = Table(
    "step_run",
    METADATA,
    Column(
        "id", BigInteger, Identity(always=True), primary_key=True, comment="Number of the step run."
    ),
    Column("flow", TEXT, nullable=False, comment="DAG id."),
    Column("dag_run_id", TEXT, nullable=False, comment="Airflow DAG run id."),
    Column("step", TEXT, nullable=False, comment="Name of the step."),
    Column("id_entity", BIGINT, comment="Entity of the step; null if none."),
    Column("window_start", Date, comment="First day read."),
    Column("window_end", Date, comment="Last day read, inclusive."),
    Column("state", TEXT, nullable=False, comment="running, or the outcome."),
    Column("reason", TEXT, comment="Reason why the step is not complete, and the remedy."),
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
    Column("latency_p50_ms", Float, comment="Median response time, milliseconds."),
    Column("latency_p95_ms", Float, comment="95th percentile of the response time, milliseconds."),
    Column(
        "held_by",
        BIGINT,
        comment="Step run that read these days and held them for review; null for any other step.",
    ),
    Column("details", JSONB, comment="Details of this kind of step."),
    Column("started_at", TIMESTAMP, nullable=False, comment="Start."),
    Column("finished_at", TIMESTAMP, comment="End; null while running."),
    Column(
        "reported_at",
        TIMESTAMP,
        comment="Time at which an asset's event had reported the changed rows; null before.",
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
    Column(
        "step_run_id",
        BigInteger,
        ForeignKey(step_run.c.id, ondelete="CASCADE"),
        primary_key=True,
        comment="Step run that read the rows.",
    ),
    Column("id_entity", BIGINT, primary_key=True, autoincrement=False, comment="Entity."),
    Column("currency", TEXT, primary_key=True, comment="Currency of the sums."),
    Column("invoices", Integer, nullable=False, comment="Number of invoices summed."),
    *[
        Column(name, Numeric, nullable=False, comment=f"Sum of {name} over the rows read.")
        for name in ClientInvoice.amounts()
    ],
    comment="Control totals of a step run, by entity and currency.",
)

load_profile = Table(
    "load_profile",
    METADATA,
    Column(
        "step_run_id",
        BigInteger,
        ForeignKey(step_run.c.id, ondelete="CASCADE"),
        primary_key=True,
        comment="Step run that published the rows.",
    ),
    Column("resource", TEXT, nullable=False, comment="Target table of the rows."),
    Column("id_entity", BIGINT, nullable=False, comment="Entity; 0 if the resource has none."),
    Column("read_at", TIMESTAMP, nullable=False, comment="Time at which reading began."),
    Column(
        "profile",
        JSONB,
        nullable=False,
        comment="Shares of rows by measure, amounts by currency, and rows of the newest days.",
    ),
    Column(
        "accepted",
        JSONB,
        nullable=False,
        comment="Measures that an operator accepted with the load, with the first day covered.",
    ),
    Index("ix_load_profile_resource", "resource", "id_entity", "step_run_id"),
    comment="Profiles of published loads: the plausibility checks compare the next load with them.",
)

quarantine = Table(
    "quarantine",
    METADATA,
    Column("resource", TEXT, primary_key=True, comment="Target table of the row."),
    Column(
        "id_entity",
        BIGINT,
        primary_key=True,
        autoincrement=False,
        comment="Entity; 0 if the resource has none.",
    ),
    Column(
        "row_key",
        TEXT,
        primary_key=True,
        comment="Identifier of the row, or a digest of the row if the identifier is unreadable.",
    ),
    Column(
        "code", TEXT, nullable=False, comment="Code of the error, explained in docs/runbook.md."
    ),
    Column("field", TEXT, comment="Invalid field."),
    Column("raw", TEXT, nullable=False, comment="Row, verbatim."),
    Column(
        "first_day",
        Date,
        comment="Day of the row; if unreadable, first day of the window that returned the row.",
    ),
    Column(
        "last_day",
        Date,
        comment="The same day, or the last day of that window; a later read of all these days removes the row.",
    ),
    Column(
        "step_run_id", BigInteger, nullable=False, comment="Latest step run that returned the row."
    ),
    Column("first_seen_at", TIMESTAMP, nullable=False, comment="Time of quarantine."),
    Column(
        "last_seen_at",
        TIMESTAMP,
        nullable=False,
        comment="Latest time at which the row was invalid.",
    ),
    Column(
        "loads",
        Integer,
        nullable=False,
        server_default="1",
        comment="Consecutive loads that returned the row as invalid.",
    ),
    Column("accepted_by", TEXT, comment="Who accepted that the row stays invalid; null: no one."),
    comment="Invalid rows; a later valid read removes a row.",
)
