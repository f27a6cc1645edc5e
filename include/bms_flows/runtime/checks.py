"""Plausibility checks of a load against the profiles of earlier loads; pure.

A measure declares a share of rows. The check asks how improbable the share is, given what is usual: in
a part of the load, in the load, and in the load together with the loads before it. So a loss that is
repeated in small steps is found, and a share that is usual for a company is not.

There are two kinds. A change is something that happens to stored rows: an acceptance covers the rows
of its load, which then count no more, and of a changed field also older invoices until they are read
again. A state is a property of new rows: an acceptance makes the state of its load the usual one,
because later rows have the property, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import sqrt
from typing import Final, Literal, final

from bms_flows.runtime.probability import is_improbable
from bms_flows.runtime.profile import Level, Part, Profile, Share, StoredProfile

CHANCE: Final = 1e-5
"""A share less probable than this is implausible."""
SPANS: Final = (7, 30)
"""Numbers of the latest loads whose shares are judged together."""
PRIOR_ROWS: Final = 200
"""Rows that the declared usual share of a change counts as."""
STATE_ROWS: Final = 20
"""Minimum rows of earlier loads that define a usual state; an accepted load counts as this many."""
LOAD_ROWS: Final = 100
"""Maximum rows that a load counts as in a usual state: an import says little about later rows."""
UNSEEN: Final = 0.001
"""Rows added to those with a property: a property that no earlier row had is rare, not impossible."""
FACTOR: Final = 0.5
"""Decimal logarithm of the factor (about 3) between amounts that is implausible."""
DEVIATIONS: Final = 5.0
"""Standard deviations between mean amounts that are implausible."""
SPREAD: Final = 0.1
"""Standard deviation of a load's mean amount beyond chance, as a decimal logarithm."""


@dataclass(frozen=True)
class Measure:
    """A share of rows that a check judges."""

    code: str
    """Code of an implausible share in `texts.VIOLATIONS`."""
    text: str
    """Text of the finding, with {found} and {of}."""
    kind: Literal["change", "state"] = "change"
    usual: float | None = 0.001
    """Usual share until earlier loads show another; None if only earlier loads can show it."""
    strength: float = 200
    """How little the share varies between loads, in rows."""
    least: int = 3
    """Fewer rows always pass."""
    steps: bool = True
    """Whether loads are judged together, too."""


EMPTY: Final = Measure(
    "field_emptied",
    "empty in {found} of {of} new rows",
    "state",
    usual=None,
    strength=40,
    least=5,
    steps=False,
)
NEW_EMPTY: Final = ("empty_today", "empty", "empty_old")
"""Measures of empty fields in new rows by age: of today, of the last week, older. Fields fill over time."""

MEASURES: Final[Mapping[str, Measure]] = {
    # Never usual: a single row is implausible.
    "amounts_differ": Measure("amounts_differ", "{found} rows", usual=0, least=1, steps=False),
    "duplicates": Measure("duplicate_ids", "{found} rows", usual=0, least=1, steps=False),
    "elsewhere": Measure("outside_window", "{found} rows", usual=0, least=1, steps=False),
    "missing": Measure("drop", "{found} of {of}"),
    "quarantined": Measure("many_quarantined", "{found} of {of} rows"),
    # A mirror doesn't record which of its invalid rows were accepted.
    "invalid": Measure("many_quarantined", "{found} of {of} rows", "state"),
    "outside": Measure(
        "outside_window", "{found} of {of} rows", usual=0.1, strength=20, least=5, steps=False
    ),
    "foreign": Measure("other_entity", "{found} of {of} rows", "state", usual=0.001, strength=20),
    "repeated": Measure(
        "reference_repeated", "{found} of {of} rows", "state", usual=None, strength=100
    ),
    "client": Measure(
        "one_client", "{found} of {of} new rows", "state", usual=None, strength=20, least=10
    ),
    "negative": Measure(
        "sign_unusual", "{found} of {of} new rows", "state", usual=None, strength=40
    ),
    "canceled": Measure(
        "many_changed", "canceled in {found} of {of} rows", usual=0.005, strength=50
    ),
    "deleted": Measure("many_deleted", "{found} of {of} rows", usual=0.01, strength=100),
    "paid": Measure(
        "many_changed",
        "total_due became 0 in {found} of {of} open rows",
        usual=0.05,
        strength=4,
        least=20,
        steps=False,
    ),
    "removed": Measure("many_deleted", "{found} of {of} rows", usual=0.002, strength=100, least=11),
    "lost": Measure("field_emptied", "lost in {found} of {of} rows that had a value"),
    "mistyped": Measure("field_mistyped", "of another type in {found} of {of} rows", steps=False),
    "changed": Measure(
        "many_changed", "changed in {found} of {of} rows", usual=0.002, strength=100
    ),
    "flag": Measure(
        "many_changed",
        "changed in {found} of {of} rows",
        usual=0.02,
        strength=50,
        least=20,
        steps=False,
    ),
    **dict.fromkeys(NEW_EMPTY, EMPTY),
}
"""Measures by name; a measure of a field is named `field.measure`."""


