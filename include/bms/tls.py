"""TLS context from the client's settings."""

import logging
import ssl
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from bms.errors import InvalidTlsFile
from bms.settings import ClientSettings

T = TypeVar("T")

LOG = logging.getLogger(__name__)

CA_VARIABLES: Final = "REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE"


def tls_context(settings: ClientSettings) -> ssl.SSLContext | bool:
    """Return the TLS context of a service, True for one without TLS; raise `InvalidTlsFile`."""
    if not settings.secure:
        return True
    ca = settings.ca_path()
    names = "names" if ca == settings.verify else f"defers to {CA_VARIABLES}, which names"
    context = _load("verify", names, partial(_context_trusting, ca))
    if settings.verify is False:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if settings.cert is not None:
        cert, key = (settings.cert, None) if isinstance(settings.cert, str) else settings.cert
        # Without a password, OpenSSL would prompt for one at the terminal.
        _load("cert", "names", partial(context.load_cert_chain, cert, key, password=""))
    return context


def _context_trusting(ca: str | None) -> ssl.SSLContext:
    """Return a context that trusts a CA file or folder, or the system's CAs for None."""
    folder = ca is not None and Path(ca).is_dir()
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
