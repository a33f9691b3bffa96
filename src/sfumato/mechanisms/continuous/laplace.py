"""The Laplace mechanism on an interval, as it is and truncated.

A value x of [a, b] is disclosed as y with density (ε/2)·e^{−ε|y − x|}; the truncated mechanism moves what
falls outside to the nearer end, which then has the probability e^{−ε(x − a)}/2, or e^{−ε(b − x)}/2.
(Definition 4 of paper B prints e^{εx}/2 and e^{ε(1 − x)}/2, with which rows would sum to more than 1.)

For |x − x′| = d the densities at any y differ at most by the factor e^{εd}, by the triangle inequality,
and so do integrals of them: both keep the promise ε·|x − x′| for every pair of reals, whatever the outputs
are turned into afterwards.

The truncated mechanism is optimal for every prior with a density and every loss that is continuous,
Lipschitz and grows with |w − x| (B, Theorem 5); for step losses it is not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import float_array, index_array
from sfumato.certify.charge import Charge, rate_text, rule_charge
from sfumato.draws.plans import Plan
from sfumato.errors import InvalidInput, NotSupported
from sfumato.mechanisms.continuous.interval import UNIT, Ends, as_interval, lattice_space
from sfumato.numbers import Array, Floats, Number, object_array, whole_number
from sfumato.privacy.promise import rational_power
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.box import Box
from sfumato.spaces.finite import check_size

_BY_PIXELS = "sampler(truncated_laplace(…), pixels=…, steps=…)"
PIXELS_MISSING = f"outputs are told by pixels: say how many, {_BY_PIXELS}"
"""Why the truncated Laplace mechanism alone cannot be drawn from."""


@dataclass(frozen=True, eq=False, repr=False)
class Laplace:
    """x disclosed as a real number y with density (ε/2)·e^{−ε|y − x|}; made by :func:`laplace`."""

    interval: Box
    privacy: PrivacyType
    """ε between the two ends, and so per unit of length."""

    def __repr__(self) -> str:
        alpha = self.privacy.alpha
        rate = f"epsilon={self.rate:g}" if alpha is None else f"alpha={alpha}"
        return f"{type(self).__name__}({self.interval}, {rate})"

    @cached_property
    def rate(self) -> float:
        """ε per unit of length."""
        return self.privacy.rate

    def as_plan(self) -> Plan:
        """Refused: outputs are real numbers."""
        raise NotSupported("draws from a value of type Laplace, whose outputs are real numbers", [_BY_PIXELS])

    def as_charge(self) -> Charge:
        """What a ledger adds up; which pixels and steps are drawn, and so which noise it is, is not known here."""
        ends = [str(self.interval.low), str(self.interval.high)]
        rule = [type(self).__name__]
        return replace(
            rule_charge(f"[{', '.join(ends)}]", ["interval", *ends], rate_text(self.privacy), rule), noise=""
        )

    def promise_on(self, steps: int) -> PrivacyType:
        """What is promised for the points of the lattice U_N."""
        return PrivacyType(lattice_space(steps, self.interval), self.privacy.epsilon, self.privacy.alpha)

    def density(self, x: Any, y: Any) -> Floats:
        """The density of output y for the secret x."""
        with np.errstate(over="ignore"):  # what is that far away has density 0
            gap = np.abs(float_array(y, "outputs") - _secrets(x))
            return np.asarray(self.rate / 2 * np.exp(-self.rate * gap))

    def mass_between(self, x: Any, low: Any, high: Any) -> Floats:
        """The probability that the output lies between two numbers; they may be infinite.

        What lies left of x and what lies right of x are added, each as a product: no difference of nearly
        equal cumulative sums is taken.
        """
        x, low, high = _secrets(x), float_array(low, "outputs"), float_array(high, "outputs")
        left_end, right_start = np.minimum(high, x), np.maximum(low, x)
        with np.errstate(over="ignore", invalid="ignore"):  # far away is nothing, and so is from ∞ to ∞
            left = np.exp(-self.rate * (x - left_end)) * -np.expm1(-self.rate * np.maximum(left_end - low, 0))
            right = np.exp(-self.rate * (right_start - x)) * -np.expm1(-self.rate * np.maximum(high - right_start, 0))
        return np.asarray(np.nan_to_num((left + right) / 2, nan=0.0))


@dataclass(frozen=True, eq=False, repr=False)
class TruncatedLaplace(Laplace):
    """The Laplace mechanism with outputs outside of the interval moved to its ends; made by :func:`truncated_laplace`.

    Its outputs of positive probability are the two ends.
    """

    def as_plan(self) -> Plan:
        """Refused: outputs are told by pixels, whose number is not known here."""
        raise InvalidInput(PIXELS_MISSING)

    @property
    def outputs(self) -> tuple[Fraction, Fraction]:
        """The outputs that have a probability, not only a density."""
        return self.interval.low, self.interval.high

    @property
    def jumps(self) -> Floats:
        """Secrets where a row is not smooth in x, for all outputs: none."""
        return np.empty(0)

    def mass(self, x: Any, index: Any) -> Floats:
        """The probability of the lower end (index 0) or the upper end (index 1)."""
        low, high = self.interval.ends
        x = np.clip(_secrets(x), low, high)
        gap = np.where(index_array(index, 2, "the number of an end") == 0, x - low, high - x)
        return np.asarray(np.exp(-self.rate * gap) / 2)

    def cumulative(self, x: Any, y: Any) -> Floats:
        """The probability of an output up to y: all of it at the upper end, the lower atom already at the lower."""
        low, high = self.interval.ends
        y = float_array(y, "outputs")
        inside = self.mass_between(x, -np.inf, y)
        return np.asarray(np.where(y >= high, 1.0, np.where(y < low, 0.0, inside)))

    def edge_sums(self, steps: int, pixels: int) -> Array:
        """The cumulative sums at T + 1 pixel edges for the N + 1 secrets of the lattice, in closed form.

        Row n, column t is the probability of an output below edge t (0 at t = 0, 1 at t = T). With
        β = e^{−ε(b−a)/lcm(N, T)} it is β^k/2 for an edge k lattice steps below the secret and 1 − β^k/2
        above: rational when β is.
        """
        gaps, powers = common_lattice(self, steps, pixels)
        half = powers[np.abs(gaps)] / 2
        sums = np.where(gaps <= 0, half, 1 - half)
        sums[:, 0], sums[:, -1] = 0 * sums[:, 0], 0 * sums[:, -1] + 1
        return np.asarray(sums)


def laplace(
    epsilon: Number | None = None,
    *,
    alpha: Number | None = None,
    interval: Ends = UNIT,
) -> Laplace:
    """The ε-Laplace mechanism for secrets in an interval (B, Definition 3); its outputs are real numbers.

    Examples
    --------
    >>> mechanism = laplace(1)
    >>> mechanism, round(float(mechanism.mass_between(0.5, 0, 1)), 6)
    (Laplace([0, 1], epsilon=1), 0.393469)
    """
    within = as_interval(interval)
    return Laplace(within, PrivacyType(lattice_space(1, within), epsilon=epsilon, alpha=alpha))


def truncated_laplace(
    epsilon: Number | None = None,
    *,
    alpha: Number | None = None,
    interval: Ends = UNIT,
) -> TruncatedLaplace:
    """The ε-Laplace mechanism with outputs truncated to the interval (B, Definition 4).

    Parameters
    ----------
    epsilon
        ε > 0 per unit of length.
    alpha
        Instead of ε: the rational e^{−ε}. Pixel masses on a lattice are then rational wherever they can be.
    interval
        Where secrets and outputs live.

    Examples
    --------
    >>> mechanism = truncated_laplace(alpha="1/16")
    >>> mechanism.mass(0.5, [0, 1]).tolist()                    # e^{−ε/2}/2 at either end
    [0.125, 0.125]
    """
    within = as_interval(interval)
    return TruncatedLaplace(within, PrivacyType(lattice_space(1, within), epsilon=epsilon, alpha=alpha))


def decay_powers(mechanism: Laplace, steps: int) -> Array:
    """e^{−ε(b−a)k/N} for k = 0, …, N: rationals if e^{−ε(b−a)/N} is one, else floats."""
    check_size(steps + 1, "points of a common lattice")
    alpha, length = mechanism.privacy.alpha, mechanism.interval.length
    base = None if alpha is None else rational_power(alpha, length / steps)
    if base is None:
        return np.asarray(np.exp(-mechanism.rate * float(length) * np.arange(steps + 1) / steps))
    powers = [Fraction(1)]
    for _ in range(steps):
        powers.append(powers[-1] * base)
    return object_array(powers)


_MOST_ENTRIES = 50_000_000  # A table of secrets and pixels has at most so many entries.


def common_steps(steps: int, pixels: int) -> int:
    """The steps of the lattice that holds both the secrets and the edges of pixels; an error if it is too fine."""
    steps, pixels = whole_number(steps, "steps"), whole_number(pixels, "pixels")
    check_size(lcm(steps, pixels) + 1, "points of a common lattice")
    if (steps + 1) * (pixels + 1) > _MOST_ENTRIES:
        raise NotSupported(f"a table of {steps + 1} secrets and {pixels} pixels", [f"at most {_MOST_ENTRIES} entries"])
    return lcm(steps, pixels)


def _secrets(x: Any) -> Floats:
    secrets = float_array(x, "secrets")
    if not np.isfinite(secrets).all():
        raise InvalidInput("secrets are finite numbers")
    return secrets


def common_lattice(mechanism: Laplace, steps: int, pixels: int) -> tuple[NDArray[np.int64], Array]:
    """Edge minus secret for all secrets of U_N and edges of U_T, in steps of the common lattice; its powers."""
    steps, pixels = whole_number(steps, "steps"), whole_number(pixels, "pixels")
    common = common_steps(steps, pixels)
    secrets = np.arange(steps + 1) * (common // steps)
    edges = np.arange(pixels + 1) * (common // pixels)
    return edges[None, :] - secrets[:, None], decay_powers(mechanism, common)
