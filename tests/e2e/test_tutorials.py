"""The tutorials, followed literally against `make up`: their commands are run, their results compared."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from stack.paths import CHECKOUT
from tests import services
from tests.e2e.conftest import own_environment, sign_in
from tests.support.patience import LONG_S

pytestmark = [pytest.mark.services, pytest.mark.prove]

BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINKED = (".venv", "include")
"""What the commands use of the checkout."""


@dataclass
class Reader:
    """A reader with a terminal in the checkout's folder, and a browser."""

    folder: Path
    page: Page

    def run(self, command: str) -> str:
        """Run a command of a tutorial and return what it prints."""
        found = subprocess.run(  # noqa: S603 - a command of our own page
            ["bash", "-euc", command],  # noqa: S607 - the reader's shell
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 0, found.stderr
        return found.stdout

    def prints(self, command: str, expected: str) -> None:
        """Repeat a query until its run has ended; it must then print the expected lines."""
        end = time.monotonic() + LONG_S
        while (printed := self.run(command)) != expected and time.monotonic() < end:
            time.sleep(2)
        assert printed == expected


def blocks(name: str) -> list[str]:
    """Return the commands and results of a tutorial in their order, without `make up`."""
    text = (CHECKOUT / f"docs/tutorials/{name}.md").read_text()
    return [code for _, code in BLOCK.findall(text) if code != "make up\n"]


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    """A reader after `make up`, in a folder that looks like a fresh checkout, signed in."""
    with tempfile.TemporaryDirectory() as name, services.browser() as browser:
        folder = Path(name)
        for each in LINKED:
            (folder / each).symlink_to(CHECKOUT / each)
        environ = {**own_environment(), "BMS_LOCAL_DIR": str(folder / ".local"), "BROWSER": ""}
        with (folder / "up.txt").open("w") as output:
            up = subprocess.Popen(
                ["make", "up"],  # noqa: S607 - the reader's command
                cwd=CHECKOUT,
                env=environ,
                stdout=output,
                start_new_session=True,
            )
        try:
            end = time.monotonic() + LONG_S
            while "until Ctrl-C" not in (folder / "up.txt").read_text():
                assert up.poll() is None
                assert time.monotonic() < end
                time.sleep(1)
            details = json.loads((folder / ".local/stack.json").read_text())
            context = browser.new_context(base_url=details["url"])
            yield Reader(folder, sign_in(context, details["user"], details["password"]))
        finally:
            os.killpg(up.pid, signal.SIGINT)  # as Ctrl-C in a terminal does
            up.wait(LONG_S)


def trigger(page: Page, *, first_time: bool) -> None:
    """Follow "Run the DAG" of the first tutorial."""
    text = (CHECKOUT / "docs/tutorials/first-extraction.md").read_text()
    first, last = re.findall(r"\*(?:First|Last) day\* to `([\d-]+)`", text)
    (unpause,) = re.findall(r"\*(Unpause \w+ on trigger)\*", text)
    page.goto("/dags/invoice_extraction")
    page.get_by_role("button", name="Trigger Dag").click()
    form = page.get_by_role("dialog")
    for label, day in (("First day", first), ("Last day", last)):
        expect(form.get_by_text(label, exact=True)).to_be_visible()
        form.locator(f"[name=element_{'start' if day == first else 'end'}_date]").fill(day)
    if first_time:
        expect(form.get_by_role("checkbox", name=unpause)).to_be_checked()
    with page.expect_response("**/dagRuns") as asked:
        form.get_by_role("button", name="Trigger", exact=True).click()
    assert asked.value.ok, asked.value.text()


def test_first_extraction(reader: Reader) -> None:
    query, first, second = blocks("first-extraction")
    trigger(reader.page, first_time=True)
    reader.prints(query, first)
    trigger(reader.page, first_time=False)
    reader.prints(query, second)


def test_first_drop(reader: Reader) -> None:
    drop, request, reasons, lines = blocks("first-drop")
    reader.run(drop)
    page, end = reader.page, time.monotonic() + 150  # the tutorial states a minute
    subject, _, question = request.strip().partition("\n\n")
    while not page.get_by_text(subject).count():
        assert time.monotonic() < end, "no request"
        page.goto("/required_actions")
        page.wait_for_timeout(3_000)
    page.get_by_role("link", name=subject).first.click()
    for line in question.splitlines():
        expect(page.get_by_text(line).first).to_be_visible()
    with page.expect_response(re.compile("hitlDetails$")) as answered:
        page.get_by_role("button", name="Approuver", exact=True).click()
    assert answered.value.ok, answered.value.text()
    reports = reader.folder / ".local/data/reports/employees"
    end = time.monotonic() + LONG_S
    while not list(reports.glob("*/receipt.json")):
        assert time.monotonic() < end, "no report"
        time.sleep(2)
    reader.prints(reasons, lines)
    (created,) = reports.glob("*/created.csv")
    assert len(created.read_text().splitlines()) == 1 + 12
