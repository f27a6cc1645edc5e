"""Simulation of losses and clean runs, judged by the checks of a load.

    python -m proofs.losses_invoices

A company's days vary by more than chance (each day's volume by a standard deviation of 20 %,
then Poisson), with weekends and French holidays without invoices. A daily run reads the last 35 days
in requests of a week. A loss hits one response of a run. Undetectable losses lower the share: it
covers all responses, including the newest.
"""

import argparse
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date

from bms_flows.invoices.history import Holidays
from bms_flows.invoices.validate import (
    SATURDAY,
    History,
    LoadSummary,
    Tolerance,
    WindowSummary,
    validate,
)
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.windows import DAY, Window
from tests.support.published import stamp

BEGIN = date(2024, 9, 2)
CURRENCIES = {"EUR": 0.92, "USD": 0.05, "CHF": 0.03}
VOLUMES = (12, 100, 1000)
TRIALS = 400
CLEAN_RUNS = 200
SEEDS = 10

Counts = dict[date, int]
Loss = Callable[["Answer", random.Random], None]


@dataclass
class Answer:
    """What a request returned, by day; and what is wrong in it that no count shows."""

    window: Window
    days: Counts
    duplicates: int = 0
    amounts_differ: int = 0


@dataclass
class Company:
    """The invoices of each day, in the service and in the warehouse."""

    per_day: int
    draws: random.Random
    lulls: bool = False
    truth: Counts = field(default_factory=dict)
    stored: Counts = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.free = Holidays("FR")
        for n in range(800):
            day = BEGIN + n * DAY
            self.truth[day] = self._invoices(day)

    def _invoices(self, day: date) -> int:
        if day in self.free:
            return 0
        share = 0.05 if day.weekday() >= SATURDAY else 1.0
        if self.lulls:
            share *= _lull(day, self.free)
        mean = self.draws.gammavariate(25, self.per_day * share / 25)
        # A binomial of many approximates Poisson.
        return sum(self.draws.random() < mean / 4000 for _ in range(4000))

    def answers(self, today: date) -> list[Answer]:
        """Return what the run of `today` gets when nothing is lost."""
        tail = Window(today - FlowSettings.lookback_days * DAY, today - DAY)
        pieces = tail.cut(FlowSettings.window_days)
        return [Answer(piece, {day: self.truth[day] for day in piece}) for piece in pieces]

    def violations(self, today: date, answers: list[Answer]) -> list[str]:
        """Return what the checks make of a run's answers."""
        found_days = {day: count for each in answers for day, count in each.days.items()}
        rows = sum(found_days.values())
        windows = [
            WindowSummary(
                each.window,
                stored=sum(self.stored.get(day, 0) for day in each.window),
                missing=sum(
                    max(0, self.stored.get(day, 0) - each.days[day]) for day in each.window
                ),
            )
            for each in answers
        ]
        duplicates = [frozenset(each.window) for each in answers for _ in range(each.duplicates)]
        found = LoadSummary(
            rows_read=rows + len(duplicates),
            quarantined=len(duplicates),
            not_accepted=duplicates,
            duplicates=duplicates,
            amounts_differ=[
                frozenset(each.window) for each in answers for _ in range(each.amounts_differ)
            ],
            days=found_days,
            windows=windows,
            currencies={name: {*found_days} for name in self._currencies(rows)},
        )
        before = sum(self.stored.get(day, 0) for day in found_days)
        day = min(found_days)
        stored = {name: {day: count} for name, count in self._currencies(before).items()}
        known = History(self.stored, frozenset(CURRENCIES), stored)
        violations = validate(found, known, holidays=self.free, today=today, tolerance=Tolerance())
        return [violation.code for violation in violations]

    def keep(self, answers: list[Answer]) -> None:
        """Publish."""
        for each in answers:
            self.stored |= each.days

    def _currencies(self, rows: int) -> dict[str, int]:
        return {name: round(rows * share) for name, share in CURRENCIES.items() if rows * share > 1}


