"""The coverage floor of the CI."""

import runpy

import pytest

from proofs.mutate import Module
from tests.deploy.compose import PROJECT

pytestmark = pytest.mark.prove


@pytest.mark.parametrize(
    ("tests", "code"), [("tests/bms/test_scopes.py", 0), ("tests/bms/test_counters.py", 2)]
)
def test_the_coverage_ends_with_an_error_below_the_floor(tests: str, code: int) -> None:
    measure = runpy.run_path(str(PROJECT / ".ci/coverage"))["measure"]
    assert measure([Module("include/bms/scopes.py", (tests,))]) == code
