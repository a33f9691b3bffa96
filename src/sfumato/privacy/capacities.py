"""Capacities of a privacy type: the most that any mechanism of the type can leak, to anyone.

Write Φ_xy = e^{−εd(x,y)}. The multiplicative capacity of a mechanism is Σ_y max_x M_xy, the additive one
1 − Σ_y min_x M_xy. Outputs whose column has its maximum (minimum) at the same secret may be merged, so it is enough
to look at one output y for each secret, with the extreme entry M_yy.

**Multiplicative.** Privacy gives M_xy ≥ Φ_xy M_yy, so 1 = Σ_y M_xy ≥ Σ_y Φ_xy M_yy for every x. If z ≥ 0 solves
Φz = 1, the sum of these with weights z_x is Σ z ≥ Σ_y M_yy. The mechanism z_y Φ_xy has rows that sum to 1 and
private columns, and attains it.

**Additive.** Privacy gives M_xy ≤ e^{εd(x,y)} M_yy, so 1 ≤ Σ_y e^{εd(x,y)} M_yy for every x. If w ≥ 0 solves
Σ_y w_y e^{εd(x,y)} = 1, weighting with w_x gives Σ w ≤ Σ_y M_yy; the mechanism w_y e^{εd(x,y)} attains it.

**Additive on a tree.** Let c be the middle of a longest path, R its distance to the ends, and let it lie on the
edge between p and q, at distances a and b from them (a = b = 0 if it is a node). There are s, t ≥ 0 with
sΦ_py + tΦ_qy = e^{−ε(R + d(y, c))} for all y, and then s v_p + t v_q ≤ min_x v_x for every private column v.
Summed over columns, s + t ≤ Σ_y min_x M_xy; and z_y Φ_xy, where z ≥ 0 solves Φz = 1, has exactly that sum, since
the farthest secret from y has Φ_xy = e^{−ε(R + d(y, c))}. (``docs/theory/capacities.md`` has the details.)

Where no closed form applies, exact types with few vertices are decided by an exact program over the vertices (paper
A, Corollaries 17 and 18), all others are enclosed by a program over columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from sfumato.channels.channel import Channel
from sfumato.errors import NotSupported, UndecidedError, advice
from sfumato.measures.leakage import capacity
from sfumato.numbers import Array, exact, float_below, fmpq, is_exact, object_array
from sfumato.privacy.capacity_program import CapacityMethod, CapacityResult, enclosed_capacity, private_channel
from sfumato.privacy.similarity import ball_powers, ball_solution, exact_solution, quotient
from sfumato.privacy.type import PrivacyType, as_type, ball_rate
from sfumato.privacy.vertices import cheapest_mixture, vertices
from sfumato.spaces.distances import Form

_BALL_BITS = (128, 384)  # The sign of a solution is tried to be proved in these working precisions.
_LARGEST_SOLVED = 400  # Φz = 1 is solved for up to so many secrets where no tree helps.
_LARGEST_TREE = 1000  # A matrix of fractions is written down for up to so many secrets of a tree.
_ALWAYS_SOLVED = 60  # For fewer secrets it is not worth asking floats first.
_CLEARLY_NEGATIVE = -1e-6  # A float solution with an entry below this share of its largest one is not looked at again.
_MOST_VERTICES = 2000  # An exact program with so many columns takes seconds.
_MOST_SECRETS = 9  # The vertices of so many secrets are listed in a second.
# Where there are at most twice as many pairs as secrets, those of so many are listed in a second.
_MOST_SECRETS_SPARSE = 12


@dataclass(frozen=True, eq=False)
class TypeCapacities:
    """Both capacities of a type, with bounds, mechanisms and the ways they were found.

    Parameters
    ----------
    multiplicative, additive
        What some mechanism of the type attains: exact for exact types with a closed form or few vertices,
        otherwise a float that is rounded down.
    most_multiplicative, most_additive
        Mechanisms of the type, in rationals, that attain them; up to rounding where e^{εd} is irrational.
    multiplicative_bound, additive_bound
        What no mechanism of the type exceeds: the capacity itself if it is exact, otherwise rounded up.
    multiplicative_method, additive_method
        How each was found.
    """

    multiplicative: Fraction | float
    additive: Fraction | float
    most_multiplicative: Channel
    most_additive: Channel
    multiplicative_bound: Fraction | float
    additive_bound: Fraction | float
    multiplicative_method: CapacityMethod
    additive_method: CapacityMethod

    def __repr__(self) -> str:
        return f"TypeCapacities(multiplicative={self.multiplicative}, additive={self.additive})"


def capacities(privacy: PrivacyType) -> TypeCapacities:
    """The largest multiplicative and additive capacity of any mechanism of the type.

    Raises
    ------
    NotSupported
        For infinite distances.

    Examples
    --------
    >>> from sfumato.spaces import grid, line
    >>> capacities(PrivacyType(line(5), alpha="1/2"))
    TypeCapacities(multiplicative=7/3, additive=3/4)
    >>> both = capacities(PrivacyType(grid(4, 4), alpha="1/2"))
    >>> print(both.multiplicative_method)
    closed form, from the solution of Φz = 1
    >>> print(both.additive_method)
    program over columns, enclosed
    >>> both.additive <= both.additive_bound < both.additive + 1e-8
    True
    """
    privacy = as_type(privacy)
    if privacy.space.distances.infinite.any():
        raise NotSupported(
            f"capacities of {privacy.space.name}",
            ["finite distances" + advice(("space.restrict", "leaves one component"))],
        )
    multiplicative, additive = _closed_forms(privacy)
    if multiplicative is None or additive is None:
        rays = _few_rays(privacy)
        multiplicative = multiplicative or _by_program(privacy, rays, "multiplicative")
        additive = additive or _by_program(privacy, rays, "additive")
    return TypeCapacities(
        multiplicative.value, additive.value, multiplicative.channel, additive.channel,
        multiplicative.bound, additive.bound, multiplicative.method, additive.method,
    )  # fmt: skip


def _closed_forms(privacy: PrivacyType) -> tuple[CapacityResult | None, CapacityResult | None]:
    """Multiplicative and additive capacity by closed forms whose conditions are proved."""
    space = privacy.space
    # measured distances add up to within rounding only: what holds on a tree need not hold for them
    tree = len(space.pairs.first) == len(space) - 1 and space.distances.form is not Form.FLOAT
    if len(space) > (_LARGEST_TREE if tree else _LARGEST_SOLVED):
        return None, None
    table = space.distances
    distinct, where = np.unique(table.values, return_inverse=True)
    where = where.reshape(table.values.shape)
    promising = {sign: _may_be_positive(privacy, sign) for sign in (-1, 1)}
    rational = [privacy.exact_factor(value) for value in distinct.tolist()]
    if None not in rational:
        factors = [fmpq(factor) for factor in rational if factor is not None]
        return _Closed(privacy, tree, promising, where, factors).both()
    proved: tuple[CapacityResult | None, CapacityResult | None] = None, None
    for bits in _BALL_BITS:
        with flint.ctx.workprec(bits):
            balls = ball_powers(space, distinct, -ball_rate(privacy))
            more = _Closed(privacy, tree, promising, where, balls).both()
        proved = proved[0] or more[0], proved[1] or more[1]
        if None not in proved:
            break
    return proved


def _may_be_positive(privacy: PrivacyType, sign: int) -> bool:
    """Whether it is worth solving Σ w e^{±εd} = 1 in more than floats: they may say no, never yes."""
    if len(privacy.space) > _LARGEST_SOLVED:
        return False
    if len(privacy.space) <= _ALWAYS_SOLVED:
        return True
    logs = sign * privacy.log_bounds
    if logs.max() > 600:  # near the end of floats
        return False
    try:
        weights = np.linalg.solve(np.exp(logs), np.ones(len(logs)))
    except np.linalg.LinAlgError:
        return False
    return bool(weights.min() >= _CLEARLY_NEGATIVE * np.abs(weights).max())


@dataclass(frozen=True, eq=False)
class _Closed:
    """Closed forms over one set of numbers: rationals, or balls in the working precision.

    ``where`` says for each two secrets which of the ``factors`` e^{εd} is theirs, one for each distinct distance.
    """

    privacy: PrivacyType
    tree: bool
    promising: dict[int, bool]
    where: NDArray[np.int64]
    factors: list[Any]

    @property
    def rational(self) -> bool:
        """Whether the numbers are rationals."""
        return isinstance(self.factors[0], flint.fmpq)

    def both(self) -> tuple[CapacityResult | None, CapacityResult | None]:
        """The multiplicative and the additive capacity, where their conditions are proved."""
        decays = [1 / factor for factor in self.factors]
        z = self._tree_weights() if self.tree else self._weights(decays, -1)
        multiplicative = None if z is None else self._attained(sum(z), z, decays, CapacityMethod.TIGHT)
        w = self._weights(self.factors, 1)
        if w is not None:
            return multiplicative, self._attained(1 - sum(w), w, self.factors, CapacityMethod.LOOSE)
        if z is None or not self.tree:
            return multiplicative, None
        # distinct distances are sorted, so the largest index in a row is the farthest secret
        smallest = sum(weight * decays[k] for weight, k in zip(z, self.where.max(axis=1).tolist(), strict=True))
        return multiplicative, self._attained(1 - smallest, z, decays, CapacityMethod.TREE)

    def _tree_weights(self) -> list[Any] | None:
        """The solution of Φz = 1 on a tree: z_y = 1 − Σ 1/(1 + e^{εd}) over the edges at y."""
        first, second = self.privacy.space.pairs
        z = [self.factors[0] for _ in range(len(self.where))]  # the factor of distance 0 is 1
        for x, y in zip(first.tolist(), second.tolist(), strict=True):
            part = 1 / (1 + self.factors[self.where[x, y]])
            z[x] -= part
            z[y] -= part
        return z if all(weight >= 0 for weight in z) else None

    def _weights(self, numbers: list[Any], sign: int) -> list[Any] | None:
        """The solution of a linear system with right-hand side 1, if it is proved to be non-negative."""
        if not self.promising[sign]:
            return None
        solve = exact_solution if self.rational else ball_solution
        system = quotient(self.privacy.space)
        by_class = solve(system, numbers, [Fraction(1)] * len(system))
        if by_class is None or not all(weight >= 0 for weight in by_class):
            return None
        return [by_class[c] for c in system.classes]

    def _attained(self, value: Any, weights: list[Any], numbers: list[Any], method: CapacityMethod) -> CapacityResult:
        """The mechanism with columns weights_y · numbers, and its capacity."""
        space = self.privacy.space
        if not self.rational:
            matrix = np.array(
                [
                    [float((w * numbers[k]).mid()) for w, k in zip(weights, row, strict=True)]
                    for row in self.where.tolist()
                ]
            )
            kind = "multiplicative" if method is CapacityMethod.TIGHT else "additive"
            channel = private_channel(matrix, self.privacy, kind)
            low, high = nextafter(float(value.lower()), -inf), nextafter(float(value.upper()), inf)
            if space.distances.form is Form.FLOAT:
                # the columns are private by the triangle inequality, which measured distances may break by a rounding
                low = float_below(getattr(capacity(channel), kind))
            return CapacityResult(max(low, 1.0 if method is CapacityMethod.TIGHT else 0.0), high, channel, method)
        used = [y for y, weight in enumerate(weights) if weight > 0]
        rows = [[exact(weights[y] * numbers[row[y]]) for y in used] for row in self.where.tolist()]
        entries = object_array([entry for row in rows for entry in row], (len(rows), len(used)))
        channel = Channel(space, entries, [space.labels[y] for y in used])
        return CapacityResult(exact(value), exact(value), channel, method)


def _few_rays(privacy: PrivacyType) -> Array | None:
    """The rays of an exact type with few vertices, one row each; None for any other type."""
    space = privacy.space
    sparse = len(space.pairs.first) <= 2 * len(space)
    if not privacy.exact or len(space) > (_MOST_SECRETS_SPARSE if sparse else _MOST_SECRETS):
        return None
    try:
        corners = vertices(privacy)
    except UndecidedError:
        return None
    if len(corners) > _MOST_VERTICES:
        return None
    return corners.rays if is_exact(corners.rays) else None


def _by_program(privacy: PrivacyType, rays: Array | None, kind: str) -> CapacityResult:
    """Exactly over the vertices, or enclosed over columns.

    Post-processing, which is all that mechanisms add to sums Σ a_i v_i = 1 of rays, never raises a capacity. With rays
    scaled to maximum 1 the multiplicative capacity of the sum is Σ a_i and the additive one 1 − Σ a_i min_x v_i(x):
    both are linear.
    """
    if rays is None:
        return enclosed_capacity(privacy, kind)
    cost = rays.min(axis=1) if kind == "additive" else -np.ones(len(rays), dtype=np.int64)
    least, channel = cheapest_mixture(privacy.space, rays, cost)
    value = 1 - least if kind == "additive" else -least
    return CapacityResult(value, value, channel, CapacityMethod.VERTICES)
