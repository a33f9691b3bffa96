"""What is asked of a mechanism: its output lies near f(x), whatever the database x is.

A mechanism on databases (X, ρ) discloses f(x) in (Y, σ). It has (γ, δ)-utility when, for every x, its output lies in
the ball of radius γ around f(x) with probability at least 1 − δ (Kleinberg and Ligett 2010, Definition 2.2, here E).
The paper does not say whether the ball is open or closed; here it is closed unless one asks otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import answer_of, one_of
from sfumato.certify.mechanism import Mechanism
from sfumato.channels.channel import check_secrets
from sfumato.errors import InvalidInput, Mismatch, NotSupported, expect, shown
from sfumato.losses.loss import Loss
from sfumato.numbers import Integers, Number, as_written, text_above, text_below
from sfumato.spaces.distances import Distances
from sfumato.spaces.finite import FiniteSpace, Structure, label_place
from sfumato.spaces.lengths import in_unit
from sfumato.verdict import Verdict, fails, holds

Ball = Literal["closed", "open"]


@dataclass(frozen=True, eq=False)
class FiniteFunction:
    """A function f from databases (X, ρ) to answers (Y, σ); ``images`` has the index of f(x) for each x.

    A mechanism may give any answer of Y, also one that f never takes.
    """

    databases: FiniteSpace
    answers: FiniteSpace
    images: Integers

    @cached_property
    def displacements(self) -> Distances:
        """σ(f(x), y): one row a database, one column an answer."""
        table = self.answers.distances
        return Distances(table.form, table.values[self.images].copy(), table.unit)

    @cached_property
    def lipschitz(self) -> Fraction:
        """The least C with σ(f(x), f(z)) ≤ C ρ(x, z), also called the sensitivity; rounded up where roots occur.

        Pairs of databases that a chain implies need no look: both sides add up along the chain.
        """
        pairs, near = self.databases.pairs, self.databases.pair_distances
        if not pairs.first.size:
            return Fraction(0)
        x, z = self.images[pairs.first], self.images[pairs.second]
        if self.answers.distances.infinite[x, z].any():
            raise InvalidInput("databases at a finite distance have answers that are infinitely far apart")
        far = self.answers.distances
        met = {(a.item(), b.item()) for a, b in zip(far.values[x, z], near.values, strict=True)}
        return max(far.bounds(a)[1] / near.bounds(b)[0] for a, b in met)

    def __repr__(self) -> str:
        return f"FiniteFunction({self.databases.name} → {self.answers.name})"


@dataclass(frozen=True, eq=False)
class Utility:
    """(γ, ·)-utility for a function: which answers miss the ball around f(x)."""

    function: FiniteFunction
    gamma: Fraction
    ball: Ball = "closed"

    @cached_property
    def far(self) -> NDArray[np.bool_]:
        """Where an answer (column) lies outside the ball around f(x) (row), decided exactly."""
        distances = self.function.displacements
        different, where = np.unique(distances.values, return_inverse=True)
        signs = np.array([distances.compare(value, self.gamma) for value in different.tolist()])
        outside = signs > 0 if self.ball == "closed" else signs >= 0
        return np.asarray(outside[where.reshape(distances.values.shape)])

    @cached_property
    def loss(self) -> Loss:
        """1 for an answer outside the ball, else 0: the worst secret then loses its chance of missing."""
        databases, answers = self.function.databases, self.function.answers
        name = f"{'farther than' if self.ball == 'closed' else 'not nearer than'} {self.gamma}"
        return Loss(answers.labels, databases.labels, self.far.T.astype(np.int64), name)


def finite_function(function: Callable[[Any], Any], databases: FiniteSpace, answers: FiniteSpace) -> FiniteFunction:
    """A function from the labels of one space to the labels of another.

    Examples
    --------
    >>> from sfumato.spaces import hamming, line
    >>> count = finite_function(lambda bits: bits.count("1"), hamming(3), line(4))
    >>> count.lipschitz, count.images.tolist()
    (Fraction(1, 1), [0, 1, 1, 2, 1, 2, 2, 3])
    """
    for space in (databases, answers):
        expect(space, FiniteSpace, "databases and answers")
    values = [answer_of(function, "the function", database) for database in databases.labels]
    images = [label_place(value, answers.labels, "the values of a function as answers") for value in values]
    return FiniteFunction(databases, answers, np.array(images, dtype=np.int64))


def as_function(target: FiniteFunction | FiniteSpace) -> FiniteFunction:
    """A function as it is; a space stands for telling which of its points is the secret."""
    if isinstance(target, FiniteSpace):
        return FiniteFunction(target, target, np.arange(len(target)))
    return expect(target, FiniteFunction, "what is to be disclosed", "a FiniteSpace, or finite_function(f, X, Y)")


def utility(target: FiniteFunction | FiniteSpace, gamma: Number, ball: Ball = "closed") -> Utility:
    """The question of (γ, ·)-utility; a radius below 0 and unknown balls are errors."""
    function = as_function(target)
    radius = in_unit(gamma, function.answers.unit, "gamma")
    if radius < 0:
        raise InvalidInput(f"the radius gamma must not be negative, found {shown(gamma)}")
    one_of(ball, ("closed", "open"), "a ball that is")
    return Utility(function, radius, ball)


def level(delta: Number) -> Fraction:
    """δ as a rational in [0, 1)."""
    chance = as_written(delta, "delta")
    if not 0 <= chance < 1:
        raise InvalidInput(f"delta is a probability below 1, found {shown(delta)}")
    return chance


def normalised(function: FiniteFunction) -> tuple[FiniteFunction, Fraction]:
    """The same function with ρ replaced by C ρ, which has Lipschitz constant 1, and C (E, Remark 2.4).

    ε·ρ = (ε/C)·(Cρ), so ε* of the function is C times that of the normalised one.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> twice = finite_function(lambda x: 2 * x, line(3), line(5))
    >>> rescaled, constant = normalised(twice)
    >>> constant, rescaled.lipschitz, rescaled.databases.distance(0, 1)
    (Fraction(2, 1), Fraction(1, 1), 2.0)
    """
    function = expect(function, FiniteFunction, "a function", "finite_function(f, X, Y) makes one")
    constant = function.lipschitz
    if not constant:
        raise InvalidInput("a function that is constant on all databases has nothing to rescale")
    space = function.databases
    table = space.distances
    if table.form.value == "float":
        raise NotSupported(f"rescaling {space.name}", ["rational distances, or roots of rationals"])
    scaled = Distances(table.form, table.values.copy(), table.unit * constant)
    other = FiniteSpace(
        space.labels, Structure(lambda: scaled), space.unit, f"{constant} × {space.name}", space.coordinates
    )
    return replace(function, databases=other), constant


def misses(goal: Utility, mechanism: Mechanism) -> list[Fraction]:
    """For each database the probability that the output lies outside the ball, exactly.

    Every output must be an answer.
    """
    databases, answers = goal.function.databases, goal.function.answers
    check_secrets("databases and mechanism", databases, mechanism)
    strangers = [y for y in mechanism.outputs if y not in answers.position]
    if strangers:
        raise Mismatch.unknown("outputs as answers", answers.labels, strangers)
    columns = [answers.index(y) for y in mechanism.outputs]
    lost = np.where(goal.far[:, columns], mechanism.weights.astype(object), 0).sum(axis=1)
    return [Fraction(int(w), mechanism.total) for w in lost]


def chance_of_missing(
    mechanism: Mechanism, target: FiniteFunction | FiniteSpace, gamma: Number, *, ball: Ball = "closed"
) -> Fraction:
    """max_x M_x(outside the ball of radius γ around f(x)): the least δ for which (γ, δ)-utility holds, exactly.

    Examples
    --------
    >>> import sfumato as sf
    >>> mechanism = sf.geometric(sf.PrivacyType(sf.line(5), alpha="1/2"))
    >>> chance_of_missing(mechanism, sf.line(5), 1), chance_of_missing(mechanism, sf.line(5), 1, ball="open")
    (Fraction(1, 3), Fraction(2, 3))
    """
    mechanism = expect(mechanism, Mechanism, "a mechanism")
    return max(misses(utility(target, gamma, ball), mechanism))


def has_utility(
    mechanism: Mechanism, target: FiniteFunction | FiniteSpace, gamma: Number, delta: Number, *, ball: Ball = "closed"
) -> Verdict:
    """Whether a mechanism achieves (γ, δ)-utility (E, Definition 2.2), decided in rationals.

    The witness is the database that misses most, with its probability.
    """
    goal = utility(target, gamma, ball)
    lost = misses(goal, expect(mechanism, Mechanism, "a mechanism"))
    worst = max(range(len(lost)), key=lost.__getitem__)
    witness = (goal.function.databases.labels[worst], lost[worst])
    if lost[worst] <= as_written(delta, "delta"):
        return holds(f"no database misses with probability above {text_above(lost[worst], 6)}", witness)
    return fails(f"{witness[0]!r} misses with probability {text_below(lost[worst], 6)}", witness)
