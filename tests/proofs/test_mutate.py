"""The table of mutation tests names files that exist, and its results reach the goal."""

import pytest

from proofs.mutate import GOAL, PAGE, Module, load, modules, page
from tests.support.measurement import PROJECT


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.file)
def test_a_module_and_its_tests_exist(module: Module) -> None:
    for name in (module.file, *module.tests):
        assert (PROJECT / name).is_file()


def test_the_page_shows_the_stored_results() -> None:
    assert PAGE.read_text() == page(load())


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.file)
def test_a_measured_module_reaches_the_goal_and_its_survivors_are_explained(module: Module) -> None:
    result = load().get(module.file)
    if result is None:
        pytest.skip("not measured yet")
    assert result.score >= GOAL
    assert set(result.survivors) <= module.explained.keys()
