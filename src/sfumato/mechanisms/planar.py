"""Noise in the plane on a grid: planar Laplace and planar geometric, with the ε that is left after discretisation.

Planar Laplace noise has the density ε²/2π · e^{−ε|z|}, planar geometric noise the probabilities λ e^{−ε|z|} on the
infinite grid. What lands anywhere is moved to the nearest point of the grid, so inner points have square cells, those
on a side half-infinite strips, those in a corner quadrants. Before the move both need exactly ε; moving is a
post-processing, so the result needs no more, and the planar Laplace noise less, because a cell has points beside the
line through two secrets, where their distances differ by less than the distance between them.

How the numbers are found. Noise does not depend on the secret and is symmetric, so all of it is one table of masses of
rectangles I × J, with I and J among [(k − ½)h, (k + ½)h] and the rest of the half-line behind the last of them; strips
and quadrants are sums of these. Each I is cut into panels no wider than 4/ε and no wider than twice their distance
from 0, with 16 Gauss nodes each. Panel by panel e^{−ε|z|} is analytic far enough around: a Bernstein ellipse of
parameter 2 + √3 leaves an error of (2 + √3)^−32 ≈ 5e-19 of the mass. The square around the secret is an integral over
angles instead, the radial one being 1 − (1 + εr)e^{−εr}. All terms are positive, so masses as small as 1e-300 are good
to some 1e-13 of themselves. For sums over a lattice the same holds with Gauss' rule for sums, whose nodes are the
zeros of Gram's polynomials. Half-lines end where e^{−44} ≈ 8e-20 of their mass is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, isfinite, nextafter, pi, sqrt
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal
from scipy.special import gammainc

from sfumato.arguments import flag, one_of
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.repair import quantise
from sfumato.certify.verify import prove
from sfumato.errors import NotSupported, PrivacyViolation
from sfumato.mechanisms.continuous.density import gauss
from sfumato.mechanisms.exponential import largest_scale, needed_epsilon, true_epsilon
from sfumato.mechanisms.places import places_of, planar_laplace_on_places
from sfumato.mechanisms.proved import LARGEST_TABLE
from sfumato.numbers import Floats, exact
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.spaces.box import Box, box_of_points
from sfumato.spaces.finite import FiniteSpace

_PANEL_NODES = 16  # Gauss–Legendre nodes of a panel.
_WIDEST_PANEL = 4.0  # No panel is wider, in units of 1/ε.
_TAIL_CUT = 44.0  # e^-44 = 8e-20 of a half-line's mass lies behind its end
_LARGEST_EXPONENT = 745.0  # e^-745 is the smallest double
_SAME_DISTANCE = 1e-9  # Distances and coordinates of a grid differ by no more than their roundings.
_LOGARITHM_ERROR = 1e-11  # masses are good to 1e-13 and logarithms to 1e-12: this much of ε is given away
_CLOSE = 0.999  # of ε: noise between places that needs so much of it has found its size
_MOST_TRIES = 8  # the kernel rounds e^{εd} down to 62 bits; a few units in the last place of ε make up for it

Plane: TypeAlias = tuple[Box, NDArray[np.int64]]
"""The box with a cell around each point of a full grid in the plane, and the cell of each secret."""


def plane_of(space: FiniteSpace) -> Plane:
    """The grid of a space with Euclidean distances and coordinates in the plane.

    Raises
    ------
    NotSupported
        If the points are no full grid, or the distances not those of the coordinates.

    Examples
    --------
    >>> from sfumato.spaces import grid
    >>> print(plane_of(grid(3, 2, step="1/2"))[0])
    [-1/4, 5/4] × [-1/4, 3/4]
    """
    refusal = NotSupported(f"planar noise on {space.name}", ["a full Euclidean grid, such as grid(8, 8)"])
    where = space.coordinates
    if where is None or where.shape[1] != 2:
        raise refusal
    if len(space) > LARGEST_TABLE:
        raise NotSupported(f"a table of {len(space)} secrets and outputs", [f"at most {LARGEST_TABLE}"])
    plane = box_of_points(where)
    gaps = np.hypot(*(axis[:, None] - axis[None, :] for axis in where.T))
    if (
        plane is None
        or not np.ptp(plane[0].spacing[1]) <= _SAME_DISTANCE * plane[0].spacing[1].max()
        or not np.allclose(gaps, space.distances.floats, rtol=_SAME_DISTANCE, atol=0)
    ):
        raise refusal
    return plane


def planar_laplace(
    privacy: PrivacyType, *, cells: Literal["remapped", "centres"] = "remapped", within: bool = False
) -> Mechanism:
    """Planar Laplace noise (Andrés et al. 2013) on a Euclidean grid or on places, with the ε it really needs.

    The noise is made for the ε of ``privacy``, the *nominal* one. The result promises what it needs after
    discretisation, rounded up; both are in the provenance. On more than four points no loss is known for which it is
    optimal (on two it is random response). Where the tight-constraints mechanism exists, that one guesses a uniformly
    distributed secret at least as well, and lost less distance on all grids that were tried; consumers with a prior
    may gain from a remap. Its use is that noise can be drawn without a table.

    Parameters
    ----------
    cells
        ``"remapped"``: noise is moved to the nearest point of the grid; needs less than the nominal ε. Places that are
        no grid (:mod:`sfumato.mechanisms.places`) may need a little more, so that ε is lowered by that.
        ``"centres"``: the density at the points, rows divided by their sums, as is often programmed; that
        needs more than the nominal ε, at most twice as much, unless all sums are equal: on 1 × 2 and 2 × 2 points it
        is the tight-constraints mechanism and needs ε.
    within
        Make the noise so that the promise of ``privacy`` itself is kept and, as far as floats can tell, just so: less
        noise than the nominal one where cells are remapped, no less for ``"centres"``.

    Examples
    --------
    >>> from sfumato.spaces import grid
    >>> privacy = PrivacyType(grid(4, 4), epsilon=1)
    >>> [round(planar_laplace(privacy, cells=cells).privacy.rate, 4) for cells in ("remapped", "centres")]
    [0.9942, 1.2932]
    >>> planar_laplace(privacy, within=True)
    Mechanism(16 secrets → 16 outputs, PrivacyType(grid(4, 4, euclidean), epsilon=1), proved)
    """
    privacy = as_type(privacy)
    remapped, plane = one_of(cells, ("remapped", "centres"), "cells") == "remapped", in_the_plane(privacy.space)
    if remapped and plane is None:
        return _on_places(privacy, flag(within, "within"))
    if remapped and plane is not None:
        return _on_grid("planar_laplace", privacy, lambda rate: planar_laplace_masses(plane, rate), within, 1.0, 4.0)
    distances = privacy.space.distances.floats
    return _on_grid(
        "planar_laplace, centres", privacy, lambda rate: _divided(np.exp(-rate * distances)), within, 2.0, 2.0
    )


def planar_geometric(privacy: PrivacyType, *, within: bool = False) -> Mechanism:
    """Planar geometric noise λ e^{−ε|z|} on the infinite grid, moved to the nearest point of a finite one.

    The probability of an inner point is λ e^{−ε d(x, y)} with one λ for all secrets, so this is the tight-constraints
    mechanism of the infinite grid (ElSalamouny, Chatzikokolakis and Palamidessi 2014), followed by a remap. It
    needs the nominal ε exactly as soon as the grid has an inner point. On more than four points no loss is known for
    which it is optimal. On a grid much larger than 1/ε it guesses a uniformly distributed secret (``losses.bin``)
    nearly as well as any mechanism: Σ_y M(y)(y) Σ_x e^{−ε d(x, y)} is at most the number of secrets for all of them.

    Parameters
    ----------
    within
        Make the noise so that the promise is just kept: less noise on grids without inner points.

    Examples
    --------
    >>> from sfumato.spaces import grid
    >>> planar_geometric(PrivacyType(grid(3, 3), epsilon=1))
    Mechanism(9 secrets → 9 outputs, PrivacyType(grid(3, 3, euclidean), epsilon=1), proved)
    """
    privacy = as_type(privacy)
    plane = plane_of(privacy.space)
    return _on_grid("planar_geometric", privacy, lambda rate: planar_geometric_masses(plane, rate), within, 1.0, 4.0)


def in_the_plane(space: FiniteSpace) -> Plane | None:
    """The grid of a space, None for places in a plane that are none; others are refused."""
    with suppress(NotSupported):
        return plane_of(space)
    places_of(space)
    return None


def _on_places(privacy: PrivacyType, within: bool) -> Mechanism:
    """Planar Laplace noise between places: a lattice may need a little more than its nominal ε, and gets less then."""
    space, rate = privacy.space, privacy.rate
    where, stretch = places_of(space)
    nominal, found = rate / stretch, None
    for _ in range(_MOST_TRIES):
        matrix = planar_laplace_on_places(where, nominal)
        needed = needed_epsilon(matrix, space)
        if not isfinite(needed):  # chances that no double holds: a smaller nominal ε would be 0
            break
        if needed <= rate:
            found = matrix, nominal
            if not within or needed > _CLOSE * rate:
                break
        nominal *= rate / needed * (1 - _LOGARITHM_ERROR if needed > rate else 1.0)
    if found is None:
        raise NotSupported(f"planar noise on {space.name}", ["the exponential mechanism", "a smaller epsilon"])
    return _settled("planar_laplace", privacy, *found, within, 1.0)


def _on_grid(
    name: str, privacy: PrivacyType, masses: Callable[[float], Floats], within: bool, worst: float, most: float
) -> Mechanism:
    """The mechanism of a table of masses for a nominal ε, rounded to integers, and a promise that is proved for it.

    ``worst`` times the nominal ε is always enough; nominal values up to ``most`` / ``worst`` times ε are worth a look.
    """
    space = privacy.space
    nominal = privacy.rate
    if flag(within, "within"):
        nominal = largest_scale(
            lambda rate: needed_epsilon(masses(rate), space), nominal, nominal / worst, nominal * most / worst
        )
    return _settled(name, privacy, masses(nominal), nominal, within, worst)


def _settled(name: str, privacy: PrivacyType, matrix: Floats, nominal: float, within: bool, worst: float) -> Mechanism:
    """The table in integers, with the promise that is proved for it."""
    space = privacy.space
    cells = needed_epsilon(matrix, space)
    # post-processing never needs more than the noise does; masses below 1e-320 are 0 and need a guess
    enough = min(cells * (1 + _LOGARITHM_ERROR), worst * nominal)
    first = privacy if within else PrivacyType(space, epsilon=exact(max(enough, nominal * _LOGARITHM_ERROR)))
    rounded = quantise(matrix, first, outputs=space.labels).mechanism
    needed = true_epsilon(rounded)
    notes = {"made by": name, "nominal epsilon": nominal, "epsilon of the masses": min(cells, worst * nominal),
             "smallest epsilon": needed}  # fmt: skip
    for promise in () if within or needed == 0 else _promises(needed, privacy):
        with suppress(PrivacyViolation):
            return prove(rounded.weights, promise, outputs=space.labels, provenance=notes)
    return prove(rounded.weights, first, outputs=space.labels, provenance=notes)


def _promises(needed: float, nominal: PrivacyType) -> Iterator[PrivacyType]:
    """The nominal promise where it is about what is needed, then the least ones, of which the kernel accepts one."""
    if abs(needed - nominal.rate) <= 2 * _LOGARITHM_ERROR * needed:
        yield nominal
    for _ in range(_MOST_TRIES):
        yield PrivacyType(nominal.space, epsilon=exact(needed))
        needed = nextafter(needed, 2 * needed + 1)


# ----------------------------------------------------------------- masses


def planar_laplace_masses(plane: Plane, epsilon: float) -> Floats:
    """The probability of each cell for each secret under planar Laplace noise, in floats.

    Examples
    --------
    >>> from sfumato.spaces import grid
    >>> table = planar_laplace_masses(plane_of(grid(1, 3)), 1.0)
    >>> table[0].round(6).tolist(), bool(abs(table.sum(axis=1) - 1).max() < 1e-13)
    ([0.64798, 0.193845, 0.158175], True)
    """
    atoms = _atoms(plane, epsilon, _laplace_axis) / (2 * pi)
    atoms[0, 0] = _central_mass(epsilon * float(plane[0].step[0]) / 2)
    return _table(plane, atoms)  # rows sum to 1 by themselves, which the tests look at


def planar_geometric_masses(plane: Plane, epsilon: float) -> Floats:
    """The probability of each point for each secret under planar geometric noise, in floats."""
    return _divided(_table(plane, _atoms(plane, epsilon, _lattice_axis)))


@dataclass(frozen=True, eq=False)
class _Axis:
    """Nodes and weights along one side, in units of 1/ε; atom k has the nodes from ``starts[k]`` on.

    Atom 0 is the middle, both halves; atoms 1, …, n − 1 are the cells beside it; atom n is all behind them.
    """

    nodes: Floats
    weights: Floats
    starts: NDArray[np.int64]


def _laplace_axis(count: int, step: float, across: float) -> _Axis:
    """Panels of cells; ``across`` is how far the other side reaches."""
    parts = [_panels(_cut(0.0, step / 2, step / 2), 2.0)]
    parts += [_panels(_cut((k - 0.5) * step, (k + 0.5) * step, step), 1.0) for k in range(1, count)]
    start = (count - 0.5) * step
    edges = [start, start + min(2 * start, _WIDEST_PANEL)]
    while edges[-1] < _end(start, across):
        edges.append(edges[-1] + min(2 * edges[-1], _WIDEST_PANEL))
    parts.append(_panels(np.array(edges), 1.0))
    return _axis(parts)


def _cut(low: float, high: float, width: float) -> Floats:
    """A cell in equal panels; what lies beyond the smallest double is left out."""
    if low > _LARGEST_EXPONENT:
        return np.array([low, high])
    last = min(high, _LARGEST_EXPONENT + _WIDEST_PANEL)
    return np.linspace(low, last, max(1, ceil(min(width, last - low) / _WIDEST_PANEL)) + 1)


def _panels(edges: Floats, factor: float) -> tuple[Floats, Floats]:
    nodes, weights = gauss(_PANEL_NODES)
    width = np.diff(edges)[:, None]
    return (edges[:-1, None] + width * nodes).ravel(), factor * (width * weights).ravel()


def _end(start: float, across: float) -> float:
    """Where, even for points as far across as this, e^{−|z|} has fallen by e^-44 from its value at the start."""
    if start > _LARGEST_EXPONENT:
        return start
    across = min(across, _LARGEST_EXPONENT)
    return sqrt((sqrt(start**2 + across**2) + _TAIL_CUT) ** 2 - across**2)


def _axis(parts: list[tuple[Floats, Floats]]) -> _Axis:
    sizes = [len(nodes) for nodes, _ in parts]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return _Axis(np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), starts)


def _lattice_axis(count: int, step: float, across: float) -> _Axis:
    """The points 0, …, count − 1 and the sum over all behind them."""
    parts = [(np.array([k * step]), np.ones(1)) for k in range(count)]
    first, last = count, ceil(_end(count * step, across) / step) + 1
    nodes, weights = [], []
    while first < last:
        width = min(max(1, 2 * first - 1), max(1, int(_WIDEST_PANEL / step)), last - first)
        offsets, shares = _sum_rule(width)
        nodes.append((first + offsets) * step)
        weights.append(shares)
        first += width
    parts.append((np.concatenate(nodes), np.concatenate(weights)))
    return _axis(parts)


@lru_cache(maxsize=64)
def _sum_rule(width: int) -> tuple[Floats, Floats]:
    """Gauss' rule for f(0) + … + f(width − 1): all points of short sums, the zeros of Gram's polynomial for long ones.

    The recurrence of these polynomials has the coefficients k²(w² − k²)/(4(4k² − 1)).
    """
    if width <= _PANEL_NODES:
        return np.arange(width, dtype=np.float64), np.ones(width)
    k = np.arange(1, _PANEL_NODES, dtype=np.float64)
    off = np.sqrt(k**2 * (float(width) ** 2 - k**2) / (4 * (4 * k**2 - 1)))
    nodes, vectors = map(np.asarray, eigh_tridiagonal(np.zeros(_PANEL_NODES), off))
    return np.asarray(nodes + (width - 1) / 2), np.asarray(width * vectors[0] ** 2)


def _atoms(plane: Plane, epsilon: float, axis: Callable[[int, float, float], _Axis]) -> Floats:
    """Σ e^{−|z|} over the nodes of each pair of atoms."""
    shape, step = plane[0].shape, epsilon * float(plane[0].step[0])
    first, second = (axis(count, step, across * step) for count, across in (shape, shape[::-1]))
    result = np.empty((len(first.starts), len(second.starts)))
    ends = [*first.starts[1:].tolist(), len(first.nodes)]
    for k, (start, stop) in enumerate(zip(first.starts.tolist(), ends, strict=True)):
        values = np.exp(-np.sqrt(first.nodes[start:stop, None] ** 2 + second.nodes[None, :] ** 2))
        row = first.weights[start:stop] @ values
        result[k] = np.add.reduceat(row * second.weights, second.starts)
    return result


def _central_mass(half: float) -> float:
    """The mass of the square [−half, half]²: 1 − (1 + r)e^{−r}, averaged over all directions."""
    nodes, weights = gauss(2 * _PANEL_NODES)
    return float(weights @ gammainc(2, half / np.cos(nodes * pi / 4)))


def _table(plane: Plane, atoms: Floats) -> Floats:
    """From atoms to a table over secrets and outputs."""
    shape = plane[0].shape
    first, second = (_combinations(count) for count in shape)
    masses = first @ atoms @ second.T
    kinds = [_kinds(place, count) for place, count in zip(np.unravel_index(plane[1], shape), shape, strict=True)]
    return np.asarray(masses[kinds[0], kinds[1]])


def _combinations(count: int) -> Floats:
    """Which atoms make up an interval: row k that of an inner point at offset k, row n + k that of an end."""
    atoms = np.eye(count + 1)
    behind = np.tril(np.ones((count + 1, count + 1))).T  # row k: all atoms from k on
    ends = behind[:count].copy()
    ends[0] = atoms[0] + (behind[1] if count > 1 else 2 * behind[1])
    return np.concatenate([atoms[:count], ends])


def _kinds(place: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    at_end = (place == 0) | (place == count - 1)
    return np.asarray(np.abs(place[:, None] - place[None, :]) + count * at_end[None, :])


def _divided(table: Floats) -> Floats:
    return np.asarray(table / table.sum(axis=1, keepdims=True))
