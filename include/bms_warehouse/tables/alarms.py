"""Alarms: what is or was in trouble, since when, and whether people were told."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Identity, Index, Integer, Table, text
from sqlalchemy.dialects.postgresql import ARRAY

from bms_warehouse.tables.schema import METADATA, TEXT, TIMESTAMP

alarm = Table(
    "alarm",
    METADATA,
    Column(
        "id", BigInteger, Identity(always=True), primary_key=True, comment="The alarm's number."
    ),
    Column("subject", TEXT, nullable=False, comment="What is in trouble; a flow by its DAG's id."),
    Column("code", TEXT, nullable=False, comment="What is wrong, as docs/runbook.md names it."),
    Column("detail", TEXT, nullable=False, comment="What was seen: figures, days, no person."),
    Column("flow", TEXT, comment="The DAG concerned, by its id."),
    Column("dag_run_id", TEXT, comment="Airflow's run that shows it, by its id."),
    Column("since", TIMESTAMP, nullable=False, comment="When the trouble began."),
    Column("raised_at", TIMESTAMP, nullable=False, comment="When it was noticed."),
    Column("notified_at", TIMESTAMP, comment="When its message was taken by a channel."),
    Column(
        "aspects",
        ARRAY(TEXT),
        nullable=False,
        server_default="{}",
        comment="What is wrong in detail: codes, entities. A new one is notified as an update.",
    ),
    Column(
        "size",
        Integer,
        nullable=False,
        server_default="0",
        comment="How much is wrong, as rows; 0 where nothing is counted.",
    ),
    Column(
        "notified_aspects",
        ARRAY(TEXT),
        nullable=False,
        server_default="{}",
        comment="The aspects that messages have named.",
    ),
    Column(
        "notified_size",
        Integer,
        nullable=False,
        server_default="0",
        comment="The largest size that a message has named.",
    ),
    Column("update_notified_at", TIMESTAMP, comment="When the message of an update was taken."),
    Column("recovered_at", TIMESTAMP, comment="When it was over; empty while open."),
    Column("recovery_reason", TEXT, comment="Why it was over, where no check found that it is."),
    Column("recovery_notified_at", TIMESTAMP, comment="When the message of that was taken."),
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
    comment="One row for each time that something was in trouble; a subject has one open at most.",
)
