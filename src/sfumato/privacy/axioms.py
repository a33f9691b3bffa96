"""Is a privacy definition consistent? The two axioms of Kifer and Lin (2012), decided, refuted or searched.

For a predicate q let R = {(a, b) : q(a, b) and q(1 − a, 1 − b)}. If q allows the impossible event at all, both axioms
hold exactly when R is convex. One way: the two-output channels with rows (a, 1 − a), (b, 1 − b) keep q iff (a, b) ∈ R,
and mixing two of them mixes their points. The other way: an event after post-processing or after a choice has as
its point a mixture of points of events before. This sharpens Theorems 2.1.3 and 2.1.4, which leave the boundary open;
their conditions (3) to (6) are what convexity of R means for its upper curve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import chain, combinations, pairwise
from random import Random

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.channel import Channel
from sfumato.errors import InvalidInput
from sfumato.privacy.predicates import Predicate
from sfumato.privacy.predicates_curves import Tail
from sfumato.privacy.predicates_definitions import (
    EXISTENCE,
    Breach,
    Definition,
    breaks,
    doubling,
    mixing_breach,
    transformed,
)
from sfumato.verdict import Verdict, fails, holds, undecided

Point = tuple[Fraction, Fraction]
_Box = Callable[[Fraction, Fraction], bool]  # whether a point is in R

_GRID = 24  # The unit interval has so many steps: halves, thirds, quarters, sixths and eighths are among them.
_PRECISION = 40  # The edge of a black box is located to so many binary digits.
# So many small channels of two secrets are tried against a definition of another kind, fewer of more secrets.
_TRIES = 400


@dataclass(frozen=True)
class Condition:
    """One of the conditions (1) to (6) of Theorems 2.1.3 and 2.1.4, and what is known of it."""

    number: int
    statement: str
    verdict: Verdict


@dataclass(frozen=True)
class AxiomSearch:
    """How far a black box was searched: steps of the grid, binary digits of its edge, evaluations or channels tried."""

    grid: int
    precision: int
    tried: int


@dataclass(frozen=True)
class AxiomReport:
    """What stands behind a verdict about the axioms."""

    conditions: tuple[Condition, ...] = ()
    breach: Breach | None = None
    search: AxiomSearch | None = None


def satisfies_axioms(definition: Predicate | Definition) -> Verdict:
    """Whether a privacy definition is closed under post-processing and under choice by chance.

    Returns
    -------
    Verdict
        *holds* for a proved curve, with conditions (1) to (6); *fails* with a :class:`Breach` of matrices that was
        checked by exact arithmetic; *undecided* for a black box, with how far it was searched. The witness is an
        :class:`AxiomReport`.

    Examples
    --------
    >>> from sfumato.privacy.predicates import from_points, gaussian
    >>> bool(satisfies_axioms(gaussian(1)))
    True
    >>> verdict = satisfies_axioms(from_points([(0, 0), ("1/2", "1/2"), ("3/4", 1), (1, 1)]))
    >>> print(verdict)
    fails: convexity (Axiom 2.1.2) is broken at (1/2, 2/3): M is not concave
    >>> [c.number for c in verdict.witness.conditions if c.verdict.decided and not c.verdict]
    [3]
    >>> [m.matrix.tolist()[1] for m in verdict.witness.breach.mechanisms]
    [[Fraction(0, 1), Fraction(1, 1)], [Fraction(1, 1), Fraction(0, 1)]]
    """
    if isinstance(definition, Definition):
        return _definition_axioms(definition)
    if not isinstance(definition, Predicate):
        raise InvalidInput(f"axioms are asked of a Predicate or a Definition, found {type(definition).__name__}")
    if definition.relation is None:
        return _curve_axioms(definition)
    if definition.points:
        return _polygon_axioms(definition)
    return _black_box_axioms(definition)


def _curve_axioms(predicate: Predicate) -> Verdict:
    if predicate.allows(Fraction(0), Fraction(0)) is False:
        return _nothing_kept(predicate, "M(0) ≥ 0 and M(1) ≥ 1 do not both hold")
    if not predicate.proved:
        return _numeric_axioms(predicate)
    why = "M is a minimum of 1 and of concave parts that lie above 0 at a = 0 and above 1 at a = 1"
    reasons = (
        "q is m ≤ b ≤ M by construction",
        "q is m ≤ b ≤ M by construction",
        "lines are concave, moved tails by Theorem 2.2.2, and so is a minimum",
        "a concave function that reaches its largest value at a = 1 increases until it gets there",
        "a concave function is continuous inside, and at 1 it lies between a and 1",
        "a concave function with M(0) ≥ 0 and M(1) = 1 lies above its chord",
    )
    return holds(why, AxiomReport(_conditions(tuple(map(holds, reasons)))))


_STATEMENTS = (
    "between m(a) and M(a) both q(a, b) and q(1 − a, 1 − b) hold",
    "above M(a) and below m(a) one of them fails",
    "M is concave",
    "M increases strictly where it is below 1",
    "M is continuous except possibly at 0",
    "M(a) ≥ a",
)


def _conditions(verdicts: tuple[Verdict, ...]) -> tuple[Condition, ...]:
    return tuple(Condition(k + 1, _STATEMENTS[k], verdict) for k, verdict in enumerate(verdicts))


def _broken(why: str, numbers: tuple[int, ...]) -> tuple[Condition, ...]:
    """The conditions of these numbers fail; nothing is said of the others."""
    return _conditions(tuple(fails(why) if k in numbers else undecided("another condition fails") for k in range(1, 7)))


def _coin(a: Fraction) -> Breach:
    """A constant channel whose one output becomes one of two by a coin: its events lie on the diagonal."""
    return transformed(Channel.constant((0, 1)), Channel([0], [[a, 1 - a]]))


def _two_outputs(point: Point) -> Channel:
    a, b = point
    return Channel([0, 1], [[a, 1 - a], [b, 1 - b]])


def _blend(weight: Fraction, first: Point, second: Point) -> Point:
    return weight * first[0] + (1 - weight) * second[0], weight * first[1] + (1 - weight) * second[1]


def _refuted(predicate: Predicate, breach: Breach, point: Point, why: str, broken: tuple[int, ...]) -> Verdict:
    """A verdict with a breach that has been checked, and which conditions it breaks."""
    assert breaks(breach, predicate), "a breach is checked before it is shown"
    reason = f"{breach.axiom} is broken at ({point[0]}, {point[1]}): {why}"
    return fails(reason, AxiomReport(_broken(why, broken), breach))


def _not_convex(
    predicate: Predicate, weight: Fraction, left: Point, right: Point, why: str = "M is not concave"
) -> Verdict:
    """Two allowed points, and one between them that is not."""
    breach = mixing_breach(weight, _two_outputs(left), _two_outputs(right))
    return _refuted(predicate, breach, _blend(weight, left, right), why, (3,))


def _nothing_kept(predicate: Predicate, why: str) -> Verdict:
    """q refuses the impossible event, so no channel keeps it. If that one is exempt, a coin may still break it."""
    for a in (Fraction(1, 2), *(Fraction(k, _GRID) for k in range(2, _GRID))):
        breach = replace(_coin(a), exempt=True)
        if breaks(breach, predicate):
            reason = (
                f"no channel keeps {predicate.name}, which refuses the impossible event ({why}); if that and the "
                f"certain event are exempt, a coin breaks it at ({a}, {a})"
            )
            return fails(reason, AxiomReport(_broken(why, (2, 6)), breach))
    breach = Breach(EXISTENCE, (), Channel.constant((0, 1)))
    reason = f"no channel keeps {predicate.name}, not even one that tells nothing: {why}"
    return fails(reason, AxiomReport(_broken(why, (6,)), breach))


def _polygon_axioms(predicate: Predicate) -> Verdict:
    """An upper curve of straight lines that is not concave, or does not end at 1: refuted at its corners."""
    corners = predicate.points
    if corners[-1][1] != 1:
        return _nothing_kept(predicate, f"M(1) is {corners[-1][1]}, so that m(0) is above 0")
    for a, value in corners:
        if value < a:
            return _refuted(predicate, _coin(a), (a, a), f"M({a}) = {value} is below the diagonal", (6,))
    chords = list(_chords_above(corners))
    assert chords, "a polygon above the diagonal that ends at 1 and is concave would be a minimum of lines"
    _, weight, left, right = max(chords, key=lambda chord: chord[0])  # the widest is the easiest to read
    return _not_convex(predicate, weight, left, right)


def _numeric_axioms(predicate: Predicate) -> Verdict:
    """A curve in floats: a chord above it by more than its tolerance refutes, nothing proves."""
    slack = max(part.tolerance for part in predicate.parts if isinstance(part, Tail))
    grid = np.linspace(0, 1, 129)
    values = predicate.upper(grid)
    above = (values[:-2] + values[2:]) / 2 - values[1:-1]
    k = int(np.argmax(above))
    if above[k] > 4 * slack:
        left, middle, right = (Fraction(k + i, 128) for i in range(3))
        ends = [(a, predicate.bounds(a)[0] if a else Fraction(0)) for a in (left, right)]
        breach = mixing_breach(Fraction(1, 2), *map(_two_outputs, ends))
        if breaks(breach, predicate):
            return _not_convex(predicate, Fraction(1, 2), ends[0], ends[1], f"M is not concave around {middle}")
    search = AxiomSearch(128, 0, 129)
    return undecided(
        "by Theorem 2.2.2 the axioms hold if c is convex; that was looked at in floats only, and M bends the right way "
        f"at all of {search.tried} points",
        AxiomReport(search=search),
    )


def _black_box_axioms(predicate: Predicate) -> Verdict:
    """Look for a hole in R: on the diagonal, between grid points, and between points on its edge."""

    @cache
    def ask(a: Fraction, b: Fraction) -> bool:
        return predicate.allows(a, b) is True

    def box(a: Fraction, b: Fraction) -> bool:
        """Whether (a, b) ∈ R."""
        return ask(a, b) and ask(1 - a, 1 - b)

    if not box(Fraction(0), Fraction(0)):
        return _nothing_kept(predicate, "q(0, 0) and q(1, 1) do not both hold")
    steps = [Fraction(k, _GRID) for k in range(_GRID + 1)]
    for a in sorted(steps, key=lambda a: (a.denominator, a)):
        if not box(a, a):
            return _refuted(predicate, _coin(a), (a, a), "an event that tells nothing is refused", (1, 6))
    for first, second in _hollow_segments(np.array([[box(a, b) for b in steps] for a in steps])):
        ends = (steps[first[0]], steps[first[1]]), (steps[second[0]], steps[second[1]])
        verdict = _hollow(predicate, box, Fraction(1, 2), *ends)
        if verdict is not None:
            return verdict
    edge = [(a, _edge(box, a)) for a in steps]
    for _, weight, left, right in _chords_above(edge, Fraction(1, 2**_PRECISION)):
        verdict = _hollow(predicate, box, weight, left, right)
        if verdict is not None:
            return verdict
    search = AxiomSearch(_GRID, _PRECISION, ask.cache_info().currsize)
    return undecided(
        f"{predicate.name} is a black box: no counter-example among {search.tried} evaluations, on a grid of "
        f"1/{_GRID} and along the edge to 2^-{_PRECISION}",
        AxiomReport(search=search),
    )


def _hollow(predicate: Predicate, box: _Box, weight: Fraction, left: Point, right: Point) -> Verdict | None:
    if not (box(*left) and box(*right)) or box(*_blend(weight, left, right)):
        return None
    return _not_convex(predicate, weight, left, right, "the allowed points are not convex")


def _hollow_segments(inside: NDArray[np.bool_]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Pairs of allowed grid points whose middle is a grid point that is not allowed."""
    n = inside.shape[0] - 1
    for di in range(n // 2 + 1):
        for dj in range(-(n // 2), n // 2 + 1):
            rows = slice(di, n + 1 - di)
            columns = slice(abs(dj), n + 1 - abs(dj))
            i, j = np.mgrid[rows, columns]
            holes = inside[i - di, j - dj] & inside[i + di, j + dj] & ~inside[i, j]
            if holes.any():
                k = np.argwhere(holes)[0]
                at = i[k[0], k[1]], j[k[0], k[1]]
                yield (int(at[0] - di), int(at[1] - dj)), (int(at[0] + di), int(at[1] + dj))


def _edge(box: _Box, a: Fraction) -> Fraction:
    """The largest allowed b found above the diagonal, by halving."""
    low, high = a, Fraction(1)
    if box(a, high):
        return high
    for _ in range(_PRECISION):
        middle = (low + high) / 2
        low, high = (middle, high) if box(a, middle) else (low, middle)
    return low


def _chords_above(
    curve: Sequence[Point], slack: Fraction = Fraction(0)
) -> Iterator[tuple[Fraction, Fraction, Point, Point]]:
    """Chords between points of a curve that pass above another one by more than the slack: by how much, and where."""
    for left, right in combinations(curve, 2):
        for a, value in curve:
            if left[0] < a < right[0]:
                weight = (right[0] - a) / (right[0] - left[0])
                above = weight * left[1] + (1 - weight) * right[1] - value
                if above > slack:
                    yield above, weight, left, right


def _definition_axioms(definition: Definition) -> Verdict:
    if definition.theorem:
        return holds(definition.theorem)
    random, tries = Random(0), 2 * _TRIES // len(definition.secrets)
    cases = (breach for _ in range(tries) for breach in _small_cases(definition, random))
    for breach in chain(definition.suspects(), cases):
        if breaks(breach, definition):
            return fails(f"{definition.name}: {breach.axiom} is broken", AxiomReport(breach=breach))
    return undecided(
        f"{definition.name}: no counter-example among {tries} small channels, their merged outputs and mixtures",
        AxiomReport(search=AxiomSearch(0, 0, tries)),
    )


def _small_cases(definition: Definition, random: Random) -> Iterator[Breach]:
    """Merging two outputs of a small channel, doubling one, and the mean of two channels."""
    size = random.randint(2, 4)
    first, second = (Channel(definition.secrets, [_row(size, random) for _ in definition.secrets]) for _ in range(2))
    for y, z in pairwise(range(size)):
        merged = {i: y if i == z else i for i in range(size)}
        yield transformed(first, Channel.deterministic(range(size), merged.__getitem__))
    yield transformed(first, doubling(size))
    yield mixing_breach(Fraction(1, 2), first, second)


def _row(size: int, random: Random) -> list[Fraction]:
    weights = [random.choice((0, 1, 1, 2, 3)) for _ in range(size)]
    weights[random.randrange(size)] += 1
    return [Fraction(w, sum(weights)) for w in weights]
