"""Questions about behaviour that the interface does not specify, and what the probe found."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class ContractFinding:
    """Result of one question; `value` is None if the question is undetermined.

    `summary` is a sentence for operators. `setting` names the setting that depends on the answer,
    `advice` the value to set if the two differ. A `cumulative` value is a list of names of which
    one probe sees only some: only a name never seen before is a change.
    """

    name: str
    value: Any = None
    summary: str
    setting: str | None = None
    advice: str | None = None
    cumulative: bool = False
    agrees: bool = False
    """Whether an undetermined answer is consistent with the setting."""

    @property
    def known(self) -> bool:
        """Whether the question is answered."""
        return self.value is not None


@dataclass(frozen=True)
class Question:
    """A question to the service, and the setting that depends on the answer."""

    name: str
    setting: str | None = None
    cumulative: bool = False

    def answered(self, value: Any, summary: str, advice: str | None = None) -> ContractFinding:
        """Return the finding of an answered question."""
        return ContractFinding(**vars(self), value=value, summary=summary, advice=advice)

    def undetermined(
        self, why: str, *, advice: str | None = None, agrees: bool = False
    ) -> ContractFinding:
        """Return the finding of a question without an answer, with the reason."""
        summary = f"Undetermined: {why}"
        return ContractFinding(**vars(self), summary=summary, advice=advice, agrees=agrees)
