"""E-mail addresses and phone numbers: equal, possibly equal and invalid values."""

from collections.abc import Callable

import pytest

from bms_flows.onboarding.resources.normal_forms import (
    email_address,
    mobile_number,
    phone_number,
    region_of,
)

ONE_MAILBOX = [
    ("jean.dupont@example.com", "jean.dupont@example.com"),
    (" jean.dupont@example.com\t", "jean.dupont@example.com"),
    ("jean.dupont@EXAMPLE.COM", "jean.dupont@example.com"),
    ("jean.dupont@Example.Com", "jean.dupont@example.com"),
    ("jean.dupont@example.com.", "jean.dupont@example.com"),
    ("jean@münchen.example", "jean@xn--mnchen-3ya.example"),
    ("jean@MÜNCHEN.example", "jean@münchen.example"),
    ("jean@mu\u0308nchen.example", "jean@münchen.example"),
    ("jean@straße.example", "jean@xn--strae-oqa.example"),
    ("he\u0301le\u0300ne@example.com", "hélène@example.com"),
    ("\uff4aean@example.com", "jean@example.com"),
    ("jean\uff20example.com", "jean@example.com"),
    ("jean@example\u3002com", "jean@example.com"),
    ("jean@\uff45xample.com", "jean@example.com"),
    ("\u00a0jean@example.com\u00a0", "jean@example.com"),
    # Most services deliver these to one mailbox, but none has to: the row goes to review.
    ("Jean.Dupont@example.com", "jean.dupont@example.com"),
    ("JEAN.DUPONT@EXAMPLE.COM", "jean.dupont@example.com"),
    ("jean+salon@example.com", "jean@example.com"),
    ("j.ean@gmail.com", "jean@gmail.com"),
    ("jean@googlemail.com", "jean@gmail.com"),
    ("Jean Dupont <jean@example.com>", "jean@example.com"),
    ("mailto:jean@example.com", "jean@example.com"),
]
"""Pairs that reach one person."""

TWO_MAILBOXES = [
    ("jean@example.com", "jean@example.org"),
    ("jean@example.com", "jeanne@example.com"),
    ("jean.dupont@example.com", "jeandupont@example.com"),
    ("jean@example.com", "jean@mail.example.com"),
    ("jean@example.com", "jean@exemple.com"),
    ("jean@straße.example", "jean@strasse.example"),  # two domains since IDNA 2008
    ("jean@βόλος.example", "jean@βόλοσ.example"),
    ("jean@example.com", "jean@ex\u0430mple.com"),  # a Cyrillic a
    ("jean@example.com", "je\u0430n@example.com"),
    ("hélène@example.com", "helene@example.com"),
    ("jean@élan.example", "jean@elan.example"),
    ("jean+a@example.com", "jean+b@example.com"),
    ("jean1@example.com", "jeanl@example.com"),
    ("jean_dupont@example.com", "jean-dupont@example.com"),
    ("strauß@example.com", "strauss@example.com"),
    ("\u0131rmak@example.com", "irmak@example.com"),  # a dotless i
    ("\u0130rmak@example.com", "irmak@example.com"),
    ("jean@example.com", "jean@example.co"),
    ("jean@example.com;paul@example.com", "paul@example.com"),
    ("jean@example.com, paul@example.com", "paul@example.com"),
    ("jean@evil.example@example.com", "evil.example@example.com"),
    ("jean@a\u2100.example", "jean@aa/c.example"),
    ("", ""),
    ("n/a", "n/a"),
    ("inconnu", "inconnu"),
    ("@", "@"),
    ("jean@", "jean@"),
    ("@example.com", "@example.com"),
    ("jean@localhost", "jean@localhost"),
    ("jean@-example.com", "jean@-example.com"),
    ("jean@exa mple.com", "jean@example.com"),
    ("je\u200ban@example.com", "jean@example.com"),
]
"""Pairs that are, or may be, two persons', and texts that are no address at all."""


def found_same(one: str, other: str, form: Callable[[str], str | None]) -> bool:
    return form(one) is not None and form(one) == form(other)


def test_distinct_addresses_never_match(figure: Callable[[str], None]) -> None:
    wrong = [pair for pair in TWO_MAILBOXES if found_same(*pair, email_address)]
    found = [pair for pair in ONE_MAILBOX if found_same(*pair, email_address)]
    figure(
        f"e-mail addresses: {len(wrong)} of {len(TWO_MAILBOXES)} taken for another's, "
        f"{len(found)} of {len(ONE_MAILBOX)} found again"
    )
    assert wrong == []
    assert len(found) == 15


def test_local_part_and_tag_stay_as_they_are() -> None:
    assert email_address(" Jean.Dupont+Salon@MÜNCHEN.example ") == (
        "Jean.Dupont+Salon@xn--mnchen-3ya.example"
    )


@pytest.mark.parametrize(
    ("text", "region", "form"),
    [
        ("06 12 34 56 78", "FR", "+33612345678"),
        ("+33 (0)6 12 34 56 78", "FR", "+33612345678"),
        ("0033612345678", "FR", "+33612345678"),
        ("06.12.34.56.78", "FR", "+33612345678"),
        ("0470 12 34 56", "BE", "+32470123456"),
        ("+32 470 12 34 56", "FR", "+32470123456"),
        ("\uff10\uff16 12 34 56 78", "FR", "+33612345678"),
        ("06 12 34 56", "FR", None),
        ("0123", "FR", None),
        ("01 42 68 53 00", "FR", None),  # a line of a house
        ("n/a", "FR", None),
        (None, "FR", None),
    ],
)
def test_a_mobile_number_matches_only_in_e164(
    text: str | None, region: str, form: str | None
) -> None:
    assert mobile_number(text, region) == form


def test_an_extension_is_part_of_a_number() -> None:
    assert phone_number("01 42 68 53 00 ext. 12", "FR") == "+33142685300;ext=12"
    assert phone_number("01 42 68 53 00", "FR") == "+33142685300"


@pytest.mark.parametrize(
    ("country", "region"),
    [
        *((name, "BE") for name in ("BE", "be", "Belgique", "België")),
        ("LUXEMBOURG", "LU"),
        *((name, "GB") for name in ("UK", "Royaume-Uni")),
        ("Pays-Bas", "NL"),
        *((name, "FR") for name in ("F", "Atlantide", "", None)),
    ],
)
def test_the_country_of_a_row_goes_before_the_company_s(country: str | None, region: str) -> None:
    assert region_of({"country": country}, "FR") == region
