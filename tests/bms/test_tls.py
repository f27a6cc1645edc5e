"""Tests of TLS settings, on real sockets."""

import ssl
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization

from bms.endpoints import BY_NAME
from bms.errors import ConnectionFailed, InvalidTlsFile
from bms.transport import Request
from tests.bms.fake_services import FakeService, Serve

READ = BY_NAME["list_employees"]
CREATE = BY_NAME["create_employee"]


@pytest.fixture
async def secure(serve: Serve, certificate: Path) -> FakeService:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificate))
    context.load_cert_chain(certificate)
    context.verify_mode = ssl.CERT_OPTIONAL
    return await serve(ssl_context=context)


async def test_an_untrusted_certificate_fails_before_anything_is_sent(
    open_transport: Any, secure: FakeService
) -> None:
    transport = await open_transport(secure.settings())
    with pytest.raises(ConnectionFailed, match="Certificate") as caught:
        await transport.send(Request(CREATE, "/x", body=b"{}"))
    assert not caught.value.sent
    assert secure.requests == []


@pytest.mark.parametrize("verify", ["own", False])
async def test_verify_names_a_trusted_file_or_disables_the_check(
    open_transport: Any, secure: FakeService, certificate: Path, verify: Any
) -> None:
    chosen = str(certificate) if verify == "own" else verify
    transport = await open_transport(secure.settings(verify=chosen))
    assert (await transport.send(Request(READ, "/x"))).status == 200


async def test_a_client_certificate_is_presented(
    open_transport: Any, secure: FakeService, certificate: Path
) -> None:
    shown: list[Any] = []

    async def look(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        shown.append(request.transport.get_extra_info("peercert"))
        return web.json_response([])

    secure.respond = look
    path = str(certificate)
    transport = await open_transport(secure.settings(verify=path, cert=(path, path)))
    await transport.send(Request(READ, "/x"))
    assert shown[0]["serialNumber"] == "01"


@pytest.fixture
def files(tmp_path: Path, certificate: Path) -> Path:
    """A folder of unusable certificate files."""
    key = serialization.load_pem_private_key(certificate.read_bytes(), None)
    locked = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"password"),
    )
    trusted = certificate.read_bytes().partition(b"-----BEGIN PRIVATE")[0]
    (tmp_path / "locked.pem").write_bytes(trusted + locked)
    (tmp_path / "canary.pem").write_text("canary")
    return tmp_path


@pytest.mark.parametrize("setting", ["verify", "cert"])
@pytest.mark.parametrize("name", ["absent.pem", "canary.pem", "\0canary", "canary" * 60, "."])
async def test_an_unusable_tls_file_raises_with_its_setting_and_without_its_content(
    open_transport: Any, fake: FakeService, files: Path, setting: str, name: str
) -> None:
    given = fake.settings(base_url="https://127.0.0.1:9", **{setting: str(files / name)})
    with pytest.raises(InvalidTlsFile, match=f"^{setting} names no usable PEM file") as caught:
        await open_transport(given)
    assert (caught.value.setting, caught.value.retriable) == (setting, False)
    assert caught.value.__context__ is None
    assert "canary" not in str(caught.value)
    unusable = "names no usable PEM file; the log of this process has the reason"
    assert str(caught.value) == f"{setting} {unusable}", "the same for absent and present files"


def test_a_folder_of_hashed_certificates_is_trusted(
    fake: FakeService, tmp_path: Path, certificate: Path
) -> None:
    (tmp_path / "5ed36f99.0").write_bytes(certificate.read_bytes())
    given = fake.settings(base_url="https://127.0.0.1:9", verify=str(tmp_path))
    assert isinstance(given.tls_context(), ssl.SSLContext)


async def test_an_encrypted_key_raises_without_a_password_prompt(
    open_transport: Any, fake: FakeService, files: Path
) -> None:
    given = fake.settings(base_url="https://127.0.0.1:9", cert=str(files / "locked.pem"))
    with pytest.raises(InvalidTlsFile, match=r"^cert names no usable PEM file"):
        await open_transport(given)


async def test_an_unusable_ca_bundle_of_the_environment_raises(
    open_transport: Any, fake: FakeService, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(files / "absent.pem"))
    given = fake.settings(base_url="https://127.0.0.1:9", trust_env=True)
    with pytest.raises(InvalidTlsFile, match=r"^verify defers to REQUESTS_CA_BUNDLE or"):
        await open_transport(given)
