"""Invoices, runs and quarantine."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


CURRENT = """
create view bms.client_invoice_current as
select i.id_entity, i.id_invoice, i.reference_number, i.invoice_date, i.due_date,
    i.invoice_type, type_en.name as invoice_type_name_en, type_fr.name as invoice_type_name_fr,
    i.id_client, i.client_name, i.po_number, i.vat_number, i.invoice_subject,
    i.total_excl_vat, i.total_vat, i.total_incl_vat, i.total_due, i.currency,
    i.payment_mode, mode_en.name as payment_mode_name_en, mode_fr.name as payment_mode_name_fr,
    i.status, status_en.name as status_name_en, status_fr.name as status_name_fr,
    i.id_account_manager, i.created_on, i.created_by, i.canceled, i.canceled_on, i.canceled_by,
    i.id_credit, i.sent, i.sent_on, i.sent_by,
    i._version, i._first_seen_at, i._changed_at, day.read_at as _last_seen_at
from bms.client_invoice i
left join bms.client_invoice_day day on day.id_entity = i.id_entity and day.day = i._day
"""
NAMED = (("type", "invoice_type"), ("mode", "payment_mode"), ("status", "status"))
EXPLAIN = """
do $$
declare
    own record;
begin
    for own in
        select v.attname as name, col_description('bms.client_invoice'::regclass, t.attnum) as said
        from pg_attribute v
        left join pg_attribute t
            on t.attrelid = 'bms.client_invoice'::regclass and t.attname = v.attname
        where v.attrelid = 'bms.client_invoice_current'::regclass and v.attnum > 0
    loop
        execute format(
            'comment on column bms.client_invoice_current.%I is %L', own.name,
            coalesce(own.said, 'See bms.code_name and bms.client_invoice_day.')
        );
    end loop;
end $$
"""
AS_OF = """
create function bms.client_invoice_as_of(day date, zone text default 'Europe/Paris')
returns setof bms.client_invoice_version language sql stable as $$
    select (latest).* from (
        select distinct on (id_entity, id_invoice) v as latest
        from bms.client_invoice_version v
        where _observed_at < (day + 1)::timestamp at time zone zone
        order by id_entity, id_invoice, _version desc
    ) known
    where (latest)._vanished_at is null
$$
"""
ANALYST = """
do $$
begin
    if not exists (select from pg_roles where rolname = 'bms_analyst') then
        create role bms_analyst nologin;
    end if;
    grant usage on schema bms to bms_analyst;
    grant select on bms.client_invoice, bms.client_invoice_current, bms.client_invoice_version,
        bms.client_invoice_day, bms.code_name, bms.run, bms.control_total to bms_analyst;
exception when insufficient_privilege then
    raise notice 'bms_analyst: not allowed to make a role here; grant select by hand';
