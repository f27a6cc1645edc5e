"""kill -9 at a sample of critical points; `python -m proofs.kill_invoices` covers all."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from bms_sandbox.serve import Sandbox
from proofs.kill_invoices import FEWEST, Killing, cells


@pytest.fixture
def killing(sandbox: Sandbox, postgres: str, migrated: str, tmp_path: Path) -> Iterator[Killing]:
    """Cells whose warehouses are gone afterwards."""
    names: list[str] = []
    numbers = itertools.count()

    def execute(statement: str) -> None:
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute(statement.encode())

    def warehouse(like: str | None) -> str:
        names.append(f"bms_kill_{next(numbers)}")
        template = make_url(like).database if like else migrated
        execute(f"create database {names[-1]} template {template}")
        url = make_url(postgres).set(database=names[-1])
        return url.render_as_string(hide_password=False)

    yield Killing(sandbox, warehouse, tmp_path)
    for name in names:
        execute(f"drop database {name} with (force)")


def test_a_killed_run_leaves_nothing_half_done_and_the_next_ends_right(killing: Killing) -> None:
    """The points are counted, so that wrapping that misses some is noticed."""
    assert len(killing.points) >= FEWEST
    last_commits = [at for at, name in enumerate(killing.points) if name.endswith("commit")][-2:]
    renames = [at for at, name in enumerate(killing.points) if name.endswith("rename")]
    sends = [at for at, name in enumerate(killing.points) if "Transport" in name]
    closings = [at for at, name in enumerate(killing.points) if name.endswith("close")]
    sample = {0, sends[-1], renames[0], renames[-1], closings[-1], *last_commits}
    assert cells(killing, sorted(sample)) == {}
