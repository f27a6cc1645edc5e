"""How drops end."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

STAMP = "Its time of modification (nanoseconds), or its etag on an object store"
COMMENTS = (
    (
        "drop",
        "stamp",
        f"{STAMP}.",
        f"{STAMP}; with the drop's number once the same file was dropped again.",
    ),
    ("drop", "finished_at", "When its report was complete.", "When it ended last."),
    (
        "creation_event",
        "detail",
        "A code or a remote id.",
        "A code, a remote id, or the run of a decision.",
    ),
)


def _constrain(finished: str) -> None:
    op.drop_constraint("ck_drop_finished", "drop", schema="bms")
    op.create_check_constraint(op.f("ck_drop_finished"), "drop", finished, schema="bms")


def _comment(table: str, column: str, before: str, after: str) -> None:
    op.alter_column(table, column, comment=after, existing_comment=before, schema="bms")


def upgrade() -> None:
    _constrain("state in ('waiting', 'open') or finished_at is not null")
    op.add_column(
        "drop",
        sa.Column(
            "reason",
            sa.Text(),
            nullable=True,
            comment="Code of why it was withdrawn; empty otherwise.",
        ),
        schema="bms",
    )
    op.add_column(
        "drop",
        sa.Column(
            "ended_before",
            sa.Text(),
            nullable=True,
            comment="How it had ended before it was taken again; else empty.",
        ),
        schema="bms",
    )
    for table, column, before, after in COMMENTS:
        _comment(table, column, before, after)


def downgrade() -> None:
    op.execute("update bms.drop set finished_at = null where state in ('waiting', 'open')")
    _constrain("(state in ('waiting', 'open')) = (finished_at is null)")
    for table, column, before, after in COMMENTS:
        _comment(table, column, after, before)
    op.drop_column("drop", "ended_before", schema="bms")
    op.drop_column("drop", "reason", schema="bms")
