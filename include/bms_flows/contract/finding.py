"""A finding: one thing the interface doesn't show, and what the service was seen to do."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one question brought; `value` is None while nobody can tell.

    `told` is a sentence for people. `setting` names what covers the gap here, `advice` how it
    contradicts what was seen and what to set. A value that `grows` is a list of names, of which a
    probe sees some: only a name never seen before is a change.
    """

    name: str
    value: Any = None
    told: str
    setting: str | None = None
    advice: str | None = None
    grows: bool = False
    agrees: bool = False
    """Whether what was seen agrees with the setting, though it leaves the question open."""

    @property
    def known(self) -> bool:
        """Whether the service told."""
        return self.value is not None


def cannot_tell(
    name: str,
    why: str,
    *,
    setting: str | None = None,
    advice: str | None = None,
    agrees: bool = False,
) -> Finding:
    """Return the finding of a question that the service's answers leave open."""
    told = f"Cannot tell: {why}"
    return Finding(name=name, told=told, setting=setting, advice=advice, agrees=agrees)
