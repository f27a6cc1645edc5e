"""The simulations: no law breaks in the first seeds, one seed replays a run, and they can fail."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from bms_flows.audit import mirrors
from bms_flows.mirror.flags import FlagList
from bms_flows.onboarding.sending import absence
from proofs import simulate
from proofs.simulation import creation, drops
from proofs.simulation.recorder import Recorder


@pytest.fixture(autouse=True)
def warehouse_of_drops(warehouse: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drops, "warehouse", lambda: warehouse)


@pytest.mark.parametrize(
    ("engine", "seeds"),
    [("mirror", 100), ("drops", 12), ("windows", 25), ("audits", 8)],
)
def test_no_law_breaks(engine: str, seeds: int) -> None:
    played = simulate.play(engine, range(seeds))
    assert played.broken == {}


def test_records_that_show_too_late_break_a_law_and_its_command_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def late(seed: int, recorder: Recorder) -> list[str]:
        return creation.broken(seed, recorder, lag=12.0)

    # Otherwise a late record leads to a review.
    monkeypatch.setattr(absence, "proves_absence", lambda *_: True)
    engine: Callable[[int, Recorder], list[str]] = late
    monkeypatch.setitem(simulate.ENGINES, "creation", engine)
    assert not simulate.main(engine=["creation"], seeds=60)
    line = capsys.readouterr().out.splitlines()[-1]
    assert "created twice" in line
    words = line.partition("python -m proofs.simulate ")[2].split()
    assert words[:3] == ["--engine", "creation", "--seed"]
    assert not simulate.main(engine=["creation"], seed=int(words[3]))
    assert "POST of" in capsys.readouterr().out


def test_an_audit_that_forgets_the_open_rows_of_other_parts_breaks_a_law(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mirrors, "carried", lambda *_, **__: {})
    played = simulate.play("audits", range(5))
    assert "closed, the fault is there" in str(played.broken)


def test_a_flag_whose_list_is_read_once_breaks_a_law(monkeypatch: pytest.MonkeyPatch) -> None:
    async def accept(self: FlagList, *_: object) -> None:
        self.proven = True

    monkeypatch.setattr(FlagList, "prove", accept)
    monkeypatch.setattr(FlagList, "determines_all", lambda *_: True)
    played = simulate.play("mirror", range(20))
    assert "have a wrong flag" in str(played.broken)


def test_a_seed_without_its_engine_is_replayed_by_each_and_plays_the_same_run_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outputs = []
    for _ in range(2):
        assert simulate.main(seed=1)
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    ends = outputs[0].splitlines()
    assert all(f"{each}, seed 1: every law held" in ends for each in simulate.ENGINES)
    assert len(ends) > 5 * len(simulate.ENGINES)
