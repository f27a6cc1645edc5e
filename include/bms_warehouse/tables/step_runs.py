"""Tables of step runs, control totals and quarantined rows."""

from sqlalchemy import CheckConstraint, Index, Table, text

from bms.records import ClientInvoice
from bms_warehouse.tables.schema import METADATA, columns, one_of

STEP_RUN_STATES = ("running", "complete", "partial", "suspect", "unstable", "failed")
"""Only `complete` counts for the freshness of a flow."""

step_run = Table(
    "step_run",
    METADATA,
    *columns("""
        id identity -- Number of the step run.
        flow text -- DAG id.
        dag_run_id text -- Airflow DAG run id.
        step text -- Name of the step.
        id_entity bigint? -- Entity of the step; null if none.
        window_start date? -- First day read.
        window_end date? -- Last day read, inclusive.
        state text -- running, or the outcome.
        reason text? -- Reason why the step is not complete, and the remedy.
        rows_read integer = 0 -- Rows that the service returned.
        inserted integer = 0 -- New rows.
        changed integer = 0 -- Rows that differed from the warehouse.
        unchanged integer = 0 -- Rows equal to the warehouse.
        quarantined integer = 0 -- Rows stored in bms.quarantine.
        missing integer = 0 -- Rows of the warehouse that the service no longer returned.
        requests integer = 0 -- Requests sent, including retries and token requests.
        retries integer = 0 -- Requests retried.
        throttles integer = 0 -- Responses that asked to slow down.
        token_fetches integer = 0 -- Tokens fetched.
        latency_p50_ms float? -- Median response time, milliseconds.
        latency_p95_ms float? -- 95th percentile of the response time, milliseconds.
        held_by bigint? -- Step run that read these days and held them for review; null for any
            other step.
        version text? -- Version of the project that ran the step; null if not installed.
        details json? -- Details of this kind of step.
        started_at time -- Start.
        finished_at time? -- End; null while running.
        reported_at time? -- Time at which an asset's event had reported the changed rows; null
            before.
    """),
    one_of(STEP_RUN_STATES),
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
    *columns("""
        step_run_id bigint key -> step_run cascade -- Step run that read the rows.
        id_entity bigint key -- Entity.
        currency text key -- Currency of the sums.
        invoices integer -- Number of invoices summed.
    """),
    *columns(
        "\n".join(
            f"{each} numeric -- Sum of {each} over the rows read."
            for each in ClientInvoice.amounts()
        )
    ),
    comment="Control totals of a step run, by entity and currency.",
)

load_profile = Table(
    "load_profile",
    METADATA,
    *columns("""
        step_run_id bigint key -> step_run cascade -- Step run that published the rows.
        resource text -- Target table of the rows.
        id_entity bigint -- Entity; 0 if the resource has none.
        read_at time -- Time at which reading began.
        profile json -- Shares of rows by measure, amounts by currency, and rows of the newest days.
        accepted json -- Measures that an operator accepted with the load, with the first day
            covered.
    """),
    Index("ix_load_profile_resource", "resource", "id_entity", "step_run_id"),
    comment="Profiles of published loads: the plausibility checks compare the next load with them.",
)

quarantine = Table(
    "quarantine",
    METADATA,
    *columns("""
        resource text key -- Target table of the row.
        id_entity bigint key -- Entity; 0 if the resource has none.
        row_key text key -- Identifier of the row, or a digest of the row if the identifier is
            unreadable.
        code text -- Code of the error, explained in docs/runbook.md.
        field text? -- Invalid field.
        raw text -- Row, verbatim.
        first_day date? -- Day of the row; if unreadable, first day of the window that returned the
            row.
        last_day date? -- The same day, or the last day of that window; a later read of all these
            days removes the row.
        step_run_id bigint -- Latest step run that returned the row.
        first_seen_at time -- Time of quarantine.
        last_seen_at time -- Latest time at which the row was invalid.
        loads integer = 1 -- Consecutive loads that returned the row as invalid.
        accepted_by text? -- Who accepted that the row stays invalid; null: no one.
    """),
    comment="Invalid rows; a later valid read removes a row.",
)
