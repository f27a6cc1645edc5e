from xml.etree import ElementTree as ET

import pytest

from bench.bars import INNER, SHADES, Bar, draw


@pytest.mark.parametrize("shade", SHADES)
def test_each_panel_has_its_own_scale_and_its_longest_bar_fills_it(shade: str) -> None:
    panels = [
        ("one", [Bar("a", 1.0, "ours"), Bar("b", 4.0, "peer")]),
        ("two", [Bar("c", 100.0, "ceiling")]),
    ]
    drawn = ET.fromstring(draw(panels, shade))  # noqa: S314 - our own text
    lengths = [float(bar.attrib["width"]) for bar in drawn.iter("{http://www.w3.org/2000/svg}rect")]
    assert lengths == [INNER / 4, INNER, INNER]
