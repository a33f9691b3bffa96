"""Which ε? From a loss that must be reached, or an adversary's error that must be kept; and the whole curve.

The least loss L(ε) of a type does not grow with ε, since the types grow. A design at ε says L(ε) ≤ loss, its bound
says L(ε) ≥ bound, both proved; so bisection ends in two values of ε with a proof on each side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from sfumato.arguments import items, optional_function, positive
from sfumato.channels.prior import Prior
from sfumato.design.calibration_sought import Sought
from sfumato.design.families import design_family
from sfumato.design.objectives import Objective, as_objective
from sfumato.design.result import Design
from sfumato.errors import InvalidInput, NotSupported, expect, shown
from sfumato.labels import pandas_records
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.losses.loss import Loss
from sfumato.numbers import Number, as_written, bounds_text
from sfumato.privacy.promise import rate, rate_bounds
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.box import Box
from sfumato.spaces.finite import FiniteSpace
from sfumato.spaces.lengths import in_unit
from sfumato.watch import Watch, watch_of

if TYPE_CHECKING:  # an extra
    import pandas

__all__ = ["Calibration", "Curve", "calibrate", "curve"]


@dataclass(frozen=True, eq=False)
class Calibration:
    """``low`` < ε* ≤ ``high``: the target is out of reach at ``low`` and met at ``high``, both proved.

    For an adversary's error the other way round: it is kept at ``low`` and may be missed at ``high``.
    ``design`` is the one at the end that answers the question, ``epsilon``. On a box ``low`` is 0 where the search
    ended before any ε was proved to be too small.
    """

    low: Fraction
    high: Fraction
    epsilon: Fraction
    design: Design

    def __repr__(self) -> str:
        low, high = bounds_text(self.low, self.high)
        return f"Calibration(epsilon={low if self.epsilon == self.low else high}, between {low} and {high})"


@dataclass(frozen=True, eq=False)
class Curve:
    """Designs at several ε, in increasing order: the least loss at each lies between its bound and its loss."""

    epsilons: tuple[Fraction, ...]
    designs: tuple[Design, ...]

    def to_pandas(self) -> pandas.DataFrame:
        """Loss, proved bound and gap at each ε, in floats. Needs pandas (extra ``pandas``)."""
        designs = zip(self.epsilons, self.designs, strict=True)
        return pandas_records(
            [
                {"epsilon": float(e), "loss": float(d.loss), "bound": float(d.bound), "gap": float(d.gap)}
                for e, d in designs
            ],
            index="epsilon",
        )

    def band(self, epsilon: Number) -> tuple[Fraction | None, Fraction | None]:
        """What is proved of the least loss at any ε: it never grows with ε, so neighbours on both sides enclose it.

        None where no design on that side says anything.
        """
        low, high = rate_bounds(epsilon)
        above = [design.bound for e, design in zip(self.epsilons, self.designs, strict=True) if e >= high]
        below = [design.loss for e, design in zip(self.epsilons, self.designs, strict=True) if e <= low]
        return (max(above) if above else None), (min(below) if below else None)


def calibrate(
    prior: Prior | None,
    loss: Loss | CoordinateLoss | None,
    space: FiniteSpace | Box,
    *,
    target: Number,
    goal: Literal["reach", "keep"] = "reach",
    objective: Objective | str = "expected",
    outputs: Iterable[Any] | None = None,
    precision: float | None = None,
    time_limit: float | Watch | None = None,
    progress: Callable[[Any], object] | None = None,
) -> Calibration:
    """The smallest ε that reaches a loss, or the largest that keeps an adversary's expected error.

    Parameters
    ----------
    space
        Where the secrets are: a list of them, or all points of a box (:func:`sfumato.spaces.box.box`).
    target
        The expected loss; a distance may have a unit of its own, such as ``"300 m"``. On a box on the Earth it is
        one on the ground. For shares, which have no loss, the variance of all estimates times the number of answers.
    goal
        ``"reach"``: the smallest ε at which some mechanism has at most this loss. ``"keep"``: the largest ε at which
        no mechanism of the type lets an adversary with this prior and loss get below it.
    objective
        Whose loss it is, as in :func:`design`; limits are kept at every ε.
    outputs
        Some of the actions of the loss, as in :func:`design`; on a box: points.
    precision
        Relative width of the interval that is left open: 1e-3 by default, 10 % on a box, where loss and bound of a
        design are some per cent apart. There the interval may stay wider, for targets close to the loss when nothing is
        told; and 1 asks for an ε that is enough, without a proof that others are too small, in about half the time.
    time_limit
        Seconds, as for :func:`design`; when they are over the interval is as wide as it is then. Ctrl-C on a box
        ends with the best that is proved, noise that is the same everywhere if there is nothing better.

    Raises
    ------
    NotConverged
        If the time is up before there is an ε on either side of the target.

    Examples
    --------
    >>> from sfumato.losses import bin
    >>> from sfumato.spaces import line
    >>> two = line(2)
    >>> found = calibrate(Prior.uniform(two), bin(two), two, target="1/4")
    >>> found                                    # 1/(1 + e^ε) = 1/4 at ε = ln 3 = 1.0986…
    Calibration(epsilon=1.09..., between 1.09... and 1.09...)
    >>> from sfumato.losses import distance
    >>> from sfumato.spaces.box import box
    >>> road = box((2,), step="100 m", unit="km")
    >>> found = calibrate(Prior.uniform(road), distance(road), road, target="200 m")
    >>> float(found.design.loss) <= 0.2, found.high - found.low <= found.high / 10
    (True, True)
    """
    space, wanted = getattr(space, "space", space), as_objective(objective)
    family = design_family(space, wanted)
    loss, goal = family.stake(loss, space), _goal(goal)
    given = family.precision if precision is None else precision
    width = 1.0 if family.one_sided and positive(given, "the precision") == 1 else relative_width(given)
    ends = family.ends(
        Sought(
            prior, loss, space, None if outputs is None else items(outputs, "outputs"), wanted,
            as_target(target, loss, space), goal, width, watch_of(time_limit), optional_function(progress, "progress"),
        )
    )  # fmt: skip
    high, met = ends[True]
    low, missed = ends.get(False, (Fraction(0), met))
    return Calibration(low, high, high, met) if goal == "reach" else Calibration(low, high, low, missed)


def as_target(target: Any, loss: Loss | CoordinateLoss | None, space: FiniteSpace | Box) -> Fraction:
    """A target as people write it: a number, or a length with its unit where the loss is a distance.

    Examples
    --------
    >>> from sfumato.losses import distance
    >>> from sfumato.spaces import line
    >>> as_target("300 m", distance(line(3, unit="km")), line(3, unit="km"))
    Fraction(3, 10)
    """
    if loss is not None and loss.name == "distance":
        return in_unit(target, space.unit, "the target")
    return as_written(target, "the target")


def _goal(goal: Any) -> Literal["reach", "keep"]:
    if not isinstance(goal, str) or goal not in ("reach", "keep"):
        raise InvalidInput(f"the goal is 'reach' or 'keep', found {shown(goal)}")
    return "reach" if goal == "reach" else "keep"


def usual_precision(space: FiniteSpace | Box) -> float:
    """The relative width of ε that is left open where nobody asks for another."""
    return design_family(space).precision


def relative_width(precision: float) -> float:
    """How much of an ε may be left open between two bounds."""
    if not positive(precision, "the precision") < 1:
        raise InvalidInput(f"the precision is a relative width between 0 and 1, found {shown(precision)}")
    return float(precision)


def curve(
    prior: Prior | None,
    loss: Loss | CoordinateLoss | None,
    space: FiniteSpace | Box,
    epsilons: Iterable[Number],
    *,
    objective: Objective | str = "expected",
    tolerance: float | None = None,
    time_limit: float | Watch | None = None,
    progress: Callable[[Any], object] | None = None,
    executor: Executor | None = None,
) -> Curve:
    """The least loss as a function of ε: a proved band, one design for each ε.

    Parameters
    ----------
    epsilons
        Where; a logarithm such as ``"ln 2"`` is rounded down to 15 digits, so that all of them are rationals.
    tolerance
        The relative gap of each design: 1e-3 by default, 3 % on a box.
    time_limit
        Seconds for all designs, as for :func:`design`; each has its share of what the ones before have left. Where
        nothing is left the largest ε are missing from the curve.
    executor
        Where the designs are made side by side: ``concurrent.futures.ProcessPoolExecutor(...)``, or
        ``client.get_executor()`` of Dask for a cluster. Without one, each design starts from the one before.

    Examples
    --------
    >>> from sfumato.losses import absolute
    >>> from sfumato.spaces import line
    >>> found = curve(Prior.uniform(line(4)), absolute(line(4)), line(4), ["0.5", 1, 2])
    >>> [round(float(design.loss), 3) for design in found.designs]
    [0.803, 0.521, 0.196]
    >>> [round(float(end), 3) for end in found.band("1.5")]
    [0.196, 0.521]
    """
    values = tuple(sorted(rate(epsilon) for epsilon in items(epsilons, "epsilons")))
    if not values:
        raise InvalidInput("a curve needs at least one epsilon")
    watch, wanted = watch_of(time_limit), as_objective(objective)
    promises = [PrivacyType(space, epsilon=e) for e in values]
    best, questions = design_family(space, wanted).curve(prior, loss, promises, wanted, tolerance, executor is None)
    if executor is not None:
        if progress is not None:
            raise NotSupported("progress of designs in other processes", ["progress without an executor"])
        expect(executor, Executor, "an executor", "concurrent.futures.ProcessPoolExecutor() makes one")
        limit = watch.share(1 / len(values)).limit
        return Curve(values, tuple(executor.map(partial(best, time_limit=limit), questions)))
    designs: list[Design] = []
    for question in questions:
        if designs and watch.over:
            break
        designs.append(best(question, time_limit=watch.share(1 / (len(values) - len(designs))), progress=progress))
    return Curve(values[: len(designs)], tuple(designs))
