from __future__ import annotations

import itertools

import pytest

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.orders.maximal import Hasse, hasse
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
    assert list(dots.text) == ["all", "left = copy", "right", "nothing"]
    assert list(dots.y) == [0, -104, -104, -208]
    assert len(set(zip(dots.x, dots.y, strict=True))) == 4
    assert len(lines.x) == 5 * len(order.covers) == 20
    boxes = [note for note in figure.layout.annotations if note.bordercolor]
    assert [note.bgcolor != "#ffffff" for note in boxes] == [True, False, False, False]
    assert "could not be decided" not in figure.layout.annotations[-1].text


def test_names_and_passing_lines_keep_apart() -> None:
    """Row by row, boxes and lines that pass them do not overlap."""
    known = {f"mechanism number {k}": sf.geometric(sf.PrivacyType(sf.line(3), alpha=f"1/{k}")) for k in range(2, 6)}
    remaps = {f"half of {name}": sf.remap(made.channel, lambda y: y < 1) for name, made in known.items()}
    others = {
        "nothing": sf.Channel.constant(sf.line(3)),
        "response": sf.random_response(sf.PrivacyType(sf.line(3), alpha="1/9")),
    }
    figure = hasse_figure(hasse({**known, **remaps, **others}))
    lines, dots = figure.data
    half = {
        (x, y): 7.84 * max(map(len, note.text.split("<br>"))) / 2 + 6
        for x, y, note in zip(dots.x, dots.y, figure.layout.annotations, strict=False)
    }
    passing = {(x, y): 0.0 for x, y in zip(lines.x, lines.y, strict=True) if x is not None and (x, y) not in half}
    rows: dict[float, list[tuple[float, float]]] = {}
    for (x, y), width in {**half, **{at: 0.0 for at in passing if at[1] in dots.y}}.items():
        rows.setdefault(y, []).append((x, width))
    for row in rows.values():
        for (x, width), (other, another) in itertools.pairwise(sorted(row)):
            assert other - x >= width + another
    assert figure.layout.width >= 700


def test_one_channel() -> None:
    figure = hasse_figure(hasse({"only": sf.Channel.constant([0, 1])}))
    assert list(figure.data[1].y) == [0]


def test_what_could_not_be_decided_is_said() -> None:
    order = Hasse((("a",), ("b",)), (), (), (("a", "b"),), {})
    assert "1 comparisons could not be decided" in hasse_figure(order).layout.annotations[-1].text


def test_what_is_drawn() -> None:
    with pytest.raises(InvalidInput, match="hasse"):
        hasse_figure(3)  # type: ignore[arg-type]
