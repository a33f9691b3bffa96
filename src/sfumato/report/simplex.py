"""The simplex of distributions with the region of private posteriors, drawn for three and four secrets.

A mechanism is private when all its posteriors lie in the polytope δ_x ≤ e^{ε d(x, z)} (π_x / π_z) δ_z, where π is
the prior; for the uniform prior that is the polytope of :func:`sfumato.privacy.vertices` (Fernandes et al. 2023,
Lemma 2 and Figure 2). Each pair that no chain of shorter ones implies gives one facet. Which vertices lie on a
facet is known from their tight pairs, so the faces are found without a float; floats only say where to draw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from html import escape
from itertools import combinations, groupby
from math import cos, exp, sin, sqrt, tan
from string import ascii_uppercase
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from sfumato.arguments import items, one_of, text
from sfumato.channels import Hyper, Prior, as_channel, as_prior, check_secrets, hyper
from sfumato.errors import InvalidInput, NotSupported, short, shown
from sfumato.numbers import Array, divide, floats, together
from sfumato.privacy import PrivacyType, Vertices, vertices
from sfumato.privacy.type import as_type
from sfumato.report.figure import FONT_SIZE, MUTED, ROLES, SERIES, canvas, ink, label_shifts, segments, sphere, tint
from sfumato.report.figure import caption as captioned

SHOWN = ("region", "constraints", "vertices", "prior", "inners")
"""What a figure of the simplex can show."""

_FLAT = np.array([[0, 0], [0.5, sqrt(3) / 2], [1, 0]])
_BASE = np.radians([168, 288, 48])  # The base is turned so that no corner is seen in front of another.
_SOLID = np.array([*([cos(angle), sin(angle), -sqrt(2) / 4] for angle in _BASE), [0, 0, 3 * sqrt(2) / 4]])

_PIXELS = 600  # A side of the triangle has so many pixels.
_DISC = 28.0  # A disc of weight 1 has this radius in pixels.
_DOT = 4.0  # A vertex has this radius in pixels.
_BALL = 0.13  # A ball of weight 1 has this radius in the solid, whose sides are √3.
_MOST_WEIGHTS = 16  # More weights would cover the figure; all are shown under the pointer.
_SAME_PLACE = 1.5  # Two marks within so many pixels share a label; nothing is decided by it.
_LONGEST, _LONGEST_INDEX = 28, 10  # letters of a label, and of one written as an index

# The camera of the solid, in units of the cube [−r, r]³ that plotly shows it in.
_EDGE = "#3f6b86"
_REACH = 1.12
_EYE = np.array([0.03, -1.2, 0.33])
_TARGET = np.array([0.07, 0.0, 0.07])


@dataclass(frozen=True, eq=False)
class Region:
    """The polytope of private posteriors on three or four secrets, with its faces.

    ``facets`` gives for each pair (x, z) the vertices with δ_x = e^{ε d(x, z)} δ_z, in the order in which one
    meets them going around; ``edges`` are the pairs of vertices that an edge joins. Both hold indices of ``vertices``.
    """

    vertices: Vertices
    facets: dict[tuple[Any, Any], tuple[int, ...]]
    edges: tuple[tuple[int, int], ...]

    def outline(self) -> tuple[int, ...]:
        """All vertices in the order of the polygon, for three secrets."""
        return _around(range(len(self.vertices)), self.edges)


def posterior_region(privacy: PrivacyType) -> Region:
    """The region of private posteriors with its facets and edges, exactly.

    Two vertices of a solid are joined by an edge when two facets hold them both, two of a polygon when one does.

    Raises
    ------
    NotSupported
        Unless there are three or four secrets.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> solid = posterior_region(PrivacyType(line(4), alpha="1/2"))
    >>> len(solid.vertices), len(solid.edges), len(solid.facets)
    (8, 12, 6)
    """
    privacy = as_type(privacy)
    if len(privacy.space) not in (3, 4):
        raise NotSupported(
            f"a drawing of the distributions over {len(privacy.space)} secrets, which have "
            f"{len(privacy.space) - 1} dimensions",
            ["3 secrets (a triangle)", "4 secrets (a solid); PrivacyType(space.restrict(labels), …) keeps some"],
        )
    corners = vertices(privacy)
    members: dict[tuple[Any, Any], list[int]] = {}
    for i, vertex in enumerate(corners):
        for pair in vertex.tight:
            members.setdefault(pair, []).append(i)
    meeting = len(privacy.space) - 2
    facets = [set(indices) for indices in members.values()]
    edges = tuple(
        (i, k)
        for i, k in combinations(range(len(corners)), 2)
        if sum(i in facet and k in facet for facet in facets) >= meeting
    )
    return Region(corners, {pair: _around(indices, edges) for pair, indices in members.items()}, edges)


def _around(members: Sequence[int], edges: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The corners of a polygon in order: from each to a neighbour not yet seen."""
    inside = set(members)
    near: dict[int, list[int]] = {i: [] for i in members}
    for i, k in edges:
        if i in inside and k in inside:
            near[i].append(k)
            near[k].append(i)
    order = [members[0]]
    while len(order) < len(inside):
        order.append(next(k for k in near[order[-1]] if k not in order))
    return tuple(order)


