"""Spaces of query answers, and how sensitive a query is.

A query f on databases induces a graph on its answers: two answers are adjacent when two
adjacent databases give them. Its shortest-path metric is the right one for oblivious
mechanisms: H is ε·d-private for it exactly when H ∘ f is ε-differentially private
(ElSalamouny, Chatzikokolakis and Palamidessi 2014, Theorem 1 and Corollary 1).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from sfumato.arguments import answer_of, items
from sfumato.errors import InvalidInput, NotSupported, shown
from sfumato.numbers import Number, as_written, whole_number
from sfumato.spaces.constructors import graph, grid, line, unit_edges
from sfumato.spaces.distances import Distances, Form
from sfumato.spaces.finite import Edges, FiniteSpace, Pairs, Structure, as_space, check_size
from sfumato.verdict import Verdict, fails, holds

__all__ = [
    "Chains",
    "count_query",
    "induced",
    "is_uniformly_sensitive",
    "k_count_query",
    "lipschitz_constant",
    "query",
    "sum_query",
]

_MOST_DATABASES = 4_000_000  # So many databases are enumerated; each is one call of the user's function.
_OF_ANSWERS = re.compile(
    r"\b(k_)?count_query\(|\bsum_query\(|^query with \d+ answers|^answers of a query on |\bthe integers\b"
)
_MOST_INDIVIDUALS = 32  # More individuals, with two values each, make more databases than are enumerated.


def count_query(individuals: int) -> FiniteSpace:
    """Answers 0, …, u of a count over u individuals: a line."""
    space = line(whole_number(individuals, "individuals") + 1)
    return _answers(space, f"count_query({individuals})")


def sum_query(individuals: int, largest: int) -> FiniteSpace:
    """Answers 0, …, u·v of a sum over u individuals with values 0, …, v.

    One individual moves the sum by at most v, so d(i, j) = ⌈|i − j| / v⌉.

    Examples
    --------
    >>> sum_query(2, 3).distance(0, 4)
    2.0
    """
    individuals, largest = whole_number(individuals, "individuals"), whole_number(largest, "values above 0")
    number = individuals * largest + 1
    check_size(number)
    answers = np.arange(number)

    def distances() -> Distances:
        gap = np.abs(answers[:, None] - answers[None, :])
        return Distances(Form.RATIONAL, -(-gap // largest))

    def edges() -> Edges:
        later = np.minimum(largest, number - 1 - answers)  # the answers above each that one person leads to
        first = np.repeat(answers, later)
        steps = np.arange(1, len(first) + 1) - np.repeat(np.cumsum(later) - later, later)
        return unit_edges(Pairs(first, first + steps))

    pairs = largest * number - largest * (largest + 1) // 2
    structure = Structure(distances, edges, pairs, answers=True)
    name = f"sum_query({individuals}, {largest})"
    return FiniteSpace(tuple(answers.tolist()), structure, "", name, answers[:, None].astype(float))


def k_count_query(individuals: int, k: int) -> FiniteSpace:
    """Answers of k counts over the same u individuals, whose properties may overlap.

    One individual changes each count by at most one, so d is the Chebyshev distance.
    """
    individuals, k = whole_number(individuals, "individuals"), whole_number(k, "counts")
    check_size((individuals + 1) ** min(k, 64))  # more counts than that are too many for any number of individuals
    space = grid(*[individuals + 1] * k, metric="chebyshev")
    return _answers(space, f"k_count_query({individuals}, {k})")


def _answers(space: FiniteSpace, name: str) -> FiniteSpace:
    """The same space, whose labels are the values of a query."""
    return FiniteSpace(space.labels, replace(space.source, answers=True), "", name, space.coordinates)


def names_answers(name: str) -> bool:
    """Whether a space of this name, which is all that files and ledgers keep, holds the answers of a query.

    All integers do too: what is told with noise on them is a count.

    Examples
    --------
    >>> names_answers(count_query(20).name), names_answers("the integers"), names_answers(line(21).name)
    (True, True, False)
    """
    return _OF_ANSWERS.search(name) is not None


def query(function: Callable[[tuple[Any, ...]], Hashable], *, values: Sequence[Any], individuals: int) -> FiniteSpace:
    """The answers of any query, found by evaluating it on all databases.

    Parameters
    ----------
    function
        Takes a tuple with one value for each individual.
    values
        What an individual's record can be.
    individuals
        How many there are; databases that differ in one of them are adjacent.

    Examples
    --------
    >>> parity = query(lambda db: sum(db) % 2, values=[0, 1], individuals=3)
    >>> parity.labels, parity.distance(0, 1)
    ((0, 1), 1.0)
    """
    individuals, values = (
        whole_number(individuals, "individuals"),
        items(values, "the values that an individual can have"),
    )
    if not values:
        raise InvalidInput("a query needs at least one value that an individual can have")
    if individuals > _MOST_INDIVIDUALS or len(values) ** individuals > _MOST_DATABASES:
        raise NotSupported(
            f"enumerating {len(values)}^{shown(individuals)} databases",
            [f"at most {_MOST_DATABASES}", "count_query", "sum_query", "k_count_query", "induced"],
        )
    number: dict[Hashable, int] = {}
    databases = product(values, repeat=individuals)
    answers = np.array(
        [number.setdefault(_answer(function, db), len(number)) for db in databases], dtype=np.int64
    ).reshape((len(values),) * individuals)
    adjacent: set[tuple[int, int]] = set()
    for individual in range(individuals):
        cliques = np.moveaxis(answers, individual, -1).reshape(-1, len(values))
        for clique in np.unique(np.sort(cliques, axis=1), axis=0).tolist():
            members = sorted(set(clique))
            adjacent |= {(a, b) for i, a in enumerate(members) for b in members[i + 1 :]}
    return _answer_space(list(number), adjacent, "query")


def induced(function: Callable[[Any], Hashable], databases: FiniteSpace) -> FiniteSpace:
    """The answers of a query on a graph of databases, with the graph it induces on them."""
    databases = as_space(databases, "a space of databases")
    if databases.edges is None:
        raise NotSupported(f"{databases.name}, which is no graph", ["hamming", "graph", "grid"])
    number: dict[Hashable, int] = {}
    answers = [number.setdefault(_answer(function, db), len(number)) for db in databases.labels]
    adjacent = {
        (min(answers[x], answers[z]), max(answers[x], answers[z]))
        for x, z in zip(*databases.edges.pairs, strict=True)
        if answers[x] != answers[z]
    }
    return _answer_space(list(number), adjacent, f"answers of a query on {databases.name}")


def _answer(function: Callable[[Any], Hashable], database: Any) -> Hashable:
    """The user's answer; whatever goes wrong is told with the database it went wrong on."""
    answer = answer_of(function, "the query", database, place="database ")
    if not isinstance(answer, Hashable):
        raise InvalidInput(f"the answer {shown(answer)} for database {shown(database)} is unhashable: give a tuple")
    return answer


