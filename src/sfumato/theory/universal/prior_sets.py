"""Sets of priors over which a mechanism is judged: all of them, the regular ones, a hull, a ball.

Each is a cone {Gλ : λ ≥ 0, Aλ ≥ 0} cut at total weight 1, with integer matrices G and A, so that cells
of priors can be enumerated exactly in the coordinates λ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Any, TypeAlias

import numpy as np

from sfumato.arguments import items
from sfumato.channels.channel import check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import InvalidInput, NotSupported, shown
from sfumato.numbers import Array, Number, common_denominator, fractions, object_array
from sfumato.privacy.regular import corner_priors
from sfumato.privacy.type import PrivacyType
from sfumato.privacy.vertices import vertices
from sfumato.spaces.constructors import discrete
from sfumato.spaces.distances import Form
from sfumato.spaces.finite import FiniteSpace, as_space
from sfumato.spaces.lengths import in_unit

_MOST_FUNCTIONS = 5000  # A ball has at most so many inequalities: each is a step of the enumeration of cells.


@dataclass(frozen=True, eq=False)
class PriorSet:
    """Priors π = Gλ / total, λ ≥ 0 and Aλ ≥ 0: ``generators`` is G (secrets × coordinates), ``limits`` is A.

    ``centre`` has integer weights of one member, for balls.
    """

    name: str
    secrets: tuple[Any, ...]
    generators: Array
    limits: Array
    centre: Array | None = None

    def __repr__(self) -> str:
        return f"PriorSet({self.name}, {len(self.secrets)} secrets)"

    @property
    def everything(self) -> bool:
        """Whether it has all priors."""
        return self.name == "all"


Priors: TypeAlias = "str | PriorSet | Prior | Iterable[Prior]"


def prior_set(priors: Priors, privacy: PrivacyType) -> PriorSet:
    """What a caller may give for ``priors``: ``"all"``, ``"regular"``, a set, one prior or a list of them."""
    if isinstance(priors, PriorSet):
        check_secrets("set of priors and privacy type", privacy.space, priors)
        return priors
    if isinstance(priors, str):
        if priors == "all":
            return all_priors(privacy.space)
        if priors == "regular":
            return regular_priors(privacy)
        raise NotSupported(
            f"priors {shown(priors)}", ["all", "regular", "a list of priors", "ball(prior, radius, space)"]
        )
    given = hull([priors] if isinstance(priors, Prior) else priors)
    check_secrets("priors and privacy type", privacy.space, given)
    return given


def all_priors(space: FiniteSpace) -> PriorSet:
    """Every distribution over the secrets."""
    n = len(space)
    return PriorSet("all", space.labels, np.eye(n, dtype=np.int64).astype(object), _no_limits(n))


def hull(priors: Iterable[Prior]) -> PriorSet:
    """All mixtures of given priors; floats count as the numbers they store, divided by their total.

    Examples
    --------
    >>> hull([Prior([0, 1], [1, 0]), Prior([0, 1], ["1/2", "1/2"])]).generators.tolist()
    [[1, 1], [0, 1]]
    """
    given = [as_prior(prior) for prior in items(priors, "priors")]
    if not given:
        raise InvalidInput("the hull of no priors is empty: give at least one prior")
    check_secrets("the priors of a hull", *given)
    columns = [primitive(common_denominator(prior.weights)[0]) for prior in given]
    return PriorSet("hull", given[0].secrets, np.stack(columns, axis=1), _no_limits(len(given)))


def regular_priors(privacy: PrivacyType) -> PriorSet:
    """The hull of the corner priors (rounded to floats where the type is irrational)."""
    return hull(corner_priors(privacy))


def ball(prior: Prior, radius: Number, space: FiniteSpace | None = None) -> PriorSet:
    """All priors within a Wasserstein distance of one, or a total-variation distance if no space is given.

    The distance is max_h Σ_x h_x (π_x − p_x) over functions that change by no more than d(x, z) between x and z; the
    extreme ones are the vertices of the polytope of private posteriors in logarithms. Total variation is the
    same on a discrete space.

    Examples
    --------
    >>> near = ball(Prior([0, 1], ["1/2", "1/2"]), "1/4")
    >>> sorted(near.limits.tolist())                           # 3π₀ ≥ π₁ and 3π₁ ≥ π₀
    [[-1, 3], [3, -1]]
    """
    prior, space = as_prior(prior), None if space is None else as_space(space)
    reach = in_unit(radius, "" if space is None else space.unit, "the radius of a ball")
    if reach < 0:
        raise InvalidInput(f"the radius of a ball must not be negative, found {shown(radius)}")
    n = len(prior)
    metric = discrete(n) if space is None else space
    if space is not None:
        check_secrets("prior and space of a ball", space, prior)
    corner = vertices(PrivacyType(metric, alpha=Fraction(1, 2))) if n > 1 else None
    if corner is not None and len(corner) > _MOST_FUNCTIONS:
        raise NotSupported(f"a ball with {len(corner)} inequalities", [f"at most {_MOST_FUNCTIONS}"])
    weights = fractions(prior.weights)
    weights = weights / weights.sum()
    rows = []
    for i in range(0 if corner is None else len(corner)):
        assert corner is not None
        if metric.distances.form is Form.RATIONAL:
            heights = object_array(int(c) * metric.distances.unit for c in corner.coefficients[i, :, 0])
        else:
            heights = object_array(Fraction(float(h)) for h in corner.heights[i])
        rows.append(primitive(common_denominator(reach + heights @ weights - heights)[0]))
    name = "total variation ball" if space is None else "Wasserstein ball"
    limits = np.stack(rows) if rows else _no_limits(n)
    centre = primitive(common_denominator(weights)[0])
    return PriorSet(name, prior.secrets, np.eye(n, dtype=np.int64).astype(object), limits, centre)


def _no_limits(size: int) -> Array:
    return np.zeros((0, size), dtype=object)


def primitive(integers: Array) -> Array:
    """Integers divided by what they have in common."""
    values = [int(v) for v in integers]
    common = gcd(*values) or 1
    return object_array(v // common for v in values)
