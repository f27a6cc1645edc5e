"""`bms why invoice`: versions, missing reads, findings, quarantine, and when the day is read next."""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import date
from functools import partial
from typing import Any

from bms.records import ClientInvoice
from bms.records.declaration import public_fields
from bms_flows.inquiry import stored
from bms_flows.inquiry.answer import Answer, Event, Inquiry
from bms_flows.invoices.day_state import day_states
from bms_flows.invoices.lookback import unread_windows, windows_of
from bms_flows.runtime.windows import DAY, local_date
from bms_flows.texts import section_of

MOST = 5
"""Invoices of one number, such as those of several entities, that are shown."""
_LOOSE = (
    r"regexp_replace(regexp_replace(lower({}), '(^|[^0-9])0+(?=[0-9])', '\1', 'g'),"
    " '[^[:alnum:]]+', '', 'g')"
)
"""A reference number as typed from memory: `fa 2026 12` is FA-2026-0012."""
_ALIKE = (
    "lower(right(rtrim(reference_number), 1)) = lower(right(:text, 1)) and "  # the rest takes longer
    f"{_LOOSE.format('reference_number')} = nullif({_LOOSE.format('cast(:text as text)')}, '')"
)
PUBLIC = public_fields(ClientInvoice)


def why(asked: Inquiry, number: str) -> list[Answer]:
    """Return an answer for each invoice with this id or reference number, else for the missing one.

    A number that no invoice has as written is searched without case, signs and leading zeros.
    """
    digits = re.sub(r"[\s#]", "", number)
    given: dict[str, Any] = {
        "id": int(digits) if re.fullmatch(r"[0-9]{1,18}", digits) else None,
        "text": number,
        "most": MOST + 1,
    }
    found = asked.query(
        """
        select id_entity, id_invoice from bms.client_invoice
        where id_invoice = :id or reference_number in (:text, upper(:text), lower(:text))
        order by reference_number = :text desc nulls last, id_entity, id_invoice limit :most
        """,
        **given,
    )
    exact = bool(found)
    if not exact:
        found = asked.query(
            f"select id_entity, id_invoice from bms.client_invoice where {_ALIKE} "  # noqa: S608 - our own
            "order by id_entity, id_invoice limit :most",
            **given,
        )
    how = "Not written exactly as {}: found without regard to case, signs and leading zeros."
    if not found:
        how = "An earlier version has the number {}."
        found = asked.query(
            """
            select distinct id_entity, id_invoice from bms.client_invoice_superseded
            where reference_number in (:text, upper(:text), lower(:text)) order by 1, 2 limit :most
            """,
            **given,
        )
    if not found:
        return [_absent(asked, number, given["id"])]
    answers = [_invoice(asked, each) for each in found[:MOST]]
    if not exact:
        answers[0].facts.insert(0, how.format(number))
    if len(found) > MOST:
        answers[-1].facts.append(f"Further invoices have this number; these are {MOST} of them.")
    return answers


def _invoice(asked: Inquiry, key: Mapping[str, Any]) -> Answer:
    versions = asked.query(
        """
        select * from bms.client_invoice_version
        where id_entity = :id_entity and id_invoice = :id_invoice order by _version
        """,
        **key,
    )
    row, entity = versions[-1], key["id_entity"]
    answer = Answer(
        f"Invoice {row['id_invoice']}, reference {row['reference_number']}, entity {entity}"
    )
    missing = row["_missing_since"]
    state = f"missing since {asked.links.time(missing)}" if missing else "current"
    if row["canceled"]:
        state += ", canceled"
    answer.facts.append(
        f"Day {row['_day']}, {state}, version {row['_version']}, due {row['total_due']} "
        f"{row['currency']}"
    )
    answer.events += asked.timeline(versions, PUBLIC, _said)
    answer.events += asked.quarantined("client_invoice", str(row["id_invoice"]), entity)
    if row["_day"]:
        answer.events += asked.reviews("invoice_extraction", entity, row["_day"])
    answer.stored += asked.stored(versions, partial(stored.invoice, asked.root))
    answer.next += day_lines(asked, entity, row["_day"])
    return answer


