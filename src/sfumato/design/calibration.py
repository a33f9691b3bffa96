"""Which ε? From a loss that must be reached, or an adversary's error that must be kept; and the whole curve.

The least loss L(ε) of a type does not grow with ε, since the types grow. A design at ε says L(ε) ≤ loss, its bound
says L(ε) ≥ bound, both proved; so bisection ends in two values of ε with a proof on each side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from sfumato.arguments import items, optional_function, positive
from sfumato.channels.channel import check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.design.boxes.calibration import PRECISION, BoxCalibration, short
from sfumato.design.objectives import Objective, as_objective
from sfumato.design.optimal import Effort, best_of, design, searching
from sfumato.design.problem import Problem, problem
from sfumato.design.result import Design
from sfumato.design.solvers import Trail
from sfumato.errors import InvalidInput, NotConverged, NotSupported, expect, shown
from sfumato.labels import pandas_records
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.losses.loss import Loss, as_loss
from sfumato.measures.uncertainty import prior_loss
from sfumato.numbers import Number, as_written, between, fractions, told_apart
from sfumato.privacy.promise import rate, rate_bounds
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.box import Box
from sfumato.spaces.finite import FiniteSpace
from sfumato.spaces.lengths import in_unit
from sfumato.watch import TimeIsUp, Watch, watch_of

if TYPE_CHECKING:  # an extra
    import pandas

__all__ = ["Calibration", "Curve", "calibrate", "curve"]

_FIRST_EXPONENT = 3.0  # The search for an upper ε begins where the smallest distance gets this exponent of e.
_MOST_DOUBLINGS = 40
_TIGHTEST = 1e-9  # No design is asked for a smaller relative gap; closer to the target than that stays open.


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
        low, high = between(self.low, self.high)
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
    loss: Loss | CoordinateLoss,
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
        one on the ground.
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
    progress = optional_function(progress, "progress")
    if isinstance(space, Box):
        return _calibrated_on_box(prior, loss, space, target, goal, wanted, outputs, precision, time_limit, progress)
    return _calibrated_on_list(prior, loss, space, target, goal, wanted, outputs, precision, time_limit, progress)


def _calibrated_on_list(
    prior: Prior | None, given: Any, place: Any, target: Any, goal: Literal["reach", "keep"], wanted: Objective,
    outputs: Any, precision: float | None, time_limit: float | Watch | None, progress: Callable[[Any], object] | None,
) -> Calibration:  # fmt: skip
    """Bisection, each design beginning where the one before ended."""
    space, loss = expect(place, FiniteSpace, "a space"), as_loss(given)
    aim = as_target(target, loss, space)
    if wanted.plain and outputs is None:
        _check_target(aim, as_prior(prior), loss)
    width = relative_width(usual_precision(space) if precision is None else precision)
    outputs = None if outputs is None else items(outputs, "outputs")
    distances = space.pair_distances.floats
    if not distances.size:
        raise InvalidInput("calibration needs a space with more than one secret")
    goal = _goal(goal)

    trail, watch = Trail(), watch_of(time_limit)

    def reached(epsilon: Fraction) -> tuple[bool, Design]:
        """Whether L(ε) ≤ target, and the design that shows it."""
        tolerance = width / 4
        while True:
            watch.check()
            question = problem(prior, loss, PrivacyType(space, epsilon=epsilon), outputs, wanted)
            design = best_of(question, Effort(tolerance, watch, progress=progress, trail=trail))
            if design.loss <= aim or design.bound > aim:
                return design.loss <= aim, design
            tolerance = min(tolerance, design.gap) / 30
            if tolerance < _TIGHTEST:
                raise NotConverged(
                    f"at epsilon = {float(epsilon):g} the optimum is too close to the target", design, design.gap
                )

    ends = _enclosed(reached, Fraction(_FIRST_EXPONENT) / Fraction(float(distances.min())), width)
    if len(ends) < 2:
        raise NotConverged(f"no epsilon was found within {watch.limit or watch.spent:g} s: give it more time")
    (low, missed), (high, met) = ends[False], ends[True]
    return Calibration(low, high, high, met) if goal == "reach" else Calibration(low, high, low, missed)


def as_target(target: Any, loss: Loss | CoordinateLoss, space: FiniteSpace | Box) -> Fraction:
    """A target as people write it: a number, or a length with its unit where the loss is a distance.

    Examples
    --------
    >>> from sfumato.losses import distance
    >>> from sfumato.spaces import line
    >>> as_target("300 m", distance(line(3, unit="km")), line(3, unit="km"))
    Fraction(3, 10)
    """
    if isinstance(space, Box) or loss.name == "distance":
        return in_unit(target, space.unit, "the target")
    return as_written(target, "the target")


def _calibrated_on_box(
    prior: Prior | None, loss: Any, box: Box, target: Any, goal: Literal["reach", "keep"], objective: Objective,
    outputs: Any, precision: float | None, time_limit: float | Watch | None, progress: Callable[[Any], object] | None,
) -> Calibration:  # fmt: skip
    """The same for coordinates, by few designs."""
    if not objective.plain:
        raise NotSupported("an objective on a box of coordinates", ["the expected loss, without limits"])
    loss = expect(loss, CoordinateLoss, "the loss on a box", "losses.distance(box) makes one")
    aim, watch = as_target(target, loss, box), watch_of(time_limit)
    goal = _goal(goal)
    width = 1.0 if precision == 1 else relative_width(usual_precision(box) if precision is None else precision)
    outputs = None if outputs is None else items(outputs, "outputs")
    with searching(Effort(width, watch, progress=progress)):
        search = BoxCalibration(prior, loss, box, outputs, aim, goal, width, watch, progress)
        ends = search.search()
    if search.missing():
        raise NotConverged(search.missing())
    high, met = ends[True]
    low, missed = ends.get(False, (Fraction(0), met))
    return Calibration(low, high, high, met) if goal == "reach" else Calibration(low, high, low, missed)


def _goal(goal: Any) -> Literal["reach", "keep"]:
    if not isinstance(goal, str) or goal not in ("reach", "keep"):
        raise InvalidInput(f"the goal is 'reach' or 'keep', found {shown(goal)}")
    return "reach" if goal == "reach" else "keep"


def usual_precision(space: FiniteSpace | Box) -> float:
    """The relative width of ε that is left open where nobody asks for another."""
    return PRECISION if isinstance(space, Box) else 1e-3


def relative_width(precision: float) -> float:
    """How much of an ε may be left open between two bounds."""
    if not positive(precision, "the precision") < 1:
        raise InvalidInput(f"the precision is a relative width between 0 and 1, found {shown(precision)}")
    return float(precision)


def _check_target(aim: Fraction, prior: Prior, loss: Loss) -> None:
    loss = as_loss(loss)
    check_secrets("prior and loss", prior, loss)
    least = sum((fractions(prior.weights) * fractions(loss.matrix).min(axis=0)).tolist(), Fraction(0))
    most = Fraction(prior_loss(prior, loss))
    if not least < aim < most:
        target, end = told_apart(aim, least if aim <= least else most)
        other = told_apart(most if aim <= least else least, aim)[0]
        low, high = (end, other) if aim <= least else (other, end)
        raise InvalidInput(
            f"the target {target} must lie between {low}, the loss when the secret is told, and "
            f"{high}, the loss when nothing is"
        )


def _enclosed(
    reached: Callable[[Fraction], tuple[bool, Design]], start: Fraction, precision: float
) -> dict[bool, tuple[Fraction, Design]]:
    """An ε that is enough and one that is not, with designs, as near as was asked for or as there was time for."""
    ends: dict[bool, tuple[Fraction, Design]] = {}
    epsilon, tried = short(start), 0
    while True:
        try:
            enough, design = reached(epsilon)
        except TimeIsUp:
            return ends
        ends[enough] = epsilon, design
        tried += 1
        if len(ends) == 2:
            low, high = ends[False][0], ends[True][0]
            if high - low <= precision * high:
                return ends
            epsilon = short((low + high) / 2)
        elif tried > _MOST_DOUBLINGS:
            raise InvalidInput("no epsilon of a sensible size meets this target")
        else:
            epsilon = epsilon / 2 if enough else 2 * epsilon


def curve(
    prior: Prior | None,
    loss: Loss | CoordinateLoss,
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
    if isinstance(space, Box):  # no design for coordinates begins where another ended
        best: Callable[..., Design] = partial(design, prior, loss, objective=wanted, tolerance=tolerance)
        questions: list[Any] = [PrivacyType(space, epsilon=e) for e in values]
    else:
        trail = Trail() if executor is None else None
        best = partial(_best_of, Effort(1e-3 if tolerance is None else tolerance, progress=progress, trail=trail))
        questions = [problem(prior, as_loss(loss), PrivacyType(space, epsilon=e), None, wanted) for e in values]
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


def _best_of(effort: Effort, question: Problem, **more: Any) -> Design:
    """What an executor can send to another process."""
    return best_of(question, replace(effort, **more))
