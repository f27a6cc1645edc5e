"""A plain HTTP caller for the tests of the sandbox: urllib, without project code."""

import json
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

from bms_sandbox.serve import Sandbox


@dataclass(frozen=True)
class Answer:
    """A whole HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Caller:
    """HTTP client of the sandbox with a separate token."""

    sandbox: Sandbox
    token: str = ""
    prefix: str = ""

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        **query: Any,
    ) -> Answer:
        url = f"{self.sandbox.url}{self.prefix}{path}" + (f"?{urlencode(query)}" if query else "")
        sent = {"content-type": "application/json"}
        if self.token:
            sent["authorization"] = f"Bearer {self.token}"
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, sent | (headers or {}), method=method)  # noqa: S310 -> our own address
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310 -> our own address
                return Answer(answer.status, _lowered(answer.headers), answer.read())
        except HTTPError as error:
            with error:
                return Answer(error.code, _lowered(error.headers), error.read())

    def get(self, path: str, **query: Any) -> Answer:
        return self.call("GET", path, **query)

    def post(self, path: str, body: Any) -> Answer:
        return self.call("POST", path, body)

    def login(self, **changed: str) -> Answer:
        """Ask for a token and keep it when one is given."""
        known = self.sandbox.credentials
        body = {
            "client_id": known.client_id,
            "application_id": known.application_id,
            "secret": known.secret,
        }
        answer = self.post("/v1/token", body | changed)
        if answer.status < 300:
            self.token = answer.json()["access_token"]
        return answer


def _lowered(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
