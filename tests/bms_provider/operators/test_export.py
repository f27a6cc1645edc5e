import errno
import gzip
import hashlib
import stat
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import pytest

from bms.records import ConsultantItem
from bms_flows.runtime.storage import DataRootRefused
from bms_provider.files import below_root
from bms_provider.operators import export


def rows(count: int) -> list[ConsultantItem]:
    return [ConsultantItem(id=n, rate=Decimal("0.10")) for n in range(count)]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_the_summary_describes_the_stored_file(data_root: Path, name: str) -> None:
    path = below_root(f"a/{name}")
    with export.rows_file(path) as file:
        file.add(rows(3), {})
        file.add([], {})
        file.add(rows(2), {})
    content = (data_root / "a" / name).read_bytes()
    assert file.summary() == {
        "path": f"file://{data_root}/a/{name}",
        "rows": 5,
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
    }
    plain = gzip.decompress(content) if name.endswith(".gz") else content
    assert plain.count(b"\n") == 5


@pytest.mark.usefixtures("data_root")
def test_equal_rows_make_equal_compressed_files() -> None:
    digests = set()
    for name in ("one.jsonl.gz", "other.jsonl.gz"):
        with export.rows_file(below_root(name)) as file:
            file.add(rows(100), {})
        digests.add(file.summary()["sha256"])
    assert len(digests) == 1


def test_further_fields_are_written_to_their_row(
    data_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "CHUNK", 2)
    with export.rows_file(below_root("x.jsonl")) as file:
        file.add(rows(5), {0: {"new": 0}, 3: {"new": 3}, 4: {"rate": "ten"}})
    lines = (data_root / "x.jsonl").read_text().splitlines()
    assert ['"new"' in line for line in lines] == [True, False, False, True, False]
    assert '"new":3' in lines[3]
    assert '"rate":"ten"' in lines[4]
    assert '"rate":0.10' in lines[1]


@pytest.mark.usefixtures("data_root")
def test_a_data_root_that_refuses_a_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str | Path, *_given: object) -> None:
        raise PermissionError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr("os.mkdir", refuse)
    with (
        pytest.raises(DataRootRefused, match="BMS_DATA_ROOT is"),
        export.rows_file(below_root("a/x.jsonl")),
    ):
        pytest.fail("a file opened")


def test_only_the_owner_may_read_the_file_from_its_first_byte(data_root: Path) -> None:
    with export.rows_file(below_root("x.jsonl")) as file:
        [part] = data_root.iterdir()
        assert stat.S_IMODE(part.stat().st_mode) == 0o600
        file.add(rows(1), {})
    assert stat.S_IMODE((data_root / "x.jsonl").stat().st_mode) == 0o600


def test_an_error_leaves_the_previous_file(data_root: Path) -> None:
    with export.rows_file(below_root("x.jsonl")) as file:
        file.add(rows(1), {})
    before = (data_root / "x.jsonl").read_bytes()
    with suppress(ZeroDivisionError), export.rows_file(below_root("x.jsonl")) as file:
        file.add(rows(9), {})
        _ = 1 / 0
    assert (data_root / "x.jsonl").read_bytes() == before


def test_a_body_keeps_every_digit_of_its_numbers(data_root: Path) -> None:
    data_root.mkdir()
    (data_root / "b.json").write_text('\ufeff{"salary_base": 1234567890123456.10}')
    body = export.read_body(below_root("b.json"))
    assert body == {"salary_base": Decimal("1234567890123456.10")}


@pytest.mark.parametrize("content", ["", "[1]", "null", '{"a": "canary}', "\udcff"])
def test_a_file_without_a_json_object_is_refused_and_not_quoted(
    data_root: Path, content: str
) -> None:
    data_root.mkdir()
    (data_root / "b.json").write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(export.BadBody) as raised:
        export.read_body(below_root("b.json"))
    assert "canary" not in str(raised.value)
    assert raised.value.__context__ is None
