"""Optional servers and browsers.

A test that needs one is skipped there with the reason; under BMS_REQUIRE_SERVICES=1, as .ci/run
sets it, the lack is a failure.
"""

import os
import shutil
from typing import NoReturn

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str:
    """Return the path of a Chromium."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    return found or _lacking("no Chromium on PATH")


def redis_url() -> str:
    """Return the URL of a Redis reserved for tests."""
    return os.environ.get("BMS_TEST_REDIS_URL") or _lacking("BMS_TEST_REDIS_URL names no Redis")


def _lacking(reason: str) -> NoReturn:
    if os.environ.get("BMS_REQUIRE_SERVICES") == "1":
        pytest.fail(f"{reason}, and BMS_REQUIRE_SERVICES=1 wants it")
    pytest.skip(reason)
