"""The HTTP provider's operator and sensor on a connection of type `bms`, for paths that no operator wraps."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

from airflow.providers.http.operators.http import HttpOperator
from airflow.providers.http.sensors.http import HttpSensor
from airflow.sdk import Context, PokeReturnValue
from airflow.sdk.bases.decorator import determine_kwargs
from requests import Response

from bms.errors import BmsError
from bms_provider import compat
from bms_provider.compat import RetryPolicy
from bms_provider.hooks.http import BmsHttpHook, check_get, next_page
from bms_provider.operators.base import SERVICE_RETRIES

__all__ = ["BmsHttpOperator", "BmsHttpSensor", "next_page"]

NOT_DEFERRABLE = (
    "deferrable: the triggerer would hold the token, and a trigger writes its response, with personal "
    "data, to Airflow's database. The request is short: run it in the worker."
)


class BmsHttpOperator(HttpOperator):
    """Send a GET request to any path of the service through a connection of type `bms`.

    :param endpoint: path below the base URL, for example ``/v1/CRM/contacts`` (templated).
    :param data: parameters of the query (templated).
    :param http_conn_id: connection of type ``bms`` (templated).
    :param response_filter: takes the response, with a `pagination_function` all pages, and returns what
        goes to XCom. Required unless ``do_xcom_push=False``: a body may hold personal data.
    :param response_check: takes the same; unless it returns true, the task fails.
    :param pagination_function: `next_page` for a list on pages.
    """

    def __init__(
        self,
        *,
        endpoint: str,
        http_conn_id: str = BmsHttpHook.default_conn_name,
        method: str = "GET",
        deferrable: bool = False,
        log_response: bool = False,
        retry_policy: RetryPolicy | None = SERVICE_RETRIES,
        **kwargs: Any,
    ) -> None:
        check_get(method, endpoint)
        if deferrable:
            raise ValueError(NOT_DEFERRABLE)
        if log_response:
            raise ValueError("log_response: a body may hold personal data, and logs don't")
        super().__init__(
            endpoint=endpoint,
            http_conn_id=http_conn_id,
            method="GET",
            deferrable=False,
            **compat.retry_arguments(retry_policy),
            **kwargs,
        )
        if self.response_filter is None and self.do_xcom_push:
            raise ValueError("response_filter: choose what goes to XCom, or set do_xcom_push=False")

    @cached_property
    def hook(self) -> BmsHttpHook:
        """The hook of the operator's connection."""
        return BmsHttpHook(self.http_conn_id)

    def process_response(self, context: Context, response: Any) -> Any:
        """Check the response, or all pages, and return what goes to XCom."""
        if self.response_check and not _result(self.response_check, response, context):
            raise ValueError("response_check returned False")
        return _result(self.response_filter, response, context) if self.response_filter else None


def _result(function: Callable[..., Any], response: Any, context: Context) -> Any:
    """Return a function's result for a response and those parts of the context that it names."""
    return function(response, **determine_kwargs(function, [response], context))


class BmsHttpSensor(HttpSensor):
    """Send a GET request to a path of the service until it succeeds and `response_check` accepts it.

    :param endpoint: path below the base URL (templated).
    :param response_check: takes the response; 404 counts as not yet, but not that of the token.
    :param http_conn_id: connection of type ``bms`` (templated).
    """

    template_fields_renderers: ClassVar[dict[str, str]] = {
        "headers": "json",
        "request_params": "json",
    }

    def __init__(
        self,
        *,
        endpoint: str,
        http_conn_id: str = BmsHttpHook.default_conn_name,
        method: str = "GET",
        deferrable: bool = False,
        retry_policy: RetryPolicy | None = SERVICE_RETRIES,
        **kwargs: Any,
    ) -> None:
        check_get(method, endpoint)
        if deferrable:
            raise ValueError(NOT_DEFERRABLE)
        super().__init__(
            endpoint=endpoint,
            http_conn_id=http_conn_id,
            deferrable=False,
            **compat.retry_arguments(retry_policy),
            **kwargs,
        )

    @cached_property
    def hook(self) -> BmsHttpHook:
        """The hook of the sensor's connection."""
        return BmsHttpHook(self.http_conn_id)

    def poke(self, context: Context) -> bool | PokeReturnValue:
        """Return whether the response is accepted."""
        try:
            response: Response = self.hook.run(
                self.endpoint, self.request_params, self.headers, self.extra_options
            )
        except BmsError as error:
            of_token = error.endpoint == "request_token"
            if not of_token and str(error.status) in self.response_error_codes_allowlist:
                return False
            raise
        if self.response_check is None:
            return True
        accepted: bool | PokeReturnValue = _result(self.response_check, response, context)
        return accepted