def _answer_space(answers: list[Any], adjacent: set[tuple[int, int]], name: str) -> FiniteSpace:
    try:
        labels = sorted(answers)
    except TypeError:  # answers of mixed types stay in order of appearance
        labels = answers
    edges = [(answers[a], answers[b]) for a, b in sorted(adjacent)]
    space = graph(edges, labels=labels, name=f"{name} with {len(labels)} answers")
    return _answers(space, space.name) if _are_numbers(labels) else space


def _are_numbers(labels: list[Any]) -> bool:
    """Whether answers are numbers, or tuples of as many numbers each."""
    if all(isinstance(label, tuple) for label in labels):
        return len({len(label) for label in labels}) == 1 and all(map(_are_numbers, map(list, labels)))
    return all(isinstance(label, Real) and not isinstance(label, bool) for label in labels)


@dataclass(frozen=True, eq=False)
class Chains:
    """Tight, Δ-expansive chains between all answers; ``chain(y, z)`` spells one out."""

    answers: FiniteSpace
    previous: NDArray[np.int32]

    def chain(self, y: Any, z: Any) -> list[Any]:
        """The answers along a tight and Δ-expansive chain from y to z."""
        start, here = self.answers.index(y), self.answers.index(z)
        path = [here]
        while here != start:
            here = int(self.previous[start, here])
            path.append(here)
        return [self.answers.labels[i] for i in reversed(path)]


