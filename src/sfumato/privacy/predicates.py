"""Predicates: privacy as a relation q(a, b) between the probabilities of every event for two neighbours.

A channel keeps a predicate when q(P(O), Q(O)) holds for all events O and all ordered pairs of neighbours, P and Q
being their rows (Kifer and Lin 2012, Definition 2.0.4). A predicate with curves allows m(a) ≤ b ≤ M(a) where
m(a) = 1 − M(1 − a). As a trade-off function of f-DP it is f(a) = 1 − M(a), as a profile δ(ε) = max_a M(a) − e^ε a.

Here M is a minimum of parts (:mod:`sfumato.privacy.predicates_curves`), which are concave. A relation that is given
as a Python function, or a curve that is not concave, is kept as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arguments import answer_of, flag, float_array, integer, precision, text
from sfumato.errors import InvalidInput, NotSupported, UndecidedError, expect, short, shown
from sfumato.numbers import Floats, Number, as_written, exact, number_pairs
from sfumato.privacy.predicates_curves import (
    CurvePart,
    Growth,
    Line,
    density_parts,
    growth,
    numeric_tails,
    probability,
    shift_of,
)
from sfumato.privacy.predicates_density import moved_tails
from sfumato.privacy.tradeoff import TradeOff, polygon_height

__all__ = [
    "Predicate",
    "as_predicate",
    "epsilon_delta",
    "exponential",
    "from_density",
    "from_distribution",
    "from_function",
    "from_points",
    "from_profile",
    "from_tradeoff",
    "gaussian",
    "gumbel",
    "inscribed",
    "laplace",
    "logistic",
    "profile",
    "pure",
    "symmetrised",
    "tradeoff_of",
    "trivial",
]


@dataclass(frozen=True, eq=False)
class Predicate:
    """A relation q(a, b) on the unit square.

    ``parts`` make the upper curve, M(a) = min(1, least part at a). Without parts it is ``relation`` that decides;
    ``points`` are then the corners of an upper curve that is not concave, where there is one.

    Examples
    --------
    >>> both = epsilon_delta(delta="1/10", alpha="1/2")
    >>> both(Fraction(1, 5), Fraction(1, 2)), both(Fraction(1, 5), Fraction(3, 5))
    (True, False)
    >>> both.upper([0, 0.2, 1]).tolist(), both.lower([0, 0.75]).tolist()
    ([0.1, 0.5, 1.0], [0.0, 0.4])
    """

    name: str
    parts: tuple[CurvePart, ...] = ()
    relation: Callable[[Fraction, Fraction], bool] | None = None
    points: tuple[tuple[Fraction, Fraction], ...] = ()

    def __repr__(self) -> str:
        return f"Predicate({self.name})"

    def __call__(self, a: Number, b: Number) -> bool:
        """Whether q(a, b) holds; an error where no enclosure decides it."""
        decided = self.allows(as_written(a, "a probability"), as_written(b, "a probability"))
        if decided is None:
            raise UndecidedError(f"({a}, {b}) lies on the curve of {self.name} to within all precision there is")
        return decided

    def allows(self, a: Fraction, b: Fraction) -> bool | None:
        """Whether q(a, b) holds, or None: m(a) ≤ b ≤ M(a), or what the relation says."""
        a, b = exact(a), exact(b)
        if self.relation is not None:
            return bool(answer_of(self.relation, self.name, a, b))
        return all_of(self._below(a, b), self._below(1 - a, 1 - b))

    def _below(self, a: Fraction, b: Fraction) -> bool | None:
        return all_of(*(part.allows(a, b) for part in self.parts))

    @property
    def proved(self) -> bool:
        """Whether M is known to be concave and its values to be right."""
        return self.relation is None and all(part.proved for part in self.parts)

    @property
    def has_curve(self) -> bool:
        """Whether there is an upper curve to evaluate."""
        return self.relation is None or bool(self.points)

    def upper(self, a: ArrayLike) -> Floats:
        """M at many points, in floats."""
        at = _probabilities(a)
        if self.points:
            return np.asarray(np.interp(at, *np.array(self.points, dtype=np.float64).T))
        if self.relation is not None:
            raise NotSupported(f"curves of {self.name}, which is given as a function", ["satisfies_axioms", "q(a, b)"])
        values = np.ones(at.shape)
        for part in self.parts:
            values = np.minimum(values, part.floats(at))
        return values

    def lower(self, a: ArrayLike) -> Floats:
        """m(a) = 1 − M(1 − a) at many points, in floats."""
        return 1 - self.upper(1 - _probabilities(a))

    def bounds(self, a: Number, bits: int = 64) -> tuple[Fraction, Fraction]:
        """Rationals around M(a), equal where it is known to be rational."""
        at, bits = as_written(a, "a probability"), precision(bits)
        if self.points:
            value = polygon_height(self.points, at)
            return value, value
        if self.relation is not None:
            raise NotSupported(f"curves of {self.name}, which is given as a function", ["q(a, b)"])
        ends = [part.bounds(at, bits) for part in self.parts] or [(Fraction(1), Fraction(1))]
        return min(Fraction(1), *(low for low, _ in ends)), min(Fraction(1), *(high for _, high in ends))

    def tradeoff(self, a: ArrayLike) -> Floats:
        """The trade-off function f(a) = 1 − M(a) of f-DP, in floats."""
        return 1 - self.upper(a)


def _probabilities(values: ArrayLike) -> Floats:
    probabilities = float_array(values, "probabilities")
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise InvalidInput("probabilities lie in [0, 1]")
    return probabilities


def all_of(*answers: bool | None) -> bool | None:
    """Whether all answers are yes: no if one is no, else None if one is not known."""
    return False if any(answer is False for answer in answers) else None if None in answers else True


def as_predicate(value: Any) -> Predicate:
    """The predicate; an error for anything else."""
    return expect(value, Predicate, "a predicate", "sfumato.predicates has constructors")


def pure(*, epsilon: Number | None = None, alpha: Number | None = None) -> Predicate:
    """ε-differential privacy: M(a) = min(e^ε a, 1 − e^−ε(1 − a)).

    Examples
    --------
    >>> pure(alpha="1/2").bounds("1/4")[0], pure(alpha="1/2").bounds("3/4")[0]
    (Fraction(1, 2), Fraction(7, 8))
    """
    promise = epsilon_delta(epsilon=epsilon, alpha=alpha)
    return replace(promise, name=f"{growth(epsilon, alpha).epsilon}-differential privacy")


def epsilon_delta(
    *, delta: Number = 0, epsilon: Number | None = None, alpha: Number | None = None, one_sided: bool = False
) -> Predicate:
    """(ε, δ)-differential privacy: M(a) = min(1, e^ε a + δ, 1 − e^−ε(1 − a − δ)).

    The last term says the same for the exchanged secrets; ``one_sided`` leaves it out, for relations between
    neighbours that are not symmetric.
    """
    factor = growth(epsilon, alpha)
    slack = probability(delta, "delta")
    line, one_sided = Line(factor, Fraction(0), slack), flag(one_sided, "one_sided")
    parts = (line,) if one_sided else (line, line.reflected())
    return Predicate(f"({factor.epsilon}, {slack})-privacy{', one-sided' if one_sided else ''}", parts)


def trivial() -> Predicate:
    """The predicate that allows everything, M = 1."""
    return Predicate("no privacy")


def gaussian(mu: Number) -> Predicate:
    """Moved tails of a Gaussian density, M(a) = Φ(Φ⁻¹(a) + μ): the promise of Gaussian differential privacy.

    Examples
    --------
    >>> curve = gaussian(1)
    >>> round(float(curve.upper(0.5)), 6), curve("1/2", "0.8413"), curve("1/2", "0.8414")
    (0.841345, True, False)
    """
    return Predicate(f"Gaussian, shift {as_written(mu, 'mu')}", density_parts("gaussian", shift_of(mu), "right"))


def laplace(*, epsilon: Number | None = None, alpha: Number | None = None) -> Predicate:
    """Moved tails of the Laplace density e^{−|x|}/2, the shift being ε; weaker events get less than ε-DP gives."""
    factor = growth(epsilon, alpha)
    return Predicate(f"Laplace, shift {factor.epsilon}", density_parts("laplace", factor, "right"))


def logistic(*, epsilon: Number | None = None, alpha: Number | None = None) -> Predicate:
    """Moved tails of the logistic density: M(a) = s·a / (s·a + 1 − a) with s = e^ε, so odds grow by at most s."""
    factor = growth(epsilon, alpha)
    return Predicate(f"logistic, shift {factor.epsilon}", density_parts("logistic", factor, "right"))


def gumbel(*, epsilon: Number | None = None, alpha: Number | None = None, tail: str = "right") -> Predicate:
    """Moved tails of the Gumbel density: 1 − (1 − a)^s on the right, a^{1/s} on the left, s = e^ε."""
    factor = growth(epsilon, alpha)
    return Predicate(f"Gumbel, {tail} tail, shift {factor.epsilon}", density_parts("gumbel", factor, tail))


def exponential(*, epsilon: Number | None = None, alpha: Number | None = None, tail: str = "right") -> Predicate:
    """Moved tails of the density e^{−x}, x ≥ 0: M(a) = min(1, e^ε a) on the right, 1 − e^−ε(1 − a) on the left.

    Both together are ε-differential privacy, as is the right one symmetrised.
    """
    factor = growth(epsilon, alpha)
    return Predicate(f"exponential, {tail} tail, shift {factor.epsilon}", density_parts("exponential", factor, tail))


_SCIPY_NAMES = {
    "norm": "gaussian",
    "laplace": "laplace",
    "expon": "exponential",
    "logistic": "logistic",
    "uniform": "uniform",
    "gumbel_r": "gumbel",
}


def from_distribution(distribution: Any, shift: Number, *, tail: str = "right") -> Predicate:
    """Moved tails of a frozen scipy distribution, whose density must be log-concave.

    Distributions with a closed form (norm, laplace, expon, logistic, uniform, gumbel_r) are taken exactly, with the
    decimal that their scale is. Others are evaluated in floats: such a predicate can be shown to fail, never
    proved to hold.

    Examples
    --------
    >>> from scipy.stats import norm, gamma
    >>> from_distribution(norm(scale=2), 2).upper([0.5]).round(6).tolist()
    [0.841345]
    >>> from_distribution(gamma(2), 1).proved
    False
    """
    family = getattr(distribution, "dist", None)
    if family is None or not hasattr(distribution, "isf"):
        raise InvalidInput(f"a frozen scipy distribution such as norm(scale=2) is needed, found {shown(distribution)}")
    moved = shift_of(shift)
    name = f"{family.name}, {tail} tail, shift {moved}"
    if family.name in _SCIPY_NAMES:
        scale = distribution.args[1] if len(distribution.args) > 1 else distribution.kwds.get("scale", 1)
        parts = density_parts(_SCIPY_NAMES[family.name], shift_of(moved / as_written(scale, "the scale")), tail)
        return Predicate(name, parts)
    t = float(moved)

    def right(a: Floats) -> Floats:
        return np.asarray(distribution.sf(distribution.isf(a) - t))

    def left(a: Floats) -> Floats:
        return np.asarray(distribution.cdf(distribution.ppf(a) + t))

    return Predicate(name, numeric_tails(family.name, right, left, tail))


def from_density(c: Callable[[float], float], shift: Number, *, tail: str = "right") -> Predicate:
    """Moved tails of the density κe^{−c(x)} for a convex function c of one real number, inf outside its support.

    c is integrated in floats, jumps at the ends of the support and kinks included: masses are good to about 10⁻¹², or
    to the rounding of c where that is worse (``parts[0].tolerance``, an estimate). Its convexity is checked where it is
    evaluated: a violation found is an error, none found is no proof, so such a predicate can be shown to fail and never
    proved to hold.

    Examples
    --------
    >>> curve = from_density(lambda x: x if x >= 0 else float("inf"), 1)
    >>> bool(abs(curve.upper(0.25) - exponential(epsilon=1).upper(0.25)) < 1e-12), curve.parts[0].tolerance
    (True, 1e-12)
    """
    moved = shift_of(shift)
    right, left, tolerance = moved_tails(c, float(moved))
    parts = numeric_tails("density e^-c", right, left, tail, tolerance)
    return Predicate(f"density e^-c, {tail} tail, shift {moved}", parts)


def from_points(points: Iterable[tuple[Number, Number]]) -> Predicate:
    """The predicate whose upper curve M joins points (a, M(a)), a from 0 to 1, by straight lines.

    A concave M with M(1) = 1 becomes a minimum of lines. Any other is kept as it is, so that one can ask what is
    wrong with it.
    """
    corners = sorted(number_pairs(points, "the points of a curve"))
    ends = [a for a, _ in corners]
    if len(corners) < 2 or ends[0] != 0 or ends[-1] != 1 or len(set(ends)) != len(ends):
        raise InvalidInput(f"a curve needs one value at each point, from a = 0 to a = 1; found a in {shown(ends)}")
    if any(not 0 <= b <= 1 for _, b in corners):
        raise InvalidInput("values of a curve are probabilities")
    name = f"curve through {len(corners)} points"
    lines = _lines(corners)
    if lines is not None:
        return Predicate(name, lines)
    curve = tuple(corners)

    def relation(a: Fraction, b: Fraction) -> bool:
        return 1 - polygon_height(curve, 1 - a) <= b <= polygon_height(curve, a)

    return Predicate(name, relation=relation, points=curve)


def _lines(corners: Sequence[tuple[Fraction, Fraction]]) -> tuple[CurvePart, ...] | None:
    """The lines of a concave polygon that ends at 1; None if it is not one."""
    slopes = [(b1 - b0) / (a1 - a0) for (a0, b0), (a1, b1) in pairwise(corners)]
    if corners[-1][1] != 1 or any(s < t for s, t in pairwise(slopes)) or slopes[-1] < 0:
        return None
    # lines are kept by their value at 0, so that equal ones compare equal
    starts = ((slope, b - slope * a) for slope, (a, b) in zip(slopes, corners, strict=False))
    return tuple(dict.fromkeys(Line(Growth(slope), Fraction(0), start) for slope, start in starts if slope > 0))


def from_tradeoff(curve: TradeOff) -> Predicate:
    """The predicate M(a) = 1 − f(a) of an exact trade-off curve: f-DP for that f.

    Examples
    --------
    >>> rebuilt = from_tradeoff(tradeoff_of(epsilon_delta(delta="1/10", alpha="1/2")))
    >>> [str(line.slope) for line in rebuilt.parts]
    ['2', '1/2']
    """
    curve = expect(curve, TradeOff, "a trade-off curve", "tradeoff(channel, x, x2) and TradeOff.through make one")
    steep = [point for point in curve.points if point[0] > 0 or point[1] == curve.power(0)]
    lines = _lines(steep)
    assert lines is not None
    return Predicate(f"f-privacy with {len(curve.points)} corners", lines)


def from_profile(profile: Iterable[tuple[Number, Number]], *, symmetric: bool = True) -> Predicate:
    """The predicate of several promises at once, each a pair (e^ε as a rational, δ) that every event keeps.

    With ``symmetric`` they hold for the exchanged secrets too. Any e^ε > 0 may be given: below 1 it bounds how much
    less likely an event may become.
    """
    lines: list[CurvePart] = []
    symmetric = flag(symmetric, "symmetric")
    for s, slack in number_pairs(profile, "the promises of a profile", as_written):
        if s <= 0 or not 0 <= slack <= 1 or slack < 1 - s:
            raise InvalidInput(
                f"a promise needs e^ε > 0 and δ in [max(0, 1 − e^ε), 1], found {short(s)}, {short(slack)}"
            )
        line = Line(Growth(s), Fraction(0), slack)
        lines += [line, line.reflected()] if symmetric else [line]
    return Predicate(f"profile of {len(lines)} lines", tuple(dict.fromkeys(lines)))


def from_function(q: Callable[[Fraction, Fraction], bool], name: str = "") -> Predicate:
    """Any relation q(a, b), called with fractions: a black box, of which nothing can be proved."""
    if not callable(q):
        raise InvalidInput(f"q must be a function of two probabilities, found {shown(q)}")
    return Predicate(text(name, "the name of a predicate") or getattr(q, "__name__", "q"), relation=q)


def symmetrised(predicate: Predicate) -> Predicate:
    """The predicate that also asks for q(b, a): min{M, m⁻¹} becomes the upper curve.

    Examples
    --------
    >>> one_way = exponential(alpha="1/2")
    >>> symmetrised(one_way).upper([0.25, 0.75]).tolist() == pure(alpha="1/2").upper([0.25, 0.75]).tolist()
    True
    """
    predicate = as_predicate(predicate)
    name = f"{predicate.name}, symmetrised"
    if predicate.relation is None:
        exchanged = (part.reflected() for part in predicate.parts)
        return Predicate(name, tuple(dict.fromkeys([*predicate.parts, *exchanged])))
    q = predicate.relation
    return Predicate(name, relation=lambda a, b: bool(q(a, b)) and bool(q(b, a)))


_MOST_CORNERS = 100_000  # A polygon below a curve has at most so many corners.


def inscribed(predicate: Predicate, *, corners: int = 33) -> Predicate:
    """A predicate made of lines whose curve stays on or below that of ``predicate``, so that it promises no less.

    Its corners are values of the curve, rounded down to multiples of 2^−40, at points that lie closer near 0 and 1; a
    concave curve lies above its chords.

    Examples
    --------
    >>> polygon = inscribed(gaussian(1), corners=5)
    >>> polygon.upper([0, 0.5]).round(6).tolist(), bool(polygon.upper(0.2) < gaussian(1).upper(0.2))
    ([0.0, 0.841345], True)
    """
    predicate = as_predicate(predicate)
    corners = integer(corners, "the number of corners", 2, _MOST_CORNERS)
    if not predicate.proved:
        raise NotSupported(f"a polygon below {predicate.name}, whose curve is not proved", ["curves with closed forms"])
    unit = 2**40
    spread = (1 - np.cos(np.linspace(0, np.pi, corners))) / 2
    at = sorted({Fraction(round(a * unit), unit) for a in spread.tolist()} | {Fraction(0), Fraction(1)})
    heights = [(a, Fraction(predicate.bounds(a)[0] * unit // 1, unit)) for a in at]
    return replace(from_tradeoff(TradeOff.through(heights)), name=f"{predicate.name}, polygon of {corners} corners")


def tradeoff_of(predicate: Predicate) -> TradeOff:
    """The trade-off curve of a predicate whose parts are lines with rational slopes, exact.

    It is the one that :func:`from_tradeoff` turns back into the predicate.
    """
    lines = _rational_lines(as_predicate(predicate))
    if lines is None:
        raise NotSupported(
            f"an exact polygon for {predicate.name}", ["lines with rational slopes (alpha)", "predicate.tradeoff(a)"]
        )
    points = [(Fraction(0), min([Fraction(1), *(c for _, c in lines)]))]
    everything = [*lines, (Fraction(0), Fraction(1))]
    for (s, c), (t, d) in combinations(everything, 2):
        if s != t and 0 <= (at := (d - c) / (s - t)) <= 1:
            value = s * at + c
            if all(value <= slope * at + start for slope, start in everything):
                points.append((at, value))
    return TradeOff.through(points)


def _rational_lines(predicate: Predicate) -> list[tuple[Fraction, Fraction]] | None:
    lines = []
    for part in predicate.parts:
        if predicate.relation is not None or not isinstance(part, Line):
            return None
        if part.slope.rational is None or part.intercept is None:
            return None
        lines.append((part.slope.rational, part.intercept))
    return lines


def profile(
    predicate: Predicate, *, epsilon: Number | None = None, alpha: Number | None = None
) -> tuple[Fraction, Fraction]:
    """Rationals around δ(ε) = max_a M(a) − e^ε a, the least δ that the predicate guarantees; equal if it is exact.

    ε may have either sign; below 0 the value is at least 1 − e^ε, what M asks at a = 1. M(a) − e^ε a is concave, so
    three of its points enclose the maximum: everywhere else it stays below the continuations of the two chords.

    Examples
    --------
    >>> low, high = profile(gaussian(1), epsilon=1)
    >>> round(float(low), 8), float(high - low) < 1e-9
    (0.12693674, True)
    >>> [str(delta) for delta in profile(epsilon_delta(delta="1/10", alpha="1/2"), alpha=2)]
    ['11/20', '11/20']
    """
    predicate, factor = as_predicate(predicate), growth(epsilon, alpha, "a profile", signed=True)
    if not predicate.proved:
        raise NotSupported(f"the profile of {predicate.name}, whose curve is not proved", ["curves with closed forms"])
    lines = _rational_lines(predicate)
    if lines is not None and factor.rational is not None:
        return tradeoff_of(predicate).delta_bounds(factor)
    peak = _peak(predicate, float(factor))
    best = (Fraction(0), Fraction(1))
    for digits in (8, 12, 16, 20, 24, 28, 32, 40):
        bounds = _enclosed_peak(predicate, factor, peak, Fraction(1, 2**digits))
        best = max(best[0], bounds[0]), min(best[1], bounds[1])
    return best


def _peak(predicate: Predicate, factor: float) -> float:
    """Where M(a) − s·a is largest, by a search on finer and finer grids in floats."""
    low, high = 0.0, 1.0
    for _ in range(12):
        grid = np.linspace(low, high, 33)
        k = int(np.argmax(predicate.upper(grid) - factor * grid))
        low, high = grid[max(k - 1, 0)], grid[min(k + 1, 32)]
    return float((low + high) / 2)


def _enclosed_peak(predicate: Predicate, factor: Growth, peak: float, step: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of the maximum of h(a) = M(a) − s·a from its values at three points a step apart."""
    middle = min(max(exact(peak), step), 1 - step)
    s_low, s_high = factor.bounds(128)
    heights = []
    for a in (middle - step, middle, middle + step):
        low, high = predicate.bounds(a, 128)
        heights.append((low - s_high * a, high - s_low * a))
    (left_low, left), (mid_low, mid), (right_low, right) = heights
    zero = Fraction(0)
    inside = mid + max(mid - right_low, mid - left_low, zero)
    beyond = right + max(right - mid_low, zero) / step * (1 - middle - step)
    before = left + max(left - mid_low, zero) / step * (middle - step)
    return max(mid_low, left_low, right_low), max(inside, beyond, before)
