"""The likeliest frequencies of secrets, with a proof of how likely they are at most.

The log-likelihood of frequencies π, for each released row, is

    L(π) = Σ_y w_y ln (πM)_y,   w_y the share of the rows that have output y,

a concave function. Its gradient g_x = Σ_y w_y M_xy / (πM)_y has π·g = 1, so for every other prior ρ

    L(ρ) − L(π) ≤ (ρ − π)·g = ρ·g − 1 ≤ max_x g_x − 1.

The right-hand side is the *gap*: nobody can be more than that likelier. It is computed in floats with an allowance for
rounding, and reported.

One step of the iterative Bayesian update (expectation–maximisation) is π_x ← π_x g_x: the average posterior of the
rows, taken for the prior of the next step. It never makes the likelihood smaller. It is slow near the maximum, so that
:func:`maximum_likelihood` extrapolates (squared steps, as in SQUAREM by Varadhan and Roland 2008) or takes Newton steps
inside the simplex (a primal–dual interior-point method, for any number of secrets whose Hessian fits).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.linalg import LinAlgError, blas, cho_factor, cho_solve

from sfumato.arguments import integer, one_of, optional_function, positive
from sfumato.channels.channel import Channel, as_channel, check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import InvalidInput, NotConverged
from sfumato.numbers import Floats, floats, text_above, told_apart
from sfumato.release.estimation.counts import counted_rows, refuse_impossible

_LARGEST_NEWTON = 4000  # secrets; the Hessian then takes 128 MB and a step some ten seconds
_FIRST_UPDATES = 5  # Bayesian updates before Newton steps
_MOST_UPDATES = 100_000
_BOUNDARY = 0.995  # the part of the way to the boundary that a Newton step may go


@dataclass(frozen=True, eq=False)
class Likeliest:
    """Frequencies of secrets and how likely they are.

    ``log_likelihood`` is that of one row, in nats; no prior has one above ``log_likelihood + gap``. ``deviance`` is
    twice the logarithm of how much likelier the rows would be if outputs had exactly the observed frequencies; the true
    frequencies have a deviance near the number of outputs that occur.
    """

    prior: Prior
    log_likelihood: float
    gap: float
    deviance: float
    steps: int
    method: str
    path: tuple[float, ...] = field(default=(), repr=False)
    """The log-likelihoods on the way, one for each step."""


_MOST_STEPS = 10**8  # of a climb, each a pass over the channel


@dataclass(frozen=True, eq=False)
class _LikelihoodTask:
    """The columns of outputs that were seen, and their shares."""

    secrets: tuple[Any, ...]
    matrix: Floats
    shares: Floats
    rows: int

    def at(self, weights: Floats) -> tuple[float, Floats]:
        """L and its gradient at weights, which are taken as divided by their sum."""
        total = weights.sum()
        fitted = (weights @ self.matrix) / total
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.shares / fitted
        return float(self.shares @ np.log(fitted)), self.matrix @ ratio

    def gap(self, gradient: Floats) -> float:
        """max g − 1, with what rounding may have hidden: each g_x is a double sum of n·m positive terms."""
        allowance = (sum(self.matrix.shape) + 32) * 2.0**-52
        return float(gradient.max() * (1 + allowance) - 1 + allowance)

    def result(self, weights: Floats, steps: int, method: str, path: list[float]) -> Likeliest:
        weights = np.maximum(weights, 0.0)
        weights = weights / weights.sum()
        value, gradient = self.at(weights)
        best = float(self.shares @ np.log(self.shares))
        deviance = max(0.0, 2 * self.rows * (best - value))
        return Likeliest(
            Prior(self.secrets, weights), value, max(self.gap(gradient), 0.0), deviance, steps, method, tuple(path)
        )


def iterative_bayesian_update(
    channel: Channel | Any, released: Any, *, start: Prior | None = None, steps: int | None = None
) -> Likeliest:
    """The iterative Bayesian update: the average posterior of the rows becomes the next prior.

    Parameters
    ----------
    channel
        The channel, or the mechanism, by which the rows were released.
    released
        The outputs: see :func:`~sfumato.release.estimation.counts.output_counts`.
    start
        The first prior, uniform by default. A secret that has probability 0 keeps it.
    steps
        How many updates. By default they go on until the deviance is down to the number of outputs that occur less 1,
        what the true frequencies would have on average: closer fits follow the noise. That is a rule of thumb (the
        discrepancy principle), not a theorem; on channels that blur much it is far better than the maximum.

    Examples
    --------
    >>> response = Channel(["no", "yes"], [["3/4", "1/4"], ["1/4", "3/4"]], outputs=["no", "yes"])
    >>> likeliest = iterative_bayesian_update(response, {"no": 60, "yes": 40}, steps=100)
    >>> [round(float(w), 6) for w in likeliest.prior.weights], likeliest.gap < 1e-9
    ([0.7, 0.3], True)
    """
    task = _task(channel, released)
    if steps is not None:
        steps = integer(steps, "steps, the number of updates,", 0, _MOST_STEPS)
    weights = _first(task, start)
    best = float(task.shares @ np.log(task.shares))
    enough = max(len(task.shares) - 1, 1) / (2 * task.rows)
    path: list[float] = []
    while True:
        value, gradient = task.at(weights)
        path.append(value)
        # a channel that cannot fit the outputs ends near its maximum instead
        fits = best - value <= enough or task.gap(gradient) <= enough / 20 or len(path) > _MOST_UPDATES
        if fits if steps is None else len(path) > steps:
            return task.result(weights, len(path) - 1, "iterative Bayesian update", path)
        weights = weights * gradient


def maximum_likelihood(
    channel: Channel | Any,
    released: Any,
    *,
    tolerance: float = 1e-8,
    method: Literal["auto", "newton", "squared"] = "auto",
    start: Prior | None = None,
    most_steps: int = 20_000,
    progress: Callable[[str], None] | None = None,
) -> Likeliest:
    """The frequencies of secrets under which the released rows are likeliest, to a certified gap.

    If the unbiased estimate (:func:`~sfumato.release.estimation.estimates.frequencies`) of a square channel is not
    negative, it is this one. Where the channel blurs much, the maximum follows the noise and sits on few secrets; the
    :func:`iterative_bayesian_update`, stopped early, is then the better picture.

    Parameters
    ----------
    tolerance
        The gap to be reached, in the log-likelihood of one row: the likelihood of all N rows is within a factor
        e^{N·gap} of the largest.
    method
        ``"newton"`` (a few dozen steps, each of n³ operations), ``"squared"`` (extrapolated Bayesian updates, each of
        n·m operations), ``"auto"``: the first up to 4,000 secrets.
    start
        The first prior, uniform by default. Secrets that have probability 0 in it keep it, and unless the maximum does
        without them the gap stays open.
    progress
        Called with a line for each step of Newton's method, and for every hundredth squared step.

    Raises
    ------
    NotConverged
        If the gap is not reached; ``best`` is the best :class:`Likeliest` so far.
    """
    task = _task(channel, released)
    tolerance, progress = positive(tolerance, "the tolerance"), optional_function(progress, "progress")
    most_steps = integer(most_steps, "most_steps", 1, _MOST_STEPS)
    one_of(method, ("auto", "newton", "squared"), "method")
    weights = _first(task, start)
    newton = method == "newton" or (method == "auto" and len(task.secrets) <= _LARGEST_NEWTON)
    climb = _newton if newton else _squared
    climbed = climb(task, weights, tolerance, most_steps, progress or (lambda _line: None))
    if climbed.gap > tolerance:
        gap, wanted = told_apart(climbed.gap, tolerance, 3)
        raise NotConverged(f"the gap is {gap} after {climbed.steps} steps, not {wanted}", climbed, climbed.gap)
    return climbed


def _task(channel: Channel | Any, released: Any) -> _LikelihoodTask:
    channel = as_channel(channel)
    counted, matrix = counted_rows(channel, released), floats(channel.matrix)
    refuse_impossible(channel.outputs, matrix, counted.totals)
    seen = counted.totals > 0
    shares = counted.totals[seen] / counted.total
    return _LikelihoodTask(channel.secrets, np.ascontiguousarray(matrix[:, seen]), shares, counted.rows)


def _first(task: _LikelihoodTask, start: Prior | None) -> Floats:
    if start is None:
        return np.full(len(task.secrets), 1 / len(task.secrets))
    check_secrets("channel and start", task, as_prior(start))
    weights = np.array(start.float_weights)
    if not ((weights @ task.matrix) > 0).all():
        raise InvalidInput("the first prior excludes an output that was released: give all secrets that may have it")
    return weights


def _squared(
    task: _LikelihoodTask, weights: Floats, tolerance: float, most: int, progress: Callable[[str], None]
) -> Likeliest:
    """Two updates π → π′ → π″ give a direction r = π′ − π and its change v; π + 2ar + a²v goes farther at once."""
    value, gradient = task.at(weights)
    path, longest = [value], 4.0
    while task.gap(gradient) > tolerance and len(path) <= most:
        once = weights * gradient
        value_once, gradient_once = task.at(once)
        twice = once * gradient_once
        way, change = once - weights, twice - 2 * once + weights
        bend = float(np.linalg.norm(change))
        length = min(max(float(np.linalg.norm(way)) / bend, 1.0), longest) if bend > 0 else 1.0
        far = weights + 2 * length * way + length**2 * change
        far = np.maximum(far, 2.0**-20 * twice)  # a secret that vanished could never come back
        far /= far.sum()
        value_far, gradient_far = task.at(far)
        if value_far >= value_once:
            weights, value, gradient = far, value_far, gradient_far
            longest = 4 * longest if length == longest else longest
        else:  # too far: the two updates alone never lose
            weights = twice / twice.sum()
            value, gradient = task.at(weights)
            longest = max(4.0, longest / 4)
        path.append(value)
        if len(path) % 100 == 0:
            progress(f"step {len(path)}, gap {text_above(task.gap(gradient))}")
    return task.result(weights, len(path) - 1, "squared Bayesian updates", path)


def _newton(
    task: _LikelihoodTask, weights: Floats, tolerance: float, most: int, progress: Callable[[str], None]
) -> Likeliest:
    """Primal–dual steps for min Σ_x p_x − L(p) over p ≥ 0, whose minimum has Σ p = 1.

    The conditions 1 − g − z = 0 and p_x z_x = μ → 0 are made linear; the Hessian of −L is M diag(w/q²) Mᵀ.
    """
    for _ in range(_FIRST_UPDATES):
        weights = weights * task.at(weights)[1]
    # secrets that the start excludes stay out of it; all others begin inside
    point = np.where(weights > 0, np.maximum(weights, 1e-6 / len(weights)), 0.0)
    inside = point > 0
    matrix, point = task.matrix[inside], point[inside] / point.sum()
    prices = np.maximum(1 - matrix @ (task.shares / (point @ matrix)), 0.0) + 0.1
    path: list[float] = []
    best: tuple[float, Floats] = (np.inf, point)
    for step in range(min(most, 200)):
        fitted = point @ matrix
        gradient = matrix @ (task.shares / fitted)
        everywhere = np.zeros(len(inside))
        everywhere[inside] = point
        value, full = task.at(everywhere)
        gap = task.gap(full)
        best = min(best, (gap, everywhere), key=lambda pair: pair[0])
        path.append(value)
        progress(f"step {step}, gap {text_above(gap)}")
        # without the secrets that the start excludes, nothing more can be done
        if gap <= tolerance or task.gap(gradient) <= tolerance / 2:
            break
        moved = _newton_step(matrix * (np.sqrt(task.shares) / fitted), gradient, point, prices)
        if moved is None:
            break
        point, prices = moved
    return task.result(best[1], len(path) - 1, "Newton", path)


def _newton_step(half: Floats, gradient: Floats, point: Floats, prices: Floats) -> tuple[Floats, Floats] | None:
    """One predictor–corrector step; ``half`` times its transpose is the Hessian. None if that has lost definiteness."""
    hessian = blas.dsyrk(1.0, half.T, trans=1, lower=1)
    hessian[np.diag_indices(len(point))] += prices / point
    try:
        factor = cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None

    def direction(target: Any) -> tuple[Floats, Floats]:
        move = cho_solve(factor, gradient - 1 + target / point, check_finite=False)
        return move, (target - prices * move) / point - prices

    mean = float(point @ prices) / len(point)
    if not mean:  # the gap is closed as far as floats can tell
        return None
    move, change = direction(0.0)
    reach, reach_prices = _room(point, move), _room(prices, change)
    ahead = float((point + reach * move) @ (prices + reach_prices * change)) / len(point)
    move, change = direction((ahead / mean) ** 3 * mean - move * change)
    reach, reach_prices = _BOUNDARY * _room(point, move), _BOUNDARY * _room(prices, change)
    return point + min(1.0, reach) * move, prices + min(1.0, reach_prices) * change


def _room(values: Floats, move: Floats) -> float:
    """How much of a step keeps all values non-negative, at most all of it."""
    down = move < 0
    return float(min(1.0, (-values[down] / move[down]).min())) if down.any() else 1.0
