"""An answer of `bms why`: facts, timeline, stored response, and what happens next."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, text
from upath import UPath

from bms_flows.invoices.units import Unit
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.notice import Links
from bms_flows.texts import section_of
from bms_warehouse.queries import loads

MOST_EVENTS: Final = 25
"""Events of a timeline that fit on a screen; the latest are shown."""
HIDDEN: Final = "(personal)"
CHECKED: Final = 3
"""Latest versions whose stored responses are checked."""


class Event(NamedTuple):
    """What happened, when, and by which run."""

    at: datetime
    text: str
    run: str = ""


@dataclass
class Answer:
    """What is known about one thing; without personal data unless it was asked for."""

    subject: str
    found: bool = True
    facts: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    """Stored responses, and whether their digests are those of the rows."""
    next: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the answer ready for JSON."""
        events = [
            {"at": each.at.isoformat(), "text": each.text, "run": each.run}
            for each in sorted(self.events)
        ]
        return {**vars(self), "events": events}

    def lines(self, links: Links) -> Iterator[str]:
        """Yield the answer as text; times in the company's zone."""
        yield self.subject
        yield from (f"  {each}" for each in self.facts)
        events = sorted(self.events)
        if events:
            yield "Timeline"
        if len(events) > MOST_EVENTS:
            yield f"  … {len(events) - MOST_EVENTS} earlier events: --json lists all"
        for each in events[-MOST_EVENTS:]:
            yield f"  {links.time(each.at)}  {each.text}" + (f" [{each.run}]" if each.run else "")
        for title, texts in (("Stored response", self.stored), ("What happens next", self.next)):
            if texts:
                yield title
                yield from (f"  {each}" for each in texts)


@dataclass(frozen=True)
class Inquiry:
    """What an answer is made of; `root` is the data root, `personal` whether personal values are shown."""

    connection: Connection
    settings: OnboardingSettings
    now: datetime
    root: UPath
    personal: bool = False

    @property
    def links(self) -> Links:
        """The board's addresses, and times in the company's zone."""
        return Links.of(self.settings)

    def query(self, statement: str, **given: object) -> list[dict[str, Any]]:
        """Return the rows of a statement."""
        rows = self.connection.execute(text(statement), given)
        return [dict(row) for row in rows.mappings()]

    def timeline(
        self,
        versions: Sequence[Mapping[str, Any]],
        public: frozenset[str],
        describe: Callable[[Mapping[str, Any], Mapping[str, Any]], str | None],
    ) -> Iterator[Event]:
        """Yield what happened to a row, version by version.

        `describe` returns the text of a change from one version to the next; None: the changed fields are shown.
        """
        for before, after in zip([None, *versions], versions, strict=False):
            what = "first seen" if before is None else describe(before, after)
            if before is not None and what is None:
                names = (n for n in after if not n.startswith("_") and before.get(n) != after[n])
                changes = ", ".join(
                    f"{n} {before.get(n)} → {after[n]}"
                    if self.personal or n in public
                    else f"{n} {HIDDEN}"
                    for n in names
                )
                what = f"changed: {changes or 'only unknown fields'}"
            at = after["_observed_at"] or after["_changed_at"]
            yield Event(at, str(what), run_of(loads.step(self.connection, after["_step_run_id"])))

    def stored(
        self,
        versions: Sequence[Mapping[str, Any]],
        check: Callable[[Mapping[str, Any], Mapping[str, Any]], tuple[str, str]],
    ) -> Iterator[str]:
        """Yield the result of `check`, which takes details of a step and a version, for the latest versions."""
        for version in versions[-CHECKED:]:
            step = loads.step(self.connection, version["_step_run_id"])
            where, result = check((step and step["details"]) or {}, version)
            yield f"Version {version['_version']}: {where + ': ' if where else ''}{result}"

    def reviews(self, flow: str, entity: int | None, day: date | None = None) -> Iterator[Event]:
        """Yield when a day of invoices, or a list, was held for review, and when an operator accepted it."""
        rows = self.query(
            """
            select * from bms.step_run
            where flow = :flow and id_entity is not distinct from cast(:entity as bigint)
                and (cast(:day as date) is null or :day between window_start and window_end)
                and (state = 'suspect' or coalesce(details ->> 'accepted_by', details ->> 'accepts') is not null)
            order by id desc limit :most
            """,
            flow=flow,
            entity=entity,
            day=day,
            most=MOST_EVENTS,
        )
        for row in rows:
            details = row["details"]
            if day is None or day in Unit.from_dict(details).days:
                codes = ", ".join(details.get("violations") or ["many_gone"])
                by = details.get("accepted_by") or "an operator"
                said = (
                    f"held for review ({codes})"
                    if row["state"] == "suspect"
                    else f"accepted by {by}"
                )
                yield Event(row["finished_at"], f"{'day' if day else 'list'} {said}", run_of(row))

    def quarantined(
        self, resource: str, key: str, entity: int | None = None, fields: Sequence[str] = ()
    ) -> Iterator[Event]:
        """Yield when a row went to quarantine, and what to do; `entity` None: of any entity.

        `fields` are further fields of the row that may have the value `key`, in any case.
        """
        value = re.escape(json.dumps(key, ensure_ascii=False)[1:-1]).replace("/", r"\\?/")
        named = rf'"({"|".join(fields)})"\s*:\s*"?{value}"?\s*[,}}]' if fields else None
        rows = self.query(
            """
            select q.*, r.flow, r.dag_run_id, r.id from bms.quarantine q
            left join bms.step_run r on r.id = q.step_run_id
            where q.resource = :resource
                and (:key in (q.row_key, split_part(q.row_key, ' ', 1)) or q.raw ~* cast(:named as text))
                and (cast(:entity as bigint) is null or q.id_entity = :entity)
            """,
            resource=resource,
            key=key,
            named=named,
            entity=entity,
        )
        for row in rows:
            field = f" in {row['field']}" if row["field"] else ""
            section = section_of(row["code"])
            said = f"quarantined ({row['code']}{field}), {row['loads']} loads. {section.happened} {section.do}"
            yield Event(row["first_seen_at"], said, run_of(row) if row["id"] else "")


def run_of(step: Mapping[Any, Any] | None) -> str:
    """Return the run and the step that wrote something."""
    return f"{step['flow']} {step['dag_run_id']}, step {step['id']}" if step else ""
