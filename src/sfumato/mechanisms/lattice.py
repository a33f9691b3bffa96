"""Φz = 1 on grids of millions of secrets: FFT products, conjugate gradients, and a residual in exact integers.

On a grid Φ is a section of a convolution: (Φz)_x = Σ_y k(x − y) z_y with k(o) = e^{−ε·step·|o|}. Products cost one FFT;
a circulant preconditioner makes the number of iterations small and nearly independent of the size. None of that
is trusted. The proof has three parts:

1. *Residual.* k is rounded to integers K with |2^60 k − K| ≤ 0.51 (balls decide), z to integers Z = 2^q z̃, and K * Z is
   formed exactly, as one product of two long integers.
2. *Smallest eigenvalue.* For a vector v on the grid vᵀΦv = ∫ |v̂|² f, where f(θ) = Σ_o k(o) e^{i o·θ} is the symbol of
   the infinite grid, so no eigenvalue of Φ is below min f. Along a line f ≥ (1 − α)/(1 + α), α = e^{−ε·step}; sums of
   distances multiply, f ≥ ((1 − α)/(1 + α))^n; the Chebyshev plane is two such lines, turned by 45°, with the same
   bound. For Euclidean distances Poisson's formula writes f as a sum of positive terms, of which
   c a / (a² + |θ|²)^{(n+1)/2}, with a = ε·step and c = 2^n π^{(n−1)/2} Γ((n+1)/2), is one; at |θ_i| ≤ π it is least in
   the corner. In all other cases the row sums of Φ must be below 2.
3. Hence |z_y − z̃_y| ≤ ‖z − z̃‖₂ ≤ ‖1 − Φz̃‖₂ / min f for every y, and a z̃_y beyond that bound has the sign of z_y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import ceil, inf, log2, prod, sqrt
from typing import Any

import flint
import numpy as np
import scipy.fft
from numba import njit
from numpy.typing import NDArray

from sfumato.arguments import items, one_of
from sfumato.compiled import product_shifted
from sfumato.errors import InvalidEpsilon, InvalidInput, NotSupported, expect, short, shown
from sfumato.numbers import Floats, Number, as_ball, as_written, dyadic, float_below, whole_number
from sfumato.privacy.type import PrivacyType, ball_rate
from sfumato.spaces.box import METRICS, Box, MetricName, box_of_grid
from sfumato.spaces.constructors import grid, lengths_of, line

KERNEL_BITS = 60
"""Binary digits of the rounded similarities K."""

_KERNEL_ERROR = 0.51  # A rounded similarity is off by less, in units of 2^-60: balls have radius 0.01.
_LARGEST_SIDE = 2**24  # squares of offsets stay far below 2^63
_MOST_ITERATIONS = 2_000
_SMALLEST_RATE = 2.0**-50  # ε·step: below, neighbours are alike in doubles, and Φ has nothing left to be solved with
_LARGEST_RATE = 10_000  # e^-rate is then far below what 60 bits can tell from 0


def Lattice(shape: Sequence[int], metric: MetricName = "euclidean", step: Number = 1) -> Box:  # noqa: N802 - a noun
    """A full rectangular grid, known by its sides: the box with a cell around each of its points.

    Parameters
    ----------
    shape
        Points along each side.
    metric
        ``"euclidean"``, ``"manhattan"`` or ``"chebyshev"``.
    step
        Distance of neighbours.

    Examples
    --------
    >>> lattice = Lattice((1000, 1000))
    >>> len(lattice), lattice.metric
    (1000000, 'euclidean')
    """
    sides = [whole_number(side, "points along a side") for side in items(shape, "the sides of a lattice")]
    length = as_written(step, "the step of a lattice")
    if not sides:
        raise InvalidInput(f"the sides of a lattice are integers up to {_LARGEST_SIDE}, found {shown(shape)}")
    if length <= 0:
        raise InvalidInput(f"the step of a lattice must be positive, found {short(length)}")
    return as_lattice(box_of_grid(sides, one_of(metric, METRICS, "metric"), length))


def as_lattice(value: Any) -> Box:
    """The box of a lattice; an error for anything else, also for a box of coordinates, which has a place or a unit."""
    lattice = expect(value, Box, "a lattice", "Lattice((100, 100)) makes one")
    if max(lattice.shape) > _LARGEST_SIDE:
        raise InvalidInput(f"the sides of a lattice are integers up to {_LARGEST_SIDE}, found {shown(lattice.shape)}")
    if lattice != box_of_grid(lattice.shape, lattice.metric, lattice.step[0]):
        raise InvalidInput(f"{lattice.name} is no lattice, whose first point is 0: Lattice({lattice.shape}, …) is one")
    return lattice


def proper_dimension(lattice: Box) -> int:
    """The number of sides along which there is more than one point."""
    return sum(side > 1 for side in lattice.shape)


def is_separable(lattice: Box) -> bool:
    """Whether distances add up along the axes: Φ is then a Kronecker product of those of lines."""
    return lattice.metric == "manhattan" or proper_dimension(lattice) <= 1


def offset_lengths(lattice: Box, reach: Sequence[int]) -> NDArray[np.int64]:
    """Squared lengths (Euclidean) or lengths of the offsets 0, …, reach along each axis, in steps."""
    return np.asarray(lengths_of(np.ix_(*(np.arange(r + 1) for r in reach)), lattice.metric))


@dataclass(frozen=True, eq=False)
class LatticeKernel:
    """The similarities k(o) = e^{−ε·step·|o|} of a lattice: floats to search with, integers to prove with.

    ``integers`` holds K for offsets 0, …, reach along each axis; beyond, 2^60 k is below 1/2 and K is 0.
    """

    lattice: Box
    privacy: PrivacyType

    @cached_property
    def rate(self) -> float:
        """ε · step, in floats."""
        return self.privacy.rate * float(self.lattice.step[0])

    def reach(self, smallest: float) -> tuple[int, ...]:
        """How far along each axis a similarity can exceed ``smallest``."""
        far = ceil(-log2(smallest) * 0.6931471805599454 / self.rate) + 1
        return tuple(min(side - 1, far) for side in self.lattice.shape)

    @cached_property
    def integers(self) -> NDArray[np.int64]:
        """K, the nearest integers to 2^60 k."""
        codes = offset_lengths(self.lattice, self.reach(2.0 ** -(KERNEL_BITS + 1)))
        distinct, where = np.unique(codes, return_inverse=True)
        with flint.ctx.workprec(KERNEL_BITS + 40):
            rate = -ball_rate(self.privacy) * as_ball(self.lattice.step[0])
            scale = flint.arb(2) ** KERNEL_BITS
            root = self.lattice.metric == "euclidean"
            balls = (scale * (rate * (flint.arb(v).sqrt() if root else flint.arb(v))).exp() for v in distinct.tolist())
            values = [_nearest(ball) for ball in balls]
        return np.array(values, dtype=np.int64)[where].reshape(codes.shape)

    @cached_property
    def total(self) -> int:
        """Σ_o K(o) over all offsets, both signs."""
        signs = (1 + np.minimum(np.arange(side), 1) for side in self.integers.shape)
        return exact_sum(self.integers, reduce(np.multiply, np.ix_(*signs)))

    @cached_property
    def least_eigenvalue(self) -> float:
        """A proved lower bound of the eigenvalues of Φ, 0 if none is known: part 2 of the proof."""
        with flint.ctx.workprec(128):
            rate = ball_rate(self.privacy) * as_ball(self.lattice.step[0])
            bound = _symbol_minimum(self.lattice, rate)
            if bound is None or not bound > 0:
                return 0.0
            return float_below(dyadic(bound.lower()))


def lattice_kernel(lattice: Box, epsilon: Number | None = None, alpha: Number | None = None) -> LatticeKernel:
    """The kernel for a promise on the lattice; a few of its points carry ε, the step and the form of distances."""
    lattice = as_lattice(lattice)
    step = lattice.step[0]
    few = grid(2, 2, step=step) if lattice.metric == "euclidean" else line(2, step=step)
    kernel = LatticeKernel(lattice, PrivacyType(few, epsilon, alpha))
    if kernel.rate > _LARGEST_RATE:
        raise InvalidEpsilon(
            f"epsilon times the step goes up to {_LARGEST_RATE} here: beyond, neighbours differ freely"
        )
    return kernel


def _symbol_minimum(lattice: Box, rate: flint.arb) -> flint.arb | None:
    n = proper_dimension(lattice)
    alpha = (-rate).exp()
    if n <= 1 or lattice.metric == "manhattan" or (lattice.metric == "chebyshev" and n == 2):
        return ((1 - alpha) / (1 + alpha)) ** n
    if lattice.metric == "euclidean":
        half = flint.arb(n + 1) / 2
        constant = flint.arb(2) ** n * flint.arb.pi() ** (half - 1) * half.gamma()
        return constant * rate / (rate * rate + n * flint.arb.pi() ** 2) ** half
    rows = flint.arb(0)
    for radius in range(1, min(max(lattice.shape), 1 << 14)):
        rows += ((2 * radius + 1) ** n - (2 * radius - 1) ** n) * alpha**radius
    return 1 - rows if max(lattice.shape) <= 1 << 14 else None


def exact_sum(integers: NDArray[np.int64], times: NDArray[np.int64] | int = 1) -> int:
    """The sum of non-negative integers, each so many times: upper and lower halves add up without overflow."""
    upper, lower = (((integers >> 30) * times).sum(), ((integers & (2**30 - 1)) * times).sum())
    return (int(upper) << 30) + int(lower)


def _nearest(ball: flint.arb) -> int:
    if not ball.rad() < 0.01:
        raise AssertionError("a similarity was not known to 60 bits")
    mantissa, exponent = (int(part) for part in ball.mid().man_exp())
    return mantissa << exponent if exponent >= 0 else (mantissa + (1 << (-exponent - 1))) >> -exponent


# ----------------------------------------------------------------- floats: search


@dataclass(frozen=True, eq=False)
class LatticeSolution:
    """z̃ with a proved bound on |z − z̃|.

    ``integers`` are Z = 2^bits z̃; ``residual`` bounds |1 − (Φz̃)_x| from below and above over all x, ``norm`` its
    Euclidean norm, and no entry of z̃ is farther from z than ``error``, which is infinite where no bound is known.
    """

    kernel: LatticeKernel
    integers: NDArray[np.int64]
    bits: int
    residual: tuple[float, float]
    norm: float
    iterations: int

    @cached_property
    def values(self) -> Floats:
        """z̃ in floats."""
        return np.ldexp(self.integers.astype(np.float64), -self.bits)

    @property
    def error(self) -> float:
        """Part 3 of the proof."""
        least = self.kernel.least_eigenvalue
        return self.norm / least * (1 + 2.0**-40) if least > 0 else inf


def lattice_solution(kernel: LatticeKernel, *, accuracy: float = 1e-13) -> LatticeSolution:
    """Solve Φz = 1: conjugate gradients to a relative residual of ``accuracy``, then the residual in integers.

    Sums of distances need no iteration: z is the product of the solutions along the axes,
    1/(1 + α) at the two ends and (1 − α)/(1 + α) between.
    """
    lattice = kernel.lattice
    if kernel.rate < _SMALLEST_RATE:
        raise NotSupported(f"epsilon times the step of {kernel.rate:g}", [f"at least {_SMALLEST_RATE:.2g}"])
    if is_separable(lattice):
        values, iterations = _separable(kernel), 0
    else:
        values, iterations = _conjugate_gradients(kernel, accuracy)
    return _certified(kernel, values, iterations)


def _separable(kernel: LatticeKernel) -> Floats:
    alpha = float(np.exp(-kernel.rate))
    ratio = float(np.tanh(kernel.rate / 2))  # (1 − α)/(1 + α) without cancellation
    axes = [np.full(side, ratio) for side in kernel.lattice.shape]
    for axis in axes:
        axis[[0, -1]] = 1 / (1 + alpha) if len(axis) > 1 else 1.0
    return np.asarray(reduce(np.multiply.outer, axes))


def _conjugate_gradients(kernel: LatticeKernel, accuracy: float) -> tuple[Floats, int]:
    shape, similarities = kernel.lattice.shape, np.exp(-kernel.rate * _lengths(kernel))
    product, precondition = _product(similarities, shape), _preconditioner(similarities, shape)
    one = np.ones(shape)
    values = precondition(one)
    rest = one - product(values)
    direction = precondition(rest)
    energy = float((rest * direction).sum())
    goal = accuracy * sqrt(len(kernel.lattice))
    iterations = 0
    while float(np.linalg.norm(rest)) > goal and iterations < _MOST_ITERATIONS:
        image = product(direction)
        curvature = float((direction * image).sum())
        if not curvature > 0:  # not positive definite, or rounding has won: what is found so far will be judged
            break
        values += energy / curvature * direction
        rest -= energy / curvature * image
        turned = precondition(rest)
        energy, before = float((rest * turned).sum()), energy
        direction *= energy / before
        direction += turned
        iterations += 1
    return values, iterations


def _lengths(kernel: LatticeKernel) -> Floats:
    """The lengths of offsets ≥ 0 in steps, as far as similarities are above 1e-18: beyond they are left out."""
    lengths = offset_lengths(kernel.lattice, kernel.reach(1e-18)).astype(np.float64)
    return np.sqrt(lengths) if kernel.lattice.metric == "euclidean" else lengths


def _product(table: Floats, shape: tuple[int, ...]) -> Callable[[Floats], Floats]:
    """v ↦ Σ_y t(|x − y|) v_y by one real FFT each way, for a table of t at offsets ≥ 0 that is 0 beyond."""
    padded = tuple(scipy.fft.next_fast_len(s + r - 1, real=True) for s, r in zip(shape, table.shape, strict=True))
    spectrum = scipy.fft.rfftn(_wrapped(table, padded)).real.copy()
    inside = tuple(slice(0, s) for s in shape)

    def product(vector: Floats) -> Floats:
        return np.asarray(scipy.fft.irfftn(scipy.fft.rfftn(vector, padded) * spectrum, padded)[inside])

    return product


def mean_distances(kernel: LatticeKernel) -> Floats:
    """Σ_x k(x − y) d(x, y) for every y, in floats."""
    lengths, shape = _lengths(kernel), kernel.lattice.shape
    return _product(lengths * np.exp(-kernel.rate * lengths) * float(kernel.lattice.step[0]), shape)(np.ones(shape))


def _wrapped(table: NDArray[Any], padded: tuple[int, ...]) -> NDArray[Any]:
    """The even function whose values at offsets ≥ 0 are given, around a torus."""
    result = np.zeros(padded, dtype=table.dtype)
    around = [np.arange(-(s - 1), s) for s in table.shape]
    result[np.ix_(*(a % p for a, p in zip(around, padded, strict=True)))] = table[np.ix_(*map(np.abs, around))]
    return result


def _preconditioner(similarities: Floats, shape: tuple[int, ...]) -> Callable[[Floats], Floats]:
    """The inverse of the circulant matrix nearest to Φ (T. Chan): averages along the wrapped diagonals."""
    table = np.zeros(shape)
    table[tuple(slice(0, r) for r in similarities.shape)] = similarities
    for axis, side in enumerate(shape):
        table = np.moveaxis(table, axis, 0)
        share = (np.arange(side, dtype=np.float64) / side).reshape(-1, *[1] * (table.ndim - 1))
        table[1:] = (1 - share[1:]) * table[1:] + share[1:] * table[1:][::-1]
        table = np.moveaxis(table, 0, axis)
    inverse = 1 / scipy.fft.rfftn(table).real

    def precondition(vector: Floats) -> Floats:
        return np.asarray(scipy.fft.irfftn(scipy.fft.rfftn(vector) * inverse, shape))

    return precondition


# ----------------------------------------------------------------- integers: proof


def _certified(kernel: LatticeKernel, values: Floats, iterations: int) -> LatticeSolution:
    """Round z to integers and bound the residual: part 1 of the proof."""
    largest = float(np.abs(values).max())
    # Σ_o K |Z| must stay below 2^122
    bits = min(KERNEL_BITS, 121 - kernel.total.bit_length() - max(0, ceil(log2(largest))))
    integers = np.rint(np.ldexp(values, bits)).astype(np.int64)
    rest = exact_products(kernel.integers, integers, 1 << (KERNEL_BITS + bits))
    scale = 2.0 ** -(KERNEL_BITS + bits)
    # K is off by at most 0.51 units of 2^-60 everywhere
    slack = _KERNEL_ERROR * 2.0**-KERNEL_BITS * float(np.abs(integers).sum(dtype=np.float64)) * 2.0**-bits * (1 + 1e-9)
    residual = (float(rest.min()) * scale, float(rest.max()) * scale)
    margin = slack + 1e-15 * max(map(abs, residual))  # conversion to float64
    safe = 1 + 1e-9 + values.size * 2.0**-52  # sums of as many squares
    norm = (float(np.linalg.norm(rest)) * scale + sqrt(values.size) * slack) * safe
    return LatticeSolution(kernel, integers, bits, (residual[0] - margin, residual[1] + margin), norm, iterations)


def exact_products(kernel: NDArray[np.int64], vector: NDArray[np.int64], target: int) -> Floats:
    """target − Σ_y K(|x − y|) Z_y for all x, exactly; only the results are rounded to float64.

    ``kernel`` holds K ≥ 0 at offsets ≥ 0. Results are below 2^122 in size, which the caller ensures: they are digits of
    a product of two integers in base 2^128, with so many zeros between rows that none runs over into another.
    """
    reach = [side - 1 for side in kernel.shape]
    widths = [max(side + r, 2 * r + 1) for side, r in zip(vector.shape, reach, strict=True)]
    around = _long_integer(kernel[np.ix_(*(np.abs(np.arange(-r, r + 1)) for r in reach))], widths)
    signed = _long_integer(np.maximum(vector, 0), widths) - _long_integer(np.maximum(-vector, 0), widths)
    size, first = prod(widths), int(np.ravel_multi_index(reach, widths))
    middle = (target + (1 << 126)).to_bytes(16, "little") * (2 * size)  # a digit this far from 0 borrows from none
    digits = (int.from_bytes(middle, "little") - int(around * signed)).to_bytes(32 * size, "little")
    words = np.frombuffer(digits, dtype=np.int64).reshape(-1, 2)[first : first + size].reshape(*widths, 2)
    low, high = np.moveaxis(words[tuple(slice(0, side) for side in vector.shape)], -1, 0)
    # low counts as a signed word: where high is not 0 the sum is at least half as large, and no rounding is above 4e-16
    return np.asarray((high - (1 << 62) + (low < 0)) * 2.0**64 + low)


def _long_integer(table: NDArray[np.int64], widths: list[int]) -> flint.fmpz:
    """The integer with the entries of a table, none negative, as digits in base 2^128, rows filled up with zeros."""
    digits = np.zeros((*widths, 2), dtype=np.int64)
    digits[..., 0][tuple(slice(0, side) for side in table.shape)] = table
    return flint.fmpz(int.from_bytes(digits.tobytes(), "little"))


def shifted_products(a: NDArray[np.int64], b: NDArray[np.int64] | int, bits: int) -> NDArray[np.int64]:
    """⌊a b / 2^bits⌋ entry by entry; all numbers are non-negative and the results below 2^63."""
    words = (np.ascontiguousarray(part).ravel().view(np.uint64) for part in np.broadcast_arrays(a, np.int64(b)))
    return np.asarray(_shift(*words, np.uint64(bits))).view(np.int64).reshape(a.shape)


@njit(cache=True, nogil=True)
def _shift(a, b, bits):  # type: ignore[no-untyped-def]
    result = np.empty_like(a)
    for k in range(a.size):
        result[k] = product_shifted(a[k], b[k], bits)
    return result
