"""The mechanism of least worst-case regret, by cutting planes over priors, with a certificate that nothing is better.

Over weights a on the rays of the type, U_a(π) = Σ_i a_i U(π∘v_i) is linear in a for each prior. The least r with
U_a(π_k) − opt(π_k) ≤ r at finitely many priors is a linear program and a lower bound; the worst prior of its solution
is the next one. When the worst regret equals r, nothing is better. The multipliers of the last program are weights on
priors: for every mechanism the average regret over these priors is at least r, so some regret is.

Where isometries leave a loss as it is, some mechanism of least regret is symmetric too. The regret of a mixture is at
most the mixture of regrets, so averaging over the group loses nothing. Rays come in orbits, one weight for each; and
priors need only be looked at in a region that contains one of each orbit of priors, {π : u·π ≥ u·π_g for all g} for any
u.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import attrgetter
from time import perf_counter

import numpy as np

from sfumato.arguments import integer, optional_function
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.repair import quantise
from sfumato.certify.verify import prove
from sfumato.channels.channel import Channel
from sfumato.channels.prior import Prior
from sfumato.errors import Infeasible, NotSupported, SolverError, UndecidedError
from sfumato.losses.loss import Loss
from sfumato.lp import LinearProgram, solve
from sfumato.mechanisms.line import geometric
from sfumato.mechanisms.response import membership
from sfumato.mechanisms.tight import tight_constraints
from sfumato.numbers import Array, Floats, Integers, common_denominator, object_array
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.spaces.isometries import isometries
from sfumato.theory.universal.answers import Regret, RegretCertificate, UniversalDesign
from sfumato.theory.universal.cells import LARGEST_MOST
from sfumato.theory.universal.certificate import certified_below, exact_losses, regret_program, summed
from sfumato.theory.universal.large import large_design
from sfumato.theory.universal.least_loss import LeastLoss
from sfumato.theory.universal.prior_sets import Priors, PriorSet, prior_set
from sfumato.theory.universal.question import ReducedLoss, pose
from sfumato.theory.universal.refute import inside, search
from sfumato.theory.universal.regret import LossCells, cell_priors, float_priors, regret_on, worst_case_regret
from sfumato.theory.universal.theorems import OptimalityGround, is_tree, theorem

_ROUNDS = 60
_MOST_CELLS = 100_000  # So many vertices of cells are kept at a time, for each mechanism on the way.
_EXTRA_RAYS = (4, 1, 0)  # Where not all rays can be used, so many more than there are secrets are tried in turn.
_FEW_RAYS_CELLS = 60_000  # With few rays at least so many vertices of cells are kept at a time.
_GOOD_ENOUGH = 2  # Below so many times the lower bound a second upper bound is not worth its time.
_IRRATIONAL_CELLS = 25_000  # Cells of irrational types have long coordinates, so fewer vertices are kept.
_CUTS = 40  # So many priors are added in a round.
_FLOAT_GAP = 1e-9  # Floats hand over to rationals at this gap between the two sides, relative to the largest loss.
_LARGEST_TABLE = 2**18  # A mechanism of more entries is not compared with that of a theorem.
_MOST_SECRETS = 9  # Up to so many secrets cells are enumerated.
"""Beyond, :mod:`sfumato.theory.universal.large` gives a mechanism and bounds."""


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
        ``"all"``, ``"regular"``, a list of priors (their hull), or :func:`~sfumato.theory.universal.ball`.
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
    question = pose(loss, as_type(privacy), relative=relative)
    among, progress = prior_set(priors, question.privacy), optional_function(progress, "progress")
    most = None if most is None else integer(most, "most", 1, LARGEST_MOST)
    rounds = integer(rounds, "rounds", 1, LARGEST_MOST)
    if question.trivial:
        constant = prove(Channel.constant(question.privacy.space), question.privacy)
        zero = Fraction(0)
        return UniversalDesign(constant, zero, zero, None, None, relative, "one action is always best", 0, 0.0)
    large = len(question.privacy.space) > _MOST_SECRETS
    known = _by_theorem(question) if large or not question.privacy.exact else None
    if known is not None:
        return replace(known, seconds=perf_counter() - started)
    if large:
        return large_design(question, among, started)
    plan = _CuttingPlanes.of(question, among, most or (_MOST_CELLS if question.exact else _IRRATIONAL_CELLS))
    design = plan.run(rounds, progress)
    return replace(design, seconds=perf_counter() - started)


def _by_theorem(question: ReducedLoss) -> UniversalDesign | None:
    """A mechanism that is known by name, if a theorem says that it has no regret.

    Exact types with few secrets need no theorem: there everything is decided in rationals.
    """
    privacy = question.privacy
    if question.relative or len(privacy.space) ** 2 > _LARGEST_TABLE:
        return None
    for mechanism in _named(question):
        ground = theorem(question, mechanism.channel)
        if ground is not None and not (ground.regret and not _about_all(ground)):
            return UniversalDesign(
                mechanism, Fraction(0), ground.regret, None, None, False, ground.name, 0, 0.0, ground
            )
    return None


def _named(question: ReducedLoss) -> Iterator[Mechanism]:
    """On a tree the mechanism that is as steep as the type allows; for two actions the one that names the better."""
    privacy = question.privacy
    steepest = _steepest(privacy) if is_tree(privacy.space) else None
    if steepest is not None:
        yield steepest
    if len(question.kept) == 2:
        yield membership(privacy, [privacy.secrets[x] for x in np.flatnonzero(question.table[0] < question.table[1])])


def _steepest(privacy: PrivacyType) -> Mechanism | None:
    try:
        return geometric(privacy)
    except NotSupported:
        pass
    try:
        mechanism = tight_constraints(privacy)
    except (Infeasible, UndecidedError):
        return None
    return mechanism if isinstance(mechanism, Mechanism) else None


def _about_all(ground: OptimalityGround) -> bool:
    """Whether the mechanism of the theorem is one on all secrets: a mechanism on some need not come from one on all."""
    return ground.name != "lifted from a subset" and all(map(_about_all, ground.parts))


@dataclass(eq=False)
class _CuttingPlanes:
    """The cutting planes so far: integer priors, their least losses, and what each costs on each orbit of rays."""

    question: ReducedLoss
    among: PriorSet
    region: PriorSet
    symmetry: RaySymmetry
    program: LeastLoss
    most: int
    priors: Array
    least: Floats
    bases: Integers

    @classmethod
    def of(cls, question: ReducedLoss, among: PriorSet, most: int) -> _CuttingPlanes:
        symmetry = symmetry_of(question)
        if among.everything:
            region = (
                replace(among, name="all, up to symmetry", limits=symmetry.limits) if len(symmetry.limits) else among
            )
        else:  # a set of priors need not have the symmetry of the space
            region = among
            count = len(question.corner)
            alone = tuple((i,) for i in range(count))
            symmetry = RaySymmetry(symmetry.permutations[:0], alone, symmetry.limits[:0])
        size = len(question.privacy.space)
        empty = np.zeros((0, size), dtype=object)
        plan = cls(question, among, region, symmetry, LeastLoss(question), most, empty, np.zeros(0),
                   np.zeros((0, size), dtype=np.int64))  # fmt: skip
        plan.add(plan.first())
        return plan

    def first(self) -> Array:
        """Priors to begin with: even ones on all and on two secrets, or those where the best guess changes in a set."""
        if not self.among.everything:
            if not len(self.among.limits):
                return np.asarray(self.among.generators.T)
            constant = np.ones((len(self.among.secrets), 1), dtype=np.int64)
            return cell_priors(self.question, constant, self.among, self.most)
        n = len(self.question.relevant)
        rows = np.zeros((1 + n * (n - 1) // 2, len(self.question.privacy.space)), dtype=object)
        rows[0, self.question.relevant] = 1
        pairs = [(x, z) for x in range(n) for z in range(x)]
        for row, (x, z) in zip(rows[1:], pairs, strict=True):
            row[self.question.relevant[[x, z]]] = 1
        return rows

    def add(self, priors: Array) -> int:
        """Add priors that are new; returns how many."""
        known = {tuple(int(v) for v in row) for row in self.priors}
        fresh = [row for row in priors if tuple(int(v) for v in row) not in known]
        if not fresh:
            return 0
        table = object_array((int(v) for row in fresh for v in row), (len(fresh), priors.shape[1]))
        least = self.program.approximate(float_priors(table))
        self.priors = np.concatenate([self.priors, table])
        self.least = np.concatenate([self.least, least.values])
        self.bases = np.concatenate([self.bases, least.bases])
        return len(fresh)

    def run(self, rounds: int, progress: Callable[[int, float, float], object] | None) -> UniversalDesign:
        """Cells while they can be listed, for all rays or for few of them; a search otherwise."""
        try:
            return self.with_cells(rounds, progress)
        except NotSupported:
            pass
        number, weights = self.searched(min(rounds, 12))
        design = self.with_few_rays(weights, min(rounds, 12))
        if design is None or design.upper is None or design.upper > _GOOD_ENOUGH * design.lower:
            other = self.rounded(weights, "cutting planes and a search", number)
            found = [one for one in (design, other) if one is not None and one.upper is not None]
            design = min(found, key=attrgetter("upper"), default=other)
        certificate = self.float_certificate()
        if certificate is None or certificate.bound <= design.lower:
            return design
        return replace(design, certificate=certificate, lower=certificate.bound)

    def with_cells(self, rounds: int, progress: Callable[[int, float, float], object] | None) -> UniversalDesign:
        """Floats until the two sides meet, then rationals."""
        best: tuple[float, Floats] | None = None
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
        if self.question.exact:
            exact_answer = self.exactly(number, rounds)
            if exact_answer is not None:
                return exact_answer
        assert best is not None
        return self.rounded(best[1], "cutting planes", number)

    def master(self) -> tuple[Floats, float, Floats]:
        """Weights on orbits, the least regret over the priors so far, and their multipliers; in floats."""
        program = self._program(exact=False)
        solution = solve(program, exact=False)
        if solution.primal is None or solution.dual is None:
            raise SolverError("these rays have no mechanism")
        weights, multipliers = np.asarray(solution.primal[:-1]), np.asarray(solution.dual[-len(self.priors) :])
        return weights, float(solution.primal[-1]), multipliers

    def _program(self, *, exact: bool) -> LinearProgram:
        """min r over weights of orbits and r: sums to one at each secret, regret at most r for each prior."""
        question, least = self.question, self.least
        if exact:
            costs, least = exact_losses(question, self.program, self.priors, self.bases, self.symmetry.orbits)
        else:
            losses = question.float_uncertainties(float_priors(self.priors), question.float_rays)
            costs = summed(losses, self.symmetry.orbits)
        sums = self._sums(question.rays if exact else question.float_rays)
        return regret_program(sums, costs, least, relative=question.relative)

    def _sums(self, rays: Array) -> Array:
        """What the rays of each orbit sum to, at one secret of each orbit of secrets: they agree on the others."""
        table = np.stack([sum(rays[i] for i in orbit) for orbit in self.symmetry.orbits], axis=1)
        group = self.symmetry.permutations
        return table[sorted(set(group.min(axis=0).tolist()))] if len(group) else table

    def spread(self, weights: Array) -> Array:
        """A weight for each ray from one for each orbit."""
        result = np.zeros(len(self.question.corner), dtype=object)
        for weight, orbit in zip(weights, self.symmetry.orbits, strict=True):
            result[list(orbit)] = weight
        return result

    def cells(self, weights: Array) -> LossCells:
        """The cells of the mechanism of these weights on orbits; in floats only their support matters."""
        used = np.flatnonzero(self.spread(weights) > (0 if weights.dtype == object else 1e-12))
        columns = self.question.rays[used] if self.question.exact else _grid(self.question.float_rays[used])
        columns = np.ascontiguousarray(columns.T)
        priors = cell_priors(self.question, columns, self.region, self.most)
        return LossCells(columns, self.spread(weights)[used], priors)

    def regrets(self, weights: Floats) -> tuple[Floats, LossCells]:
        """Regrets in floats at all vertices of cells of a mechanism."""
        cells = self.cells(weights)
        floats = float_priors(cells.priors)
        spread = self.spread(weights).astype(np.float64)
        own = self.question.float_uncertainties(floats, self.question.float_rays) @ spread
        least = self.program.approximate(floats).values
        if self.question.relative:
            with np.errstate(divide="ignore", invalid="ignore"):
                regret = np.where(own > 1e-12, own / np.maximum(least, 1e-300) - 1, 0.0)
            return np.minimum(regret, 1e6), cells
        return own - least, cells

    def exactly(self, number: int, rounds: int) -> UniversalDesign | None:
        """Rationals from here on; None if they do not close the gap in the rounds that are left."""
        while number <= rounds:
            program = self._program(exact=True)
            solution = solve(program)
            assert solution.primal is not None and solution.dual is not None
            weights = solution.primal[:-1]
            cells = self.cells(weights)
            regret = regret_on(self.question, cells, self.program)
            value = Fraction(solution.primal[-1]) / (1 if self.question.relative else self.question.scale)
            if regret.upper == value:
                return self.answer(cells, regret, value, solution.dual[-len(self.priors) :], number)
            if regret.prior is None or not self.add(common_denominator(regret.prior.weights)[0][None, :]):
                return None
            number += 1
        return None

    def answer(self, cells: LossCells, regret: Regret, value: Fraction, dual: Array, number: int) -> UniversalDesign:
        """The exact answer with its certificate."""
        question = self.question
        channel = Channel(question.privacy.space, cells.columns * cells.weights[None, :], range(cells.columns.shape[1]))
        mechanism = prove(channel, question.privacy, provenance={"made by": "universal_design"})
        used = [k for k in range(len(self.priors)) if dual[k] != 0]
        weights = [-Fraction(dual[k]) for k in used]
        certificate = self.certificate(used, weights)
        lower = value if certificate is None else certificate.bound
        return UniversalDesign(mechanism, lower, regret.upper, certificate, regret.prior, question.relative,
                               "cutting planes, exact", number, 0.0)  # fmt: skip

    def certificate(self, used: list[int], weights: list[Fraction]) -> RegretCertificate | None:
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
        priors = tuple(Prior.from_counts(row, self.question.loss.secrets) for row in table)
        return certified_below(self.question, priors, tuple(table.values()), self.program)

    def rounded(self, weights: Floats, method: str, number: int) -> UniversalDesign:
        """A proved mechanism next to weights in floats, and rigorous bounds on both sides."""
        question = self.question
        mechanism = quantise(self._float_matrix(weights), question.privacy).mechanism
        regret = worst_case_regret(
            mechanism, question.loss, question.privacy, priors=self.among, relative=question.relative, most=self.most
        )
        certificate = self.float_certificate()
        lower = Fraction(0) if certificate is None else max(certificate.bound, Fraction(0))
        return UniversalDesign(
            mechanism, lower, regret.upper, certificate, regret.prior, question.relative, method, number, 0.0
        )

    def float_certificate(self) -> RegretCertificate | None:
        """What the priors so far prove, with the multipliers that floats give them."""
        _, _, dual = self.master()
        positive = np.maximum(-dual, 0.0)
        chosen = np.flatnonzero(positive > 1e-9 * max(float(positive.max(initial=0.0)), 1e-300)).tolist()
        return self.certificate(chosen, [Fraction(float(positive[k])) for k in chosen]) if chosen else None

    def searched(self, rounds: int) -> tuple[int, Floats]:
        """Cuts from a search; how many rounds, and the weights at the end."""
        weights, number = np.zeros(len(self.symmetry.orbits)), 0
        for number in range(1, rounds + 1):
            weights, low, _ = self.master()
            channel = Channel(self.question.privacy.space, self._float_matrix(weights))
            worst = search(self.question, channel, self.among, self.program, 12, seed=number)
            integers = object_array(round(float(w) * 2**20) for w in worst.weights)
            if not inside(integers, self.among) or worst.regret <= low * (1 + 1e-6) or not self.add(integers[None, :]):
                break
        return number, weights

    def with_few_rays(self, weights: Floats, rounds: int) -> UniversalDesign | None:
        """The best mechanism on the heaviest orbits of rays only, whose cells are fewer; None if still too many."""
        sums = self._sums(self.question.float_rays)
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
                most=self.most if self.question.exact else max(self.most, _FEW_RAYS_CELLS),
            )
            try:
                return replace(few.with_cells(rounds, None), method="cutting planes on few rays")
            except (NotSupported, SolverError):
                continue
        return None

    def _float_matrix(self, weights: Floats) -> Floats:
        """The mechanism of weights on orbits in floats."""
        spread = np.maximum(self.spread(weights).astype(np.float64), 0.0)
        used = np.flatnonzero(spread > 1e-12)
        matrix = (self.question.float_rays[used] * spread[used, None]).T
        return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def _grid(rays: Floats) -> Array:
    """Irrational rays on a grid fine enough to search with: the cells of floats decide nothing."""
    return object_array((round(float(v) * 2**16) for v in rays.ravel()), rays.shape)


_MOST_LIMITS = 60  # The region of priors has so many inequalities: any of them are enough, many make it small.
_LARGEST_GROUP = 6000


@dataclass(frozen=True, eq=False)
class RaySymmetry:
    """Permutations of secrets (rows), the orbit of each ray, and inequalities of a region of priors."""

    permutations: Integers
    orbits: tuple[tuple[int, ...], ...]
    limits: Array


def symmetry_of(question: ReducedLoss) -> RaySymmetry:
    """The isometries of the space under which the reduced loss is the same up to the names of actions."""
    n = question.table.shape[1]
    group = np.arange(n)[None, :]
    try:
        candidates = isometries(question.privacy.space)
        if len(candidates) <= _LARGEST_GROUP:
            rows = {tuple(row) for row in question.table.tolist()}
            group = np.array([g for g in candidates if {tuple(row) for row in question.table[:, g].tolist()} == rows])
    except NotSupported:
        pass
    return RaySymmetry(group, _orbits(question, group), _region(group))


def _orbits(question: ReducedLoss, group: Integers) -> tuple[tuple[int, ...], ...]:
    """Rays that isometries turn into each other; heights tell rays apart exactly."""
    heights = question.corner.coefficients
    place = {(row - row[0]).tobytes(): i for i, row in enumerate(heights)}
    smallest = np.arange(len(heights))
    for g in group:
        moved = heights[:, g]
        smallest = np.minimum(smallest, [place[np.ascontiguousarray(row - row[0]).tobytes()] for row in moved])
    members: dict[int, list[int]] = {}
    for i, first in enumerate(smallest.tolist()):
        members.setdefault(first, []).append(i)
    return tuple(tuple(orbit) for orbit in members.values())


def _region(group: Integers) -> Array:
    """u·π ≥ u·π_g for a u without symmetry, those g first that move least."""
    n = group.shape[1]
    weights = np.array([(k * (k + 1) // 2 + 1) ** 2 for k in range(n, 0, -1)], dtype=object)
    others = sorted(
        (g for g in group.tolist() if g != list(range(n))), key=lambda g: sum(i != v for i, v in enumerate(g))
    )
    # Σ_x u_x π_{g(x)} = Σ_x u_{g⁻¹(x)} π_x
    rows = [weights - weights[np.argsort(g)] for g in others[:_MOST_LIMITS]]
    return np.stack(rows) if rows else np.zeros((0, n), dtype=object)
