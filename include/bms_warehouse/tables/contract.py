"""Table of the service contract: observed behaviour that the interface does not specify."""

from sqlalchemy import CheckConstraint, Column, Table
from sqlalchemy.dialects.postgresql import JSONB

from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP

contract = Table(
    "contract",
    METADATA,
    Column(
        "finding", TEXT, primary_key=True, comment="Name of the question, such as page_size_limit."
    ),
    Column("since", TIMESTAMP, primary_key=True, comment="First observation."),
    Column("state", TEXT, nullable=False, comment="known or undetermined."),
    Column("value", JSONB, comment="Observed behaviour; null while undetermined."),
    Column(
        "summary", TEXT, nullable=False, comment="The same in a sentence, or the reason why not."
    ),
    Column("setting", TEXT, comment="Setting that depends on the behaviour."),
    Column("advice", TEXT, comment="Value to set if the setting contradicts the behaviour."),
    Column("last_seen_at", TIMESTAMP, nullable=False, comment="Latest observation."),
    Column(
        "step_run_id",
        BIGINT,
        nullable=False,
        comment="Step run of the latest observation.",
    ),
    CheckConstraint("state in ('known', 'undetermined')", name="state"),
    comment="Observed behaviour that the interface does not specify; the latest row of each finding is current.",
)
