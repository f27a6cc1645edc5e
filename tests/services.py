"""Optional servers and browsers.

A test that needs one is skipped there with the reason; under BMS_REQUIRE_SERVICES=1, as .ci/run
sets it, the lack is a failure.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# Chromium as root, and without its own errands into the network.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str:
    """Return the path of a Chromium."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    return found or _lacking("no Chromium on PATH")


@contextmanager
def browser() -> "Iterator[Browser]":
    """Start a Chromium for the block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield started
        started.close()


def program(name: str) -> str:
    """Return the path of a program."""
    return shutil.which(name) or _lacking(f"no {name} on PATH")


def redis_url() -> str:
    """Return the URL of a Redis reserved for tests."""
    return os.environ.get("BMS_TEST_REDIS_URL") or _lacking("BMS_TEST_REDIS_URL names no Redis")


def _lacking(reason: str) -> NoReturn:
    if os.environ.get("BMS_REQUIRE_SERVICES") == "1":
        pytest.fail(f"{reason}, and BMS_REQUIRE_SERVICES=1 wants it")
    pytest.skip(reason)
