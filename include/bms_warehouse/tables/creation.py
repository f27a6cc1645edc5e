"""Onboarding tables: plans, the ledger of records to create, and its history.

Only `creation_body` contains personal data: the request bodies. Retention deletes each body after
its row has ended. All other tables identify records by digests.
"""

from sqlalchemy import CheckConstraint, Index, Table, UniqueConstraint, text

from bms_warehouse.tables.schema import METADATA, columns, one_of

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

creation_plan = Table(
    "creation_plan",
    METADATA,
    *columns("""
        drop_id bigint key -> dropped_file -- Drop of the plan.
        id text key -- Hash of the plan, which the approver approves.
        resource text -- Resource of the records to create.
        state text -- made, approved, refused or applied.
        bound json -- Digests of the inputs of the plan.
        counts json -- Number of rows per outcome.
        breaches json -- Limits that the plan exceeds; figures only.
        creates json -- Digests of the request bodies, by key.
        rows json -- Outcome of each line: codes, fields and ids, no values.
        made_at time -- Time of planning.
        decided_by text? -- User who approved or refused the plan, or the setting that approved it.
        decided_at time? -- Time of the decision.
        applied_at time? -- Time at which the rows entered the ledger.
        asked_at time? -- Time of the latest request for approval.
        asked_because json? -- Why approval was requested: codes and figures.
        notified_at time? -- Time of the latest message about that request.
        file_digest text? -- SHA-256 of the plan's file, which the approver reads.
        excluded json = [] -- Ids and names of users who may not approve the plan, because they
            submitted the drop or triggered its run.
    """),
    one_of(PLAN_STATES),
    comment="Plans of drops with their approval; the content of a plan never changes.",
)

creation_snapshot = Table(
    "creation_snapshot",
    METADATA,
    *columns("""
        id identity -- Number of the snapshot.
        resource text -- Resource of the lists.
        drop_id bigint -> dropped_file -- Drop at that time.
        taken_at time -- Start of the read.
        content bytes -- Ids and digests of the listed records, compressed; no personal data.
    """),
    Index("ix_creation_snapshot_drop_id", "drop_id"),
    comment="Lists of the service before rows entered the ledger; deleted when those rows have ended.",
)

creation = Table(
    "creation",
    METADATA,
    *columns("""
        id identity -- Number of the row.
        resource text -- Resource of the record to create.
        key text -- Digest of the natural key.
        digest text -- Digest of the dropped data.
        drop_id bigint -> dropped_file -- Latest drop of the row.
        line integer -- Line in that drop.
        state text -- State of the row.
        attempt integer -- Number of POSTs recorded before sending.
        max_attempts integer -- Number of the last attempt allowed.
        first_intended_at time? -- Time recorded before the first POST.
        intended_at time? -- Time recorded and committed before the latest POST.
        in_flight_until time? -- When the last POST can no longer be in progress.
        boot_id text? -- Boot of the machine that sent or settles the last POST.
        in_flight_until_s double? -- When the last POST can no longer be in progress, in seconds
            since that boot.
        empty_lookups integer -- Consecutive lookups without a record, or checks without a
            conclusion.
        snapshot_id bigint? -> creation_snapshot set null -- Snapshot of the service from before the
            row entered the ledger.
        checked_at time? -- Latest time at which the lease holder found no record of the row in the
            service.
        returned_id text? -- Id that the last POST returned.
        remote_id text? -- Id of the record in the service: GUID or number.
        remote_number bigint? -- Number of the record, if the service has a number in addition to
            the id.
        is_standby boolean? -- Whether the latest read showed the record on standby.
        reason text? -- Code of the reason for state unknown, rejected or review.
        evidence json -- Codes of the evidence for the outcome.
        candidates json -- Remote ids from which the reviewer chooses.
        dismissed json = [] -- Remote ids that the reviewer excluded.
        alike json = [] -- Keys of rows alike that the review compares; a release decides that they
            are different.
        manager_key text? -- Key of the manager's row, which must exist first.
        verified json? -- Fields read back: equal, different, unreadable.
        owner text? -- Task that holds the lease.
        leased_until time? -- End of the lease; another task may then take over.
        entered_at time -- Time of entry.
        changed_at time -- Time of the latest transition.
    """),
    UniqueConstraint("resource", "key"),
    one_of(CREATION_STATES),
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
    *columns("""
        creation_id bigint key -> creation cascade -- Row of the ledger.
        body text -- Request body, as JSON. Personal data.
    """),
    comment="Request bodies for retries and comparisons; deleted 30 days after the row has ended.",
)

creation_event = Table(
    "creation_event",
    METADATA,
    *columns("""
        id identity -- Sequence number.
        creation_id bigint -> creation cascade -- Row of the ledger.
        at time -- Time by the database's clock.
        what text -- Code of the event.
        attempt integer -- Attempt of the event.
        who text? -- User who decided; null for the flow.
        detail text? -- A code, a remote id, or the DAG run of a decision.
    """),
    Index("ix_creation_event_creation_id", "creation_id"),
    comment="History of the ledger: every transition and decision.",
)

creation_match = Table(
    "creation_match",
    METADATA,
    *columns("""
        resource text key -- Resource of the record.
        key text key -- Digest of the fields by which the dropped row was matched.
        remote_id text -- Id of the record in the service.
        drop_id bigint -> dropped_file -- Drop at that time.
        matched_at time -- Time of the match.
    """),
    comment="Records matched to dropped rows; later drops use the id.",
)
