"""Versions by when they were seen."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_client_invoice_version_observed_at",
        "client_invoice_version",
        ["_observed_at"],
        unique=False,
        schema="bms",
        postgresql_using="brin",
    )


def downgrade() -> None:
    op.drop_index(
        "ix_client_invoice_version_observed_at",
        table_name="client_invoice_version",
        schema="bms",
        postgresql_using="brin",
    )
