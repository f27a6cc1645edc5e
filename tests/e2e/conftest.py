"""One whole stack for every test in this folder: real scheduler, real database, real pages."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from stack.launcher import Running, running
from stack.processes import find_tagged
from tests import services
from tests.e2e.airflow_api import Airflow, unpaused
from tests.support.patience import LONG_S

AFTERWARDS = {"airflow", "data", "durations.json", "logs", "migrated.json", "postgres", "secrets"}
"""What a stopped stack leaves in its folder: neither `stack.json` nor a socket."""

PATIENCE = 1000.0 * LONG_S
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
expect.set_options(timeout=PATIENCE)


def own_environment() -> dict[str, str]:
    """Return this process's environment without the variables of Airflow and of the flows."""
    foreign = ("AIRFLOW", "BMS_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


@pytest.fixture(scope="package")  # it would take the processors from all later tests
def stack() -> Iterator[Running]:
    """The stack of `make up` in a separate folder, with all DAGs paused."""
    with tempfile.TemporaryDirectory() as folder:
        given = {
            **own_environment(),
            "BMS_LOCAL_DIR": folder,
            # More than two rows of a resource and day need approval, whatever test drops them; an
            # answer is not waited for long.
            "BMS_APPROVAL": "2",
            "BMS_APPROVAL_HOURS": str(150 / 3600),
            "BMS_APPROVAL_NOTICES": '{"employees": "approbation@example.com"}',
            "BMS_SETTLE_S": "1",
        }
        with running(given) as found:
            yield found
        assert find_tagged(found.paths.process_tag) == []
        assert {path.name for path in found.paths.local.iterdir()} == AFTERWARDS
        assert not list(found.paths.postgres.glob(".s.PGSQL*"))


@pytest.fixture(scope="module")
def airflow(stack: Running, request: pytest.FixtureRequest) -> Iterator[Airflow]:
    """A client of the API; the DAGs that a module names as `UNPAUSED` are unpaused for its tests."""
    with unpaused(stack, *getattr(request.module, "UNPAUSED", ())) as api:
        yield api


@pytest.fixture(scope="module")  # while it is open, no other test can have an event loop
def browser() -> Iterator[Browser]:
    """A Chromium."""
    with services.browser() as found:
        yield found


def sign_in(context: BrowserContext, user: str, password: str) -> Page:
    """Return a page of a new session."""
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto("/")
    page.get_by_label("Username").fill(user)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("/")
    return page


@pytest.fixture(scope="module")
def signed_in(browser: Browser, stack: Running) -> Page:
    """A page of one signed-in session."""
    context = browser.new_context(base_url=stack.url, viewport={"width": 1280, "height": 800})
    return sign_in(context, stack.user, stack.password)


@pytest.fixture
def page(signed_in: Page) -> Iterator[Page]:
    yield signed_in
    signed_in.set_viewport_size({"width": 1280, "height": 800})
    signed_in.emulate_media(color_scheme="light")


@pytest.fixture
def picture(page: Page) -> Callable[[str], None]:
    """Save a screenshot of the page, light and dark, if BMS_PICTURES names a folder."""

    def save(name: str) -> None:
        if folder := os.environ.get("BMS_PICTURES"):
            for scheme in SCHEMES:
                page.emulate_media(color_scheme=scheme)
                page.wait_for_timeout(1_000)  # colours fade; the page has no event for the end
                page.screenshot(path=Path(folder) / f"{name}-{scheme}.png")
            page.emulate_media(color_scheme="light")

    return save
