"""The mechanism from which shares are estimated best, proved: privacy, variance, and that no other has less.

Where the rays of the type are listed, the file carries value and bound as a claim, and the kernel lists the rays again.
Beyond, columns are searched, the bound is that of a relaxation (:mod:`sfumato.design.shares.relaxation`), and the file
carries the promise alone. The value is concave in the distribution, so for the worst one among mixtures of several
L-BFGS climbs to the least favourable, at which mechanism and bound are those of a guess.

The best mechanism for a loss per person may merge answers: where shares are lost, a warning says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, inf
from time import perf_counter
from typing import Any

import numpy as np

from sfumato.certify import kernel
from sfumato.certify.certificate import certificate
from sfumato.certify.mechanism import Mechanism, SharesClaim
from sfumato.certify.repair import private_weights
from sfumato.certify.verify import prove
from sfumato.channels.channel import check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.design.comparison_rows import promise_kept
from sfumato.design.objectives import Objective, weighted
from sfumato.design.result import Design
from sfumato.design.shares.columns import Listed, RaySource, is_listed, kind_of_rays, ray_source
from sfumato.design.shares.descent import descended
from sfumato.design.shares.measure import ALIKE, ColumnMeasure
from sfumato.design.shares.relaxation import relaxed_bound
from sfumato.design.shares.search import Found, fewest, polished, searched
from sfumato.design.shares.unordered import SetsOfOneSize, best_for_unordered
from sfumato.errors import Infeasible, InvalidChannel, InvalidInput, NotConverged, NotSupported, UndecidedError
from sfumato.lp.cone.program import ColumnProgress
from sfumato.measures.shares import LARGEST_EXACT, Workload, information, recoverable, variance_beside_mean, workload
from sfumato.mechanisms.registry import MECHANISMS
from sfumato.numbers import Array, Floats, common_denominator, floats, object_array
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.threads import one_thread
from sfumato.verdict import Outcome
from sfumato.watch import Watch

_MARGINS = (1e-14, 1e-12, 1e-10, 1e-8)  # of the value, added to prices until every corner lies below them
_DIGITS = 96  # binary digits of a value or bound that would have too many
_SIMPLE = 10_000  # Denominators of masses that may have been meant.
_FLOAT_ERROR = 1e-9  # of a value in floats, which is rounded up by so much: eigenvalues are good to 1e-12
_EQUAL = 1e-9  # Two values in floats that differ by no larger part are the same.
_MIXTURE = 1 << 20  # parts of a mixture of distributions
_TURNS = 60  # steps towards the least favourable distribution
_STEADY = 1e-7  # tolerance of a value whose slope is followed
_FOR_SEARCH = 0.5  # of the time, where a relaxation follows
_FOR_POLISH = 0.3  # of what is left then
_FOR_PROOF = 0.7  # of the time, where a proof follows


@dataclass(frozen=True, eq=False, repr=False)
class SharesDesign(Design):
    """A design for estimates of shares. ``loss`` and ``bound`` are N times a total variance, ``prior`` the distribution
    that was guessed, or the least favourable one; ``proved`` says that the file carries both as a claim.
    """

    family = "shares"

    prior: Prior | None = None
    workload: Workload | None = None

    @property
    def remap(self) -> dict[Any, Any]:
        """Outputs are for estimates, not for guesses: each stands for itself."""
        return {y: y for y in self.mechanism.outputs}

    @property
    def proved(self) -> bool:
        """Whether value and bound are decided in rationals and part of the file; else they are floats with a margin."""
        return self.mechanism.claim is not None


def design_for_shares(
    prior: Prior | None,
    privacy: PrivacyType,
    objective: Objective,
    tolerance: float,
    watch: Watch,
    progress: Callable[..., object] | None,
) -> SharesDesign:
    """The mechanism of least variance, at a guessed distribution or at the worst among mixtures of several."""
    privacy = as_type(privacy)
    if privacy.space.distances.infinite.any():
        raise NotSupported("estimates of shares where a distance is infinite", ["finite distances"])
    if len(privacy.space) < 2:
        raise InvalidInput("shares are estimated of at least two secrets")
    wanted = workload(objective.workload, privacy.space)
    task = _Task(privacy, wanted, tolerance, watch, progress)
    with one_thread():
        if objective.priors:
            check_secrets("priors and privacy type", privacy.space, *objective.priors)
            return _against_the_worst(task, objective.priors)
        guess = Prior.uniform(privacy.space) if prior is None else as_prior(prior)
        check_secrets("prior and privacy type", privacy.space, guess)
        return task.design(guess)


@dataclass(frozen=True, eq=False)
class _Task:
    """One question, asked at one distribution or at several."""

    privacy: PrivacyType
    wanted: Workload
    tolerance: float
    watch: Watch
    progress: Callable[..., object] | None

    @property
    def matrix(self) -> Floats:
        """The workload in floats."""
        return floats(self.wanted.matrix)

    def found(self, prior: Prior, tolerance: float, *, quiet: bool = False) -> tuple[RaySource, Found]:
        """Columns and masses at a distribution."""
        source = ray_source(self.privacy, prior.float_weights)
        seconds = self.watch.share(_FOR_PROOF if source.complete else _FOR_SEARCH)
        aim = max(tolerance / 10, 1e-9)
        return source, searched(source, self.centred(prior), aim, seconds, None if quiet else self.progress)

    def centred(self, prior: Prior) -> Floats:
        """A − Ap 1ᵀ, whose tr(A W⁻¹ Aᵀ) is the variance, since W p = 1: however small beside |Ap|² that may be."""
        return self.matrix - self.middle(prior)[:, None]

    def middle(self, prior: Prior) -> Floats:
        """Ap; nothing where all of A is known without asking, and A − Ap 1ᵀ would be zero."""
        known = (self.matrix == self.matrix[:, :1]).all()
        return np.zeros(len(self.matrix)) if known else floats(self.matrix @ prior.float_weights)

    def design(self, prior: Prior, priors: tuple[Prior, ...] = (), mixture: tuple[int, ...] = ()) -> SharesDesign:
        """The best mechanism at a distribution, proved; with priors, its worst value among their mixtures."""
        started = perf_counter()
        if not priors and (sets := best_for_unordered(self.privacy, prior, self.wanted)) is not None:
            return self._of_sets(sets, prior, started)
        source, found = self.found(prior, self.tolerance)
        found = fewest(polished(source, found, self.centred(prior), self.watch.share(_FOR_POLISH)))
        solved = perf_counter() - started
        self.announce("repairing and proving")
        weights, total = self._weights(source, found)
        outputs = output_names(weights, self.privacy.space.labels)
        method = "interior over all rays" if source.complete else "interior over rays that were searched"
        ours = self._value(weights, prior, priors) * (1 + _EQUAL)
        for name in self._rivals(source):
            known = self._known(name)
            if known is None or not (value := self._value(known.weights, prior, priors)) < ours:
                continue
            if self._determined_by(known):
                ours, method = value * (1 - _EQUAL), name.replace("_", " ")
                weights, total, outputs = known.weights, known.total, known.outputs
        if isinstance(source, Listed):
            open_claim = SharesClaim(prior, self.wanted, Fraction(0), priors=priors, mixture=mixture)
            excess = float(source.beyond(found.measure, found.columns, Watch())[1][0])
            mechanism, loss, bound = self._proved(weights, total, outputs, open_claim, found.measure, excess)
        else:
            mechanism = prove(weights, self.privacy, outputs=outputs, provenance=_PROVENANCE)
            loss, bound = self._in_floats(weights, prior, priors)
        seconds = {"solve": solved, "certify": perf_counter() - started - solved, "total": self.watch.spent}
        stopped = not found.finished or (source.complete and loss - bound > self.tolerance * (loss or 1))
        return SharesDesign(
            mechanism, loss, min(bound, loss), method, found.iterations, seconds,
            stopped=stopped, prior=prior, workload=self.wanted,
        )  # fmt: skip

    def _of_sets(self, sets: SetsOfOneSize, prior: Prior, started: float) -> SharesDesign:
        """The design that a theorem gives, with a claim in the file where the kernel can list the rays."""
        solved = perf_counter() - started
        self.announce("repairing and proving")
        if is_listed(self.privacy):
            claim = SharesClaim(prior, self.wanted, Fraction(0))
            made = self._proved(sets.weights, sets.total, sets.outputs, claim, sets.columns, 0.0)
            mechanism, loss, bound = made
        else:
            mechanism = prove(sets.weights, self.privacy, outputs=sets.outputs, provenance=_PROVENANCE)
            value = self._value(sets.weights, prior, ())
            loss, bound = Fraction(value * (1 + _FLOAT_ERROR)), Fraction(sets.columns.value * (1 - _FLOAT_ERROR))
        seconds = {"solve": solved, "certify": perf_counter() - started - solved, "total": self.watch.spent}
        return SharesDesign(
            mechanism, loss, min(bound, loss), sets.method, 0, seconds, prior=prior, workload=self.wanted
        )

    def _rivals(self, source: RaySource) -> tuple[str, ...]:
        """Known mechanisms that may be as good as what was found: all of them, where rays were searched.

        Where they are listed the best one was found, and is told by its name if it has one: where all secrets are
        equally far apart, nothing is better for the uniform distribution than subset selection.
        """
        if not source.complete:
            return tuple(MECHANISMS)
        table = self.privacy.space.distances.floats
        apart = table[~np.eye(len(table), dtype=bool)]
        return ("subset_selection",) if apart.min() == apart.max() else ()

    def _known(self, name: str) -> Mechanism | None:
        """A mechanism of that name that keeps the promise, if there is one."""
        candidate = MECHANISMS[name]
        try:
            made = candidate(self.privacy) if candidate.applies(self.privacy).outcome == "holds" else None
        except (NotSupported, Infeasible, UndecidedError):
            return None
        return made if isinstance(made, Mechanism) and promise_kept(made, self.privacy) else None

    def _determined_by(self, known: Mechanism) -> bool:
        """Whether estimates from a mechanism exist: all shares are seen in floats, or what is asked for is exactly.

        Where some shares are lost, floats take what rounding to integers has lost for told.
        """
        if recoverable(known.channel.to_floats()).outcome == "holds":
            return True
        return len(known.secrets) <= LARGEST_EXACT and recoverable(known.channel, self.wanted).outcome == "holds"

    def _value(self, weights: Array, prior: Prior, priors: tuple[Prior, ...]) -> float:
        """N times the total variance of estimates, in floats; with priors, its worst value among their mixtures."""
        likely, table = prior.float_weights, weights.astype(np.float64)
        table /= table.sum(axis=1, keepdims=True)
        value = variance_beside_mean(likely, table, self.matrix)
        return max(_tangents(table, self.matrix, likely, priors)) if priors and np.isfinite(value) else value

    def announce(self, stage: str) -> None:
        """Tell what begins now."""
        if self.progress is not None:
            self.progress(ColumnProgress.beginning(stage, self.watch.spent))

    def _weights(self, source: RaySource, found: Found) -> tuple[Array, int]:
        """Integers: the exact columns where masses are simple fractions, else the nearest private ones."""
        matrix = (found.columns * found.measure.masses[:, None]).T
        if self.privacy.exact and isinstance(source, Listed):
            rays = source.exact_rays(found.columns)
            tops = object_array(Fraction(top).limit_denominator(_SIMPLE) for top in matrix.max(axis=0).tolist())
            table = (rays.T * tops)[:, tops > 0]
            if all(sum(row) == 1 for row in table):
                return common_denominator(table)
        weights = private_weights(matrix / matrix.sum(axis=1, keepdims=True), self.privacy)
        weights = weights[:, weights.any(axis=0)]
        return weights, int(weights[0].sum())

    def _proved(
        self, weights: Array, total: int, outputs: tuple[Any, ...], claim: SharesClaim, measure: ColumnMeasure,
        excess: float,
    ) -> tuple[Mechanism, Fraction, Fraction]:  # fmt: skip
        """The mechanism with its value, and with a bound whose prices lie above every corner."""
        likely = claim.prior.float_weights
        mean, (dual, prices) = self.middle(claim.prior), (measure.dual, measure.prices)
        value = measure.value + float(mean @ mean)
        # with B + Ap pᵀ in the place of B, |B r|² is more by 2 Ap·B r + |Ap|² where p·r = 1
        prices = prices + 2 * mean @ dual + float(mean @ mean) * likely
        dual = dual + np.outer(mean, likely)
        exactly = self._of_kernel(kernel.variance, weights, total, outputs, claim)
        claim = replace(claim, value=_shortened(exactly, ceil))
        for margin in _MARGINS:
            raised = np.nextafter(prices + (excess + margin * value) * likely, inf)
            claim = replace(claim, dual=dual, prices=raised, bound=Fraction(0))
            bound = self._of_kernel(kernel.variance_bound, weights, total, outputs, claim)
            bound = min(_shortened(bound, floor), claim.value)
            claim = replace(claim, bound=bound)
            try:
                made = prove(weights, self.privacy, outputs=outputs, claim=claim, provenance=_PROVENANCE)
                return made, claim.value, bound
            except InvalidChannel:
                if margin == _MARGINS[-1]:
                    raise
        raise AssertionError("the last margin has raised")

    def _of_kernel(self, function: Any, weights: Array, total: int, outputs: Any, claim: SharesClaim) -> Fraction:
        """What the kernel computes of a claim."""
        return Fraction(function(*certificate(self.privacy, outputs, weights, total, claim).interpreted()))

    def _in_floats(self, weights: Array, prior: Prior, priors: tuple[Prior, ...]) -> tuple[Fraction, Fraction]:
        """Value and bound where no list of rays decides; margins for rounding are taken."""
        likely = prior.float_weights
        mean = self.matrix @ likely
        squares = float(mean @ mean)
        value = self._value(weights, prior, priors)
        if not np.isfinite(value):
            raise NotConverged(ALIKE)
        bound = relaxed_bound(self.privacy, likely, self.matrix, self.watch)
        return Fraction(value + (value + squares) * _FLOAT_ERROR), max(Fraction(bound) - Fraction(squares), Fraction(0))


_PROVENANCE = {"made by": "design", "method": "shares"}


def output_names(weights: Array, labels: tuple[Any, ...]) -> tuple[str, ...]:
    """Outputs are called after the secrets that they are likeliest for; those of one name are numbered."""
    names: list[str] = []
    for column in weights.T:
        top = max(column)
        name = " or ".join(
            str(label) for label, weight in zip(labels, column, strict=True) if weight * 1000 >= top * 999
        )
        count = sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(f"{name} ({count + 1})" if count else name)
    return tuple(names)


def _shortened(value: Fraction, rounded: Callable[[Fraction], int]) -> Fraction:
    return value if value.denominator < 1 << _DIGITS else Fraction(rounded(value * (1 << _DIGITS)), 1 << _DIGITS)


# ----------------------------------------------------------------- the worst distribution


def _tangents(table: Floats, wanted: Floats, likely: Floats, priors: tuple[Prior, ...]) -> list[float]:
    """For each prior π_k, what estimates by weights that are right at p have in Σ_y q_y |v_y|² − 2 (Ap)·(Aπ_k)."""
    outputs = likely @ table
    levers = np.linalg.lstsq(information(likely, table), wanted.T, rcond=1e-13)[0]
    spread = table @ (((levers.T @ table) / outputs) ** 2).sum(axis=0) - 2 * wanted.T @ (wanted @ likely)
    return [float(prior.float_weights @ spread) for prior in priors]


def _against_the_worst(task: _Task, priors: tuple[Prior, ...]) -> SharesDesign:
    """The design at the mixture that is least favourable."""
    shares, within = np.full(len(priors), 1 / len(priors)), task.watch.share(_FOR_SEARCH)
    best: tuple[float, Floats] = (inf, shares)

    def fall(logs: Floats) -> tuple[float, Floats]:
        nonlocal best
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        mixed = weighted(priors, shares.tolist())
        likely = mixed.float_weights
        _, found = task.found(mixed, min(task.tolerance, _STEADY), quiet=True)
        table = (found.columns * found.measure.masses[:, None]).T
        slopes = np.array(_tangents(table / table.sum(axis=1, keepdims=True), task.matrix, likely, priors))
        mean, value = task.matrix @ likely, found.measure.value
        above = float(slopes.max()) + float(mean @ mean) - value
        best = min(best, (above / value, shares), key=lambda pair: pair[0])
        return -value, -shares * (slopes - float(shares @ slopes))

    def done() -> bool:
        return within.over or best[0] < task.tolerance / 2

    if len(priors) > 1:
        task.announce("looking for the least favourable distribution")
        descended(fall, np.zeros(len(priors)), _TURNS, done, farthest=1.0)
        shares = best[1]
    counts = tuple(max(round(share * _MIXTURE), 0) for share in shares)
    return task.design(weighted(priors, counts), priors, counts)


_MOST_SECRETS = 60  # Answers of a question; longer lists are no questionnaires, and take long to decide.


class SharesLost(UserWarning):
    """The shares of a population cannot be recovered from answers through a mechanism."""


def lost_shares(mechanism: Mechanism, *, named: bool = False) -> str:
    """A sentence where secrets may be answers of a question and the outputs do not determine their shares; else none.

    Places and the answers of queries are none. With ``named``, only labels that are texts on a line or at one distance
    are answers: a program that hides numbers or words of bits need not hear of shares each time.
    """
    space = mechanism.privacy.space
    on_a_map = space.ground is not None or (space.coordinates is not None and space.coordinates.shape[1] > 1)
    if on_a_map or len(space) > _MOST_SECRETS or not (_has_named_answers(mechanism) if named else not space.answers):
        return ""
    verdict = recoverable(mechanism.channel)
    if verdict.outcome is not Outcome.FAILS:
        return ""
    return (
        "shares of the answers cannot be recovered from this mechanism: "
        f"{verdict.reason}. If you want to estimate them, ask for objective = 'shares', without a loss"
    )


def _has_named_answers(mechanism: Mechanism) -> bool:
    texts = all(isinstance(label, str) for label in mechanism.privacy.space.labels)
    return texts and kind_of_rays(mechanism.privacy) in ("tree", "one distance")


def warn_of_lost_shares(mechanism: Mechanism) -> None:
    """Say so, where shares are lost."""
    sentence = lost_shares(mechanism, named=True)
    if sentence:
        warnings.warn(sentence, SharesLost, stacklevel=3)
