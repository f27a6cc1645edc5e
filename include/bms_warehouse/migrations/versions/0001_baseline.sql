-- The schema of release 0.1.0: never edit it, write a migration (CONTRIBUTING.md). A comment at the end of a line becomes the comment of its table or column.

create schema if not exists bms;
create schema bms_private;
comment on schema bms is 'Data of the Business Management Service.';
comment on schema bms_private is 'Restricted personal data; filled with the detail level `full` only.';
comment on table bms.schema_version is 'The migration that this schema is at.';
comment on column bms.schema_version.version_num is 'Number of the migration.';

-- Steps of the flows

create table bms.step_run ( -- Steps of DAG runs: window, counts, requests and outcome.
    id bigint generated always as identity, -- Number of the step run.
    flow text not null, -- DAG id.
    dag_run_id text not null, -- Airflow DAG run id.
    step text not null, -- Name of the step.
    id_entity bigint, -- Entity of the step; null if none.
    window_start date, -- First day read.
    window_end date, -- Last day read, inclusive.
    state text not null, -- running, or the outcome.
    reason text, -- Reason why the step is not complete, and the remedy.
    rows_read integer default '0' not null, -- Rows that the service returned.
    inserted integer default '0' not null, -- New rows.
    changed integer default '0' not null, -- Rows that differed from the warehouse.
    unchanged integer default '0' not null, -- Rows equal to the warehouse.
    quarantined integer default '0' not null, -- Rows stored in bms.quarantine.
    missing integer default '0' not null, -- Rows of the warehouse that the service no longer returned.
    requests integer default '0' not null, -- Requests sent, including retries and token requests.
    retries integer default '0' not null, -- Requests retried.
    throttles integer default '0' not null, -- Responses that asked to slow down.
    token_fetches integer default '0' not null, -- Tokens fetched.
    latency_p50_ms double precision, -- Median response time, milliseconds.
    latency_p95_ms double precision, -- 95th percentile of the response time, milliseconds.
    held_by bigint, -- Step run that read these days and held them for review; null for any other step.
    version text, -- Version of the project that ran the step; null if not installed.
    details jsonb, -- Details of this kind of step.
    started_at timestamptz not null, -- Start.
    finished_at timestamptz, -- End; null while running.
    reported_at timestamptz, -- Time at which an asset's event had reported the changed rows; null before.
    constraint pk_step_run primary key (id),
    constraint ck_step_run_conservation check (state <> 'complete' or rows_read = inserted + changed + unchanged + quarantined),
    constraint ck_step_run_state check (state in ('running', 'complete', 'partial', 'suspect', 'unstable', 'failed'))
);
create index ix_step_run_dag_run_id on bms.step_run (dag_run_id);
create index ix_step_run_flow_started_at on bms.step_run (flow, started_at);
create index ix_step_run_unreported on bms.step_run (flow) where reported_at is null and inserted + changed + missing > 0;

create table bms.control_total ( -- Control totals of a step run, by entity and currency.
    step_run_id bigint not null, -- Step run that read the rows.
    id_entity bigint not null, -- Entity.
    currency text not null, -- Currency of the sums.
    invoices integer not null, -- Number of invoices summed.
    total_excl_vat numeric not null, -- Sum of total_excl_vat over the rows read.
    total_vat numeric not null, -- Sum of total_vat over the rows read.
    total_incl_vat numeric not null, -- Sum of total_incl_vat over the rows read.
    total_due numeric not null, -- Sum of total_due over the rows read.
    constraint pk_control_total primary key (step_run_id, id_entity, currency),
    constraint fk_control_total_step_run_id foreign key (step_run_id) references bms.step_run (id) on delete cascade
);

create table bms.load_profile ( -- Profiles of published loads: the plausibility checks compare the next load with them.
    step_run_id bigint not null, -- Step run that published the rows.
    resource text not null, -- Target table of the rows.
    id_entity bigint not null, -- Entity; 0 if the resource has none.
    read_at timestamptz not null, -- Time at which reading began.
    profile jsonb not null, -- Shares of rows by measure, amounts by currency, and rows of the newest days.
    accepted jsonb not null, -- Measures that an operator accepted with the load, with the first day covered.
    constraint pk_load_profile primary key (step_run_id),
    constraint fk_load_profile_step_run_id foreign key (step_run_id) references bms.step_run (id) on delete cascade
);
create index ix_load_profile_resource on bms.load_profile (resource, id_entity, step_run_id);

create table bms.quarantine ( -- Invalid rows; a later valid read removes a row.
    resource text not null, -- Target table of the row.
    id_entity bigint not null, -- Entity; 0 if the resource has none.
    row_key text not null, -- Identifier of the row, or a digest of the row if the identifier is unreadable.
    code text not null, -- Code of the error, explained in docs/runbook.md.
    field text, -- Invalid field.
    raw text not null, -- Row, verbatim.
    first_day date, -- Day of the row; if unreadable, first day of the window that returned the row.
    last_day date, -- The same day, or the last day of that window; a later read of all these days removes the row.
    step_run_id bigint not null, -- Latest step run that returned the row.
    first_seen_at timestamptz not null, -- Time of quarantine.
    last_seen_at timestamptz not null, -- Latest time at which the row was invalid.
    loads integer default '1' not null, -- Consecutive loads that returned the row as invalid.
    accepted_by text, -- Who accepted that the row stays invalid; null: no one.
    constraint pk_quarantine primary key (resource, id_entity, row_key)
);

-- Client invoices

create table bms.code_name ( -- Code labels by language.
    resource text not null, -- Table with the code.
    field text not null, -- Column with the code.
    code text not null, -- Code.
    language text not null, -- Requested language, EN or FR.
    name text not null, -- Label of the code.
    seen_at timestamptz not null, -- Latest read of this label.
    constraint pk_code_name primary key (resource, field, code, language)
);

create table bms.client_invoice_day ( -- Watermark of the extraction: the days read completely.
    id_entity bigint not null, -- Entity.
    day date not null, -- A day of invoices.
    invoices integer not null, -- Invoices in the latest read.
    open_invoices integer not null, -- Invoices of these that are not canceled and either unpaid or not sent.
    read_at timestamptz not null, -- Latest complete read of the day.
    changed_at timestamptz, -- Latest read that changed a row; null until then.
    constraint pk_client_invoice_day primary key (id_entity, day)
);

create table bms.client_invoice_finding ( -- Days with findings, which are read again after 1, 2, 4, … days.
    id_entity bigint not null, -- Entity.
    day date not null, -- A day of invoices.
    codes text[] not null, -- Findings of the latest attempt; empty if a later read found nothing.
    held boolean not null, -- Whether the latest attempt is held for review.
    attempted_at timestamptz not null, -- Latest attempt to read the day.
    found_at timestamptz not null, -- Latest new finding.
    step_run_id bigint not null, -- Step run of the latest attempt.
    constraint pk_client_invoice_finding primary key (id_entity, day)
);

create table bms.client_invoice_missing_number ( -- Holes in the series of invoice numbers; a row disappears when its number arrives.
    id_entity bigint not null, -- Entity.
    reference_number text not null, -- Number that no invoice has.
    series text not null, -- Pattern of the numbers.
    day date not null, -- Day of the invoice after the missing number.
    found_at timestamptz not null, -- Load that found the hole first.
    step_run_id bigint not null, -- Step run of that load.
    accepted_by text, -- Operator who accepted the hole.
    accepted_reason text, -- Why there is no such invoice.
    constraint pk_client_invoice_missing_number primary key (id_entity, reference_number)
);

