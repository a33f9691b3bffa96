"""Figures of the simplex, how they are written to files, and the figures of paper A."""

from __future__ import annotations

import os
import re
from fractions import Fraction
from itertools import combinations, pairwise
from math import dist, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import plotly.io
import pytest
from scipy.spatial import ConvexHull

import sfumato as sf
from examples import random_response, truncated_geometric
from sfumato.errors import InvalidInput, Mismatch, MissingExtra, NotSupported
from sfumato.papers.paper_a import FIGURES
from sfumato.report import figure as style
from sfumato.report.figure import FORMATS, canvas, caption, label_shifts, write_figure
from sfumato.report.simplex import posterior_region, simplex

HALF = Fraction(1, 2)
LINE = sf.PrivacyType(sf.line(3), alpha=HALF)
GEOMETRIC = truncated_geometric(3, HALF)


def flat(posterior: Any) -> tuple[float, float]:
    """Where a distribution over three secrets is drawn: left, top, right."""
    _, b, c = map(float, posterior)
    return b / 2 + c, b * sqrt(3) / 2


def trace(drawing: go.Figure, name: str) -> Any:
    return next(one for one in drawing.data if one.name == name)


def texts(annotations: Any) -> list[str]:
    return [re.sub(r"<[^>]*>", "", one.text) for one in annotations]


def test_the_vertices_of_the_line_are_where_they_should_be() -> None:
    drawing = simplex(LINE)
    known = [("1/7", "2/7", "4/7"), ("4/7", "2/7", "1/7"), ("1/4", "1/2", "1/4"), ("2/5", "1/5", "2/5")]
    expected = sorted(flat(map(Fraction, posterior)) for posterior in known)
    points = trace(drawing, "vertices")
    assert np.allclose(sorted(zip(points.x, points.y, strict=True)), expected, atol=1e-12)
    for posterior in known:
        hover = "<br>".join(f"δ<sub>{i}</sub> = {weight}" for i, weight in enumerate(posterior))
        assert sum(hover in text for text in points.hovertext) == 1


def test_the_region_goes_around_its_vertices() -> None:
    outline = trace(simplex(LINE), "private posteriors")
    corners = [("4/7", "2/7", "1/7"), ("1/4", "1/2", "1/4"), ("1/7", "2/7", "4/7"), ("2/5", "1/5", "2/5")]
    around = [flat(map(Fraction, corner)) for corner in corners]
    assert (outline.x[0], outline.y[0]) == (outline.x[-1], outline.y[-1])
    length = sum(dist(a, b) for a, b in zip(around, around[1:] + around[:1], strict=True))
    drawn = list(zip(outline.x, outline.y, strict=True))
    assert sum(dist(a, b) for a, b in pairwise(drawn)) == pytest.approx(length)


@pytest.mark.parametrize(("space", "lines"), [(sf.line(3), 4), (sf.discrete(3), 6)], ids=str)
def test_a_line_for_every_pair_that_is_not_implied(space: sf.FiniteSpace, lines: int) -> None:
    drawn = [one for one in simplex(sf.PrivacyType(space, alpha=HALF)).data if one.name and "≤" in one.name]
    assert len(drawn) == lines == len({one.line.color for one in drawn})
    for one in drawn:
        x, z = map(int, re.findall(r"<sub>(\d)</sub>", one.name))
        assert one.name == f"δ<sub>{x}</sub> ≤ 2 δ<sub>{z}</sub>"
        for right, up in zip(one.x, one.y, strict=True):
            second = up * 2 / sqrt(3)
            posterior = (1 - right - second / 2, second, right - second / 2)
            assert posterior[x] == pytest.approx(2 * posterior[z], abs=1e-12)


