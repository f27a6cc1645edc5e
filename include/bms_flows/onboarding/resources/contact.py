"""Description and match rules of contacts (interface, "Contact creation body").

`contact_domains` is one column of numbers, `3|7`. A contact matches by e-mail address, then by mobile
phone (the only phone in the CRM's list), each only if the name agrees; a reviewer decides on matches
by name and company, also in looser forms.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bms.records import Contact
from bms_flows.onboarding.resources.description import Resource, columns
from bms_flows.onboarding.resources.match_rules import Identity, MatchRule, plain, possible
from bms_flows.onboarding.resources.normal_forms import (
    NAMES,
    compared_name,
    email_address,
    loose_company,
    loose_mobiles,
    loose_name,
    mobile_number,
    person_name,
    region_of,
)


def contact_identity(resource: Resource) -> Identity:
    """Return the match rules of contacts."""
    client, company = (*NAMES, "id_client"), (*NAMES, "imported_company_name")
    number, name, code = plain("id_client"), plain("imported_company_name"), "same_name_and_company"
    return crm_identity(
        resource,
        possible(code, client, person_name, number),
        possible(code, company, person_name, name),
        loose=[
            # Other orders of the fields, because these are no keys.
            possible(code, client[::-1], loose_name, number),
            possible(code, company[::-1], loose_name, loose_company),
        ],
    )


def crm_identity(
    resource: Resource, *by_name: MatchRule, loose: Sequence[MatchRule] = ()
) -> Identity:
    """Return rules that match by e-mail address, then by mobile phone.

    `by_name` are for a reviewer, as are the `loose` rules, which are no keys.
    """
    phone = ("phone_mobile_number",)

    def mobile(values: Mapping[str, Any]) -> str | None:
        region = region_of(values, resource.region)
        return mobile_number(values.get("phone_mobile_number"), region)

    def mobiles(values: Mapping[str, Any]) -> Collection[str]:
        return loose_mobiles(values, resource.region)

    return Identity(
        resource=resource.name,
        scope=None,
        keys=[
            MatchRule(("email",), "if_fields_agree", "same_email_other_name", [mailbox]),
            MatchRule(phone, "if_fields_agree", "same_phone_other_name", [mobile]),
            *by_name,
        ],
        comparison_fields={"name": compared_name},
        distinguishing={name: plain(name) for name in resource.key},
        possible_match_rules=[
            # The case of a local part may distinguish two mailboxes.
            possible("same_email_other_form", ("email",), loose_mailboxes, loose=True),
            possible("same_name_and_phone", (*NAMES, *phone), loose_name, mobiles),
            *loose,
        ],
    )


def mailbox(values: Mapping[str, Any]) -> str | None:
    """Return the normalized e-mail address of a row or record."""
    return email_address(values.get("email"))


def loose_mailboxes(values: Mapping[str, Any]) -> Collection[str]:
    """Return all e-mail addresses of a row or record in lower case: `A@x.fr; Bob <b@x.fr>`."""
    parts = re.split(r"[\s<>,;:()\[\]\"]+", str(values.get("email") or ""))
    found = (email_address(part) for part in parts if "@" in part)
    return sorted({address.casefold() for address in found if address})


CONTACT = Resource(
    name="contact",
    inbox="contacts",
    title="Nouveaux contacts",
    required=("last_name", "first_name"),
    key=("email", "phone_mobile_number", "imported_company_name", "id_client"),
    label_fields=("email", "phone_mobile_number", "last_name"),
    always_compared=True,
    fields=columns("contact", Contact),
)
