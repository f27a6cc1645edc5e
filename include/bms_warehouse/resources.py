"""Descriptions of mirrored resources: the source of their tables, mirrors, DAGs and documentation rows.

DAG files import this module: it imports nothing heavy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["bigint", "boolean", "date", "json", "numeric", "text", "time"]
Column = tuple[str, Kind, str]
"""Name of a field of the service, kind of its column, and its meaning."""


_DETAIL: Final = "Read with the detail."
"""End of the meaning of a column that only the detail fills."""


@dataclass(frozen=True)
class Restriction:
    """A query parameter that restricts a list; also a param of the DAG."""

    name: str
    kind: Literal["boolean", "integer", "string"]
    title: str
    meaning: str


@dataclass(frozen=True)
class Flag:
    """A column that records whether a filtered list contains the row."""

    name: str
    filter: str
    """Value of the query parameter `filter` that requests the list."""
    meaning: str
    nullable: bool = False
    """Whether some runs do not read the list, so that the flag of a new row may be unknown."""


@dataclass(frozen=True, kw_only=True)
class ResourceDescription:
    """A resource of the service with a list, mirrored in a table of the same name."""

    name: str
    plural: str
    columns: Sequence[Column]
    """Fields in the order of the table's columns; the first is the key."""
    aliases: Sequence[tuple[str, str]] = ()
    """Column of each field whose name differs from its column, alternative names included."""
    filter: str | None = None
    """Value of the query parameter `filter` that requests every row."""
    other_filters: Sequence[str] = ()
    """Values of `filter` that a run may use instead, to read some of the rows."""
    deleted_filter: str | None = None
    """Value of `filter` that requests deleted rows."""
    flags: Sequence[Flag] = ()
    restrictions: Sequence[Restriction] = ()
    per_entity: bool = False
    """Whether each entity has a list."""
    private_columns: Sequence[Column] = ()
    """Personal fields of the detail, stored in a restricted table `<name>_private`, or not at all."""
    system: Literal["CRM", "HR"] = "CRM"
    has_detail: bool = True
    """Whether an operation reads one record; if not, a complete run alone proves a removal."""
    schedule: str | None = None
    """Cron expression of the DAG `<name>_sync`; None if the DAG has a file of its own."""
    fresh_hours: float = 26
    """Default freshness target of the mirror, in hours."""
    deadline_hours: float = 2
    """Hours after which a run counts as overdue."""

    def __post_init__(self) -> None:
        if self.private_columns and not self.has_detail:
            raise ValueError(
                f"{self.name}: private columns are filled from the detail, but has_detail is False"
            )

    @property
    def key(self) -> str:
        """The field that identifies a record."""
        return self.columns[0][0]

    @property
    def list_operation(self) -> str:
        """The operation that lists the records."""
        return f"list_{self.plural}"

    @property
    def read_operation(self) -> str:
        """The operation that reads one record."""
        return f"read_{self.name}"

    @property
    def operations(self) -> Sequence[str]:
        """The operations that a run requests."""
        return [self.list_operation, *([self.read_operation] if self.has_detail else [])]

    @property
    def detail_columns(self) -> Sequence[str]:
        """The columns that only the detail fills."""
        return [name for name, _, meaning in self.columns if meaning.endswith(_DETAIL)]

    @property
    def details_level(self) -> str:
        """Name of the param, and of the setting, that decides whether private fields are stored."""
        return f"{self.name}_details"

    @property
    def summary(self) -> str:
        """What the DAG of the resource does."""
        often = "hour" if self.schedule and self.schedule.split()[1] == "*" else "day"
        return f"Mirrors the {self.system} {self.plural} into the warehouse, every {often}."

    @property
    def title(self) -> str:
        """Title on the board."""
        return self.plural.capitalize()


_ACTIVITY: Final[Sequence[Column]] = (
    ("created_on", "time", "Time of creation in the service."),
    ("created_by", "bigint", "User who created the record."),
    ("modified_on", "time", "Time of the latest modification."),
    ("modified_by", "bigint", "User of the latest modification."),
)


def _text(name: str, meaning: str) -> Column:
    return name, "text", meaning