create table bms.client_invoice_lease ( -- Leases of an entity's days; no two leases share a day.
    id_entity bigint not null, -- Entity of the lease.
    days daterange not null, -- Days of the lease.
    step_run_id bigint not null, -- Step run that holds the lease.
    task text not null, -- Task of that step run; its next attempt takes the lease over.
    expires_at timestamptz not null, -- End of the lease; another task may then take over.
    constraint ex_client_invoice_lease_days exclude using gist (int8range(id_entity, id_entity, '[]') with &&, days with &&)
);

-- Onboarding: dropped files, plans and the ledger

create table bms.dropped_file ( -- Dropped files; inserting a row claims the file.
    id bigint generated always as identity, -- Number of the drop.
    resource text not null, -- Resource of the inbox.
    path text not null, -- Name of the file in the inbox.
    size bigint not null, -- Size in bytes.
    stamp text not null, -- Modification time (nanoseconds), or ETag on an object store; with the number of the drop after the same file was dropped again.
    state text not null, -- waiting, open, or the outcome.
    waits_for text, -- Reason why the file is not claimed yet; null once claimed.
    unchanged_since timestamptz, -- Time since which a waiting file has not changed.
    reason text, -- Code of the reason for withdrawal; null otherwise.
    ended_before text, -- Previous outcome of a drop that was reopened; null otherwise.
    dag_run_id text not null, -- Airflow DAG run that processes the drop.
    expires_at timestamptz not null, -- End of the lease; another run may then take over.
    sha256 text, -- Digest of the content; null until read completely.
    same_as bigint, -- Earlier drop of the same content.
    archive text, -- Path of the original, below the data root.
    report text, -- Folder of the report, below the data root.
    counts jsonb, -- Number of rows per outcome; null until the drop ended.
    entered_at timestamptz not null, -- First discovery or claim.
    started_at timestamptz, -- Start of the DAG run; null until then.
    finished_at timestamptz, -- Latest end.
    submitted_by text, -- Id of the Airflow user who submitted the file on the board; null for a file that was put into the folder.
    undo_at timestamptz, -- Time at which a user opened the undo sheet: the drop was a mistake, and the records that it created are being removed by hand.
    undo_by text, -- Id of that user.
    constraint pk_dropped_file primary key (id),
    constraint ck_dropped_file_finished check (state in ('waiting', 'open') or finished_at is not null),
    constraint ck_dropped_file_state check (state in ('waiting', 'open', 'applied', 'not_applied', 'refused', 'repeated', 'withdrawn')),
    constraint fk_dropped_file_same_as foreign key (same_as) references bms.dropped_file (id),
    constraint uq_dropped_file_resource_dag_run_id unique (resource, dag_run_id),
    constraint uq_dropped_file_resource_path_size_stamp unique (resource, path, size, stamp)
);
create index ix_dropped_file_resource_sha256 on bms.dropped_file (resource, sha256);

create table bms.creation_plan ( -- Plans of drops with their approval; the content of a plan never changes.
    drop_id bigint not null, -- Drop of the plan.
    id text not null, -- Hash of the plan, which the approver approves.
    resource text not null, -- Resource of the records to create.
    state text not null, -- made, approved, refused or applied.
    bound jsonb not null, -- Digests of the inputs of the plan.
    counts jsonb not null, -- Number of rows per outcome.
    breaches jsonb not null, -- Limits that the plan exceeds; figures only.
    creates jsonb not null, -- Digests of the request bodies, by key.
    rows jsonb not null, -- Outcome of each line: codes, fields and ids, no values.
    made_at timestamptz not null, -- Time of planning.
    decided_by text, -- User who approved or refused the plan, or the setting that approved it.
    decided_at timestamptz, -- Time of the decision.
    applied_at timestamptz, -- Time at which the rows entered the ledger.
    asked_at timestamptz, -- Time of the latest request for approval.
    asked_because jsonb, -- Why approval was requested: codes and figures.
    notified_at timestamptz, -- Time of the latest message about that request.
    file_digest text, -- SHA-256 of the plan's file, which the approver reads.
    excluded jsonb default '[]' not null, -- Ids and names of users who may not approve the plan, because they submitted the drop or triggered its run.
    constraint pk_creation_plan primary key (drop_id, id),
    constraint ck_creation_plan_state check (state in ('made', 'approved', 'refused', 'applied')),
    constraint fk_creation_plan_drop_id foreign key (drop_id) references bms.dropped_file (id)
);

create table bms.creation_snapshot ( -- Lists of the service before rows entered the ledger; deleted when those rows have ended.
    id bigint generated always as identity, -- Number of the snapshot.
    resource text not null, -- Resource of the lists.
    drop_id bigint not null, -- Drop at that time.
    taken_at timestamptz not null, -- Start of the read.
    content bytea not null, -- Ids and digests of the listed records, compressed; no personal data.
    constraint pk_creation_snapshot primary key (id),
    constraint fk_creation_snapshot_drop_id foreign key (drop_id) references bms.dropped_file (id)
);
create index ix_creation_snapshot_drop_id on bms.creation_snapshot (drop_id);

create table bms.creation ( -- The ledger: one row for each record to create, across all drops.
    id bigint generated always as identity, -- Number of the row.
    resource text not null, -- Resource of the record to create.
    key text not null, -- Digest of the natural key.
    digest text not null, -- Digest of the dropped data.
    drop_id bigint not null, -- Latest drop of the row.
    line integer not null, -- Line in that drop.
    state text not null, -- State of the row.
    attempt integer not null, -- Number of POSTs recorded before sending.
    max_attempts integer not null, -- Number of the last attempt allowed.
    first_intended_at timestamptz, -- Time recorded before the first POST.
    intended_at timestamptz, -- Time recorded and committed before the latest POST.
    in_flight_until timestamptz, -- When the last POST can no longer be in progress.
    boot_id text, -- Boot of the machine that sent or settles the last POST.
    in_flight_until_s double precision, -- When the last POST can no longer be in progress, in seconds since that boot.
    empty_lookups integer not null, -- Consecutive lookups without a record, or checks without a conclusion.
    snapshot_id bigint, -- Snapshot of the service from before the row entered the ledger.
    checked_at timestamptz, -- Latest time at which the lease holder found no record of the row in the service.
    returned_id text, -- Id that the last POST returned.
    remote_id text, -- Id of the record in the service: GUID or number.
    remote_number bigint, -- Number of the record, if the service has a number in addition to the id.
    is_standby boolean, -- Whether the latest read showed the record on standby.
    reason text, -- Code of the reason for state unknown, rejected or review.
    evidence jsonb not null, -- Codes of the evidence for the outcome.
    candidates jsonb not null, -- Remote ids from which the reviewer chooses.
    dismissed jsonb default '[]' not null, -- Remote ids that the reviewer excluded.
    alike jsonb default '[]' not null, -- Keys of rows alike that the review compares; a release decides that they are different.
    manager_key text, -- Key of the manager's row, which must exist first.
    verified jsonb, -- Fields read back: equal, different, unreadable.
    owner text, -- Task that holds the lease.
    leased_until timestamptz, -- End of the lease; another task may then take over.
    entered_at timestamptz not null, -- Time of entry.
    changed_at timestamptz not null, -- Time of the latest transition.
    constraint pk_creation primary key (id),
    constraint ck_creation_attempts check (attempt <= max_attempts),
    constraint ck_creation_known check (state not in ('created', 'adopted') or remote_id is not null),
    constraint ck_creation_state check (state in ('ready', 'sending', 'unknown', 'created', 'adopted', 'rejected', 'review', 'given_up')),
    constraint fk_creation_drop_id foreign key (drop_id) references bms.dropped_file (id),
    constraint fk_creation_snapshot_id foreign key (snapshot_id) references bms.creation_snapshot (id) on delete set null,
    constraint uq_creation_resource_key unique (resource, key)
);
create index ix_creation_drop_id on bms.creation (drop_id);
create index ix_creation_snapshot_id on bms.creation (snapshot_id);
create unique index uq_creation_remote_id on bms.creation (resource, remote_id) where remote_id is not null;

