"""The geometric mechanism: on all integers, on a line, and on what a line can be read off."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import integer
from sfumato.certify.charge import Charge, rate_text, rule_charge
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.protocol import Domain, no_table
from sfumato.certify.verify import prove
from sfumato.draws.noise import Rate, noise
from sfumato.draws.plans import AddedNoise
from sfumato.errors import InvalidEpsilon, InvalidInput, NotSupported, short, shown
from sfumato.losses.classes import line_path
from sfumato.mechanisms.proved import proved
from sfumato.numbers import Array, Number, as_written, fractions, is_exact
from sfumato.privacy.similarity import similarity
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.spaces.constructors import line
from sfumato.spaces.finite import FiniteSpace, check_size


class IntegerSecrets:
    """Mechanisms for all integers: an integer is its own label."""

    about: ClassVar[Literal["secrets"]] = "secrets"
    drawn_as: ClassVar[Literal["noise"]] = "noise"

    @property
    def domain(self) -> Domain:
        """The integers."""
        return Domain("the integers", integers=True)

    @property
    def secrets(self) -> None:
        """All integers."""
        return None

    @property
    def outputs(self) -> None:
        """All integers."""
        return None

    def as_table(self) -> Mechanism:
        """Refused: there are infinitely many rows."""
        raise no_table(self, "a range of integers: geometric(privacy), staircase(privacy)")


@dataclass(frozen=True)
class GeometricNoise(IntegerSecrets):
    """Two-sided geometric noise on the integers at a rate of its own: ε, for which e^{−ε} is irrational, or α."""

    rate: Rate

    def as_plan(self) -> AddedNoise:
        """Tables of digits."""
        return AddedNoise(noise(self.rate, fair=False))

    def as_charge(self) -> Charge:
        """What a ledger adds up."""
        return rule_charge("the integers", ["integers"], rate_text(self.rate), ["InfiniteGeometric"])


@dataclass(frozen=True)
class InfiniteGeometric(IntegerSecrets):
    """Two-sided geometric noise on the integers: G(x)(y) = (1 − α)/(1 + α) · α^|x − y|, exactly.

    As a channel on any range of secrets it tells exactly as much as its truncation to that range: answers beyond an
    end say no more than the end itself.

    Examples
    --------
    >>> noise = InfiniteGeometric(Fraction(1, 2))
    >>> noise.probability(0, 3), noise.cumulative(0, 0), noise.cumulative(0, -1)
    (Fraction(1, 24), Fraction(2, 3), Fraction(1, 3))
    """

    alpha: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", as_written(self.alpha, "alpha", InvalidEpsilon))
        if not 0 < self.alpha < 1:
            raise InvalidEpsilon(f"alpha lies strictly between 0 and 1, found {short(self.alpha)}")

    def probability(self, x: int, y: int) -> Fraction:
        """G(x)(y)."""
        apart = abs(integer(x, "x") - integer(y, "y"))
        return Fraction((1 - self.alpha) / (1 + self.alpha) * power_of(self.alpha, apart))

    def cumulative(self, x: int, y: int) -> Fraction:
        """The probability of an answer of at most y."""
        x, y = integer(x, "x"), integer(y, "y")
        if y < x:
            return Fraction(power_of(self.alpha, x - y) / (1 + self.alpha))
        return Fraction(1 - power_of(self.alpha, y - x + 1) / (1 + self.alpha))

    def as_plan(self) -> AddedNoise:
        """Tables of digits."""
        return GeometricNoise(Rate(None, self.alpha)).as_plan()

    def as_charge(self) -> Charge:
        """What a ledger adds up."""
        return GeometricNoise(Rate(None, self.alpha)).as_charge()

    def truncated(self, low: int, high: int) -> Mechanism:
        """Answers beyond an end count for the end: the mechanism on the secrets low, …, high."""
        low, high = integer(low, "low"), integer(high, "high")
        if low >= high:
            raise InvalidInput(f"needs low < high, found {short(low)} and {short(high)}")
        check_size(high - low + 1)
        labels = range(low, high + 1)
        space = FiniteSpace(labels, line(len(labels)).distances)
        return geometric(PrivacyType(space, alpha=self.alpha))


_MOST_DIGITS = 1_000_000  # An exact probability has at most so many digits.


def power_of(base: Fraction | float, exponent: int) -> Any:
    """The base to a power, exact for an exact base; an error where its digits could not be held."""
    if isinstance(base, Fraction):
        if exponent * max(base.denominator.bit_length(), 2) > 3 * _MOST_DIGITS:
            raise NotSupported(f"a probability this far out, {short(exponent)} steps", ["nearer values"])
        return base**exponent
    return base**exponent if exponent < 2**53 else 0.0  # which it is long before


def geometric(privacy: PrivacyType, *, alpha: Number | None = None) -> Mechanism:
    """The truncated geometric mechanism on a line of any spacing: M(x)(y) = w_y e^{−εd(x, y)}.

    w_y = 1 − Σ 1/(1 + e^{εd}) over the one or two neighbours of y. It is universally optimal for every loss whose
    actions can be ordered so that differences of losses cross zero once, among them the absolute and squared
    loss, thresholds, ℓ_bin and ℓ_nib (proof on the page "The geometric mechanism"); for losses that grow with the error
    by Ghosh, Roughgarden and Sundararajan 2012. On more than two secrets it is not for every loss.

    Parameters
    ----------
    alpha
        For steps of 1 between secrets, a smaller ratio than the promise asks for.

    Examples
    --------
    >>> mechanism = geometric(PrivacyType(line(3), alpha="1/2"))
    >>> [[str(p) for p in row] for row in mechanism.channel.matrix]
    [['2/3', '1/6', '1/6'], ['1/3', '1/3', '1/3'], ['1/6', '1/6', '2/3']]
    """
    privacy = as_type(privacy)
    if alpha is not None:
        stricter = PrivacyType(privacy.space, alpha=alpha)
        if stricter.rate_bounds(64)[1] > privacy.rate_bounds(64)[1]:
            raise InvalidEpsilon(f"alpha = {alpha} tells more than {shown(privacy)} allows")
        mechanism = geometric(stricter)
        return prove(mechanism.channel, privacy, provenance={"made by": "geometric", "alpha": str(stricter.alpha)})
    order = line_order(privacy.space)
    phi = similarity(privacy)
    return proved("geometric", privacy, phi * _weights(phi, order), privacy.secrets)


def hamming_kernel(privacy: PrivacyType) -> Mechanism:
    """The geometric mechanism of the number of ones, on bit strings (Fernandes et al. 2023, figure 8).

    A kernel of the Hamming type: along every edge of the cube the number of ones changes by 1, so every edge is
    tight in every column. Restricted to a path 0…0, 10…0, …, 1…1 it is the truncated geometric mechanism,
    so it is universally optimal for losses on that path, lifted by zeros, for which that one is.

    Examples
    --------
    >>> from sfumato.spaces import hamming
    >>> mechanism = hamming_kernel(PrivacyType(hamming(3), alpha="1/2"))
    >>> [str(p) for p in mechanism.channel.matrix[0]]
    ['2/3', '1/6', '1/12', '1/12']
    """
    privacy = as_type(privacy)
    ones = ones_of(privacy.space)
    path = [
        int((ones == step).argmax()) for step in range(int(ones.max()) + 1)
    ]  # the first of each, one above the other
    phi = similarity(privacy)[np.ix_(path, path)]
    table = (phi * _weights(phi, list(range(len(path)))))[ones]
    return proved("hamming_kernel", privacy, table, range(len(path)))


def ones_of(space: FiniteSpace) -> NDArray[np.int64]:
    """How many ones each secret of a Hamming cube has.

    Raises
    ------
    NotSupported
        If the secrets are not all words of some bits, or distances do not count the bits that differ.
    """
    words = [_bits(label) for label in space.labels]
    if all(1 << len(word) == len(space) for word in words):
        bits = np.array(words)
        if (space.distances.floats == (bits[:, None] != bits[None, :]).sum(axis=2)).all():
            return np.asarray(bits.sum(axis=1))
    raise NotSupported(f"the Hamming kernel on {space.name}", ["hamming(length) with two symbols"])


def _bits(label: Any) -> list[int]:
    if not isinstance(label, str | tuple) or not label or any(str(bit) not in "01" for bit in label):
        raise NotSupported(f"the Hamming kernel for the secret {shown(label)}", ["strings or tuples of bits"])
    return [int(bit) for bit in label]


def _weights(phi: Array, order: list[int]) -> Array:
    """w with Σ_y w_y Φ(x, y) = 1 on a line visited in this order: 1 − Σ Φ/(1 + Φ) over the neighbours."""
    weights = fractions(np.ones(len(order), dtype=np.int64)) if is_exact(phi) else np.ones(len(order))
    for x, z in pairwise(order):
        share = phi[x, z] / (1 + phi[x, z])
        weights[x] -= share
        weights[z] -= share
    return np.asarray(weights)


def line_order(space: FiniteSpace) -> list[int]:
    """The secrets from one end to the other, if distances add up along them.

    Raises
    ------
    NotSupported
        If the pairs that no chain implies do not form one path.
    """
    order = line_path(space)
    if order is None:
        raise NotSupported(f"the geometric mechanism on {space.name}", ["a line: secrets whose distances add up"])
    return order
