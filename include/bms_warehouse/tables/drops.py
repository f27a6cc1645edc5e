"""Files dropped: who took which, what was in it, where its report is."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Identity,
    Index,
    Table,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import JSONB

from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP

DROP_STATES = ("waiting", "open", "applied", "not_applied", "repeated", "withdrawn")
"""`waiting`: not finished being written, so not taken; `open`: taken; the others say how it ended."""

dropped_file = Table(
    "dropped_file",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True, comment="The drop's number."),
    Column("resource", TEXT, nullable=False, comment="What the inbox creates."),
    Column("path", TEXT, nullable=False, comment="The file's name inside the inbox."),
    Column("size", BIGINT, nullable=False, comment="Its size, bytes."),
    Column(
        "stamp",
        TEXT,
        nullable=False,
        comment="Its time of modification (nanoseconds), or its etag on an object store;"
        " with the drop's number once the same file was dropped again.",
    ),
    Column("state", TEXT, nullable=False, comment="waiting, open, or how it ended."),
    Column("waits_for", TEXT, comment="Why it is not taken yet; empty once it is."),
    Column("unchanged_since", TIMESTAMP, comment="From when on a waiting file was seen unchanged."),
    Column("reason", TEXT, comment="Code of why it was withdrawn; empty otherwise."),
    Column("ended_before", TEXT, comment="How it had ended before it was taken again; else empty."),
    Column(
        "dag_run_id", TEXT, nullable=False, comment="Airflow's run that works on it, by its id."
    ),
    Column("expires_at", TIMESTAMP, nullable=False, comment="When another run may take it over."),
    Column("sha256", TEXT, comment="Digest of its content; empty until it was read whole."),
    Column(
        "same_as",
        BIGINT,
        ForeignKey("bms.dropped_file.id"),
        comment="Earlier drop of the same content.",
    ),
    Column("archive", TEXT, comment="Where the original is kept, below the data root."),
    Column("report", TEXT, comment="Folder of its report, below the data root."),
    Column(
        "counts",
        JSONB(none_as_null=True),
        comment="Rows by how they ended; empty until the drop ended.",
    ),
    Column("entered_at", TIMESTAMP, nullable=False, comment="When it was first seen, or taken."),
    Column("started_at", TIMESTAMP, comment="When its run was started; empty until then."),
    Column("finished_at", TIMESTAMP, comment="When it ended last."),
    UniqueConstraint("resource", "path", "size", "stamp"),
    UniqueConstraint("resource", "dag_run_id"),
    CheckConstraint(
        "state in ({})".format(", ".join(f"'{state}'" for state in DROP_STATES)), name="state"
    ),
    CheckConstraint("state in ('waiting', 'open') or finished_at is not null", name="finished"),
    Index("ix_dropped_file_resource_sha256", "resource", "sha256"),
    comment="One row for each file dropped, however often it is seen; taking one is inserting it.",
)
