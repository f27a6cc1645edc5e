"""Findings of the doctor, and what could not be checked."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from bms_flows.texts import SECTIONS, Section
from bms_warehouse.errors import WarehouseError


@dataclass(frozen=True)
class Finding:
    """A fault: its code in the runbook, and what was observed."""

    code: str
    detail: str

    @property
    def section(self) -> Section:
        """The section of the runbook."""
        return SECTIONS[self.code]


class NotChecked(Exception):
    """A check is impossible from here; the text says what it would need."""


@dataclass
class Report:
    """What the checks found."""

    findings: list[Finding] = field(default_factory=list)
    unchecked: dict[str, str] = field(default_factory=dict)
    """Why a check was impossible, by its name."""
    checked: list[str] = field(default_factory=list)

    def run(self, name: str, check: Callable[..., Iterable[Finding]], *given: object) -> bool:
        """Run a check; return whether it was possible and found nothing."""
        try:
            found = [*check(*given)]
        # Of a missing privilege: the check of the privileges names what the user lacks.
        except (NotChecked, WarehouseError) as error:
            self.unchecked[name] = str(error)
            return False
        self.findings += found
        self.checked.append(name)
        return not found

    def as_dict(self) -> dict[str, Any]:
        """Return the report ready for JSON."""
        findings = [
            {
                "code": each.code,
                "detail": each.detail,
                "severity": each.section.severity,
                "meaning": each.section.meaning,
                "remedy": each.section.do,
            }
            for each in self.findings
        ]
        return {"findings": findings, "not_checked": self.unchecked, "checked": self.checked}
