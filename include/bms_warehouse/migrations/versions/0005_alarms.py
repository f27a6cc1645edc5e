"""Alarms."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "alarm",
        sa.Column(
            "id",
            sa.BigInteger(),
            sa.Identity(always=True),
            nullable=False,
            comment="The alarm's number.",
        ),
        sa.Column(
            "subject",
            sa.Text(),
            nullable=False,
            comment="What is in trouble; a flow by its DAG's id.",
        ),
        sa.Column(
            "code",
            sa.Text(),
            nullable=False,
            comment="What is wrong, as docs/runbook.md names it.",
        ),
        sa.Column(
            "detail",
            sa.Text(),
            nullable=False,
            comment="What was seen: figures, days, no person.",
        ),
        sa.Column("flow", sa.Text(), nullable=True, comment="The DAG concerned, by its id."),
        sa.Column(
            "dag_run_id",
            sa.Text(),
            nullable=True,
            comment="Airflow's run that shows it, by its id.",
        ),
        sa.Column(
            "since",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="When the trouble began.",
        ),
        sa.Column(
            "raised_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="When it was noticed.",
        ),
        sa.Column(
            "told_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When its message was taken by a channel.",
        ),
        sa.Column(
            "recovered_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When it was over; empty while open.",
        ),
        sa.Column(
            "recovery_told_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When the message of that was taken.",
        ),
        sa.CheckConstraint(
            "recovery_told_at is null or (told_at is not null and recovered_at is not null)",
            name=op.f("ck_alarm_told"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alarm")),
        schema="bms",
        comment="One row for each time that something was in trouble; a subject has one open at most.",
    )
    op.create_index(
        "uq_alarm_subject_open",
        "alarm",
        ["subject"],
        unique=True,
        schema="bms",
        postgresql_where=sa.text("recovered_at is null"),
    )


def downgrade() -> None:
    op.drop_index(
        "uq_alarm_subject_open",
        table_name="alarm",
        schema="bms",
        postgresql_where=sa.text("recovered_at is null"),
    )
    op.drop_table("alarm", schema="bms")
