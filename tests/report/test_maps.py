"""Maps: the ground follows from coordinates, and no secret is drawn on top of another."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import sfumato as sf
from sfumato.report.html import COLOURS
from sfumato.report.maps import _lead, drawn_places, map_layout, matrix_figure, share_figure
from sfumato.report.maps_drawing import Drawing, nice_length, nice_ticks, standalone, text_width
from sfumato.report.maps_peers import Peer, peers_figure

SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(standalone(svg))


def drawn(space: Any, shares: Any = None, marked: int | None = None) -> Any:
    weights = np.arange(1.0, len(space) + 1) if shares is None else np.asarray(shares, dtype=float)
    return share_figure("x", "Title", "Words.", map_layout(space), space.labels, weights / weights.sum(), marked)


def test_the_ground_follows_from_the_coordinates() -> None:
    assert map_layout(sf.grid(4, 5)).kind == "cells"
    assert map_layout(sf.grid(4, 5, 2)).kind == "list"
    assert map_layout(sf.points([(0.0, 0.0), (1.0, 2.5), (3.1, 0.7)])).kind == "places"
    assert map_layout(sf.points([(0, 3), (5, 3)])).kind == "row"
    assert map_layout(sf.hamming(3)).kind == "list"
    kilometres = sf.points([(0.5, 0.25), (7.5, 3.5), (2.25, 9.0)], unit="km")
    assert not map_layout(kilometres).sphere  # in km, but no degrees


def test_places_on_the_earth_are_drawn_to_scale_and_across_the_date_line() -> None:
    fiji = sf.geo([(-17.7, 178.1), (-16.8, -179.9), (-18.1, 178.4)])
    ground = map_layout(fiji)
    assert ground.sphere
    assert np.ptp(ground.x) < 300
    apart = np.hypot(ground.x[0] - ground.x[2], ground.y[0] - ground.y[2])
    assert apart == pytest.approx(fiji.distance(0, 2), rel=0.01)


def test_a_heat_map_has_a_square_for_each_cell_and_marks_one() -> None:
    figure = drawn(sf.grid(3, 4, unit="km"), marked=5)
    boxes = parsed(figure.svg).findall(f".//{SVG}rect")
    tips = [title.text for title in parsed(figure.svg).findall(f".//{SVG}rect/{SVG}title")]
    assert len(tips) == 12
    assert "(2, 3): 15.4\xa0%" in tips
    assert sum("none" in box.get("style", "") for box in boxes) == 1
    assert "The most likely is (2, 3) with 15.4\xa0%." in figure.caption


def test_large_grids_and_many_places_are_summed_up() -> None:
    large = drawn(sf.grid(100, 70))
    assert "Each square sums up 3 × 3 cells." in large.caption
    assert len(parsed(large.svg).findall(f".//{SVG}rect")) < 34 * 24 + 12
    rng = np.random.default_rng(1)
    many = drawn(sf.points(rng.random((1000, 2)), unit="km"))
    assert "sums up the places in 0.021 × 0.021 km" in many.caption
    assert len(many.svg) < 400_000
    shades = [float(box.get("style", "").split("fill-opacity:")[1].split(";")[0])
              for box in parsed(many.svg).findall(f".//{SVG}rect") if "opacity" in box.get("style", "")]  # fmt: skip
    assert max(shades) == 1


def test_discs_have_areas_and_names() -> None:
    cities = sf.geo([(45.46, 9.19), (41.9, 12.5), (40.85, 14.27)], labels=["Milan", "Rome", "Naples"])
    figure = drawn(cities, [1, 4, 0], marked=1)
    circles = parsed(figure.svg).findall(f".//{SVG}circle")
    sizes = {c[0].text: float(c.get("r", "0")) for c in circles if len(c)}
    assert sizes["Rome: 80\xa0%"] == pytest.approx(2 * sizes["Milan: 20\xa0%"], abs=0.02)
    assert not any("Naples" in tip for tip in sizes)
    words = {text.text for text in parsed(figure.svg).findall(f".//{SVG}text")}
    assert {"Rome", "Milan"} <= words


def test_a_name_that_had_to_go_far_is_led_back_to_its_disc() -> None:
    drawing = Drawing(100, 100)
    _lead(drawing, (50.0, 50.0), 5.0, (0.0, -14.0), 20.0)
    assert drawing.marks == []
    _lead(drawing, (50.0, 50.0), 5.0, (60.0, 0.0), 20.0)
    (line,) = drawing.marks
    assert 'points="56,50 90,50"' in line


def test_columns_bars_and_matrices() -> None:
    row = drawn(sf.line(5), marked=2)
    assert len(parsed(row.svg).findall(f".//{SVG}rect/{SVG}title")) == 5
    outline = drawn(sf.line(500), marked=3)
    assert len(parsed(outline.svg).findall(f".//{SVG}rect/{SVG}title")) == 0
    bars = drawn(sf.discrete(30))
    assert "The 19 likeliest of 30." in bars.caption
    assert any(text.text == "11 others" for text in parsed(bars.svg).findall(f".//{SVG}text"))
    table = matrix_figure(["a", "b"], [0, 1, 2], np.full((2, 3), 1 / 3))
    assert len(parsed(table.svg).findall(f".//{SVG}rect/{SVG}title")) == 6


@pytest.mark.parametrize("name", ["<script>x</script>", "a & b", 'q"uote', "x" * 400, "‮"])
def test_labels_are_text_in_every_kind_of_figure(name: str) -> None:
    places = sf.points([(0.0, 0.0), (1.0, 2.5), (3.1, 0.7)], labels=[name, "b", "c"])
    for space in (
        sf.discrete([name, "b"]),
        places,
        sf.FiniteSpace([name, 1], [[0, 1], [1, 0]], coordinates=[[0], [1]]),
    ):
        figure = drawn(space, marked=0)
        assert parsed(figure.svg).find(f".//{SVG}script") is None
        assert "<script" not in figure.svg + figure.caption
    parsed(matrix_figure([name], [name], np.ones((1, 1))).svg)


def test_a_file_of_its_own_has_its_own_colours() -> None:
    drawing = Drawing(10, 20)
    drawing.text(1, 2, "a < b", halo=True, bold=True)
    alone = standalone(drawing.svg("Title", "What it shows"))
    assert "var(" not in alone
    assert COLOURS["ink"][0] in alone
    assert 'width="10" height="20"' in alone
    assert [e.tag for e in parsed(drawing.svg("T", "D"))] == [f"{SVG}{t}" for t in ("title", "desc", "rect", "g")]


def test_nice_numbers() -> None:
    assert [nice_length(x) for x in (1, 4.9, 5, 0.03)] == [1, 2, 5, 0.02]
    assert nice_ticks(0, 0) == [0]
    for top in (0.013, 0.5, 7.0, 1234.0):
        ticks = nice_ticks(0, top)
        assert 2 <= len(ticks) <= 8
        assert ticks[0] == 0 and ticks[-1] <= top * (1 + 1e-9)
    assert text_width("mmm") > text_width("iii")


def test_a_comparison_cuts_off_what_tells_nothing() -> None:
    rows = [
        Peer("this mechanism", 1.0, 1.0, 0.5, own=True),
        Peer("good", 2.0, 1.5, 0.5),
        Peer("useless", None, 50.0, 0.5),
    ]
    figure = peers_figure(rows, 0.99, 50.0, "km", "Losses.")
    words = [text.text for text in parsed(figure.svg).findall(f".//{SVG}text")]
    assert "50 →" in words
    assert "bound" in words
    assert "nothing told" not in words
    assert "Somebody who is told nothing loses 50 km, far to the right." in figure.caption
    near_blind = peers_figure(rows[:2], 1.4, 2.0, "", "Losses.")
    assert "nothing told" in [text.text for text in parsed(near_blind.svg).findall(f".//{SVG}text")]


def test_cells_on_the_earth_are_drawn_by_their_outlines() -> None:
    hexagons = sf.spaces.h3_cells((48.85, 2.34, 48.86, 2.36), 8)
    layout = map_layout(hexagons)
    assert layout.kind == "places" and layout.unit == "km" and layout.sphere
    assert layout.outlines is not None and {len(ring) for (ring,) in layout.outlines} == {6}
    shares = np.arange(1.0, len(hexagons) + 1) / sum(range(1, len(hexagons) + 1))
    figure = share_figure("prior", "The prior", "How likely.", layout, hexagons.labels, shares, marked=2)
    assert figure.svg.count("<path") == len(hexagons) + 1
    assert "The darker a cell, the larger its share." in figure.caption
    grid = map_layout(sf.spaces.h3_cells(hexagons.labels, distance="grid"))
    assert grid.unit == "km" and not grid.sphere and grid.outlines is not None
    metres = map_layout(sf.spaces.square_cells(48, 2, sides=(1000, 1000), step=500, unit="m"))
    assert metres.unit == "m" and np.ptp(metres.y) == pytest.approx(500, rel=1e-3)


def test_outlines_across_the_antimeridian_stay_together() -> None:
    fiji = sf.spaces.h3_cells([*sf.spaces.h3_cells((-17.2, 179.6, -16.8, 180), 6).labels][:12])
    layout = map_layout(fiji)
    assert layout.outlines is not None
    for rings, x, y in zip(layout.outlines, layout.x, layout.y, strict=True):
        assert np.abs(rings[0].mean(axis=0) - (x, y)).max() < 1


def test_crossings_are_drawn_as_places() -> None:
    town = sf.spaces.roads(
        [("a", "b", 100), ("b", "c", 60)], {"a": (41.9, 12.49), "b": (41.9009, 12.49), "c": (41.9, 12.5)}
    )
    layout = map_layout(town)
    assert (layout.kind, layout.unit, layout.sphere, layout.outlines) == ("places", "m", False, None)


@pytest.mark.parametrize(
    "space",
    [sf.line(5), sf.grid(3, 4), sf.grid(3, 3, 3), sf.cycle(7), sf.spaces.star(6), sf.discrete(5), sf.hamming(4),
     sf.line(1), sf.hamming(3, symbols=3), sf.graph([("a", "b"), ("b", "c", "1/2")]),
     sf.spaces.complete_bipartite(3, 4), sf.line(2),
     sf.FiniteSpace(list("xyz"), [[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]])],
    ids=lambda space: space.name,
)  # fmt: skip
def test_every_secret_has_a_place_of_its_own(space: sf.FiniteSpace) -> None:
    where = drawn_places(space)
    assert where.shape == (len(space), 2) and np.isfinite(where).all()
    assert len(np.unique(np.round(where, 6), axis=0)) == len(space)


def test_a_cycle_is_round_and_keeps_its_order() -> None:
    where = drawn_places(sf.cycle(8))
    radii = np.linalg.norm(where - where.mean(axis=0), axis=1)
    assert np.ptp(radii) < 1e-9
    steps = np.linalg.norm(where - np.roll(where, 1, axis=0), axis=1)
    assert np.ptp(steps) < 1e-9


def test_letters_move_a_word_in_one_direction() -> None:
    space = sf.hamming(3)
    where = dict(zip(space.labels, drawn_places(space), strict=True))
    for rest in ("00", "01", "10", "11"):
        assert np.allclose(where["1" + rest] - where["0" + rest], where["100"] - where["000"])


def test_coordinates_are_kept() -> None:
    assert np.array_equal(drawn_places(sf.grid(2, 2)), sf.grid(2, 2).coordinates)
