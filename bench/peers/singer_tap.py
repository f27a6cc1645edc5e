"""A Singer tap for the two lists, as the SDK's template would have it: `python singer_tap.py --config FILE`."""

from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any, ClassVar

from requests import Response
from singer_sdk import RESTStream, Stream, Tap
from singer_sdk import typing as th
from singer_sdk.authenticators import BearerTokenAuthenticator
from singer_sdk.pagination import PageNumberPaginator, SinglePagePaginator
from task import KEYS, PATHS, TABLES, Task

NUMBERS = (
    "id id_invoice id_client id_account_manager id_credit "
    "created_by modified_by deleted_by canceled_by sent_by"
)
MONEY = "total_excl_vat total_vat total_incl_vat total_due"
FLAGS = "canceled sent exclude_from_emailing send_greetings_card is_lead actif deleted"
DAYS = "invoice_date due_date"
MOMENTS = "created_on modified_on deleted_on canceled_on sent_on"
KINDS = {
    name: kind
    for names, kind in (
        (NUMBERS, th.IntegerType),
        (MONEY, th.NumberType),
        (FLAGS, th.BooleanType),
        (DAYS, th.DateType),
        (MOMENTS, th.DateTimeType),
    )
    for name in names.split()
}
FIELDS = {
    "invoices": (
        "id_invoice reference_number invoice_date due_date invoice_type invoice_type_name id_client "
        "client_name po_number vat_number invoice_subject total_excl_vat total_vat total_incl_vat "
        "total_due currency payment_mode payment_mode_name status status_name id_account_manager "
        "created_on created_by canceled canceled_on canceled_by id_credit sent sent_on sent_by"
    ),
    "contacts": (
        "id first_name last_name business_title email phone_mobile_number postal_code city country "
        "exclude_from_emailing send_greetings_card is_lead origin signal imported_company_name "
        "id_client id_account_manager actif deleted created_on created_by modified_on modified_by "
        "deleted_on deleted_by"
    ),
}


class Pages(PageNumberPaginator):
    """Page after page until the last."""

    def has_more(self, response: Response) -> bool:
        """Return whether a page follows."""
        return self.current_value < int(response.json()["total_pages"])


class List(RESTStream[int]):
    """What both lists share."""

    work: ClassVar[str]

    def __init__(self, tap: Tap, task: Task) -> None:
        self.task = task
        self.name, self.path = TABLES[self.work], PATHS[self.work]
        properties = (
            th.Property(name, KINDS.get(name, th.StringType)) for name in FIELDS[self.work].split()
        )
        super().__init__(tap, schema=th.PropertiesList(*properties).to_dict())
        self.primary_keys = [KEYS[self.work]]
        self._bearer = BearerTokenAuthenticator(token=task.token())

    @property
    def url_base(self) -> str:
        """Where the service is."""
        return self.task.url

    @property
    def authenticator(self) -> BearerTokenAuthenticator:
        """Sign each request with the token."""
        return self._bearer


class Contacts(List):
    """All contacts."""

    work = "contacts"
    records_jsonpath = "$.data[*]"

    def get_new_paginator(self) -> Pages:
        """Begin at the first page."""
        return Pages(start_value=1)

    def get_url_params(self, context: Any, next_page_token: int | None) -> dict[str, Any]:  # noqa: ARG002 - the SDK's signature
        """Ask for a page."""
        return dict(self.task.page(next_page_token or 1))


class Invoices(List):
    """Client invoices, a partition for each window of days."""

    work = "invoices"

    @property
    def partitions(self) -> list[dict[str, Any]]:
        """The windows."""
        return list(self.task.windows())

    def get_new_paginator(self) -> SinglePagePaginator:
        """Ask once: an answer holds all."""
        return SinglePagePaginator()

    def get_url_params(self, context: Any, next_page_token: int | None) -> dict[str, Any]:  # noqa: ARG002 - the SDK's signature
        """Ask for a window."""
        return dict(context)


class BmsTap(Tap):
    """The compared lists of the service."""

    name = "tap-bms"
    config_jsonschema = th.PropertiesList(
        th.Property("work", th.StringType, required=True),
        th.Property("url", th.StringType, required=True),
        th.Property("first", th.DateType, required=True),
        th.Property("days", th.IntegerType, required=True),
        th.Property("window", th.IntegerType, required=True),
        th.Property("page_size", th.IntegerType, required=True),
    ).to_dict()

    def discover_streams(self) -> Iterable[Stream]:
        """Return the one list that is asked for."""
        config = self.config
        task = Task(
            work=config["work"],
            url=config["url"],
            database="",
            folder=Path(),
            variant="",
            first=date.fromisoformat(config["first"]),
            days=config["days"],
            window=config["window"],
            page_size=config["page_size"],
            in_flight=1,
        )
        return [{"contacts": Contacts, "invoices": Invoices}[task.work](self, task)]


if __name__ == "__main__":
    BmsTap.cli()