def simplex(
    privacy: PrivacyType,
    channel: Any = None,
    *,
    prior: Prior | None = None,
    show: Sequence[str] = SHOWN,
    labels: Sequence[str] | None = None,
    caption: str = "",
) -> go.Figure:
    """Draw the distributions over three or four secrets, those that are private, and what mechanisms make of a prior.

    Three secrets give a triangle: the lines δ_x = e^{ε d(x, z)} δ_z, the polygon they enclose, its vertices. Four give
    a solid that can be turned; its facets lie in the planes of the constraints, which the legend switches on. A
    mechanism appears as its hyper-distribution: a disc at each posterior, its area the probability of that posterior.

    Parameters
    ----------
    privacy
        The promise, on three or four secrets.
    channel
        A channel or mechanism, a list of them, or a dictionary from names to them.
    prior
        The prior, positive everywhere; uniform if not given. Another one moves the region with it: what is drawn
        are the posteriors that private mechanisms can make of this prior.
    show
        Some of ``"region"``, ``"constraints"``, ``"vertices"``, ``"prior"``, ``"inners"``.
    labels
        Names of the vertices, in the order of ``vertices(privacy)``; letters if not given, around the polygon or
        by falling probability of the first secret.
    caption
        A text under the figure.

    Examples
    --------
    >>> from sfumato.channels import Channel
    >>> from sfumato.spaces import line
    >>> geometric = Channel(range(3), [["2/3", "1/6", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/6", "2/3"]])
    >>> figure = simplex(PrivacyType(line(3), alpha="1/2"), {"geometric": geometric})
    >>> sorted(trace.name for trace in figure.data if trace.mode == "markers")
    ['geometric', 'uniform prior', 'vertices']
    """
    caption = text(caption, "the caption")
    plan = _planned(privacy, channel, prior, show, labels)
    figure = _flat(plan) if len(privacy.space) == 3 else _solid(plan)
    return captioned(figure, caption) if caption else figure


@dataclass(frozen=True, eq=False)
class _Constraint:
    """δ_x ≤ b δ_z: indices, 1/b as a float, and how to write it."""

    pair: tuple[Any, Any]
    x: int
    z: int
    inverse: float
    text: str

    def ends(self, secrets: int) -> NDArray[np.float64]:
        """Where δ_x = b δ_z leaves the simplex: the corners of all other secrets, and a point between x and z."""
        table = np.eye(secrets)[[i for i in range(secrets) if i not in (self.x, self.z)] + [self.x]]
        table[-1, self.x] = 1 / (1 + self.inverse)
        table[-1, self.z] = 1 - table[-1, self.x]
        return table


@dataclass(frozen=True, eq=False)
class _SimplexPlan:
    """All that is drawn, before it is known where."""

    secrets: tuple[str, ...]
    prior: Prior
    region: Region
    posteriors: Array
    names: tuple[str, ...]
    constraints: tuple[_Constraint, ...]
    hypers: tuple[tuple[str, Hyper], ...]
    show: frozenset[str]


