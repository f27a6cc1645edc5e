"""French typography of texts that HR users and approvers read."""

import re
from typing import Final

NO_BREAK: Final = "\xa0"
"""Also in Windows-1252, unlike the narrow one: a reject file has the encoding of the dropped file."""
_SPACE: Final = re.compile(r" (?=[:;?!»])|(?<=«) ")


def typeset(text: str) -> str:
    """Return a French text with no-break spaces before `: ; ? !` and inside of quotes.

    Only spaces are replaced, so times such as 12:30 and addresses of pages stay as they are.
    """
    return _SPACE.sub(NO_BREAK, text)
