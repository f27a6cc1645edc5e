"""Drops."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "drop",
        sa.Column(
            "id",
            sa.BigInteger(),
            sa.Identity(always=True),
            nullable=False,
            comment="The drop's number.",
        ),
        sa.Column("resource", sa.Text(), nullable=False, comment="What the inbox creates."),
        sa.Column("path", sa.Text(), nullable=False, comment="The file's name inside the inbox."),
        sa.Column("size", sa.BigInteger(), nullable=False, comment="Its size, bytes."),
        sa.Column(
            "stamp",
            sa.Text(),
            nullable=False,
            comment="Its time of modification (nanoseconds), or its etag on an object store.",
        ),
        sa.Column("state", sa.Text(), nullable=False, comment="open, or how it ended."),
        sa.Column(
            "dag_run_id",
            sa.Text(),
            nullable=False,
            comment="Airflow's run that works on it, by its id.",
        ),
        sa.Column(
            "expires_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="When another run may take it over.",
        ),
        sa.Column(
            "sha256",
            sa.Text(),
            nullable=True,
            comment="Digest of its content; empty until it was read whole.",
        ),
        sa.Column(
            "same_as", sa.BigInteger(), nullable=True, comment="Earlier drop of the same content."
        ),
        sa.Column(
            "archive",
            sa.Text(),
            nullable=True,
            comment="Where the original is kept, below the data root.",
        ),
        sa.Column(
            "report", sa.Text(), nullable=True, comment="Folder of its report, below the data root."
        ),
        sa.Column(
            "certificate",
            sa.Text(),
            nullable=True,
            comment="SHA-256 of certificate.json; the next one names it.",
        ),
        sa.Column(
            "entered_at", sa.DateTime(timezone=True), nullable=False, comment="When it was taken."
        ),
        sa.Column(
            "started_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When its run was started; empty until then.",
        ),
        sa.Column(
            "finished_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When its report was complete.",
        ),
        sa.CheckConstraint(
            "(state = 'open') = (finished_at is null)", name=op.f("ck_drop_finished")
        ),
        sa.CheckConstraint(
            "state in ('open', 'applied', 'not_applied', 'repeated', 'withdrawn')",
            name=op.f("ck_drop_state"),
        ),
        sa.ForeignKeyConstraint(["same_as"], ["bms.drop.id"], name=op.f("fk_drop_same_as")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_drop")),
        sa.UniqueConstraint("resource", "dag_run_id", name=op.f("uq_drop_resource_dag_run_id")),
        sa.UniqueConstraint(
            "resource", "path", "size", "stamp", name=op.f("uq_drop_resource_path_size_stamp")
        ),
        schema="bms",
        comment="One row for each file dropped, however often it is seen; taking one is inserting it.",
    )
    op.create_index(
        "ix_drop_resource_sha256", "drop", ["resource", "sha256"], unique=False, schema="bms"
    )


def downgrade() -> None:
    op.drop_index("ix_drop_resource_sha256", table_name="drop", schema="bms")
    op.drop_table("drop", schema="bms")
