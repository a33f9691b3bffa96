"""How many kernels there are, where they are too many to list: an unbiased estimate with its error.

Every kernel is given one set of n vertices, n the number of secrets: its support, completed to a basis of the
space by the earliest vertices that fit. A set of n vertices drawn uniformly is one of these with probability
(number of kernels) / C(vertices, n), so the share of hits, times C(vertices, n), is an unbiased estimate, and its
error is that of a binomial. A set B counts if it is a basis, the solution of B a = 1 is nonnegative, and no
earlier vertex could replace one with a = 0. Signs come from floats with a proven error; where these do not
settle them, from primes and balls, so no hit is a matter of rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb, expm1, log1p, sqrt
from time import perf_counter

import flint
import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import betaincinv

from sfumato.arguments import integer, optional_function, positive
from sfumato.errors import InvalidInput, NotSupported, UndecidedError, short, shown
from sfumato.numbers import text_above
from sfumato.privacy.modular import Residues, eliminate, residues_of, substitute_back
from sfumato.privacy.rays import FLOAT_ERROR, Rays, rays_of
from sfumato.privacy.similarity import verified_solve
from sfumato.privacy.supports import MOST_SECRETS
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.privacy.vertices import vertices
from sfumato.threads import plain_interrupts

_SAMPLES_A_PIECE = 50_000  # So many samples take a tenth of a second, after which the caller is told.

_NO, _YES, _OPEN = 0, 1, 2


@dataclass(frozen=True)
class KernelEstimate:
    """``count`` ± ``error`` (one standard deviation), and an exact binomial interval at ``confidence``.

    Without a hit there is no estimate, only a bound: :attr:`fewer_than`.
    """

    count: float
    error: float
    low: float
    high: float
    confidence: float
    hits: int
    samples: int
    subsets: int
    seconds: float

    @property
    def fewer_than(self) -> float | None:
        """Where no set was a hit: what the number is below at ``confidence``; None where one was.

        If there were N kernels or more, no hit had a chance of at most (1 − N/subsets)^samples. The bound is the N for
        which that is 1 − confidence: the "rule of three" without its approximation.
        """
        return None if self.hits else -expm1(log1p(-self.confidence) / self.samples) * self.subsets

    def __str__(self) -> str:
        if self.fewer_than is not None:
            return (
                f"fewer than {text_above(self.fewer_than)} with confidence {self.confidence:g} "
                f"(no hit in {self.samples:,} of {self.subsets:.3g} sets)"
            )
        return (
            f"{self.count:.4g} ± {self.error:.2g} ({self.hits:,} hits in {self.samples:,} of {self.subsets:.3g} sets)"
        )


_MOST_SAMPLES = 10**9  # So many samples take an hour or two.


def estimate_kernels(
    privacy: PrivacyType,
    *,
    samples: int = 1_000_000,
    confidence: float = 0.99,
    seed: int | None = None,
    progress: Callable[[KernelEstimate], None] | None = None,
) -> KernelEstimate:
    """An unbiased estimate of the number of kernels, with its error.

    Ctrl-C ends it early with what has been drawn so far. Where no sample is a hit the answer is a bound.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> estimate = estimate_kernels(PrivacyType(line(6), alpha="1/2"), samples=100_000, seed=7)
    >>> estimate.low < 15346 < estimate.high
    True
    >>> print(estimate_kernels(PrivacyType(line(8), alpha="1/2"), samples=20, seed=7))
    fewer than 3e+11 with confidence 0.99 (no hit in 20 of 1.43e+12 sets)
    """
    samples, progress = integer(samples, "samples", 1, _MOST_SAMPLES), optional_function(progress, "progress")
    if not positive(confidence, "the confidence") < 1:
        raise InvalidInput(f"a confidence lies in (0, 1), found {short(confidence)}")
    if seed is not None:
        seed = integer(seed, "a seed", 0)
    n = len(as_type(privacy).space)
    if n > MOST_SECRETS:
        raise NotSupported(f"an estimate for {n} secrets", [f"at most {MOST_SECRETS}"])
    rays = rays_of(vertices(privacy))
    count = len(rays)
    if not rays.complete or rays.integers is None:
        raise NotSupported(f"an estimate for {shown(privacy)}", ["rational bounds", "few irrational distances"])
    residues = residues_of(rays.integers)
    draws = np.random.default_rng(seed)
    hits = drawn = 0
    started = perf_counter()

    def estimate() -> KernelEstimate:
        return _estimate(hits, drawn, comb(count, n), confidence, perf_counter() - started)

    try:
        while drawn < samples:
            sets = _subsets(draws, count, n, min(_SAMPLES_A_PIECE, samples - drawn))
            hits += _hits(rays, residues, sets)
            drawn += len(sets)
            if progress is not None:
                progress(estimate())
    except KeyboardInterrupt:
        if drawn == 0:
            raise
    return estimate()


def _estimate(hits: int, drawn: int, subsets: int, confidence: float, seconds: float) -> KernelEstimate:
    """The share of hits, and the exact interval of Clopper and Pearson: quantiles of beta distributions."""
    share, tail = hits / drawn, (1 - confidence) / 2
    low = betaincinv(hits, drawn - hits + 1, tail) if hits else 0.0
    high = betaincinv(hits + 1, drawn - hits, 1 - tail) if hits < drawn else 1.0
    return KernelEstimate(
        share * subsets, sqrt(share * (1 - share) / drawn) * subsets, float(low) * subsets, float(high) * subsets,
        confidence, hits, drawn, subsets, seconds,
    )  # fmt: skip


def _subsets(draws: np.random.Generator, count: int, n: int, number: int) -> NDArray[np.int64]:
    """So many uniform subsets of n out of count, sorted; draws with repetitions are drawn again."""
    pieces: list[NDArray[np.int64]] = []
    missing = number
    while missing:
        sets = np.sort(draws.integers(0, count, (2 * missing, n)), axis=1)
        sets = sets[(np.diff(sets, axis=1) > 0).all(axis=1)][:missing]
        pieces.append(sets)
        missing -= len(sets)
    return np.concatenate(pieces)


def _hits(rays: Rays, residues: Residues, sets: NDArray[np.int64]) -> int:
    """How many sets are the basis of a kernel."""
    with plain_interrupts():
        answers = _answers(rays.floats, *residues, sets, FLOAT_ERROR)
    exact = sum(_is_basis_of_kernel(rays, residues, members.tolist()) for members in sets[answers == _OPEN])
    return int((answers == _YES).sum()) + exact


def _is_basis_of_kernel(rays: Rays, residues: Residues, members: list[int]) -> bool:
    """The same question for one set, with as many bits as it takes."""
    n = len(members)
    solved = []  # all rays in terms of the basis, and 1 behind them, modulo each prime that can
    for table, prime in zip(residues.tables, (int(p) for p in residues.primes), strict=True):
        basis = flint.nmod_mat(n, n, table[:, members].ravel().tolist(), prime)
        if basis.rank() == n:
            right = np.concatenate([table, np.ones((n, 1), dtype=np.int64)], axis=1)
            solved.append(basis.solve(flint.nmod_mat(n, right.shape[1], right.ravel().tolist(), prime)))
    if not solved:
        return False
    if len(solved) < len(residues.primes):
        raise UndecidedError(f"the vertices {members} are dependent modulo a prime; draw with another seed")
    zero = [all(int(x[i, len(rays)]) == 0 for x in solved) for i in range(n)]
    # weight i is proportional to (−1)^i times the minor of the equations without column i, and the weights are not
    # all negative, since the rays are positive
    minors = {(-1) ** i * rays.sign(range(n - 1), members[:i] + members[i + 1 :]) for i in range(n) if not zero[i]}
    if len(minors) > 1:
        return False
    later = [i for i in range(n) if zero[i]]
    outside = (v for v in range(len(rays)) if v not in members)
    return not any(int(x[i, v]) for v in outside for i in later if members[i] > v for x in solved)


@njit(cache=True)
def _answers(rays, tables, primes, sets, entry_error):  # type: ignore[no-untyped-def]
    """For each set of columns: no, yes, or open."""
    n = rays.shape[0]
    answers = np.empty(len(sets), np.int64)
    basis, errors, one, none = np.empty((n, n)), np.full((n, n), entry_error), np.ones(n), np.zeros(n)
    work = np.empty((2 * n + 1, n + 1), np.int64)
    for t in range(len(sets)):
        for x in range(n):
            for i in range(n):
                basis[x, i] = rays[x, sets[t, i]]
        weights, off = verified_solve(basis, errors, one, none)
        error, least = off.max(), weights.min()
        if least < -error:
            answers[t] = 0
        elif least > error:
            answers[t] = 1
        else:
            answers[t] = _modular_answer(tables, primes, sets[t], weights, error, work)
    return answers


@njit(cache=True)
def _modular_answer(tables, primes, members, weights, error, work):  # type: ignore[no-untyped-def]
    """The answer where floats leave weights that may be zero: no if singular, else by the zeros primes prove."""
    n = members.size
    zero = np.ones(n, np.bool_)
    replaceable = False
    singular = 0
    for q in range(primes.size):
        if not _invert_modulo(tables[q], primes[q], members, work):
            singular += 1
            continue
        for i in range(n):
            if work[2 * n, i]:
                zero[i] = False
        for v in range(tables.shape[2]):
            for i in range(n):
                if members[i] > v and not replaceable and work[2 * n, i] == 0:
                    value = 0
                    for x in range(n):
                        value += work[n + x, i] * tables[q, x, v]  # at most 16 products of 58 bits
                    replaceable = value % primes[q] != 0
    if singular == primes.size:
        return 0
    if singular:
        return 2
    for i in range(n):
        if not zero[i] and weights[i] <= error:
            return 0 if weights[i] < -error else 2
    return 0 if replaceable else 1


@njit(cache=True)
def _invert_modulo(table, prime, members, work):  # type: ignore[no-untyped-def]
    """Write the inverse of the members' matrix modulo a prime behind it, and inverse · 1; whether it is regular."""
    n = members.size
    for c in range(n):
        for r in range(n):
            work[c, r] = table[r, members[c]]
            work[n + c, r] = 1 if r == c else 0
        work[2 * n, c] = 1
    if not eliminate(work, n, n, 2 * n + 1, prime):
        return False
    substitute_back(work, n, 2 * n + 1, prime)
    return True