end $$
"""


def _make_views() -> None:
    joins = "".join(
        f" left join bms.code_name {alias}_{language} on {alias}_{language}.resource ="
        f" 'client_invoice' and {alias}_{language}.field = '{field}' and"
        f" {alias}_{language}.code = i.{field} and {alias}_{language}.language ="
        f" '{language.upper()}'"
        for alias, field in NAMED
        for language in ("en", "fr")
    )
    op.execute(f"{CURRENT}{joins} where i._vanished_at is null")
    op.execute(
        "comment on view bms.client_invoice_current is"
        " 'Every invoice that the service still returns, with names in both languages.'"
    )
    op.execute(EXPLAIN)
    op.execute(AS_OF)
    op.execute(
        "comment on function bms.client_invoice_as_of is"
        " 'Every invoice as it was known at the end of a day.'"
    )
    op.execute(ANALYST)


def upgrade() -> None:
    op.execute("comment on schema bms is 'What the Business Management Service holds, kept right.'")
    op.execute("comment on table bms.schema_version is 'The migration this schema stands at.'")
    op.execute("comment on column bms.schema_version.version_num is 'Its number.'")
    op.create_table(
        "client_invoice",
        sa.Column(
            "id_entity",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="Entity the invoice was listed for (query parameter).",
        ),
        sa.Column(
            "id_invoice",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="The service's identifier of the invoice.",
        ),
        sa.Column(
            "reference_number",
            sa.Text(),
            autoincrement=False,
            nullable=True,
            comment="Number printed on the invoice.",
        ),
        sa.Column(
            "invoice_date",
            sa.Date(),
            autoincrement=False,
            nullable=True,
            comment="Date of the invoice.",
        ),
        sa.Column(
            "due_date",
            sa.Date(),
            autoincrement=False,
            nullable=True,
            comment="Date by which it is to be paid.",
        ),
        sa.Column(
            "invoice_type",
            sa.Text(),
            autoincrement=False,
            nullable=True,
            comment="Code of the kind of invoice; values not shown.",
        ),
        sa.Column(
            "invoice_type_name",
            sa.Text(),
            autoincrement=False,
            nullable=True,
            comment="Name of the code, see bms.code_name for each language.",
        ),
        sa.Column(
            "id_client",
            sa.BigInteger(),
            autoincrement=False,
            nullable=True,
            comment="The client billed.",
        ),
        sa.Column(
            "client_name",
            sa.Text(),
            autoincrement=False,
            nullable=True,
            comment="The client's name as the service gives it.",
        ),
        sa.Column(
            "po_number",
            sa.Text(),
            autoincrement=False,
            nullable=True,
            comment="The client's purchase order.",
        ),
        sa.Column(
            "vat_number",
            sa.Text(),
            autoincrement=False,
            nullable=True,
            comment="The client's VAT number.",
        ),
        sa.Column(
            "invoice_subject",
            sa.Text(),
            autoincrement=False,
            nullable=True,
            comment="What is billed.",
        ),
        sa.Column(
            "total_excl_vat",
            sa.Numeric(),
            autoincrement=False,
            nullable=True,
            comment="Amount without VAT, in currency.",
        ),
        sa.Column(
            "total_vat",
            sa.Numeric(),
            autoincrement=False,
            nullable=True,
            comment="VAT, in currency.",
        ),
        sa.Column(
            "total_incl_vat",
            sa.Numeric(),
            autoincrement=False,
            nullable=True,
            comment="Amount with VAT, in currency.",
        ),
        sa.Column(
            "total_due",
            sa.Numeric(),
            autoincrement=False,
            nullable=True,
            comment="Amount still to be paid, in currency.",
        ),
        sa.Column(
            "currency",
            sa.Text(),
            autoincrement=False,
            nullable=True,
            comment="Currency of the four amounts.",
        ),
        sa.Column(
            "payment_mode",
            sa.Text(),
            autoincrement=False,
            nullable=True,
            comment="Code of the way of payment; values not shown.",
        ),
        sa.Column(
            "payment_mode_name",
            sa.Text(),
            autoincrement=False,
            nullable=True,
            comment="Name of the code, see bms.code_name for each language.",
        ),
        sa.Column(
            "status",
            sa.Text(),
            autoincrement=False,
            nullable=True,
            comment="Code of the state; values not shown.",
        ),
        sa.Column(
            "status_name",
            sa.Text(),
            autoincrement=False,
            nullable=True,
            comment="Name of the code, see bms.code_name for each language.",
        ),
        sa.Column(
            "id_account_manager",
            sa.BigInteger(),
            autoincrement=False,
            nullable=True,
            comment="Who looks after the client.",
        ),
        sa.Column(
            "created_on",
            sa.DateTime(timezone=True),
            autoincrement=False,
            nullable=True,
            comment="When the invoice was entered.",
        ),
        sa.Column(
            "created_by",
            sa.BigInteger(),
            autoincrement=False,
            nullable=True,
            comment="Who entered it.",
        ),
        sa.Column(
            "canceled",
            sa.Boolean(),
            autoincrement=False,
            nullable=True,
            comment="Whether it was canceled.",
        ),
        sa.Column(
            "canceled_on",
            sa.DateTime(timezone=True),
            autoincrement=False,
            nullable=True,
            comment="When it was canceled.",
        ),
        sa.Column(
            "canceled_by",
            sa.BigInteger(),
            autoincrement=False,
            nullable=True,
            comment="Who canceled it.",
        ),
        sa.Column(
            "id_credit",
            sa.BigInteger(),
            autoincrement=False,
            nullable=True,
            comment="The credit note that undoes it.",
        ),
        sa.Column(
            "sent",
            sa.Boolean(),
            autoincrement=False,
            nullable=True,
            comment="Whether it was sent to the client.",
        ),
        sa.Column(
            "sent_on",
            sa.DateTime(timezone=True),
            autoincrement=False,
            nullable=True,
            comment="When it was sent.",
        ),
        sa.Column(
            "sent_by", sa.BigInteger(), autoincrement=False, nullable=True, comment="Who sent it."
        ),
        sa.Column(
            "_extra",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="Fields the service sent beyond its interface.",
        ),
        sa.Column(
            "_row_hash",
            sa.LargeBinary(),
            nullable=False,
            comment="Digest of the fields' values; names kept per language stand outside of it.",
        ),
        sa.Column(
            "_version",
            sa.Integer(),
            nullable=False,
            comment="How often the row was seen anew: 1 at first sight, one more at each change.",
        ),
        sa.Column(
            "_first_seen_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="When a read first returned the row.",
        ),
        sa.Column(
            "_changed_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="When a read first returned the row as it stands now.",
        ),
        sa.Column(
            "_run_id",
            sa.BigInteger(),
            nullable=False,
            comment="The step in bms.run that wrote the row as it stands now.",
        ),
        sa.Column(
            "_day",
            sa.Date(),
            nullable=True,
            comment="The day the service lists it under: BMS_INVOICE_RANGE_DATE of the invoice.",
        ),
        sa.Column(
            "_vanished_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When a read of the invoice's day first lacked it; the row is never deleted.",
        ),
        sa.PrimaryKeyConstraint("id_entity", "id_invoice", name=op.f("pk_client_invoice")),
        schema="bms",
        comment="Every client invoice ever seen, in its latest state.",
    )
    op.create_index(
        "ix_client_invoice_id_entity_day",
        "client_invoice",
        ["id_entity", "_day"],
        unique=False,
        schema="bms",
    )
    op.create_table(
        "client_invoice_day",
        sa.Column(
            "id_entity", sa.BigInteger(), autoincrement=False, nullable=False, comment="The entity."
        ),
        sa.Column("day", sa.Date(), nullable=False, comment="A day of invoices."),
        sa.Column(
            "invoices", sa.Integer(), nullable=False, comment="Invoices the last read returned."
        ),
        sa.Column(
            "open_invoices",
            sa.Integer(),
            nullable=False,
            comment="Of these, not canceled and either unpaid or not sent.",
        ),
        sa.Column(
            "read_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="Last complete read of the day.",
        ),
        sa.Column(
            "changed_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="Last read that changed something; empty until then.",
        ),
        sa.PrimaryKeyConstraint("id_entity", "day", name=op.f("pk_client_invoice_day")),
        schema="bms",
        comment="The watermark of the extraction: which days were read completely, and when.",
    )
    op.create_table(
        "client_invoice_lease",
        sa.Column(
            "id_entity", sa.BigInteger(), nullable=False, comment="The entity being worked on."
        ),
        sa.Column(
            "days", postgresql.DATERANGE(), nullable=False, comment="The days being worked on."
        ),
        sa.Column(
            "run_id",
            sa.BigInteger(),
            nullable=False,
            comment="The step in bms.run that holds them.",
        ),
        sa.Column(
            "task",
            sa.Text(),
            nullable=False,
            comment="The task of that step; its next try takes over.",
        ),
        sa.Column(
            "expires_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="When anybody may take them over.",
        ),
        postgresql.ExcludeConstraint(
            (sa.text("int8range(id_entity, id_entity, '[]')"), "&&"),
            (sa.column("days"), "&&"),
            using="gist",
            name="ex_client_invoice_lease_days",
        ),
        schema="bms",
        comment="Days of an entity that a run is working on; no two hold the same day.",
    )
    op.create_table(
        "client_invoice_version",
        sa.Column(
            "id_entity",
            sa.BigInteger(),
            nullable=False,
            comment="Entity the invoice was listed for (query parameter).",
        ),
        sa.Column(
            "id_invoice",
            sa.BigInteger(),
            nullable=False,
            comment="The service's identifier of the invoice.",
        ),
        sa.Column(
            "reference_number", sa.Text(), nullable=True, comment="Number printed on the invoice."
        ),
        sa.Column("invoice_date", sa.Date(), nullable=True, comment="Date of the invoice."),
        sa.Column("due_date", sa.Date(), nullable=True, comment="Date by which it is to be paid."),
        sa.Column(
            "invoice_type",
            sa.Text(),
            nullable=True,
            comment="Code of the kind of invoice; values not shown.",
        ),
        sa.Column(
            "invoice_type_name",
            sa.Text(),
            nullable=True,
            comment="Name of the code, see bms.code_name for each language.",
        ),
        sa.Column("id_client", sa.BigInteger(), nullable=True, comment="The client billed."),
        sa.Column(
            "client_name",
            sa.Text(),
            nullable=True,
            comment="The client's name as the service gives it.",
        ),
        sa.Column("po_number", sa.Text(), nullable=True, comment="The client's purchase order."),
        sa.Column("vat_number", sa.Text(), nullable=True, comment="The client's VAT number."),
        sa.Column("invoice_subject", sa.Text(), nullable=True, comment="What is billed."),
        sa.Column(
            "total_excl_vat",
            sa.Numeric(),
            nullable=True,
            comment="Amount without VAT, in currency.",
        ),
        sa.Column("total_vat", sa.Numeric(), nullable=True, comment="VAT, in currency."),
        sa.Column(
            "total_incl_vat", sa.Numeric(), nullable=True, comment="Amount with VAT, in currency."
        ),
        sa.Column(
            "total_due",
            sa.Numeric(),
            nullable=True,
            comment="Amount still to be paid, in currency.",
        ),
        sa.Column("currency", sa.Text(), nullable=True, comment="Currency of the four amounts."),
        sa.Column(
            "payment_mode",
            sa.Text(),
            nullable=True,
            comment="Code of the way of payment; values not shown.",
        ),
        sa.Column(
            "payment_mode_name",
            sa.Text(),
            nullable=True,
            comment="Name of the code, see bms.code_name for each language.",
        ),
        sa.Column(
            "status", sa.Text(), nullable=True, comment="Code of the state; values not shown."
        ),
        sa.Column(
            "status_name",
            sa.Text(),
            nullable=True,
            comment="Name of the code, see bms.code_name for each language.",
        ),
        sa.Column(
            "id_account_manager",
            sa.BigInteger(),
            nullable=True,
            comment="Who looks after the client.",
        ),
        sa.Column(
            "created_on",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When the invoice was entered.",
        ),
        sa.Column("created_by", sa.BigInteger(), nullable=True, comment="Who entered it."),
        sa.Column("canceled", sa.Boolean(), nullable=True, comment="Whether it was canceled."),
        sa.Column(
            "canceled_on",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When it was canceled.",
        ),
        sa.Column("canceled_by", sa.BigInteger(), nullable=True, comment="Who canceled it."),
        sa.Column(
            "id_credit", sa.BigInteger(), nullable=True, comment="The credit note that undoes it."
        ),
        sa.Column(
            "sent", sa.Boolean(), nullable=True, comment="Whether it was sent to the client."
        ),
        sa.Column(
            "sent_on", sa.DateTime(timezone=True), nullable=True, comment="When it was sent."
        ),
        sa.Column("sent_by", sa.BigInteger(), nullable=True, comment="Who sent it."),
        sa.Column(
            "_extra",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="Fields the service sent beyond its interface.",
        ),
        sa.Column(
            "_row_hash",
            sa.LargeBinary(),
            nullable=False,
            comment="Digest of the fields' values; names kept per language stand outside of it.",
        ),
        sa.Column(
            "_version",
            sa.Integer(),
            nullable=False,
            comment="How often the row was seen anew: 1 at first sight, one more at each change.",
        ),
        sa.Column(
            "_first_seen_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="When a read first returned the row.",
        ),
        sa.Column(
            "_changed_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="When a read first returned the row as it stands now.",
        ),
        sa.Column(
            "_run_id",
            sa.BigInteger(),
            nullable=False,
            comment="The step in bms.run that wrote the row as it stands now.",
        ),
        sa.Column(
            "_day",
            sa.Date(),
            nullable=True,
            comment="The day the service lists it under: BMS_INVOICE_RANGE_DATE of the invoice.",
        ),
        sa.Column(
            "_vanished_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When a read of the invoice's day first lacked it; the row is never deleted.",
        ),
        sa.Column(
            "_observed_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="When this version was first seen.",
        ),
        sa.PrimaryKeyConstraint(
            "id_entity", "id_invoice", "_version", name=op.f("pk_client_invoice_version")
        ),
        schema="bms",
        comment="Every state in which a client invoice was seen, the first as _version 1.",
    )
    op.create_table(
        "code_name",
        sa.Column("resource", sa.Text(), nullable=False, comment="Table that holds the code."),
        sa.Column("field", sa.Text(), nullable=False, comment="Column that holds the code."),
        sa.Column("code", sa.Text(), nullable=False, comment="The code."),
        sa.Column(
            "language", sa.Text(), nullable=False, comment="The language asked for, EN or FR."
        ),
        sa.Column("name", sa.Text(), nullable=False, comment="What the service calls the code."),
        sa.Column(
            "seen_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="When it last got this name.",
        ),
        sa.PrimaryKeyConstraint("resource", "field", "code", "language", name=op.f("pk_code_name")),
        schema="bms",
        comment="Names of codes per language, kept apart so that a language changes no row.",
    )
    op.create_table(
        "quarantine",
        sa.Column("resource", sa.Text(), nullable=False, comment="Table the row was meant for."),
        sa.Column(
            "id_entity",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="The entity; 0 where the resource has none.",
        ),
        sa.Column(
            "row_key",
            sa.Text(),
            nullable=False,
            comment="The row's identifier, or a digest of the row where that is unreadable.",
        ),
        sa.Column(
            "code", sa.Text(), nullable=False, comment="What is wrong, as docs/runbook.md names it."
        ),
        sa.Column("field", sa.Text(), nullable=True, comment="The field that is wrong."),
        sa.Column("raw", sa.Text(), nullable=False, comment="The row as it came."),
        sa.Column(
            "day", sa.Date(), nullable=True, comment="First day of the window that returned it."
        ),
        sa.Column("run_id", sa.BigInteger(), nullable=False, comment="The step that last saw it."),
        sa.Column(
            "first_seen_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="When it was set aside.",
        ),
        sa.Column(
            "last_seen_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="When it last came back bad.",
        ),
        sa.PrimaryKeyConstraint("resource", "id_entity", "row_key", name=op.f("pk_quarantine")),
        schema="bms",
        comment="Rows that could not be loaded; they leave when a later read is good.",
    )
    op.create_table(
        "run",
        sa.Column(
            "id",
            sa.BigInteger(),
            sa.Identity(always=True),
            nullable=False,
            comment="The step's number.",
        ),
        sa.Column("flow", sa.Text(), nullable=False, comment="The DAG, by its id."),
        sa.Column("dag_run_id", sa.Text(), nullable=False, comment="Airflow's run, by its id."),
        sa.Column("step", sa.Text(), nullable=False, comment="What was done, by the task's name."),
        sa.Column(
            "id_entity",
            sa.BigInteger(),
            nullable=True,
            comment="The entity worked on, where there is one.",
        ),
        sa.Column("window_start", sa.Date(), nullable=True, comment="First day read."),
        sa.Column("window_end", sa.Date(), nullable=True, comment="Last day read, inclusive."),
        sa.Column("state", sa.Text(), nullable=False, comment="running, or how it ended."),
        sa.Column(
            "reason",
            sa.Text(),
            nullable=True,
            comment="Why it isn't complete, and what a person can do.",
        ),
        sa.Column(
            "rows_read",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="Rows the service returned.",
        ),
        sa.Column(
            "inserted",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="Rows seen for the first time.",
        ),
        sa.Column(
            "changed",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="Rows that differed from what stood here.",
        ),
        sa.Column(
            "unchanged",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="Rows that stood here as they are.",
        ),
        sa.Column(
            "quarantined",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="Rows set aside in bms.quarantine.",
        ),
        sa.Column(
            "vanished",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="Rows that stood here and no longer came back.",
        ),
        sa.Column(
            "requests",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="Requests sent, repeats and tokens included.",
        ),
        sa.Column(
            "retries",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="Requests repeated.",
        ),
        sa.Column(
            "throttles",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="Answers that asked to slow down.",
        ),
        sa.Column(
            "token_fetches",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="Tokens fetched.",
        ),
        sa.Column(
            "latency_p50_ms",
            sa.Float(),
            nullable=True,
            comment="Median time of an answer, milliseconds.",
        ),
        sa.Column(
            "latency_p95_ms",
            sa.Float(),
            nullable=True,
            comment="95th percentile of the same, milliseconds.",
        ),
        sa.Column(
            "details",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="What belongs to this kind of step only.",
        ),
        sa.Column(
            "started_at", sa.DateTime(timezone=True), nullable=False, comment="When it began."
        ),
        sa.Column(
            "finished_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When it ended; empty while running.",
        ),
        sa.CheckConstraint(
            "state <> 'complete' or rows_read = inserted + changed + unchanged + quarantined",
            name=op.f("ck_run_conservation"),
        ),
        sa.CheckConstraint(
            "state in ('running', 'complete', 'partial', 'suspect', 'unstable', 'failed')",
            name=op.f("ck_run_state"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        schema="bms",
        comment="One row for each step of each run: what, which window, counts, requests, outcome.",
    )
    op.create_index("ix_run_dag_run_id", "run", ["dag_run_id"], unique=False, schema="bms")
    op.create_index(
        "ix_run_flow_started_at", "run", ["flow", "started_at"], unique=False, schema="bms"
    )
    op.create_table(
        "control_total",
        sa.Column(
            "run_id",
            sa.BigInteger(),
            nullable=False,
            comment="The step in bms.run that read the rows.",
        ),
        sa.Column(
            "id_entity", sa.BigInteger(), autoincrement=False, nullable=False, comment="The entity."
        ),
        sa.Column(
            "currency", sa.Text(), nullable=False, comment="The currency; sums never cross it."
        ),
        sa.Column("invoices", sa.Integer(), nullable=False, comment="Rows summed."),
        sa.Column(
            "total_excl_vat",
            sa.Numeric(),
            nullable=False,
            comment="Sum of total_excl_vat over the rows read.",
        ),
        sa.Column(
            "total_vat",
            sa.Numeric(),
            nullable=False,
            comment="Sum of total_vat over the rows read.",
        ),
        sa.Column(
            "total_incl_vat",
            sa.Numeric(),
            nullable=False,
            comment="Sum of total_incl_vat over the rows read.",
        ),
        sa.Column(
            "total_due",
            sa.Numeric(),
            nullable=False,
            comment="Sum of total_due over the rows read.",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["bms.run.id"], name=op.f("fk_control_total_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "id_entity", "currency", name=op.f("pk_control_total")),
        schema="bms",
        comment="Sums of what a step read, for each entity and currency.",
    )
    _make_views()


def downgrade() -> None:
    op.execute("drop function bms.client_invoice_as_of")
    op.execute("drop view bms.client_invoice_current")
    op.drop_table("control_total", schema="bms")
    op.drop_index("ix_run_flow_started_at", table_name="run", schema="bms")
    op.drop_index("ix_run_dag_run_id", table_name="run", schema="bms")
    op.drop_table("run", schema="bms")
    op.drop_table("quarantine", schema="bms")
    op.drop_table("code_name", schema="bms")
    op.drop_table("client_invoice_version", schema="bms")
    op.drop_table("client_invoice_lease", schema="bms")
    op.drop_table("client_invoice_day", schema="bms")
    op.drop_index("ix_client_invoice_id_entity_day", table_name="client_invoice", schema="bms")
    op.drop_table("client_invoice", schema="bms")
