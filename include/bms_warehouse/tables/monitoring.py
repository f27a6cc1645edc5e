"""Tables of alarms, audit results, the service contract, and the identity of the service."""

from sqlalchemy import CheckConstraint, Index, Table, text

from bms_warehouse.tables.schema import METADATA, columns, one_of

RECONCILIATION_STATES = ("reconciled", "pending", "not_reconciled", "not_checked")

alarm = Table(
    "alarm",
    METADATA,
    *columns("""
        id identity -- Number of the alarm.
        subject text -- Object with the problem; for a flow its DAG id.
        code text -- Code of the problem, explained in docs/runbook.md.
        detail text -- Observation in figures and days, without personal data.
        flow text? -- DAG id of the flow concerned.
        dag_run_id text? -- Airflow DAG run that shows the problem.
        since time -- Start of the problem.
        raised_at time -- Time of detection.
        notified_at time? -- Time at which a channel accepted the notification.
        refused_at time? -- Latest attempt to notify that no channel accepted.
        aspects text[] = {} -- Details of the problem: codes, entities. A new aspect causes an
            update notification.
        size integer = 0 -- Number of rows affected; 0 if the alarm counts none.
        notified_aspects text[] = {} -- Aspects already notified.
        notified_size integer = 0 -- Largest size already notified.
        update_notified_at time? -- Time of the latest update notification.
        acknowledged_by text? -- Operator who acknowledged the alarm; null: no one.
        acknowledged_until time? -- End of the acknowledgement, until which nothing is sent.
        acknowledged_note text? -- Why the alarm may wait.
        recovered_at time? -- End of the problem; null while the alarm is open.
        recovery_reason text? -- Reason for closing the alarm other than a passed check.
        recovery_notified_at time? -- Time of the recovery notification.
    """),
    CheckConstraint(
        "recovery_notified_at is null or"
        " (coalesce(notified_at, refused_at) is not null and recovered_at is not null)",
        name="notified",
    ),
    Index(
        "uq_alarm_subject_open",
        "subject",
        unique=True,
        postgresql_where=text("recovered_at is null"),
    ),
    comment="Alarms; each subject has at most one open alarm.",
)

reconciliation = Table(
    "reconciliation",
    METADATA,
    *columns("""
        resource text key -- Table of the compared rows.
        id_entity bigint key -- Entity; 0 if the resource has none.
        day date key -- Day of the invoices; for a list, day of the audit.
        part integer key -- Part of a long list, from 1; 1 for a day of invoices.
        parts integer -- Number of parts at the latest audit of the list.
        state text -- reconciled; pending: differs from the warehouse until a load or audit decides;
            not_reconciled; not_checked.
        reasons text[] -- Codes of the findings; empty if reconciled.
        found json -- Number of contradictory rows, by code.
        pending json -- Number of rows that differ from the warehouse until a load or audit decides,
            by code.
        rows_compared integer -- Number of rows compared.
        changed_meanwhile integer -- Number of rows that changed during the read.
        rows json -- Keys of these rows, by code; with digest and version if the warehouse differs.
        checked_at time -- Time of the latest comparison.
        tried_at time? -- Start of the latest attempt.
        step_run_id bigint -- Step run of the audit.
    """),
    one_of(RECONCILIATION_STATES),
    CheckConstraint("(state = 'reconciled') = (cardinality(reasons) = 0)", name="reasons"),
    Index("ix_reconciliation_state_day", "state", "day"),
    comment="Result of the audit for each day or list.",
)

contract = Table(
    "contract",
    METADATA,
    *columns("""
        finding text key -- Name of the question, such as page_size_limit.
        since time key -- First observation.
        state text -- known or undetermined.
        value json? -- Observed behaviour; null while undetermined.
        summary text -- The same in a sentence, or the reason why not.
        setting text? -- Setting that depends on the behaviour.
        advice text? -- Value to set if the setting contradicts the behaviour.
        last_seen_at time -- Latest observation.
        step_run_id bigint -- Step run of the latest observation.
    """),
    one_of(("known", "undetermined")),
    comment="Observed behaviour that the interface does not specify; the latest row of each finding is current.",
)

service_identity = Table(
    "service_identity",
    METADATA,
    *columns("""
        id integer key -- 1 for the first service, plus 1 per change; the highest is current.
        host text -- Host and path of the base URL.
        application_id text -- The application id of the connection.
        since time -- Time of storage.
        confirmed boolean -- Whether an operator confirmed the change.
    """),
    comment="Service that fills the warehouse; flows refuse any other service.",
)
