"""Expected loss on an interval by quadrature, with the best remap and an estimate of the error.

    $(π, K, ℓ) = Σ_y min_w ∫ ℓ(w, x) π(x) K(x)(y) dx  over outputs that have a probability,
               + ∫ min_w ∫ ℓ(w, x) π(x) K(x)(y) dx dy over those that have a density   (B, Definition 2).

The inner integral is cut wherever something is not smooth: at panels of the density, jumps of the mechanism, at
y, and where ℓ(w, ·) has a kink. Gauss and Legendre integrate each piece. The best action is looked for among
equally spaced ones and then by golden section around the best of those. The outer integral is adaptive Gauss and
Kronrod, which halves panels until a jump of the best action no longer matters. All of it runs on arrays, one row
an output.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import positive
from sfumato.channels.channel import Channel, check_secrets
from sfumato.channels.prior import Prior
from sfumato.errors import InvalidInput, Mismatch, expect, shown
from sfumato.mechanisms.continuous.density import Density, as_density, gauss
from sfumato.mechanisms.continuous.loss import IntervalLoss
from sfumato.mechanisms.continuous.pixelation import IntervalMechanism, as_interval_mechanism
from sfumato.numbers import Floats, floats
from sfumato.spaces.box import Box

_INNER, _FINER = 16, 24  # nodes of a piece: the second set tells the error of the first
_GRID = 33  # actions tried before golden section
_GOLDEN = (5**0.5 - 1) / 2
_SECTIONS = 42  # 2/32 · 0.618^42 of the interval, 1e-10: a smooth minimum is then good to its square
_MOST_GENERATIONS = 40
_MOST_PANELS = 20_000
_CHUNK = 1 << 21  # numbers in one array, 16 MiB

# Kronrod's 15 nodes, every second one of Gauss: the right half of those of [−1, 1], and their weights.
_KRONROD_NODES = (
    0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926,
    0.741531185599394439863864773280788, 0.586087235467691130294144691693013, 0.405845151377397166906606412076961,
    0.207784955007898467600689403773245, 0.0,
)  # fmt: skip
_KRONROD_WEIGHTS = (
    0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518,
    0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
    0.204432940075298892414161999234649, 0.209482141084727828012999174891714,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Estimate:
    """An expected loss: its value, an estimate of the error, and the remap it was found with.

    ``remap[k]`` is the best action found for ``outputs[k]``, first for the outputs that have a probability, then
    for those that quadrature looked at. Any remap is an admissible strategy: apart from quadrature, the value is
    an upper bound of the least loss.
    """

    value: float
    error: float
    outputs: tuple[Any, ...]
    remap: Floats

    def __repr__(self) -> str:
        return f"Estimate({self.value:.10g} ± {self.error:.1g})"


def posterior_loss(prior: Any, mechanism: Any, loss: IntervalLoss, *, tolerance: float = 1e-9) -> Estimate:
    """$(π, K, ℓ): the expected loss of a consumer who acts best on each output.

    Parameters
    ----------
    prior
        A :class:`Density` (or a function, or a scipy distribution), or a :class:`sfumato.Prior` whose labels are
        numbers of the interval.
    mechanism
        A mechanism on the interval: ``truncated_laplace``, ``laplace``, ``pixelate``, ``stepped``. For a finite
        prior also a channel with the same secrets.
    loss
        ℓ(w, x); its actions are the interval, or a finite list.
    tolerance
        Aim of the outer quadrature, relative to the value.

    Examples
    --------
    >>> from sfumato.mechanisms.continuous import Density, absolute_error, truncated_laplace
    >>> posterior_loss(Density.uniform(), truncated_laplace(1), absolute_error()).value     # doctest: +ELLIPSIS
    0.23783...
    """
    loss = expect(loss, IntervalLoss, "a loss on an interval", "absolute_error() is one")
    if not 1e-14 <= positive(tolerance, "the tolerance") < 1:
        raise InvalidInput(f"the tolerance is a number between 1e-14 and 1, found {shown(tolerance)}")
    if isinstance(mechanism, Channel):
        return _finite_loss(prior, mechanism, loss)
    mechanism = as_interval_mechanism(mechanism)
    _same_interval(mechanism.interval, loss.interval, "the loss")
    source = _finite_inner(prior, mechanism) if isinstance(prior, Prior) else _dense_inner(prior, mechanism, loss)
    inner = _Inner(source, loss, mechanism.interval)
    parts = []
    if mechanism.outputs:
        parts.append(_over_atoms(inner, mechanism))
    if hasattr(mechanism, "density"):
        parts.append(_over_density(inner, mechanism, _outer_edges(prior, mechanism), tolerance))
    value, error = sum(p.value for p in parts), sum(p.error for p in parts)
    if isinstance(source, _DenseNodes):
        error += source.density.error * abs(value)
    outputs = tuple(y for p in parts for y in p.outputs)
    return Estimate(float(value), float(error), outputs, np.concatenate([p.remap for p in parts]))


@dataclass(frozen=True, eq=False)
class _DenseNodes:
    """Quadrature nodes for secrets with a density: panels in which all but y and the kinks of ℓ is smooth."""

    density: Density
    edges: Floats
    offsets: tuple[float, ...]

    def fixed(self, count: int) -> tuple[Floats, Floats]:
        """Nodes x and weights π(x)dx of all panels."""
        place, share = gauss(count)
        width = np.diff(self.edges)[:, None]
        x = self.edges[:-1, None] + width * place
        return x.ravel(), (self.density(x) * width * share).ravel()

    def cuts(self, y: Floats | None, w: Floats) -> Floats:
        """Where panels are to be cut, sorted, one row an output."""
        columns = [w + o for o in self.offsets] + ([] if y is None else [y])
        table = np.stack(columns, axis=1) if columns else np.empty((len(w), 0))
        return np.sort(np.clip(table, *self.density.interval.ends), axis=1)

    def pieces(self, cuts: Floats, count: int) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Nodes and weights of what the cuts make of the panels they hit, and the panels they leave alone."""
        panel = np.clip(np.searchsorted(self.edges, cuts, side="right") - 1, 0, len(self.edges) - 2)
        before = np.pad(cuts[:, :-1], ((0, 0), (1, 0)), constant_values=-np.inf)
        last = np.pad(panel[:, 1:] != panel[:, :-1], ((0, 0), (0, 1)), constant_values=True)
        left = np.concatenate([np.maximum(self.edges[panel], before), cuts], axis=1)
        # what lies right of a cut, up to the end of the panel, belongs to the last cut of that panel
        right = np.concatenate([cuts, np.where(last, self.edges[panel + 1], cuts)], axis=1)
        place, share = gauss(count)
        width = (right - left)[:, :, None]
        x = left[:, :, None] + width * place
        # an empty piece counts for nothing, but it may lie on a pole of the density
        x = np.where(width > 0, x, sum(self.density.interval.ends) / 2)
        whole = np.ones((len(cuts), len(self.edges) - 1), dtype=np.bool_)
        np.put_along_axis(whole, panel, False, axis=1)
        return x.reshape(len(cuts), -1), (width * share * self.density(x)).reshape(len(cuts), -1), whole


