"""Branching measures: what each output is worth, added up (Kifer and Lin 2012, Definition 3.2.7).

μ(C) = Σ_y F(column y), where F is continuous, convex, and homogeneous, F(cv) = cF(v) for c ≥ 0. By Theorem 3.2.8 these
are exactly the continuous measures that no post-processing raises and for which merging two outputs costs an amount
that depends on these two only. The reason: any post-processing splits outputs, v into pv and (1 − p)v, and merges
outputs, v and w into v + w. Nothing rises if and only if F(pv) + F((1 − p)v) = F(v) and F(v + w) ≤ F(v) + F(w), which
for continuous F is convexity with homogeneity.

A form proves it: a largest gain is a maximum of linear functions, a divergence a sum of perspectives of a convex
function. Of any other function only the opposite can be shown, by two columns that break one of the two conditions.

Rows are secrets here, as everywhere in sfumato; Kifer and Lin write the transpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, product
from random import Random
from typing import Any

import numpy as np

from sfumato.arguments import answer_of, float_array, integer
from sfumato.channels.channel import Channel, as_channel
from sfumato.channels.prior import Prior, as_prior, secrets_of
from sfumato.errors import InvalidInput, Mismatch, NotSupported, expect, shown
from sfumato.losses.loss import Gain, Loss
from sfumato.numbers import Array, Number, array, floats, is_exact, number_pairs, object_array
from sfumato.verdict import Verdict, fails, holds, undecided

MOST_TRIES = 1_000_000  # A search by so many random examples takes minutes for the quickest functions.
_MOST_ENTRIES = 1000  # A column that is searched has at most so many entries.

ROUNDING_OF_MEASURES = 1e-9
"""Floats of a measure that differ by less, absolutely or relatively, may differ by the rounding of long sums only."""


def branching(channel: Channel, function: Callable[[Array], Any]) -> Any:
    """μ(C) = Σ_y F(column y), for any function of a column.

    Examples
    --------
    >>> branching(Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]]), max)
    Fraction(4, 3)
    """
    values = [_value(function, column) for column in as_channel(channel).matrix.T]
    return sum(values[1:], values[0])


@dataclass(frozen=True, eq=False)
class Branch:
    """F, convex with F(cv) = cF(v) by its form: call it with a column.

    ``reason`` says why; ``secrets`` are those it is about, if it depends on them.
    """

    name: str
    value: Callable[[Array], Any]
    reason: str
    secrets: tuple[Any, ...] | None = None

    def __call__(self, column: Array) -> Any:
        """F of one column."""
        entries = array(column, "a column", 1)
        if not np.isfinite(float_array(entries, "a column")).all():
            raise InvalidInput("a column has finite entries, found an infinity")
        return self.value(entries)


def largest_gain(prior: Prior, stake: Gain | Loss) -> Branch:
    """F(v) = max_w Σ_x π_x g(w, x) v_x: what a consumer gains who acts best on this output; −ℓ for a loss.

    Examples
    --------
    >>> from sfumato.losses.standard import bin
    >>> branch = largest_gain(Prior([0, 1], ["3/4", "1/4"]), bin([0, 1]))
    >>> branching(Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]]), branch)
    Fraction(-1, 4)
    """
    prior = as_prior(prior)
    if not isinstance(stake, Gain | Loss):
        raise InvalidInput(f"what is at stake must be a Gain or a Loss, found {type(stake).__name__}")
    if prior.secrets != stake.secrets:
        raise Mismatch("secrets of the prior against those of what is at stake", prior.secrets, stake.secrets)
    table = np.asarray(stake.matrix if isinstance(stake, Gain) else -stake.matrix) * prior.weights

    def value(column: Array) -> Any:
        if is_exact(table, column):
            return max(Fraction(sum(row)) for row in (table * column).tolist())
        return float((floats(table) @ floats(column)).max())

    return Branch(f"largest {stake.kind}", value, "F is a maximum of linear functions", prior.secrets)


@dataclass(frozen=True, eq=False)
class Generator:
    """A convex function φ on [0, ∞), for :func:`divergence`; ``reason`` says why it is convex."""

    name: str
    value: Callable[[Array], Array]
    reason: str


def _entropy(ratios: Array) -> Array:
    numbers = floats(ratios)
    return np.where(numbers > 0, numbers, 0.0) * np.log2(np.where(numbers > 0, numbers, 1.0))


GENERATORS: dict[str, Generator] = {
    "entropy": Generator("t log₂ t", _entropy, "its second derivative is 1/(t ln 2) > 0"),
    "square": Generator("(t − 1)²", lambda t: (t - 1) ** 2, "its second derivative is 2"),
    "absolute": Generator("|t − 1| / 2", lambda t: abs(t - 1) / 2, "it is a maximum of two linear functions"),
}
"""φ by name: they give Shannon information, χ² and total variation."""


def polygon(corners: Iterable[tuple[Number, Number]]) -> Generator:
    """The convex φ through corners (t, φ(t)), the first one at t = 0, the last side going on for ever.

    Raises
    ------
    InvalidInput
        Where a slope is smaller than the one before: φ is not convex there.

    Examples
    --------
    >>> hockey_stick = polygon([(0, 0), (2, 0), (3, 1)])       # max(0, t − 2)
    >>> branching(Channel.identity([0, 1, 2, 3]), divergence(hockey_stick))
    Fraction(2, 1)
    """
    points = number_pairs(corners, "the corners of a polygon")
    if len(points) < 2 or points[0][0] or any(a[0] >= b[0] for a, b in pairwise(points)):
        raise InvalidInput("a polygon has corners (0, φ(0)), (t₁, φ(t₁)), … with growing t, two at least")
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(points)]
    for k, (before, after) in enumerate(pairwise(slopes)):
        if after < before:
            raise InvalidInput(f"φ is not convex at t = {points[k + 1][0]}: its slope falls from {before} to {after}")
    sides = list(zip(points, slopes, strict=False))

    def value(ratios: Array) -> Array:
        rational = is_exact(ratios)
        lines = [
            value + slope * (ratios - t) if rational else float(value) + float(slope) * (ratios - float(t))
            for (t, value), slope in sides
        ]
        return np.asarray(np.maximum.reduce(lines))

    return Generator(f"a polygon with {len(slopes)} sides", value, "its slopes do not fall, which was checked exactly")


def divergence(generator: Generator | str, prior: Prior | None = None) -> Branch:
    """F(v) = Σ_x w_x m φ(v_x / m), with w the weights of a prior, or 1 for each secret, and m the mean of v under them.

    Under a prior, Σ_y F is how far the outputs of a secret are from those of all: Σ_x π_x D_φ(C_x ‖ Σ_z π_z C_z).

    Parameters
    ----------
    generator
        A name in :data:`GENERATORS`, or :func:`polygon`.

    Examples
    --------
    >>> flip = Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
    >>> branching(flip, divergence("absolute")), branching(flip, divergence("square", Prior([0, 1], ["1/4", "3/4"])))
    (Fraction(1, 3), Fraction(3, 35))
    """
    if isinstance(generator, str):
        if generator not in GENERATORS:
            raise NotSupported(f"generator {shown(generator)}", [*GENERATORS, "polygon(corners)"])
        generator = GENERATORS[generator]
    phi = expect(generator, Generator, "the generator of a divergence", "a name in GENERATORS, or polygon(corners)")
    given = None if prior is None else as_prior(prior)

    def value(column: Array) -> Any:
        ones = np.array([1] * len(column), dtype=object)
        weights = ones if given is None else given.weights
        weights = weights if is_exact(weights, column) else floats(weights)
        mean = (weights * column).sum() / weights.sum()
        if not mean > 0:
            return mean * 0
        counted = weights > 0
        return (weights[counted] * mean * phi.value(column[counted] / mean)).sum()

    why = f"F is a sum of perspectives of φ = {phi.name}, which is convex: {phi.reason}"
    return Branch(f"divergence of {phi.name}", value, why, None if given is None else given.secrets)


# ----------------------------------------------------------------- is F convex and homogeneous?


@dataclass(frozen=True, eq=False)
class Unbranched:
    """Columns at which F is not convex or not homogeneous, and what comes of it.

    ``columns`` are merged, or are what one column was split into; ``before`` and ``after`` are what F says of both
    sides, in the order of the post-processing. Post-processing ``channel`` by ``processing`` raises Σ F by their
    difference.
    """

    condition: str
    columns: tuple[Array, Array]
    before: Any
    after: Any
    channel: Channel
    processing: Channel


def is_convex_homogeneous(
    function: Branch | Callable[[Array], Any],
    secrets: int | Iterable[Any] = 3,
    *,
    tries: int = 2000,
    seed: int = 0,
) -> Verdict:
    """Is F convex with F(cv) = cF(v)?

    *Holds* for a :class:`Branch`, whose form says so. Any other function is a black box, and is evaluated at rational
    columns: all with entries 0, 1 and 2 and their sums first, then random ones, near ones and proportional ones.
    *Fails* comes with an :class:`Unbranched`; *undecided* says how far it was searched. Rational values decide exactly,
    floats must differ by more than a billionth.

    Parameters
    ----------
    secrets
        How many entries a column has, or the secrets themselves.
    tries
        Random pairs of columns.

    Examples
    --------
    >>> bool(is_convex_homogeneous(divergence("square")))
    True
    >>> verdict = is_convex_homogeneous(lambda column: sum(v * v for v in column))
    >>> print(verdict)
    fails: F is not homogeneous: F(0, 0, 1/2) + F(0, 0, 1/2) = 1/2, F(0, 0, 1) = 1
    >>> print(is_convex_homogeneous(max, tries=100).outcome)
    undecided
    """
    if isinstance(function, Branch):
        return holds(function.reason)
    if not callable(function):
        raise InvalidInput(f"F must be a function of a column, found {shown(function)}")
    counted = isinstance(secrets, int | np.integer)
    labels = tuple(range(integer(secrets, "secrets", 1, _MOST_ENTRIES))) if counted else secrets_of(secrets)
    tries, seed = integer(tries, "tries", 0, MOST_TRIES), integer(seed, "the seed")
    looked = 0
    for v, w, merged in _columns(len(labels), tries, Random(seed)):
        looked += 1
        violation = _broken(function, labels, v, w, merged)
        if violation is not None:
            return fails(_in_words(violation), violation)
    return undecided(
        f"F is a black box, which no number of examples proves: no violation at {looked} pairs of columns "
        f"with {len(labels)} entries",
        looked,
    )


def _columns(n: int, tries: int, random: Random) -> Iterator[tuple[Array, Array, bool]]:
    """Pairs of columns with entries that sum to at most 1, and whether they are to be merged (else they are parts)."""
    small = [entries for entries in product((0, 1, 2), repeat=n) if any(entries)][: 3**5]
    for entries in small:
        for share in (Fraction(1, 2), Fraction(1, 3), Fraction(0)):
            yield *_fitted([share * v for v in entries], [(1 - share) * v for v in entries]), False
    for one, other in combinations(small, 2):
        yield *_fitted(one, other), True
    for _ in range(tries):
        some = [random.choice((0, random.randint(0, 12))) for _ in range(n)]
        near = [v + random.choice((0, 0, 1)) for v in some]
        far = [random.choice((0, random.randint(0, 12))) for _ in range(n)]
        share = Fraction(random.randint(0, 12), 12)
        if any(some):
            yield *_fitted(some, random.choice((near, far))), True
            yield *_fitted([share * v for v in some], [(1 - share) * v for v in some]), False


def _fitted(one: Iterable[Any], other: Iterable[Any]) -> tuple[Array, Array]:
    """Both columns scaled together until their sum has 1 as its largest entry."""
    v, w = object_array(Fraction(x) for x in one), object_array(Fraction(x) for x in other)
    scale = max((v + w).tolist())
    return v / scale, w / scale


def _broken(
    function: Callable[[Array], Any], labels: tuple[Any, ...], v: Array, w: Array, merged: bool
) -> Unbranched | None:
    """What a pair of columns shows against F, if anything."""
    parts = [_value(function, column) for column in (v, w)]
    apart, together = parts[0] + parts[1], _value(function, v + w)
    if exceeds(together, apart):
        condition = "convex" if merged else "homogeneous"
        return Unbranched(condition, (v, w), apart, together, *_merging(labels, v, w))
    if not merged and exceeds(apart, together):
        return Unbranched("homogeneous", (v, w), together, apart, *_splitting(labels, v, w))
    return None


def number_from(function: Callable[[Any], Any], name: str, argument: Any, kind: str, shown_as: str) -> Any:
    """What a function that was given says of an argument, if that is a number."""
    value = answer_of(function, name, argument)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction) or value != value:
        raise InvalidInput(f"{name} must give a number for every {kind}, found {shown(value)} for {shown_as}")
    return value


def _value(function: Callable[[Array], Any], column: Array) -> Any:
    return number_from(function, "F", column, "column", _shown(column))


def exceeds(value: Any, other: Any) -> bool:
    """Whether a value of a measure is above another: exactly for rationals, beyond rounding for floats."""
    if isinstance(value, float) or isinstance(other, float):
        one, two = float(value), float(other)
        return one - two > ROUNDING_OF_MEASURES * max(1.0, abs(one), abs(two))
    return bool(value > other)


def _merging(labels: tuple[Any, ...], v: Array, w: Array) -> tuple[Channel, Channel]:
    """A channel with the two columns, and the post-processing that merges them."""
    columns = [v, w, 1 - v - w]
    images = [0, 0, 1]
    if not columns[2].any():
        columns, images = columns[:2], images[:2]
    channel = Channel(labels, np.stack(columns, axis=1))
    return channel, Channel(channel.outputs, [[int(k == z) for z in range(max(images) + 1)] for k in images])


def _splitting(labels: tuple[Any, ...], v: Array, w: Array) -> tuple[Channel, Channel]:
    """A channel with the sum of two proportional columns, and the post-processing that splits it into them."""
    whole = v + w
    x = next(x for x in range(len(whole)) if whole[x])
    share = v[x] / whole[x]
    rows = [[share, 1 - share]] if (whole == 1).all() else [[share, 1 - share, 0], [0, 0, 1]]
    columns = [whole] if len(rows) == 1 else [whole, 1 - whole]
    channel = Channel(labels, np.stack(columns, axis=1))
    return channel, Channel(channel.outputs, rows)


def _in_words(violation: Unbranched) -> str:
    v, w = violation.columns
    apart = f"F{_shown(v)} + F{_shown(w)}"
    whole = f"F{_shown(v + w)}"
    if len(violation.processing.outputs) > len(violation.channel.outputs):  # it was split
        return f"F is not {violation.condition}: {whole} = {violation.before}, {apart} = {violation.after}"
    return f"F is not {violation.condition}: {apart} = {violation.before}, {whole} = {violation.after}"


def _shown(column: Array) -> str:
    return f"({', '.join(str(v) for v in column)})"
