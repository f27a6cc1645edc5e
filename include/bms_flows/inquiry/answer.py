"""An answer of `bms why`: facts, timeline, stored response, and what happens next."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, text

from bms_flows.runtime.notice import Links

MOST_EVENTS: Final = 25
"""Events of a timeline that fit on a screen; the latest are shown."""
HIDDEN: Final = "(personal)"


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


def run_of(step: Mapping[Any, Any] | None) -> str:
    """Return the run and the step that wrote something."""
    return f"{step['flow']} {step['dag_run_id']}, step {step['id']}" if step else ""


def changes(
    before: Mapping[str, Any], after: Mapping[str, Any], public: frozenset[str], *, personal: bool
) -> str:
    """Return the fields that differ between two versions, with values as far as they may be shown."""
    names = [n for n in after if not n.startswith("_") and before.get(n) != after[n]]
    shown = [
        f"{n} {before.get(n)} → {after[n]}" if personal or n in public else f"{n} {HIDDEN}"
        for n in names
    ]
    return ", ".join(shown) or "only unknown fields"


def query(connection: Connection, statement: str, **given: object) -> list[dict[str, Any]]:
    """Return the rows of a statement."""
    return [dict(row) for row in connection.execute(text(statement), given).mappings()]
