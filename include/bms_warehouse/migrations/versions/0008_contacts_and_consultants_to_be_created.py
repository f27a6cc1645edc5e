"""Contacts and consultants to be created."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "contact_agreement",
        sa.Column(
            "id_contact", sa.BigInteger(), nullable=False, comment="The service's identifier."
        ),
        sa.Column("field", sa.Text(), nullable=False, comment="The field, as drops name it."),
        sa.Column(
            "value",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=False,
            comment="What both sides had. Personal data.",
        ),
        sa.Column(
            "agreed_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="When they last had the same.",
        ),
        sa.PrimaryKeyConstraint("id_contact", "field", name=op.f("pk_contact_agreement")),
        schema="bms",
        comment="What drops and CRM last agreed on, field by field: the base of a difference.",
    )
    op.create_table(
        "contact_difference",
        sa.Column(
            "id_contact", sa.BigInteger(), nullable=False, comment="The service's identifier."
        ),
        sa.Column("field", sa.Text(), nullable=False, comment="The field, as drops name it."),
        sa.Column(
            "base",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="What both last had; empty where they never agreed.",
        ),
        sa.Column(
            "ours",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=False,
            comment="What was dropped last. Personal data.",
        ),
        sa.Column(
            "theirs",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="What the CRM has. Personal data.",
        ),
        sa.Column("drop_id", sa.BigInteger(), nullable=False, comment="Drop that told it."),
        sa.Column(
            "since",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="From when on it is as it is.",
        ),
        sa.Column(
            "gone_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When both had the same again; empty while it stands.",
        ),
        sa.ForeignKeyConstraint(
            ["drop_id"], ["bms.drop.id"], name=op.f("fk_contact_difference_drop_id")
        ),
        sa.PrimaryKeyConstraint("id_contact", "field", name=op.f("pk_contact_difference")),
        schema="bms",
        comment="In what dropped contacts and the CRM disagree; each told once until it changes.",
    )
    op.create_table(
        "creation_match",
        sa.Column("resource", sa.Text(), nullable=False, comment="What the record is."),
        sa.Column(
            "key", sa.Text(), nullable=False, comment="Digest of what a dropped row was found by."
        ),
        sa.Column(
            "remote_id", sa.Text(), nullable=False, comment="The service's id of its record."
        ),
        sa.Column("drop_id", sa.BigInteger(), nullable=False, comment="The drop then."),
        sa.Column("matched_at", sa.DateTime(timezone=True), nullable=False, comment="When."),
        sa.ForeignKeyConstraint(
            ["drop_id"], ["bms.drop.id"], name=op.f("fk_creation_match_drop_id")
        ),
        sa.PrimaryKeyConstraint("resource", "key", name=op.f("pk_creation_match")),
        schema="bms",
        comment="Records that dropped rows turned out to be: from then on the id is who it is.",
    )


def downgrade() -> None:
    op.drop_table("creation_match", schema="bms")
    op.drop_table("contact_difference", schema="bms")
    op.drop_table("contact_agreement", schema="bms")