create table bms.creation_body ( -- Request bodies for retries and comparisons; deleted 30 days after the row has ended.
    creation_id bigint not null, -- Row of the ledger.
    body text not null, -- Request body, as JSON. Personal data.
    constraint pk_creation_body primary key (creation_id),
    constraint fk_creation_body_creation_id foreign key (creation_id) references bms.creation (id) on delete cascade
);

create table bms.creation_event ( -- History of the ledger: every transition and decision.
    id bigint generated always as identity, -- Sequence number.
    creation_id bigint not null, -- Row of the ledger.
    at timestamptz not null, -- Time by the database's clock.
    what text not null, -- Code of the event.
    attempt integer not null, -- Attempt of the event.
    who text, -- User who decided; null for the flow.
    detail text, -- A code, a remote id, or the DAG run of a decision.
    constraint pk_creation_event primary key (id),
    constraint fk_creation_event_creation_id foreign key (creation_id) references bms.creation (id) on delete cascade
);
create index ix_creation_event_creation_id on bms.creation_event (creation_id);

create table bms.creation_match ( -- Records matched to dropped rows; later drops use the id.
    resource text not null, -- Resource of the record.
    key text not null, -- Digest of the fields by which the dropped row was matched.
    remote_id text not null, -- Id of the record in the service.
    drop_id bigint not null, -- Drop at that time.
    matched_at timestamptz not null, -- Time of the match.
    constraint pk_creation_match primary key (resource, key),
    constraint fk_creation_match_drop_id foreign key (drop_id) references bms.dropped_file (id)
);

create table bms.contact_agreement ( -- Latest value per field that drop and CRM had in common: the base of a difference.
    id_contact bigint not null, -- Identifier of the contact in the service.
    field text not null, -- Field, named as in the dropped file.
    value jsonb not null, -- Value on both sides. Personal data.
    agreed_at timestamptz not null, -- Latest time at which both sides were equal.
    drop_id bigint, -- Drop with that value; null if unknown.
    constraint pk_contact_agreement primary key (id_contact, field),
    constraint fk_contact_agreement_drop_id foreign key (drop_id) references bms.dropped_file (id)
);

create table bms.contact_difference ( -- Differences between dropped contacts and the CRM; each is reported once until it changes.
    id_contact bigint not null, -- Identifier of the contact in the service.
    field text not null, -- Field, named as in the dropped file.
    base jsonb, -- Latest common value; null if there is none.
    ours jsonb not null, -- Latest dropped value. Personal data.
    theirs jsonb, -- Value in the CRM. Personal data.
    drop_id bigint not null, -- Drop that showed the difference.
    since timestamptz not null, -- Start of the difference in its current form.
    resolved_at timestamptz, -- End of the difference; null while it exists.
    constraint pk_contact_difference primary key (id_contact, field),
    constraint fk_contact_difference_drop_id foreign key (drop_id) references bms.dropped_file (id)
);

-- Monitoring, audit and the service

create table bms.alarm ( -- Alarms; each subject has at most one open alarm.
    id bigint generated always as identity, -- Number of the alarm.
    subject text not null, -- Object with the problem; for a flow its DAG id.
    code text not null, -- Code of the problem, explained in docs/runbook.md.
    detail text not null, -- Observation in figures and days, without personal data.
    flow text, -- DAG id of the flow concerned.
    dag_run_id text, -- Airflow DAG run that shows the problem.
    since timestamptz not null, -- Start of the problem.
    raised_at timestamptz not null, -- Time of detection.
    notified_at timestamptz, -- Time at which a channel accepted the notification.
    refused_at timestamptz, -- Latest attempt to notify that no channel accepted.
    aspects text[] default '{}' not null, -- Details of the problem: codes, entities. A new aspect causes an update notification.
    size integer default '0' not null, -- Number of rows affected; 0 if the alarm counts none.
    notified_aspects text[] default '{}' not null, -- Aspects already notified.
    notified_size integer default '0' not null, -- Largest size already notified.
    update_notified_at timestamptz, -- Time of the latest update notification.
    acknowledged_by text, -- Operator who acknowledged the alarm; null: no one.
    acknowledged_until timestamptz, -- End of the acknowledgement, until which nothing is sent.
    acknowledged_note text, -- Why the alarm may wait.
    recovered_at timestamptz, -- End of the problem; null while the alarm is open.
    recovery_reason text, -- Reason for closing the alarm other than a passed check.
    recovery_notified_at timestamptz, -- Time of the recovery notification.
    constraint pk_alarm primary key (id),
    constraint ck_alarm_notified check (recovery_notified_at is null or (coalesce(notified_at, refused_at) is not null and recovered_at is not null))
);
create unique index uq_alarm_subject_open on bms.alarm (subject) where recovered_at is null;

create table bms.reconciliation ( -- Result of the audit for each day or list.
    resource text not null, -- Table of the compared rows.
    id_entity bigint not null, -- Entity; 0 if the resource has none.
    day date not null, -- Day of the invoices; for a list, day of the audit.
    part integer not null, -- Part of a long list, from 1; 1 for a day of invoices.
    parts integer not null, -- Number of parts at the latest audit of the list.
    state text not null, -- reconciled; pending: differs from the warehouse until a load or audit decides; not_reconciled; not_checked.
    reasons text[] not null, -- Codes of the findings; empty if reconciled.
    found jsonb not null, -- Number of contradictory rows, by code.
    pending jsonb not null, -- Number of rows that differ from the warehouse until a load or audit decides, by code.
    rows_compared integer not null, -- Number of rows compared.
    changed_meanwhile integer not null, -- Number of rows that changed during the read.
    rows jsonb not null, -- Keys of these rows, by code; with digest and version if the warehouse differs.
    checked_at timestamptz not null, -- Time of the latest comparison.
    tried_at timestamptz, -- Start of the latest attempt.
    step_run_id bigint not null, -- Step run of the audit.
    constraint pk_reconciliation primary key (resource, id_entity, day, part),
    constraint ck_reconciliation_reasons check ((state = 'reconciled') = (cardinality(reasons) = 0)),
    constraint ck_reconciliation_state check (state in ('reconciled', 'pending', 'not_reconciled', 'not_checked'))
);
create index ix_reconciliation_state_day on bms.reconciliation (state, day);

