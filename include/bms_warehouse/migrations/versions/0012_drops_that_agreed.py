"""Drops that agreed."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "contact_agreement",
        sa.Column(
            "drop_id",
            sa.BigInteger(),
            nullable=True,
            comment="Drop that had it; empty where that was not kept yet.",
        ),
        schema="bms",
    )
    op.create_foreign_key(
        op.f("fk_contact_agreement_drop_id"),
        "contact_agreement",
        "drop",
        ["drop_id"],
        ["id"],
        source_schema="bms",
        referent_schema="bms",
    )


def downgrade() -> None:
    op.drop_constraint(
        op.f("fk_contact_agreement_drop_id"), "contact_agreement", schema="bms", type_="foreignkey"
    )
    op.drop_column("contact_agreement", "drop_id", schema="bms")
