-- The first schema of the warehouse. A comment at the end of a line becomes the comment of its table or column.

create schema if not exists bms;
create schema bms_private;
comment on schema bms is 'Data of the Business Management Service.';
comment on schema bms_private is 'Personal data of employees; filled with employee_details=full only.';
comment on table bms.schema_version is 'The migration that this schema is at.';
comment on column bms.schema_version.version_num is 'Number of the migration.';

-- Steps of the flows

create table bms.step_run ( -- One row for each step of each run: what, which window, counts, requests, outcome.
    id bigint generated always as identity, -- The step's number.
    flow text not null, -- The DAG, by its id.
    dag_run_id text not null, -- Airflow's run, by its id.
    step text not null, -- What was done, by the task's name.
    id_entity bigint, -- The entity worked on, where there is one.
    window_start date, -- First day read.
    window_end date, -- Last day read, inclusive.
    state text not null, -- running, or how it ended.
    reason text, -- Why it isn't complete, and what a person can do.
    rows_read integer default '0' not null, -- Rows the service returned.
    inserted integer default '0' not null, -- Rows seen for the first time.
    changed integer default '0' not null, -- Rows that differed from what stood here.
    unchanged integer default '0' not null, -- Rows that stood here as they are.
    quarantined integer default '0' not null, -- Rows set aside in bms.quarantine.
    missing integer default '0' not null, -- Rows that stood here and no longer came back.
    requests integer default '0' not null, -- Requests sent, repeats and tokens included.
    retries integer default '0' not null, -- Requests repeated.
    throttles integer default '0' not null, -- Answers that asked to slow down.
    token_fetches integer default '0' not null, -- Tokens fetched.
    latency_p50_ms double precision, -- Median time of an answer, milliseconds.
    latency_p95_ms double precision, -- 95th percentile of the same, milliseconds.
    held_by bigint, -- The step that read these days and held them for review; empty for a step of its own.
    details jsonb, -- What belongs to this kind of step only.
    started_at timestamptz not null, -- When it began.
    finished_at timestamptz, -- When it ended; empty while running.
    constraint pk_step_run primary key (id),
    constraint ck_step_run_conservation check (state <> 'complete' or rows_read = inserted + changed + unchanged + quarantined),
    constraint ck_step_run_state check (state in ('running', 'complete', 'partial', 'suspect', 'unstable', 'failed'))
);
create index ix_step_run_dag_run_id on bms.step_run (dag_run_id);
create index ix_step_run_flow_started_at on bms.step_run (flow, started_at);

create table bms.control_total ( -- Sums of what a step read, for each entity and currency.
    step_run_id bigint not null, -- The step in bms.step_run that read the rows.
    id_entity bigint not null, -- The entity.
    currency text not null, -- The currency; sums never cross it.
    invoices integer not null, -- Rows summed.
    total_excl_vat numeric not null, -- Sum of total_excl_vat over the rows read.
    total_vat numeric not null, -- Sum of total_vat over the rows read.
    total_incl_vat numeric not null, -- Sum of total_incl_vat over the rows read.
    total_due numeric not null, -- Sum of total_due over the rows read.
    constraint pk_control_total primary key (step_run_id, id_entity, currency),
    constraint fk_control_total_step_run_id foreign key (step_run_id) references bms.step_run (id) on delete cascade
);

create table bms.quarantine ( -- Rows that could not be loaded; they leave when a later read is good.
    resource text not null, -- Table the row was meant for.
    id_entity bigint not null, -- The entity; 0 where the resource has none.
    row_key text not null, -- The row's identifier, or a digest of the row where that is unreadable.
    code text not null, -- What is wrong, as docs/runbook.md names it.
    field text, -- The field that is wrong.
    raw text not null, -- The row as it came.
    first_day date, -- The day it is listed under; where that can't be read, the first of the window that returned it.
    last_day date, -- The same day, or the last of that window: once all are read again, the row leaves.
    step_run_id bigint not null, -- The step that last saw it.
    first_seen_at timestamptz not null, -- When it was set aside.
    last_seen_at timestamptz not null, -- When it last came back bad.
    constraint pk_quarantine primary key (resource, id_entity, row_key)
);

-- Client invoices

create table bms.code_name ( -- Names of codes per language, kept apart so that a language changes no row.
    resource text not null, -- Table that holds the code.
    field text not null, -- Column that holds the code.
    code text not null, -- The code.
    language text not null, -- The language asked for, EN or FR.
    name text not null, -- What the service calls the code.
    seen_at timestamptz not null, -- When it last got this name.
    constraint pk_code_name primary key (resource, field, code, language)
);