create table bms.contract ( -- Observed behaviour that the interface does not specify; the latest row of each finding is current.
    finding text not null, -- Name of the question, such as page_size_limit.
    since timestamptz not null, -- First observation.
    state text not null, -- known or undetermined.
    value jsonb, -- Observed behaviour; null while undetermined.
    summary text not null, -- The same in a sentence, or the reason why not.
    setting text, -- Setting that depends on the behaviour.
    advice text, -- Value to set if the setting contradicts the behaviour.
    last_seen_at timestamptz not null, -- Latest observation.
    step_run_id bigint not null, -- Step run of the latest observation.
    constraint pk_contract primary key (finding, since),
    constraint ck_contract_state check (state in ('known', 'undetermined'))
);

create table bms.service_identity ( -- Service that fills the warehouse; flows refuse any other service.
    id integer not null, -- 1 for the first service, plus 1 per change; the highest is current.
    host text not null, -- Host and path of the base URL.
    application_id text not null, -- The application id of the connection.
    since timestamptz not null, -- Time of storage.
    confirmed boolean not null, -- Whether an operator confirmed the change.
    constraint pk_service_identity primary key (id)
);

-- Client invoices, contacts, consultants and employees, from their records

create table bms.client_invoice ( -- Latest state of every client invoice that a read returned.
    id_entity BIGINT NOT NULL, -- Entity whose list returned the invoice (query parameter).
    id_invoice BIGINT NOT NULL, -- Identifier of the invoice in the service.
    reference_number TEXT, -- Number printed on the invoice.
    invoice_date DATE, -- Date of the invoice.
    due_date DATE, -- Due date.
    invoice_type TEXT, -- Type code; values unspecified by the service.
    invoice_type_name TEXT, -- Label of the code; bms.code_name has both languages.
    id_client BIGINT, -- Client billed.
    client_name TEXT, -- Name of the client, verbatim.
    po_number TEXT, -- Purchase order of the client.
    vat_number TEXT, -- VAT number of the client.
    invoice_subject TEXT, -- Subject of the invoice.
    total_excl_vat NUMERIC, -- Amount without VAT, in currency.
    total_vat NUMERIC, -- VAT, in currency.
    total_incl_vat NUMERIC, -- Amount with VAT, in currency.
    total_due NUMERIC, -- Amount still to be paid, in currency.
    currency TEXT, -- Currency of the four amounts.
    payment_mode TEXT, -- Payment mode code; values unspecified by the service.
    payment_mode_name TEXT, -- Label of the code; bms.code_name has both languages.
    status TEXT, -- Status code; values unspecified by the service.
    status_name TEXT, -- Label of the code; bms.code_name has both languages.
    id_account_manager BIGINT, -- Account manager of the client.
    created_on TIMESTAMP WITH TIME ZONE, -- Time of creation in the service.
    created_by BIGINT, -- User who created the invoice.
    canceled BOOLEAN, -- Whether the invoice is canceled.
    canceled_on TIMESTAMP WITH TIME ZONE, -- Time of cancellation.
    canceled_by BIGINT, -- User who canceled the invoice.
    id_credit BIGINT, -- Credit note of the invoice.
    sent BOOLEAN, -- Whether the invoice was sent to the client.
    sent_on TIMESTAMP WITH TIME ZONE, -- Time of sending.
    sent_by BIGINT, -- User who sent the invoice.
    _extra JSONB, -- Fields beyond the service's interface.
    _row_hash BYTEA NOT NULL, -- Digest of the fields, without code labels.
    _version INTEGER DEFAULT '1' NOT NULL, -- Version of the row: 1 for the first, plus 1 per change.
    _first_seen_at TIMESTAMP WITH TIME ZONE DEFAULT current_setting('bms.observed_at')::timestamptz NOT NULL, -- First read that returned the row.
    _changed_at TIMESTAMP WITH TIME ZONE DEFAULT current_setting('bms.observed_at')::timestamptz NOT NULL, -- First read that returned the current version.
    _step_run_id BIGINT DEFAULT current_setting('bms.step_run_id')::bigint NOT NULL, -- Step run that wrote the current version.
    _day DATE, -- Day under which the service lists the invoice: its BMS_INVOICE_RANGE_DATE.
    _missing_since TIMESTAMP WITH TIME ZONE, -- First read of the day that did not return the invoice; rows are never deleted.
    CONSTRAINT pk_client_invoice PRIMARY KEY (id_entity, id_invoice)
);
CREATE INDEX ix_client_invoice_id_entity_day ON bms.client_invoice (id_entity, _day);

create table bms.client_invoice_superseded ( -- Earlier versions of client invoice rows; client_invoice_version adds the current versions.
    like bms.client_invoice including comments,
    _superseded_at TIMESTAMP WITH TIME ZONE NOT NULL, -- First read that returned the next version; null for the current version.
    CONSTRAINT pk_client_invoice_superseded PRIMARY KEY (id_entity, id_invoice, _version),
    CONSTRAINT fk_client_invoice_superseded_id_entity_id_invoice FOREIGN KEY(id_entity, id_invoice) REFERENCES bms.client_invoice (id_entity, id_invoice)
);
CREATE INDEX ix_client_invoice_superseded_at ON bms.client_invoice_superseded USING brin (_superseded_at);

create table bms.contact ( -- Latest state of every contact that a read returned; rows are never deleted.
    id BIGINT NOT NULL, -- Identifier of the contact in the service.
    first_name TEXT, -- First name.
    last_name TEXT, -- Last name.
    business_title TEXT, -- Job title at the client.
    email TEXT, -- E-mail address.
    phone_mobile_number TEXT, -- Mobile phone.
    postal_code TEXT, -- Postal code.
    city TEXT, -- City.
    country TEXT, -- Country.
    exclude_from_emailing BOOLEAN, -- Whether mass mailings exclude the contact.
    send_greetings_card BOOLEAN, -- Whether the contact receives a greetings card.
    is_lead BOOLEAN, -- Whether the contact is a lead.
    origin TEXT, -- Origin of the contact; values unspecified by the service.
    signal TEXT, -- Signal code; values unspecified by the service.
    imported_company_name TEXT, -- Company name from an import, for a contact without client.
    id_client BIGINT, -- Client of the contact.
    id_account_manager BIGINT, -- Account manager of the contact.
    active BOOLEAN, -- Whether the contact is active (actif in the list).
    created_on TIMESTAMP WITH TIME ZONE, -- Time of creation in the service.
    created_by BIGINT, -- User who created the record.
    modified_on TIMESTAMP WITH TIME ZONE, -- Time of the latest modification.
    modified_by BIGINT, -- User of the latest modification.
    deleted_on TIMESTAMP WITH TIME ZONE, -- Time of deletion in the service.
    deleted_by BIGINT, -- User who deleted the record.
    phone_number TEXT, -- Phone. Read with the detail.
    fax_number TEXT, -- Fax. Read with the detail.
    address TEXT, -- Street. Read with the detail.
    greetings_card_details TEXT, -- Text of the card. Read with the detail.
    domains JSONB, -- Numbers of domains (contact_domains on creation). Read with the detail.
    notes TEXT, -- Notes. Read with the detail.
    deleted BOOLEAN NOT NULL, -- Whether the contact is removed; _removal_reason gives the reason.
    _extra JSONB, -- Fields beyond the service's interface.
    _row_hash BYTEA NOT NULL, -- Digest of the fields, without code labels.
    _version INTEGER NOT NULL, -- Version of the row: 1 for the first, plus 1 per change.
    _first_seen_at TIMESTAMP WITH TIME ZONE NOT NULL, -- First read that returned the row.
    _changed_at TIMESTAMP WITH TIME ZONE NOT NULL, -- First read that returned the current version.
    _step_run_id BIGINT NOT NULL, -- Step run that wrote the current version.
    _list_hash BYTEA, -- Digest of the list item that the row matches; null if no list contained the record.
    _detailed BOOLEAN NOT NULL, -- Whether the detail was read since the list item changed; if not, its fields are older.
    _removal_reason TEXT, -- flagged: deleted by the service's flag; missing: no longer in the service; null: present.
    _assigned BOOLEAN, -- Whether the list with filter=ASSIGNED contains the contact; null until a run reads that list.
    CONSTRAINT pk_contact PRIMARY KEY (id),
    CONSTRAINT ck_contact_removal_reason CHECK (_removal_reason in ('flagged', 'missing')),
    CONSTRAINT ck_contact_deleted CHECK (deleted = (_removal_reason is not null))
);