def test_areas_and_numbers_are_outer_weights() -> None:
    other = next(kernel for kernel in sf.types.kernels(LINE) if len(kernel.support) == 2)
    drawing = simplex(LINE, {"geometric": GEOMETRIC, "other": other})
    assert {"A 7/18", "B 2/9 4/9", "C 7/18", "D 5/9"} <= set(texts(drawing.layout.annotations))
    sizes = {
        round(x, 9): (size, one.name)
        for one in drawing.data
        if one.name in ("geometric", "other")
        for x, y, size in zip(one.x, one.y, one.marker.size, strict=True)
        if y < 0.4
    }
    assert len(sizes) == 3
    for x, weight in [(2 / 7, "7/18"), (5 / 7, "7/18"), (1 / 2, "5/9")]:
        size, _ = sizes[round(x, 9)]
        assert size**2 / sizes[round(2 / 7, 9)][0] ** 2 == pytest.approx(float(Fraction(weight) / Fraction("7/18")))
    listed = [one for one in drawing.data if one.name in ("geometric", "other") and one.showlegend is not False]
    assert len({one.marker.line.color for one in listed}) == len(listed) == 2


def test_smaller_discs_lie_over_larger_ones() -> None:
    drawing = simplex(LINE, [GEOMETRIC, sf.Channel.identity(sf.line(3)), sf.Channel.constant(sf.line(3))])
    sizes = [size for one in drawing.data if one.name and "mechanism" in one.name for size in one.marker.size]
    assert sizes == sorted(sizes, reverse=True) and len(sizes) == 7


def test_another_prior_moves_the_region_with_it() -> None:
    prior = sf.Prior(range(3), ["1/2", "1/3", "1/6"])
    drawing = simplex(LINE, GEOMETRIC, prior=prior)
    points = {
        tuple(np.round(p, 9)) for p in zip(trace(drawing, "vertices").x, trace(drawing, "vertices").y, strict=True)
    }
    inners = [p for one in drawing.data if one.name == "mechanism" for p in zip(one.x, one.y, strict=True)]
    assert len(inners) == 3 and {tuple(np.round(p, 9)) for p in inners} < points
    assert "δ<sub>0</sub> ≤ 3 δ<sub>1</sub>" in [one.name for one in drawing.data]  # 2 · (1/2) / (1/3)
    assert flat(prior.weights) == pytest.approx((trace(drawing, "prior").x[0], trace(drawing, "prior").y[0]))


def test_bounds_that_are_no_fractions_are_powers_of_e() -> None:
    names = [one.name for one in simplex(sf.PrivacyType(sf.line(3), epsilon="0.7")).data]
    assert "δ<sub>0</sub> ≤ e<sup>0.7</sup> δ<sub>1</sub>" in names


def test_labels_of_secrets_are_text_not_markup() -> None:
    space = sf.discrete(["<b>a", "b & c", "a very long name of a place in town"])
    drawing = simplex(sf.PrivacyType(space, alpha=HALF))
    shown = [one.text for one in drawing.layout.annotations]
    assert "<b>&lt;b&gt;a</b>" in shown and "<b>b &amp; c</b>" in shown
    assert any(text.startswith("<b>a very long") and text.endswith("…</b>") for text in shown)


def exact_facets(privacy: sf.PrivacyType) -> set[frozenset[int]]:
    """Facets of the solid of posteriors from its vertices alone: planes that have all of them on one side."""
    points = [vertex.posterior.weights[1:] for vertex in sf.types.vertices(privacy)]
    found = set()
    for a, b, c in combinations(points, 3):
        u, v = b - a, c - a
        normal = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
        if not any(normal):
            continue
        sides = [sum(n * d for n, d in zip(normal, p - a, strict=True)) for p in points]
        if min(sides) == 0 or max(sides) == 0:
            found.add(frozenset(i for i, side in enumerate(sides) if side == 0))
    return found


RATIONAL = [
    sf.line(4), sf.discrete(4), sf.cycle(4), sf.spaces.star(3), sf.hamming(2), sf.grid(2, 2, metric="chebyshev"),
    sf.graph([(0, 1, 1), (1, 2, 2), (2, 3, 1), (0, 3, 3), (0, 2, 2)]),
]  # fmt: skip