@dataclass(frozen=True, eq=False)
class _FiniteNodes:
    """Secrets with probabilities: the sum is exact up to rounding."""

    points: Floats
    weights: Floats

    def fixed(self, count: int) -> tuple[Floats, Floats]:
        """The points and their probabilities, however fine the quadrature."""
        return self.points, self.weights

    def nearest(self, w: Floats) -> Floats:
        """The secret nearest to each action."""
        return np.asarray(self.points[np.abs(w[:, None] - self.points).argmin(axis=1)])


Likelihood = Callable[[Floats, slice], Floats]


@dataclass(frozen=True, eq=False)
class _Inner:
    """min_w ∫ ℓ(w, x) π(x) K(x)(y) dx for many outputs at once."""

    source: _DenseNodes | _FiniteNodes
    loss: IntervalLoss
    interval: Box

    def least(self, likelihood: Likelihood, y: Floats | None, count: int) -> _Least:
        """The least cost of each of ``count`` outputs, in chunks that fit into memory."""
        rows = max(1, _CHUNK // len(self.source.fixed(_FINER)[0]))
        losses = []
        for start in range(0, count, rows):
            part = slice(start, min(start + rows, count))
            at = None if y is None else y[part]
            coarse, fine = (self._cost(likelihood, at, part, nodes) for nodes in (_INNER, _FINER))
            action, slack = self._best(coarse, part.stop - part.start)
            value = fine(action)
            losses.append((value, np.abs(value - coarse(action)) + slack, action))
        return _Least(*(np.concatenate(columns) for columns in zip(*losses, strict=True)))

    def _cost(self, likelihood: Likelihood, y: Floats | None, part: slice, count: int) -> Callable[[Floats], Floats]:
        """The cost of an action for each output; what does not depend on the action is evaluated once."""
        points, weights = self.source.fixed(count)
        rows = part.stop - part.start
        shared = likelihood(np.broadcast_to(points, (rows, len(points))), part) * weights

        def cost(w: Floats) -> Floats:
            terms = shared * self.loss(w[:, None], points)
            cuts = self.source.cuts(y, w) if isinstance(self.source, _DenseNodes) else np.empty((rows, 0))
            if not cuts.shape[1] or not isinstance(self.source, _DenseNodes):
                return np.asarray(terms.sum(axis=1))
            x, share, whole = self.source.pieces(cuts, count)
            kept = (terms.reshape(rows, -1, count).sum(axis=2) * whole).sum(axis=1)
            return np.asarray(kept + (share * likelihood(x, part) * self.loss(w[:, None], x)).sum(axis=1))

        return cost

    def _best(self, cost: Callable[[Floats], Floats], size: int) -> tuple[Floats, Floats]:
        """The best action found for each output, and by how much the search may have missed."""
        low, high = self.interval.ends
        finite = self.loss.actions
        grid = np.linspace(low, high, _GRID) if finite is None else finite
        costs = np.stack([cost(np.full(size, w)) for w in grid])
        best, least = grid[np.argmin(costs, axis=0)], costs.min(axis=0)
        if finite is not None:
            return np.asarray(best), np.zeros(size)
        step = (high - low) / (_GRID - 1)
        section, value, slack = _golden_section(cost, np.maximum(best - step, low), np.minimum(best + step, high))
        best, least = np.where(value <= least, section, best), np.minimum(value, least)
        if isinstance(self.source, _FiniteNodes):
            # a cost with kinks, such as the mean of |w − x|, is least at a secret: exactly there, not near it
            snapped = self.source.nearest(best)
            there = cost(snapped)
            slack = np.where(there <= least, 0.0, slack)
            best = np.where(there <= least, snapped, best)
        return best, slack


@dataclass(frozen=True, eq=False)
class _Least:
    """Least costs, the error of their quadrature, and the actions that attain them."""

    value: Floats
    error: Floats
    action: Floats


def _golden_section(cost: Callable[[Floats], Floats], left: Floats, right: Floats) -> tuple[Floats, Floats, Floats]:
    """A minimum between left and right for all outputs at once, its value, and what the last bracket leaves open.

    One new value a step. A convex cost cannot lie further below the value than an end of the bracket lies above it.
    """
    inner_left, inner_right = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
    at_left, at_right = cost(inner_left), cost(inner_right)
    for _ in range(_SECTIONS):
        lower = at_left <= at_right
        left, right = np.where(lower, left, inner_left), np.where(lower, inner_right, right)
        point = np.where(lower, right - _GOLDEN * (right - left), left + _GOLDEN * (right - left))
        value = cost(point)
        inner_left, inner_right = np.where(lower, point, inner_right), np.where(lower, inner_left, point)
        at_left, at_right = np.where(lower, value, at_right), np.where(lower, at_left, value)
    least = np.minimum(at_left, at_right)
    slack = np.maximum(np.maximum(cost(left), cost(right)) - least, 0.0)
    return np.where(at_left <= at_right, inner_left, inner_right), least, slack


def _dense_inner(prior: Any, mechanism: IntervalMechanism, loss: IntervalLoss) -> _DenseNodes:
    density = as_density(prior, mechanism.interval)
    _same_interval(mechanism.interval, density.interval, "the prior")
    breaks = np.unique(np.concatenate([density.edges, mechanism.jumps, loss.breaks]))
    return _DenseNodes(density, breaks, loss.offsets)


def _finite_inner(prior: Prior, mechanism: IntervalMechanism) -> _FiniteNodes:
    low, high = mechanism.interval.ends
    points = _numbers_of(prior)
    if points.min() < low or points.max() > high:
        raise Mismatch("the secrets of a prior", (low, high), prior.secrets, f"not all lie in {mechanism.interval}")
    keep = prior.float_weights > 0
    return _FiniteNodes(points[keep], prior.float_weights[keep])


def _numbers_of(prior: Prior) -> Floats:
    try:
        return np.array([float(s) for s in prior.secrets])
    except (TypeError, ValueError) as error:
        raise InvalidInput("the secrets of a prior on an interval must be numbers") from error


def _same_interval(expected: Box, other: Box, what: str) -> None:
    if expected != other:
        raise InvalidInput(f"the mechanism lives on {expected}, {what} on {other}")


def _finite_loss(prior: Any, channel: Channel, loss: IntervalLoss) -> Estimate:
    prior = expect(prior, Prior, "the prior of a finite channel", "gather(density, steps) makes one")
    check_secrets("prior and channel", prior, channel)
    keep = prior.float_weights > 0
    rows = floats(channel.matrix)[keep]
    inner = _Inner(_FiniteNodes(_numbers_of(prior)[keep], prior.float_weights[keep]), loss, loss.interval)
    least = inner.least(lambda _x, part: rows.T[part], None, len(channel.outputs))
    return Estimate(float(least.value.sum()), _rounding(least.value), channel.outputs, least.action)


def _rounding(values: Floats) -> float:
    """Sums of doubles of one sign: a unit in the last place for each term, and a few for the terms."""
    return float((len(values) + 64) * 2.0**-52 * np.abs(values).sum())


def _over_atoms(inner: _Inner, mechanism: IntervalMechanism) -> Estimate:
    count = len(mechanism.outputs)
    index = np.arange(count)
    least = inner.least(lambda x, part: mechanism.mass(x, index[part, None]), None, count)
    error = float(least.error.sum()) + _rounding(least.value)
    return Estimate(float(least.value.sum()), error, mechanism.outputs, least.action)


def _outer_edges(prior: Any, mechanism: IntervalMechanism) -> Floats:
    """Where the outer integral starts from: eight panels, cut at finite secrets and at jumps of the rows."""
    low, high = mechanism.interval.ends
    own = _numbers_of(prior) if isinstance(prior, Prior) else np.empty(0)
    edges = np.concatenate([np.linspace(low, high, 9), own, mechanism.jumps])
    return np.unique(edges[(edges >= low) & (edges <= high)])


def _over_density(inner: _Inner, mechanism: Any, edges: Floats, tolerance: float) -> Estimate:
    """∫ min_w … dy, panels halved where 7 and 15 nodes disagree."""

    def least(y: Floats) -> _Least:
        return inner.least(lambda x, part: mechanism.density(x, y[part, None]), y, len(y))

    nodes, kronrod, coarse = _rule()
    left, right = edges[:-1], edges[1:]
    whole = float(right[-1] - left[0])
    value = error = 0.0
    looked: list[tuple[Floats, Floats]] = []
    panels = 0
    for generation in range(_MOST_GENERATIONS):
        width = right - left
        y = left[:, None] + width[:, None] * nodes
        losses = least(y.ravel())
        table, inexact, action = (part.reshape(y.shape) for part in (losses.value, losses.error, losses.action))
        by_kronrod, by_gauss = (table @ kronrod) * width, (table @ coarse) * width
        gap = np.maximum(np.abs(by_kronrod - by_gauss), _unseen_kink(table, action, nodes, width, whole))
        scale = max(abs(value + float(by_kronrod.sum())), 1e-12)
        # a kink may use up the share of a quarter of a first panel; there is hardly more than one in each
        fine = gap <= tolerance * scale * np.maximum(width / whole, 0.25 / (len(edges) - 1))
        panels += len(left)
        if generation == _MOST_GENERATIONS - 1 or panels + 2 * int((~fine).sum()) > _MOST_PANELS:
            fine[:] = True
        value += float(by_kronrod[fine].sum())
        error += float(gap[fine].sum() + ((inexact @ kronrod) * width)[fine].sum())
        looked.append((y[fine, 1:-1].ravel(), action[fine, 1:-1].ravel()))
        middle = (left + right) / 2
        left, right = np.concatenate([left[~fine], middle[~fine]]), np.concatenate([middle[~fine], right[~fine]])
        if not left.size:
            break
    outputs, actions = (np.concatenate(part) for part in zip(*looked, strict=True))
    order: NDArray[np.int64] = np.argsort(outputs)
    return Estimate(value, error + _rounding(np.array([value])), tuple(outputs[order].tolist()), actions[order])


def _unseen_kink(table: Floats, action: Floats, nodes: Floats, width: Floats, whole: float) -> Floats:
    """What a kink between two nodes may hide from both rules: the variation in the panel times its width.

    The least cost has a kink where the best action jumps. An action that moves at one place eight times as fast as
    it does at most places has jumped; below 1e-5 of the interval it may be the noise of the golden section.
    """
    speed = np.abs(np.diff(action, axis=1)) / np.diff(nodes)
    jumped = speed.max(axis=1) > 8 * np.median(speed, axis=1) + 1e-4 * whole
    return np.where(jumped, width * (table.max(axis=1) - table.min(axis=1)), 0.0)


def _rule() -> tuple[Floats, Floats, Floats]:
    """Nodes on [0, 1] with the weights of Kronrod and of Gauss; the ends are looked at, with weight 0."""
    half, weights = np.array((1.0, *_KRONROD_NODES)), np.array((0.0, *_KRONROD_WEIGHTS))
    nodes, kronrod = np.concatenate([-half, half[-2::-1]]), np.concatenate([weights, weights[-2::-1]])
    coarse = np.zeros_like(nodes)
    coarse[2:-2:2] = gauss(7)[1]
    return (nodes + 1) / 2, kronrod / 2, coarse
