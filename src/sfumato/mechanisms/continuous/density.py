"""Priors on an interval: densities, and their gathering onto a lattice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from sfumato.arguments import answer_of, flag, float_array, items, text
from sfumato.channels.prior import Prior
from sfumato.errors import InvalidPrior, expect
from sfumato.mechanisms.continuous.interval import UNIT, Ends, as_interval, lattice, lattice_floats
from sfumato.numbers import Array, Floats, Number, array, is_exact, told_apart, whole_number
from sfumato.spaces.box import Box

_QUANTILES = (1e-6, 1e-4, 0.01, 0.1, 0.5, 0.9, 0.99, 1 - 1e-4, 1 - 1e-6)
_NARROW = 0.05  # A density is narrow if this share of the support holds nearly all the mass.
_MOST_MISSED = 1e-3  # Quadrature that misses more of the mass is not believed at all.

MASS_TOLERANCE = 1e-7
"""How far the integral of a density may be from 1.

A formula typed with eight digits, or one with a pole like 1/√x at an end, integrates to 1 within this; a
forgotten constant or a tail outside of the interval does not."""

_NODES = 16  # Gauss–Legendre nodes of a panel: exact for polynomials of degree 31.
_PANEL_ERROR = 1e-13  # The error of the mass of a panel below which further halving only adds rounding.
_MOST_PANELS = 600
_MOST_HALVINGS = 42  # nodes of the last panel at a pole are still floats different from the end


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Density:
    """A prior on an interval, given by its probability density π ≥ 0 with ∫ π = 1.

    Parameters
    ----------
    pdf
        A function of numbers or arrays, or a frozen distribution of ``scipy.stats``.
    interval
        Where the secret lives; [0, 1] unless given.
    breaks
        Points where the density jumps or has a kink. They are not needed, but save work.
    normalise
        Divide by the integral over the interval: a distribution conditioned on it.

    Raises
    ------
    InvalidPrior
        If the density is negative or not a number somewhere it was looked at, or if its integral
        differs from 1 by more than :data:`MASS_TOLERANCE`.

    Examples
    --------
    >>> from scipy.stats import beta, norm
    >>> Density(beta(2, 3))
    Density(beta on [0, 1])
    >>> round(float(Density(lambda x: 2 * x).cumulative(0.5)), 12)
    0.25
    >>> round(float(Density(norm(0.5, 0.2), normalise=True).cumulative(0.5)), 12)
    0.5
    """

    interval: Box
    edges: Floats
    """Ends of the panels that quadrature uses."""
    error: float
    """Estimated error of the integral of the density over these panels."""
    weights: Array | None
    """The weights of a histogram, if they are rational."""
    name: str
    _pdf: Callable[[Any], Any]
    _cdf: Callable[[Any], Any] | None
    _total: float

    def __init__(
        self,
        pdf: Any,
        interval: Ends = UNIT,
        *,
        breaks: Iterable[float] = (),
        normalise: bool = False,
        name: str = "",
    ) -> None:
        interval = as_interval(interval)
        function, cdf, jumps, default = _parts(pdf)
        low, high = interval.ends
        normalise, name = flag(normalise, "normalise"), text(name, "the name of a density")
        given = float_array(items(breaks, "breaks"), "breaks").ravel().tolist()
        inside = [b for b in (*given, *jumps) if low < b < high]
        edges, total, error = _panels(function, np.unique([low, *inside, high]))
        if cdf is not None:
            known = float(cdf(high) - cdf(low))
            if abs(total - known) > _MOST_MISSED:
                part, mass = told_apart(total, known)
                raise InvalidPrior(
                    f"quadrature finds {part} of the mass {mass} over {interval}: name where the density is "
                    "concentrated in breaks="
                )
            total, error = known, max(error, abs(total - known))
        if not normalise and not abs(total - 1) <= MASS_TOLERANCE:
            raise InvalidPrior(
                f"the density integrates to {told_apart(total, 1)[0]} over {interval}, not to 1: "
                "normalise=True divides by that, which conditions on the interval"
            )
        if not 0 < total < np.inf:
            raise InvalidPrior(f"the density integrates to {total:.9g} over {interval}: no distribution has it")
        self._set(interval, edges, error / total, None, name or default, function, cdf, total)

    def _set(self, *values: Any) -> None:
        vars(self).update(zip(self.__dataclass_fields__, values, strict=True))

    @classmethod
    def uniform(cls, interval: Ends = UNIT) -> Density:
        """The constant density; what is derived from it is exact."""
        return cls.steps([1], interval, name="uniform")

    @classmethod
    def steps(cls, weights: Iterable[Number], interval: Ends = UNIT, *, name: str = "steps") -> Density:
        """A histogram: weight k spread evenly over the k-th of equally long cells, exact for rational weights.

        Examples
        --------
        >>> gather(Density.steps(["1/3", "2/3"]), 2).weights.tolist()
        [Fraction(1, 3), Fraction(2, 3), Fraction(0, 1)]
        """
        table = array(weights, "the weights of a step density", 1, error=InvalidPrior)
        checked = Prior(range(len(table)), table).weights
        interval = as_interval(interval)
        edges = lattice_floats(len(checked), interval)
        heights = np.array([float(w) for w in checked]) * (len(checked) / float(interval.length))

        def pdf(x: Any) -> Any:
            return heights[np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(heights) - 1)]

        density = cls.__new__(cls)
        density._set(interval, edges, 0.0, checked if is_exact(checked) else None, name, pdf, None, 1.0)
        return density

    def __repr__(self) -> str:
        return f"Density({self.name} on {self.interval})"

    @property
    def exact(self) -> bool:
        """Whether masses of intervals with rational ends are known as rationals."""
        return self.weights is not None

    def __call__(self, x: Any) -> Floats:
        """π(x)."""
        return np.asarray(self._pdf(x), dtype=np.float64) / self._total

    def cumulative(self, x: Any) -> Floats:
        """The probability of everything up to x, by the distribution's own formula or by quadrature."""
        points = float_array(x, "points")
        if self._cdf is not None:
            low = self._cdf(float(self.interval.low))
            return np.asarray((self._cdf(points) - low) / self._total, dtype=np.float64)
        flat = np.clip(points.ravel(), *self.interval.ends)
        grid = np.unique(np.concatenate([self.edges, flat]))
        masses = _integrals(self, grid[:-1], grid[1:])
        sums = np.concatenate([[0.0], np.cumsum(masses)])
        return np.asarray(sums[np.searchsorted(grid, flat)]).reshape(points.shape)


