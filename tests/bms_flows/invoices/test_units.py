"""Units of an extraction within Airflow's limit of mapped tasks."""

from datetime import date, timedelta

from airflow.configuration import conf

from bms_flows.invoices.units import Unit, limit_units, split_into_units
from bms_flows.runtime.settings import MAX_MAPPED_TASKS
from bms_flows.runtime.windows import Window

FIRST = date(2016, 1, 1)
TEN_YEARS = Window(FIRST, FIRST + timedelta(days=3652))


def planned(entities: int, unit_days: int = 366) -> list[Unit]:
    return [
        unit
        for each in range(entities)
        for unit in split_into_units(each, [TEN_YEARS], unit_days=unit_days)
    ]


def days(found: list[Unit]) -> dict[int, list[Window]]:
    by_entity: dict[int, list[Window]] = {}
    for unit in found:
        by_entity.setdefault(unit.id_entity, []).extend(unit.windows)
    return by_entity


def test_the_limit_is_airflow_s_own_default() -> None:
    assert conf.getint("core", "max_map_length") == MAX_MAPPED_TASKS


def test_few_stay_as_they_are() -> None:
    few = planned(100)
    assert len(few) == 1000
    assert limit_units(few) == few


def test_many_are_joined_until_they_can_be_mapped_and_read_the_same_days() -> None:
    many = planned(800)
    fewer = limit_units(many)
    assert len(many) > MAX_MAPPED_TASKS >= len(fewer) >= 800
    assert days(fewer) == days(many)
    assert max(len(unit.windows) for unit in fewer) <= 16, "they grow alike"


def test_entities_and_suspect_loads_are_never_joined() -> None:
    window = (Window(FIRST, FIRST),)
    apart = [Unit(1, window), Unit(2, window), Unit(3, window, accepts=7), Unit(3, window)]
    assert limit_units(apart, 1) == apart