create table bms.client_invoice ( -- Every client invoice ever seen, in its latest state.
    id_entity bigint not null, -- Entity the invoice was listed for (query parameter).
    id_invoice bigint not null, -- The service's identifier of the invoice.
    reference_number text, -- Number printed on the invoice.
    invoice_date date, -- Date of the invoice.
    due_date date, -- Date by which it is to be paid.
    invoice_type text, -- Code of the kind of invoice; values not shown.
    invoice_type_name text, -- Name of the code, see bms.code_name for each language.
    id_client bigint, -- The client billed.
    client_name text, -- The client's name as the service gives it.
    po_number text, -- The client's purchase order.
    vat_number text, -- The client's VAT number.
    invoice_subject text, -- What is billed.
    total_excl_vat numeric, -- Amount without VAT, in currency.
    total_vat numeric, -- VAT, in currency.
    total_incl_vat numeric, -- Amount with VAT, in currency.
    total_due numeric, -- Amount still to be paid, in currency.
    currency text, -- Currency of the four amounts.
    payment_mode text, -- Code of the way of payment; values not shown.
    payment_mode_name text, -- Name of the code, see bms.code_name for each language.
    status text, -- Code of the state; values not shown.
    status_name text, -- Name of the code, see bms.code_name for each language.
    id_account_manager bigint, -- Who looks after the client.
    created_on timestamptz, -- When the invoice was entered.
    created_by bigint, -- Who entered it.
    canceled boolean, -- Whether it was canceled.
    canceled_on timestamptz, -- When it was canceled.
    canceled_by bigint, -- Who canceled it.
    id_credit bigint, -- The credit note that undoes it.
    sent boolean, -- Whether it was sent to the client.
    sent_on timestamptz, -- When it was sent.
    sent_by bigint, -- Who sent it.
    _extra jsonb, -- Fields the service sent beyond its interface.
    _row_hash bytea not null, -- Digest of the fields' values; names kept per language stand outside of it.
    _version integer not null, -- How often the row was seen anew: 1 at first sight, one more at each change.
    _first_seen_at timestamptz not null, -- When a read first returned the row.
    _changed_at timestamptz not null, -- When a read first returned the row as it stands now.
    _step_run_id bigint not null, -- The step in bms.step_run that wrote the row as it stands now.
    _day date, -- The day the service lists it under: BMS_INVOICE_RANGE_DATE of the invoice.
    _missing_since timestamptz, -- When a read of the invoice's day first lacked it; the row is never deleted.
    constraint pk_client_invoice primary key (id_entity, id_invoice)
);
create index ix_client_invoice_id_entity_day on bms.client_invoice (id_entity, _day);

create table bms.client_invoice_version ( -- Every state in which a client invoice was seen, the first as _version 1.
    like bms.client_invoice including comments,
    _observed_at timestamptz not null, -- When this version was first seen.
    constraint pk_client_invoice_version primary key (id_entity, id_invoice, _version)
);
create index ix_client_invoice_version_observed_at on bms.client_invoice_version using brin (_observed_at);

create table bms.client_invoice_day ( -- The watermark of the extraction: which days were read completely, and when.
    id_entity bigint not null, -- The entity.
    day date not null, -- A day of invoices.
    invoices integer not null, -- Invoices the last read returned.
    open_invoices integer not null, -- Of these, not canceled and either unpaid or not sent.
    read_at timestamptz not null, -- Last complete read of the day.
    changed_at timestamptz, -- Last read that changed something; empty until then.
    constraint pk_client_invoice_day primary key (id_entity, day)
);

create table bms.client_invoice_lease ( -- Days of an entity that a run is working on; no two hold the same day.
    id_entity bigint not null, -- The entity being worked on.
    days daterange not null, -- The days being worked on.
    step_run_id bigint not null, -- The step in bms.step_run that holds them.
    task text not null, -- The task of that step; its next try takes over.
    expires_at timestamptz not null, -- When anybody may take them over.
    constraint ex_client_invoice_lease_days exclude using gist (int8range(id_entity, id_entity, '[]') with &&, days with &&)
);

-- Mirrors of contacts, consultants and employees

