"""How well shares of a population can be estimated from released answers.

N people with secrets of the distribution p answer through a channel M, so that outputs have the distribution q = pM.
Of all unbiased estimates of Ap, A being a workload, those with the least total variance have N times that variance

    tr(A W⁻¹ Aᵀ) − |Ap|²,    W = Σ_y M(·)(y) M(·)(y)ᵀ / q_y,

by weights that are right at p: generalised least squares, and the Cramér–Rao bound. Where W is singular, A W⁻¹ stands
for any B with BW = A; where there is none, the channel does not determine what is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from sfumato.arguments import items
from sfumato.channels.channel import Channel, as_channel, check_secrets
from sfumato.channels.prior import Prior, as_prior, secrets_of
from sfumato.errors import InvalidInput, Mismatch, NotSupported, shown
from sfumato.labels import in_order
from sfumato.numbers import (
    Array,
    Floats,
    array,
    as_written,
    floats,
    fractions,
    from_flint,
    is_exact,
    object_array,
    product,
    to_flint,
)
from sfumato.verdict import Verdict, fails, holds, undecided

LARGEST_EXACT = 60  # Secrets for which an elimination in fractions takes a second or so.
# A direction of W below this part of the largest is one that floats cannot tell from none.
_SINGULAR = 1e-11

NAMES = ("shares", "cumulative", "mean")
"""Workloads that have a name."""


@dataclass(frozen=True, eq=False)
class Workload:
    """What is to be estimated: rows of a matrix over secrets, each a sum of shares.

    ``matrix`` is exact for the workloads that have a name. ``rows`` are labels.
    """

    secrets: tuple[Any, ...]
    rows: tuple[Any, ...]
    matrix: Array
    name: str

    def __repr__(self) -> str:
        return f"Workload({self.name}, {len(self.rows)} × {len(self.secrets)})"


def workload(what: Any, secrets: Any) -> Workload:
    """A workload by name, or any matrix with a column for each secret.

    ``"shares"`` is every share, ``"cumulative"`` the share of each secret and of all before it (without the last, which
    is 1), ``"mean"`` the mean of secrets that are numbers. A mapping from names to rows keeps the names.

    Examples
    --------
    >>> workload("cumulative", ["never", "sometimes", "often"]).matrix.tolist()
    [[1, 0, 0], [1, 1, 0]]
    """
    labels = secrets_of(secrets)
    n = len(labels)
    if isinstance(what, Workload):
        check_secrets("workload and prior", what, Prior.uniform(labels))
        return what
    if what is None or isinstance(what, str):
        return _named("shares" if what is None else what, labels)
    rows: tuple[Any, ...] | None = None
    if hasattr(what, "columns") and hasattr(what, "index"):  # a table with labels, in whatever order
        if set(what.columns) != set(labels):
            raise Mismatch("columns of the workload", labels, tuple(what.columns))
        rows, what = tuple(what.index), what[list(labels)].to_numpy()
    elif isinstance(what, Mapping):
        rows, what = tuple(what), list(what.values())
    given = array(what, "a workload", 2)
    if given.shape[1:] != (n,) or not len(given):
        raise InvalidInput(f"a workload has a column for each of {n} secrets and at least one row, found {given.shape}")
    if not is_exact(given) and not np.isfinite(given).all():
        raise InvalidInput("a workload has finite entries")
    if not given.any():
        raise InvalidInput("a workload that is zero asks for nothing")
    return Workload(labels, tuple(range(len(given))) if rows is None else rows, given, "workload")


def _named(name: str, labels: tuple[Any, ...]) -> Workload:
    if name not in _BY_NAME:
        raise NotSupported(f"the workload {shown(name)}", [*NAMES, "a matrix with a column for each secret"])
    return _BY_NAME[name](labels)


def _every_share(labels: tuple[Any, ...]) -> Workload:
    return Workload(labels, labels, np.eye(len(labels), dtype=np.int64), "shares")


def _cumulative(labels: tuple[Any, ...]) -> Workload:
    n = len(labels)
    if n < 2:
        raise InvalidInput("cumulative shares need at least two secrets")
    return Workload(labels, labels[:-1], np.tril(np.ones((n - 1, n), dtype=np.int64)), "cumulative shares")


_BY_NAME: dict[str, Callable[[tuple[Any, ...]], Workload]] = {
    "shares": _every_share, "cumulative": _cumulative, "mean": lambda labels: mean_workload(labels),
}  # fmt: skip


def named_again(matrix: Any, name: str, secrets: Any) -> Workload:
    """A workload from the numbers and the name in a file: rows that are those of the name have its labels again."""
    plain = workload(matrix, secrets)
    for known in NAMES[:2]:
        same = _named(known, plain.secrets) if len(plain.secrets) > 1 else plain
        if same.name == name and same.matrix.shape == plain.matrix.shape and (same.matrix == plain.matrix).all():
            return same
    return Workload(plain.secrets, plain.rows, plain.matrix, name or plain.name)


def mean_workload(secrets: Any, values: Any = None) -> Workload:
    """The mean of numbers that belong to the secrets: their labels, or the values that are given.

    Examples
    --------
    >>> mean_workload(["no", "a little", "much"], [0, "1/2", 1]).matrix.tolist()
    [[Fraction(0, 1), Fraction(1, 2), Fraction(1, 1)]]
    """
    labels = secrets_of(secrets)
    typed = labels if values is None else tuple(items(in_order(values, labels, "the values of a mean"), "values"))
    if len(typed) != len(labels):
        raise InvalidInput(f"a mean needs a value for each of {len(labels)} secrets, found {len(typed)}")
    numeric = all(isinstance(label, int | float | Fraction) and not isinstance(label, bool) for label in labels)
    if values is None and not numeric:
        raise InvalidInput("the mean of secrets that are no numbers needs values: mean_workload(secrets, values)")
    row = object_array(as_written(value, "the value of a secret") for value in typed)
    if not row.any():
        raise InvalidInput("a workload that is zero asks for nothing")
    return Workload(labels, ("mean",), row[None, :], "mean")


def share_variance(prior: Prior, channel: Channel | Any, what: Any = None) -> Any:
    """N times the least total variance of unbiased estimates, by weights that are right at the prior.

    Infinite where the channel does not determine the workload. A fraction where prior, channel and workload are exact
    and have at most 60 secrets.

    Examples
    --------
    >>> response = Channel(["no", "yes"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> share_variance(Prior.uniform(["no", "yes"]), response)
    Fraction(2, 1)
    """
    prior, channel = as_prior(prior), as_channel(channel)
    check_secrets("prior and channel", prior, channel)
    asked = workload(what, channel.secrets)
    exactly = prior.exact and channel.exact and is_exact(asked.matrix) and len(channel.secrets) <= LARGEST_EXACT
    if exactly:
        return _exactly(prior, channel, asked)
    return variance_beside_mean(prior.float_weights, floats(channel.matrix), floats(asked.matrix))


def recoverable(channel: Channel | Any, what: Any = None) -> Verdict:
    """Whether the distribution of outputs determines what a workload asks of the distribution of secrets.

    It fails with two distributions of secrets that differ in it and give the same outputs. Channels of more than 60
    secrets, or of floats, are looked at up to rounding, and may be undecided.

    Examples
    --------
    >>> merged = Channel(["a", "b", "c"], [[1, 0], ["1/2", "1/2"], [0, 1]], outputs=[0, 1])
    >>> print(recoverable(merged))
    fails: different shares give the same outputs, 2 for 3 secrets
    >>> print(recoverable(merged, [[0, "1/2", 1]]).outcome)
    holds
    """
    channel = as_channel(channel)
    asked = workload(what, channel.secrets)
    counted = f"{len(channel.outputs)} for {len(channel.secrets)} secrets"
    if channel.exact and is_exact(asked.matrix) and len(channel.secrets) <= LARGEST_EXACT:
        lost = [v for v in _null(channel) if product(fractions(asked.matrix), v[:, None]).any()]
        if not lost:
            return holds("the rows of the channel determine them")
        return fails(f"different {asked.name} give the same outputs, {counted}", _two_distributions(lost[0], channel))
    left, values, _ = np.linalg.svd(floats(channel.matrix))
    values = np.concatenate([values, np.zeros(len(left) - len(values))])
    seen = np.abs(floats(asked.matrix) @ left).max(axis=0) > _SINGULAR
    if not (seen & (values <= _SINGULAR * values[0])).any():
        return holds("the rows of the channel determine them")
    if len(channel.outputs) < len(channel.secrets) and asked.name == "shares":
        return fails(f"different {asked.name} give the same outputs, {counted}")
    return undecided("the channel is singular up to the rounding of floats")


def _null(channel: Channel) -> list[Array]:
    """Vectors v with v M = 0: a basis, by the free columns of an elimination."""
    rows, pivots = _eliminated(fractions(channel.matrix).T)
    basis = []
    for free in sorted(set(range(len(channel.secrets))) - set(pivots)):
        vector = object_array([Fraction(0)] * len(channel.secrets))
        vector[free] = Fraction(1)
        vector[pivots] = -rows[:, free]
        basis.append(vector)
    return basis


def _eliminated(matrix: Array) -> tuple[Array, list[int]]:
    """The rows that an elimination leaves, and where each of them begins."""
    reduced, rank = to_flint(matrix).rref()
    rows = from_flint(reduced)[:rank]
    return rows, [int(np.flatnonzero(row)[0]) for row in rows]


def _two_distributions(direction: Array, channel: Channel) -> tuple[Prior, Prior]:
    """The uniform distribution moved both ways along a direction whose entries sum to 0."""
    n = len(direction)
    step = direction / (n * max(abs(v) for v in direction))
    uniform = object_array([Fraction(1, n)] * n)
    return Prior(channel.secrets, uniform + step), Prior(channel.secrets, uniform - step)


def information(weights: Array, matrix: Array) -> Array:
    """W = Σ_y M(·)(y) M(·)(y)ᵀ / q_y for weights of secrets and the matrix of a channel, outputs that never occur left
    out.
    """
    shares = product(weights[None, :], matrix)[0]
    used = shares > 0
    return product(matrix[:, used] / shares[used], matrix[:, used].T)


def variance_beside_mean(weights: Floats, matrix: Floats, wanted: Floats) -> float:
    """tr(A W⁻¹ Aᵀ) − |Ap|² in floats, for rows that hardly differ too; infinite where A asks for more than W has.

    With columns r, p·r = 1, W = 1·1ᵀ + V where V = Σ q (r − 1)(r − 1)ᵀ, which may be smaller by any power of ten; so
    that V is not rounded away, σ·1·1ᵀ of its own size stands beside it. Since V p = 0, its inverse is that of W with
    |Ap|²/σ in the place of |Ap|².
    """
    shares = weights @ matrix
    used = shares > 0
    apart = matrix[:, used] / shares[used] - 1
    inside, mean = (apart * shares[used]) @ apart.T, wanted @ weights
    size = float(np.trace(inside)) / len(weights) or 1.0
    return float_variance(inside + size, wanted) - float(mean @ mean) / size


def _exactly(prior: Prior, channel: Channel, asked: Workload) -> Fraction | float:
    weights, wanted = fractions(prior.weights), fractions(asked.matrix)
    n, mean = len(weights), product(wanted, weights[:, None])[:, 0]
    inside = information(weights, fractions(channel.matrix))
    rows, pivots = _eliminated(np.hstack([inside, wanted.T]))
    if pivots[-1] >= n:
        return inf
    # X of WX = Aᵀ is zero but in the pivots, and tr(AX) is wanted
    spread = sum((wanted[:, pivot] * row[n:]).sum() for pivot, row in zip(pivots, rows, strict=True))
    return Fraction(spread - (mean * mean).sum())


def float_variance(inside: Floats, wanted: Floats) -> float:
    """tr(A W⁻¹ Aᵀ) in floats; infinite where A asks for more than W has."""
    values, axes = np.linalg.eigh(inside)
    parts = (wanted @ axes) ** 2
    kept = values > _SINGULAR * values[-1]
    # the rows of a workload that floats have rounded lie off the range of W by as little
    if parts[:, ~kept].sum() > _SINGULAR * parts.sum():
        return inf
    return float((parts[:, kept] / values[kept]).sum())