CONTACT: Final = ResourceDescription(
    name="contact",
    plural="contacts",
    columns=(
        ("id", "bigint", "Identifier of the contact in the service."),
        ("first_name", "text", "First name."),
        ("last_name", "text", "Last name."),
        ("business_title", "text", "Job title at the client."),
        ("email", "text", "E-mail address."),
        ("phone_mobile_number", "text", "Mobile phone."),
        ("phone_number", "text", f"Phone. {_DETAIL}"),
        ("fax_number", "text", f"Fax. {_DETAIL}"),
        ("address", "text", f"Street. {_DETAIL}"),
        ("postal_code", "text", "Postal code."),
        ("city", "text", "City."),
        ("country", "text", "Country."),
        ("exclude_from_emailing", "boolean", "Whether mass mailings exclude the contact."),
        ("send_greetings_card", "boolean", "Whether the contact receives a greetings card."),
        ("greetings_card_details", "text", f"Text of the card. {_DETAIL}"),
        ("is_lead", "boolean", "Whether the contact is a lead."),
        ("origin", "text", "Origin of the contact; values unspecified by the service."),
        ("signal", "text", "Signal code; values unspecified by the service."),
        ("domains", "json", f"Numbers of domains (contact_domains on creation). {_DETAIL}"),
        ("notes", "text", f"Notes. {_DETAIL}"),
        (
            "imported_company_name",
            "text",
            "Company name from an import, for a contact without client.",
        ),
        ("id_client", "bigint", "Client of the contact."),
        ("id_account_manager", "bigint", "Account manager of the contact."),
        ("active", "boolean", "Whether the contact is active (actif in the list)."),
        *_ACTIVITY,
        ("deleted_on", "time", "Time of deletion in the service."),
        ("deleted_by", "bigint", "User who deleted the record."),
    ),
    aliases=(("actif", "active"), ("active", "active"), ("contact_domains", "domains")),
    filter="ALL",
    other_filters=("ACTIVE", "ASSIGNED", "DELETED"),
    deleted_filter="DELETED",
    flags=(
        Flag(
            "_assigned",
            "ASSIGNED",
            "Whether the list with filter=ASSIGNED contains the contact; null until a run reads "
            "that list.",
            nullable=True,
        ),
    ),
    restrictions=(
        Restriction("id_client", "integer", "Client", "Number of a client."),
        Restriction("is_lead", "boolean", "Leads", "true: only leads. false: only others."),
    ),
    schedule="5 * * * *",
    fresh_hours=1.5,
    deadline_hours=0.5,
)

CONSULTANT: Final = ResourceDescription(
    name="consultant",
    plural="consultants",
    columns=(
        ("id", "bigint", "Identifier of the consultant in the service."),
        ("first_name", "text", "First name."),
        ("last_name", "text", "Last name."),
        ("type", "text", "Type code; values unspecified by the service."),
        ("affinity", "bigint", "Affinity; range and meaning unspecified by the service."),
        ("rate", "numeric", "Rate in currency; time unit unspecified by the service."),
        ("currency", "text", "Currency of the rate."),
        ("availability_date", "text", "First day of availability, verbatim."),
        ("birth_year", "bigint", "Year of birth."),
        ("work_start_year", "bigint", "First year of work."),
        ("professional_profile", "text", f"Profile. {_DETAIL}"),
        ("skills", "json", "Skills: array of id, level, favorite."),
        ("languages", "json", "Languages: array of code, level."),
        ("address", "text", f"Street. {_DETAIL}"),
        ("postal_code", "text", "Postal code."),
        ("city", "text", "City."),
        ("country", "text", "Country."),
        ("phone_number", "text", "Phone."),
        ("phone_mobile_number", "text", "Mobile phone."),
        ("email", "text", "E-mail address."),
        ("no_emails", "boolean", "Whether the consultant opted out of e-mails."),
        ("no_sms", "boolean", "Whether the consultant opted out of text messages."),
        ("id_client", "bigint", "Client of the consultant."),
        ("notes", "text", f"Notes. {_DETAIL}"),
        *(_text(f"custom{n}", f"Free field {n}. {_DETAIL}") for n in range(1, 6)),
        ("active", "boolean", "Whether the consultant is active."),
        *_ACTIVITY,
    ),
    restrictions=(
        Restriction("type", "string", "Type", "Type code of the service."),
        Restriction("id_client", "integer", "Client", "Number of a client."),
    ),
    schedule="20 4 * * *",
)

