"""The table of mutation tests names files that exist, and what a mutant changed is read from mutmut's output."""

import pytest

from proofs.mutate import GOAL, PAGE, Module, Survivor, load, modules, page, survivor
from tests.support.measurement import PROJECT

DIFFERENCE = """\
--- src/bms/retry.py
+++ src/bms/retry.py
@@ -1,4 +1,4 @@
 def decide(error):
-    if error.retriable and \\
-            error.sent:
+    if error.retriable or \\
+            error.sent:
         return True
"""


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


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("bms.retry.x_decide__mutmut_3", "decide"),
        ("bms.retry.x__private__mutmut_3", "_private"),
        ("bms_flows.runtime.coverage.xǁCoverageǁ__init____mutmut_4", "Coverage.__init__"),
    ],
)
def test_a_survivor_is_named_by_its_function_and_lines(name: str, function: str) -> None:
    assert survivor(name, DIFFERENCE) == Survivor(
        function,
        "if error.retriable and \\\nerror.sent:",
        "if error.retriable or \\\nerror.sent:",
    )