def _lull(day: date, free: object) -> float:
    if day.month == 8:  # noqa: PLR2004 - August
        return 0.5
    if (day.month, day.day) >= (12, 24) or (day.month, day.day) <= (1, 2):
        return 0.3
    bridge = day.weekday() == SATURDAY - 1 and day - DAY in free  # type: ignore[operator]  # a set
    return 0.4 if bridge else 1.0


def empty_list(answer: Answer, _: random.Random) -> None:
    """Answer with an empty 200."""
    answer.days = dict.fromkeys(answer.days, 0)


def short_list(answer: Answer, _: random.Random) -> None:
    """Truncate the array: the first half came, in the order of days."""
    left = sum(answer.days.values()) // 2
    for day in answer.window:
        answer.days[day] = min(answer.days[day], left)
        left -= answer.days[day]


def missing_day(answer: Answer, draws: random.Random) -> None:
    """Leave out one day that has invoices."""
    answer.days[draws.choice([day for day, count in answer.days.items() if count])] = 0


def duplicate_row(answer: Answer, _: random.Random) -> None:
    """Send one row twice."""
    answer.duplicates = 1


def wrong_amount(answer: Answer, _: random.Random) -> None:
    """Send one gross amount that is off by a cent."""
    answer.amounts_differ = 1


LOSSES: tuple[Loss, ...] = (empty_list, short_list, missing_day, duplicate_row, wrong_amount)


def runs(company: Company, first: date, count: int) -> Iterator[tuple[date, list[Answer]]]:
    """Yield daily runs and publish each; the warehouse knows ten weeks before the first."""
    company.stored = {day: n for day, n in company.truth.items() if day < first - DAY}
    for n in range(count):
        today = first + n * DAY
        answers = company.answers(today)
        yield today, answers
        company.keep(company.answers(today))


def noticed(per_day: int, loss: Loss, *, newest: bool) -> float:
    """Return the share noticed, over seeded trials; `newest`: in the last answer, else in the others."""
    draws = random.Random(f"{per_day} {loss.__name__}")  # noqa: S311 - a simulation
    company = Company(per_day, draws)
    seen = trials = 0
    for today, answers in runs(company, BEGIN + 90 * DAY, TRIALS):
        hit = answers[-1] if newest else draws.choice(answers[:-1])
        if any(hit.days.values()):
            loss(hit, draws)
            trials += 1
            seen += bool(company.violations(today, answers))
    return seen / trials


def false_alarms(per_day: int, first: date, *, lulls: bool) -> tuple[int, dict[str, int]]:
    """Return how many of the clean runs were held, over all seeds, and by which checks."""
    alarms, codes = 0, dict[str, int]()
    for seed in range(SEEDS):
        company = Company(per_day, random.Random(seed), lulls)  # noqa: S311 - a simulation
        for today, answers in runs(company, first, CLEAN_RUNS):
            violations = company.violations(today, answers)
            alarms += bool(violations)
            for code in violations:
                codes[code] = codes.get(code, 0) + 1
    return alarms, codes


def main() -> None:
    """Print both tables."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(f"# Losses in answers of invoices\n\n{stamp()}\n")
    heads = [f"{n} a day, {where}" for n in VOLUMES for where in ("older answer", "newest")]
    print("| loss |", " | ".join(heads), "|\n| --- |" + " ---: |" * len(heads))
    for loss in LOSSES:
        shares = [noticed(n, loss, newest=newest) for n in VOLUMES for newest in (False, True)]
        print(f"| {loss.__name__} |", " | ".join(f"{share:.1%}" for share in shares), "|")
    print(
        "\n| clean runs | invoices a day | runs | held | by |\n| --- | ---: | ---: | ---: | --- |"
    )
    spring, winter = date(2025, 3, 1), date(2025, 9, 15)
    for name, first, lulls in (
        ("March to September", spring, False),
        ("September to April", winter, False),
        ("with August and bridge days at half", spring, True),
        ("with Christmas at a third", winter, True),
    ):
        for per_day in VOLUMES:
            alarms, codes = false_alarms(per_day, first, lulls=lulls)
            by = ", ".join(f"{code} {times}" for code, times in codes.items())
            print(f"| {name} | {per_day} | {SEEDS * CLEAN_RUNS} | {alarms} | {by} |")


if __name__ == "__main__":
    main()
