"""Description and match rules of consultants (interface, "Consultant creation body").

Arrays are flattened into columns: `skill1_id`, `skill1_level` and `skill1_favorite` form the first
object of `skills`, `language1_code` and `language1_level` that of `languages`. A consultant matches
by e-mail address, then by mobile phone, each only if the name agrees; a reviewer decides on matches
by name and year of birth.
"""

from bms.records import Consultant
from bms_flows.onboarding.resources.contact import crm_identity
from bms_flows.onboarding.resources.description import Resource, columns
from bms_flows.onboarding.resources.match_rules import Identity, plain, possible
from bms_flows.onboarding.resources.normal_forms import NAMES, loose_name, person_name


def consultant_identity(resource: Resource) -> Identity:
    """Return the match rules of consultants."""
    birth, year, code = (*NAMES, "birth_year"), plain("birth_year"), "same_name_and_birth_year"
    return crm_identity(
        resource,
        possible(code, birth, person_name, year),
        loose=[possible(code, birth[::-1], loose_name, year)],
    )


CONSULTANT = Resource(
    name="consultant",
    inbox="consultants",
    title="Nouveaux consultants",
    required=("last_name", "first_name"),
    key=("email", "phone_mobile_number", "birth_year"),
    label_fields=("email", "phone_mobile_number", "last_name"),
    arrays={"skills": "id", "languages": "code"},
    in_order=(("birth_year", "work_start_year"),),
    always_compared=True,
    fields=columns("consultant", Consultant),
)
