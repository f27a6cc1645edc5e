"""Lossless decoding of response bodies into typed records.

The fast path decodes a whole response into the record type, which has every field of the interface
and forbids others. If that fails, each row is decoded separately: the decoder learns new field
names, so that the next response takes the fast path again; a row without a usable key or amount is
rejected; a mistyped value is converted if it has only one interpretation, and otherwise moves to
the row's extra, with None in the record. Both are counted by field.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, Generic, TypeVar

import msgspec

from bms.endpoints import Endpoint
from bms.errors import InvalidRecords, MalformedResponse
from bms.field_values import field_value
from bms.json_content import BYTE_ORDER_MARK, UNREADABLE, exact, json_content, without_halves
from bms.records import Record, described
from bms.responses import Detail, FindRows, Page, RejectedRow, Rows

R = TypeVar("R", bound=Record)
D = TypeVar("D")

MAX_LEARNED: Final = 64
"""Field names to learn; bounds the decoder's types if a service invents names in each row."""
MAX_DEPTH: Final = 64
"""Levels of lists and objects in an undescribed field; code that stores it is recursive."""

UNLEARNABLE: Final = re.compile(r'["\\\x00-\x1f]')
"""Characters that a decoder's field names must not contain."""


class Envelope(msgspec.Struct, Generic[D]):
    """Paged list envelope of the interface; ignores other members."""

    total_pages: int
    data: D | None = None


RAW: Final = msgspec.json.Decoder(msgspec.Raw).decode
RAW_ARRAY: Final = msgspec.json.Decoder(list[msgspec.Raw] | None).decode
RAW_ENVELOPE: Final = msgspec.json.Decoder(Envelope[list[msgspec.Raw]], strict=False).decode
"""Reads a total of `\"3\"` or `3.0`, too."""


def _reason(error: Exception, body: bytes) -> str:
    """Return why a body or row can't be decoded, without its content."""
    if body[:99].lstrip().startswith(b"<"):
        return "HTML or XML, perhaps a page of a proxy"
    if isinstance(error, msgspec.DecodeError):
        return str(error)
    return "nested too deeply" if isinstance(error, RecursionError) else "no UTF-8"


def nested(value: Any, levels: int) -> bool:
    """Return whether lists and objects are nested more than `levels` deep."""
    if not isinstance(value, dict | list):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(nested(each, levels - 1) for each in inside)


