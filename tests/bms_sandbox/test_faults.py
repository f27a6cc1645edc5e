import pytest

from bms_sandbox.faults import Fault, Faults, InvalidFaultError


def test_count_limits_a_fault_to_the_next_matching_requests() -> None:
    faults = Faults([Fault("503", "list_*", count=2)])
    asked = ["read_contact", "list_contacts", "list_employees", "list_contacts"]
    assert [bool(faults.take("503", name)) for name in asked] == [False, True, True, False]
    assert faults.fired == {"503": 2}


def test_after_lets_the_first_matches_through() -> None:
    faults = Faults([Fault("429", after=2, count=1)])
    assert [bool(faults.take("429", "token")) for _ in range(4)] == [False, False, True, False]


def test_a_probability_is_reproducible_by_its_seed() -> None:
    def draws(seed: int) -> list[bool]:
        faults = Faults([Fault("503", probability=0.3)], seed)
        return [bool(faults.take("503", "token")) for _ in range(1000)]

    assert draws(1) == draws(1) != draws(2)
    assert 250 < sum(draws(1)) < 350


def test_lag_differs_per_row_within_its_bound() -> None:
    faults = Faults([Fault("commit_lag", "create_contact", seconds=2.0)])
    lags = [faults.lag("commit_lag", "create_contact") for _ in range(50)]
    assert len(set(lags)) == 50
    assert all(0.2 <= lag <= 2.0 for lag in lags)
    assert faults.lag("commit_lag", "create_employee") == 0.0


def test_option_and_json_read_the_same() -> None:
    option = Fault.from_option("503@list_*:count=2,retry_after=none,probability=0.5")
    content = {
        "kind": "503",
        "operation": "list_*",
        "count": 2,
        "retry_after": None,
        "probability": 0.5,
    }
    assert option == Fault.from_json(content)


def test_a_fault_lasts_its_duration() -> None:
    assert Faults([Fault("503", lasts=60)]).take("503", "token")
    assert not Faults([Fault("503", lasts=0)]).take("503", "token")


def test_a_rate_limit_refuses_requests_above_its_rate() -> None:
    faults = Faults([Fault("rate_limit", per_second=3)])
    struck = [bool(faults.take("rate_limit", "token")) for _ in range(10)]
    assert struck[:3] == [False] * 3
    assert struck[4:] == [True] * 6
    assert faults.fired == {"rate_limit": sum(struck)}


@pytest.mark.parametrize(
    "option", ["504", "503:often=1", "503:count=x", "503:probability=2", "", "503:count"]
)
def test_wrong_option_is_refused(option: str) -> None:
    with pytest.raises(InvalidFaultError):
        Fault.from_option(option)