@pytest.mark.parametrize("space", RATIONAL, ids=str)
def test_the_faces_of_the_solid_are_those_of_exact_arithmetic(space: sf.FiniteSpace) -> None:
    privacy = sf.PrivacyType(space, alpha=HALF)
    found, facets = posterior_region(privacy), exact_facets(privacy)
    assert {frozenset(corners) for corners in found.facets.values()} == facets
    assert len(found.facets) == len(facets) == 2 * len(space.pairs.first)
    assert len(found.vertices) - len(found.edges) + len(facets) == 2  # Euler
    assert 2 * len(found.edges) == sum(map(len, facets))
    for corners in found.facets.values():
        for i, k in zip(corners, corners[1:] + corners[:1], strict=True):
            assert (min(i, k), max(i, k)) in found.edges


@pytest.mark.parametrize(
    "space", [sf.grid(2, 2), sf.points([[0.0, 0.0], [1.1, 0.2], [0.3, 1.4], [1.9, 1.7]])], ids=["grid", "points"]
)
def test_the_edges_of_irrational_solids_are_those_of_their_hull(space: sf.FiniteSpace) -> None:
    privacy = sf.PrivacyType(space, epsilon=1)
    points = np.array([vertex.posterior.weights[1:] for vertex in sf.types.vertices(privacy)])
    planes = np.unique(ConvexHull(points).equations.round(6), axis=0)
    found = posterior_region(privacy)
    assert len(planes) == len(found.facets) and len(points) - len(found.edges) + len(planes) == 2


def test_the_solid_is_drawn_with_its_true_edges() -> None:
    privacy = sf.PrivacyType(sf.line(4), alpha=HALF)
    drawing = simplex(privacy, {"geometric": truncated_geometric(4, HALF)})
    lines = [one for one in drawing.data if one.type == "scatter3d" and one.mode == "lines"]
    assert [sum(x is None for x in one.x) for one in lines] == [6, 12]  # the tetrahedron, and a bent cube
    scene = drawing.layout.scene
    assert scene.aspectmode == "cube" and scene.xaxis.range == scene.yaxis.range == scene.zaxis.range
    assert not any(axis.visible for axis in (scene.xaxis, scene.yaxis, scene.zaxis))
    shown = texts(scene.annotations)
    assert {"A 5/16", "D 3/16", "G 3/16", "H 5/16", "0", "1", "2", "3"} <= set(shown) and len(shown) == 12


def test_balls_have_the_area_of_their_weight_and_the_place_of_their_posterior() -> None:
    drawing = simplex(sf.PrivacyType(sf.line(4), alpha=HALF), truncated_geometric(4, HALF), show=("inners", "vertices"))
    balls = trace(drawing, "mechanism")
    points = np.array([balls.x, balls.y, balls.z]).T.reshape(4, -1, 3)
    triangles = np.array([balls.i, balls.j, balls.k])
    assert triangles.max() < points.size // 3
    centres = (points.max(axis=1) + points.min(axis=1)) / 2
    radii = np.linalg.norm(points - centres[:, None], axis=2)
    assert np.allclose(radii, radii[:, :1])
    assert radii[0, 0] ** 2 / radii[1, 0] ** 2 == pytest.approx(5 / 3)
    dots = trace(drawing, "vertices")
    gaps = np.linalg.norm(np.array([dots.x, dots.y, dots.z]).T[:, None] - centres, axis=2)
    assert np.allclose(gaps.min(axis=0), 0, atol=1e-12)


def test_only_what_is_asked_for_is_shown() -> None:
    names = {one.name for one in simplex(LINE, GEOMETRIC, show="region").data}
    assert names == {"private posteriors", None}
    assert len(simplex(LINE, GEOMETRIC, show="region").layout.annotations) == 3


def test_names_of_vertices_can_be_given() -> None:
    drawing = simplex(LINE, labels=["w", "x", "y", "z"])
    points = trace(drawing, "vertices")
    for name, vertex, x, y in zip("wxyz", sf.types.vertices(LINE), points.x, points.y, strict=True):
        assert flat(vertex.posterior.weights) == pytest.approx((x, y))
        label = next(one for one in drawing.layout.annotations if one.text == f"<b>{name}</b>")
        assert (label.x, label.y) == pytest.approx((x, y))


