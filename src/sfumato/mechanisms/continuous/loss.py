"""Losses ℓ(w, x) for secrets x in an interval, their N-step versions, and their tables on a lattice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.arguments import float_array, items, text
from sfumato.errors import InvalidLoss, expect, short
from sfumato.losses.loss import Loss
from sfumato.mechanisms.continuous.interval import (
    UNIT,
    Floats,
    Interval,
    as_interval,
    floor_of,
    lattice,
    lattice_floats,
)
from sfumato.numbers import Array, Number, as_written, exact, object_array, whole

__all__ = ["IntervalLoss", "absolute_error", "lattice_loss", "squared_error", "step_loss"]


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
    interval: Interval
    actions: Floats | None
    lipschitz: Fraction | None
    breaks: Floats
    offsets: tuple[float, ...]
    name: str

    def __init__(
        self,
        value: Callable[[Any, Any], Any],
        interval: Interval | tuple[Number, Number] = UNIT,
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
        listed = (
            float_array(items(given, what), what).ravel() for given, what in ((breaks, "breaks"), (offsets, "offsets"))
        )
        jumps, kinks = listed
        inside = np.unique(jumps[(low < jumps) & (jumps < high)])
        values = (value, interval, chosen, kappa, inside, tuple(kinks.tolist()), text(name, "the name of a loss"))
        for field, content in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, field, content)

    def __repr__(self) -> str:
        return f"IntervalLoss({self.name} on {self.interval})"

    def __call__(self, w: Any, x: Any) -> Any:
        """ℓ(w, x)."""
        return self.value(w, x)


def _on_arrays(value: Callable[[Any, Any], Any], interval: Interval) -> Callable[[Any, Any], Any]:
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


def absolute_error(interval: Interval | tuple[Number, Number] = UNIT) -> IntervalLoss:
    """``len``, the loss |w − x|; 1-Lipschitz (B, Equation 16)."""
    return IntervalLoss(lambda w, x: np.abs(w - x), interval, lipschitz=1, name="absolute error")


def squared_error(interval: Interval | tuple[Number, Number] = UNIT) -> IntervalLoss:
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
    steps = whole(steps, "steps")
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
    points = lattice(whole(steps, "steps"), loss.interval)
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
