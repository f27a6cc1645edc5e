"""SVG charts: shapes, tooltips, legend and scale."""

import re
from xml.etree import ElementTree as ET

import pytest

from bms_provider.board.charts import HEIGHT, Chart, Series, round_up
from bms_provider.board.page import TEMPLATES


def svg(chart: Chart) -> str:
    return TEMPLATES.get_template("chart.svg").render(chart=chart)


def shapes(chart: Chart, kind: str) -> list[dict[str, str]]:
    root = ET.fromstring(svg(chart))  # noqa: S314 - our own
    return [each.attrib for each in root.iter() if kind in each.attrib.get("class", "").split()]


def test_bars_stack_up_to_their_sum() -> None:
    chart = Chart("t", ["a"], [Series("x", [30.0], "c1"), Series("y", [20.0], "c2")])
    low, high = shapes(chart, "fill")
    assert chart.top == 50
    assert float(low["y"]) + float(low["height"]) == HEIGHT
    assert float(high["y"]) == 0
    assert float(high["y"]) + float(high["height"]) == pytest.approx(float(low["y"]), abs=0.01)


def test_negative_values_are_below_the_axis() -> None:
    """Credit notes make a day's sum negative."""
    chart = Chart("t", ["a", "b"], [Series("x", [30.0, -10.0], "c1")])
    up, down = shapes(chart, "fill")
    zero = float(up["y"]) + float(up["height"])
    assert chart.floor == -10
    assert float(down["y"]) == pytest.approx(zero, abs=0.01)
    assert float(down["y"]) + float(down["height"]) == pytest.approx(HEIGHT, abs=0.01)
    assert all(float(bar["height"]) > 0 for bar in (up, down))


def test_every_label_has_a_tooltip_with_its_values() -> None:
    chart = Chart("t", ["1 Nov", "2 Nov"], [Series("New", [3.0, None], "c1")])
    assert len(shapes(chart, "tooltip")) == 2
    assert "1 Nov\nNew: 3" in svg(chart)
    assert chart.rows == [("1 Nov", (3.0,)), ("2 Nov", (None,))]


def test_a_large_value_is_shown_in_full() -> None:
    chart = Chart("t", ["1 Nov"], [Series("EUR", [1234567.89], "c1"), Series("New", [2e6], "c2")])
    for text in (
        "EUR: 1\u202f234\u202f567.89",
        "EUR 1\u202f234\u202f567.89",
        "New 2\u202f000\u202f000",
    ):
        assert text in svg(chart)
    assert "e+" not in svg(chart)


def test_text_is_escaped() -> None:
    chart = Chart("<b>", ["<i>"], [Series("<u>", [1.0], '"><script>')])
    assert not re.search(r"<(b|i|u|script)>", svg(chart))


def test_the_legend_names_the_series_with_values() -> None:
    both = [Series("x", [1.0], "c1"), Series("y", [0.0], "c2"), Series("z", [2.0], "c3")]
    assert [each.name for each in Chart("t", ["a"], both).legend] == ["x", "z"]
    assert Chart("t", ["a"], both[:1]).legend == []


@pytest.mark.parametrize(
    "chart", [Chart("t", [], []), Chart("t", ["a"], [Series("x", [None], "c1")])]
)
def test_an_empty_chart_has_no_shapes(chart: Chart) -> None:
    assert chart.empty
    assert shapes(chart, "fill") == []


@pytest.mark.parametrize(
    ("figure", "round_"),
    [(0, 1), (1, 1), (0.3, 0.3), (7, 8), (37, 40), (99, 100), (100, 100), (101, 120), (11e3, 12e3)],
)
def test_the_upper_edge_is_a_round_value(figure: float, round_: float) -> None:
    assert round_up(figure) == pytest.approx(round_)


def test_a_gauge_marks_a_share_above_the_limit() -> None:
    gauge = TEMPLATES.get_template("parts.html").make_module().gauge  # type: ignore[attr-defined]  # a macro
    assert 'class="gauge"' in gauge(0.5)
    assert 'class="gauge beyond"' in gauge(1.5)
    assert gauge(None) == ""
