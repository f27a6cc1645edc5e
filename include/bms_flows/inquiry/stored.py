"""Stored responses of a row: the digest of the row is computed again from the stored bytes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final

import msgspec
import pyarrow as pa
from upath import UPath

from bms.decoding import RecordReader
from bms.endpoints import BY_NAME
from bms.errors import BmsError, MalformedResponse
from bms_flows.inquiry.answer import Inquiry
from bms_flows.invoices.decode import ResponseReader
from bms_flows.invoices.raw import MOVED, REQUESTED, StoredResponses, unpacked
from bms_flows.invoices.rows import RowReader
from bms_flows.mirror.resource import MirroredResource
from bms_flows.mirror.rows import (
    DetailItem,
    ListItem,
    ListState,
    detailed_rows,
    listed_rows,
    rename,
)
from bms_flows.runtime.windows import Window

HALF: Final = 16
"""Bytes of the digest of a list item; those of the detail follow."""
EQUAL = "its digest, computed again, is that of the row"
DIFFERS = "its digest DIFFERS from that of the row: the file or the row was changed by hand"
NONE = "its run stored no response with this record"
GONE = "no stored response any more (BMS_KEEP_RAW_DAYS, BMS_KEEP_PEOPLE_DAYS)"


def invoice(root: UPath, details: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the request that returned a version of an invoice, and the result of the check."""
    if not details.get("raw"):
        return "", GONE
    responses = StoredResponses.of_step(root, details)
    rows, missing = RowReader(responses.reading), row["_missing_since"] is not None
    for window, path in _responses(responses, row["_day"], moved=not missing):
        request = (
            f"list_client_invoices id_entity={row['id_entity']} start_date={window.start} "
            f"end_date={window.end}, stored in {path.parent.name}/{path.name}"
        )
        try:
            answer = ResponseReader().read(unpacked(path))
        except (MalformedResponse, pa.ArrowInvalid):
            return request, "the stored response is damaged: restore the file from a backup"
        table = rows.read(answer).table
        ids, digests = (table.column(name).to_pylist() for name in ("id_invoice", "_row_hash"))
        # A response may have several rows with one id, of which the load has chosen one.
        found = [hash_ for key, hash_ in zip(ids, digests, strict=True) if key == row["id_invoice"]]
        if missing and not found:
            return request, "it lacks the invoice, as the row states"
        if found:
            return request, EQUAL if bytes(row["_row_hash"]) in found else DIFFERS
    return "", GONE


def _responses(
    stored: StoredResponses, day: date | None, *, moved: bool
) -> list[tuple[Window, UPath]]:
    """Return the responses that may contain an invoice of a day: those that requested the day first."""
    kinds = (REQUESTED, MOVED) if moved else (REQUESTED,)
    found = [(window, path) for kind in kinds for window, path in stored.files(kind)]
    of_day = [each for each in found if day and day in each[0]]
    return [*of_day, *(each for each in found if each not in of_day)] if moved else of_day


def record(
    asked: Inquiry, resource: MirroredResource, details: Mapping[str, Any], row: Mapping[str, Any]
) -> tuple[str, str]:
    """Return the stored responses of a version of a mirrored record, and the result of the check.

    A row's digest has two halves: of the list item, and of the fields that only the detail has.
    """
    raw, zone_read_in = details.get("raw"), details.get("zone")
    # A run that did not record its zone may have read date-times in either.
    zones = [zone_read_in] if zone_read_in else [str(asked.settings.time_zone), "UTC"]
    if raw is None and "raw" in details:
        return "", NONE
    folder = asked.root / raw if raw else None
    if folder is None or not folder.exists():
        return "", GONE
    digest = bytes(row["_row_hash"])
    state = ListState(None, None, tuple(row[each] for each in resource.flags), row["deleted"])
    entity = row.get("_entity")
    described, checked, equal = resource.described, list[str](), list[bool]()

    def digests(rows: Callable[..., Any], items: Sequence[Any]) -> list[bytes]:
        framed = (rows(resource, [item], zone, entity) for zone in zones for item in items)
        return [h for each in framed for h in each.rows.column("_row_hash").to_pylist()]

    detail = _record(folder / "details.json.zst", described.read_operation, resource, row)
    item = _record(folder / "pages.json.zst", described.list_operation, resource, row)
    if not described.has_detail:
        detail = None
    if detail:
        found, extra = detail
        checked.append("details.json.zst")
        extras: list[dict[str, Any]] = [{}] if resource.private_fields else [extra, {}]
        read = digests(detailed_rows, [DetailItem(found, state, each) for each in extras])
        equal.append(digest[HALF:] in (each[HALF:] for each in read))
    if item:
        found, extra = item
        checked.append("pages.json.zst")
        own = getattr(found, "deleted", None)
        states = [
            ListState(None, e or None, state.flags, state.deleted if own is None else own)
            for e in (resource.unknown(extra), {})
        ]
        read = digests(listed_rows, [ListItem(found, each) for each in states])
        # On contradiction, the detail precedes its list item.
        if detail:
            read += digests(detailed_rows, [DetailItem(detail[0], each, {}) for each in states])
        equal.append(digest[:HALF] in (each[:HALF] for each in read))
    where = f"{', '.join(checked)} in {folder.name}"
    if not checked:
        return "", NONE
    return where, EQUAL if all(equal) else DIFFERS


def _record(
    path: UPath, operation: str, resource: MirroredResource, row: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]] | None:
    """Return the last record of a row in a file of responses, with its unknown fields."""
    if not path.exists():
        return None
    endpoint, key = BY_NAME[operation], str(row[resource.key])
    record_type = resource.item if endpoint.kind == "list" else resource.detail
    reader = RecordReader(endpoint, record_type)
    last = None
    for body in _bodies(unpacked(path)):
        if key.encode() not in body:
            continue
        try:
            if endpoint.kind != "list":
                read = [(each := reader.detail(body)).record], {0: each.extra}
            elif endpoint.paged:
                page = reader.page(body, number=1, size=len(body))
                read = page.records, page.extra
            else:
                rows = reader.rows(body)
                read = rows.records, rows.extra
        except (BmsError, MalformedResponse):
            continue
        for index, found in enumerate(read[0]):
            if str(getattr(found, resource.key)) == key:
                extra = dict(read[1].get(index, {}))
                last = found, rename(found, extra, resource.aliases)
    return last


def _bodies(content: bytes) -> Iterator[bytes]:
    """Yield the responses of a file; each may contain line breaks."""
    waiting = b""
    for line in content.splitlines():
        waiting += line + b"\n"
        try:
            msgspec.json.decode(waiting, type=msgspec.Raw)
        except msgspec.DecodeError:
            continue
        yield waiting
        waiting = b""
