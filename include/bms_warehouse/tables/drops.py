"""Table of dropped files with claim, counts and report."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Identity,
    Index,
    Table,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import JSONB

from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP, column, optional

DROP_STATES = ("waiting", "open", "applied", "not_applied", "refused", "repeated", "withdrawn")
"""`waiting`: not claimed, because the file may be incomplete; `open`: claimed; the other states are final."""

dropped_file = Table(
    "dropped_file",
    METADATA,
    column("id", BigInteger, "Number of the drop.", Identity(always=True), primary_key=True),
    column("resource", TEXT, "Resource of the inbox."),
    column("path", TEXT, "Name of the file in the inbox."),
    column("size", BIGINT, "Size in bytes."),
    column(
        "stamp",
        TEXT,
        "Modification time (nanoseconds), or ETag on an object store;"
        " with the number of the drop after the same file was dropped again.",
    ),
    column("state", TEXT, "waiting, open, or the outcome."),
    optional("waits_for", TEXT, "Reason why the file is not claimed yet; null once claimed."),
    optional("unchanged_since", TIMESTAMP, "Time since which a waiting file has not changed."),
    optional("reason", TEXT, "Code of the reason for withdrawal; null otherwise."),
    optional("ended_before", TEXT, "Previous outcome of a drop that was reopened; null otherwise."),
    column("dag_run_id", TEXT, "Airflow DAG run that processes the drop."),
    column("expires_at", TIMESTAMP, "End of the lease; another run may then take over."),
    optional("sha256", TEXT, "Digest of the content; null until read completely."),
    optional(
        "same_as", BIGINT, "Earlier drop of the same content.", ForeignKey("bms.dropped_file.id")
    ),
    optional("archive", TEXT, "Path of the original, below the data root."),
    optional("report", TEXT, "Folder of the report, below the data root."),
    optional(
        "counts", JSONB(none_as_null=True), "Number of rows per outcome; null until the drop ended."
    ),
    column("entered_at", TIMESTAMP, "First discovery or claim."),
    optional("started_at", TIMESTAMP, "Start of the DAG run; null until then."),
    optional("finished_at", TIMESTAMP, "Latest end."),
    UniqueConstraint("resource", "path", "size", "stamp"),
    UniqueConstraint("resource", "dag_run_id"),
    CheckConstraint(
        "state in ({})".format(", ".join(f"'{state}'" for state in DROP_STATES)), name="state"
    ),
    CheckConstraint("state in ('waiting', 'open') or finished_at is not null", name="finished"),
    Index("ix_dropped_file_resource_sha256", "resource", "sha256"),
    comment="Dropped files; inserting a row claims the file.",
)