@final  # alarms know it by its name
class LoadHeld(RuntimeError):
    """A load is held for review, or some of its days or only its removals; the rest is published."""

    retriable = False


@dataclass(frozen=True)
class Finding:
    """A failed check: its code in `texts.VIOLATIONS`, details, days and measure."""

    code: str
    where: str
    days: frozenset[date] = frozenset()
    """Days to hold; empty for a mirror, which is held as a whole."""
    measure: str | None = None

    def __str__(self) -> str:
        from bms_flows.texts import VIOLATIONS  # noqa: PLC0415 - reads files that most loads need not

        section = VIOLATIONS[self.code]
        return f"{self.code} ({self.where}): {section.happened} {section.do}"


def judge(profile: Profile, earlier: Sequence[StoredProfile]) -> list[Finding]:
    """Return the findings of a load, given the profiles of earlier loads, the latest first."""
    found: list[Finding] = []
    for name in sorted({*profile.shares, *profile.parts}):
        found += _judge(name, profile, earlier)
    found += _levels(profile, earlier)
    return found


def _judge(name: str, profile: Profile, earlier: Sequence[StoredProfile]) -> Iterator[Finding]:
    """Yield the implausible parts of a measure, else the load, else the load with those before it."""
    measure = MEASURES[name.rpartition(".")[2]]
    usual = usual_share(name, measure, earlier)
    if usual is None:
        return
    held: frozenset[date] = frozenset()
    for part in profile.parts.get(name, ()):
        if part.days and part.days <= held:
            continue
        if _implausible(measure, part.share, usual):
            held |= part.days
            yield _finding(name, measure, part)
    whole = profile.shares.get(name)
    if held or whole is None:
        return
    if _implausible(measure, whole.share, usual):
        yield _finding(name, measure, whole)
    elif measure.steps and measure.kind == "change" and whole.share.found:
        yield from _steps(name, measure, whole, earlier)


def _steps(
    name: str, measure: Measure, whole: Part, earlier: Sequence[StoredProfile]
) -> Iterator[Finding]:
    """Yield a share that is implausible over several loads, since the last that was accepted."""
    uncovered = []
    for each in earlier:
        if name in each.accepted or _acceptance(_emptied(name), each):
            break
        uncovered.append(each)
    for span in SPANS:
        latest = [each.shares.get(name, Share()) for each in uncovered[: span - 1]]
        usual = usual_share(name, measure, earlier[len(latest) :])
        if not latest or usual is None:
            return
        # The loads read about the same rows, and a row changes once.
        of = max(whole.share.of, *(each.of for each in latest))
        found = whole.share.found + sum(each.found for each in latest)
        together = Share(min(found, of), of)
        loads = len(latest) + 1
        if _implausible(measure, together, loads * usual):
            where = measure.text.format(found=together.found, of=together.of)
            yield Finding(measure.code, f"{_label(name)}{where} in {loads} loads", whole.days, name)
            return


