"""Read a path of the service that no operator wraps, through the connection `bms_default`."""

from typing import Any

from airflow.sdk import dag

from bms_provider.operators.http import BmsHttpOperator, BmsHttpSensor, next_page


def numbers(responses: Any) -> list[int]:
    """Return what goes to XCom: numbers only, no personal data."""
    return [row["id"] for response in responses for row in response.json()["data"]]


@dag(schedule=None, is_paused_upon_creation=True, doc_md=__doc__, tags=["example", "bms"])
def example_bms_http() -> None:
    """Wait until the service responds, then list."""
    ready = BmsHttpSensor(
        task_id="wait_for_service",
        endpoint="/v1/CRM/contacts",
        request_params={"filter": "ALL", "page_size": 1},
        timeout=600,
    )
    leads = BmsHttpOperator(
        task_id="list_leads",
        endpoint="/v1/CRM/contacts",
        data={"filter": "ALL", "is_lead": "true"},
        pagination_function=next_page,
        response_filter=numbers,
    )
    ready >> leads


example_bms_http()
