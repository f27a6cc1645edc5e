"""From the bytes of an answer to typed records, without losing a row, a field or a digit.

The fast way decodes a whole answer at once into the record's type, which knows every field of the
interface and forbids any other. Only when that fails are rows looked at one by one: names that are
new are learned, so that the next answer takes the fast way again; a row whose key or money is not
usable is set aside; a field of another type than described is coerced where it has one reading only,
and else goes to the row's extra, as None in the record. Both are counted by field.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Generic, TypeVar

import msgspec

from bms.endpoints import Endpoint
from bms.errors import InvalidRecords, MalformedResponse
from bms.field_values import LONGEST, field_value
from bms.records import CreatedEmployee, Record
from bms.responses import CreatedId, Detail, Page, RejectedRow, Rows

R = TypeVar("R", bound=Record)
D = TypeVar("D")

Extra = dict[int, dict[str, Any]]

MOST_LEARNED: Final = 64  # a service that invents names per row must not make us invent types too
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises for bytes that are no JSON, no text, or nested without end."""
DEEPEST: Final = 64
"""Levels of lists and objects in a member that the interface doesn't name: what keeps it recurses."""


class Envelope(msgspec.Struct, Generic[D]):
    """Paged list envelope of the interface; members it doesn't name are passed over."""

    total_pages: int
    data: D


def exact(digits: str) -> Decimal | str:
    """Return a JSON number as it was written; its text where no decimal can hold it."""
    try:
        return Decimal(digits)
    except InvalidOperation:
        return digits


RAW_ARRAY: Final = msgspec.json.Decoder(list[msgspec.Raw])
RAW_ENVELOPE: Final = msgspec.json.Decoder(Envelope[list[msgspec.Raw]])
CREATED_EMPLOYEE: Final = msgspec.json.Decoder(CreatedEmployee)
ANY: Final = msgspec.json.Decoder(float_hook=exact)


def nested(value: Any, levels: int) -> bool:
    """Return whether there are more than `levels` of lists and objects in one another."""
    if not isinstance(value, dict | list):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(nested(each, levels - 1) for each in inside)


@dataclass
class _Read(Generic[R]):
    """What was read of an answer, by the names of `Rows`."""

    records: list[R] = field(default_factory=list)
    rejected: list[RejectedRow] = field(default_factory=list)
    extra: Extra = field(default_factory=dict)
    coerced: Counter[str] = field(default_factory=Counter)
    mistyped: Counter[str] = field(default_factory=Counter)