def lipschitz_constant(function: Callable[[Any], Hashable], databases: FiniteSpace, answers: FiniteSpace) -> Fraction:
    """The sensitivity max d(f(x), f(x′)) / d(x, x′), exact for rational distances."""
    below, above, _ = _rational_tables(function, databases, answers)
    off_diagonal = ~np.eye(len(databases), dtype=bool)
    ratios = {
        Fraction(int(a), int(b))
        for a, b in {*zip(above[off_diagonal].tolist(), below[off_diagonal].tolist(), strict=True)}
    }
    return max(ratios, default=Fraction(0)) * answers.distances.unit / databases.distances.unit


def is_uniformly_sensitive(
    function: Callable[[Any], Hashable],
    databases: FiniteSpace,
    answers: FiniteSpace,
    *,
    delta: Number = 1,
) -> Verdict:
    """Whether f is uniformly Δ-sensitive: then H is d-private iff H ∘ f is Δ·d-private.

    It must not expand any distance by more than Δ, and every two answers must be joined
    by a chain that is tight (its steps add up to the distance) and Δ-expansive (each step
    is an expansion by exactly Δ).

    Returns
    -------
    Verdict
        With :class:`Chains` as witness, or the two databases whose distance is expanded
        too much, or the two answers that no such chain joins.
    """
    below, above, images = _rational_tables(function, databases, answers)
    scale = as_written(delta, "delta") * databases.distances.unit / answers.distances.unit
    largest = max(int(table.max(initial=1)) for table in (below, above))
    if max(abs(scale.numerator), scale.denominator) * largest >= 2**63:
        below, above = below.astype(object), above.astype(object)  # products would wrap around in 64 bits
    grown = above * scale.denominator
    allowed = below * scale.numerator
    if (grown > allowed).any():
        x, z = np.argwhere(grown > allowed)[0]
        pair = (databases.labels[x], databases.labels[z])
        return fails(f"the distance of {pair[0]!r} and {pair[1]!r} grows by more than {delta}", pair)
    table = answers.distances.values
    n = len(answers)
    x, z = np.nonzero((grown == allowed) & (above > 0))
    steps = csr_array((table[images[x], images[z]].astype(np.float64), (images[x], images[z])), shape=(n, n))
    # repeated entries of the sparse table would add up: rebuild it from distinct ones
    steps.data = table[steps.nonzero()].astype(np.float64)
    lengths, previous = dijkstra(steps, directed=True, return_predecessors=True)
    broken = np.argwhere(lengths != table)
    if broken.size:
        y, w = (answers.labels[i] for i in broken[0])
        return fails(f"no tight and {delta}-expansive chain leads from {y!r} to {w!r}", (y, w))
    return holds(f"all answers are joined by tight, {delta}-expansive chains", Chains(answers, previous))


def _rational_tables(
    function: Callable[[Any], Hashable], databases: FiniteSpace, answers: FiniteSpace
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Distances of databases, those of their answers, and where these stand."""
    for space in (as_space(databases, "a space of databases"), as_space(answers, "a space of answers")):
        if space.distances.form is not Form.RATIONAL or space.distances.infinite.any():
            raise NotSupported(f"sensitivity on {space.name}", ["finite rational distances"])
    images = np.array([answers.index(_answer(function, db)) for db in databases.labels])
    return databases.distances.values, answers.distances.values[np.ix_(images, images)], images