create table bms.contact ( -- Every contact ever seen, in its latest state; none is ever removed from here.
    id bigint not null, -- The service's identifier of the contact.
    first_name text, -- First name.
    last_name text, -- Last name.
    business_title text, -- What the person does at the client's.
    email text, -- E-mail address.
    phone_mobile_number text, -- Mobile phone.
    phone_number text, -- Phone. Read with the detail.
    fax_number text, -- Fax. Read with the detail.
    address text, -- Street. Read with the detail.
    postal_code text, -- Postal code.
    city text, -- City.
    country text, -- Country.
    exclude_from_emailing boolean, -- Whether mass mailings leave the person out.
    send_greetings_card boolean, -- Whether the person gets a greetings card.
    greetings_card_details text, -- What goes on the card. Read with the detail.
    is_lead boolean, -- Whether the contact is a lead.
    origin text, -- Where the contact comes from; values not shown.
    signal text, -- Code of a signal; values not shown.
    domains jsonb, -- Numbers of domains (contact_domains on creation). Read with the detail.
    notes text, -- Notes. Read with the detail.
    imported_company_name text, -- Company as imported, where there is no client.
    id_client bigint, -- The client the person belongs to.
    id_account_manager bigint, -- Who looks after the contact.
    active boolean, -- Whether the contact is active (actif in the list).
    deleted boolean not null, -- Whether the service flags it as deleted or it is missing: _removal_reason.
    created_on timestamptz, -- When the contact was entered.
    created_by bigint, -- Who entered it.
    modified_on timestamptz, -- When it was last modified.
    modified_by bigint, -- Who modified it.
    deleted_on timestamptz, -- When it was deleted, by the service's word.
    deleted_by bigint, -- Who deleted it.
    _extra jsonb, -- Fields the service sent beyond its interface.
    _row_hash bytea not null, -- Digest of the fields' values; names kept per language stand outside of it.
    _version integer not null, -- How often the row was seen anew: 1 at first sight, one more at each change.
    _first_seen_at timestamptz not null, -- When a read first returned the row.
    _changed_at timestamptz not null, -- When a read first returned the row as it stands now.
    _step_run_id bigint not null, -- The step in bms.step_run that wrote the row as it stands now.
    _list_hash bytea, -- Digest of the list item that the row agrees with; empty where no list had it.
    _detailed boolean not null, -- Whether its detail was read since its list item changed; else its fields are older.
    _removal_reason text, -- flagged: the service says deleted; missing: it no longer has it; else empty.
    _assigned boolean, -- Whether the list with filter=ASSIGNED has it, whose meaning is not shown; empty where no run has read that list since the row came.
    constraint pk_contact primary key (id),
    constraint ck_contact_deleted check (deleted = (_removal_reason is not null)),
    constraint ck_contact_removal_reason check (_removal_reason in ('flagged', 'missing'))
);

create table bms.contact_version ( -- Every state in which a contact was seen, the first as _version 1.
    like bms.contact including comments,
    _observed_at timestamptz not null, -- When this version was first seen.
    constraint pk_contact_version primary key (id, _version)
);

create table bms.consultant ( -- Every consultant ever seen, in its latest state; none is ever removed from here.
    id bigint not null, -- The service's identifier of the consultant.
    first_name text, -- First name.
    last_name text, -- Last name.
    type text, -- Code of the kind of consultant; values not shown.
    affinity bigint, -- Affinity; range and meaning not shown.
    rate numeric, -- Rate in currency; its unit of time is not shown.
    currency text, -- Currency of the rate.
    availability_date text, -- From when the consultant is free, as the service says.
    birth_year bigint, -- Year of birth.
    work_start_year bigint, -- Year in which working life began.
    professional_profile text, -- Profile. Read with the detail.
    skills jsonb, -- Skills: array of id, level, favorite.
    languages jsonb, -- Languages: array of code, level.
    address text, -- Street. Read with the detail.
    postal_code text, -- Postal code.
    city text, -- City.
    country text, -- Country.
    phone_number text, -- Phone.
    phone_mobile_number text, -- Mobile phone.
    email text, -- E-mail address.
    no_emails boolean, -- Whether the person wants no e-mails.
    no_sms boolean, -- Whether the person wants no text messages.
    id_client bigint, -- The client the consultant belongs to.
    notes text, -- Notes. Read with the detail.
    custom1 text, -- Free field 1. Read with the detail.
    custom2 text, -- Free field 2. Read with the detail.
    custom3 text, -- Free field 3. Read with the detail.
    custom4 text, -- Free field 4. Read with the detail.
    custom5 text, -- Free field 5. Read with the detail.
    active boolean, -- Whether the consultant is active.
    created_on timestamptz, -- When the consultant was entered.
    created_by bigint, -- Who entered it.
    modified_on timestamptz, -- When it was last modified.
    modified_by bigint, -- Who modified it.
    deleted boolean not null, -- Whether the consultant is missing; ours, the interface has no such flag.
    _extra jsonb, -- Fields the service sent beyond its interface.
    _row_hash bytea not null, -- Digest of the fields' values; names kept per language stand outside of it.
    _version integer not null, -- How often the row was seen anew: 1 at first sight, one more at each change.
    _first_seen_at timestamptz not null, -- When a read first returned the row.
    _changed_at timestamptz not null, -- When a read first returned the row as it stands now.
    _step_run_id bigint not null, -- The step in bms.step_run that wrote the row as it stands now.
    _list_hash bytea, -- Digest of the list item that the row agrees with; empty where no list had it.
    _detailed boolean not null, -- Whether its detail was read since its list item changed; else its fields are older.
    _removal_reason text, -- flagged: the service says deleted; missing: it no longer has it; else empty.
    constraint pk_consultant primary key (id),
    constraint ck_consultant_deleted check (deleted = (_removal_reason is not null)),
    constraint ck_consultant_removal_reason check (_removal_reason in ('flagged', 'missing'))
);

