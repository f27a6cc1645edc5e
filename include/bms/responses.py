"""What the client hands back: rows with what was wrong or new about them, and the answer as it came."""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bms.endpoints import Endpoint
from bms.errors import InvalidRecords

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What the current token allows; never the token itself.

    `scopes` is None where the service doesn't say, `expires_in_s` (seconds left, by the service's
    own count) is None where its life is unknown.
    """

    scopes: frozenset[str] | None
    expires_in_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedRow:
    """A row without a usable key or money field: where it stood, what is wrong, its bytes as they came.

    `index` counts from 0 in the answer. `code` is one of `not_an_object`, `missing_key`,
    `missing_money`, `bad_type`.
    """

    index: int
    key: int | str | None
    field: str | None
    code: str
    raw: bytes = dataclasses.field(repr=False)


@dataclass(slots=True, kw_only=True, repr=False)
class Rows(Generic[R]):
    """The rows of one answer.

    `records` are the good ones in the order they came. `extra` maps an index in `records` to what
    the record's type has no place for: unknown fields, and known ones of another type than
    described (None in the record). `coerced` and `mistyped` count, by field, the records with a
    value of another type than described: those that were read all the same, and those that are None.
    `body` is the answer as it came.
    """

    endpoint: Endpoint
    records: list[R]
    rejected: list[RejectedRow]
    extra: dict[int, dict[str, Any]]
    body: bytes
    coerced: Mapping[str, int] = dataclasses.field(default_factory=dict)
    mistyped: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def require_all(self) -> None:
        """Raise `InvalidRecords` if a row was rejected; it names rows, fields and codes, no values."""
        if self.rejected:
            raise InvalidRecords(self.endpoint, [(r.index, r.field, r.code) for r in self.rejected])

    def as_page(self, number: int, size: int) -> "Page[R]":
        """Return the rows of a list that has no pages as its only page, asked for as `number` of `size`."""
        return Page(
            endpoint=self.endpoint,
            records=self.records,
            rejected=self.rejected,
            extra=self.extra,
            body=self.body,
            coerced=self.coerced,
            mistyped=self.mistyped,
            number=number,
            size=size,
            total_pages=1,
        )

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
    """One page (interface, "Paged list envelope"): its number from 1, the size asked for, the total."""

    number: int
    size: int
    total_pages: int

    def require_all(self) -> None:
        """Raise `InvalidRecords` if a row was rejected, with a note that names the page."""
        try:
            Rows.require_all(self)  # a dataclass with slots has no usable super()
        except InvalidRecords as error:
            error.add_note(f"These rows are on page {self.number}.")
            raise


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail(Generic[R]):
    """One record, what its type has no place for, and the answer as it came; see `Rows`."""

    record: R
    extra: dict[str, Any] = dataclasses.field(repr=False)
    body: bytes = dataclasses.field(repr=False)
    coerced: Mapping[str, int] = dataclasses.field(default_factory=dict)
    mistyped: Mapping[str, int] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreatedId:
    """The id of a created contact or consultant."""

    id: int
