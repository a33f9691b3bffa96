"""Secrets that no output may tell apart are one secret to a solver: what is found for one of them holds for all.

Where a bound on log-ratios is 0 two rows of a mechanism are equal, and no interior point has room between them. So
such secrets are merged, their costs added up. A matrix for the merged ones has the same row for all that were merged.
Multipliers follow too: with S_Xw the reduced cost of the merged secret X, those of its members sum to S_Xw, and a
multiplier on a pair with bound 0 moves reduced cost from one to the other, nothing lost on the way. Along a tree of
such pairs every member gets an equal share of S_Xw, and the members together prove what X does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from sfumato.channels.prior import Prior
from sfumato.design.answer import Answer, Multipliers
from sfumato.design.problem import Problem
from sfumato.design.reduction import Reduced, Reduction
from sfumato.losses.loss import Loss
from sfumato.numbers import Array, Integers, floats
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.distances import Distances
from sfumato.spaces.finite import Edges, FiniteSpace, Pairs, path_metric
from sfumato.watch import Watch


@dataclass(frozen=True, eq=False)
class Merged:
    """A problem about merged secrets, and how its answer is one for all.

    Parameters
    ----------
    original, problem
        The problem before, and the one to solve.
    member
        For each secret the number of the merged one.
    ends
        Two n′ × n′ tables: the secrets whose pair stands for that of two merged ones.
    tree
        Pairs with bound 0 that join merged secrets, each secret with one nearer to the root, the farthest first.
    """

    original: Problem
    problem: Problem
    member: Integers
    ends: tuple[Integers, Integers]
    tree: tuple[Integers, Integers]

    def answer(self, answer: Answer) -> Answer:
        """What an answer for the merged secrets says of all."""
        given = answer.multipliers
        first, second = (end[given.first, given.second] for end in self.ends)
        between = Multipliers(first, second, given.action, floats(given.values))
        return replace(
            answer, matrix=answer.matrix[self.member], multipliers=Multipliers.joined(between, self._within(between))
        )

    def _within(self, between: Multipliers) -> Multipliers:
        """Multipliers on pairs with bound 0 after which the members of a merged secret have equal reduced costs."""
        original, actions = self.original, self.original.shape[1]
        reduced = between.reduced(original.float_cost, original.factors(between.first, between.second))
        whole = np.zeros((len(self.ends[0]), actions))
        np.add.at(whole, self.member, reduced)
        spare = reduced - (whole / np.bincount(self.member)[:, None])[self.member]
        moved = np.empty((len(self.tree[0]), actions))
        for k, (leaf, root) in enumerate(zip(*self.tree, strict=True)):
            moved[k] = spare[leaf]
            spare[root] += spare[leaf]
        pair, action = np.nonzero(moved)
        leaf, root, amount = self.tree[0][pair], self.tree[1][pair], moved[pair, action]
        up = amount > 0  # the leaf has more than its share, and the root gains it
        return Multipliers(np.where(up, root, leaf), np.where(up, leaf, root), action, np.abs(amount))


def has_equal_rows(problem: Problem) -> bool:
    """Whether the promise asks for equal rows."""
    space = problem.privacy.space
    return space.edges is not None and bool((space.edges.lengths.values == 0).any())


def merged(problem: Problem) -> Merged | None:
    """The problem with secrets merged that have to have one row; None where there are none.

    Examples
    --------
    >>> from sfumato.design.problem import problem
    >>> from sfumato.losses import bin
    >>> from sfumato.privacy import ratio_bounds
    >>> privacy = ratio_bounds([[0, 0, 2], [0, 0, 1], [2, 1, 0]])
    >>> equal_rows = problem(Prior.uniform(privacy.space), bin(privacy.space), privacy)
    >>> merged(equal_rows).problem.float_cost.round(3).tolist()
    [[0.333, 0.333, 0.667], [0.333, 0.333, 0.0]]
    """
    if not _can_merge(problem):
        return None
    space = problem.privacy.space
    (first, second), apart = space.pairs, space.pair_distances
    nothing = apart.values == 0
    n = len(space)
    graph = csr_array((np.ones(int(nothing.sum())), (first[nothing], second[nothing])), shape=(n, n))
    count, labels = connected_components(graph, directed=False)
    member = labels.astype(np.int64)
    lengths, ends = _quotient(member, count, first[~nothing], second[~nothing], apart.values[~nothing])
    pairs = Pairs(*np.nonzero(np.triu(ends[0] >= 0, 1)))
    edges = Edges(pairs, Distances(apart.form, lengths[pairs.first, pairs.second], apart.unit))
    smaller = FiniteSpace(range(count), path_metric(count, edges), space.unit, f"{space.name}, merged")
    return Merged(problem, _problem(problem, member, smaller), member, ends, _tree(graph, member))


def _can_merge(problem: Problem) -> bool:
    """Limits look at each of the secrets, and events at pairs of them."""
    return not problem.limits and not problem.events and has_equal_rows(problem)


def _step(problem: Problem, watch: Watch) -> Reduced | None:
    smaller = merged(problem)
    return None if smaller is None else Reduced(smaller.problem, smaller.answer)


EQUAL_ROWS = Reduction("secrets with equal rows", _can_merge, _step)
"""Interior points have no room between equal rows."""


def _quotient(
    member: Integers, count: int, first: Integers, second: Integers, values: Array
) -> tuple[Array, tuple[Integers, Integers]]:
    """The shortest pair between each two merged secrets: its length, and its ends, −1 where there is none."""
    lengths = np.zeros((count, count), dtype=values.dtype)
    ends = np.full((count, count), -1, dtype=np.int64), np.full((count, count), -1, dtype=np.int64)
    longest_first = np.argsort(-values.astype(np.float64), kind="stable")  # a shorter one is written over a longer one
    first, second, values = first[longest_first], second[longest_first], values[longest_first]
    for x, z in ((first, second), (second, first)):
        here = member[x], member[z]
        lengths[here], ends[0][here], ends[1][here] = values, x, z
    for end in ends:
        np.fill_diagonal(end, -1)
    return lengths, ends


def _problem(problem: Problem, member: Integers, space: FiniteSpace) -> Problem:
    """Priors added up, losses averaged by them; where there is no prior nothing can be lost."""
    privacy = problem.privacy
    weights, cost = np.zeros(len(space)), np.zeros((len(space), problem.shape[1]))
    np.add.at(weights, member, problem.prior.float_weights)
    np.add.at(cost, member, problem.float_cost)
    loss = Loss(problem.loss.actions, space, (cost / np.where(weights > 0, weights, 1.0)[:, None]).T)
    return replace(
        problem,
        prior=Prior(space, weights / weights.sum()),
        loss=loss,
        privacy=PrivacyType(space, privacy.epsilon, privacy.alpha),
    )


def _tree(graph: csr_array, member: Integers) -> tuple[Integers, Integers]:
    """A secret and its neighbour nearer to the root, for all but the roots, those that are farthest first."""
    leaves, roots = [], []
    for root in np.unique(member, return_index=True)[1]:
        order, before = breadth_first_order(graph, root, directed=False)
        leaves.append(order[:0:-1])
        roots.append(before[order[:0:-1]])
    return np.concatenate(leaves).astype(np.int64), np.concatenate(roots).astype(np.int64)