def _said(before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    if after["_missing_since"] and not before["_missing_since"]:
        return "missing: its day was read without it"
    found = before["_missing_since"] and not after["_missing_since"]
    return f"found again on day {after['_day']}" if found else None


def day_lines(asked: Inquiry, entity: int, day: date | None) -> Iterator[str]:
    """Yield when a day was read, what is held, and when it is read next."""
    if day is None:
        yield "No day lists it, so only a search for moved invoices reads it again."
        return
    settings, zone = asked.settings, asked.settings.time_zone
    today = local_date(asked.now, zone)
    states = {each.day: each for each in day_states(asked.connection, entity, zone)}
    [read] = asked.query(
        """
        select (select read_at from bms.client_invoice_day where id_entity = :entity and day = :day),
            (select codes from bms.client_invoice_finding
             where id_entity = :entity and day = :day and held) as held,
            max(started_at) filter (where id_entity = :entity) as latest, max(started_at) as latest_of_any
        from bms.step_run where flow = 'invoice_extraction' and step = 'extract'
        """,
        entity=entity,
        day=day,
    )
    if read["read_at"]:
        yield f"Day {day} was read completely at {asked.links.time(read['read_at'])}."
    else:
        yield f"Day {day} was never read completely."
    for code in read["held"] or ():
        yield f"Day {day} is held for review: {section_of(code).happened} {section_of(code).do}"
    if read["latest"] and read["latest_of_any"] - read["latest"] > 2 * DAY:
        yield (
            f"No run reads entity {entity} any more, only others: the last was at "
            f"{asked.links.time(read['latest'])}. The connection's `entities` may leave it out."
        )
        return
    tail = today - settings.lookback_days * DAY
    if day >= tail:
        yield (
            f"Day {day} is read again by every scheduled run of invoice_extraction until "
            f"{day + settings.lookback_days * DAY}."
        )
        return
    state = states.get(day)
    if state is None:
        yield f"Day {day} is due: the next scheduled runs read days that were never read first."
        return
    older = sorted(
        (each for each in states.values() if each.day < tail),
        key=lambda each: (each.attempted_on, each.day),
    )
    share = max(1, math.ceil(len(older) / settings.lookback_rotation))
    due = [each for each in (state.due_on(state.found_on if state.has_finding else None), state.due_on(state.changed_on if state.open_invoices else None)) if each]  # fmt: skip
    runs = older.index(state) // share + 1
    if due:
        why_due = "a finding" if state.has_finding else "open invoices"
        yield f"Day {day} has {why_due}: the first scheduled run from {max(min(due), today)} on reads it again."
    which = f"one of the next {runs} scheduled runs" if runs > 1 else "the next scheduled run"
    yield f"In rotation, {which} of invoice_extraction reads day {day} again."


def _absent(asked: Inquiry, number: str, key: int | None) -> Answer:
    answer = Answer(f"Invoice {number}: the warehouse has no such id or reference number", False)
    answer.events += asked.quarantined("client_invoice", number, fields=("reference_number",))
    holes = asked.query(
        f"select * from bms.client_invoice_missing_number where {_ALIKE}",  # noqa: S608 - our own
        text=number,
    )
    for hole in holes:
        accepted = (
            f"accepted by {hole['accepted_by']}: {hole['accepted_reason']}"
            if hole["accepted_by"]
            else "not accepted"
        )
        answer.facts.append(
            f"Its series {hole['series']} of entity {hole['id_entity']} has a hole at this number ({accepted})."
        )
        answer.events.append(
            Event(hole["found_at"], "hole found in the series", f"step {hole['step_run_id']}")
        )
    neighbours = [*_neighbours(asked, number, key)]
    for entity, before, after in neighbours:
        around = " and ".join(
            f"{each['reference_number'] if key is None else each['id_invoice']} (day {each['_day']})"
            for each in (before, after)
            if each
        )
        answer.facts.append(f"Entity {entity}: the nearest numbers are {around}.")
        for day in sorted({each["_day"] for each in (before, after) if each and each["_day"]}):
            answer.next += (f"Entity {entity}: {each}" for each in day_lines(asked, entity, day))
    if not holes and neighbours and key is None:
        answer.facts.append("No load has found a hole in its series at this number.")
    answer.facts += _days_read(asked)
    answer.next.append(
        "If the service has the invoice, run invoice_extraction for its day; `numbers_missing` and "
        "`never_read` in the runbook say what to do."
    )
    return answer


def _neighbours(
    asked: Inquiry, number: str, key: int | None
) -> Iterator[tuple[int, dict[str, Any] | None, dict[str, Any] | None]]:
    """Yield by entity the invoices with the nearest lower and higher number."""
    column, alike, given = "id_invoice", "true", dict[str, Any](value=key)
    if key is None:
        # The counter's last digits differ; the rest of the reference is the same.
        prefix = re.sub(r"\d{1,3}\D*$", "", number)
        if prefix == number:
            return
        column = "reference_number"
        alike = "length(reference_number) = :length and left(reference_number, :kept) = :prefix"
        given = {"value": number, "length": len(number), "kept": len(prefix), "prefix": prefix}
    entities = "select distinct id_entity from bms.client_invoice_day order by 1 limit 20"
    for entity in (each["id_entity"] for each in asked.query(entities)):
        found = []
        for sign, order in (("<", "desc"), (">", "asc")):
            rows = asked.query(
                f"""
                select id_invoice, reference_number, _day from bms.client_invoice
                where id_entity = :entity and {alike} and {column} {sign} :value
                order by {column} {order} limit 1
                """,  # noqa: S608 - our own names
                entity=entity,
                **given,
            )
            found.append(rows[0] if rows else None)
        if any(found):
            yield entity, found[0], found[1]


def _days_read(asked: Inquiry) -> Iterator[str]:
    """Yield by entity which days were read, and which are held."""
    rows = asked.query(
        """
        select id_entity, coalesce(array_agg(day order by day) filter (where read_at is not null), '{}') as days,
            coalesce(array_agg(day order by day) filter (where held), '{}') as held, max(read_at) as read_at
        from bms.client_invoice_day full join bms.client_invoice_finding using (id_entity, day) group by 1 order by 1
        """,
    )
    today = local_date(asked.now, asked.settings.time_zone)
    for row in rows:
        days, held = row["days"], windows_of(row["held"])
        if days:
            gaps = unread_windows([*days, *row["held"]], max(today, days[-1] + DAY))
            unread = f"; never read: {', '.join(map(str, gaps[:5]))}" if gaps else ""
            yield (
                f"Entity {row['id_entity']}: {len(days)} days from {days[0]} to {days[-1]} were read, "
                f"the latest at {asked.links.time(row['read_at'])}{unread}."
            )
        if held:
            yield (
                f"Entity {row['id_entity']}: {', '.join(map(str, held[:5]))} {'are' if len(row['held']) > 1 else 'is'} held for "
                "review: new invoices of held days appear when an operator accepts them (accept_suspect)."
            )
    if not rows:
        yield "No day of any entity was ever read: run invoice_extraction."