create table bms.contact_superseded ( -- Earlier versions of contact rows; contact_version adds the current versions.
    like bms.contact including comments,
    _superseded_at TIMESTAMP WITH TIME ZONE NOT NULL, -- First read that returned the next version; null for the current version.
    CONSTRAINT pk_contact_superseded PRIMARY KEY (id, _version),
    CONSTRAINT fk_contact_superseded_id FOREIGN KEY(id) REFERENCES bms.contact (id)
);

create table bms.consultant ( -- Latest state of every consultant that a read returned; rows are never deleted.
    id BIGINT NOT NULL, -- Identifier of the consultant in the service.
    first_name TEXT, -- First name.
    last_name TEXT, -- Last name.
    type TEXT, -- Type code; values unspecified by the service.
    affinity BIGINT, -- Affinity; range and meaning unspecified by the service.
    rate NUMERIC, -- Rate in currency; time unit unspecified by the service.
    currency TEXT, -- Currency of the rate.
    availability_date TEXT, -- First day of availability, verbatim.
    birth_year BIGINT, -- Year of birth.
    work_start_year BIGINT, -- First year of work.
    skills JSONB, -- Skills: array of id, level, favorite.
    languages JSONB, -- Languages: array of code, level.
    postal_code TEXT, -- Postal code.
    city TEXT, -- City.
    country TEXT, -- Country.
    phone_number TEXT, -- Phone.
    phone_mobile_number TEXT, -- Mobile phone.
    email TEXT, -- E-mail address.
    no_emails BOOLEAN, -- Whether the consultant opted out of e-mails.
    no_sms BOOLEAN, -- Whether the consultant opted out of text messages.
    id_client BIGINT, -- Client of the consultant.
    active BOOLEAN, -- Whether the consultant is active.
    created_on TIMESTAMP WITH TIME ZONE, -- Time of creation in the service.
    modified_on TIMESTAMP WITH TIME ZONE, -- Time of the latest modification.
    created_by BIGINT, -- User who created the record.
    modified_by BIGINT, -- User of the latest modification.
    professional_profile TEXT, -- Profile. Read with the detail.
    address TEXT, -- Street. Read with the detail.
    notes TEXT, -- Notes. Read with the detail.
    custom1 TEXT, -- Free field 1. Read with the detail.
    custom2 TEXT, -- Free field 2. Read with the detail.
    custom3 TEXT, -- Free field 3. Read with the detail.
    custom4 TEXT, -- Free field 4. Read with the detail.
    custom5 TEXT, -- Free field 5. Read with the detail.
    deleted BOOLEAN NOT NULL, -- Whether the consultant is removed; _removal_reason gives the reason.
    _extra JSONB, -- Fields beyond the service's interface.
    _row_hash BYTEA NOT NULL, -- Digest of the fields, without code labels.
    _version INTEGER NOT NULL, -- Version of the row: 1 for the first, plus 1 per change.
    _first_seen_at TIMESTAMP WITH TIME ZONE NOT NULL, -- First read that returned the row.
    _changed_at TIMESTAMP WITH TIME ZONE NOT NULL, -- First read that returned the current version.
    _step_run_id BIGINT NOT NULL, -- Step run that wrote the current version.
    _list_hash BYTEA, -- Digest of the list item that the row matches; null if no list contained the record.
    _detailed BOOLEAN NOT NULL, -- Whether the detail was read since the list item changed; if not, its fields are older.
    _removal_reason TEXT, -- flagged: deleted by the service's flag; missing: no longer in the service; null: present.
    CONSTRAINT pk_consultant PRIMARY KEY (id),
    CONSTRAINT ck_consultant_removal_reason CHECK (_removal_reason in ('flagged', 'missing')),
    CONSTRAINT ck_consultant_deleted CHECK (deleted = (_removal_reason is not null))
);

create table bms.consultant_superseded ( -- Earlier versions of consultant rows; consultant_version adds the current versions.
    like bms.consultant including comments,
    _superseded_at TIMESTAMP WITH TIME ZONE NOT NULL, -- First read that returned the next version; null for the current version.
    CONSTRAINT pk_consultant_superseded PRIMARY KEY (id, _version),
    CONSTRAINT fk_consultant_superseded_id FOREIGN KEY(id) REFERENCES bms.consultant (id)
);