def as_density(value: Any, interval: Box = UNIT) -> Density:
    """The density, or the one that a function or a scipy distribution gives on the interval."""
    if isinstance(value, Density):
        return value
    return Density(value, interval)


def gather(density: Any, steps: int) -> Prior:
    """The N-approximation π_N: the mass of each cell of length 1/N moved to its left end (B, section VI-B).

    The prior lives on all N + 1 points of the lattice; the last one gets nothing, since the last cell
    is closed. Exact for :meth:`Density.uniform` and :meth:`Density.steps` with rational weights.

    Examples
    --------
    >>> gather(Density.uniform(), 2).weights.tolist()
    [Fraction(1, 2), Fraction(1, 2), Fraction(0, 1)]
    """
    density = expect(as_density(density), Density, "a prior on an interval")
    points = lattice(whole_number(steps, "steps"), density.interval)
    masses = cell_masses(density, steps)
    return Prior(points, [*masses, Fraction(0) if is_exact(masses) else 0.0])


def cell_masses(density: Density, steps: int) -> Array:
    """The probabilities of N equally long cells: rationals where the density is exact, else floats of sum 1."""
    if density.weights is not None:  # cumulative sums of a histogram at n/N are linear between those at its edges
        sums = np.concatenate([[Fraction(0)], np.cumsum(density.weights)])
        cell, part = np.divmod(np.arange(steps + 1) * len(density.weights), steps)
        padded = np.concatenate([density.weights, [Fraction(0)]])
        at = sums[cell] + padded[cell] * np.array([Fraction(int(p), steps) for p in part], dtype=object)
        return np.asarray(np.diff(at))
    masses = np.maximum(np.diff(density.cumulative(lattice_floats(steps, density.interval))), 0.0)
    return np.asarray(masses / masses.sum())


