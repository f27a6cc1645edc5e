import pytest

from bench.mutants import PROJECT, Mutant, mutants


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_a_mutant_still_has_something_to_take_away(mutant: Mutant) -> None:
    assert (PROJECT / mutant.file).read_text().count(mutant.take) == 1
    assert mutant.take != mutant.give
    for name in mutant.tests:
        file, _, test = name.partition("::")
        assert f"def {test}" in (PROJECT / file).read_text()
