"""Onboarding tables: plans, the ledger of records to create, and its history.

Only `creation_body` contains personal data: the request bodies. Retention deletes each body after
its row has ended. All other tables identify records by digests.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from bms_warehouse.tables.drops import dropped_file
from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP

PLAN_STATES = ("made", "approved", "refused", "applied")

CREATION_STATES = (
    "ready",
    "sending",
    "unknown",
    "created",
    "adopted",
    "rejected",
    "review",
    "given_up",
)
"""States of a ledger row; `bms_flows.onboarding.ledger.transitions` defines the allowed transitions."""


def _one_of(names: tuple[str, ...]) -> str:
    return "state in ({})".format(", ".join(f"'{name}'" for name in names))


creation_plan = Table(
    "creation_plan",
    METADATA,
    Column(
        "drop_id",
        BIGINT,
        ForeignKey(dropped_file.c.id),
        nullable=False,
        comment="Drop of the plan.",
    ),
    Column("id", TEXT, nullable=False, comment="Hash of the plan, which the approver approves."),
    Column("resource", TEXT, nullable=False, comment="Resource of the records to create."),
    Column("state", TEXT, nullable=False, comment="made, approved, refused or applied."),
    Column("bound", JSONB, nullable=False, comment="Digests of the inputs of the plan."),
    Column("counts", JSONB, nullable=False, comment="Number of rows per outcome."),
    Column(
        "breaches", JSONB, nullable=False, comment="Limits that the plan exceeds; figures only."
    ),
    Column("creates", JSONB, nullable=False, comment="Digests of the request bodies, by key."),
    Column(
        "rows",
        JSONB,
        nullable=False,
        comment="Outcome of each line: codes, fields and ids, no values.",
    ),
    Column("made_at", TIMESTAMP, nullable=False, comment="Time of planning."),
    Column(
        "decided_by",
        TEXT,
        comment="User who approved or refused the plan, or the setting that approved it.",
    ),
    Column("decided_at", TIMESTAMP, comment="Time of the decision."),
    Column("applied_at", TIMESTAMP, comment="Time at which the rows entered the ledger."),
    Column("asked_at", TIMESTAMP, comment="Time of the latest request for approval."),
    Column("asked_because", JSONB, comment="Why approval was requested: codes and figures."),
    Column("notified_at", TIMESTAMP, comment="Time of the latest message about that request."),
    PrimaryKeyConstraint("drop_id", "id"),
    CheckConstraint(_one_of(PLAN_STATES), name="state"),
    comment="Plans of drops with their approval; the content of a plan never changes.",
)

creation_snapshot = Table(
    "creation_snapshot",
    METADATA,
    Column(
        "id", BigInteger, Identity(always=True), primary_key=True, comment="Number of the snapshot."
    ),
    Column("resource", TEXT, nullable=False, comment="Resource of the lists."),
    Column(
        "drop_id",
        BIGINT,
        ForeignKey(dropped_file.c.id),
        nullable=False,
        comment="Drop at that time.",
    ),
    Column("taken_at", TIMESTAMP, nullable=False, comment="Start of the read."),
    Column(
        "content",
        LargeBinary,
        nullable=False,
        comment="Ids and digests of the listed records, compressed; no personal data.",
    ),
    Index("ix_creation_snapshot_drop_id", "drop_id"),
    comment="Lists of the service before rows entered the ledger; deleted when those rows have ended.",
)

creation = Table(
    "creation",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True, comment="Number of the row."),
    Column("resource", TEXT, nullable=False, comment="Resource of the record to create."),
    Column("key", TEXT, nullable=False, comment="Digest of the natural key."),
    Column("digest", TEXT, nullable=False, comment="Digest of the dropped data."),
    Column(
        "drop_id",
        BIGINT,
        ForeignKey(dropped_file.c.id),
        nullable=False,
        comment="Latest drop of the row.",
    ),
    Column("line", Integer, nullable=False, comment="Line in that drop."),
    Column("state", TEXT, nullable=False, comment="State of the row."),
    Column("attempt", Integer, nullable=False, comment="Number of POSTs recorded before sending."),
    Column("max_attempts", Integer, nullable=False, comment="Number of the last attempt allowed."),
    Column("first_intended_at", TIMESTAMP, comment="Time recorded before the first POST."),
    Column("intended_at", TIMESTAMP, comment="Time recorded and committed before the latest POST."),
    Column(
        "in_flight_until",
        TIMESTAMP,
        comment="When the last POST can no longer be in progress.",
    ),
    Column("boot_id", TEXT, comment="Boot of the machine that sent or settles the last POST."),
    Column(
        "in_flight_until_s",
        Double,
        comment="When the last POST can no longer be in progress, in seconds since that boot.",
    ),
    Column(
        "empty_lookups",
        Integer,
        nullable=False,
        comment="Consecutive lookups without a record, or checks without a conclusion.",
    ),
    Column(
        "snapshot_id",
        BigInteger,
        ForeignKey(creation_snapshot.c.id, ondelete="SET NULL"),
        comment="Snapshot of the service from before the row entered the ledger.",
    ),
    Column(
        "checked_at",
        TIMESTAMP,
        comment="Latest time at which the lease holder found no record of the row in the service.",
    ),
    Column(
        "returned_id",
        TEXT,
        comment="Id that the last POST returned.",
    ),
    Column("remote_id", TEXT, comment="Id of the record in the service: GUID or number."),
    Column(
        "remote_number",
        BIGINT,
        comment="Number of the record, if the service has a number in addition to the id.",
    ),
    Column("is_standby", Boolean, comment="Whether the latest read showed the record on standby."),
    Column("reason", TEXT, comment="Code of the reason for state unknown, rejected or review."),
    Column("evidence", JSONB, nullable=False, comment="Codes of the evidence for the outcome."),
    Column(
        "candidates", JSONB, nullable=False, comment="Remote ids from which the reviewer chooses."
    ),
    Column(
        "dismissed",
        JSONB,
        nullable=False,
        server_default=text("'[]'"),
        comment="Remote ids that the reviewer excluded.",
    ),
    Column(
        "alike",
        JSONB,
        nullable=False,
        server_default=text("'[]'"),
        comment="Keys of rows alike that the review compares; a release decides that they are different.",
    ),
    Column("manager_key", TEXT, comment="Key of the manager's row, which must exist first."),
    Column("verified", JSONB, comment="Fields read back: equal, different, unreadable."),
    Column("owner", TEXT, comment="Task that holds the lease."),
    Column("leased_until", TIMESTAMP, comment="End of the lease; another task may then take over."),
    Column("entered_at", TIMESTAMP, nullable=False, comment="Time of entry."),
    Column("changed_at", TIMESTAMP, nullable=False, comment="Time of the latest transition."),
    UniqueConstraint("resource", "key"),
    CheckConstraint(_one_of(CREATION_STATES), name="state"),
    CheckConstraint("state not in ('created', 'adopted') or remote_id is not null", name="known"),
    CheckConstraint("attempt <= max_attempts", name="attempts"),
    Index(
        "uq_creation_remote_id",
        "resource",
        "remote_id",
        unique=True,
        postgresql_where=text("remote_id is not null"),
    ),
    Index("ix_creation_drop_id", "drop_id"),
    Index("ix_creation_snapshot_id", "snapshot_id"),
    comment="The ledger: one row for each record to create, across all drops.",
)

creation_body = Table(
    "creation_body",
    METADATA,
    Column(
        "creation_id",
        BigInteger,
        ForeignKey(creation.c.id, ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
        comment="Row of the ledger.",
    ),
    Column("body", TEXT, nullable=False, comment="Request body, as JSON. Personal data."),
    comment="Request bodies for retries and comparisons; deleted BMS_KEEP_DAYS after the row has ended.",
)

creation_event = Table(
    "creation_event",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True, comment="Sequence number."),
    Column(
        "creation_id",
        BigInteger,
        ForeignKey(creation.c.id, ondelete="CASCADE"),
        nullable=False,
        comment="Row of the ledger.",
    ),
    Column("at", TIMESTAMP, nullable=False, comment="Time by the database's clock."),
    Column("what", TEXT, nullable=False, comment="Code of the event."),
    Column("attempt", Integer, nullable=False, comment="Attempt of the event."),
    Column("who", TEXT, comment="User who decided; null for the flow."),
    Column("detail", TEXT, comment="A code, a remote id, or the DAG run of a decision."),
    Index("ix_creation_event_creation_id", "creation_id"),
    comment="History of the ledger: every transition and decision.",
)

creation_match = Table(
    "creation_match",
    METADATA,
    Column("resource", TEXT, nullable=False, comment="Resource of the record."),
    Column(
        "key",
        TEXT,
        nullable=False,
        comment="Digest of the fields by which the dropped row was matched.",
    ),
    Column("remote_id", TEXT, nullable=False, comment="Id of the record in the service."),
    Column(
        "drop_id",
        BIGINT,
        ForeignKey(dropped_file.c.id),
        nullable=False,
        comment="Drop at that time.",
    ),
    Column("matched_at", TIMESTAMP, nullable=False, comment="Time of the match."),
    PrimaryKeyConstraint("resource", "key"),
    comment="Records matched to dropped rows; later drops use the id.",
)
