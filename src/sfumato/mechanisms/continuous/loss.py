"""Losses ℓ(w, x) for secrets x in an interval, their N-step versions, their tables on a lattice; which are legal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import lcm
from numbers import Rational
from typing import Any

import numpy as np

from sfumato.arguments import float_array, items, text
from sfumato.errors import InvalidLoss, expect, short, shown
from sfumato.losses.loss import Loss, as_loss
from sfumato.mechanisms.continuous.interval import UNIT, Ends, as_interval, floor_of, lattice, lattice_floats
from sfumato.numbers import Array, Floats, Number, as_written, exact, object_array, whole_number
from sfumato.spaces.box import Box
from sfumato.verdict import Verdict, fails, holds, undecided

__all__ = ["IntervalLoss", "Legal", "absolute_error", "is_legal", "lattice_loss", "squared_error", "step_loss"]

_MOST_TRIES = 2000  # So many sets of inequalities between places of actions are tried, in seconds for ten actions.


@dataclass(frozen=True, eq=False, repr=False, init=False)
class IntervalLoss:
    """A loss ℓ(w, x) ≥ 0 for secrets x in an interval.

    Parameters
    ----------
    value
        ℓ as a function of arrays w and x that broadcast.
    interval
        Where the secrets live.
    actions
        A finite list of numbers to choose w from; the whole interval unless given.
    lipschitz
        κ with ``|ℓ(w, x) − ℓ(w, x′)| ≤ κ·|x − x′|``, where it is known; the theorems ask for it.
    breaks
        Secrets where ℓ(w, ·) is not smooth for any w.
    offsets
        ℓ(w, ·) has a kink at x = w + o for each o listed; 0 unless given, the kink of ``|w − x|``.

    Examples
    --------
    >>> near = IntervalLoss(lambda w, x: np.minimum(abs(w - x), 0.1), lipschitz=1, offsets=(-0.1, 0, 0.1))
    >>> near
    IntervalLoss(function on [0, 1])
    """

    value: Callable[[Any, Any], Any]
    interval: Box
    actions: Floats | None
    lipschitz: Fraction | None
    breaks: Floats
    offsets: tuple[float, ...]
    name: str

    def __init__(
        self,
        value: Callable[[Any, Any], Any],
        interval: Ends = UNIT,
        *,
        actions: Iterable[Number] | None = None,
        lipschitz: Number | None = None,
        breaks: Iterable[float] = (),
        offsets: Iterable[float] = (0.0,),
        name: str = "function",
    ) -> None:
        if not callable(value):
            raise InvalidLoss(f"a loss on an interval is a function of w and x, found {type(value).__name__}")
        interval = as_interval(interval)
        value = _on_arrays(value, interval)
        chosen = None if actions is None else float_array([exact(w) for w in items(actions, "actions")], "actions")
        if chosen is not None and not chosen.size:
            raise InvalidLoss("the list of actions is empty")
        kappa = None if lipschitz is None else as_written(lipschitz, "a Lipschitz constant", InvalidLoss)
        if kappa is not None and kappa < 0:
            raise InvalidLoss(f"a Lipschitz constant must not be negative, found {short(lipschitz)}")
        low, high = interval.ends
        jumps = float_array(items(breaks, "breaks"), "breaks").ravel()
        kinks = float_array(items(offsets, "offsets"), "offsets").ravel()
        inside = np.unique(jumps[(low < jumps) & (jumps < high)])
        values = (value, interval, chosen, kappa, inside, tuple(kinks.tolist()), text(name, "the name of a loss"))
        vars(self).update(zip(self.__dataclass_fields__, values, strict=True))

    def __repr__(self) -> str:
        return f"IntervalLoss({self.name} on {self.interval})"

    def __call__(self, w: Any, x: Any) -> Any:
        """ℓ(w, x)."""
        return self.value(w, x)


def _on_arrays(value: Callable[[Any, Any], Any], interval: Box) -> Callable[[Any, Any], Any]:
    """The function on arrays, whatever it was written for; its values must be finite numbers."""
    w, x = np.array(interval.ends)[:, None], np.linspace(*interval.ends, 3)[None, :]
    evaluate = value
    try:
        with np.errstate(over="ignore"):  # infinite values are refused below, in words
            table = np.asarray(value(w, x), dtype=np.float64)
        np.broadcast_to(table, (2, 3))
    except (TypeError, ValueError):
        evaluate = np.vectorize(value, otypes=[np.float64])
        try:
            table = evaluate(w, x)
        except (TypeError, ValueError) as error:
            raise InvalidLoss(f"the loss cannot be evaluated at numbers w and x: {error}") from error
    if not np.isfinite(table).all():
        raise InvalidLoss(f"the loss is not finite everywhere on {interval}")
    return evaluate


def absolute_error(interval: Ends = UNIT) -> IntervalLoss:
    """``len``, the loss |w − x|; 1-Lipschitz (B, Equation 16)."""
    return IntervalLoss(lambda w, x: np.abs(w - x), interval, lipschitz=1, name="absolute error")


def squared_error(interval: Ends = UNIT) -> IntervalLoss:
    """``len²``, the loss (w − x)²; 2(b − a)-Lipschitz for actions in the interval."""
    inside = as_interval(interval)
    steepest = 2 * inside.length
    return IntervalLoss(lambda w, x: (w - x) ** 2, inside, lipschitz=steepest, offsets=(), name="squared error")


def step_loss(loss: IntervalLoss, steps: int) -> IntervalLoss:
    """ℓ_N(w, x) = ℓ(w, ⌊x⌋_N), and ℓ_N(w, b) = ℓ(w, b − (b−a)/N): constant in x on each cell (B, Definition 7).

    Examples
    --------
    >>> stairs = step_loss(absolute_error(), 4)
    >>> stairs(0.0, np.array([0.2, 0.3, 1.0])).tolist()
    [0.0, 0.25, 0.75]
    """
    loss = expect(loss, IntervalLoss, "a loss on an interval", "absolute_error() is one")
    steps = whole_number(steps, "steps")
    return IntervalLoss(
        lambda w, x: loss(w, floor_of(x, steps, loss.interval)),
        loss.interval,
        actions=None if loss.actions is None else loss.actions.tolist(),
        breaks=lattice_floats(steps, loss.interval).tolist(),
        offsets=(),
        name=f"{loss.name} in {steps} steps",
    )


def lattice_loss(loss: IntervalLoss, steps: int, actions: Iterable[Number] | None = None) -> Loss:
    """The finite loss on the secrets of U_N; actions are the same points unless given.

    It is exact when the function is: ``absolute_error`` and ``squared_error`` are.

    Examples
    --------
    >>> lattice_loss(absolute_error(), 2).matrix[0].tolist()
    [Fraction(0, 1), Fraction(1, 2), Fraction(1, 1)]
    """
    loss = expect(loss, IntervalLoss, "a loss on an interval", "absolute_error() is one")
    points = lattice(whole_number(steps, "steps"), loss.interval)
    chosen = points if actions is None else tuple(exact(w) for w in items(actions, "actions"))
    table: Array = _exactly(loss, object_array(chosen), object_array(points))
    return Loss(chosen, points, table, loss.name)


def _exactly(loss: IntervalLoss, actions: Array, points: Array) -> Array:
    """The table in rationals if the function takes them, else in floats."""
    try:
        table = np.asarray(loss(actions[:, None], points[None, :]))
        if all(isinstance(v, Fraction | int) for v in table.ravel()):
            return np.broadcast_to(table, (len(actions), len(points)))
    except TypeError:
        pass  # np.exp and its like do not know fractions
    low = loss(actions.astype(np.float64)[:, None], points.astype(np.float64)[None, :])
    return np.broadcast_to(np.asarray(low, dtype=np.float64), (len(actions), len(points)))


@dataclass(frozen=True, eq=False)
class Legal:
    """ℓ(w, x) = m(|θ(w) − x|, x): the place θ(w) of every action; m(·, x) never decreases."""

    places: dict[Any, Fraction]


def is_legal(loss: Loss) -> Verdict:
    """Whether ℓ(w, x) = m(|θ(w) − x|, x) for secrets that are numbers, where m(·, x) never decreases.

    These are the monotone losses of paper B (Definition 15), the legal ones of Ghosh, Roughgarden and Sundararajan:
    each secret may have a function of its own. The places θ(w) are sought between the first and the last secret. At
    each secret the nearer of two actions must lose no more, so two actions whose rows differ have an order, and their
    middle lies between the secrets where the first and those where the second is better: inequalities for
    θ(w) + θ(w′) and θ(w) − θ(w′), which have a solution iff no cycle of them contradicts itself. The witness is a
    :class:`Legal`. Legal losses have single crossings on the line; not the other way round.

    Examples
    --------
    >>> from sfumato.losses import Loss, nib
    >>> dear = Loss([0, 1, 2], [0, 1, 2], [[0, 1, 10], [1, 0, 5], [2, 1, 0]])     # x costs more where it is 2
    >>> verdict = is_legal(dear)
    >>> bool(verdict), bool(is_legal(nib([0, 1, 2])))
    (True, False)
    """
    loss = as_loss(loss)
    if not all(isinstance(x, Rational | float) and not isinstance(x, bool) for x in loss.secrets):
        raise InvalidLoss(f"secrets of a legal loss are numbers on a line, found {shown(loss.secrets)}")
    secrets = [exact(x) for x in loss.secrets]
    rows = {tuple(row): w for w, row in reversed(list(enumerate(loss.matrix)))}  # equal rows may share their place
    table = sorted(rows, key=rows.__getitem__)
    choices = []
    for v, w in combinations(range(len(table)), 2):
        orders = _orders(v, w, table, secrets)
        if not orders:
            pair = loss.actions[rows[table[v]]], loss.actions[rows[table[w]]]
            return fails(f"the difference of {pair[0]!r} and {pair[1]!r} changes its sign more than once", pair)
        choices.append(orders)
    search = _PlaceSearch(len(table), secrets)
    places = search.run(sorted(choices, key=len))
    if places is None:
        if search.tries >= _MOST_TRIES:
            return undecided(f"no places of the actions were found in {_MOST_TRIES} tries")
        return fails("no places of the actions make every loss a non-decreasing function of the distance")
    where = dict(zip(table, places, strict=True))
    found = {w: where[tuple(row)] for w, row in zip(loss.actions, loss.matrix, strict=True)}
    return holds("the places of the actions are given", Legal(found))


_Inequality = tuple[int, int, Fraction, bool]  # These are u_i − u_j ≤ c, or < c, with u_2k = θ_k and u_2k+1 = −θ_k.


def _orders(v: int, w: int, table: list[tuple[Any, ...]], secrets: list[Fraction]) -> list[list[_Inequality]]:
    """What each possible order of two actions says of their places."""
    better = [x for x, a, b in zip(secrets, table[v], table[w], strict=True) if a < b]
    worse = [x for x, a, b in zip(secrets, table[v], table[w], strict=True) if a > b]
    found = []
    for first, second, left, right in ((v, w, better, worse), (w, v, worse, better)):
        # the first is the nearer one exactly at the secrets before the middle of both
        if left and right and max(left) >= min(right):
            continue
        said = _both(2 * first, 2 * second, Fraction(0))
        if left:
            said += _both(2 * first + 1, 2 * second, -2 * max(left))
        if right:
            said += _both(2 * first, 2 * second + 1, 2 * min(right))
        found.append(said)
    return found


def _both(i: int, j: int, bound: Fraction) -> list[_Inequality]:
    """u_i − u_j < bound, and the same of the opposites."""
    return [(i, j, bound, True), (j ^ 1, i ^ 1, bound, True)]


class _PlaceSearch:
    """Depth-first choice of an order for each pair of actions whose order is open; inequalities decide.

    Bounds are whole numbers in units of 1/``parts``. A strict one is a whole number less an infinitesimal, of which
    fewer than ``base`` add up along a path, so that both fit into one integer.
    """

    def __init__(self, size: int, secrets: list[Fraction]) -> None:
        self.size, self.tries = size, 0
        self.parts, self.base = lcm(*(x.denominator for x in secrets)), 4 * size + 4
        low, high = min(secrets), max(secrets)
        self.ends = [said for k in range(size) for said in (
            (2 * k, 2 * k + 1, 2 * high, False), (2 * k + 1, 2 * k, -2 * low, False))]  # fmt: skip
        # so many steps of the longest bound stay within 64 bits
        largest = 2 * max(abs(low), abs(high)) * self.parts * self.base * (2 * size + 2)
        self.whole = np.int64 if largest < 2**62 else object

    def run(self, choices: list[list[list[_Inequality]]]) -> list[Fraction] | None:
        forced = [said for orders in choices if len(orders) == 1 for said in orders[0]]
        return self._extend(self.ends + forced, [orders for orders in choices if len(orders) > 1])

    def _extend(self, said: list[_Inequality], open_: list[list[list[_Inequality]]]) -> list[Fraction] | None:
        self.tries += 1
        found = None if self.tries >= _MOST_TRIES else self._solution(said)
        if found is None or not open_:
            return found
        return next((f for order in open_[0] if (f := self._extend(said + order, open_[1:])) is not None), None)

    def _solution(self, said: list[_Inequality]) -> list[Fraction] | None:
        """Bellman and Ford: shortest distances satisfy all inequalities, unless a cycle is negative."""
        to, come = (np.array([s[end] for s in said]) for end in (0, 1))
        bounds = np.array([int(c * self.parts) * self.base - strict for _, _, c, strict in said], dtype=self.whole)
        value = np.zeros(2 * self.size, dtype=self.whole)
        for _ in range(2 * self.size + 1):
            before = value.copy()
            np.minimum.at(value, to, before[come] + bounds)
            if (value == before).all():
                return self._made_finite(said, [int(v) for v in value])
        return None

    def _made_finite(self, said: list[_Inequality], value: list[int]) -> list[Fraction]:
        """Places with a small number for the infinitesimal one, small enough for all inequalities."""
        wholes = [-(-v // self.base) for v in value]
        tiny = Fraction(1)
        while True:
            u = [b + tiny * (v - b * self.base) for b, v in zip(wholes, value, strict=True)]
            places = [(a - b) / (2 * self.parts) for a, b in zip(u[::2], u[1::2], strict=True)]
            ends = [sign * place for place in places for sign in (1, -1)]
            if all(ends[i] - ends[j] < c if strict else ends[i] - ends[j] <= c for i, j, c, strict in said):
                return places
            tiny /= 2
