"""Tables of dropped files, and of differences between dropped contacts and the CRM."""

from sqlalchemy import CheckConstraint, Index, Table, UniqueConstraint

from bms_warehouse.tables.schema import METADATA, columns, one_of

DROP_STATES = ("waiting", "open", "applied", "not_applied", "refused", "repeated", "withdrawn")
"""`waiting`: not claimed, because the file may be incomplete; `open`: claimed; the other states are final."""

dropped_file = Table(
    "dropped_file",
    METADATA,
    *columns("""
        id identity -- Number of the drop.
        resource text -- Resource of the inbox.
        path text -- Name of the file in the inbox.
        size bigint -- Size in bytes.
        stamp text -- Modification time (nanoseconds), or ETag on an object store; with the number
            of the drop after the same file was dropped again.
        state text -- waiting, open, or the outcome.
        waits_for text? -- Reason why the file is not claimed yet; null once claimed.
        unchanged_since time? -- Time since which a waiting file has not changed.
        reason text? -- Code of the reason for withdrawal; null otherwise.
        ended_before text? -- Previous outcome of a drop that was reopened; null otherwise.
        dag_run_id text -- Airflow DAG run that processes the drop.
        expires_at time -- End of the lease; another run may then take over.
        sha256 text? -- Digest of the content; null until read completely.
        same_as bigint? -> dropped_file -- Earlier drop of the same content.
        archive text? -- Path of the original, below the data root.
        report text? -- Folder of the report, below the data root.
        counts json_or_null? -- Number of rows per outcome; null until the drop ended.
        entered_at time -- First discovery or claim.
        started_at time? -- Start of the DAG run; null until then.
        finished_at time? -- Latest end.
        submitted_by text? -- Id of the Airflow user who submitted the file on the board; null for a
            file that was put into the folder.
        undo_at time? -- Time at which a user opened the undo sheet: the drop was a mistake, and the
            records that it created are being removed by hand.
        undo_by text? -- Id of that user.
    """),
    UniqueConstraint("resource", "path", "size", "stamp"),
    UniqueConstraint("resource", "dag_run_id"),
    one_of(DROP_STATES),
    CheckConstraint("state in ('waiting', 'open') or finished_at is not null", name="finished"),
    Index("ix_dropped_file_resource_sha256", "resource", "sha256"),
    comment="Dropped files; inserting a row claims the file.",
)

contact_agreement = Table(
    "contact_agreement",
    METADATA,
    *columns("""
        id_contact bigint key -- Identifier of the contact in the service.
        field text key -- Field, named as in the dropped file.
        value json -- Value on both sides. Personal data.
        agreed_at time -- Latest time at which both sides were equal.
        drop_id bigint? -> dropped_file -- Drop with that value; null if unknown.
    """),
    comment="Latest value per field that drop and CRM had in common: the base of a difference.",
)

contact_difference = Table(
    "contact_difference",
    METADATA,
    *columns("""
        id_contact bigint key -- Identifier of the contact in the service.
        field text key -- Field, named as in the dropped file.
        base json? -- Latest common value; null if there is none.
        ours json -- Latest dropped value. Personal data.
        theirs json? -- Value in the CRM. Personal data.
        drop_id bigint -> dropped_file -- Drop that showed the difference.
        since time -- Start of the difference in its current form.
        resolved_at time? -- End of the difference; null while it exists.
    """),
    comment="Differences between dropped contacts and the CRM; each is reported once until it changes.",
)
