"""Table of alarms with their notifications."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Identity, Index, Integer, Table, text
from sqlalchemy.dialects.postgresql import ARRAY

from bms_warehouse.tables.schema import METADATA, TEXT, TIMESTAMP

alarm = Table(
    "alarm",
    METADATA,
    Column(
        "id", BigInteger, Identity(always=True), primary_key=True, comment="Number of the alarm."
    ),
    Column(
        "subject", TEXT, nullable=False, comment="Object with the problem; for a flow its DAG id."
    ),
    Column(
        "code", TEXT, nullable=False, comment="Code of the problem, explained in docs/runbook.md."
    ),
    Column(
        "detail",
        TEXT,
        nullable=False,
        comment="Observation in figures and days, without personal data.",
    ),
    Column("flow", TEXT, comment="DAG id of the flow concerned."),
    Column("dag_run_id", TEXT, comment="Airflow DAG run that shows the problem."),
    Column("since", TIMESTAMP, nullable=False, comment="Start of the problem."),
    Column("raised_at", TIMESTAMP, nullable=False, comment="Time of detection."),
    Column("notified_at", TIMESTAMP, comment="Time at which a channel accepted the notification."),
    Column(
        "aspects",
        ARRAY(TEXT),
        nullable=False,
        server_default="{}",
        comment="Details of the problem: codes, entities. A new aspect causes an update notification.",
    ),
    Column(
        "size",
        Integer,
        nullable=False,
        server_default="0",
        comment="Number of rows affected; 0 if the alarm counts none.",
    ),
    Column(
        "notified_aspects",
        ARRAY(TEXT),
        nullable=False,
        server_default="{}",
        comment="Aspects already notified.",
    ),
    Column(
        "notified_size",
        Integer,
        nullable=False,
        server_default="0",
        comment="Largest size already notified.",
    ),
    Column("update_notified_at", TIMESTAMP, comment="Time of the latest update notification."),
    Column("recovered_at", TIMESTAMP, comment="End of the problem; null while the alarm is open."),
    Column(
        "recovery_reason", TEXT, comment="Reason for closing the alarm other than a passed check."
    ),
    Column("recovery_notified_at", TIMESTAMP, comment="Time of the recovery notification."),
    CheckConstraint(
        "recovery_notified_at is null or (notified_at is not null and recovered_at is not null)",
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
