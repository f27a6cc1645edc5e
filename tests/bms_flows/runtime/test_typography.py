"""No-break spaces in French texts."""

from string import Formatter

import pytest

from bms_flows.onboarding.faults.fault import TEXTS, Fault
from bms_flows.runtime.typography import typeset


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Dépôt 4 : créer 2 salariés ?", "Dépôt 4\xa0: créer 2 salariés\xa0?"),
        ("Rien à faire ; sera repris !", "Rien à faire\xa0; sera repris\xa0!"),
        ("Enregistrer en « CSV UTF-8 » ici.", "Enregistrer en «\xa0CSV UTF-8\xa0» ici."),
        ("Pris le 23/11/2026 à 12:30.", "Pris le 23/11/2026 à 12:30."),
        ("Sur http://a.example:8080/bms?x=1;y", "Sur http://a.example:8080/bms?x=1;y"),
        ("Par exemple 1,23E+14 [encoding: Windows-1252]",) * 2,
        ("déjà\xa0: fait", "déjà\xa0: fait"),
    ],
)
def test_only_spaces_before_high_punctuation_and_inside_quotes_change(
    text: str, shown: str
) -> None:
    assert typeset(text) == shown
    assert typeset(shown) == shown
    assert text.split() == shown.split(), "words and signs stay"


@pytest.mark.parametrize("code", TEXTS)
def test_a_fault_is_shown_with_french_typography_and_in_the_encoding_of_french_excel(
    code: str,
) -> None:
    words = TEXTS[code]
    parsed = Formatter().parse(words.french + words.hint_french)
    fault = Fault(code, 2, details={name: name for _, name, _, _ in parsed if name})
    for text in (fault.text_fr, fault.hint("FR")):
        assert typeset(text) == text
        text.encode("cp1252")


def test_french_texts_do_not_call_the_software_a_service() -> None:
    """An HR user understands `le service` as her own department."""
    texts = [part for text in TEXTS.values() for part in (text.french, text.hint_french)]
    assert not [text for text in texts if "service" in text.casefold()]
