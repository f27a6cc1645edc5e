"""Table of alarms with their notifications."""

from sqlalchemy import BigInteger, CheckConstraint, Identity, Index, Integer, Table, text
from sqlalchemy.dialects.postgresql import ARRAY

from bms_warehouse.tables.schema import METADATA, TEXT, TIMESTAMP, column, optional

alarm = Table(
    "alarm",
    METADATA,
    column("id", BigInteger, "Number of the alarm.", Identity(always=True), primary_key=True),
    column("subject", TEXT, "Object with the problem; for a flow its DAG id."),
    column("code", TEXT, "Code of the problem, explained in docs/runbook.md."),
    column("detail", TEXT, "Observation in figures and days, without personal data."),
    optional("flow", TEXT, "DAG id of the flow concerned."),
    optional("dag_run_id", TEXT, "Airflow DAG run that shows the problem."),
    column("since", TIMESTAMP, "Start of the problem."),
    column("raised_at", TIMESTAMP, "Time of detection."),
    optional("notified_at", TIMESTAMP, "Time at which a channel accepted the notification."),
    optional("refused_at", TIMESTAMP, "Latest attempt to notify that no channel accepted."),
    column(
        "aspects",
        ARRAY(TEXT),
        "Details of the problem: codes, entities. A new aspect causes an update notification.",
        server_default="{}",
    ),
    column(
        "size", Integer, "Number of rows affected; 0 if the alarm counts none.", server_default="0"
    ),
    column("notified_aspects", ARRAY(TEXT), "Aspects already notified.", server_default="{}"),
    column("notified_size", Integer, "Largest size already notified.", server_default="0"),
    optional("update_notified_at", TIMESTAMP, "Time of the latest update notification."),
    optional("recovered_at", TIMESTAMP, "End of the problem; null while the alarm is open."),
    optional("recovery_reason", TEXT, "Reason for closing the alarm other than a passed check."),
    optional("recovery_notified_at", TIMESTAMP, "Time of the recovery notification."),
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
