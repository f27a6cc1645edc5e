"""Counts of drops in the place of certificates."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "drop",
        sa.Column(
            "counts",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="Rows by how they ended; empty until the drop ended.",
        ),
        schema="bms",
    )
    op.drop_column("drop", "certificate", schema="bms")


def downgrade() -> None:
    op.add_column(
        "drop",
        sa.Column(
            "certificate",
            sa.TEXT(),
            autoincrement=False,
            nullable=True,
            comment="SHA-256 of certificate.json; the next one names it.",
        ),
        schema="bms",
    )
    op.drop_column("drop", "counts", schema="bms")
