"""Tests of the client's settings."""

from typing import Any

import pytest

from bms.settings import ClientSettings


def make(**given: Any) -> ClientSettings:
    known = {
        "base_url": "https://bms.example/tenant/api/",
        "client_id": "c",
        "application_id": "a",
        "secret": "s3cret",
    }
    return ClientSettings(**known | given)


@pytest.mark.parametrize(
    "base", ["https://h", "https://h/", "http://h:8443/a/b/", "http://[::1]:1"]
)
def test_urls_have_the_prefix_of_the_base_url(base: str) -> None:
    assert make(base_url=base).url("/v1/token") == base.rstrip("/") + "/v1/token"


@pytest.mark.parametrize(
    "given",
    [
        {"base_url": "bms.example"},
        {"base_url": "ftp://bms.example"},
        {"base_url": "https://"},
        {"base_url": "https://user:canary@bms.example"},
        {"base_url": "https://bms.example/?token=canary"},
        {"base_url": "https://bms.example/#canary"},
        {"expires_in_unit": "canary"},
        {"concurrency": 0},
        {"page_size": 0},
        {"attempts": 0},
        {"timeout": 0},
        {"backoff_cap": -1},
        {"token_bearer_secret": "canary\r\nX: 1"},
    ],
    ids=str,
)
def test_an_invalid_setting_raises_without_quoting_it(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must") as caught:
        make(**given)
    assert "canary" not in str(caught.value)


def test_an_unknown_time_zone_raises() -> None:
    with pytest.raises(KeyError):
        make(time_zone="Europe/Nowhere")


def test_the_repr_hides_secrets() -> None:
    settings = make(token_bearer_secret="b3arer", proxies="http://me:pr0xy@proxy:3128")
    for secret in ("s3cret", "b3arer", "pr0xy"):
        assert secret not in repr(settings)


@pytest.mark.parametrize(
    ("proxies", "chosen"),
    [
        ("http://p:1", "http://p:1"),
        ({"https": "http://p:1", "http": "http://q:1"}, "http://p:1"),
        ({"https://bms.example": "http://own:1", "https": "http://p:1"}, "http://own:1"),
        ({"all": "http://any:1"}, "http://any:1"),
        ({"http": "http://q:1"}, None),
        ({}, None),
        (None, None),
    ],
    ids=str,
)
def test_the_proxy_follows_the_rules_of_requests(proxies: Any, chosen: str | None) -> None:
    assert make(proxies=proxies, trust_env=False).proxy() == chosen


@pytest.mark.parametrize(
    ("host", "no_proxy", "chosen"),
    [
        ("bms.example", "", "http://proxy.example:1"),
        ("bms.example", "bms.example", None),
        ("bms.example:8443", "bms.example:8443", None),
        ("10.1.2.3:8443", "10.0.0.0/8", None),
        ("11.1.2.3:8443", "10.0.0.0/8", "http://proxy.example:1"),
    ],
)
@pytest.mark.parametrize("given", ["http://proxy.example:1", "proxy.example:1"])
def test_the_environment_proxy_applies_with_trust_env(
    monkeypatch: pytest.MonkeyPatch, host: str, no_proxy: str, chosen: str | None, given: str
) -> None:
    monkeypatch.setenv("https_proxy", given)
    monkeypatch.setenv("no_proxy", no_proxy)
    assert make(base_url=f"https://{host}").proxy() == chosen
    assert make(base_url=f"https://{host}", trust_env=False).proxy() is None


def test_a_ca_path_comes_from_verify_or_a_trusted_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/env/ca.pem")
    assert make(verify="/own/ca.pem").ca_path() == "/own/ca.pem"
    assert make().ca_path() == "/env/ca.pem"
    assert make(trust_env=False).ca_path() is None
    assert make(verify=False).ca_path() is None
