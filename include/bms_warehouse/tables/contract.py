"""The contract: what the service was seen to do where its interface says nothing, each finding dated."""

from sqlalchemy import CheckConstraint, Column, Table
from sqlalchemy.dialects.postgresql import JSONB

from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP

contract = Table(
    "contract",
    METADATA,
    Column("finding", TEXT, primary_key=True, comment="What was asked, as page_size_limit."),
    Column("since", TIMESTAMP, primary_key=True, comment="When the service was first seen so."),
    Column("state", TEXT, nullable=False, comment="known, or cannot_tell while nothing told it."),
    Column("value", JSONB, comment="What the service does; empty while nobody can tell."),
    Column("told", TEXT, nullable=False, comment="The same as a sentence, or why nobody can tell."),
    Column("setting", TEXT, comment="The setting that covers it, where there is one."),
    Column("advice", TEXT, comment="How the setting contradicts it and what to set; else empty."),
    Column("last_seen_at", TIMESTAMP, nullable=False, comment="When it was last seen so."),
    Column("run_id", BIGINT, nullable=False, comment="The step in bms.run that last saw it so."),
    CheckConstraint("state in ('known', 'cannot_tell')", name="state"),
    comment="What the interface doesn't show, as the probe found it; the latest row of each counts.",
)
