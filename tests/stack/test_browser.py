from pathlib import Path

import pytest

from stack import browser

DESKTOP = {"DISPLAY": ":0"}


@pytest.mark.parametrize(
    ("environ", "platform", "program"),
    [
        (DESKTOP, "linux", "xdg-open"),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", "xdg-open"),
        ({}, "darwin", "open"),
        ({"BROWSER": "firefox:chromium"}, "linux", "firefox"),
        ({**DESKTOP, "BROWSER": ""}, "linux", None),
        ({}, "linux", None),
        ({**DESKTOP, "SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, "linux", None),
        ({**DESKTOP, "CI": "true"}, "linux", None),
    ],
)
def test_a_page_opens_only_where_the_user_can_see_it(
    environ: dict[str, str], platform: str, program: str | None
) -> None:
    assert browser.command(environ, platform, on_terminal=True) == program
    assert browser.command(environ, platform, on_terminal=False) is None


def test_the_program_gets_the_address(tmp_path: Path) -> None:
    program, seen = tmp_path / "browser", tmp_path / "seen"
    program.write_text(f'#!/bin/sh\necho "$1" > {seen}\n')
    program.chmod(0o755)
    opened = browser.open_page(str(program), "http://127.0.0.1:1/bms/")
    assert opened is not None
    assert opened.wait() == 0
    assert seen.read_text() == "http://127.0.0.1:1/bms/\n"


def test_a_missing_program_opens_nothing(tmp_path: Path) -> None:
    assert browser.open_page(str(tmp_path / "missing"), "http://127.0.0.1:1/bms/") is None