def _planned(privacy: Any, channel: Any, prior: Prior | None, show: Any, labels: Any) -> _SimplexPlan:
    polytope = posterior_region(privacy)
    space = privacy.space
    prior = Prior.uniform(space) if prior is None else as_prior(prior)
    check_secrets("privacy and prior", space, prior)
    if (prior.weights <= 0).any():
        zero = space.labels[int(np.flatnonzero(prior.weights <= 0)[0])]
        raise InvalidInput(f"the prior gives {shown(zero)} weight 0, so no posterior shows it: restrict the space")
    drawn = frozenset(
        one_of(part, SHOWN, "showing") for part in ([show] if isinstance(show, str) else items(show, "show"))
    )
    rays = np.stack([vertex.ray for vertex in polytope.vertices])
    weights, rays = together(prior.weights, rays)
    posteriors = divide(rays * weights, (rays * weights).sum(axis=1)[:, None])
    return _SimplexPlan(
        secrets=tuple(_short(secret) for secret in space.labels),
        prior=prior,
        region=polytope,
        posteriors=posteriors,
        names=_vertex_names(polytope, posteriors, labels),
        constraints=_constraints(privacy, prior),
        hypers=tuple(_hypers(privacy, prior, channel)) if "inners" in drawn else (),
        show=drawn,
    )


def _hypers(privacy: PrivacyType, prior: Prior, channel: Any) -> list[tuple[str, Hyper]]:
    if channel is None:
        return []
    if isinstance(channel, Mapping):
        named = [(str(name), one) for name, one in channel.items()]
    elif isinstance(channel, Sequence):
        named = [(f"mechanism {k}", one) for k, one in enumerate(items(channel, "channels"), 1)]
    else:
        named = [("mechanism", channel)]
    hypers = []
    for name, one in named:
        check_secrets(f"privacy and {name}", privacy.space, as_channel(one))
        hypers.append((_short(name), hyper(prior, as_channel(one))))
    return hypers


def _vertex_names(polytope: Region, posteriors: Array, labels: Any) -> tuple[str, ...]:
    count = len(polytope.vertices)
    if labels is not None:
        names = tuple(_short(label) for label in items(labels, "labels"))
        if len(names) != count:
            raise InvalidInput(f"{len(names)} labels for {count} vertices: give one for each of vertices(privacy)")
        return names
    if len(polytope.vertices.privacy.space) == 3:
        order = list(polytope.outline())
        start = max(range(count), key=lambda k: tuple(posteriors[order[k]]))
        order = order[start:] + order[:start]
        if tuple(posteriors[order[1]][1:]) < tuple(posteriors[order[-1]][1:]):  # clockwise, towards the second secret
            order = order[:1] + order[:0:-1]
    else:
        order = sorted(range(count), key=lambda k: tuple(posteriors[k]), reverse=True)
    names_at = dict(zip(order, ascii_uppercase, strict=False))  # four secrets have at most 20 vertices
    return tuple(names_at[k] for k in range(count))


def _constraints(privacy: PrivacyType, prior: Prior) -> tuple[_Constraint, ...]:
    space, weights = privacy.space, prior.weights
    lengths = space.pair_distances
    constraints = []
    for first, second, value, distance in zip(*space.pairs, lengths.values, lengths.floats, strict=True):
        for x, z in ((int(first), int(second)), (int(second), int(first))):
            factor, odds, power = privacy.exact_factor(value), weights[x] / weights[z], privacy.rate * float(distance)
            rational = factor * odds if factor is not None and isinstance(odds, Fraction) else None
            inverse = float(1 / rational) if rational is not None else exp(-power) / float(odds)
            bound = _fraction(rational, 7) or f"e<sup>{power:.3g}</sup>".replace("e<sup>1</sup>", "e")
            if odds != 1 and bound.startswith("e"):
                bound = f"{1 / inverse:.3g}" if inverse else f"{float(odds):.3g} {bound}"
            left, right = (_component(space.labels[i]) for i in (x, z))
            text = f"{left} ≤ {'' if bound == '1' else f'{bound} '}{right}"
            constraints.append(_Constraint((space.labels[x], space.labels[z]), x, z, inverse, text))
    return tuple(constraints)


