"""Precision and recall of the match rules on French persons who are typed again with errors.

python -m proofs.possible_matches > proofs/results/possible_matches.md
"""

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from bms.records import ConsultantItem, ContactItem, EmployeeItem
from bms.records.declaration import Record
from bms_flows.onboarding.planning.matching import NOTHING, Match, by_rules, namesakes
from bms_flows.onboarding.resources.consultant import CONSULTANT, consultant_identity
from bms_flows.onboarding.resources.contact import CONTACT, contact_identity
from bms_flows.onboarding.resources.employee import EMPLOYEE_IDENTITY
from bms_flows.onboarding.resources.evidence import ServiceRecord
from bms_flows.onboarding.resources.match_rules import Identity
from proofs.page import command, heading, show
from proofs.persons import ERRORS, LOST, Person, Typing, hardly_known, person, typed_by_mobile

RESOURCES: Final[Mapping[str, tuple[Identity, type[Record]]]] = {
    "employee": (EMPLOYEE_IDENTITY, EmployeeItem),
    "contact": (contact_identity(CONTACT), ContactItem),
    "consultant": (consultant_identity(CONSULTANT), ConsultantItem),
}

NAME_ONLY: Final[Mapping[str, Typing]] = {"nothing in common but the name": typed_by_mobile}
"""Contacts known by company, consultants by year of birth, and leavers; typed by a mobile phone or number."""


class Service:
    """The records of a list, with the fields that the list shows."""

    def __init__(self, resource: str, persons: Sequence[Person]) -> None:
        self.identity, item = RESOURCES[resource]
        shown = {"id_entity", *item.__struct_fields__}
        self.by_digest: dict[str, list[ServiceRecord]] = defaultdict(list)
        self.by_name: dict[str, list[ServiceRecord]] = defaultdict(list)
        for number, each in enumerate(persons):
            digests = self.identity.digests({name: each.get(name) for name in shown})
            record = ServiceRecord(remote_id=str(number), **digests._asdict())
            self.by_name[record.comparison_fields["name"] or ""].append(record)
            for digest in {digests.key, *digests.other_digests} - {None}:
                self.by_digest[str(digest)].append(record)

    def match(self, typed: Person) -> Match:
        """Match a typed row as the planner does."""
        rules = self.identity.rules_by_digest(typed)
        compared = self.identity.comparison_digests(typed)
        found = by_rules(self.by_digest, rules, compared, but=())
        return namesakes(self.identity, self.by_name, typed) if found is NOTHING else found


def outcome(found: Match, number: int | None) -> str:
    """Return the outcome of a row that repeats the record `number`, or of a new one."""
    if found.known is not None:
        return "matched" if found.known.remote_id == str(number) else "wrong"
    if found.candidates:
        return "asked" if str(number) in found.candidates else "false"
    return "created"


def measure(
    resource: str, count: int = 4_000, seed: int = 1, lost: Mapping[str, Typing] = LOST
) -> dict[str, Counter[str]]:
    """Return the outcomes of persons typed again, by error, and of persons who are new."""
    hardly = lost is NAME_ONLY
    draws = random.Random(f"{resource} {seed}")  # noqa: S311 - generated data
    persons = [person(draws, number) for number in range(1, count + 1)]
    service = Service(resource, [hardly_known(each) for each in persons] if hardly else persons)
    found: dict[str, Counter[str]] = {}
    for name, change in lost.items():
        for error, typing in ERRORS.items():
            outcomes: Counter[str] = Counter()
            for number in draws.sample(range(count), count // 10):
                typed = dict(persons[number])
                typing(typed, draws)
                if typed == persons[number]:
                    continue  # nothing to mistype, such as an accent
                change(typed, draws)
                outcomes[outcome(service.match(typed), number)] += 1
            found[f"{error}; {name}"] = outcomes
    news = [person(draws, count + number) for number in range(1, count + 1)]
    for each in news if hardly else ():
        typed_by_mobile(each, draws)
    found["new persons"] = Counter(outcome(service.match(each), None) for each in news)
    return found


def recall(outcomes: Counter[str]) -> float:
    """Return the share of persons that are matched or shown to a reviewer."""
    return (outcomes["matched"] + outcomes["asked"]) / max(1, outcomes.total())


def total(found: Mapping[str, Counter[str]], lost: str) -> Counter[str]:
    """Return the outcomes of all errors together with what was lost in addition."""
    return sum((found[f"{error}; {lost}"] for error in ERRORS), Counter())


def precision(found: Mapping[str, Counter[str]], lost: str) -> float:
    """Return the share of recognized rows that are the person, in a file with as many new persons."""
    again, new = total(found, lost), found["new persons"]
    scale = again.total() / new.total()
    wrong = again["wrong"] + again["false"] + scale * (new["wrong"] + new["false"])
    right = again["matched"] + again["asked"]
    return right / max(1, right + wrong)


def percent(share: float) -> str:
    """Return a share in percent."""
    return f"{100 * share:.1f}".removesuffix(".0")


def main() -> None:
    """Print the page."""
    found = {resource: measure(resource) for resource in RESOURCES}
    by_name = {resource: measure(resource, lost=NAME_ONLY) for resource in RESOURCES}
    heading(
        "Possible matches of persons typed again",
        "Each row of a file is a person whom the service has, typed again with one error, or a new person. ",
    )
    print(
        "Each cell has recall (rows that match their record or go to review with it) and precision (such rows among\n"
        "all that match or go to review, in a file with as many new persons), in %.\n"
    )
    both = (
        (lost, *(f"{percent(recall(total(e, lost)))}, {percent(precision(e, lost))}" for e in measured.values()))
        for measured, losses in ((found, LOST), (by_name, NAME_ONLY))
        for lost in losses
    )  # fmt: skip
    ends = {"new persons sent to review, %": "false", "new persons taken for another, %": "wrong"}
    last = (
        (f"{text}{what}", *(percent(e["new persons"][end] / e["new persons"].total()) for e in measured.values()))
        for what, measured in (("", found), (", if only the name is common", by_name))
        for text, end in ends.items()
    )  # fmt: skip
    show(["Also changed", *found], [*both, *last])
    print(
        "Recall by error, %: with nothing else changed, and with another payroll number, address and mobile\nphone.\n"
    )
    first, *_, last_lost = LOST
    shares = {
        error: [", ".join(percent(recall(e[f"{error}; {lost}"])) for lost in (first, last_lost)) for e in found.values()]
        for error in ERRORS
    }  # fmt: skip
    all_found = [error for error, cells in shares.items() if {*cells} == {"100, 100"}]
    show(
        ["Error", *found],
        ((each, *cells) for each, cells in shares.items() if each not in all_found),
    )
    print(f"100 throughout: {'; '.join(all_found)}.")


if __name__ == "__main__":
    command(main)
