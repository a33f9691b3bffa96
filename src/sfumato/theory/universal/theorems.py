"""Grounds for universal optimality that need no enumeration, each with its hypotheses checked exactly.

The proofs are on the pages "The geometric mechanism", "Universal optimality" and "Universal optimality on trees". One
is about two actions. The others are about the mechanism whose columns are multiples of Φ_y = e^{−εd(·, y)} on a tree
(on a line: the geometric mechanism), exactly or rounded to a table (:mod:`sfumato.theory.universal.ideal`), and about
what a loss shares with simpler ones: what the secret alone decides, a positive weight for each secret, secrets that do
not matter, and sums of games played at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from sfumato.channels.channel import Channel
from sfumato.channels.composition import restrict
from sfumato.losses.classes import is_single_crossing
from sfumato.losses.loss import Loss, restrict_loss
from sfumato.numbers import Array, common_denominator, fractions, is_exact, text_above
from sfumato.privacy.similarity import similarity
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.finite import FiniteSpace
from sfumato.theory.universal.ideal import rounded_by, rounded_sides, rounding_regret
from sfumato.theory.universal.prior_sets import primitive
from sfumato.theory.universal.question import ReducedLoss, pose, primitive_columns, type_on

_BITS = 128  # An irrational bound is enclosed so closely that what is between is nothing beside a table's rounding.


@dataclass(frozen=True, eq=False)
class OptimalityGround:
    """Why a mechanism is universally optimal: the name of a theorem, what was checked, and the grounds it rests on.

    ``name`` is one of ``trivial loss``, ``two secrets``, ``single crossing on a line``, ``guessing on a tree``,
    ``excluding on a tree``, ``lifted from a subset``, ``sum of losses``, ``two sides at one distance`` and ``cells``.

    ``regret`` is 0 where the table is the mechanism of the theorem. Where it is that mechanism rounded, the theorem is
    about the table up to its rounding, and ``regret`` is a proved bound on what rounding costs for any prior.
    """

    name: str
    checked: str
    parts: tuple[OptimalityGround, ...] = field(default=())
    regret: Fraction = Fraction(0)

    def __str__(self) -> str:
        rounding = (
            f"; up to the rounding of the table (regret at most {text_above(self.regret)})" if self.regret else ""
        )
        return f"{self.name}: {self.checked}{rounding}"


def theorem(question: ReducedLoss, channel: Channel) -> OptimalityGround | None:
    """The first theorem whose hypotheses hold for a mechanism of the type, or for the one it is rounded from."""
    if question.trivial:
        action = question.loss.actions[question.kept[0]]
        return OptimalityGround("trivial loss", f"action {action!r} is never worse than another, so nothing helps")
    grounds = (_on_all_secrets, _lifted, _sum, _two_sides)
    return next((ground for one in grounds if (ground := one(question, channel)) is not None), None)


def _on_all_secrets(question: ReducedLoss, channel: Channel) -> OptimalityGround | None:
    space = question.privacy.space
    if not is_tree(space):
        return None
    tight = _is_tight(channel, question.privacy)
    moved = None if tight else rounded_by(channel, question.privacy)
    if not tight and moved is None:
        return None
    near = "" if moved is None else f" (no row of the table is farther from that than {text_above(max(moved))})"
    regret = Fraction(0) if moved is None else rounding_regret(question, moved)
    if len(space) == 2:
        steep = f"both columns are as steep as the type allows{near}, so every mechanism is derived from it"
        return OptimalityGround("two secrets", steep, regret=regret)
    reduced = Loss([question.loss.actions[w] for w in question.kept], question.loss.secrets, question.table)
    crossing = is_single_crossing(reduced, space)
    if crossing:
        order = ", ".join(map(repr, crossing.witness.actions))
        shape = f"the mechanism is the geometric one{near}, and differences of losses cross once in the order {order}"
        return OptimalityGround("single crossing on a line", shape, regret=regret)
    columns = f"columns are multiples of e^{{−εd}}{near}, and the loss is that of"
    if _guesses(question.table):
        return OptimalityGround("guessing on a tree", f"{columns} a wrong guess", regret=regret)
    if _excludes(question.table):
        return OptimalityGround("excluding on a tree", f"{columns} naming the secret", regret=regret)
    return None


def is_tree(space: FiniteSpace) -> bool:
    """Whether distances add up along the branches of a tree of all secrets."""
    # chains of these pairs join all that is at a finite distance, and fewer than n − 1 join no n points
    return len(space.pairs.first) == len(space) - 1 and not space.distances.infinite.any()


def _is_tight(channel: Channel, privacy: PrivacyType) -> bool:
    """Whether every column is a multiple of e^{−εd(·, y)} for some y, exactly; equal columns may be split."""
    phi = similarity(privacy)
    if not is_exact(phi, channel.matrix):
        return False
    directions = {tuple(primitive(common_denominator(np.asarray(column))[0])) for column in phi.T}
    return all(tuple(int(v) for v in column) in directions for column in primitive_columns(channel)[0].T)


def _guesses(table: Array) -> bool:
    """v(x) unless the action is that of x, each action being that of one secret; v(x) = 0 where no action is."""
    zero = table == 0
    for x in np.flatnonzero((table != 0).any(axis=0)):
        if zero[:, x].sum() != 1 or len(set(table[~zero[:, x], x].tolist())) > 1:
            return False
    own = zero[:, (table != 0).any(axis=0)]
    return bool((own.sum(axis=1) == 1).all())


def _excludes(table: Array) -> bool:
    """v(x) > 0 if the action is that of x, else 0, each action being that of one secret."""
    positive = table != 0
    return bool((positive.sum(axis=1) == 1).all() and (positive.sum(axis=0) <= 1).all())


def _lifted(question: ReducedLoss, channel: Channel) -> OptimalityGround | None:
    """Optimal on the secrets that matter, hence on all (the true half of Theorem 6(5) of paper A)."""
    relevant = question.relevant
    if question.relative or not 2 <= len(relevant) < len(channel.secrets):
        return None
    labels = [channel.secrets[x] for x in relevant]
    smaller = pose(restrict_loss(question.loss, labels), type_on(question.privacy, labels))
    below = theorem(smaller, restrict(channel, labels))
    if below is None:
        return None
    shape = f"actions differ at {len(labels)} of {len(channel.secrets)} secrets only"
    return OptimalityGround("lifted from a subset", shape, (below,), below.regret)


def _sum(question: ReducedLoss, channel: Channel) -> OptimalityGround | None:
    """Both games of a sum ℓ((w, v), x) = ℓ₁(w, x) + ℓ₂(v, x), as ``losses.add`` makes it, are served best."""
    games = _games(question.loss)
    if games is None:
        return None
    parts = []
    for game in games:
        part = theorem(pose(game, question.privacy), channel)
        if part is None:
            return None
        parts.append(part)
    regret = sum((part.regret for part in parts), Fraction(0))
    return OptimalityGround(
        "sum of losses", "the actions are pairs, and the loss is a sum of two", tuple(parts), regret
    )


def _two_sides(question: ReducedLoss, channel: Channel) -> OptimalityGround | None:
    """Two actions, each better on one side, all secrets of one side as far from all of the other, and a steep channel.

    Rows averaged over the sides are a mechanism on two secrets, and the columns are those of the best one.
    """
    if len(question.kept) != 2:
        return None
    space, gap = question.privacy.space, question.table[0] - question.table[1]
    first, second = np.flatnonzero(gap < 0), np.flatnonzero(gap > 0)
    between = np.unique(space.distances.values[np.ix_(first, second)])
    if len(between) != 1 or space.distances.infinite[first[0], second[0]]:
        return None
    moved = rounded_sides(channel, (first, second), question.privacy.factor_bounds(between[0], _BITS))
    if moved is None:
        return None
    near = f" (no row of the table is farther from that than {text_above(max(moved))})" if any(moved) else ""
    kinds = [repr(question.loss.actions[w]) for w in question.kept]
    shape = (
        f"where {kinds[0]} is better and where {kinds[1]} is, rows are the same and columns as steep as allowed{near}"
    )
    return OptimalityGround("two sides at one distance", shape, regret=rounding_regret(question, moved))


def _games(loss: Loss) -> tuple[Loss, Loss] | None:
    """The two losses of which a loss over pairs of actions is the sum, if it is one."""
    if not all(isinstance(action, tuple) and len(action) == 2 for action in loss.actions):
        return None
    first = tuple(dict.fromkeys(action[0] for action in loss.actions))
    second = tuple(dict.fromkeys(action[1] for action in loss.actions))
    if len(first) * len(second) != len(loss.actions) or min(len(first), len(second)) < 2:
        return None
    place = {action: i for i, action in enumerate(loss.actions)}
    if any((w, v) not in place for w in first for v in second):
        return None
    table = fractions(loss.matrix)[[place[w, v] for w in first for v in second]]
    cube = table.reshape(len(first), len(second), -1)
    if (cube - cube[:1] - cube[:, :1] + cube[:1, :1]).any():
        return None
    return Loss(first, loss.secrets, cube[:, 0]), Loss(second, loss.secrets, cube[0] - cube[0, :1])
