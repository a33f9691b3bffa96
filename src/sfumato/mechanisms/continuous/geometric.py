"""The truncated geometric mechanism on the lattice U_N, and how the Laplace mechanism comes out of it.

G_N discloses the lattice point n as m with probability g_m·α^{|n − m|}, where α = e^{−ε(b−a)/N}, g_m =
(1−α)/(1+α) inside and 1/(1+α) at both ends (B, Equation 11).

On lattice secrets the truncated Laplace mechanism is G_N followed by a smear. Let y lie between the points i and
i + 1, at the share t. For every secret k, with z = α^t,

    α^{|k − i − t|} = a·α^{|k − i|} + b·α^{|k − i − 1|},   a = (z − α²/z)/(1 − α²),   b = (α/z − αz)/(1 − α²),

since for k ≤ i it says z = a + bα and for k > i it says α/z = aα + b. Both a and b are ≥ 0. So each column of the
Laplace mechanism is a mixture of two neighbouring columns of G_N, which is Lemma 11 for every number of pixels at
once, and Theorem 12 without a limit. Integrating a, an inner output moves by at most s lattice steps to the right
with probability

    H(s) = (1 − α^s)(1 − α^{2−s}) / (2(1 − α)²),   0 ≤ s ≤ 1,

and likewise to the left; H(1) = 1/2. The end outputs stay where they are with probability (1 + α)/2 and move
inwards with (1 − α)·H(s).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.arguments import float_array, integer
from sfumato.channels.channel import Channel, normalise
from sfumato.errors import expect
from sfumato.mechanisms.continuous.interval import lattice
from sfumato.mechanisms.continuous.laplace import Laplace, TruncatedLaplace, common_lattice, decay_powers
from sfumato.mechanisms.continuous.pixelation import on_lattice, pixelate
from sfumato.numbers import Array, Floats, is_exact, whole_number
from sfumato.orders.refinement import refines
from sfumato.verdict import Verdict

__all__ = ["Smear", "geometric_refinement", "lattice_geometric", "smear"]


def lattice_geometric(mechanism: Laplace, steps: int) -> Channel:
    """G_N: the truncated geometric mechanism on U_N with the promise of a Laplace mechanism.

    Exact when e^{−ε(b−a)/N} is rational. It is optimal on the lattice for every prior and every loss that grows
    with |w − x| (Ghosh, Roughgarden and Sundararajan 2012), and not private between lattice points.

    Examples
    --------
    >>> from sfumato.mechanisms.continuous import truncated_laplace
    >>> lattice_geometric(truncated_laplace(alpha="1/16"), 2).matrix[0].tolist()
    [Fraction(4, 5), Fraction(3, 20), Fraction(1, 20)]
    """
    expect(mechanism, Laplace, "the mechanism that sets the promise", "truncated_laplace(epsilon) makes one")
    points = lattice(whole_number(steps, "steps"), mechanism.interval)
    powers = decay_powers(mechanism, steps)
    place = np.arange(steps + 1)
    table = powers[np.abs(place[:, None] - place[None, :])] * _column_weights(powers)[None, :]
    return Channel(points, table if is_exact(table) else normalise(table), points)


def _column_weights(powers: Array) -> Array:
    """The g_m: 1/(1+α) at both ends, (1−α)/(1+α) between."""
    alpha = powers[1]
    weights = np.repeat(np.array([(1 - alpha) / (1 + alpha)], dtype=powers.dtype), len(powers))
    weights[0] = weights[-1] = 1 / (1 + alpha)
    return weights


@dataclass(frozen=True, eq=False)
class Smear:
    """The post-processing R with L = G_N·R: where an output of the geometric mechanism goes."""

    source: TruncatedLaplace
    steps: int

    @property
    def atoms(self) -> Any:
        """(1 + α)/2, the probability that an end output stays; inner outputs always move."""
        powers = decay_powers(self.source, self.steps)
        return (1 + powers[1]) / 2

    def density(self, index: int, y: Any) -> Floats:
        """The density at y of where output number ``index`` goes, ends apart."""
        low, high = self.source.interval.ends
        width = (high - low) / self.steps
        alpha = np.exp(-self.source.rate * width)
        index = integer(index, "the number of an output", 0, self.steps)
        share = np.minimum(
            np.abs((np.clip(float_array(y, "outputs"), low - width, high + width) - low) / width - index), 2
        )
        weight = 1 / (1 + alpha) if index in (0, self.steps) else (1 - alpha) / (1 + alpha)
        mixed = alpha**share * (1 - alpha ** (2 - 2 * share)) / (1 - alpha**2)
        return np.asarray(np.where(share <= 1, self.source.rate / 2 * mixed / weight, 0.0))

    def edge_sums(self, pixels: int) -> Array:
        """For each output of G_N, the probability to end below each of T + 1 pixel edges; rational where it can be."""
        gaps, powers = common_lattice(self.source, self.steps, pixels)
        unit = (len(powers) - 1) // self.steps  # a step of U_N in steps of the common lattice
        moved = _moved(powers, unit)[np.minimum(np.abs(gaps), unit)]
        alpha = powers[unit]
        sums = np.where(gaps >= 0, (1 + moved) / 2, (1 - moved) / 2)
        inward = (1 - alpha) / 2 * moved
        sums[0] = (1 + alpha) / 2 + inward[0]
        sums[-1] = (1 - alpha) / 2 - inward[-1]
        sums[:, 0], sums[:, -1] = 0 * sums[:, 0], 0 * sums[:, -1] + 1
        return np.asarray(sums)

    def pixelated(self, pixels: int) -> Channel:
        """The factor R of Lemma 11: from outputs of G_N to T pixels.

        Examples
        --------
        >>> from sfumato.mechanisms.continuous import truncated_laplace
        >>> smear(truncated_laplace(alpha="1/16"), 2).pixelated(4).matrix[1].tolist()
        [Fraction(1, 9), Fraction(7, 18), Fraction(7, 18), Fraction(1, 9)]
        """
        pixels = whole_number(pixels, "pixels")
        matrix = np.diff(self.edge_sums(pixels), axis=1)
        interval = self.source.interval
        if not is_exact(matrix):
            matrix = normalise(np.maximum(matrix, 0.0))
        return Channel(lattice(self.steps, interval), matrix, lattice(pixels, interval)[:-1])


def _moved(powers: Array, unit: int) -> Array:
    """2·H(s) at s = j/unit for j = 0, …, unit, with α^s = powers[j]."""
    j = np.arange(unit + 1)
    # α^{2−s} = α·α^{1−s}, which keeps within the powers of the lattice
    return np.asarray((1 - powers[j]) * (1 - powers[unit] * powers[unit - j]) / (1 - powers[unit]) ** 2)


def smear(mechanism: TruncatedLaplace, steps: int) -> Smear:
    """How G_N turns into the truncated Laplace mechanism on U_N: the factor of Theorem 12."""
    source = expect(mechanism, TruncatedLaplace, "the refined mechanism", "truncated_laplace(epsilon) makes one")
    return Smear(source, whole_number(steps, "steps"))


def geometric_refinement(mechanism: TruncatedLaplace, steps: int, pixels: int) -> Verdict:
    """Lemma 11, decided: is ᵀL on U_N a post-processing of G_N? The witness is the factor.

    Decided from the two channels alone, not from the formula of :func:`smear`: exactly for rational masses, up to
    rounding otherwise.

    Examples
    --------
    >>> from sfumato.mechanisms.continuous import truncated_laplace
    >>> verdict = geometric_refinement(truncated_laplace(alpha="1/16"), 2, 4)
    >>> str(verdict), verdict.witness.post_processing.matrix[0, 0]
    ('holds: b is a followed by post-processing, exactly', Fraction(11, 12))
    """
    return refines(on_lattice(pixelate(mechanism, pixels), steps), lattice_geometric(mechanism, steps))