create table bms.employee ( -- Latest state of every employee that a read returned, without restricted data; rows are never deleted.
    guid_employee TEXT NOT NULL, -- Identifier of the employee in the service.
    id_employee BIGINT, -- Number of the employee.
    reference_number BIGINT, -- Reference number of the employee.
    is_standby BOOLEAN, -- Whether the employee is on standby.
    salutation_code TEXT, -- Code of the salutation; values unspecified by the service.
    first_name TEXT, -- First name.
    last_name TEXT, -- Last name.
    payroll_number TEXT, -- Number in the payroll.
    business_mobile_phone TEXT, -- Mobile phone at work.
    business_email TEXT, -- E-mail address at work.
    job_title TEXT, -- Job title.
    department_code TEXT, -- Code of the department; values unspecified by the service.
    department_service TEXT, -- Service within the department.
    category_code TEXT, -- Code of the category; values unspecified by the service.
    is_salesperson BOOLEAN, -- Whether the employee sells.
    is_consultant BOOLEAN, -- Whether the employee is a consultant.
    start_date DATE, -- First day of work.
    departure_date DATE, -- Last day of work; a leaver is not deleted.
    departure_estimated_date DATE, -- Last day of work, estimated.
    created_on TIMESTAMP WITH TIME ZONE, -- Time of creation in the service.
    modified_on TIMESTAMP WITH TIME ZONE, -- Time of the latest modification.
    validated_on TIMESTAMP WITH TIME ZONE, -- Time of validation.
    created_by BIGINT, -- User who created the record.
    modified_by BIGINT, -- User of the latest modification.
    validated_by BIGINT, -- User who validated the record.
    preferred_last_name TEXT, -- Last name in use. Read with the detail.
    preferred_first_name TEXT, -- First name in use. Read with the detail.
    affiliated_company TEXT, -- Affiliated company. Read with the detail.
    id_manager BIGINT, -- The manager's id_employee. Read with the detail.
    contract_type_code TEXT, -- Code of the contract. Read with the detail.
    status_code TEXT, -- Code of the status. Read with the detail.
    status_position TEXT, -- Position within the status. Read with the detail.
    status_factor TEXT, -- Factor of the status. Read with the detail.
    business_landline_phone TEXT, -- Landline at work. Read with the detail.
    end_date_trial_first_period DATE, -- End of the first trial period. Read with the detail.
    end_date_trial_second_period DATE, -- End of the second trial period. Read with the detail.
    mission1 TEXT, -- Mission 1. Read with the detail.
    mission2 TEXT, -- Mission 2. Read with the detail.
    mission3 TEXT, -- Mission 3. Read with the detail.
    mission4 TEXT, -- Mission 4. Read with the detail.
    mission5 TEXT, -- Mission 5. Read with the detail.
    mission6 TEXT, -- Mission 6. Read with the detail.
    skills TEXT, -- Skills. Read with the detail.
    has_timesheets BOOLEAN, -- Whether the employee fills in timesheets. Read with the detail.
    timesheets_frequency_code BIGINT, -- Code of the timesheet frequency. Read with the detail.
    has_portal_access BOOLEAN, -- Whether the employee has access to the portal. Read with the detail.
    exclude_from_directory BOOLEAN, -- Whether directories exclude the employee. Read with the detail.
    meal_vouchers_count BIGINT, -- Meal vouchers. Read with the detail.
    use_vehicle BOOLEAN, -- Whether the employee uses a vehicle. Read with the detail.
    vehicle_type_code TEXT, -- Code of the vehicle. Read with the detail.
    vehicle_tax_horsepower_code TEXT, -- Code of the vehicle's tax horsepower. Read with the detail.
    vehicle_registration_number TEXT, -- Registration of the vehicle. Read with the detail.
    vehicle_price_per_km NUMERIC, -- Price per kilometre. Read with the detail.
    has_overtime BOOLEAN, -- Whether overtime is paid. Read with the detail.
    activity_rate BIGINT, -- Share of full time, percent. Read with the detail.
    id_entity BIGINT, -- Employing entity, from the detail or else the list.
    deleted BOOLEAN NOT NULL, -- Whether the employee is removed; _removal_reason gives the reason.
    _extra JSONB, -- Fields beyond the service's interface.
    _row_hash BYTEA NOT NULL, -- Digest of the fields, without code labels.
    _version INTEGER NOT NULL, -- Version of the row: 1 for the first, plus 1 per change.
    _first_seen_at TIMESTAMP WITH TIME ZONE NOT NULL, -- First read that returned the row.
    _changed_at TIMESTAMP WITH TIME ZONE NOT NULL, -- First read that returned the current version.
    _step_run_id BIGINT NOT NULL, -- Step run that wrote the current version.
    _list_hash BYTEA, -- Digest of the list item that the row matches; null if no list contained the record.
    _detailed BOOLEAN NOT NULL, -- Whether the detail was read since the list item changed; if not, its fields are older.
    _removal_reason TEXT, -- flagged: deleted by the service's flag; missing: no longer in the service; null: present.
    _entity BIGINT NOT NULL, -- Entity whose list returned the employee last (query parameter).
    _standby BOOLEAN NOT NULL, -- Whether the list with filter=STANDBY contains the employee.
    _former BOOLEAN NOT NULL, -- Whether the list with filter=FORMER contains the employee.
    CONSTRAINT pk_employee PRIMARY KEY (guid_employee),
    CONSTRAINT ck_employee_removal_reason CHECK (_removal_reason in ('flagged', 'missing')),
    CONSTRAINT ck_employee_deleted CHECK (deleted = (_removal_reason is not null))
);

create table bms.employee_superseded ( -- Earlier versions of employee rows; employee_version adds the current versions.
    like bms.employee including comments,
    _superseded_at TIMESTAMP WITH TIME ZONE NOT NULL, -- First read that returned the next version; null for the current version.
    CONSTRAINT pk_employee_superseded PRIMARY KEY (guid_employee, _version),
    CONSTRAINT fk_employee_superseded_guid_employee FOREIGN KEY(guid_employee) REFERENCES bms.employee (guid_employee)
);

create table bms_private.employee_private ( -- Restricted data of employees; filled with employee_details=full only.
    guid_employee TEXT NOT NULL, -- Identifier of the employee in the service.
    birth_date TEXT, -- Date of birth, verbatim.
    birth_city TEXT, -- City of birth.
    birth_country TEXT, -- Country of birth.
    nationality TEXT, -- Nationality.
    social_security_number TEXT, -- Social security number.
    resident_permit_number TEXT, -- Number of the resident permit.
    resident_permit_expiration_date TEXT, -- End of the permit, verbatim.
    address TEXT, -- Street of the home.
    postal_code TEXT, -- Postal code of the home.
    city TEXT, -- City of the home.
    country TEXT, -- Country of the home.
    personal_email TEXT, -- Private e-mail address.
    personal_mobile_phone TEXT, -- Private mobile phone.
    personal_landline_phone TEXT, -- Private landline.
    emergency_contacts TEXT, -- Emergency contacts.
    _extra JSONB, -- Fields beyond the service's interface.
    _row_hash BYTEA NOT NULL, -- Digest of the fields, without code labels.
    _version INTEGER NOT NULL, -- Version of the row: 1 for the first, plus 1 per change.
    _first_seen_at TIMESTAMP WITH TIME ZONE NOT NULL, -- First read that returned the row.
    _changed_at TIMESTAMP WITH TIME ZONE NOT NULL, -- First read that returned the current version.
    _step_run_id BIGINT NOT NULL, -- Step run that wrote the current version.
    CONSTRAINT pk_employee_private PRIMARY KEY (guid_employee)
);

create table bms_private.employee_private_superseded ( -- Earlier versions of employee private rows; employee_private_version adds the current versions.
    like bms_private.employee_private including comments,
    _superseded_at TIMESTAMP WITH TIME ZONE NOT NULL, -- First read that returned the next version; null for the current version.
    CONSTRAINT pk_employee_private_superseded PRIMARY KEY (guid_employee, _version),
    CONSTRAINT fk_employee_private_superseded_guid_employee FOREIGN KEY(guid_employee) REFERENCES bms_private.employee_private (guid_employee)
);


-- Views

create view bms.client_invoice_current as
select i.id_entity, i.id_invoice, i.reference_number, i.invoice_date, i.due_date, i.invoice_type, invoice_type_en.name as invoice_type_name_en, invoice_type_fr.name as invoice_type_name_fr, i.id_client, i.client_name, i.po_number, i.vat_number, i.invoice_subject, i.total_excl_vat, i.total_vat, i.total_incl_vat, i.total_due, i.currency, i.payment_mode, payment_mode_en.name as payment_mode_name_en, payment_mode_fr.name as payment_mode_name_fr, i.status, status_en.name as status_name_en, status_fr.name as status_name_fr, i.id_account_manager, i.created_on, i.created_by, i.canceled, i.canceled_on, i.canceled_by, i.id_credit, i.sent, i.sent_on, i.sent_by,
    i._version, i._first_seen_at, i._changed_at, day.read_at as _last_seen_at
from bms.client_invoice i
left join bms.client_invoice_day day on day.id_entity = i.id_entity and day.day = i._day
left join bms.code_name invoice_type_en on invoice_type_en.resource = 'client_invoice'
    and invoice_type_en.field = 'invoice_type' and invoice_type_en.code = i.invoice_type and invoice_type_en.language = 'EN'
