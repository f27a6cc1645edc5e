"""Days of invoices without a date, so that a load can find that they are missing."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

SQL = """
-- The day of its creation, if the load that wrote it read this day; loads mark it as missing when they read the day again.
update bms.client_invoice i
set _day = least(greatest(cast(i.created_on at time zone bms.company_zone() as date), r.window_start), r.window_end)
from bms.step_run r where r.id = i._step_run_id and i._day is null;

comment on column bms.client_invoice._day is 'Day under which the service lists the invoice: its BMS_INVOICE_RANGE_DATE, '
    'or the first day of the request that returned it without this date.';
comment on column bms.client_invoice_superseded._day is 'Day under which the service lists the invoice: its BMS_INVOICE_RANGE_DATE, '
    'or the first day of the request that returned it without this date.';
comment on column bms.client_invoice_version._day is 'Day under which the service lists the invoice: its BMS_INVOICE_RANGE_DATE, '
    'or the first day of the request that returned it without this date.';
"""


def upgrade() -> None:
    # The driver itself executes many statements at once.
    op.get_bind().exec_driver_sql(SQL)


def downgrade() -> None:
    """Earlier versions read these days, too."""