def _short(label: Any, most: int = _LONGEST) -> str:
    """A label as text that plotly shows as it is."""
    text = label if isinstance(label, str) else short(label)
    return escape(text if len(text) <= most else f"{text[: most - 1]}…", quote=False)


def _component(secret: Any) -> str:
    return f"δ<sub>{_short(secret, _LONGEST_INDEX)}</sub>"


def _fraction(value: Any, most: int) -> str:
    """An exact number of at most so many letters, nothing for any other."""
    if not isinstance(value, Fraction) or value.numerator.bit_length() + value.denominator.bit_length() > 4 * most:
        return ""
    text = str(value)
    return text if len(text) <= most else ""


def _value(value: Any) -> str:
    """A fraction if it is short, three digits otherwise."""
    return _fraction(value, 7) or f"{float(value):.3g}"


def _posterior_text(plan: _SimplexPlan, posterior: Array) -> str:
    return "<br>".join(
        f"{_component(secret)} = {_fraction(weight, 24) or f'{float(weight):.6g}'}"
        for secret, weight in zip(plan.prior.secrets, posterior, strict=True)
    )


def _vertex_texts(plan: _SimplexPlan) -> list[str]:
    written = {one.pair: one.text.replace("≤", "=") for one in plan.constraints}
    return [
        f"<b>{name}</b><br>{_posterior_text(plan, posterior)}<br>tight: {', '.join(written[p] for p in vertex.tight)}"
        for name, posterior, vertex in zip(plan.names, plan.posteriors, plan.region.vertices, strict=True)
    ]


def _inner_texts(plan: _SimplexPlan, name: str, posteriors: Hyper) -> list[str]:
    return [
        f"<b>{name}</b>: weight {_value(weight)}<br>{_posterior_text(plan, inner)}"
        f"<br>output{'s' if len(outputs) > 1 else ''} {', '.join(map(_short, outputs[:6]))}"
        f"{'…' if len(outputs) > 6 else ''}"
        for weight, inner, outputs in zip(posteriors.outer, posteriors.inners.T, posteriors.merged, strict=True)
    ]


