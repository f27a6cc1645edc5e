"""Text of a fault."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FaultText:
    """What a fault means and what the HR user does about it, in French and English."""

    french: str
    english: str
    hint_french: str
    hint_english: str
