"""What answers look like: errors, times, fields beyond the interface, codes; pure.

Only names, codes and numbers are taken from an answer, never a text that may be personal.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

from bms.dates import SHAPE
from bms.records import Record
from bms_flows.contract.asking import Reply
from bms_flows.contract.finding import Finding, cannot_tell

Row = Mapping[str, Any]

NAME: Final = re.compile(r"[A-Za-z_][\w.\-]{0,59}")
CODE: Final = re.compile(r"[\w.\-]{1,20}")
MOST_CODES: Final = 40
"""A field with more values than this holds no codes."""
PROBLEM: Final = {"type", "title", "status"}
"""Members of RFC 9457."""
AHEAD_S: Final = 900.0
"""Seconds that the service's own clocks may differ by."""
ZONE_SETTING: Final = "time_zone of the connection"
MOMENTS: Final = ("created_on", "modified_on", "sent_on", "canceled_on", "deleted_on")


# Errors


def error(name: str, asked: str, reply: Reply) -> Finding:
    """Return status and shape of the answer to a question that can't be answered."""
    value = {"status": reply.status, "body": body_shape(reply)}
    if reply.ok:
        told = f"{asked} is answered {reply.status} all the same."
        return Finding(name=name, value=value | {"body": "an answer"}, told=told)
    told = f"{asked} is answered {reply.status}; the body is {value['body']}."
    return Finding(name=name, value=value, told=told)


def body_shape(reply: Reply) -> str:
    """Return what kind of body an error has, with the names of its members."""
    if not reply.body.strip():
        return "empty"
    content = reply.content()
    if not isinstance(content, dict):
        return "text" if content is None else "json"
    names = sorted(name for name in content if NAME.fullmatch(name))
    kind = "problem" if content.keys() >= PROBLEM else "json"
    return f"{kind}: {', '.join(names)}"


# Times


def datetime_zone(rows: Iterable[Row], served_at: float | None, assumed: str) -> Finding:
    """Return how date-times name their zone; one without, ahead of the service's clock, is telling."""
    name = "datetime_zone"
    moments = [text for row in rows for text in _moments(row)]
    written = sorted({_zone_of(text) for text in moments})
    if not written:
        return cannot_tell(name, "no date-time was seen.", setting=ZONE_SETTING)
    told = {
        "none": "Date-times come without a zone; which one is meant, they do not tell.",
        "Z": "Date-times are UTC, and say so.",
        "offset": "Date-times carry their offset.",
    }
    ahead = _ahead([text for text in moments if _zone_of(text) == "none"], served_at, assumed)
    return Finding(
        name=name,
        value=written,
        told=" ".join(told[each] for each in written),
        setting=ZONE_SETTING,
        advice=f"Read in {assumed}, a time lies ahead: set time_zone to a zone further east."
        if ahead
        else None,
    )


def offsets(rows: Iterable[Row], zone: str) -> Finding:
    """Return the offsets that date-times carry, where winter and summer were both seen."""
    name = "offsets"
    seen: set[str] = set()
    agree, seasons = True, set()
    for text in (text for row in rows for text in _moments(row)):
        if _zone_of(text) != "offset":
            continue
        moment = datetime.fromisoformat(text)
        seen.add(moment.isoformat()[-6:])
        seasons.add(moment.month)
        agree = agree and moment.utcoffset() == moment.astimezone(ZoneInfo(zone)).utcoffset()
    if not seasons & {12, 1, 2} or not seasons & {6, 7, 8}:
        return cannot_tell(name, "no offsets of both winter and summer were seen.")
    told = f"Offsets are {', '.join(sorted(seen))}: {'' if agree else 'not '}those of {zone}."
    return Finding(name=name, value=sorted(seen), told=told)


def _moments(row: Row) -> list[str]:
    found = (row.get(name) for name in MOMENTS)
    return [text for text in found if isinstance(text, str) and SHAPE.fullmatch(text)]


def _zone_of(text: str) -> str:
    if text[-1] in "Zz":
        return "Z"
    return "offset" if re.search(r"[ T].*[+-]\d\d(?::?\d\d)?$", text) else "none"


def _ahead(texts: Sequence[str], served_at: float | None, zone: str) -> bool:
    if served_at is None:
        return False
    limit = datetime.fromtimestamp(served_at, UTC) + timedelta(seconds=AHEAD_S)
    moments = (datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)) for text in texts)
    return any(moment > limit for moment in moments)


# Fields and codes


def undocumented(operation: str, rows: Sequence[Row], record: type[Record]) -> Finding:
    """Return the names of fields that rows carry and the interface doesn't describe."""
    name = f"undocumented_{operation}"
    if not rows:
        return cannot_tell(name, "no row was seen.")
    described = {field.encode_name for field in msgspec.structs.fields(record)}
    beyond = {each for row in rows for each in row if NAME.fullmatch(each)} - described
    told = f"{operation} carries {', '.join(sorted(beyond))} beside the fields described."
    if not beyond:
        told = f"{operation} carries the fields described and no other."
    return Finding(name=name, value=sorted(beyond)[:MOST_CODES], told=told, grows=True)


def codes(resource: str, field: str, rows: Sequence[Row]) -> Finding:
    """Return the codes seen in a field."""
    name = f"codes_{resource}_{field}"
    seen = {row[field] for row in rows if isinstance(row.get(field), str)}
    found = sorted(code for code in seen if CODE.fullmatch(code))
    if not found:
        return cannot_tell(name, "no code was seen.")
    if len(found) > MOST_CODES:
        return cannot_tell(name, f"it has more than {MOST_CODES} values.")
    told = f"{field} of {resource} takes {', '.join(found)}."
    return Finding(name=name, value=found, told=told, grows=True)
