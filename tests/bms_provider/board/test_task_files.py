"""Downloads of files that operators wrote."""

import asyncio
from pathlib import Path

import pytest

from tests.bms_provider.board.conftest import ANONYMOUS, Visit

FILE = "/bms-files/employee_onboarding/manual__1/list.jsonl.gz"


@pytest.fixture(autouse=True)
def files(data_root: Path) -> None:
    """A file of a task, one of another DAG, and one outside the folder of the operators."""
    for name in ("operators/employee_onboarding/manual__1/list.jsonl.gz", "operators/other/x.json"):
        file = data_root / name
        file.parent.mkdir(parents=True)
        file.write_text(f"personal data in {name}")
    (data_root / "secret.json").write_text("secret")


@pytest.mark.parametrize(
    ("user", "status"),
    [
        (None, 401),
        (ANONYMOUS, 403),
        ("nobody", 403),
        ("viewer", 403),
        ("clerk", 403),
        ("recruiter", 200),
        ("admin", 200),
    ],
)
def test_only_users_who_may_edit_the_dag_download_its_files(
    visit: Visit, user: str | None, status: int
) -> None:
    response = visit(user).get(FILE)
    assert response.status_code == status
    assert ("personal data in" in response.text) is (status == 200)


def test_a_task_file_is_a_download(visit: Visit) -> None:
    response = visit("recruiter").get(FILE)
    assert response.headers["content-disposition"] == 'attachment; filename="list.jsonl.gz"'
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert response.headers["cache-control"] == "private, no-store"


@pytest.mark.parametrize(
    "path",
    [
        "employee_onboarding/absent.json",
        "employee_onboarding/",
        "employee_onboarding/manual__1",
        "employee_onboarding/..%2F..%2Fsecret.json",
        "employee_onboarding/%00",
        "employee_onboarding/%2e%2e/other/x.json",
        "..%2F/secret.json",
        "%2e%2e/secret.json",
        "employee_onboarding/" + "a" * 5000,
        "employee_onboarding/" + "a/" * 3000,
    ],
)
def test_nothing_else_is_served(visit: Visit, path: str) -> None:
    response = visit("admin").get(f"/bms-files/{path}")
    assert response.status_code in {403, 404}
    assert "secret" not in response.text
    assert "personal data in" not in response.text


def test_a_link_is_not_followed(visit: Visit, data_root: Path) -> None:
    folder = data_root / "operators" / "employee_onboarding"
    (folder / "file.json").symlink_to(data_root / "secret.json")
    (folder / "folder").symlink_to(data_root, target_is_directory=True)
    for path in ("file.json", "folder/secret.json"):
        assert visit("admin").get(f"/bms-files/employee_onboarding/{path}").status_code == 404


def test_a_file_that_is_deleted_while_its_response_begins_is_sent(
    visit: Visit, data_root: Path
) -> None:
    """The browser gets the file or an error page, never a response that breaks off."""
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    from bms_provider.board.task_files import task_file

    visit("admin")
    user = SimpleAuthManagerUser(username="admin", role="ADMIN")
    name = "manual__1/list.jsonl.gz"
    response = task_file("employee_onboarding", name, user)
    (data_root / "operators" / "employee_onboarding" / name).unlink()

    async def sent() -> bytes:
        return b"".join([each async for each in response.body_iterator if isinstance(each, bytes)])

    assert asyncio.run(sent()).startswith(b"personal data in")
    assert visit("admin").get(FILE).status_code == 404


def test_a_dag_that_airflow_does_not_know_has_no_files(visit: Visit) -> None:
    assert visit("admin").get("/bms-files/other/x.json").status_code == 403