left join bms.code_name invoice_type_fr on invoice_type_fr.resource = 'client_invoice'
    and invoice_type_fr.field = 'invoice_type' and invoice_type_fr.code = i.invoice_type and invoice_type_fr.language = 'FR'
left join bms.code_name payment_mode_en on payment_mode_en.resource = 'client_invoice'
    and payment_mode_en.field = 'payment_mode' and payment_mode_en.code = i.payment_mode and payment_mode_en.language = 'EN'
left join bms.code_name payment_mode_fr on payment_mode_fr.resource = 'client_invoice'
    and payment_mode_fr.field = 'payment_mode' and payment_mode_fr.code = i.payment_mode and payment_mode_fr.language = 'FR'
left join bms.code_name status_en on status_en.resource = 'client_invoice'
    and status_en.field = 'status' and status_en.code = i.status and status_en.language = 'EN'
left join bms.code_name status_fr on status_fr.resource = 'client_invoice'
    and status_fr.field = 'status' and status_fr.code = i.status and status_fr.language = 'FR'
where i._missing_since is null;
comment on view bms.client_invoice_current is
    'Every invoice that the service still returns, with code labels in both languages.';

create view bms.client_invoice_version as
select *, _changed_at as _observed_at from bms.client_invoice_superseded union all select *, null, _changed_at from bms.client_invoice;
comment on view bms.client_invoice_version is
    'History of client invoice rows, from _version 1: a view of earlier and current versions.';

create view bms.contact_version as
select *, _changed_at as _observed_at from bms.contact_superseded union all select *, null, _changed_at from bms.contact;
comment on view bms.contact_version is
    'History of contact rows, from _version 1: a view of earlier and current versions.';

create view bms.consultant_version as
select *, _changed_at as _observed_at from bms.consultant_superseded union all select *, null, _changed_at from bms.consultant;
comment on view bms.consultant_version is
    'History of consultant rows, from _version 1: a view of earlier and current versions.';

create view bms.employee_version as
select *, _changed_at as _observed_at from bms.employee_superseded union all select *, null, _changed_at from bms.employee;
comment on view bms.employee_version is
    'History of employee rows, from _version 1: a view of earlier and current versions.';

create view bms_private.employee_private_version as
select *, _changed_at as _observed_at from bms_private.employee_private_superseded union all select *, null, _changed_at from bms_private.employee_private;
comment on view bms_private.employee_private_version is
    'History of employee private rows, from _version 1: a view of earlier and current versions.';



-- A view's columns have the comments of the columns that they show.
do $$
declare
    own record;
begin
    for own in
        select v.attrelid::regclass as shown, v.attname as name, case v.attname
            when '_observed_at' then 'First read that returned this version.'
            else coalesce(
                col_description(t.attrelid, t.attnum),
                'See bms.code_name and bms.client_invoice_day.'
            ) end as comment
        from pg_attribute v
        join pg_class c on c.oid = v.attrelid and c.relkind = 'v'
            and c.relnamespace::regnamespace::text in ('bms', 'bms_private')
        left join pg_attribute t on t.attname = v.attname and t.attrelid = format(
            '%s.%I', c.relnamespace::regnamespace, regexp_replace(
                regexp_replace(c.relname, '_current$', ''), '_version$', '_superseded'
            )
        )::regclass
        where v.attnum > 0
    loop
        execute format('comment on column %s.%I is %L', own.shown, own.name, own.comment);
    end loop;
end $$;

create function bms.client_invoice_at(until timestamptz)
returns setof bms.client_invoice_version language sql stable as $$
    select * from bms.client_invoice_version
    where _observed_at < until and (_superseded_at >= until or _superseded_at is null) and _missing_since is null
$$;

comment on function bms.client_invoice_at is 'Every invoice as the warehouse held it at a time.';

create function bms.client_invoice_as_of(day date, zone text default 'Europe/Paris')
returns setof bms.client_invoice_version language sql stable as $$
    select * from bms.client_invoice_at((day + 1)::timestamp at time zone zone)
$$;

comment on function bms.client_invoice_as_of is 'Every invoice as the warehouse held it at the end of a day.';

-- Figures of the invoice report; the views after them show the present, in the time zone of client_invoice_as_of.

create function bms.client_invoice_open_items(until timestamptz, on_day date)
returns table (id_entity bigint, id_client bigint, client_name text, currency text, id_invoice bigint, reference_number text,
    invoice_date date, due_date date, sent boolean, total_incl_vat numeric, total_due numeric, days_late integer, age text,
    last_read_at timestamptz) language sql stable as $$
    with item as (
        select i.*, greatest(on_day - i.due_date, 0) as late
        from bms.client_invoice_at(until) i where i.canceled is not true and i.total_due <> 0
    ), listed as (
        select i.id_entity, i._day, case when d.read_at < until then d.read_at else (
            select max(cast(details->>'read_at' as timestamptz)) from bms.step_run r
            where flow = 'invoice_extraction' and step = 'extract' and state = 'complete' and r.id_entity = i.id_entity
                and cast(details->>'read_at' as timestamptz) < until and exists (
                    select from jsonb_array_elements_text(details->'windows') as days
                    where i._day between cast(split_part(days, '/', 1) as date) and cast(split_part(days, '/', 2) as date)
                )
        ) end as read_at
        from (select distinct item.id_entity, item._day from item) as i
        left join bms.client_invoice_day d on d.id_entity = i.id_entity and d.day = i._day
    )
    select i.id_entity, id_client, client_name, currency, id_invoice, reference_number, invoice_date, due_date, sent,
        total_incl_vat, total_due, late, case when late = 0 then 'not_due' when late <= 30 then 'days_1_to_30'
            when late <= 60 then 'days_31_to_60' when late <= 90 then 'days_61_to_90' else 'over_90_days' end,
        greatest(listed.read_at, _observed_at)
    from item i left join listed on listed.id_entity = i.id_entity and listed._day = i._day
$$;

comment on function bms.client_invoice_open_items is
    'Invoices that are neither canceled nor fully paid, with their age on a day and the time of their last read.';

create function bms.client_invoice_turnover_at(until timestamptz)
returns table (month date, id_entity bigint, currency text, invoices bigint, turnover numeric) language sql stable as $$
    with listed as (select * from bms.client_invoice_at(until))
    select cast(date_trunc('month', i.invoice_date) as date), i.id_entity, i.currency, count(*), sum(i.total_excl_vat)
    from listed i
    where i.canceled is not true
        or exists (select from listed c where c.id_entity = i.id_entity and c.id_invoice = i.id_credit)
    group by 1, 2, 3
$$;

comment on function bms.client_invoice_turnover_at is
    'Amounts without VAT by month of the invoice; a canceled invoice counts only with its credit note.';

create function bms.client_invoice_credits(until timestamptz)
returns table (kind text, id_entity bigint, client_name text, currency text, id_invoice bigint, reference_number text,
    invoice_date date, canceled_on timestamptz, total_incl_vat numeric, id_credit bigint, credit_number text,
    credited numeric) language sql stable as $$
    with listed as (select * from bms.client_invoice_at(until))
    select case when i.canceled then 'canceled' else 'credit_note' end, i.id_entity, i.client_name, i.currency,
        i.id_invoice, i.reference_number, i.invoice_date, i.canceled_on, i.total_incl_vat, i.id_credit,
        c.reference_number, c.total_incl_vat
    from listed i left join listed c on c.id_entity = i.id_entity and c.id_invoice = i.id_credit
    where i.canceled or i.total_incl_vat < 0
