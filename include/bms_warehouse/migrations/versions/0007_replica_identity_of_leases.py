"""Replica identity of leases, so that a publication for all tables stops no load."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The only table without a primary key: PostgreSQL would refuse to delete published rows.
    op.execute("alter table bms.client_invoice_lease replica identity full")


def downgrade() -> None:
    op.execute("alter table bms.client_invoice_lease replica identity default")
