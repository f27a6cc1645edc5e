"""Employees, contacts and consultants in the service, by the lists that show them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

import msgspec

from bms.errors import NotFound
from bms.responses import Page
from bms_flows.onboarding.resources.consultant import CONSULTANT, consultant_identity
from bms_flows.onboarding.resources.contact import CONTACT, contact_identity
from bms_flows.onboarding.resources.employee import EMPLOYEE, EMPLOYEE_IDENTITY
from bms_flows.onboarding.resources.evidence import RecordIds, ServiceRecord
from bms_flows.onboarding.resources.match_rules import Identity
from bms_flows.onboarding.resources.service_remote import ServiceRemote


class Employees(ServiceRemote):
    """Employees by entity: each list is one response with all employees."""

    resource = EMPLOYEE
    identity = EMPLOYEE_IDENTITY
    _identity_of = staticmethod(lambda resource: EMPLOYEE_IDENTITY)  # noqa: ARG005
    create_endpoint = "create_employee"
    _list_endpoint = "list_employees"
    _detail_endpoint = "read_employee"

    @cached_property
    def _apart(self) -> dict[int, Sequence[str]]:
        """The filters, by entity, that list employees whom `filter=ALL` lacks."""
        return {}

    async def _page(self, params: Mapping[str, Any], number: int, size: int) -> Page[Any]:
        """Return the employees of an entity: the interface does not show whom `filter=ALL` includes."""
        page, entity = await super()._page(params, number, size), params["id_entity"]
        apart = []
        for state in self._apart.get(entity, ("STANDBY", "FORMER")):
            try:
                others = await super()._page({**params, "filter": state}, number, size)
            except NotFound:  # perhaps of an empty list, since the service has the entity
                continue
            listed = {each.key for each in page}
            more = [each for each in others if each.key not in listed]
            if more or others.rejected:
                apart.append(state)
                rejected = [*page.rejected, *others.rejected]
                page = replace(page, records=[*page.records, *more], rejected=rejected)
        self._apart.setdefault(entity, apart)
        return page

    def _lists(self, scopes: Iterable[Any]) -> Mapping[str, Mapping[str, Any]]:
        entities = sorted({int(each) for each in scopes})
        return {str(each): {"id_entity": each, "filter": "ALL"} for each in entities}

    def _created(self, made: Any) -> RecordIds:
        return RecordIds(made.guid_employee, made.id_employee, made.is_standby)

    @classmethod
    def record_of(cls, identity: Identity, record: Any, name: str) -> ServiceRecord:
        """Return an item of the list of the entity `name`, or a detail, as a record."""
        values = msgspec.structs.asdict(record)
        values["id_entity"] = int(name) if name else record.id_entity
        return ServiceRecord(
            remote_id=record.guid_employee,
            number=record.id_employee,
            is_standby=record.is_standby,
            **identity.digests(values)._asdict(),
            created_on=record.created_on,
            values=values,
        )


class Contacts(ServiceRemote):
    """Contacts of the CRM."""

    resource = CONTACT
    identity = contact_identity(resource)
    _identity_of = staticmethod(contact_identity)
    create_endpoint = "create_contact"
    _list_endpoint = "list_contacts"
    _detail_endpoint = "read_contact"

    def _lists(self, scopes: Iterable[Any]) -> Mapping[str, Mapping[str, Any]]:
        # The interface does not show whether filter=ALL includes deleted contacts.
        names = ("ALL", "DELETED") if {*scopes} else ()
        return {f"contacts ({each})": {"filter": each} for each in names}


class Consultants(ServiceRemote):
    """Consultants of the CRM, which the service cannot delete."""

    resource = CONSULTANT
    identity = consultant_identity(resource)
    _identity_of = staticmethod(consultant_identity)
    create_endpoint = "create_consultant"
    _list_endpoint = "list_consultants"
    _detail_endpoint = "read_consultant"

    def _lists(self, scopes: Iterable[Any]) -> Mapping[str, Mapping[str, Any]]:
        return {"consultants": {}} if {*scopes} else {}


REMOTES: Final[Mapping[str, type[ServiceRemote]]] = {
    remote.resource.name: remote for remote in (Employees, Contacts, Consultants)
}
"""The classes by name of their resource."""
