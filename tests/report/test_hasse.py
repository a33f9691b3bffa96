from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.orders.maximal import hasse
from sfumato.report.hasse import hasse_figure


def test_the_diagram() -> None:
    left = sf.Channel([0, 1], [["1/2", "1/2"], [0, 1]])
    right = sf.Channel([0, 1], [[1, 0], ["1/2", "1/2"]])
    order = hasse({
        "all": sf.Channel.identity([0, 1]), "left": left, "right": right, "copy": left,
        "nothing": sf.Channel.constant([0, 1]),
    })  # fmt: skip
    figure = hasse_figure(order)
    lines, dots = figure.data
    assert [text.strip() for text in dots.text] == ["all", "left = copy", "right", "nothing"]
    assert list(dots.y) == [2, 1, 1, 0]
    assert len(set(zip(dots.x, dots.y, strict=True))) == 4
    assert len(lines.x) == 3 * len(order.covers) == 12
    filled = [colour != "#ffffff" for colour in dots.marker.color]
    assert filled == [True, False, False, False]
    assert "could not be decided" not in figure.layout.annotations[-1].text


def test_one_channel() -> None:
    figure = hasse_figure(hasse({"only": sf.Channel.constant([0, 1])}))
    assert list(figure.data[1].y) == [0]


def test_what_is_drawn() -> None:
    with pytest.raises(InvalidInput, match="hasse"):
        hasse_figure(3)  # type: ignore[arg-type]
