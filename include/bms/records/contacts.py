"""Contacts (CRM)."""

from typing import Annotated, ClassVar

from bms.records.declaration import Field, Flag, Number, Record, Text, Time, public

# Declared once: the order of a record's fields counts in stored digests, and list and detail differ.
Deleted = Annotated[Flag, public("Whether the service has marked the contact as deleted.")]
CreatedOn = Annotated[Time, public("Time of creation in the service.")]
CreatedBy = Annotated[Number, public("User who created the record.")]
ModifiedOn = Annotated[Time, public("Time of the latest modification.")]
ModifiedBy = Annotated[Number, public("User of the latest modification.")]
DeletedOn = Annotated[Time, public("Time of deletion in the service.")]
DeletedBy = Annotated[Number, public("User who deleted the record.")]


class _ContactFields(Record, kw_only=True):
    """Fields that list and detail begin with."""

    KEY: ClassVar[str] = "id"

    id: Annotated[int, public("Identifier of the contact in the service.")]
    first_name: Annotated[Text, Field("First name.")] = None
    last_name: Annotated[Text, Field("Last name.")] = None
    business_title: Annotated[Text, Field("Job title at the client.")] = None
    email: Annotated[Text, Field("E-mail address.")] = None
    phone_mobile_number: Annotated[Text, Field("Mobile phone.")] = None
    postal_code: Annotated[Text, Field("Postal code.")] = None
    city: Annotated[Text, Field("City.")] = None
    country: Annotated[Text, Field("Country.", category=True)] = None
    exclude_from_emailing: Annotated[Flag, public("Whether mass mailings exclude the contact.")] = (
        None
    )
    send_greetings_card: Annotated[
        Flag, public("Whether the contact receives a greetings card.")
    ] = None
    is_lead: Annotated[Flag, public("Whether the contact is a lead.")] = None
    origin: Annotated[
        Text, public("Origin of the contact; values unspecified by the service.", code=True)
    ] = None
    signal: Annotated[
        Text, public("Signal code; values unspecified by the service.", code=True)
    ] = None
    imported_company_name: Annotated[
        Text, Field("Company name from an import, for a contact without client.")
    ] = None
    id_client: Annotated[Number, public("Client of the contact.")] = None
    id_account_manager: Annotated[Number, public("Account manager of the contact.")] = None


class ContactItem(_ContactFields, kw_only=True):
    """Contact list item (GET /v1/CRM/contacts); the activity flag is named `actif` here."""

    actif: Annotated[
        Flag, public("Whether the contact is active (actif in the list).", column="active")
    ] = None
    deleted: Deleted = None
    created_on: CreatedOn = None
    created_by: CreatedBy = None
    modified_on: ModifiedOn = None
    modified_by: ModifiedBy = None
    deleted_on: DeletedOn = None
    deleted_by: DeletedBy = None


class Contact(_ContactFields, kw_only=True):
    """Contact detail (GET /v1/CRM/contacts/{id_contact}); the activity flag is named `active`."""

    deleted: Deleted = None
    created_on: CreatedOn = None
    created_by: CreatedBy = None
    modified_on: ModifiedOn = None
    modified_by: ModifiedBy = None
    deleted_on: DeletedOn = None
    deleted_by: DeletedBy = None
    active: Annotated[Flag, public("Whether the contact is active (actif in the list).")] = None
    phone_number: Annotated[Text, Field("Phone.")] = None
    fax_number: Annotated[Text, Field("Fax.")] = None
    address: Annotated[Text, Field("Street.")] = None
    greetings_card_details: Annotated[Text, Field("Text of the card.")] = None
    domains: Annotated[
        list[int] | None,
        public("Numbers of domains (contact_domains on creation).", aliases=("contact_domains",)),
    ] = None
    notes: Annotated[Text, Field("Notes.")] = None
