"""The best private mechanism for a prior and a loss, with a proof that it is private and nearly the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from time import perf_counter
from typing import Any

from sfumato.certify.certificate import Certificate, certificate_of
from sfumato.certify.mechanism import Mechanism
from sfumato.channels.prior import Prior
from sfumato.design.certified import certified
from sfumato.design.problem import Problem, problem
from sfumato.design.solvers import SOLVERS, Answer
from sfumato.errors import InvalidInput, NotSupported
from sfumato.losses.loss import Loss
from sfumato.privacy.type import PrivacyType

__all__ = ["Design", "design"]

_EXACT_VARIABLES = 100  # up to which rationals take a second at most
_ROUNDS = 3  # tries with a tighter tolerance when repair eats the gap up


@dataclass(frozen=True, eq=False)
class Design:
    """A mechanism, the loss it has, and a bound below which no mechanism of the type can go; all proved.

    ``remap`` is the best action for each output, ``seconds`` the time of each stage.
    """

    mechanism: Mechanism
    loss: Fraction
    bound: Fraction
    method: str
    iterations: int
    seconds: dict[str, float]

    @property
    def gap(self) -> float:
        """(loss − bound) / |loss|: how far from the optimum at most; 0 for an exact one."""
        return float((self.loss - self.bound) / abs(self.loss)) if self.loss else float(self.loss - self.bound)

    @property
    def remap(self) -> dict[Any, Any]:
        """The best action for each output."""
        assert self.mechanism.claim is not None
        actions = self.mechanism.claim.loss.actions
        return {y: actions[w] for y, w in zip(self.mechanism.outputs, self.mechanism.claim.remap, strict=True)}

    @property
    def certificate(self) -> Certificate:
        """What :func:`sfumato.save` writes: weights, promise, loss and bound."""
        return certificate_of(self.mechanism)

    def __repr__(self) -> str:
        return (
            f"Design(loss {float(self.loss):.6g}, bound {float(self.bound):.6g}, gap {self.gap:.1e}, {self.method}, "
            f"{self.mechanism!r})"
        )


def design(
    prior: Prior,
    loss: Loss,
    privacy: PrivacyType,
    *,
    outputs: Iterable[Any] | None = None,
    tolerance: float = 1e-4,
    time_limit: float | None = None,
    solver: str = "auto",
    progress: Callable[[Any], object] | None = None,
) -> Design:
    """The mechanism of least expected loss in a privacy type.

    Minimise Σ_xy π_x M(x)(y) ℓ(y, x) over all M with M(x)(y) ≤ e^{εd(x, x′)} M(x′)(y): outputs are actions, which loses
    nothing, because a remap is post-processing.

    Parameters
    ----------
    outputs
        Some of the actions of the loss; all of them by default.
    tolerance
        The relative gap between loss and bound to be reached. Exact problems of small size get 0.
    time_limit
        Seconds after which the best mechanism so far is repaired and proved. Ctrl-C does the same.
    solver
        ``"auto"``, ``"exact"``, ``"highs"`` or ``"blocks"``.
    progress
        Called with the state of the solver after each iteration.

    Examples
    --------
    >>> from sfumato.losses import absolute
    >>> from sfumato.spaces import line
    >>> space = line(3)
    >>> best = design(Prior.uniform(space), absolute(space), PrivacyType(space, alpha="1/2"))
    >>> best.loss, best.gap
    (Fraction(5, 9), 0.0)
    """
    if not tolerance > 0:
        raise InvalidInput(f"the tolerance is a positive relative gap, found {tolerance}")
    if solver != "auto" and solver not in SOLVERS:
        raise NotSupported(f"solver {solver!r}", ["auto", *SOLVERS])
    started = perf_counter()
    asked = problem(prior, loss, privacy, outputs)
    name = _choice(asked) if solver == "auto" else solver
    target = tolerance / 10  # a closer answer has fewer multipliers worth keeping, and leaves room for rounding
    for _ in range(_ROUNDS):
        left = None if time_limit is None else max(time_limit - (perf_counter() - started), 1e-3)
        answer = _solved(asked, name, target, progress, left)
        made = _design(asked, answer, tolerance, started)
        over = time_limit is not None and perf_counter() - started > time_limit
        if made.gap <= tolerance or not answer.finished or name != "blocks" or over:
            break
        target /= 20
    return made


def _choice(asked: Problem) -> str:
    """Rationals where they are quick, else blocks."""
    n, m = asked.shape
    return "exact" if asked.exact and n * m <= _EXACT_VARIABLES else "blocks"


def _solved(asked: Problem, name: str, target: float, progress: Any, time_limit: float | None) -> Answer:
    if name == "blocks":
        return SOLVERS["blocks"](asked, target, progress, time_limit)  # type: ignore[call-arg]
    return SOLVERS[name](asked, target, progress)


def _design(asked: Problem, answer: Answer, tolerance: float, started: float) -> Design:
    solved = perf_counter()
    provenance = {"made by": "design", "method": answer.method}
    mechanism = certified(asked, answer, tolerance, provenance)
    proof = mechanism.proof
    assert proof.loss is not None and proof.bound is not None
    seconds = {"solve": answer.seconds, "certify": perf_counter() - solved, "total": perf_counter() - started}
    return Design(mechanism, proof.loss, proof.bound, answer.method, answer.iterations, seconds)
