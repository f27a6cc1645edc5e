"""Onboarding tables: plans, the ledger of records to create, and its history.

Only `creation_body` contains personal data: the request bodies. Retention deletes each body after
its row has ended. All other tables identify records by digests.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
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
from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP, column, optional

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
    column("drop_id", BIGINT, "Drop of the plan.", ForeignKey(dropped_file.c.id)),
    column("id", TEXT, "Hash of the plan, which the approver approves."),
    column("resource", TEXT, "Resource of the records to create."),
    column("state", TEXT, "made, approved, refused or applied."),
    column("bound", JSONB, "Digests of the inputs of the plan."),
    column("counts", JSONB, "Number of rows per outcome."),
    column("breaches", JSONB, "Limits that the plan exceeds; figures only."),
    column("creates", JSONB, "Digests of the request bodies, by key."),
    column("rows", JSONB, "Outcome of each line: codes, fields and ids, no values."),
    column("made_at", TIMESTAMP, "Time of planning."),
    optional(
        "decided_by",
        TEXT,
        "User who approved or refused the plan, or the setting that approved it.",
    ),
    optional("decided_at", TIMESTAMP, "Time of the decision."),
    optional("applied_at", TIMESTAMP, "Time at which the rows entered the ledger."),
    optional("asked_at", TIMESTAMP, "Time of the latest request for approval."),
    optional("asked_because", JSONB, "Why approval was requested: codes and figures."),
    optional("notified_at", TIMESTAMP, "Time of the latest message about that request."),
    optional("file_digest", TEXT, "SHA-256 of the plan's file, which the approver reads."),
    PrimaryKeyConstraint("drop_id", "id"),
    CheckConstraint(_one_of(PLAN_STATES), name="state"),
    comment="Plans of drops with their approval; the content of a plan never changes.",
)

creation_snapshot = Table(
    "creation_snapshot",
    METADATA,
    column("id", BigInteger, "Number of the snapshot.", Identity(always=True), primary_key=True),
    column("resource", TEXT, "Resource of the lists."),
    column("drop_id", BIGINT, "Drop at that time.", ForeignKey(dropped_file.c.id)),
    column("taken_at", TIMESTAMP, "Start of the read."),
    column(
        "content",
        LargeBinary,
        "Ids and digests of the listed records, compressed; no personal data.",
    ),
    Index("ix_creation_snapshot_drop_id", "drop_id"),
    comment="Lists of the service before rows entered the ledger; deleted when those rows have ended.",
)

creation = Table(
    "creation",
    METADATA,
    column("id", BigInteger, "Number of the row.", Identity(always=True), primary_key=True),
    column("resource", TEXT, "Resource of the record to create."),
    column("key", TEXT, "Digest of the natural key."),
    column("digest", TEXT, "Digest of the dropped data."),
    column("drop_id", BIGINT, "Latest drop of the row.", ForeignKey(dropped_file.c.id)),
    column("line", Integer, "Line in that drop."),
    column("state", TEXT, "State of the row."),
    column("attempt", Integer, "Number of POSTs recorded before sending."),
    column("max_attempts", Integer, "Number of the last attempt allowed."),
    optional("first_intended_at", TIMESTAMP, "Time recorded before the first POST."),
    optional("intended_at", TIMESTAMP, "Time recorded and committed before the latest POST."),
    optional("in_flight_until", TIMESTAMP, "When the last POST can no longer be in progress."),
    optional("boot_id", TEXT, "Boot of the machine that sent or settles the last POST."),
    optional(
        "in_flight_until_s",
        Double,
        "When the last POST can no longer be in progress, in seconds since that boot.",
    ),
    column(
        "empty_lookups",
        Integer,
        "Consecutive lookups without a record, or checks without a conclusion.",
    ),
    optional(
        "snapshot_id",
        BigInteger,
        "Snapshot of the service from before the row entered the ledger.",
        ForeignKey(creation_snapshot.c.id, ondelete="SET NULL"),
    ),
    optional(
        "checked_at",
        TIMESTAMP,
        "Latest time at which the lease holder found no record of the row in the service.",
    ),
    optional("returned_id", TEXT, "Id that the last POST returned."),
    optional("remote_id", TEXT, "Id of the record in the service: GUID or number."),
    optional(
        "remote_number",
        BIGINT,
        "Number of the record, if the service has a number in addition to the id.",
    ),
    optional("is_standby", Boolean, "Whether the latest read showed the record on standby."),
    optional("reason", TEXT, "Code of the reason for state unknown, rejected or review."),
    column("evidence", JSONB, "Codes of the evidence for the outcome."),
    column("candidates", JSONB, "Remote ids from which the reviewer chooses."),
    column(
        "dismissed", JSONB, "Remote ids that the reviewer excluded.", server_default=text("'[]'")
    ),
    column(
        "alike",
        JSONB,
        "Keys of rows alike that the review compares; a release decides that they are different.",
        server_default=text("'[]'"),
    ),
    optional("manager_key", TEXT, "Key of the manager's row, which must exist first."),
    optional("verified", JSONB, "Fields read back: equal, different, unreadable."),
    optional("owner", TEXT, "Task that holds the lease."),
    optional("leased_until", TIMESTAMP, "End of the lease; another task may then take over."),
    column("entered_at", TIMESTAMP, "Time of entry."),
    column("changed_at", TIMESTAMP, "Time of the latest transition."),
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
    column(
        "creation_id",
        BigInteger,
        "Row of the ledger.",
        ForeignKey(creation.c.id, ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    column("body", TEXT, "Request body, as JSON. Personal data."),
    comment="Request bodies for retries and comparisons; deleted 30 days after the row has ended.",
)

creation_event = Table(
    "creation_event",
    METADATA,
    column("id", BigInteger, "Sequence number.", Identity(always=True), primary_key=True),
    column(
        "creation_id",
        BigInteger,
        "Row of the ledger.",
        ForeignKey(creation.c.id, ondelete="CASCADE"),
    ),
    column("at", TIMESTAMP, "Time by the database's clock."),
    column("what", TEXT, "Code of the event."),
    column("attempt", Integer, "Attempt of the event."),
    optional("who", TEXT, "User who decided; null for the flow."),
    optional("detail", TEXT, "A code, a remote id, or the DAG run of a decision."),
    Index("ix_creation_event_creation_id", "creation_id"),
    comment="History of the ledger: every transition and decision.",
)

creation_match = Table(
    "creation_match",
    METADATA,
    column("resource", TEXT, "Resource of the record."),
    column("key", TEXT, "Digest of the fields by which the dropped row was matched."),
    column("remote_id", TEXT, "Id of the record in the service."),
    column("drop_id", BIGINT, "Drop at that time.", ForeignKey(dropped_file.c.id)),
    column("matched_at", TIMESTAMP, "Time of the match."),
    PrimaryKeyConstraint("resource", "key"),
    comment="Records matched to dropped rows; later drops use the id.",
)