def _parts(pdf: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any] | None, tuple[float, ...], str]:
    """The function, its integral if known, where it may jump, and a name."""
    if hasattr(pdf, "pdf") and hasattr(pdf, "cdf"):
        support = tuple(float(s) for s in pdf.support()) if hasattr(pdf, "support") else ()
        if len(support) == 2 and hasattr(pdf, "ppf"):
            low, high = (float(q) for q in pdf.ppf((0.01, 0.99)))
            if high - low < _NARROW * (support[1] - support[0]):  # a bump must not fall between two panels
                support += tuple(float(q) for q in pdf.ppf(_QUANTILES))
        name = getattr(getattr(pdf, "dist", None), "name", "") or type(pdf).__name__
        return _checked(pdf.pdf), pdf.cdf, support, name
    if not callable(pdf):
        raise InvalidPrior(
            f"a density is a function or a frozen scipy distribution, found a value of type {type(pdf).__name__}"
        )
    return _checked(pdf), None, (), getattr(pdf, "__name__", "function").replace("<lambda>", "function")


def _checked(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function on arrays, whatever it was written for; no negative values, no NaN."""

    def one_by_one(x: float) -> float:
        value = float_array(answer_of(function, "the density", x), "the density at one point")
        if value.shape != ():
            raise InvalidPrior("the density at one point must be one number")
        return float(value)

    try:
        trial = np.asarray(function(np.array([0.25, 0.75])), dtype=np.float64)
        whole = trial.shape in ((), (2,))
    except (TypeError, ValueError):
        whole = False
    evaluate = function if whole else np.vectorize(one_by_one, otypes=[np.float64])

    def checked(x: Any) -> Floats:
        values = np.broadcast_to(np.asarray(evaluate(x), dtype=np.float64), np.shape(x))
        if not ((values >= 0) & (values < np.inf)).all():
            where = np.asarray(x)[~((values >= 0) & (values < np.inf))].ravel()[0]
            raise InvalidPrior(f"the density at {where:.6g} is negative, infinite or not a number")
        return values

    return checked


@lru_cache(maxsize=16)
def gauss(count: int) -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss and Legendre on [0, 1]: exact for polynomials of degree 2·count − 1."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def _integrals(function: Callable[[Any], Any], left: Floats, right: Floats) -> Floats:
    nodes, weights = gauss(_NODES)
    width = right - left
    return np.asarray((function(left[:, None] + width[:, None] * nodes) @ weights) * width)


def _panels(function: Callable[[Any], Any], edges: Floats) -> tuple[Floats, float, float]:
    """Edges of panels in which Gauss and Legendre integrate the density, its integral, and the error of that.

    A panel is halved until its two halves agree with the whole: towards poles and unnamed kinks the
    panels get short.
    """
    left, right = edges[:-1], edges[1:]
    done: list[Floats] = []
    total = error = 0.0
    count = 0
    for generation in range(_MOST_HALVINGS):
        middle = (left + right) / 2
        whole = _integrals(function, left, right)
        halves = _integrals(function, left, middle) + _integrals(function, middle, right)
        gap = np.abs(whole - halves)
        fine = gap <= _PANEL_ERROR * np.maximum(1.0, np.abs(halves))
        if generation == _MOST_HALVINGS - 1 or count + 2 * int((~fine).sum()) > _MOST_PANELS:
            fine[:] = True
        done.append(left[fine])
        count += int(fine.sum())
        total += float(halves[fine].sum())
        error += float(gap[fine].sum())
        left, right = np.concatenate([left[~fine], middle[~fine]]), np.concatenate([middle[~fine], right[~fine]])
        if not left.size:
            break
    return np.unique(np.concatenate([*done, edges[-1:]])), total, error
