"""Settings of the client: address, credentials, and behaviour that the interface leaves open."""

import ipaddress
import logging
import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies
from zoneinfo import ZoneInfo

from yarl import URL

from bms.errors import InvalidTlsFile

T = TypeVar("T")

LOG = logging.getLogger(__name__)

CA_VARIABLES: Final = "REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE"

ExpiresInUnit = Literal["seconds", "milliseconds", "minutes"]

SECONDS_PER_UNIT: Final[Mapping[ExpiresInUnit, float]] = {
    "seconds": 1.0,
    "milliseconds": 0.001,
    "minutes": 60.0,
}


@dataclass(frozen=True, kw_only=True)
class ClientSettings:
    """Settings of one `Client`; assumptions about the service are fields with a default.

    `base_url` may have a path prefix and a trailing slash. `verify`, `cert`, `proxies` and
    `trust_env` work as in the HTTP provider's hook and in requests: `verify` may be the path of a
    CA file or folder, `cert` a PEM file or (certificate, key), `proxies` a mapping by scheme or one
    URL. The repr shows no field that may hold a secret.
    """

    base_url: str
    client_id: str
    application_id: str
    secret: str = field(repr=False)
    # not shown by the interface: our assumption, unless the token is a JWT with a readable `exp`
    expires_in_unit: ExpiresInUnit = "seconds"
    concurrency: int = 8
    """Maximum number of concurrent requests."""
    timeout: float = 60.0
    """Seconds of one request, up to the end of the response."""
    page_size: int = 100
    """Rows per page; 100 is the interface's default."""
    attempts: int = 6
    """Maximum number of attempts of a request, the first included."""
    backoff_cap: float = 30.0
    """Maximum number of seconds between two attempts."""
    # not shown by the interface: our assumption, for timestamps without a zone
    time_zone: str = "Europe/Paris"
    # not shown by the interface: our assumption; the client's ranges always include their end
    end_date_inclusive: bool = True
    # not shown by the interface: whether 429 means that a create was not executed
    create_refused_by_429: bool = False
    # not shown by the interface: how it answers a list without rows
    empty_list_404: bool = False
    # the interface lists a bearer for the token operation, too, without naming it
    token_bearer_secret: str | None = field(default=None, repr=False)
    verify: bool | str = True
    cert: str | tuple[str, str] | None = None
    proxies: Mapping[str, str] | str | None = field(default=None, repr=False)
    trust_env: bool = True

    def __post_init__(self) -> None:
        # The texts quote no value, since a user may enter a secret in the wrong field.
        try:
            parts, _ = urlsplit(self.base_url), URL(self.base_url).origin()
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in SECURE_BY_SCHEME or not parts.hostname:
            raise ValueError("base_url must be an absolute http or https URL") from None
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError("base_url must have no credentials, query or fragment")
        if self.expires_in_unit not in SECONDS_PER_UNIT:
            raise ValueError(f"expires_in_unit must be one of {', '.join(SECONDS_PER_UNIT)}")
        for name in ("concurrency", "page_size", "attempts"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        for name in ("timeout", "backoff_cap"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be more than 0 seconds")
        bearer = self.token_bearer_secret
        if bearer is not None and not (bearer.isascii() and bearer.isprintable()):
            raise ValueError(
                "token_bearer_secret must be printable ASCII, since it is sent in a header"
            )
        ZoneInfo(self.time_zone)  # fails on an unknown zone

    @property
    def secure(self) -> bool:
        """Whether the base URL uses TLS."""
        return SECURE_BY_SCHEME[urlsplit(self.base_url).scheme]

    @property
    def loopback(self) -> bool:
        """Whether the base URL names this machine."""
        return is_loopback(urlsplit(self.base_url).hostname or "")

    def url(self, path: str) -> str:
        """Return the URL of an endpoint's path below the base URL."""
        return self.base_url.rstrip("/") + path

    def proxy(self) -> str | None:
        """Return the proxy for the base URL by the rules of requests, or None."""
        if isinstance(self.proxies, str):
            return self.proxies or None
        proxies = dict(self.proxies or {})
        if not proxies and not (self.trust_env and getproxies()):
            return None
        from requests import utils  # noqa: PLC0415 - a tenth of the imports of a task without proxy

        if self.trust_env:
            proxies = utils.get_environ_proxies(self.base_url) | proxies
        found = utils.select_proxy(self.base_url, proxies)
        return utils.prepend_scheme_if_needed(found, "http") if found else None

    def tls_context(self) -> ssl.SSLContext | bool:
        """Return the TLS context of the service, True for one without TLS; raise `InvalidTlsFile`."""
        if not self.secure:
            return True
        ca = self.ca_path()
        names = "names" if ca == self.verify else f"defers to {CA_VARIABLES}, which names"
        context = _load("verify", names, partial(_context_trusting, ca))
        if self.verify is False:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.cert is not None:
            cert, key = (self.cert, None) if isinstance(self.cert, str) else self.cert
            # Without a password, OpenSSL would prompt for one at the terminal.
            _load("cert", "names", partial(context.load_cert_chain, cert, key, password=""))
        return context

    def ca_path(self) -> str | None:
        """Return the CA file or folder to trust instead of the system's CAs, or None."""
        if isinstance(self.verify, str):
            return self.verify
        if self.verify and self.trust_env:
            return os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
        return None


SECURE_BY_SCHEME: Final[Mapping[str, bool]] = {"http": False, "https": True}


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is a loopback address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _context_trusting(ca: str | None) -> ssl.SSLContext:
    """Return a context that trusts a CA file or folder, or the system's CAs for None."""
    folder = ca is not None and Path(ca).is_dir()
    if folder and not any(Path(ca or "").glob("[0-9a-f]*.[0-9]")):  # as `openssl rehash` names them
        raise ValueError("no hashed certificates")
    return ssl.create_default_context(cafile=None if folder else ca, capath=ca if folder else None)


def _load(setting: str, names: str, load: Callable[[], T]) -> T:
    """Return the result of `load`, which reads a setting's files; raise `InvalidTlsFile`."""
    try:
        return load()
    except (OSError, ValueError) as error:
        # Only in the log of the process: a form that shows the reason would tell which files exist.
        LOG.warning("%s: %s", setting, getattr(error, "strerror", None) or type(error).__name__)
    # Raised outside `except`: the original error may quote the setting, which may hold a pasted key.
    raise InvalidTlsFile(
        setting, f"{names} no usable PEM file; the log of this process has the reason"
    )
