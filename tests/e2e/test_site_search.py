"""The search of the documentation site: whoever types a symptom finds the runbook first."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from stack.paths import CHECKOUT
from tests import services
from tests.e2e.conftest import PATIENCE

pytestmark = [pytest.mark.services, pytest.mark.prove]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The start page of the site, opened from its folder."""
    folder: Path = tmp_path_factory.mktemp("site")
    subprocess.run(  # noqa: S603 - our own configuration
        [CHECKOUT / ".venv/bin/mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=CHECKOUT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    with services.browser() as browser:
        found = browser.new_page(viewport={"width": 1400, "height": 900})
        found.set_default_timeout(PATIENCE)
        found.goto((folder / "index.html").as_uri())
        yield found


@pytest.mark.parametrize("symptom", ["disk full", "duplicate", "missing invoice"])
def test_a_symptom_leads_to_the_runbook_first(page: Page, symptom: str) -> None:
    page.locator("[data-md-component=search-query]").fill(symptom)
    first = page.locator("a.md-search-result__link").first
    first.wait_for()
    page.wait_for_timeout(1_500)  # results follow the last key with a delay
    assert "runbook.html" in str(first.get_attribute("href"))


def test_no_page_is_wider_than_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    for name in ("index", "guarantees", "proof", "assumptions", "reference/tables", "fr/depot-rh"):
        page.goto(
            page.url.rpartition("/")[0].removesuffix("/reference").removesuffix("/fr")
            + f"/{name}.html"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