create table bms.consultant_version ( -- Every state in which a consultant was seen, the first as _version 1.
    like bms.consultant including comments,
    _observed_at timestamptz not null, -- When this version was first seen.
    constraint pk_consultant_version primary key (id, _version)
);

create table bms.employee ( -- Every employee ever seen, as a directory may show them; none is ever removed.
    guid_employee text not null, -- The service's identifier of the employee.
    id_employee bigint, -- The employee's number.
    reference_number bigint, -- The employee's reference number.
    id_entity bigint, -- Entity that employs: as the detail says, else as listed.
    is_standby boolean, -- Whether the employee is on standby.
    salutation_code text, -- Code of the salutation; values not shown.
    first_name text, -- First name.
    preferred_first_name text, -- First name in use. Read with the detail.
    last_name text, -- Last name.
    preferred_last_name text, -- Last name in use. Read with the detail.
    payroll_number text, -- Number in the payroll.
    business_landline_phone text, -- Landline at work. Read with the detail.
    business_mobile_phone text, -- Mobile phone at work.
    business_email text, -- E-mail address at work.
    job_title text, -- What the employee does.
    department_code text, -- Code of the department; values not shown.
    department_service text, -- Service within the department.
    affiliated_company text, -- Affiliated company. Read with the detail.
    id_manager bigint, -- The manager's id_employee. Read with the detail.
    category_code text, -- Code of the category; values not shown.
    contract_type_code text, -- Code of the contract. Read with the detail.
    status_code text, -- Code of the status. Read with the detail.
    status_position text, -- Position within the status. Read with the detail.
    status_factor text, -- Factor of the status. Read with the detail.
    is_salesperson boolean, -- Whether the employee sells.
    is_consultant boolean, -- Whether the employee is a consultant.
    start_date date, -- First day of work.
    end_date_trial_first_period date, -- End of the first trial period. Read with the detail.
    end_date_trial_second_period date, -- End of the second trial period. Read with the detail.
    departure_date date, -- Last day of work. Leaving is no deletion.
    departure_estimated_date date, -- Last day of work, estimated.
    mission1 text, -- Mission 1. Read with the detail.
    mission2 text, -- Mission 2. Read with the detail.
    mission3 text, -- Mission 3. Read with the detail.
    mission4 text, -- Mission 4. Read with the detail.
    mission5 text, -- Mission 5. Read with the detail.
    mission6 text, -- Mission 6. Read with the detail.
    skills text, -- Skills. Read with the detail.
    has_timesheets boolean, -- Whether timesheets are kept. Read with the detail.
    timesheets_frequency_code bigint, -- Code of how often. Read with the detail.
    has_portal_access boolean, -- Whether the portal is open to them. Read with the detail.
    exclude_from_directory boolean, -- Whether directories leave them out. Read with the detail.
    meal_vouchers_count bigint, -- Meal vouchers. Read with the detail.
    has_overtime boolean, -- Whether overtime is paid. Read with the detail.
    activity_rate bigint, -- Share of full time, percent. Read with the detail.
    use_vehicle boolean, -- Whether they use a vehicle. Read with the detail.
    vehicle_type_code text, -- Code of the vehicle. Read with the detail.
    vehicle_tax_horsepower_code text, -- Code of its tax horsepower. Read with the detail.
    vehicle_registration_number text, -- Its registration. Read with the detail.
    vehicle_price_per_km numeric, -- Price per kilometre. Read with the detail.
    created_on timestamptz, -- When the employee was entered.
    created_by bigint, -- Who entered it.
    modified_on timestamptz, -- When it was last modified.
    modified_by bigint, -- Who modified it.
    validated_on timestamptz, -- When it was validated.
    validated_by bigint, -- Who validated it.
    deleted boolean not null, -- Whether the employee is missing; ours: a leaver has a departure_date.
    _extra jsonb, -- Fields the service sent beyond its interface.
    _row_hash bytea not null, -- Digest of the fields' values; names kept per language stand outside of it.
    _version integer not null, -- How often the row was seen anew: 1 at first sight, one more at each change.
    _first_seen_at timestamptz not null, -- When a read first returned the row.
    _changed_at timestamptz not null, -- When a read first returned the row as it stands now.
    _step_run_id bigint not null, -- The step in bms.step_run that wrote the row as it stands now.
    _list_hash bytea, -- Digest of the list item that the row agrees with; empty where no list had it.
    _detailed boolean not null, -- Whether its detail was read since its list item changed; else its fields are older.
    _removal_reason text, -- flagged: the service says deleted; missing: it no longer has it; else empty.
    _entity bigint not null, -- Entity whose list had it last (query parameter).
    _standby boolean not null, -- Whether filter=STANDBY has it.
    _former boolean not null, -- Whether filter=FORMER has it.
    constraint pk_employee primary key (guid_employee),
    constraint ck_employee_deleted check (deleted = (_removal_reason is not null)),
    constraint ck_employee_removal_reason check (_removal_reason in ('flagged', 'missing'))
);
create index ix_employee_entity on bms.employee (_entity);

