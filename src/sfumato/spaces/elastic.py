"""Elastic metrics: distances that count more in some places than in others.

Where few people live, a kilometre hides less than in a city. Public positive weights say how much a unit of length
counts at each place: an edge from x to z has its length times (w_x + w_z)/2, and distances are the shortest paths along
such edges, which are a metric whatever the weights are. A promise with rate ε is then one with ε·w for each unit of
length among places of weight w: larger weights promise less.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isclose
from typing import Any

import numpy as np

from sfumato.arguments import items
from sfumato.errors import InvalidInput, shown
from sfumato.labels import in_order
from sfumato.numbers import as_written, nearest_float, object_array
from sfumato.spaces.distances import Distances, Form
from sfumato.spaces.finite import Edges, FiniteSpace, Pairs, as_space, path_metric
from sfumato.spaces.foreign import is_networkx
from sfumato.spaces.ground import Ground, earth_radius, sphere_radius, whole_grains
from sfumato.spaces.lengths import METRES, in_unit
from sfumato.spaces.roads import roads

_LARGEST_SUM = 2**53  # Beyond this, sums of integers in doubles would be rounded.
_SAME_RADIUS = 1e-6  # a radius is found from distances up to this
_ROUNDING = 1 - 2.0**-51  # a double that is a root, or a product, times this is not longer than what it stands for


def elastic(space: FiniteSpace | Any, weights: Any, *, within: Any = None) -> FiniteSpace:
    """The space with distances that are stretched by weights; labels, coordinates and cells stay.

    Parameters
    ----------
    space
        Any finite space, or a graph of networkx, as :func:`~sfumato.spaces.roads.roads` takes it.
    weights
        A positive number for each place, in order or by label; they must be public. With weights 1 nothing changes.
    within
        Of a space that is no graph, join only places up to this distance (``"500 m"``), so that longer ways lead
        through the places between, and count what these weigh. Otherwise all places are joined.

    Examples
    --------
    >>> from sfumato.spaces.constructors import line
    >>> street = elastic(line(4, unit="km"), [1, 1, 3, 3])      # a kilometre counts threefold in the country
    >>> [street.distance(0, x) for x in range(4)]
    [0.0, 1.0, 3.0, 6.0]
    """
    home = roads(space) if is_networkx(space) else as_space(space)
    scale = _weights(weights, home)
    pairs, lengths = _links(home, within)
    stretched = _stretched(lengths, scale, pairs)
    dense = home.edges is None and within is None
    structure = replace(path_metric(len(home), Edges(pairs, stretched), dense=dense), ground=_ground(home))
    made = FiniteSpace(home.labels, structure, home.unit, f"{home.name}, elastic", home.coordinates)
    if within is not None and made.open_pairs > home.open_pairs:
        raise InvalidInput(
            f"within {shown(within)} no chain joins all places of {home.name} that have a distance: take a longer one"
        )
    return made


def _weights(weights: Any, home: FiniteSpace) -> list[Fraction]:
    values = items(in_order(weights, home.labels, "weights"), "weights")
    if len(values) != len(home):
        raise InvalidInput(f"{len(values)} weights for {len(home)} places")
    found = [as_written(value, "a weight") for value in values]
    for label, value in zip(home.labels, found, strict=True):
        if value <= 0:
            raise InvalidInput(f"weights are positive, that of {shown(label)} is {shown(value)}")
    return found


def _links(home: FiniteSpace, within: Any) -> tuple[Pairs, Distances]:
    """The pairs that are joined, and how far they are apart."""
    pairs, lengths = home.pairs, home.pair_distances
    if within is None:
        return pairs, lengths
    if home.edges is not None:
        raise InvalidInput(f"{home.name} is a graph, whose edges join its places: leave within out")
    limit = nearest_float(in_unit(within, home.unit, "within"))
    near = np.triu(home.distances.floats <= limit, 1)
    pairs = Pairs(*np.nonzero(near))
    return pairs, replace(home.distances, values=home.distances.values[pairs.first, pairs.second].copy())


def _stretched(lengths: Distances, scale: list[Fraction], pairs: Pairs) -> Distances:
    """Each length times the mean weight of its ends: fractions are exact, floats rounded down, with exact sums."""
    mean = [(scale[x] + scale[z]) / 2 for x, z in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)]
    if lengths.form is Form.RATIONAL and len(mean):
        products = [lengths.unit * int(v) * w for v, w in zip(lengths.values.tolist(), mean, strict=True)]
        found = Distances.parse(object_array(products), "stretched lengths", 1)
        if found.form is Form.RATIONAL and sum(found.values.tolist()) < _LARGEST_SUM:
            return found
    rounding = 1.0 if all(w == 1 for w in mean) and lengths.form is Form.FLOAT else _ROUNDING
    with np.errstate(over="ignore"):
        products_in_floats = lengths.floats * np.array([nearest_float(w) for w in mean]) * rounding
    if not np.isfinite(products_in_floats).all():
        raise InvalidInput("a stretched length is beyond the range of floats: give smaller weights")
    return Distances(Form.FLOAT, whole_grains(products_in_floats, len(scale)))


def _ground(home: FiniteSpace) -> Ground | None:
    """Places on a sphere stay places on it, although their distances are no great circles any more."""
    if home.ground is not None or home.coordinates is None or home.coordinates.shape[1] != 2:
        return home.ground
    radius = sphere_radius(home) if home.unit in METRES else None
    return Ground() if radius is not None and isclose(radius, earth_radius(home.unit), rel_tol=_SAME_RADIUS) else None
