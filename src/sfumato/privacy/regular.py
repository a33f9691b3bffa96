"""Regular priors, the bounds they obey, and whether the tight-constraints mechanism exists.

ElSalamouny, Chatzikokolakis and Palamidessi (2014), paper C, sections 4 to 6. A prior π is regular when π = μΦ for
some μ ≥ 0; then no private mechanism lets anyone guess the secret with a chance above Σ μ (Theorem 2). The bound is
reached for all regular priors at once by the tight-constraints mechanism M(x)(y) = z_y e^{−ε d(x, y)}, which exists
exactly when Φz = 1 has a solution z ≥ 0 (Propositions 7 and 8).

Only signs decide here, and signs are proved: a tolerance of 1e-4 in their place has put thresholds into print that
are off by a fifth.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from sfumato.channels.channel import Channel, check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import SolverError, advice, expect
from sfumato.lp import LinearProgram, Status, solve
from sfumato.numbers import (  # fmt: skip
    ROUNDING,
    Array,
    Number,
    as_ball,
    divide,
    dyadic,
    exact,
    float_above,
    floats,
    fractions,
    from_flint,
    is_exact,
    object_array,
    text_below,
    to_flint,
    whole_number,
)
from sfumato.privacy.predicates_curves import growth
from sfumato.privacy.similarity import (
    UNIT,
    Quotient,
    SignedSolution,
    ball_powers,
    ball_solution,
    exact_powers,
    float_powers,
    quotient,
    signed_solution,
    similarity,
    solve_signs,
)
from sfumato.privacy.type import PrivacyType, as_type, ball_rate
from sfumato.privacy.vertices import cheapest_mixture, vertices
from sfumato.spaces.finite import FiniteSpace
from sfumato.verdict import Verdict, fails, holds, undecided

__all__ = [
    "Combination",
    "RegularRegion",
    "Separation",
    "UtilityBound",
    "corner_priors",
    "database_leakage_bound",
    "has_tight_constraints",
    "is_ball_size_symmetric",
    "is_regular",
    "leakage_bound",
    "optimal_utility",
    "regular_region",
    "utility_bound",
]

_EXACT_PROGRAM = 40  # A linear program over rationals takes less than seconds for up to so many classes.


@dataclass(frozen=True, eq=False)
class Combination:
    """Why a prior is regular: μ ≥ 0 with π = μΦ."""

    privacy: PrivacyType
    multipliers: SignedSolution

    @cached_property
    def coefficients(self) -> Array:
        """γ_y = μ_y Σ_x φ_xy: the prior is the mixture Σ γ_y c^y of corner priors (Proposition 3)."""
        table = similarity(self.privacy)
        mu = self.multipliers.values
        return np.asarray(mu * table.sum(axis=1)) if is_exact(table, mu) else floats(mu) * floats(table).sum(axis=1)

    @property
    def bound(self) -> Any:
        """Σ μ, the most that any private mechanism lets one guess (Theorem 2)."""
        return self.multipliers.values.sum()


@dataclass(frozen=True, eq=False)
class Separation:
    """Why a prior is not regular: Φw ≥ 0 and π·w < 0, while every regular prior has π·w = μ·Φw ≥ 0.

    ``vector`` is w, in rationals; ``secret`` is where it speaks: μ, if unique, is negative there.
    """

    vector: Array
    secret: Any
    margin: Fraction


def is_ball_size_symmetric(space: FiniteSpace) -> Verdict:
    """Whether every secret has equally many secrets at each distance (paper C, Definition 7).

    Then Φz = 1 is solved by the constant z = 1 / Σ_r n_r e^{−r}, and the tight-constraints mechanism exists for every
    ε (Proposition 9, with the sign of the exponent corrected). Distances are compared exactly.

    Returns
    -------
    Verdict
        With {distance: number of secrets} as witness, or two secrets that differ.

    Examples
    --------
    >>> from sfumato.spaces import hamming, line
    >>> is_ball_size_symmetric(hamming(3)).witness
    {0.0: 1, 1.0: 3, 2.0: 3, 3.0: 1}
    >>> print(is_ball_size_symmetric(line(3)))
    fails: 0 and 1 have different numbers of secrets at some distance
    """
    space = expect(space, FiniteSpace, "a space")
    profile = np.sort(space.distances.values, axis=1)
    other = np.flatnonzero((profile != profile[0]).any(axis=1))
    if other.size:
        pair = space.labels[0], space.labels[int(other[0])]
        return fails(f"{pair[0]!r} and {pair[1]!r} have different numbers of secrets at some distance", pair)
    shown, count = np.unique(space.distances.floats[0], return_counts=True)
    return holds("every secret sees the same distances", dict(zip(shown.tolist(), count.tolist(), strict=True)))


def corner_priors(privacy: PrivacyType) -> tuple[Prior, ...]:
    """c^y_x = φ_xy / Σ_x φ_xy, one for each secret: the vertices of the region of regular priors (Definition 5).

    Each is a vertex, also where Φ is singular: no other regular prior gives y as much as c^y does (Proposition 2).

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> [str(w) for w in corner_priors(PrivacyType(line(3), alpha="1/2"))[0].weights]
    ['4/7', '2/7', '1/7']
    """
    table = similarity(as_type(privacy))
    return tuple(Prior(privacy.space, divide(row, row.sum())) for row in table)


@dataclass(frozen=True, eq=False)
class RegularRegion:
    """The polytope of regular priors: ``corners`` span it; where Φ is regular, π is in it iff ``inequalities`` @ π ≥ 0.

    ``share`` is its part of the volume of all priors, |det Φ| / Π_y Σ_x φ_xy.
    """

    privacy: PrivacyType
    corners: tuple[Prior, ...]
    inequalities: Array | None
    share: Any

    def contains(self, prior: Prior) -> Verdict:
        """Whether a prior lies in the region: :func:`is_regular`."""
        return is_regular(prior, self.privacy)


def regular_region(privacy: PrivacyType) -> RegularRegion:
    """The region of regular priors as a polytope (Proposition 3): vertices, and inequalities, the rows of Φ^{-1}.

    Exact for exact types. Where Φ is singular the region is flat and has no such inequalities.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> region = regular_region(PrivacyType(line(3), alpha="1/2"))
    >>> region.share, [str(v) for v in region.inequalities[1]]
    (Fraction(9, 98), ['-2/3', '5/3', '-2/3'])
    """
    table = similarity(as_type(privacy))
    corners = corner_priors(privacy)
    if is_exact(table):
        matrix = to_flint(table)
        determinant = exact(matrix.det())
        share = abs(determinant) / Fraction(np.prod(table.sum(axis=1)))
        return RegularRegion(privacy, corners, from_flint(matrix.inv()) if determinant else None, share)
    try:
        inverse = np.asarray(np.linalg.inv(table))
    except np.linalg.LinAlgError:  # secrets too alike for float64
        inverse = None
    part = float(abs(np.linalg.det(table / table.sum(axis=1, keepdims=True))))
    return RegularRegion(privacy, corners, inverse, part)


def is_regular(prior: Prior, privacy: PrivacyType) -> Verdict:
    """Whether π = μΦ for some μ ≥ 0 (paper C, Definition 4).

    Exact priors are decided in rationals or balls. Float weights stand for numbers within 2^-50 of them; where that
    matters the answer is *undecided*.

    Returns
    -------
    Verdict
        With a :class:`Combination` (μ and the coefficients on corner priors) or a :class:`Separation`.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> privacy = PrivacyType(line(3), alpha="1/2")
    >>> verdict = is_regular(Prior.uniform(privacy.space), privacy)
    >>> [str(v) for v in verdict.witness.multipliers.values], str(verdict.witness.bound)
    (['2/9', '1/9', '2/9'], '5/9')
    >>> print(is_regular(Prior(range(3), ["1/2", "0", "1/2"]), privacy))
    fails: 0 has more than 2 times the weight of 1, which no regular prior has at this distance
    """
    prior, privacy = as_prior(prior), as_type(privacy)
    check_secrets("prior and privacy type", privacy.space, prior)
    weights = fractions(prior.weights)
    spread = Fraction(0) if prior.exact else exact(ROUNDING)
    support = np.flatnonzero(weights)
    if len(support) < len(weights):
        return _regular_with_zeros(privacy, weights, support, spread)
    return _regular_with_weights(privacy, weights, spread)


def has_tight_constraints(privacy: PrivacyType) -> Verdict:
    """Whether Φz = 1 has a solution z ≥ 0, so that M(x)(y) = z_y e^{−ε d(x, y)} is a mechanism (Propositions 7, 8).

    Returns
    -------
    Verdict
        With z as witness (a :class:`~sfumato.privacy.similarity.SignedSolution`), or a :class:`Separation` that names
        the secret where z is negative. For a rational ε the answer is never undecided.

    Examples
    --------
    >>> from sfumato.spaces import star
    >>> [bool(has_tight_constraints(PrivacyType(star(4), alpha=alpha))) for alpha in ("1/2", "1/3")]
    [False, True]
    >>> print(has_tight_constraints(PrivacyType(star(4), alpha="1/2")))
    fails: the only solution of Φz = 1 has z = -1/3 < 0 at 0
    """
    privacy = as_type(privacy)
    system = quotient(privacy.space)
    verdict = _in_cone(system, privacy, [Fraction(1)] * len(system), Fraction(0))
    if verdict.outcome != "holds":
        return verdict
    why = "every secret sees the same distances, so that z is constant" if len(system) == 1 else "Φz = 1 with z ≥ 0"
    return holds(why, verdict.witness.multipliers)


def _regular_with_weights(privacy: PrivacyType, weights: Array, spread: Fraction) -> Verdict:
    """A prior without zeros, by one equation for each class of secrets that are alike."""
    system = quotient(privacy.space, weights.tolist())
    rhs = [weights[x] for x in system.representatives]
    steep = _steepest(system, privacy, rhs, spread)
    return _in_cone(system, privacy, rhs, spread) if steep is None else steep


def _regular_with_zeros(privacy: PrivacyType, weights: Array, support: NDArray[np.int64], spread: Fraction) -> Verdict:
    """A secret of weight 0 must be infinitely far from all others; the rest is decided without it."""
    space = privacy.space
    reach = ~space.distances.infinite[support]
    reach[:, support] = False
    if reach.any():
        x, y = np.argwhere(reach)[0]
        return _steep(privacy, weights, int(support[x]), int(y), Fraction(0))
    rest = PrivacyType(space.restrict([space.labels[x] for x in support]), privacy.epsilon, privacy.alpha)
    verdict = _regular_with_weights(rest, weights[support], spread)
    witness, place = verdict.witness, np.full(len(space), -1)
    place[support] = np.arange(len(support))  # what has no place of its own takes the zero behind all others
    if isinstance(witness, Separation):
        vector = np.append(witness.vector, object_array([Fraction(0)]))[place]
        return Verdict(verdict.outcome, verdict.reason, Separation(vector, witness.secret, witness.margin))
    if isinstance(witness, Combination):
        found = witness.multipliers
        values = np.append(found.values, object_array([Fraction(0)]) if found.exact else np.zeros(1))
        padded = SignedSolution(values, np.append(found.error, 0.0), (*found.signs, 0))
        return holds(verdict.reason, Combination(privacy, padded.lifted(place)))
    return verdict


def _steepest(system: Quotient, privacy: PrivacyType, rhs: list[Fraction], spread: Fraction) -> Verdict | None:
    """A pair that breaks Proposition 1, π_x ≤ e^{ε d(x, y)} π_y, if there is one: floats search, rationals decide."""
    height = np.array([log(b.numerator) - log(b.denominator) for b in rhs])
    i, j, k, _ = system.terms.T
    table = privacy.space.distances
    excess = height[i] - height[j] - privacy.rate * system.lengths[k]
    worst = int(np.argmax(excess))
    if not excess[worst] > 0:
        return None
    x = int(system.representatives[i[worst]])
    member = (system.classes == j[worst]) & (table.values[x] == system.values[k[worst]])
    y = int(np.flatnonzero(member)[0])
    weights = object_array([rhs[c] for c in system.classes])
    high = privacy.factor_bounds(table.values[x, y])[1]
    if weights[x] * (1 - spread) > high * weights[y] * (1 + spread):
        return _steep(privacy, weights, x, y, high)
    return None


def _steep(privacy: PrivacyType, weights: Array, x: int, y: int, high: Fraction) -> Verdict:
    """The separation w = P·e_y − e_x with P ≥ e^{ε d(x, y)}: Φw ≥ 0 by the triangle inequality."""
    labels = privacy.space.labels
    factor = high or privacy.factor_bounds(privacy.space.distances.values[x, y])[1]
    vector = object_array([Fraction(0)] * len(labels))
    vector[y], vector[x] = factor, Fraction(-1)
    if factor >= 10**12:
        shown = f"10^{(factor.numerator.bit_length() - factor.denominator.bit_length()) * 3 // 10}"
    else:
        shown = str(factor) if factor.denominator == 1 else text_below(factor, 6)
    return fails(
        f"{labels[x]!r} has more than {shown} times the weight of {labels[y]!r}, which no regular prior has "
        "at this distance",
        Separation(vector, labels[y], weights[x] - factor * weights[y]),
    )


def _in_cone(system: Quotient, privacy: PrivacyType, rhs: list[Fraction], spread: Fraction) -> Verdict:
    """Whether Bv = rhs has a solution v ≥ 0."""
    solution = solve_signs(system, privacy, rhs, spread)
    if solution is None:
        powers = exact_powers(privacy, system.values)
        if powers is not None and not spread:
            return _in_cone_of_singular(system, privacy, powers, rhs)
        return undecided("the similarity matrix cannot be told from a singular one")
    if -1 in solution.signs:
        worst = min((c for c, sign in enumerate(solution.signs) if sign == -1), key=lambda c: float(solution.values[c]))
        secret = privacy.space.labels[int(system.representatives[worst])]
        name = "z" if len(set(rhs)) == 1 and rhs[0] == 1 else "μ"
        value = solution.values[worst]
        shown = value if solution.exact and value.denominator < 10**6 else f"{float(value):.6g}"
        equation = "Φz = 1" if name == "z" else "μΦ = π"
        return fails(
            f"the only solution of {equation} has {name} = {shown} < 0 at {secret!r}",
            _separation(system, privacy, rhs, worst, solution),
        )
    if not solution.decided:
        why = "the weights are known up to rounding" if spread else f"balls of {2**13} bits contain zero"
        return undecided(f"a multiplier is too close to zero to tell its sign: {why}")
    return holds("μ ≥ 0 and μΦ = π", Combination(privacy, solution.lifted(system.classes)))


def _in_cone_of_singular(
    system: Quotient, privacy: PrivacyType, powers: list[Fraction], rhs: list[Fraction]
) -> Verdict:
    """Φ is singular: an exact linear program finds a solution or the Farkas ray that excludes one."""
    m = len(system)
    matrix = object_array(map(exact, system.entries(powers, Fraction(0))), (m, m))
    solution = solve(LinearProgram.dense([0] * m, matrix, "=" * m, rhs))
    if solution.status is Status.OPTIMAL and solution.primal is not None:
        signs = tuple(int(v > 0) for v in solution.primal)
        multipliers = SignedSolution(object_array(map(exact, solution.primal)), np.zeros(m), signs).lifted(
            system.classes
        )
        return holds("Φ is singular; one of several μ ≥ 0 with μΦ = π", Combination(privacy, multipliers))
    if solution.ray is None:
        raise SolverError(f"the program for a regular prior ended as {solution.status}")
    # Bᵀy ≤ 0 and rhs·y > 0; with sizes D, DB is symmetric, so w = −y/D has Bw ≥ 0 and Σ D rhs w < 0
    vector = object_array(-exact(y) / int(size) for y, size in zip(solution.ray, system.sizes, strict=True))
    secret = privacy.space.labels[int(system.representatives[int(np.argmin(vector))])]
    return fails("Φ is singular and no solution is non-negative", _lifted(system, rhs, vector, secret))


def _lifted(system: Quotient, rhs: list[Fraction], vector: Array, secret: Any) -> Separation:
    margin = -sum((int(s) * b * w for s, b, w in zip(system.sizes, rhs, vector, strict=True)), Fraction(0))
    return Separation(np.asarray(vector[system.classes]), secret, margin)


def _separation(
    system: Quotient, privacy: PrivacyType, rhs: list[Fraction], worst: int, solution: SignedSolution
) -> Separation | None:
    """w with Bw ≥ 0 and Σ sizes · rhs · w < 0: column ``worst`` of B^{-1}, raised a little where it is not exact.

    Σ sizes · rhs · w = Σ sizes · v · (Bw), so Bw may be e_worst + δ as long as
    δ Σ sizes |v| stays below sizes |v_worst|.
    """
    secret = privacy.space.labels[int(system.representatives[worst])]
    unit = [Fraction(int(c == worst)) for c in range(len(system))]
    powers = exact_powers(privacy, system.values)
    if solution.exact and powers is not None:
        column = signed_solution(system, powers, unit)
        assert column is not None
        return _lifted(system, rhs, column.values, secret)
    values = floats(solution.values)
    room = float(system.sizes[worst] * abs(values[worst]) / (system.sizes * np.abs(values)).sum())
    target = [u + exact(room / 4) for u in unit]
    m = len(system)
    for bits in (64, 128, 256, 512, 1024):
        with flint.ctx.workprec(bits):
            balls = ball_powers(privacy.space, system.values, ball_rate(privacy))
            solution_balls = ball_solution(system, balls, target)
            if solution_balls is None:  # not yet seen to be regular
                continue
            centre = flint.arb_mat(m, 1, [ball.mid() for ball in solution_balls])
            product = flint.arb_mat(m, m, system.entries(balls, flint.arb(0))) * centre
            separation = _lifted(system, rhs, object_array(map(dyadic, centre.entries())), secret)
            if separation.margin > 0 and all(ball > 0 for ball in product.entries()):
                return separation
    return None


@dataclass(frozen=True, eq=False)
class UtilityBound:
    """No private mechanism lets anyone guess the secret with a chance above ``value``.

    The proof is ``multipliers``, μ ≥ 0 with μΦ ≥ π, for then Σ_y π_y M(y)(y) ≤ μΦ diag M ≤ Σ μ, whatever the mechanism
    and the remap. ``attained`` holds where the tight-constraints mechanism reaches it.
    """

    value: Fraction | float
    multipliers: Array
    attained: Verdict


def utility_bound(prior: Prior, privacy: PrivacyType) -> UtilityBound:
    """The chance of guessing the secret that no private mechanism and no remap exceeds.

    For a regular prior where the tight-constraints mechanism exists this is Σ μ with μΦ = π (paper C, Theorem 2), and
    it is attained. Otherwise it is max Σ π z over Φz ≤ 1, z ≥ 0, which is valid for every prior and no larger than
    Theorem 2 where that applies. Exact for exact types; otherwise a float on the safe side.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> privacy = PrivacyType(line(3), alpha="1/2")
    >>> utility_bound(Prior.uniform(privacy.space), privacy).value
    Fraction(5, 9)
    >>> utility_bound(Prior(range(3), ["1/2", "0", "1/2"]), privacy).value
    Fraction(4, 5)
    """
    prior, privacy = as_prior(prior), as_type(privacy)
    check_secrets("prior and privacy type", privacy.space, prior)
    weights = fractions(prior.weights)
    system = quotient(privacy.space, weights.tolist())
    solution = (
        _positive_multipliers(system, privacy, [weights[x] for x in system.representatives]) if prior.exact else None
    )
    if solution is None:
        return _program_bound(prior, system, privacy)
    if len(set(weights.tolist())) > 1:
        alike = quotient(privacy.space)
        if _positive_multipliers(alike, privacy, [Fraction(1)] * len(alike)) is None:
            return _program_bound(prior, system, privacy)
    attained = holds("the tight-constraints mechanism reaches it (paper C, Theorem 4)")
    multipliers = np.asarray(solution.values[system.classes])
    if solution.exact:
        return UtilityBound(Fraction(multipliers.sum()), multipliers, attained)
    # n doubles and their errors: the sum is on the safe side by 2n units in the last place
    multipliers = multipliers + solution.error[system.classes]
    return UtilityBound(float(multipliers.sum()) * (1 + 4 * len(prior) * UNIT), multipliers, attained)


def _positive_multipliers(system: Quotient, privacy: PrivacyType, rhs: list[Fraction]) -> SignedSolution | None:
    """The solution of Bv = rhs if it is proved to be non-negative."""
    solution = solve_signs(system, privacy, rhs) if all(rhs) else None
    return None if solution is None or not solution.decided or -1 in solution.signs else solution


def _program_bound(prior: Prior, system: Quotient, privacy: PrivacyType) -> UtilityBound:
    """min Σ μ over μ ≥ 0 with μΦ ≥ π, on classes; floats are scaled up until they are feasible beyond rounding."""
    attained = undecided("not examined" + advice(("optimal_utility", "finds the true optimum of small spaces")))
    weights = fractions(prior.weights)
    rhs = object_array(weights[x] for x in system.representatives)
    m, powers = len(system), exact_powers(privacy, system.values)
    if powers is not None and prior.exact and m <= _EXACT_PROGRAM:
        table, right = object_array(map(exact, system.entries(powers, Fraction(0))), (m, m)), rhs
    else:
        table, right = system.floats(float_powers(privacy, system.values)), floats(rhs)
    solution = solve(LinearProgram.dense(system.sizes, table, ">" * m, right))
    if solution.primal is None or solution.value is None:
        raise SolverError(f"the program for the utility bound ended as {solution.status}")
    if is_exact(table):
        return UtilityBound(Fraction(solution.value), np.asarray(solution.primal[system.classes]), attained)
    multipliers = np.maximum(solution.primal, 0.0)
    # every product is non-negative, so all relative errors below add up to less than this
    slack = 1 + 8 * (m + system.most_terms + len(prior)) * UNIT + (0 if prior.exact else 2 * ROUNDING)
    needed = rhs > 0
    multipliers *= float((floats(rhs[needed]) / (table @ multipliers)[needed]).max()) * slack
    value = min(1.0, float((system.sizes * multipliers).sum()) * slack)  # a chance, after all
    return UtilityBound(value, np.asarray(multipliers[system.classes]), attained)


def leakage_bound(prior: Prior | PrivacyType, privacy: PrivacyType | None = None) -> float:
    """The most bits of min-entropy that any private mechanism leaks, log₂ of :func:`utility_bound` / max π.

    With a prior it is the bound for that prior (paper C, Proposition 5); with a privacy type alone it holds for all
    priors, since the uniform one leaks most (Corollary 2). Rounded up.

    Examples
    --------
    >>> from sfumato.spaces import hamming, line
    >>> round(leakage_bound(PrivacyType(hamming(3), alpha="1/2")), 6)
    1.245112
    >>> privacy = PrivacyType(line(3), alpha="1/2")
    >>> leakage_bound(corner_priors(privacy)[0], privacy)
    0.0
    """
    if privacy is None:
        privacy = expect(prior, PrivacyType, "what is given alone", "leakage_bound(prior, privacy) takes both")
        prior = Prior.uniform(privacy.space)
    prior = as_prior(prior)
    ratio = exact(utility_bound(prior, privacy).value) / exact(prior.weights.max())
    if ratio <= 1:
        return 0.0
    with flint.ctx.workprec(128):
        return float_above(dyadic(as_ball(ratio).log_base(2).upper()))


def database_leakage_bound(
    individuals: int, values: int, *, epsilon: Number | None = None, alpha: Number | None = None
) -> float:
    """u log₂(v e^ε / (v − 1 + e^ε)) bits: what ε-differential privacy may leak on u records (paper C, Theorem 3).

    The closed form of :func:`leakage_bound` on the Hamming space of u individuals with v values each. Rounded up.

    Examples
    --------
    >>> round(database_leakage_bound(5, 4, epsilon="1/2"), 6)
    2.522568
    """
    factor = growth(epsilon, alpha, "a bound on what leaks")
    individuals, values = whole_number(individuals, "individuals"), whole_number(values, "values")
    with flint.ctx.workprec(128):
        bits = individuals * (values / (1 + (values - 1) / factor.ball())).log_base(2)
        return float_above(dyadic(bits.upper()))


def optimal_utility(prior: Prior, privacy: PrivacyType) -> tuple[Any, Channel]:
    """The best chance of guessing the secret that a private mechanism gives, and a mechanism that gives it.

    A linear program over the vertices of the type: max Σ_i a_i max_x π_x v_i(x) over Σ_i a_i v_i = 1. For spaces small
    enough to list the vertices; exact for exact types, in float64 and unproved otherwise.

    Examples
    --------
    >>> from sfumato.spaces import star
    >>> privacy = PrivacyType(star(4), alpha="1/2")
    >>> value, channel = optimal_utility(Prior.uniform(privacy.space), privacy)
    >>> str(value), str(utility_bound(Prior.uniform(privacy.space), privacy).value)
    ('2/5', '2/5')
    """
    prior, privacy = as_prior(prior), as_type(privacy)
    check_secrets("prior and privacy type", privacy.space, prior)
    rays = vertices(privacy).rays
    if not (is_exact(rays) and prior.exact):
        rays = floats(rays)
    weights = prior.weights if is_exact(rays) else prior.float_weights
    loss, channel = cheapest_mixture(privacy.space, rays, -(weights * rays).max(axis=1))
    return -loss, channel
