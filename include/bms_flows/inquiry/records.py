"""`bms why employee|contact|consultant`: versions, drops, decisions, duplicates, stored responses."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from bms.records.declaration import public_fields
from bms_flows.catalog import LOADED_BY
from bms_flows.inquiry import drops, stored
from bms_flows.inquiry.answer import Answer, Inquiry
from bms_flows.mirror.resource import MirroredResource
from bms_flows.mirror.resources import MIRRORED

MOST: Final = 5
"""Records of one payroll number or address that are shown."""
NAMES: Final = ("payroll_number", "business_email", "personal_email", "email")
"""Columns besides the ids by which a record is found; duplicates have the same."""
IDS: Final = ("id_employee", "reference_number")
MARKS: Final = ("last_name", "first_name")


def why(asked: Inquiry, name: str, given: str) -> list[Answer]:
    """Return an answer for each record of a resource with this id, payroll number or address, now or else before."""
    resource = MIRRORED[name]
    columns = [each for each in (resource.key, *IDS, *NAMES) if each in resource.table.columns]
    equal = " or ".join(f"lower(cast({each} as text)) = lower(:given)" for each in columns)
    for table in (str(resource.table), f"{resource.table}_version"):
        found = asked.query(
            f"select {resource.key} as key from {table} where {equal} "  # noqa: S608 - our own names
            f"group by 1 order by bool_and(deleted), 1 limit :most",
            given=given,
            most=MOST + 1,
        )
        if found:
            break
    else:
        return [_absent(asked, resource, given, columns)]
    answers = [_record(asked, resource, each["key"]) for each in found[:MOST]]
    names = ", ".join(columns)
    for each in answers if table != str(resource.table) else ():
        each.facts.insert(0, f"Only an earlier version has this {names}.")
    if len(found) > MOST:
        answers[0].facts.insert(0, f"More records have this {names}; the first {MOST} are shown.")
    return answers


def _record(asked: Inquiry, resource: MirroredResource, key: object) -> Answer:
    versions = asked.query(
        f"select * from {resource.table}_version where {resource.key} = :key order by _version",  # noqa: S608 - our own names
        key=key,
    )
    row = versions[-1]
    title = resource.described.name.capitalize()
    answer = Answer(f"{title} {key}")
    removed = f"removed ({row['_removal_reason']})" if row["deleted"] else "current"
    answer.facts.append(f"{removed}, version {row['_version']}")
    if asked.personal:
        shown = (f"{each} {row[each]}" for each in (*MARKS, *NAMES) if row.get(each) is not None)
        answer.facts.append(", ".join(shown))
    answer.facts += _doubles(asked, resource, row)
    public = public_fields(resource.item) | public_fields(resource.detail)
    answer.events += asked.timeline(versions, public, _said)
    answer.events += asked.quarantined(resource.name, str(key))
    answer.events += asked.reviews(LOADED_BY[resource.name].dag_id, row.get("_entity"))
    answer.events += drops.events_of_record(asked, resource.name, str(key))
    answer.stored += asked.stored(versions, partial(stored.record, asked, resource))
    answer.next.append(_next(asked, resource))
    return answer


def _said(before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    reasons = {
        "flagged": "removed: the service marks the record as deleted",
        "missing": "removed: two passes lack the record, and its detail answers 404 or 410",
    }
    now = after["_removal_reason"]
    return None if now == before["_removal_reason"] else reasons.get(str(now), "listed again")


def _doubles(asked: Inquiry, resource: MirroredResource, row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the current records that have the same number, address or name: possible duplicates."""
    by = [[each] for each in NAMES if row.get(each)]
    if all(row.get(each) for each in MARKS):
        by.append([*MARKS])
    doubled = False
    for columns in by:
        same = " and ".join(f"lower({each}) = lower(:{each})" for each in columns)
        others = asked.query(
            f"select {resource.key} as key from {resource.table} where {same} "  # noqa: S608 - our own names
            f"and {resource.key} <> :own and not deleted order by 1 limit :most",
            **{each: row[each] for each in columns},
            own=row[resource.key],
            most=MOST + 1,
        )
        if others:
            doubled = True
            shown = [str(each["key"]) for each in others[:MOST]]
            keys = ", ".join([*shown, "…"] if len(others) > MOST else shown)
            yield f"Possible duplicate, same {' and '.join(columns)}: {keys}"
    if not doubled:
        yield "No other current record has its number, address or name."


def _next(asked: Inquiry, resource: MirroredResource) -> str:
    flow = LOADED_BY[resource.name]
    [last] = asked.query(
        """
        select max(finished_at) as at from bms.step_run
        where flow = :flow and step = :step and state = 'complete'
        """,
        flow=flow.dag_id,
        step=flow.last_step,
    )
    ended = (
        f"the last complete run ended {asked.links.time(last['at'])}"
        if last["at"]
        else "no run was complete yet"
    )
    return f"Each run of {flow.dag_id} reads the list again; {ended}."


def _absent(
    asked: Inquiry, resource: MirroredResource, given: str, columns: Sequence[str]
) -> Answer:
    """Return the answer about a record that the mirror does not have; it quotes no address."""
    name = resource.described.name
    answer = Answer(f"{name.capitalize()}: no record with this {', '.join(columns)}", found=False)
    answer.events += asked.quarantined(resource.name, given, fields=columns)
    answer.events += drops.events_of_record(asked, name, given)
    [count] = asked.query(
        f"select count(*) filter (where not deleted) as rows from {resource.table}",  # noqa: S608 - our own names
    )
    answer.facts.append(f"The mirror has {count['rows']} current {resource.described.plural}.")
    answer.next.append(_next(asked, resource))
    return answer
