"""A loss and a promise in integers: what every question of universal optimality starts from.

Regret does not change when a function of the secret alone is added to the loss, or when actions are left out that
another one is never worse than; and secrets at which every action costs the same do not matter. What remains is
scaled to integers, as are the rays of the cone of private columns, so that everything that has to be
decided can be decided exactly.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import gcd
from typing import Any

import numpy as np

from sfumato.arguments import flag
from sfumato.certify.mechanism import Mechanism
from sfumato.channels.channel import Channel, as_channel, check_secrets
from sfumato.design.problem import ordered_bounds, undominated
from sfumato.errors import InvalidInput, InvalidLoss, PrivacyViolation, expect, shown
from sfumato.losses.loss import Loss
from sfumato.numbers import Array, Floats, Integers, common_denominator, floats, fractions, is_exact, object_array
from sfumato.privacy.rays import rays_of
from sfumato.privacy.satisfaction import satisfies
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.privacy.vertices import Vertices, vertices
from sfumato.theory.universal.prior_sets import PriorSet, primitive
from sfumato.verdict import Outcome

_MOST_ENTRIES = 4_000_000  # A table of costs has at most so many entries, 32 MB.
_SMALL_CHANNEL = 400  # Up to so many entries are compared one by one.


@dataclass(frozen=True, eq=False)
class ReducedLoss:
    """A loss, reduced and in integers: ``table`` = (ℓ − floor) · ``scale`` for the actions that are kept.

    ``relative`` questions keep the loss as it is (no floor): ratios are not blind to what is added.
    """

    privacy: PrivacyType
    loss: Loss
    relative: bool
    table: Array
    scale: Fraction
    kept: tuple[int, ...]

    @cached_property
    def relevant(self) -> Integers:
        """Secrets at which actions differ; all of them for relative questions."""
        differs = (self.table != self.table[:1]).any(axis=0)
        return np.flatnonzero(differs | self.relative)

    @property
    def trivial(self) -> bool:
        """Whether one action is never worse than any other."""
        return len(self.kept) == 1

    @property
    def largest(self) -> int:
        """The largest entry of the table."""
        return int(self.table.max())

    @cached_property
    def corner(self) -> Vertices:
        """The vertices of the type."""
        return corner_of(self.privacy)

    @property
    def exact(self) -> bool:
        """Whether the rays of the type are rational."""
        return is_exact(self.corner.rays)

    @cached_property
    def float_rays(self) -> Floats:
        """Rays × secrets, each with maximum 1, every entry right to :data:`FLOAT_ERROR`."""
        return float_rays(self.corner)

    @cached_property
    def rays(self) -> Array:
        """Rays × secrets in integers without a common factor, for exact types."""
        return integer_rays(self.corner)

    @cached_property
    def exact_loss(self) -> Loss:
        """The loss as it was given, in rationals."""
        return Loss(self.loss.actions, self.loss.secrets, fractions(self.loss.matrix), self.loss.name)

    @cached_property
    def ordered_bounds(self) -> tuple[Integers, Integers, Floats]:
        """Pairs of secrets both ways round, and the logarithms of their bounds, as programs over columns have them."""
        return ordered_bounds(self.privacy)

    @cached_property
    def float_table(self) -> Floats:
        """The table divided by its largest entry, in floats: what floats say is in units of :attr:`unit`."""
        return np.array([[int(v) / self.largest for v in row] for row in self.table])

    @property
    def unit(self) -> Fraction:
        """The largest loss of the reduced table, in units of the loss."""
        return self.largest / self.scale

    def pieces(self, columns: Array, among: PriorSet) -> Array:
        """Loss of each action at each output (columns: secrets × outputs), linear in the coordinates of priors."""
        table = columns.T[:, None, :] * self.table[None, :, :]
        if len(among.generators) == among.generators.shape[1] and (among.generators == np.eye(len(columns))).all():
            return np.asarray(table)
        size = table.shape[2]
        flat = exact_product(table.reshape(-1, size), among.generators)
        return flat.reshape(*table.shape[:2], -1).astype(object)

    def uncertainties(self, weights: Array, columns: Array) -> Array:
        """U(π∘v) · scale for integer priors (rows) and integer columns (rows of secrets): priors × columns."""
        stacked = self._ray_costs if columns is self.rays else self._costs(columns)
        actions, count = len(self.table), len(columns)
        rows = max(1, _MOST_ENTRIES // (actions * max(count, 1)))  # at a time
        parts = [
            exact_product(weights[k : k + rows], stacked).reshape(-1, actions, count).min(axis=1)
            for k in range(0, max(len(weights), 1), rows)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _costs(self, columns: Array) -> Array:
        """ℓ(w, x) v_i(x), one column for each action and each i."""
        return (self.table[:, None, :] * columns[None, :, :]).reshape(-1, columns.shape[1]).T

    @cached_property
    def _ray_costs(self) -> Array:
        table = self._costs(self.rays)
        return table.astype(np.int64) if int(table.max()) < 2**62 else table

    def float_uncertainties(self, weights: Floats, columns: Floats) -> Floats:
        """The same in floats, in units of the largest loss."""
        costs = [weights @ (columns * row[None, :]).T for row in self.float_table]
        return np.asarray(np.min(costs, axis=0), dtype=np.float64)


def pose(loss: Loss, privacy: PrivacyType, *, relative: bool = False) -> ReducedLoss:
    """Check that a loss and a promise fit together, and reduce the loss."""
    privacy = as_type(privacy)
    loss = expect(loss, Loss, "a loss", "losses.distance(space), Loss(actions, secrets, table)")
    check_secrets("loss and privacy type", privacy.space, loss)
    return _posed(loss, privacy, flag(relative, "relative"))


@lru_cache(maxsize=64)
def _posed(loss: Loss, privacy: PrivacyType, relative: bool) -> ReducedLoss:
    """Kept for the next mechanism that is asked about."""
    values = fractions(loss.matrix)
    if relative and (values < 0).any():
        w, x = np.argwhere(values < 0)[0]
        raise InvalidLoss(
            f"relative regret needs a loss that is nowhere negative, found {values[w, x]} for "
            f"{shown(loss.actions[w])} at {shown(loss.secrets[x])}: add a constant, or ask for additive regret"
        )
    # ranks compare as the fractions do, and fit into machine words
    order = {v: i for i, v in enumerate(sorted(set(values.ravel().tolist())))}
    kept = undominated(np.array([order[v] for v in values.ravel()], dtype=np.int64).reshape(values.shape))
    values = values[kept]
    if not relative:
        values = values - values.min(axis=0)[None, :]
    table, denominator = common_denominator(values)
    common = gcd(*(int(v) for v in table.ravel())) or 1
    table = object_array((int(v) // common for v in table.ravel()), table.shape)
    return ReducedLoss(privacy, loss, relative, table, Fraction(denominator, common), tuple(kept))


def type_of(mechanism: Any, privacy: PrivacyType | None) -> PrivacyType:
    """The promise that was given, or the one a mechanism carries."""
    if privacy is not None:
        return as_type(privacy)
    if isinstance(mechanism, Mechanism):
        return mechanism.privacy
    raise InvalidInput("a channel carries no promise: give the privacy type it is judged in")


def type_on(privacy: PrivacyType, labels: Iterable[Any]) -> PrivacyType:
    """The same promise among some of the secrets."""
    return PrivacyType(privacy.space.restrict(labels), epsilon=privacy.epsilon, alpha=privacy.alpha)


def member_of(mechanism: Any, privacy: PrivacyType) -> Channel:
    """The channel of a mechanism in rationals, which must not break the promise.

    A float channel at the border of its promise counts as the rational channel it stores: its regret is then right,
    its privacy known up to rounding only.
    """
    channel = as_channel(mechanism)
    check_secrets("mechanism and privacy type", privacy.space, channel)
    proved = isinstance(mechanism, Mechanism) and mechanism.privacy is privacy
    if not proved and not _keeps(channel, privacy):
        verdict = satisfies(channel, privacy)
        if verdict.outcome is Outcome.FAILS:
            broken = verdict.witness
            raise PrivacyViolation(
                f"the mechanism is not of the type, and its regret means nothing: {verdict.reason}",
                pair=broken.pair, output=broken.output, ratio=broken.ratio, bound=broken.bound,
            )  # fmt: skip
    return channel.to_rationals()


def _keeps(channel: Channel, privacy: PrivacyType) -> bool:
    """Whether a small exact channel keeps an exact promise; False also where that is not so quickly told."""
    if not channel.exact or channel.matrix.size > _SMALL_CHANNEL or not privacy.exact:
        return False
    space = privacy.space
    table = common_denominator(channel.matrix)[0]
    for x, z in zip(*space.pairs, strict=True):
        factor = privacy.exact_factor(space.distances.values[x, z])
        if factor is None:
            return False
        steep = factor.denominator * table[x] > factor.numerator * table[z]
        if steep.any() or (factor.denominator * table[z] > factor.numerator * table[x]).any():
            return False
    return True


def primitive_columns(channel: Channel) -> tuple[Array, Array]:
    """Columns that are not zero, each direction once: primitive integer columns (secrets × outputs) and weights.

    The channel has the same losses as the columns times the weights.
    """
    weights: dict[tuple[int, ...], Fraction] = {}
    for column in channel.matrix.T:
        integers, denominator = common_denominator(np.asarray(column))
        values = [int(v) for v in integers]
        common = gcd(*values)
        if common:
            key = tuple(v // common for v in values)
            weights[key] = weights.get(key, Fraction(0)) + Fraction(common, denominator)
    columns = object_array((v for key in weights for v in key), (len(weights), len(channel.secrets))).T
    return columns, object_array(weights.values())


@lru_cache(maxsize=64)
def corner_of(privacy: PrivacyType) -> Vertices:
    """The vertices of a type, kept for the next question about it."""
    return vertices(privacy)


@lru_cache(maxsize=64)
def integer_rays(corner: Vertices) -> Array:
    """The rays of an exact type, one row each, in integers without a common factor."""
    return np.stack([primitive(common_denominator(ray)[0]) for ray in corner.rays])


@lru_cache(maxsize=64)
def float_rays(corner: Vertices) -> Floats:
    """The rays of any type in floats, one row each, the largest entry 1."""
    exact_type = is_exact(corner.rays)
    return np.ascontiguousarray(floats(corner.rays) if exact_type else rays_of(corner).floats.T)


def exact_product(left: Array, right: Array) -> Array:
    """A product of integer matrices: in floats or machine words where every sum provably fits, else in objects."""
    if not left.size or not right.size:
        return np.zeros((len(left), right.shape[1]), dtype=np.int64)
    bound = largest_entry(left) * largest_entry(right) * left.shape[1]
    if bound < 2**53:
        return np.asarray(left.astype(np.float64) @ right.astype(np.float64)).astype(np.int64)
    if bound < 2**62:
        return np.asarray(left.astype(np.int64) @ right.astype(np.int64))
    return np.asarray(left.astype(object) @ right.astype(object))


def largest_entry(table: Array) -> int:
    """The largest absolute value of integers, at least 1."""
    return max(int(table.max()), -int(table.min()), 1)
