"""Table of the service contract: observed behaviour that the interface does not specify."""

from sqlalchemy import CheckConstraint, Table
from sqlalchemy.dialects.postgresql import JSONB

from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP, column, optional

contract = Table(
    "contract",
    METADATA,
    column("finding", TEXT, "Name of the question, such as page_size_limit.", primary_key=True),
    column("since", TIMESTAMP, "First observation.", primary_key=True),
    column("state", TEXT, "known or undetermined."),
    optional("value", JSONB, "Observed behaviour; null while undetermined."),
    column("summary", TEXT, "The same in a sentence, or the reason why not."),
    optional("setting", TEXT, "Setting that depends on the behaviour."),
    optional("advice", TEXT, "Value to set if the setting contradicts the behaviour."),
    column("last_seen_at", TIMESTAMP, "Latest observation."),
    column("step_run_id", BIGINT, "Step run of the latest observation."),
    CheckConstraint("state in ('known', 'undetermined')", name="state"),
    comment="Observed behaviour that the interface does not specify; the latest row of each finding is current.",
)
