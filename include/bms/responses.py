"""Decoded responses: records, rejected rows, unknown fields and the unchanged body."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from bms.endpoints import BY_NAME, Endpoint, named
from bms.errors import InvalidRecords

R = TypeVar("R")

FindRows = Callable[[Sequence[msgspec.Raw]], tuple[Sequence[bytes], list[Any]]]
"""Returns a digest of each row as received, and instead of decoding it a tuple that begins with its key, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Granted scopes and remaining life of the current token, without the token.

    `scopes` is None if the service does not report them; `expires_in_s` (remaining seconds, by the
    service's clock) is None if the life is unknown.
    """

    scopes: frozenset[str] | None
    expires_in_s: float | None

    def missing(self, *operations: str) -> list[str] | None:
        """Return the scopes that `operations` (by default, all) need and the token lacks.

        None if the service does not report scopes. Raises `ValueError` for an unknown operation.
        """
        needed = {each.scope for each in named(operations or BY_NAME)}
        if self.scopes is None:
            return None
        return sorted(filter(None, needed - self.scopes))


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedRow:
    """A row without a usable key or amount: its position, its fault and its unchanged bytes.

    `index` counts from 0 in the response. `code` is one of `not_an_object`, `missing_key`,
    `missing_money`, `bad_type`.
    """

    index: int
    key: int | str | None
    field: str | None
    code: str
    raw: bytes = dataclasses.field(repr=False)


@dataclass(slots=True, kw_only=True, repr=False)
class Rows(Generic[R]):
    """The rows of one response.

    `records` are the valid rows in their order. `extra` maps an index in `records` to the values
    without a field in the record: unknown fields, and mistyped values (None in the record). By
    field, `coerced` counts the records with a value converted from another type, and `mistyped`
    those with a value that cannot be converted. `body` is the response, with U+FFFD in place of halves
    of characters.
    """

    endpoint: Endpoint
    body: bytes
    records: list[R] = dataclasses.field(default_factory=list)
    rejected: list[RejectedRow] = dataclasses.field(default_factory=list)
    extra: dict[int, dict[str, Any]] = dataclasses.field(default_factory=dict)
    coerced: Counter[str] = dataclasses.field(default_factory=Counter)
    mistyped: Counter[str] = dataclasses.field(default_factory=Counter)

    def require_all(self) -> None:
        """Raise `InvalidRecords` if a row was rejected."""
        if self.rejected:
            raise InvalidRecords(self.endpoint, [(r.index, r.field, r.code) for r in self.rejected])

    def as_page(
        self, number: int, size: int, total_pages: int = 1, new: Mapping[int, bytes] | None = None
    ) -> "Page[R]":
        """Return the rows as page `number` of `size` rows, by default the only one."""
        own = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        return Page(**own, number=number, size=size, total_pages=total_pages, new=new)

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[R]:
        return iter(self.records)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.endpoint.name}, records={len(self.records)}, "
            f"rejected={len(self.rejected)}, bytes={len(self.body)})"
        )


@dataclass(slots=True, kw_only=True, repr=False)
class Page(Rows[R]):
    """One page (interface, "Paged list envelope"): its number from 1, the requested size, the total."""

    number: int
    size: int
    total_pages: int
    new: Mapping[int, bytes] | None = None
    """Digest of each decoded row as received, by index in `records`; None if every row was decoded."""

    def require_all(self) -> None:
        """Raise `InvalidRecords` with the page number if a row was rejected."""
        try:
            Rows.require_all(self)  # a dataclass with slots has no usable super()
        except InvalidRecords as error:
            error.add_note(f"These rows are on page {self.number}.")
            raise


def row_key(row: Any) -> Any:
    """Return the key of a row of a page; the row itself if it has none."""
    return row[0] if isinstance(row, tuple) else getattr(row, "key", row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail(Generic[R]):
    """One record, its values without a field, and the body; see `Rows`."""

    record: R
    extra: dict[str, Any] = dataclasses.field(repr=False)
    body: bytes = dataclasses.field(repr=False)
    coerced: Mapping[str, int] = dataclasses.field(default_factory=dict)
    mistyped: Mapping[str, int] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreatedId:
    """The id of a created contact or consultant."""

    id: int