class RecordReader(Generic[R]):
    """Decoder of the responses of one endpoint; learns undescribed field names."""

    def __init__(self, endpoint: Endpoint, record_type: type[R]) -> None:
        self._endpoint = endpoint
        self._type = record_type
        self._fields = described(record_type)
        self._learned: dict[str, str] = {}  # field name -> attribute of the widened type
        # msgspec accepts text for a Decimal; the interface defines a number.
        self._amounts = record_type.amounts()
        money = b"|".join(re.escape(name.encode()) for name in self._amounts)
        self._quoted_money = re.compile(rb'"(?:%s)"\s*:\s*"' % money) if money else None
        self._widen()

    def rows(self, body: bytes) -> Rows[R]:
        """Decode an array (employees, invoices), or raise `MalformedResponse`."""
        return self._decoded(body, self._array, RAW_ARRAY, lambda rows: rows or [])[1]

    def page(self, body: bytes, *, number: int, size: int, find: FindRows | None = None) -> Page[R]:
        """Decode a paged envelope (contacts, consultants), or raise `MalformedResponse`.

        With `find`, the rows that it returns are records of the page instead of decoded ones.
        """
        new: Mapping[int, bytes] | None = None
        if find is None:
            envelope, read = self._decoded(
                body, self._envelope, RAW_ENVELOPE, partial(self._data, number)
            )
        else:
            body = without_halves(body)
            envelope = self._outline(RAW_ENVELOPE, body)
            raws = self._data(number, envelope)
            read, new = self._unless_found(body, raws, *find(raws))
        return read.as_page(number, size, envelope.total_pages, new)

    def _data(self, number: int, envelope: Envelope[list[D]]) -> list[D]:
        """Return the rows of an envelope; null and absent mean none, except before the last page."""
        if envelope.data is None and number <= envelope.total_pages > 1:
            raise self._malformed("no data")
        return envelope.data or []

    def _unless_found(
        self, body: bytes, raws: Sequence[msgspec.Raw], digests: Sequence[bytes], rows: list[Any]
    ) -> tuple[Rows[R], Mapping[int, bytes]]:
        """Decode the rows that are None in `rows`; return all rows, and the digests of the decoded ones."""
        new = [index for index, row in enumerate(rows) if row is None]
        if not new:
            return Rows(endpoint=self._endpoint, body=body, records=rows), {}
        read = self.rows(b"[%b]" % b",".join([raws[index] for index in new]))
        read.body = body
        read.rejected = [replace(each, index=new[each.index]) for each in read.rejected]
        invalid = [each.index for each in read.rejected]
        valid = [index for index in new if index not in invalid] if invalid else new
        for index, record in zip(valid, read.records, strict=True):
            rows[index] = record
        decoded = {index - bisect_left(invalid, index): digests[index] for index in valid}
        indexes = [*decoded]
        read.records = [row for row in rows if row is not None]
        read.extra = {indexes[index]: extra for index, extra in read.extra.items()}
        return read, decoded

    def detail(self, body: bytes) -> Detail[R]:
        """Decode one object; raise `InvalidRecords` for its key or amounts, else `MalformedResponse`."""
        _, read = self._decoded(body, self._row, RAW, lambda row: [row])
        for row in read.rejected:
            if row.code == "not_an_object":
                raise self._malformed("no object")
            raise InvalidRecords(self._endpoint, [(row.index, row.field, row.code)])
        return Detail(
            record=read.records[0],
            extra=read.extra.get(0, {}),
            body=read.body,
            coerced=read.coerced,
            mistyped=read.mistyped,
        )

    def _decoded(
        self,
        body: bytes,
        decoder: msgspec.json.Decoder[Any],
        outline: Callable[[bytes], Any],
        rows_of: Callable[[Any], list[Any]],
    ) -> tuple[Any, Rows[R]]:
        """Return the content of the body, and its rows: decoded at once, or else one by one."""
        content = self._fast(decoder, body)
        if content is not None:
            return content, self._narrow(body, rows_of(content))
        body = without_halves(body)
        content = self._outline(outline, body)
        return content, self._one_by_one(body, rows_of(content))

    def _fast(self, decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
        """Return the decoded body, or None if its rows must be decoded separately."""
        if self._quoted_money is not None and self._quoted_money.search(body):
            return None
        try:
            return decoder.decode(body.removeprefix(BYTE_ORDER_MARK))
        except UNREADABLE:
            return None

    def _outline(self, decode: Callable[[bytes], D], body: bytes) -> D:
        """Return a decoded body or row, or raise `MalformedResponse`."""
        try:
            return decode(body.removeprefix(BYTE_ORDER_MARK))
        except UNREADABLE as error:
            why = _reason(error, body)
        raise self._malformed(why)  # outside `except`: the original error may quote the body

    def _malformed(self, why: str) -> MalformedResponse:
        text = f"responded 2xx with a body that does not match the interface: {why}"
        return MalformedResponse(self._endpoint, text)

    def _one_by_one(self, body: bytes, raws: list[msgspec.Raw]) -> Rows[R]:
        read: Rows[R] = Rows(endpoint=self._endpoint, body=body)
        for index, raw in enumerate(raws):
            row = bytes(raw)
            whole = self._fast(self._row, row)
            if whole is None:
                self._salvage(index, row, read)
                continue
            alone = self._narrow(row, [whole])
            if alone.extra:
                read.extra[len(read.records)] = alone.extra[0]
            read.records += alone.records
        return read

    def _salvage(self, index: int, row: bytes, read: Rows[R]) -> None:
        """Decode one row field by field and add it to `read`."""
        members = self._outline(json_content, row)
        if not isinstance(members, dict):
            read.rejected.append(
                RejectedRow(index=index, key=None, field=None, code="not_an_object", raw=row)
            )
            return
        if nested(members, MAX_DEPTH):
            raise self._malformed("nested too deeply")
        fields = {name: members.pop(name, None) for name in self._fields}
        values: dict[str, Any] = {}
        mistyped: dict[str, Any] = {}
        coerced: list[str] = []
        for name, value in fields.items():
            if value is None:
                continue
            try:
                values[name], otherwise = field_value(value, self._fields[name].type)
            except ValueError:
                mistyped[name] = value
            else:
                coerced += [name] if otherwise else []
        if fault := self._fault(fields, mistyped):
            name, code = fault
            key = values.get(self._type.KEY)
            read.rejected.append(RejectedRow(index=index, key=key, field=name, code=code, raw=row))
            return
        self._learn(members)
        if mistyped or members:
            read.extra[len(read.records)] = mistyped | members
        read.coerced.update(coerced)
        read.mistyped.update(mistyped.keys())
        read.records.append(self._type(**values))

    def _fault(self, fields: dict[str, Any], mistyped: Container[str]) -> tuple[str, str] | None:
        """Return the first field that makes a row unusable, and the code of its fault."""
        for name, declared in self._fields.items():
            if declared.required and fields[name] is None:
                return name, "missing_key" if name == self._type.KEY else "missing_money"
            if name in mistyped and (declared.required or name in self._amounts):
                return name, "bad_type"
        return None

    def _learn(self, names: Iterable[str]) -> None:
        new = [each for each in names if each not in self._learned and not UNLEARNABLE.search(each)]
        room = MAX_LEARNED - len(self._learned)
        if new and room > 0:
            for name in new[:room]:
                self._learned[name] = f"learned_{len(self._learned)}"
            self._widen()

    def _widen(self) -> None:
        """Create the decoders for the record type and the learned names."""
        widened: Any = self._type
        if self._learned:
            widened = msgspec.defstruct(
                self._type.__name__,
                [(attribute, Any, msgspec.UNSET) for attribute in self._learned.values()],
                bases=(self._type,),
                rename={attribute: name for name, attribute in self._learned.items()},
                kw_only=True,
                forbid_unknown_fields=True,
                gc=False,
            )
        self._row = msgspec.json.Decoder(widened, float_hook=exact)
        self._array = msgspec.json.Decoder(list[widened], float_hook=exact)
        self._envelope = msgspec.json.Decoder(Envelope[list[widened]], float_hook=exact)

    def _narrow(self, body: bytes, rows: list[Any]) -> Rows[R]:
        """Return rows of the widened type as the record type, with their learned fields."""
        read: Rows[R] = Rows(endpoint=self._endpoint, body=body, records=rows)
        if not self._learned:
            return read
        learned = self._learned.items()
        read.extra = {
            index: members
            for index, row in enumerate(rows)
            if (
                members := {
                    name: value
                    for name, attribute in learned
                    if (value := getattr(row, attribute)) is not msgspec.UNSET
                }
            )
        }
        if any(nested(members, MAX_DEPTH) for members in read.extra.values()):
            raise self._malformed("nested too deeply")
        narrow = list[self._type]  # type: ignore[name-defined]  # a type created at run time
        read.records = msgspec.convert(rows, narrow, from_attributes=True)
        return read
