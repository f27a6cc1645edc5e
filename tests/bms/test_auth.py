"""Tests of token parsing and single-flight renewal."""

import asyncio
import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bms.auth import Token, Tokens, read_token
from bms.endpoints import BY_NAME
from bms.errors import TokenRefused

NOW = 1_000_000.0


def jwt(**claims: Any) -> str:
    parts = (json.dumps(part).encode() for part in ({"alg": "HS256"}, claims))
    return ".".join([*(base64.urlsafe_b64encode(p).decode().rstrip("=") for p in parts), "sig"])


def read(
    answer: Any, *, unit: float = 1.0, served_at: float | None = None, requested_at: float = NOW
) -> Token | None:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return read_token(body, requested_at=requested_at, served_at=served_at, seconds_per_unit=unit)


def life(**given: Any) -> float | None:
    served_at, requested_at = given.pop("served_at", None), given.pop("requested_at", NOW)
    token = read({"access_token": "opaque"} | given, served_at=served_at, requested_at=requested_at)
    assert token is not None
    return token.life


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"access_token": None},
        {"access_token": ""},
        {"access_token": 12},
        {"access_token": "two\r\nX-Header: lines"},
        {"access_token": "é"},
        [],
        "opaque",
        b"[" * 200_000 + b"]" * 200_000,
        b"<html>",
        b"",
        b'{"access_token": "\xff"}',
    ],
    ids=lambda answer: repr(answer)[:40],
)
def test_a_response_without_a_usable_token_gives_none(answer: Any) -> None:
    assert read(answer) is None


@pytest.mark.parametrize(("unit", "seconds"), [(1.0, 3600), (0.001, 3.6), (60.0, 216_000)])
def test_expires_in_uses_the_configured_unit(unit: float, seconds: float) -> None:
    token = read({"access_token": "opaque", "expires_in": 3600}, unit=unit)
    assert token is not None
    assert token.life == pytest.approx(seconds)


@pytest.mark.parametrize("expires_in", [None, 0, -5, "soon", True, [], "nan"])
def test_an_unreadable_expires_in_gives_an_unknown_life(expires_in: Any) -> None:
    assert life(expires_in=expires_in) is None


@pytest.mark.parametrize(
    "given",
    [
        {"access_token": jwt(iat=NOW, exp=NOW + 600), "expires_in": 3600},
        {"access_token": jwt(exp=NOW + 600)},
        {"access_token": jwt(iat=NOW - 3000, exp=NOW + 600), "served_at": NOW},
        {"access_token": jwt(iat=NOW, exp=NOW + 600), "served_at": NOW + 7200},
        {"access_token": jwt(iat=NOW, exp=NOW + 600), "requested_at": NOW + 7200},
        {"access_token": jwt(exp=NOW + 600), "served_at": NOW, "requested_at": NOW - 7200},
    ],
    ids=[
        *("despite expires_in", "by the local clock", "issued earlier", "server's clock ahead"),
        *("local clock ahead", "local clock behind"),
    ],
)
def test_a_token_lives_until_its_exp(given: dict[str, Any]) -> None:
    assert life(**given) == 600


@pytest.mark.parametrize(
    "token", ["opaque", "a.b.c", "a.b", jwt(exp="never"), jwt(exp=None), jwt(), "..", "a.W10.c"]
)
def test_expires_in_applies_without_a_readable_exp(token: str) -> None:
    assert life(access_token=token, expires_in=3600) == 3600


@given(st.floats(0.001, 1e8))
def test_renewal_precedes_expiry_and_is_not_immediate(seconds: float) -> None:
    token = Token("t", None, requested_at=NOW, life=seconds)
    assert NOW < token.renew_at < NOW + seconds or seconds < 1e-2
    assert NOW + seconds - token.renew_at <= 60 + 1e-6


@given(st.text())
def test_any_text_as_a_token_is_parsed_without_an_error(text: str) -> None:
    found = read({"access_token": f"a.{text}.c", "expires_in": 5})
    assert found is None or found.life is not None


def test_the_repr_hides_the_token() -> None:
    assert "canary" not in repr(Token("canary", None, requested_at=NOW, life=1))


class Fetching:
    """Fetcher of numbered tokens of 600 s that a test can block."""

    def __init__(self) -> None:
        self.count = 0
        self.now = NOW
        self.gate = asyncio.Event()
        self.gate.set()
        self.failure: TokenRefused | None = None

    async def __call__(self) -> Token:
        await self.gate.wait()
        self.count += 1
        if self.failure is not None:
            raise self.failure
        return Token(str(self.count), None, requested_at=self.now, life=600)

    def clock(self) -> float:
        return self.now


@pytest.fixture
def fetching() -> Fetching:
    return Fetching()


@pytest.fixture
def tokens(fetching: Fetching) -> Tokens:
    return Tokens(fetching, clock=fetching.clock)


async def test_the_first_take_fetches_a_token(fetching: Fetching, tokens: Tokens) -> None:
    assert fetching.count == 0
    assert (await tokens.take()).value == "1"


async def test_one_fetch_serves_all_waiting_callers(fetching: Fetching, tokens: Tokens) -> None:
    fetching.gate.clear()
    waiting = [asyncio.ensure_future(tokens.take()) for _ in range(50)]
    await asyncio.sleep(0)
    fetching.gate.set()
    assert {token.value for token in await asyncio.gather(*waiting)} == {"1"}


async def test_a_token_is_renewed_a_tenth_of_its_life_ahead(
    fetching: Fetching, tokens: Tokens
) -> None:
    await tokens.take()
    fetching.now = NOW + 539
    assert (await tokens.take()).value == "1"
    fetching.now = NOW + 540
    assert (await tokens.take()).value == "2"


async def test_a_refused_token_is_renewed_once_for_all_callers(tokens: Tokens) -> None:
    first = await tokens.take()
    found = await asyncio.gather(*(tokens.take(instead_of=first) for _ in range(20)))
    assert {token.value for token in found} == {"2"}


async def test_waiting_callers_share_a_failure_and_the_next_caller_fetches_again(
    fetching: Fetching, tokens: Tokens
) -> None:
    fetching.failure = TokenRefused(BY_NAME["request_token"], "refused", status=401)
    fetching.gate.clear()
    waiting = [asyncio.ensure_future(tokens.take()) for _ in range(20)]
    await asyncio.sleep(0)
    fetching.gate.set()
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert set(found) == {fetching.failure}
    assert fetching.count == 1
    fetching.failure = None
    assert (await tokens.take()).value == "2"


@pytest.mark.parametrize("failed_before", [False, True])
async def test_the_next_caller_fetches_after_a_cancelled_fetch(
    fetching: Fetching, tokens: Tokens, *, failed_before: bool
) -> None:
    """The error of an earlier fetch is not raised again."""
    if failed_before:
        fetching.failure = TokenRefused(BY_NAME["request_token"], "refused", status=401)
        with pytest.raises(TokenRefused):
            await tokens.take()
        fetching.failure = None
    fetching.gate.clear()
    first, second = (asyncio.ensure_future(tokens.take()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    fetching.gate.set()
    assert (await second).value == ("2" if failed_before else "1")
    assert first.cancelled()
