"""What is created in the service, once each: the plans approved, the ledger, its history.

Personal data stands in `creation_body` alone: what a retry has to send, deleted once the row has
reached its end and the days set for keeping are over. Everything else names people by digests.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
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
"""The moves between them, and the laws they follow: bms_flows.onboarding.ledger.transitions."""


def _one_of(names: tuple[str, ...]) -> str:
    return "state in ({})".format(", ".join(f"'{name}'" for name in names))


creation_plan = Table(
    "creation_plan",
    METADATA,
    Column("drop_id", BIGINT, ForeignKey(dropped_file.c.id), nullable=False, comment="The drop."),
    Column("id", TEXT, nullable=False, comment="Hash of the plan; what a person approves."),
    Column("resource", TEXT, nullable=False, comment="What it creates."),
    Column("state", TEXT, nullable=False, comment="made, then approved or refused, then applied."),
    Column("bound", JSONB, nullable=False, comment="Digests of what it was made from."),
    Column("counts", JSONB, nullable=False, comment="Rows by what becomes of them."),
    Column("breaches", JSONB, nullable=False, comment="Limits it exceeds; figures only."),
    Column("creates", JSONB, nullable=False, comment="Digests of what it would send, by key."),
    Column(
        "rows",
        JSONB,
        nullable=False,
        comment="Each line with what becomes of it: codes, fields and ids, no values.",
    ),
    Column("made_at", TIMESTAMP, nullable=False, comment="When it was made."),
    Column(
        "decided_by", TEXT, comment="Who approved or refused it; the setting that asked nobody."
    ),
    Column("decided_at", TIMESTAMP, comment="When."),
    Column("applied_at", TIMESTAMP, comment="When its rows were entered in the ledger."),
    PrimaryKeyConstraint("drop_id", "id"),
    CheckConstraint(_one_of(PLAN_STATES), name="state"),
    comment="Plans of drops, immutable: what would be done, and who agreed to it.",
)

creation_snapshot = Table(
    "creation_snapshot",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True, comment="Its number."),
    Column("resource", TEXT, nullable=False, comment="The resource whose lists were read."),
    Column(
        "drop_id", BIGINT, ForeignKey(dropped_file.c.id), nullable=False, comment="The drop then."
    ),
    Column("taken_at", TIMESTAMP, nullable=False, comment="When the reading began."),
    Column(
        "content",
        LargeBinary,
        nullable=False,
        comment="Ids and digests of the lists' records, compressed; no personal data.",
    ),
    Index("ix_creation_snapshot_drop_id", "drop_id"),
    comment="What the service's lists contained before rows were entered; deleted once they are done.",
)

creation = Table(
    "creation",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True, comment="The row's number."),
    Column("resource", TEXT, nullable=False, comment="What is created."),
    Column("key", TEXT, nullable=False, comment="Digest of the natural key."),
    Column("digest", TEXT, nullable=False, comment="Digest of the data as dropped."),
    Column(
        "drop_id", BIGINT, ForeignKey(dropped_file.c.id), nullable=False, comment="Its latest drop."
    ),
    Column("line", Integer, nullable=False, comment="Its line there."),
    Column("state", TEXT, nullable=False, comment="Where it stands."),
    Column("attempt", Integer, nullable=False, comment="POSTs intended so far."),
    Column("max_attempts", Integer, nullable=False, comment="Number of the last attempt allowed."),
    Column("first_intended_at", TIMESTAMP, comment="Intent of the first POST."),
    Column("intended_at", TIMESTAMP, comment="Intent of the last POST, committed before it."),
    Column(
        "in_flight_until",
        TIMESTAMP,
        comment="When the last POST can no longer be in progress.",
    ),
    Column(
        "empty_lookups",
        Integer,
        nullable=False,
        comment="Lookups since the last POST that found no record.",
    ),
    Column(
        "snapshot_id",
        BigInteger,
        ForeignKey(creation_snapshot.c.id, ondelete="SET NULL"),
        comment="The snapshot of the service taken before it was entered.",
    ),
    Column(
        "checked_at",
        TIMESTAMP,
        comment="When its lease holder last saw the service without a record for it.",
    ),
    Column("returned_id", TEXT, comment="The id that a POST returned and that can't be read yet."),
    Column("remote_id", TEXT, comment="The service's id of the record: guid or number."),
    Column("remote_number", BIGINT, comment="Its number, where it has one beside the id."),
    Column("is_standby", Boolean, comment="Whether it was on standby when last seen."),
    Column("reason", TEXT, comment="Code: why it is unknown, rejected or needs review."),
    Column("evidence", JSONB, nullable=False, comment="Codes: what the outcome rests on."),
    Column("candidates", JSONB, nullable=False, comment="Remote ids a person chooses from."),
    Column(
        "dismissed",
        JSONB,
        nullable=False,
        server_default=text("'[]'"),
        comment="Remote ids that a reviewer decided against.",
    ),
    Column("manager_key", TEXT, comment="Key of the row that must be there before."),
    Column("verified", JSONB, comment="Names of fields read back: equal, different, unreadable."),
    Column("owner", TEXT, comment="Who works on it."),
    Column("leased_until", TIMESTAMP, comment="When anybody may take it over."),
    Column("entered_at", TIMESTAMP, nullable=False, comment="When it was first entered."),
    Column("changed_at", TIMESTAMP, nullable=False, comment="When it last moved."),
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
    comment="The ledger: one row for each record to be created, whatever is dropped how often.",
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
        comment="The row of the ledger.",
    ),
    Column("body", TEXT, nullable=False, comment="What is sent, as JSON. Personal data."),
    comment="Bodies that may have to be sent again or compared; deleted BMS_KEEP_DAYS after.",
)

creation_event = Table(
    "creation_event",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True, comment="Order of entry."),
    Column(
        "creation_id",
        BigInteger,
        ForeignKey(creation.c.id, ondelete="CASCADE"),
        nullable=False,
        comment="The row of the ledger.",
    ),
    Column("at", TIMESTAMP, nullable=False, comment="When, by the database's clock."),
    Column("what", TEXT, nullable=False, comment="Code of what happened."),
    Column("attempt", Integer, nullable=False, comment="The attempt it belongs to."),
    Column("who", TEXT, comment="The person who decided; empty for the engine."),
    Column("detail", TEXT, comment="A code, a remote id, or the run of a decision."),
    Index("ix_creation_event_creation_id", "creation_id"),
    comment="The ledger's history: every move of every row, every decision with who and when.",
)

creation_match = Table(
    "creation_match",
    METADATA,
    Column("resource", TEXT, nullable=False, comment="What the record is."),
    Column("key", TEXT, nullable=False, comment="Digest of what a dropped row was found by."),
    Column("remote_id", TEXT, nullable=False, comment="The service's id of its record."),
    Column(
        "drop_id", BIGINT, ForeignKey(dropped_file.c.id), nullable=False, comment="The drop then."
    ),
    Column("matched_at", TIMESTAMP, nullable=False, comment="When."),
    PrimaryKeyConstraint("resource", "key"),
    comment="Records that dropped rows turned out to be: from then on the id is who it is.",
)
