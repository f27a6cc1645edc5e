"""Drops that wait."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

ENDINGS = "'applied', 'not_applied', 'repeated', 'withdrawn'"


def _constrain(states: str) -> None:
    """Let a drop that has not ended be in one of `states`."""
    op.drop_constraint("ck_drop_state", "drop", schema="bms")
    op.drop_constraint("ck_drop_finished", "drop", schema="bms")
    op.create_check_constraint(
        op.f("ck_drop_state"), "drop", f"state in ({states}, {ENDINGS})", schema="bms"
    )
    op.create_check_constraint(
        op.f("ck_drop_finished"),
        "drop",
        f"(state in ({states})) = (finished_at is null)",
        schema="bms",
    )


def upgrade() -> None:
    _constrain("'waiting', 'open'")
    op.add_column(
        "drop",
        sa.Column(
            "waits_for",
            sa.Text(),
            nullable=True,
            comment="Why it is not taken yet; empty once it is.",
        ),
        schema="bms",
    )
    op.alter_column(
        "drop",
        "state",
        existing_type=sa.TEXT(),
        comment="waiting, open, or how it ended.",
        existing_comment="open, or how it ended.",
        existing_nullable=False,
        schema="bms",
    )
    op.alter_column(
        "drop",
        "entered_at",
        existing_type=postgresql.TIMESTAMP(timezone=True),
        comment="When it was first seen, or taken.",
        existing_comment="When it was taken.",
        existing_nullable=False,
        schema="bms",
    )


def downgrade() -> None:
    op.execute("delete from bms.drop where state = 'waiting'")
    _constrain("'open'")
    op.alter_column(
        "drop",
        "entered_at",
        existing_type=postgresql.TIMESTAMP(timezone=True),
        comment="When it was taken.",
        existing_comment="When it was first seen, or taken.",
        existing_nullable=False,
        schema="bms",
    )
    op.alter_column(
        "drop",
        "state",
        existing_type=sa.TEXT(),
        comment="open, or how it ended.",
        existing_comment="waiting, open, or how it ended.",
        existing_nullable=False,
        schema="bms",
    )
    op.drop_column("drop", "waits_for", schema="bms")