def _place(distributions: Array, corners: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(floats(np.asarray(distributions)) @ corners)


@dataclass(frozen=True, eq=False)
class _Mark:
    """A point of the figure with what is written beside it."""

    place: NDArray[np.float64]
    weight: float
    text: str


def _marks(plan: _SimplexPlan, corners: NDArray[np.float64], scale: float) -> list[_Mark]:
    """Secrets, vertices and inners, what is at one place as one mark: letter, then weights in colours of mechanisms."""
    secrets = [_Mark(corner, 0.0, f"<b>{name}</b>") for name, corner in zip(plan.secrets, corners, strict=True)]
    marks: list[_Mark] = []
    if "vertices" in plan.show:
        places = _place(plan.posteriors, corners)
        marks += [_Mark(place, 0.0, f"<b>{name}</b>") for place, name in zip(places, plan.names, strict=True)]
    for k, (_, posteriors) in enumerate(plan.hypers):
        for place, weight in zip(_place(posteriors.inners.T, corners), posteriors.outer, strict=True):
            written = f'<span style="color:{ink(_colour(k))}">{_value(weight)}</span>'
            text = written if len(posteriors) <= _MOST_WEIGHTS else ""
            same = (i for i, mark in enumerate(marks) if np.linalg.norm(mark.place - place) * scale < _SAME_PLACE)
            at = next(same, None)
            if at is None:
                marks.append(_Mark(place, float(weight), text))
            else:
                known = marks[at]
                marks[at] = _Mark(known.place, max(known.weight, float(weight)), f"{known.text} {text}".strip())
    return secrets + sorted(marks, key=lambda mark: not mark.text)


def _colour(k: int) -> str:
    return SERIES[k % len(SERIES)]


def _flat(plan: _SimplexPlan) -> go.Figure:
    """Three secrets: the triangle, first secret left, second on top, third right."""
    side, below, top = 26 / _PIXELS, 34 / _PIXELS, _FLAT[1, 1] + 34 / _PIXELS
    figure = canvas(width=round(_PIXELS * (1 + 2 * side)) + 48, height=round(_PIXELS * (top + below)) + 32)
    figure.update_xaxes(range=[-side, 1 + side], constrain="domain", visible=False)
    figure.update_yaxes(range=[-below, top], constrain="domain", visible=False, scaleanchor="x")
    if "region" in plan.show:
        outline = plan.region.outline()
        x, y = _place(plan.posteriors, _FLAT)[[*outline, outline[0]]].T.tolist()
        figure.add_scatter(
            x=x, y=y, mode="lines", fill="toself", name="private posteriors", hoverinfo="skip",
            fillcolor=tint(ROLES["region"], 0.35), line={"color": ROLES["region"], "width": 1},
        )  # fmt: skip
    if "constraints" in plan.show:
        _draw_lines(figure, plan)
    x, y = _FLAT[[0, 1, 2, 0]].T.tolist()
    frame = {"color": ROLES["frame"], "width": 1.5}
    figure.add_scatter(x=x, y=y, mode="lines", line=frame, hoverinfo="skip", showlegend=False)
    _draw_points(figure, plan)
    # labels may be in the margins
    room = (-_PIXELS * side - 20, -_PIXELS * below - 12, _PIXELS * (1 + side) + 20, _PIXELS * top + 12)
    marks = _marks(plan, _FLAT, _PIXELS)
    for label in _labels(plan, marks, _FLAT, lambda at: (_PIXELS * at, np.ones(len(at))), _DISC, room):
        figure.add_annotation(**label)
    return figure


def _draw_lines(figure: go.Figure, plan: _SimplexPlan) -> None:
    """The line of each constraint, from the corner of the third secret to the opposite side."""
    for k, one in enumerate(plan.constraints):
        x, y = (one.ends(3) @ _FLAT).T.tolist()
        figure.add_scatter(
            x=x, y=y, mode="lines", name=one.text, hoverinfo="name",
            line={"color": MUTED[k % len(MUTED)], "width": 1.6, "dash": "solid" if one.x < one.z else "5px,4px"},
        )  # fmt: skip


def _draw_points(figure: go.Figure, plan: _SimplexPlan) -> None:
    """Discs, the smaller ones on top, then vertices and the prior; in the legend they come the other way round."""
    discs = [
        (sqrt(float(weight)), k, x, y, text)
        for k, (name, posteriors) in enumerate(plan.hypers)
        for weight, (x, y), text in zip(
            posteriors.outer,
            _place(posteriors.inners.T, _FLAT).tolist(),
            _inner_texts(plan, name, posteriors),
            strict=True,
        )
    ]
    seen: set[int] = set()
    for k, run in groupby(sorted(discs, key=lambda disc: -disc[0]), key=lambda disc: disc[1]):
        sizes, _, x, y, texts = zip(*run, strict=True)
        figure.add_scatter(
            x=x, y=y, mode="markers", name=plan.hypers[k][0], hoverinfo="text", hovertext=texts,
            legendgroup=f"mechanism {k}", showlegend=k not in seen, legendrank=2000 + k,
            marker={"color": tint(_colour(k), 0.55), "size": [2 * _DISC * size for size in sizes], "opacity": 1,
                    "line": {"color": _colour(k), "width": 1.5}},
        )  # fmt: skip
        seen.add(k)
    dot = {"color": ROLES["vertex"], "size": 2 * _DOT, "line": {"color": "white", "width": 1}}
    cross = {"symbol": "cross-thin", "size": 12, "line": {"color": ROLES["prior"], "width": 2}}
    _draw_vertices_and_prior(figure.add_scatter, plan, _FLAT, dot, cross)


def _draw_vertices_and_prior(
    add: Callable[..., Any],
    plan: _SimplexPlan,
    corners: NDArray[np.float64],
    dot: dict[str, Any],
    cross: dict[str, Any],
) -> None:
    """The same marks in the plane and in space."""
    name = "uniform prior" if len(set(plan.prior.weights.tolist())) == 1 else "prior"
    prior = [f"<b>{name}</b><br>{_posterior_text(plan, plan.prior.weights)}"]
    for part, called, distributions, texts, marker in (
        ("vertices", "vertices", plan.posteriors, _vertex_texts(plan), dot),
        ("prior", name, plan.prior.weights[None], prior, cross),
    ):
        if part in plan.show:
            at = dict(zip("xyz", _place(distributions, corners).T.tolist(), strict=False))
            add(**at, mode="markers", name=called, hovertext=texts, hoverinfo="text", marker=marker)


def _labels(
    plan: _SimplexPlan,
    marks: list[_Mark],
    corners: NDArray[np.float64],
    screen: Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]],
    largest: float,
    frame: tuple[float, ...],
) -> list[dict[str, Any]]:
    """Annotations for the marks that have a text, away from the prior and clear of every mark; secrets are larger.

    ``screen`` says at which pixels points are seen, and how large a unit is there.
    """
    places = np.array([*(mark.place for mark in marks), _place(plan.prior.weights, corners)])
    pixels, units = screen(places)
    radii = [max(_DOT, largest * sqrt(mark.weight) * unit) for mark, unit in zip(marks, units, strict=False)] + [7.0]
    if len(corners) == 3:
        outward = places[:-1] - places[-1]
        outward[:3] = [[0, -1], [0, 1], [0, -1]]
    else:
        outward = pixels[:-1] - pixels[-1]
    outward[np.abs(outward).sum(axis=1) < 1e-9] = (0, -1)  # at the prior: below
    shifts = label_shifts(pixels, radii, [mark.text for mark in marks if mark.text], outward, frame)
    return [
        {"text": mark.text, **dict(zip("xyz", mark.place.tolist(), strict=False)), "xshift": right, "yshift": up,
         "showarrow": False, "bgcolor": "rgba(255,255,255,0.75)", "borderpad": 0,
         "font": {"size": 16 if n < len(corners) else FONT_SIZE}}
        for n, (mark, (right, up)) in enumerate(zip(marks, shifts, strict=False))
    ]  # fmt: skip


