"""Notes on the formats of a file, carried over to its reject file, whose few rows may not show them.

Each rejected row's `_hint` ends in remarks such as `[salary_base: 0,0]`, the decimal mark of a
column, or `[encoding: Windows-1252]`; without them a row could be read otherwise when it is dropped
again.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

PROOFS: Final = {",": "0,0", ".": "0.0", "cp1252": "Windows-1252"}
_READ: Final = {written: proof for proof, written in PROOFS.items()}
_REMARK: Final = re.compile(
    rf"\[(\w+): ({'|'.join(re.escape(written) for written in _READ)})\]", re.ASCII
)


def remarks(proven: Mapping[str, str]) -> str:
    """Return the remarks for what is proven of each field."""
    return "".join(f" [{field}: {PROOFS[proof]}]" for field, proof in proven.items())


def carried(hints: Iterable[str]) -> dict[str, str]:
    """Return what a file's `_hint` cells carry; what they carry both ways proves nothing."""
    found: dict[str, set[str]] = {}
    for hint in hints:
        for field, written in _REMARK.findall(hint):
            found.setdefault(field, set()).add(_READ[written])
    return {field: proofs.pop() for field, proofs in found.items() if len(proofs) == 1}
