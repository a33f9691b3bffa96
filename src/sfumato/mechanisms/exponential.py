"""The exponential mechanism with any score and any base measure, and how far its noise may be turned down.

A score s(x, y) says how bad output y is for the secret x. Mechanisms of this kind depend on the numbers
p_xy = e^{−β(s(x, y) − min_y s(x, y))} only; β is how much the score counts. With

* C, the Lipschitz constant of the score: ``|s(x, y) − s(z, y)| ≤ C d(x, z)``,
* R, its spread: max_y − min_y of s(x, y) − s(z, y) is at most R d(x, z), so R ≤ 2C,

the exponential mechanism keeps the promise ε = 2Cβ (Kleinberg and Ligett 2010, Theorem 2.7, here called E). What it
really needs lies between Rβ/2 and Rβ: ln(M(x)(y)/M(z)(y)) is s(z, y) − s(x, y), times β, plus a number that does not
depend on y; two distributions have a ratio ≥ 1 somewhere and one ≤ 1 elsewhere. So between ε/2C and 2ε/R there may be
a larger β that is as private, and floats look for it. The kernel decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq

from sfumato.arguments import one_of
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.repair import quantise
from sfumato.certify.verify import prove
from sfumato.channels.channel import Channel, check_secrets, normalise
from sfumato.channels.ratios import log_ratios, logarithms, row_gaps
from sfumato.errors import InvalidInput, expect
from sfumato.labels import column_labels, in_order, table_in_order
from sfumato.losses.loss import Loss
from sfumato.numbers import (
    Array,
    Floats,
    array,
    common_denominator,
    exact,
    floats,
    fractions,
    is_exact,
    log_bounds,
    object_array,
    printed_above,
)
from sfumato.privacy.promise import rational_power
from sfumato.privacy.satisfaction import satisfies, smallest_epsilon
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.spaces.finite import FiniteSpace, label_tuple

Calibration = Literal["bound", "exact"]

_LARGEST_EXACT = 2**12  # entries of a table of long fractions
_MOST_EXACT_BITS = 4096  # The common denominator of a mechanism has at most so many bits.
_BETAS_SCANNED = 17  # values of β looked at between the two bounds before a root is bracketed
_ROOT_ACCURACY = 1e-13  # The relative accuracy of β; what it misses is lost on the safe side.
_NEAR_A_MULTIPLE = 1e-9  # β this near to a simple multiple of ε is tried as that multiple, and believed only if proved
_ROUNDING_MARGIN = 1 + 2.0**-46  # differences and quotients of doubles, rounded four times at most


@dataclass(frozen=True, eq=False)
class Score:
    """How bad each output is for each secret: ``values`` has one row a secret, smaller is better.

    ``is_distance`` says that it is the distance from secret to secret.
    """

    space: FiniteSpace
    outputs: tuple[Any, ...]
    values: Array
    is_distance: bool = False

    @cached_property
    def relative(self) -> Array:
        """s(x, y) − min_y s(x, y), all that a mechanism depends on."""
        return np.asarray(self.values - self.values.min(axis=1, keepdims=True))

    @cached_property
    def _gaps(self) -> tuple[Floats, Floats]:
        """For each pair that is not implied, the largest |s(x, y) − s(z, y)| and the spread of the difference."""
        low, high = row_gaps(floats(self.values), *self.space.pairs)
        return np.maximum(0.0, np.maximum(high, -low)), np.maximum(0.0, high - low)

    @cached_property
    def lipschitz(self) -> Fraction | float:
        """C: exact where scores and distances are rational, otherwise rounded up; 0 for a score that is constant in x.

        Pairs implied by others need no look: both sides add up along a chain.
        """
        if not self.space.pairs.first.size:
            return Fraction(0)
        if self.is_distance:
            return Fraction(1)  # by the triangle inequality, attained at y = z
        distances = self.space.pair_distances
        rates = self._gaps[0] / distances.floats
        top = float(rates.max())
        if not is_exact(self.values):
            return top * _ROUNDING_MARGIN
        near = np.flatnonzero(rates >= top / _ROUNDING_MARGIN**2)
        pairs, best = self.space.pairs, Fraction(0)
        for k in near:
            low, high = distances.bounds(distances.values[k])
            if low != high:
                return top * _ROUNDING_MARGIN
            x, z = int(pairs.first[k]), int(pairs.second[k])
            best = max(best, exact(np.abs(self.values[x] - self.values[z]).max()) / low)
        return best

    @cached_property
    def spread(self) -> float:
        """R, in floats."""
        if not self.space.pairs.first.size:
            return 0.0
        return float((self._gaps[1] / self.space.pair_distances.floats).max())


def as_score(privacy: PrivacyType, score: Any = None, outputs: Iterable[Any] | None = None) -> Score:
    """A score from a table with one row a secret, from a :class:`Loss`, or by default the distance.

    Examples
    --------
    >>> from sfumato.losses import squared
    >>> from sfumato.spaces import line
    >>> privacy = PrivacyType(line(3), epsilon=1)
    >>> as_score(privacy).lipschitz, as_score(privacy, squared(privacy.space)).lipschitz
    (Fraction(1, 1), Fraction(3, 1))
    """
    space = privacy.space
    if score is None:
        if outputs is not None:
            raise InvalidInput("outputs are given without a score: distances lead from secrets to secrets")
        table = space.distances.exact()
        return Score(space, space.labels, space.distances.floats if table is None else table, True)
    if isinstance(score, Loss):
        check_secrets("score and privacy type", space, score)
        if outputs is not None and tuple(outputs) != score.actions:
            raise InvalidInput("the outputs of a loss are its actions: leave outputs out")
        return Score(space, score.actions, score.matrix.T)
    named = column_labels(score) if outputs is None else outputs
    known = None if named is None else label_tuple(named, "the outputs")
    values = array(table_in_order(score, space.labels, known, "a score"), "a score", 2, small_integers=True)
    if not is_exact(values) and not np.isfinite(values).all():
        raise InvalidInput("a score must be finite")
    if len(values) != len(space):
        raise InvalidInput(f"a score has one row a secret: {len(space)} are needed, found {len(values)}")
    labels = known or (space.labels if values.shape[1] == len(space) else tuple(range(values.shape[1])))
    if len(labels) != values.shape[1]:
        raise InvalidInput(f"{values.shape[1]} columns for {len(labels)} outputs")
    return Score(space, labels, values)


def exponential(
    privacy: PrivacyType,
    *,
    score: Any = None,
    outputs: Iterable[Any] | None = None,
    base: Any = None,
    calibration: Calibration = "bound",
) -> Mechanism:
    """The exponential mechanism M(x)(y) ∝ μ(y) e^{−β s(x, y)} (E, Definition 2.6; McSherry and Talwar 2007).

    It is optimal for no class of losses in general. Where Σ_y e^{−εd(x, y)} is the same for all x (discrete spaces,
    cycles, Hamming cubes), the distance as score with the exact calibration gives β = ε and the tight-constraints
    mechanism, which is optimal for guessing the secret (``losses.bin``) under every regular prior (ElSalamouny,
    Chatzikokolakis and Palamidessi 2014, Proposition 9). On a line the geometric mechanism loses no more distance.

    Parameters
    ----------
    score
        A table with one row a secret and one column an output, small where the output is good, or a
        :class:`Loss`, whose actions are the outputs. By default outputs are secrets and the score is their distance.
        A table with labels is matched by label (:mod:`sfumato.labels`), and so is ``base``.
    outputs
        Labels of the columns of a table.
    base
        μ: one positive number an output; 1 by default.
    calibration
        ``"bound"``: β = ε / 2C, private for every μ by E, Theorem 2.7. ``"exact"``: the largest β that a search in
        floats finds to need no more than ε. Both are proved, and the provenance has β, 2Cβ and the ε really needed.

    Examples
    --------
    >>> from sfumato.spaces import cycle, line
    >>> mechanism = exponential(PrivacyType(line(3), alpha="1/4"))
    >>> [str(p) for p in mechanism.channel.matrix[0]], mechanism.provenance["smallest epsilon"] < 1.26
    (['4/7', '2/7', '1/7'], True)
    >>> exponential(PrivacyType(cycle(4), alpha="1/2"), calibration="exact").channel.matrix[0].tolist()
    [Fraction(4, 9), Fraction(2, 9), Fraction(1, 9), Fraction(2, 9)]
    """
    privacy = as_type(privacy)
    scored = as_score(privacy, score, outputs)
    measure = _base_measure(base, scored.outputs)

    def rows(shares: Array) -> Array:
        weights = shares * (measure if is_exact(shares, measure) else floats(measure))[None, :]
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    # 2β/R bounds what is needed from below, whatever μ
    most = 2 / scored.spread if scored.spread > 0 else None
    return score_mechanism("exponential", privacy, scored, rows, calibration, most, _LARGEST_EXACT)


def _base_measure(base: Any, outputs: tuple[Any, ...]) -> Array:
    if base is None:
        return fractions(np.ones(len(outputs), dtype=np.int64))
    measure = array(in_order(base, outputs, "a base measure"), "a base measure", 1)
    if len(measure) != len(outputs):
        raise InvalidInput(f"a base measure has one number an output: {len(outputs)} are needed, found {len(measure)}")
    bad = np.flatnonzero(~((measure > 0) & (floats(measure) < np.inf)))
    if bad.size:
        raise InvalidInput(f"a base measure is positive and finite, found {measure[bad[0]]} at position {bad[0]}")
    return measure


def score_mechanism(
    name: str,
    privacy: PrivacyType,
    score: Score,
    rows: Callable[[Array], Array],
    calibration: Calibration,
    most: float | None,
    largest_exact: int,
) -> Mechanism:
    """A proved mechanism from ``rows``, which turns the numbers p_xy into probabilities, exact ones into exact ones.

    ``most`` · ε bounds the values of β worth looking at; None where every β is as private as any other.
    """
    one_of(calibration, ("bound", "exact"), "calibration")
    constant = score.lipschitz or Fraction(1)  # a score that ignores the secret is private with any β
    ratio: Fraction | float = 1 / (2 * constant)
    exactly = score.values.size <= largest_exact

    def matrix(multiple: Fraction | float) -> Array:
        """The mechanism for β = multiple · ε."""
        shares = _exact_shares(score, privacy, multiple) if exactly else None
        return rows(_float_shares(score, privacy.rate * float(multiple)) if shares is None else shares)

    if calibration == "exact" and most is not None:
        largest = largest_scale(
            lambda multiple: needed_epsilon(rows(_float_shares(score, privacy.rate * multiple)), score.space),
            privacy.rate,
            float(ratio),
            most,
        )
        simple = Fraction(largest).limit_denominator(12)
        near, ratio = abs(simple - largest) <= _NEAR_A_MULTIPLE * largest, largest
        if near and is_exact(table := matrix(simple)):
            kept = satisfies(Channel(score.space, table, score.outputs), privacy).outcome == "holds"
            ratio = simple if kept else largest
    table = matrix(ratio)
    beta = privacy.rate * float(ratio)
    notes = {"calibration": calibration, "beta": beta, "Lipschitz constant": str(score.lipschitz),
             "bound": 2 * float(score.lipschitz) * beta}  # fmt: skip
    return _settled(name, privacy, table, score.outputs, notes)


def _exact_shares(score: Score, privacy: PrivacyType, multiple: Fraction | float) -> Array | None:
    """e^{−multiple·ε·s} where all of them are rational."""
    if privacy.alpha is None or isinstance(multiple, float) or not is_exact(score.values):
        return None
    values, where = np.unique(fractions(score.relative).ravel(), return_inverse=True)
    powers = [rational_power(1 / privacy.alpha, multiple * exact(v)) for v in values]
    if any(power is None for power in powers):
        return None
    inverse = object_array([1 / power for power in powers if power is not None])
    return np.asarray(inverse[where].reshape(score.values.shape))


def _float_shares(score: Score, beta: float) -> Floats:
    return np.asarray(np.exp(-beta * floats(score.relative)))


def _settled(
    name: str, privacy: PrivacyType, table: Array, outputs: tuple[Any, ...], notes: dict[str, Any]
) -> Mechanism:
    """Proved as it is if exact and short enough, else next to it in integers; the ε it needs said with it."""
    provenance = {"made by": name, **notes}
    if is_exact(table) and common_denominator(table)[1].bit_length() <= _MOST_EXACT_BITS:
        channel = Channel(privacy.space, table, outputs)
        provenance["smallest epsilon"] = smallest_epsilon(channel, privacy.space)
        return prove(channel, privacy, provenance=provenance)
    rounded = quantise(normalise(floats(table)), privacy, outputs=outputs).mechanism
    provenance["smallest epsilon"] = true_epsilon(rounded)
    return prove(rounded.weights, privacy, outputs=outputs, provenance=provenance)


def true_epsilon(mechanism: Mechanism) -> float:
    """The least ε that a mechanism needs, rounded up: :func:`sfumato.smallest_epsilon` of its integer weights.

    Symmetric mechanisms have very many pairs that need nearly the same; of weights below 2^53 only the different
    ratios that float logarithms cannot tell from the largest are looked at exactly.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> true_epsilon(exponential(PrivacyType(line(2), alpha="1/4")))
    0.6931471805599454
    """
    mechanism = expect(mechanism, Mechanism, "a mechanism")
    space, weights = mechanism.privacy.space, mechanism.weights
    if int(weights.max()) >= 2**53:
        return smallest_epsilon(mechanism.channel, space)
    table, pairs, distances = weights.astype(np.float64), space.pairs, space.pair_distances
    rates = _rates(table, space)
    top = float(rates.max(initial=0.0))
    if top in (0.0, np.inf):
        return top
    # logarithms of 53 bits are good to 2^-48
    cut = top * (1 - 2.0**-46) - 2.0**-46 / float(distances.floats.min())
    candidates: set[tuple[int, int, Any]] = set()
    for k in np.flatnonzero(rates >= cut).tolist():
        a, b = table[pairs.first[k]], table[pairs.second[k]]
        high, low = np.maximum(a, b), np.maximum(np.minimum(a, b), 1.0)
        near = np.flatnonzero(high >= np.exp(cut * distances.floats[k]) * (1 - 2.0**-50) * low)
        candidates.update((int(high[y]), int(low[y]), distances.values[k]) for y in near)
    ratios = {(Fraction(high, low), value) for high, low, value in candidates}
    return max(printed_above(log_bounds(ratio)[1] / distances.bounds(value)[0]) for ratio, value in ratios)


# ----------------------------------------------------------------- floats: search


def largest_scale(needed: Callable[[float], float], promise: float, low: float, high: float) -> float:
    """The largest scale between two bounds that needs no more than the promise, as far as floats can find it.

    ``low`` is known to be good. What is needed need not grow with the scale: for a base measure that favours bad
    outputs it can fall while the mechanism turns to the good ones. So several scales are looked at, the largest
    first, before a root is taken above the first good one.
    """
    if not low < high or needed(high) <= promise:
        return max(low, high)
    bad, good = high, low
    for scale in np.geomspace(high, low, _BETAS_SCANNED)[1:-1].tolist():
        if needed(scale) <= promise:
            good = scale
            break
        bad = scale

    def excess(scale: float) -> float:
        return min(needed(scale), 2 * promise) - promise  # finite, where a probability is too small for a float

    if excess(good) >= 0:  # by rounding
        return good
    root, step = float(brentq(excess, good, bad, xtol=_ROOT_ACCURACY * low, rtol=_ROOT_ACCURACY)), _ROOT_ACCURACY
    while root > good and excess(root) > 0:
        root, step = root * (1 - step), 2 * step
    return max(root, good)


def needed_epsilon(matrix: Floats, space: FiniteSpace) -> float:
    """The least ε for a float matrix, as good as the logarithms of its entries: to search with."""
    return float(_rates(matrix, space).max(initial=0.0))


def _rates(matrix: Floats, space: FiniteSpace) -> Floats:
    """The ε that each pair of rows needs; infinite where only one of two entries is 0."""
    return np.asarray(log_ratios(logarithms(matrix), *space.pairs) / space.pair_distances.floats)
