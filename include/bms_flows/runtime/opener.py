"""Opener of addresses that follows no redirect, so that no other host receives a credential or a text."""

import urllib.request
from typing import Any, Final


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Turns a redirect into an `HTTPError`."""

    def redirect_request(self, *_: Any) -> None:
        """Return no request to follow."""


OPENER: Final = urllib.request.build_opener(_NoRedirect)
