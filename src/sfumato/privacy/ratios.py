"""Promises that are given as they stand: a table of bounds on log-ratios, or several promises at once.

A mechanism keeps M(x)(y) ≤ e^{b(x, x′)} M(x′)(y) for a symmetric table b ≥ 0 exactly if it keeps it for the largest
metric below b, since promises add up along chains. That is the shortest-path metric of a graph whose edges have the
lengths b, so any such table is a privacy type, and several at once are the one with the smallest bound on each pair.
Where b is 0 the two secrets have one row: the "metric" is then one on what may be told apart, and such pairs are
always compared themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.arguments import items
from sfumato.errors import InvalidInput, Mismatch
from sfumato.labels import row_names, table_in_order
from sfumato.numbers import Array, array, exact, float_below, object_array
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.spaces.distances import Distances, Form
from sfumato.spaces.finite import Edges, FiniteSpace, Pairs, label_tuple, path_metric

_LARGEST_SUM = 2**53  # Paths of whole bounds are summed in doubles, which are exact up to this.


def ratio_bounds(*tables: Any, labels: Iterable[Any] | None = None) -> PrivacyType:
    """The mechanisms with M(x)(y) ≤ e^{b(x, x′)} M(x′)(y), for one symmetric table b ≥ 0 or several.

    Parameters
    ----------
    tables
        n × n numbers with zeros on the diagonal; infinite where nothing is promised. Exact unless a float is among
        them. A bound of 0 says that no output may tell the two secrets apart at all.
    labels
        Names of the secrets, 0 … n − 1 by default.

    Examples
    --------
    The bound of 5 is implied by the two others, so only these are kept:

    >>> promise = ratio_bounds([[0, 1, 5], [1, 0, 2], [5, 2, 0]], labels=["a", "b", "c"])
    >>> promise.space.distance("a", "c"), len(promise.space.pairs.first)
    (3.0, 2)

    Two names of one place:

    >>> promise = ratio_bounds([[0, 0, 5], [0, 0, 2], [5, 2, 0]], labels=["a", "b", "c"])
    >>> promise.space.distance("a", "b"), promise.space.distance("a", "c")
    (0.0, 2.0)
    """
    if not tables:
        raise InvalidInput("ratio_bounds needs at least one table of bounds")
    named = row_names(tables[0]) if labels is None else labels
    known = None if named is None else label_tuple(named, "the secrets")
    if known is not None:
        tables = tuple(table_in_order(table, known, known, "a table of bounds") for table in tables)
    parsed = [_bounds(table) for table in tables]
    n = len(parsed[0])
    if any(len(table) != n for table in parsed):
        raise InvalidInput(f"tables of one promise need one size, found {[len(table) for table in parsed]}")
    names = tuple(range(n)) if known is None else known
    if len(names) != n:
        raise InvalidInput(f"{len(names)} labels for a table of {n} secrets")
    smallest = np.minimum.reduce(parsed) if len(parsed) > 1 else parsed[0]
    return PrivacyType(_space(smallest, names), epsilon=1)


def _space(bounds: Array, names: tuple[Any, ...]) -> FiniteSpace:
    """The largest metric below a table, zeros between different secrets included."""
    first, second = np.nonzero(np.triu(bounds != np.inf, 1))
    listed = bounds[first, second].tolist()
    if any(isinstance(bound, float) for bound in listed):  # then all are, and none is rounded up
        listed = [float_below(exact(bound)) for bound in listed]
    lengths = Distances.parse(listed, "bounds", 1) if listed else Distances(Form.RATIONAL, np.zeros(0, dtype=np.int64))
    if lengths.form is Form.RATIONAL and sum(lengths.values.tolist()) >= _LARGEST_SUM:
        lengths = Distances(Form.FLOAT, np.array([float_below(exact(bound)) for bound in listed]))
    structure = path_metric(len(names), Edges(Pairs(first, second), lengths))
    return FiniteSpace(names, structure, name=f"{len(names)} secrets with bounds on their ratios")


def _bounds(given: Any) -> Array:
    """A table of numbers or infinities, symmetric, zero on the diagonal."""
    rows = [items(row, "a row of bounds") for row in items(given, "a table of bounds")]
    if not rows or any(len(row) != len(rows) for row in rows):
        raise InvalidInput(f"a table of bounds is square, found rows of {[len(row) for row in rows]} numbers")
    unbounded = np.array([[isinstance(v, float | np.floating) and v == np.inf for v in row] for row in rows])
    finite = [[0 if gone else v for v, gone in zip(*line, strict=True)] for line in zip(rows, unbounded, strict=True)]
    numbers = array(finite, "a table of bounds", 2)
    table = object_array((np.inf if gone else v for v, gone in zip(numbers.ravel(), unbounded.ravel(), strict=True)),
                         numbers.shape)  # fmt: skip
    if (numbers < 0).any() or any(table[x, x] != 0 for x in range(len(table))):
        raise InvalidInput("bounds on log-ratios are not negative, and 0 between a secret and itself")
    uneven = np.argwhere(table != table.T)
    if uneven.size:
        x, z = uneven[0]
        raise InvalidInput(f"a table of bounds is symmetric, but has {table[x, z]} and {table[z, x]} at ({x}, {z})")
    return table


def together_private(*types: PrivacyType) -> PrivacyType:
    """The mechanisms that keep several promises over the same secrets, all at once.

    Rational ε and distances stay exact, and so does one α with distances in one unit; anything else is rounded to
    doubles, each bound down, so that what keeps the new promise keeps the old ones.

    Examples
    --------
    Near points by their distance, far ones as in ordinary local privacy:

    >>> from sfumato.spaces import discrete, line
    >>> both = together_private(PrivacyType(line(6), epsilon=1), PrivacyType(discrete(6), epsilon="5/2"))
    >>> both.space.distance(0, 1), both.space.distance(0, 5)
    (1.0, 2.5)
    """
    given = [as_type(privacy) for privacy in types]
    if not given:
        raise InvalidInput("together_private needs at least one privacy type")
    labels = given[0].space.labels
    for privacy in given[1:]:
        if privacy.space.labels != labels:
            raise Mismatch("secrets of the promises", labels, privacy.space.labels)
    alphas = {privacy.alpha for privacy in given}
    if len(alphas) == 1 and None not in alphas and all(p.space.ruler.form is Form.RATIONAL for p in given):
        lengths = ratio_bounds(*(_table(privacy, Fraction(1)) for privacy in given), labels=labels).space
        return PrivacyType(lengths, alpha=given[0].alpha)
    return ratio_bounds(*(_table(privacy, privacy.epsilon) for privacy in given), labels=labels)


def _table(privacy: PrivacyType, rate: Fraction | None) -> list[list[Any]]:
    """ε·d as rationals where it is one, else a double below; without a rate the promise's own."""
    distances = privacy.space.distances
    slow = privacy.rate_bounds(96)[0] if rate is None else rate

    def bound(value: Any) -> Any:
        low, high = distances.bounds(value)
        return exact(slow * low) if low == high and rate is not None else float_below(slow * low)

    different, first, where = np.unique(distances.values, return_index=True, return_inverse=True)
    far = distances.infinite.ravel()[first]
    bounds = object_array(np.inf if beyond else bound(value) for value, beyond in zip(different, far, strict=True))
    return [list(row) for row in bounds[where].reshape(distances.values.shape)]
