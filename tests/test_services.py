"""A missing server or browser skips a test locally and fails it in CI."""

from collections.abc import Callable

import pytest
import redis

from tests import services


@pytest.mark.services
def test_the_redis_of_the_tests_answers() -> None:
    with redis.Redis.from_url(services.redis_url()) as client:
        assert client.ping()


@pytest.mark.parametrize("ask", [services.chromium, services.redis_url])
@pytest.mark.parametrize(
    ("required", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)]
)
def test_a_missing_service_is_a_skip_and_a_failure_under_ci(
    ask: Callable[[], str],
    required: str,
    outcome: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("BMS_TEST_REDIS_URL", raising=False)
    monkeypatch.setenv("BMS_REQUIRE_SERVICES", required)
    with pytest.raises(outcome, match=r"Chromium|Redis"):
        ask()
