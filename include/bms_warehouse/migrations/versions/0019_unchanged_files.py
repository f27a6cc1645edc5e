"""Since when a waiting file is unchanged."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "drop",
        sa.Column(
            "unchanged_since",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="From when on a waiting file was seen unchanged.",
        ),
        schema="bms",
    )
    op.execute("update bms.drop set unchanged_since = entered_at where state = 'waiting'")


def downgrade() -> None:
    op.drop_column("drop", "unchanged_since", schema="bms")