class RecordReader(Generic[R]):
    """Reads the answers of one endpoint; remembers the names it has learned."""

    def __init__(self, endpoint: Endpoint, record_type: type[R]) -> None:
        self._endpoint = endpoint
        self._type = record_type
        self._fields = {f.encode_name: f for f in msgspec.structs.fields(record_type)}
        self._learned: dict[str, str] = {}  # wire name -> attribute of the widened type
        # msgspec reads a Decimal from a string too; the interface says number.
        money = b"|".join(re.escape(name.encode()) for name in record_type.MONEY)
        self._quoted_money = re.compile(rb'"(?:%s)"\s*:\s*"' % money) if money else None
        self._widen()

    def rows(self, body: bytes) -> Rows[R]:
        """Read a bare array (employees, invoices); raise `MalformedResponse` if it isn't one."""
        array = self._fast(self._array, body)
        if array is not None:
            read = self._narrow(array)
        else:
            read = self._one_by_one(self._outline(RAW_ARRAY, body))
        return Rows(endpoint=self._endpoint, body=body, **vars(read))

    def page(self, body: bytes, *, number: int, size: int) -> Page[R]:
        """Read a paged envelope (contacts, consultants); raise `MalformedResponse` if it isn't one."""
        envelope = self._fast(self._envelope, body)
        if envelope is not None:
            read = self._narrow(envelope.data)
        else:
            envelope = self._outline(RAW_ENVELOPE, body)
            read = self._one_by_one(envelope.data)
        return Page(
            endpoint=self._endpoint,
            body=body,
            number=number,
            size=size,
            total_pages=envelope.total_pages,
            **vars(read),
        )

    def detail(self, body: bytes) -> Detail[R]:
        """Read one object; raise `InvalidRecords` for its key or money, else `MalformedResponse`."""
        record = self._fast(self._row, body)
        if record is not None:
            read = self._narrow([record])
        else:
            read = self._one_by_one([msgspec.Raw(body.removeprefix(BYTE_ORDER_MARK))])
        for row in read.rejected:
            if row.code == "not_an_object":
                raise self._malformed()
            raise InvalidRecords(self._endpoint, [(row.index, row.field, row.code)])
        return Detail(
            record=read.records[0],
            extra=read.extra.get(0, {}),
            body=body,
            coerced=read.coerced,
            mistyped=read.mistyped,
        )

    def _fast(self, decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
        """Return the whole answer decoded, or None when it needs a closer look."""
        if self._quoted_money is not None and self._quoted_money.search(body):
            return None
        try:
            return decoder.decode(body.removeprefix(BYTE_ORDER_MARK))
        except UNREADABLE:
            return None

    def _outline(self, decoder: msgspec.json.Decoder[D], body: bytes) -> D:
        """Return the answer with its rows still raw."""
        try:
            return decoder.decode(body.removeprefix(BYTE_ORDER_MARK))
        except UNREADABLE:
            pass
        raise self._malformed()  # not inside `except`: the original holds pieces of the body

    def _malformed(self) -> MalformedResponse:
        return MalformedResponse(
            self._endpoint, "answered 2xx with a body that is not as described"
        )

    def _one_by_one(self, raws: list[msgspec.Raw]) -> _Read[R]:
        read: _Read[R] = _Read()
        for index, raw in enumerate(raws):
            row = bytes(raw)
            whole = self._fast(self._row, row)
            if whole is None:
                self._salvage(index, row, read)
                continue
            alone = self._narrow([whole])
            if alone.extra:
                read.extra[len(read.records)] = alone.extra[0]
            read.records += alone.records
        return read

    def _salvage(self, index: int, row: bytes, read: _Read[R]) -> None:
        """Read one row field by field, into `read`."""
        members = self._outline(ANY, row)
        if not isinstance(members, dict):
            read.rejected.append(
                RejectedRow(index=index, key=None, field=None, code="not_an_object", raw=row)
            )
            return
        if nested(members, DEEPEST):
            raise self._malformed()
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
        """Return the first field without which a row is unusable, and what is wrong with it."""
        for name, described in self._fields.items():
            if described.required and fields[name] is None:
                return name, "missing_key" if name == self._type.KEY else "missing_money"
            if name in mistyped and (described.required or name in self._type.MONEY):
                return name, "bad_type"
        return None

    def _learn(self, names: Iterable[str]) -> None:
        new = [name for name in names if name not in self._learned]
        room = MOST_LEARNED - len(self._learned)
        if new and room > 0:
            for name in new[:room]:
                self._learned[name] = f"learned_{len(self._learned)}"
            self._widen()

    def _widen(self) -> None:
        """Make the decoders for the record's type and the names learned so far."""
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

    def _narrow(self, rows: list[Any]) -> _Read[R]:
        """Return rows of the widened type as the record's own type, and their learned members."""
        if not self._learned:
            return _Read(rows)
        learned = self._learned.items()
        extra = {
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
        if any(nested(members, DEEPEST) for members in extra.values()):
            raise self._malformed()
        narrow = list[self._type]  # type: ignore[name-defined]  # a type made at run time
        return _Read(msgspec.convert(rows, narrow, from_attributes=True), extra=extra)


def read_created_employee(endpoint: Endpoint, body: bytes) -> CreatedEmployee:
    """Read an employee creation response; raise `MalformedResponse` if it is anything else."""
    try:
        return CREATED_EMPLOYEE.decode(body.removeprefix(BYTE_ORDER_MARK))
    except UNREADABLE:
        pass
    raise MalformedResponse(endpoint, "answered 2xx with a body that is not as described")


def read_created_id(endpoint: Endpoint, name: str, body: bytes) -> CreatedId:
    """Read the id of a created record; raise `MalformedResponse` if there is none.

    The body's shape is not shown by the interface. Our assumption: the id as a number or as a
    string, alone or as the member `id` or `name` of an object.
    """
    try:
        answer = ANY.decode(body.removeprefix(BYTE_ORDER_MARK))
    except UNREADABLE:
        answer = None
    if isinstance(answer, dict):
        answer = answer.get("id", answer.get(name))
    if isinstance(answer, str) and re.fullmatch(rf"[0-9]{{1,{LONGEST}}}", answer):
        answer = int(answer)
    if isinstance(answer, int) and not isinstance(answer, bool):
        return CreatedId(answer)
    raise MalformedResponse(endpoint, "answered 2xx without an id")
