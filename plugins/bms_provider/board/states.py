"""Labels of states: word, tone and meaning. Pages never show the tone alone."""

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, NamedTuple

from bms_flows import texts
from bms_flows.runtime.settings import Language

Tone = Literal["good", "idle", "warn", "bad"]


class StateLabel(NamedTuple):
    """Word, meaning and tone of a state."""

    word: str
    meaning: str
    tone: Tone


TONES: Final[Mapping[str, Tone]] = {
    **dict.fromkeys(("fresh", "complete", "applied", "reconciled"), "good"),
    **dict.fromkeys(("running", "open", "repeated", "withdrawn", "never", "not_checked"), "idle"),
    **dict.fromkeys(("pending", "waiting", "not_applied", "refused"), "warn"),
    **dict.fromkeys(("late", "partial", "unstable"), "warn"),
    **dict.fromkeys(("suspect", "failed", "not_reconciled"), "bad"),
}
"""Tones of the states of flows, loads, drops and audited days, by their names in the warehouse."""


@cache
def labels(language: Language) -> Mapping[str, StateLabel]:
    """Return the labels of all states; those that only operators read are in English."""
    return {
        state: StateLabel(*text.get(language, text["EN"]), TONES[state])
        for state, text in texts.STATES.items()
    }
