"""Table of dropped files with claim, counts and report."""

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

DROP_STATES = ("waiting", "open", "applied", "not_applied", "refused", "repeated", "withdrawn")
"""`waiting`: not claimed, because the file may be incomplete; `open`: claimed; the other states are final."""

dropped_file = Table(
    "dropped_file",
    METADATA,
    Column(
        "id", BigInteger, Identity(always=True), primary_key=True, comment="Number of the drop."
    ),
    Column("resource", TEXT, nullable=False, comment="Resource of the inbox."),
    Column("path", TEXT, nullable=False, comment="Name of the file in the inbox."),
    Column("size", BIGINT, nullable=False, comment="Size in bytes."),
    Column(
        "stamp",
        TEXT,
        nullable=False,
        comment="Modification time (nanoseconds), or ETag on an object store;"
        " with the number of the drop after the same file was dropped again.",
    ),
    Column("state", TEXT, nullable=False, comment="waiting, open, or the outcome."),
    Column("waits_for", TEXT, comment="Reason why the file is not claimed yet; null once claimed."),
    Column(
        "unchanged_since", TIMESTAMP, comment="Time since which a waiting file has not changed."
    ),
    Column("reason", TEXT, comment="Code of the reason for withdrawal; null otherwise."),
    Column(
        "ended_before",
        TEXT,
        comment="Previous outcome of a drop that was reopened; null otherwise.",
    ),
    Column("dag_run_id", TEXT, nullable=False, comment="Airflow DAG run that processes the drop."),
    Column(
        "expires_at",
        TIMESTAMP,
        nullable=False,
        comment="End of the lease; another run may then take over.",
    ),
    Column("sha256", TEXT, comment="Digest of the content; null until read completely."),
    Column(
        "same_as",
        BIGINT,
        ForeignKey("bms.dropped_file.id"),
        comment="Earlier drop of the same content.",
    ),
    Column("archive", TEXT, comment="Path of the original, below the data root."),
    Column("report", TEXT, comment="Folder of the report, below the data root."),
    Column(
        "counts",
        JSONB(none_as_null=True),
        comment="Number of rows per outcome; null until the drop ended.",
    ),
    Column("entered_at", TIMESTAMP, nullable=False, comment="First discovery or claim."),
    Column("started_at", TIMESTAMP, comment="Start of the DAG run; null until then."),
    Column("finished_at", TIMESTAMP, comment="Latest end."),
    UniqueConstraint("resource", "path", "size", "stamp"),
    UniqueConstraint("resource", "dag_run_id"),
    CheckConstraint(
        "state in ({})".format(", ".join(f"'{state}'" for state in DROP_STATES)), name="state"
    ),
    CheckConstraint("state in ('waiting', 'open') or finished_at is not null", name="finished"),
    Index("ix_dropped_file_resource_sha256", "resource", "sha256"),
    comment="Dropped files; inserting a row claims the file.",
)