$$;

comment on function bms.client_invoice_credits is
    'Canceled invoices with their credit notes, and credit notes, which have negative amounts.';

create function bms.client_invoice_bridge(since timestamptz, until timestamptz)
returns table (currency text, line text, id_entity bigint, client_name text, id_invoice bigint, reference_number text,
    amount numeric) language sql stable as $$
    with compared as (
        select id_entity, id_invoice, coalesce(a.client_name, b.client_name) as client_name,
            coalesce(a.reference_number, b.reference_number) as reference_number, b.currency as was_in, a.currency as is_in,
            case when b.canceled then 0 else b.total_due end as was, case when a.canceled then 0 else a.total_due end as due,
            a.total_incl_vat - b.total_incl_vat as billed,
            case when b.id_invoice is null then 'new' when a.id_invoice is null then 'missing'
                when a.currency is distinct from b.currency then 'converted' when a.canceled then 'canceled'
                when b.canceled then 'restored' else 'same' end as event
        from bms.client_invoice_at(until) a full join bms.client_invoice_at(since) b using (id_entity, id_invoice)
    )
    select e.currency, e.line, id_entity, client_name, id_invoice, reference_number, e.amount
    from compared cross join lateral (values
        (was_in, 'opening', was),
        (is_in, 'new', case when event = 'new' then due end),
        (was_in, 'changed', case when event = 'converted' then -was end),
        (is_in, 'changed', case when event in ('converted', 'restored') then due when event = 'same' then billed end),
        (is_in, 'paid', case when event = 'same' then due - was - billed end),
        (was_in, 'canceled', case when event = 'canceled' then -was end),
        (was_in, 'missing', case when event = 'missing' then -was end),
        (is_in, 'closing', due)
    ) as e (currency, line, amount)
    where e.amount <> 0
$$;

comment on function bms.client_invoice_bridge is
    'What changed the amount due between two times, by invoice: opening, new, changed, paid, canceled, missing, closing.';

create view bms.client_invoice_open_item as
select * from bms.client_invoice_open_items(now(), cast(now() at time zone 'Europe/Paris' as date));
comment on view bms.client_invoice_open_item is 'Invoices that are neither canceled nor fully paid, with their age.';

create view bms.client_invoice_ageing as
select id_entity, id_client, (array_agg(client_name order by invoice_date desc, id_invoice desc))[1] as client_name, currency,
    coalesce(sum(total_due) filter (where age = 'not_due'), 0) as not_due,
    coalesce(sum(total_due) filter (where age = 'days_1_to_30'), 0) as days_1_to_30,
    coalesce(sum(total_due) filter (where age = 'days_31_to_60'), 0) as days_31_to_60,
    coalesce(sum(total_due) filter (where age = 'days_61_to_90'), 0) as days_61_to_90,
    coalesce(sum(total_due) filter (where age = 'over_90_days'), 0) as over_90_days, sum(total_due) as total_due
from bms.client_invoice_open_item group by id_entity, id_client, currency;
comment on view bms.client_invoice_ageing is 'Amounts due by entity, client, currency and age.';

create view bms.client_invoice_turnover as select * from bms.client_invoice_turnover_at(now());
comment on view bms.client_invoice_turnover is 'Amounts without VAT by month of the invoice, entity and currency.';

create view bms.client_invoice_credit as select * from bms.client_invoice_credits(now());
comment on view bms.client_invoice_credit is 'Canceled invoices with their credit notes, and credit notes.';

create view bms.client_invoice_month_bridge as
select * from bms.client_invoice_bridge(date_trunc('month', now(), 'Europe/Paris'), now());
comment on view bms.client_invoice_month_bridge is 'What changed the amount due since the last end of a month, by invoice.';

do $$
declare
    own record;
begin
    for own in
        select v.attrelid::regclass as shown, v.attname as name, coalesce(said.comment, col_description(i.attrelid, i.attnum)) as comment
        from pg_attribute v
        left join (values
            ('age', 'not_due, days_1_to_30, days_31_to_60, days_61_to_90 or over_90_days; not_due without a due date.'),
            ('amount', 'Change of the amount due, or the amount due at the opening or closing.'),
            ('credit_number', 'Number of the credit note of the invoice.'), ('credited', 'Amount of that credit note with VAT.'),
            ('days_1_to_30', 'Due for 1 to 30 days.'), ('days_31_to_60', 'Due for 31 to 60 days.'),
            ('days_61_to_90', 'Due for 61 to 90 days.'), ('days_late', 'Days since the due date; 0 before.'),
            ('invoices', 'Number of invoices.'), ('kind', 'canceled or credit_note.'),
            ('last_read_at', 'Time of the last read of the invoice.'),
            ('line', 'opening, new, changed, paid, canceled, missing or closing; changed: another total or currency, or restored.'),
            ('month', 'First day of the month.'), ('not_due', 'Not due yet, or without a due date.'),
            ('over_90_days', 'Due for more than 90 days.'), ('turnover', 'Sum without VAT.')
        ) as said (name, comment) on said.name = v.attname
        left join pg_attribute i on i.attrelid = 'bms.client_invoice'::regclass and i.attname = v.attname
        where v.attnum > 0 and v.attrelid in ('bms.client_invoice_open_item'::regclass, 'bms.client_invoice_ageing'::regclass,
            'bms.client_invoice_turnover'::regclass, 'bms.client_invoice_credit'::regclass, 'bms.client_invoice_month_bridge'::regclass)
    loop
        execute format('comment on column %s.%I is %L', own.shown, own.name, own.comment);
    end loop;
end $$;

-- Roles

do $$
begin
    if not exists (select from pg_roles where rolname = 'bms_analyst') then
        create role bms_analyst nologin;
    end if;
    if not exists (select from pg_roles where rolname = 'bms_private_reader') then
        create role bms_private_reader nologin;
    end if;
    revoke all on schema bms_private from public;
    grant usage on schema bms to bms_analyst, bms_private_reader;
    grant usage on schema bms_private to bms_private_reader;
    grant select on bms.client_invoice, bms.client_invoice_current, bms.client_invoice_version,
        bms.client_invoice_day, bms.code_name, bms.step_run, bms.control_total, bms.client_invoice_open_item,
        bms.client_invoice_ageing, bms.client_invoice_turnover, bms.client_invoice_credit, bms.client_invoice_month_bridge
        to bms_analyst;
    grant select on bms.contact, bms.contact_version to bms_analyst;
    grant select on bms.consultant, bms.consultant_version to bms_analyst;
    grant select on bms.employee, bms.employee_version to bms_analyst;
    grant select on bms.employee to bms_private_reader;
    -- Without the verbatim row.
    grant select (resource, id_entity, row_key, code, field, first_day, last_day, step_run_id, first_seen_at, last_seen_at, loads)
        on bms.quarantine to bms_analyst;
    grant select on all tables in schema bms_private to bms_private_reader;
exception when insufficient_privilege then
    raise warning 'Only the owner may read the tables: this user may not create the roles bms_analyst and bms_private_reader. Create both, and grant select by hand';
end $$;