def test_a_proved_mechanism_can_be_drawn() -> None:
    mechanism = sf.prove(GEOMETRIC, LINE)
    assert "A 7/18" in texts(simplex(LINE, mechanism).layout.annotations)


def test_many_inners_keep_their_numbers_for_the_pointer() -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(40), 3)
    drawing = simplex(LINE, sf.Channel(range(3), rows), show=("inners",))
    assert len(drawing.layout.annotations) == 3
    assert sum(len(one.x) for one in drawing.data if one.name == "mechanism") == 40


@pytest.mark.parametrize("epsilon", [1e-6, 60, 5000])
def test_extreme_promises_are_drawn_with_finite_numbers(epsilon: float) -> None:
    for space in (sf.line(3), sf.discrete(4)):
        drawing = simplex(sf.PrivacyType(space, epsilon=epsilon), sf.Channel.identity(space))
        assert "NaN" not in drawing.to_json() and "Infinity" not in drawing.to_json()


@pytest.mark.parametrize("n", [1, 2, 5])
def test_other_numbers_of_secrets_are_refused(n: int) -> None:
    with pytest.raises(NotSupported, match=f"{n} secrets"):
        simplex(sf.PrivacyType(sf.line(n), alpha=HALF))


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        (("line",), {}, InvalidInput),
        ((LINE, "a channel"), {}, InvalidInput),
        ((LINE, truncated_geometric(4, HALF)), {}, Mismatch),
        ((LINE,), {"prior": sf.Prior(range(3), [1, 0, 0])}, InvalidInput),
        ((LINE,), {"prior": sf.Prior(range(1, 4), ["1/3"] * 3)}, Mismatch),
        ((LINE,), {"show": ("regions",)}, NotSupported),
        ((LINE,), {"labels": "AB"}, InvalidInput),
    ],
)
def test_mistakes_are_named(arguments: tuple[Any, ...], options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        simplex(*arguments, **options)


def boxes(anchors: Any, shifts: Any, text: str) -> list[Any]:
    half = style._half_extent(text, style.FONT_SIZE)
    return [np.array([*(np.add(a, s) - half), *(np.add(a, s) + half)]) for a, s in zip(anchors, shifts, strict=True)]


@pytest.mark.parametrize("count", [2, 6, 12])
def test_labels_cover_no_mark_and_no_other_label(count: int) -> None:
    turns = 2 * np.pi * np.arange(count) / count
    anchors = 60 * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    shifts = label_shifts(anchors, [10.0] * count, ["A 1/2"] * count, np.tile([0.0, 1.0], (count, 1)))
    placed = boxes(anchors, shifts, "A 1/2")
    assert all(style._overlap(a, b) == 0 for a, b in combinations(placed, 2))
    assert all(style._marks_under(box, anchors, np.full(count, 9.0)) == 0 for box in placed)


def test_labels_stay_inside_the_frame() -> None:
    ((right, up),) = label_shifts(
        np.zeros((1, 2)), [3.0], ["a long label"], np.array([[-1.0, 0.0]]), (-10, -50, 200, 50)
    )
    ((left, *_),) = boxes([(0, 0)], [(right, up)], "a long label")
    assert left >= -10


@pytest.mark.parametrize("privacy", [LINE, sf.PrivacyType(sf.discrete(3), alpha=HALF)], ids=str)
def test_no_label_of_a_figure_covers_a_disc(privacy: sf.PrivacyType) -> None:
    drawing = simplex(privacy, [GEOMETRIC, random_response(3, HALF), random_response(3, Fraction(2))])
    discs = [
        (600 * x, 600 * y, size / 2 - 1)
        for one in drawing.data
        if one.mode == "markers" and one.name != "uniform prior"
        for x, y, size in zip(one.x, one.y, np.broadcast_to(one.marker.size, len(one.x)), strict=True)
    ]
    centres, radii = np.array(discs)[:, :2], np.array(discs)[:, 2]
    for one in drawing.layout.annotations:
        (box,) = boxes([(600 * one.x, 600 * one.y)], [(one.xshift, one.yshift)], one.text)
        assert style._marks_under(box, centres, radii - 1) == 0, one.text


def test_a_caption_is_broken_into_lines_and_makes_room() -> None:
    plain = canvas()
    told = caption(canvas(), "word " * 60)
    assert told.layout.annotations[0].text.count("<br>") >= 2
    assert told.layout.height - plain.layout.height == told.layout.margin.b - plain.layout.margin.b > 0
    assert simplex(LINE, caption="a < b").layout.annotations[-1].text == "a &lt; b"


def test_a_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    page = write_figure(simplex(LINE, GEOMETRIC), tmp_path / "figure.html").read_text()
    tags = re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", page)
    assert tags and not any(re.search(r"\b(?:src|href)\s*=", tag) for tag in tags)
    assert page.startswith("<!DOCTYPE html>") and len(page) > 10**6  # plotly.js is inside
    assert write_figure(simplex(LINE, GEOMETRIC), tmp_path / "again.html").read_text() == page


def test_json_is_read_back(tmp_path: Path) -> None:
    drawing = simplex(LINE, GEOMETRIC)
    again = plotly.io.from_json(write_figure(drawing, tmp_path / "figure.json").read_text())
    drawing.update_layout(meta={"generator": "sfumato"})
    assert again.to_dict() == drawing.to_dict()


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "figure.json"
    write_figure(canvas(), target)
    before = target.read_text()

    def fail(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        write_figure(canvas(), target, overwrite=True)
    assert target.read_text() == before and os.listdir(tmp_path) == ["figure.json"]


def test_files_are_as_readable_as_others(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    assert write_figure(canvas(), tmp_path / "figure.json").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_wrong_endings_folders_and_values_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotSupported) as raised:
        write_figure(canvas(), tmp_path / "figure.docx")
    assert raised.value.supported == tuple(FORMATS)
    with pytest.raises(InvalidInput, match="no folder"):
        write_figure(canvas(), tmp_path / "nowhere" / "figure.html")
    with pytest.raises(InvalidInput, match="found a value of type str"):
        write_figure("figure", tmp_path / "figure.html")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_pictures_need_the_extra_and_a_browser(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / f"figure.{ending}"
    monkeypatch.setattr(style, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=re.escape("sfumato[figures]")):
        write_figure(canvas(), target)
    monkeypatch.setattr(style, "find_spec", lambda _: "there")

    def no_browser(*_: Any, **__: Any) -> bytes:
        raise RuntimeError("\nno Chrome was found\nmore about that")

    monkeypatch.setattr(go.Figure, "to_image", no_browser)
    with pytest.raises(NotSupported, match="no Chrome was found"):
        write_figure(canvas(), target)
    assert os.listdir(tmp_path) == []
    monkeypatch.setattr(go.Figure, "to_image", lambda _, **how: f"{how['format']} {how['scale']}".encode())
    picture = f"{ending} {2 if ending == 'png' else 1}".encode()
    assert write_figure(canvas(), target).read_bytes() == style.signed(picture, ending)


def test_a_picture_has_no_switches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = simplex(sf.PrivacyType(sf.line(4), alpha=HALF))
    monkeypatch.setattr(style, "find_spec", lambda _: "there")
    monkeypatch.setattr(go.Figure, "to_image", lambda self, **_: self.to_json().encode())
    assert "legendonly" in drawing.to_json()
    assert "legendonly" not in write_figure(drawing, tmp_path / "figure.svg").read_text()
    assert "legendonly" in drawing.to_json()


@pytest.mark.parametrize("key", FIGURES)
def test_figures_of_the_paper_agree_and_can_be_drawn(key: str) -> None:
    table = FIGURES[key]()
    assert table.key == key and table.notes and table.figure is not None
    rows = [row for row in table.rows if row.get("secret") != "no secret"]  # two rows that were printed by mistake
    cells = [cell for row in rows for cell in row.values() if isinstance(cell, dict)]
    assert all(cell["agree"] is True for cell in cells) and (cells or key == "A.fig2")
    drawing = table.figure()
    assert isinstance(drawing, go.Figure) and drawing.layout.width <= 720


def test_figure_2_has_four_sides_and_two_implied_constraints() -> None:
    rows = {row["constraint"]: row for row in FIGURES["A.fig2"]().rows}
    assert [name for name, row in rows.items() if row["implied by the others"] == "yes"] == [
        "δ(x₁) ≤ 4 δ(x₃)",
        "δ(x₃) ≤ 4 δ(x₁)",
    ]
    assert rows["δ(x₁) ≤ 2 δ(x₂)"]["vertices on its line"].count(";") == 1


def test_figure_4b_geometric_is_b_c_d() -> None:
    table = FIGURES["A.fig4b"]()
    weights = {row["vertex"]: (row["its outer weight"], row["weight in the other kernel"]) for row in table.rows}
    expected = {"A": ("0", "5/9"), "B": ("7/18", "0"), "C": ("2/9", "4/9"), "D": ("7/18", "0")}
    assert weights == {name: tuple(map(Fraction, pair)) for name, pair in expected.items()}
    assert "is a kernel: holds" in table.notes[1] and "has 2 kernels" in table.notes[1]
    discs = {one.name: one.marker.line.color for one in table.figure().data if one.name and "kernel" in one.name}
    orange = next(one for one in table.figure().data if one.name == "truncated geometric").marker.line.color
    assert orange == style.SERIES[0] and set(discs.values()) == {style.SERIES[1]}


def test_figure_5b_response_and_dual_share_the_vertices() -> None:
    rows = FIGURES["A.fig5b"]().rows
    posteriors = {row["vertex"]: [row[str(x)] for x in range(3)] for row in rows}
    assert [posteriors[name][k] for k, name in enumerate("ABC")] == [HALF] * 3
    assert [posteriors[name][k] for k, name in enumerate("DEF")] == [Fraction(1, 5)] * 3
    assert {row["outer weight"] for row in rows} == {Fraction(1, 3)}


def test_figure_8_has_eight_rows() -> None:
    """The numbers of the errata of the paper, over 27, 21, 21 and 27."""
    table = FIGURES["A.fig8"]()
    *rows, first, second, outer = table.rows
    for extra in (first, second):  # printed, but of no secret
        assert [extra[f"δ(y{index})"]["printed"] for index in "₁₂₃₄"] == ["2/27", "2/21", "4/21", "2/27"]
        assert all(extra[f"δ(y{index})"]["agree"] is False for index in "₁₂₃₄")
    expected = {
        "000": (8, 2, 1, 1), "100": (4, 4, 2, 2), "110": (2, 2, 4, 4), "111": (1, 1, 2, 8),
        "101": (2, 2, 4, 4), "011": (2, 2, 4, 4), "010": (4, 4, 2, 2), "001": (4, 4, 2, 2),
    }  # fmt: skip
    assert [row["secret"] for row in rows] == list(expected)
    for row in rows:
        inner = [row[f"δ(y{index})"]["ours"] for index in "₁₂₃₄"]
        assert inner == [Fraction(v, t) for v, t in zip(expected[row["secret"]], (27, 21, 21, 27), strict=True)]
        assert sum(row[f"K(y{index})"] for index in "₁₂₃₄") == 1
    assert [str(outer[f"δ(y{index})"]["ours"]) for index in "₁₂₃₄"] == ["9/32", "7/32", "7/32", "9/32"]
    assert "31/27, 25/21, 29/21, 31/27" in table.notes[0]
    assert table.notes[1].count("holds") == 2
    assert "it is the truncated geometric" in table.notes[2]
    shown = {text for heatmap in table.figure().data for row in heatmap.text for text in row}
    assert {"8/27", "4/21", "2/3", "1/12"} <= shown