create table bms.employee_version ( -- Every state in which an employee was seen, the first as _version 1.
    like bms.employee including comments,
    _observed_at timestamptz not null, -- When this version was first seen.
    constraint pk_employee_version primary key (guid_employee, _version)
);

-- Onboarding: dropped files, plans and the ledger

create table bms.dropped_file ( -- One row for each file dropped, however often it is seen; taking one is inserting it.
    id bigint generated always as identity, -- The drop's number.
    resource text not null, -- What the inbox creates.
    path text not null, -- The file's name inside the inbox.
    size bigint not null, -- Its size, bytes.
    stamp text not null, -- Its time of modification (nanoseconds), or its etag on an object store; with the drop's number once the same file was dropped again.
    state text not null, -- waiting, open, or how it ended.
    waits_for text, -- Why it is not taken yet; empty once it is.
    unchanged_since timestamptz, -- From when on a waiting file was seen unchanged.
    reason text, -- Code of why it was withdrawn; empty otherwise.
    ended_before text, -- How it had ended before it was taken again; else empty.
    dag_run_id text not null, -- Airflow's run that works on it, by its id.
    expires_at timestamptz not null, -- When another run may take it over.
    sha256 text, -- Digest of its content; empty until it was read whole.
    same_as bigint, -- Earlier drop of the same content.
    archive text, -- Where the original is kept, below the data root.
    report text, -- Folder of its report, below the data root.
    counts jsonb, -- Rows by how they ended; empty until the drop ended.
    entered_at timestamptz not null, -- When it was first seen, or taken.
    started_at timestamptz, -- When its run was started; empty until then.
    finished_at timestamptz, -- When it ended last.
    constraint pk_dropped_file primary key (id),
    constraint ck_dropped_file_finished check (state in ('waiting', 'open') or finished_at is not null),
    constraint ck_dropped_file_state check (state in ('waiting', 'open', 'applied', 'not_applied', 'repeated', 'withdrawn')),
    constraint fk_dropped_file_same_as foreign key (same_as) references bms.dropped_file (id),
    constraint uq_dropped_file_resource_dag_run_id unique (resource, dag_run_id),
    constraint uq_dropped_file_resource_path_size_stamp unique (resource, path, size, stamp)
);
create index ix_dropped_file_resource_sha256 on bms.dropped_file (resource, sha256);

create table bms.creation_plan ( -- Plans of drops, immutable: what would be done, and who agreed to it.
    drop_id bigint not null, -- The drop.
    id text not null, -- Hash of the plan; what a person approves.
    resource text not null, -- What it creates.
    state text not null, -- made, then approved or refused, then applied.
    bound jsonb not null, -- Digests of what it was made from.
    counts jsonb not null, -- Rows by what becomes of them.
    breaches jsonb not null, -- Limits it exceeds; figures only.
    creates jsonb not null, -- Digests of what it would send, by key.
    rows jsonb not null, -- Each line with what becomes of it: codes, fields and ids, no values.
    made_at timestamptz not null, -- When it was made.
    decided_by text, -- Who approved or refused it; the setting that asked nobody.
    decided_at timestamptz, -- When.
    applied_at timestamptz, -- When its rows were entered in the ledger.
    constraint pk_creation_plan primary key (drop_id, id),
    constraint ck_creation_plan_state check (state in ('made', 'approved', 'refused', 'applied')),
    constraint fk_creation_plan_drop_id foreign key (drop_id) references bms.dropped_file (id)
);

