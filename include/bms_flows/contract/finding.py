"""Finding: one behaviour that the interface does not specify, as the probe observed it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Finding:
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


def undetermined(
    name: str,
    why: str,
    *,
    setting: str | None = None,
    advice: str | None = None,
    agrees: bool = False,
) -> Finding:
    """Return the finding of a question without an answer, with the reason."""
    summary = f"Undetermined: {why}"
    return Finding(name=name, summary=summary, setting=setting, advice=advice, agrees=agrees)
