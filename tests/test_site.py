"""The documentation site builds strictly and loads nothing from another address."""

import os
import re
import runpy
import subprocess
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests import services

pytestmark = pytest.mark.bookkeeping

PROJECT = Path(__file__).parent.parent
FOREIGN = re.compile(
    r"""<(?:script|img|link|iframe|source)\b[^>]*(?:src|href|srcset)="?(https?://[^"\s>]+)"""
)


@pytest.fixture(scope="module")
def hooks() -> dict[str, Any]:
    """The hooks of the build."""
    return runpy.run_path(str(PROJECT / "scripts/docs_hooks.py"))


@pytest.fixture
def page() -> Any:
    """A page of a folder of the site."""
    from mkdocs.structure.files import File

    return File("how-to/alarms.md", "docs", "site", use_directory_urls=False)


@pytest.mark.parametrize(
    ("written", "built"),
    [
        ("[a](../runbook.md#late)", "[a](../runbook.md#late)"),
        ("[a](../../README.md#dags)", "[a](../index.md#dags)"),
        ("[a](../../CONTRIBUTING.md)", "[a](../contributing.md)"),
        ("[a](../../tests/test_docs.py)", "[a](../repository/tests/test_docs.py.txt)"),
        ("[a](../../proofs/results)", "a"),
        ("[a](../missing.md)", "[a](../missing.md)"),  # the strict build names it
        ("[a](https://example.com/b)", "[a](https://example.com/b)"),
    ],
)
def test_links_lead_to_the_page_or_to_a_copy(
    hooks: dict[str, Any], page: Any, written: str, built: str
) -> None:
    source = PROJECT / "docs/how-to/alarms.md"
    assert hooks["LINK"].sub(lambda found: hooks["_link"](found, source, page), written) == built


def test_a_picture_becomes_an_image_for_each_theme(hooks: dict[str, Any], page: Any) -> None:
    source = PROJECT / "docs/how-to/alarms.md"
    written = """<picture>
  <source media="(prefers-color-scheme: dark)" srcset="../pictures/flow-dark.svg">
  <img alt="A flow" src="../pictures/flow-light.svg" width="640">
</picture>"""
    built = hooks["PICTURE"].sub(lambda found: hooks["_picture"](found, source, page), written)
    assert built.splitlines() == [
        '![A flow](../pictures/flow-light.svg#only-light){ width="640" }',
        '![A flow](../pictures/flow-dark.svg#only-dark){ width="640" }',
    ]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(  # noqa: S603 - our own configuration
        [PROJECT / ".venv/bin/mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=PROJECT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    return folder


@pytest.mark.prove
def test_the_site_builds_strictly_and_stands_alone(site: Path) -> None:
    pages = {file: file.read_text() for file in site.rglob("*.html")}
    assert len(pages) > 35
    assert {
        file.name: FOREIGN.findall(text) for file, text in pages.items() if FOREIGN.search(text)
    } == {}
    assert "client_invoice_version" in (site / "reference/tables.html").read_text()
    assert "Apache-2.0" in (site / "licences.html").read_text()
    assert (site / "search/search_index.js").exists()


@pytest.mark.prove
@pytest.mark.services
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible(site: Path, scheme: Literal["light", "dark"]) -> None:
    with services.browser() as browser:
        page = browser.new_page(color_scheme=scheme)
        for file in sorted({*site.rglob("*.html")} - {site / "404.html"}):  # needs a server
            page.goto(file.as_uri())
            expect(page.locator(".md-search")).to_have_attribute("aria-label", "Search")
            found = Axe().run(page).response["violations"]
            assert [(each["id"], each["nodes"][0]["html"]) for each in found] == [], file.name


@pytest.mark.prove
@pytest.mark.services
@pytest.mark.parametrize("symptom", ["disk full", "duplicate", "missing invoice"])
def test_the_search_finds_the_runbook_first(site: Path, symptom: str) -> None:
    with services.browser() as browser:
        page = browser.new_page()
        page.goto((site / "index.html").as_uri())
        page.locator(".md-search__input").fill(symptom)
        first = page.locator(".md-search-result__link").first
        expect(first).to_have_attribute("href", re.compile(r"/runbook\.html[?#]"), timeout=30_000)


@pytest.mark.prove
@pytest.mark.services
def test_no_page_is_wider_than_a_phone(site: Path) -> None:
    with services.browser() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 800})
        for name in (
            "index",
            "guarantees",
            "proof",
            "assumptions",
            "reference/tables",
            "fr/depot-rh",
        ):
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