def _solid(plan: _SimplexPlan) -> go.Figure:
    """Four secrets: the tetrahedron, the solid of private posteriors inside it."""
    figure = canvas()
    axis = {"visible": False, "showspikes": False, "range": [-_REACH, _REACH]}
    figure.update_layout(
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        legend={"x": 0.98, "y": 0.95},
        scene={
            "xaxis": axis, "yaxis": axis, "zaxis": axis, "aspectmode": "cube", "dragmode": "orbit",
            "camera": {"eye": dict(zip("xyz", _EYE, strict=True)), "center": dict(zip("xyz", _TARGET, strict=True))},
        },
    )  # fmt: skip
    _draw_segments(figure, _SOLID, list(combinations(range(4), 2)), ROLES["frame"], 2)
    places = _place(plan.posteriors, _SOLID)
    if "region" in plan.show:
        _draw_facets(figure, plan, places)
        _draw_segments(figure, places, list(plan.region.edges), _EDGE, 4)
    if "constraints" in plan.show:
        _draw_planes(figure, plan)
    dot, cross = {"color": ROLES["vertex"], "size": _DOT}, {"symbol": "cross", "size": 5, "color": ROLES["prior"]}
    _draw_vertices_and_prior(figure.add_scatter3d, plan, _SOLID, dot, cross)
    for k, (name, posteriors) in enumerate(plan.hypers):
        _draw_balls(figure, plan, name, posteriors, _colour(k))
    right, up = figure.layout.width / 2, figure.layout.height / 2
    marks = _marks(plan, _SOLID, _PIXELS / sqrt(3))  # before the solid is turned they cover nothing
    labels = _labels(plan, marks, _SOLID, partial(_screen, height=2 * up), _BALL, (-right, -up, right, up))
    return figure.update_layout(scene_annotations=labels)


