"""Charts are well-formed, put every value where it belongs, and are the same each time."""

import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

from service.reports import chart

SVG = "{http://www.w3.org/2000/svg}"


def polylines(drawn: str) -> list[list[tuple[float, float]]]:
    found = ElementTree.fromstring(drawn).findall(f"{SVG}polyline")
    return [[tuple(map(float, point.split(","))) for point in one.attrib["points"].split()] for one in found]


def test_a_line_goes_through_its_points():
    x, y = chart.Axis.over("merges", [0, 100]), chart.Axis.over("count", [1, 1000], logarithmic=True)
    ((start, middle, end),) = polylines(chart.lines("t", x, y, {"only": [(0, 1000), (50, 10**1.5), (100, 1)]}))
    assert start == (chart.LEFT, chart.TOP)
    assert end == (chart.WIDTH - chart.RIGHT, chart.HEIGHT - chart.BOTTOM)
    assert middle == pytest.approx(((start[0] + end[0]) / 2, (start[1] + end[1]) / 2), abs=0.1)


def test_several_lines_are_named_and_one_is_not():
    axis = chart.Axis.over("n", [0, 1])
    assert "first" not in chart.lines("t", axis, axis, {"first": [(0, 0), (1, 1)]})
    two = chart.lines("t", axis, axis, {"first": [(0, 0), (1, 1)], "second": [(0, 1), (1, 0)]})
    assert "first" in two
    assert "second" in two
    assert len(polylines(two)) == 2


def test_bars_are_as_long_as_their_values():
    drawn = ElementTree.fromstring(chart.bars("t", {"one": 10.0, "two": 5.0}, "MB"))
    _, one, two = drawn.findall(f"{SVG}rect")
    assert float(one.attrib["width"]) == pytest.approx(2 * float(two.attrib["width"]), abs=0.2)
    assert any(text.text == "5 MB" for text in drawn.findall(f"{SVG}text"))


def test_groups_of_bars_have_one_scale_and_do_not_overlap():
    drawn = ElementTree.fromstring(chart.groups("t", {"cold": {"one": 4.0, "two": 2.0}, "warm": {"one": 8.0}}, "MB/s"))
    _, cold, other, warm = drawn.findall(f"{SVG}rect")
    assert [float(bar.attrib["width"]) / float(other.attrib["width"]) for bar in (cold, warm)] == pytest.approx(
        [2, 4], abs=0.02
    )
    assert cold.attrib["fill"] == warm.attrib["fill"] != other.attrib["fill"]
    tops = [float(bar.attrib["y"]) for bar in (cold, other, warm)]
    assert all(after - before >= chart.BAR for before, after in pairwise(tops))
    assert {"cold", "warm", "2 MB/s"} <= {text.text for text in drawn.findall(f"{SVG}text")}


@pytest.mark.parametrize("values", [[], [0], [0, 0], [5], [1e-9, 1e12], [1e300]])
@pytest.mark.parametrize("logarithmic", [False, True])
def test_any_values_have_a_scale_and_few_ticks(values, logarithmic):
    axis = chart.Axis.over("n", values, logarithmic=logarithmic)
    ticks = axis.ticks()
    assert 1 <= len(ticks) <= 12
    assert all(-0.001 <= axis.share(tick) <= 1.001 for tick in ticks)
    assert all(0 <= axis.share(value) <= 1 for value in values if value > 0)


@pytest.mark.parametrize(("values", "last"), [([0, 7700], 8000), ([6.6], 7), ([0.24, 0.03], 0.25), ([5, 10], 10)])
def test_a_plain_scale_ends_at_a_round_value_that_is_labelled(values, last):
    axis = chart.Axis.over("n", values)
    assert axis.highest == pytest.approx(last)
    assert axis.ticks()[-1] == pytest.approx(last)


def test_a_line_of_one_point_is_seen():
    axis = chart.Axis.over("n", [1], logarithmic=True)
    assert chart.lines("t", axis, axis, {"": [(1, 1)]}).count("<circle") == 1
    assert "<circle" not in chart.lines("t", axis, axis, {"": [(1, 1), (2, 3)]})


def test_the_last_label_of_an_axis_is_within_the_page():
    axis = chart.Axis.over("n", [1, 99_999], logarithmic=True)
    drawn = ElementTree.fromstring(chart.lines("t", axis, axis, {"": [(1, 1), (2, 3)]}))
    labels = [text for text in drawn.findall(f"{SVG}text") if text.get("text-anchor") == "middle"]
    assert "100,000" in [label.text for label in labels]
    assert max(float(label.get("x")) + chart.width(label.text) / 2 for label in labels) <= chart.WIDTH


def test_names_cannot_break_the_file():
    drawn = chart.bars('<&"\x00\x1b]>', {"</svg>\u202e": 1.0}, "<s>")
    assert ElementTree.fromstring(drawn).tag == f"{SVG}svg"
    assert "\x00" not in drawn


def test_numbers_are_short():
    assert [chart.number(value) for value in (0, 12, 1500, 2_500_000, 3e9, 0.125, 1.5)] == [
        "0",
        "12",
        "1,500",
        "2.5 M",
        "3 G",
        "0.125",
        "1.5",
    ]
