from __future__ import annotations

import base64
import re
from xml.etree import ElementTree
from zlib import decompress

import numpy as np
import pytest

from sfumato.report.box_maps import outputs_figure, point_words, raster_figure
from sfumato.report.maps_drawing import standalone
from sfumato.spaces.box import box

square = box((4, 3), step=1, unit="km", origin=(10, 20))
rng = np.random.default_rng(0)


def drawn(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(standalone(svg))


def test_outputs_are_discs_inside_of_the_box_and_the_secret_is_pointed_out() -> None:
    places = np.array([[10.5, 20.5], [13.5, 22.5], [12.0, 21.0]])
    figure = outputs_figure("cloud", "title", "Words.", square, places, np.array([0.5, 0.25, 0.25]), (11, 22))
    discs = re.findall(r"<circle[^>]*><title>([^<]*)</title>", figure.svg)
    assert sorted(discs) == [
        "(10.5, 20.5) km: 50\xa0%",
        "(11, 22) km",
        "(12, 21) km: 25\xa0%",
        "(13.5, 22.5) km: 25\xa0%",
    ]
    assert "The likeliest is (10.5, 20.5) km with 50" in figure.caption
    assert "The ring is where the secret is." in figure.caption
    drawn(figure.svg)


def test_many_outputs_are_summed_up_in_squares() -> None:
    places = np.array([10, 20]) + rng.random((1000, 2)) * [4, 3]
    figure = outputs_figure("released", "title", "Words.", square, places, np.full(1000, 1e-3))
    assert "sums up the outputs in 0.083 × 0.083 km." in figure.caption
    assert figure.svg.count("<circle") == 0


def test_of_a_box_in_space_outputs_above_each_other_are_summed_up() -> None:
    places = np.array([[0.5, 0.5, 0.5], [0.5, 0.5, 1.5]])
    cube = box((2, 2, 2), step=1)
    figure = outputs_figure("cloud", "title", "Words.", cube, places, np.array([0.75, 0.25]), (1, 1, 1))
    assert "(0.5, 0.5): 100" in figure.svg
    assert "third axis" in figure.caption


def test_a_raster_is_a_picture_in_the_colour_of_the_page() -> None:
    """The first axis goes to the right, the second up; shades go from the least to the largest value drawn."""
    values = np.array([[0.5, 1.0], [0.75, 0.5], [0.5, 0.5]])
    figure = raster_figure("used", "title", "Words.", square, [np.zeros(3), np.zeros(2)], values, low=0.5, top=1.0)
    data = base64.b64decode(re.findall(r"data:image/png;base64,([^\"]*)", figure.svg)[0])
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")) == (3, 2)
    start = data.index(b"IDAT") + 4
    rows = np.frombuffer(decompress(data[start : data.index(b"IEND") - 8]), dtype=np.uint8).reshape(2, 4)
    assert rows[:, 1:].tolist() == [[255, 0, 0], [0, 128, 0]]
    assert "var(--blue)" in figure.svg
    assert "50\xa0%" in figure.svg
    drawn(figure.svg)


@pytest.mark.parametrize("secret", [None, (0.25,)])
def test_an_interval_has_bars_and_curves(secret: tuple[float, ...] | None) -> None:
    interval = box((1,), step="1/4", unit="km")
    where = np.linspace(0, 1, 5)
    bars = outputs_figure("cloud", "title", "Words.", interval, where[:, None], np.full(5, 0.2), secret)
    assert bars.svg.count("<rect") == 5
    point = None if secret is None else (secret, "here")
    curve = raster_figure("used", "title", "Words.", interval, [where], where, point=point)
    assert (secret is None) == ("stroke-dasharray" not in bars.svg) == ("stroke-dasharray" not in curve.svg)
    for figure in (bars, curve):
        drawn(figure.svg)


def test_points_are_written_as_people_do() -> None:
    assert point_words((1, 2.5), "m") == "(1, 2.5) m"