EMPLOYEE: Final = ResourceDescription(
    name="employee",
    plural="employees",
    columns=(
        ("guid_employee", "text", "Identifier of the employee in the service."),
        ("id_employee", "bigint", "Number of the employee."),
        ("reference_number", "bigint", "Reference number of the employee."),
        ("id_entity", "bigint", "Employing entity, from the detail or else the list."),
        ("is_standby", "boolean", "Whether the employee is on standby."),
        ("salutation_code", "text", "Code of the salutation; values unspecified by the service."),
        ("first_name", "text", "First name."),
        ("preferred_first_name", "text", f"First name in use. {_DETAIL}"),
        ("last_name", "text", "Last name."),
        ("preferred_last_name", "text", f"Last name in use. {_DETAIL}"),
        ("payroll_number", "text", "Number in the payroll."),
        ("business_landline_phone", "text", f"Landline at work. {_DETAIL}"),
        ("business_mobile_phone", "text", "Mobile phone at work."),
        ("business_email", "text", "E-mail address at work."),
        ("job_title", "text", "Job title."),
        ("department_code", "text", "Code of the department; values unspecified by the service."),
        ("department_service", "text", "Service within the department."),
        ("affiliated_company", "text", f"Affiliated company. {_DETAIL}"),
        ("id_manager", "bigint", f"The manager's id_employee. {_DETAIL}"),
        ("category_code", "text", "Code of the category; values unspecified by the service."),
        ("contract_type_code", "text", f"Code of the contract. {_DETAIL}"),
        ("status_code", "text", f"Code of the status. {_DETAIL}"),
        ("status_position", "text", f"Position within the status. {_DETAIL}"),
        ("status_factor", "text", f"Factor of the status. {_DETAIL}"),
        ("is_salesperson", "boolean", "Whether the employee sells."),
        ("is_consultant", "boolean", "Whether the employee is a consultant."),
        ("start_date", "date", "First day of work."),
        ("end_date_trial_first_period", "date", f"End of the first trial period. {_DETAIL}"),
        ("end_date_trial_second_period", "date", f"End of the second trial period. {_DETAIL}"),
        ("departure_date", "date", "Last day of work; a leaver is not deleted."),
        ("departure_estimated_date", "date", "Last day of work, estimated."),
        *(_text(f"mission{n}", f"Mission {n}. {_DETAIL}") for n in range(1, 7)),
        ("skills", "text", f"Skills. {_DETAIL}"),
        ("has_timesheets", "boolean", f"Whether the employee fills in timesheets. {_DETAIL}"),
        ("timesheets_frequency_code", "bigint", f"Code of the timesheet frequency. {_DETAIL}"),
        (
            "has_portal_access",
            "boolean",
            f"Whether the employee has access to the portal. {_DETAIL}",
        ),
        (
            "exclude_from_directory",
            "boolean",
            f"Whether directories exclude the employee. {_DETAIL}",
        ),
        ("meal_vouchers_count", "bigint", f"Meal vouchers. {_DETAIL}"),
        ("has_overtime", "boolean", f"Whether overtime is paid. {_DETAIL}"),
        ("activity_rate", "bigint", f"Share of full time, percent. {_DETAIL}"),
        ("use_vehicle", "boolean", f"Whether the employee uses a vehicle. {_DETAIL}"),
        ("vehicle_type_code", "text", f"Code of the vehicle. {_DETAIL}"),
        ("vehicle_tax_horsepower_code", "text", f"Code of the vehicle's tax horsepower. {_DETAIL}"),
        ("vehicle_registration_number", "text", f"Registration of the vehicle. {_DETAIL}"),
        ("vehicle_price_per_km", "numeric", f"Price per kilometre. {_DETAIL}"),
        *_ACTIVITY,
        ("validated_on", "time", "Time of validation."),
        ("validated_by", "bigint", "User who validated the record."),
    ),
    private_columns=(
        ("birth_date", "text", "Date of birth, verbatim."),
        ("birth_city", "text", "City of birth."),
        ("birth_country", "text", "Country of birth."),
        ("nationality", "text", "Nationality."),
        ("social_security_number", "text", "Social security number."),
        ("resident_permit_number", "text", "Number of the resident permit."),
        ("resident_permit_expiration_date", "text", "End of the permit, verbatim."),
        ("address", "text", "Street of the home."),
        ("postal_code", "text", "Postal code of the home."),
        ("city", "text", "City of the home."),
        ("country", "text", "Country of the home."),
        ("personal_email", "text", "Private e-mail address."),
        ("personal_mobile_phone", "text", "Private mobile phone."),
        ("personal_landline_phone", "text", "Private landline."),
        ("emergency_contacts", "text", "Emergency contacts."),
    ),
    filter="ALL",
    flags=(
        Flag("_standby", "STANDBY", "Whether the list with filter=STANDBY contains the employee."),
        Flag("_former", "FORMER", "Whether the list with filter=FORMER contains the employee."),
    ),
    per_entity=True,
    system="HR",
)

RESOURCES: Final = (
    CONTACT,
    CONSULTANT,
    EMPLOYEE,
)

WITH_PRIVATE_FIELDS: Final = tuple(each for each in RESOURCES if each.private_columns)
"""Resources whose restricted table a param and a setting switch on."""
