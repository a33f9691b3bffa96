"""The mechanism of least worst-case regret, by cutting planes over priors, with a certificate that nothing is better.

Over weights a on the rays of the type, U_a(π) = Σ_i a_i U(π∘v_i) is linear in a for each prior. The least r with
U_a(π_k) − opt(π_k) ≤ r at finitely many priors is a linear program and a lower bound; the worst prior of its solution
is the next one. When the worst regret equals r, nothing is better. The multipliers of the last program are weights on
priors: for every mechanism the average regret over these priors is at least r, so some regret is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import integer, optional_function
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.repair import quantise
from sfumato.certify.verify import prove
from sfumato.channels.channel import Channel
from sfumato.channels.prior import Prior
from sfumato.design.universal.answers import Certificate, Regret, UniversalDesign
from sfumato.design.universal.cells import LARGEST_MOST
from sfumato.design.universal.certificate import certified_below
from sfumato.design.universal.large import large_design
from sfumato.design.universal.least_loss import LeastLoss
from sfumato.design.universal.prior_sets import Priors, PriorSet, prior_set
from sfumato.design.universal.question import Question, prior_of, question
from sfumato.design.universal.refute import inside, search
from sfumato.design.universal.regret import Cells, cell_priors, regret_on, worst_case_regret
from sfumato.design.universal.symmetry import Symmetry, symmetry_of
from sfumato.design.universal.theorems import Ground, is_tree, theorem
from sfumato.errors import Infeasible, NotSupported, SolverError, UndecidedError
from sfumato.losses.loss import Loss
from sfumato.lp import LinearProgram, solve
from sfumato.mechanisms.line import geometric
from sfumato.mechanisms.tight import tight_constraints
from sfumato.numbers import Array, common_denominator, object_array
from sfumato.privacy.type import PrivacyType, as_type

__all__ = ["universal_design"]

_ROUNDS = 60
_MOST_CELLS = 100_000  # vertices kept at a time, for each mechanism on the way
_EXTRA_RAYS = (4, 1, 0)  # beyond the number of secrets, where not all rays can be used
_FEW_RAYS_CELLS = 60_000  # vertices kept at a time for these, if fewer were asked for
_GOOD_ENOUGH = 2  # times the lower bound, where a second upper bound is not worth its time
_FEWER_CELLS = 25_000  # for irrational types, whose cells have long coordinates
_CUTS = 40  # priors added in a round
_FLOAT_GAP = 1e-9  # between the two sides at which floats hand over to rationals, relative to the largest loss
_LARGEST_TABLE = 2**18  # entries of a mechanism that is compared with a theorem's
_MOST_SECRETS = 9  # up to which cells are enumerated
"""Beyond, :mod:`sfumato.design.universal.large` gives a mechanism and bounds."""


def universal_design(
    loss: Loss,
    privacy: PrivacyType,
    *,
    priors: Priors = "all",
    relative: bool = False,
    most: int | None = None,
    rounds: int = _ROUNDS,
    progress: Callable[[int, float, float], object] | None = None,
) -> UniversalDesign:
    """The mechanism whose worst-case regret over priors is least: min_M max_π U_ℓ[π ▷ M] − min_N U_ℓ[π ▷ N].

    It is 0 exactly if a universally optimal mechanism exists, and then this is one.

    Parameters
    ----------
    priors
        ``"all"``, ``"regular"``, a list of priors (their hull), or :func:`~sfumato.design.universal.ball`.
    relative
        Regret as a share of the least loss; the loss must not be negative.
    most
        Vertices of cells kept at a time, by default 100,000, or 25,000 for irrational types.
    rounds
        Of cutting planes, after which the bounds stand as they are.
    progress
        Called with the round, the lower bound and the regret of the mechanism found, in floats.

    Examples
    --------
    >>> import sfumato as sf
    >>> space = sf.discrete(3)
    >>> best = universal_design(sf.losses.bin(space), sf.PrivacyType(space, alpha="1/2"))
    >>> best.lower, best.upper, bool(best.exists)
    (Fraction(1, 24), Fraction(1, 24), False)
    >>> star = sf.PrivacyType(sf.spaces.star(3), alpha="1/2")
    >>> bool(universal_design(sf.losses.bin(star.space), star).exists)
    True
    """
    started = perf_counter()
    asked = question(loss, as_type(privacy), relative=relative)
    among, progress = prior_set(priors, asked.privacy), optional_function(progress, "progress")
    most = None if most is None else integer(most, "most", 1, LARGEST_MOST)
    rounds = integer(rounds, "rounds", 1, LARGEST_MOST)
    if asked.trivial:
        constant = prove(Channel.constant(asked.privacy.space), asked.privacy)
        zero = Fraction(0)
        return UniversalDesign(constant, zero, zero, None, None, relative, "one action is always best", 0, 0.0)
    large = len(asked.privacy.space) > _MOST_SECRETS
    known = _by_theorem(asked) if large or not asked.privacy.exact else None
    if known is not None:
        return replace(known, seconds=perf_counter() - started)
    if large:
        return large_design(asked, among, started)
    plan = _Plan.of(asked, among, most or (_MOST_CELLS if asked.exact else _FEWER_CELLS))
    found = plan.run(rounds, progress)
    return replace(found, seconds=perf_counter() - started)


def _by_theorem(asked: Question) -> UniversalDesign | None:
    """The mechanism on a tree that is as steep as the type allows, if a theorem says that it has no regret.

    Exact types with few secrets need no theorem: there everything is decided in rationals.
    """
    privacy = asked.privacy
    if asked.relative or not is_tree(privacy.space) or len(privacy.space) ** 2 > _LARGEST_TABLE:
        return None
    mechanism = _steepest(privacy)
    ground = None if mechanism is None else theorem(asked, mechanism.channel)
    if mechanism is None or ground is None or (ground.regret and not _about_all(ground)):
        return None
    return UniversalDesign(mechanism, Fraction(0), ground.regret, None, None, False, ground.name, 0, 0.0, ground)


def _steepest(privacy: PrivacyType) -> Mechanism | None:
    try:
        return geometric(privacy)
    except NotSupported:
        pass
    try:
        found = tight_constraints(privacy)
    except (Infeasible, UndecidedError):
        return None
    return found if isinstance(found, Mechanism) else None


def _about_all(ground: Ground) -> bool:
    """Whether the mechanism of the theorem is one on all secrets: a mechanism on some need not come from one on all."""
    return ground.name != "lifted from a subset" and all(map(_about_all, ground.parts))


@dataclass(eq=False)
class _Plan:
    """The cutting planes so far: integer priors, their least losses, and what each costs on each orbit of rays."""

    asked: Question
    among: PriorSet
    region: PriorSet
    symmetry: Symmetry
    program: LeastLoss
    most: int
    priors: Array
    least: NDArray[np.float64]
    bases: NDArray[np.int64]

    @classmethod
    def of(cls, asked: Question, among: PriorSet, most: int) -> _Plan:
        symmetry = symmetry_of(asked)
        if among.everything:
            region = (
                replace(among, name="all, up to symmetry", limits=symmetry.limits) if len(symmetry.limits) else among
            )
        else:  # a set of priors need not have the symmetry of the space
            region = among
            count = len(asked.corner)
            alone = tuple((i,) for i in range(count))
            symmetry = Symmetry(symmetry.permutations[:0], alone, symmetry.limits[:0])
        size = len(asked.privacy.space)
        empty = np.zeros((0, size), dtype=object)
        plan = cls(asked, among, region, symmetry, LeastLoss(asked), most, empty, np.zeros(0),
                   np.zeros((0, size), dtype=np.int64))  # fmt: skip
        plan.add(plan.first())
        return plan

    def first(self) -> Array:
        """Priors to begin with: even ones on all and on two secrets, or those where the best guess changes in a set."""
        if not self.among.everything:
            if not len(self.among.limits):
                return np.asarray(self.among.generators.T)
            return cell_priors(self.asked, np.ones((len(self.among.secrets), 1), dtype=np.int64), self.among, self.most)
        n = len(self.asked.relevant)
        rows = np.zeros((1 + n * (n - 1) // 2, len(self.asked.privacy.space)), dtype=object)
        rows[0, self.asked.relevant] = 1
        pairs = [(x, z) for x in range(n) for z in range(x)]
        for row, (x, z) in zip(rows[1:], pairs, strict=True):
            row[self.asked.relevant[[x, z]]] = 1
        return rows

    def add(self, priors: Array) -> int:
        """Add priors that are new; returns how many."""
        known = {tuple(int(v) for v in row) for row in self.priors}
        fresh = [row for row in priors if tuple(int(v) for v in row) not in known]
        if not fresh:
            return 0
        table = object_array((int(v) for row in fresh for v in row), (len(fresh), priors.shape[1]))
        found = self.program.approximate(Cells(np.zeros((0, 0)), np.zeros(0), table).floats)
        self.priors = np.concatenate([self.priors, table])
        self.least = np.concatenate([self.least, found.found])
        self.bases = np.concatenate([self.bases, found.bases])
        return len(fresh)

    def run(self, rounds: int, progress: Callable[[int, float, float], object] | None) -> UniversalDesign:
        """Cells while they can be listed, for all rays or for few of them; a search otherwise."""
        try:
            return self.with_cells(rounds, progress)
        except NotSupported:
            pass
        number, weights = self.searched(min(rounds, 12))
        found = self.with_few_rays(weights, min(rounds, 12))
        if found is None or found.upper is None or found.upper > _GOOD_ENOUGH * found.lower:
            other = self.rounded(weights, "cutting planes and a search", number)
            found = other if found is None or found.upper is None or _below(other, found.upper) else found
        certificate = self.float_certificate()
        if certificate is None or certificate.bound <= found.lower:
            return found
        return replace(found, certificate=certificate, lower=certificate.bound)

    def with_cells(self, rounds: int, progress: Callable[[int, float, float], object] | None) -> UniversalDesign:
        """Floats until the two sides meet, then rationals."""
        best: tuple[float, NDArray[np.float64]] | None = None
        number = 0
        for number in range(1, rounds + 1):
            weights, low, _ = self.master()
            regrets, cells = self.regrets(weights)
            worst = float(regrets.max())
            if best is None or worst < best[0]:
                best = (worst, weights)
            if progress is not None:
                progress(number, low, best[0])
            if best[0] - low <= _FLOAT_GAP * max(1.0, low):
                break
            order = np.argsort(-regrets)[:_CUTS]
            chosen = order[regrets[order] > low + 0.1 * (worst - low)]
            if not self.add(cells.priors[chosen]):
                break
        if self.asked.exact:
            exact_answer = self.exactly(number, rounds)
            if exact_answer is not None:
                return exact_answer
        assert best is not None
        return self.rounded(best[1], "cutting planes", number)

    def master(self) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
        """Weights on orbits, the least regret over the priors so far, and their multipliers; in floats."""
        program = self._program(exact=False)
        found = solve(program, exact=False)
        if found.primal is None or found.dual is None:
            raise SolverError("these rays have no mechanism")
        count = len(self.symmetry.orbits)
        return np.asarray(found.primal[:count]), float(found.primal[count]), np.asarray(found.dual[-len(self.priors) :])

    def _program(self, *, exact: bool) -> LinearProgram:
        """min r over weights of orbits and r: sums to one at each secret, regret at most r for each prior."""
        asked, orbits = self.asked, self.symmetry.orbits
        if exact:
            totals = self.priors.sum(axis=1)
            rays: Array = asked.rays
            losses = asked.uncertainties(self.priors, rays)
            values = self.program.exactly(self.priors, self.bases)
            least: Array = object_array(Fraction(v) / int(t) for v, t in zip(values, totals, strict=True))
            costs = np.stack([sum(losses[:, i].astype(object) for i in orbit) for orbit in orbits], axis=1)
            costs = costs * object_array(Fraction(1, int(t)) for t in totals)[:, None]
        else:
            rays = asked.float_rays
            losses = asked.float_uncertainties(Cells(np.zeros((0, 0)), np.zeros(0), self.priors).floats, rays)
            least = self.least
            costs = np.stack([losses[:, list(orbit)].sum(axis=1) for orbit in orbits], axis=1)
        sums = self._sums(rays)
        slope = least if asked.relative else np.ones(len(least), dtype=np.int64)
        top = np.concatenate([sums, np.zeros((len(sums), 1), dtype=np.int64)], axis=1)
        below = np.concatenate([costs, -slope[:, None]], axis=1)
        dtype = object if exact else np.float64
        matrix = np.concatenate([top, below]).astype(dtype)
        cost = np.zeros(len(orbits) + 1, dtype=np.int64)
        cost[-1] = 1
        rhs = np.concatenate([np.ones(len(sums), dtype=np.int64), least]).astype(dtype)
        senses = "=" * len(sums) + "<" * len(least)
        return LinearProgram.dense(cost.astype(dtype), matrix, senses, rhs)

    def _sums(self, rays: Array) -> Array:
        """What the rays of each orbit sum to, at one secret of each orbit of secrets: they agree on the others."""
        table = np.stack([sum(rays[i] for i in orbit) for orbit in self.symmetry.orbits], axis=1)
        group = self.symmetry.permutations
        return table[sorted(set(group.min(axis=0).tolist()))] if len(group) else table

    def spread(self, weights: Array) -> Array:
        """A weight for each ray from one for each orbit."""
        result = np.zeros(len(self.asked.corner), dtype=object)
        for weight, orbit in zip(weights, self.symmetry.orbits, strict=True):
            result[list(orbit)] = weight
        return result

    def cells(self, weights: Array) -> Cells:
        """The cells of the mechanism of these weights on orbits; in floats only their support matters."""
        used = np.flatnonzero(self.spread(weights) > (0 if weights.dtype == object else 1e-12))
        columns = self.asked.rays[used] if self.asked.exact else _grid(self.asked.float_rays[used])
        made = Cells(np.ascontiguousarray(columns.T), self.spread(weights)[used], np.zeros((0, 0), dtype=object))
        return replace(made, priors=cell_priors(self.asked, made.columns, self.region, self.most))

    def regrets(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], Cells]:
        """Regrets in floats at all vertices of cells of a mechanism."""
        cells = self.cells(weights)
        floats = cells.floats
        spread = self.spread(weights).astype(np.float64)
        own = self.asked.float_uncertainties(floats, self.asked.float_rays) @ spread
        least = self.program.approximate(floats).found
        if self.asked.relative:
            with np.errstate(divide="ignore", invalid="ignore"):
                regret = np.where(own > 1e-12, own / np.maximum(least, 1e-300) - 1, 0.0)
            return np.minimum(regret, 1e6), cells
        return own - least, cells

    def exactly(self, number: int, rounds: int) -> UniversalDesign | None:
        """Rationals from here on; None if they do not close the gap in the rounds that are left."""
        while number <= rounds:
            program = self._program(exact=True)
            found = solve(program)
            assert found.primal is not None and found.dual is not None
            weights = found.primal[:-1]
            cells = self.cells(weights)
            regret = regret_on(self.asked, cells, self.program)
            value = Fraction(found.primal[-1]) if self.asked.relative else Fraction(found.primal[-1]) / self.asked.scale
            if regret.upper == value:
                return self.answer(cells, regret, value, found.dual[-len(self.priors) :], number)
            if regret.prior is None or not self.add(_integers(regret.prior)[None, :]):
                return None
            number += 1
        return None

    def answer(self, cells: Cells, regret: Regret, value: Fraction, dual: Array, number: int) -> UniversalDesign:
        """The exact answer with its certificate."""
        asked = self.asked
        channel = Channel(asked.privacy.space, cells.columns * cells.weights[None, :], range(cells.columns.shape[1]))
        mechanism = prove(channel, asked.privacy, provenance={"made by": "universal_design"})
        used = [k for k in range(len(self.priors)) if dual[k] != 0]
        weights = [-Fraction(dual[k]) for k in used]
        certificate = self.certificate(used, weights)
        lower = value if certificate is None else certificate.bound
        return UniversalDesign(mechanism, lower, regret.upper, certificate, regret.prior, asked.relative,
                               "cutting planes, exact", number, 0.0)  # fmt: skip

    def certificate(self, used: list[int], weights: list[Fraction]) -> Certificate | None:
        """Priors and weights, over the whole orbit of each prior where symmetry was used."""
        group = self.symmetry.permutations
        table: dict[tuple[int, ...], Fraction] = {}
        for k, weight in zip(used, weights, strict=True):
            row = [int(v) for v in self.priors[k]]
            images = [tuple(row[x] for x in g) for g in group.tolist()] or [tuple(row)]
            for image in images:
                table[image] = table.get(image, Fraction(0)) + weight / len(images)
        if not table:
            return None
        priors = tuple(prior_of(self.asked.loss.secrets, object_array(row)) for row in table)
        return certified_below(self.asked, priors, tuple(table.values()), self.program)

    def rounded(self, weights: NDArray[np.float64], method: str, number: int) -> UniversalDesign:
        """A proved mechanism next to weights in floats, and rigorous bounds on both sides."""
        asked = self.asked
        spread = np.maximum(self.spread(weights).astype(np.float64), 0.0)
        used = np.flatnonzero(spread > 1e-12)
        matrix = (asked.float_rays[used] * spread[used, None]).T
        mechanism = quantise(matrix / matrix.sum(axis=1, keepdims=True), asked.privacy).mechanism
        regret = worst_case_regret(mechanism, asked.loss, asked.privacy, priors=self.among, relative=asked.relative,
                                   most=self.most)  # fmt: skip
        certificate = self.float_certificate()
        lower = Fraction(0) if certificate is None else max(certificate.bound, Fraction(0))
        return UniversalDesign(
            mechanism, lower, regret.upper, certificate, regret.prior, asked.relative, method, number, 0.0
        )

    def float_certificate(self) -> Certificate | None:
        """What the priors so far prove, with the multipliers that floats give them."""
        _, _, dual = self.master()
        positive = np.maximum(-dual, 0.0)
        chosen = np.flatnonzero(positive > 1e-9 * max(float(positive.max(initial=0.0)), 1e-300)).tolist()
        return self.certificate(chosen, [Fraction(float(positive[k])) for k in chosen]) if chosen else None

    def searched(self, rounds: int) -> tuple[int, NDArray[np.float64]]:
        """Cuts from a search; how many rounds, and the weights at the end."""
        weights, number = np.zeros(len(self.symmetry.orbits)), 0
        for number in range(1, rounds + 1):
            weights, low, _ = self.master()
            found = search(self.asked, self._float_channel(weights), self.among, self.program, 12, seed=number)
            integers = object_array(round(float(w) * 2**20) for w in found.weights)
            if not inside(integers, self.among) or found.regret <= low * (1 + 1e-6) or not self.add(integers[None, :]):
                break
        return number, weights

    def with_few_rays(self, weights: NDArray[np.float64], rounds: int) -> UniversalDesign | None:
        """The best mechanism on the heaviest orbits of rays only, whose cells are fewer; None if still too many."""
        sums = self._sums(self.asked.float_rays)
        kernel = solve(LinearProgram.dense(-weights, sums, "=" * len(sums), np.ones(len(sums))), exact=False).primal
        assert kernel is not None  # the weights themselves are feasible
        sizes = np.array([len(orbit) for orbit in self.symmetry.orbits])
        needed = np.flatnonzero(kernel > 1e-9)
        rest = np.setdiff1d(np.argsort(-weights * sizes, kind="stable"), needed, assume_unique=True)
        for extra in _EXTRA_RAYS:
            added = rest[np.cumsum(sizes[rest]) <= extra]
            orbits = tuple(self.symmetry.orbits[k] for k in [*needed, *added])
            few = replace(
                self,
                symmetry=replace(self.symmetry, orbits=orbits),
                most=self.most if self.asked.exact else max(self.most, _FEW_RAYS_CELLS),
            )
            try:
                return replace(few.with_cells(rounds, None), method="cutting planes on few rays")
            except (NotSupported, SolverError):
                continue
        return None

    def _float_channel(self, weights: NDArray[np.float64]) -> Channel:
        spread = np.maximum(self.spread(weights).astype(np.float64), 0.0)
        used = np.flatnonzero(spread > 1e-12)
        matrix = (self.asked.float_rays[used] * spread[used, None]).T
        return Channel(self.asked.privacy.space, matrix / matrix.sum(axis=1, keepdims=True))


def _below(found: UniversalDesign, bound: Fraction) -> bool:
    return found.upper is not None and found.upper < bound


def _integers(prior: Prior) -> Array:
    return common_denominator(prior.weights)[0]


def _grid(rays: NDArray[np.float64]) -> Array:
    """Irrational rays on a grid fine enough to search with: the cells of floats decide nothing."""
    return object_array((round(float(v) * 2**16) for v in rays.ravel()), rays.shape)
