"""Consultants (CRM)."""

from typing import Annotated, Any, ClassVar

from bms.records.declaration import Amount, Day, Field, Flag, Number, Record, Text, Time, public

# Unconverted, to preserve members that the interface does not describe.
Objects = list[dict[str, Any]] | None


class ConsultantItem(Record, kw_only=True):
    """Consultant list item (GET /v1/CRM/Consultants)."""

    KEY: ClassVar[str] = "id"

    id: Annotated[int, public("Identifier of the consultant in the service.")]
    first_name: Annotated[Text, Field("First name.")] = None
    last_name: Annotated[Text, Field("Last name.")] = None
    type: Annotated[Text, public("Type code; values unspecified by the service.", code=True)] = None
    affinity: Annotated[
        Number, Field("Affinity; range and meaning unspecified by the service.")
    ] = None
    rate: Annotated[Amount, Field("Rate in currency; time unit unspecified by the service.")] = None
    currency: Annotated[Text, public("Currency of the rate.", code=True)] = None
    availability_date: Annotated[
        Day, Field("First day of availability, verbatim.", verbatim=True)
    ] = None
    birth_year: Annotated[Number, Field("Year of birth.")] = None
    work_start_year: Annotated[Number, Field("First year of work.")] = None
    skills: Annotated[Objects, Field("Skills: array of id, level, favorite.")] = None
    languages: Annotated[Objects, Field("Languages: array of code, level.")] = None
    postal_code: Annotated[Text, Field("Postal code.")] = None
    city: Annotated[Text, Field("City.")] = None
    country: Annotated[Text, Field("Country.", category=True)] = None
    phone_number: Annotated[Text, Field("Phone.")] = None
    phone_mobile_number: Annotated[Text, Field("Mobile phone.")] = None
    email: Annotated[Text, Field("E-mail address.")] = None
    no_emails: Annotated[Flag, public("Whether the consultant opted out of e-mails.")] = None
    no_sms: Annotated[Flag, public("Whether the consultant opted out of text messages.")] = None
    id_client: Annotated[Number, public("Client of the consultant.")] = None
    active: Annotated[Flag, public("Whether the consultant is active.")] = None
    created_on: Annotated[Time, public("Time of creation in the service.")] = None
    modified_on: Annotated[Time, public("Time of the latest modification.")] = None
    created_by: Annotated[Number, public("User who created the record.")] = None
    modified_by: Annotated[Number, public("User of the latest modification.")] = None


class Consultant(ConsultantItem, kw_only=True):
    """Consultant detail (GET /v1/CRM/Consultants/{id_consultant})."""

    professional_profile: Annotated[Text, Field("Profile.")] = None
    address: Annotated[Text, Field("Street.")] = None
    notes: Annotated[Text, Field("Notes.")] = None
    custom1: Annotated[Text, Field("Free field 1.")] = None
    custom2: Annotated[Text, Field("Free field 2.")] = None
    custom3: Annotated[Text, Field("Free field 3.")] = None
    custom4: Annotated[Text, Field("Free field 4.")] = None
    custom5: Annotated[Text, Field("Free field 5.")] = None
