"""Whether a token may do what is asked, decided before anything is sent (interface, "Authentication")."""

import re
from collections.abc import Collection
from typing import Any

from bms.endpoints import Endpoint
from bms.errors import MissingScope


def granted_scopes(scope: Any) -> frozenset[str] | None:
    """Return the scopes of a token answer, or None when it doesn't say.

    The interface says array of string; a string with spaces or commas between is read as well.
    Missing, empty or of another kind means unknown: not shown by the interface, our assumption.
    """
    parts = [scope] if isinstance(scope, str) else scope if isinstance(scope, list) else []
    names = (name for part in parts if isinstance(part, str) for name in re.split(r"[\s,]+", part))
    return frozenset(filter(None, names)) or None


def require_scope(endpoint: Endpoint, granted: Collection[str] | None) -> None:
    """Raise `MissingScope` if `endpoint` needs a scope that is known not to be granted."""
    if endpoint.scope is not None and granted is not None and endpoint.scope not in granted:
        raise MissingScope(endpoint, endpoint.scope, granted)