def usual_share(name: str, measure: Measure, earlier: Sequence[StoredProfile]) -> float | None:
    """Return the usual share of a measure; None if no earlier load shows a state.

    The share of a state counts from the load with which an operator accepted it. A loss of a field's
    values is also usual as far as the field's new rows have none since an acceptance.
    """
    if measure.kind == "state":
        found, of = _state(name, earlier)
        return _share(found, of) if of >= STATE_ROWS else measure.usual
    seen = Share()
    for each in earlier:
        if name not in each.accepted:
            seen += each.shares.get(name, Share())
    usual = ((measure.usual or 0) * PRIOR_ROWS + seen.found) / (PRIOR_ROWS + seen.of)
    if any(_acceptance(_emptied(name), each) for each in earlier):
        usual = max(usual, _share(*_state(_emptied(name), earlier)))
    return usual


def _emptied(name: str) -> str:
    """Return the state whose acceptance covers a loss of a field's values; empty for other measures."""
    field, _, last = name.rpartition(".")
    return f"{field}.{NEW_EMPTY[0]}" if last in ("lost", "mistyped") else ""


def _share(found: float, of: float) -> float:
    return (found + UNSEEN) / of


def _state(name: str, earlier: Sequence[StoredProfile]) -> tuple[float, float]:
    """Return the new rows with a property, and all new rows, since the last acceptance of the property."""
    found = of = 0.0
    for each in earlier:
        accepted = _acceptance(name, each)
        share = accepted or each.shares.get(name, Share())
        rows = STATE_ROWS if accepted else min(share.of, LOAD_ROWS)
        found += rows * share.found / (share.of or 1)
        of += rows
        if accepted:
            break
    return found, of


def _acceptance(name: str, profile: StoredProfile) -> Share | None:
    """Return the share with which a load was accepted that defines the state `name`.

    A field that is empty in new rows of any age is empty in those of other ages, too.
    """
    field, _, last = name.rpartition(".")
    names = [f"{field}.{each}" for each in NEW_EMPTY] if last in NEW_EMPTY else [name]
    accepted = (n for n in names if n in profile.accepted and n in profile.shares)
    return next((profile.shares[n] for n in accepted), None)


def _implausible(measure: Measure, share: Share, usual: float) -> bool:
    return share.found >= measure.least and is_improbable(*share, usual, measure.strength, CHANCE)


def _finding(name: str, measure: Measure, part: Part) -> Finding:
    where = measure.text.format(found=part.share.found, of=part.share.of)
    return Finding(measure.code, f"{_label(name)}{where}{part.name}", part.days, name)


def _label(name: str) -> str:
    field = name.rpartition(".")[0]
    return f"{field}: " if field else ""


def _levels(profile: Profile, earlier: Sequence[StoredProfile]) -> Iterator[Finding]:
    """Yield currencies in which the amounts of new rows are of another magnitude."""
    for currency, level in sorted(profile.levels.items()):
        name = f"amounts {currency}"
        usual = Level()
        for each in earlier:
            usual += each.levels.get(currency, Level())
            if name in each.accepted:
                break
        if level.rows < 3 or usual.rows < STATE_ROWS:  # noqa: PLR2004 - as for shares
            continue
        mean, average = level.sum / level.rows, usual.sum / usual.rows
        variance = max(usual.squares / usual.rows - average**2, 0)
        difference = mean - average
        if abs(difference) > FACTOR and abs(difference) > DEVIATIONS * sqrt(
            variance / level.rows + SPREAD**2
        ):
            where = f"{currency}: about {10**difference:.2g} times the usual amount in {level.rows} new rows"
            yield Finding("amounts_unusual", where, profile.new_days, name)