create table bms.creation_snapshot ( -- What the service's lists contained before rows were entered; deleted once they are done.
    id bigint generated always as identity, -- Its number.
    resource text not null, -- The resource whose lists were read.
    drop_id bigint not null, -- The drop then.
    taken_at timestamptz not null, -- When the reading began.
    content bytea not null, -- Ids and digests of the lists' records, compressed; no personal data.
    constraint pk_creation_snapshot primary key (id),
    constraint fk_creation_snapshot_drop_id foreign key (drop_id) references bms.dropped_file (id)
);
create index ix_creation_snapshot_drop_id on bms.creation_snapshot (drop_id);

create table bms.creation ( -- The ledger: one row for each record to be created, whatever is dropped how often.
    id bigint generated always as identity, -- The row's number.
    resource text not null, -- What is created.
    key text not null, -- Digest of the natural key.
    digest text not null, -- Digest of the data as dropped.
    drop_id bigint not null, -- Its latest drop.
    line integer not null, -- Its line there.
    state text not null, -- Where it stands.
    attempt integer not null, -- POSTs intended so far.
    max_attempts integer not null, -- Number of the last attempt allowed.
    first_intended_at timestamptz, -- Intent of the first POST.
    intended_at timestamptz, -- Intent of the last POST, committed before it.
    in_flight_until timestamptz, -- When the last POST can no longer be in progress.
    empty_lookups integer not null, -- Lookups since the last POST that found no record.
    snapshot_id bigint, -- The snapshot of the service taken before it was entered.
    checked_at timestamptz, -- When its lease holder last saw the service without a record for it.
    returned_id text, -- The id that a POST returned and that can't be read yet.
    remote_id text, -- The service's id of the record: guid or number.
    remote_number bigint, -- Its number, where it has one beside the id.
    is_standby boolean, -- Whether it was on standby when last seen.
    reason text, -- Code: why it is unknown, rejected or needs review.
    evidence jsonb not null, -- Codes: what the outcome rests on.
    candidates jsonb not null, -- Remote ids a person chooses from.
    dismissed jsonb default '[]' not null, -- Remote ids that a reviewer decided against.
    manager_key text, -- Key of the row that must be there before.
    verified jsonb, -- Names of fields read back: equal, different, unreadable.
    owner text, -- Who works on it.
    leased_until timestamptz, -- When anybody may take it over.
    entered_at timestamptz not null, -- When it was first entered.
    changed_at timestamptz not null, -- When it last moved.
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

create table bms.creation_body ( -- Bodies that may have to be sent again or compared; deleted BMS_KEEP_DAYS after.
    creation_id bigint not null, -- The row of the ledger.
    body text not null, -- What is sent, as JSON. Personal data.
    constraint pk_creation_body primary key (creation_id),
    constraint fk_creation_body_creation_id foreign key (creation_id) references bms.creation (id) on delete cascade
);

create table bms.creation_event ( -- The ledger's history: every move of every row, every decision with who and when.
    id bigint generated always as identity, -- Order of entry.
    creation_id bigint not null, -- The row of the ledger.
    at timestamptz not null, -- When, by the database's clock.
    what text not null, -- Code of what happened.
    attempt integer not null, -- The attempt it belongs to.
    who text, -- The person who decided; empty for the engine.
    detail text, -- A code, a remote id, or the run of a decision.
    constraint pk_creation_event primary key (id),
    constraint fk_creation_event_creation_id foreign key (creation_id) references bms.creation (id) on delete cascade
);
create index ix_creation_event_creation_id on bms.creation_event (creation_id);

create table bms.creation_match ( -- Records that dropped rows turned out to be: from then on the id is who it is.
    resource text not null, -- What the record is.
    key text not null, -- Digest of what a dropped row was found by.
    remote_id text not null, -- The service's id of its record.
    drop_id bigint not null, -- The drop then.
    matched_at timestamptz not null, -- When.
    constraint pk_creation_match primary key (resource, key),
    constraint fk_creation_match_drop_id foreign key (drop_id) references bms.dropped_file (id)
);

create table bms.contact_agreement ( -- What drops and CRM last agreed on, field by field: the base of a difference.
    id_contact bigint not null, -- The service's identifier.
    field text not null, -- The field, as drops name it.
    value jsonb not null, -- What both sides had. Personal data.
    agreed_at timestamptz not null, -- When they last had the same.
    drop_id bigint, -- Drop that had it; empty where that was not kept yet.
    constraint pk_contact_agreement primary key (id_contact, field),
    constraint fk_contact_agreement_drop_id foreign key (drop_id) references bms.dropped_file (id)
);

create table bms.contact_difference ( -- In what dropped contacts and the CRM disagree; each told once until it changes.
    id_contact bigint not null, -- The service's identifier.
    field text not null, -- The field, as drops name it.
    base jsonb, -- What both last had; empty where they never agreed.
    ours jsonb not null, -- What was dropped last. Personal data.
    theirs jsonb, -- What the CRM has. Personal data.
    drop_id bigint not null, -- Drop that told it.
    since timestamptz not null, -- From when on it is as it is.
    resolved_at timestamptz, -- When both had the same again; empty while it stands.
    constraint pk_contact_difference primary key (id_contact, field),
    constraint fk_contact_difference_drop_id foreign key (drop_id) references bms.dropped_file (id)
);

-- Monitoring, audit and the service

create table bms.alarm ( -- One row for each time that something was in trouble; a subject has one open at most.
    id bigint generated always as identity, -- The alarm's number.
    subject text not null, -- What is in trouble; a flow by its DAG's id.
    code text not null, -- What is wrong, as docs/runbook.md names it.
    detail text not null, -- What was seen: figures, days, no person.
    flow text, -- The DAG concerned, by its id.
    dag_run_id text, -- Airflow's run that shows it, by its id.
    since timestamptz not null, -- When the trouble began.
    raised_at timestamptz not null, -- When it was noticed.
    notified_at timestamptz, -- When its message was taken by a channel.
    aspects text[] default '{}' not null, -- What is wrong in detail: codes, entities. A new one is notified as an update.
    size integer default '0' not null, -- How much is wrong, as rows; 0 where nothing is counted.
    notified_aspects text[] default '{}' not null, -- The aspects that messages have named.
    notified_size integer default '0' not null, -- The largest size that a message has named.
    update_notified_at timestamptz, -- When the message of an update was taken.
    recovered_at timestamptz, -- When it was over; empty while open.
    recovery_reason text, -- Why it was over, where no check found that it is.
    recovery_notified_at timestamptz, -- When the message of that was taken.
    constraint pk_alarm primary key (id),
    constraint ck_alarm_notified check (recovery_notified_at is null or (notified_at is not null and recovered_at is not null))
);
create unique index uq_alarm_subject_open on bms.alarm (subject) where recovered_at is null;

create table bms.reconciliation ( -- Result of the self-audit for each day or list: its state, and the reasons.
    resource text not null, -- Table whose rows were compared.
    id_entity bigint not null, -- The entity; 0 where the resource has none.
    day date not null, -- The day of the invoices; of a list, the day of the audit.
    part integer not null, -- Part of a long list, from 1; 1 for a day of invoices.
    parts integer not null, -- Parts that the list had at its latest audit.
    state text not null, -- reconciled; pending: differs from the warehouse until a load or audit decides; not_reconciled; not_checked.
    reasons text[] not null, -- Codes of what was found; else empty.
    found jsonb not null, -- Rows of contradictions, by code.
    pending jsonb not null, -- Rows that differ from the warehouse before a load or audit decides, by code.
    rows_compared integer not null, -- Rows that were held against others.
    changed_meanwhile integer not null, -- Rows that changed while they were read.
    rows jsonb not null, -- Keys of these rows, by code, with digest and version where the warehouse differs.
    checked_at timestamptz not null, -- When it was last compared.
    tried_at timestamptz, -- When an audit last began to compare it.
    step_run_id bigint not null, -- The step in bms.step_run that audited it.
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

create table bms.service_identity ( -- The service that the warehouse is filled from; flows refuse another one.
    id integer not null, -- 1 for the first service, one more at each change; the highest is current.
    host text not null, -- Host and path of the base URL.
    application_id text not null, -- The application id of the connection.
    since timestamptz not null, -- When it was stored.
    confirmed boolean not null, -- Whether an operator confirmed a change.
    constraint pk_service_identity primary key (id)
);

-- Restricted data of employees

create table bms_private.employee_private ( -- What of employees is not for a directory; filled with employee_details=full only.
    guid_employee text not null, -- The service's identifier of the employee.
    birth_date text, -- Date of birth, as the service writes it.
    birth_city text, -- City of birth.
    birth_country text, -- Country of birth.
    nationality text, -- Nationality.
    social_security_number text, -- Social security number.
    resident_permit_number text, -- Number of the resident permit.
    resident_permit_expiration_date text, -- End of the permit, as the service says.
    address text, -- Street of the home.
    postal_code text, -- Postal code of the home.
    city text, -- City of the home.
    country text, -- Country of the home.
    personal_email text, -- Private e-mail address.
    personal_mobile_phone text, -- Private mobile phone.
    personal_landline_phone text, -- Private landline.
    emergency_contacts text, -- Whom to call in an emergency.
    _extra jsonb, -- Fields the service sent beyond its interface.
    _row_hash bytea not null, -- Digest of the fields' values; names kept per language stand outside of it.
    _version integer not null, -- How often the row was seen anew: 1 at first sight, one more at each change.
    _first_seen_at timestamptz not null, -- When a read first returned the row.
    _changed_at timestamptz not null, -- When a read first returned the row as it stands now.
    _step_run_id bigint not null, -- The step in bms.step_run that wrote the row as it stands now.
    constraint pk_employee_private primary key (guid_employee)
);

create table bms_private.employee_private_version ( -- Every state in which these were seen.
    like bms_private.employee_private including comments,
    _observed_at timestamptz not null, -- When this version was first seen.
    constraint pk_employee_private_version primary key (guid_employee, _version)
);

-- Views

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
left join bms.code_name type_en on type_en.resource = 'client_invoice'
    and type_en.field = 'invoice_type' and type_en.code = i.invoice_type and type_en.language = 'EN'
left join bms.code_name type_fr on type_fr.resource = 'client_invoice'
    and type_fr.field = 'invoice_type' and type_fr.code = i.invoice_type and type_fr.language = 'FR'
left join bms.code_name mode_en on mode_en.resource = 'client_invoice'
    and mode_en.field = 'payment_mode' and mode_en.code = i.payment_mode and mode_en.language = 'EN'
left join bms.code_name mode_fr on mode_fr.resource = 'client_invoice'
    and mode_fr.field = 'payment_mode' and mode_fr.code = i.payment_mode and mode_fr.language = 'FR'
left join bms.code_name status_en on status_en.resource = 'client_invoice'
    and status_en.field = 'status' and status_en.code = i.status and status_en.language = 'EN'
left join bms.code_name status_fr on status_fr.resource = 'client_invoice'
    and status_fr.field = 'status' and status_fr.code = i.status and status_fr.language = 'FR'
where i._missing_since is null;

comment on view bms.client_invoice_current is
    'Every invoice that the service still returns, with code labels in both languages.';

-- Columns of the view have the comments of the table's columns.
do $$
declare
    own record;
begin
    for own in
        select v.attname as name, col_description('bms.client_invoice'::regclass, t.attnum) as comment
        from pg_attribute v
        left join pg_attribute t
            on t.attrelid = 'bms.client_invoice'::regclass and t.attname = v.attname
        where v.attrelid = 'bms.client_invoice_current'::regclass and v.attnum > 0
    loop
        execute format(
            'comment on column bms.client_invoice_current.%I is %L', own.name,
            coalesce(own.comment, 'See bms.code_name and bms.client_invoice_day.')
        );
    end loop;
end $$;

create function bms.client_invoice_as_of(day date, zone text default 'Europe/Paris')
returns setof bms.client_invoice_version language sql stable as $$
    select (latest).* from (
        select distinct on (id_entity, id_invoice) v as latest
        from bms.client_invoice_version v
        where _observed_at < (day + 1)::timestamp at time zone zone
        order by id_entity, id_invoice, _version desc
    ) known
    where (latest)._missing_since is null
$$;

comment on function bms.client_invoice_as_of is 'Every invoice as the warehouse held it at the end of a day.';

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
        bms.client_invoice_day, bms.code_name, bms.step_run, bms.control_total,
        bms.contact, bms.contact_version, bms.consultant, bms.consultant_version,
        bms.employee, bms.employee_version to bms_analyst;
    grant select on bms.employee to bms_private_reader;
    grant select on all tables in schema bms_private to bms_private_reader;
exception when insufficient_privilege then
    raise notice 'bms_analyst, bms_private_reader: not allowed to create roles here; grant select by hand';
end $$;
