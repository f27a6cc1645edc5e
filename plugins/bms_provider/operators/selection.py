"""Fields of records that go to XCom: none that is personal, and no more than a limit of bytes."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from bms.endpoints import BY_OPERATION
from bms.records import Record
from bms.records.declaration import public_fields

MAX_XCOM_BYTES: Final = 65_536
"""Default limit of a value; Airflow stores XCom values in its database."""


class XComTooLarge(ValueError):
    """The selected fields exceed the limit of bytes for XCom."""

    retriable = False


def checked(
    operation: str, output: str, fields: str | Iterable[str] | None
) -> str | list[str] | None:
    """Return ``fields``; raise `ValueError` unless they fit ``output`` and none is personal."""
    if output not in ("file", "xcom"):
        raise ValueError(f"output takes 'file' or 'xcom', not {output!r}")
    if output == "file":
        if fields is not None:
            raise ValueError("fields applies to output='xcom' only")
        return None
    allowed = public_fields(BY_OPERATION[operation])
    names = [fields] if isinstance(fields, str) else list(fields or ())
    if not names:
        raise ValueError(f"output='xcom' needs fields: {', '.join(sorted(allowed))}")
    refused = [name for name in names if name not in allowed]
    if refused:
        raise ValueError(
            f"Airflow would store personal data in XCom and show it: fields names "
            f"{', '.join(refused)}. Allowed are {', '.join(sorted(allowed))}. "
            "Use output='file' for the others."
        )
    return fields if isinstance(fields, str) else names


class Selection:
    """Collects the selected fields of records."""

    def __init__(self, fields: str | Sequence[str], max_bytes: int) -> None:
        self.values: list[Any] = []
        """The selected values, in the order of the records."""
        self._fields = fields
        self._max_bytes = max_bytes
        self._bytes = len("[]")

    def add(self, records: Sequence[Record]) -> None:
        """Select from records; raise `XComTooLarge`."""
        for record in records:
            value = (
                getattr(record, self._fields)
                if isinstance(self._fields, str)
                else {name: getattr(record, name) for name in self._fields}
            )
            value = msgspec.to_builtins(
                value
            )  # amounts become text: XCom would make floats of them
            self.values.append(value)
            self._bytes += len(msgspec.json.encode(value)) + 1
        if self._bytes > self._max_bytes:
            raise XComTooLarge(
                f"The selected fields exceed the limit of {self._max_bytes:,} bytes for XCom "
                "(max_xcom_bytes). Select fewer fields, narrow the list, or use output='file' and "
                "read the file with bms_provider.files."
            )