def _draw_segments(
    figure: go.Figure, places: NDArray[np.float64], ends: list[tuple[int, int]], colour: str, width: float
) -> None:
    paths = segments(places[list(pair)].tolist() for pair in ends)
    figure.add_scatter3d(
        **paths, mode="lines", line={"color": colour, "width": width}, hoverinfo="skip", showlegend=False
    )


def _draw_facets(figure: go.Figure, plan: _SimplexPlan, places: NDArray[np.float64]) -> None:
    """The facets of the solid, each cut into triangles; under the pointer, the constraint that makes it."""
    written = {one.pair: one.text.replace("≤", "=") for one in plan.constraints}
    for n, (pair, corners) in enumerate(plan.region.facets.items()):
        x, y, z = places[list(corners)].T.tolist()
        fan = range(1, len(corners) - 1)
        figure.add_mesh3d(
            x=x, y=y, z=z, i=[0] * len(fan), j=list(fan), k=[j + 1 for j in fan], color=ROLES["region"], opacity=0.3,
            flatshading=True, name="private posteriors", legendgroup="region", showlegend=n == 0, hoverinfo="text",
            text=written[pair], lighting={"ambient": 0.8, "diffuse": 0.4, "specular": 0.05},
        )  # fmt: skip


def _draw_planes(figure: go.Figure, plan: _SimplexPlan) -> None:
    """Each constraint as the triangle in which its plane cuts the tetrahedron; off until the legend is clicked."""
    title = {"text": "planes (click)", "font": {"size": 12, "color": ROLES["faint"]}}
    for n, one in enumerate(plan.constraints):
        x, y, z = (one.ends(4) @ _SOLID).T.tolist()
        figure.add_mesh3d(
            x=x, y=y, z=z, i=[0], j=[1], k=[2], color=MUTED[n % len(MUTED)], opacity=0.25, name=one.text,
            hoverinfo="name", showlegend=True, visible="legendonly", legendrank=3000,
            legendgroup=one.text, legendgrouptitle=title if n == 0 else None,
        )  # fmt: skip


def _draw_balls(figure: go.Figure, plan: _SimplexPlan, name: str, posteriors: Hyper, colour: str) -> None:
    """A ball at each inner; seen from anywhere, its area is the outer weight."""
    points, triangles = sphere()
    radii = _BALL * np.sqrt(floats(posteriors.outer))
    centres = _place(posteriors.inners.T, _SOLID)
    x, y, z = (centres[:, None] + radii[:, None, None] * points).reshape(-1, 3).T.tolist()
    i, j, k = (np.arange(len(posteriors))[:, None, None] * len(points) + triangles).reshape(-1, 3).T.tolist()
    texts = [text for text in _inner_texts(plan, name, posteriors) for _ in range(len(points))]
    figure.add_mesh3d(
        x=x, y=y, z=z, i=i, j=j, k=k, color=colour, name=name, showlegend=True, text=texts, hoverinfo="text",
        legendrank=2000, lightposition={"x": -2000, "y": -4000, "z": 6000},
        lighting={"ambient": 0.7, "diffuse": 0.5, "specular": 0.15, "roughness": 0.6},
    )  # fmt: skip


def _screen(places: NDArray[np.float64], height: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Pixels at which the camera shows points, and how many a unit has there; plotly sees 45° from top to bottom."""
    forward = (_TARGET - _EYE) / np.linalg.norm(_TARGET - _EYE)
    right = np.cross(forward, [0, 0, 1])
    right /= np.linalg.norm(right)
    rays = places / (2 * _REACH) - _EYE
    zoom = height / (2 * tan(np.pi / 8)) / (rays @ forward)
    seen = np.stack([rays @ right, rays @ np.cross(right, forward)], axis=1)
    return seen * zoom[:, None], zoom / (2 * _REACH)
