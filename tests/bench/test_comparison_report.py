from bench.comparison_report import CEILING, FIRST, OURS, Measure, Peer, table

PEER = Peer("another", "dlt", "dlt_pipeline", "default")


def measure(who: str, round_: int, seconds: float, *, sandbox: float = 0.2) -> Measure:
    return Measure("invoices", 0.02, round_, FIRST, who, seconds, 1.0, 50e6, sandbox, 0.5)


def row(found: list[Measure], who: str) -> list[str]:
    lines = table(found, FIRST, [PEER], rows=1000).splitlines()
    (line,) = (line for line in lines if line.startswith(f"| {who} |"))
    return [cell.strip() for cell in line.split("|")[1:-1]]


def test_a_ratio_is_taken_within_its_round_not_between_medians() -> None:
    ours = [measure(OURS, 1, 1.0), measure(OURS, 2, 10.0), measure(OURS, 3, 2.0)]
    others = [measure(PEER.name, 1, 4.0), measure(PEER.name, 2, 20.0), measure(PEER.name, 3, 6.0)]
    cells = row([*ours, *others], PEER.name)
    assert cells[1] == "6.0"
    assert cells[-3:] == ["3", "3.00", "2.00 to 4.00"]


def test_a_peer_measured_once_is_held_against_our_load_of_that_round() -> None:
    found = [measure(OURS, 1, 2.0), measure(OURS, 2, 8.0), measure(PEER.name, 2, 40.0)]
    assert row(found, PEER.name)[-3:] == ["1", "5.00", ""]


def test_a_sandbox_that_worked_more_than_its_share_makes_the_row_void() -> None:
    found = [measure(OURS, 1, 2.0), measure(CEILING, 1, 1.0, sandbox=0.71)]
    assert row(found, CEILING)[5] == "71%, void"
    assert row(found, OURS)[5] == "20%"


def test_a_peer_that_was_not_measured_is_named() -> None:
    ours = measure(OURS, 1, 2.0)
    assert table([ours], FIRST, [PEER], rows=1000).endswith("Not measured: another.")
    both = [ours, measure(PEER.name, 1, 3.0)]
    assert "Not measured" not in table(both, FIRST, [PEER], rows=1000)
