"""Table of a comparison: medians, ratios to the ceiling of the same round."""

import csv
from pathlib import Path

from bench.comparison_report import CEILING, FIRST, OURS, Case, Measure, Peer, Size, medians, write

PEER = Peer("another", "dlt", "dlt_pipeline", "arrow")
CASE = Case("invoices", "filled", 7, 0.02)


def measure(who: str, round_: int, seconds: float, *, sandbox: float = 0.2) -> Measure:
    return Measure(
        CASE,
        round_,
        FIRST,
        who,
        process=seconds,
        seconds=seconds - 0.5,
        cpu=2 * seconds,
        server_cpu=1.0,
        wal=3e6,
        peak=50e6,
        requests=9,
        sandbox=sandbox,
        load=0.5,
    )


def row(found: list[Measure], who: str) -> list[str]:
    (cells,) = (cells for cells in medians(found, [PEER]) if cells[:2] == [FIRST, who])
    return cells[2:]


def test_a_ratio_is_taken_within_its_round_not_between_medians() -> None:
    ceilings = [measure(CEILING, 1, 1.0), measure(CEILING, 2, 10.0), measure(CEILING, 3, 2.0)]
    ours = [measure(OURS, 1, 4.0), measure(OURS, 2, 20.0), measure(OURS, 3, 6.0)]
    cells = row([*ceilings, *ours], OURS)
    assert cells[0] == "6.0"
    assert cells[-4:] == ["3", "3.00", "3.00", ""]


def test_a_peer_measured_once_is_compared_with_the_ceiling_of_that_round() -> None:
    found = [measure(CEILING, 1, 2.0), measure(CEILING, 2, 8.0), measure(PEER.name, 2, 40.0)]
    assert row(found, PEER.name)[-4:] == ["1", "5.00", "5.00", ""]


def test_a_sandbox_that_worked_more_than_its_share_makes_the_row_void() -> None:
    found = [measure(CEILING, 1, 1.0, sandbox=0.71), measure(OURS, 1, 2.0)]
    assert row(found, CEILING)[-1] == "void"
    assert row(found, OURS)[-1] == ""


def test_a_failed_peer_is_in_the_file(tmp_path: Path) -> None:
    found = [measure(CEILING, 1, 1.0), measure(OURS, 1, 2.0)]
    write(
        tmp_path, "loads", found, [PEER], Size(1, 1, 1), {("another", "invoices"): "out of memory"}
    )
    rows = list(csv.DictReader((tmp_path / "loads.csv").read_text().splitlines()))
    assert [(each["by"], each["note"]) for each in rows] == [
        (CEILING, ""),
        (OURS, ""),
        ("another", "failed: out of memory"),
    ]
    assert {each["case"] for each in rows[:2]} == {
        "1,000 invoices, filled rows, 7 days per request, 20 ms latency"
    }
