"""Scope check before a request (interface, "Authentication")."""

import re
from collections.abc import Collection, Iterable
from typing import Any, Final

from bms.endpoints import ENDPOINTS, Endpoint
from bms.errors import MissingScope

KNOWN: Final = frozenset(each.scope for each in ENDPOINTS if each.scope)
"""The scopes of the interface."""


def granted_scopes(scope: Any) -> frozenset[str] | None:
    """Return the interface's scopes that a token response grants, or None if they are unknown.

    Any other text, which logs and XCom would repeat, is ignored.
    The interface defines an array of strings; a string separated by spaces or commas works as
    well. A missing, empty or mistyped value, or one that names no scope of the interface, such as
    `api://bms/read:contact`, means unknown: our assumption.
    """
    parts = [scope] if isinstance(scope, str) else scope if isinstance(scope, list) else []
    names = (name for part in parts if isinstance(part, str) for name in re.split(r"[\s,]+", part))
    return KNOWN.intersection(names) or None


def require_scopes(endpoints: Iterable[Endpoint], granted: Collection[str] | None) -> None:
    """Raise one `MissingScope` that names all scopes that the granted scopes, if known, lack."""
    lacking = {
        each.scope: each
        for each in endpoints
        if each.scope is not None and granted is not None and each.scope not in granted
    }
    if granted is not None and lacking:
        raise MissingScope(next(iter(lacking.values())), ", ".join(lacking), granted)
